"""Files that are written completely or not at all, also by an interrupted program."""

import contextlib
import glob
import itertools
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from manycaps.kit.errors import InputError, InputOSError, quote_path, quote_value
from manycaps.kit.files import write_folder


def write_atomically(path: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Let `write` make a file under a temporary name, and rename it when it is on the disk.

    One process at a time may write a path.

    Args:
        path: of the file; replaced if it exists. A link stays, and what it points to is replaced.
        write: given the temporary path, in the same folder and with the same ending.
    """
    check_can_be_written(path)
    path = pathlib.Path(os.path.realpath(path))
    # Always the same name: what a killed program left is overwritten by the next run.
    replace_when_whole(path, path.with_name(f".{path.stem}.incomplete{path.suffix}"), write)


def replace_when_whole(path: pathlib.Path, temporary: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Let `write` make the file `temporary`, in the same folder, and rename it to `path` when it is on the disk."""
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if path.is_file():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_folder_atomically(folder: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Let `write` fill a temporary folder, and rename it to an empty or new one when all of it is on the disk."""
    check_can_be_written(folder.with_name(f".{folder.name}.incomplete-file"))
    write_folder(folder, folder.with_name(f".{folder.name}.incomplete"), write)


def write_text_atomically(path: pathlib.Path, text: str, newline: str | None = None) -> None:
    """Write text as UTF-8, whole or not at all; see `write_atomically`, and `open` for `newline`."""
    write_atomically(path, lambda target: target.write_text(text, encoding="utf-8", newline=newline))


def name_changes(saved: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Name the given values that an earlier run saved otherwise; an empty text if there are none.

    >>> name_changes({"seed": 0, "steps": 50}, {"seed": 1, "steps": 50})
    'seed 0 instead of 1'
    """
    return ", ".join(
        f"{name} {quote_value(saved.get(name))} instead of {quote_value(value)}"
        for name, value in given.items()
        if saved.get(name) != value
    )


def check_same_run(where: object, expected: str, saved: Mapping[str, Any], given: Mapping[str, Any], fix: str) -> None:
    """Raise if an earlier run saved other values than those that are given."""
    if changed := name_changes(saved, given):
        raise InputError(where, expected, changed, fix)


def check_no_earlier(paths: Iterable[pathlib.Path], option: str, what: str) -> None:
    """Raise at the first of the files of an option's folder that an earlier run has written."""
    for path in paths:
        if path.exists():
            fix = "Choose another, or give --overwrite."
            raise InputError(option, f"a folder without {what}", f"{path.parent}, which has {path.name}", fix)


def check_path(path: pathlib.Path, where: str = "") -> None:
    r"""Raise unless a path is a name that a file can have; `where` is the option that gives it.

    >>> check_path(pathlib.Path("a\ud800"), "--output")
    Traceback (most recent call last):
    manycaps.kit.errors.InputOSError: --output: expected a name that files can have, got 'a\ud800'. Give another name.
    """
    try:
        is_name = b"\0" not in os.fsencode(path)
    except UnicodeError:  # half a surrogate pair; a byte that is no UTF-8 is one of a name
        is_name = False
    if not is_name:
        got = ascii(str(path))
        raise InputOSError(where or "path", "a name that files can have", got[:80], "Give another name.")


def check_can_be_written(path: pathlib.Path, sources: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise if a path cannot be an output file, or is one that is read; called before the work, so that none is wasted.

    `sources` are files to read: paths, patterns, or addresses, which are no file here.
    """
    check_path(path)
    names = itertools.chain.from_iterable((source, *glob.glob(os.path.expanduser(source))) for source in sources)
    if path.is_file() and any(os.path.isfile(name) and path.samefile(name) for name in names):
        raise InputOSError(
            quote_path(path), "a file to write", "one that is read", "Give another name: it would be lost."
        )
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or a pipe, which is never replaced"
        raise InputOSError(quote_path(path), "a file to write", kind, "Give the name of a file.")
    target = os.path.realpath(path)
    if os.path.islink(target):
        raise InputOSError(quote_path(path), "a file to write", "a link to itself", "Delete it.")
    folder = pathlib.Path(target).parent
    if not folder.is_dir():
        got = f"{quote_path(folder)}, which does not"
        raise InputOSError(quote_path(path), "a file in a folder that exists", got, "Make the folder first.")
    if not os.access(folder, os.W_OK):
        raise InputOSError(quote_path(path), "a folder that can be written", quote_path(folder), "Choose another one.")


@contextlib.contextmanager
def sole_output(path: pathlib.Path) -> Iterator[None]:
    """Make a folder for output, and lock it: no other program writes into it until this one is done.

    A folder that is still empty when the work fails is removed again.
    """
    check_path(path)
    is_new = not path.exists()
    descriptor = os.open(make_folder(path), os.O_RDONLY)
    try:
        lock_output(descriptor, path, "a folder")
        yield
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # something is in it
                path.rmdir()
        raise
    finally:
        os.close(descriptor)


def check_ours(folder: pathlib.Path, name: str, sign: str) -> None:
    """Raise if a folder has a file that would be replaced, and not the one that is written before it, our sign."""
    if (folder / name).exists() and not (folder / sign).exists():
        expected, got = "a new folder, or one that this command has written", f"one with {name} and no {sign}"
        raise InputOSError(quote_path(folder), expected, got, "Give another folder, or move this file away.")


def lock_output(descriptor: int, path: pathlib.Path, kind: str) -> None:
    """Lock an open folder or file for this program, where the system can; `kind` is "a folder" or "a file"."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        expected, fix = f"{kind} that no other run writes to", "Wait for that run, or give another."
        raise InputOSError(quote_path(path), expected, "one that is in use", fix) from None
    except (ImportError, OSError):  # Windows, and some network file systems: two runs are then not distinguished
        pass


def make_folder(path: pathlib.Path) -> pathlib.Path:
    """Make a folder for output, unless it exists, and return it; raise if it cannot be made or written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = "a file" if isinstance(error, FileExistsError) else error.strerror
        raise InputOSError(quote_path(path), "a folder for output", got, "Choose another name.") from error
    if not os.access(path, os.W_OK):
        raise InputOSError(quote_path(path), "a folder that can be written", "one that cannot", "Choose another one.")
    return path
