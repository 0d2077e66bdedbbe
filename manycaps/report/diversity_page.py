"""The diversity report as one HTML page without any request to the network."""

import html
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from manycaps.report.inline_svg import Plot
from manycaps.report.page_frame import as_document, as_figure, as_number


class Column(NamedTuple):
    """A column of a comparison table."""

    # Key of the result.
    key: str
    heading: str
    # Format of its numbers, as for `format`.
    form: str
    # What it means, for the list under the table.
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


def as_page(tables: Sequence[str], plots: Sequence[Plot], measured: Mapping[str, str], remarks: Sequence[str]) -> str:
    """Put a page together.

    Args:
        tables: sections with comparison tables, as from `as_table`.
        plots: the plots in their order.
        measured: name of each data set to how it was read.
        remarks: sentences on what was left out.

    Returns:
        A whole HTML document.
    """
    names = ", ".join(measured)
    sources = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(how)}</dd>" for name, how in measured.items())
    figures = "".join(f'<h2 id="{plot.name}">{html.escape(plot.title)}</h2>{as_figure(plot)}' for plot in plots)
    notes = "".join(f"<li>{html.escape(remark)}</li>" for remark in remarks)
    lead = f"{names}, beside the data sets that Chan et al. (2022) measured in “What’s in a Caption?”."
    body = f"""{"".join(tables)}
{figures}
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


def as_table(
    name: str,
    title: str,
    columns: Sequence[Column],
    measured: Mapping[str, Mapping[str, float]],
    published: Mapping[str, Mapping[str, float]],
) -> str:
    """Return a section with a comparison table, the user's data sets first, and the meaning of its columns."""
    head = "".join(f'<th scope="col">{html.escape(column.heading)}</th>' for column in columns)
    rows = [_as_row(label, figures, columns, i) for i, (label, figures) in enumerate(measured.items())]
    caption = "Measured data sets first, then published ones. A dash: not published." if published else "Measured."
    rows += [_as_row(f"{label}, published", figures, columns, None) for label, figures in published.items()]
    meanings = "".join(
        f"<dt>{html.escape(column.heading)}</dt><dd>{html.escape(column.meaning)}</dd>" for column in columns
    )
    return f"""<h2 id="{name}">{html.escape(title)}</h2>
<div class="table" role="region" aria-label="{html.escape(title)}" tabindex="0"><table>
<caption>{caption}</caption>
<thead><tr><th scope="col">Data set</th>{head}</tr></thead>
<tbody>{"".join(rows)}</tbody></table></div>
<details><summary>What the columns mean</summary><dl>{meanings}</dl></details>
"""


def _as_row(label: str, figures: Mapping[str, float], columns: Sequence[Column], series: int | None) -> str:
    swatch = "" if series is None else f'<span class="swatch" style="background: var(--series-{series % 6})"></span>'
    cells = "".join(f"<td>{as_number(figures.get(column.key), column.form)}</td>" for column in columns)
    kind = "published" if series is None else "measured"
    return f'<tr class="{kind}"><th scope="row">{swatch}{html.escape(label)}</th>{cells}</tr>'
