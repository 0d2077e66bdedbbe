"""The page of `manycaps decoding`: the answer, and curves over the temperature with people as a line."""

import html
from collections.abc import Sequence

import matplotlib

from manycaps.files.result_tables import Cell, Table, page_table
from manycaps.kit.parity_tails import TAIL
from manycaps.report.inline_svg import MARKS, MUTED, SERIES, Plot, as_plot, line_of, new_figure
from manycaps.report.page_frame import as_document, as_plot_section
from manycaps.sampling.decoding_setting import Setting

from .nearest import SettingsAgainstPeople
from .text import decoding_sentences, table

# Numbers over the temperature, by title: human_parity's, and plain metrics.
PANELS = {
    "unsupported": "unsupported_share",
    "generic": "generic_share",
    "near-duplicates": "near_duplicate_share",
    "energy distance": "energy_distance",
    "METEOR": "meteor",
    "CIDEr-D": "cider_d",
}
PLAIN = ("meteor", "cider_d")


def decoding_page(compared: SettingsAgainstPeople) -> str:
    """Return the whole page."""
    names = ", ".join(compared.settings)
    how = f'<h2 id="signature">Signature</h2><p><code>{html.escape(compared.signature)}</code></p>'
    return as_document(
        "Decoding like people", names, decoding_sentences(compared)[-1], decoding_sections(compared) + how
    )


def decoding_sections(compared: SettingsAgainstPeople) -> str:
    """Return sentences, table and curves as HTML."""
    sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in decoding_sentences(compared))
    header, *lines = table(compared)
    settings = Table("", header, [list(map(Cell, line)) for line in lines])
    return (
        f'<h2 id="answer">Answer</h2><ul class="summary">{sentences}</ul>'
        f"{page_table('Settings', settings)}"
        f"{as_plot_section(curves(compared))}"
    )


def families(compared: SettingsAgainstPeople) -> dict[str, list[tuple[float, str]]]:
    """Return the settings that differ in the temperature alone: temperatures and names, by what they share.

    Where a file does not say how it was made, its settings are in the order given, at 1, 2 and so on.
    """
    members_of: dict[str, list[tuple[float, str]]] = {}
    for number, (name, setting) in enumerate(compared.settings.items(), start=1):
        if setting is None:
            members_of.setdefault("in the order given", []).append((float(number), name))
        else:
            members_of.setdefault(_family(setting), []).append((setting.temperature, name))
    return {label: sorted(members) for label, members in members_of.items()}


def _family(setting: Setting) -> str:
    if not setting.is_sampled:
        return setting.name
    return setting.name.partition("-")[2] or "sampling"


def curves(compared: SettingsAgainstPeople) -> Plot:
    """Draw every panel: a curve for each family, searches and people as lines."""
    members = families(compared)
    with new_figure(6, 2, 3) as (figure, grid):
        for (title, key), axes in zip(PANELS.items(), grid.flat, strict=True):
            for k, (label, family) in enumerate(members.items()):
                _draw_family(axes, key, compared, family, k, label)
            people = compared.plain["people"][key] if key in PLAIN else 0.0 if key == "energy_distance" else TAIL
            axes.axhline(people, color=MUTED, lw=1.4, label="people")
            axes.set(title=title, xlabel="temperature")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return as_plot(
            "curves",
            "Over the temperature",
            "Shares of captions and pairs in the tails of people's distances, energy distance with 95% intervals over "
            "rows, and two plain metrics. METEOR and CIDEr-D of people score each human caption against the "
            "others of its row, one reference fewer than the samples have.",
            f"The most human-like setting is {compared.nearest.best}",
            figure,
        )


def _draw_family(
    axes: matplotlib.axes.Axes,
    key: str,
    compared: SettingsAgainstPeople,
    members: Sequence[tuple[float, str]],
    k: int,
    label: str,
) -> None:
    """Draw a number of a family over the temperature, with its interval; of a search as a line."""
    results = [(compared.plain if key in PLAIN else compared.nearest.results)[name] for _, name in members]
    values = [float(result[key]) for result in results]
    setting = compared.settings[members[0][1]]
    if setting is not None and not setting.is_sampled:
        axes.axhline(values[0], label=label, **line_of(k))
        return
    places = [position for position, _ in members]
    axes.plot(places, values, marker=MARKS[k % 6], ms=5, label=label, **line_of(k))
    if key not in PLAIN:
        low, high = ([result[f"{key}_ci_{end}"] for result in results] for end in ("low", "high"))
        axes.fill_between(places, low, high, color=SERIES[k % 6], alpha=0.15, lw=0)
