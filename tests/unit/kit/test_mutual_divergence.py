"""MID: a slow loop, people's own value, singular covariances, and every message."""

import math

import numpy as np
import pytest

from manycaps import functional, load
from tests.oracles.mid_loop import mid_loop


def rows_of(seed, n_rows=120, m=2, n=5, d=4, noise=0.7, of_mine=0.7):
    """Features of images, and of captions near them."""
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n_rows, d))
    people, mine = (
        images[:, None] + scale * rng.normal(size=(n_rows, size, d)) for scale, size in ((noise, n), (of_mine, m))
    )
    return {"prediction_embeddings": mine, "reference_embeddings": people, "images": images}


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("sizes", [(30, 30, 2, 2), (20, 50, 3, 2)])
def test_mid_equals_a_loop(epsilon, sizes):
    n, m, d, e = sizes
    rng = np.random.default_rng(0)
    sides = rng.normal(size=(n, d)), rng.normal(size=(n, e)), rng.normal(size=(m, d)), rng.normal(size=(m, e))
    found, (mid, pointwise) = functional.mutual_divergence(*sides, epsilon=epsilon), mid_loop(*sides, epsilon)
    assert found.mid == pytest.approx(mid, rel=1e-10)
    assert found.pointwise.tolist() == pytest.approx(pointwise, rel=1e-10)


def test_the_module_has_all_pairs_of_captions_and_images():
    columns = rows_of(0)
    result = load("mid", epsilon=0.01, n_splits=0, details=True).compute(**columns)
    mine, people, images = (unit(np.float32(side).astype(np.float64)) for side in columns.values())
    expected = functional.mutual_divergence(
        mine.reshape(-1, 4), np.repeat(images, 2, axis=0), people.reshape(-1, 4), np.repeat(images, 5, axis=0),
        epsilon=0.01,
    )  # fmt: skip
    assert (result["mid"], result["information"]) == pytest.approx((expected.mid, expected.information), abs=1e-6)
    assert np.ravel(result["mid_per_candidate"]) == pytest.approx(expected.pointwise, abs=1e-6)
    assert "|epsilon:0.01" in result["signature"]
    assert "mid_excess" not in result


def test_people_have_no_excess_and_captions_of_other_images_have_one():
    module = load("mid", n_splits=3)
    excesses = np.array([module.compute(**rows_of(seed))["mid_excess"] for seed in range(30)])
    assert abs(excesses.mean()) < 4 * excesses.std(ddof=1) / math.sqrt(len(excesses))
    columns = rows_of(0)
    wrong = {**columns, "prediction_embeddings": np.roll(columns["prediction_embeddings"], 1, axis=0)}
    assert module.compute(**wrong)["mid_excess"] < -2.5
    vague = module.compute(**rows_of(0, of_mine=1.5))
    assert -2.5 < vague["mid_excess"] < -0.1
    assert vague["mid_of_people"] == pytest.approx(module.compute(**columns)["mid_of_people"], abs=0.2)


def test_order_of_rows_changes_nothing():
    module, columns = load("mid"), rows_of(1, n_rows=40)
    first = module.compute(**columns)
    second = module.compute(**{name: side[::-1] for name, side in columns.items()})
    assert first == pytest.approx(second, abs=1e-9)


def test_too_few_pairs_need_epsilon():
    columns = rows_of(0, n_rows=4)
    message = r"epsilon: expected a number above 0 for 20 pairs of 4 features, whose covariance is singular, got 0"
    with pytest.raises(ValueError, match=message):
        load("mid", epsilon=0.0).compute(**columns)
    assert np.isfinite(load("mid").compute(**columns)["mid"])


def test_a_single_pair_has_no_value():
    columns = {name: side[:1] for name, side in rows_of(0, m=1, n=1).items()}
    result = load("mid").compute(**columns)
    assert np.isnan([result["mid"], result["mid_excess"], result["mid_of_people"]]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": np.ones(3)}, r"candidates: expected an array of shape \(n, d\), got \(3,\)"),
        ({"images": np.ones((2, 2))}, "images: expected 3 pairs, like candidates, got 2"),
        ({"references": np.ones((3, 4))}, "references: expected 2 features, like candidates, got 4"),
        ({"reference_images": np.ones((5, 2))}, "reference_images: expected 3 pairs, like references, got 5"),
        ({"epsilon": -1.0}, "epsilon: expected a finite number of at least 0, got -1.0"),
        ({}, "epsilon: expected a number above 0 for 3 pairs of 4 features, whose covariance is singular"),
    ],
)
def test_what_is_refused(change, message):
    rng = np.random.default_rng(0)
    given = {name: rng.normal(size=(3, 2)) for name in ("candidates", "images", "references")}
    with pytest.raises(ValueError, match=message):
        functional.mutual_divergence(**(given | change))
