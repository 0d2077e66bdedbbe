"""What a part must know of the parts before it: contents that came there, and ids that are taken."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from manycaps.caption_tables import BadRow, CaptionRow
from manycaps.scoring.run_folder import RunFolder


class EarlierParts(NamedTuple):
    """What a part must know of the parts before it."""

    # Contents of rows that came before, and how often: equal rows draw independently.
    keys: Mapping[bytes, int]
    # Rows whose ids are taken: their places among the rows of the part that can be read, and what to say of them.
    bad: Mapping[int, str]


def read_earlier(folder: RunFolder, part: int) -> EarlierParts:
    """Return what was found for a part; nothing if nothing was."""
    found = folder.report("earlier", part) or {"keys": {}, "bad": []}
    keys = {bytes.fromhex(key): count for key, count in found["keys"].items()}
    return EarlierParts(keys, dict(found["bad"]))


def write_earlier(folder: RunFolder, part: int, found: EarlierParts) -> None:
    """Write what was found for a part."""
    keys = {key.hex(): count for key, count in sorted(found.keys.items())}
    folder.finish("earlier", part, {"keys": keys, "bad": sorted(found.bad.items())})


class ReadableRows:
    """Tells the rows of a part that can be used from those that cannot, chunk by chunk."""

    def __init__(self, bad: Mapping[int, str]):
        """Take the places of rows whose ids are taken."""
        self._bad = bad
        self._place = 0

    def sort(self, chunk: Sequence[CaptionRow | BadRow]) -> tuple[list[CaptionRow], list[BadRow]]:
        """Return the rows that can be used, and the others.

        >>> row = CaptionRow("a", 0, "x", ["a dog"], None, None, None)
        >>> good, bad = ReadableRows({1: "taken"}).sort([row, BadRow("a", 1, None, "damaged"), row._replace(row=2)])
        >>> [one.row for one in good], [(one.row, one.reason) for one in bad]
        ([0], [(1, 'damaged'), (2, 'taken')])
        """
        good, bad = [], []
        for row in chunk:
            if isinstance(row, BadRow):
                bad.append(row)
                continue
            reason = self._bad.get(self._place)
            self._place += 1
            if reason is None:
                good.append(row)
            else:
                bad.append(BadRow(row.file, row.row, row.id, reason))
        return good, bad
