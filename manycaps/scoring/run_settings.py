"""What every worker of a run must know."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from manycaps.caption_tables import BadRow, CaptionRow, Source, bad_row_message
from manycaps.caption_tables.pieces import Piece
from manycaps.scoring.metrics import Metric, Scorer, loaded_scorer
from manycaps.scoring.run_folder import RunFolder

# Rows scored at once, and bytes of images and videos among them.
CHUNK_ROWS = 1024
CHUNK_BYTES = 1 << 25


class RunSettings(NamedTuple):
    """Input, metrics and output of a run; it can be sent to other machines that see the same folders."""

    folder: str
    source: Source
    metrics: tuple[Metric, ...]
    # "raise" stops at the first bad row, "reject" leaves it out.
    on_error: str

    def run_folder(self) -> RunFolder:
        """Return the folder of the results."""
        return RunFolder(self.folder)

    def scorers(self) -> list[Scorer]:
        """Return the metrics, loaded once in each process."""
        return [loaded_scorer(name, json.dumps(options, sort_keys=True)) for name, options in self.metrics]

    def rows(self, part: "Part") -> Iterator[CaptionRow | BadRow]:
        """Yield the rows of a part."""
        store = str(self.run_folder().store) if self.source.needs_store else None
        for piece in part.pieces:
            yield from self.source.read(piece, store)

    def refuse(self, bad: BadRow) -> None:
        """Raise for a bad row, unless such rows are rejected.

        Raises:
            ValueError: the run stops at bad rows.
        """
        if self.on_error == "raise":
            raise ValueError(bad_row_message(bad))


class Part(NamedTuple):
    """Rows that are scored by one worker."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of input that the part stands for."""
        return sum(piece.n_bytes for piece in self.pieces)


def plan_parts(pieces: Iterator[Piece], n_bytes: int) -> list[Part]:
    """Put pieces together to parts of at least `n_bytes` but the last: many small files make few parts.

    Args:
        pieces: of a source, in order.
        n_bytes: least size of a part.

    Returns:
        The parts; they depend on the input and the size alone.
    """
    parts: list[Part] = []
    waiting: list[Piece] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(one.n_bytes for one in waiting) >= n_bytes:
            parts.append(Part(len(parts), tuple(waiting)))
            waiting = []
    if waiting:
        parts.append(Part(len(parts), tuple(waiting)))
    return parts


def chunks(rows: Iterator[CaptionRow | BadRow]) -> Iterator[list[CaptionRow | BadRow]]:
    """Cut rows into runs that fit into memory.

    >>> [len(chunk) for chunk in chunks(iter([BadRow("a", 0, None, "")] * 1025))]
    [1024, 1]
    """
    chunk: list[CaptionRow | BadRow] = []
    n_bytes = 0
    for row in rows:
        chunk.append(row)
        if isinstance(row, CaptionRow):
            n_bytes += sum(len(medium) for medium in (row.image, row.video) if isinstance(medium, bytes))
        if len(chunk) == CHUNK_ROWS or n_bytes >= CHUNK_BYTES:
            yield chunk
            chunk, n_bytes = [], 0
    if chunk:
        yield chunk
