"""Concepts in captions: lists of labels, matches, and concepts shared with a training set."""

import functools
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse
from nltk.stem.porter import PorterStemmer

from .arrays import TokenList, TokenRows
from .errors import InputError, InputTypeError, as_input_errors, quote_path, quote_value
from .files import open_regular_file
from .ngrams_bleu import CrossBleu
from .words_tokenizers import Tokenizer, tokenize_rows

# Largest file of labels in bytes: ImageNet's 21,841 names are 1 MB.
LARGEST_FILE = 16 * 2**20

# Text before or behind a label in published files: a WordNet id (n01440764), the folders of Places (/a/), and
# a number. The latter is looked for from the first blank or comma of several: a line of commas would take the square of
# its length.
BEFORE = re.compile(r"^(n\d{8}[\s,:]+|/[a-z]/)")
BEHIND = re.compile(r"(?<![\s,])[\s,]+\d+$")

# Between the name of a list and the way of matching, in the keys that count its labels.
LABELS_SUFFIX = "_labels"

LabelSource = str | os.PathLike[str] | Sequence[str]


# For messages about labels.
EXAMPLE_OF_LABELS = "Give for example {'coco': ['person', 'bicycle']}."


def check_labels(labels: object) -> None:
    """Raise unless `labels` map names to lists of texts or to paths; no file is opened."""
    if not isinstance(labels, Mapping):
        raise InputTypeError("labels", "lists of labels, or files, by name", type(labels).__name__, EXAMPLE_OF_LABELS)
    if not labels:
        raise InputError("labels", "at least one list", "none", EXAMPLE_OF_LABELS)
    for name, source in labels.items():
        if not isinstance(name, str) or not name.isidentifier():
            fix = "Rename it: keys of the result begin with it."
            raise InputError("labels", "names of letters, digits and _", quote_value(name), fix)
        if name.endswith(LABELS_SUFFIX) and name.removesuffix(LABELS_SUFFIX) in labels:
            raise InputError("labels", "names whose keys differ", f"{name!r} and its beginning", "Rename one.")
        if isinstance(source, str | os.PathLike):
            continue
        if not isinstance(source, list | tuple) or not all(isinstance(label, str) for label in source):
            raise InputTypeError(
                f"labels[{name!r}]", "a list of texts, or a path", quote_value(source), "Write one text per label."
            )
        if not any(label.strip() for label in source):
            raise InputError(f"labels[{name!r}]", "at least one label", "none", "Give texts that are not blank.")


def load_labels(name: str, source: LabelSource) -> list[tuple[str, ...]]:
    """Return the labels of a list in order, equal ones once, each with its other names, in lower case.

    `source` has labels, or is the path of a text file with one per line. A WordNet id or a folder of one letter before
    a label and a number behind it are left out; "_" is a space; commas separate the names of one label, and what
    follows a "/" says where or how, and is left out. `name` names the list in messages.

    >>> load_labels("imagenet", ["n01440764 tench, Tinca tinca", "/a/apartment_building/outdoor 8", "Person"])
    [('tench', 'tinca tinca'), ('apartment building',), ('person',)]
    """
    lines = source if isinstance(source, list | tuple) else _lines(name, source)  # type: ignore[arg-type]
    labels = dict.fromkeys(filter(None, map(label_names, lines)))
    if not labels:
        raise InputError(f"labels[{name!r}]", "at least one label", "none", "Write one per line.")
    return list(labels)


def label_names(line: str) -> tuple[str, ...]:
    """Return the names of a label in lower case; none of a blank line.

    >>> label_names("n02119789: kit fox, Vulpes macrotis")
    ('kit fox', 'vulpes macrotis')
    """
    text = BEHIND.sub("", BEFORE.sub("", line.strip().lower()))
    names = (" ".join(part.split("/")[0].replace("_", " ").split()) for part in text.split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def digest(labels: Sequence[tuple[str, ...]]) -> str:
    """Return the first digits of a hash of labels, for signatures."""
    return hashlib.blake2b(repr(list(labels)).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _lines(name: str, path: str | os.PathLike[str]) -> list[str]:
    where, expected, shown = f"labels[{name!r}]", "a text file, one label per line", quote_path(path)
    with as_input_errors(where, expected, "Check the path.", shown), open_regular_file(path, LARGEST_FILE) as file:
        # Not `splitlines`, which also splits at U+2028 and other signs within a line.
        return re.split(r"\r\n?|\n", file.read().decode("utf-8-sig"))


# Ways to match, from the paper's to the loosest.
WAYS = ("exact", "words", "fuzzy")

Labels = Sequence[tuple[str, ...]]


def concept_matches(
    captions: Sequence[str], labels: Labels, way: str, tokenizer: Tokenizer = "ptb"
) -> scipy.sparse.csr_array:
    """Find the labels of every caption: zeros and ones, shape (n_captions, n_labels).

    A label, a tuple of names in lower case, is found where one of its names is. "exact": the name is a part of the
    caption in lower case, also inside a word (the paper's); "words": the name's tokens follow each other in the
    caption; "fuzzy": every word of the name shares its Porter stem with a word of the caption, wherever it stands.
    `tokenizer` makes the tokens, as for `tokenize_rows`; "exact" has none.

    >>> labels = [("cat",), ("playing baseball",)]
    >>> for way in WAYS:
    ...     concept_matches(["Located at a baseball game", "Cats play baseball"], labels, way).toarray().tolist()
    [[1, 0], [1, 0]]
    [[0, 0], [0, 0]]
    [[0, 0], [1, 1]]
    """
    names = sorted({name for names in labels for name in names})
    if way == "exact":
        lowered = [" ".join(caption.lower().split()) for caption in captions]
        captions_of_name = _with_part(lowered, {name: name for name in names})
    else:
        tokens, name_tokens = tokenize_rows([captions, names], tokenizer)
        tokens_of_name = {name: words for name, words in zip(names, name_tokens, strict=True) if words}
        if way == "words":
            runs = {name: f" {' '.join(words)} " for name, words in tokens_of_name.items()}
            captions_of_name = _with_part([f" {' '.join(words)} " for words in tokens], runs)
        else:
            captions_of_name = _with_stems(tokens, tokens_of_name)
    rows, columns = [], []
    for column, label in enumerate(labels):
        having = sorted({caption for name in label for caption in captions_of_name.get(name, ())})
        rows += having
        columns += [column] * len(having)
    shape = (len(captions), len(labels))
    return scipy.sparse.csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)


def row_matches(
    rows: Sequence[Sequence[str]], labels: Labels, way: str, tokenizer: Tokenizer = "ptb"
) -> scipy.sparse.csr_array:
    """Count the captions of every row that name a label: whole numbers, shape (n_rows, n_labels)."""
    numbers = {caption: i for i, caption in enumerate(dict.fromkeys(caption for row in rows for caption in row))}
    lines = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    columns = np.array([numbers[caption] for row in rows for caption in row], np.int64)
    ones = np.ones(len(columns), np.int64)
    captions_of_rows = scipy.sparse.csr_array((ones, (lines, columns)), shape=(len(rows), len(numbers)))
    return captions_of_rows @ concept_matches(list(numbers), labels, way, tokenizer)


def _with_part(texts: Sequence[str], parts: Mapping[str, str]) -> dict[str, list[int]]:
    """Numbers of the texts that hold the part of each name."""
    # Most names of a long list occur nowhere: one search through all texts rules them out.
    everything = "\n".join(texts)
    return {
        name: [i for i, text in enumerate(texts) if part in text] for name, part in parts.items() if part in everything
    }


def _with_stems(captions: Sequence[TokenList], names: Mapping[str, TokenList]) -> dict[str, list[int]]:
    """Numbers of the captions with the stems of each name's words."""
    stem = functools.cache(PorterStemmer().stem)
    captions_with: dict[str, set[int]] = {}
    for i, tokens in enumerate(captions):
        for token in tokens:
            captions_with.setdefault(stem(token), set()).add(i)
    return {
        name: sorted(set.intersection(*(captions_with.get(stem(token), set()) for token in tokens)))
        for name, tokens in names.items()
    }


# Scores of candidates with rows that are held at once, 8 bytes each in some arrays.
MAX_CELLS = 2_000_000


class Transfer(NamedTuple):
    """Arrays of shape (n_rows,); NaN for a row without a candidate."""

    # BLEU-4 of the best candidate, and mean BLEU-4 of all.
    best: np.ndarray
    mean: np.ndarray
    # Number of candidates.
    n_candidates: np.ndarray


def best_transfer(
    candidates: Sequence[TokenList],
    rows: TokenRows,
    candidate_labels: scipy.sparse.csr_array,
    row_labels: scipy.sparse.csr_array,
) -> Transfer:
    """Score every candidate with the rows with which it shares a label, by BLEU-4.

    H_i = union of R_c over the labels c of row i, without the row's own captions R_i; the best of H_i against R_i. The
    candidates are all different; labels are zeros and ones, shapes (n_candidates, n_labels) and (n_rows, n_labels).
    """
    table = CrossBleu(candidates, rows)
    own = _own_captions(candidates, rows)
    best, total, number = np.full(len(rows), -np.inf), np.zeros(len(rows)), np.zeros(len(rows), np.int64)
    step = max(1, MAX_CELLS // len(rows))
    rows_by_label = row_labels.T.tocsr()
    for begin in range(0, len(candidates), step):
        end = min(begin + step, len(candidates))
        allowed = (candidate_labels[begin:end] @ rows_by_label).toarray() > 0
        allowed &= ~own[begin:end].toarray()
        scores = table.scores(begin, end)
        best = np.maximum(best, np.where(allowed, scores, -np.inf).max(axis=0))
        total += np.where(allowed, scores, 0).sum(axis=0)
        number += allowed.sum(axis=0)
    some = number > 0
    mean = np.divide(total, number, out=np.full(len(rows), np.nan), where=some)
    return Transfer(np.where(some, best, np.nan), mean, number)


def _own_captions(candidates: Sequence[TokenList], rows: TokenRows) -> scipy.sparse.csr_array:
    """Which candidates are captions of which rows: bool, shape (n_candidates, n_rows)."""
    numbers = {tuple(tokens): i for i, tokens in enumerate(candidates)}
    pairs = {
        (numbers[tuple(tokens)], row) for row, texts in enumerate(rows) for tokens in texts if tuple(tokens) in numbers
    }
    lines, columns = zip(*sorted(pairs), strict=True) if pairs else ((), ())
    shape = (len(candidates), len(rows))
    return scipy.sparse.csr_array((np.ones(len(pairs), bool), (lines, columns)), shape=shape)
