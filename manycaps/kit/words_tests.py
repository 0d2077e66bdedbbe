"""Tests of wording: do candidates' mean SLOR, its tails, and their phrases differ from people's?

A phrase is one to three words, among them the marks of the beginning and of the end of a caption; those are named that
candidates have more often, or less often, than people. The slow versions are in tests/oracles/wording_loop.py.
"""

import heapq
import itertools
import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from .arrays import Floats, Ints, TokenRows, plain_arguments
from .ngrams import RowTexts
from .options import check_number
from .parity_tails import TAIL, PeopleDistances, TailShare, Threshold, quantile_interval, tail_share
from .row_images import clusters_of_captions
from .rows import as_both_rows
from .sets_tests import (
    TIE_TOLERANCE,
    ClusteredMean,
    check_clusters,
    cluster_numbers,
    clustered_mean,
    mean_interval,
    with_interval,
)
from .words_predictability import (
    BEGIN,
    END,
    LEAST_ROWS_OF_WORDING,
    N_LISTED,
    N_MARKS,
    ODD_WORDING,
    WORDING_SHARES,
    Texts,
    WordingRows,
    are_references,
    side_sums,
    sum_of_products,
    sums_of,
    wording_rows,
)


class WordingTest(NamedTuple):
    """The gap of all rows, in natural logarithms per word, positive where candidates are the more predictable ones."""

    gap: float
    # Ends of the interval, and the two-sided p-value of "people wrote the candidates"; NaN where there is none.
    low: float
    high: float
    p_value: float


def wording_test(
    rows: WordingRows, clusters: Sequence[Hashable] | None = None, confidence_level: float | None = None
) -> WordingTest:
    """Test the mean gap, and give its interval.

    If people wrote the candidates, every split of a row's N texts x into m candidates and n references is equally
    likely, and the variance of the sum of gaps is, in closed form,

        sum over rows of (1 / m + 1 / n) cov(x, x) - cov(x', k),   cov with N - 1,

    x' and k being, after a split at random, the texts' SLOR and what the sum of other rows' gaps gains if the text is a
    reference: the second term is the covariance of the gaps of two rows, each of which is scored by the references of
    the other. It is positive, and added where its estimate is. The sum over its root is normal.
    Rows in clusters: Student's, of the sums over clusters; the model leaves clusters out.

    The interval is the jackknife's to first order: of the row's gap and of what its references do to others. NaN below
    `LEAST_ROWS_OF_WORDING` rows or clusters; the p-value also where no split changes the gap.
    """
    gaps = rows.gaps
    numbers = np.arange(len(rows.sizes)) if clusters is None else cluster_numbers(clusters)
    sizes = np.bincount(numbers)
    if len(sizes) < LEAST_ROWS_OF_WORDING:
        return WordingTest(math.nan, math.nan, math.nan, math.nan)
    gap = math.fsum(gaps) / len(gaps)
    influence = side_sums(rows.influence, rows.sizes)[:, 1]
    low = high = math.nan
    if confidence_level is not None:
        pseudo_values = gaps + influence - influence.mean()
        pseudo_mean = clustered_mean(sums_of(numbers, pseudo_values), sizes)
        low, high = mean_interval(pseudo_mean._replace(mean=gap), confidence_level)
    if clusters is not None:
        return WordingTest(gap, low, high, _clustered_p_value(sums_of(numbers, gaps), influence, numbers, sizes))
    variance = _split_variance(rows)
    p_value = 2 * float(scipy.special.ndtr(-abs(gap) * len(gaps) / math.sqrt(variance))) if variance > 0 else math.nan
    return WordingTest(gap, low, high, p_value)


def _split_variance(rows: WordingRows) -> float:
    """Variance of the sum of gaps under random splits of all rows."""
    slor = rows.texts.centre(rows.slor)
    slor[np.abs(slor) <= TIE_TOLERANCE] = 0.0
    n_texts = rows.sizes.sum(axis=1)
    variances = np.add.reduceat(slor**2, rows.texts.first[:-1]) / (n_texts - 1) * (1 / rows.sizes).sum(axis=1)
    return math.fsum(variances) + max(0.0, math.fsum(rows.covariance))


def _clustered_p_value(sums: Floats, influence: Floats, numbers: Ints, sizes: Ints) -> float:
    """p-value of Student's distribution, of the sums of gaps over clusters."""
    mean_gap: ClusteredMean = clustered_mean(sums, sizes)
    if not mean_gap.standard_error > 0:
        return math.nan
    between = sum_of_products(sums, sums_of(numbers, influence)) / sizes.sum() ** 2
    error = math.sqrt(mean_gap.standard_error**2 + max(0.0, between))
    return 2 * float(scipy.special.stdtr(len(sizes) - 1, -abs(mean_gap.mean) / error))


class WordingShares(NamedTuple):
    """Odd and predictable candidates."""

    # By the names of `WORDING_SHARES`.
    shares: Mapping[str, TailShare]
    # People's SLOR.
    people: PeopleDistances


def wording_shares(
    rows: WordingRows, clusters: Sequence[Hashable] | None = None, confidence_level: float | None = None
) -> WordingShares:
    """Compute the shares of candidates that are odd and predictable, with intervals as `corpus_tails` has them."""
    people_slor, n_references = rows.slor[rows.is_reference], rows.sizes[:, 1]
    count = np.repeat(n_references, n_references)
    people = PeopleDistances({n: people_slor[count == n] for n in np.unique(n_references).tolist()})
    shares = {}
    for name, sign in WORDING_SHARES.items():
        side_shares = side_sums(people.threshold(sign, TAIL).shares(rows.slor), rows.sizes) / rows.sizes
        n_candidates = int(rows.sizes[:, 0].sum())
        share = tail_share(side_shares[:, 0], side_shares[:, 1], clusters, n_candidates)
        if confidence_level is not None and share.candidates.n_clusters > 1:
            ends = quantile_interval(share.people.standard_error, people, confidence_level)
            below, above, near = (_mean_share(rows, people.threshold(sign, end)) if end else 0.0 for end in ends[:3])
            share = share.with_interval(ends.far(below, above), near, confidence_level)
        shares[name] = share
    return WordingShares(shares, people)


def _mean_share(rows: WordingRows, threshold: Threshold) -> float:
    """Mean over rows of the candidates' share beyond a threshold."""
    sums = side_sums(threshold.shares(rows.slor), rows.sizes)[:, 0]
    return math.fsum(sums / rows.sizes[:, 0]) / len(sums)


class CorpusWording(NamedTuple):
    """Wording of the candidates of all rows beside people's."""

    rows: WordingRows
    test: WordingTest
    # By the names of a module's result.
    shares: Mapping[str, TailShare]

    @property
    def is_measured(self) -> bool:
        """Whether there are enough rows."""
        return not math.isnan(self.test.gap)

    def result(self, confidence_level: float | None, *, is_tested: bool = True) -> dict[str, float]:
        """Return the values by the keys of a module's result, all NaN where there are too few rows."""
        result = with_interval("wording_gap", (self.test.gap, self.test.low, self.test.high), confidence_level)
        if is_tested:
            result["wording_p_value"] = self.test.p_value
        for name, share in self.shares.items():
            result |= with_interval(name, (share.value, share.low, share.high), confidence_level)
            if name == ODD_WORDING:
                ends = (math.nan, math.nan)
                if confidence_level is not None:
                    ends = mean_interval(share.people, confidence_level)
                low, high = np.clip(ends, 0, 1).tolist()
                result |= with_interval(f"{name}_of_people", (share.people.mean, low, high), confidence_level)
        return result if self.is_measured else dict.fromkeys(result, math.nan)

    def lists(self) -> dict[str, Any]:
        """Return the values of rows and candidates, and `N_LISTED` candidates, the oddest first."""
        slor = self.rows.candidate_slor()
        scored = ((value, row, i) for row, values in enumerate(slor) for i, value in enumerate(values))
        return {
            "wording_gap_per_row": self.rows.gaps.tolist(),
            **{f"{name}_per_row": share.rows.tolist() for name, share in self.shares.items()},
            "wording_per_candidate": slor,
            "oddest_wording": [[row, i] for _, row, i in heapq.nsmallest(N_LISTED, scored)],
        }

    def warn_of_few_rows(self) -> None:
        """Warn where wording is left out for want of rows."""
        if not self.is_measured:
            warnings.warn(
                f"wording: expected {LEAST_ROWS_OF_WORDING} rows or clusters for a model of how people put things, got "
                f"{len(self.rows.sizes)} rows. Its values are NaN.",
                stacklevel=2,
            )


def corpus_wording(
    rows: WordingRows, clusters: Sequence[Hashable] | None = None, confidence_level: float | None = None
) -> CorpusWording:
    """Put the test and the shares of all rows together."""
    shares = wording_shares(rows, clusters, confidence_level).shares
    return CorpusWording(rows, wording_test(rows, clusters, confidence_level), shares)


class HumanWording(NamedTuple):
    """How predictable candidates are beside human captions; NaN below ten rows, or clusters."""

    # Mean SLOR less people's, with the ends of its interval and its two-sided p-value.
    gap: float
    low: float
    high: float
    p_value: float
    # Shares of the candidates that are less, and more, predictable than 19 of 20 human captions: 0.05 each for people.
    odd_wording_share: float
    predictable_share: float
    # SLOR of every candidate, n_rows lists.
    slor: list[list[float]]


@plain_arguments
def human_wording(
    candidates: TokenRows,
    references: TokenRows,
    confidence_level: float | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> HumanWording:
    """Say how predictable the words of candidates are to an n-gram model of people's captions of all other rows.

    SLOR, the mean over words of log p(word | two before) - log p(word), of the candidates less the references' SLOR.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.
        confidence_level: between 0 and 1, for an interval of the gap; None: none.
        clusters: n_rows labels, equal ones for rows that depend on each other; None: all rows are independent.

    Returns:
        The gap, in natural logarithms per word, its test, the shares, and the SLOR of every candidate.

    Raises:
        TypeError, ValueError: a text is not a list of tokens, the columns differ in length, a row has no text on one
            side, or labels are missing.

    >>> places = [f"street{number}" for number in range(24)]
    >>> people = [[["a", "dog", "in", place], ["the", "dog", "in", place]] for place in places]
    >>> wording = human_wording([[["in", "a", "dog", place]] for place in places], people)
    >>> wording.gap < 0, wording.p_value < 0.01, wording.odd_wording_share
    (True, True, 1.0)
    """
    candidates, references = as_both_rows(candidates, references)
    if confidence_level is not None:
        check_number("confidence_level", confidence_level, 0, 1)
    if clusters is not None:
        clusters = check_clusters(clusters, len(candidates))
    clusters = clusters_of_captions(clusters, references, candidates)
    corpus = corpus_wording(wording_rows(candidates, references, clusters), clusters, confidence_level)
    result = corpus.result(None)
    shares = result["odd_wording_share"], result["predictable_share"]
    return HumanWording(*corpus.test, *shares, corpus.rows.candidate_slor())


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
