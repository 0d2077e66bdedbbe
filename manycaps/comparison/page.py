"""The comparison of systems as one HTML page without any request to the network."""

import functools
import html
import importlib.util
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib.ticker
import numpy as np
from tqdm import tqdm

from manycaps.comparison.metric_words import VALUES
from manycaps.comparison.parity import ComparedParity
from manycaps.comparison.significance import ComparedMetric, Comparison
from manycaps.comparison.system_lines import as_percent, as_rows_to_detect, has_meaning
from manycaps.comparison.system_parity import FAULTS, ROWS
from manycaps.comparison.system_tables import CaptionExample
from manycaps.comparison.words import Words
from manycaps.files.result_tables import Cell, Table, as_digits, page_table
from manycaps.kit.parity_gaps import LEVEL
from manycaps.kit.parity_words import format_p_value
from manycaps.report.inline_svg import INK, MUTED, SERIES, Plot, as_plot, line_of, mark_of, new_figure
from manycaps.report.page_frame import as_document, as_figure, as_picture, as_plot_section, caption_cell, id_cell

# Rows of a table of differing rows, at most: as many with each sign, of all metrics in turn.
MOST_ROWS = 24


def comparison_page(comparison: Comparison, words: Words) -> str:
    """Return the whole page of a comparison."""
    n_rows = f"{comparison.n_rows:,} {'rows' if comparison.n_rows > 1 else 'row'}"
    names = ", ".join(comparison.systems)
    several = len(comparison.systems) > 1
    lead = f"{names} on the same {n_rows}; the first one is the baseline." if several else f"{names} on {n_rows}."
    sections: list[Callable[[], str]] = [
        functools.partial(_answer, comparison, words),
        functools.partial(_table_section, "systems", "Means", words),
        *(functools.partial(_metric_section, key, metric) for key, metric in comparison.metrics.items()),
        lambda: "\n".join(map(as_plot_section, _further_plots(comparison))),
        *(functools.partial(_rows_section, comparison, name) for name in comparison.systems[1:]),
        functools.partial(_table_section, "pairs", "All pairs of systems", words),
        functools.partial(_table_section, "people", "Systems against people", words),
        functools.partial(_table_section, "exchangeable", "Systems as distributions", words),
        functools.partial(_table_section, "correlations", "Do the metrics agree?", words),
    ]
    answer, *parts = [section() for section in tqdm(sections, desc="page", unit="section", delay=1)]
    metrics = "\n".join(part for part in parts if part)
    if comparison.human_parity is not None and metrics:
        metrics = f'<details id="metrics"><summary>All metrics, row by row</summary>{metrics}</details>'
    body = "\n".join([answer, metrics, _methods_section(comparison, words.methods)])
    title = "Comparison of captioning systems" if several else "Report on a captioning system"
    return as_document(title, names, lead, body, "comparison.css", "comparison.js")


def _metric_section(key: str, metric: ComparedMetric) -> str:
    return f'<h2 id="{key}">{html.escape(metric.title)}</h2>{"".join(map(as_figure, _plots_of(key, metric)))}'


def comparison_figures(comparison: Comparison, words: Words) -> list[Plot]:
    """Return all plots of a comparison."""
    metric_plots = [plot for key, metric in comparison.metrics.items() for plot in _plots_of(key, metric)]
    answer_plots = parity_plots(comparison, words)
    return [*answer_plots, *metric_plots, *_further_plots(comparison)]


def _plots_of(key: str, metric: ComparedMetric) -> list[Plot]:
    return [metric_plot(key, metric), *([difference_plot(key, metric)] if len(metric.systems) > 1 else [])]


def _further_plots(comparison: Comparison) -> list[Plot]:
    modules = dict.fromkeys(system.module for system in comparison.against_people)
    plots = [*(people_plot(comparison, module) for module in modules), diversity_plot(comparison)]
    return [plot for plot in plots if plot is not None]


def _answer(comparison: Comparison, words: Words) -> str:
    """The systems beside people, or where these are not known the sentences of the metrics."""
    if comparison.human_parity is None:
        return f'<h2 id="summary">Summary</h2><ul class="summary">{_items(words.summary)}</ul>'
    tables = _table_section("answer", "In numbers", words) + _table_section(
        "homogeneity", "Do systems say the same?", words
    )
    after = "".join(f'<p class="soft">{html.escape(text)}</p>' for text in words.after)
    found = "".join(unsupported_section(comparison, name) for name in words.systems)
    return parity_section(comparison, words) + after + tables + found + examples_section(comparison, words)


def _items(sentences: Iterable[str]) -> str:
    return "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)


def _table_section(name: str, title: str, words: Words) -> str:
    """A table under its title; empty without rows."""
    table = words.tables[name]
    if not table.rows:
        return ""
    caption = html.escape(table.caption.replace("marked:", "star:"))
    return f"""<h2 id="{name}">{html.escape(title)}</h2>
<p class="soft">{caption}</p>
{page_table(title, table._replace(caption=""), name, sorts=True)}"""


def differing_rows(comparison: Comparison, name: str) -> list[int]:
    """Return the rows in which a system and the baseline differ most: of each metric in turn the next of each sign."""
    baseline, orders = comparison.systems[0], []
    for compared in comparison.metrics.values():
        differences = np.subtract(compared.per_row[name], compared.per_row[baseline])
        order = np.argsort(differences, kind="stable").tolist()
        orders.append([row for row in order if differences[row] < 0])
        orders.append([row for row in order[::-1] if differences[row] > 0])
    in_turn = (row for ranked in itertools.zip_longest(*orders) for row in ranked if row is not None)
    return list(dict.fromkeys(in_turn))[:MOST_ROWS]


def _rows_section(comparison: Comparison, name: str) -> str:
    """The rows in which a system and the baseline differ most, with their captions where they are known."""
    baseline, chosen = comparison.systems[0], differing_rows(comparison, name)
    if not chosen:
        return ""
    first = comparison.shown.rows[0]
    has_images = first.image is not None and importlib.util.find_spec("PIL") is not None
    header = ["row", *(["image"] if has_images else []), *(["people"] if first.references else [])]
    header += [baseline, name] if first.captions else []
    n_left = len(header)
    header += [compared.title for compared in comparison.metrics.values()]
    table = Table("", header, [_differing_row(comparison, name, row, has_images) for row in chosen])
    title = f"Rows in which {name} and {baseline} differ most"
    anchor = f"rows-of-{comparison.systems.index(name)}"
    return f"""<h2 id="{anchor}">{html.escape(title)}</h2>
<p class="soft">Numbers are {html.escape(name)} minus {html.escape(baseline)}: arrows up where they are
larger. Scores of captions are green where {html.escape(name)} is better, orange where it is worse. Metrics of sets
are green where the row's own test finds only {html.escape(baseline)} unlike people (p at most 0.05), orange where only
{html.escape(name)} is. The rows that differ most by each metric come in turn, of either sign. A heading sorts the
table.</p>
{page_table(title, table, anchor, "rows", n_left=n_left, sorts=True)}"""


def _differing_row(comparison: Comparison, name: str, row: int, has_images: bool) -> list[Cell]:
    compared_row, baseline = comparison.shown.rows[row], comparison.systems[0]
    cells = [id_cell(compared_row.id)]
    if has_images:
        cells.append(Cell("", html=as_picture(compared_row.image, compared_row.id)))
    if compared_row.references:
        cells.append(caption_cell(compared_row.references))
    cells += [caption_cell(compared_row.captions[side]) for side in (baseline, name) if compared_row.captions]
    for key, compared in comparison.metrics.items():
        mine, other = (compared.per_row[side][row] for side in (name, baseline))
        difference = mine - other
        kind = "above" if difference > 0 else "below" if difference < 0 else "equal"
        gain = row_gain(comparison, key, name, baseline, row)
        kind += " nearer" if gain > 0 else " farther" if gain < 0 else ""
        sign = "+" if difference > 0 else ""
        content = f'<span class="{kind}">{sign}{as_digits(difference)}</span>'
        cells.append(Cell("", html=content, value=difference))
    return cells


def row_gain(comparison: Comparison, key: str, system: str, other: str, row: int) -> int:
    """Say which of two systems is nearer to people in a row: 1 for the first, -1 for the second, 0 for neither.

    By scores of captions the one that is better; by values of sets the one that the row's own test cannot distinguish
    from people, if it distinguishes the other: the nearer excess may come from wrong captions.
    """
    per_row, p_values = comparison.metrics[key].per_row, comparison.shown.p_values.get(key)
    if VALUES[key].is_per_candidate:
        mine, others = (VALUES[key].distance(per_row[name][row]) for name in (system, other))
        return int(mine < others) - int(mine > others)
    if p_values is None:
        return 0
    return int(p_values[other][row] <= LEVEL) - int(p_values[system][row] <= LEVEL)


def _methods_section(comparison: Comparison, paragraph: str) -> str:
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
<blockquote id="methods-paragraph">{html.escape(paragraph)}</blockquote>
{how}"""


# The answer: a line for each system and pair, the histograms, the map, and captions.

# Panels of histograms beside each other.
N_PANELS = 3

# Width and height of the map in inches: it fits a telephone without scrolling.
MAP_SIZE = (6.2, 5.4)

# Systems that have names on the map: more stand in a list beside it.
MOST_OUTLINES = 8

# References that are shown beside them: enough to see what people wrote.
MOST_REFERENCES = 3

# What is shown of each system, captions or pairs of them: identifier, title, the text of a link to it.
KINDS = (
    ("unlike", "Captions of {} most unlike people's", "captions most unlike people's"),
    ("alike", "Pairs of captions of {} most alike", "pairs most alike"),
)


def parity_section(comparison: Comparison, words: Words) -> str:
    """Return the section as HTML; sentences link to the captions behind them, where the rows have captions."""
    systems = "".join(
        f"<li>{_line(line, name)}{example_links(comparison.systems.index(name), name, words)}</li>"
        for name, line in words.systems.items()
    )
    heading = '<h2 id="pairs-beside-people">Compared with each other</h2>'
    pairs = f'{heading}<ul class="pairs">{_items(words.pairs)}</ul>' if words.pairs else ""
    paragraphs = "".join(f'<p class="soft">{html.escape(note)}</p>' for note in [words.legend, *words.notes])
    figures = "".join(map(as_figure, parity_plots(comparison, words)))
    return f"""<h2 id="summary">Compared with people</h2>{paragraphs}<ul class="answer summary">{systems}</ul>
{pairs}
{figures}"""


def parity_plots(comparison: Comparison, words: Words) -> list[Plot]:
    """Return the plots of the answer, if it is one by meaning."""
    parity = comparison.human_parity
    if parity is None or not has_meaning(parity):
        return []
    return [distance_plot(parity, list(words.systems)), *filter(None, [map_plot(parity)])]


def _line(line: str, name: str) -> str:
    """A system's line with its name in bold."""
    return f"<b>{html.escape(name)}</b>{html.escape(line.removeprefix(name))}"


def distance_plot(parity: ComparedParity, order: Sequence[str]) -> Plot:
    """Plot each system's captions in twentieths of people's distances, a panel each; the line is what people give."""
    n_rows, names = -(-len(parity.systems) // N_PANELS), list(parity.systems)
    descriptions = []
    with new_figure(0.7 + 1.2 * n_rows, n_rows, N_PANELS, grid="y", sharex=True, sharey=True, squeeze=False) as drawn:
        figure, panels = drawn
        for axes, name in zip(panels.flat, order, strict=False):
            shares = parity.systems[name]["distance_histogram"]
            axes.bar(range(len(shares)), shares, 0.8, color=SERIES[names.index(name) % 6])
            axes.axhline(1 / len(shares), color=INK, lw=1.2)
            axes.set_title(name, loc="left", fontsize=11)
            axes.set_xticks([0, len(shares) - 1], ["generic", "unlike\npeople's"])
            axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
            descriptions.append(f"{name}: {as_percent(shares[0])} generic, {as_percent(shares[-1])} unlike people's")
        for axes in panels.flat[len(names) :]:
            axes.remove()
        return as_plot(
            "histograms",
            "Captions among people's",
            "Captions by their distance from the references, in twentieths of people's own distances, from generic to "
            "unlike people's; the line marks the 5% that people give.",
            "; ".join(descriptions),
            figure,
        )


def map_plot(parity: ComparedParity) -> Plot | None:
    """Plot systems by their faults and by the rows that detect them; None where faults are not measured."""
    systems = parity.systems
    if any(math.isnan(system[FAULTS]) or math.isnan(system[ROWS]) for system in systems.values()):
        return None
    ends = {name: (interval_of(system, FAULTS), interval_of(system, ROWS)) for name, system in systems.items()}
    # People are never told from people: they stand where the axis ends, beyond every number of rows.
    finite = [each for _, rows in ends.values() for each in rows if math.isfinite(each) and each > 0]
    people = 10.0 ** math.ceil(math.log10(max(finite, default=10.0)) + 0.4)
    descriptions = []
    n_legend = -(-(len(systems) + 1) // 3)
    with new_figure(5, figsize=(MAP_SIZE[0], MAP_SIZE[1] + LEGEND_LINE * max(0, n_legend - 2))) as (figure, axes):
        axes.plot([0], [people], "*", color=INK, ms=13, label="people", linestyle="none", clip_on=False, zorder=3)
        for i, (name, system) in enumerate(systems.items()):
            (low, high), rows = ends[name]
            bottom, top = (min(each, people) if each > 0 else 1.0 for each in rows)
            center = system[FAULTS], min(system[ROWS], people)
            bars = {"color": SERIES[i % 6], "lw": 1.2, "alpha": 0.8 if len(systems) <= MOST_OUTLINES else 0.5}
            axes.plot([low, high], [center[1]] * 2, **bars)
            axes.plot([center[0]] * 2, [bottom, top], **bars)
            axes.plot(*([each] for each in center), ms=8, label=name, linestyle="none", **mark_of(i))
            descriptions.append(f"{name}: faults {as_percent(center[0])}, rows to detect {as_rows_to_detect(system)}")
        axes.set(xlabel="faults beyond people's (fewer are better)", ylabel="rows to detect (people: none suffice)")
        axes.set_yscale("log")
        lowest = min([*(each for each in finite), people])
        axes.set_ylim(10.0 ** math.floor(math.log10(lowest)), people * 1.3)
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(8, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
        axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda rows, _: row_tick(rows, people)))
        figure.legend(loc="outside lower center", ncols=3)
        return as_plot(
            "map",
            "Systems beside people",
            "Right: faults beyond people's rates. Up: rows after which a system is detected as no person in 80% of the "
            "cases. The star is people, whom no number of rows tells from people. Bars are 95% intervals.",
            "; ".join(descriptions),
            figure,
        )


def row_tick(rows: float, people: float) -> str:
    """Return the label of a number of rows; the top of the axis is people's.

    >>> row_tick(1000.0, 10_000.0), row_tick(10_000.0, 10_000.0)
    ('1,000', 'people')
    """
    return "people" if rows >= people else f"{rows:,.0f}"


def interval_of(result: Mapping[str, float], key: str) -> tuple[float, float]:
    """Return the ends of the interval of a number; itself where there is none."""
    low, high = (result.get(f"{key}_ci_{end}", math.nan) for end in ("low", "high"))
    return (result[key], result[key]) if math.isnan(low) or math.isnan(high) else (low, high)


def example_links(number: int, name: str, words: Words) -> str:
    """Return links from a system's sentence to its captions; empty where captions are not known."""
    links = [f'<a href="#{kind}-of-{number}">{text}</a>' for kind, _, text in KINDS if getattr(words, kind).get(name)]
    return f" ({', '.join(links)})" if links else ""


def unsupported_section(comparison: Comparison, name: str) -> str:
    """Return the table of a system's sentences that are farthest from the references; empty where texts have one."""
    listed = comparison.shown.unsupported.get(name, ())
    if not listed:
        return ""
    rows = comparison.shown.rows
    cells = [[id_cell(rows[each.row].id), caption_cell([each.text]), caption_cell([each.nearest])] for each in listed]
    anchor, title = f"unsupported-of-{comparison.systems.index(name)}", f"Sentences of {name} farthest from people's"
    header = ["row", "sentence", "nearest of the references"]
    table = page_table(title, Table("", header, cells), anchor, "rows examples", n_left=3)
    return f'<h2 id="{anchor}">{html.escape(title)}</h2>\n{table}'


def examples_section(comparison: Comparison, words: Words) -> str:
    """Return the tables of all systems; empty where captions are not known."""
    rows = comparison.shown.rows
    has_images = any(row.image is not None for row in rows) and importlib.util.find_spec("PIL") is not None
    return "\n".join(
        _examples(title.format(name), f"{kind}-of-{comparison.systems.index(name)}", examples, has_images)
        for name in words.systems
        for kind, title, _ in KINDS
        if (examples := getattr(words, kind)[name])
    )


def _examples(title: str, anchor: str, examples: Sequence[CaptionExample], has_images: bool) -> str:
    rows = [
        [
            id_cell(row.id, f"<br>{as_picture(row.image, row.id)}" if has_images else ""),
            caption_cell(captions),
            caption_cell((row.references or [])[:MOST_REFERENCES]),
        ]
        for row, captions in examples
    ]
    table = page_table(title, Table("", ["row", "captions", "people"], rows), anchor, "rows examples", n_left=3)
    return f'<h2 id="{anchor}">{html.escape(title)}</h2>\n{table}'


# Plots of the metrics.

# Points of a curve that are drawn at most: enough for the eye, for any number of rows.
MOST_POINTS = 300

# Height of a line of a legend, in units of a figure's height.
LEGEND_LINE = 0.22


def metric_plot(key: str, compared: ComparedMetric) -> Plot:
    """Plot the means of the systems, and differences to the first one, with their intervals."""
    names = list(compared.systems)
    pairs = [pair for pair in compared.pairs if pair.second == names[0]]
    with new_figure(1.5 + 0.36 * len(names), 1, 1 + bool(pairs), grid="x", squeeze=False) as (figure, panels):
        left, right = panels[0, 0], panels[0, -1]
        for i, mean in enumerate(compared.systems.values()):
            _draw_interval(left, i, i, mean["mean"], mean["ci_low"], mean["ci_high"])
        left.set(yticks=range(len(names)), yticklabels=names, xlabel=f"{VALUES[key].measures}\n({compared.direction})")
        left.set(title="mean over rows", ylim=(len(names) - 0.5, -0.5))
        caption = f"Means over rows and their 95% intervals: {compared.direction}."
        if pairs:
            for i, pair in enumerate(pairs):
                _draw_interval(right, i, i + 1, pair.test.difference, pair.test.ci_low, pair.test.ci_high)
            right.axvline(0, color=MUTED, lw=1)
            labels = [f"{pair.first}\n{format_p_value(pair.adjusted_p_value)}" for pair in pairs]
            right.set(yticks=range(len(pairs)), yticklabels=labels, xlabel="difference, same unit")
            right.set(title=f"difference to {names[0]}", ylim=(len(pairs) - 0.5, -0.5))
            caption += f" Right: differences to {names[0]}, row by row; p after Holm's method over all pairs."
        for axes in (left, right):
            axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(6))
        descriptions = [f"{name} {as_digits(mean['mean'])}" for name, mean in compared.systems.items()]
        return as_plot(f"means-{key}", compared.title, caption, ", ".join(descriptions), figure)


def _draw_interval(axes: Any, height: int, series: int, mean: float, low: float, high: float) -> None:
    if not math.isnan(low):
        axes.plot([low, high], [height, height], color=SERIES[series % 6], lw=2.5, solid_capstyle="butt")
    axes.plot([mean], [height], ms=8, **mark_of(series))


def difference_plot(key: str, compared: ComparedMetric) -> Plot:
    """Plot differences to the first system, row by row in falling order."""
    names = list(compared.systems)
    descriptions = []
    with new_figure(max(3.2, LEGEND_LINE * len(names))) as (figure, axes):
        for i, name in enumerate(names[1:], start=1):
            differences = np.sort(np.subtract(compared.per_row[name], compared.per_row[names[0]]))[::-1]
            places = np.unique(np.linspace(0, len(differences) - 1, MOST_POINTS).astype(int))
            shares = (places + 0.5) / len(differences)
            axes.plot(shares, differences[places], label=name, lw=2, **line_of(i))
            n_larger, n_smaller = np.count_nonzero(differences > 0), np.count_nonzero(differences < 0)
            descriptions.append(f"{name} is above {names[0]} in {n_larger:,} rows and below in {n_smaller:,}")
        axes.axhline(0, color=MUTED, lw=1)
        axes.set(xlabel="rows, by falling difference", ylabel=f"difference to {names[0]}", xlim=(0, 1))
        axes.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return as_plot(
            f"rows-{key}",
            f"{compared.title}, row by row",
            f"{compared.title} of every row minus {names[0]}'s, in falling order ({compared.direction}). Where a "
            "curve crosses the line says in which share of the rows a system is above.",
            "; ".join(descriptions),
            figure,
        )


def people_plot(comparison: Comparison, module: str) -> Plot | None:
    """Plot means over rows under random splits, and the observed ones; None where the module's test says too little."""
    tested = [system for system in comparison.against_people if system.module == module]
    tested = [system for system in tested if math.isfinite(system.z) and system.z != 0 and system.excess / system.z > 0]
    if not tested:
        return None
    with new_figure(0.6 + 1.1 * len(tested), len(tested), sharex=True, squeeze=False) as (figure, panels):
        for axes, system in zip(panels[:, 0], tested, strict=True):
            series = list(comparison.systems).index(system.system)
            center, width = system.statistic - system.excess, system.excess / system.z
            points = np.linspace(center - 4 * width, center + 4 * width, 121)
            density = np.exp(-0.5 * ((points - center) / width) ** 2)
            axes.fill_between(points, density, color=MUTED, alpha=0.35, lw=0)
            axes.plot(points, density, color=MUTED, lw=1)
            axes.axvline(system.statistic, lw=2.5, **line_of(series))
            axes.set_title(
                f"{system.system}: z {as_digits(system.z)}, {format_p_value(system.p_value)}", loc="left", fontsize=11
            )
            axes.grid(visible=False)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
        panels[-1, 0].set_xlabel(f"{tested[0].title}, mean over rows (lower is better)")
        descriptions = [
            f"{system.system} lies {as_digits(system.z)} standard deviations above chance" for system in tested
        ]
        return as_plot(
            f"people-{module}",
            f"{tested[0].title} against people",
            "Grey: the mean over rows when the captions of every row are split at random, as a normal curve with the "
            "mean and the standard deviation of all splits. Line: candidates against people.",
            "; ".join(descriptions),
            figure,
        )


def diversity_plot(comparison: Comparison) -> Plot | None:
    """Plot the captions' quality against how many are different; None without captions or a measure of quality."""
    key, rows = next((key for key in comparison.metrics if VALUES[key].best == "highest"), ""), comparison.shown.rows
    if not key or not rows[0].captions:
        return None
    quality = comparison.metrics[key]
    shares = {name: distinct_share([row.captions[name] for row in rows]) for name in comparison.systems}
    with new_figure(max(3.6, LEGEND_LINE * (len(shares) + 1))) as (figure, axes):
        for i, (name, share) in enumerate(shares.items()):
            mean = quality.systems[name]
            if not math.isnan(mean["ci_low"]):
                axes.plot([share, share], [mean["ci_low"], mean["ci_high"]], color=SERIES[i % 6], lw=1.5)
            axes.plot([share], [mean["mean"]], ms=9, label=name, linestyle="none", **mark_of(i))
        references = [row.references for row in rows if row.references]
        descriptions = [
            f"{name}: {share:.0%} different, {as_digits(quality.systems[name]['mean'])}"
            for name, share in shares.items()
        ]
        if len(references) == len(rows):
            share = distinct_share(references)
            axes.axvline(share, color=MUTED, lw=1.5, linestyle="--", label="people")
            descriptions.append(f"people: {share:.0%} different")
        axes.set(xlabel="different captions of a row, as a share of its captions (higher: more varied)", xlim=(0, 1.04))
        axes.set_ylabel(f"{VALUES[key].measures}\n({quality.direction})")
        axes.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return as_plot(
            "diversity",
            "Correct and unique captions",
            "Quality against diversity, after Chan et al. (2022, appendix B.2): a system that repeats one good caption "
            "lies on the left, however high. Vertical lines: 95% intervals of the mean.",
            "; ".join(descriptions),
            figure,
        )


def distinct_share(rows: Any) -> float:
    """Return the share of a row's captions that differ, mean over rows; letter case and blanks around do not count.

    >>> distinct_share([["a dog", "A dog "], ["a cat"]])
    0.75
    """
    return math.fsum(len({caption.strip().lower() for caption in row}) / len(row) for row in rows) / len(rows)
