"""Systems by scores of another program: means, paired tests of every two, ranks, and groups that do not differ."""

import dataclasses
import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from manycaps.comparison.groups import group_letters
from manycaps.files.result_tables import Cell, Table, as_digits, as_interval, column_form, finite, write_table
from manycaps.kit.arrays import Floats, exact_mean
from manycaps.kit.errors import InputError
from manycaps.kit.paired_tests import PairedTest, clustered_differences, holm_p_values, mean_tests, paired_tests
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL, LEVEL
from manycaps.kit.sets_tests import clustered_mean, interval_of_rows


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankedSystem:
    """A system by one score."""

    name: str
    # Mean over items of the mean over samples, with its interval.
    mean: float
    ci_low: float
    ci_high: float
    n_samples: int
    # Ranks that the tests leave open: one more than the systems that are better, and than those not shown to be worse.
    best_rank: int
    worst_rank: int
    # Letters of its groups: two systems without a common letter differ.
    groups: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoredPair:
    """Two systems on the same items, the better one first."""

    first: str
    second: str
    test: PairedTest
    # By Holm's method over all pairs.
    adjusted_p_value: float
    # Share of the squared standard error that comes from samples of one item; NaN where an item has one sample.
    sampling_share: float

    @property
    def differ(self) -> bool:
        """Whether the two differ."""
        return self.adjusted_p_value < LEVEL


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoreRanking:
    """All systems by one score."""

    name: str
    n_items: int
    n_clusters: int
    lower_is_better: bool
    # The best one first.
    systems: Sequence[RankedSystem]
    pairs: Sequence[ScoredPair]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoreComparison:
    """Systems by the scores of another program. A notebook shows it as tables."""

    rankings: Sequence[ScoreRanking]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return every number, as `json.dumps` takes it; NaN and infinity are None."""
        return dict(finite(dataclasses.asdict(self)))

    def tables(self, *, full: bool = False) -> list[Table]:
        """Return the tables: systems of each score, and pairs, without `full` the neighbours in rank alone."""
        return [table for ranking in self.rankings for table in (_systems_table(ranking), _pairs_table(ranking, full))]

    def write(self, form: str = "text", *, full: bool = False) -> str:
        """Return the tables as "text", "md" or "latex"."""
        notes = ["\n".join(self.notes)] if self.notes and form != "latex" else []
        return "\n\n".join([*notes, *(write_table(table, form) for table in self.tables(full=full))])

    def page(self) -> str:
        """Return the page, as HTML."""
        from manycaps.report.tables_page import tables_page

        names = [system.name for system in self.rankings[0].systems]
        sections = [
            (ranking.name, self.notes, [_systems_table(ranking), _pairs_table(ranking, full=True)])
            for ranking in self.rankings
        ]
        return tables_page("Systems by their scores", names, f"{len(names)} systems, item by item.", sections)

    def _repr_html_(self) -> str:
        """Return the tables, as a notebook shows them."""
        return "".join(write_table(table, "html") for table in self.tables(full=True))


def compare_scores(
    scores: Mapping[str, Sequence[Sequence[float]]],
    *,
    name: str = "score",
    clusters: Sequence[Hashable] | None = None,
    lower_is_better: bool = False,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> ScoreRanking:
    """Rank systems by their scores of the same items, and test every two.

    The score of an item is the mean of its samples, one or several; the items, or clusters of them, are what the tests
    are of: sign flips that count ties, Holm's correction over all pairs (see `manycaps.functional.paired_test`). Where
    there are too many pairs for the draws, a pair that no draw reaches has Student's p-value if that is smaller.

    Args:
        scores: by system n_items lists of floats, the samples of each item, finite.
        name: of the score.
        clusters: n_items labels, equal ones for items that depend on each other; None: all are independent.
        lower_is_better: whether small scores are good.
        n_resamples: random sign patterns of the tests.
        seed: of the patterns, at least 0.

    Returns:
        The ranking, the best system first.

    Raises:
        ValueError: fewer than two systems, different numbers of items, or an item without a score.

    >>> ranking = compare_scores({"a": [[1.0], [0.0], [1.0]], "b": [[0.0], [0.0], [1.0, 0.0]]})
    >>> [(system.name, round(system.mean, 2), system.groups) for system in ranking.systems]
    [('a', 0.67, 'a'), ('b', 0.17, 'a')]
    """
    names = list(scores)
    if len(names) < 2:
        raise InputError("scores", "at least two systems", len(names), "Give another one to compare with.")
    _check_items(scores)
    means = np.array([[exact_mean(samples) for samples in scores[system]] for system in names]).T
    n_items = len(means)
    overall = [math.fsum(column) / n_items for column in means.T]
    order = sorted(range(len(names)), key=lambda i: overall[i] if lower_is_better else -overall[i])
    names, means = [names[i] for i in order], means[:, order]
    pairs = list(itertools.combinations(range(len(names)), 2))
    tests, p_values = _tests(means, pairs, clusters, n_resamples, seed)
    adjusted = holm_p_values(p_values)
    scored = [
        ScoredPair(
            first=names[i],
            second=names[j],
            test=test,
            adjusted_p_value=float(p),
            sampling_share=_sampling_share(scores[names[i]], scores[names[j]], means[:, [i, j]], clusters),
        )
        for (i, j), test, p in zip(pairs, tests, adjusted, strict=True)
    ]
    differ = np.zeros((len(names),) * 2, dtype=bool)
    for (i, j), pair in zip(pairs, scored, strict=True):
        differ[i, j] = differ[j, i] = pair.differ
    groups = group_letters(differ)
    systems = []
    for i, system in enumerate(names):
        low, high = (
            interval_of_rows(means[:, i].tolist(), CONFIDENCE_LEVEL, clusters) if n_items > 1 else (math.nan,) * 2
        )
        systems.append(
            RankedSystem(
                name=system,
                mean=math.fsum(means[:, i]) / n_items,
                ci_low=low,
                ci_high=high,
                n_samples=sum(map(len, scores[system])),
                best_rank=1 + int(differ[:i, i].sum()),
                worst_rank=len(names) - int(differ[i + 1 :, i].sum()),
                groups=groups[i],
            )
        )
    n_clusters = n_items if clusters is None else len(set(clusters))
    return ScoreRanking(
        name=name,
        n_items=n_items,
        n_clusters=n_clusters,
        lower_is_better=lower_is_better,
        systems=systems,
        pairs=scored,
    )


def _check_items(scores: Mapping[str, Sequence[Sequence[float]]]) -> None:
    first, n_items = next(iter(scores)), len(next(iter(scores.values())))
    for system, items in scores.items():
        if len(items) != n_items or not n_items:
            expected = f"{n_items} items, as {first} has" if n_items else "at least one item"
            raise InputError(f"scores[{system!r}]", expected, len(items), "Give all systems the same items.")
        for i, samples in enumerate(items):
            if not len(samples) or not np.isfinite(samples).all():
                raise InputError(
                    f"scores[{system!r}][{i}]", "one finite number or several", list(samples), "Leave the item out."
                )


def _tests(
    means: Floats, pairs: Sequence[tuple[int, int]], clusters: Sequence[Hashable] | None, n_resamples: int, seed: int
) -> tuple[list[PairedTest], list[float]]:
    first, second = (means[:, [pair[side] for pair in pairs]] for side in (0, 1))
    tests = paired_tests(first, second, clusters, n_resamples=n_resamples, seed=seed, level=LEVEL / len(pairs))
    p_values = [test.p_value for test in tests]
    if len(pairs) >= LEVEL * (n_resamples + 1):  # Holm's rule asks for less than draws can give
        finer = mean_tests(first, second, clusters, n_resamples=n_resamples, seed=seed)
        p_values = [test.p_value for test in finer]
    return tests, p_values


def _sampling_share(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    means: Floats,
    clusters: Sequence[Hashable] | None,
) -> float:
    """Share of the squared standard error of a difference that more samples of the items at hand would take away."""
    variance = 0.0
    for samples in (first, second):
        if any(len(item) < 2 for item in samples):
            return math.nan
        variance += math.fsum(float(np.var(item, ddof=1)) / len(item) for item in samples)
    sums, sizes = clustered_differences(means[:, :1], means[:, 1:], clusters)[1:3]
    error = clustered_mean(sums[:, 0], sizes).standard_error
    return min(1.0, variance / len(means) ** 2 / error**2) if error > 0 else math.nan


def _systems_table(ranking: ScoreRanking) -> Table:
    form = column_form([system.mean for system in ranking.systems])
    has_samples = any(system.n_samples > ranking.n_items for system in ranking.systems)
    rows = []
    for system in ranking.systems:
        ranks = f"{system.best_rank}" if system.best_rank == system.worst_rank else None
        cells = [
            Cell(system.name),
            Cell(form(system.mean), value=system.mean),
            Cell(as_interval(system.ci_low, system.ci_high)),
            Cell(ranks or f"{system.best_rank} to {system.worst_rank}"),
            Cell(system.groups),
        ]
        rows.append(cells + ([Cell(f"{system.n_samples:,}")] if has_samples else []))
    header = ["system", ranking.name, "95% interval", "rank", "group", *(["samples"] if has_samples else [])]
    clusters = "" if ranking.n_clusters == ranking.n_items else f" in {ranking.n_clusters:,} clusters"
    better = "lower is better" if ranking.lower_is_better else "higher is better"
    caption = (
        f"{ranking.name} of {len(ranking.systems)} systems on {ranking.n_items:,} items{clusters}, {better}. Systems "
        "with a common letter were not shown to differ (sign flips, Holm)."
    )
    return Table(caption, header, rows, name=ranking.name, align="lrlll" + "r" * has_samples)


def _pairs_table(ranking: ScoreRanking, full: bool) -> Table:
    neighbours = set(itertools.pairwise(system.name for system in ranking.systems))
    pairs = [pair for pair in ranking.pairs if full or (pair.first, pair.second) in neighbours]
    has_samples = any(not math.isnan(pair.sampling_share) for pair in pairs)
    rows = []
    for pair in pairs:
        test = pair.test
        cells = [
            f"{pair.first} - {pair.second}",
            as_digits(test.difference),
            as_interval(test.ci_low, test.ci_high),
            _p(pair.adjusted_p_value),
            f"{test.n_larger:,} / {test.n_equal:,} / {test.n_smaller:,}",
            as_digits(test.minimum_detectable_difference),
            f"{test.rows_to_detect:,.0f}" if math.isfinite(test.rows_to_detect) else "no number",
        ]
        if has_samples:
            share = pair.sampling_share
            cells.append("not defined" if math.isnan(share) else f"{100 * share:.0f}%")
        rows.append([Cell(text) for text in cells])
    header = [
        "pair",
        "difference",
        "95% interval",
        "p (Holm)",
        "larger / equal / smaller",
        "detectable",
        "rows to detect",
    ]
    shown = "every two systems" if full or len(pairs) == len(ranking.pairs) else "neighbours in rank (all: --full)"
    caption = f"{ranking.name}, {shown}: detectable with 80% power, and rows to detect the difference seen."
    header += ["from sampling"] if has_samples else []
    return Table(caption, header, rows, name=f"{ranking.name}-pairs", align="lrlrrrr" + "r" * has_samples)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
