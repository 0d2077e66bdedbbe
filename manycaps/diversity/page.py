"""The diversity report as one HTML page without any request to the network."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from manycaps.files.result_tables import Cell, Table, align_columns, page_table, write_table
from manycaps.report.inline_svg import Plot
from manycaps.report.page_frame import as_document, as_plot_section, as_report_number

from .figures import DiversityFigures
from .plots import histogram_plot, references_plot, share_plot, variance_plot, vocabulary_plot
from .published import PUBLISHED, PUBLISHED_PARTS_OF_SPEECH
from .sets import SET_VALUES, SetFigures, set_tables


class Column(NamedTuple):
    """A column of a comparison table."""

    # Key of the result.
    key: str
    heading: str
    # Format of its numbers, as for `format`.
    form: str
    # Meaning of the column, for the list under the table.
    meaning: str


VOCABULARY_COLUMNS = (
    Column("n_rows", "Rows", ",d", "images or videos"),
    Column("n_captions", "Captions", ",d", "captions, repeated ones included"),
    Column("n_types", "Types", ",d", "different tokens (Unique in the paper's Table 1)"),
    Column("head_90", "Head", ",d", "most frequent types that make up 90% of all tokens"),
    Column(
        "within_row_uniqueness_of_tokens",
        "Within",
        ".1%",
        "tokens of a row that occur once in the row, as a share of the row's tokens; mean over rows (WS-Unique)",
    ),
    Column(
        "between_row_uniqueness_by_caption",
        "Between",
        ".2%",
        "tokens of a row that occur in no other caption of the data set, as a share of the row's tokens; mean over "
        "rows (BS-Unique)",
    ),
    Column("tokens_per_caption", "Tokens", ".2f", "mean tokens per caption (TPC)"),
    Column(
        "evs_2", "EVS-2", ".1%", "words after which more than one word follows in the data, as a share of all words"
    ),
    Column("evs_3", "EVS-3", ".1%", "the same of pairs of words"),
    Column("evs_4", "EVS-4", ".1%", "the same of runs of three words"),
    Column("ed_10", "ED@10", ".2f", "decisions that ten tokens need, 1 + EVS-2 + EVS-3 + 8 EVS-4"),
    Column(
        "distinct_within_row",
        "Distinct",
        ".1%",
        "different captions of a row as a share of its captions; mean over rows (caption novelty in section 5)",
    ),
)

PART_OF_SPEECH_COLUMNS = tuple(
    Column(f"{part}_{key}", f"{part.title()}{heading}", form, f"{meaning}, of the {part}s alone")
    for part in ("noun", "verb")
    for key, heading, form, meaning in (
        ("n_types", " types", ",d", "different words"),
        ("head_90", " head", ",d", "most frequent ones that make up 90%"),
        ("tokens_per_caption", "s per caption", ".2f", "mean per caption"),
        ("within_row_uniqueness_of_tokens", "s within", ".1%", "uniqueness within rows"),
        ("between_row_uniqueness_by_caption", "s between", ".2%", "uniqueness between rows"),
    )
)

SEMANTIC_COLUMNS = (
    Column(
        "caption_distance_minimum", "Minimum", ".3f", "cosine distance of a caption to the nearest other of its row"
    ),
    Column("caption_distance_mean", "Mean", ".3f", "mean distance to the others of its row"),
    Column("caption_distance_maximum", "Maximum", ".3f", "distance to the farthest of its row"),
    Column("caption_distance_variance", "Variance", ".4f", "variance of the distances to the others of its row"),
    Column("caption_distance_spread", "Spread", ".1%", "(mean - minimum) / mean"),
    Column("row_distance_variance", "Row variance", ".4f", "variance of all distances of a row; mean over rows"),
)

# What a screen reader calls the tables of `set_tables`.
TITLES_OF_SETS = {
    "sets": "Values of rows",
    "set-pairs": "Sources compared row by row",
    "homogeneity": "Do the sources say different things?",
    "homogeneity-matrix": "Homogeneity of every two sources",
}

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


def diversity_page(measured: DiversityFigures) -> str:
    """Return the whole page of a measurement, as HTML."""
    options, figures = measured.options, measured.figures
    how = {
        name: f"{source}{f', column {column}' if column else ''}; {options.tokenizer} tokenizer; "
        f"{figures[name]['n_tokens']:,} tokens, {figures[name]['n_duplicate_captions']:,} exact duplicates of earlier "
        "captions"
        for source, (name, column) in zip(options.sources, measured.columns.items(), strict=True)
    }
    names = ", ".join(how)
    lead = f"{names}, beside the data sets that Chan et al. (2022) measured in “What’s in a Caption?”."
    sources = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in how.items())
    remarks = {
        "The redundancy histogram needs sentence embeddings: run again with --semantic.": options.semantic
        or options.encoder,
        "Nouns and verbs need a spaCy pipeline: run again with --pos en_core_web_sm.": options.pos,
    }
    # Of the levels that were left out.
    notes = "".join(f"<li>{html.escape(remark)}</li>" for remark, is_measured in remarks.items() if not is_measured)
    body = f"""{"".join(as_tables(figures) + set_sections(measured.sets))}
{"".join(as_plot_section(plot) for plot in as_plots(measured))}
<h2 id="reading">How to read this page</h2>
<ul>
<li>Types, head, between-row uniqueness, EVS and ED depend on the size of a data set: compare data sets of about the
same number of captions. The published figures are of whole data sets.</li>
<li>Published figures come from the Stanford PTB tokenizer and, for parts of speech, from a spaCy pipeline.</li>
{notes}
</ul>
<h2 id="sources">What was measured</h2>
<dl>{sources}</dl>"""
    return as_document("Caption diversity", names, lead, body)


def as_tables(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Build the comparison tables of the levels that were measured."""
    first = next(iter(figures.values()))
    tables = [comparison_section("tokens", "Tokens, n-grams and captions", VOCABULARY_COLUMNS, figures, PUBLISHED)]
    if "noun_n_types" in first:
        published = PUBLISHED_PARTS_OF_SPEECH
        tables.append(
            comparison_section("parts-of-speech", "Nouns and verbs", PART_OF_SPEECH_COLUMNS, figures, published)
        )
    if "caption_distance_minimum" in first:
        title = "Distances within rows, mean over captions"
        tables.append(comparison_section("distances", title, SEMANTIC_COLUMNS, figures, {}))
    return tables


def set_sections(sets: SetFigures | None) -> list[str]:
    """Build the sections of values of rows and of the comparisons; none without them."""
    if sets is None:
        return []
    tables = set_tables(sets)
    own = [value for value in SET_VALUES if value.key in next(iter(sets.means.values()))]
    meanings = "".join(f"<dt>{html.escape(value.title)}</dt><dd>{html.escape(value.meaning)}</dd>" for value in own)
    sections = "".join(page_table(TITLES_OF_SETS[table.name], table, table.name) for table in tables)
    return [
        f"""<h2 id="sets">Row by row</h2>
{sections}
<details><summary>What the values mean</summary><dl>{meanings}</dl></details>
"""
    ]


def sets_text(sets: SetFigures | None) -> str:
    """Return the same as lines of text; empty without values of rows."""
    return "" if sets is None else "\n\n".join(write_table(table, "text") for table in set_tables(sets))


def levels_text(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the figures of the levels that were measured as lines of text: a source a column.

    >>> print(levels_text({"people": {"n_rows": 2, "evs_2": 0.5}, "model": {"n_rows": 2, "evs_2": float("nan")}}))
           people        model
    Rows        2            2
    EVS-2   50.0%  not defined
    """
    first = next(iter(figures.values()))
    columns = [*VOCABULARY_COLUMNS, *PART_OF_SPEECH_COLUMNS, *SEMANTIC_COLUMNS]
    lines = [["", *figures]] + [
        [column.heading, *(as_report_number(values[column.key], column.form) for values in figures.values())]
        for column in columns
        if column.key in first
    ]
    return "\n".join(align_columns(lines, "l" + "r" * len(figures)))


def as_plots(measured: DiversityFigures) -> list[Plot]:
    """Draw the plots of the levels that were measured."""
    diversities, figures = measured.diversities, measured.figures
    counts = {name: diversity.vocabulary.counts for name, diversity in diversities.items()}
    heads = {name: int(row["head_90"]) for name, row in PUBLISHED.items() if "head_90" in row}
    evs = {
        f"EVS-{order}": {**_column(figures, f"evs_{order}"), **_column(PUBLISHED, f"evs_{order}")}
        for order in (2, 3, 4)
    }
    distinct = {**_column(figures, "distinct_within_row"), **_column(PUBLISHED, "distinct_within_row")}
    novelty = {name: diversity.novelty.histogram for name, diversity in diversities.items()}
    plots = [
        vocabulary_plot(counts, heads),
        share_plot(
            "evs",
            "Contexts that leave a choice (EVS)",
            "Share of the runs of one, two and three words after which more than one word follows in the data.",
            evs,
            len(diversities),
        ),
        share_plot(
            "duplicates",
            "Different captions of a row",
            "Captions of a row without their exact repetitions, as a share of all captions of the row; mean over rows.",
            {"share of a row's captions": distinct},
            len(diversities),
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
    redundancy = {name: diversity.redundancy for name, diversity in diversities.items() if diversity.redundancy}
    plots += [
        histogram_plot(*texts, {name: each.histogram(kind) for name, each in redundancy.items()})
        for kind, texts in REDUNDANCY_PLOTS.items()
        if redundancy
    ]
    plots += [references_plot(measured.curves)] if measured.curves else []
    return plots + ([variance_plot(measured.points)] if measured.points else [])


def _column(rows: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, float]:
    """One figure of every data set that has it; published ones are marked as such."""
    mark = ", published" if rows is PUBLISHED else ""
    return {f"{name}{mark}": float(row[key]) for name, row in rows.items() if key in row}


def comparison_section(
    name: str,
    title: str,
    columns: Sequence[Column],
    measured: Mapping[str, Mapping[str, float]],
    published: Mapping[str, Mapping[str, float]],
) -> str:
    """Return a section with a comparison table, the user's data sets first, and the meaning of its columns."""
    rows = [_row(label, figures, columns, i) for i, (label, figures) in enumerate(measured.items())]
    caption = "Measured data sets first, then published ones. A dash: not published." if published else "Measured."
    rows += [_row(f"{label}, published", figures, columns, None) for label, figures in published.items()]
    kinds = ["measured"] * len(measured) + ["published"] * len(published)
    table = Table(caption, ["Data set", *(column.heading for column in columns)], rows, row_kinds=kinds)
    meanings = "".join(
        f"<dt>{html.escape(column.heading)}</dt><dd>{html.escape(column.meaning)}</dd>" for column in columns
    )
    return f"""<h2 id="{name}">{html.escape(title)}</h2>
{page_table(title, table, n_left=0)}
<details><summary>What the columns mean</summary><dl>{meanings}</dl></details>
"""


def _row(label: str, figures: Mapping[str, float], columns: Sequence[Column], series: int | None) -> list[Cell]:
    swatch = "" if series is None else f'<span class="swatch" style="background: var(--series-{series % 6})"></span>'
    cells = [Cell(as_report_number(figures.get(column.key), column.form)) for column in columns]
    return [Cell("", html=f"{swatch}{html.escape(label)}"), *cells]
