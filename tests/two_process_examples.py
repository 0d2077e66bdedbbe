"""Run the examples for several processes, as they are and changed; the tests start this program twice, with ranks.

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

ALL_SCORE = ("if accelerator.is_main_process:", "if True:")
ALL_ROWS = ("accelerator.gather_for_metrics(scored, use_gather_object=True)", "gather_object(scored)")
NEEDS = (
    "from accelerate import Accelerator",
    "from accelerate import Accelerator\nfrom accelerate.utils import gather_object",
)
GO_ON = ("accelerator.end_training()", "accelerator.wait_for_everyone()")
ALL_WRITE = ("if PartialState().is_main_process:", "if True:")


def load_once(load):
    """`manycaps.load` that keeps the modules with WordNet in memory."""
    cached = functools.cache(load)
    return lambda name, **options: load(name, **options) if "encoder" in options else cached(name, **options)


def loop_results(folder):
    """Results of the accelerate loop by name; the group of processes is kept for what follows."""
    captions = ROOT / "manycaps" / "quickstart" / "captions.json"
    programs = {"intact": [], "all score": [ALL_SCORE], "all rows": [NEEDS, ALL_ROWS]}
    return {
        name: example("accelerate_loop", *changes, GO_ON).main(captions, 4, folder / f"{name}.jsonl")
        for name, changes in programs.items()
    }


def trainer_results(folder):
    """What one evaluation of the untrained model gave, and whether more than the rows of the data set arrived."""
    program = example("seq2seq_trainer")
    trainer = program.make_trainer(folder / "trained", 1)
    seen = []
    metrics = trainer.compute_metrics
    trainer.compute_metrics = lambda evaluated: seen.append(evaluated) or metrics(evaluated)
    result = trainer.evaluate()
    careless = example("seq2seq_trainer", ALL_WRITE).CaptionMetrics(
        metrics.tokenizer, metrics.rows, folder / "careless.jsonl"
    )
    careless(seen[0])
    uncut = example(
        "seq2seq_trainer", ("samples, labels = samples[: len(self.rows)], labels[: len(self.rows)]", "pass")
    ).CaptionMetrics(metrics.tokenizer, metrics.rows, folder / "uncut.jsonl")
    try:
        uncut(seen[0])
        error = ""
    except ValueError as raised:
        error = str(raised)
    return {"result": result, "rows that arrived": len(seen[0].predictions), "uncut": error}


if __name__ == "__main__":
    torch.set_num_threads(1)
    manycaps.load = load_once(manycaps.load)
    folder = pathlib.Path(sys.argv[1])
    seen = {"loop": loop_results(folder), "trainer": trainer_results(folder)}
    # The program as it is, to its end.
    seen["trained"] = example("seq2seq_trainer").main(folder / "whole", epochs=1)
    (folder / f"rank{os.environ['RANK']}.json").write_text(json.dumps(seen))
