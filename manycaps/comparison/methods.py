"""The paragraph on the methods of a comparison, for a paper."""

from __future__ import annotations

from manycaps.catalog.modules import SET_MODULES
from manycaps.comparison.metric_words import UNEQUAL_SIZES, VALUES
from manycaps.comparison.parity import ComparedParity
from manycaps.comparison.significance import Comparison
from manycaps.comparison.system_lines import has_meaning, has_wording
from manycaps.kit.module import VERSION
from manycaps.kit.paired_tests import MOST_EXACT_CLUSTERS
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL, LEVEL, POWER


def parity_methods(parity: ComparedParity, n_pairs: int) -> list[str]:
    """Describe the test against people, and the test of pairs, for a paper."""
    adjusted = f", adjusted by Holm's method over the {n_pairs} pairs" if n_pairs > 1 else ""
    holm = " p-values of several systems are adjusted by Holm's method." if len(parity.systems) > 1 else ""
    is_worded = has_wording(parity)
    weights = "four tests with 0.72, 0.18, 0.05 and 0.05" if is_worded else "two tests with 0.8 and 0.2"
    by_wording = (
        "the wording gap, the mean SLOR (Pauls and Klein 2012) by a trigram model of people's captions of other rows, "
        "less the mean SLOR of people's captions, in closed form under random splits of every row"
    )
    distinguished = (
        f"{holm} Rows to detect are those with which the difference is found in {POWER:.0%} of the cases at a level of "
        "5%."
    )
    if not has_meaning(parity):
        said = [
            f"The wording of captions was compared with people's by {by_wording}.{distinguished}",
            "Two systems differ if their wording gaps do, or the shares of captions beyond the 95% quantile of "
            f"people's SLOR, by paired tests with half of the level each{adjusted}.",
        ]
        return said if n_pairs else said[:1]
    said = [
        f"Captions were compared with people's by the distance {parity.distance}, by {weights} of "
        "the level (Bonferroni): the fidelity and the diversity gap of all rows jointly, in closed form under random "
        "splits of every row (Chen and Friedman 2017), and the shares of captions, and of pairs of captions, beyond "
        f"the 5% and 95% quantiles of people's own distances{f', {by_wording}, and the length gap' * is_worded}."
        f"{distinguished}",
        "Faults are the sum of what lies beyond people's rates of unsupported sentences (farther from the references "
        "than 19 of 20 human sentences), omissions (texts that leave out more of what people say than 19 of 20), "
        "oddly worded sentences (odder than 19 of 20) and repetitions. Generic captions are nearer to the "
        "references than 19 of 20 human ones, and near-duplicates are pairs nearer to each other than 19 of 20 pairs "
        "of human captions.",
        f"Two systems differ if the rows' differences of both gaps do, by a joint sign-flip test{adjusted}, or a share "
        f"{'or the wording gap ' * is_worded}does; one has more faults if it has more than people and more than the "
        "other of one kind, by a test each (intersection-union), with Bonferroni's factor for the kinds and the "
        "direction and Holm's over the pairs; and one is closer to people in another share if that is nearer to "
        "people's 5%, by a paired test, adjusted over all shares of such pairs.",
    ]
    return said if n_pairs else said[:2]


def comparison_methods(comparison: Comparison) -> str:
    """Describe the comparison in a paragraph for a paper."""
    n_pairs = len(comparison.systems) * (len(comparison.systems) - 1) // 2
    n_rows, n_clusters = comparison.n_rows, comparison.n_clusters
    grouped = f" in {n_clusters:,} mutually independent clusters" if n_clusters < n_rows else ""
    unit = "cluster" if grouped else "row"
    is_sampled = any(not pair.test.is_exact for metric in comparison.metrics.values() for pair in metric.pairs)
    flips = f"{comparison.n_resamples:,} random sign flips" if is_sampled else "all sign flips"
    exact = f" (all where at most {MOST_EXACT_CLUSTERS} {unit}s differ)" if is_sampled else ""
    adjusted = f"are adjusted by Holm's method over the {n_pairs} pairs of systems within each metric"
    if n_pairs == 1:
        adjusted = "need no adjustment, as two systems make a single pair"
    verb = "compared" if n_pairs else "measured"
    systems = " and ".join(filter(None, (", ".join(comparison.systems[:-1]), comparison.systems[-1])))
    said = [
        f"We {verb} {systems} on {n_rows:,} {'rows' if n_rows > 1 else 'row'}{grouped}, with manycaps {VERSION} "
        f"(seed {comparison.seed}).",
        f"Differences of two systems are means over rows, with two-sided paired tests by {flips} of {unit}s{exact}; "
        f"ties count. Their {CONFIDENCE_LEVEL:.0%} intervals hold the differences that the test does not reject.",
        f"p-values {adjusted}; {n_pairs * len(comparison.metrics)} tests were made for {len(comparison.metrics)} "
        f"{'metrics' if len(comparison.metrics) > 1 else 'metric'}, at the level of {LEVEL:.0%}.",
        f"Detectable differences are found with a power of at least {POWER:.0%} after the adjustment.",
    ]
    if not comparison.metrics or n_pairs == 0:
        said = said[:1]
    if comparison.metrics:
        said.append(
            f"{CONFIDENCE_LEVEL:.0%} intervals of a system's means are Student's over {unit}s, transformed to remove "
            "skewness (Hall 1992)."
        )
    if comparison.human_parity is not None:
        said[1:1] = parity_methods(comparison.human_parity, n_pairs)
    if any(VALUES[key].is_excess for key in comparison.metrics):
        said.append(
            "Metrics of two sets of captions are given as their excess over the mean of all splits of an image's "
            "captions into sets of the same sizes, which is around 0 for human captions."
        )
    if n_pairs and any(VALUES[key].best == "zero" for key in comparison.metrics):
        said.append("One of two systems is called nearer only if their difference and sum are significant.")
    if not comparison.shown.has_equal_sizes:
        said.append(UNEQUAL_SIZES)
    if comparison.against_people:
        said.append(
            "The mean over rows is tested against people "
            + ("by the spread of the clusters." if grouped else "under random splits of every row's captions.")
        )
    if comparison.exchangeable:
        titles = " and ".join(dict.fromkeys(SET_MODULES[pair.module].title for pair in comparison.exchangeable))
        said.append(
            f"Whether the captions of two systems are exchangeable was tested by {titles} with the captions of one of "
            "them in place of the references."
        )
    return " ".join(said)
