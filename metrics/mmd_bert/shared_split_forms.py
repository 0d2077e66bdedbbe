# Vendored from manycaps/shared_split_forms.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Statistics that are sums over pairs of texts: their values for all splits of a row, by one matrix product."""

from collections.abc import Iterable, Iterator

import numpy as np

from .shared_partition_test import Partitions, both_candidates

# Labelled pairs of texts held at once, 8 bytes each.
MAX_PAIR_VALUES = 2_000_000


def split_forms(
    pair_values: np.ndarray, among_candidates: float, among_references: float, across: float
) -> tuple[np.ndarray, np.ndarray]:
    """Turn a weighted sum over pairs of texts into a quadratic form in the labels.

    With z = 1 for candidates and M the values of pairs, the sum a z'Mz + b (1-z)'M(1-z) + c z'M(1-z) equals
    (a + b - c) z'Mz + (c - 2b) (M1)'z + b 1'M1; and z_i is its own square, so the linear term goes on the diagonal.

    Args:
        pair_values: float64 array, shape (n_rows, n_texts, n_texts), symmetric.
        among_candidates: weight a of each ordered pair of candidates, a text with itself included.
        among_references: weight b of each ordered pair of references.
        across: weight c of each pair of a candidate and a reference.

    Returns:
        float64 arrays, the forms, shape (n_rows, n_texts (n_texts + 1) / 2), in the order of `np.triu_indices`, and the
        constants, shape (n_rows,).

    >>> forms, constants = split_forms(np.array([[[1.0, 2.0], [2.0, 4.0]]]), 1.0, 1.0, 0.0)
    >>> forms.tolist(), constants.tolist()
    ([[-4.0, 8.0, -4.0]], [9.0])
    """
    n_texts = pair_values.shape[-1]
    forms = (among_candidates + among_references - across) * pair_values
    linear = (across - 2 * among_references) * pair_values.sum(axis=-1)
    forms = 2 * forms  # each pair i < j stands for (i, j) and (j, i)
    texts = np.arange(n_texts)
    forms[:, texts, texts] = forms[:, texts, texts] / 2 + linear
    first, second = np.triu_indices(n_texts)
    return forms[:, first, second], among_references * pair_values.sum(axis=(-2, -1))


def split_values(forms: np.ndarray, constants: np.ndarray, partitions: Partitions) -> Iterator[np.ndarray]:
    """Give the value of every row's form under every split.

    Args:
        forms: float64 array, shape (n_rows, n_pairs), as from `split_forms`.
        constants: float64 array, shape (n_rows,).
        partitions: as from `exact_partitions` or `random_partitions`.

    Yields:
        float64 arrays, shape (n_rows, block), in the order of the splits.

    >>> forms, constants = split_forms(np.array([[[1.0, 2.0], [2.0, 4.0]]]), 1.0, 0.0, 0.0)
    >>> [values.tolist() for values in split_values(forms, constants, lambda size: [np.array([[True, False]])])]
    [[[1.0]]]
    """
    for labels in label_blocks(forms, partitions):
        yield forms @ both_candidates(labels) + constants[:, None]


def label_blocks(forms: np.ndarray, partitions: Partitions) -> Iterable[np.ndarray]:
    """Return the splits in blocks for which `split_values` stays within `MAX_PAIR_VALUES`."""
    return partitions(max(1, MAX_PAIR_VALUES // sum(forms.shape)))
