"""Samples of a model: several captions of every image, or several answers to every prompt."""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

from .sample_options import SampleOptions

if TYPE_CHECKING:
    from .run import sample
    from .same_meaning import SameMeaning

__all__ = ["SameMeaning", "SampleOptions", "sample"]

__getattr__ = import_later(__name__, {"sample": "run", "SameMeaning": "same_meaning"})
