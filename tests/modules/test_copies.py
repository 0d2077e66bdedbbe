"""Every module can be pickled and copied, before and after a compute: options and added rows, no model, no features."""

import concurrent.futures
import copy
import multiprocessing
import pickle

import pytest

import manycaps
from tests.modules.conftest import FOLDERS
from tests.modules.sample_inputs import load_options
from tests.modules.test_every_module import assert_same, load_module, rows_of

# Most bytes of a pickled module, which a small model or the features of some captions exceed.
MOST_BYTES = 40_000


def copy_by_pickle(module):
    stored = pickle.dumps(module)
    assert len(stored) < MOST_BYTES
    return pickle.loads(stored)


FORMS = {"pickle": copy_by_pickle, "deepcopy": copy.deepcopy, "copy": copy.copy}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_copy_has_the_added_rows_and_computes_the_same(folder, form):
    module, columns = load_module(folder, details=True), rows_of(folder)
    first, second = ({name: column[part] for name, column in columns.items()} for part in (slice(2), slice(2, None)))
    module.add_batch(**first)
    before = FORMS[form](module)
    module.add_batch(**second)
    expected, after = module.compute(), FORMS[form](module)
    assert (len(before), len(after)) == (2, 0)
    before.add_batch(**second)
    assert_same(folder, before.compute(), expected)
    assert_same(folder, after.compute(**columns), expected)


def test_rows_in_files_of_evaluate_are_not_copied(tmp_path):
    module = manycaps.load("bleu_rouge", num_process=2, process_id=1, cache_dir=str(tmp_path))
    assert pickle.loads(pickle.dumps(module)).num_process == 2
    module.writer = []  # as after add_batch, which waits for the other process
    with pytest.raises(TypeError, match=r"^module: expected no rows in files of evaluate.*got 0\. Compute first\.$"):
        pickle.dumps(module)


def compute(module, columns):
    return module.compute(**columns)


@pytest.fixture(scope="module")
def worker():
    """A process that knows nothing of this one."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


# One of each kind of model or data that a copy finds again.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["trm_meteor", "meteor15", "mmd_bert", "pac_score", "vdtk_diversity"])
def test_a_spawned_worker_computes_with_a_pickled_module(name, worker):
    folder = next(folder for folder in FOLDERS if folder.name == name)
    columns = rows_of(folder)
    for module in (load_module(folder), manycaps.load(folder.name, **load_options(folder.name))):
        expected = module.compute(**columns)
        assert_same(folder, worker.submit(compute, module, columns).result(), expected)
