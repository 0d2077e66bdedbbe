"""Tables of captions, of any of the usual kinds and layouts, as rows that name their file, number and id."""

from manycaps.caption_tables.caption_row import BadRow, CaptionRow, bad_row_message, good_rows
from manycaps.caption_tables.source import Source, open_source

__all__ = ["BadRow", "CaptionRow", "Source", "bad_row_message", "good_rows", "open_source"]
