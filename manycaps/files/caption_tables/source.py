"""Rows of captions from any number of files: as a stream, or in pieces that are read independently."""

import contextlib
import functools
import itertools
import os
import pathlib
import tarfile
import tempfile
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from manycaps.kit.errors import InputError, quote_path, quote_value, reason_of
from manycaps.kit.row_images import RepeatedTexts, repeated_texts
from manycaps.kit.rows import DecoderSigns, EmptyCaptions, looks_like_list
from manycaps.kit.words_tokenizers import Tokenizer, token_finder

from .arrow_records import arrow_records, parquet_pieces, parquet_records
from .cells import Values, read_id, read_values
from .columns import ColumnNames, Layout, Reading, add_wide, check_files_of_columns, columns_of, find_layout
from .files import (
    ALIGNED_RUNS,
    TEXT,
    Piece,
    Record,
    TableFile,
    Unreadable,
    every_column,
    find_medium,
    is_local,
    table_files,
    whole,
)
from .hub_records import HUB, hub_records
from .ids import MOST_IDS, check_ids_meet, difference_of_ids
from .json_records import json_records
from .rows import (
    BadRow,
    CaptionRow,
    JoinedRows,
    JoinedStore,
    SeenIds,
    create_store,
    repeated_id_error,
    store_file,
    store_pieces,
)
from .sheet_records import sheet_records
from .tar_records import Paragraphs, tar_pieces, tar_records
from .text_records import aligned, text_pieces, text_records

# Default size of a piece, in bytes of the file.
PIECE_BYTES = 1 << 24

# Records that are read to find the columns: a record may lack some.
N_FIRST_RECORDS = 100


# What libraries raise for damaged files: pyarrow's kinds, also for names that are not text or occur twice and sizes
# beyond memory, and those of tar and gzip.
DAMAGE = (OSError, EOFError, ValueError, KeyError, MemoryError, pa.ArrowException, tarfile.TarError, zlib.error)

# What to do where plain text has no ids.
WITH_IDS = (
    'Write {"id": "1.jpg", "caption": "a dog"} a line as JSON Lines, or an id, a tab and a caption; an empty line '
    "begins another row. Files whose lines belong together are compared with --aligned."
)


class FileSide(NamedTuple):
    """Files of one format, and how they are read."""

    files: tuple[TableFile, ...]
    layout: Layout
    # Whether a row holds one caption, so that rows of one id are joined.
    single: bool
    # Whether the files hold images or videos themselves, and not their paths.
    holds_media: bool
    # "image", "video" or both: rows may lack it.
    optional: tuple[str, ...] = ()
    # How numbered columns are read together, and those of the first file: others may have more of them.
    reading: Reading = Reading()
    wide: Mapping[str, tuple[str, ...]] = {}
    # Whether its rows are in splits, of which one may be named.
    has_splits: bool = False

    def is_read(self, column: str) -> bool:
        """Return whether the values of a column are needed."""
        return self.reading.is_read(column, self.layout)

    def n_numbered(self, role: str) -> int:
        """Return how many numbered columns of captions of a role each file has, of the file with the fewest."""
        name = getattr(self.layout, role) or ""
        n_columns = len(self.wide.get(name, ()))
        for file in self.files if n_columns and len(self.files) > 1 else ():
            with contextlib.suppress(InputError):  # whoever reads its rows says why
                n_columns = min(n_columns, len(self.reading.wide(names_of(first_records([file])[1])).get(name, ())))
        return n_columns


class CaptionSource(NamedTuple):
    """All files, and how they are read; it can be sent to other processes."""

    main: FileSide
    # Files with references alone; None: there are none.
    references: FileSide | None
    # Folder or address of the images and of the videos, by role; without one, paths are as they stand.
    media: Mapping[str, str]
    limit: int | None
    # Whether rows are read once and in order, so that files that cannot be split need no store.
    is_stream: bool = False
    # Without a token of which tokenizer, of those with a name, a caption counts as empty.
    tokenizer: Tokenizer = "ptb"

    @property
    def needs_store(self) -> bool:
        """Whether rows are joined by id, in a file that `fill_store` makes."""
        return self.references is not None or self._is_joined

    def description(self) -> dict[str, Any]:
        """Describe how the files are read."""
        sides = {"predictions": self.main} | ({} if self.references is None else {"references": self.references})
        return {
            name: {
                "files": len(side.files),
                "bytes": sum(file.n_bytes for file in side.files),
                "columns": {role: column for role, column in side.layout._asdict().items() if column is not None},
                "one_caption_a_line": side.single,
            }
            for name, side in sides.items()
        }

    def rows(self) -> Iterator[CaptionRow | BadRow]:
        """Yield all rows in order, a second one of an id as a bad one; then warn of empty captions and odd signs."""
        sides = {"predictions": self.main, "references": self.references or self.main}
        counted = [_CountedSide(side, role, self.tokenizer) for role, side in sides.items()]
        signs = DecoderSigns()
        # Where rows are joined, the store finds ids that come again.
        ids = None if self._is_joined or self.main.layout.id is None else SeenIds()
        for row in self._rows():
            if isinstance(row, CaptionRow) and ids is not None and ids.add(row.id):
                earlier = next(other for other in self._rows() if other.id == row.id)
                if (earlier.file, earlier.row) != (row.file, row.row):
                    reason = repeated_id_error(row.row, row.file, earlier.file, earlier.row)
                    row = BadRow(row.file, row.row, row.id, reason)
            if isinstance(row, CaptionRow):
                for side in counted:
                    side.add_row(row)
                signs.add(row.predictions or (), row.references or ())
            yield row
        for side in counted:
            side.warn()
        signs.warn(self.main.files[0].path)

    def _rows(self) -> Iterator[CaptionRow | BadRow]:
        with tempfile.TemporaryDirectory() as folder:
            store = None
            if self.needs_store:
                store = os.path.join(folder, "joined.sqlite")
                self.fill_store(pathlib.Path(store))
            for piece in self.pieces(PIECE_BYTES, store):
                yield from self.read(piece, store)

    def fill_store(self, path: pathlib.Path) -> None:
        """Join rows by id, in a new file that replaces an existing one."""
        with create_store(path) as store:
            known = set[str | tuple[str, int]]()  # in a trial of some rows, whose references alone are wanted
            for side in self._sides if self._is_joined else self._sides[1:]:
                for file, row, values in _values(side):
                    if isinstance(values, BadRow):
                        store.add_bad(values)
                        continue
                    if self.limit is not None and self._is_joined and values.id not in known:
                        if side is not self.main:
                            continue
                        if len(known) == self.limit:
                            break
                        known.add(values.id if values.id is not None else (file, row))
                    store.add(file, row, values, several=side.single)
            for side in self._sides:
                if side.single:
                    roles = [role for role in ("predictions", "references") if getattr(side.layout, role) is not None]
                    for role in roles:
                        store.leave_out_repeats(role, functools.partial(_values, side))
            if self.references is not None:
                self._check_ids(store, self.references)

    def _check_ids(self, store: JoinedRows, references: FileSide) -> None:
        """Raise a ValueError if no id of the files is in the references; warn if some differ in their form alone."""
        files = [side.files[0].path for side in (self.main, references)]
        if not self._is_joined:  # rows that are streamed, of which the first that meets will do
            known = set(store.ids_of("references", alone=False))
            ids = list[str]()
            for _, _, values in _values(self.main):
                if not isinstance(values, BadRow) and values.id is not None:
                    if values.id in known:
                        return
                    ids.append(values.id)
            check_ids_meet(files[0], ids, files[1], list(known))
            return
        ids = store.ids_of("predictions", alone=True)
        others = store.ids_of("references", alone=True)
        if not store.has_whole_rows:
            if self.limit is not None:  # only references of known ids are in the store
                read = (values for _, _, values in _values(references) if not isinstance(values, BadRow))
                others = [values.id for values in itertools.islice(read, MOST_IDS) if values.id is not None]
            check_ids_meet(files[0], ids, files[1], others)
        elif ids and others and (difference := difference_of_ids(ids, others)):
            warnings.warn(
                f"{files[0]}: {len(ids):,} ids are not in {files[1]}, and {len(others):,} of that are not here; they "
                f"differ in {difference}.",
                stacklevel=4,
            )

    def pieces(self, n_bytes: int, store: str | None = None) -> Iterator[Piece]:
        """Split the rows into pieces of about `n_bytes`, in order; with a limit, the first rows alone.

        `store` is the path of the file that `fill_store` has made; None if none is needed.
        """
        if self._is_joined:
            assert store is not None  # `needs_store` said so
            yield from store_pieces(store, n_bytes)
            return
        pieces = itertools.chain.from_iterable(file_pieces(file, n_bytes) for file in self.main.files)
        yield from pieces if self.limit is None else self._limit(pieces, self.limit)

    def read(self, piece: Piece, store: str | None = None) -> Iterator[CaptionRow | BadRow]:
        """Read the rows of a piece, as from `pieces`."""
        with contextlib.ExitStack() as stack:
            opened = stack.enter_context(JoinedStore(store)) if store is not None else None
            if opened is not None and piece.first_row == 0:
                first_file = store_file(str(store)) if self._is_joined else self.main.files[0]
                yield from opened.bad_rows() if piece.file == first_file else ()
            if self._is_joined:
                assert opened is not None
                rows: Iterator[Any] = itertools.starmap(self._join_row, opened.rows(piece.start, piece.stop or 0))
            else:
                rows = (
                    values if isinstance(values, BadRow) else self._row(file, row, values, opened)
                    for file, row, values in _piece_values(piece, self.main)
                )
            yield from itertools.islice(rows, piece.n_rows)

    @property
    def _is_joined(self) -> bool:
        """Whether all rows are in the store, and not only references to look up."""
        if self.main.holds_media:
            return False
        has_json = any(file.kind == ".json" for file in self.main.files) and not self.is_stream
        return self.references is not None or has_json or self.main.single

    @property
    def _sides(self) -> list[FileSide]:
        return [self.main, *([self.references] if self.references else [])]

    def _limit(self, pieces: Iterable[Piece], limit: int) -> Iterator[Piece]:
        for piece in pieces:
            n_rows = piece.n_rows
            if n_rows is None:
                n_rows = sum(1 for _ in itertools.islice(_piece_records(piece, self.main.is_read), limit))
            yield piece._replace(n_rows=min(n_rows, limit))
            limit -= n_rows
            if limit <= 0:
                return

    def _join_row(self, file: str, row: int, values: Values) -> CaptionRow | BadRow:
        """Check that a row has both sides."""
        for side in ("predictions", "references"):
            if getattr(values, side) is None and any(getattr(other.layout, side) is not None for other in self._sides):
                return BadRow(file, row, values.id, _missing_side(side, row), True)
        return self._row(file, row, values, None)

    def _row(self, file: str, row: int, values: Values, store: JoinedStore | None) -> CaptionRow | BadRow:
        """Make a row of checked values: its id, references, image and video."""
        name = values.id if values.id is not None else self._name(file, row)
        if store is not None:
            values = values._replace(references=store.references(name))
            if values.references is None:
                return BadRow(file, row, name, _missing_side("references", row), True)
        try:
            image, video = (
                self._medium(role, given, name, row)
                for role, given in (("image", values.image), ("video", values.video))
            )
        except InputError as error:
            return BadRow(file, row, name, error.as_kind(InputError))
        return CaptionRow(file, row, name, values.predictions, values.references, image, video)

    def with_media(self, row: CaptionRow) -> CaptionRow | BadRow:
        """Return a row that was read without media, with the paths or the bytes of its image and video."""
        values = Values(row.id, row.predictions, row.references, row.image, row.video)
        return self._row(row.file, row.row, values, None)

    def _name(self, file: str, row: int) -> str:
        """Name of a row of files without ids."""
        return str(row) if len(self.main.files) == 1 else f"{file}:{row}"

    def _medium(self, role: str, given: str | bytes | None, name: str, row: int) -> str | bytes | None:
        """Path of an image or a video on this machine, or its bytes."""
        folder = self.media.get(role)
        if folder is None or isinstance(given, bytes):
            return given
        return find_medium(folder, given, name, role, row)


class _CountedSide(EmptyCaptions):
    """Empty captions of one side of the rows, without a token; of numbered columns, cells that have none."""

    def __init__(self, side: FileSide, role: str, tokenizer: Tokenizer) -> None:
        super().__init__(token_finder(tokenizer))
        self._file, self._role = side.files[0].path, role
        self._n_columns = side.n_numbered(role)
        self._repeated = RepeatedTexts()

    def add_row(self, row: CaptionRow) -> None:
        captions = getattr(row, self._role)
        if captions is not None:
            self.add(captions, max(0, self._n_columns - len(captions)))
            if self._role == "references":
                self._repeated += repeated_texts([captions])

    def warn(self) -> None:
        if self.n_empty:
            left_out = ", and left out" if self._n_columns else ""
            warnings.warn(f"{self._file}: {self}{left_out}.", stacklevel=3)
        self._repeated.warn(self._file)


def open_source(
    predictions: Sequence[str],
    references: Sequence[str] = (),
    columns: ColumnNames | None = None,
    images: str | None = None,
    videos: str | None = None,
    limit: int | None = None,
    *,
    either: bool = False,
    optional: Sequence[str] = (),
    split: str | None = None,
    tokenizer: Tokenizer = "ptb",
    only: tuple[str, str] | None = None,
    by_line: bool = False,
) -> CaptionSource:
    """Find files of captions, and describe how they are read.

    Files are paths, fsspec addresses, folders, and patterns in braces or with wildcards, with endings as in
    `files.KINDS`. Files of predictions may hold references too; `references` are joined to them by id. `columns` goes
    from roles (`columns.ROLES`) to names of columns, where they are not the usual ones; a file, as it is given, may
    have a mapping of its own. Images and videos are in a folder, or at an address, where a column names them, or an id.
    Without a `limit` all rows are read. With `either`, files that hold references alone will do. Rows that lack an
    `optional` "image" or "video", or name none that can be read, are good ones. `split`, "test" or "train+restval", is
    for files with several: Karpathy's and MSR-VTT's, and saved data sets, of which "train" is read otherwise. A
    caption without a token of the `tokenizer` is counted as empty. `only` has a column of the files of predictions, and
    the value of the rows to read. With `by_line`, all files are plain text, and rows are matched by their numbers.

    A ValueError says that there is no such file, no column of captions or several of them, no id to join by, or that no
    file can be read.
    """
    check_files_of_columns(columns, [*predictions, *references])
    chosen = columns_of(columns, predictions)
    sides = ["predictions"] if references else ["predictions", "references"]
    understand = functools.partial(find_layout, chosen=chosen, sides=sides, either=either)
    files = [file._replace(only=only) for file in table_files(predictions, split)]
    other_files = table_files(references, split)
    if by_line:
        files, other_files = aligned(files, runs=False), aligned(other_files, runs=True)
        check_aligned([*files, *other_files])
    main = side_of(files, understand, chosen)
    others = None
    if references:
        chosen = columns_of(columns, references)
        understand = functools.partial(find_layout, chosen=chosen, sides=["references"])
        others = side_of(other_files, understand, chosen)
    check_files_once([] if others is None else others.files)
    for side in (main, others) if others else ():
        if side is not None and side.layout.id is None:
            raise _no_ids_error(side.files[0])
    check_split_used(split, [side for side in (main, others) if side is not None])
    media = {role: folder for role, folder in (("image", images), ("video", videos)) if folder is not None}
    warn_of_lines(main.files)
    main = main._replace(optional=tuple(optional))
    others = others and others._replace(optional=tuple(optional))
    return CaptionSource(main, others, media, limit, tokenizer=tokenizer)


def check_files_once(files: Sequence[TableFile]) -> None:
    """Raise if a file of references comes twice: each of its captions would be two people's."""
    seen: dict[str, str] = {}
    for file in files:
        path = os.path.realpath(file.path) if is_local(file.path) else file.path
        if path in seen:
            raise InputError(quote_path(file.path), "each file of references once", "it twice", "Leave it out once.")
        seen[path] = file.path


def check_aligned(files: Sequence[TableFile]) -> None:
    """Raise a ValueError unless line-aligned files have equally many rows."""
    counts = [sum(1 for _ in file_records(file)) for file in files]
    for file, n_rows in zip(files, counts, strict=True):
        if n_rows != counts[0]:
            got = f"{n_rows:,} {'runs of lines' if file.aligned == ALIGNED_RUNS else 'lines'}"
            fix = "Give files whose lines belong together: an empty line stands for an empty caption."
            raise InputError(file.path, f"as many rows as {files[0].path}, {counts[0]:,}", got, fix)


def _no_ids_error(file: TableFile) -> InputError:
    """The error of a file that cannot be joined with another one."""
    expected = "a column of ids to join predictions and references by"
    if file.kind == TEXT:
        return InputError(file.path, expected, f"plain text without ids{lines_of_text(file)}", WITH_IDS)
    return InputError(file.path, expected, "none", "Name it with --columns id=NAME.")


def lines_of_text(file: TableFile) -> str:
    """Say how plain text without ids is read, where all of it is one row; an empty text where it has several."""
    records = [record for record in itertools.islice(file_records(file), 2) if isinstance(record, Record)]
    captions = records[0].values.get("captions") if len(records) == 1 else None
    if not isinstance(captions, list) or len(captions) < 2 or "id" in records[0].values:
        return ""
    return f" ({len(captions):,} lines without an empty one between them, which are the captions of one row)"


def warn_of_lines(files: Sequence[TableFile]) -> None:
    """Warn of plain text that is one row as a whole: it may have been meant to hold one row a line."""
    for file in files:
        if file.kind == TEXT and file.aligned is None and (lines := lines_of_text(file)):
            warnings.warn(f"{file.path}: plain text{lines}. {WITH_IDS}", stacklevel=3)


def check_split_used(split: str | None, sides: Sequence[FileSide]) -> None:
    """Raise a ValueError if a split is named and no file has any."""
    if split is not None and not any(side.has_splits for side in sides):
        got = f"none in {sides[-1].files[0].path}"
        raise InputError("--split", "a file with splits, such as dataset_coco.json", got, "Leave --split out.")


def file_pieces(file: TableFile, n_bytes: int) -> Iterator[Piece]:
    """Split a file into pieces; one that cannot be split or read is a single piece."""
    if file.kind in (".json", ".arrow", ".xlsx", HUB) or file.n_bytes == 0:
        yield whole(file)
        return
    cut = {".parquet": parquet_pieces, ".tar": tar_pieces}.get(file.kind, text_pieces)
    try:
        yield from cut(file, n_bytes)
    except DAMAGE:
        yield whole(file)  # whoever reads it says why


def side_of(files: list[TableFile], find: Callable[..., Layout], chosen: Mapping[str, str]) -> FileSide:
    """Find the layout of all files from the first one that can be read; `chosen` are names that a user gave."""
    reading = Reading(tuple(chosen.values()))
    file, records, layout, wide = first_layout(files, find, reading)
    side = _file_side(files, file, records, layout)
    return side._replace(reading=reading, wide=wide, has_splits=are_splits(file, names_of(records)))


def first_layout(
    files: Sequence[TableFile], find: Callable[..., Layout], reading: Reading
) -> tuple[TableFile, list[Record], Layout, dict[str, tuple[str, ...]]]:
    """Return the first file that can be read, its first records, its layout, and the numbered columns read together.

    The captions of these are in the records as well, by the name that the columns have in common.
    """
    file, records = first_records(files)
    names = names_of(records)
    wide = reading.wide(names)
    layout = find(names, where=file.path, wide=wide)
    for note in reading.notes(names, layout):
        warnings.warn(f"{file.path}: {note}.", stacklevel=5)
    texts = [record.values.get(name) for record in records for name in (layout.predictions, layout.references) if name]
    n_texts = sum(isinstance(text, Paragraphs) for text in texts)
    if n_texts:
        warnings.warn(
            f"{file.path}: {n_texts:,} of the first {len(records):,} texts have empty lines within, and every line is "
            "read as a caption. If a text is one caption, write it as `caption` into the .json of its sample.",
            stacklevel=5,
        )
    wide_records = [record._replace(values=add_wide(record.values, reading.wide(record.values))) for record in records]
    return file, wide_records, layout, wide


def names_of(records: Iterable[Record]) -> list[str]:
    """Return the names of all columns of some records."""
    return list(dict.fromkeys(name for record in records for name in record.values))


def are_splits(file: TableFile, names: Collection[str]) -> bool:
    """Return whether a file with columns of these names is, or belongs to, a data set with splits."""
    return file.kind in (HUB, ".arrow") or (file.kind == ".json" and "split" in names)


def first_records(files: Sequence[TableFile]) -> tuple[TableFile, list[Record]]:
    """Return the first file that can be read, and its first records."""
    error = None
    for file in files:
        read = [] if file.n_bytes == 0 else list(itertools.islice(file_records(file), N_FIRST_RECORDS))
        records = [record for record in read if isinstance(record, Record)]
        if records:
            return file, records
        error = error or next(
            (record.reason.within(file.path) for record in read if isinstance(record, Unreadable)), None
        )
    raise error or InputError(files[0].path, "at least one row", "none", "Give a file with captions.")


def _file_side(files: list[TableFile], file: TableFile, records: list[Record], layout: Layout) -> FileSide:
    media = [record.values.get(name) for record in records for name in (layout.image, layout.video) if name is not None]
    holds_media = file.kind == ".tar" or any(
        isinstance(value, bytes) or (isinstance(value, dict) and value.get("bytes")) for value in media
    )
    if layout.id is None and not holds_media:
        layout = layout._replace(id=layout.image or layout.video)
    sided = [name for name in (layout.predictions, layout.references) if name is not None]
    texts = [record.values.get(name) for record in records for name in sided]
    single = layout.id is not None and are_single(texts)
    return FileSide(tuple(files), layout, single and not holds_media, holds_media)


def are_single(texts: Iterable[Any]) -> bool:
    """Return whether values of a column of captions are one caption each, as far as there are any."""
    return all(isinstance(text, str) and not looks_like_list(text) for text in texts if text is not None)


def _records(piece: Piece, is_read: Callable[[str], bool]) -> Iterator[Record | Unreadable]:
    """Records of a piece; only columns that are read are decoded where a file allows it."""
    file = piece.file
    readers: dict[str, Callable[[], Iterator[Record | Unreadable]]] = {
        ".parquet": lambda: parquet_records(piece, is_read),
        ".arrow": lambda: arrow_records(file, is_read),
        HUB: lambda: hub_records(file, is_read),
        ".tar": lambda: tar_records(piece),
        ".xlsx": lambda: sheet_records(file),
        ".json": lambda: json_records(file),
    }
    return readers.get(file.kind, lambda: text_records(piece, is_read))()


def file_records(file: TableFile) -> Iterator[Record | Unreadable]:
    """Read a file with all its columns; one that cannot be read is one unreadable part."""
    return _piece_records(whole(file))


def _piece_records(piece: Piece, is_read: Callable[[str], bool] = every_column) -> Iterator[Record | Unreadable]:
    """Records of a piece; a file that cannot be read is one unreadable part."""
    if piece.file.n_bytes == 0:
        yield Unreadable(0, InputError("", "at least one row", "an empty file", "Leave it out, or write it again."))
        return
    row, only = piece.first_row, piece.file.only
    try:
        for record in _records(piece, lambda column: is_read(column) or (only is not None and column == only[0])):
            row = record.row + 1
            if only is None or isinstance(record, Unreadable) or str(record.values.get(only[0])) == only[1]:
                yield record
    except InputError as error:
        where = error.where.removeprefix(piece.file.path).removeprefix(": ")
        yield Unreadable(row, InputError(where, error.expected, error.got, error.fix))
    except DAMAGE as error:
        if getattr(error, "errno", None) is not None:
            reason = InputError("", "a file that can be read", reason_of(error), "Check its permissions and the disk.")
        else:
            kind = piece.file.kind + ".gz" * piece.file.compressed
            expected, got = f"a whole {kind} file", f"damage from here on ({reason_of(error)})"
            reason = InputError(f"row[{row}]", expected, got, "Fetch it again, or name it by what it holds.")
        yield Unreadable(row, reason)


def values_of_column(source: str, column: str, option: str) -> list[str]:
    """Return the different values of a column of a table, in order; raise a ValueError where a row has none.

    Values are texts or whole numbers; `option` named the column.
    """
    found: dict[str, None] = {}
    for file in table_files([source]):
        for record in _piece_records(whole(file), column.__eq__):
            if isinstance(record, Unreadable):
                raise record.reason.within(file.path)
            value = record.values.get(column)
            if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
                got = f"none ({quote_value(value)})" if column in record.values else "no such column"
                fix = f"Name the column of the systems with {option}; the names stand in every row."
                raise InputError(f"{file.path}: {column}[{record.row}]", "the name of a system", got, fix)
            found[str(value)] = None
    if not found:
        raise InputError(source, "at least one row", "none", "Give a file with captions.")
    return list(found)


def _piece_values(piece: Piece, side: FileSide) -> Iterator[tuple[str, int, Values | BadRow]]:
    """File, row and checked values of every record of a piece."""
    file = piece.file.path
    for record in _piece_records(piece, side.is_read):
        yield file, record.row, _as_values(file, record, side)


def _values(side: FileSide) -> Iterator[tuple[str, int, Values | BadRow]]:
    """File, row and checked values of every record of all files."""
    for file in side.files:
        yield from _piece_values(whole(file), side)


def _as_values(file: str, record: Record | Unreadable, side: FileSide) -> Values | BadRow:
    if isinstance(record, Unreadable):
        return BadRow(file, record.row, None, record.reason)
    name, values = None, record.values
    try:
        values = side.reading.with_captions(values, side.layout, record.row)
        return read_values(values, side.layout, record.row, one_side=side.single, optional=side.optional)
    except InputError as error:
        with contextlib.suppress(InputError):
            name = read_id(values, side.layout, record.row)
        return BadRow(file, record.row, name, error.as_kind(InputError))


def _missing_side(side: str, row: int) -> InputError:
    other = "references" if side == "predictions" else "predictions"
    return InputError(f"id[{row}]", f"{side} of the same id", "none", f"Add them, or leave these {other} out.")
