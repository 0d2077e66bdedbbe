"""Rows of embedded texts: captions, or ready arrays in their place, and the distances of all pairs of a row."""

import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from .arrays import LARGEST_SIZE, Floats, Ints, as_numbers, plain_arguments
from .errors import (
    InputError,
    InputImportError,
    InputTypeError,
    as_input_errors,
    check_n_rows,
    check_places,
    quote_value,
    reason_of,
)
from .options import Option, Ready, as_python_value, check_flag, check_whole_number
from .row_images import clusters_of_captions, repeated_texts
from .rows import as_rows
from .sets_module import CAPTION_COLUMNS, ComparableRows, pairs_batch, text_counts
from .sets_tests import Comparison, RowGenerators, row_keys
from .vectors_sentences import (
    ARRAY_COLUMNS,
    OF_CAPTIONS,
    as_embedding_arrays,
    as_row_list,
    check_dimensions,
    check_no_captions,
    refuse_zeros,
)

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
    if not module.has_effect("clusters", options):
        repeated_texts(digests).warn("reference_embeddings")
        return options
    return {**options, "clusters": clusters_of_captions(options["clusters"], digests, column="reference_embeddings")}


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


# Largest and smallest distances, by the largest of a row, whose squares can be added up in float64.
LARGEST_DISTANCE, SMALLEST_DISTANCE = 1e100, 1e-100


def cosine_similarities(vectors: np.ndarray) -> np.ndarray:
    """Return the cosine of every pair of texts of float64 vectors, shape (n_rows, n_texts, d), none of them all zeros.

    Returns a float64 array, shape (n_rows, n_texts, n_texts), -1 to 1, symmetric, 1 on the diagonal. A cosine
    within its rounding error of 1 is 1: otherwise texts that are all equal would be ranked by rounding errors.
    """
    # By the largest number first: squares of small or large ones could leave the range of float64.
    vectors = vectors / np.abs(vectors).max(axis=2, keepdims=True)
    vectors /= np.sqrt(np.einsum("bnd,bnd->bn", vectors, vectors))[..., None]
    cosines = np.clip(vectors @ vectors.swapaxes(1, 2), -1, 1)
    rounding = (vectors.shape[2] + 2) * 2.0**-52  # bound for two norms, two divisions and a product of d numbers
    cosines[cosines >= 1 - rounding] = 1
    return cosines


def distances_from_cosines(cosines: np.ndarray) -> np.ndarray:
    """Return d(x, y) = 1 - cosine (Chan et al. 2022, appendix B.1), 0 to 2: float64 arrays of any shape."""
    return 1 - cosines


def multi_reference_cosine(cosines: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the mean over the candidates of the cosine with the nearest reference.

    Chan et al. (2022), equation 1, where the best reference counts, as in METEOR.

    `cosines` is float64 of shape (n_rows, n_texts, n_texts), candidates first. Shape (n_rows,), -1 (worst) to 1 (best).
    """
    return cosines[:, :n_candidates, n_candidates:].max(axis=2).mean(axis=1)


def check_nonzero(rows: EmbeddingRows, columns: tuple[str, str], _options: Mapping[str, Any] | None = None) -> None:
    """Raise if a text's vector is all zeros and so has no cosine, whatever the options."""
    is_zero = (rows.vectors == 0).all(axis=1)  # (n_vectors,)
    if is_zero.any():
        refuse_zeros(dict(zip(columns, ([is_zero[numbers] for numbers in side] for side in rows[1:3]), strict=True)))


# Distances of scipy that depend on two vectors alone. Those that are scaled by the variances of all vectors
# (seuclidean, mahalanobis) are left out, as are distances of booleans.
DISTANCE_NAMES = (
    "cosine",
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "correlation",
    "braycurtis",
    "canberra",
    "jensenshannon",
)


def vector_distances(vectors: np.ndarray, name: str) -> np.ndarray:
    """Compute the distance of a row's pairs of vectors, by a name of `DISTANCE_NAMES`, as in `scipy.spatial.distance`.

    `vectors` is float64, shape (n_rows, n_texts, d); no vector is all zeros for "cosine", which equals `trm_bert`'s to
    the last bit. Returns a float64 array, shape (n_rows, n_texts, n_texts), 0 on the diagonal; NaN where the distance
    is not defined, such as the correlation with a constant vector.
    """
    with np.errstate(all="ignore"):  # what is not defined is NaN, and found by `check_defined`
        if name == "correlation":
            vectors = vectors - vectors.mean(axis=2, keepdims=True)
        if name in ("cosine", "correlation"):
            distances = distances_from_cosines(cosine_similarities(vectors))
        else:
            distances = np.stack([cdist(row, row, metric=name) for row in vectors])
    texts = np.arange(vectors.shape[1])
    distances[:, texts, texts] = 0
    return distances


def check_defined(distances: np.ndarray, name: str) -> None:
    """Raise if a pair of vectors has no distance."""
    undefined = ~np.isfinite(distances)
    if undefined.any():
        _, i, j = (int(index) for index in np.argwhere(undefined)[0])
        got = f"a row in which it is not finite for texts {i} and {j} ({int(undefined.sum())} such pairs in the batch)"
        raise InputError(
            f"distance={name!r}", "vectors that have this distance", got, "Use another, such as 'euclidean'."
        )


def nearest_reference_distance(distances: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the mean over the candidates of the distance of the nearest reference.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with the best reference counting.

    `distances` is float64 of shape (n_rows, n_texts, n_texts), candidates first; [r, i, j] is the distance of text j
    from text i, so that the references come first in a pair. Shape (n_rows,).
    """
    return distances[:, n_candidates:, :n_candidates].min(axis=1).mean(axis=1)


def check_distance_diagonals(matrices: Sequence[np.ndarray]) -> None:
    """Raise unless all distances of texts from themselves are 0, in n_rows arrays of shape (n_texts, n_texts)."""
    for row, matrix in enumerate(matrices):
        own = np.flatnonzero(np.diag(matrix))
        if own.size:
            i = int(own[0])
            raise InputError(
                f"distances[{row}][{i}][{i}]",
                "0, a text from itself",
                matrix[i, i],
                "Give distances, not similarities.",
            )


def check_distance_scale(matrices: Sequence[np.ndarray]) -> None:
    """Raise unless the squares of all distances, n_rows arrays (n_texts, n_texts), stay within the range of float64."""
    for row, matrix in enumerate(matrices):
        largest = float(np.abs(matrix).max())
        if largest > LARGEST_DISTANCE or 0 < largest < SMALLEST_DISTANCE:
            expected = f"a largest distance from {SMALLEST_DISTANCE:g} to {LARGEST_DISTANCE:g}, or 0"
            raise InputError(f"distances[{row}]", expected, f"{largest:g}", "Give the distances in another unit.")


# Prefix of the name of a metric: "evaluate:rouge:rougeL".
EVALUATE_PREFIX = "evaluate:"

# Meaning of a larger score of an evaluate metric.
EVALUATE_SCORES = ("similarity", "distance")

# Options under which a metric gives one score per pair, not their mean.
PER_PAIR_OPTIONS = {"rouge": {"use_aggregator": False}}

# From two lists of n texts to n distances: of the first of one and the first of the other, and so on.
TextDistance = Callable[[list[str], list[str]], Any]


def text_distances(rows: Sequence[Sequence[str]], distance: TextDistance) -> list[np.ndarray]:
    """Return the distance of a row's ordered pairs of texts, each distinct pair asked for once; equal texts have 0.

    For each row a float64 array, shape (n_texts, n_texts): [i, j] is distance(text i, text j).

    >>> text_distances([["a", "bcd", "a"]], lambda xs, ys: [abs(len(x) - len(y)) for x, y in zip(xs, ys)])[0].tolist()
    [[0.0, 2.0, 0.0], [2.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    """
    numbers: dict[tuple[str, str], int] = {}
    for row in rows:
        for x in row:
            for y in row:
                if x != y:
                    numbers.setdefault((x, y), len(numbers))
    values = np.zeros(len(numbers) + 1)  # the last one is for equal texts
    if numbers:
        first, second = (list(side) for side in zip(*numbers, strict=True))
        values[:-1] = _as_values(distance(first, second), len(numbers))
    return [np.array([[values[numbers.get((x, y), -1)] for y in row] for x in row]) for row in rows]


def _as_values(returned: object, n_pairs: int) -> np.ndarray:
    """Convert a function's result to n_pairs float64 numbers."""
    expected, advice = f"{n_pairs} numbers from the function", "Return one number for each pair of the two lists."
    values = as_numbers(returned, "distance", expected, advice, "biufcO", np.float64)
    if values.shape != (n_pairs,):
        raise InputError("distance", expected, f"an array of shape {values.shape}", advice)
    is_usable = np.abs(values) <= LARGEST_SIZE  # not NaN
    if not is_usable.all():
        first = int(np.argmin(is_usable))
        expected = f"finite numbers of size at most {LARGEST_SIZE:g} from the function"
        got = f"{values[first]} for pair {first} of {n_pairs}"
        raise InputError("distance", expected, got, "Return a large distance for pairs that have none.")
    return values


def check_evaluate_name(name: str) -> None:
    """Raise unless `name` is "evaluate:", the name of a metric, and if need be ":" and the key of its result."""
    metric, _, key = name.removeprefix(EVALUATE_PREFIX).partition(":")
    if not metric.strip() or (":" in name.removeprefix(EVALUATE_PREFIX) and not key.strip()):
        raise InputError(
            "distance",
            "'evaluate:NAME' or 'evaluate:NAME:KEY'",
            quote_value(name),
            "For example 'evaluate:rouge:rougeL'.",
        )


def evaluate_distance(name: str, scores: str, load: Callable[[str], Any]) -> TextDistance:
    """Return the distance of a metric of the package evaluate.

    d(x, y) = 1 - score(references=x, predictions=y), or the score itself where that is a distance already. The ranks of
    triangles ask for the order of distances alone, so the range of the score does not matter.

    `name` is "evaluate:NAME:KEY", where the key of the result is the metric's own name if it is left out; `scores` is
    "similarity" or "distance". The function takes two lists of texts; a metric that gives a list under its key is asked
    once, any other one pair by pair.
    """
    metric_name, _, key = name.removeprefix(EVALUATE_PREFIX).partition(":")
    try:
        metric = load(metric_name)
    except Exception as error:  # of the Hub, of the network, of packages that the metric lacks
        expected, got = (
            f"a metric of evaluate, {quote_value(metric_name)}",
            f"{type(error).__name__} ({reason_of(error)})",
        )
        fix = "Check name and connection, install what it needs, or give a function of two lists."
        raise InputImportError("distance", expected, got, fix) from error
    key = key or os.path.basename(metric_name.removesuffix(".py"))
    options = PER_PAIR_OPTIONS.get(os.path.basename(metric_name.removesuffix(".py")), {})

    def distance(first: list[str], second: list[str]) -> np.ndarray:
        values = _as_values(_scores(metric, key, options, first, second), len(first))
        return 1 - values if scores == "similarity" else values

    return distance


def _scores(metric: Any, key: str, options: dict[str, Any], references: list[str], predictions: list[str]) -> list[Any]:
    ask = functools.partial(_ask, metric, key, options, as_lists=takes_lists(metric))
    # The first two pairs show whether the metric scores pairs or means over them.
    n_tried = min(2, len(references))
    tried = ask(references[:n_tried], predictions[:n_tried])
    if isinstance(tried, list | tuple | np.ndarray) and len(tried) == n_tried:
        rest = ask(references[n_tried:], predictions[n_tried:]) if len(references) > n_tried else []
        return [*tried, *rest]
    scores = [ask([reference], [prediction]) for reference, prediction in zip(references, predictions, strict=True)]
    return [s[0] if isinstance(s, list | tuple | np.ndarray) and len(s) == 1 else s for s in scores]


def takes_lists(metric: Any) -> bool:
    """Return whether a metric takes a list of references for each prediction, and not a single text."""
    features = getattr(metric, "features", None)
    alternatives = features if isinstance(features, list) else [features]
    # Features of lists, and they alone, have a feature inside.
    return all(hasattr((form or {}).get("references"), "feature") for form in alternatives)


def _ask(
    metric: Any, key: str, options: dict[str, Any], references: list[str], predictions: list[str], *, as_lists: bool
) -> Any:
    sides = {"references": [[text] for text in references] if as_lists else references, "predictions": predictions}
    with as_input_errors("distance", "a metric of pairs of texts", "Use another metric.", quote_value(metric.name)):
        result = metric.compute(**sides, **options)
    if not isinstance(result, dict) or key not in result:
        keys = sorted(result) if isinstance(result, dict) else type(result).__name__
        expected = f"the key {quote_value(key)} in the result of {quote_value(metric.name)}"
        raise InputError("distance", expected, quote_value(keys), "Write 'evaluate:NAME:KEY'.")
    return result[key]


def distance_name(distance: object) -> str:
    """Return the name of a distance, or of a function, for a signature."""
    return distance if isinstance(distance, str) else getattr(distance, "__name__", type(distance).__name__)


@plain_arguments
def cosine_distances(vectors: npt.ArrayLike) -> Floats:
    """Give the cosine distance of all pairs of texts of a row: d(x, y) = 1 - cosine.

    Chan et al. (2022), appendix B.1, https://arxiv.org/abs/2209.07518; the authors' program takes the similarity
    itself for the distance.

    Args:
        vectors: floating-point array, shape (n_rows, n_texts, d), finite, no vector all zeros.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), 0 to 2, symmetric.

    Raises:
        ValueError: another shape, or a vector that is not finite or all zeros.

    >>> cosine_distances([[[2.0, 0.0], [0.0, 3.0]]]).tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]
    """
    rows = as_rows(vectors, "vectors")
    is_zero = ~rows.any(axis=2)
    if is_zero.any():
        row, text = np.argwhere(is_zero)[0].tolist()
        expected = "a vector that is not all zeros, which has no cosine"
        raise InputError(f"vectors[{row}][{text}]", expected, "zeros", "Leave this text out.")
    return distances_from_cosines(cosine_similarities(rows))
