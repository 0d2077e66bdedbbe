# Vendored from manycaps/shared_model_paths.py. Edit it there, then run `make format`.
"""Whether the name of a model is a path or a name on the Hub, and what to say where there is none."""

import os
import pathlib

from .shared_messages import shown_path

# Folders in which people keep models: "checkpoints/tiny-pac" is a path, and "someone/tiny-pac" a name on the Hub.
MODEL_FOLDERS = frozenset("checkpoint checkpoints data model models output outputs results run runs weights".split())

# Endings of files with weights.
WEIGHT_SUFFIXES = (".bin", ".pt", ".pth", ".safetensors")

# Stands before a name on the Hub that would be taken for a path.
HUB_PREFIX = "hub:"


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


def local_path(name: str | os.PathLike[str]) -> pathlib.Path:
    """Return a path with the home folder in place of `~`, where there is one.

    >>> str(local_path("models/mine"))
    'models/mine'
    """
    path = pathlib.Path(name)
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def no_such_path(name: str) -> str:
    """Say that a path is not there, and where relative ones start; the end of a message.

    >>> no_such_path("/no/such/folder")
    "'/no/such/folder': no such folder or file. Check the path."
    """
    absolute = name.startswith("~") or pathlib.PurePath(name).is_absolute()
    start = "" if absolute else f", relative paths start at {pathlib.Path.cwd()}"
    # What only the folder's name makes a path may be a name on the Hub after all.
    advice = (
        f"; for a repository on the Hub write {shown_path(HUB_PREFIX + name)}"
        if name.split("/")[0] in MODEL_FOLDERS
        else ""
    )
    return f"{shown_path(name)}: no such folder or file{start}. Check the path{advice}."
