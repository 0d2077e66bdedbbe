"""The optimisation itself: batches, processes, AdamW, validation and early stopping, whatever makes the features."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from manycaps.kit.errors import InputError
from manycaps.pac_training.losses import positive_augmented_loss, retrieval_recall
from manycaps.pac_training.recipe import Recipe

# Name of the weighted sum, beside the names of the terms in `losses.py`.
TOTAL = "loss"


class Features(NamedTuple):
    """Features of some rows in the common space, each of shape (n, d); None where the loss does not need them."""

    images: torch.Tensor
    captions: torch.Tensor
    generated_images: torch.Tensor | None
    generated_captions: torch.Tensor | None


class TrainingRows(Protocol):
    """Rows of a data set that become features."""

    # Image of each row, numbered from 0 without gaps, shape (n_rows,).
    image_rows: np.ndarray

    def features(self, rows: np.ndarray, iteration: int | None, following: np.ndarray | None) -> Features:
        """Return the features of these rows, with gradients to what is trained; iteration None to validate.

        The following rows are those that the next iteration will ask for: they may be prepared.
        """


class Processes:
    """Processes that train together as if they were one: each computes the features of its rows, all see the batch.

    An image is compared with the captions of all processes, so every process computes the loss of the whole batch from
    gathered features. Its gradient then reaches the rows that the process made itself; the sum over the processes is
    the gradient of the whole batch, exactly, where averaging losses of separate batches would be another loss. Without
    an accelerator there is one process.
    """

    def __init__(self, accelerator: Any = None) -> None:
        self.accelerator = accelerator
        self._n: int = accelerator.num_processes if accelerator else 1
        self._rank: int = accelerator.process_index if accelerator else 0

    def part(self, n: int) -> slice:
        """Return this process's share of n rows: the shares differ by one row at most."""
        return slice(n * self._rank // self._n, n * (self._rank + 1) // self._n)

    def gather(self, share: torch.Tensor, n: int) -> torch.Tensor:
        """Return all n rows from the shares of all processes; gradients flow back to this process's share."""
        if self._n == 1:
            return share
        rows, own = self.all_rows(share.detach(), n), self.part(n)
        return torch.cat([rows[: own.start], share, rows[own.stop :]])

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace each gradient by its sum over the processes."""
        for parameter in parameters if self._n > 1 else ():
            parameter.grad = self.accelerator.reduce(parameter.grad, "sum")

    def all_rows(self, share: torch.Tensor, n: int) -> torch.Tensor:
        """Return the rows of all shares, without gradients; shares are padded to one length on the way."""
        ends = [n * rank // self._n for rank in range(self._n + 1)]
        sizes = [end - start for start, end in itertools.pairwise(ends)]
        padding = share.new_zeros(max(sizes) - len(share), *share.shape[1:])
        blocks = self.accelerator.gather(torch.cat([share, padding])).split(max(sizes))
        return torch.cat([block[:size] for block, size in zip(blocks, sizes, strict=True)])


class RowSchedule:
    """Batches of distinct images, each with one of its rows.

    An epoch visits every image once, in an order of its own, and draws one row (caption, generated image, generated
    caption) for each visit: two captions of one image in a batch would be negatives of each other. Images left over
    at the end of an epoch, fewer than a batch, are left out of it. `image_rows`, shape (n_rows,), is the image of each
    row, numbered from 0 without gaps.

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
            expected = f"at most the {len(self._counts)} different images of the training rows"
            raise InputError("batch_size", expected, batch_size, "Give more images or a smaller batch.")

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
    """Split all rows into batches in which no image occurs twice; each row is in one batch.

    First come the first rows of all images, then their second rows, and so on; each of these rounds is cut into
    batches of nearly equal size, `batch_size` or somewhat more (fewer only where the round itself has fewer).

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


class Training:
    """A training that can be interrupted after any iteration.

    The batches follow from the seed and the iteration's number, and `state` holds all the rest: a training that resumes
    from a saved state takes the same steps, bit for bit, as one that was never interrupted. What is trained, the
    weights, changes in place; the scale, 1 / tau, is not trained.
    """

    def __init__(
        self,
        training: TrainingRows,
        validation: TrainingRows,
        weights: Mapping[str, torch.nn.Parameter],
        scale: float,
        recipe: Recipe,
        accelerator: Any = None,
    ) -> None:
        self.training, self.validation = training, validation
        self.weights, self.scale, self.recipe = dict(weights), scale, recipe
        self.processes = Processes(accelerator)
        self.schedule = RowSchedule(training.image_rows, recipe.batch_size, recipe.seed)
        self.validation_batches = validation_batches(validation.image_rows, recipe.batch_size)
        self.optimizer = torch.optim.AdamW(
            self.weights.values(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self.iteration = 0
        # Sums of the losses of the steps since the last validation.
        self.sums: dict[str, float] = {}
        # One record of each validation.
        self.history: list[dict[str, float]] = []
        self.best_weights = self._weights_now()

    @property
    def best(self) -> dict[str, float]:
        """Record of the validation with the lowest loss, the first of equal ones."""
        return min(self.history, key=lambda record: record["validation_loss"])

    @property
    def stop_reason(self) -> str | None:
        """Why there is no further step, or None if there is one."""
        if self.history and self.history[-1]["iteration"] - self.best["iteration"] >= self.recipe.patience:
            return f"no better validation loss for {self.recipe.patience} iterations"
        return f"{self.iteration} iterations done" if self.iteration >= self.recipe.max_iterations else None

    def run(self) -> Iterator[dict[str, float]]:
        """Take steps until training stops.

        Yields:
            The losses of each step and, in its turn, the record of each validation (it has the key
            "validation_loss"). Whenever control is with the caller, `state` may be saved.
        """
        while True:
            validated = bool(self.history) and self.history[-1]["iteration"] == self.iteration
            is_last = self.iteration >= self.recipe.max_iterations
            if not validated and (is_last or self.iteration % self.recipe.validate_every == 0):
                yield self._validate()
            if self.stop_reason:
                return
            yield self._step()

    def state(self) -> dict[str, Any]:
        """Return everything that `load_state` needs; tensors are not copied."""
        return {
            "iteration": self.iteration,
            "weights": {name: weight.detach() for name, weight in self.weights.items()},
            "best_weights": self.best_weights,
            "optimizer": self.optimizer.state_dict(),
            "sums": self.sums,
            "history": self.history,
            "recipe": dataclasses.asdict(self.recipe),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Resume from a state of a training with the same rows, weights and recipe."""
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(state["weights"][name])
                self.best_weights[name] = state["best_weights"][name].to(weight.device).clone()
        self.optimizer.load_state_dict(state["optimizer"])
        self.iteration, self.sums = state["iteration"], dict(state["sums"])
        self.history = list(state["history"])

    def _step(self) -> dict[str, float]:
        """Take one step and return its losses."""
        self.optimizer.zero_grad(set_to_none=True)
        features = self._features(self.training, self.schedule.batch(self.iteration), self.iteration)
        loss, parts = self._loss(features)
        losses = {TOTAL: loss.item()} | {name: part.item() for name, part in parts.items()}
        self._check_finite(losses[TOTAL], "training")
        torch.autograd.backward(loss)
        self.processes.sum_gradients(self.weights.values())
        try:
            self.optimizer.step()
        except RuntimeError as error:
            if "overflow" not in str(error):
                raise
            raise self._divergence_error("step", "a number too large for float32") from error
        self.iteration += 1
        self.sums = {name: self.sums.get(name, 0.0) + value for name, value in losses.items()}
        return losses

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        """Compute the losses and the recall on the validation rows, and keep the weights if they are the best."""
        n_rows, n_images = len(self.validation.image_rows), int(self.validation.image_rows.max()) + 1
        totals: dict[str, float] = {}
        kept: list[Features] = []  # of the first row of each image: those batches come first
        for rows in self.validation_batches:
            features = self._features(self.validation, rows, None)
            loss, parts = self._loss(features)
            for name, value in {TOTAL: loss, **parts}.items():
                totals[name] = totals.get(name, 0.0) + value.item() * len(rows) / n_rows
            if sum(len(batch.images) for batch in kept) < n_images:
                kept.append(features)
        self._check_finite(totals[TOTAL], "validation")
        recalls = retrieval_recall(torch.cat([x.images for x in kept]), torch.cat([x.captions for x in kept]))
        n_steps = self.iteration - (self.history[-1]["iteration"] if self.history else 0)
        record = {
            "iteration": self.iteration,
            "epoch": self.iteration / self.schedule.iterations_per_epoch,
            **{f"training_{name}": value / n_steps for name, value in self.sums.items()},
            **{f"validation_{name}": value for name, value in totals.items()},
            **recalls,
        }
        if not self.history or record["validation_loss"] < self.best["validation_loss"]:
            self.best_weights = self._weights_now()
        self.history.append(record)
        self.sums = {}
        return record

    def _features(self, source: TrainingRows, rows: np.ndarray, iteration: int | None) -> Features:
        """Features of all rows of a batch, of which this process computes its share."""
        share, following = self.processes.part(len(rows)), None
        if iteration is not None and iteration + 1 < self.recipe.max_iterations:
            following = self.schedule.batch(iteration + 1)[share]
        features = source.features(rows[share], iteration, following)
        images, captions = (self.processes.gather(x, len(rows)) for x in features[:2])
        generated = (x if x is None else self.processes.gather(x, len(rows)) for x in features[2:])
        return Features(images, captions, *generated)

    def _loss(self, features: Features) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return positive_augmented_loss(*features, self.scale, self.recipe.lambda_v, self.recipe.lambda_t)

    def _weights_now(self) -> dict[str, torch.Tensor]:
        return {name: weight.detach().clone() for name, weight in self.weights.items()}

    def _check_finite(self, loss: float, kind: str) -> None:
        if not math.isfinite(loss):
            raise self._divergence_error(f"{kind} loss", str(loss))

    def _divergence_error(self, what: str, got: str) -> ValueError:
        fix = "Use a lower learning rate, or look for damaged features."
        return InputError(what, "a finite value", f"{got} after {self.iteration} iterations", fix)
