"""Human parity by gaps: the test of the mean distances within and between both sides, and the joint result."""

import dataclasses
import heapq
import itertools
import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.special

from .base import Floats, InputError, as_pairs, check_number, check_whole_number, exact_mean, plain_arguments
from .caption_sets import (
    P_VALUE_METHODS,
    TIE_TOLERANCE,
    ComparableRows,
    Comparison,
    RowGenerators,
    SplitsOfRow,
    check_clusters,
    cluster_numbers,
    in_row_scales,
    interval_of_rows,
    mean_of_rows,
    one_sided_p_value,
    rows_by_size,
    split_forms,
    split_values,
    splits_of,
    with_interval,
)
from .caption_wording import (
    LEAST_ROWS_OF_WORDING,
    N_LISTED,
    WORDING_SHARES,
    CorpusWording,
    WordingRows,
    wording_shares,
    wording_test,
)
from .parity_faults import CorpusFaults
from .parity_tails import (
    LEAST_DISTANCES_OF_TAILS,
    LEAST_ROWS_OF_TAILS,
    LEVEL,
    TAIL,
    TAILS,
    WEIGHT_OF_LENGTH,
    WEIGHT_OF_TAILS,
    WEIGHT_OF_WORDING,
    CorpusTails,
    Distances,
    KeptDistances,
    ParityPlan,
    PeopleDistances,
    RowsNeeded,
    TailDistances,
    Threshold,
    corpus_tails,
    independent_distances,
    joint_p_value,
    level_of_distances,
    level_of_gaps,
    parity_plan,
    quantile_interval,
    rows_beyond,
    rows_needed,
    rows_needed_of_clusters,
    rows_needed_of_tails,
    soonest,
    spread_of_effect,
    tail_share,
)
from .parity_texts import LengthGap
from .vector_rows import check_distance_scale

# --------------------------------------------------------------------------------------------------------------------
# Human parity: how far candidates are from people, how varied they are, and one test of both, in closed form.
#
# With m candidates, n references and symmetric distances d, the fidelity gap f = mean d(c, r) - mean d(r, r') says
# how much farther candidates are from people than people are from each other, and the diversity gap v = mean d(c, c')
# - mean d(r, r') how much more varied they are (the two words as in Naeem et al. 2020,
# https://arxiv.org/abs/2002.09797). Means are over pairs of different texts, so that both are 0 for people at any
# sizes of the sets; the energy distance (Székely and Rizzo 2013, https://doi.org/10.1016/j.jspi.2013.03.018) is 2 f -
# v.
#
# Null hypothesis: the texts of a row may as well be split at random into candidates and references. The mean of (f,
# v) over all splits is 0, and its covariance has a closed form in the sums of distances (Chen and Friedman 2017,
# https://doi.org/10.1080/01621459.2016.1147356; Song and Chen 2020, https://arxiv.org/abs/2011.06127), so that
# nothing is drawn, and a corpus needs five sums, which add over its parts.


class RowGaps(NamedTuple):
    """Gaps of rows of equal sizes, and their covariance over all splits of each row."""

    # float64 arrays, shape (n_rows,), in the unit of the distance; diversity is 0 where rows have one candidate.
    fidelity: np.ndarray
    diversity: np.ndarray
    # float64 array, shape (n_rows, 2, 2), of (fidelity, diversity).
    covariance: np.ndarray


class GapsTest(NamedTuple):
    """Test of all rows together; p-values are two-sided, and NaN where no split changes the gap."""

    p_value: float
    fidelity_p_value: float
    diversity_p_value: float
    # T2 = g' S^-1 g of the summed gaps g and covariances S, and its degrees of freedom: 2, 1, or 0 if nothing varies.
    statistic: float
    degrees: int


def row_gaps(distances: np.ndarray, n_candidates: int) -> RowGaps:
    """Compute the gaps of rows of equal sizes and their covariance over all splits.

    `distances` is float64, shape (n_rows, n_texts, n_texts), symmetric, zeros on the diagonal, candidates first; there
    is at least one candidate, and at least two references.
    """
    m, n = n_candidates, distances.shape[1] - n_candidates
    inside, outside, total = (
        part.sum(axis=(1, 2)) / 2 for part in (distances[:, :m, :m], distances[:, m:, m:], distances)
    )
    # (f, v) as linear forms in the sums (A, B, X) within candidates, within references, and across.
    pairs, own = m * (m - 1) / 2, n * (n - 1) / 2
    across = total - inside - outside
    fidelity = across / (m * n) - outside / own
    diversity = inside / pairs - outside / own if m > 1 else np.zeros(len(distances))
    forms = np.array(
        [[-1 / (m * n), -1 / (m * n) - 1 / own], [1 / pairs if m > 1 else 0.0, -1 / own if m > 1 else 0.0]]
    )
    return RowGaps(fidelity, diversity, forms @ _covariance(distances, total, m, n) @ forms.T)


def _covariance(distances: np.ndarray, total: np.ndarray, m: int, n: int) -> np.ndarray:
    """Covariance of the sums within candidates and within references over all splits: (n_rows, 2, 2)."""
    # Centred, which moves the sums of every split alike, so that no difference of large numbers is left.
    n_texts = m + n
    mean = total / (n_texts * (n_texts - 1) / 2)
    centred = (distances - mean[:, None, None]) * ~np.eye(n_texts, dtype=bool)
    squares = (centred**2).sum(axis=(1, 2)) / 2
    chains = (centred.sum(axis=2) ** 2).sum(axis=1) - 2 * squares
    apart = -squares - chains  # the sum of all is 0
    m_shares, n_shares = ([_share(k, size, n_texts) for k in (2, 3, 4)] for size in (m, n))
    variances = [squares * two + chains * three + apart * four for two, three, four in (m_shares, n_shares)]
    both = apart * math.perm(m, 2) * math.perm(n, 2) / math.perm(n_texts, 4) if n_texts > 3 else np.zeros(len(total))
    return np.stack([np.stack([variances[0], both], axis=-1), np.stack([both, variances[1]], axis=-1)], axis=-2)


def _share(k: int, chosen: int, number: int) -> float:
    """Chance that k given texts are all among `chosen` of `number`; 0 where there are fewer."""
    return math.perm(chosen, k) / math.perm(number, k) if number >= k else 0.0


def gaps_test(gaps: Iterable[RowGaps], clusters: Sequence[Hashable] | None = None) -> GapsTest:
    """Test whether candidates and references of all rows have one distribution.

    T2 of the summed gaps is chi-squared with two degrees of freedom, one where all rows have a single candidate, from
    five rows on. Rows that depend on each other have no covariance by splits: with clusters it is by the clusters'
    sums, and T2 (C - 2) / (2 (C - 1)) is compared with Fisher's F of 2 and C - 2 degrees (Hotelling 1931,
    https://doi.org/10.1214/aoms/1177732979).

    `gaps` are of all rows, in any number of parts, and `clusters` labels of the rows in their order; None makes every
    row independent.
    """
    parts = list(gaps)
    values = np.concatenate([np.stack([part.fidelity, part.diversity], axis=1) for part in parts])
    if clusters is None:
        sums = np.array([math.fsum(column) for column in values.T])
        entries = np.concatenate([part.covariance for part in parts])
        return gaps_test_of_sums(sums, np.array([[math.fsum(entries[:, i, j]) for j in (0, 1)] for i in (0, 1)]))
    cluster_sums = sums_of_clusters(values, clusters)
    n_clusters = len(cluster_sums)
    residuals = cluster_sums - cluster_sums.mean(axis=0)
    covariance = residuals.T @ residuals * n_clusters / max(1, n_clusters - 1)
    return gaps_test_of_sums(cluster_sums.sum(axis=0), covariance, n_clusters)


def sums_of_clusters(values: np.ndarray, clusters: Sequence[Hashable]) -> np.ndarray:
    """Add up the values of each cluster's rows: (n_rows, k) to (n_clusters, k)."""
    numbers = cluster_numbers(clusters)
    sums = np.zeros((numbers.max() + 1, values.shape[1]))
    np.add.at(sums, numbers, values)
    return sums


def gaps_test_of_sums(sums: np.ndarray, covariance: np.ndarray, n_clusters: int | None = None) -> GapsTest:
    """Test the summed gaps, float64, shape (2,), fidelity first, with their covariance, shape (2, 2).

    With `n_clusters` the covariance is the spread of so many clusters, without the spread by splits.
    """
    own = [
        _tail(float(sums[i] ** 2 / covariance[i, i]), 1, n_clusters) if covariance[i, i] > 0 else math.nan
        for i in (0, 1)
    ]
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    varies = np.flatnonzero(deviations > 0)
    # In their own units, in which a singular covariance is told by its determinant.
    scaled = sums[varies] / deviations[varies]
    correlations = covariance[np.ix_(varies, varies)] / np.outer(deviations[varies], deviations[varies])
    if len(varies) == 2 and np.linalg.det(correlations) < TIE_TOLERANCE:  # both gaps say the same
        varies, scaled, correlations = varies[:1], scaled[:1], correlations[:1, :1]
    if not len(varies):
        return GapsTest(math.nan, own[0], own[1], math.nan, 0)
    statistic = float(scaled @ np.linalg.solve(correlations, scaled))
    return GapsTest(_tail(statistic, len(varies), n_clusters), own[0], own[1], statistic, len(varies))


def _tail(statistic: float, degrees: int, n_clusters: int | None) -> float:
    """Upper tail of T2: of chi-squared, or by the spread of clusters of Hotelling's distribution."""
    if n_clusters is None:
        return float(scipy.special.chdtrc(degrees, statistic))
    if n_clusters <= degrees:
        return math.nan
    others = n_clusters - degrees
    return float(scipy.special.fdtrc(degrees, others, statistic * others / (degrees * (n_clusters - 1))))


def parity_comparison(distances: np.ndarray, n_candidates: int) -> Comparison:
    """Compare rows of equal sizes by T2 of each row, for a row's own p-value; the distances are as for `row_gaps`.

    T2 is 0 where no split changes the gaps, and has no unit.
    """
    gaps = row_gaps(distances, n_candidates)
    inverses = _inverses(gaps.covariance)

    def statistics(values: np.ndarray, rows: slice) -> np.ndarray:
        return np.einsum("irb,rij,jrb->rb", values, inverses[rows], values)

    def null_values(rows: slice, splits: SplitsOfRow) -> Iterable[np.ndarray]:
        return (statistics(values, rows) for values in null_gaps(distances[rows], n_candidates, splits))

    observed = statistics(np.stack([gaps.fidelity, gaps.diversity])[..., None], slice(None))[:, 0]
    return Comparison(observed, distances, null_values)


def _inverses(covariances: np.ndarray) -> np.ndarray:
    """Inverses of covariances, shape (n_rows, 2, 2), without the directions in which nothing varies."""
    # A variance of 0 may be rounded below it.
    scales = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))  # (n_rows, 2)
    safe = np.where(scales > 0, scales, 1.0)
    correlations = covariances / (safe[:, :, None] * safe[:, None, :])
    inverses = np.linalg.pinv(correlations, rcond=TIE_TOLERANCE, hermitian=True)
    return inverses / (safe[:, :, None] * safe[:, None, :])


def null_gaps(distances: np.ndarray, n_candidates: int, splits: SplitsOfRow) -> Iterable[np.ndarray]:
    """Give both gaps of every row under every split: float64 arrays, shape (2, n_rows, block)."""
    m, n = n_candidates, distances.shape[1] - n_candidates
    within, own = m * (m - 1), n * (n - 1)
    weights = [(0.0, -1 / own, 1 / (m * n)), (1 / within, -1 / own, 0.0)] if m > 1 else [(0.0, -1 / own, 1 / n)]
    forms = [split_forms(distances, *pair_weights) for pair_weights in weights]
    values = [split_values(form, constant, splits) for form, constant in forms]
    if m > 1:
        return (np.stack(blocks) for blocks in zip(*values, strict=True))
    return (np.stack([block, np.zeros_like(block)]) for block in values[0])


class DrawnGaps:
    """Sums over rows of the gaps of a random split of each row, for the p-values of few rows."""

    def __init__(self, options: Mapping[str, Any], n_rows: int):
        self._options = options
        # float64 array, shape (n_rows,): the rows' own p-values.
        self.p_values = np.empty(n_rows)
        self._generators = RowGenerators([options["seed"]])
        self._sums = np.zeros((2, options["n_resamples"]))

    def add(
        self, distances: np.ndarray, size: tuple[int, int], rows: Sequence[int], row_key: Callable[[int], bytes]
    ) -> None:
        """Add rows of equal sizes (n_candidates, n_references), by their numbers; distances as for `row_gaps`.

        `row_key` is from the number of a row to what its draws depend on, see `row_keys`.
        """
        splits = splits_of(size, self._options)
        inverses = _inverses(row_gaps(distances, size[0]).covariance)
        for i, row in enumerate(rows):
            nulls = np.concatenate(list(null_gaps(distances[i : i + 1], size[0], splits)), axis=2)[:, 0]
            generator = self._generators.next_generator(row_key(row))
            self._sums += nulls[:, generator.integers(nulls.shape[1], size=self._options["n_resamples"])]
            statistics = np.einsum("is,ij,js->s", nulls, inverses[i], nulls)
            self.p_values[row] = (statistics >= statistics[0] - TIE_TOLERANCE * max(1.0, statistics[0])).mean()

    def test(self, observed: "ParityCorpus") -> GapsTest:
        """Return the test with p-values by the draws, ties counted: (1 + draws that reach it) / (1 + draws)."""
        draws = self._sums
        inverse = _inverses(observed.covariance[None])[0]
        statistics = np.einsum("is,ij,js->s", draws, inverse, draws)
        if not observed.test.degrees:
            return observed.test
        joint = _share_reached(statistics, observed.sums @ inverse @ observed.sums)
        if len(self.p_values) == 1:
            joint = float(self.p_values[0])
        fidelity, diversity = (
            _share_reached(np.abs(values), abs(value)) if variance > 0 else math.nan
            for values, value, variance in zip(draws, observed.sums, np.diagonal(observed.covariance), strict=True)
        )
        return observed.test._replace(p_value=joint, fidelity_p_value=fidelity, diversity_p_value=diversity)


def _share_reached(draws: np.ndarray, observed: float) -> float:
    """p-value of a value by draws, which are never negative (Phipson and Smyth 2010)."""
    return float((1 + np.count_nonzero(draws >= observed * (1 - TIE_TOLERANCE))) / (1 + len(draws)))


# --------------------------------------------------------------------------------------------------------------------
# The answer of human parity for a corpus: means of rows, the test of all rows, and the captions to look at.

# Ways to the p-value: the closed form, or as in the other modules by all splits, by random ones, or none.
PARITY_P_VALUES = ("chi-squared", "exact", "permutation", "none")

# Rows from which on chi-squared p-values are right at a level of 5%.
LEAST_ROWS = 5

# The smallest p-value of which a z is computed.
SMALLEST_P = 1e-300

# p-value below which candidates are said to be copies of references.
COPIES_LEVEL = 0.001

# Values whose mean over rows is reported beside the shares of tails.
MEANS = ("copied_share", "fidelity_gap", "diversity_gap", "energy_distance")

# Shares of people's captions that also occur among references: the references' own, and what candidates of people have.
PEOPLES_COPIES = ("copied_share_of_people", "copied_share_expected")

# Parts of the result that it has with `details` or `confidence_level` alone: the tests behind human_parity_p_value, and
# what copied_share is compared with.
FURTHER_KEYS = (
    *("unsupported_p_value", "omitted_p_value", "odd_wording_p_value", "repeated_p_value", "length_p_value"),
    *("gaps_p_value", "tails_p_value", "human_parity_smallest_p", "fidelity_gap_p_value", "diversity_gap_p_value"),
    *PEOPLES_COPIES,
)

# What needs two candidates; NaN for a row that has one.
OF_PAIRS = frozenset({"diversity_gap", "energy_distance"})

# Entries of a row's covariance of (fidelity, diversity) over all splits.
COVARIANCES = {"fidelity_variance": (0, 0), "gap_covariance": (0, 1), "diversity_variance": (1, 1)}

# The two gaps of a row, and rows that are read at once.
GAPS = ("fidelity_gap", "diversity_gap")
BLOCK = 1 << 16

ParityColumns = Mapping[str, Collection[float]]


class ParityCorpus(NamedTuple):
    """The test of the gaps of all rows."""

    test: GapsTest
    # float64 arrays, shapes (2,) and (2, 2): fidelity and diversity gaps of all rows added, and their covariance.
    sums: np.ndarray
    covariance: np.ndarray


def check_two_references(
    sizes: Sequence[tuple[int, int]], columns: tuple[str, str], _options: Mapping[str, Any]
) -> None:
    """Raise unless every row has two references."""
    short = [i for i, (_, n) in enumerate(sizes) if n < 2]
    if short:
        raise InputError(
            f"{columns[1]}[{short[0]}]",
            "at least two references, since people are compared with each other",
            f"one ({len(short)} such rows in all)",
            "Add references, or leave the row out; `wording` takes one.",
        )


def row_columns(distances: np.ndarray, n_candidates: int) -> dict[str, np.ndarray]:
    """Compute all that the corpus needs of rows of equal sizes, with distances as for `row_gaps`.

    Returns float64 arrays, shape (n_rows,): the keys of `MEANS`, `PEOPLES_COPIES` and `COVARIANCES`.
    """
    m = n_candidates
    gaps = row_gaps(distances, m)
    diversity = gaps.diversity if m > 1 else np.full(len(distances), math.nan)
    copied = _copies(in_row_scales(distances), m)
    return {
        **copied,
        "fidelity_gap": gaps.fidelity,
        "diversity_gap": diversity,
        "energy_distance": 2 * gaps.fidelity - diversity,
        **{name: gaps.covariance[:, i, j] for name, (i, j) in COVARIANCES.items()},
    }


def _copies(distances: np.ndarray, m: int) -> dict[str, np.ndarray]:
    """Shares of texts at distance 0 from a reference: arrays (n_rows,).

    Of candidates, and of references, from another one; expected of a candidate that a person wrote, which has one
    reference more to match, is the mean over texts that are exchangeable then: a candidate and all references.
    """
    is_same = np.less_equal(distances, TIE_TOLERANCE, dtype=bool)
    n = distances.shape[1] - m
    crossing, people = is_same[:, :m, m:], is_same[:, m:, m:] & ~np.eye(n, dtype=bool)
    copied = crossing.any(axis=2)  # (n_rows, m)
    has_twin = people.any(axis=2)  # (n_rows, n)
    with_twin = (has_twin[:, None] | crossing).sum(axis=2) + copied
    shares = copied.mean(axis=1), has_twin.mean(axis=1), (with_twin / (n + 1)).mean(axis=1)
    return dict(zip(("copied_share", *PEOPLES_COPIES), shares, strict=True))


def parity_result(
    columns: ParityColumns,
    tails: CorpusTails,
    options: Mapping[str, Any],
    drawn: DrawnGaps | None = None,
    wording: CorpusWording | None = None,
    texts: "TextValues | None" = None,
) -> dict[str, Any]:
    """Build the result of all rows, a dict of Python scalars.

    Args:
        columns: by the names of `row_columns` a collection of n_rows floats, read as often as it is needed.
        tails: of all rows, with intervals if there is a confidence level.
        options: p_value, confidence_level and clusters.
        drawn: the gaps of random splits, for their p-values.
        wording: of the captions; None where there are none, and its keys are left out.
        texts: faults and length of the captions; None leaves out their keys.
    """
    level, clusters = options["confidence_level"], options["clusters"]
    corpus = parity_corpus(columns, clusters)
    test = corpus.test if drawn is None else drawn.test(corpus)
    wording_p = math.nan if wording is None else wording.test.p_value
    length_p = math.nan if texts is None or texts.length is None or not tails.is_tested else texts.length.p_value
    if texts is not None:
        tails = texts.tails_with_faults(tails)
    result: dict[str, Any] = {"n_rows": len(columns["fidelity_gap"])}
    if options["p_value"] != "none":
        joint, gaps_p_value, smallest = parity_p_values(test.p_value, tails, clusters, wording_p, length_p)
        result["human_parity_p_value"] = joint
        result["gaps_p_value"], result["tails_p_value"] = gaps_p_value, tails.p_value
        result["human_parity_statistic"] = test.statistic
        result["human_parity_smallest_p"] = joint_p_value(
            smallest, 1.0 if tails.tested else math.nan, *(1.0 if p == p else math.nan for p in (wording_p, length_p))
        )
    needed = _rows_needed(corpus, columns, tails, (wording_p, length_p), level, clusters)
    result |= with_interval("rows_needed", needed, level)
    for name, share in tails.shares.items():
        result |= with_interval(name, (share.value, share.low, share.high), level)
    if level is not None:
        low = tails.shares["unlike_people_share"].low
        result["wrong_share_ci_low"] = max(0.0, (low - TAIL) / (1 - TAIL)) if low == low else math.nan
    for name in MEANS:
        values, labels = _drop_missing(columns[name], clusters)
        ends = (math.nan, math.nan)
        if level is not None and len(values) > 1:
            ends = _mean_interval(name, values, level, labels)
        result |= with_interval(name, (exact_mean(values), *ends), level)
    result |= {name: exact_mean(_drop_missing(columns[name], None)[0]) for name in PEOPLES_COPIES}
    if options["p_value"] != "none":
        result["fidelity_gap_p_value"] = test.fidelity_p_value
        result["diversity_gap_p_value"] = test.diversity_p_value
    is_tested = options["p_value"] != "none"
    if texts is None:
        return result if wording is None else result | wording.result(level, is_tested=is_tested)
    if wording is not None:
        result |= wording_values(wording, level, is_tested=is_tested)
    return result | texts.result(level, is_tested=is_tested)


def wording_values(wording: CorpusWording, confidence_level: float | None, *, is_tested: bool) -> dict[str, float]:
    """Return the values of the wording of whole captions, without the odd ones, which are counted by sentence."""
    values = wording.result(confidence_level, is_tested=is_tested)
    return {key: value for key, value in values.items() if not key.startswith("odd_wording")}


class TextValues(NamedTuple):
    """What human parity says of texts beside their distances."""

    faults: CorpusFaults
    # None for ready vectors and distances.
    length: LengthGap | None

    def tails_with_faults(self, tails: CorpusTails) -> CorpusTails:
        """Return tails in whose test unsupported sentences and omissions stand for texts unlike people's."""
        kinds = self.faults.kinds
        chosen = {name: kinds[name] for name in ("unsupported_share", "omitted_share") if name in kinds}
        if not chosen or kinds["unsupported_share"].share is tails.shares["unlike_people_share"]:
            return tails
        return dataclasses.replace(tails, faults={name: (fault.share, fault.p_value) for name, fault in chosen.items()})

    def result(self, confidence_level: float | None, *, is_tested: bool) -> dict[str, float]:
        """Return the values by the keys of a module's result."""
        result = self.faults.result(confidence_level, is_tested=is_tested)
        if self.length is not None:
            result |= self.length.result(confidence_level, is_tested=is_tested)
        return result


def parity_wording(
    rows: WordingRows, distances: Distances, tails: CorpusTails, options: Mapping[str, Any]
) -> CorpusWording:
    """Test the wording of all rows, and count faulty candidates: those unlike people's, or of odd wording.

    A reference is odd by its own wording, and unlike people's by its distances from the others; a candidate in its
    place likewise. `distances` and `tails` are of the same rows; options are confidence_level and clusters.
    """
    level, clusters = options["confidence_level"], options["clusters"]
    test, wording = wording_test(rows, clusters, level), wording_shares(rows, clusters, level)
    people = tails.people[False], wording.people
    signs = TAILS["unlike_people_share"].sign, WORDING_SHARES["odd_wording_share"]

    def faults(shares: Sequence[float]) -> FaultyRows:
        """Return the faults beyond the quantiles that leave such shares of people."""
        thresholds = [of.threshold(sign, share) for of, sign, share in zip(people, signs, shares, strict=True)]
        return _faulty_rows(rows, distances, thresholds)

    faulty_rows = faults((TAIL, TAIL))
    n_candidates = int(rows.sizes[:, 0].sum())
    faulty = tail_share(faulty_rows.candidates, faulty_rows.people, clusters, n_candidates)
    if level is not None and faulty.candidates.n_clusters > 1:
        errors = (
            share.people.standard_error
            for share in (tails.shares["unlike_people_share"], wording.shares["odd_wording_share"])
        )
        ends = [quantile_interval(error, of, level) for error, of in zip(errors, people, strict=True)]
        below, above, near = (float(faults([end[i] for end in ends]).candidates.mean()) for i in (0, 1, 2))
        part = (ends[0].part + ends[1].part) / 2
        faulty = faulty.with_interval((1 - part) * below + part * above, near, level)
    return CorpusWording(rows, test, {**wording.shares, "faulty_share": faulty}, faulty_rows.degrees)


class FaultyRows(NamedTuple):
    """Shares of faulty captions."""

    # float64 arrays, shape (n_rows,): of candidates, and of references beside the others.
    candidates: np.ndarray
    people: np.ndarray
    # Of each candidate: n_rows lists.
    degrees: list[list[float]]


def _faulty_rows(rows: WordingRows, distances: Distances, thresholds: Sequence[Threshold]) -> FaultyRows:
    """Captions beyond the threshold of distances, or of wording: in part those in part of a tail."""
    unlike, odd_wording = thresholds
    odd = odd_wording.shares(rows.slor)
    shares = np.empty((2, distances.n_rows))
    degrees: list[list[float]] = [[] for _ in range(distances.n_rows)]
    for block in distances.blocks():
        m, row_distances = block.n_candidates, TailDistances(block.distances, block.n_candidates)
        odd_texts = odd[rows.texts.first[block.rows][:, None] + np.arange(block.distances.shape[1])]
        candidates = 1 - (1 - unlike.shares(row_distances.candidates)) * (1 - odd_texts[:, :m, None])
        people = 1 - (1 - unlike.shares(row_distances.people)) * (1 - odd_texts[:, m:])
        shares[:, block.rows] = candidates.mean(axis=(1, 2)), people.mean(axis=1)
        for row, row_degrees in zip(block.rows.tolist(), candidates.mean(axis=2).tolist(), strict=True):
            degrees[row] = row_degrees
    return FaultyRows(shares[0], shares[1], degrees)


def trim_result(result: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the module reports of a result: `FURTHER_KEYS` with `details` or `confidence_level` alone."""
    is_whole = options["details"] or options["confidence_level"] is not None
    return {key: value for key, value in result.items() if is_whole or key not in FURTHER_KEYS}


def _mean_interval(
    name: str, values: np.ndarray, level: float, clusters: Sequence[Hashable] | None
) -> tuple[float, float]:
    """Interval of a mean; a share's is within 0 to 1, and where all rows have 1, or 0, as long as n allows.

    The chance that n independent shares with mean m are all 1 is at most m^n, so that the mean is at least a^(1 / n).
    """
    low, high = interval_of_rows(values, level, clusters)
    if not name.endswith("_share"):
        return low, high
    least = ((1 - level) / 2) ** (1 / (len(values) if clusters is None else len(set(clusters))))
    low = min(low, least) if values.min() == 1 else low
    high = max(high, 1 - least) if values.max() == 0 else high
    return max(0.0, low), min(1.0, high)


def _drop_missing(
    column: Collection[float], clusters: Sequence[Hashable] | None
) -> tuple[np.ndarray, Sequence[Hashable] | None]:
    """The values of the rows that have one, and their clusters."""
    values = np.fromiter(column, dtype=np.float64, count=len(column))
    known = ~np.isnan(values)
    if clusters is not None and not known.all():
        clusters = [label for label, is_known in zip(clusters, known, strict=True) if is_known]
    return values[known], clusters


def parity_corpus(columns: ParityColumns, clusters: Sequence[Hashable] | None) -> ParityCorpus:
    """Test the gaps of all rows, with columns as for `parity_result`, and labels of the rows or None."""
    if clusters is not None:
        ((gaps, covariances),) = _blocks(columns, len(columns["fidelity_gap"]))
        test = gaps_test([RowGaps(gaps[:, 0], gaps[:, 1], covariances)], clusters)
        return ParityCorpus(test, gaps.sum(axis=0), covariances.sum(axis=0))
    # Exact sums of columns that may be as long as a disk is large: the order of the rows changes nothing.
    sums = np.array([math.fsum(value for value in columns[gap] if value == value) for gap in GAPS])
    entries = {index: math.fsum(columns[name]) for name, index in COVARIANCES.items()}
    covariance = np.array([[entries[min(i, j), max(i, j)] for j in (0, 1)] for i in (0, 1)])
    return ParityCorpus(gaps_test_of_sums(sums, covariance), sums, covariance)


def _rows_needed(
    corpus: ParityCorpus,
    columns: ParityColumns,
    tails: CorpusTails,
    word_p_values: tuple[float, float],
    confidence_level: float | None,
    clusters: Sequence[Hashable] | None,
) -> RowsNeeded:
    """Rows after which one of the tests finds a difference: the fewest of all."""
    test, n_rows = corpus.test, len(columns["fidelity_gap"])
    with_words = [not math.isnan(p_value) for p_value in word_p_values]
    level = level_of_gaps(bool(tails.tested), *with_words)
    if clusters is not None:
        n_clusters = len(set(clusters))
        gaps_needed = rows_needed_of_clusters(
            test.statistic, test.degrees, n_clusters, n_rows, confidence_level, level=level
        )
    else:
        k, spread = test.degrees, 1.0
        if confidence_level is not None and k and n_rows > 1:
            parts = ((gaps[:, :k], covariances[:, :k, :k]) for gaps, covariances in _blocks(columns, BLOCK))
            spread = spread_of_effect(corpus.sums[:k] / n_rows, corpus.covariance[:k, :k] / n_rows, parts)
        gaps_needed = rows_needed(test.statistic, k, n_rows, confidence_level, spread, level=level)
    size = tails.n_clusters, n_rows, confidence_level
    level = level_of_distances(*with_words) * WEIGHT_OF_TAILS
    tails_needed = rows_needed_of_tails([share.t for share in tails.tested], *size, level=level)
    words = []
    for p_value, weight in zip(word_p_values, (WEIGHT_OF_WORDING, WEIGHT_OF_LENGTH), strict=True):
        # The z of a two-sided p-value, which may be too small for a number.
        z_values = [] if math.isnan(p_value) else [-float(scipy.special.ndtri(max(p_value / 2, SMALLEST_P)))]
        words.append(rows_needed_of_tails(z_values, *size, level=LEVEL * weight / 2))
    # With fewer rows tails are not tested.
    least = max(LEAST_ROWS_OF_TAILS, math.ceil(LEAST_DISTANCES_OF_TAILS / independent_distances(tails.sizes)))
    return soonest(
        gaps_needed,
        RowsNeeded(*np.maximum(tails_needed, float(least)).tolist()),
        *(RowsNeeded(*np.maximum(needed, float(LEAST_ROWS_OF_WORDING)).tolist()) for needed in words),
    )


def _blocks(columns: ParityColumns, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gaps, shape (n, 2), and covariances, (n, 2, 2), of every `size` rows."""
    rows = zip(*(columns[name] for name in (*GAPS, *COVARIANCES)), strict=True)
    while block := list(itertools.islice(rows, size)):
        values = np.array(block).T
        yield np.nan_to_num(values[:2].T), values[2:][[[0, 1], [1, 2]]].transpose(2, 0, 1)


def _stack(columns: ParityColumns, names: Iterable[str]) -> np.ndarray:
    """Columns as a float64 array, shape (len(names), n_rows)."""
    return np.stack([np.fromiter(columns[name], dtype=np.float64, count=len(columns[name])) for name in names])


def covariances_of(columns: ParityColumns) -> np.ndarray:
    """Return the covariance of every row's gaps: float64 array, shape (n_rows, 2, 2)."""
    return _stack(columns, COVARIANCES)[[[0, 1], [1, 2]]].transpose(2, 0, 1)


def warn_of_copies(columns: ParityColumns, clusters: Sequence[Hashable] | None) -> None:
    """Warn where candidates also occur among the references of their row more often than people's would."""
    copied, people, expected = _stack(columns, ("copied_share", *PEOPLES_COPIES))
    excess = mean_of_rows(copied - expected, clusters)
    p_value = one_sided_p_value(excess)
    are_alike = len(copied) > 1 and excess.standard_error == 0  # p is not defined where all rows say the same
    if excess.mean > 0 and (p_value < COPIES_LEVEL or are_alike):
        warnings.warn(
            f"predictions, references: {copied.mean():.0%} of the candidates also occur among the references of their "
            f"row, and {people.mean():.0%} of the references among the others. If they are copies, the references "
            "are not other people's captions, and the result means nothing: take them out of the references.",
            stacklevel=2,
        )


def warn_of_few_rows(tails: CorpusTails, options: Mapping[str, Any]) -> None:
    """Warn where chi-squared p-values are not right yet, or tails are not tested."""
    n_rows = sum(tails.sizes.values())
    if options["p_value"] == "none":
        return
    if options["p_value"] == "chi-squared" and options["clusters"] is None and n_rows < LEAST_ROWS:
        warnings.warn(
            f"p_value: the closed form is right from {LEAST_ROWS} rows on, and there are {n_rows}. Give "
            "p_value='permutation' for a p-value by random splits.",
            stacklevel=2,
        )
    elif not tails.tested:
        warnings.warn(
            f"p_value: the tails are tested from {LEAST_ROWS_OF_TAILS} rows on, or {LEAST_DISTANCES_OF_TAILS} with two "
            f"references, and there are {n_rows}. The p-value is for the gaps alone, in which wrong captions and "
            "ordinary ones can cancel.",
            stacklevel=2,
        )


def lists_of_rows(values: "ParityValues", tails: CorpusTails) -> dict[str, list[float]]:
    """Return the values of every row, by the keys of a module's result."""
    columns = {name: share.rows for name, share in tails.shares.items()} | {n: values.columns[n] for n in MEANS}
    if values.drawn is not None:
        columns["human_parity_p_value"] = values.drawn.p_values
    return {f"{name}_per_row": column.tolist() for name, column in columns.items()}


class ParityValues(NamedTuple):
    """What is known of all rows."""

    # By the names of `row_columns` float64 arrays, shape (n_rows,).
    columns: Mapping[str, np.ndarray]
    # Of all pairs of texts of every row.
    distances: KeptDistances
    # Gaps of random splits; None for the closed form.
    drawn: DrawnGaps | None
    # Settings of the texts, for the signature, and the counts of texts that their encoder does not read as a whole.
    settings: Mapping[str, Any]
    n_unread: Callable[[], dict[str, int]]

    def tails(self, options: Mapping[str, Any]) -> CorpusTails:
        """Return the tails of the corpus; options are confidence_level, clusters and seed."""
        level, clusters = options["confidence_level"], options["clusters"]
        return corpus_tails(self.distances, level, clusters, seed=options["seed"])


def values_of_rows(
    rows: ComparableRows, options: Mapping[str, Any], progress: Callable[..., Iterable[Any]]
) -> ParityValues:
    """Compare all rows by `parity_comparison`, in batches of equal sizes; `progress` wraps them, as `tqdm` does."""
    n_rows = len(rows.sizes)
    drawn = DrawnGaps(options, n_rows) if options["p_value"] in P_VALUE_METHODS[1:] else None
    kept = KeptDistances(n_rows)
    columns: dict[str, np.ndarray] = {}
    for size, batch in progress(rows_by_size(rows.sizes, rows.batch_size), desc="rows", unit="batch", delay=1):
        distances = rows.compare(batch).pair_values
        kept.add(distances, size[0], batch)
        for name, values in row_columns(distances, size[0]).items():
            columns.setdefault(name, np.empty(n_rows))[batch] = values
        if drawn is not None:
            drawn.add(distances, size, batch, rows.row_key)
    return ParityValues(columns, kept, drawn, rows.settings, rows.n_unread)


def symmetric(distances: np.ndarray) -> np.ndarray:
    """Return the mean of both directions of distances, shape (n_rows, n_texts, n_texts)."""
    return (distances + distances.swapaxes(1, 2)) / 2


def parity_p_values(
    gaps_p_value: float,
    tails: CorpusTails,
    clusters: Sequence[Hashable] | None,
    wording_p: float = math.nan,
    length_p: float = math.nan,
) -> tuple[float, float, float]:
    """Put all tests together, with no p-value below the smallest one of all splits of the rows.

    Splits of rows in clusters are no bound. Returns the p-values of all tests and of the gaps, and the smallest one.
    """
    smallest = 0.0 if clusters is not None else smallest_parity_p_value(tails.sizes)
    # NaN stays NaN.
    gaps_p_value, *others = (max(p_value, smallest) for p_value in (gaps_p_value, tails.p_value, wording_p, length_p))
    return joint_p_value(gaps_p_value, *others), gaps_p_value, smallest


def smallest_parity_p_value(sizes: Mapping[tuple[int, int], int]) -> float:
    """Return the smallest p-value by all splits of all rows; `sizes` counts rows by (n_candidates, n_references).

    Where all rows have sets of one size, the two may change places.
    """
    n_alike = 2 if all(m == n for m, n in sizes) else 1
    return n_alike * math.exp(-math.fsum(n_rows * math.log(math.comb(m + n, m)) for (m, n), n_rows in sizes.items()))


# Bins of the histogram: the first and the last are the tails.
N_BINS = 20


def list_captions(distances: Distances, people: PeopleDistances) -> dict[str, Any]:
    """List the candidates at the ends of people's distances: Python lists, by the keys of a module's result."""
    p_values: list[list[float]] = [[] for _ in range(distances.n_rows)]
    means: list[list[float]] = [[] for _ in range(distances.n_rows)]
    far: list[tuple[float, int, int]] = []
    near: list[tuple[float, int, int, int]] = []
    for block in distances.blocks():
        compared = TailDistances(block.distances, block.n_candidates)
        rows = block.rows.tolist()
        candidate_means = compared.candidates.mean(axis=2)  # (n_rows, m)
        block_p_values = conformal_p_values(compared.candidates, people)
        for row, row_values, row_p_values in zip(rows, candidate_means.tolist(), block_p_values.tolist(), strict=True):
            means[row], p_values[row] = row_values, row_p_values
        far = heapq.nsmallest(
            N_LISTED, far + [(-candidate_means[i, k], rows[i], k) for i, k in _smallest(-candidate_means)]
        )
        pairs = list(zip(*(index.tolist() for index in np.triu_indices(block.n_candidates, 1)), strict=True))
        near_of_block = [
            (compared.candidate_pairs[i, k], rows[i], *pairs[k]) for i, k in _smallest(compared.candidate_pairs)
        ]
        near = heapq.nsmallest(N_LISTED, near + near_of_block)
    return {
        "conformal_p_value_per_candidate": p_values,
        "distance_per_candidate": means,
        "distance_histogram": distance_histogram(distances, people),
        "most_unlike_people": [[row, i] for _, row, i in far],
        "most_alike": [list(indices) for _, *indices in near],
    }


def conformal_p_values(candidates: np.ndarray, people: PeopleDistances) -> np.ndarray:
    """Return p-values of single candidates: the share of people's distances, of all rows, that are at least as large.

    One is added to both counts (Vovk et al. 2005; Bates et al. 2023, https://arxiv.org/abs/2104.08279), and the mean is
    taken over the references that the candidate stands in for.

    `candidates` are as in `TailDistances`, (n_rows, n_candidates, n_references). Float64 of shape (n_rows,
    n_candidates), above 0 and at most 1.
    """
    shares = people.share_at_least(candidates)
    p_values: np.ndarray = ((1 + people.n_values * shares) / (1 + people.n_values)).mean(axis=2)
    return p_values


def distance_histogram(distances: Distances, people: PeopleDistances) -> list[float]:
    """Return the share of candidates in each twentieth of people's distances, the nearest first: 0.05 each for people.

    The first bin is the ordinary share, the last one the share unlike people's captions.
    """
    half, tail = N_BINS // 2, TAILS["unlike_people_share"]
    chosen = [(-1, k) for k in range(1, half + 1)] + [(1, k) for k in range(1, half)]
    thresholds = {(sign, k): (tail, people.threshold(sign, k / N_BINS)) for sign, k in chosen}
    beyond = {key: exact_mean(rows) for key, rows in rows_beyond(distances, thresholds).items()}
    low = np.array([0.0] + [beyond[-1, k] for k in range(1, half + 1)])
    high = np.array([0.0] + [beyond[1, k] for k in range(1, half)])
    return [*np.diff(low).tolist(), float(1 - low[-1] - high[-1]), *np.diff(high)[::-1].tolist()]


def _smallest(values: np.ndarray) -> list[tuple[int, int]]:
    """Indices of the smallest values of an array of two dimensions, at most `N_LISTED`, ties in their order."""
    order = np.argsort(values, axis=None, kind="stable")[:N_LISTED]
    rows, columns = np.unravel_index(order, values.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


# --------------------------------------------------------------------------------------------------------------------
# Human parity of arrays of distances: gaps, tails, the test, and plans from a pilot.

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
    ordinary_share: float
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
    unlike, ordinary, near, spread = tails.shares.values()
    return HumanTails(
        *(unlike.value, ordinary.value, near.value, spread.value),
        low=(unlike.low, ordinary.low, near.low, spread.low),
        high=(unlike.high, ordinary.high, near.high, spread.high),
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
        raise InputError(
            "n_candidates",
            f"at most {rows.shape[1] - 2} of {rows.shape[1]} texts",
            n_candidates,
            "People are compared with each other: give two references or more.",
        )
    wrong = different | (rows.min(axis=(1, 2)) < 0)
    wrong |= np.abs(np.diagonal(rows, axis1=1, axis2=2)).max(axis=1) > 0
    if wrong.any():
        raise InputError(
            f"distances[{int(np.argmax(wrong))}]",
            "symmetric distances of at least 0 with zeros on the diagonal",
            "others",
            "Give the mean of both directions.",
        )
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
