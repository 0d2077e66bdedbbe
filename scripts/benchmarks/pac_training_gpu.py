"""Rows per second of training a PAC score on an accelerator, beside the bare forward and backward passes.

python -m scripts.benchmarks.pac_training_gpu                       ViT-B/32 in bfloat16, random weights, batch 256
python -m scripts.benchmarks.pac_training_gpu --device cpu --dtype float32 --rows 16 --batch-size 8 --steps 2

Four rates, a row being an image, a caption, and the generated one of each: encoding for the cache from JPEG files of
640 x 480, the same without files and decoding (pixels and tokens on the device), steps on cached features, and steps
that train low-rank updates through both encoders, from pixels on the device. The rate of scoring is that of
scripts/benchmarks/clip_gpu.py. Needs scripts/requirements-training.txt, no network and no data.
"""

import argparse
import contextlib
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="ViT-B-32", help="one of open_clip's names, ViT-B-32 or ViT-L-14")
    parser.add_argument("--dtype", default="bfloat16", choices=("float32", "bfloat16"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="threads that decode")
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements-training.txt")

import datasets
import numpy as np
import torch

from manycaps.kit.clip_variants import VARIANTS
from manycaps.pac_training.data_set import TupleRows, checked_rows
from manycaps.pac_training.encoders import Encoders, FeatureCache
from manycaps.pac_training.losses import positive_augmented_loss
from manycaps.pac_training.low_rank import add_low_rank_updates
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, ProjectedRows
from scripts.benchmarks.clip import captions, random_clip
from scripts.benchmarks.clip_gpu import SILENT, rate, write_photographs
from scripts.benchmarks.pac_training import random_cache, steps_of

TREATMENT = VARIANTS["clip-vit-b-32"].treatment
LORA_RANK = 4


def data(folder: pathlib.Path, n: int, n_threads: int) -> TupleRows:
    """Write photographs, and return rows of them."""
    paths, texts = write_photographs(folder, 2 * n), captions(2 * n)
    columns = {"image": paths[:n], "caption": texts[:n], "generated_image": paths[n:], "generated_caption": texts[n:]}
    options = {"needs_images": True, "needs_captions": True, "prompt": "A photo depicts", "least_images": 1}
    return checked_rows(
        datasets.Dataset.from_dict(columns), "training", **options, n_threads=n_threads, progress=SILENT
    )


def ready_batch(encoders: Encoders, n: int) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Pixels and tokens of n images and captions on the device."""
    model = encoders.model
    size = (n, model.image_size, model.image_size, 3)
    pixels = torch.from_numpy(np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)).to(model.device)
    return pixels, model._as_batch([model.tokenize(f"A photo depicts {text}") for text in captions(n)])


def finished(device: torch.device, function: Callable[[], Any]) -> Callable[[], None]:
    """Return the function with a wait for the device behind it."""

    def run() -> None:
        function()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return run


def lora_step(encoders: Encoders, n: int, autocast: Callable[[], Any]) -> Callable[[], None]:
    """Return a function that takes one step of low-rank updates on n rows that lie on the device."""
    factors = add_low_rank_updates(encoders.model.network, LORA_RANK, 0)
    optimizer = torch.optim.AdamW([*factors.values(), *encoders.projections.values()], lr=1e-4)
    visual, text = (encoders.projections[name] for name in (VISUAL_PROJECTION, TEXT_PROJECTION))
    pixels, tokens = ready_batch(encoders, n)

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            encoded = [encoders.model.embed_pixels(pixels) for _ in range(2)]
            encoded += [encoders.model.embed_tokens(*tokens) for _ in range(2)]
        v, generated_v, t, generated_t = (x.float() for x in encoded)
        features = (v @ visual, t @ text, generated_v @ visual, generated_t @ text)
        positive_augmented_loss(*features, encoders.scale)[0].backward()
        optimizer.step()

    return run


def measure(arguments: argparse.Namespace, folder: pathlib.Path) -> dict[str, object]:
    """Measure the four rates."""
    weights = random_clip(arguments.architecture).state_dict()
    encoders = Encoders(weights, TREATMENT, arguments.device, arguments.dtype)
    device, n, batch = encoders.model.device, arguments.rows, arguments.batch_size
    rows = data(folder, n, arguments.workers)
    pixels, tokens = ready_batch(encoders, batch)

    def cache() -> None:
        target = folder / f"features-{time.monotonic_ns()}"  # a new folder each time, so that all is encoded
        options = {"batch_size": batch, "n_threads": arguments.workers, "progress": SILENT}
        FeatureCache(target, encoders, **options).features(rows, "training")

    def bare() -> None:
        with torch.inference_mode():
            for _ in range(n // batch):
                for _ in range(2):
                    encoders.model.embed_pixels(pixels)
                    encoders.model.embed_tokens(*tokens)

    repeats, steps = arguments.repeats, arguments.steps
    measured = {
        "encoding_for_the_cache": rate(finished(device, cache), n, repeats),
        "bare_encoders": rate(finished(device, bare), n // batch * batch, repeats),
    }
    cached = random_cache(*(len(weights[name]) for name in (VISUAL_PROJECTION, TEXT_PROJECTION)))
    take = steps_of(ProjectedRows(cached, *encoders.projections.values()), encoders, batch)
    measured["steps_on_the_cache"] = rate(finished(device, lambda: take(steps)), steps * batch, repeats)
    with_gradients = Encoders(weights, TREATMENT, arguments.device, "float32")
    short = arguments.dtype == "bfloat16"
    autocast = (lambda: torch.autocast(device.type, torch.bfloat16)) if short else contextlib.nullcontext
    step = lora_step(with_gradients, batch, autocast)
    measured["steps_with_low_rank_updates"] = rate(
        finished(device, lambda: [step() for _ in range(steps)]), steps * batch, repeats
    )
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "architecture": arguments.architecture,
        "dtype": arguments.dtype,
        "batch_size": batch,
        **{f"{name}_rows_per_second": round(value, 1) for name, value in measured.items()},
        "cache_of_bare_encoders": round(measured["encoding_for_the_cache"] / measured["bare_encoders"], 3),
        "decode_threads": arguments.workers,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(measure(parsed(), pathlib.Path(name)), indent=2))
