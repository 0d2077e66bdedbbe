"""Comparison of scored systems: ranking, tables, sentences, and every message."""

import math
import re

import numpy as np
import pytest

from manycaps.catalog.modules import ROW_VALUES, known_values
from manycaps.comparison import words
from manycaps.comparison.methods import comparison_methods
from manycaps.comparison.metric_words import pair_summary, system_table
from manycaps.comparison.page import differing_rows
from manycaps.comparison.read import ScoredSystem, SystemRow, name_systems
from manycaps.comparison.words import describe, notes
from manycaps.files.result_tables import Cell, Table, write_table
from manycaps.functional import paired_test
from tests.comparison_cases import NAMES, compared_systems, comparison, scored_systems, write_page
from tests.refusals import assert_refused, refusals

# An excess and a score of a system that people would write, and of one that is further off.
ZERO, SCORE = "trm_meteor_excess", "meteor"


def two_systems(first, second, key=ZERO, n_resamples=999):
    systems = [ScoredSystem(name, {key: np.array(values)}, {}) for name, values in (("a", first), ("b", second))]
    compared = compared_systems(systems, [SystemRow(str(i), {}) for i in range(len(first))], n_resamples=n_resamples)
    return compared.metrics[key]


def noisy(mean, n=200, seed=0):
    return mean + np.random.default_rng(seed).normal(0, 0.1, n)


def test_pairs_are_those_of_the_paired_test():
    compared, systems = comparison(), scored_systems()
    for key, metric in compared.metrics.items():
        values = {system.name: system.values[key] for system in systems}
        pairs = [(NAMES[1], NAMES[0]), (NAMES[2], NAMES[0]), (NAMES[2], NAMES[1])]
        assert [(pair.first, pair.second) for pair in metric.pairs] == pairs
        for pair in metric.pairs:
            alone = paired_test(values[pair.first], values[pair.second], n_resamples=999)
            assert np.array(pair.test[:-2], float) == pytest.approx(np.array(alone[:-2], float), rel=1e-9)
            # What can be found is found after Holm's rule over three pairs.
            assert pair.test.minimum_detectable_difference > alone.minimum_detectable_difference
            assert pair.adjusted_p_value >= pair.test.p_value


def test_rounding_of_a_network_is_no_difference():
    """A network gives the same captions of two systems in batches of other sizes."""
    values = 1 + noisy(0.0) / 100
    for key, relative, n_equal in (("trm_bert_excess", 9e-6, 200), ("trm_bert_excess", 1.2e-5, 0), (ZERO, 9e-6, 0)):
        assert two_systems(values, values + relative, key).pairs[0].test.n_equal == n_equal


def test_nearer_to_people_across_zero_takes_two_tests():
    """|a| < |b| is certain if a - b and a + b are not 0."""
    near, far = noisy(-0.05, seed=1), noisy(0.3, seed=2)
    compared = two_systems(near, far)
    assert compared.pairs[0].better == "a"
    sentence = pair_summary(ZERO, compared, compared.pairs[0])
    assert re.fullmatch(
        r"TRM-METEOR: a \(-0\.0\d+\) is nearer to people than b \(0\.\d+\), which lies on the other side of 0, "
        r"p = 0\.001 after Holm\.",
        sentence,
    )
    # The same distance on both sides: they differ, and neither is nearer.
    compared = two_systems(noisy(-0.2, seed=1), noisy(0.2, seed=2))
    pair = compared.pairs[0]
    assert pair.adjusted_p_value == 0.001
    assert pair.ranking_p_value > 0.05
    assert pair.better is None
    assert "which of them is nearer to people is undecided (p = 0." in pair_summary(ZERO, compared, pair)


def test_nearer_on_one_side_of_zero_is_the_paired_test_alone():
    for sign in (1, -1):
        compared = two_systems(sign * noisy(0.1, seed=1), sign * noisy(0.3, seed=2))
        pair = compared.pairs[0]
        assert (pair.better, pair.ranking_p_value) == ("a", pair.adjusted_p_value)
        low, high = sorted(1000 * abs(end) for end in (pair.test.ci_low, pair.test.ci_high))
        interval = f"[{math.floor(low) / 1000:.3f}, {math.ceil(high) / 1000:.3f}]"
        assert pair_summary(ZERO, compared, pair) == (
            f"TRM-METEOR: a is nearer to people than b by {abs(pair.test.difference):.3f} {interval}, "
            "p = 0.001 after Holm."
        )


def test_a_score_is_higher_and_not_nearer():
    compared = two_systems(noisy(0.5, seed=1), noisy(0.3, seed=2), SCORE)
    assert pair_summary(SCORE, compared, compared.pairs[0]).startswith("METEOR: a scores higher than b by 0.")


@pytest.mark.parametrize(("n_rows", "least"), [(1, 1.0), (2, 0.5), (5, 0.0625), (6, None), (200, None)])
def test_too_few_rows_are_said(n_rows, least):
    """Five rows have 32 sign patterns, two of which reach any difference."""
    compared = two_systems(noisy(0.3, n_rows, seed=1), noisy(0.9, n_rows, seed=2))
    sentence = pair_summary(ZERO, compared, compared.pairs[0])
    if least is None:
        assert compared.pairs[0].adjusted_p_value == compared.smallest_p_value <= 0.05
        assert "a is nearer to people than b" in sentence
    else:
        assert compared.pairs[0].adjusted_p_value == compared.smallest_p_value == least
        assert sentence == (
            f"TRM-METEOR: too few rows to distinguish b and a: with so few, p cannot fall below {least:.2g} after Holm."
        )


def test_few_random_flips_say_nothing_of_rows_whose_flips_are_all_enumerated():
    """Ten of forty rows differ: their p-value is exact."""
    differing = np.arange(40) < 10
    compared = two_systems(np.ones(40) + differing, np.ones(40), SCORE, n_resamples=9)
    assert compared.smallest_p_value == 0.1
    assert "METEOR: a scores higher than b by 0.250" in pair_summary(SCORE, compared, compared.pairs[0])
    compared = two_systems(noisy(0.3, 40), noisy(0.9, 40, seed=2), n_resamples=9)
    assert "too few random sign flips (--n-resamples)" in pair_summary(ZERO, compared, compared.pairs[0])


def test_what_could_have_been_found_is_said():
    compared = two_systems(noisy(0.3, seed=1), noisy(0.305, seed=2))
    least = compared.pairs[0].test.minimum_detectable_difference
    assert f"; one of {least:.3f} in every row would be detected with 80% power" in pair_summary(
        ZERO, compared, compared.pairs[0]
    )


def test_rows_of_a_cluster_belong_together():
    labels = [i // 10 for i in range(40)]
    clustered, single = comparison(clusters=labels), comparison()
    assert (clustered.n_clusters, single.n_clusters) == (4, 40)
    # Four clusters have 16 sign patterns.
    assert clustered.metrics[ZERO].pairs[0].test.p_value == 2 / 16
    assert describe(clustered).summary[0].startswith("TRM-METEOR: too few clusters of rows to distinguish <b>")
    assert "on 40 rows in 4 mutually independent clusters" in comparison_methods(clustered)
    assert "clusters" not in comparison_methods(single)


@pytest.mark.parametrize(("key", "title"), [("meteor", "METEOR"), ("chair_s", "CHAIR-s"), (ZERO, "TRM-METEOR excess")])
def test_a_value_that_is_best_at_0_is_an_excess_only_if_it_is_one(key, title, monkeypatch):
    monkeypatch.setitem(words.VALUES, key, words.VALUES[key]._replace(best="zero"))
    systems = [ScoredSystem(name, {key: noisy(0.3, seed=i)}, {}) for i, name in enumerate("ab")]
    compared = compared_systems(systems, [SystemRow(str(i), {}) for i in range(200)], n_resamples=99)
    assert system_table(compared).header == ["system", title]
    assert words.metric_line(key, compared.metrics[key]).startswith(f"{title} (")
    assert ("given as their excess" in comparison_methods(compared)) == (key == ZERO)


def test_a_metric_has_one_line():
    """The best first, with all that are significantly worse than it; of one system its value alone."""
    noise = [noisy(0.0, seed=seed) for seed in range(3)]
    means = zip("abc", (0.2, 0.9, 0.21), noise, strict=True)
    systems = [ScoredSystem(name, {SCORE: mean + each - each.mean()}, {}) for name, mean, each in means]
    for chosen, n_resamples, end in (
        (systems, 999, ": b 0.900, c 0.210, a 0.200; significantly worse than b: c and a."),
        (systems[:1], 999, ": a 0.200."),
        (systems[::2], 999, ": c 0.210, a 0.200; none is significantly worse than c."),
        (systems[:2], 9, ": b 0.900, a 0.200; no difference can be significant here (p at least 0.1)."),
    ):
        compared = compared_systems(chosen, [SystemRow(str(i), {}) for i in range(200)], n_resamples=n_resamples)
        assert words.metric_line(SCORE, compared.metrics[SCORE]) == f"METEOR (higher is better){end}"


def test_an_excess_stands_in_place_of_its_statistic():
    assert [value.key for value in known_values({"trm_meteor", "trm_meteor_excess"})] == ["trm_meteor_excess"]
    assert [value.key for value in known_values({"trm_meteor", "unknown"})] == ["trm_meteor"]
    assert len({value.key for value in ROW_VALUES}) == len(ROW_VALUES)


def test_systems_of_different_sizes_are_not_ranked_by_sets():
    """An excess is around 0 for people whatever the number of captions; away from 0 it depends on it."""
    sizes = ([5] * 40, [5] * 40, [5] * 39 + [4])
    systems = [system._replace(n_candidates=size) for system, size in zip(scored_systems(), sizes, strict=True)]
    compared = compared_systems(systems, comparison().shown.rows, n_resamples=99)
    assert list(compared.metrics) == [SCORE]
    assert len(compared.against_people) == 3
    assert describe(compared).summary[0].startswith("The systems gave different numbers of captions, on which")
    assert describe(compared).summary[0] in comparison_methods(compared)
    equal = compared_systems(systems[:2], comparison().shown.rows, n_resamples=99)
    assert list(equal.metrics) == [ZERO, SCORE]
    assert not any(
        "different numbers" in sentence for sentence in [*describe(equal).summary, comparison_methods(equal)]
    )
    sets_alone = [system._replace(values={ZERO: system.values[ZERO]}) for system in systems]
    message = "base: expected all systems to give equally many captions of a row, got diff"
    assert_refused(ValueError, message, compared_systems, sets_alone, comparison().shown.rows)


def test_text_table():
    written = write_table(system_table(comparison()), "text")
    header, *lines = written.split("\n")[2:]
    assert header.split() == "system TRM-METEOR excess p people METEOR".split()
    assert sum(line.count("*") for line in lines) == 2
    assert lines[0].startswith("base (a)")
    assert "ᵇ" in lines[0]
    assert "ᵇ" in lines[2]
    assert "ᵃ" not in lines[1]


def test_markdown_table():
    lines = write_table(system_table(comparison()), "md").split("\n")[2:]
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines)
    assert len({line.count("|") for line in lines}) == 1
    assert "&lt;b> & 'q'" in lines[3]
    assert any("**" in line and "<sup>b</sup>" in line for line in lines)


def test_systems_with_one_mean_are_both_the_best():
    """Equal up to rounding, as sums of the same captions in another order are."""
    first = scored_systems(shifts=(0.0,), names=("a",))[0]
    second = first._replace(name="b", values={key: each * (1 + 1e-14) for key, each in first.values.items()})
    assert first.values[SCORE].mean() != second.values[SCORE].mean()
    compared = compared_systems([first, second], comparison().shown.rows, n_resamples=99)
    assert [[cell.is_best for cell in row[1::2]] for row in system_table(compared).rows] == [[True] * 2] * 2


def test_latex_has_minus_signs_in_numbers_alone():
    cells = [Cell("a gpt-4 -2"), Cell("-0.020"), Cell("[-0.1, -1.5e-05]"), Cell("1e-05"), Cell("21/0/9")]
    line = write_table(Table("", [], [cells]), "latex").split("\n")[4]
    assert line.strip() == r"a gpt-4 -2 & $-$0.020 & [$-$0.1, $-$1.5e-05] & 1e-05 & 21/0/9 \\"


def test_rows_that_share_references_are_said_unless_they_are_clusters():
    systems = [ScoredSystem(name, {SCORE: noisy(0.3, 8, seed)}, {}) for seed, name in enumerate("ab")]
    rows = [
        SystemRow(str(i), {"a": [f"cat {i // 2}"], "b": [f"dog {i // 4}"]}, ["a dog", f"dog {i // 2}"])
        for i in range(8)
    ]
    said = describe(compared_systems(systems, rows)).summary[-1]
    assert said.startswith("4 of 8 rows have the captions of an earlier row, people's and every system's, but all rows")
    # A sentence that one system says of several rows, or of all, is no dependence.
    others = [row._replace(captions={**row.captions, "b": [f"dog {row.id}"]}) for row in rows]
    assert not any("earlier row" in sentence for sentence in describe(compared_systems(systems, others)).summary)
    clustered = compared_systems(systems, rows, [i // 2 for i in range(8)])
    assert not any("earlier row" in sentence for sentence in describe(clustered).summary)


def test_page_is_whole_and_escaped():
    page = write_page(comparison())
    assert page.count("<h2") == page.count("</h2>")
    assert "<b> &" not in page
    assert "&lt;b&gt; &amp; &#x27;q&#x27;" in page
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    for sentence in describe(comparison(names=("a", "b", "c"))).summary:
        assert sentence.startswith(("TRM-METEOR: ", "METEOR: "))


def test_page_of_scores_alone():
    """Without captions, tests against people and signatures the page has the other parts."""
    systems = [ScoredSystem(name, {SCORE: noisy(0.5, seed=i)}, {}) for i, name in enumerate("ab")]
    page = write_page(compared_systems(systems, [SystemRow(str(i), {}) for i in range(200)], n_resamples=99))
    places = re.findall(r'<h2 id="([^"]+)"', page)
    assert places == ["summary", "systems", SCORE, "rows-of-1", "pairs", "methods"]


def test_rows_that_differ_most_are_of_both_signs():
    compared = comparison(n_rows=200, shifts=(0.0, 0.0), names=("a", "b"))
    chosen = differing_rows(compared, "b")
    assert len(chosen) == len(set(chosen)) == 24
    differences = np.subtract(*(compared.metrics[ZERO].per_row[name] for name in "ba"))
    assert {int(np.argmax(differences)), int(np.argmin(differences))} <= set(chosen)


def test_correlations():
    compared = comparison(n_rows=30)
    assert np.shape(compared.correlations) == (2, 2)
    assert np.diag(compared.correlations).tolist() == [1.0, 1.0]
    systems = [ScoredSystem(name, {SCORE: np.zeros(3), "cider_d": np.arange(3.0)}, {}) for name in "ab"]
    constant = compared_systems(systems, [SystemRow(str(i), {}) for i in range(3)]).correlations
    assert math.isnan(constant[0][1])
    assert constant[1][1] == 1.0


MESSAGES = [
    (
        "a: expected a metric that all systems were scored by, got none. Score them by the same metrics;",
        lambda: compared_systems([ScoredSystem("a", {}, {}), ScoredSystem("b", {}, {})], []),
    ),
    ("--names: expected one name per system (2), got 1.", lambda: name_systems(["a", "b"], ["x"], None)),
    (
        "--names: expected different names, got a, a. Give each system its own",
        lambda: name_systems(["a", "d/a"], None, None),
    ),
    ("--names: expected names that can be printed, got ' '. Give", lambda: name_systems(["a", "b"], ["x", " "], None)),
    ("--baseline: expected one of 'a', 'b', got 'c'.", lambda: name_systems(["a", "b"], None, "c")),
]

test_messages = refusals({ValueError: MESSAGES})


def test_a_score_without_p_values_is_said():
    kept, made = ("trm_meteor", "meteor"), {"trm_meteor": {"signature": "x"}}
    systems = [ScoredSystem(each.name, {key: each.values[key] for key in kept}, made) for each in scored_systems(12)]
    rows = [SystemRow(str(i), {}) for i in range(12)]
    assert "TRM-METEOR: scored without p-values, so that the statistic" in notes(compared_systems(systems, rows))[-1]


def test_nearer_to_people_is_seldom_said_of_systems_on_both_sides_of_it():
    """True excesses of 0.03 and -0.03, as far from people: each observed mean is on either side of 0 at times."""
    rng, n_named, n_trials = np.random.default_rng(0), 0, 200
    rows = [SystemRow(str(i), {}) for i in range(60)]
    for _ in range(n_trials):
        common = rng.normal(0, 0.3, 60)
        systems = [
            ScoredSystem(name, {ZERO: common + shift + rng.normal(0, 0.15, 60)}, {"trm_meteor": {"signature": ""}})
            for name, shift in (("near", 0.03), ("far", -0.03))
        ]
        (metric,) = compared_systems(systems, rows, n_resamples=199).metrics.values()
        n_named += metric.pairs[0].better is not None
    assert n_named / n_trials <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_trials)
