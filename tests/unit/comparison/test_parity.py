"""Systems beside people: equal gaps, sentences about two systems, order, and marks of the best."""

import dataclasses
import gzip
import json
import re

import numpy as np
import pytest

from manycaps.comparison.page import interval_of, map_plot
from manycaps.comparison.parity import ComparedParity, compare_parity, parity_of_systems
from manycaps.comparison.parity_detectable import Detectable
from manycaps.comparison.parity_pairs import FaultTest, GapDifference, ShareTest, UntestedPair, _gap_differences
from manycaps.comparison.parity_scores import parity_of_captions
from manycaps.comparison.read import ParityRows, SystemRow
from manycaps.comparison.system_lines import pair_line, screen_line, system_line
from manycaps.comparison.system_parity import ROUNDING
from manycaps.comparison.system_tables import best_systems, example_lines, parity_table
from manycaps.kit.parity_corpus import row_columns
from manycaps.kit.words_tests import Phrase
from tests import simulated_people
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


# Faults of a kind of which b has more than people and than a.
MORE = share("faults", 0.01, 0.17, "a")._replace(kind="unsupported_share")
EQUAL = share("faults", 0.01, 0.03)
GENERIC = share("generic_share", 0.4, 0.2, "b")
DUPLICATES = share("near_duplicate_share", 0.05, 0.3, "a")
FIDELITY = GapDifference("fidelity_gap", -0.02, 0.01, -0.03, -0.04, -0.02)
DIVERSITY = GapDifference("diversity_gap", 0.3, 0.1, 0.2, 0.1, 0.3)
UNCLEAR = GapDifference("diversity_gap", 0.1, 0.1, 0.0, -0.1, 0.1)

# What the systems of a pair have of the named kind.
KINDS = {
    "a": {"unsupported_share": 0.06, "unsupported_share_of_people": 0.05},
    "b": {"unsupported_share": 0.22, "unsupported_share_of_people": 0.05},
}


@pytest.mark.parametrize(
    ("shares", "gaps", "line"),
    [
        ([MORE], [FIDELITY], "b has more faults than a: unsupported 22% and 6%, people 5% (p = 0.001).$"),
        (
            [MORE, GENERIC],
            [],
            "b has more faults than a: .*. b is closer to people in generic captions (20% and 40%); people 5%.$",
        ),
        (
            [EQUAL, GENERIC, DUPLICATES],
            [],
            "a and b differ (p = 0.01); neither is shown to have more faults. a is closer to people in near-duplicates "
            "(5% and 30%); people 5%. b is closer to people in generic captions (20% and 40%); people 5%.$",
        ),
        (
            [EQUAL],
            [FIDELITY, DIVERSITY],
            "a and b differ (p = 0.01); neither is shown to have more faults. On average, a is nearer .* (fidelity gap "
            "-0.02 and 0.01, difference -0.03 [-0.04, -0.02]) and b is less varied (diversity gap 0.3 and 0.1, "
            "difference 0.2 [0.1, 0.3]).$",
        ),
        ([], [FIDELITY, UNCLEAR], "a and b differ (p = 0.01). On average, a is nearer .* [-0.04, -0.02]).$"),
        ([], [UNCLEAR], ".* (p = 0.01). On average, b is less varied .* difference 0 [-0.1, 0.1]).$"),
        (
            [],
            [UNCLEAR._replace(key=gap) for gap in ("fidelity_gap", "diversity_gap", "wording_gap")],
            ".*. On average neither gap by itself, but both together: b is nearer .* 0.1]) and less varied "
            "(.* [-0.1, 0.1]).$",
        ),
        # 1% and 9% are as far from people's 5%.
        (
            [EQUAL, share("generic_share", 0.01, 0.09)],
            [UNCLEAR],
            "a and b differ (p = 0.01); neither is shown to have more faults. They differ in generic captions (1% and "
            "9%, people 5%), about equally far from people.$",
        ),
        # Faults are not tested with few rows.
        ([GENERIC], [], "a and b differ (p = 0.01). b is closer to people in generic .*$"),
    ],
)
def test_a_pair_is_told_by_faults_and_by_likeness_and_always_with_a_direction(shares, gaps, line):
    said = pair_line(KINDS, pair(shares, gaps))
    assert reads(said, line), said


def test_more_faults_take_a_test_after_holm():
    tested = FaultTest(("a", "b"), (0.27, 0.07), 0.01, "a", "omitted_share")
    for p_value, better, kind in ((0.06, None, ""), (0.04, "b", "omitted_share")):
        found = tested.result(p_value)
        assert (found.key, found.p_value, found.better, found.kind) == ("faults", p_value, better, kind)


def test_a_fault_in_every_row_of_one_system_and_none_of_the_other_is_more_faults():
    """Rows that all differ alike have no spread, which is no reason to find nothing."""
    rng = np.random.default_rng(0)
    references = rng.normal(size=(40, 5, 4))
    near, far = (rng.normal(size=(40, 1, 4)) * 0.3 + shift for shift in (0.0, 30.0))
    systems = {
        name: rows_of(np.concatenate([texts, references], axis=1)) for name, texts in (("near", near), ("far", far))
    }
    options = {"distance": "made", "n_resamples": 999, "seed": 0}
    parity = compare_parity(parity_of_systems(systems, None), None, **options)
    assert parity.pairs[0].more_faults == "far"
    assert pair_line(parity.systems, parity.pairs[0]).startswith(
        "far has more faults than near: unsupported 100% and 0%, people 5%"
    )
    # Nothing has fewer faults than people.
    assert parity.systems["near"]["faults"] == 0


def rows_of(points):
    """Single candidates beside references, as points."""
    distances = simulated_people.distances_of(points)
    return ParityRows(row_columns(distances, 1), simulated_people.kept_distances((distances, 1)))


IN_EVERY_ROW = "fidelity gaps that differ by 0.031 in every row"


@pytest.mark.parametrize(
    ("detectable", "said"),
    [
        ((0.031, 6), f"; {IN_EVERY_ROW} would be detected with 80% power"),
        ((0.031, 6, 0.07, 0.07), f"; 7% more wrong captions, or {IN_EVERY_ROW} would be detected with 80% power"),
        (
            (0.031, 6, 0.013, 0.042),
            f"; 1.3% more wrong captions, 4.2% more rows of wrong captions, or {IN_EVERY_ROW} would be detected with "
            "80% power",
        ),
        ((0.031, 6, 0.998, np.inf), f"; 100% more wrong captions, or {IN_EVERY_ROW} would be detected with 80% power"),
        ((0.031, 6, np.inf, np.inf), f"; {IN_EVERY_ROW} would be detected with 80% power"),
        ((np.nan, 6), ""),
        ((np.inf, 6), "; too few rows for any difference: at least 6 are needed"),
        ((np.inf, 0), "; too few random sign flips (--n-resamples) for any difference"),
    ],
)
def test_no_difference_says_how_many_more_wrong_captions_would_be_detected(detectable, said):
    line = pair_line(KINDS, pair(p_value=0.3, detectable=detectable))
    assert line == f"a and b: no difference detected (p = 0.3){said}."


@pytest.mark.parametrize(
    ("gaps", "named"),
    [(["fidelity_gap", "wording_gap"], "the fidelity gap"), (["fidelity_gap", "diversity_gap"], "both gaps")],
)
def test_equivalence_names_the_gaps_that_a_margin_is_for(gaps, named):
    """A wording gap, of single captions too, has another unit."""
    alike = pair(gaps=[UNCLEAR._replace(key=gap) for gap in gaps], p_value=0.3, within_margin=True)
    assert pair_line(KINDS, alike).endswith(f" power. Equivalent within the margin in {named}.")


def system(name, faults, rows, generic=0.05, copied=0.0):
    """A system with these values, and intervals of rows from half to twice their number."""
    ends = {"rows_to_detect": rows, "rows_to_detect_ci_low": rows / 2, "rows_to_detect_ci_high": 2 * rows}
    shares = {"unlike_people_share": faults, "generic_share": generic, "near_duplicate_share": float("nan")}
    shares |= {"unsupported_share": faults}
    copies = dict.fromkeys(("copied_share", "copied_share_ci_low"), copied) | {"copied_share_expected": 0.0}
    copies |= {"human_parity_p_value": 1 / rows, "n_rows": 60}
    of_all = {"faults": faults, "adjusted_p_value": 0.01, "are_too_long": False}
    return {name: {**ends, **shares, **copies, **of_all, "per_row": dict.fromkeys(shares)}}


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
    tested = ("faults", "generic_share")
    shown = [
        compared_by("c", "a", MORE, tested=tested),
        compared_by("b", "a", tested=tested),
        compared_by("c", "b", tested=tested),
    ]
    parity = comparison(*given, pairs=shown)
    assert best_systems(parity, "faults") == ["a", "b"]
    assert best_systems(parity, "rows_to_detect") == ["a", "b"]
    # 1% is nearer to people's 5% than 20% and 40%; no pair shows the others to be worse.
    assert best_systems(parity, "generic_share") == ["a", "b", "c"]
    assert best_systems(parity, "near_duplicate_share") == []
    assert best_systems(comparison(given[0]), "faults") == []
    left_out = "copy is not compared: many of its captions also occur among the references."
    for each, is_said in ((parity, True), (comparison(*given[:3], pairs=shown), False)):
        assert (left_out in parity_table(each).caption) == is_said
        assert "marked: not shown to be worse than the best of the column." in parity_table(each).caption


def compared_by(first, second, *shares, tested):
    """Two systems that were compared by these shares."""
    return dataclasses.replace(pair(shares), first=first, second=second, tested_shares=tested)


@pytest.mark.parametrize(("tested", "marked"), [((), []), (("generic_share",), []), (("faults",), ["a"])])
def test_a_share_that_no_pair_is_tested_by_has_no_marks(tested, marked):
    """Else every system is marked: 35% beside 4%. Shares of few rows are tested by no pair, either."""
    given = [system("a", 0.04, 100), system("b", 0.35, 90)]
    pairs = [compared_by("b", "a", *([MORE] if marked else []), tested=tested)]
    parity = comparison(*given, pairs=pairs)
    assert best_systems(parity, "faults") == marked
    header, column = parity_table(parity).header, [row[1].is_best for row in parity_table(parity).rows]
    assert (header[1], column) == ("faults", [bool(marked), False, False])


def test_a_column_with_one_candidate_left_has_no_marks_and_those_left_out_are_named():
    """An untranslated source among translators, whose captions often are references."""
    copies = [system(name, 0.05, 500, copied=0.6) for name in ("one", "two", "three")]
    parity = comparison(system("source", 0.9, 1), *copies, pairs=[compared_by("one", "source", tested=())])
    for key in ("faults", "generic_share", "rows_to_detect"):
        assert best_systems(parity, key) == []
    caption = parity_table(parity, whole=True).caption
    assert "marked" not in caption
    assert caption.endswith(
        "one, two and three are not compared: many of their captions also occur among the references."
    )
    assert "not compared" not in parity_table(comparison(copies[0])).caption


def test_a_single_row_has_no_interval_of_rows_and_no_marks():
    """The interval of the rows to detect a system takes two rows."""
    given = [system("a", 0.0, 100), system("b", 1.0, 6)]
    for each in given:
        for numbers in each.values():
            for end in ("low", "high"):
                del numbers[f"rows_to_detect_ci_{end}"]
    assert best_systems(comparison(*given), "rows_to_detect") == []


@pytest.mark.parametrize(
    "shares", [{}, {"predictable_share": 0.3, "predictable_share_ci_low": 0.2, "predictable_share_ci_high": 0.4}]
)
def test_a_verdict_never_contradicts_the_phrases_beside_it(shares):
    """Phrases are corrected tests of their own, and may find what the joint test does not."""
    phrase = Phrase("shirt", False, False, 0.34, 0.01, 0.001)
    copies = {"copied_share": 0.0, "generic_share_ci_low": 0.0, "fidelity_gap": 0.02}
    numbers = {"n_rows": 60, "tails_p_value": 0.2, "per_row": {}, "are_too_long": False, **copies, **shares}
    for p_value, phrases, said in (
        (0.2, [phrase], "No difference from people detected (p = 0.2), but single phrases differ. Phrases that differ"),
        (0.2, [phrase._replace(p_value=0.04)], "No difference from people detected (p = 0.2).$"),
        (0.01, [phrase], "Differs from people (p = 0.01). .* Phrases that differ from people's: 'shirt' (34% of .*"),
    ):
        named = [each._asdict() for each in phrases]
        parity = comparison({"a": numbers | {"adjusted_p_value": p_value, "phrases": named}})
        line = system_line(parity, "a")
        assert reads(line, f"a: {said}"), line
        examples = example_lines(parity.systems["a"], [], [])
        assert all(example in line for example in examples)
        assert bool(examples) == ("Phrases" in line)


def test_a_verdict_names_the_kinds_of_faults_and_the_length():
    numbers = {"n_rows": 60, "tails_p_value": 0.001, "adjusted_p_value": 0.001, "per_row": {}, "are_too_long": False}
    numbers |= {"copied_share": 0.0, "generic_share_ci_low": 0.0, "phrases": []}
    for kind, value, p_value in (("unsupported", 0.22, 0.001), ("omitted", 0.3, 0.001), ("repeated", 0.2, 0.04)):
        numbers |= {f"{kind}_share": value, f"{kind}_share_ci_low": value - 0.06, f"{kind}_share_ci_high": value + 0.06}
        numbers |= {f"{kind}_p_value": p_value, f"{kind}_share_of_people": 0.05}
    numbers |= {"words_per_text": 22.4, "words_per_text_of_people": 11.1, "length_p_value": 0.001}
    numbers |= {"length_gap": 11.3, "length_gap_ci_low": 10.0, "length_gap_ci_high": 12.6}
    line = system_line(comparison({"a": numbers}), "a")
    assert line == (
        "a: Differs from people (p = 0.001). 22% [16, 28] of its sentences are unsupported: farther from the "
        "references than 19 of 20 human sentences (people 5%). 30% [24, 36] of its texts have omissions: they leave "
        "out more of what people say than 19 of 20 human texts (people 5%). Its texts are twice as long as people's "
        "(22.4 and 11.1 words)."
    )
    brief = screen_line("a", numbers)
    assert brief == "a: Differs from people (p = 0.001). 22% unsupported, 30% omitted, twice as long as people's."


@pytest.mark.parametrize("n_systems", [1, 5, 18])
def test_the_map_has_every_system_people_and_intervals(n_systems):
    given = [system(f"system {i}", 0.02 * i, 10.0 * (i + 1)) for i in range(n_systems)]
    given[0]["system 0"] |= {"rows_to_detect": np.inf, "rows_to_detect_ci_low": 310.0, "rows_to_detect_ci_high": np.inf}
    drawn = map_plot(comparison(*given))
    assert "system 0: faults 0%, rows to detect at least 310" in drawn.description
    assert all(f"system {i}: faults" in drawn.description for i in range(n_systems))


def test_an_end_that_is_not_known_is_the_number_itself():
    known = {"faults": 0.2, "faults_ci_low": 0.1, "faults_ci_high": 0.4}
    assert interval_of(known, "faults") == (0.1, 0.4)
    assert interval_of({"faults": 0.2}, "faults") == (0.2, 0.2)


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
    compared = compare_parity(parity_of_systems(scores.rows, None), None, **options)
    systems, (found,) = compared.systems, compared.pairs
    assert found.more_faults == "ten"
    assert found.shares[0].p_value < 0.01
    assert "one has more faults" not in pair_line(systems, found)

    data = json.loads(gzip.decompress((data_folder / "real_systems" / "e2e_nlg.json.gz").read_bytes()))
    names = [*data["systems"]]
    rows = [
        SystemRow(row["id"], {name: [data["systems"][name][i]] for name in names}, row["references"])
        for i, row in enumerate(data["rows"])
        if i % 2 == 0
    ]
    scores = parity_of_captions(rows, {"distance": "meteor"})
    parity = compare_parity(parity_of_systems(scores.rows, None), None, **options)
    assert [row[0].text for row in parity_table(parity).rows] == [*names, "people"]
    for system in parity.systems:
        words = "nearer|farther|varied|predictable|as long as|omissions|unsupported|odd wording|repeat|generic"
        assert re.search(words, system_line(parity, system)), system
    assert any(share.better for pair in parity.pairs for share in pair.shares), "210 pairs leave power"
