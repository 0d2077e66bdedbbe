"""Density and coverage: do captions, or vectors of anything, lie where people's lie, and everywhere where they lie?"""

import evaluate

from .module import CollectionModule
from .neighbour_spheres import (
    N_SPLITS,
    check_enough_vectors,
    density_coverage_result,
    encode_caption_sets,
    ready_vectors_result,
)
from .options import DETAILS, About, Effect, Option, Ready, or_none, value_table, whole_number
from .rows import CAPTIONS
from .sets_module import CAPTION_COLUMNS, text_counts
from .vectors_rows import READY_VECTORS
from .vectors_sentences import ENCODER_OPTIONS, LONG_TEXT_VALUES, SENTENCES

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .mmd_rows import check_bandwidth as check_bandwidth
from .row_images import text_key as text_key
from .sets_tests import exact_splits as exact_splits
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
Precision, recall, density and coverage compare two sets of vectors by nearest neighbours: do candidates lie where
references lie (precision, density), and is there a candidate wherever references lie (recall, coverage)? Over the
captions of all rows, or ready vectors of images, sounds or anything else. Beside each value stands people's own, by
splits of the references, and the excess over it, which is 0 for people.
"""

_CITATION = """
@inproceedings{naeem2020reliable,
  title={Reliable Fidelity and Diversity Metrics for Generative Models},
  author={Naeem, Muhammad Ferjad and Oh, Seong Joon and Uh, Youngjung and Choi, Yunjey and Yoo, Jaejun},
  booktitle={International Conference on Machine Learning},
  pages={7176--7185}, year={2020}
}
"""

_EXAMPLES = """
>>> import numpy as np
>>> density_coverage = evaluate.load("metrics/density_coverage")  # on the Hub: "manycaps/density_coverage"
>>> rng = np.random.default_rng(0)
>>> people, narrow = rng.normal(size=(200, 6, 8)), 0.5 * rng.normal(size=(200, 3, 8))
>>> result = density_coverage.compute(prediction_embeddings=narrow, reference_embeddings=people)
>>> keys = ("precision", "recall", "density", "coverage")
>>> {key: round(result[key], 2) for key in keys}
{'precision': 1.0, 'recall': 0.21, 'density': 1.83, 'coverage': 0.63}
>>> {key: round(result[f"{key}_excess"], 2) for key in keys}
{'precision': 0.07, 'recall': -0.72, 'density': 1.14, 'coverage': -0.14}
"""

# When options of splits have an effect.
HAS_SPLITS = Effect("n_splits", str(N_SPLITS), lambda options: options["n_splits"] > 0)


class DensityCoverage(CollectionModule, evaluate.Metric):
    """Precision, recall, density and coverage of vectors, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/2002.09797", "https://github.com/clovaai/generative-evaluation-prdc"],
    )
    COLUMNS = CAPTIONS
    READY = {names: Ready(ready.meaning, ready_vectors_result) for names, ready in READY_VECTORS.items()}
    OPTIONS = (
        {
            "nearest_k": Option(
                None,
                or_none(whole_number(1)),
                "Neighbours up to which a sphere reaches, among the texts of all rows: less than either side has; by "
                "default 5, or as many as a smaller side allows.",
            ),
            "n_splits": Option(
                N_SPLITS, whole_number(0, 1_000), "Random splits of the references for people's own values; 0: none."
            ),
        }
        | {
            "seed": Option(
                0,
                whole_number(0),
                "Of the splits: the same seed gives the same answer, whatever the order of the rows.",
                needs=HAS_SPLITS,
            )
        }
        | ENCODER_OPTIONS
        | DETAILS
    )
    VALUES = (
        value_table("""
        * precision | 0 to 1 | higher | share of the candidates that lie in the sphere of a reference
        * recall | 0 to 1 | higher | share of the references that lie in the sphere of a candidate
        * density | from 0 | | mean over candidates of the references' spheres that hold it, over `nearest_k`: about
            1 for two samples of one distribution, more where candidates crowd at common places
        * coverage | 0 to 1 | higher | share of the references whose sphere holds a candidate
        ..._of_people | | | with `n_splits`: the same of references held out, beside the other references; NaN where
            fewer are held out than `nearest_k` + 1
        * ..._excess | | 0 | with `n_splits`: the value of as many candidates of each row beside the same references,
            less people's: 0 on average for candidates that people wrote
        n_rows | | | number of rows
        signature | | | with `details`: everything that determines the numbers
    """)
        + LONG_TEXT_VALUES
    )
    PARTS = SENTENCES

    def result(self, predictions, references, options):
        """Embed the captions of all rows, and return the result."""
        check_enough_vectors(text_counts(predictions, references), CAPTION_COLUMNS, options)
        self.encoder.check_known({"predictions": predictions, "references": references}, options)
        rows = encode_caption_sets(self, predictions, references, options)
        result = density_coverage_result(self, rows, options, self.encoder.settings(options))
        texts = [text for side in (predictions, references) for row in side for text in row]
        return result | self.encoder.count_unread(texts, options)
