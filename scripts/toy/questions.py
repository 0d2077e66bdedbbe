"""Questions about scenes and captions, which both encoders of tiny-pac learn to answer beside the contrastive loss.

Linear layers, which are thrown away after training, answer which group a scene or a caption has on which side, what
each cell of a picture shows, and what a word of a caption has just said.
"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from scripts.toy.captions import Habits, caption_parts
from scripts.toy.scenes import OPPOSITE, VALUES, Group, Scene
from scripts.toy.small_clip import TEXT_WIDTH, VISION_WIDTH, SmallClip

# Where a group can be: alone, or on one side of the other.
SIDES = (None, *VALUES["relation"])

# Questions about one part of a scene or of a caption, and their numbers of answers: count, size, colour and shape of
# the group on each of `SIDES`, or that there is none. "None" keeps the sides apart: a cell that shows red on the left
# must not answer red for the right, so that the mean over all cells still says which is where.
GROUP_FIELDS = Group._fields
PART_ANSWERS = tuple(len(VALUES[field]) + 1 for _ in SIDES for field in GROUP_FIELDS)

# Questions about what a cell shows, wherever that is: whether it is empty; count, size, colour and shape of its group.
CELL_ANSWERS = (2, *(len(VALUES[field]) for field in GROUP_FIELDS))

# Questions about a whole scene or caption: whether one group is alone, two lie side by side, or one above the other;
# the background; and questions about a part.
ANSWERS = (3, len(VALUES["background"]), *PART_ANSWERS)

# Answer to a question that is not asked: a caption does not say it.
NOT_ASKED = -1

# Weight of the answer that there is no group on a side, for most sides have none.
NONE_WEIGHT = 0.2

# Weight of a question how many there are: what a picture shows of it is learned last.
COUNT_WEIGHT = 2.0

# Answers that a layer has room for: as many as the largest question has.
MOST_ANSWERS = max(*ANSWERS, *CELL_ANSWERS)


def answers(claim: Scene) -> list[int]:
    """Answer the questions of `ANSWERS` about what is said, or about a scene, of which everything is said.

    Two groups without a relation are not asked about, for nothing says which is where.

    >>> answers(Scene((Group(2, None, "red", "star"),), None, "white"))[:10]
    [0, 0, 1, -1, 0, 5, 3, 2, 6, 6]
    """
    background = _answer("background", claim.background)
    if len(claim.groups) == 2 and claim.relation is None:
        return [NOT_ASKED, background, *[NOT_ASKED] * len(PART_ANSWERS)]
    sides = sides_of(claim)
    arrangement = 1 + (sides[0] - 1) // 2 if sides[0] else 0
    return [arrangement, background, *part_answers(dict(zip(sides, claim.groups, strict=True)))]


def part_answers(groups: Mapping[int, Group]) -> list[int]:
    """Answer the questions of `PART_ANSWERS` where these groups are on these sides, by their numbers, and no others.

    >>> part_answers({1: Group(1, None, "red", "star")})[:12]
    [3, 2, 6, 6, 0, -1, 0, 5, 3, 2, 6, 6]
    """
    numbers = []
    for side in range(len(SIDES)):
        numbers += _group_answers(groups[side]) if side in groups else [len(VALUES[field]) for field in GROUP_FIELDS]
    return numbers


def cell_answers(scene: Scene, covered: np.ndarray) -> np.ndarray:
    """Answer the questions of `CELL_ANSWERS` and of `PART_ANSWERS` about each cell.

    `covered` is the number of the group that covers each cell, -1 for none. Integers, shape (n_cells, len(CELL_ANSWERS)
    + len(PART_ANSWERS)).
    """
    group_answers = [
        [1, *_group_answers(group), *part_answers({side: group})]
        for side, group in zip(sides_of(scene), scene.groups, strict=True)
    ]
    empty = [0, *[NOT_ASKED] * len(GROUP_FIELDS), *part_answers({})]
    return np.array([empty, *group_answers])[covered.ravel() + 1]


def word_answers(claim: Scene, wording: np.ndarray, habits: Habits) -> list[tuple[str, list[int]]]:
    """Answer the questions of `PART_ANSWERS` about words of a caption: where it has just said on which side a group is.

    Returns beginnings of the caption and the answers about the last word of each: after the word for the relation,
    about the group before it; after the second group, about that one.

    >>> claim = Scene((Group(1, None, "red", "star"), Group(1, None, "blue", "ring")), "left", None)
    >>> from scripts.toy.captions import LABEL_HABITS
    >>> [beginning for beginning, _ in word_answers(claim, np.zeros(12), LABEL_HABITS)]
    ['a red star left of', 'a red star left of a blue ring']
    """
    if claim.relation is None:
        return []
    places = dict(zip(("first", "second"), zip(sides_of(claim), claim.groups, strict=True), strict=True))
    beginnings, text, last, related = [], "", "", False
    for name, part in caption_parts(claim, wording, habits):
        text += part
        last = name if name in places else last
        is_relation = name in ("relation", "opposite")
        if is_relation or (related and name in places):
            beginnings.append((text, part_answers(dict([places[last]]))))
        related = related or is_relation
    return beginnings


def sides_of(claim: Scene) -> list[int]:
    """Return on which of `SIDES` each group is; none for two groups whose relation is not said."""
    if len(claim.groups) == 1:
        return [0]
    return [] if claim.relation is None else [SIDES.index(claim.relation), SIDES.index(OPPOSITE[claim.relation])]


class Answers(torch.nn.Module):
    """A linear layer that answers questions, of which some ask for a count, and how wrong it is."""

    def __init__(self, width: int, sizes: tuple[int, ...], counts: Sequence[int]) -> None:
        super().__init__()
        self._linear = torch.nn.Linear(width, len(sizes) * MOST_ANSWERS)
        n_answers = torch.tensor(sizes)
        # Added to the logits of answers that a question does not have.
        self._absent = torch.where(torch.arange(MOST_ANSWERS) < n_answers[:, None], 0.0, -torch.inf)
        self._weights = torch.ones(len(sizes), MOST_ANSWERS)
        self._question_weights = torch.ones(len(sizes))
        self._question_weights[list(counts)] = COUNT_WEIGHT
        if sizes[-len(PART_ANSWERS) :] == PART_ANSWERS:  # their last answers: no group on that side
            parts = torch.arange(len(sizes) - len(PART_ANSWERS), len(sizes))
            self._weights[parts, n_answers[parts] - 1] = NONE_WEIGHT

    # States have shape (n, width), right answers (n, n_questions), `NOT_ASKED` where there is none.
    def forward(self, states: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return the questions' mean weighted cross-entropy; a question that nobody was asked counts 0."""
        logits = self._linear(states).unflatten(1, self._absent.shape) + self._absent
        targets = right.clamp(min=0)[:, :, None]  # (n, n_questions, 1)
        losses = -logits.log_softmax(dim=2).gather(2, targets).squeeze(2)  # (n, n_questions)
        weights = self._weights.expand(len(right), -1, -1).gather(2, targets).squeeze(2) * (right != NOT_ASKED)
        totals = weights.sum(dim=0)
        means = (weights * losses).sum(dim=0) / torch.where(totals > 0, totals, 1.0)
        return (means * self._question_weights).mean()


class Questions(torch.nn.Module):
    """Layers that answer the questions; thrown away after training."""

    def __init__(self, clip: SmallClip) -> None:
        super().__init__()
        part_counts = range(GROUP_FIELDS.index("count"), len(PART_ANSWERS), len(GROUP_FIELDS))
        counts = [len(ANSWERS) - len(PART_ANSWERS) + question for question in part_counts]
        self.image = Answers(VISION_WIDTH, ANSWERS, counts)
        self.text = Answers(TEXT_WIDTH, ANSWERS, counts)
        self.cell = Answers(VISION_WIDTH, CELL_ANSWERS, [1 + GROUP_FIELDS.index("count")])
        self.cell_place = Answers(VISION_WIDTH, PART_ANSWERS, part_counts)
        self.word = Answers(TEXT_WIDTH, PART_ANSWERS, part_counts)
        self._states: dict[str, torch.Tensor] = {}
        # Before the last layer, which gathers what the cells and the words know.
        for name, transformer in (("cell", clip.network.visual.transformer), ("word", clip.network.transformer)):
            transformer.resblocks[-2].register_forward_hook(functools.partial(self._keep, name))

    def cell_states(self) -> torch.Tensor:
        """Return what the image encoder knew of each cell in its last pass, shape (n, n_cells, VISION_WIDTH)."""
        return self._states.pop("cell")[:, 1:]  # without the token of the whole image

    def word_states(self) -> torch.Tensor:
        """Return what the text encoder knew at each token in its last pass, shape (n, length, TEXT_WIDTH)."""
        return self._states.pop("word")

    def _keep(self, name: str, _module: torch.nn.Module, _input: object, states: torch.Tensor) -> None:
        self._states[name] = states


def _group_answers(group: Group) -> list[int]:
    return [_answer(field, value) for field, value in zip(GROUP_FIELDS, group, strict=True)]


def _answer(field: str, value: str | int | None) -> int:
    return NOT_ASKED if value is None else VALUES[field].index(value)
