"""Hostile and extreme inputs of every module, class by class: answered clearly, and nothing lost or poisoned."""

import collections
import re

import pytest

from tests.hostile_inputs import rule
from tests.hostile_inputs.bounded_process import BoundedProcess
from tests.hostile_inputs.earlier_version import all_names
from tests.tools import ROOT

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


def test_security_md_counts_no_more_cases_than_there_are():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    counted = re.findall(r"^\| `(\w+)` \|[^|]+\| ([\d,]+) \|", text, re.MULTILINE)
    shown = {name: int(count.replace(",", "")) for name, count in counted}
    there = collections.Counter(name.split("/")[0] for name in all_names())
    assert shown.keys() == there.keys()
    assert [name for name in shown if shown[name] > there[name]] == []
    assert sum(shown.values()) >= 500
