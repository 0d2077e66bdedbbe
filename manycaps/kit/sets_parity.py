"""The answer of human parity for a corpus: values of rows, their means with intervals, and the test of all rows."""

import itertools
import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .sets_gaps import TAIL, ParityTest, RowGaps, parity_of_sums, parity_test, row_gaps, row_shares, unlike_people
from .sets_intervals import interval_of_rows, mean_of_rows, upper_tail_p_value
from .sets_module import Rows
from .sets_parity_captions import ListedCaptions
from .sets_parity_draws import DrawnGaps
from .sets_parity_power import RowsNeeded, rows_needed, rows_needed_of_clusters, spread_of_effect
from .sets_splits import P_VALUE_METHODS, TIE_TOLERANCE, in_row_scales, rows_by_size

# Ways to the p-value: the closed form, or as in the other modules by all splits, by random ones, or none.
PARITY_P_VALUES = ("chi-squared", "exact", "permutation", "none")

# Rows from which on chi-squared p-values are right.
LEAST_ROWS = 5

# p-value below which candidates are said to be copies of references.
COPIES_LEVEL = 0.001

# Values whose mean over rows is reported, and what each is for people; the value of a row where that depends on it.
MEANS: Mapping[str, float | str] = {
    "unlike_people_share": 0.0,
    "outlier_share": "outlier_share_of_people",
    "central_share": "outlier_share_of_people",
    "repeat_share": TAIL,
    "spread_share": TAIL,
    "copied_share": "copied_share_of_people",
    "fidelity_gap": 0.0,
    "diversity_gap": 0.0,
    "energy_distance": 0.0,
}

# What needs two candidates; NaN for a row that has one.
OF_PAIRS = frozenset({"repeat_share", "spread_share", "diversity_gap", "energy_distance"})

# Entries of a row's covariance of (fidelity, diversity) over all splits.
COVARIANCES = {"fidelity_variance": (0, 0), "gap_covariance": (0, 1), "diversity_variance": (1, 1)}

# The two gaps of a row, and rows that are read at once.
GAPS = ("fidelity_gap", "diversity_gap")
BLOCK = 1 << 16

Columns = Mapping[str, Collection[float]]


class ParityCorpus(NamedTuple):
    """The test of all rows, and the rows that it needs."""

    test: ParityTest
    needed: RowsNeeded
    # float64 arrays, shapes (2,) and (2, 2): fidelity and diversity gaps of all rows added, and their covariance.
    sums: np.ndarray
    covariance: np.ndarray


def check_two_references(
    sizes: Sequence[tuple[int, int]], columns: tuple[str, str], _options: Mapping[str, Any]
) -> None:
    """Raise unless every row has two references.

    Raises:
        ValueError: a row has one.
    """
    short = [i for i, (_, n) in enumerate(sizes) if n < 2]
    if short:
        raise ValueError(
            f"{columns[1]}[{short[0]}]: expected at least two references, since people are compared with each other, "
            f"got one ({len(short)} such rows in all). Add references, or leave the row out."
        )


def row_columns(distances: np.ndarray, n_candidates: int) -> dict[str, np.ndarray]:
    """Compute all that the corpus needs of rows of equal sizes.

    Args:
        distances: float64 array, shape (n_rows, n_texts, n_texts), symmetric, zeros on the diagonal, candidates first.
        n_candidates: number of candidates of every row.

    Returns:
        float64 arrays, shape (n_rows,): the keys of `MEANS` and `COVARIANCES`, and `..._of_people`.
    """
    m, n = n_candidates, distances.shape[1] - n_candidates
    gaps, shares = row_gaps(distances, m), row_shares(distances, m)
    diversity = gaps.diversity if m > 1 else np.full(len(distances), math.nan)
    copied, copied_of_people = _copies(in_row_scales(distances), m)
    return {
        "unlike_people_share": unlike_people(shares.outlier, n),
        "outlier_share": shares.outlier,
        "central_share": shares.central,
        "repeat_share": shares.repeat,
        "spread_share": shares.spread,
        "copied_share": copied,
        "fidelity_gap": gaps.fidelity,
        "diversity_gap": diversity,
        "energy_distance": 2 * gaps.fidelity - diversity,
        "outlier_share_of_people": np.full(len(distances), 1 / (n + 1)),
        "copied_share_of_people": copied_of_people,
        **{name: gaps.covariance[:, i, j] for name, (i, j) in COVARIANCES.items()},
    }


def _copies(distances: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of the candidates at distance 0 from a reference, and of texts that are exchangeable: arrays (n_rows,)."""
    is_same = np.less_equal(distances, TIE_TOLERANCE, dtype=bool)
    n = distances.shape[1] - m
    crossing, people = is_same[:, :m, m:], is_same[:, m:, m:] & ~np.eye(n, dtype=bool)
    copied = crossing.any(axis=2)  # (n_rows, m)
    with_twin = (people.any(axis=2)[:, None] | crossing).sum(axis=2) + copied
    return copied.mean(axis=1), (with_twin / (n + 1)).mean(axis=1)


def parity_result(
    columns: Columns, options: Mapping[str, Any], drawn: DrawnGaps | None = None, smallest: float | None = None
) -> dict[str, Any]:
    """Build the result of all rows.

    Args:
        columns: by the names of `row_columns` a collection of n_rows floats, read as often as it is needed.
        options: p_value, confidence_level and clusters.
        drawn: the gaps of random splits, for their p-values.
        smallest: smallest p-value that sets of these sizes can have; None: not known.

    Returns:
        Dict of Python scalars.
    """
    level, clusters = options["confidence_level"], options["clusters"]
    result: dict[str, Any] = {"n_rows": len(columns["fidelity_gap"])}
    corpus = corpus_test(columns, level, clusters)
    test = corpus.test if drawn is None else drawn.test(corpus)
    if options["p_value"] != "none":
        result["human_parity_p_value"] = test.p_value
        result["human_parity_statistic"] = test.statistic
        if smallest is not None:
            result["human_parity_smallest_p"] = 0.0 if clusters is not None else smallest
    result |= _with_interval("rows_needed", corpus.needed, level)
    for name, of_people in MEANS.items():
        values, labels = _known(columns[name], clusters)
        ends = (math.nan, math.nan)
        if level is not None and len(values) > 1:
            ends = _share_interval(columns, name, values, level, labels)
        result |= _with_interval(name, (_mean(values), *ends), level)
        if isinstance(of_people, str):
            result[f"{name}_of_people"] = _mean(_known(columns[of_people], None)[0])
        elif name.endswith("_share") and of_people:
            result[f"{name}_of_people"] = of_people
    if options["p_value"] != "none":
        result["fidelity_gap_p_value"] = test.fidelity_p_value
        result["diversity_gap_p_value"] = test.diversity_p_value
    return result


def _share_interval(
    columns: Columns, name: str, values: np.ndarray, level: float, clusters: Sequence[Hashable] | None
) -> tuple[float, float]:
    """Interval of a mean; that of a share within its range, and where all rows have 1, or 0, as long as n allows.

    The chance that n independent shares with mean m are all 1 is at most m^n, so that the mean is at least a^(1 / n).
    """
    low, high = interval_of_rows(values, level, clusters)
    if not name.endswith("_share"):
        return low, high
    # Shares unlike people's are outliers on another scale.
    of_outliers = name == "unlike_people_share"
    shares = _known(columns["outlier_share"], None)[0] if of_outliers else values
    people = _mean(_known(columns["outlier_share_of_people"], None)[0]) if of_outliers else 0.0
    n = len(values) if clusters is None else len(set(clusters))
    least = ((1 - level) / 2) ** (1 / n)
    if shares.min() == 1:
        low = min(low, (least - people) / (1 - people))
    if shares.max() == 0:
        high = max(high, (1 - least - people) / (1 - people))
    return max(low, -people / (1 - people)), min(high, 1.0)


def _with_interval(name: str, values: Sequence[float], level: float | None) -> dict[str, float]:
    """A value, and the ends of its interval if one is asked for."""
    keys = (name, f"{name}_ci_low", f"{name}_ci_high") if level is not None else (name,)
    return dict(zip(keys, values, strict=False))


def _mean(values: np.ndarray) -> float:
    """Mean of values, exact whatever their order; NaN of none."""
    return math.fsum(values) / len(values) if len(values) else math.nan


def _known(
    column: Collection[float], clusters: Sequence[Hashable] | None
) -> tuple[np.ndarray, Sequence[Hashable] | None]:
    """The values of the rows that have one, and their clusters."""
    values = np.fromiter(column, dtype=np.float64, count=len(column))
    known = ~np.isnan(values)
    if clusters is not None and not known.all():
        clusters = [label for label, is_known in zip(clusters, known, strict=True) if is_known]
    return values[known], clusters


def corpus_test(columns: Columns, level: float | None, clusters: Sequence[Hashable] | None) -> ParityCorpus:
    """Test all rows, and say how many rows the test needs.

    Args:
        columns: as for `parity_result`.
        level: confidence level of the interval, or None.
        clusters: labels of the rows, or None.

    Returns:
        Both.
    """
    n_rows = len(columns["fidelity_gap"])
    if clusters is not None:
        ((gaps, covariances),) = _blocks(columns, n_rows)
        test = parity_test([RowGaps(gaps[:, 0], gaps[:, 1], covariances)], clusters)
        needed = rows_needed_of_clusters(test.statistic, test.degrees, len(set(clusters)), n_rows, level)
        return ParityCorpus(test, needed, gaps.sum(axis=0), covariances.sum(axis=0))
    # Exact sums of columns that may be as long as a disk is large: the order of the rows changes nothing.
    sums = np.array([math.fsum(value for value in columns[gap] if value == value) for gap in GAPS])
    entries = {place: math.fsum(columns[name]) for name, place in COVARIANCES.items()}
    covariance = np.array([[entries[min(i, j), max(i, j)] for j in (0, 1)] for i in (0, 1)])
    test = parity_of_sums(sums, covariance)
    k, spread = test.degrees, 1.0
    if level is not None and k and n_rows > 1:
        parts = ((gaps[:, :k], each[:, :k, :k]) for gaps, each in _blocks(columns, BLOCK))
        spread = spread_of_effect(sums[:k] / n_rows, covariance[:k, :k] / n_rows, parts)
    return ParityCorpus(test, rows_needed(test.statistic, k, n_rows, level, spread), sums, covariance)


def _blocks(columns: Columns, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gaps, shape (n, 2), and covariances, (n, 2, 2), of every `size` rows."""
    rows = zip(*(columns[name] for name in (*GAPS, *COVARIANCES)), strict=True)
    while block := list(itertools.islice(rows, size)):
        values = np.array(block).T
        yield np.nan_to_num(values[:2].T), values[2:][[[0, 1], [1, 2]]].transpose(2, 0, 1)


def _stacked(columns: Columns, names: Iterable[str]) -> np.ndarray:
    """Columns as a float64 array, shape (len(names), n_rows)."""
    return np.stack([np.fromiter(columns[name], dtype=np.float64, count=len(columns[name])) for name in names])


def covariances_of(columns: Columns) -> np.ndarray:
    """Return the covariance of every row's gaps: float64 array, shape (n_rows, 2, 2)."""
    return _stacked(columns, COVARIANCES)[[[0, 1], [1, 2]]].transpose(2, 0, 1)


def warn_of_copies(columns: Columns, clusters: Sequence[Hashable] | None) -> None:
    """Warn where candidates stand among the references of their row more often than people's texts come twice."""
    copied, expected = _stacked(columns, ("copied_share", "copied_share_of_people"))
    excess = mean_of_rows(copied - expected, clusters)
    p_value = upper_tail_p_value(excess)
    are_alike = len(copied) > 1 and excess.standard_error == 0  # p is not defined where all rows say the same
    if excess.mean > 0 and (p_value < COPIES_LEVEL or are_alike):
        warnings.warn(
            f"predictions, references: {copied.mean():.0%} of the candidates stand among the references of their row, "
            f"where people's captions would in {expected.mean():.0%}. If they are copies, the references are no people "
            "beside the candidates, and the result means nothing: take them out of the references.",
            stacklevel=2,
        )


def warn_of_few_rows(n_rows: int, options: Mapping[str, Any]) -> None:
    """Warn where chi-squared p-values are not right yet."""
    if options["p_value"] == "chi-squared" and options["clusters"] is None and n_rows < LEAST_ROWS:
        warnings.warn(
            f"p_value: the closed form is right from {LEAST_ROWS} rows on, and there are {n_rows}. Give "
            "p_value='permutation' for a p-value by random splits.",
            stacklevel=2,
        )


class ParityValues(NamedTuple):
    """What is known of all rows."""

    # By the names of `row_columns` float64 arrays, shape (n_rows,).
    columns: Mapping[str, np.ndarray]
    # Gaps of random splits; None for the closed form.
    drawn: DrawnGaps | None
    # Lists for the option `details`; empty without it.
    lists: Mapping[str, Any]
    # Settings of the texts, for the signature.
    settings: Mapping[str, Any]


def values_of_rows(rows: Rows, options: Mapping[str, Any], progress: Callable[..., Iterable[Any]]) -> ParityValues:
    """Compare all rows, in batches of rows of equal sizes.

    Args:
        rows: all rows; they are compared by `parity_comparison`.
        options: p_value, max_partitions, n_resamples, seed and details.
        progress: wraps the batches in a progress bar, as `tqdm` does.

    Returns:
        The values, in the order of the rows.
    """
    n_rows = len(rows.sizes)
    drawn = DrawnGaps(options, n_rows) if options["p_value"] in P_VALUE_METHODS[1:] else None
    listed = ListedCaptions(rows.sizes) if options["details"] else None
    columns: dict[str, np.ndarray] = {}
    for size, batch in progress(rows_by_size(rows.sizes, rows.batch_size), desc="rows", unit="batch", delay=1):
        distances = rows.compare(batch).pair_values
        for name, values in row_columns(distances, size[0]).items():
            columns.setdefault(name, np.empty(n_rows))[batch] = values
        if drawn is not None:
            drawn.add(distances, size, batch, rows.row_key)
        if listed is not None:
            listed.add(distances, size[0], batch)
    lists = {} if listed is None else {f"{name}_per_row": columns[name].tolist() for name in MEANS} | listed.result()
    if listed is not None and drawn is not None:
        lists["human_parity_p_value_per_row"] = drawn.p_values.tolist()
    return ParityValues(columns, drawn, lists, rows.settings)


def symmetric(distances: np.ndarray) -> np.ndarray:
    """Return the mean of both directions of distances, shape (n_rows, n_texts, n_texts)."""
    return (distances + distances.swapaxes(1, 2)) / 2


def smallest_p_value(sizes: Mapping[tuple[int, int], int]) -> float:
    """Smallest p-value by all splits of all rows; where all rows have sets of one size, the two may change places.

    Args:
        sizes: how many rows have which (n_candidates, n_references).

    >>> round(smallest_p_value({(1, 2): 2}), 6), round(smallest_p_value({(2, 2): 1}), 6)
    (0.111111, 0.333333)
    """
    n_alike = 2 if all(m == n for m, n in sizes) else 1
    return n_alike * math.exp(-math.fsum(n_rows * math.log(math.comb(m + n, m)) for (m, n), n_rows in sizes.items()))
