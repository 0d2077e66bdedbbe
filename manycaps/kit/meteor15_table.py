"""The table of paraphrases of METEOR 1.5, turned from 16 million lines of text into arrays that can be mapped."""

import array
import gzip
import io
import pathlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .base_messages import reason_of
from .base_types import Ints
from .meteor15_texts import WORD_BITS, PhraseTable

# Most words of a phrase, for numbers of a byte; those of the English table have up to 7.
MOST_PHRASE_WORDS = 127

# Entries between two steps of the progress bar.
STEP = 50_000


def compile_table(source: pathlib.Path, progress: Callable[..., Any]) -> PhraseTable:
    """Read a compressed table of paraphrases: lines of probability, phrase and paraphrase."""
    size = source.stat().st_size
    with source.open("rb") as packed, progress(total=size, unit="B", unit_scale=True, desc="paraphrases") as bar:
        try:
            words, numbers, n_words, is_source = _numbered_phrases(_entries(packed, bar))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            message = f"meteor15_data: expected a whole gzip file, got {source.name} ({error}). Get it again."
            raise ValueError(message) from error
        except ValueError as error:
            raise ValueError(
                f"meteor15_data: expected lines of probability, phrase and paraphrase in {source.name}, got "
                f"{reason_of(error)}. Get the file again."
            ) from error
    if not words:
        raise ValueError(f"meteor15_data: expected entries in {source.name}, got none. Get the file again.")
    keys, node = _as_tree(numbers, n_words)
    # Every paraphrase has the source that was named last before it.
    sources = node[is_source][np.cumsum(is_source)[~is_source] - 1]
    return _grouped(words, keys, sources, node[~is_source])


def _entries(packed: BinaryIO, bar: Any) -> Iterator[tuple[str, str]]:
    """Phrase and paraphrase of every entry, each with the end of its line."""
    phrase, paraphrase, read = "", "\n", 0
    with io.TextIOWrapper(gzip.open(packed), encoding="utf-8", newline="\n") as file:
        for i, _probability in enumerate(file):
            phrase, paraphrase = next(file, ""), next(file, "")
            yield phrase, paraphrase
            if i % STEP == 0:
                bar.update(packed.tell() - read)
                read = packed.tell()
    if not paraphrase.endswith("\n"):
        raise ValueError(f"{phrase + paraphrase!r:.40} at its end")


def _numbered_phrases(
    entries: Iterator[tuple[str, str]],
) -> tuple[dict[str, int], npt.NDArray[np.int32], npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """Number the words, and list the phrases, each source once before its paraphrases.

    Returns the number of every word; those of all phrases one after the other; how many words each phrase has; and
    whether it is a source.
    """
    words: dict[str, int] = {}
    numbers, n_words, is_source = array.array("i"), array.array("b"), array.array("b")
    source = ""
    for phrase, paraphrase in entries:
        for line in (paraphrase,) if phrase == source else (phrase, paraphrase):
            of_line = line[:-1].split(" ")
            if len(of_line) > MOST_PHRASE_WORDS:
                raise ValueError(f"a phrase of {len(of_line)} words")
            numbers.extend([words.setdefault(word, len(words)) for word in of_line])
            n_words.append(len(of_line))
        is_source.extend((0,) if phrase == source else (1, 0))
        source = phrase
    return words, np.array(numbers, np.int32), np.array(n_words, np.int8), np.array(is_source, np.bool_)


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
    words: dict[str, int], keys: Ints, sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> PhraseTable:
    """Sort the paraphrases by the node of their source; their order under a source is that of the file."""
    order = np.argsort(sources, kind="stable")
    n_targets = np.bincount(sources, minlength=len(keys) + 1)
    first_target = np.append(0, np.cumsum(n_targets)).astype(np.int32)
    return PhraseTable(words, keys, first_target, targets[order])
