"""The diversity of sets of texts: a part of `manycaps.functional`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .functional_checks import as_rows, check_token_rows, counted_documents, plain_arguments
from .kit.base import Floats, TokenRows, check_whole_number
from .kit.diversity_sets import check_orders, kernel_eigenvalues, ngram_features, vendi_scores
from .kit.diversity_sets import compression_ratio as _compression_ratio
from .kit.diversity_sets import div_n as _div_n
from .kit.diversity_sets import self_cider as _self_cider
from .kit.diversity_sets import unique_share as _unique_share
from .kit.ngram_scores import DocumentFrequency, NgramIndex, document_weights, self_bleu_values, self_statistics


@plain_arguments
def vendi_score(kernels: npt.ArrayLike, order: float = 1) -> Floats:
    """Vendi score: the effective number of different items of each set.

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


def self_cider(
    texts: TokenRows, document_frequency: str | os.PathLike[str] | Mapping[str, Any] | None = None
) -> Floats:
    """Self-CIDEr of each set: how far the CIDEr kernel of its texts is from having one dimension.

    -log_m of the share of the largest root of the kernel's m eigenvalues in the sum of the roots (Wang and Chan 2019,
    section 3.3, https://arxiv.org/abs/1903.12020).

    Args:
        texts: n_sets lists of token lists.
        document_frequency: as for `cider_d`; None counts in the texts, where every set is a document.

    Returns:
        float64 array, shape (n_sets,), 0 (one text repeated) to 1 (nothing in common); NaN for one text, and where no
        n-gram has weight.

    Raises:
        TypeError, ValueError: as `cider_d`.

    >>> sets = [[["a", "dog"], ["a", "dog"]], [["two", "cats"], ["the", "sea"]]]
    >>> self_cider(sets, {"n_documents": 9, "document_frequency": {"a": 4}}).round(4).tolist()
    [0.0, 1.0]
    """
    check_token_rows(texts, "texts")
    index = NgramIndex.of_sets(texts, keeps=True)
    weights = document_weights(index, DocumentFrequency(*counted_documents(texts, document_frequency)))
    return np.array([_self_cider(ngram_features(index, i, weights)) for i in range(len(texts))])


@plain_arguments
def div_n(texts: TokenRows, order: int) -> Floats:
    """Div-n of each set: different n-grams as a share of the words (Shetty et al. 2017, section 5.1).

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
    check_token_rows(texts, "texts")
    check_whole_number("order", order, 1)
    return np.array([_div_n(row, order) for row in texts])


def self_bleu(texts: TokenRows) -> Floats:
    """Self-BLEU-4 of each set: mean over its texts of their BLEU-4 against the others, as NLTK smooths it (method 1).

    Zhu et al. (2018), section 2.3, https://arxiv.org/abs/1802.01886.

    Args:
        texts: n_sets lists of token lists.

    Returns:
        float64 array, shape (n_sets,), 0 (nothing in common) to 1; NaN for one text.

    Raises:
        TypeError, ValueError: as `div_n`.

    >>> same, other = ["a", "red", "dog", "runs"], ["two", "cats", "sleep", "here"]
    >>> self_bleu([[same, same], [same, other]]).tolist()
    [1.0, 0.0]
    """
    check_token_rows(texts, "texts")
    return np.array(self_bleu_values(self_statistics(texts))["self_bleu_4"])


def mbleu(texts: TokenRows) -> Floats:
    """mBLEU-4 of each set: mean over its texts of the COCO caption code's BLEU-4 against the others.

    Shetty et al. (2017), section 5.1, https://arxiv.org/abs/1703.10476.

    Args:
        texts: n_sets lists of token lists.

    Returns:
        float64 array, shape (n_sets,), 0 (nothing in common) to 1; NaN for one text.

    Raises:
        TypeError, ValueError: as `div_n`.

    >>> mbleu([[["a", "red", "dog", "runs"]] * 2]).round(6).tolist()
    [1.0]
    """
    check_token_rows(texts, "texts")
    return np.array(self_bleu_values(self_statistics(texts))["mbleu_4"])


def unique_share(texts: TokenRows) -> Floats:
    """Share of each set's texts that are different.

    Args:
        texts: n_sets lists of token lists.

    Returns:
        float64 array, shape (n_sets,), 1 / n (all equal) to 1.

    Raises:
        TypeError, ValueError: as `div_n`.

    >>> unique_share([[["a", "dog"], ["a", "dog"], ["two", "cats"], ["a", "cat"]]]).tolist()
    [0.75]
    """
    check_token_rows(texts, "texts")
    return np.array([_unique_share([tuple(tokens) for tokens in row]) for row in texts])


def compression_ratio(captions: Sequence[str]) -> float:
    """Bytes of the captions of a set, divided by their bytes after gzip (Shaib et al. 2024, section 3).

    https://arxiv.org/abs/2403.00553. The captions stand in alphabetical order, one per line.

    Args:
        captions: n texts.

    Returns:
        Above 0 and below 1,033; larger for more repetition. NaN without a byte.

    Raises:
        TypeError: `captions` is one string, or a caption is not a string.

    >>> compression_ratio(["a dog"] * 50) > compression_ratio(["a dog"])
    True
    """
    if isinstance(captions, str) or not all(isinstance(caption, str) for caption in captions):
        raise TypeError("captions: expected a list of strings, got something else. Give the texts of one set.")
    return _compression_ratio(captions)
