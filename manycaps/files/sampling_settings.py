"""How the captions of a file were sampled: settings that stand beside the file, and are read by whoever scores it."""

import pathlib
from typing import Any

from manycaps.kit.files import read_json

# Endings of the files beside one of captions: its settings, its rows while it is unfinished, and the errors of rows
# that were left out.
SETTINGS, PARTIAL, ERRORS = ".settings", ".partial", ".errors"

# What was counted of the samples, beside the settings in their file.
COUNTS = "counts"
COUNTED = ("n_samples", "n_empty", "n_cut", "n_with_thoughts")


def sampling_settings(path: str, advice: str = "Delete it, or sample again.") -> dict[str, Any] | None:
    """Return the settings beside a file of captions, without what was counted; None where there are none."""
    beside = pathlib.Path(path + SETTINGS)
    settings = read_json(beside, str(beside), advice) if beside.is_file() else None
    return {name: value for name, value in settings.items() if name != COUNTS} if isinstance(settings, dict) else None
