"""Copy manycaps/shared_*.py into every module folder whose files need it, and name all of them in its main script.

python -m scripts.repository.sync_shared           rewrite copies and imports; exit 1 if something must be fixed by hand
python -m scripts.repository.sync_shared --check   change nothing; exit 1 and list what is wrong

A module folder must work alone, as a Space or as a copy elsewhere, so each holds its own copies of the helpers that its
files import, and of those that these import. evaluate's loader copies only the files that the main script names: what
it does not import itself is named in a block of imports that this tool writes. The demo page, app.py, runs as a script:
it imports `from shared_x import y`, and what it imports can have no relative imports; the main script leaves these
helpers alone, so that nobody needs gradio for a score.
"""

import argparse
import ast
import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORIGINALS = ROOT / "manycaps"
HEADER = "# Vendored from manycaps/{name}. Edit it there, then run `make format`.\n"
REPAIR = "Run `python -m scripts.repository.sync_shared`."

# Around the table of helpers in CONTRIBUTING.md.
TABLE_MARKS = ("<!-- helpers: written by scripts/repository/sync_shared.py -->", "<!-- end of helpers -->")

# First lines of the block of imports that this tool writes into a main script.
BLOCK = (
    "# isort: split\n"
    "# Files that other files of this folder need: evaluate's loader copies only what is named here.\n"
    "# Written by scripts/repository/sync_shared.py.\n"
)


def relative_imports(path: pathlib.Path) -> set[str]:
    """Return the x of every `from .x import y` in a file, at any depth."""
    return relative_imports_of(path.read_text(encoding="utf-8"))


def relative_imports_of(script: str) -> set[str]:
    """Return the x of every `from .x import y` in the text of a file, at any depth."""
    nodes = ast.walk(ast.parse(script))
    return {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level}


def app_imports(folder: pathlib.Path) -> set[str]:
    """Return the x of every `from shared_x import y` of a folder's demo page."""
    app = folder / "app.py"
    if not app.exists():
        return set()
    tree = ast.parse(app.read_text(encoding="utf-8"))
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    return {name for name in names if name.startswith("shared_")}


def module_folders() -> list[pathlib.Path]:
    """Return the folders that hold a main script of their own name."""
    folders = (path for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*"))
    return sorted(folder for folder in folders if (folder / f"{folder.name}.py").is_file())


def needed_files(folder: pathlib.Path, first: set[str]) -> set[str]:
    """Return the names of the files that `first` name, and of those that these import, and so on."""
    needed: set[str] = set()
    waiting = set(first)
    while waiting:
        name = waiting.pop()
        needed.add(name)
        path = (ORIGINALS if name.startswith("shared_") else folder) / f"{name}.py"
        if path.exists():
            waiting |= relative_imports(path) - needed
    return needed


def without_block(script: str) -> str:
    """Return a main script without the imports that this tool wrote."""
    return re.sub(re.escape(BLOCK) + r".*?\n_LOADED = \([^)]*\)\n\n?", "", script, flags=re.DOTALL)


def first_name(path: pathlib.Path) -> str:
    """Return the first function or class of a file that is not private."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next(node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_"))


def with_block(folder: pathlib.Path, script: str) -> str:
    """Return a main script with an import of every file that it needs and does not import itself."""
    script = without_block(script)
    by_hand = relative_imports_of(script)
    others = sorted(needed_files(folder, by_hand) - by_hand)
    if not others:
        return script
    paths = [(ORIGINALS if name.startswith("shared_") else folder) / f"{name}.py" for name in others]
    names = [first_name(path) if path.exists() else "missing" for path in paths]
    imports = "".join(f"from .{module} import {name}\n" for module, name in zip(others, names, strict=True))
    # As `ruff format` writes it: a single name stands on the same line.
    used = f"{names[0]}," if len(names) == 1 else "\n" + "".join(f"    {name},\n" for name in names)
    block = f"{BLOCK}{imports}\n_LOADED = ({used})\n"
    last = [node for node in ast.parse(script).body if isinstance(node, ast.Import | ast.ImportFrom)][-1]
    lines = script.splitlines(keepends=True)
    before, after = "".join(lines[: last.end_lineno]), "".join(lines[last.end_lineno :])
    return f"{before}\n{block}{after}"


def sync_folder(folder: pathlib.Path, check: bool) -> Iterator[str]:
    """Bring one folder's copies and imports up to date, and yield what is wrong with it."""
    main_script = folder / f"{folder.name}.py"
    script = main_script.read_text(encoding="utf-8")
    of_script, of_app = needed_files(folder, relative_imports_of(without_block(script))), app_imports(folder)
    for name in sorted(of_app):
        if name in of_script:
            yield f"{folder.relative_to(ROOT)}: {main_script.name} and app.py both import {name}. Split the helper."
        elif (ORIGINALS / f"{name}.py").exists() and relative_imports(ORIGINALS / f"{name}.py"):
            yield f"manycaps/{name}.py: app.py is a script, where relative imports fail. Import absolutely, or not."
    for name in sorted(of_script | of_app):
        if not ((ORIGINALS if name.startswith("shared_") else folder) / f"{name}.py").exists():
            yield f"{folder.relative_to(ROOT)}: imports {name}, which does not exist. Write it, or import another."
            return
    wanted = {folder / f"{name}.py" for name in of_script | of_app if name.startswith("shared_")}
    expected = {copy: HEADER.format(name=copy.name) + (ORIGINALS / copy.name).read_text("utf-8") for copy in wanted}
    expected[main_script] = with_block(folder, script)
    for path, text in sorted(expected.items()):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif path == main_script:
            yield f"{path.relative_to(ROOT)}: does not name every file that the folder needs. {REPAIR}"
        else:
            yield f"{path.relative_to(ROOT)}: differs from manycaps/{path.name}. {REPAIR}"
    for stray in sorted(set(folder.glob("shared_*.py")) - wanted):
        is_copy = stray.read_text(encoding="utf-8").startswith(HEADER.format(name=stray.name))
        if is_copy and not check:
            stray.unlink()
        else:
            repair = REPAIR if is_copy else "Move it to manycaps/, or rename it."
            yield f"{stray.relative_to(ROOT)}: no file of this folder imports it, or it has no original. {repair}"


def helper_table() -> str:
    """Return the table of CONTRIBUTING: every original, what it is for, and which modules hold a copy."""
    rows = ["| helper | what it holds | used by |", "|---|---|---|"]
    for original in sorted(ORIGINALS.glob("shared_*.py")):
        docstring = ast.get_docstring(ast.parse(original.read_text(encoding="utf-8"))) or ""
        users = [folder.name for folder in module_folders() if (folder / original.name).exists()]
        used_by = "all modules" if len(users) == len(module_folders()) else ", ".join(users) or "pages and commands"
        first_line = docstring.partition("\n")[0].rstrip(".")
        rows.append(f"| `{original.name}` | {first_line} | {used_by} |")
    return "\n".join(rows)


def sync_table(check: bool) -> Iterator[str]:
    """Bring the table of CONTRIBUTING up to date, where there is one, and yield what is wrong with it."""
    page = ROOT / "CONTRIBUTING.md"
    if not page.exists():
        return
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(TABLE_MARKS[0])
    _, _, after = rest.partition(TABLE_MARKS[1])
    expected = f"{before}{TABLE_MARKS[0]}\n{helper_table()}\n{TABLE_MARKS[1]}{after}"
    if text == expected:
        return
    if check:
        yield f"CONTRIBUTING.md: the table of helpers is not that of the files. {REPAIR}"
    else:
        page.write_text(expected, encoding="utf-8", newline="\n")


def main(check: bool) -> int:
    """Sync or check every module folder and the table of helpers; 0 if all is well."""
    problems = [problem for folder in module_folders() for problem in sync_folder(folder, check)]
    problems += sync_table(check)
    print("\n".join(problems) or "all copies match")
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, only report")
    sys.exit(main(parser.parse_args().check))
