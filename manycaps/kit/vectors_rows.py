"""Rows of embedded texts, and the contract of modules that compare them: captions, or ready arrays in their place."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .sets_module import CAPTION_COLUMNS, ComparableRows, DistributionModule, text_counts
from .sets_splits import Comparison, RowGenerators, row_keys
from .text_sentence_encoder import SentenceEncoder, encoder_settings
from .vectors_checks import ARRAY_COLUMNS, as_embedding_arrays, check_no_captions

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


class EmbeddingModule(DistributionModule):
    """The contract of modules that compare two sets of embedded captions per row.

    A module gives `compare_vectors`, and `pooled_values` and `check_vectors` where it has something to say there. One
    that also has distances of texts says so in `compares_texts`, and gives `text_rows`.
    """

    def __init__(self, /, *args: Any, **keywords: Any) -> None:
        self.encoder = SentenceEncoder()
        super().__init__(*args, **keywords)

    def compare_vectors(self, vectors: np.ndarray, n_candidates: int, options: Mapping[str, Any]) -> Comparison:
        """Compare float64 vectors of shape (n_rows, n_texts, d), candidates first."""
        raise NotImplementedError

    def pooled_values(self, embedded: EmbeddingRows, options: Mapping[str, Any]) -> dict[str, float]:
        """Return what the result says of all candidates against all references of the corpus."""
        raise NotImplementedError

    def check_vectors(self, embedded: EmbeddingRows, columns: tuple[str, str], options: Mapping[str, Any]) -> None:
        """Raise if a vector cannot be compared with these options."""

    def compares_texts(self, options: Mapping[str, Any]) -> bool:
        """Whether the captions themselves are compared with these options, not their vectors."""
        return False

    def text_rows(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> ComparableRows:
        """Return the rows of captions, which are compared as texts."""
        raise NotImplementedError

    def embed(self, captions: list[str], options: Mapping[str, Any]) -> np.ndarray:
        """Return the vectors of distinct captions: a floating-point array, shape (n, d)."""
        return self.encoder.embed(captions, options, type(self).progress)

    def embedding_settings(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what determines the vectors of captions, for a signature."""
        return encoder_settings(options)

    def compute(
        self, /, *, prediction_embeddings: Any = None, reference_embeddings: Any = None, **given: Any
    ) -> dict[str, Any] | None:
        """Check the options of this call, then compute: from the rows of captions, or from ready arrays."""
        if prediction_embeddings is None and reference_embeddings is None:
            return super().compute(**given)
        with self.lock:
            check_no_captions([given.pop(name, None) for name in CAPTION_COLUMNS], len(self))
            options = self.call_options(given)
            embedded = as_embedding_rows(prediction_embeddings, reference_embeddings)
            self.check_sizes(embedded.sizes(), ARRAY_COLUMNS, options)
            self.check_vectors(embedded, ARRAY_COLUMNS, options)
            return self._result(embedded, options, {"encoder": "ready arrays"})

    def caption_result(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Check the sizes of all rows, embed the captions, compare the rows, and return the result."""
        if self.compares_texts(options):
            return super().caption_result(predictions, references, options)
        self.check_captions(predictions, references, options)
        embedded = self.embedded_rows(predictions, references, options)
        result = self._result(embedded, options, self.embedding_settings(options))
        return result | self.long_text_counts(predictions, references, options)

    def long_text_counts(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> dict[str, int]:
        """Return the keys that a result has of texts that the encoder does not read as a whole."""
        if self.compares_texts(options):
            return {}
        texts = [text for rows in (predictions, references) for row in rows for text in row]
        return self.encoder.count_long_texts(texts, options)

    def rows_of(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> ComparableRows:
        """Return the rows of captions, embedded where vectors are compared, and ready to be compared."""
        if self.compares_texts(options):
            return self.text_rows(predictions, references, options)
        return self.rows_of_embedded(self.embedded_rows(predictions, references, options), options)

    def rows_of_embedded(self, embedded: EmbeddingRows, options: Mapping[str, Any]) -> ComparableRows:
        """Return rows of captions that are embedded, ready to be compared."""
        return self._rows(embedded, options, self.embedding_settings(options))

    def compare_one(self, predictions: Any, references: Any, options: Mapping[str, Any], row: int) -> Comparison:
        """Return the comparison of one row of captions; no other row is embedded."""
        if self.compares_texts(options):
            return super().compare_one(predictions, references, options, row)
        embedded = self.embedded_rows(predictions[row : row + 1], references[row : row + 1], options)
        return self._rows(embedded, options, {}).compare([0])

    def _result(
        self, embedded: EmbeddingRows, options: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> dict[str, Any]:
        pooled = functools.partial(self.pooled_values, embedded, options) if options.get("pooled") else dict
        return self.result_of(self._rows(embedded, options, settings), options, pooled)

    def _rows(self, embedded: EmbeddingRows, options: Mapping[str, Any], settings: Mapping[str, Any]) -> ComparableRows:
        return vector_rows(embedded, functools.partial(self.compare_vectors, options=options), settings)

    def embedded_rows(self, predictions: Any, references: Any, options: Mapping[str, Any]) -> EmbeddingRows:
        """Return the captions of rows with the vectors of their encoder."""
        embedded = embed_caption_rows(predictions, references, lambda captions: self.embed(captions, options))
        self.check_vectors(embedded, CAPTION_COLUMNS, options)
        return embedded


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

    return ComparableRows(embedded.sizes(), embedded.row_key, compare_batch, batch_size, settings)


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


def check_side_sizes(sizes: Sequence[tuple[int, int]], columns: tuple[str, str], reason: str) -> None:
    """Raise if a row has fewer than two candidates or fewer than two references."""
    for side, name in enumerate(columns):
        short = [i for i, size in enumerate(sizes) if size[side] < 2]
        if short:
            raise ValueError(
                f"{name}[{short[0]}]: expected at least two captions, got one ({len(short)} such rows in all). {reason}"
            )


def drawn_counts(rows: EmbeddingRows, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
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
            labels = generators.of(rows.row_key(i)).permuted(labels, axis=1)
            np.add.at(counts, texts, labels.T)  # equal texts share a vector
        yield counts


def joint_vectors(vectors: np.ndarray, numbers: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    """Stack the vectors of rows of equal sizes as float64, shape (n_rows, n_texts, d).

    `vectors` is floating-point, shape (n_vectors, d); `numbers` has n_rows lists of as many numbers of vectors.
    """
    return vectors[np.array(numbers)].astype(np.float64, copy=False)
