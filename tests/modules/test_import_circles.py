"""No file of the package imports one that imports it, at once or within a function, nor large packages too early."""

import ast
import graphlib
import subprocess
import sys
from importlib.util import resolve_name

from tests.each_case import each_case
from tests.module_folders import ROOT


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in (ROOT / "manycaps").rglob("*.py")}


def imports(name):
    """The files of the package that one imports, those that only a type checker reads aside."""
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    conditions = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    for_types = {part for node in conditions if "TYPE_CHECKING" in ast.unparse(node.test) for part in ast.walk(node)}
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in set(ast.walk(tree)) - for_types:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            parts = [f"{module}.{alias.name}" for alias in node.names]
            found |= {part if part in FILES else module for part in parts}
    return (found & FILES.keys()) - {name}


def test_no_file_imports_one_that_imports_it():
    graph = {name: imports(name) for name in FILES}
    assert sum(map(len, graph.values())) > 1_000
    assert len([*graphlib.TopologicalSorter(graph).static_order()]) == len(FILES)


@each_case(
    ("names", "packages"),
    [
        ("manycaps.kit.clip_sets", "torch open_clip safetensors.torch"),
        ("manycaps.scoring.local_processes", "numpy pyarrow"),
        ("manycaps.integrations.inspect_scorer", "evaluate inspect_ai torch"),
        ("manycaps.integrations.lighteval_metric", "evaluate lighteval torch"),
    ],
)
def test_large_packages_are_not_imported_before_they_are_needed(names, packages):
    program = f"import sys, {names}; print({set(packages.split())} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "set()\n"
