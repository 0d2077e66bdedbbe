"""Draw a data set of the made world: pictures of coloured shapes with captions, positives, foils and graded captions.

python -m scripts.toy.make_world world.parquet                      10,000 scenes
python -m scripts.toy.make_world test.parquet --rows 1000 --seed 1  other scenes

Columns: image, caption, generated_image (the same scene, drawn a second time) and generated_caption (in other words),
which `manycaps train-pac` reads; references (4 more right captions), foil (the caption with one wrong word), foil_kind,
and graded_captions (with 0, 1, 2, 3 and 4 wrong attributes). The same seed gives the same rows.
"""

import functools
import pathlib
from collections.abc import Iterator
from typing import Any

import datasets
import numpy as np
import tqdm

from manycaps.files.saved_files import check_can_be_written, write_atomically
from manycaps.kit.errors import quote_path
from scripts.studies.study_options import tool_parser
from scripts.toy.captions import as_caption, draw_claim, draw_foil, draw_wording, other_caption, wrong_claim
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import draw_scene

parser = tool_parser(__doc__)
parser.add_argument("output", type=pathlib.Path, help="the new parquet file")
parser.add_argument("--rows", type=int, default=10_000, help="scenes (default %(default)s)")
parser.add_argument("--seed", type=int, default=0, help="seed of all choices (default %(default)s)")

# Right captions of a scene beside its own one.
N_REFERENCES = 4

# Wrong attributes of the graded captions of a scene, one caption each.
GRADES = (0, 1, 2, 3, 4)

# Rows that are held at once.
ROWS_AT_ONCE = 500

# What every data set has, and what a test set has besides.
FEATURES = datasets.Features(
    {
        "image": datasets.Image(),
        "caption": datasets.Value("string"),
        "generated_image": datasets.Image(),
        "generated_caption": datasets.Value("string"),
        "references": datasets.Sequence(datasets.Value("string")),
        "foil": datasets.Value("string"),
        "foil_kind": datasets.Value("string"),
        "graded_captions": datasets.Sequence(datasets.Value("string")),
    }
)


def make_row(seed: int, row: int) -> dict[str, Any]:
    """Make one row; it depends on the seed and its number alone, so a longer data set begins with a shorter one.

    `generated_image` shows the same scene, drawn again; `generated_caption` and the references say what is true of it
    in other words; `foil` is `caption` with one wrong word; caption g of `graded_captions` has g wrong attributes.
    """
    rng = np.random.default_rng([seed, row])
    scene, wording = draw_scene(rng), draw_wording(rng)
    foil = draw_foil(rng, scene, draw_claim(rng, scene), wording)
    graded = [as_caption(wrong_claim(rng, scene, scene, errors), draw_wording(rng)) for errors in GRADES]
    return {
        "image": draw_picture(rng, scene),
        "caption": foil.caption,
        "generated_image": draw_picture(rng, scene),
        "generated_caption": other_caption(rng, scene, foil.caption),
        "references": [other_caption(rng, scene, foil.caption) for _ in range(N_REFERENCES)],
        "foil": foil.foil,
        "foil_kind": foil.kind,
        "graded_captions": graded,
    }


def make_rows(seed: int, n_rows: int) -> Iterator[dict[str, Any]]:
    """Make the rows of a data set, one after the other."""
    return map(functools.partial(make_row, seed), range(n_rows))


def make_world(output: pathlib.Path, rows: int, seed: int = 0) -> None:
    """Write a data set of the made world, atomically."""
    if rows < 1:
        raise ValueError(f"--rows: expected 1 or more, got {rows}. Leave it out for 10,000.")
    if seed < 0:
        raise ValueError(f"--seed: expected 0 or more, got {seed}. Leave it out for 0.")
    if output.suffix != ".parquet":
        raise ValueError(f"output: expected a name ending in .parquet, got {quote_path(output)}. Add the ending.")
    check_can_be_written(output)

    def write(target: pathlib.Path) -> None:
        options = {"features": FEATURES, "writer_batch_size": ROWS_AT_ONCE, "embed_local_files": True}
        with datasets.arrow_writer.ParquetWriter(path=str(target), **options) as writer:
            for row in tqdm.tqdm(make_rows(seed, rows), total=rows, desc=output.name, unit="scene"):
                writer.write(FEATURES.encode_example(row))
            writer.finalize()

    write_atomically(output, write)


if __name__ == "__main__":
    make_world(**vars(parser.parse_args()))
