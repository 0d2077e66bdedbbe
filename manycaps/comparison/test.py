"""The third room of a comparison, which alone tests: values of rows become the result, every number that is shown."""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog import SET_MODULES, RowValue, known_values, module_of
from manycaps.comparison.paired_tests import (
    CONFIDENCE_LEVEL,
    LEVEL,
    N_RESAMPLES,
    PairedTest,
    enough_resamples,
    holm_p_values,
    nearer_p_values,
    paired_tests,
    smallest_sign_p_value,
)
from manycaps.comparison.parity import ComparedParity, compared_parity
from manycaps.comparison.read import PEOPLE, Exchange, ScoredSystem, SystemRow, row_test_key
from manycaps.comparison.score import SystemScores
from manycaps.kit.base import InputError
from manycaps.kit.caption_sets import cluster_numbers, clustered_test, mean_interval, mean_of_rows
from manycaps.kit.parity_tails import TAIL

# Networks compute in single precision, and their last digits depend on which captions are encoded together: values that
# differ by less than this share of a usual one are equal.
NETWORK_ROUNDING = 1e-5


class SystemMean(NamedTuple):
    """Mean of a system over rows, with its interval; the ends are NaN with a single cluster of rows."""

    mean: float
    ci_low: float
    ci_high: float


class ComparedPair(NamedTuple):
    """Two systems by one metric; differences are first minus second."""

    first: str
    second: str
    test: PairedTest
    # p-value of the test, by Holm's rule over all pairs of the metric: do the systems differ?
    adjusted_p_value: float
    # The same for "one of them is better": another number only for an excess whose means lie on both sides of 0.
    ranking_p_value: float
    # Name of the better system where the ranking is significant, else None.
    better: str | None


class ComparedMetric(NamedTuple):
    """All systems by one metric."""

    metric: RowValue
    # By system float64 arrays of shape (n_rows,).
    values: Mapping[str, np.ndarray]
    means: Mapping[str, SystemMean]
    # Every system with every one before it.
    pairs: Sequence[ComparedPair]
    # Smallest adjusted p-value with this number of rows, if all of them differ; NaN for one system.
    smallest_p_value: float
    # By system the p-value of every row's own test against people; empty where rows were not tested.
    row_p_values: Mapping[str, np.ndarray] = {}
    # By system the value of the whole corpus, where it is not the mean over rows: BLEU-4, from summed statistics.
    corpus_values: Mapping[str, float] = types.MappingProxyType({})

    def value(self, system: str) -> float:
        """Return the number of a system that is printed: of the corpus, or else the mean over rows."""
        return self.corpus_values.get(system, self.means[system].mean)

    @property
    def best(self) -> str:
        """Name of the system with the best value; the first of several."""
        return min(self.means, key=lambda name: self.metric.distance(self.value(name)))

    def is_best(self, system: str) -> bool:
        """Whether a system of several has the best mean, or one that differs from it in the last digits alone."""
        pair = {system, self.best}
        equals = [{equal.first, equal.second} for equal in self.pairs if equal.test.difference == 0]
        return len(self.means) > 1 and (len(pair) == 1 or pair in equals)

    def worse_than(self, system: str) -> list[str]:
        """Return the systems that are significantly worse than this one."""
        return [pair.second if pair.first == system else pair.first for pair in self.pairs if pair.better == system]

    def row_gain(self, system: str, other: str, row: int) -> int:
        """Which of two systems is nearer to people in a row: 1 for the first, -1 for the second, 0 for neither.

        By scores of captions the one that is better; by values of sets the one that the row's own test cannot
        distinguish from people, if it distinguishes the other: the nearer excess may be that of wrong captions.
        """
        if self.metric.is_per_candidate:
            mine, others = (self.metric.distance(float(self.values[name][row])) for name in (system, other))
            return int(mine < others) - int(mine > others)
        if not self.row_p_values:
            return 0
        is_unlike, is_other_unlike = (self.row_p_values[name][row] <= LEVEL for name in (system, other))
        return int(is_other_unlike) - int(is_unlike)


class AgainstPeople(NamedTuple):
    """A system beside the human captions, by a set metric; NaN where the result lacks a number."""

    module: str
    title: str
    system: str
    statistic: float
    excess: float
    ci_low: float
    ci_high: float
    z: float
    p_value: float
    smallest_p_value: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Several systems on the same rows: the result of a comparison, which knows neither words nor pages."""

    # The baseline is the first.
    systems: Sequence[str]
    rows: Sequence[SystemRow]
    # Number of the cluster of every row.
    clusters: np.ndarray
    metrics: Sequence[ComparedMetric]
    people: Sequence[AgainstPeople]
    exchanges: Sequence[Exchange]
    # Spearman's rank correlation over the rows of all systems, shape (n_metrics, n_metrics); NaN for constant values.
    correlations: np.ndarray
    # By system and module the signature of the numbers.
    signatures: Mapping[str, Mapping[str, str]]
    n_resamples: int
    seed: int
    # Whether all systems gave equally many captions of every row: else they are not ranked by values of sets.
    has_equal_sizes: bool
    # The systems beside people; None without two references per row.
    parity: ComparedParity | None
    # By system and module how many texts the encoder did not read to their end.
    n_truncated: Mapping[str, Mapping[str, int]]
    # What a reader should know of the files.
    file_notes: Sequence[str]

    @property
    def n_clusters(self) -> int:
        """Number of clusters of rows."""
        return int(self.clusters.max()) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return every number, without captions, as `json.dumps` takes it; NaN and infinity are None."""
        return finite(
            {
                "systems": list(self.systems),
                "n_rows": len(self.rows),
                "n_clusters": self.n_clusters,
                "ids": [row.id for row in self.rows],
                "human_parity": None if self.parity is None else self.parity.to_dict(),
                "metrics": {
                    metric.metric.key: {
                        "title": metric.metric.title,
                        "direction": metric.metric.direction,
                        "smallest_p_value": metric.smallest_p_value,
                        "systems": {
                            name: mean._asdict() | ({"corpus": metric.value(name)} if metric.corpus_values else {})
                            for name, mean in metric.means.items()
                        },
                        "pairs": [{**pair._asdict(), "test": pair.test._asdict()} for pair in metric.pairs],
                        "per_row": {name: values.tolist() for name, values in metric.values.items()},
                    }
                    for metric in self.metrics
                },
                "against_people": [compared._asdict() for compared in self.people],
                "exchangeable": [exchange._asdict() for exchange in self.exchanges],
                "correlations": self.correlations.tolist(),
                "signatures": {name: dict(lines) for name, lines in self.signatures.items()},
                "n_truncated": {name: dict(counts) for name, counts in self.n_truncated.items()},
                "notes": list(self.file_notes),
                "n_resamples": self.n_resamples,
                "seed": self.seed,
            }
        )


def compare_scores(
    scores: SystemScores, *, margin: float | None = None, order: str = "", n_resamples: int = N_RESAMPLES, seed: int = 0
) -> Comparison:
    """Test each system beside people first, then every two of them; the options are those of `CompareOptions`."""
    systems, rows = scores.systems, scores.rows
    has_equal_sizes = len({tuple(system.n_candidates or ()) for system in systems}) == 1
    metrics = _shared_metrics(scores, has_equal_sizes)
    places = cluster_numbers(scores.clusters if scores.clusters is not None else range(len(rows)))
    resampling: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
    parity = None
    if scores.parity:
        people: dict[str, Any] = {
            "distance": scores.distance,
            "note": scores.note,
            "margin": margin,
            "wrong": scores.wrong,
        }
        parity = compared_parity(scores.parity, scores.clusters, **people, **resampling)
        within = {system.name: system.result["near_duplicate_share"] for system in parity.systems} | {PEOPLE: TAIL}
        shared = [
            pair._replace(within_first=within[pair.first], within_second=within[pair.second]) for pair in scores.shared
        ]
        parity = parity._replace(shared=shared, order=order)
    compared: list[ComparedMetric] = []
    if metrics:
        columns = _metric_columns(metrics, systems)
        n_draws, labels = enough_resamples(n_resamples, columns.n_pairs), places.tolist()
        draws: dict[str, Any] = {"n_resamples": n_draws, "seed": seed}
        level = LEVEL / max(1, columns.n_pairs)
        tests = paired_tests(columns.first, columns.second, labels, **draws, level=level, rounding=columns.rounding)
        ranking, near_zero = np.array([test.p_value for test in tests]), columns.near_zero
        if near_zero.any():
            sides = columns.first[:, near_zero], columns.second[:, near_zero]
            ranking[near_zero] = nearer_p_values(ranking[near_zero], *sides, labels, **draws)
        smallest = smallest_sign_p_value(int(places.max()) + 1, n_draws) if columns.n_pairs else math.nan
        compared = _compared_metrics(metrics, systems, labels, tests, ranking, smallest)
    return Comparison(
        systems=[system.name for system in systems],
        rows=rows,
        clusters=places,
        metrics=compared,
        people=[
            _against_people(system, module, places)
            for module in SET_MODULES
            for system in systems
            if f"{module}_corpus_p_value" in system.results.get(module, {})
        ],
        exchanges=_adjusted_exchanges(scores.exchanges),
        correlations=_correlations([np.concatenate(list(metric.values.values())) for metric in compared]),
        signatures={
            system.name: {module: str(result["signature"]) for module, result in system.results.items()}
            for system in systems
        },
        n_resamples=n_resamples,
        seed=seed,
        has_equal_sizes=has_equal_sizes,
        parity=parity,
        n_truncated={
            system.name: {
                module: int(result["n_truncated"])
                for module, result in system.results.items()
                if "n_truncated" in result
            }
            for system in systems
        },
        file_notes=scores.file_notes,
    )


def _shared_metrics(scores: SystemScores, has_equal_sizes: bool) -> list[RowValue]:
    """Return the values of rows that all systems have, if they can be compared by them."""
    systems = scores.systems
    shared = [key for key in systems[0].values if all(key in system.values for system in systems)]
    metrics = known_values(shared)
    if not has_equal_sizes:
        metrics = [metric for metric in metrics if metric.is_per_candidate]
    if not metrics and not has_equal_sizes and not scores.parity:
        raise InputError(
            systems[0].name,
            "all systems to give equally many captions of a row",
            "different numbers",
            "The values of sets depend on them: draw equally many, or add a metric of single captions.",
        )
    if not metrics and not scores.parity:
        raise InputError(
            systems[0].name,
            "a metric that all systems were scored by",
            "none",
            "Score them by the same metrics; human_parity takes two references or more in every row.",
        )
    return metrics


class _MetricColumns(NamedTuple):
    """What is tested of all pairs of systems by all metrics: all pairs by the first metric, then by the second."""

    # float64 arrays of shape (n_rows, n_metrics * n_pairs).
    first: np.ndarray
    second: np.ndarray
    # Shape (n_metrics * n_pairs,): the rounding of values, and whether the best value is 0.
    rounding: np.ndarray
    near_zero: np.ndarray
    n_pairs: int


def _metric_columns(metrics: Sequence[RowValue], systems: Sequence[ScoredSystem]) -> _MetricColumns:
    columns = np.stack([system.values[metric.key] for metric in metrics for system in systems], axis=1)
    pairs = _numbers_of_pairs(len(systems))
    starts = range(0, columns.shape[1], len(systems))
    first, second = (columns[:, [start + pair[side] for start in starts for pair in pairs]] for side in (0, 1))
    from_network = [module_of(metric).runs_network for metric in metrics for _ in pairs]
    usual = np.median(np.maximum(np.abs(first), np.abs(second)), axis=0)
    near_zero = np.array([metric.best == "zero" for metric in metrics for _ in pairs], dtype=bool)
    return _MetricColumns(first, second, NETWORK_ROUNDING * np.where(from_network, usual, 0), near_zero, len(pairs))


def _numbers_of_pairs(n_systems: int) -> list[tuple[int, int]]:
    """Every system with every one before it."""
    return [(later, earlier) for later in range(n_systems) for earlier in range(later)]


def _compared_metrics(
    metrics: Sequence[RowValue],
    systems: Sequence[ScoredSystem],
    labels: Sequence[int],
    tests: Sequence[PairedTest],
    ranking: np.ndarray,
    smallest: float,
) -> list[ComparedMetric]:
    """Put the results of all metrics together; tests and p-values of the ranking are in the order of the columns."""
    names, pairs = [system.name for system in systems], _numbers_of_pairs(len(systems))
    compared = []
    for i, metric in enumerate(metrics):
        own = slice(i * len(pairs), (i + 1) * len(pairs))
        values = {system.name: system.values[metric.key] for system in systems}
        row_means = {name: mean_of_rows(of_system, labels) for name, of_system in values.items()}
        means = {
            name: SystemMean(mean.mean, *mean_interval(mean, CONFIDENCE_LEVEL)) for name, mean in row_means.items()
        }
        ranked = holm_p_values(ranking[own]).tolist()
        key = row_test_key(metric)
        tested = all(key in system.values for system in systems)
        row_p_values = {system.name: system.values[key] for system in systems} if tested else {}
        results = {system.name: system.results.get(module_of(metric).slug, {}) for system in systems}
        corpus_values = {name: float(result[metric.key]) for name, result in results.items() if metric.key in result}
        corpus_values = corpus_values if metric.mean_key and len(corpus_values) == len(systems) else {}
        compared.append(
            ComparedMetric(
                metric,
                values,
                means,
                _compared_pairs(metric, means, [(names[k], names[j]) for k, j in pairs], tests[own], ranked),
                min(1.0, len(pairs) * smallest) if pairs else math.nan,
                row_p_values,
                corpus_values,
            )
        )
    return compared


def _compared_pairs(
    metric: RowValue,
    means: Mapping[str, SystemMean],
    names: Sequence[tuple[str, str]],
    tests: Sequence[PairedTest],
    ranking: Sequence[float],
) -> list[ComparedPair]:
    """Put the results of one metric's pairs together; `ranking` holds adjusted p-values."""
    adjusted = holm_p_values(np.array([test.p_value for test in tests])).tolist()
    pairs = []
    for i, (first, second) in enumerate(names):
        better = min((first, second), key=lambda name: metric.distance(means[name].mean))
        is_found = ranking[i] <= LEVEL
        pairs.append(ComparedPair(first, second, tests[i], adjusted[i], ranking[i], better if is_found else None))
    return pairs


def _against_people(system: ScoredSystem, module: str, places: np.ndarray) -> AgainstPeople:
    """Result of a module's own test of a system, with the clusters."""
    result = system.results[module]
    excess = mean_of_rows(system.values[f"{module}_excess"], places.tolist())
    tested = {key: float(result[f"{module}{key}"]) for key in ("_z", "_corpus_p_value", "_smallest_corpus_p")}
    if excess.n_clusters < len(places):  # a folder of scores knows of no clusters
        tested = clustered_test("", excess)
    numbers = [tested[key] for key in ("_z", "_corpus_p_value", "_smallest_corpus_p")]
    interval = mean_interval(excess, CONFIDENCE_LEVEL)
    title = SET_MODULES[module].title
    return AgainstPeople(module, title, system.name, float(result[module]), excess.mean, *interval, *numbers)


def _adjusted_exchanges(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Adjust the p-values of every module's pairs by Holm's rule; the modules in the order of the catalog."""
    adjusted = []
    for module in SET_MODULES:
        module_exchanges = [exchange for exchange in exchanges if exchange.module == module]
        tested = [exchange.p_value for exchange in module_exchanges if not math.isnan(exchange.p_value)]
        p_values = iter(holm_p_values(np.array(tested)).tolist())
        adjusted += [
            exchange if math.isnan(exchange.p_value) else exchange._replace(adjusted_p_value=next(p_values))
            for exchange in module_exchanges
        ]
    return adjusted


def _correlations(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Spearman's correlation of every two columns; NaN where one of them is constant."""
    ranks = [_ranks(column) for column in columns]
    correlations = np.full((len(ranks), len(ranks)), math.nan)
    for i, mine in enumerate(ranks):
        for j, other in enumerate(ranks):
            if np.ptp(mine) > 0 and np.ptp(other) > 0:
                correlations[i, j] = 1.0 if i == j else np.corrcoef(mine, other)[0, 1]
    return correlations


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1; equal values share the mean of theirs."""
    _, rank_of, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[rank_of]


def finite(value: Any) -> Any:
    """Return a value as JSON has it: NaN and infinity are None, at any depth."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
