"""N-grams of the texts of many rows as whole numbers, counted once for all scores, and the documents they occur in.

Sums run over the n-grams of a text in the order of their first use, as in the COCO caption code (pycocoevalcap 1.2):
a score is the same to the last bit, whatever the other rows are. Of large data one order of n-grams is in memory at
a time.
"""

import functools
import itertools
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .arrays import Floats, Ints, Masks, TokenList, TokenRows
from .errors import InputError
from .files import check_count_table, path_state, read_count_table
from .options import Option, by_value
from .words_tokenizers import Tokenizer, check_same_tokenizer, ngram_tokens

if TYPE_CHECKING:
    import scipy.sparse

# Texts of a row that one number of a mask can name.
BITS = 64

# Bits of a key, the sign left out; keys below so many times their number are counted, not sorted.
KEY_BITS = 63

SMALL_KEYS = 8


class RowTexts:
    """Layout of the texts of all rows in one flat list.

    >>> texts = RowTexts([2, 3])
    >>> texts.row.tolist(), texts.place.tolist()
    ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        self.sizes: Ints = np.fromiter(sizes, np.int64)
        # Number of the first text of each row; one more at the end.
        self.first: Ints = np.append(0, np.cumsum(self.sizes))
        # Row of each text, and its index in the row.
        self.row: Ints = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.place: Ints = np.arange(len(self.row)) - self.first[self.row]
        self.n_blocks = max(1, -(-int(self.sizes.max(initial=1)) // BITS))

    def centre(self, values: Floats) -> Floats:
        """Return values of texts less their mean over the row, in rows of at least one text.

        >>> RowTexts([2, 1]).centre(np.array([1.0, 3.0, 5.0])).tolist()
        [-1.0, 1.0, 0.0]
        """
        differences: Floats = values - (np.add.reduceat(values, self.first[:-1]) / self.sizes)[self.row]
        return differences

    def masks(self, group: Ints, position: Ints, n_groups: int) -> Masks:
        """Return the masks of the positions of each group: uint64, shape (n_groups, n_blocks).

        `group` and `position` are int64, shape (n,): numbers of sets, and places in them.
        """
        masks = np.zeros((n_groups, self.n_blocks), np.uint64)
        block, bit = np.divmod(position, BITS)
        np.bitwise_or.at(masks, (group, block), np.left_shift(np.uint64(1), bit.astype(np.uint64)))
        return masks

    def others(self, texts: Ints) -> Masks:
        """Return masks of all texts of the row but the one, for each of some texts: uint64 array, shape (n, n_blocks).

        >>> RowTexts([2, 3]).others(np.array([1, 3])).tolist()
        [[1], [5]]
        """
        whole = self.masks(self.row, self.place, len(self.sizes))[self.row[texts]]
        return whole & ~self.masks(np.arange(len(texts)), self.place[texts], len(texts))

    def members(self, rows: Ints, masks: Masks) -> tuple[Ints, Ints]:
        """Write out the texts that masks, uint64, shape (n, n_blocks), name; `rows`, int64, (n,), has their rows.

        Returns two int64 arrays, shape (n_members,): number of the mask, ascending, and number of the text.

        >>> [part.tolist() for part in RowTexts([2, 3]).members(np.array([1]), np.array([[5]], np.uint64))]
        [[0, 0], [2, 4]]
        """
        number = self.sizes[rows]
        position = np.repeat(np.arange(len(rows)), number)
        offset = np.arange(len(position)) - np.repeat(np.cumsum(number) - number, number)
        block, bit = np.divmod(offset, BITS)
        is_member = (masks[position, block] >> bit.astype(np.uint64)) & np.uint64(1) > 0
        position, offset = position[is_member], offset[is_member]
        return position, self.first[rows[position]] + offset


class WordNumbers(dict[str, int]):
    """Numbers of words in the order of their arrival; looking up a new word by `[]` numbers it.

    >>> numbers = WordNumbers()
    >>> [numbers[word] for word in ("a", "dog", "a")]
    [0, 1, 0]
    """

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def word_ids(captions: Iterable[Sequence[str]], vocabulary: WordNumbers) -> tuple[np.ndarray, np.ndarray]:
    """Number the tokens of all captions; new words are added to `vocabulary`.

    Returns:
        int64 array, shape (n_tokens,), the word numbers of all captions in one line; and int64 array, shape
        (n_captions,), the number of tokens of each caption.

    >>> words, lengths = word_ids([["a", "dog"], [], ["a"]], WordNumbers())
    >>> words.tolist(), lengths.tolist()
    ([0, 1, 0], [2, 0, 1])
    """
    captions = list(captions)
    words = list(itertools.chain.from_iterable(captions))
    return number_words(words, vocabulary), np.array([len(tokens) for tokens in captions], dtype=np.int64)


def number_words(words: Sequence[str], vocabulary: WordNumbers) -> np.ndarray:
    """Number words; new ones are added to `vocabulary`.

    >>> number_words(["a", "dog", "a"], WordNumbers()).tolist()
    [0, 1, 0]
    """
    return np.fromiter(map(vocabulary.__getitem__, words), dtype=np.int64, count=len(words))


def number_keys(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in ascending order, and the place of each key among them.

    What `np.unique` returns, in half its time; keys are int64, shape (n,), at least 0.

    >>> [part.tolist() for part in number_keys(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    largest = int(keys.max(initial=0))
    if largest < SMALL_KEYS * max(1, len(keys)):  # without sorting
        is_used = np.zeros(largest + 1, bool)
        is_used[keys] = True
        return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[keys]
    order, is_new = runs_of_keys(keys)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return keys[order[is_new]], number


def runs_of_keys(keys: Ints) -> tuple[Ints, np.ndarray]:
    """Return a stable order of keys, int64, shape (n,), of at least 0, and where a run of equal keys begins in it.

    >>> [part.tolist() for part in runs_of_keys(np.array([7, 2, 7]))]
    [[1, 0, 2], [True, True, False]]
    """
    own = max(0, len(keys) - 1).bit_length()
    if int(keys.max(initial=0)).bit_length() + own <= KEY_BITS:
        # A plain sort of keys that hold their index is several times faster than an argument sort.
        packed = keys << own | np.arange(len(keys))
        packed.sort()
        return packed & ((1 << own) - 1), run_begins(packed >> own)
    order = np.argsort(keys, kind="stable")
    return order, run_begins(keys[order])


def run_begins(*keys: Ints) -> np.ndarray:
    """Return where a run of equal keys begins: boolean, shape (n,).

    >>> run_begins(np.array([1, 1, 2]), np.array([5, 6, 6])).tolist()
    [True, True, True]
    """
    is_new = np.ones(len(keys[0]), bool)
    is_new[1:] = False
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    return is_new


# N-gram orders 1 to 4, equally weighted, the standard deviation of CIDEr-D's length penalty, in bigrams, and its scale
# (Vedantam et al. 2015, section 4, https://arxiv.org/abs/1411.5726; pycocoevalcap 1.2, cider.py).
MAX_ORDER, LENGTH_SIGMA, CIDER_D_MAXIMUM = 4, 6.0, 10.0

# Words of all texts up to which the n-grams of all orders are kept for the next score: 0.3 kB each.
MOST_KEPT_WORDS = 1 << 20

# Pairs of a candidate's n-gram and a reference with it that are looked at once, 8 bytes each in some ten arrays: so
# many stay in the cache of a processor.
MAX_TERMS = 100_000

# Pairs of a candidate and a reference whose lengths and common words are looked at once, 8 bytes each in some arrays.
MAX_PAIRS = 2_000_000


class NgramOrder(NamedTuple):
    """N-grams of one order. An entry is an n-gram of a text, a cell an n-gram of a row.

    Entries are in the order of their n-grams, then of the texts: cell by cell, the references' last.
    """

    # Of each entry: number of its text, of its n-gram and of its cell, index of the last word of its first use, and how
    # often the text has it.
    text: Ints
    ngram: Ints
    cell: Ints
    position: Ints
    frequency: Ints
    # Entries of candidates that references of their row share, in the order of the texts and of first uses.
    matched: Ints
    # Of each cell: the end of its entries, and how many references have it.
    cell_end: Ints
    n_references: Ints
    # Number of rows in whose references each n-gram occurs.
    documents: Ints


class DrawnOrder(NamedTuple):
    """N-grams of one order of sets of texts, whose references are drawn again and again."""

    # Of the entries that match, those with an n-gram that other texts of the row have, too.
    order: NgramOrder
    # Squared frequencies, shape (n_texts, n_ngrams).
    squares: "scipy.sparse.csr_array"
    # Of each cell: its row, its n-gram, and the mask of the texts that have it.
    row: Ints
    ngram: Ints
    masks: Masks


class Pairs(NamedTuple):
    """Some candidates, each with every reference of its row."""

    # Number of the pair's candidate among these, ascending; texts of the candidate and of the reference.
    number: Ints
    candidate: Ints
    reference: Ints
    # First pair of each candidate, and number of its pairs.
    first: Ints
    size: Ints
    # The candidates that were chosen, or None for all.
    some: Ints | None


class NgramIndex:
    """Numbered n-grams of the candidates and the references of every row, with their frequencies in each text."""

    def __init__(
        self, words: Sequence[str], lengths: Ints, n_candidates: Ints, n_references: Ints | None, *, keeps: bool = False
    ) -> None:
        """Number the words of the texts of all rows: row after row, candidates first.

        Args:
            words: of all texts, one text after the other.
            lengths: int64, shape (n_texts,): number of words of each text.
            n_candidates: int64, shape (n_rows,).
            n_references: the same for references; None: the candidates of a row are its references, too.
            keeps: whether all n-grams are kept, however many there are.
        """
        self.lengths = lengths
        self.texts = RowTexts(n_candidates if n_references is None else n_candidates + n_references)
        row, place = self.texts.row, self.texts.place
        self.is_candidate = place < n_candidates[row]
        self.is_reference = np.ones(len(row), bool) if n_references is None else ~self.is_candidate
        self.candidates = np.flatnonzero(self.is_candidate)
        self.n_references = n_candidates if n_references is None else n_references
        # Numbered by the alphabet, so that the numbers of n-grams have one order, whatever the order of the rows is.
        self.tokens = tuple(words)
        number = {word: i for i, word in enumerate(sorted(set(words)))}
        self.words: Ints = np.fromiter(map(number.__getitem__, words), np.int64, len(words))
        self.text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        self._kept: list[NgramOrder] = []
        self._keeps = keeps or len(words) <= MOST_KEPT_WORDS

    @classmethod
    def of_rows(cls, candidates: TokenRows, references: TokenRows, *, keeps: bool = False) -> "NgramIndex":
        """Take n_rows lists of token lists, and as many of the references."""
        texts = [text for pair in zip(candidates, references, strict=True) for row in pair for text in row]
        return cls(*_words_and_lengths(texts), _sizes(candidates), _sizes(references), keeps=keeps)

    @classmethod
    def of_sets(cls, rows: TokenRows, *, keeps: bool = False) -> "NgramIndex":
        """Take n_rows lists of token lists, each of which is a candidate and a reference."""
        return cls(*_words_and_lengths([text for row in rows for text in row]), _sizes(rows), None, keeps=keeps)

    def orders(self, max_order: int = MAX_ORDER) -> Iterable[NgramOrder]:
        """Give the n-grams of 1 to `max_order` words, order after order."""
        if not self._keeps:
            return self._orders(max_order)
        if len(self._kept) < max_order:
            self._kept = list(self._orders(max_order))
        return self._kept[:max_order]

    def _orders(self, max_order: int) -> Iterator[NgramOrder]:
        start = np.cumsum(self.lengths) - self.lengths
        place = np.arange(len(self.words)) - start[self.text_of_word]
        ids = np.zeros(len(self.words), np.int64)  # of the n-gram of the order before that ends at each word
        for order in range(max_order):
            last = np.flatnonzero(place >= order)
            by_ngram, is_new = _runs(ids[last - 1] if order else ids[last], self.words[last])
            position = last[by_ngram]
            number = np.cumsum(is_new) - 1
            ids[position] = number
            yield self._order(position, number)

    def _order(self, position: Ints, number: Ints) -> NgramOrder:
        """Entries and cells out of the uses of n-grams: one n-gram's follow each other, as in the texts."""
        text = self.text_of_word[position]
        first = np.flatnonzero(run_begins(number, text))
        frequency = np.diff(first, append=len(position))
        text, ngram, position = text[first], number[first], position[first]
        row = self.texts.row[text]
        is_new = run_begins(ngram, row)
        cell, begin = np.cumsum(is_new) - 1, np.flatnonzero(is_new)
        n_references = np.bincount(cell, self.is_reference[text], len(begin)).astype(np.int64)
        n_ngrams = int(ngram[-1]) + 1 if len(ngram) else 0
        documents = np.bincount(ngram[begin][n_references > 0], minlength=n_ngrams)
        matched = self._in_text(position, np.flatnonzero(self.is_candidate[text] & (n_references > 0)[cell]))
        end = np.append(begin[1:], len(text))[: len(begin)]
        return NgramOrder(text, ngram, cell, position, frequency, matched, end, n_references, documents)

    def ngrams(self, order: NgramOrder, n: int, numbers: Ints | None = None) -> Iterator[tuple[str, ...]]:
        """Write out the n-grams of `n` words with some numbers, or all of an order."""
        first_use = np.zeros(len(order.documents), np.int64)
        first_use[order.ngram] = order.position
        ends = (first_use if numbers is None else first_use[numbers]) + 1
        return map(self.tokens.__getitem__, map(slice, (ends - n).tolist(), ends.tolist()))

    def pairs(self, candidates: Ints | None = None) -> Pairs:
        """Pair every candidate, or some, shape (n,), with every reference of its row."""
        some, candidates = candidates, self.candidates if candidates is None else candidates
        row = self.texts.row[candidates]
        size = self.n_references[row]
        first = _starts(size)
        number = np.repeat(np.arange(len(candidates)), size)
        first_reference = self.texts.first[row + 1] - size
        reference = np.arange(len(number)) + np.repeat(first_reference - first, size)
        return Pairs(number, candidates[number], reference, first, size, some)

    def pair_parts(self) -> Iterator[Pairs]:
        """Pair every candidate with every reference of its row, in parts of whole candidates."""
        sizes = self.n_references[self.texts.row[self.candidates]]
        for begin, end in _parts(sizes, self.candidates, MAX_PAIRS):
            yield self.pairs(self.candidates[begin:end])

    def matches(self, order: NgramOrder, candidates: Ints | None = None) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Join the entries of all or some candidates with the references' in their cells, in parts of whole texts.

        Yields the entries, in the order of the texts, how many references each meets, and the entries of all these.
        """
        entry = order.matched
        if candidates is not None:
            is_chosen = np.zeros(len(self.lengths), bool)
            is_chosen[candidates] = True
            entry = entry[is_chosen[order.text[entry]]]
        size = order.n_references[order.cell[entry]]
        start = order.cell_end[order.cell[entry]] - size
        for begin, end in _parts(size, order.text[entry]):
            own = size[begin:end]
            other = np.arange(own.sum()) + np.repeat(start[begin:end] - _starts(own), own)
            yield entry[begin:end], own, other

    def _in_text(self, position: Ints, entries: Ints) -> Ints:
        """Sort entries by their text, and by their first use in it."""
        entry_of_word = np.full(len(self.words), -1)
        entry_of_word[position[entries]] = entries
        return entry_of_word[entry_of_word >= 0]

    @functools.cached_property
    def by_text(self) -> list[tuple[Ints, Ints]]:
        """For each order the first entry of each text, one more at the end, in the entries text by text."""
        return [
            (
                np.append(0, np.cumsum(np.bincount(order.text, minlength=len(self.lengths)))),
                self._in_text(order.position, np.arange(len(order.text))),
            )
            for order in self.orders()
        ]

    @functools.cached_property
    def drawn(self) -> list[DrawnOrder]:
        """For each order what draws of references from the same texts share."""
        import scipy.sparse  # words are numbered without it

        orders = []
        for order in self.orders():
            masks = self.texts.masks(order.cell, self.texts.place[order.text], len(order.cell_end))
            last = order.cell_end - 1
            shape = len(self.lengths), len(order.documents)
            squares = scipy.sparse.csr_array((order.frequency**2.0, (order.text, order.ngram)), shape)
            is_shared = order.n_references[order.cell[order.matched]] > 1
            shared = order._replace(matched=order.matched[is_shared])
            orders.append(DrawnOrder(shared, squares, self.texts.row[order.text[last]], order.ngram[last], masks))
        return orders

    @functools.cached_property
    def use_masks(self) -> list[tuple[Ints, Masks]]:
        """For each order the first use of each text, and for every use the texts with as many uses of that n-gram.

        For the k-th use of an n-gram in a text the mask says which texts of the row have the n-gram at least k times.
        """
        uses = []
        for order in self.orders():
            entries = self._in_text(order.position, np.arange(len(order.text)))
            frequency = order.frequency[entries]
            level, n_levels = _levels(frequency)
            text = order.text[entries].repeat(frequency)
            shared, group = np.unique(order.cell[entries].repeat(frequency) * n_levels + level, return_inverse=True)
            masks = self.texts.masks(group, self.texts.place[text], len(shared))
            uses.append((np.append(0, np.cumsum(np.bincount(text, minlength=len(self.lengths)))), masks[group]))
        return uses


def _words_and_lengths(texts: Sequence[TokenList]) -> tuple[list[str], Ints]:
    """Tokens of all texts in one line, and the number of tokens of each text."""
    return list(itertools.chain.from_iterable(texts)), _sizes(texts)


def _sizes(rows: Sequence[Sequence[Any]]) -> Ints:
    return np.fromiter(map(len, rows), np.int64, len(rows))


def _starts(sizes: Ints) -> Ints:
    """Where each of consecutive ranges of these sizes begins."""
    return np.cumsum(sizes) - sizes


def _levels(frequency: Ints) -> tuple[Ints, int]:
    """Write out the numbers k - 1 = 0, 1 ... of the uses of each entry, and how many there are at most."""
    return np.arange(frequency.sum()) - np.repeat(_starts(frequency), frequency), int(frequency.max(initial=1))


def _sums(group: Ints, terms: Floats, n_groups: int) -> Floats:
    """Sum of the terms of each group, added in their order."""
    return np.bincount(group, terms, n_groups).astype(np.float64, copy=False)  # of no terms at all whole numbers


def _parts(sizes: Ints, texts: Ints, most: int = MAX_TERMS) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive numbers whose sizes add up to at most `most`, at least a whole text each."""
    bounds = np.append(np.flatnonzero(run_begins(texts)), len(texts))  # of the texts
    ends, begin = np.append(0, np.cumsum(sizes))[bounds], 0
    while begin < len(bounds) - 1:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + most, side="right")) - 1)
        yield int(bounds[begin]), int(bounds[end])
        begin = end


def _runs(first: Ints, second: Ints) -> tuple[Ints, np.ndarray]:
    """Stable order by two keys of at least 0, and where a run of equal pairs begins in it."""
    bits = int(second.max(initial=0)).bit_length()
    if int(first.max(initial=0)).bit_length() + bits <= KEY_BITS:
        return runs_of_keys(first << bits | second)
    order = np.lexsort((second, first))
    return order, run_begins(first[order], second[order])


# Numbers of documents with n-grams, from their tokens: for frequencies that were counted elsewhere.
Frequency = Callable[[Iterable[tuple[str, ...]]], Iterable[float]]


def document_ngrams(captions: Sequence[Sequence[str]]) -> dict[str, None]:
    """Return the n-grams of 1 to 4 tokens of a document, joined by blanks, each once, in the order of their end.

    >>> list(document_ngrams([["a", "dog"], ["a"]]))
    ['a', 'dog', 'a dog']
    """
    return {
        " ".join(tokens[end - order : end]): None
        for tokens in captions
        for end in range(1, len(tokens) + 1)
        for order in range(1, min(MAX_ORDER, end) + 1)
    }


def are_equal_documents(documents: Iterable[Sequence[Sequence[str]]]) -> bool:
    """Return whether several documents have the same n-grams, which then all weigh log(1) = 0.

    >>> are_equal_documents([[["a", "dog"]], [["a", "dog"], ["a"]]]), are_equal_documents([[["a"]]])
    (True, False)
    """
    ngrams = (document_ngrams(captions).keys() for captions in documents)
    first, second = next(ngrams, None), next(ngrams, None)
    return bool(first) and first == second and all(first == other for other in ngrams)


def warn_of_equal_documents(documents: Sequence[Sequence[Sequence[str]]], column: str = "references") -> None:
    """Warn where document frequencies are counted in rows with the same n-grams, and CIDEr is 0 for every caption."""
    warn_of_no_weight(len(documents) if are_equal_documents(documents) else 0, column)


def warn_of_no_weight(n_equal: int, column: str = "references") -> None:
    """Warn where all rows in which document frequencies are counted, `n_equal` of them, have the same n-grams."""
    if n_equal:
        warnings.warn(
            f"{column}: expected rows with different captions to count document frequencies in, got {n_equal} with the "
            "same n-grams: each of these is in every row, its weight is log(1) = 0, and so is CIDEr, whatever "
            "the captions. Count in more rows, or give a table of document frequencies.",
            stacklevel=3,
        )


def document_frequencies(documents: Iterable[Sequence[Sequence[str]]]) -> dict[str, int]:
    """Count the documents in which each n-gram of 1 to 4 tokens, joined by blanks, occurs.

    >>> document_frequencies([[["a", "dog"], ["a", "cat"]], [["a"]]])
    {'a': 2, 'dog': 1, 'a dog': 1, 'cat': 1, 'a cat': 1}
    """
    counts: dict[str, int] = {}
    for captions in documents:
        for ngram in document_ngrams(captions):
            counts[ngram] = counts.get(ngram, 0) + 1
    return counts


def shared_document_frequencies(documents: Iterable[Sequence[Sequence[str]]]) -> dict[str, int]:
    """Count as `document_frequencies` the n-grams that several documents have, in a sixth of the memory of all n-grams.

    `cider_d_scores` needs no others: what is not in its table counts as an n-gram of one document.

    >>> shared_document_frequencies([[["a", "dog"], ["a", "cat"]], [["a", "cat"]]])
    {'a': 2, 'cat': 2, 'a cat': 2}
    """
    index = NgramIndex.of_sets(list(documents))
    counts: dict[str, int] = {}
    for n, order in enumerate(index.orders(), start=1):
        shared = np.flatnonzero(order.documents > 1)
        ngrams = map(" ".join, index.ngrams(order, n, shared))
        counts.update(zip(ngrams, order.documents[shared].tolist(), strict=True))
    return counts


def joined_frequency(counts: Mapping[str, int]) -> Frequency:
    """Look n-grams up in a table by their tokens, joined by blanks; an unknown one is in no document."""
    return lambda ngrams: map(counts.get, map(" ".join, ngrams), itertools.repeat(0))


def tuple_frequency(counts: Mapping[tuple[str, ...], float]) -> Frequency:
    """Look n-grams up in a table by tuples of their tokens, which is faster; an unknown one is in no document."""
    return lambda ngrams: map(counts.get, ngrams, itertools.repeat(0))


# Layout of a table, for messages about a bad one.
TABLE_LAYOUT = '{"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}'

# How to make a table, for the messages too.
HOW_TO_MAKE_A_TABLE = "Make one with `manycaps count-document-frequency`."


class DocumentFrequency(NamedTuple):
    """Number of documents with each n-gram (1 to 4 tokens, joined by blanks), and the number of all documents."""

    counts: Mapping[str, int]
    n_documents: int


def check_document_frequency(source: object) -> None:
    """Raise unless `source` is None, a mapping, or the path of a file that exists; the table itself is not read."""
    if source is not None:
        check_count_table(source, "document_frequency", "", HOW_TO_MAKE_A_TABLE)


DOCUMENT_FREQUENCY: dict[str, Option] = {
    "document_frequency": Option(
        None,
        by_value(check_document_frequency),
        'A table: a mapping of the layout `{"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}`, or '
        "the path of a JSON file that holds one; `manycaps count-document-frequency` makes one from a caption "
        "file. By default they are counted in the references, one document per row: values then depend on which "
        "rows are given, and at least two are needed.",
    )
}


def load_document_frequency(
    source: str | os.PathLike[str] | Mapping[str, Any], tokenizer: Tokenizer | None = None
) -> DocumentFrequency:
    """Read and check a table: the path of a JSON file, or a mapping, of the layout `TABLE_LAYOUT`.

    Its tokenizer, where it says which, is the one given.

    Every count is a whole number from 1 to n_documents, which is at least 2 (a single document gives no inverse
    document frequency) and at most 2**53.

    >>> load_document_frequency({"n_documents": 2, "document_frequency": {"a dog": 1}})
    DocumentFrequency(counts={'a dog': 1}, n_documents=2)
    """
    layout = f"{TABLE_LAYOUT} with 2 to 2**53 documents"
    where, advice = "document_frequency", HOW_TO_MAKE_A_TABLE
    check = functools.partial(check_same_tokenizer, where=where, tokenizer=tokenizer)
    return DocumentFrequency(*read_count_table(source, where, 2, layout, advice, check))


class FrequencyTable:
    """Document frequencies of a module's calls: of their references, or out of a table, which stays loaded.

    A copy loads the table again.
    """

    # The state of the last table, its source, which keeps the addresses of its state, and its frequencies.
    _last: tuple[tuple[Hashable, ...], object, DocumentFrequency] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def load(self, source: str | os.PathLike[str] | Mapping[str, Any], tokenizer: Tokenizer) -> DocumentFrequency:
        """Return the table that was loaded last, or load it where the source is another one or has changed since.

        Raises ValueError where it says that it was made with another tokenizer than this one.
        """
        if isinstance(source, Mapping):  # whose counts are read where they stand
            state: tuple[Hashable, ...] = id(source), source.get("n_documents"), id(source.get("document_frequency"))
        else:
            state = path_state(source)
        state = (*state, tokenizer)
        if self._last is None or self._last[0] != state:
            self._last = state, source, load_document_frequency(source, tokenizer)
        return self._last[2]

    def count(self, references: Sequence[Sequence[str]], options: Mapping[str, Any]) -> DocumentFrequency:
        """Return the frequencies that the options ask for, by default from n_rows lists of references."""
        if options["document_frequency"] is not None:
            return self.load(options["document_frequency"], options["tokenizer"])
        return count_documents(ngram_tokens(references, options["tokenizer"]))


def count_documents(
    documents: TokenRows, source: str | os.PathLike[str] | Mapping[str, Any] | None = None
) -> DocumentFrequency:
    """Return the document frequencies of a table, or counted in the documents."""
    if source is None:
        check_enough_documents(len(documents))
        warn_of_equal_documents(documents)
        return DocumentFrequency(document_frequencies(documents), len(documents))
    check_document_frequency(source)
    return load_document_frequency(source)


# The part of a module that has the option `document_frequency`.
FREQUENCIES: dict[str, Callable[[Any], FrequencyTable]] = {"frequencies": lambda _module: FrequencyTable()}


def check_enough_documents(n_rows: int) -> None:
    """Raise if document frequencies cannot be counted in the references, because there is only one row of them."""
    if n_rows < 2:
        fix = f"Add rows, or give document_frequency= a table. {HOW_TO_MAKE_A_TABLE}"
        raise InputError("references", "at least 2 rows to count document frequencies in", "1", fix)


def frequency_settings(frequency: DocumentFrequency, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the frequencies, for a signature."""
    source = "references" if options["document_frequency"] is None else "table"
    return {"document_frequency": source, "n_documents": frequency.n_documents}
