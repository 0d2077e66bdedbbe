"""The package installed into an empty environment and used outside the repository: no clone, no network, no weights."""

import json
import pathlib
import re
import subprocess

import nltk
import pytest

from manycaps import module_folders
from manycaps.installed_packages import MODULE_EXTRAS, requirement_names
from tests.environments import make_environment, outer_variables
from tests.meteor15_data import write_data
from tests.tools import ROOT

# What is installed, by name: a built wheel, the clone, and the clone as it is edited.
KINDS = ("wheel", "clone", "editable")

# One row through every module; tiny-pac travels with the package, vectors stand for captions.
PROGRAM = """
import json
import numpy as np
import manycaps
from manycaps.installed_modules import data_folder

captions = {"predictions": [["a dog runs", "a cat"]], "references": [["the dog runs", "a puppy"]]}
picture = np.zeros((40, 40, 3), dtype=np.uint8)
vectors = {
    "prediction_embeddings": [np.array([[0.0, 1.0], [1.0, 2.0]])],
    "reference_embeddings": [np.array([[0.0, 3.0], [1.0, 0.5]])],
}
clip = {"checkpoint": str(data_folder("checkpoints/tiny-pac")), "device": "cpu"}
table = {"n_documents": 9, "document_frequency": {"a": 8, "dog": 2}}
rows = {
    "bleu_rouge": ({}, captions),
    "emscore_pac": (clip, {"predictions": ["a red circle"], "videos": [[picture, picture]]}),
    "fid_bert": ({}, vectors),
    "meteor15": ({"meteor15_data": "meteor15"}, captions),
    "mmd": ({}, vectors),
    "mmd_bert": ({}, vectors),
    "pac_score": (clip, {"predictions": ["a red circle"], "images": [picture]}),
    "ref_pac_score": (
        clip, {"predictions": ["a red circle"], "images": [picture], "references": [["a blue square"]]}
    ),
    "set_diversity": ({"kernels": ["ngram"]}, captions),
    "trm": ({}, vectors),
    "trm_bert": ({}, vectors),
    "trm_cider": ({"document_frequency": table}, captions),
    "trm_meteor": ({}, captions),
    "vdtk_concept_overlap": ({"labels": {"pets": ["dog"]}}, {"data": captions["references"]}),
    "vdtk_diversity": ({}, {"data": captions["references"]}),
    "vdtk_leave_one_out": ({"metrics": ("bleu", "rouge_l")}, {"data": captions["references"]}),
}
results = {}
for name, (options, columns) in rows.items():
    result = manycaps.load(name, **options).compute(**columns)
    value = next(result[k] for k in (name, "n_tokens", "rouge_l", "pets_exact", "div_1") if k in result)
    results[name] = value
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    python = make_environment(folder / "builder")
    command = [python, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True, env=outer_variables())
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module", params=KINDS)
def installed(request, wheel, tmp_path_factory):
    """Folder outside the repository, and the scripts of an environment with the package."""
    folder = tmp_path_factory.mktemp(request.param)
    python = make_environment(folder / "environment")
    source = {"wheel": [wheel], "clone": [ROOT], "editable": ["-e", ROOT]}[request.param]
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed"]
    command = [python, "-m", "pip", "install", *options, *source]
    subprocess.run(command, check=True, capture_output=True, env=outer_variables())
    return folder, python.parent


def run(installed, *command):
    folder, scripts = installed
    environment = outer_variables() | {
        "HF_HOME": str(folder / "cache"),
        "NLTK_DATA": str(pathlib.Path(nltk.data.find("corpora/wordnet").path).parents[1]),
    }
    done = subprocess.run(
        [scripts / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_package_is_the_installed_one(installed):
    where = run(installed, "python", "-c", "import manycaps; print(manycaps.__file__)")
    in_repository = pathlib.Path(where.strip()).is_relative_to(ROOT)
    assert in_repository == (installed[0].name.startswith("editable"))


def test_the_command_lists_every_module(installed):
    listed = {module["name"]: module for module in json.loads(run(installed, "manycaps", "list", "--json"))}
    assert list(listed) == list(module_folders())
    assert listed["pac_score"]["variants"][0] == "pac-vit-b-32"
    assert {name: module["missing"] for name, module in listed.items() if module["missing"]} == {}


@pytest.mark.long
def test_every_module_computes_a_row(installed):
    write_data(installed[0] / "meteor15")
    results = json.loads(run(installed, "python", "-c", PROGRAM).splitlines()[-1])
    assert list(results) == list(module_folders())
    assert all(isinstance(value, int | float) for value in results.values()), results


@pytest.mark.parametrize("installed", ["wheel"], indirect=True)
@pytest.mark.long
def test_the_quickstart_runs_in_any_folder(installed):
    printed = run(installed, "manycaps", "quickstart", "--no-images", "--output", "shown")
    assert "diverse" in printed
    assert (installed[0] / "shown" / "table.csv").is_file()


def test_the_wheel_holds_what_git_holds(wheel):
    listed = subprocess.run(["unzip", "-Z1", wheel], check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in listed if "__pycache__" in name or name.endswith(".pyc")] == []
    for name, folder in module_folders().items():
        assert f"manycaps/{folder.parent.name}/{name}/{name}.py" in listed


def extras():
    """Requirements of the package and of each extra, with the extras that it names."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = dict(re.findall(r"^(\w+) = \[(.*?)\]\n(?=\w|#|\n)", text, re.MULTILINE | re.DOTALL))
    found = {name: re.findall(r'"([^"]+)"', listed) for name, listed in lists.items()}

    def names(extra):
        inner = [part for item in found[extra] for part in re.findall(r"^manycaps\[(.+)\]", item)]
        own = {name for item in found[extra] for name in requirement_names(item) if name != "manycaps"}
        return own.union(*(names(each) for part in inner for each in part.split(",")))

    return {name: {each.replace("_", "-") for each in names(name)} for name in found if name != "requires"}


@pytest.mark.parametrize("name", module_folders())
def test_the_extras_bring_what_a_module_folder_lists(name):
    listed = requirement_names((module_folders()[name] / "requirements.txt").read_text(encoding="utf-8"))
    brought = set().union(*(extras()[extra] for extra in ["dependencies", *MODULE_EXTRAS.get(name, "demo").split(",")]))
    # The pages' Pillow comes with their own extra.
    assert {each.replace("_", "-") for each in listed} - brought <= {"pillow"}
    assert "pillow" in extras()["demo"]
