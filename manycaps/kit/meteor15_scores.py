"""METEOR 1.5 of many pairs of texts at once: alignment statistics and scores, on arrays alone."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from huggingface_hub.utils.tqdm import tqdm

from .arrays import CaptionRows, Floats, Ints, TokenRows, first_largest, row_means
from .errors import InputError, quote_value
from .meteor15_data import check_data_source, check_language, load_lexicon
from .meteor15_search import Matches, Starts, search, take_matches
from .meteor15_words import (
    ENGLISH,
    EXACT,
    OF_HYPOTHESIS,
    OF_REFERENCE,
    STEM,
    SYNONYM,
    EncodedTexts,
    Language,
    Meteor15Lexicon,
    encode,
)
from .rows import as_both_rows
from .words_tokenizers import Tokenizer, check_tokenizer, tokenize_rows

# The statistics of a pair, in the order of the Java program's SCORE lines for English: lengths and function words, then
# for each kind of match the content words and the function words that it covers on both sides. Of a language without a
# kind the program leaves that kind out, and ends with zeros.
STATISTICS = (
    *("hypothesis_length", "reference_length", "hypothesis_function_words", "reference_function_words"),
    *(
        f"{kind}_{side}_{words}"
        for kind in ("exact", "stem", "synonym", "paraphrase")
        for words in ("content", "function")
        for side in ("hypothesis", "reference")
    ),
    *("chunks", "hypothesis_matches", "reference_matches"),
)

# Pairs of texts at once, and pairs of their units, 8 bytes each in the largest arrays.
MAX_PAIRS = 4_096

MAX_CELLS = 2_000_000

# Most of one pair: words of one text times words of the other, 40 bytes each; and candidates of a match, of which a
# million take seconds. Two pages of prose, 20,000 characters each, have 20 million and 250,000.
MOST_CELLS = 25_000_000

MOST_MATCHES = 1_000_000

# Distinct words of texts that are compared at once; their table of relations takes its square in bytes.
MAX_WORDS = 4_096

# Ways to match with the kind that each counts as.
WAYS = ((EXACT, 0), (STEM, 1), (SYNONYM, 2), (OF_REFERENCE, 3), (OF_HYPOTHESIS, 3))

# Bits of a word's index in the key that sorts matches; texts are shorter than a million words.
PLACE_BITS = 20


def pair_statistics(
    texts: Sequence[Sequence[str]], hypothesis: npt.ArrayLike, reference: npt.ArrayLike, lexicon: Meteor15Lexicon
) -> Ints:
    """Align pairs of texts, and count what METEOR 1.5 counts: int64, shape (n_pairs, 23), columns as `STATISTICS`.

    `texts` are lists of words, as from `meteor15_search.words_of`; `hypothesis` and `reference` are whole numbers,
    shape (n_pairs,): numbers of the texts that are scored, and of those that they are compared with.
    """
    hypotheses, references = np.asarray(hypothesis, np.int64), np.asarray(reference, np.int64)
    statistics = np.zeros((len(hypotheses), len(STATISTICS)), np.int64)
    lengths = np.array([len(text) for text in texts], np.int64)
    for begin, end in _batches(texts, lengths, hypotheses, references):
        pairs = np.stack([hypotheses[begin:end], references[begin:end]])
        used, number = np.unique(pairs, return_inverse=True)
        try:
            _check_at_most(np.prod(lengths[pairs], axis=0), MOST_CELLS)
            encoded = encode([texts[i] for i in used], lexicon)
            statistics[begin:end] = _batch_statistics(encoded, *number.reshape(2, -1))
        except _PairError as error:
            longer = max((texts[i] for i in pairs[:, error.place]), key=len)
            got = f"{len(longer):,} words, many of them matches, that begin {quote_value(' '.join(longer[:9]))}"
            raise InputError(
                "texts", "two that METEOR 1.5 can align within bounds", got, "Shorten texts of thousands of words."
            ) from None
    return statistics


class _PairError(Exception):
    """The pair at this index of a batch exceeds the limits."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


def _check_at_most(sizes: Ints, most: int) -> None:
    """Raise for the first pair whose size is larger."""
    if len(sizes) and sizes.max() > most:
        raise _PairError(int(np.argmax(sizes > most)))


def scores(statistics: npt.NDArray[np.number], language: Language = ENGLISH) -> Floats:
    """Turn statistics into scores: METEOR = F (1 - gamma (chunks / matches)^beta).

    F = 1 / ((1 - alpha) / P + alpha / R). P and R are the weighted shares of matched words of the hypothesis and of the
    reference; content words count delta, function words 1 - delta. There is no penalty where one chunk covers both
    texts. 0 without a match.

    Args:
        statistics: array, shape (n, 23), as from `pair_statistics`.
        language: its parameters.

    Returns:
        float64 array, shape (n,), 0 (worst) to 1 (best).

    >>> one_of_two_words = [[2, 2, 0, 0, 1, 1, *[0] * 14, 1, 1, 1]]
    >>> scores(np.array(one_of_two_words)).round(4).tolist()
    [0.2]
    """
    numbers = np.asarray(statistics, np.float64).T
    precision, recall = (_share(numbers, side, language) for side in (0, 1))
    chunks, matches = numbers[20], (numbers[21] + numbers[22]) / 2
    is_positive = (precision > 0) & (recall > 0)
    is_whole = _is_whole(numbers)
    fragmentation = np.where(is_positive & ~is_whole, chunks, 0) / np.where(matches > 0, matches, 1)
    f_mean = np.zeros(len(chunks))
    alpha = language.alpha
    f_mean[is_positive] = 1.0 / ((1.0 - alpha) / precision[is_positive] + alpha / recall[is_positive])
    return f_mean * (1.0 - language.gamma * _power(fragmentation, language.beta))


def corpus_score(statistics: Ints, language: Language = ENGLISH) -> float:
    """Score a corpus, 0 (worst) to 1 (best), from the sums of its segments' statistics, as the Java program's EVAL.

    `statistics` is int64, shape (n_segments, 23): of each segment against its best reference. It is not the mean of the
    segments' scores: long segments weigh more, and the chunks of segments that are matched whole are left out.
    """
    return float(scores(corpus_statistics(statistics)[None], language)[0])


def corpus_statistics(statistics: Ints) -> Ints:
    """Add up the statistics of a corpus, int64, (23,), as the Java program's EVAL does: sums of parts can be added.

    >>> corpus_statistics(np.array([[2, 2, 0, 0, 1, 1, *[0] * 14, 1, 1, 1]] * 2)).tolist()[:6]
    [4, 4, 0, 0, 2, 2]
    """
    total = np.asarray(statistics.sum(axis=0))
    total[20] = statistics[~_is_whole(statistics.T), 20].sum()
    return total


def _is_whole(numbers: npt.NDArray[np.number]) -> npt.NDArray[np.bool_]:
    """Where one chunk covers both texts."""
    return (numbers[20] == 1) & (numbers[21] == numbers[0]) & (numbers[22] == numbers[1])


def _share(numbers: Floats, side: int, language: Language) -> Floats:
    """Weighted share of one side's words that are matched, in the order of the Java program's additions; 0 of none."""
    weighted, delta = np.zeros(numbers.shape[1]), language.delta
    for first, worth in ((4, delta), (6, 1.0 - delta)):
        for kind, weight in enumerate(language.weights):
            weighted += numbers[first + 4 * kind + side] * weight * worth
    length = delta * (numbers[side] - numbers[2 + side]) + (1.0 - delta) * numbers[2 + side]
    return np.divide(weighted, length, out=np.zeros_like(length), where=length > 0)


def _power(values: Floats, exponent: float) -> Floats:
    """The values to a power, by `math.pow`: NumPy's differs in the last digit from the C library's."""
    distinct, number = np.unique(values, return_inverse=True)
    return np.array([math.pow(value, exponent) for value in distinct.tolist()])[number]


def _batches(
    texts: Sequence[Sequence[str]], lengths: Ints, hypothesis: Ints, reference: Ints
) -> Iterator[tuple[int, int]]:
    """Ranges of pairs that are aligned at once: bounded in pairs, in cells, and in distinct words."""
    cells = np.cumsum(lengths[hypothesis] * lengths[reference])
    begin = 0
    while begin < len(cells):
        before = cells[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(cells, before + MAX_CELLS)))
        end = min(end, begin + MAX_PAIRS, len(cells))
        while end > begin + 1 and _n_words(texts, hypothesis[begin:end], reference[begin:end]) > MAX_WORDS:
            end = begin + (end - begin) // 2
        yield begin, end
        begin = end


def _n_words(texts: Sequence[Sequence[str]], hypothesis: Ints, reference: Ints) -> int:
    """Number of distinct words of the pairs."""
    used = np.unique(np.append(hypothesis, reference)).tolist()
    return len(set().union(*(texts[i] for i in used)))


def _batch_statistics(texts: EncodedTexts, hypothesis: Ints, reference: Ints) -> Ints:
    """Statistics of pairs: array (n_pairs, 23)."""
    n_pairs = len(hypothesis)
    lengths = np.diff(texts.first_word)
    matches, coverage = _matches(texts, hypothesis, reference)
    is_open = np.bincount(matches.pair, ~matches.is_fixed, n_pairs) > 0
    _check_at_most(np.bincount(matches.pair, minlength=n_pairs), MOST_MATCHES)
    chosen, chunks = _choose(matches, coverage, lengths[reference], is_open)
    statistics = np.zeros((n_pairs, len(STATISTICS)), np.int64)
    pair, kind = matches.pair[chosen], matches.kind[chosen]
    statistics[:, 20] = chunks
    sides = (
        (hypothesis, matches.hypothesis_start[chosen], matches.hypothesis_length[chosen]),
        (reference, matches.reference_start[chosen], matches.reference_length[chosen]),
    )
    for side, (text, start, length) in enumerate(sides):
        first = texts.first_word[text]
        statistics[:, side] = lengths[text]
        statistics[:, 2 + side] = texts.n_function[first + lengths[text]] - texts.n_function[first]
        position = first[pair] + start
        n_function = texts.n_function[position + length] - texts.n_function[position]
        for column, number in ((4 + side, length - n_function), (6 + side, n_function)):
            counts = np.bincount(pair * 4 + kind, number, n_pairs * 4).astype(np.int64)
            statistics[:, column:20:4] = counts.reshape(n_pairs, 4)
        statistics[:, 21 + side] = np.bincount(pair, length, n_pairs).astype(np.int64)
    return statistics


def _matches(texts: EncodedTexts, hypothesis: Ints, reference: Ints) -> tuple[Matches, Ints]:
    """All candidates of a match of the pairs, and how many cover each reference word, pair after pair."""
    lengths, n_units = np.diff(texts.first_word), np.diff(texts.first_unit)
    # One line per unit of a reference, with a cell per unit of the hypothesis.
    line_pair = np.repeat(np.arange(len(hypothesis)), n_units[reference])
    line_unit = _ranges(texts.first_unit[reference], n_units[reference])
    width = n_units[hypothesis][line_pair]
    line_end = np.cumsum(width)
    column = np.arange(line_end[-1] if len(line_end) else 0)
    column += np.repeat(texts.first_unit[hypothesis][line_pair] - line_end + width, width)
    row = texts.unit[line_unit] * texts.relation.shape[1]
    relation = texts.relation.ravel()[np.repeat(row, width) + texts.unit[column]]
    cell = np.flatnonzero(relation)
    line = np.searchsorted(line_end, cell, side="right")
    pair, reference_unit, hypothesis_unit, relation = line_pair[line], line_unit[line], column[cell], relation[cell]
    # Between texts of equal words nothing but these counts.
    is_same = texts.content[hypothesis] == texts.content[reference]
    relation &= np.where(is_same[pair], EXACT, 255).astype(np.uint8)

    first_place = np.cumsum(lengths[reference]) - lengths[reference]
    numbers, keys, kinds = [], [], []
    for way, (bit, number) in enumerate(WAYS):
        these = np.flatnonzero(relation & bit)
        numbers.append(these)
        kinds.append(np.full(len(these), number))
        units = reference_unit[these], hypothesis_unit[these]
        position = first_place[pair[these]] + texts.start[units[0]]
        keys.append(_order_keys(texts, bit, way, position, *units))
    which = np.concatenate(numbers)
    order = np.lexsort(np.concatenate(keys, axis=1))
    which, kind = which[order], np.concatenate(kinds)[order]
    pair, units = pair[which], (reference_unit[which], hypothesis_unit[which])
    spans = [texts.start[units[0]], texts.length[units[0]], texts.start[units[1]], texts.length[units[1]]]
    is_fixed, coverage = _find_fixed(pair, spans, lengths[reference], lengths[hypothesis])
    return Matches(pair, spans[0], spans[1], spans[2], spans[3], kind, is_fixed), coverage


def _order_keys(
    texts: EncodedTexts, bit: int, way: int, position: Ints, reference_unit: Ints, hypothesis_unit: Ints
) -> Ints:
    """Keys that sort matches as the search tries them, the last one first: array (2, n_matches)."""
    start = texts.start[hypothesis_unit]
    inner = start
    if bit in (OF_REFERENCE, OF_HYPOTHESIS):
        ends = (reference_unit, hypothesis_unit) if bit == OF_REFERENCE else (hypothesis_unit, reference_unit)
        source, target = texts.unit[ends[0]], texts.unit[ends[1]]
        rank = texts.paraphrase_ranks[np.searchsorted(texts.paraphrase_keys, source * len(texts.relation) + target)]
        length = texts.length[ends[0]]
        if bit == OF_REFERENCE:
            inner = (length << PLACE_BITS | rank) << PLACE_BITS | start
        else:
            inner = (start << PLACE_BITS | length) << PLACE_BITS | rank
    return np.stack([inner, position << 3 | way])


def _ranges(first: Ints, size: Ints) -> Ints:
    """Whole numbers from `first`, `size` of them, range after range."""
    end = np.cumsum(size)
    return np.repeat(first - end + size, size) + np.arange(end[-1] if len(end) else 0)


def _find_fixed(
    pair: Ints, spans: Sequence[Ints], reference_length: Ints, hypothesis_length: Ints
) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Which matches are the only ones that touch their words; and the number of matches on each reference word."""
    is_fixed = np.ones(len(pair), bool)
    coverages = []
    for start, length, text_length in ((*spans[:2], reference_length), (*spans[2:], hypothesis_length)):
        n_places = int(text_length.sum())
        position = (np.cumsum(text_length) - text_length)[pair] + start
        coverage = np.bincount(position, minlength=n_places)
        for k in range(1, int(length.max(initial=0))):
            coverage += np.bincount(position[length > k] + k, minlength=n_places)
        total = np.append(0, np.cumsum(coverage))
        is_fixed &= total[position + length] - total[position] == length
        coverages.append(coverage)
    return is_fixed, coverages[0]


def _choose(
    matches: Matches, coverage: Ints, reference_length: Ints, is_open: npt.NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """The matches of the alignments, and the chunks of each pair; pairs with fixed matches alone need no search."""
    n_pairs = len(is_open)
    chunks = _chunks_of_fixed(matches, n_pairs)
    chosen = np.flatnonzero(~is_open[matches.pair])
    opened = np.flatnonzero(is_open)
    if not len(opened):
        return chosen, chunks
    number = np.cumsum(is_open) - 1
    open_matches = np.flatnonzero(is_open[matches.pair])
    own = take_matches(matches, open_matches)
    own = own._replace(pair=number[own.pair])
    places = _ranges((np.cumsum(reference_length) - reference_length)[opened], reference_length[opened])
    best, chunks[opened] = search(own, _starts(own, coverage[places], reference_length[opened]), len(opened))
    return np.append(chosen, open_matches[best]), chunks


def _chunks_of_fixed(matches: Matches, n_pairs: int) -> Ints:
    """Runs of matches adjacent in both texts, for pairs that take all their matches."""
    goes_on = (
        (matches.pair[1:] == matches.pair[:-1])
        & (matches.reference_start[1:] == matches.reference_start[:-1] + matches.reference_length[:-1])
        & (matches.hypothesis_start[1:] == matches.hypothesis_start[:-1] + matches.hypothesis_length[:-1])
    )
    is_new = np.append(True, ~goes_on)[: len(matches.pair)]
    return np.bincount(matches.pair, is_new, n_pairs).astype(np.int64)


def _starts(matches: Matches, coverage: Ints, reference_length: Ints) -> Starts:
    """Reference words at which a path can change: covered ones, and the one behind, where a chunk ends.

    At any other word every path skips it and has no open chunk, so that nothing changes.
    """
    first_place = np.cumsum(reference_length) - reference_length
    covered = coverage > 0
    behind = np.append(False, covered[:-1])
    behind[first_place[reference_length > 0]] = False
    position = np.flatnonzero(covered | behind)
    pair = np.repeat(np.arange(len(reference_length)), reference_length)[position]
    n_matches = np.bincount(first_place[matches.pair] + matches.reference_start, minlength=len(coverage))
    first_match = np.cumsum(n_matches) - n_matches
    return Starts(pair, position - first_place[pair], first_match[position], n_matches[position])


def meteor15_scores(rows: Sequence[Sequence[Sequence[str]]], lexicon: Meteor15Lexicon) -> list[np.ndarray]:
    """Score every text of a row as a hypothesis against every text of the row as its only reference.

    For each row a float64 array, shape (n_texts, n_texts), 0 (no match) to 1; [i, j] has text i as the reference and
    text j as the hypothesis.
    """
    numbers: dict[str, int] = {}
    texts = [[numbers.setdefault(" ".join(tokens), len(numbers)) for tokens in row] for row in rows]
    words = [lexicon.words(text) for text in numbers]
    references = np.concatenate([np.repeat(row, len(row)) for row in texts])
    hypotheses = np.concatenate([np.tile(row, len(row)) for row in texts])
    values = scores(pair_statistics(words, hypotheses, references, lexicon), lexicon.data.language)
    cells_of_row = np.split(values, np.cumsum([len(row) ** 2 for row in rows])[:-1])
    return [cells.reshape(len(row), len(row)) for cells, row in zip(cells_of_row, rows, strict=True)]


# Pairs of a candidate and a reference whose statistics are held at once: 10 MB.
PAIRS_PER_BATCH = 57_600


def check_meteor15_tokenizer(tokenizer: object) -> None:
    """Raise unless `tokenizer` is "raw", another name of a tokenizer, or a function."""
    if not isinstance(tokenizer, str) or tokenizer != "raw":
        check_tokenizer(tokenizer, ("raw",))


def best_statistics(
    candidates: CaptionRows,
    references: CaptionRows,
    lexicon: Meteor15Lexicon,
    progress: Callable[..., Iterable[Any]],
    tokenizer: Tokenizer = "raw",
) -> Ints:
    """Align every candidate with all references of its row, and keep the statistics against the best one.

    `tokenizer` is "raw" for the texts as they are, or a tokenizer, whose tokens are joined by spaces; no reference is
    empty; `progress` wraps the batches, as `tqdm` does. Returns an int64 array, shape (n_candidates in all, 23), row
    after row: statistics against the reference with the highest score, the first among equals.
    """
    batches = list(_row_batches(candidates, references))
    return np.concatenate(
        [
            _best_of_batch(candidates[begin:end], references[begin:end], lexicon, tokenizer)
            for begin, end in progress(batches, desc="rows", unit="batch", delay=1)
        ]
    )


def _row_batches(candidates: CaptionRows, references: CaptionRows) -> Iterator[tuple[int, int]]:
    """Ranges of rows of bounded numbers of pairs."""
    begin = n_pairs = 0
    for i, (texts, others) in enumerate(zip(candidates, references, strict=True)):
        if i > begin and n_pairs + len(texts) * len(others) > PAIRS_PER_BATCH:
            yield begin, i
            begin, n_pairs = i, 0
        n_pairs += len(texts) * len(others)
    yield begin, len(candidates)


def _best_of_batch(
    candidates: CaptionRows, references: CaptionRows, lexicon: Meteor15Lexicon, tokenizer: Tokenizer
) -> Ints:
    """Statistics of the candidates of some rows against their best references."""
    numbers: dict[str, int] = {}
    hypothesis, reference, n_references = [], [], []
    for texts, others in zip(candidates, references, strict=True):
        row_references = [numbers.setdefault(text, len(numbers)) for text in others]
        for text in texts:
            hypothesis += [numbers.setdefault(text, len(numbers))] * len(row_references)
            reference += row_references
            n_references.append(len(row_references))
    distinct = numbers if tokenizer == "raw" else map(" ".join, tokenize_rows([list(numbers)], tokenizer)[0])
    words = [lexicon.words(text) for text in distinct]
    statistics = pair_statistics(words, hypothesis, reference, lexicon)
    return statistics[first_largest(scores(statistics, lexicon.data.language), np.array(n_references))]


def meteor15(
    candidates: TokenRows,
    references: TokenRows,
    meteor15_data: str | os.PathLike[str] | None = None,
    *,
    language: str = "en",
    function_words: str = "english",
    paraphrases: str | os.PathLike[str] | None = None,
) -> Floats:
    """Score the candidates of every row against all references of the row by METEOR 1.5, as captioning papers do.

    F (1 - 0.6 (chunks / matches)^0.2), F = 1 / (0.15 / P + 0.85 / R) in English, of matches by form, stem, synonyms and
    paraphrases, against the best reference; mean over the candidates (Denkowski and Lavie 2014,
    https://aclanthology.org/W14-3348). The score of a corpus is another one, which the module `meteor15` has.

    Args:
        candidates: n_rows lists of token lists, at least one text per row; METEOR 1.5 splits the tokens, joined by
            spaces, into words of its own.
        references: the same for the references.
        meteor15_data: path of meteor-1.5.jar, or of a folder that holds it; None for pycocoevalcap's.
        language: "en", "de", "fr", "es", "cs" or "ru".
        function_words: "english", as the Java program has them for every language, or "language" for its own.
        paraphrases: path of a table such as paraphrase-de.gz; None for the one beside the program, without which other
            languages than English match words by form and stem alone.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to 1 (best).

    Raises:
        TypeError: a text is not a list of tokens, or the data are not given as a path.
        ValueError: the columns differ in length, a row has no text on one side, or the data are missing.
        ImportError: pycocoevalcap is needed and not installed.

    >>> meteor15([[["a", "man", "watches", "a", "film"]]], [[["a", "man", "watches", "a", "movie"]]]).round(4).tolist()
    [0.9455]
    """
    check_data_source(meteor15_data)
    check_language(language, function_words, paraphrases)
    texts, others = (
        [[" ".join(tokens) for tokens in row] for row in column] for column in as_both_rows(candidates, references)
    )
    lexicon = load_lexicon(meteor15_data, tqdm, language, function_words, paraphrases)
    statistics = best_statistics(texts, others, lexicon, lambda batches, **_: batches)
    per_candidate = scores(statistics, lexicon.data.language)
    return np.array(row_means(per_candidate, [len(row) for row in texts]))
