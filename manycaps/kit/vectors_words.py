"""Means of word vectors as embeddings of captions: the text files of GloVe and fastText.

Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518, compare captions by the mean of their words'
vectors (GloVe, Pennington et al. 2014, https://aclanthology.org/D14-1162; fastText, Bojanowski et al. 2017,
https://aclanthology.org/Q17-1010). A file has a word and its numbers in every line, separated by blanks; fastText's
begins with a line of two numbers.
"""

import collections
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats, Ints
from .errors import InputError, InputOSError, quote_path, quote_value, reason_of
from .files import is_regular_file, local_path, no_such_path, open_text_bytes
from .words_ptb import ptb_tokens

# How the option `encoder` names such a file: "vectors:glove.6B.300d.txt".
PREFIX = "vectors:"

# Bytes of text that are parsed at once, longest line, and largest share of lines that may be no word with its numbers:
# a few words of GloVe's largest file have blanks in them.
BLOCK_BYTES, LONGEST_LINE, MOST_ODD = 1 << 24, 1 << 20, 0.01

# Digits of a number of words.
LONGEST_NUMBER = 18


def is_word_vectors(encoder: object) -> bool:
    """Return whether the option `encoder` names a file of word vectors.

    >>> is_word_vectors("vectors:glove.6B.50d.txt"), is_word_vectors("sentence-transformers/all-MiniLM-L6-v2")
    (True, False)
    """
    return isinstance(encoder, str) and encoder.startswith(PREFIX)


class KnownPieces(NamedTuple):
    """What an encoder knows of a text: of its word pieces, or of its words where these have vectors."""

    n_pieces: int
    # Pieces that stand for anything that the encoder has not seen, or words without a vector.
    n_unknown: int
    # Whether it knows a piece with a letter or a digit.
    has_known: bool

    @property
    def is_unknown(self) -> bool:
        """Whether the text has pieces, and the encoder knows nothing that it says."""
        return self.n_unknown > 0 and not self.has_known


class WordVectors:
    """Vectors of words: float32, in blocks, as they were read."""

    def __init__(self, words: Sequence[str], blocks: Sequence[np.ndarray]):
        """Take the words, and their vectors in the same order: float32 arrays, shape (n_words of the block, d)."""
        self._blocks = blocks
        self._starts = np.cumsum([0, *map(len, blocks)])
        # Of a word that comes twice, the first vector.
        self._places = {word: place for place, word in reversed(list(enumerate(words)))}
        sums = [block.sum(axis=0, dtype=np.float64) for block in blocks]
        self.mean_of_all: Floats = np.sum(sums, axis=0) / self._starts[-1]

    def means(self, captions: Sequence[str]) -> Floats:
        """Return the mean vector of each caption's known words, a word as often as it occurs.

        The words are lower-case PTB tokens. A caption without a known word has the mean of all vectors of the file.

        Returns:
            float64 array, shape (n_captions, d).

        >>> WordVectors(["a", "dog"], [np.array([[1, 0], [0, 1]], np.float32)]).means(["A dog!", "cats"]).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        vectors = np.empty((len(captions), len(self.mean_of_all)))
        for vector, caption in zip(vectors, captions, strict=True):
            places = [self._places[token] for token in ptb_tokens(caption) if token in self._places]
            vector[:] = self._vectors(np.array(places)).mean(axis=0) if places else self.mean_of_all
        return vectors

    def _vectors(self, places: Ints) -> Floats:
        """The vectors of words: (n_words,) to (n_words, d)."""
        vectors = np.empty((len(places), len(self.mean_of_all)))
        block = np.searchsorted(self._starts, places, side="right") - 1
        for number in np.unique(block).tolist():
            is_own = block == number
            vectors[is_own] = self._blocks[number][places[is_own] - self._starts[number]]
        return vectors

    def known(self, captions: Iterable[str]) -> dict[str, "KnownPieces"]:
        """Count the words of every caption, and those that have no vector."""
        counts = {}
        for caption in captions:
            tokens = ptb_tokens(caption)
            n_unknown = sum(token not in self._places for token in tokens)
            counts[caption] = KnownPieces(len(tokens), n_unknown, n_unknown < len(tokens))
        return counts


def word_vectors_path(encoder: str) -> pathlib.Path:
    """Return the file that the option `encoder` names, or raise FileNotFoundError."""
    name = encoder.removeprefix(PREFIX)
    path = local_path(name)
    if not is_regular_file(path):
        raise InputOSError("encoder", "a file of word vectors", *no_such_path(name))
    return path


def read_word_vectors(path: str | os.PathLike[str]) -> WordVectors:
    """Read a text file of word vectors: `.txt` of GloVe, `.vec` of fastText, also with `.gz`.

    Memory: 4 bytes per number, and about 150 per word. Lines whose word has a blank are skipped: no token has one.

    Raises:
        ValueError: a line has fewer columns than the first, or more than 1% have more; a value is no finite number; the
            first line of fastText says another number of dimensions, or more words; or a `.gz` file is damaged or cut.
        OSError: the file cannot be read.
    """
    import pyarrow as pa
    from pyarrow import csv

    shown = quote_path(os.fspath(path))
    layout = _layout(path, shown)
    names = layout.columns
    n_columns = len(names) - names.count("end")
    n_odd: collections.Counter[str] = collections.Counter()

    def skip(row: Any) -> str:
        n_odd["lines"] += 1
        n_odd["short"] += row.actual_columns < n_columns
        return "skip"

    types = {name: pa.float32() for name in names} | {"word": pa.binary()}
    words: list[str] = []
    blocks: list[np.ndarray] = []
    try:
        with open_text_bytes(path, "encoder") as file, pa.PythonFile(file, mode="r") as stream:
            batches = csv.open_csv(
                stream,
                csv.ReadOptions(block_size=BLOCK_BYTES, column_names=names, skip_rows=int(layout.has_header)),
                csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, invalid_row_handler=skip),
                csv.ConvertOptions(column_types=types | {"end": pa.string()}, null_values=[]),
            )
            for batch in batches:
                words += [word.decode("utf-8", "replace") for word in batch.column(0).to_pylist()]
                numbers = [batch.column(name).to_numpy() for name in names if name not in ("word", "end")]
                blocks.append(np.ascontiguousarray(np.stack(numbers, axis=1)))
    except pa.ArrowInvalid as error:
        raise _file_error(f"a word and its numbers in every line of {shown}", reason_of(error)) from error
    n_lines = len(words) + n_odd["lines"]
    if n_odd["lines"] > MOST_ODD * n_lines or n_odd["short"]:
        got = f"another number in {n_odd['lines']:,} of {n_lines:,}"
        raise _file_error(f"{n_columns} columns in every line of {shown} as in the first", got)
    if n_lines < layout.n_words:
        raise _file_error(f"{layout.n_words:,} words in {shown}, as its first line says", f"{n_lines:,}")
    if not all(np.isfinite(block).all() for block in blocks):
        raise _file_error(f"finite numbers in {shown}", "NaN or infinity")
    return WordVectors(words, blocks)


def _file_error(expected: str, got: object) -> InputError:
    return InputError("encoder", expected, got, "Download the file again, or give a text file of GloVe or fastText.")


class _Layout(NamedTuple):
    """How a file of word vectors is written."""

    # Whether a line comes before the first word; the number of words that it gives, 0 where there is none.
    has_header: bool
    n_words: int
    # Names of the columns; fastText ends its lines with a blank.
    columns: list[str]


def _layout(path: str | os.PathLike[str], shown: str) -> _Layout:
    """Read the layout from the first two lines, and raise where the first says another one than the second."""
    with open_text_bytes(path, "encoder") as file:
        lines = [file.readline(LONGEST_LINE).rstrip(b"\r\n") for _ in range(2)]
    parts = lines[0].split()
    has_header = len(parts) == 2 and all(part.isdigit() and len(part) < LONGEST_NUMBER for part in parts)
    columns = lines[has_header].split(b" ")
    n_numbers = len(columns) - 1 - (columns[-1] == b"")
    if n_numbers < 1:
        raise _file_error(f"a word and its numbers in every line of {shown}", quote_value(lines[has_header]))
    n_words, n_dimensions = map(int, parts) if has_header else (0, n_numbers)
    if n_dimensions != n_numbers:
        raise _file_error(
            f"{n_dimensions:,} numbers for each word of {shown}, as its first line says", f"{n_numbers:,}"
        )
    names = ["word", *map(str, range(n_numbers)), *(["end"] if columns[-1] == b"" else [])]
    return _Layout(has_header, n_words, names)
