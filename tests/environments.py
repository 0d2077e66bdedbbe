"""Virtual environments that see the packages of this one, without what is installed into them later."""

import os
import pathlib
import subprocess
import sys
import sysconfig

# Variables that would carry this process's own paths and folders into another environment.
OWN_VARIABLES = ("PYTEST", "VIRTUAL_ENV", "PYTHONPATH", "MAKE", "MFLAGS", "HF_HOME")


def empty_environment(folder):
    """Make a virtual environment without packages; return its Python."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "bin" / "python"


def pip_install(python):
    """The command that installs into an environment; Python compiles what is imported, and nothing else."""
    return [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]


def make_environment(folder):
    """Make a virtual environment that sees the packages of this one, and no others; return its Python."""
    python = empty_environment(folder)
    paths = {"base": str(folder), "platbase": str(folder)}
    inside = pathlib.Path(sysconfig.get_path("purelib", "venv", paths))
    (inside / "packages-of-the-tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def outer_variables():
    """Environment variables without this process's own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
