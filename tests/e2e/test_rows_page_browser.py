"""The page of `manycaps rows` in a real browser, without network, wide and narrow, light and dark."""

import json

import numpy as np
import pytest

from manycaps import command_line
from tests.browser_pages import WIDTHS, assert_opens_alone, contrasts, open_page, screenshot

pytestmark = pytest.mark.slow

PEOPLE = [
    ["a dog runs on the beach", "a dog runs on the beach", "a wet dog plays in the sand", "somebody throws a ball"],
    ["two cats sleep on a sofa", "cats lie on a couch", "two cats are sleeping", "a caption about " + "very " * 30],
]
SYSTEM = [["a dog on a beach", "a cat"], ["two cats", "a sofa"]]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    folder = tmp_path_factory.mktemp("rows")
    rows = [
        {"id": f"photo {i}", "references": people, "predictions": system}
        for i, (people, system) in enumerate(zip(PEOPLE, SYSTEM, strict=True))
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for i in range(2):
        image.fromarray(np.full((120, 240, 3), 90 + 60 * i, dtype=np.uint8)).save(folder / f"photo {i}.jpg")
    page = folder / "rows.html"
    arguments = ["rows", folder / "rows.jsonl", "--images", folder, "-o", page, "--choose", "first"]
    assert command_line.main([*map(str, arguments), "--metric", "rouge_l"]) == 0
    return page


def test_opens_without_network_and_without_errors(browser, page):
    assert_opens_alone(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_layout(browser, page, width, scheme):
    height = open_page(browser, page, width, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    pixels = screenshot(browser)
    assert pixels.shape == (height, width, 3)
    assert (pixels[2, 2].mean() > 240) == (scheme == "light")
    pictures = browser.execute_script(
        "return [...document.images].map(i => [i.naturalWidth, i.getBoundingClientRect().width])"
    )
    assert pictures == [[160, 160]] * 2
    widths = browser.execute_script(
        "return [...document.querySelectorAll('td.caption')].map(cell => cell.getBoundingClientRect().width)"
    )
    assert min(widths) >= 140
    for name, contrast in contrasts(browser, ["ink", "soft", "series-0", "series-1", "series-2"]).items():
        assert contrast >= 4.5, name


def test_captions_are_in_order_and_marked(browser, page):
    open_page(browser, page, 1200)
    tables = browser.execute_script(
        "return [...document.querySelectorAll('table')].map(table => [...table.tBodies[0].rows].map(row =>"
        "  [...row.cells].map(cell => cell.textContent)))"
    )
    assert [len(rows) for rows in tables] == [3, 2, 4, 2]
    for rows in tables:
        distances = [float(row[1]) for row in rows]
        assert distances == sorted(distances)
        assert "nearest to the mean" in rows[0][0]
        assert sum("worst" in row[0] for row in rows) <= 2
    assert "worst" in tables[2][3][0]
    assert tables[0][0][0].startswith("a dog runs on the beach (2 times)")
