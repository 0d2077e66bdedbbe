"""Every module folder found on disk, loaded as a user loads it."""

import pathlib

import evaluate
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.parent for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*/README.md"))


def pytest_generate_tests(metafunc):
    if "folder" in metafunc.fixturenames:
        metafunc.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
    if "distribution_folder" in metafunc.fixturenames:
        chosen = [f for f in FOLDERS if "DISTRIBUTION_DEFAULTS" in (f / f"{f.name}.py").read_text("utf-8")]
        metafunc.parametrize("distribution_folder", chosen, ids=lambda folder: folder.name)


@pytest.fixture(autouse=True)
def hub_names_load_from_disk(monkeypatch):
    """Let the Hub name printed in an example resolve to the folder in this checkout."""
    load, folders = evaluate.load, {folder.name: str(folder) for folder in FOLDERS}

    def load_from_disk(name, *args, **keywords):
        return load(folders.get(name.rsplit("/", 1)[-1], name) if name.count("/") < 2 else name, *args, **keywords)

    monkeypatch.setattr(evaluate, "load", load_from_disk)
