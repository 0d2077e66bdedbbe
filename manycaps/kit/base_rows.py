"""Columns as plain lists, tensors as arrays, and checks of captions: each error names column, row and item."""

import ast
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .base_messages import shown_value

# Longest caption in characters: about 4,000 words. The time and the memory of METEOR grow with the square of the words.
LONGEST_CAPTION = 20_000

# Iterables that are refused as lists: text, mappings, and sets, whose order changes from run to run.
NOT_ROWS = (str, bytes, bytearray, memoryview, Mapping, set, frozenset)

# Blanks, control characters, and what has no width, by their categories in Unicode.
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})

QUOTES = ("'", '"')

# A string in a list that became text: as Python, JSON and NumPy write it, no letter behind it.
_ITEM = r"""(?:np\.str_\(|[bru])?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""

# What else stands between its brackets. Alternatives begin with different letters, so that no text takes long.
_BETWEEN = r"[\s,:\[\](){}\d.+-]|None|nan|NaN|null|[Tt]rue|[Ff]alse|dtype=(?:object)?"

# All of a list, tuple, set, mapping or array that became text; and the end of what pandas prints of a column.
_WRITTEN_LIST = re.compile(rf"(?:\w+\()?[\[({{](?:{_ITEM}|{_BETWEEN})*[\])}}]", re.DOTALL)
_PRINTED_COLUMN = re.compile(r"\n(?:Name: .*, )?(?:Length: \d+, )?dtype: [\w\[\]]+$")
_QUOTE_AND_COMMA = re.compile(r"""['"]\s*,""")


def as_caption_rows(rows: object, column: str, *, sampled: bool = False) -> list[list[str]]:
    """Return a column of caption lists as plain lists, order and captions unchanged, or name the first bad row.

    `rows` are n_rows rows, each a sequence of strings, or each a string: one caption. Lists, tuples, arrays and
    `datasets` columns are all right. Of `sampled` captions, which training rewards, each may look as it likes, but not
    all of them like lists.

    Raises:
        TypeError: the column, a row or a caption has the wrong type; some rows are strings and others are not.
        ValueError: no rows; a row without captions; a caption that is too long, not valid Unicode, or a list that
            became text.

    >>> as_caption_rows([("a dog", "two dogs"), ["a cat"]], "predictions"), as_caption_rows(["a dog"], "references")
    ([['a dog', 'two dogs'], ['a cat']], [['a dog']])
    """
    check_no_table(rows, column, "a list of rows, each a list of captions")
    if rows is None or isinstance(rows, NOT_ROWS) or not isinstance(rows, Iterable):
        raise TypeError(
            f"{column}: expected a list of rows, each a list of captions, got {_kind(rows)}. Give one list per row."
        )
    listed = as_list(rows, column, "a list of rows, each a list of captions")
    if not listed:
        raise ValueError(f"{column}: expected at least one row, got none. Add rows before computing.")
    are_strings = isinstance(listed[0], str)
    checked = [_as_captions(row, f"{column}[{i}]", are_strings, sampled) for i, row in enumerate(listed)]
    if sampled and all(looks_like_list(caption) for row in checked for caption in row):
        check_no_written_list(checked[0][0], f"{column}[0]")
    return checked


def looks_like_list(text: str) -> bool:
    """Return whether a text is a list that became text: as Python, JSON, NumPy or pandas writes it, or its beginning.

    >>> [looks_like_list(text) for text in ("['a dog', 'a cat']", "['a dog' 'a cat']", '{"caption": "a dog"}')]
    [True, True, True]
    >>> [looks_like_list(text) for text in ("[laughs] a man", "(a dog) runs", "['Stop'] on a sign", "[inaudible]")]
    [False, False, False, False]
    """
    text = text.strip()
    if "\n" in text and _PRINTED_COLUMN.search(text):
        return True
    if _WRITTEN_LIST.fullmatch(text):
        has_quote, has_comma = "'" in text or '"' in text, _QUOTE_AND_COMMA.search(text) is not None
        return has_comma or (has_quote and text[0] != "(") or (text[0] == "[" and not text[1:-1].strip())
    # Without its end, or with a quote in a quote.
    inner = text[1:].strip()
    listed = inner.removesuffix("]").rstrip()
    if text[:1] != "[" or not listed.startswith(QUOTES) or "[" in listed or "]" in listed:
        return False
    return _QUOTE_AND_COMMA.search(listed) is not None or (inner != listed and listed[1:].endswith(QUOTES))


def check_no_written_list(text: str, where: str) -> None:
    """Raise if a text is a list that became text, as in a column that went through CSV, and say how to turn it back."""
    if not looks_like_list(text):
        return
    raise ValueError(
        f"{where}: expected a caption, got a list that became text, {shown_value(text)}. {_way_back(text)}"
    )


def _way_back(text: str) -> str:
    """How a list that became text turns into a list again."""
    for name, read in (("json.loads", json.loads), ("ast.literal_eval", ast.literal_eval)):
        try:
            is_read = not isinstance(read(text.strip()), str)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if is_read and not re.search(r"""['"]\s+(?:[bru]?['"])""", text):
            return f"Turn every text of the column back into a list: {name}(text)."
    return (
        "Save lists, array.tolist(), not their print: json.loads and ast.literal_eval cannot read this one, or would "
        "join captions without commas into one."
    )


def check_no_table(values: object, column: str, expected: str) -> None:
    """Raise if a whole table is given as a column or a row: iterating over it yields column names or dicts."""
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is not None:
        raise TypeError(
            f"{column}: expected {expected}, got a table ({type(values).__name__}) with the columns "
            f"{shown_value([str(name) for name in names])}. Give one column of it, for example table['captions']."
        )


def as_list(values: Iterable[Any], where: str, expected: str) -> list[Any]:
    """Return the values as a list: Python's own values of an Arrow array, none of an array without dimensions.

    Raises TypeError where there is nothing to iterate over, although the type says so.
    """
    try:
        return values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    except TypeError as error:
        raise TypeError(f"{where}: expected {expected}, got {_kind(values)}. Give a list.") from error


def without_torch(values: Any) -> Any:
    """Return a tensor of torch, or a list of them, as NumPy takes it: no gradients, no bfloat16, not on a GPU."""
    if isinstance(values, list | tuple) and values and hasattr(values[0], "detach"):
        return [without_torch(value) for value in values]
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def check_row_counts(n_predictions: int, n_references: int) -> None:
    """Raise unless both columns have the same number of rows."""
    if n_predictions != n_references:
        raise ValueError(
            f"references: expected one row for each of the {n_predictions} rows of predictions, got {n_references}. "
            "Row i of both columns belongs to one image or video."
        )


def _as_captions(row: object, where: str, are_strings: bool, sampled: bool) -> list[str]:
    """One row as a list of valid strings; all rows are strings if the first one is."""
    if isinstance(row, str) and not are_strings:
        check_no_written_list(row, where)
        raise TypeError(
            f"{where}: expected a list of captions as in row 0, got a string. Wrap it in a list: [{row[:40]!r}]."
        )
    if are_strings:
        if not isinstance(row, str):
            raise TypeError(
                f"{where}: expected a caption (a string) as in row 0, got {_kind(row)}. Give a list in every row, or a "
                "string in every row."
            )
        row = [row]
    if isinstance(row, NOT_ROWS) or not isinstance(row, Iterable):
        raise TypeError(f"{where}: expected a list of captions, got {_kind(row)}. Give this row as a list of strings.")
    if not isinstance(row, list | tuple):
        check_no_table(row, where, "a list of captions")
    captions = as_list(row, where, "a list of captions")
    if not captions:
        raise ValueError(
            f"{where}: expected at least one caption, got an empty list. Leave the row out of both columns."
        )
    for j, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise TypeError(
                f"{where}[{j}]: expected a caption (a string), got {_kind(caption)}. Decode or drop this caption."
            )
        if len(caption) > LONGEST_CAPTION:
            raise ValueError(
                f"{where}[{j}]: expected at most {LONGEST_CAPTION:,} characters, got {len(caption):,}. Drop it or "
                "truncate it."
            )
        if not caption.isascii():
            _check_unicode(caption, f"{where}[{j}]")
        if not sampled:
            check_no_written_list(caption, where if are_strings else f"{where}[{j}]")
        captions[j] = str.__str__(caption)  # of a subclass, as NumPy's strings are, its text
    return captions


def _check_unicode(caption: str, where: str) -> None:
    """Raise if a caption has half a surrogate pair, which no file and no Arrow column can hold."""
    try:
        caption.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where}: expected valid Unicode, got the lone surrogate {caption[error.start]!a} at character "
            f"{error.start}. Decode the text again with errors='replace'."
        ) from None


def _kind(value: object) -> str:
    """Name a wrong value for a message, without printing all of it."""
    return "None" if value is None else f"{type(value).__name__} ({shown_value(value)})"


def has_character(text: str) -> bool:
    r"""Return whether a text has more than blanks, control characters and characters without a width.

    >>> [has_character(text) for text in (".", "\u200b", "\ufeff \n")]
    [True, False, False]
    """
    return any(letter > " " and unicodedata.category(letter) not in _INVISIBLE for letter in text)


class EmptyCaptions:
    """Counts captions of which `has_token` finds nothing that is read.

    >>> counted = EmptyCaptions(str.isalpha)
    >>> counted.add(["dog", " "])
    >>> counted.add(["..."])
    >>> str(counted)
    '2 of 3 captions are empty, in 2 rows (1 of them has characters, but no token)'
    """

    def __init__(self, has_token: Callable[[str], bool] = has_character) -> None:
        self._has_token = has_token
        self.n_captions = self.n_empty = self.n_tokenless = self.n_rows = 0

    def add(self, captions: Sequence[str], n_missing: int = 0) -> None:
        """Count the captions of a row, and cells of the row that have none."""
        empty = [caption for caption in captions if not self._has_token(caption)]
        n_empty = n_missing + len(empty)
        self.n_captions += n_missing + len(captions)
        self.n_empty += n_empty
        self.n_tokenless += sum(map(has_character, empty))
        self.n_rows += n_empty > 0

    def counts(self) -> dict[str, int]:
        """Return the numbers of captions, of empty ones, and of rows that have any, as `include` takes them."""
        return {name: number for name, number in vars(self).items() if name.startswith("n_")}

    def include(self, n_captions: int = 0, n_empty: int = 0, n_tokenless: int = 0, n_rows: int = 0) -> None:
        """Add the counts of other rows."""
        self.n_captions += n_captions
        self.n_empty += n_empty
        self.n_tokenless += n_tokenless
        self.n_rows += n_rows

    def __str__(self) -> str:
        are, rows = "is" if self.n_empty == 1 else "are", "row" if self.n_rows == 1 else "rows"
        have = "has" if self.n_tokenless == 1 else "have"
        why = f" ({self.n_tokenless:,} of them {have} characters, but no token)" if self.n_tokenless else ""
        return f"{self.n_empty:,} of {self.n_captions:,} captions {are} empty, in {self.n_rows:,} {rows}{why}"


def warn_of_empty_captions(rows: Iterable[object], column: str, has_token: Callable[[str], bool]) -> None:
    """Warn where captions of a column are empty; rows that are no captions do not count."""
    counted = EmptyCaptions(has_token)
    for row in rows:
        if isinstance(row, list) and row and all(isinstance(caption, str) for caption in row):
            counted.add(row)
    if counted.n_empty:
        warnings.warn(f"{column}: {counted}.", stacklevel=2)


def warn_of_shared_captions(columns: Sequence[Sequence[Sequence[str]]]) -> None:
    """Warn where rows, candidates and references, are equal to an earlier row, and would be taken for independent."""
    n_rows, n_shared = len(columns[0]), n_sharing_rows(columns)
    if n_shared:
        warnings.warn(
            f"predictions, references: {n_shared} of {n_rows} rows have the candidates and references of an earlier "
            "row, but p-values and intervals assume independent rows. Give clusters=[...], one label per row: equal "
            "ones for rows of one image.",
            stacklevel=2,
        )


def n_sharing_rows(columns: Sequence[Sequence[Sequence[str]]]) -> int:
    """Count the rows that have the captions of an earlier row in all columns; one alone may be a frequent sentence.

    >>> n_sharing_rows([[["a"], ["a"], ["a"]], [["d"], ["d"], ["e"]]])
    1
    """
    rows = [tuple(map(tuple, row)) for row in zip(*columns, strict=True)]
    return len(rows) - len(set(rows))
