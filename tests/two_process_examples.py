"""Evaluate the example of a Trainer; the tests start this program twice, with ranks.

Every process writes what it saw into the folder that is the only argument: rank0.json and rank1.json.
"""

import json
import os
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.example_programs import example  # noqa: E402, the line before makes it possible


def trainer_results(folder):
    """What one evaluation of the untrained model gave, and whether more than the rows of the data set arrived."""
    program = example("seq2seq_trainer")
    trainer = program.make_trainer(folder / "trained", 1)
    seen = []
    metrics = trainer.compute_metrics
    trainer.compute_metrics = lambda evaluated: seen.append(evaluated) or metrics(evaluated)
    result = trainer.evaluate()
    return {"result": result, "rows that arrived": len(seen[0].predictions)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    (folder / f"rank{os.environ['RANK']}.json").write_text(json.dumps(trainer_results(folder)))
