"""Sample captions in several processes with accelerate, gather them, and score them once.

torchrun --nproc_per_node 2 scripts/examples/accelerate_loop.py
python -m scripts.examples.accelerate_loop          one process: the same numbers

Needs `pip install manycaps torch accelerate`; runs from any folder. The captioner draws from all references; put
`model.generate(..., do_sample=True, num_return_sequences=10)` in its place.
"""

import argparse
import json
import pathlib
import random

from manycaps.commands.quickstart import SAMPLE


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=pathlib.Path, default=SAMPLE)
    parser.add_argument("--batch-size", type=int, default=4, help="rows of one process at once")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("results.jsonl"), metavar="FILE")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parse()  # answers --help before the packages are imported

import torch
from accelerate import Accelerator

import manycaps

N_CANDIDATES = 10


class Captioner(torch.nn.Module):
    """Stands in for a model: draws from given captions."""

    def __init__(self, captions: list[str]):
        super().__init__()
        self.captions = captions

    def sample(self, seed: int) -> list[str]:
        """Return `N_CANDIDATES` captions; the seed of the row decides them, not the process that draws them."""
        return random.Random(seed).choices(self.captions, k=N_CANDIDATES)


def main(captions: pathlib.Path, batch_size: int, output: pathlib.Path) -> dict[str, float]:
    """Score the captioner, print the result and append it to a file; only the main process returns it."""
    scenes = json.loads(captions.read_text(encoding="utf-8"))["scenes"]
    rows = [{"id": i, "references": scene["references"]} for i, scene in enumerate(scenes)]

    accelerator = Accelerator(cpu=True)
    model = Captioner([caption for row in rows for caption in row["references"]])
    loader = torch.utils.data.DataLoader(rows, batch_size=batch_size, collate_fn=list)
    model, loader = accelerator.prepare_model(model, evaluation_mode=True), accelerator.prepare(loader)

    finished = []
    for batch in loader:
        scored = [{**row, "candidates": accelerator.unwrap_model(model).sample(row["id"])} for row in batch]
        # The last batch is filled up with rows of the first: only gather_for_metrics drops them again. Captions are
        # objects, not tensors of one length, hence use_gather_object.
        finished += accelerator.gather_for_metrics(scored, use_gather_object=True)

    # Every process has all rows now. One of them scores, so evaluate's own num_process is not needed.
    result = {}
    if accelerator.is_main_process:
        trm_meteor = manycaps.load("trm_meteor")
        result = trm_meteor.compute(
            predictions=[row["candidates"] for row in finished], references=[row["references"] for row in finished]
        )
        line = json.dumps({"n_processes": accelerator.num_processes, **result})
        print(line)
        with output.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    accelerator.end_training()  # the others wait here: a process that ends early would break the main one
    return result


if __name__ == "__main__":
    main(**vars(parse()))
