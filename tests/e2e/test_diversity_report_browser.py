"""The report in a real browser: Debian's chromium, headless, without network."""

import json

import numpy as np
import pytest

from manycaps import command_line
from manycaps.diversity import measured as engine
from tests.browser_pages import WIDTHS, assert_opens_alone, contrasts, open_page, screenshot

pytestmark = pytest.mark.slow

PLOTS = ["vocabulary", "evs", "duplicates", "novelty", "redundancy", "spread", "references", "variance"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report on two small sets of captions, with a stand-in for the sentence encoder."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    words = "a the red small dog cat child man runs sleeps plays eats on in near grass beach house".split()
    for name, n_words in (("human", 18), ("model", 6)):
        rows = [[" ".join(rng.choice(words[:n_words], 7)) for _ in range(5)] for _ in range(60)]
        lines = [json.dumps({"captions": [*row, row[0]] if name == "model" else row}) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    sources = [str(folder / f"{name}.jsonl") for name in ("human", "model")]
    arguments = [*sources, "--semantic", "--output", str(folder / "page.html")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "load_encoder", lambda name, _: engine.LoadedEncoder(letter_counts, lambda captions: {}))
        assert command_line.main(["diversity", *arguments]) == 0
    return folder / "page.html"


def letter_counts(captions):
    return np.array([[caption.count(letter) + 0.5 for letter in "abcdefghst"] for caption in captions])


def test_opens_without_network_and_without_errors(browser, page):
    assert_opens_alone(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_plots_are_present_and_drawn(browser, page, width):
    open_page(browser, page, width)
    boxes = browser.execute_script(
        """return [...document.querySelectorAll('svg[data-plot]')].map(svg => {
             const box = svg.getBoundingClientRect();
             return {name: svg.dataset.plot, width: box.width, height: box.height, label: svg.ariaLabel,
                     shapes: svg.querySelectorAll('path, use').length, texts: svg.querySelectorAll('text').length};})"""
    )
    assert [box["name"] for box in boxes] == PLOTS
    for box in boxes:
        assert box["width"] >= 700 - 1
        assert 0.2 < box["height"] / box["width"] < 0.6
        assert box["shapes"] > 10
        assert box["texts"] > 5
        assert len(box["label"]) > 40


@pytest.mark.parametrize("width", WIDTHS)
def test_layout(browser, page, width):
    height = open_page(browser, page, width)
    # Only tables and figures scroll sideways, not the page.
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    assert 2500 < height < 7000
    tops = browser.execute_script(
        "return [...document.querySelectorAll('h1, h2')].map(h => h.getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    assert len(tops) == 1 + 2 + len(PLOTS) + 2
    identifiers = browser.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshot(browser, page, scheme):
    """Roughly: paper in the margins, drawings where plots are, both series' colours in them, dark where asked for."""
    height = open_page(browser, page, 1200, scheme)
    pixels = screenshot(browser)
    assert pixels.shape == (height, 1200, 3)
    margin = pixels[:, :8].reshape(-1, 3)
    assert (margin == margin[0]).all()
    assert (margin[0].mean() > 240) == (scheme == "light")
    for name in ("vocabulary", "evs"):
        top, left, bottom, right = browser.execute_script(
            f"const b = document.querySelector('svg[data-plot={name}]').getBoundingClientRect();"
            "return [b.top, b.left, b.bottom, b.right].map(Math.round)"
        )
        plot = pixels[top:bottom, left:right].reshape(-1, 3)
        drawn = (abs(plot - np.median(plot, axis=0)).sum(axis=1) > 60).mean()
        assert 0.02 < drawn < 0.5
        for series in (0, 1):
            color = browser.execute_script(
                f"return getComputedStyle(document.documentElement).getPropertyValue('--series-{series}')"
            ).strip()
            rgb = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
            assert (abs(plot - rgb).sum(axis=1) < 12).sum() > 300, (name, series)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_series_have_contrast(browser, page, scheme):
    """WCAG 2.2: 4.5 for text, 3 for graphics."""
    open_page(browser, page, 1200, scheme)
    for name, contrast in contrasts(browser, ["ink", "soft", "published", *(f"series-{i}" for i in range(6))]).items():
        assert contrast >= (4.5 if name in ("ink", "soft") else 3), (name, contrast)
