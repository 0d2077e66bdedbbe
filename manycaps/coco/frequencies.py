"""Document frequencies for CIDEr-D in training: the pickle of SCST code, read without running code, or a table."""

import functools
import os
import pathlib
import pickle
from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from manycaps.kit.base_files import path_state
from manycaps.kit.base_messages import reason_of, shown_value
from manycaps.kit.text_document_frequency import load_document_frequency
from manycaps.kit.text_reference_ngrams import Frequency

# All that such a pickle may name; Python 2 called the module of `float` otherwise.
ALLOWED = {
    ("collections", "defaultdict"): defaultdict,
    **{(module, each.__name__): each for module in ("builtins", "__builtin__") for each in (float, int)},
}

# How files are named in SCST code: CiderD(df="coco-train-words") means data/coco-train-words.p.
PLACES = ("{}", "{}.p", "data/{}.p", "data/{}")


class _Reader(pickle.Unpickler):
    """A reader of pickles that makes nothing but dicts, tuples, strings and numbers."""

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the allowed classes."""
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name}, which is no dict, tuple, string or number")
        return ALLOWED[module, name]


class Frequencies(NamedTuple):
    """Document frequencies of a file or a mapping."""

    # Number of documents with an n-gram, as a function of its tokens.
    frequency: Frequency
    # Number of all documents.
    n_documents: float
    # As they were read: n-grams are tuples of tokens, or joined by blanks.
    counts: Mapping[Any, float]

    @property
    def table(self) -> dict[tuple[str, ...], float]:
        """The counts by tuples of tokens."""
        return {tuple(key.split(" ")) if isinstance(key, str) else key: count for key, count in self.counts.items()}


def cached_frequencies(df: str | os.PathLike[str] | Mapping[str, Any]) -> Frequencies:
    """Return the document frequencies of a file or a mapping.

    Raises:
        ValueError: there is no such file, or it holds something else.
    """
    if isinstance(df, Mapping):
        return _from_table(df)
    path = _file_of(os.fspath(df))
    return _of_file(path, path_state(path))


def _from_table(table: str | os.PathLike[str] | Mapping[str, Any]) -> Frequencies:
    counts, n_documents = load_document_frequency(table)
    return Frequencies(lambda ngram: counts.get(" ".join(ngram), 0), n_documents, counts)


def _file_of(name: str) -> pathlib.Path:
    """The file that SCST code means by a name."""
    path = next((path for place in PLACES if (path := pathlib.Path(place.format(name))).is_file()), None)
    if path is None:
        raise ValueError(
            f"df: expected 'corpus' or the path of a file, got {shown_value(name)}, which is none, nor is "
            f"{PLACES[2].format(name)}. Check the path."
        )
    return path


@functools.lru_cache(2)
def _of_file(path: pathlib.Path, _state: tuple[Hashable, ...]) -> Frequencies:
    """Frequencies of a file, cached in this process until it changes."""
    if path.suffix == ".json":
        return _from_table(path)
    try:
        with path.open("rb") as file:
            found = _Reader(file, encoding="latin1").load()
        counts, n_documents = found["document_frequency"], float(found["ref_len"])
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(
            f"df: expected a pickle of {{'document_frequency': {{('a', 'dog'): 312}}, 'ref_len': 8092}} in {path}, got "
            f"{reason_of(error)}. Make a table with `manycaps count-document-frequency`."
        ) from None
    return Frequencies(lambda ngram: counts.get(ngram, 0.0), n_documents, counts)
