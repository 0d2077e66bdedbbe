"""The image and video metrics on bundled scenes of coloured shapes, with tiny-pac, a toy that knows only such scenes.

`python -m scripts.toy.toy_scenes` draws the scenes: made_scenes.json has their captions, and every row of
made_scenes.jpg a scene's picture and the frames of its clip.
"""

import csv
import functools
import io
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np
import PIL.Image

from manycaps.catalog.installed_modules import data_folder, load
from manycaps.catalog.modules import MODULES
from manycaps.files.saved_files import write_atomically, write_text_atomically

# Weights that know only such scenes.
CHECKPOINT = data_folder("checkpoints/tiny-pac")

# Title of each column, and its module.
COLUMNS = tuple((MODULES[name].values[0].title, name) for name in ("pac_score", "ref_pac_score", "emscore_pac"))

# Captions of each scene, in this order.
KINDS = ("right caption", "one wrong word", "another scene")

# What the one wrong word of a caption is about.
MISTAKES = ("count", "size", "colour", "shape", "relation", "background")

# Captions of the scenes, and their pictures, side by side.
CAPTIONS = pathlib.Path(__file__).with_name("made_scenes.json")
PICTURES = CAPTIONS.with_suffix(".jpg")

# Scenes in the picture.
N_SHOWN = 6


class ToyScene(NamedTuple):
    """A scene and its captions."""

    picture: PIL.Image.Image
    frames: list[PIL.Image.Image]
    # One for each of `KINDS`.
    captions: list[str]
    references: list[str]
    # The right caption with one wrong word, by the kind of that word.
    foils: dict[str, str]

    @property
    def candidates(self) -> dict[str, str]:
        """Everything that is scored: the captions by `KINDS`, then the foils by their kinds."""
        named = dict(zip(KINDS, self.captions, strict=True))
        return named | {f"wrong {kind}": foil for kind, foil in self.foils.items()}


# Scores of one module: for every scene its candidates', by their names.
ToyScores = list[dict[str, float]]


def read_toy_scenes() -> list[ToyScene]:
    """Return the bundled scenes."""
    rows = json.loads(CAPTIONS.read_text(encoding="utf-8"))
    with PIL.Image.open(PICTURES) as sheet:
        side = sheet.height // len(rows)
        cells = [
            [sheet.crop((x, y, x + side, y + side)) for x in range(0, sheet.width, side)]
            for y in range(0, sheet.height, side)
        ]
    return [ToyScene(pictures[0], pictures[1:], **row) for row, pictures in zip(rows, cells, strict=True)]


def score_toy_scenes(scenes: Sequence[ToyScene]) -> dict[str, ToyScores]:
    """Return the scores of every candidate by every module."""
    columns: dict[str, list[Any]] = {
        "predictions": [list(scene.candidates.values()) for scene in scenes],
        "references": [scene.references for scene in scenes],
        "images": [scene.picture for scene in scenes],
        "videos": [scene.frames for scene in scenes],
    }
    scores = {}
    for _, name in COLUMNS:
        module = load(name, checkpoint=str(CHECKPOINT), device="cpu", details=True)
        given = {column: columns[column] for column in MODULES[name].columns}
        per_candidate = module.compute(**given)[f"{name}_per_candidate"]
        scores[name] = [
            dict(zip(scene.candidates, row, strict=True)) for scene, row in zip(scenes, per_candidate, strict=True)
        ]
    return scores


def toy_table(scores: dict[str, ToyScores]) -> list[list[str]]:
    """Return means over the scenes, and how often the right caption beats its twins with one wrong word, as text.

    The twin of the third line has any kind of wrong word; each kind has a line of its own, with the number of scenes
    whose caption says something of that kind.
    """
    rows = [["caption", *(title for title, _ in COLUMNS)]]
    for kind in KINDS:
        rows.append([kind, *(f"{np.mean([row[kind] for row in scores[name]]):.3f}" for _, name in COLUMNS)])
    rows.append(["right above wrong", *(_wins(scores[name], KINDS[1]) for _, name in COLUMNS)])
    for kind in MISTAKES:
        wrong = f"wrong {kind}"
        n_scenes = sum(wrong in row for row in scores[COLUMNS[0][1]])
        if n_scenes:
            rows.append([f"- {wrong} ({n_scenes})", *(_wins(scores[name], wrong) for _, name in COLUMNS)])
    return rows


def write_toy_csv(path: pathlib.Path, scenes: Sequence[ToyScene], scores: dict[str, ToyScores]) -> None:
    """Write every caption and its scores, unrounded."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["scene", "kind", "caption", *(name for _, name in COLUMNS)])
    for i, scene in enumerate(scenes):
        for kind, caption in scene.candidates.items():
            writer.writerow([i, kind, caption, *(scores[name][i][kind] for _, name in COLUMNS)])
    write_text_atomically(path, file.getvalue(), newline="")


def draw_toy_scenes(path: pathlib.Path, scenes: Sequence[ToyScene], scores: dict[str, ToyScores]) -> None:
    """Draw some of the scenes with their captions and scores; wrong captions that win are marked."""
    shown = scenes[:N_SHOWN]
    figure = matplotlib.figure.Figure(figsize=(9, 1.5 * len(shown)), layout="constrained")
    axes = figure.subplots(len(shown), 2, width_ratios=(1, 5))
    for i, (scene, (left, right)) in enumerate(zip(shown, axes, strict=True)):
        left.imshow(np.asarray(scene.picture))
        left.set_axis_off()
        right.set_axis_off()
        for j, caption in enumerate(scene.captions):
            rows = {title: scores[name][i] for title, name in COLUMNS}
            values = "   ".join(f"{title} {row[KINDS[j]]:.2f}" for title, row in rows.items())
            # Right or wrong, in colour and by a sign.
            sign, color = ("\u2713", "#166534") if j == 0 else ("\u2717", "#c2410c")
            right.text(0, 0.95 - 0.34 * j, f"{sign} {caption}", color=color, va="top", fontsize=9)
            right.text(0, 0.80 - 0.34 * j, values + mistake(rows, KINDS[j]), color="#555555", va="top", fontsize=8)
    figure.suptitle("tiny-pac, a toy that knows only this made world", fontsize=11)
    write_atomically(path, functools.partial(figure.savefig, dpi=150))


def mistake(rows: Mapping[str, Mapping[str, float]], kind: str) -> str:
    """Say which metrics do not put a wrong caption of a scene below the right one.

    >>> mistake({"PAC-S": {"right caption": 1.2, "another scene": 1.3}}, "another scene")
    '   wrong, and not below the right caption: PAC-S'
    """
    fooled = [title for title, row in rows.items() if kind != KINDS[0] and not row[kind] < row[KINDS[0]]]
    return f"   wrong, and not below the right caption: {', '.join(fooled)}" if fooled else ""


def _wins(rows: ToyScores, wrong: str) -> str:
    """Share of the scenes with such a wrong caption in which the right one has the higher score."""
    return f"{np.mean([row[KINDS[0]] > row[wrong] for row in rows if wrong in row]):.0%}"
