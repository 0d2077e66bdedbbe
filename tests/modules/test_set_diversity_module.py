"""set_diversity as a user meets it: bad values of every option are named, and no row is lost."""

import math

import numpy as np
import pytest

from tests.each_case import each_case
from tests.large_packages import evaluate
from tests.modules.conftest import ROOT
from tests.modules.sample_inputs import CAPTION_ROWS

QUICK = {"kernels": ("ngram",)}

BAD = {
    "sizes": [
        ("same", ValueError, "sizes: expected one of 'equal', 'all', got 'same'."),
        (["all"], ValueError, "sizes: expected one of 'equal', 'all', got ['all']."),
    ],
    "kernels": [
        ("ngram", TypeError, "kernels: expected a list, got 'ngram'."),
        (5, TypeError, "kernels: expected a list, got 5."),
        (("words",), ValueError, "kernels: expected 'ngram', 'embedding' or a function, got 'words'."),
        (("ngram", "ngram"), ValueError, "kernels: expected each kernel once and at most one function, got"),
        ((len, max), ValueError, "kernels: expected each kernel once and at most one function, got"),
        ((lambda captions: np.zeros((1, 1)),), ValueError, "kernels: expected a symmetric matrix of shape (2, 2) with"),
    ],
    "vendi_orders": [
        (2, TypeError, "vendi_orders: expected a list of numbers, got 2."),
        (("2",), TypeError, "vendi_orders: expected a number, got str. Write math.inf"),
        ((True,), TypeError, "vendi_orders: expected a number, got bool. Write math.inf"),
        ((0,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 0."),
        ((10**400,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 1000"),
        ((), ValueError, "vendi_orders: expected at least one order, and each once, got ()."),
        ((0.5,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 0.5."),
        ((math.nan,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got nan."),
        ((2, 2.0), ValueError, "vendi_orders: expected at least one order, and each once, got (2, 2.0)."),
    ],
    "tokenizer": [
        ("moses", ValueError, "tokenizer: expected"),
        (5, TypeError, "tokenizer: expected"),
        (lambda caption: caption, TypeError, "tokenizer: expected"),
        (lambda caption: None, TypeError, "tokenizer: expected"),
        (lambda caption: [1, 2], TypeError, "tokenizer: expected"),
    ],
    "document_frequency": [
        (5, TypeError, "document_frequency: expected"),
        ({}, ValueError, "document_frequency: expected the layout"),
        ("no_such_file.json", ValueError, "document_frequency: expected"),
        ({"n_documents": -1, "document_frequency": {"a": 1}}, ValueError, "document_frequency: expected"),
        ({"n_documents": 3, "document_frequency": {"a": "1"}}, ValueError, "document_frequency['a']: expected a"),
    ],
    "details": [(value, TypeError, "details: expected True or False, got") for value in (1, "yes", 0.5, [], {})],
}


@pytest.fixture(scope="module")
def measure():
    return evaluate.load(str(ROOT / "measurements" / "set_diversity"))


@each_case(
    ("option", "value", "kind", "message"),
    [(option, *case) for option, cases in BAD.items() for case in cases],
    ids=[f"{option}_{i}" for option, cases in BAD.items() for i in range(len(cases))],
)
def test_bad_input_is_named(measure, option, value, kind, message):
    with pytest.raises(kind) as raised:
        measure.compute(**CAPTION_ROWS, **QUICK | {option: value})
    assert str(raised.value).startswith(message), str(raised.value)
    assert len(measure) == 0


def test_people_are_as_diverse_as_people_whatever_their_numbers(measure):
    references = [["a dog runs", "the dog", "a wet dog"], ["a man cooks", "somebody at the stove"]]
    more = [[*row, "two people", row[0], "a red car on the street"] for row in references]
    equal, every = (
        measure.compute(predictions=more, references=references, **QUICK | o) for o in ({}, {"sizes": "all"})
    )
    differences = [key for key in equal if key.endswith("_difference")]
    assert {equal[key] for key in differences} == {0.0}
    assert all(abs(every[key]) > 0.01 for key in differences if key.startswith("vendi"))
    assert (equal["n_captions"], every["n_captions"]) == (5, 11)
