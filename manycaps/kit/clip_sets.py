"""Sets of images and of captions as CLIP features of length 1, and the contract of modules that compare such sets."""

import bisect
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .base_messages import shown_value
from .base_module import check_choice
from .base_rows import NOT_ROWS, as_caption_rows, as_list, check_no_table
from .clip_cosines import unit_vectors
from .clip_encoder import ClipEncoder, count_long_texts
from .clip_image_features import as_feature_rows, encode_images
from .clip_model import DTYPES
from .clip_options import check_clip_options, long_captions_name
from .media_images import decoded_values, is_one_image
from .text_sentence_encoder import DEFAULT_ENCODER
from .vectors_rows import EmbeddingModule, as_embedding_rows

# The keywords of `compute` for images, in the order candidates, references; and the columns in whose place they stand.
IMAGE_COLUMNS = ("prediction_images", "reference_images")
CAPTION_COLUMNS = ("predictions", "references")

# The encoder of captions that is a CLIP's text encoder.
CLIP = "clip"

# Weights of CMMD (Jayasumana et al., 2024, https://arxiv.org/abs/2401.09603), unless others are asked for.
DEFAULT_VARIANT = "clip-vit-l-14-336"

# Options of the CLIP, with their defaults; device, dtype and batch_size are those of `ENCODER_DEFAULTS`.
CLIP_SET_DEFAULTS: Mapping[str, Any] = {"variant": None, "checkpoint": None, "long_captions": "truncate"}

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


class ClipSetModule(EmbeddingModule):
    """The contract of modules that compare sets of images and captions by CLIP features, besides embedded captions.

    A module names `CLIP_SET_DEFAULTS` among its options, and may say more in `check_encoded`.
    """

    CACHED = frozenset({"_clip"})

    _clip: ClipEncoder | None = None

    def compute(
        self, /, *, prediction_images: Any = None, reference_images: Any = None, **given: Any
    ) -> dict[str, Any] | None:
        """Check the options of this call, then compute: from images past evaluate's table, or as without them."""
        images = (prediction_images, reference_images)
        if prediction_images is None and reference_images is None:
            return super().compute(**given)
        with self.lock:
            captions = tuple(given.pop(name, None) for name in CAPTION_COLUMNS)
            embeddings = [given.pop(name, None) for name in ("prediction_embeddings", "reference_embeddings")]
            check_one_of_each(images, captions, embeddings, len(self))
            options = self.call_options(given)
            self.check_encoded(options, "images")
            sides = [
                as_image_sets(image, image_column) if image is not None else as_caption_sets(caption, caption_column)
                for image, image_column, caption, caption_column in zip(
                    images, IMAGE_COLUMNS, captions, CAPTION_COLUMNS, strict=True
                )
            ]
            return self._result_of_sets(sides, options)

    def check_encoded(self, options: Mapping[str, Any], what: str) -> None:
        """Raise unless "images" or "captions" may be encoded with these options."""
        if what == "images" and options["encoder"] not in (DEFAULT_ENCODER, CLIP):
            raise ValueError(
                f"encoder: expected {CLIP!r} beside images, got {shown_value(options['encoder'])}. Leave encoder out, "
                "and say by variant or checkpoint which CLIP."
            )
        if what == "images" or self.uses_clip(options):
            check_choice("dtype", options["dtype"], DTYPES)

    def uses_clip(self, options: Mapping[str, Any]) -> bool:
        """Return whether captions are encoded by a CLIP."""
        return isinstance(options["encoder"], str) and options["encoder"] == CLIP

    def clip(self, options: Mapping[str, Any]) -> ClipEncoder:
        """Return the CLIP of these options; the last one is kept, with the features that it remembers."""
        chosen = {name: options[name] for name in ("checkpoint", "device", "dtype")}
        chosen |= {"variant": options["variant"] or DEFAULT_VARIANT, "compile": False}
        if self._clip is None or self._clip.options != chosen:
            self._clip = ClipEncoder(chosen, type(self).progress)
        return self._clip

    def caption_result(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Check the sizes of all rows, embed the captions, compare the rows, and return the result."""
        self.check_encoded(options, "captions")
        return super().caption_result(predictions, references, options)

    def long_text_counts(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> dict[str, int]:
        """Return the keys that a result has of captions that the encoder does not read as a whole."""
        if not self.uses_clip(options):
            return super().long_text_counts(predictions, references, options)
        captions = [caption for rows in (predictions, references) for row in rows for caption in row]
        read = self.clip(options).read_texts(dict.fromkeys(captions), options["long_captions"])
        return count_long_texts([read[caption] for caption in captions], options["long_captions"])

    def embed(self, captions: list[str], options: Mapping[str, Any]) -> np.ndarray:
        """Return the vectors of distinct captions: a floating-point array, shape (n, d)."""
        if not self.uses_clip(options):
            return super().embed(captions, options)
        clip = self.clip(options)
        clip.renew()
        texts = clip.encode_captions("", captions, options)
        return unit_vectors(texts.distinct)[texts.rows]

    def embedding_settings(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what determines the vectors of captions, for a signature."""
        return self._clip_settings(options) if self.uses_clip(options) else super().embedding_settings(options)

    def _clip_settings(self, options: Mapping[str, Any]) -> dict[str, Any]:
        parts = self.clip(options).signature_parts()
        return {"encoder": CLIP, **parts, "long_captions": long_captions_name(options)}

    def _result_of_sets(self, sides: Sequence[ImageSets | CaptionSets], options: Mapping[str, Any]) -> dict[str, Any]:
        """Compare both sides by their features of length 1."""
        columns = (sides[0].column, sides[1].column)
        if all(side.sizes is not None for side in sides):  # before any work
            self._check_sets(columns, [list(side.sizes or ()) for side in sides], options)
        clip, counts = self.clip(options), {}
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
        self._check_sets(columns, [[len(row) for row in rows] for rows in encoded], options)
        embedded = as_embedding_rows(*encoded)
        self.check_vectors(embedded, columns, options)
        kinds = ["images" if isinstance(side, ImageSets) else "captions" for side in sides]
        kind_of = dict(zip(CAPTION_COLUMNS, kinds, strict=True))
        return self._result(embedded, options, {**kind_of, **self._clip_settings(options)}) | counts

    def _check_sets(self, columns: tuple[str, str], sizes: Sequence[list[int]], options: Mapping[str, Any]) -> None:
        """Raise unless both sides have as many rows, and no row is too large or too small."""
        check_set_counts(columns, sizes)
        self.check_sizes(list(zip(*sizes, strict=True)), columns, options)


def check_clip_set_options(options: Mapping[str, Any]) -> None:
    """Raise unless the options of `CLIP_SET_DEFAULTS` have legal values."""
    check_clip_options({name: options[name] for name in CLIP_SET_DEFAULTS})
    encoder = options["encoder"]
    if isinstance(encoder, str) and encoder == CLIP and options["long_texts"] == "window":
        raise ValueError(
            f"long_texts: expected 'truncate' with encoder={CLIP!r}, got 'window'. Give long_captions='window', which "
            "is the option of the CLIP."
        )


def check_one_of_each(
    images: Sequence[object], captions: Sequence[object], embeddings: Sequence[object], n_added: int
) -> None:
    """Raise unless each side has either images or captions, and nothing besides."""
    if n_added or any(rows is not None for rows in embeddings):
        raise ValueError(
            f"{IMAGE_COLUMNS[0]}: expected images in place of ready embeddings and of rows added before, got both. "
            "Leave one of them out."
        )
    for column, other, image, caption in zip(IMAGE_COLUMNS, CAPTION_COLUMNS, images, captions, strict=True):
        if image is not None and caption is not None:
            raise ValueError(f"{column}: expected images in place of {other}, got both. Leave one of them out.")
        if image is None and caption is None:
            raise ValueError(f"{column}: expected images, or captions as {other}, got neither. Give one of them.")


def check_set_counts(columns: Sequence[str], sizes: Sequence[Sequence[int]]) -> None:
    """Raise unless both sides have as many rows, and no row has more than `MOST_IN_ROW` images and captions."""
    first, second = sizes
    if len(first) != len(second):
        raise ValueError(
            f"{columns[1]}: expected one set for each of the {len(first)} rows of {columns[0]}, got {len(second)}. "
            "Row i of both is compared; a list without lists in it is one row."
        )
    large = [i for i, pair in enumerate(zip(first, second, strict=True)) if sum(pair) > MOST_IN_ROW]
    if large:
        raise ValueError(
            f"{columns[0]}[{large[0]}]: expected at most {MOST_IN_ROW:,} images and captions in a row, got "
            f"{first[large[0]] + second[large[0]]:,}. Split both sides into equally many rows; values of all "
            "rows together, such as CMMD, do not change."
        )


def as_image_sets(images: object, column: str) -> ImageSets:
    """Read a column of images: a list of lists is one set a row, a list of images one row.

    >>> sets = as_image_sets([["a.png", "b.png"], ["c.png"]], "prediction_images")
    >>> sets.sizes, sets.place(2), as_image_sets(["a.png"], "prediction_images").sizes
    ([2, 1], 'prediction_images[1][0]', [1])
    """
    check_no_table(images, column, IMAGE_SETS)
    if not _is_set(images):
        raise TypeError(f"{column}: expected {IMAGE_SETS}, got {_kind(images)}. Put the image into a list.")
    values: Iterable[Any] = images  # type: ignore[assignment]
    rows = values if isinstance(values, Iterator) else iter(decoded_values(values, column, "an image"))
    first = next(rows, None)
    if first is None:
        nothing = "an empty list" if isinstance(values, Sized) and not len(values) else "None"
        raise ValueError(f"{column}: expected at least one image, got {nothing}. Give a list of images.")
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
        raise TypeError(
            f"{where}: expected a list of images as in the first row, got {_kind(row)}. Put the image into a list."
        )
    images = list(decoded_values(row, where, "an image"))
    if not images:
        raise ValueError(f"{where}: expected at least one image, got an empty list. Leave the row out of both columns.")
    return images


def _kind(value: object) -> str:
    return "one image" if isinstance(value, str | bytes | os.PathLike | PIL.Image.Image) else type(value).__name__


# Distances with a name, and the features that they are made for.
PRESETS = {"cmmd": "CLIP ViT-L/14 at 336 pixels, of length 1", "kid": "the 2,048 numbers of Inception's last pooling"}

# Weights that make the features of "kid".
KID_WEIGHTS = "pt_inception-2015-12-05-6726825d.pth"


def check_features(preset: str | None, encoder: object, what: str) -> None:
    """Raise if the features of a preset differ from those of captions or images."""
    if preset == "kid":
        raise OSError(
            f"preset={preset!r}: expected ready features ({PRESETS[preset]}), got {what}. Make them with the weights "
            f"{KID_WEIGHTS}, which are not run here, and give them as prediction_embeddings=... and "
            "reference_embeddings=..."
        )
    if preset == "cmmd" and not (isinstance(encoder, str) and encoder in (DEFAULT_ENCODER, CLIP)):
        raise ValueError(
            f"encoder: expected {CLIP!r} for preset='cmmd' of {what}, got {shown_value(encoder)}. Leave encoder out, "
            "or give features of your own as prediction_embeddings=... and reference_embeddings=..."
        )
