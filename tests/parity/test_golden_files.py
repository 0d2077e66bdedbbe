"""The golden files of this project say how they were made, and are small."""

import importlib.util
import json
import shlex

import pytest

from tests.golden_folders import OWN_GOLDEN

# Captions that were written by hand.
WRITTEN = ("nasty_captions.json", "ptb_captions.json")
FILES = sorted(path for path in OWN_GOLDEN.rglob("*.json") if path.name not in WRITTEN)
PROGRAMS = sorted(OWN_GOLDEN.glob("make_*.py"))

# Bytes of the whole folder, programs included.
LARGEST = 1_600_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_meta_names_program_versions_and_command(path):
    meta = json.loads(path.read_text(encoding="utf-8"))["meta"]
    assert len(meta) > 2
    assert {"python"} < set(meta["versions"])
    python, option, module = shlex.split(meta["command"])
    assert (python, option) == ("python", "-m")
    assert importlib.util.find_spec(module).origin in {str(program) for program in PROGRAMS}


def test_every_program_has_its_file():
    commands = {json.loads(path.read_text(encoding="utf-8"))["meta"]["command"] for path in FILES}
    assert {command.rsplit(".", 1)[1] for command in commands} == {program.stem for program in PROGRAMS}


def test_the_folder_is_small():
    assert sum(path.stat().st_size for path in OWN_GOLDEN.rglob("*") if path.suffix != ".pyc") < LARGEST
