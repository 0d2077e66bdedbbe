"""The command `push`, to a hub on this machine, and loading from it by the Hub id."""

import functools
import importlib
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys

import huggingface_hub
import pytest

from manycaps.catalog import hub_spaces, installed_modules
from manycaps.commands import command_line
from scripts.repository import sync_kit
from tests.hub_stand_in import READER, WRITER, running_hub
from tests.large_packages import evaluate
from tests.tools import ROOT

pytestmark = pytest.mark.skipif(huggingface_hub.__version__ < "1", reason="gradio needs huggingface_hub 1 or newer")

CARD = "---\ntitle: Demo\nsdk: gradio\nsdk_version: 6.0.0\napp_file: app.py\n---\n\n# Demo\n"


@pytest.fixture
def versions(monkeypatch):
    """The versions installed here, with any gradio that a card asks for."""
    found = hub_spaces.installed_version
    asked = {"gradio": "6.0.0"}
    monkeypatch.setattr(hub_spaces, "installed_version", lambda name: asked.get(name) or found(name))
    return asked


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with running_hub() as running:
        monkeypatch.setattr(hub_spaces, "HfApi", functools.partial(huggingface_hub.HfApi, endpoint=running.endpoint))
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
    (tmp_path / "pyproject.toml").write_text("")
    for name in ("measurements", "docs", "spaces"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(installed_modules, "PACKAGE", tmp_path / "manycaps")
    monkeypatch.setattr(sync_kit, "ROOT", tmp_path)
    monkeypatch.setattr(sync_kit, "KIT", tmp_path / "manycaps" / "kit")
    assert sync_kit.main(check=False) == 0
    return folder


@pytest.fixture
def push(hub, folder, versions, monkeypatch, capsys):
    """Call the command; the result is its exit code and what it printed."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    capsys.readouterr()

    def call(*modules, dry_run=False, token=WRITER):
        options = ["--org", "manycaps", "--token", token, *(["--dry-run"] if dry_run else [])]
        code = command_line.main(["push", *modules, *options])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return call


def test_a_new_space_gets_the_folder_without_tests_and_caches_once(push, hub, folder):
    code, printed = push()
    assert code == 0
    assert printed.endswith("manycaps/demo: new\n")
    files = hub.files("manycaps/demo")
    expected = """
        .gitattributes README.md app.py demo.py examples/one.txt requirements.txt text_count.py
    """
    assert sorted(files) == expected.split()
    for name in ("README.md", "app.py", "demo.py", "text_count.py", "examples/one.txt"):
        content = files[name].decode().replace(f"python_version: '{hub_spaces.running_python()}'\n", "")
        assert content == (folder / name).read_text()
    numpy, tqdm = (importlib.metadata.version(name).split("+")[0] for name in ("numpy", "tqdm"))
    pins = f'numpy=={numpy}\ngradio==6.0.0\ntqdm=={tqdm}; python_version >= "3.8"\n'
    assert files["requirements.txt"].decode() == pins
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
        "  changed: app.py",
        "  new: examples/two.png",
        "  deleted: examples/one.txt",
        "manycaps/demo: updated",
    ]
    assert "examples/one.txt" not in hub.files("manycaps/demo")
    assert hub.files("manycaps/demo")["examples/two.png"] == b"\x89PNG\xff"
    assert len(hub.spaces["manycaps/demo"]) == 3


def test_a_commit_of_somebody_else_is_not_overwritten(push, hub, folder, monkeypatch):
    push()
    read = hub_spaces.read_space

    def read_and_lose_the_race(api, repo_id):
        space = read(api, repo_id)
        hub.commit(repo_id, {**hub.files(repo_id), "demo.py": b"theirs"}, "somebody else's")
        return space

    (folder / "app.py").write_text("import numpy\n")
    monkeypatch.setattr(hub_spaces, "read_space", read_and_lose_the_race)
    code, printed = push()
    assert code == 1
    assert "A commit has happened since" in printed
    assert hub.files("manycaps/demo")["demo.py"] == b"theirs"


def test_a_token_that_may_not_write_is_refused(push, hub):
    code, printed = push(token=READER)
    assert (code, hub.spaces) == (1, {})
    assert "manycaps/demo: " in printed
    assert "403" in printed
    assert printed.endswith("push: expected Spaces that can be updated, got 1 that cannot. The reasons stand above.\n")


def test_what_cannot_be_right_is_not_sent_and_stops_no_other_module(push, hub, folder, versions):
    message = "NAME: expected some of demo, got dmeo. Did you mean demo? Check the spelling.\n"
    assert push("dmeo") == (1, message)
    card = folder / "README.md"
    card.write_text(CARD.replace("title: Demo", "title: Demo\ncolorFrom: mauve"))
    assert '"colorFrom" must be one of [red, yellow, green, blue]' in push()[1]
    card.write_text(CARD)
    versions["gradio"] = "5.0.0"
    message = (
        "demo/README.md: expected sdk_version 6.0.0 to be the gradio that is installed, got 5.0.0. Run `pip install "
    )
    assert f"{message}gradio==6.0.0`" in push()[1]
    assert "demo.py" not in hub.files("manycaps/demo")
    versions["gradio"] = "6.0.0"
    other = folder.parent / "another"
    other.mkdir()
    (other / "another.py").write_text("")
    (folder.parents[1] / "manycaps" / "kit" / "another.py").write_text("")
    (other / "README.md").write_text(CARD)
    (other / "requirements.txt").write_text("a-package-that-is-not-there>=1\n")
    (folder / "app.py").unlink()
    code, printed = push()
    assert code == 1
    assert "another/requirements.txt: expected a-package-that-is-not-there>=1 to be installed" in printed
    assert "Run `pip install 'a-package-that-is-not-there>=1'`." in printed
    assert "demo: no app.py: the module will load, but the Space shows no page\n" in printed
    assert "demo.py" in hub.files("manycaps/demo")
    (folder / "requirements.txt").unlink()
    assert "demo: expected a file requirements.txt, got none. Write it.\n" in push("demo")[1]


def test_what_is_sent_of_the_kit_is_the_kits_own_file(push, hub, folder):
    (folder / "text_count.py").unlink()
    (folder / "text_count.py").write_text("old")
    assert push()[0] == 0
    assert hub.files("manycaps/demo")["text_count.py"].startswith(b"def count(rows):")


SDK_VERSION = re.search(r"^gradio==(\S+)$", (ROOT / "tests" / "requirements.txt").read_text(), re.MULTILINE)[1]


@pytest.mark.slow
def test_every_module_and_page_of_the_repository_makes_a_space(versions):
    versions["gradio"] = SDK_VERSION
    folders = hub_spaces.space_folders()
    assert "compare" in folders
    assert {"app.py", "manycaps/__init__.py", "manycaps/metrics/trm_cider/trm_cider.py"} <= set(
        hub_spaces.space_files(folders["compare"], "me")
    )
    for folder in folders.values():
        files = hub_spaces.space_files(folder, "me")
        assert {"manycaps/__init__.py", "manycaps/pages/form.py", "manycaps/pages/examples.json"} <= set(files)
        assert {path.name for path in folder.glob("*_*.py")} <= set(files)
        pins = files["requirements.txt"].decode().splitlines()
        assert all(re.fullmatch(r"[\w\-\[\],]+==[\w.]+(; .+)?", line) for line in pins), pins
        card = files["README.md"].decode()
        assert f"\npython_version: '{hub_spaces.running_python()}'\n" in card
        if folder.parent.name != "spaces":
            assert f'evaluate.load("me/{folder.name}"' in card
            assert {f"docs/{name}" for name in re.findall(r"/blob/main/docs/(\w+\.md)", card)} <= set(files)
            assert re.search(r"\]\(\.\.|manycaps export", card) is None
            assert f'evaluate.load("me/{folder.name}"' in files[f"{folder.name}.py"].decode()
            assert "module.py" in files
            for name in {"module.py", "manycaps/kit/module.py"} & set(files):
                assert b'SPACES = "https://huggingface.co/spaces/me"\n' in files[name]


def test_a_card_that_needs_the_repository_is_refused(push, folder):
    (folder / "README.md").write_text(f"{CARD}\nRun `make` in the\nrepository.\n")
    message = "expected a card that needs no repository, got 'in the\\nrepository' in line 10 of what the Space gets."
    assert f"demo/README.md: {message}" in push()[1]


def test_a_version_that_does_not_admit_the_python_of_the_space_is_refused(push, monkeypatch):
    monkeypatch.setattr(hub_spaces, "running_python", lambda: "3.4")
    assert "demo/requirements.txt: expected numpy to admit Python 3.4, which the Space will have, got >=" in push()[1]


@pytest.mark.slow
@pytest.mark.network
def test_the_requirements_of_all_spaces_can_be_installed_with_the_python_that_they_name(versions, tmp_path):
    versions["gradio"] = SDK_VERSION
    pins = {f"gradio=={SDK_VERSION}"}
    for folder in hub_spaces.space_folders().values():
        pins |= set(hub_spaces.space_files(folder, "me")["requirements.txt"].decode().splitlines())
    (tmp_path / "requirements.txt").write_text("\n".join(sorted(pins)))
    # Equal versions everywhere: what can be installed together can be installed for each.
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "-r"]
    done = subprocess.run([*command, tmp_path / "requirements.txt"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# Loading by Hub id.

ROWS = {"predictions": [["a dog runs", "a wet dog"]], "references": [["a dog", "the dog is running"]]}

USE = f"import json, evaluate; print(json.dumps(evaluate.load('manycaps/trm_meteor').compute(**{ROWS})))"


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("gradio"), reason="the versions of a Space need gradio beside them")
def test_a_pushed_module_loads_by_its_hub_id_and_afterwards_from_the_cache(tmp_path, monkeypatch):
    """Pushed by the command, whose dry run needs no token and makes no Space."""
    expected = evaluate.load(str(ROOT / "metrics" / "trm_meteor")).compute(**ROWS)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_UPDATE_DOWNLOAD_COUNTS", "0")
    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "0")
    (tmp_path / "elsewhere").mkdir()  # a folder without ./manycaps, which would come first

    def run(folder, *command):
        command = [sys.executable, *command]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done

    def use_module():
        done = run(tmp_path / "elsewhere", "-c", USE)
        assert json.loads(done.stdout) == expected
        return done.stderr

    push = ["-m", "manycaps", "push", "trm_meteor", "--org", "manycaps"]
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        assert run(ROOT, *push, "--dry-run").stdout.endswith("\nmanycaps/trm_meteor: would be new\n")
        assert hub.spaces == {}
        assert run(ROOT, *push, "--token", WRITER).stdout.endswith("\nmanycaps/trm_meteor: new\n")
        assert list(hub.spaces) == ["manycaps/trm_meteor"]
        use_module()
        assert hub.n_requests("GET", "/spaces/manycaps/trm_meteor/resolve/main/triangle_rank.py") == 1
    assert "Using the latest cached version of the module" in use_module()
