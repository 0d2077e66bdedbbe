"""Options of a training and of the data that it needs, with the numbers of the recipe of PAC-S.

Light: a command line names them before torch is loaded.
"""

import dataclasses
import math
import os
import pathlib
from collections.abc import Mapping
from typing import Literal

# Columns: a picture, what a person says about it, a picture made from that caption, a caption made from the picture.
IMAGE, CAPTION = "image", "caption"
GENERATED_IMAGE, GENERATED_CAPTION = "generated_image", "generated_caption"

# Weights of the generated images and of the generated captions (Sarto et al., 2023, section 4.1).
LAMBDA_V = 0.05
LAMBDA_T = 0.1

# Learning rate of AdamW, and batch size (same section).
LEARNING_RATE = 1e-4
BATCH_SIZE = 256

# Threads that decode images.
N_WORKERS = min(16, os.cpu_count() or 1)


def check_least(options: object, least: Mapping[str, float]) -> None:
    """Raise unless options, named by their fields, are finite and not below their least values."""
    for name, limit in least.items():
        value = getattr(options, name)
        if not limit <= value < math.inf:
            raise ValueError(f"--{name.replace('_', '-')}: expected {limit} or more, got {value}. See --help.")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Options that decide the result, given the rows and the initial weights."""

    lambda_v: float = LAMBDA_V
    lambda_t: float = LAMBDA_T
    learning_rate: float = LEARNING_RATE
    # Factor of AdamW's decay of the weights. The paper names none; this is torch's.
    weight_decay: float = 0.01
    batch_size: int = BATCH_SIZE
    # Iterations without a better validation loss after which training stops (section 4.1).
    patience: int = 1500
    # Iterations after which training stops in any case: about 230 epochs of the COCO training images.
    max_iterations: int = 100_000
    # Iterations between two validations. The paper names none.
    validate_every: int = 100
    seed: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions(Recipe):
    """Options of `manycaps train-pac`: the model, the data and the recipe."""

    # Hub name, parquet file or folder; the configuration of a Hub data set that has several.
    data: str
    configuration: str | None = None
    # Folder of the checkpoint; the same options resume a training that was interrupted.
    output: pathlib.Path
    train_split: str = "train"
    validation_split: str = "validation"
    skip_image_check: bool = False
    # A variant of pac_score, by default plain CLIP, from which the paper's metric starts; and own weights: file, folder
    # or Hub repository.
    variant: str | None = "clip-vit-b-32"
    checkpoint: str | None = None
    # Before every caption; None: what pac_score puts there.
    prompt: str | None = None
    # Rank of low-rank updates of the attention, and whether they are also written unmerged.
    lora_rank: int = 0
    save_lora: bool = False
    # Whether training images are cropped at random.
    augment: bool = False
    device: Literal["auto", "cpu"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    # Whether everything is encoded once; None: unless the features change.
    cache_features: bool | None = None
    # Images encoded at once while features are cached.
    encode_batch_size: int = 64
    workers: int = N_WORKERS
    # Iterations between two saved states, beside those after validations.
    save_every: int = Recipe.validate_every


@dataclasses.dataclass(frozen=True)
class PositivesOptions:
    """Options of `manycaps make-positives`: the data, and the models that make positives."""

    # Hub name, parquet file or folder.
    data: str
    # Folder of the shards; the same options resume work that was interrupted.
    output: pathlib.Path
    configuration: str | None = None
    split: str = "train"
    # Name of the new split; None: the first word of `split`.
    name: str | None = None
    image_column: str = IMAGE
    caption_column: str = CAPTION
    # What writes captions and draws images in the paper: BLIP with ViT-L/14 tuned on COCO, Stable Diffusion at
    # 512 x 512 on LAION-Aesthetics (section 4.1).
    captioner: str = "Salesforce/blip-image-captioning-large"
    painter: str = "CompVis/stable-diffusion-v1-4"
    no_captions: bool = False
    no_images: bool = False
    # Steps of diffusion. The paper names none; this is diffusers' default.
    steps: int = 50
    # Of the images' noise.
    seed: int = 0
    # Images or captions made at once, and rows of a file.
    batch_size: int = 8
    shard_size: int = 512
    device: Literal["auto", "cpu"] = "auto"
    workers: int = N_WORKERS
