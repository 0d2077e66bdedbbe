"""The features that CMMD and KID are made of, and what is said where a call would compute them of others."""

from typing import NamedTuple

from .shared_clip_sets import CLIP
from .shared_messages import shown_value
from .shared_sentence_encoder import DEFAULT_ENCODER


class Preset(NamedTuple):
    """What a preset is made for."""

    # Features of its authors.
    features: str
    # Weights that make them.
    weights: str


PRESETS = {
    "cmmd": Preset("CLIP ViT-L/14 at 336 pixels, of length 1", "openai/clip-vit-large-patch14-336"),
    "kid": Preset("the 2,048 numbers of Inception's last pooling", "pt_inception-2015-12-05-6726825d.pth"),
}


def check_features(preset: str | None, encoder: object, what: str) -> None:
    """Raise if the features of a preset are not those that captions or images would get.

    Args:
        preset: a key of `PRESETS`, or None.
        encoder: that of captions.
        what: "captions" or "images".

    Raises:
        OSError: the features would have to be made by weights that this module does not run; the message names them.
        ValueError: the captions would be embedded by another encoder than a CLIP.
    """
    if preset == "kid":
        made = PRESETS[preset]
        raise OSError(
            f"preset={preset!r}: expected ready features ({made.features}), got {what}. Make them with the weights "
            f"{made.weights}, which are not run here, and give them as prediction_embeddings=... and "
            "reference_embeddings=..."
        )
    if preset == "cmmd" and not (isinstance(encoder, str) and encoder in (DEFAULT_ENCODER, CLIP)):
        raise ValueError(
            f"encoder: expected {CLIP!r} for preset='cmmd' of {what}, got {shown_value(encoder)}. Leave encoder out, "
            "or give features of your own as prediction_embeddings=... and reference_embeddings=..."
        )
