"""The plain functions: examples, messages, the numbers of the modules; and the expected gradients of rewards."""

import functools
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import torch

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
finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
for name in manycaps.functional.__all__:
    value = getattr(manycaps.functional, name)
    for test in finder.find(value, name, globs=dict(vars(sys.modules[value.__module__]))):
        runner.run(test)
print(*runner.summarize()[:2])
"""


@pytest.mark.parametrize("name", ["bleu", "cider_d", "corpus_bleu", "meteor", "rouge_l"])
def test_columns_of_arrow_are_columns(name):
    candidates, references = [[["a", "dog"], ["cats"]], [["cats"]]], [[["the", "dog"]], [["two", "cats"], ["a", "cat"]]]
    score = getattr(functional, name)
    arrow = (pa.chunked_array([column]) for column in (candidates, references))
    np.testing.assert_array_equal(score(*arrow), score(candidates, references))
    once = [(text for text in row) for row in candidates], references
    np.testing.assert_array_equal(score(*once), score(candidates, references))
    assert functional.tokenize(pa.array(["a dog."])) == functional.ptb_tokenize(pa.array(["a dog."])) == [["a", "dog"]]


def test_captions_of_one_set_may_be_read_once_and_hold_any_text():
    captions = ["a dog", "half \ud83d a smile"] * 9
    assert functional.compression_ratio(iter(captions)) == functional.compression_ratio(captions) > 2
    assert functional.compression_ratio(pa.array(captions[::2])) == functional.compression_ratio(captions[::2])


def test_a_nested_tensor_is_a_list_of_sets():
    sets = [torch.eye(n, dtype=torch.bool) for n in (2, 3)]
    assert functional.distinct_k(torch.nested.nested_tensor(sets), 2).tolist() == [2.0, 2.0]


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


EQUAL = np.ones((2, 2), dtype=bool)


META = torch.zeros((1, 4, 4), device="meta")


LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))[None]


PAIR = [[["a", "dog"]]], [[["a", "cat"]]]


HUGE = 10**400


VALUE_ERRORS = [
    ("tokenizer: expected one of 'ptb', 'none', 'char', ", lambda: functional.tokenize(["a"], "pbt")),
    ("references: expected one row for each of the 1 rows of candidates, ", lambda: functional.meteor([[["a"]]], [])),
    ("candidates[0]: expected one or more lists of tokens", lambda: functional.meteor([[]], [[["a"]]])),
    ("texts[0]: expected one or more lists of tokens, got", lambda: functional.meteor_distances(["a"])),
    ("references: expected", lambda: functional.cider_d([[["a"]]], [[["a"]]])),
    ("document_frequency: expected the layout", lambda: functional.cider_d_distances([[["a"]]], {})),
    ("vectors[0][0]: expected a vector that is not al", lambda: functional.cosine_distances([[[0.0]]])),
    ("n_candidates: expected at most 3 of 4 text", lambda: functional.triangle_rank_statistic(LINE, 4)),
    ("distances: expected shape (n_ro", lambda: functional.triangle_rank_statistic(LINE[:, :2, :2], 1)),
    ("distances[0][0][0]: expected a fi", lambda: functional.triangle_rank_statistic(LINE * np.nan, 2)),
    ("max_partitions: expected at least 6, ", lambda: functional.triangle_rank_p_values(LINE, 2, max_partitions=5)),
    ("sigma: expected a number above 1e-100 and", lambda: functional.mmd_squared(LINE, LINE, sigma=0)),
    ("sigma: expected", lambda: functional.mmd_squared(LINE, LINE, sigma="mode")),
    ("candidates: expected at least 2 vectors in every", lambda: functional.mmd_squared(LINE[:, :1], LINE)),
    ("estimator: expected", lambda: functional.mmd_squared(LINE, LINE, estimator="mine")),
    ("references: expected shape (1, n, 4), as ", lambda: functional.frechet_squared(LINE, LINE[:, :, 1:])),
    ("gamma: expected a positive finite number, ", lambda: functional.polynomial_kernel(LINE, 3, -1)),
    ("coef0: expected a finite number of at ", lambda: functional.polynomial_kernel(LINE, 3, None, -1)),
    ("kernel='polynomial': expected kernel val", lambda: functional.polynomial_kernel(LINE * 1e99, 9)),
    ("n_candidates: expected a whole number of at least 2", lambda: functional.kernel_mmd_squared(LINE, 1)),
    ("kernels: expected shape (n_rows, n, n), got (1,", lambda: functional.kernel_mmd_squared(LINE[:, :3], 2)),
    (
        "kernels: expected symmetric kernels, got k(a, b) unlike k(b, a)",
        lambda: functional.kernel_mmd_squared(np.triu(LINE), 2),
    ),
    ("candidates: expected an array of shape (n, d), got (1", lambda: functional.cmmd([0.0], [[1.0]])),
    ("references: expected 1 numbers per item, got 2.", lambda: functional.cmmd([[0.0]], [[1.0, 2.0]])),
    ("subset_size: expected at most 2, the size of t", lambda: functional.kid([[0.0]] * 3, [[1.0]] * 2)),
    ("kernels: expected a symmetric matrix of shape (4, 4) w", lambda: functional.vendi_score(LINE)),
    ("vendi_orders: expected numbers from 1 to 1000", lambda: functional.vendi_score([np.eye(2)], 0.5)),
    ("k: expected a whole number of at least 1, got 0", lambda: functional.distinct_k([EQUAL], 0)),
    ("equivalent[1]: expected a symmetric array of shape (", lambda: functional.utility_k([EQUAL, EQUAL[1:]], 1)),
    ("equivalent[0]: expected a symmetric array of shape (", lambda: functional.utility_k([np.tri(2) > 0], 1)),
    ("equivalent[0]: expected a symmetric array of shape (", lambda: functional.distinct_k([EQUAL], 3)),
    (
        "training: expected one row for each of the 1 rows of texts, got 0",
        lambda: functional.novelty([[[]]], [], leave_out_row=True),
    ),
    ("training[0]: expected one or more lists of tokens", lambda: functional.novelty([[["a"]]], [[]])),
    ("weight: expected a positive finite number, got 0.", lambda: functional.pac_s([0.5], 0)),
    ("cosines[1]: expected a finite number, got NaN or infin", lambda: functional.pac_s([0.5, np.nan])),
    ("reference_cosines: expected shape (1,), as pac_s", lambda: functional.ref_pac_s([0.5], 0.5)),
    ("degree: expected a whole number of at most 1,000, ", lambda: functional.polynomial_kernel(LINE, HUGE)),
    ("gamma: expected a positive finite number, got 1000", lambda: functional.polynomial_kernel(LINE, 3, HUGE)),
    ("coef0: expected a finite number of at least 0, got", lambda: functional.polynomial_kernel(LINE, 3, None, HUGE)),
    ("n_subsets: expected a whole number of at most 100,00", lambda: functional.kid(LINE[0], LINE[0], HUGE, 2)),
    ("n_rows: expected a whole number of at most 1,000,000", lambda: functional.plan_human_parity(LINE, 2, HUGE)),
    ("gap: expected a number above 0 and finite, got 10000", lambda: functional.plan_human_parity(LINE, 2, gap=HUGE)),
    (
        "n_resamples: expected a whole number of at most 10,0",
        lambda: functional.paired_test([1], [2], n_resamples=HUGE),
    ),
    (
        "n_resamples: expected a whole number of at most 10,0",
        lambda: functional.mmd_p_values(LINE, LINE, n_resamples=HUGE),
    ),
    (
        "n_resamples: expected a whole number of at most 10,0",
        lambda: functional.paired_corpus_bleu_test([], [], [], n_resamples=HUGE),
    ),
]


TYPE_ERRORS = [
    ("lexicon: expected an object with stem and synonyms, got 'a'.", lambda: functional.meteor(*PAIR, "a")),
    ("lexicon: expected an object with stem and synonyms, got 3.", lambda: functional.meteor_distances(PAIR[0], 3)),
    ("objects: expected a list of names for each row, got", lambda: functional.chair([["a"]], objects=torch.ones(()))),
    ("objects[0]: expected a list of names, got", lambda: functional.chair([["a"]], objects=[torch.ones(())])),
    ("leave_out_row: expected True or False, got 'a'. Give", lambda: functional.novelty(*PAIR, leave_out_row="a")),
    ("captions: expected an iterable of strings, got one", lambda: functional.tokenize("a dog")),
    ("captions[1]: expected a string, got int", lambda: functional.tokenize(["a", 3], "char")),
    ("candidates[0][0]: expected a list of tokens,", lambda: functional.meteor([["a dog"]], [[["a"]]])),
    ("candidates[0]: expected lists of tokens, got None.", lambda: functional.bleu([None], [[["a"]]])),
    ("candidates[0][0]: expected a list of tokens, got NoneType", lambda: functional.bleu([[None]], [[["a"]]])),
    ("meteor15_data: expected the path of meteor-", lambda: functional.meteor15([[["a"]]], [[["a"]]], 3)),
    ("n_candidates: expected a whole number", lambda: functional.triangle_rank_statistic(LINE, 2.0)),
    ("equivalent[0]: expected bools, got float64. Compare", lambda: functional.distinct_k(LINE, 1)),
    ("texts[0][0]: expected a list of tokens, got str", lambda: functional.novelty([["a dog"]], [[["a"]]])),
    ("captions: expected a list of strings, got", lambda: functional.compression_ratio("a dog")),
    ("candidates: expected rows of lists of tokens, got No", lambda: functional.rouge_l(None, [[["a"]]])),
    ("candidates[0][0]: expected a list of tokens, got [b'a']", lambda: functional.meteor([[[b"a"]]], [[["a"]]])),
    ("texts[0][1]: expected a list of tokens, got [None]", lambda: functional.self_cider([[["a"], [None]]])),
    ("references[0][0]: expected a list of tokens, got set", lambda: functional.bleu([[["a"]]], [[{"a"}]])),
    ("equivalent: expected an array of bools for each set", lambda: functional.distinct_k(1.0, 1)),
    ("equivalent[0]: expected an array of bools, got list", lambda: functional.utility_k([[[True], []]], 1)),
    *[
        ("distances: expected an array of numbers, got ", functools.partial(functional.triangle_rank_statistic, bad, 2))
        for bad in (None, "abc", [[1.0], []], LINE + 0j, LINE.astype(object), np.ma.masked_array(LINE, LINE > 0), META)
    ],
    ("gamma: expected a number, got str. Give a float", lambda: functional.polynomial_kernel(LINE, 3, "1")),
    ("coef0: expected a number, got NoneType. Give", lambda: functional.polynomial_kernel(LINE, 3, None, None)),
    ("quality: expected a number, got str. Give 0.5", lambda: functional.energy_rewards(LINE, 2, "0.5")),
    ("references: expected rows of lists", lambda: functional.paired_corpus_bleu_test([[["a"]]], [[["a"]]], None)),
    ("p_values: expected an array of numbers, got list (val", lambda: functional.holm_p_values(["0.5"])),
]


test_messages = refusals({ValueError: VALUE_ERRORS, TypeError: TYPE_ERRORS})


def finite_ones(n_rows, n, d, scale):
    values = np.random.default_rng(0).uniform(-1, 1, (n_rows, n, d))
    return values / np.abs(values).max() * scale


def symmetric_ones(scale):
    values = np.abs(finite_ones(2, 5, 5, 1.0))
    values = (values + values.swapaxes(1, 2)) * (1 - np.eye(5))
    return values / values.max() * scale


# Functions of vectors, of distances of all pairs, and of values of rows, by the scale of their numbers.
OF_NUMBERS = {
    "gaussian_kernel": lambda s: functional.gaussian_kernel(finite_ones(2, 5, 3, s)),
    "laplace_kernel": lambda s: functional.laplace_kernel(finite_ones(2, 5, 3, s)),
    "cosine_distances": lambda s: functional.cosine_distances(finite_ones(2, 5, 3, s)),
    "frechet_squared": lambda s: functional.frechet_squared(finite_ones(2, 3, 3, s), finite_ones(2, 4, 3, s)),
    "frechet_p_values": lambda s: functional.frechet_p_values(finite_ones(2, 3, 3, s), finite_ones(2, 2, 3, s)),
    "mmd_squared": lambda s: functional.mmd_squared(finite_ones(2, 3, 3, s), finite_ones(2, 4, 3, s)),
    "mmd_p_values": lambda s: functional.mmd_p_values(finite_ones(2, 3, 3, s), finite_ones(2, 2, 3, s)),
    "cmmd": lambda s: functional.cmmd(finite_ones(1, 6, 3, s)[0], finite_ones(1, 5, 3, s)[0]),
    "kernel_mmd_squared": lambda s: functional.kernel_mmd_squared(symmetric_ones(s), 2),
    "kernel_mmd_p_values": lambda s: functional.kernel_mmd_p_values(symmetric_ones(s), 2),
    "triangle_rank_statistic": lambda s: functional.triangle_rank_statistic(symmetric_ones(s), 2),
    "energy_rewards": lambda s: functional.energy_rewards(symmetric_ones(s), 2),
    "paired_test": lambda s: functional.paired_test([s, -s, s, s], [-s, s, -s, s / 2])[:1],
    "self_critical": lambda s: functional.self_critical([[s, -s]], [-s]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_large_numbers_have_a_finite_result_or_are_refused(name):
    assert np.isfinite(OF_NUMBERS[name](1e99)).all()
    for scale in (1e101, 1e160, 1e308):
        with pytest.raises(ValueError, match=r"expected a number of size at most 1e\+100, got -?\d"):
            OF_NUMBERS[name](scale)
