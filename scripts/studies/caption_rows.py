"""Captions that the studies run on, rows drawn of them, whole or damaged, and what the set metrics make of rows."""

import collections
import functools
import gzip
import json
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from tqdm import tqdm

import manycaps
from manycaps.comparison.quickstart.scenes import read_scenes
from manycaps.files.caption_tables import CaptionRow, good_rows, open_source
from manycaps.kit.sets_module import ComparableRows
from manycaps.kit.sets_tests import SplitsOfRow
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.kit.words_ptb import ptb_tokenize
from scripts.studies.study_options import DAMAGES, MODULES, SIZES, Options, data_folder

BUNDLED = pathlib.Path(manycaps.__file__).parent / "comparison" / "quickstart" / "captions.json"

# Images of Flickr8k that are used; a random choice.
N_FLICKR8K_IMAGES = 1_000

# Plain score that a module gives besides.
PLAIN = {"trm_meteor": "meteor", "trm_cider": "cider_d", "trm_bert": "bert"}

# Level, resamples, and values resampled at once, 8 bytes each, of the intervals over rows.
CONFIDENCE_LEVEL, N_RESAMPLES, MAX_RESAMPLED = 0.95, 999, 6_000_000

# Captions, row by row.
Captions = Sequence[Sequence[str]]


class StudyCaptions(NamedTuple):
    """Human captions, and systems' if there are any, image by image."""

    # What they are, for titles.
    name: str
    images: Captions
    # By name: as many lists as there are images.
    systems: Mapping[str, Captions]
    # Most candidates and references of a row.
    size: tuple[int, int]


class DrawnRows(NamedTuple):
    """Rows of captions: candidates of every system, and the references that all of them have."""

    candidates: Mapping[str, Captions]
    references: Captions

    def sides(self) -> list[Captions]:
        """Return all rows."""
        return [self.references, *self.candidates.values()]


def read_captions(options: Options) -> StudyCaptions:
    """Return the captions that the options of `add_caption_options` name; images with too few of them are left out."""
    systems: dict[str, Captions] = {}
    if options.corpus:
        name, images = options.corpus, read_images(data_folder(options), options.corpus)
        if options.corpus == "COCO":
            systems = {"model": [row["candidates"] for row in read_coco(options.data)]}
    elif options.references:
        name, (images, systems) = "given captions", read_tables(options.references, options.predictions)
    else:
        name, images = "bundled scenes", bundled_images()
    size = tuple(options.sizes or SIZES[options.corpus])
    # People are a system, too, unless others are given.
    needed = size[1] if systems else sum(size)
    enough = [i for i, captions in enumerate(images) if len(captions) >= needed]
    if len(enough) < 2:
        raise ValueError(
            f"--sizes: expected at least two images with {needed} human captions, got {len(enough)}. Ask for fewer "
            "captions."
        )
    kept = {system: [captions[i] for i in enough] for system, captions in systems.items()}
    return StudyCaptions(name, [images[i] for i in enough], kept, (size[0], size[1]))


def bundled_images() -> list[list[str]]:
    """Return the captions of the bundled scenes that are written as people write: 16 or more of each."""
    return [[*scene["references"], *scene["systems"]["diverse"]] for scene in read_scenes(BUNDLED)]


def read_coco(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return the rows of COCO, with the references of people and the candidates of a model."""
    return json.loads((folder / "coco_val_1000.json").read_text(encoding="utf-8"))


def read_images(folder: pathlib.Path, data: str) -> list[list[str]]:
    """Return the captions that `read_all_images` finds; of Flickr8k for a part of the images, drawn at random."""
    images = read_all_images(folder, data)
    if data != "Flickr8k":
        return images
    chosen = np.random.default_rng(0).choice(len(images), N_FLICKR8K_IMAGES, replace=False)
    return [images[i] for i in np.sort(chosen)]


def read_all_images(folder: pathlib.Path, data: str) -> list[list[str]]:
    """Return the human captions of each image or clip of a public data set, as in the file, repeated ones too."""
    if data == "COCO":
        return [row["references"] for row in read_coco(folder)]
    if data == "MSVD":
        return read_listed(folder / "msvd_val_references.txt")
    return read_listed(folder / "Flickr8k.token.txt.gz")


def read_listed(path: pathlib.Path) -> list[list[str]]:
    """Return the captions of each image in a file of lines `image<TAB>caption` or `image#number<TAB>caption`."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    captions: dict[str, list[str]] = collections.defaultdict(list)
    for line in lines:
        key, caption = line.split("\t", 1)
        # Flickr8k numbers the captions of an image, and misspells one image once: "2258277193_586949ec62.jpg.1#0".
        captions[re.sub(r"(\.jpg)?(\.1)?#\d$", "", key)].append(caption)
    return list(captions.values())


def read_clips(path: pathlib.Path, n_clips: int, n_captions: int) -> list[list[str]]:
    """Return so many captions of each of the first clips of MSVD that have them, in random order."""
    rng = np.random.default_rng(0)
    enough = [clip for clip in read_listed(path) if len(clip) >= n_captions][:n_clips]
    return [rng.permutation(clip)[:n_captions].tolist() for clip in enough]


def read_people(files: Sequence[str]) -> dict[str, CaptionRow]:
    """Return the rows of tables of human captions by id; their captions are the rows' references."""
    rows = good_rows(open_source(files, either=True).rows())
    return {row.id: row._replace(references=row.people) for row in rows}


def read_tables(references: Sequence[str], predictions: Sequence[str]) -> tuple[Captions, dict[str, Captions]]:
    """Return the human captions in tables, and systems' in others, joined by the ids of the rows."""
    humans = {name: row.references or [] for name, row in read_people(references).items()}
    systems: dict[str, Captions] = {}
    for given in predictions:
        name, separator, path = given.partition("=")
        if not separator:
            raise ValueError(f"--predictions: expected NAME=FILE, got {given!r}. Name the system.")
        captions = {row.id: row.predictions or [] for row in good_rows(open_source([path]).rows())}
        missing = [image for image in humans if image not in captions]
        if missing:
            raise ValueError(
                f"{path}: expected candidates of id {missing[0]!r}, got none ({len(missing)} such ids in all). Add "
                "them, or leave the images out of --references."
            )
        systems[name] = [captions[image] for image in humans]
    return list(humans.values()), systems


def draw_systems(captions: StudyCaptions, damages: Sequence[str], n_rows: int, seed: Sequence[int]) -> DrawnRows:
    """Draw images without replacement, and captions of each: of the systems, and of people, by the names of `DAMAGES`.

    Where the same people write candidates and references, no caption is on both sides.
    """
    images, (n, m) = captions.images, captions.size
    chosen = np.sort(np.random.default_rng(seed).choice(len(images), min(n_rows, len(images)), replace=False)).tolist()
    candidates: dict[str, Captions] = {}
    if all(len(images[i]) >= n + m for i in chosen):
        for damage in damages:
            rng = np.random.default_rng((*seed, 1))
            candidates[damage], references = draw_rows(images, chosen, (n, m), damage, rng)
    else:
        rng = np.random.default_rng((*seed, 1))
        references = [[images[i][k] for k in rng.permutation(len(images[i]))[:m]] for i in chosen]
    for system, lists in captions.systems.items():
        candidates[system] = [lists[i][:n] for i in chosen]
    return DrawnRows(candidates, references)


def draw_rows(
    images: Captions, chosen: Iterable[int], size: tuple[int, int], damage: str, rng: np.random.Generator
) -> tuple[list[list[str]], list[list[str]]]:
    """Split captions of each chosen image at random into candidates and references, then damage the candidates.

    Every damage takes the same random numbers, so that the rows of two damages differ in the damage alone, and what is
    replaced at one probability is replaced by the same caption at all larger ones.
    """
    predictions, references = [], []
    for i in chosen:
        drawn = [images[i][k] for k in rng.permutation(len(images[i]))[: sum(size)]]
        others = [images[k] for k in (i + rng.integers(1, len(images), size=size[0])) % len(images)]
        places, replaced = rng.random(size[0]), rng.random(size[0]) < DAMAGES[damage]
        candidates = drawn[:1] * size[0] if damage == "repeated" else drawn[: size[0]]
        for k in np.flatnonzero(replaced):
            candidates[k] = others[k][int(places[k] * len(others[k]))]
        predictions.append(candidates)
        references.append(drawn[size[0] :])
    return predictions, references


def distinct_captions(*sides: Captions) -> list[str]:
    """Return every caption of all rows once."""
    return list(dict.fromkeys(caption for side in sides for row in side for caption in row))


def caption_vectors(captions: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the MiniLM vectors of distinct captions, float64, by caption."""
    vectors = SentenceEncoder().embed(list(captions), ENCODER_DEFAULTS, tqdm).astype(np.float64)
    return dict(zip(captions, vectors, strict=True))


class CaptionMeasures:
    """What the modules make of rows of captions; each caption is tokenized and embedded once, when first needed."""

    def __init__(self, *sides: Captions):
        """Take all captions that any row will have."""
        self._sides = sides

    @functools.cached_property
    def modules(self) -> dict[str, Any]:
        """The modules of `MODULES`."""
        captions = distinct_captions(*self._sides)
        tokens = dict(zip(captions, ptb_tokenize(captions), strict=True))
        vectors = SentenceEncoder().embed(captions, ENCODER_DEFAULTS, tqdm)
        numbers = {caption: i for i, caption in enumerate(captions)}
        options = {name: {"encoder": lambda texts: vectors[[numbers[text] for text in texts]]} for name in MODULES}
        options["trm_meteor"] = options["trm_cider"] = {"tokenizer": tokens.__getitem__}
        return {name: manycaps.load(name, **options[name]) for name in MODULES}

    def rows(
        self, module: str, predictions: Captions, references: Captions, statistic: str = "per_side"
    ) -> ComparableRows:
        """Return the rows as the module compares them; CIDEr-D counts its documents in the references of all."""
        loaded = self.modules[module]
        return loaded.rows_of(predictions, references, {**loaded.load_options, "statistic": statistic})


def compare_with_nulls(
    rows: ComparableRows, splits: SplitsOfRow, n_rows: int, batch: int
) -> Iterator[tuple[range, Any, np.ndarray, np.ndarray]]:
    """Yield parts of the first rows, all of one size: their places, what is compared, null values, and their units.

    Null values have the shape (n_rows_of_part, n_splits), units (n_rows_of_part,).
    """
    for start in range(0, n_rows, batch):
        places = range(n_rows)[start : start + batch]
        compared = rows.compare(places)
        units = compared.row_units
        yield places, compared, np.concatenate(list(compared.null_values(slice(None), splits)), axis=1), units


def bootstrap_interval(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean over rows, whatever their order; at least 2 rows.

    >>> bootstrap_interval([1.0, 1.0])
    (1.0, 1.0)
    """
    interval = scipy.stats.bootstrap(
        (np.sort(values),),
        np.mean,
        n_resamples=N_RESAMPLES,
        batch=max(1, MAX_RESAMPLED // len(values)),
        confidence_level=CONFIDENCE_LEVEL,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(interval.low), float(interval.high)
