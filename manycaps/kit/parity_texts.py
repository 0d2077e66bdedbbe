"""Human parity of texts of any length: odd wording, repetition, length, all faults, and the sentences to look at."""

import heapq
import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from .arrays import Floats, Ints, TokenRows
from .ngrams import RowTexts, WordNumbers, number_keys, word_ids
from .parity_faults import (
    CorpusFaults,
    Fault,
    PeopleValues,
    SplitFaults,
    SplitGroup,
    counted_fault,
    quantile_fault,
    score_groups,
    support_groups,
)
from .parity_sentences import (
    BothSides,
    RowSpans,
    SentenceSupport,
    SideValues,
    SpanDistances,
    SupportBlock,
    compared_values,
    nearest_span,
)
from .parity_tails import TAIL, CorpusTails
from .sets_tests import TIE_TOLERANCE, cluster_numbers, mean_interval, mean_of_rows, with_interval
from .words_predictability import (
    LEAST_ROWS_OF_WORDING,
    N_LISTED,
    N_MARKS,
    LanguageModel,
    SentenceScores,
    Texts,
    are_references,
    sentence_scores,
    sum_of_products,
    sums_of,
    texts_of,
)

# --------------------------------------------------------------------------------------------------------------------
# Odd wording by sentence: is its SLOR (see `words_predictability`) below people's 5% quantile? The model is of the
# sentences of all other rows. One sentence of three that is odd counts as a third of a text, and joining texts makes
# none less odd. A word behind one that nobody else wrote costs what a new continuation costs people: otherwise words
# that nobody knows would make a sentence less odd. And with more words that nobody else wrote than 99 of 100 of
# people's sentences, a sentence is odd, from 400 of these on.
#
# Tried beside the mean over words: z = (SLOR - mean of people's) sqrt(length), which sees more of such nonsense (61%),
# but finds sentences odd for being long: over 18 summarisers its correlation with ratings is +.57 (mean: -.23), and
# that of all faults together -.13 (mean: -.50); and the worst stretch of 6, 8 or 12 words (-.02, +.37, +.34).


class SentencesOfRows(NamedTuple):
    """The sentences of the texts of all rows, as texts of a language model."""

    texts: Texts
    # Of every sentence its row, the number of its text within its side, and its place in the text; and for how much
    # of its side of the row it stands.
    rows: Ints
    text: Ints
    place: Ints
    weights: Floats
    is_reference: np.ndarray


def sentences_of_rows(
    candidates: Sequence[TokenRows],
    references: Sequence[TokenRows],
    clusters: Sequence[Hashable] | None = None,
    model: LanguageModel | None = None,
) -> SentencesOfRows:
    """Number the words of n_rows rows of texts, each a list of sentences, each of these a list of tokens."""
    rows = list(zip(candidates, references, strict=True))
    texts: list[Sequence[Sequence[str]]] = [text for row in rows for side in row for text in side]
    vocabulary = WordNumbers()
    words, lengths = word_ids((sentence for text in texts for sentence in text), vocabulary)
    sizes = np.array([(len(mine), len(people)) for mine, people in rows])
    n_sentences = np.array([len(text) for text in texts])
    return sentences_of_counts(sizes, n_sentences, words, lengths, vocabulary, model, clusters)


def sentences_of_counts(
    sizes: Ints,
    n_sentences: Ints,
    words: Ints,
    lengths: Ints,
    vocabulary: WordNumbers,
    model: LanguageModel | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> SentencesOfRows:
    """Return the sentences of texts, candidates first in every row.

    `sizes`, (n_rows, 2), has the numbers of candidates and references, `n_sentences`, (n_texts,), of sentences; words
    and lengths are of all sentences in one line, as from `word_ids`.
    """
    layout, is_people = RowTexts(sizes.sum(axis=1)), are_references(sizes)
    of_sides = np.bincount(2 * layout.row + is_people, n_sentences, minlength=2 * len(sizes)).astype(np.int64)
    texts = texts_of(of_sides.reshape(-1, 2), words, lengths, vocabulary, clusters, model)
    text = np.repeat(np.arange(len(n_sentences)), n_sentences)
    place = np.arange(len(text)) - np.repeat(np.cumsum(n_sentences) - n_sentences, n_sentences)
    number = layout.place - np.where(is_people, sizes[layout.row, 0], 0)
    weights = 1 / (sizes[layout.row, is_people.astype(np.int64)] * n_sentences)
    return SentencesOfRows(texts, layout.row[text], number[text], place, weights[text], is_people[text])


def captions_as_sentences(texts: Texts) -> SentencesOfRows:
    """Return the texts of all rows as one sentence each."""
    layout, is_people = RowTexts(texts.sizes.sum(axis=1)), are_references(texts.sizes)
    number = layout.place - np.where(is_people, texts.sizes[layout.row, 0], 0)
    weights = 1 / texts.sizes[layout.row, is_people.astype(np.int64)]
    return SentencesOfRows(texts, layout.row, number, np.zeros_like(number), weights, is_people)


def odd_values(sentences: SentencesOfRows, scores: SentenceScores) -> BothSides:
    """Return the scores of the sentences of both sides."""

    def side(chosen: np.ndarray) -> SideValues:
        columns = scores.scores, sentences.weights, sentences.rows, sentences.text, sentences.place
        return SideValues(*(column[chosen] for column in columns))

    return BothSides(side(~sentences.is_reference), side(sentences.is_reference))


def odd_widening(
    sentences: SentencesOfRows, scores: SentenceScores, clusters: Sequence[Hashable] | None
) -> Callable[[PeopleValues, Floats], float]:
    """Return by how much the model of words, which rows share, makes the error of the share of odd sentences larger.

    A row's references move the scores of other rows, and so both their share and people's quantile; to first order by
    the density at the quantile, which is taken from people's sentences between two quantiles around it. As for the
    wording gap, the differences of two rows are correlated as far as each moves the other's: these covariances are
    added where their estimate is positive. That each row's difference moves is in its own variance already.
    """

    def factor(people: PeopleValues, rows: Floats) -> float:
        near, far = (-people.threshold(share).value for share in BAND)
        own = mean_of_rows(rows, clusters).standard_error
        if not near > far or not own > 0:
            return 1.0
        is_near = (scores.scores > far) & (scores.scores <= near)
        densities = [
            float((sentences.weights * is_near)[sentences.is_reference == of_people].sum()) for of_people in (0, 1)
        ]
        if not densities[1] > 0:
            return 1.0
        slope = np.where(sentences.is_reference, densities[0] / densities[1], -1.0)
        influence = scores.row_influence(slope * is_near * sentences.weights / (near - far))
        numbers = np.arange(len(rows)) if clusters is None else cluster_numbers(clusters)
        between = sum_of_products(sums_of(numbers, rows), sums_of(numbers, influence)) / len(rows) ** 2
        return math.sqrt(1 + max(0.0, between) / own**2)

    return factor


# Quantiles of people's scores between which their density is taken, the near one first.
BAND = (2 * TAIL, TAIL / 2)


# --------------------------------------------------------------------------------------------------------------------
# Repetition: a text says a word twice in a row, three words twice in one sentence, or a sentence of two words or more
# twice, and no reference of its row repeats the same.
#
# Of three words anywhere in a text, or four, long texts would say more twice than short ones: of two human captions of
# one image, joined, 25% and 9%, where single ones have 0.4% and 0.1%. A reference is compared with the others of its
# row, and a candidate without each of them in turn, as for support.


class Repetition(NamedTuple):
    """What texts repeat."""

    # int64 arrays, shape (n_repetitions,): row, number of the text in the row, candidates first, and what it repeats.
    rows: Ints
    texts: Ints
    phrases: Ints


def repetitions(sentences: SentencesOfRows) -> Repetition:
    """Find what texts repeat, each phrase once for a text."""
    texts = sentences.texts
    n_positions = int(texts.length.sum())
    number = sentences.text + np.where(sentences.is_reference, candidate_counts(sentences)[sentences.rows], 0)
    most_texts = 1 + int(number.max())
    text_of = sentences.rows * most_texts + number
    sentence = texts.text[:n_positions]
    word, before, two_before = (column[:n_positions] for column in (texts.word, texts.before, texts.two_before))
    grams = [order.gram[:n_positions] for order in texts.orders]
    n_pairs, n_triples = (len(order.history_of_gram) for order in texts.orders[1:])
    is_double = (word == before) & (word >= N_MARKS)
    is_triple = (two_before >= N_MARKS) & (word >= N_MARKS)
    keys, place = number_keys(sentence[is_triple] * n_triples + grams[2][is_triple])
    of_sentence, triple = np.divmod(keys[np.bincount(place, minlength=len(keys)) > 1], n_triples)
    again, same_words = _sentences_said_twice(texts, text_of)
    saying = np.concatenate([text_of[sentence[is_double]], text_of[of_sentence], text_of[again]])
    said = np.concatenate([grams[1][is_double], n_pairs + triple, n_pairs + n_triples + same_words])
    n_phrases = n_pairs + n_triples + len(texts.length)
    saying, said = np.divmod(np.unique(saying * n_phrases + said), n_phrases)
    return Repetition(*np.divmod(saying, most_texts), said)


def _sentences_said_twice(texts: Texts, text_of: Ints) -> tuple[Ints, Ints]:
    """Sentences that their text has said before, and the first sentence anywhere that has the same words."""
    is_longer = (np.bincount(text_of)[text_of] > 1) & (texts.length > 2)
    starts = np.cumsum(texts.length) - texts.length
    first_of: dict[bytes, int] = {}
    seen: set[tuple[int, int]] = set()
    twice = []
    for sentence in np.flatnonzero(is_longer).tolist():
        words = texts.word[starts[sentence] : starts[sentence] + texts.length[sentence]].tobytes()
        key = int(text_of[sentence]), first_of.setdefault(words, sentence)
        if key in seen:
            twice.append((sentence, key[1]))
        seen.add(key)
    again, same_words = np.array(twice, dtype=np.int64).reshape(-1, 2).T
    return again, same_words


def candidate_counts(sentences: SentencesOfRows) -> Ints:
    """Return how many candidates every row has, shape (n_rows,)."""
    counts = np.zeros(len(sentences.texts.sizes), dtype=np.int64)
    own = ~sentences.is_reference
    np.maximum.at(counts, sentences.rows[own], sentences.text[own] + 1)
    return counts


def repeated_values(found: Repetition, sizes: Ints) -> BothSides:
    """Return how far each text repeats what the references do not: 0 or 1 for people, 0 to 1 for candidates.

    `sizes`, int64, (n_rows, 2), has the numbers of candidates and of references.
    """
    sides = []
    for counts in sizes.T:
        rows = np.repeat(np.arange(len(sizes)), counts)
        texts = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        sides.append(SideValues(np.zeros(len(rows)), 1 / counts[rows], rows, texts, np.zeros_like(rows)))
    candidates, people = sides
    firsts = np.cumsum(sizes, axis=0) - sizes
    m = sizes[found.rows, 0]
    is_reference = found.texts >= m
    text, reference = firsts[found.rows, 0] + found.texts, firsts[found.rows, 1] + found.texts - m
    phrases, phrase = number_keys(found.rows * (1 + found.phrases.max(initial=0)) + found.phrases)
    n_saying = np.bincount(phrase, is_reference)[phrase]  # references of the row that repeat the same
    is_alone, is_own = is_reference & (n_saying == 1), ~is_reference & (n_saying == 0)
    people.values[reference[is_alone]] = 1
    # A candidate stands beside all references but one: what this one alone repeats, none of the others does.
    speaker = np.empty(len(phrases), dtype=np.int64)
    speaker[phrase[is_alone]] = reference[is_alone]
    is_shared = ~is_reference & (n_saying == 1)
    pairs = np.unique(text[is_shared] * len(people.values) + speaker[phrase[is_shared]])
    n_without = np.bincount(pairs // len(people.values), minlength=len(candidates.values))
    candidates.values[:] = n_without / sizes[candidates.rows, 1]
    candidates.values[text[is_own]] = 1
    return BothSides(candidates, people)


# --------------------------------------------------------------------------------------------------------------------
# Length: how many words texts have, beside people's.


class LengthGap(NamedTuple):
    """How long candidates are, in words, beside people's texts; means over rows of the means of each side."""

    words: float
    people: float
    # Words of candidates less people's, with the ends of an interval; NaN where there is none.
    gap: float
    low: float
    high: float
    # Two-sided, of "people wrote the candidates"; NaN where all texts of a row have equal lengths.
    p_value: float
    # float64, shape (n_rows,): the gap of every row.
    rows: Floats

    def result(self, confidence_level: float | None, *, is_tested: bool = True) -> dict[str, float]:
        """Return the values by the keys of a module's result."""
        result = {"words_per_text": self.words, "words_per_text_of_people": self.people}
        result |= with_interval("length_gap", (self.gap, self.low, self.high), confidence_level)
        return result | ({"length_p_value": self.p_value} if is_tested else {})


def length_gap(
    lengths: Floats, sizes: Ints, clusters: Sequence[Hashable] | None, confidence_level: float | None
) -> LengthGap:
    """Compare lengths of texts, float64, row by row, candidates first; `sizes` as for `repeated_values`.

    If people wrote the candidates, every split of a row's texts is equally likely, and the sum of the gaps is normal
    with the variance sum over rows of (1 / m + 1 / n) s^2, s^2 being the variance of the row's N lengths, with N - 1.
    Rows in clusters: Student's, of the sums over clusters.
    """
    n_texts = sizes.sum(axis=1)
    firsts = np.cumsum(n_texts) - n_texts
    ends = np.stack([firsts, firsts + sizes[:, 0]], axis=1).ravel()
    means = np.add.reduceat(lengths, ends).reshape(-1, 2) / sizes
    gaps = means[:, 0] - means[:, 1]
    gaps[np.abs(gaps) <= TIE_TOLERANCE] = 0.0
    candidates, people = (math.fsum(column) / len(column) for column in means.T)
    of_rows = mean_of_rows(gaps, clusters)
    low, high = (math.nan, math.nan) if confidence_level is None else mean_interval(of_rows, confidence_level)
    if clusters is None:
        row_means = np.add.reduceat(lengths, firsts) / n_texts
        squares = np.add.reduceat((lengths - np.repeat(row_means, n_texts)) ** 2, firsts)
        variance = math.fsum(squares / np.maximum(n_texts - 1, 1) * (1 / sizes).sum(axis=1))
        z = abs(math.fsum(gaps)) / math.sqrt(variance) if variance > 0 else math.nan
        p_value = 2 * float(scipy.special.ndtr(-z))
    else:
        error = of_rows.standard_error
        t = abs(of_rows.mean) / error if error > 0 else math.nan
        p_value = 2 * float(scipy.special.stdtr(max(1, of_rows.n_clusters - 1), -t))
    return LengthGap(candidates, people, of_rows.mean, low, high, p_value, gaps)


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
        lengths = sums_of(number, self.n_words().astype(np.float64), int(n_texts.sum()))
        return length_gap(lengths, sizes, clusters, confidence_level)


def text_words(sentences: SentencesOfRows, *, is_tested: bool) -> TextWords:
    """Score the sentences of all rows."""
    return TextWords(sentences, sentence_scores(sentences.texts, is_tested=is_tested))


def corpus_faults(
    tails: CorpusTails | None,
    support: SentenceSupport | None,
    words: TextWords | None,
    sizes: Sequence[tuple[int, int]],
    options: Mapping[str, Any],
    *,
    is_tested: bool = True,
) -> CorpusFaults:
    """Measure the faults of the candidates of all rows.

    Args:
        tails: of the distances of whole texts; None of rows with one reference, which have words alone.
        support: of sentences; None where every text is one sentence, or their distances are ready.
        words: of the sentences; None where there are no texts, and odd wording and repetition are left out.
        sizes: (n_candidates, n_references) of every row.
        options: confidence_level, clusters and seed.
        is_tested: whether p-values are computed.
    """
    n_rows, clusters, level = len(sizes), options["clusters"], options["confidence_level"]
    is_tested = is_tested and (tails is None or tails.is_tested)
    n_clusters = n_rows if clusters is None else len(set(clusters))
    are_too_long = words is not None and words.are_too_long()

    def tested(fault: Fault, groups: list[SplitGroup], sign: int) -> Fault:
        """Return a fault with its p-value: by splits of few rows, else Student's."""
        if not is_tested:
            return fault
        splits = SplitFaults(groups, sign, clusters)
        return fault._replace(
            p_value=splits.p_value(options["seed"]) if splits.are_few else fault.share.student_p_value
        )

    def by_support(support: SentenceSupport, *, is_omitted: bool) -> Fault:
        """Return what candidates say, or leave out, that people do not."""

        def blocks() -> Iterator[SupportBlock]:
            return (block.left_out() if is_omitted else block for block in support.blocks())

        fault = quantile_fault(compared_values(blocks()), 1, n_rows, clusters, level)
        return tested(fault, support_groups(blocks()) if is_tested else [], 1)

    kinds = {}
    if support is not None:
        if not are_too_long:
            kinds["unsupported_share"] = by_support(support, is_omitted=False)
        if support.share_of_long_texts >= LEAST_SHARE_OF_LONG_TEXTS:
            kinds["omitted_share"] = by_support(support, is_omitted=True)
    elif tails is not None and not are_too_long:
        share = tails.shares["unlike_people_share"]
        p_value = tails.p_values["unlike_people_share"] if is_tested else math.nan
        kinds["unsupported_share"] = Fault(share, share.low - TAIL, share.high - TAIL, p_value)
    if words is not None and n_clusters >= LEAST_ROWS_OF_WORDING:
        if not are_too_long:
            values = odd_values(words.sentences, words.scores)
            widening = odd_widening(words.sentences, words.scores, clusters)
            fault = quantile_fault(values, -1, n_rows, clusters, level, widening)
            kinds["odd_wording_share"] = tested(fault, score_groups(values, sizes) if is_tested else [], -1)
        values = repeated_values(repetitions(words.sentences), np.array(sizes))
        fault = counted_fault(values, n_rows, clusters, level)
        kinds["repeated_share"] = fault if is_tested else fault._replace(p_value=math.nan)
    if are_too_long:
        warnings.warn(
            "predictions: expected sentences of about the length of people's, got mostly sentences more than "
            f"{MOST_TIMES_AS_LONG:g} times as long as the longest of the references. No threshold of people's holds "
            "for them: unsupported_share and odd_wording_share are NaN. Give references of this length, or end "
            "sentences with full stops.",
            stacklevel=2,
        )
    return CorpusFaults(kinds, n_rows)


def unsupported_sentences(
    rows: Sequence[RowSpans], support: SentenceSupport, distances: SpanDistances
) -> list[list[Any]]:
    """List the candidates' sentences that are farthest from what people say, `N_LISTED` of them, the worst first.

    Each is [row, candidate, sentence, its text, the nearest span of the row's references].
    """
    means = support.candidate_means()
    worst = heapq.nsmallest(N_LISTED, zip((-means.values).tolist(), *means[2:], strict=True))
    listed: list[list[Any]] = []
    for _, *place in worst:
        row, candidate, sentence = map(int, place)
        spans = rows[row]
        number = sum(spans.n_sentences[:candidate]) + sentence
        text = spans.texts[spans.sentences[number]]
        listed.append([row, candidate, sentence, text, nearest_span(spans, distances(spans), number)])
    return listed


def repeated_phrases(sentences: SentencesOfRows) -> list[list[Any]]:
    """List what candidates repeat, `N_LISTED` at most, in the order of the rows: [row, candidate, phrase]."""
    found, counts = repetitions(sentences), candidate_counts(sentences)
    own = np.flatnonzero(found.texts < counts[found.rows])[:N_LISTED]
    return [[int(found.rows[i]), int(found.texts[i]), _phrase_of(sentences.texts, int(found.phrases[i]))] for i in own]


def _phrase_of(texts: Texts, phrase: int) -> str:
    """The words of a phrase, by its number in `Repetition`."""
    n_pairs, n_triples = (len(order.history_of_gram) for order in texts.orders[1:])
    starts = np.cumsum(texts.length) - texts.length
    if phrase >= n_pairs + n_triples:
        first = int(starts[phrase - n_pairs - n_triples])
        numbers = texts.word[first : first + int(texts.length[phrase - n_pairs - n_triples]) - 1].tolist()
    else:
        n = 2 if phrase < n_pairs else 3
        gram = phrase if n == 2 else phrase - n_pairs
        place = int(np.flatnonzero(texts.orders[n - 1].gram == gram)[0])
        numbers = [int(column[place]) for column in (texts.two_before, texts.before, texts.word)[3 - n :]]
    return " ".join(texts.vocabulary[number - N_MARKS] for number in numbers)
