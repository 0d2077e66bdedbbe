# Vendored from manycaps/shared_distribution_results.py. Edit it there, then run `python scripts/sync_shared.py`.
"""What every module that compares two sets of captions per row has in common: test options, p-values, result keys."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from .shared_corpus_test import CorpusTest
from .shared_options import check_choice, check_confidence_level, check_flag, check_whole_number
from .shared_partition_test import P_VALUE_METHODS, combined_p_value, harmonic_mean_p

# Options of the test and of the report, with their defaults; the same in every distribution module.
DISTRIBUTION_DEFAULTS: Mapping[str, Any] = {
    "p_value": "none",
    "max_partitions": 1_000_000,
    "n_resamples": 9_999,
    "confidence_level": None,
    "seed": 0,
    "details": False,
}

# Means of resamples computed at once, 8 bytes each per row: about 50 MB.
MAX_BOOTSTRAP_VALUES = 6_000_000


class ExaminedRow(NamedTuple):
    """What one row's statistic and its p-value are made of."""

    # The observed statistic.
    statistic: float
    # float64 array, shape (n_partitions,): the statistic under every split, the observed one among them.
    null_statistics: np.ndarray
    # float64 array, shape (n_texts, n_texts), candidates first: distances, or kernel values, of all pairs of texts.
    pair_values: np.ndarray


def check_distribution_options(options: Mapping[str, Any]) -> None:
    """Raise unless the options of `DISTRIBUTION_DEFAULTS` have legal values.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value out of range.
    """
    check_choice("p_value", options["p_value"], P_VALUE_METHODS)
    check_whole_number("max_partitions", options["max_partitions"], 1)
    check_whole_number("n_resamples", options["n_resamples"], 1)
    check_confidence_level(options["confidence_level"])
    check_whole_number("seed", options["seed"], 0)
    check_flag("details", options["details"])


def test_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide a p-value or an interval, for a signature; None where an option is not in use.

    >>> test_settings(dict(DISTRIBUTION_DEFAULTS))
    {'p_value': 'none', 'n_resamples': None, 'confidence_level': None, 'seed': None}
    """
    # An exact test draws splits too: those of the corpus.
    draws = options["p_value"] != "none" or options["confidence_level"] is not None
    return {
        "p_value": options["p_value"],
        "n_resamples": options["n_resamples"] if draws else None,
        "confidence_level": options["confidence_level"],
        "seed": options["seed"] if draws else None,
    }


def check_enough_rows(n_rows: int, options: Mapping[str, Any]) -> None:
    """Raise if an interval is asked for and there is only one row to resample.

    Raises:
        ValueError: `confidence_level` is set and n_rows is 1.
    """
    if options["confidence_level"] is not None and n_rows < 2:
        raise ValueError(
            "confidence_level: expected at least 2 rows to resample, got 1. Leave confidence_level out for one row."
        )


def examined_row(statistic: float, null_blocks: Iterable[np.ndarray], pair_values: np.ndarray) -> ExaminedRow:
    """Put together what `examine` returns; null blocks have the shape (1, block).

    >>> examined_row(0.5, [np.array([[0.5, 0.25]]), np.array([[1.0]])], np.zeros((3, 3))).null_statistics.tolist()
    [0.5, 0.25, 1.0]
    """
    return ExaminedRow(float(statistic), np.concatenate(list(null_blocks), axis=1)[0], pair_values)


def check_examined_row(row: int, n_rows: int, options: Mapping[str, Any]) -> None:
    """Raise unless there is such a row, and splits are asked for.

    Raises:
        TypeError: `row` is no whole number.
        ValueError: there is no such row; or p_value is "none".
    """
    check_whole_number("row", row, 0)
    if row >= n_rows:
        raise ValueError(f"row: expected a whole number below {n_rows}, got {row}. Rows are counted from 0.")
    if options["p_value"] == "none":
        raise ValueError("p_value: expected 'exact' or 'permutation' to examine a row, got 'none'. Choose one of them.")


def rows_by_size(
    sizes: Sequence[tuple[int, int]], batch_size: Callable[[int], int]
) -> list[tuple[tuple[int, int], list[int]]]:
    """Group row numbers by (n_candidates, n_references), in batches.

    Rows of equal sizes share their splits and are stacked into one array.

    Args:
        sizes: (n_candidates, n_references) of each row.
        batch_size: from the number of texts of a row to the most rows a batch.

    Returns:
        List of ((n_candidates, n_references), row numbers).

    >>> rows_by_size([(2, 1), (1, 1), (2, 1)], lambda n_texts: 8)
    [((2, 1), [0, 2]), ((1, 1), [1])]
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for i, size in enumerate(sizes):
        groups.setdefault(size, []).append(i)
    return [
        (size, rows[start : start + batch_size(sum(size))])
        for size, rows in groups.items()
        for start in range(0, len(rows), batch_size(sum(size)))
    ]


def bootstrap_interval(values: np.ndarray, confidence_level: float, n_resamples: int, seed: int) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean over rows, by `scipy.stats.bootstrap`.

    The percentile method, because its cost is linear in the rows. The values are sorted first, so that the order of
    the rows cannot change the draw.

    Args:
        values: float64 array, shape (n_rows,), at least 2 rows.
        confidence_level: between 0 and 1.
        n_resamples: number of resamples.
        seed: non-negative integer.

    Returns:
        Lower and upper end.

    >>> bootstrap_interval(np.array([1.0, 1.0]), 0.95, 99, seed=0)
    (1.0, 1.0)
    """
    interval = scipy.stats.bootstrap(
        (np.sort(values),),
        np.mean,
        n_resamples=n_resamples,
        batch=max(1, MAX_BOOTSTRAP_VALUES // len(values)),
        confidence_level=confidence_level,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def distribution_result(
    columns: Mapping[str, np.ndarray], tests: CorpusTest | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Build the keys that all distribution modules share.

    Args:
        columns: float64 arrays, shape (n_rows,), by name; the first is the statistic, named like the module.
        tests: of the statistic, or None.
        options: options of the module.

    Returns:
        Dict of Python scalars: the mean over rows of every column, n_rows, and what p_value and confidence_level add;
        with `details` also lists under `_per_row` keys.

    >>> distribution_result({"trm": np.array([0.25, 0.75]), "plain": np.ones(2)}, None, DISTRIBUTION_DEFAULTS)
    {'trm': 0.5, 'plain': 1.0, 'n_rows': 2}
    """
    name, values = next(iter(columns.items()))
    # fsum is exact, so the order of the rows cannot change the last digit.
    result: dict[str, Any] = {key: math.fsum(column) / len(column) for key, column in columns.items()}
    result["n_rows"] = len(values)
    intervals = {name: values}
    if tests is not None:
        result |= {
            f"{name}_corpus_p_value": tests.corpus_p_value,
            f"{name}_z": tests.z,
            f"{name}_excess": math.fsum(tests.excesses) / len(values),
            f"{name}_p_value": combined_p_value(tests.p_values),
            f"{name}_harmonic_mean_p": harmonic_mean_p(tests.p_values),
            f"{name}_smallest_p": tests.smallest_p,
            f"{name}_smallest_corpus_p": tests.smallest_corpus_p,
        }
        intervals[f"{name}_excess"] = tests.excesses
    if options["confidence_level"] is not None:
        for key, column in intervals.items():
            ends = bootstrap_interval(column, options["confidence_level"], options["n_resamples"], options["seed"])
            result[f"{key}_ci_low"], result[f"{key}_ci_high"] = ends
    if options["details"]:
        lists = dict(columns)
        if tests is not None:
            lists |= {f"{name}_excess": tests.excesses, f"{name}_p_value": tests.p_values}
        result |= {f"{key}_per_row": column.tolist() for key, column in lists.items()}
    return result
