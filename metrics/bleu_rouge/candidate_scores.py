"""BLEU and ROUGE-L of every candidate against all references of its row."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .shared_bleu import bleu_scores, bleu_statistics
from .shared_rouge_l import rouge_l_scores

Tokens = Sequence[str]


def candidate_scores(
    candidates: Sequence[Sequence[Tokens]], references: Sequence[Sequence[Tokens]]
) -> tuple[dict[str, np.ndarray], npt.NDArray[np.int64]]:
    """Score every candidate, and return what BLEU of the corpus is made of.

    Args:
        candidates: n_rows lists of at least one token list.
        references: the same for the references.

    Returns:
        Float64 arrays, shape (n_candidates,), row after row, by key: "bleu_1" to "bleu_4" and "rouge_l", 0 (worst) to 1
        (best); and an int64 array, shape (n_candidates, 10), as from `bleu_statistics`.

    >>> scores, _ = candidate_scores([[["a", "red", "dog"]]], [[["a", "red", "dog"], ["a", "cat"]]])
    >>> {key: round(float(values[0]), 4) for key, values in scores.items() if key != "bleu_4"}
    {'bleu_1': 1.0, 'bleu_2': 1.0, 'bleu_3': 1.0, 'rouge_l': 1.0}
    """
    texts = [tokens for row in candidates for tokens in row]
    own = [row for mine, row in zip(candidates, references, strict=True) for _ in mine]
    statistics = bleu_statistics(texts, own)
    scores = {f"bleu_{n}": values for n, values in enumerate(bleu_scores(statistics).T, start=1)}
    return scores | {"rouge_l": rouge_l_scores(texts, own)}, statistics
