"""Copy manycaps/shared_*.py into every module folder whose main script or demo page imports it.

python scripts/sync_shared.py            rewrite the copies; exit 1 if something is left that only a person can mend
python scripts/sync_shared.py --check    change nothing; exit 1 and list what is wrong

A module folder must work alone, as a Space or as a copy elsewhere, so each holds its own copies. evaluate's loader
copies only the files that the main script names: it must import something from every helper, also from those that only
other helpers use. The demo page, app.py, runs as a script: it imports `from shared_x import y`, and what it imports can
have no relative imports; the main script leaves these helpers alone, so that nobody needs gradio for a score.
"""

import argparse
import ast
import pathlib
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
ORIGINALS = ROOT / "manycaps"
HEADER = "# Vendored from manycaps/{name}. Edit it there, then run `python scripts/sync_shared.py`.\n"
REPAIR = "Run `python scripts/sync_shared.py`."


def relative_imports(path: pathlib.Path) -> set[str]:
    """Return the x of every `from .x import y` in a file, at any depth."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level}


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


def sync_folder(folder: pathlib.Path, check: bool) -> Iterator[str]:
    """Bring one folder's copies up to date, and yield what is wrong with it."""
    main_script = folder / f"{folder.name}.py"
    of_script, of_app = relative_imports(main_script), app_imports(folder)
    wanted = of_script | of_app
    for name in sorted(of_app):
        if name in of_script:
            yield f"{folder.relative_to(ROOT)}: {main_script.name} and app.py both import {name}. Split the helper."
        elif (ORIGINALS / f"{name}.py").exists() and relative_imports(ORIGINALS / f"{name}.py"):
            yield f"manycaps/{name}.py: app.py runs as a script, where relative imports fail. Import absolutely, or not."
    for original in sorted(ORIGINALS.glob("shared_*.py")):
        copy = folder / original.name
        expected = HEADER.format(name=original.name) + original.read_text(encoding="utf-8")
        actual = copy.read_text(encoding="utf-8") if copy.exists() else None
        name = copy.relative_to(ROOT)
        if original.stem in wanted and actual != expected:
            if check:
                yield f"{name}: differs from manycaps/{original.name}. {REPAIR}"
            else:
                copy.write_text(expected, encoding="utf-8", newline="\n")
        elif original.stem not in wanted and actual is not None:
            yield f"{name}: {main_script.name} never imports it. Import a name there or in app.py, or delete it."
    for copy in sorted(folder.glob("shared_*.py")):
        if not (ORIGINALS / copy.name).exists():
            yield f"{copy.relative_to(ROOT)}: has no original in manycaps/. Move it there, or rename it."
    for helper in sorted(folder.glob("*.py")):
        if helper.name not in (main_script.name, "app.py"):
            for missing in sorted(relative_imports(helper) - of_script):
                yield (
                    f"{helper.relative_to(ROOT)}: imports .{missing}, which {main_script.name} does not. "
                    f"Add `from .{missing} import ...` to {main_script.name}, then run this again."
                )


def main(check: bool) -> int:
    """Sync or check every module folder; 0 if all is well."""
    problems = [problem for folder in module_folders() for problem in sync_folder(folder, check)]
    print("\n".join(problems) or "all copies match")
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, only report")
    sys.exit(main(parser.parse_args().check))
