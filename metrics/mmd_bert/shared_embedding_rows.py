# Vendored from manycaps/shared_embedding_rows.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Rows of embedded texts: ready arrays checked, captions embedded once each, rows of equal sizes stacked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np

from .shared_corpus_test import CorpusTest, RowGenerators, RowSplits, partitions_of, row_keys
from .shared_distribution_results import check_enough_rows, rows_by_size
from .shared_partition_test import Partitions

# Largest number in an embedding: squares of larger ones, summed over the dimensions, leave the range of float64.
LARGEST_NUMBER = 1e150

# Numbers of embeddings stacked at once, 8 bytes each: 256 rows of 15 texts in 384 dimensions.
NUMBERS_PER_BATCH = 1_500_000

# Numbers of draws held at once for the test of a pooled value, 8 bytes each.
MAX_COUNTS = 16_000_000

# The keywords of `compute` for ready arrays, in the order candidates, references.
ARRAY_COLUMNS = ("prediction_embeddings", "reference_embeddings")
CAPTION_COLUMNS = ("predictions", "references")


class EmbeddingRows(NamedTuple):
    """Texts of all rows as numbers of vectors: a text that occurs often has its vector once."""

    # Floating-point array, shape (n_vectors, d), as the encoder or the user gave it.
    vectors: np.ndarray
    # n_rows arrays of whole numbers, shape (n_candidates,): the vector of each candidate.
    predictions: list[np.ndarray]
    # The same for the references.
    references: list[np.ndarray]
    # From the number of a row to what its draws depend on, see `shared_corpus_test.row_keys`.
    row_key: Callable[[int], bytes]

    def sizes(self) -> list[tuple[int, int]]:
        """Return (n_candidates, n_references) of each row."""
        return text_counts(self.predictions, self.references)

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how often each vector is a candidate and a reference of the corpus: two arrays (n_vectors,)."""
        candidates, references = (
            np.bincount(np.concatenate(side), minlength=len(self.vectors))
            for side in (self.predictions, self.references)
        )
        return candidates, references


class Comparison(NamedTuple):
    """What a module's `compare` says of rows of equal sizes."""

    # float64 array, shape (n_rows,): the statistic, in its own unit.
    statistic: np.ndarray
    # From a slice of these rows and the splits to blocks of null values, float64, shape (rows of the slice, block).
    null_values: Callable[[slice, Partitions], Iterable[np.ndarray]]
    # float64 array, shape (n_rows,): the unit of the null values; None for 1.
    units: np.ndarray | None = None


class EmbeddingTests(NamedTuple):
    """Results of all rows: the statistic, a float64 array of shape (n_rows,), and the tests where asked for."""

    statistic: np.ndarray
    tests: CorpusTest | None


def embed_caption_rows(
    predictions: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    embed: Callable[[list[str]], np.ndarray],
) -> EmbeddingRows:
    """Embed the captions of all rows, each distinct caption once.

    Args:
        predictions: n_rows lists of candidates.
        references: n_rows lists of references.
        embed: from n distinct captions to a floating-point array, shape (n, d).

    Returns:
        The rows; equal captions share a vector.

    >>> rows = embed_caption_rows([["b", "a"]], [["bb", "a"]], lambda captions: np.array([[len(c)] for c in captions]))
    >>> rows.vectors.tolist(), rows.predictions[0].tolist(), rows.references[0].tolist()
    ([[1], [1], [2]], [0, 1], [2, 1])
    """
    numbers: dict[str, int] = {}
    candidates, humans = (
        [np.array([numbers.setdefault(caption, len(numbers)) for caption in row], dtype=np.intp) for row in rows]
        for rows in (predictions, references)
    )
    return EmbeddingRows(embed(list(numbers)), candidates, humans, row_keys(predictions, references))


def as_embedding_rows(predictions: object, references: object) -> EmbeddingRows:
    """Check ready embeddings, and number their vectors.

    Args:
        predictions: n_rows floating-point arrays of shape (n_candidates, d), or one of shape (n_rows, n_candidates, d).
        references: n_rows arrays of shape (n_references, d), or one array.

    Returns:
        The rows. The vectors keep their type; the maths converts what it stacks to float64.

    Raises:
        TypeError: a column is missing or no list of arrays; a row is no array of floating-point numbers.
        ValueError: no rows, different numbers of rows, a wrong shape, a number that is NaN or too large.

    >>> rows = as_embedding_rows([[[1.0, 0.0]]], [[[0.0, 1.0], [1.0, 1.0]]])
    >>> rows.vectors.shape, rows.references[0].tolist()
    ((3, 2), [1, 2])
    """
    candidates, humans = (
        _as_arrays(rows, name) for rows, name in zip((predictions, references), ARRAY_COLUMNS, strict=True)
    )
    if len(candidates) != len(humans):
        raise ValueError(
            f"{ARRAY_COLUMNS[1]}: expected one array for each of the {len(candidates)} rows of {ARRAY_COLUMNS[0]}, got "
            f"{len(humans)}. Row i of both belongs to one image or video."
        )
    n_dimensions = candidates[0].shape[1]
    for name, arrays in zip(ARRAY_COLUMNS, (candidates, humans), strict=True):
        for i, array in enumerate(arrays):
            if array.shape[1] != n_dimensions:
                raise ValueError(
                    f"{name}[{i}]: expected {n_dimensions} dimensions as in {ARRAY_COLUMNS[0]}[0], got "
                    f"{array.shape[1]}. Use one encoder for all texts."
                )
    ends = np.cumsum([len(array) for array in (*candidates, *humans)])
    numbers = np.split(np.arange(ends[-1]), ends[:-1])
    vectors, n_rows = np.concatenate((*candidates, *humans)), len(candidates)
    return EmbeddingRows(vectors, numbers[:n_rows], numbers[n_rows:], row_keys(candidates, humans))


def check_no_captions(predictions: object, references: object, n_added: int) -> None:
    """Raise if captions are given beside ready embeddings: which of them counts would be a guess.

    Raises:
        ValueError: there are captions, or rows from `add` or `add_batch`.
    """
    if predictions is not None or references is not None or n_added:
        raise ValueError(
            f"{ARRAY_COLUMNS[0]}: expected embeddings in place of captions, got both. Leave predictions, references "
            "and rows added before out."
        )


def check_embeddings(array: np.ndarray, where: str) -> None:
    """Raise unless `array` is a non-empty table of finite floating-point numbers.

    Args:
        array: any array.
        where: what the message begins with.

    Raises:
        TypeError: other numbers than floating-point ones.
        ValueError: another rank, no rows or columns, a number that is NaN, infinite or above `LARGEST_NUMBER`.
    """
    if not np.issubdtype(array.dtype, np.floating):
        raise TypeError(
            f"{where}: expected floating-point numbers, got {array.dtype}. Convert counts or ids that are meant as "
            "vectors with .astype(float)."
        )
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"{where}: expected an array of shape (n, d) with n and d at least 1, got shape {array.shape}. Give one "
            "vector per text."
        )
    if not -LARGEST_NUMBER <= float(array.min()) <= float(array.max()) <= LARGEST_NUMBER:  # or NaN
        _raise_large_numbers(array, where)


def check_side_sizes(
    predictions: Sequence[Sized], references: Sequence[Sized], columns: tuple[str, str], reason: str
) -> None:
    """Raise if a row has fewer than two candidates or fewer than two references.

    Args:
        predictions: n_rows lists or arrays of candidates.
        references: n_rows lists or arrays of references.
        columns: their names, `CAPTION_COLUMNS` or `ARRAY_COLUMNS`.
        reason: why two are needed, and what to do, for the message.

    Raises:
        ValueError: a row is too small; the message names it.
    """
    for name, rows in zip(columns, (predictions, references), strict=True):
        short = [i for i, row in enumerate(rows) if len(row) < 2]
        if short:
            raise ValueError(
                f"{name}[{short[0]}]: expected at least two captions, got one ({len(short)} such rows in all). {reason}"
            )


def check_row_totals(
    predictions: Sequence[Sized], references: Sequence[Sized], columns: tuple[str, str], n_texts: int
) -> None:
    """Raise unless every row has `n_texts` texts in all, candidates and references together.

    Args:
        predictions: n_rows lists or arrays of candidates.
        references: n_rows lists or arrays of references.
        columns: their names, `CAPTION_COLUMNS` or `ARRAY_COLUMNS`.
        n_texts: least number of texts a row.

    Raises:
        ValueError: a row is too small; the message names it.
    """
    sizes = text_counts(predictions, references)
    short = [i for i, size in enumerate(sizes) if sum(size) < n_texts]
    if short:
        i = short[0]
        raise ValueError(
            f"{columns[0]}[{i}], {columns[1]}[{i}]: expected at least {n_texts} captions in all, got {sizes[i][0]} "
            f"candidate and {sizes[i][1]} reference ({len(short)} such rows in all). Sample more candidates, or leave "
            "the row out."
        )


def check_test_sizes(predictions: Sequence[Sized], references: Sequence[Sized], options: Mapping[str, Any]) -> None:
    """Raise, before any text is embedded, if the test or the interval asked for cannot be computed.

    Raises:
        ValueError: one row and an interval over rows; or p_value "exact" with a row too large.
    """
    check_enough_rows(len(predictions), options)
    if options["p_value"] != "none":
        for sizes in set(text_counts(predictions, references)):
            partitions_of(sizes, options)


def text_counts(predictions: Sequence[Sized], references: Sequence[Sized]) -> list[tuple[int, int]]:
    """Return (n_candidates, n_references) of each row."""
    return [(len(p), len(r)) for p, r in zip(predictions, references, strict=True)]


def compare_embedding_rows(
    rows: EmbeddingRows,
    compare: Callable[[np.ndarray, int], Comparison],
    options: Mapping[str, Any],
    progress: Callable[..., Iterable[Any]],
) -> EmbeddingTests:
    """Reduce each row to its statistic, and test it.

    Rows of equal sizes are handled together, in batches of bounded memory; a row's results do not depend on the others.

    Args:
        rows: embedded texts.
        compare: from float64 vectors of shape (n_rows, n_texts, d), candidates first, and the number of candidates to
            the statistics and their null values.
        options: p_value, max_partitions, n_resamples and seed.
        progress: wraps the batches in a progress bar, as `tqdm` does.

    Returns:
        The results in the order of the rows.

    Raises:
        ValueError: p_value "exact" with a row too large.
    """
    n_dimensions = rows.vectors.shape[1]
    batches = rows_by_size(rows.sizes(), lambda n_texts: max(1, NUMBERS_PER_BATCH // (n_texts * n_dimensions)))
    splits = RowSplits(rows.sizes(), options) if options["p_value"] != "none" else None
    statistic = np.empty(len(rows.predictions))
    for size, batch in progress(batches, desc="embedding statistics", unit="batch", delay=1):
        numbers = [np.concatenate((rows.predictions[i], rows.references[i])) for i in batch]
        compared = compare(joint_vectors(rows.vectors, numbers), size[0])
        statistic[batch] = compared.statistic
        if splits:
            units = np.ones(len(batch)) if compared.units is None else compared.units
            observed = compared.statistic / units
            splits.add(size, batch, rows.row_key, observed, compared.null_values, units)
    return EmbeddingTests(statistic, splits.test(statistic) if splits else None)


def drawn_counts(rows: EmbeddingRows, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Exchange candidates and references within every row, at random and independently.

    A row's draws depend on the seed, its content and how many equal rows came before, so the order of the rows changes
    nothing.

    Args:
        rows: embedded texts.
        n_resamples: number of draws.
        seed: non-negative whole number.

    Yields:
        float64 arrays, shape (n_vectors, block): how often each vector is a candidate of the corpus; together
        n_resamples columns. Memory: at most `MAX_COUNTS` numbers, one column at least.
    """
    step = max(1, min(n_resamples, MAX_COUNTS // len(rows.vectors)))
    for start in range(0, n_resamples, step):
        n_draws = min(step, n_resamples - start)
        generators = RowGenerators((seed, start))
        counts = np.zeros((len(rows.vectors), n_draws))
        for i, (candidates, references) in enumerate(zip(rows.predictions, rows.references, strict=True)):
            texts = np.concatenate((candidates, references))
            labels = np.broadcast_to(np.arange(len(texts)) < len(candidates), (n_draws, len(texts)))
            labels = generators.of(rows.row_key(i)).permuted(labels, axis=1)
            np.add.at(counts, texts, labels.T)  # equal texts share a vector
        yield counts


def joint_vectors(vectors: np.ndarray, numbers: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    """Stack the vectors of rows of equal sizes.

    Args:
        vectors: floating-point array, shape (n_vectors, d).
        numbers: n_rows lists of as many numbers of vectors.

    Returns:
        float64 array, shape (n_rows, n_texts, d).

    >>> joint_vectors(np.array([[1.0], [2.0]]), [[0, 0, 1]]).tolist()
    [[[1.0], [1.0], [2.0]]]
    """
    return vectors[np.array(numbers)].astype(np.float64, copy=False)


def joint_row(rows: EmbeddingRows) -> np.ndarray:
    """Stack the vectors of the one row that there is.

    Args:
        rows: one embedded row.

    Returns:
        float64 array, shape (1, n_texts, d), candidates first.
    """
    return joint_vectors(rows.vectors, [np.concatenate((rows.predictions[0], rows.references[0]))])


def _raise_large_numbers(array: np.ndarray, where: str) -> None:
    """Raise ValueError for the first vector with a number that is NaN, infinite or too large."""
    bad = ~np.isfinite(array) | (np.abs(array.astype(np.float64)) > LARGEST_NUMBER)
    vectors = np.flatnonzero(bad.any(axis=1))
    j = int(vectors[0])
    raise ValueError(
        f"{where}[{j}]: expected finite numbers of size at most {LARGEST_NUMBER:g}, got {array[j][bad[j]][0]} "
        f"({len(vectors)} such vectors in all). Check the encoder."
    )


def _as_arrays(rows: object, column: str) -> list[np.ndarray]:
    """One column of ready embeddings as checked arrays."""
    if rows is None or isinstance(rows, str | bytes | dict) or not isinstance(rows, Iterable):
        kind = "None" if rows is None else type(rows).__name__
        raise TypeError(
            f"{column}: expected a list of arrays of shape (n, d), got {kind}. "
            f"Give {ARRAY_COLUMNS[0]} and {ARRAY_COLUMNS[1]} together, one array per row."
        )
    arrays = [_as_array(row, f"{column}[{i}]") for i, row in enumerate(rows)]
    if not arrays:
        raise ValueError(f"{column}: expected at least one row, got none. Give one array per row.")
    return arrays


def _as_array(row: object, where: str) -> np.ndarray:
    """One row of ready embeddings as a checked array."""
    try:
        array = np.asarray(row)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors on a device or with gradients
        raise TypeError(
            f"{where}: expected an array of shape (n, d), got {type(row).__name__} ({str(error)[:80]}). Convert it "
            "to a NumPy array."
        ) from None
    check_embeddings(array, where)
    return array
