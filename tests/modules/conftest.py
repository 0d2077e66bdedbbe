"""Every module folder found on disk, loaded as a user loads it."""

import pathlib

import evaluate
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.parent for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*/README.md"))
# Folders that become Spaces: those of the modules, and the pages of commands.
SPACES = [*FOLDERS, *sorted(path.parent for path in ROOT.glob("spaces/*/README.md"))]


def pytest_generate_tests(metafunc):
    for fixture, folders in (("folder", FOLDERS), ("space", SPACES)):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, folders, ids=lambda folder: folder.name)
    if "distribution_folder" in metafunc.fixturenames:
        chosen = [f for f in FOLDERS if "DISTRIBUTION_DEFAULTS" in (f / f"{f.name}.py").read_text("utf-8")]
        metafunc.parametrize("distribution_folder", chosen, ids=lambda folder: folder.name)


def printed_names(folder):
    """How an example may name a module: its folder in the repository, and what it is on the Hub."""
    return folder.relative_to(ROOT).as_posix(), f"manycaps/{folder.name}"


@pytest.fixture(autouse=True)
def printed_names_load_from_disk(monkeypatch):
    """Let both names printed in an example, and the bare one, resolve to the folder in this checkout."""
    load = evaluate.load
    folders = {name: str(folder) for folder in FOLDERS for name in (*printed_names(folder), folder.name)}

    def load_from_disk(name, *arguments, **keywords):
        return load(folders.get(name, name), *arguments, **keywords)

    monkeypatch.setattr(evaluate, "load", load_from_disk)
