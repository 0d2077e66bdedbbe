"""EMScore from features of frames and tokens (Shi et al., 2022; Sarto et al., 2023, equations 7-8): NumPy only."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .shared_long_captions import mean_direction

# How the scores of several references become one.
REFERENCE_AGGREGATIONS = ("authors", "equation_8")

# Frames compared with the tokens at once: 4096 x 768 x 8 bytes = 25 MB, however long the video is.
FRAMES_AT_ONCE = 4096


class Text(NamedTuple):
    """A caption as the matching needs it."""

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
        """Return the mean of the coarse and each fine value, and these four, by name; that of F is the score."""
        parts = {"emscore_pac": self.fine_f, "full_precision": self.fine_precision, "full_recall": self.fine_recall}
        return {name: (self.coarse + part) / 2 for name, part in parts.items()} | self._asdict()


def match_video(caption: Text, frames: np.ndarray) -> Match:
    """Match a caption with a video.

    The cosines c_ij of token i and frame j give P = sum_i w_i max_j c_ij / sum_i w_i and R = mean_j max_i c_ij; the
    coarse value is the cosine of the end token with the mean of the unit frame features (Shi et al., 2022, section 3,
    https://arxiv.org/abs/2111.08919). There is no padding, so a negative cosine stays what it is: the authors' program
    pads a batch with zeros, which win over negative cosines.

    Args:
        caption: tokens and weights.
        frames: float array, shape (n_frames, d), at least one row, no zero rows.

    Returns:
        The four values; coarse is NaN where the unit frame features cancel out, F where P + R is 0.

    >>> caption = Text(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2))
    >>> match_video(caption, np.array([[0.0, 2.0]]))
    Match(coarse=1.0, fine_precision=0.5, fine_recall=1.0, fine_f=0.6666666666666666)
    """
    tokens = unit_rows(caption.tokens)  # (n_tokens, d)
    best_frame = np.full(len(tokens), -np.inf)
    best_tokens, total = [], np.zeros(tokens.shape[1])
    for start in range(0, len(frames), FRAMES_AT_ONCE):
        block = unit_rows(frames[start : start + FRAMES_AT_ONCE])
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

    Args:
        caption: tokens and weights.
        reference: tokens and weights.

    Returns:
        The four values; F is NaN where P + R is 0.

    >>> caption = Text(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2))
    >>> match_reference(caption, caption)
    Match(coarse=1.0, fine_precision=1.0, fine_recall=1.0, fine_f=1.0)
    """
    cosines = unit_rows(caption.tokens) @ unit_rows(reference.tokens).T  # (n_tokens, n_reference_tokens)
    precision = _weighted_mean(cosines.max(axis=1), caption.weights)
    recall = _weighted_mean(cosines.max(axis=0), reference.weights)
    return _match(float(_whole(caption) @ _whole(reference)), precision, recall)


def closest_reference(matches: Sequence[Match], aggregation: str) -> Match:
    """Reduce the matches with several references to one.

    "authors" takes the largest of each of the four values by itself, as their program does: then F need not be the
    harmonic mean of the P and R beside it, and the parts may come from different references. "equation_8" takes the
    reference with the largest whole score, (coarse + F) / 2, the first of several such (Sarto et al., 2023,
    equation 8, https://arxiv.org/abs/2303.12112).

    Args:
        matches: one for each reference, at least one.
        aggregation: one of `REFERENCE_AGGREGATIONS`.

    Returns:
        The four values.

    >>> closest_reference([Match(0.5, 0.2, 0.2, 0.2), Match(0.1, 0.4, 0.4, 0.4)], "authors")
    Match(coarse=0.5, fine_precision=0.4, fine_recall=0.4, fine_f=0.4)
    >>> closest_reference([Match(0.5, 0.2, 0.2, 0.2), Match(0.1, 0.4, 0.4, 0.4)], "equation_8")
    Match(coarse=0.5, fine_precision=0.2, fine_recall=0.2, fine_f=0.2)
    """
    if aggregation == "authors":
        return Match(*np.array(matches).max(axis=0).tolist())
    return matches[int(np.argmax([match.coarse + match.fine_f for match in matches]))]


def combined_match(video: Match, reference: Match) -> Match:
    """Mean of both sides, value by value: EMScore(X, V, X*).

    >>> combined_match(Match(0.5, 0.5, 0.5, 0.5), Match(1.0, 0.0, 0.0, 0.0))
    Match(coarse=0.75, fine_precision=0.25, fine_recall=0.25, fine_f=0.25)
    """
    return Match(*((a + b) / 2 for a, b in zip(video, reference, strict=True)))


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors in float64.

    >>> unit_rows(np.array([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
    vectors = np.asarray(vectors, np.float64)  # (n, d)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def text_of_windows(windows: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Text:
    """Put the windows in which a caption was read together.

    Args:
        windows: float arrays, shape (n_tokens, d), one for each window, start and end token included.
        weights: float64 arrays, shape (n_tokens,), of their tokens.

    Returns:
        The caption with the tokens of all windows. The whole of several is the mean of their unit end tokens.

    >>> two = text_of_windows([np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 1.0]])], [np.ones(2), np.ones(1)])
    >>> two.tokens.shape, two.whole.tolist()
    ((3, 2), [0.5, 0.5])
    """
    if len(windows) == 1:
        return Text(windows[0], weights[0])
    whole = mean_direction(np.stack([tokens[-1] for tokens in windows]))
    return Text(np.concatenate(windows), np.concatenate(weights), whole)


def _whole(caption: Text) -> np.ndarray:
    """Unit vector of a whole caption."""
    vector: np.ndarray = unit_rows((caption.tokens[-1] if caption.whole is None else caption.whole)[None])[0]
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
