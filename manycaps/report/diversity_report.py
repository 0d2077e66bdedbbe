"""Measure the diversity of caption files, and write one HTML page that compares them with published data sets."""

import argparse
import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tqdm

from manycaps.caption_codes import row_chunks
from manycaps.caption_diversity import CHUNK_CAPTIONS, CaptionDiversity
from manycaps.caption_tables import CaptionColumn, caption_lists, open_captions
from manycaps.report.diversity_page import (
    PART_OF_SPEECH_COLUMNS,
    SEMANTIC_COLUMNS,
    VOCABULARY_COLUMNS,
    as_page,
    as_table,
)
from manycaps.report.diversity_plots import (
    histogram_plot,
    references_plot,
    share_plot,
    variance_plot,
    vocabulary_plot,
)
from manycaps.report.inline_svg import Plot
from manycaps.report.leave_one_out import RowSample, reference_curves, variance_curve
from manycaps.report.published_diversity import PAPER_ENCODER, PUBLISHED, PUBLISHED_PARTS_OF_SPEECH
from manycaps.report.source_names import source_name
from manycaps.saved_files import check_can_be_written, write_text_atomically
from manycaps.shared_spacy_pipelines import as_tagger

# For each histogram of the semantic level: identifier, title, caption, axis and what is counted.
REDUNDANCY_PLOTS = {
    "minimum": (
        "redundancy",
        "Redundancy",
        "Distance of each caption to the nearest other caption of its row (the paper's Figure 2): 0 says the same.",
        "cosine distance",
        "captions",
    ),
    "spread": (
        "spread",
        "Spread of the distances",
        "How much nearer than the mean the nearest caption is (the paper's Figure S1): high where a row has clusters.",
        "(mean distance - least distance) / mean distance",
        "captions",
    ),
}


def measure(
    source: str, name: str, column: str | None, group_by: str | None, options: argparse.Namespace
) -> tuple[CaptionDiversity, RowSample]:
    """Stream one source through all levels that are asked for, and keep a sample of its rows."""
    encoder = load_encoder(options.encoder or PAPER_ENCODER) if options.semantic or options.encoder else None
    tagger = as_tagger(options.pos) if options.pos else None
    diversity, sample = CaptionDiversity(options.tokenizer, encoder, tagger), RowSample()
    rows = caption_lists(open_captions([source], CaptionColumn(column, group_by), options.split, options.config))
    with tqdm.tqdm(desc=name, unit=" captions", unit_scale=True) as progress:
        for chunk in row_chunks(rows, CHUNK_CAPTIONS):
            diversity.update(chunk)
            sample.update(chunk)
            progress.update(sum(map(len, chunk)))
    return diversity, sample


@functools.cache
def load_encoder(name: str) -> Callable[[list[str]], np.ndarray]:
    """Return the function that embeds captions by a sentence-transformers model."""
    # torch is loaded only where distances are asked for.
    from manycaps.shared_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder

    encoder = SentenceEncoder()
    progress = functools.partial(tqdm.tqdm, leave=False)
    return lambda captions: encoder.embed(captions, {**ENCODER_DEFAULTS, "encoder": name}, progress)


def as_tables(figures: dict[str, dict[str, Any]]) -> list[str]:
    """Build the comparison tables of the levels that were measured."""
    first = next(iter(figures.values()))
    tables = [as_table("tokens", "Tokens, n-grams and captions", VOCABULARY_COLUMNS, figures, PUBLISHED)]
    if "noun_n_types" in first:
        published = PUBLISHED_PARTS_OF_SPEECH
        tables.append(as_table("parts-of-speech", "Nouns and verbs", PART_OF_SPEECH_COLUMNS, figures, published))
    if "caption_distance_minimum" in first:
        title = "Distances within rows, mean over captions"
        tables.append(as_table("distances", title, SEMANTIC_COLUMNS, figures, {}))
    return tables


def as_plots(measured: dict[str, CaptionDiversity], figures: dict[str, dict[str, Any]]) -> list[Plot]:
    """Draw the plots of the levels that were measured."""
    curves = {name: diversity.vocabulary.counts for name, diversity in measured.items()}
    heads = {name: int(row["head_90"]) for name, row in PUBLISHED.items() if "head_90" in row}
    evs = {
        f"EVS-{order}": {**_column(figures, f"evs_{order}"), **_column(PUBLISHED, f"evs_{order}")}
        for order in (2, 3, 4)
    }
    distinct = {**_column(figures, "distinct_within_row"), **_column(PUBLISHED, "distinct_within_row")}
    novelty = {name: diversity.novelty.histogram for name, diversity in measured.items()}
    plots = [
        vocabulary_plot(curves, heads),
        share_plot(
            "evs",
            "Contexts that leave a choice (EVS)",
            "Share of the runs of one, two and three words after which more than one word follows in the data.",
            evs,
            len(measured),
        ),
        share_plot(
            "duplicates",
            "Different captions of a row",
            "Captions of a row without their exact repetitions, as a share of all captions of the row; mean over rows.",
            {"share of a row's captions": distinct},
            len(measured),
        ),
        histogram_plot(
            "novelty",
            "Exact duplicates, row by row",
            "How many rows have which share of different captions (the paper's Figure S2).",
            "different captions as a share of a row's captions",
            "rows",
            novelty,
        ),
    ]
    redundancy = {name: diversity.redundancy for name, diversity in measured.items() if diversity.redundancy}
    return plots + [
        histogram_plot(*texts, {name: each.histogram(kind) for name, each in redundancy.items()})
        for kind, texts in REDUNDANCY_PLOTS.items()
        if redundancy
    ]


def leave_one_out_plots(samples: Mapping[str, RowSample], options: argparse.Namespace) -> list[Plot]:
    """Draw how well captions score against others of their row, by references and, with an encoder, by meaning."""
    curves = {name: curve for name, each in samples.items() if (curve := reference_curves(each.rows)) is not None}
    plots = [references_plot(curves)] if curves else []
    if options.semantic or options.encoder:
        embed = load_encoder(options.encoder or PAPER_ENCODER)
        points = {name: _variance_points(each, embed) for name, each in samples.items()}
        points = {name: each for name, each in points.items() if each}
        plots += [variance_plot(points)] if points else []
    return plots


def _variance_points(sample: RowSample, embed: Callable[[list[str]], np.ndarray]) -> list[tuple[float, float]]:
    rows = [row for row in sample.rows if len(set(row)) > 2]
    captions = list(dict.fromkeys(caption for row in rows for caption in row))
    vectors = dict(zip(captions, embed(captions) if captions else [], strict=True))
    return variance_curve(rows, [np.stack([vectors[caption] for caption in dict.fromkeys(row)]) for row in rows])


def _column(rows: dict[str, dict[str, Any]], key: str) -> dict[str, float]:
    """One figure of every data set that has it; published ones are marked as such."""
    mark = ", published" if rows is PUBLISHED else ""
    return {f"{name}{mark}": float(row[key]) for name, row in rows.items() if key in row}


def as_remarks(options: argparse.Namespace) -> list[str]:
    """Say which levels were left out."""
    remarks = []
    if not (options.semantic or options.encoder):
        remarks.append("The redundancy histogram needs sentence embeddings: run again with --semantic.")
    if not options.pos:
        remarks.append("Nouns and verbs need a spaCy pipeline: run again with --pos en_core_web_sm.")
    return remarks


def check_names(
    sources: Sequence[str], names: Sequence[str] | None, columns: Sequence[str | None] | None = None
) -> list[str]:
    """Return one different name for each source: the one given, or that of the file, with the column if it is needed.

    Raises:
        ValueError: another number of names, or a name twice.

    >>> check_names(["rows.json", "rows.json", "other.json"], None, ["references", "candidates", None])
    ['rows: references', 'rows: candidates', 'other']
    """
    chosen = list(names) if names else [source_name(source) for source in sources]
    if not names and columns:
        chosen = [
            f"{name}: {column}" if column and chosen.count(name) > 1 else name
            for name, column in zip(chosen, columns, strict=True)
        ]
    if len(chosen) != len(sources):
        raise ValueError(f"--names: expected {len(sources)} names, got {len(chosen)}. Give one for each source.")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"--names: expected different names, got {chosen}. Tell the sources apart with --names.")
    return chosen


def for_each_source(values: Sequence[str] | None, n_sources: int, option: str) -> list[str | None]:
    """Return one value for each source: the one given for all, or each its own; "-" is none.

    Raises:
        ValueError: another number of values.

    >>> for_each_source(["caption", "-"], 2, "--column"), for_each_source(["image"], 2, "--group-by")
    (['caption', None], ['image', 'image'])
    """
    values = list(values or ["-"])
    values = values * n_sources if len(values) == 1 else values
    if len(values) != n_sources:
        raise ValueError(f"{option}: expected 1 or {n_sources} names, got {len(values)}. Give - where there is none.")
    return [None if value == "-" else value for value in values]


def write_report(options: argparse.Namespace) -> None:
    """Measure all sources and write the page.

    Raises:
        TypeError, ValueError, OSError: a source or an option cannot be used.
    """
    for output in filter(None, (options.output, options.json)):
        check_can_be_written(output)
    columns = for_each_source(options.column, len(options.sources), "--column")
    groups = for_each_source(options.group_by, len(options.sources), "--group-by")
    names = check_names(options.sources, options.names, columns)
    parts = zip(options.sources, names, columns, groups, strict=True)
    found = {name: measure(source, name, column, group, options) for source, name, column, group in parts}
    measured = {name: diversity for name, (diversity, _) in found.items()}
    samples = {name: sample for name, (_, sample) in found.items()}
    figures = {name: diversity.figures((0.9,), (5, 10, 15, 20)) for name, diversity in measured.items()}
    how = {
        name: f"{source}{f', column {column}' if column else ''}; {options.tokenizer} tokenizer; "
        f"{figures[name]['n_tokens']:,} tokens, {figures[name]['n_duplicate_captions']:,} exact duplicates of earlier "
        "captions"
        for name, source, column in zip(names, options.sources, columns, strict=True)
    }
    plots = as_plots(measured, figures) + leave_one_out_plots(samples, options)
    page = as_page(as_tables(figures), plots, how, as_remarks(options))
    if options.json:
        write_text_atomically(options.json, json.dumps(figures, indent=2) + "\n")
    write_text_atomically(options.output, page)
    print(f"wrote {options.output}", file=sys.stderr)
