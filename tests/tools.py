"""The repository and the programs of scripts/, and a Python without packages."""

import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]

SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "scripts").rglob("*.py"))}

# A program that runs several command lines, given as JSON: its packages are imported once.
SEVERAL_COMMANDS = """
import json, sys
from manycaps.commands.command_line import main
sys.exit(max(main(line) for line in json.loads(sys.argv[1])))
"""


def write_jsonl(path, rows):
    """Write rows as lines of JSON, and return the path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@functools.cache
def numpy_alone():
    """Return a folder of NumPy and nothing else."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="numpy-alone-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packages = pathlib.Path(np.__file__).parents[1]
    for path in (packages / "numpy", packages / "numpy.libs"):
        (folder / path.name).symlink_to(path)
    return folder


def run_without_packages(*arguments, given=None):
    """Run Python in the repository, which can import the standard library, NumPy, and the repository's own files."""
    command = [sys.executable, "-S", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = str(numpy_alone())
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
