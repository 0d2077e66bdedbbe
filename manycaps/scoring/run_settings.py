"""What a run is made of, as every worker must know it: settings out of options, parts, and the manifest.

The manifest says what a run was begun with: the same command resumes it, another one is refused.
"""

import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from manycaps.catalog.installed_modules import module_folder
from manycaps.catalog.module_options import assign_module_options, read_module_options
from manycaps.catalog.modules import MODULES, WORD_COUNTS
from manycaps.files.caption_tables import BadRow, CaptionRow, CaptionSource, bad_row_error, open_source
from manycaps.files.caption_tables.columns import as_columns
from manycaps.files.caption_tables.files import Piece, is_local
from manycaps.kit.errors import InputError
from manycaps.kit.module import VERSION
from manycaps.scoring.run_folder import RunFolder, read_saved
from manycaps.scoring.score_options import ScoreOptions
from manycaps.scoring.scorer import Scorer, load_scorer

# Rows scored at once, and bytes of images and videos among them.
CHUNK_ROWS = 1024
CHUNK_BYTES = 1 << 25

# What --columns calls the columns of modules that have another name there.
ROLE_NAMES = {"images": "image", "videos": "video"}

# Packages that decide numbers, of every metric and of those with a model.
PACKAGES = ("numpy", "scipy", "pyarrow", "nltk")
MODEL_PACKAGES = ("torch", "open_clip_torch", "pillow", "sentence-transformers", "av")


class RunSettings(NamedTuple):
    """Input, metrics and output of a run; it can be sent to other machines that see the same folders."""

    folder: str
    source: CaptionSource
    # Options of each metric by its name.
    metrics: dict[str, dict[str, Any]]
    # "raise" stops at the first bad row, "reject" leaves it out.
    on_error: str
    # Whether no row has two references, so that human_parity measures the wording alone.
    are_single: bool = False
    # Digest of the manifest, once that is written.
    run: str | None = None

    def run_folder(self) -> RunFolder:
        """Return the folder of the results."""
        return RunFolder(self.folder, self.run)

    def scorers(self) -> list[Scorer]:
        """Return the metrics, loaded once in each process."""
        metrics = self.metrics.items()
        return [load_scorer(name, json.dumps(options, sort_keys=True), self.are_single) for name, options in metrics]

    def rows(self, part: "RunPart") -> Iterator[CaptionRow | BadRow]:
        """Yield the rows of a part."""
        store = str(self.run_folder().store) if self.source.needs_store else None
        for piece in part.pieces:
            yield from self.source.read(piece, store)

    def refuse(self, bad: BadRow) -> None:
        """Raise an InputError for a bad row, unless such rows are rejected."""
        if self.on_error == "raise":
            raise bad_row_error(bad)


class RunPart(NamedTuple):
    """Rows that are scored by one worker."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of input that the part stands for."""
        return sum(piece.n_bytes for piece in self.pieces)


# A step over a part: `survey_part` or `score_part`; a finished part with its report; and what runs a step on all parts.
Step = Callable[[RunSettings, RunPart], dict[str, Any]]
PartReport = tuple[RunPart, dict[str, Any]]
Engine = Callable[[Step, RunSettings, Sequence[RunPart]], Iterator[PartReport]]


def plan_parts(pieces: Iterator[Piece], n_bytes: int) -> list[RunPart]:
    """Join pieces into parts of at least `n_bytes` but the last; they depend on the input and the size alone."""
    parts: list[RunPart] = []
    waiting: list[Piece] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(one.n_bytes for one in waiting) >= n_bytes:
            parts.append(RunPart(len(parts), tuple(waiting)))
            waiting = []
    if waiting:
        parts.append(RunPart(len(parts), tuple(waiting)))
    return parts


def chunks(rows: Iterator[CaptionRow | BadRow]) -> Iterator[list[CaptionRow | BadRow]]:
    """Cut rows into runs that fit into memory.

    >>> [len(chunk) for chunk in chunks(iter([BadRow("a", 0, None, InputError("", "a row", "none"))] * 1025))]
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


def run_settings_of(options: ScoreOptions) -> RunSettings:
    """Find the files, and say how they are understood."""
    metrics = metric_options(options)
    # Metrics that measure captions, whoever wrote them, take references where there are no candidates.
    either = all(name in MODULES and MODULES[name].reduction == WORD_COUNTS for name in metrics)
    source = open_source(
        options.inputs,
        options.references,
        as_columns(options.columns),
        options.images,
        options.videos,
        options.limit,
        either=either,
        split=options.split,
        by_line=options.aligned,
    )
    return RunSettings(os.path.abspath(options.output), source, metrics, options.on_error)


def metric_options(options: ScoreOptions) -> dict[str, dict[str, Any]]:
    """Assign each option to its metric; raise a ValueError if it has no value, or no metric has it."""
    given = options.metrics if isinstance(options.metrics, Mapping) else {name: {} for name in options.metrics}
    for name in given:
        module_folder(name, "--metrics")
    if options.device is not None and not any("device" in MODULES[name].options for name in given):
        raise InputError("--device", "a metric with a model", ", ".join(given), "Leave this option out.")
    device = {} if options.device is None else {"device": options.device}
    assigned = assign_module_options(read_module_options(options.options) | device, list(given))
    return {name: {**own, **assigned[name]} for name, own in given.items()}


def check_columns(settings: RunSettings, scorers: Sequence[Scorer]) -> None:
    """Raise a ValueError if the files lack what a metric needs, or its values cannot be put together."""
    source = settings.source
    available = {
        "predictions": source.main.layout.predictions is not None,
        "references": source.references is not None or source.main.layout.references is not None,
        "data": True,
        "images": source.main.layout.image is not None or "image" in source.media,
        "videos": source.main.layout.video is not None or "video" in source.media,
    }
    how = {"images": "--images FOLDER", "videos": "--videos FOLDER", "references": "-r FILE"}
    for scorer in scorers:
        scorer.check_reducible()
        for name in scorer.columns:
            if not available[name] and name not in scorer.optional_columns:
                column = f"name the column with --columns {ROLE_NAMES.get(name, name)}=NAME"
                fix = f"Give {how.get(name, '-i FILE')}, or {column}."
                raise InputError(f"-m {scorer.name}", name, "none in the files", fix)


def manifest(settings: RunSettings, scorers: list[Scorer], part_bytes: int) -> dict[str, Any]:
    """Return what decides the results of a run."""
    return {
        "inputs": inputs(settings),
        "metrics": settings.metrics,
        "versions": versions(scorers),
        "part_bytes": part_bytes,
    }


def inputs(settings: RunSettings) -> dict[str, Any]:
    """Return which files are read, and how they are understood."""
    source = settings.source
    sides = [source.main] + ([source.references] if source.references else [])
    files = [file for side in sides for file in side.files]
    split = files[0].split
    return {
        "files": {file.path: [file.n_bytes, _modification_time(file.path)] for file in files},
        "understood": source.description(),
        "media": dict(source.media),
        "limit": source.limit,
        **({} if split is None else {"split": split}),
        **({} if files[0].aligned is None else {"aligned": True}),
    }


def versions(scorers: list[Scorer]) -> dict[str, str]:
    """Return the versions of what makes the numbers."""
    has_model = any(scorer.has_model for scorer in scorers)
    installed = {"manycaps": VERSION, "python": platform.python_version()}
    for name in PACKAGES + (MODEL_PACKAGES if has_model else ()):
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def check_same(folder: RunFolder, now: dict[str, Any]) -> bool:
    """Say whether a folder holds a run that can be resumed; raise a ValueError if it holds scores of another run.

    Nor may it hold files that no manifest says are ours.
    """
    if not folder.check_ours():
        return False
    before = read_saved(folder.manifest)
    now = json.loads(json.dumps(now))
    changed = [name for name in now if before.get(name) != now[name]]
    if not changed:
        return True
    if not folder.has_scores:  # nothing is lost; an option that only the work found to be wrong is given again
        folder.remove_results()
        return False
    got = f"another one: {_difference(changed[0], before, now)}"
    fix = "Give the same command, --restart to start from scratch, or another -o."
    raise InputError(folder.path, "the run that this folder holds", got, fix)


def _difference(key: str, before: dict[str, Any], now: dict[str, Any]) -> str:
    """The first thing that differs, and how."""
    old, new = before.get(key), now[key]
    if isinstance(old, dict) and isinstance(new, dict):
        name = next(name for name in {**new, **old} if old.get(name) != new.get(name))
        return _difference(name, old, {**dict.fromkeys(old), **new})
    return f"{key} was {json.dumps(old)[:80]} and is {json.dumps(new)[:80]}"


def _modification_time(path: str) -> int | None:
    """Time of a local file's last change; None for others, whose size must do."""
    return os.stat(path).st_mtime_ns if is_local(path) else None
