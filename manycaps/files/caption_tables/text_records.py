"""Records of JSON Lines, CSV, TSV and plain text: all are read by lines, so that a bad line costs no other."""

import codecs
import collections
import csv
import functools
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from manycaps.kit.errors import InputError, quote_value, reason_of
from manycaps.kit.files import unique_keys

from .columns import ID_COLUMNS, IMAGE_COLUMNS, OUTPUT_COLUMNS, TARGET_COLUMNS, USUAL_CAPTIONS, VIDEO_COLUMNS
from .files import (
    ALIGNED_LINES,
    ALIGNED_RUNS,
    MEDIA_ENDINGS,
    TEXT,
    Piece,
    Record,
    TableFile,
    Unreadable,
    open_bytes,
    whole,
)

# Byte order mark of UTF-8, which some programs write.
MARK = codecs.BOM_UTF8

# What files of other encodings begin with: UTF-32 before UTF-16, as a mark of UTF-32 begins with one of UTF-16.
OTHER_MARKS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32", b"\x84\x31\x95\x33": "GB 18030"}
MARKS_OF_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# Bytes of a line at most, and empty lines in a row: more would fill the memory, or take hours, for no caption.
MAX_LINE_BYTES = 1 << 26
MAX_EMPTY_LINES = 1 << 20

# Lines and bytes of one record of a table at most: an unclosed quote would swallow the rest of the file.
MAX_RECORD_LINES = 1_000
MAX_RECORD_BYTES = 1 << 20

# What separates the cells of a table; the header of a .csv file may say another sign.
SEPARATORS = {".csv": ",", ".tsv": "\t", ";": ";", "|": "|"}

# Form of lines with a name, a tab and a caption, as of Flickr8k.token.txt, and what stands behind the name of an image
# there: the number of the caption. One image of Flickr8k is called 2258277193_586949ec62.jpg.1 as well.
NAMED = "named captions"
CAPTION_NUMBER = re.compile(r"(?:(?<=\.jpg)\.1)?#\d+$")

# Form of lines with the clip of a video, a blank and a caption, behind a few others, as of MSVD's
# AllVideoDescriptions.txt: the 11 signs of YouTube, and the seconds at which the clip begins and ends.
CLIPS = "captions of clips"
CLIP_LINE = re.compile(r"([\w-]{11}_\d+_\d+) +(\S.*)", re.DOTALL)
MOST_LINES_BEFORE_CLIPS = 20

# Form of the lines of fairseq-generate: S-0 (source), T-0 (target), H-0 and D-0 (hypothesis with its score, and the
# same detokenised), P-0 (scores of its tokens), and more; lines of its log stand around them. The letter is that of the
# hypotheses which are read: D, or H where there is none.
FAIRSEQ = {"D": "detokenised lines of fairseq", "H": "lines of fairseq"}
FAIRSEQ_HYPOTHESIS = re.compile(r"([DH])-\d{1,18}\t-?(?:\d[\d.e-]*|inf|nan)\t")
FAIRSEQ_LINES = {form: re.compile(rf"([{letter}T])-(\d{{1,18}})(?=\s)(.*)", re.S) for letter, form in FAIRSEQ.items()}
MOST_LINES_BEFORE_FAIRSEQ = 1_000

# A line of column names, of which at least one is usual: no caption is a single word, or several without blanks.
HEADER = re.compile(r"\w+(?: ?[,;|\t] ?\w+)*")
USUAL_NAMES = USUAL_CAPTIONS | {*ID_COLUMNS, *IMAGE_COLUMNS, *VIDEO_COLUMNS, "image_name", "video_name", "comment"}
USUAL_NAMES |= {"sentence"}
# A line of plain text may be the word "answer" alone.
USUAL_NAMES -= {*OUTPUT_COLUMNS, *TARGET_COLUMNS}

# Endings of names of images and videos.
MEDIA = tuple(ending for endings in MEDIA_ENDINGS.values() for ending in endings)

# What is wrong with a file of one line, as old Macs ended theirs.
NO_LINE_FEEDS = (
    "lines that end in a line feed",
    "carriage returns alone",
    "Save the file with the line ends of Unix or Windows.",
)

# Reads a line of JSON Lines.
JSON = json.JSONDecoder(object_pairs_hook=unique_keys)


class BadLineError(InputError):
    """A line behind which a file cannot be read."""


class Block(NamedTuple):
    """The lines of one record."""

    # Byte of the file at which it begins, and the one after its end.
    start: int
    stop: int
    lines: list[str]


def text_pieces(file: TableFile, n_bytes: int) -> Iterator[Piece]:
    """Split a text file between records; a compressed one, or one in UTF-16, is a single piece."""
    with open_bytes(file.path, file.compressed) as stream:
        if file.compressed or _is_utf_16(stream, file):
            yield whole(file)
            return
        form = _form(file, stream, _lines)
        blocks = _records_of(_lines(stream), form, 0)
        header = next(blocks, None) if form in SEPARATORS else Block(0, 0, [])
        if header is None:
            return
        start, n_rows, first_row = header.stop, 0, 0
        stop = start
        try:
            for block in blocks:
                n_rows, stop = n_rows + 1, block.stop
                if stop - start >= n_bytes:
                    yield Piece(file, start, stop, first_row, n_rows, stop - start)
                    start, first_row, n_rows = stop, first_row + n_rows, 0
        except BadLineError:  # whoever reads the last piece finds it and says where
            yield Piece(file, start, None, first_row, None, file.n_bytes - start)
            return
        if n_rows:
            yield Piece(file, start, stop, first_row, n_rows, stop - start)


def text_records(piece: Piece) -> Iterator[Record | Unreadable]:
    """Read the records of a piece of a text file, up to a line behind which it cannot be read."""
    with open_bytes(piece.file.path, piece.file.compressed) as stream:
        read_lines = _lines_of_utf_16 if _is_utf_16(stream, piece.file) else _lines
        form = _form(piece.file, stream, read_lines)
        blocks = _records_of(read_lines(stream), form, 0)
        names = _names(next(blocks, None), piece.file, SEPARATORS[form]) if form in SEPARATORS else []
        if piece.start > 0:
            stream.seek(piece.start)
            blocks = _records_of(_lines(stream), form, piece.start, names)
        inside = itertools.takewhile(lambda block: piece.stop is None or block.start < piece.stop, blocks)
        parsers = {TEXT: _parse_captions, NAMED: _parse_named, CLIPS: _parse_clip}
        parsers |= {ALIGNED_LINES: _parse_aligned, ALIGNED_RUNS: _parse_aligned_run}
        parse: Callable[[Block, int], Any] = parsers.get(form, _parse_line)
        if form in FAIRSEQ_LINES:
            parse = functools.partial(_parse_fairseq, form)
        if form in SEPARATORS:
            parse = functools.partial(_parse_cells, names, SEPARATORS[form])
        # No line behind the last row: it may be one that cannot be read, which is another piece's.
        yield from _parse_blocks(itertools.islice(inside, piece.n_rows), parse, piece.first_row)


def _parse_blocks(
    blocks: Iterable[Block], parse: Callable[[Block, int], Any], first_row: int
) -> Iterator[Record | Unreadable]:
    """Records of blocks, each bad one unreadable by itself."""
    row = first_row
    try:
        for block in blocks:
            try:
                yield Record(row, parse(block, row))
            except InputError as error:
                yield Unreadable(row, error)
            row += 1
    except BadLineError as error:
        yield Unreadable(row, error.within(f"row[{row}]").as_kind(InputError))


def _form(file: TableFile, stream: IO[bytes], read_lines: Callable[[IO[bytes]], Iterator[bytes]]) -> str:
    """How the lines of a file make records, by the first of them: a kind, or as named above."""
    if file.kind == ".jsonl" or file.aligned is not None:
        return file.aligned or file.kind
    first = next((line for line in read_lines(stream) if line.strip()), b"")
    stream.seek(0)
    line = _text(first, 0).strip()
    if file.kind == TEXT and (form := _form_inside(stream, read_lines)):
        return form
    if file.kind == ".csv":
        return ".csv" if "," in line else next((sign for sign in "|;" if sign in line), ".csv")
    name, tab, _ = line.partition("\t")
    if tab and CAPTION_NUMBER.search(name):
        return NAMED
    if file.kind == ".tsv":
        return ".tsv"
    if HEADER.fullmatch(line) and not USUAL_NAMES.isdisjoint(re.split(r" ?[,;|\t] ?", line.lower())):
        return next((form for form, sign in SEPARATORS.items() if sign in line), ".tsv")
    if line.lower().endswith(MEDIA) and " " not in line:
        raise InputError(
            file.path,
            "captions",
            f"the name of a file in the first line ({quote_value(line)})",
            "Give the file of the captions, or write a tab and a caption behind each name.",
        )
    return NAMED if tab else TEXT


def _form_inside(stream: IO[bytes], read_lines: Callable[[IO[bytes]], Iterator[bytes]]) -> str | None:
    """The form that a line behind others tells: of clips, or of fairseq; None for any other text."""
    lines = (line for line in read_lines(stream) if line.strip())
    letters = set()
    try:
        for i, line in enumerate(itertools.islice(lines, MOST_LINES_BEFORE_FAIRSEQ)):
            text = _text(line, 0)
            if i <= MOST_LINES_BEFORE_CLIPS and CLIP_LINE.match(text):
                return CLIPS
            if match := FAIRSEQ_HYPOTHESIS.match(text):
                letters.add(match[1])
    except BadLineError:  # whoever reads it says so
        pass
    finally:
        lines.close()
        stream.seek(0)
    return FAIRSEQ[min(letters)] if letters else None


def _is_utf_16(stream: IO[bytes], file: TableFile) -> bool:
    """Whether a text file is in UTF-16, as spreadsheet programs write it; any other encoding than UTF-8 is an error."""
    start = stream.read(4)
    stream.seek(0)
    other = next((name for mark, name in OTHER_MARKS.items() if start.startswith(mark)), None)
    if other is None and 0 in start[:2]:  # of ASCII letters, one byte in two
        other = "UTF-16 without one"
    if other is not None:
        raise InputError(
            file.path, "text in UTF-8, or in UTF-16 with a byte order mark", other, "Save the file as UTF-8."
        )
    return start.startswith(MARKS_OF_UTF_16)


def _lines_of_utf_16(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines of a file in UTF-16, in UTF-8; lone surrogates stay, which the check of captions reports."""
    text = io.TextIOWrapper(stream, "utf-16", errors="surrogatepass", newline="\n")
    try:
        yield from _limit_lines(lambda size: text.readline(size).encode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise BadLineError(
            "", "UTF-16 up to the end of the file", reason_of(error), "Save it again, as UTF-8."
        ) from None
    finally:
        if not stream.closed:  # as it is where the rest of the lines is not wanted
            text.detach()


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    return _limit_lines(stream.readline)


def _limit_lines(read_line: Callable[[int], bytes]) -> Iterator[bytes]:
    """Lines of a file, as far as they are neither too long nor empty in too large a number."""
    n_empty = 0
    while line := read_line(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            got, fix = "a longer one, after which nothing is read", "Write one row per line, or leave the file out."
            raise BadLineError("", f"lines of at most {MAX_LINE_BYTES:,} bytes", got, fix)
        n_empty = n_empty + 1 if line.isspace() else 0
        if n_empty > MAX_EMPTY_LINES:
            got = f"more than {MAX_EMPTY_LINES:,} empty lines, after which nothing is read"
            raise BadLineError("", "captions", got, "Delete them, or leave the file out.")
        yield line


def _records_of(lines: Iterable[bytes], kind: str, start: int, names: list[str] | None = None) -> Iterator[Block]:
    """Blocks of lines that make a record each; empty lines are left out."""
    if kind in SEPARATORS:
        blocks = _table_blocks(lines, SEPARATORS[kind], start, names)
    else:
        blocks = _paragraphs(lines, start) if kind in (TEXT, ALIGNED_RUNS) else _line_blocks(lines, start)
    if kind == ALIGNED_LINES:  # an empty line is the empty caption of a row
        return iter(blocks)
    if kind in FAIRSEQ_LINES:  # the log, sources and scores of tokens are no captions
        blocks = (block for block in blocks if FAIRSEQ_LINES[kind].match(block.lines[0]))
    if kind == CLIPS and start == 0:
        blocks = itertools.dropwhile(lambda block: not CLIP_LINE.match(block.lines[0]), blocks)
    return (block for block in blocks if any(line.strip() for line in block.lines))


def _line_blocks(lines: Iterable[bytes], start: int) -> Iterator[Block]:
    for line in lines:
        stop = start + len(line)
        yield Block(start, stop, [_text(line, start)])
        start = stop


def _paragraphs(lines: Iterable[bytes], start: int) -> Iterator[Block]:
    """Runs of lines that are not empty."""
    waiting: list[str] = []
    first = stop = start
    for line in lines:
        text = _text(line, stop)
        stop += len(line)
        if text.strip():
            waiting.append(text)
            continue
        if waiting:
            yield Block(first, stop, waiting)
        first, waiting = stop, []
    if waiting:
        yield Block(first, stop, waiting)


def _table_blocks(lines: Iterable[bytes], separator: str, start: int, names: list[str] | None) -> Iterator[Block]:
    """Lines of a table, joined while a quote is open.

    Lines that make no record together are records of their own: of a quote too many, the first line is the bad one.
    """
    waiting: list[bytes] = []
    source = iter(lines)
    again: list[bytes] = []
    n_cells = None if names is None else len(names)
    while True:
        line = again.pop() if again else next(source, None)
        if line is not None:
            waiting.append(line)
        if not waiting:
            return
        joined = b"".join(waiting)
        is_open = joined.count(b'"') % 2 == 1
        too_long = len(waiting) > MAX_RECORD_LINES or len(joined) > MAX_RECORD_BYTES
        if is_open and line is not None and not too_long:
            continue
        if len(waiting) > 1 and (is_open or not _is_record(joined, separator, n_cells)):
            again.extend(reversed(waiting[1:]))
            waiting = waiting[:1]
            joined = waiting[0]
        texts = [_text(part, start if i == 0 else 1) for i, part in enumerate(waiting)]
        if n_cells is None and joined.strip():
            n_cells = _n_cells(texts, separator)
        yield Block(start, start + len(joined), texts)
        start += len(joined)
        waiting = []


def _n_cells(texts: list[str], separator: str) -> int:
    """Cells of the lines of a record; 0 if it is not valid, which `_names` reports."""
    try:
        return len(next(csv.reader(texts, delimiter=separator), []))
    except csv.Error:
        return 0


def _is_record(joined: bytes, separator: str, n_cells: int | None) -> bool:
    """Whether lines are one record with the table's number of cells."""
    try:
        parsed = list(csv.reader([_text(joined, 1)], delimiter=separator, strict=True))
    except csv.Error:
        return False
    return len(parsed) == 1 and (n_cells is None or len(parsed[0]) == n_cells)


def _text(line: bytes, start: int) -> str:
    """Text of a line; invalid bytes become lone surrogates, which the check of captions reports."""
    if start == 0:
        line = line.removeprefix(MARK)
    return line.decode("utf-8", errors="surrogateescape")


def _names(header: Block | None, file: TableFile, separator: str) -> list[str]:
    """Names of the columns of a table."""
    try:
        names = next(csv.reader(header.lines, delimiter=separator), []) if header else []
        names = [name.strip() for name in names]
    except csv.Error as error:
        if header and _has_returns_alone(header.lines[0]):
            raise InputError(file.path, *NO_LINE_FEEDS) from None
        raise InputError(file.path, "column names in the first line", reason_of(error), "Fix this line.") from None
    check_names(names, file)
    return names


def check_names(names: Sequence[str], file: TableFile) -> None:
    """Raise an InputError if two columns of a table have one name; any number may have none."""
    twice = next((name for name, n in collections.Counter(names).items() if n > 1 and name), None)
    if twice is not None:
        raise InputError(
            file.path,
            "every column name once",
            f"{quote_value(twice)} {names.count(twice)} times",
            "Give the columns different names: the cells of one alone would be read.",
        )


def _parse_captions(block: Block, row: int) -> Any:
    """Captions of a run of lines."""
    captions = [line.strip() for line in block.lines]
    if any("\r" in caption for caption in captions):
        raise InputError(f"row[{row}]", *NO_LINE_FEEDS)
    return {"captions": captions}


def _parse_aligned(block: Block, row: int) -> Any:
    """Caption of a line, whose number is its id."""
    return {"id": row, "caption": block.lines[0].strip()}


def _parse_aligned_run(block: Block, row: int) -> Any:
    """Captions of a run of lines, whose number is its id."""
    return {"id": row, **_parse_captions(block, row)}


def aligned(files: Sequence[TableFile], *, runs: bool) -> list[TableFile]:
    """Return plain text as files whose rows are matched by their numbers; raise a ValueError for any other file.

    With `runs`, a file with empty lines between others has a run of lines for each row, as the references of E2E.
    """
    for file in files:
        if file.kind != TEXT:
            raise InputError("--aligned", f"plain text ({TEXT})", file.path, "Leave it out: ids match other files.")
    return [file._replace(aligned=ALIGNED_RUNS if runs and _has_runs(file) else ALIGNED_LINES) for file in files]


def _has_runs(file: TableFile) -> bool:
    """Whether an empty line stands between others."""
    with open_bytes(file.path, file.compressed) as stream:
        lines = _lines_of_utf_16(stream) if _is_utf_16(stream, file) else _lines(stream)
        starts = (is_empty for is_empty, _ in itertools.groupby(lines, lambda line: not line.strip()))
        return list(itertools.islice(starts, 4)) in (
            [False, True, False],
            [False, True, False, True],
            [True, False] * 2,
        )


def _parse_named(block: Block, row: int) -> Any:
    """Name and caption of a line."""
    cells = block.lines[0].strip("\r\n").split("\t")
    if len(cells) != 2:
        raise InputError(
            f"row[{row}]", "a name, a tab and a caption", f"{len(cells) - 1} tabs", "Fix or delete this line."
        )
    return {"id": CAPTION_NUMBER.sub("", cells[0].strip()), "caption": cells[1].strip()}


def _parse_clip(block: Block, row: int) -> Any:
    """Clip and caption of a line."""
    parts = CLIP_LINE.match(block.lines[0].strip())
    if parts is None:
        raise InputError(
            f"row[{row}]",
            "a clip such as mv89psg6zh4_33_46, a blank and a caption",
            quote_value(block.lines[0].strip()),
            "Fix or delete this line.",
        )
    return {"id": parts[1], "caption": parts[2]}


def _parse_fairseq(form: str, block: Block, row: int) -> Any:
    """Hypothesis or target of a line."""
    letter, number, rest = FAIRSEQ_LINES[form].findall(block.lines[0].strip("\r\n"))[0]
    *_, text = cells = rest.split("\t", 1 if letter == "T" else 2)
    if len(cells) != (2 if letter == "T" else 3):
        expected = f"{letter}-{number}, a tab, {'' if letter == 'T' else 'a score, a tab '}and a caption"
        got = quote_value(block.lines[0].strip())
        raise InputError(f"row[{row}]", expected, got, "Fix or delete this line.")
    return {"id": number, "reference" if letter == "T" else "prediction": text.strip()}


def _parse_line(block: Block, row: int) -> Any:
    """Value of a line of JSON."""
    try:
        value = JSON.decode(block.lines[0])
    except RecursionError:
        raise _not_json(row, "brackets nested too deeply") from None
    except ValueError as error:  # also of a number of thousands of digits
        if _has_returns_alone(block.lines[0]):
            raise InputError(f"row[{row}]", *NO_LINE_FEEDS) from None
        problem = error.msg if isinstance(error, json.JSONDecodeError) else reason_of(error)
        raise _not_json(row, problem) from None
    return as_values(value, row)


def _has_returns_alone(line: str) -> bool:
    return "\r" in line.strip() and "\n" not in line


def _not_json(row: int, problem: str) -> ValueError:
    return InputError(f"row[{row}]", "a line of JSON", f"invalid JSON ({problem})", "Fix or delete this line.")


def as_values(value: Any, row: int) -> Any:
    """Return an object of JSON as values by column; a list is the captions; raise a ValueError for anything else.

    >>> as_values(["a dog"], 0)
    {'captions': ['a dog']}
    """
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {"captions": value}
    raise InputError(f"row[{row}]", "an object or a list of captions", type(value).__name__, "Fix or delete this row.")


def _parse_cells(names: list[str], separator: str, block: Block, row: int) -> dict[str, str | None]:
    """Cells of the lines of a record, by column; an empty cell is no value."""
    try:
        cells = next(csv.reader(block.lines, delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise InputError(f"row[{row}]", "cells", error, "Fix the quotes of this line.") from None
    if len(cells) != len(names):
        raise InputError(
            f"row[{row}]", f"{len(names)} cells", len(cells), "Put a caption with separators into double quotes."
        )
    return {name: cell or None for name, cell in zip(names, cells, strict=True)}
