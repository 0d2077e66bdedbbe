"""Settings of decoding beside people: sampled, compared, and the most human-like one chosen."""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

from .decoding_options import DecodingOptions

if TYPE_CHECKING:
    from .run import ComparedSettings, decoding

__all__ = ["ComparedSettings", "DecodingOptions", "decoding"]

__getattr__ = import_later(__name__, {"ComparedSettings": "run", "decoding": "run"})
