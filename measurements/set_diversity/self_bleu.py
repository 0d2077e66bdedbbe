"""How much of each caption of a set the other captions already say: mBLEU-4 and self-BLEU."""

import math
from collections.abc import Sequence

import numpy as np

from .shared_bleu import MAX_ORDER, BleuTable, bleu_scores, corpus_bleu

# Matches that an order without one counts as: method 1 of Chen and Cherry (2014), https://aclanthology.org/W14-3346,
# with NLTK's epsilon.
EPSILON = 0.1


def smoothed_bleu(statistics: np.ndarray) -> np.ndarray:
    """BLEU-4 of single captions as NLTK's `sentence_bleu` with smoothing method 1 computes it.

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
    """Count what BLEU counts for each caption of a set against all others of it.

    Args:
        sets: n_sets lists of token lists.

    Returns:
        For each set an int64 array, shape (n_captions, 10), as from `bleu_statistics`; shape (0, 10) for one caption.

    >>> self_statistics([[["a", "dog"], ["a", "cat"]], [["a"]]])[0][:, [0, 4]].tolist()
    [[1, 2], [1, 2]]
    """
    larger = [i for i, texts in enumerate(sets) if len(texts) > 1]
    found = [np.zeros((0, 2 * MAX_ORDER + 2), dtype=np.int64) for _ in sets]
    if not larger:
        return found
    table = BleuTable([sets[i] for i in larger])
    everything = table.all_texts()
    sizes = np.array([len(sets[i]) for i in larger])
    by_place = []
    for place in range(int(sizes.max())):
        # A row without so many captions repeats its last one, which is dropped below.
        texts = table.first_text[:-1] + np.minimum(place, sizes - 1)
        by_place.append(table.statistics(texts, everything & ~table.only(texts)))
    stacked = np.stack(by_place, axis=1)  # (n_larger, n_places, 10)
    for i, size, rows in zip(larger, sizes, stacked, strict=True):
        found[i] = rows[:size]
    return found


def self_bleu_values(statistics: Sequence[np.ndarray]) -> dict[str, list[float]]:
    """Return mBLEU-4 and self-BLEU-4 of each set.

    mBLEU-4 is the mean over a set's captions of the COCO caption code's BLEU-4 against the others (Shetty et al., 2017,
    section 5.1, https://arxiv.org/abs/1703.10476); self-BLEU-4 the same with `smoothed_bleu`.

    Args:
        statistics: of each set, as from `self_statistics`.

    Returns:
        `mbleu_4` and `self_bleu_4`: lists of n_sets floats, 0 (nothing in common) to 1; NaN for one caption.
    """
    scorers = {"mbleu_4": lambda counts: bleu_scores(counts)[:, -1], "self_bleu_4": smoothed_bleu}
    return {
        name: [math.fsum(scores(counts)) / len(counts) if len(counts) else math.nan for counts in statistics]
        for name, scores in scorers.items()
    }


def corpus_mbleu_4(statistics: Sequence[np.ndarray]) -> float:
    """mBLEU-4 of a corpus: the first captions of all sets are one corpus, the second ones another, and so on.

    The mean over places of the COCO caption code's corpus BLEU-4: what programs for several captions per image print.
    Unlike all other values it depends on the order of the captions in a set.

    Args:
        statistics: of each set, as from `self_statistics`.

    Returns:
        0 to 1; NaN where no set has two captions.
    """
    n_places = max((len(counts) for counts in statistics), default=0)
    corpora = [np.stack([counts[place] for counts in statistics if len(counts) > place]) for place in range(n_places)]
    return math.fsum(corpus_bleu(corpus)[-1] for corpus in corpora) / n_places if n_places else math.nan
