"""A demo page of each kind in a real browser, started as a person starts it; all pages: tests/modules/test_pages.py."""

import collections
import contextlib
import functools
import io
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

import nltk
import numpy as np
import PIL.Image
import pytest

from manycaps.catalog import hub_spaces
from tests.browser_pages import requested_addresses
from tests.comparison_cases import caption_rows as rows_of_systems
from tests.comparison_cases import write_captions
from tests.environments import empty_environment, pip_install
from tests.modules.sample_inputs import load_options
from tests.video_clips import write_clip

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
import gradio_client

from manycaps.comparison import CompareOptions, compare
from manycaps.pages.form import card_body
from manycaps.pages.inputs import CaptionLimits, rows_of_text_box
from manycaps.pages.results import as_table_cell
from manycaps.report.result_sentence import verdict
from tests.large_packages import evaluate

pytestmark = pytest.mark.slow

# Seconds in which a page must be served, and an answer must come, on a machine that does other things as well.
PATIENCE = 180

# What gradio's own scripts write to the console on every page with an upload, although the upload works: a remark on
# a way of following its progress that the client does not have.
HARMLESS = '"Method not implemented."'

# Width of a phone's window in pixels.
PHONE = 400

# Widths of telephones, and the width of the label above the examples.
PHONES = (360, 390, 412, 420, 430)
WIDTH_OF_LABEL = "return [...document.querySelectorAll('p')].find(p => /^Fill in/.test(p.innerText)).clientWidth"

WIDTH_OF_DRAWINGS = (
    "return [...document.querySelectorAll('.drawing img')].map(i => [i.getBoundingClientRect().width, "
    "i.closest('.drawing').scrollWidth])"
)

# Where the values in tables of three columns end, which do not scroll.
END_OF_VALUES = (
    "return Math.max(...[...document.querySelectorAll('.result tr:not(:has(td:nth-child(4))) td:nth-child(2)')]"
    ".map(cell => cell.getBoundingClientRect().right), 251)"
)

NO_LIMITS = CaptionLimits(10**6, 10**6, 10**6)

# The label of human_parity's file.
TABLE = "Or a file with both"

# Labels of the form, with the columns that they fill. UPLOAD stands for the only file of a form; several files go by
# their labels.
CANDIDATES, HUMANS, UPLOAD = "Candidate captions", "Human captions", "upload"
COLUMNS = {CANDIDATES: "predictions", HUMANS: "references"}

# Code of a card, where a line may begin with a hash.
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def upload(name, content):
    """A file to be written when a test needs it."""

    def write(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return write


def picture(width, height):
    """A PNG with a red square."""
    image, file = PIL.Image.new("RGB", (width, height), "white"), io.BytesIO()
    image.paste((200, 30, 30), (10, 5, 30, 25))
    image.save(file, format="PNG")
    return upload("picture.png", file.getvalue())


def clip(n_frames, rate):
    """A small mp4 file that gets brighter."""
    frames = [np.full((48, 64, 3), 2 * i, dtype=np.uint8) for i in range(n_frames)]
    times = [1000 * i // rate for i in range(n_frames)]
    return lambda folder: write_clip(folder / "clip.mp4", frames, times=times)


# Labels of the form that compares systems, with the file of `tests.comparison_cases` for each.
SYSTEMS = {
    "System 1, the baseline": "base",
    "System 2": "repeating",
    HUMANS: "references",
    "System 3, or none": "other",
}
TWO_SYSTEMS = tuple(SYSTEMS)[:3]


def system_files(labels, n_rows=12):
    rows = rows_of_systems(n_rows)

    def writer(name):
        return lambda folder: pathlib.Path(write_captions(folder, {name: rows[name]})[name])

    return {label: writer(SYSTEMS[label]) for label in labels}


# Of a page of each kind the label of an example, and the options with which the page calls the module; what a user may
# type (captions that matplotlib and browsers could take for formulas and tags), and input that the module refuses or
# that is above a limit of the page, by its message; the files of the example in their order on the page, and the number
# of drawings.
Case = collections.namedtuple("Case", "example options own refused files n_drawings", defaults=((), 1))
DETAILS = {"details": True}
OF_PEOPLE = "a dog for $ 5\na dog with a bill\n\na father makes breakfast\nsomebody cooks\na cook"
TOO_LONG = "a dog\n" + "a" * 301
BROKEN = upload("broken.png", b"\x89PNG\r\n\x1a\nno pixels")
PLAYLIST = upload("list.mp4", b"#EXTM3U\nhttp://127.0.0.1:9/a.ts\n")
TEXTS = {CANDIDATES: "a $5 bill & a <b>dog</b>\na dog for $10\n\na man cooks\na man at the stove", HUMANS: OF_PEOPLE}
CASES = {
    "human_parity": Case(
        "One caption repeated",
        {"confidence_level": 0.95},
        TEXTS,
        {"one row for each of the 1 rows of predictions, got 2.": {CANDIDATES: "a dog", HUMANS: "a dog\n\na cat"}},
        n_drawings=2,
    ),
    "trm_meteor": Case(
        "One caption repeated",
        {"p_value": "exact", "confidence_level": 0.95, **DETAILS},
        TEXTS,
        {"at most 300 characters on this page, got 301.": {CANDIDATES: TOO_LONG, HUMANS: "a dog\na cat"}},
    ),
    "pac_score": Case(
        "A picture and captions",
        DETAILS,
        {UPLOAD: picture(40, 30), CANDIDATES: "a <b>red</b> square for $5\n\nanother for $6"},
        {
            "expected an image, got 17 bytes that begin with": {UPLOAD: BROKEN, CANDIDATES: "a dog"},
            "at most 20 megapixels on this page, got 20.5.": {UPLOAD: picture(5000, 4100), CANDIDATES: "a dog"},
        },
        (UPLOAD,),
    ),
    "emscore_pac": Case(
        "A clip and captions",
        DETAILS,
        {UPLOAD: clip(12, 4), CANDIDATES: "shapes\na dog runs"},
        {
            "expected a video, got a file that cannot be opened as one": {UPLOAD: PLAYLIST, CANDIDATES: "a dog"},
            "at most 60 seconds on this page, got 60.6.": {UPLOAD: clip(122, 2), CANDIDATES: "a dog"},
        },
        (UPLOAD,),
    ),
    "compare": Case(
        "A varied system and one that repeats itself",
        {"n_resamples": 999},
        system_files(SYSTEMS),
        {"systems: expected at most 100 rows on this page, got 101.": system_files(TWO_SYSTEMS, 101)},
        TWO_SYSTEMS,
        2,
    ),
}


class Server:
    """A page that has been started from a copy of its folder: as a Space holds it, without the repository around it."""

    def __init__(self, folder, name, checkpoint=None, python=sys.executable):
        # A Space's folder is not named like the module.
        for inside, content in hub_spaces.space_files(folder_of(name), "me").items():
            (folder / "app" / inside).parent.mkdir(parents=True, exist_ok=True)
            (folder / "app" / inside).write_bytes(content)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}/", folder / "log"
        # WordNet, which a Space fetches: an environment of its own has none.
        own = {"NLTK_DATA": pathlib.Path(nltk.data.find("corpora/wordnet").path).parents[1]}
        own |= {"HF_HOME": folder / "cache", "GRADIO_SERVER_PORT": port, "GRADIO_TEMP_DIR": folder / "uploads"}
        checkpoint = checkpoint or load_options(name).get("checkpoint")
        own |= {"MANYCAPS_CHECKPOINT": checkpoint} if checkpoint else {}
        environment = {**os.environ, "OMP_NUM_THREADS": "1"} | {key: str(value) for key, value in own.items()}
        with self.log.open("w") as log:
            command = [str(python), "app.py"]
            self.process = subprocess.Popen(command, cwd=folder / "app", env=environment, stdout=log, stderr=log)

    def __enter__(self):
        self.wait()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def wait(self):
        """Until the page is served."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.logs()
            try:
                with urllib.request.urlopen(self.url, timeout=PATIENCE):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(self.logs())

    def logs(self):
        return self.log.read_text()

    def call(self, function, values):
        """Call the page through gradio's interface for programs, and return the events."""
        url, content = f"{self.url}gradio_api/call/{function}", json.dumps({"data": values}).encode()
        request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            event = json.load(reply)["event_id"]
        with urllib.request.urlopen(f"{url}/{event}", timeout=PATIENCE) as reply:
            return reply.read().decode()


def folder_of(name):
    return hub_spaces.space_folders()[name]


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

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

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
        boxes = self.run(
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

    def fetch_uploads(self, folder, n_files):
        """Fetch the files that the form shows, as an example fills them in."""
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.currentSrc || e.src || e.href)"

        def urls():
            return list(dict.fromkeys(self.run(script, ".image-frame img, video, .file-preview a")))[:n_files]

        self.until(lambda: len(urls()) == n_files)
        return [upload(url.rsplit("/", 1)[-1], fetch(url))(folder) for url in urls()]

    def is_wider_than(self, width):
        """Whether the page must be scrolled sideways in a window of this width; what scrolls by itself may be wider."""
        return self.measure(width, "return document.documentElement.scrollWidth") > width

    def measure(self, width, script):
        """What a script says of the page in a window of this width."""
        window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
        try:
            # The form puts its boxes below each other before anything is measured.
            self.until(lambda: self.run("return document.body.clientWidth") == width)
            return self.run(script)
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def compute(self):
        """Press the button, and return the cells of the tables of results, or the message."""
        self.button("Compute").click()
        self.until(lambda: self.find(".result td") or self.message())
        return self.message() or self.run(
            "return [...document.querySelectorAll('.result tbody tr')].map("
            "row => [...row.cells].map(cell => cell.innerText.trim()))"
        )

    def message(self):
        """Text of the message box, also while it fades in."""
        return " ".join(box.get_attribute("textContent").strip() for box in self.find(".toast-body"))

    def drawings(self):
        """Address, description and width on the page of every drawing that is loaded: once it is scrolled to."""
        return self.run(
            "document.querySelectorAll('.drawing').forEach(drawing => drawing.scrollIntoView());"
            "return [...document.querySelectorAll('.drawing img')].filter(i => i.complete && i.naturalWidth)"
            ".map(image => [image.src, image.alt, image.getBoundingClientRect().width])"
        )

    def errors(self):
        """What the browser's console complains about, and requests to other machines."""
        console = [
            entry["message"]
            for entry in self.browser.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING") and HARMLESS not in entry["message"]
        ]
        urls = requested_addresses(self.browser)
        return console, [url for url in urls if not url.startswith((self.url, "data:", "blob:", "chrome:"))]


def fetch(url):
    with urllib.request.urlopen(url) as reply:
        return reply.read()


def columns_of(name, fields):
    """What a module takes of the fields of its form: the page of a picture or of a clip has one row."""
    columns = {}
    for label, value in fields.items():
        if label == UPLOAD:
            columns["videos" if name == "emscore_pac" else "images"] = [str(value)]
        elif UPLOAD in fields:
            columns[COLUMNS[label]] = [[line for line in value.split("\n") if line]]
        else:
            columns[COLUMNS[label]] = rows_of_text_box(value, COLUMNS[label], NO_LIMITS)
    return columns


def assert_shows_the_numbers(page, name, cells, fields):
    """The tables have the numbers of the module or of the command, and the drawings are there."""
    assert isinstance(cells, list), cells
    show = assert_shows_the_comparison if name == "compare" else assert_shows_the_modules_numbers
    show(page, name, cells, fields)
    page.until(lambda: len(page.drawings()) == CASES[name].n_drawings)
    for url, description, width in page.drawings():
        assert PIL.Image.open(io.BytesIO(fetch(url))).width == 960
        assert width > 500
        assert len(description) > 20
    parts = page.run(
        "return [...document.querySelectorAll('.result, .drawing')].map("
        "e => [e.getBoundingClientRect().top, e.classList.contains('drawing')])"
    )
    are_drawings = [is_drawing for _, is_drawing in sorted(parts)]
    # The answer, the pictures, the numbers.
    assert (are_drawings[0], any(are_drawings), are_drawings[-1]) == (False, True, False)


def assert_shows_the_modules_numbers(page, name, cells, fields):
    # Rows of the table of results; a row of a single candidate has no key of the result in front.
    expected = module_of(name).compute(**columns_of(name, fields), **CASES[name].options)
    shown = {key: value.partition("\npeople ")[0] for key, value, *_ in cells if key in expected}
    whole = [key for key in expected if key.startswith("rows_to_detect") and math.isfinite(expected[key])]
    expected |= {key: int(expected[key]) for key in whole}
    assert shown
    assert shown == {key: as_table_cell(expected[key]) for key in shown}
    if f"{name}_corpus_p_value" in expected:
        assert f"{name}_corpus_p_value" in shown
        assert page.find(".result h3")[0].text == verdict(expected, name, page.find("h1")[0].text)


def assert_shows_the_comparison(page, name, cells, files):
    """Every cell of every table, and the report that can be fetched."""
    systems, options = [str(path) for label, path in files.items() if label.startswith("System")], CASES[name].options
    expected = compare(CompareOptions(systems, [str(files[HUMANS])], ["trm_cider"], full=True, **options))
    rows = [row for table in expected.words.all_tables for row in table.rows]
    assert cells == [[f"{cell.text}{cell.letters} {cell.interval}".rstrip() for cell in row] for row in rows]
    (link,) = (link for link in page.find(".file-preview a") if "index.html" in link.get_attribute("href"))
    report = fetch(link.get_attribute("href")).decode()
    assert report.startswith("<!DOCTYPE html>")
    assert "differ most" in report


def write_files(values, folder):
    """Values of a form, with files in place of the functions that write them."""
    return {label: value(folder) if callable(value) else value for label, value in values.items()}


def an_example_fills_the_form_above_the_card(page, name, folder):
    """A conclusion leads to the card, which stands below the form."""
    case = CASES[name]
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", card_body(folder_of(name) / "README.md")), re.MULTILINE)
    assert [title.text for title in page.find("#card :is(h1, h2, h3, h4)")] == titles
    assert "Limitations and Bias" in titles
    if UPLOAD in case.files:
        body = " ".join(page.find("body")[0].text.split())
        assert "Weights: small.pth , not the published ones; what the paper calls a good score does not hold" in body
    page.button(case.example).click()
    page.until(lambda: all(page.fields().values()))
    files = page.fetch_uploads(folder, len(case.files))
    texts = {label: text for label, text in page.fields().items() if label in COLUMNS}
    fields = texts | dict(zip(case.files, files, strict=True))
    assert_shows_the_numbers(page, name, page.compute(), fields)
    assert not page.is_wider_than(PHONE)
    assert 250 < page.measure(390, END_OF_VALUES) <= 390
    # Drawings fit: they are neither cut nor scrolled sideways.
    widths = page.measure(390, WIDTH_OF_DRAWINGS)
    assert len(widths) == case.n_drawings
    assert all(250 < width <= frame <= 390 for width, frame in widths), widths
    for width in PHONES:  # a label beside the buttons would be some pixels wide on one of them
        assert page.measure(width, WIDTH_OF_LABEL) > 120, width
    if "p_value" in case.options:
        (link,) = page.find('.result a[href="#card"]')
        top = "return document.querySelector('#card').getBoundingClientRect().top / innerHeight"
        assert page.run(top) > 0.5
        link.click()
        # The browser scrolls to a whole pixel, the card may begin at a part of one.
        page.until(lambda: -0.01 < page.run(top) < 0.5)


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Starts the page of a name once. gradio reports the path that no upload has, and nothing else goes wrong."""
    started = {}

    def served(name):
        if name not in started:
            started[name] = servers.enter_context(Server(tmp_path_factory.mktemp(name), name))
        return started[name]

    with contextlib.ExitStack() as servers:
        yield served
        for logs in (server.logs() for server in started.values()):
            assert logs.count("Traceback") == logs.count("InvalidPathError: Cannot move /etc/passwd")


EXAMPLE, OWN = "an example", "a user's input"
VISITS = [(name, visit) for name, case in CASES.items() for visit in (EXAMPLE, OWN, *case.refused)]


@pytest.mark.parametrize(("name", "visit"), VISITS)
def test_a_page(browser, serve, name, visit, tmp_path):
    case, server = CASES[name], serve(name)
    page = Page(browser, server.url)
    if visit == EXAMPLE:
        an_example_fills_the_form_above_the_card(page, name, tmp_path)
    elif visit == OWN:
        fields = write_files(case.own, tmp_path)
        page.fill(fields)
        assert_shows_the_numbers(page, name, page.compute(), fields)
        if name == "pac_score":
            assert_no_address_is_opened(server)
    else:
        own = write_files(case.own, tmp_path)
        if not any(isinstance(value, pathlib.Path) for value in own.values()):  # a file takes the place of no other
            page.fill(own)
            page.compute()
        page.fill(write_files(case.refused[visit], tmp_path))
        page.button("Compute").click()
        # A player says of a file that is no video that it cannot play it.
        page.until(lambda: visit in page.message())
        # No result of other inputs stands beside the message.
        page.until(lambda: not page.find(".result td"))
    assert page.errors() == ([], [])


def assert_no_address_is_opened(server):
    """gradio would fetch an address that a caller of its interface names in place of an upload."""
    inputs = json.loads(fetch(f"{server.url}gradio_api/info"))["named_endpoints"]["/compute"]["parameters"]
    are_files = ["filepath" in str(each["python_type"]["type"]) for each in inputs]
    assert any(are_files)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/picture.png"
        for path in (address, "/etc/passwd"):
            file = {"path": path, "url": path, "meta": {"_type": "gradio.FileData"}}
            answer = server.call("compute", [file if is_file else "1" for is_file in are_files])
            assert "event: error" in answer, answer
            assert "root:" not in answer
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.network
@pytest.mark.parametrize("name", ["trm_meteor", "compare"])
def test_a_space_runs_with_what_its_own_files_ask_for(browser, name, tmp_path, monkeypatch):
    files = hub_spaces.space_files(folder_of(name), "me")
    version = re.search(r"^sdk_version: (.+)$", files["README.md"].decode(), re.MULTILINE)[1]
    (tmp_path / "requirements.txt").write_bytes(files["requirements.txt"] + f"gradio=={version}\n".encode())
    python = empty_environment(tmp_path / "environment")
    subprocess.run([*pip_install(python), "-r", tmp_path / "requirements.txt"], check=True)
    with Server(tmp_path, name, python=python) as server:
        page = Page(browser, server.url)
        page.button(CASES[name].example).click()
        page.until(lambda: all(page.fields().values()))
        files = page.fetch_uploads(tmp_path, len(CASES[name].files))
        texts = {label: text for label, text in page.fields().items() if label in COLUMNS}
        fields = texts | dict(zip(CASES[name].files, files, strict=True))
        # There is no sentence encoder among the packages of either.
        without_encoder = {"distance": "meteor"} if name == "compare" else {}
        monkeypatch.setitem(CASES, name, CASES[name]._replace(options=CASES[name].options | without_encoder))
        assert_shows_the_numbers(page, name, page.compute(), fields)
        assert page.errors() == ([], [])
        assert "Traceback" not in server.logs()


def test_human_parity_takes_a_file_of_captions(browser, serve, tmp_path):
    systems = rows_of_systems(100)
    pairs = zip(systems["repeating"], systems["references"], strict=True)
    rows = [{"predictions": candidates, "references": references} for candidates, references in pairs]
    table = tmp_path / "captions.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    page = Page(browser, serve("human_parity").url)
    page.fill({TABLE: table})
    cells = {key: value for key, value, *_ in page.compute()}
    assert cells["near_duplicate_share"] == "1.0000\npeople 0.0500"
    assert page.errors() == ([], [])


def test_programs_call_a_page_by_names(serve):
    client = gradio_client.Client(serve("human_parity").url, verbose=False)
    boxes = {"predictions": "a dog\na wet dog\n\na cat\ntwo cats", "references": "a dog\nit barks\n\na cat\nit naps"}
    answer, *_, tables = client.predict(**boxes, file=None, distance="METEOR", api_name="/compute")
    assert "| `words_per_text` | 2.2500<br>people 2.0000 |" in answer + tables


def test_a_page_without_weights_says_what_can_be_done(browser, tmp_path):
    expected = "weights: expected the CLIP of this page, got none that can be used. Try again later, or run the module"
    with Server(tmp_path, "pac_score", checkpoint="checkpoints/gone") as server:
        page = Page(browser, server.url)
        assert f"This page cannot compute. {expected}" in page.find("body")[0].text
        page.fill(write_files(CASES["pac_score"].own, tmp_path))
        assert expected in page.compute()
        assert not page.find(".result td")
        for text in (page.find("body")[0].text, page.message()):
            assert "gone" not in text  # no path of the server
        assert "got 'checkpoints/gone': no such folder or file, relative paths start at" in server.logs()
        assert "Traceback" not in server.logs()
        assert page.errors() == ([], [])
