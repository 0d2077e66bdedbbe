"""Leave-one-out: draws of references, masking of words, scores, and options."""

import collections
import functools
import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints, Masks, TokenList, TokenRows, first_largest
from .errors import InputError, InputLookupError, InputTypeError, check_n_rows, check_places, quote_value
from .meteor15_scores import corpus_score, pair_statistics
from .meteor15_scores import scores as meteor15_scores
from .meteor15_words import Meteor15Lexicon
from .meteor_nltk import Lexicon, distances_from_meteor, meteor_scores
from .mmd_rows import gaussian_kernel_of_distances, mmd_of_kernel, squared_distances
from .ngrams import MAX_ORDER, NgramIndex, RowTexts, document_frequencies, warn_of_equal_documents
from .ngrams_bleu import bleu_of_sums, bleu_scores, drawn_bleu_statistics
from .ngrams_cider import cider_d_scores, cider_distances, drawn_cider_d
from .ngrams_rouge import f_measure, precisions_and_recalls
from .options import check_choice, check_confidence_level
from .sets_tests import RowGenerators
from .triangle_rank import rank_statistic, triangle_rank_counts
from .vectors_rows import cosine_similarities
from .vectors_sentences import as_embedding_arrays, check_dimensions
from .words_tokenizers import as_tagger, load_pipeline, tag_documents

# --------------------------------------------------------------------------------------------------------------------
# Human captions scored against the other captions of their row: what scores them, drawn hypotheses, and the mean.

# Iterations that are drawn at once: a number, and with several hypotheses or limited references one for each caption,
# per row and iteration.
BLOCK = 50

# Pairs of texts that are gathered at once, 8 bytes each in a few arrays.
MAX_PAIRS = 4_000_000

Statistics = npt.NDArray[Any]


class ScoredTexts(NamedTuple):
    """A metric that scores any text of a row against any others of it."""

    # From numbers of texts, shape (n,), and masks of their references to numbers of each, shape (n,) or (n, n_numbers).
    statistics: Callable[[Ints, Masks], Statistics]
    # From these to the score that each line of numbers has by itself, shape (n,), by the key of the result.
    each: Callable[[Statistics], dict[str, Floats]]
    # And to the values of a corpus, one of whose hypotheses each line of numbers stands for.
    corpus: Callable[[Statistics], dict[str, float]]
    # Whether the statistics of a hypothesis depend on its own references alone.
    is_own: bool = True
    # Whether all hypotheses of a row are compared at once: they come as an array of shape (n, n_hypotheses).
    is_set: bool = False


def mean_scores(
    name: str, scores: Callable[[Ints, Masks], Floats], *, is_own: bool = True, is_set: bool = False
) -> ScoredTexts:
    """Return a metric whose corpus has the mean of its hypotheses: the statistics are the scores, shape (n,)."""
    return ScoredTexts(
        scores,
        lambda values: {name: values},
        lambda values: {name: math.fsum(values.tolist()) / len(values)},
        is_own,
        is_set,
    )


class RowPairs:
    """Where the pairs [first, second] of the texts of every row stand: in a square for each row, row after row."""

    def __init__(self, texts: RowTexts) -> None:
        self.texts = texts
        self.first_pair: Ints = np.cumsum(texts.sizes**2) - texts.sizes**2

    def pairs(self) -> tuple[Ints, Ints]:
        """Return the numbers of candidate and reference of all pairs, each text with itself included."""
        size = self.texts.sizes[self.texts.row]
        candidate = np.repeat(np.arange(len(size)), size)
        offset = np.arange(len(candidate)) - np.repeat(np.cumsum(size) - size, size)
        return candidate, self.texts.first[self.texts.row[candidate]] + offset

    def select(self, hypotheses: Ints, references: Masks) -> tuple[Ints, Ints]:
        """Return the numbers of the pairs of each hypothesis with its references, and where each hypothesis begins."""
        row = self.texts.row[hypotheses]
        position, other = self.texts.members(row, references)
        line = self.first_pair[row] + self.texts.place[hypotheses] * self.texts.sizes[row]
        return line[position] + self.texts.place[other], np.searchsorted(position, np.arange(len(hypotheses)))

    def squares(self, texts: Ints) -> Ints:
        """Number the pairs of some texts of a row with each other: int64, (n, n_texts) to (n, n_texts, n_texts)."""
        row, position = self.texts.row[texts[:, :1]], self.texts.place[texts]
        line = self.first_pair[row] + position * self.texts.sizes[row]
        return line[:, :, None] + position[:, None, :]


class Draw(NamedTuple):
    """An iteration."""

    # int64 array, shape (n_rows, n_hypotheses): numbers of the texts that are the hypotheses of each row.
    hypotheses: Ints
    # uint64 array, shape (n_rows, n_blocks): masks of their references.
    references: Masks
    # Whether the references are all other texts of the rows.
    is_whole: bool


def draws(
    rows: Sequence[Sequence[str]],
    texts: RowTexts,
    n_iterations: int,
    n_references: int | None,
    seed: int,
    n_hypotheses: int = 1,
) -> Iterator[Draw]:
    """Draw hypotheses, each caption of a row with equal probability, and references without replacement.

    What is drawn for a row depends on the seed and on its captions, not on its index; equal rows draw independently.

    `rows` are n_rows lists of more than n_hypotheses captions, and `texts` their layout. A row has at most
    `n_references` references, None for all captions but the hypotheses; `n_hypotheses` is at least 1, and `seed` at
    least 0.

    >>> rows = [["a", "b"], ["c", "d", "e"]]
    >>> draw = next(draws(rows, RowTexts([2, 3]), 1, 1, seed=0))
    >>> draw.hypotheses.shape, draw.references.shape, draw.is_whole
    ((2, 1), (2, 1), False)
    """
    generators, row_generators = [], RowGenerators((seed,))
    for row in rows:
        content = repr(list(row)).encode("utf-8", "surrogatepass")
        generators.append(row_generators.next_generator(hashlib.blake2b(content, digest_size=16).digest()))
    sizes, whole = texts.sizes, texts.masks(texts.row, texts.place, len(texts.sizes))
    for begin in range(0, n_iterations, BLOCK):
        n_drawn = min(BLOCK, n_iterations - begin)

        def keys(n_drawn: int = n_drawn) -> np.ndarray:
            """Return the random numbers, shape (n_texts, n_drawn)."""
            return np.concatenate([g.random((size, n_drawn)) for g, size in zip(generators, sizes, strict=True)])

        if n_hypotheses == 1:
            places = np.stack([g.integers(0, size, n_drawn) for g, size in zip(generators, sizes, strict=True)])
            drawn = [texts.first[:-1, None] + places[:, i : i + 1] for i in range(n_drawn)]
        else:
            drawn = [_smallest(texts, numbers, n_hypotheses).reshape(-1, n_hypotheses) for numbers in keys().T]
        reference_keys = None if n_references is None else keys()
        for i, hypotheses in enumerate(drawn):
            own = texts.masks(texts.row[hypotheses].ravel(), texts.place[hypotheses].ravel(), len(sizes))
            if reference_keys is None or n_references is None:
                yield Draw(hypotheses, whole & ~own, True)
            else:
                numbers = reference_keys[:, i].copy()
                numbers[hypotheses] = np.inf
                chosen = _smallest(texts, numbers, np.minimum(n_references, sizes - n_hypotheses)[texts.row])
                yield Draw(hypotheses, texts.masks(texts.row[chosen], texts.place[chosen], len(sizes)), False)


def _smallest(texts: RowTexts, keys: np.ndarray, n_chosen: int | Ints) -> Ints:
    """Numbers of the texts with the smallest keys of each row, row after row."""
    return np.lexsort((keys, texts.row))[texts.place < n_chosen]


class IterationValues(NamedTuple):
    """Scores of drawn hypotheses."""

    # For each key the values of the corpus, of all iterations.
    corpus: dict[str, list[float]]
    # For each key the score of each row by itself: float64 arrays, shape (n_rows,). With one hypothesis a row and all
    # other captions as references it is the mean over all captions of the row, else, and for CIDEr-D, over those drawn.
    rows: dict[str, Floats]


def iteration_values(metrics: Sequence[ScoredTexts], texts: RowTexts, draws: Iterable[Draw]) -> IterationValues:
    """Score the hypotheses of every iteration as a corpus, and row by row."""
    corpus: dict[str, list[float]] = {}
    rows: dict[str, Floats] = {}
    # The scores of each text against all others of its row, computed once and if they are needed.
    scores_of_texts = [functools.cache(functools.partial(_scores_of_texts, metric, texts)) for metric in metrics]
    for draw in draws:
        for metric, text_scores in zip(metrics, scores_of_texts, strict=True):
            corpus_values, row_values = _score_iteration(metric, draw, text_scores)
            for key, value in corpus_values.items():
                corpus.setdefault(key, []).append(value)
                rows[key] = rows[key] + row_values[key] if key in rows else row_values[key]
    return IterationValues(corpus, {key: total / len(corpus[key]) for key, total in rows.items()})


def _score_iteration(
    metric: ScoredTexts, draw: Draw, text_scores: Callable[[], tuple[Statistics, dict[str, Floats]]]
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Score the hypotheses of an iteration as a corpus, and each row's by themselves."""
    n_hypotheses = draw.hypotheses.shape[1]
    if metric.is_own and draw.is_whole and n_hypotheses == 1:
        statistics, row_values = text_scores()
        return metric.corpus(statistics[draw.hypotheses[:, 0]]), row_values
    if metric.is_set:
        statistics = metric.statistics(draw.hypotheses, draw.references)
        return metric.corpus(statistics), metric.each(statistics)
    statistics = np.concatenate([metric.statistics(column, draw.references) for column in draw.hypotheses.T])
    each = {key: values.reshape(n_hypotheses, -1) for key, values in metric.each(statistics).items()}
    return metric.corpus(statistics), {key: values.mean(axis=0) for key, values in each.items()}


def _scores_of_texts(metric: ScoredTexts, texts: RowTexts) -> tuple[Statistics, dict[str, Floats]]:
    """Statistics of every text against all others of its row, and the mean score of each row's texts."""
    everyone = np.arange(len(texts.row))
    statistics = metric.statistics(everyone[:, None] if metric.is_set else everyone, texts.others(everyone))
    sums = {key: np.bincount(texts.row, values) for key, values in metric.each(statistics).items()}
    return statistics, {key: total / texts.sizes for key, total in sums.items()}


def summary(values: Sequence[float], share: float) -> tuple[float, float, float, float]:
    """Return the mean of the iterations, the central interval of `share`, and the standard error of the mean.

    The ends are quantiles by linear interpolation; the error is the standard deviation (divisor n - 1) over the root of
    n, NaN for one iteration.

    >>> summary([1.0, 2.0, 3.0], 0.5)
    (2.0, 1.5, 2.5, 0.5773502691896258)
    """
    low, high = np.quantile(values, [(1 - share) / 2, (1 + share) / 2]).tolist()
    n = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return math.fsum(values) / n, low, high, error


# --------------------------------------------------------------------------------------------------------------------
# Captions with words replaced by unknown words that occur nowhere else: content words, or rare ones.
#
# Chan, Myers et al. (2022), https://arxiv.org/abs/2205.06253: nouns, proper nouns and verbs (supplement B.2), and the
# tail of the vocabulary (section 4.1).

# Parts of speech that carry the meaning (supplement B.2), in the tag set of Universal Dependencies.
CONTENT_TAGS = frozenset({"NOUN", "PROPN", "VERB"})

# Begin and end of a word in a caption.
Span = tuple[int, int]


def mask_captions(rows: Sequence[Sequence[str]], pos: object) -> list[list[str]]:
    """Replace every noun, proper noun and verb by a word that occurs nowhere else.

    A word is replaced where it stands, so that the captions are tokenized afterwards as all others are. Equal captions
    of a row are equal no longer: no unknown equals another one. `pos` is the name of an installed spaCy pipeline, a
    pipeline, or a function from a caption to its (word, tag) pairs, the words in order, spelled as in the caption.

    >>> tags = {"a": "DET", "dog": "NOUN"}
    >>> mask_captions([["A dog!"]], lambda caption: [("A", "DET"), ("dog", "NOUN"), ("!", "PUNCT")])
    [['A  unknown0x !']]
    """
    captions = [caption for row in rows for caption in row]
    numbers = itertools.count()
    word = _unused_word(caption.lower() for caption in captions)
    masked = iter(
        [_mask_spans(c, spans, word, numbers) for c, spans in zip(captions, _content_spans(captions, pos), strict=True)]
    )
    return [[next(masked) for _ in row] for row in rows]


def without_tail(rows: Sequence[Sequence[Sequence[str]]], head_share: float) -> list[list[list[str]]]:
    """Replace every token outside the vocabulary head by one that occurs nowhere else.

    The head are the most frequent types that make up `head_share`, above 0, at most 1, of all tokens; of equally
    frequent ones the first in the alphabet.

    >>> without_tail([[["a", "dog"], ["a", "cat"]]], 0.5)
    [[['a', 'unknown0x'], ['a', 'unknown1x']]]
    """
    counts = collections.Counter(token for row in rows for tokens in row for token in tokens)
    head, n_tokens, needed = set(), 0, head_share * counts.total()
    for token, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if n_tokens >= needed:
            break
        head.add(token)
        n_tokens += count
    word, numbers = _unused_word(counts), itertools.count()
    return [[[t if t in head else f"{word}{next(numbers)}x" for t in tokens] for tokens in row] for row in rows]


def _content_spans(captions: Sequence[str], pos: object) -> Iterator[list[Span]]:
    """Spans of the words to replace in each caption."""
    pipeline: Any = load_pipeline(pos) if isinstance(pos, str) else pos
    if hasattr(pipeline, "pipe"):
        return (
            [(token.idx, token.idx + len(token.text)) for token in document if token.pos_ in CONTENT_TAGS]
            for document in tag_documents(pipeline, captions)
        )
    tagger = as_tagger(pipeline)
    return (_find_spans(caption, tags) for caption, tags in zip(captions, tagger(captions), strict=True))


def _find_spans(caption: str, tags: Sequence[tuple[str, str]]) -> list[Span]:
    """Find the words of a user's function one behind the other."""
    spans, end = [], 0
    for word, tag in tags:
        begin = caption.find(word, end)
        if begin < 0:
            expected = f"the words of the caption {caption[:40]!r} in their order"
            raise InputError("pos", expected, quote_value(word), "Return them as they are spelled there.")
        end = begin + len(word)
        if tag in CONTENT_TAGS and word:
            spans.append((begin, end))
    return spans


def _mask_spans(caption: str, spans: Sequence[Span], word: str, numbers: Iterator[int]) -> str:
    parts, end = [], 0
    for begin, after in spans:
        parts += [caption[end:begin], f" {word}{next(numbers)}x "]
        end = after
    return "".join([*parts, caption[end:]])


def _unused_word(texts: Iterable[str]) -> str:
    word, everything = "unknown", "\n".join(texts)
    while word in everything:
        word += "q"
    return word


# --------------------------------------------------------------------------------------------------------------------
# Scores of texts against the other texts of their row, for leave-one-out, by single captions and by sets.

# From numbers of pairs, shape (n_rows, n_texts, n_texts), hypotheses first, and the number of hypotheses to (n_rows,).
Compare = Callable[[Floats, int], Floats]


def set_scores(texts: RowTexts, name: str, matrices: Sequence[Floats], compare: Compare) -> ScoredTexts:
    """Return a statistic of two sets of texts out of the numbers of all pairs of each row: mean over rows."""
    pairs = RowPairs(texts)
    numbers: Floats = np.concatenate([np.zeros(0), *(matrix.ravel() for matrix in matrices)])

    def scores(hypotheses: Ints, references: Masks) -> Floats:
        """Return statistics of sets of hypotheses, shape (n, n_hypotheses), against their references: shape (n,)."""
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
                both_sets = np.column_stack([hypotheses[these], own])  # hypotheses first
                values[these] = compare(numbers[pairs.squares(both_sets)], n_hypotheses)
        return values

    return mean_scores(name, scores, is_set=True)


def triangle_ranks(distances: Floats, n_hypotheses: int) -> Floats:
    """Compute the triangle-rank statistic of every row, a Q for each kind of triangle, as the TRM modules have it."""
    return rank_statistic(triangle_rank_counts(distances, n_hypotheses), "per_side")


def frechet_of_products(products: Floats, n_hypotheses: int) -> Floats:
    """Return the squared Fréchet distance of every row, out of the inner products of its vectors.

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
    """Return the inner products of the vectors of a row, shape (n_texts, n_texts), the origin at their mean.

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
    raise InputLookupError("sources", "the source that the metric needs", "none", "Give it.")


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


def bleu_of_corpus(index: NgramIndex) -> ScoredTexts:
    """Return BLEU-1 to BLEU-4 of a corpus, from the sums of its statistics."""
    keys = METRICS["bleu"]
    return ScoredTexts(
        functools.partial(drawn_bleu_statistics, index),
        lambda statistics: dict(zip(keys, bleu_scores(statistics).T, strict=True)),
        lambda statistics: dict(zip(keys, bleu_of_sums(statistics).tolist(), strict=True)),
    )


def best_rouge_l(index: NgramIndex) -> ScoredTexts:
    """Return ROUGE-L: mean over rows, of precision and recall the best over the references."""
    row_pairs = RowPairs(index.texts)
    pair_values = precisions_and_recalls(index, *row_pairs.pairs())

    def scores(hypotheses: Ints, references: Masks) -> Floats:
        pairs, starts = row_pairs.select(hypotheses, references)
        precision, recall = (np.maximum.reduceat(values[pairs], starts) for values in pair_values)
        return f_measure(precision, recall)

    return mean_scores("rouge_l", scores)


def best_meteor(texts: RowTexts, matrices: Sequence[Floats]) -> ScoredTexts:
    """Return METEOR as NLTK computes it, of the best reference, by the scores [reference, candidate] of each row."""
    row_pairs = RowPairs(texts)
    pair_scores = np.concatenate([matrix.T.ravel() for matrix in matrices])

    def scores(hypotheses: Ints, references: Masks) -> Floats:
        pairs, starts = row_pairs.select(hypotheses, references)
        return np.maximum.reduceat(pair_scores[pairs], starts)

    return mean_scores("meteor", scores)


def meteor15_of_corpus(texts: RowTexts, rows: TokenRows, lexicon: Meteor15Lexicon) -> ScoredTexts:
    """Return METEOR 1.5 of a corpus, from the sums of the statistics against each hypothesis's best reference."""
    row_pairs = RowPairs(texts)
    numbers: dict[str, int] = {}
    text = np.array([numbers.setdefault(" ".join(tokens), len(numbers)) for tokens in _flat(rows)], np.int64)
    candidate, reference = (text[side] for side in row_pairs.pairs())
    distinct, number = np.unique(candidate * len(numbers) + reference, return_inverse=True)
    words = [lexicon.words(caption) for caption in numbers]
    statistics_of_pair = pair_statistics(words, *np.divmod(distinct, len(numbers)), lexicon)
    score_of_pair = meteor15_scores(statistics_of_pair)

    def statistics(hypotheses: Ints, references: Masks) -> Statistics:
        """Return the statistics of each hypothesis with its best reference, the first of equals, shape (n, 23)."""
        pairs, starts = row_pairs.select(hypotheses, references)
        pairs = number[pairs]
        n_references = np.diff(np.append(starts, len(pairs)))
        return statistics_of_pair[pairs[first_largest(score_of_pair[pairs], n_references)]]

    return ScoredTexts(
        statistics, lambda best: {"meteor15": meteor15_scores(best)}, lambda best: {"meteor15": corpus_score(best)}
    )


def count_statistics(rows: TokenRows, metrics: Sequence[str], sources: Sources) -> list[ScoredTexts]:
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
        return set_scores(texts, metric, [matrix(row_vectors) for row_vectors in vectors()], compare)

    def discrepancies(squared: Floats, n_hypotheses: int) -> Floats:
        """Squared MMD of every row; the bandwidth is half the median distance of the texts that are compared."""
        return mmd_of_kernel(gaussian_kernel_of_distances(squared, "median"), n_hypotheses, sources.estimator)

    vectors = functools.cache(sources.vectors)
    index = functools.cache(lambda: NgramIndex.of_sets(rows, keeps=True))
    makers: Mapping[str, Callable[[], ScoredTexts]] = {
        "bleu": lambda: bleu_of_corpus(index()),
        "rouge_l": lambda: best_rouge_l(index()),
        # Its document frequencies count all references of an iteration.
        "cider_d": lambda: mean_scores("cider_d", functools.partial(drawn_cider_d, index()), is_own=False),
        "meteor15": lambda: meteor15_of_corpus(texts, rows, sources.meteor15()),
        "meteor": lambda: best_meteor(texts, nltk_scores()),
        "trm_meteor": lambda: set_scores(
            texts, "trm_meteor", distances_from_meteor(rows, nltk_scores()), triangle_ranks
        ),
        "trm_cider": lambda: set_scores(texts, "trm_cider", cider_d_distances(), triangle_ranks),
        "trm_bert": lambda: by_vectors("trm_bert", lambda own: 1 - cosine_similarities(own[None])[0], triangle_ranks),
        "mmd_bert": lambda: by_vectors("mmd_bert", lambda own: squared_distances(own[None])[0], discrepancies),
        "fid_bert": lambda: by_vectors("fid_bert", inner_products, frechet_of_products),
    }
    return [makers[metric]() for metric in metrics]


def _flat(rows: TokenRows) -> list[TokenList]:
    return [tokens for row in rows for tokens in row]


# --------------------------------------------------------------------------------------------------------------------
# Options of leave-one-out beyond those that all modules share, and ready vectors: checked before any work.

# Most iterations, each of which keeps a few numbers for each row while it is drawn; most references, and hypotheses, of
# a row.
MOST_ITERATIONS, MOST_REFERENCES = 1_000_000, 1_000_000

# Name of the keyword.
COLUMN = "data_embeddings"


# For messages about metrics.
EXAMPLE_OF_METRICS = "Give for example ('bleu', 'cider_d')."


def check_metrics(metrics: object) -> None:
    """Raise unless `metrics` are names of `METRICS`, at least one, none twice."""
    if not isinstance(metrics, list | tuple):
        raise InputTypeError("metrics", "a list or tuple of names", type(metrics).__name__, EXAMPLE_OF_METRICS)
    if not metrics:
        raise InputError("metrics", "at least one name", "none", EXAMPLE_OF_METRICS)
    for i, metric in enumerate(metrics):
        check_choice(f"metrics[{i}]", metric, METRICS)
        if metric in metrics[:i]:
            raise InputError(f"metrics[{i}]", "each metric once", f"{quote_value(metric)} again", "Remove one.")


def least_sizes(metric: str, n_hypotheses: int, estimator: str) -> tuple[int, int]:
    """Return how many hypotheses and references of a row a metric needs.

    >>> least_sizes("bleu", 1, "unbiased"), least_sizes("trm_bert", 1, "unbiased"), least_sizes("fid_bert", 1, "biased")
    ((1, 1), (1, 2), (2, 2))
    """
    if metric.startswith("trm_"):  # a triangle has three texts
        return 1, 3 - min(n_hypotheses, 2)
    has_two = metric == "fid_bert" or (metric == "mmd_bert" and estimator != "biased")
    return (2, 2) if has_two else (1, 1)


def check_together(options: Mapping[str, Any]) -> None:
    """Raise unless the options of a call fit each other."""
    n_hypotheses, n_references = options["n_hypotheses"], options["n_references"]
    for metric in options["metrics"]:
        least = least_sizes(metric, n_hypotheses, options["estimator"])
        biased = ", or estimator='biased'" if metric == "mmd_bert" else ""
        for name, number, needed in zip(
            ("n_hypotheses", "n_references"), (n_hypotheses, n_references), least, strict=True
        ):
            if number is not None and number < needed:
                fix = f"Give {name}={needed}{biased}, or leave the metric out."
                raise InputError(name, f"at least {needed} for the metric {metric}", number, fix)
        if metric in EMBEDDING_METRICS and (options["pos"] is not None or options["head_share"] < 1):
            expected = "metrics of tokens where words are masked by pos or head_share"
            raise InputError(
                "metrics", expected, f"{metric!r}", "Leave it out: an encoder would read spellings of unknown words."
            )


def check_row_sizes(rows: Sequence[Sequence[str]], options: Mapping[str, Any]) -> None:
    """Raise unless there are rows with references, and enough of both for the metrics."""
    sizes = {i: len(row) for i, row in enumerate(rows) if len(row) > 1}
    if not sizes:
        raise InputError("data", "at least one row with two captions", "none", "A caption needs a reference.")
    if "cider_d" in options["metrics"] and len(sizes) < 2:
        raise InputError("data", "at least 2 rows for cider_d", "1", "Give more rows, or other metrics.")
    n_hypotheses = options["n_hypotheses"]
    for metric in options["metrics"]:
        n_references = least_sizes(metric, n_hypotheses, options["estimator"])[1]
        short = [i for i, size in sizes.items() if size < n_hypotheses + n_references]
        expected = f"at least {n_hypotheses + n_references} captions for {metric}, {n_hypotheses} of them drawn"
        check_places(short, "data", expected, sizes[short[0]] if short else 0, "Leave these rows out, or the metric.")


def check_interval(confidence_level: object) -> None:
    """Raise unless `confidence_level` is a number between 0 and 1; None is refused: there always is an interval."""
    if confidence_level is None:
        raise InputTypeError("confidence_level", "a number", "None", "Give a float such as 0.95.")
    check_confidence_level(confidence_level)


def as_row_vectors(embeddings: object, rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """Check ready embeddings against the captions that they belong to, and return the arrays.

    `embeddings` are n_rows floating-point arrays of shape (n_captions, d), or one of shape (n_rows, n_captions, d).

    Raises:
        TypeError: no list of arrays of floating-point numbers.
        ValueError: another number of rows, of vectors in a row, or of dimensions; NaN, or a number that is too large.

    >>> [array.shape for array in as_row_vectors([[[1.0, 0.0], [0.0, 1.0]]], [["a dog", "a cat"]])]
    [(2, 2)]
    """
    arrays = as_embedding_arrays(embeddings, COLUMN)
    check_n_rows(COLUMN, len(arrays), "data", len(rows), "array")
    for i, (array, row) in enumerate(zip(arrays, rows, strict=True)):
        if len(array) != len(row):
            expected = f"{len(row)} vectors, one per caption of data[{i}]"
            raise InputError(f"{COLUMN}[{i}]", expected, len(array), "Give one vector per caption.")
    check_dimensions({COLUMN: arrays})
    return arrays
