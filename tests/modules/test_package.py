"""The package as a whole: imports without circles, types that are public, and examples in docstrings that run."""

import ast
import doctest
import graphlib
import importlib
import inspect
import os
import re
import subprocess
import sys
from importlib.util import resolve_name

import pytest

import manycaps
from tests.tools import ROOT


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in (ROOT / "manycaps").rglob("*.py")}


def imports(name):
    """The files of the package that one imports, in a function or for a type checker as well."""
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            parts = [f"{module}.{alias.name}" for alias in node.names]
            found |= {part if part in FILES else module for part in parts}
    return (found & FILES.keys()) - {name}


# Folders and files of the package: each imports those before it alone.
LAYERS = (
    *("kit", "functional", "files", "catalog", "report", "scoring", "comparison", "diversity", "sampling"),
    *("human_correlation", "pac_training", "rewards", "integrations", "pages", "commands"),
)


def test_imports_go_from_layer_to_layer():
    """Nothing imports a layer above it; `manycaps` itself stands above the loader, and its bundled sample."""
    for name in FILES:
        own = name.split(".")[1:2]
        if own and own != ["__main__"]:
            wrong = {
                other
                for other in imports(name)
                for layer in other.split(".")[1:2]
                if LAYERS.index(layer) > LAYERS.index(own[0])
            }
            assert not wrong, name


def test_the_package_lists_no_more_than_a_page():
    assert len([path for path in (ROOT / "manycaps").iterdir() if path.name != "__pycache__"]) <= 18


def test_no_file_imports_one_that_imports_it():
    graph = {name: imports(name) for name in FILES}
    assert sum(map(len, graph.values())) > 500
    assert len([*graphlib.TopologicalSorter(graph).static_order()]) == len(FILES)


@pytest.mark.parametrize(
    ("names", "packages"),
    [
        ("manycaps.kit.clip_sets", "torch open_clip safetensors.torch"),
        ("manycaps.scoring.local_processes", "evaluate pyarrow torch"),
        ("manycaps.integrations.inspect_scorer", "evaluate inspect_ai torch"),
        ("manycaps.integrations.lighteval_metric", "evaluate lighteval torch"),
    ],
)
def test_large_packages_are_not_imported_before_they_are_needed(names, packages):
    program = f"import sys, {names}; print({set(packages.split())} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    "entry",
    [
        "functional",
        "comparison",
        "comparison.foreign_scores",
        "diversity",
        "diversity.rows",
        "human_correlation.judges",
        "sampling.decoding",
        "scoring",
    ],
)
def test_what_a_public_function_returns_is_public_as_well(entry):
    module = importlib.import_module(f"manycaps.{entry}")
    functions = [function for name in module.__all__ if inspect.isfunction(function := getattr(module, name))]
    assert functions
    for function in functions:
        returned = function.__annotations__["return"]
        if isinstance(returned, str) or getattr(returned, "__module__", "").startswith("manycaps"):
            name = returned if isinstance(returned, str) else returned.__name__
            assert inspect.isclass(getattr(module, name))
            assert name in module.__all__


# Examples whose module stands in the template of a new module. Examples in module folders, to which the kit has links,
# run in the copy that evaluate loads.
TEMPLATES = ROOT / "scripts" / "repository" / "module_template"

WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in ("manycaps", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if TEMPLATES not in path.parents
    and not path.is_symlink()
    and re.search("^ +>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name):
    for package, start in (("gradio", "manycaps.pages."), ("mkdocs", "scripts.repository.site_")):
        if name.startswith(start):  # packages that do not fit the oldest versions of others
            pytest.importorskip(package, reason=f"{package} is not installed: pip install -r tests/requirements.txt")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0


@pytest.mark.slow
def test_an_editor_and_mypy_know_columns_and_options(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        'import manycaps\n\nmodule = manycaps.load("trm_cider", confidence_level=0.95)\nreveal_type(module)\n'
        'module.compute(predictions=[["a dog"]], references=[["a cat"]], p_valu="none")\n'
    )
    options = [
        "--config-file",
        os.devnull,
        "--explicit-package-bases",
        "--namespace-packages",
        "--ignore-missing-imports",
    ]
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", str(tmp_path / "cache"), str(program)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600).stdout
    assert 'Revealed type is "manycaps.catalog.module_types.TrmCider"' in said
    assert 'Unexpected keyword argument "p_valu" for "compute" of "TrmCider"; did you mean "p_value"?' in said


def test_help_shows_columns_and_options(folder):
    module = manycaps.load(folder.name)
    parameters = inspect.signature(module.compute).parameters
    assert {*type(module).COLUMNS} <= {*parameters}
    at_call = {name for name, option in type(module).OPTIONS.items() if not option.at_load}
    assert at_call <= {*parameters}
