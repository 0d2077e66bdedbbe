"""Mutations of files and captions (`tests/hostile_inputs/mutations.py`): no foreign exception, and no hang."""

import os

import pytest

from tests.hostile_inputs.bounded_process import BoundedProcess
from tests.hostile_inputs.mutations import ATTEMPTS

pytestmark = pytest.mark.slow

# Mutations of each kind; MANYCAPS_MUTATIONS=10000 tries more.
N_MUTATIONS = int(os.environ.get("MANYCAPS_MUTATIONS", "100"))

# Mutations that are tried in one call of the process with limits, and seconds of computing for that many.
AT_ONCE, CALL_LIMIT = 100, 300


@pytest.fixture(scope="module")
def process():
    process = BoundedProcess("tests.hostile_inputs.mutations.prepare")
    yield process
    process.close()


@pytest.mark.parametrize("kind", ATTEMPTS)
def test_mutations_are_answered_clearly(process, kind):
    for first in range(0, N_MUTATIONS, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, N_MUTATIONS))
        assert process.call("tests.hostile_inputs.mutations.several", kind, numbers, seconds=CALL_LIMIT) == []
