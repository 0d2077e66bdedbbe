"""Rows of captions, tokens and numbers: columns as plain lists, checks that name the first bad row, and warnings."""

import ast
import collections
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from .arrays import CaptionRows, Floats, TokenList, TokenRows, _kind, as_finite, as_list
from .errors import InputError, InputTypeError, check_n_rows, check_places, quote_value
from .options import check_whole_number

# Raises unless rows can be used; takes the sizes of each row, and the names of the columns that these are of.
RowCheck = Callable[[Sequence[tuple[int, ...]], tuple[str, ...]], None]

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
        raise InputTypeError(column, "a list of rows, each a list of captions", _kind(rows), "Give one list per row.")
    listed = as_list(rows, column, "a list of rows, each a list of captions")
    if not listed:
        raise InputError(column, "at least one row", "none", "Add rows before computing.")
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
    if not _has_list_sign(text):
        return False
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


def _has_list_sign(text: str) -> bool:
    """Return whether a text has a sign of which a list that became text has one at least."""
    return "[" in text or "(" in text or "{" in text or "\n" in text


def check_no_written_list(text: str, where: str) -> None:
    """Raise if a text is a list that became text, as in a column that went through CSV, and say how to turn it back."""
    if not looks_like_list(text):
        return
    raise InputError(where, "a caption", f"a list that became text, {quote_value(text)}", _way_back(text))


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
        got = f"a table ({type(values).__name__}) with the columns {quote_value([str(name) for name in names])}"
        raise InputTypeError(column, expected, got, "Give one column of it, for example table['captions'].")


def as_rows(values: npt.ArrayLike, name: str) -> Floats:
    """Convert values to float64, shape (n_rows, n_texts, anything), all finite."""
    array = as_finite(values, name)
    if array.ndim != 3 or not array.size:
        raise InputError(
            name, "an array of 3 dimensions, rows first", f"shape {array.shape}", "Write array[None] for one row."
        )
    return array


def as_pairs(values: npt.ArrayLike, name: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Convert values of all pairs of a row to float64, shape (n_rows, n, n), and say which rows are not symmetric."""
    rows = as_rows(values, name)
    if rows.shape[1] != rows.shape[2]:
        raise InputError(name, "shape (n_rows, n, n)", rows.shape, "Give a value for every pair of texts.")
    differences = np.abs(rows - rows.swapaxes(1, 2)).max(axis=(1, 2))
    return rows, differences > 1e-9 * np.abs(rows).max(axis=(1, 2))


# What an array of distances of all pairs holds.
DISTANCES = "symmetric distances of at least 0 with zeros on the diagonal"


def check_symmetric(name: str, wrong: npt.NDArray[np.bool_], expected: str = "symmetric values") -> None:
    """Raise at the first row whose values of pairs are wrong, as the row is not symmetric or has no distances."""
    check_places(np.flatnonzero(wrong).tolist(), name, expected, "others", "Give the mean of both directions.")


def joint_vectors(candidates: npt.ArrayLike, references: npt.ArrayLike, least: int) -> tuple[Floats, int]:
    """Join both sets of every row in one float64 array, candidates first, and count the candidates of a row.

    Each set has at least `least` vectors.
    """
    sides = [as_rows(candidates, "candidates"), as_rows(references, "references")]
    for name, side in zip(("candidates", "references"), sides, strict=True):
        if side.shape[1] < least:
            raise InputError(name, f"at least {least} vectors in every row", side.shape[1], "Add more.")
    (n_rows, _, d), shape = sides[0].shape, sides[1].shape
    if (n_rows, d) != (shape[0], shape[2]):
        raise InputError(
            "references", f"shape ({n_rows}, n, {d}), as candidates", shape, "Use the same rows and one encoder."
        )
    return np.concatenate(sides, axis=1), sides[0].shape[1]


def check_candidates(n_candidates: int, n_texts: int, least: int) -> None:
    """Raise unless both sets have at least `least` texts."""
    check_whole_number("n_candidates", n_candidates, least)
    if n_candidates > n_texts - least:
        expected = f"at most {n_texts - least} of {n_texts} texts"
        raise InputError("n_candidates", expected, n_candidates, "The others are references.")


def as_token_rows(rows: Iterable[Any], name: str) -> list[list[TokenList]]:
    """Return rows of one or more token lists as lists, also of Arrow columns; raise for the first that is not one."""
    listed = as_list(rows, name, "rows of lists of tokens")
    for i, row in enumerate(listed):
        listed[i] = [] if isinstance(row, str) else as_list(row, f"{name}[{i}]", "lists of tokens")
        if not listed[i]:
            raise InputError(f"{name}[{i}]", "one or more lists of tokens", f"{row!r:.80}", "Leave this row out.")
        for j, text in enumerate(listed[i]):
            is_list = hasattr(text, "__len__") and not isinstance(text, str | Set | Mapping)
            if not is_list or (not {*map(type, text)} <= {str} and not all(isinstance(token, str) for token in text)):
                got = quote_value(text) if is_list else type(text).__name__
                raise InputTypeError(f"{name}[{i}][{j}]", "a list of tokens", got, "Call ptb_tokenize first.")
    return listed


def as_both_rows(candidates: TokenRows, references: TokenRows) -> tuple[list[list[TokenList]], list[list[TokenList]]]:
    """Return the rows of both columns as lists, also of Arrow columns; raise for the first that is wrong."""
    both = as_token_rows(candidates, "candidates"), as_token_rows(references, "references")
    check_n_rows("references", len(both[1]), "candidates", len(both[0]))
    warn_of_decoder_signs(*both, "candidates")
    return both


def check_row_counts(n_predictions: int, n_references: int) -> None:
    """Raise unless both columns have the same number of rows."""
    check_n_rows("references", n_references, "predictions", n_predictions)


def has_references(references: CaptionRows) -> bool:
    """Return whether rows have references; raise where only some of them have.

    >>> has_references([["a dog"]]), has_references([[], []])
    (True, False)
    """
    without = [i for i, row in enumerate(references) if not row]
    if without and len(without) < len(references):
        got = f"none ({len(without)} of {len(references)} such rows)"
        raise InputError(
            f"references[{without[0]}]", "references in every row, or in none", got, "Add them, or drop all."
        )
    return not without


def _as_captions(row: object, where: str, are_strings: bool, sampled: bool) -> list[str]:
    """One row as a list of valid strings; all rows are strings if the first one is."""
    plain = [row] if are_strings else row
    if is_plain_row(plain):
        return list(plain)
    if isinstance(row, str) and not are_strings:
        check_no_written_list(row, where)
        raise InputTypeError(where, "a list of captions as in row 0", "a string", f"Wrap it in a list: [{row[:40]!r}].")
    if are_strings:
        if isinstance(row, Iterable) and not isinstance(row, NOT_ROWS):
            raise InputTypeError(
                where, "a caption (a string) as in row 0", _kind(row), "Give all rows as lists, or as strings."
            )
        row = [row]
    if isinstance(row, NOT_ROWS) or not isinstance(row, Iterable):
        raise InputTypeError(
            where, "a list of captions", _kind(row), "Give a list of strings, or leave the row out of every column."
        )
    if not isinstance(row, list | tuple):
        check_no_table(row, where, "a list of captions")
    captions = as_list(row, where, "a list of captions")
    if not captions:
        raise InputError(where, "at least one caption", "an empty list", "Leave the row out of both columns.")
    for j, caption in enumerate(captions):
        caption_where = where if are_strings else f"{where}[{j}]"
        check_caption(caption, caption_where)
        if not sampled:
            check_no_written_list(caption, caption_where)
        captions[j] = str.__str__(caption)  # of a subclass, as NumPy's strings are, its text
    return captions


def is_plain_row(row: object) -> TypeGuard[list[str]]:
    """Return whether one look shows that a row is right: a list of short strings of ASCII with no sign of a list.

    Other rows may be right, too: `as_caption_rows` looks at each caption.

    >>> is_plain_row(["a dog", "a cat"]), is_plain_row(["a dog (wet)"])
    (True, False)
    """
    if type(row) is not list or set(map(type, row)) != {str}:
        return False
    text = "".join(row)
    return text.isascii() and len(text) <= LONGEST_CAPTION and not _has_list_sign(text)


def check_caption(caption: object, where: str) -> None:
    """Raise unless a caption is a string of a sensible length in valid Unicode."""
    if not isinstance(caption, str):
        has_parts = isinstance(caption, Iterable) and not isinstance(caption, bytes | bytearray | memoryview)
        fix = "Give the text of a record, join tokens, or take one level of lists away." if has_parts else ""
        raise InputTypeError(where, "a caption (a string)", _kind(caption), fix or "Decode or drop this caption.")
    if len(caption) > LONGEST_CAPTION:
        raise InputError(
            where, f"at most {LONGEST_CAPTION:,} characters", f"{len(caption):,}", "Drop it or shorten it."
        )
    if not caption.isascii():
        _check_unicode(caption, where)


def _check_unicode(caption: str, where: str) -> None:
    """Raise if a caption has half a surrogate pair, which no file and no Arrow column can hold."""
    try:
        caption.encode("utf-8")
    except UnicodeEncodeError as error:
        got = f"the lone surrogate {caption[error.start]!a} at character {error.start}"
        raise InputError(where, "valid Unicode", got, "Decode the text again with errors='replace'.") from None


def has_character(text: str) -> bool:
    r"""Return whether a text has more than blanks, control characters and characters without a width.

    >>> [has_character(text) for text in (".", "\u200b", "\ufeff \n")]
    [True, False, False]
    """
    # Most texts begin with a letter.
    return text[:1].isalnum() or any(letter > " " and unicodedata.category(letter) not in _INVISIBLE for letter in text)


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


# What a decoder leaves in a text, as texts and as tokens of tokenizers have it: ends and padding, thoughts before an
# answer, and pieces of words.
_MARKUP = r"pad|eos|bos|unk|mask|sep|cls|image|(?:start|end)(?:_?seq|_of_[a-z]+)?|extra_id_\d+|0x[0-9a-f]{2}"

_THOUGHTS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"

_SIGNS_AND_REMEDIES = {
    rf"</?(?:{_THOUGHTS})>|◁/?think▷|\[/?THINK\]": "Leave out what the model thinks before it answers, up to </think>.",
    rf"<[|｜][^\s<>|｜]{{1,40}}[|｜]>|</?s>|</?(?:{_MARKUP})>|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS|/?INST)\]"
    r"|\b(?:startseq|endseq)\b": "Decode with skip_special_tokens=True.",
    r"(?<!\S)\x23{2}(?=\w)|▁|(?<!\S)Ġ(?=\w)|(?<=\w)@@(?!\S)": "Join the pieces of words by their tokenizer.",
}

_DECODER_SIGN = re.compile("|".join(f"({pattern})" for pattern in _SIGNS_AND_REMEDIES), re.IGNORECASE)

# Each sign has one of these, and few other texts have.
_HINTS_OF_SIGNS = ("<", "[", "-lsb-", "\x23\x23", "▁", "Ġ", "ġ", "@@", "◁", "seq")

# What tokenizers make of parts of a sign.
_SPLIT_SIGNS = (
    ("-lsb- ", "["),
    (" -rsb-", "]"),
    ("< | ", "<|"),
    (" | >", "|>"),
    ("< ", "<"),
    (" >", ">"),
    ("\x23\x23 ", "\x23\x23"),
)


class DecoderSigns:
    """Counts candidates that hold signs of a decoder, which score lower by them, and references that hold any.

    >>> counted = DecoderSigns()
    >>> counted.add(["a dog</s>", "a cat </s>"], ["a dog"])
    >>> str(counted)
    "2 of 2 captions hold signs of a decoder, such as '</s>', and no reference does"
    """

    def __init__(self) -> None:
        self.n_captions = self.n_signed = self.n_signed_references = 0
        # How many candidates hold each sign, and its place in `_SIGNS_AND_REMEDIES`.
        self.signs: collections.Counter[str] = collections.Counter()
        self.kinds: dict[str, int] = {}

    def add(
        self,
        candidates: Iterable[str | TokenList],
        references: Iterable[str | TokenList] = (),
        *,
        are_tokens: bool = False,
    ) -> None:
        """Count texts of a row, or token lists; strings may be tokens joined by blanks."""
        own = list(candidates)
        found = _decoder_signs(own, are_tokens=are_tokens)
        self.n_captions += len(own)
        self.n_signed += len(found)
        for kinds in found:
            self.signs.update(kinds.keys())
            self.kinds |= kinds
        self.n_signed_references += len(_decoder_signs(list(references), are_tokens=are_tokens))

    def counts(self) -> dict[str, Any]:
        """Return the numbers, as `include` takes them."""
        return dict(vars(self))

    def include(
        self,
        n_captions: int = 0,
        n_signed: int = 0,
        n_signed_references: int = 0,
        signs: Mapping[str, int] | None = None,
        kinds: Mapping[str, int] | None = None,
    ) -> None:
        """Add the numbers of other rows."""
        self.n_captions += n_captions
        self.n_signed += n_signed
        self.n_signed_references += n_signed_references
        self.signs.update(signs or {})
        self.kinds |= kinds or {}

    def __str__(self) -> str:
        first = min(self.signs, key=lambda sign: (-self.signs[sign], sign), default="")
        hold = "holds" if self.n_captions == 1 else "hold"
        return (
            f"{self.n_signed:,} of {self.n_captions:,} captions {hold} signs of a decoder, such as {first!r}, and no "
            "reference does"
        )

    def words(self, column: str = "predictions") -> str | None:
        """Return the warning where most candidates and no reference hold such signs, else None."""
        if 2 * self.n_signed <= self.n_captions or self.n_signed_references:
            return None
        remedies = list(_SIGNS_AND_REMEDIES.values())
        advice = " ".join(remedies[kind] for kind in sorted(set(self.kinds.values())))
        return f"{column}: {self}. They count as words. {advice}"

    def warn(self, column: str = "predictions", stacklevel: int = 3) -> None:
        """Warn where most candidates and no reference hold such signs."""
        if (words := self.words(column)) is not None:
            warnings.warn(words, stacklevel=stacklevel)


def _decoder_signs(texts: Sequence[str | TokenList], *, are_tokens: bool = False) -> list[dict[str, int]]:
    """Signs of each text that has any, with their places in `_SIGNS_AND_REMEDIES`."""
    joined = [text if isinstance(text, str) else " ".join(text) for text in texts]
    together = "\n".join(joined)
    hints = [hint for hint in _HINTS_OF_SIGNS if hint in together]
    found = []
    for text, given in zip(joined, texts, strict=True) if hints else ():
        if not any(hint in text for hint in hints):
            continue
        for split, whole in _SPLIT_SIGNS if are_tokens or not isinstance(given, str) else ():
            text = text.replace(split, whole)
        if signs := {match[0]: (match.lastindex or 1) - 1 for match in _DECODER_SIGN.finditer(text)}:
            found.append(signs)
    return found


def warn_of_decoder_signs(
    candidates: Iterable[Iterable[Any]], references: Iterable[Iterable[Any]] = (), column: str = "predictions"
) -> None:
    """Warn once where most candidates and no reference hold signs of a decoder; rows of texts or of token lists."""
    counted = DecoderSigns()
    for row in candidates:
        counted.add(row)
    if counted.n_signed:
        for row in references:
            counted.add((), row)
        counted.warn(column, stacklevel=4)


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


def warn_of_unread(result: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Warn where a result with these options counts texts that were not read to their end, or in unknown words."""
    if result.get("n_truncated"):
        warnings.warn(words_of_unread(options), stacklevel=3)
    if (words := words_of_unknown(result)) is not None:
        warnings.warn(words, stacklevel=3)


# Share of unknown word pieces, or words, above which a result says more of the encoder than of the texts.
MOST_UNKNOWN = 0.03


def words_of_unknown(result: Mapping[str, Any]) -> str | None:
    """Say that the encoder does not know more than a few per cent of what the texts consist of; None where it does.

    >>> words_of_unknown({"n_pieces": 100, "n_unknown_pieces": 3}) is None
    True
    """
    remedies = {
        "pieces": "an encoder of their language, such as encoder='sentence-transformers/paraphrase-multilingual-"
        "MiniLM-L12-v2'",
        "words": "vectors of their language, of words in lower case",
    }
    for unit, remedy in remedies.items():
        n_all, n_unknown = result.get(f"n_{unit}", 0), result.get(f"n_unknown_{unit}", 0)
        if n_unknown > MOST_UNKNOWN * n_all:
            got = f"{n_unknown:,} of {n_all:,} {'word pieces' if unit == 'pieces' else unit} unknown"
            return (
                f"encoder: expected texts whose words the encoder knows, got {got} ({n_unknown / n_all:.0%}): texts "
                f"that differ in these count as equal. Give {remedy}."
            )
    return None


def words_of_unread(options: Mapping[str, Any]) -> str:
    """Say that texts were not read to their end with these options of a sentence encoder or of a CLIP."""
    is_sentence_encoder = "long_texts" in options and options["encoder"] != "clip"
    option = "long_texts" if is_sentence_encoder else "long_captions"
    return f"{option}: {UNREAD[options[option]].format(option=option)}"


def n_sharing_rows(columns: Sequence[Sequence[Sequence[str]]]) -> int:
    """Count the rows that have the captions of an earlier row in all columns; one alone may be a frequent sentence.

    >>> n_sharing_rows([[["a"], ["a"], ["a"]], [["d"], ["d"], ["e"]]])
    1
    """
    rows = [tuple(map(tuple, row)) for row in zip(*columns, strict=True)]
    return len(rows) - len(set(rows))


# Attributes of evaluate that a copy cannot hold and does not need: methods bound to the original, and locks on files.
NOT_COPIED = frozenset({"compute", "add_batch", "add", "filelocks", "file_paths", "rendez_vous_lock", "lock"})

# What `add` calls one row of a column.
ROW_NAMES = {"prediction": "predictions", "reference": "references", "image": "images", "video": "videos"}

# The columns of modules that compare captions.
CAPTIONS: dict[str, str] = {
    "predictions": "n_rows lists of candidate captions, or n_rows strings: one caption per row.",
    "references": "n_rows lists of reference captions, or n_rows strings: one caption per row.",
}

# What a warning says of texts that were not read to their end, by the treatment.
UNREAD = {
    "truncate": (
        "expected texts that the encoder reads to their end, got longer ones; n_truncated in the result says how many. "
        "Give {option}='window' to read them in windows of whole sentences."
    ),
    "window": (
        "expected sentences that the encoder reads to their end, got longer ones; n_truncated in the result says in "
        "how many texts. Put full stops or line breaks into them."
    ),
}

# What an encoder does with a text that has more tokens than it reads.
LONG_TEXTS = tuple(UNREAD)
