"""Human parity of texts of any length: all faults, the length, and the sentences to look at."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .base import Ints
from .caption_wording import SentenceScores, sentence_scores
from .parity_faults import (
    CorpusFaults,
    Fault,
    SplitFaults,
    SplitGroup,
    counted_fault,
    quantile_fault,
    score_groups,
    support_groups,
)
from .parity_sentences import SentenceSupport, compared_values
from .parity_tails import TAIL, CorpusTails
from .parity_wording import (
    LengthGap,
    SentencesOfRows,
    length_gap,
    odd_values,
    odd_widening,
    repeated_values,
    repetitions,
)

# --------------------------------------------------------------------------------------------------------------------
# Faults of a corpus, by its sentences where texts have several, and by captions where each is one.

# Omissions are measured where so many of people's texts have several sentences: beside texts of one sentence they are
# what the unsupported ones are.
LEAST_SHARE_OF_LONG_TEXTS = 0.5

# No threshold holds for sentences so many times as long as the longest of people's, if so many of the candidates' are.
MOST_TIMES_AS_LONG, MOST_SHARE_OF_LONGER = 2.0, 0.5


class TextWords(NamedTuple):
    """What the words of all rows say."""

    sentences: SentencesOfRows
    scores: SentenceScores

    @property
    def sizes(self) -> Ints:
        """Numbers of sentences of the candidates and of the references, shape (n_rows, 2)."""
        return self.sentences.texts.sizes

    def n_words(self) -> Ints:
        """Return the number of words of every sentence, shape (n_sentences,)."""
        return self.sentences.texts.length - 1

    def are_too_long(self) -> bool:
        """Return whether most of the candidates' sentences are far longer than all of people's."""
        is_reference, n_words = self.sentences.is_reference, self.n_words()
        longest = n_words[is_reference].max()
        return bool((n_words[~is_reference] > MOST_TIMES_AS_LONG * longest).mean() > MOST_SHARE_OF_LONGER)

    def length(self, clusters: Sequence[Hashable] | None, confidence_level: float | None, sizes: Ints) -> LengthGap:
        """Compare the lengths of texts; `sizes`, (n_rows, 2), has the numbers of texts."""
        of, n_texts = self.sentences, sizes.sum(axis=1)
        number = of.text + np.where(of.is_reference, sizes[of.rows, 0], 0) + (np.cumsum(n_texts) - n_texts)[of.rows]
        lengths = np.bincount(number, self.n_words(), minlength=int(n_texts.sum()))
        return length_gap(lengths, sizes, clusters, confidence_level)


def text_words(sentences: SentencesOfRows, *, is_tested: bool) -> TextWords:
    """Score the sentences of all rows."""
    return TextWords(sentences, sentence_scores(sentences.texts, is_tested=is_tested))


def corpus_faults(
    tails: CorpusTails,
    support: SentenceSupport | None,
    words: TextWords | None,
    sizes: Sequence[tuple[int, int]],
    options: Mapping[str, Any],
    *,
    is_tested: bool = True,
) -> CorpusFaults:
    """Measure the faults of the candidates of all rows.

    Args:
        tails: of the distances of whole texts.
        support: of sentences; None where every text is one sentence.
        words: of the sentences; None where there are no texts, and odd wording and repetition are left out.
        sizes: (n_candidates, n_references) of every row.
        options: confidence_level, clusters and seed.
        is_tested: whether p-values are computed.
    """
    n_rows, clusters, level = len(sizes), options["clusters"], options["confidence_level"]
    is_tested = is_tested and tails.is_tested

    def tested(fault: Fault, groups: list[SplitGroup], sign: int) -> Fault:
        """Return a fault with its p-value: by splits of few rows, else Student's."""
        if not is_tested:
            return fault
        splits = SplitFaults(groups, sign, clusters)
        return fault._replace(
            p_value=splits.p_value(options["seed"]) if splits.are_few else fault.share.student_p_value
        )

    kinds = {}
    if support is None:
        share = tails.shares["unlike_people_share"]
        p_value = tails.p_values["unlike_people_share"] if is_tested else math.nan
        kinds["unsupported_share"] = Fault(share, share.low - TAIL, share.high - TAIL, p_value)
    else:
        fault = quantile_fault(compared_values(support.blocks()), 1, n_rows, clusters, level)
        kinds["unsupported_share"] = tested(fault, support_groups(support.blocks()), 1)
        if support.share_of_long_texts >= LEAST_SHARE_OF_LONG_TEXTS:
            fault = quantile_fault(compared_values(b.left_out() for b in support.blocks()), 1, n_rows, clusters, level)
            kinds["omitted_share"] = tested(fault, support_groups(b.left_out() for b in support.blocks()), 1)
    if words is not None:
        values = odd_values(words.sentences, words.scores)
        widening = odd_widening(words.sentences, words.scores, clusters)
        fault = quantile_fault(values, -1, n_rows, clusters, level, widening)
        kinds["odd_wording_share"] = tested(fault, score_groups(values, sizes), -1)
        values = repeated_values(repetitions(words.sentences), np.array(sizes))
        fault = counted_fault(values, n_rows, clusters, level)
        kinds["repeated_share"] = fault if is_tested else fault._replace(p_value=math.nan)
    return CorpusFaults(kinds, n_rows)
