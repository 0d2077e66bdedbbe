"""Options: names refused, values checked, load time under compute time."""

import re

import pytest

import manycaps
from manycaps.kit.base import VERSION, take_compute_options, take_load_options
from tests.refusals import assert_refused
from tests.tools import ROOT


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


@pytest.mark.parametrize(
    "name", ["trm_meteor", "trm", "mmd", "human_parity", "emscore_pac", "pac_score", "fid_bert", "vdtk_leave_one_out"]
)
def test_an_option_called_self_is_one_that_nobody_knows(name):
    unknown = "expected options among [.*], got ['self']. Check the spelling"
    assert_refused(TypeError, f"load: {unknown}", manycaps.load, name, self=1)
    module = manycaps.load(name)
    assert_refused(TypeError, f"compute: {unknown}", module.compute, self=1)
    for add in (module.add, module.add_batch):
        assert_refused(TypeError, "add_batch: expected columns among [.*], got ['self']. Check the sp", add, self=1)
