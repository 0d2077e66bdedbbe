"""ROUGE-L of many candidates at once, as the COCO caption code computes it, and both scores of every candidate."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .base_types import Floats, Ints, TokenList, TokenRows
from .text_bleu import bleu_scores
from .text_ngrams import word_ids
from .text_reference_ngrams import ReferenceNgrams

# Weight of recall over precision (pycocoevalcap 1.2, rouge.py; Chen et al. 2015, section 4.3).
BETA = 1.2

# Words of a text that are bits of one number.
N_BITS = 64

# Cells of the tables of common subsequences that are filled at once, 4 bytes each in a few arrays.
MAX_CELLS = 2_000_000


def f_measure(precision: Floats, recall: Floats, beta: float = BETA) -> Floats:
    """ROUGE-L = (1 + beta^2) P R / (R + beta^2 P); 0 where P or R is 0.

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


def rouge_l_of_ngrams(texts: ReferenceNgrams, beta: float = BETA) -> Floats:
    """Score every candidate against the references of its row by ROUGE-L: float64, shape (n_candidates,), 0 to 1.

    Precision and recall are the best of all references, each for itself, as in the COCO caption code; Lin (2004) takes
    the best score of a single reference. The score of a corpus is the mean. A text without tokens counts as one empty
    token, as there.

    >>> texts = ReferenceNgrams.of_rows([[["a", "red", "dog"]]], [[["a", "dog"], ["cat"]]])
    >>> rouge_l_of_ngrams(texts).round(4).tolist()
    [0.8299]
    """
    candidate, reference = texts.pairs()
    text = texts.candidates[candidate]
    if not len(text):
        return np.zeros(0)
    common = common_lengths(texts.words, texts.lengths, text, reference)
    filled = np.maximum(texts.lengths, 1)
    common[(texts.lengths[text] == 0) & (texts.lengths[reference] == 0)] = 1
    first = texts.first_pair()
    precision, recall = (np.maximum.reduceat(common / filled[side], first) for side in (text, reference))
    return f_measure(precision, recall, beta)


def precisions_and_recalls(texts: Sequence[TokenList], candidate: Ints, reference: Ints) -> tuple[Floats, Floats]:
    """Share of the candidate, and of the reference, in the longest common subsequence of each pair of texts.

    `candidate` and `reference` are int64, shape (n_pairs,): numbers of texts. Returns two float64 arrays of that shape,
    0 to 1.

    >>> precisions_and_recalls([["a", "red", "dog"], ["a", "dog"]], np.array([0]), np.array([1]))[1].tolist()
    [1.0]
    """
    filled = [tokens or [""] for tokens in texts]
    words, lengths = word_ids(filled, {})
    common = common_lengths(words, lengths, candidate, reference)
    return common / lengths[candidate], common / lengths[reference]


def common_lengths(words: Ints, lengths: Ints, first: Ints, second: Ints) -> Ints:
    """Length of the longest common subsequence of each pair of texts: int64, shape (n_pairs,).

    Words and lengths are as from `word_ids`; `first` and `second` are int64, shape (n_pairs,): numbers of texts.

    >>> texts = word_ids([["a", "red", "dog", "runs"], ["red", "a", "dog"]], {})
    >>> common_lengths(*texts, np.array([0]), np.array([1])).tolist()
    [2]
    """
    start = np.cumsum(lengths) - lengths
    # The table of a pair has a line for each word of the shorter text, whichever text that is.
    swap = lengths[first] > lengths[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    order = np.lexsort((lengths[second], lengths[first]))
    result = np.zeros(len(first), np.int64)
    begin = 0
    while begin < len(order):
        end = _batch_end(lengths[second[order]], begin)
        these = order[begin:end]
        fits = lengths[second[these]].max() <= N_BITS
        counted = _common_lengths_by_bits if fits else _common_lengths
        result[these] = counted(words, start, lengths, first[these], second[these])
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
    position = np.arange(width)
    inside = position < lengths[second][:, None]  # (n_pairs, width)
    other = np.where(inside, _words_at(words, start[second][:, None] + position), -1)
    line = np.zeros((len(first), width + 1), np.int32)
    for i in range(int(lengths[first].max(initial=0))):
        word = np.where(i < lengths[first], _words_at(words, start[first] + i), -2)  # equal to no word
        extended = np.maximum(line[:, 1:], line[:, :-1] + (other == word[:, None]))
        np.maximum.accumulate(extended, axis=1, out=line[:, 1:])
    return line[:, -1].astype(np.int64)


def _common_lengths_by_bits(words: Ints, start: Ints, lengths: Ints, first: Ints, second: Ints) -> Ints:
    """Common subsequences of a batch of pairs of short texts: a line of a table is the bits of a number.

    Bit j is 0 where the line grows at word j of the second text (Hyyrö 2004, "Bit-parallel LCS-length computation
    revisited", section 2).
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


def _words_at(words: Ints, position: Ints) -> Ints:
    """Words at these indices; any word where an index is out of range."""
    return words[np.minimum(position, len(words) - 1)]


def candidate_scores(
    candidates: TokenRows, references: TokenRows
) -> tuple[dict[str, np.ndarray], npt.NDArray[np.int64]]:
    """Score every candidate, and return the statistics for BLEU of the corpus.

    Returns:
        Float64 arrays, shape (n_candidates,), row after row, by key: "bleu_1" to "bleu_4" and "rouge_l", 0 (worst) to 1
        (best); and an int64 array, shape (n_candidates, 10), as `text_bleu.STATISTICS`.

    >>> scores, _ = candidate_scores([[["a", "red", "dog"]]], [[["a", "red", "dog"], ["a", "cat"]]])
    >>> {key: round(float(values[0]), 4) for key, values in scores.items() if key != "bleu_4"}
    {'bleu_1': 1.0, 'bleu_2': 1.0, 'bleu_3': 1.0, 'rouge_l': 1.0}
    """
    texts = ReferenceNgrams.of_rows(candidates, references)
    statistics = texts.bleu_statistics()
    scores = {f"bleu_{n}": values for n, values in enumerate(bleu_scores(statistics).T, start=1)}
    return scores | {"rouge_l": rouge_l_of_ngrams(texts)}, statistics
