"""Options of a training and of the data that it needs, with the numbers of the recipe of PAC-S.

Light: a command line names them before torch is loaded.
"""

import dataclasses
import os
import pathlib
from typing import Annotated, ClassVar, Literal

from manycaps.catalog.command_options import Option

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


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Options that decide the result, given the rows and the initial weights."""

    lambda_v: Annotated[float, Option("weight of generated images; 0: not needed", least=0)] = LAMBDA_V
    lambda_t: Annotated[float, Option("weight of generated captions; 0: not needed", least=0)] = LAMBDA_T
    learning_rate: Annotated[float, Option("parameter of AdamW", least=0)] = LEARNING_RATE
    # The paper names none; this is torch's.
    weight_decay: Annotated[float, Option("parameter of AdamW", least=0)] = 0.01
    batch_size: Annotated[int, Option("images of a batch, over all processes", least=2)] = BATCH_SIZE
    # Of section 4.1.
    patience: Annotated[int, Option("iterations without a better validation loss after which to stop", least=1)] = 1500
    # About 230 epochs of the COCO training images.
    max_iterations: Annotated[int, Option("iterations after which to stop in any case", least=0)] = 100_000
    # The paper names none.
    validate_every: Annotated[int, Option("iterations between two validations", least=1)] = 100
    seed: Annotated[int, Option("of order, draws, crops and first updates", least=0)] = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions(Recipe):
    """Options of `manycaps train-pac`: the model, the data and the recipe."""

    GROUPS: ClassVar = {
        "lambda_v": "recipe (defaults from the paper where it names them)",
        "data": "data",
        "variant": "model",
        "augment": "machine and features",
    }

    data: Annotated[str, Option("Hub name, parquet file or folder", "DATA", "")]
    configuration: Annotated[str | None, Option("of a Hub data set that has several")] = None
    output: Annotated[pathlib.Path, Option("output folder; give it again to resume", "OUTPUT", "")]
    train_split: Annotated[str, Option('split or part, such as "train[5%%:]"')] = "train"
    validation_split: Annotated[str, Option('such as "train[:5%%]"')] = "validation"
    skip_image_check: Annotated[bool, Option("skip decoding every image before training")] = False
    # By default plain CLIP, from which the paper's metric starts.
    variant: Annotated[str | None, Option("the CLIP to start from, a variant of pac_score")] = "clip-vit-b-32"
    checkpoint: Annotated[
        str | None, Option("your own weights: file, folder or Hub repository; --variant gives their architecture")
    ] = None
    prompt: Annotated[str | None, Option("text before every caption; default: pac_score's", "TEXT")] = None
    lora_rank: Annotated[int, Option("also train low-rank attention updates", least=0)] = 0
    save_lora: Annotated[bool, Option("also write the updates unmerged, named as in PAC-S++ files")] = False
    augment: Annotated[bool, Option("train on random crops of 90%% or more of the area")] = False
    device: Annotated[Literal["auto", "cpu"], Option("auto: an accelerator if available")] = "auto"
    precision: Annotated[
        Literal["auto", "float32", "bfloat16"],
        Option("of the encoders; the projections are always trained in float32 (auto: bfloat16 on a GPU)"),
    ] = "auto"
    cache_features: Annotated[
        bool | None, Option("encode everything once; default: yes, unless the features change from step to step")
    ] = None
    encode_batch_size: Annotated[int, Option("images encoded at once while features are cached", least=1)] = 64
    workers: Annotated[int, Option("threads that decode images", least=1)] = N_WORKERS
    save_every: Annotated[
        int, Option("iterations between two saved states, besides those after validations", least=1)
    ] = Recipe.validate_every


@dataclasses.dataclass(frozen=True)
class PositivesOptions:
    """Options of `manycaps make-positives`: the data, and the models that make positives."""

    data: Annotated[str, Option("Hub name, parquet file or folder", "DATA", "")]
    output: Annotated[pathlib.Path, Option("output folder; give it again to resume", "OUTPUT", "")]
    configuration: Annotated[str | None, Option("of a Hub data set that has several")] = None
    split: Annotated[str, Option('split or part, such as "train[:5%%]"')] = "train"
    name: Annotated[str | None, Option("of the new split; default: the first word of --split")] = None
    image_column: Annotated[str, Option()] = IMAGE
    caption_column: Annotated[str, Option()] = CAPTION
    # What writes captions and draws images in the paper: BLIP with ViT-L/14 tuned on COCO, Stable Diffusion at
    # 512 x 512 on LAION-Aesthetics (section 4.1).
    captioner: Annotated[str, Option("model of transformers")] = "Salesforce/blip-image-captioning-large"
    painter: Annotated[str, Option("pipeline of diffusers")] = "CompVis/stable-diffusion-v1-4"
    no_captions: Annotated[bool, Option("make images only, to train with --lambda-t 0")] = False
    no_images: Annotated[bool, Option("make captions only, to train with --lambda-v 0")] = False
    # The paper names none; this is diffusers' default.
    steps: Annotated[int, Option("steps of diffusion", least=1)] = 50
    seed: Annotated[int, Option("of the images' noise", least=0)] = 0
    batch_size: Annotated[int, Option("images or captions made at once", least=1)] = 8
    shard_size: Annotated[int, Option("rows per file", least=1)] = 512
    device: Annotated[Literal["auto", "cpu"], Option("auto: a GPU if available")] = "auto"
    workers: Annotated[int, Option("threads that decode images", least=1)] = N_WORKERS
