"""How many different captions a set holds in effect: Vendi scores and self-CIDEr, both from a kernel's eigenvalues."""

import math
from collections.abc import Sequence

import numpy as np

from .shared_messages import reason_of, shown_value

# How far a kernel of the user's may be from symmetric, from 1 on its diagonal, and below 0 in its eigenvalues, relative
# to the largest: that much is float32's rounding.
KERNEL_TOLERANCE = 1e-5


def vendi_scores(eigenvalues: np.ndarray, orders: Sequence[float]) -> list[float]:
    """Vendi scores: the exponential of the Renyi entropy of a kernel's eigenvalues.

    exp(-sum p log p) for order 1, (sum p^q)^(1 / (1 - q)) for another order q, and 1 / max p for infinity, with
    p = eigenvalues of K / n; Friedman and Dieng (2023), definition 3.1, https://arxiv.org/abs/2210.02410, and Pasarkar
    and Dieng (2024), equation 2, https://arxiv.org/abs/2310.12952.

    Args:
        eigenvalues: float64 array, shape (n,), of a kernel with ones on its diagonal; values below 0 are rounding.
        orders: q, numbers of at least 1, or infinity; smaller ones would weigh eigenvalues that are rounding.

    Returns:
        One value for each order, from 1 (all captions the same) to n (nothing in common); smaller for larger q.

    >>> vendi_scores(np.array([2.0, 0.0]), [1, 2, math.inf])
    [1.0, 1.0, 1.0]
    >>> vendi_scores(np.array([1.0, 1.0]), [1, 2, math.inf])
    [2.0, 2.0, 2.0]
    """
    positive = eigenvalues[eigenvalues > 0]
    shares = positive / positive.sum()
    values = []
    for order in orders:
        if order == 1:
            entropy = -float((shares * np.log(shares)).sum())
        elif math.isinf(order):
            entropy = -math.log(shares.max())
        else:
            # By the largest share, so that a large order does not take the sum of powers to 0.
            largest = shares.max()
            log_sum = order * math.log(largest) + math.log(((shares / largest) ** order).sum())
            entropy = log_sum / (1.0 - order)
        # Rounding must not leave the range.
        values.append(min(max(math.exp(entropy), 1.0), float(len(eigenvalues))))
    return values


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Scale rows to length 1; rows of 0 become equal to each other and orthogonal to all others.

    Args:
        features: float64 array, shape (n, d).

    Returns:
        float64 array, shape (n, d), or (n, d + 1) where there is a row of 0.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]
    """
    norms = np.linalg.norm(features, axis=1)
    if (norms == 0).any():
        features = np.column_stack((features, (norms == 0).astype(np.float64)))
        norms = np.where(norms == 0, 1.0, norms)
    return features / norms[:, None]


def feature_eigenvalues(features: np.ndarray) -> np.ndarray:
    """Eigenvalues of the cosines between rows: those of the smaller of both Gram matrices, the others being 0.

    Args:
        features: float64 array, shape (n, d), rows of length 1.

    Returns:
        float64 array, shape (n,).

    >>> feature_eigenvalues(np.array([[1.0], [1.0]])).tolist()
    [0.0, 2.0]
    """
    n, d = features.shape
    gram = features @ features.T if n <= d else features.T @ features
    return np.concatenate((np.zeros(max(0, n - d)), np.linalg.eigvalsh(gram)))


def kernel_eigenvalues(kernel: object, n_captions: int, where: str) -> np.ndarray:
    """Check what a kernel of the user's returned for a set of captions, and decompose it.

    Args:
        kernel: should be a symmetric matrix, shape (n_captions, n_captions), with ones on its diagonal and no
            eigenvalue below 0.
        n_captions: number of captions that it was given.
        where: the set, for the message.

    Returns:
        float64 array, shape (n_captions,), ascending.

    Raises:
        TypeError: no array of numbers.
        ValueError: another shape, numbers that are not finite, or no such kernel.

    >>> kernel_eigenvalues([[1.0, 1.0], [1.0, 1.0]], 2, "predictions[0]").round(9).tolist()
    [0.0, 2.0]
    """
    try:
        matrix = np.asarray(kernel, dtype=np.float64)
    except Exception as error:  # ragged lists, tensors on a device, whatever a type of the user's raises
        raise TypeError(
            f"kernels: expected a matrix for the captions of {where}, got {type(kernel).__name__} "
            f"({reason_of(error)}). Return a NumPy array of shape (n, n)."
        ) from error
    got = _kernel_fault(matrix, n_captions)
    if got:
        raise ValueError(
            f"kernels: expected a symmetric matrix of shape ({n_captions}, {n_captions}) with ones on its diagonal for "
            f"the captions of {where}, got {got}. Divide k(x, y) by sqrt(k(x, x) k(y, y))."
        )
    eigenvalues: np.ndarray = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    if eigenvalues[0] < -KERNEL_TOLERANCE * eigenvalues[-1]:
        raise ValueError(
            f"kernels: expected a kernel without negative eigenvalues for the captions of {where}, got "
            f"{eigenvalues[0]:.3g}. Give a positive semi-definite similarity, such as cosines of features."
        )
    return eigenvalues


def _kernel_fault(matrix: np.ndarray, n: int) -> str:
    """What is wrong with a matrix that should be a kernel; empty where nothing is."""
    if matrix.shape != (n, n):
        return f"shape {matrix.shape}"
    if not np.isfinite(matrix).all():
        return f"{shown_value(float(matrix[~np.isfinite(matrix)][0]))} in it"
    if np.abs(np.diagonal(matrix) - 1.0).max() > KERNEL_TOLERANCE:
        return f"{np.diagonal(matrix)[np.abs(np.diagonal(matrix) - 1.0).argmax()]:.6g} on its diagonal"
    if np.abs(matrix - matrix.T).max() > KERNEL_TOLERANCE:
        return f"numbers that differ by {np.abs(matrix - matrix.T).max():.3g} across it"
    return ""


def self_cider(features: np.ndarray) -> float:
    """Self-CIDEr: how far the CIDEr kernel of a set of captions is from having one dimension.

    -log_m r with r = sqrt(l_1) / sum of sqrt(l_i), l the eigenvalues, in descending order, of the kernel
    K_ij = CIDEr(i, j) / 10 of m captions; Wang and Chan (2019), section 3.3, https://arxiv.org/abs/1903.12020. CIDEr
    here is that of Vedantam et al. (2015), equation 2, which is a mean of cosines and so a kernel; CIDEr-D, with its
    clipped counts, is not symmetric.

    Args:
        features: float64 array, shape (m, d), whose product with itself is K; its singular values are the roots.

    Returns:
        From 0 (one caption repeated) to 1 (no n-gram in common). NaN for one caption, and where no n-gram has weight.

    >>> self_cider(np.array([[1.0, 0.0], [0.0, 1.0]])), self_cider(np.ones((2, 1)))
    (1.0, 0.0)
    """
    if len(features) < 2:
        return math.nan
    roots = np.linalg.svd(features, compute_uv=False) if features.size else np.zeros(1)
    if not roots.sum() > 0:
        return math.nan
    # Rounding must not leave the range.
    return min(max(0.0, -math.log(roots[0] / roots.sum()) / math.log(len(features))), 1.0)
