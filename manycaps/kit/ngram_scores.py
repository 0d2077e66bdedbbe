"""CIDEr, CIDEr-D, BLEU and ROUGE-L of captions, all from one index of n-grams, and documents counted for them.

The slow versions that the tests compare with are in `tests/oracles` (`coco_cider.py`) and pycocoevalcap 1.2.
"""

import functools
import itertools
import math
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .base import (
    Floats,
    InputError,
    Ints,
    Masks,
    Option,
    TokenList,
    TokenRows,
    as_both_rows,
    as_token_rows,
    by_value,
    check_count_table,
    exact_mean,
    path_state,
    read_count_table,
    row_means,
)
from .tokenization import (
    KEY_BITS,
    RowTexts,
    Tokenizer,
    check_same_tokenizer,
    ngram_tokens,
    run_begins,
    runs_of_keys,
    same_tokens,
)

# --------------------------------------------------------------------------------------------------------------------
# The index: n-grams of the texts of many rows, counted once for all scores.
#
# Sums run over the n-grams of a text in the order of their first use, as in the COCO caption code (pycocoevalcap 1.2):
# a score is the same to the last bit, whatever the other rows are. Of large data one order of n-grams is in memory at
# a time.

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
    squares: scipy.sparse.csr_array
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


# --------------------------------------------------------------------------------------------------------------------
# Documents: in how many of them an n-gram of 1 to 4 tokens occurs.

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


# --------------------------------------------------------------------------------------------------------------------
# Document frequencies from a table that was counted elsewhere: a JSON file or a mapping, never a pickle.

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
        raise InputError(
            "references",
            "at least 2 rows to count document frequencies in",
            "1",
            f"Add rows, or give document_frequency= a table. {HOW_TO_MAKE_A_TABLE}",
        )


def frequency_settings(frequency: DocumentFrequency, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the frequencies, for a signature."""
    source = "references" if options["document_frequency"] is None else "table"
    return {"document_frequency": source, "n_documents": frequency.n_documents}


# --------------------------------------------------------------------------------------------------------------------
# CIDEr and CIDEr-D of Vedantam et al. (2015), https://arxiv.org/abs/1411.5726.
#
# Follows the COCO caption code, which defines the published numbers, where it differs from the paper: a length is the
# number of bigrams, a term frequency is a count, and an order without n-grams scores 0, so that texts of 1, 2 and 3
# tokens score at most 2.5, 5 and 7.5. The score against several references is the mean of the scores against each.

# Number of documents with each n-gram of an order, from its length and the order.
Documents = Callable[[int, NgramOrder], npt.NDArray[np.number]]


def cider_scores(
    index: NgramIndex,
    max_order: int = MAX_ORDER,
    *,
    sigma: float = LENGTH_SIGMA,
    is_clipped: bool = True,
    frequency: Frequency | None = None,
    n_documents: float = 0,
) -> Floats:
    """Score every candidate by CIDEr-D, or by CIDEr, against the references of its row.

    CIDEr-D(c, r) = 10 exp(-(l_c - l_r)^2 / (2 sigma^2)) mean over n of
    sum over w of min(g_w(c), g_w(r)) g_w(r) / (|g(c)| |g(r)|), w running over the n-grams of order n, with
    g_w = tf_w log(n_documents / max(1, df_w)), mean over the references r (section 4). CIDEr (section 3, equation 2) is
    the cosine alone: no minimum, and no penalty.

    Args:
        index: candidates and references.
        max_order: largest n.
        sigma: standard deviation of the penalty.
        is_clipped: whether the score is CIDEr-D.
        frequency: document frequencies; None counts in the references, where every row is a document.
        n_documents: number of documents behind `frequency`.

    Returns:
        float64 array, shape (n_candidates in all,), 0 (worst) to 10 (best), row after row.

    >>> rows = [[["a", "red", "dog"]], [["a", "cat"]]]
    >>> cider_scores(NgramIndex.of_rows(rows, rows)).round(4).tolist()
    [7.5, 5.0]
    """
    documents = _own_documents if frequency is None else _in_table(index, frequency)
    n_documents = len(index.texts.sizes) if frequency is None else n_documents
    pairs = index.pairs()
    orders = _pair_scores(index, pairs, documents, n_documents, max_order, sigma, is_clipped=is_clipped)
    scores = np.stack([_sums(pairs.number, values, len(pairs.size)) for values in orders], axis=1)
    return scores.mean(axis=1) / pairs.size * CIDER_D_MAXIMUM


def drawn_cider_d(index: NgramIndex, hypotheses: Ints, references: Masks) -> Floats:
    """Score a text of each row by CIDEr-D, with document frequencies counted in the references drawn for all rows.

    Args:
        index: sets of texts.
        hypotheses: int64, shape (n_rows,): number of the text of row i that is scored.
        references: uint64, shape (n_rows, n_blocks): masks of the texts that it is compared with.

    Returns:
        float64 array, shape (n_rows,), as `cider_scores` of these candidates and references.
    """
    pairs, n_rows = index.pairs(hypotheses), len(hypotheses)
    _, text = index.texts.members(np.arange(n_rows), references)
    is_reference = np.zeros(len(index.lengths))
    is_reference[text] = 1.0
    is_drawn = is_reference[pairs.reference]

    factor, total = _penalties(index, pairs, LENGTH_SIGMA), np.zeros(len(pairs.number))
    for order, squares, row, ngram, masks in index.drawn:
        is_counted = np.bitwise_or.reduce(masks & references[row], axis=1) > 0
        documents = np.bincount(ngram[is_counted], minlength=len(order.documents))
        weights = ngram_weights(documents, n_rows)
        total += _cosines(index, order, weights, np.sqrt(squares @ weights**2), pairs, is_clipped=True) * factor
    sums, number = (_sums(pairs.number, values, n_rows) for values in (total * is_drawn, is_drawn))
    return sums / number * (CIDER_D_MAXIMUM / MAX_ORDER)


def cider_d_scores(rows: TokenRows, frequencies: Mapping[str, int], n_documents: int) -> list[Floats]:
    """Score every text of a row by CIDEr-D against every text of the row as its only reference.

    Args:
        rows: n_rows rows of token lists.
        frequencies: number of documents with each n-gram, as from `document_frequencies`; an n-gram that is not in it
            counts as one of a single document.
        n_documents: number of documents behind `frequencies`.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 (nothing in common) to 10; [i, j] has text i as the
        candidate and text j as the reference.

    >>> rows = [[["a", "red", "dog"], ["a", "red", "dog"]], [["a", "cat"], ["the", "cat"]]]
    >>> [scores[0, 1].round(4).tolist() for scores in cider_d_scores(rows, {"a": 2, "red": 1, "dog": 1, "cat": 1}, 2)]
    [7.5, 1.7678]
    """
    return [values * CIDER_D_MAXIMUM for values in _row_matrices(rows, frequencies, n_documents, is_clipped=True)]


def ngram_cosines(rows: TokenRows, frequencies: Mapping[str, int], n_documents: int) -> list[Floats]:
    """Return the mean over n of the cosines of a row's pairs of texts, CIDEr / 10, as `cider_d_scores`; symmetric."""
    matrices = _row_matrices(rows, frequencies, n_documents, is_clipped=False)
    return [(values + values.T) / 2 for values in matrices]


def _row_matrices(
    rows: TokenRows, frequencies: Mapping[str, int], n_documents: int, *, is_clipped: bool
) -> list[Floats]:
    """Scores of all pairs of texts of each row, 0 to 1: shape (n_texts, n_texts)."""
    index = NgramIndex.of_sets(rows)
    documents = _in_table(index, joined_frequency(frequencies))
    total = sum(_pair_scores(index, index.pairs(), documents, n_documents, is_clipped=is_clipped)) / MAX_ORDER
    sizes = index.texts.sizes
    return [part.reshape(n, n) for part, n in zip(np.split(total, np.cumsum(sizes**2)), sizes, strict=False)]


def cider_distances(rows: TokenRows, scores: Sequence[Floats]) -> list[Floats]:
    """Turn CIDEr-D scores into distances: d(x, y) = 10 - CIDEr-D(candidate x, reference y).

    Equal token sequences have distance 0 by definition, since a short text scores below 10 against itself and the
    triangle-rank statistic needs d(x, x) = 0.

    `rows` are token lists, and `scores`, float64 of shape (n_texts, n_texts) for each row, come from `cider_d_scores`.
    The distances have that shape: 0 to 10, not symmetric.

    >>> cider_distances([[["a"], ["b"]]], [np.array([[2.5, 1.0], [2.0, 2.5]])])[0].tolist()
    [[0.0, 9.0], [8.0, 0.0]]
    """
    return [
        np.where(same_tokens(row), 0.0, CIDER_D_MAXIMUM - row_scores)
        for row, row_scores in zip(rows, scores, strict=True)
    ]


def multi_reference_cider_d(scores: Floats, n_candidates: int) -> Floats:
    """Return the mean over the candidates of CIDEr-D against all references, which is the mean over the references.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with the CIDEr-D of the COCO caption code.

    `scores`, float64 of shape (n_rows, n_texts, n_texts), come from `cider_d_scores`, candidates first. Shape
    (n_rows,), 0 (worst) to 10 (best).

    >>> multi_reference_cider_d(np.array([[[9.0, 1.0, 2.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]]), 1).tolist()
    [1.5]
    """
    means: Floats = scores[:, :n_candidates, n_candidates:].mean(axis=(1, 2))
    return means


def ngram_weights(documents: npt.NDArray[np.number], n_documents: float) -> Floats:
    """Return the inverse document frequency of each n-gram: log(n_documents / max(1, documents))."""
    weights: Floats = np.log(float(n_documents)) - np.log(np.maximum(1.0, documents))
    return weights


def document_weights(index: NgramIndex, documents: DocumentFrequency | int) -> list[Floats]:
    """Return the weights of the n-grams of each order, by a table, or as counted in so many rows of references."""
    if isinstance(documents, int):
        return [ngram_weights(order.documents, documents) for order in index.orders()]
    table_counts = _in_table(index, joined_frequency(documents.counts))
    return [ngram_weights(table_counts(n, order), documents.n_documents) for n, order in enumerate(index.orders(), 1)]


def weigh_ngrams(index: NgramIndex, order: NgramOrder, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted frequency of each entry, and the length of each text's vector of them.

    A text of n-grams that are in every document, which weigh 0, has the length 0; it scores 0.
    """
    values = order.frequency * weights[order.ngram]
    squares = np.zeros(len(index.words))
    squares[order.position] = values**2  # at the first use, so that they are added in the order of the text
    return values, np.sqrt(_sums(index.text_of_word, squares, len(index.lengths)))


def _own_documents(_n: int, order: NgramOrder) -> Ints:
    """Documents counted in the references, each row of them one."""
    return order.documents


def _in_table(index: NgramIndex, frequency: Frequency) -> Documents:
    """Documents out of a table."""
    return lambda n, order: np.fromiter(frequency(index.ngrams(order, n)), np.float64, len(order.documents))


def _pair_scores(
    index: NgramIndex,
    pairs: Pairs,
    documents: Documents,
    n_documents: float,
    max_order: int = MAX_ORDER,
    sigma: float = LENGTH_SIGMA,
    *,
    is_clipped: bool = True,
) -> Iterator[Floats]:
    """For each order the score of every pair, 0 to 1: its cosine, clipped and with the penalty if so."""
    factor = _penalties(index, pairs, sigma) if is_clipped and max_order > 1 else 1.0
    for n, order in enumerate(index.orders(max_order), start=1):
        weights = ngram_weights(documents(n, order), n_documents)
        norms = weigh_ngrams(index, order, weights)[1]
        yield _cosines(index, order, weights, norms, pairs, is_clipped=is_clipped) * factor


def _cosines(
    index: NgramIndex, order: NgramOrder, weights: Floats, norms: Floats, pairs: Pairs, *, is_clipped: bool
) -> Floats:
    """Cosine of every pair, with clipping if so."""
    # The number of a pair is its reference's, plus one that depends on the candidate.
    offset = np.zeros(len(norms), np.int64)
    offset[pairs.candidate[pairs.first]] = pairs.first - pairs.reference[pairs.first]
    products = np.zeros(len(pairs.number))
    for entry, size, other in index.matches(order, pairs.some):
        own = weights[order.ngram[entry]]
        mine, theirs = (own * order.frequency[entry]).repeat(size), own.repeat(size) * order.frequency[other]
        terms = (np.minimum(mine, theirs) if is_clipped else mine) * theirs
        pair = offset[order.text[entry]].repeat(size) + order.text[other]
        first = int(pair.min())
        sums = np.bincount(pair - first, terms)
        products[first : first + len(sums)] += sums
    scale = norms[pairs.candidate] * norms[pairs.reference]
    return np.divide(products, scale, out=products, where=scale != 0)


def _penalties(index: NgramIndex, pairs: Pairs, sigma: float) -> Floats:
    """Penalty of every pair, by Python's power: NumPy's differs in the last digit."""
    n_bigrams = np.maximum(index.lengths - 1, 0)
    difference = np.abs(n_bigrams[pairs.candidate] - n_bigrams[pairs.reference])
    values = np.zeros(int(difference.max(initial=0)) + 1)
    distinct = np.flatnonzero(np.bincount(difference, minlength=1))
    values[distinct] = [np.e ** (-(float(value) ** 2) / (2 * sigma**2)) for value in distinct.tolist()]
    return values[difference]


# --------------------------------------------------------------------------------------------------------------------
# BLEU as the COCO caption code computes it, on arrays: of candidates, of a corpus, and self-BLEU.

# What the COCO caption code (pycocoevalcap 1.2, bleu_scorer.py, compute_score) adds to matches and to totals, so that
# nothing is divided by 0. They belong to the published numbers: BLEU-4 of a caption without a common 4-gram is about
# 0.0001, and of three equal words 0.0316, and not 0.
TINY, SMALL = 1e-15, 1e-9

# Columns of the statistics of a candidate: matches and numbers of its 1- to 4-grams, and lengths.
STATISTICS = (
    *(f"matches_{order}" for order in range(1, MAX_ORDER + 1)),
    *(f"ngrams_{order}" for order in range(1, MAX_ORDER + 1)),
    *("candidate_length", "reference_length"),
)


def bleu_scores(statistics: npt.NDArray[np.number]) -> Floats:
    """Turn the statistics of candidates, or their sums, into BLEU-1 to BLEU-4.

    BLEU-N = B (p_1 ... p_N)^(1/N), p_n = (matches_n + 1e-15) / (ngrams_n + 1e-9). With q = (c + 1e-15) / (r + 1e-9),
    c the length of the candidate and r the nearest length of a reference, the brevity penalty B is
    exp(1 - 1/q) where q < 1, else 1.

    Powers are the C library's, which NumPy's differ from in the last digit.

    Args:
        statistics: array, shape (n, 10), columns as `STATISTICS`; for BLEU-1 to BLEU-N shape (n, 2 N + 2).

    Returns:
        float64 array, shape (n, 4), or (n, N), 0 (worst) to 1 (best).

    >>> bleu_scores(np.array([[2, 1, 0, 0, 2, 1, 0, 0, 2, 4]]))[0, :2].round(4).tolist()
    [0.3679, 0.3679]
    """
    numbers = np.asarray(statistics, np.float64)
    n = numbers.shape[1] // 2 - 1
    precisions: Floats = (numbers[:, :n] + TINY) / (numbers[:, n : 2 * n] + SMALL)
    scores: Floats = np.multiply.accumulate(precisions, axis=1)  # (n_texts, n)
    for k in range(1, n):
        exponent = 1.0 / (k + 1)
        scores[:, k] = [product**exponent for product in scores[:, k].tolist()]
    ratio = (numbers[:, -2] + TINY) / (numbers[:, -1] + SMALL)
    is_short = ratio < 1
    scores[is_short] *= np.array([math.exp(1 - 1 / value) for value in ratio[is_short].tolist()])[:, None]
    return scores


def bleu_of_sums(statistics: npt.NDArray[np.number]) -> Floats:
    """Compute BLEU-1 to BLEU-4 of a corpus, float64, (4,), 0 (worst) to 1 (best): of summed statistics, not a mean."""
    return bleu_scores(statistics.sum(axis=0)[None])[0]


def bleu_statistics(index: NgramIndex, max_order: int = MAX_ORDER) -> Ints:
    """Count the statistics of BLEU of every candidate against the references of its row, row after row.

    An n-gram of a candidate matches as often as it occurs in the reference that has it most often; of two
    references equally near in length the shorter one counts.

    Returns:
        int64 array, shape (n_candidates in all, 2 max_order + 2), columns as `STATISTICS`.

    >>> texts = NgramIndex.of_rows([[["a", "a", "dog"]]], [[["a", "dog"], ["a", "red", "dog", "runs"]]])
    >>> bleu_statistics(texts)[0].tolist()
    [2, 1, 0, 0, 3, 2, 1, 0, 3, 2]
    """
    n_texts, matches = len(index.lengths), []
    for order in index.orders(max_order):
        entry = np.sort(order.matched)  # cell by cell, so that ranges of references follow each other
        end = order.cell_end[order.cell[entry]]
        bounds = np.stack([end - order.n_references[order.cell[entry]], end], axis=1).ravel()
        most = np.maximum.reduceat(np.append(order.frequency, 0), bounds)[::2] if len(bounds) else end
        clipped = np.minimum(order.frequency[entry], most)
        matches.append(np.bincount(order.text[entry], clipped, n_texts)[index.candidates].astype(np.int64))
    nearest = [np.zeros(0, np.int64)]
    for pairs in index.pair_parts():
        nearest.append(_nearest_lengths(index.lengths[pairs.candidate], index.lengths[pairs.reference], pairs.first))
    return _statistics(index, index.candidates, matches, np.concatenate(nearest))


def drawn_bleu_statistics(index: NgramIndex, candidates: Ints, references: Masks) -> Ints:
    """Count the statistics of BLEU of some texts, each against others of its row: as `bleu_statistics`.

    `index` has sets of texts. `candidates` is int64, shape (n,): numbers of the texts that are scored; `references` is
    uint64, shape (n, n_blocks): masks of the texts of the same row that each is compared with, at least one.
    """
    matches = []
    for first, masks in index.use_masks:
        number = first[candidates + 1] - first[candidates]
        position = np.repeat(np.arange(len(candidates)), number)
        use = np.arange(len(position)) + np.repeat(first[candidates] - _starts(number), number)
        is_match = (masks[use] & references[position]).any(axis=1)
        matches.append(np.bincount(position, is_match, len(candidates)).astype(np.int64))
    position, text = index.texts.members(index.texts.row[candidates], references)
    first = np.searchsorted(position, np.arange(len(candidates)))
    nearest = _nearest_lengths(index.lengths[candidates[position]], index.lengths[text], first)
    return _statistics(index, candidates, matches, nearest)


def _statistics(index: NgramIndex, candidates: Ints, matches: Sequence[Ints], nearest: Ints) -> Ints:
    """Columns as `STATISTICS`."""
    lengths = index.lengths[candidates]
    numbers = [np.maximum(lengths - order, 0) for order in range(len(matches))]
    return np.stack([*matches, *numbers, lengths, nearest], axis=1)


def _nearest_lengths(candidate: Ints, reference: Ints, first: Ints) -> Ints:
    """Length of the reference nearest in length to each candidate, the shorter one of two, of pairs from `first`."""
    width = int(reference.max(initial=0)) + 1
    keys = np.abs(reference - candidate) * width + reference
    nearest: Ints = np.minimum.reduceat(keys, first) % width if len(first) else first
    return nearest


# Matches that an order without one counts as: method 1 of Chen and Cherry (2014), https://aclanthology.org/W14-3346,
# with NLTK's epsilon.
EPSILON = 0.1


def smoothed_bleu(statistics: np.ndarray) -> np.ndarray:
    """Return BLEU-4 of single captions as NLTK's `sentence_bleu` with smoothing method 1 computes it.

    Self-BLEU is made of it (Zhu et al., 2018, section 2.3, https://arxiv.org/abs/1802.01886). It differs from the BLEU
    of the COCO caption code where an order has no match: that counts 0.1 matches here, and 1e-15 there.

    Args:
        statistics: array, shape (n, 10): matches and numbers of the 1- to 4-grams, length, nearest reference's length.

    Returns:
        float64 array, shape (n,), 0 to 1; 0 where no word matches.

    >>> smoothed_bleu(np.array([[4, 3, 2, 1, 4, 3, 2, 1, 4, 4], [0, 0, 0, 0, 1, 0, 0, 0, 1, 1]])).tolist()
    [1.0, 0.0]
    """
    numbers = np.asarray(statistics, dtype=np.float64)
    matches, totals = numbers[:, :MAX_ORDER], np.maximum(numbers[:, MAX_ORDER : 2 * MAX_ORDER], 1.0)
    precisions = np.where(matches > 0, matches, EPSILON) / totals
    length, reference = numbers[:, -2], numbers[:, -1]
    # Where no word matches the score is 0, whatever the length.
    penalty = np.exp(np.minimum(0.0, 1.0 - reference / np.maximum(length, 1.0)))
    scores: np.ndarray = np.where(matches[:, 0] > 0, penalty * np.exp(np.log(precisions).mean(axis=1)), 0.0)
    return scores


def self_statistics(sets: Sequence[Sequence[Sequence[str]]]) -> list[np.ndarray]:
    """Count the statistics of BLEU, as `STATISTICS`, for each caption of a set against all others of it.

    For each set an int64 array, shape (n_captions, 10); shape (0, 10) for one caption.

    >>> self_statistics([[["a", "dog"], ["a", "cat"]], [["a"]]])[0][:, [0, 4]].tolist()
    [[1, 2], [1, 2]]
    """
    larger = [i for i, texts in enumerate(sets) if len(texts) > 1]
    statistics_of_sets = [np.zeros((0, 2 * MAX_ORDER + 2), dtype=np.int64) for _ in sets]
    if not larger:
        return statistics_of_sets
    index = NgramIndex.of_sets([sets[i] for i in larger])
    statistics = drawn_bleu_statistics(index, index.candidates, index.texts.others(index.candidates))
    for i, rows in zip(larger, np.split(statistics, index.texts.first[1:-1]), strict=True):
        statistics_of_sets[i] = rows
    return statistics_of_sets


def self_bleu_values(statistics: Sequence[np.ndarray]) -> dict[str, list[float]]:
    """Return mBLEU-4 and self-BLEU-4 of each set.

    mBLEU-4 is the mean over a set's captions of the COCO caption code's BLEU-4 against the others (Shetty et al., 2017,
    section 5.1, https://arxiv.org/abs/1703.10476); self-BLEU-4 the same with `smoothed_bleu`.

    Returns:
        `mbleu_4` and `self_bleu_4`: lists of n_sets floats, 0 (nothing in common) to 1; NaN for one caption.
    """
    scorers = {"mbleu_4": lambda counts: bleu_scores(counts)[:, -1], "self_bleu_4": smoothed_bleu}
    return {
        name: [exact_mean(scores(counts)) if len(counts) else math.nan for counts in statistics]
        for name, scores in scorers.items()
    }


def corpus_mbleu_4(statistics: Sequence[np.ndarray]) -> float:
    """Return mBLEU-4 of a corpus: the first captions of all sets are one corpus, the second ones another, and so on.

    The mean over places of the COCO caption code's corpus BLEU-4, 0 to 1: what programs for several captions per image
    print. Unlike all other values it depends on the order of the captions in a set. NaN where no set has two captions.
    """
    n_places = max((len(counts) for counts in statistics), default=0)
    corpora = [
        np.stack([counts[position] for counts in statistics if len(counts) > position]) for position in range(n_places)
    ]
    return exact_mean([bleu_of_sums(corpus)[-1] for corpus in corpora])


# --------------------------------------------------------------------------------------------------------------------
# Sentence BLEU and CIDEr-D of many candidates against the references of many rows, each with each.
#
# As the COCO caption code computes them for a single caption. The smaller of two frequencies is the number of k = 1 ...
# that neither is below, so the clipped sums of an order are a product of two matrices, with a column for each n-gram
# and each k up to its frequency.


class CrossBleu:
    """BLEU of order 1 to 4, Papineni et al. (2002), https://aclanthology.org/P02-1040: n-grams counted once.

    The matrices hold zeros and ones: whether a candidate, or a reference of a row, has an n-gram at least k times.
    """

    def __init__(self, candidates: Sequence[TokenList], rows: TokenRows, order: int = MAX_ORDER) -> None:
        """Count the n-grams of candidates, token lists, and of rows of references."""
        self.n_orders = order
        index = _cross_index(candidates, rows)
        self.lengths, row = index.lengths[: len(candidates)], index.texts.row[len(candidates) :] - 1
        self.products = []
        for ngrams in index.orders(order):
            own, reference_levels = _level_matrices(ngrams, np.ones(len(ngrams.text)), len(candidates), len(row))
            row_levels = scipy.sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), (len(rows), len(row)))
            row_levels = row_levels @ reference_levels
            row_levels.data[:] = 1  # references of a row share columns: one of them is enough
            self.products.append((own, row_levels.T.tocsr()))
        self.penalties = _brevity_penalties(self.lengths, index.lengths[len(candidates) :], row, len(rows))

    def scores(self, begin: int, end: int) -> Floats:
        """Score some candidates against every row: float64, shape (end - begin, n_rows), 0 (worst) to 1 (best)."""
        lengths = self.lengths[begin:end]
        product: Floats = np.ones((end - begin, self.products[0][1].shape[1]))
        for order, (candidate_levels, row_levels) in enumerate(self.products):
            matches = (candidate_levels[begin:end] @ row_levels).toarray()
            matches += TINY
            matches /= (np.maximum(lengths - order, 0) + SMALL)[:, None]
            product *= matches
        if self.n_orders == MAX_ORDER:
            np.sqrt(np.sqrt(product, out=product), out=product)
        else:
            product **= 1 / self.n_orders
        first = np.searchsorted(self.penalties[0], lengths)
        product *= self.penalties[1][first]
        return product


class CrossCider:
    """CIDEr-D (`cider_scores`): n-grams counted once; document frequencies count the rows of references.

    The matrices hold weights: the candidate's, and the reference's times its frequency, both divided by their lengths.
    The penalty depends on both lengths, so the references of every row are added up for all candidates of one length.
    """

    def __init__(self, candidates: Sequence[TokenList], rows: TokenRows) -> None:
        """Count the n-grams of candidates, and of rows of references, which are the documents: token lists of each."""
        index, n = _cross_index(candidates, rows), len(candidates)
        sides = []
        for order in index.orders():
            values, norms = weigh_ngrams(index, order, ngram_weights(order.documents, len(rows)))
            units = np.divide(values, norms[order.text], out=np.zeros(len(values)), where=norms[order.text] > 0)
            # Of a candidate once for each k, of a reference with all of its frequency.
            units[order.text < n] /= order.frequency[order.text < n]
            sides.append(_level_matrices(order, units, n, len(index.lengths) - n))
        self.candidate_weights, self.reference_weights = (
            scipy.sparse.hstack(parts, format="csr") for parts in zip(*sides, strict=True)
        )
        n_bigrams, row = np.maximum(index.lengths - 1, 0), index.texts.row[n:] - 1
        self.lengths, self.reference_lengths = n_bigrams[:n], n_bigrams[n:]
        self.membership = row, CIDER_D_MAXIMUM / MAX_ORDER / index.texts.sizes[row + 1]
        self.n_rows = len(rows)
        # Candidates of one length stand together, so that the references are added up once for each length.
        self.order: Ints = np.argsort(self.lengths, kind="stable")
        self.added_up: tuple[int, scipy.sparse.csr_array] | None = None

    def scores(self, begin: int, end: int) -> Floats:
        """Score some candidates against every row.

        Shape (end - begin, n_rows), float64 from 0 (worst) to 10 (best): line i belongs to the candidate order[begin +
        i].
        """
        chosen = self.order[begin:end]
        lengths = self.lengths[chosen]
        result = np.empty((len(chosen), self.n_rows))
        for length in np.unique(lengths).tolist():
            is_here = lengths == length
            result[is_here] = (self.candidate_weights[chosen[is_here]] @ self._rows(length)).toarray()
        return result

    def _rows(self, length: int) -> scipy.sparse.csr_array:
        """References of every row, added up with their penalties for candidates of a length: (n_columns, n_rows)."""
        if self.added_up is None or self.added_up[0] != length:
            row, weight = self.membership
            penalty = np.exp(-((length - self.reference_lengths) ** 2) / (2 * LENGTH_SIGMA**2))
            adding = scipy.sparse.csr_array(
                (weight * penalty, (row, np.arange(len(row)))), shape=(self.n_rows, len(row))
            )
            self.added_up = length, (adding @ self.reference_weights).T.tocsr()
        return self.added_up[1]


def _cross_index(candidates: Sequence[TokenList], rows: TokenRows) -> NgramIndex:
    """N-grams of all candidates, as a row of their own, and of rows of references."""
    return NgramIndex.of_rows([candidates, *([[]] * len(rows))], [[], *rows])


def _level_matrices(
    order: NgramOrder, values: Floats, n_candidates: int, n_references: int
) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """Write the values of entries into matrices (n_candidates, n_columns) and (n_references, n_columns).

    The columns are the pairs of an n-gram and k = 1 ... that both sides have.
    """
    level, n_levels = _levels(order.frequency)
    text, value = order.text.repeat(order.frequency), values.repeat(order.frequency)
    column = order.ngram.repeat(order.frequency) * n_levels + level
    is_candidate = text < n_candidates
    shared = np.intersect1d(column[is_candidate], column[~is_candidate])
    number = np.searchsorted(shared, column)
    is_used = np.append(shared, -1)[number] == column
    own, theirs = (
        scipy.sparse.csr_array((value[side], (text[side] - first, number[side])), shape=(n, len(shared)))
        for side, first, n in (
            (is_used & is_candidate, 0, n_candidates),
            (is_used & ~is_candidate, n_candidates, n_references),
        )
    )
    return own, theirs


def _brevity_penalties(candidate: Ints, reference: Ints, row: Ints, n_rows: int) -> tuple[Ints, Floats]:
    """Distinct lengths of candidates, and the brevity penalty of each with every row: (n_lengths, n_rows)."""
    lengths = np.unique(candidate)
    first = np.searchsorted(row, np.arange(n_rows))
    nearest = np.array([_nearest_lengths(length, reference, first) for length in lengths]).reshape(-1, n_rows)
    ratio = (lengths[:, None] + TINY) / (nearest + SMALL)
    return lengths, np.exp(np.minimum(1 - 1 / ratio, 0))


# --------------------------------------------------------------------------------------------------------------------
# ROUGE-L of many candidates at once, as the COCO caption code computes it, and both scores of every candidate.

# Weight of recall over precision (pycocoevalcap 1.2, rouge.py; Chen et al. 2015, section 4.3).
BETA = 1.2

# Words of a text that are bits of one number.
N_BITS = 64

# Words of texts, each beside all of the other text, that are compared at once, 8 bytes each in a few arrays.
MAX_CELLS = 2_000_000


def f_measure(precision: Floats, recall: Floats, beta: float = BETA) -> Floats:
    """Return ROUGE-L = (1 + beta^2) P R / (R + beta^2 P); 0 where P or R is 0.

    Args:
        precision: float64 array: the largest share of the candidate in a common subsequence with a reference.
        recall: float64 array of that shape: the largest share of a reference; not always the same reference.
        beta: weight of recall over precision.

    Returns:
        float64 array of that shape, 0 (worst) to 1 (best).

    >>> f_measure(np.array([1.0, 0.5]), np.array([1.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    weighted = (1 + beta**2) * precision * recall
    total = recall + beta**2 * precision
    return np.divide(weighted, total, out=np.zeros_like(total), where=(precision > 0) & (recall > 0))


def rouge_l_scores(index: NgramIndex, beta: float = BETA) -> Floats:
    """Score every candidate against the references of its row by ROUGE-L: float64, shape (n_candidates,), 0 to 1.

    Precision and recall are the best of all references, each for itself, as in the COCO caption code; Lin (2004) takes
    the best score of a single reference. The score of a corpus is the mean.

    >>> texts = NgramIndex.of_rows([[["a", "red", "dog"]]], [[["a", "dog"], ["cat"]]])
    >>> rouge_l_scores(texts).round(4).tolist()
    [0.8299]
    """
    scores = [np.zeros(0)]
    for pairs in index.pair_parts():
        shares = precisions_and_recalls(index, pairs.candidate, pairs.reference)
        precision, recall = (np.maximum.reduceat(share, pairs.first) for share in shares)
        scores.append(f_measure(precision, recall, beta))
    return np.concatenate(scores)


def precisions_and_recalls(index: NgramIndex, candidate: Ints, reference: Ints) -> tuple[Floats, Floats]:
    """Return the share of the candidate, and of the reference, in the longest common subsequence of each pair of texts.

    A text without tokens counts as one empty token, as in the COCO caption code. `candidate` and `reference` are int64,
    shape (n_pairs,): numbers of texts. Returns two float64 arrays of that shape, 0 to 1.

    >>> texts = NgramIndex.of_sets([[["a", "red", "dog"], ["a", "dog"]]])
    >>> precisions_and_recalls(texts, np.array([0]), np.array([1]))[1].tolist()
    [1.0]
    """
    common, lengths = common_lengths(index, candidate, reference), index.lengths
    common[(lengths[candidate] == 0) & (lengths[reference] == 0)] = 1
    filled = np.maximum(lengths, 1)
    return common / filled[candidate], common / filled[reference]


def common_lengths(index: NgramIndex, first: Ints, second: Ints) -> Ints:
    """Return the length of the longest common subsequence of each pair of texts: int64, shape (n_pairs,).

    `first` and `second` are int64, shape (n_pairs,): numbers of texts.

    >>> texts = NgramIndex.of_sets([[["a", "red", "dog", "runs"], ["red", "a", "dog"]]])
    >>> common_lengths(texts, np.array([0]), np.array([1])).tolist()
    [2]
    """
    words, lengths, start = index.words, index.lengths, _starts(index.lengths)
    # The table of a pair has a line for each word of the shorter text, whichever text that is.
    swap = lengths[first] > lengths[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    order = np.lexsort((lengths[second], lengths[first]))
    result = np.zeros(len(first), np.int64)
    begin = 0
    while begin < len(order):
        end = _batch_end(lengths[second[order]], begin)
        these = order[begin:end]
        if lengths[second[these]].max() <= N_BITS:
            result[these] = _common_lengths(words, start, lengths, first[these], second[these])
        else:
            texts = ([words[start[i] :][: lengths[i]].tolist() for i in side[these]] for side in (first, second))
            result[these] = list(map(_common_length, *texts))
        begin = end
    return result


def _batch_end(widths: Ints, begin: int) -> int:
    """End of the pairs whose tables of one line have at most `MAX_CELLS` cells; at least one pair."""
    widest = np.maximum.accumulate(widths[begin : begin + MAX_CELLS]) + 1
    return begin + max(1, int(np.searchsorted(widest * np.arange(1, len(widest) + 1), MAX_CELLS, side="right")))


def _common_lengths(words: Ints, start: Ints, lengths: Ints, first: Ints, second: Ints) -> Ints:
    """Common subsequences of a batch of pairs of short texts: a line of the table of a pair is the bits of a number.

    Cell (i, j) is max(cell (i - 1, j), cell (i, j - 1), cell (i - 1, j - 1) + 1 if the words are equal). Bit j is 0
    where the line grows at word j of the second text (Hyyrö 2004, "Bit-parallel LCS-length computation revisited",
    section 2).
    """
    position = np.arange(int(lengths[second].max(initial=0)))[:, None]
    inside = position < lengths[second]  # (width, n_pairs)
    other = np.where(inside, _words_at(words, start[second] + position), -1)
    bits = np.left_shift(np.uint64(1), position.astype(np.uint64))
    line = np.full(len(first), ~np.uint64(0))
    for i in range(int(lengths[first].max(initial=0))):
        word = np.where(i < lengths[first], _words_at(words, start[first] + i), -2)  # equal to no word
        matches = line & np.bitwise_or.reduce(np.where(other == word, bits, np.uint64(0)), axis=0)
        line = (line + matches) | (line - matches)
    return np.unpackbits((~line).view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1, dtype=np.int64)


def _common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """The same of two texts of any length, whose line is one of Python's whole numbers."""
    places: dict[int, int] = {}
    for j, word in enumerate(second):
        places[word] = places.get(word, 0) | 1 << j
    line = whole = (1 << len(second)) - 1
    for word in first:
        matches = line & places.get(word, 0)
        line = (line + matches | line - matches) & whole
    return len(second) - line.bit_count()


def _words_at(words: Ints, position: Ints) -> Ints:
    """Words at these indices; any word where an index is out of range."""
    return words[np.minimum(position, len(words) - 1)]


def candidate_scores(
    candidates: TokenRows, references: TokenRows
) -> tuple[dict[str, np.ndarray], npt.NDArray[np.int64]]:
    """Score every candidate, and return the statistics for BLEU of the corpus.

    Returns:
        Float64 arrays, shape (n_candidates,), row after row, by key: "bleu_1" to "bleu_4" and "rouge_l", 0 (worst) to 1
        (best); and an int64 array, shape (n_candidates, 10), as `STATISTICS`.

    >>> scores, _ = candidate_scores([[["a", "red", "dog"]]], [[["a", "red", "dog"], ["a", "cat"]]])
    >>> {key: round(float(values[0]), 4) for key, values in scores.items() if key != "bleu_4"}
    {'bleu_1': 1.0, 'bleu_2': 1.0, 'bleu_3': 1.0, 'rouge_l': 1.0}
    """
    texts = NgramIndex.of_rows(candidates, references)
    statistics = bleu_statistics(texts)
    scores = {f"bleu_{n}": values for n, values in enumerate(bleu_scores(statistics).T, start=1)}
    return scores | {"rouge_l": rouge_l_scores(texts)}, statistics


def bleu_rows(candidates: TokenRows, references: TokenRows) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Return the statistics of all candidates in one line, and the number of candidates of each row."""
    candidates, references = as_both_rows(candidates, references)
    return bleu_statistics(NgramIndex.of_rows(candidates, references)), list(map(len, candidates))


def cider_d(
    candidates: TokenRows,
    references: TokenRows,
    document_frequency: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Floats:
    """Score the candidates of every row against all references of the row by CIDEr-D.

    Mean over the references and over the candidates of 10 exp(-(l_c - l_r)^2 / 72) times the clipped tf-idf cosine,
    averaged over n-grams of 1 to 4 tokens (Vedantam et al. 2015, section 4, https://arxiv.org/abs/1411.5726), as the
    COCO caption code computes it.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.
        document_frequency: path of a JSON file, or a mapping, of the layout
            {"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}; None counts in the references, where every
            row is a document.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to 10 (best).

    Raises:
        TypeError: a text is not a list of tokens, or the table is of another type.
        ValueError: the columns differ in length, a row has no text on one side, the table has another layout, or it is
            None and there is one row.

    >>> rows = [[["a", "red", "dog"]], [["a", "cat"]]]
    >>> cider_d(rows, rows).round(4).tolist()
    [7.5, 5.0]
    """
    candidates, references = as_both_rows(candidates, references)
    counts, n_documents = count_documents(references, document_frequency)
    scores = cider_d_scores(
        [[*texts, *others] for texts, others in zip(candidates, references, strict=True)], counts, n_documents
    )
    return np.array([multi_reference_cider_d(s[None], len(c))[0] for s, c in zip(scores, candidates, strict=True)])


def bleu(candidates: TokenRows, references: TokenRows) -> Floats:
    """Score the candidates of every row against all references of the row by BLEU-1 to BLEU-4.

    Brevity penalty times the geometric mean of the clipped precisions of n-grams of 1 to N tokens, of each candidate
    alone (Papineni et al. 2002, https://aclanthology.org/P02-1040); mean over the candidates. As in the COCO caption
    code the reference of the nearest length counts, and 1e-15 and 1e-9 keep a precision of 0 above 0: without a common
    4-gram BLEU-4 is about 0.0001. The score of a corpus is another one: `corpus_bleu`.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.

    Returns:
        float64 array, shape (n_rows, 4), 0 (worst) to 1 (best).

    Raises:
        TypeError: a text is not a list of tokens.
        ValueError: the columns differ in length, or a row has no text on one side.

    >>> bleu([[["a", "red", "dog"]]], [[["a", "dog"], ["a", "red", "cat"]]])[0, :2].round(4).tolist()
    [1.0, 0.7071]
    """
    statistics, sizes = bleu_rows(candidates, references)
    return np.stack([np.array(row_means(scores, sizes)) for scores in bleu_scores(statistics).T], axis=1)


def corpus_bleu(candidates: TokenRows, references: TokenRows) -> Floats:
    """Score all candidates together by BLEU-1 to BLEU-4, as papers report it.

    The n-grams and lengths of all candidates are summed before anything is divided; otherwise as `bleu`.

    Args:
        candidates: as for `bleu`.
        references: as for `bleu`.

    Returns:
        float64 array, shape (4,), 0 (worst) to 1 (best).

    Raises:
        TypeError, ValueError: as `bleu`.

    >>> corpus_bleu([[["a", "dog"]], [["a", "cat"]]], [[["a", "dog"]], [["the", "cow"]]])[:2].round(4).tolist()
    [0.5, 0.5]
    """
    return bleu_of_sums(bleu_rows(candidates, references)[0])


def rouge_l(candidates: TokenRows, references: TokenRows) -> Floats:
    """Score the candidates of every row against all references of the row by ROUGE-L.

    (1 + 1.44) P R / (R + 1.44 P), P and R the shares of the candidate and of a reference in their longest common
    subsequence, each the best over the references, as in the COCO caption code (Lin 2004, section 3.1,
    https://aclanthology.org/W04-1013); mean over the candidates. The score of a corpus is the mean.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to 1 (best).

    Raises:
        TypeError, ValueError: as `bleu`.

    >>> rouge_l([[["a", "red", "dog"]]], [[["a", "dog"]]]).round(4).tolist()
    [0.8299]
    """
    candidates, references = as_both_rows(candidates, references)
    scores = rouge_l_scores(NgramIndex.of_rows(candidates, references))
    return np.array(row_means(scores, list(map(len, candidates))))


def cider_d_distances(texts: TokenRows, document_frequency: str | os.PathLike[str] | Mapping[str, Any]) -> list[Floats]:
    """Give the CIDEr-D distance of all pairs of texts of a row: d(x, y) = 10 - CIDEr-D(candidate x, reference y).

    Texts with equal tokens have distance 0. For `triangle_rank_statistic`, stack rows of equal sizes.

    Args:
        texts: n_rows lists of token lists, at least one text per row.
        document_frequency: as for `cider_d`; must be given, since texts do not say which of them are references.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 to 10, not symmetric.

    Raises:
        TypeError, ValueError: as `cider_d`.

    >>> cider_d_distances([[["a"], ["b"]]], {"n_documents": 2, "document_frequency": {}})[0].tolist()
    [[0.0, 10.0], [10.0, 0.0]]
    """
    texts = as_token_rows(texts, "texts")
    counts, n_documents = count_documents(texts, document_frequency)
    distances: list[Floats] = cider_distances(texts, cider_d_scores(texts, counts, n_documents))
    return distances
