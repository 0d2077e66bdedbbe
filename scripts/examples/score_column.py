"""Score a column of a data set and write it as parquet files that can be pushed to the Hub as they are.

python -m scripts.examples.score_column --output scored/
hf upload my-name/scored-captions scored/ --repo-type dataset

Needs `pip install manycaps`; runs from any folder. Put `datasets.load_dataset(...)` in place of `sample`.
"""

import argparse
import json
import pathlib

from manycaps.commands.quickstart import SAMPLE


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=pathlib.Path, default=SAMPLE)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("scored"), metavar="FOLDER")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse()  # answers --help before the packages are imported

import datasets

import manycaps

CARD = """---
configs:
- config_name: default
  data_files:
  - split: test
    path: data/test-*.parquet
---

# Captions with their scores

Scored with `{signature}`.
"""


def sample(captions: pathlib.Path) -> datasets.Dataset:
    """Return one row per scene with its references and the candidates of one system."""
    scenes = json.loads(captions.read_text(encoding="utf-8"))["scenes"]
    columns = {
        "scene": [scene["scene"] for scene in scenes],
        "references": [scene["references"] for scene in scenes],
        "candidates": [scene["systems"]["diverse"] for scene in scenes],
    }
    return datasets.Dataset.from_dict(columns)


class RowScores:
    """Adds the scores of single rows to batches of a data set."""

    def __init__(self, name: str):
        self.module = manycaps.load(name, p_value="exact", details=True)

    def __call__(self, batch: dict[str, list]) -> dict[str, list]:
        """Return the new columns."""
        result = self.module.compute(predictions=batch["candidates"], references=batch["references"])
        # Only what belongs to a row: the other values are means over this batch.
        columns = {name: values for name, values in result.items() if name.endswith("_per_row")}
        return {**columns, "signature": [result["signature"]] * len(batch["candidates"])}


def main(captions: pathlib.Path, output: pathlib.Path) -> datasets.Dataset:
    """Score, write and return the data set."""
    score = RowScores("trm_meteor")
    # A row of trm_meteor depends on nothing but itself, so any batch size will do. trm_cider weighs words by their
    # frequency in what it is given: there say batch_size=None, or give it document_frequency=.
    scored = sample(captions).map(score, batched=True, batch_size=5)

    (output / "data").mkdir(parents=True, exist_ok=True)
    scored.to_parquet(output / "data" / "test-00000-of-00001.parquet")
    (output / "README.md").write_text(CARD.format(signature=scored[0]["signature"]), encoding="utf-8")
    print(scored.to_pandas()[["scene", "trm_meteor_per_row", "trm_meteor_p_value_per_row"]].to_string(index=False))
    return scored


if __name__ == "__main__":
    main(**vars(parse()))
