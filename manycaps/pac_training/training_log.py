"""Records of a training: TensorBoard's event files while it runs, a drawing and a table at its end."""

import json
import pathlib
from collections.abc import Mapping, Sequence

import matplotlib.figure
from torch.utils.tensorboard import SummaryWriter

from manycaps.saved_files import write_atomically

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


def save_history(path: pathlib.Path, history: Sequence[LoggedValues]) -> None:
    """Write the records of all validations as JSON."""
    write_atomically(path, lambda target: target.write_text(json.dumps(list(history), indent=1), encoding="utf-8"))


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
