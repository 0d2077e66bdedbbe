"""Human parity of a corpus: histograms, drawn p-values, copies, lists of captions, and intervals of shares."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats

import manycaps
from manycaps.kit.parity_corpus import conformal_p_values, distance_histogram, smallest_parity_p_value
from manycaps.kit.parity_tails import PeopleDistances, TailDistances, corpus_tails
from tests.simulated_people import drawn_distances, kept_distances
from tests.unit.kit.parity_cases import as_distances, corpus


def test_the_histogram_is_that_of_people_and_ends_in_the_tails():
    rng = np.random.default_rng(8)
    corpus = kept_distances((drawn_distances(rng, 3_000, 2, 4), 2), (drawn_distances(rng, 2_000, 1, 3), 1))
    tails = corpus_tails(corpus, None, None)
    histogram = distance_histogram(corpus, tails.people[False])
    assert len(histogram) == 20
    assert sum(histogram) == pytest.approx(1)
    assert histogram == pytest.approx([0.05] * 20, abs=0.02)
    ends = tails.shares["generic_share"].value, tails.shares["unlike_people_share"].value
    assert (histogram[0], histogram[-1]) == pytest.approx(ends, abs=1e-12)


def test_conformal_p_values_can_be_smaller_than_one_row_allows():
    """Far candidates have 1 / (1 + all references); people's are at most 0.05 in about 5%."""
    rng = np.random.default_rng(9)
    distances = drawn_distances(rng, 200, 2, 4)
    tail_distances = TailDistances(distances, 2)
    people = PeopleDistances({4: tail_distances.people})
    p_values = conformal_p_values(tail_distances.candidates, people)
    assert np.mean(p_values <= 0.05) == pytest.approx(0.05, abs=0.035)
    assert conformal_p_values(np.full((1, 1, 4), 99.0), people).tolist() == [[pytest.approx(1 / 801)]]


# Human parity over a corpus: rows needed, intervals, copies, drawn p-values against the closed form.


@pytest.fixture(scope="module")
def human_parity():
    return manycaps.load("human_parity")


def ready(*seed, **options):
    """The same as Euclidean distances, for `compute`."""
    columns = corpus(*seed, **options)
    return {"distances": as_distances(columns), "n_candidates": columns["prediction_embeddings"].shape[1]}


@pytest.mark.slow
def test_intervals_of_the_rows_that_people_need_hold_infinity(human_parity):
    """In 97.5% of 100 corpora of ten candidates and five references: the sooner of two tests is no one-sided 5%."""
    n_finite = 0
    for seed in range(100):
        columns = ready(seed, 20, m=10)
        n_finite += math.isfinite(human_parity.compute(**columns, confidence_level=0.95)["rows_to_detect_ci_high"])
    assert n_finite <= 2.5 + 3 * math.sqrt(2.5)


def test_drawn_p_values_agree_with_the_closed_form(human_parity):
    for seed, wrong in ((3, 0.0), (4, 0.04)):
        columns = ready(seed, 40, wrong=wrong)
        closed = human_parity.compute(**columns, details=True)
        drawn = human_parity.compute(**columns, p_value="permutation", details=True)
        exact = human_parity.compute(**columns, p_value="exact", details=True)
        for key in ("human_parity_p_value", "fidelity_gap_p_value", "diversity_gap_p_value"):
            assert drawn[key] == pytest.approx(closed[key], abs=0.03), key
            assert exact[key] == pytest.approx(closed[key], abs=0.03), key


def test_a_row_keeps_its_own_p_value(human_parity):
    """Against enumeration by `itertools`, for one row of 3 + 3."""
    columns = corpus(5, 1, 3, 3, wrong=0.5)
    with pytest.warns(UserWarning, match="right from 5 rows on"):
        human_parity.compute(**columns)
    result = human_parity.compute(**columns, p_value="exact", details=True)
    examined = human_parity.examine(
        predictions=[["a", "b", "c"]],
        references=[["d", "e", "f"]],
        p_value="exact",
        encoder=lambda _: np.concatenate([each[0] for each in columns.values()]),
    )
    expected = np.mean(examined.null_statistics >= examined.statistic - 1e-9)
    assert result["human_parity_p_value"] == result["human_parity_p_value_per_row"][0] == pytest.approx(expected)
    assert result["human_parity_smallest_p"] == pytest.approx(0.1)


def test_single_captions_are_tested_by_fidelity_alone(human_parity):
    result = human_parity.compute(**ready(6, 40, 1, 4, wrong=0.5), confidence_level=0.95)
    assert result["gaps_p_value"] == result["fidelity_gap_p_value"] < 0.05
    without = ("diversity_gap", "near_duplicate_share", "spread_share", "energy_distance", "diversity_gap_p_value")
    assert all(math.isnan(result[key]) for key in without)
    assert 0 < result["unlike_people_share"] < 1


def test_rows_of_different_sizes_count_alike(human_parity):
    """Means are over rows; of what needs two candidates, over rows that have them."""
    parts = [corpus(seed, 6, m, n) for seed, m, n in ((7, 2, 3), (8, 1, 4), (9, 5, 5))]
    both = {name: [row for part in parts for row in part[name]] for name in parts[0]}
    whole = human_parity.compute(**both, details=True, distance="bert")
    each = [human_parity.compute(**part) for part in parts]
    assert whole["fidelity_gap"] == pytest.approx(np.mean([part["fidelity_gap"] for part in each]))
    known = [part["diversity_gap"] for part in each if not math.isnan(part["diversity_gap"])]
    assert whole["diversity_gap"] == pytest.approx(np.mean(known))
    rows = whole["unlike_people_share_per_row"], whole["near_duplicate_share_per_row"]
    assert whole["unlike_people_share"] == pytest.approx(np.mean(rows[0]))
    assert whole["near_duplicate_share"] == pytest.approx(np.nanmean(rows[1]))
    assert np.isnan(rows[1]).tolist() == [False] * 6 + [True] * 6 + [False] * 6
    assert sum(whole["distance_histogram"]) == pytest.approx(1)


def test_copies_of_references_are_said(human_parity):
    columns = corpus(10, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        honest = human_parity.compute(**columns, details=True)
    columns["prediction_embeddings"][:, 0] = columns["reference_embeddings"][:, 0]
    with pytest.warns(UserWarning, match="20% of the candidates also occur among the references of their row"):
        copied = human_parity.compute(**columns, details=True)
    assert (honest["copied_share"], copied["copied_share"]) == (0, pytest.approx(0.2))
    assert copied["copied_share_of_people"] == 0
    assert copied["copied_share_expected"] == pytest.approx(0.2 * 2 / 6)


@pytest.mark.parametrize(("n_copied", "expected"), [(0, 0.0), (4, 1.0)])
def test_people_s_share_of_copies_does_not_depend_on_the_candidates(human_parity, n_copied, expected):
    """By hand: in one row of two, two of four references are equal."""
    columns = corpus(10, 2, m=4, n=4)
    references = columns["reference_embeddings"]
    references[0, 1] = references[0, 0]
    columns["prediction_embeddings"][:, :n_copied] = references[:, :n_copied]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = human_parity.compute(**columns, details=True)
    assert (result["copied_share"], result["copied_share_of_people"]) == (expected, 0.25)


def test_people_who_write_the_same_caption_are_no_copies(human_parity):
    """Texts drawn from six points of each row: candidates equal references as often as these equal each other.

    That people's own texts repeat is said, of which nobody but the user knows whether people wrote them twice; that
    candidates are copies is not.
    """
    rng = np.random.default_rng(11)
    points = rng.normal(size=(200, 6, 3))
    texts = np.take_along_axis(points, rng.integers(6, size=(200, 8, 1)), axis=1)
    with pytest.warns(UserWarning, match="references repeat another of their row") as warned:
        result = human_parity.compute(
            prediction_embeddings=texts[:, :4], reference_embeddings=texts[:, 4:], details=True
        )
    (warning,) = warned
    assert str(warning.message).startswith("reference_embeddings: ")
    assert result["copied_share"] == pytest.approx(result["copied_share_expected"], abs=0.05)
    assert result["copied_share_of_people"] < result["copied_share_expected"], "they have one reference less to match"
    assert result["copied_share"] > 0.3


def test_lists_say_where_to_look(human_parity):
    columns = corpus(12, 20)
    columns["prediction_embeddings"][7, 2] = 30.0
    columns["prediction_embeddings"][3, 4] = columns["prediction_embeddings"][3, 1]
    result = human_parity.compute(distances=as_distances(columns), n_candidates=5, details=True)
    assert (result["most_unlike_people"][0], result["most_alike"][0]) == ([7, 2], [3, 1, 4])
    assert result["conformal_p_value_per_candidate"][7][2] == pytest.approx(1 / 101)
    assert result["distance_per_candidate"][7][2] == max(max(row) for row in result["distance_per_candidate"])
    assert len(result["most_unlike_people"]) == 100


def test_clusters_of_one_row_each_are_close_to_rows(human_parity):
    columns = ready(14, 200, wrong=0.05)
    alone = human_parity.compute(**columns, confidence_level=0.95)
    grouped = human_parity.compute(**columns, confidence_level=0.95, clusters=list(range(200)))
    assert grouped["fidelity_gap_ci_low"] == alone["fidelity_gap_ci_low"]
    assert grouped["rows_to_detect"] == pytest.approx(alone["rows_to_detect"], rel=0.6)


def test_intervals_of_shares_at_their_ends_have_a_length(human_parity):
    """All of 20 rows wrong: the interval of 20 of 20, and of none of 20 for near-duplicates."""
    columns = corpus(16, 20)
    columns["prediction_embeddings"] = columns["prediction_embeddings"] * 10 + 100 * np.arange(5)[:, None]
    result = human_parity.compute(distances=as_distances(columns), n_candidates=5, confidence_level=0.95)
    least = 0.025 ** (1 / 20)
    assert (result["unlike_people_share"], result["near_duplicate_share"]) == (pytest.approx(1), 0)
    assert (result["unlike_people_share_ci_low"], result["unlike_people_share_ci_high"]) == (pytest.approx(least), 1)
    assert result["wrong_share_ci_low"] == pytest.approx((least - 0.05) / 0.95)
    ends = result["near_duplicate_share_ci_low"], result["near_duplicate_share_ci_high"]
    assert ends == (0, pytest.approx(1 - least))


def test_intervals_of_shares_stay_within_their_ranges(human_parity):
    """Three rows, whose Student's intervals are wide."""
    for seed in range(20):
        result = human_parity.compute(**ready(seed, 3, wrong=0.3), confidence_level=0.95, p_value="none")
        for share in ("unlike_people", "generic", "near_duplicate", "spread", "copied"):
            assert 0 <= result[f"{share}_share_ci_low"] <= result[f"{share}_share_ci_high"] <= 1
        assert 0 <= result["wrong_share_ci_low"] <= 1


def test_a_p_value_is_never_below_the_smallest_possible_one(human_parity):
    """Five rows of one caption and two references have 3^5 splits; chi-squared alone would say less."""
    assert smallest_parity_p_value({(5, 5): 1}) == pytest.approx(2 / 252)
    assert smallest_parity_p_value({(1, 4): 2, (2, 2): 1}) == pytest.approx(1 / 25 / 6)
    columns = corpus(17, 5, 1, 2, wrong=0.0)
    columns["prediction_embeddings"] = columns["prediction_embeddings"] + 100.0
    result = human_parity.compute(distances=as_distances(columns), n_candidates=1, details=True)
    assert result["human_parity_p_value"] == result["human_parity_smallest_p"] == pytest.approx(3.0**-5)
    many = human_parity.compute(**ready(18, 40, wrong=0.9), details=True)
    assert many["human_parity_p_value"] >= many["human_parity_smallest_p"] > 0


def test_too_few_rows_for_the_tails_are_said(human_parity):
    message = "tails are tested from 10 rows on, or 20 with two references, and there are 8"
    with pytest.warns(UserWarning, match=message):
        result = human_parity.compute(**ready(19, 8), details=True)
    assert math.isnan(result["tails_p_value"])
    assert result["human_parity_p_value"] == result["gaps_p_value"]


def test_equal_numbers_have_equal_p_values_whatever_their_type(human_parity):
    """Random splits depend on the content of a row."""
    columns = {name: values.astype(np.float32) for name, values in corpus(20, 6).items()}
    results = [
        human_parity.compute(**{name: values.astype(kind) for name, values in columns.items()}, p_value="permutation")
        for kind in ("<f4", ">f4", "<f8", ">f8", np.longdouble)
    ]
    assert all(result == results[0] for result in results)


def shares_no_order(first, second):
    """Distances that do not see the order of words."""
    sides = [[set(text.split()) for text in texts] for texts in (first, second)]
    return [1 - len(a & b) / len(a | b) for a, b in zip(*sides, strict=True)]


def drawn_sentence(rng):
    parts = (("a", "the", "one"), ("red", "small", "old"), ("cat", "dog", "man"), ("sits", "runs"), ("here", "outside"))
    return [str(rng.choice(words)) for words in parts]


def test_wording_that_distances_do_not_see_is_found_by_all_tests_together(human_parity):
    """Shuffled words: gaps, tails and wording have 0.76, 0.19 and 0.05 of the level; the rows needed are its own."""
    rng = np.random.default_rng(0)
    people = [[" ".join(drawn_sentence(rng)) for _ in range(4)] for _ in range(40)]
    shuffled = [[" ".join(rng.permutation(drawn_sentence(rng))) for _ in range(2)] for _ in range(40)]
    options = {"distance": shares_no_order, "confidence_level": 0.95}
    result = human_parity.compute(predictions=shuffled, references=people, **options)
    distances_p_value = min(result["gaps_p_value"] / 0.8, result["tails_p_value"] / 0.2)
    assert distances_p_value > 0.05
    assert result["human_parity_p_value"] == pytest.approx(result["wording_p_value"] / 0.05)
    assert result["human_parity_p_value"] < 1e-6
    z = scipy.stats.norm.isf(result["wording_p_value"] / 2)
    wanted = scipy.stats.norm.isf([0.05 * 0.05 / 2, 0.2]).sum()
    assert result["rows_to_detect"] == max(10, math.ceil(40 * wanted**2 / (z**2 - 1)))
    assert result["rows_to_detect_ci_low"] <= result["rows_to_detect"] <= result["rows_to_detect_ci_high"] < math.inf
    humans = [row[:2] for row in people]
    result = human_parity.compute(predictions=humans, references=[row[2:] for row in people], **options)
    tests = (("gaps_p_value", 0.76), ("tails_p_value", 0.19), ("wording_p_value", 0.05))
    assert result["human_parity_p_value"] == pytest.approx(min(1, *(result[key] / weight for key, weight in tests)))
