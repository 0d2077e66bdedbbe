"""Trials on held-out scenes of the made world, after Tables 1, 4 and 6 of Sarto et al. (2023).

Pictures and texts are encoded once, up to the projections; every pair of projections is then measured on the same
trials, with the collection's own PAC-S and RefPAC-S.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.stats
import torch

from manycaps.kit.clip_encoder import with_prompt
from manycaps.kit.clip_pac import PAC_PROMPT, PAC_WEIGHT, pac_s, ref_pac_s
from manycaps.kit.images import as_model_pixels
from manycaps.kit.vectors_sentences import paired_cosines
from manycaps.pac_training.losses import retrieval_recall
from scripts.toy.captions import (
    N_DRAWS,
    as_caption,
    draw_caption,
    draw_claim,
    draw_foil,
    draw_foils,
    draw_wording,
    wrong_claim,
)
from scripts.toy.make_world import GRADES, N_REFERENCES
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import Scene, draw_scene, said_attributes
from scripts.toy.small_clip import IMAGE_SIZE, SmallClip

# Seed of the held-out scenes: the same for all checkpoints.
TRIAL_SEED = 1_000_000

# Kinds of pairs of captions (Vedantam et al., 2015, Pascal-50S), and which of the two is better here.
PAIRS = {
    "HC": "two right human captions: the one that says more",
    "HI": "two human captions: one describes this scene",
    "HM": "a right caption of a person and a machine's with one or two errors: the person's",
    "MM": "two captions of machines with 0 to 3 errors: the one with fewer",
}

# Most wrong attributes of a caption of a machine.
MACHINE_ERRORS = 3

# Pictures or texts encoded at once.
ENCODED_AT_ONCE = 512


class Choices(NamedTuple):
    """Pairs of captions of which one is better; integers, shape (n,) each, but `kinds`."""

    # Number of the scene, and of both captions in the list of texts.
    scenes: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    kinds: np.ndarray


class Trials(NamedTuple):
    """Held-out scenes and everything that is asked about them."""

    # uint8, shape (n, IMAGE_SIZE, IMAGE_SIZE, 3).
    pixels: np.ndarray
    # All captions, each once.
    texts: list[str]
    # Number of each scene's references, shape (n, N_REFERENCES), and of its full caption, shape (n,).
    references: np.ndarray
    captions: np.ndarray
    # One foil for each scene, of any kind; and one of every kind that a caption of the scene can have.
    foils: Choices
    foils_by_kind: Choices
    pairs: Choices
    # Captions with 0 to 4 errors, shape (n, len(GRADES)).
    graded: np.ndarray


def draw_trials(n_scenes: int, seed: int = TRIAL_SEED) -> Trials:
    """Draw scenes and what is asked about them; each scene depends on the seed and its number alone."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    def number_choices(scene: int, choices: Iterable[tuple[str, str, str]]) -> list[tuple[int, int, int, str]]:
        return [(scene, number(better), number(worse), kind) for better, worse, kind in choices]

    pixels, references, captions, graded = [], [], [], []
    foils: list[tuple] = []
    by_kind: list[tuple] = []
    pairs: list[tuple] = []
    for i in range(n_scenes):
        rng = np.random.default_rng([seed, i])
        scene = draw_scene(rng)
        pixels.append(as_model_pixels(draw_picture(rng, scene), IMAGE_SIZE))
        captions.append(number(as_caption(scene, draw_wording(rng))))
        foil = draw_foil(rng, scene, draw_claim(rng, scene), draw_wording(rng))
        foils += number_choices(i, [foil])
        own = np.random.default_rng([seed, i, 1])  # so that the draws that follow do not depend on the number of kinds
        every = draw_foils(own, scene, draw_claim(own, scene), draw_wording(own))
        by_kind += number_choices(i, every)
        graded.append(
            [number(as_caption(wrong_claim(rng, scene, scene, errors), draw_wording(rng))) for errors in GRADES]
        )
        better_and_worse = [(better, worse, kind) for kind, (better, worse) in draw_pairs(rng, scene).items()]
        pairs += number_choices(i, better_and_worse)
        taken = {better for better, _, _ in [foil, *every, *better_and_worse]}
        references.append([number(_caption_not_in(rng, scene, taken)) for _ in range(N_REFERENCES)])
    choices = (Choices(*map(np.array, zip(*rows, strict=True))) for rows in (foils, by_kind, pairs))
    arrays = (np.array(rows) for rows in (references, captions))
    return Trials(np.stack(pixels), list(numbers), *arrays, *choices, np.array(graded))


def draw_pairs(rng: np.random.Generator, scene: Scene) -> dict[str, tuple[str, str]]:
    """Draw the better and the worse caption of each kind of `PAIRS`."""
    claim, less = draw_claim(rng, scene), draw_claim(rng, scene)
    while len(list(said_attributes(less))) == len(list(said_attributes(claim))):
        claim, less = scene, draw_claim(rng, scene)
    claim, less = sorted((claim, less), key=lambda scene_claim: -len(list(said_attributes(scene_claim))))
    stranger = draw_scene(rng)
    while stranger == scene:
        stranger = draw_scene(rng)
    few, many = sorted(rng.choice(MACHINE_ERRORS + 1, 2, replace=False).tolist())
    return {
        "HC": (as_caption(claim, draw_wording(rng)), as_caption(less, draw_wording(rng))),
        "HI": (draw_caption(rng, scene), draw_caption(rng, stranger)),
        "HM": (draw_caption(rng, scene), machine_caption(rng, scene, int(rng.integers(1, 3)))),
        "MM": (machine_caption(rng, scene, few), machine_caption(rng, scene, many)),
    }


def machine_caption(rng: np.random.Generator, scene: Scene, errors: int) -> str:
    """Describe a scene as a poor captioner does: always in the plainest words, and with errors."""
    return as_caption(wrong_claim(rng, scene, scene, errors), np.zeros(N_DRAWS))


def encode(clip: SmallClip, pixels: np.ndarray, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Encode pictures, and texts with the metric's prompt, up to the projections.

    Returns:
        float32 arrays, shape (n_pictures, VISION_WIDTH) and (n_texts, TEXT_WIDTH).
    """
    tokens = [clip.tokenize(text) for text in with_prompt(PAC_PROMPT, texts)]
    starts = [range(0, n, ENCODED_AT_ONCE) for n in (len(pixels), len(tokens))]
    with torch.inference_mode():
        images = [clip.encode_pixels(pixels[i : i + ENCODED_AT_ONCE]).hidden for i in starts[0]]
        captions = [clip.encode_tokens(tokens[i : i + ENCODED_AT_ONCE]).hidden for i in starts[1]]
    return torch.cat(images).numpy(), torch.cat(captions).numpy()


def measure(trials: Trials, images: np.ndarray, texts: np.ndarray) -> dict[str, float]:
    """Measure features on all trials.

    Returns:
        Percentages: accuracies, Kendall's taus, recalls; keys that end in ` ref` are RefPAC-S with all references,
        in ` ref1` with one, the others PAC-S.
    """
    percentages: dict[str, float] = {}
    for suffix, n_references in (("", 0), (" ref1", 1), (" ref", N_REFERENCES)):
        score = functools.partial(_scores, images, texts, trials.references[:, :n_references])
        foils = _wins(score, trials.foils)
        percentages[f"foil accuracy{suffix}"] = 100 * foils.mean()
        if n_references == 1:
            continue
        by_kind = _wins(score, trials.foils_by_kind)
        for kind in np.unique(trials.foils_by_kind.kinds):
            percentages[f"foil {kind}{suffix}"] = 100 * by_kind[trials.foils_by_kind.kinds == kind].mean()
        scenes = np.repeat(np.arange(len(trials.graded)), len(GRADES))
        scores = score(scenes, trials.graded.ravel())
        grades = np.tile(-np.array(GRADES), len(trials.graded))
        for variant in "bc":
            tau = scipy.stats.kendalltau(scores, grades, variant=variant).statistic
            percentages[f"tau_{variant}{suffix}"] = 100 * float(tau)
        pairs = _wins(score, trials.pairs)
        for kind in PAIRS:
            percentages[f"{kind}{suffix}"] = 100 * pairs[trials.pairs.kinds == kind].mean()
        percentages[f"pairs mean{suffix}"] = float(np.mean([percentages[f"{kind}{suffix}"] for kind in PAIRS]))
    recall = retrieval_recall(torch.from_numpy(images), torch.from_numpy(texts[trials.captions]))
    return percentages | {name: 100 * value for name, value in recall.items()}


def _scores(
    images: np.ndarray, texts: np.ndarray, references: np.ndarray, scenes: np.ndarray, captions: np.ndarray
) -> np.ndarray:
    """PAC-S of captions of scenes, or RefPAC-S where there are references; shape (n,)."""
    scores = pac_s(paired_cosines(images, texts, scenes, captions), PAC_WEIGHT)
    if not references.shape[1]:
        return scores
    likeness = [paired_cosines(texts, texts, captions, column[scenes]) for column in references.T]
    return ref_pac_s(scores, np.max(likeness, axis=0))


def _wins(score: Callable[[np.ndarray, np.ndarray], np.ndarray], choices: Choices) -> np.ndarray:
    """1 where the better caption has the higher score, 1/2 where both have the same, else 0; shape (n,)."""
    better, worse = (score(choices.scenes, captions) for captions in (choices.better, choices.worse))
    return (better > worse) + 0.5 * (better == worse)


def _caption_not_in(rng: np.random.Generator, scene: Scene, taken: set[str]) -> str:
    while True:
        caption = draw_caption(rng, scene)
        if caption not in taken:
            return caption
