"""No file of the package imports one that imports it, at once or within a function."""

import ast
import graphlib
from importlib.util import resolve_name

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
