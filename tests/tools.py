"""The tools of scripts/ found on disk: every file that a person runs with a command line."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "scripts").rglob("*.py"))}

TOOLS = [
    path for path, text in SOURCES.items() if "__main__" in text and re.search(r"ArgumentParser|parser\(__doc__", text)
]

# Programs to copy, which depend on nothing of this folder.
EXAMPLES = [path for path in TOOLS if path.parent.name == "examples"]


def name_of(path):
    """Return a tool as Python's option -m names it."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def run_without_packages(*arguments, given=None):
    """Run Python in the repository, where the standard library and its own files are all that can be imported."""
    command = [sys.executable, "-S", "-E", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=ROOT)
