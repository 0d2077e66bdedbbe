"""Errors about what was given: their text, copies with another place or class, and what other libraries raise."""

import pickle

import pytest

from manycaps.kit.errors import (
    InputError,
    InputImportError,
    InputLookupError,
    InputMemoryError,
    InputOSError,
    InputTypeError,
    as_input_errors,
    check_exclusive,
    check_installed,
    check_places,
    device_memory,
    quote_path,
    quote_value,
    reason_of,
    spelling_advice,
)
from tests.refusals import assert_refused, refusals

KINDS = {
    InputError: ValueError,
    InputTypeError: TypeError,
    InputOSError: OSError,
    InputImportError: ModuleNotFoundError,
    InputLookupError: LookupError,
    InputMemoryError: MemoryError,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_caught_by_its_built_in_class_and_can_be_pickled(kind):
    error = kind("predictions[3]", "a caption", "none", "Write one.")
    assert isinstance(error, KINDS[kind])
    assert isinstance(error, ValueError)
    assert str(error) == "predictions[3]: expected a caption, got none. Write one."
    copy = pickle.loads(pickle.dumps(error))
    assert (copy, type(copy), hash(copy)) == (error, kind, hash(error))


def test_errors_of_other_kinds_or_texts_are_not_equal():
    error = InputError("a", "b", "c", "d")
    assert error != InputTypeError("a", "b", "c", "d")
    assert error != InputError("a", "b", "c", "e")
    assert error != "a: expected b, got c. d"


def test_copies_with_another_place_remedy_or_class():
    error = InputError("[3]", "a caption", "/tmp/x.csv", "Write one.")
    assert str(error.within("a.csv")) == "a.csv: [3]: expected a caption, got /tmp/x.csv. Write one."
    assert str(InputError("", "rows", "none").within("a.csv")) == "a.csv: expected rows, got none."
    assert error.replace("/tmp/x.csv", "a.csv").got == "a.csv"
    assert error.with_advice("Or two.").fix == "Write one. Or two."
    assert InputError("a", "b", "c").with_advice("Leave it out.").fix == "Leave it out."
    assert type(error.as_kind(InputTypeError)) is InputTypeError


class Unprintable:
    """An object whose `repr` fails."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        ([1, 2], "[1, 2]"),
        ("\ud800", r"'\ud800'"),
        (Unprintable(), "Unprintable"),
        (10**5000, "int"),
        (b"x" * 100, "b'" + "x" * 78 + "..."),
    ],
    ids=["two lines", "list", "half a character", "no repr", "too many digits", "bytes"],
)
def test_values_in_messages_are_short_and_can_be_printed(value, text):
    assert quote_value(value) == text


def test_paths_in_messages_keep_their_end():
    assert quote_path("a" * 100 + ".csv") == "...'" + "a" * 76 + ".csv'"
    assert quote_path("a\nb.csv") == r"'a\nb.csv'"
    assert quote_path(b"a\xff.csv") == r"'a\udcff.csv'"


def test_reasons_are_short_ascii_and_never_empty():
    assert reason_of(RecursionError("deep")) == "brackets nested too deeply"
    assert reason_of(OSError(2, "No such file")) == "No such file"
    assert reason_of(ValueError("caf\u00e9\n  au lait")) == r"caf\xe9 au lait"
    assert reason_of(ValueError("")) == "ValueError"
    assert len(reason_of(ValueError("a" * 1000))) == 160


def test_other_libraries_errors_name_the_place_and_are_chained():
    with pytest.raises(InputError) as raised, as_input_errors("--data", "JSON", "Mend it.", "'a.json'"):
        raise KeyError("id")
    assert str(raised.value) == "--data: expected JSON, got 'a.json' (KeyError: 'id'). Mend it."
    assert isinstance(raised.value.__cause__, KeyError)


@pytest.mark.parametrize("error", [InputTypeError("a", "b", "c"), TimeoutError()])
def test_own_errors_and_those_that_are_excepted_stay(error):
    with pytest.raises(type(error)) as raised, as_input_errors("x", "y", "z", besides=(TimeoutError,)):
        raise error
    assert raised.value is error


def test_only_a_lack_of_memory_is_one():
    with pytest.raises(RuntimeError, match="^shapes differ$"), device_memory("batch_size", "a smaller one", ""):
        raise RuntimeError("shapes differ")
    with pytest.raises(InputMemoryError, match="got too little memory"), device_memory("batch_size", "less", ""):
        raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED")


def test_a_missing_package_is_named_as_import_errors_name_theirs():
    check_installed(["json", "math"], "x", "")
    with pytest.raises(ModuleNotFoundError) as raised:
        check_installed(["json", "no_such_package"], "tokenizer='a'", "Run `pip install a`.")
    assert raised.value.name == "no_such_package"
    assert str(raised.value) == "tokenizer='a': expected the package no_such_package, got none. Run `pip install a`."


def test_what_is_given_once_or_nowhere_passes():
    check_exclusive({"a": None, "b": 0}, is_needed=True)
    check_exclusive({"a": None, "b": None})
    check_places([], "a", "b", "c", "d")


test_messages = refusals(
    {
        ValueError: [
            (
                "b: expected one of a and b and c, got several. Leave one of them out.",
                lambda: check_exclusive({"a": None, "b": 1, "c": 2}),
            ),
            (
                "a: expected one of a and b, got none. Give one of them.",
                lambda: check_exclusive({"a": None, "b": None}, is_needed=True),
            ),
        ]
    }
)


def test_a_near_name_is_proposed_and_no_far_one():
    assert spelling_advice("statisic", ["statistic", "seed"]) == "Did you mean statistic? Check the spelling."
    assert spelling_advice(3, ["statistic"]) == "Check the spelling."
    assert_refused(ValueError, "a[0]: expected b, got c (1 such rows in all). d", check_places, [0], "a", "b", "c", "d")
