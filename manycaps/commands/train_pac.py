"""Train a PAC score: positive-augmented contrastive learning on your own images and captions.

manycaps train-pac my-name/my-captions tuned-clip
manycaps train-pac data.parquet tuned-clip --train-split "train[5%:]" --validation-split "train[:5%]"
accelerate launch --num_processes 4 --module manycaps train-pac my-name/my-captions tuned-clip --lora-rank 4

Starts from a CLIP, freezes both encoders and trains the two final projections on L(V,T) + lambda_v L(V',T) +
lambda_t L(V,T') (Sarto et al., 2023, sections 3 and 4.1; the defaults are the paper's). --lora-rank also trains
low-rank updates of the attention, as PAC-S++ does. The folder OUTPUT is then a checkpoint:

    manycaps.load("pac_score", checkpoint="tuned-clip")

DATA is a `datasets` data set with the columns image, caption, generated_image (made from the caption) and
generated_caption (made from the image); `manycaps make-positives` adds the last two. It may be a Hub name, a parquet
file, or a folder of parquet files, of save_to_disk, or of images with a metadata.csv (`imagefolder`). Every caption has
a row of its own; rows with the same image belong together, and an epoch sees each image once, with one of its rows.

The features of the frozen encoders are computed once, so that from then on an epoch costs only the projections. A
training that was interrupted at any time resumes when the same command is given again, and ends with the same bits
as one that was not. OUTPUT holds the checkpoint, losses.png, history.json, TensorBoard's files (tensorboard/),
the features (features/, may be deleted at the end) and the saved state. Needs `pip install
'manycaps[train]'`.
"""

import argparse
import dataclasses
import os
import pathlib
import sys

from manycaps.pac_training.recipe import TrainOptions

VARIANT_HELP = f"the CLIP to start from, a variant of pac_score (default {TrainOptions.variant})"
PRECISION_HELP = "precision of the encoders; the projections are always trained in float32 (auto: bfloat16 on a GPU)"
WORKERS_HELP = "threads that decode images"
SAVE_HELP = f"iterations between two saved states, besides those after validations (default {TrainOptions.save_every})"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("data", metavar="DATA", help="Hub name, parquet file or folder")
    parser.add_argument("output", metavar="OUTPUT", type=pathlib.Path, help="output folder; give it again to resume")
    parser.add_argument("--configuration", help="configuration of a Hub data set that has several")
    parser.add_argument("--train-split", default="train", help='split or part, such as "train[5%%:]" (default train)')
    parser.add_argument("--validation-split", default="validation", help='such as "train[:5%%]" (default validation)')
    parser.add_argument("--skip-image-check", action="store_true", help="skip decoding every image before training")

    model = parser.add_argument_group("model")
    model.add_argument("--variant", default=TrainOptions.variant, metavar="NAME", help=VARIANT_HELP)
    model.add_argument(
        "--checkpoint", help="your own weights: file, folder or Hub repository; --variant gives their architecture"
    )
    model.add_argument("--prompt", help="text before every caption (default: that of pac_score)")
    model.add_argument("--lora-rank", type=int, default=0, metavar="R", help="also train low-rank attention updates")
    model.add_argument(
        "--save-lora", action="store_true", help="also write the updates unmerged, named as in PAC-S++ files"
    )

    recipe = parser.add_argument_group("recipe (defaults from the paper where it names them)")
    for name, kind, what in (
        ("lambda_v", float, "weight of generated images; 0: not needed"),
        ("lambda_t", float, "weight of generated captions; 0: not needed"),
        ("learning_rate", float, "parameter of AdamW"),
        ("weight_decay", float, "parameter of AdamW"),
        ("batch_size", int, "images of a batch, over all processes"),
        ("patience", int, "iterations without a better validation loss after which to stop"),
        ("max_iterations", int, "iterations after which to stop in any case"),
        ("validate_every", int, "iterations between two validations"),
        ("seed", int, "seed of order, draws, crops and first updates"),
    ):
        option, default = f"--{name.replace('_', '-')}", getattr(TrainOptions, name)
        recipe.add_argument(option, type=kind, default=default, metavar="N", help=f"{what} (default {default:g})")
    recipe.add_argument("--augment", action="store_true", help="train on random crops of 90 %% or more of the area")

    machine = parser.add_argument_group("machine")
    machine.add_argument("--device", choices=("auto", "cpu"), default="auto", help="auto: an accelerator if available")
    machine.add_argument("--precision", choices=("auto", "float32", "bfloat16"), default="auto", help=PRECISION_HELP)
    machine.add_argument(
        "--cache-features",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="encode everything once (default: yes, unless --lora-rank or --augment change the features)",
    )
    for name, what in (("encode_batch_size", "images at once"), ("workers", WORKERS_HELP), ("save_every", SAVE_HELP)):
        option, default = f"--{name.replace('_', '-')}", getattr(TrainOptions, name)
        machine.add_argument(option, type=int, default=default, metavar="N", help=what)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    # Read by cuBLAS when it starts: without it, products on a GPU may differ from run to run.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    from manycaps.pac_training.training_run import train_pac

    given = vars(arguments)
    trained = train_pac(TrainOptions(**{field.name: given[field.name] for field in dataclasses.fields(TrainOptions)}))
    if trained is not None:
        print(trained.summary(), file=sys.stderr)
