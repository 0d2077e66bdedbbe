"""Hostile and extreme inputs of modules and pages: answered clearly, and nothing lost or poisoned."""

import pytest

from tests.hostile_inputs import rule
from tests.hostile_inputs.bounded_process import BoundedProcess
from tests.hostile_inputs.pages import LARGEST
from tests.large_packages import evaluate

# Seconds of computing within which a call must be answered, and the largest input of a page.
TIME_LIMIT, PAGE_LIMIT = 5, 60

# The cases, and one of each class and module for the fast tests; what has no end needs a process that can be ended.
CASES = rule.all_cases()
QUICK = list(
    {(name.split("/")[0], case.module): name for name, case in CASES.items() if "endless" not in name}.values()
)


@pytest.fixture(scope="module")
def process():
    process = BoundedProcess("tests.hostile_inputs.rule.prepare")
    yield process
    process.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_call_is_answered_clearly(process, name):
    assert process.call("tests.hostile_inputs.rule.complaint", name, seconds=TIME_LIMIT) is None


@pytest.fixture(scope="module")
def progress_bars():
    """Show progress again afterwards: the cases are tried without."""
    yield
    evaluate.utils.logging.enable_progress_bar()


@pytest.mark.usefixtures("progress_bars")
@pytest.mark.parametrize("name", QUICK)
def test_one_hostile_call_of_a_class_and_module_is_answered_clearly(name):
    assert rule.complaint(name) is None


@pytest.fixture(scope="module")
def page_process():
    process = BoundedProcess("tests.hostile_inputs.pages.prepare")
    yield process
    process.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_input_of_a_page_is_answered_in_bounded_time_and_memory(page_process, name):
    pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
    assert page_process.call("tests.hostile_inputs.pages.complaint", name, seconds=PAGE_LIMIT) is None
