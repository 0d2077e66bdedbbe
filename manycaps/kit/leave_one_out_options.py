"""Options of leave-one-out beyond those that all modules share, and ready vectors: checked before any work."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .base_messages import shown_value
from .base_module import check_choice, check_confidence_level, check_whole_number
from .leave_one_out_scores import EMBEDDING_METRICS, METRICS
from .vectors_checks import as_embedding_arrays

# Most iterations, each of which keeps a few numbers for each row while it is drawn; most references, and hypotheses, of
# a row.
MOST_ITERATIONS, MOST_REFERENCES = 1_000_000, 1_000_000

# Name of the keyword.
COLUMN = "data_embeddings"


def check_metrics(metrics: object) -> None:
    """Raise unless `metrics` are names of `METRICS`, at least one, none twice."""
    if not isinstance(metrics, list | tuple):
        raise TypeError(
            f"metrics: expected a list or tuple of names, got {type(metrics).__name__}. Give for example ('bleu', "
            "'cider_d')."
        )
    if not metrics:
        raise ValueError("metrics: expected at least one name, got none. Give for example ('bleu', 'cider_d').")
    for i, metric in enumerate(metrics):
        check_choice(f"metrics[{i}]", metric, METRICS)
        if metric in metrics[:i]:
            raise ValueError(f"metrics[{i}]: expected each metric once, got {shown_value(metric)} again. Remove one.")


def check_numbers(n_iterations: object, n_references: object, n_hypotheses: object, seed: object) -> None:
    """Raise unless the numbers of iterations, references and hypotheses, and the seed, are legal."""
    check_whole_number("n_iterations", n_iterations, 1, MOST_ITERATIONS)
    if n_references is not None:
        check_whole_number("n_references", n_references, 1, MOST_REFERENCES)
    check_whole_number("n_hypotheses", n_hypotheses, 1, MOST_REFERENCES)
    check_whole_number("seed", seed, 0)


def least_sizes(metric: str, n_hypotheses: int, estimator: str) -> tuple[int, int]:
    """Return how many hypotheses and references of a row a metric needs.

    >>> least_sizes("bleu", 1, "unbiased"), least_sizes("trm_bert", 1, "unbiased"), least_sizes("fid_bert", 1, "biased")
    ((1, 1), (1, 2), (2, 2))
    """
    if metric.startswith("trm_"):  # a triangle has three texts
        return 1, 3 - min(n_hypotheses, 2)
    has_two = metric == "fid_bert" or (metric == "mmd_bert" and estimator != "biased")
    return (2, 2) if has_two else (1, 1)


def check_together(options: Mapping[str, Any]) -> None:
    """Raise unless the options of a call fit each other."""
    n_hypotheses, n_references = options["n_hypotheses"], options["n_references"]
    for metric in options["metrics"]:
        least = least_sizes(metric, n_hypotheses, options["estimator"])
        biased = ", or estimator='biased'" if metric == "mmd_bert" else ""
        for name, number, needed in zip(
            ("n_hypotheses", "n_references"), (n_hypotheses, n_references), least, strict=True
        ):
            if number is not None and number < needed:
                raise ValueError(
                    f"{name}: expected at least {needed} for the metric {metric}, got {number}. Give {name}={needed}"
                    f"{biased}, or leave the metric out."
                )
        if metric in EMBEDDING_METRICS and (options["pos"] is not None or options["head_share"] < 1):
            raise ValueError(
                f"metrics: expected metrics of tokens where words are masked by pos or head_share, got {metric!r}. "
                "Leave it out: an encoder would read the spelling of unknown words."
            )


def check_row_sizes(rows: Sequence[Sequence[str]], options: Mapping[str, Any]) -> None:
    """Raise unless there are rows with references, and enough of both for the metrics."""
    sizes = {i: len(row) for i, row in enumerate(rows) if len(row) > 1}
    if not sizes:
        raise ValueError("data: expected at least one row with two captions, got none. A caption needs a reference.")
    if "cider_d" in options["metrics"] and len(sizes) < 2:
        raise ValueError(
            "data: expected at least 2 rows with two captions for cider_d, which weights n-grams by the number of rows "
            "that have them, got 1. Give more rows, or other metrics."
        )
    n_hypotheses = options["n_hypotheses"]
    for metric in options["metrics"]:
        n_references = least_sizes(metric, n_hypotheses, options["estimator"])[1]
        short = [i for i, size in sizes.items() if size < n_hypotheses + n_references]
        if short:
            raise ValueError(
                f"data[{short[0]}]: expected at least {n_hypotheses + n_references} captions for {metric}, "
                f"{n_hypotheses} drawn and {n_references} or more references, got {sizes[short[0]]} ({len(short)} such "
                "rows in all). Leave these rows out, or the metric."
            )


def check_interval(confidence_level: object) -> None:
    """Raise unless `confidence_level` is a number between 0 and 1; None is refused: there always is an interval."""
    if confidence_level is None:
        raise TypeError("confidence_level: expected a number, got None. Give a float such as 0.95.")
    check_confidence_level(confidence_level)


def as_row_vectors(embeddings: object, rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """Check ready embeddings against the captions that they belong to, and return the arrays.

    `embeddings` are n_rows floating-point arrays of shape (n_captions, d), or one of shape (n_rows, n_captions, d).

    Raises:
        TypeError: no list of arrays of floating-point numbers.
        ValueError: another number of rows, of vectors in a row, or of dimensions; NaN, or a number that is too large.

    >>> [array.shape for array in as_row_vectors([[[1.0, 0.0], [0.0, 1.0]]], [["a dog", "a cat"]])]
    [(2, 2)]
    """
    arrays = as_embedding_arrays(embeddings, COLUMN)
    if len(arrays) != len(rows):
        raise ValueError(
            f"{COLUMN}: expected one array for each of the {len(rows)} rows of data, got {len(arrays)}. Row i of both "
            "belongs to one image or video."
        )
    for i, (array, row) in enumerate(zip(arrays, rows, strict=True)):
        if len(array) != len(row):
            raise ValueError(
                f"{COLUMN}[{i}]: expected {len(row)} vectors, as many as captions in data[{i}], got {len(array)}. Give "
                "one vector per caption."
            )
        if array.shape[1] != arrays[0].shape[1]:
            raise ValueError(
                f"{COLUMN}[{i}]: expected {arrays[0].shape[1]} dimensions as in {COLUMN}[0], got {array.shape[1]}. Use "
                "one encoder for all captions."
            )
    return arrays


def check_cosines(rows: Sequence[np.ndarray], places: Sequence[int]) -> None:
    """Raise ValueError, with the first caption and their number, if vectors are all zeros and so have no cosine.

    `rows` are vectors of shape (n_captions, d); `places` the numbers of the rows in the data.
    """
    zeros = [
        (i, int(j)) for i, vectors in zip(places, rows, strict=True) for j in np.flatnonzero((vectors == 0).all(axis=1))
    ]
    if zeros:
        raise ValueError(
            f"data[{zeros[0][0]}][{zeros[0][1]}]: expected an embedding that is not all zeros, which has no cosine "
            f"({len(zeros)} such captions in all), got zeros. Leave these captions out, or use another encoder."
        )
