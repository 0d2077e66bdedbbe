# Vendored from manycaps/shared_pac_s.py. Edit it there, then run `make format`.
"""PAC-S from cosines (Sarto et al., 2023, equation 1, https://arxiv.org/abs/2303.12112): NumPy only."""

import sys
from typing import Any

import numpy as np

from .shared_messages import shown_value
from .shared_module import check_is_number

# w of equation 1, which stretches the usual cosines towards [0, 1]; CLIP-S (Hessel et al., 2021) has 2.5.
PAC_WEIGHT = 2.0

# Words before every caption in the authors' program, and in CLIP-S.
PAC_PROMPT = "A photo depicts"


def pac_s(cosines: np.ndarray, weight: float) -> np.ndarray:
    """Score captions by their cosines with their images.

    PAC-S(t, v) = w max(cos(t, v), 0). Clipped pair by pair: a mean of scores is not the score of a mean.

    Args:
        cosines: float64 array, any shape, image and caption.
        weight: w > 0.

    Returns:
        float64 array of that shape, 0 (worst) to w (best), no unit.

    >>> pac_s(np.array([0.5, -0.5]), 2.0).tolist()
    [1.0, 0.0]
    """
    return weight * np.clip(cosines, 0.0, 1.0)


def check_weight(weight: Any) -> None:
    """Raise unless `weight` is a positive number.

    Raises:
        TypeError: it is no number.
        ValueError: it is not positive, or not finite.
    """
    check_is_number("weight", weight, "Give a float such as 2.0.")
    if not 0 < weight <= sys.float_info.max:
        raise ValueError(
            f"weight: expected a positive finite number, got {shown_value(weight)}. PAC-S has 2.0, CLIP-S 2.5."
        )
