"""Kernels and the MMD of any of them, CMMD and KID: a part of `manycaps.functional`."""

import numpy as np
import numpy.typing as npt

from .functional_checks import MAX_SPLITS, as_finite, as_pairs, as_rows, check_candidates, plain_arguments, row_splits
from .kit.base import Floats, check_choice, check_whole_number
from .kit.caption_sets import comparison_p_values
from .kit.kernel_tests import (
    check_bandwidth,
    check_kernel_values,
    check_subset_size,
    kid_values,
    mmd_comparison,
    mmd_of_kernel,
    without_own,
)
from .kit.kernel_tests import cmmd as _cmmd
from .kit.kernel_tests import gaussian_kernel as _gaussian_kernel
from .kit.kernel_tests import laplace_kernel as _laplace_kernel
from .kit.kernel_tests import polynomial_kernel as _polynomial_kernel

# Estimators of an MMD of any kernel; the third one, "authors", is of the Gaussian kernel alone.
KERNEL_ESTIMATORS = ("unbiased", "biased")


@plain_arguments
def gaussian_kernel(vectors: npt.ArrayLike, sigma: str | float = "median") -> Floats:
    """Gaussian kernel of all pairs of a row: k(a, b) = exp(-|a - b|^2 / (2 sigma^2)) (Gretton et al. 2012).

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        sigma: bandwidth: "median" or "mean" of the distances of two vectors of the row, halved, or a positive number.

    Returns:
        float64 array, shape (n_rows, n, n), 0 to 1, ones on the diagonal.

    Raises:
        ValueError: another shape, number or name.

    >>> gaussian_kernel([[[0.0], [1.0]]], 1.0).round(4).tolist()
    [[[1.0, 0.6065], [0.6065, 1.0]]]
    """
    check_bandwidth(sigma)
    return _gaussian_kernel(as_rows(vectors, "vectors"), sigma)


@plain_arguments
def laplace_kernel(vectors: npt.ArrayLike, sigma: str | float = "median") -> Floats:
    """Laplace kernel of all pairs of a row: k(a, b) = exp(-|a - b|_1 / sigma), with sums of absolute differences.

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        sigma: bandwidth, as for `gaussian_kernel`, of these distances.

    Returns:
        float64 array, shape (n_rows, n, n), 0 to 1, ones on the diagonal.

    Raises:
        ValueError: another shape, number or name.

    >>> laplace_kernel([[[0.0, 0.0], [1.0, 1.0]]], 2.0).round(4).tolist()
    [[[1.0, 0.3679], [0.3679, 1.0]]]
    """
    check_bandwidth(sigma)
    return _laplace_kernel(as_rows(vectors, "vectors"), sigma)


@plain_arguments
def polynomial_kernel(
    vectors: npt.ArrayLike, degree: int = 3, gamma: float | None = None, coef0: float = 1.0
) -> Floats:
    """Polynomial kernel of all pairs of a row: k(a, b) = (gamma a.b + coef0)^degree (Bińkowski et al. 2018).

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        degree: at least 1.
        gamma: a positive number; None for 1 / d, as KID.
        coef0: a number of at least 0.

    Returns:
        float64 array, shape (n_rows, n, n); degree 1, gamma 1 and coef0 0 are the linear kernel a.b.

    Raises:
        TypeError: `degree` is not a whole number.
        ValueError: another shape or number, or kernel values beyond the range of float64.

    >>> polynomial_kernel([[[1.0], [2.0]]], degree=1, gamma=1, coef0=0).tolist()
    [[[1.0, 2.0], [2.0, 4.0]]]
    """
    check_whole_number("degree", degree, 1)
    if gamma is not None and not 0 < gamma < np.inf:
        raise ValueError(f"gamma: expected a positive finite number, got {gamma}. Or give None for 1 / d.")
    if not 0 <= coef0 < np.inf:
        raise ValueError(f"coef0: expected a finite number of at least 0, got {coef0}. Give 0 or 1.")
    with np.errstate(over="ignore", invalid="ignore"):  # found by the check
        kernel = _polynomial_kernel(as_rows(vectors, "vectors"), degree, gamma, coef0)
    check_kernel_values(kernel, "polynomial")
    return kernel


@plain_arguments
def kernel_mmd_squared(kernels: npt.ArrayLike, n_candidates: int, estimator: str = "unbiased") -> Floats:
    """Squared maximum mean discrepancy of candidates and references of every row, by any kernel.

    MMD^2 = mean k(x, x') + mean k(y, y') - 2 mean k(x, y) (Gretton et al. 2012, equations 2 to 5,
    https://jmlr.org/papers/v13/gretton12a.html).

    Args:
        kernels: floating-point array, shape (n_rows, n, n), symmetric; the first `n_candidates` are candidates.
        n_candidates: number of candidates of every row; each set has at least 2 items, 1 for "biased".
        estimator: "unbiased" (pairs of an item with itself are left out) or "biased".

    Returns:
        float64 array, shape (n_rows,), lower is more alike; "biased" is at least 0 for a kernel without negative
        eigenvalues, "unbiased" has mean 0 when both sets are samples of one distribution.

    Raises:
        TypeError: `n_candidates` is not a whole number.
        ValueError: another shape, number or name, or a kernel that is not symmetric.

    >>> numbers = np.array([0.0, 1.0, 4.0, 5.0])
    >>> kernels = np.outer(numbers, numbers)[None]  # the MMD is the squared difference of the means
    >>> kernel_mmd_squared(kernels, 2, "biased").tolist()
    [16.0]
    """
    rows = as_kernels(kernels, n_candidates, estimator)
    return mmd_of_kernel(rows, n_candidates, estimator, own=0.0)


@plain_arguments
def kernel_mmd_p_values(
    kernels: npt.ArrayLike,
    n_candidates: int,
    estimator: str = "unbiased",
    *,
    n_resamples: int | None = None,
    max_splits: int = MAX_SPLITS,
    seed: int = 0,
) -> Floats:
    """Share of the splits of every row whose squared MMD by any kernel is at least the observed one.

    Args:
        kernels: as for `kernel_mmd_squared`, as are the next two.
        n_candidates: number of candidates of every row.
        estimator: "unbiased" or "biased".
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_splits: most splits of a row that may be enumerated.
        seed: of the random splits.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `kernel_mmd_squared` and `triangle_rank_p_values`.

    >>> numbers = np.array([0.0, 1.0, 4.0, 5.0])
    >>> kernel_mmd_p_values(np.outer(numbers, numbers)[None], 2).round(4).tolist()
    [0.3333]
    """
    rows = as_kernels(kernels, n_candidates, estimator)
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_splits, seed)
    return comparison_p_values(mmd_comparison(rows, n_candidates, estimator, own=0.0), splits)


@plain_arguments
def cmmd(candidates: npt.ArrayLike, references: npt.ArrayLike) -> float:
    """CMMD of two sets of features: 1,000 times the biased squared MMD with a Gaussian kernel of bandwidth 10.

    Jayasumana et al. (2024), section 4, https://arxiv.org/abs/2401.09603; their features are those of CLIP ViT-L/14 at
    336 pixels, scaled to length 1.

    Args:
        candidates: floating-point array, shape (n, d), finite.
        references: floating-point array, shape (m, d), finite.

    Returns:
        0 (equal sets) to 2,000, of features of length 1 to 39.6.

    Raises:
        ValueError: another shape, or a number that is not finite.

    >>> round(cmmd([[0.0]], [[10.0]]), 3)
    786.939
    """
    first, second = _as_features(candidates, references)
    is_candidate = np.arange(len(first) + len(second)) < len(first)
    return _cmmd(np.concatenate((first, second)), is_candidate.astype(np.int64), (~is_candidate).astype(np.int64))


@plain_arguments
def kid(
    candidates: npt.ArrayLike, references: npt.ArrayLike, n_subsets: int = 100, subset_size: int = 1_000, seed: int = 0
) -> tuple[float, float]:
    """KID of two sets of features: mean and standard deviation of the unbiased squared MMD of random subsets.

    The kernel is (a.b / d + 1)^3 (Bińkowski et al. 2018, section 4, https://arxiv.org/abs/1801.01401).

    Args:
        candidates: floating-point array, shape (n, d), finite.
        references: floating-point array, shape (m, d), finite.
        n_subsets: number of subsets.
        subset_size: vectors of each set in a subset, 2 to the size of the smaller set.
        seed: of the draws.

    Returns:
        The mean, around 0 for two samples of one distribution, and the standard deviation.

    Raises:
        TypeError: a number is not a whole number.
        ValueError: another shape or number.

    >>> [round(value, 3) for value in kid([[0.0], [1.0]], [[0.0], [1.0]], n_subsets=1, subset_size=2)]
    [-3.5, 0.0]
    """
    first, second = _as_features(candidates, references)
    check_whole_number("n_subsets", n_subsets, 1)
    check_whole_number("subset_size", subset_size, 2)
    check_whole_number("seed", seed, 0)
    check_subset_size(subset_size, len(first), len(second))
    values = kid_values(first, second, n_subsets, subset_size, seed)
    return float(values.mean()), float(values.std())


def as_kernels(kernels: npt.ArrayLike, n_candidates: int, estimator: str) -> Floats:
    """Kernels as float64, checked as `kernel_mmd_squared` says; "unbiased" without those of an item with itself."""
    rows, different = as_pairs(kernels, "kernels")
    check_choice("estimator", estimator, KERNEL_ESTIMATORS)
    check_candidates(n_candidates, rows.shape[1], 1 if estimator == "biased" else 2)
    if different.any():
        raise ValueError(
            "kernels: expected symmetric kernels, got one in which k(a, b) is not k(b, a). Give their mean with the "
            "transposed ones."
        )
    return rows if estimator == "biased" else without_own(rows)


def _as_features(candidates: npt.ArrayLike, references: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Two sets of vectors of equal length as float64."""
    first, second = as_finite(candidates, "candidates"), as_finite(references, "references")
    for name, array in (("candidates", first), ("references", second)):
        if array.ndim != 2 or not array.size:
            raise ValueError(f"{name}: expected an array of shape (n, d), got {array.shape}. Give one row per item.")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"references: expected {first.shape[1]} numbers per item, as in candidates, got {second.shape[1]}. Use one "
            "encoder for both."
        )
    return first, second
