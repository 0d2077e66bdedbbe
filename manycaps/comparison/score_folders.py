"""Systems out of folders that `manycaps score` wrote: their scores, and the captions that were scored."""

import collections
import dataclasses
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from manycaps.catalog.command_options import check_left_out
from manycaps.catalog.modules import MODULES, ROW_VALUES
from manycaps.comparison.compare_options import MODEL_OPTIONS, CompareOptions
from manycaps.comparison.read import (
    COLUMNS,
    NoDistances,
    ReadScores,
    ScoredSystem,
    StoredSentences,
    SystemRow,
    check_same_ids,
    clusters_of,
    row_test_key,
)
from manycaps.comparison.read import MODULE as PARITY
from manycaps.files.caption_tables import CaptionRow, CaptionSource, open_source
from manycaps.files.caption_tables.files import is_local
from manycaps.files.result_tables import without_null
from manycaps.kit.errors import InputError, quote_value, reason_of
from manycaps.kit.parity_corpus import OF_PAIRS
from manycaps.kit.parity_tails import Distances, KeptDistances
from manycaps.kit.words_predictability import WordingRows
from manycaps.kit.words_tests import Phrase
from manycaps.scoring.corpus_values import read_blocks
from manycaps.scoring.reductions import DISTANCE_COLUMN
from manycaps.scoring.run_folder import RunFolder, read_saved

# What to do where the captions of scored rows are unavailable.
REMEDY = "Compare the files of captions in place of the folders, or leave --with-captions out."

SCORE_AGAIN = "Score it again with `manycaps score --restart`."


class ScoreFolder(NamedTuple):
    """Content of a folder of scores."""

    path: str
    ids: list[str]
    # A row for each id.
    rows: pa.Table
    # By module its result, with the signature.
    results: Mapping[str, Mapping[str, Any]]


# Options that say how captions are read and scored.
OF_CAPTIONS = (
    *("references", "columns", "split", "aligned", "systems_by", "common_rows"),
    *("images", "videos", "limit", "people", "distance"),
    *(*MODEL_OPTIONS, "options"),
)


def read_scores(folders: Mapping[str, str], options: CompareOptions) -> ReadScores:
    """Read the scores that `manycaps score` wrote, and the captions if they are asked for."""
    fix = "Leave it out: their captions are scored already."
    check_left_out(options, "none with folders of scores", fix, of=OF_CAPTIONS)
    systems, rows = read_score_folders(folders, options.metrics)
    if options.with_captions:
        rows = folder_rows(folders, [row.id for row in rows])
    given = _summary(next(iter(folders.values()))).get("options", {})
    module_options = {module: dict(given.get(module, {})) for module in systems[0].results}
    return ReadScores(systems, rows, clusters_of(rows, options.clusters), module_options)


def read_score_folders(
    folders: Mapping[str, str], modules: Sequence[str] | None = None
) -> tuple[list[ScoredSystem], list[SystemRow]]:
    """Read the scores of several systems, whose folders are given by name, the baseline first.

    Returns the systems, and the rows in the order of the baseline's, without captions. `modules` are those to compare
    by; None: all that the systems share. A ValueError names a run that is not finished, an id that comes twice, and
    systems with different rows, options or scores.
    """
    read = {name: _read_folder(path) for name, path in folders.items()}
    baseline = next(iter(read.values()))
    shared = [module for module in baseline.results if all(module in folder.results for folder in read.values())]
    chosen = shared if modules is None else list(dict.fromkeys([*modules, *({PARITY} & set(shared))]))
    for folder in read.values():
        check_same_ids(folder.path, folder.ids, baseline.path, baseline.ids)
        _check_same_scoring(folder, baseline, chosen)
    given = {value.key for module in chosen for value in MODULES[module].values}
    known = [value for value in ROW_VALUES if value.key in given]
    keys = list(dict.fromkeys([*(value.key for value in known), *map(row_test_key, known)]))
    keys += COLUMNS if PARITY in chosen else ()
    keys = [key for key in keys if all(key in folder.rows.column_names for folder in read.values())]
    systems = []
    for name, folder in read.items():
        places = {row_id: i for i, row_id in enumerate(folder.ids)}
        order = np.array([places[row_id] for row_id in baseline.ids])
        sizes = folder.rows.column("n_candidates").to_pylist()
        n_candidates = [sizes[place] for place in order]
        results = {module: folder.results[module] for module in chosen}
        distances = _distances(folder, order) if PARITY in chosen else None
        values = _values(folder, keys, order)
        wording = _wording(folder, order) if PARITY in chosen else StoredWording()
        systems.append(ScoredSystem(name, values, results, n_candidates, distances, *wording))
    return systems, [SystemRow(row_id, {}) for row_id in baseline.ids]


def _read_folder(path: str) -> ScoreFolder:
    summary = pathlib.Path(path) / "summary.json"
    files = sorted((pathlib.Path(path) / "rows").glob("*.parquet"))
    if not summary.is_file() or not files:
        got = f"no {'rows' if summary.is_file() else summary.name}"
        raise InputError(path, "a finished run", got, "Give the same `manycaps score` command again.")
    run = RunFolder(path)
    for part in range(len(files)):
        if run.report("score", part) is not None:  # else the parts have been deleted: their work is done
            run.check_files("score", part)
    results = read_saved(summary).get("metrics")
    if not isinstance(results, dict) or not all(
        isinstance(result, dict) and "signature" in result for result in results.values()
    ):
        raise InputError(summary, "the values of metrics", quote_value(results), SCORE_AGAIN)
    try:
        # Metrics that no row of a part has may have another type there.
        rows = pa.concat_tables([pq.read_table(file) for file in files], promote_options="permissive")
        rows.select(["id", "n_candidates"])
    except (pa.ArrowException, OSError, KeyError) as error:
        raise InputError(
            path, "rows with their scores", f"{type(error).__name__} ({reason_of(error)})", SCORE_AGAIN
        ) from error
    ids = rows.column("id").to_pylist()
    twice = next((row_id for row_id, n in collections.Counter(ids).items() if n > 1), None)
    if twice is not None:
        raise InputError(f"{path}, id {twice!r}", "every id once", "it twice", f"Change the ids. {SCORE_AGAIN}")
    return ScoreFolder(path, ids, rows, {module: without_null(result) for module, result in results.items()})


def _check_same_scoring(folder: ScoreFolder, baseline: ScoreFolder, modules: Sequence[str]) -> None:
    """Raise unless the modules computed the same in both."""
    for module in modules:
        if module not in folder.results:
            known = ", ".join(folder.results)
            raise InputError(folder.path, f"scores of {module}", f"scores of {known}", f"Score it by {module}.")
        expected, got = (system.results[module]["signature"] for system in (baseline, folder))
        if got != expected:
            fix = "Score both with the same options and versions."
            raise InputError(folder.path, f"{module} as in {baseline.path}, {expected}", got, fix)


def _values(folder: ScoreFolder, keys: Sequence[str], order: np.ndarray) -> dict[str, np.ndarray]:
    """Values of the rows in the order of their places."""
    values = {}
    for key in keys:
        column = folder.rows.column(key).cast(pa.float64()).to_numpy()[order]
        bad = np.flatnonzero(~np.isfinite(column) & (key not in OF_PAIRS))
        if bad.size:
            row_id = folder.ids[order[bad[0]]]
            where = f"{folder.path}: {key}[{bad[0]}] (id {row_id!r})"
            got = f"{column[bad[0]]} ({bad.size} such rows in all)"
            fix = "See rejected.jsonl; fix the rows, or leave them out of all systems."
            raise InputError(where, "a finite number", got, fix)
        values[key] = column
    return values


def _distances(folder: ScoreFolder, order: np.ndarray) -> Distances:
    """Distances of the rows' texts in the order of their places."""
    if DISTANCE_COLUMN not in folder.rows.column_names:
        if RunFolder(folder.path).wording.is_file():  # of rows with one reference
            return NoDistances(len(order))
        raise InputError(folder.path, f"distances of all rows for {PARITY}", "none", SCORE_AGAIN)
    kept = KeptDistances(len(order))
    for block in read_blocks(folder.rows.select(["n_candidates", DISTANCE_COLUMN]), np.argsort(order)):
        kept.add(block.distances, block.n_candidates, block.rows.tolist())
    return kept


class StoredWording(NamedTuple):
    """What a run kept of words: nothing where it left them out."""

    rows: WordingRows | None = None
    phrases: Sequence[Phrase] = ()
    sentences: StoredSentences | None = None


def _wording(folder: ScoreFolder, order: np.ndarray) -> StoredWording:
    """Wording of the rows in the order of their places, the phrases, and the words of the sentences."""
    path = RunFolder(folder.path).wording
    if not path.is_file():
        return StoredWording()
    with np.load(path) as arrays:  # NumPy unpickles nothing unless asked
        stored = dict(arrays)
    phrases = json.loads(stored.pop("phrases", np.frombuffer(b"[]", dtype=np.uint8)).tobytes())
    rows = WordingRows(**{field.name: stored.pop(field.name) for field in dataclasses.fields(WordingRows)})
    if len(rows.sizes) != len(order):
        raise InputError(path, f"{len(order)} rows", len(rows.sizes), SCORE_AGAIN)
    sentences = StoredSentences(rows.sizes, stored).part(order) if "n_sentences" in stored else None
    return StoredWording(rows.part(order.tolist()), [Phrase(**phrase) for phrase in phrases], sentences)


def folder_rows(folders: Mapping[str, str], ids: Sequence[str]) -> list[SystemRow]:
    """Return the scored rows with the captions of all systems, and with the references of the baseline.

    `ids` are the rows', in the order of the result. A ValueError names a file that is missing, has changed, or
    is not understood as it was.
    """
    read = {
        name: {row.id: row for row in _open_source(path).rows() if isinstance(row, CaptionRow)}
        for name, path in folders.items()
    }
    for name, rows in read.items():
        lacking = next((row_id for row_id in ids if row_id not in rows), None)
        if lacking is not None:
            raise InputError(folders[name], f"captions of the id {lacking!r}", "none", REMEDY)
    references = next(iter(read.values()))
    return [
        SystemRow(
            row_id, {name: rows[row_id].predictions or [] for name, rows in read.items()}, references[row_id].references
        )
        for row_id in ids
    ]


def _open_source(folder: str) -> CaptionSource:
    """The input of a run, read as the run read it."""
    inputs = _summary(folder).get("inputs", {})
    files, sides = dict(inputs.get("files", {})), dict(inputs.get("understood", {}))
    for path, (n_bytes, modified) in files.items():
        state = _state(path)
        if state != (n_bytes, modified):
            got = "none" if state is None else "another one"
            raise InputError(folder, f"the file {path} that it was scored from", got, REMEDY)
    if sides:
        n_main = sides["predictions"]["files"]
        file_columns = [sides["predictions" if i < n_main else "references"]["columns"] for i in range(len(files))]
        columns = dict(zip(files, file_columns, strict=True))
        sources = list(files)[:n_main], list(files)[n_main:]
        source = open_source(
            *sources,
            columns,
            limit=inputs.get("limit"),
            split=inputs.get("split"),
            by_line=inputs.get("aligned", False),
        )
        if source.description() == sides:
            return source
    raise InputError(folder, "a record of how its files were read", "none that fits them", REMEDY)


def _state(path: str) -> tuple[int, int | None] | None:
    """Size and modification time of a local file; None if there is none. Other files are not checked."""
    if not is_local(path):
        import fsspec

        return int(fsspec.core.url_to_fs(path)[0].size(path)), None
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def _summary(folder: str) -> dict[str, Any]:
    return read_saved(pathlib.Path(folder) / "summary.json")
