"""The plain functions: their examples, the messages of their checks, and the same numbers as the modules' maths."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from manycaps import functional, load
from tests.meteor15_data import write_data
from tests.refusals import refusals
from tests.tools import ROOT

# Runs the examples where a finder refuses packages: scipy would stumble over a mark in sys.modules.
PROGRAM = """
import doctest, sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("evaluate", "datasets", "torch"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refusal())
import manycaps.functional
modules = {sys.modules[getattr(manycaps.functional, name).__module__] for name in manycaps.functional.__all__}
results = [doctest.testmod(module) for module in modules if module.__name__.startswith("manycaps.functional")]
print(sum(result.failed for result in results), sum(result.attempted for result in results))
"""


def test_every_public_function_has_an_example():
    functions = [getattr(functional, name) for name in functional.__all__]
    assert [f.__name__ for f in functions if inspect.isfunction(f) and ">>>" not in f.__doc__] == []


@pytest.mark.slow
def test_nothing_heavy_is_needed():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=ROOT)
    n_failed, n_attempted = map(int, done.stdout.splitlines()[-1].split())
    assert n_failed == 0, done.stdout
    assert n_attempted >= len(functional.__all__)


def test_meteor15_is_that_of_the_module(tmp_path):
    data = write_data(tmp_path)
    candidates, references = [["a big dog runs", "x"], ["the movie"]], [["a large puppy ran", "dogs"], ["films of x"]]
    tokens = [[functional.ptb_tokenize(row) for row in column] for column in (candidates, references)]
    result = load("meteor15", meteor15_data=data, details=True).compute(predictions=candidates, references=references)
    assert functional.meteor15(*tokens, data).tolist() == result["meteor15_per_row"]
    assert result["meteor15_per_row"][0] > 0.2


ROWS = {
    "prediction_embeddings": np.random.default_rng(0).normal(0.3, 1, size=(3, 4, 5)),
    "reference_embeddings": np.random.default_rng(1).normal(size=(3, 3, 5)),
}


def test_published_presets_are_those_of_the_module():
    module, sides = load("mmd"), [side.reshape(-1, 5) for side in ROWS.values()]
    assert functional.cmmd(*sides) == module.compute(**ROWS, preset="cmmd")["cmmd"]
    found = module.compute(**ROWS, preset="kid", n_subsets=5, subset_size=4, seed=2)
    assert functional.kid(*sides, n_subsets=5, subset_size=4, seed=2) == (found["kid"], found["kid_deviation"])


def test_meteor15_of_another_language_is_that_of_the_module():
    candidates, references = [["zwei hunde laufen", "häuser"]], [["ein hund läuft", "das haus"]]
    tokens = [[functional.tokenize(row, "none") for row in column] for column in (candidates, references)]
    module = load("meteor15", tokenizer="none", language="de", details=True)
    found = functional.meteor15(*tokens, language="de")
    assert found.tolist() == module.compute(predictions=candidates, references=references)["meteor15_per_row"]
    assert found[0] != functional.meteor15(*tokens)[0]
    assert functional.meteor15(*tokens, language="de", function_words="language")[0] != found[0]


LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))[None]

VALUE_ERRORS = [
    ("tokenizer: expected one of 'ptb', 'none', 'char', ", lambda: functional.tokenize(["a"], "pbt")),
    ("references: expected 1 rows, as many as candidates, ", lambda: functional.meteor([[["a"]]], [])),
    ("candidates[0]: expected one or more lists of tokens", lambda: functional.meteor([[]], [[["a"]]])),
    ("texts[0]: expected one or more lists of tokens, got", lambda: functional.meteor_distances(["a"])),
    ("references: expected", lambda: functional.cider_d([[["a"]]], [[["a"]]])),
    ("document_frequency: expected the layout", lambda: functional.cider_d_distances([[["a"]]], {})),
    ("vectors[0][0]: expected a vector that is not al", lambda: functional.cosine_distances([[[0.0]]])),
    ("n_candidates: expected at most 3 of 4 text", lambda: functional.triangle_rank_statistic(LINE, 4)),
    ("distances: expected shape (n_ro", lambda: functional.triangle_rank_statistic(LINE[:, :2, :2], 1)),
    ("distances[0][0][0]: expected a fi", lambda: functional.triangle_rank_statistic(LINE * np.nan, 2)),
    ("p_value='exact': expected at ", lambda: functional.triangle_rank_p_values(LINE, 2, max_splits=5)),
    ("sigma: expected a number above 1e-100 and", lambda: functional.mmd_squared(LINE, LINE, sigma=0)),
    ("sigma: expected", lambda: functional.mmd_squared(LINE, LINE, sigma="mode")),
    ("candidates: expected at least 2 vectors in every", lambda: functional.mmd_squared(LINE[:, :1], LINE)),
    ("estimator: expected", lambda: functional.mmd_squared(LINE, LINE, estimator="mine")),
    ("references: expected shape (1, n, 4), as ", lambda: functional.frechet_squared(LINE, LINE[:, :, 1:])),
    ("gamma: expected a positive finite number, ", lambda: functional.polynomial_kernel(LINE, 3, -1)),
    ("coef0: expected a finite number of at ", lambda: functional.polynomial_kernel(LINE, 3, None, -1)),
    ("kernel='polynomial': expected kernel val", lambda: functional.polynomial_kernel(LINE * 1e100, 9)),
    ("n_candidates: expected a whole number of at least 2", lambda: functional.kernel_mmd_squared(LINE, 1)),
    ("kernels: expected shape (n_rows, n, n), got (1,", lambda: functional.kernel_mmd_squared(LINE[:, :3], 2)),
    ("kernels: expected symmetric kernels, got one", lambda: functional.kernel_mmd_squared(np.triu(LINE), 2)),
    ("candidates: expected an array of shape (n, d), got (1", lambda: functional.cmmd([0.0], [[1.0]])),
    ("references: expected 1 numbers per item, as in ", lambda: functional.cmmd([[0.0]], [[1.0, 2.0]])),
    ("subset_size: expected at most 2, the size of t", lambda: functional.kid([[0.0]] * 3, [[1.0]] * 2)),
    ("kernels: expected a symmetric matrix of shape (4, 4) w", lambda: functional.vendi_score(LINE)),
    ("vendi_orders: expected numbers from 1 to 1000", lambda: functional.vendi_score([np.eye(2)], 0.5)),
    ("weight: expected a positive finite number, got 0.", lambda: functional.pac_s([0.5], 0)),
    ("cosines[1]: expected a finite number, got NaN or infin", lambda: functional.pac_s([0.5, np.nan])),
    ("reference_cosines: expected shape (1,), that of pac_s", lambda: functional.ref_pac_s([0.5], 0.5)),
]
TYPE_ERRORS = [
    ("captions: expected an iterable of strings, got one", lambda: functional.tokenize("a dog")),
    ("captions[1]: expected a string, got int", lambda: functional.tokenize(["a", 3], "char")),
    ("candidates[0][0]: expected a list of tokens,", lambda: functional.meteor([["a dog"]], [[["a"]]])),
    ("meteor15_data: expected the path of meteor-", lambda: functional.meteor15([[["a"]]], [[["a"]]], 3)),
    ("n_candidates: expected a whole number", lambda: functional.triangle_rank_statistic(LINE, 2.0)),
    ("captions: expected a list of strings, got", lambda: functional.compression_ratio("a dog")),
]

test_messages = refusals({ValueError: VALUE_ERRORS, TypeError: TYPE_ERRORS})
