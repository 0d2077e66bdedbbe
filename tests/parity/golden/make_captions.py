"""Write captions.json: the captions that the other golden files are about, all of them written for this project.

Rows: fourteen scenes of manycaps/comparison/quickstart/captions.json with varied candidates, three of them with one
candidate repeated and three with captions of other scenes; the rows of nasty_captions.json; and scenes of the made
world. Needs metrics/pac_score/requirements.txt.
"""

import json
from collections.abc import Iterator
from typing import Any

from scripts.toy.make_world import make_rows
from tests.parity.golden.golden_file import GOLDEN, meta, run, write_json

BUNDLED = GOLDEN.parents[2] / "manycaps" / "comparison" / "quickstart" / "captions.json"

# Scenes of the bundled sample that are also there with these candidates.
N_OTHER_SYSTEMS = 3
OTHER_SYSTEMS = ("repeating", "off_topic")

# Scenes of the made world.
MADE_SEED = 13
N_MADE = 20


def bundled_rows() -> Iterator[dict[str, Any]]:
    scenes = json.loads(BUNDLED.read_text(encoding="utf-8"))["scenes"]
    for i, scene in enumerate(scenes):
        for system in ("diverse", *(OTHER_SYSTEMS if i < N_OTHER_SYSTEMS else ())):
            yield as_row(f"{scene['scene']}/{system}", scene["references"], scene["systems"][system])


def nasty_rows() -> Iterator[dict[str, Any]]:
    """Yield the rows that are hard to read."""
    for row in json.loads((GOLDEN / "nasty_captions.json").read_text(encoding="utf-8"))["rows"]:
        yield as_row(f"nasty/{row['name']}", row["references"], row["candidates"])


def world_rows() -> Iterator[dict[str, Any]]:
    """Yield scenes of coloured shapes: two right captions, a foil, and captions with one to four errors."""
    for i, row in enumerate(make_rows(MADE_SEED, N_MADE)):
        candidates = [row["caption"], row["generated_caption"], row["foil"], *row["graded_captions"][1:]]
        yield as_row(f"made/{i}", row["references"], candidates)


def as_row(name: str, references: list[str], candidates: list[str]) -> dict[str, Any]:
    """Return a row in the layout of the golden files."""
    return {"_id": name, "references": references, "candidates": candidates}


def main() -> None:
    rows = [*bundled_rows(), *nasty_rows(), *world_rows()]
    about = meta(
        ("numpy",), captions="of the bundled sample, of nasty_captions.json and of the made world", seed=MADE_SEED
    )
    write_json("captions.json", {"meta": about, "rows": rows})


if __name__ == "__main__":
    run(main)
