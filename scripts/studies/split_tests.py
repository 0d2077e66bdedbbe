"""Exact tests of rows of captions by a module and by its plain score, both combinations of the rows' p-values."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from manycaps.kit.sets_corpus import RowSplits, harmonic_mean_p
from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, ComparableRows
from manycaps.kit.sets_splits import exact_splits
from scripts.studies.aggregated_scores import PLAIN_SCORES, two_sided

TEST_COLUMNS = ("measure", "n_references", "n_rows", "value", "excess", "harmonic_mean_p", "corpus_p", "smallest_p")

# Splits of an image, at most: more than those of 11 + 11 captions.
MAX_SPLITS = 1_000_000

# Images compared at once: 184,756 null values each take 15 MB for ten.
BATCH = 10


class Nulls:
    """Null values of all rows, gathered for the test of each row and of the mean over rows."""

    def __init__(self, size: tuple[int, int], keys: Sequence[bytes], n_draws: int):
        """Begin without rows; `keys` are those of the rows, which their draws depend on."""
        options = {**DISTRIBUTION_DEFAULTS, "p_value": "exact", "max_partitions": MAX_SPLITS, "n_resamples": n_draws}
        self._size, self._keys = size, keys
        self._splits = RowSplits([size] * len(keys), options)
        self._values = np.empty(len(keys))

    def add(
        self, places: Sequence[int], values: np.ndarray, nulls: np.ndarray, units: np.ndarray | None = None
    ) -> None:
        """Take in rows: their statistic in its own unit, and null values in units."""
        self._values[list(places)] = values
        scale = np.ones(len(values)) if units is None else units
        self._splits.add(
            self._size, list(places), self._keys.__getitem__, values / scale, lambda part, _: [nulls[part]], scale
        )

    def result(self) -> tuple[float, float, np.ndarray, float]:
        """Return the mean over rows, its excess, the rows' p-values, and the p-value of the mean."""
        tests = self._splits.test(self._values)
        excess = float(np.mean(np.asarray(tests.excesses)))
        return float(self._values.mean()), excess, np.asarray(tests.p_values), tests.corpus_p_value


def distribution_lines(module: str, rows: ComparableRows, size: tuple[int, int], n_draws: int) -> Iterator[list[Any]]:
    """Yield the lines of a module, and of the plain score that its distances are made of."""
    n_rows = len(rows.sizes)
    keys = [rows.row_key(i) for i in range(n_rows)]
    tests = Nulls(size, keys, n_draws)
    plain = {name: score for name, score in PLAIN_SCORES.items() if score.module == module}
    tails = {name: (Nulls(size, keys, n_draws), Nulls(size, keys, n_draws)) for name in plain}
    tests_itself = size[0] > 1 or bool(plain)
    splits = exact_splits(*size, MAX_SPLITS, mirrored=False)
    # A plain score tells candidates from references: it needs the mirror images of the splits as well.
    all_splits = exact_splits(*size, MAX_SPLITS)
    for start in range(0, n_rows, BATCH) if tests_itself else ():
        places = range(n_rows)[start : start + BATCH]
        compared = rows.compare(places)
        nulls = np.concatenate(list(compared.null_values(slice(None), splits)), axis=1)
        tests.add(places, compared.statistic, nulls, compared.units)
        for name, score in plain.items():
            # The first split is the observed one.
            values = score.aggregate(score.scores(compared.pair_values), all_splits)
            for sign, tail in zip((1, -1), tails[name], strict=True):
                tail.add(places, sign * values[:, 0], sign * values)
    if tests_itself:
        value, excess, p_values, corpus_p = tests.result()
        yield [module, size[1], n_rows, value, excess, harmonic_mean_p(p_values), corpus_p, p_values.min()]
    for name, (high, low) in tails.items():
        value, excess, upper, corpus_upper = high.result()
        lower, corpus_lower = low.result()[2:]
        for title, p_values, corpus_p in (
            (name, two_sided(upper, lower), float(two_sided(np.array(corpus_upper), np.array(corpus_lower)))),
            (f"{name}_low", lower, corpus_lower),
        ):
            yield [title, size[1], n_rows, value, excess, harmonic_mean_p(p_values), corpus_p, p_values.min()]
