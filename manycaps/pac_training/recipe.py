"""The numbers of the recipe of PAC-S and the columns of its data: what a command line names before torch is loaded."""

import dataclasses

# Columns: a picture, what a person says about it, a picture made from that caption, a caption made from the picture.
IMAGE, CAPTION = "image", "caption"
GENERATED_IMAGE, GENERATED_CAPTION = "generated_image", "generated_caption"

# Weights of the generated images and of the generated captions (Sarto et al., 2023, section 4.1).
LAMBDA_V = 0.05
LAMBDA_T = 0.1

# Learning rate of AdamW, batch size, and the iterations without a better validation loss after which training stops
# (same section).
LEARNING_RATE = 1e-4
BATCH_SIZE = 256
PATIENCE = 1500

# Factor of AdamW's decay of the weights. The paper names none; this is torch's.
WEIGHT_DECAY = 0.01

# Iterations after which training stops in any case: about 230 epochs of the COCO training images.
MAX_ITERATIONS = 100_000

# Iterations between two validations. The paper names none.
VALIDATE_EVERY = 100


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What decides the result, given the rows and the weights to start from."""

    lambda_v: float = LAMBDA_V
    lambda_t: float = LAMBDA_T
    learning_rate: float = LEARNING_RATE
    weight_decay: float = WEIGHT_DECAY
    batch_size: int = BATCH_SIZE
    patience: int = PATIENCE
    max_iterations: int = MAX_ITERATIONS
    validate_every: int = VALIDATE_EVERY
    seed: int = 0
