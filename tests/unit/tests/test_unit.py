"""The files of tests/unit mirror what they test: test_x.py, or test_x_topic.py, stands where x.py stands."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNIT = ROOT / "tests" / "unit"
FILES = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))


def is_in_place(path):
    """Whether the package, or another folder of the repository, has a file or a folder that a test is named for."""
    words = path.stem.removeprefix("test_").split("_")
    subjects = [path.with_name("_".join(words[:n])) for n in range(1, len(words) + 1)]
    places = [parent / subject for parent in (ROOT / "manycaps", ROOT) for subject in subjects]
    return any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)


def test_every_unit_test_stands_where_its_subject_stands():
    assert FILES
    assert [str(path) for path in FILES if not is_in_place(path)] == []
