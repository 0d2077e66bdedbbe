"""Systems out of folders that `manycaps score` wrote: nothing is computed again."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from manycaps.comparison.caption_systems import check_same_ids
from manycaps.comparison.metrics import METRICS
from manycaps.comparison.scored_systems import ScoredSystem, SystemRow
from manycaps.scoring.run_folder import RunFolder, read_saved
from manycaps.shared_messages import reason_of, shown_value

SCORE_AGAIN = "Score it again with `manycaps score --restart`."


class ScoreFolder(NamedTuple):
    """What lies in a folder of scores."""

    path: str
    ids: list[str]
    # A row for each id.
    rows: pa.Table
    # By module its result, with the signature.
    results: Mapping[str, Mapping[str, Any]]


def is_score_folder(source: str) -> bool:
    """Whether a source is a folder of scores, and not one of captions; finished or not."""
    return (pathlib.Path(source) / "rows").is_dir()


def read_score_folders(
    folders: Mapping[str, str], modules: Sequence[str] | None = None
) -> tuple[list[ScoredSystem], list[SystemRow]]:
    """Read the scores of several systems.

    Args:
        folders: from the name of each system to its folder; the first is the baseline.
        modules: those to compare by; None: all that the systems share.

    Returns:
        The systems, and the rows in the order of the baseline's, without captions.

    Raises:
        ValueError: a run is not finished, an id comes twice, the systems have different rows or were scored with
            different options, or a score is missing.
    """
    read = {name: _read_folder(path) for name, path in folders.items()}
    baseline = next(iter(read.values()))
    shared = [module for module in baseline.results if all(module in folder.results for folder in read.values())]
    chosen = shared if modules is None else list(modules)
    for folder in read.values():
        check_same_ids(folder.path, folder.ids, baseline.path, baseline.ids)
        _check_same_scoring(folder, baseline, chosen)
    keys = [metric.key for metric in METRICS if metric.module in chosen]
    keys = [key for key in keys if all(key in folder.rows.column_names for folder in read.values())]
    systems = []
    for name, folder in read.items():
        sizes = dict(zip(folder.ids, folder.rows.column("n_candidates").to_pylist(), strict=True))
        results = {module: folder.results[module] for module in chosen}
        n_candidates = [sizes[each] for each in baseline.ids]
        systems.append(ScoredSystem(name, _values(folder, keys, baseline.ids), results, n_candidates))
    return systems, [SystemRow(each, {}) for each in baseline.ids]


def _read_folder(path: str) -> ScoreFolder:
    summary = pathlib.Path(path) / "summary.json"
    files = sorted((pathlib.Path(path) / "rows").glob("*.parquet"))
    if not summary.is_file() or not files:
        raise ValueError(
            f"{path}: expected a finished run, got no {'rows' if summary.is_file() else summary.name}. Give the same "
            "`manycaps score` command again."
        )
    run = RunFolder(path)
    for part in range(len(files)):
        if run.report("score", part) is not None:  # else the parts have been deleted: their work is done
            run.check_files("score", part)
    results = read_saved(summary).get("metrics")
    if not isinstance(results, dict) or not all(
        isinstance(result, dict) and "signature" in result for result in results.values()
    ):
        raise ValueError(f"{summary}: expected the values of metrics, got {shown_value(results)}. {SCORE_AGAIN}")
    try:
        # Metrics that no row of a part has may have another type there.
        rows = pa.concat_tables([pq.read_table(file) for file in files], promote_options="permissive")
        rows.select(["id", "n_candidates"])
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(
            f"{path}: expected rows with their scores, got {type(error).__name__} ({reason_of(error)}). {SCORE_AGAIN}"
        ) from error
    ids = rows.column("id").to_pylist()
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(each for each in ids if each in seen or seen.add(each))  # type: ignore[func-returns-value]
        raise ValueError(
            f"{path}, id {twice!r}: expected every id once, got it twice. Give the rows ids of their own, and score "
            "them again."
        )
    return ScoreFolder(path, ids, rows, results)


def _check_same_scoring(folder: ScoreFolder, baseline: ScoreFolder, modules: Sequence[str]) -> None:
    """Raise unless the modules computed the same in both."""
    for module in modules:
        if module not in folder.results:
            known = ", ".join(folder.results)
            raise ValueError(f"{folder.path}: expected scores of {module}, got those of {known}. Score it by {module}.")
        expected, got = (each.results[module]["signature"] for each in (baseline, folder))
        if got != expected:
            raise ValueError(
                f"{folder.path}: expected {module} as in {baseline.path}, {expected}, got {got}. "
                "Score both with the same options and versions."
            )


def _values(folder: ScoreFolder, keys: Sequence[str], ids: Sequence[str]) -> dict[str, np.ndarray]:
    """Values of the rows in the order of `ids`."""
    places = {each: i for i, each in enumerate(folder.ids)}
    order = [places[each] for each in ids]
    values = {}
    for key in keys:
        column = folder.rows.column(key).cast(pa.float64()).to_numpy()[order]
        bad = np.flatnonzero(~np.isfinite(column))
        if bad.size:
            raise ValueError(
                f"{folder.path}: {key}[{bad[0]}] (id {ids[bad[0]]!r}): expected a finite number, got {column[bad[0]]} "
                f"({bad.size} such rows in all). See rejected.jsonl; mend the rows, or leave them out of all systems."
            )
        values[key] = column
    return values
