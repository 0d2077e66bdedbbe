"""Options: names refused, values checked, load time under compute time."""

import math
import pathlib
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

ROOT = pathlib.Path(__file__).resolve().parents[3]

DEFAULTS = {"seed": 0, "details": False}


def test_evaluates_own_keywords_pass_through():
    keywords = {"seed": 3, "cache_dir": "x", "num_process": 1}
    assert take_load_options(keywords, DEFAULTS) == {"seed": 3, "details": False}
    assert keywords == {"cache_dir": "x", "num_process": 1}


def test_none_means_as_at_load_time_and_zero_does_not():
    loaded = {"seed": 3, "details": True}
    assert take_compute_options({"seed": None, "details": False}, loaded) == {"seed": 3, "details": False}
    assert take_compute_options({"seed": 0}, loaded) == {"seed": 0, "details": True}


@pytest.mark.parametrize(("take", "when"), [(take_load_options, "load"), (take_compute_options, "compute")])
def test_unknown_names_are_listed(take, when):
    with pytest.raises(TypeError) as error:
        take({"sead": 1}, DEFAULTS)
    assert str(error.value) == f"{when}: expected options among ['details', 'seed'], got ['sead']. Check the spelling."


@each_case(
    ("check", "error_type", "message"),
    [
        (lambda: check_choice("kind", "c", ("a", "b")), ValueError, "kind: expected one of 'a', 'b', got 'c'."),
        (lambda: check_choice("kind", None, ("a",)), ValueError, "kind: expected one of 'a', got None."),
        (lambda: check_whole_number("seed", True, 0), TypeError, "seed: expected a whole number, got bool."),
        (lambda: check_whole_number("seed", -1, 0), ValueError, "seed: expected a whole number of at least 0, got -1."),
        (lambda: check_flag("details", 1), TypeError, "details: expected True or False, got 1."),
        (lambda: check_confidence_level("high"), TypeError, "confidence_level: expected a number, got str."),
        (
            lambda: check_confidence_level(95),
            ValueError,
            "confidence_level: expected a number between 0 and 1, got 95.",
        ),
        (lambda: check_number("gamma", True, 0, 1), TypeError, "gamma: expected a number, got bool. Give a float."),
        (lambda: check_number("gamma", 1, 0, 1), ValueError, "gamma: expected a number above 0 and below 1, got 1. Ch"),
        (lambda: check_number("gamma", 0.0, 0, 1e9), ValueError, "gamma: expected a number above 0 and below 1e+09, "),
        (lambda: check_share("share", "x"), TypeError, "share: expected a number, got str. Give a float such as 0.9."),
        (lambda: check_share("share", 0), ValueError, "share: expected a share above 0 and at most 1, got 0. Write 90"),
        (lambda: check_share("share", math.nan), ValueError, "share: expected a share above 0 and at most 1, got nan."),
    ],
)
def test_messages(check, error_type, message):
    with pytest.raises(error_type) as error:
        check()
    assert str(error.value).startswith(message)


def test_no_interval_is_legal():
    check_confidence_level(None)
    check_confidence_level(0.95)


def test_numbers_and_shares_that_are_legal():
    check_number("gamma", 1, 0, 2)
    check_share("share", 1)
    check_share("share", 1e-9)


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
    with pytest.raises(TypeError, match=r"^load: expected options among \[.*\], got \['self'\]\. Check the spelling"):
        manycaps.load(name, self=1)
    module = manycaps.load(name)
    with pytest.raises(
        TypeError, match=r"^compute: expected options among \[.*\], got \['self'\]\. Check the spelling"
    ):
        module.compute(self=1)
    for add in (module.add, module.add_batch):
        with pytest.raises(
            TypeError, match=r"^add_batch: expected columns among \[.*\], got \['self'\]\. Check the sp"
        ):
            add(self=1)


@each_case("take", [take_load_options, take_compute_options])
def test_an_option_that_contains_itself_has_no_value(take):
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError) as found:
        take({"seed": endless}, {"seed": 0})
    assert str(found.value) == (
        "seed: expected a value, got a list that contains itself, or is nested too deeply. Give another."
    )
