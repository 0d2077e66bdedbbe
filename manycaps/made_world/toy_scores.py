"""The image and video metrics on scenes of the made world, with the small checkpoint that knows only those: a toy."""

import csv
import functools
import io
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import PIL.Image

from ..installed_modules import data_folder, load
from ..saved_files import write_atomically, write_text_atomically
from .captions import as_caption, draw_claim, draw_wording, other_caption, wrong_claim
from .pictures import draw_picture
from .scenes import Scene, draw_scene, n_errors

# Weights that know only the made world.
CHECKPOINT = data_folder("checkpoints/tiny-pac")

# Title of each column, and its module.
COLUMNS = (("PAC-S", "pac_score"), ("RefPAC-S", "ref_pac_score"), ("EMScore", "emscore_pac"))

# Captions of each scene, in this order.
KINDS = ("right caption", "one wrong word", "another scene")

# Least number of errors of the caption of another scene.
LEAST_ERRORS = 2

N_REFERENCES = 3

# Frames of a clip: the same shapes, which move from place to place.
N_FRAMES = 6

# Scenes in the picture.
N_SHOWN = 6


class ToyScene(NamedTuple):
    """A scene and what is said of it."""

    picture: PIL.Image.Image
    frames: list[PIL.Image.Image]
    # One for each of `KINDS`.
    captions: list[str]
    references: list[str]


def draw_toy_scene(seed: int, number: int) -> ToyScene:
    """Draw one scene; it depends on the seed and its number alone."""
    rng = np.random.default_rng([seed, number])
    scene, wording = draw_scene(rng), draw_wording(rng)
    claim = draw_claim(rng, scene)
    right = as_caption(claim, wording)
    foil = as_caption(wrong_claim(rng, scene, claim, 1), wording)
    pictures = [draw_picture(rng, scene) for _ in range(1 + N_FRAMES)]
    references = [other_caption(rng, scene, right) for _ in range(N_REFERENCES)]
    return ToyScene(pictures[0], pictures[1:], [right, foil, _foreign_caption(rng, scene)], references)


def score_toy_scenes(scenes: Sequence[ToyScene]) -> dict[str, np.ndarray]:
    """Return the scores of every module, shape (n_scenes, len(KINDS))."""
    predictions = [scene.captions for scene in scenes]
    references = [scene.references for scene in scenes]
    pictures, clips = [scene.picture for scene in scenes], [scene.frames for scene in scenes]
    columns: dict[str, dict[str, Any]] = {
        "pac_score": {"images": pictures},
        "ref_pac_score": {"images": pictures, "references": references},
        "emscore_pac": {"videos": clips},
    }
    scores = {}
    for name, more in columns.items():
        module = load(name, checkpoint=str(CHECKPOINT), device="cpu", details=True)
        scores[name] = np.array(module.compute(predictions=predictions, **more)[f"{name}_per_candidate"])
    return scores


def toy_table(scores: dict[str, np.ndarray]) -> list[list[str]]:
    """Return means over the scenes, and how often the right caption beats its twin with one wrong word, as text."""
    rows = [["caption", *(title for title, _ in COLUMNS)]]
    for i, kind in enumerate(KINDS):
        rows.append([kind, *(f"{scores[name][:, i].mean():.3f}" for _, name in COLUMNS)])
    wins = [(scores[name][:, 0] > scores[name][:, 1]).mean() for _, name in COLUMNS]
    return [*rows, ["right above wrong", *(f"{share:.0%}" for share in wins)]]


def write_toy_csv(path: pathlib.Path, scenes: Sequence[ToyScene], scores: dict[str, np.ndarray]) -> None:
    """Write every caption and its scores, unrounded."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["scene", "kind", "caption", *(name for _, name in COLUMNS)])
    for i, scene in enumerate(scenes):
        for j, (kind, caption) in enumerate(zip(KINDS, scene.captions, strict=True)):
            writer.writerow([i, kind, caption, *(scores[name][i, j] for _, name in COLUMNS)])
    write_text_atomically(path, file.getvalue(), newline="")


def draw_toy_scenes(path: pathlib.Path, scenes: Sequence[ToyScene], scores: dict[str, np.ndarray]) -> None:
    """Draw some of the scenes with their captions and scores."""
    shown = scenes[:N_SHOWN]
    figure, axes = plt.subplots(len(shown), 2, figsize=(9, 1.5 * len(shown)), width_ratios=(1, 5), layout="constrained")
    for i, (scene, (left, right)) in enumerate(zip(shown, axes, strict=True)):
        left.imshow(np.asarray(scene.picture))
        left.set_axis_off()
        right.set_axis_off()
        for j, caption in enumerate(scene.captions):
            values = "   ".join(f"{title} {scores[name][i, j]:.2f}" for title, name in COLUMNS)
            right.text(0, 0.95 - 0.34 * j, caption, color="#166534" if j == 0 else "#c2410c", va="top", fontsize=9)
            right.text(0, 0.80 - 0.34 * j, values, color="#555555", va="top", fontsize=8)
    figure.suptitle("tiny-pac, a toy that knows only this made world", fontsize=11)
    write_atomically(path, functools.partial(figure.savefig, dpi=150))
    plt.close(figure)


def _foreign_caption(rng: np.random.Generator, scene: Scene) -> str:
    """A right caption of another scene that is wrong here."""
    while True:
        claim = draw_claim(rng, draw_scene(rng))
        if n_errors(claim, scene) >= LEAST_ERRORS:
            return as_caption(claim, draw_wording(rng))
