"""The diversity report as one HTML page without any request to the network."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from manycaps.report.diversity_plots import Plot


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

STYLE = """
:root { color-scheme: light dark; --font: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  --paper: #fcfcfa; --panel: #ffffff; --ink: #1c1d20; --soft: #55585f; --line: #dcdcd6; --grid: #e9e9e4;
  --published: #84878f; --series-0: #1f5fa8; --series-1: #b4480c; --series-2: #157347; --series-3: #8a3fa0;
  --series-4: #a3264c; --series-5: #5f6400; }
@media (prefers-color-scheme: dark) { :root { --paper: #16171a; --panel: #1e2024; --ink: #ececea; --soft: #b2b5bb;
  --line: #3a3d43; --grid: #2e3136; --published: #8d919a; --series-0: #7fb5f0; --series-1: #f2a66a; --series-2: #6fcf97;
  --series-3: #d0a2e2; --series-4: #f290aa; --series-5: #ccd268; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 var(--font); }
main { max-width: 74rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .6rem; }
p, li, dd { max-width: 46rem; }
.soft, figcaption, dl { color: var(--soft); }
figure, .table { margin: 0; background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  overflow-x: auto; }
figure { padding: 1rem; }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; }
figcaption { font-size: .9rem; margin-top: .75rem; max-width: 46rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; padding: .7rem .55rem .2rem; color: var(--soft); font-size: .9rem; }
th, td { padding: .4rem .55rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--soft); font-weight: 600; vertical-align: bottom; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--panel); }
tbody tr.published th, tbody tr.published td { color: var(--soft); font-weight: 400; }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .5em; }
dl { font-size: .9rem; display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 1rem 0 0; }
dt { font-weight: 600; color: var(--ink); } dd { margin: 0; }
details summary { cursor: pointer; margin-top: .75rem; }
a { color: var(--series-0); }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; }
  main { padding: 1.25rem .9rem 3rem; } }
"""


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
    names = html.escape(", ".join(measured))
    sources = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(how)}</dd>" for name, how in measured.items())
    figures = "".join(
        f'<h2 id="{plot.name}">{html.escape(plot.title)}</h2><figure>{plot.svg}'
        f"<figcaption>{html.escape(plot.caption)}</figcaption></figure>"
        for plot in plots
    )
    notes = "".join(f"<li>{html.escape(remark)}</li>" for remark in remarks)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Caption diversity: {names}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Caption diversity</h1>
<p class="soft">{names}, beside the data sets that Chan et al. (2022) measured in “What’s in a Caption?”.</p>
{"".join(tables)}
{figures}
<h2 id="reading">How to read this page</h2>
<ul>
<li>Types, head, between-row uniqueness, EVS and ED depend on the size of a data set: compare data sets of about the
same number of captions. The published figures are of whole data sets.</li>
<li>Published figures come from the Stanford PTB tokenizer and, for parts of speech, from a spaCy pipeline.</li>
{notes}
</ul>
<h2 id="sources">What was measured</h2>
<dl>{sources}</dl>
</main>
</body>
</html>
"""


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


def as_number(value: float | None, form: str) -> str:
    """Format a figure; a dash where there is none.

    >>> as_number(0.1234, ".1%"), as_number(None, ",d"), as_number(float("nan"), ".2f")
    ('12.3%', '–', 'not defined')
    """
    if value is None:
        return "–"
    return "not defined" if math.isnan(value) else format(value, form)
