"""The answer of human parity for a corpus: means of rows, the test of all rows, and the captions to look at."""

import dataclasses
import heapq
import itertools
import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from .arrays import exact_mean
from .errors import check_places
from .parity_faults import CorpusFaults
from .parity_gaps import (
    LEVEL,
    WEIGHT_OF_LENGTH,
    WEIGHT_OF_TAILS,
    WEIGHT_OF_WORDING,
    DrawnGaps,
    ParityColumns,
    ParityCorpus,
    RowGaps,
    RowsToDetect,
    gaps_test,
    gaps_test_of_sums,
    joint_p_value,
    level_of_distances,
    level_of_gaps,
    row_gaps,
    rows_to_detect,
    rows_to_detect_of_clusters,
    rows_to_detect_of_tails,
    soonest,
    spread_of_effect,
)
from .parity_tails import (
    LEAST_DISTANCES_OF_TAILS,
    LEAST_ROWS_OF_TAILS,
    TAIL,
    TAILS,
    CorpusTails,
    Distances,
    KeptDistances,
    PeopleDistances,
    TailDistances,
    corpus_tails,
    independent_distances,
    rows_beyond,
)
from .parity_texts import LengthGap
from .sets_module import ComparableRows
from .sets_tests import (
    P_VALUE_METHODS,
    TIE_TOLERANCE,
    in_row_scales,
    interval_of_rows,
    mean_of_rows,
    one_sided_p_value,
    rows_by_size,
    with_interval,
)
from .words_predictability import LEAST_ROWS_OF_WORDING, N_LISTED
from .words_tests import CorpusWording

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


def check_two_references(
    sizes: Sequence[tuple[int, int]], columns: tuple[str, str], _options: Mapping[str, Any]
) -> None:
    """Raise unless every row has two references."""
    short = [i for i, (_, n) in enumerate(sizes) if n < 2]
    expected, fix = (
        "at least two references, which are compared with each other",
        "Add some, or leave the row out; `wording` takes one.",
    )
    check_places(short, columns[1], expected, "one", fix)


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
    needed = _rows_to_detect(corpus, columns, tails, (wording_p, length_p), level, clusters)
    result |= with_interval("rows_to_detect", needed, level)
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
        # Of texts that are too long there may be omissions alone.
        unsupported = kinds.get("unsupported_share")
        if not chosen or (unsupported and unsupported.share is tails.shares["unlike_people_share"]):
            return tails
        return dataclasses.replace(tails, faults={name: (fault.share, fault.p_value) for name, fault in chosen.items()})

    def result(self, confidence_level: float | None, *, is_tested: bool) -> dict[str, float]:
        """Return the values by the keys of a module's result."""
        result = self.faults.result(confidence_level, is_tested=is_tested)
        if self.length is not None:
            result |= self.length.result(confidence_level, is_tested=is_tested)
        return result


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


def _rows_to_detect(
    corpus: ParityCorpus,
    columns: ParityColumns,
    tails: CorpusTails,
    word_p_values: tuple[float, float],
    confidence_level: float | None,
    clusters: Sequence[Hashable] | None,
) -> RowsToDetect:
    """Rows after which one of the tests finds a difference: the fewest of all."""
    test, n_rows = corpus.test, len(columns["fidelity_gap"])
    with_words = [not math.isnan(p_value) for p_value in word_p_values]
    level = level_of_gaps(bool(tails.tested), *with_words)
    if clusters is not None:
        n_clusters = len(set(clusters))
        gaps_needed = rows_to_detect_of_clusters(
            test.statistic, test.degrees, n_clusters, n_rows, confidence_level, level=level
        )
    else:
        k, spread = test.degrees, 1.0
        if confidence_level is not None and k and n_rows > 1:
            parts = ((gaps[:, :k], covariances[:, :k, :k]) for gaps, covariances in _blocks(columns, BLOCK))
            spread = spread_of_effect(corpus.sums[:k] / n_rows, corpus.covariance[:k, :k] / n_rows, parts)
        gaps_needed = rows_to_detect(test.statistic, k, n_rows, confidence_level, spread, level=level)
    size = tails.n_clusters, n_rows, confidence_level
    level = level_of_distances(*with_words) * WEIGHT_OF_TAILS
    tails_needed = rows_to_detect_of_tails([share.t for share in tails.tested], *size, level=level)
    words = []
    for p_value, weight in zip(word_p_values, (WEIGHT_OF_WORDING, WEIGHT_OF_LENGTH), strict=True):
        # The z of a two-sided p-value, which may be too small for a number.
        z_values = [] if math.isnan(p_value) else [-float(scipy.special.ndtri(max(p_value / 2, SMALLEST_P)))]
        words.append(rows_to_detect_of_tails(z_values, *size, level=LEVEL * weight / 2))
    # With fewer rows tails are not tested.
    least = max(LEAST_ROWS_OF_TAILS, math.ceil(LEAST_DISTANCES_OF_TAILS / independent_distances(tails.sizes)))
    return soonest(
        gaps_needed,
        RowsToDetect(*np.maximum(tails_needed, float(least)).tolist()),
        *(RowsToDetect(*np.maximum(needed, float(LEAST_ROWS_OF_WORDING)).tolist()) for needed in words),
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
        clusters = options["clusters"]
        there = n_rows if clusters is None else f"{n_rows} in {len(set(clusters))} clusters"
        warnings.warn(
            f"p_value: the tails are tested from {LEAST_ROWS_OF_TAILS} rows on, or {LEAST_DISTANCES_OF_TAILS} with two "
            f"references, and there are {there}. The p-value is for the gaps alone, in which wrong captions and "
            "generic ones can cancel.",
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

    The first bin is the generic share, the last one the share unlike people's captions.
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
