"""Bad values of options are refused at load and at compute time, in the same words by every module with the option."""

import itertools
import math

import pytest

import manycaps
from manycaps.catalog.installed_modules import module_class
from manycaps.catalog.modules import MODULES
from tests.modules.sample_inputs import SAMPLE_INPUTS, load_options, module_of

WHOLE = "a whole number"

# Modules that compare two sets by the statistic of every split.
DISTRIBUTIONS = " ".join(name for name, record in MODULES.items() if record.is_distribution and name != "human_parity")

# An option, in front of it the modules if not all that have it are meant; bad values; the error, and what it expected.
BAD = [
    (f"{DISTRIBUTIONS}.p_value", ["yes", 1, True], ValueError, "one of 'none', 'exact', 'permutation', got "),
    ("human_parity.p_value", ["yes"], ValueError, "one of 'chi-squared', 'exact', 'permutation', 'none', got "),
    ("n_resamples", [0, -5], ValueError, f"{WHOLE} of at least 1, got "),
    ("seed", [-1], ValueError, f"{WHOLE} of at least 0, got -1"),
    ("max_partitions", [2.5, "many", True], TypeError, f"{WHOLE}, got "),
    ("confidence_level", [95, 0.0, 1], ValueError, "a number between 0 and 1, got "),
    ("statistic", ["pool", "both", type(None), 1], ValueError, "one of 'per_side', 'pooled', got "),
    ("estimator", ["unbaised", "mean", "", 1, True, ["biased"]], ValueError, "one of 'unbiased', 'biased', "),
    ("pooled", [1, "yes", 0.5, [], {}], TypeError, "True or False, got "),
    ("sigma", ["mode", "middle"], ValueError, "one of 'median', 'mean', got '"),
    ("sigma", [0, -1.0, math.nan], ValueError, "a number above 1e-100 and below 1e+100, got"),
    ("mmd.sigma", [[]], ValueError, "at least one bandwidth"),
    ("kernel", ["gauss", "", 3, ["rbf"], True], ValueError, "one of 'rbf', "),
    ("degree", [0], ValueError, f"{WHOLE} of at least 1"),
    ("gamma", [0, -1, math.inf], ValueError, "a number above"),
    ("coef0", [-1.0, math.nan, math.inf], ValueError, "a number above"),
    ("preset", ["fid", "", 1, ["kid"], "KID"], ValueError, "one of 'cmmd', 'kid'"),
    ("n_subsets", [0], ValueError, f"{WHOLE} of at least 1"),
    ("n_subsets", [10**6], ValueError, f"{WHOLE} of at most"),
    ("subset_size", [1], ValueError, f"{WHOLE} of at least 2"),
    ("subset_size", [5001], ValueError, f"{WHOLE} of at most"),
    ("trm.distance", ["cosin", "mahalanobis"], ValueError, "one of 'cosine', 'euclidean',"),
    ("trm.distance", ["evaluate:", "evaluate:rouge:"], ValueError, "'evaluate:NAME' or"),
    ("evaluate_scores", ["high", 1, True, ["distance"], ""], ValueError, "one of 'similarity',"),
    ("encoder", [3], TypeError, "a model's name or folder, or a function"),
    ("device", [-1], TypeError, "a name, got int"),
    ("dtype", ["int8"], ValueError, "one of 'float32',"),
    ("batch_size", [0], ValueError, f"{WHOLE} of at least 1, got 0"),
    ("long_texts", ["cut", 3], ValueError, "one of 'truncate', 'window', got "),
    (
        "long_captions",
        ["windows", "", 77, True, ["window"], b"window"],
        ValueError,
        "one of 'truncate', 'window', got ",
    ),
    ("variant", ["vit-b-33", ""], ValueError, "one of pac-vit-b-32, "),
    ("variant", [3], TypeError, "a name, got int."),
    ("checkpoint", [b"a"], TypeError, "a path or a Hub repository, got byte"),
    ("prompt", [3], TypeError, "a string, got int"),
    ("weight", ["2", True], TypeError, "a number, got "),
    ("weight", [0, math.nan, math.inf], ValueError, "a positive finite number, got "),
    ("compile", [1], TypeError, "True or False, got 1."),
    ("n_workers", [0], ValueError, f"{WHOLE} of at least 1, got 0."),
    ("frames", [0, "every"], ValueError, "'all' or a whole number from 1 to 100,000, got "),
    ("frames", [2.0, True], TypeError, "'all' or a whole number, got "),
    ("idf", [3], TypeError, "True, False, a path to a JSON file or a mapping, got int."),
    ("idf", ["no.json"], ValueError, "a JSON file, got no file at 'no.json'."),
    ("reference_aggregation", ["max"], ValueError, "one of 'authors', 'equ"),
    ("tokenizer", ["stanford", "moses"], ValueError, "one of 'ptb', "),
    ("document_frequency", [5], TypeError, "a path to a JSON file or a mapping, got int."),
    ("sizes", ["same", ["all"]], ValueError, "one of 'equal', 'all', got "),
    ("kernels", [("ngram", "ngram"), (len, max)], ValueError, "each kernel once, at most one a function, got"),
    ("vendi_orders", [(0,), (10**400,), (0.5,), (math.nan,)], ValueError, "numbers from 1 to 1000, or infinity, got"),
    ("vendi_orders", [(), (2, 2.0)], ValueError, "at least one order, and each once, got"),
    ("head_shares", [0.9], TypeError, "a list or tuple of numbers, got float."),
    ("head_shares", [[0.9, 90]], ValueError, "[1]: expected a share above 0 and at most 1, got 90."),
    ("lengths", [[0]], ValueError, f"[0]: expected {WHOLE} of at least 1, got 0."),
    ("pos", [3], TypeError, "the name of a spaCy pipeline, a pipeline or a function, got int."),
]


def load_with(name, given):
    return manycaps.load(name, **load_options(name) | given)


def compute_with(name, given):
    return module_of(name).compute(**SAMPLE_INPUTS[name], **given)


@pytest.mark.parametrize(
    ("option", "values", "error", "message"), BAD, ids=[f"{i}-{case[0]}" for i, case in enumerate(BAD)]
)
def test_bad_values_are_refused_at_load_and_compute_time(option, values, error, message):
    names, _, option = option.rpartition(".")
    names = names.split() or [name for name in MODULES if option in module_class(name).DEFAULTS]
    assert names
    for name, value in itertools.product(names, values):
        is_load_option = option in module_class(name).LOAD_OPTIONS
        for call in (load_with,) if is_load_option else (load_with, compute_with):
            with pytest.raises(error) as raised:
                call(name, {option: value})
            text = str(raised.value)
            assert text.startswith(option + message if message[0] == "[" else f"{option}: expected {message}"), text
