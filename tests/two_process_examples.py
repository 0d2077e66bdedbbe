"""Run an example of a Trainer as the program that it is, and note what its process sees.

Arguments: a folder, the example, and the example's own arguments. torchrun starts this file in place of the example;
every process writes what it saw into the folder: rank0.json and rank1.json, with the result of the last evaluation, and
how many rows of predictions arrived there.
"""

import json
import os
import pathlib
import runpy
import sys

import torch
import transformers


def note_evaluations(seen):
    """Note the result of each evaluation, and the number of rows that arrived at `compute_metrics`."""
    evaluate = transformers.Seq2SeqTrainer.evaluate

    def evaluate_and_note(trainer, *arguments, **options):
        metrics = trainer.compute_metrics
        trainer.compute_metrics = lambda evaluated: (
            seen.update(n_rows=len(evaluated.predictions)),
            metrics(evaluated),
        )[1]
        seen["result"] = evaluate(trainer, *arguments, **options)
        trainer.compute_metrics = metrics
        return seen["result"]

    transformers.Seq2SeqTrainer.evaluate = evaluate_and_note


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, *sys.argv = sys.argv[1:]
    seen = {}
    note_evaluations(seen)
    runpy.run_path(sys.argv[0], run_name="__main__")
    (pathlib.Path(folder) / f"rank{os.environ['RANK']}.json").write_text(json.dumps(seen))
