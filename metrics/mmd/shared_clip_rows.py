# Vendored from manycaps/shared_clip_rows.py. Edit it there, then run `make format`.
"""Columns of images and captions to CLIP features: each distinct one encoded once, decoding beside the model's work."""

import collections
import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .shared_caption_rows import check_no_table
from .shared_clip_checkpoints import Checkpoint, find_checkpoint, local_checkpoint, variant_name
from .shared_clip_model import DTYPES, ClipModel, FeatureError, Tokens, engine_name
from .shared_clip_weights import merge_lora, read_weights
from .shared_image_input import as_image_source, as_model_pixels, as_rgb_image, decoded_values, scaler_name
from .shared_long_captions import LONG_CAPTIONS, mean_direction, sentence_windows
from .shared_messages import shown_value
from .shared_module import check_choice, check_flag, check_whole_number
from .shared_remembered_features import RememberedFeatures

# Options that decide the model; given at load time only, since images are encoded when they are added.
CLIP_LOAD_DEFAULTS: Mapping[str, Any] = {
    "variant": None,
    "checkpoint": None,
    "device": "auto",
    "dtype": "float32",
    "compile": False,
}

# Options of every call; long_captions "truncate" drops what a model does not read, "window" reads runs of whole
# sentences; n_workers None means one thread for each processor core, at most 8.
CLIP_CALL_DEFAULTS: Mapping[str, Any] = {"batch_size": 64, "n_workers": None, "long_captions": "truncate"}

# Bytes of features that an encoder remembers, of images, texts and videos together: with ViT-B/32 90,000 images.
REMEMBERED_BYTES = 1 << 28

# Largest batch_size: more images at once than any memory holds.
LARGEST_BATCH = 1_000_000

# Most threads that are started: beyond some per processor core they only wait for each other.
MOST_WORKERS = 1024

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
    # Texts of which words were not read: they, or one of their sentences, were longer than the model reads.
    n_truncated: int
    # Texts that were read in several windows.
    n_windowed: int = 0

    def counts(self, long_captions: str) -> dict[str, int]:
        """Return the keys that a result has of long texts."""
        windowed = {"n_windowed": self.n_windowed} if long_captions == "window" else {}
        return {"n_truncated": self.n_truncated} | windowed


class ReadText(NamedTuple):
    """What a text is read in: itself, or runs of its sentences."""

    parts: Sequence[str]
    # Of each part.
    tokens: Sequence[Tokens]

    def joined_ids(self) -> tuple[int, ...]:
        """Return the token numbers as if the parts had been read as a whole.

        >>> ReadText(["a b", "c"], [Tokens((8, 1, 2, 9), False), Tokens((8, 3, 9), False)]).joined_ids()
        (8, 1, 2, 3, 9)
        """
        ids = [tokens.ids for tokens in self.tokens]
        return (ids[0][0], *(i for own in ids for i in own[1:-1]), ids[0][-1])


class ClipEncoder:
    """A checkpoint, loaded when it is first needed, and the features that were used last.

    So systems that are compared on the same images and references encode these once.

    Args:
        options: `CLIP_LOAD_DEFAULTS` with the user's values.
        progress: a tqdm class.
        config_name: evaluate's short form of the option variant, in modules that give it no other meaning.

    Raises:
        ValueError: there is no such variant, or both forms are given and differ.
    """

    def __init__(self, options: Mapping[str, Any], progress: Any, config_name: str | None = None) -> None:
        self.variant = chosen_variant(options["variant"], config_name)
        self.options = options
        self.progress = progress
        # Features by content: hash of the file to hash of the pixels as the model sees them, that to features; text to
        # features; hash of a video to features of its frames.
        self.remembered = RememberedFeatures(REMEMBERED_BYTES)
        self._loaded: tuple[ClipModel, Checkpoint] | None = None

    @property
    def model(self) -> ClipModel:
        """The model, loaded at the first use."""
        return self._load()[0]

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the weights came from."""
        return self._load()[1]

    def local_checkpoint(self) -> Checkpoint | None:
        """Return the user's own weights where they lie on this disk; nothing is downloaded.

        Raises:
            ValueError: they are not there, or cannot be used.
        """
        given = self.options["checkpoint"]
        return None if given is None else local_checkpoint(self.variant, given)

    def forget(self) -> None:
        """Drop all features."""
        self.remembered.clear()

    def encode_images(
        self,
        images: Iterable[object],
        column: str,
        batch_size: int,
        n_workers: int | None,
        place: Callable[[int], str] | None = None,
    ) -> list[bytes]:
        """Encode a column of images as they come; at no time are more than a few batches of pixels held.

        Args:
            images: any iterable of what `as_image_source` takes.
            column: name of the input column, for the messages.
            batch_size: images encoded at once.
            n_workers: threads that read and decode.
            place: from the number of an image to what a message calls it; None for `column[number]`.

        Returns:
            float32 features of each image, as bytes; those of equal pixels are the same, and an image that is
            remembered has the bits that it had the first time.

        Raises:
            TypeError, ValueError: an image cannot be used; nothing of the column is kept then but finished features.
        """
        model, claims, place = self.model, _Claims(), place or f"{column}[{{}}]".format

        def prepare(item: tuple[int, object]) -> _Picture:
            return _prepare(item[1], place(item[0]), model.image_size, claims, self.remembered)

        keys: list[bytes] = []
        # Of this column: hash of the pixels by hash of the file, and features by hash of the pixels.
        hashes: dict[bytes, bytes] = {}
        features: dict[bytes, bytes] = {}
        waiting: dict[bytes, np.ndarray] = {}
        rows_of: dict[bytes, int] = {}
        bar = self.progress(total=_length(images), desc=column, unit="image", leave=False, delay=PROGRESS_DELAY)
        with bar, ThreadPoolExecutor(n_workers or min(8, os.cpu_count() or 1)) as pool:
            rows = enumerate(decoded_values(images, column, "an image"))
            for picture in ordered_results(pool, prepare, rows, 2 * batch_size):
                keys.append(picture.key)
                if picture.features is not None:
                    features[picture.pixels_hash] = picture.features
                if picture.pixels is not None and picture.pixels_hash not in features:
                    waiting[picture.pixels_hash] = picture.pixels
                    rows_of.setdefault(picture.pixels_hash, len(keys) - 1)
                if picture.pixels_hash:
                    hashes[picture.key] = picture.pixels_hash
                    if picture.key != picture.pixels_hash:
                        self.remembered.put(("file", picture.key), picture.pixels_hash, len(picture.pixels_hash))
                if len(waiting) >= batch_size:
                    features |= self._encode_waiting(waiting, place, rows_of)
                bar.update(1)
            features |= self._encode_waiting(waiting, place, rows_of)
        return [features[hashes[key]] for key in keys]

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
        known = {text: found for text in places if (found := self.remembered.get(("text", text))) is not None}
        new = {text: self.model.tokenize(text) for text in places if text not in known}
        if new:
            with self._texts_named(list(new)):
                encoded = self.model.text_features(list(new.values()), batch_size, self.text_bar)
            for (text, tokens), features in zip(new.items(), encoded, strict=True):
                known[text] = features, tokens.truncated
                self.remembered.put(("text", text), (features.copy(), tokens.truncated), features.nbytes)
        distinct = [known[text] for text in places]
        n_truncated = int(np.array([truncated for _, truncated in distinct])[rows].sum())
        return TextFeatures(np.stack([features for features, _ in distinct]), rows, n_truncated)

    def encode_captions(self, prompt: str, captions: Sequence[str], options: Mapping[str, Any]) -> TextFeatures:
        """Encode captions behind a prompt, each distinct one once; long ones as the option `long_captions` says.

        Args:
            prompt: words before every caption, and before every window of one.
            captions: n captions.
            options: batch_size and long_captions.

        Returns:
            The features of the distinct captions; of one that is read in windows their `mean_direction`.

        Raises:
            ValueError: the model gives values that are not finite, or windows whose features cancel out.
        """
        if options["long_captions"] == "truncate":
            return self.encode_texts(with_prompt(prompt, captions), options["batch_size"])
        places: dict[str, int] = {}
        rows = np.array([places.setdefault(caption, len(places)) for caption in captions])
        windows = [self.windows(prompt, caption) for caption in places]
        encoded = self.encode_texts([text for texts in windows for text in texts], options["batch_size"])
        ends = np.cumsum([len(texts) for texts in windows])
        features = [
            mean_direction(encoded.distinct[encoded.rows[end - len(texts) : end]])
            for texts, end in zip(windows, ends, strict=True)
        ]
        lost = np.array([any(self.model.tokenize(text).truncated for text in texts) for texts in windows])
        several = np.array([len(texts) > 1 for texts in windows])
        return TextFeatures(np.stack(features), rows, int(lost[rows].sum()), int(several[rows].sum()))

    def windows(self, prompt: str, caption: str) -> list[str]:
        """Return what a caption is read in: itself, or runs of its sentences, each behind the prompt."""
        start = with_prompt(prompt, [""])[0]
        parts = sentence_windows(caption, lambda text: not self.model.tokenize(start + text).truncated)
        return [start + part for part in parts]

    def read_texts(self, texts: Iterable[str], long_captions: str) -> dict[str, "ReadText"]:
        """Return for each text what it is read in, itself or runs of its sentences, and the tokens of these."""
        read = {}
        for text in texts:
            tokens = self.model.tokenize(text)
            is_split = tokens.truncated and long_captions == "window"
            parts = self.windows("", text) if is_split else [text]
            read[text] = ReadText(parts, [self.model.tokenize(part) for part in parts] if is_split else [tokens])
        return read

    def encode_tokens(self, texts: Mapping[str, Tokens], batch_size: int) -> dict[str, np.ndarray]:
        """Encode every token of texts.

        Args:
            texts: distinct texts and their tokens.
            batch_size: images that would be encoded at once.

        Returns:
            For each text a float32 array, shape (n_tokens, d).

        Raises:
            ValueError: the model gives values that are not finite.
        """
        known = {text: found for text in texts if (found := self.remembered.get(("tokens", text))) is not None}
        new = [text for text in texts if text not in known]
        if new:
            with self._texts_named(new):
                encoded = self.model.token_features([texts[text] for text in new], batch_size, self.text_bar)
            for text, features in zip(new, encoded, strict=True):
                known[text] = features
                self.remembered.put(("tokens", text), features.copy(), features.nbytes)
        return known

    @contextlib.contextmanager
    def _texts_named(self, texts: Sequence[str]) -> Iterator[None]:
        """Around the encoding of texts: say of which one the features cannot be used."""
        try:
            yield
        except FeatureError as error:
            raise error.named(f"text {shown_value(texts[error.place])}", self.checkpoint.source) from error

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
            "scaling": scaler_name(),
        }

    def _load(self) -> tuple[ClipModel, Checkpoint]:
        if self._loaded is None:
            options = self.options
            checkpoint = find_checkpoint(self.variant, options["checkpoint"], self.progress)
            model = ClipModel(
                merge_lora(read_weights(checkpoint.path)),
                **checkpoint.treatment._asdict(),
                device=options["device"],
                dtype=options["dtype"],
                compile=options["compile"],
            )
            self._loaded = model, checkpoint
        return self._loaded

    def _encode_waiting(
        self, waiting: dict[bytes, np.ndarray], place: Callable[[int], str], rows_of: Mapping[bytes, int]
    ) -> dict[bytes, bytes]:
        """Move a batch of pixels through the model, and return its features."""
        if not waiting:
            return {}
        try:
            encoded = self.model.image_features(np.stack(list(waiting.values())))
        except FeatureError as error:
            row = rows_of[list(waiting)[error.place]]
            raise error.named(place(row), self.checkpoint.source) from error
        features = {key: row.tobytes() for key, row in zip(waiting, encoded, strict=True)}
        for key, row in features.items():
            self.remembered.put(("pixels", key), row, len(row))
        waiting.clear()
        return features

    def text_bar(self, batches: Sequence[list[int]]) -> Any:
        """Show the progress over batches of texts."""
        return self.progress(batches, desc="captions", unit="batch", leave=False, delay=PROGRESS_DELAY)


class _Picture(NamedTuple):
    """An image on its way to the model."""

    # Hash of the file, or of the pixels where there is no file.
    key: bytes
    # Empty where another row of the column has the same file.
    pixels_hash: bytes = b""
    # Where the features are remembered, they are in place of the pixels.
    pixels: np.ndarray | None = None
    features: bytes | None = None


class _Claims:
    """Which files of a column are decoded already, or are being decoded by some thread."""

    def __init__(self) -> None:
        self._keys: set[bytes] = set()
        self.lock = threading.Lock()

    def claim(self, key: bytes) -> bool:
        """Return whether the caller is the first to ask for this file."""
        with self.lock:
            first = key not in self._keys
            self._keys.add(key)
            return first


def chosen_variant(variant: str | None, config_name: str | None) -> str:
    """Return the full name of the variant that was asked for, in either form.

    Args:
        variant: the option.
        config_name: evaluate's second argument, or None.

    Raises:
        ValueError: there is no such variant, or both are given and differ.

    >>> chosen_variant(None, "openclip-vit-l-14")
    'pac-openclip-vit-l-14'
    """
    if config_name in (None, "default"):
        return variant_name(variant)
    short = variant_name(config_name)
    if variant is not None and variant_name(variant) != short:
        raise ValueError(f"variant: expected one choice of weights, got {variant!r} and {config_name!r}. Give one.")
    return short


def check_clip_options(options: Mapping[str, Any]) -> None:
    """Raise unless the options of the encoder have legal values; those that are absent are not checked.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value out of range.
    """
    variant_name(options.get("variant"))
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
    check_whole_number("batch_size", options["batch_size"], 1, LARGEST_BATCH)
    if "long_captions" in options:
        check_choice("long_captions", options["long_captions"], LONG_CAPTIONS)
    if options["n_workers"] is not None:
        check_whole_number("n_workers", options["n_workers"], 1, MOST_WORKERS)


def count_long_texts(texts: Sequence[ReadText], long_captions: str) -> dict[str, int]:
    """Return the keys that a result has of long texts.

    >>> count_long_texts([ReadText(["a", "b"], [Tokens((8, 9), False), Tokens((8, 9), True)])], "window")
    {'n_truncated': 1, 'n_windowed': 1}
    """
    n_truncated = sum(any(tokens.truncated for tokens in text.tokens) for text in texts)
    windowed = {"n_windowed": sum(len(text.parts) > 1 for text in texts)} if long_captions == "window" else {}
    return {"n_truncated": n_truncated} | windowed


def long_captions_name(options: Mapping[str, Any]) -> str | None:
    """Name what is done with long captions, for a signature; None for "truncate", which is not named.

    >>> long_captions_name({"long_captions": "window"})
    'window'
    """
    return None if options["long_captions"] == "truncate" else str(options["long_captions"])


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
        TypeError: it is not one.
    """
    check_no_table(images, column, "a list of images")
    one = isinstance(images, str | bytes | bytearray | os.PathLike | Mapping | set | frozenset | PIL.Image.Image)
    if one or not isinstance(images, Iterable) or (isinstance(images, np.ndarray) and images.ndim in (0, 2, 3)):
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


def stored_features(features: Iterable[bytes | np.ndarray]) -> list[dict[str, Any]]:
    """Return the features of a column of images or videos as evaluate stores them: equal ones once, at the first row.

    Args:
        features: of each row, contiguous float32 numbers or their bytes.

    Returns:
        For each row `key`, a hash of its features, and `features`, their bytes, or None if an earlier row has them.

    >>> [row["features"] for row in stored_features([b"1234", b"5678", b"1234"])]
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
    """Return the features of every row of a column that `stored_features` made, or several, one after the other.

    Args:
        stored: the column, as evaluate returns it.
        n_features: d.

    Returns:
        n_rows float32 arrays, shape (n_vectors, d): one vector for an image, one per frame for a video.

    >>> rows = stored_features(np.array([[[1, 2]], [[1, 2]]], np.float32))
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
        cosines[pairs] = np.einsum("nd,nd->n", unit_vectors(x[x_rows[pairs]]), unit_vectors(y[y_rows[pairs]]))
    return cosines


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors to length 1, in float64.

    Args:
        vectors: floating-point array, shape (n, d), no row of zeros.

    Returns:
        float64 array, shape (n, d).

    >>> unit_vectors(np.array([[3.0, 4.0]], np.float32)).tolist()
    [[0.6, 0.8]]
    """
    vectors = vectors.astype(np.float64)  # (n, d)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


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


def _prepare(image: object, where: str, size: int, claims: _Claims, remembered: RememberedFeatures) -> _Picture:
    """Read an image, and decode it unless another row has the same file or its features are remembered."""
    source = as_image_source(image, where)
    key = _hash(source) if isinstance(source, bytes) else b""
    if key and not claims.claim(key):
        return _Picture(key)
    pixels_hash = remembered.get(("file", key)) if key else None
    if pixels_hash and (features := remembered.get(("pixels", pixels_hash))):
        return _Picture(key, pixels_hash, features=features)
    # Two rows may hold the same PIL image, whose lazy loading is not safe from two threads.
    with claims.lock if isinstance(source, PIL.Image.Image) else contextlib.nullcontext():
        image = as_rgb_image(source, where)
    pixels = as_model_pixels(image, size)
    pixels_hash = _hash(pixels.tobytes())
    features = remembered.get(("pixels", pixels_hash))
    return _Picture(key or pixels_hash, pixels_hash, pixels if features is None else None, features)


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _length(column: object) -> int | None:
    return len(column) if hasattr(column, "__len__") else None
