"""The page of `manycaps decoding`: the answer, and curves over the temperature with people as a line."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib

from manycaps.decoding.text import decoding_sentences, table
from manycaps.kit.sets_tails import TAIL
from manycaps.report.comparison_plots import MARKS
from manycaps.report.inline_svg import LINE_STYLES, MUTED, SERIES, SETTINGS, Plot, as_plot, new_figure
from manycaps.report.page_frame import as_document, as_figure
from manycaps.sampling.decoding_setting import Setting

if TYPE_CHECKING:
    from manycaps.decoding.run import ComparedSettings


class Panel(NamedTuple):
    """A number over the temperature."""

    title: str
    # From all settings and a name to the number; NaN where there is none.
    value: Callable[[ComparedSettings, str], float]
    # Key of an interval in the results of human_parity; None: none is drawn.
    key: str | None


def _of_result(key: str) -> Callable[[ComparedSettings, str], float]:
    return lambda compared, name: float(compared.nearest.results[name][key])


def _of_plain(key: str) -> Callable[[ComparedSettings, str], float]:
    return lambda compared, name: compared.plain[name][key]


PANELS = (
    Panel("unlike people", _of_result("unlike_people_share"), "unlike_people_share"),
    Panel("ordinary", _of_result("ordinary_share"), "ordinary_share"),
    Panel("near-duplicates", _of_result("near_duplicate_share"), "near_duplicate_share"),
    Panel("energy distance", _of_result("energy_distance"), "energy_distance"),
    Panel("METEOR", _of_plain("meteor"), None),
    Panel("CIDEr-D", _of_plain("cider_d"), None),
)


def decoding_page(compared: ComparedSettings) -> str:
    """Return the whole page."""
    names = ", ".join(compared.settings)
    how = f'<h2 id="signature">Signature</h2><p><code>{html.escape(compared.signature)}</code></p>'
    return as_document(
        "Decoding like people", names, decoding_sentences(compared)[-1], decoding_sections(compared) + how
    )


def decoding_sections(compared: ComparedSettings) -> str:
    """Return sentences, table and curves as HTML."""
    sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in decoding_sentences(compared))
    header, *lines = table(compared)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(_as_line(*line) for line in lines)
    plot = curves(compared)
    return (
        f'<h2 id="answer">Answer</h2><ul class="summary">{sentences}</ul>'
        '<div class="table" role="region" aria-label="Settings" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f'<h2 id="curves">{html.escape(plot.title)}</h2>{as_figure(plot)}'
    )


def _as_line(name: str, *cells: str) -> str:
    """Return a line of the table, whose first cell names it."""
    others = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{html.escape(name)}</th>{others}</tr>'


def families(compared: ComparedSettings) -> dict[str, list[tuple[float, str]]]:
    """Return the settings that differ in the temperature alone: temperatures and names, by what they share.

    Where a file does not say how it was made, its settings are in the order given, at 1, 2 and so on.
    """
    members_of: dict[str, list[tuple[float, str]]] = {}
    for number, (name, setting) in enumerate(compared.settings.items(), start=1):
        if setting is None:
            members_of.setdefault("in the order given", []).append((float(number), name))
        else:
            members_of.setdefault(_shared(setting), []).append((setting.temperature, name))
    return {label: sorted(members) for label, members in members_of.items()}


def _shared(setting: Setting) -> str:
    if not setting.is_sampled:
        return setting.name
    return setting.name.partition("-")[2] or "sampling"


def curves(compared: ComparedSettings) -> Plot:
    """Draw every panel: a curve for each family, searches and people as lines."""
    members = families(compared)
    with matplotlib.rc_context(SETTINGS):
        figure = new_figure(6)
        grid = figure.subplots(2, 3)
        for panel, axes in zip(PANELS, grid.flat, strict=True):
            for k, (label, family) in enumerate(members.items()):
                _draw_family(axes, panel, compared, family, k, label)
            axes.axhline(_people(compared, panel), color=MUTED, lw=1.4, label="people")
            axes.set(title=panel.title, xlabel="temperature")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return as_plot(
            "curves",
            "Over the temperature",
            "Shares of captions and pairs in the tails of people's distances, energy distance with 95% intervals over "
            "rows, and two plain metrics. METEOR and CIDEr-D of people are those of each human caption against the "
            "others of its row, one reference fewer than the samples have.",
            f"Nearest to people is {compared.nearest.best}",
            figure,
        )


def _draw_family(
    axes: matplotlib.axes.Axes,
    panel: Panel,
    compared: ComparedSettings,
    members: Sequence[tuple[float, str]],
    k: int,
    label: str,
) -> None:
    values = [panel.value(compared, name) for _, name in members]
    style: dict[str, Any] = {"color": SERIES[k % 6], "ls": LINE_STYLES[k % 6], "label": label}
    setting = compared.settings[members[0][1]]
    if setting is not None and not setting.is_sampled:
        axes.axhline(values[0], **style)
        return
    places = [position for position, _ in members]
    axes.plot(places, values, marker=MARKS[k % 6], ms=5, **style)
    if panel.key is not None:
        results = [compared.nearest.results[name] for _, name in members]
        low, high = ([result[f"{panel.key}_ci_{end}"] for result in results] for end in ("low", "high"))
        axes.fill_between(places, low, high, color=SERIES[k % 6], alpha=0.15, lw=0)


def _people(compared: ComparedSettings, panel: Panel) -> float:
    if panel.key is None:
        return panel.value(compared, "people")
    return 0.0 if panel.key == "energy_distance" else TAIL
