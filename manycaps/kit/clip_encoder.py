"""CLIP as the encoder of captions and of columns of images: its options and their checks, in all modules that have one.

Each distinct image is decoded and encoded once, and decoded while the model works.
"""

import contextlib
import hashlib
import os
import pathlib
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .arrays import map_in_order
from .clip_checkpoints import (
    CONFIG_FILE,
    CONFIG_NAME,
    PIXEL_FILES,
    Checkpoint,
    check_model,
    find_checkpoint,
    is_model,
    local_checkpoint,
    read_model,
    variant_name,
)
from .clip_model import (
    DTYPES,
    HOW_TO_GET_LIBRARIES,
    LIBRARIES,
    ClipModel,
    ClipTokens,
    FeatureError,
    Weights,
    engine_name,
    merge_lora,
    openai_names,
    read_weights,
)
from .errors import InputError, InputTypeError, check_installed, check_kind, check_n_rows, quote_value
from .files import is_folder, local_path, path_state
from .images import (
    as_image_source,
    as_model_pixels,
    as_numpy,
    as_rgb_image,
    decode_values,
    is_array,
    is_one_image,
    scaler_name,
)
from .options import (
    Option,
    by_value,
    check_device,
    check_flag,
    check_together,
    defaults_of,
    one_of,
    or_none,
    value_table,
    whole_number,
)
from .rows import LONG_TEXTS, check_no_table
from .vectors_models import RememberedFeatures, SharedModel, SharedModels, as_device
from .vectors_sentences import as_features, mean_direction, sentence_windows

# Largest batch_size: more images at once than any memory holds.
LARGEST_BATCH = 1_000_000

# Most threads that are started: beyond some per processor core they only wait for each other.
MOST_WORKERS = 1024


def choose_variant(variant: str | None, config_name: str | None) -> str:
    """Return the full name of the chosen variant, in either form.

    >>> choose_variant(None, "openclip-vit-l-14")
    'pac-openclip-vit-l-14'
    """
    if config_name in (None, "default"):
        return variant_name(variant)
    short = variant_name(config_name)
    if variant is not None and variant_name(variant) != short:
        raise InputError("variant", "one choice of weights", f"{variant!r} and {config_name!r}", "Give one.")
    return short


def check_checkpoint(name: str, checkpoint: object) -> None:
    """Raise unless `checkpoint` is a path."""
    check_kind(name, checkpoint, str | os.PathLike, "a path or a Hub repository", "Save the weights and give the path.")


# Options that decide the model; given at load time only, since images are encoded when they are added.
CLIP_LOAD_OPTIONS: dict[str, Option] = {
    "variant": Option(
        None,
        by_value(variant_name),
        'Which weights: `"pac-vit-b-32"` (the default), `"pac-openclip-vit-l-14"`, `"pac++-vit-b-32"`, '
        '`"pac++-vit-l-14"`, `"clip-vit-b-32"`, `"clip-vit-l-14"` or `"clip-vit-l-14-336"`; "pac-" may be left '
        "out. evaluate's second argument is a short form of it in pac_score and ref_pac_score.",
        at_load=True,
    ),
    "checkpoint": Option(
        None,
        or_none(check_checkpoint),
        "Weights of your own instead: a `.pth`, `.pt` or `.safetensors` file, a folder that `manycaps "
        "convert-checkpoint` wrote, or a Hub repository (`hub:models/clip` where its name looks like a path). A "
        "LongCLIP file, with its `positional_embedding_res`, is read as its authors read it, and all its 248 "
        "positions are used. Jina-CLIP is refused: open_clip has no model for it. With a checkpoint, `variant` "
        "only says how pixels and activations are treated where the files do not say so themselves.",
        at_load=True,
    ),
    "model": Option(
        None,
        check_together,
        "A CLIP of the library transformers instead: a `CLIPModel` in memory, as it is when the first row is "
        "added, or a folder or Hub repository that `CLIPModel.save_pretrained` wrote, read as safetensors "
        "alone. Its features equal the model's `get_image_features` and `get_text_features` to 1e-5; images "
        "are scaled by Pillow and captions split by CLIP's own vocabulary, as for all weights here. The signature "
        "names the class or the folder, and the sha256 of the weights. SigLIP and models other than CLIP are "
        "refused.",
        at_load=True,
        fits=check_model,
    ),
    "processor": Option(
        None,
        check_together,
        "The `AutoProcessor` of a model in memory, whose mean and deviation of pixels are used; by default OpenAI's. "
        "A folder has its own.",
        at_load=True,
    ),
    "device": Option(
        "auto", check_device, '`"auto"` (the best available one), or for example `"cuda:0"`.', at_load=True
    ),
    "dtype": Option("float32", one_of(DTYPES), '`"float32"` or `"bfloat16"`.', at_load=True),
    "compile": Option(False, check_flag, "`True` runs the encoders through `torch.compile`.", at_load=True),
}

# Options of every call.
CLIP_CALL_OPTIONS: dict[str, Option] = {
    "batch_size": Option(
        64, whole_number(1, LARGEST_BATCH), "Images encoded at once. It does not change the scores beyond 1e-6."
    ),
    "n_workers": Option(
        None,
        or_none(whole_number(1, MOST_WORKERS)),
        "Threads that decode images or videos; by default one for each processor core, at most 8.",
    ),
    "long_captions": Option(
        "truncate",
        one_of(LONG_TEXTS),
        "What to do with captions that are longer than the checkpoint reads (77 tokens; 248 for LongCLIP). "
        '`"truncate"` drops their last words; the end token is kept. `"window"` reads them in windows of whole '
        "sentences, as many as fit, each after the prompt if there is one, and takes the mean of their unit "
        "features; a single sentence that is too long is truncated. Both are counted.",
    ),
}

CLIP_LOAD_DEFAULTS, CLIP_CALL_DEFAULTS = defaults_of(CLIP_LOAD_OPTIONS), defaults_of(CLIP_CALL_OPTIONS)

# What a result has of captions that are longer than the checkpoint reads.
LONG_CAPTION_VALUES = value_table("""
    n_truncated, n_windowed | | | captions and references with words that were not read; with `long_captions="window"`
        those read in several windows
""")


def long_captions_name(options: Mapping[str, Any]) -> str | None:
    """Name the treatment of long captions, for a signature; None for "truncate", which is not named."""
    return None if options["long_captions"] == "truncate" else str(options["long_captions"])


def check_prompt(prompt: object) -> None:
    """Raise unless `prompt` is a string."""
    check_kind("prompt", prompt, str, "a string", "Give '' for no prompt.")


def with_prompt(prompt: str, captions: Iterable[str]) -> list[str]:
    """Put a prompt and a space before each caption.

    >>> with_prompt("A photo depicts", ["a dog"]), with_prompt("", ["a dog"])
    (['A photo depicts a dog'], ['a dog'])
    """
    start = prompt if not prompt or prompt.endswith(" ") else prompt + " "
    return [start + caption for caption in captions]


# Bytes of features that are remembered of a model, of images, texts and videos together: with ViT-B/32 90,000 images.
REMEMBERED_BYTES = 1 << 28

# Seconds after which a progress bar appears: a training loop adds many small batches.
PROGRESS_DELAY = 2.0

# The CLIPs in use in this process.
LOADED = SharedModels(REMEMBERED_BYTES)


class TextFeatures(NamedTuple):
    """Features of a list of texts."""

    # float32, shape (n_distinct, d).
    distinct: np.ndarray
    # Row of `distinct` for each text, shape (n_texts,).
    rows: np.ndarray
    # Truncated texts: they, or one of their sentences, were longer than the model reads.
    n_truncated: int
    # Texts that were read in several windows.
    n_windowed: int = 0

    def counts(self, long_captions: str) -> dict[str, int]:
        """Return the keys that a result has of long texts."""
        windowed = {"n_windowed": self.n_windowed} if long_captions == "window" else {}
        return {"n_truncated": self.n_truncated} | windowed


class ReadText(NamedTuple):
    """Parts in which a text is read: all of it, or runs of its sentences."""

    parts: Sequence[str]
    # Of each part.
    tokens: Sequence[ClipTokens]

    def join_ids(self) -> tuple[int, ...]:
        """Return the token numbers as if the parts had been read as a whole.

        >>> ReadText(["a b", "c"], [ClipTokens((8, 1, 2, 9), False), ClipTokens((8, 3, 9), False)]).join_ids()
        (8, 1, 2, 3, 9)
        """
        ids = [tokens.ids for tokens in self.tokens]
        return (ids[0][0], *(i for own in ids for i in own[1:-1]), ids[0][-1])


class ClipEncoder:
    """A checkpoint, loaded when it is first needed, and the features that were used last.

    Encoders of one process whose weights and arithmetic are the same share the model and its features: an image that
    several metrics score, or several systems describe, is encoded once.
    """

    def __init__(self, options: Mapping[str, Any], progress: Any, config_name: str | None = None) -> None:
        self.variant = choose_variant(options["variant"], config_name)
        self.options = options
        self.progress = progress
        self._loaded: tuple[SharedModel[ClipModel], Checkpoint] | None = None
        # Of the user's own files, as they were when the model was loaded.
        self._state: Hashable = ()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_loaded": None}  # a copy finds the model, with its features, or loads it

    @property
    def model(self) -> ClipModel:
        """The model, loaded at the first use."""
        return self._load()[0].model

    @property
    def remembered(self) -> RememberedFeatures:
        """The model's features by content: texts, their tokens, files and pixels of images, frames of videos."""
        return self._load()[0].remembered

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the weights came from."""
        return self._load()[1]

    def local_checkpoint(self) -> Checkpoint | None:
        """Return the user's own weights if they are on this disk; nothing is downloaded."""
        given = self.options["checkpoint"]
        return None if given is None else local_checkpoint(self.variant, given)

    def renew(self) -> None:
        """Unload a model whose files have changed on the disk; for the beginning of a call that encodes all rows."""
        if self._loaded is not None and self._state != self._files_state():
            self._loaded = None

    def forget(self) -> None:
        """Drop all features of the model, also for the other encoders that share it."""
        self.remembered.clear()

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> TextFeatures:
        """Encode texts that have their prompt already, each distinct one once."""
        places: dict[str, int] = {}
        rows = np.array([places.setdefault(text, len(places)) for text in texts])
        known = {
            text: text_features for text in places if (text_features := self.remembered.get(("text", text))) is not None
        }
        new = {text: self.model.tokenize(text) for text in places if text not in known}
        if new:
            with self._texts_named(list(new)):
                encoded = self.model.text_features(list(new.values()), batch_size, self._text_bar)
            for (text, tokens), features in zip(new.items(), encoded, strict=True):
                known[text] = features, tokens.truncated
                self.remembered.put(("text", text), (features.copy(), tokens.truncated), features.nbytes)
        distinct = [known[text] for text in places]
        n_truncated = int(np.array([truncated for _, truncated in distinct])[rows].sum())
        return TextFeatures(np.stack([features for features, _ in distinct]), rows, n_truncated)

    def encode_captions(self, prompt: str, captions: Sequence[str], options: Mapping[str, Any]) -> TextFeatures:
        """Encode captions behind a prompt, each distinct one once; long ones as the option `long_captions` says.

        A caption that is read in windows has their `mean_direction`.
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
        """Return the parts in which a caption is read: all of it, or runs of its sentences, each behind the prompt."""
        start = with_prompt(prompt, [""])[0]
        parts = sentence_windows(caption, lambda text: not self.model.tokenize(start + text).truncated)
        return [start + part for part in parts]

    def read_texts(self, texts: Iterable[str], long_captions: str) -> dict[str, "ReadText"]:
        """Return the parts in which each text is read, all of it or runs of its sentences, with their tokens."""
        read = {}
        for text in texts:
            tokens = self.model.tokenize(text)
            is_split = tokens.truncated and long_captions == "window"
            parts = self.windows("", text) if is_split else [text]
            read[text] = ReadText(parts, [self.model.tokenize(part) for part in parts] if is_split else [tokens])
        return read

    def encode_tokens(self, texts: Mapping[str, ClipTokens], batch_size: int) -> dict[str, np.ndarray]:
        """Encode every token of texts: for each text a float32 array, shape (n_tokens, d)."""
        known = {text: vectors for text in texts if (vectors := self.remembered.get(("tokens", text))) is not None}
        new = [text for text in texts if text not in known]
        if new:
            with self._texts_named(new):
                encoded = self.model.token_features([texts[text] for text in new], batch_size, self._text_bar)
            for text, features in zip(new, encoded, strict=True):
                known[text] = features
                self.remembered.put(("tokens", text), features.copy(), features.nbytes)
        return known

    @contextlib.contextmanager
    def _texts_named(self, texts: Sequence[str]) -> Iterator[None]:
        """Context of encoding texts: errors name the text whose features cannot be used."""
        try:
            yield
        except FeatureError as error:
            raise error.with_place(f"text {quote_value(texts[error.place])}", self.checkpoint.source) from error

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

    def _load(self) -> tuple[SharedModel[ClipModel], Checkpoint]:
        if self._loaded is None:
            check_installed(LIBRARIES, "checkpoint", HOW_TO_GET_LIBRARIES)
            self._state = self._files_state()
            checkpoint, file, read = self._find()
            device = str(as_device(self.options["device"]))
            settings = {**checkpoint.treatment._asdict(), "heads": checkpoint.heads, "file": checkpoint.path.name}
            settings |= {"device": device} | {name: self.options[name] for name in ("dtype", "compile")}
            shared = LOADED.get((file, *settings.values()), lambda: ClipModel(read(), **settings))
            self._loaded = shared, checkpoint
        return self._loaded

    def _files_state(self) -> Hashable:
        """What changes with the weights or their configurations, where these are files of the user."""
        given = self.options.get("model") or self.options["checkpoint"]
        if not isinstance(given, str | os.PathLike):
            return ()
        path = local_path(given)
        folder = path if is_folder(path) else path.parent
        weights = sorted(path.glob("*.safetensors")) if is_folder(path) else [path]
        configurations = (folder / name for name in (CONFIG_NAME, CONFIG_FILE, *PIXEL_FILES))
        return tuple(path_state(file) for file in (*weights, *configurations))

    def _find(self) -> tuple[Checkpoint, Hashable, Callable[[], Weights]]:
        """The weights, what distinguishes them from others, and how they are read."""
        model = self.options.get("model")
        if is_model(model):
            weights, settings, sha256 = read_model(model, self.options["processor"])
            name = type(model).__name__
            return Checkpoint(pathlib.Path(name), "custom", name, sha256, *settings), sha256, lambda: weights
        given = self.options["checkpoint"] if model is None else model
        option = "checkpoint" if model is None else "model"
        checkpoint = find_checkpoint(self.variant, given, self.progress, option)
        path, status = checkpoint.path, checkpoint.path.stat()
        file = (path.resolve(), status.st_mtime_ns, status.st_size, checkpoint.sha256)

        def read() -> Weights:
            weights = read_weights(path)
            # Without a configuration nothing says how many heads transformers' names stand for.
            return merge_lora(weights if checkpoint.heads is None else openai_names(weights), path.name)

        return checkpoint, file, read

    def bar(self, desc: str, unit: str, *batches: Sequence[list[int]], total: int | None = None) -> Any:
        """Return a progress bar over batches, or of so many steps."""
        return self.progress(*batches, total=total, desc=desc, unit=unit, leave=False, delay=PROGRESS_DELAY)

    def _text_bar(self, batches: Sequence[list[int]]) -> Any:
        return self.bar("captions", "batch", batches)


def count_unread(texts: Sequence[ReadText], long_captions: str) -> dict[str, int]:
    """Return the keys that a result has of long texts.

    >>> count_unread([ReadText(["a", "b"], [ClipTokens((8, 9), False), ClipTokens((8, 9), True)])], "window")
    {'n_truncated': 1, 'n_windowed': 1}
    """
    n_truncated = sum(any(tokens.truncated for tokens in text.tokens) for text in texts)
    windowed = {"n_windowed": sum(len(text.parts) > 1 for text in texts)} if long_captions == "window" else {}
    return {"n_truncated": n_truncated} | windowed


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
