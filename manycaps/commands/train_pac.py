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
import os
import sys

from manycaps.catalog.command_options import add_options, options_of
from manycaps.pac_training.recipe import TrainOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_options(parser, TrainOptions)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    # Read by cuBLAS when it starts: without it, products on a GPU may differ from run to run.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    from manycaps.pac_training.training_run import train_pac

    trained = train_pac(options_of(arguments, TrainOptions))
    if trained is not None:
        print(trained.summary(), file=sys.stderr)
