"""A small run of the mutations of `tests/hostile_inputs/mutations.py`: no foreign exception, and no hang."""

import pytest

from tests.each_case import each_case
from tests.hostile_inputs.bounded_process import BoundedProcess
from tests.hostile_inputs.mutations import ATTEMPTS, CALL_LIMIT

pytestmark = pytest.mark.slow

N_MUTATIONS = 60

# Of a kind that runs whole commands.
N_RUNS = 20


@pytest.fixture(scope="module")
def process():
    process = BoundedProcess("tests.hostile_inputs.mutations.prepare")
    yield process
    process.close()


@each_case("kind", ATTEMPTS)
def test_mutations_are_answered_clearly(process, kind):
    name = "tests.hostile_inputs.mutations.several"
    n_mutations = N_RUNS if kind == "runs" else N_MUTATIONS
    bad, _ = process.call(name, kind, range(n_mutations), 0, seconds=CALL_LIMIT)
    assert bad == []
