"""Mean and covariance of vectors that come in blocks and parts, as a triangular factor: no covariance is formed.

A set of vectors is held as their number, their mean and a triangular R with R'R = the sum of the outer products of the
centred vectors. Two sets are joined by one QR decomposition (Chan, Golub and LeVeque 1983, equation 2.1,
https://doi.org/10.1080/00031305.1983.10483115, for the mean and the sum; Demmel et al. 2012, section 3,
https://doi.org/10.1137/080731992, for R). Small directions keep the digits that a covariance would lose.
"""

from collections.abc import Mapping

import numpy as np

from .base_types import Progress

# Vectors decomposed at once.
BLOCK_SIZE = 8_192


class Moments:
    """Number, mean and factor of the covariance of vectors.

    >>> whole, part = Moments(), Moments()
    >>> whole.add(np.array([[1.0], [2.0], [6.0]]), np.array([2, 1, 1]))
    >>> part.add(np.array([[1.0], [6.0]]), np.array([1, 1]))
    >>> part.add(np.array([[1.0], [2.0]]), np.array([1, 1]))
    >>> [(moments.n, moments.mean.tolist(), (moments.factor() ** 2).round(3).tolist()) for moments in (whole, part)]
    [(4, [2.5], [[5.667]]), (4, [2.5], [[5.667]])]
    """

    def __init__(self) -> None:
        self.n = 0
        # float64 array, shape (d,).
        self.mean = np.empty(0)
        self._root = np.empty((0, 0))

    def add(
        self,
        vectors: np.ndarray,
        counts: np.ndarray,
        progress: Progress = lambda steps, **_: steps,
        block_size: int = BLOCK_SIZE,
    ) -> None:
        """Take in vectors, finite and floating-point, shape (n_vectors, d), each as often as its count says.

        `counts` are whole numbers, shape (n_vectors,); `progress` wraps the blocks, `block_size` vectors decomposed at
        once.
        """
        used = np.flatnonzero(counts)
        for start in progress(range(0, len(used), block_size), desc="pooled covariance", unit="block", delay=1):
            block = used[start : start + block_size]
            # From the first vector: differences of vectors near each other are exact.
            first = vectors[block[0]].astype(np.float64)
            shifted, weights = vectors[block].astype(np.float64) - first, counts[block].astype(np.float64)
            mean = weights @ shifted / weights.sum()
            self._join(int(weights.sum()), first + mean, np.sqrt(weights)[:, None] * (shifted - mean))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the moments as arrays, for `merge`."""
        return {"n": np.array(self.n), "mean": self.mean, "root": self._root}

    def merge(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Merge the `arrays` of other moments of vectors of the same length."""
        self._join(int(arrays["n"]), arrays["mean"], arrays["root"])

    def factor(self) -> np.ndarray:
        """Return R with R'R = the covariance, divisor n - 1: float64 array, shape (at most d, d). Needs two vectors."""
        return self._root / np.sqrt(self.n - 1)

    def _join(self, n: int, mean: np.ndarray, root: np.ndarray) -> None:
        """Take in n vectors of this mean, with root'root = the sum of their centred outer products."""
        if not n:
            return
        total, between = self.n + n, []
        if self.n:
            difference = mean - self.mean
            between = [self._root, np.sqrt(self.n * n / total) * difference[None]]
            mean = self.mean + n / total * difference
        joined = np.concatenate([*between, root])
        self.n, self.mean, self._root = total, mean, triangular(joined) if len(joined) > joined.shape[1] else joined


def triangular(factor: np.ndarray) -> np.ndarray:
    """R of the QR decomposition of (..., n, d) arrays: R'R = factor'factor in min(n, d) rows."""
    upper: np.ndarray = np.linalg.qr(factor, mode="r")  # type: ignore[assignment]  # with this mode R alone
    return upper
