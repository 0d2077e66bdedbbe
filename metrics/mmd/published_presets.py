"""CMMD and KID, two published values of a corpus: kernels, estimators and units of their authors."""

import numpy as np

from .kernel_family import polynomial_kernel, without_own
from .shared_mean_discrepancy import mmd_of_kernel
from .shared_pooled_discrepancy import pooled_mmd_squared

# Bandwidth and factor of CMMD (google-research, cmmd/distance.py).
CMMD_SIGMA = 10.0
CMMD_SCALE = 1000.0

# Kernel of KID (Bińkowski et al. 2018, section 4): degree, gamma (1 / d), coef0.
KID_KERNEL = (3, None, 1.0)

# Largest subset: its kernel matrix of both sets takes 0.8 GB.
MOST_IN_SUBSET = 5_000


def cmmd(vectors: np.ndarray, candidate_counts: np.ndarray, reference_counts: np.ndarray) -> float:
    """CMMD of a corpus: 1,000 times the biased squared MMD with a Gaussian kernel of bandwidth 10.

    Jayasumana et al. (2024), section 4, https://arxiv.org/abs/2401.09603, with the factor that the authors' program
    prints (google-research, cmmd/distance.py). Their features have the length 1 (scenic, baselines/clip/layers.py,
    `encode_image`), so that no two of them are further apart than 2, and CMMD stays below 1,000 (2 - 2 exp(-1/50)),
    39.6.

    Args:
        vectors: floating-point array, shape (n_vectors, d).
        candidate_counts: array of whole numbers, shape (n_vectors,): how often each vector is a candidate.
        reference_counts: how often each is a reference.

    Returns:
        0 (equal sets) to 2,000.

    >>> points = np.array([[0.0], [10.0]])
    >>> round(cmmd(points, np.array([1, 0]), np.array([0, 1])), 3)
    786.939
    """
    return CMMD_SCALE * float(pooled_mmd_squared(vectors, candidate_counts, reference_counts, CMMD_SIGMA, "biased"))


def kid_values(
    candidates: np.ndarray, references: np.ndarray, n_subsets: int, subset_size: int, seed: int
) -> np.ndarray:
    """KID of random subsets of two sets: the unbiased squared MMD with k(a, b) = (a.b / d + 1)^3.

    Bińkowski et al. (2018), section 4, https://arxiv.org/abs/1801.01401: subsets of equal size, drawn without
    replacement from each set; the value is their mean, beside their standard deviation.

    Args:
        candidates: floating-point array, shape (n, d).
        references: floating-point array, shape (m, d).
        n_subsets: number of subsets.
        subset_size: vectors of each set in a subset, 2 to the size of the smaller set.
        seed: of the draws.

    Returns:
        float64 array, shape (n_subsets,); mean 0 for two samples of one distribution.

    >>> kid_values(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]), 1, 2, 0).round(4).tolist()
    [-3.5]
    """
    rng = np.random.default_rng(seed)
    values = np.empty(n_subsets)
    for i in range(n_subsets):
        drawn = [side[rng.choice(len(side), subset_size, replace=False)] for side in (candidates, references)]
        kernel = polynomial_kernel(np.concatenate(drawn)[None].astype(np.float64), *KID_KERNEL)
        values[i] = mmd_of_kernel(without_own(kernel), subset_size, "unbiased", own=0.0)[0]
    return values


def check_subset_size(subset_size: int, n_candidates: int, n_references: int) -> None:
    """Raise unless both sets have as many vectors as a subset.

    Raises:
        ValueError: one has fewer.
    """
    least = min(n_candidates, n_references)
    if subset_size > least:
        raise ValueError(
            f"subset_size: expected at most {least}, the size of the smaller set, got {subset_size}. Give a smaller "
            "one, and more features if the value is to be compared with published ones."
        )
