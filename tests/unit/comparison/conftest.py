"""Systems beside people, compared once for the tests of what is made of the result."""

import pytest

from manycaps.comparison import CompareOptions, compare
from tests.comparison_cases import caption_rows, write_captions

N_SYSTEMS = 7


@pytest.fixture(scope="session")
def with_people(tmp_path_factory):
    """The result of seven systems on twelve rows: copies of three, some with captions of other images."""
    rows = caption_rows()
    systems = {f"system {i}": rows[("base", "repeating", "other")[i % 3]] for i in range(N_SYSTEMS)}
    files = write_captions(tmp_path_factory.mktemp("captions"), {**systems, "references": rows["references"]})
    options = {"distance": "cider", "metrics": ["trm_cider"], "n_resamples": 99, "full": True}
    return compare(
        CompareOptions([files[name] for name in systems], references=[files["references"]], **options)
    ).result
