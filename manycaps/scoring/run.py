"""A run from its options to the summary: plan, survey, score, put together."""

import contextlib
import os
import pathlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from manycaps.catalog.modules import MOMENTS
from manycaps.files.result_tables import finite
from manycaps.kit.errors import InputError, quote_path
from manycaps.kit.mmd_pooled import n_threads
from manycaps.kit.row_images import RepeatedTexts
from manycaps.kit.rows import DecoderSigns, EmptyCaptions, words_of_unknown, words_of_unread
from manycaps.kit.words_predictability import WORDING_ALONE
from manycaps.scoring.corpus_values import metric_corpus_result
from manycaps.scoring.run_folder import HOW_TO_BEGIN_AGAIN, run_digest
from manycaps.scoring.run_settings import (
    Engine,
    PartReport,
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
from manycaps.scoring.score_options import ScoreOptions
from manycaps.scoring.score_parts import score_part
from manycaps.scoring.scorer import Scorer
from manycaps.scoring.survey import (
    EarlierParts,
    find_repeated,
    find_repeated_ids,
    merge_documents,
    read_earlier,
    survey_part,
    write_earlier,
)

# Parts that an input makes where their size is not given, and the sizes that they may have: enough for processes to end
# together, and files that are not too many.
N_PARTS = 32
LEAST_PART_BYTES, MOST_PART_BYTES = 1 << 20, 1 << 24

# Rows after which the share of rejected ones says something.
ENOUGH_ROWS = 100


def run_here(step: Step, settings: RunSettings, parts: Sequence[RunPart]) -> Iterator[PartReport]:
    """Run a step on all parts in this process, and yield each with its report."""
    return ((part, step(settings, part)) for part in parts)


def run_score(options: ScoreOptions) -> tuple[pathlib.Path, dict[str, Any]]:
    """Score what the options say; see `manycaps.scoring.score`."""
    settings, scorers = _prepare(options)
    folder = settings.run_folder()
    with folder.lock():
        if options.restart and folder.check_ours():
            folder.remove_results()
        return folder.path, _Run(settings, scorers, options).finish()


def describe_run(options: ScoreOptions) -> dict[str, Any]:
    """Say what a run would read, with its first row, and score nothing."""
    settings, _ = _prepare(options)
    first = next(settings.source._replace(limit=min(settings.source.limit or 1, 1)).rows(), None)
    row = {} if first is None else first._asdict()
    row |= {name: f"{len(value)} bytes" for name, value in row.items() if isinstance(value, bytes)}
    shown = {name: str(value) if isinstance(value, InputError) else value for name, value in row.items()}
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
            expected = f"at most {most:,} rows for a value of {scorer.name} over all captions together"
            got = f"{n_rows:,}: it holds every embedding and compares every two captions or exchanges all of them"
            raise InputError(f"--max-pooled-rows {most}", expected, got, f"Allow more, or {remedy}.")


def _prepare(options: ScoreOptions) -> tuple[RunSettings, list[Scorer]]:
    """Find the files, load the metrics, and check that each of them gets its columns."""
    settings = run_settings_of(options)
    scorers = [Scorer(name, given) for name, given in settings.metrics.items()]
    check_columns(settings, scorers)
    return settings, scorers


def _part_bytes(settings: RunSettings, given: int | None) -> int:
    """Size of a part; it depends on the input alone."""
    source = settings.source
    sides = [source.main, *([source.references] if source.references else [])]
    n_bytes = sum(file.n_bytes for side in sides for file in side.files)
    return given or min(max(n_bytes // N_PARTS, LEAST_PART_BYTES), MOST_PART_BYTES)


class _Run:
    """A run of checked settings, whose input is divided into parts."""

    def __init__(self, settings: RunSettings, scorers: Sequence[Scorer], options: ScoreOptions) -> None:
        part_bytes = _part_bytes(settings, options.part_bytes)
        now = manifest(settings, list(scorers), part_bytes)
        self.settings, self.scorers, self.options = settings._replace(run=run_digest(now)), scorers, options
        self.folder = self.settings.run_folder()
        if not check_same(self.folder, now):
            self.folder.write_json(self.folder.manifest, now)
        if settings.source.needs_store and self.folder.report("joined", 0) is None:
            print("putting rows together by id", file=sys.stderr)
            self.folder.write(self.folder.store, settings.source.fill_store)
            self.folder.finish("joined", 0, {}, [self.folder.store])
        for step in ("joined", "documents"):
            if self.folder.report(step, 0) is not None:
                self.folder.check_files(step, 0)
        store = str(self.folder.store) if settings.source.needs_store else None
        self.parts = plan_parts(settings.source.pieces(part_bytes, store), part_bytes)

    def finish(self) -> dict[str, Any]:
        """Do all steps that are not finished, and write the summary."""
        with _engine(self.options, self.scorers, len(self.parts)) as engine:
            n_rows = self._survey(engine)
            check_pooled_rows(self.scorers, n_rows, self.options.max_pooled_rows)
            self._leave_meaning_out()
            # Rows whose ids no survey has compared are compared now, and their parts scored again.
            self._done(engine, score_part, n_rows)
            while self._leave_out_repeated("score"):
                self._done(engine, score_part, n_rows)
        return self._summary()

    def _survey(self, engine: Engine) -> int | None:
        """Do the first pass where it is needed; return the number of rows if it is known then."""
        has_keys = any(scorer.has_p_values for scorer in self.scorers)
        documents = any(scorer.counts_documents for scorer in self.scorers)
        needs_all = any(scorer.gathers or scorer.is_parity for scorer in self.scorers)
        if self.settings.source.main.holds_media and not has_keys and not documents and not needs_all:
            return None
        n_rows = self._done(engine, survey_part)
        while self._leave_out_repeated("survey"):
            n_rows = self._done(engine, survey_part)
        if has_keys:
            for part, keys in find_repeated(self.folder, len(self.parts), "keys").items():
                write_earlier(self.folder, part, EarlierParts(keys, read_earlier(self.folder, part).bad))
        if documents and self.folder.report("documents", 0) is None:
            merge_documents(self.folder, len(self.parts))
        return n_rows

    def _leave_meaning_out(self) -> None:
        """Let human_parity measure the wording alone, and say so, where no row has two references."""
        if not any(scorer.is_parity for scorer in self.scorers):
            return
        reports = [self.folder.report("survey", part.number) or {} for part in self.parts]
        if any(report["n_compared"] for report in reports):
            return
        warnings.warn(WORDING_ALONE, stacklevel=2)
        self.settings = self.settings._replace(are_single=True)
        self.scorers = self.settings.scorers()

    def _leave_out_repeated(self, step: str) -> bool:
        """Leave out rows whose id an earlier row has, or refuse them; say whether the step is to be done again."""
        bad: dict[int, dict[int, InputError]] = {}
        for row, part, number in find_repeated_ids(self.settings, self.parts, step):
            self.settings.refuse(row)
            bad.setdefault(part, {})[number] = row.reason
        for part, places in bad.items():
            earlier = read_earlier(self.folder, part)
            write_earlier(self.folder, part, EarlierParts(earlier.keys, {**earlier.bad, **places}))
            self.folder.part_file(step, part).unlink()
        return bool(bad)

    def _done(self, engine: Engine, step: Step, total: int | None = None) -> int:
        """Do a step on all parts, with a bar up to a total number of rows; return the number of rows."""
        name = "survey" if step is survey_part else "score"
        n_bytes = sum(part.n_bytes for part in self.parts)
        unit = {"unit": " rows", "total": total} if total else {"unit": "B", "total": n_bytes, "unit_scale": True}
        reports = {part.number: self.folder.report(name, part.number) for part in self.parts}
        n_rows = n_rejected = n_done = 0
        for part in self.parts:
            if (report := reports[part.number]) is not None:
                self.folder.check_files(name, part.number)
                n_rows, n_rejected = n_rows + report["n_rows"], n_rejected + report["n_rejected"]
                self._check_rejected(n_rows, n_rejected, ENOUGH_ROWS)
                n_done += report["n_rows"] if total else part.n_bytes
        with tqdm(desc=name, smoothing=0.05, initial=n_done, **unit) as bar:
            for part, report in engine(step, self.settings, [p for p in self.parts if reports[p.number] is None]):
                n_rows, n_rejected = n_rows + report["n_rows"], n_rejected + report["n_rejected"]
                bar.update(report["n_rows"] if total else part.n_bytes)
                bar.set_postfix(rows=n_rows, rejected=n_rejected)
                self._check_rejected(n_rows, n_rejected, ENOUGH_ROWS)
        self._check_rejected(n_rows, n_rejected)
        if name == "score":
            self._check_counts()
        return n_rows

    def _check_counts(self) -> None:
        """Raise a ValueError unless every part has been scored with the rows that the survey has counted in it."""
        for part in self.parts:
            counts = [self.folder.report(step, part.number) for step in ("survey", "score")]
            n_read = [report["n_read"] for report in counts if report is not None]
            if len(set(n_read)) > 1:
                path = quote_path(self.folder.part_file("score", part.number))
                raise InputError(path, f"{n_read[0]:,} rows, as counted before", f"{n_read[1]:,}", HOW_TO_BEGIN_AGAIN)

    def _check_rejected(self, n_rows: int, n_rejected: int, least: int = 1) -> None:
        """Raise a ValueError if too large a share of the rows is rejected, once there are enough rows."""
        n_all, most = n_rows + n_rejected, self.options.max_rejected
        if n_all >= least and n_rejected > most * n_all:
            fix = f"See {self.folder.parts}/*.rejected.jsonl, and fix the input or allow more."
            raise InputError(f"--max-rejected {most:g}", "fewer bad rows", f"{n_rejected} of {n_all}", fix)

    def _summary(self) -> dict[str, Any]:
        """Put the corpus together, and write it."""
        folder = self.folder
        reports = [folder.report("score", part.number) or {} for part in self.parts]

        def write_rejected(path: os.PathLike[str]) -> None:
            with open(path, "w", encoding="utf-8") as file:
                for part in self.parts:
                    file.write(folder.part_file("score", part.number, "rejected.jsonl").read_text(encoding="utf-8"))

        folder.write(folder.rejected, write_rejected)
        n_rejected = sum(report["n_rejected"] for report in reports)
        summary = {
            "n_rows": sum(report["n_rows"] for report in reports),
            "n_rejected": n_rejected,
            "metrics": {scorer.name: metric_corpus_result(folder, scorer, len(self.parts)) for scorer in self.scorers},
            "options": self.settings.metrics,
            "inputs": inputs(self.settings),
            "versions": versions(list(self.scorers)),
        }
        if n_rejected and self.settings.on_error == "raise":
            got = f"{n_rejected} of an earlier run with --on-error reject"
            raise InputError(folder.path, "no rejected rows", got, "Give that option again, or --restart.")
        folder.write_json(folder.summary, finite(summary))
        _warn_of_texts(reports)
        sum((RepeatedTexts(*report.get("repeated", ())) for report in reports), RepeatedTexts()).warn()
        _warn_of_unread(self.scorers, summary["metrics"])
        return summary


def _warn_of_texts(reports: Sequence[Mapping[str, Any]]) -> None:
    """Warn once of empty captions, and once of signs of a decoder, in all parts."""
    empty, signs = EmptyCaptions(), DecoderSigns()
    for report in reports:
        empty.include(**report.get("empty", {}))
        signs.include(**report.get("signs", {}))
    signs.warn()
    if empty.n_empty:
        warnings.warn(f"captions: {empty}.", stacklevel=2)


def _warn_of_unread(scorers: Sequence[Scorer], results: Mapping[str, Mapping[str, Any]]) -> None:
    """Warn once where a sentence encoder, and once where a CLIP, did not read texts to their end, or in known words."""
    unread = (scorer.options for scorer in scorers if results[scorer.name].get("n_truncated"))
    unknown = (words_of_unknown(results[scorer.name]) for scorer in scorers)
    for words in dict.fromkeys((*map(words_of_unread, unread), *unknown)):
        if words is not None:
            warnings.warn(words, stacklevel=2)


@contextlib.contextmanager
def _engine(options: ScoreOptions, scorers: Sequence[Scorer], n_parts: int) -> Iterator[Engine]:
    has_model = any(scorer.has_model for scorer in scorers)
    if options.engine == "ray":
        from manycaps.scoring.ray_engine import RayEngine

        with RayEngine(options.address, options.processes, options.num_gpus, has_model=has_model) as cluster:
            yield cluster.run
        return
    n_processes = min(options.processes or (1 if has_model else n_threads()), n_parts)
    if n_processes <= 1:
        yield run_here
        return
    from manycaps.scoring.local_processes import LocalEngine

    with LocalEngine(n_processes) as machine:
        yield machine.run
