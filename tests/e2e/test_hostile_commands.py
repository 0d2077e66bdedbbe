"""Every command with wrong files, outputs and options, and with a kill or a full disk at a random moment."""

import os

import pytest

from tests.hostile_inputs import commands, killed_tools, surroundings
from tests.hostile_inputs.bounded_process import BoundedProcess

# Seconds of computing within which a command line must be answered, and a tool that is killed often must be done.
TIME_LIMIT, KILLS_LIMIT = 20, 300

# Kills, and full disks, of each tool; MANYCAPS_KILLS=20 makes more.
N_KILLS = int(os.environ.get("MANYCAPS_KILLS", "1"))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def process():
    process = BoundedProcess("tests.hostile_inputs.commands.prepare")
    yield process
    process.close()


@pytest.mark.parametrize("name", commands.all_commands())
def test_a_hostile_command_line_is_answered_clearly(process, name):
    assert process.call("tests.hostile_inputs.commands.complaint", name, seconds=TIME_LIMIT) is None


@pytest.mark.parametrize("name", surroundings.all_surroundings())
def test_a_command_in_bad_surroundings_does_its_work_or_says_what_is_missing(name):
    assert surroundings.complaint(name) is None


@pytest.mark.parametrize("tool", killed_tools.TOOLS)
def test_a_tool_that_is_stopped_leaves_the_old_output_or_the_whole_new_one(process, tool):
    assert process.call("tests.hostile_inputs.killed_tools.complaints", tool, N_KILLS, seconds=KILLS_LIMIT) == []
