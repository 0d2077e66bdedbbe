"""ROUGE-L of many candidates at once, as the COCO caption code computes it: longest common subsequences on arrays.

Lin (2004), section 3.1, https://aclanthology.org/W04-1013, with the conventions of the COCO caption code, which made
the published numbers of captioning (Chen et al. 2015, section 4.3, https://arxiv.org/abs/1504.00325).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .shared_ngrams import word_ids

# Weight of recall over precision (pycocoevalcap 1.2, rouge.py; Chen et al. 2015, section 4.3).
BETA = 1.2

# Cells of the tables of common subsequences that are filled at once, 4 bytes each in a few arrays.
MAX_CELLS = 2_000_000

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Tokens = Sequence[str]


def f_measure(precision: Floats, recall: Floats) -> Floats:
    """ROUGE-L = (1 + beta^2) P R / (R + beta^2 P), beta = 1.2; 0 where P or R is 0.

    Args:
        precision: float64 array: the largest share of the candidate in a common subsequence with a reference.
        recall: float64 array of that shape: the largest share of a reference; not always the same reference.

    Returns:
        float64 array of that shape, 0 (worst) to 1 (best).

    >>> f_measure(np.array([1.0, 0.5]), np.array([1.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    weighted = (1 + BETA**2) * precision * recall
    total = recall + BETA**2 * precision
    return np.divide(weighted, total, out=np.zeros_like(total), where=(precision > 0) & (recall > 0))


def rouge_l_scores(candidates: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Floats:
    """Score each candidate against its own references by ROUGE-L.

    Precision and recall are the best of all references, each for itself, as in the COCO caption code; Lin (2004) takes
    the best score of a single reference. The score of a corpus is the mean.

    Args:
        candidates: n token lists; a text without tokens counts as one empty token, as in the COCO caption code.
        references: n lists of at least one token list.

    Returns:
        float64 array, shape (n,), 0 (worst) to 1 (best).

    >>> rouge_l_scores([["a", "red", "dog"]], [[["a", "dog"], ["cat"]]]).round(4).tolist()
    [0.8299]
    """
    texts = [*candidates, *(tokens for own in references for tokens in own)]
    sizes = np.array([len(own) for own in references], np.int64)
    if not len(sizes):
        return np.zeros(0)
    candidate = np.repeat(np.arange(len(sizes)), sizes)
    precision, recall = precisions_and_recalls(texts, candidate, len(sizes) + np.arange(len(candidate)))
    starts = np.cumsum(sizes) - sizes
    return f_measure(np.maximum.reduceat(precision, starts), np.maximum.reduceat(recall, starts))


def precisions_and_recalls(texts: Sequence[Tokens], candidate: Ints, reference: Ints) -> tuple[Floats, Floats]:
    """Share of the candidate, and of the reference, in the longest common subsequence of each pair.

    Args:
        texts: n_texts token lists.
        candidate: int64 array, shape (n_pairs,): number of the text that is scored.
        reference: the same for the text that it is compared with.

    Returns:
        Two float64 arrays, shape (n_pairs,), 0 to 1.

    >>> precisions_and_recalls([["a", "red", "dog"], ["a", "dog"]], np.array([0]), np.array([1]))[1].tolist()
    [1.0]
    """
    filled = [tokens or [""] for tokens in texts]
    common = common_lengths(filled, candidate, reference)
    lengths = np.array([len(tokens) for tokens in filled], np.int64)
    return common / lengths[candidate], common / lengths[reference]


def common_lengths(texts: Sequence[Tokens], first: Ints, second: Ints) -> Ints:
    """Length of the longest common subsequence of each pair of texts.

    Args:
        texts: n_texts token lists.
        first: int64 array, shape (n_pairs,): number of one text.
        second: the same for the other text.

    Returns:
        int64 array, shape (n_pairs,).

    >>> common_lengths([["a", "red", "dog", "runs"], ["red", "a", "dog"]], np.array([0]), np.array([1])).tolist()
    [2]
    """
    words, lengths = word_ids(texts, {})
    start = np.cumsum(lengths) - lengths
    # The table of a pair has a line for each word of the shorter text, and does not care which text that is.
    swap = lengths[first] > lengths[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    order = np.lexsort((lengths[second], lengths[first]))
    result = np.zeros(len(first), np.int64)
    begin = 0
    while begin < len(order):
        end = _batch_end(lengths[second[order]], begin)
        these = order[begin:end]
        result[these] = _common_lengths(words, start, lengths, first[these], second[these])
        begin = end
    return result


def _batch_end(widths: Ints, begin: int) -> int:
    """End of the pairs whose tables of one line have at most `MAX_CELLS` cells; at least one pair."""
    widest = np.maximum.accumulate(widths[begin : begin + MAX_CELLS]) + 1
    return begin + max(1, int(np.searchsorted(widest * np.arange(1, len(widest) + 1), MAX_CELLS, side="right")))


def _common_lengths(words: Ints, start: Ints, lengths: Ints, first: Ints, second: Ints) -> Ints:
    """Common subsequences of a batch of pairs, line by line of all tables at once.

    Cell (i, j) is max(cell (i - 1, j), cell (i, j - 1), cell (i - 1, j - 1) + 1 if the words are equal), which is the
    running maximum along the line of the first and the last.
    """
    width = int(lengths[second].max(initial=0))
    place = np.arange(width)
    inside = place < lengths[second][:, None]  # (n_pairs, width)
    other = np.where(inside, _words_at(words, start[second][:, None] + place), -1)
    line = np.zeros((len(first), width + 1), np.int32)
    for i in range(int(lengths[first].max(initial=0))):
        word = np.where(i < lengths[first], _words_at(words, start[first] + i), -2)  # equal to no word
        extended = np.maximum(line[:, 1:], line[:, :-1] + (other == word[:, None]))
        np.maximum.accumulate(extended, axis=1, out=line[:, 1:])
    return line[:, -1].astype(np.int64)


def _words_at(words: Ints, place: Ints) -> Ints:
    """Words at these places; any word where a place is behind the last one."""
    return words[np.minimum(place, len(words) - 1)]
