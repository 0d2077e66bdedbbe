"""Invariants of PAC-S and RefPAC-S: of the formulas on any numbers, and of the module on any device."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manycaps
from manycaps.kit.clip_pac import pac_s, ref_pac_s
from tests.clip_checkpoints import save_checkpoint
from tests.large_packages import torch

COSINES = arrays(np.float64, 5, elements=st.floats(-1, 1))
WEIGHTS = st.floats(0.01, 100)
RNG = np.random.default_rng(0)
N = 9
# Numbers below 1e-308 have fewer digits.
TINY = 1e-308
COLUMNS = {
    "predictions": [["a dog", "a cat " * (i + 1)] for i in range(N)],
    "images": list(RNG.integers(0, 256, (N, 40, 60, 3), dtype=np.uint8)),
    "references": [["a dog", f"number {i}"] for i in range(N)],
}


@given(COSINES, WEIGHTS)
def test_pac_s_lies_in_its_range_and_grows_with_the_cosine(cosines, weight):
    scores = pac_s(cosines, weight)
    assert ((scores >= 0) & (scores <= weight)).all()
    assert (np.diff(scores[np.argsort(cosines)]) >= 0).all()


@given(COSINES, COSINES, WEIGHTS)
def test_ref_pac_s_lies_between_its_parts(cosines, closest, weight):
    pac = pac_s(cosines, weight)
    likeness = np.clip(closest, 0, 1)
    scores = ref_pac_s(pac, closest)
    assert np.isfinite(scores).all()
    assert (scores <= np.maximum(pac, likeness) * (1 + 1e-12) + TINY).all()
    both = (pac > 0) & (likeness > 0)
    assert (scores[~both] == 0).all()
    assert (scores[both] >= np.minimum(pac, likeness)[both] * (1 - 1e-12) - TINY).all()


@given(COSINES, COSINES)
def test_ref_pac_s_punishes_whichever_part_falls(cosines, closest):
    pac = pac_s(np.abs(cosines), 2.0)
    for lower in (ref_pac_s(pac / 2, closest), ref_pac_s(pac, closest / 2)):
        assert (lower <= ref_pac_s(pac, closest) * (1 + 1e-12) + TINY).all()


@pytest.mark.gpu
def test_the_device_does_not_matter(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    path = str(save_checkpoint(tmp_path / "small.pth"))
    scores = [
        manycaps.load("ref_pac_score", checkpoint=path, device=device, details=True).compute(**COLUMNS)
        for device in ("cpu", "cuda")
    ]
    # float32 on both, TF32 off: 1e-5 is promised.
    assert scores[1]["ref_pac_score_per_row"] == pytest.approx(scores[0]["ref_pac_score_per_row"], abs=1e-5)
