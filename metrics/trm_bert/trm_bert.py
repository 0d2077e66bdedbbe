"""TRM-BERT: are candidate captions and human captions samples of one distribution, by cosine distance?"""

import evaluate

from .options import CHAN_CITATION, About, value_table
from .sets_module import SET_OPTIONS, SETS_OF_THREE, SetMetric, check_three_texts, set_values
from .triangle_rank import STATISTIC, TRIANGLES, triangle_rank_comparison
from .vectors_rows import (
    READY_VECTORS,
    Vectors,
    check_nonzero,
    cosine_similarities,
    distances_from_cosines,
    encode_rows,
    multi_reference_cosine,
)
from .vectors_sentences import ENCODER_OPTIONS, LONG_TEXT_VALUES, SENTENCES

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .module import CollectionModule as CollectionModule
from .row_images import text_key as text_key
from .rows import as_caption_rows as as_caption_rows
from .sets_tests import exact_splits as exact_splits
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
TRM-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the triangle-rank statistic over cosine distances of sentence embeddings, computed exactly, with
exact p-values. The statistic grows when candidates are wrong, and also when they are all alike. Sets of finite size are
not at 0 even when both are human; the excess over the mean of all splits is.
"""

_EXAMPLES = """
>>> trm_bert = evaluate.load("metrics/trm_bert")  # on the Hub: "manycaps/trm_bert"
>>> prediction_embeddings = [[[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]]]
>>> reference_embeddings = [[[0.0, 1.0], [0.1, 1.0], [0.2, 1.0]]]
>>> result = trm_bert.compute(
...     prediction_embeddings=prediction_embeddings, reference_embeddings=reference_embeddings, p_value="exact"
... )
>>> keys = ("trm_bert", "trm_bert_excess", "trm_bert_corpus_p_value")
>>> {key: round(result[key], 2) for key in keys}
{'trm_bert': 2.67, 'trm_bert_excess': 1.64, 'trm_bert_corpus_p_value': 0.1}
"""


def compare_by_cosines(vectors, n_candidates, options):
    """Compare rows of vectors by the ranks of their cosine distances."""
    cosines = cosine_similarities(vectors)
    plain = multi_reference_cosine(cosines, n_candidates)
    return triangle_rank_comparison(distances_from_cosines(cosines), n_candidates, options["statistic"], plain)


class TrmBert(SetMetric, evaluate.Metric):
    """Triangle-rank statistic over cosine distances, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _EXAMPLES, ["https://arxiv.org/abs/2209.07518"])
    COLUMNS = SETS_OF_THREE
    READY = READY_VECTORS
    OPTIONS = STATISTIC | ENCODER_OPTIONS | SET_OPTIONS
    VALUES = (
        value_table("""
        * trm_bert | 0 to 8/3 (`pooled`: 4/3) | lower | mean of Q over rows
        * cosine | -1 to 1 | higher | mean over rows of the mean over candidates of the cosine with the nearest
            reference of the row (the paper's equation 1)
    """)
        + LONG_TEXT_VALUES
        + set_values("trm_bert", "cosine", untested=True)
    )
    PARTS = SENTENCES
    ROW_CHECKS = (check_three_texts,)
    SETS = TRIANGLES._replace(plain="cosine")
    VECTORS = Vectors(compare_by_cosines, check_nonzero)
    rows_of = encode_rows
