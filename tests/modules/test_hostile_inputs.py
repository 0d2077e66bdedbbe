"""Hostile and extreme inputs of every module, class by class: answered clearly, and nothing lost or poisoned."""

import pytest

from tests.hostile_inputs import rule
from tests.hostile_inputs.bounded_process import BoundedProcess

# Seconds of computing within which a call must be answered.
TIME_LIMIT = 5


@pytest.fixture(scope="module")
def process():
    process = BoundedProcess("tests.hostile_inputs.rule.prepare")
    yield process
    process.close()


@pytest.mark.parametrize("name", rule.all_cases())
def test_a_hostile_call_is_answered_clearly(process, name):
    assert process.call("tests.hostile_inputs.rule.complaint", name, seconds=TIME_LIMIT) is None
