"""Which names of models are paths, and what is said of one that does not exist."""

from manycaps.kit.base_files import is_path, no_such_path
from tests.each_case import each_case


@each_case(
    "name",
    ["/a", "./a", "../a/b", "~/a", "a/b/c", "a/", "a\\b", "a.pth", "someone/a.safetensors", "checkpoints/a", "runs/a"],
)
def test_what_can_only_be_a_path(name):
    assert is_path(name)
    assert not is_path(f"hub:{name}")


@each_case("name", ["minilm", "someone/minilm", "someone/checkpoints", "some.one/mini-lm_v2.1", "models"])
def test_what_the_hub_may_know(name):
    assert not is_path(name)


def test_a_missing_path_says_where_relative_ones_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = f"no such folder or file, relative paths start at {tmp_path}. Check the path"
    assert no_such_path("a/b/c") == f"'a/b/c': {start}."
    assert no_such_path("runs/a") == f"'runs/a': {start}; for a repository on the Hub write 'hub:runs/a'."


def test_a_path_that_is_there_is_said_to_be_what_it_is(tmp_path):
    file = tmp_path / "model.bin"
    file.touch()
    assert no_such_path(str(tmp_path)).endswith(", which is a folder. Name a file in it.")
    assert no_such_path(str(file)).endswith("model.bin', which is a file. Name a folder.")
    assert no_such_path("/dev/null") == "'/dev/null', which is neither a file nor a folder. Name another."
