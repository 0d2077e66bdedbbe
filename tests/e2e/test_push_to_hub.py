"""Pushing modules to a hub on this machine, and loading them from it by their Hub id."""

import functools
import importlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import huggingface_hub
import pytest

from scripts.repository import push_to_hub, sync_kit
from tests.each_case import each_case
from tests.hub_stand_in import EXPIRED, READER, WRITER, running_hub
from tests.large_packages import evaluate

ROOT = pathlib.Path(__file__).resolve().parents[2]

CARD = "---\ntitle: Demo\nsdk: gradio\nsdk_version: 6.0.0\napp_file: app.py\n---\n\n# Demo\n"


@pytest.fixture
def versions(monkeypatch):
    """The versions installed here, with any gradio that a card asks for."""
    found = push_to_hub.installed_version
    asked = {"gradio": "6.0.0"}
    monkeypatch.setattr(push_to_hub, "installed_version", lambda name: asked.get(name) or found(name))
    return asked


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with running_hub() as running:
        monkeypatch.setattr(push_to_hub, "HfApi", functools.partial(huggingface_hub.HfApi, endpoint=running.endpoint))
        yield running


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository with one module, and much in its folder that must not be uploaded."""
    folder = tmp_path / "metrics" / "demo"
    contents = {
        "demo.py": "from .text_count import count\n",
        "README.md": CARD,
        "requirements.txt": "# why\nnumpy>=1.26\ngradio>=5\ntqdm>=4; python_version>='3.8'\n",
        "app.py": "import gradio\n",
        "examples/one.txt": "a dog\n",
        "test_demo.py": "",
        "tests/case.py": "",
        "__pycache__/demo.cpython-311.pyc": "",
        ".pytest_cache/x": "",
        ".env": "secret",
    }
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "manycaps" / "kit").mkdir(parents=True)
    (tmp_path / "manycaps" / "kit" / "text_count.py").write_text("def count(rows):\n    return len(rows)\n")
    monkeypatch.setattr(sync_kit, "ROOT", tmp_path)
    monkeypatch.setattr(sync_kit, "KIT", tmp_path / "manycaps" / "kit")
    assert sync_kit.main(check=False) == 0
    return folder


@pytest.fixture
def push(hub, folder, versions, monkeypatch, capsys):
    """Call the script's main; the result is its exit code and what it printed. Waits are noted, not waited."""
    waits = []
    monkeypatch.setattr(push_to_hub.time, "sleep", waits.append)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    capsys.readouterr()

    def call(*, modules=(), dry_run=False, token=WRITER):
        code = push_to_hub.main("manycaps", list(modules), dry_run, token)
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    call.waits = waits
    return call


def test_a_new_space_gets_the_folder_without_tests_and_caches(push, hub, folder):
    code, printed = push()
    assert code == 0
    assert printed.endswith("manycaps/demo: new\n")
    files = hub.files("manycaps/demo")
    expected = """
        .gitattributes README.md app.py demo.py examples/one.txt requirements.txt text_count.py
    """
    assert sorted(files) == expected.split()
    for name in ("README.md", "app.py", "demo.py", "text_count.py", "examples/one.txt"):
        assert files[name] == (folder / name).read_bytes()
    numpy, tqdm = (importlib.metadata.version(name).split("+")[0] for name in ("numpy", "tqdm"))
    pins = f'numpy=={numpy}\ngradio==6.0.0\ntqdm=={tqdm}; python_version >= "3.8"\n'
    assert files["requirements.txt"].decode() == pins


def test_a_second_run_has_nothing_to_do(push, hub):
    push()
    before = len(hub.requests)
    assert push() == (0, "manycaps/demo: nothing to do\n")
    assert len(hub.spaces["manycaps/demo"]) == 2, "the commit that made the Space, and ours"
    assert {method for method, _ in hub.requests[before:]} == {"GET"}


def test_an_update_prints_and_sends_the_difference_only(push, hub, folder):
    push()
    (folder / "app.py").write_text("import gradio\nimport numpy\n")
    (folder / "examples" / "one.txt").unlink()
    (folder / "examples" / "two.png").write_bytes(b"\x89PNG\xff")
    code, dry = push(dry_run=True)
    assert code == 0
    assert len(hub.spaces["manycaps/demo"]) == 2, "a dry run changes nothing"
    code, printed = push()
    assert dry.replace("would be updated", "updated") == printed
    assert printed.splitlines() == [
        "--- there/app.py",
        "+++ here/app.py",
        "@@ -1 +1,2 @@",
        " import gradio",
        "+import numpy",
        "  new file examples/two.png: 5 bytes",
        "--- there/examples/one.txt",
        "+++ nothing",
        "@@ -1 +0,0 @@",
        "-a dog",
        "manycaps/demo: updated",
    ]
    assert "examples/one.txt" not in hub.files("manycaps/demo")
    assert hub.files("manycaps/demo")["examples/two.png"] == b"\x89PNG\xff"
    assert len(hub.spaces["manycaps/demo"]) == 3
    (folder / "examples" / "two.png").write_bytes(b"\x89PNG\xfe\xff")
    assert "  examples/two.png: 5 bytes there, 6 here\n" in push()[1]


def test_a_dry_run_needs_no_token_and_makes_no_space(push, hub):
    code, printed = push(dry_run=True, token=False)
    assert code == 0
    assert "  new file text_count.py: " in printed
    assert printed.endswith("manycaps/demo: would be new\n")
    assert hub.spaces == {}


FAILURES = {
    ("POST", "/api/repos/create"): (503, 2),
    ("POST", "/commit/"): (503, 2),
    ("POST", "/commit/.*"): ("hang up", 1),
    ("GET", "/tree/"): (503, 2),
    ("GET", "/api/spaces/manycaps/demo$"): (503, 2),
}


@each_case(("method", "route"), FAILURES)
def test_a_server_that_is_out_of_order_for_a_moment(push, hub, method, route):
    status, times = FAILURES[method, route]
    hub.spaces.clear()
    push.waits.clear()
    hub.fail(method, route, status, times)
    code, printed = push()
    assert code == 0, printed
    # The Space may have been made before the failure.
    assert re.search(r"^manycaps/demo: (new|updated)$", printed, re.MULTILINE)
    assert "demo.py" in hub.files("manycaps/demo")
    assert len(hub.spaces["manycaps/demo"]) == 2
    assert push.waits == [2.0, 4.0][:times] or (method == "GET" and len(push.waits) <= 2), "the library repeats reading"


def test_a_lost_answer_to_a_commit_makes_no_second_commit(push, hub, monkeypatch):
    take_commit = huggingface_hub.HfApi.create_commit
    lost = []

    def answer_lost(self, *arguments, **keywords):
        take_commit(self, *arguments, **keywords)
        if not lost:
            lost.append(True)
            raise push_to_hub.HTTPError("connection reset")

    monkeypatch.setattr(huggingface_hub.HfApi, "create_commit", answer_lost)
    code, printed = push()
    assert code == 0
    assert "manycaps/demo: nothing to do\n" in printed
    assert len(hub.spaces["manycaps/demo"]) == 2


# What was expected of a server that refuses, or stays out of order.
EXPECTED = {
    401: "a valid token, got one that the Hub refuses (401). Make a new one with write access.",
    403: "a token that may write, got a refusal (403). Give one of a member of the organisation.",
    503: "an answer, got status 503 in 5 attempts. Run this again later: it resumes here.",
}


@each_case("status", EXPECTED)
def test_a_server_that_refuses_is_asked_once_and_one_out_of_order_five_times(push, hub, status):
    push.waits.clear()
    hub.failures[:] = []
    hub.fail("POST", "/commit/", status, times=99)
    code, printed = push(token=READER if status == 403 else WRITER)
    assert (code, push.waits) == (1, [2.0, 4.0, 8.0, 16.0] if status == 503 else [])
    assert printed.splitlines()[-1] == f"manycaps/demo: expected {EXPECTED[status]}"


def test_an_expired_token_and_no_token(push, hub):
    advice = "Give --token or HF_TOKEN one with write access from https://huggingface.co/settings/tokens.\n"
    refused = f"token: expected a valid token, got one that the Hub refuses (401): expired? {advice}"
    assert push(token=EXPIRED) == (1, refused)
    assert push(token=None) == (1, f"token: expected a token, got none. {advice}")
    assert hub.spaces == {}


def test_a_change_by_somebody_else_is_not_overwritten(push, hub, folder, monkeypatch):
    push()
    (folder / "app.py").write_text("import numpy\n")
    read = push_to_hub.read_space

    def read_and_lose_the_race(api, repo_id):
        space = read(api, repo_id)
        hub.commit(repo_id, {**hub.files(repo_id), "demo.py": b"theirs"}, "somebody else's")
        return space

    monkeypatch.setattr(push_to_hub, "read_space", read_and_lose_the_race)
    code, printed = push()
    assert code == 1
    assert "manycaps/demo: expected the Space as it was read, got a newer commit (412). Run this again." in printed
    assert hub.files("manycaps/demo")["demo.py"] == b"theirs"


def test_one_failure_does_not_stop_the_other_modules(push, hub, folder):
    other = folder.parent / "another"
    other.mkdir()
    (other / "another.py").write_text("")
    (other / "README.md").write_text(CARD)
    (other / "requirements.txt").write_text("a-package-that-is-not-there>=1\n")
    code, printed = push()
    assert code == 1
    assert (
        "another/requirements.txt: expected a-package-that-is-not-there>=1 to be installed, for its version, got None. "
        "Run pip install -r on that file." in printed
    )
    assert "demo.py" in hub.files("manycaps/demo")
    assert push(modules=["demo"])[0] == 0


def test_what_cannot_be_right_is_not_sent(push, hub, folder, versions):
    assert push(modules=["dmeo"]) == (1, "--module: expected some of demo, got dmeo. Check the spelling.\n")
    (folder / "requirements.txt").write_text("numpy<1\n")
    assert "demo/requirements.txt: expected numpy<1 to be installed, for its version, got " in push()[1]
    versions["gradio"] = "5.0.0"
    assert push() == (
        1,
        "demo/README.md: expected sdk_version 6.0.0 to be the gradio that is installed, got 5.0.0. Run pip install -r "
        "tests/requirements.txt: a Space installs both, so they have to go together.\n",
    )
    (folder / "requirements.txt").unlink()
    assert push() == (1, "demo: expected a file requirements.txt, got none. Write it.\n")
    (folder / "text_count.py").unlink()
    (folder / "text_count.py").write_text("old")
    repair = "Run `make format`."
    stale = f"metrics/demo/text_count.py: expected a link to ../../manycaps/kit/text_count.py. {repair}\n"
    assert push() == (1, stale)
    assert hub.spaces == {}


def test_a_card_that_the_hub_does_not_take(push, hub, folder):
    (folder / "README.md").write_text(CARD.replace("title: Demo", "title: Demo\ncolorFrom: mauve"))
    code, printed = push()
    assert code == 1
    refusal = 'Invalid metadata in README.md. - "colorFrom" must be one of [red, yellow, green, blue]'
    assert f"manycaps/demo: expected a name and a card that the Hub takes, got: {refusal}\n" in printed
    assert "demo.py" not in hub.files("manycaps/demo")


def test_a_space_without_its_page_is_pointed_out(push, hub, folder):
    (folder / "app.py").unlink()
    code, printed = push()
    assert code == 0
    assert printed.startswith("demo: no app.py: the module will load, but the Space shows no page\n")
    assert "demo.py" in hub.files("manycaps/demo")


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("gradio"), reason="the versions of a Space need gradio beside them")
def test_the_command_line(hub):
    options = ["--org", "manycaps", "--module", "trm_meteor", "--module", "trm_cider", "--dry-run"]
    environment = {**os.environ, "HF_ENDPOINT": hub.endpoint, "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "scripts.repository.push_to_hub", *options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = [line for line in done.stdout.splitlines() if line.startswith("manycaps/")]
    assert outcomes == ["manycaps/trm_meteor: would be new", "manycaps/trm_cider: would be new"]
    assert hub.asked("GET", "/api/spaces/manycaps/trm_meteor") == 1


SDK_VERSION = re.search(r"^gradio==(\S+)$", (ROOT / "tests" / "requirements.txt").read_text(), re.MULTILINE)[1]


def test_the_space_of_a_module_gets_the_files_of_its_page_alone(versions):
    versions["gradio"] = SDK_VERSION
    files = push_to_hub.space_files(push_to_hub.space_folders()["trm_cider"])
    pages = {name.removeprefix("manycaps/") for name in files if name.startswith("manycaps/")}
    others = {"examples", "form", "inputs", "results", "verdict", "weights"}
    programs = {"__init__.py", *(f"pages/{name}.py" for name in ("__init__", "module_page", *others))}
    assert pages == {*programs, "pages/examples.json", "pages/form.css"}
    assert push_to_hub.page_files("import gradio\n") == {}


def test_every_module_and_page_of_the_repository_makes_a_space(versions):
    versions["gradio"] = SDK_VERSION
    folders = push_to_hub.space_folders()
    assert "compare" in folders
    assert {"app.py", "manycaps/__init__.py", "manycaps/metrics/trm_cider/trm_cider.py"} <= set(
        push_to_hub.space_files(folders["compare"])
    )
    for folder in folders.values():
        files = push_to_hub.space_files(folder)
        assert {"manycaps/__init__.py", "manycaps/pages/form.py"} <= set(files)
        assert {path.name for path in folder.glob("*_*.py")} <= set(files)
        pins = files["requirements.txt"].decode().splitlines()
        assert all(re.fullmatch(r"[\w\-\[\],]+==[\w.]+(; .+)?", line) for line in pins), pins


# Loading by Hub id.

ROWS = {"predictions": [["a dog runs", "a wet dog"]], "references": [["a dog", "the dog is running"]]}

USE = f"import json, evaluate; print(json.dumps(evaluate.load('manycaps/trm_meteor').compute(**{ROWS})))"


@pytest.mark.slow
def test_a_module_loads_by_its_hub_id_and_afterwards_from_the_cache(tmp_path, monkeypatch, versions):
    versions["gradio"] = SDK_VERSION
    expected = evaluate.load(str(ROOT / "metrics" / "trm_meteor")).compute(**ROWS)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_UPDATE_DOWNLOAD_COUNTS", "0")
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "0")
    (tmp_path / "elsewhere").mkdir()  # a folder without ./manycaps, which would come first

    def used():
        command = [sys.executable, "-c", USE]
        folder = tmp_path / "elsewhere"
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        assert json.loads(done.stdout) == expected
        return done.stderr

    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setattr(push_to_hub, "HfApi", functools.partial(huggingface_hub.HfApi, endpoint=hub.endpoint))
        assert push_to_hub.main("manycaps", ["trm_meteor"], dry_run=False, token=WRITER) == 0
        assert list(hub.spaces) == ["manycaps/trm_meteor"]
        used()
        assert hub.asked("GET", "/spaces/manycaps/trm_meteor/resolve/main/sets_triangle_rank.py") == 1
    assert "Using the latest cached version of the module" in used()
