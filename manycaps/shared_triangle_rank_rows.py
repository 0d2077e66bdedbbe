"""Triangle-rank statistic, plain metric and p-value of every row, whatever the distance."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .shared_corpus_test import CorpusTest, RowSplits, partitions_of
from .shared_distribution_results import ExaminedRow, examined_row, rows_by_size
from .shared_partition_test import Partitions
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
    """Results of all rows: statistic and plain metric, float64 arrays of shape (n_rows,); tests where asked for."""

    statistic: np.ndarray
    plain: np.ndarray
    tests: CorpusTest | None


def check_statistic_sizes(sizes: Sequence[tuple[int, int]], statistic: str, p_value: str) -> None:
    """Raise if a row is too large for a p-value of the statistic "per_side".

    Args:
        sizes: (n_candidates, n_references) of each row.
        statistic: "per_side" or "pooled".
        p_value: "none", "exact" or "permutation".

    Raises:
        ValueError: "per_side", and a p-value is asked for more than `MAX_PER_SIDE_TEXTS` texts.
    """
    if statistic == "pooled" or p_value == "none":
        return
    for i, size in enumerate(sizes):
        if sum(size) > MAX_PER_SIDE_TEXTS:
            raise ValueError(
                f"predictions[{i}], references[{i}]: expected at most {MAX_PER_SIDE_TEXTS} captions in all for "
                f"p-values with statistic='per_side', got {sum(size)}. Use statistic='pooled', or p_value='none'."
            )


def triangle_rank_rows(
    predictions: Sequence[Sequence[Text]],
    references: Sequence[Sequence[Text]],
    compare: Callable[[list[list[Text]]], tuple[np.ndarray, np.ndarray]],
    aggregate: Callable[[np.ndarray, int], np.ndarray],
    row_key: Callable[[int], bytes],
    options: Mapping[str, Any],
    progress: Callable[..., Iterable[Any]],
) -> TriangleRankRows:
    """Compare the texts of every row, reduce each row to its statistic and its plain metric, and test the statistic.

    Rows of equal sizes are handled together, in batches of bounded memory; a row's results do not depend on the others.

    Args:
        predictions: n_rows lists of candidates, as strings or whatever `compare` takes for a text.
        references: n_rows lists of references.
        compare: from rows of texts of one length to two float64 arrays of shape (len(rows), n_texts, n_texts): the
            scores of the plain metric, and the distances, finite and 0 for equal texts.
        aggregate: from scores and the number of candidates to the plain metric of each row (Chan et al. 2022,
            equation 1).
        row_key: from the number of a row to what its draws depend on, see `shared_corpus_test.row_keys`.
        options: statistic, p_value, max_partitions, n_resamples and seed.
        progress: wraps the batches in a progress bar, as `tqdm` does.

    Returns:
        The results in the order of the rows.

    Raises:
        ValueError: a row is too large for the p-value asked for.
    """
    sizes = [(len(p), len(r)) for p, r in zip(predictions, references, strict=True)]
    check_statistic_sizes(sizes, options["statistic"], options["p_value"])
    batches = rows_by_size(sizes, lambda n_texts: max(1, PAIRS_PER_BATCH // n_texts**2))
    # Before any work: a row with too many splits for an exact test.
    splits = RowSplits(sizes, options) if options["p_value"] != "none" else None
    statistic, plain = np.empty((2, len(sizes)))
    for size, rows in progress(batches, desc="triangle ranks", unit="batch", delay=1):
        scores, distances = compare([[*predictions[i], *references[i]] for i in rows])
        plain[rows] = aggregate(scores, size[0])
        statistic[rows] = triangle_rank_statistic(triangle_rank_counts(distances, size[0]), options["statistic"])
        if splits:
            null_values = functools.partial(_null_values, distances, options["statistic"])
            splits.add(size, rows, row_key, statistic[rows], null_values)
    return TriangleRankRows(statistic, plain, splits.test(statistic) if splits else None)


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


def _null_values(distances: np.ndarray, statistic: str, part: slice, partitions: Partitions) -> Iterable[np.ndarray]:
    """Null values of some rows of a batch, as `RowSplits.add` takes them."""
    return null_statistics(distances[part], partitions, statistic)
