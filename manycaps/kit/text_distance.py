"""Distances of pairs of texts: a user's function, or a metric of the package evaluate."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .base_messages import reason_of, shown_value
from .base_rows import without_torch

# Prefix of the name of a metric: "evaluate:rouge:rougeL".
EVALUATE_PREFIX = "evaluate:"

# Meaning of a larger score of an evaluate metric.
EVALUATE_SCORES = ("similarity", "distance")

# Options under which a metric gives one score per pair, not their mean.
PER_PAIR_OPTIONS = {"rouge": {"use_aggregator": False}}

# From two lists of n texts to n distances: of the first of one and the first of the other, and so on.
TextDistance = Callable[[list[str], list[str]], Any]


def text_distances(rows: Sequence[Sequence[str]], distance: TextDistance) -> list[np.ndarray]:
    """Distance of all ordered pairs of texts of a row, each distinct pair asked for once; that of equal texts is 0.

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
    values = np.zeros(len(numbers) + 1)  # the last one is that of equal texts
    if numbers:
        first, second = (list(side) for side in zip(*numbers, strict=True))
        values[:-1] = _as_values(distance(first, second), len(numbers))
    return [np.array([[values[numbers.get((x, y), -1)] for y in row] for x in row]) for row in rows]


def _as_values(returned: object, n_pairs: int) -> np.ndarray:
    """Convert a function's result to n_pairs float64 numbers."""
    advice = "Return one number for each pair of the two lists."
    try:
        array = np.asanyarray(without_torch(returned))
        if isinstance(array, np.ma.MaskedArray) or array.dtype.kind in "USMm":
            raise TypeError(f"values of type {array.dtype}")
        values = np.asarray(array, dtype=np.float64)
    except Exception as error:  # whatever a user's type raises
        raise TypeError(
            f"distance: expected {n_pairs} numbers from the function, got {type(returned).__name__} "
            f"({reason_of(error)}). {advice}"
        ) from error
    if values.shape != (n_pairs,):
        raise ValueError(
            f"distance: expected {n_pairs} numbers from the function, got an array of shape {values.shape}. {advice}"
        )
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        raise ValueError(
            f"distance: expected finite numbers from the function, got {values[first]} for pair {first} of {n_pairs}. "
            "Return a large distance for pairs that have none."
        )
    return values


def check_evaluate_name(name: str) -> None:
    """Raise unless `name` is "evaluate:", the name of a metric, and if need be ":" and the key of its result."""
    metric, _, key = name.removeprefix(EVALUATE_PREFIX).partition(":")
    if not metric.strip() or (":" in name.removeprefix(EVALUATE_PREFIX) and not key.strip()):
        raise ValueError(
            f"distance: expected 'evaluate:NAME' or 'evaluate:NAME:KEY', got {shown_value(name)}. Write for example "
            "'evaluate:rouge:rougeL'."
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
        raise ImportError(
            f"distance: expected a metric that evaluate can load as {shown_value(metric_name)}, got "
            f"{type(error).__name__} ({reason_of(error)}). Check the name and the connection, install what it needs, "
            "or give a function of two lists as distance."
        ) from error
    key = key or os.path.basename(metric_name.removesuffix(".py"))
    options = PER_PAIR_OPTIONS.get(os.path.basename(metric_name.removesuffix(".py")), {})

    def distance(first: list[str], second: list[str]) -> np.ndarray:
        values = _as_values(_scores(metric, key, options, first, second), len(first))
        return 1 - values if scores == "similarity" else values

    return distance


def _scores(metric: Any, key: str, options: dict[str, Any], references: list[str], predictions: list[str]) -> list[Any]:
    ask = functools.partial(_asked, metric, key, options, as_lists=takes_lists(metric))
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


def _asked(
    metric: Any, key: str, options: dict[str, Any], references: list[str], predictions: list[str], *, as_lists: bool
) -> Any:
    sides = {"references": [[text] for text in references] if as_lists else references, "predictions": predictions}
    try:
        result = metric.compute(**sides, **options)
    except Exception as error:
        raise ValueError(
            f"distance: expected a metric that scores pairs of texts, got {type(error).__name__} from "
            f"{shown_value(metric.name)} ({reason_of(error)}). Use another metric, or a function of two lists."
        ) from error
    if not isinstance(result, dict) or key not in result:
        keys = sorted(result) if isinstance(result, dict) else type(result).__name__
        raise ValueError(
            f"distance: expected the key {shown_value(key)} in the result of {shown_value(metric.name)}, got "
            f"{shown_value(keys)}. Write 'evaluate:NAME:KEY'."
        )
    return result[key]
