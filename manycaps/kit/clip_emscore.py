"""EMScore of videos and captions: from columns of videos to features of frames, and the score from frames and tokens.

Each distinct video is decoded and encoded once, and decoded while the model works.
"""

import io
import math
import os
import queue
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .clip_encoder import ClipEncoder
from .clip_model import FeatureError
from .errors import InputError, InputTypeError, quote_value
from .files import check_count_table, read_count_table
from .rows import check_no_table
from .vectors_sentences import mean_direction, unit_vectors
from .videos import EncodedVideo, FrameList, as_video_source, frame_places, iterate_videos, read_pixels, video_key

# Batches of frames that may wait decoded: 2 x 64 x 224 x 224 x 3 bytes = 19 MB with the default batch size.
BATCHES_AHEAD = 2

# Seconds between two checks of a waiting thread whether the column was abandoned.
PATIENCE = 0.1

# Message of a thread that stopped decoding a video because an earlier row failed.
UNWANTED = "unwanted"


def encode_videos(
    encoder: ClipEncoder,
    videos: Iterable[object],
    column: str,
    frames: int | str,
    batch_size: int,
    n_workers: int | None,
) -> list[np.ndarray]:
    """Encode a column of videos as they come; at most a few batches of frames are in memory.

    Returns of each row float32 features, shape (n_frames, d); rows of one video share them.

    `videos` is any iterable of what `as_video_source` takes, and `column` its name for messages; `frames` is "all" or
    how many of each; `batch_size` frames are encoded at once, whichever videos they are from, and `n_workers` videos
    decoded.
    """
    n_workers = n_workers or min(8, os.cpu_count() or 1)
    work = _VideoWork(encoder.model, encoder.checkpoint.source, batch_size)
    keys: list[str] = []
    # By the video's key.
    features: dict[str, np.ndarray] = {}
    total = len(videos) if isinstance(videos, Sized) else None
    bar = encoder.bar(column, "video", total=total)
    with bar, ThreadPoolExecutor(n_workers) as pool:
        try:
            for row, video in enumerate(iterate_videos(videos, column)):
                where = f"{column}[{row}]"
                try:
                    source = as_video_source(video, where)
                    key = f"{video_key(source, where).hex()}-{frames}"
                    if isinstance(source, np.ndarray):
                        features[key] = _ready(encoder.model.n_features, source, frames, where)
                except (TypeError, ValueError) as error:
                    work.fail(row, error)
                    break
                keys.append(key)
                if key not in features and (remembered := encoder.remembered.get(("video", key))) is not None:
                    features[key] = remembered
                waits = key not in features and key not in work.begun
                if waits and not isinstance(source, np.ndarray):
                    work.begin(pool, key, _Job(row, source, frames, where), n_workers)
                bar.update(1)
            work.finish()
        finally:
            work.end = -1  # stops all threads, also those that wait to hand over a frame
    for key, parts in work.done.items():
        rows = np.concatenate(parts)
        features[key] = chosen = rows[frame_places(len(rows), frames)]
        encoder.remembered.put(("video", key), chosen, chosen.nbytes)
    if work.error is not None:
        raise work.error
    return [features[key] for key in keys]


class _Job(NamedTuple):
    row: int
    source: EncodedVideo | FrameList
    frames: int | str
    where: str


class _VideoWork:
    """Decoding threads and the model, with a short queue between them."""

    def __init__(self, model: Any, checkpoint: str, batch_size: int) -> None:
        self.model, self.checkpoint = model, checkpoint
        self.batch_size = batch_size
        self.queue: queue.Queue[tuple[str, Any]] = queue.Queue(BATCHES_AHEAD * batch_size)
        # Features of each video, batch by batch, and of complete videos as a whole.
        self.begun: dict[str, list[np.ndarray]] = {}
        # Column and row of each video, for the messages.
        self.places: dict[str, str] = {}
        self.done: dict[str, list[np.ndarray]] = {}
        self.waiting: list[tuple[str, np.ndarray]] = []
        self.complete: list[str] = []
        self.n_running = 0
        self.error: Exception | None = None
        # Rows from here on are no longer needed.
        self.end: float = math.inf

    def begin(self, pool: ThreadPoolExecutor, key: str, job: _Job, n_workers: int) -> None:
        """Start decoding a video, once there is a thread for it."""
        while self.n_running >= n_workers:
            self._take()
        self.begun[key], self.places[key] = [], job.where
        self.n_running += 1
        pool.submit(self._decode, key, job, max(1, (os.cpu_count() or 1) // n_workers))

    def finish(self) -> None:
        """Wait for all videos, and encode what is left."""
        while self.n_running:
            self._take()
        self._encode()

    def fail(self, row: int, error: Exception) -> None:
        """Note an error, unless an earlier row has one."""
        if row < self.end:
            self.end, self.error = row, error

    def _take(self) -> None:
        """Take one message of a thread: a frame, an error, or the end of its video."""
        key, message = self.queue.get()
        if isinstance(message, np.ndarray):
            self.waiting.append((key, message))
            if len(self.waiting) == self.batch_size:
                self._encode()
            return
        self.n_running -= 1
        if message is None:
            self.complete.append(key)
        elif isinstance(message, tuple):
            self.fail(*message)

    def _encode(self) -> None:
        if self.waiting:
            try:
                features = self.model.image_features(np.stack([pixels for _, pixels in self.waiting]))
            except FeatureError as error:
                raise error.with_place(self.places[self.waiting[error.place][0]], self.checkpoint) from error
            for (key, _), row in zip(self.waiting, features, strict=True):
                self.begun[key].append(row[None])
            self.waiting.clear()
        self.done.update((key, self.begun[key]) for key in self.complete)

    def _decode(self, key: str, job: _Job, n_threads: int) -> None:
        """Decode a video in a thread of its own and hand its frames over."""
        last: Any = None
        try:
            for pixels in read_pixels(job.source, job.frames, self.model.image_size, job.where, n_threads):
                if not self._hand_over(job.row, key, pixels):
                    last = UNWANTED
                    break
        except Exception as error:  # whatever it is, the row fails and not the thread
            last = (job.row, error)
        self._hand_over(job.row, key, last, always=True)

    def _hand_over(self, row: int, key: str, message: Any, always: bool = False) -> bool:
        """Put a message into the queue, unless its row is no longer needed."""
        while self.end >= 0 and (always or row < self.end):
            try:
                self.queue.put((key, message), timeout=PATIENCE)
            except queue.Full:
                continue
            return True
        return False


def check_video_column(videos: object) -> None:
    """Raise unless `videos` is a column of videos, not one video."""
    check_no_table(videos, "videos", "a list of videos")
    kinds = (str, bytes, bytearray, os.PathLike, Mapping, set, frozenset, PIL.Image.Image, io.IOBase)
    if isinstance(videos, kinds) or getattr(videos, "ndim", None) in (0, 2) or not isinstance(videos, Iterable):
        raise InputTypeError(
            "videos", "a list of videos", f"one {type(videos).__name__}", "Give one video per row, in a list."
        )


def _ready(d: int, features: np.ndarray, frames: int | str, where: str) -> np.ndarray:
    """Return the chosen frames of features that the user computed."""
    if features.shape[1] != d:
        raise InputError(
            where, f"{d} features per frame", features.shape[1], "Encode the frames with the same checkpoint."
        )
    return features[frame_places(len(features), frames)]


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
