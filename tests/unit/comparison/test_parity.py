"""Systems beside people: equal gaps, sentences about two systems, order, and marks of the best."""

import dataclasses
import gzip
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

from manycaps.comparison.parity import (
    ROUNDING,
    ComparedParity,
    Detectable,
    GapDifference,
    ShareTest,
    UntestedPair,
    _gap_differences,
    _PairShare,
    beside_people,
    compare_parity,
    wording_alike,
)
from manycaps.comparison.read import SystemRow
from manycaps.comparison.score import parity_of_captions
from manycaps.comparison.words import best_systems, example_lines, pair_line, parity_table, system_line
from manycaps.kit.caption_wording import Phrase
from manycaps.kit.parity_tails import ParityWord, words_of
from manycaps.report.comparison_page import share_region
from tests.refusals import reads


@pytest.mark.parametrize(
    ("distance", "rounding"), [("bert", 1e-6), ("meteor", 1e-9), ("meteor15", 1e-9), ("cider", 1e-9)]
)
def test_gaps_are_equal_up_to_the_rounding_of_their_distance(distance, rounding):
    """float32 of a network is coarser than float64 of words."""
    gaps = np.array([0.9, 1.1]) * rounding
    first = {"fidelity_gap": gaps, "diversity_gap": np.zeros(2)}
    second = {"fidelity_gap": np.zeros(2), "diversity_gap": gaps}
    differences = _gap_differences(first, second, ROUNDING[distance])
    assert np.count_nonzero(differences, axis=0).tolist() == [1, 1]
    assert np.abs(differences).max() == pytest.approx(1.1 * rounding)


def share(key, first, second, better=None):
    return ShareTest(key, first, second, 0.001, 0.001, better)


def pair(shares=(), gaps=(), p_value=0.01, detectable=(0.1, 5), within_margin=None):
    untested = UntestedPair(("a", "b"), None, None, [], gaps, Detectable(*detectable), [], within_margin)
    return untested.result(p_value, p_value, shares)


FEWER = share("unlike_people_share", 0.01, 0.2, "a")
EQUAL = share("unlike_people_share", 0.01, 0.03)
ORDINARY = share("ordinary_share", 0.4, 0.2, "b")
DUPLICATES = share("near_duplicate_share", 0.05, 0.3, "a")
FIDELITY = GapDifference("fidelity_gap", -0.02, 0.01, -0.03, -0.04, -0.02)
DIVERSITY = GapDifference("diversity_gap", 0.3, 0.1, 0.2, 0.1, 0.3)
UNCLEAR = GapDifference("diversity_gap", 0.1, 0.1, 0.0, -0.1, 0.1)


@pytest.mark.parametrize(
    ("shares", "gaps", "line"),
    [
        # Fewer faults than people's 5% are never held against a system.
        ([FEWER], [FIDELITY], "a has fewer faults than b (1% and 20%, p = 0.001).$"),
        ([FEWER, ORDINARY], [], "a has fewer faults .*; b is more like people in ordinary captions (20% and 40%).$"),
        (
            [EQUAL, ORDINARY, DUPLICATES],
            [],
            "a and b differ (p = 0.01): a is more like people in near-duplicates (5% and 30%); b .* in ordinary "
            "captions (20% and 40%); faults: no difference detected (1% and 3%).$",
        ),
        (
            [EQUAL],
            [FIDELITY, DIVERSITY],
            ".*: a is nearer .* (fidelity gap -0.02 and 0.01, difference -0.03 [-0.04, -0.02]) and b is less varied "
            "(diversity gap 0.3 and 0.1, difference 0.2 [0.1, 0.3]); faults: no difference detected",
        ),
        ([], [FIDELITY, UNCLEAR], "a and b differ (p = 0.01): a is nearer .* [-0.04, -0.02]).$"),
        ([], [UNCLEAR], ".* (p = 0.01): b is less varied .* difference 0 [-0.1, 0.1]).$"),
        (
            [],
            [UNCLEAR._replace(key=gap) for gap in ("fidelity_gap", "diversity_gap", "wording_gap")],
            ".*: neither gap by itself, but together b is nearer .* 0.1]) and less varied (.* [-0.1, 0.1]).$",
        ),
        # 1% and 9% are as far from people's 5%.
        (
            [share("unlike_people_share", 0.01, 0.03)._replace(p_value=0.4), share("ordinary_share", 0.01, 0.09)],
            [UNCLEAR],
            "a and b differ (p = 0.01): in ordinary captions (1% and 9%), but which of them is more like people is "
            "undecided; faults: no difference detected (1% and 3%).$",
        ),
        (
            [share("unlike_people_share", 0.051, 0.054, "a")],
            [],
            "a has fewer faults than b (5.1% and 5.4%, p = 0.001).$",
        ),
        (
            [share("unlike_people_share", 0.996, 0.999, "a")],
            [],
            "a has fewer faults than b (99.6% and 99.9%, p = 0.001).$",
        ),
    ],
)
def test_a_pair_is_told_by_faults_and_by_likeness_and_always_with_a_direction(shares, gaps, line):
    said = pair_line(pair(shares, gaps))
    assert reads(said, line), said


def test_a_difference_of_faults_that_is_not_detected_has_no_p_value_of_a_difference():
    """The one test of faults is adjusted beside those that say which is better: more of these are large."""
    shares = [SimpleNamespace(value=value) for value in (0.27, 0.07)]
    for better_p_value, better in ((0.06, None), (0.04, "b")):
        tested = _PairShare("faulty_share", ("a", "b"), shares, None, None).result(0.03, better_p_value)
        assert (tested.p_value, tested.better) == (better_p_value, better)


IN_EVERY_ROW = "fidelity gaps that differ by 0.031 in every row"


@pytest.mark.parametrize(
    ("detectable", "said"),
    [
        ((0.031, 6), f"; {IN_EVERY_ROW} would be detected with a power of 80%"),
        ((0.031, 6, 0.07, 0.07), f"; 7% more wrong captions, or {IN_EVERY_ROW} would be detected with a power of 80%"),
        (
            (0.031, 6, 0.013, 0.042),
            f"; 1.3% more wrong captions, 4.2% more rows of wrong captions, or {IN_EVERY_ROW} would be detected with "
            "a power of 80%",
        ),
        (
            (0.031, 6, 0.998, np.inf),
            f"; 100% more wrong captions, or {IN_EVERY_ROW} would be detected with a power of 80%",
        ),
        ((0.031, 6, np.inf, np.inf), f"; {IN_EVERY_ROW} would be detected with a power of 80%"),
        ((np.nan, 6), ""),
        ((np.inf, 6), "; too few rows to distinguish any two systems: at least 6 are needed"),
        ((np.inf, 0), "; too few random sign flips (--n-resamples) to distinguish two systems by their gaps"),
    ],
)
def test_no_difference_says_how_many_more_wrong_captions_would_be_detected(detectable, said):
    line = pair_line(pair(p_value=0.3, detectable=detectable))
    assert line == f"a and b: no difference detected (p = 0.3{said})."


@pytest.mark.parametrize(
    ("gaps", "named"),
    [(["fidelity_gap", "wording_gap"], "the fidelity gap"), (["fidelity_gap", "diversity_gap"], "both gaps")],
)
def test_equivalence_names_the_gaps_that_a_margin_is_for(gaps, named):
    """A wording gap, of single captions too, has another unit."""
    alike = pair(gaps=[UNCLEAR._replace(key=gap) for gap in gaps], p_value=0.3, within_margin=True)
    assert pair_line(alike).endswith(f"). Equivalent within the margin in {named}.")


def system(name, faults, rows, ordinary=0.05, copied=0.0):
    """A system with these values, and intervals of rows from half to twice their number."""
    ends = {"rows_needed": rows, "rows_needed_ci_low": rows / 2, "rows_needed_ci_high": 2 * rows}
    shares = {"unlike_people_share": faults, "ordinary_share": ordinary, "near_duplicate_share": float("nan")}
    copies = dict.fromkeys(("copied_share", "copied_share_ci_low"), copied) | {"copied_share_expected": 0.0}
    copies |= {"human_parity_p_value": 1 / rows, "n_rows": 60}
    return {name: {**ends, **shares, **copies, "adjusted_p_value": 0.01, "per_row": dict.fromkeys(shares)}}


def comparison(*systems, pairs=()):
    by_name = {name: numbers for system in systems for name, numbers in system.items()}
    return ComparedParity(distance="made", margin=None, systems=by_name, pairs=pairs)


def test_systems_stand_as_given_unless_an_order_is_asked_for():
    given = [system("bland", 0.01, 5, 0.4), system("human", 0.05, 500), system("wrong", 0.3, 20)]
    for order, names in (
        ("", ["bland", "human", "wrong"]),
        ("faults", ["bland", "human", "wrong"]),
        ("likeness", ["human", "wrong", "bland"]),
    ):
        table = parity_table(comparison(*given), order)
        assert [row[0].text for row in table.rows] == [*names, "people"]


def test_the_best_of_a_column_is_marked_with_all_that_are_not_shown_to_be_worse():
    given = [system("a", 0.01, 100, 0.4), system("b", 0.03, 300, 0.2), system("c", 0.2, 10, 0.01)]
    given.append(system("copy", 0.0, 900, 0.05, copied=0.9))  # copies are marked nowhere
    tested = ("unlike_people_share", "ordinary_share")
    shown = [
        compared_by("c", "a", FEWER, tested=tested),
        compared_by("b", "a", tested=tested),
        compared_by("c", "b", tested=tested),
    ]
    parity = comparison(*given, pairs=shown)
    assert best_systems(parity, "unlike_people_share") == ["a", "b"]
    assert best_systems(parity, "rows_needed") == ["a", "b"]
    # 1% is nearer to people's 5% than 20% and 40%; no pair shows the others to be worse.
    assert best_systems(parity, "ordinary_share") == ["a", "b", "c"]
    assert best_systems(parity, "near_duplicate_share") == []
    assert best_systems(comparison(given[0]), "unlike_people_share") == []
    left_out = "copy is not compared: many of its captions also occur among the references."
    for each, is_said in ((parity, True), (comparison(*given[:3], pairs=shown), False)):
        assert (left_out in parity_table(each).caption) == is_said
        assert "marked: not shown to be worse than the best of the column." in parity_table(each).caption


def compared_by(first, second, *shares, tested):
    """Two systems that were compared by these shares."""
    return dataclasses.replace(pair(shares), first=first, second=second, tested_shares=tested)


@pytest.mark.parametrize(("tested", "marked"), [((), []), (("ordinary_share",), []), (("unlike_people_share",), ["a"])])
def test_a_share_that_no_pair_is_tested_by_has_no_marks(tested, marked):
    """Else every system is marked: 35% beside 4%. Shares of few rows are tested by no pair, either."""
    given = [system("a", 0.04, 100), system("b", 0.35, 90)]
    pairs = [compared_by("b", "a", *([FEWER] if marked else []), tested=tested)]
    parity = comparison(*given, pairs=pairs)
    assert best_systems(parity, "unlike_people_share") == marked
    header, column = parity_table(parity).header, [row[1].is_best for row in parity_table(parity).rows]
    assert (header[1], column) == ("faults", [bool(marked), False, False])


def test_a_column_with_one_candidate_left_has_no_marks_and_those_left_out_are_named():
    """An untranslated source among translators, whose captions often are references."""
    copies = [system(name, 0.05, 500, copied=0.6) for name in ("one", "two", "three")]
    parity = comparison(system("source", 0.9, 1), *copies, pairs=[compared_by("one", "source", tested=())])
    for key in ("unlike_people_share", "ordinary_share", "rows_needed"):
        assert best_systems(parity, key) == []
    caption = parity_table(parity, whole=True).caption
    assert "marked" not in caption
    assert caption.endswith(
        "one, two and three are not compared: many of their captions also occur among the references."
    )
    assert "not compared" not in parity_table(comparison(copies[0])).caption


def test_a_single_row_has_no_interval_of_rows_and_no_marks():
    """The interval of the rows until a system is distinguished takes two rows."""
    given = [system("a", 0.0, 100), system("b", 1.0, 6)]
    for each in given:
        for numbers in each.values():
            for end in ("low", "high"):
                del numbers[f"rows_needed_ci_{end}"]
    assert best_systems(comparison(*given), "rows_needed") == []


@pytest.mark.parametrize("by_wording", [False, True])
def test_a_verdict_never_contradicts_the_phrases_beside_it(by_wording):
    """Phrases are corrected tests of their own, and may find what the joint test does not."""
    phrase = Phrase("shirt", False, False, 0.34, 0.01, 0.001)
    if by_wording:
        alike, different = [wording_alike([phrase])], [ParityWord("formulaic", "30% are more predictable.")]
        silent = wording_alike([]).sentence
    else:
        result = {"human_parity_p_value": 0.2, "tails_p_value": 0.2}
        result |= {f"unlike_people_share_ci_{end}": share for end, share in (("low", 0.01), ("high", 0.07))}
        alike = words_of(result | {"phrases": [phrase._asdict()]})
        different, silent = [ParityWord("ordinary", "Bland.")], words_of(result)[0].sentence
    assert "annot be distinguished from human" in silent
    numbers = {"adjusted_p_value": 0.2, "n_rows": 60, "phrases": [phrase._asdict()]}
    for words, said, unsaid in (
        (alike, "Single phrases differ. Phrases that differ by tests of their own: 'shirt'", "ives itself away"),
        (different, "Gives itself away by: 'shirt' (34% of captions, people 1%)", "by tests of their own"),
    ):
        parity = comparison({"a": numbers | {"words": [word._asdict() for word in words]}})
        line = system_line(parity, "a")
        [first, *_] = example_lines(parity.systems["a"], [], [])
        assert said in line
        assert said.rpartition(". ")[2].lower() in f"{first.lower()}."
        assert unsaid not in line + first
        assert "annot be distinguished" not in line


@pytest.mark.parametrize(
    ("faults", "ordinary"), [((0.0, 0.0, 0.2), (0.4, 0.3, 0.6)), ((0.9, 0.8, 1.0), (0.05, 0, 0.07))]
)
def test_regions_of_the_map_reach_to_the_intervals_of_the_table(faults, ordinary):
    names = ("unlike_people_share", "ordinary_share")
    result = {
        f"{name}{end}": value
        for name, values in zip(names, (faults, ordinary), strict=True)
        for end, value in zip(("", "_ci_low", "_ci_high"), values, strict=True)
    }
    center, border = share_region(result, *names)
    assert center.tolist() == [faults[0], ordinary[0]]
    for ends, values in zip((border.min(axis=0), border.max(axis=0)), (1, 2), strict=True):
        assert ends == pytest.approx([faults[values], ordinary[values]], abs=1e-12)
    assert border.min() >= 0
    assert border.max() <= 1


@pytest.mark.slow
@pytest.mark.realdata
def test_faults_and_directions_of_rated_systems(data_folder):
    """Ten samples in broken English have more faults than fluent captions; every verdict on E2E has a direction."""
    coco = {}
    for name in ("coco_karpathy_test", "coco_ten_samples"):
        data = json.loads(gzip.decompress((data_folder / "real_systems" / f"{name}.json.gz").read_bytes()))
        for system, captions in data["systems"].items():
            coco[system] = {row["id"]: caption for row, caption in zip(data["rows"], captions, strict=True)}
    rows = [
        SystemRow(
            str(row["id"]),
            {"ten": coco["ten_samples"][row["id"]], "one": [coco["viecap_coco"][row["id"]]]},
            row["references"],
        )
        for row in data["rows"]
        if row["id"] in coco["viecap_coco"]
    ]
    scores = parity_of_captions(rows, {"distance": "meteor"})
    options = {"distance": "meteor", "n_resamples": 9_999, "seed": 0}
    (found,) = compare_parity(beside_people(scores.rows, None), None, **options).pairs
    assert found.fewer_faults == "one"
    assert found.shares[0].p_value < 0.01
    assert "ten has fewer faults" not in pair_line(found)

    data = json.loads(gzip.decompress((data_folder / "real_systems" / "e2e_nlg.json.gz").read_bytes()))
    names = [*data["systems"]]
    rows = [
        SystemRow(row["id"], {name: [data["systems"][name][i]] for name in names}, row["references"])
        for i, row in enumerate(data["rows"])
    ]
    scores = parity_of_captions(rows, {"distance": "meteor"})
    parity = compare_parity(beside_people(scores.rows, None), None, **options)
    assert [row[0].text for row in parity_table(parity).rows] == [*names, "people"]
    for system in parity.systems:
        assert re.search("nearer|farther|varied|predictable", system_line(parity, system)), system
    faults = [numbers["faulty_share"] for numbers in parity.systems.values()]
    for scale, least in (("quality", 0.45), ("naturalness", 0.4)):
        ratings = [data["human_win_rate"][scale][name] for name in names]
        assert scipy.stats.spearmanr(faults, ratings).statistic < -least
    assert any(share.better for pair in parity.pairs for share in pair.shares), "210 pairs leave power"
