"""No file of the package imports one that imports it, at once or within a function."""

import ast
import graphlib

import pytest

from tests.module_folders import ROOT

PACKAGE = ROOT / "manycaps"


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in PACKAGE.rglob("*.py")}


class Imports(ast.NodeVisitor):
    """The files of the package that a file imports, those that only a type checker reads aside."""

    def __init__(self, name, is_package):
        parts = name.split(".")
        self.parent, self.names = parts if is_package else parts[:-1], set()

    def visit_If(self, node):
        for child in node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else [*node.body, *node.orelse]:
            self.visit(child)

    def visit_ImportFrom(self, node):
        base = ".".join(self.parent[: len(self.parent) - node.level + 1]) if node.level else ""
        module = ".".join(filter(None, (base, node.module)))
        self.names |= {
            next((name for name in (f"{module}.{alias.name}", module) if name in FILES), None) for alias in node.names
        }

    def visit_Import(self, node):
        self.names |= {alias.name for alias in node.names if alias.name in FILES}


def imports(name, text):
    found = Imports(name, FILES.get(name, PACKAGE).name == "__init__.py")
    found.visit(ast.parse(text))
    return found.names - {name, None}


def order(graph):
    return [*graphlib.TopologicalSorter(graph).static_order()]


def test_a_circle_is_found():
    first = imports("manycaps.catalog", "def later():\n    from .functional import meteor")
    assert first == {"manycaps.functional"}
    with pytest.raises(graphlib.CycleError):
        order({"manycaps.catalog": first, "manycaps.functional": {"manycaps.catalog"}})
    assert imports("manycaps.catalog", "if TYPE_CHECKING:\n    from manycaps.functional import meteor") == set()


def test_no_file_imports_one_that_imports_it():
    assert len(order({name: imports(name, path.read_text(encoding="utf-8")) for name, path in FILES.items()})) == len(
        FILES
    )
