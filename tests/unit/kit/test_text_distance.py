"""Hand cases and messages of distances of texts: functions, and metrics of evaluate with a stand-in."""

import numpy as np

from manycaps.kit.text_distance import evaluate_distance, takes_lists, text_distances
from tests.each_case import each_case
from tests.refusals import assert_refused


class StandIn:
    """A metric whose score is the share of a prediction's letters in its reference."""

    name = "stand_in"
    features = None

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    def compute(self, references, predictions):
        self.calls.append(len(references))
        return self.answer([len(set(p) & set(r)) / len(p) for r, p in zip(references, predictions, strict=True)])


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


@each_case("scores", ["similarity", "distance"])
@each_case(
    ("answer", "calls"),
    [
        (lambda values: {"stand_in": values}, [2, 1]),
        (lambda values: {"stand_in": np.array(values)}, [2, 1]),
        (lambda values: {"stand_in": sum(values) / len(values)}, [2, 1, 1, 1]),
        (lambda values: {"stand_in": [sum(values) / len(values)]}, [2, 1, 1, 1]),
    ],
)
def test_a_metric_that_scores_pairs_is_asked_at_once_and_another_one_pair_by_pair(answer, calls, scores):
    metric = StandIn(answer)
    distance = evaluate_distance("evaluate:stand_in", scores, lambda name: metric)
    found = distance(["ab", "cd", "ef"], ["a", "ce", "xy"]).tolist()
    assert found == ([0.0, 0.5, 1.0] if scores == "similarity" else [1.0, 0.5, 0.0])
    assert metric.calls == calls


def test_messages_about_a_metric():
    def refuse(name):
        raise FileNotFoundError("no such folder")

    def fail(values):
        raise RuntimeError("out of memory")

    message = "distance: expected a metric that evaluate can load as 'rouge', got "
    assert_refused(ImportError, message, evaluate_distance, "evaluate:rouge:rougeL", "similarity", refuse)
    absent = evaluate_distance("evaluate:stand_in:f1", "similarity", lambda name: StandIn(lambda v: {"stand_in": v}))
    message = "distance: expected the key 'f1' in the result of 'stand_in', got ["
    assert_refused(ValueError, message, absent, ["a"], ["b"])
    failing = evaluate_distance("evaluate:stand_in", "similarity", lambda name: StandIn(fail))
    message = "distance: expected a metric that scores pairs of texts, got RuntimeError"
    assert_refused(ValueError, message, failing, ["a"], ["b"])


def test_whether_a_metric_takes_lists_of_references():
    class Feature:
        feature = "string"

    def with_features(features):
        metric = StandIn(None)
        metric.features = features
        return metric

    assert takes_lists(with_features({"references": Feature()}))
    assert not takes_lists(with_features({"references": "string"}))
    assert not takes_lists(with_features([{"references": Feature()}, {"references": "string"}]))
    assert not takes_lists(StandIn(None))
