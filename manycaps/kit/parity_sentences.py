"""Human parity by sentences: the division into them, how far each is from other texts, and what they leave out."""

import importlib.metadata
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sentencex

from .arrays import Floats, Ints, plain_arguments
from .errors import InputError, InputTypeError, quote_value
from .options import Option
from .parity_tails import BLOCK_VALUES, Distances
from .vectors_rows import cosine_similarities, distances_from_cosines

# --------------------------------------------------------------------------------------------------------------------
# Rules of Wikimedia's sentencex: a mark of the language ends a sentence, unless it belongs to an abbreviation, a
# number, a quotation or a bracket; so do an empty line and an item of a list. It has no model to load, divides a
# million captions per second, and joins rather than cuts where it is in doubt. Beside it were tried pysbd (last release
# of 2021; 300 times slower; cuts "El Sr. García"), blingfire (cuts quotations in brackets; no rules per language),
# syntok (knows no Chinese or Japanese), and NLTK's punkt and spaCy's pipelines, which need a download.

# A letter of any script.
LETTER = re.compile(r"[^\W\d_]")

# A text that is one quotation: the quotes belong to its first and last sentence, and do not hold it together.
QUOTATION = re.compile(r"(\s*[\"'“‘«「]+)((?:[^\"“”«»「」'’]|(?<=\w)['’](?=\w))+)([\"'”’»」]+\s*)")

# A text of words and commas, with one mark at its end: one sentence in every language.
PLAIN = re.compile(r"[\w ,]*[.!?]?")

# Code of a language, with or without a region: "en", "pt-BR", "zh_Hant".
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


def check_language(name: str, language: object) -> None:
    """Raise unless `language` is a code as of ISO 639."""
    advice = "Give the code of the captions' language, such as 'en', 'de' or 'zh'."
    if not isinstance(language, str):
        raise InputTypeError(name, "a language code", quote_value(language), advice)
    if not LANGUAGE_CODE.fullmatch(language):
        raise InputError(name, "a language code of two or three letters", quote_value(language), advice)


LANGUAGE: dict[str, Option] = {
    "language": Option(
        "en",
        check_language,
        'Code of the language whose rules divide texts into sentences (ISO 639, such as `"de"` or `"zh"`): '
        "abbreviations, and marks at the end of a sentence. Unknown ones have the rules of English.",
    )
}


def sentence_pieces(text: str, language: str = "en") -> list[str]:
    r"""Cut a text into its sentences with the blanks around them: joined, the pieces are the text.

    A piece without a letter, such as the number of a list's item or a lone full stop, belongs to the next sentence, or
    at the end to the last one. There is at least one piece, even of an empty text.

    >>> sentence_pieces("1. A dog runs at 5 p.m. It is wet!\n")
    ['1. A dog runs at 5 p.m. ', 'It is wet!\n']
    >>> sentence_pieces("")
    ['']
    """
    if PLAIN.fullmatch(text):
        return [text]
    quotation = QUOTATION.fullmatch(text)
    begin, inside, end = quotation.groups() if quotation else ("", text, "")
    pieces: list[str] = []
    waiting = begin
    for piece in sentencex.segment(re.split("[-_]", language)[0].lower(), inside):
        waiting += piece
        if LETTER.search(piece):
            pieces.append(waiting)
            waiting = ""
    if not pieces:
        return [text]
    pieces[-1] += waiting + end
    return pieces


@plain_arguments
def split_sentences(texts: Sequence[str], language: str = "en") -> list[list[str]]:
    r"""Divide texts into sentences, without the blanks around them.

    A caption without a full stop is one sentence, and so is a text without any word. Rules:
    https://github.com/wikimedia/sentencex.

    Args:
        texts: n texts.
        language: ISO code of the language whose rules are used; unknown ones have the rules of English.

    Returns:
        n lists of at least one sentence each.

    Raises:
        TypeError, ValueError: the language is no code.

    >>> split_sentences(["a dog runs", "Dr. Li paid $3.50. 'Stop!' he said.", "狗在跑。它很湿！", ""])
    [['a dog runs'], ['Dr. Li paid $3.50.', "'Stop!' he said."], ['狗在跑。', '它很湿！'], ['']]
    """
    check_language("language", language)
    return [[piece.strip() for piece in sentence_pieces(text, language)] for text in texts]


def sentence_rules(language: str) -> str:
    """Return the name of the rules, with their version, for signatures."""
    return f"sentencex-{importlib.metadata.version('sentencex')}/{language}"


# --------------------------------------------------------------------------------------------------------------------
# The support of a sentence u in a text t is its distance to the nearest span of t:
#
#     w(u, t) = min over spans s of t of d(u, s)
#
# Spans are the sentences of t, its pairs of neighbouring sentences, and t as a whole: how people divide what they say
# into sentences makes no difference then. A caption of one sentence has one span, itself, so that w is the distance of
# captions. Of these, two means compare a text with the references of its row:
#
#     unsupported, of a sentence u:  mean over references r of w(u, r)
#     omitted, of a text t:          mean over references r of mean over sentences u of r of w(u, t)
#
# People's own value is by the same rule: a reference r_j beside the other ones S_j = R \ {r_j}. A candidate stands
# beside each S_j in turn. Given S_j, a candidate that a person wrote and r_j are exchangeable, so that both values
# have one distribution, whatever the numbers of captions and the lengths of texts (see `parity_tails`). The slow
# version is in tests/oracles/faults_loop.py.


class Spans(NamedTuple):
    """The spans of a text."""

    n_sentences: int
    # The sentences, then the pairs of neighbours, then the whole text, each once.
    texts: list[str]


def text_spans(text: str, language: str = "en") -> Spans:
    """Divide a text into its spans.

    >>> text_spans("A dog. A cat. It rains.").texts
    ['A dog.', 'A cat.', 'It rains.', 'A dog. A cat.', 'A cat. It rains.', 'A dog. A cat. It rains.']
    >>> text_spans("a dog")
    Spans(n_sentences=1, texts=['a dog'])
    """
    pieces = sentence_pieces(text, language)
    if len(pieces) == 1:
        return Spans(1, [text])
    pairs = [first + second for first, second in itertools.pairwise(pieces)]
    whole = [text] if len(pieces) > 2 else []
    return Spans(len(pieces), [*(span.strip() for span in [*pieces, *pairs]), *whole])


def are_single_sentences(texts: Iterable[str], language: str) -> bool:
    """Return whether every text is one sentence.

    >>> are_single_sentences(["a dog", "It rains."], "en"), are_single_sentences(["A dog. A cat."], "en")
    (True, False)
    """
    return all(len(sentence_pieces(text, language)) == 1 for text in itertools.filterfalse(PLAIN.fullmatch, set(texts)))


class RowSpans(NamedTuple):
    """The spans of all texts of a row, candidates first."""

    n_candidates: int
    # Of every text its number of sentences, and how many spans it has.
    n_sentences: list[int]
    n_spans: list[int]
    # The spans, text by text.
    texts: list[str]

    @property
    def sentences(self) -> list[int]:
        """Places of the sentences among the spans, text by text."""
        places: list[int] = []
        first = 0
        for n_sentences, n_spans in zip(self.n_sentences, self.n_spans, strict=True):
            places += range(first, first + n_sentences)
            first += n_spans
        return places


def row_spans(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], language: str
) -> list[RowSpans]:
    """Divide the texts of n_rows rows, each distinct text once."""
    known: dict[str, Spans] = {}
    rows = []
    for candidates, people in zip(predictions, references, strict=True):
        spans = []
        for text in (*candidates, *people):
            if text not in known:
                known[text] = text_spans(text, language)
            spans.append(known[text])
        texts = [span for each in spans for span in each.texts]
        counts = [each.n_sentences for each in spans], [len(each.texts) for each in spans]
        rows.append(RowSpans(len(candidates), *counts, texts))
    return rows


def nearest_span(row: RowSpans, distances: np.ndarray, sentence: int) -> str:
    """Return the span of the references that is nearest to a sentence of a row.

    `distances` is float64, shape (n_sentences, n_spans), of the row's sentences from all of its spans.
    """
    first = sum(row.n_spans[: row.n_candidates])
    return row.texts[first + int(distances[sentence, first:].argmin())]


class SupportBlock(NamedTuple):
    """Support of the sentences of rows of equal sizes, padded to the most sentences of a text."""

    # Indices of the rows, shape (n_rows,).
    rows: Ints
    n_candidates: int
    # Shape (n_rows, n_texts): number of sentences of each text, candidates first.
    n_sentences: Ints
    # float64, shape (n_rows, n_texts, most_sentences, n_texts): of each sentence in each text; 0 in its own, and in the
    # places of sentences that a text has not.
    support: Floats

    @property
    def is_sentence(self) -> np.ndarray:
        """Which places are sentences, shape (n_rows, n_texts, most_sentences)."""
        return np.asarray(np.arange(self.support.shape[2]) < self.n_sentences[..., None])

    def left_out(self) -> "SupportBlock":
        """Return what is left out, as support of texts of one sentence: the same rules measure both.

        The value of text t in text r is the mean over the sentences u of r of w(u, t).
        """
        means = self.support.sum(axis=2) / self.n_sentences[..., None]  # (n_rows, n_texts, n_texts)
        return SupportBlock(
            self.rows, self.n_candidates, np.ones_like(self.n_sentences), means.swapaxes(1, 2)[:, :, None, :]
        )


class SideValues(NamedTuple):
    """Values of one side, candidates or people, of all rows; arrays of shape (n_values,)."""

    values: Floats
    # Weights within each row, which add up to 1.
    weights: Floats
    rows: Ints
    # The number of the text in its side, and of the sentence in its text.
    texts: Ints
    sentences: Ints

    def row_means(self, shares: Floats, n_rows: int) -> Floats:
        """Return the weighted mean over each row of a number for every value: float64, shape (n_rows,)."""
        return np.asarray(np.bincount(self.rows, shares * self.weights, minlength=n_rows), dtype=np.float64)


def _joined(parts: Sequence[SideValues]) -> SideValues:
    return SideValues(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class BothSides(NamedTuple):
    """What is compared of candidates and of people."""

    candidates: SideValues
    people: SideValues


def compared_values(blocks: Iterable[SupportBlock]) -> BothSides:
    """Return the mean support of the sentences of all rows among people's texts, leaving out one of these in turn.

    People: of a sentence of reference j, the mean over the others. Candidates: of each sentence, without each
    reference j. Texts of a row, and sentences of a text, have equal weights.
    """
    candidates, people = [], []
    for block in blocks:
        m, n = block.n_candidates, block.n_sentences.shape[1] - block.n_candidates
        total = block.support[..., m:].sum(axis=3)  # (n_rows, n_texts, most)
        valid = block.is_sentence
        row, text, sentence = np.nonzero(valid[:, m:])
        weights = 1 / (n * block.n_sentences[:, m:])
        values = total[:, m:][row, text, sentence] / (n - 1)
        people.append(SideValues(values, weights[row, text], block.rows[row], text, sentence))
        row, text, sentence = np.nonzero(valid[:, :m])
        weights = 1 / (m * n * block.n_sentences[:, :m])
        without = (total[:, :m, :, None] - block.support[:, :m, :, m:])[row, text, sentence] / (n - 1)  # (k, n)
        numbers = (np.repeat(each, n) for each in (weights[row, text], block.rows[row], text, sentence))
        candidates.append(SideValues(without.ravel(), *numbers))
    return BothSides(_joined(candidates), _joined(people))


class SentenceSupport:
    """The support of the sentences of all rows, in memory."""

    def __init__(self, sizes: Sequence[tuple[int, int]]):
        """Take the numbers of candidates and of references of every row."""
        self.n_rows = len(sizes)
        self._sizes = sizes
        self._by_size: dict[tuple[int, int, int], tuple[list[int], list[list[int]], list[np.ndarray]]] = {}

    def add(self, row: int, n_sentences: Sequence[int], support: np.ndarray) -> None:
        """Take in a row: the sentences of each text, and float64 of shape (n_sentences, n_texts)."""
        key = (*self._sizes[row], max(n_sentences))
        rows, counts, kept = self._by_size.setdefault(key, ([], [], []))
        rows.append(row)
        counts.append(list(n_sentences))
        kept.append(support)

    def blocks(self) -> Iterator[SupportBlock]:
        """Yield all rows, a bounded number of them at once."""
        for (m, n, most), (rows, counts, kept) in sorted(self._by_size.items()):
            step = max(1, BLOCK_VALUES // (most * (m + n) ** 2))
            for start in range(0, len(rows), step):
                n_sentences = np.array(counts[start : start + step])
                support = np.zeros((len(n_sentences), m + n, most, m + n))
                support[np.arange(most) < n_sentences[..., None]] = np.concatenate(kept[start : start + step])
                yield SupportBlock(np.array(rows[start : start + step]), m, n_sentences, support)

    def part(self, chosen: Sequence[int]) -> "SentenceSupport":
        """Return some of the rows, in the order in which they are named."""
        places, part = (
            {row: place for place, row in enumerate(chosen)},
            SentenceSupport([self._sizes[i] for i in chosen]),
        )
        for rows, counts, kept in self._by_size.values():
            for row, n_sentences, support in zip(rows, counts, kept, strict=True):
                if row in places:
                    part.add(places[row], n_sentences, support)
        return part

    @property
    def share_of_long_texts(self) -> float:
        """Mean over rows of the share of people's texts that have several sentences."""
        shares = [
            np.count_nonzero(np.array(counts)[:, m:] > 1) / n for (m, n, _), (_, counts, _) in self._by_size.items()
        ]
        return float(sum(shares)) / self.n_rows

    def candidate_means(self) -> SideValues:
        """Return the mean support of every sentence of the candidates among all references of its row."""
        parts = []
        for block in self.blocks():
            m = block.n_candidates
            row, text, sentence = np.nonzero(block.is_sentence[:, :m])
            means = block.support[:, :m, :, m:].mean(axis=3)[row, text, sentence]
            parts.append(SideValues(means, np.ones(len(row)), block.rows[row], text, sentence))
        return _joined(parts)


class DistanceSupport:
    """The support of texts that are one span each: their distances."""

    def __init__(self, distances: Distances):
        self.n_rows = distances.n_rows
        self._distances = distances

    def blocks(self) -> Iterator[SupportBlock]:
        """Yield all rows, a bounded number of them at once."""
        for block in self._distances.blocks():
            n_sentences = np.ones(block.distances.shape[:2], dtype=np.int64)
            yield SupportBlock(block.rows, block.n_candidates, n_sentences, block.distances[:, :, None, :])


# From the spans of a row to the distances of its sentences from its spans: float64, shape (n_sentences, n_spans).
SpanDistances = Callable[[RowSpans], np.ndarray]


def support_of_row(row: RowSpans, distances: SpanDistances) -> Floats:
    """Return the support of the sentences of a row in its texts: float64, shape (n_sentences, n_texts)."""
    firsts = np.cumsum([0, *row.n_spans[:-1]])
    support: Floats = np.minimum.reduceat(distances(row), firsts, axis=1)
    return support


def sentence_support(
    rows: Sequence[RowSpans], distances: SpanDistances, progress: Callable[..., Iterable[Any]]
) -> SentenceSupport:
    """Compare the sentences of all rows with the spans of each row's texts; `progress` wraps rows, as `tqdm` does."""
    found = SentenceSupport([(row.n_candidates, len(row.n_sentences) - row.n_candidates) for row in rows])
    for number, row in enumerate(progress(rows, desc="sentences", unit="row", delay=1)):
        found.add(number, row.n_sentences, support_of_row(row, distances))
    return found


def distances_of_vectors(rows: Sequence[RowSpans], embed: Callable[[list[str]], np.ndarray]) -> SpanDistances:
    """Embed the spans of all rows, and return their distances, 1 - cosine; `embed` gives vectors, (n_texts, d)."""
    numbers: dict[str, int] = {}
    for row in rows:
        for text in row.texts:
            numbers.setdefault(text, len(numbers))
    vectors = embed(list(numbers))

    def of_row(row: RowSpans) -> np.ndarray:
        own = vectors[[numbers[text] for text in row.texts]].astype(np.float64, copy=False)
        return np.asarray(distances_from_cosines(cosine_similarities(own[None]))[0][row.sentences])

    return of_row


def distances_of_texts(compare: Callable[[list[list[str]]], Sequence[np.ndarray]]) -> SpanDistances:
    """Return the mean distance of both directions, by the distances of all pairs of the texts of rows."""

    def of_row(row: RowSpans) -> np.ndarray:
        (matrix,) = compare([row.texts])
        return np.asarray((matrix + matrix.T)[row.sentences] / 2)

    return of_row
