"""MID beside the authors' program, by golden values; 1e-9: their inverses and singular values round otherwise."""

import json

import pytest

from manycaps import functional
from tests.golden_folders import OWN_GOLDEN
from tests.parity.golden.make_mid import drawn_pairs

GOLDEN = json.loads((OWN_GOLDEN / "mid.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=lambda row: str(row["drawn"]))
def test_mid_is_that_of_the_authors_program(row):
    found = functional.mutual_divergence(*drawn_pairs(*row["drawn"]))
    assert found.mid == pytest.approx(row["mid"], rel=1e-9, abs=1e-9)
    assert found.pointwise[:5].tolist() == pytest.approx(row["pointwise"], rel=1e-9, abs=1e-9)
