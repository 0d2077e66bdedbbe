"""Images per second of the CLIP encoder on an accelerator, beside the bare forward pass and beside decoding alone.

python -m scripts.benchmarks.clip_gpu                          ViT-L/14 in bfloat16, random weights, 2,048 images
python -m scripts.benchmarks.clip_gpu --architecture ViT-B-32 --dtype float32 --device cpu --images 64

Three rates on the same JPEG files of 640 x 480: what a user gets (files in, features out, decoding in threads while the
model computes), the model alone on pixels that lie on the device, and reading, decoding and scaling alone. The first
cannot be above the smaller of the other two; the last line says which of them it is. Needs
metrics/pac_score/requirements.txt, no network and no data.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", default="ViT-L-14", help="one of open_clip's names")
    parser.add_argument("--dtype", default="bfloat16", choices=("float32", "bfloat16"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="threads that decode")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "metrics/pac_score/requirements.txt")

import numpy as np
import open_clip
import PIL.Image
import torch
from tqdm import tqdm

from manycaps.kit.clip_encoder import ClipEncoder
from manycaps.kit.clip_image_features import encode_images
from manycaps.kit.clip_model import ClipModel
from manycaps.kit.clip_options import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS
from manycaps.kit.media_images import as_image_source, as_model_pixels, as_rgb_image

# A progress bar that shows nothing.
SILENT = functools.partial(tqdm, disable=True)


def write_photographs(folder: pathlib.Path, n: int) -> list[str]:
    """Write n different JPEG files of 640 x 480, about as large as photographs."""
    rng = np.random.default_rng(0)

    def write(i: int) -> str:
        coarse = PIL.Image.fromarray(seeds[i]).resize((640, 480))
        path = folder / f"{i}.jpg"
        PIL.Image.fromarray(np.clip(np.asarray(coarse) + noise, 0, 255).astype(np.uint8)).save(path, quality=90)
        return str(path)

    seeds = rng.integers(0, 256, (n, 12, 16, 3), dtype=np.uint8)
    noise = rng.integers(-12, 13, (480, 640, 3))
    with ThreadPoolExecutor() as pool:
        return list(pool.map(write, range(n)))


def rate(function: Callable[[], object], n: int, repeats: int) -> float:
    """Return n over the median seconds of a function, the first run not counted."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return n / statistics.median(seconds[1:])


def bare_forward(model: ClipModel, n: int, batch_size: int) -> Callable[[], None]:
    """Return a function that runs the image encoder over n images that lie on the device."""
    size = (min(n, batch_size), model.image_size, model.image_size, 3)
    pixels = torch.randint(0, 256, size, dtype=torch.uint8, device=model.device)

    def run() -> None:
        with torch.inference_mode():
            for start in range(0, n, batch_size):
                features = model.embed_pixels(pixels[: n - start])
        features.cpu()  # waits for the device

    return run


def decode(paths: Sequence[str], size: int, n_workers: int) -> Callable[[], object]:
    """Return a function that reads, decodes and scales every file, and does nothing else."""

    def one(path: str) -> np.ndarray:
        return as_model_pixels(as_rgb_image(as_image_source(path, path), path), size)

    def run() -> None:
        with ThreadPoolExecutor(n_workers) as pool:
            for _ in pool.map(one, paths):
                pass

    return run


def measure(arguments: argparse.Namespace, folder: pathlib.Path) -> dict[str, object]:
    """Measure the three rates."""
    torch.manual_seed(0)
    weights = open_clip.create_model(arguments.architecture, pretrained=None).state_dict()
    torch.save({"state_dict": weights}, folder / "clip.pth")
    options = {"checkpoint": folder / "clip.pth", "device": arguments.device, "dtype": arguments.dtype}
    encoder = ClipEncoder(CLIP_LOAD_DEFAULTS | CLIP_CALL_DEFAULTS | options | {"compile": arguments.compile}, SILENT)
    paths = write_photographs(folder, arguments.images)

    def ours() -> None:
        encoder.forget()
        encode_images(encoder, paths, "images", arguments.batch_size, arguments.workers)

    n, repeats, model = len(paths), arguments.repeats, encoder.model
    measured = {
        "module": rate(ours, n, repeats),
        "bare_forward": rate(bare_forward(model, n, arguments.batch_size), n, repeats),
        "decode_only": rate(decode(paths, model.image_size, arguments.workers), n, repeats),
    }
    limit = min("bare_forward", "decode_only", key=measured.__getitem__)
    return {
        "device": torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else str(model.device),
        "architecture": arguments.architecture,
        "dtype": arguments.dtype,
        **{f"{name}_images_per_second": round(value, 1) for name, value in measured.items()},
        "of_bare_forward": round(measured["module"] / measured["bare_forward"], 3),
        "of_the_lower_limit": round(measured["module"] / measured[limit], 3),
        "bound": "compute" if limit == "bare_forward" else "decode",
        "decode_threads": arguments.workers,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(measure(parsed(), pathlib.Path(name)), indent=2))
