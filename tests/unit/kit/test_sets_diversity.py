"""Options and values of set_diversity: quality, classes by a distance or a function, pairwise distance."""

import math

import numpy as np
import pytest

import manycaps
from manycaps.functional import utility_k
from manycaps.kit.sets_diversity import MOST_CAPTIONS, check_set_sizes, pairwise_distance
from tests.oracles.answers_by_enumeration import answers, answers_in_order
from tests.refusals import assert_refused


def equality(classes):
    return np.equal.outer(list(classes), list(classes))


@pytest.mark.parametrize(
    ("quality", "message"),
    [
        ([[1, 2]], r"quality: expected one list of numbers for each of the 2 rows of texts, got 1"),
        ([[1, 2], [1, 2, 3]], r"quality\[0\]: expected 4 numbers, one for each text, got shape \(2,\)"),
        ([[1, 2, 3, -1], [1, 2, 3]], r"quality\[0\]\[3\]: expected a finite number of at least 0, got -1.0"),
        ([[1, 2, 3, 4], [1, math.nan, 3]], r"quality\[1\]\[1\]: expected a finite number of at least 0, got nan"),
        ([["9", 2, 3, 4], [1, 2, 3]], r"quality\[0\]: expected numbers of at least 0, one for each text, got list"),
        ("good", "quality: expected n_rows lists of numbers of at least 0, one for each text, got 'good'"),
        ({0: [1]}, "quality: expected n_rows lists of numbers of at least 0, one for each text, got {0"),
        (3, "quality: expected n_rows lists of numbers of at least 0, one for each text, got int"),
    ],
)
def test_a_quality_that_does_not_fit_the_candidates_is_refused(quality, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compute(equivalent=0.1, quality=quality)


@pytest.mark.parametrize("order", ["any", "given"])
def test_quality_adds_a_value_of_the_candidates(order):
    quality = np.array([[4, 3, 2, 1], [1, 2, 3, 0]], float)
    quality = [quality[0], quality[1][:3]]
    plain, result = (compute(equivalent=0.1, answer_order=order, **own) for own in ({}, {"quality": quality}))
    rows = zip(("aaab", "aaa"), quality, strict=True)
    utility = utility_k([equality("aaab"), equality("aaa")], 2, quality, order)
    assert result["quality_utility_k_per_row"] == utility.tolist()
    if order == "given":
        assert utility == pytest.approx([answers_in_order(classes[:2], worth[:2])[1] for classes, worth in rows])
    assert {name for name in result if name not in plain} == {"quality_utility_k", "quality_utility_k_per_row"}
    assert all(repr(result[name]) == repr(plain[name]) for name in plain if name != "signature")


TEXTS = {"a dog": (1.0, 0.0), "a hound": (0.96, 0.28), "a puppy": (0.8, 0.6), "a cat": (0.0, 1.0)}


PREDICTIONS = [["a dog", "a hound", "a puppy", "a cat"], ["a cat", "a cat", "a cat"]]


REFERENCES = [["a dog", "a cat"], ["a cat", "a hound", "a dog"]]


def embed(texts):
    return np.array([TEXTS[text] for text in texts])


def compute(**options):
    module = manycaps.load("set_diversity", kernels=(), details=True)
    if isinstance(options.get("equivalent"), float):
        options["encoder"] = embed
    return module.compute(predictions=PREDICTIONS, references=REFERENCES, **options)


def test_classes_by_a_distance_are_chains_of_near_texts():
    # Distances: dog and hound 0.04, hound and puppy 0.06, dog and puppy 0.2.
    result = compute(equivalent=0.1)
    assert result["k"] == 2
    assert result["distinct_k_per_row"] == pytest.approx([answers("aaab", 2)[0], 1.0])
    assert result["distinct_k_references_per_row"] == pytest.approx([2.0, answers("abb", 2)[0]])
    assert result["utility_k_difference"] == pytest.approx(
        np.mean([answers("aaab", 2)[1] - 1, answers("aaa", 2)[1] - answers("abb", 2)[1]])
    )
    assert "|equivalent:0.1|encoder:embed|" in result["signature"]


def test_a_function_is_asked_once_about_every_two_different_texts():
    asked = []

    def same_animal(first, second):
        asked.append((first, second))
        return "cat" not in (first + second)

    result = compute(equivalent=same_animal, k=1)
    assert (result["distinct_k"], result["utility_k"]) == (1.0, 1.0)
    assert len(asked) == 6 + 0 + 1 + 3
    assert all(first < second for first, second in asked)
    assert compute(equivalent=same_animal)["distinct_k_per_row"] == compute(equivalent=0.1)["distinct_k_per_row"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"equivalent": 2}, "equivalent: expected a cosine distance from 0 to below 2, got 2"),
        ({"equivalent": "meteor"}, "equivalent: expected a number, got str"),
        ({"equivalent": lambda first, second: 0.5}, "equivalent: expected True or False of two texts, got 0.5"),
        ({"equivalent": 0.1, "k": 3}, r"references\[0\]: expected at least k=3 texts, got 2"),
        ({"k": 2}, "k: expected equivalent=0.3 beside it, got equivalent=None"),
        ({"quality": [[1], [2]]}, "quality: expected equivalent=0.3 beside it, got equivalent=None"),
        ({"equivalent": 0.1, "answer_order": "all"}, "answer_order: expected one of 'any', 'given', got 'all'"),
    ],
)
def test_refuses(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compute(**options)


# Diversity of sets: the largest one, and pairwise distances by hand.


def test_a_set_that_is_too_large_is_named():
    message = "references[1]: expected at most 2,000 captions in a set, got 2,001 "
    assert_refused(ValueError, message, check_set_sizes, [(1,), (MOST_CAPTIONS + 1,)], ["references"])


def test_pairwise_distance():
    for vectors, expected in (
        ([[1.0, 0.0]] * 3, 0.0),
        ([[1.0, 0.0], [-1.0, 0.0]], 2.0),
        ([[1.0, 0.0], [0.0, 1.0]], 1.0),
        ([[1.0]], math.nan),
    ):
        assert pairwise_distance(np.array(vectors)) == pytest.approx(expected, nan_ok=True)
    # The rounding of equal vectors is no distance.
    vector = np.random.default_rng(0).normal(size=384)
    vector /= np.linalg.norm(vector)
    assert pairwise_distance(np.array([vector] * 7)) == 0.0
    near = np.array([[math.cos(angle), math.sin(angle)] for angle in (0.0, 1e-5)])
    assert pairwise_distance(near) == pytest.approx(5e-11, rel=1e-4)
