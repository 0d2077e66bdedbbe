"""Test: values of rows become the result, every number that is shown. No other step tests."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog.modules import SET_MODULES, RowValue, known_values, module_of
from manycaps.comparison.parity import ComparedParity, compare_parity, parity_of_systems
from manycaps.comparison.parity_pairs import enough_resamples
from manycaps.comparison.read import Exchange, ScoredSystem, SystemRow, UnsupportedSentence, row_test_key
from manycaps.comparison.score import SystemScores
from manycaps.comparison.system_parity import SystemParity
from manycaps.kit.errors import InputError
from manycaps.kit.paired_tests import PairedTest, holm_p_values, nearer_p_values, paired_tests, smallest_sign_p_value
from manycaps.kit.parity_corpus import LEAST_ROWS
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL, LEVEL
from manycaps.kit.parity_sentences import split_sentences
from manycaps.kit.sets_module import N_RESAMPLES
from manycaps.kit.sets_tests import ClusteredMean, cluster_numbers, clustered_test, mean_interval, mean_of_rows

# Networks compute in single precision, and their last digits depend on which captions are encoded together: values that
# differ by less than this share of a usual one are equal.
NETWORK_ROUNDING = 1e-5

# What is said of p-values beside people that the module warns of.
FEW_ROWS = (
    f"The p-values beside people are right from {LEAST_ROWS} rows on, and there are {{n_rows}}: small ones are too "
    "small. The module human_parity draws random splits with p_value='permutation'."
)


@dataclass(frozen=True, kw_only=True)
class ComparedPair:
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


@dataclass(frozen=True, kw_only=True)
class ComparedMetric:
    """All systems by one metric."""

    # As in `RowValue`.
    title: str
    direction: str
    # Smallest adjusted p-value with this number of rows, if all of them differ; NaN for one system.
    smallest_p_value: float
    # By system the "mean" over rows with the ends of its interval, "ci_low" and "ci_high", which are NaN with a single
    # cluster of rows; and where it is not that mean, the value of the "corpus": BLEU-4, from summed statistics.
    systems: Mapping[str, Mapping[str, float]]
    # Every system with every one before it.
    pairs: Sequence[ComparedPair]
    # By system the value of every row.
    per_row: Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class AgainstPeople:
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
class ShownRows:
    """What pages and sentences show of the rows besides the numbers."""

    rows: Sequence[SystemRow]
    # Order in which systems are printed, one of `ORDERS`; empty: as they were given.
    order: str
    # What a reader should know of the distance; may be empty.
    note: str
    # Whether all systems gave equally many captions of every row: else they are not ranked by values of sets.
    has_equal_sizes: bool
    # By metric and system the p-value of every row's own test against people, where rows were tested.
    p_values: Mapping[str, Mapping[str, Sequence[float]]]
    # By system the places of its oddest captions, [row, candidate], where wording alone is compared.
    oddest: Mapping[str, Sequence[Sequence[int]]]
    # By system its sentences that are farthest from the references, where texts have several.
    unsupported: Mapping[str, Sequence[UnsupportedSentence]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Several systems on the same rows: the result of a comparison, which knows neither words nor pages.

    All but `shown` are plain numbers and names, which `dataclasses.asdict` turns into the JSON.
    """

    # The baseline is the first.
    systems: Sequence[str]
    n_rows: int
    # Independent of each other.
    n_clusters: int
    ids: Sequence[str]
    # The systems beside people; None where people are not compared.
    human_parity: ComparedParity | None
    # By the key of a value of rows.
    metrics: Mapping[str, ComparedMetric]
    against_people: Sequence[AgainstPeople]
    exchangeable: Sequence[Exchange]
    # Spearman's rank correlation over the rows of all systems, a list for each metric; NaN for constant values.
    correlations: Sequence[Sequence[float]]
    # By system and module the signature of the numbers.
    signatures: Mapping[str, Mapping[str, str]]
    # By system and module how many texts the encoder did not read to their end.
    n_truncated: Mapping[str, Mapping[str, int]]
    # What a reader should know of the files and of few rows.
    notes: Sequence[str]
    n_resamples: int
    seed: int
    shown: ShownRows


def compare_scores(
    scores: SystemScores, *, margin: float | None = None, order: str = "", n_resamples: int = N_RESAMPLES, seed: int = 0
) -> Comparison:
    """Test each system beside people first, then every two of them; the options are as in `CompareOptions`."""
    systems, rows = scores.systems, scores.rows
    has_equal_sizes = len({tuple(system.n_candidates or ()) for system in systems}) == 1
    metrics = _shared_metrics(scores, has_equal_sizes)
    places = cluster_numbers(scores.clusters if scores.clusters is not None else range(len(rows)))
    n_pairs = math.comb(len(systems), 2)
    draws: dict[str, Any] = {"n_resamples": enough_resamples(n_resamples, n_pairs), "seed": seed}
    parity, oddest, notes = None, dict[str, Sequence[Sequence[int]]](), list(scores.file_notes)
    unsupported: dict[str, Sequence[UnsupportedSentence]] = {}
    if scores.parity:
        beside = parity_of_systems(scores.parity, scores.clusters, seed)
        oddest = {system.name: system.lists.get("oddest_wording", []) for system in beside}
        unsupported = {system.name: unsupported_of(system, rows) for system in beside}
        if beside[0].has_meaning and scores.clusters is None and len(rows) < LEAST_ROWS:
            notes.append(FEW_ROWS.format(n_rows=len(rows)))
        options: dict[str, Any] = {"distance": scores.distance, "margin": margin, "wrong": scores.wrong}
        options |= {"n_resamples": n_resamples, "seed": seed}
        parity = compare_parity(beside, scores.clusters, shared=scores.shared, **options)
    compared: dict[str, ComparedMetric] = {}
    if metrics:
        columns = _metric_columns(metrics, systems)
        labels, level = places.tolist(), LEVEL / max(1, n_pairs)
        tests = paired_tests(columns.first, columns.second, labels, **draws, level=level, rounding=columns.rounding)
        ranking, near_zero = np.array([test.p_value for test in tests]), columns.near_zero
        if near_zero.any():
            sides = columns.first[:, near_zero], columns.second[:, near_zero]
            ranking[near_zero] = nearer_p_values(ranking[near_zero], *sides, labels, **draws)
        smallest = smallest_sign_p_value(int(places.max()) + 1, draws["n_resamples"]) if n_pairs else math.nan
        compared = _compare_metrics(metrics, systems, labels, tests, ranking, smallest)
    row_tests = {metric.key: row_test_key(metric) for metric in metrics}
    return Comparison(
        systems=[system.name for system in systems],
        n_rows=len(rows),
        n_clusters=int(places.max()) + 1,
        ids=[row.id for row in rows],
        human_parity=parity,
        metrics=compared,
        against_people=[
            _against_people(system, module, places)
            for module in SET_MODULES
            for system in systems
            if f"{module}_corpus_p_value" in system.results.get(module, {})
        ],
        exchangeable=_adjust_exchanges(scores.exchanges),
        correlations=_correlations([np.concatenate(list(metric.per_row.values())) for metric in compared.values()]),
        signatures={
            system.name: {module: str(result["signature"]) for module, result in system.results.items()}
            for system in systems
        },
        n_truncated={
            system.name: {
                module: int(result["n_truncated"])
                for module, result in system.results.items()
                if "n_truncated" in result
            }
            for system in systems
        },
        notes=notes,
        n_resamples=n_resamples,
        seed=seed,
        shown=ShownRows(
            rows=rows,
            order=order,
            note=scores.note,
            has_equal_sizes=has_equal_sizes,
            p_values={
                key: {system.name: system.values[row_test].tolist() for system in systems}
                for key, row_test in row_tests.items()
                if all(row_test in system.values for system in systems)
            },
            oddest=oddest,
            unsupported=unsupported,
        ),
    )


def unsupported_of(system: SystemParity, rows: Sequence[SystemRow]) -> Sequence[UnsupportedSentence]:
    """Return the sentences that are farthest from the references; none where captions, or sentences, are not known.

    Folders of scores have no distances of spans: there, the nearest reference stands for its nearest span.
    """
    if system.rows.unsupported is not None:
        return system.rows.unsupported
    if system.rows.support is None or system.name not in rows[0].captions:
        return []
    found = []
    for row, candidate, sentence, reference in system.unsupported_places():
        [pieces] = split_sentences([rows[row].captions[system.name][candidate]], system.rows.language)
        found.append(UnsupportedSentence(row, pieces[sentence], (rows[row].references or [])[reference]))
    return found


def _shared_metrics(scores: SystemScores, has_equal_sizes: bool) -> list[RowValue]:
    """Return the values of rows that all systems have, if they can be compared by them."""
    systems = scores.systems
    shared = [key for key in systems[0].values if all(key in system.values for system in systems)]
    metrics = known_values(shared)
    if not has_equal_sizes:
        metrics = [metric for metric in metrics if metric.is_per_candidate]
    if not metrics and not has_equal_sizes and not scores.parity:
        expected = "all systems to give equally many captions of a row"
        fix = "The values of sets depend on them: draw equally many, or add a metric of single captions."
        raise InputError(systems[0].name, expected, "different numbers", fix)
    if not metrics and not scores.parity:
        fix = "Score them by the same metrics; human_parity takes two references or more in every row."
        raise InputError(systems[0].name, "a metric that all systems were scored by", "none", fix)
    return metrics


class _MetricColumns(NamedTuple):
    """What is tested of all pairs of systems by all metrics: all pairs by the first metric, then by the second."""

    # float64 arrays of shape (n_rows, n_metrics * n_pairs).
    first: np.ndarray
    second: np.ndarray
    # Shape (n_metrics * n_pairs,): the rounding of values, and whether the best value is 0.
    rounding: np.ndarray
    near_zero: np.ndarray


def _metric_columns(metrics: Sequence[RowValue], systems: Sequence[ScoredSystem]) -> _MetricColumns:
    columns = np.stack([system.values[metric.key] for metric in metrics for system in systems], axis=1)
    pairs = _numbers_of_pairs(len(systems))
    starts = range(0, columns.shape[1], len(systems))
    first, second = (columns[:, [start + pair[side] for start in starts for pair in pairs]] for side in (0, 1))
    from_network = [module_of(metric).runs_network for metric in metrics for _ in pairs]
    usual = np.median(np.maximum(np.abs(first), np.abs(second)), axis=0)
    near_zero = np.array([metric.best == "zero" for metric in metrics for _ in pairs], dtype=bool)
    return _MetricColumns(first, second, NETWORK_ROUNDING * np.where(from_network, usual, 0), near_zero)


def _numbers_of_pairs(n_systems: int) -> list[tuple[int, int]]:
    """Every system with every one before it."""
    return [(later, earlier) for later in range(n_systems) for earlier in range(later)]


def _compare_metrics(
    metrics: Sequence[RowValue],
    systems: Sequence[ScoredSystem],
    labels: Sequence[int],
    tests: Sequence[PairedTest],
    ranking: np.ndarray,
    smallest: float,
) -> dict[str, ComparedMetric]:
    """Put the results of all metrics together; tests and p-values of the ranking are in the order of the columns."""
    names, pairs = [system.name for system in systems], _numbers_of_pairs(len(systems))
    compared = {}
    for i, metric in enumerate(metrics):
        own = slice(i * len(pairs), (i + 1) * len(pairs))
        row_means = {system.name: mean_of_rows(system.values[metric.key], labels) for system in systems}
        numbers = {name: _with_interval(mean) for name, mean in row_means.items()}
        results = {system.name: system.results.get(module_of(metric).slug, {}) for system in systems}
        if metric.mean_key and all(metric.key in result for result in results.values()):
            numbers = {name: {**numbers[name], "corpus": float(results[name][metric.key])} for name in names}
        ranked = holm_p_values(ranking[own]).tolist()
        named_pairs = [(names[k], names[j]) for k, j in pairs]
        means = {name: mean.mean for name, mean in row_means.items()}
        compared[metric.key] = ComparedMetric(
            title=metric.title,
            direction=metric.direction,
            smallest_p_value=min(1.0, len(pairs) * smallest) if pairs else math.nan,
            systems=numbers,
            pairs=_compare_pairs(metric, means, named_pairs, tests[own], ranked),
            per_row={system.name: system.values[metric.key].tolist() for system in systems},
        )
    return compared


def _with_interval(mean: ClusteredMean) -> dict[str, float]:
    low, high = mean_interval(mean, CONFIDENCE_LEVEL)
    return {"mean": mean.mean, "ci_low": low, "ci_high": high}


def _compare_pairs(
    metric: RowValue,
    means: Mapping[str, float],
    names: Sequence[tuple[str, str]],
    tests: Sequence[PairedTest],
    ranking: Sequence[float],
) -> list[ComparedPair]:
    """Put the results of one metric's pairs together; `ranking` holds adjusted p-values."""
    adjusted = holm_p_values(np.array([test.p_value for test in tests])).tolist()
    pairs = []
    for i, (first, second) in enumerate(names):
        better = min((first, second), key=lambda name: metric.distance(means[name]))
        pair = ComparedPair(
            first=first,
            second=second,
            test=tests[i],
            adjusted_p_value=adjusted[i],
            ranking_p_value=ranking[i],
            better=better if ranking[i] <= LEVEL else None,
        )
        pairs.append(pair)
    return pairs


def _against_people(system: ScoredSystem, module: str, places: np.ndarray) -> AgainstPeople:
    """Result of a module's own test of a system, with the clusters."""
    result = system.results[module]
    excess = mean_of_rows(system.values[f"{module}_excess"], places.tolist())
    tested = {key: float(result[f"{module}{key}"]) for key in ("_z", "_corpus_p_value", "_smallest_corpus_p")}
    if excess.n_clusters < len(places):  # a folder of scores knows of no clusters
        tested = clustered_test("", excess)
    low, high = mean_interval(excess, CONFIDENCE_LEVEL)
    return AgainstPeople(
        module=module,
        title=SET_MODULES[module].title,
        system=system.name,
        statistic=float(result[module]),
        excess=excess.mean,
        ci_low=low,
        ci_high=high,
        z=tested["_z"],
        p_value=tested["_corpus_p_value"],
        smallest_p_value=tested["_smallest_corpus_p"],
    )


def _adjust_exchanges(exchanges: Sequence[Exchange]) -> list[Exchange]:
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


def _correlations(columns: Sequence[np.ndarray]) -> list[list[float]]:
    """Spearman's correlation of every two columns; NaN where one of them is constant."""
    if not columns:
        return []
    from scipy import stats  # takes 0.4 s

    ranks = stats.rankdata(columns, axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    products = centred @ centred.T
    with np.errstate(invalid="ignore"):
        return (products / np.sqrt(np.outer(products.diagonal(), products.diagonal()))).tolist()
