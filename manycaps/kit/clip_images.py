"""Columns of images to CLIP features: each distinct one decoded and encoded once, decoded while the model works."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .arrays import map_in_order
from .clip_encoder import ClipEncoder
from .clip_model import FeatureError
from .errors import InputError, InputTypeError, check_n_rows
from .images import as_image_source, as_model_pixels, as_numpy, as_rgb_image, decode_values, is_array, is_one_image
from .rows import check_no_table
from .vectors_sentences import as_features


def encode_images(
    encoder: ClipEncoder,
    images: Iterable[object],
    column: str,
    batch_size: int,
    n_workers: int | None,
    place: Callable[[int], str] | None = None,
    *,
    ready: bool = False,
) -> list[bytes]:
    """Encode a column of images as they come; at most a few batches of pixels are in memory.

    Returns float32 features of each image, as bytes; equal pixels have equal ones, and an image that is remembered has
    the bits that it had the first time.

    Messages name the `column`, and an image as `place` names its number. `n_workers` threads read and decode: None for
    one per processor core, at most 8. With `ready`, an image may be its features, as `ready_features` takes them.
    """
    work = _ImageWork(encoder, batch_size, place or f"{column}[{{}}]".format, ready)
    bar = encoder.bar(column, "image", total=len(images) if isinstance(images, Sized) else None)
    with bar, ThreadPoolExecutor(n_workers or min(8, os.cpu_count() or 1)) as pool:
        rows = enumerate(decode_values(images, column, "an image"))
        for picture in map_in_order(pool, work.prepare, rows, 2 * batch_size):
            work.take(picture)
            bar.update(1)
        work.encode()
    return [work.features[work.hashes[key]] for key in work.keys]


class _Picture(NamedTuple):
    """An image on its way to the model."""

    # Hash of the file, or of the pixels where there is no file.
    key: bytes
    # Empty where another row of the column has the same file.
    pixels_hash: bytes = b""
    # If the features are cached, they replace the pixels.
    pixels: np.ndarray | None = None
    features: bytes | None = None


class _ImageWork:
    """A column of images: threads prepare them, and the caller's thread runs the model on those that are new."""

    def __init__(self, encoder: ClipEncoder, batch_size: int, place: Callable[[int], str], ready: bool) -> None:
        self.encoder, self.batch_size, self.place, self.ready = encoder, batch_size, place, ready
        self.model, self.remembered = encoder.model, encoder.remembered
        # Each row's file as a hash; the pixels' hash by the file's; and the features by the pixels' hash.
        self.keys: list[bytes] = []
        self.hashes: dict[bytes, bytes] = {}
        self.features: dict[bytes, bytes] = {}
        # Pixels that wait for the model, and the first row of each, by hash of the pixels.
        self.waiting: dict[bytes, np.ndarray] = {}
        self.row_of: dict[bytes, int] = {}
        # Files that are decoded already, or are being decoded by some thread.
        self.claimed: set[bytes] = set()
        self.lock = threading.Lock()

    def prepare(self, item: tuple[int, object]) -> _Picture:
        """Read an image, and decode it unless another row has the same file or its features are remembered."""
        where = self.place(item[0])
        if self.ready and is_vector(item[1]):
            features = ready_features(item[1], where, self.model.n_features, "this checkpoint has").tobytes()
            key = _hash(features)
            return _Picture(key, key, features=features)
        source = as_image_source(item[1], where)
        key = _hash(source) if isinstance(source, bytes) else b""
        if key and not self._claim(key):
            return _Picture(key)
        pixels_hash = self.remembered.get(("file", key)) if key else None
        if pixels_hash and (features := self.remembered.get(("pixels", pixels_hash))):
            return _Picture(key, pixels_hash, features=features)
        # Two rows may hold the same PIL image, whose lazy loading is not safe from two threads.
        with self.lock if isinstance(source, PIL.Image.Image) else contextlib.nullcontext():
            image = as_rgb_image(source, where)
        pixels = as_model_pixels(image, self.model.image_size)
        pixels_hash = _hash(pixels.tobytes())
        features = self.remembered.get(("pixels", pixels_hash))
        return _Picture(key or pixels_hash, pixels_hash, pixels if features is None else None, features)

    def take(self, picture: _Picture) -> None:
        """Take the next row in; a full batch goes through the model."""
        self.keys.append(picture.key)
        if not picture.pixels_hash:
            return
        self.hashes[picture.key] = picture.pixels_hash
        if picture.key != picture.pixels_hash:
            self.remembered.put(("file", picture.key), picture.pixels_hash, len(picture.pixels_hash))
        if picture.features is not None:
            self.features[picture.pixels_hash] = picture.features
        elif picture.pixels is not None and picture.pixels_hash not in self.features:
            self.waiting[picture.pixels_hash] = picture.pixels
            self.row_of.setdefault(picture.pixels_hash, len(self.keys) - 1)
        if len(self.waiting) >= self.batch_size:
            self.encode()

    def encode(self) -> None:
        """Run the model on the pixels that wait."""
        if not self.waiting:
            return
        try:
            encoded = self.model.image_features(np.stack(list(self.waiting.values())))
        except FeatureError as error:
            row = self.row_of[list(self.waiting)[error.place]]
            raise error.with_place(self.place(row), self.encoder.checkpoint.source) from error
        for key, row in zip(self.waiting, encoded, strict=True):
            self.features[key] = row.tobytes()
            self.remembered.put(("pixels", key), self.features[key], row.nbytes)
        self.waiting.clear()

    def _claim(self, key: bytes) -> bool:
        """Return whether the caller is the first to ask for this file."""
        with self.lock:
            first = key not in self.claimed
            self.claimed.add(key)
            return first


def is_vector(image: object) -> bool:
    """Return whether a value is the features of an image instead of the image: an array or tensor of shape (d,).

    >>> is_vector(np.ones(8)), is_vector(np.ones((8, 8, 3))), is_vector("dog.png")
    (True, False, False)
    """
    return is_array(image) and getattr(image, "ndim", None) == 1


def ready_features(image: object, where: str, d: int, whose: str) -> np.ndarray:
    """Return the features of an image that the user computed, floating-point, as a float32 array, shape (d,).

    In messages `where` names column and row, and `whose` says who has d features. Raises TypeError for no such array,
    and ValueError for another length, or features without a cosine.
    """
    array = as_numpy(image, where) if is_vector(image) else None
    if array is None or not np.issubdtype(array.dtype, np.floating):
        kind = type(image).__name__ if array is None else f"{array.dtype} of shape {array.shape}"
        fix = "Embedded captions go with image features of the same model, and pictures with captions as words."
        raise InputTypeError(where, "features of an image, floats of shape (d,)", kind, fix)
    if array.shape != (d,):
        expected = f"{d} features per image, as {whose}"
        raise InputError(where, expected, len(array), "Encode the image with the same checkpoint.")
    return as_features(array[None], lambda _: where, "image")[0]


def check_image_column(images: object) -> None:
    """Raise unless `images` is a column of images, not one image, or an array of features, shape (n, d)."""
    check_no_table(images, "images", "a list of images")
    is_table = is_array(images) and getattr(images, "ndim", None) == 2
    is_table = is_table and np.issubdtype(as_numpy(images, "images").dtype, np.floating)
    if (is_one_image(images) and not is_table) or not isinstance(images, Iterable):
        shape = getattr(images, "shape", None)
        kind = type(images).__name__ if shape is None else f"array of shape {tuple(shape)}"
        raise InputTypeError("images", "a list of images", f"one {kind}", "Give one image per row, in a list.")


def check_item_count(n_predictions: int, n_items: int, item: str) -> None:
    """Raise unless there are as many items, images or videos, as rows of captions."""
    fix = f"Row i of both belongs together; several captions of one {item} go into one list."
    check_n_rows(f"{item}s", n_items, "predictions", n_predictions, item, fix)


def as_stored_features(features: Iterable[bytes | np.ndarray]) -> list[dict[str, Any]]:
    """Return the features of a column of images or videos as evaluate stores them: equal ones once, at the first row.

    >>> [row["features"] for row in as_stored_features([b"1234", b"5678", b"1234"])]
    [b'1234', b'5678', None]
    """
    stored: list[dict[str, Any]] = []
    seen: set[str] = set()
    for row in features:
        content = bytes(row)
        key = _hash(content).hex()
        stored.append({"key": key, "features": None if key in seen else content})
        seen.add(key)
    return stored


def features_of_rows(stored: Iterable[Mapping[str, Any]], n_features: int) -> list[np.ndarray]:
    """Return the features of every row of a column that `as_stored_features` made, or several, one after the other.

    Returns:
        n_rows float32 arrays, shape (n_vectors, d): one vector for an image, one per frame for a video.

    >>> rows = as_stored_features(np.array([[[1, 2]], [[1, 2]]], np.float32))
    >>> [row.tolist() for row in features_of_rows(rows, 2)]
    [[[1.0, 2.0]], [[1.0, 2.0]]]
    """
    rows = list(stored)
    known = {
        row["key"]: np.frombuffer(row["features"], dtype=np.float32).reshape(-1, n_features)
        for row in rows
        if row["features"] is not None
    }
    return [known[row["key"]] for row in rows]


def as_feature_rows(features: Sequence[bytes]) -> np.ndarray:
    """Return features as `encode_images` returned them as one float32 array, shape (n, d)."""
    return np.frombuffer(b"".join(features), dtype=np.float32).reshape(len(features), -1)


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
