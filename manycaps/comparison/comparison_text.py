"""A comparison in sentences: the summary of every pair, and a methods paragraph."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from manycaps.catalog import SET_MODULES
from manycaps.comparison.mean_intervals import LEVEL, MOST_EXACT_CLUSTERS, POWER
from manycaps.comparison.paired_tests import CONFIDENCE_LEVEL, PairedTest
from manycaps.comparison.parity_text import pair_line, parity_methods, parity_screen, system_line
from manycaps.kit.base import VERSION, n_sharing_rows
from manycaps.kit.parity_tails import p_value_digits, shown_p_value
from manycaps.tables import as_digits, as_interval

if TYPE_CHECKING:
    from manycaps.comparison.compared_systems import ComparedMetric, ComparedPair, SystemComparison

# Note for systems that gave different numbers of captions.
UNEQUAL_SIZES = (
    "The systems gave different numbers of captions, on which the values of set metrics depend: these are left out. "
    "Human parity and metrics of single captions do not depend on them."
)


def pair_summary(metric: ComparedMetric, pair: ComparedPair, units: str = "rows") -> str:
    """Summarise in one sentence which of two systems is better by a metric, or what could have been found.

    `units` names what is permuted as a whole.
    """
    title, test = metric.metric.title, pair.test
    if metric.smallest_p_value > LEVEL:
        few = units if test.is_exact else "random sign flips (--n-resamples)"
        return (
            f"{title}: too few {few} to distinguish {pair.first} and {pair.second}: with so few, p cannot fall below "
            f"{p_value_digits(metric.smallest_p_value)} after Holm."
        )
    p_value = f"{shown_p_value(pair.adjusted_p_value)} after Holm"
    size = f"by {as_digits(abs(test.difference))} {_interval(test)}"
    if pair.adjusted_p_value > LEVEL:
        return (
            f"{title}: no difference detected between {pair.first} and {pair.second} ({_undecided(test)}, {p_value})."
        )
    mean, other = (as_digits(metric.means[name].mean) for name in (pair.first, pair.second))
    if pair.better is None:
        return (
            f"{title}: {pair.first} ({mean}) and {pair.second} ({other}) differ {size}, {p_value}; which of them is "
            f"nearer to people is undecided ({shown_p_value(pair.ranking_p_value)})."
        )
    worse = pair.second if pair.better == pair.first else pair.first
    if metric.metric.best == "zero" and metric.means[worse].mean * metric.means[pair.better].mean < 0:
        mean, other = (as_digits(metric.means[name].mean) for name in (pair.better, worse))
        p_value = f"{shown_p_value(pair.ranking_p_value)} after Holm"
        return (
            f"{title}: {pair.better} ({mean}) is nearer to people than {worse} ({other}), which lies on the other side "
            f"of 0, {p_value}."
        )
    verb = "scores higher" if metric.metric.best == "highest" else "is nearer to people"
    return f"{title}: {pair.better} {verb} than {worse} {size}, {p_value}."


def _undecided(test: PairedTest) -> str:
    """Difference, and the one that would have been found."""
    sentence = f"difference {as_digits(abs(test.difference))} {_interval(test)}"
    if math.isfinite(test.minimum_detectable_difference):
        least = as_digits(test.minimum_detectable_difference)
        sentence += f"; one of {least} in every row would be detected with {POWER:.0%} power"
    return sentence


def _interval(test: PairedTest) -> str:
    """Interval of the difference without its sign."""
    if not math.isfinite(test.ci_low):
        return "[no interval]"
    low, high = (test.ci_low, test.ci_high) if test.difference >= 0 else (-test.ci_high, -test.ci_low)
    return as_interval(low, high)


def summaries(comparison: SystemComparison) -> list[str]:
    """Return the answer in sentences: the systems beside people, and in pairs.

    Where there are no two references, every system beside the baseline by every metric.
    """
    parity = comparison.parity
    sentences = notes(comparison)
    if parity is not None:
        sentences += [system_line(parity, system) for system in parity.in_order()]
        sentences += [pair_line(pair) for pair in parity.pairs]
    if parity is None or not parity.has_meaning:
        sentences += of_metrics(comparison)
    return sentences + shared_rows(comparison)


def of_metrics(comparison: SystemComparison) -> list[str]:
    """Say how every system stands beside the baseline by every metric."""
    baseline = comparison.systems[0]
    pairs = [(metric, pair) for metric in comparison.metrics for pair in metric.pairs if pair.second == baseline]
    units = "clusters of rows" if comparison.n_clusters < len(comparison.rows) else "rows"
    return [pair_summary(metric, pair, units) for metric, pair in pairs]


def answer_text(comparison: SystemComparison, *, full: bool = False) -> str:
    """Return the answer as a terminal shows it, without tables of metrics; `full` is as for `parity_screen`."""
    if comparison.parity is None:
        return "\n".join(summaries(comparison))
    behind = shared_rows(comparison)
    if not comparison.parity.has_meaning:
        behind = [*(f"- {sentence}" for sentence in of_metrics(comparison)), *behind]
    return parity_screen(comparison.parity, notes(comparison), comparison.rows, warnings=behind, full=full)


def notes(comparison: SystemComparison) -> list[str]:
    """Return what a reader should know before the numbers."""
    sentences = [*comparison.of_files, *one_reference(comparison), *equal_captions(comparison)]
    if not comparison.has_equal_sizes:
        sentences.append(UNEQUAL_SIZES)
    if comparison.parity is not None and comparison.parity.note:
        sentences.append(comparison.parity.note)
    untested = [compared.metric.title for compared in comparison.metrics if compared.metric.replaced_by]
    if untested:
        sentences.append(
            f"{' and '.join(untested)}: scored without p-values, so that the statistic is given, which is not 0 for "
            "people, and not its excess. Score with --option p_value=exact for that."
        )
    if comparison.parity is None and len(comparison.systems) == 1:
        sentences.append(f"The tables show the means of {comparison.systems[0]}, the only system.")
    return sentences


def one_reference(comparison: SystemComparison) -> list[str]:
    """Return a sentence if people cannot be compared, because rows have a single reference."""
    rows = comparison.rows
    n_single = sum(len(row.references or ()) == 1 for row in rows)
    parity = comparison.parity
    if not n_single or (parity is not None and parity.has_meaning):
        return []
    titles = ", ".join(metric.metric.title for metric in comparison.metrics)
    others = f" Systems are compared with each other, by {titles}." if len(comparison.systems) > 1 else ""
    if parity is not None:
        return [
            "Captions are compared with human ones by wording alone: their meaning takes two references or more in "
            f"every row, and {n_single} of {len(rows)} have one.{others if titles else ''}"
        ]
    return [
        "Human parity is not tested: that takes two references or more in every row, and "
        f"{n_single} of {len(rows)} have one.{others}"
    ]


def shared_rows(comparison: SystemComparison) -> list[str]:
    """Return a sentence if rows are equal to an earlier row, but are taken for independent; it follows the answer."""
    rows = comparison.rows
    columns = [[row.captions[name] for row in rows] for name in rows[0].captions]
    if all(row.references for row in rows):
        columns.append([row.references or [] for row in rows])
    n_shared = n_sharing_rows(columns) if rows[0].captions else 0
    if not n_shared or comparison.n_clusters < len(rows):
        return []
    return [
        f"{n_shared} of {len(rows)} rows have the captions of an earlier row, people's and every system's, but all "
        "rows count as independent. If some are of one image, p-values are too small and intervals too short: say "
        "with --clusters which rows belong together."
    ]


def equal_captions(comparison: SystemComparison) -> list[str]:
    """Return a sentence for each system that says one caption several times in every row, as greedy decoding does."""
    rows, sentences = comparison.rows, []
    for name in rows[0].captions:
        sizes = {len(row.captions[name]) for row in rows}
        if min(sizes) > 1 and all(len(set(row.captions[name])) == 1 for row in rows):
            size = f"{min(sizes)}" if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}"
            sentences.append(f"{name}: all {size} captions of a row are equal; `manycaps sample` draws different ones")
    return sentences


def comparison_methods(comparison: SystemComparison) -> str:
    """Describe the comparison in a paragraph for a paper."""
    n_pairs = len(comparison.systems) * (len(comparison.systems) - 1) // 2
    n_rows, n_clusters = len(comparison.rows), comparison.n_clusters
    grouped = f" in {n_clusters:,} mutually independent clusters" if n_clusters < n_rows else ""
    unit = "cluster" if grouped else "row"
    is_sampled = any(not pair.test.is_exact for metric in comparison.metrics for pair in metric.pairs)
    flips = f"{comparison.n_resamples:,} random sign flips" if is_sampled else "all sign flips"
    exact = f" (all where at most {MOST_EXACT_CLUSTERS} {unit}s differ)" if is_sampled else ""
    adjusted = f"are adjusted by Holm's method over the {n_pairs} pairs of systems within each metric"
    if n_pairs == 1:
        adjusted = "need no adjustment, as two systems make a single pair"
    verb = "compared" if n_pairs else "measured"
    systems = " and ".join(filter(None, (", ".join(comparison.systems[:-1]), comparison.systems[-1])))
    sentences = [
        f"We {verb} {systems} on {n_rows:,} {'rows' if n_rows > 1 else 'row'}{grouped}, with manycaps {VERSION} "
        f"(seed {comparison.seed}).",
        f"Differences of two systems are means over rows, with two-sided paired tests by {flips} of {unit}s{exact}; "
        f"ties count. Their {CONFIDENCE_LEVEL:.0%} intervals hold the differences that the test does not reject.",
        f"p-values {adjusted}; {n_pairs * len(comparison.metrics)} tests were made for {len(comparison.metrics)} "
        f"{'metrics' if len(comparison.metrics) > 1 else 'metric'}, at the level of {LEVEL:.0%}.",
        f"Detectable differences are found with a power of at least {POWER:.0%} after the adjustment.",
    ]
    if not comparison.metrics or n_pairs == 0:
        sentences = sentences[:1]
    if comparison.metrics:
        sentences.append(
            f"{CONFIDENCE_LEVEL:.0%} intervals of a system's means are Student's over {unit}s, transformed to remove "
            "skewness (Hall 1992)."
        )
    if comparison.parity is not None:
        sentences[1:1] = parity_methods(comparison.parity, n_pairs)
    if any(metric.metric.best == "zero" for metric in comparison.metrics):
        sentences.append(
            "Metrics of two sets of captions are given as their excess over the mean of all splits of an image's "
            "captions into sets of the same sizes, which is around 0 for human captions."
        )
        if n_pairs:
            sentences.append("One of two systems is called nearer only if their difference and sum are significant.")
    if not comparison.has_equal_sizes:
        sentences.append(UNEQUAL_SIZES)
    if comparison.people:
        sentences.append(
            "The test against people is that of the mean over rows "
            + ("by the spread of the clusters." if grouped else "under random splits of every row's captions.")
        )
    if comparison.exchanges:
        titles = " and ".join(dict.fromkeys(SET_MODULES[pair.module].title for pair in comparison.exchanges))
        sentences.append(
            f"Whether the captions of two systems are exchangeable was tested by {titles} with the captions of one of "
            "them in place of the references."
        )
    return " ".join(sentences)
