"""How many different captions a set holds in effect, from the eigenvalues of kernels, such as cosines of n-grams."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .arrays import Floats, TokenRows, as_numbers, plain_arguments
from .errors import InputError, InputTypeError, quote_value
from .ngrams import MAX_ORDER, NgramIndex
from .options import check_is_number, check_whole_number
from .rows import as_rows, as_token_rows

# How far a user's kernel may be from symmetric, from 1 on its diagonal, and below 0 in its eigenvalues, relative
# to the largest: that much is float32's rounding.
KERNEL_TOLERANCE = 1e-5


def vendi_scores(eigenvalues: np.ndarray, orders: Sequence[float]) -> list[float]:
    """Compute Vendi scores, one for each order, from a kernel's eigenvalues, as in `manycaps.functional.vendi_score`.

    exp(-sum p log p) for order 1, (sum p^q)^(1 / (1 - q)) for another order q, and 1 / max p for infinity, with
    p = eigenvalues of K / n, float64, shape (n,), of which those below 0 are rounding; Friedman and Dieng (2023),
    definition 3.1, https://arxiv.org/abs/2210.02410, and Pasarkar and Dieng (2024), equation 2,
    https://arxiv.org/abs/2310.12952. Orders below 1 would weigh eigenvalues that are rounding.
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
            # Relative to the largest share, so that the sum of powers does not underflow for large orders.
            largest = shares.max()
            log_sum = order * math.log(largest) + math.log(((shares / largest) ** order).sum())
            entropy = log_sum / (1.0 - order)
        # Keep rounding within the range.
        values.append(min(max(math.exp(entropy), 1.0), float(len(eigenvalues))))
    return values


def unit_rows(features: np.ndarray) -> np.ndarray:
    """Scale rows, float64, (n, d), to length 1; rows of 0 become equal to each other and orthogonal to all others.

    float64 array, shape (n, d), or (n, d + 1) where there is a row of 0.
    """
    norms = np.linalg.norm(features, axis=1)
    if (norms == 0).any():
        features = np.column_stack((features, (norms == 0).astype(np.float64)))
        norms = np.where(norms == 0, 1.0, norms)
    return features / norms[:, None]


def feature_eigenvalues(features: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of the cosines between rows of length 1, float64, (n, d) to (n,).

    They are computed from the smaller of both Gram matrices; the others are 0.
    """
    n, d = features.shape
    gram = features @ features.T if n <= d else features.T @ features
    return np.concatenate((np.zeros(max(0, n - d)), np.linalg.eigvalsh(gram)))


def kernel_eigenvalues(kernel: object, n_captions: int, where: str) -> np.ndarray:
    """Check a user's kernel for the captions of a set, and decompose it: float64, shape (n_captions,), ascending.

    It should be a symmetric matrix, shape (n_captions, n_captions), with ones on its diagonal and no eigenvalue below
    0.

    Raises:
        TypeError: no array of numbers.
        ValueError: another shape, numbers that are not finite, or no such kernel.
    """
    expected, advice = f"a matrix for the captions of {where}", "Return a NumPy array of shape (n, n)."
    matrix = as_numbers(kernel, "kernels", expected, advice, dtype=np.float64)
    got = _kernel_fault(matrix, n_captions)
    if got:
        expected = f"a symmetric matrix of shape ({n_captions}, {n_captions}) with ones on its diagonal for {where}"
        raise InputError("kernels", expected, got, "Divide k(x, y) by sqrt(k(x, x) k(y, y)).")
    eigenvalues: np.ndarray = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    if eigenvalues[0] < -KERNEL_TOLERANCE * eigenvalues[-1]:
        expected = f"a kernel without negative eigenvalues for the captions of {where}"
        raise InputError(
            "kernels", expected, f"{eigenvalues[0]:.3g}", "Give a positive semi-definite one, such as cosines."
        )
    return eigenvalues


@plain_arguments
def vendi_score(kernels: npt.ArrayLike, order: float = 1) -> Floats:
    """Return the Vendi score: the effective number of different items of each set.

    The exponential of the Renyi entropy of order q of the eigenvalues of K / n (Friedman and Dieng 2023,
    https://arxiv.org/abs/2210.02410; Pasarkar and Dieng 2024, https://arxiv.org/abs/2310.12952).

    Args:
        kernels: floating-point array, shape (n_sets, n, n), symmetric, with ones on the diagonal and no negative
            eigenvalues: cosines of embeddings for example.
        order: q, from 1 to 1,000, or infinity.

    Returns:
        float64 array, shape (n_sets,), 1 (all the same) to n (nothing in common).

    Raises:
        TypeError: the order is not a number.
        ValueError: another shape or order, or no such kernel.

    >>> vendi_score([np.eye(3), np.ones((3, 3))], 2).round(9).tolist()
    [3.0, 1.0]
    """
    check_orders((order,))
    rows = as_rows(kernels, "kernels")
    eigenvalues = [kernel_eigenvalues(row, rows.shape[1], f"kernels[{i}]") for i, row in enumerate(rows)]
    return np.array([vendi_scores(values, (order,))[0] for values in eigenvalues])


def _kernel_fault(matrix: np.ndarray, n: int) -> str:
    """Return why a matrix is not a kernel; empty if it is one."""
    if matrix.shape != (n, n):
        return f"shape {matrix.shape}"
    if not np.isfinite(matrix).all():
        return f"{quote_value(float(matrix[~np.isfinite(matrix)][0]))} in it"
    if np.abs(np.diagonal(matrix) - 1.0).max() > KERNEL_TOLERANCE:
        return f"{np.diagonal(matrix)[np.abs(np.diagonal(matrix) - 1.0).argmax()]:.6g} on its diagonal"
    if np.abs(matrix - matrix.T).max() > KERNEL_TOLERANCE:
        return f"numbers that differ by {np.abs(matrix - matrix.T).max():.3g} across it"
    return ""


def self_cider_of_features(features: np.ndarray) -> float:
    """Return Self-CIDEr, 0 to 1, of a matrix whose product with itself is the CIDEr kernel: float64, shape (m, d).

    -log_m r with r = sqrt(l_1) / sum of sqrt(l_i), l the eigenvalues, in descending order, of the kernel
    K_ij = CIDEr(i, j) / 10 of m captions, whose roots are the singular values; Wang and Chan (2019), section 3.3,
    https://arxiv.org/abs/1903.12020. CIDEr here is as in Vedantam et al. (2015), equation 2: a mean of cosines and so a
    kernel; CIDEr-D, with its clipped counts, is not symmetric. NaN as in `manycaps.functional.self_cider`.
    """
    if len(features) < 2:
        return math.nan
    roots = np.linalg.svd(features, compute_uv=False) if features.size else np.zeros(1)
    if not roots.sum() > 0:
        return math.nan
    # Keep rounding within the range.
    return min(max(0.0, -math.log(roots[0] / roots.sum()) / math.log(len(features))), 1.0)


def ngram_features(index: NgramIndex, row: int, weights: Sequence[Floats] | None) -> Floats:
    """Return a matrix whose product with itself has the mean over n of the n-gram cosines of the captions of a row.

    float64, shape (n_captions, n_columns). A caption without n-grams of an order, or with weights of 0 alone, has zeros
    there. `weights` weigh the n-grams of each order, as `document_weights`, or None for 1.
    """
    start, end = index.texts.first[row : row + 2].tolist()
    blocks = []
    for n, (order, (first, by_text)) in enumerate(zip(index.orders(), index.by_text, strict=True)):
        entries = by_text[first[start] : first[end]]
        distinct, column = np.unique(order.ngram[entries], return_inverse=True)
        block = np.zeros((end - start, len(distinct)))
        block[order.text[entries] - start, column] = order.frequency[entries]
        if weights is not None:
            block *= weights[n][distinct]
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        blocks.append(np.divide(block, norms, out=np.zeros_like(block), where=norms > 0))
    return np.concatenate(blocks, axis=1) / np.sqrt(MAX_ORDER)


@plain_arguments
def div_n(texts: TokenRows, order: int) -> Floats:
    """Return Div-n of each set: different n-grams as a share of the words (Shetty et al. 2017, section 5.1).

    https://arxiv.org/abs/1703.10476; Distinct-n of Li et al. (2016) divides by the n-grams.

    Args:
        texts: n_sets lists of token lists.
        order: n, at least 1.

    Returns:
        float64 array, shape (n_sets,), 0 to 1, higher is more diverse; NaN where there is no word.

    Raises:
        TypeError: a text is not a list of tokens, or `order` is not a whole number.
        ValueError: a set without a text, or an order below 1.

    >>> div_n([[["a", "dog"], ["a", "cat"]]], 1).tolist()
    [0.75]
    """
    texts = as_token_rows(texts, "texts")
    check_whole_number("order", order, 1)
    return np.array([_div_n(row, order) for row in texts])


def _div_n(captions: Sequence[Sequence[str]], order: int) -> float:
    """The value of one set, whose texts are checked, as `div_n`."""
    ngrams = {tuple(tokens[start : start + order]) for tokens in captions for start in range(len(tokens) - order + 1)}
    n_words = sum(map(len, captions))
    return len(ngrams) / n_words if n_words else math.nan


def unique_share(texts: TokenRows) -> Floats:
    """Return the share of each set's texts that are different.

    Args:
        texts: n_sets lists of token lists.

    Returns:
        float64 array, shape (n_sets,), 1 / n (all equal) to 1.

    Raises:
        TypeError, ValueError: as `div_n`.

    >>> unique_share([[["a", "dog"], ["a", "dog"], ["two", "cats"], ["a", "cat"]]]).tolist()
    [0.75]
    """
    texts = as_token_rows(texts, "texts")
    return np.array([_unique_share([tuple(tokens) for tokens in row]) for row in texts])


def _unique_share(captions: Sequence[Sequence[str]]) -> float:
    """The value of one set, whose texts are checked, as `unique_share`."""
    return len(set(map(tuple, captions))) / len(captions)


# Smallest order: smaller ones weigh eigenvalues that are rounding. Largest finite one: beyond it the value is the same
# as at infinity but for a power of 1.001.
SMALLEST_ORDER, LARGEST_ORDER = 1, 1_000


def check_orders(orders: object) -> None:
    """Raise unless `orders` are different numbers from `SMALLEST_ORDER` to `LARGEST_ORDER`, or infinity."""
    if not isinstance(orders, list | tuple):
        raise InputTypeError("vendi_orders", "a list of numbers", quote_value(orders), "Give for example (1, 2).")
    for order in orders:
        check_is_number("vendi_orders", order, "Write math.inf for infinity.")
        if not (SMALLEST_ORDER <= order <= LARGEST_ORDER or order == math.inf):
            expected = f"numbers from {SMALLEST_ORDER} to {LARGEST_ORDER}, or infinity"
            raise InputError("vendi_orders", expected, quote_value(order), "Usual ones are 1, 2 and math.inf.")
    names = [order_name(order) for order in orders]
    if not names or len(set(names)) < len(names):
        raise InputError(
            "vendi_orders", "at least one order, and each once", quote_value(orders), "Give for example (1, 2)."
        )


def order_name(order: float) -> str:
    """Name an order as keys do.

    >>> [order_name(order) for order in (1, 2.0, 2.5, math.inf)]
    ['1', '2', '2.5', 'inf']
    """
    return f"{order:g}"
