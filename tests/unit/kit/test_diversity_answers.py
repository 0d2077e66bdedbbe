"""Different answers: equal to the enumeration, NoveltyBench's properties, thresholds and functions."""

import collections

import numpy as np
import pytest

import manycaps
from manycaps.kit.diversity_sets import answer_values
from tests.oracles.answers_by_enumeration import answers


@pytest.mark.parametrize("classes", ["a", "aa", "ab", "aab", "aabbc", "abcdef", "aaaaab"])
def test_means_are_those_of_the_enumeration(classes):
    for k in range(1, len(classes) + 1):
        sizes = list(collections.Counter(classes).values())
        assert answer_values(sizes, k) == pytest.approx(answers(classes, k), abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_properties_of_noveltybench(k):
    weights = [0.8**i for i in range(k)]
    assert answer_values([12], k) == pytest.approx((1, 1 / sum(weights)), abs=1e-12)  # identical
    assert answer_values([1] * 12, k) == pytest.approx((k, 1), abs=1e-12)  # all different


TEXTS = {"a dog": (1.0, 0.0), "a hound": (0.96, 0.28), "a puppy": (0.8, 0.6), "a cat": (0.0, 1.0)}
PREDICTIONS = [["a dog", "a hound", "a puppy", "a cat"], ["a cat", "a cat", "a cat"]]
REFERENCES = [["a dog", "a cat"], ["a cat", "a hound", "a dog"]]


def embedded(texts):
    return np.array([TEXTS[text] for text in texts])


def compute(**options):
    module = manycaps.load("set_diversity", kernels=(), encoder=embedded, details=True)
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
    assert "|equivalent:0.1|encoder:embedded" in result["signature"]


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
        ({"k": 2}, "k: expected equivalent beside it, got none"),
    ],
)
def test_refuses(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compute(**options)
