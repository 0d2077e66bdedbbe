"""Options and values of modules: tables, what a value becomes, and every check at its limits."""

import functools
import math

import numpy as np
import pytest

from manycaps.kit.errors import InputError
from manycaps.kit.options import (
    Effect,
    Option,
    Value,
    _check_names,
    _plain_option,
    as_python_value,
    by_value,
    check_confidence_level,
    check_device,
    check_flag,
    check_number,
    check_options,
    check_share,
    check_whole_number,
    defaults_of,
    dependent_options,
    docstring_list,
    one_of,
    or_none,
    value_table,
    whole_number,
)
from tests.large_packages import torch
from tests.refusals import refusals

TABLE = {
    "kind": Option("a", one_of(("a", "b")), "The kind."),
    "n": Option(3, whole_number(1, 5), "How many."),
    "seed": Option(None, or_none(whole_number(0)), "Of draws."),
}


def test_a_table_has_defaults_and_checks_each_value():
    assert defaults_of(TABLE) == {"kind": "a", "n": 3, "seed": None}
    check_options(TABLE, {"kind": "b", "n": 5, "seed": 0})
    for name, value in {"kind": "c", "n": 6, "seed": -1}.items():
        with pytest.raises(InputError) as raised:
            check_options(TABLE, defaults_of(TABLE) | {name: value})
        assert raised.value.where == name


def test_values_that_are_legal_alone_are_checked_together():
    def fits(options):
        if options["n"] > 3 and options["kind"] == "b":
            raise InputError("n", "at most 3 for kind 'b'", options["n"])

    table = TABLE | {"kind": TABLE["kind"]._replace(fits=fits)}
    check_options(table, {"kind": "a", "n": 4, "seed": None})
    with pytest.raises(InputError, match="^n: expected at most 3 for kind 'b', got 4.$"):
        check_options(table, {"kind": "b", "n": 4, "seed": None})


def test_options_that_depend_on_another_keep_all_else():
    effect = Effect("kind", "'b'", lambda options: options["kind"] == "b")
    dependent = dependent_options(effect, TABLE)
    assert dependent == {name: option._replace(needs=effect) for name, option in TABLE.items()}
    assert not dependent["n"].needs.holds(defaults_of(TABLE))


def test_sentences_show_the_default_and_none_where_it_is_said():
    assert TABLE["kind"].sentence == 'The kind. Default: "a".'
    assert TABLE["seed"].sentence == "Of draws."
    assert Option(True, check_flag, "On.").shown_default == "True"
    assert TABLE["n"].choices == ()


def test_a_table_of_values_is_read_with_stars_and_continued_lines():
    first, second = value_table(
        """
        * a, a_... | 0 to 1 | lower | a mean
            over rows
        n_<name> | | 0 | counts | of any
        """
    )
    assert first == Value("a, a_...", "0 to 1", "lower", "a mean over rows", leads=True)
    assert first.sentence == "a mean over rows (0 to 1; lower is better)"
    assert second == Value("n_<name>", "", "0", "counts | of any")
    assert second.sentence == "counts | of any (0 for human captions)"
    assert [first.has_key(key) for key in ("a", "a_per_row", "b", "a_")] == [True, True, False, False]
    assert [second.has_key(key) for key in ("n_rows", "n_")] == [True, False]


def test_lists_of_docstrings_are_wrapped_below_their_names():
    lines = docstring_list("Args", [("seed", "word " * 30)]).splitlines()
    assert lines[0] == "Args:"
    assert lines[1].startswith("    seed: word word")
    assert lines[2].startswith("        word")
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (np.float32(0.1), "", 0.1),
        (np.array(2), "", 2),
        ((np.int8(1), [np.bool_(False)]), "", (1, [False])),
        (torch.float16, "dtype", "float16"),
        (torch.device("cuda", 1), "device", "cuda:1"),
        (1, "device", "cuda:1"),
        (-1, "device", -1),
        (True, "device", True),
        (1, "n", 1),
    ],
)
def test_values_become_pythons_own(value, name, expected):
    found = as_python_value(value, name)
    assert (found, type(found)) == (expected, type(expected))


def test_arrays_and_functions_stay_what_they_are():
    for value in (np.zeros(2), len, {"a": np.int64(1)}):
        assert as_python_value(value) is value


def in_itself():
    value = []
    value.append(value)
    return value


NUMBER = functools.partial(check_number, "sigma", above=0, below=10)

test_messages = refusals(
    {
        ValueError: [
            ("kind: expected one of 'per_side', 'pooled', got 'poled'. Did you mean pooled?",
             lambda: one_of(("per_side", "pooled"))("kind", "poled")),
            ("kind: expected one of 'a', got ['a']. Check the spelling.", lambda: one_of(("a",))("kind", ["a"])),
            ("n: expected a whole number of at least 1, got 0.", lambda: check_whole_number("n", 0, 1)),
            ("n: expected a whole number of at most 9,999, got 99999.",
             lambda: check_whole_number("n", 99_999, 1, 9_999)),
            ("sigma: expected a number above 0 and below 10, got 0.", lambda: NUMBER(0)),
            ("sigma: expected a number above 0 and below 10, got nan.", lambda: NUMBER(math.nan)),
            ("b: expected a number above 0 and finite, got inf.", lambda: check_number("b", math.inf, 0, math.inf)),
            ("share: expected a share above 0 and at most 1, got 1.5.", lambda: check_share("share", 1.5)),
            ("confidence_level: expected a number between 0 and 1, got 95.", lambda: check_confidence_level(95)),
            ("seed: expected a value, got a list that contains itself", lambda: _plain_option(in_itself(), "seed")),
        ],
        TypeError: [
            ("n: expected a whole number, got bool.", lambda: check_whole_number("n", True, 0)),
            ("n: expected a whole number, got float.", lambda: check_whole_number("n", 1.0, 0)),
            ("sigma: expected a number, got str. Give a float.", lambda: NUMBER("1")),
            ("share: expected a number, got bool.", lambda: check_share("share", True)),
            ("details: expected True or False, got 1.", lambda: check_flag("details", 1)),
            ("device: expected a name, got int.", lambda: check_device("device", 0)),
            ("load: expected options among ['seed'], got ['sed']. Did you mean seed?",
             lambda: _check_names(["sed"], {"seed": 0}, "load")),
            ("load: expected options among ['a'], got ['b']. Give it to compute.",
             lambda: _check_names(["b"], {"a": 0}, "load", ["b"])),
            ("compute: expected options among ['a'], got ['x']. Check the spelling. With evaluate.combine",
             lambda: _check_names(["x"], {"a": 0}, "compute")),
        ],
    }
)  # fmt: skip


def test_limits_themselves_are_legal():
    check_whole_number("n", 1, 1, 1)
    check_share("share", 1)
    check_confidence_level(None)
    or_none(check_flag)("details", None)
    by_value(check_confidence_level)("another name", 0.5)
    NUMBER(9.999)
