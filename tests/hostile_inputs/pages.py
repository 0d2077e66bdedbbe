"""Demo pages with the largest input that they allow: answered in bounded time and memory."""

import os
import pathlib
import random
import runpy
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import PIL.Image

from manycaps.catalog import hub_spaces
from tests.hostile_inputs.command_lines import lines_of
from tests.modules.sample_inputs import small_checkpoint, small_meteor15_data

WORDS = "a dog runs on the beach near two cats that sleep in warm sand while people watch".split()


def captions_of(seed: int, n: int) -> list[str]:
    """Return captions of 300 characters."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=150))[:300] for _ in range(n)]


def box(seed: int, n_rows: int, n_captions: int) -> str:
    """Return the content of a text box: rows of captions."""
    return "\n\n".join("\n".join(captions_of(seed + i, n_captions)) for i in range(n_rows))


def picture(folder: pathlib.Path) -> str:
    """Return a file of 20 megapixels with transparency, below 10 MB."""
    path = folder / "picture.png"
    x, y = np.meshgrid(np.arange(5000), np.arange(4000))
    PIL.Image.fromarray(np.stack([x, y, x + y, y // 16 + 9], axis=2).astype(np.uint8)).save(path, compress_level=1)
    return str(path)


def system_files(folder: pathlib.Path) -> list[str]:
    """Return three systems and people, each a file with 100 rows of 10 captions."""
    for seed, name in enumerate(("first", "second", "third", "references")):
        key = "references" if name == "references" else "captions"
        rows = [{"id": i, key: captions_of(1000 * seed + i, 10)} for i in range(100)]
        (folder / f"{name}.jsonl").write_bytes(lines_of(rows))
    return [str(folder / f"{name}.jsonl") for name in ("first", "second", "third", "references")]


# From the name of a page to the values of its form.
LARGEST: dict[str, Callable[[pathlib.Path], list[Any]]] = {
    "trm_cider": lambda _: [box(0, 20, 20), box(50, 20, 20), "per_side", "permutation"],
    "coco_caption": lambda _: [box(0, 20, 20), box(50, 20, 20)],
    "vdtk_diversity": lambda _: [box(0, 50, 50)],
    "ref_pac_score": lambda folder: [picture(folder), box(0, 1, 20), box(50, 1, 20)],
    "compare": lambda folder: [*system_files(folder), "CIDEr-D and TRM-CIDEr"],
}


def prepare() -> None:
    """Load what the pages need, and stand-ins for data and weights of the network."""
    import evaluate
    import gradio
    import torch

    os.environ |= {"MANYCAPS_CHECKPOINT": small_checkpoint(), "MANYCAPS_METEOR15_DATA": small_meteor15_data()}
    del evaluate, gradio, torch


def complaint(name: str) -> str | None:
    """Let a page compute its largest input; say what is against the rule, or return None."""
    page = runpy.run_path(str(hub_spaces.space_folders()[name] / "app.py"))["page"]
    (compute,) = (event for event in page.fns.values() if event.api_name == "compute")
    with tempfile.TemporaryDirectory() as folder:
        shown = compute.fn(*LARGEST[name](pathlib.Path(folder)))
    text = "".join(part for part in shown if isinstance(part, str))
    return None if " | " in text else f"no table: {text[:200]}"
