"""Files and models that a caller names: regular files within a limit, any JSON, names on the Hub."""

import base64
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import IO, Any, TypeGuard

from .errors import InputError, InputTypeError, first_names, quote_path, quote_value, reason_of

# Largest file of JSON: the table of document frequencies of COCO's captions takes 60 MB.
LARGEST_JSON_FILE = 1 << 30

# Most documents of a table of counts: float64 holds every whole number up to here.
MOST_DOCUMENTS = 2**53

# Bytes that are in memory at once of a file whose content is hashed.
PIECE_BYTES = 1 << 20

# Files up to so many bytes are compared by their content, too: two writes within one tick of a clock have one time.
SMALL_FILE = 1 << 16

# How base64 of a JPEG, PNG, GIF and WebP file begins, and the least characters of one: no path has them.
BASE64_BEGINNINGS, LEAST_BASE64 = ("/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR"), 48


def inline_bytes(text: str, where: str) -> bytes | None:
    """Return the file that a text holds as base64, in a data URL or alone; None where the text is no such file.

    Without a data URL only what begins as a JPEG, PNG, GIF or WebP does is base64; else it is a path. Raises ValueError
    for a data URL that is not base64.

    >>> inline_bytes("data:image/gif;base64,R0lGODlh", "images[0]"), inline_bytes("dog.gif", "images[0]")
    (b'GIF89a', None)
    """
    is_url = text[:5].lower() == "data:" and "," in text
    head, _, content = text.partition(",") if is_url else ("", "", text)
    if not is_url and not (len(text) >= LEAST_BASE64 and text.startswith(BASE64_BEGINNINGS)):
        return None
    try:
        if is_url and not head.lower().endswith(";base64"):
            raise ValueError("no ;base64 in its head")
        return base64.b64decode("".join(content.split()), validate=True)
    except ValueError as error:
        fix = "Encode the file's bytes with base64.b64encode, or give a path."
        raise InputError(where, "base64", f"{quote_value(text)} ({reason_of(error)})", fix) from error


def is_regular_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a regular file; impossible names are not.

    >>> is_regular_file("/dev/null"), is_regular_file("a" * 5000)
    (False, False)
    """
    return stat.S_ISREG(_mode(path))


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder; impossible names are not.

    >>> is_folder("/"), is_folder("a" * 5000)
    (True, False)
    """
    return stat.S_ISDIR(_mode(path))


def _mode(path: str | os.PathLike[str]) -> int:
    """Return the mode of a path; 0 where there is nothing."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):  # too long, a link to itself, a NUL
        return 0


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


# Times its size that a compressed file may expand to, and bytes that any may: captions take a tenth, and gzip can make
# a thousandth of text that says nothing.
MOST_EXPANSION = 200

EXPANSION_BYTES = 1 << 28

# Bytes that are read at once of a compressed file that is read as a whole.
PIECE_OF_EXPANDED = 1 << 24


class ExpandedFile(gzip.GzipFile):
    """The content of a file compressed by gzip, within a limit: some kilobytes may hold gigabytes.

    Reading raises an InputError, which begins with `where`, once it expands beyond `MOST_EXPANSION` and
    `EXPANSION_BYTES`.
    """

    def __init__(self, packed: IO[bytes], where: str) -> None:
        super().__init__(fileobj=packed)
        self._packed, self._where, self._n_expanded = packed, where, 0

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes, or all of them."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(PIECE_OF_EXPANDED), b""))
        return self._count(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """Read what is there without another read of the packed file."""
        return self._count(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line, or the beginning of one; a line without an end meets the limit, not the end of the memory."""
        if size is None or size < 0:
            pieces = [self.readline(PIECE_OF_EXPANDED)]
            while pieces[-1] and not pieces[-1].endswith(b"\n"):
                pieces.append(self.readline(PIECE_OF_EXPANDED))
            return b"".join(pieces)
        return self._count(super().readline(size))

    def _count(self, content: bytes) -> bytes:
        self._n_expanded += len(content)
        if self._n_expanded > EXPANSION_BYTES and self._n_expanded > MOST_EXPANSION * self._packed.tell():
            expected = f"a .gz file that expands to at most {MOST_EXPANSION} times its size"
            got = f"one of {self._n_expanded:,} bytes and more"
            raise InputError(self._where, expected, got, "If it is right, unpack it (`gunzip`).")
        return content


@contextlib.contextmanager
def open_text_bytes(path: str | os.PathLike[str], where: str) -> Iterator[IO[bytes]]:
    """Open a text file of a user's, in a `with` statement; one that ends with `.gz` gives its content, within a limit.

    Raises InputError, with the option that named the file and the file's name, where a `.gz` file is damaged, cut, no
    gzip file, or expands beyond the limit.
    """
    if not os.fspath(path).endswith(".gz"):
        with open(path, "rb") as plain:
            yield plain
        return
    shown = quote_path(path)
    try:
        with open(path, "rb") as packed, ExpandedFile(packed, f"{where}: {shown}") as file:
            yield file  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        got = f"{shown}, which is damaged or cut ({reason_of(error)})"
        raise InputError(where, "a whole gzip file", got, "Get it again, or name it by what it holds.") from error


def read_json(
    path: str | os.PathLike[str],
    where: str | os.PathLike[str],
    advice: str,
    as_object: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Read a UTF-8 JSON file of any content; `as_object` makes its objects, None for `unique_keys`.

    A message begins with `where`, a path as `quote_path` shows it, and ends with `advice`: how to get a right file.
    Raises ValueError if the file cannot be read, is no JSON, too large, too deeply nested, or has a key twice.
    """
    try:
        with open_regular_file(path, LARGEST_JSON_FILE) as file:
            return json.loads(file.read().decode("utf-8-sig"), object_pairs_hook=as_object or unique_keys)
    except (OSError, ValueError, RecursionError) as error:
        start = where if isinstance(where, str) else quote_path(where)
        raise InputError(start, "a JSON file", f"{quote_path(path)} ({reason_of(error)})", advice) from error


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, as `object_pairs_hook` of `json.loads`; of a key twice one value would be lost.

    >>> json.loads('{"1.jpg": ["a dog"], "1.jpg": ["a cat"]}', object_pairs_hook=unique_keys)
    Traceback (most recent call last):
    ValueError: the key '1.jpg' twice in one object
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {quote_value(twice)} twice in one object")
    return values


def check_count_table(source: object, where: str, also: str, advice: str) -> None:
    """Raise unless `source` is a mapping or the path of a file that exists; `also` words what else an option takes."""
    if isinstance(source, Mapping):
        return
    if not isinstance(source, str | os.PathLike):
        raise InputTypeError(where, f"{also}a path to a JSON file or a mapping", type(source).__name__, advice)
    if not is_regular_file(source):
        raise InputError(where, "a JSON file", f"no file at {quote_path(source)}", advice)


def read_count_table(
    source: str | os.PathLike[str] | Mapping[str, Any],
    where: str,
    least: int,
    layout: str,
    advice: str,
    check_table: Callable[[Mapping[str, Any]], object] = lambda _table: None,
) -> tuple[Mapping[str, int], int]:
    """Return "document_frequency" of a table, whole numbers by strings, and its "n_documents", at least `least`.

    `check_table` takes the table, and raises if it was made otherwise than is needed. Raises ValueError if the file is
    no JSON, or the table has another layout, or a count is not from 1 to n_documents.
    """
    table = source if isinstance(source, Mapping) else read_json(source, where, advice)
    counts = table.get("document_frequency") if isinstance(table, Mapping) else None
    n_documents = table.get("n_documents") if isinstance(table, Mapping) else None
    if not isinstance(counts, Mapping) or not is_count(n_documents, least, MOST_DOCUMENTS):
        raise InputError(where, f"the layout {layout}", quote_value(table), advice)
    check_table(table)
    for entry, count in counts.items():
        if not isinstance(entry, str) or not is_count(count, 1, n_documents):
            expected = f"a whole number from 1 to n_documents={n_documents!r}"
            raise InputError(f"{where}[{quote_value(entry)}]", expected, quote_value(count), advice)
    return counts, n_documents


def is_count(value: object, least: int, most: int) -> TypeGuard[int]:
    """Return whether a value is a whole number in a range.

    >>> is_count(2, 1, 3), is_count(True, 1, 3)
    (True, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits; memory use does not depend on its size."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def write_folder(folder: pathlib.Path, temporary: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Let `write` fill a temporary folder, and rename it to an empty or new one when all of it is on the disk.

    Given the same temporary name, what a killed process left is removed when the work is repeated.
    """
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        write(temporary)
        for path in temporary.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def path_state(path: str | os.PathLike[str]) -> tuple[Hashable, ...]:
    """Return what changes when a file does, or one of a model's folder: resolved paths, sizes, times, small contents.

    In a folder its files and its folders' files count, and no deeper ones: a model has none. Empty where nothing is.

    >>> path_state("/no/such/file")
    ()
    """
    try:
        root = pathlib.Path(path).resolve()
        files = sorted((*root.glob("*"), *root.glob("*/*"))) if is_folder(root) else [root]
        return tuple(_file_state(file) for file in files if is_regular_file(file))
    except (OSError, ValueError, RuntimeError):  # removed meanwhile, a NUL, links that lead to each other
        return ()


def _file_state(file: pathlib.Path) -> tuple[Hashable, ...]:
    """What changes when a regular file does."""
    status = file.stat()
    # The system's own files have no size, and some never end.
    content = hashlib.sha256(file.read_bytes()).digest() if 0 < status.st_size <= SMALL_FILE else b""
    return str(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns, content


# Common names of folders with models: "checkpoints/tiny-pac" is a path, and "someone/tiny-pac" a name on the Hub.
MODEL_FOLDERS = frozenset("checkpoint checkpoints data model models output outputs results run runs weights".split())

# Endings of files with weights.
WEIGHT_SUFFIXES = (".bin", ".pt", ".pth", ".safetensors")

# Prefix of a name on the Hub that looks like a path.
HUB_PREFIX = "hub:"

# Endings of tensors that may differ without harm: poolers, whose output nothing here uses, and positions and masks that
# older files hold and newer versions of transformers compute.
HARMLESS_TENSORS = re.compile(
    r"((^|\.)pooler\.(dense\.)?(weight|bias)|position_ids|inv_freq|\.attn\.(masked_)?bias|num_batches_tracked)$"
)


def check_loaded_tensors(info: Mapping[str, Iterable[Any]], where: str) -> None:
    """Raise if a model of transformers was loaded with tensors missing, left over or of another shape.

    Its layers would be random, or fewer than were trained; transformers warns at most. `info` is what `from_pretrained`
    returns with `output_loading_info=True`.

    >>> check_loaded_tensors({"missing_keys": ["encoder.pooler.dense.bias"], "unexpected_keys": []}, "model")
    """
    kinds = {"missing_keys": "missing", "unexpected_keys": "unexpected", "mismatched_keys": "of another shape"}
    got = []
    for key, kind in kinds.items():
        names = sorted(str(name if isinstance(name, str) else name[0]) for name in info.get(key, ()))
        if names := [name for name in names if not HARMLESS_TENSORS.search(name)]:
            got.append(f"{len(names)} {kind}: {first_names(names)}")
    if got:
        raise InputError(
            where, "the tensors that config.json asks for", "; ".join(got), "Fetch or save the model again."
        )


def is_path(name: str) -> bool:
    """Return whether the name of a model that is not on this disk can only be a path; False where the Hub may know it.

    `name` is a path, or "owner/model" as on the Hub, if need be after `HUB_PREFIX`.

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
    """Return a path with `~` expanded to the home folder."""
    path = pathlib.Path(name)
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def no_such_path(name: str) -> tuple[str, str]:
    """Return what a path is that cannot be used, and what to do: `got` and `fix` of an `InputError`.

    >>> no_such_path("/no/such/folder")
    ("'/no/such/folder': no such folder or file", 'Check the path.')
    >>> no_such_path("/")
    ("'/', which is a folder", 'Name a file in it.')
    """
    path = local_path(name)
    if is_folder(path):
        return f"{quote_path(name)}, which is a folder", "Name a file in it."
    if os.path.exists(path):
        kind, other = ("a file", "a folder") if is_regular_file(path) else ("neither a file nor a folder", "another")
        return f"{quote_path(name)}, which is {kind}", f"Name {other}."
    absolute = name.startswith("~") or pathlib.PurePath(name).is_absolute()
    start = "" if absolute else f", relative paths start at {pathlib.Path.cwd()}"
    # A name that looks like a path only by its folder may still be a name on the Hub.
    advice = (
        f"; for a repository on the Hub write {quote_path(HUB_PREFIX + name)}"
        if name.split("/")[0] in MODEL_FOLDERS
        else ""
    )
    return f"{quote_path(name)}: no such folder or file{start}", f"Check the path{advice}."


def _check_regular(status: os.stat_result, largest: int) -> None:
    """Raise unless a file is a regular one within the limit."""
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, a device or a socket"
        raise OSError(f"{kind}, not a regular file")
    if status.st_size > largest:
        raise OSError(f"{status.st_size:,} bytes, more than {largest:,}")
