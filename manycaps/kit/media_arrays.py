"""Arrays and tensors to 8-bit pixels: one rule of shapes and ranges, whichever library made them."""

from typing import Any

import numpy as np

from .base_messages import reason_of
from .base_rows import without_torch

# Channels of an image: grey; red, green and blue; and these with alpha.
CHANNELS = (1, 3, 4)


def is_array(value: object) -> bool:
    """Return whether a value is an array or a tensor: of NumPy, torch, torchvision or any library that NumPy can read.

    >>> is_array(np.zeros(2)), is_array([0.0, 0.0])
    (True, False)
    """
    return hasattr(value, "__array__") and hasattr(value, "ndim")


def as_numpy(value: Any, where: str) -> np.ndarray:
    """Return an array or a tensor as a NumPy array: also one with gradients or on an accelerator; a mask stays."""
    try:
        return np.asanyarray(without_torch(value))
    except Exception as error:  # each library raises its own
        raise TypeError(
            f"{where}: expected an array of numbers, got {type(value).__name__}, which is no array of NumPy's "
            f"({reason_of(error)}). Convert it to a NumPy array."
        ) from error


def as_pixels(array: np.ndarray, where: str) -> np.ndarray:
    """Return the pixels of an image as 8-bit levels, the channels last.

    Floats are multiplied by 255 and rounded, so that k / 255 is level k, in any type of floats that NumPy has.

    Args:
        array: uint8, or floats from 0 to 1; shape (height, width, c) or (c, height, width) with c of `CHANNELS`, or of
            uint8 also (height, width).
        where: column and row, for the messages.

    Returns:
        uint8 array, shape (height, width), or (height, width, 3 or 4).

    >>> as_pixels(np.array([[[0.0, 1.0]], [[0.2, 0.2]], [[0.0, 0.0]]]), "images[0]").tolist()
    [[[0, 51, 0], [255, 51, 0]]]
    """
    shape, is_float = array.shape, np.issubdtype(array.dtype, np.floating)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{where}: expected an array without a mask, got {type(array).__name__}. Fill it: image.filled(0)."
        )
    has_channels = array.ndim == 3 and (shape[0] in CHANNELS or shape[2] in CHANNELS)
    if not (has_channels and is_float) and not (array.dtype == np.uint8 and (has_channels or array.ndim == 2)):
        raise ValueError(
            f"{where}: expected an image of uint8 or of floats from 0 to 1, got {array.dtype} of shape {shape}. Give "
            "shape (height, width, 3) or (3, height, width), and levels from 0 to 255 as uint8."
        )
    if array.size == 0:
        raise ValueError(f"{where}: expected at least one pixel, got an array of shape {shape}. Leave the row out.")
    if has_channels:
        array = _channels_last(array, where)
    if is_float:
        array = _as_levels(array, where)
    return array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array


def _channels_last(array: np.ndarray, where: str) -> np.ndarray:
    shape = array.shape
    if shape[0] in CHANNELS and shape[2] in CHANNELS:
        raise ValueError(
            f"{where}: expected channels at one end of the shape, got {shape}, with either end possible. Give a PIL "
            "image: PIL.Image.fromarray of a uint8 NumPy array of shape (height, width, 3)."
        )
    return array if shape[2] in CHANNELS else array.transpose(1, 2, 0)


def _as_levels(array: np.ndarray, where: str) -> np.ndarray:
    """Floats from 0 to 1 as levels from 0 to 255."""
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= 1):  # or NaN
        raise ValueError(
            f"{where}: expected floats from 0 to 1, got {low:g} to {high:g}. Give levels from 0 to 255 as uint8; undo "
            "a normalisation by mean and deviation; clip what a filter left outside."
        )
    return np.rint(array.astype(np.float64) * 255).astype(np.uint8)
