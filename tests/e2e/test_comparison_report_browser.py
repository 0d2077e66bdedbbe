"""The page of `manycaps compare` in a real browser, without network, wide and narrow, light and dark."""

import io

import numpy as np
import pytest

from manycaps.comparison import CompareOptions, compare
from manycaps.report.comparison_page import comparison_page
from tests.browser_pages import WIDTHS, assert_opens_alone, contrasts, open_page, screenshot
from tests.comparison_cases import comparison
from tests.documents import write_sample

pytestmark = pytest.mark.slow

NAMES = ("base", "a longer name", "third_one")


@pytest.fixture(scope="module")
def compared():
    """A comparison with captions, and with pictures where Pillow is installed."""
    found = comparison(n_rows=80, names=NAMES)
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    rows = []
    for i, row in enumerate(found.rows):
        file = io.BytesIO()
        image.fromarray(np.full((90, 240, 3), 3 * i, dtype=np.uint8)).save(file, format="PNG")
        captions = dict(row.captions) | {NAMES[1]: row.captions[NAMES[1]][:1] * 2}
        rows.append(row._replace(image=file.getvalue(), captions=captions))
    return found._replace(rows=rows)


@pytest.fixture(scope="module")
def page(compared, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "index.html"
    path.write_text(comparison_page(compared), encoding="utf-8")
    return path


def test_opens_without_network_and_without_errors(browser, page):
    assert_opens_alone(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_layout(browser, page, width):
    open_page(browser, page, width)
    # Only tables and figures scroll sideways, not the page.
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    identifiers = browser.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(identifiers) == len(set(identifiers))
    plots = browser.execute_script(
        """return [...document.querySelectorAll('svg[data-plot]')].map(svg => {
             const box = svg.getBoundingClientRect();
             return {name: svg.dataset.plot, width: box.width, ratio: box.height / box.width, label: svg.ariaLabel,
                     texts: svg.querySelectorAll('text').length};})"""
    )
    keys = [metric for key in ("trm_meteor_excess", "meteor") for metric in (f"means-{key}", f"rows-{key}")]
    assert [plot["name"] for plot in plots] == [*keys, "people-trm_meteor", "diversity"]
    for plot in plots:
        assert plot["width"] >= 700 - 1
        assert 0.15 < plot["ratio"] < 0.6
        assert plot["texts"] > 4
        assert len(plot["label"]) > 20


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshot(browser, page, width, scheme):
    """Roughly: paper in the margins, dark where asked for, every system's colour on the plot of means."""
    height = open_page(browser, page, width, scheme)
    pixels = screenshot(browser)
    assert pixels.shape == (height, width, 3)
    margin = pixels[:, :8].reshape(-1, 3)
    assert (margin == margin[0]).all()
    assert (margin[0].mean() > 240) == (scheme == "light")
    box = browser.execute_script(
        "const b = document.querySelector('svg[data-plot=means-meteor]').getBoundingClientRect();"
        "return [b.top, b.left, b.bottom, b.right].map(Math.round)"
    )
    plot = pixels[box[0] : box[2], box[1] : box[3]].reshape(-1, 3)
    for series in range(3):
        color = browser.execute_script(
            f"return getComputedStyle(document.documentElement).getPropertyValue('--series-{series}')"
        ).strip()
        rgb = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
        assert (abs(plot - rgb).sum(axis=1) < 12).sum() > 30, series


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_series_have_contrast(browser, page, scheme):
    """WCAG 2.2: 4.5 for text, 3 for graphics."""
    open_page(browser, page, 1200, scheme)
    for name, contrast in contrasts(browser, ["ink", "soft", *(f"series-{i}" for i in range(6))]).items():
        assert contrast >= (4.5 if name in ("ink", "soft") else 3), (name, contrast)


def column(browser, table, number):
    return browser.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map(row => {"
        "  const cell = row.cells[arguments[1]]; return [cell.dataset.value ?? null, cell.textContent]; })",
        table,
        number,
    )


def press(browser, table, number):
    browser.execute_script(
        "document.querySelectorAll(`#${arguments[0]} thead button`)[arguments[1]].click()", table, number
    )
    return browser.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} thead th`)].map(th => th.getAttribute('aria-sort'))",
        table,
    )


def test_sorting(browser, page, compared):
    open_page(browser, page, 1200)
    table, place = "table-rows-of-1", 5  # row, image, people, two systems, then the differences
    before = column(browser, table, place)
    assert press(browser, table, place) == [None] * place + ["descending", None]
    falling = [float(value) for value, _ in column(browser, table, place)]
    assert falling == sorted(falling, reverse=True)
    assert press(browser, table, place)[place] == "ascending"
    assert [float(value) for value, _ in column(browser, table, place)] == falling[::-1]
    assert sorted(before) == sorted(column(browser, table, place)), "no row is lost"
    # Names sort as text, with numbers in them as numbers.
    press(browser, table, 0)
    names = [int(text.removeprefix("row ")) for _, text in column(browser, table, 0)]
    assert names == sorted(names, reverse=True)


def test_numbers_are_those_of_the_json(browser, page, compared):
    open_page(browser, page, 1200)
    numbers = compared.to_dict()
    excess, score = numbers["metrics"].values()
    for place, metric in ((1, excess), (3, score)):
        shown = column(browser, "table-systems", place)
        assert [float(value) for value, _ in shown] == [metric["systems"][name]["mean"] for name in NAMES]
        for (value, text), name in zip(shown, NAMES, strict=True):
            assert text.startswith(f"{metric['systems'][name]['mean']:.3f}"), (value, text)
    pairs = [pair for metric in numbers["metrics"].values() for pair in metric["pairs"]]
    for place, of_pair in (
        (2, lambda pair: pair["test"]["difference"]),
        (4, lambda pair: pair["test"]["p_value"]),
        (5, lambda pair: pair["adjusted_p_value"]),
        (9, lambda pair: pair["test"]["rows_to_detect"]),
    ):
        assert [float(value) for value, _ in column(browser, "table-pairs", place)] == list(map(of_pair, pairs))
    rows = {name: i for i, name in enumerate(numbers["ids"])}
    names = [text for _, text in column(browser, "table-rows-of-2", 0)]
    for place, metric in ((5, excess), (6, score)):
        shown = [float(value) for value, _ in column(browser, "table-rows-of-2", place)]
        values = metric["per_row"]
        assert shown == [values[NAMES[2]][rows[name]] - values[NAMES[0]][rows[name]] for name in names]


def test_captions_and_pictures_are_of_their_rows(browser, page, compared):
    open_page(browser, page, 1200)
    rows = {row.id: row for row in compared.rows}
    shown = browser.execute_script(
        "return [...document.querySelectorAll('#table-rows-of-1 tbody tr')].map(row => [row.cells[0].textContent,"
        "  row.querySelector('img').naturalWidth, ...[...row.querySelectorAll('td.captions')].map(c => c.textContent)])"
    )
    assert len(shown) == 24
    for name, width, people, baseline, system in shown:
        assert width == 160
        assert people == "".join(rows[name].references)
        assert baseline == rows[name].captions["base"][0]
        # The same caption twice is written once.
        assert system == f"{rows[name].captions[NAMES[1]][0]} (2 times)"


def test_a_second_cue_beside_every_colour(browser, page):
    """Differences have an arrow and a sign, the best value a star."""
    open_page(browser, page, 1200)
    content = "return [...document.querySelectorAll(arguments[0])].map(e => getComputedStyle(e, arguments[1]).content)"
    assert all("▲" in text for text in browser.execute_script(content, ".above", "::before"))
    assert all("▼" in text for text in browser.execute_script(content, ".below", "::before"))
    assert all("★" in text for text in browser.execute_script(content, ".best", "::after"))
    signs = browser.execute_script("return [...document.querySelectorAll('.above')].map(e => e.textContent[0])")
    assert set(signs) == {"+"}
    assert len(browser.execute_script("return [...document.querySelectorAll('.best')]")) > 4


def test_prints_whole_tables(browser, page):
    open_page(browser, page, 1200)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.table')].map(e => getComputedStyle(e).overflowX)"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert set(shown) == {"visible"}


@pytest.mark.parametrize("width", WIDTHS)
def test_the_map_fits_the_page(browser, tmp_path, width):
    write_sample(tmp_path)
    systems = [str(tmp_path / f"{name}.jsonl") for name in ("diverse", "repeating")]
    options = CompareOptions(
        systems, [str(tmp_path / "references.jsonl")], ["trm_cider"], distance="meteor", n_resamples=99
    )
    compare(options).save(tmp_path / "report")
    open_page(browser, tmp_path / "report" / "index.html", width)
    shown, hidden = browser.execute_script(
        """const figure = document.querySelector('svg[data-plot=map]').closest('figure');
           return [figure.clientWidth, figure.scrollWidth - figure.clientWidth];"""
    )
    assert 300 < shown <= width
    assert hidden == 0
