"""METEOR 1.5 between all texts of many rows at once."""

from collections.abc import Sequence

import numpy as np

from .shared_meteor15 import pair_statistics, scores
from .shared_meteor15_texts import Lexicon


def meteor15_scores(rows: Sequence[Sequence[Sequence[str]]], lexicon: Lexicon) -> list[np.ndarray]:
    """Score every text of a row as a hypothesis against every text of the row as its only reference.

    Args:
        rows: n_rows rows of token lists; as in the COCO caption code, the program splits the tokens, joined by spaces,
            into words of its own.
        lexicon: of the data of METEOR 1.5.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 (no match) to 1; [i, j] has text i as the reference
        and text j as the hypothesis.
    """
    numbers: dict[str, int] = {}
    texts = [[numbers.setdefault(" ".join(tokens), len(numbers)) for tokens in row] for row in rows]
    words = [lexicon.words(text) for text in numbers]
    references = np.concatenate([np.repeat(row, len(row)) for row in texts])
    hypotheses = np.concatenate([np.tile(row, len(row)) for row in texts])
    values = scores(pair_statistics(words, hypotheses, references, lexicon))
    cells_of_row = np.split(values, np.cumsum([len(row) ** 2 for row in rows])[:-1])
    return [cells.reshape(len(row), len(row)) for cells, row in zip(cells_of_row, rows, strict=True)]
