"""Rows of captions, chosen and ordered to be looked at, and a page."""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

from .rows_options import RowsOptions

if TYPE_CHECKING:
    from .chosen import ChosenRows, rows

__all__ = ["ChosenRows", "RowsOptions", "rows"]

__getattr__ = import_later(__name__, {"ChosenRows": "chosen", "rows": "chosen"})
