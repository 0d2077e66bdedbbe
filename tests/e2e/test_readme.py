"""What the README says: its Python runs, its links lead somewhere, its two commands work in a fresh clone."""

import pathlib
import re
import subprocess

import nltk
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from scripts.repository.module_table import with_table
from tests.environments import make_environment, outer_variables

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.search(r"^```bash\n(.*?)^```", README, re.MULTILINE | re.DOTALL).group(1).split("\n")[:-1]


@pytest.fixture(scope="module")
def namespace(tmp_path_factory):
    """What the README's Python blocks leave behind, run one after the other beside the module folders."""
    folder, names = tmp_path_factory.mktemp("reader"), {}
    (folder / "metrics").symlink_to(ROOT / "metrics")
    (folder / "measurements").symlink_to(ROOT / "measurements")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
            exec(compile(block, "README.md", "exec"), names)
    return names | {"folder": folder}


def test_the_first_block_computes(namespace):
    assert namespace["result"]["n_rows"] == 2
    assert 0 < namespace["result"]["trm_meteor_p_value"] <= 1


def test_the_plain_functions_give_the_numbers_of_the_module(namespace):
    result = namespace["result"]
    assert namespace["statistic"].tolist() == result["trm_meteor_per_row"]
    assert namespace["p_values"].tolist() == result["trm_meteor_p_value_per_row"]


def test_a_log_has_the_numbers_as_curves_and_the_rows_as_a_table(namespace):
    result, scalars, table = (namespace[name] for name in ("result", "scalars", "table"))
    assert set(result) == set(scalars) | {name for row in table for name in row} - {"captions"} | {"signature"}
    assert [row["trm_meteor_per_row"] for row in table] == result["trm_meteor_per_row"]
    assert [row["captions"] for row in table] == namespace["predictions"]
    events = EventAccumulator(str(namespace["folder"] / "runs" / "captions"))
    events.Reload()
    assert set(events.Tags()["scalars"]) == set(scalars)
    for name, value in scalars.items():
        [event] = events.Scalars(name)
        assert (event.step, event.value) == (100, pytest.approx(value, rel=1e-6))  # float32
    [text] = events.Tensors("rows/text_summary")
    lines = text.tensor_proto.string_val[0].decode().splitlines()
    assert lines[0] == " | ".join(table[0])
    assert lines[0].startswith("captions | trm_meteor_per_row | meteor_per_row | ")
    assert len(lines) == 2 + len(table)
    assert "a dog runs on the beach" in lines[2]
    assert all(line.count(" | ") == len(table[0]) - 1 for line in lines)


def test_as_log_refuses_columns_that_do_not_fit(namespace):
    with pytest.raises(ValueError):
        namespace["as_log"](namespace["result"], captions=["only one"])


def test_the_table_names_every_module_and_every_link_leads_somewhere():
    assert with_table(README) == README, "run `make format`"
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []
    programs = re.findall(r"python -m (scripts[\w.]+)", README)
    assert [program for program in programs if not (ROOT / f"{program.replace('.', '/')}.py").is_file()] == []


# The README's two commands. Left out, because it takes a quarter of an hour and the internet: downloading the packages
# (the clone's `.venv` sees those that run this test, and pip finds every requirement fulfilled) and all but one file of
# the tests. All else is as for a newcomer: the committed files alone, make, the installation marks, both targets.


def make_clone_environment(folder):
    """Make an environment with the tools that the Makefile calls."""
    make_environment(folder)
    for name in ("pip", "ruff", "mypy"):
        tool = folder / "bin" / name
        tool.write_text(f'#!/bin/sh\nexec "$(dirname "$0")/python" -m {name} "$@"\n')
        tool.chmod(0o755)


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git repository to clone")
def test_the_two_commands_in_a_fresh_clone(tmp_path):
    assert COMMANDS == ["make quickstart", "make test"]
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(clone)], check=True)
    make_clone_environment(clone / ".venv")
    environment = outer_variables()
    environment["WORKERS"] = "1"
    environment["PYTEST_ADDOPTS"] = "tests/unit/scripts/repository/test_sync_kit.py -p no:cacheprovider"
    environment["NLTK_DATA"] = str(pathlib.Path(nltk.data.find("corpora/wordnet").path).parents[1])
    for command in COMMANDS:
        done = subprocess.run(
            command.split(), cwd=clone, env=environment, capture_output=True, text=True, timeout=1200, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        if command == "make quickstart":
            assert "diverse" in done.stdout
            assert (clone / "quickstart-output" / "table.csv").is_file()
        else:
            assert re.search(r"^=*\s*\d+ passed", done.stdout.splitlines()[-1])
    status = ["git", "status", "--porcelain"]
    left = subprocess.run(status, cwd=clone, capture_output=True, text=True, check=True).stdout
    assert left == "", "what the commands write is ignored by git"
