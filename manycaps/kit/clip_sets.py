"""Sets of images and of captions as CLIP features of length 1, and the contract of modules that compare such sets."""

import bisect
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .arrays import Progress, as_list
from .clip_checkpoints import variant_name
from .clip_encoder import (
    ClipEncoder,
    as_feature_rows,
    check_checkpoint,
    count_unread,
    encode_images,
    long_captions_name,
)
from .clip_model import DTYPES
from .errors import InputError, InputOSError, InputTypeError, check_exclusive, check_n_rows, quote_value
from .images import decode_values, is_one_image
from .module import CollectionModule
from .options import Option, Ready, by_value, check_choice, one_of, or_none
from .rows import LONG_TEXTS, NOT_ROWS, as_caption_rows, check_no_table, warn_of_decoder_signs, warn_of_unread
from .sets_module import CAPTION_COLUMNS, ComparableRows
from .vectors_models import DEFAULT_ENCODER
from .vectors_rows import as_embedding_rows, encode_rows, rows_of_vectors
from .vectors_sentences import (
    ARRAY_COLUMNS,
    ENCODER_OPTIONS,
    OF_SENTENCES,
    SentenceEncoder,
    encoder_settings,
    unit_vectors,
)

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
        raise InputError("encoder", f"{CLIP!r} for images", quote_value(options["encoder"]), "Leave encoder out.")
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
        raise InputError(IMAGE_COLUMNS[0], "images alone", "embeddings or rows added before as well", "Leave them out.")
    for column, other, image, caption in zip(IMAGE_COLUMNS, CAPTION_COLUMNS, images, captions, strict=True):
        check_exclusive({column: image, other: caption}, is_needed=True)


def check_set_counts(columns: Sequence[str], sizes: Sequence[Sequence[int]]) -> None:
    """Raise unless both sides have as many rows, and no row has more than `MOST_IN_ROW` images and captions."""
    first, second = sizes
    fix = "Row i of both is compared; a list without lists in it is one row."
    check_n_rows(columns[1], len(second), columns[0], len(first), "set", fix)
    large = [i for i, pair in enumerate(zip(first, second, strict=True)) if sum(pair) > MOST_IN_ROW]
    if large:
        expected, got = (
            f"at most {MOST_IN_ROW:,} images and captions in a row",
            f"{first[large[0]] + second[large[0]]:,}",
        )
        raise InputError(f"{columns[0]}[{large[0]}]", expected, got, "Split both sides into equally many rows.")


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
        fix = f"Give prediction_embeddings=... and reference_embeddings=... of {KID_WEIGHTS}, not run here."
        raise InputOSError(f"preset={preset!r}", f"ready features ({PRESETS[preset]})", what, fix)
    if preset == "cmmd" and not (isinstance(encoder, str) and encoder in (DEFAULT_ENCODER, CLIP)):
        fix = "Leave encoder out, or give ready prediction_embeddings=... and reference_embeddings=..."
        raise InputError("encoder", f"{CLIP!r} for preset='cmmd' of {what}", quote_value(encoder), fix)
