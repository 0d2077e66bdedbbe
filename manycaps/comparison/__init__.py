"""Comparison of captioning systems: paired tests, tables, and a page."""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

if TYPE_CHECKING:
    from .compare_options import CompareOptions
    from .render import SystemComparison
    from .run import compare

__all__ = ["CompareOptions", "SystemComparison", "compare"]

__getattr__ = import_later(
    __name__, {"CompareOptions": "compare_options", "SystemComparison": "render", "compare": "run"}
)
