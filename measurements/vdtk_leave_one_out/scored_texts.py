"""Scores of any text of a row against any others of it: what does not depend on the draw is computed once."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from .cider_d_table import CIDER_D_MAXIMUM, CiderTable
from .row_pairs import Floats, MeanScores, RowPairs, ScoredTexts, Statistics
from .set_scores import SetScores, embedding_scores, triangle_ranks
from .shared_bleu import MAX_ORDER, BleuTable, bleu_scores, corpus_bleu
from .shared_caption_tokens import same_tokens
from .shared_meteor15 import corpus_score, pair_statistics
from .shared_meteor15 import scores as meteor15_scores
from .shared_meteor15_texts import Lexicon as Meteor15Lexicon
from .shared_meteor_distance import Lexicon, meteor_distances, meteor_scores
from .shared_rouge_l import f_measure, precisions_and_recalls
from .shared_row_texts import Ints, Masks, RowTexts

Tokens = Sequence[str]
TokenRows = Sequence[Sequence[Tokens]]

# Keys of the results of each metric.
METRICS = {
    "bleu": tuple(f"bleu_{n}" for n in range(1, MAX_ORDER + 1)),
    "rouge_l": ("rouge_l",),
    "cider_d": ("cider_d",),
    "meteor15": ("meteor15",),
    "meteor": ("meteor",),
    "trm_meteor": ("trm_meteor",),
    "trm_cider": ("trm_cider",),
    "trm_bert": ("trm_bert",),
    "mmd_bert": ("mmd_bert",),
    "fid_bert": ("fid_bert",),
}

# Metrics of embeddings; the others compare tokens.
EMBEDDING_METRICS = ("trm_bert", "mmd_bert", "fid_bert")


def _not_given() -> NoReturn:
    raise LookupError("sources: expected what the metric asks for, got nothing. Give it.")


class Sources(NamedTuple):
    """What some metrics ask for, beside tokens; called where it is wanted."""

    # The words that NLTK's METEOR asks for.
    meteor: Callable[[], Lexicon] = _not_given
    # The same for METEOR 1.5.
    meteor15: Callable[[], Meteor15Lexicon] = _not_given
    # Of each row the embeddings of its texts, float64, shape (n_texts, d).
    vectors: Callable[[], Sequence[Floats]] = _not_given
    # Of "mmd_bert".
    estimator: str = "unbiased"


class BleuScores:
    """BLEU-1 to BLEU-4 of a corpus, from the sums of its statistics."""

    is_own = True
    is_set = False

    def __init__(self, rows: TokenRows) -> None:
        self.table = BleuTable(rows)

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """As `BleuTable.statistics`."""
        return self.table.statistics(hypotheses, references)

    def each(self, statistics: Statistics) -> dict[str, Floats]:
        """BLEU-1 to BLEU-4 of single hypotheses."""
        return {f"bleu_{n}": values for n, values in enumerate(bleu_scores(statistics).T, start=1)}

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """BLEU-1 to BLEU-4."""
        return {f"bleu_{n}": value for n, value in enumerate(corpus_bleu(statistics).tolist(), start=1)}


class CiderScores(MeanScores):
    """CIDEr-D, whose document frequencies are those of all references of an iteration."""

    name = "cider_d"
    is_own = False

    def __init__(self, rows: TokenRows) -> None:
        self.table = CiderTable(rows)

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """As `CiderTable.scores`."""
        return self.table.scores(hypotheses, references)


class RougeScores(RowPairs, MeanScores):
    """ROUGE-L: mean over rows, of precision and recall the best over the references."""

    name = "rouge_l"

    def __init__(self, rows: TokenRows) -> None:
        super().__init__(RowTexts(map(len, rows)))
        self.precision, self.recall = precisions_and_recalls(_flat(rows), *self.pairs())

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Scores of the hypotheses, shape (n,)."""
        pairs, starts = self.chosen(hypotheses, references)
        best = (np.maximum.reduceat(values[pairs], starts) for values in (self.precision, self.recall))
        return f_measure(*best)


class MeteorScores(RowPairs, MeanScores):
    """METEOR as NLTK computes it: mean over rows of the score against the best reference."""

    name = "meteor"

    def __init__(self, texts: RowTexts, matrices: Sequence[Floats]) -> None:
        """Take the scores [reference, candidate] of each row."""
        super().__init__(texts)
        self.scores = np.concatenate([matrix.T.ravel() for matrix in matrices])

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Scores of the hypotheses, shape (n,)."""
        pairs, starts = self.chosen(hypotheses, references)
        return np.maximum.reduceat(self.scores[pairs], starts)


class Meteor15Scores(RowPairs):
    """METEOR 1.5 of a corpus, from the sums of the statistics against each hypothesis's best reference."""

    is_own = True
    is_set = False

    def __init__(self, rows: TokenRows, lexicon: Meteor15Lexicon) -> None:
        super().__init__(RowTexts(map(len, rows)))
        numbers: dict[str, int] = {}
        text = np.array([numbers.setdefault(" ".join(tokens), len(numbers)) for tokens in _flat(rows)], np.int64)
        candidate, reference = (text[side] for side in self.pairs())
        distinct, self.number = np.unique(candidate * len(numbers) + reference, return_inverse=True)
        words = [lexicon.words(caption) for caption in numbers]
        self.of_pair = pair_statistics(words, *np.divmod(distinct, len(numbers)), lexicon)
        self.scores = meteor15_scores(self.of_pair)

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Statistics of each hypothesis with its best reference, the first of equals, shape (n, 23)."""
        pairs, starts = self.chosen(hypotheses, references)
        pairs = self.number[pairs]
        scores = self.scores[pairs]
        best = np.maximum.reduceat(scores, starts)
        hypothesis = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pairs))))
        is_best = np.flatnonzero(scores == best[hypothesis])
        return self.of_pair[pairs[is_best[np.unique(hypothesis[is_best], return_index=True)[1]]]]

    def each(self, statistics: Statistics) -> dict[str, Floats]:
        """Scores of single hypotheses."""
        return {"meteor15": meteor15_scores(statistics)}

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """The score of the corpus."""
        return {"meteor15": corpus_score(statistics)}


def cider_d_distances(rows: TokenRows) -> list[Floats]:
    """CIDEr-D distances of all pairs of texts of a row, each row one document: d(x, y) = 10 - CIDEr-D(x, y).

    Args:
        rows: n_rows rows of token lists.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts); texts of equal tokens have distance 0.
    """
    sizes = [len(row) for row in rows]
    cells = np.split(CiderTable(rows).pair_scores(), np.cumsum(np.array(sizes) ** 2)[:-1])
    matrices = (part.reshape(size, size) for part, size in zip(cells, sizes, strict=True))
    return [
        np.where(same_tokens(row), 0.0, CIDER_D_MAXIMUM - matrix) for row, matrix in zip(rows, matrices, strict=True)
    ]


def scored_texts(rows: TokenRows, metrics: Sequence[str], sources: Sources) -> list[ScoredTexts]:
    """Count what the metrics need, once for all iterations.

    Args:
        rows: n_rows rows of token lists; of metrics of embeddings only their numbers count.
        metrics: names, of `METRICS`.
        sources: what they ask for.

    Returns:
        One object for each metric.
    """
    texts = RowTexts(map(len, rows))

    def ranked(name: str, distances: Sequence[Floats]) -> SetScores:
        return SetScores(texts, name, distances, triangle_ranks)

    @functools.cache
    def nltk_scores() -> list[Floats]:
        return meteor_scores(rows, sources.meteor())

    vectors = functools.cache(sources.vectors)
    makers: Mapping[str, Callable[[], ScoredTexts]] = {
        "bleu": lambda: BleuScores(rows),
        "rouge_l": lambda: RougeScores(rows),
        "cider_d": lambda: CiderScores(rows),
        "meteor15": lambda: Meteor15Scores(rows, sources.meteor15()),
        "meteor": lambda: MeteorScores(texts, nltk_scores()),
        "trm_meteor": lambda: ranked("trm_meteor", meteor_distances(rows, nltk_scores())),
        "trm_cider": lambda: ranked("trm_cider", cider_d_distances(rows)),
    }
    return [
        embedding_scores(texts, metric, vectors(), sources.estimator)
        if metric in EMBEDDING_METRICS
        else makers[metric]()
        for metric in metrics
    ]


def _flat(rows: TokenRows) -> list[Tokens]:
    return [tokens for row in rows for tokens in row]
