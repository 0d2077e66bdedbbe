"""Short names of sources, for tables and titles."""

import pathlib

from manycaps.caption_tables.files import KINDS, TEXT


def source_name(source: str) -> str:
    """Short name of a source for tables.

    >>> source_name("data/flickr8k.jsonl.gz"), source_name("someone/captions")
    ('flickr8k', 'captions')
    """
    name = pathlib.PurePath(source).name
    while pathlib.PurePath(name).suffix in (*KINDS, TEXT, ".gz", ".tgz"):
        name = pathlib.PurePath(name).stem
    return name
