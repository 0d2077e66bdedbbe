"""What all rewards share: the two ways in which a trainer calls them, and what they log."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..kit.base_rows import as_caption_rows
from ..kit.base_types import Floats
from .completions import (
    Completion,
    as_completions,
    as_references,
    check_column_lengths,
    column_of,
    completion_texts,
    gathered,
    groups_of,
)


class RewardedRows(NamedTuple):
    """Rows whose candidates are rewarded."""

    # n_rows lists of texts; the references are empty lists where the reward needs none.
    candidates: list[list[str]]
    references: list[list[str]]
    # n_rows images, for rewards that see them.
    images: Sequence[Any] | None = None


class CaptionReward:
    """A reward for captions: callable by a trainer of TRL, and by a loop of one's own.

    In a loop: `reward(candidates, references)`, lists of lists of texts, returns a float64 array of shape (n_rows,
    n_candidates). TRL's GRPOTrainer and RLOOTrainer, or any trainer with this contract, call
    `reward(prompts=..., completions=..., references=..., ...)` with one value for each completion, and get a list of
    floats. `last` has what the last call logged.

    Args:
        references: name of the column of human texts, a list in every row.
        images: name of the column of images.
        name: what TRL's logs call it; default: the name of the class.
    """

    # Which columns the reward reads, and whether it compares the candidates of a row with each other.
    NEEDS_REFERENCES: ClassVar[bool] = True
    NEEDS_IMAGES: ClassVar[bool] = False
    NEEDS_GROUPS: ClassVar[bool] = False

    def __init__(self, *, references: str = "references", images: str = "image", name: str | None = None):
        self.__name__ = name or type(self).__name__
        self._references, self._images = references, images
        self.last: dict[str, float] = {}

    def rewards_of(self, rows: RewardedRows) -> list[Floats]:
        """Return n_rows arrays, shape (n_candidates,): the rewards of each row; sets `last`."""
        raise NotImplementedError

    def check_sizes(self, sizes: Sequence[int], where: str) -> None:
        """Raise unless groups of these sizes can be rewarded; `where` says what sets the size."""

    def __call__(
        self,
        candidates: Sequence[Sequence[str]] | None = None,
        references: Sequence[Any] | None = None,
        images: Sequence[Any] | None = None,
        *,
        completions: Sequence[Any] | None = None,
        prompts: Sequence[Any] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **columns: Any,
    ) -> Any:
        """Reward captions.

        Args:
            candidates: in a loop, n_rows lists of equally many texts.
            references: n_rows lists of human texts.
            images: n_rows images, of rewards that see them.
            completions: from a trainer, texts or conversations; groups are consecutive ones with equal prompts and
                references, or those with equal values in a column `group`.
            prompts: of the completions.
            log_metric: called with names and numbers.
            log_extra: called with a name and the list of the rewards.
            columns: of the data set, and what else a trainer gives.

        Returns:
            float64 array, shape (n_rows, n_candidates), or for completions a list of floats.

        Raises:
            TypeError: a text is none.
            ValueError: a column is missing or has another length, or groups of other sizes than the reward takes.
        """
        columns |= {name: column for name, column in (("references", references), ("images", images)) if column}
        if completions is None:
            return self._reward_rows(candidates, columns)
        if not len(completions):
            return []
        rewards = self._reward_completions(completions, prompts, columns)
        for name, value in self.last.items() if log_metric else ():
            log_metric(f"{self.__name__}/{name}", value)  # type: ignore[misc]
        if log_extra:
            log_extra(f"{self.__name__}_reward", rewards)
        return rewards

    def _reward_rows(self, candidates: Any, columns: Mapping[str, Any]) -> Floats:
        """Rewards of a loop's rows."""
        rows = as_caption_rows(candidates, "candidates")
        references = as_references(columns.get("references"), "references") if self.NEEDS_REFERENCES else []
        images = self._image_column(columns, "images")
        given = {"references": references} if self.NEEDS_REFERENCES else {}
        for name, column in {**given, **({"images": images} if images is not None else {})}.items():
            if len(column) != len(rows):
                raise ValueError(
                    f"{name}: expected one row for each of the {len(rows)} rows of candidates, got {len(column)}. Row "
                    "i of both belongs together."
                )
        sizes = [len(row) for row in rows]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"candidates[{next(i for i, size in enumerate(sizes) if size != sizes[0])}]: expected {sizes[0]} texts "
                "as in row 0, got another number. Sample equally many for every row."
            )
        self.check_sizes(sizes, "candidates")
        return np.stack(self.rewards_of(RewardedRows(rows, references or [[] for _ in rows], images)))

    def _reward_completions(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None, columns: Mapping[str, Any]
    ) -> list[float]:
        """Rewards of a trainer's completions."""
        n = len(completions)
        references: list[list[str]] = [[] for _ in range(n)]
        if self.NEEDS_REFERENCES:
            references = as_references(column_of(columns, self._references), self._references)
        images = self._image_column(columns, self._images)
        check_column_lengths(
            n, **{self._references: references}, **({self._images: images} if images is not None else {})
        )
        if self.NEEDS_GROUPS:
            return self._reward_groups(as_completions(completions, prompts, references, column_of(columns, "group")))
        texts = completion_texts(completions)
        values = self.rewards_of(RewardedRows([[text] for text in texts], references, images))
        if prompts is not None and self.NEEDS_REFERENCES:
            self.last |= different_share(texts, groups_of(as_completions(texts, prompts, references, None)))
        return [float(value) for row in values for value in row]

    def _reward_groups(self, completions: list[Completion]) -> list[float]:
        """Rewards of completions that are compared with those of their row, over all processes."""
        everyone, own = gathered(completions)
        # The groups of this process alone; of one that is spread over several, all of it.
        groups = [group for group in groups_of(everyone) if any(i in own for i in group)]
        self.check_sizes([len(group) for group in groups], "num_generations")
        texts = [[everyone[i].text for i in group] for group in groups]
        references = [list(everyone[group[0]].references) for group in groups]
        values = np.concatenate(self.rewards_of(RewardedRows(texts, references)))
        rewards = dict(zip(itertools.chain.from_iterable(groups), values.tolist(), strict=True))
        return [rewards[i] for i in own]

    def _image_column(self, columns: Mapping[str, Any], name: str) -> Any:
        """The column of images; None where the reward sees none."""
        if not self.NEEDS_IMAGES:
            return None
        images = columns.get(name)
        if images is None:
            raise ValueError(
                f"{name}: expected a column of images, got none. Add it to the data set, or give its name as images=..."
            )
        return images


def different_share(texts: Sequence[str], groups: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return the share of different texts in a group, mean over groups; nothing where all are of one text.

    >>> different_share(["a", "a", "b"], [[0, 1], [2]])
    {'different_share': 0.5}
    """
    shares = [len({texts[i] for i in group}) / len(group) for group in groups if len(group) > 1]
    return {"different_share": sum(shares) / len(shares)} if shares else {}


def logged(values: Mapping[str, float]) -> dict[str, float]:
    """Return the values that are defined, as floats."""
    return {name: float(value) for name, value in values.items() if not math.isnan(value)}
