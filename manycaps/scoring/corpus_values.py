"""Values of the corpus out of the parts, equal to what the modules compute of all rows at once.

Means are exact sums of the stored columns; other values are reductions: what a part keeps of its rows, and how
all parts are put together.
"""

import collections
import dataclasses
import math
import pathlib
import re
import warnings
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from manycaps.kit.arrays import cut_runs, mean_of_defined
from manycaps.kit.errors import InputError
from manycaps.kit.row_images import clusters_of_images
from manycaps.kit.sets_module import CAPTION_COLUMNS, distribution_result
from manycaps.scoring.reductions import DISTANCE_COLUMN, as_bytes, columns_of_tests
from manycaps.scoring.run_folder import RunFolder
from manycaps.scoring.scorer import Scorer

if TYPE_CHECKING:
    from manycaps.kit.parity_tails import DistanceBlock
    from manycaps.kit.sets_tests import CorpusTest
    from manycaps.kit.words_predictability import WordingRows
    from manycaps.scoring.reductions import GatheredWording

# Rows whose distances are read at once.
BATCH_ROWS = 1 << 14

# Rows of which wording is measured by their own references: 50,000 rows' take 2 GB while it is.
MOST_ROWS_OF_WORDING = 100_000


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


class StoredDistances:
    """Distances of all rows that human parity has scored, read one part at a time and as often as asked."""

    def __init__(self, folder: RunFolder, parts: Sequence[int], n_rows: int):
        """Take the parts that have such rows, and how many there are in all."""
        self._paths = [folder.rows_file(part) for part in parts]
        self.n_rows = n_rows

    def blocks(self) -> Iterator["DistanceBlock"]:
        """Yield all rows, in blocks of rows of equal sizes."""
        n_earlier = 0
        for path in self._paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=["n_candidates", DISTANCE_COLUMN]):
                    table = pa.table(batch).drop_null()
                    yield from read_blocks(table, np.arange(n_earlier, n_earlier + len(table)))
                    n_earlier += len(table)
            pa.default_memory_pool().release_unused()  # 70 MB in all after a million rows


def read_blocks(table: pa.Table, rows: np.ndarray) -> Iterator["DistanceBlock"]:
    """Yield the distances of rows in a table without missing values, in blocks of rows of equal sizes."""
    from manycaps.kit.parity_tails import unpack_blocks

    lists = table.column(DISTANCE_COLUMN).combine_chunks()
    starts = lists.offsets.to_numpy()
    n_candidates, n_pairs = table.column("n_candidates").to_numpy(), np.diff(starts)
    values = lists.values.to_numpy()
    for m, size in sorted(set(zip(n_candidates.tolist(), n_pairs.tolist(), strict=True))):
        chosen = np.flatnonzero((n_candidates == m) & (n_pairs == size))
        packed = values[starts[chosen][:, None] + np.arange(size)]
        yield from unpack_blocks(rows[chosen], m, packed)


def metric_corpus_result(folder: RunFolder, scorer: Scorer, n_parts: int) -> dict[str, Any]:
    """Return what the module's `compute` returns of all accepted rows, without lists, and its signature."""
    reports = {part: (folder.report("score", part) or {})["metrics"][scorer.name] for part in range(n_parts)}
    reports = {part: report for part, report in reports.items() if report["n_rows"]}
    if not reports:
        raise InputError(f"-m {scorer.name}", "at least one row that it accepts", "none", f"See {folder.rejected}.")
    first, n_rows = next(iter(reports.values())), sum(report["n_rows"] for report in reports.values())
    columns = {
        name: StoredColumn(folder, list(reports), name, n_rows)
        for name in first["columns"]
        if not name.endswith("_per_candidate") and name != DISTANCE_COLUMN
    }
    clusters = _clusters(folder, scorer, list(reports), n_rows)
    if scorer.is_wording_alone:
        result = _wording_result(folder, scorer, list(reports), n_rows, clusters)
    elif scorer.is_parity:
        result = _parity_result(folder, scorer, list(reports), columns, clusters)
    elif scorer.is_distribution:
        result = _distribution_result(folder, scorer, reports, columns, clusters)
    elif scorer.record.scored_with_table:
        result = {name: mean_of_defined(column) for name, column in columns.items()} | {"n_rows": n_rows}
    else:
        mean_keys = {value.key: value.mean_key for value in scorer.record.values if value.mean_key}
        result = {mean_keys.get(name, name): math.fsum(column) / n_rows for name, column in columns.items()}
        result |= {"n_rows": n_rows}
    counts: collections.Counter[str] = collections.Counter()
    for report in reports.values():
        counts.update(report["counts"])
    # Values of the corpus that are not means over rows; human parity has put all rows together.
    reduction = None if scorer.is_parity else _merge_parts(folder, scorer, reports, clusters)
    reduced = {} if reduction is None else reduction.values()
    made = first["signature"]
    if clusters is not None:  # where the module has them
        made = re.sub(r"(\|seed:\d+)?$", rf"|clusters:{len(set(clusters))}\1", made, count=1)
    return result | reduced | counts | {"signature": made}


def _clusters(folder: RunFolder, scorer: Scorer, parts: Sequence[int], n_rows: int) -> Sequence[Hashable] | None:
    """Labels of the images that rows are of, by their references; None where each has its own, or none count."""
    sides: dict[str, list[list[int]]] = {side: [] for side in CAPTION_COLUMNS}
    for part in parts:
        with np.load(folder.part_file("score", part, "npz")) as arrays:
            for side, rows in sides.items():
                if (name := f"images:{scorer.name}:{side}") in arrays.files:
                    sizes = arrays[f"images:{scorer.name}:n_{side}"].tolist()
                    rows += map(list, cut_runs(arrays[name].tolist(), sizes))
    if not n_rows == len(sides["references"]) == len(sides["predictions"]):
        return None
    remedy = "Put the captions of an image into one row, or compare files: `manycaps compare --clusters PATTERN`."
    return clusters_of_images(None, sides["references"], sides["predictions"], remedy)


def _merge_parts(
    folder: RunFolder, scorer: Scorer, parts: Collection[int], clusters: Sequence[Hashable] | None = None
) -> Any:
    """What all parts have kept of their rows, one part after the other; None for most metrics."""
    reduction = scorer.reduction(clusters)
    if reduction is None:
        return None
    start = f"reduced:{scorer.name}:"
    for part in parts:
        with np.load(folder.part_file("score", part, "npz")) as arrays:
            reduction.merge({name[len(start) :]: arrays[name] for name in arrays.files if name.startswith(start)})
    return reduction


def _distribution_result(
    folder: RunFolder,
    scorer: Scorer,
    reports: dict[int, dict[str, Any]],
    columns: dict[str, StoredColumn],
    clusters: Sequence[Hashable] | None,
) -> dict[str, Any]:
    options = {**scorer.options, "details": False, "clusters": clusters}
    check_interval_rows(options, len(columns[scorer.name]))
    value_range, statistic = scorer.module.SETS.value_range(options), columns[scorer.name]
    if options["p_value"] == "none":
        excesses = columns.pop(f"{scorer.name}_excess", None)
        return distribution_result(columns, None, options, value_range, excesses)
    tested = [columns.pop(name) for name in columns_of_tests(scorer.name)]
    test = _corpus_test(folder, scorer, reports, statistic, tested)
    return distribution_result(columns, test, options, value_range)


def check_interval_rows(options: Mapping[str, Any], n_rows: int) -> None:
    """Raise if an interval is asked for of a single row."""
    if options["confidence_level"] is not None and n_rows < 2:
        raise InputError(
            "--option confidence_level", "at least 2 rows for an interval", "1", "Leave it out for one row."
        )


def _parity_result(
    folder: RunFolder,
    scorer: Scorer,
    parts: Sequence[int],
    columns: dict[str, StoredColumn],
    clusters: Sequence[Hashable] | None,
) -> dict[str, Any]:
    """Result of human parity: its tests are made of sums over rows, and of the distances of all rows."""
    from manycaps.kit.parity_corpus import TextValues, parity_result, trim_result
    from manycaps.kit.parity_tails import corpus_tails
    from manycaps.kit.parity_texts import corpus_faults
    from manycaps.kit.words_tests import corpus_wording

    options = scorer.options
    n_rows, level = len(columns["fidelity_gap"]), options["confidence_level"]
    check_interval_rows(options, n_rows)
    distances = StoredDistances(folder, parts, n_rows)
    options = {**options, "clusters": clusters}
    tails = corpus_tails(distances, level, clusters, seed=options["seed"])
    gathered = _gather_wording(folder, scorer, parts, n_rows, clusters)
    if gathered is None:
        return trim_result(parity_result(columns, tails, options), options)
    rows, kept = gathered
    wording = corpus_wording(rows, clusters, level)
    wording.warn_of_few_rows()
    words, sizes = kept.sentences(clusters), [tuple(row) for row in rows.sizes.tolist()]
    is_tested = options["p_value"] != "none"
    faults = corpus_faults(tails, kept.support(distances), words, sizes, options, is_tested=is_tested)
    texts = TextValues(faults, words.length(clusters, level, rows.sizes))
    return trim_result(parity_result(columns, tails, options, wording=wording, texts=texts), options)


def _wording_result(
    folder: RunFolder, scorer: Scorer, parts: Sequence[int], n_rows: int, clusters: Sequence[Hashable] | None
) -> dict[str, Any]:
    """Result of human parity where every row has one reference."""
    from manycaps.kit.words_tests import corpus_wording

    check_interval_rows(scorer.options, n_rows)
    gathered = _gather_wording(folder, scorer, parts, n_rows, clusters)
    if gathered is None:
        return {"n_rows": n_rows}
    rows, kept = gathered
    options = {**scorer.options, "clusters": clusters}
    measured = corpus_wording(rows, clusters, options["confidence_level"])
    words, sizes = kept.sentences(clusters), [tuple(row) for row in rows.sizes.tolist()]
    result: dict[str, Any] = scorer.module.single_references_result(measured, words, sizes, options)
    return result


def _gather_wording(
    folder: RunFolder, scorer: Scorer, parts: Sequence[int], n_rows: int, clusters: Sequence[Hashable] | None
) -> "tuple[WordingRows, GatheredWording] | None":
    """Wording and words of all rows, which are also written for `manycaps compare`; None for too many rows."""
    if n_rows > MOST_ROWS_OF_WORDING and scorer.options["language_model"] is None:
        warnings.warn(
            f"wording: expected at most {MOST_ROWS_OF_WORDING:,} rows for a model of their own references, got "
            f"{n_rows:,}. It is left out: give --option human_parity.language_model=FILE, made with `manycaps "
            "count-ngrams`.",
            stacklevel=2,
        )
        return None
    gathered = _merge_parts(folder, scorer, parts)
    rows: WordingRows = gathered.wording(clusters)
    phrases = as_bytes([phrase._asdict() for phrase in gathered.phrases(clusters)])

    def save(path: pathlib.Path) -> None:
        with path.open("wb") as file:
            np.savez(file, **dataclasses.asdict(rows), phrases=phrases, **gathered.sentence_arrays(clusters))

    folder.write(folder.wording, save)
    return rows, gathered


def _corpus_test(
    folder: RunFolder,
    scorer: Scorer,
    reports: dict[int, dict[str, Any]],
    values: StoredColumn,
    tested: Sequence[StoredColumn],
) -> "CorpusTest":
    from manycaps.kit.sets_tests import RowTests, mean_test

    drawn_sums = np.zeros(scorer.options["n_resamples"])
    smallest: collections.Counter[float] = collections.Counter()
    for part, report in reports.items():
        smallest.update(dict(report["smallest"]))
        with np.load(folder.part_file("score", part, "npz")) as arrays:
            drawn_sums += arrays[f"drawn:{scorer.name}"]
    return mean_test(values, RowTests(*tested), drawn_sums, smallest)
