"""Triangle ranks over any distance: equal to the special modules to the last bit, and every bad input is named."""

import math
import textwrap

import numpy as np
import pytest
import scipy.spatial.distance

from manycaps import functional
from tests.each_case import each_case
from tests.modules.sample_inputs import CAPTION_ROWS
from tests.modules.test_embedding_modules import as_arrays, bag_of_words, load
from tests.oracles import triangle_rank_loop

# Everything that a special module can report.
EVERYTHING = {"p_value": "exact", "confidence_level": 0.9, "details": True, "n_resamples": 99}

METRIC = """
import datasets
import evaluate


class Shared(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features=datasets.Features({"predictions": text, "references": REFERENCES}),
        )

    def _compute(self, predictions, references):
        shares = [share(x, y if isinstance(y, str) else y[0]) for x, y in zip(predictions, references)]
        return {"shared": RESULT}


def share(prediction, reference):
    words = set(reference.split())
    return len(words & set(prediction.split())) / len(words)
"""


def share(prediction, reference):
    words = set(reference.split())
    return len(words & set(prediction.split())) / len(words)


def meteor_distance(first, second):
    pairs = [functional.ptb_tokenize([x, y]) for x, y in zip(first, second, strict=True)]
    return [matrix[0, 1] for matrix in functional.meteor_distances(pairs)]


@pytest.fixture(scope="module")
def trm():
    return load("trm")


def renamed(result, name):
    """A result of another module under the names of this one, without what only one of them has."""
    own = {"signature", "meteor", "meteor_per_row", "cosine", "cosine_per_row"}
    return {key.replace(name, "trm", 1): value for key, value in result.items() if key not in own}


def without_own(result):
    return {key: value for key, value in result.items() if key not in ("signature",) and "nearest" not in key}


@pytest.mark.parametrize("statistic", ["per_side", "pooled"])
def test_meteor_distances_give_trm_meteor_to_the_last_bit(trm, statistic):
    expected = load("trm_meteor").compute(**CAPTION_ROWS, **EVERYTHING, statistic=statistic)
    found = trm.compute(**CAPTION_ROWS, **EVERYTHING, statistic=statistic, distance=meteor_distance)
    assert without_own(found) == renamed(expected, "trm_meteor")
    assert found["nearest_distance"] == pytest.approx(1 - expected["meteor"], abs=1e-15)
    assert "|distance:meteor_distance|" in found["signature"]


@pytest.mark.parametrize("statistic", ["per_side", "pooled"])
def test_embeddings_give_trm_bert_to_the_last_bit(trm, statistic):
    arrays, bert = as_arrays(bag_of_words), load("trm_bert")
    expected = bert.compute(**arrays, **EVERYTHING, statistic=statistic)
    found = trm.compute(**arrays, **EVERYTHING, statistic=statistic)
    assert without_own(found) == renamed(expected, "trm_bert")
    assert found["nearest_distance"] == pytest.approx(1 - expected["cosine"], abs=1e-15)
    by_captions = {"encoder": bag_of_words, "statistic": statistic, **EVERYTHING}
    expected = bert.compute(**CAPTION_ROWS, **by_captions)
    assert without_own(trm.compute(**CAPTION_ROWS, **by_captions)) == renamed(expected, "trm_bert")


def test_ready_distances_give_what_the_captions_give(trm):
    rows = [[*p, *r] for p, r in zip(*CAPTION_ROWS.values(), strict=True)]
    matrices = functional.meteor_distances([functional.ptb_tokenize(row) for row in rows])
    n_candidates = [len(row) for row in CAPTION_ROWS["predictions"]]
    found = trm.compute(distances=matrices, n_candidates=n_candidates, **EVERYTHING)
    expected = trm.compute(**CAPTION_ROWS, **EVERYTHING, distance=meteor_distance)
    assert "|distance:ready|" in found["signature"]
    # The draws of the corpus follow the content, which is another one.
    for key in ("trm", "trm_z", "trm_excess", "trm_per_row", "trm_p_value_per_row", "nearest_distance"):
        assert found[key] == expected[key], key
    one_number = trm.compute(distances=np.stack([matrices[0]] * 2), n_candidates=n_candidates[0], details=True)
    assert one_number["trm_per_row"] == found["trm_per_row"][:1] * 2


@each_case("name", ["euclidean", "cityblock", "chebyshev", "braycurtis", "jensenshannon", "canberra"])
def test_distances_of_scipy_equal_the_loop(trm, name):
    arrays = as_arrays(bag_of_words)
    result = trm.compute(**arrays, distance=name, details=True, statistic="pooled")
    function = getattr(scipy.spatial.distance, name)
    for i, sides in enumerate(zip(*arrays.values(), strict=True)):
        points = np.concatenate(sides)
        texts = range(len(points))
        distances = [[function(points[j], points[k]) if j != k else 0.0 for k in texts] for j in texts]
        n = len(sides[0])
        expected = triangle_rank_loop.statistic(distances, texts[:n], texts[n:])
        assert result["trm_per_row"][i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("references", ["text", "datasets.Sequence(text)"], ids=["texts", "lists"])
@pytest.mark.parametrize("result", ["shares", "sum(shares) / len(shares)"], ids=["per_pair", "mean"])
def test_a_metric_of_evaluate(trm, tmp_path, references, result):
    path = tmp_path / "shared" / "shared.py"
    path.parent.mkdir()
    path.write_text(textwrap.dedent(METRIC).replace("REFERENCES", references).replace("RESULT", result))
    rows = {"predictions": CAPTION_ROWS["predictions"][:2], "references": CAPTION_ROWS["references"][:2]}
    expected = trm.compute(**rows, distance=lambda xs, ys: [1 - share(y, x) for x, y in zip(xs, ys, strict=True)])
    assert trm.compute(**rows, distance=f"evaluate:{path.parent}:shared") == expected
    assert trm.compute(**rows, distance=f"evaluate:{path.parent}", details=True)["trm"] == expected["trm"]
    as_distance = trm.compute(**rows, distance=f"evaluate:{path.parent}", evaluate_scores="distance")
    assert as_distance["nearest_distance"] != expected["nearest_distance"]
    with pytest.raises(
        ValueError, match=r"^distance: expected the key 'other' in the result of .*, got \['shared'\]\. "
    ):
        trm.compute(**rows, distance=f"evaluate:{path.parent}:other")


def test_a_metric_that_cannot_be_had_is_named(trm):
    with pytest.raises(
        ImportError, match=r"^distance: expected a metric that evaluate can load as 'no_such', got .*\. Check"
    ):
        trm.compute(**CAPTION_ROWS, distance="evaluate:no_such:rougeL")


def test_one_row_is_examined_with_its_own_texts_alone(trm):
    seen = set()

    def lengths(first, second):
        seen.update(first)
        return [abs(len(x) - len(y)) for x, y in zip(first, second, strict=True)]

    examined = trm.examine(**CAPTION_ROWS, distance=lengths, row=1, p_value="exact")
    texts = [*CAPTION_ROWS["predictions"][1], *CAPTION_ROWS["references"][1]]
    assert seen == set(texts)
    assert examined.pair_values.tolist() == [[abs(len(x) - len(y)) for y in texts] for x in texts]
    assert len(examined.null_statistics) == math.comb(5, 2)


def returns(value):
    return lambda first, second: value


SQUARE = [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]

BAD = {
    "unknown": (CAPTION_ROWS | {"distance": "cosin"}, ValueError, "distance: expected one of 'cosine', 'euclidean',"),
    "scaled": (CAPTION_ROWS | {"distance": "mahalanobis"}, ValueError, "distance: expected one of 'cosine',"),
    "number": (CAPTION_ROWS | {"distance": 3}, TypeError, "distance: expected a name, or a function of two lists"),
    "no_metric": (CAPTION_ROWS | {"distance": "evaluate:"}, ValueError, "distance: expected 'evaluate:NAME' or"),
    "no_key": (CAPTION_ROWS | {"distance": "evaluate:rouge:"}, ValueError, "distance: expected 'evaluate:NAME' or"),
    "one_number": (CAPTION_ROWS | {"distance": returns(0.5)}, ValueError, "distance: expected 20 numbers from the"),
    "nothing": (CAPTION_ROWS | {"distance": returns(None)}, ValueError, "distance: expected 20 numbers from the"),
    "words": (CAPTION_ROWS | {"distance": returns("far")}, TypeError, "distance: expected 20 numbers from the"),
    "nan": (
        CAPTION_ROWS | {"distance": lambda xs, ys: [0.0, math.nan] + [1.0] * (len(xs) - 2)},
        ValueError,
        "distance: expected finite numbers from the function, got nan for pair 1 of 20.",
    ),
    "of_texts_for_vectors": (
        as_arrays(bag_of_words) | {"distance": returns([])},
        ValueError,
        "prediction_embeddings: expected captions for a distance of texts, got vectors.",
    ),
    "undefined": (
        {
            "prediction_embeddings": np.ones((1, 2, 3)),
            "reference_embeddings": np.ones((1, 2, 3)),
            "distance": "correlation",
        },
        ValueError,
        "distance='correlation': expected vectors that have this distance, got a row in which that of texts 0 and 1",
    ),
    "scores": (
        CAPTION_ROWS | {"evaluate_scores": "high"},
        ValueError,
        "evaluate_scores: expected one of 'similarity',",
    ),
    "scores_number": (CAPTION_ROWS | {"evaluate_scores": 1}, ValueError, "evaluate_scores: expected one of"),
    "scores_flag": (CAPTION_ROWS | {"evaluate_scores": True}, ValueError, "evaluate_scores: expected one of"),
    "scores_list": (CAPTION_ROWS | {"evaluate_scores": ["distance"]}, ValueError, "evaluate_scores: expected one of"),
    "scores_empty": (CAPTION_ROWS | {"evaluate_scores": ""}, ValueError, "evaluate_scores: expected one of"),
    "distances_alone": (
        {"distances": [SQUARE]},
        TypeError,
        "n_candidates: expected a whole number, or one per row, got",
    ),
    "counts_alone": (
        {"n_candidates": 2},
        TypeError,
        "distances: expected a list of arrays of shape (n_texts, n_texts)",
    ),
    "no_rows": ({"distances": [], "n_candidates": 2}, ValueError, "distances: expected at least one row, got none."),
    "text": ({"distances": "far", "n_candidates": 2}, TypeError, "distances: expected a list of arrays of shape"),
    "not_square": (
        {"distances": [SQUARE, SQUARE[:2]], "n_candidates": 1},
        ValueError,
        "distances[1]: expected shape (n_texts, n_texts), got (2, 3).",
    ),
    "ragged": (
        {"distances": [[[0.0], [1.0, 2.0]]], "n_candidates": 1},
        TypeError,
        "distances[0]: expected an array of",
    ),
    "similarities": (
        {"distances": [np.eye(3)], "n_candidates": 1},
        ValueError,
        "distances[0][0][0]: expected 0, the distance of a text from itself, got 1.0.",
    ),
    "infinite": (
        {"distances": [[[0.0, math.inf, 1.0], *SQUARE[1:]]], "n_candidates": 1},
        ValueError,
        "distances[0][0][1]: expected a finite number, got inf (1 such numbers in all).",
    ),
    "masked": (
        {"distances": [np.ma.masked_equal(SQUARE, 2.0)], "n_candidates": 1},
        TypeError,
        "distances[0]: expected an array of numbers, got MaskedArray",
    ),
    "two_texts": (
        {"distances": [[[0.0, 1.0], [1.0, 0.0]]], "n_candidates": 1},
        ValueError,
        "distances[0], n_candidates[0]: expected at least 3 captions in all,",
    ),
    "no_candidate": (
        {"distances": [SQUARE], "n_candidates": 0},
        ValueError,
        "n_candidates: expected a whole number of",
    ),
    "no_reference": (
        {"distances": [SQUARE], "n_candidates": [3]},
        ValueError,
        "n_candidates[0]: expected at most 2 of the 3 texts of distances[0], got 3.",
    ),
    "half": (
        {"distances": [SQUARE], "n_candidates": 1.5},
        TypeError,
        "n_candidates: expected a whole number, got float.",
    ),
    "too_many_counts": (
        {"distances": [SQUARE], "n_candidates": [1, 1]},
        ValueError,
        "n_candidates: expected one number for each of the 1 rows of distances, got [1, 1].",
    ),
    "count_of_text": (
        {"distances": [SQUARE], "n_candidates": "two"},
        TypeError,
        "n_candidates: expected a whole number",
    ),
    "both": (
        CAPTION_ROWS | {"distances": [SQUARE], "n_candidates": 1},
        ValueError,
        "distances: expected distances in place of captions and embeddings, got both.",
    ),
}


@each_case("name", BAD)
def test_bad_input_is_named(trm, name):
    given, kind, message = BAD[name]
    with pytest.raises(kind) as raised:
        trm.compute(**given)
    assert str(raised.value).startswith(message), str(raised.value)
    assert len(trm) == 0


def test_rows_added_before_stay_after_distances_are_refused(trm):
    module = load("trm", encoder=bag_of_words)
    module.add_batch(**CAPTION_ROWS)
    with pytest.raises(ValueError, match=r"^distances: expected distances in place of captions"):
        module.compute(distances=[SQUARE], n_candidates=1)
    assert module.compute()["n_rows"] == len(CAPTION_ROWS["predictions"])
