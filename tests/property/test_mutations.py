"""A small run of the mutations of `tests/hostile_inputs/mutations.py`: no foreign exception, and no hang."""

import pytest

from tests.hostile_inputs.bounded_process import BoundedProcess
from tests.hostile_inputs.mutations import ATTEMPTS, CALL_LIMIT

N_MUTATIONS = 60


@pytest.fixture(scope="module")
def process():
    process = BoundedProcess("tests.hostile_inputs.mutations.prepare")
    yield process
    process.close()


@pytest.mark.parametrize("kind", ATTEMPTS)
def test_mutations_are_answered_clearly(process, kind):
    name = "tests.hostile_inputs.mutations.several"
    bad, _ = process.call(name, kind, range(N_MUTATIONS), 0, seconds=CALL_LIMIT)
    assert bad == []
