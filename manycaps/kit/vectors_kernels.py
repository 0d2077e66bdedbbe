"""Kernels of all pairs of vectors in a row, by name, and their bandwidths."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.distance import cdist

from .base_module import check_choice, check_is_number, check_number

# Rules for the bandwidth; a number is the third.
BANDWIDTH_RULES = ("median", "mean")

# Numbers of a kernel lie strictly between these: beyond them their squares are 0 or infinite.
NUMBER_BOUNDS = (1e-100, 1e100)

# Squared distances below this share of the two squared lengths are computed again from differences: the expansion
# |x|^2 + |y|^2 - 2 x.y has an error near 1e-16 of the lengths, so above it 12 digits are right.
CLOSE = 1e-3

# Numbers held at once by the recomputation, 8 bytes each.
MAX_DIFFERENCES = 4_000_000


def check_bandwidth(sigma: object) -> None:
    """Raise unless `sigma` is one of `BANDWIDTH_RULES`, or a number within `NUMBER_BOUNDS`."""
    if isinstance(sigma, str):
        check_choice("sigma", sigma, BANDWIDTH_RULES)
    else:
        check_is_number("sigma", sigma, "Give 'median', 'mean' or a float.")
        check_number("sigma", sigma, *NUMBER_BOUNDS)


def gaussian_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """Gaussian kernel of all pairs of float64 vectors (n_rows, n_texts, d), with a bandwidth as for `bandwidths`.

    Where the bandwidth is 0, because more than about half of the pairs are equal, the kernel is its limit: 1 for equal
    vectors and 0 for others. Returns a float64 array, shape (n_rows, n_texts, n_texts), 0 to 1, ones on the diagonal.
    """
    return gaussian_kernel_of_distances(squared_distances(vectors), sigma)


def gaussian_kernel_of_distances(squared: np.ndarray, sigma: str | float) -> np.ndarray:
    """`gaussian_kernel` of rows by their squared distances, float64, (n_rows, n_texts, n_texts), in that shape."""
    sigmas = bandwidths(squared, sigma)
    with np.errstate(over="ignore"):  # far beyond the bandwidth: the kernel is 0
        exponents = squared / (-2 * np.where(sigmas == 0, 1.0, sigmas) ** 2)[:, None, None]
    return _kernel_of(exponents, squared, sigmas)


def _kernel_of(exponents: np.ndarray, distances: np.ndarray, sigmas: np.ndarray) -> np.ndarray:
    """The exponential, in place; where a row's bandwidth is 0 its limit: 1 at distance 0, else 0."""
    kernel = np.exp(exponents, out=exponents)
    kernel[sigmas == 0] = distances[sigmas == 0] == 0
    return kernel


def bandwidths(
    squared: np.ndarray, sigma: str | float, root: Callable[[np.ndarray], np.ndarray] = np.sqrt
) -> np.ndarray:
    """Bandwidth of every row's kernel by its squared distances, float64, (n_rows, n_texts, n_texts) to (n_rows,).

    "median" and "mean" are half the median and half the mean of the distances of all pairs of different texts of the
    joint row, as in the authors' program, at least 0, in the unit of the vectors; of an even number of values the lower
    middle one is the median, as in `torch.median`. A number is that of all rows. `root` turns values into distances.
    """
    if sigma not in BANDWIDTH_RULES:
        return np.full(len(squared), float(sigma))
    first, second = np.triu_indices(squared.shape[-1], k=1)
    pairs = squared[:, first, second]  # (n_rows, n_pairs)
    if sigma == "mean":
        return root(pairs).mean(axis=1) / 2
    middle = (len(first) - 1) // 2
    return root(np.partition(pairs, middle, axis=1)[:, middle]) / 2


def squared_distances(first: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Squared Euclidean distances, exactly 0 for equal vectors, to about 12 digits for all others.

    Of float64 arrays, shapes (n_rows, n, d) and (n_rows, m, d), or None for the first: float64, (n_rows, n, m).
    """
    other = first if second is None else second
    lengths, of_other = (np.einsum("bnd,bnd->bn", vectors, vectors) for vectors in (first, other))
    both = lengths[:, :, None] + of_other[:, None, :]  # (n_rows, n, m)
    squared = first @ other.swapaxes(1, 2)
    squared *= -2
    squared += both
    both *= CLOSE
    close = squared < both
    if second is None:
        texts = np.arange(first.shape[1])
        squared[:, texts, texts] = 0
        close[:, texts, texts] = False
    if close.any():
        _recompute(squared, close, first, other)
    return squared


def _recompute(squared: np.ndarray, close: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Replace the squared distances of close pairs by sums of squared differences, in place."""
    places = np.nonzero(close)
    step = max(1, MAX_DIFFERENCES // first.shape[-1])
    for start in range(0, len(places[0]), step):
        row, i, j = (numbers[start : start + step] for numbers in places)
        differences = first[row, i] - second[row, j]  # (step, d)
        squared[row, i, j] = np.einsum("pd,pd->p", differences, differences)


# Names of the kernels; ready kernel values have none.
KERNELS = ("rbf", "laplace", "polynomial", "linear")

# Kernels that have a bandwidth.
WITH_BANDWIDTH = ("rbf", "laplace")


def laplace_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """k(a, b) = exp(-|a - b|_1 / sigma) of all pairs: float64, (n_rows, n_texts, d) to (n_rows, n_texts, n_texts).

    That is scikit-learn's `laplacian_kernel` with gamma = 1 / sigma, with a bandwidth as for `bandwidths`, of these
    distances; one of 0 is the limit, as for the Gaussian kernel.
    """
    distances = np.stack([cdist(row, row, metric="cityblock") for row in vectors])
    sigmas = bandwidths(distances, sigma, root=np.asarray)
    with np.errstate(over="ignore"):  # far beyond the bandwidth: the kernel is 0
        exponents = -distances / np.where(sigmas == 0, 1.0, sigmas)[:, None, None]
    return _kernel_of(exponents, distances, sigmas)


def polynomial_kernel(vectors: np.ndarray, degree: int, gamma: float | None, coef0: float) -> np.ndarray:
    """k(a, b) = (gamma a.b + coef0)^degree of all pairs of float64 vectors, (n_rows, n_texts, d); gamma None is 1 / d.

    Degree, at least 1, and coef0, at least 0, are 3 and 1 for KID (Bińkowski et al. 2018, section 4). Returns a float64
    array, shape (n_rows, n_texts, n_texts).
    """
    factor = 1 / vectors.shape[-1] if gamma is None else gamma
    return (factor * (vectors @ vectors.swapaxes(1, 2)) + coef0) ** degree


def kernel_values(
    vectors: np.ndarray, kernel: str, sigmas: Sequence[str | float], degree: int, gamma: float | None, coef0: float
) -> np.ndarray:
    """Kernel values of all pairs of a row by a name of `KERNELS`; "linear" is a.b.

    "rbf" and "laplace" are sums over the bandwidths `sigmas`; "rbf" with one is the kernel of `mmd_bert`, to the last
    bit. The other options are those of `polynomial_kernel`. `vectors` is float64, shape (n_rows, n_texts, d); returns a
    float64 array, shape (n_rows, n_texts, n_texts).
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
    """Kernel values with zeros in place of those of a text with itself, which "unbiased" leaves out."""
    texts = np.arange(kernel.shape[1])
    changed = kernel.copy()
    changed[:, texts, texts] = 0
    return changed


def check_kernel_values(kernel: np.ndarray, name: str) -> None:
    """Raise ValueError unless all values of a kernel, any shape, are finite, and so small that their sums are, too."""
    if not (np.abs(kernel) < 1e280).all():
        raise ValueError(
            f"kernel={name!r}: expected kernel values within the range of float64, got infinite ones. Divide the "
            "features by a number, or give a smaller degree or gamma."
        )
