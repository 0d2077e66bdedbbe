"""Ready embeddings beside captions: each error names row and vector."""

from collections.abc import Sequence

import numpy as np

from .shared_embeddings import as_embedding_arrays

# Name of the keyword.
COLUMN = "data_embeddings"


def as_row_vectors(embeddings: object, rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """Check ready embeddings against the captions that they belong to.

    Args:
        embeddings: n_rows floating-point arrays of shape (n_captions, d), or one of shape (n_rows, n_captions, d).
        rows: n_rows lists of captions.

    Returns:
        The arrays.

    Raises:
        TypeError: no list of arrays of floating-point numbers.
        ValueError: another number of rows, of vectors in a row, or of dimensions; NaN, or a number that is too large.

    >>> [array.shape for array in as_row_vectors([[[1.0, 0.0], [0.0, 1.0]]], [["a dog", "a cat"]])]
    [(2, 2)]
    """
    arrays = as_embedding_arrays(embeddings, COLUMN)
    if len(arrays) != len(rows):
        raise ValueError(
            f"{COLUMN}: expected one array for each of the {len(rows)} rows of data, got {len(arrays)}. Row i of both "
            "belongs to one image or video."
        )
    for i, (array, row) in enumerate(zip(arrays, rows, strict=True)):
        if len(array) != len(row):
            raise ValueError(
                f"{COLUMN}[{i}]: expected {len(row)} vectors, as many as captions in data[{i}], got {len(array)}. Give "
                "one vector per caption."
            )
        if array.shape[1] != arrays[0].shape[1]:
            raise ValueError(
                f"{COLUMN}[{i}]: expected {arrays[0].shape[1]} dimensions as in {COLUMN}[0], got {array.shape[1]}. Use "
                "one encoder for all captions."
            )
    return arrays


def check_cosines(rows: Sequence[np.ndarray], places: Sequence[int]) -> None:
    """Raise if a vector is all zeros and so has no cosine.

    Args:
        rows: vectors of rows, shape (n_captions, d).
        places: number of each row in the data.

    Raises:
        ValueError: some vectors are zero; the message names the first caption and counts them.
    """
    zeros = [
        (i, int(j)) for i, vectors in zip(places, rows, strict=True) for j in np.flatnonzero((vectors == 0).all(axis=1))
    ]
    if zeros:
        raise ValueError(
            f"data[{zeros[0][0]}][{zeros[0][1]}]: expected an embedding that is not all zeros, which has no cosine "
            f"({len(zeros)} such captions in all), got zeros. Leave these captions out, or use another encoder."
        )
