"""How well captions of other images score that share a label: what classification along labels could reach.

Chan, Myers et al. (2022), supplement B.8 and Table 4, https://arxiv.org/abs/2205.06253.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse

from .shared_cross_bleu import CrossBleu

# Scores of candidates with rows that are held at once, 8 bytes each in some arrays.
MAX_CELLS = 2_000_000

Tokens = Sequence[str]


class Transfer(NamedTuple):
    """Arrays of shape (n_rows,); NaN for a row without a candidate."""

    # BLEU-4 of the best candidate, and mean BLEU-4 of all.
    best: np.ndarray
    mean: np.ndarray
    # Number of candidates.
    n_candidates: np.ndarray


def best_transfer(
    candidates: Sequence[Tokens],
    rows: Sequence[Sequence[Tokens]],
    candidate_labels: scipy.sparse.csr_array,
    row_labels: scipy.sparse.csr_array,
) -> Transfer:
    """Score every candidate with the rows with which it shares a label, by BLEU-4.

    H_i = union of R_c over the labels c of row i, without the row's own captions R_i; the best of H_i against R_i.

    Args:
        candidates: n_candidates token lists, all different.
        rows: n_rows rows of token lists.
        candidate_labels: zeros and ones, shape (n_candidates, n_labels).
        row_labels: the same for the rows, shape (n_rows, n_labels).

    Returns:
        The scores.
    """
    table = CrossBleu(candidates, rows)
    own = _own_captions(candidates, rows)
    best, total, number = np.full(len(rows), -np.inf), np.zeros(len(rows)), np.zeros(len(rows), np.int64)
    step = max(1, MAX_CELLS // len(rows))
    of_rows = row_labels.T.tocsr()
    for begin in range(0, len(candidates), step):
        end = min(begin + step, len(candidates))
        allowed = (candidate_labels[begin:end] @ of_rows).toarray() > 0
        allowed &= ~own[begin:end].toarray()
        scores = table.scores(begin, end)
        best = np.maximum(best, np.where(allowed, scores, -np.inf).max(axis=0))
        total += np.where(allowed, scores, 0).sum(axis=0)
        number += allowed.sum(axis=0)
    some = number > 0
    mean = np.divide(total, number, out=np.full(len(rows), np.nan), where=some)
    return Transfer(np.where(some, best, np.nan), mean, number)


def _own_captions(candidates: Sequence[Tokens], rows: Sequence[Sequence[Tokens]]) -> scipy.sparse.csr_array:
    """Which candidates are captions of which rows: bool, shape (n_candidates, n_rows)."""
    numbers = {tuple(tokens): i for i, tokens in enumerate(candidates)}
    pairs = {
        (numbers[tuple(tokens)], row) for row, texts in enumerate(rows) for tokens in texts if tuple(tokens) in numbers
    }
    lines, columns = zip(*sorted(pairs), strict=True) if pairs else ((), ())
    shape = (len(candidates), len(rows))
    return scipy.sparse.csr_array((np.ones(len(pairs), bool), (lines, columns)), shape=shape)
