"""What a training writes: TensorBoard's event files, a drawing and a table, and a checkpoint as the modules load it."""

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.figure
import torch
from torch.utils.tensorboard import SummaryWriter

from manycaps.checkpoint_conversion import open_clip_config
from manycaps.kit.clip_model import ClipModel
from manycaps.kit.clip_variants import CONFIG_NAME, WEIGHTS_NAME, Treatment
from manycaps.kit.clip_weights import Weights, merge_lora, read_weights, write_safetensors
from manycaps.pac_training.low_rank import with_factors
from manycaps.saved_files import write_atomically

# The same weights with the low-rank updates beside them, under the names of PAC-S++ files.
LORA_NAME = "pac_lora.safetensors"


def export_checkpoint(
    folder: pathlib.Path,
    weights: Weights,
    trained: Mapping[str, torch.Tensor],
    treatment: Treatment,
    facts: Mapping[str, Any],
    *,
    keeps_factors: bool = False,
) -> pathlib.Path:
    """Write the weights with what was trained in its place, all other tensors as they were.

    Args:
        folder: for the files.
        weights: state dict from which the training started.
        trained: projections under their own names, and factors of low-rank updates, which are merged.
        treatment: activation and pixels of the model.
        facts: strings, numbers and dicts about the training; kept in the file.
        keeps_factors: whether to write a second file with the factors not merged.
    """
    projections = {name: tensor.cpu().float() for name, tensor in trained.items() if "lora_" not in name}
    factors = {name: tensor for name, tensor in trained.items() if "lora_" in name}
    unmerged = with_factors(weights | projections, factors)
    metadata = {"format": "pt", "manycaps": json.dumps(treatment._asdict() | dict(facts))}
    path = folder / WEIGHTS_NAME
    write_atomically(path, lambda target: write_safetensors(merge_lora(unmerged), target, metadata))
    if keeps_factors and factors:
        write_atomically(folder / LORA_NAME, lambda target: write_safetensors(unmerged, target, metadata))
    model = ClipModel(read_weights(path), **treatment._asdict(), device="cpu")  # checks what was written
    config = json.dumps(open_clip_config(model, treatment), indent=2)
    write_atomically(folder / CONFIG_NAME, lambda target: target.write_text(config, encoding="utf-8"))
    text = training_card(folder.resolve().name, facts)
    write_atomically(folder / "README.md", lambda target: target.write_text(text, encoding="utf-8"))
    return path


def training_card(name: str, facts: Mapping[str, Any]) -> str:
    """Write the model card."""
    rows = "\n".join(f"| {key} | {value} |" for key, value in _flat(facts).items())
    return f"""---
library_name: open_clip
tags: [clip, caption-evaluation]
---

# {name}

CLIP weights tuned by positive-augmented contrastive learning (Sarto et al., 2023). The licence is that of the weights
it started from and of the data: state it here before you publish.

```python
import evaluate
pac_score = evaluate.load("metrics/pac_score", checkpoint="{name}")
```

| | |
|---|---|
{rows}
"""


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts with those of inner dicts at the same level."""
    flat: dict[str, Any] = {}
    for key, value in facts.items():
        flat |= _flat(value) if isinstance(value, Mapping) else {key: value}
    return flat


LoggedValues = Mapping[str, float]

# Curves of the drawing: left the losses, right the recall at its first place.
LOSSES = {"training_loss": "training", "validation_loss": "validation"}
RECALLS = {"image_to_caption_recall@1": "caption of an image", "caption_to_image_recall@1": "image of a caption"}


class TensorBoardLog:
    """Event files of one training; after an interruption, what was written beyond the saved state is replaced."""

    def __init__(self, folder: pathlib.Path, next_iteration: int) -> None:
        self._writer = SummaryWriter(str(folder), purge_step=next_iteration)

    def write(self, record: LoggedValues) -> None:
        """Write the values of one validation, losses and recall under a heading each."""
        for name, value in record.items():
            heading, _, rest = name.partition("_") if "loss" in name or "L(" in name else ("recall", "", name)
            if name not in ("iteration", "epoch"):
                self._writer.add_scalar(f"{heading}/{rest}", value, int(record["iteration"]))
        self._writer.flush()

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def draw_history(path: pathlib.Path, history: Sequence[LoggedValues], best_iteration: int) -> None:
    """Draw losses and recall over the iterations as a PNG, with the weights that were kept marked."""
    figure = matplotlib.figure.Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, curves, title in zip(axes, (LOSSES, RECALLS), ("Loss", "Retrieval recall@1 on validation"), strict=True):
        for style, (name, label) in zip(("-", "--"), curves.items(), strict=True):
            points = [(record["iteration"], record[name]) for record in history if name in record]
            if points:
                axis.plot(*zip(*points, strict=True), style, marker="." if len(points) < 30 else "", label=label)
        axis.axvline(best_iteration, color="0.6", linestyle=":", label=f"kept: iteration {best_iteration}")
        axis.set(title=title, xlabel="iteration")
        axis.grid(alpha=0.3)
        axis.legend()
    axes[1].set_ylim(0, 1)
    write_atomically(path, lambda target: figure.savefig(target, dpi=120, format="png"))
