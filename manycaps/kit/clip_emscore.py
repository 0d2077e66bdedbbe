"""EMScore from features of frames and tokens, and the weights of tokens."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .errors import InputError, quote_value
from .files import check_count_table, read_count_table
from .vectors_sentences import mean_direction, unit_vectors

# Ways to reduce the scores of several references to one.
REFERENCE_AGGREGATIONS = ("authors", "equation_8")

# Frames compared with the tokens at once: 4096 x 768 x 8 bytes = 25 MB, however long the video is.
FRAMES_AT_ONCE = 4096


class Text(NamedTuple):
    """A caption, ready for matching."""

    # float array, shape (n_tokens, d), start and end token included; no zero rows.
    tokens: np.ndarray
    # float64 array, shape (n_tokens,), at least 0, not all 0.
    weights: np.ndarray
    # float array, shape (d,), not 0: the whole caption where it was read in several windows; None for its end token.
    whole: np.ndarray | None = None


class Match(NamedTuple):
    """How well one caption matches one video, or one reference."""

    # Cosine of the whole caption and the whole video, -1 to 1.
    coarse: float
    # Weighted mean over the caption's tokens of the cosine with the best frame, -1 to 1.
    fine_precision: float
    # Mean over the frames of the cosine with the best token, -1 to 1.
    fine_recall: float
    # 2 P R / (P + R); without bounds where P and R have opposite signs.
    fine_f: float

    def values(self) -> dict[str, float]:
        """Return the mean of the coarse and each fine value, and these four, by name; the mean with F is the score."""
        parts = {"emscore_pac": self.fine_f, "full_precision": self.fine_precision, "full_recall": self.fine_recall}
        return {name: (self.coarse + part) / 2 for name, part in parts.items()} | self._asdict()


def match_video(caption: Text, frames: np.ndarray) -> Match:
    """Match a caption with a video.

    The cosines c_ij of token i and frame j give P = sum_i w_i max_j c_ij / sum_i w_i and R = mean_j max_i c_ij; the
    coarse value is the cosine of the end token with the mean of the unit frame features (Shi et al., 2022, section 3,
    https://arxiv.org/abs/2111.08919). There is no padding, so a negative cosine stays what it is: the authors' program
    pads a batch with zeros, which win over negative cosines. Coarse is NaN where the unit frame features cancel out, F
    where P + R is 0.

    Args:
        caption: tokens and weights.
        frames: float array, shape (n_frames, d), at least one row, no zero rows.

    >>> caption = Text(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2))
    >>> match_video(caption, np.array([[0.0, 2.0]]))
    Match(coarse=1.0, fine_precision=0.5, fine_recall=1.0, fine_f=0.6666666666666666)
    """
    tokens = unit_vectors(caption.tokens)  # (n_tokens, d)
    best_frame = np.full(len(tokens), -np.inf)
    best_tokens, total = [], np.zeros(tokens.shape[1])
    for start in range(0, len(frames), FRAMES_AT_ONCE):
        block = unit_vectors(frames[start : start + FRAMES_AT_ONCE])
        cosines = tokens @ block.T  # (n_tokens, n_block)
        np.maximum(best_frame, cosines.max(axis=1), out=best_frame)
        best_tokens.append(cosines.max(axis=0))
        total += block.sum(axis=0)
    recall = float(np.concatenate(best_tokens).mean())
    length = np.linalg.norm(total)
    coarse = float(_whole(caption) @ total / length) if length > 0 else float("nan")
    return _match(coarse, _weighted_mean(best_frame, caption.weights), recall)


def match_reference(caption: Text, reference: Text) -> Match:
    """Match a caption with a reference caption: its tokens in place of the frames, both sides weighted.

    F is NaN where P + R is 0.

    >>> caption = Text(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2))
    >>> match_reference(caption, caption)
    Match(coarse=1.0, fine_precision=1.0, fine_recall=1.0, fine_f=1.0)
    """
    cosines = unit_vectors(caption.tokens) @ unit_vectors(reference.tokens).T  # (n_tokens, n_reference_tokens)
    precision = _weighted_mean(cosines.max(axis=1), caption.weights)
    recall = _weighted_mean(cosines.max(axis=0), reference.weights)
    return _match(float(_whole(caption) @ _whole(reference)), precision, recall)


def closest_reference(matches: Sequence[Match], aggregation: str) -> Match:
    """Reduce the matches with several references to one.

    "authors" takes the largest of each of the four values by itself, as their program does: then F need not be the
    harmonic mean of the P and R beside it, and the parts may come from different references. "equation_8" takes the
    reference with the largest whole score, (coarse + F) / 2, the first of several such (Sarto et al., 2023,
    equation 8, https://arxiv.org/abs/2303.12112).

    >>> closest_reference([Match(0.5, 0.2, 0.2, 0.2), Match(0.1, 0.4, 0.4, 0.4)], "authors")
    Match(coarse=0.5, fine_precision=0.4, fine_recall=0.4, fine_f=0.4)
    >>> closest_reference([Match(0.5, 0.2, 0.2, 0.2), Match(0.1, 0.4, 0.4, 0.4)], "equation_8")
    Match(coarse=0.5, fine_precision=0.2, fine_recall=0.2, fine_f=0.2)
    """
    if aggregation == "authors":
        return Match(*np.array(matches).max(axis=0).tolist())
    return matches[int(np.argmax([match.coarse + match.fine_f for match in matches]))]


def combined_match(video: Match, reference: Match) -> Match:
    """Return the mean of both sides, value by value: EMScore(X, V, X*)."""
    return Match(*((a + b) / 2 for a, b in zip(video, reference, strict=True)))


def text_of_windows(windows: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Text:
    """Put the windows in which a caption was read together.

    `windows` are float arrays, shape (n_tokens, d), start and end token included; `weights` are float64, shape
    (n_tokens,).

    >>> two = text_of_windows([np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 1.0]])], [np.ones(2), np.ones(1)])
    >>> two.tokens.shape, two.whole.tolist()
    ((3, 2), [0.5, 0.5])
    """
    if len(windows) == 1:
        return Text(windows[0], weights[0])
    whole = mean_direction(np.stack([tokens[-1] for tokens in windows]))
    return Text(np.concatenate(windows), np.concatenate(weights), whole)


def _whole(caption: Text) -> np.ndarray:
    vector: np.ndarray = unit_vectors((caption.tokens[-1] if caption.whole is None else caption.whole)[None])[0]
    return vector


def match_columns(matches: Sequence[Match], prefix: str = "") -> dict[str, np.ndarray]:
    """Return the values of many matches by name, each as a float64 array.

    >>> columns = match_columns([Match(0.5, 0.25, 1.0, 0.4)], "reference_")
    >>> {name: values.tolist() for name, values in columns.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'reference_emscore_pac': [0.45], 'reference_full_precision': [0.375], 'reference_full_recall': [0.75],
     'reference_coarse': [0.5], 'reference_fine_precision': [0.25], 'reference_fine_recall': [1.0],
     'reference_fine_f': [0.4]}
    """
    rows = [match.values() for match in matches]
    return {prefix + name: np.array([row[name] for row in rows]) for name in rows[0]}


def _match(coarse: float, precision: float, recall: float) -> Match:
    total = precision + recall
    return Match(coarse, precision, recall, 2 * precision * recall / total if total else float("nan"))


def _weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(values @ weights / weights.sum())


# Layout of a table, for messages about a bad one.
TABLE_LAYOUT = '{"n_documents": 8092, "document_frequency": {"dog</w>": 312, ...}}'

# How to make a table, for the messages too.
HOW_TO_MAKE_A_TABLE = "Make one with `manycaps count-token-frequency`."

# What such a table says of its tokenizer.
CLIP_TOKENIZER = "clip"

# Token number with which CLIP's tokenizer fills a text up to 77. The authors count it like any other, so it is in every
# document and weighs nothing; no word ends in this token, it only stands for an exclamation mark inside one.
PADDING = 0


class TokenFrequency(NamedTuple):
    """Number of captions with each token, and the number of all captions."""

    # Without the start token, the end token and the padding, which every caption has.
    counts: Mapping[int, int]
    n_documents: int


class TokenWeights(NamedTuple):
    """Weight of each token."""

    known: Mapping[int, float]
    # Weight of a token that is in no document.
    unseen: float

    def token_weights(self, ids: Sequence[int]) -> np.ndarray:
        """Return the weights of one text's tokens, float64, shape (n_tokens,)."""
        return np.array([self.known.get(i, self.unseen) for i in ids])


# Every token counts the same.
EQUAL_WEIGHTS = TokenWeights({}, 1.0)


def count_tokens(texts: Iterable[Sequence[int]]) -> TokenFrequency:
    """Count in how many texts each token occurs; the start token is first, the end token last.

    >>> count_tokens([(7, 1, 1, 8), (7, 1, 2, 8)])
    TokenFrequency(counts={1: 2, 2: 1}, n_documents=2)
    """
    documents = [set(ids[1:-1]) - {PADDING} for ids in texts]
    return TokenFrequency(dict(Counter(i for document in documents for i in sorted(document))), len(documents))


def inverse_document_frequency(frequency: TokenFrequency, start: int, end: int) -> TokenWeights:
    """Turn counts into weights: log((N + 1) / (c + 1)), after Shi et al. (2022), https://arxiv.org/abs/2111.08919.

    The start token and the padding are in every document and have weight 0. The end token gets the mean weight over
    all types, those two and itself (0) included: the authors' program does so, which makes it one of the largest
    weights in a caption of frequent words.

    >>> weights = inverse_document_frequency(TokenFrequency({1: 1, 2: 3}, 3), start=7, end=8)
    >>> {i: round(weight, 4) for i, weight in weights.known.items()}, round(weights.unseen, 4)
    ({1: 0.6931, 2: 0.0, 0: 0.0, 7: 0.0, 8: 0.1386}, 1.3863)
    """
    n = frequency.n_documents
    known = {i: math.log((n + 1) / (count + 1)) for i, count in frequency.counts.items()}
    known |= {PADDING: 0.0, start: 0.0, end: 0.0}
    known[end] = math.fsum(known.values()) / len(known)
    if known[end] == 0:
        fix = f"Give idf=False, or a table. {HOW_TO_MAKE_A_TABLE}"
        raise InputError("idf", "captions that differ in their words", f"{n} with the same, which have weight 0", fix)
    return TokenWeights(known, math.log(n + 1))


def check_idf(source: object) -> None:
    """Raise unless `source` is True, False, a mapping, or the path of a file that exists; no table is read."""
    if not isinstance(source, bool):
        check_count_table(source, "idf", "True, False, ", HOW_TO_MAKE_A_TABLE)


def _check_of_clip(table: Mapping[str, Any]) -> None:
    """Raise if a table says that its tokens are not CLIP's."""
    made = table.get("tokenizer", CLIP_TOKENIZER)
    if made != CLIP_TOKENIZER:
        raise InputError("idf", "a table of CLIP's tokens", f"one made with {quote_value(made)}", HOW_TO_MAKE_A_TABLE)


def load_token_frequency(
    source: str | os.PathLike[str] | Mapping[str, Any], vocabulary: Mapping[str, int]
) -> TokenFrequency:
    """Read and check a table.

    >>> table = {"n_documents": 2, "document_frequency": {"dog</w>": 1}}
    >>> load_token_frequency(table, {"dog</w>": 1929})
    TokenFrequency(counts={1929: 1}, n_documents=2)
    """
    counts, n_documents = read_count_table(source, "idf", 1, TABLE_LAYOUT, HOW_TO_MAKE_A_TABLE, _check_of_clip)
    for token in counts:
        if token not in vocabulary:
            raise InputError(
                f"idf[{quote_value(token)}]", "a token of CLIP, such as 'dog</w>'", "none", HOW_TO_MAKE_A_TABLE
            )
    return TokenFrequency({vocabulary[token]: count for token, count in counts.items()}, n_documents)
