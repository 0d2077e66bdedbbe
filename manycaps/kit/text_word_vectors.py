"""Means of word vectors as embeddings of captions: the text files of GloVe and fastText.

Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518, compare captions by the mean of their words' vectors
(GloVe, Pennington et al. 2014, https://aclanthology.org/D14-1162; fastText, Bojanowski et al. 2017,
https://aclanthology.org/Q17-1010). A file has a word and its numbers in every line, separated by blanks; fastText's
begins with a line of two numbers.
"""

import collections
import gzip
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .base_files import is_regular_file, local_path, no_such_path
from .base_messages import reason_of, shown_path, shown_value
from .base_types import Floats
from .text_ptb_tokenizer import tokenize

# How the option `encoder` names such a file: "vectors:glove.6B.300d.txt".
PREFIX = "vectors:"

# Bytes of text that are parsed at once, longest line, and largest share of lines that may be no word with its numbers:
# a few words of GloVe's largest file have blanks in them.
BLOCK_BYTES, LONGEST_LINE, MOST_ODD = 1 << 24, 1 << 20, 0.01


def is_word_vectors(encoder: object) -> bool:
    """Return whether the option `encoder` names a file of word vectors.

    >>> is_word_vectors("vectors:glove.6B.50d.txt"), is_word_vectors("sentence-transformers/all-MiniLM-L6-v2")
    (True, False)
    """
    return isinstance(encoder, str) and encoder.startswith(PREFIX)


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
            places = [self._places[token] for token in tokenize(caption) if token in self._places]
            vector[:] = np.mean([self._vector(place) for place in places], axis=0) if places else self.mean_of_all
        return vectors

    def _vector(self, place: int) -> Floats:
        block = int(np.searchsorted(self._starts, place, side="right")) - 1
        return self._blocks[block][place - self._starts[block]].astype(np.float64)

    def n_unknown(self, captions: Iterable[str]) -> int:
        """Count the words of captions that have no vector."""
        counts = collections.Counter(captions)
        return sum(n * sum(token not in self._places for token in tokenize(caption)) for caption, n in counts.items())


def word_vectors_path(encoder: str) -> pathlib.Path:
    """Return the file that the option `encoder` names, or raise FileNotFoundError."""
    name = encoder.removeprefix(PREFIX)
    path = local_path(name)
    if not is_regular_file(path):
        raise FileNotFoundError(f"encoder: expected a file of word vectors, got {no_such_path(name)}")
    return path


def read_word_vectors(path: str | os.PathLike[str]) -> WordVectors:
    """Read a text file of word vectors: `.txt` of GloVe, `.vec` of fastText, also with `.gz`.

    Memory: 4 bytes per number, and about 150 per word. Lines whose word has a blank are skipped: no token has one.

    Raises:
        ValueError: a line has another number of columns than the first, for more than 1 % of them; a number is none or
            not finite.
        OSError: the file cannot be read.
    """
    import pyarrow as pa
    from pyarrow import csv

    shown = shown_path(os.fspath(path))
    n_skipped, names = _layout(path, shown)
    n_columns = len(names) - names.count("end")
    n_odd: collections.Counter[str] = collections.Counter()

    def skip(_: Any) -> str:
        n_odd["lines"] += 1
        return "skip"

    types = {name: pa.float32() for name in names} | {"word": pa.binary()}
    words: list[str] = []
    blocks: list[np.ndarray] = []
    try:
        with pa.input_stream(os.fspath(path), compression="detect", buffer_size=BLOCK_BYTES) as stream:
            batches = csv.open_csv(
                stream,
                csv.ReadOptions(block_size=BLOCK_BYTES, column_names=names, skip_rows=n_skipped),
                csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, invalid_row_handler=skip),
                csv.ConvertOptions(column_types=types | {"end": pa.string()}, null_values=[]),
            )
            for batch in batches:
                words += [word.decode("utf-8", "replace") for word in batch.column(0).to_pylist()]
                numbers = [batch.column(name).to_numpy() for name in names if name not in ("word", "end")]
                blocks.append(np.ascontiguousarray(np.stack(numbers, axis=1)))
    except (pa.ArrowInvalid, EOFError) as error:
        raise ValueError(
            f"encoder: expected a word and its numbers in every line of {shown}, got an error ({reason_of(error)}). "
            "Give a text file of GloVe or fastText."
        ) from error
    if n_odd["lines"] > MOST_ODD * (len(words) + n_odd["lines"]):
        raise ValueError(
            f"encoder: expected {n_columns} columns in every line of {shown} as in the first, got another number in "
            f"{n_odd['lines']:,} of {len(words) + n_odd['lines']:,}. Download the file again."
        )
    if not all(np.isfinite(block).all() for block in blocks):
        raise ValueError(f"encoder: expected finite numbers in {shown}, got NaN or infinity. Download the file again.")
    return WordVectors(words, blocks)


def _layout(path: str | os.PathLike[str], shown: str) -> tuple[int, list[str]]:
    """Lines before the first word, and the names of the columns; fastText ends its lines with a blank."""
    try:
        with gzip.open(path) if os.fspath(path).endswith(".gz") else open(path, "rb") as file:
            lines = [file.readline(LONGEST_LINE).rstrip(b"\r\n") for _ in range(2)]
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"encoder: expected a gzip file, got {shown} ({reason_of(error)}).") from error
    has_header = len(lines[0].split()) == 2 and all(part.isdigit() for part in lines[0].split())
    columns = lines[has_header].split(b" ")
    n_numbers = len(columns) - 1 - (columns[-1] == b"")
    if n_numbers < 1:
        raise ValueError(
            f"encoder: expected a word and its numbers in every line of {shown}, got {shown_value(lines[has_header])}. "
            "Give a text file of GloVe or fastText."
        )
    return int(has_header), ["word", *map(str, range(n_numbers)), *(["end"] if columns[-1] == b"" else [])]
