"""One name, one meaning: a public function, class or type is defined once in the whole package."""

import ast
import collections
import importlib
import inspect
import pathlib

from tests.each_case import each_case

ROOT = pathlib.Path(__file__).parents[2]

# What every file of a kind defines: commands, and pages.
OF_EVERY_FILE = {"manycaps/commands": {"add_arguments", "run"}, "manycaps/pages": {"example", "form", "measure"}}


def public_names(tree):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        # Types are written as classes are; constants are not shared by name alone.
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper():
                yield name


def test_a_public_name_is_defined_in_one_file():
    """The files of `functional` are left out: they check arguments and call the function of that name."""
    files = collections.defaultdict(set)
    for folder in ("manycaps", "metrics", "measurements"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if path.is_symlink() or path.name.startswith("functional"):
                continue
            for public in public_names(ast.parse(path.read_text(encoding="utf-8"))):
                if not public.startswith("_") and public not in OF_EVERY_FILE.get(name.rpartition("/")[0], ()):
                    files[public].add(name)
    assert len(files) > 1_000
    assert {public: sorted(where) for public, where in files.items() if len(where) > 1} == {}


@each_case("entry", ["functional", "comparison", "decoding", "diversity", "rows", "scoring"])
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
