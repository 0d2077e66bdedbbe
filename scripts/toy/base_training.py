"""The checkpoint before tuning: a small CLIP learns the made world from scratch, on labels such as the web has.

Each batch holds families of near-duplicate scenes, a scene and others that differ from it in one attribute, whose
captions are worded alike: so every batch asks for every attribute; two groups always have their mirror image beside
them. Minutes are too short to learn all that from the contrastive loss alone. So both encoders are also asked, through
linear layers that are thrown away afterwards, which group a scene or a caption has on which side, the image encoder
what each cell shows of it, and the text encoder what a word has just said. Then images and labels are compared as well.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from manycaps.kit.clip_encoder import with_prompt
from manycaps.kit.images import as_model_pixels
from scripts.toy.captions import LABEL_HABITS, PERSON_HABITS, Habits, as_caption, draw_claim, draw_wording
from scripts.toy.pictures import draw_picture, draw_places, group_of_cells
from scripts.toy.questions import CELL_ANSWERS, PART_ANSWERS, Questions, answers, cell_answers, word_answers
from scripts.toy.scenes import OPPOSITE, Scene, draw_scene, neighbour, pick
from scripts.toy.small_clip import IMAGE_SIZE, PROMPTS, SmallClip

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
    n_steps: int = 2400
    learning_rate: float = 3e-3
    # Share of captions that are labels of the web, and of those that belong to a neighbour of the scene.
    labels: float = 0.6
    mismatched: float = 0.1
    # Share of the steps before the contrast counts: it hinders the encoders until they know what there is to compare.
    contrast_after: float = 0.4


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
    """Train a small CLIP from scratch."""
    rng = np.random.default_rng([seed, 0])
    families = draw_families(rng, recipe, progress)
    clip = SmallClip(seed)
    questions = Questions(clip)
    parameters = [*clip.parameters(), *questions.parameters()]
    groups = [
        {"params": [weight for weight in parameters if weight.ndim >= 2], "weight_decay": WEIGHT_DECAY},
        {"params": [weight for weight in parameters if weight.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=BETAS)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_at(step, recipe.n_steps))
    bar = progress(range(recipe.n_steps), desc="small CLIP", unit="step")
    for step in bar:
        has_contrast = step >= recipe.contrast_after * recipe.n_steps
        loss = base_loss(clip, questions, draw_batch(rng, families, recipe), has_contrast=has_contrast)
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
        claims, wording = word_family(rng, families.scenes[i], habits)
        if place < n_labels and rng.random() < recipe.mismatched:
            claims = claims[1:] + claims[:1]
        prompt = pick(rng, PROMPTS)
        captions += with_prompt(prompt, [as_caption(claim, wording, habits) for claim in claims])
        for claim in claims:
            beginnings = word_answers(claim, wording, habits)
            words.append([(with_prompt(prompt, [beginning])[0], known) for beginning, known in beginnings])
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


def word_family(rng: np.random.Generator, family: list[Scene], habits: Habits) -> tuple[list[Scene], np.ndarray]:
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


def base_loss(clip: SmallClip, questions: Questions, batch: Batch, *, has_contrast: bool) -> torch.Tensor:
    """Sum the cross-entropies of all questions, and if asked for the contrastive loss of labels and their images."""
    images = clip.encode_pixels(batch.pixels)
    texts = clip.encode_tokens([clip.tokenize(caption) for caption in batch.captions])
    attributes = questions.image(images.hidden, batch.scene_answers)
    attributes = attributes + questions.text(texts.hidden, batch.caption_answers)
    shown, place = batch.cells.flatten(0, 1).split((len(CELL_ANSWERS), len(PART_ANSWERS)), dim=1)
    states = questions.cell_states().flatten(0, 1)
    cells = questions.cell(states, shown) + questions.cell_place(states, place)
    asked = [(i, *about) for i, beginnings in enumerate(batch.words) for about in beginnings]
    places = [len(clip.word_tokens(beginning)) for _, beginning, _ in asked]  # the start token stands before them
    states = questions.word_states()[[i for i, _, _ in asked], places]
    words = questions.word(states, torch.tensor([known for _, _, known in asked]))
    loss = attributes + cells + words
    if not has_contrast:
        return loss
    labels = [caption for caption, is_label in zip(batch.captions, batch.is_label, strict=True) if is_label]
    logits = clip.scale * images.features[batch.is_label] @ texts.features[batch.is_label].T
    return loss + label_contrast(logits, labels)


def label_contrast(logits: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
    """Compute symmetric InfoNCE; labels that read the same are right for each of their images, with equal shares.

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
    """Return the share of the largest learning rate: a line up, then a cosine down.

    >>> [round(learning_rate_at(step, 100), 2) for step in (0, 7, 54, 100)]
    [0.12, 1.0, 0.51, 0.01]
    """
    rise = min(1.0, (step + 1) / (WARM_UP * n_steps))
    fall = max(0.0, step / n_steps - WARM_UP) / (1 - WARM_UP)
    return rise * (LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * fall)))
