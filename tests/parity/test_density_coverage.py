"""Precision, recall, density and coverage beside the authors' package, prdc 0.2, by golden values.

Tolerance 1e-12: both count the same spheres, and divide once.
"""

import json

import pytest

from manycaps import functional
from tests.golden_folders import OWN_GOLDEN
from tests.parity.golden.make_density_coverage import caption_sets, drawn_sets

GOLDEN = json.loads((OWN_GOLDEN / "density_coverage.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=lambda row: f"{row['drawn'] or 'captions'}-{row['k']}")
def test_values_are_those_of_the_authors_package(row):
    candidates, references = drawn_sets(*row["drawn"]) if row["drawn"] else caption_sets()
    found = functional.density_coverage(candidates, references, row["k"])._asdict()
    assert found == pytest.approx({name: row[name] for name in found}, abs=1e-12)
