"""The comparison of systems as one HTML page without any request to the network."""

from __future__ import annotations

import html
import importlib.util
import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from manycaps.catalog import SET_MODULES
from manycaps.comparison.comparison_tables import (
    all_tables,
    answer_table,
    exchange_table,
    pair_table,
    people_table,
    shared_table,
    system_table,
)
from manycaps.comparison.comparison_text import comparison_methods, notes, shared_rows, summaries
from manycaps.report.comparison_plots import difference_plot, diversity_plot, metric_plot, people_plot
from manycaps.report.page_frame import as_document, as_figure, as_plot_section, caption_cell, id_cell, picture_of
from manycaps.report.parity_section import examples_section, parity_plots, parity_section
from manycaps.tables import Cell, Table, as_digits, page_table, write_table

if TYPE_CHECKING:
    from manycaps.comparison.compared_systems import ComparedMetric, SystemComparison
    from manycaps.report.inline_svg import Plot

# Rows of a table of differing rows, at most: as many with each sign, of all metrics in turn.
MOST_ROWS = 24


def comparison_page(comparison: SystemComparison) -> str:
    """Return the whole page of a comparison."""
    n_rows = f"{len(comparison.rows):,} {'rows' if len(comparison.rows) > 1 else 'row'}"
    names = ", ".join(comparison.systems)
    several = len(comparison.systems) > 1
    lead = f"{names} on the same {n_rows}; the first one is the baseline." if several else f"{names} on {n_rows}."
    parts = [
        _table_section("systems", "Means", system_table(comparison)),
        *(
            f'<h2 id="{metric.metric.key}">{html.escape(metric.metric.title)}</h2>'
            f"{''.join(map(as_figure, _plots_of(metric)))}"
            for metric in comparison.metrics
        ),
        *map(as_plot_section, _further_plots(comparison)),
        *(_rows_section(comparison, name) for name in comparison.systems[1:]),
        _table_section("pairs", "All pairs of systems", pair_table(comparison)),
        _table_section("people", "Systems against people", people_table(comparison)),
        _table_section("exchangeable", "Systems as distributions", exchange_table(comparison)),
        _table_section("correlations", "Do the metrics agree?", correlation_table(comparison)),
    ]
    metrics = "\n".join(part for part in parts if part)
    if comparison.parity is not None and metrics:
        metrics = f'<details id="metrics"><summary>All metrics, row by row</summary>{metrics}</details>'
    body = "\n".join([_answer(comparison), metrics, _methods_section(comparison)])
    title = "Comparison of captioning systems" if several else "Report on a captioning system"
    return as_document(title, names, lead, body, "comparison.css", "comparison.js")


def comparison_figures(comparison: SystemComparison) -> list[Plot]:
    """Return all plots of a comparison."""
    of_metrics = [plot for metric in comparison.metrics for plot in _plots_of(metric)]
    of_parity = [] if comparison.parity is None else parity_plots(comparison.parity)
    return [*of_parity, *of_metrics, *_further_plots(comparison)]


def _plots_of(metric: ComparedMetric) -> list[Plot]:
    return [metric_plot(metric), *([difference_plot(metric)] if len(metric.means) > 1 else [])]


def _further_plots(comparison: SystemComparison) -> list[Plot]:
    plots = [*(people_plot(comparison, module) for module in SET_MODULES), diversity_plot(comparison)]
    return [plot for plot in plots if plot is not None]


def _answer(comparison: SystemComparison) -> str:
    """The systems beside people, or where these are not known the sentences of the metrics."""
    if comparison.parity is not None:
        table = _table_section("answer", "In numbers", answer_table(comparison))
        table += _table_section("homogeneity", "Do systems say the same?", shared_table(comparison))
        rows = comparison.rows
        section = parity_section(comparison.parity, notes(comparison), rows)
        after = "".join(f'<p class="soft">{html.escape(text)}</p>' for text in shared_rows(comparison))
        return section + after + table + examples_section(comparison.parity, rows)
    sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in summaries(comparison))
    return f'<h2 id="summary">Summary</h2><ul class="summary">{sentences}</ul>'


def comparison_tables(comparison: SystemComparison) -> str:
    """Return the sentences and tables of a comparison as HTML for a notebook, without a style of its own."""
    sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in summaries(comparison))
    return f"<ul>{sentences}</ul>{''.join(write_table(table, 'html') for table in all_tables(comparison))}"


def _table_section(name: str, title: str, table: Table) -> str:
    """A table under its title; empty without rows."""
    if not table.rows:
        return ""
    caption = html.escape(table.caption.replace("marked:", "star:"))
    return f"""<h2 id="{name}">{html.escape(title)}</h2>
<p class="soft">{caption}</p>
{page_table(title, table._replace(caption=""), name, sorts=True)}"""


def correlation_table(comparison: SystemComparison) -> Table:
    """Return the rank correlations of the metrics."""
    titles = [compared.metric.title for compared in comparison.metrics]
    rows = [
        [Cell(title), *(Cell("not defined" if math.isnan(r) else f"{r:.2f}", value=float(r)) for r in row)]
        for title, row in zip(titles, comparison.correlations, strict=True)
    ]
    return Table(
        "Spearman's rank correlation of the values of all rows and systems. A metric that is better when lower has "
        "negative correlations with one that is better when higher, where both agree.",
        ["metric", *titles],
        rows if len(rows) > 1 else [],
    )


def differing_rows(comparison: SystemComparison, name: str) -> list[int]:
    """Return the rows in which a system and the baseline differ most: of each metric in turn the next of each sign."""
    baseline, orders = comparison.systems[0], []
    for compared in comparison.metrics:
        differences = compared.values[name] - compared.values[baseline]
        order = np.argsort(differences, kind="stable").tolist()
        orders.append([row for row in order if differences[row] < 0])
        orders.append([row for row in order[::-1] if differences[row] > 0])
    in_turn = (row for ranked in itertools.zip_longest(*orders) for row in ranked if row is not None)
    return list(dict.fromkeys(in_turn))[:MOST_ROWS]


def _rows_section(comparison: SystemComparison, name: str) -> str:
    """The rows in which a system and the baseline differ most, with their captions where they are known."""
    baseline, chosen = comparison.systems[0], differing_rows(comparison, name)
    if not chosen:
        return ""
    first = comparison.rows[0]
    has_images = first.image is not None and importlib.util.find_spec("PIL") is not None
    header = ["row", *(["image"] if has_images else []), *(["people"] if first.references else [])]
    header += [baseline, name] if first.captions else []
    n_left = len(header)
    header += [compared.metric.title for compared in comparison.metrics]
    table = Table("", header, [_differing_row(comparison, name, row, has_images) for row in chosen])
    title = f"Rows in which {name} and {baseline} differ most"
    anchor = f"rows-of-{comparison.systems.index(name)}"
    return f"""<h2 id="{anchor}">{html.escape(title)}</h2>
<p class="soft">Numbers are those of {html.escape(name)} minus those of {html.escape(baseline)}: arrows up where they
are larger. Scores of captions are green where {html.escape(name)} is better, orange where it is worse. Metrics of sets
are green where the row's own test finds only {html.escape(baseline)} unlike people (p at most 0.05), orange where only
{html.escape(name)} is. The rows that differ most by each metric come in turn, of either sign. A heading sorts the
table.</p>
{page_table(title, table, anchor, "rows", n_left=n_left, sorts=True)}"""


def _differing_row(comparison: SystemComparison, name: str, row: int, has_images: bool) -> list[Cell]:
    compared_row, baseline = comparison.rows[row], comparison.systems[0]
    cells = [id_cell(compared_row)]
    if has_images:
        cells.append(Cell("", html=picture_of(compared_row)))
    if compared_row.references:
        cells.append(caption_cell(compared_row.references))
    cells += [caption_cell(compared_row.captions[side]) for side in (baseline, name) if compared_row.captions]
    for compared in comparison.metrics:
        mine, other = (float(compared.values[side][row]) for side in (name, baseline))
        difference = mine - other
        kind = "above" if difference > 0 else "below" if difference < 0 else "equal"
        gain = compared.row_gain(name, baseline, row)
        kind += " nearer" if gain > 0 else " farther" if gain < 0 else ""
        sign = "+" if difference > 0 else ""
        content = f'<span class="{kind}">{sign}{as_digits(difference)}</span>'
        cells.append(Cell("", html=content, value=difference))
    return cells


def _methods_section(comparison: SystemComparison) -> str:
    makers: dict[str, list[str]] = {}
    for name, lines in comparison.signatures.items():
        for line in lines.values():
            makers.setdefault(line, []).append(name)
    signatures = "".join(
        f"<dt>{html.escape(', '.join(names))}</dt><dd><code>{html.escape(line)}</code></dd>"
        for line, names in makers.items()
    )
    how = f'<h2 id="signatures">Signatures</h2><dl>{signatures}</dl>' if signatures else ""
    return f"""<h2 id="methods">Methods</h2>
<p class="soft">To be pasted into a paper.</p>
<blockquote id="methods-paragraph">{html.escape(comparison_methods(comparison))}</blockquote>
{how}"""
