"""ROUGE-L of many candidates at once, as the COCO caption code computes it, and both scores of every candidate."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints, TokenRows, row_means
from .ngrams import NgramIndex, _starts, count_documents
from .ngrams_bleu import bleu_of_sums, bleu_scores, bleu_statistics
from .ngrams_cider import cider_d_scores, cider_distances, multi_reference_cider_d
from .rows import as_both_rows, as_token_rows

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
