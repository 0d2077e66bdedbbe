"""Which rows each iteration sees: a function of the seed and the iteration's number, so that no state need be saved."""

import numpy as np


class RowSchedule:
    """Batches of distinct images, each with one of its rows.

    An epoch visits every image once, in an order of its own, and draws one row (caption, generated image, generated
    caption) for each visit: two captions of one image in a batch would be negatives of each other. Images left over
    at the end of an epoch, fewer than a batch, are left out of it.

    Args:
        image_rows: integers, shape (n_rows,): the image of each row, numbered from 0 without gaps.
        batch_size: images of a batch.
        seed: of the orders and draws.

    Raises:
        ValueError: there are fewer images than a batch has.

    >>> schedule = RowSchedule(np.array([0, 0, 1, 2]), batch_size=2, seed=0)
    >>> [schedule.batch(i).tolist() for i in range(3)]
    [[3, 0], [3, 1], [3, 2]]
    """

    def __init__(self, image_rows: np.ndarray, batch_size: int, seed: int) -> None:
        self.batch_size, self.seed = batch_size, seed
        self._rows = np.argsort(image_rows, kind="stable")
        self._counts = np.bincount(image_rows)
        self._starts = np.cumsum(self._counts) - self._counts
        self._epoch, self._epoch_rows = -1, np.empty(0, np.int64)
        if len(self._counts) < batch_size:
            raise ValueError(
                f"batch_size: expected at most the {len(self._counts)} different images of the training rows, got "
                f"{batch_size}. Give more images or a smaller batch."
            )

    @property
    def iterations_per_epoch(self) -> int:
        """Number of batches in which every image is seen once."""
        return len(self._counts) // self.batch_size

    def batch(self, iteration: int) -> np.ndarray:
        """Return the row numbers, shape (batch_size,), of an iteration counted from 0."""
        epoch, batch_number = divmod(iteration, self.iterations_per_epoch)
        if epoch != self._epoch:
            rng = np.random.default_rng([self.seed, epoch])
            order = rng.permutation(len(self._counts))
            draws = (rng.random(len(self._counts)) * self._counts).astype(np.int64)
            self._epoch, self._epoch_rows = epoch, self._rows[(self._starts + draws)[order]]
        return self._epoch_rows[batch_number * self.batch_size :][: self.batch_size]


def validation_batches(image_rows: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Split all rows into batches in which no image occurs twice.

    First come the first rows of all images, then their second rows, and so on; each of these rounds is cut into
    batches of nearly equal size, `batch_size` or somewhat more (fewer only where the round itself has fewer).

    Args:
        image_rows: integers, shape (n_rows,): the image of each row.
        batch_size: least number of rows of a batch.

    Returns:
        Row numbers of each batch; every row occurs once.

    >>> [rows.tolist() for rows in validation_batches(np.array([0, 0, 1, 2, 3]), batch_size=2)]
    [[0, 2], [3, 4], [1]]
    """
    by_image = np.argsort(image_rows, kind="stable")
    counts = np.bincount(image_rows)
    occurrence = np.empty(len(image_rows), np.int64)  # 0 for the first row of an image, 1 for the second, ...
    occurrence[by_image] = np.arange(len(image_rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    batches = []
    for k in range(int(counts.max())):
        rows = np.flatnonzero(occurrence == k)
        batches += np.array_split(rows, max(1, len(rows) // batch_size))
    return batches
