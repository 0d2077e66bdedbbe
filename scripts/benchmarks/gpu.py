"""Rates of the CLIP encoder and of training a PAC score on an accelerator, beside the bare model and decoding alone.

python -m scripts.benchmarks.gpu                          random weights in bfloat16; ViT-L/14 scores, ViT-B/32 trains
python -m scripts.benchmarks.gpu --only scoring --compile
python -m scripts.benchmarks.gpu --architecture ViT-B-32 --dtype float32 --device cpu --rows 16 --batch-size 8 --steps 2

Scoring has three rates on the same JPEG files of 640 x 480: what a user gets (files in, features out, decoding in
threads while the model computes), the model alone on pixels that lie on the device, and reading, decoding and scaling
alone. The first cannot be above the smaller of the other two; `bound` says which of them it is.

Training has four, a row being an image, a caption, and the generated one of each: encoding for the cache from files,
the same without files and decoding, steps on cached features, and steps that train low-rank updates through both
encoders, from pixels on the device. Needs scripts/requirements-training.txt, no network and no data.
"""

import argparse
import contextlib
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("scoring", "training"))
    parser.add_argument("--architecture", help="one of open_clip's names; for training ViT-B-32 or ViT-L-14")
    parser.add_argument("--dtype", default="bfloat16", choices=("float32", "bfloat16"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, default=2048, help="images, and rows of the training")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=10, help="of the training")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="threads that decode")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--compile", action="store_true", help="score with torch.compile")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements-training.txt")

import numpy as np
import torch

from manycaps.kit.clip_encoder import ClipEncoder
from manycaps.kit.clip_image_features import encode_images
from manycaps.kit.clip_model import ClipModel
from manycaps.kit.clip_options import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS
from manycaps.kit.media_images import as_image_source, as_model_pixels, as_rgb_image
from manycaps.pac_training.encoders import Encoders, FeatureCache
from manycaps.pac_training.losses import positive_augmented_loss
from manycaps.pac_training.low_rank import add_low_rank_updates
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION
from scripts.benchmarks.clip import captions, random_clip, save_clip, write_photographs
from scripts.benchmarks.pac_training import SILENT, TREATMENT, cached_steps, random_cache, tuple_rows
from scripts.benchmarks.timing import medians

LORA_RANK = 4

# Function and number of its units.
Measured = tuple[Callable[[], object], int]


def rates(works: dict[str, Measured], device: torch.device, repeats: int) -> dict[str, float]:
    """Return the median rate of each work in units per second; a first run is not counted."""

    def clock() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    found = {}
    for name, (work, n) in works.items():
        work()
        found[name] = n / medians(work, repeats=repeats, clock=clock)[0]
    return found


def random_pixels(model: ClipModel, n: int) -> torch.Tensor:
    """Return n images on the device, uint8."""
    size = (n, model.image_size, model.image_size, 3)
    return torch.randint(0, 256, size, dtype=torch.uint8, device=model.device)


def scoring(given: argparse.Namespace, architecture: str, folder: pathlib.Path) -> tuple[torch.device, dict[str, Any]]:
    """Measure the three rates of the encoder in images per second."""
    options = {"checkpoint": save_clip(random_clip(architecture), folder), "dtype": given.dtype}
    options |= {"device": given.device, "compile": given.compile}
    encoder = ClipEncoder(CLIP_LOAD_DEFAULTS | CLIP_CALL_DEFAULTS | options, SILENT)
    model, n, paths = encoder.model, given.rows, write_photographs(folder, given.rows)
    pixels = random_pixels(model, min(n, given.batch_size))

    def module() -> None:
        encoder.forget()
        encode_images(encoder, paths, "images", given.batch_size, given.workers)

    def bare_forward() -> None:
        with torch.inference_mode():
            for start in range(0, n, given.batch_size):
                model.embed_pixels(pixels[: n - start])

    def decoded(path: str) -> np.ndarray:
        return as_model_pixels(as_rgb_image(as_image_source(path, path), path), model.image_size)

    def decode_only() -> None:
        with ThreadPoolExecutor(given.workers) as pool:
            for _ in pool.map(decoded, paths):
                pass

    works: dict[str, Measured] = {work.__name__: (work, n) for work in (module, bare_forward, decode_only)}
    found = rates(works, model.device, given.repeats)
    limit = min("bare_forward", "decode_only", key=found.__getitem__)
    return model.device, {
        **{f"{name}_images_per_second": round(value, 1) for name, value in found.items()},
        "of_bare_forward": round(found["module"] / found["bare_forward"], 3),
        "of_the_lower_limit": round(found["module"] / found[limit], 3),
        "bound": "compute" if limit == "bare_forward" else "decode",
    }


def ready_batch(encoders: Encoders, n: int) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Pixels and tokens of n images and captions on the device."""
    model = encoders.model
    return random_pixels(model, n), model._as_batch([model.tokenize(f"A photo depicts {x}") for x in captions(n)])


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


def training(given: argparse.Namespace, architecture: str, folder: pathlib.Path) -> tuple[torch.device, dict[str, Any]]:
    """Measure the four rates of training in rows per second."""
    weights = random_clip(architecture).state_dict()
    encoders = Encoders(weights, TREATMENT, given.device, given.dtype)
    device, n, batch = encoders.model.device, given.rows, given.batch_size
    rows = tuple_rows(folder, n, given.workers)
    pixels, tokens = ready_batch(encoders, batch)
    steps = cached_steps(random_cache(weights), encoders, batch)
    is_short = given.dtype == "bfloat16"
    autocast = (lambda: torch.autocast(device.type, torch.bfloat16)) if is_short else contextlib.nullcontext

    def cache() -> None:
        target = folder / f"features-{time.monotonic_ns()}"  # a new folder each time, so that all is encoded
        options = {"batch_size": batch, "n_threads": given.workers, "progress": SILENT}
        FeatureCache(target, encoders, **options).features(rows, "training")

    def bare() -> None:
        with torch.inference_mode():
            for _ in range(2 * (n // batch)):
                encoders.model.embed_pixels(pixels)
                encoders.model.embed_tokens(*tokens)

    step = lora_step(Encoders(weights, TREATMENT, given.device, "float32"), batch, autocast)
    works: dict[str, Measured] = {
        "encoding_for_the_cache": (cache, n),
        "bare_encoders": (bare, n // batch * batch),
        "steps_on_the_cache": (lambda: steps(given.steps), given.steps * batch),
        "steps_with_low_rank_updates": (lambda: [step() for _ in range(given.steps)], given.steps * batch),
    }
    found = rates(works, device, given.repeats)
    return device, {
        **{f"{name}_rows_per_second": round(value, 1) for name, value in found.items()},
        "cache_of_bare_encoders": round(found["encoding_for_the_cache"] / found["bare_encoders"], 3),
    }


def measure(given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Measure scoring, training or both."""
    results = {}
    for name, work, architecture in (("scoring", scoring, "ViT-L-14"), ("training", training, "ViT-B-32")):
        if given.only in (None, name):
            architecture = given.architecture or architecture
            with tempfile.TemporaryDirectory() as folder:
                device, found = work(given, architecture, pathlib.Path(folder))
            results[name] = {
                "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
                "architecture": architecture,
                "dtype": given.dtype,
                "batch_size": given.batch_size,
                **found,
                "decode_threads": given.workers,
            }
    return results


if __name__ == "__main__":
    print(json.dumps(measure(parsed()), indent=2))
