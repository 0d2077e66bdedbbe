"""Checks of what the plain functions take: arrays of rows, numbers of candidates, splits and token lists."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from .kit.base import Floats, TokenList, TokenRows, as_plain, check_whole_number, without_torch
from .kit.caption_sets import SplitsOfRow, exact_splits, random_splits
from .kit.ngram_scores import (
    NgramIndex,
    bleu_statistics,
    check_document_frequency,
    check_enough_documents,
    document_frequencies,
    load_document_frequency,
    warn_of_equal_documents,
)

P = ParamSpec("P")
R = TypeVar("R")

# Most splits of a row that are enumerated unless asked otherwise; more are drawn.
MAX_SPLITS = 1_000_000


def plain_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take scalars of NumPy for numbers of Python, and tensors of torch for arrays."""

    @functools.wraps(function)
    def with_plain_ones(*values: P.args, **named: P.kwargs) -> R:
        plain: Any = [without_torch(_plain_number(value)) for value in values]
        return function(*plain, **{name: without_torch(_plain_number(value)) for name, value in named.items()})

    return with_plain_ones


def _plain_number(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else as_plain(value)


def as_finite(values: npt.ArrayLike, name: str) -> Floats:
    """Values as float64, all finite."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        index = "".join(f"[{i}]" for i in np.argwhere(~np.isfinite(array))[0].tolist())
        raise ValueError(f"{name}{index}: expected a finite number, got NaN or infinity. Leave this row out.")
    return array


def as_p_values(values: npt.ArrayLike, at_least_one: bool = False) -> Floats:
    """p-values as float64, shape (n,), 0 to 1; with `at_least_one`, not empty and above 0."""
    array = as_finite(values, "p_values")
    if array.ndim != 1 or (at_least_one and not array.size):
        shape = "shape (n,), n at least 1" if at_least_one else "shape (n,)"
        raise ValueError(f"p_values: expected an array of {shape}, got {array.shape}. Give one value per test.")
    outside = np.flatnonzero((array < 0) | (array > 1) | (at_least_one & (array == 0)))
    if outside.size:
        limits = "above 0 and at most 1" if at_least_one else "from 0 to 1"
        raise ValueError(f"p_values[{outside[0]}]: expected a number {limits}, got {array[outside[0]]}. Give p-values.")
    return array


def as_rows(values: npt.ArrayLike, name: str) -> Floats:
    """Values as float64, shape (n_rows, n_texts, anything), all finite."""
    array = as_finite(values, name)
    if array.ndim != 3 or not array.size:
        raise ValueError(
            f"{name}: expected an array of three dimensions, rows first, got shape {array.shape}. Write array[None] "
            "for one row."
        )
    return array


def as_pairs(values: npt.ArrayLike, name: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Values of all pairs of a row as float64, shape (n_rows, n, n), and which rows are not symmetric."""
    rows = as_rows(values, name)
    if rows.shape[1] != rows.shape[2]:
        raise ValueError(f"{name}: expected shape (n_rows, n, n), got {rows.shape}. Give those of all pairs of texts.")
    differences = np.abs(rows - rows.swapaxes(1, 2)).max(axis=(1, 2))
    return rows, differences > 1e-9 * np.abs(rows).max(axis=(1, 2))


def joint_vectors(candidates: npt.ArrayLike, references: npt.ArrayLike, least: int) -> tuple[Floats, int]:
    """Both sets of every row in one float64 array, candidates first, and the number of candidates of a row.

    Each set has at least `least` vectors.
    """
    sides = [as_rows(candidates, "candidates"), as_rows(references, "references")]
    for name, side in zip(("candidates", "references"), sides, strict=True):
        if side.shape[1] < least:
            raise ValueError(f"{name}: expected at least {least} vectors in every row, got {side.shape[1]}. Add more.")
    (n_rows, _, d), shape = sides[0].shape, sides[1].shape
    if (n_rows, d) != (shape[0], shape[2]):
        raise ValueError(
            f"references: expected shape ({n_rows}, n, {d}), as candidates have, got {shape}. Give the same rows, and "
            "vectors of the same encoder."
        )
    return np.concatenate(sides, axis=1), sides[0].shape[1]


def check_candidates(n_candidates: int, n_texts: int, least: int) -> None:
    """Raise unless both sets have at least `least` texts."""
    check_whole_number("n_candidates", n_candidates, least)
    if n_candidates > n_texts - least:
        raise ValueError(
            f"n_candidates: expected at most {n_texts - least} of {n_texts} texts, got {n_candidates}. The others are "
            "references."
        )


def row_splits(n_candidates: int, n_texts: int, n_resamples: int | None, max_splits: int, seed: int) -> SplitsOfRow:
    """All splits of a row, or random ones."""
    check_whole_number("max_splits", max_splits, 1)
    check_whole_number("seed", seed, 0)
    n_references = n_texts - n_candidates
    if n_resamples is not None:
        check_whole_number("n_resamples", n_resamples, 1)
        return random_splits(n_candidates, n_references, n_resamples, seed)
    return exact_splits(n_candidates, n_references, max_splits, mirrored=False)


def check_token_rows(rows: TokenRows, name: str) -> None:
    """Raise unless every row is a list of one or more token lists."""
    for i, row in enumerate(rows):
        if isinstance(row, str) or not len(row):
            raise ValueError(f"{name}[{i}]: expected one or more lists of tokens, got {row!r:.80}. Leave this row out.")
        for j, text in enumerate(row):
            if isinstance(text, str):
                raise TypeError(f"{name}[{i}][{j}]: expected a list of tokens, got str. Call ptb_tokenize first.")


def joint_rows(candidates: TokenRows, references: TokenRows) -> tuple[list[list[TokenList]], list[int]]:
    """Texts of every row, candidates first, and the number of candidates."""
    if len(candidates) != len(references):
        raise ValueError(
            f"references: expected {len(candidates)} rows, as many as candidates, got {len(references)}. Give one list "
            "of references per list of candidates."
        )
    check_token_rows(candidates, "candidates")
    check_token_rows(references, "references")
    return [[*mine, *theirs] for mine, theirs in zip(candidates, references, strict=True)], list(map(len, candidates))


def counted_documents(
    documents: TokenRows, source: str | os.PathLike[str] | Mapping[str, Any] | None
) -> tuple[Mapping[str, int], int]:
    """Document frequencies of a table, or counted in the documents, and the number of documents."""
    if source is None:
        check_enough_documents(len(documents))
        warn_of_equal_documents(documents)
        return document_frequencies(documents), len(documents)
    check_document_frequency(source)
    counts, n_documents = load_document_frequency(source)
    return counts, n_documents


def bleu_rows(candidates: TokenRows, references: TokenRows) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Statistics of all candidates in one line, and the number of candidates of each row."""
    sizes = joint_rows(candidates, references)[1]
    return bleu_statistics(NgramIndex.of_rows(candidates, references)), sizes
