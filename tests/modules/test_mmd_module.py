"""MMD with any kernel: equal to mmd_bert to the last bit, CMMD and KID by their formulas, and every bad input named."""

import math

import numpy as np
import pytest

from tests.large_packages import evaluate
from tests.modules.sample_inputs import CAPTION_ROWS, as_arrays, bag_of_words
from tests.oracles.embedding_loops import exact_p_value, mmd_squared_of

EVERYTHING = {"p_value": "exact", "confidence_level": 0.9, "details": True, "n_resamples": 99}

RNG = np.random.default_rng(0)
ARRAYS = {"prediction_embeddings": 0.3 + RNG.normal(size=(2, 4, 3)), "reference_embeddings": RNG.normal(size=(2, 3, 3))}

# Each kernel as a loop over coordinates, with its options.
KERNELS = {
    "rbf": (lambda a, b: math.exp(-(math.dist(a, b) ** 2) / 2), {"sigma": 1.0}),
    "rbf_sum": (
        lambda a, b: sum(math.exp(-(math.dist(a, b) ** 2) / (2 * s * s)) for s in (0.5, 1, 2)),
        {"sigma": [0.5, 1, 2.0]},
    ),
    "laplace": (lambda a, b: math.exp(-sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2), {"sigma": 2.0}),
    "polynomial": (lambda a, b: (a @ b / 3 + 1) ** 3, {}),
    "polynomial_own": (lambda a, b: (0.5 * (a @ b)) ** 2, {"degree": 2, "gamma": 0.5, "coef0": 0}),
    "linear": (lambda a, b: a @ b, {}),
}


@pytest.fixture(scope="module")
def mmd():
    return evaluate.load("mmd")


@pytest.mark.parametrize(
    "options", [{}, {"sigma": "mean"}, {"sigma": 0.7, "estimator": "biased"}, {"estimator": "authors"}]
)
def test_rbf_is_mmd_bert_to_the_last_bit(mmd, options):
    mmd_bert = evaluate.load("mmd_bert")
    for columns in (as_arrays(bag_of_words), {**CAPTION_ROWS, "encoder": bag_of_words}):
        expected = mmd_bert.compute(**columns, **EVERYTHING, **options, pooled=True)
        found = mmd.compute(**columns, **EVERYTHING, **options, pooled=True)
        assert found.pop("signature").startswith("mmd|version:")
        expected.pop("signature")
        assert found == {key.replace("mmd_bert", "mmd", 1): value for key, value in expected.items()}


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_and_their_p_values_equal_the_loop(mmd, name, estimator):
    kernel, options = KERNELS[name]
    result = mmd.compute(
        **ARRAYS, kernel=name.split("_")[0], **options, estimator=estimator, p_value="exact", details=True
    )
    for i, sides in enumerate(zip(*ARRAYS.values(), strict=True)):
        points = np.concatenate(sides)
        assert result["mmd_per_row"][i] == pytest.approx(mmd_squared_of(kernel, *sides, estimator), rel=1e-12)
        p_value = exact_p_value(points, 4, lambda x, y: mmd_squared_of(kernel, x, y, estimator))
        assert result["mmd_p_value_per_row"][i] == pytest.approx(p_value, abs=1e-12)
    gram = [
        np.array([[kernel(a, b) for b in row] for a in row]) for row in np.concatenate(list(ARRAYS.values()), axis=1)
    ]
    ready = mmd.compute(kernels=gram, n_candidates=4, estimator=estimator, p_value="exact", details=True)
    assert ready["mmd_per_row"] == pytest.approx(result["mmd_per_row"], rel=1e-12)
    assert ready["mmd_p_value_per_row"] == result["mmd_p_value_per_row"]
