"""Document frequencies for CIDEr-D in training: the pickle of SCST code, read without running code, or a table."""

import functools
import io
import math
import os
import pathlib
import pickle
from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from manycaps.kit.errors import InputError, quote_path, quote_value, reason_of
from manycaps.kit.files import open_regular_file, path_state
from manycaps.kit.ngrams import Frequency, joined_frequency, load_document_frequency, tuple_frequency

# All that such a pickle may name; Python 2 called the module of `float` otherwise.
ALLOWED = {
    ("collections", "defaultdict"): defaultdict,
    **{(module, each.__name__): each for module in ("builtins", "__builtin__") for each in (float, int)},
    ("__builtin__", "long"): int,
}

# How files are named in SCST code: CiderD(df="coco-train-words") means data/coco-train-words.p.
PLACES = ("{}", "{}.p", "data/{}.p", "data/{}")

# Largest pickle in bytes; COCO's training captions take 0.1 GB.
LARGEST_PICKLE = 1 << 30

# What makes dicts, strings and numbers, remembers them, and names a class of `ALLOWED`; and what makes tuples.
OPCODES = (
    *(pickle.PROTO, pickle.FRAME, pickle.MARK, pickle.STOP, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE),
    *(pickle.EMPTY_DICT, pickle.DICT, pickle.SETITEM, pickle.SETITEMS, pickle.EMPTY_TUPLE),
    *(pickle.UNICODE, pickle.BINUNICODE, pickle.SHORT_BINUNICODE, pickle.BINUNICODE8),
    *(pickle.STRING, pickle.BINSTRING, pickle.SHORT_BINSTRING),
    *(pickle.INT, pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG, pickle.LONG1, pickle.LONG4),
    *(pickle.FLOAT, pickle.BINFLOAT, pickle.GLOBAL, pickle.STACK_GLOBAL, pickle.REDUCE),
    *(pickle.PUT, pickle.BINPUT, pickle.LONG_BINPUT, pickle.MEMOIZE, pickle.GET, pickle.BINGET, pickle.LONG_BINGET),
)
TUPLES = (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)

# Types of the items of a tuple, or its items in place of a defaultdict's arguments.
STRINGS, NUMBERS = {str}, {float, int}


class _Opcodes(dict[int, Any]):
    """What a reader does at each opcode; others are refused."""

    def __missing__(self, code: int) -> None:
        raise pickle.UnpicklingError("more than dicts, tuples, strings and numbers")


def _check_strings(load: Any) -> Any:
    """Make a tuple as `load`, and raise unless it holds strings, or the class of numbers that a defaultdict makes."""

    def check(reader: Any) -> None:
        load(reader)
        made = reader.stack[-1]
        if set(map(type, made)) != STRINGS and not set(made) <= NUMBERS:
            raise pickle.UnpicklingError("a tuple of something else than strings")

    return check


class _Reader(pickle._Unpickler):
    """A reader of pickles that makes nothing but dicts, tuples of strings, strings and numbers.

    In Python, as slow as that is: the reader in C makes tuples within tuples, and a hash of many ends the process.
    """

    dispatch = _Opcodes(
        {code[0]: pickle._Unpickler.dispatch[code[0]] for code in OPCODES}
        | {code[0]: _check_strings(pickle._Unpickler.dispatch[code[0]]) for code in TUPLES}
    )

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the allowed classes."""
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name}, which is no dict, tuple, string or number")
        return ALLOWED[module, name]


class Frequencies(NamedTuple):
    """Document frequencies of a file or a mapping."""

    # Looks n-grams up by their tokens.
    frequency: Frequency
    # Number of all documents.
    n_documents: float
    # As they were read: n-grams are tuples of tokens, or joined by blanks.
    counts: Mapping[Any, float]

    @property
    def table(self) -> dict[tuple[str, ...], float]:
        """The counts by tuples of tokens."""
        return {tuple(key.split(" ")) if isinstance(key, str) else key: count for key, count in self.counts.items()}


def load_frequencies(df: str | os.PathLike[str] | Mapping[str, Any]) -> Frequencies:
    """Return the document frequencies of a file or a mapping."""
    if isinstance(df, Mapping):
        return _from_table(df)
    path = _file_of(os.fspath(df))
    return _load_file(path, path_state(path))


def _from_table(table: str | os.PathLike[str] | Mapping[str, Any]) -> Frequencies:
    counts, n_documents = load_document_frequency(table)
    return Frequencies(joined_frequency(counts), n_documents, counts)


def _file_of(name: str) -> pathlib.Path:
    """The file that SCST code means by a name."""
    path = next((path for pattern in PLACES if (path := pathlib.Path(pattern.format(name))).is_file()), None)
    if path is None:
        got = f"{quote_value(name)}, and neither it nor {PLACES[2].format(name)} is a file"
        raise InputError("df", "'corpus' or the path of a file", got, "Check the path.")
    return path


@functools.lru_cache(2)
def _load_file(path: pathlib.Path, _state: tuple[Hashable, ...]) -> Frequencies:
    """Frequencies of a file, cached in this process until it changes."""
    if path.suffix == ".json":
        return _from_table(path)
    try:
        with open_regular_file(path, LARGEST_PICKLE) as file:
            # In memory: a length that a pickle only claims is not reserved.
            content = io.BytesIO(file.read())
        counts, n_documents = _as_counts(_Reader(content, encoding="latin1").load())
    except Exception as error:  # a damaged pickle raises whatever its reader meets
        form = "{'document_frequency': {('a', 'dog'): 312}, 'ref_len': 8092}"
        fix = "Make a table with `manycaps count-document-frequency`."
        raise InputError("df", f"a pickle of {form} in {quote_path(path)}", reason_of(error), fix) from None
    return Frequencies(tuple_frequency(counts), n_documents, counts)


def _as_counts(content: Any) -> tuple[dict[tuple[str, ...], float], float]:
    """Counts and the number of documents of a pickle; ValueError says what is there in their place."""
    for name in ("document_frequency", "ref_len"):
        if not isinstance(content, dict) or name not in content:
            raise ValueError(f"no {name}")
    counts, n_documents = content["document_frequency"], content["ref_len"]
    if not isinstance(counts, dict):
        raise ValueError(f"{type(counts).__name__} as document_frequency")
    if not _is_number(n_documents, 2):
        raise ValueError(f"{quote_value(n_documents)} as ref_len")
    for ngram, count in counts.items():
        if not isinstance(ngram, tuple) or not ngram:
            raise ValueError(f"{quote_value(ngram)} as an n-gram")
        if not _is_number(count, 0):
            raise ValueError(f"{quote_value(count)} as the number of documents with {quote_value(ngram)}")
    return counts, float(n_documents)


def _is_number(value: object, least: float) -> bool:
    """Whether a value is a finite number of at least `least`."""
    return type(value) in (int, float) and least <= value < math.inf  # type: ignore[operator]
