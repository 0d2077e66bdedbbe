"""Comparison of captioning systems: paired tests, tables, and a page."""

from typing import TYPE_CHECKING

from ..later_imports import import_later
from .compare_options import CompareOptions

if TYPE_CHECKING:
    from .render import SystemComparison
    from .run import compare

__all__ = ["CompareOptions", "SystemComparison", "compare"]

__getattr__ = import_later(__name__, {"SystemComparison": "render", "compare": "run"})
