"""Second pass: score the rows of a part, and write them with the sums that the corpus needs."""

import collections
import contextlib
import json
import pathlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from manycaps.caption_tables import BadRow, CaptionRow
from manycaps.kit.base_rows import EmptyCaptions
from manycaps.scoring.run_folder import RunFolder
from manycaps.scoring.run_settings import RunPart, RunSettings, chunks
from manycaps.scoring.scorer import DocumentTable, Scorer, Scores
from manycaps.scoring.survey import ReadableRows, id_digest, read_earlier, write_digests

# Rows of a row group.
GROUP_ROWS = 1 << 15

# Columns that say which row it is.
ROW_COLUMNS = {
    "id": pa.string(),
    "file": pa.string(),
    "row": pa.int64(),
    "n_candidates": pa.int32(),
    "n_references": pa.int32(),
}


def score_part(settings: RunSettings, part: RunPart) -> dict[str, Any]:
    """Score the rows of a part, write them unless they exist, and return the report, which holds no value of a row."""
    folder = settings.run_folder()
    report = folder.report("score", part.number)
    if report is not None:
        return report
    work = _PartScores(settings, part)

    def write_rows(path: pathlib.Path) -> None:
        with _RowWriter(path) as writer:
            for chunk in chunks(settings.rows(part)):
                writer.write(work.score(chunk), complete=all(sums.n_rows for sums in work.metrics.values()))

    sums, ids, rejected = (folder.part_file("score", part.number, end) for end in ("npz", "ids.npy", "rejected.jsonl"))
    folder.write(folder.rows_file(part.number), write_rows)
    folder.write(sums, work.save_sums)
    write_digests(ids, work.ids, folder)
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in work.rejected)
    folder.write(rejected, lambda path: path.write_text(lines, encoding="utf-8"))
    folder.finish("score", part.number, work.report(), [folder.rows_file(part.number), sums, ids, rejected])
    return work.report()


class _PartScores:
    """Scores the chunks of a part, and keeps what is needed of all of them."""

    def __init__(self, settings: RunSettings, part: RunPart):
        self.settings = settings
        self.scorers = settings.scorers()
        for scorer in self.scorers:
            scorer.prepare()
        earlier = read_earlier(settings.run_folder(), part.number)
        self.readable = ReadableRows(earlier.bad)
        # Ids that the survey has not seen; those of rows without ids of their own are numbers of rows.
        was_surveyed = settings.run_folder().report("survey", part.number) is not None
        self.keeps_ids = settings.source.main.layout.id is not None and not was_surveyed
        self.ids: list[bytes] = []
        self.n_earlier = {scorer.name: collections.Counter(earlier.keys) for scorer in self.scorers}
        self.documents = _documents(settings.run_folder())
        self.rejected: list[dict[str, Any]] = []
        self.n_rejected = self.n_rows = 0
        self.empty = EmptyCaptions()
        self.metrics = {scorer.name: _MetricSums(scorer) for scorer in self.scorers}

    def score(self, chunk: Sequence[CaptionRow | BadRow]) -> dict[str, list[Any]]:
        """Return the columns of the rows that at least one metric has scored."""
        rows, unreadable = self.readable.sort(chunk)
        for bad in unreadable:
            self._reject(bad, None)
        self.n_rejected += len(unreadable)
        for row in rows:
            self.empty.add([*(row.predictions or []), *(row.references or [])])
        if self.keeps_ids:
            self.ids += [id_digest(row.id) for row in rows]
        columns: dict[str, list[Any]] = {}
        scored, refused = set[int](), set[int]()
        for scorer in self.scorers:
            values, good, reasons = scorer.accepted(rows)
            for number in sorted(reasons):
                row = rows[number]
                self._reject(BadRow(row.file, row.row, row.id, reasons[number]), scorer.name)
            refused |= set(reasons)
            scored |= set(good)
            if good:
                scores = scorer.scores(values, self.n_earlier[scorer.name], self.documents)
                self.metrics[scorer.name].add(scores, len(good))
                columns |= {name: _spread(column, good, len(rows)) for name, column in scores.columns.items()}
        self.n_rejected += len(refused)
        kept = [number for number in range(len(rows)) if number in scored]
        self.n_rows += len(kept)
        places: dict[str, list[Any]] = {
            "id": [row.id for row in rows],
            "file": [row.file for row in rows],
            "row": [row.row for row in rows],
            "n_candidates": [None if row.predictions is None else len(row.predictions) for row in rows],
            "n_references": [None if row.references is None else len(row.references) for row in rows],
        }
        return {name: [values[number] for number in kept] for name, values in (places | columns).items()}

    def report(self) -> dict[str, Any]:
        """Return the report of the part."""
        metrics = {name: sums.report() for name, sums in self.metrics.items()}
        counts = {"n_rows": self.n_rows, "n_rejected": self.n_rejected, "empty": self.empty.counts()}
        return {**counts, "metrics": metrics}

    def save_sums(self, path: pathlib.Path) -> None:
        """Write the sums of the corpus tests, and what other values of the corpus need."""
        arrays = {f"drawn:{name}": metric.drawn for name, metric in self.metrics.items() if metric.drawn is not None}
        for name, metric in self.metrics.items():
            if metric.reduction is not None:
                arrays |= {f"reduced:{name}:{key}": array for key, array in metric.reduction.arrays().items()}
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def _reject(self, bad: BadRow, metric: str | None) -> None:
        self.settings.refuse(bad)
        line = {"file": bad.file, "row": bad.row, "id": bad.id, "metric": metric, "reason": bad.reason}
        self.rejected.append(line)


class _MetricSums:
    """What the corpus needs of a metric besides the columns of the rows."""

    def __init__(self, scorer: Scorer):
        self.drawn = np.zeros(scorer.options["n_resamples"]) if scorer.has_p_values else None
        self.reduction = scorer.reduction()
        self.n_rows = 0
        self.columns: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.smallest: collections.Counter[float] = collections.Counter()
        self.signature: str | None = None

    def add(self, scores: Scores, n_rows: int) -> None:
        """Take in a chunk."""
        self.n_rows += n_rows
        self.columns = list(scores.columns)
        self.counts.update(scores.counts)
        self.smallest.update(scores.smallest or {})
        self.signature = scores.signature
        if self.drawn is not None and scores.drawn is not None:
            self.drawn += scores.drawn
        if self.reduction is not None:
            self.reduction.add(scores.reduced)

    def report(self) -> dict[str, Any]:
        """Return everything but the sums of draws."""
        return {
            "n_rows": self.n_rows,
            "columns": self.columns,
            "counts": dict(self.counts),
            "smallest": sorted(self.smallest.items()),
            "signature": self.signature,
        }


class _RowWriter(contextlib.AbstractContextManager["_RowWriter"]):
    """Writes rows to a parquet file in groups; the first is written once all columns are known."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.waiting: list[dict[str, list[Any]]] = []
        self.n_waiting = 0
        self.schema: pa.Schema | None = None
        self.writer: pq.ParquetWriter | None = None

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()
        if self.writer is not None:
            self.writer.close()

    def write(self, columns: dict[str, list[Any]], *, complete: bool) -> None:
        """Add rows; `complete` says that every metric has scored some row by now."""
        self.waiting.append(columns)
        self.n_waiting += len(columns["id"])
        if self.n_waiting >= GROUP_ROWS and complete:
            self._flush()

    def _flush(self) -> None:
        """Write what waits, at least an empty table."""
        if self.schema is None:
            self.schema = _schema(self.waiting)
        columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}
        for chunk in self.waiting:
            for name, values in columns.items():
                values += chunk.get(name, [None] * len(chunk["id"]))
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.path, self.schema)
        self.writer.write_table(pa.table(columns, schema=self.schema))
        self.waiting, self.n_waiting = [], 0


def _schema(chunks_of_columns: Sequence[Mapping[str, Sequence[Any]]]) -> pa.Schema:
    """Types of the columns: scores are floating-point numbers, or lists of them."""
    types: dict[str, pa.DataType] = dict(ROW_COLUMNS)
    for columns in chunks_of_columns:
        for name, values in columns.items():
            several = any(isinstance(value, list | np.ndarray) for value in values)
            types.setdefault(name, pa.list_(pa.float64()) if several else pa.float64())
    return pa.schema(types)


def _spread(values: Collection[Any], places: Sequence[int], n_rows: int) -> list[Any]:
    """Values at their indices among all rows, None elsewhere."""
    spread: list[Any] = [None] * n_rows
    for number, value in zip(places, values, strict=True):
        spread[number] = float(value) if isinstance(value, np.floating) else value
    return spread


def _documents(folder: RunFolder) -> DocumentTable | None:
    """Document frequencies that the survey has counted."""
    report = folder.report("documents", 0)
    return None if report is None else DocumentTable(str(folder.document_frequency), report["n_documents"])
