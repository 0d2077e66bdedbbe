"""Records of data sets on the Hub, which `datasets` reads as a stream."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from manycaps.kit.errors import as_input_errors

from .files import Record, TableFile, table_kind

# Kind of a source on the Hub.
HUB = "Hub data set"

# Longest name of a data set on the Hub: an owner and a name of at most 96 characters each.
LONGEST_HUB_NAME = 193
HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)


def hub_file(source: str, config: str | None, split: str) -> TableFile | None:
    """Return a source that is not a path, address or pattern as a data set on the Hub; None if it names a file.

    >>> hub_file("someone/captions", None, "train").kind, hub_file("captions.csv", None, "train")
    ('Hub data set', None)
    """
    is_name = len(source) <= LONGEST_HUB_NAME and HUB_NAME.fullmatch(source)
    if not is_name or os.path.exists(source) or table_kind(source):
        return None
    # The size is unknown.
    return TableFile(source, HUB, False, 1, (config, split))


def hub_records(file: TableFile, is_read: Callable[[str], bool]) -> Iterator[Record]:
    """Read the records of a data set on the Hub, images undecoded; raise a ValueError if it cannot be loaded."""
    fix = "Check the file, the spelling, and --split and --config."
    with as_input_errors(file.path, "a file, a saved data set or a name on the Hub", fix):
        for row, values in enumerate(_rows(file, is_read)):
            yield Record(row, values)


def _rows(file: TableFile, is_read: Callable[[str], bool]) -> Any:
    import datasets

    config, split = file.hub_part or (None, "train")
    rows = datasets.load_dataset(file.path, config, split=split, streaming=True)
    features = dict(rows.features or {})
    if features:
        rows = rows.select_columns([name for name in features if is_read(name)])
    for name, feature in features.items():
        if isinstance(feature, datasets.Image) and is_read(name):
            rows = rows.cast_column(name, datasets.Image(decode=False))
    return rows
