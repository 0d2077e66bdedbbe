"""Distances of texts by functions; those by metrics of evaluate: tests/modules/test_trm_modules.py."""

import types

from manycaps.kit.vector_rows import evaluate_distance, text_distances
from tests.refusals import assert_refused


def test_each_pair_is_asked_for_once_and_equal_texts_never():
    seen = []

    def distance(first, second):
        seen.extend(zip(first, second, strict=True))
        return [len(x) - len(y) for x, y in zip(first, second, strict=True)]

    rows = [["a", "bcd", "a"], ["bcd", "a"]]
    found = text_distances(rows, distance)
    assert seen == [("a", "bcd"), ("bcd", "a")]
    assert found[0].tolist() == [[0, -2, 0], [2, 0, 2], [0, -2, 0]]
    assert found[1].tolist() == [[0, 2], [-2, 0]]
    assert text_distances([["a", "a"]], None)[0].tolist() == [[0, 0], [0, 0]]


def test_a_metric_of_evaluate_that_fails_is_named():
    metric = types.SimpleNamespace(name="stand_in", features=None, compute=lambda **_: 1 / 0)
    failing = evaluate_distance("evaluate:stand_in", "similarity", lambda name: metric)
    message = "distance: expected a metric that scores pairs of texts, got ZeroDivisionError from 'stand_in'"
    assert_refused(ValueError, message, failing, ["a"], ["b"])
