"""How many different captions a set holds in effect, from the eigenvalues of kernels such as those of n-grams."""

import math
from collections.abc import Sequence

import numpy as np

from .base_messages import reason_of, shown_value
from .base_rows import without_torch
from .text_document_frequency import DocumentFrequency
from .text_ngrams import ngram_ids, word_ids

# How far a user's kernel may be from symmetric, from 1 on its diagonal, and below 0 in its eigenvalues, relative
# to the largest: that much is float32's rounding.
KERNEL_TOLERANCE = 1e-5

# N-gram orders 1 to 4, equally weighted: CIDEr's (Vedantam et al., 2015, section 4), and those of the Vendi score's
# authors for text.
MAX_ORDER = 4

# A set of captions: its first caption and the one behind its last.
Range = tuple[int, int]


def vendi_scores(eigenvalues: np.ndarray, orders: Sequence[float]) -> list[float]:
    """Vendi scores of several orders, one each, from a kernel's eigenvalues, as in `manycaps.functional.vendi_score`.

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
    """Eigenvalues of the cosines between rows of length 1, float64, (n, d) to (n,).

    Those of the smaller of both Gram matrices, the others being 0.
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
    try:
        matrix = np.asarray(without_torch(kernel), dtype=np.float64)
    except Exception as error:  # ragged lists, tensors without numbers, whatever a user's type raises
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
    """Return why a matrix is not a kernel; empty if it is one."""
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
    """Self-CIDEr, 0 to 1, of a matrix whose product with itself is the CIDEr kernel: float64, shape (m, d).

    -log_m r with r = sqrt(l_1) / sum of sqrt(l_i), l the eigenvalues, in descending order, of the kernel
    K_ij = CIDEr(i, j) / 10 of m captions, whose roots are the singular values; Wang and Chan (2019), section 3.3,
    https://arxiv.org/abs/1903.12020. CIDEr here is that of Vedantam et al. (2015), equation 2, which is a mean of
    cosines and so a kernel; CIDEr-D, with its clipped counts, is not symmetric. NaN as in
    `manycaps.functional.self_cider`.
    """
    if len(features) < 2:
        return math.nan
    roots = np.linalg.svd(features, compute_uv=False) if features.size else np.zeros(1)
    if not roots.sum() > 0:
        return math.nan
    # Keep rounding within the range.
    return min(max(0.0, -math.log(roots[0] / roots.sum()) / math.log(len(features))), 1.0)


class SetNgrams:
    """The n-grams of many sets of captions, numbered once for all sets."""

    def __init__(self, sets: Sequence[Sequence[Sequence[str]]]) -> None:
        # Numbered by the alphabet, so that sums over the n-grams of a set have one order, whatever the other sets are.
        vocabulary = {
            word: i for i, word in enumerate(sorted({word for texts in sets for tokens in texts for word in tokens}))
        }
        words, lengths = word_ids((tokens for texts in sets for tokens in texts), vocabulary)
        ends = np.cumsum([len(texts) for texts in sets])
        self._ranges: list[Range] = [(int(end) - len(texts), int(end)) for end, texts in zip(ends, sets, strict=True)]
        self._tokens = np.array(list(vocabulary), dtype=object)[words]
        self._orders = ngram_ids(words, lengths, MAX_ORDER)
        text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        self._texts = [text_of_word[last] for _, last in self._orders]

    def counted_weights(self, sets: range) -> list[np.ndarray]:
        """Inverse document frequencies counted in some of the sets, each of which is one document.

        For each order a float64 array, shape (n_distinct,): log(n_documents / max(1, df)).
        """
        first, last = self._ranges[sets[0]][0], self._ranges[sets[-1]][1]
        set_of_text = np.repeat(np.arange(len(self._ranges)), [end - start for start, end in self._ranges])
        weights = []
        for (ids, _), texts in zip(self._orders, self._texts, strict=True):
            n_distinct = int(ids.max(initial=-1)) + 1
            inside = (texts >= first) & (texts < last)
            pairs = np.unique(set_of_text[texts[inside]] * max(1, n_distinct) + ids[inside])
            counts = np.bincount(pairs % max(1, n_distinct), minlength=n_distinct)[:n_distinct]
            weights.append(np.log(len(sets)) - np.log(np.maximum(counts, 1)))
        return weights

    def table_weights(self, table: DocumentFrequency) -> list[np.ndarray]:
        """Inverse document frequencies of a table, in the form of `counted_weights`; an unknown n-gram counts as 1."""
        weights = []
        for order, (ids, last) in enumerate(self._orders, start=1):
            first_use = np.unique(ids, return_index=True)[1]
            ngrams = (" ".join(self._tokens[end - order + 1 : end + 1]) for end in last[first_use].tolist())
            counts = np.array([table.counts.get(ngram, 1) for ngram in ngrams], dtype=np.float64)
            weights.append(np.log(table.n_documents) - np.log(np.maximum(counts, 1)))
        return weights

    def features(self, i: int, weights: Sequence[np.ndarray] | None) -> np.ndarray:
        """Return a matrix whose product with itself has the mean over n of the n-gram cosines of the captions of set i.

        float64, shape (n_captions, n_columns). A caption without n-grams of an order, or with weights of 0 alone, has
        zeros there. `weights` are those of the n-grams of each order, or None for 1.
        """
        start, end = self._ranges[i]
        blocks = []
        for order, ((ids, _), texts) in enumerate(zip(self._orders, self._texts, strict=True)):
            here = slice(*np.searchsorted(texts, (start, end)))
            distinct, column = np.unique(ids[here], return_inverse=True)
            block = np.zeros((end - start, len(distinct)))
            np.add.at(block, (texts[here] - start, column), 1.0)
            if weights is not None:
                block *= weights[order][distinct]
            norms = np.linalg.norm(block, axis=1, keepdims=True)
            blocks.append(np.divide(block, norms, out=np.zeros_like(block), where=norms > 0))
        return np.concatenate(blocks, axis=1) / np.sqrt(MAX_ORDER)


def div_n(captions: Sequence[Sequence[str]], order: int) -> float:
    """Div-n of a set of captions, 0 to 1, as `manycaps.functional.div_n`: different n-grams as a share of its words."""
    ngrams = {tuple(tokens[start : start + order]) for tokens in captions for start in range(len(tokens) - order + 1)}
    n_words = sum(map(len, captions))
    return len(ngrams) / n_words if n_words else math.nan


def unique_share(captions: Sequence[Sequence[str]]) -> float:
    """Different captions of a set as a share of its captions: 1 / n_captions (all equal) to 1."""
    return len(set(map(tuple, captions))) / len(captions)
