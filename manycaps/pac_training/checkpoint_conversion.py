"""Turn a CLIP checkpoint into a folder for the Hub, and check that both give the same features."""

import json
import os
import pathlib
from typing import Any, NamedTuple

import numpy as np

from manycaps.files.saved_files import make_folder, write_folder_atomically
from manycaps.kit.clip_checkpoints import (
    CONFIG_NAME,
    WEIGHTS_NAME,
    Treatment,
    convert_checkpoint,
    find_checkpoint,
    variant_name,
)
from manycaps.kit.clip_model import HEAD_WIDTH, ClipModel, merge_lora, read_weights
from manycaps.kit.errors import InputError, quote_path
from manycaps.kit.files import file_sha256, is_regular_file, no_such_path

# Texts and pixels on which the original and the converted weights must agree.
PROBE_CAPTIONS = ["a dog on a beach", "two people who look at a map in front of an old station", ""]
N_PROBE_IMAGES = 4


def open_clip_config(model: ClipModel, treatment: Treatment) -> dict[str, Any]:
    """Describe a model in open_clip's own form."""
    visual, network = model.network.visual, model.network
    return {
        "model_cfg": {
            "embed_dim": model.n_features,
            "quick_gelu": treatment.activation == "quick_gelu",
            "vision_cfg": {
                "image_size": model.image_size,
                "layers": visual.transformer.layers,
                "width": visual.transformer.width,
                "head_width": min(HEAD_WIDTH, visual.transformer.width),
                "patch_size": visual.patch_size[0],
            },
            "text_cfg": {
                "context_length": model.context_length,
                "vocab_size": network.vocab_size,
                "width": network.transformer.width,
                "heads": max(1, network.transformer.width // HEAD_WIDTH),
                "layers": network.transformer.layers,
            },
        },
        "preprocess_cfg": {"mean": list(treatment.mean), "std": list(treatment.std)},
    }


def model_card(name: str, about: str) -> str:
    """Write the card of a checkpoint: what it is, and how a module loads it."""
    return f"""---
library_name: open_clip
tags: [clip, caption-evaluation]
---

# {name}

{about}

```python
import manycaps
pac_score = manycaps.load("pac_score", checkpoint="{name}")
```
"""


def features(path: pathlib.Path, treatment: Treatment) -> tuple[ClipModel, np.ndarray, np.ndarray]:
    """Return a checkpoint's model and its features of the probes."""
    model = ClipModel(merge_lora(read_weights(path)), **treatment._asdict(), device="cpu")
    size = (N_PROBE_IMAGES, model.image_size, model.image_size, 3)
    pixels = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
    texts = [model.tokenize(caption) for caption in PROBE_CAPTIONS]
    return model, model.image_features(pixels), model.text_features(texts, batch_size=1)


class Conversion(NamedTuple):
    """A converted checkpoint, with the same features as its source."""

    weights: pathlib.Path
    source_sha256: str
    sha256: str


def convert(source: pathlib.Path, folder: pathlib.Path, variant: str | None = None) -> Conversion:
    """Write a file of weights as a new folder, whose name becomes the model's name, and compare the features.

    A variant of pac_score decides activation and pixels.

    Raises:
        ValueError: there is no such variant, the source cannot be used, the folder is not empty, or the features
            differ.
    """
    folder = pathlib.Path(os.path.abspath(folder))
    known_variant = variant_name(variant, "--variant")
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("folder", "an empty or new folder", f"{quote_path(folder)}, which is not", "Choose another.")
    if not is_regular_file(source):
        raise InputError("source", "a file", *no_such_path(str(source)))
    checkpoint = find_checkpoint(known_variant, source, None)
    treatment = checkpoint.treatment
    model, *before = features(source, treatment)

    def write(new: pathlib.Path) -> None:
        facts = {"source": source.name, "sha256": checkpoint.sha256, "size": source.stat().st_size}
        convert_checkpoint(source, new / WEIGHTS_NAME, treatment._asdict() | facts)
        (new / CONFIG_NAME).write_text(json.dumps(open_clip_config(model, treatment), indent=2), encoding="utf-8")
        has_lora = any("lora_" in key for key in read_weights(source))
        variant = "" if checkpoint.variant == "custom" else f" ({checkpoint.variant})"
        lora = " Its low-rank updates are merged, as the authors' program applies them." if has_lora else ""
        about = (
            f"CLIP weights converted from `{source.name}`{variant}, sha256 `{checkpoint.sha256}`.{lora}\n"
            f"Activation: {treatment.activation}. The licence of the original weights applies: state it here before "
            "you publish."
        )
        (new / "README.md").write_text(model_card(folder.name, about), encoding="utf-8")
        _, *after = features(new / WEIGHTS_NAME, find_checkpoint(None, new, None).treatment)
        largest = max(float(np.abs(a - b).max()) for a, b in zip(before, after, strict=True))
        if largest > 0:
            raise InputError("features", f"the same as {source.name}", f"differences up to {largest}", "Do not use it.")

    make_folder(folder.parent)
    write_folder_atomically(folder, write)
    return Conversion(folder / WEIGHTS_NAME, checkpoint.sha256, file_sha256(folder / WEIGHTS_NAME))
