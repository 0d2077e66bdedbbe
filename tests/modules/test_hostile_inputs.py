"""Hostile and extreme inputs of modules and pages: answered clearly, and nothing lost or poisoned."""

import collections

import pytest

from tests.hostile_inputs import rule
from tests.hostile_inputs.bounded_process import BoundedProcess
from tests.large_packages import evaluate

# Seconds of computing within which a call must be answered, and the largest input of a page.
TIME_LIMIT, PAGE_LIMIT = 5, 60

# Names of the cases by class and module.
NAMES = collections.defaultdict(list)
for case_name, case in rule.all_cases().items():
    NAMES[f"{case_name.split('/')[0]}/{case.module}"].append(case_name)


@pytest.fixture(scope="module")
def process():
    process = BoundedProcess("tests.hostile_inputs.rule.prepare")
    yield process
    process.close()


@pytest.mark.slow
@pytest.mark.parametrize("group", NAMES)
def test_hostile_calls_are_answered_clearly(process, group, subtests):
    for name in NAMES[group]:
        with subtests.test(name):
            assert process.call("tests.hostile_inputs.rule.complaint", name, seconds=TIME_LIMIT) is None


@pytest.fixture
def progress_bars():
    """Show progress again afterwards: the cases are tried without."""
    yield
    evaluate.utils.logging.enable_progress_bar()


@pytest.mark.usefixtures("progress_bars")
@pytest.mark.parametrize("kind", sorted({group.split("/")[0] for group in NAMES} - {"endless"}))
def test_one_hostile_call_of_a_module_and_class_is_answered_clearly(kind, subtests):
    """Another case for each module; columns without an end need a process that can be ended, and are slow ones."""
    for i, group in enumerate(group for group in NAMES if group.startswith(f"{kind}/")):
        name = NAMES[group][i % len(NAMES[group])]
        with subtests.test(name):
            assert rule.complaint(name) is None


@pytest.mark.slow
def test_the_largest_input_of_a_page_is_answered_in_bounded_time_and_memory(subtests):
    pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
    from tests.hostile_inputs.pages import LARGEST

    process = BoundedProcess("tests.hostile_inputs.pages.prepare")
    for name in LARGEST:
        with subtests.test(name):
            assert process.call("tests.hostile_inputs.pages.complaint", name, seconds=PAGE_LIMIT) is None
    process.close()
