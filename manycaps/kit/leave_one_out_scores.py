"""Scores of texts against the other texts of their row, for leave-one-out, by single captions and by sets."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from .base_scores import first_largest
from .base_types import Floats, Ints, Masks, TokenList, TokenRows
from .leave_one_out_draws import MAX_PAIRS, RowPairs, ScoredTexts, Statistics, mean_scores
from .meteor15_scores import corpus_score, pair_statistics
from .meteor15_scores import scores as meteor15_scores
from .meteor15_texts import Meteor15Lexicon
from .sets_triangle_rank import triangle_rank_counts, triangle_rank_statistic
from .text_bleu import BleuTable, bleu_scores, corpus_bleu
from .text_cider import cider_d_scores, cider_distances, document_frequencies
from .text_cider_table import CiderTable
from .text_meteor import Lexicon, meteor_distances, meteor_scores
from .text_ngrams import RowTexts
from .text_reference_ngrams import MAX_ORDER, warn_of_equal_documents
from .text_rouge import f_measure, precisions_and_recalls
from .vectors_distance import cosine_similarities
from .vectors_kernels import gaussian_kernel_of_distances, squared_distances
from .vectors_mmd import mmd_of_kernel

# From numbers of pairs, shape (n_rows, n_texts, n_texts), hypotheses first, and the number of hypotheses to (n_rows,).
Compare = Callable[[Floats, int], Floats]


def set_scores(texts: RowTexts, name: str, matrices: Sequence[Floats], compare: Compare) -> ScoredTexts:
    """Return a statistic of two sets of texts out of the numbers of all pairs of each row: mean over rows."""
    pairs = RowPairs(texts)
    numbers: Floats = np.concatenate([np.zeros(0), *(matrix.ravel() for matrix in matrices)])

    def scores(hypotheses: Ints, references: Masks) -> Floats:
        """Statistics of sets of hypotheses, shape (n, n_hypotheses), against their references: shape (n,)."""
        n_hypotheses = hypotheses.shape[1]
        position, other = texts.members(texts.row[hypotheses[:, 0]], references)
        n_references = np.bincount(position, minlength=len(hypotheses))
        first = np.cumsum(n_references) - n_references
        values = np.zeros(len(hypotheses))
        for n in np.unique(n_references).tolist():
            alike, step = np.flatnonzero(n_references == n), max(1, MAX_PAIRS // (n_hypotheses + n) ** 2)
            for begin in range(0, len(alike), step):
                these = alike[begin : begin + step]
                own = other[first[these, None] + np.arange(n)]
                of_sets = np.column_stack([hypotheses[these], own])  # hypotheses first
                values[these] = compare(numbers[pairs.squares(of_sets)], n_hypotheses)
        return values

    return mean_scores(name, scores, is_set=True)


def triangle_ranks(distances: Floats, n_hypotheses: int) -> Floats:
    """Triangle-rank statistic of every row, one Q for each kind of triangle, as the modules of TRM have it."""
    return triangle_rank_statistic(triangle_rank_counts(distances, n_hypotheses), "per_side")


def frechet_of_products(products: Floats, n_hypotheses: int) -> Floats:
    """Squared Fréchet distance of every row, out of the inner products of its vectors.

    |mu1 - mu2|^2 + Tr(C1 + C2 - 2 (C1 C2)^(1/2)), covariances with n - 1 (Dowson and Landau 1982,
    https://doi.org/10.1016/0047-259X(82)90077-X; Chan et al. 2022, equation 5, https://arxiv.org/abs/2209.07518). With
    the centred vectors X and Y of both sets as lines, the trace of the root is the sum of the singular values of X Y',
    divided by the root of (n - 1)(m - 1); X Y' are the products between both sets, centred by lines and columns.

    Args:
        products: float64 array, shape (n_rows, n_texts, n_texts): inner products with any origin, hypotheses first.
        n_hypotheses: number of hypotheses of every row, 2 to n_texts - 2.

    Returns:
        float64 array, shape (n_rows,), at least 0 (equal means and covariances), in squared units of the vectors.

    >>> frechet_of_products(np.outer([0.0, 2, 3, 7], [0.0, 2, 3, 7])[None], 2).round(4).tolist()
    [18.0]
    """
    n, m = n_hypotheses, products.shape[1] - n_hypotheses
    blocks = products[:, :n, :n], products[:, n:, n:], products[:, :n, n:]
    means = [block.mean(axis=(1, 2)) for block in blocks]
    own = [np.einsum("rii->r", block) for block in blocks[:2]]
    traces = [(own[i] - size * means[i]) / (size - 1) for i, size in enumerate((n, m))]
    centred = blocks[2] - blocks[2].mean(axis=1, keepdims=True) - blocks[2].mean(axis=2, keepdims=True)
    centred += means[2][:, None, None]
    roots = np.linalg.svd(centred, compute_uv=False).sum(axis=1) / np.sqrt((n - 1) * (m - 1))
    return np.maximum(means[0] + means[1] - 2 * means[2] + sum(traces) - 2 * roots, 0)


def inner_products(vectors: Floats) -> Floats:
    """Inner products of the vectors of a row, shape (n_texts, n_texts), the origin at their mean.

    The first one is taken off before: differences of vectors near each other are exact, so equal texts have products of
    exactly 0 also where they lie far from the origin.
    """
    vectors = vectors - vectors[:1]
    vectors -= vectors.mean(axis=0)
    return vectors @ vectors.T


# Metrics of embeddings; the others compare tokens.
EMBEDDING_METRICS = ("trm_bert", "mmd_bert", "fid_bert")

# Metrics with one key in the result, their name.
_OF_ONE_KEY = ("rouge_l", "cider_d", "meteor15", "meteor", "trm_meteor", "trm_cider", *EMBEDDING_METRICS)

# Keys of the results of each metric.
METRICS = {"bleu": tuple(f"bleu_{n}" for n in range(1, MAX_ORDER + 1)), **{name: (name,) for name in _OF_ONE_KEY}}


def _not_given() -> NoReturn:
    raise LookupError("sources: expected the source that the metric needs, got none. Give it.")


class Sources(NamedTuple):
    """Inputs of some metrics besides tokens; each is called when it is needed."""

    # The words that NLTK's METEOR asks for.
    meteor: Callable[[], Lexicon] = _not_given
    # The same for METEOR 1.5.
    meteor15: Callable[[], Meteor15Lexicon] = _not_given
    # Of each row the embeddings of its texts, float64, shape (n_texts, d).
    vectors: Callable[[], Sequence[Floats]] = _not_given
    # Of "mmd_bert".
    estimator: str = "unbiased"


def bleu_of_corpus(rows: TokenRows) -> ScoredTexts:
    """Return BLEU-1 to BLEU-4 of a corpus, from the sums of its statistics."""
    keys = METRICS["bleu"]
    return ScoredTexts(
        BleuTable(rows).statistics,
        lambda statistics: dict(zip(keys, bleu_scores(statistics).T, strict=True)),
        lambda statistics: dict(zip(keys, corpus_bleu(statistics).tolist(), strict=True)),
    )


def best_rouge_l(texts: RowTexts, rows: TokenRows) -> ScoredTexts:
    """Return ROUGE-L: mean over rows, of precision and recall the best over the references."""
    row_pairs = RowPairs(texts)
    of_pairs = precisions_and_recalls(_flat(rows), *row_pairs.pairs())

    def scores(hypotheses: Ints, references: Masks) -> Floats:
        pairs, starts = row_pairs.chosen(hypotheses, references)
        precision, recall = (np.maximum.reduceat(values[pairs], starts) for values in of_pairs)
        return f_measure(precision, recall)

    return mean_scores("rouge_l", scores)


def best_meteor(texts: RowTexts, matrices: Sequence[Floats]) -> ScoredTexts:
    """Return METEOR as NLTK computes it, of the best reference, by the scores [reference, candidate] of each row."""
    row_pairs = RowPairs(texts)
    of_pairs = np.concatenate([matrix.T.ravel() for matrix in matrices])

    def scores(hypotheses: Ints, references: Masks) -> Floats:
        pairs, starts = row_pairs.chosen(hypotheses, references)
        return np.maximum.reduceat(of_pairs[pairs], starts)

    return mean_scores("meteor", scores)


def meteor15_of_corpus(texts: RowTexts, rows: TokenRows, lexicon: Meteor15Lexicon) -> ScoredTexts:
    """Return METEOR 1.5 of a corpus, from the sums of the statistics against each hypothesis's best reference."""
    row_pairs = RowPairs(texts)
    numbers: dict[str, int] = {}
    text = np.array([numbers.setdefault(" ".join(tokens), len(numbers)) for tokens in _flat(rows)], np.int64)
    candidate, reference = (text[side] for side in row_pairs.pairs())
    distinct, number = np.unique(candidate * len(numbers) + reference, return_inverse=True)
    words = [lexicon.words(caption) for caption in numbers]
    of_pair = pair_statistics(words, *np.divmod(distinct, len(numbers)), lexicon)
    score_of_pair = meteor15_scores(of_pair)

    def statistics(hypotheses: Ints, references: Masks) -> Statistics:
        """Statistics of each hypothesis with its best reference, the first of equals, shape (n, 23)."""
        pairs, starts = row_pairs.chosen(hypotheses, references)
        pairs = number[pairs]
        n_references = np.diff(np.append(starts, len(pairs)))
        return of_pair[pairs[first_largest(score_of_pair[pairs], n_references)]]

    return ScoredTexts(
        statistics,
        lambda of_texts: {"meteor15": meteor15_scores(of_texts)},
        lambda of_texts: {"meteor15": corpus_score(of_texts)},
    )


def scored_texts(rows: TokenRows, metrics: Sequence[str], sources: Sources) -> list[ScoredTexts]:
    """Count the statistics of the metrics once for all iterations."""
    texts = RowTexts(map(len, rows))
    if not {"cider_d", "trm_cider"}.isdisjoint(metrics):
        warn_of_equal_documents(rows, "data")

    @functools.cache
    def nltk_scores() -> list[Floats]:
        return meteor_scores(rows, sources.meteor())

    def cider_d_distances() -> list[Floats]:
        """Each row is one document, as in the module trm_cider."""
        return cider_distances(rows, cider_d_scores(rows, document_frequencies(rows), len(rows)))

    def by_vectors(metric: str, matrix: Callable[[Floats], Floats], compare: Compare) -> ScoredTexts:
        return set_scores(texts, metric, [matrix(of_row) for of_row in vectors()], compare)

    def discrepancies(squared: Floats, n_hypotheses: int) -> Floats:
        """Squared MMD of every row; the bandwidth is half the median distance of the texts that are compared."""
        return mmd_of_kernel(gaussian_kernel_of_distances(squared, "median"), n_hypotheses, sources.estimator)

    vectors = functools.cache(sources.vectors)
    makers: Mapping[str, Callable[[], ScoredTexts]] = {
        "bleu": lambda: bleu_of_corpus(rows),
        "rouge_l": lambda: best_rouge_l(texts, rows),
        # Its document frequencies are those of all references of an iteration.
        "cider_d": lambda: mean_scores("cider_d", CiderTable(rows).scores, is_own=False),
        "meteor15": lambda: meteor15_of_corpus(texts, rows, sources.meteor15()),
        "meteor": lambda: best_meteor(texts, nltk_scores()),
        "trm_meteor": lambda: set_scores(texts, "trm_meteor", meteor_distances(rows, nltk_scores()), triangle_ranks),
        "trm_cider": lambda: set_scores(texts, "trm_cider", cider_d_distances(), triangle_ranks),
        "trm_bert": lambda: by_vectors("trm_bert", lambda own: 1 - cosine_similarities(own[None])[0], triangle_ranks),
        "mmd_bert": lambda: by_vectors("mmd_bert", lambda own: squared_distances(own[None])[0], discrepancies),
        "fid_bert": lambda: by_vectors("fid_bert", inner_products, frechet_of_products),
    }
    return [makers[metric]() for metric in metrics]


def _flat(rows: TokenRows) -> list[TokenList]:
    return [tokens for row in rows for tokens in row]
