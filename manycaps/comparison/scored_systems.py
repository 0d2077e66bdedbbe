"""What is known of systems before they are compared: their rows, and their scores."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class ScoredSystem(NamedTuple):
    """The scores of a system."""

    name: str
    # By key the value of every row, float64 arrays of shape (n_rows,).
    values: Mapping[str, np.ndarray]
    # By module its result, with the signature and without lists.
    results: Mapping[str, Mapping[str, Any]]
    # Captions of every row; None where they are not known.
    n_candidates: Sequence[int] | None = None


class SystemRow(NamedTuple):
    """An image, video or other item that all systems describe."""

    id: str
    # By system; empty where only scores are known.
    captions: Mapping[str, Sequence[str]]
    references: Sequence[str] | None = None
    # Path, or encoded bytes.
    image: str | bytes | None = None
    video: str | bytes | None = None


class Exchange(NamedTuple):
    """Whether the captions of two systems are exchangeable: a set metric with one of them as the references."""

    module: str
    first: str
    second: str
    statistic: float
    excess: float
    z: float
    p_value: float
