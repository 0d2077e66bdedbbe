"""Second pass: score the rows of a part, and write them with the sums that the corpus needs."""

import collections
import itertools
import json
import pathlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from manycaps.files.caption_tables import BadRow, CaptionRow
from manycaps.kit.row_images import RepeatedTexts, repeated_texts, text_hashes
from manycaps.kit.rows import DecoderSigns, EmptyCaptions
from manycaps.kit.sets_module import CAPTION_COLUMNS
from manycaps.scoring.run_folder import RunFolder
from manycaps.scoring.run_settings import RunPart, RunSettings
from manycaps.scoring.scorer import DocumentTable, Scorer, Scores
from manycaps.scoring.survey import id_digest, read_earlier, readable_rows, write_digests

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
    earlier = read_earlier(folder, part.number)
    work = _PartScores(settings, part, earlier.keys)

    def write_rows(path: pathlib.Path) -> None:
        scored = (work.score(rows, bad) for rows, bad in readable_rows(settings, part, earlier.bad))
        groups = _row_groups(scored, lambda: all(sums.n_rows for sums in work.metrics.values()))
        first = next(groups)
        with pq.ParquetWriter(path, first.schema) as writer:
            for group in itertools.chain([first], groups):
                writer.write_table(group)

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

    def __init__(self, settings: RunSettings, part: RunPart, n_earlier: Mapping[bytes, int]):
        self.settings = settings
        self.scorers = settings.scorers()
        for scorer in self.scorers:
            scorer.prepare()
        # Ids that the survey has not seen; rows without ids of their own have row numbers.
        was_surveyed = settings.run_folder().report("survey", part.number) is not None
        self.keeps_ids = settings.source.main.layout.id is not None and not was_surveyed
        self.ids: list[bytes] = []
        self.n_earlier = {scorer.name: collections.Counter(n_earlier) for scorer in self.scorers}
        self.documents = _documents(settings.run_folder())
        self.rejected: list[dict[str, Any]] = []
        self.n_rejected = self.n_rows = self.n_read = 0
        finders = [scorer.module.has_token(scorer.options) for scorer in self.scorers]
        # A single metric is asked directly: once a caption.
        has_token = finders[0] if len(finders) == 1 else lambda caption: all(find(caption) for find in finders)
        self.empty, self.signs = EmptyCaptions(has_token), DecoderSigns()
        self.repeated = RepeatedTexts()
        self.metrics = {scorer.name: _MetricSums(scorer) for scorer in self.scorers}

    def score(self, rows: Sequence[CaptionRow], unreadable: Sequence[BadRow]) -> dict[str, list[Any]]:
        """Return the columns of the rows that at least one metric has scored."""
        for bad in unreadable:
            self._reject(bad, None)
        self.n_rejected += len(unreadable)
        self.n_read += len(rows) + len(unreadable)
        for row in rows:
            self.empty.add([*(row.predictions or []), *(row.references or [])])
            self.signs.add(row.predictions or (), row.references or ())
        self.repeated += repeated_texts(row.references or () for row in rows)
        if self.keeps_ids:
            self.ids += [id_digest(row.id) for row in rows]
        columns: dict[str, list[Any]] = {}
        scored, refused = set[int](), set[int]()
        for scorer in self.scorers:
            values, good, reasons = scorer.accept(rows)
            for number in sorted(reasons):
                row = rows[number]
                self._reject(BadRow(row.file, row.row, row.id, reasons[number]), scorer.name)
            refused |= set(reasons)
            scored |= set(good)
            if good:
                scores = scorer.scores(values, self.n_earlier[scorer.name], self.documents)
                self.metrics[scorer.name].add(scores, len(good))
                self.metrics[scorer.name].add_captions(values)
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
        counts = {"n_rows": self.n_rows, "n_rejected": self.n_rejected, "n_read": self.n_read}
        warned = {"empty": self.empty.counts(), "repeated": list(self.repeated), "signs": self.signs.counts()}
        return {**counts, **warned, "metrics": metrics}

    def save_sums(self, path: pathlib.Path) -> None:
        """Write the sums of the corpus tests, and what other values of the corpus need."""
        arrays = {f"drawn:{name}": metric.drawn for name, metric in self.metrics.items() if metric.drawn is not None}
        for name, metric in self.metrics.items():
            arrays |= {f"images:{name}:{key}": np.concatenate(parts) for key, parts in metric.captions.items()}
            if metric.reduction is not None:
                arrays |= {f"reduced:{name}:{key}": array for key, array in metric.reduction.arrays().items()}
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def _reject(self, bad: BadRow, metric: str | None) -> None:
        self.settings.refuse(bad)
        line = {"file": bad.file, "row": bad.row, "id": bad.id, "metric": metric, "reason": str(bad.reason)}
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
        # Hashes of the captions of rows, and their numbers, where rows of one image count: with intervals or tests.
        self.has_clusters = "clusters" in scorer.options and scorer.module.has_effect("clusters", scorer.options)
        self.captions: dict[str, list[np.ndarray]] = {}

    def add_captions(self, columns: Mapping[str, Any]) -> None:
        """Take in the captions of a chunk."""
        if not self.has_clusters or not any(columns.get("references", ())):
            return
        for side in CAPTION_COLUMNS:
            self.captions.setdefault(side, []).append(text_hashes(columns[side]))
            self.captions.setdefault(f"n_{side}", []).append(np.array([len(row) for row in columns[side]]))

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


def _row_groups(
    chunks_of_columns: Iterable[dict[str, list[Any]]], is_complete: Callable[[], bool]
) -> Iterator[pa.Table]:
    """Rows in groups, the last of which may be empty; the first waits until every metric has scored some row."""
    schema: pa.Schema | None = None
    waiting: list[dict[str, list[Any]]] = []
    for chunk in chunks_of_columns:
        waiting.append(chunk)
        if sum(len(columns["id"]) for columns in waiting) >= GROUP_ROWS and is_complete():
            schema = schema or _schema(waiting)
            yield _join_chunks(waiting, schema)
            waiting = []
    yield _join_chunks(waiting, schema or _schema(waiting))


def _join_chunks(chunks_of_columns: Sequence[Mapping[str, list[Any]]], schema: pa.Schema) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for chunk in chunks_of_columns:
        for name, values in columns.items():
            values += chunk.get(name, [None] * len(chunk["id"]))
    return pa.table(columns, schema=schema)


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
