"""Files and models that a caller names: regular files within a limit, any JSON, names on the Hub."""

import hashlib
import json
import os
import pathlib
import stat
from typing import IO, Any

from .base_messages import reason_of, shown_path

# Largest file of JSON: the table of document frequencies of COCO's captions takes 60 MB.
LARGEST_JSON_FILE = 1 << 30

# Bytes that are in memory at once of a file whose content is hashed.
PIECE_BYTES = 1 << 20


def is_regular_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a regular file; impossible names are not.

    >>> is_regular_file("/dev/null"), is_regular_file("a" * 5000)
    (False, False)
    """
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):  # too long, a link to itself, a NUL
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder; impossible names are not.

    >>> is_folder("/"), is_folder("a" * 5000)
    (True, False)
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def open_regular_file(path: str | os.PathLike[str], largest: int) -> IO[bytes]:
    """Open a regular file for reading: no pipes or devices, which block or never end.

    Args:
        path: of the file.
        largest: most bytes that it may have.

    Returns:
        The file; close it.

    Raises:
        OSError: it cannot be opened, is of another kind, or larger; the message says what it is, and has to be put
            into one that says where.
    """
    name = os.fspath(path)
    try:
        status = os.stat(name)
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise OSError(str(error)) from error
    _check_regular(status, largest)  # first: the opening alone of some devices does something
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check_regular(os.fstat(descriptor), largest)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_json(path: str | os.PathLike[str], where: str | os.PathLike[str], advice: str) -> Any:
    """Read a JSON file of any content.

    Args:
        path: of the file, UTF-8.
        where: what a message begins with; a path as `shown_path` shows it.
        advice: what a message ends with: how to get a right file.

    Returns:
        What the file says.

    Raises:
        ValueError: it cannot be read, is no JSON, too large, or too deeply nested.
    """
    try:
        with open_regular_file(path, LARGEST_JSON_FILE) as file:
            return json.loads(file.read().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        start = where if isinstance(where, str) else shown_path(where)
        raise ValueError(
            f"{start}: expected a JSON file, got {shown_path(path)} ({reason_of(error)}). {advice}"
        ) from error


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits; memory use does not depend on its size."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _check_regular(status: os.stat_result, largest: int) -> None:
    """Raise unless a file is a regular one within the limit."""
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, a device or a socket"
        raise OSError(f"{kind}, not a regular file")
    if status.st_size > largest:
        raise OSError(f"{status.st_size:,} bytes, more than {largest:,}")


# Common names of folders with models: "checkpoints/tiny-pac" is a path, and "someone/tiny-pac" a name on the Hub.
MODEL_FOLDERS = frozenset("checkpoint checkpoints data model models output outputs results run runs weights".split())

# Endings of files with weights.
WEIGHT_SUFFIXES = (".bin", ".pt", ".pth", ".safetensors")

# Prefix of a name on the Hub that looks like a path.
HUB_PREFIX = "hub:"


def is_path(name: str) -> bool:
    """Return whether the name of a model that is not on this disk can only be a path.

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
    """Return a path with `~` expanded to the home folder.

    >>> str(local_path("models/mine"))
    'models/mine'
    """
    path = pathlib.Path(name)
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def no_such_path(name: str) -> str:
    """Return the end of a message: the path does not exist, and where relative paths start.

    >>> no_such_path("/no/such/folder")
    "'/no/such/folder': no such folder or file. Check the path."
    """
    absolute = name.startswith("~") or pathlib.PurePath(name).is_absolute()
    start = "" if absolute else f", relative paths start at {pathlib.Path.cwd()}"
    # A name that looks like a path only by its folder may still be a name on the Hub.
    advice = (
        f"; for a repository on the Hub write {shown_path(HUB_PREFIX + name)}"
        if name.split("/")[0] in MODEL_FOLDERS
        else ""
    )
    return f"{shown_path(name)}: no such folder or file{start}. Check the path{advice}."
