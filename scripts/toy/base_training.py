"""The checkpoint before tuning: a small CLIP learns the made world from scratch, on labels such as the web has.

Each batch holds families of near-duplicate scenes, a scene and others that differ from it in one attribute, whose
captions are worded alike: so every batch asks for every attribute; two groups always have their mirror image beside
them. Minutes are too short to learn all that from the contrastive loss alone. So both encoders are also asked, through
linear layers that are thrown away afterwards, which group a scene or a caption has on which side, the image encoder
what each cell shows of it, and the text encoder what a word has just said. Then images and labels are compared as well.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from manycaps.made_world.captions import (
    LABEL_HABITS,
    PERSON_HABITS,
    Habits,
    as_caption,
    caption_parts,
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

# Questions about one part of a scene or of a caption, and their numbers of answers: count, size, colour and shape of
# the group on each of `SIDES`, or that there is none. "None" keeps the sides apart: a cell that shows red on the left
# must not answer red for the right, so that the mean over all cells still says which is where.
GROUP_FIELDS = Group._fields
PART_ANSWERS = tuple(len(VALUES[field]) + 1 for _ in SIDES for field in GROUP_FIELDS)

# Questions about what a cell shows, wherever that is: whether it is empty; count, size, colour and shape of its group.
CELL_ANSWERS = (2, *(len(VALUES[field]) for field in GROUP_FIELDS))

# Questions about a whole scene or caption: whether one group is alone, two lie side by side, or one above the other;
# the background; and those of a part.
ANSWERS = (3, len(VALUES["background"]), *PART_ANSWERS)

# Answer to a question that is not asked: a caption does not say it.
NOT_ASKED = -1

# Weight of the answer that there is no group on a side, for most sides have none.
NONE_WEIGHT = 0.2

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
    n_families_at_once: int = 32
    n_steps: int = 1300
    learning_rate: float = 3e-3
    # Share of captions that are labels of the web, and of those that belong to a neighbour of the scene.
    labels: float = 0.6
    mismatched: float = 0.1
    # Weights of the parts of the loss, and the share of the steps before the contrast counts: it hinders the encoders
    # until they know what there is to compare.
    contrast: float = 1.0
    contrast_after: float = 0.4
    attributes: float = 1.0
    cells: float = 1.0
    words: float = 1.0


class Families(NamedTuple):
    """Pictures of near-duplicate scenes."""

    scenes: list[list[Scene]]
    # uint8, shape (n_families, family_size, IMAGE_SIZE, IMAGE_SIZE, 3).
    pixels: np.ndarray
    # Answers about each cell as of `cell_answers`, integers, shape (n_families, family_size, n_cells, n_questions).
    cells: np.ndarray


class Batch(NamedTuple):
    """What one step learns from."""

    # uint8, shape (n, IMAGE_SIZE, IMAGE_SIZE, 3).
    pixels: np.ndarray
    # Shape (n, n_cells, n_questions).
    cells: torch.Tensor
    captions: list[str]
    # Beginnings of the captions and the answers about their last words, for each caption.
    words: list[list[tuple[str, list[int]]]]
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
    for step in bar:
        contrast = recipe.contrast if step >= recipe.contrast_after * recipe.n_steps else 0.0
        loss = base_loss(clip, questions, draw_batch(rng, families, recipe), recipe, contrast)
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
        if family[0].relation is not None:  # its mirror image: the same words in another order
            family.append(family[0]._replace(relation=OPPOSITE[family[0].relation]))
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
    captions, words, scene_answers, caption_answers = [], [], [], []
    for place, i in enumerate(chosen.tolist()):
        habits = LABEL_HABITS if place < n_labels else PERSON_HABITS
        claims, wording = worded_family(rng, families.scenes[i], habits)
        if place < n_labels and rng.random() < recipe.mismatched:
            claims = claims[1:] + claims[:1]
        prompt = pick(rng, PROMPTS)
        captions += with_prompt(prompt, [as_caption(claim, wording, habits) for claim in claims])
        for claim in claims:
            said = word_answers(claim, wording, habits)
            words.append([(with_prompt(prompt, [beginning])[0], known) for beginning, known in said])
        scene_answers += map(answers, families.scenes[i])
        caption_answers += map(answers, claims)
    flat = (families.pixels[chosen].reshape(-1, *families.pixels.shape[2:]), families.cells[chosen])
    return Batch(
        flat[0],
        torch.from_numpy(flat[1].reshape(-1, *families.cells.shape[2:])),
        captions,
        words,
        torch.arange(len(captions)) < n_labels * recipe.family_size,
        torch.tensor(scene_answers),
        torch.tensor(caption_answers),
    )


def worded_family(rng: np.random.Generator, family: list[Scene], habits: Habits) -> tuple[list[Scene], np.ndarray]:
    """Say the same of every scene of a family, in the same words but for what differs.

    Returns:
        What is said of each, and the wording of all.
    """
    state, wording = rng.spawn(1)[0].bit_generator.state, draw_wording(rng)
    claims = []
    for scene in family:  # the same draws for each
        same = np.random.default_rng()
        same.bit_generator.state = state
        claims.append(draw_claim(same, scene, habits))
    return claims, wording


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
    found = []
    for side in range(len(SIDES)):
        found += _group_answers(groups[side]) if side in groups else [len(VALUES[field]) for field in GROUP_FIELDS]
    return found


def cell_answers(scene: Scene, covered: np.ndarray) -> np.ndarray:
    """Answer the questions of `CELL_ANSWERS` and of `PART_ANSWERS` about each cell.

    Args:
        scene: what is there.
        covered: number of the group that covers each cell, -1 for none.

    Returns:
        Integers, shape (n_cells, len(CELL_ANSWERS) + len(PART_ANSWERS)).
    """
    of_group = [
        [1, *_group_answers(group), *part_answers({side: group})]
        for side, group in zip(sides_of(scene), scene.groups, strict=True)
    ]
    empty = [0, *[NOT_ASKED] * len(GROUP_FIELDS), *part_answers({})]
    return np.array([empty, *of_group])[covered.ravel() + 1]


def word_answers(claim: Scene, wording: np.ndarray, habits: Habits) -> list[tuple[str, list[int]]]:
    """Answer the questions of `PART_ANSWERS` about words of a caption: where it has just said on which side a group is.

    Returns:
        Beginnings of the caption and the answers about the last word of each: after the word for the relation, about
        the group before it; after the second group, about that one.

    >>> claim = Scene((Group(1, None, "red", "star"), Group(1, None, "blue", "ring")), "left", None)
    >>> [beginning for beginning, _ in word_answers(claim, np.zeros(12), LABEL_HABITS)]
    ['a red star left of', 'a red star left of a blue ring']
    """
    if claim.relation is None:
        return []
    places = dict(zip(("first", "second"), zip(sides_of(claim), claim.groups, strict=True), strict=True))
    found, text, last, related = [], "", "", False
    for name, part in caption_parts(claim, wording, habits):
        text += part
        last = name if name in places else last
        is_relation = name in ("relation", "opposite")
        if is_relation or (related and name in places):
            found.append((text, part_answers(dict([places[last]]))))
        related = related or is_relation
    return found


def sides_of(claim: Scene) -> list[int]:
    """Return on which of `SIDES` each group is; none for two groups whose relation is not said."""
    if len(claim.groups) == 1:
        return [0]
    return [] if claim.relation is None else [SIDES.index(claim.relation), SIDES.index(OPPOSITE[claim.relation])]


def base_loss(
    clip: SmallClip, questions: "_Questions", batch: Batch, recipe: BaseRecipe, contrast: float
) -> torch.Tensor:
    """Cross-entropies of all questions, and with a weight the contrastive loss of the labels and their images."""
    images = clip.encode_pixels(batch.pixels)
    texts = clip.encode_tokens([clip.tokenize(caption) for caption in batch.captions])
    attributes = _mean_loss(questions.image(images.hidden), batch.scene_answers, ANSWERS)
    attributes = attributes + _mean_loss(questions.text(texts.hidden), batch.caption_answers, ANSWERS)
    shown, place = batch.cells.flatten(0, 1).split((len(CELL_ANSWERS), len(PART_ANSWERS)), dim=1)
    states = questions.cell_states().flatten(0, 1)
    cells = _mean_loss(questions.cell(states), shown, CELL_ANSWERS)
    cells = cells + _mean_loss(questions.cell_place(states), place, PART_ANSWERS)
    asked = [(i, *about) for i, said in enumerate(batch.words) for about in said]
    places = [len(clip.word_tokens(beginning)) for _, beginning, _ in asked]  # the start token stands before them
    states = questions.word_states()[[i for i, _, _ in asked], places]
    words = _mean_loss(questions.word(states), torch.tensor([known for _, _, known in asked]), PART_ANSWERS)
    loss = recipe.attributes * attributes + recipe.cells * cells + recipe.words * words
    if not contrast:
        return loss
    labels = [caption for caption, is_label in zip(batch.captions, batch.is_label, strict=True) if is_label]
    logits = clip.scale * images.features[batch.is_label] @ texts.features[batch.is_label].T
    return loss + contrast * label_contrast(logits, labels)


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
        self.cell_place = torch.nn.Linear(VISION_WIDTH, sum(PART_ANSWERS))
        self.word = torch.nn.Linear(TEXT_WIDTH, sum(PART_ANSWERS))
        self._states: dict[str, torch.Tensor] = {}
        # Before the last layer, which gathers what the cells and the words know.
        for name, transformer in (("cell", clip.network.visual.transformer), ("word", clip.network.transformer)):
            transformer.resblocks[-2].register_forward_hook(functools.partial(self._keep, name))

    def cell_states(self) -> torch.Tensor:
        """What the image encoder knew of each cell in its last pass, shape (n, n_cells, VISION_WIDTH)."""
        return self._states.pop("cell")[:, 1:]  # without the token of the whole image

    def word_states(self) -> torch.Tensor:
        """What the text encoder knew at each token in its last pass, shape (n, length, TEXT_WIDTH)."""
        return self._states.pop("word")

    def _keep(self, name: str, _module: torch.nn.Module, _input: object, states: torch.Tensor) -> None:
        self._states[name] = states


def _group_answers(group: Group) -> list[int]:
    return [_answer(field, value) for field, value in zip(GROUP_FIELDS, group, strict=True)]


def _answer(field: str, value: str | int | None) -> int:
    return NOT_ASKED if value is None else VALUES[field].index(value)


def _mean_loss(logits: torch.Tensor, right: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
    """Mean over the questions of their cross-entropies; a question that nobody was asked counts 0.

    The questions of a part come last, and their last answers, that there is no group, count less than the others.
    """
    losses, has_none = [], sizes[-len(PART_ANSWERS) :] == PART_ANSWERS
    for i, (answered, expected) in enumerate(zip(logits.split(sizes, dim=1), right.T, strict=True)):
        weights = torch.ones(sizes[i])
        if has_none and i >= len(sizes) - len(PART_ANSWERS):
            weights[-1] = NONE_WEIGHT
        if (expected != NOT_ASKED).any():
            losses.append(torch.nn.functional.cross_entropy(answered, expected, weights, ignore_index=NOT_ASKED))
    return torch.stack(losses).sum() / len(sizes)
