"""How many distinct texts a set holds: classes of equivalent texts, NoveltyBench's counts, and Vendi scores of kernels.

NoveltyBench: Zhang et al. (2025), https://arxiv.org/abs/2504.05228, section 3. distinct_k is the number of classes
among k texts, and utility_k = (1 - p) / (1 - p^k) sum over i = 1..k of p^(i - 1) q_i [text i is of a class that has not
come before], with the patience p = 0.8 and the quality q_i of text i, which is 1 where none is given. Of m texts, with
s_c in class c, the mean over all choices of k and all orders is exact: text i is of a new class with probability sum
over c of s_c / m C(m - s_c, i - 1) / C(m - 1, i - 1), and is each text of c with the same one. `tests/oracles`
enumerates.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints, TokenRows, as_list, as_numbers, plain_arguments
from .errors import InputError, InputTypeError, check_n_rows, quote_value
from .ngrams import MAX_ORDER, NgramIndex
from .options import Option, check_choice, check_is_number, check_whole_number, one_of
from .rows import NOT_ROWS, as_rows, as_token_rows, check_no_table

# --------------------------------------------------------------------------------------------------------------------
# Which texts of a set are of one class, given which pairs of them are equivalent.
#
# Equivalence by a threshold or by a judge is not transitive, so that a rule is needed. "connected": texts that are
# equivalent to the same text are of one class (connected components), whatever their order. "first": the texts in
# their order, each of the first class whose first text it is equivalent to, else of a new one, as NoveltyBench does
# (Zhang et al. 2025, https://arxiv.org/abs/2504.05228, section 3.1): no chain of small steps joins different texts.

# Rules by name, the default first.
CLASS_RULES = ("connected", "first")

# Cosine distance of MiniLM embeddings up to which two answers say the same, by the rule "first": what agrees best with
# NoveltyBench's published partitions, 0.29 on half of its prompts; `scripts.studies.class_calibration`.
EQUIVALENT_DISTANCE = 0.3

CLASSES: dict[str, Option] = {
    "classes": Option(
        "connected",
        one_of(CLASS_RULES),
        'Which texts are of one class: `"connected"`, those that are equivalent to the same text; or `"first"`, '
        "NoveltyBench's rule: in the order given, those that are equivalent to the first text of a class.",
    )
}


def class_labels(are_equivalent: np.ndarray, rule: str) -> Ints:
    """Return the number of the class of every text, by a rule of `CLASS_RULES`: int64, shape (n,), in order of first.

    `are_equivalent` is a symmetric boolean array, shape (n, n), True on its diagonal.

    >>> chain = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    >>> class_labels(chain, "connected").tolist(), class_labels(chain, "first").tolist()
    ([0, 0, 0], [0, 0, 1])
    """
    if rule == "connected":
        import scipy.sparse.csgraph  # not where a command line only names the rules

        _, found = scipy.sparse.csgraph.connected_components(are_equivalent, directed=False)
        _, first, numbers = np.unique(found, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[numbers].astype(np.int64)
    labels, firsts = np.zeros(len(are_equivalent), dtype=np.int64), list[int]()
    for i, row in enumerate(are_equivalent):
        labels[i] = next((label for label, first in enumerate(firsts) if row[first]), len(firsts))
        if labels[i] == len(firsts):
            firsts.append(i)
    return labels


def entropy_of_sizes(sizes: Sequence[int]) -> float:
    """Return the entropy of a share of texts in each class, in nats, 0 to log n; `sizes` are at least 1.

    >>> entropy_of_sizes([4]), round(entropy_of_sizes([2, 2]), 4)
    (0.0, 0.6931)
    """
    n = sum(sizes)
    return max(0.0, -math.fsum(size / n * math.log(size / n) for size in sizes))


def class_values(sizes: Sequence[int]) -> dict[str, float]:
    """Return the number of classes of these sizes, and their entropy, by the keys of a result."""
    return {"n_classes": float(len(sizes)), "semantic_entropy": entropy_of_sizes(sizes)}


def check_equivalence(equivalent: Sequence[npt.ArrayLike], least: int = 1) -> list[np.ndarray]:
    """Return the arrays of all sets, or raise for the first that is no symmetric one of bools of `least` texts."""
    advice = "Compare distances: distances <= 0.2."
    rows = as_list(equivalent, "equivalent", "an array of bools for each set of texts")
    arrays = [as_numbers(row, f"equivalent[{i}]", "an array of bools", advice) for i, row in enumerate(rows)]
    for i, array in enumerate(arrays):
        if array.dtype != bool:
            raise InputTypeError(f"equivalent[{i}]", "bools", array.dtype, advice)
        if array.ndim != 2 or array.shape != array.T.shape or len(array) < least or (array != array.T).any():
            expected = "a symmetric array of shape (n, n)" + f", n at least k={least}" * (least > 1)
            fix = "Give one array for each set of texts."
            raise InputError(f"equivalent[{i}]", expected, f"shape {array.shape}", fix)
    return [array | np.eye(len(array), dtype=bool) for array in arrays]


@plain_arguments
def answer_classes(equivalent: Sequence[npt.ArrayLike], rule: str = "connected") -> list[list[int]]:
    """Put the texts of each set into classes of equivalent ones.

    Args:
        equivalent: n_sets symmetric boolean arrays, shape (n, n), which may differ in n: whether two texts say the
            same, for example `distances <= 0.2`. A text is equivalent to itself.
        rule: "connected", texts that are equivalent to the same text are of one class; or "first", in the order
            given each text is of the first class whose first text it is equivalent to (Zhang et al. 2025, section
            3.1, https://arxiv.org/abs/2504.05228).

    Returns:
        n_sets lists of n numbers of classes, counted from 0 in the order of their first texts.

    Raises:
        TypeError: an array does not hold bools.
        ValueError: another shape or rule.

    >>> answer_classes([np.eye(3, dtype=bool), np.ones((2, 2), dtype=bool)])
    [[0, 1, 2], [0, 0]]
    """
    arrays = check_equivalence(equivalent)
    check_choice("rule", rule, CLASS_RULES)
    return [class_labels(array, rule).tolist() for array in arrays]


@plain_arguments
def semantic_entropy(equivalent: Sequence[npt.ArrayLike], rule: str = "connected") -> Floats:
    """Return the discrete semantic entropy of each set: - sum of p log p of the shares p of its classes, in nats.

    Farquhar et al. (2024), https://doi.org/10.1038/s41586-024-07421-0, whose classes are of answers that entail each
    other.

    Args:
        equivalent: as `answer_classes`.
        rule: as `answer_classes`.

    Returns:
        float64 array, shape (n_sets,), 0 (one class) to log n (all different).

    Raises:
        TypeError, ValueError: as `answer_classes`.

    >>> semantic_entropy([np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool)]).round(4).tolist()
    [0.6931, 0.0]
    """
    return np.array([entropy_of_sizes(np.bincount(labels).tolist()) for labels in answer_classes(equivalent, rule)])


def mean_class_values(sizes_of_rows: Sequence[Sequence[int]]) -> Mapping[str, list[float]]:
    """Return `class_values` of every row, by key."""
    values = [class_values(sizes) for sizes in sizes_of_rows]
    return {name: [row[name] for row in values] for name in values[0]}


# Probability of asking for another text, in utility_k.
PATIENCE = 0.8

# Orders in which texts are read: all of them, whose mean is taken, or the one in which they are given.
ANSWER_ORDERS = ("any", "given")

# Two distances this near are equal.
TIE_TOLERANCE = 1e-9

# Whether two texts say the same.
Equivalence = Callable[[str, str], object]


def answer_values(
    labels: npt.ArrayLike, k: int, order: str = "any", quality: Floats | None = None
) -> tuple[float, float]:
    """Return distinct_k, 1 to k, and utility_k of a set of k or more texts.

    `labels` are the classes of its texts, whole numbers from 0, and `quality` float64 numbers of at least 0; shape (m,)
    both. `order` is one of `ANSWER_ORDERS`.

    >>> [round(value, 4) for value in answer_values([0, 0, 1], 2)]
    [1.6667, 0.8519]
    """
    classes = np.asarray(labels, np.intp)
    are_new = _new_worths(classes, np.ones(len(classes)), k, order)
    worths = are_new if quality is None else _new_worths(classes, quality, k, order)
    weights = PATIENCE ** np.arange(k, dtype=np.float64)
    return math.fsum(are_new), math.fsum(weights / math.fsum(weights) * worths)


def _new_worths(labels: np.ndarray, worth: Floats, k: int, order: str) -> Floats:
    """What each of k texts is expected to be worth, 0 where an earlier one is of its class: float64, shape (k,)."""
    if order == "given":
        is_new = np.zeros(len(labels), bool)
        is_new[np.unique(labels, return_index=True)[1]] = True
        return (is_new * worth)[:k]
    m, sizes = len(labels), np.bincount(labels)
    shares = np.bincount(labels, worth / m)
    # C(m - s, i) / C(m - 1, i), a product: the binomials of 2,000 texts are no floats.
    has_none_before, expected = np.ones(len(sizes)), []
    for i in range(k):
        expected.append(math.fsum(shares * has_none_before))
        has_none_before *= np.maximum(m - sizes - i, 0) / max(m - 1 - i, 1)
    return np.array(expected)


@plain_arguments
def distinct_k(equivalent: Sequence[npt.ArrayLike], k: int) -> Floats:
    """Return distinct_k of each set: the expected number of different answers among k of its texts (Zhang et al. 2025).

    The mean, over all choices of k of the n texts, of their number of classes (https://arxiv.org/abs/2504.05228,
    section 3). Texts that are equivalent to the same text are of one class.

    Args:
        equivalent: n_sets symmetric boolean arrays, shape (n, n), which may differ in n: whether two texts say the
            same, for example `distances <= 0.2`.
        k: number of texts, 1 to the smallest n.

    Returns:
        float64 array, shape (n_sets,), 1 (all the same) to k (all different).

    Raises:
        TypeError: k is not a whole number, or an array does not hold bools.
        ValueError: another shape, or a k out of range.

    >>> distinct_k([np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)], 2).tolist()
    [2.0, 1.0]
    """
    return np.array([answer_values(row, k)[0] for row in _as_class_labels(equivalent, k)])


@plain_arguments
def utility_k(
    equivalent: Sequence[npt.ArrayLike], k: int, quality: Sequence[npt.ArrayLike] | None = None, order: str = "any"
) -> Floats:
    """Return utility_k of each set: what k of its texts give to a reader whom repetition tires (Zhang et al. 2025).

    (1 - p) / (1 - p^k) sum over i = 1..k of p^(i - 1) q_i [text i says something new] with the patience p = 0.8
    (https://arxiv.org/abs/2504.05228, section 3). Without `quality` every q_i is 1, which NoveltyBench's utility is
    not. Its program reads the texts in the order given.

    Args:
        equivalent: as `distinct_k`.
        k: as `distinct_k`.
        quality: n_sets arrays of n numbers of at least 0, the q of each text; NoveltyBench's go from 1 to 10.
        order: "any" for the mean over all ordered choices of k texts, "given" for the first k as they stand.

    Returns:
        float64 array, shape (n_sets,). Without quality above 0 (all the same) to 1 (all different); with it 0 to the
        largest quality.

    Raises:
        TypeError, ValueError: as `distinct_k`; a quality that is no such array, or an unknown order.

    >>> utility_k([np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)], 2).round(4).tolist()
    [1.0, 0.5556]
    >>> utility_k([np.eye(3, dtype=bool)], 2, [[9, 4.5, 9]], "given").round(4).tolist()
    [7.0]
    """
    check_choice("order", order, ANSWER_ORDERS)
    labels = _as_class_labels(equivalent, k)
    worths = [None] * len(labels) if quality is None else as_quality(quality, list(map(len, labels)))
    return np.array([answer_values(row, k, order, worth)[1] for row, worth in zip(labels, worths, strict=True)])


def as_quality(quality: Any, sizes: Sequence[int]) -> list[Floats]:
    """Return the quality of every text of n_rows sets with these sizes as float64 arrays, or raise for the first bad.

    >>> as_quality([[1, 0.5], [2]], [2, 1])
    [array([1. , 0.5]), array([2.])]
    """
    expected, advice = "numbers of at least 0, one for each text", "Give a list of numbers for each row of texts."
    check_no_table(quality, "quality", f"n_rows lists of {expected}")
    if isinstance(quality, NOT_ROWS):
        raise InputTypeError("quality", f"n_rows lists of {expected}", quote_value(quality), advice)
    rows = as_list(quality, "quality", f"n_rows lists of {expected}")
    check_n_rows("quality", len(rows), "texts", len(sizes), "list of numbers")
    arrays = []
    for i, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        array = as_numbers(row, f"quality[{i}]", expected, advice, "iuf", np.float64)
        if array.shape != (size,):
            raise InputError(f"quality[{i}]", f"{size} numbers, one for each text", f"shape {array.shape}", advice)
        bad = np.flatnonzero(~((array >= 0) & np.isfinite(array)))
        if len(bad):
            got = quote_value(float(array[bad[0]]))
            raise InputError(f"quality[{i}][{bad[0]}]", "a finite number of at least 0", got, "Rescale all of them.")
        arrays.append(array)
    return arrays


def _as_class_labels(equivalent: Sequence[npt.ArrayLike], k: int) -> list[np.ndarray]:
    """Classes of the texts of each set, whose arrays are checked."""
    check_whole_number("k", k, 1)
    return [class_labels(array, "connected") for array in check_equivalence(equivalent, k)]


def near_texts(texts: Sequence[str], vectors: Mapping[str, Floats], threshold: float) -> np.ndarray:
    """Say which texts are at a cosine distance of at most `threshold`, ties within 1e-9 included: bool, shape (n, n).

    `vectors` are of length 1. Equal texts are near.
    """
    unit = np.stack([vectors[text] for text in texts])
    return np.asarray((1 - unit @ unit.T <= threshold + TIE_TOLERANCE) | _are_equal(texts))


def pairs_to_judge(sets: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """Return every two different texts of a set, of all sets, in the order of the alphabet and each pair once.

    >>> pairs_to_judge([["b", "a", "b"], ["a", "b"]])
    [('a', 'b')]
    """
    pairs = (pair for texts in sets for pair in itertools.combinations(sorted(set(texts)), 2))
    return list(dict.fromkeys(pairs))


def judge_texts(texts: Sequence[str], equivalent: Equivalence) -> np.ndarray:
    """Ask a function about every two different texts, in the order of the alphabet, once. Bool, shape (n, n)."""
    distinct = sorted(set(texts))
    place = {text: i for i, text in enumerate(distinct)}
    answers = np.eye(len(distinct), dtype=bool)
    for i, j in itertools.combinations(range(len(distinct)), 2):
        answer = equivalent(distinct[i], distinct[j])
        if not isinstance(answer, bool | np.bool_):
            got = f"{quote_value(answer)} for {quote_value(distinct[i])} and {quote_value(distinct[j])}"
            raise InputTypeError("equivalent", "True or False of two texts", got, "Return a bool.")
        answers[i, j] = answers[j, i] = answer
    places = [place[text] for text in texts]
    return answers[np.ix_(places, places)]


def _are_equal(texts: Sequence[str]) -> np.ndarray:
    array = np.array(texts, dtype=object)
    return np.asarray(array[:, None] == array[None, :])


def choose_k(k: int | None, sides: Mapping[str, Sequence[Sequence[str]]]) -> int:
    """Return k, or without it the smallest number of texts of any set; raise for the first set that has fewer."""
    if k is None:
        return min(len(row) for rows in sides.values() for row in rows)
    for name, rows in sides.items():
        for i, row in enumerate(rows):
            if len(row) < k:
                raise InputError(
                    f"{name}[{i}]", f"at least k={k} texts", len(row), "Give a smaller k, or leave it out."
                )
    return k


def check_equivalent(equivalent: Any) -> None:
    """Raise unless `equivalent` is None, a cosine distance from 0 to below 2, or a function of two texts."""
    if equivalent is None or callable(equivalent):
        return
    check_is_number("equivalent", equivalent, "Give a cosine distance such as 0.2, or a function of two texts.")
    if not 0 <= equivalent < 2:
        raise InputError(
            "equivalent", "a cosine distance from 0 to below 2", quote_value(equivalent), "Give for example 0.2."
        )


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
