"""The files of tests/unit mirror what they test: test_x.py stands where x.py, or the folder x, stands."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNIT = ROOT / "tests" / "unit"
FILES = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_unit_test_stands_where_its_subject_stands(path):
    """Of the package, or of another folder of the repository."""
    subject = path.with_name(path.stem.removeprefix("test_"))
    places = [ROOT / "manycaps" / subject, ROOT / subject]
    assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)
