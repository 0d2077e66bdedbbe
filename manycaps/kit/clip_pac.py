"""PAC-S and RefPAC-S from cosines (Sarto et al., 2023, https://arxiv.org/abs/2303.12112): NumPy only."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints, as_finite, build_result, plain_arguments
from .clip_checkpoints import VARIANTS
from .clip_encoder import (
    CLIP_CALL_OPTIONS,
    CLIP_LOAD_OPTIONS,
    ClipEncoder,
    TextFeatures,
    as_stored_features,
    check_image_column,
    check_item_count,
    check_prompt,
    encode_images,
    features_of_rows,
    long_captions_name,
    ready_features,
)
from .errors import InputError, InputTypeError, check_n_rows, quote_value
from .images import decode_values
from .module import signature
from .options import DETAILS, Option, by_value, check_is_number
from .sets_module import CAPTION_COLUMNS
from .sets_tests import TIE_TOLERANCE
from .vectors_sentences import ARRAY_COLUMNS, as_embedding_arrays, as_features, check_no_captions, unit_vectors

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
            "reference_cosines", f"shape {scores.shape}, as pac_scores", cosines.shape, "Give one per score."
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
            ignored, f"only {ARRAY_COLUMNS[0]} and images", "both columns", "Leave it out, or take ref_pac_score."
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
        check_n_rows(name, len(side), first, n, "array")
        odd = next((i for i, row in enumerate(side) if row.shape[1] != d), None)
        if odd is not None:
            expected = f"{d} features per caption, as {first}[0] has"
            raise InputError(f"{name}[{odd}]", expected, side[odd].shape[1], "Use one checkpoint for all.")
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
