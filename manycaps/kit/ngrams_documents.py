"""Documents: in how many of them an n-gram of 1 to 4 tokens occurs."""

import functools
import itertools
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import TokenRows
from .errors import InputError
from .files import check_count_table, path_state, read_count_table
from .ngrams import MAX_ORDER, NgramIndex
from .options import Option, by_value
from .words_tokenizers import Tokenizer, check_same_tokenizer, ngram_tokens

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
