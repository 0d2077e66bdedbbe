"""The page of `manycaps compare`: one to three systems and human captions, each an uploaded file."""

import functools
import html
import pathlib
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from manycaps.comparison import CompareOptions, compare, quickstart
from manycaps.comparison.metric_words import VALUES
from manycaps.comparison.quickstart.comparison import sample_files
from manycaps.comparison.quickstart.scenes import read_scenes
from manycaps.comparison.read import read_systems
from manycaps.comparison.render import OUTPUT_NAMES
from manycaps.comparison.significance import ComparedMetric
from manycaps.comparison.words import describe
from manycaps.files.caption_tables.files import source_name
from manycaps.files.result_tables import write_table
from manycaps.kit.errors import InputError

from .form import UPLOAD_LIFE, Form, Page
from .inputs import (
    KINDS,
    CaptionLimits,
    check_at_most,
    check_caption_limits,
    check_kind,
    check_uploaded,
    take_uploads_only,
)
from .plots import mean_intervals
from .results import Drawing

# Limits of one call of a public page: each file, its rows, captions of a row, characters of a caption.
MAX_MEGABYTES = 2
LIMITS = CaptionLimits(rows=100, captions_per_row=10, characters_per_caption=300)

# Most captions that a sentence encoder reads in a call of a public page, some seconds; METEOR compares more.
MOST_EMBEDDED = 1_000

# Random splits and sign flips of the tests.
N_RESAMPLES = 999

# Metrics of words, which need no weights.
METRICS = {"CIDEr-D and TRM-CIDEr": "trm_cider", "METEOR and TRM-METEOR": "trm_meteor"}

SYSTEMS = ("System 1, the baseline", "System 2, or none", "System 3, or none")
PEOPLE = "Human captions"


def form(_: None) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="Compare captioning systems",
        introduction=(
            "Which one has fewer faults, and how does each differ from people? Upload the captions of one to three "
            f"systems ({', '.join(KINDS)}) with ids, and the human captions, in a file of their own or in a column "
            "`references`."
        ),
        inputs=[
            take_uploads_only(gr.File(label=label, file_types=list(KINDS), height=160, render=False))
            for label in (*SYSTEMS, PEOPLE)
        ],
        options=[gr.Radio(list(METRICS), value=next(iter(METRICS)), label="Metric", render=False)],
        drawings=["Sets of captions", "Single captions"],
        examples={"A varied system and one that repeats itself": example},
        measure=compare_uploads,
        parameters=["system_1", "system_2", "system_3", "references", "metric"],
        files=["Report, a page to open in a browser"],
    )


def check_uploads(files: Sequence[str | None], references: str | None) -> tuple[dict[str, str], list[str], int]:
    """Return one to three systems by their names, the file of people, and the number of captions, if within the limits.

    Nothing that a file names is opened.
    """
    paths = [check_uploaded(path, f"system {i}", MAX_MEGABYTES) for i, path in enumerate(files, start=1) if path]
    if not paths:
        raise InputError("systems", "one to three files", "none", "Upload the captions of a system.")
    people = [check_uploaded(references, "references", MAX_MEGABYTES)] if references else []
    for path in [*paths, *people]:
        check_kind(path, "systems")
    names = [source_name(path.name) for path in paths]
    names = [name if names.count(name) == 1 else f"{name} {i}" for i, name in enumerate(names, start=1)]
    systems = dict(zip(names, map(str, paths), strict=True))
    rows, _ = read_systems(systems, list(map(str, people)))
    check_at_most(len(rows), LIMITS.rows, "systems", "rows")
    for name in names:
        check_caption_limits([row.captions[name] for row in rows], name, LIMITS)
    references_of_rows = [row.references for row in rows if row.references]
    if len(references_of_rows) < len(rows):
        raise InputError("references", "human captions for every row", "none", "Upload them, or add a column.")
    check_caption_limits(references_of_rows, "references", LIMITS)
    n_captions = sum(len(row.captions[name]) for row in rows for name in names) + sum(map(len, references_of_rows))
    return systems, list(map(str, people)), n_captions


def compare_uploads(
    first: str | None, second: str | None, third: str | None, references: str | None, metric: str
) -> tuple[str | Drawing | pathlib.Path, ...]:
    """Compare the uploads: sentences, the means as drawings, tables, and the report as a file."""
    uploads = [pathlib.Path(path) for path in (first, second, third, references) if path]

    def name_files(message: Any) -> Any:
        """Name files as the user does, not by the folder where the server keeps uploads."""
        return functools.reduce(lambda named, path: named.replace(str(path), path.name), uploads, message)

    try:
        systems, people, n_captions = check_uploads([first, second, third], references)
        distance = None if n_captions <= MOST_EMBEDDED else "meteor"
        options = CompareOptions(
            systems=list(systems.values()),
            references=people,
            names=list(systems),
            metrics=[METRICS[metric]],
            full=True,
            distance=distance,
            n_resamples=N_RESAMPLES,
        )
        compared = compare(options)
    except InputError as error:
        raise name_files(error) from None
    result = replace(compared.result, notes=[name_files(note) for note in compared.result.notes])
    compared = replace(compared, result=result, words=describe(result))
    report = new_folder()
    compared.save(report)
    # Names of files may hold marks of HTML.
    sentences = "\n".join(f"- {html.escape(sentence, quote=False)}" for sentence in compared.words.summary)
    tables = "\n\n".join(write_table(table, "md") for table in compared.words.all_tables)
    drawings = [means_of(key, metric) for key, metric in compared.result.metrics.items()]
    return sentences, *drawings, tables, report / OUTPUT_NAMES[0]


@functools.cache
def output_folder() -> "tempfile.TemporaryDirectory[str]":
    """Make a folder for the example and, until gradio has taken them, the reports; deleted when the page stops."""
    return tempfile.TemporaryDirectory(prefix="compare-")


def new_folder() -> pathlib.Path:
    """Make a folder for the report of a call, and delete those that gradio has forgotten, too."""
    reports = pathlib.Path(output_folder().name, "reports")
    reports.mkdir(exist_ok=True)
    for folder in reports.iterdir():
        if time.time() - folder.stat().st_mtime > UPLOAD_LIFE:
            shutil.rmtree(folder, ignore_errors=True)
    return pathlib.Path(tempfile.mkdtemp(dir=reports))


def means_of(key: str, metric: ComparedMetric) -> Drawing:
    """Draw the means of the systems; an excess beside 0, where people are."""
    mark = 0.0 if VALUES[key].best == "zero" else None
    means = {name: (each["mean"], each["ci_low"], each["ci_high"]) for name, each in metric.systems.items()}
    return mean_intervals(means, f"{VALUES[key].measures} ({metric.direction})", mark)


@functools.cache
def example() -> tuple[str, str, None, str, str]:
    """Write the bundled sample into files, once: a varied system, one that repeats a caption, and people."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=output_folder().name))
    sample = pathlib.Path(quickstart.__file__).with_name("captions.json")
    for name, text in sample_files(read_scenes(sample)).items():
        (folder / name).write_text(text, encoding="utf-8")
    varied, repeating, people = (str(folder / f"{name}.jsonl") for name in ("diverse", "repeating", "references"))
    return varied, repeating, None, people, next(iter(METRICS))


COMPARE = Page(form, megabytes=MAX_MEGABYTES)
