"""The layout of the kit: how many of its files a module folder links to, and a test file for each of them."""

import pytest

from tests.modules.conftest import FOLDERS, ROOT

# Most links of a module folder to files of the kit.
MOST_HELPERS = 20

# Modules that run many of the others' distances, and so link to their files as well: the number of their links.
RUNS_MANY = {
    "human_parity": 30,  # every distance between captions, and all tests of parity
    "homogeneity": 28,  # the tests of parity on the diversity of sets, by n-grams and by vectors
    "vdtk_leave_one_out": 26,  # BLEU, ROUGE, CIDEr, METEOR, MMD and triangle ranks
}


def n_helpers(folder):
    return sum(path.is_symlink() and path.readlink().parent.name == "kit" for path in folder.glob("*.py"))


def test_a_folder_links_to_few_files_of_the_kit(folder):
    assert 0 < n_helpers(folder) <= RUNS_MANY.get(folder.name, MOST_HELPERS)


@pytest.mark.parametrize("name", RUNS_MANY)
def test_no_exception_outlives_its_reason(name):
    """A module that is named above has more links than others may have, and as many as stands there."""
    (folder,) = (path for path in FOLDERS if path.name == name)
    assert MOST_HELPERS < n_helpers(folder) == RUNS_MANY[name]


def test_each_file_of_the_kit_has_a_test_file_of_its_name():
    """Main scripts, which are links, are tested by the files here and by the tests.py of their folders."""
    kit = {path.stem for path in (ROOT / "manycaps" / "kit").glob("*.py") if not path.is_symlink()} - {"__init__"}
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "unit" / "kit").glob("test_*.py")}
    assert kit
    assert sorted(kit - tested) == []
    assert sorted(tested - kit) == []
