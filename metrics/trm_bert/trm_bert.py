"""TRM-BERT: are candidate captions and human captions samples of one distribution, by cosine distance?"""

import evaluate

from .base import CHAN_CITATION, About, check_choice, with_shared_parts
from .caption_sets import DISTRIBUTION_DEFAULTS, check_distribution_options
from .embeddings import ENCODER_DEFAULTS, check_encoder_options
from .triangle_rank import STATISTICS, TriangleRanks, triangle_rank_comparison
from .vector_rows import EmbeddingModule, check_nonzero, cosine_distances, cosine_similarities, multi_reference_cosine

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .tokenization import Shape as Shape

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
