"""Files and models that a caller names: what is opened, where a path begins to be missing, and states of folders."""

import os

import pytest

from manycaps.kit.files import is_folder, is_path, is_regular_file, no_such_path, open_regular_file, path_state
from tests.refusals import assert_refused

# Files that a caller names: regular ones alone, within a limit.


def test_a_regular_file_is_opened_within_the_limit(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    with open_regular_file(tmp_path / "file", 7) as file:
        assert file.read() == b"content"
    assert_refused(OSError, ".*7 bytes, more than 6", open_regular_file, tmp_path / "file", 6)


def test_what_is_no_file_is_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        assert not is_regular_file(path)
        assert_refused(OSError, ".*not a regular file", open_regular_file, path, 1)
    assert is_folder(tmp_path)
    assert not is_folder(tmp_path / "pipe")
    for name in ("a\0b", "\ud800", "a" * 5000, "nowhere"):
        assert not is_regular_file(name)
        assert not is_folder(name)
        assert_refused(OSError, "", open_regular_file, name, 1)


PATHS = "/a ./a ../a/b ~/a a/b/c a/ a\\b a.pth someone/a.safetensors checkpoints/a runs/a".split()


@pytest.mark.parametrize(
    "name", [*PATHS, *"minilm someone/minilm someone/checkpoints some.one/mini-lm_v2.1 models".split()]
)
def test_a_path_and_what_the_hub_may_know(name):
    assert is_path(name) == (name in PATHS)
    assert not is_path(f"hub:{name}")


def test_what_a_path_is_and_where_a_missing_one_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = f"no such folder or file, relative paths start at {tmp_path}"
    assert no_such_path("a/b/c") == (f"'a/b/c': {start}", "Check the path.")
    hub = "Check the path; for a repository on the Hub write 'hub:runs/a'."
    assert no_such_path("runs/a") == (f"'runs/a': {start}", hub)
    file = tmp_path / "model.bin"
    file.touch()
    assert no_such_path(str(tmp_path))[1] == "Name a file in it."
    got, fix = no_such_path(str(file))
    assert got.endswith("model.bin', which is a file")
    assert fix == "Name a folder."
    assert no_such_path("/dev/null") == ("'/dev/null', which is neither a file nor a folder", "Name another.")


def test_the_state_of_a_folder_looks_at_a_models_files_and_no_deeper(tmp_path):
    (tmp_path / "1_Pooling" / "deeper").mkdir(parents=True)
    (tmp_path / "1_Pooling" / "config.json").write_text("{}", encoding="utf-8")
    before = path_state(tmp_path)
    (tmp_path / "1_Pooling" / "deeper" / "file").write_text("x", encoding="utf-8")
    assert path_state(tmp_path) == before
    (tmp_path / "1_Pooling" / "config.json").write_text("[]", encoding="utf-8")
    assert path_state(tmp_path) != before
