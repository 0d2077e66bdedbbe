"""The contract of modules that compare two sets of captions per row: checks, batches, tests, results."""

import collections
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from .base_module import (
    CollectionModule,
    as_plain,
    check_choice,
    check_confidence_level,
    check_flag,
    check_whole_number,
    signature,
)
from .base_rows import warn_of_shared_captions
from .sets_splits import P_VALUE_METHODS, Comparison, row_keys, rows_by_size, splits_of

if TYPE_CHECKING:  # it imports SciPy, which only tests and intervals need
    from .sets_corpus import CorpusTest, RowSplits

# Options of the test and of the report, with their defaults; the same in every distribution module.
DISTRIBUTION_DEFAULTS: Mapping[str, Any] = {
    "p_value": "none",
    "max_partitions": 1_000_000,
    "n_resamples": 9_999,
    "confidence_level": None,
    "clusters": None,
    "seed": 0,
    "details": False,
}

# How intervals are made, for the signature; see `sets_intervals`.
INTERVAL = "hall-t"

# Most draws and resamples: they give p-values down to 1e-7, and take 80 MB.
MOST_RESAMPLES = 10_000_000

# Pairs of texts compared at once (256 rows of 10 + 5): enough to spread numpy's overhead, small enough for its caches.
PAIRS_PER_BATCH = 57_600

CAPTION_COLUMNS = ("predictions", "references")

# From sizes of rows, names of their columns and options to an error, or nothing.
SizeCheck = Callable[[Sequence[tuple[int, int]], tuple[str, str], Mapping[str, Any]], None]


class ComparableRows(NamedTuple):
    """The texts of all rows, and how a batch of them is compared."""

    # (n_candidates, n_references) of each row.
    sizes: Sequence[tuple[int, int]]
    # From the number of a row to what its draws depend on, see `row_keys`.
    row_key: Callable[[int], bytes]
    # From the numbers of rows of equal sizes to their comparison.
    compare: Callable[[Sequence[int]], Comparison]
    # From the number of texts of a row to the most rows of a batch.
    batch_size: Callable[[int], int]
    # Settings of the texts for the signature.
    settings: Mapping[str, Any]


class ComparedRows(NamedTuple):
    """Results of all rows, float64 arrays of shape (n_rows,); their splits where a test is asked for."""

    statistic: np.ndarray
    plain: np.ndarray | None
    splits: "RowSplits | None"

    @property
    def tests(self) -> "CorpusTest | None":
        """Tests of the rows, and of the mean over them."""
        return None if self.splits is None else self.splits.test(self.statistic)


class ExaminedRow(NamedTuple):
    """Components of one row's statistic and p-value."""

    # The observed statistic.
    statistic: float
    # float64 array, shape (n_splits,): the statistic under every split, the observed one first.
    null_statistics: np.ndarray
    # float64 array, shape (n_texts, n_texts), candidates first: distances, or kernel values, of all pairs of texts.
    pair_values: np.ndarray


class DistributionModule(CollectionModule):
    """The contract of modules that compare two sets of captions per row.

    A module gives `rows_of`, `signature_parts` where it has options of its own, and `LEAST_TEXTS`, `SIZE_CHECKS`,
    `check_rows` or `check_sizes` where it needs more than any other.
    """

    OWN_COLUMNS = CAPTION_COLUMNS

    # Least number of texts of a row, candidates and references together.
    LEAST_TEXTS: ClassVar[int] = 2

    # Raise where the statistic cannot be computed, or tested, of rows of such sizes with these options.
    SIZE_CHECKS: ClassVar[tuple[SizeCheck, ...]] = ()

    # Key of the plain metric that is also reported.
    PLAIN: ClassVar[str | None] = None

    # Wraps the batches in a progress bar, as `tqdm` does.
    progress: ClassVar[Callable[..., Iterable[Any]]]

    name: str

    def rows_of(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> ComparableRows:
        """Return the rows of captions, ready to be compared."""
        raise NotImplementedError

    def compare_one(self, predictions: Any, references: Any, options: Mapping[str, Any], row: int) -> Comparison:
        """Return the comparison of one row of captions."""
        return self.rows_of(predictions, references, options).compare([row])

    def value_range(self, options: Mapping[str, Any]) -> tuple[float, float]:
        """Return the least and the largest value that a row can have: no interval goes beyond."""
        return -math.inf, math.inf

    def check_rows(self, sizes: Sequence[tuple[int, int]], columns: tuple[str, str]) -> None:
        """Raise if a row cannot be compared with any options: unless it has `LEAST_TEXTS` texts in all."""
        short = [i for i, size in enumerate(sizes) if sum(size) < self.LEAST_TEXTS]
        if short:
            i = short[0]
            raise ValueError(
                f"{columns[0]}[{i}], {columns[1]}[{i}]: expected at least {self.LEAST_TEXTS} captions in all, got "
                f"{sizes[i][0]} candidate and {sizes[i][1]} reference ({len(short)} such rows in all). Sample more "
                "candidates, or leave the row out."
            )

    def check_sizes(
        self, sizes: Sequence[tuple[int, int]], columns: tuple[str, str], options: Mapping[str, Any]
    ) -> None:
        """Raise, before any work, if the rows cannot be compared or tested with these options."""
        self.check_rows(sizes, columns)
        if options["clusters"] is not None:
            from .sets_intervals import check_clusters

            check_clusters(options["clusters"], len(sizes))
        if options["confidence_level"] is not None and len(sizes) < 2:
            raise ValueError(
                "confidence_level: expected at least 2 rows for an interval, got 1. Leave confidence_level out for one "
                "row."
            )
        if options["p_value"] != "none":
            for size in dict.fromkeys(sizes):
                splits_of(size, options)
        for check in self.SIZE_CHECKS:
            check(sizes, columns, options)

    def check_captions(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> None:
        """Check the sizes of all rows, and warn where a test or an interval takes dependent ones for independent."""
        self.check_sizes(text_counts(predictions, references), CAPTION_COLUMNS, options)
        is_inferred = options["p_value"] != "none" or options["confidence_level"] is not None
        if is_inferred and options["clusters"] is None:
            warn_of_shared_captions((predictions, references))

    def checked_columns(self, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Return both columns as lists of lists of captions, or raise for the first bad row."""
        checked = super().checked_columns(options, **columns)
        self.check_rows(text_counts(**checked), CAPTION_COLUMNS)
        return checked

    def examine(self, *, predictions: Any, references: Any, row: int = 0, **given: Any) -> ExaminedRow:
        """Return the pair values of one row and its statistic under every split, for drawings and diagnosis."""
        options = self.call_options(given)
        columns = self.checked_columns(options, predictions=predictions, references=references)
        sizes = text_counts(**columns)
        row = as_plain(row)
        check_whole_number("row", row, 0)
        if row >= len(sizes):
            raise ValueError(f"row: expected a whole number below {len(sizes)}, got {row}. Rows are counted from 0.")
        if options["p_value"] == "none":
            raise ValueError(
                "p_value: expected 'exact' or 'permutation' to examine a row, got 'none'. Choose one of them."
            )
        self.check_sizes(sizes[row : row + 1], CAPTION_COLUMNS, {**options, "confidence_level": None, "clusters": None})
        compared = self.compare_one(**columns, options=options, row=row)
        nulls = np.concatenate(list(compared.null_values(slice(1), splits_of(sizes[row], options))), axis=1)[0]
        unit = 1.0 if compared.units is None else compared.units[0]
        return ExaminedRow(float(compared.statistic[0]), nulls * unit, compared.pair_values[0])

    def caption_result(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Check the sizes of all rows, compare them, and return the result."""
        self.check_captions(predictions, references, options)
        return self.result_of(self.rows_of(predictions, references, options), options)

    def _compute(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        return self.caption_result(predictions, references, options)

    def result_of(
        self, rows: ComparableRows, options: Mapping[str, Any], corpus_values: Callable[[], dict[str, Any]] = dict
    ) -> dict[str, Any]:
        """Compare all rows, and build the keys that all distribution modules share, and those of `corpus_values`."""
        compared = compare_rows(rows, options, type(self).progress)
        columns = {self.name: compared.statistic}
        if self.PLAIN is not None and compared.plain is not None:
            columns[self.PLAIN] = compared.plain
        result = distribution_result(columns, compared.tests, options, self.value_range(options)) | corpus_values()
        return result | ({"signature": self._signature(options, rows.settings)} if options["details"] else {})

    def _signature(self, options: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Return the signature of the numbers; `settings` are those of the rows."""
        parts = {**self.signature_parts(options), **settings, **signature_settings(options)}
        return signature(self.name, **parts)

    def signature_parts(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return what decides the numbers besides the texts, the test and the intervals."""
        return {}


def check_distribution_options(options: Mapping[str, Any], p_values: Collection[str] = P_VALUE_METHODS) -> None:
    """Raise unless the options of `DISTRIBUTION_DEFAULTS` have legal values, among them p_value one of `p_values`."""
    check_choice("p_value", options["p_value"], p_values)
    check_whole_number("max_partitions", options["max_partitions"], 1)
    check_whole_number("n_resamples", options["n_resamples"], 1, MOST_RESAMPLES)
    check_confidence_level(options["confidence_level"])
    check_whole_number("seed", options["seed"], 0)
    check_flag("details", options["details"])


def signature_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide a p-value or an interval, for a signature; None where an option is not in use.

    >>> signature_settings(dict(DISTRIBUTION_DEFAULTS))
    {'p_value': 'none', 'n_resamples': None, 'confidence_level': None, 'interval': None, 'clusters': None, 'seed': None}
    """
    # An exact test draws splits too: those of the corpus.
    draws = options["p_value"] in P_VALUE_METHODS[1:]
    has_interval = options["confidence_level"] is not None
    is_clustered = options["clusters"] is not None and (options["p_value"] != "none" or has_interval)
    return {
        "p_value": options["p_value"],
        "n_resamples": options["n_resamples"] if draws else None,
        "confidence_level": options["confidence_level"],
        "interval": INTERVAL if has_interval else None,
        "clusters": len(set(options["clusters"])) if is_clustered else None,
        "seed": options["seed"] if draws else None,
    }


def text_counts(predictions: Sequence[Any], references: Sequence[Any]) -> list[tuple[int, int]]:
    """Return (n_candidates, n_references) of each row."""
    return [(len(p), len(r)) for p, r in zip(predictions, references, strict=True)]


def caption_rows(
    predictions: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    compare: Callable[[list[list[str]], int], Comparison],
    **settings: Any,
) -> ComparableRows:
    """Return rows of captions, ready to be compared.

    `compare` gets rows of texts of one length, candidates first, and the number of candidates; `settings` are what the
    texts add to the signature.
    """

    def compare_batch(rows: Sequence[int]) -> Comparison:
        return compare([[*predictions[i], *references[i]] for i in rows], len(predictions[rows[0]]))

    keys = row_keys(predictions, references)
    return ComparableRows(text_counts(predictions, references), keys, compare_batch, pairs_batch, settings)


def pairs_batch(n_texts: int) -> int:
    """Return the most rows of a batch for work on all pairs of texts."""
    return max(1, PAIRS_PER_BATCH // n_texts**2)


def compare_rows(
    rows: ComparableRows,
    options: Mapping[str, Any],
    progress: Callable[..., Iterable[Any]],
    n_earlier: "collections.Counter[bytes] | None" = None,
) -> ComparedRows:
    """Reduce each row to its statistic and its plain metric, and test it by its splits.

    Rows of equal sizes are handled together, in batches of bounded memory; a row's results do not depend on the others.
    `progress` wraps the batches, as `tqdm` does; `n_earlier` is as for `RowSplits`. Raises ValueError for p_value
    "exact" with a row too large.
    """
    splits = None
    if options["p_value"] != "none":
        from .sets_corpus import RowSplits

        # Before any work: a row with too many splits for an exact test.
        splits = RowSplits(rows.sizes, options, n_earlier)
    statistic, plain, has_plain = np.empty(len(rows.sizes)), np.empty(len(rows.sizes)), False
    for size, batch in progress(rows_by_size(rows.sizes, rows.batch_size), desc="rows", unit="batch", delay=1):
        compared = rows.compare(batch)
        statistic[batch] = compared.statistic
        if compared.plain is not None:
            plain[batch], has_plain = compared.plain, True
        if splits:
            units = np.ones(len(batch)) if compared.units is None else compared.units
            splits.add(size, batch, rows.row_key, compared.statistic / units, compared.null_values, units)
    return ComparedRows(statistic, plain if has_plain else None, splits)


def distribution_result(
    columns: Mapping[str, Collection[float]],
    tests: "CorpusTest | None",
    options: Mapping[str, Any],
    value_range: tuple[float, float] = (-math.inf, math.inf),
) -> dict[str, Any]:
    """Build the keys that all distribution modules share.

    `columns` holds n_rows floats each by name, the first being the statistic, named like the module; no interval goes
    beyond `value_range`. Returns Python scalars: the mean over rows of every column, n_rows, and what p_value and
    confidence_level add; with `details` also lists under `_per_row` keys.

    >>> distribution_result({"trm": np.array([0.25, 0.75]), "plain": np.ones(2)}, None, DISTRIBUTION_DEFAULTS)
    {'trm': 0.5, 'plain': 1.0, 'n_rows': 2}
    """
    name, values = next(iter(columns.items()))
    # fsum is exact, so the order of the rows cannot change the last digit.
    result: dict[str, Any] = {key: math.fsum(column) / len(column) for key, column in columns.items()}
    result["n_rows"] = len(values)
    intervals = {name: values}
    if tests is not None:
        from .sets_corpus import combined_p_value, harmonic_mean_p

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
        if options["clusters"] is not None:
            from .sets_intervals import clustered_test, mean_of_rows

            result |= clustered_test(name, mean_of_rows(tests.excesses, options["clusters"]))
    if options["confidence_level"] is not None:
        from .sets_intervals import interval_of_rows

        width = value_range[1] - value_range[0]  # an excess is a value minus another one
        for key, column in intervals.items():
            low, high = value_range if key == name else (-width, width)
            ends = interval_of_rows(column, options["confidence_level"], options["clusters"])
            result[f"{key}_ci_low"], result[f"{key}_ci_high"] = (min(max(end, low), high) for end in ends)
    if options["details"]:
        lists = dict(columns)
        if tests is not None:
            lists |= {f"{name}_excess": tests.excesses, f"{name}_p_value": tests.p_values}
        result |= {f"{key}_per_row": [float(value) for value in column] for key, column in lists.items()}
    return result
