"""The table of paraphrases of METEOR 1.5, turned from 16 million lines of text into arrays that can be mapped.

No line becomes a Python string: words are found, numbered and put together to phrases by array operations. Two words
count as one if a hash of 64 bits is equal; among the 43,000 words of the English table there is no such pair, and one
by chance has a probability of 5e-11.
"""

import gzip
import pathlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .base_messages import reason_of
from .base_types import Ints
from .meteor15_texts import WORD_BITS, PhraseTable

# Bytes of the unpacked table that are read at once.
CHUNK_SIZE = 1 << 22

# An odd number: powers of it have inverses modulo 2^64.
HASH_BASE = 0x9E3779B97F4A7C15

# Words are looked up by so many of the highest bits of their hash.
BUCKET_BITS = 20

# Most words of a phrase, for numbers of a byte; those of the English table have up to 7.
MOST_PHRASE_WORDS = 127

SPACE, NEW_LINE = 32, 10

Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


def compile_table(source: pathlib.Path, progress: Callable[..., Any]) -> PhraseTable:
    """Read a compressed table of paraphrases: lines of probability, phrase and paraphrase."""
    vocabulary = _Vocabulary()
    pieces = []
    with (
        source.open("rb") as packed,
        progress(total=source.stat().st_size, unit="B", unit_scale=True, desc="paraphrases") as bar,
    ):
        read = 0
        for chunk in _whole_entries(packed, source.name):
            try:
                pieces.append(vocabulary.numbers(chunk))
            except ValueError as error:
                raise ValueError(
                    f"meteor15_data: expected lines of probability, phrase and paraphrase in {source.name}, got "
                    f"{reason_of(error)}. Get the file again."
                ) from error
            bar.update(packed.tell() - read)
            read = packed.tell()
    if not pieces:
        raise ValueError(f"meteor15_data: expected entries in {source.name}, got none. Get the file again.")
    words, n_words, is_source = map(np.concatenate, zip(*pieces, strict=True))
    keys, node = _as_tree(words, n_words)
    # Every paraphrase has the source that was named last before it.
    sources = node[is_source][np.cumsum(is_source)[~is_source] - 1]
    return _grouped(list(vocabulary.words), keys, sources, node[~is_source])


class _Vocabulary:
    """The words of the table, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self._number_of_hash: dict[int, int] = {}
        # Number of a word by the highest bits of its hash; what it holds wrongly for other words is noticed.
        self._bucket = np.zeros(1 << BUCKET_BITS, np.int32)
        self._hashes = np.zeros(1 << 10, np.uint64)
        powers = np.full(CHUNK_SIZE * 2, HASH_BASE, np.uint64)
        inverses = np.full(CHUNK_SIZE * 2, pow(HASH_BASE, -1, 1 << 64), np.uint64)
        powers[0] = inverses[0] = 1
        self._powers, self._inverses = np.cumprod(powers), np.cumprod(inverses)

    def numbers(self, chunk: bytes) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8], Flags]:
        """Words of whole entries: their numbers, how many each line has, and whether a line is a source.

        Lines with probabilities are left out, and so are sources that are those of the entry before.
        """
        letters = np.frombuffer(chunk, np.uint8)
        ends = np.flatnonzero((letters == SPACE) | (letters == NEW_LINE))
        is_last = letters[ends] == NEW_LINE
        starts = np.append(0, ends[:-1] + 1)
        line_end = np.flatnonzero(is_last)
        line_start = np.append(0, line_end[:-1] + 1)
        # The hash of the bytes from `start` to `end` is that which they would have at the beginning of the chunk.
        sums = np.append(np.uint64(0), np.cumsum(letters * self._powers[: len(letters)]))
        line_hashes = (sums[ends[line_end]] - sums[starts[line_start]]) * self._inverses[starts[line_start]]
        wanted = np.ones(len(line_end), bool)
        wanted[::3] = False
        wanted[4::3] = line_hashes[4::3] != line_hashes[1:-3:3]
        n_words = line_end - line_start + 1
        in_wanted = np.repeat(wanted, n_words)
        starts, ends = starts[in_wanted], ends[in_wanted]
        hashes = (sums[ends] - sums[starts]) * self._inverses[starts]
        is_source = np.arange(len(wanted)) % 3 == 1
        if n_words.max() > MOST_PHRASE_WORDS:
            raise ValueError(f"a phrase of {n_words.max()} words")
        return self._look_up(hashes, starts, ends, chunk), n_words[wanted].astype(np.int8), is_source[wanted]

    def _look_up(self, hashes: Hashes, starts: Ints, ends: Ints, chunk: bytes) -> npt.NDArray[np.int32]:
        """Numbers of words by their hashes; new words get the next ones."""
        numbers = self._bucket[hashes >> np.uint64(64 - BUCKET_BITS)]
        wrong = np.flatnonzero(self._hashes[numbers] != hashes)
        distinct, first, which = np.unique(hashes[wrong], return_index=True, return_inverse=True)
        number_of_phrase = np.empty(len(distinct), np.int32)
        for i, (value, line) in enumerate(zip(distinct.tolist(), wrong[first].tolist(), strict=True)):
            number = self._number_of_hash.get(value)
            if number is None:
                number = self._add(value, chunk[starts[line] : ends[line]].decode("utf-8"))
            number_of_phrase[i] = number
        numbers[wrong] = number_of_phrase[which]
        return numbers

    def _add(self, value: int, word: str) -> int:
        number = self._number_of_hash[value] = self.words[word] = len(self.words)
        if number == len(self._hashes):
            self._hashes = np.append(self._hashes, np.zeros_like(self._hashes))
        self._hashes[number] = value
        self._bucket[value >> (64 - BUCKET_BITS)] = number
        return number


def _whole_entries(packed: BinaryIO, name: str) -> Iterator[bytes]:
    """Pieces of the unpacked file that end behind an entry of three lines."""
    rest = b""
    try:
        with gzip.open(packed) as file:
            while chunk := file.read(CHUNK_SIZE):
                text = rest + chunk
                end = len(text)
                for _ in range(text.count(b"\n") % 3 + 1):
                    end = text.rfind(b"\n", 0, end)
                if end + 1:
                    yield text[: end + 1]
                rest = text[end + 1 :]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"meteor15_data: expected a whole gzip file, got {name} ({error}). Get it again.") from error
    if rest:
        raise ValueError(
            f"meteor15_data: expected lines of probability, phrase and paraphrase in {name}, got {rest[:40]!r} at its "
            "end. Get the file again."
        )


def _as_tree(words: npt.NDArray[np.int32], n_words: npt.NDArray[np.int8]) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Number the phrases as nodes of a tree of words, level by level: the nodes' keys, and the node of each phrase."""
    first = np.cumsum(n_words, dtype=np.int64) - n_words
    node = np.zeros(len(n_words), np.int32)
    keys: list[Ints] = []
    n_nodes = 0
    for level in range(int(n_words.max())):
        longer = np.flatnonzero(n_words > level)
        pairs = node[longer].astype(np.int64) << WORD_BITS | words[first[longer] + level]
        level_keys, number = _numbered(pairs)
        node[longer] = number + n_nodes + 1
        n_nodes += len(level_keys)
        keys.append(level_keys)
    return np.concatenate(keys), node


def _numbered(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct keys in ascending order, and the index of each key among them; small keys need no sorting."""
    if keys.max() >= len(keys):
        distinct, number = np.unique(keys, return_inverse=True)
        return distinct, number
    is_used = np.bincount(keys) > 0
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[keys]


def _grouped(
    words: list[str], keys: Ints, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> PhraseTable:
    """Sort the paraphrases by the node of their source; their order under a source is that of the file."""
    order = np.argsort(sources, kind="stable")
    n_targets = np.bincount(sources, minlength=len(keys) + 1)
    first_target = np.append(0, np.cumsum(n_targets)).astype(np.int32)
    return PhraseTable({word: number for number, word in enumerate(words)}, keys, first_target, targets[order])
