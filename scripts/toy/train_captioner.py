"""Train a small captioner of the made world: tiny-pac's image encoder, frozen, and a decoder that learns from people.

python -m scripts.toy.train_captioner --output runs/captioner [--seed 0] [--steps 1500]

The folder holds a `VisionEncoderDecoderModel` of transformers, which `manycaps sample` takes; `captioner.json` has
the recipe, the loss on held-out human captions, and people's own: no speaker can have less. Needs
scripts/requirements-training.txt.
"""

import argparse
import json
import pathlib
import sys
import time
from collections.abc import Sequence

import torch
import tqdm

from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.files.saved_files import make_folder, write_text_atomically
from manycaps.kit.files import file_sha256
from scripts.toy.small_captioner import CaptionerRecipe, draw_held_out, new_captioner, save_captioner, train_captioner


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FOLDER", help="for the captioner")
    parser.add_argument("--seed", type=int, default=0, help="of weights, scenes and captions (default %(default)s)")
    parser.add_argument("--scenes", type=int, default=8_000, help="of the training (default %(default)s)")
    parser.add_argument("--steps", type=int, default=1_500, help="of 64 captions each (default %(default)s)")
    return parser.parse_args(arguments)


WEIGHTS = CHECKPOINT / "open_clip_model.safetensors"

# Seed and number of the scenes on which the loss is measured.
HELD_OUT = (1_000_000, 500)


def main(options: argparse.Namespace) -> int:
    """Train and write."""
    torch.set_num_threads(1)
    recipe = CaptionerRecipe(n_scenes=options.scenes, n_steps=options.steps)
    start = time.process_time()
    model = new_captioner(WEIGHTS, options.seed)
    train_captioner(model, options.seed, recipe, tqdm.tqdm)
    minutes = (time.process_time() - start) / 60
    held_out = draw_held_out(model, *HELD_OUT)
    facts = {
        "seed": options.seed,
        "recipe": recipe._asdict(),
        "encoder_sha256": file_sha256(WEIGHTS),
        "processor_minutes": round(minutes, 2),
        "nats_of_a_held_out_caption": held_out.nats(1.0),
        "nats_of_people": held_out.nats_of_people,
    }
    save_captioner(model, make_folder(options.output))
    write_text_atomically(options.output / "captioner.json", json.dumps(facts, indent=1) + "\n")
    print(json.dumps(facts, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(parse()))
