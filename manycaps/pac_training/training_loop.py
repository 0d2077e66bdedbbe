"""The optimisation itself: batches, loss, AdamW, validation and early stopping, whatever makes the features."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from manycaps.pac_training.losses import positive_augmented_loss
from manycaps.pac_training.recipe import Recipe
from manycaps.pac_training.retrieval import retrieval_recall
from manycaps.pac_training.row_schedule import RowSchedule, validation_batches

# Name of the weighted sum of the terms, beside those of `losses.py`.
TOTAL = "loss"


class Features(NamedTuple):
    """Features of some rows in the common space, each of shape (n, d); None where the loss does not need them."""

    images: torch.Tensor
    captions: torch.Tensor
    generated_images: torch.Tensor | None
    generated_captions: torch.Tensor | None


class TrainingRows(Protocol):
    """Rows of a data set that become features."""

    @property
    def image_rows(self) -> np.ndarray:
        """Image of each row, numbered from 0 without gaps, shape (n_rows,)."""
        ...

    def expect(self, rows: np.ndarray, iteration: int) -> None:
        """Prepare the rows that the next iteration will ask for."""
        ...

    def features(self, rows: np.ndarray, iteration: int | None) -> Features:
        """Features of the rows with these numbers, with gradients to what is trained; iteration None to validate."""
        ...


class Processes(Protocol):
    """Communication of processes that train together."""

    def part(self, n: int) -> slice:
        """This process's share of n rows."""
        ...

    def gather(self, share: torch.Tensor, n: int) -> torch.Tensor:
        """All n rows from the shares of all processes; gradients flow back to this process's share."""
        ...

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Replace each gradient by its sum over the processes."""
        ...


class OneProcess:
    """Training without others: there is nothing to exchange."""

    def part(self, n: int) -> slice:
        """All rows."""
        return slice(0, n)

    def gather(self, share: torch.Tensor, n: int) -> torch.Tensor:  # noqa: ARG002, as in `Processes`
        """The rows as they are."""
        return share

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Leave the gradients as they are."""


class Training:
    """A training that can be interrupted after any iteration.

    The batches follow from the seed and the iteration's number, and `state` holds all the rest: a training that goes
    on from a saved state takes the same steps, bit for bit, as one that was never interrupted.

    Args:
        training: rows to learn from.
        validation: rows that decide when to stop.
        weights: what is trained, by name; changed in place.
        scale: 1 / tau; not trained.
        recipe: the numbers.
        processes: other processes that see other rows of each batch.
    """

    def __init__(
        self,
        training: TrainingRows,
        validation: TrainingRows,
        weights: Mapping[str, torch.nn.Parameter],
        scale: float,
        recipe: Recipe,
        processes: Processes | None = None,
    ) -> None:
        self.training, self.validation = training, validation
        self.weights, self.scale, self.recipe = dict(weights), scale, recipe
        self.processes = processes or OneProcess()
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
        """Everything that `load_state` needs; tensors are not copied."""
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
        self._check_state(state)
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
        self.processes.sum_gradients(list(self.weights.values()))
        try:
            self.optimizer.step()
        except RuntimeError as error:
            if "overflow" not in str(error):
                raise
            raise self._diverged("step", "a number too large for float32") from error
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
        record = self._record(totals, recalls)
        if not self.history or record["validation_loss"] < self.best["validation_loss"]:
            self.best_weights = self._weights_now()
        self.history.append(record)
        self.sums = {}
        return record

    def _record(self, totals: Mapping[str, float], recalls: Mapping[str, float]) -> dict[str, float]:
        """Flat dict about a validation and the steps since the one before it."""
        n_steps = self.iteration - (self.history[-1]["iteration"] if self.history else 0)
        return {
            "iteration": self.iteration,
            "epoch": self.iteration / self.schedule.iterations_per_epoch,
            **{f"training_{name}": value / n_steps for name, value in self.sums.items()},
            **{f"validation_{name}": value for name, value in totals.items()},
            **recalls,
        }

    def _features(self, source: TrainingRows, rows: np.ndarray, iteration: int | None) -> Features:
        """Features of all rows of a batch, of which this process computes its share."""
        share = rows[self.processes.part(len(rows))]
        if iteration is not None and iteration + 1 < self.recipe.max_iterations:
            following = self.schedule.batch(iteration + 1)
            source.expect(following[self.processes.part(len(following))], iteration + 1)
        features = source.features(share, iteration)
        images, captions = (self.processes.gather(x, len(rows)) for x in features[:2])
        generated = (x if x is None else self.processes.gather(x, len(rows)) for x in features[2:])
        return Features(images, captions, *generated)

    def _loss(self, features: Features) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return positive_augmented_loss(*features, self.scale, self.recipe.lambda_v, self.recipe.lambda_t)

    def _weights_now(self) -> dict[str, torch.Tensor]:
        return {name: weight.detach().clone() for name, weight in self.weights.items()}

    def _check_finite(self, loss: float, kind: str) -> None:
        if not math.isfinite(loss):
            raise self._diverged(f"{kind} loss", str(loss))

    def _diverged(self, what: str, got: str) -> ValueError:
        return ValueError(
            f"{what}: expected a finite value, got {got} after {self.iteration} iterations. Use a lower learning rate, "
            "or look for damaged features."
        )

    def _check_state(self, state: Mapping[str, Any]) -> None:
        free = {"patience", "max_iterations"}
        recipe = dataclasses.asdict(self.recipe)
        changed = [name for name in recipe if name not in free and recipe[name] != state["recipe"].get(name)]
        if changed:
            listed = ", ".join(f"{name} {state['recipe'].get(name)} instead of {recipe[name]}" for name in changed)
            raise ValueError(
                f"state: expected that of a training with the same recipe, got {listed}. Give the same options as "
                "before, or start from scratch in another folder."
            )
        shapes = {name: tuple(weight.shape) for name, weight in self.weights.items()}
        saved = {name: tuple(weight.shape) for name, weight in state["weights"].items()}
        if shapes != saved:
            raise ValueError(
                f"state: expected weights {shapes}, got {saved}. Give the same checkpoint and options as before, or "
                "start from scratch in another folder."
            )
