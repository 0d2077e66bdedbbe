"""Do two models say different things, and does one repeat itself more? Exact splits within prompts, in closed form."""

import itertools
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.special

from .arrays import CaptionRows, Floats, Ints, TokenRows, as_list, exact_mean, plain_arguments
from .errors import InputError, InputTypeError, check_n_rows, check_places
from .ngrams import NgramIndex
from .options import check_whole_number
from .parity_corpus import LEAST_ROWS, SMALLEST_P
from .parity_gaps import (
    LEVEL,
    DrawnGaps,
    GapsTest,
    ParityCorpus,
    RowGaps,
    RowsToDetect,
    gaps_test,
    row_gaps,
    rows_to_detect,
    rows_to_detect_of_tails,
    soonest,
)
from .rows import DISTANCES, as_caption_rows, as_pairs, check_symmetric
from .sets_distinct import class_labels, ngram_features, unit_rows
from .sets_diversity import ROUNDING
from .sets_tests import check_clusters, interval_of_rows, mean_of_rows, one_sided_p_value, row_keys, with_interval

# --------------------------------------------------------------------------------------------------------------------
# Two models of every prompt, m and n answers, and distances d of all their texts.
#
# With W1 and W2 the mean distances of two answers of one model, and B of one of each, the energy distance is 2 B - W1 -
# W2 (Székely and Rizzo 2013, https://doi.org/10.1016/j.jspi.2013.03.018), the diversity difference W1 - W2, and the
# homogeneity (W1 + W2) / (2 B), which is one less their coefficient of inhomogeneity. Means are over pairs of different
# texts, so that the first two are 0 on average, at any numbers, for two samples of one distribution. With d = 1 for
# texts of different classes and 0 for others, W1 + 1 is the expected number of classes of two answers of the first
# model, and B + 1 of one answer of each.
#
# Null hypothesis: the answers to a prompt may as well be split at random between the models. B - W2 and W1 - W2 are the
# two gaps of `parity_gaps`, whose covariance over all splits is there in closed form, so that nothing is drawn: T2 of
# both, summed over prompts, asks whether the models say different things, and the second alone which repeats itself.

# Name of people's answers among the models.
PEOPLE = "people"

# Ways to the p-value: the closed form, or random splits.
HOMOGENEITY_P_VALUES = ("chi-squared", "permutation")

# Distances by name: of n-grams, of sentence embeddings, and 1 for texts of different classes.
ANSWER_DISTANCES = ("ngram", "bert", "classes")

# Distances that are held at once, 8 bytes each.
MOST_DISTANCES = 4_000_000

# Standard deviations of all splits by which the energy distance is too far below 0 for independent samples: one in a
# thousand such pairs.
SHARED_DEVIATIONS = 3.1

# From the number of a row to the distances of all texts of all models, shape (n_texts, n_texts).
RowDistances = Callable[[int], Floats]


class PairRows(NamedTuple):
    """Two models on every prompt: float64 arrays, shape (n_rows,), in the unit of the distance."""

    within_first: np.ndarray
    within_second: np.ndarray
    between: np.ndarray
    # The gaps B - W2 and W1 - W2, and their covariance over all splits of each prompt.
    gaps: RowGaps

    @property
    def energy(self) -> np.ndarray:
        """Energy distance of each prompt."""
        return 2 * self.gaps.fidelity - self.gaps.diversity


class HomogeneityTest(NamedTuple):
    """Two models on the same prompts; p-values are two-sided, and NaN where no split changes what is tested."""

    # (W1 + W2) / (2 B) of the means over prompts: 1 for one distribution, lower the more the models differ.
    homogeneity: float
    # Mean distances: of two answers of one model, of one of each; 2 B - W1 - W2; and W1 - W2.
    within_first: float
    within_second: float
    between: float
    energy_distance: float
    diversity_difference: float
    # Of "the models say the same", and of "both repeat themselves as much".
    p_value: float
    diversity_p_value: float
    # Prompts after which the first of these tests finds the difference 80% of the time at 5%; and the second.
    rows_to_detect: float
    diversity_rows_to_detect: float


def pair_rows(distances: np.ndarray, n_first: int) -> PairRows:
    """Compare the two models of rows of equal sizes.

    `distances` is float64, shape (n_rows, n_texts, n_texts), symmetric, zeros on the diagonal, the first model's
    `n_first` texts before the others; each has two at least.
    """
    m, n = n_first, distances.shape[1] - n_first
    first = distances[:, :m, :m].sum(axis=(1, 2)) / (m * (m - 1))
    second = distances[:, m:, m:].sum(axis=(1, 2)) / (n * (n - 1))
    return PairRows(first, second, distances[:, :m, m:].mean(axis=(1, 2)), row_gaps(distances, m))


def homogeneity_of(within_first: float, within_second: float, between: float) -> float:
    """Return (W1 + W2) / (2 B); 1 where all texts are equal.

    >>> homogeneity_of(0.5, 0.25, 0.75), homogeneity_of(0.0, 0.0, 0.0)
    (0.5, 1.0)
    """
    if between == 0:  # then both models have one text, the same
        return 1.0
    return (within_first + within_second) / (2 * between)


def compare_pair(
    rows: PairRows, clusters: Sequence[Hashable] | None = None, drawn: DrawnGaps | None = None, *, level: float = LEVEL
) -> HomogeneityTest:
    """Test two models over all prompts; `level` is where a p-value counts, of the prompts to detect a difference."""
    gaps, n_rows = rows.gaps, len(rows.between)
    test = gaps_test([gaps], clusters)
    if drawn is not None:
        sums = np.array([math.fsum(gaps.fidelity), math.fsum(gaps.diversity)])
        test = drawn.test(ParityCorpus(test, sums, gaps.covariance.sum(axis=0)))
    p_value, needed = test.p_value, _rows_to_detect(test, n_rows, level)
    if clusters is not None:
        p_value, needed = _clustered(rows, clusters, test.diversity_p_value, level)
    within_first, within_second, between = map(exact_mean, (rows.within_first, rows.within_second, rows.between))
    return HomogeneityTest(
        homogeneity_of(within_first, within_second, between),
        within_first,
        within_second,
        between,
        exact_mean(rows.energy),
        exact_mean(gaps.diversity),
        p_value,
        test.diversity_p_value,
        *needed,
    )


def _rows_to_detect(test: GapsTest, n_rows: int, level: float) -> tuple[float, float]:
    """Rows after which the joint test, and the test of diversity alone, find what they have found."""
    joint = rows_to_detect(test.statistic, test.degrees, n_rows, None, 1.0, level=level).rows
    if math.isnan(test.diversity_p_value):
        return joint, math.nan
    # The square of z, out of a p-value which may be too small for a number.
    square = float(scipy.special.ndtri(max(test.diversity_p_value, SMALLEST_P) / 2)) ** 2
    return joint, rows_to_detect(square, 1, n_rows, None, 1.0, level=level).rows


def _clustered(
    rows: PairRows, clusters: Sequence[Hashable], diversity_p_value: float, level: float
) -> tuple[float, tuple[float, float]]:
    """p-value of "both say the same" where rows depend on each other, and the rows that find it.

    Sums of clusters have no covariance by splits, and those of energy distances are skewed, so that Hotelling's T2 of
    20 clusters rejects 8% where 5% is stated. The energy distance, one-sided and without its skewness, and the
    diversity difference have half of the level each: 3 to 5%, with the same power
    (`scripts.studies.homogeneity_level`).
    """
    energy, diversity = (mean_of_rows(values, clusters) for values in (rows.energy, rows.gaps.diversity))
    p_value = min(1.0, 2 * float(np.fmin(one_sided_p_value(energy), diversity_p_value)))
    t_values = [of.mean / of.standard_error if of.standard_error > 0 else math.nan for of in (energy, diversity)]
    size = len(set(clusters)), len(rows.between), None
    needed = [
        RowsToDetect(math.nan, math.nan, math.nan)
        if math.isnan(t)
        else rows_to_detect_of_tails([abs(t) if sides == 2 else t], *size, level=share * level / sides)
        for t, sides, share in ((t_values[0], 1, 0.5), (t_values[1], 2, 0.5), (t_values[1], 2, 1.0))
    ]
    return p_value, (soonest(*needed[:2]).rows, needed[2].rows)


# --------------------------------------------------------------------------------------------------------------------
# Many models: distances of all texts of a prompt at once, and every two models compared.


class ComparedModels(NamedTuple):
    """All models on the same prompts, people among them where there are any."""

    names: Sequence[str]
    # By the places of two models among the names, the first one smaller.
    pairs: Mapping[tuple[int, int], PairRows]
    tests: Mapping[tuple[int, int], HomogeneityTest]
    # p-values of the pairs of models after Holm's rule, of both tests; people's pairs are no part of it.
    adjusted: Mapping[tuple[int, int], tuple[float, float]]
    clusters: Sequence[Hashable] | None

    @property
    def models(self) -> list[int]:
        """Places of the models, without people."""
        return [place for place, name in enumerate(self.names) if name != PEOPLE]

    def matrix(self, name: str) -> list[list[float]]:
        """Return a matrix of all models: "homogeneity", 1 on its diagonal, or "distance", of two answers."""
        n = len(self.names)
        matrix = np.ones((n, n))
        for (i, j), test in self.tests.items():
            matrix[i, j] = matrix[j, i] = test.homogeneity if name == "homogeneity" else test.between
            if name == "distance":
                matrix[i, i], matrix[j, j] = test.within_first, test.within_second
        rows: list[list[float]] = matrix.tolist()
        return rows


def ngram_distances(tokens: TokenRows) -> RowDistances:
    """Return distances by n-grams: 1 - mean over 1 to 4 words of the cosines of counts, of the texts of each row."""
    index = NgramIndex.of_sets(tokens, keeps=True)
    return lambda row: distances_of_units(unit_rows(ngram_features(index, row, None)))


def distances_of_units(vectors: np.ndarray) -> Floats:
    """Return the cosine distances of vectors of length 1, float64, shape (n, d), to (n, n); rounding is 0."""
    distances = 1.0 - vectors @ vectors.T
    distances = (distances + distances.T) / 2
    distances[distances < ROUNDING] = 0.0
    np.fill_diagonal(distances, 0.0)
    return distances


def class_distances(texts: Sequence[str], are_equivalent: np.ndarray, rule: str) -> Floats:
    """Return 1 for texts of different classes and 0 for others, float64, shape (n, n).

    Classes are made of the texts of all models together, in the order of the alphabet, so that they cannot depend on
    whose a text is.
    """
    order = np.array(sorted(range(len(texts)), key=lambda place: (texts[place], place)))
    labels = np.empty(len(texts), dtype=np.int64)
    labels[order] = class_labels(are_equivalent[np.ix_(order, order)], rule)
    return (labels[:, None] != labels).astype(np.float64)


def row_blocks(sizes: Ints, distances: RowDistances) -> Iterator[tuple[list[int], Floats]]:
    """Give rows of equal sizes, by their numbers, with their distances, shape (n_rows, n_texts, n_texts).

    `sizes` has the texts of each model in each row, shape (n_rows, n_models).
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, size in enumerate(sizes.tolist()):
        groups.setdefault(tuple(size), []).append(row)
    for size, rows in groups.items():
        step = max(1, MOST_DISTANCES // sum(size) ** 2)
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            yield block, np.stack([distances(row) for row in block])


def compare_models(
    texts: Mapping[str, CaptionRows],
    distances: RowDistances,
    *,
    clusters: Sequence[Hashable] | None = None,
    p_value: str = "chi-squared",
    n_resamples: int = 9_999,
    seed: int = 0,
    progress: Callable[..., Iterable[Any]] = lambda items, **_: items,
) -> ComparedModels:
    """Compare every two models, people among them under `PEOPLE`, on the same prompts.

    Args:
        texts: by model n_rows lists of answers, two at least.
        distances: from the number of a row to those of all its texts, the models' one after the other.
        clusters: n_rows labels, or None.
        p_value: of `HOMOGENEITY_P_VALUES`.
        n_resamples: splits of each row that "permutation" draws.
        seed: of these.
        progress: wraps the blocks of rows, as `tqdm` does.
    """
    if clusters is not None and p_value == "permutation":
        raise InputError(
            "p_value",
            "'chi-squared' with clusters",
            "'permutation'",
            "Use chi-squared: splits take rows for independent.",
        )
    names = list(texts)
    sizes = np.array([[len(row) for row in rows] for rows in texts.values()]).T  # (n_rows, n_models)
    planned = list(itertools.combinations(range(len(names)), 2))
    n_rows = len(sizes)
    columns = {pair: np.empty((n_rows, 9)) for pair in planned}
    settings = {"p_value": p_value, "n_resamples": n_resamples, "seed": seed}
    drawn = {pair: DrawnGaps(settings, n_rows) for pair in planned} if p_value == "permutation" else {}
    keys = {(i, j): row_keys(texts[names[i]], texts[names[j]]) for i, j in drawn}
    for rows, block in progress(row_blocks(sizes, distances), desc="prompts", unit="block", delay=1):
        size = sizes[rows[0]]
        ends = np.cumsum(size)
        places = [np.arange(end - number, end) for end, number in zip(ends, size, strict=True)]
        for i, j in planned:
            own = np.concatenate((places[i], places[j]))
            both = block[:, own[:, None], own]
            found = pair_rows(both, int(size[i]))
            entries = found.gaps.covariance.reshape(-1, 4)
            columns[i, j][rows] = np.column_stack((*found[:3], found.gaps.fidelity, found.gaps.diversity, entries))
            if drawn:
                drawn[i, j].add(both, (int(size[i]), int(size[j])), rows, keys[i, j])
    pairs = {
        pair: PairRows(own[:, 0], own[:, 1], own[:, 2], RowGaps(own[:, 3], own[:, 4], own[:, 5:].reshape(-1, 2, 2)))
        for pair, own in columns.items()
    }
    models = [place for place, name in enumerate(names) if name != PEOPLE]
    tested = list(itertools.combinations(models, 2)) or planned
    level = LEVEL / len(tested)
    tests = {pair: compare_pair(own, clusters, drawn.get(pair), level=level) for pair, own in pairs.items()}
    both_tests = [
        _holm([tests[pair].p_value for pair in tested]),
        _holm([tests[pair].diversity_p_value for pair in tested]),
    ]
    adjusted = dict(zip(tested, zip(*both_tests, strict=True), strict=True))
    return ComparedModels(names, pairs, tests, adjusted, clusters)


def _holm(p_values: Sequence[float]) -> list[float]:
    """p-values after Holm's rule (Holm 1979), of those that are defined; each at least the smaller ones'."""
    order = sorted((i for i, value in enumerate(p_values) if not math.isnan(value)), key=lambda i: p_values[i])
    adjusted, largest = [math.nan] * len(p_values), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def warn_of_few_prompts(n_rows: int, p_value: str) -> None:
    """Warn where the closed form is no good approximation."""
    if p_value == "chi-squared" and n_rows < LEAST_ROWS:
        warnings.warn(
            f"homogeneity: p-values in closed form are right from {LEAST_ROWS} rows on, got {n_rows}. Give "
            "p_value='permutation'.",
            stacklevel=3,
        )


def warn_of_shared_answers(compared: ComparedModels) -> None:
    """Warn of pairs of models that are more alike than two samples of one distribution: they share answers."""
    for pair in compared.adjusted:
        gaps = compared.pairs[pair].gaps
        covariance = gaps.covariance.sum(axis=0)
        variance = 4 * covariance[0, 0] - 4 * covariance[0, 1] + covariance[1, 1]
        energy = float(compared.pairs[pair].energy.sum())
        if energy < -SHARED_DEVIATIONS * math.sqrt(max(variance, 0.0)):
            first, second = (compared.names[place] for place in pair)
            warnings.warn(
                f"homogeneity: {first} and {second} are more alike than two samples of one model (homogeneity "
                f"{compared.tests[pair].homogeneity:.2f}). Do they share answers, as copies or by a seed? p-values are "
                "of independent samples.",
                stacklevel=3,
            )


def homogeneity_result(
    compared: ComparedModels, *, confidence_level: float | None = None, details: bool = False
) -> dict[str, Any]:
    """Build the result: means over all pairs of models, of the only model with people where there is one alone."""
    pairs = list(compared.adjusted)
    tests = [compared.tests[pair] for pair in pairs]
    of_first = [pair for pair in pairs if pair[0] == 0]
    energies = np.mean([compared.pairs[pair].energy for pair in pairs], axis=0)
    differences = np.mean([compared.pairs[pair].gaps.diversity for pair in of_first], axis=0)
    p_values, diversity_p_values = zip(*compared.adjusted.values(), strict=True)
    result: dict[str, Any] = {
        "homogeneity": exact_mean([test.homogeneity for test in tests]),
        "homogeneity_p_value": float(np.fmin.reduce(p_values)),
        "rows_to_detect": float(np.fmin.reduce([test.rows_to_detect for test in tests])),
    }
    for name, rows in (("energy_distance", energies), ("diversity_difference", differences)):
        ends = (math.nan, math.nan)
        if confidence_level is not None and len(rows) > 1:
            ends = interval_of_rows(rows.tolist(), confidence_level, compared.clusters)
        result |= with_interval(name, (exact_mean(rows), *ends), confidence_level)
    result["diversity_p_value"] = float(np.fmin.reduce(diversity_p_values))
    result["within_distance"] = tests[0].within_first
    result["between_distance"] = exact_mean([test.between for test in tests])
    if PEOPLE in compared.names:
        people = compared.names.index(PEOPLE)
        beside = [compared.tests[place, people] for place in compared.models]
        result["within_distance_of_people"] = beside[0].within_second
        result["homogeneity_with_people"] = exact_mean([test.homogeneity for test in beside])
    result |= {"n_models": len(compared.models), "n_rows": len(energies)}
    if details:
        result["models"] = list(compared.names)
        result["homogeneity_matrix"], result["distance_matrix"] = map(compared.matrix, ("homogeneity", "distance"))
        result["energy_distance_per_row"] = energies.tolist()
        result["diversity_difference_per_row"] = differences.tolist()
    return result


def as_other_models(others: object, n_rows: int) -> dict[str, list[list[str]]]:
    """Return the answers of further models as lists, by name; or raise for the first that has other rows."""
    if others is None:
        return {}
    if not isinstance(others, Mapping):
        raise InputTypeError(
            "others", "a dict of models, {name: rows}", type(others).__name__, 'Give {"tuned": [["an answer", ...]]}.'
        )
    models = {str(name): as_caption_rows(rows, f"others[{name!r}]", sampled=True) for name, rows in others.items()}
    for name, rows in models.items():
        if name in (PEOPLE, "predictions"):
            raise InputError("others", "other names than predictions and people", repr(name), "Rename it.")
        check_n_rows(f"others[{name!r}]", len(rows), "predictions", n_rows)
    return models


def check_two_answers(models: Mapping[str, CaptionRows]) -> None:
    """Raise unless every model has two answers in every row."""
    for name, rows in models.items():
        short = [i for i, row in enumerate(rows) if len(row) < 2]
        fix = "Sample more, or leave the row out of all models."
        check_places(short, name, "at least two answers, which are compared with each other", "fewer", fix)


# --------------------------------------------------------------------------------------------------------------------
# Plain functions of arrays of distances.


@plain_arguments
def homogeneity_test(
    distances: npt.ArrayLike, n_first: int, clusters: Sequence[Hashable] | None = None
) -> HomogeneityTest:
    """Test whether two models say different things, and whether one repeats itself more, over the same prompts.

    With W1, W2 and B the mean distances of two answers of the first model, of the second, and of one of each, T2 of (B
    - W2, W1 - W2), summed over prompts, with their covariance under random splits of every prompt's answers in closed
    form (Chen and Friedman 2017, https://doi.org/10.1080/01621459.2016.1147356), is chi-squared with two degrees of
    freedom from five prompts on; W1 - W2 alone is normal. With clusters, 2 B - W1 - W2 and W1 - W2 are tested by the
    spread of the clusters, each at half of the level.

    Args:
        distances: floating-point array, shape (n_rows, n_texts, n_texts), at least 0, symmetric, zeros on the diagonal,
            the first model's answers before the second's.
        n_first: answers of the first model, at least 2; the second has two at least.
        clusters: n_rows labels: rows with equal labels depend on each other. None: all rows are independent.

    Returns:
        A named tuple: `homogeneity`, (W1 + W2) / (2 B), 1 for one distribution and lower the more they differ;
        `within_first`, `within_second`, `between`; `energy_distance`, 2 B - W1 - W2, and `diversity_difference`, W1 -
        W2, both 0 on average for one distribution; `p_value` of "both say the same", `diversity_p_value` of "both
        repeat themselves as much", two-sided; `rows_to_detect` and `diversity_rows_to_detect`, the rows after which
        these tests find the difference 80% of the time. NaN where no split changes what is tested.

    Raises:
        TypeError: `n_first` is not a whole number.
        ValueError: another shape, distances that are negative, not finite or not symmetric, or labels that are missing.

    >>> same = np.array([[0.0, 0.0], [0.0, 0.0]])
    >>> apart = np.block([[same, same + 1], [same + 1, 1 - np.eye(2)]])
    >>> test = homogeneity_test([apart] * 8, 2)
    >>> test.homogeneity, test.energy_distance, test.diversity_difference, test.p_value < 0.01
    (0.5, 1.0, -1.0, True)
    """
    rows = _as_distances(distances)
    check_whole_number("n_first", n_first, 2, max(2, rows.shape[1] - 2))
    if clusters is not None:
        check_clusters(clusters, len(rows))
    return compare_pair(pair_rows(rows, n_first), clusters)


@plain_arguments
def homogeneity_matrix(distances: npt.ArrayLike, sizes: Sequence[int]) -> Floats:
    """Return the homogeneity of every two models on the same prompts: (W1 + W2) / (2 B), see `homogeneity_test`.

    Args:
        distances: as for `homogeneity_test`, the answers of all models one after the other.
        sizes: answers of each model, at least 2 each, together n_texts.

    Returns:
        float64 array, shape (n_models, n_models), symmetric, 1 on the diagonal.

    Raises:
        TypeError, ValueError: as `homogeneity_test`, or sizes that do not add up.

    >>> distances = 1.0 - np.kron(np.eye(3), np.ones((2, 2)))
    >>> homogeneity_matrix([distances], [2, 2, 2]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows, numbers = _as_distances(distances), as_list(sizes, "sizes", "a whole number for each model")
    for i, number in enumerate(numbers):
        check_whole_number(f"sizes[{i}]", number, 2)
    if sum(numbers) != rows.shape[1]:
        raise InputError("sizes", f"numbers that add up to {rows.shape[1]} texts", sum(numbers), "Count the answers.")
    texts = {str(i): [[""] * number] * len(rows) for i, number in enumerate(numbers)}
    return np.array(compare_models(texts, lambda row: rows[row]).matrix("homogeneity"))


def _as_distances(distances: npt.ArrayLike) -> Floats:
    rows, different = as_pairs(distances, "distances")
    wrong = different | (rows.min(axis=(1, 2)) < 0)
    wrong |= np.abs(np.diagonal(rows, axis1=1, axis2=2)).max(axis=1) > 0
    check_symmetric("distances", wrong, DISTANCES)
    return rows
