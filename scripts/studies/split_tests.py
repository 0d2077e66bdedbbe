"""Tests of rows of captions by a set metric and by the plain score beside it, under every split; and their pictures.

S_agg (Chan et al. 2022, equation 1, https://arxiv.org/abs/2209.07518), the plain score of several candidates, is the
mean over them of a score against all references: of the best one for METEOR and for a cosine, the mean over them
for CIDEr-D.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.ticker
import numpy as np

from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, ComparableRows
from manycaps.kit.sets_tests import Comparison, RowTester, SplitsOfRow, exact_splits, harmonic_mean_p
from scripts.studies.caption_rows import DrawnRows, StudyCaptions, compare_with_nulls, draw_systems
from scripts.studies.study_frame import Line, distinct, matching_lines, numbers
from scripts.studies.study_options import Options
from scripts.studies.study_pictures import label_axes, new_picture

TEST_COLUMNS = ("measure", "n_references", "n_rows", "value", "excess", "harmonic_mean_p", "corpus_p", "smallest_p")

# Combinations of the rows' p-values: column and title.
COMBINATIONS = {"harmonic_mean_p": "harmonic mean of the images' p", "corpus_p": "one split of every image"}

LEVEL = 0.05

# Splits of an image, at most: more than 11 + 11 captions have.
MAX_PARTITIONS = 1_000_000

# Images compared at once: 184,756 null values each take 15 MB for ten. Splits enumerated together: 20 texts need 8 MB.
BATCH, SPLIT_BLOCK = 10, 20_000


class PlainScore(NamedTuple):
    """A plain score, and where it comes from."""

    # Module whose pair values are its distances.
    module: str
    # From these, shape (n_rows, n_texts, n_texts), to the score of candidate i against reference j at [:, i, j].
    scores: Callable[[np.ndarray], np.ndarray]
    # From scores and splits to the aggregate of every row and split.
    aggregate: Callable[[np.ndarray, SplitsOfRow], np.ndarray]


def best_reference(scores: np.ndarray, splits: SplitsOfRow) -> np.ndarray:
    """Return the candidates' mean score against the best reference, under every split: (n_rows, n_splits).

    Scores have the shape (n_rows, n_texts, n_texts): text i as a candidate against text j as a reference.

    >>> scores = np.array([[[1.0, 0.2, 0.6], [0.2, 1.0, 0.4], [0.6, 0.4, 1.0]]])
    >>> best_reference(scores, lambda size: [np.array([[True, False, False], [True, True, False]])]).tolist()
    [[0.6, 0.5]]
    """
    blocks = [np.stack([_best_of_row(row, labels) for row in scores]) for labels in splits(SPLIT_BLOCK)]
    return np.concatenate(blocks, axis=1)


def _best_of_row(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Aggregate of one row: (block,)."""
    total = np.zeros(len(labels))
    for i, mine in enumerate(scores):
        waiting = np.flatnonzero(labels[:, i])
        # The best other text is a reference in about half of the splits; the others ask for the next best. Text i
        # itself is a candidate in all of them.
        for j in np.argsort(-mine, kind="stable"):
            is_reference = ~labels[waiting, j]
            total[waiting[is_reference]] += mine[j]
            waiting = waiting[~is_reference]
    return total / labels.sum(axis=1)


def mean_reference(scores: np.ndarray, splits: SplitsOfRow) -> np.ndarray:
    """Return the candidates' mean of the mean score against the references, under every split: as `best_reference`.

    >>> scores = np.array([[[1.0, 0.2, 0.6], [0.2, 1.0, 0.4], [0.6, 0.4, 1.0]]])
    >>> mean_reference(scores, lambda size: [np.array([[True, False, False]])]).tolist()
    [[0.4]]
    """
    blocks = []
    for labels in splits(SPLIT_BLOCK):
        mine, theirs = labels.astype(np.float64), (~labels).astype(np.float64)
        sums = np.einsum("rbj,bj->rb", mine @ scores, theirs)
        blocks.append(sums / (mine.sum(axis=1) * theirs.sum(axis=1)))
    return np.concatenate(blocks, axis=1)


# By name. A distance is d(reference, candidate) for METEOR, whose largest value is 1, and d(candidate, reference) for
# CIDEr-D, whose largest value is 10; texts of equal tokens have distance 0 and so the largest score.
PLAIN_SCORES = {
    "meteor": PlainScore("trm_meteor", lambda distances: 1 - distances.swapaxes(1, 2), best_reference),
    "cider_d": PlainScore("trm_cider", lambda distances: 10 - distances, mean_reference),
    "bert": PlainScore("trm_bert", lambda distances: 1 - distances, best_reference),
}


def two_sided(p_values: Any, opposite: Any) -> Any:
    """Return the p-values of both tails together: twice the smaller one, at most 1.

    >>> two_sided(np.array([0.25, 0.75]), np.array([0.75, 0.5])).tolist()
    [0.5, 1.0]
    """
    return np.minimum(1, 2 * np.minimum(p_values, opposite))


class Nulls:
    """Null values of rows of one size, gathered for the test of each row and of the mean over rows."""

    def __init__(self, size: tuple[int, int], keys: Sequence[bytes], **options: Any):
        """Begin without rows; `keys` are the rows', which their draws depend on."""
        self._size, self._keys = size, keys
        self._splits = RowTester([size] * len(keys), {**DISTRIBUTION_DEFAULTS, **options})
        self._values = np.empty(len(keys))

    def add(self, places: Sequence[int], values: np.ndarray, nulls: np.ndarray, units: np.ndarray) -> None:
        """Take in rows: their statistic in its own unit, and null values in units."""
        self._values[list(places)] = values
        compared = Comparison(values, np.empty(0), lambda part, _: [nulls[part]], units)
        self._splits.add(self._size, list(places), self._keys.__getitem__, compared)

    def result(self) -> tuple[float, float, np.ndarray, float]:
        """Return the mean over rows, its excess, the rows' p-values, and the p-value of the mean."""
        tests = self._splits.test(self._values)
        excess = float(np.mean(np.asarray(tests.excesses)))
        return float(self._values.mean()), excess, np.asarray(tests.p_values), tests.corpus_p_value


def distribution_lines(module: str, rows: ComparableRows, n_draws: int) -> Iterator[list[Any]]:
    """Yield the lines of a module, and of the plain score that its distances are made of."""
    size, n_rows = rows.sizes[0], len(rows.sizes)
    plain = {name: score for name, score in PLAIN_SCORES.items() if score.module == module}
    if size[0] == 1 and not plain:
        return
    keys = [rows.row_key(i) for i in range(n_rows)]
    options = {"p_value": "exact", "max_partitions": MAX_PARTITIONS, "n_resamples": n_draws}
    tests, high, low = (Nulls(size, keys, **options) for _ in range(3))
    # A plain score, unlike a module, distinguishes candidates from references: it needs the mirror images as well.
    splits, all_splits = exact_splits(*size, MAX_PARTITIONS, mirrored=False), exact_splits(*size, MAX_PARTITIONS)
    for places, compared, nulls, units in compare_with_nulls(rows, splits, n_rows, BATCH):
        tests.add(places, compared.statistic, nulls, units)
        for score in plain.values():
            # The first split is the observed one.
            values = score.aggregate(score.scores(compared.pair_values), all_splits)
            high.add(places, values[:, 0], values, np.ones(len(places)))
            low.add(places, -values[:, 0], -values, np.ones(len(places)))
    results = {module: tests.result()}
    for name in plain:
        value, excess, upper, corpus_upper = high.result()
        _, _, lower, corpus_lower = low.result()
        results[name] = value, excess, two_sided(upper, lower), float(two_sided(corpus_upper, corpus_lower))
        results[f"{name}_low"] = value, excess, lower, corpus_lower
    for name, (value, excess, p_values, corpus_p) in results.items():
        yield [name, size[1], n_rows, value, excess, harmonic_mean_p(p_values), corpus_p, p_values.min()]


def draw_trials(captions: StudyCaptions, damages: Sequence[str], options: Options) -> list[DrawnRows]:
    """Draw the rows of every trial."""
    return [draw_systems(captions, damages, options.rows, (options.seed, trial)) for trial in range(options.trials)]


def trial_cells(trials: Sequence[DrawnRows], least: int, most: int) -> list[tuple[str, int, int]]:
    """Return the system, number of candidates and trial of every cell whose rows have as many candidates."""
    return [
        (system, n, trial)
        for trial, drawn in enumerate(trials)
        for n in range(least, most + 1)
        for system, rows in drawn.candidates.items()
        if all(len(row) >= n for row in rows)
    ]


def draw_p_values(
    lines: Sequence[Line], output: Any, name: str, title: str, by: str, styles: Mapping[str, tuple[str, str, str]]
) -> None:
    """Draw p against the number of candidates: a column of panels for each system, a row for each combination.

    Each value of the column `by` is a curve, the median of all trials, with a band around all; `styles` are title,
    colour and line of each.
    """
    least = min(min(numbers(lines, combination)) for combination in COMBINATIONS)
    systems, most = distinct(lines, "system"), max(numbers(lines, "n_candidates"))
    with new_picture(output, name, 3.2 * len(systems) + 1.6, 6.2) as figure:
        panels = figure.subplots(2, len(systems), sharex=True, sharey=True, squeeze=False)
        for (row, column), axes in np.ndenumerate(panels):
            combination, described = list(COMBINATIONS.items())[row]
            for value, (label, color, style) in styles.items():
                mine = matching_lines(lines, system=systems[column], **{by: value})
                counts = sorted({int(line["n_candidates"]) for line in mine})
                by_n = [numbers(mine, combination, n_candidates=n) for n in counts]
                if by_n:  # a single candidate has no pair for MMD
                    axes.plot(counts, [np.median(p) for p in by_n], style, color=color, marker=".", label=label)
                    axes.fill_between(counts, [*map(min, by_n)], [*map(max, by_n)], color=color, alpha=0.12, lw=0)
            axes.axhline(LEVEL, color="#888888", lw=0.8)
            axes.set_yscale("log")
            axes.set_ylim(least / 2, 1.5)
            axes.set_xlim(0.5, most + 0.5)
            axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True, min_n_ticks=1))
            y, better = (f"p, {described}", "lower finds a difference") if column == 0 else ("", "")
            label_axes(axes, "candidates of an image" if row else "", y, better=better)
            if row == 0:
                axes.set_title(systems[column])
        figure.suptitle(title)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside right center")
