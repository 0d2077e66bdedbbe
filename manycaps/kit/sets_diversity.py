"""Diversity of every set of captions: options of set_diversity, its values by name, and its result."""

import gzip
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats, TokenRows, as_list, mean_of_defined
from .errors import InputError, InputTypeError, check_places, quote_value
from .ngrams import DocumentFrequency, NgramIndex, count_documents
from .ngrams_bleu import corpus_mbleu_4, self_bleu_values, self_statistics
from .ngrams_cider import document_weights
from .rows import as_token_rows
from .sets_distinct import (
    _div_n,
    _unique_share,
    feature_eigenvalues,
    kernel_eigenvalues,
    ngram_features,
    order_name,
    self_cider_of_features,
    unit_rows,
    vendi_scores,
)
from .sets_tests import interval_of_rows, with_interval

# gzip's best compression.
LEVEL = 9

# Orders of Div-n.
DIV_ORDERS = (1, 2)

# Distances below this are rounding: they count as 0.
ROUNDING = 1e-12

# Kernels by name; one user's function may be added.
KERNELS = ("ngram", "embedding")

# From the captions of a set to their kernel, shape (n, n).
KernelFunction = Callable[[list[str]], object]

# Which captions of a row are measured.
SIZES = ("equal", "all")

# Most captions of a set: the time grows with their cube, and 2,000 take 90 seconds.
MOST_CAPTIONS = 2_000

# Name of the function's kernel in keys.
FUNCTION_NAME = "kernel"


def compression_ratio(captions: Sequence[str]) -> float:
    """Return the bytes of the captions of a set, divided by their bytes after gzip (Shaib et al. 2024, section 3).

    https://arxiv.org/abs/2403.00553. The captions stand in alphabetical order, one per line.

    Args:
        captions: n texts.

    Returns:
        Above 0 and below 1,033; larger for more repetition. NaN without a byte. gzip's own 18 bytes weigh much in a
        set of few captions: compare sets of the same number of captions.

    Raises:
        TypeError: `captions` is one string, or a caption is not a string.

    >>> compression_ratio(["a dog"] * 50) > compression_ratio(["a dog"])
    True
    """
    listed = [] if isinstance(captions, str) else as_list(captions, "captions", "a list of strings")
    if isinstance(captions, str) or not all(isinstance(caption, str) for caption in listed):
        raise InputTypeError("captions", "a list of strings", "something else", "Give the texts of one set.")
    return _compression_ratio(listed)


def _compression_ratio(captions: Sequence[str]) -> float:
    """The value of one set, whose texts are checked, as `compression_ratio`."""
    text = "\n".join(sorted(captions)).encode("utf-8", "surrogatepass")
    return len(text) / len(gzip.compress(text, compresslevel=LEVEL, mtime=0)) if text else float("nan")


class Sets(NamedTuple):
    """The captions of one side: texts and their tokens, n_rows lists each, in the order given."""

    name: str
    texts: Sequence[Sequence[str]]
    tokens: Sequence[Sequence[Sequence[str]]]


class Kernels(NamedTuple):
    """Kernels of the Vendi scores."""

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
    """Compute the diversity values of every set of each side: candidates, and references where there are any.

    The captions of a set are sorted first, so that their order cannot change a digit. `table` has document frequencies
    for self-CIDEr; None counts them in the last side, one document per row. `progress` wraps the numbers of the sets.
    """
    n_rows = len(sides[0].texts)
    sets = [sort_set(side, i) for side in sides for i in range(n_rows)]
    tokens_of_sides = [[tokens for _, tokens in sets[start : start + n_rows]] for start in range(0, len(sets), n_rows)]
    *candidates, documents = tokens_of_sides
    none: TokenRows = [[]] * n_rows
    if candidates:
        index = NgramIndex.of_rows([*candidates[0], *none], [*none, *documents], keeps=True)
    else:
        index = NgramIndex.of_sets(documents, keeps=True)
    weights = document_weights(index, table or n_rows)
    values: list[dict[str, list[float]]] = [{} for _ in sides]
    for i in progress(range(len(sets)), desc="diversity", unit="set", delay=1):
        side, row = divmod(i, n_rows)
        texts, tokens = sets[i]
        measured = {"self_cider": self_cider_of_features(ngram_features(index, i, weights))}
        measured |= {f"div_{order}": _div_n(tokens, order) for order in DIV_ORDERS}
        measured |= {"unique_share": _unique_share(tokens), "compression_ratio": _compression_ratio(texts)}
        for kernel, eigenvalues in _decompose(index, i, texts, kernels, f"{sides[side].name}[{row}]").items():
            measured |= named_vendi_scores(kernel, eigenvalues, kernels.orders)
        if kernels.embedding is not None:
            measured["pairwise_distance"] = pairwise_distance(np.stack([kernels.embedding[text] for text in texts]))
        for name, value in measured.items():
            values[side].setdefault(name, []).append(value)
    for own, found_of_side in zip(tokens_of_sides, values, strict=True):
        found_of_side |= self_bleu_values(self_statistics(own))
    return values


def linear_values(side: Sets, kernels: Kernels) -> dict[str, float]:
    """Compute the values that take linear time, of all captions of a side as one set."""
    texts = [text for row in side.texts for text in row]
    tokens = [caption for row in side.tokens for caption in row]
    values = {f"div_{order}": _div_n(tokens, order) for order in DIV_ORDERS}
    values |= {"unique_share": _unique_share(tokens), "compression_ratio": _compression_ratio(texts)}
    values["mbleu_4"] = corpus_mbleu_4(self_statistics(side.tokens))
    if kernels.embedding is not None:
        # Sorted, so that the order of the rows cannot change a digit of the sums.
        vectors = np.stack([kernels.embedding[text] for text in sorted(texts)])
        values |= named_vendi_scores("embedding", feature_eigenvalues(vectors), kernels.orders)
        values["pairwise_distance"] = pairwise_distance(vectors)
    return values


def sort_set(side: Sets, i: int) -> tuple[list[str], list[Sequence[str]]]:
    """Return the captions of a row by the alphabet of their tokens, and the tokens."""
    pairs = sorted(zip(side.texts[i], side.tokens[i], strict=True), key=lambda pair: (list(pair[1]), pair[0]))
    return [text for text, _ in pairs], [tokens for _, tokens in pairs]


def _decompose(index: NgramIndex, i: int, texts: list[str], kernels: Kernels, where: str) -> dict[str, np.ndarray]:
    """Eigenvalues of each kernel of a set."""
    eigenvalues = {}
    if kernels.ngram:
        eigenvalues["ngram"] = feature_eigenvalues(unit_rows(ngram_features(index, i, None)))
    if kernels.embedding is not None:
        eigenvalues["embedding"] = feature_eigenvalues(np.stack([kernels.embedding[text] for text in texts]))
    if kernels.function is not None:
        eigenvalues[FUNCTION_NAME] = kernel_eigenvalues(kernels.function(list(texts)), len(texts), where)
    return eigenvalues


def named_vendi_scores(kernel: str, eigenvalues: np.ndarray, orders: Sequence[float]) -> dict[str, float]:
    """Return the Vendi scores of a kernel under their keys."""
    scores = vendi_scores(eigenvalues, orders)
    return {f"vendi_{kernel}_{order_name(order)}": score for order, score in zip(orders, scores, strict=True)}


def pairwise_distance(vectors: np.ndarray) -> float:
    """Return the mean cosine distance of all pairs, in linear time: 0 (all the same) to 1 + 1 / (n - 1), at most 2.

    1 - (|sum of v|^2 - n) / (n (n - 1)) for n vectors v of length 1, float64, shape (n, d). NaN for one caption.
    """
    n = len(vectors)
    if n < 2:
        return math.nan
    total = vectors.sum(axis=0)
    mean = 1.0 - (float(total @ total) - n) / (n * (n - 1))
    return 0.0 if mean < ROUNDING else min(mean, 1.0 + 1.0 / (n - 1))


# Suffixes of a key for the references, and for candidates minus references.
REFERENCES, DIFFERENCE = "_references", "_difference"


def row_result(
    candidates: Mapping[str, Sequence[float]],
    references: Mapping[str, Sequence[float]] | None = None,
    *,
    details: bool = False,
    confidence_level: float | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> dict[str, float | list[float]]:
    """Build the keys of values that each row has.

    For each name the mean over the rows where it is defined: of the candidates under the name and, where there are
    any, of the references with `REFERENCES` behind it, and of the differences of rows where both are defined with
    `DIFFERENCE`. With `details` also the lists under `_per_row`, and with a confidence level the ends of intervals over
    rows, or over clusters of them.
    """
    result: dict[str, float | list[float]] = {}
    for name, ours in candidates.items():
        columns = {name: ours}
        if references is not None:
            columns[name + REFERENCES] = human = references[name]
            columns[name + DIFFERENCE] = [a - b for a, b in zip(ours, human, strict=True)]
        for key, values in columns.items():
            interval = _interval(values, confidence_level, clusters) if confidence_level is not None else ()
            result |= with_interval(key, (mean_of_defined(values), *interval), confidence_level)
            if details:
                result[f"{key}_per_row"] = list(values)
    return result


def _interval(
    values: Sequence[float], confidence_level: float, clusters: Sequence[Hashable] | None
) -> tuple[float, float]:
    """Ends of the interval of the mean over the rows where a value is defined; NaN for less than two of them."""
    defined = [i for i, value in enumerate(values) if not math.isnan(value)]
    if len(defined) < 2:
        return math.nan, math.nan
    labels = None if clusters is None else [clusters[i] for i in defined]
    return interval_of_rows([values[i] for i in defined], confidence_level, labels)


def set_result(candidates: Mapping[str, float], references: Mapping[str, float] | None = None) -> dict[str, float]:
    """Build the keys of values of all captions of a side.

    >>> set_result({"div_1": 0.5}, {"div_1": 0.25})
    {'corpus_div_1': 0.5, 'corpus_div_1_references': 0.25, 'corpus_div_1_difference': 0.25}
    >>> set_result({"div_1": 0.5})
    {'corpus_div_1': 0.5}
    """
    result = {}
    for name, value in candidates.items():
        result[f"corpus_{name}"] = value
        if references is not None:
            result[f"corpus_{name}{REFERENCES}"] = references[name]
            result[f"corpus_{name}{DIFFERENCE}"] = value - references[name]
    return result


def check_kernels(kernels: object) -> None:
    """Raise unless `kernels` are different names of `KERNELS` and at most one function."""
    if not isinstance(kernels, list | tuple):
        raise InputTypeError(
            "kernels", "a list", quote_value(kernels), "Give for example ('ngram',), or a list with a function."
        )
    for kernel in kernels:
        if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
            raise InputError(
                "kernels", "'ngram', 'embedding' or a function", quote_value(kernel), "Check the spelling."
            )
    names = kernel_names(kernels)
    if len(set(names)) < len(names):
        raise InputError(
            "kernels", "each kernel once, at most one a function", quote_value(names), "Compute twice for two."
        )


def kernel_names(kernels: Iterable[str | KernelFunction]) -> list[str]:
    """Name the kernels as keys do."""
    return [kernel if isinstance(kernel, str) else FUNCTION_NAME for kernel in kernels]


def select_measured_rows(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]] | None = None, *, sizes: str
) -> list[list[list[str]]]:
    """Return the captions of each side that are measured, n_rows lists each.

    `sizes` is "equal" for the first captions of the larger side of a row, as many as the other side has, or "all".

    >>> select_measured_rows([["a", "b"]], [["c"]], sizes="equal"), select_measured_rows([["a", "b"]], sizes="equal")
    ([[['a']], [['c']]], [[['a', 'b']]])
    """
    sides = [predictions] if references is None else [predictions, references]
    if sizes == "all" or references is None:
        return [[list(row) for row in rows] for rows in sides]
    counts = [min(len(p), len(r)) for p, r in zip(predictions, references, strict=True)]
    return [[list(row[:n]) for row, n in zip(rows, counts, strict=True)] for rows in sides]


def check_set_sizes(sizes: Sequence[tuple[int, ...]], columns: Sequence[str]) -> None:
    """Raise if a set has more than `MOST_CAPTIONS` captions; `sizes` has a size per column for each row."""
    for name, column in zip(columns, zip(*sizes, strict=True), strict=True):
        large = [i for i, size in enumerate(column) if size > MOST_CAPTIONS]
        expected, got = f"at most {MOST_CAPTIONS:,} captions in a set", f"{column[large[0]]:,}" if large else ""
        check_places(large, name, expected, got, "Give a sample of them; vdtk_diversity measures whole data sets.")


def self_cider(
    texts: TokenRows, document_frequency: str | os.PathLike[str] | Mapping[str, Any] | None = None
) -> Floats:
    """Return Self-CIDEr of each set: how far the CIDEr kernel of its texts is from having one dimension.

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
    texts = as_token_rows(texts, "texts")
    index = NgramIndex.of_sets(texts, keeps=True)
    weights = document_weights(index, count_documents(texts, document_frequency))
    return np.array([self_cider_of_features(ngram_features(index, i, weights)) for i in range(len(texts))])


def self_bleu(texts: TokenRows) -> Floats:
    """Compute Self-BLEU-4 of each set: the mean of its texts' BLEU-4 against the others, as NLTK smooths it (method 1).

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
    texts = as_token_rows(texts, "texts")
    return np.array(self_bleu_values(self_statistics(texts))["self_bleu_4"])


def mbleu(texts: TokenRows) -> Floats:
    """Return mBLEU-4 of each set: mean over its texts of the COCO caption code's BLEU-4 against the others.

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
    texts = as_token_rows(texts, "texts")
    return np.array(self_bleu_values(self_statistics(texts))["mbleu_4"])
