"""The kernels of the general MMD: Gaussian and Laplace with one or several bandwidths, polynomial, and linear."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from .shared_kernels import BANDWIDTH_RULES, gaussian_kernel

# Names of the kernels; ready kernel values have none.
KERNELS = ("rbf", "laplace", "polynomial", "linear")

# Kernels that have a bandwidth.
WITH_BANDWIDTH = ("rbf", "laplace")


def laplace_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """k(a, b) = exp(-|a - b|_1 / sigma), the sum of the absolute differences of all coordinates over a bandwidth.

    That is scikit-learn's `laplacian_kernel` with gamma = 1 / sigma. A bandwidth of 0 is the limit, as for the Gaussian
    kernel.

    Args:
        vectors: float64 array, shape (n_rows, n_texts, d).
        sigma: "median", "mean" (half the median or mean of these distances over all pairs of different texts of the
            row, the lower middle one of an even number), or a number above 0.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), 0 to 1, with ones on the diagonal.

    >>> laplace_kernel(np.array([[[0.0, 0.0], [1.0, 2.0]]]), 3.0).round(4).tolist()
    [[[1.0, 0.3679], [0.3679, 1.0]]]
    """
    distances = np.stack([cdist(row, row, metric="cityblock") for row in vectors])
    sigmas = np.full(len(vectors), 0.0 if sigma in BANDWIDTH_RULES else sigma)
    if sigma in BANDWIDTH_RULES:
        first, second = np.triu_indices(vectors.shape[1], k=1)
        pairs = distances[:, first, second]
        middle = (len(first) - 1) // 2
        sigmas = (np.partition(pairs, middle, axis=1)[:, middle] if sigma == "median" else pairs.mean(axis=1)) / 2
    is_zero = sigmas == 0
    with np.errstate(over="ignore"):  # far beyond the bandwidth: the kernel is 0
        kernel = np.exp(-distances / np.where(is_zero, 1.0, sigmas)[:, None, None])
    kernel[is_zero] = distances[is_zero] == 0
    return kernel


def polynomial_kernel(vectors: np.ndarray, degree: int, gamma: float | None, coef0: float) -> np.ndarray:
    """k(a, b) = (gamma a.b + coef0)^degree (Bińkowski et al. 2018, section 4, https://arxiv.org/abs/1801.01401).

    Args:
        vectors: float64 array, shape (n_rows, n_texts, d).
        degree: at least 1; KID has 3.
        gamma: None for 1 / d, as KID.
        coef0: at least 0; KID has 1.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts).

    >>> polynomial_kernel(np.array([[[1.0, 0.0], [1.0, 2.0]]]), 3, None, 1.0).tolist()
    [[[3.375, 3.375], [3.375, 42.875]]]
    """
    factor = 1 / vectors.shape[-1] if gamma is None else gamma
    return (factor * (vectors @ vectors.swapaxes(1, 2)) + coef0) ** degree


def kernel_values(
    vectors: np.ndarray,
    kernel: str,
    sigmas: Sequence[str | float],
    degree: int,
    gamma: float | None,
    coef0: float,
) -> np.ndarray:
    """Kernel values of all pairs of a row.

    Args:
        vectors: float64 array, shape (n_rows, n_texts, d).
        kernel: one of `KERNELS`; "linear" is a.b.
        sigmas: bandwidths of "rbf" and "laplace"; the kernel is the sum over them.
        degree: of "polynomial", as are the next two.
        gamma: as for `polynomial_kernel`.
        coef0: as for `polynomial_kernel`.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), candidates first. "rbf" with one bandwidth is the kernel of
        `mmd_bert`, to the last bit.

    >>> kernel_values(np.array([[[1.0, 0.0], [1.0, 2.0]]]), "linear", (), 1, None, 0.0).tolist()
    [[[1.0, 1.0], [1.0, 5.0]]]
    """
    if kernel == "linear":
        return vectors @ vectors.swapaxes(1, 2)
    if kernel == "polynomial":
        with np.errstate(over="ignore", invalid="ignore"):  # found by `check_kernel_values`
            return polynomial_kernel(vectors, degree, gamma, coef0)
    of_one = gaussian_kernel if kernel == "rbf" else laplace_kernel
    total = of_one(vectors, sigmas[0])
    for sigma in sigmas[1:]:
        total += of_one(vectors, sigma)
    return total


def without_own(kernel: np.ndarray) -> np.ndarray:
    """Kernel values with zeros in place of those of a text with itself, which "unbiased" leaves out.

    >>> without_own(np.array([[[3.0, 1.0], [1.0, 2.0]]])).tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]
    """
    texts = np.arange(kernel.shape[1])
    changed = kernel.copy()
    changed[:, texts, texts] = 0
    return changed


def check_kernel_values(kernel: np.ndarray, name: str) -> None:
    """Raise unless all kernel values are finite, and so small that their sums are, too.

    Args:
        kernel: as from `kernel_values`.
        name: of the kernel.

    Raises:
        ValueError: a power of a large product leaves the range of float64.
    """
    if not (np.abs(kernel) < 1e280).all():
        raise ValueError(
            f"kernel={name!r}: expected kernel values within the range of float64, got infinite ones. Divide the "
            "features by a number, or give a smaller degree or gamma."
        )
