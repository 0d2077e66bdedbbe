"""Values of the corpus out of the parts: exact reductions, equal to what the modules compute of all rows at once."""

import collections
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from manycaps.scoring.metrics import Scorer, columns_of_tests
from manycaps.scoring.run_folder import RunFolder
from manycaps.shared_distribution import distribution_result
from manycaps.shared_splits import CorpusTest, DrawnSums, RowTests, corpus_test


class StoredColumn(Collection[float]):
    """A column of all parts, read one part at a time and as often as it is asked for."""

    def __init__(self, folder: RunFolder, parts: Sequence[int], name: str, n_values: int):
        """Take the parts that have the column, and how many values it has in all."""
        self._paths = [folder.rows_file(part) for part in parts]
        self._name = name
        self._n_values = n_values

    def __len__(self) -> int:
        return self._n_values

    def __iter__(self) -> Iterator[float]:
        for path in self._paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=[self._name]):
                    yield from batch.column(0).drop_null().to_numpy(zero_copy_only=False).tolist()

    def __contains__(self, value: object) -> bool:
        return any(value == one for one in self)


def corpus_result(folder: RunFolder, scorer: Scorer, n_parts: int) -> dict[str, Any]:
    """Put together what a metric says of the corpus.

    Args:
        folder: of the run; all parts are finished.
        scorer: the metric.
        n_parts: number of parts.

    Returns:
        What the module's `compute` returns of all accepted rows, without lists, and its signature.

    Raises:
        ValueError: no row was accepted, or too few for an interval.
    """
    reports = {part: (folder.report("score", part) or {})["metrics"][scorer.name] for part in range(n_parts)}
    reports = {part: report for part, report in reports.items() if report["n_rows"]}
    if not reports:
        raise ValueError(
            f"-m {scorer.name}: expected at least one row that it accepts, got none. See {folder.rejected}."
        )
    first, n_rows = next(iter(reports.values())), sum(report["n_rows"] for report in reports.values())
    columns = {
        name: StoredColumn(folder, list(reports), name, n_rows)
        for name in first["columns"]
        if not name.endswith("_per_candidate")
    }
    if scorer.is_distribution:
        result = _distribution_result(folder, scorer, reports, columns)
    else:
        result = {_mean_name(name): math.fsum(column) / n_rows for name, column in columns.items()}
        result |= {"n_rows": n_rows}
    counts: collections.Counter[str] = collections.Counter()
    for report in reports.values():
        counts.update(report["counts"])
    return result | _reduced_values(folder, scorer, reports) | counts | {"signature": first["signature"]}


def _mean_name(column: str) -> str:
    """What a module calls the mean of a column of rows: METEOR 1.5 has a score of the corpus beside it."""
    return "meteor15_mean" if column == "meteor15" else column


def _reduced_values(folder: RunFolder, scorer: Scorer, parts: Collection[int]) -> dict[str, Any]:
    """Values of the corpus that are no means of rows."""
    reduction = scorer.reduction()
    if reduction is None:
        return {}
    start = f"reduced:{scorer.name}:"
    for part in parts:
        with np.load(folder.part_file("score", part, "npz")) as arrays:
            reduction.merge({name[len(start) :]: arrays[name] for name in arrays.files if name.startswith(start)})
    return reduction.values()


def _distribution_result(
    folder: RunFolder, scorer: Scorer, reports: dict[int, dict[str, Any]], columns: dict[str, StoredColumn]
) -> dict[str, Any]:
    options = {**scorer.options, "details": False}
    n_rows = len(columns[scorer.name])
    if options["confidence_level"] is not None and n_rows < 2:
        raise ValueError(
            "--option confidence_level: expected at least 2 rows to resample, got 1. Leave it out for one row."
        )
    tested = [columns.pop(name) for name in columns_of_tests(scorer.name) if name in columns]
    test = _corpus_test(folder, scorer, reports, columns[scorer.name], RowTests(*tested)) if tested else None
    return distribution_result(columns, test, options)


def _corpus_test(
    folder: RunFolder, scorer: Scorer, reports: dict[int, dict[str, Any]], values: StoredColumn, rows: RowTests
) -> CorpusTest:
    drawn = DrawnSums(scorer.options["n_resamples"])
    smallest: collections.Counter[float] = collections.Counter()
    for part, report in reports.items():
        smallest.update(dict(report["smallest"]))
        with np.load(folder.part_file("score", part, "npz")) as arrays:
            mine = [name for name in arrays.files if name.startswith(f"{scorer.name}:")]
            drawn.merge({int(name.partition(":")[2]): arrays[name] for name in mine})
    return corpus_test(values, rows, drawn.totals(), smallest)
