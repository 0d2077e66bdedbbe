"""Options of the CLIP and of its captions, with their checks; the same in every module that scores images or videos."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .base_module import check_choice, check_flag, check_whole_number
from .clip_model import DTYPES
from .clip_variants import check_model, variant_name
from .text_windows import LONG_TEXTS

# Options that decide the model; given at load time only, since images are encoded when they are added.
CLIP_LOAD_DEFAULTS: Mapping[str, Any] = {
    "variant": None,
    "checkpoint": None,
    "model": None,
    "processor": None,
    "device": "auto",
    "dtype": "float32",
    "compile": False,
}

# Options of every call; long_captions "truncate" drops what a model does not read, "window" reads runs of whole
# sentences; n_workers None means one thread for each processor core, at most 8.
CLIP_CALL_DEFAULTS: Mapping[str, Any] = {"batch_size": 64, "n_workers": None, "long_captions": "truncate"}

# Largest batch_size: more images at once than any memory holds.
LARGEST_BATCH = 1_000_000

# Most threads that are started: beyond some per processor core they only wait for each other.
MOST_WORKERS = 1024


def chosen_variant(variant: str | None, config_name: str | None) -> str:
    """Return the full name of the chosen variant, in either form.

    >>> chosen_variant(None, "openclip-vit-l-14")
    'pac-openclip-vit-l-14'
    """
    if config_name in (None, "default"):
        return variant_name(variant)
    short = variant_name(config_name)
    if variant is not None and variant_name(variant) != short:
        raise ValueError(f"variant: expected one choice of weights, got {variant!r} and {config_name!r}. Give one.")
    return short


def check_clip_options(options: Mapping[str, Any]) -> None:
    """Raise unless the options of the encoder have legal values; those that are absent are not checked."""
    variant_name(options.get("variant"))
    checkpoint = options.get("checkpoint")
    if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
        raise TypeError(
            f"checkpoint: expected a path or a Hub repository, got {type(checkpoint).__name__}. Save the weights with "
            "torch.save or safetensors and give the path."
        )
    check_model(options)
    if "device" in options and not isinstance(options["device"], str):
        raise TypeError(f"device: expected a name, got {type(options['device']).__name__}. Give for example 'cuda:0'.")
    if "dtype" in options:
        check_choice("dtype", options["dtype"], DTYPES)
        check_flag("compile", options["compile"])
    if "batch_size" in options:
        check_whole_number("batch_size", options["batch_size"], 1, LARGEST_BATCH)
    if "long_captions" in options:
        check_choice("long_captions", options["long_captions"], LONG_TEXTS)
    if options.get("n_workers") is not None:
        check_whole_number("n_workers", options["n_workers"], 1, MOST_WORKERS)


def long_captions_name(options: Mapping[str, Any]) -> str | None:
    """Name the treatment of long captions, for a signature; None for "truncate", which is not named."""
    return None if options["long_captions"] == "truncate" else str(options["long_captions"])


def check_prompt(prompt: object) -> None:
    """Raise unless `prompt` is a string."""
    if not isinstance(prompt, str):
        raise TypeError(f"prompt: expected a string, got {type(prompt).__name__}. Give '' for no prompt.")


def with_prompt(prompt: str, captions: Iterable[str]) -> list[str]:
    """Put a prompt and a space before each caption.

    >>> with_prompt("A photo depicts", ["a dog"]), with_prompt("", ["a dog"])
    (['A photo depicts a dog'], ['a dog'])
    """
    start = prompt if not prompt or prompt.endswith(" ") else prompt + " "
    return [start + caption for caption in captions]
