"""Options: names refused, values checked, load time under compute time."""

import math
import re

import pytest

import manycaps
from manycaps.kit.base_module import (
    VERSION,
    check_choice,
    check_confidence_level,
    check_flag,
    check_number,
    check_share,
    check_whole_number,
    take_compute_options,
    take_load_options,
)
from tests.each_case import each_case
from tests.refusals import assert_refused, refusals
from tests.tools import ROOT

DEFAULTS = {"seed": 0, "details": False}
ENDLESS = []
ENDLESS.append(ENDLESS)


def test_options_of_a_load_and_of_a_call():
    """Keywords of evaluate pass through; None means as at load time, and 0 does not."""
    keywords = {"seed": 3, "cache_dir": "x", "num_process": 1}
    assert take_load_options(keywords, DEFAULTS) == {"seed": 3, "details": False}
    assert keywords == {"cache_dir": "x", "num_process": 1}
    loaded = {"seed": 3, "details": True}
    assert take_compute_options({"seed": None, "details": False}, loaded) == {"seed": 3, "details": False}
    assert take_compute_options({"seed": 0}, loaded) == {"seed": 0, "details": True}


VALUE_ERRORS = [
    ("kind: expected one of 'a', 'b', got 'c'.", lambda: check_choice("kind", "c", ("a", "b"))),
    ("kind: expected one of 'a', got None.", lambda: check_choice("kind", None, ("a",))),
    ("seed: expected a whole number of at least 0, got -1.", lambda: check_whole_number("seed", -1, 0)),
    ("confidence_level: expected a number between 0 and 1, got 95.", lambda: check_confidence_level(95)),
    ("gamma: expected a number above 0 and below 1, got 1. Ch", lambda: check_number("gamma", 1, 0, 1)),
    ("gamma: expected a number above 0 and below 1e+09, ", lambda: check_number("gamma", 0.0, 0, 1e9)),
    ("share: expected a share above 0 and at most 1, got 0. Write 90", lambda: check_share("share", 0)),
    ("share: expected a share above 0 and at most 1, got nan.", lambda: check_share("share", math.nan)),
]
TYPE_ERRORS = [
    ("seed: expected a whole number, got bool.", lambda: check_whole_number("seed", True, 0)),
    ("details: expected True or False, got 1.", lambda: check_flag("details", 1)),
    ("confidence_level: expected a number, got str.", lambda: check_confidence_level("high")),
    ("gamma: expected a number, got bool. Give a float.", lambda: check_number("gamma", True, 0, 1)),
    ("share: expected a number, got str. Give a float such as 0.9.", lambda: check_share("share", "x")),
]

test_messages = refusals({ValueError: VALUE_ERRORS, TypeError: TYPE_ERRORS})


@pytest.mark.parametrize(("take", "when"), [(take_load_options, "load"), (take_compute_options, "compute")])
def test_unknown_names_are_listed_and_a_value_that_contains_itself_is_none(take, when):
    message = f"{when}: expected options among ['details', 'seed'], got ['sead']. Check the spelling.$"
    assert_refused(TypeError, message, take, {"sead": 1}, DEFAULTS)
    message = "seed: expected a value, got a list that contains itself, or is nested too deeply. Give another.$"
    assert_refused(ValueError, message, take, {"seed": ENDLESS}, {"seed": 0})


def test_legal_values():
    for level in (None, 0.95):
        check_confidence_level(level)
    check_number("gamma", 1, 0, 2)
    for share in (1, 1e-9):
        check_share("share", share)


def test_one_version_everywhere():
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## \[(\d.*?)\]"),
    ):
        assert re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE).group(1) == VERSION, name


@each_case(
    "name", ["trm_meteor", "trm", "mmd", "human_parity", "emscore_pac", "pac_score", "fid_bert", "vdtk_leave_one_out"]
)
def test_an_option_called_self_is_one_that_nobody_knows(name):
    unknown = "expected options among [.*], got ['self']. Check the spelling"
    assert_refused(TypeError, f"load: {unknown}", manycaps.load, name, self=1)
    module = manycaps.load(name)
    assert_refused(TypeError, f"compute: {unknown}", module.compute, self=1)
    for add in (module.add, module.add_batch):
        assert_refused(TypeError, "add_batch: expected columns among [.*], got ['self']. Check the sp", add, self=1)
