"""Triangle ranks over any distance: of vectors, of pairs of texts, by an evaluate metric, or ready ones."""

import evaluate
import numpy as np

from .clip_sets import CLIP_SET_OPTIONS, SET_ENCODER, encode_by_clip_or_sentences, sets_of_images
from .errors import InputError, InputTypeError, quote_value
from .options import CHAN_CITATION, About, Effect, Option, by_value, dependent_options, one_of, value_table
from .sets_module import SET_OPTIONS, SETS_OF_THREE, SetMetric, caption_rows, check_three_texts, set_values
from .triangle_rank import STATISTIC, TRIANGLES, triangle_rank_comparison
from .vectors_rows import (
    DISTANCE_NAMES,
    EVALUATE_PREFIX,
    EVALUATE_SCORES,
    READY_VECTORS,
    Vectors,
    check_defined,
    check_distance_diagonals,
    check_evaluate_name,
    check_nonzero,
    distance_name,
    evaluate_distance,
    nearest_reference_distance,
    ready_distances,
    text_distances,
    vector_distances,
)
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
from .rows import as_caption_rows as as_caption_rows
from .sets_tests import exact_splits as exact_splits
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
TRM compares the distribution of several candidates with the distribution of several references of the same item by the
triangle-rank statistic over any distance: a distance of scipy between embeddings, a function of two lists of texts, a
metric of the package evaluate, or ready distances of texts, images, sounds or anything else. Computed exactly, with
exact p-values. The statistic grows when candidates are wrong, and also when they are all alike.
"""

_EXAMPLES = """
>>> trm = evaluate.load("metrics/trm")  # on the Hub: "manycaps/trm"
>>> def difference_of_lengths(first, second):
...     return [abs(len(x) - len(y)) for x, y in zip(first, second)]
>>> result = trm.compute(
...     predictions=[["a dog", "a cat", "a big dog"]],
...     references=[["a dog runs on the wide beach", "a dog by the sea in summer", "a brown dog plays in sand"]],
...     distance=difference_of_lengths,
...     p_value="exact",
... )
>>> keys = ("trm", "nearest_distance", "trm_corpus_p_value")
>>> {key: round(result[key], 2) for key in keys}
{'trm': 2.67, 'nearest_distance': 18.67, 'trm_corpus_p_value': 0.1}
>>> import numpy as np
>>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
>>> ready = trm.compute(distances=[abs(points[:, None] - points)], n_candidates=3, p_value="exact")
>>> round(ready["trm"], 2), round(ready["trm_corpus_p_value"], 2)
(2.67, 0.1)
"""


def check_distance(distance):
    """Raise unless `distance` is a name or a function."""
    if isinstance(distance, str):
        if distance.startswith(EVALUATE_PREFIX):
            check_evaluate_name(distance)
        elif distance not in DISTANCE_NAMES:
            expected = f"one of {', '.join(map(repr, DISTANCE_NAMES))}, or 'evaluate:NAME:KEY'"
            raise InputError("distance", expected, quote_value(distance), "Check the spelling, or give a function.")
    elif not callable(distance):
        expected, got = "a name, or a function of two lists of texts", type(distance).__name__
        raise InputTypeError("distance", expected, got, "Leave it out for 'cosine'.")


def check_no_texts(options):
    """Raise where a distance of texts is to compare images."""
    if is_of_texts(options["distance"]):
        raise InputError(
            "distance", "a name of scipy's for images", "a distance of texts", "Give for example 'cosine'."
        )


def check_vectors(embedded, columns, options):
    """Raise if vectors have no such distance."""
    if is_of_texts(options["distance"]):
        fix = f"Give captions, or one of {', '.join(map(repr, DISTANCE_NAMES))} as distance."
        raise InputError(columns[0], "captions for a distance of texts", "vectors", fix)
    if options["distance"] == "cosine":
        check_nonzero(embedded, columns)


def compare_by_distance(vectors, n_candidates, options):
    """Compare rows of vectors by the ranks of their distances."""
    distances = vector_distances(vectors, options["distance"])
    check_defined(distances, options["distance"])
    return compare_by_ranks(distances, n_candidates, options)


def compare_by_ranks(distances, n_candidates, options):
    """Compare rows of equal sizes by the ranks of their distances, whatever these are."""
    nearest = nearest_reference_distance(distances, n_candidates)
    return triangle_rank_comparison(distances, n_candidates, options["statistic"], nearest)


def is_of_texts(distance):
    """Return whether a distance is one of texts, and not of vectors."""
    return not isinstance(distance, str) or distance.startswith(EVALUATE_PREFIX)


READY_DISTANCES = ready_distances(
    lambda matrices, _options: check_distance_diagonals(matrices), compare_by_ranks, ("distance", "evaluate_scores")
)


class Trm(SetMetric, evaluate.Metric):
    """Triangle-rank statistic over any distance, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _EXAMPLES, ["https://arxiv.org/abs/2209.07518"])
    COLUMNS = SETS_OF_THREE
    READY = READY_VECTORS | sets_of_images(check_no_texts) | READY_DISTANCES
    OPTIONS = (
        {
            "distance": Option(
                "cosine",
                by_value(check_distance),
                'Between embeddings `"cosine"`, `"euclidean"`, `"sqeuclidean"`, `"cityblock"`, `"chebyshev"`, '
                '`"correlation"`, `"braycurtis"`, `"canberra"` or `"jensenshannon"`, as in scipy. Between texts a '
                "function of two lists of n texts that returns n distances, called once per batch of rows with every "
                "ordered pair of different texts, d(x, y) with x from the first list; or an evaluate metric as "
                '`"evaluate:rouge:rougeL"`, the key of its result last, where the first text is the metric\'s '
                "reference and the second its prediction. Equal texts have distance 0 by definition.",
            ),
            "evaluate_scores": Option(
                "similarity",
                one_of(EVALUATE_SCORES),
                'Of an evaluate metric: `"similarity"` (the distance is 1 - score) or `"distance"` (it is the score, '
                'as with `"evaluate:wer"`).',
                needs=Effect(
                    "distance",
                    "'evaluate:NAME:KEY'",
                    lambda options: str(options["distance"]).startswith(EVALUATE_PREFIX),
                ),
            ),
        }
        | STATISTIC
        | dependent_options(
            Effect("distance", "'cosine'", lambda options: not is_of_texts(options["distance"])), CLIP_SET_OPTIONS
        )
        | SET_OPTIONS
    )
    VALUES = (
        value_table("""
        * trm | 0 to 8/3 (`pooled`: 4/3) | lower | mean of Q over rows
        * nearest_distance | as the distance | lower | mean over rows of the mean over candidates of the distance
            d(reference, candidate) of the nearest reference of the row (the paper's equation 1)
    """)
        + LONG_TEXT_VALUES
        + set_values("trm", "nearest_distance", untested=True)
    )
    PARTS = SET_ENCODER
    ROW_CHECKS = (check_three_texts,)
    SETS = TRIANGLES._replace(
        plain="nearest_distance",
        settings=lambda options: {**TRIANGLES.settings(options), "distance": distance_name(options["distance"])},
    )
    VECTORS = Vectors(compare_by_distance, check_vectors)

    def rows_of(self, predictions, references, options):
        """Return the rows of captions, which are compared by the ranks of distances of texts, or of their vectors."""
        distance, scores = options["distance"], None
        if not is_of_texts(distance):
            return encode_by_clip_or_sentences(self, predictions, references, options)
        if isinstance(distance, str):
            scores = options["evaluate_scores"]
            distance = evaluate_distance(distance, scores, evaluate.load)

        def compare(rows, n_candidates):
            return compare_by_ranks(np.stack(text_distances(rows, distance)), n_candidates, options)

        return caption_rows(predictions, references, compare, evaluate_scores=scores)
