"""TRM-BERT: are candidate captions and human captions samples of one distribution, by cosine distance?"""

import evaluate

# A zip of the repository holds the texts of its symbolic links. Written by `make format`.
with open(__file__.removesuffix("trm_bert.py") + "base_descriptions.py", encoding="utf-8") as _linked:
    if _linked.read(6) == "../../":
        raise ImportError(
            "trm_bert: expected Python files, got the texts of symbolic links. Run "
            "`pip install .` in the repository, or `manycaps export trm_bert FOLDER` where it is installed."
        )

from .base_descriptions import CHAN_CITATION, with_shared_parts
from .base_module import About, check_choice
from .sets_module import DISTRIBUTION_DEFAULTS, check_distribution_options
from .sets_triangle_rank import STATISTICS, TriangleRanks, triangle_rank_comparison
from .text_sentence_encoder import ENCODER_DEFAULTS, check_encoder_options
from .vectors_distance import check_nonzero, cosine_distances, cosine_similarities, multi_reference_cosine
from .vectors_rows import EmbeddingModule

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .base_feature_memory import RememberedFeatures as RememberedFeatures
from .base_files import inline_bytes as inline_bytes
from .base_messages import shown_value as shown_value
from .base_rows import as_caption_rows as as_caption_rows
from .base_types import Ints as Ints
from .sets_splits import exact_splits as exact_splits
from .text_ptb_tokenizer import Shape as Shape
from .text_windows import sentences as sentences
from .text_word_vectors import is_word_vectors as is_word_vectors
from .vectors_checks import check_no_captions as check_no_captions

# The same for imports within functions: the loader reads on between these quotes. Written by `make format`.
IMPORTED_LATER = '''
from .sets_corpus import RowTests
from .sets_intervals import ClusteredMean
'''  # fmt: skip

_DESCRIPTION = """
TRM-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the triangle-rank statistic over cosine distances of sentence embeddings, computed exactly, with
exact p-values. The statistic grows when candidates are wrong, and also when they are all alike. Sets of finite size are
not at 0 even when both are human; the excess over the mean of all splits is.
"""

_KWARGS_DESCRIPTION = with_shared_parts(
    "trm_bert",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings. At least three captions per row in all.
    prediction_embeddings, reference_embeddings: ready vectors in place of predictions and references, for compute only:
        n_rows floating-point arrays of shape (n_captions, d).
    <statistic>
    <test options>
    <encoder>
    <encoder options>
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    trm_bert: mean statistic over rows, 0 to 8/3, or to 4/3 for "pooled"; lower is better.
    cosine: mean over rows of the candidates' mean of the cosine with the nearest reference, -1 to 1; higher is better.
    n_rows: number of rows.
    <long texts>
    <test results>
    trm_bert_per_row, cosine_per_row, trm_bert_excess_per_row,
        trm_bert_p_value_per_row, signature: with details.
Examples:
    >>> trm_bert = evaluate.load("metrics/trm_bert")  # on the Hub: "manycaps/trm_bert"
    >>> prediction_embeddings = [[[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]]]
    >>> reference_embeddings = [[[0.0, 1.0], [0.1, 1.0], [0.2, 1.0]]]
    >>> result = trm_bert.compute(
    ...     prediction_embeddings=prediction_embeddings, reference_embeddings=reference_embeddings, p_value="exact"
    ... )
    >>> keys = ("trm_bert", "trm_bert_excess", "trm_bert_corpus_p_value")
    >>> {key: round(result[key], 2) for key in keys}
    {'trm_bert': 2.67, 'trm_bert_excess': 1.64, 'trm_bert_corpus_p_value': 0.1}
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class TrmBert(TriangleRanks, EmbeddingModule, evaluate.Metric):
    """Triangle-rank statistic over cosine distances, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/2209.07518"])
    DEFAULTS = {"statistic": "per_side", **ENCODER_DEFAULTS, **DISTRIBUTION_DEFAULTS}
    PLAIN = "cosine"
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_choice("statistic", options["statistic"], STATISTICS)
        check_encoder_options(options)
        check_distribution_options(options)

    def check_vectors(self, embedded, columns, options):
        """Raise if a vector has no cosine."""
        check_nonzero(embedded, columns)

    def compare_vectors(self, vectors, n_candidates, options):
        """Compare rows of vectors by the ranks of their cosine distances."""
        cosines = cosine_similarities(vectors)
        plain = multi_reference_cosine(cosines, n_candidates)
        return triangle_rank_comparison(cosine_distances(cosines), n_candidates, options["statistic"], plain)
