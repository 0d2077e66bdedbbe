"""Notes of a page on its CLIP weights: their name, the meaning of their scores, and advice without them."""

import logging
from typing import Any

from manycaps.kit.errors import InputError

# What a folder's weights are called (open_clip, constants.py): then the folder's name says more.
WEIGHTS_NAME = "open_clip_model.safetensors"

NO_WEIGHTS = InputError(
    "weights",
    "the CLIP of this page",
    "none that can be used",
    "Try again later, or run the module on your own machine. If the page is yours: its log names the cause, and the "
    "variable MANYCAPS_CHECKPOINT takes a file, a folder or a Hub repository with other weights.",
)

logger = logging.getLogger(__name__)


def weights_note(encoder: Any) -> str:
    """Name the weights of a page before anything is computed, in Markdown; nothing is downloaded."""
    given = encoder.options["checkpoint"]
    if given is None:
        return f"Weights: `{encoder.variant}`, the published ones. The first computation fetches them."
    try:
        checkpoint = encoder.local_checkpoint()
    except ValueError as error:
        logger.error("%s", error)
        return f"**This page cannot compute.** {NO_WEIGHTS}"
    if checkpoint is None:
        return f"Weights: `{given}` from the Hub, fetched by the first computation, {_worth(None)}"
    name = checkpoint.path.resolve().parent.name if checkpoint.path.name == WEIGHTS_NAME else checkpoint.path.name
    return f"Weights: `{name}`, {_worth(checkpoint)}"


def usable_weights(encoder: Any) -> Any:
    """Return the loaded checkpoint of a page; without one the message is for visitors, and the log gets the cause."""
    try:
        return encoder.checkpoint
    except (ValueError, OSError) as error:
        logger.error("%s", error)
        raise NO_WEIGHTS.as_kind(InputError) from error


def _worth(checkpoint: Any) -> str:
    """Warn of weights whose scores are not the paper's."""
    if checkpoint is not None and checkpoint.is_toy:
        return "a toy that knows only pictures of coloured shapes; scores of anything else mean nothing."
    return "not the published ones; what the paper calls a good score does not hold for them."
