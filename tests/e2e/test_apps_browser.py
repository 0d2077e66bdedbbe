"""Every demo page in a real browser: Debian's chromium, headless; each page started as a person starts it."""

import functools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple

import evaluate
import numpy as np
import pytest

from tests.modules.sample_inputs import load_options

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
from helpers.shared_demo_form import CaptionLimits, as_number, caption_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage
""".split()

# Seconds in which a page must be served, and an answer must come, on a machine that does other things as well.
PATIENCE = 180

# Pages that are started while the one before is still tested.
AHEAD = 2

NO_LIMITS = CaptionLimits(10**6, 10**6, 10**6)
CANDIDATES, HUMANS = "Candidate captions", "Human captions"

# Two rows: captions that matplotlib and browsers could take for formulas and tags.
OWN = {
    CANDIDATES: "a $5 bill & a <b>dog</b>\na dog for $10\n\na man cooks\na man at the stove",
    HUMANS: "a dog for $ 5\na dog with a bill\n\na father makes breakfast\nsomebody cooks\na cook",
}


class Case(NamedTuple):
    """What is done with one page."""

    # Name of an example's button.
    example: str
    # From the fields of the page to the module's columns.
    columns: Callable[[dict[str, str]], dict[str, Any]]
    # Options with which the page calls the module.
    options: dict[str, Any]
    # What the user types, by label, other than an example.
    own: dict[str, str]
    # Input that the module refuses, and its message.
    bad: tuple[dict[str, str], str]
    # Input above a limit of the page, and the message.
    over: tuple[dict[str, str], str]
    # Number of drawings.
    n_drawings: int = 2


def caption_columns(fields):
    return {
        "predictions": caption_rows(fields[CANDIDATES], "predictions", NO_LIMITS),
        "references": caption_rows(fields[HUMANS], "references", NO_LIMITS),
    }


DISTRIBUTION = Case(
    example="One caption repeated",
    columns=caption_columns,
    options={"p_value": "exact"},
    own=OWN,
    bad=(
        {CANDIDATES: "a dog\na cat", HUMANS: "a dog\n\na cat"},
        "references: expected one row for each of the 1 rows of predictions, got 2.",
    ),
    over=(
        {CANDIDATES: "a dog\n" + "a" * 301, HUMANS: "a dog\na cat"},
        "predictions[0][1]: expected at most 300 characters on this page, got 301.",
    ),
)

CASES = {
    "trm_meteor": DISTRIBUTION,
    "trm_cider": DISTRIBUTION,
    "trm_bert": DISTRIBUTION,
    "mmd_bert": DISTRIBUTION,
    "fid_bert": DISTRIBUTION,
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """`python app.py` in a folder of its own, as in a Space: no cache, no repository around it."""

    def __init__(self, name, folder):
        source = next(ROOT.glob(f"m*/{name}"))
        # A Space's folder is not named like the module.
        shutil.copytree(source, folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
        port = free_port()
        self.url, self.log = f"http://127.0.0.1:{port}/", folder / "log"
        environment = os.environ | {
            "GRADIO_SERVER_PORT": str(port),
            "GRADIO_TEMP_DIR": str(folder / "uploads"),
            "HF_HOME": str(folder / "cache"),
            "OMP_NUM_THREADS": "1",
        }
        if "checkpoint" in load_options(name):
            environment["MANYCAPS_CHECKPOINT"] = load_options(name)["checkpoint"]
        with self.log.open("w") as log:
            command = [sys.executable, "app.py"]
            self.process = subprocess.Popen(command, cwd=folder / "app", env=environment, stdout=log, stderr=log)

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            try:
                with urllib.request.urlopen(self.url, timeout=PATIENCE):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def stop(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium is not installed: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    from selenium.webdriver.chrome.service import Service

    driver = selenium.Chrome(options=options, service=Service(DRIVER))
    driver.set_window_size(1280, 1400)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def servers(browser, tmp_path_factory):
    """From a name to its running server; the next ones are started as well."""
    running = {}

    def get(name):
        names = list(CASES)
        for other in names[names.index(name) :][: AHEAD + 1]:
            if other not in running:
                running[other] = Server(other, tmp_path_factory.mktemp(other))
        running[name].wait()
        return running[name]

    yield get
    for server in running.values():
        server.stop()


@pytest.fixture(scope="module", params=list(CASES))
def app(request, servers):
    server = servers(request.param)
    yield request.param, server
    server.stop()
    assert "Traceback" not in server.log.read_text()


@functools.cache
def module_of(name):
    return evaluate.load(str(next(ROOT.glob(f"m*/{name}"))), **load_options(name))


class Page:
    """One page, freshly opened."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(url)
        self.until(lambda: self.button("Compute"))

    def until(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.browser, PATIENCE, poll_frequency=0.1).until(lambda _: condition())

    def find(self, selector):
        return self.browser.find_elements("css selector", selector)

    def button(self, name):
        return next((button for button in self.find("button") if button.text.strip() == name), None)

    def field(self, label):
        """The text box, number box or file input under a label."""
        return next(
            element
            for block in self.find(".block, label")
            if label in block.text.split("\n")[0]
            for element in block.find_elements("css selector", "textarea, input")
        )

    def fields(self):
        """Label and content of every text box."""
        boxes = self.browser.execute_script(
            "return [...document.querySelectorAll('label')].map(l => [l.innerText.split('\\n')[0].trim(), "
            "l.querySelector('textarea')]).filter(p => p[1]).map(p => [p[0], p[1].value])"
        )
        return dict(boxes)

    def fill(self, values):
        for label, value in values.items():
            if isinstance(value, pathlib.Path):
                self.find("input[type=file]")[0].send_keys(str(value))
                self.until(lambda: self.find(".image-frame img, video, .file-preview"))
            else:
                self.field(label).clear()
                self.field(label).send_keys(value)

    def compute(self):
        """Press the button, and return the table of results, or the message."""
        self.button("Compute").click()
        self.until(lambda: self.find(".result td") or self.message())
        if self.message():
            return self.message()
        cells = self.browser.execute_script(
            "return [...document.querySelectorAll('.result tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
        )
        return {key.strip(): value.strip() for key, value, _ in cells}

    def message(self):
        """Text of the message box, also while it fades in."""
        return " ".join(box.get_attribute("textContent").strip() for box in self.find(".toast-body"))

    def drawings(self):
        """Pixels and description of every drawing."""
        script = """return [...document.querySelectorAll('.drawing img')].filter(i => i.complete && i.naturalWidth)
            .map(image => {
                const canvas = document.createElement('canvas');
                [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
                const context = canvas.getContext('2d');
                context.drawImage(image, 0, 0);
                const colors = new Map(), data = context.getImageData(0, 0, canvas.width, canvas.height).data;
                for (let i = 0; i < data.length; i += 4) {
                    const color = data[i] * 65536 + data[i + 1] * 256 + data[i + 2];
                    colors.set(color, (colors.get(color) ?? 0) + 1);
                }
                const box = image.getBoundingClientRect();
                return {width: image.naturalWidth, height: image.naturalHeight, shown: box.width,
                        text: image.alt, colors: [...colors]};
            })"""
        return self.browser.execute_script(script)

    def errors(self):
        """What the browser's console complains about, and requests to other machines."""
        console = [entry for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        messages = (json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance"))
        urls = (m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent")
        return console, [url for url in urls if not url.startswith((self.url, "data:", "blob:", "chrome:"))]


@pytest.fixture
def page(app, browser):
    page = Page(browser, app[1].url)
    yield page
    assert page.errors() == ([], [])


def assert_shows_the_modules_numbers(page, name, shown, columns):
    """The table has the numbers of the module, and the drawings are there."""
    case = CASES[name]
    assert isinstance(shown, dict), shown
    expected = module_of(name).compute(**columns, **case.options)
    assert name in shown or name == "vdtk_diversity"
    assert len(shown) >= 2
    assert shown == {key: as_number(expected[key]) for key in shown}
    page.until(lambda: len(page.drawings()) == case.n_drawings)
    for drawing in page.drawings():
        assert drawing["width"] == 960
        assert drawing["shown"] > 600
        assert len(drawing["text"]) > 20
        counts = np.array([count for _, count in drawing["colors"]])
        # Mostly paper, and on it a drawing of more than one colour.
        assert 0.02 < 1 - counts.max() / counts.sum() < 0.9
        assert (counts > 60).sum() >= 3


def test_an_example_fills_the_form(app, page):
    name, _ = app
    page.button(CASES[name].example).click()
    page.until(lambda: all(page.fields().values()))
    shown = page.compute()
    assert_shows_the_modules_numbers(page, name, shown, CASES[name].columns(page.fields()))


def test_what_a_user_gives(app, page):
    name, _ = app
    page.fill(CASES[name].own)
    shown = page.compute()
    assert_shows_the_modules_numbers(page, name, shown, CASES[name].columns(CASES[name].own))


@pytest.mark.parametrize("kind", ["bad", "over"])
def test_wrong_input_shows_its_message(app, page, kind):
    name, _ = app
    values, message = getattr(CASES[name], kind)
    page.fill(values)
    shown = page.compute()
    assert isinstance(shown, str), shown
    assert message in shown
    assert not page.find(".result td")
