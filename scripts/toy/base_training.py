"""The checkpoint before tuning: a small CLIP learns the made world from scratch, on labels such as the web has.

Each batch holds families of near-duplicate scenes, a scene and others that differ from it in one attribute, whose
captions are worded alike: so every batch asks for every attribute. A quarter of an hour on two cores is too short to
learn all that from the contrastive loss alone. So both encoders are also asked, through linear layers that are thrown
away afterwards, which attributes a scene or a caption has, and the image encoder what lies in each cell.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from manycaps.made_world.captions import (
    LABEL_HABITS,
    PERSON_HABITS,
    Habits,
    as_caption,
    draw_claim,
    draw_wording,
)
from manycaps.made_world.pictures import draw_picture, draw_places, group_of_cells
from manycaps.made_world.scenes import OPPOSITE, VALUES, Group, Scene, draw_scene, neighbour, pick
from manycaps.shared_clip_rows import with_prompt
from manycaps.shared_image_input import as_model_pixels
from scripts.toy.small_clip import IMAGE_SIZE, PROMPTS, TEXT_WIDTH, VISION_WIDTH, SmallClip

# Where a group can be: alone, or on one side of the other.
SIDES = (None, *VALUES["relation"])

# Questions about a scene and their numbers of answers: whether one group is alone, two lie side by side, or one above
# the other; the background; and count, size, colour and shape of the group on each of `SIDES`.
GROUP_FIELDS = Group._fields
ANSWERS = (3, len(VALUES["background"]), *(len(VALUES[f]) for _ in SIDES for f in GROUP_FIELDS))

# Questions about one cell and their numbers of answers: whether it is empty, or on which of `SIDES` its group is; and
# count, size, colour and shape of its group.
CELL_ANSWERS = (1 + len(SIDES), *(len(VALUES[field]) for field in GROUP_FIELDS))

# Answer to a question that is not asked: a caption does not say it, there is no second group, a cell is empty.
NOT_ASKED = -1

NO_GROUP = Group(None, None, None, None)

# Share of the steps in which the learning rate rises, and where it falls to at the end, of its largest value.
WARM_UP = 0.08
LAST_RATE = 0.01

BETAS = (0.9, 0.98)
WEIGHT_DECAY = 0.05
LARGEST_GRADIENT = 1.0


@dataclasses.dataclass(frozen=True)
class BaseRecipe:
    """How the checkpoint before tuning is made."""

    n_families: int = 2500
    # Scenes of a family, and families of a batch.
    family_size: int = 4
    n_families_at_once: int = 64
    n_steps: int = 900
    learning_rate: float = 2e-3
    # Share of captions that are labels of the web, and of those that belong to a neighbour of the scene.
    labels: float = 0.6
    mismatched: float = 0.1
    # Weights of the three parts of the loss.
    contrast: float = 0.3
    attributes: float = 1.0
    cells: float = 1.0


class Families(NamedTuple):
    """Pictures of near-duplicate scenes."""

    scenes: list[list[Scene]]
    # uint8, shape (n_families, family_size, IMAGE_SIZE, IMAGE_SIZE, 3).
    pixels: np.ndarray
    # Answers about each cell, integers, shape (n_families, family_size, n_cells, len(CELL_ANSWERS)).
    cells: np.ndarray


class Batch(NamedTuple):
    """What one step learns from."""

    # uint8, shape (n, IMAGE_SIZE, IMAGE_SIZE, 3).
    pixels: np.ndarray
    # Shape (n, n_cells, len(CELL_ANSWERS)).
    cells: torch.Tensor
    captions: list[str]
    # Whether a caption is a label of the web, shape (n,).
    is_label: torch.Tensor
    # Answers to the questions about the scenes, and about what the captions say, shape (n, len(ANSWERS)).
    scene_answers: torch.Tensor
    caption_answers: torch.Tensor


def train_base(seed: int, recipe: BaseRecipe, progress: Callable[..., Any]) -> SmallClip:
    """Train a small CLIP from scratch.

    Args:
        seed: of the first weights, the scenes and the order of all.
        recipe: how.
        progress: a tqdm class.

    Returns:
        The trained model.
    """
    rng = np.random.default_rng([seed, 0])
    families = draw_families(rng, recipe, progress)
    clip = SmallClip(seed)
    questions = _Questions(clip)
    parameters = [*clip.parameters(), *questions.parameters()]
    groups = [
        {"params": [weight for weight in parameters if weight.ndim >= 2], "weight_decay": WEIGHT_DECAY},
        {"params": [weight for weight in parameters if weight.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=BETAS)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_at(step, recipe.n_steps))
    bar = progress(range(recipe.n_steps), desc="small CLIP", unit="step")
    for _ in bar:
        loss = base_loss(clip, questions, draw_batch(rng, families, recipe), recipe)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, LARGEST_GRADIENT)
        optimizer.step()
        schedule.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    clip.finish()
    return clip


def draw_families(rng: np.random.Generator, recipe: BaseRecipe, progress: Callable[..., Any]) -> Families:
    """Draw families of scenes and their pictures."""
    scenes, pixels, cells = [], [], []
    for _ in progress(range(recipe.n_families), desc="pictures", unit="family"):
        family = [draw_scene(rng)]
        while len(family) < recipe.family_size:
            other = neighbour(rng, family[0])
            if other not in family:
                family.append(other)
        scenes.append(family)
        for scene in family:
            places = draw_places(rng, scene)
            pixels.append(as_model_pixels(draw_picture(rng, scene, places), IMAGE_SIZE))
            cells.append(cell_answers(scene, group_of_cells(scene, places)))
    shape = (recipe.n_families, recipe.family_size)
    return Families(scenes, *(np.stack(rows).reshape(*shape, *rows[0].shape) for rows in (pixels, cells)))


def draw_batch(rng: np.random.Generator, families: Families, recipe: BaseRecipe) -> Batch:
    """Draw families and word them; one family's captions say the same attributes in the same words."""
    chosen = rng.choice(len(families.scenes), recipe.n_families_at_once, replace=False)
    n_labels = round(recipe.labels * len(chosen))
    captions, scene_answers, caption_answers = [], [], []
    for place, i in enumerate(chosen.tolist()):
        habits = LABEL_HABITS if place < n_labels else PERSON_HABITS
        claims, texts = worded_family(rng, families.scenes[i], habits)
        if place < n_labels and rng.random() < recipe.mismatched:
            claims, texts = claims[1:] + claims[:1], texts[1:] + texts[:1]
        captions += with_prompt(pick(rng, PROMPTS), texts)
        scene_answers += map(answers, families.scenes[i])
        caption_answers += map(answers, claims)
    flat = (families.pixels[chosen].reshape(-1, *families.pixels.shape[2:]), families.cells[chosen])
    return Batch(
        flat[0],
        torch.from_numpy(flat[1].reshape(-1, *families.cells.shape[2:])),
        captions,
        torch.arange(len(captions)) < n_labels * recipe.family_size,
        torch.tensor(scene_answers),
        torch.tensor(caption_answers),
    )


def worded_family(rng: np.random.Generator, family: list[Scene], habits: Habits) -> tuple[list[Scene], list[str]]:
    """Say the same of every scene of a family, in the same words but for what differs.

    Returns:
        What is said, and how.
    """
    state, wording = rng.spawn(1)[0].bit_generator.state, draw_wording(rng)
    claims = []
    for scene in family:  # the same draws for each
        same = np.random.default_rng()
        same.bit_generator.state = state
        claims.append(draw_claim(same, scene, habits))
    return claims, [as_caption(claim, wording, habits) for claim in claims]


def answers(claim: Scene) -> list[int]:
    """Answer the questions of `ANSWERS` about what is said, or about a scene, of which everything is said.

    Two groups without a relation are not asked about, for nothing says which is where.

    >>> answers(Scene((Group(2, None, "red", "star"),), None, "white"))[:8]
    [0, 0, 1, -1, 0, 5, -1, -1]
    """
    sides = sides_of(claim)
    arrangement = 0 if len(claim.groups) == 1 else NOT_ASKED if claim.relation is None else 1 + sides[0] // 3
    found = [arrangement, _answer("background", claim.background)]
    for side in range(len(SIDES)):
        found += _group_answers(claim.groups[sides.index(side)] if side in sides else NO_GROUP)
    return found


def cell_answers(scene: Scene, covered: np.ndarray) -> np.ndarray:
    """Answer the questions of `CELL_ANSWERS` about each cell.

    Args:
        scene: what is there.
        covered: number of the group that covers each cell, -1 for none.

    Returns:
        Integers, shape (n_cells, len(CELL_ANSWERS)).
    """
    of_group = [[1 + side, *_group_answers(g)] for side, g in zip(sides_of(scene), scene.groups, strict=True)]
    return np.array([[0, *_group_answers(NO_GROUP)], *of_group])[covered.ravel() + 1]


def sides_of(claim: Scene) -> list[int]:
    """Return on which of `SIDES` each group is; none for two groups whose relation is not said."""
    if len(claim.groups) == 1:
        return [0]
    return [] if claim.relation is None else [SIDES.index(claim.relation), SIDES.index(OPPOSITE[claim.relation])]


def base_loss(clip: SmallClip, questions: "_Questions", batch: Batch, recipe: BaseRecipe) -> torch.Tensor:
    """Contrastive loss of the labels and their images, and the cross-entropies of all questions."""
    images = clip.encode_pixels(batch.pixels)
    texts = clip.encode_tokens([clip.tokenize(caption) for caption in batch.captions])
    labels = [caption for caption, is_label in zip(batch.captions, batch.is_label, strict=True) if is_label]
    contrast = label_contrast(clip.scale * images.features[batch.is_label] @ texts.features[batch.is_label].T, labels)
    attributes = _mean_loss(questions.image(images.hidden), batch.scene_answers, ANSWERS)
    attributes = attributes + _mean_loss(questions.text(texts.hidden), batch.caption_answers, ANSWERS)
    cells = _mean_loss(questions.cell(questions.cell_states()).flatten(0, 1), batch.cells.flatten(0, 1), CELL_ANSWERS)
    return recipe.contrast * contrast + recipe.attributes * attributes + recipe.cells * cells


def label_contrast(logits: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
    """Symmetric InfoNCE in which labels that read the same are right for each of their images, with equal shares.

    Args:
        logits: scaled cosines of images and labels, shape (n, n), pairs on the diagonal.
        labels: the n labels.

    Returns:
        Scalar, the mean of both directions.

    >>> round(label_contrast(torch.zeros(3, 3), ["a star", "a ring", "a star"]).item(), 4)  # log 3
    1.0986
    """
    places: dict[str, int] = {}
    numbers = torch.tensor([places.setdefault(label, len(places)) for label in labels])
    same = (numbers[:, None] == numbers).float()
    shares = same / same.sum(dim=1, keepdim=True)
    cross_entropy = torch.nn.functional.cross_entropy
    return (cross_entropy(logits, shares) + cross_entropy(logits.T, shares)) / 2


def learning_rate_at(step: int, n_steps: int) -> float:
    """Share of the largest learning rate: a line up, then a cosine down.

    >>> [round(learning_rate_at(step, 100), 2) for step in (0, 7, 54, 100)]
    [0.12, 1.0, 0.51, 0.01]
    """
    rise = min(1.0, (step + 1) / (WARM_UP * n_steps))
    fall = max(0.0, step / n_steps - WARM_UP) / (1 - WARM_UP)
    return rise * (LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * fall)))


class _Questions(torch.nn.Module):
    """Linear layers that answer the questions; thrown away after training."""

    def __init__(self, clip: SmallClip) -> None:
        super().__init__()
        self.image = torch.nn.Linear(VISION_WIDTH, sum(ANSWERS))
        self.text = torch.nn.Linear(TEXT_WIDTH, sum(ANSWERS))
        self.cell = torch.nn.Linear(VISION_WIDTH, sum(CELL_ANSWERS))
        self._states: list[torch.Tensor] = []
        # Before the last layer, which gathers what the cells know.
        clip.network.visual.transformer.resblocks[-2].register_forward_hook(self._keep)

    def cell_states(self) -> torch.Tensor:
        """What the image encoder knew of each cell in its last pass, shape (n, n_cells, VISION_WIDTH)."""
        return self._states.pop()[:, 1:]  # without the token of the whole image

    def _keep(self, _module: torch.nn.Module, _input: object, states: torch.Tensor) -> None:
        self._states[:] = [states]


def _group_answers(group: Group) -> list[int]:
    return [_answer(field, value) for field, value in zip(GROUP_FIELDS, group, strict=True)]


def _answer(field: str, value: str | int | None) -> int:
    return NOT_ASKED if value is None else VALUES[field].index(value)


def _mean_loss(logits: torch.Tensor, right: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
    """Mean over the questions of their cross-entropies; a question that nobody was asked counts 0."""
    losses = [
        torch.nn.functional.cross_entropy(answered, expected, ignore_index=NOT_ASKED)
        for answered, expected in zip(logits.split(sizes, dim=1), right.T, strict=True)
        if (expected != NOT_ASKED).any()
    ]
    return torch.stack(losses).sum() / len(sizes)
