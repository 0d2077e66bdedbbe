"""Captions that the studies run on: bundled scenes, tables of any kind that the reader knows, or public data sets."""

import argparse
import collections
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

import manycaps
from manycaps.caption_tables import CaptionRow, good_rows, open_source
from manycaps.quickstart.scenes import read_scenes
from scripts.studies.caption_rows import draw_rows, read_images
from scripts.studies.study_options import SIZES

BUNDLED = pathlib.Path(manycaps.__file__).parent / "quickstart" / "captions.json"

Captions = list[list[str]]


def read_clips(path: pathlib.Path, n_clips: int, n_captions: int) -> Captions:
    """Return so many captions of each of the first clips of MSVD that have them, in random order."""
    captions: dict[str, list[str]] = collections.defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        video, caption = line.split("\t", 1)
        captions[video].append(caption)
    rng = np.random.default_rng(0)
    enough = [clip for clip in captions.values() if len(clip) >= n_captions][:n_clips]
    return [rng.permutation(clip)[:n_captions].tolist() for clip in enough]


class StudyCaptions(NamedTuple):
    """Human captions, and those of systems if there are any, image by image."""

    # What they are, for titles.
    name: str
    images: Captions
    # By name: as many lists as there are images.
    systems: Mapping[str, Captions]
    # Most candidates and references of a row.
    size: tuple[int, int]


class DrawnRows(NamedTuple):
    """Rows of captions: candidates of every system, and the references that all of them have."""

    candidates: Mapping[str, Captions]
    references: Captions


def read_captions(options: argparse.Namespace) -> StudyCaptions:
    """Return the captions that the options of `add_caption_options` name; images with too few of them are left out."""
    if options.corpus:
        if not options.data:
            raise ValueError("--data: expected a folder with the files of --corpus, got none. Name one.")
        name, (images, systems) = options.corpus, read_corpus(options.data, options.corpus)
    elif options.references:
        name, (images, systems) = "given captions", read_tables(options.references, options.predictions)
    else:
        name, images, systems = "bundled scenes", bundled_images(), {}
    size = tuple(options.sizes or SIZES[options.corpus])
    # People are a system, too, unless others are given.
    needed = size[1] if systems else sum(size)
    enough = [i for i, captions in enumerate(images) if len(captions) >= needed]
    if len(enough) < 2:
        raise ValueError(
            f"--sizes: expected at least two images with {needed} human captions, got {len(enough)}. Ask for fewer "
            "captions."
        )
    kept = {system: [captions[i] for i in enough] for system, captions in systems.items()}
    return StudyCaptions(name, [images[i] for i in enough], kept, (size[0], size[1]))


def bundled_images() -> Captions:
    """Return the captions of the bundled scenes that are written as people write: 16 or more of each."""
    return [[*scene["references"], *scene["systems"]["diverse"]] for scene in read_scenes(BUNDLED)]


def read_corpus(folder: pathlib.Path, corpus: str) -> tuple[Captions, dict[str, Captions]]:
    """Return the human captions in a public data set, and those of a model where its file has some."""
    if corpus != "COCO":
        return read_images(folder, corpus), {}
    rows = json.loads((folder / "coco_val_1000.json").read_text(encoding="utf-8"))
    return [row["references"] for row in rows], {"model": [row["candidates"] for row in rows]}


def read_people(files: Sequence[str]) -> dict[str, CaptionRow]:
    """Return the rows of tables of human captions by id; their captions are the rows' references."""
    rows = good_rows(open_source(files, either=True).rows())
    return {row.id: row._replace(references=row.people) for row in rows}


def read_tables(references: Sequence[str], predictions: Sequence[str]) -> tuple[Captions, dict[str, Captions]]:
    """Return the human captions in tables, and those of systems in others, joined by the ids of the rows."""
    humans = {name: row.references or [] for name, row in read_people(references).items()}
    systems: dict[str, Captions] = {}
    for given in predictions:
        name, separator, path = given.partition("=")
        if not separator:
            raise ValueError(f"--predictions: expected NAME=FILE, got {given!r}. Name the system.")
        found = {row.id: row.predictions or [] for row in good_rows(open_source([path]).rows())}
        missing = [image for image in humans if image not in found]
        if missing:
            raise ValueError(
                f"{path}: expected candidates of id {missing[0]!r}, got none ({len(missing)} such ids in all). Add "
                "them, or leave the images out of --references."
            )
        systems[name] = [found[image] for image in humans]
    return list(humans.values()), systems


def draw_systems(captions: StudyCaptions, damages: Sequence[str], n_rows: int, seed: Sequence[int]) -> DrawnRows:
    """Draw images, and captions of each: as candidates those of the systems, or people's, damaged and whole.

    Args:
        captions: as from `read_captions`.
        damages: keys of `study_options.DAMAGES`, for candidates written by people.
        n_rows: images to draw without replacement; all where there are fewer.
        seed: whole numbers.

    Returns:
        The rows. Where the same people write candidates and references, no caption is on both sides.
    """
    n_images = len(captions.images)
    chosen = np.sort(np.random.default_rng(seed).choice(n_images, min(n_rows, n_images), replace=False)).tolist()
    n, m = captions.size
    enough = all(len(captions.images[i]) >= n + m for i in chosen)
    candidates: dict[str, Captions] = {}
    references: Captions = []
    for damage in damages if enough else ():
        rows = draw_rows(captions.images, chosen, (n, m), damage, np.random.default_rng((*seed, 1)))
        candidates[damage], references = rows
    if not enough:
        rng = np.random.default_rng((*seed, 1))
        references = [[captions.images[i][k] for k in rng.permutation(len(captions.images[i]))[:m]] for i in chosen]
    for system, lists in captions.systems.items():
        candidates[system] = [lists[i][:n] for i in chosen]
    return DrawnRows(candidates, references)
