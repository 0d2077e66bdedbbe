"""Rows of ready distances or kernel values, which modules of sets take in place of captions or vectors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .base_messages import reason_of, shown_value
from .base_module import as_plain, check_whole_number
from .base_rows import without_torch
from .sets_module import ComparableRows, DistributionModule, pairs_batch
from .sets_splits import row_keys
from .vectors_checks import listed_rows

# Expected form of the column, for messages.
EXPECTED = "a list of arrays of shape (n_texts, n_texts)"

# Columns that ready values replace.
OTHER_COLUMNS = (
    *("predictions", "references", "prediction_embeddings", "reference_embeddings"),
    *("prediction_images", "reference_images"),
)

# From matrices of rows of equal sizes, shape (n_rows, n, n), the number of their candidates and the options of the call
# to the comparison of these rows.
CompareMatrices = Callable[[np.ndarray, int, Mapping[str, Any]], Any]


def ready_result(
    module: DistributionModule,
    columns: tuple[str, str],
    values: object,
    n_candidates: object,
    given: dict[str, Any],
    check: Callable[[Sequence[np.ndarray], Mapping[str, Any]], None],
    compare: CompareMatrices,
) -> Any:
    """Compute from ready values of every two items of each row, past evaluate's table and any model.

    `columns` are what messages on the sizes of candidates and of references name; the first, "distances" or "kernels",
    is the column of the `values` of every two items of each row, candidates first. `n_candidates` is that of each row,
    or of all. `check` raises unless the matrices can be used with the options, and `compare` compares rows of equal
    sizes. Raises TypeError or ValueError if a column is given beside the values, or they cannot be used.
    """
    column = columns[0]
    with module.lock:
        check_matrices_alone(given, column, len(module))
        options = module.call_options(given)
        listed = listed_rows(values, column, EXPECTED, "Give one array per row.")
        matrices = [_as_matrix(row, f"{column}[{i}]") for i, row in enumerate(listed)]
        counts = _as_counts(n_candidates, [len(matrix) for matrix in matrices], column)
        check(matrices, options)
        sizes = [(n, len(matrix) - n) for n, matrix in zip(counts, matrices, strict=True)]
        module.check_sizes(sizes, columns, options)
        sides = [(matrix[:n], matrix[n:]) for n, matrix in zip(counts, matrices, strict=True)]
        keys = row_keys([first for first, _ in sides], [second for _, second in sides])

        def compare_batch(batch: Sequence[int]) -> Any:
            return compare(np.stack([matrices[i] for i in batch]), counts[batch[0]], options)

        settings = {column.removesuffix("s"): "ready"}
        return module.result_of(ComparableRows(sizes, keys, compare_batch, pairs_batch, settings), options)


def check_matrices_alone(given: dict[str, Any], column: str, n_added: int) -> None:
    """Remove the other columns from the input, and raise if any is given."""
    others = [given.pop(name, None) for name in OTHER_COLUMNS]
    if n_added or any(other is not None for other in others):
        raise ValueError(
            f"{column}: expected {column} in place of captions and embeddings, got both. Leave out the other columns "
            "and rows added before."
        )


def _as_matrix(values: object, where: str) -> np.ndarray:
    try:
        array = np.asanyarray(without_torch(values))
        if isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "fiu":
            raise TypeError(f"numbers of type {array.dtype}")
    except Exception as error:  # ragged lists, tensors without numbers, whatever a user's type raises
        raise TypeError(
            f"{where}: expected an array of numbers, got {type(values).__name__} ({reason_of(error)}). Convert it to "
            "a NumPy array."
        ) from error
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise ValueError(
            f"{where}: expected shape (n_texts, n_texts), got {array.shape}. Give the values of all pairs of the row, "
            "candidates first."
        )
    matrix = np.asarray(array, dtype=np.float64)
    odd = ~np.isfinite(matrix)
    if odd.any():
        i, j = (int(index) for index in np.argwhere(odd)[0])
        raise ValueError(
            f"{where}[{i}][{j}]: expected a finite number, got {matrix[i, j]} ({int(odd.sum())} such numbers in all). "
            "Leave the text out."
        )
    return matrix


def _as_counts(n_candidates: object, n_texts: Sequence[int], column: str) -> list[int]:
    if n_candidates is None:
        raise TypeError(
            "n_candidates: expected a whole number, or one per row, got None. Say how many of the first texts of a row "
            "are candidates."
        )
    given: Any = as_plain(n_candidates)
    is_list = isinstance(given, list | tuple | np.ndarray)
    counts = list(given.tolist() if isinstance(given, np.ndarray) else given) if is_list else [given] * len(n_texts)
    if len(counts) != len(n_texts):
        raise ValueError(
            f"n_candidates: expected one number for each of the {len(n_texts)} rows of {column}, got "
            f"{shown_value(given)}. Give one whole number for all rows, or one per row."
        )
    for i, (count, n) in enumerate(zip(counts, n_texts, strict=True)):
        where = f"n_candidates[{i}]" if is_list else "n_candidates"
        check_whole_number(where, count, 1)
        if count >= n:
            raise ValueError(
                f"{where}: expected at most {n - 1} of the {n} texts of {column}[{i}], got {count}. The others are "
                "references."
            )
    return counts
