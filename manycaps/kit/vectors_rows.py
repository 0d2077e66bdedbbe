"""Rows of embedded texts, and the contract of modules that compare them: captions, or ready arrays in their place."""

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import LARGEST_SIZE, Ints, as_numbers
from .errors import InputError, InputTypeError, check_n_rows, check_places, quote_value
from .options import Option, Ready, as_python_value, check_flag, check_whole_number
from .row_images import clusters_of_images, repeated_texts
from .sets_module import CAPTION_COLUMNS, ComparableRows, pairs_batch, text_counts
from .sets_tests import Comparison, RowGenerators, row_keys
from .vectors_checks import ARRAY_COLUMNS, as_embedding_arrays, as_row_list, check_dimensions, check_no_captions
from .vectors_sentences import OF_CAPTIONS

# Numbers of embeddings stacked at once, 8 bytes each: 256 rows of 15 texts in 384 dimensions.
NUMBERS_PER_BATCH = 1_500_000

# Numbers of draws held at once for the test of a pooled value, 8 bytes each.
MAX_COUNTS = 16_000_000


class EmbeddingRows(NamedTuple):
    """Texts of all rows as numbers of vectors: a text that occurs often has its vector once."""

    # Floating-point array, shape (n_vectors, d), as the encoder or the user gave it.
    vectors: np.ndarray
    # n_rows arrays of whole numbers, shape (n_candidates,): the vector of each candidate.
    predictions: list[np.ndarray]
    # The same for the references.
    references: list[np.ndarray]
    # From the number of a row to what its draws depend on, see `row_keys`.
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


class Vectors(NamedTuple):
    """How a module of sets compares vectors."""

    # From float64 vectors of shape (n_rows, n_texts, d), candidates first, the number of candidates and options to the
    # comparison of the rows.
    compare: Callable[[np.ndarray, int, Mapping[str, Any]], Comparison]
    # Raises if a vector cannot be compared; takes the rows, the names of their columns, and options.
    check: Callable[[EmbeddingRows, tuple[str, str], Mapping[str, Any]], None] = lambda _rows, _columns, _options: None
    # From options to what they decide, for the signature.
    settings: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _options: {}


def encode_rows(module: Any, predictions: Any, references: Any, options: Mapping[str, Any]) -> ComparableRows:
    """Return rows of captions with the vectors of the module's encoder, ready to be compared."""
    module.encoder.check_known(dict(zip(CAPTION_COLUMNS, (predictions, references), strict=True)), options)
    embedded = embed_caption_rows(
        predictions, references, lambda captions: module.encoder.embed(captions, options, module.progress)
    )
    settings = module.encoder.settings(options)
    texts = [text for rows in (predictions, references) for row in rows for text in row]
    rows = rows_of_vectors(module, embedded, CAPTION_COLUMNS, options, settings)
    return rows._replace(n_unread=lambda: module.encoder.count_unread(texts, options))


def rows_of_vectors(
    module: Any,
    embedded: EmbeddingRows,
    columns: tuple[str, str],
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> ComparableRows:
    """Check vectors of the module's rows, and return these, ready to be compared."""
    module.VECTORS.check(embedded, columns, options)

    def compare(vectors: np.ndarray, n_candidates: int) -> Comparison:
        compared: Comparison = module.VECTORS.compare(vectors, n_candidates, options)
        return compared

    return vector_rows(embedded, compare, {**module.VECTORS.settings(options), **settings})


def vectors_result(module: Any, arrays: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return a module's result for ready vectors."""
    check_no_captions([given.pop(name, None) for name in CAPTION_COLUMNS], len(module))
    module.check_unused(given, OF_CAPTIONS, "beside ready embeddings")
    options = module.call_options(given)
    embedded = as_embedding_rows(*arrays.values())
    module.check_sizes(embedded.sizes(), ARRAY_COLUMNS, options)
    options = with_images(module, embedded, options)
    settings = {"encoder": "ready arrays"}
    result: dict[str, Any] = module.summary(
        rows_of_vectors(module, embedded, ARRAY_COLUMNS, options, settings), options
    )
    return result


def with_images(module: Any, rows: EmbeddingRows, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return options in which rows with the same vectors of references are a cluster; warn of what repeats."""
    vectors = [rows.vectors[row] for row in rows.references]
    digests = [[hashlib.blake2b(vector.tobytes(), digest_size=16).digest() for vector in row] for row in vectors]
    repeated_texts(digests).warn("reference_embeddings")
    if not module.has_effect("clusters", options):
        return options
    return {**options, "clusters": clusters_of_images(options["clusters"], digests)}


# Ready columns for compute only: vectors.
READY_VECTORS = {
    "prediction_embeddings, reference_embeddings": Ready(
        "ready vectors in place of predictions and references, for compute only: n_rows floating-point arrays of "
        "shape (n_texts, d), or one array of shape (n_rows, n_texts, d). They do not go through evaluate's table, "
        "so in distributed runs gather them yourself.",
        vectors_result,
    )
}


def vector_rows(
    embedded: EmbeddingRows, compare: Callable[[np.ndarray, int], Comparison], settings: Mapping[str, Any]
) -> ComparableRows:
    """Return rows of embedded texts, ready to be compared.

    `compare` gets float64 vectors of shape (n_rows, n_texts, d), candidates first, and the number of candidates;
    `settings` are what the texts add to the signature.
    """
    n_dimensions = embedded.vectors.shape[1]

    def compare_batch(rows: Sequence[int]) -> Comparison:
        numbers = [np.concatenate((embedded.predictions[i], embedded.references[i])) for i in rows]
        return compare(joint_vectors(embedded.vectors, numbers), len(embedded.predictions[rows[0]]))

    def batch_size(n_texts: int) -> int:
        return max(1, NUMBERS_PER_BATCH // (n_texts * n_dimensions))

    return ComparableRows(embedded.sizes(), embedded.row_key, compare_batch, batch_size, settings, embedded)


def embed_caption_rows(
    predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], embed: Callable[[list[str]], np.ndarray]
) -> EmbeddingRows:
    """Embed the captions of all rows, each distinct one once; equal captions share a vector.

    `embed` maps n distinct captions to a floating-point array, shape (n, d).
    """
    numbers: dict[str, int] = {}
    candidates, humans = (
        [np.array([numbers.setdefault(caption, len(numbers)) for caption in row], dtype=np.intp) for row in rows]
        for rows in (predictions, references)
    )
    return EmbeddingRows(embed(list(numbers)), candidates, humans, row_keys(predictions, references))


def as_embedding_rows(predictions: object, references: object) -> EmbeddingRows:
    """Check ready embeddings, and number their vectors, which keep their type; the maths stacks them as float64.

    Each side is n_rows floating-point arrays of shape (n_texts, d), or one of shape (n_rows, n_texts, d).

    Raises:
        TypeError: a column is missing or no list of arrays; a row is no array of floating-point numbers.
        ValueError: no rows, different numbers of rows, a wrong shape, a number that is NaN or too large.
    """
    candidates, humans = (
        as_embedding_arrays(rows, name) for rows, name in zip((predictions, references), ARRAY_COLUMNS, strict=True)
    )
    check_n_rows(ARRAY_COLUMNS[1], len(humans), ARRAY_COLUMNS[0], len(candidates), "array")
    check_dimensions(dict(zip(ARRAY_COLUMNS, (candidates, humans), strict=True)))
    ends = np.cumsum([len(array) for array in (*candidates, *humans)])
    numbers = np.split(np.arange(ends[-1]), ends[:-1])
    vectors, n_rows = np.concatenate((*candidates, *humans)), len(candidates)
    return EmbeddingRows(vectors, numbers[:n_rows], numbers[n_rows:], row_keys(candidates, humans))


def check_side_sizes(sizes: Sequence[tuple[int, int]], columns: tuple[str, str], reason: str) -> None:
    """Raise if a row has fewer than two candidates or fewer than two references."""
    for side, name in enumerate(columns):
        short = [i for i, size in enumerate(sizes) if size[side] < 2]
        check_places(short, name, "at least two captions", "one", reason)


def check_estimator_sizes(
    sizes: Sequence[tuple[int, int]], columns: tuple[str, str], options: Mapping[str, Any]
) -> None:
    """Raise if a row is too small for an estimator of the squared MMD."""
    if options["estimator"] != "biased":
        reason = f"estimator={options['estimator']!r} leaves out pairs of a caption with itself"
        check_side_sizes(sizes, columns, f"{reason}: use estimator='biased'.")


# The option of modules that have a value of the whole corpus.
POOLED: dict[str, Option] = {
    "pooled": Option(False, check_flag, "`True` adds the value of all candidates against all references of all rows.")
}


def pooled_values(
    name: str, rows: EmbeddingRows, options: Mapping[str, Any], value: Callable[..., Any], p_value: Callable[..., float]
) -> dict[str, float]:
    """Return the value of the whole corpus, and its p-value by exchanges within rows, where they are asked for.

    `value` takes the vectors and the counts of `EmbeddingRows.counts`, and `p_value` also the counts of `draw_counts`.
    """
    if not options["pooled"]:
        return {}
    corpus = rows.vectors, *rows.counts()
    values = {f"{name}_pooled": float(value(*corpus))}
    if options["p_value"] != "none":
        drawn = draw_counts(rows, options["n_resamples"], options["seed"])
        values[f"{name}_pooled_p_value"] = p_value(*corpus, drawn)
    return values


def draw_counts(rows: EmbeddingRows, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Exchange candidates and references within every row, at random and independently, n_resamples times.

    A row's draws depend on the seed, its content and how many equal rows came before, so the order of the rows changes
    nothing. Yields float64 arrays, shape (n_vectors, block): how often each vector is a candidate of the corpus;
    together n_resamples columns. Memory: at most `MAX_COUNTS` numbers, one column at least.
    """
    step = max(1, min(n_resamples, MAX_COUNTS // len(rows.vectors)))
    for start in range(0, n_resamples, step):
        n_draws = min(step, n_resamples - start)
        generators = RowGenerators((seed, start))
        counts = np.zeros((len(rows.vectors), n_draws))
        for i, (candidates, references) in enumerate(zip(rows.predictions, rows.references, strict=True)):
            texts = np.concatenate((candidates, references))
            labels = np.broadcast_to(np.arange(len(texts)) < len(candidates), (n_draws, len(texts)))
            labels = generators.next_generator(rows.row_key(i)).permuted(labels, axis=1)
            np.add.at(counts, texts, labels.T)  # equal texts share a vector
        yield counts


# Every split of the references holds some of each row out: as many as the row has candidates, half of the references
# at most. The candidates of that split are as many, drawn from the row's. So both sides have sets of one size, and are
# compared with the same references: if people wrote the candidates, the two are exchangeable, and the expected
# difference is 0, whatever k, the encoder and the number of captions.


class PeopleSplit(NamedTuple):
    """Numbers of vectors of one random split, row by row."""

    # Arrays of one shape: references held out, and candidates in their place.
    held_out: Ints
    candidates: Ints
    # The other references.
    kept: Ints


def held_out_sizes(sizes: Sequence[tuple[int, int]]) -> Ints:
    """Return how many references of each row are held out.

    >>> held_out_sizes([(1, 5), (10, 5), (2, 1)]).tolist()
    [1, 2, 0]
    """
    return np.array([min(n_candidates, n_references // 2) for n_candidates, n_references in sizes], dtype=np.int64)


def split_people(rows: EmbeddingRows, seed: int, split: int) -> PeopleSplit:
    """Draw one split; a row's draw depends on the seed, the split and the row's content alone."""
    generators = RowGenerators((seed, split))
    parts: list[list[np.ndarray]] = [[], [], []]
    sizes = held_out_sizes(rows.sizes())
    for i, (n, candidates, references) in enumerate(zip(sizes, rows.predictions, rows.references, strict=True)):
        rng = generators.next_generator(rows.row_key(i))
        order = rng.permutation(len(references))
        drawn = (references[order[:n]], candidates[rng.permutation(len(candidates))[:n]], references[order[n:]])
        for part, numbers in zip(parts, drawn, strict=True):
            part.append(numbers)
    held_out, candidates, kept = (np.concatenate(part) for part in parts)
    return PeopleSplit(held_out, candidates, kept)


def joint_vectors(vectors: np.ndarray, numbers: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    """Stack the vectors of rows of equal sizes as float64, shape (n_rows, n_texts, d).

    `vectors` is floating-point, shape (n_vectors, d); `numbers` has n_rows lists of as many numbers of vectors.
    """
    return vectors[np.array(numbers)].astype(np.float64, copy=False)


# Expected form of the column, for messages.
EXPECTED = "a list of arrays of shape (n_texts, n_texts)"

# Columns that ready values replace.
OTHER_COLUMNS = (
    *("predictions", "references", "prediction_embeddings", "reference_embeddings"),
    *("prediction_images", "reference_images"),
)

# From matrices of rows of equal sizes, shape (n_rows, n, n), the number of their candidates and the options of the call
# to the comparison of these rows.
CompareMatrices = Callable[[np.ndarray, int, Mapping[str, Any]], Any]


def ready_matrices(
    columns: tuple[str, str],
    meaning: str,
    check: Callable[[Sequence[np.ndarray], Mapping[str, Any]], None],
    compare: CompareMatrices,
    unused: Sequence[str] = (),
) -> dict[str, Ready]:
    """Return the entry of a module's ready columns for values of every two items of each row.

    `columns` are what messages on the sizes of candidates and of references name; the first, "distances" or "kernels",
    is the column of the values of every two items of each row, candidates first; beside it stands `n_candidates`, for
    each row, or for all. `check` raises unless the matrices can be used with the options, and `compare` compares rows
    of equal sizes. `unused` are options of the values, beside the captions'. Raises TypeError or ValueError if a
    column or such an option is given beside the values, or they cannot be used.
    """
    column = columns[0]

    def result(module: Any, arrays: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        check_matrices_alone(given, column, len(module))
        module.check_unused(given, (*OF_CAPTIONS, *unused), f"beside ready {column}")
        options = module.call_options(given)
        listed = as_row_list(arrays[column], column, EXPECTED, "Give one array per row.")
        matrices = [_as_matrix(row, f"{column}[{i}]") for i, row in enumerate(listed)]
        counts = _as_counts(arrays["n_candidates"], [len(matrix) for matrix in matrices], column)
        check(matrices, options)
        sizes = [(n, len(matrix) - n) for n, matrix in zip(counts, matrices, strict=True)]
        module.check_sizes(sizes, columns, options)
        sides = [(matrix[:n], matrix[n:]) for n, matrix in zip(counts, matrices, strict=True)]
        keys = row_keys([first for first, _ in sides], [second for _, second in sides])

        def compare_batch(batch: Sequence[int]) -> Any:
            return compare(np.stack([matrices[i] for i in batch]), counts[batch[0]], options)

        settings = {column.removesuffix("s"): "ready"}
        rows = ComparableRows(sizes, keys, compare_batch, pairs_batch, settings)
        compared: dict[str, Any] = module.summary(rows, options)
        return compared

    return {f"{column}, n_candidates": Ready(meaning, result)}


# `ready_matrices` for distances, from the functions that check and compare them, and the options of distances.
ready_distances = functools.partial(
    ready_matrices,
    ("distances", "n_candidates"),
    "ready distances in place of both, for compute only: n_rows arrays of shape (n_texts, n_texts), candidates first, "
    "zeros on the diagonal, not necessarily symmetric; and the number of candidates, one for all rows or a list of "
    "n_rows.",
)


def check_matrices_alone(given: dict[str, Any], column: str, n_added: int) -> None:
    """Remove the other columns from the input, and raise if any is given."""
    others = [given.pop(name, None) for name in OTHER_COLUMNS]
    if n_added or any(other is not None for other in others):
        raise InputError(column, f"{column} alone", "other columns or rows added before as well", "Leave them out.")


def _as_matrix(values: object, where: str) -> np.ndarray:
    matrix = as_numbers(values, where, "an array of numbers", "Convert it to a NumPy array.", "fiu", np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(where, "shape (n_texts, n_texts)", matrix.shape, "Give all pairs of a row, candidates first.")
    odd = ~(np.abs(matrix) <= LARGEST_SIZE)  # or NaN
    if odd.any():
        i, j = (int(index) for index in np.argwhere(odd)[0])
        expected, got = f"a finite number of size at most {LARGEST_SIZE:g}", f"{matrix[i, j]} ({int(odd.sum())} in all)"
        raise InputError(
            f"{where}[{i}][{j}]", expected, got, "Leave the text out, or divide all of them by one number."
        )
    return matrix


def _as_counts(n_candidates: object, n_texts: Sequence[int], column: str) -> list[int]:
    if n_candidates is None:
        raise InputTypeError(
            "n_candidates", "a whole number, or one per row", "None", "Say how many texts are candidates."
        )
    given: Any = as_python_value(n_candidates)
    is_list = isinstance(given, list | tuple | np.ndarray)
    counts = list(given.tolist() if isinstance(given, np.ndarray) else given) if is_list else [given] * len(n_texts)
    if len(counts) != len(n_texts):
        expected = f"one number for each of the {len(n_texts)} rows of {column}"
        raise InputError("n_candidates", expected, quote_value(given), "Give one for all rows, or one per row.")
    for i, (count, n) in enumerate(zip(counts, n_texts, strict=True)):
        where = f"n_candidates[{i}]" if is_list else "n_candidates"
        check_whole_number(where, count, 1)
        if count >= n:
            raise InputError(
                where, f"at most {n - 1} of the {n} texts of {column}[{i}]", count, "The others are references."
            )
    return counts
