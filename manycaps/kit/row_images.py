"""Rows of one image, found by their references, and references that repeat within a row: what no test may count twice.

Samples are often stored one to a row, with the references repeated, and samplers fill a batch up with rows that it has
already. Such rows depend on each other, and a model of what people wrote of other rows would hold a row's own
references. Two rows are of one image if

- their references are the same, by at least two different texts; or
- they share at least two different references, and at least half of the smaller set; or
- they share one, and the captions of each, candidates included, hold all references of the other: the leave-one-out
  layout of three captions, in which every caption is the candidate once;

and so are rows that are linked by others. One reference alone may be a frequent sentence ("a man is cooking"): rows
with a single one are of one image only where at least half of such rows have the reference of another.

Texts are compared without case, blanks and the punctuation at their end.
"""

import hashlib
import itertools
import math
import re
import unicodedata
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# References that so many different sets have are frequent sentences, and link none of them.
MOST_SETS_OF_A_TEXT = 100

# Share of the references that repeat within their row from which on it is said: people write 0.05% of COCO and of
# Flickr8k twice, and 3% of MSVD, five to a row.
LEAST_REPEATED = 0.01

# Marks at the end of a text that are no part of it.
END_MARKS = " .!?,;:\u3002"

# What is told apart by being equal: a text, its tokens, the bytes of a vector, or a number.
Text = str | bytes | int | Sequence[str]


def text_key(text: Text) -> Hashable:
    """Return what is compared of a text, or of its tokens.

    >>> text_key("A dog  runs."), text_key(["a", "dog", "runs"]), text_key("...")
    ('a dog runs', 'a dog runs', '...')
    """
    if isinstance(text, bytes | int):
        return text
    words = " ".join((text if isinstance(text, str) else " ".join(text)).casefold().split())
    words = words if words.isascii() else unicodedata.normalize("NFC", words)
    return words.rstrip(END_MARKS) or words


class _JoinedRows:
    """Rows that are joined to one another, in sets."""

    def __init__(self, n_rows: int) -> None:
        # Of every row an earlier one of its set, or itself.
        self._earlier = list(range(n_rows))

    def _first(self, row: int) -> int:
        earlier = self._earlier
        while earlier[row] != row:
            earlier[row] = earlier[earlier[row]]
            row = earlier[row]
        return row

    def join(self, row: int, other: int) -> None:
        """Put two rows, and all that are joined to them, into one set."""
        low, high = sorted((self._first(row), self._first(other)))
        self._earlier[high] = low

    def numbers(self) -> npt.NDArray[np.int64]:
        """Number the sets in the order of their first rows, and return every row's."""
        numbers: dict[int, int] = {}
        firsts = map(self._first, range(len(self._earlier)))
        return np.array([numbers.setdefault(first, len(numbers)) for first in firsts], dtype=np.int64)


def image_numbers(
    references: Sequence[Sequence[Text]], candidates: Sequence[Sequence[Text]] | None = None
) -> npt.NDArray[np.int64] | None:
    """Number the images of rows by their references, in the order of their first rows; None where each has its own.

    Args:
        references: n_rows lists of texts, of lists of tokens, or of bytes.
        candidates: the same, for rows that leave one of three captions out; None: they are not looked at.

    Returns:
        int64 array, shape (n_rows,), or None.

    >>> image_numbers([["a dog", "dogs"], ["a cat", "cats"], ["Dogs.", "A dog."]]).tolist()
    [0, 1, 0]
    """
    sets: dict[frozenset[Hashable], list[int]] = {}
    for row, texts in enumerate(references):
        sets.setdefault(frozenset(map(text_key, texts)), []).append(row)
    sets.pop(frozenset(), None)
    n_rows = len(references)
    single = [rows for texts, rows in sets.items() if len(texts) == 1]
    n_shared = sum(len(rows) for rows in single if len(rows) > 1)
    single_are_images = 2 * n_shared >= sum(map(len, single))
    joined = _JoinedRows(n_rows)
    for key, rows in sets.items():
        if len(key) > 1 or single_are_images:
            for row in rows[1:]:
                joined.join(rows[0], row)
    for one, other in _overlapping(list(sets)):
        n_common = len(one & other)
        if 2 <= n_common >= math.ceil(min(len(one), len(other)) / 2):
            joined.join(sets[one][0], sets[other][0])
        elif candidates is not None and len(one) > 1 < len(other):
            captions = [
                each.union(map(text_key, itertools.chain.from_iterable(candidates[row] for row in sets[each])))
                for each in (one, other)
            ]
            if one <= captions[1] and other <= captions[0]:
                joined.join(sets[one][0], sets[other][0])
    images = joined.numbers()
    return None if images.max(initial=-1) + 1 == n_rows else images


def _overlapping(sets: Sequence[frozenset[Hashable]]) -> Iterator[tuple[frozenset[Hashable], frozenset[Hashable]]]:
    """Pairs of sets with a common text that is not in too many."""
    holders: dict[Hashable, list[int]] = {}
    for i, texts in enumerate(sets):
        for text in texts:
            holders.setdefault(text, []).append(i)
    seen: set[tuple[int, int]] = set()
    for places in holders.values():
        if len(places) <= MOST_SETS_OF_A_TEXT:
            for pair in itertools.combinations(places, 2):
                if pair not in seen:
                    seen.add(pair)
                    yield sets[pair[0]], sets[pair[1]]


def text_hashes(rows: Iterable[Sequence[str]]) -> npt.NDArray[np.uint64]:
    """Return 64 bits of every text, row after row, which stand for it in `image_numbers`.

    >>> text_hashes([["A dog.", "dogs"], ["a dog"]]).tolist()[::2] == text_hashes([["a dog"]]).tolist() * 2
    True
    """
    keys = (str(text_key(text)).encode("utf-8", "surrogatepass") for row in rows for text in row)
    hashes = (int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") for key in keys)
    return np.fromiter(hashes, dtype=np.uint64)


# An id of several rows of one image, and the most rows of an image on average: a caption each.
NUMBERED_ID = re.compile(r"(.+)#\d+")
MOST_CAPTIONS_OF_AN_IMAGE = 50


def ids_without_numbers(ids: Sequence[str]) -> list[str] | None:
    """Return ids without what numbers the captions of an image; None where that joins no rows, or nearly all of them.

    >>> ids_without_numbers(["12.jpg#0", "12.jpg#1", "13.jpg#0"])
    ['12.jpg', '12.jpg', '13.jpg']
    """
    matches = [NUMBERED_ID.fullmatch(name) for name in ids]
    stems = [name if match is None else match[1] for name, match in zip(ids, matches, strict=True)]
    n_images = len(set(stems))
    is_numbering = 1 < n_images < len(ids) <= MOST_CAPTIONS_OF_AN_IMAGE * n_images
    return stems if is_numbering else None


def join_labels(*columns: Sequence[Hashable] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number rows so that two share a number if a column labels them alike, or others link them.

    >>> join_labels(["a", "a", "b", "c"], [1, 2, 2, 3]).tolist()
    [0, 0, 0, 1]
    """
    joined = _JoinedRows(len(columns[0]))
    for column in columns:
        first: dict[Hashable, int] = {}
        for row, label in enumerate(column):
            joined.join(first.setdefault(label, row), row)
    return joined.numbers()


# What to do about rows of one image, by who asks.
GIVE_CLUSTERS = "Give clusters=[...], one label per row: equal ones for rows of one image."


def clusters_of_images(
    clusters: Sequence[Hashable] | None,
    references: Sequence[Sequence[Text]],
    candidates: Sequence[Sequence[Text]] | None = None,
    remedy: str = GIVE_CLUSTERS,
) -> Sequence[Hashable] | None:
    """Return the user's labels of the rows, or without any those of their images; warn of rows that share one.

    None where there are no labels, and every row has an image of its own.
    """
    return labels_of_images(image_numbers(references, candidates), clusters, remedy)


def labels_of_images(
    images: npt.NDArray[np.int64] | None, clusters: Sequence[Hashable] | None = None, remedy: str = GIVE_CLUSTERS
) -> Sequence[Hashable] | None:
    """Do as `clusters_of_images` with the numbers of the images."""
    if images is None:
        return clusters
    n_rows, n_images = len(images), int(images.max()) + 1
    have = (
        f"references: {n_rows - n_images:,} of {n_rows:,} rows have the references of an earlier row, or most of them"
    )
    if clusters is None:
        warnings.warn(
            f"{have}. Rows of one image depend on each other: they count as {n_images:,} clusters. {remedy}",
            stacklevel=2,
        )
        return [int(image) for image in images]
    n_pairs = len(set(zip(images.tolist(), clusters, strict=True)))
    if n_pairs > n_images:
        warnings.warn(
            f"{have}, and {n_pairs - n_images:,} of these have another label in clusters. p-values and intervals "
            "take them for independent: give rows of one image one label.",
            stacklevel=2,
        )
    return clusters


class RepeatedTexts(NamedTuple):
    """How many texts repeat another one of their row; counts of several rows are added."""

    n_repeated: int = 0
    n_texts: int = 0
    n_rows: int = 0

    def __add__(self, other: Any) -> "RepeatedTexts":
        return RepeatedTexts(*(mine + more for mine, more in zip(self, other, strict=True)))

    def __str__(self) -> str:
        repeat, rows = "repeats" if self.n_repeated == 1 else "repeat", "row" if self.n_rows == 1 else "rows"
        share = f"{self.n_repeated:,} of {self.n_texts:,} references"
        return f"{share} {repeat} another of their row, in {self.n_rows:,} {rows}"

    def warn(self, column: str = "references") -> None:
        """Warn where more texts repeat than people's own do."""
        if self.n_repeated and self.n_repeated >= LEAST_REPEATED * self.n_texts:
            warnings.warn(
                f"{column}: {self}. Copies, such as the padding of rows to one length or a file that is read twice, "
                "are no captions of other people: take them out. What people wrote twice may stay.",
                stacklevel=3,
            )


def repeated_texts(rows: Iterable[Sequence[Text]]) -> RepeatedTexts:
    """Count texts that repeat another one of their row.

    >>> str(repeated_texts([["a dog", "dogs", "A dog."], ["a cat"]]))
    '1 of 4 references repeats another of their row, in 1 row'
    """
    n_texts = n_repeated = n_rows = 0
    for row in rows:
        n_more = len(row) - len(set(map(text_key, row)))
        n_texts, n_repeated, n_rows = n_texts + len(row), n_repeated + n_more, n_rows + (n_more > 0)
    return RepeatedTexts(n_repeated, n_texts, n_rows)
