"""What holds for every module that embeds captions: encoders, ready arrays, and how they fail."""

import numpy as np
import pytest

from manycaps.kit.triangle_rank import rank_statistic, triangle_rank_counts
from tests.large_packages import evaluate
from tests.modules.sample_inputs import CAPTION_ROWS, as_arrays, bag_of_words
from tests.oracles import embedding_loops

NAMES = ["mmd_bert", "fid_bert", "trm_bert"]

ROWS = {column: rows[:3] for column, rows in CAPTION_ROWS.items()}

every_name = pytest.mark.parametrize("name", NAMES)


def expected_value(name, row, n):
    if name == "mmd_bert":
        return embedding_loops.mmd_squared(row[:n], row[n:], "median", "unbiased")
    if name == "fid_bert":
        return embedding_loops.frechet_distance(row[:n], row[n:])
    cosines = row @ row.T / np.linalg.norm(row, axis=1) / np.linalg.norm(row, axis=1)[:, None]
    return rank_statistic(triangle_rank_counts(1 - cosines[None], n))[0]


@every_name
def test_captions_through_a_function_equal_ready_arrays_and_the_loop(name):
    module = evaluate.load(name)
    arrays = as_arrays(bag_of_words, ROWS)
    result = module.compute(**ROWS, encoder=bag_of_words, details=True, p_value="exact", confidence_level=0.9)
    ready = module.compute(**arrays, details=True, p_value="exact", confidence_level=0.9)
    assert "encoder:bag_of_words|" in result.pop("signature")
    assert "encoder:ready arrays|" in ready.pop("signature")
    assert set(result) == set(ready)
    # The draws of the corpus test depend on what was given, captions or arrays: five standard errors of 9,999 draws.
    drawn = f"{name}_corpus_p_value"
    assert result.pop(drawn) == pytest.approx(ready.pop(drawn), abs=5 * np.sqrt(2 * 0.25 / 9_999))
    for key in result:
        assert result[key] == pytest.approx(ready[key], abs=1e-12), key
    for value, p, r in zip(result[f"{name}_per_row"], *arrays.values(), strict=True):
        # The roots of covariances are the oracle's weak side.
        assert value == pytest.approx(expected_value(name, np.concatenate((p, r)), len(p)), abs=1e-6)


@every_name
def test_nothing_is_embedded_before_the_sizes_are_checked(name):
    def never(captions):
        raise AssertionError("embedded")

    module = evaluate.load(name, encoder=never)
    with pytest.raises(ValueError, match="expected at most max_partitions=9 splits per row, got 10"):
        module.compute(**ROWS, p_value="exact", max_partitions=9)
    with pytest.raises(ValueError, match="expected at least 2 rows"):
        module.compute(**{c: rows[:1] for c, rows in ROWS.items()}, confidence_level=0.9)


@pytest.mark.parametrize(
    ("option", "values"), [("sigma", ["median", "mean", 0.7, 2]), ("estimator", ["unbiased", "biased", "authors"])]
)
def test_options_of_mmd_reach_rows_pool_and_signature(option, values):
    module, seen = evaluate.load("mmd_bert", encoder=bag_of_words, pooled=True, details=True), set()
    corpus = {column: [[caption for row in rows for caption in row]] for column, rows in ROWS.items()}
    for value in values:
        result = module.compute(**corpus, **{option: value})
        assert result["mmd_bert"] == pytest.approx(result["mmd_bert_pooled"], abs=1e-12)
        assert f"{option}:{value}|" in result["signature"]
        seen.add(round(result["mmd_bert"], 9))
    assert len(seen) == len(values)


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "authors"])
def test_an_interval_of_mmd_holds_its_value_at_either_end_of_the_range(estimator):
    module = evaluate.load("mmd_bert", estimator=estimator, sigma=0.1, confidence_level=0.95)
    apart = np.repeat([[1.0, 0.0], [0.0, 1.0]], 2, axis=0)
    rows = [
        np.stack([apart, apart[[0, 2, 1, 3]], apart + np.array([[0], [0], [0], [0.05]])])[kept]
        for kept in ([0, 0, 2], [1, 1, 2])
    ]
    for vectors in rows:
        result = module.compute(prediction_embeddings=vectors[:, :2], reference_embeddings=vectors[:, 2:])
        assert result["mmd_bert_ci_low"] < result["mmd_bert"] < result["mmd_bert_ci_high"]
