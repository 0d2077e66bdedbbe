"""Words for a result of human parity: what each needs, its sentence, and how often it is false of simulated rows."""

import math

import numpy as np
import pytest

from manycaps.kit.parity_tails import corpus_tails, words_of
from manycaps.kit.parity_tests import parity_result, row_columns
from tests.refusals import assert_refused, reads
from tests.simulated_people import drawn_distances, kept_distances

# What people give.
PEOPLE = {"unlike_people": 0.05, "ordinary": 0.05, "near_duplicate": 0.05, "spread": 0.05, "copied": 0.02}


# Both gaps, each with its p-value: neither significant, and that of the candidates being nearer to the references.
UNCLEAR, IS_NEARER = (-0.03, 0.2, math.nan, math.nan), (-0.03, 0.01, 0.0, 0.4)


def result_with(p_value=0.01, half=0.03, gaps=UNCLEAR, of_gaps=0.01, **shares):
    """A result whose shares are people's but for those given, with intervals of this half-width.

    `gaps` are both gaps, each with its p-value, without intervals, and `of_gaps` is the p-value of both.
    """
    result = {"human_parity_p_value": p_value, "tails_p_value": p_value, "gaps_p_value": of_gaps, "n_rows": 60}
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
    ({"unlike_people": 0.2}, "20 % [17, 23] .* farther from the references .* (people 5 %): at least 12 %"),
    ({"unlike_people": 0.0851}, "9 % [5, 12] .* farther from the references .* (people 5 %).$"),
    ({"near_duplicate": 0.36}, "36 % [33, 39] .* near-duplicates (people 5 %).$"),
    ({"ordinary": 0.32}, "Blander .*: 32 % [29, 35] are nearer to the references .* (people 5 %).$"),
    ({"spread": 0.18}, "Its captions vary more .*: 18 % [15, 21] .* (people 5 %).$"),
    ({"gaps": IS_NEARER}, "Distinguished .* (p = 0.01): nearer to the references .* (fidelity gap -0.03).$"),
    ({"p_value": 1e-9, "gaps": IS_NEARER}, "Distinguished .* (p < 0.0001): nearer"),
    (
        {"gaps": (0.031, 0.01, -0.2, 0.02)},
        ".*: farther .* (fidelity gap 0.031) and less varied .* (diversity gap -0.2)",
    ),
    ({"gaps": (0.031, 0.2, 0.1, 0.02)}, "Distinguished .*: more varied than people (diversity gap 0.1).$"),
    ({"gaps": UNCLEAR}, "Distinguished .*: neither gap by itself, but together nearer .* (fidelity gap -0.03).$"),
    (
        {"gaps": (-0.03, 0.2, 0.01, 0.3), "of_gaps": 0.2, "near_duplicate": 0.078},
        "Distinguished .*: most by near-duplicates (8 % [4, 11], people 5 %).$",
    ),
    ({"p_value": 0.2, "half": 0.019}, "Cannot be distinguished .*; at most 7 % are farther"),
    ({"p_value": 0.2, "half": math.nan}, "Cannot be distinguished from human captions.$"),
    ({"p_value": math.nan, "near_duplicate": 1.0}, "Not tested: "),
]


@pytest.mark.parametrize(("given", "expected"), SENTENCES)
def test_a_result_has_this_sentence_alone(given, expected):
    [sentence] = sentences(result_with(**given))
    assert reads(sentence, expected), sentence


def test_copies_are_said_with_the_direction():
    copies, direction = sentences(result_with(copied=0.4, gaps=IS_NEARER))
    assert reads(copies, "40 % [37, 43] .* among the references .* (people 1 %)"), copies
    assert reads(direction, "Distinguished .* (p = 0.01): nearer"), direction


def test_nearer_or_farther_is_said_unless_a_share_says_it():
    farther = (0.03, 0.01, 0.0, 0.4)
    for shares, names in (
        ({"near_duplicate": 0.5}, ["near-duplicates", "different"]),
        ({"unlike_people": 0.5}, ["unlike"]),
        ({"ordinary": 0.5}, ["ordinary"]),
    ):
        words = words_of(result_with(gaps=farther, **shares))
        assert [word.name for word in words] == names
        assert ("farther from the references than people" in words[-1].sentence) == ("different" in names)


def test_wording_has_words_of_its_own():
    wording = {"odd_wording_share": 0.12, "odd_wording_share_ci_low": 0.09, "odd_wording_share_ci_high": 0.16}
    wording |= {"formulaic_share": 0.3, "formulaic_share_ci_low": 0.2, "formulaic_share_ci_high": 0.4}
    odd, formulaic = sentences(result_with() | wording)
    assert reads(odd, "12 % [9, 16] .* less predictable .* (people 5 %).$"), odd
    assert reads(formulaic, "30 % [20, 40] .* more predictable .* (people 5 %).$"), formulaic
    [sentence] = sentences(result_with() | {"wording_gap": 0.3, "wording_p_value": 0.001})
    assert reads(sentence, "Distinguished .*: more predictable in wording than people (wording gap 0.3).$"), sentence


def test_few_rows_are_said():
    """No p-value below 0.001 under 50 rows, and that the tails were not tested."""
    few = result_with(1e-9, gaps=IS_NEARER) | {"n_rows": 49}
    assert reads(*sentences(few), "Distinguished .* (p < 0.001): nearer")
    untested = result_with(0.3) | {"tails_p_value": math.nan}
    assert sentences(untested)[0].endswith("than 19 of 20 human ones; too few rows to test the shares.")


def test_a_word_needs_the_interval_above_what_people_give_and_the_p_value():
    for result, name in (
        (result_with(near_duplicate=0.081), "near-duplicates"),
        (result_with(near_duplicate=0.079), "different"),
        (result_with(near_duplicate=0.0, ordinary=0.0), "different"),
        (result_with(0.051, near_duplicate=0.5), "alike"),
        # Wrong captions are not called varied, and single candidates have no pairs.
        (result_with(unlike_people=0.5, spread=0.5), "unlike"),
        (result_with(ordinary=0.5, near_duplicate=math.nan, spread=math.nan), "ordinary"),
    ):
        assert [word.name for word in words_of(result)] == [name]
    # Copies are near to the references, but are not bland: only what is ordinary beside them is.
    for copied, ordinary, names in ((0.5, 0.5, ["copies", "different"]), (0.1, 0.5, ["copies", "ordinary"])):
        assert [word.name for word in words_of(result_with(copied=copied, ordinary=ordinary))] == names
    assert [word.name for word in words_of(result_with(near_duplicate=0.5), 0.051)] == ["alike"]


def test_a_result_without_p_value_or_intervals_is_refused():
    for key in ("human_parity_p_value", "unlike_people_share_ci_low"):
        result = result_with()
        del result[key]
        message = f".*expected the key '{key}', got none. Compute it with p_value other than"
        assert_refused(ValueError, message, words_of, result)


def said(rng, damage, n_rows=100, m=4, n=4):
    """Names of the words for one simulated corpus: points in four dimensions, candidates damaged."""
    distances = drawn_distances(rng, n_rows, m, n, damage)
    options = {"p_value": "chi-squared", "confidence_level": 0.95, "clusters": None}
    tails = corpus_tails(kept_distances((distances, m)), 0.95, None)
    return {word.name for word in words_of(parity_result(row_columns(distances, m), tails, options))}


def repeated(_, candidates):
    return np.where(np.arange(candidates.shape[1])[:, None] < 2, candidates, candidates[:, :1])


def wrong(rng, candidates):
    return candidates + 4 * rng.normal(size=candidates.shape) * (rng.random(candidates.shape[:2]) < 0.4)[..., None]


def bland(_, candidates):
    return 0.15 * candidates


@pytest.mark.parametrize(
    ("damage", "deserved"),
    [
        (lambda _, candidates: candidates, {"alike", "different"}),
        (repeated, {"near-duplicates"}),
        (wrong, {"unlike"}),
        (bland, {"ordinary", "near-duplicates"}),
    ],
)
def test_no_word_is_false_in_more_than_its_share_of_corpora(damage, deserved):
    """100 corpora: a word with a rate of 5 % is counted 13 times or more once in 1,000."""
    rng = np.random.default_rng(0)
    corpora = [said(rng, damage) for _ in range(100)]
    for name in {"unlike", "copies", "ordinary", "near-duplicates", "spread"} - deserved:
        assert sum(name in words for words in corpora) <= 12, name
    if deserved.isdisjoint({"alike"}):
        assert sum(deserved <= words for words in corpora) > 80
