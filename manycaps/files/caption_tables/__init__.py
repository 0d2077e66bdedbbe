"""Tables of captions in any common format and layout, as rows with their file, number and id."""

from .caption_lists import caption_lists, open_captions, table_records
from .columns import CaptionColumn
from .rows import BadRow, CaptionRow, bad_row_error, good_rows
from .source import CaptionSource, open_source

__all__ = [
    "BadRow",
    "CaptionColumn",
    "CaptionRow",
    "CaptionSource",
    "bad_row_error",
    "caption_lists",
    "good_rows",
    "open_captions",
    "open_source",
    "table_records",
]
