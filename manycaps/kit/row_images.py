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

import collections
import hashlib
import itertools
import re
import unicodedata
import warnings
from collections.abc import Hashable, Iterable, Sequence
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

Ints = npt.NDArray[np.int64]

# What is told apart by being equal: a text, its tokens, the bytes of a vector, or a number.
Text = str | bytes | int | Sequence[str]


def text_key(text: Text) -> Hashable:
    """Return what is compared of a text, or of its tokens.

    >>> text_key("A dog  runs."), text_key(["a", "dog", "runs"]), text_key("...")
    ('a dog runs', 'a dog runs', '...')
    """
    if not isinstance(text, str):
        if isinstance(text, bytes | int):
            return text
        text = " ".join(text)
    words = text.casefold().strip()
    if "  " in words or not words.isprintable():
        words = " ".join(words.split())
    if not words.isascii():
        words = unicodedata.normalize("NFC", words)
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
        first, second = self._first(row), self._first(other)
        if first != second:
            self._earlier[max(first, second)] = min(first, second)

    def numbers(self) -> Ints:
        """Number the sets in the order of their first rows, and return every row's."""
        numbers: dict[int, int] = {}
        firsts = map(self._first, range(len(self._earlier)))
        return np.array([numbers.setdefault(first, len(numbers)) for first in firsts], dtype=np.int64)


def image_numbers(
    references: Sequence[Sequence[Text]], candidates: Sequence[Sequence[Text]] | None = None
) -> Ints | None:
    """Number the images of rows by their references, in the order of their first rows; None where each has its own.

    Args:
        references: n_rows lists of texts, of lists of tokens, or of bytes.
        candidates: the same, for rows that leave one of three captions out; None: they are not looked at.

    Returns:
        int64 array, shape (n_rows,), or None.

    >>> image_numbers([["a dog", "dogs"], ["a cat", "cats"], ["Dogs.", "A dog."]]).tolist()
    [0, 1, 0]
    """
    return _image_numbers(list(map(_text_keys, references)), candidates)


def _text_keys(texts: Iterable[Text]) -> frozenset[Hashable]:
    return frozenset(map(text_key, texts))


def _image_numbers(
    references: Sequence[frozenset[Hashable]], candidates: Sequence[Sequence[Text]] | None
) -> Ints | None:
    sets: dict[frozenset[Hashable], list[int]] = {}
    for row, texts in enumerate(references):
        sets.setdefault(texts, []).append(row)
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
    rows_of, keys = list(sets.values()), list(sets)
    own = [_texts_of(candidates, rows) for rows in rows_of] if candidates is not None else [[] for _ in rows_of]
    n_texts, n_own = (np.array(list(map(len, texts)), dtype=np.int64) for texts in (keys, own))
    one, other, n_common = _overlapping(keys)
    n_smaller = np.minimum(n_texts[one], n_texts[other])
    is_half = (n_common >= 2) & (2 * n_common >= n_smaller)
    # Whether the candidates of each are enough for the references of the other.
    are_enough = (n_own[one] >= n_texts[other] - n_common) & (n_own[other] >= n_texts[one] - n_common)
    for i, j in zip(one[is_half].tolist(), other[is_half].tolist(), strict=True):
        joined.join(rows_of[i][0], rows_of[j][0])
    for pair in np.flatnonzero(are_enough & ~is_half & (n_smaller > 1)):
        i, j = one[pair], other[pair]
        captions = [keys[k].union(map(text_key, own[k])) for k in (i, j)]
        if keys[i] <= captions[1] and keys[j] <= captions[0]:
            joined.join(rows_of[i][0], rows_of[j][0])
    images = joined.numbers()
    return None if images.max(initial=-1) + 1 == n_rows else images


def _texts_of(column: Sequence[Sequence[Text]], rows: Iterable[int]) -> list[Text]:
    return [text for row in rows for text in column[row]]


def _overlapping(sets: Sequence[frozenset[Hashable]]) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of sets with a common text that is not in too many, by their places, and how much they share."""
    n_sets = collections.Counter(itertools.chain.from_iterable(sets))
    holders: dict[Hashable, list[int]] = {text: [] for text, n in n_sets.items() if 1 < n <= MOST_SETS_OF_A_TEXT}
    frequent = frozenset(text for text, n in n_sets.items() if n > MOST_SETS_OF_A_TEXT)
    for i, texts in enumerate(sets):
        for text in texts & holders.keys():
            holders[text].append(i)
    by_size: dict[int, list[list[int]]] = {}
    for places in holders.values():
        by_size.setdefault(len(places), []).append(places)
    # A pair as one number.
    pairs = [np.empty(0, dtype=np.int64)]
    for size, listed in by_size.items():
        array, (first, second) = np.array(listed), np.triu_indices(size, 1)
        pairs.append((array[:, first] * len(sets) + array[:, second]).ravel())
    numbers, n_common = np.unique(np.concatenate(pairs), return_counts=True)
    one, other = np.divmod(numbers, max(len(sets), 1))
    if frequent and len(numbers):
        n_common += [len(frequent & sets[i] & sets[j]) for i, j in zip(one, other, strict=True)]
    return one, other, n_common


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


def join_labels(*columns: Sequence[Hashable] | Ints) -> Ints:
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


def clusters_of_captions(
    clusters: Sequence[Hashable] | None,
    references: Sequence[Sequence[Text]],
    candidates: Sequence[Sequence[Text]] | None = None,
    column: str = "references",
) -> Sequence[Hashable] | None:
    """Do as `clusters_of_images`, and warn of references that repeat within their row."""
    keys = list(map(_text_keys, references))
    _repeated(references, keys).warn(column)
    return labels_of_images(_image_numbers(keys, candidates), clusters)


def labels_of_images(
    images: Ints | None, clusters: Sequence[Hashable] | None = None, remedy: str = GIVE_CLUSTERS
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
    listed = list(rows)
    return _repeated(listed, map(_text_keys, listed))


def _repeated(rows: Iterable[Sequence[Text]], keys: Iterable[frozenset[Hashable]]) -> RepeatedTexts:
    n_texts = n_repeated = n_rows = 0
    for row, distinct in zip(rows, keys, strict=True):
        n_more = len(row) - len(distinct)
        n_texts, n_repeated, n_rows = n_texts + len(row), n_repeated + n_more, n_rows + (n_more > 0)
    return RepeatedTexts(n_repeated, n_texts, n_rows)
