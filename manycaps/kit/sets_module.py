"""The contract of modules that compare two sets of captions per row: checks, batches, tests, results."""

import collections
import functools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .errors import InputError
from .module import CollectionModule, signature
from .options import (
    DETAILS,
    Effect,
    Option,
    Value,
    as_python_value,
    by_value,
    check_beside_rows,
    check_confidence_level,
    check_whole_number,
    defaults_of,
    one_of,
    value_table,
    whole_number,
)
from .rows import CAPTIONS
from .sets_tests import (
    MAX_NULL_VALUES,
    MAX_PARTITIONS,
    MOST_RESAMPLES,
    P_VALUE_METHODS,
    Comparison,
    CorpusTest,
    RowTester,
    check_clusters,
    clustered_test,
    combined_p_value,
    exact_splits,
    harmonic_mean_p,
    interval_of_rows,
    mean_of_rows,
    random_splits,
    row_keys,
    rows_by_size,
    splits_of,
)

# Draws and resamples unless asked otherwise, and at most: those give p-values down to 1e-7, and take 80 MB.
N_RESAMPLES = 9_999

# When options of the test and of intervals have an effect.
IS_EXACT = Effect("p_value", "'exact'", lambda options: options["p_value"] == "exact")

IS_TESTED = Effect("p_value", "'permutation'", lambda options: options["p_value"] != "none")

IS_INFERRED = Effect(
    "p_value", "'permutation'", lambda options: options["p_value"] != "none" or options["confidence_level"] is not None
)

# Options of the test and of the report; the same in every module of sets.
SET_OPTIONS: dict[str, Option] = {
    "p_value": Option(
        "none",
        one_of(P_VALUE_METHODS),
        '`"none"`, `"exact"` (all splits of a row into sets of its sizes) or `"permutation"` (`n_resamples` '
        "random ones).",
    ),
    "max_partitions": Option(
        MAX_PARTITIONS,
        whole_number(1),
        'Largest number of splits of a row for `"exact"`; 10 + 10 captions have 184,756.',
        needs=IS_EXACT,
    ),
    "n_resamples": Option(
        N_RESAMPLES,
        whole_number(1, MOST_RESAMPLES),
        "Random splits of a row, and draws of the corpus test.",
        needs=IS_TESTED,
    ),
    "confidence_level": Option(
        None,
        by_value(check_confidence_level),
        "For example 0.95 adds an interval of the mean over rows. At least two rows; by default there is none.",
    ),
    "clusters": Option(
        None,
        check_beside_rows,
        "One label per row, equal ones for rows that depend on each other, such as rows of one image; by default "
        "none do. With clusters, intervals and the p-value of the corpus are computed over the clusters.",
        needs=IS_INFERRED,
    ),
    "seed": Option(
        0,
        whole_number(0),
        "Whole number. The same seed gives the same answer, whatever the order of the rows.",
        needs=IS_TESTED,
    ),
} | DETAILS

DISTRIBUTION_DEFAULTS = defaults_of(SET_OPTIONS)

# How intervals are made, for the signature.
INTERVAL = "hall-t"

# Splits of a row whose statistics cost less than its own: 5 + 5 captions have 252.
MAX_UNTESTED_SPLITS = 500

# Pairs of texts compared at once (256 rows of 10 + 5): enough to spread numpy's overhead, small enough for its caches.
PAIRS_PER_BATCH = 57_600

CAPTION_COLUMNS = ("predictions", "references")

# As a `RowCheck`, which also takes the options of the call.
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
    # `EmbeddingRows` where vectors are compared, and the counts of texts that their encoder does not read as a whole.
    embedded: Any = None
    n_unread: Callable[[], dict[str, int]] = dict


class ComparedRows(NamedTuple):
    """Results of all rows, float64 arrays of shape (n_rows,); their splits where a test is asked for."""

    statistic: np.ndarray
    plain: np.ndarray | None
    splits: "RowTester | None"
    # Statistic minus its mean over splits, where it is wanted without a test.
    untested_excesses: np.ndarray | None = None

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


class Sets(NamedTuple):
    """What a module of sets says of its statistic."""

    # Key of the plain metric that is also reported.
    plain: str | None = None
    # From options to the least and the largest value that a row can have: no interval goes beyond.
    value_range: Callable[[Mapping[str, Any]], tuple[float, float]] = lambda _options: (-math.inf, math.inf)
    # Raise where the statistic cannot be computed, or tested, of rows of such sizes with these options.
    size_checks: Sequence[SizeCheck] = ()
    # From options to what decides the numbers besides the texts, the test and the intervals, for the signature.
    settings: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _options: {}
    # From `EmbeddingRows`, options and a progress bar to values of all candidates against all references.
    corpus_values: Callable[[Any, Mapping[str, Any], Any], dict[str, Any]] = lambda _rows, _options, _progress: {}
    # From sizes of rows and options to whether the excess is returned without a test, too.
    has_excess: Callable[[Sequence[tuple[int, int]], Mapping[str, Any]], bool] = lambda _sizes, _options: False


# Columns of modules whose rows have three texts in all.
SETS_OF_THREE = CAPTIONS | {
    "references": (
        "n_rows lists of reference captions, or n_rows strings: at least one candidate, one reference and three "
        "captions in all per row. Rows may have different numbers of captions."
    )
}


def check_three_texts(sizes: Sequence[tuple[int, ...]], columns: tuple[str, ...]) -> None:
    """Raise unless every row has three texts in all."""
    short = [i for i, size in enumerate(sizes) if sum(size) < 3]
    if short:
        i = short[0]
        got = f"{sizes[i][0]} candidate and {sizes[i][1]} reference ({len(short)} such rows in all)"
        place, fix = f"{columns[0]}[{i}], {columns[1]}[{i}]", "Sample more candidates, or leave the row out."
        raise InputError(place, "at least 3 captions in all", got, fix)


class SetMetric(CollectionModule):
    """The contract of modules that compare two sets of captions per row: check -> compare -> summarise.

    A module gives `rows_of`, which tokenises or embeds, and says in `SETS` what there is to say of its statistic.
    """

    SETS: ClassVar[Sets] = Sets()

    def rows_of(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> ComparableRows:
        """Return the rows of captions, ready to be compared."""
        raise NotImplementedError

    def result(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """Check the sizes of all rows, compare them, and return the result."""
        self.check_sizes(text_counts(predictions, references), CAPTION_COLUMNS, options)
        return self.summary(self.rows_of(predictions, references, options), options)

    def check_sizes(
        self, sizes: Sequence[tuple[int, int]], columns: tuple[str, str], options: Mapping[str, Any]
    ) -> None:
        """Raise, before any work, if the rows cannot be compared or tested with these options."""
        for check_rows in self.ROW_CHECKS:
            check_rows(sizes, columns)
        if options["clusters"] is not None:
            check_clusters(options["clusters"], len(sizes))
        if options["confidence_level"] is not None and len(sizes) < 2:
            raise InputError(
                "confidence_level", "at least 2 rows for an interval", "1", "Leave confidence_level out for one row."
            )
        if options["p_value"] != "none":
            for size in dict.fromkeys(sizes):
                splits_of(size, options)
        for check in self.SETS.size_checks:
            check(sizes, columns, options)

    def summary(self, rows: ComparableRows, options: Mapping[str, Any]) -> dict[str, Any]:
        """Compare all rows, and build the keys that all modules of sets share, and the corpus's own."""
        has_excess = self.SETS.has_excess(rows.sizes, options)
        compared = compare_rows(rows, options, self.progress, has_excess=has_excess)
        columns = {self.name: compared.statistic}
        if self.SETS.plain is not None and compared.plain is not None:
            columns[self.SETS.plain] = compared.plain
        value_range = self.SETS.value_range(options)
        result = distribution_result(columns, compared.tests, options, value_range, compared.untested_excesses)
        if rows.embedded is not None:
            result |= self.SETS.corpus_values(rows.embedded, options, self.progress) | rows.n_unread()
        return result | ({"signature": self._signature(options, rows.settings)} if options["details"] else {})

    def _signature(self, options: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Return the signature of the numbers; `settings` are the rows'."""
        return signature(self.name, **{**self.SETS.settings(options), **settings, **signature_settings(options)})

    def examine(self, *, predictions: Any, references: Any, row: int = 0, **given: Any) -> ExaminedRow:
        """Return the pair values of one row and its statistic under every split, for drawings and diagnosis."""
        options = self.call_options(given)
        columns = self.prepare_columns(options, predictions=predictions, references=references)
        sizes = text_counts(**columns)
        row = as_python_value(row)
        check_whole_number("row", row, 0)
        if row >= len(sizes):
            raise InputError("row", f"a whole number below {len(sizes)}", row, "Rows are counted from 0.")
        if options["p_value"] == "none":
            raise InputError("p_value", "'exact' or 'permutation' to examine a row", "'none'", "Choose one of them.")
        self.check_sizes(sizes[row : row + 1], CAPTION_COLUMNS, {**options, "confidence_level": None, "clusters": None})
        if "document_frequency" not in options:  # which are counted in all rows
            columns, sizes, row = {name: rows[row : row + 1] for name, rows in columns.items()}, sizes[row : row + 1], 0
        compared = self.rows_of(**columns, options=options).compare([row])
        nulls = np.concatenate(list(compared.null_values(slice(1), splits_of(sizes[row], options))), axis=1)[0]
        return ExaminedRow(float(compared.statistic[0]), nulls * compared.row_units[0], compared.pair_values[0])


def set_values(name: str, *others: str, pooled: bool = False, untested: bool = False) -> tuple[Value, ...]:
    """Return what the result of a module of sets has besides the mean of its statistic, `name`.

    `pooled` is for modules with values of the whole corpus, `untested` for those with an excess without a test.
    """
    lists = ", ".join(f"{key}_per_row" for key in (name, *others, f"{name}_excess", f"{name}_p_value"))
    when = "" if untested else "with `p_value`: "
    drawn = f" (without `p_value`, {MAX_UNTESTED_SPLITS} random ones of a row that has more)" if untested else ""
    whole_corpus = f"""
        {name}_pooled | | | with `pooled`: one value for the whole corpus
        {name}_pooled_p_value | 0 to 1 | | with `pooled` and `p_value`: candidates and references exchanged within rows
            only, `n_resamples` times
    """
    row_table = f"""
        n_rows | | | number of rows
        * {name}_corpus_p_value | 0 to 1 | | with `p_value`: do the sets differ over all rows? p-value of the mean over
            rows: one split of every row is drawn, `n_resamples` times; at least 1 / (n_resamples + 1). One row keeps
            its own p-value
        * {name}_excess | | 0 | {when}how far the mean over rows lies above its mean under all splits{drawn}, in the
            unit of the statistic, whatever the number of captions
        {name}_z | | 0 | with `p_value`: the same in standard deviations of the null distribution, with `clusters` in
            standard errors over them; NaN where no split changes it
        {name}_p_value | 0 to 1 | | with `p_value`: the paper's combination of the rows' p-values, Wilson's (2019)
            harmonic mean, made asymptotically exact; one row keeps its own p-value
        {name}_harmonic_mean_p | 0 to 1 | | with `p_value`: the raw harmonic mean of the rows' p-values; never below the
            smallest p-value of a row, however many rows there are
        {name}_smallest_p, {name}_smallest_corpus_p | 0 to 1 | | with `p_value`: the smallest p-value that any row, and
            the corpus, can have with sets of these sizes
        {name}_ci_low, {name}_ci_high, {name}_excess_ci_low, {name}_excess_ci_high | | | with `confidence_level`: ends
            of the interval of the mean over rows, or over clusters of them: Student's, without skewness (Hall 1992);
            for the excess with `p_value` as well
        {lists} | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """
    return (value_table(whole_corpus) if pooled else ()) + value_table(row_table)


def signature_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide a p-value or an interval, for a signature; None where an option is not in use.

    >>> signature_settings(dict(DISTRIBUTION_DEFAULTS))
    {'p_value': 'none', 'n_resamples': None, 'confidence_level': None, 'interval': None, 'clusters': None, 'seed': None}
    """
    # An exact test draws splits too, for the corpus.
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
    has_excess: bool = False,
) -> ComparedRows:
    """Reduce each row to its statistic and its plain metric, and test it by its splits.

    Rows of equal sizes are handled together, in batches of bounded memory; a row's results do not depend on the others.
    `progress` wraps the batches, as `tqdm` does; `n_earlier` is as for `RowTester`; with `has_excess` rows that are not
    tested have an excess by `null_means`. Raises ValueError for p_value
    "exact" with a row too large.
    """
    splits = None
    if options["p_value"] != "none":
        # Before any work: a row with too many splits for an exact test.
        splits = RowTester(rows.sizes, options, n_earlier)
    statistic, plain, has_plain = np.empty(len(rows.sizes)), np.empty(len(rows.sizes)), False
    excesses = np.empty(len(rows.sizes)) if has_excess and splits is None else None
    for size, batch in progress(rows_by_size(rows.sizes, rows.batch_size), desc="rows", unit="batch", delay=1):
        compared = rows.compare(batch)
        statistic[batch] = compared.statistic
        if compared.plain is not None:
            plain[batch], has_plain = compared.plain, True
        if splits:
            splits.add(size, batch, rows.row_key, compared)
        if excesses is not None:
            excesses[batch] = compared.statistic - null_means(compared, size)
    return ComparedRows(statistic, plain if has_plain else None, splits, excesses)


def null_means(compared: Comparison, size: tuple[int, int]) -> np.ndarray:
    """Return the mean of each row's statistic over its splits: float64, shape (n_rows,).

    Over all splits where there are at most `MAX_UNTESTED_SPLITS`, as an exact test has it; over as many random ones,
    always the same, where there are more.
    """
    is_drawn = math.comb(sum(size), size[0]) > MAX_UNTESTED_SPLITS
    make = functools.partial(random_splits, seed=0) if is_drawn else functools.partial(exact_splits, mirrored=False)
    splits, n_rows = make(*size, MAX_UNTESTED_SPLITS), max(1, MAX_NULL_VALUES // MAX_UNTESTED_SPLITS)
    means = []
    for start in range(0, len(compared.statistic), n_rows):
        nulls = np.concatenate(list(compared.null_values(slice(start, start + n_rows), splits)), axis=1)
        means.append(nulls[:, int(is_drawn) :].mean(axis=1))  # without the observed split, which is no draw
    return np.concatenate(means) * compared.row_units


def distribution_result(
    columns: Mapping[str, Collection[float]],
    tests: "CorpusTest | None",
    options: Mapping[str, Any],
    value_range: tuple[float, float] = (-math.inf, math.inf),
    untested_excesses: Collection[float] | None = None,
) -> dict[str, Any]:
    """Build the keys that all distribution modules share.

    `columns` holds n_rows floats each by name, the first being the statistic, named like the module; no interval goes
    beyond `value_range`. Returns Python scalars: the mean over rows of every column, n_rows, and what p_value and
    confidence_level add; with `details` also lists under `_per_row` keys. `untested_excesses` are of rows without a
    test.

    >>> distribution_result({"trm": np.array([0.25, 0.75]), "plain": np.ones(2)}, None, DISTRIBUTION_DEFAULTS)
    {'trm': 0.5, 'plain': 1.0, 'n_rows': 2}
    """
    name, values = next(iter(columns.items()))
    # fsum is exact, so the order of the rows cannot change the last digit.
    result: dict[str, Any] = {key: math.fsum(column) / len(column) for key, column in columns.items()}
    result["n_rows"] = len(values)
    intervals, excesses = {name: values}, untested_excesses if tests is None else tests.excesses
    if excesses is not None:
        result[f"{name}_excess"] = math.fsum(excesses) / len(values)
        intervals[f"{name}_excess"] = excesses
    if tests is not None:
        result |= {
            f"{name}_corpus_p_value": tests.corpus_p_value,
            f"{name}_z": tests.z,
            f"{name}_p_value": combined_p_value(list(tests.p_values)),
            f"{name}_harmonic_mean_p": harmonic_mean_p(list(tests.p_values)),
            f"{name}_smallest_p": tests.smallest_p,
            f"{name}_smallest_corpus_p": tests.smallest_corpus_p,
        }
        if options["clusters"] is not None:
            result |= clustered_test(name, mean_of_rows(tests.excesses, options["clusters"]))
    if options["confidence_level"] is not None:
        width = value_range[1] - value_range[0]  # an excess is a value minus another one
        for key, column in intervals.items():
            low, high = value_range if key == name else (-width, width)
            ends = interval_of_rows(column, options["confidence_level"], options["clusters"])
            result[f"{key}_ci_low"], result[f"{key}_ci_high"] = (min(max(end, low), high) for end in ends)
    if options["details"]:
        lists = dict(columns)
        if excesses is not None:
            lists[f"{name}_excess"] = excesses
        if tests is not None:
            lists[f"{name}_p_value"] = tests.p_values
        result |= {f"{key}_per_row": [float(value) for value in column] for key, column in lists.items()}
    return result
