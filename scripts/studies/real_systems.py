"""What is said of real captioning systems? The answer of `manycaps compare`, with captions, and a person beside them.

python -m scripts.studies.real_systems [--data FOLDER --corpus COCO --rows 1000] [--output FOLDER]

FOLDER holds real_systems/coco_karpathy_test.json.gz, captions of three models (ViECap, Fei et al. 2023,
https://arxiv.org/abs/2307.16525; of two, trained on COCO, and of one, trained on Flickr30k) for the 5,000 images of
Karpathy's test split, and real_systems/coco_ten_samples.json.gz, ten sampled captions of 402 images, most in broken
English (Wang and Chan 2019, https://arxiv.org/abs/1903.12020). The three models are compared on images drawn at random,
and all four on those that both files have. One of the references of every image, drawn at random, is taken out, and is
the caption of a further system, "held_out". Without a corpus, the systems of the bundled scenes stand in.

Written: real_systems.csv, the numbers of human parity by MiniLM with 95% intervals; real_systems_NAME.txt, what
`manycaps compare --full` prints above its tables; and the picture of the shares, of which people give 5% each.
"""

import functools
import gzip
import json
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import evaluate
import numpy as np

from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.quickstart.scenes import read_scenes
from manycaps.comparison.render import answer_text
from manycaps.comparison.sentences import TERMS
from manycaps.files.saved_files import write_text_atomically
from manycaps.kit.parity_tails import TAIL
from scripts.studies.caption_rows import BUNDLED
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, numbers, print_table, study_settings
from scripts.studies.study_options import Options, data_folder, study_parser
from scripts.studies.study_pictures import BLUE, ORANGE, new_picture

parser = study_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets")
parser.add_argument("--corpus", choices=["COCO"], help="which of them; default: bundled scenes")
parser.add_argument("--rows", type=int, default=1_000, metavar="N", help="images to draw, default %(default)s")
parser.add_argument("--distance", default="bert", help="of human_parity, default %(default)s, which is MiniLM")
parse = parser.parse_args

NAME = "real_systems"
KEY = ("images",)
COLUMNS = ("n_rows", "system", "number", "value", "low", "high")

# A person as a system.
HELD_OUT = "held_out"

# What is drawn: faults, which are 0 for people, and shares, of which people give 5% each.
DRAWN = ("faults", "unsupported_share", "odd_wording_share", "generic_share", "predictable_share")


class SomeImages(NamedTuple):
    """Images with captions of people and of systems."""

    ids: Sequence[str]
    references: Sequence[Sequence[str]]
    # By system the captions of every image.
    systems: Mapping[str, Sequence[Sequence[str]]]


def read_groups(options: Options) -> dict[str, SomeImages]:
    """Return the images that are compared, by the name of the group, with a person as the last system."""
    rng = np.random.default_rng(options.seed)
    if not options.corpus:
        scenes = read_scenes(BUNDLED)
        systems = {name: [scene["systems"][name] for scene in scenes] for name in scenes[0]["systems"]}
        ids = [str(i) for i in range(len(scenes))]
        return {"scenes": with_person(SomeImages(ids, [scene["references"] for scene in scenes], systems), rng)}
    models, samples = (
        read_file(data_folder(options) / "real_systems" / f"{name}.json.gz")
        for name in ("coco_karpathy_test", "coco_ten_samples")
    )
    drawn = np.sort(rng.choice(len(models.ids), min(options.rows, len(models.ids)), replace=False)).tolist()
    places = {image: i for i, image in enumerate(models.ids)}
    both = [i for i, image in enumerate(samples.ids) if image in places]
    common = choose(models, [places[samples.ids[i]] for i in both])
    common = common._replace(systems={**common.systems, **choose(samples, both).systems})
    return {"drawn": with_person(choose(models, drawn), rng), "common": with_person(common, rng)}


def read_file(path: pathlib.Path) -> SomeImages:
    """Read a file of systems."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    systems = {
        name: [[texts] if isinstance(texts, str) else texts for texts in own]
        for name, own in content["systems"].items()
    }
    ids, references = zip(*((str(row["id"]), row["references"]) for row in content["rows"]), strict=True)
    return SomeImages(ids, references, systems)


def choose(images: SomeImages, places: Sequence[int]) -> SomeImages:
    """Return some of the images."""
    systems = {name: [own[i] for i in places] for name, own in images.systems.items()}
    return SomeImages([images.ids[i] for i in places], [images.references[i] for i in places], systems)


def with_person(images: SomeImages, rng: np.random.Generator) -> SomeImages:
    """Take one reference of each image out, as the caption of a further system."""
    mixed = [[str(text) for text in rng.permutation(own)] for own in images.references]
    systems = {**images.systems, HELD_OUT: [own[:1] for own in mixed]}
    return SomeImages(images.ids, [own[1:] for own in mixed], systems)


def lines_of(options: Options, name: str, images: SomeImages) -> Iterator[list[Any]]:
    """Yield every number with an interval, and write what is printed."""
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        columns = {**images.systems, "references": images.references}
        for file, own in columns.items():
            key = "references" if file == "references" else "captions"
            rows = [{"id": image, key: list(texts)} for image, texts in zip(images.ids, own, strict=True)]
            (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        files = [str(folder / f"{system}.jsonl") for system in images.systems]
        people = [str(folder / "references.jsonl")]
        given = {"references": people, "metrics": ["bleu_rouge"], "distance": options.distance, "seed": options.seed}
        comparison = compare(CompareOptions(files, **given))
    write_text_atomically(options.output / f"{NAME}_{name}.txt", answer_text(comparison, full=True) + "\n")
    for system, result in comparison.to_dict()["human_parity"]["systems"].items():
        for key in result:
            if f"{key}_ci_low" in result and result[key] is not None:
                ends = [result[f"{key}_ci_{end}"] for end in ("low", "high")]
                yield [len(images.ids), system, key, result[key], *(np.nan if end is None else end for end in ends)]


def draw_picture(lines: Sequence[Line], output: Any) -> None:
    """Draw the shares of every system, in a panel each."""
    shares = [share for share in DRAWN if share in distinct(lines, "number")]
    groups = distinct(lines, "images", "n_rows", "system")
    with new_picture(output, NAME, 1.5 + 2.3 * len(shares), 1.2 + 0.3 * len(groups)) as figure:
        panels = figure.subplots(1, len(shares), sharey=True, squeeze=False)[0]
        for axes, share in zip(panels, shares, strict=True):
            if share != DRAWN[0]:
                axes.axvline(100 * TAIL, color="#888888", lw=0.8)
            for i, (group, _, system) in enumerate(groups):
                if mine := matching_lines(lines, images=group, system=system, number=share):
                    value, low, high = (100 * numbers(mine, column)[0] for column in ("value", "low", "high"))
                    color = BLUE if system == HELD_OUT else ORANGE
                    axes.errorbar(value, i, xerr=[[value - low], [high - value]], fmt="o", ms=4, lw=1, color=color)
            axes.set_xlabel("percent")
            axes.set_title(TERMS.get(share, share))
            axes.set_xlim(left=0)
        panels[0].set_yticks(range(len(groups)), [f"{system} ({int(n):,} images)" for _, n, system in groups])
        panels[0].invert_yaxis()


def main(options: Options) -> None:
    """Compare what the table does not have yet, then draw it."""
    evaluate.utils.logging.disable_progress_bar()
    groups = functools.cache(lambda: read_groups(options))
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    names = ("drawn", "common") if options.corpus else ("scenes",)
    lines = table.fill([(name,) for name in names], lambda name: lines_of(options, name, groups()[name]))
    draw_picture(lines, options.output)
    print_table(COLUMNS, ([line[column] for column in COLUMNS] for line in lines))


if __name__ == "__main__":
    main(parse())
