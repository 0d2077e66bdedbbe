"""Every diversity value of each set of captions, and of all captions of a side."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .compression_ratio import compression_ratio
from .effective_number import feature_eigenvalues, kernel_eigenvalues, self_cider, unit_rows, vendi_scores
from .ngram_features import SetNgrams, div_n, document_weights, unique_share
from .self_bleu import corpus_mbleu_4, self_bleu_values, self_statistics
from .set_options import FUNCTION_NAME, KernelFunction, order_name
from .shared_document_frequency import DocumentFrequency

# Orders of Div-n.
DIV_ORDERS = (1, 2)

# Distances below this are rounding: they count as 0.
ROUNDING = 1e-12


class Sets(NamedTuple):
    """The captions of one side: texts and their tokens, n_rows lists each, in the order given."""

    name: str
    texts: Sequence[Sequence[str]]
    tokens: Sequence[Sequence[Sequence[str]]]


class Kernels(NamedTuple):
    """What the Vendi scores are made of."""

    # Whether the n-gram kernel is wanted.
    ngram: bool
    # Vectors of captions, float64 arrays of one dimension and length 1; None where the kernel is not wanted.
    embedding: Mapping[str, np.ndarray] | None
    # The user's own, or None.
    function: KernelFunction | None
    # Orders of the score.
    orders: Sequence[float]


def set_values(
    sides: Sequence[Sets], kernels: Kernels, table: DocumentFrequency | None, progress: Callable[..., Iterable[int]]
) -> list[dict[str, list[float]]]:
    """Compute the diversity values of every set.

    The captions of a set are sorted first, so that their order cannot change a digit.

    Args:
        sides: candidates and references.
        kernels: kernels and orders of the Vendi score.
        table: document frequencies for self-CIDEr; None to count them in the references, one document a row.
        progress: wraps the numbers of the sets in a progress bar, as `tqdm` does.

    Returns:
        For each side a dict from the name of a value to a list of n_rows floats.
    """
    n_rows = len(sides[0].texts)
    sets = [sorted_set(side, i) for side in sides for i in range(n_rows)]
    ngrams = SetNgrams([tokens for _, tokens in sets])
    weights = document_weights(ngrams, range(n_rows, 2 * n_rows), table)
    values: list[dict[str, list[float]]] = [{} for _ in sides]
    for i in progress(range(len(sets)), desc="diversity", unit="set", delay=1):
        side, row = divmod(i, n_rows)
        texts, tokens = sets[i]
        found = {"self_cider": self_cider(ngrams.features(i, weights))}
        found |= {f"div_{order}": div_n(tokens, order) for order in DIV_ORDERS}
        found |= {"unique_share": unique_share(tokens), "compression_ratio": compression_ratio(texts)}
        for kernel, eigenvalues in _decomposed(ngrams, i, texts, kernels, f"{sides[side].name}[{row}]").items():
            found |= named_vendi_scores(kernel, eigenvalues, kernels.orders)
        if kernels.embedding is not None:
            found["pairwise_distance"] = pairwise_distance(np.stack([kernels.embedding[text] for text in texts]))
        for name, value in found.items():
            values[side].setdefault(name, []).append(value)
    for own, found_of_side in zip((sets[:n_rows], sets[n_rows:]), values, strict=True):
        found_of_side |= self_bleu_values(self_statistics([tokens for _, tokens in own]))
    return values


def corpus_values(side: Sets, kernels: Kernels) -> dict[str, float]:
    """Compute what takes linear time of all captions of a side as one set.

    Args:
        side: the captions.
        kernels: kernels and orders of the Vendi score; of the kernels, embeddings alone.

    Returns:
        Values by name.
    """
    texts = [text for row in side.texts for text in row]
    tokens = [caption for row in side.tokens for caption in row]
    found = {f"div_{order}": div_n(tokens, order) for order in DIV_ORDERS}
    found |= {"unique_share": unique_share(tokens), "compression_ratio": compression_ratio(texts)}
    found["mbleu_4"] = corpus_mbleu_4(self_statistics(side.tokens))
    if kernels.embedding is not None:
        # Sorted, so that the order of the rows cannot change a digit of the sums.
        vectors = np.stack([kernels.embedding[text] for text in sorted(texts)])
        found |= named_vendi_scores("embedding", feature_eigenvalues(vectors), kernels.orders)
        found["pairwise_distance"] = pairwise_distance(vectors)
    return found


def sorted_set(side: Sets, i: int) -> tuple[list[str], list[Sequence[str]]]:
    """Return the captions of a row by the alphabet of their tokens, and the tokens."""
    pairs = sorted(zip(side.texts[i], side.tokens[i], strict=True), key=lambda pair: (list(pair[1]), pair[0]))
    return [text for text, _ in pairs], [tokens for _, tokens in pairs]


def _decomposed(ngrams: SetNgrams, i: int, texts: list[str], kernels: Kernels, where: str) -> dict[str, np.ndarray]:
    """Eigenvalues of each kernel of a set."""
    found = {}
    if kernels.ngram:
        found["ngram"] = feature_eigenvalues(unit_rows(ngrams.features(i, None)))
    if kernels.embedding is not None:
        found["embedding"] = feature_eigenvalues(np.stack([kernels.embedding[text] for text in texts]))
    if kernels.function is not None:
        found[FUNCTION_NAME] = kernel_eigenvalues(kernels.function(list(texts)), len(texts), where)
    return found


def named_vendi_scores(kernel: str, eigenvalues: np.ndarray, orders: Sequence[float]) -> dict[str, float]:
    """Return the Vendi scores of a kernel under their keys.

    >>> named_vendi_scores("ngram", np.array([1.0, 1.0]), (2,))
    {'vendi_ngram_2': 2.0}
    """
    scores = vendi_scores(eigenvalues, orders)
    return {f"vendi_{kernel}_{order_name(order)}": score for order, score in zip(orders, scores, strict=True)}


def pairwise_distance(vectors: np.ndarray) -> float:
    """Mean cosine distance of all pairs of a set, in linear time.

    1 - (|sum of v|^2 - n) / (n (n - 1)) for n vectors v of length 1.

    Args:
        vectors: float64 array, shape (n, d), rows of length 1.

    Returns:
        From 0 (all the same) to 1 + 1 / (n - 1), at most 2. NaN for one caption.

    >>> pairwise_distance(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    0.6666666666666667
    """
    n = len(vectors)
    if n < 2:
        return math.nan
    total = vectors.sum(axis=0)
    mean = 1.0 - (float(total @ total) - n) / (n * (n - 1))
    return 0.0 if mean < ROUNDING else min(mean, 1.0 + 1.0 / (n - 1))
