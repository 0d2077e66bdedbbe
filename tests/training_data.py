"""A small data set for training tests: pictures of one colour, captions that name it, and generated positives."""

import numpy as np
import PIL.Image

from scripts.toy.pictures import RGB
from tests.large_packages import datasets

COLORS = "red green blue yellow black white orange purple".split()
PLACES = "field wall table road".split()


def picture(color, seed):
    """A noisy square of one colour."""
    noise = np.random.default_rng(seed).integers(-15, 16, (36, 40, 3))
    return PIL.Image.fromarray(np.clip(np.array(RGB[color]) + noise, 0, 255).astype(np.uint8))


def tuples(n, seed=0, captions_per_image=1):
    """Columns of n images, each in as many rows as it has captions."""
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in ("image", "caption", "generated_image", "generated_caption")}
    for i in range(n):
        color, place = str(rng.choice(COLORS)), str(rng.choice(PLACES))
        for k in range(captions_per_image):
            columns["image"].append(picture(color, 1000 * seed + i))
            columns["caption"].append(f"a {color} thing on a {place}, number {i}, seen {k + 1} times")
            columns["generated_image"].append(picture(color, 10_000 * (seed + 1) + 10 * i + k))
            columns["generated_caption"].append(f"there is something {color} near the {place} {i}")
    return columns


def data_set(n, seed=0, captions_per_image=1):
    """The columns as a data set with encoded images."""
    features = datasets.Features(
        image=datasets.Image(),
        caption=datasets.Value("string"),
        generated_image=datasets.Image(),
        generated_caption=datasets.Value("string"),
    )
    return datasets.Dataset.from_dict(tuples(n, seed, captions_per_image), features=features)


def save_data(folder, n_training=48, n_validation=20, captions_per_image=1):
    """Write a folder with parquet files of two splits, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    data_set(n_training, 0, captions_per_image).to_parquet(folder / "train.parquet")
    data_set(n_validation, 1, captions_per_image).to_parquet(folder / "validation.parquet")
    return folder
