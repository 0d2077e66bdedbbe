"""Rows of ready distances or kernel values, which modules of sets take in place of captions or vectors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .sets_module import ComparableRows, DistributionModule, pairs_batch
from .vectors_checks import as_pair_matrices, check_matrices_alone

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

    Args:
        module: that was called.
        columns: what messages on the sizes of candidates and of references name; the first, "distances" or "kernels",
            is the column of the values.
        values: of every two items of each row, candidates first.
        n_candidates: of each row, or of all.
        given: everything else of the call.
        check: raises unless the matrices can be used with the options.
        compare: compares rows of equal sizes.

    Raises:
        TypeError, ValueError: a column is given beside the values, or they cannot be used.
    """
    column = columns[0]
    with module.lock:
        check_matrices_alone(given, column, len(module))
        options, rows = module.call_options(given), as_pair_matrices(values, n_candidates, column)
        check(rows.matrices, options)
        module.check_sizes(rows.sizes(), columns, options)

        def compare_batch(batch: Sequence[int]) -> Any:
            return compare(rows.stacked(batch), rows.n_candidates[batch[0]], options)

        settings = {column.removesuffix("s"): "ready"}
        return module.result_of(
            ComparableRows(rows.sizes(), rows.keys(), compare_batch, pairs_batch, settings), options
        )
