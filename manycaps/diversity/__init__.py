"""Diversity of captions: figures of caption files beside published figures of data sets, and a page."""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

from .diversity_options import DiversityOptions

if TYPE_CHECKING:
    from .measured import MeasuredDiversity, diversity

__all__ = ["DiversityOptions", "MeasuredDiversity", "diversity"]

__getattr__ = import_later(__name__, {"MeasuredDiversity": "measured", "diversity": "measured"})
