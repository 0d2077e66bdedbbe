"""N-grams of sets of captions as matrices, one row per caption: a kernel is the product of a matrix with itself."""

from collections.abc import Sequence

import numpy as np

from .shared_document_frequency import DocumentFrequency
from .shared_ngrams import ngram_ids, word_ids

# N-gram orders 1 to 4, equally weighted: CIDEr's (Vedantam et al., 2015, section 4), and those of the Vendi score's
# authors for text.
MAX_ORDER = 4

# A set of captions: its first caption and the one behind its last.
Range = tuple[int, int]


class SetNgrams:
    """The n-grams of many sets of captions, numbered once for all of them.

    Args:
        sets: n_sets lists of token lists.

    >>> ngrams = SetNgrams([[["a", "dog"], ["a", "cat"]]])
    >>> ngrams.features(0, None)[:, :3].round(4).tolist()  # a, cat and dog: a caption's words have the length 1/2
    [[0.3536, 0.0, 0.3536], [0.3536, 0.3536, 0.0]]
    """

    def __init__(self, sets: Sequence[Sequence[Sequence[str]]]) -> None:
        # Numbered by the alphabet, so that sums over the n-grams of a set have one order, whatever the other sets are.
        vocabulary = {
            word: i for i, word in enumerate(sorted({word for texts in sets for tokens in texts for word in tokens}))
        }
        words, lengths = word_ids((tokens for texts in sets for tokens in texts), vocabulary)
        ends = np.cumsum([len(texts) for texts in sets])
        self._ranges: list[Range] = [(int(end) - len(texts), int(end)) for end, texts in zip(ends, sets, strict=True)]
        self._tokens = np.array(list(vocabulary), dtype=object)[words]
        self._orders = ngram_ids(words, lengths, MAX_ORDER)
        text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        self._texts = [text_of_word[last] for _, last in self._orders]

    def counted_weights(self, sets: range) -> list[np.ndarray]:
        """Inverse document frequencies counted in some of the sets, each of which is one document.

        Args:
            sets: numbers of consecutive sets.

        Returns:
            For each order a float64 array, shape (n_distinct,): log(n_documents / max(1, df)).
        """
        first, last = self._ranges[sets[0]][0], self._ranges[sets[-1]][1]
        set_of_text = np.repeat(np.arange(len(self._ranges)), [end - start for start, end in self._ranges])
        weights = []
        for (ids, _), texts in zip(self._orders, self._texts, strict=True):
            n_distinct = int(ids.max(initial=-1)) + 1
            inside = (texts >= first) & (texts < last)
            pairs = np.unique(set_of_text[texts[inside]] * max(1, n_distinct) + ids[inside])
            counts = np.bincount(pairs % max(1, n_distinct), minlength=n_distinct)[:n_distinct]
            weights.append(np.log(len(sets)) - np.log(np.maximum(counts, 1)))
        return weights

    def table_weights(self, table: DocumentFrequency) -> list[np.ndarray]:
        """Inverse document frequencies of a table, in the form of `counted_weights`; an unknown n-gram counts as 1."""
        weights = []
        for order, (ids, last) in enumerate(self._orders, start=1):
            first_use = np.unique(ids, return_index=True)[1]
            ngrams = (" ".join(self._tokens[end - order + 1 : end + 1]) for end in last[first_use].tolist())
            counts = np.array([table.counts.get(ngram, 1) for ngram in ngrams], dtype=np.float64)
            weights.append(np.log(table.n_documents) - np.log(np.maximum(counts, 1)))
        return weights

    def features(self, i: int, weights: Sequence[np.ndarray] | None) -> np.ndarray:
        """Return a matrix whose product with itself has the mean over n of the captions' n-gram cosines.

        Args:
            i: number of the set.
            weights: of the n-grams of each order, or None for 1.

        Returns:
            float64 array, shape (n_captions, n_columns). A caption without n-grams of an order, or with weights of 0
            alone, has zeros there.
        """
        start, end = self._ranges[i]
        blocks = []
        for order, ((ids, _), texts) in enumerate(zip(self._orders, self._texts, strict=True)):
            here = slice(*np.searchsorted(texts, (start, end)))
            distinct, column = np.unique(ids[here], return_inverse=True)
            block = np.zeros((end - start, len(distinct)))
            np.add.at(block, (texts[here] - start, column), 1.0)
            if weights is not None:
                block *= weights[order][distinct]
            norms = np.linalg.norm(block, axis=1, keepdims=True)
            blocks.append(np.divide(block, norms, out=np.zeros_like(block), where=norms > 0))
        return np.concatenate(blocks, axis=1) / np.sqrt(MAX_ORDER)


def document_weights(ngrams: SetNgrams, references: range, table: DocumentFrequency | None) -> list[np.ndarray]:
    """Return the inverse document frequencies of a table, or those counted in the references."""
    return ngrams.counted_weights(references) if table is None else ngrams.table_weights(table)


def distinct_ngrams(captions: Sequence[Sequence[str]], order: int) -> set[tuple[str, ...]]:
    """Return the different n-grams of some captions.

    >>> sorted(distinct_ngrams([["a", "dog"], ["a", "cat"]], 1))
    [('a',), ('cat',), ('dog',)]
    """
    return {tuple(tokens[start : start + order]) for tokens in captions for start in range(len(tokens) - order + 1)}


def div_n(captions: Sequence[Sequence[str]], order: int) -> float:
    """Div-n: different n-grams of a set of captions, as a share of its words.

    Shetty et al. (2017), section 5.1, https://arxiv.org/abs/1703.10476. Distinct-n of Li et al. (2016) divides by the
    n-grams; this is divided by the words for every n.

    Args:
        captions: token lists of the set.
        order: n, 1 or more.

    Returns:
        From 0 to 1; many words that come once are 1. NaN where there is no word.

    >>> div_n([["a", "dog", "runs"], ["a", "cat", "runs"]], 2)
    0.6666666666666666
    """
    n_words = sum(map(len, captions))
    return len(distinct_ngrams(captions, order)) / n_words if n_words else float("nan")


def unique_share(captions: Sequence[Sequence[str]]) -> float:
    """Different captions of a set as a share of its captions: 1 / n_captions (all equal) to 1.

    >>> unique_share([["a", "dog"], ["a", "dog"], ["two", "cats"], []])
    0.75
    """
    return len(set(map(tuple, captions))) / len(captions)
