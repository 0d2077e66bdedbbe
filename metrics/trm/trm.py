"""Triangle ranks over any distance: of vectors, of pairs of texts, by an evaluate metric, or ready ones."""

import evaluate
import numpy as np

from .base import (
    CAPTIONS,
    CHAN_CITATION,
    About,
    Effect,
    InputError,
    InputTypeError,
    Option,
    by_value,
    one_of,
    shown_value,
    value_table,
)
from .caption_sets import DISTRIBUTION_EFFECTS, SET_OPTIONS, caption_rows, set_values
from .clip_scores import CLIP_SET_OPTIONS, SETS_OF_IMAGES, ClipSetModule, check_clip_windows
from .embeddings import LONG_TEXT_VALUES, check_long_texts
from .triangle_rank import STATISTIC, TriangleRanks, triangle_rank_comparison
from .vector_rows import (
    DISTANCE_NAMES,
    EVALUATE_PREFIX,
    EVALUATE_SCORES,
    VECTORS,
    check_defined,
    check_distance_diagonals,
    check_evaluate_name,
    check_nonzero,
    evaluate_distance,
    nearest_reference_distance,
    ready_result,
    text_distances,
    vector_distances,
)

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .clip_checkpoints import Treatment as Treatment
from .clip_encoder import chosen_variant as chosen_variant
from .clip_model import read_weights as read_weights
from .images import stored_value as stored_value
from .tokenization import Shape as Shape
from .videos import EncodedVideo as EncodedVideo

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
            raise InputError(
                "distance",
                f"one of {', '.join(map(repr, DISTANCE_NAMES))}, or 'evaluate:NAME:KEY'",
                shown_value(distance),
                "Check the spelling, or give a function of two lists of texts.",
            )
    elif not callable(distance):
        raise InputTypeError(
            "distance",
            "a name, or a function of two lists of texts",
            type(distance).__name__,
            "Leave it out for 'cosine'.",
        )


class Trm(TriangleRanks, ClipSetModule, evaluate.Metric):
    """Triangle-rank statistic over any distance, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _EXAMPLES, ["https://arxiv.org/abs/2209.07518"])
    COLUMNS = CAPTIONS | {
        "references": (
            "n_rows lists of reference captions, or n_rows strings: at least one candidate, one reference and "
            "three captions in all per row. Rows may have different numbers of captions."
        )
    }
    READY = (
        VECTORS
        | SETS_OF_IMAGES
        | {
            "distances, n_candidates": (
                "ready distances in place of both, for compute only: n_rows arrays of shape (n_texts, n_texts), "
                "candidates first, zeros on the diagonal, not necessarily symmetric; and the number of candidates, "
                "one for all rows or a list of n_rows."
            )
        }
    )
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
            ),
        }
        | STATISTIC
        | CLIP_SET_OPTIONS
        | SET_OPTIONS
    )
    CHECKS = (check_clip_windows, check_long_texts)
    VALUES = (
        value_table("""
        trm | 0 to 8/3 (`pooled`: 4/3) | lower | mean of Q over rows
        nearest_distance | as the distance | lower | mean over rows of the mean over candidates of the distance of the
            nearest reference of the row (the paper's equation 1)
    """)
        + LONG_TEXT_VALUES
        + set_values("trm", "nearest_distance")
    )
    EFFECTS = {
        **DISTRIBUTION_EFFECTS,
        **dict.fromkeys(
            CLIP_SET_OPTIONS, Effect("distance", "'cosine'", lambda options: not is_of_texts(options["distance"]))
        ),
        "evaluate_scores": Effect(
            "distance", "'evaluate:NAME:KEY'", lambda options: str(options["distance"]).startswith(EVALUATE_PREFIX)
        ),
    }
    PLAIN = "nearest_distance"
    progress = evaluate.utils.logging.tqdm

    def check_vectors(self, embedded, columns, options):
        """Raise if a vector has no such distance."""
        if self.compares_texts(options):
            raise InputError(
                columns[0],
                "captions for a distance of texts",
                "vectors",
                f"Give captions, or one of {', '.join(map(repr, DISTANCE_NAMES))} as distance.",
            )
        if options["distance"] == "cosine":
            check_nonzero(embedded, columns)

    def check_encoded(self, options, what):
        """Raise unless "images" or "captions" may be encoded with these options."""
        if not self.compares_texts(options):
            super().check_encoded(options, what)
        elif what == "images":
            raise InputError(
                "distance", "a name of scipy's for images", "a distance of texts", "Give for example 'cosine'."
            )

    def compute(self, /, *, distances=None, n_candidates=None, **given):
        """Check the options of this call, then compute: from ready distances past evaluate's table and any model."""
        if distances is None and n_candidates is None:
            return super().compute(**given)

        def check(matrices, _options):
            check_distance_diagonals(matrices)

        columns, unused = ("distances", "n_candidates"), ("distance", "evaluate_scores")
        return ready_result(self, columns, distances, n_candidates, given, check, compare_by_ranks, unused)

    def compares_texts(self, options):
        """Whether the captions themselves are compared with these options, not their vectors."""
        return is_of_texts(options["distance"])

    def text_rows(self, predictions, references, options):
        """Return the rows of captions, which are compared as texts."""
        distance, scores = options["distance"], None
        if isinstance(distance, str):
            scores = options["evaluate_scores"]
            distance = evaluate_distance(distance, scores, evaluate.load)

        def compare(rows, n_candidates):
            return compare_by_ranks(np.stack(text_distances(rows, distance)), n_candidates, options)

        return caption_rows(predictions, references, compare, evaluate_scores=scores)

    def compare_vectors(self, vectors, n_candidates, options):
        """Compare rows of vectors by the ranks of their distances."""
        distances = vector_distances(vectors, options["distance"])
        check_defined(distances, options["distance"])
        return compare_by_ranks(distances, n_candidates, options)

    def signature_parts(self, options):
        """Return what decides the numbers besides the texts, the test and the intervals."""
        distance = options["distance"]
        name = distance if isinstance(distance, str) else getattr(distance, "__name__", type(distance).__name__)
        return {**super().signature_parts(options), "distance": name}


def compare_by_ranks(distances, n_candidates, options):
    """Compare rows of equal sizes by the ranks of their distances, whatever these are."""
    nearest = nearest_reference_distance(distances, n_candidates)
    return triangle_rank_comparison(distances, n_candidates, options["statistic"], nearest)


def is_of_texts(distance):
    """Whether a distance is one of texts, and not of vectors."""
    return not isinstance(distance, str) or distance.startswith(EVALUATE_PREFIX)
