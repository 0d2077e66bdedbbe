"""Files that are whole or not there: what an interrupted program leaves must never be half of something."""

import os
import pathlib
from collections.abc import Callable


def write_atomically(path: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Let `write` make a file under another name, and give it its own name only when it lies on the disk.

    One process at a time may write a path.

    Args:
        path: of the file; replaced if it exists.
        write: given the temporary path, in the same folder and with the same ending.
    """
    # Always the same name: what a killed program left is overwritten when the work is done again.
    temporary = path.with_name(f".{path.stem}.incomplete{path.suffix}")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
