# Vendored from helpers/shared_triangle_rank_rows.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Triangle-rank statistic, plain metric and p-value of every row, whatever the distance."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .shared_distribution_results import ExaminedRow, examined_row, partitions_of, rows_by_size
from .shared_partition_test import upper_tail_p_values
from .shared_triangle_rank import (
    MAX_PER_SIDE_TEXTS,
    null_statistics,
    triangle_rank_counts,
    triangle_rank_statistic,
)

# Pairs of texts compared at once (256 rows of 10 + 5): enough to spread numpy's overhead, small enough for its caches.
PAIRS_PER_BATCH = 57_600

# A text as `compare` takes it: a caption, or for ready embeddings the number of its vector.
Text = TypeVar("Text")


class TriangleRankRows(NamedTuple):
    """Results of all rows, each a float64 array of shape (n_rows,); no p-values where none were asked for."""

    statistic: np.ndarray
    plain: np.ndarray
    p_values: np.ndarray | None


def check_statistic_sizes(sizes: Sequence[tuple[int, int]], statistic: str, p_value: str) -> None:
    """Raise if a row is too small for the statistic "per_side", or too large for its p-value.

    Args:
        sizes: (n_candidates, n_references) of each row.
        statistic: "pooled" or "per_side".
        p_value: "none", "exact" or "permutation".

    Raises:
        ValueError: "per_side" and a set has no pair, or a p-value is asked for more than `MAX_PER_SIDE_TEXTS` texts.
    """
    if statistic == "pooled":
        return
    for i, size in enumerate(sizes):
        for column, n in zip(("predictions", "references"), size, strict=True):
            if n < 2:
                raise ValueError(
                    f"{column}[{i}]: expected at least two captions for statistic='per_side', got one. "
                    "Use statistic='pooled'."
                )
        if p_value != "none" and sum(size) > MAX_PER_SIDE_TEXTS:
            raise ValueError(
                f"predictions[{i}], references[{i}]: expected at most {MAX_PER_SIDE_TEXTS} captions in all for "
                f"p-values with statistic='per_side', got {sum(size)}. Use statistic='pooled', or p_value='none'."
            )


def triangle_rank_rows(
    predictions: Sequence[Sequence[Text]],
    references: Sequence[Sequence[Text]],
    compare: Callable[[list[list[Text]]], tuple[np.ndarray, np.ndarray]],
    aggregate: Callable[[np.ndarray, int], np.ndarray],
    options: Mapping[str, Any],
    progress: Callable[..., Iterable[Any]],
) -> TriangleRankRows:
    """Compare the texts of every row, and reduce each row to its statistic, its plain metric and its p-value.

    Rows of equal sizes are handled together, in batches of bounded memory; a row's results do not depend on the others.

    Args:
        predictions: n_rows lists of candidates, as strings or whatever `compare` takes for a text.
        references: n_rows lists of references.
        compare: from rows of texts of one length to two float64 arrays of shape (len(rows), n_texts, n_texts): the
            scores of the plain metric, and the distances, finite and 0 for equal texts.
        aggregate: from scores and the number of candidates to the plain metric of each row (Chan et al. 2022,
            equation 1).
        options: statistic, p_value, max_partitions, n_resamples and seed.
        progress: wraps the batches in a progress bar, as `tqdm` does.

    Returns:
        The results in the order of the rows.

    Raises:
        ValueError: "per_side" with a row too small; or p_value "exact" with a row too large.
    """
    sizes = [(len(p), len(r)) for p, r in zip(predictions, references, strict=True)]
    check_statistic_sizes(sizes, options["statistic"], options["p_value"])
    batches = rows_by_size(sizes, lambda n_texts: max(1, PAIRS_PER_BATCH // n_texts**2))
    # Before any work: a row with too many splits for an exact test.
    with_p = options["p_value"] != "none"
    splits = {size: partitions_of(size, options) for size in sizes} if with_p else {}
    statistic, plain, p_values = np.empty((3, len(sizes)))
    for size, rows in progress(batches, desc="triangle ranks", unit="batch", delay=1):
        scores, distances = compare([[*predictions[i], *references[i]] for i in rows])
        plain[rows] = aggregate(scores, size[0])
        observed = triangle_rank_statistic(triangle_rank_counts(distances, size[0]), options["statistic"])
        statistic[rows] = observed
        if splits:
            p_values[rows] = upper_tail_p_values(
                observed, null_statistics(distances, splits[size], options["statistic"])
            )
    return TriangleRankRows(statistic, plain, p_values if splits else None)


def examine_triangle_ranks(
    prediction: Sequence[Text],
    reference: Sequence[Text],
    compare: Callable[[list[list[Text]]], tuple[np.ndarray, np.ndarray]],
    options: Mapping[str, Any],
) -> ExaminedRow:
    """Give the distances of one row, and its statistic under every split.

    Args:
        prediction: candidates of the row.
        reference: its references.
        compare: as for `triangle_rank_rows`.
        options: statistic, p_value ("exact" or "permutation"), max_partitions, n_resamples and seed.

    Returns:
        The examined row, its pair values being distances.

    Raises:
        ValueError: as for `triangle_rank_rows`.
    """
    size = (len(prediction), len(reference))
    check_statistic_sizes([size], options["statistic"], options["p_value"])
    partitions = partitions_of(size, options)
    _, distances = compare([[*prediction, *reference]])
    statistic = triangle_rank_statistic(triangle_rank_counts(distances, size[0]), options["statistic"])[0]
    null_blocks = null_statistics(distances, partitions, options["statistic"])
    return examined_row(statistic, null_blocks, distances[0])
