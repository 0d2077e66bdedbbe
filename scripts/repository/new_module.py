"""Create a complete, running module folder for your own maths.

python -m scripts.repository.new_module word_share                          metrics/word_share
python -m scripts.repository.new_module word_count --kind measurement       measurements/word_count

Copies scripts/repository/module_template: the folder; and its maths as manycaps/kit/text_NAME.py, to which the folder
has a link. Its page is a link to app.py of the template. Adds a record to manycaps/catalog/modules.py, and renews links
and the table of docs/metrics.md. The new module passes every test over all modules from the start; what to change is
printed at the end.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

from manycaps.kit.errors import InputError
from scripts.repository import sync_kit

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "scripts" / "repository" / "module_template"

CATALOG = ROOT / "manycaps" / "catalog" / "modules.py"

# Folder of a module's folder by kind.
KINDS = {"metric": "metrics", "measurement": "measurements"}

# The end of the records in manycaps/catalog/modules.py.
END_OF_RECORDS = "\n)\n\n_RECORDS"


def check_name(name: str) -> None:
    """Raise unless a module may have this name."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise InputError("name", "lower-case words joined by _", repr(name), "Choose a name like word_share.")
    if any((ROOT / folder / name).exists() for folder in KINDS.values()):
        raise InputError("name", "a new name", f"{name!r}, which already exists", "Choose another.")
    if importlib.util.find_spec(name):
        raise InputError("name", "a name that no library has", repr(name), "A Space would import this instead.")


def fill(text: str, name: str) -> str:
    """Replace the template's name by the module's.

    >>> fill("NewSlug new_slug New Slug NEW_SLUG", "word_share")
    'WordShare word_share Word Share WORD_SHARE'
    """
    title = " ".join(word.capitalize() for word in name.split("_"))
    text = text.replace("new_slug", name).replace("NEW_SLUG", name.upper())
    return text.replace("NewSlug", title.replace(" ", "")).replace("New Slug", title)


def gradio_version() -> str:
    """Return the version of gradio with which the demo pages are tested."""
    requirements = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8")
    return re.search(r"^gradio==(\S+)$", requirements, re.MULTILINE)[1]  # type: ignore[index]


def create(name: str, kind: str) -> list[pathlib.Path]:
    """Write the folder, the record, and what tools write of them; return the files that a person has to change."""
    check_name(name)
    folder = ROOT / KINDS[kind] / name
    folder.mkdir(parents=True)
    # Maths and hand cases go to the kit's.
    elsewhere = {
        "text_new_slug.py": sync_kit.KIT / f"text_{name}.py",
        "test_text_new_slug.py": ROOT / "tests" / "unit" / "kit" / f"test_text_{name}.py",
    }
    written = []
    (folder / "app.py").symlink_to(os.path.relpath(TEMPLATES / "app.py", folder))
    templates = [*TEMPLATES.glob("*.*"), *(TEMPLATES / kind).glob("*.*")]
    for source in sorted([path for path in templates if path.name != "app.py"], key=lambda path: path.name):
        target = elsewhere.get(source.name, folder / fill(source.name, name))
        text = fill(source.read_text(encoding="utf-8"), name).replace("SDK_VERSION", gradio_version())
        target.write_text(text, encoding="utf-8")
        written.append(target)
    record = fill((TEMPLATES / kind / "record").read_text(encoding="utf-8"), name).rstrip()
    before, end, after = CATALOG.read_text(encoding="utf-8").partition(END_OF_RECORDS)
    CATALOG.write_text(f"{before}\n{record}{end}{after}", encoding="utf-8", newline="\n")
    # A process of its own reads the new record.
    subprocess.run(
        [sys.executable, "-m", "scripts.repository.sync_kit"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    return [*written, CATALOG]


def main(name: str, kind: str) -> int:
    """Create, or say in one line why not."""
    try:
        written = create(name, kind)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    print("Put your own maths, text and hand cases into:")
    for path in written:
        print(f"  {path.relative_to(ROOT)}")
    print(f"Then run: python -m pytest tests/unit/kit/test_text_{name}.py tests/modules -k {name}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME", help="lower-case words joined by _; also the key of the result")
    parser.add_argument("--kind", choices=KINDS, default="metric")
    arguments = parser.parse_args()
    sys.exit(main(arguments.name, arguments.kind))
