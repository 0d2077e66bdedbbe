"""The plain functions: their examples, the messages of their checks, and the same numbers as the modules' maths."""

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest

from manycaps import functional, functional_diversity, functional_kernels, functional_parity, functional_systems, load
from tests.each_case import each_case
from tests.meteor15_data import write_data
from tests.tools import ROOT

# Modules, and the least number of their examples.
EXAMPLES = {functional: 16, functional_diversity: 7, functional_kernels: 7, functional_parity: 4, functional_systems: 5}

# What the functions do without.
FOREIGN = ("evaluate", "datasets", "torch")

# A finder refuses the packages: scipy would stumble over a mark in sys.modules.
PROGRAM = """
import json, sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {foreign}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refusal())
from manycaps import functional as f
rows = f.ptb_tokenize(["A dog runs.", "The dog is running.", "Dogs run!", "A cat sleeps."])
table = dict(n_documents=10, document_frequency=dict(a=9, dog=4))
vectors = [[[0.0, 1.0], [0.5, 1.0], [3.0, 1.0], [4.0, 2.0]]]
sides = [vectors[0][:2]], [vectors[0][2:]]
distances = f.meteor_distances([rows])
results = [
    f.meteor([rows[:2]], [rows[2:]]),
    f.cider_d([rows[:2]], [rows[2:]], table),
    f.triangle_rank_statistic(distances, 2),
    f.triangle_rank_p_values(f.cider_d_distances([rows], table), 2),
    f.triangle_rank_p_values(f.cosine_distances(vectors), 2, n_resamples=99),
    f.mmd_squared(*sides),
    f.mmd_p_values(*sides),
    f.frechet_squared(*sides),
    f.frechet_p_values(*sides),
    f.bleu([rows[:2]], [rows[2:]])[0],
    f.corpus_bleu([rows[:2]], [rows[2:]]),
    f.rouge_l([rows[:2]], [rows[2:]]),
    f.ref_pac_s(f.pac_s([0.4]), [0.8]),
    *(f.kernel_mmd_squared(k(vectors), 2) for k in (f.gaussian_kernel, f.laplace_kernel, f.polynomial_kernel)),
    f.kernel_mmd_p_values(f.polynomial_kernel(vectors, 1, 1, 0), 2),
    [f.cmmd(vectors[0][:2], vectors[0][2:])],
    f.kid(vectors[0][:2], vectors[0][2:], 3, 2),
    f.vendi_score(1 - f.cosine_distances(vectors)),
    f.self_cider([rows], table),
    f.div_n([rows], 2),
    f.self_bleu([rows]),
    f.mbleu([rows]),
    f.unique_share([rows]),
    [f.compression_ratio(["a dog", "a cat"])],
]
p_values = results[3]
numbers = [f.combined_p_value(p_values), f.harmonic_mean_p(p_values), f.holm_p_values(p_values)[0]]
numbers.append(f.paired_test([0.5, 1.0], [0.25, 0.5], n_resamples=9).p_value)
print(json.dumps([*(result[0] for result in results), *numbers]))
"""


def test_every_public_function_has_an_example():
    functions = [getattr(functional, name) for name in functional.__all__]
    assert [f.__name__ for f in functions if inspect.isfunction(f) and ">>>" not in f.__doc__] == []


@pytest.mark.slow
def test_nothing_heavy_is_needed(tmp_path):
    program = PROGRAM.format(foreign=FOREIGN)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    numbers = json.loads(done.stdout)
    assert len(numbers) == 30
    assert all(np.isfinite(numbers))
    # 2 * 0.4 = 0.8, and the harmonic mean of 0.8 and 0.8.
    assert numbers[12] == pytest.approx(0.8, abs=1e-12)


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
KERNEL_OPTIONS = {
    "rbf": (lambda rows: functional.gaussian_kernel(rows, "mean"), {"sigma": "mean"}),
    "laplace": (lambda rows: functional.laplace_kernel(rows, 2.0), {"sigma": 2.0}),
    "polynomial": (
        lambda rows: functional.polynomial_kernel(rows, 2, 0.5, 0.0),
        {"degree": 2, "gamma": 0.5, "coef0": 0},
    ),
    "linear": (lambda rows: functional.polynomial_kernel(rows, 1, 1.0, 0.0), {}),
}


@each_case("estimator", ["unbiased", "biased"])
@each_case("kernel", KERNEL_OPTIONS)
def test_kernels_are_those_of_the_module(kernel, estimator):
    function, options = KERNEL_OPTIONS[kernel]
    result = load("mmd", kernel=kernel, estimator=estimator, p_value="exact", details=True, **options).compute(**ROWS)
    kernels = function(np.concatenate(list(ROWS.values()), axis=1))
    assert functional.kernel_mmd_squared(kernels, 4, estimator).tolist() == pytest.approx(
        result["mmd_per_row"], rel=1e-12
    )
    assert functional.kernel_mmd_p_values(kernels, 4, estimator).tolist() == result["mmd_p_value_per_row"]


def test_published_presets_are_those_of_the_module():
    module, sides = load("mmd"), [side.reshape(-1, 5) for side in ROWS.values()]
    assert functional.cmmd(*sides) == module.compute(**ROWS, preset="cmmd")["cmmd"]
    found = module.compute(**ROWS, preset="kid", n_subsets=5, subset_size=4, seed=2)
    assert functional.kid(*sides, n_subsets=5, subset_size=4, seed=2) == (found["kid"], found["kid_deviation"])


def test_diversity_is_that_of_the_module():
    captions = [["a dog runs on the beach", "a dog runs", "two dogs"], ["a man cooks", "a man cooks", "somebody eats"]]
    tokens = [functional.ptb_tokenize(row) for row in captions]
    result = load("set_diversity", kernels=("ngram",), vendi_orders=(2,), details=True).compute(
        predictions=captions, references=captions
    )
    for name, values in {
        "self_cider": functional.self_cider(tokens),
        "div_1": functional.div_n(tokens, 1),
        "div_2": functional.div_n(tokens, 2),
        "self_bleu_4": functional.self_bleu(tokens),
        "mbleu_4": functional.mbleu(tokens),
        "unique_share": functional.unique_share(tokens),
        "compression_ratio": [functional.compression_ratio(row) for row in captions],
    }.items():
        assert list(values) == pytest.approx(result[f"{name}_per_row"], abs=1e-12), name


def test_meteor15_of_another_language_is_that_of_the_module():
    candidates, references = [["zwei hunde laufen", "häuser"]], [["ein hund läuft", "das haus"]]
    tokens = [[functional.tokenize(row, "none") for row in column] for column in (candidates, references)]
    module = load("meteor15", tokenizer="none", language="de", details=True)
    found = functional.meteor15(*tokens, language="de")
    assert found.tolist() == module.compute(predictions=candidates, references=references)["meteor15_per_row"]
    assert found[0] != functional.meteor15(*tokens)[0]
    assert functional.meteor15(*tokens, language="de", function_words="language")[0] != found[0]


LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))[None]


@each_case(
    ("call", "error", "message"),
    [
        (lambda: functional.ptb_tokenize("a dog"), TypeError, "captions: expected an iterable of strings, got one"),
        (lambda: functional.tokenize("a dog"), TypeError, "captions: expected an iterable of strings, got one"),
        (lambda: functional.tokenize(["a", 3], "char"), TypeError, "captions[1]: expected a string, got int"),
        (lambda: functional.tokenize(["a"], "pbt"), ValueError, "tokenizer: expected one of 'ptb', 'none', 'char', "),
        (lambda: functional.meteor([[["a"]]], []), ValueError, "references: expected 1 rows, as many as candidates, "),
        (lambda: functional.meteor([[]], [[["a"]]]), ValueError, "candidates[0]: expected one or more lists of tokens"),
        (lambda: functional.meteor([["a dog"]], [[["a"]]]), TypeError, "candidates[0][0]: expected a list of tokens,"),
        (
            lambda: functional.meteor15([["a dog"]], [[["a"]]]),
            TypeError,
            "candidates[0][0]: expected a list of tokens,",
        ),
        (
            lambda: functional.meteor15([[["a"]]], []),
            ValueError,
            "references: expected 1 rows, as many as candidates, ",
        ),
        (
            lambda: functional.meteor15([[["a"]]], [[["a"]]], 3),
            TypeError,
            "meteor15_data: expected the path of meteor-",
        ),
        (lambda: functional.meteor_distances(["a"]), ValueError, "texts[0]: expected one or more lists of tokens, got"),
        (lambda: functional.cider_d([[["a"]]], [[["a"]]]), ValueError, "references: expected"),
        (lambda: functional.bleu([[["a"]]], []), ValueError, "references: expected 1 rows, as many as candidates, got"),
        (lambda: functional.corpus_bleu([[]], [[["a"]]]), ValueError, "candidates[0]: expected one or more lists of t"),
        (lambda: functional.rouge_l([["a dog"]], [[["a"]]]), TypeError, "candidates[0][0]: expected a list of tokens,"),
        (lambda: functional.cider_d_distances([[["a"]]], {}), ValueError, "document_frequency: expected the layout"),
        (lambda: functional.cosine_distances([[[0.0]]]), ValueError, "vectors[0][0]: expected a vector that is not al"),
        (lambda: functional.cosine_distances([[0.0]]), ValueError, "vectors: expected an array of three dimensions, r"),
        (lambda: functional.triangle_rank_statistic(LINE, 4), ValueError, "n_candidates: expected at most 3 of 4 text"),
        (lambda: functional.triangle_rank_statistic(LINE, 2.0), TypeError, "n_candidates: expected a whole number"),
        (lambda: functional.triangle_rank_statistic(LINE, 2, "both"), ValueError, "statistic: expected"),
        (lambda: functional.triangle_rank_statistic(LINE[:, :2, :2], 1), ValueError, "distances: expected shape (n_ro"),
        (lambda: functional.triangle_rank_statistic(LINE * np.nan, 2), ValueError, "distances[0][0][0]: expected a fi"),
        (lambda: functional.triangle_rank_p_values(LINE, 2, max_splits=5), ValueError, "p_value='exact': expected at "),
        (lambda: functional.triangle_rank_p_values(LINE, 2, n_resamples=0), ValueError, "n_resamples: expected"),
        (lambda: functional.mmd_squared(LINE, LINE, sigma=0), ValueError, "sigma: expected a number above 1e-100 and"),
        (lambda: functional.mmd_squared(LINE, LINE, sigma="mode"), ValueError, "sigma: expected"),
        (
            lambda: functional.mmd_squared(LINE[:, :1], LINE),
            ValueError,
            "candidates: expected at least 2 vectors in every",
        ),
        (lambda: functional.mmd_squared(LINE, LINE, estimator="mine"), ValueError, "estimator: expected"),
        (
            lambda: functional.frechet_squared(LINE, LINE[:, :, 1:]),
            ValueError,
            "references: expected shape (1, n, 4), as ",
        ),
        (lambda: functional.gaussian_kernel(LINE, 0), ValueError, "sigma: expected a number above 1e-100 and below 1e"),
        (
            lambda: functional.laplace_kernel(LINE, "mode"),
            ValueError,
            "sigma: expected one of 'median', 'mean', got 'm",
        ),
        (lambda: functional.polynomial_kernel(LINE, 0), ValueError, "degree: expected a whole number of at least 1"),
        (lambda: functional.polynomial_kernel(LINE, 3, -1), ValueError, "gamma: expected a positive finite number, "),
        (lambda: functional.polynomial_kernel(LINE, 3, None, -1), ValueError, "coef0: expected a finite number of at "),
        (lambda: functional.polynomial_kernel(LINE * 1e100, 9), ValueError, "kernel='polynomial': expected kernel val"),
        (
            lambda: functional.kernel_mmd_squared(LINE, 1),
            ValueError,
            "n_candidates: expected a whole number of at least 2",
        ),
        (
            lambda: functional.kernel_mmd_squared(LINE[:, :3], 2),
            ValueError,
            "kernels: expected shape (n_rows, n, n), got (1,",
        ),
        (
            lambda: functional.kernel_mmd_squared(np.triu(LINE), 2),
            ValueError,
            "kernels: expected symmetric kernels, got one",
        ),
        (
            lambda: functional.kernel_mmd_squared(LINE, 2, "authors"),
            ValueError,
            "estimator: expected one of 'unbiased', 'bias",
        ),
        (lambda: functional.kernel_mmd_p_values(LINE, 2, max_splits=5), ValueError, "p_value='exact': expected at "),
        (lambda: functional.cmmd([0.0], [[1.0]]), ValueError, "candidates: expected an array of shape (n, d), got (1"),
        (lambda: functional.cmmd([[0.0]], [[1.0, 2.0]]), ValueError, "references: expected 1 numbers per item, as in "),
        (
            lambda: functional.kid([[0.0]] * 3, [[1.0]] * 2),
            ValueError,
            "subset_size: expected at most 2, the size of t",
        ),
        (lambda: functional.kid([[0.0]], [[1.0]], 0), ValueError, "n_subsets: expected a whole number of at least 1"),
        (lambda: functional.vendi_score(LINE), ValueError, "kernels: expected a symmetric matrix of shape (4, 4) w"),
        (lambda: functional.vendi_score([np.eye(2)], 0.5), ValueError, "vendi_orders: expected numbers from 1 to 1000"),
        (lambda: functional.self_cider([[["a"]]]), ValueError, "references: expected"),
        (lambda: functional.div_n([[["a"]]], 0), ValueError, "order: expected a whole number of at least 1, got 0."),
        (lambda: functional.self_bleu([["a dog"]]), TypeError, "texts[0][0]: expected a list of tokens, got str."),
        (lambda: functional.mbleu([[]]), ValueError, "texts[0]: expected one or more lists of tokens, got []."),
        (lambda: functional.unique_share(["a"]), ValueError, "texts[0]: expected one or more lists of tokens, got 'a'"),
        (lambda: functional.compression_ratio("a dog"), TypeError, "captions: expected a list of strings, got"),
        (lambda: functional.pac_s([0.5], 0), ValueError, "weight: expected a positive finite number, got 0."),
        (lambda: functional.pac_s([0.5, np.nan]), ValueError, "cosines[1]: expected a finite number, got NaN or infin"),
        (lambda: functional.ref_pac_s([0.5], 0.5), ValueError, "reference_cosines: expected shape (1,), that of pac_s"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as found:
        call()
    assert str(found.value).startswith(message)
