"""Records of JSON Lines, CSV, TSV and plain text: all are read by lines, so that a bad line costs no other."""

import collections
import functools
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
    every_column,
    open_bytes,
    whole,
)
from .text_lines import (
    NO_LINE_FEEDS,
    BadLineError,
    Block,
    cell_blocks,
    has_returns_alone,
    is_utf_16,
    line_blocks,
    lines_from,
    lines_of,
    run_blocks,
    text_of,
)

# What separates the cells of a table; the header of a .csv file may say another sign.
SEPARATORS = {".csv": ",", ".tsv": "\t", ";": ";", "|": "|"}

# What stands behind the name of an image in Flickr8k.token.txt: the number of the caption. One image of Flickr8k is
# called 2258277193_586949ec62.jpg.1 as well.
CAPTION_NUMBER = re.compile(r"(?:(?<=\.jpg)\.1)?#\d+$")

# A line of MSVD's AllVideoDescriptions.txt, behind a few others: the 11 signs of YouTube, the seconds at which the clip
# begins and ends, a blank and a caption.
CLIP_LINE = re.compile(r"([\w-]{11}_\d+_\d+) +(\S.*)", re.DOTALL)
MOST_LINES_BEFORE_CLIPS = 20

# Lines of fairseq-generate: S-0 (source), T-0 (target), H-0 and D-0 (hypothesis with its score, and the same
# detokenised), P-0 (scores of its tokens), and more; lines of its log stand around them.
FAIRSEQ_HYPOTHESIS = re.compile(r"([DH])-\d{1,18}\t-?(?:\d[\d.e-]*|inf|nan)\t")
MOST_LINES_BEFORE_FAIRSEQ = 1_000

# A line of column names, of which at least one is usual: no caption is a single word, or several without blanks.
HEADER = re.compile(r"\w+(?: ?[,;|\t] ?\w+)*")
USUAL_NAMES = USUAL_CAPTIONS | {*ID_COLUMNS, *IMAGE_COLUMNS, *VIDEO_COLUMNS, "image_name", "video_name", "comment"}
USUAL_NAMES |= {"sentence"}
# A line of plain text may be the word "answer" alone.
USUAL_NAMES -= {*OUTPUT_COLUMNS, *TARGET_COLUMNS}

# Endings of names of images and videos.
MEDIA = tuple(ending for endings in MEDIA_ENDINGS.values() for ending in endings)

# Reads a line of JSON Lines.
JSON = json.JSONDecoder(object_pairs_hook=unique_keys)


class Form(NamedTuple):
    """How the lines of a file make records."""

    # From lines, and the byte at which they begin, to the block of each record.
    blocks: Callable[..., Iterator[Block]]
    # From the content of a block, and the number of its row, to its values; of a table names of columns come first.
    parse: Callable[..., Any]
    # Whether the first block has the names of columns.
    has_names: bool = False
    # Whether a record has a caption of either side: where that is not read, there is no row.
    has_sides: bool = False


def text_pieces(file: TableFile, n_bytes: int) -> Iterator[Piece]:
    """Split a text file between records; a compressed one, or one in UTF-16, is a single piece."""
    with open_bytes(file.path, file.compressed) as stream:
        if file.compressed or is_utf_16(stream):
            yield whole(file)
            return
        form = _form(file, stream)
        blocks = form.blocks(lines_of(stream), 0)
        header = next(blocks, None) if form.has_names else Block(0, 0, [])
        if header is None:
            return
        start = stop = header.stop
        n_rows = first_row = 0
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


def text_records(piece: Piece, is_read: Callable[[str], bool] = every_column) -> Iterator[Record | Unreadable]:
    """Read the records of a piece of a text file, up to a line behind which it cannot be read."""
    with open_bytes(piece.file.path, piece.file.compressed) as stream:
        blocks_of, parse, has_names, has_sides = _form(piece.file, stream)
        blocks = blocks_of(lines_of(stream), 0)
        if has_names:
            names = _names(next(blocks, None), piece.file)
            blocks_of = functools.partial(blocks_of, n_cells=len(names))
            parse = functools.partial(parse, names)
        if piece.start > 0:
            stream.seek(piece.start)
            blocks = blocks_of(lines_from(stream), piece.start)
        inside = itertools.takewhile(lambda block: piece.stop is None or block.start < piece.stop, blocks)
        # No line behind the last row: it may be one that cannot be read, which is another piece's.
        for record in _parse_blocks(itertools.islice(inside, piece.n_rows), parse, piece.first_row):
            if not has_sides or isinstance(record, Unreadable) or any(map(is_read, record.values.keys() - {"id"})):
                yield record


def _parse_blocks(blocks: Iterable[Block], parse: Callable[..., Any], first_row: int) -> Iterator[Record | Unreadable]:
    """Records of blocks, each bad one unreadable by itself."""
    row = first_row
    try:
        for block in blocks:
            try:
                yield Record(row, parse(block.content, row))
            except InputError as error:
                yield Unreadable(row, error)
            row += 1
    except BadLineError as error:
        yield Unreadable(row, error.within(f"row[{row}]").as_kind(InputError))


def _form(file: TableFile, stream: IO[bytes]) -> Form:
    """How the lines of a file make records, by its kind and the first of them."""
    if file.kind == ".jsonl" or file.aligned is not None:
        return {ALIGNED_LINES: ALIGNED, ALIGNED_RUNS: ALIGNED_IN_RUNS}.get(str(file.aligned), JSON_LINES)
    first, letters = "", set[str]()
    lines = (text_of(line) for line in lines_of(stream) if line.strip())
    try:
        for i, line in enumerate(itertools.islice(lines, MOST_LINES_BEFORE_FAIRSEQ if file.kind == TEXT else 1)):
            first = first or line.strip()
            if file.kind == TEXT and i <= MOST_LINES_BEFORE_CLIPS and CLIP_LINE.match(line):
                return CLIPS
            if file.kind == TEXT and (match := FAIRSEQ_HYPOTHESIS.match(line)):
                letters.add(match[1])
    except BadLineError:  # whoever reads it says so
        pass
    finally:
        lines.close()
        stream.seek(0)
    name, tab, _ = first.partition("\t")
    if letters:
        return FAIRSEQ[min(letters)]
    if file.kind == ".csv":
        return TABLES[".csv" if "," in first else next((sign for sign in "|;" if sign in first), ".csv")]
    if tab and CAPTION_NUMBER.search(name):
        return NAMED
    if file.kind == ".tsv":
        return TABLES[".tsv"]
    if HEADER.fullmatch(first) and not USUAL_NAMES.isdisjoint(re.split(r" ?[,;|\t] ?", first.lower())):
        return TABLES[next((form for form, sign in SEPARATORS.items() if sign in first), ".tsv")]
    if first.lower().endswith(MEDIA) and " " not in first:
        fix = "Give the file of the captions, or write a tab and a caption behind each name."
        raise InputError(file.path, "captions", f"the name of a file in the first line ({quote_value(first)})", fix)
    return NAMED if tab else PLAIN


def _names(header: Block | None, file: TableFile) -> list[str]:
    """Names of the columns of a table."""
    if header is not None and isinstance(header.content, InputError):
        raise header.content.replace("cells", "column names in the first line").within(file.path)
    names = [name.strip() for name in header.content] if header else []
    check_names(names, file)
    return names


def check_names(names: Sequence[str], file: TableFile) -> None:
    """Raise an InputError if two columns of a table have one name; any number may have none."""
    twice = next((name for name, n in collections.Counter(names).items() if n > 1 and name), None)
    if twice is not None:
        fix = "Give the columns different names: the cells of one alone would be read."
        raise InputError(file.path, "every column name once", f"{quote_value(twice)} {names.count(twice)} times", fix)


def _parse_captions(lines: list[str], row: int) -> Any:
    """Captions of a run of lines."""
    captions = [line.strip() for line in lines]
    if any("\r" in caption for caption in captions):
        raise InputError(f"row[{row}]", *NO_LINE_FEEDS)
    return {"captions": captions}


def _parse_aligned(line: str, row: int) -> Any:
    """Caption of a line, whose number is its id."""
    return {"id": row, "caption": line.strip()}


def _parse_aligned_run(lines: list[str], row: int) -> Any:
    """Captions of a run of lines, whose number is its id."""
    return {"id": row, **_parse_captions(lines, row)}


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
        starts = (is_empty for is_empty, _ in itertools.groupby(lines_of(stream), lambda line: not line.strip()))
        return list(itertools.islice(starts, 4)) in (
            [False, True, False],
            [False, True, False, True],
            [True, False] * 2,
        )


def _parse_named(line: str, row: int) -> Any:
    """Name and caption of a line."""
    cells = line.strip("\r\n").split("\t")
    if len(cells) != 2:
        got = f"{len(cells) - 1} tabs"
        raise InputError(f"row[{row}]", "a name, a tab and a caption", got, "Fix or delete this line.")
    return {"id": CAPTION_NUMBER.sub("", cells[0].strip()), "caption": cells[1].strip()}


def _clip_blocks(lines: Iterable[bytes], start: int) -> Iterator[Block]:
    """Lines from the first clip on."""
    blocks = line_blocks(lines, start)
    return blocks if start > 0 else itertools.dropwhile(lambda block: not CLIP_LINE.match(block.content), blocks)


def _parse_clip(line: str, row: int) -> Any:
    """Clip and caption of a line."""
    parts = CLIP_LINE.match(line.strip())
    if parts is None:
        expected = "a clip such as mv89psg6zh4_33_46, a blank and a caption"
        raise InputError(f"row[{row}]", expected, quote_value(line.strip()), "Fix or delete this line.")
    return {"id": parts[1], "caption": parts[2]}


def _fairseq(letter: str) -> Form:
    """How hypotheses of a letter, and targets, are read: the log, sources and scores of tokens are no captions."""
    pattern = re.compile(rf"([{letter}T])-(\d{{1,18}})(?=\s)(.*)", re.DOTALL)

    def blocks(lines: Iterable[bytes], start: int) -> Iterator[Block]:
        return (block for block in line_blocks(lines, start) if pattern.match(block.content))

    def parse(line: str, row: int) -> Any:
        kind, number, rest = pattern.findall(line.strip("\r\n"))[0]
        *_, text = cells = rest.split("\t", 1 if kind == "T" else 2)
        if len(cells) != (2 if kind == "T" else 3):
            expected = f"{kind}-{number}, a tab, {'' if kind == 'T' else 'a score, a tab '}and a caption"
            raise InputError(f"row[{row}]", expected, quote_value(line.strip()), "Fix or delete this line.")
        return {"id": number, "reference" if kind == "T" else "prediction": text.strip()}

    return Form(blocks, parse, has_sides=True)


def _parse_json(line: str, row: int) -> Any:
    """Value of a line of JSON."""
    try:
        value = JSON.decode(line)
    except RecursionError:
        raise _not_json(row, "brackets nested too deeply") from None
    except ValueError as error:  # also of a number of thousands of digits
        if has_returns_alone(line):
            raise InputError(f"row[{row}]", *NO_LINE_FEEDS) from None
        problem = error.msg if isinstance(error, json.JSONDecodeError) else reason_of(error)
        raise _not_json(row, problem) from None
    return as_values(value, row)


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


def _parse_cells(names: list[str], cells: list[str] | InputError, row: int) -> dict[str, str | None]:
    """Cells of a record, by column; an empty cell is no value."""
    if isinstance(cells, InputError):
        raise cells.within(f"row[{row}]")
    if len(cells) != len(names):
        fix = "Put a caption with separators into double quotes."
        raise InputError(f"row[{row}]", f"{len(names)} cells", len(cells), fix)
    return {name: cell or None for name, cell in zip(names, cells, strict=True)}


# Forms of files: of any content, and of well-known data sets and programs.
JSON_LINES = Form(line_blocks, _parse_json)
TABLES = {
    name: Form(functools.partial(cell_blocks, separator=separator), _parse_cells, has_names=True)
    for name, separator in SEPARATORS.items()
}
PLAIN = Form(run_blocks, _parse_captions)
ALIGNED = Form(functools.partial(line_blocks, with_empty=True), _parse_aligned)
ALIGNED_IN_RUNS = Form(run_blocks, _parse_aligned_run)
NAMED = Form(line_blocks, _parse_named)  # Flickr8k.token.txt
CLIPS = Form(_clip_blocks, _parse_clip)  # AllVideoDescriptions.txt of MSVD
FAIRSEQ = {letter: _fairseq(letter) for letter in "DH"}
