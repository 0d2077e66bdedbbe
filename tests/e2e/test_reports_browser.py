"""Pages of reports in a real browser, without network: on a screen and on a telephone, light and dark."""

import dataclasses
import functools
import io
import json

import numpy as np
import PIL.Image
import pytest

from manycaps.commands.command_line import main
from manycaps.comparison import CompareOptions, compare
from manycaps.diversity import measured
from tests.browser_pages import WIDTHS, assert_opens_alone, contrasts, open_page, screenshot
from tests.comparison_cases import comparison, write_page
from tests.documents import write_sample
from tests.tools import write_jsonl

pytestmark = pytest.mark.slow

SYSTEMS = ("base", "a longer name", "third_one")
PEOPLE = [
    ["a dog runs on the beach", "a dog runs on the beach", "a wet dog plays in the sand", "somebody throws a ball"],
    ["two cats sleep on a sofa", "cats lie on a couch", "two cats are sleeping", "a caption about " + "very " * 30],
]
WORDS = "a the red small dog cat child man runs sleeps plays eats on in near grass beach house".split()


def picture(grey, width=240):
    return PIL.Image.fromarray(np.full((width // 2, width, 3), grey, dtype=np.uint8))


@functools.cache
def illustrated_comparison():
    """A comparison with captions and pictures."""
    found, rows = comparison(n_rows=80, names=SYSTEMS), []
    for i, row in enumerate(found.shown.rows):
        file = io.BytesIO()
        picture(3 * i).save(file, format="PNG")
        captions = dict(row.captions) | {SYSTEMS[1]: row.captions[SYSTEMS[1]][:1] * 2}
        rows.append(row._replace(image=file.getvalue(), captions=captions))
    return dataclasses.replace(found, shown=dataclasses.replace(found.shown, rows=rows))


def page_of_comparison(folder):
    (folder / "index.html").write_text(write_page(illustrated_comparison()), encoding="utf-8")
    return folder / "index.html"


def page_of_diversity(folder):
    """A report on two small sets of captions, with a stand-in for the sentence encoder."""
    rng = np.random.default_rng(0)
    sources = []
    for name, n_words in (("human", 18), ("model", 6)):
        rows = [[" ".join(rng.choice(WORDS[:n_words], 7)) for _ in range(5)] for _ in range(60)]
        rows = [{"captions": [*row, row[0]]} for row in rows] if name == "model" else rows
        sources.append(str(write_jsonl(folder / f"{name}.jsonl", rows)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured, "load_encoder", lambda **_: measured.LoadedEncoder(letter_counts, lambda captions: {}))
        assert main(["diversity", *sources, "--semantic", "--output", str(folder / "page.html")]) == 0
    return folder / "page.html"


def letter_counts(captions):
    return np.array([[caption.count(letter) + 0.5 for letter in "abcdefghst"] for caption in captions])


def page_of_rows(folder):
    systems = [["a dog on a beach", "a cat"], ["two cats", "a sofa"]]
    rows = [{"id": f"photo {i}", "references": PEOPLE[i], "predictions": systems[i]} for i in range(2)]
    for i in range(2):
        picture(90 + 60 * i).save(folder / f"photo {i}.jpg")
    line = ["rows", str(write_jsonl(folder / "rows.jsonl", rows)), "--images", str(folder), "--choose", "first"]
    assert main([*line, "-o", str(folder / "rows.html"), "--metric", "rouge_l"]) == 0
    return folder / "rows.html"


def page_of_decoding(folder, temperatures=()):
    """Two files of samples, which may say at which temperatures they were sampled."""
    rng, files = np.random.default_rng(0), []
    for name, role in (("people", "references"), ("a-long-name-of-samples", "captions"), ("others", "captions")):
        rows = [{"id": str(i), role: [" ".join(rng.choice(WORDS, 5)) for _ in range(4)]} for i in range(24)]
        files.append(str(write_jsonl(folder / f"{name}.jsonl", rows)))
    for file, temperature in zip(files[1:], temperatures, strict=False):
        with open(f"{file}.settings", "w") as settings:
            json.dump({"temperature": temperature, "n": 4, "seed": 0}, settings)
    line = [*files[1:], "-r", files[0], "-o", str(folder / "out"), "--n-resamples", "99", "--distance", "cider"]
    assert main(["decoding", *line]) == 0
    return folder / "out" / "index.html"


def page_of_curves(folder):
    return page_of_decoding(folder, (0.5, 1.5))


def page_with_a_map(folder):
    write_sample(folder)
    systems = [str(folder / f"{name}.jsonl") for name in ("diverse", "repeating")]
    options = CompareOptions(
        systems, [str(folder / "references.jsonl")], ["trm_cider"], distance="meteor", n_resamples=99
    )
    compare(options).save(folder / "report")
    return folder / "report" / "index.html"


# Pages with the plots on them, and the colours that text and graphics need to tell from their panel.
METRICS = [f"{kind}-{key}" for key in ("trm_meteor_excess", "meteor") for kind in ("means", "rows")]
PLOTS = {
    page_of_comparison: [*METRICS, "people-trm_meteor", "diversity"],
    page_of_diversity: "vocabulary evs duplicates novelty redundancy spread references variance".split(),
}
SERIES = [f"series-{i}" for i in range(6)]
COLORS = {page_of_comparison: SERIES, page_of_diversity: ["published", *SERIES], page_of_rows: SERIES[:3]}

# Plots in which every system has its colour, by page: names, number of systems, and least pixels of each by width.
COLORED = {
    page_of_comparison: (["means-meteor"], 3, dict.fromkeys(WIDTHS, 30)),
    page_of_diversity: (["vocabulary", "evs"], 2, {1200: 300, 400: 30}),
}

ALL_PAGES = (page_of_comparison, page_of_diversity, page_of_rows, page_of_decoding, page_of_curves, page_with_a_map)


@pytest.fixture(scope="module")
def page_of(tmp_path_factory):
    """The file of each page, made once."""
    return functools.cache(lambda make: make(tmp_path_factory.mktemp(make.__name__)))


def map_all(browser, selector, value):
    """The value of a JavaScript expression of each element `e` that a selector finds."""
    return browser.execute_script(f"return [...document.querySelectorAll(arguments[0])].map(e => {value})", selector)


BOX = "{const b = e.getBoundingClientRect(); return [b.top, b.left, b.bottom, b.right].map(Math.round)}"


@pytest.mark.parametrize("make", ALL_PAGES)
def test_opens_alone_and_fits_every_width(browser, page_of, make):
    """Without network and errors; only tables and figures scroll sideways, not the page."""
    assert_opens_alone(browser, page_of(make))
    for width in WIDTHS:
        open_page(browser, page_of(make), width)
        assert browser.execute_script("return document.documentElement.scrollWidth") == width
        identifiers = map_all(browser, "[id]", "e.id")
        assert len(identifiers) == len(set(identifiers))
        plots = map_all(
            browser,
            "svg[data-plot]",
            "[e.dataset.plot, e.ariaLabel, e.clientWidth, e.clientHeight / e.clientWidth,"
            " e.querySelectorAll('text').length, e.querySelectorAll('path, use').length]",
        )
        if make in PLOTS:
            assert [name for name, *_ in plots] == PLOTS[make]
            for _, label, plot_width, ratio, n_texts, n_shapes in plots:
                assert len(label) > 20
                assert plot_width >= 700 - 1
                assert 0.15 < ratio < 0.6
                assert min(n_texts, n_shapes) > 4


@pytest.mark.parametrize("make", COLORS)
@pytest.mark.parametrize(("width", "scheme"), zip(WIDTHS, ("light", "dark"), strict=True))
def test_paper_and_drawings_have_their_colors(browser, page_of, make, width, scheme):
    """Paper in the margins, dark where asked for; WCAG 2.2: contrasts of 4.5 for text, 3 for graphics."""
    height = open_page(browser, page_of(make), width, scheme)
    pixels = screenshot(browser)
    assert pixels.shape == (height, width, 3)
    margin = pixels[:, :8].reshape(-1, 3)
    assert (margin == margin[0]).all()
    assert (margin[0].mean() > 240) == (scheme == "light")
    for name, contrast in contrasts(browser, ["ink", "soft", *COLORS[make]]).items():
        assert contrast >= (4.5 if name in ("ink", "soft") or make == page_of_rows else 3), (name, contrast)
    names, n_systems, least = COLORED.get(make, ([], 0, {}))
    for name in names:
        ((top, left, bottom, right),) = map_all(browser, f"svg[data-plot={name}]", f"(() => {BOX})()")
        plot = pixels[top:bottom, left:right].reshape(-1, 3)
        assert 0.02 < (abs(plot - np.median(plot, axis=0)).sum(axis=1) > 60).mean() < 0.5
        for series in range(n_systems):
            (color,) = map_all(browser, ":root", f"getComputedStyle(e).getPropertyValue('--series-{series}').trim()")
            rgb = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
            assert (abs(plot - rgb).sum(axis=1) < 12).sum() > least[width], (name, series)


@pytest.fixture
def opened_comparison(browser, page_of):
    open_page(browser, page_of(page_of_comparison), 1200)
    return browser


def column(browser, table, number):
    cells = map_all(browser, f"#{table} tbody tr", f"[e.cells[{number}].dataset.value, e.cells[{number}].textContent]")
    return [value and float(value) for value, _ in cells], [text for _, text in cells]


def press(browser, table, number):
    map_all(browser, f"#{table} thead th:nth-child({number + 1}) button", "e.click()")
    return map_all(browser, f"#{table} thead th", "e.getAttribute('aria-sort')")


def test_sorting(opened_comparison):
    browser, table, place = opened_comparison, "table-rows-of-1", 5
    # row, image, people, two systems, then the differences
    before = column(browser, table, place)
    assert press(browser, table, place) == [None] * place + ["descending", None]
    falling = column(browser, table, place)[0]
    assert falling == sorted(before[0], reverse=True), "no row is lost"
    assert press(browser, table, place)[place] == "ascending"
    assert column(browser, table, place)[0] == falling[::-1]
    # Names sort as text, with numbers in them as numbers.
    press(browser, table, 0)
    names = [int(text.removeprefix("row ")) for text in column(browser, table, 0)[1]]
    assert names == sorted(names, reverse=True)


def test_captions_and_pictures_are_of_their_rows(opened_comparison):
    rows = {row.id: row for row in illustrated_comparison().shown.rows}
    cells = "[e.cells[0].textContent, e.querySelector('img').naturalWidth,"
    cells += " ...[...e.querySelectorAll('td.captions')].map(c => c.textContent)]"
    shown = map_all(opened_comparison, "#table-rows-of-1 tbody tr", cells)
    assert len(shown) == 24
    for name, width, people, baseline, system in shown:
        assert width == 160
        assert people == "".join(rows[name].references)
        assert baseline == rows[name].captions["base"][0]
        # The same caption twice is written once.
        assert system == f"{rows[name].captions[SYSTEMS[1]][0]} (2 times)"


def test_a_second_cue_beside_every_colour(opened_comparison):
    """Differences have an arrow and a sign, the best value a star."""
    for kind, place, sign in (("above", "before", "▲"), ("below", "before", "▼"), ("best", "after", "★")):
        found = map_all(opened_comparison, f".{kind}", f"getComputedStyle(e, '::{place}').content")
        assert len(found) > 4
        assert all(sign in text for text in found)
    assert set(map_all(opened_comparison, ".above", "e.textContent[0]")) == {"+"}


def test_prints_whole_tables(opened_comparison):
    opened_comparison.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = map_all(opened_comparison, ".table", "getComputedStyle(e).overflowX")
    opened_comparison.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert set(shown) == {"visible"}


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_and_cells_fit_a_page(browser, page_of, width):
    open_page(browser, page_of(page_with_a_map), width)
    ((shown, all_of_it),) = map_all(browser, "figure:has(svg[data-plot=map])", "[e.clientWidth, e.scrollWidth]")
    assert 300 < shown == all_of_it <= width
    open_page(browser, page_of(page_of_rows), width)
    assert map_all(browser, "img", "[e.naturalWidth, e.clientWidth]") == [[160, 160]] * 2
    assert min(map_all(browser, "td.caption", "e.clientWidth")) >= 140
    open_page(browser, page_of(page_of_curves), width)
    texts = map_all(browser, "#curves ~ figure svg text", "e.textContent")
    assert {"sampling", "people", "temperature", "METEOR", "CIDEr-D"} <= set(texts)
    assert min(map_all(browser, "figure svg", "[e.clientWidth, e.clientHeight]")[0]) > 200
    assert sorted(map_all(browser, "tbody th", "e.textContent")) == ["a-long-name-of-samples", "others", "people"]
