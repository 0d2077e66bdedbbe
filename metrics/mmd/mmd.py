"""MMD: are two sets of texts, images or anything else samples of one distribution, by any kernel on their features?"""

import functools

import evaluate
import numpy as np

from .clip_sets import CLIP_SET_OPTIONS, PRESETS, SET_ENCODER, encode_by_clip_or_sentences, sets_of_images
from .errors import InputError, quote_value
from .mmd_pooled import check_subset_size, kid_values, pooled_cmmd, pooled_mmd_p_value, pooled_mmd_squared
from .mmd_rows import (
    ESTIMATORS,
    KERNELS,
    MOST_SUBSETS,
    NUMBER_BOUNDS,
    WITH_BANDWIDTH,
    check_bandwidth,
    check_kernel_values,
    kernel_values,
    mmd_comparison,
    without_own,
)
from .options import (
    About,
    Effect,
    Option,
    by_value,
    check_flag,
    check_number,
    one_of,
    or_none,
    value_table,
    whole_number,
)
from .rows import CAPTIONS
from .sets_module import IS_TESTED, SET_OPTIONS, SetMetric, Sets, set_values
from .vectors_rows import READY_VECTORS, Vectors, check_estimator_sizes, pooled_values, ready_matrices
from .vectors_sentences import LONG_TEXT_VALUES

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .clip_checkpoints import Treatment as Treatment
from .clip_encoder import choose_variant as choose_variant
from .clip_model import weights_error as weights_error
from .files import inline_bytes as inline_bytes
from .images import unwrap_value as unwrap_value
from .module import CollectionModule as CollectionModule
from .row_images import text_key as text_key
from .sets_tests import exact_splits as exact_splits
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
MMD compares the distribution of several candidates with the distribution of several references: the squared maximum
mean discrepancy of any features, of texts, images or sounds, with a Gaussian, Laplace, polynomial or linear kernel, or
ready kernel values, and exact p-values. Around 0 means that the two sets look alike; larger values mean that they
differ. CMMD and KID of a corpus are presets.
"""

_CITATION = """
@article{gretton2012kernel,
  title={A Kernel Two-Sample Test},
  author={Gretton, Arthur and Borgwardt, Karsten M. and Rasch, Malte J. and Sch{\\"o}lkopf, Bernhard
          and Smola, Alexander},
  journal={Journal of Machine Learning Research},
  volume={13},
  pages={723--773},
  year={2012}
}
"""

_EXAMPLES = """
>>> mmd = evaluate.load("metrics/mmd")  # on the Hub: "manycaps/mmd"
>>> prediction_embeddings = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]
>>> reference_embeddings = [[[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]]]
>>> for kernel in ("rbf", "laplace", "polynomial", "linear"):
...     result = mmd.compute(
...         prediction_embeddings=prediction_embeddings,
...         reference_embeddings=reference_embeddings,
...         kernel=kernel,
...         p_value="exact",
...     )
...     print(kernel, round(result["mmd"], 2), round(result["mmd_corpus_p_value"], 2))
rbf 0.42 0.1
laplace 0.29 0.1
polynomial 78.33 0.1
linear 1.33 0.5
>>> result = mmd.compute(
...     prediction_embeddings=prediction_embeddings, reference_embeddings=reference_embeddings, preset="cmmd"
... )
>>> round(result["cmmd"], 2)
35.02
"""


def bandwidths_of(sigma):
    """Return the bandwidths as a list."""
    return list(sigma) if isinstance(sigma, (list, tuple)) else [sigma]


def check_bandwidths(sigma):
    """Raise unless `sigma` is a bandwidth, or a list of at least one."""
    sigmas = bandwidths_of(sigma)
    if not sigmas:
        raise InputError("sigma", "at least one bandwidth", "an empty list", "Give 'median', or numbers.")
    for one in sigmas:
        check_bandwidth(one)


def check_coef0(name, coef0):
    """Raise unless `coef0` is 0, or a number within `NUMBER_BOUNDS`."""
    if isinstance(coef0, bool) or not isinstance(coef0, (int, float)) or coef0 != 0:
        check_number(name, coef0, *NUMBER_BOUNDS)


def check_one_bandwidth(options):
    """Raise unless the kernel has the one bandwidth that `pooled` and the authors' estimator need."""
    has_one = options["kernel"] == "rbf" and len(bandwidths_of(options["sigma"])) == 1
    for name, wanted in (("pooled", options["pooled"]), ("estimator", options["estimator"] == "authors")):
        if wanted and not has_one:
            expected = f"kernel='rbf' with one bandwidth for {name}={options[name]!r}"
            got = f"{options['kernel']!r} with sigma={quote_value(options['sigma'])}"
            raise InputError(name, expected, got, f"Leave {name} out, or take that kernel.")


def check_sizes(sizes, columns, options):
    """Raise if a row is too small for the estimator, or the corpus for subsets of each side."""
    check_estimator_sizes(sizes, columns, options)
    if options["preset"] == "kid":
        check_subset_size(options["subset_size"], *(sum(side) for side in zip(*sizes, strict=True)))


def compare_vectors(vectors, n_candidates, options):
    """Compare rows of vectors by the mean of a kernel within and across the sets."""
    shape = (options[name] for name in ("degree", "gamma", "coef0"))
    kernel = kernel_values(vectors, options["kernel"], bandwidths_of(options["sigma"]), *shape)
    check_kernel_values(kernel, options["kernel"])
    if options["kernel"] == "rbf" and len(bandwidths_of(options["sigma"])) == 1:  # ones on the diagonal
        return mmd_comparison(kernel, n_candidates, options["estimator"])
    return compare_by_kernels(kernel, n_candidates, options)


def vector_settings(options):
    """Return what decides the kernel of vectors, and a published value, for the signature."""
    kernel = options["kernel"]
    settings = {"kernel": kernel}
    if kernel in WITH_BANDWIDTH:
        settings["sigma"] = "+".join(map(str, bandwidths_of(options["sigma"])))
    if kernel == "polynomial":
        settings |= {"degree": options["degree"], "gamma": options["gamma"] or "1/d", "coef0": options["coef0"]}
    settings["preset"] = options["preset"]
    if options["preset"] == "kid":
        settings |= {"n_subsets": options["n_subsets"], "subset_size": options["subset_size"]}
        settings["subset_seed"] = options["seed"]
    return settings


def whole_corpus(embedded, options, progress):
    """Return the values of the whole corpus that are asked for."""
    settings = {"sigma": bandwidths_of(options["sigma"])[0], "estimator": options["estimator"], "progress": progress}
    functions = (functools.partial(function, **settings) for function in (pooled_mmd_squared, pooled_mmd_p_value))
    return pooled_values("mmd", embedded, options, *functions) | preset_values(embedded, options)


# Options of a kernel, which have no effect on ready values of one.
OF_KERNELS = ("kernel", "sigma", "degree", "gamma", "coef0", "n_subsets", "subset_size")


def compare_by_kernels(kernel, n_candidates, options):
    """Compare rows by kernels whatever their diagonals."""
    estimator = options["estimator"]
    if estimator == "biased":
        return mmd_comparison(kernel, n_candidates, estimator)
    return mmd_comparison(without_own(kernel), n_candidates, estimator, own=0.0)._replace(pair_values=kernel)


def preset_values(embedded, options):
    """Return the published values of the corpus that are asked for."""
    if options["preset"] == "cmmd":
        return {"cmmd": pooled_cmmd(embedded.vectors, *embedded.counts())}
    if options["preset"] == "kid":
        sides = (embedded.vectors[np.concatenate(side)] for side in (embedded.predictions, embedded.references))
        values = kid_values(*sides, options["n_subsets"], options["subset_size"], options["seed"])
        return {"kid": float(values.mean()), "kid_deviation": float(values.std())}
    return {}


def check_ready_kernels(matrices, options):
    """Raise unless ready kernels are symmetric, and nothing is asked of them that needs features."""
    for name in ("pooled", "preset"):
        if options[name]:
            raise InputError(name, f"features for {name}={options[name]!r}", "ready kernels", f"Leave {name} out.")
    if options["estimator"] == "authors":
        raise InputError("estimator", "'unbiased' or 'biased' for ready kernels", "'authors'", "Choose one.")
    for i, matrix in enumerate(matrices):
        if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
            fix = "Give kernel values, or their mean with the transposed array."
            raise InputError(f"kernels[{i}]", "a symmetric array", "one in which k(a, b) is not k(b, a)", fix)


READY_KERNELS = ready_matrices(
    ("kernels", "kernels"),
    "ready kernel values in place of both, for compute only: n_rows symmetric arrays of shape (n, n), candidates "
    "first, and the number of candidates, one for all rows or a list of n_rows.",
    check_ready_kernels,
    compare_by_kernels,
    OF_KERNELS,
)

# When options of a polynomial kernel, of KID and of its draws have an effect.
IS_POLYNOMIAL = Effect("kernel", "'polynomial'", lambda options: options["kernel"] == "polynomial")
IS_KID = Effect("preset", "'kid'", lambda options: options["preset"] == "kid")
IS_DRAWN = IS_TESTED._replace(holds=lambda options: options["p_value"] != "none" or options["preset"] == "kid")


class Mmd(SetMetric, evaluate.Metric):
    """Squared maximum mean discrepancy with any kernel, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _EXAMPLES,
        ["https://jmlr.org/papers/v13/gretton12a.html", "https://arxiv.org/abs/2209.07518"],
    )
    COLUMNS = CAPTIONS | {
        "references": (
            "n_rows lists of reference captions, or n_rows strings. At least two captions on each side of a row, "
            'or one with `estimator="biased"`.'
        )
    }
    READY = READY_VECTORS | sets_of_images() | READY_KERNELS
    OPTIONS = (
        {
            "kernel": Option(
                "rbf",
                one_of(KERNELS),
                '`"rbf"` (exp(-|a - b|^2 / (2 sigma^2))), `"laplace"` (exp(-|a - b|_1 / sigma)), `"polynomial"` '
                '((gamma a.b + coef0)^degree) or `"linear"` (a.b).',
            ),
            "sigma": Option(
                "median",
                by_value(check_bandwidths),
                'Bandwidth of `"rbf"` and `"laplace"`: `"median"` or `"mean"`, half the median or mean distance of '
                "all pairs of the row's items, or a number; or a list of these, for the sum of as many kernels.",
                needs=Effect("kernel", "'rbf'", lambda options: options["kernel"] in WITH_BANDWIDTH),
            ),
            "degree": Option(3, whole_number(1, 10), 'Of `"polynomial"`, a whole number.', needs=IS_POLYNOMIAL),
            "gamma": Option(
                None,
                or_none(lambda name, value: check_number(name, value, *NUMBER_BOUNDS)),
                'Of `"polynomial"`, a number; by default 1 / d.',
                needs=IS_POLYNOMIAL,
            ),
            "coef0": Option(1.0, check_coef0, 'Of `"polynomial"`, a number.', needs=IS_POLYNOMIAL),
            "estimator": Option(
                "unbiased",
                one_of(ESTIMATORS),
                '`"unbiased"` (mean 0 for two samples of one distribution; two items a side), `"biased"` (0 for equal '
                'sets) or `"authors"` (of Chan et al. 2022; with `"rbf"` and one bandwidth only), see the card of '
                "mmd_bert.",
            ),
            "pooled": Option(
                False,
                check_flag,
                '`True` adds the value of all candidates against all references of all rows, for `"rbf"` with one '
                "bandwidth.",
                fits=check_one_bandwidth,
            ),
            "preset": Option(
                None,
                or_none(one_of(PRESETS)),
                '`"cmmd"` (of images, captions or ready features) or `"kid"` (of ready features) adds that value of '
                "all candidates against all references; by default neither.",
            ),
            "n_subsets": Option(100, whole_number(1, MOST_SUBSETS), 'Of `"kid"`: subsets of each set.', needs=IS_KID),
            "subset_size": Option(
                1000, whole_number(2, 5_000), 'Of `"kid"`: items of a subset, at most 5,000.', needs=IS_KID
            ),
        }
        | CLIP_SET_OPTIONS
        | SET_OPTIONS
        | {"seed": SET_OPTIONS["seed"]._replace(needs=IS_DRAWN)}
    )
    VALUES = (
        value_table("""
        * mmd | biased: at least 0; with `"rbf"` and `"laplace"` at most 2 for each bandwidth | lower | mean squared
            discrepancy over rows; unbiased: 0 on average for two samples of one distribution
        * cmmd | 0 to 2,000; of features of length 1 to 39.6 | lower | with `preset="cmmd"`: of all candidates against
            all references
        * kid, kid_deviation | | lower | with `preset="kid"`: mean and standard deviation over the subsets
    """)
        + LONG_TEXT_VALUES
        + set_values("mmd", pooled=True)
    )
    PARTS = SET_ENCODER
    SETS = Sets(
        value_range=lambda options: ((0.0 if options["estimator"] == "biased" else -np.inf), np.inf),
        size_checks=(check_sizes,),
        settings=lambda options: {"estimator": options["estimator"]},
        corpus_values=whole_corpus,
    )
    VECTORS = Vectors(compare_vectors, settings=vector_settings)
    rows_of = encode_by_clip_or_sentences
