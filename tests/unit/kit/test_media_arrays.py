"""Arrays to 8-bit pixels; every form in every module is in tests/modules/test_image_forms.py."""

import numpy as np
import pytest

from manycaps.kit.media_arrays import as_numpy, as_pixels
from tests.each_case import each_case
from tests.large_packages import torch

LEVELS = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)


@each_case("floats", [np.float16, np.float32, np.float64, np.longdouble, np.dtype(">f4")])
def test_every_level_of_every_type_of_floats_is_exact(floats):
    assert (as_pixels((LEVELS / 255).astype(floats), "images[0]") == LEVELS[:, :, 0]).all()
    for tensor in (torch.from_numpy(LEVELS).float() / 255, torch.from_numpy(LEVELS).float().div(255).half()):
        assert (as_pixels(as_numpy(tensor, "images[0]"), "images[0]") == LEVELS[:, :, 0]).all()


@each_case("shape", [(3, 5, 3), (3, 5, 4), (1, 5, 3), (4, 5, 1)])
def test_channels_at_both_ends(shape):
    with pytest.raises(ValueError) as raised:
        as_pixels(np.zeros(shape, np.uint8), "images[2]")
    assert str(raised.value) == (
        f"images[2]: expected channels at one end of the shape, got {shape}, with either end possible. Give a PIL "
        "image: PIL.Image.fromarray of a uint8 NumPy array of shape (height, width, 3)."
    )
