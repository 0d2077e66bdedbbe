"""Small legal columns for every module of the catalog: what the tests over all folders feed them."""

import functools
import pathlib
import tempfile

import numpy as np

import manycaps
from manycaps.catalog import modules as catalog
from tests.clip_checkpoints import save_checkpoint
from tests.meteor15_data import write_data

CAPTION_ROWS = {
    "predictions": [
        ["a dog runs on the beach", "a brown dog plays in the sand", "two people watch a dog"],
        ["a man cooks pancakes", "a man flips a pancake in the kitchen"],
        ["a train arrives", "a train at the platform", "people wait for the train", "a red train stops"],
        ["children fly a kite", "a kite over the park"],
    ],
    "references": [
        ["a dog is running along the sea", "the dog runs over the sand"],
        ["a father makes breakfast", "pancakes are cooking in a pan", "a man at the stove"],
        ["a train comes into the station", "passengers wait on the platform"],
        ["two kids with a red kite", "a kite in the wind", "a girl runs with her kite"],
    ],
}


IMAGES = list(np.random.default_rng(0).integers(0, 256, (4, 40, 48, 3), dtype=np.uint8))
# Two frames each: an image and the same upside down.
VIDEOS = [[image, image[::-1].copy()] for image in IMAGES]

# Every column that a module may need.
COLUMNS = {**CAPTION_ROWS, "images": IMAGES, "videos": VIDEOS, "data": CAPTION_ROWS["references"]}
SAMPLE_INPUTS = {
    name: {column: COLUMNS[column] for column in record.columns} for name, record in catalog.MODULES.items()
}
# A string counts as one caption.
SAMPLE_INPUTS["emscore_pac"]["predictions"] = [row[0] for row in CAPTION_ROWS["predictions"]]

# Modules that run a CLIP: their published weights are not on a machine without internet.
CLIP_MODULES = {name for name, record in catalog.MODULES.items() if record.network == catalog.CLIP}

# How far two results of the same rows may be apart: a float32 model's batches are summed in another order.
TOLERANCES = {name: 1e-5 for name, record in catalog.MODULES.items() if record.runs_network}


# Options that change nothing of what is tried, and let hundreds of cases end soon.
QUICK_OPTIONS = {"vdtk_leave_one_out": {"n_iterations": 20}}


@functools.cache
def small_checkpoint() -> str:
    """Path of a small random CLIP, made once."""
    return str(save_checkpoint(pathlib.Path(tempfile.mkdtemp(prefix="small-clip-")) / "small.pth"))


@functools.cache
def small_meteor15_data() -> str:
    """Path of small data of METEOR 1.5, written once."""
    return str(write_data(pathlib.Path(tempfile.mkdtemp(prefix="small-meteor15-"))))


def clip_options() -> dict:
    """Options of every module that can read images or videos."""
    return {"checkpoint": small_checkpoint(), "device": "cpu"}


def load_options(name: str) -> dict:
    """Options without which a module cannot be tried on any machine."""
    if name in ("coco_caption", "meteor15"):
        return {"meteor15_data": small_meteor15_data()}
    if name == "vdtk_concept_overlap":
        return {"labels": {"things": ["dog", "kite", "red train"]}}
    return clip_options() if name in CLIP_MODULES else {}


@functools.cache
def module_of(name: str):
    """The module with these options, loaded once; those that can read images have a small CLIP."""
    return manycaps.load(name, **(clip_options() if name in ("trm", "mmd") else load_options(name)))


def bag_of_words(captions):
    """Counts of the words that occur in any of the captions."""
    words = {word: i for i, word in enumerate(sorted({word for caption in captions for word in caption.split()}))}
    vectors = np.zeros((len(captions), len(words)))
    for vector, caption in zip(vectors, captions, strict=True):
        np.add.at(vector, [words[word] for word in caption.split()], 1)
    return vectors


def as_arrays(encoder, rows=CAPTION_ROWS):
    """The keywords of ready embeddings, for rows of captions."""
    captions = sorted({caption for column in rows.values() for row in column for caption in row})
    vectors = dict(zip(captions, encoder(captions), strict=True))
    return {
        f"{column.removesuffix('s')}_embeddings": [np.array([vectors[text] for text in row]) for row in rows[column]]
        for column in rows
    }
