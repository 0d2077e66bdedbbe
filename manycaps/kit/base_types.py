"""Types that many files name: arrays of numbers, tokens of texts, and progress bars."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Sets as the bits of numbers.
Masks = npt.NDArray[np.uint64]

# The captions of all rows.
CaptionRows = Sequence[Sequence[str]]

# One text as tokens, and the texts of all rows.
TokenList = Sequence[str]
TokenRows = Sequence[Sequence[TokenList]]

# Wraps the steps of some work in a progress bar, as `tqdm` does.
Progress = Callable[..., Iterable[Any]]
