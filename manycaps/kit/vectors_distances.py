"""Cosine similarities and distances of all pairs of vectors in a row, and other distances by name."""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from .arrays import LARGEST_SIZE, Floats, as_numbers, plain_arguments
from .errors import InputError, InputImportError, as_input_errors, quote_value, reason_of
from .rows import as_rows
from .vectors_checks import refuse_zeros
from .vectors_rows import EmbeddingRows

# Largest and smallest distances, by the largest of a row, whose squares can be added up in float64.
LARGEST_DISTANCE, SMALLEST_DISTANCE = 1e100, 1e-100


def cosine_similarities(vectors: np.ndarray) -> np.ndarray:
    """Return the cosine of every pair of texts of float64 vectors, shape (n_rows, n_texts, d), none of them all zeros.

    Returns a float64 array, shape (n_rows, n_texts, n_texts), -1 to 1, symmetric, 1 on the diagonal. A cosine
    within its rounding error of 1 is 1: otherwise texts that are all equal would be ranked by rounding errors.
    """
    # By the largest number first: squares of small or large ones could leave the range of float64.
    vectors = vectors / np.abs(vectors).max(axis=2, keepdims=True)
    vectors /= np.sqrt(np.einsum("bnd,bnd->bn", vectors, vectors))[..., None]
    cosines = np.clip(vectors @ vectors.swapaxes(1, 2), -1, 1)
    rounding = (vectors.shape[2] + 2) * 2.0**-52  # bound for two norms, two divisions and a product of d numbers
    cosines[cosines >= 1 - rounding] = 1
    return cosines


def distances_from_cosines(cosines: np.ndarray) -> np.ndarray:
    """Return d(x, y) = 1 - cosine (Chan et al. 2022, appendix B.1), 0 to 2: float64 arrays of any shape."""
    return 1 - cosines


def multi_reference_cosine(cosines: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the mean over the candidates of the cosine with the nearest reference.

    Chan et al. (2022), equation 1, where the best reference counts, as in METEOR.

    `cosines` is float64 of shape (n_rows, n_texts, n_texts), candidates first. Shape (n_rows,), -1 (worst) to 1 (best).
    """
    return cosines[:, :n_candidates, n_candidates:].max(axis=2).mean(axis=1)


def check_nonzero(rows: EmbeddingRows, columns: tuple[str, str], _options: Mapping[str, Any] | None = None) -> None:
    """Raise if a text's vector is all zeros and so has no cosine, whatever the options."""
    is_zero = (rows.vectors == 0).all(axis=1)  # (n_vectors,)
    if is_zero.any():
        refuse_zeros(dict(zip(columns, ([is_zero[numbers] for numbers in side] for side in rows[1:3]), strict=True)))


# Distances of scipy that depend on two vectors alone. Those that are scaled by the variances of all vectors
# (seuclidean, mahalanobis) are left out, as are distances of booleans.
DISTANCE_NAMES = (
    "cosine",
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "correlation",
    "braycurtis",
    "canberra",
    "jensenshannon",
)


def vector_distances(vectors: np.ndarray, name: str) -> np.ndarray:
    """Compute the distance of a row's pairs of vectors, by a name of `DISTANCE_NAMES`, as in `scipy.spatial.distance`.

    `vectors` is float64, shape (n_rows, n_texts, d); no vector is all zeros for "cosine", which equals `trm_bert`'s to
    the last bit. Returns a float64 array, shape (n_rows, n_texts, n_texts), 0 on the diagonal; NaN where the distance
    is not defined, such as the correlation with a constant vector.
    """
    with np.errstate(all="ignore"):  # what is not defined is NaN, and found by `check_defined`
        if name == "correlation":
            vectors = vectors - vectors.mean(axis=2, keepdims=True)
        if name in ("cosine", "correlation"):
            distances = distances_from_cosines(cosine_similarities(vectors))
        else:
            distances = np.stack([cdist(row, row, metric=name) for row in vectors])
    texts = np.arange(vectors.shape[1])
    distances[:, texts, texts] = 0
    return distances


def check_defined(distances: np.ndarray, name: str) -> None:
    """Raise if a pair of vectors has no distance."""
    undefined = ~np.isfinite(distances)
    if undefined.any():
        _, i, j = (int(index) for index in np.argwhere(undefined)[0])
        got = f"a row in which it is not finite for texts {i} and {j} ({int(undefined.sum())} such pairs in the batch)"
        raise InputError(
            f"distance={name!r}", "vectors that have this distance", got, "Use another, such as 'euclidean'."
        )


def nearest_reference_distance(distances: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the mean over the candidates of the distance of the nearest reference.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with the best reference counting.

    `distances` is float64 of shape (n_rows, n_texts, n_texts), candidates first; [r, i, j] is the distance of text j
    from text i, so that the references come first in a pair. Shape (n_rows,).
    """
    return distances[:, n_candidates:, :n_candidates].min(axis=1).mean(axis=1)


def check_distance_diagonals(matrices: Sequence[np.ndarray]) -> None:
    """Raise unless all distances of texts from themselves are 0, in n_rows arrays of shape (n_texts, n_texts)."""
    for row, matrix in enumerate(matrices):
        own = np.flatnonzero(np.diag(matrix))
        if own.size:
            i = int(own[0])
            raise InputError(
                f"distances[{row}][{i}][{i}]",
                "0, a text from itself",
                matrix[i, i],
                "Give distances, not similarities.",
            )


def check_distance_scale(matrices: Sequence[np.ndarray]) -> None:
    """Raise unless the squares of all distances, n_rows arrays (n_texts, n_texts), stay within the range of float64."""
    for row, matrix in enumerate(matrices):
        largest = float(np.abs(matrix).max())
        if largest > LARGEST_DISTANCE or 0 < largest < SMALLEST_DISTANCE:
            expected = f"a largest distance from {SMALLEST_DISTANCE:g} to {LARGEST_DISTANCE:g}, or 0"
            raise InputError(f"distances[{row}]", expected, f"{largest:g}", "Give the distances in another unit.")


# Prefix of the name of a metric: "evaluate:rouge:rougeL".
EVALUATE_PREFIX = "evaluate:"

# Meaning of a larger score of an evaluate metric.
EVALUATE_SCORES = ("similarity", "distance")

# Options under which a metric gives one score per pair, not their mean.
PER_PAIR_OPTIONS = {"rouge": {"use_aggregator": False}}

# From two lists of n texts to n distances: of the first of one and the first of the other, and so on.
TextDistance = Callable[[list[str], list[str]], Any]


def text_distances(rows: Sequence[Sequence[str]], distance: TextDistance) -> list[np.ndarray]:
    """Return the distance of a row's ordered pairs of texts, each distinct pair asked for once; equal texts have 0.

    For each row a float64 array, shape (n_texts, n_texts): [i, j] is distance(text i, text j).

    >>> text_distances([["a", "bcd", "a"]], lambda xs, ys: [abs(len(x) - len(y)) for x, y in zip(xs, ys)])[0].tolist()
    [[0.0, 2.0, 0.0], [2.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    """
    numbers: dict[tuple[str, str], int] = {}
    for row in rows:
        for x in row:
            for y in row:
                if x != y:
                    numbers.setdefault((x, y), len(numbers))
    values = np.zeros(len(numbers) + 1)  # the last one is for equal texts
    if numbers:
        first, second = (list(side) for side in zip(*numbers, strict=True))
        values[:-1] = _as_values(distance(first, second), len(numbers))
    return [np.array([[values[numbers.get((x, y), -1)] for y in row] for x in row]) for row in rows]


def _as_values(returned: object, n_pairs: int) -> np.ndarray:
    """Convert a function's result to n_pairs float64 numbers."""
    expected, advice = f"{n_pairs} numbers from the function", "Return one number for each pair of the two lists."
    values = as_numbers(returned, "distance", expected, advice, "biufcO", np.float64)
    if values.shape != (n_pairs,):
        raise InputError("distance", expected, f"an array of shape {values.shape}", advice)
    is_usable = np.abs(values) <= LARGEST_SIZE  # not NaN
    if not is_usable.all():
        first = int(np.argmin(is_usable))
        expected = f"finite numbers of size at most {LARGEST_SIZE:g} from the function"
        got = f"{values[first]} for pair {first} of {n_pairs}"
        raise InputError("distance", expected, got, "Return a large distance for pairs that have none.")
    return values


def check_evaluate_name(name: str) -> None:
    """Raise unless `name` is "evaluate:", the name of a metric, and if need be ":" and the key of its result."""
    metric, _, key = name.removeprefix(EVALUATE_PREFIX).partition(":")
    if not metric.strip() or (":" in name.removeprefix(EVALUATE_PREFIX) and not key.strip()):
        raise InputError(
            "distance",
            "'evaluate:NAME' or 'evaluate:NAME:KEY'",
            quote_value(name),
            "For example 'evaluate:rouge:rougeL'.",
        )


def evaluate_distance(name: str, scores: str, load: Callable[[str], Any]) -> TextDistance:
    """Return the distance of a metric of the package evaluate.

    d(x, y) = 1 - score(references=x, predictions=y), or the score itself where that is a distance already. The ranks of
    triangles ask for the order of distances alone, so the range of the score does not matter.

    `name` is "evaluate:NAME:KEY", where the key of the result is the metric's own name if it is left out; `scores` is
    "similarity" or "distance". The function takes two lists of texts; a metric that gives a list under its key is asked
    once, any other one pair by pair.
    """
    metric_name, _, key = name.removeprefix(EVALUATE_PREFIX).partition(":")
    try:
        metric = load(metric_name)
    except Exception as error:  # of the Hub, of the network, of packages that the metric lacks
        expected, got = (
            f"a metric of evaluate, {quote_value(metric_name)}",
            f"{type(error).__name__} ({reason_of(error)})",
        )
        fix = "Check name and connection, install what it needs, or give a function of two lists."
        raise InputImportError("distance", expected, got, fix) from error
    key = key or os.path.basename(metric_name.removesuffix(".py"))
    options = PER_PAIR_OPTIONS.get(os.path.basename(metric_name.removesuffix(".py")), {})

    def distance(first: list[str], second: list[str]) -> np.ndarray:
        values = _as_values(_scores(metric, key, options, first, second), len(first))
        return 1 - values if scores == "similarity" else values

    return distance


def _scores(metric: Any, key: str, options: dict[str, Any], references: list[str], predictions: list[str]) -> list[Any]:
    ask = functools.partial(_ask, metric, key, options, as_lists=takes_lists(metric))
    # The first two pairs show whether the metric scores pairs or means over them.
    n_tried = min(2, len(references))
    tried = ask(references[:n_tried], predictions[:n_tried])
    if isinstance(tried, list | tuple | np.ndarray) and len(tried) == n_tried:
        rest = ask(references[n_tried:], predictions[n_tried:]) if len(references) > n_tried else []
        return [*tried, *rest]
    scores = [ask([reference], [prediction]) for reference, prediction in zip(references, predictions, strict=True)]
    return [s[0] if isinstance(s, list | tuple | np.ndarray) and len(s) == 1 else s for s in scores]


def takes_lists(metric: Any) -> bool:
    """Return whether a metric takes a list of references for each prediction, and not a single text."""
    features = getattr(metric, "features", None)
    alternatives = features if isinstance(features, list) else [features]
    # Features of lists, and they alone, have a feature inside.
    return all(hasattr((form or {}).get("references"), "feature") for form in alternatives)


def _ask(
    metric: Any, key: str, options: dict[str, Any], references: list[str], predictions: list[str], *, as_lists: bool
) -> Any:
    sides = {"references": [[text] for text in references] if as_lists else references, "predictions": predictions}
    with as_input_errors("distance", "a metric of pairs of texts", "Use another metric.", quote_value(metric.name)):
        result = metric.compute(**sides, **options)
    if not isinstance(result, dict) or key not in result:
        keys = sorted(result) if isinstance(result, dict) else type(result).__name__
        expected = f"the key {quote_value(key)} in the result of {quote_value(metric.name)}"
        raise InputError("distance", expected, quote_value(keys), "Write 'evaluate:NAME:KEY'.")
    return result[key]


def distance_name(distance: object) -> str:
    """Return the name of a distance, or of a function, for a signature."""
    return distance if isinstance(distance, str) else getattr(distance, "__name__", type(distance).__name__)


@plain_arguments
def cosine_distances(vectors: npt.ArrayLike) -> Floats:
    """Give the cosine distance of all pairs of texts of a row: d(x, y) = 1 - cosine.

    Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518; the authors' program takes the similarity
    itself for the distance.

    Args:
        vectors: floating-point array, shape (n_rows, n_texts, d), finite, no vector all zeros.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), 0 to 2, symmetric.

    Raises:
        ValueError: another shape, or a vector that is not finite or all zeros.

    >>> cosine_distances([[[2.0, 0.0], [0.0, 3.0]]]).tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]
    """
    rows = as_rows(vectors, "vectors")
    is_zero = ~rows.any(axis=2)
    if is_zero.any():
        row, text = np.argwhere(is_zero)[0].tolist()
        expected = "a vector that is not all zeros, which has no cosine"
        raise InputError(f"vectors[{row}][{text}]", expected, "zeros", "Leave this text out.")
    return distances_from_cosines(cosine_similarities(rows))
