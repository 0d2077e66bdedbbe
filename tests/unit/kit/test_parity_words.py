"""The words of a result of human parity: what each needs, and how often one is false."""

import math

import numpy as np
import pytest

from manycaps.functional import human_tails
from manycaps.kit.parity_corpus import parity_result, row_columns
from manycaps.kit.parity_tails import corpus_tails
from manycaps.kit.parity_words import words_of
from tests.refusals import assert_refused, reads
from tests.simulated_people import distances_of, drawn_distances, kept_distances

# Words for a result of human parity: what each needs, its sentence, and how often it is false of simulated rows.

# What people give.
PEOPLE = {"unlike_people": 0.05, "generic": 0.05, "near_duplicate": 0.05, "spread": 0.05, "copied": 0.02}


# Both gaps, each with its p-value: neither significant, and candidates significantly nearer to the references.
UNCLEAR, IS_NEARER = (-0.03, 0.2, math.nan, math.nan), (-0.03, 0.01, 0.0, 0.4)


def result_with(p_value=0.01, half=0.03, gaps=UNCLEAR, gaps_p_value=0.01, **shares):
    """A result whose shares are people's but for those given, with intervals of this half-width.

    `gaps` are both gaps, each with its p-value, without intervals, and `gaps_p_value` is the p-value of both.
    """
    result = {"human_parity_p_value": p_value, "tails_p_value": p_value, "gaps_p_value": gaps_p_value, "n_rows": 60}
    names = ("fidelity_gap", "fidelity_gap_p_value", "diversity_gap", "diversity_gap_p_value")
    result |= dict(zip(names, gaps, strict=True))
    result |= {"copied_share_of_people": 0.01, "copied_share_expected": 0.02}
    for name, people in PEOPLE.items():
        value = shares.get(name, people)
        ends = {
            "": value,
            "_ci_low": float(np.maximum(0, value - half)),
            "_ci_high": float(np.minimum(1, value + half)),
        }
        result |= {f"{name}_share{end}": number for end, number in ends.items()}
    result["wrong_share_ci_low"] = max(0.0, (result["unlike_people_share_ci_low"] - 0.05) / 0.95)
    return result


def sentences(result):
    return [word.sentence for word in words_of(result)]


# What differs from people, and the only sentence of the result.
SENTENCES = [
    ({"unlike_people": 0.2}, "20% [17, 23] .* farther from the references .* (people 5%).$"),
    ({"unlike_people": 0.0851}, "9% [5, 12] .* farther from the references .* (people 5%).$"),
    ({"near_duplicate": 0.36}, "36% [33, 39] .* near-duplicates (people 5%).$"),
    ({"generic": 0.32}, "Blander .*: 32% [29, 35] are nearer to the references .* (people 5%).$"),
    ({"spread": 0.18}, "Its captions vary more .*: 18% [15, 21] .* (people 5%).$"),
    ({"gaps": IS_NEARER}, "Distinguished .* (p = 0.01): nearer to the references .* (fidelity gap -0.03).$"),
    ({"p_value": 1e-9, "gaps": IS_NEARER}, "Distinguished .* (p < 0.0001): nearer"),
    (
        {"gaps": (0.031, 0.01, -0.2, 0.02)},
        ".*: farther .* (fidelity gap 0.031) and less varied .* (diversity gap -0.2)",
    ),
    ({"gaps": (0.031, 0.2, 0.1, 0.02)}, "Distinguished .*: more varied than people (diversity gap 0.1).$"),
    ({"gaps": UNCLEAR}, "Distinguished .* (p = 0.01): nearer .* (fidelity gap -0.03).$"),
    (
        {"gaps": (-0.03, 0.2, 0.01, 0.3)},
        "Distinguished .*: neither gap by itself, but together nearer .* and more varied .* (diversity gap 0.01).$",
    ),
    (
        {"gaps": (-0.03, 0.2, 0.01, 0.3), "gaps_p_value": 0.2, "near_duplicate": 0.078},
        "Distinguished .*: most by near-duplicates (8% [4, 11], people 5%).$",
    ),
    ({"p_value": 0.2, "half": 0.019}, "Cannot be distinguished .*; at most 7% are farther"),
    ({"p_value": 0.2, "half": math.nan}, "Cannot be distinguished from human captions.$"),
    ({"p_value": math.nan, "near_duplicate": 1.0}, "Not tested: "),
]


@pytest.mark.parametrize(("given", "expected"), SENTENCES)
def test_a_result_has_this_sentence_alone(given, expected):
    [sentence] = sentences(result_with(**given))
    assert reads(sentence, expected), sentence


def gap_interval(name, low, high):
    return {f"{name}_ci_low": low, f"{name}_ci_high": high}


def test_a_gap_is_named_whose_interval_leaves_0_out_as_far_as_any_does():
    """Under splits of wrong captions a diversity gap is often significant, although they are as varied as people's."""
    result = result_with(gaps=(0.2, 0.001, -0.07, 0.01))
    for fidelity, diversity, named in (
        ((0.1, 0.3), (-0.2, 0.06), ["fidelity gap 0.2 [0.1, 0.3]"]),
        ((0.1, 0.3), (-0.1, -0.01), ["fidelity gap", "diversity gap"]),
        ((-0.1, 0.5), (-0.2, 0.06), ["fidelity gap", "diversity gap"]),
    ):
        ends = gap_interval("fidelity_gap", *fidelity) | gap_interval("diversity_gap", *diversity)
        [sentence] = sentences(result | ends)
        assert sentence.count(" gap ") == len(named), sentence
        assert all(name in sentence for name in named)
        assert "neither" not in sentence
    duplicates = result_with(gaps=(0.2, 0.001, -0.07, 0.01), near_duplicate=0.5)
    for low, names in ((-0.1, ["near-duplicates"]), (0.1, ["near-duplicates", "different"])):
        words = words_of(duplicates | gap_interval("fidelity_gap", low, 0.5))
        assert [word.name for word in words] == names


def test_both_gaps_together_do_not_name_the_wording_which_has_a_test_of_its_own():
    wording = {"wording_gap": 0.3, "wording_p_value": 0.4, **gap_interval("wording_gap", -0.1, 0.7)}
    [sentence] = sentences(result_with(gaps=(-0.03, 0.2, 0.01, 0.3)) | wording)
    assert "neither gap by itself" in sentence
    assert "wording" not in sentence


def test_copies_are_said_with_the_direction():
    copies, direction = sentences(result_with(copied=0.4, gaps=IS_NEARER))
    assert reads(copies, "40% [37, 43] .* among the references .* (people 1%)"), copies
    assert reads(direction, "Distinguished .* (p = 0.01): nearer"), direction


def test_nearer_or_farther_is_said_unless_a_share_says_it():
    farther = (0.03, 0.01, 0.0, 0.4)
    for shares, names in (
        ({"near_duplicate": 0.5}, ["near-duplicates", "different"]),
        ({"unlike_people": 0.5}, ["unlike"]),
        ({"generic": 0.5}, ["generic"]),
    ):
        words = words_of(result_with(gaps=farther, **shares))
        assert [word.name for word in words] == names
        assert ("farther from the references than people" in words[-1].sentence) == ("different" in names)


def test_wording_has_words_of_its_own():
    wording = {"odd_wording_share": 0.12, "odd_wording_share_ci_low": 0.09, "odd_wording_share_ci_high": 0.16}
    wording |= {"predictable_share": 0.3, "predictable_share_ci_low": 0.2, "predictable_share_ci_high": 0.4}
    odd, predictable = sentences(result_with() | wording)
    assert reads(odd, "12% [9, 16] .* less predictable .* (people 5%).$"), odd
    assert reads(predictable, "30% [20, 40] .* more predictable .* (people 5%).$"), predictable
    [sentence] = sentences(result_with() | {"wording_gap": 0.3, "wording_p_value": 0.001})
    assert reads(sentence, "Distinguished .*: more predictable in wording than people (wording gap 0.3).$"), sentence


def test_few_rows_are_said():
    """No p-value below 0.001 under 50 rows, and that the tails were not tested."""
    few = result_with(1e-9, gaps=IS_NEARER) | {"n_rows": 49}
    assert reads(*sentences(few), "Distinguished .* (p < 0.001): nearer")
    untested = result_with(0.3) | {"tails_p_value": math.nan}
    assert sentences(untested)[0].endswith("than 19 of 20 human ones; too few rows to test the shares.")


@pytest.mark.parametrize(
    ("shares", "names"),
    [
        ({"near_duplicate": 0.081}, ["near-duplicates"]),
        ({"near_duplicate": 0.079}, ["different"]),
        ({"near_duplicate": 0.0, "generic": 0.0}, ["different"]),
        ({"p_value": 0.051, "near_duplicate": 0.5}, ["alike"]),
        # Wrong captions are not called varied, and single candidates have no pairs.
        ({"unlike_people": 0.5, "spread": 0.5}, ["unlike"]),
        ({"generic": 0.5, "near_duplicate": math.nan, "spread": math.nan}, ["generic"]),
        # Copies are near to the references, but are not bland: only what is generic beside them is.
        ({"copied": 0.5, "generic": 0.5}, ["copies", "different"]),
        ({"copied": 0.1, "generic": 0.5}, ["copies", "generic"]),
    ],
)
def test_a_word_needs_the_interval_above_what_people_give(shares, names):
    assert [word.name for word in words_of(result_with(**shares))] == names


@pytest.mark.parametrize("phrases", [[], None, [{"p_value": 0.04}], [{"p_value": 0.001}]])
def test_phrases_that_differ_are_said_beside_a_joint_test_that_finds_nothing(phrases):
    """Of a result with details, whose list of phrases may be empty or missing; so that of people 5% is said in all."""
    is_clear = phrases == [{"p_value": 0.001}]
    [sentence] = sentences(result_with(0.2) | ({} if phrases is None else {"phrases": phrases}))
    start = "The joint test finds no difference from human captions; at most" if is_clear else "Cannot be distinguished"
    assert sentence.startswith(start)
    assert sentence.endswith("Single phrases differ.") == is_clear
    assert [word.name for word in words_of(result_with(0.01) | {"phrases": phrases})] == ["different"]


def test_a_word_needs_the_p_value_of_its_test():
    assert [word.name for word in words_of(result_with(near_duplicate=0.5), 0.051)] == ["alike"]


@pytest.mark.parametrize("key", ["human_parity_p_value", "unlike_people_share_ci_low"])
def test_a_result_without_p_value_or_intervals_is_refused(key):
    result = result_with()
    del result[key]
    message = f".*expected the key '{key}', got none. Compute it with p_value other than"
    assert_refused(ValueError, message, words_of, result)
    message = "result: expected the dict that compute returns, got None. Compute it first.$"
    assert_refused(TypeError, message, words_of, None)


def word_names(rng, damage, n_rows=100, m=4, n=4):
    """Names of the words for one simulated corpus: points in four dimensions, candidates damaged."""
    distances = drawn_distances(rng, n_rows, m, n, damage)
    options = {"p_value": "chi-squared", "confidence_level": 0.95, "clusters": None}
    tails = corpus_tails(kept_distances((distances, m)), 0.95, None)
    return {word.name for word in words_of(parity_result(row_columns(distances, m), tails, options))}


def repeat_first(_, candidates):
    return np.where(np.arange(candidates.shape[1])[:, None] < 2, candidates, candidates[:, :1])


def least_central(rng, candidates):
    """People's captions, the least central of 20: seldom said, and not wrong."""
    people = rng.normal(size=(len(candidates), 20, candidates.shape[2]))
    order = np.argsort(-distances_of(people).sum(axis=2), axis=1)[:, : candidates.shape[1]]
    return np.take_along_axis(people, order[..., None], axis=1)


def wrong_of_words(rng, candidates):
    return candidates + 4 * rng.normal(size=candidates.shape) * (rng.random(candidates.shape[:2]) < 0.4)[..., None]


def bland(_, candidates):
    return 0.15 * candidates


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "deserved"),
    [
        (lambda _, candidates: candidates, {"alike", "different"}),
        (repeat_first, {"near-duplicates"}),
        (wrong_of_words, {"unlike"}),
        (bland, {"generic", "near-duplicates"}),
        (least_central, {"unlike"}),
    ],
)
def test_no_word_is_false_in_more_than_its_share_of_corpora(damage, deserved):
    """100 corpora: a word with a rate of 5% is counted 13 times or more once in 1,000."""
    rng = np.random.default_rng(0)
    corpora = [word_names(rng, damage) for _ in range(100)]
    for name in {"unlike", "copies", "generic", "near-duplicates", "spread"} - deserved:
        assert sum(name in words for words in corpora) <= 12, name
    if deserved.isdisjoint({"alike"}):
        assert sum(deserved <= words for words in corpora) > 80


@pytest.mark.slow
@pytest.mark.parametrize("damage", [least_central, wrong_of_words])
def test_what_is_said_of_captions_far_from_the_references_is_true_of_people_as_well(damage):
    """The least central captions of people are all what people write: only how many are far is said, with an interval.

    100 corpora: an interval that misses in 5% misses 13 times or more once in 1,000.
    """
    rng, options = np.random.default_rng(3), {"p_value": "chi-squared", "confidence_level": 0.95, "clusters": None}
    true = human_tails(drawn_distances(rng, 20_000, 4, 4, damage), 4).unlike_people_share
    n_said, n_false = 0, 0
    for _ in range(100):
        distances = drawn_distances(rng, 100, 4, 4, damage)
        tails = corpus_tails(kept_distances((distances, 4)), 0.95, None)
        result = parity_result(row_columns(distances, 4), tails, options)
        said = {word.name: word.sentence for word in words_of(result)}
        if "unlike" in said:
            n_said += 1
            assert reads(said["unlike"], ".* are farther from the references than 19 of 20 human ones (people 5%).$")
        n_false += not result["unlike_people_share_ci_low"] <= true <= result["unlike_people_share_ci_high"]
    assert n_said > 50
    assert n_false <= 12
