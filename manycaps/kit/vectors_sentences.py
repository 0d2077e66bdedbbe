"""Vectors of texts: checks of vectors that users and models give, and encoders of sentences.

Texts that are longer than an encoder reads are truncated, or read in windows of whole sentences.
"""

import collections
import math
import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import as_list, as_numbers
from .errors import InputError, InputTypeError, check_installed, quote_value
from .files import local_path, path_state
from .options import Option, check_device, defaults_of, one_of, value_table, whole_number
from .rows import LONG_TEXTS, NOT_ROWS, check_no_table
from .vectors_models import (
    DEFAULT_ENCODER,
    DEFAULT_REVISION,
    PREFIX,
    KnownPieces,
    SharedModel,
    SharedModels,
    WordVectors,
    is_word_vectors,
    load_model,
    model_folder,
    network_arithmetic,
    read_word_vectors,
    word_vectors_path,
)

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
        got = f"{array[j, :3].tolist()}, ... ({int((~usable).sum())} of {len(features)} given together)"
        raise InputError(name_of(j), "finite features that are not all 0 as float32", got, f"Encode the {what} again.")
    return features


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
            ARRAY_COLUMNS[0], "embeddings alone", "captions or rows added before as well", "Leave them out."
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
        expected = f"an embedding that is not all zeros, which has no cosine ({len(places)} such texts in all)"
        raise InputError(places[0], expected, "zeros", "Leave these captions out, or use another encoder.")


def check_embeddings(array: np.ndarray, where: str) -> None:
    """Raise unless `array` is a non-empty table of finite floating-point numbers; messages begin with `where`.

    Raises:
        TypeError: other numbers than floating-point ones.
        ValueError: another rank, no rows or columns, a number that is NaN, infinite or above `LARGEST_NUMBER`, a vector
            that is not 0 and has all numbers below `SMALLEST_NUMBER`.
    """
    if not np.issubdtype(array.dtype, np.floating):
        raise InputTypeError(where, "floating-point numbers", array.dtype, "Convert counts or ids by .astype(float).")
    if array.ndim != 2 or not array.size:
        raise InputError(
            where, "an array of shape (n, d), n and d at least 1", f"shape {array.shape}", "Give one vector per text."
        )
    # Of each vector; wide enough for every type, also in comparisons.
    largest = np.maximum(array.max(axis=1), -array.min(axis=1)).astype(np.longdouble)  # (n,)
    is_large = ~(largest <= LARGEST_NUMBER)  # or NaN
    if is_large.any():
        j = int(np.argmax(is_large))
        oddest = array[j][~(np.abs(array[j].astype(np.longdouble)) <= LARGEST_NUMBER)][0]
        got = f"{oddest} ({int(is_large.sum())} such vectors in all)"
        raise InputError(
            f"{where}[{j}]", f"finite numbers of size at most {LARGEST_NUMBER:g}", got, "Check the encoder."
        )
    is_small = (largest > 0) & (largest < SMALLEST_NUMBER)
    if is_small.any():
        j = int(np.argmax(is_small))
        expected = f"zeros, or a number of size at least {SMALLEST_NUMBER:g}"
        got = f"a vector up to {largest[j]:g} ({int(is_small.sum())} such vectors in all)"
        raise InputError(f"{where}[{j}]", expected, got, "Multiply all embeddings by one factor.")


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
        expected = f"one vector for each of the {n_captions} distinct captions"
        raise InputError("encoder output", expected, len(array), "Return an array of shape (n, d), in their order.")
    return array


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


HOW_TO_GET_THE_LIBRARY = "Run `pip install 'manycaps[embeddings]'`, or give a function as encoder=..."

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


def check_encoder(name: str, encoder: object) -> None:
    """Raise unless `encoder` is a name, a path or a function."""
    if not isinstance(encoder, str | os.PathLike) and not callable(encoder):
        expected = "a model's name or folder, or a function from captions to vectors"
        raise InputTypeError(name, expected, type(encoder).__name__, f"Leave it out for {DEFAULT_ENCODER}.")


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
            return _remembered(shared, captions, shared.model.means)
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
        got = f"{quote_value(text)}, of which it knows none ({len(places)} such texts in all)"
        fix = OTHER_VECTORS if unit == "words" else OTHER_ENCODER
        raise InputError(where, f"a text of which the encoder knows some {unit}", got, fix)

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
    def encode(new: list[str]) -> np.ndarray:
        with network_arithmetic(shared.model.device):
            return _encode(shared.model, new, batch_size, progress)

    return _remembered(shared, texts, encode)


def _remembered(
    shared: SharedModel[Any], texts: Sequence[str], encode: Callable[[list[str]], np.ndarray]
) -> np.ndarray:
    """Encode the texts that are not remembered."""
    known = {text: vector for text in texts if (vector := shared.remembered.get(text)) is not None}
    new = [text for text in texts if text not in known]
    if new:
        with shared.lock:
            encoded = encode(new)
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
            expected = "'truncate' for a model that does not say how much it reads"
            raise InputError("long_texts", expected, "'window'", "Leave it out, or use a tokenizer of transformers.")
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
