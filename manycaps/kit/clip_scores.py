"""Scores of CLIP features: PAC-S, the modules that compute it, matching of tokens and frames, and sets."""

import bisect
import functools
import itertools
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import PIL.Image

from .base import (
    DETAILS,
    LONG_TEXTS,
    NOT_ROWS,
    CollectionModule,
    Floats,
    InputError,
    InputOSError,
    InputTypeError,
    Ints,
    Option,
    Progress,
    Ready,
    as_caption_rows,
    as_finite,
    as_list,
    build_result,
    by_value,
    check_choice,
    check_count_table,
    check_is_number,
    check_no_table,
    one_of,
    or_none,
    plain_arguments,
    quote_value,
    read_count_table,
    signature,
    warn_of_decoder_signs,
    warn_of_unread,
)
from .caption_sets import CAPTION_COLUMNS, TIE_TOLERANCE, ComparableRows
from .clip_checkpoints import VARIANTS, variant_name
from .clip_encoder import (
    CLIP_CALL_OPTIONS,
    CLIP_LOAD_OPTIONS,
    ClipEncoder,
    TextFeatures,
    as_feature_rows,
    as_stored_features,
    check_checkpoint,
    check_image_column,
    check_item_count,
    check_prompt,
    count_unread,
    encode_images,
    features_of_rows,
    long_captions_name,
    ready_features,
)
from .clip_model import DTYPES
from .embeddings import (
    ARRAY_COLUMNS,
    DEFAULT_ENCODER,
    ENCODER_OPTIONS,
    OF_SENTENCES,
    SentenceEncoder,
    as_embedding_arrays,
    as_features,
    check_no_captions,
    encoder_settings,
    mean_direction,
    unit_vectors,
)
from .images import decode_values, is_one_image
from .vector_rows import as_embedding_rows, encode_rows, rows_of_vectors

# --------------------------------------------------------------------------------------------------------------------
# PAC-S and RefPAC-S from cosines (Sarto et al., 2023, https://arxiv.org/abs/2303.12112): NumPy only.

# w of equation 1, which stretches the usual cosines towards [0, 1]; CLIP-S (Hessel et al., 2021) has 2.5.
PAC_WEIGHT = 2.0

# Words before every caption in the authors' program, and in CLIP-S.
PAC_PROMPT = "A photo depicts"


# Cosines that are held at once, 8 bytes each.
COSINES_AT_ONCE = 1 << 22


@plain_arguments
def pac_s(cosines: npt.ArrayLike, weight: float = PAC_WEIGHT) -> Floats:
    """Score captions by their cosines with their images: PAC-S = w max(cos, 0).

    Sarto et al. (2023), equation 1, https://arxiv.org/abs/2303.12112; CLIP-S (Hessel et al. 2021) has w = 2.5.
    Clipped pair by pair: a mean of scores is not the score of a mean.

    Args:
        cosines: floating-point array, any shape, of features of CLIP; rounding above 1 is clipped.
        weight: w, above 0.

    Returns:
        float64 array of that shape, 0 (worst) to w (best).

    Raises:
        TypeError: the weight is not a number.
        ValueError: the weight is not positive, or a cosine is not finite.

    >>> pac_s([0.5, -0.5]).tolist()
    [1.0, 0.0]
    """
    check_weight(weight)
    cosines = as_finite(cosines, "cosines")
    return weight * np.clip(cosines, 0.0, 1.0)


class RetrievalRanks(NamedTuple):
    """Place of the own image of every caption among all images, the most similar first."""

    # int64, shape (n_captions,): images that are more similar than the own one, and images that are as similar, the own
    # one included.
    n_larger: Ints
    n_equal: Ints
    n_images: int

    def ranks(self) -> Floats:
        """Return ranks from 1 (best), the mean one of images that are equally similar: float64, shape (n_captions,)."""
        return self.n_larger + (self.n_equal + 1) / 2

    def recalls(self, k: int) -> Floats:
        """Say whether the own image is among the first `k`, 0 or 1; of equally similar ones the share that has room."""
        return np.clip((k - self.n_larger) / self.n_equal, 0.0, 1.0)


def retrieval_ranks(texts: np.ndarray, images: np.ndarray, rows: np.ndarray) -> RetrievalRanks:
    """Rank all images by their cosine with every caption; equal images count once, cosines within 1e-9 are equal.

    Args:
        texts: floating-point array, shape (n_captions, d), no zero rows.
        images: floating-point array, shape (n_rows, d), no zero rows.
        rows: integers, shape (n_captions,): the row whose image is the caption's own.

    >>> found = retrieval_ranks(np.eye(2), np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), np.array([0, 1]))
    >>> found.ranks().tolist(), found.recalls(1).tolist(), found.n_images
    ([1.0, 1.0], [1.0, 1.0], 2)
    """
    distinct, image_of_row = np.unique(images, axis=0, return_inverse=True)
    pool, own = unit_vectors(distinct), image_of_row.reshape(-1)[rows]
    n_larger, n_equal = np.empty((2, len(texts)), dtype=np.int64)
    step = max(1, COSINES_AT_ONCE // len(pool))
    for start in range(0, len(texts), step):
        part = slice(start, start + step)
        cosines = unit_vectors(texts[part]) @ pool.T  # (captions of the part, n_images)
        differences = cosines - cosines[np.arange(len(cosines)), own[part], None]
        n_larger[part] = np.count_nonzero(differences > TIE_TOLERANCE, axis=1)
        n_equal[part] = np.count_nonzero(np.abs(differences) <= TIE_TOLERANCE, axis=1)
    return RetrievalRanks(n_larger, n_equal, len(pool))


def check_weight(weight: Any) -> None:
    """Raise unless `weight` is a positive number."""
    check_is_number("weight", weight, "Give a float such as 2.0.")
    if not 0 < weight <= sys.float_info.max:
        raise InputError("weight", "a positive finite number", quote_value(weight), "PAC-S has 2.0, CLIP-S 2.5.")


class TextPlaces(NamedTuple):
    """Pairs of texts and images, in a list of all candidates followed by all references."""

    # Row of each candidate, shape (n_candidates,).
    rows: np.ndarray
    # References of each candidate, shape (n_candidates,).
    n_references: np.ndarray
    # Indices in the list of each pair of a candidate and a reference of its row, shape (n_pairs,) each.
    captions: np.ndarray
    references: np.ndarray


def text_places(n_candidates: Sequence[int], n_references: Sequence[int]) -> TextPlaces:
    """Pair every candidate with every reference of its row, one candidate after the other.

    >>> places = text_places([2, 1], [1, 2])
    >>> list(zip(places.captions.tolist(), places.references.tolist()))
    [(0, 3), (1, 3), (2, 4), (2, 5)]
    """
    rows = np.repeat(np.arange(len(n_candidates)), n_candidates)
    starts = len(rows) + np.cumsum(n_references) - n_references
    counts = np.asarray(n_references)[rows]
    captions = np.repeat(np.arange(len(rows)), counts)
    nth = np.arange(len(captions)) - np.repeat(np.cumsum(counts) - counts, counts)
    return TextPlaces(rows, counts, captions, starts[rows][captions] + nth)


@plain_arguments
def ref_pac_s(pac_scores: npt.ArrayLike, reference_cosines: npt.ArrayLike) -> Floats:
    """Return the harmonic mean of PAC-S and the largest cosine with a reference, cut off at 0.

    RefPAC-S = 2 PAC-S R / (PAC-S + R), R = max(0, largest cosine) (Sarto et al. 2023, equations 5 and 6,
    https://arxiv.org/abs/2303.12112). The authors' program divides 0 by 0 where either is 0, and does not clip negative
    cosines as equation 6 does.

    Args:
        pac_scores: floating-point array, shape (n,), as from `pac_s`.
        reference_cosines: floating-point array, shape (n,): the largest cosine of each caption with a reference.

    Returns:
        float64 array, shape (n,), 0 (worst) to 4/3 (best, for w = 2); 0 where either is 0.

    Raises:
        ValueError: the shapes differ, or a number is not finite.

    >>> ref_pac_s([1.0, 2.0], [1.0, -0.5]).tolist()
    [1.0, 0.0]
    """
    scores, cosines = as_finite(pac_scores, "pac_scores"), as_finite(reference_cosines, "reference_cosines")
    if scores.shape != cosines.shape:
        raise InputError(
            "reference_cosines", f"shape {scores.shape}, like pac_scores", cosines.shape, "Give one cosine per score."
        )
    likeness = np.clip(cosines, 0.0, 1.0)
    both = (scores > 0) & (likeness > 0)
    total = np.where(both, scores + likeness, 1.0)  # 1: any number but 0, its row is 0 anyway
    return np.where(both, 2 * scores * (likeness / total), 0.0)  # quotient first: a product could underflow


def largest_by_caption(cosines: np.ndarray, n_references: np.ndarray) -> np.ndarray:
    """Return the largest of each run of cosines, float64, of these lengths, (n,), all at least 1: float64, shape (n,).

    >>> largest_by_caption(np.array([0.1, 0.5, 0.2]), np.array([2, 1])).tolist()
    [0.5, 0.2]
    """
    starts = np.concatenate(([0], np.cumsum(n_references)[:-1]))
    return np.maximum.reduceat(cosines, starts)


# --------------------------------------------------------------------------------------------------------------------
# The contract of PAC-S and RefPAC-S: captions and images, or their ready features, and scores per candidate.

# What all these modules take.
PAC_OPTIONS: dict[str, Option] = (
    {
        "prompt": Option(
            PAC_PROMPT, by_value(check_prompt), 'Words before every caption and reference; `""` for none.'
        ),
        "weight": Option(
            PAC_WEIGHT, by_value(check_weight), "Factor of the image cosine; CLIP-S and RefCLIP-S have 2.5."
        ),
    }
    | CLIP_CALL_OPTIONS
    | DETAILS
    | CLIP_LOAD_OPTIONS
)
IMAGES = (
    "n_rows images: paths, bytes, PIL images, arrays or tensors of pixels, or a `datasets` column; web "
    "addresses are refused. Or features in place of images: of one image, an array of floats of shape (d,), "
    "not necessarily normalised; of all images, one array of shape (n_rows, d)."
)


# A configuration is a variant, "pac-" may be left out.
PAC_CONFIG_NAMES = (*VARIANTS, *(name.removeprefix("pac-") for name in VARIANTS if name.startswith("pac-")))

# The part of these modules that encodes.
PAC_ENCODER: dict[str, Callable[[Any], ClipEncoder]] = {
    "encoder": lambda module: ClipEncoder(module.load_options, module.progress, module.config_name)
}


class CaptionsAndImages(NamedTuple):
    """Features of the captions and images of all rows."""

    # Of all captions, one column after the other.
    texts: TextFeatures
    # float32 array, shape (n_rows, d).
    pictures: np.ndarray
    # For each column of captions the number of captions of each row.
    sizes: Sequence[Sequence[int]]
    # What determines the features, for the signature.
    settings: Mapping[str, Any]


def encode_image_column(module: Any, images: Any, options: Mapping[str, Any], n_rows: int) -> list[dict[str, Any]]:
    """Encode a column of images when it is added: only their features are kept, in place of the images."""
    if not len(module):  # rows of one call have one model
        module.encoder.renew()
    check_image_column(images)
    settings = options["batch_size"], options["n_workers"]
    features = encode_images(module.encoder, images, "images", *settings, ready=True)
    check_item_count(n_rows, len(features), "image")
    return as_stored_features(features)


def encode_caption_columns(
    module: Any,
    sides: Sequence[Sequence[Sequence[str]]],
    images: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
) -> CaptionsAndImages:
    """Encode the columns of captions; `images` are features, as evaluate's table has them."""
    captions = [caption for side in sides for row in side for caption in row]
    texts = module.encoder.encode_captions(options["prompt"], captions, options)
    pictures = np.concatenate(features_of_rows(images, module.encoder.model.n_features))
    settings = {**module.encoder.signature_parts(), "prompt": repr(options["prompt"])}
    return CaptionsAndImages(texts, pictures, [[len(row) for row in side] for side in sides], settings)


def features_result(module: Any, arrays: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return a module's result for ready features of captions and images."""
    check_no_captions([given.pop(name, None) for name in CAPTION_COLUMNS], len(module))
    ignored = ARRAY_COLUMNS[1]
    if given.get(ignored) is not None:
        raise InputTypeError(
            ignored,
            f"only {ARRAY_COLUMNS[0]} and images, which {module.name} reads",
            f"{ignored}, which it would ignore",
            "Leave it out, or take ref_pac_score.",
        )
    images = given.pop("images", None)
    module.check_unused(given, ("prompt", "batch_size", "n_workers", "long_captions"), "beside ready features")
    options = module.call_options(given)
    sides = as_text_features(arrays)
    pictures = as_image_rows(images, sides[0][0].shape[1], len(sides[0]))
    distinct = np.concatenate([row for side in sides for row in side])
    texts = TextFeatures(distinct, np.arange(len(distinct)), n_truncated=0)
    sizes = [[len(row) for row in side] for side in sides]
    result: dict[str, Any] = module.summary(
        CaptionsAndImages(texts, pictures, sizes, {"encoder": "ready arrays"}), options
    )
    return result


def pac_result(
    name: str, encoded: CaptionsAndImages, scores: Mapping[str, np.ndarray], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the result for the scores of all candidates: float64 arrays, shape (n_candidates,), by name."""
    result = build_result(scores, encoded.sizes[0], options["details"])
    result |= encoded.texts.counts(options["long_captions"])
    if not options["details"]:
        return result
    windows = long_captions_name(options) if "prompt" in encoded.settings else None
    parts = {**encoded.settings, "weight": options["weight"], "long_captions": windows}
    return result | {"signature": signature(name, **parts)}


def as_text_features(columns: Mapping[str, Any]) -> list[list[np.ndarray]]:
    """Return columns of ready features of captions, by name n_rows floating-point arrays (n_captions, d), as float32.

    Raises:
        TypeError: a column is missing, or is no list of such arrays.
        ValueError: different numbers of rows or of features, or features without a cosine.
    """
    sides = [as_embedding_arrays(rows, name) for name, rows in columns.items()]
    (first, n), d = (next(iter(columns)), len(sides[0])), sides[0][0].shape[1]
    for name, side in zip(columns, sides, strict=True):
        if len(side) != n:
            raise InputError(
                name, f"one array for each of the {n} rows of {first}", len(side), "Row i of both belongs together."
            )
        odd = next((i for i, row in enumerate(side) if row.shape[1] != d), None)
        if odd is not None:
            raise InputError(
                f"{name}[{odd}]",
                f"{d} features per caption, as {first}[0] has",
                side[odd].shape[1],
                "Encode all captions with the same checkpoint.",
            )
    return [
        [as_features(row, f"{name}[{i}][{{}}]".format, "caption") for i, row in enumerate(side)]
        for name, side in zip(columns, sides, strict=True)
    ]


def as_image_rows(images: Any, d: int, n_rows: int) -> np.ndarray:
    """Return ready features of images, as long as the captions': float32 array, shape (n_rows, d)."""
    check_image_column(images)
    rows = decode_values(images, "images", "an image")
    whose = f"{ARRAY_COLUMNS[0]} have"
    features = [ready_features(image, f"images[{i}]", d, whose) for i, image in enumerate(rows)]
    check_item_count(n_rows, len(features), "image")
    return np.stack(features)


# --------------------------------------------------------------------------------------------------------------------
# EMScore from features of frames and tokens, and the weights of tokens.

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
        raise InputError(
            "idf",
            "captions that differ in their words",
            f"{n} with the same, which have weight 0",
            f"Give idf=False, or a table. {HOW_TO_MAKE_A_TABLE}",
        )
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
                f"idf[{quote_value(token)}]",
                "a token of CLIP's vocabulary, such as 'dog</w>'",
                "none",
                HOW_TO_MAKE_A_TABLE,
            )
    return TokenFrequency({vocabulary[token]: count for token, count in counts.items()}, n_documents)


# --------------------------------------------------------------------------------------------------------------------
# Sets of images and of captions as CLIP features of length 1, and the contract of modules that compare such sets.

# The keywords of `compute` for images, in the order candidates, references; and the columns in whose place they stand.
IMAGE_COLUMNS = ("prediction_images", "reference_images")

# The encoder of captions that is a CLIP's text encoder.
CLIP = "clip"

# Weights of CMMD (Jayasumana et al., 2024, https://arxiv.org/abs/2401.09603), unless others are asked for.
DEFAULT_VARIANT = "clip-vit-l-14-336"


# Options of encoders, the CLIP among them; its device, dtype and batch_size are the same.
CLIP_SET_OPTIONS: dict[str, Option] = ENCODER_OPTIONS | {
    "encoder": ENCODER_OPTIONS["encoder"]._replace(
        meaning=f'{ENCODER_OPTIONS["encoder"].meaning} `"clip"` stands for the text encoder of a CLIP, which captions '
        "beside images have in any case; no prompt is put before them, and features are scaled to length 1."
    ),
    "variant": Option(
        None, by_value(variant_name), 'Which CLIP: one of pac_score\'s; by default `"clip-vit-l-14-336"`, as in CMMD.'
    ),
    "checkpoint": Option(
        None,
        or_none(check_checkpoint),
        "Weights of your own instead: a `.pth`, `.pt` or `.safetensors` file, a folder or a Hub repository.",
    ),
    "long_captions": Option(
        "truncate",
        one_of(LONG_TEXTS),
        'What to do with captions that are longer than the CLIP reads: `"truncate"` or `"window"`, as in '
        "pac_score; such captions are counted in either case.",
    ),
}

# Most images and captions of a row: the table of its pairs takes 0.8 GB.
MOST_IN_ROW = 10_000

# A table of pairs of images and captions is made of this.
IMAGE_SETS = "a list of images, or of lists of images"
CAPTION_SETS = "a list of captions, or of lists of captions"


class ImageSets(NamedTuple):
    """A column of images: one set of each row."""

    column: str
    # The images of all rows, in one list.
    images: Iterable[object]
    # Number of images of each row; None for one row of as many as there are.
    sizes: list[int] | None
    # From the index of an image to its name in messages.
    place: Callable[[int], str]


class CaptionSets(NamedTuple):
    """A column of captions: one set of each row."""

    column: str
    captions: list[str]
    sizes: list[int]


class SetEncoder:
    """Encodes captions by a sentence encoder or by a CLIP, as the options say, and images by the CLIP.

    The last CLIP is kept, with the features that it remembers; a copy finds it again.
    """

    _clip: ClipEncoder | None = None

    def __init__(self, progress: Progress) -> None:
        self._sentences, self._progress = SentenceEncoder(), progress

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_clip"}

    def forget(self) -> None:
        """Drop the vectors of the sentence encoder."""
        self._sentences.forget()

    def clip(self, options: Mapping[str, Any]) -> ClipEncoder:
        """Return the CLIP of these options."""
        chosen = {name: options[name] for name in ("checkpoint", "device", "dtype")}
        chosen |= {"variant": options["variant"] or DEFAULT_VARIANT, "compile": False}
        if self._clip is None or self._clip.options != chosen:
            self._clip = ClipEncoder(chosen, self._progress)
        return self._clip

    def embed(self, captions: Sequence[str], options: Mapping[str, Any], progress: Progress) -> np.ndarray:
        """Return the vectors of distinct captions: a floating-point array, shape (n, d)."""
        if not uses_clip(options):
            return self._sentences.embed(captions, options, progress)
        clip = self.clip(options)
        clip.renew()
        texts = clip.encode_captions("", captions, options)
        return unit_vectors(texts.distinct)[texts.rows]

    def check_known(self, columns: Mapping[str, Sequence[Sequence[str]]], options: Mapping[str, Any]) -> None:
        """Raise for a text of which a sentence encoder knows nothing; a CLIP's word pieces are of bytes, all known."""
        if not uses_clip(options):
            self._sentences.check_known(columns, options)

    def count_unread(self, texts: Sequence[str], options: Mapping[str, Any]) -> dict[str, int]:
        """Return the keys that a result has of captions that the encoder does not read as a whole."""
        if not uses_clip(options):
            return self._sentences.count_unread(texts, options)
        read = self.clip(options).read_texts(dict.fromkeys(texts), options["long_captions"])
        return count_unread([read[text] for text in texts], options["long_captions"])

    def settings(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return what determines the vectors of captions, for a signature."""
        return self.clip_settings(options) if uses_clip(options) else encoder_settings(options)

    def clip_settings(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return what determines the features of the CLIP, for a signature."""
        parts = self.clip(options).signature_parts()
        return {"encoder": CLIP, **parts, "long_captions": long_captions_name(options)}


# The part of a module that has the options `CLIP_SET_OPTIONS`.
SET_ENCODER: dict[str, Callable[[Any], SetEncoder]] = {"encoder": lambda module: SetEncoder(module.progress)}


def uses_clip(options: Mapping[str, Any]) -> bool:
    """Return whether captions are encoded by a CLIP: where that is asked for, and for CMMD."""
    return (isinstance(options["encoder"], str) and options["encoder"] == CLIP) or options.get("preset") == "cmmd"


def check_encoded(module: CollectionModule, options: Mapping[str, Any], what: str) -> None:
    """Raise unless "images" or "captions" may be encoded with these options."""
    check_features(options.get("preset"), options["encoder"], what)
    if what == "images" and options["encoder"] not in (DEFAULT_ENCODER, CLIP):
        raise InputError(
            "encoder",
            f"{CLIP!r} beside images",
            quote_value(options["encoder"]),
            "Leave encoder out, and say by variant or checkpoint which CLIP.",
        )
    if what == "images" or uses_clip(options):
        check_choice("dtype", options["dtype"], DTYPES)
        unused, where = [OF_SENTENCES], f"for {what} of a CLIP, which takes long_captions"
    else:
        unused, where = ["variant", "checkpoint", "long_captions"], f"for captions without encoder={CLIP!r}"
    # Options of load time may be meant for other calls.
    unused_in_call = [name for name in unused if options[name] is not module.load_options[name]]
    module.check_unused(options, unused_in_call, where)


def encode_by_clip_or_sentences(
    module: Any, predictions: Any, references: Any, options: Mapping[str, Any]
) -> ComparableRows:
    """Return rows of captions with the vectors of the module's encoder, ready to be compared."""
    check_encoded(module, options, "captions")
    return encode_rows(module, predictions, references, options)


def sets_result(
    module: Any, arrays: dict[str, Any], given: dict[str, Any], check: Callable[[Mapping[str, Any]], None]
) -> dict[str, Any]:
    """Return a module's result for images on one side or both, by their features of length 1.

    `check` raises where images cannot be compared with the options of the call.
    """
    captions = tuple(given.pop(name, None) for name in CAPTION_COLUMNS)
    images, embeddings = tuple(arrays.values()), [given.pop(name, None) for name in ARRAY_COLUMNS]
    check_one_of_each(images, captions, embeddings, len(module))
    options = module.call_options(given)
    check(options)
    check_encoded(module, options, "images")
    sides = [
        as_image_sets(image, image_column) if image is not None else as_caption_sets(caption, caption_column)
        for image, image_column, caption, caption_column in zip(
            images, IMAGE_COLUMNS, captions, CAPTION_COLUMNS, strict=True
        )
    ]
    columns = (sides[0].column, sides[1].column)
    texts_of = {side.column: [side.captions] for side in sides if isinstance(side, CaptionSets)}
    warn_of_decoder_signs(texts_of.get("predictions", ()), texts_of.get("references", ()))
    if all(side.sizes is not None for side in sides):  # before any work
        check_image_sets(module, columns, [list(side.sizes or ()) for side in sides], options)
    clip, counts = module.encoder.clip(options), {}
    clip.renew()
    encoded = []
    for side in sides:
        if isinstance(side, ImageSets):
            features = encode_images(clip, side.images, side.column, options["batch_size"], None, side.place)
            vectors = unit_vectors(as_feature_rows(features))
        else:
            texts = clip.encode_captions("", side.captions, options)
            vectors, counts = unit_vectors(texts.distinct)[texts.rows], texts.counts(options["long_captions"])
        sizes = [len(vectors)] if side.sizes is None else side.sizes
        encoded.append(np.split(vectors, np.cumsum(sizes)[:-1]))
    check_image_sets(module, columns, [[len(row) for row in rows] for rows in encoded], options)
    kinds = ["images" if isinstance(side, ImageSets) else "captions" for side in sides]
    settings = {**dict(zip(CAPTION_COLUMNS, kinds, strict=True)), **module.encoder.clip_settings(options)}
    rows = rows_of_vectors(module, as_embedding_rows(*encoded), columns, options, settings)
    result: dict[str, Any] = module.summary(rows._replace(n_unread=lambda: counts), options)
    warn_of_unread(result, {**options, "encoder": "clip"})
    return result


def sets_of_images(check: Callable[[Mapping[str, Any]], None] = lambda _options: None) -> dict[str, Ready]:
    """Return the entry of a module's ready columns for images; `check` is as for `sets_result`."""
    meaning = (
        "images in place of predictions, of references or of both, for compute only. A list of lists of images is "
        "one set per row; a plain list of images is one row, and so is a plain list of captions given with "
        "images. Images are paths, bytes, PIL images, arrays, tensors or a `datasets` column; each distinct one "
        "is encoded once, and no pixels are kept. At most 10,000 images and captions per row."
    )
    return {", ".join(IMAGE_COLUMNS): Ready(meaning, functools.partial(sets_result, check=check))}


def check_image_sets(
    module: Any, columns: tuple[str, str], sizes: Sequence[Sequence[int]], options: Mapping[str, Any]
) -> None:
    """Raise unless both sides have as many rows, and no row is too large or too small."""
    check_set_counts(columns, sizes)
    module.check_sizes(list(zip(*sizes, strict=True)), columns, options)


def check_one_of_each(
    images: Sequence[object], captions: Sequence[object], embeddings: Sequence[object], n_added: int
) -> None:
    """Raise unless each side has either images or captions, and nothing besides."""
    if n_added or any(rows is not None for rows in embeddings):
        raise InputError(
            IMAGE_COLUMNS[0],
            "images in place of ready embeddings and of rows added before",
            "both",
            "Leave one of them out.",
        )
    for column, other, image, caption in zip(IMAGE_COLUMNS, CAPTION_COLUMNS, images, captions, strict=True):
        if image is not None and caption is not None:
            raise InputError(column, f"images in place of {other}", "both", "Leave one of them out.")
        if image is None and caption is None:
            raise InputError(column, f"images, or captions as {other}", "neither", "Give one of them.")


def check_set_counts(columns: Sequence[str], sizes: Sequence[Sequence[int]]) -> None:
    """Raise unless both sides have as many rows, and no row has more than `MOST_IN_ROW` images and captions."""
    first, second = sizes
    if len(first) != len(second):
        raise InputError(
            columns[1],
            f"one set for each of the {len(first)} rows of {columns[0]}",
            len(second),
            "Row i of both is compared; a list without lists in it is one row.",
        )
    large = [i for i, pair in enumerate(zip(first, second, strict=True)) if sum(pair) > MOST_IN_ROW]
    if large:
        raise InputError(
            f"{columns[0]}[{large[0]}]",
            f"at most {MOST_IN_ROW:,} images and captions in a row",
            f"{first[large[0]] + second[large[0]]:,}",
            "Split both sides into equally many rows; values of all rows together, such as CMMD, do not change.",
        )


def as_image_sets(images: object, column: str) -> ImageSets:
    """Read a column of images: a list of lists is one set a row, a list of images one row.

    >>> sets = as_image_sets([["a.png", "b.png"], ["c.png"]], "prediction_images")
    >>> sets.sizes, sets.place(2), as_image_sets(["a.png"], "prediction_images").sizes
    ([2, 1], 'prediction_images[1][0]', [1])
    """
    check_no_table(images, column, IMAGE_SETS)
    if not _is_set(images):
        raise InputTypeError(column, IMAGE_SETS, _kind(images), "Put the image into a list.")
    values: Iterable[Any] = images  # type: ignore[assignment]
    rows = values if isinstance(values, Iterator) else iter(decode_values(values, column, "an image"))
    first = next(rows, None)
    if first is None:
        nothing = "an empty list" if isinstance(values, Sized) and not len(values) else "None"
        raise InputError(column, "at least one image", nothing, "Give a list of images.")
    if not _is_set(first):
        whole = itertools.chain([first], values) if isinstance(values, Iterator) else values
        n = [len(whole)] if isinstance(whole, Sized) else None
        return ImageSets(column, whole, n, f"{column}[{{}}]".format)
    sets = [_as_image_set(row, f"{column}[{i}]") for i, row in enumerate(itertools.chain([first], rows))]
    sizes = [len(row) for row in sets]
    ends = list(itertools.accumulate(sizes))

    def place(number: int) -> str:
        row = bisect.bisect_right(ends, number)
        return f"{column}[{row}][{number - ends[row] + sizes[row]}]"

    return ImageSets(column, [image for row in sets for image in row], sizes, place)


def as_caption_sets(captions: object, column: str) -> CaptionSets:
    """Read a column of captions beside one of images: a list of lists is one set a row, a list of captions one row.

    >>> as_caption_sets(["a dog", "a cat"], "predictions").sizes, as_caption_sets([["a dog"]], "predictions").sizes
    ([2], [1])
    """
    listed: Any = captions
    if isinstance(captions, Iterable) and not isinstance(captions, NOT_ROWS):
        check_no_table(captions, column, CAPTION_SETS)
        listed = as_list(captions, column, CAPTION_SETS)
    rows = as_caption_rows(listed, column)
    flat = [caption for row in rows for caption in row]
    is_one = all(isinstance(row, str) for row in listed)
    return CaptionSets(column, flat, [len(flat)] if is_one else [len(row) for row in rows])


def _is_set(value: object) -> bool:
    """Whether a value holds images, and is not an image."""
    return isinstance(value, Iterable) and not isinstance(value, NOT_ROWS) and not is_one_image(value)


def _as_image_set(row: Any, where: str) -> list[Any]:
    if not _is_set(row):
        raise InputTypeError(where, "a list of images as in the first row", _kind(row), "Put the image into a list.")
    images = list(decode_values(row, where, "an image"))
    if not images:
        raise InputError(where, "at least one image", "an empty list", "Leave the row out of both columns.")
    return images


def _kind(value: object) -> str:
    return "one image" if isinstance(value, str | bytes | os.PathLike | PIL.Image.Image) else type(value).__name__


# Distances with a name, and the features that they are made for.
PRESETS = {"cmmd": "CLIP ViT-L/14 at 336 pixels, of length 1", "kid": "the 2,048 numbers of Inception's last pooling"}

# Weights that make the features of "kid".
KID_WEIGHTS = "pt_inception-2015-12-05-6726825d.pth"


def check_features(preset: str | None, encoder: object, what: str) -> None:
    """Raise if a preset needs other features than the captions or images have."""
    if preset == "kid":
        raise InputOSError(
            f"preset={preset!r}",
            f"ready features ({PRESETS[preset]})",
            what,
            (
                f"Make them with the weights {KID_WEIGHTS}, which are not run here, and give them as "
                "prediction_embeddings=... and reference_embeddings=..."
            ),
        )
    if preset == "cmmd" and not (isinstance(encoder, str) and encoder in (DEFAULT_ENCODER, CLIP)):
        raise InputError(
            "encoder",
            f"{CLIP!r} for preset='cmmd' of {what}",
            quote_value(encoder),
            (
                "Leave encoder out, or give features of your own as prediction_embeddings=... and "
                "reference_embeddings=..."
            ),
        )
