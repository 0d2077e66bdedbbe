"""The site: the code of its pages runs, its commands can be parsed, it builds, and a browser opens it alone."""

import argparse
import doctest
import functools
import html.parser
import http.server
import importlib
import os
import re
import subprocess
import sys
import threading
import urllib.parse

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from manycaps.catalog.modules import MODULES
from manycaps.commands import command_line
from tests.browser_pages import WIDTHS, requested_addresses
from tests.documents import PAGES, blocks, broken_links, commands, write_sample
from tests.tools import ROOT

DOCS = ROOT / "docs"

# Largest page, in bytes: its own text, and with its pictures.
MOST = 1_000_000

# Pages that are opened, each of a kind of its own.
OPENED = ("index", "human_parity", "cards/human_parity", "python", "command_line", "studies", "notebooks/own_metric")


def run_blocks(page, folder):
    """What a page's Python blocks leave behind, run one after the other in a folder."""
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in blocks(DOCS / page, "python"):
            exec(compile(block, page, "exec"), names)
    return names


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_can_be_parsed(page):
    for words in commands(page):
        if words[0] == "manycaps":
            command = importlib.import_module(f"manycaps.commands.{words[1].replace('-', '_')}")
            parser = argparse.ArgumentParser(exit_on_error=False)
            command.add_arguments(parser)
            parser.parse_args(words[2:])


@pytest.fixture(scope="module")
def namespace(tmp_path_factory):
    """What the pages on Python and training leave behind."""
    folder = tmp_path_factory.mktemp("reader")
    return run_blocks("python.md", folder) | run_blocks("training.md", folder) | {"folder": folder}


def test_the_first_block_computes_the_numbers_of_the_plain_functions(namespace):
    result = namespace["result"]
    assert result["n_rows"] == 2
    assert 0 < result["trm_meteor_p_value"] <= 1
    assert namespace["statistic"].tolist() == result["trm_meteor_per_row"]
    assert namespace["p_values"].tolist() == result["trm_meteor_p_value_per_row"]


def test_the_page_on_training_logs_what_it_computes(namespace):
    result, scalars, table = (namespace[name] for name in ("result", "scalars", "table"))
    assert set(result) == set(scalars) | {name for row in table for name in row} - {"captions"} | {"signature"}
    events = EventAccumulator(str(namespace["folder"] / "runs" / "captions"))
    events.Reload()
    assert {name: events.Scalars(name)[0].value for name in scalars} == pytest.approx(scalars, rel=1e-6)  # float32
    [text] = events.Tensors("rows/text_summary")
    lines = text.tensor_proto.string_val[0].decode().splitlines()
    assert len(lines) == 2 + len(table)
    assert lines[0] == " | ".join(table[0])


def test_the_example_by_hand_is_what_the_functions_compute():
    [*examples] = blocks(DOCS / "human_parity.md", "python")
    found = doctest.DocTestParser().get_doctest("\n".join(examples), {}, "human_parity.md", None, 0)
    assert len(found.examples) == 13
    assert doctest.DocTestRunner().run(found).failed == 0


def test_the_image_example_prefers_the_right_caption(tmp_path):
    right, wrong = run_blocks("images_and_video.md", tmp_path)["fit"]["pac_score_per_row"]
    assert right > wrong


def test_the_example_of_long_texts_reads_them_in_windows(tmp_path):
    names = run_blocks("texts.md", tmp_path)
    assert (names["result"]["n_rows"], names["result"]["n_windowed"]) == (3, 0)
    assert (names["whole_pages"]["n_truncated"], names["whole_pages"]["n_windowed"]) == (0, 3)


def test_the_card_of_the_toy_loads_it(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    exec(compile(*blocks(ROOT / "checkpoints" / "tiny-pac" / "README.md", "python"), "tiny-pac", "exec"), names)
    assert names["pac_score"].name == "pac_score"


@pytest.mark.slow
def test_the_example_of_compare_from_python(tmp_path):
    write_sample(tmp_path)
    assert len(run_blocks("compare.md", tmp_path)["comparison"].result.ids) == 14
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.mark.slow
def test_the_command_of_large_runs(tmp_path, monkeypatch):
    write_sample(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert command_line.main(commands(DOCS / "scale.md")[0][1:]) == 0
    assert (tmp_path / "scores" / "summary.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["parity_map", "run_notebooks"])
def test_the_picture_and_the_notebooks_show_what_programs_give(tool):
    command = [sys.executable, "-m", f"scripts.repository.{tool}", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-5000:]
    return folder


class Addresses(html.parser.HTMLParser):
    """Identifiers of a page, and what it loads."""

    def __init__(self, page):
        super().__init__()
        self.identifiers, self.loaded = set(), []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.identifiers |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "link" or "src" in given:
            self.loaded.append(given.get("href") or given.get("src"))


@pytest.mark.slow
def test_pages_load_their_own_files_alone(site):
    """Links are checked by mkdocs itself, whose warnings are errors."""
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert len(pages) > 15 + len(MODULES)
    for page in pages:
        for address in Addresses(page).loaded:
            own = page.parent / urllib.parse.urlsplit(address).path
            assert address.startswith("data:") or own.exists(), (page.name, address)


@pytest.mark.slow
def test_pages_are_small_and_have_a_copy_as_markdown(site):
    listed = re.findall(r"\]\((.+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    pages = {path.relative_to(site).with_suffix("").as_posix(): path for path in site.rglob("*.html")}
    del pages["404"]
    assert {name.removesuffix(".md") for name in listed} == set(pages)
    for name, page in pages.items():
        pictures = {page.parent / each for each in Addresses(page).loaded if each.endswith((".png", ".svg"))}
        assert page.stat().st_size + sum(each.stat().st_size for each in pictures) < MOST, name
    for name in listed:
        copy = (site / name).read_text(encoding="utf-8")
        assert "\n::: " not in copy
        assert len(copy) > 200, name


@pytest.mark.slow
def test_the_pages_of_commands_and_functions_have_all_of_them(site):
    page = Addresses(site / "command_line.html")
    assert set(command_line.COMMANDS) <= page.identifiers
    functional = importlib.import_module("manycaps.functional")
    described = {each.rpartition(".")[2] for each in Addresses(site / "python.html").identifiers}
    assert set(functional.__all__) <= described


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [*zip(WIDTHS, ("light", "dark"), strict=True)])
def test_a_browser_asks_for_nothing_from_elsewhere(browser, address, width, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    requested_addresses(browser)
    for name in OPENED:
        browser.get(f"{address}{name}.html")
        # Only tables, code and pictures scroll sideways, not the page.
        assert browser.execute_script("return document.documentElement.scrollWidth") == width, name
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        channels = [int(each) for each in re.findall(r"\d+", paper)[:3]]
        assert (sum(channels) > 600) == (scheme == "light"), (name, paper)
    own = (address, "data:", "chrome:", "blob:")
    assert [each for each in requested_addresses(browser) if not each.startswith(own)] == []
    assert browser.get_log("browser") == []
