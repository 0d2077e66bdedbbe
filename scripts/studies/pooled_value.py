"""The pooled MMD of a large corpus: its time, and its value beside a plain loop in float64.

python -m scripts.studies.pooled_value [--vectors 100000] [--dimensions 384] [--loop]

Vectors are random ones of length 1, half of them candidates; the bandwidth is half the median distance of all pairs.
The value of `pooled_mmd_squared` and its time are printed. With --loop a plain loop over blocks of pairs follows, which
shares no code with it: it counts the pairs below and up to the median that was found, so that this is the median or an
error, and adds up the kernel. Exits with 1 if both values differ by more than 1e-9.
"""

from scripts.studies.study_options import Options, start_study, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("--vectors", type=int, default=100_000, metavar="N", help="at least 3,000")
parser.add_argument("--dimensions", type=int, default=384, metavar="D")
parser.add_argument("--loop", action="store_true", help="compare the value with that of a plain loop")
parsed = start_study(__name__, parser, "scripts", "metrics/mmd")

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import threadpoolctl

import manycaps.kit.vectors_pooled_mmd as pooled
from manycaps.kit.vectors_pairs import MedianSearch, n_threads

# Vectors on a side of a block of the loop.
BLOCK = 500

# How far rounding may move a squared distance; vectors have the length 1.
ROUNDING = 1e-12


class RecordedSearch(MedianSearch):
    """A `MedianSearch` that keeps what it found in sight."""

    found: float | None = None

    def result(self) -> float | None:
        """Return the median, and keep it."""
        RecordedSearch.found = super().result()
        return RecordedSearch.found


def loop_sums(vectors: np.ndarray, median: float, i: int) -> np.ndarray:
    """Return the pairs below the median, those up to it, and kernel sums among candidates, references, and across.

    Pairs are those of a block of vectors with all from it on, each pair once.
    """
    lengths, first = (vectors**2).sum(axis=1), vectors[i : i + BLOCK]
    is_candidate = (np.arange(len(vectors)) < len(vectors) // 2).astype(float)
    sums = np.zeros(5)
    for j in range(i, len(vectors), BLOCK):
        squared = -2 * (first @ vectors[j : j + BLOCK].T)
        squared += lengths[i : i + BLOCK, None] + lengths[None, j : j + BLOCK]
        if i == j:
            squared[np.tri(len(squared), dtype=bool)] = np.inf
        below, up_to = (np.count_nonzero(squared < limit) for limit in (median - ROUNDING, median + ROUNDING))
        kernel = np.exp(squared * (-2 / median))
        c, d = is_candidate[i : i + BLOCK], is_candidate[j : j + BLOCK]
        across = c @ kernel @ (1 - d) + (1 - c) @ kernel @ d
        sums += (below, up_to, c @ kernel @ d, (1 - c) @ kernel @ (1 - d), across)
    return sums


def loop_value(vectors: np.ndarray, median: float) -> float:
    """Return the unbiased squared MMD of the first half and the second, by sums over blocks."""
    n, m = len(vectors) // 2, len(vectors) - len(vectors) // 2
    with threadpoolctl.threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads()) as pool:
        parts = pool.map(lambda i: loop_sums(vectors, median, i), range(0, len(vectors), BLOCK))
        below, up_to, among, among_others, across = sum(parts, np.zeros(5))
    place = (len(vectors) * (len(vectors) - 1) // 2 - 1) // 2
    if not below <= place < up_to:
        raise ArithmeticError(f"median: expected place {place} at it, got {below:.0f} to {up_to:.0f}. Report it.")
    return float(2 * among / (n * (n - 1)) + 2 * among_others / (m * (m - 1)) - 2 * across / (n * m))


def main(options: Options) -> int:
    """Print the value and its time; 1 if the loop's differs by more than 1e-9."""
    pooled.MedianSearch = RecordedSearch  # type: ignore[misc]
    vectors = np.random.default_rng(0).normal(size=(options.vectors, options.dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = (np.arange(len(vectors)) < len(vectors) // 2).astype(int)
    start, processor = time.perf_counter(), time.process_time()
    value = float(pooled.pooled_mmd_squared(vectors, counts, 1 - counts))
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    print(f"{options.vectors:,} x {options.dimensions}: {value!r}; ", end="")
    print(f"{seconds:.1f} s, {processor:.1f} s of processor time, {n_threads()} threads", flush=True)
    if not options.loop or RecordedSearch.found is None:
        return 0
    start = time.perf_counter()
    expected = loop_value(vectors, RecordedSearch.found)
    print(f"plain loop: {expected!r}, {time.perf_counter() - start:.1f} s; difference {abs(value - expected):.1e}")
    return int(abs(value - expected) > 1e-9)


if __name__ == "__main__":
    sys.exit(main(parsed()))
