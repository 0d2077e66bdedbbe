"""Create a module folder in the house shape, complete and running, for you to put your own maths in.

python -m scripts.repository.new_module word_share                          metrics/word_share
python -m scripts.repository.new_module word_count --kind measurement       measurements/word_count

Copies scripts/repository/module_template, vendors the helpers, and enters the module in tests/modules/sample_inputs.py,
in tests/requirements.txt and in the README's table. It passes every test over all modules from the start; what to
change is printed at the end.
"""

import argparse
import importlib.util
import pathlib
import re
import sys

from scripts.repository import sync_shared

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "scripts" / "repository" / "module_template"

# Folder, sample rows of the tests over all modules, and row of the README's table, by kind.
KINDS = {
    "metric": (
        "metrics",
        "CAPTION_ROWS",
        "| `{name}` | sets of captions per image | words | [card]({folder}/README.md) |",
    ),
    "measurement": (
        "measurements",
        '{"data": CAPTION_ROWS["references"]}',
        "| `{name}` | a set of captions with itself | number of words | [card]({folder}/README.md) |",
    ),
}


def check_name(name: str) -> None:
    """Raise unless a module may have this name.

    Raises:
        ValueError: it is no lower-case identifier, is taken, or is the name of a library.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise ValueError(f"name: expected lower-case words joined by _, got {name!r}. Choose a name like word_share.")
    if any((ROOT / folder / name).exists() for folder, *_ in KINDS.values()):
        raise ValueError(f"name: expected a new name, got {name!r}, which already exists. Choose another.")
    if importlib.util.find_spec(name):
        raise ValueError(f"name: expected a name that no library has, got {name!r}. A Space would import this instead.")


def fill(text: str, name: str) -> str:
    """Put a module's name in the place of the template's.

    >>> fill("NewSlug new_slug New Slug", "word_share")
    'WordShare word_share Word Share'
    """
    title = " ".join(word.capitalize() for word in name.split("_"))
    return text.replace("new_slug", name).replace("NewSlug", title.replace(" ", "")).replace("New Slug", title)


def gradio_version() -> str:
    """Return the version of gradio with which the demo pages are tested."""
    requirements = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8")
    return re.search(r"^gradio==(\S+)$", requirements, re.MULTILINE)[1]  # type: ignore[index]


def insert_sorted(path: pathlib.Path, line: str, among: str) -> None:
    """Insert a line at its alphabetical place among the lines that match, or after the last of them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    places = [i for i, other in enumerate(lines) if re.match(among, other)]
    later = [i for i in places if lines[i] > line]
    lines.insert(later[0] if later else places[-1] + 1, line)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_path(name: str, parent: str) -> pathlib.Path:
    """Return the file of a module's hand cases."""
    return ROOT / "tests" / "unit" / parent / f"test_{name}.py"


def create(name: str, kind: str) -> list[pathlib.Path]:
    """Write the folder and the entries; return the files that a person has to change."""
    check_name(name)
    parent, sample, row = KINDS[kind]
    folder = ROOT / parent / name
    folder.mkdir(parents=True)
    written = []
    for source in sorted((TEMPLATES / kind).glob("*.*")):
        is_test = source.name.startswith("test_")
        target = test_path(name, parent) if is_test else folder / fill(source.name, name)
        target.parent.mkdir(exist_ok=True)
        text = fill(source.read_text(encoding="utf-8"), name).replace("SDK_VERSION", gradio_version())
        target.write_text(text, encoding="utf-8")
        written.append(target)
    for problem in (*sync_shared.sync_folder(folder, check=False), *sync_shared.sync_table(check=False)):
        raise AssertionError(problem)
    insert_sorted(
        ROOT / "tests" / "modules" / "sample_inputs.py", f'    "{name}": {sample},', r'    "\w+": .*[A-Z].*,$'
    )
    insert_sorted(ROOT / "tests" / "requirements.txt", f"-r ../{parent}/{name}/requirements.txt", rf"-r \.\./{parent}/")
    table_row = row.format(name=name, folder=f"{parent}/{name}")
    insert_sorted(ROOT / "README.md", table_row, r"\| `\w+` \| .*\[card\]")
    return written


def main(name: str, kind: str) -> int:
    """Create, or say in one line why not."""
    try:
        written = create(name, kind)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print("Put your own maths, text and hand cases into:")
    for path in written:
        print(f"  {path.relative_to(ROOT)}")
    print(f"Then run: python -m pytest {test_path(name, KINDS[kind][0]).relative_to(ROOT)} tests/modules -k {name}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME", help="lower-case words joined by _; also the key of the result")
    parser.add_argument("--kind", choices=KINDS, default="metric")
    arguments = parser.parse_args()
    sys.exit(main(arguments.name, arguments.kind))
