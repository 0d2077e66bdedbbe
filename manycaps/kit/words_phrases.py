"""Phrases that give candidates away: those that they have more often, or less often, than people's captions have.

A phrase is one to three words, among them the marks of the beginning and of the end of a caption. The slow version
is in tests/oracles/wording_loop.py.
"""

import itertools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from .arrays import Floats, Ints
from .ngrams import RowTexts
from .sets_tests import cluster_numbers
from .words_predictability import BEGIN, END, N_MARKS, Texts, are_references, sums_of

# Phrases are named at this rate of false discoveries, are in so many texts at least, and have three words at most,
# marks included. The most that are named.
DISCOVERY_RATE = 0.05

LEAST_TEXTS = 10

MOST_PHRASES = 20

# Steps towards the best exponent of a bound.
N_NEWTON_STEPS = 8


class Phrase(NamedTuple):
    """A phrase that candidates have more often, or less often, than people's captions have."""

    # One to three words, and whether it is the beginning, or the end, of the captions that have it.
    phrase: str
    begins: bool
    ends: bool
    # Mean over rows of the shares of candidates, and of references, that have it.
    share: float
    share_of_people: float
    # Adjusted for all phrases.
    p_value: float


def telling_phrases(texts: Texts, clusters: Sequence[Hashable] | None = None) -> list[Phrase]:
    """Name the phrases that give the candidates away, the largest difference from people first.

    Under random splits of every row, the difference of both shares is a sum over rows of weighted hypergeometric
    numbers, whose tail has Chernoff's bound exp(K(t) - t x) for any t > 0, K being the logarithm of the generating
    function. Twice the bound is a p-value, however rare the phrase. Rows of a cluster may depend on each other in any
    way: by Hoelder's inequality K is at most the mean over the cluster's rows of K(c t), c being their number. False
    discoveries are controlled as by Benjamini and Hochberg (1995), https://doi.org/10.1111/j.2517-6161.1995.tb02031.x.
    Of phrases that contain each other the one with the larger difference is named.
    """
    phrase_numbers, rows, counts, names = _phrases_of_rows(texts)
    if not len(phrase_numbers):
        return []
    m, n = texts.sizes[rows].T
    n_rows, n_phrases = len(texts.sizes), len(names)
    shares = [sums_of(phrase_numbers, counts[:, side] / texts.sizes[rows, side]) / n_rows for side in (0, 1)]
    differences = shares[0] - shares[1]
    per_cluster = np.ones(len(rows), dtype=np.int64)
    if clusters is not None:
        numbers = cluster_numbers(clusters)
        per_cluster = np.bincount(numbers)[numbers][rows]
    log_bounds = _log_bounds(phrase_numbers, np.stack((m, n, counts.sum(axis=1), per_cluster)), differences * n_rows)
    p_values = np.minimum(1.0, 2 * np.exp(log_bounds))
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(n_phrases)
    steps = p_values[order] * n_phrases / np.arange(1, n_phrases + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    named: list[tuple[bool, tuple[str, ...]]] = []
    phrases: list[Phrase] = []
    # Of phrases that the same captions have, the longest comes first.
    largest_first = sorted(
        np.flatnonzero(adjusted <= DISCOVERY_RATE).tolist(),
        key=lambda i: (-round(abs(float(differences[i])), 9), -len(names[i])),
    )
    for i in largest_first:
        words, is_more = names[i], bool(differences[i] > 0)
        if len(phrases) == MOST_PHRASES:
            break
        if any(is_more == sign and (_contains(words, other) or _contains(other, words)) for sign, other in named):
            continue
        named.append((is_more, words))
        text = " ".join(filter(None, words))
        share, people_share, p_value = float(shares[0][i]), float(shares[1][i]), float(adjusted[i])
        phrases.append(Phrase(text, not words[0], not words[-1], share, people_share, p_value))
    return phrases


def _contains(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether words contain others, one behind the other."""
    return any(words[i : i + len(others)] == others for i in range(len(words) - len(others) + 1))


def _phrases_of_rows(texts: Texts) -> tuple[Ints, Ints, Ints, list[tuple[str, ...]]]:
    """The phrases of every row that enough texts have: phrase, row, and how many texts of either side, (n, 2)."""
    n_texts, layout = len(texts.length), RowTexts(texts.sizes.sum(axis=1))
    is_reference = are_references(texts.sizes)
    is_row = texts.text < n_texts
    beyond_marks = texts.word != END, (texts.before != BEGIN) | (texts.word != END), texts.before != BEGIN

    def word(number: int) -> str:
        """Return the word of a number; the marks are empty."""
        return texts.vocabulary[number - N_MARKS] if number >= N_MARKS else ""

    parts, names, n_earlier = [], list[tuple[str, ...]](), 0
    for n, (order, is_phrase) in enumerate(zip(texts.orders, beyond_marks, strict=True)):
        chosen = np.flatnonzero(is_row & is_phrase)
        n_grams = len(order.history_of_gram)
        pairs = np.unique(texts.text[chosen] * n_grams + order.gram[chosen])  # each phrase of a text once
        text, gram = np.divmod(pairs, n_grams)
        frequent = np.bincount(gram, minlength=n_grams) >= LEAST_TEXTS
        text, gram = text[frequent[gram]], gram[frequent[gram]]
        position = np.zeros(n_grams, dtype=np.int64)
        position[order.gram[chosen]] = chosen
        columns = (texts.two_before, texts.before, texts.word)[2 - n :]
        names += [
            tuple(word(int(column[position[g]])) for column in columns) for g in np.flatnonzero(frequent).tolist()
        ]
        number = np.cumsum(frequent) - 1 + n_earlier
        n_earlier += int(frequent.sum())
        parts.append(np.stack((number[gram], layout.row[text], is_reference[text])))
    number, row, side = np.concatenate(parts, axis=1)
    n_rows = len(texts.sizes)
    keys, place = np.unique(number * n_rows + row, return_inverse=True)
    counts = np.bincount(place * 2 + side, minlength=2 * len(keys)).reshape(-1, 2)
    phrase_numbers, rows = np.divmod(keys, n_rows)
    return phrase_numbers, rows, counts, names


def _log_bounds(phrase_numbers: Ints, kinds: Ints, differences: Floats) -> Floats:
    """Logarithm of Chernoff's bound of the tail beyond each phrase's summed difference, on its side.

    `kinds`, shape (4, n): of each row of each phrase the numbers of candidates, of references, of texts that have the
    phrase, and of the rows of its cluster.
    """
    distinct, kind = np.unique(kinds, axis=1, return_inverse=True)
    keys, number = np.unique(phrase_numbers * distinct.shape[1] + kind.ravel(), return_counts=True)
    phrase, kind = np.divmod(keys, distinct.shape[1])
    sides, x = np.sign(differences), np.abs(differences)
    by_kind = np.argsort(kind, kind="stable")
    ends = np.searchsorted(kind[by_kind], np.arange(distinct.shape[1] + 1))
    groups = [by_kind[first:end] for first, end in itertools.pairwise(ends)]
    values = [_split_differences(*column) for column in distinct.T.tolist()]

    def cumulants(t: Floats) -> tuple[Floats, Floats, Floats]:
        """Return K(t) and its first two derivatives."""
        sums = np.zeros((3, len(x)))
        for rows, (split_difference, log_chance), size in zip(groups, values, distinct[3].tolist(), strict=True):
            at = phrase[rows]
            value = sides[at, None] * split_difference * size
            exponents = log_chance + t[at, None] * value
            largest = exponents.max(axis=1, keepdims=True)
            chances = np.exp(exponents - largest)
            total = chances.sum(axis=1, keepdims=True)
            first, second = ((chances * value**power).sum(axis=1) / total[:, 0] for power in (1, 2))
            row_cumulants = np.log(total[:, 0]) + largest[:, 0], first, second - first**2
            for i, cumulant in enumerate(row_cumulants):
                sums[i] += sums_of(at, cumulant * number[rows] / size, len(x))
        return sums[0], sums[1], sums[2]

    t, best = np.zeros(len(x)), np.zeros(len(x))
    for _ in range(N_NEWTON_STEPS):
        k, slope, curvature = cumulants(t)
        best = np.minimum(best, k - t * x)
        step = np.divide(x - slope, curvature, out=np.zeros_like(t), where=curvature > 0)
        t = np.clip(t + step, t / 4, 4 * t + 1)
    return np.minimum(best, cumulants(t)[0] - t * x)


def _split_differences(m: int, n: int, k: int, _size: int) -> tuple[Floats, Floats]:
    """The difference of both shares, and the logarithm of its chance, where k of m + n texts have a phrase."""
    i = np.arange(max(0, k - n), min(m, k) + 1)

    def log_binomial(total: int, part: Ints | int) -> Any:
        return (
            scipy.special.gammaln(total + 1)
            - scipy.special.gammaln(np.add(part, 1))
            - scipy.special.gammaln(np.subtract(total, part) + 1)
        )

    chance: Floats = log_binomial(m, i) + log_binomial(n, k - i) - log_binomial(m + n, k)
    return i / m - (k - i) / n, chance
