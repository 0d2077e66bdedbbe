"""Words for a result of human parity: what each needs, its sentence, and how often it is false of simulated rows."""

import math

import numpy as np
import pytest

from manycaps.kit.sets_parity import parity_result, row_columns
from manycaps.kit.sets_parity_words import WIDENED, words_of
from tests.each_case import each_case

# What people give, with five references.
PEOPLE = {"unlike_people": 0.0, "central": 1 / 6, "repeat": 0.1, "spread": 0.1, "copied": 0.02}


def result_with(p_value=0.01, half=0.03, **shares):
    """A result whose shares are people's but for those given, with intervals of this half-width."""
    result = {"human_parity_p_value": p_value}
    for name, people in PEOPLE.items():
        value = shares.get(name, people)
        ends = {"": value, "_ci_low": value - half, "_ci_high": value + half, "_of_people": people}
        result |= {f"{name}_share{end}": number for end, number in ends.items()}
    del result["unlike_people_share_of_people"]
    return result


def sentences(result):
    return [word.sentence for word in words_of(result)]


@each_case(
    ("given", "expected"),
    [
        ({"unlike_people": 0.17}, "At least 14 % of its captions are not what people write (17 % [14, 20] stand out)."),
        ({"unlike_people": 0.0353}, "At least 0.5 % of its captions are not what people write (4 % [1, 7] stand out)."),
        ({"repeat": 0.36}, "36 % of its caption pairs are near repeats (people 10 %)."),
        ({"central": 0.32}, "Blander than people: 32 % are the most ordinary caption (people 17 %)."),
        (
            {"spread": 0.18},
            "Its captions lie farther apart than people's: 18 % of the pairs are among the farthest (people 10 %).",
        ),
        (
            {"copied": 0.4},
            "40 % of its captions stand word for word among the references (people 2 %): copied, or the most ordinary "
            "ones.",
        ),
        ({}, "Told from people (p = 0.01); no share says by what."),
        ({"p_value": 1e-9}, "Told from people (p < 0.001); no share says by what."),
        (
            {"p_value": 0.2, "half": 0.019},
            "Cannot be told from people; at most 2 % of its captions stand out from theirs (95 %).",
        ),
        (
            {"p_value": 0.2, "unlike_people": -0.1},
            "Cannot be told from people; at most 0 % of its captions stand out from theirs (95 %).",
        ),
        ({"p_value": 0.2, "half": math.nan}, "Cannot be told from people."),
        (
            {"p_value": math.nan, "repeat": 1.0},
            "Not tested: all captions of a row are equally far apart, or rows are too few.",
        ),
    ],
)
def test_a_result_has_this_sentence_alone(given, expected):
    assert sentences(result_with(**given)) == [expected]


def test_a_word_needs_the_interval_above_what_people_give():
    assert [word.name for word in words_of(result_with(repeat=0.131))] == ["repeats"]
    assert [word.name for word in words_of(result_with(repeat=0.129))] == ["told"]
    assert [word.name for word in words_of(result_with(repeat=0.0, central=0.0, unlike_people=-0.2))] == ["told"]


def test_without_the_joint_test_a_word_needs_a_wider_interval():
    wide = 0.1 + 0.03 * WIDENED
    assert [word.name for word in words_of(result_with(0.2, repeat=wide - 0.001))] == ["alike"]
    words = words_of(result_with(0.2, repeat=wide + 0.001))
    assert [word.name for word in words] == ["undecided", "repeats"]
    assert words[0].sentence == "The joint test does not tell it from people (p = 0.20)."


def test_copies_are_not_called_bland_and_wrong_captions_not_varied():
    assert [word.name for word in words_of(result_with(copied=0.5, central=0.5))] == ["copies"]
    assert [word.name for word in words_of(result_with(unlike_people=0.5, spread=0.5))] == ["unlike"]


def test_pairs_are_left_out_of_single_candidates():
    result = result_with(central=0.5, repeat=math.nan, spread=math.nan)
    assert [word.name for word in words_of(result)] == ["bland"]


@each_case("key", ["human_parity_p_value", "unlike_people_share_ci_low"])
def test_a_result_without_p_value_or_intervals_is_refused(key):
    result = result_with()
    del result[key]
    with pytest.raises(ValueError, match=f"expected the key '{key}', got none. Compute it with p_value other than"):
        words_of(result)


def said(rng, damage, n_rows=20, m=4, n=4):
    """Names of the words for one simulated corpus: points in four dimensions, candidates damaged."""
    texts = rng.normal(size=(n_rows, m + n, 4))
    texts[:, :m] = damage(rng, texts[:, :m])
    distances = np.linalg.norm(texts[:, :, None] - texts[:, None], axis=-1)
    options = {"p_value": "chi-squared", "confidence_level": 0.95, "clusters": None}
    return {word.name for word in words_of(parity_result(row_columns(distances, m), options))}


def repeated(_, candidates):
    return np.where(np.arange(candidates.shape[1])[:, None] < 2, candidates, candidates[:, :1])


def wrong(rng, candidates):
    return candidates + 4 * rng.normal(size=candidates.shape) * (rng.random(candidates.shape[:2]) < 0.4)[..., None]


def bland(_, candidates):
    return 0.3 * candidates


@each_case(
    ("damage", "deserved"),
    [
        (lambda _, candidates: candidates, {"alike", "told", "undecided"}),
        (repeated, {"repeats"}),
        (wrong, {"unlike"}),
        (bland, {"bland", "repeats"}),
    ],
)
def test_no_word_is_false_in_more_than_its_share_of_corpora(damage, deserved):
    """100 corpora: a word with a rate of 5 % is counted 13 times or more once in 1,000."""
    rng = np.random.default_rng(0)
    corpora = [said(rng, damage) for _ in range(100)]
    for name in {"unlike", "copies", "bland", "repeats", "apart"} - deserved:
        assert sum(name in words for words in corpora) <= 12, name
    if deserved.isdisjoint({"alike"}):
        assert sum(deserved <= words for words in corpora) >= 90
