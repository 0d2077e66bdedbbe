"""Diversity of every set of captions: options of set_diversity, its values by name, and its result."""

import gzip
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .base_messages import shown_value
from .base_module import check_is_number
from .diversity_kernels import (
    SetNgrams,
    div_n,
    feature_eigenvalues,
    kernel_eigenvalues,
    self_cider,
    unique_share,
    unit_rows,
    vendi_scores,
)
from .text_bleu import corpus_mbleu_4, self_bleu_values, self_statistics
from .text_document_frequency import DocumentFrequency

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

# Smallest order: those below 1 weigh eigenvalues that are rounding. Largest finite one: beyond it the value is that of
# infinity but for a power of 1.001.
SMALLEST_ORDER, LARGEST_ORDER = 1, 1_000

# Most captions of a set: the time grows with their cube, and 2,000 take 90 seconds.
MOST_CAPTIONS = 2_000

# Name of the function's kernel in keys.
FUNCTION_NAME = "kernel"


def compression_ratio(captions: Sequence[str]) -> float:
    """Bytes of the captions, divided by their bytes after gzip, as `manycaps.functional.compression_ratio`.

    Below 1033, which is deflate's limit. gzip's own 18 bytes weigh much in a set of few captions: compare sets of the
    same number of captions.
    """
    text = "\n".join(sorted(captions)).encode("utf-8")
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
    """Compute the diversity values of every set of both sides, candidates and references.

    The captions of a set are sorted first, so that their order cannot change a digit. `table` has document frequencies
    for self-CIDEr; None counts them in the references, one document per row. `progress` wraps the numbers of the sets.
    """
    n_rows = len(sides[0].texts)
    sets = [sorted_set(side, i) for side in sides for i in range(n_rows)]
    ngrams = SetNgrams([tokens for _, tokens in sets])
    weights = ngrams.counted_weights(range(n_rows, 2 * n_rows)) if table is None else ngrams.table_weights(table)
    values: list[dict[str, list[float]]] = [{} for _ in sides]
    for i in progress(range(len(sets)), desc="diversity", unit="set", delay=1):
        side, row = divmod(i, n_rows)
        texts, tokens = sets[i]
        measured = {"self_cider": self_cider(ngrams.features(i, weights))}
        measured |= {f"div_{order}": div_n(tokens, order) for order in DIV_ORDERS}
        measured |= {"unique_share": unique_share(tokens), "compression_ratio": compression_ratio(texts)}
        for kernel, eigenvalues in _decomposed(ngrams, i, texts, kernels, f"{sides[side].name}[{row}]").items():
            measured |= named_vendi_scores(kernel, eigenvalues, kernels.orders)
        if kernels.embedding is not None:
            measured["pairwise_distance"] = pairwise_distance(np.stack([kernels.embedding[text] for text in texts]))
        for name, value in measured.items():
            values[side].setdefault(name, []).append(value)
    for own, found_of_side in zip((sets[:n_rows], sets[n_rows:]), values, strict=True):
        found_of_side |= self_bleu_values(self_statistics([tokens for _, tokens in own]))
    return values


def linear_values(side: Sets, kernels: Kernels) -> dict[str, float]:
    """Compute the values that take linear time, of all captions of a side as one set."""
    texts = [text for row in side.texts for text in row]
    tokens = [caption for row in side.tokens for caption in row]
    values = {f"div_{order}": div_n(tokens, order) for order in DIV_ORDERS}
    values |= {"unique_share": unique_share(tokens), "compression_ratio": compression_ratio(texts)}
    values["mbleu_4"] = corpus_mbleu_4(self_statistics(side.tokens))
    if kernels.embedding is not None:
        # Sorted, so that the order of the rows cannot change a digit of the sums.
        vectors = np.stack([kernels.embedding[text] for text in sorted(texts)])
        values |= named_vendi_scores("embedding", feature_eigenvalues(vectors), kernels.orders)
        values["pairwise_distance"] = pairwise_distance(vectors)
    return values


def sorted_set(side: Sets, i: int) -> tuple[list[str], list[Sequence[str]]]:
    """Return the captions of a row by the alphabet of their tokens, and the tokens."""
    pairs = sorted(zip(side.texts[i], side.tokens[i], strict=True), key=lambda pair: (list(pair[1]), pair[0]))
    return [text for text, _ in pairs], [tokens for _, tokens in pairs]


def _decomposed(ngrams: SetNgrams, i: int, texts: list[str], kernels: Kernels, where: str) -> dict[str, np.ndarray]:
    """Eigenvalues of each kernel of a set."""
    eigenvalues = {}
    if kernels.ngram:
        eigenvalues["ngram"] = feature_eigenvalues(unit_rows(ngrams.features(i, None)))
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
    """Mean cosine distance of all pairs of a set, in linear time, from 0 (all the same) to 1 + 1 / (n - 1), at most 2.

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


def mean_of_defined(values: Iterable[float]) -> float:
    """Mean of the values that are not NaN; NaN if there are none."""
    defined = [value for value in values if not math.isnan(value)]
    # fsum is exact, so the order of the rows cannot change the last digit.
    return math.fsum(defined) / len(defined) if defined else math.nan


def row_result(
    candidates: Mapping[str, Sequence[float]], references: Mapping[str, Sequence[float]], details: bool
) -> dict[str, float | list[float]]:
    """Build the keys of values that each row has.

    For each name the mean over the rows where it is defined: of the candidates under the name, of the references with
    `REFERENCES` behind it, and of the differences of rows where both are defined with `DIFFERENCE`. With `details` also
    the lists under `_per_row`.
    """
    result: dict[str, float | list[float]] = {}
    for name, ours in candidates.items():
        human = references[name]
        differences = [a - b for a, b in zip(ours, human, strict=True)]
        for key, values in ((name, ours), (name + REFERENCES, human), (name + DIFFERENCE, differences)):
            result[key] = mean_of_defined(values)
            if details:
                result[f"{key}_per_row"] = list(values)
    return result


def set_result(candidates: Mapping[str, float], references: Mapping[str, float]) -> dict[str, float]:
    """Build the keys of values of all captions of a side.

    >>> set_result({"div_1": 0.5}, {"div_1": 0.25})
    {'corpus_div_1': 0.5, 'corpus_div_1_references': 0.25, 'corpus_div_1_difference': 0.25}
    """
    result = {}
    for name, value in candidates.items():
        result[f"corpus_{name}"] = value
        result[f"corpus_{name}{REFERENCES}"] = references[name]
        result[f"corpus_{name}{DIFFERENCE}"] = value - references[name]
    return result


def check_kernels(kernels: object) -> None:
    """Raise unless `kernels` are different names of `KERNELS` and at most one function."""
    if not isinstance(kernels, list | tuple):
        raise TypeError(
            f"kernels: expected a list, got {shown_value(kernels)}. Give for example ('ngram',), or a list with a "
            "function."
        )
    for kernel in kernels:
        if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
            raise ValueError(
                f"kernels: expected 'ngram', 'embedding' or a function, got {shown_value(kernel)}. Check the spelling."
            )
    names = kernel_names(kernels)
    if len(set(names)) < len(names):
        raise ValueError(
            f"kernels: expected each kernel once and at most one function, got {shown_value(names)}. Compute twice for "
            "two functions."
        )


def kernel_names(kernels: Iterable[str | KernelFunction]) -> list[str]:
    """Name the kernels as keys do."""
    return [kernel if isinstance(kernel, str) else FUNCTION_NAME for kernel in kernels]


def check_orders(orders: object) -> None:
    """Raise unless `orders` are different numbers from `SMALLEST_ORDER` to `LARGEST_ORDER`, or infinity."""
    if not isinstance(orders, list | tuple):
        raise TypeError(
            f"vendi_orders: expected a list of numbers, got {shown_value(orders)}. Give for example (1, 2)."
        )
    for order in orders:
        check_is_number("vendi_orders", order, "Write math.inf for infinity.")
        if not (SMALLEST_ORDER <= order <= LARGEST_ORDER or order == math.inf):
            raise ValueError(
                f"vendi_orders: expected numbers from {SMALLEST_ORDER} to {LARGEST_ORDER}, or infinity, got "
                f"{shown_value(order)}. Usual ones are 1, 2 and math.inf."
            )
    names = [order_name(order) for order in orders]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"vendi_orders: expected at least one order, and each once, got {shown_value(orders)}. Give for example "
            "(1, 2)."
        )


def order_name(order: float) -> str:
    """Name an order as keys do.

    >>> [order_name(order) for order in (1, 2.0, 2.5, math.inf)]
    ['1', '2', '2.5', 'inf']
    """
    return f"{order:g}"


def measured_rows(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], sizes: str
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the captions of both sides that are measured, n_rows lists each.

    `sizes` is "equal" for the first captions of the larger side of a row, as many as the other side has, or "all".

    >>> measured_rows([["a", "b"]], [["c"]], "equal")
    ([['a']], [['c']])
    """
    if sizes == "all":
        return [list(row) for row in predictions], [list(row) for row in references]
    counts = [min(len(p), len(r)) for p, r in zip(predictions, references, strict=True)]
    first, second = ([list(row[:n]) for row, n in zip(rows, counts, strict=True)] for rows in (predictions, references))
    return first, second


def check_set_sizes(rows: Sequence[Sequence[str]], column: str) -> None:
    """Raise if a set has more than `MOST_CAPTIONS` captions."""
    large = [i for i, row in enumerate(rows) if len(row) > MOST_CAPTIONS]
    if large:
        raise ValueError(
            f"{column}[{large[0]}]: expected at most {MOST_CAPTIONS:,} captions in a set, got {len(rows[large[0]]):,} "
            f"({len(large)} such rows in all). Give a sample of them; vdtk_diversity measures whole data sets."
        )
