"""A table of cases as one test: every case runs under its name, and one that fails stops no other."""

import contextlib
import inspect

from tests.each_case import each_case


class Subtests:
    """Stands in for pytest's fixture: keeps the names of the cases, and of those that fail."""

    def __init__(self):
        self.names, self.failed = [], []

    @contextlib.contextmanager
    def test(self, name):
        self.names.append(name)
        try:
            yield
        except AssertionError:
            self.failed.append(name)


def test_a_case_that_fails_stops_no_other():
    @each_case("value", [1, 2, 3])
    def is_not_two(value):
        assert value != 2

    subtests = Subtests()
    is_not_two(subtests)
    assert (subtests.names, subtests.failed) == (["1", "2", "3"], ["2"])


def test_names():
    seen = []

    @each_case(("name", "value"), [("a", [1]), ("b", None)])
    @each_case("other", {"x": 1, "y": 2}, ids=str.upper)
    def test(name, value, other):
        seen.append((name, value, other))

    subtests = Subtests()
    test(subtests)
    assert subtests.names == ["X-a-value0", "X-b-None", "Y-a-value0", "Y-b-None"]
    assert seen == [("a", [1], "x"), ("b", None, "x"), ("a", [1], "y"), ("b", None, "y")]


def test_fixtures_are_asked_for_and_a_case_has_its_own_folder_and_patches(tmp_path, monkeypatch):
    monkeypatch.setenv("EACH_CASE", "before")

    @each_case("value", [1, 2])
    def test(value, tmp_path, monkeypatch):
        assert not list(tmp_path.iterdir())
        (tmp_path / "file").touch()
        monkeypatch.setenv("EACH_CASE", str(value))

    assert list(inspect.signature(test).parameters) == ["subtests", "tmp_path", "monkeypatch"]
    subtests = Subtests()
    test(subtests, tmp_path=tmp_path, monkeypatch=monkeypatch)
    assert (subtests.names, subtests.failed) == (["1", "2"], [])
    assert len(list(tmp_path.rglob("file"))) == 2
