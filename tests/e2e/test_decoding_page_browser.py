"""The page of `manycaps decoding` in a real browser, without network, on a screen and on a telephone."""

import json
import pathlib

import numpy as np
import pytest

from manycaps.command_line import main
from tests.browser_pages import WIDTHS, assert_opens_alone, open_page

pytestmark = pytest.mark.slow

WORDS = "a dog runs on the beach near two cats that sleep in warm sand".split()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of two files of samples."""
    folder, rng = tmp_path_factory.mktemp("decoding"), np.random.default_rng(0)
    for name, role in (("people", "references"), ("a-long-name-of-samples", "captions"), ("others", "captions")):
        rows = [{"id": str(i), role: [" ".join(rng.choice(WORDS, 5)) for _ in range(4)]} for i in range(24)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = [str(folder / f"{name}.jsonl") for name in ("a-long-name-of-samples", "others")]
    line = [*files, "-r", str(folder / "people.jsonl"), "-o", str(folder / "out"), "--n-resamples", "99"]
    assert main(["decoding", *line, "--distance", "cider"]) == 0
    return folder / "out" / "index.html"


@pytest.fixture(scope="module")
def curves_page(page):
    """The page of the same two files, which now say at which temperatures they were sampled."""
    files = [page.parents[1] / f"{name}.jsonl" for name in ("a-long-name-of-samples", "others")]
    for file, temperature in zip(files, (0.5, 1.5), strict=True):
        pathlib.Path(f"{file}.settings").write_text(json.dumps({"temperature": temperature, "n": 4, "seed": 0}))
    line = [*map(str, files), "-r", str(page.parents[1] / "people.jsonl"), "-o", str(page.parents[1] / "curves")]
    assert main(["decoding", *line, "--n-resamples", "99", "--distance", "cider"]) == 0
    return page.parents[1] / "curves" / "index.html"


@pytest.mark.parametrize("width", WIDTHS)
def test_curves_have_a_point_for_each_temperature(browser, curves_page, width):
    open_page(browser, curves_page, width)
    texts = browser.execute_script(
        "return [...document.querySelectorAll('#curves ~ figure svg text')].map(text => text.textContent)"
    )
    assert {"sampling", "people", "temperature", "METEOR", "CIDEr-D"} <= set(texts)
    box = browser.execute_script(
        "const box = document.querySelector('figure svg').getBoundingClientRect();return [box.width, box.height]"
    )
    assert min(box) > 200


def test_the_page_opens_alone(browser, page):
    assert_opens_alone(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_but_tables_and_curves_is_wider_than_the_page(browser, page, width):
    open_page(browser, page, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    names = browser.execute_script("return [...document.querySelectorAll('tbody th')].map(cell => cell.textContent)")
    assert sorted(names) == ["a-long-name-of-samples", "others", "people"]
