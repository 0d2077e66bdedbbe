"""KID beside torchmetrics and torch-fidelity, and CMMD beside the formula of its authors, all on the same features.

torchmetrics runs live; torch-fidelity's values come from golden/kid.json, made with 0.4.0. The peers' draws of
subsets are their own, so each is compared on subsets that both sides take: those that this project drew, and subsets as
large as the sets, which have no choice. Tolerance 1e-10 relative: the same float64 numbers are summed in another order.
"""

import json

import numpy as np
import pytest

from manycaps.kit.mmd_pooled import kid_values, pooled_cmmd
from tests.golden_folders import OWN_GOLDEN
from tests.large_packages import OnFirstUse, torch

kid = OnFirstUse("torchmetrics.image.kid")

GOLDEN = json.loads((OWN_GOLDEN / "kid.json").read_text(encoding="utf-8"))

RNG = np.random.default_rng(0)
CANDIDATES, REFERENCES = RNG.normal(0.2, 1.1, size=(60, 32)), RNG.normal(size=(50, 32))


def drawn_subsets(n_subsets, subset_size, seed):
    """The subsets of `kid_values`, as its docstring describes them."""
    rng = np.random.default_rng(seed)
    return [
        [torch.from_numpy(side[rng.choice(len(side), subset_size, replace=False)]) for side in (CANDIDATES, REFERENCES)]
        for _ in range(n_subsets)
    ]


def test_each_subset_of_kid_is_that_of_torchmetrics():
    expected = [kid.poly_mmd(real, made).item() for made, real in drawn_subsets(20, 25, seed=3)]
    assert kid_values(CANDIDATES, REFERENCES, 20, 25, 3).tolist() == pytest.approx(expected, rel=1e-10)


@pytest.mark.filterwarnings("ignore:Metric `Kernel Inception Distance` will save all:UserWarning")
def test_kid_of_whole_sets_is_the_class_of_torchmetrics():
    metric = kid.KernelInceptionDistance(torch.nn.Identity(), subsets=4, subset_size=50)
    metric.set_dtype(torch.float64)
    # Features in place of images: what the identity makes of them.
    metric.update(torch.from_numpy(REFERENCES), real=True)
    metric.update(torch.from_numpy(CANDIDATES[:50]), real=False)
    mean, deviation = metric.compute()
    found = kid_values(CANDIDATES[:50], REFERENCES, 4, 50, 0)
    assert found.mean() == pytest.approx(mean.item(), rel=1e-10)
    assert (found.std(), deviation.item()) == pytest.approx((0, 0), abs=1e-12)


def test_each_subset_of_kid_is_that_of_torch_fidelity():
    vectors = 10 * np.load(OWN_GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    found: dict[tuple[int, int], list[float]] = {}
    for golden in GOLDEN["rows"]:
        size, seed = golden["subset_size"], golden["seed"]
        if (size, seed) not in found:
            n_subsets = sum(row["subset_size"] == size for row in GOLDEN["rows"])
            found[size, seed] = kid_values(vectors[:60], vectors[60:110], n_subsets, size, seed).tolist()
        assert found[size, seed][golden["subset"]] == pytest.approx(golden["kid"], rel=1e-10, abs=1e-12)
    assert len(found) == 3


def authors_cmmd(x, y):
    """Equation 5 of Gretton et al. (2012) in the notation of the authors' program, in float64."""
    gamma = 1 / (2 * 10**2)
    means = {}
    for name, (a, b) in {"xx": (x, x), "xy": (x, y), "yy": (y, y)}.items():
        squared = -2 * a @ b.T + (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :]
        means[name] = np.exp(-gamma * squared).mean()
    return 1000 * (means["xx"] + means["yy"] - 2 * means["xy"])


@pytest.mark.parametrize("length", [1, None], ids=["length_1", "any_length"])
def test_cmmd_is_the_formula_of_its_authors(length):
    sides = [
        side / np.linalg.norm(side, axis=1, keepdims=True) if length else side for side in (CANDIDATES, REFERENCES)
    ]
    vectors, is_candidate = np.concatenate(sides), np.arange(110) < 60
    found = pooled_cmmd(vectors, is_candidate.astype(int), (~is_candidate).astype(int))
    # Means close to 1 are subtracted: ten of sixteen digits are left where all vectors have the length 1.
    assert found == pytest.approx(authors_cmmd(*sides), rel=1e-8 if length else 1e-10)
