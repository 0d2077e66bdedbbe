"""Human parity as plain functions: of arrays of distances, with plans from a pilot; and of sentences of texts."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.special

from .arrays import Floats, as_finite, plain_arguments
from .errors import InputError, check_n_rows, check_places
from .options import check_number, check_whole_number
from .parity_corpus import parity_p_values
from .parity_faults import FAULTS
from .parity_gaps import LEVEL, WEIGHT_OF_TAILS, ParityPlan, gaps_test, level_of_gaps, parity_plan, row_gaps
from .parity_sentences import check_language, distances_of_vectors, row_spans, sentence_support
from .parity_tails import LEAST_ROWS_OF_TAILS, TAIL, TAILS, CorpusTails, KeptDistances, TailDistances, corpus_tails
from .parity_texts import corpus_faults
from .row_images import clusters_of_images
from .rows import DISTANCES, as_caption_rows, as_pairs, check_symmetric
from .sets_tests import check_clusters
from .vectors_rows import check_distance_scale

# Rows beyond which no plan goes.
MOST_PLANNED_ROWS = 10**9

# Points of a standard normal distribution in each of two dimensions, for the power of a quadratic form.
N_NORMAL_POINTS = 301


class HumanGaps(NamedTuple):
    """Rows of candidates beside people, float64 arrays, shape (n_rows,); what needs two candidates is NaN with one."""

    # In the unit of the distance, 0 for people: how much farther from people, and more varied, than people are.
    fidelity: Floats
    diversity: Floats
    # Energy distance, 2 fidelity - diversity.
    energy: Floats


@plain_arguments
def human_gaps(distances: npt.ArrayLike, n_candidates: int) -> HumanGaps:
    """Say of every row how far its candidates are from people, in which direction.

    With m candidates c and n references r: fidelity = mean d(c, r) - mean d(r, r'), diversity = mean d(c, c') - mean
    d(r, r'), over pairs of different texts. Wrong captions raise both, repeated ones lower the diversity. Means can
    cancel; the shares of `human_tails` cannot.

    Args:
        distances: floating-point array, shape (n_rows, n_texts, n_texts), symmetric, at least 0, candidates first; the
            diagonal is 0. Of METEOR and CIDEr-D, which are not symmetric, give the mean of both directions.
        n_candidates: number of candidates of every row, at least 1; two references at least.

    Returns:
        The gaps.

    Raises:
        TypeError: n_candidates is no whole number.
        ValueError: another shape or number, distances that are not symmetric or finite, or fewer than two references.

    >>> points = np.array([[0.0, 9.0, 2.0, 3.0, 4.0]])
    >>> gaps = human_gaps(np.abs(points[:, :, None] - points[:, None]), 2)
    >>> gaps.fidelity.round(4).tolist(), gaps.diversity.round(4).tolist()
    ([3.1667], [7.6667])
    """
    rows = _as_symmetric(distances, n_candidates)
    gaps = row_gaps(rows, n_candidates)
    diversity = gaps.diversity if n_candidates > 1 else np.full(len(rows), np.nan)
    return HumanGaps(gaps.fidelity, diversity, 2 * gaps.fidelity - diversity)


class HumanTails(NamedTuple):
    """Shares of the candidates, or of their pairs, in the tails of people's distances: 0.05 each for people.

    Floats; the pairs' are NaN where rows have one candidate.
    """

    # Candidates farther from the references, and nearer to them, than 19 of 20 human captions.
    unlike_people_share: float
    generic_share: float
    # Pairs of candidates nearer to each other, and farther apart, than 19 of 20 pairs of human captions.
    near_duplicate_share: float
    spread_share: float
    # Ends of the intervals in the order of the shares, NaN without a confidence level.
    low: tuple[float, float, float, float]
    high: tuple[float, float, float, float]
    # One-sided p-values of the first three, for more than people's share; NaN where they are not tested.
    p_values: tuple[float, float, float]


@plain_arguments
def human_tails(
    distances: npt.ArrayLike,
    n_candidates: int,
    confidence_level: float | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> HumanTails:
    """Say which share of the candidates lies where only one human caption in twenty lies.

    For a reference r_j and the other ones S_j, a_j = mean d(r_j, S_j); for a candidate c, b_j = mean d(c, S_j). If c is
    a human caption, b and a have one distribution, whatever the sizes. The shares count the b above the 95%, and below
    the 5%, quantile of the a of all rows, and the same of pairs of candidates beside pairs of references.

    Args:
        distances: as for `human_gaps`, as is the next.
        n_candidates: number of candidates of every row.
        confidence_level: between 0 and 1, for intervals; None: none.
        clusters: n_rows labels, equal ones for rows that depend on each other; None: all rows are independent.

    Returns:
        A named tuple: four shares, 0 to 1, 0.05 for people; `low` and `high`, the ends of their intervals; `p_values`,
        one-sided, by random splits of fewer than 100 rows, NaN below ten, or 20 with two references.

    Raises:
        TypeError, ValueError: as `human_gaps`, another level, and labels that are missing or not distinct.

    >>> points = np.random.default_rng(0).normal(size=(40, 6)) + np.array([9, 0, 0, 0, 0, 0])
    >>> tails = human_tails(np.abs(points[:, :, None] - points[:, None]), 2)
    >>> round(tails.unlike_people_share, 2), tails.p_values[0] < 0.001
    (0.53, True)
    """
    if confidence_level is not None:
        check_number("confidence_level", confidence_level, 0, 1)
    tails = _tails(_as_symmetric(distances, n_candidates), n_candidates, confidence_level, clusters)
    unlike, generic, near, spread = tails.shares.values()
    return HumanTails(
        *(unlike.value, generic.value, near.value, spread.value),
        low=(unlike.low, generic.low, near.low, spread.low),
        high=(unlike.high, generic.high, near.high, spread.high),
        p_values=tuple(tails.p_values.values()),  # type: ignore[arg-type]
    )


def _tails(
    rows: Floats, n_candidates: int, confidence_level: float | None, clusters: Sequence[Hashable] | None
) -> CorpusTails:
    if clusters is not None:
        clusters = check_clusters(clusters, len(rows))
    kept = KeptDistances(len(rows))
    kept.add(rows, n_candidates, range(len(rows)))
    return corpus_tails(kept, confidence_level, clusters)


class ParityTest(NamedTuple):
    """Test of all rows together; p-values are NaN where no split changes the gap."""

    # Of both tests, and of each: the joint test of the gaps, and the tails, NaN where these are not tested.
    p_value: float
    gaps_p_value: float
    tails_p_value: float
    # Of each gap alone, two-sided.
    fidelity_p_value: float
    diversity_p_value: float
    # T2 = g' S^-1 g of the summed gaps g and covariances S, and its degrees of freedom: 2, 1, or 0 if nothing varies.
    statistic: float
    degrees: int


@plain_arguments
def human_parity_test(
    distances: npt.ArrayLike, n_candidates: int, clusters: Sequence[Hashable] | None = None
) -> ParityTest:
    """Test whether the candidates of all rows may as well be people's: one p-value.

    T2 = g' S^-1 g, g the sums over rows of the fidelity and the diversity gap, S the covariance of g when every row's
    texts are split at random (in closed form; Chen and Friedman 2017, https://doi.org/10.1080/01621459.2016.1147356),
    is chi-squared with two degrees of freedom from five rows on, with one where rows have a single candidate. It adds
    up signed gaps, and so finds small ones that all rows share. Wrong captions and bland ones cancel in it: the tails,
    see `human_tails`, find them. The p-value is min(1, gaps / 0.8, tails / 0.2), without a draw from 100 rows on; none
    is below the smallest one of all splits.

    Args:
        distances: as for `human_gaps`, as is the next.
        n_candidates: number of candidates of every row.
        clusters: n_rows labels: rows with equal labels, of one image for example, depend on each other, and the spread
            of the clusters stands in for S. None: all rows are independent.

    Returns:
        A named tuple: `p_value`; `gaps_p_value` and `tails_p_value`, of both tests; `fidelity_p_value` and
        `diversity_p_value`, of each gap alone, two-sided; `statistic`, T2; `degrees`, its degrees of freedom. NaN where
        no split changes a gap, there are too few clusters, or too few rows for the tails.

    Raises:
        TypeError, ValueError: as `human_gaps`, and labels that are missing or not distinct.

    >>> points = np.random.default_rng(0).normal(size=(20, 6)) + np.array([1.5, 1.5, 1.5, 0, 0, 0])
    >>> test = human_parity_test(np.abs(points[:, :, None] - points[:, None]), 3)
    >>> test.p_value < 1e-4, test.fidelity_p_value < 1e-4, test.degrees
    (True, True, 2)
    """
    rows = _as_symmetric(distances, n_candidates)
    if clusters is not None:
        clusters = check_clusters(clusters, len(rows))
    tails = _tails(rows, n_candidates, None, clusters)
    test = gaps_test([row_gaps(rows, n_candidates)], clusters)
    joint, gaps_p_value, _ = parity_p_values(test.p_value, tails, clusters)
    return ParityTest(joint, gaps_p_value, tails.p_value, *test[1:])


def _as_symmetric(distances: npt.ArrayLike, n_candidates: int) -> Floats:
    """Distances as float64, checked as `human_gaps` says."""
    rows, different = as_pairs(distances, "distances")
    check_whole_number("n_candidates", n_candidates, 1)
    if rows.shape[1] - n_candidates < 2:
        expected = f"at most {rows.shape[1] - 2} of {rows.shape[1]} texts"
        raise InputError(
            "n_candidates", expected, n_candidates, "References are compared with each other: give two or more."
        )
    wrong = different | (rows.min(axis=(1, 2)) < 0)
    wrong |= np.abs(np.diagonal(rows, axis1=1, axis2=2)).max(axis=1) > 0
    check_symmetric("distances", wrong, DISTANCES)
    check_distance_scale(list(rows))
    return rows


@plain_arguments
def plan_human_parity(
    distances: npt.ArrayLike, n_candidates: int, n_rows: int | None = None, gap: float | None = None, power: float = 0.8
) -> ParityPlan:
    """Say from a pilot which gaps the test of human parity finds with more rows, and how many rows a gap takes.

    T2 is noncentral chi-squared with n g' S^-1 g for gaps g that all rows share and the mean covariance S of a row
    under its splits, at least n g_i^2 / S_ii for one of the gaps, whatever the other is. The level of both tests
    together is 5%. For wrong captions in some of the rows see `plan_wrong_captions`.

    Args:
        distances: of the pilot, as for `human_gaps`, as is the next.
        n_candidates: number of candidates of every row.
        n_rows: rows to be tested; None: as many as the pilot's.
        gap: a gap to be found, above 0, in the unit of the distance; None: none.
        power: chance of finding it, above 0.05 and below 1.

    Returns:
        A named tuple: `power`; `n_rows`; `fidelity_gap` and `diversity_gap`, the least ones that these rows find;
        `fidelity_rows` and `diversity_rows`, the rows that find `gap`.

    Raises:
        TypeError, ValueError: as `human_gaps`, and another n_rows, gap or power than these.

    >>> points = np.random.default_rng(0).normal(size=(20, 6))
    >>> plan = plan_human_parity(np.abs(points[:, :, None] - points[:, None]), 3, n_rows=80, gap=0.1)
    >>> round(plan.fidelity_gap, 3), plan.fidelity_rows
    (0.183, 267.0)
    """
    rows = _as_symmetric(distances, n_candidates)
    n_rows = len(rows) if n_rows is None else n_rows
    check_plan(n_rows, gap, power)
    return parity_plan(row_gaps(rows, n_candidates).covariance.mean(axis=0), n_rows, gap, power)


def check_plan(n_rows: Any, gap: Any, power: Any, names: Sequence[str] = ("n_rows", "gap", "power")) -> None:
    """Raise unless a test can be planned with these; `names` are those that messages call them.

    Raises:
        TypeError: no numbers.
        ValueError: a number out of range.
    """
    check_whole_number(names[0], n_rows, 1, MOST_PLANNED_ROWS)
    if gap is not None:
        check_number(names[1], gap, 0, math.inf)
    check_number(names[2], power, LEVEL, 1)


@plain_arguments
def plan_wrong_captions(distances: npt.ArrayLike, n_candidates: int, share: float, power: float = 0.8) -> float:
    """Say from a pilot how many rows find a share of wrong captions.

    Every candidate is wrong with the chance w, so that a row has k wrong ones with the binomial one. The pilot says
    what gaps and tails are for each k, and how they spread; the mixture gives their means and covariances in a corpus.
    The sums over n rows are normal: T2 is a quadratic form of them, and the rows are those after which T2 or the tail
    is significant with this power. The pilot's own captions are taken for people's: their gaps count
    as 0.

    Args:
        distances: of the pilot, as for `human_gaps`, but with as many wrong captions, from other rows for example,
            behind the candidates: shape (n_rows, 2 m + n, 2 m + n) for m candidates and n references.
        n_candidates: m.
        share: w, above 0 and below 1.
        power: chance of finding it, above 0.05 and below 1.

    Returns:
        A whole number of rows as a float, at least 10; infinity beyond 10^9.

    Raises:
        TypeError, ValueError: as `human_gaps`, too few texts, or another share or power than these.

    >>> texts = np.random.default_rng(0).normal(size=(40, 7)) + np.array([0, 0, 5, -5, 0, 0, 0])
    >>> plan_wrong_captions(np.abs(texts[:, :, None] - texts[:, None]), 2, 0.2) < 100
    True
    """
    check_number("share", share, 0, 1)
    check_number("power", power, LEVEL, 1)
    rows = _as_symmetric(distances, 2 * n_candidates)
    mixture = _wrong_mixture(rows, n_candidates, share)
    if np.linalg.matrix_rank(mixture.under_splits, hermitian=True) < len(mixture.under_splits):
        raise InputError("distances", "rows whose gaps differ from split to split", "none", "Give other rows.")
    low, high = LEAST_ROWS_OF_TAILS, LEAST_ROWS_OF_TAILS
    while mixture.power(high) < power:
        low, high = high, 2 * high
        if high > MOST_PLANNED_ROWS:
            return math.inf
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if mixture.power(middle) >= power else (middle + 1, high)
    return float(high)


class _Mixture(NamedTuple):
    """A row of a corpus with wrong captions: one or two gaps, and the excess of the share unlike people's."""

    # Mean and covariance of these, the excess last, and the covariance of the gaps under splits.
    mean: Floats
    covariance: Floats
    under_splits: Floats
    # Tails that are tested.
    n_tails: int

    def power(self, n_rows: int) -> float:
        """Return the chance that T2 or the tail is significant with so many rows."""
        k = len(self.mean) - 1
        points = scipy.special.ndtri((np.arange(N_NORMAL_POINTS) + 0.5) / N_NORMAL_POINTS)
        normal = np.stack(np.meshgrid(*[points] * k), axis=-1).reshape(-1, k)
        lengths, axes = np.linalg.eigh(self.covariance[:k, :k])
        deviations = normal * np.sqrt(np.maximum(lengths, 0)) @ axes.T
        gaps = math.sqrt(n_rows) * self.mean[:k] + deviations
        statistics = np.einsum("pi,ij,pj->p", gaps, np.linalg.inv(self.under_splits), gaps)
        # The excess is normal, given the gaps.
        weights = np.linalg.solve(self.covariance[:k, :k], self.covariance[:k, k])
        own, residual = self.covariance[k, k], self.covariance[k, k] - weights @ self.covariance[:k, k]
        critical = scipy.special.stdtrit(n_rows - 1, 1 - LEVEL * WEIGHT_OF_TAILS / self.n_tails) * math.sqrt(own)
        excess = math.sqrt(n_rows) * self.mean[k] + deviations @ weights
        tail_power = scipy.special.ndtr((excess - critical) / math.sqrt(max(residual, 1e-12 * own)))
        return float(np.where(statistics > scipy.special.chdtri(k, level_of_gaps(True)), 1.0, tail_power).mean())


def _wrong_mixture(rows: Floats, m: int, share: float) -> _Mixture:
    """Describe rows whose candidates are each wrong with a chance."""
    k_gaps, n_texts = min(m, 2), rows.shape[1]
    threshold = _tails(rows, 2 * m, None, None).people[False].threshold(1, TAIL)
    first, second = np.zeros(k_gaps + 1), np.zeros((k_gaps + 1, k_gaps + 1))
    splits, people_mean = np.zeros((k_gaps, k_gaps)), np.zeros(k_gaps + 1)
    for n_wrong in range(m + 1):
        chance = math.comb(m, n_wrong) * share**n_wrong * (1 - share) ** (m - n_wrong)
        texts = [*range(m - n_wrong), *range(m, m + n_wrong), *range(2 * m, n_texts)]
        mixed_rows = rows[:, texts][:, :, texts]
        gaps, compared = row_gaps(mixed_rows, m), TailDistances(mixed_rows, m)
        sides = compared.tail_distances(TAILS["unlike_people_share"])
        people, candidates = (threshold.shares(side).mean(axis=1) for side in sides)
        both = [gaps.fidelity, gaps.diversity][:k_gaps]
        values = np.stack([*both, candidates - people], axis=1)
        if not n_wrong:
            people_mean = values.mean(axis=0)
        first += chance * (values - people_mean).mean(axis=0)
        second += chance * (values - people_mean).T @ (values - people_mean) / len(values)
        splits += chance * gaps.covariance[:, :k_gaps, :k_gaps].mean(axis=0)
    return _Mixture(first, second - np.outer(first, first), splits, 2 if m == 1 else 3)


class SentenceFaults(NamedTuple):
    """Shares of what candidates say that nobody said, and of what they leave out; omissions may be NaN.

    Floats, 0 to 1; people have 0.05 of each.
    """

    # Sentences farther from what people say than 19 of 20 of people's; and texts that leave out more of it, NaN where
    # most of people's texts are one sentence: there it is the former.
    unsupported_share: float
    omitted_share: float
    # Ends of the intervals in the order of the shares, NaN without a confidence level.
    low: tuple[float, float]
    high: tuple[float, float]
    # One-sided p-values, for more than people's share.
    p_values: tuple[float, float]
    # float64, shape (n_rows,): the shares of every row.
    unsupported_per_row: Floats
    omitted_per_row: Floats


@plain_arguments
def sentence_faults(
    candidates: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    embed: Callable[[list[str]], npt.ArrayLike],
    language: str = "en",
    confidence_level: float | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> SentenceFaults:
    """Say which share of the candidates' sentences nobody supports, and which share of the candidates leaves much out.

    w(u, t) = min over spans s of t of 1 - cos(u, s) is the distance of sentence u from text t, whose spans are its
    sentences, its pairs of neighbouring sentences, and the whole. A sentence's value is the mean of w over the
    references, and a text's omission the mean over references of the mean of w(u, text) over their sentences u. Beyond
    the 95% quantile of people's values, each reference beside the others of its row, a value counts as a fault. In the
    example people's are all 0: a candidate's first sentence, at 0 as well, counts as far as gives people 5%, the second
    one counts, and both references say something that the candidate leaves out: (0.05 + 1) / 2, and 1.

    Args:
        candidates: n_rows lists of texts.
        references: the same, two texts or more per row.
        embed: from n distinct spans to floating-point vectors, shape (n, d), none all zeros.
        language: ISO code of the language whose rules divide texts into sentences.
        confidence_level: between 0 and 1, for intervals; None: none.
        clusters: n_rows labels, equal ones for rows that depend on each other; None: rows of one image do.

    Returns:
        Both shares, their intervals and p-values, and those of every row.

    Raises:
        TypeError, ValueError: what is no text, fewer than two references in a row, vectors of another shape, that are
            not finite or all zeros, another level, language, or labels that are missing.

    >>> words = ("dog", "cat", "car")
    >>> found = sentence_faults(
    ...     [["A dog. A car."]],
    ...     [["A dog. A cat.", "A cat. A dog."]],
    ...     lambda texts: [[float(word in text.lower()) for word in words] for text in texts],
    ... )
    >>> round(found.unsupported_share, 3), found.omitted_share
    (0.525, 1.0)
    """
    people = as_caption_rows(references, "references")
    mine = as_caption_rows(candidates, "candidates")
    check_n_rows("references", len(people), "candidates", len(mine))
    short = [i for i, row in enumerate(people) if len(row) < 2]
    check_places(short, "references", "at least two texts", "one", "Leave the row out.")
    check_language("language", language)
    if confidence_level is not None:
        check_number("confidence_level", confidence_level, 0, 1)
    if clusters is not None:
        clusters = check_clusters(list(clusters), len(people))
    clusters = clusters_of_images(clusters, people, mine)
    rows = row_spans(mine, people, language)

    def vectors_of(texts: list[str]) -> np.ndarray:
        vectors = as_finite(embed(texts), "embed")
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise InputError("embed", f"vectors of shape ({len(texts)}, d)", vectors.shape, "Return one per text.")
        is_zero = ~vectors.any(axis=1)
        if is_zero.any():
            text = texts[int(is_zero.argmax())]
            raise InputError("embed", "vectors that are not all zeros", f"zeros of {text!r:.80}", "Leave it out.")
        return vectors

    support = sentence_support(rows, distances_of_vectors(rows, vectors_of), lambda steps, **_: steps)
    options = {"clusters": clusters, "confidence_level": confidence_level, "seed": 0}
    sizes = [(len(own), len(others)) for own, others in zip(mine, people, strict=True)]
    kinds = corpus_faults(None, support, None, sizes, options).kinds
    unsupported, omitted = (kinds.get(name) for name in list(FAULTS)[:2])
    if unsupported is None:
        raise RuntimeError("support has unsupported sentences")
    lacking = np.full(len(people), math.nan)
    return SentenceFaults(
        unsupported_share=unsupported.share.value,
        omitted_share=math.nan if omitted is None else omitted.share.value,
        low=(unsupported.share.low, math.nan if omitted is None else omitted.share.low),
        high=(unsupported.share.high, math.nan if omitted is None else omitted.share.high),
        p_values=(unsupported.p_value, math.nan if omitted is None else omitted.p_value),
        unsupported_per_row=unsupported.share.rows,
        omitted_per_row=lacking if omitted is None else omitted.share.rows,
    )
