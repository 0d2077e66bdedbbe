"""A run from its options to the summary: plan, survey, score, put together."""

import contextlib
import os
import pathlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tqdm import tqdm

from manycaps.catalog import MOMENTS
from manycaps.kit.base_rows import EmptyCaptions
from manycaps.kit.vectors_pairs import n_threads
from manycaps.scoring.corpus_values import metric_corpus_result
from manycaps.scoring.run_settings import (
    RunPart,
    RunSettings,
    Step,
    check_columns,
    check_same,
    inputs,
    manifest,
    plan_parts,
    run_settings_of,
    versions,
)
from manycaps.scoring.score_parts import score_part
from manycaps.scoring.scorer import Scorer
from manycaps.scoring.survey import (
    EarlierParts,
    find_repeated,
    merge_documents,
    read_earlier,
    repeated_ids,
    survey_part,
    write_earlier,
)

if TYPE_CHECKING:
    from manycaps.scoring.score import ScoreOptions

# Parts that an input makes where their size is not given, and the sizes that they may have: enough for processes to end
# together, and files that are not too many.
N_PARTS = 32
LEAST_PART_BYTES, MOST_PART_BYTES = 1 << 20, 1 << 24

# Rows after which the share of rejected ones says something.
ENOUGH_ROWS = 100


class Engine(Protocol):
    """What runs the steps: processes of this machine, or a cluster."""

    def run(
        self, step: Step, settings: RunSettings, parts: Sequence[RunPart]
    ) -> Iterator[tuple[RunPart, dict[str, Any]]]:
        """Yield each part and its report, as they are finished."""


class SerialEngine:
    """Runs steps in this process."""

    def run(
        self, step: Step, settings: RunSettings, parts: Sequence[RunPart]
    ) -> Iterator[tuple[RunPart, dict[str, Any]]]:
        """Yield each part and its report."""
        for part in parts:
            yield part, step(settings, part)


def run_score(options: "ScoreOptions") -> tuple[pathlib.Path, dict[str, Any]]:
    """Score what the options say; see `manycaps.scoring.score`."""
    settings, scorers = _checked(options)
    folder = settings.run_folder()
    with folder.locked():
        if options.restart:
            folder.remove_results()
        return folder.path, _summarised(settings, scorers, options)


def describe_run(options: "ScoreOptions") -> dict[str, Any]:
    """Say what a run would read, with its first row, and score nothing."""
    settings, _ = _checked(options)
    first = next(settings.source._replace(limit=min(settings.source.limit or 1, 1)).rows(), None)
    row = {} if first is None else first._asdict()
    shown = {name: f"{len(value)} bytes" if isinstance(value, bytes) else value for name, value in row.items()}
    described: dict[str, Any] = {
        "inputs": settings.source.description(),
        "metrics": settings.metrics,
        "first_row": None if first is None else shown,
    }
    if not settings.source.needs_store:
        part_bytes = _part_bytes(settings, options.part_bytes)
        described["n_parts"] = len(plan_parts(settings.source.pieces(part_bytes), part_bytes))
    return described


def check_pooled_rows(scorers: Sequence[Scorer], n_rows: int | None, most: int) -> None:
    """Raise a ValueError if a value over all captions would need the embeddings of too many rows at once."""
    for scorer in scorers:
        if scorer.gathers and n_rows is not None and n_rows > most:
            remedy = "leave pooled out"
            if scorer.record.reduction == MOMENTS:
                remedy = f"give --option {scorer.name}.p_value=none, whose pooled distance has no limit"
            raise ValueError(
                f"--max-pooled-rows {most}: expected at most {most:,} rows for a value of {scorer.name} over all "
                f"captions together, got {n_rows:,}: it holds every embedding and compares every two captions or "
                f"exchanges all of them. Allow more, or {remedy}."
            )


def _checked(options: "ScoreOptions") -> tuple[RunSettings, list[Scorer]]:
    """Find the files, load the metrics, and check that each of them gets its columns."""
    settings = run_settings_of(options)
    scorers = [Scorer(name, given) for name, given in settings.metrics.items()]
    check_columns(settings, scorers)
    return settings, scorers


def _summarised(settings: RunSettings, scorers: Sequence[Scorer], options: "ScoreOptions") -> dict[str, Any]:
    """Run all steps that are not finished."""
    folder = settings.run_folder()
    if settings.source.needs_store and folder.report("joined", 0) is None:
        print("putting rows together by id", file=sys.stderr)
        folder.write(folder.store, settings.source.fill_store)
        folder.finish("joined", 0, {}, [folder.store])
    for step in ("joined", "documents"):
        if folder.report(step, 0) is not None:
            folder.check_files(step, 0)
    part_bytes = _part_bytes(settings, options.part_bytes)
    store = str(folder.store) if settings.source.needs_store else None
    parts = plan_parts(settings.source.pieces(part_bytes, store), part_bytes)
    now = manifest(settings, list(scorers), parts, part_bytes)
    if not check_same(folder, now):
        folder.write_json(folder.manifest, now)
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(_engine(options, scorers, len(parts)))
        n_rows = _survey(engine, settings, scorers, parts, options.max_rejected)
        check_pooled_rows(scorers, n_rows, options.max_pooled_rows)
        _score(engine, settings, parts, n_rows, options.max_rejected)
    return _write_summary(settings, scorers, parts)


def _part_bytes(settings: RunSettings, given: int | None) -> int:
    """Size of a part; it depends on the input alone."""
    source = settings.source
    sides = [source.main, *([source.references] if source.references else [])]
    n_bytes = sum(file.n_bytes for side in sides for file in side.files)
    return given or min(max(n_bytes // N_PARTS, LEAST_PART_BYTES), MOST_PART_BYTES)


def _survey(
    engine: Engine, settings: RunSettings, scorers: Sequence[Scorer], parts: Sequence[RunPart], max_rejected: float
) -> int | None:
    """Do the first pass where it is needed; return the number of rows if it is known then."""
    has_keys = any(scorer.has_p_values for scorer in scorers)
    documents = any(scorer.counts_documents for scorer in scorers)
    gathers = any(scorer.gathers for scorer in scorers)
    if settings.source.main.holds_media and not has_keys and not documents and not gathers:
        return None
    folder = settings.run_folder()
    n_rows = _run(engine, survey_part, settings, parts, None, max_rejected)
    if _left_out_repeated(settings, parts, "survey"):
        return _survey(engine, settings, scorers, parts, max_rejected)
    if has_keys:
        for part, keys in find_repeated(folder, len(parts), "keys").items():
            write_earlier(folder, part, EarlierParts(keys, read_earlier(folder, part).bad))
    if documents and folder.report("documents", 0) is None:
        merge_documents(folder, len(parts))
    return n_rows


def _score(
    engine: Engine, settings: RunSettings, parts: Sequence[RunPart], n_rows: int | None, max_rejected: float
) -> None:
    """Do the second pass; rows whose ids no survey has compared are compared now, and their parts scored again."""
    _run(engine, score_part, settings, parts, n_rows, max_rejected)
    if _left_out_repeated(settings, parts, "score"):
        _score(engine, settings, parts, n_rows, max_rejected)


def _left_out_repeated(settings: RunSettings, parts: Sequence[RunPart], step: str) -> bool:
    """Leave out rows whose id an earlier row has, or refuse them; say whether the step is to be done again."""
    folder = settings.run_folder()
    bad: dict[int, dict[int, str]] = {}
    for row, part, number in repeated_ids(settings, parts, step):
        settings.refuse(row)
        bad.setdefault(part, {})[number] = row.reason
    for part, places in bad.items():
        earlier = read_earlier(folder, part)
        write_earlier(folder, part, EarlierParts(earlier.keys, {**earlier.bad, **places}))
        folder.part_file(step, part).unlink()
    return bool(bad)


def _run(
    engine: Engine, step: Step, settings: RunSettings, parts: Sequence[RunPart], n_rows: int | None, max_rejected: float
) -> int:
    """Run a step on all parts, with a bar; return the number of rows."""
    name = "survey" if step is survey_part else "score"
    n_bytes = sum(part.n_bytes for part in parts)
    unit = {"unit": " rows", "total": n_rows} if n_rows else {"unit": "B", "total": n_bytes, "unit_scale": True}
    reports = {part.number: settings.run_folder().report(name, part.number) for part in parts}
    limits = _RejectedLimit(max_rejected, settings)
    n_done = 0
    for part in parts:
        if (report := reports[part.number]) is not None:
            settings.run_folder().check_files(name, part.number)
            limits.add(report)
            n_done += report["n_rows"] if n_rows else part.n_bytes
    with tqdm(desc=name, smoothing=0.05, initial=n_done, **unit) as bar:
        for part, report in engine.run(step, settings, [part for part in parts if reports[part.number] is None]):
            bar.update(report["n_rows"] if n_rows else part.n_bytes)
            bar.set_postfix(rows=limits.n_rows + report["n_rows"], rejected=limits.n_rejected + report["n_rejected"])
            limits.add(report)
    limits.finish()
    return limits.n_rows


class _RejectedLimit:
    """Stops a run in which too many rows are rejected."""

    def __init__(self, share: float, settings: RunSettings):
        self.share = share
        self.settings = settings
        self.n_rows = self.n_rejected = 0

    def add(self, report: Mapping[str, Any]) -> None:
        self.n_rows += report["n_rows"]
        self.n_rejected += report["n_rejected"]
        if self.n_rows + self.n_rejected >= ENOUGH_ROWS:
            self.finish()

    def finish(self) -> None:
        """Raise a ValueError if the share of rejected rows is too large."""
        if self.n_rejected > self.share * (self.n_rows + self.n_rejected):
            raise ValueError(
                f"--max-rejected {self.share:g}: expected fewer bad rows, got {self.n_rejected} of "
                f"{self.n_rows + self.n_rejected}. See {self.settings.run_folder().parts}/*.rejected.jsonl, and fix "
                "the input or allow more."
            )


def _write_summary(settings: RunSettings, scorers: Sequence[Scorer], parts: Sequence[RunPart]) -> dict[str, Any]:
    """Put the corpus together, and write it."""
    folder = settings.run_folder()
    reports = [folder.report("score", part.number) or {} for part in parts]

    def write_rejected(path: os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            for part in parts:
                file.write(folder.part_file("score", part.number, "rejected.jsonl").read_text(encoding="utf-8"))

    folder.write(folder.rejected, write_rejected)
    summary = {
        "n_rows": sum(report["n_rows"] for report in reports),
        "n_rejected": sum(report["n_rejected"] for report in reports),
        "metrics": {scorer.name: metric_corpus_result(folder, scorer, len(parts)) for scorer in scorers},
        "options": settings.metrics,
        "inputs": inputs(settings),
        "versions": versions(list(scorers)),
    }
    if summary["n_rejected"] and settings.on_error == "raise":
        raise ValueError(
            f"{folder.path}: expected no rejected rows, got {summary['n_rejected']} of an earlier run with --on-error "
            "reject. Give that option again, or --restart."
        )
    folder.write_json(folder.summary, summary)
    _warn_of_empty(reports)
    _warn_of_unread(scorers, summary["metrics"])
    return summary


def _warn_of_empty(reports: Sequence[Mapping[str, Any]]) -> None:
    """Warn once of empty captions in all parts."""
    empty = EmptyCaptions()
    for report in reports:
        empty.include(**report.get("empty", {}))
    if empty.n_empty:
        warnings.warn(f"captions: {empty}.", stacklevel=2)


def _warn_of_unread(scorers: Sequence[Scorer], results: Mapping[str, Mapping[str, Any]]) -> None:
    """Warn once where a sentence encoder did not read texts to their end."""
    from manycaps.kit.text_windows import warn_of_unread

    treatments = [
        scorer.options["long_texts"]
        for scorer in scorers
        if "long_texts" in scorer.options
        and scorer.options["encoder"] != "clip"
        and results[scorer.name].get("n_truncated")
    ]
    for treatment in treatments[:1]:
        warn_of_unread(treatment)


@contextlib.contextmanager
def _engine(options: "ScoreOptions", scorers: Sequence[Scorer], n_parts: int) -> Iterator[Engine]:
    has_model = any(scorer.has_model for scorer in scorers)
    if options.engine == "ray":
        from manycaps.scoring.ray_engine import RayEngine

        with RayEngine(options.address, options.processes, options.num_gpus, has_model=has_model) as cluster:
            yield cluster
        return
    n_processes = min(options.processes or (1 if has_model else n_threads()), n_parts)
    if n_processes <= 1:
        yield SerialEngine()
        return
    from manycaps.scoring.local_processes import LocalEngine

    with LocalEngine(n_processes) as machine:
        yield machine
