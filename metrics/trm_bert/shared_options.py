# Vendored from helpers/shared_options.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Options of a module: given at load or at compute time, unknown ones refused, values checked before any work."""

import pathlib
from collections.abc import Collection, Mapping
from typing import Any

# Keywords that `evaluate.load` itself passes to a module's constructor (evaluate 0.4.6, module.py).
EVALUATE_KEYWORDS = frozenset(
    {
        "cache_dir",
        "config_name",
        "experiment_id",
        "hash",
        "keep_in_memory",
        "max_concurrent_cache_files",
        "num_process",
        "process_id",
        "timeout",
    }
)

# Columns of the collection's modules. One module computes without the columns of another, so that all of them can be
# given the same ones, as `evaluate.combine` does.
COLUMNS = frozenset({"predictions", "references", "images", "videos", "data"})

# Folders in which people keep models: "checkpoints/tiny-pac" is a path, and "someone/tiny-pac" a name on the Hub.
MODEL_FOLDERS = frozenset("checkpoint checkpoints data model models output outputs results run runs weights".split())

# Endings of files with weights.
WEIGHT_SUFFIXES = (".bin", ".pt", ".pth", ".safetensors")

# Stands before a name on the Hub that would be taken for a path.
HUB_PREFIX = "hub:"


def take_load_options(keywords: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Move this module's options out of the constructor's keywords, and complete them with the defaults.

    Args:
        keywords: what the constructor got; the module's own options are removed from it.
        defaults: every option of the module with its default value.

    Returns:
        A dict with the keys of `defaults`.

    Raises:
        TypeError: a keyword belongs neither to the module nor to evaluate.

    >>> take_load_options({"seed": 1}, {"seed": 0, "details": False})
    {'seed': 1, 'details': False}
    """
    _check_names(set(keywords) - EVALUATE_KEYWORDS, defaults, "load")
    return dict(defaults) | {name: keywords.pop(name) for name in list(keywords) if name in defaults}


def take_compute_options(given: Mapping[str, Any], loaded: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the options given at compute time with those given at load time.

    Args:
        given: options of this call; None means "as at load time". Columns of other modules are ignored.
        loaded: every option with its value at load time.

    Returns:
        A dict with the keys of `loaded`.

    Raises:
        TypeError: an option is unknown.

    >>> take_compute_options({"seed": 1, "details": None}, {"seed": 0, "details": True})
    {'seed': 1, 'details': True}
    """
    options = {name: value for name, value in given.items() if name not in COLUMNS}
    _check_names(set(options), loaded, "compute")
    return dict(loaded) | {name: value for name, value in options.items() if value is not None}


def is_path(name: str) -> bool:
    """Say whether the name of a model that is not on this disk can only be meant as a path.

    Args:
        name: a path, or "owner/model" as on the Hub, if need be after `HUB_PREFIX`.

    Returns:
        False where the Hub may know the name.

    >>> is_path("checkpoints/tiny-pac"), is_path("../tuned"), is_path("someone/tuned.pth")
    (True, True, True)
    >>> is_path("someone/tiny-pac"), is_path("hub:checkpoints/tiny-pac")
    (False, False)
    """
    if name.startswith(HUB_PREFIX):
        return False
    parts = name.split("/")
    looks_like_one = name.startswith((".", "~")) or "\\" in name or name.endswith(WEIGHT_SUFFIXES) or "" in parts
    return looks_like_one or len(parts) > 2 or (len(parts) == 2 and parts[0] in MODEL_FOLDERS)


def no_such_path(name: str) -> str:
    """Say that a path is not there, and where relative ones start; the end of a message.

    >>> no_such_path("/no/such/folder")
    "'/no/such/folder': no such folder or file. Check the path."
    """
    absolute = name.startswith("~") or pathlib.PurePath(name).is_absolute()
    start = "" if absolute else f", relative paths start at {pathlib.Path.cwd()}"
    # What only the folder's name makes a path may be a name on the Hub after all.
    advice = f"; for a repository on the Hub write {HUB_PREFIX + name!r}" if name.split("/")[0] in MODEL_FOLDERS else ""
    return f"{name!r}: no such folder or file{start}. Check the path{advice}."


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`.

    Raises:
        ValueError: it is not; the message lists them.
    """
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}: expected one of {expected}, got {value!r}. Check the spelling.")


def check_whole_number(name: str, value: object, least: int) -> None:
    """Raise unless `value` is an int (not a bool) of at least `least`.

    Raises:
        TypeError: it is no int.
        ValueError: it is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected a whole number, got {type(value).__name__}. Give an int.")
    if value < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {value}. Give a larger one.")


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {value!r}. Give a bool.")


def check_confidence_level(value: object) -> None:
    """Raise unless `value` is None or a number strictly between 0 and 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is out of range.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"confidence_level: expected a number, got {type(value).__name__}. Give a float such as 0.95.")
    if not 0 < value < 1:
        raise ValueError(f"confidence_level: expected a number between 0 and 1, got {value}. Write 95 % as 0.95.")


def _check_names(names: Collection[str], known: Mapping[str, Any], when: str) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise TypeError(f"{when}: expected options among {sorted(known)}, got {unknown}. Check the spelling.")
