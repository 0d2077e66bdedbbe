"""Link the files of manycaps/kit into every module folder that needs them, and name them in its main script.

python -m scripts.repository.sync_kit           rewrite links and imports; exit 1 if something must be fixed by hand
python -m scripts.repository.sync_kit --check   change nothing; exit 1 and list what is wrong

A module folder works alone once its links are files: as a Space, in a wheel, or exported. Its links are the files that
its main script imports, and those that these import. evaluate's loader copies only the files that the main script
names: what it does not import itself is named in a block of imports that this tool writes. In the kit every main script
has a link, so that `manycaps.load` finds it beside the files that it imports. The table of docs/metrics.md is written
out of the records of manycaps/catalog/modules.py, a card's tables and manycaps/catalog/declared.json out of the
module's class.
"""

import argparse
import ast
import functools
import json
import os
import pathlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from manycaps.files.result_tables import markdown_table

ROOT = pathlib.Path(__file__).resolve().parents[2]
KIT = ROOT / "manycaps" / "kit"
REPAIR = "Run `make format`."

# Around mypy's list of files without types in pyproject.toml.
UNTYPED_MARKS = ("# main scripts: written by scripts/repository/sync_kit.py", "# end of main scripts")

# Around the table of modules in docs/metrics.md.
MODULE_MARKS = ("<!-- modules: written by scripts/repository/sync_kit.py -->", "<!-- end of modules -->")

# Around the tables of a card: of what the module takes, and of what it returns.
INPUT_MARKS = ("<!-- inputs: written by scripts/repository/sync_kit.py -->", "<!-- end of inputs -->")
VALUE_MARKS = ("<!-- values: written by scripts/repository/sync_kit.py -->", "<!-- end of values -->")

# Around the tables of docs/options.md, and the path of that page from a card.
OPTION_MARKS = ("<!-- options: written by scripts/repository/sync_kit.py -->", "<!-- end of options -->")
OPTIONS_PAGE = "../../docs/options.md"

# Columns of a table of values.
VALUE_COLUMNS = ("key", "range", "better", "meaning")

# What the catalog calls the best value, by what a class says is better.
BEST = {"higher": "highest", "lower": "lowest", "0": "zero"}

# Rows of a card's table of values: the others are in docs/options.md.
MOST_VALUES = 8

# First lines of the block of imports that this tool writes into a main script.
BLOCK = (
    "# isort: split\n"
    "# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.\n"
)


def relative_imports(script: str) -> set[str]:
    """Return the x of every `from .x import y` in the text of a file, at any depth."""
    nodes = ast.walk(ast.parse(script))
    return {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level}


def module_folders() -> list[pathlib.Path]:
    """Return the folders that hold a main script of their own name."""
    folders = (path for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*"))
    return sorted(folder for folder in folders if main_script(folder).is_file())


def main_script(folder: pathlib.Path) -> pathlib.Path:
    """Return the path of a folder's main script."""
    return folder / f"{folder.name}.py"


def kit_files() -> list[pathlib.Path]:
    """Return the files of the kit, without the links to main scripts."""
    return sorted(path for path in KIT.glob("*.py") if not path.is_symlink() and path.name != "__init__.py")


def needed_files(first: set[str]) -> set[str]:
    """Return the names of the files of the kit that `first` name, and of those that these import, and so on."""
    needed: set[str] = set()
    waiting = set(first)
    while waiting:
        needed.add(name := waiting.pop())
        waiting |= imports_in_kit(name) - needed
    return needed


@functools.cache
def imports_in_kit(name: str) -> frozenset[str]:
    """Return the names of the files that a file of the kit imports; none where it does not exist."""
    path = KIT / f"{name}.py"
    return frozenset(relative_imports(path.read_text(encoding="utf-8")) if path.exists() else ())


def without_block(script: str) -> str:
    """Return a main script without what this tool wrote."""
    return re.sub(rf"\n{re.escape(BLOCK)}(from \.\w+ import .*\n)+", "", script)


def with_block(script: str) -> str:
    """Return a main script with an import of every file that it needs and does not import itself."""
    script = without_block(script)
    by_hand = relative_imports(script)
    # `as` says that the name is not meant to be used.
    needed = first_names(needed_files(by_hand) - by_hand)
    others = [f"from .{name} import {first} as {first}\n" for name, first in needed]
    block = f"\n{BLOCK}{''.join(others)}" if others else ""
    imports = [node for node in ast.parse(script).body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = script.splitlines(keepends=True)
    end = imports[-1].end_lineno if block else 0
    return f"{''.join(lines[:end])}{block}{''.join(lines[end:])}"


def first_names(names: set[str]) -> list[tuple[str, str]]:
    """Return the names that are files of the kit, each with its first function or class, or its first type."""
    pairs = []
    for path in (KIT / f"{name}.py" for name in sorted(names)):
        if path.exists():
            nodes = ast.parse(path.read_text(encoding="utf-8")).body
            defined = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            defined += [ast.unparse(node.targets[0]) for node in nodes if isinstance(node, ast.Assign)]
            pairs.append((path.stem, next(name for name in defined if not name.startswith("_"))))
    return pairs


def sync_folder(folder: pathlib.Path, check: bool) -> Iterator[str]:
    """Bring one folder's links and imports up to date, and yield what is wrong with it."""
    path = main_script(folder)
    script = path.read_text(encoding="utf-8")
    needed = needed_files(relative_imports(without_block(script)))
    missing = sorted(name for name in needed if not (KIT / f"{name}.py").exists())
    if missing:
        yield f"{folder.relative_to(ROOT)}: imports {missing[0]}, which is not in manycaps/kit. Write it there."
        return
    if script != with_block(script):
        if check:
            yield f"{path.relative_to(ROOT)}: does not name every file that the folder needs. {REPAIR}"
        else:
            path.write_text(with_block(script), encoding="utf-8", newline="\n")
    wanted = {f"{name}.py": KIT / f"{name}.py" for name in needed}
    yield from sync_links(folder, wanted, {path.name, "app.py"}, check)


def sync_links(folder: pathlib.Path, wanted: dict[str, pathlib.Path], own: set[str], check: bool) -> Iterator[str]:
    """Make the links of a folder, by name of the link, delete others, and yield what is wrong."""
    for name, target in sorted(wanted.items()):
        link, text = folder / name, os.path.relpath(target, folder)
        if link.is_symlink() and str(link.readlink()) == text:
            continue
        if check:
            yield f"{link.relative_to(ROOT)}: expected a link to {text}. {REPAIR}"
        else:
            link.unlink(missing_ok=True)
            link.symlink_to(text)
    others = (path for path in folder.glob("*.py") if path.name not in {*wanted, *own})
    for stray in sorted(path for path in others if not path.name.startswith("test")):
        if stray.is_symlink() and not check:
            stray.unlink()
        else:
            repair = REPAIR if stray.is_symlink() else "Move it to manycaps/kit."
            yield f"{stray.relative_to(ROOT)}: the main script does not need it. {repair}"


def unused_files() -> Iterator[str]:
    """Yield the files of the kit that no module and no other part of the package imports."""
    used = needed_files(
        {name for folder in module_folders() for name in relative_imports(main_script(folder).read_text())}
    )
    package = "".join(path.read_text(encoding="utf-8") for path in KIT.parent.rglob("*.py") if path.parent != KIT)
    for path in kit_files():
        if path.stem not in used and not re.search(rf"\bkit(\.| import .*){path.stem}\b", package):
            yield f"{path.relative_to(ROOT)}: nothing imports it. Delete it."


def module_table() -> str:
    """Return the table of docs/metrics.md: what every module compares, with what, and its card."""
    # Imported when it is needed: a new module has its record by then.
    from manycaps.catalog.modules import MODULES

    rows = [
        (f"`{record.slug}`", record.compares, record.computes, f"[card](../{record.kind}/{record.slug}/README.md)")
        for record in MODULES.values()
    ]
    return document_table(("module", "compares", "with", "card"), rows)


def sync_declared(check: bool) -> Iterator[str]:
    """Bring manycaps/catalog/declared.json up to date, where there is one, and yield what is wrong.

    It is what the catalog has of classes and cards without loading them.
    """
    path = ROOT / "manycaps" / "catalog" / "declared.json"
    if not path.exists():
        return
    from manycaps.catalog.installed_modules import module_class
    from manycaps.catalog.modules import MODULES
    from manycaps.kit.clip_checkpoints import VARIANTS
    from manycaps.kit.human_parity import DISTANCES
    from manycaps.kit.sets_module import SetMetric

    declared: dict[str, dict[str, Any]] = {"human_parity": {"distances": DISTANCES}}
    for folder in module_folders():
        module, card = module_class(folder.name), (folder / "README.md").read_text(encoding="utf-8")
        keys = [value.key for value in MODULES[folder.name].values]
        facts = {
            "title": re.findall("^title: (.+)$", card, re.MULTILINE)[0],
            "columns": module.OWN_COLUMNS,
            "options": list(module.DEFAULTS),
            "is_distribution": issubclass(module, SetMetric),
            "counts_documents": "document_frequency" in module.DEFAULTS,
            "variants": list(VARIANTS) * ("variant" in module.DEFAULTS),
            "config_names": module.CONFIG_COLUMNS and ["default", *module.CONFIG_COLUMNS.values()],
            "best": {
                key: BEST.get(value.better, "") for key in keys for value in module.VALUES[::-1] if value.has_key(key)
            },
        }
        declared.setdefault(folder.name, {}).update({name: fact for name, fact in facts.items() if fact})
    text = json.dumps(declared, indent=1) + "\n"
    if check and text != path.read_text(encoding="utf-8"):
        yield f"manycaps/catalog/declared.json: it is not up to date. {REPAIR}"
    elif not check:
        path.write_text(text, encoding="utf-8", newline="\n")


def sync_written(check: bool) -> Iterator[str]:
    """Bring files that programs write up to date, where they are, and yield what is wrong."""
    for name in ("manycaps/catalog/module_types.pyi", "docs/sentences.md"):
        path = ROOT / name
        if not path.exists():
            continue
        from scripts.repository import module_types, sentences_page

        text = (module_types.stub if path.suffix == ".pyi" else sentences_page.page)()
        if path.read_text(encoding="utf-8") == text:
            continue
        if check:
            yield f"{name}: it is not up to date. {REPAIR}"
        else:
            path.write_text(text, encoding="utf-8", newline="\n")


def document_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of a document; an empty cell is one blank wide."""
    return re.sub(r"\|  (?=\|)", "| ", markdown_table([header, *rows], ["---"] * len(header)))


def as_cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|").replace("<", "\\<")


def as_keys(names: str) -> str:
    """Return names joined by commas as code."""
    return ", ".join(f"`{name}`" for name in names.split(", "))


def option_rows(module: Any) -> list[tuple[str, ...]]:
    """Return the rows of a module's ready arrays and options in a table."""
    ready = {names: ready.meaning for names, ready in module.READY.items()}
    rows = [(as_keys(names), "", as_cell(meaning)) for names, meaning in ready.items()]
    for name, option in module.OPTIONS.items():
        default = "" if option.default is None else f"`{option.shown_default}`"
        at_load = "At load time only: " if option.at_load else ""
        rows.append((f"`{name}`", default, at_load + as_cell(f"{option.meaning} {option.licence}".strip())))
    return rows


def value_rows(module: Any) -> list[tuple[str, ...]]:
    """Return the rows of a module's values in a table, with `<module>` for its own name, those that lead in bold."""
    rows = []
    for value in module.VALUES:
        keys = as_keys(re.sub(rf"(?<![a-z0-9_]){module.__module__.split('.')[-1]}(?=\b|_)", "<module>", value.keys))
        rows.append((f"**{keys}**" if value.leads else keys, *map(as_cell, value[1:4])))
    return rows


@functools.cache
def common_rows(rows_of: Callable[[Any], list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Return the rows that the tables of two modules or more have: options or values that modules share."""
    from manycaps.catalog.installed_modules import module_class

    counts = Counter(row for folder in module_folders() for row in rows_of(module_class(folder.name)))
    return [row for row, count in counts.items() if count > 1]


def card_rows(module: Any) -> list[tuple[str, ...]]:
    """Return the rows of a card's values: those that lead, and own ones that come without an option."""
    rows, common = value_rows(module), common_rows(value_rows)
    own = [row for row in rows if row not in common and not row[-1].startswith("with `")]
    chosen = sorted((row for row in rows if "**" in row[0] or row in own), key=lambda row: "**" not in row[0])
    return [row for row in rows if row in chosen[:MOST_VALUES]]


def input_table(module: Any) -> str:
    """Return the table of a card: columns, ready arrays and own options of a module's class; the others by name."""
    rows, common = option_rows(module), common_rows(option_rows)
    columns = [(as_keys(names), "", as_cell(meaning)) for names, meaning in module.COLUMNS.items()]
    table = document_table(("input", "default", "meaning"), columns + [row for row in rows if row not in common])
    others = ", ".join(row[0] for row in rows if row in common)
    shared = f"[Shared with other modules]({OPTIONS_PAGE}#options): {others}." if others else ""
    licences = [option.licence for option in module.OPTIONS.values()]
    return "\n\n".join(part for part in (table, shared, *licences) if part)


def value_table(module: Any) -> str:
    """Return the table of a card: some values of a module's class."""
    table = document_table(VALUE_COLUMNS, card_rows(module))
    return f"{table}\n\n[Further values]({OPTIONS_PAGE}#values)".replace("<module>", module.__module__.split(".")[-1])


def options_page() -> str:
    """Return the tables of docs/options.md: what modules share, and the values that an option adds."""
    from manycaps.catalog.installed_modules import module_class

    options = document_table(("option", "default", "meaning"), common_rows(option_rows))
    parts = ["## Options", options, "## Values", "`<module>` is the name of the module."]
    parts += [document_table(VALUE_COLUMNS, common_rows(value_rows)), "## Values of one module"]
    for folder in module_folders():
        on_card = card_rows(module := module_class(folder.name)) + common_rows(value_rows)
        if rows := [row for row in value_rows(module) if row not in on_card]:
            table = document_table(VALUE_COLUMNS, rows).replace("<module>", folder.name)
            parts.append(f"### {folder.name}\n\n{table}")
    return "\n\n".join(parts)


def sync_card(folder: pathlib.Path, check: bool) -> Iterator[str]:
    """Bring the tables of a module's card up to date, where it has some, and yield what is wrong."""
    card = folder / "README.md"
    if not card.exists() or INPUT_MARKS[0] not in card.read_text(encoding="utf-8"):
        return
    from manycaps.catalog.installed_modules import module_class

    module, name = module_class(folder.name), f"{folder.relative_to(ROOT)}/README.md"
    yield from sync_table(name, INPUT_MARKS, lambda: input_table(module), check)
    yield from sync_table(name, VALUE_MARKS, lambda: value_table(module), check)


def sync_table(name: str, marks: tuple[str, str], table: Callable[[], str], check: bool) -> Iterator[str]:
    """Bring the table between two marks of a page up to date, where there is this page, and yield what is wrong."""
    page = ROOT / name
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    before, _, rest = text.partition(marks[0])
    expected = f"{before}{marks[0]}\n{table()}\n{marks[1]}{rest.partition(marks[1])[2]}" if text else ""
    if text != expected and check:
        yield f"{name}: the table is not up to date. {REPAIR}"
    elif text != expected:
        page.write_text(expected, encoding="utf-8", newline="\n")


def untyped_scripts(folders: Sequence[pathlib.Path]) -> str:
    """Return the lines of mypy's `exclude`: the main scripts, whose base classes have no types."""
    return "\n".join(f"    '^manycaps/kit/{folder.name}\\.py$'," for folder in folders)


def sync_all(check: bool) -> list[str]:
    """Sync or check every module folder, the kit and the tables, and return what is wrong."""
    folders = module_folders()
    scripts = {main_script(folder).name: main_script(folder) for folder in folders}
    own = {path.name for path in kit_files()} | {"__init__.py"}
    problems = [problem for folder in folders for problem in sync_folder(folder, check)]
    problems += [*sync_links(KIT, scripts, own, check), *unused_files()]
    problems += sync_table("docs/metrics.md", MODULE_MARKS, module_table, check)
    problems += sync_table("pyproject.toml", UNTYPED_MARKS, lambda: untyped_scripts(folders), check)
    if not problems:  # A class that cannot be imported for want of a file has been named above.
        problems += [*sync_declared(check), *sync_written(check)]
        problems += [problem for folder in folders for problem in sync_card(folder, check)]
        problems += sync_table("docs/options.md", OPTION_MARKS, options_page, check)
    return problems


def main(check: bool) -> int:
    """Sync or check, and print what is wrong; 0 if all is well."""
    problems = sync_all(check)
    print("\n".join(problems) or "all links are right")
    return 1 if problems else 0


def is_check(description: str | None) -> bool:
    """Return whether the command line of a script asks to change nothing, and only report."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, only report")
    return parser.parse_args().check is True


if __name__ == "__main__":
    sys.exit(main(is_check(__doc__)))
