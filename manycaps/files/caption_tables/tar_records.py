"""Records of webdataset tars: consecutive files of one name, up to its first dot, are a sample."""

import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

from manycaps.kit.errors import InputError
from manycaps.kit.files import unique_keys

from .columns import USUAL_CAPTIONS
from .files import Piece, Record, TableFile, Unreadable, is_local, open_bytes, whole

# Members whose text is captions, one per line, unless the JSON beside it has the whole text as one caption.
CAPTION_MEMBERS = ("txt", "caption", "captions", "text")

# Members whose JSON is an object of values.
VALUE_MEMBERS = ("json",)

# What follows the last member of a tar, once or more often: POSIX.1-2017, pax, "ustar Interchange Format".
END_MARK = bytes(tarfile.BLOCKSIZE)


class Paragraphs(list[str]):
    """Lines of a member that has empty lines between them, as a single text of several paragraphs has."""


class _Member(tarfile.TarInfo):
    """A member; where neither a header nor the end mark follows, tarfile takes the archive for whole."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> "_Member":
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error


def tar_pieces(file: TableFile, n_bytes: int) -> Iterator[Piece]:
    """Split a tar between samples, by its headers alone; one that is compressed, remote or small is a single piece.

    Of a damaged tar, there are pieces up to the damage.
    """
    if file.compressed or not is_local(file.path) or file.n_bytes < 2 * n_bytes:
        yield whole(file)
        return
    start = first_row = row = 0
    try:
        with tarfile.open(file.path, "r:") as archive:
            earlier = None
            for member in archive:
                archive.members = []  # type: ignore[attr-defined]  # tarfile would keep every header
                key = sample_key(member.name)
                if not member.isfile() or key == earlier:
                    continue
                if earlier is not None:
                    row += 1
                    if member.offset - start >= n_bytes:
                        yield Piece(file, start, member.offset, first_row, row - first_row, member.offset - start)
                        start, first_row = member.offset, row
                earlier = key
    except (tarfile.TarError, OSError):
        pass  # whoever reads the last piece finds it and says where
    yield Piece(file, start, None, first_row, None, file.n_bytes - start)


def tar_records(piece: Piece) -> Iterator[Record | Unreadable]:
    """Read the samples of a piece, each when it is complete."""
    row, earlier, values, facts = piece.first_row, None, dict[str, Any](), dict[str, Any]()
    reason = None
    with open_bytes(piece.file.path, piece.file.compressed) as stream:
        stream.seek(piece.start)
        bounded = stream if piece.stop is None else io.BytesIO(stream.read(piece.stop - piece.start) + END_MARK)
        with tarfile.open(fileobj=bounded, mode="r|", tarinfo=_Member) as archive:
            for member in archive:
                archive.members = []  # type: ignore[attr-defined]
                if not member.isfile():
                    continue
                key = sample_key(member.name)
                if earlier is not None and key != earlier:
                    yield _record(row, values, facts, reason)
                    row, values, facts, reason = row + 1, {}, {}, None
                earlier = key
                values.setdefault("__key__", key)
                reason = _take(values, facts, member, archive.extractfile(member), row) or reason
        if earlier is not None:
            yield _record(row, values, facts, reason)


def sample_key(name: str) -> str:
    """Return the common stem of the names of a sample's files.

    >>> sample_key("train/000.7.jpg")
    'train/000'
    """
    folder, _, base = name.rpartition("/")
    stem = base.split(".", 1)[0]
    return f"{folder}/{stem}" if folder else stem


def _take(
    values: dict[str, Any], facts: dict[str, Any], member: tarfile.TarInfo, content: IO[bytes] | None, row: int
) -> InputError | None:
    """Add a member to the values of its sample, JSON to its facts; return why it cannot be read, else None."""
    data, ending = content.read() if content else b"", os.path.basename(member.name).partition(".")[2].lower()
    if len(data) < member.size:
        raise tarfile.ReadError("unexpected end of data")
    if ending in VALUE_MEMBERS:
        return _take_json(facts, data, f"{ending}[{row}]")
    if ending in CAPTION_MEMBERS:
        values[ending] = data.decode("utf-8", errors="surrogateescape")
    else:
        values[ending] = data
    return None


def _take_json(facts: dict[str, Any], data: bytes, where: str) -> InputError | None:
    """Add the values of a JSON member."""
    try:
        content = json.loads(data, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        return InputError(where, "JSON", f"invalid JSON ({error})", "Leave the sample out.")
    if not isinstance(content, dict):
        return InputError(where, "an object", type(content).__name__, "Leave the sample out.")
    facts.update(content)
    return None


def _record(row: int, values: dict[str, Any], facts: dict[str, Any], reason: InputError | None) -> Record | Unreadable:
    """The record of a sample; files come before what JSON beside them repeats."""
    if reason is not None:
        return Unreadable(row, reason)
    texts = {ending: _captions_of(values[ending], facts) for ending in CAPTION_MEMBERS if ending in values}
    return Record(row, {**facts, **values, **texts})


def _captions_of(text: str, facts: Mapping[str, Any]) -> list[str]:
    r"""Captions of the text of a member: its lines, or all of it where the JSON beside it has it as one caption.

    >>> _captions_of("a dog\n\nby the sea\n", {"caption": "a dog\n\nby the sea"})
    ['a dog\n\nby the sea']
    >>> _captions_of("a dog\na wet dog", {"caption": "a dog"})
    ['a dog', 'a wet dog']
    """
    lines = [line.strip() for line in text.split("\n")]
    captions = [line for line in lines if line]
    if len(captions) < 2:
        return captions
    known = (facts[name] for name in USUAL_CAPTIONS if name in facts)
    singles = (value[0] if isinstance(value, list) and len(value) == 1 else value for value in known)
    if any(isinstance(value, str) and value.split() == text.split() for value in singles):
        return [text.strip()]
    return Paragraphs(captions) if "" in "\n".join(lines).strip().split("\n") else captions
