"""The package installed into an empty environment and used outside the repository: no clone, no network, no weights."""

import json
import pathlib
import re
import subprocess
import sys
import tarfile

import nltk
import pytest

from manycaps.catalog.installed_modules import export_module, module_folders, requirement_names
from manycaps.catalog.modules import MODULES
from manycaps.commands import command_line
from tests.environments import make_environment, outer_variables
from tests.meteor15_data import write_data
from tests.tools import ROOT

# The first case of every module; tiny-pac travels with the package.
PROGRAM = """
import json
import runpy
import manycaps
from manycaps.catalog.installed_modules import data_folder, module_folders

clip = {"checkpoint": str(data_folder("checkpoints/tiny-pac")), "device": "cpu"}
options = dict.fromkeys(("emscore_pac", "mid", "pac_score", "ref_pac_score"), clip)
options |= dict.fromkeys(("coco_caption", "meteor15"), {"meteor15_data": "meteor15"})
options["vdtk_concept_overlap"] = {"labels": {"things": ["dog", "kite", "red train"]}}
found = {}
for name, folder in module_folders().items():
    case = runpy.run_path(str(folder / "tests.py"))["test_cases"][0]
    expected = case.pop("result")
    result = manycaps.load(name, **options.get(name, {})).compute(**case)
    found[name] = [expected, {key: result[key] for key in expected}]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    python = make_environment(folder / "builder")
    command = [python, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True, env=outer_variables())
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installation(wheel, tmp_path_factory):
    """Folder outside the repository, and the scripts of an environment with the wheel, which `pip install .` builds."""
    folder = tmp_path_factory.mktemp("installed")
    python = make_environment(folder / "environment")
    install(python, wheel)
    return folder, python.parent


def install(python, *source):
    """Install from this machine alone, beside the packages that are there."""
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed"]
    command = [python, "-m", "pip", "install", *options, *source]
    subprocess.run(command, check=True, capture_output=True, env=outer_variables())


def run(installation, *command):
    folder, scripts = installation
    environment = outer_variables() | {
        "HF_HOME": str(folder / "cache"),
        "NLTK_DATA": str(pathlib.Path(nltk.data.find("corpora/wordnet").path).parents[1]),
    }
    done = subprocess.run(
        [scripts / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_every_module_is_listed_and_computes_its_case(installation):
    where = run(installation, "python", "-c", "import manycaps; print(manycaps.__file__)")
    assert not pathlib.Path(where.strip()).is_relative_to(ROOT)
    listed = {module["name"]: module for module in json.loads(run(installation, "manycaps", "list", "-f", "json"))}
    assert listed["pac_score"]["variants"][0] == "pac-vit-b-32"
    assert {name: module["missing"] for name, module in listed.items() if module["missing"]} == {}
    write_data(installation[0] / "meteor15")
    results = json.loads(run(installation, "python", "-c", PROGRAM).splitlines()[-1])
    assert list(results) == list(listed) == list(module_folders())
    for expected, found in results.values():
        assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_the_wheel_holds_what_git_holds(wheel):
    assert wheel.stat().st_size < 5_000_000
    listed = subprocess.run(["unzip", "-Z1", wheel], check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in listed if "__pycache__" in name or name.endswith(".pyc")] == []
    for name, folder in module_folders().items():
        # The kit is there once.
        module_files = {path.rpartition("/")[2] for path in listed if f"/{folder.parent.name}/{name}/" in path}
        assert module_files == {"README.md", "app.py", "requirements.txt", "tests.py"}
        assert f"manycaps/kit/{name}.py" in listed


EXPORT = """
from manycaps.catalog.modules import MODULES
from manycaps.commands.command_line import main
assert [main(["export", name, "exported"]) for name in MODULES] == [0] * len(MODULES)
"""


@pytest.mark.slow
def test_a_wheel_exports_every_module_as_the_checkout_does(installation, tmp_path):
    run(installation, "python", "-c", EXPORT)
    for name in module_folders():
        expected = export_module(name, tmp_path)
        assert folder_contents(installation[0] / "exported" / name) == folder_contents(expected)


# gradio may be another one than the cards name.
SPACES = """
import json
from manycaps.catalog import hub_spaces
hub_spaces.check_gradio = lambda *_: None
folders = hub_spaces.space_folders()
names = ["compare", "human_parity", "trm_meteor"]
print(json.dumps({name: {file: len(text) for file, text in sorted(hub_spaces.space_files(folders[name], "me").items())}
                  for name in names}))
"""


@pytest.mark.slow
def test_a_wheel_makes_the_spaces_that_the_checkout_makes(installation):
    pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
    done = subprocess.run([sys.executable, "-c", SPACES], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(run(installation, "python", "-c", SPACES)) == json.loads(done.stdout)


def folder_contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# With no package of this project: an import of it fails.
LOAD_EXPORTED = """
import sys
sys.modules["manycaps"] = None
import evaluate
module = evaluate.load({folder!r})
print(module.compute(predictions=[["a dog runs"]], references=[["the dog runs", "a puppy"]])["rouge_l"])
"""


@pytest.mark.slow
def test_the_sdist_and_an_exported_folder_hold_real_files(tmp_path):
    builder = make_environment(tmp_path / "builder")
    command = [builder, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=outer_variables())
    [path] = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        members = {member.name.partition("/")[2]: member for member in archive}
    assert not [name for name, member in members.items() if member.issym()]
    assert members["metrics/trm_meteor/meteor_nltk.py"].size > 1000
    assert command_line.main(["export", "bleu_rouge", str(tmp_path / "exported")]) == 0
    assert command_line.main(["export", "bleu_rouge", str(tmp_path / "exported")]) == 1
    assert command_line.main(["export", "bleu_rouge", str(tmp_path / "exported"), "--force"]) == 0
    exported = tmp_path / "exported" / "bleu_rouge"
    assert not [path for path in exported.rglob("*") if path.is_symlink()]
    program = LOAD_EXPORTED.format(folder=str(exported))
    environment = outer_variables() | {"HF_HOME": str(tmp_path / "cache"), "HF_EVALUATE_OFFLINE": "1"}
    done = subprocess.run([builder, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) > 0


@pytest.mark.slow
def test_a_clone_without_links_works_once_it_is_installed(tmp_path):
    """As git makes it where links are switched off."""
    clone = tmp_path / "clone"
    command = ["git", "-c", "core.symlinks=false", "clone", "-q", ROOT, clone]
    subprocess.run(command, check=True, capture_output=True)
    folder = clone / "metrics" / "bleu_rouge"
    assert (folder / "ngrams_bleu.py").read_text() == "../../manycaps/kit/ngrams_bleu.py"
    python = make_environment(tmp_path / "environment")
    install(python, "-e", clone)
    assert "def bleu_scores" in (folder / "ngrams_bleu.py").read_text()
    environment = outer_variables() | {"HF_HOME": str(tmp_path / "cache")}
    # First evaluate alone, so that nothing of the package is imported yet.
    loaded = f"import evaluate; print(evaluate.load({str(folder)!r}).name)"
    program = f"{loaded}; import manycaps; print(manycaps.load('bleu_rouge').name)"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (0, "bleu_rouge\nbleu_rouge\n"), done.stderr[-2000:]


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
    brought = set().union(*(extras()[extra] for extra in ["dependencies", *MODULES[name].extras]))
    # The pages' Pillow comes with their own extra.
    assert {each.replace("_", "-") for each in listed} - brought <= {"pillow"}
    assert "pillow" in extras()["demo"]
