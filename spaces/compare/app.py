"""Demo page of `manycaps compare`: `python app.py`, or a Space made of this folder and of the package."""

import importlib.resources
import json
import pathlib
import tempfile

import gradio as gr

from manycaps.comparison.caption_scores import CaptionScores
from manycaps.comparison.caption_systems import read_systems
from manycaps.comparison.compared_systems import compared_systems
from manycaps.comparison.comparison_tables import all_tables, as_written
from manycaps.comparison.comparison_text import summaries
from manycaps.report.comparison_page import comparison_page
from manycaps.report.source_names import source_name
from manycaps.shared_demo_form import (
    UPLOAD_LIFE,
    CaptionLimits,
    card_body,
    check_at_most,
    check_caption_limits,
    check_uploaded,
    house_messages,
    serve,
    uploaded_file,
)

# What one call may cost on a public page: each file, its rows, captions of a row, characters of a caption.
MAX_MEGABYTES = 2
LIMITS = CaptionLimits(rows=500, captions_per_row=20, characters_per_caption=300)

# Random splits, sign flips and resamples of the tests and intervals.
N_RESAMPLES = 999

# Kinds of files; what may hold other files, or needs a library to be opened, is left out.
KINDS = (".jsonl", ".json", ".csv", ".tsv")

# Metrics of words, which need no weights.
METRICS = {"CIDEr-D and TRM-CIDEr": "trm_cider", "METEOR and TRM-METEOR": "trm_meteor"}

CARD = pathlib.Path(__file__).resolve().with_name("README.md")


def read_uploads(files, references):
    """Read two or three systems, within the limits of the page; nothing that a file names is opened."""
    paths = [check_uploaded(path, f"system {i}", MAX_MEGABYTES) for i, path in enumerate(files, start=1) if path]
    if len(paths) < 2:
        raise ValueError(f"systems: expected two files or three, got {len(paths)}. Upload the captions of another.")
    people = [str(check_uploaded(references, "references", MAX_MEGABYTES))] if references else []
    for path in [*map(str, paths), *people]:
        if not path.endswith(KINDS):
            raise ValueError(
                f"systems: expected files of the kinds {', '.join(KINDS)}, got {path[-20:]!r}. Convert it."
            )
    names = [source_name(path.name) for path in paths]
    names = [name if names.count(name) == 1 else f"{name} {i}" for i, name in enumerate(names, start=1)]
    rows = read_systems(dict(zip(names, map(str, paths), strict=True)), people)
    check_at_most(len(rows), LIMITS.rows, "systems", "rows")
    for name in names:
        check_caption_limits([row.captions[name] for row in rows], name, LIMITS)
    if any(not row.references for row in rows):
        raise ValueError(
            "references: expected captions of people for every row, got none. Upload them, or add a column."
        )
    check_caption_limits([row.references for row in rows], "references", LIMITS)
    return [row._replace(image=None, video=None) for row in rows]


def compare(first, second, third, references, metric):
    """Compare the uploads: sentences and tables, and the report as a file."""
    with house_messages():
        rows = read_uploads([first, second, third], references)
        scores = CaptionScores(rows, [METRICS[metric]], {}, n_resamples=N_RESAMPLES)
        systems = scores.systems(lambda: None)
        compared = compared_systems(systems, rows, None, list(scores.exchanges(lambda: None)), n_resamples=N_RESAMPLES)
        report = pathlib.Path(tempfile.mkdtemp()) / "index.html"
        report.write_text(comparison_page(compared), encoding="utf-8")
    sentences = "\n".join(f"- {as_text(sentence)}" for sentence in summaries(compared))
    tables = "\n\n".join(as_written(table, "md") for table in all_tables(compared))
    return f"{sentences}\n\n{tables}", str(report)


def as_text(sentence):
    """Return a sentence without marks of HTML, which the names of files may hold."""
    return sentence.replace("&", "&amp;").replace("<", "&lt;")


def example():
    """Write the bundled sample into files: the system that repeats a caption, one with varied ones, and people."""
    sample = json.loads((importlib.resources.files("manycaps") / "quickstart" / "captions.json").read_text("utf-8"))
    folder, names = pathlib.Path(tempfile.mkdtemp()), list(sample["scenes"][0]["systems"])[:2]
    paths = []
    for name in names:
        lines = [json.dumps({"id": i, "captions": s["systems"][name]}) for i, s in enumerate(sample["scenes"])]
        paths.append(folder / f"{name.replace(' ', '_')}.jsonl")
        paths[-1].write_text("\n".join(lines), encoding="utf-8")
    people = [json.dumps({"id": i, "references": scene["references"]}) for i, scene in enumerate(sample["scenes"])]
    paths.append(folder / "references.jsonl")
    paths[-1].write_text("\n".join(people), encoding="utf-8")
    return str(paths[0]), str(paths[1]), None, str(paths[2]), next(iter(METRICS))


def build():
    """Lay the page out."""
    with gr.Blocks(title="Compare captions", analytics_enabled=False, delete_cache=(UPLOAD_LIFE, UPLOAD_LIFE)) as page:
        gr.Markdown(
            "# Compare captioning systems\n\nWhich one is nearer to people, and is that sure? Upload the captions of "
            f"two or three systems ({', '.join(KINDS)}) with ids, and the captions of people, in a file of their own "
            "or in a column `references`."
        )
        with gr.Row():
            labels = ("System 1, the baseline", "System 2", "System 3, or none", "Captions of people")
            fields = [uploaded_file(gr.File(label=label, file_types=list(KINDS), min_width=160)) for label in labels]
        fields.append(gr.Radio(list(METRICS), value=next(iter(METRICS)), label="Metric"))
        gr.Button("Fill in an example", size="sm").click(
            example, None, fields, api_visibility="private", show_progress="hidden"
        )
        submit = gr.Button("Compare", variant="primary")
        result = gr.Markdown(elem_classes="result", min_height=40)
        report = gr.File(label="Report, a page to open in a browser", interactive=False)
        gr.Markdown(card_body(CARD), elem_id="card")
        submit.click(compare, fields, [result, report], api_name="compute")
    return page


page = build()

if __name__ == "__main__":
    serve(page, MAX_MEGABYTES)
