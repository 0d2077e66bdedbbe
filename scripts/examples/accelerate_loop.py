"""Sample captions in several processes with accelerate, gather them, and score them once.

accelerate launch --cpu --num_processes 2 scripts/examples/accelerate_loop.py
python -m scripts.examples.accelerate_loop          one process: the same numbers

Needs `pip install manycaps torch accelerate`; runs from any folder. The captioner draws words by the pairs that follow
each other in the references; put `model.generate(..., do_sample=True, num_return_sequences=10)` in its place.
"""

import argparse
import itertools
import json
import pathlib

from manycaps.commands.quickstart import SAMPLE


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=pathlib.Path, default=SAMPLE)
    parser.add_argument("--batch-size", type=int, default=4, help="rows of one process at once")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("results.jsonl"), metavar="FILE")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    parsed()  # answers --help before the packages are imported

import torch
from accelerate import Accelerator

import manycaps

# Candidates per image, and the longest caption in words.
N_CANDIDATES = 10
MAX_WORDS = 20


class PairCaptioner(torch.nn.Module):
    """Draws each word from those that followed the word before it in the given captions."""

    def __init__(self, captions: list[str]):
        super().__init__()
        sentences = [caption.lower().rstrip(".").split() for caption in captions]
        self.words = ["", *sorted({word for sentence in sentences for word in sentence})]  # 0 begins and ends
        number = {word: i for i, word in enumerate(self.words)}
        counts = torch.zeros(len(self.words), len(self.words))
        for sentence in sentences:
            numbers = [0, *(number[word] for word in sentence), 0]
            for first, second in itertools.pairwise(numbers):
                counts[first, second] += 1
        self.counts = torch.nn.Parameter(counts, requires_grad=False)

    @torch.no_grad()
    def sample(self, seed: int) -> list[str]:
        """Return `N_CANDIDATES` captions; the seed of the row decides them, not the process that draws them."""
        generator = torch.Generator().manual_seed(seed)
        captions = []
        for _ in range(N_CANDIDATES):
            numbers = [0]
            while len(numbers) <= MAX_WORDS and (len(numbers) == 1 or numbers[-1]):
                numbers.append(int(torch.multinomial(self.counts[numbers[-1]].cpu(), 1, generator=generator)))
            captions.append(" ".join(self.words[number] for number in numbers if number))
        return captions


def main(captions: pathlib.Path, batch_size: int, output: pathlib.Path) -> dict[str, float]:
    """Score the captioner and append the result to a file; only the main process returns it."""
    scenes = json.loads(captions.read_text(encoding="utf-8"))["scenes"]
    rows = [{"id": i, "references": scene["references"]} for i, scene in enumerate(scenes)]

    accelerator = Accelerator(cpu=True)
    model = PairCaptioner([caption for row in rows for caption in row["references"]])
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
        with output.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"n_processes": accelerator.num_processes, **result}) + "\n")
    accelerator.end_training()  # the others wait here: a process that ends early would break the main one
    return result


if __name__ == "__main__":
    main(**vars(parsed()))
