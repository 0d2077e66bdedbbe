"""Which captions mention which labels: as a part of their text, as words, or by the stems of words.

Chan, Myers et al. (2022), section 6.2, https://arxiv.org/abs/2205.06253.
"""

import functools
from collections.abc import Sequence

import numpy as np
import scipy.sparse
from nltk.stem.porter import PorterStemmer

from .shared_ptb_tokenizer import tokenize_captions

# Ways to match, from the paper's to the loosest.
WAYS = ("exact", "words", "fuzzy")

Labels = Sequence[tuple[str, ...]]


def concept_matches(captions: Sequence[str], labels: Labels, way: str) -> scipy.sparse.csr_array:
    """Find the labels of every caption.

    Args:
        captions: n_captions texts.
        labels: n_labels tuples of names in lower case; a label is found where one of its names is.
        way: "exact": the name is a part of the caption in lower case, also inside a word (the paper's); "words": the
            name's tokens follow each other in the caption; "fuzzy": the Porter stem of every word of the name is that
            of a word of the caption, wherever it stands.

    Returns:
        Array of zeros and ones, shape (n_captions, n_labels).

    >>> labels = [("cat",), ("playing baseball",)]
    >>> for way in WAYS:
    ...     concept_matches(["Located at a baseball game", "Cats play baseball"], labels, way).toarray().tolist()
    [[1, 0], [1, 0]]
    [[0, 0], [0, 0]]
    [[0, 0], [1, 1]]
    """
    find = {"exact": _parts_of_text, "words": _runs_of_words, "fuzzy": _stems}[way]
    found = find(captions, sorted({name for names in labels for name in names}))
    rows, columns = [], []
    for column, names in enumerate(labels):
        having = sorted({caption for name in names for caption in found.get(name, ())})
        rows += having
        columns += [column] * len(having)
    shape = (len(captions), len(labels))
    return scipy.sparse.csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)


def row_matches(rows: Sequence[Sequence[str]], labels: Labels, way: str) -> scipy.sparse.csr_array:
    """Find the labels of every row of captions.

    Args:
        rows: n_rows lists of captions.
        labels: as for `concept_matches`.
        way: as for `concept_matches`.

    Returns:
        Array of whole numbers, shape (n_rows, n_labels): captions of the row that name the label.
    """
    numbers = {caption: i for i, caption in enumerate(dict.fromkeys(caption for row in rows for caption in row))}
    lines = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    columns = np.array([numbers[caption] for row in rows for caption in row], np.int64)
    ones = np.ones(len(columns), np.int64)
    captions_of_rows = scipy.sparse.csr_array((ones, (lines, columns)), shape=(len(rows), len(numbers)))
    return captions_of_rows @ concept_matches(list(numbers), labels, way)


def _parts_of_text(captions: Sequence[str], names: Sequence[str]) -> dict[str, list[int]]:
    """Numbers of the captions with each name as a part."""
    lowered = [" ".join(caption.lower().split()) for caption in captions]
    # Most names of a long list occur nowhere: one search through all captions says so.
    everything = "\n".join(lowered)
    return {name: [i for i, text in enumerate(lowered) if name in text] for name in names if name in everything}


def _runs_of_words(captions: Sequence[str], names: Sequence[str]) -> dict[str, list[int]]:
    """Numbers of the captions with each name's tokens in one run."""
    spaced = [f" {' '.join(tokens)} " for tokens in tokenize_captions(captions)]
    everything = "\n".join(spaced)
    runs = {
        name: f" {' '.join(tokens)} " for name, tokens in zip(names, tokenize_captions(names), strict=True) if tokens
    }
    return {
        name: [i for i, text in enumerate(spaced) if run in text] for name, run in runs.items() if run in everything
    }


def _stems(captions: Sequence[str], names: Sequence[str]) -> dict[str, list[int]]:
    """Numbers of the captions with the stems of each name's words."""
    stem = functools.cache(PorterStemmer().stem)
    captions_with: dict[str, set[int]] = {}
    for i, tokens in enumerate(tokenize_captions(captions)):
        for token in tokens:
            captions_with.setdefault(stem(token), set()).add(i)
    found = {}
    for name, tokens in zip(names, tokenize_captions(names), strict=True):
        sets = [captions_with.get(stem(token), set()) for token in tokens]
        if sets:
            found[name] = sorted(set.intersection(*sets))
    return found
