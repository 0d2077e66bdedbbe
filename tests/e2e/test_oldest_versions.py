"""The lower bounds of requirements are true: one number a package everywhere, and a run with the oldest versions."""

import json
import re
import subprocess
import sys

import pytest

from tests.environments import empty_environment, outer_variables, pip_install
from tests.tools import ROOT, SEVERAL_COMMANDS

CONSTRAINTS = ROOT / "tests" / "oldest_versions.txt"

# Extras that the oldest versions of everything fit: pages need the newest gradio, and Ray a newer pyarrow.
EXTRAS = ("embeddings", "meteor", "languages", "video", "report", "sample", "train", "tables")

# The last Python for which the oldest versions are built.
NEWEST_PYTHON = (3, 12)

# Command lines in an empty folder, without torch: two by the script that pip writes, the others in one process.
COMMANDS = (
    "manycaps install-wordnet",
    "manycaps doctor",
    "manycaps list",
    "manycaps quickstart --no-images --output shown",
    "manycaps compare people.jsonl copies.jsonl --names distinct copies -m trm_meteor,trm_cider,human_parity "
    "--distance meteor --output compared",
    "manycaps score -m bleu_rouge,trm_cider -i people.jsonl -o scores --processes 2",
    "manycaps rows people.jsonl --output rows.html",
    "manycaps diversity people.jsonl --column references --output diversity.html",
    "manycaps count-document-frequency people.jsonl --output table.json",
    "manycaps splits people.jsonl --by length --output splits.json",
    "manycaps core-set people.jsonl --test people.jsonl --output core.json",
    "manycaps plan people.jsonl --distance meteor",
    "manycaps export trm exported",
)

# Through evaluate's own loader, with ready vectors and distances.
PROGRAM = """
import evaluate, numpy as np
module = evaluate.load("exported/trm")
vectors = np.random.default_rng(0).normal(size=(2, 6, 3, 4))
print(module.compute(prediction_embeddings=vectors[0], reference_embeddings=vectors[1], p_value="exact"))
import datasets
rows = datasets.load_dataset("json", data_files="people.jsonl", split="train")
import manycaps
print(manycaps.load("vdtk_diversity").compute(data=rows["references"]))
"""


def oldest(text):
    """Lower bounds of the packages that a file names."""
    found = re.findall(
        r"""^[ "]*([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)""", re.sub(r'[\[,] ?(?=")', "\n", text), re.MULTILINE
    )
    return {(name.lower().replace("_", "-"), version) for name, version in found}


def test_a_package_has_one_lower_bound_everywhere():
    package = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    package = oldest(package[package.index("\ndependencies = [") : package.index("\n[project.scripts]")])
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()[1:]
    assert {tuple(line.lower().replace("_", "-").split("==")) for line in lines} == package
    bounds = dict(package)
    assert len(bounds) == len(package)
    files = [*ROOT.glob("m*/*/requirements.txt"), *ROOT.glob("spaces/*/requirements.txt")]
    files += [*ROOT.glob("scripts/requirements*.txt"), *ROOT.glob("tests/*requirements.txt")]
    assert len(files) > 20
    assert f'-e ".[{",".join(EXTRAS)}]"' in (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in files:
        listed = oldest(path.read_text(encoding="utf-8"))
        assert [(name, version) for name, version in listed if version != bounds.get(name, version)] == [], path


def run(command, folder, **options):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-1000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.skipif(sys.version_info[:2] > NEWEST_PYTHON, reason="the oldest versions are not built for this Python")
def test_commands_and_modules_run_with_the_oldest_versions(tmp_path):
    environment = {"env": outer_variables() | {"HF_HOME": str(tmp_path / "cache"), "PYTHONNOUSERSITE": "1"}}
    python = empty_environment(tmp_path / "oldest")
    scripts, pip = python.parent, [python, "-m", "pip", "install", "--quiet", "--no-compile", "-c", CONSTRAINTS]
    if subprocess.run([*pip_install(python), "pip"], check=False, capture_output=True, **environment).returncode:
        pytest.skip("needs PyPI")
    # Whether all of them can be together, without 2 GB of torch.
    run([*pip, "--dry-run", f"{ROOT}[{','.join(EXTRAS)}]"], tmp_path, **environment)
    run([*pip, ROOT], tmp_path, **environment)
    rows = [["a dog runs", "the dog is running"], ["two cats sleep", "cats on a bed"], ["a man cooks", "a cook"]]
    for name, n_distinct in (("people", 2), ("copies", 1)):
        captions = [{"predictions": (row[:n_distinct] * 2)[:2], "references": [*row, "a thing"]} for row in rows]
        lines = [json.dumps({"id": str(i), **row}) + "\n" for i, row in enumerate(captions)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    for command in COMMANDS[:2]:
        name, *arguments = command.split()
        run([scripts / name, *arguments], tmp_path, **environment)
    lines = json.dumps([command.split()[1:] for command in COMMANDS[2:]])
    run([python, "-c", SEVERAL_COMMANDS, lines], tmp_path, **environment)
    assert "human_parity" in (tmp_path / "compared" / "comparison.json").read_text(encoding="utf-8")
    printed = run([scripts / "python", "-c", PROGRAM], tmp_path, **environment)
    assert "trm_p_value" in printed
    assert "distinct_within_row" in printed
