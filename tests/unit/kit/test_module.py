"""The contract of modules: options of a load and of a call, the version, and labels of rows."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pytest

import manycaps
from manycaps.functional import paired_test
from manycaps.kit.errors import InputError
from manycaps.kit.module import VERSION, as_label, as_labels, take_compute_options, take_load_options
from tests.refusals import assert_refused
from tests.tools import ROOT
from tests.unit.kit.text_cases import len_distance


def test_options_of_a_load_and_of_a_call():
    """Keywords of evaluate pass through; None means as at load time, and 0 does not."""
    keywords = {"seed": 3, "cache_dir": "x", "num_process": 1}
    assert take_load_options(keywords, {"seed": 0, "details": False}) == {"seed": 3, "details": False}
    assert keywords == {"cache_dir": "x", "num_process": 1}
    loaded = {"seed": 3, "details": True}
    assert take_compute_options({"seed": None, "details": False}, loaded) == {"seed": 3, "details": False}
    assert take_compute_options({"seed": 0}, loaded) == {"seed": 0, "details": True}


def test_one_version_everywhere():
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## \[(\d.*?)\]"),
    ):
        assert re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE).group(1) == VERSION, name


@pytest.mark.parametrize("name", ["trm_meteor", "pac_score", "vdtk_leave_one_out"])
def test_an_option_called_self_is_one_that_nobody_knows(name):
    unknown = "expected options among [.*], got ['self']. Check the spelling"
    assert_refused(TypeError, f"load: {unknown}", manycaps.load, name, self=1)
    module = manycaps.load(name)
    assert_refused(TypeError, f"compute: {unknown}. With evaluate.combine, give", module.compute, self=1)
    for add in (module.add, module.add_batch):
        assert_refused(TypeError, "add_batch: expected columns among [.*], got ['self']. Check the sp", add, self=1)


PEOPLE = manycaps.load_sample()["references"]


# Labels.


class Compared:
    """Compared by its identity."""


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.array("a"), "a"),
        (np.str_("a"), "a"),
        (np.datetime64("2026-01-02"), datetime.date(2026, 1, 2)),
        (Decimal("1.5"), Decimal("1.5")),
        (datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 2)),
        (("coco", np.int64(3)), ("coco", 3)),
        (b"a", b"a"),
        (True, True),
    ],
)
def test_labels_become_plain_values(label, expected):
    assert as_label(label, "clusters[0]") == expected
    assert type(as_label(label, "clusters[0]")) is type(expected)


@pytest.mark.parametrize("label", [Compared(), ["a"], {1}, np.array([1, 2]), (1, Compared()), None, float("nan")])
def test_labels_that_nothing_else_equals_are_refused(label):
    with pytest.raises(InputError, match=r"^clusters\[1\]: expected a string or a number, got "):
        as_labels(["a", label], "clusters", 2)


def test_tensors_are_the_labels_that_they_hold():
    torch = pytest.importorskip("torch")
    ids = [i // 2 for i in range(14)]
    labels = [label for batch in torch.tensor(ids).split(4) for label in batch]
    assert as_labels(labels, "clusters") == as_labels(torch.tensor(ids), "clusters") == ids
    with pytest.raises(InputError, match=r"clusters\[0\]: expected a string or a number, got Tensor"):
        as_labels([torch.tensor([1])] * 2, "clusters")
    columns = {"predictions": [row[:2] for row in PEOPLE], "references": [row[2:] for row in PEOPLE]}
    for name, key in (("trm", "trm_ci_high"), ("wording", "wording_gap_ci_high"), ("human_parity", "gaps_p_value")):
        options = {} if name == "wording" else {"distance": len_distance}
        module = manycaps.load(name, confidence_level=0.95, **options)
        by_tensors, by_numbers = (module.compute(**columns, clusters=each)[key] for each in (labels, ids))
        assert by_tensors == pytest.approx(by_numbers, nan_ok=True)
    first, second = np.arange(14.0), np.arange(14.0)[::-1] / 3
    assert paired_test(first, second, labels) == paired_test(first, second, ids)
