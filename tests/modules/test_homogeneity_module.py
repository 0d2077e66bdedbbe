"""The module homogeneity: other models, people, distances and messages."""

import math

import numpy as np
import pytest

import manycaps
from tests.modules.sample_inputs import CAPTION_ROWS
from tests.refusals import assert_refused

WORDS = "a the dog cat runs sleeps red kite men cook".split()


def answers(seed, n_rows=12, n=4):
    rng = np.random.default_rng(seed)
    return [[" ".join(rng.choice(WORDS, 4)) for _ in range(n)] for _ in range(n_rows)]


def compute(**given):
    return manycaps.load("homogeneity").compute(**given)


def test_a_model_that_repeats_itself_is_found():
    base, tuned = answers(0), [[row[0], row[0], row[0], row[1]] for row in answers(1)]
    result = compute(predictions=tuned, others={"base": base})
    assert result["homogeneity_p_value"] < 0.001
    assert result["diversity_p_value"] < 0.001
    assert result["diversity_difference"] < 0
    assert result["homogeneity"] < 1
    again = compute(predictions=answers(2), others={"base": base})
    assert again["homogeneity_p_value"] > 0.01
    assert again["homogeneity"] == pytest.approx(1, abs=0.1)


def test_people_alone_are_the_other_model():
    given = {"predictions": answers(0), "details": True}
    beside, named = compute(references=answers(1), **given), compute(others={"other": answers(1)}, **given)
    for key in ("homogeneity", "homogeneity_p_value", "energy_distance_per_row"):
        assert beside[key] == named[key]
    assert beside["within_distance_of_people"] == beside["distance_matrix"][1][1]
    assert "within_distance_of_people" not in named


def test_classes_by_a_judge_count_them():
    def same_animal(first, second):
        return ("dog" in first) == ("dog" in second)

    rows = [["a dog runs", "a dog", "two cats", "the dog"]] * 6
    others = {"cats": [["a cat", "cats", "a kite"]] * 6}
    result = compute(predictions=rows, others=others, distance="classes", equivalent=same_animal, details=True)
    assert result["within_distance"] + 1 == pytest.approx(1 + 0.5)  # three pairs of six differ
    assert result["distance_matrix"][1][1] == 0
    assert "equivalent:same_animal|classes:first" in result["signature"]


def test_embeddings_are_compared_by_their_cosines():
    def embed(texts):
        return np.array([[len(text), text.count("a"), 1.0] for text in texts])

    result = compute(predictions=answers(0), others={"b": answers(1)}, distance="bert", encoder=embed, details=True)
    first, second = answers(0), answers(1)
    unit = [embed(own) / np.linalg.norm(embed(own), axis=1, keepdims=True) for own in (first[0], second[0])]
    between = 1 - (unit[0] @ unit[1].T).mean()
    within = [1 - (own @ own.T)[np.triu_indices(4, 1)].mean() for own in unit]
    assert result["energy_distance_per_row"][0] == pytest.approx(2 * between - sum(within))


def test_copies_are_warned_of():
    rows = answers(0)
    with pytest.warns(UserWarning, match="more alike than two samples of one model"):
        result = compute(predictions=rows, others={"copy": rows})
    assert result["homogeneity"] > 1


def test_rows_and_models_are_checked():
    two, one = answers(0), [row[:1] for row in answers(1)]
    for message, given in (
        ("others: expected another model, or references, got neither.", {}),
        ("others[0]: expected at least two answers", {"others": {"others": one}}),
        (
            "clusters: expected one label for each of the 12 rows of captions, got 1.",
            {"others": {"b": answers(1)}, "clusters": [1]},
        ),
        ("others['b']: expected one row for each of the 12 rows", {"others": {"b": answers(1, 3)}}),
        ("equivalent: expected distance='classes' beside it", {"others": {"b": answers(1)}, "equivalent": 0.2}),
    ):
        assert_refused(ValueError, message, compute, predictions=two, **given)


def test_a_row_of_equal_answers_has_no_direction():
    result = compute(predictions=[["a dog", "a dog"]] * 5, others={"b": [["a cat", "a cat"]] * 5})
    assert result["homogeneity"] == 0
    assert math.isnan(result["diversity_p_value"])


def test_the_bundled_rows():
    result = compute(**CAPTION_ROWS, p_value="permutation", n_resamples=199)
    assert 0 < result["homogeneity_p_value"] <= 1
