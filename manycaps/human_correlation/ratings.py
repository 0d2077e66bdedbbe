"""Your own ratings: how every number of `manycaps compare` agrees with them, over systems and over captions.

Over systems, a point is a system: its number, and its mean rating. Over captions, a point is what a system wrote for a
row: the row's number, and its mean rating; rows are independent of each other, captions of one row are not.

An interval uses Fisher's z = artanh(r), with the standard error of r by the infinitesimal jackknife over clusters
and Student's quantile, so that it stays between -1 and 1. With 6, 10 and 21 normal points and a correlation of 0, 0.5
and 0.8 it holds the true value in 91 to 98% of 600 trials for Spearman's rho, and in 91 to 99% for Kendall's tau_b.
"""

import dataclasses
import itertools
import math
import pathlib
import textwrap
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from manycaps.catalog.command_options import check_left_out
from manycaps.files.caption_tables import table_records
from manycaps.files.caption_tables.cells import record_name
from manycaps.files.caption_tables.columns import ID_COLUMNS, no_column
from manycaps.files.caption_tables.ids import check_ids_meet
from manycaps.files.result_tables import Cell, Table, finite, without_null, write_table
from manycaps.human_correlation.agreement import CONFIDENCE, Coefficient, correlation_interval, kendall, spearman
from manycaps.human_correlation.correlation_options import RatingOptions
from manycaps.kit.arrays import LARGEST_SIZE, exact_mean
from manycaps.kit.errors import InputError, as_input_errors, quote_path, quote_value
from manycaps.kit.files import no_such_path, read_json

# Names of the columns that say what was rated; all others are scales.
SYSTEM_COLUMNS, ROW_COLUMNS = ("system", "model"), (*ID_COLUMNS, "row")

# Systems below which no order is surer than chance: of four, one in twelve agrees perfectly or is its reverse.
LEAST_SYSTEMS = 5

# Rated captions below which there is no agreement over captions.
LEAST_CAPTIONS = 5

# What `manycaps compare` writes into its folder.
REPORT = "comparison.json"

# Options that only a comparison takes.
OF_COMPARE = ("references", "metrics", "names", "columns", "split", "common_rows", "limit", "distance", "options")

# Parts of keys whose numbers say how sure another number is, and not how a system writes.
OF_CERTAINTY = ("_ci_low", "_ci_high", "p_value", "smallest_p", "statistic", "n_rows", "_expected", "_of_people")

# Columns of a terminal.
WIDTH = 100

# Chance that unrelated numbers are called related, and points up to which all orders are enumerated.
LEVEL, MOST_ENUMERATED = 0.05, 8


class Ratings(NamedTuple):
    """Mean ratings."""

    scales: Sequence[str]
    # By system and row, "" for ratings of systems as a whole: the mean of each scale, NaN where it was not rated.
    means: Mapping[tuple[str, str], np.ndarray]
    has_rows: bool
    # By system and row the first record of it.
    records: dict[tuple[str, str], int]


class SystemNumbers(NamedTuple):
    """The numbers of a system: of all rows, and of each, in the order of the rows."""

    values: Mapping[str, float]
    rows: Mapping[str, np.ndarray]


class RatedNumber(NamedTuple):
    """How a number agrees with a scale."""

    # "systems" or "captions".
    over: str
    number: str
    scale: str
    n: int
    n_clusters: int
    spearman: float
    spearman_ci_low: float
    spearman_ci_high: float
    kendall: float
    kendall_ci_low: float
    kendall_ci_high: float


class RatedSystems(NamedTuple):
    """How numbers agree with ratings."""

    figures: Sequence[RatedNumber]
    # What a reader should know before.
    notes: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """Return every number, as `json.dumps` takes it; NaN is None."""
        content: dict[str, Any] = finite({"notes": list(self.notes), "figures": [f._asdict() for f in self.figures]})
        return content

    def tables(self) -> list[Table]:
        """Return a table for each of systems and captions that are rated."""
        return [
            _table([figure for figure in self.figures if figure.over == over])
            for over in dict.fromkeys(figure.over for figure in self.figures)
        ]

    def write(self, form: str) -> str:
        """Return the notes and the tables as "text", "md" or "latex"."""
        notes = ["\n".join(self.notes)] if self.notes and form != "latex" else []
        width = WIDTH if form == "text" else 10_000
        tables = [table._replace(caption=textwrap.fill(table.caption, width)) for table in self.tables()]
        return "\n\n".join([*notes, *(write_table(table, form) for table in tables)])


def compare_rated_systems(options: RatingOptions) -> RatedSystems:
    """Read ratings, and the numbers of the systems, or compute these, and compare.

    Raises:
        TypeError, ValueError, OSError: the ratings, the captions or an option cannot be used.
    """
    ratings = read_ratings(options.ratings, options.scales)
    ids, numbers = system_numbers(options, ratings)
    rated = [row for row in dict.fromkeys(row for _, row in ratings.records) if row]
    check_ids_meet("id of --ratings", rated, "the systems", ids, "Rate rows of the systems, by their ids.")
    check_names(ratings, "id", {*ids, ""}, f"one of the {len(ids):,} rows of the systems")
    from manycaps.comparison.read import SystemRow, clusters_of

    clusters = clusters_of([SystemRow(row_id, {}) for row_id in ids], options.clusters) or ids
    return compare_with_ratings(ratings, numbers, ids, clusters)


def read_ratings(path: pathlib.Path, scales: Sequence[str] | None = None) -> Ratings:
    """Read a table of ratings, one or several of a system or of a caption: CSV, JSON Lines or Parquet."""
    if not path.is_file():
        raise InputError("--ratings", "a file", *no_such_path(str(path)))
    with as_input_errors("--ratings", "a table", ""):
        records = list(table_records(path))
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    system, row = (next((n for n in known if n in names), None) for known in (SYSTEM_COLUMNS, ROW_COLUMNS))
    chosen = list(scales) if scales else [name for name in names if name not in (system, row)]
    missing = [name for name in chosen if name not in names]
    if system is None or not chosen or missing:
        expected = f"the columns system and {', '.join(missing) or 'one or more of numbers'}"
        raise no_column(quote_path(path), expected, names, "Name them so, and the row of a rated caption id.")
    rated: dict[tuple[str, str], list[list[float]]] = {}
    first: dict[tuple[str, str], int] = {}
    for i, record in enumerate(records):
        row_id = "" if row is None else record_name(record, row, path, i)
        values = [_rating(record.get(scale), scale, i) for scale in chosen]
        key = record_name(record, system, path, i), row_id
        rated.setdefault(key, []).append(values)
        first.setdefault(key, i)
    means = {key: _means(np.array(values).T) for key, values in rated.items()}
    return Ratings(chosen, means, row is not None, first)


def _rating(value: Any, scale: str, i: int) -> float:
    """A cell of a scale; NaN where it is empty."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        number = math.inf if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    if abs(number) > LARGEST_SIZE:
        expected = "a number" if math.isinf(number) else f"a number of size at most {LARGEST_SIZE:g}"
        fix = "Correct it, leave the cell empty, or name the columns of ratings with --scales."
        raise InputError(f"{scale}[{i}]", expected, quote_value(value), fix)
    return number


def _means(columns: np.ndarray) -> np.ndarray:
    """Mean of each row of an array without its NaNs; NaN of none."""
    known = [column[~np.isnan(column)] for column in columns]
    return np.array([exact_mean(values) for values in known])


def system_numbers(options: RatingOptions, ratings: Ratings) -> tuple[list[str], dict[str, SystemNumbers]]:
    """Return the ids of the rows, and every number of each system: from a report, or by comparing the systems.

    Systems that are rated and not compared are refused before the comparison, which may take long.
    """
    reports = [source for source in options.systems if (pathlib.Path(source) / REPORT).is_file()]
    if not options.systems or (reports and len(options.systems) > 1):
        got = "none" if not options.systems else f"{reports[0]} and others"
        raise InputError("systems", "captions, folders of scores, or one report of compare", got, "See --help.")
    if reports:
        check_left_out(options, "none with a report", "Give it to `manycaps compare`.", of=OF_COMPARE)
        path = pathlib.Path(reports[0]) / REPORT
        with as_input_errors(quote_path(path), "a report of `manycaps compare`", "Run it again."):
            ids, numbers = numbers_of(read_json(path, "systems", "Run `manycaps compare` again."))
        check_rated(ratings, numbers)
        return ids, numbers
    sources = _sources(options)
    check_rated(ratings, sources)
    from manycaps.comparison import CompareOptions, compare

    shared = {field.name for field in dataclasses.fields(CompareOptions)} - {"baseline"}
    given = {name: value for name, value in vars(options).items() if name in shared}
    ids, numbers = numbers_of(compare(CompareOptions(**given)).to_dict())
    return ids, {name: _with_scores(source, numbers[name]) for name, source in sources.items()}


def _sources(options: RatingOptions) -> Mapping[str, str]:
    from manycaps.comparison.read import name_systems

    return name_systems(options.systems, options.names, None)


def _with_scores(source: str, numbers: SystemNumbers) -> SystemNumbers:
    """Add the values of the corpus that `manycaps score` wrote."""
    summary = pathlib.Path(source) / "summary.json"
    if not summary.is_file():
        return numbers
    results = read_json(summary, "systems", "Score the captions again.")["metrics"]
    corpus_values = {key: value for result in results.values() for key, value in result_numbers(result).items()}
    return numbers._replace(values={**corpus_values, **numbers.values})


def numbers_of(report: Mapping[str, Any]) -> tuple[list[str], dict[str, SystemNumbers]]:
    """Return the ids of the rows, and the numbers of each system, out of the content of `comparison.json`."""
    from manycaps.catalog.modules import ROW_VALUES

    mean_keys = {value.key: value.mean_key for value in ROW_VALUES if value.mean_key}
    parity, metrics = report.get("human_parity") or {"systems": {}}, report["metrics"]
    numbers = {}
    for name in report["systems"]:
        parity_of_systems = parity["systems"].get(name, {})
        values = result_numbers(parity_of_systems)
        rows = {key: _array(column) for key, column in parity_of_systems.get("per_row", {}).items()}
        for key, metric in metrics.items():
            metric_values = metric["systems"][name]
            values |= {key: float(metric_values["corpus"])} if "corpus" in metric_values else {}
            values[mean_keys.get(key, key)] = float(metric_values["mean"])
            rows[mean_keys.get(key, key)] = _array(metric["per_row"][name])
        numbers[name] = SystemNumbers(values, rows)
    return list(report["ids"]), numbers


def result_numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a result that say how a system writes."""
    known = without_null(result)
    return {
        key: float(value)
        for key, value in known.items()
        if isinstance(value, int | float)
        and (result[key] is not None or math.isinf(value))
        and not isinstance(value, bool)
        and not any(part in key for part in OF_CERTAINTY)
        and not key.startswith("n_")
    }


def _array(column: Sequence[float | None]) -> np.ndarray:
    return np.array([math.nan if value is None else value for value in column], dtype=np.float64)


def check_names(ratings: Ratings, column: str, known: Collection[str], expected: str) -> None:
    """Raise a ValueError if a column of the ratings, "system" or "id", names something else than what is known."""
    place = ("system", "id").index(column)
    names = {key[place]: i for key, i in reversed(ratings.records.items())}
    unknown = {name: i for name, i in names.items() if name not in known}
    if unknown:
        name, i = list(unknown.items())[-1]
        got = f"{quote_value(name)} ({len(unknown)} such in all)"
        fix = "Check the spelling, or name the systems with --names, or leave out what is not compared."
        raise InputError(f"{column}[{i}] of --ratings", expected, got, fix)


def check_rated(ratings: Ratings, systems: Collection[str]) -> None:
    """Raise a ValueError if a system is rated that is not among these, or too little is rated."""
    check_names(ratings, "system", systems, f"one of {', '.join(systems)}")
    n_systems, n_captions = len({system for system, _ in ratings.means}), len(ratings.means)
    if not ratings.has_rows and n_systems < LEAST_SYSTEMS:
        got = f"{n_systems}, whose order agrees with any other one by chance too often"
        fix = "Give ratings of captions, with a column id."
        raise InputError("--ratings", f"ratings of {LEAST_SYSTEMS} systems or more", got, fix)
    if ratings.has_rows and n_captions < LEAST_CAPTIONS:
        raise InputError("--ratings", f"{LEAST_CAPTIONS} rated captions or more", n_captions, "Give more.")


def compare_with_ratings(
    ratings: Ratings, numbers: Mapping[str, SystemNumbers], ids: Sequence[str], clusters: Sequence[Hashable]
) -> RatedSystems:
    """Compare numbers with ratings; `ids` and `clusters` are of the rows, in the order of the numbers' rows."""
    rated = [name for name in numbers if any(system == name for system, _ in ratings.means)]
    notes = [f"{name} has no ratings." for name in numbers if name not in rated]
    figures: list[RatedNumber] = []
    left_out: dict[str, None] = {}
    if len(rated) >= LEAST_SYSTEMS:
        system_ratings = np.array(
            [_means(np.array([m for key, m in ratings.means.items() if key[0] == name]).T) for name in rated]
        )
        keys = dict.fromkeys(key for name in rated for key in numbers[name].values)
        points = {key: np.array([numbers[name].values.get(key, math.nan) for name in rated]) for key in keys}
        figures += _figures("systems", points, ratings.scales, system_ratings, rated, left_out)
    else:
        notes.append(f"Over systems: {LEAST_SYSTEMS} are needed, {len(rated)} are rated.")
    if ratings.has_rows:
        places = {row_id: i for i, row_id in enumerate(ids)}
        captions = list(ratings.means)
        points = {
            key: np.array([numbers[system].rows[key][places[row]] for system, row in captions])
            for key in numbers[rated[0]].rows
            if all(key in numbers[name].rows for name in rated)
        }
        labels = [clusters[places[row]] for _, row in captions]
        figures += _figures("captions", points, ratings.scales, np.array([*ratings.means.values()]), labels, left_out)
    if left_out:
        notes.append(f"Left out, as they are missing for some or equal for all: {', '.join(left_out)}.")
    return RatedSystems(figures, notes)


def _figures(
    over: str,
    points: Mapping[str, np.ndarray],
    scales: Sequence[str],
    ratings: np.ndarray,
    clusters: Sequence[Hashable],
    left_out: dict[str, None],
) -> Iterator[RatedNumber]:
    """Every number with every scale; `ratings` has shape (n_points, n_scales)."""
    for key, column in points.items():
        for scale, judged in zip(scales, ratings.T, strict=True):
            known = ~np.isnan(judged)
            labels = [label for label, is_known in zip(clusters, known, strict=True) if is_known]
            scores, human = column[known], judged[known]
            if len(scores) < LEAST_SYSTEMS or len(np.unique(human)) == 1:
                left_out[f"ratings of {scale}"] = None
            elif np.isnan(scores).any() or len(np.unique(scores)) == 1:
                left_out[key] = None
            else:
                coefficients: tuple[Coefficient, ...] = spearman(scores, human), kendall(scores, human)["tau_b"]
                ends = [(of.value, *correlation_interval(of, labels)) for of in coefficients]
                yield RatedNumber(over, key, scale, len(scores), len(set(labels)), *ends[0], *ends[1])


def noise_limits(n: int) -> tuple[float, float]:
    """Return the least sizes of Spearman's rho and Kendall's tau that n unrelated points reach in at most 5% of cases.

    Of all orders up to eight points; beyond, by Student's t for rho and the normal distribution for tau (Kendall 1938).

    >>> [round(limit, 2) for n in (5, 21) for limit in noise_limits(n)]
    [1.0, 1.0, 0.43, 0.31]
    """
    if n > MOST_ENUMERATED:
        t, z = -scipy.special.stdtrit(n - 2, LEVEL / 2), -scipy.special.ndtri(LEVEL / 2)
        return float(t / math.sqrt(n - 2 + t * t)), float(z * math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1))))
    orders = np.array(list(itertools.permutations(range(n))))
    rho = 1 - 6 * ((orders - np.arange(n)) ** 2).sum(axis=1) / (n**3 - n)
    pairs = itertools.combinations(range(n), 2)
    tau = np.mean([np.sign(orders[:, j] - orders[:, i]) for i, j in pairs], axis=0)
    limits = []
    for sizes in np.round(np.abs([rho, tau]), 9):
        reached = [size for size in np.unique(sizes) if np.mean(sizes >= size) <= LEVEL]
        limits.append(float(min(reached, default=math.inf)))
    return limits[0], limits[1]


def _table(figures: Sequence[RatedNumber]) -> Table:
    """Table of a row per number, and rho and tau_b with every scale."""
    first, scales = figures[0], list(dict.fromkeys(figure.scale for figure in figures))
    rows: dict[str, dict[str, RatedNumber]] = {}
    for figure in figures:
        rows.setdefault(figure.number, {})[figure.scale] = figure

    def cells(figure: RatedNumber | None) -> list[Cell]:
        if figure is None:
            return [Cell("-"), Cell("-")]
        ends = figure[5:8], figure[8:11]
        if figure.over == "systems":
            marked = [abs(of[0]) >= limit - 1e-9 for of, limit in zip(ends, noise_limits(figure.n), strict=True)]
        else:
            marked = [of[1] > 0 or of[2] < 0 for of in ends]
        return [Cell(_format_coefficient(*of), mark, value=of[0]) for of, mark in zip(ends, marked, strict=True)]

    with_ratings = f"Spearman's rho and Kendall's tau_b with the ratings, with {CONFIDENCE:.0%} intervals"
    if first.over == "systems":
        limits = noise_limits(first.n)
        noise_note = "rho of {:.2f} and tau_b of {:.2f}, which unrelated numbers reach in 5% of cases; less is noise"
        caption = f"Over {first.n} systems: {with_ratings}; marked: {noise_note.format(*limits)}."
    else:
        clusters = f"in {first.n_clusters:,} independent clusters"
        caption = f"Over {first.n:,} captions {clusters}: {with_ratings}; marked: intervals without 0."
    header = [f"over {first.over}", *(text for scale in scales for text in (f"{scale}: rho", "tau_b"))]
    written = [[Cell(name), *(c for scale in scales for c in cells(of.get(scale)))] for name, of in rows.items()]
    return Table(f"{caption} Below 0: the less of it, the better the rating.", header, written)


def _format_coefficient(value: float, low: float, high: float) -> str:
    """A coefficient with its interval.

    >>> _format_coefficient(0.5312, 0.1, 0.81), _format_coefficient(1.0, math.nan, math.nan)
    ('+0.53 [+0.10, +0.81]', '+1.00')
    """
    return f"{value:+.2f}" if math.isnan(low) else f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"
