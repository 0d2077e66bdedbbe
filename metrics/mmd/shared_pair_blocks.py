# Vendored from manycaps/shared_pair_blocks.py. Edit it there, then run `make format`.
"""All pairs of a large corpus in blocks: computed on all cores, used in a fixed order, never held together."""

import collections
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import threadpoolctl

# Vectors on a side of a block: its arrays of 0.5 MB stay in a core's cache, and need no new pages from the system.
BLOCK_SIZE = 256

# Wraps the steps of a long loop in a progress bar, as `tqdm` does.
Progress = Callable[..., Iterable[int]]

# From vectors (n, d) and (m, d) to what is known of their pairs, (n, m); None for the second stands for the first.
PairValues = Callable[[np.ndarray, np.ndarray | None], np.ndarray]

Part = TypeVar("Part")


def n_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_blocks(
    work: Callable[[slice, slice, np.ndarray], Part],
    vectors: np.ndarray,
    pair_values: PairValues,
    progress: Progress,
    what: str,
    block_size: int = BLOCK_SIZE,
) -> Iterator[Part]:
    """Give what `work` makes of every block of pairs on and above the diagonal.

    Blocks are computed in threads, as many as there are cores, and given in a fixed order: sums over them do not depend
    on the number of cores. A few blocks are held at once.

    Args:
        work: from the rows and the columns of a block, and its pair values, to its part of the whole; called in
            threads. Equal slices mean a block on the diagonal, which holds each of its pairs twice.
        vectors: floating-point array, shape (n, d).
        pair_values: of two blocks of vectors, as float64.
        progress: wraps the rows of blocks in a progress bar.
        what: what the bar is called.
        block_size: vectors on a side of a block.

    Yields:
        The parts, row of blocks by row of blocks.

    >>> points, differences = np.array([[1.0], [2.0], [4.0]]), lambda a, b: a - (a if b is None else b).T
    >>> list(map_blocks(lambda i, j, v: v.tolist(), points, differences, lambda steps, **_: steps, "", 2))
    [[[0.0, -1.0], [1.0, 0.0]], [[-3.0], [-2.0]], [[0.0]]]
    """
    waiting: collections.deque[Future[Part]] = collections.deque()
    starts = range(0, len(vectors), block_size)
    # One thread of BLAS for each of ours: more would wait for each other.
    with threadpoolctl.threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads()) as pool:
        try:
            for start in progress(starts, desc=what, unit="block", delay=1):
                rows = slice(start, start + block_size)
                block = functools.partial(_of_block, work, vectors, pair_values, rows, _float64(vectors[rows]))
                for other in range(start, len(vectors), block_size):
                    waiting.append(pool.submit(block, slice(other, other + block_size)))
                    if len(waiting) > 2 * n_threads():
                        yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error or ctrl-C: what has not begun never does
            for part in waiting:
                part.cancel()


def _of_block(
    work: Callable[[slice, slice, np.ndarray], Part],
    vectors: np.ndarray,
    pair_values: PairValues,
    rows: slice,
    first: np.ndarray,
    columns: slice,
) -> Part:
    """One block: in a thread."""
    return work(rows, columns, pair_values(first, None if rows == columns else _float64(vectors[columns])))


def _float64(vectors: np.ndarray) -> np.ndarray:
    """Vectors of any floating-point type as float64."""
    return vectors.astype(np.float64, copy=False)
