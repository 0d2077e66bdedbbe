"""Files that a caller names: regular ones alone, no more of them than a limit, and JSON that may be anything at all."""

import hashlib
import json
import os
import stat
from typing import IO, Any

from .shared_messages import reason_of, shown_path

# Largest file of JSON: the table of document frequencies of COCO's captions takes 60 MB.
LARGEST_JSON_FILE = 1 << 30

# Bytes that are in memory at once of a file whose content is hashed.
PIECE_BYTES = 1 << 20


def is_regular_file(path: str | os.PathLike[str]) -> bool:
    """Say whether a path names a regular file; a name that no file can have names none.

    >>> is_regular_file("/dev/null"), is_regular_file("a" * 5000)
    (False, False)
    """
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):  # too long, a link to itself, a NUL
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Say whether a path names a folder; a name that no folder can have names none.

    >>> is_folder("/"), is_folder("a" * 5000)
    (True, False)
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def open_regular_file(path: str | os.PathLike[str], largest: int) -> IO[bytes]:
    """Open a regular file for reading: nothing that waits for a writer, or never ends.

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


def read_json(path: str | os.PathLike[str], where: str, advice: str) -> Any:
    """Read a file of JSON, whatever is in it.

    Args:
        path: of the file, UTF-8.
        where: what a message begins with.
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
        raise ValueError(
            f"{where}: expected a JSON file, got {shown_path(path)} ({reason_of(error)}). {advice}"
        ) from error


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits; memory does not grow with the file."""
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
