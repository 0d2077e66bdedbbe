"""Run the examples for several processes; the tests start this program twice, with ranks.

Every process writes what it saw into the folder that is the only argument: rank0.json and rank1.json.
"""

import functools
import json
import os
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import manycaps  # noqa: E402, the line before makes it possible
from tests.example_programs import example  # noqa: E402

# The group of processes is kept for what follows.
GO_ON = ("accelerator.end_training()", "accelerator.wait_for_everyone()")


def load_once(load):
    """`manycaps.load` that keeps the modules with WordNet in memory."""
    cached = functools.cache(load)
    return lambda name, **options: load(name, **options) if "encoder" in options else cached(name, **options)


def loop_results(folder):
    """Results of the accelerate loop."""
    captions = ROOT / "manycaps" / "quickstart" / "captions.json"
    return example("accelerate_loop", GO_ON).main(captions, 4, folder / "loop.jsonl")


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
    manycaps.load = load_once(manycaps.load)
    folder = pathlib.Path(sys.argv[1])
    seen = {"loop": loop_results(folder), "trainer": trainer_results(folder)}
    (folder / f"rank{os.environ['RANK']}.json").write_text(json.dumps(seen))
