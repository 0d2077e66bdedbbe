# Vendored from helpers/shared_clip_rows.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Columns of images and captions to CLIP features: each distinct one encoded once, decoding beside the model's work."""

import collections
import contextlib
import hashlib
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .shared_clip_checkpoints import Checkpoint, find_checkpoint, variant_name
from .shared_clip_model import DTYPES, ClipModel, engine_name, merge_lora, read_weights
from .shared_image_input import as_image_source, as_model_pixels, as_rgb_image
from .shared_options import check_choice, check_flag, check_whole_number

# Options that decide the model; given at load time only, since images are encoded when they are added.
CLIP_LOAD_DEFAULTS: Mapping[str, Any] = {
    "checkpoint": None,
    "device": "auto",
    "dtype": "float32",
    "compile": False,
}

# Options of every call; n_workers None means one thread for each processor core, at most 8.
CLIP_CALL_DEFAULTS: Mapping[str, Any] = {"batch_size": 64, "n_workers": None}

# Seconds after which a progress bar appears: a training loop adds many small batches.
PROGRESS_DELAY = 2.0

# Pairs of vectors compared at once: 8192 x 768 x 8 bytes = 50 MB.
PAIRS_AT_ONCE = 8192


class TextFeatures(NamedTuple):
    """Features of a list of texts."""

    # float32, shape (n_distinct, d).
    distinct: np.ndarray
    # Row of `distinct` for each text, shape (n_texts,).
    rows: np.ndarray
    # Texts that were longer than the model reads.
    n_truncated: int


class ClipEncoder:
    """A checkpoint, loaded when it is first needed, and the features of the images seen since the last `forget`.

    Args:
        config_name: name of a variant.
        options: `CLIP_LOAD_DEFAULTS` with the user's values.
        progress: a tqdm class.
        option: under which name the module takes the variant.
    """

    def __init__(
        self, config_name: str | None, options: Mapping[str, Any], progress: Any, option: str = "config_name"
    ) -> None:
        self.variant = variant_name(config_name, option)
        self.options = options
        self.progress = progress
        self.option = option
        self._loaded: tuple[ClipModel, Checkpoint] | None = None
        # Features of each distinct picture, as bytes, by the hash of its pixels as the model sees them.
        self._features: dict[bytes, bytes] = {}
        # Hash of those pixels by the hash of the file.
        self._files: dict[bytes, bytes] = {}

    @property
    def model(self) -> ClipModel:
        """The model, loaded at the first use."""
        return self._load()[0]

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the weights came from."""
        return self._load()[1]

    def forget(self) -> None:
        """Drop the features of images."""
        self._features.clear()
        self._files.clear()

    def encode_images(
        self, images: Iterable[object], column: str, batch_size: int, n_workers: int | None
    ) -> list[bytes]:
        """Encode a column of images as they come; at no time are more than a few batches of pixels held.

        Args:
            images: any iterable of what `as_image_source` takes.
            column: name of the input column, for the messages.
            batch_size: images encoded at once.
            n_workers: threads that read and decode.

        Returns:
            float32 features of each image, as bytes.

        Raises:
            TypeError, ValueError: an image cannot be used; nothing of the column is kept then but finished features.
        """
        model, claims = self.model, _Claims(self._files)

        def prepare(item: tuple[int, object]) -> _Picture:
            return _prepare(item[1], f"{column}[{item[0]}]", model.image_size, claims)

        keys: list[bytes] = []
        waiting: dict[bytes, np.ndarray] = {}
        hashes: dict[bytes, bytes] = {}
        bar = self.progress(total=_length(images), desc=column, unit="image", leave=False, delay=PROGRESS_DELAY)
        with bar, ThreadPoolExecutor(n_workers or min(8, os.cpu_count() or 1)) as pool:
            for picture in ordered_results(pool, prepare, enumerate(images), 2 * batch_size):
                keys.append(picture.key)
                if picture.pixels is not None:
                    hashes[picture.key] = picture.pixels_hash
                    if picture.pixels_hash not in self._features:
                        waiting[picture.pixels_hash] = picture.pixels
                if len(waiting) >= batch_size:
                    self._encode_waiting(waiting)
                bar.update(1)
            self._encode_waiting(waiting)
        self._files.update(hashes)
        return [self._features[self._files[key]] for key in keys]

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> TextFeatures:
        """Encode texts, each distinct one once.

        Args:
            texts: n texts, the prompt already before them.
            batch_size: images that would be encoded at once.

        Returns:
            The features of the distinct texts, and which text has which.

        Raises:
            ValueError: the model gives values that are not finite.
        """
        places: dict[str, int] = {}
        rows = np.array([places.setdefault(text, len(places)) for text in texts])
        tokens = [self.model.tokenize(text) for text in places]
        features = self.model.text_features(tokens, batch_size, self.text_bar)
        n_truncated = int(np.array([text.truncated for text in tokens])[rows].sum())
        return TextFeatures(features, rows, n_truncated)

    def signature_parts(self) -> dict[str, str]:
        """Return what identifies the weights and the arithmetic, for a signature."""
        checkpoint = self.checkpoint
        return {
            "variant": checkpoint.variant,
            "checkpoint": checkpoint.source,
            "sha256": checkpoint.sha256,
            "activation": checkpoint.treatment.activation,
            "dtype": self.options["dtype"],
            "engine": engine_name(),
        }

    def _load(self) -> tuple[ClipModel, Checkpoint]:
        if self._loaded is None:
            options = self.options
            checkpoint = find_checkpoint(self.variant, options["checkpoint"], self.progress, self.option)
            model = ClipModel(
                merge_lora(read_weights(checkpoint.path)),
                **checkpoint.treatment._asdict(),
                device=options["device"],
                dtype=options["dtype"],
                compile=options["compile"],
            )
            self._loaded = model, checkpoint
        return self._loaded

    def _encode_waiting(self, waiting: dict[bytes, np.ndarray]) -> None:
        """Move a batch of pixels through the model."""
        if waiting:
            features = self.model.image_features(np.stack(list(waiting.values())))
            self._features.update((key, row.tobytes()) for key, row in zip(waiting, features, strict=True))
            waiting.clear()

    def text_bar(self, batches: Sequence[list[int]]) -> Any:
        """Show the progress over batches of texts."""
        return self.progress(batches, desc="captions", unit="batch", leave=False, delay=PROGRESS_DELAY)


class _Picture(NamedTuple):
    """An image on its way to the model; without pixels where another row has the same file."""

    # Hash of the file, or of the pixels where there is no file.
    key: bytes
    pixels_hash: bytes
    pixels: np.ndarray | None


class _Claims:
    """Which files are decoded already, or are being decoded by some thread."""

    def __init__(self, known: Iterable[bytes]) -> None:
        self._keys = set(known)
        self.lock = threading.Lock()

    def claim(self, key: bytes) -> bool:
        """Return whether the caller is the first to ask for this file."""
        with self.lock:
            first = key not in self._keys
            self._keys.add(key)
            return first


def check_clip_options(options: Mapping[str, Any]) -> None:
    """Raise unless the options of the encoder have legal values; those that are absent are not checked.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value out of range.
    """
    checkpoint = options.get("checkpoint")
    if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
        raise TypeError(
            f"checkpoint: expected a path or a Hub repository, got {type(checkpoint).__name__}. Save the weights with "
            "torch.save or safetensors and give the path."
        )
    if "device" in options and not isinstance(options["device"], str):
        raise TypeError(f"device: expected a name, got {type(options['device']).__name__}. Give for example 'cuda:0'.")
    if "dtype" in options:
        check_choice("dtype", options["dtype"], DTYPES)
        check_flag("compile", options["compile"])
    check_whole_number("batch_size", options["batch_size"], 1)
    if options["n_workers"] is not None:
        check_whole_number("n_workers", options["n_workers"], 1)


def check_prompt(prompt: object) -> None:
    """Raise unless `prompt` is a string.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(prompt, str):
        raise TypeError(f"prompt: expected a string, got {type(prompt).__name__}. Give '' for no prompt.")


def with_prompt(prompt: str, captions: Iterable[str]) -> list[str]:
    """Put a prompt and a space before each caption.

    >>> with_prompt("A photo depicts", ["a dog"]), with_prompt("", ["a dog"])
    (['A photo depicts a dog'], ['a dog'])
    """
    start = prompt if not prompt or prompt.endswith(" ") else prompt + " "
    return [start + caption for caption in captions]


def check_image_column(images: object, column: str) -> None:
    """Raise unless `images` is a column of images, not one image.

    Raises:
        TypeError: it is none.
    """
    one = isinstance(images, str | bytes | os.PathLike | Mapping | PIL.Image.Image)
    if one or not isinstance(images, Iterable) or (isinstance(images, np.ndarray) and images.ndim in (2, 3)):
        kind = f"array of shape {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
        raise TypeError(f"{column}: expected a list of images, got one {kind}. Give one image per row, in a list.")


def check_image_count(n_predictions: int, n_images: int) -> None:
    """Raise unless there are as many images as rows of captions.

    Raises:
        ValueError: the numbers differ.
    """
    if n_predictions != n_images:
        raise ValueError(
            f"images: expected one image for each of the {n_predictions} rows of predictions, got {n_images}. "
            "Row i of both columns belongs together; several captions of an image go into one list."
        )


def check_rows_added(module: Any, *columns: object) -> None:
    """Raise if a compute has neither columns of its own nor rows added before.

    Raises:
        ValueError: there is nothing to compute.
    """
    if all(column is None for column in columns) and len(module) == 0:
        raise ValueError("predictions: expected at least one row, got none. Add rows before computing.")


def as_feature_rows(features: Sequence[bytes]) -> np.ndarray:
    """Return features as `encode_images` returned them as one float32 array, shape (n, d).

    >>> as_feature_rows([np.ones(2, np.float32).tobytes()]).tolist()
    [[1.0, 1.0]]
    """
    return np.frombuffer(b"".join(features), dtype=np.float32).reshape(len(features), -1)


def paired_cosines(x: np.ndarray, y: np.ndarray, x_rows: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
    """Cosine of x[x_rows[k]] and y[y_rows[k]] for each k, in float64.

    Args:
        x: array, shape (n, d), no zero rows.
        y: array, shape (m, d), no zero rows.
        x_rows: integers, shape (n_pairs,).
        y_rows: integers, shape (n_pairs,).

    Returns:
        float64 array, shape (n_pairs,), from -1 to 1 but for rounding.

    >>> paired_cosines(np.eye(2), np.ones((1, 2)), np.array([0, 1]), np.array([0, 0])).round(4).tolist()
    [0.7071, 0.7071]
    """
    cosines = np.empty(len(x_rows))
    for start in range(0, len(x_rows), PAIRS_AT_ONCE):
        pairs = slice(start, start + PAIRS_AT_ONCE)
        cosines[pairs] = np.einsum("nd,nd->n", _unit(x[x_rows[pairs]]), _unit(y[y_rows[pairs]]))
    return cosines


def row_means(values: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Mean of each run of `sizes` values, one run after the other.

    >>> row_means(np.array([1.0, 2.0, 6.0]), [1, 2])
    [1.0, 4.0]
    """
    return [math.fsum(run) / len(run) for run in split_rows(values.tolist(), sizes)]


def split_rows(values: Sequence[Any], sizes: Sequence[int]) -> list[Sequence[Any]]:
    """Cut a sequence into runs of the given sizes.

    >>> split_rows([1, 2, 6], [1, 2])
    [[1], [2, 6]]
    """
    ends = np.cumsum(sizes)
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def ordered_results(
    pool: ThreadPoolExecutor, function: Callable[[Any], Any], items: Iterable[Any], n_ahead: int
) -> Iterator[Any]:
    """Apply a function to items in a pool and yield the results in order, at most `n_ahead` items ahead.

    The items are taken in the caller's thread, so a generator need not be thread-safe.
    """
    waiting: collections.deque[Future[Any]] = collections.deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:  # after an error
            future.cancel()


def _prepare(image: object, where: str, size: int, claims: _Claims) -> _Picture:
    """Read an image, and decode it unless another row has the same file."""
    source = as_image_source(image, where)
    key = hashlib.blake2b(source, digest_size=16).digest() if isinstance(source, bytes) else b""
    if key and not claims.claim(key):
        return _Picture(key, b"", None)
    # Two rows may hold the same PIL image, whose lazy loading is not safe from two threads.
    with claims.lock if isinstance(source, PIL.Image.Image) else contextlib.nullcontext():
        image = as_rgb_image(source, where)
    pixels = as_model_pixels(image, size)
    pixels_hash = hashlib.blake2b(pixels.tobytes(), digest_size=16).digest()
    return _Picture(key or pixels_hash, pixels_hash, pixels)


def _length(column: object) -> int | None:
    return len(column) if hasattr(column, "__len__") else None


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors in float64."""
    vectors = vectors.astype(np.float64)  # (n, d)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
