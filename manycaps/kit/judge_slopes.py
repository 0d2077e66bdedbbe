"""Judges on trial: what of the wording of texts a judge's scores reward, and what of a difference remains without it.

A judge gives a number to every text: an LLM, a reward model, CLIPScore, or any metric. Its score of text t of row r,
written by system k, is taken apart by least squares,

    score = row r + system k + sum over features f of slope_f x_f(t) + rest,

so that a slope is learnt from texts of one row that differ, beyond what their systems differ by on average: a good
system that writes long texts does not make the judge a friend of length. Standard errors are the jackknife's over rows,
or clusters of rows: the whole fit without each of them (Cameron and Miller 2015, section VI.B,
https://doi.org/10.3368/jhr.50.2.317; MacKinnon, Nielsen and Webb 2023, https://doi.org/10.1002/jae.2942), with
Student's quantiles. The slow version is in tests/oracles/judge_loop.py.
"""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.special

from .arrays import Floats, Ints, TokenRows, as_list, plain_arguments
from .errors import InputError, check_n_rows
from .ngrams import RowTexts, WordNumbers, word_ids
from .options import check_number
from .parity_gaps import CONFIDENCE_LEVEL, LEVEL
from .rows import as_both_rows
from .sets_tests import check_clusters, cluster_numbers
from .words_predictability import wording_rows

# What a text's wording is measured by: each with its unit, for tables.
FEATURES = {
    "length": "doubling of the words",
    "predictability": "unit of SLOR",
    "copied_bigrams": "share of 1",
    "genericness": "cosine of 1",
}

# A slope is named where it is significant, by Holm's rule over the features, and at least so large: standard deviations
# of the score for each of the feature's.
LEAST_SLOPE = 0.05

# Squared numbers below this share of the largest one are rounding.
ROUNDING = 1e-18

# Eigenvalues below this share of the largest one are 0: of columns that others add up to.
SINGULAR = 1e-10

# Numbers of normal equations held at once, 8 bytes each.
MAX_NUMBERS = 8_000_000


class JudgeSlope(NamedTuple):
    """How a judge's score rises with a feature, among texts of one row; NaN where the feature does not vary."""

    # Score for one unit of the feature, see `FEATURES`, and the ends of its interval.
    slope: float
    low: float
    high: float
    # The same in standard deviations within rows, of the score for each of the feature's.
    standardized: float
    # Of "the slope is 0", two-sided, before and after Holm's rule over the features.
    p_value: float
    adjusted_p_value: float

    @property
    def is_named(self) -> bool:
        """Whether the judge rewards or punishes the feature: significantly, and by no trifle."""
        return self.adjusted_p_value < LEVEL and abs(self.standardized) >= LEAST_SLOPE


class SystemDifference(NamedTuple):
    """Two systems by the judge, first minus second, with and without what the features explain."""

    first: str
    second: str
    # Mean difference over rows, and what remains where the texts are alike in all features, with ends of intervals and
    # two-sided p-values.
    difference: float
    low: float
    high: float
    p_value: float
    remaining: float
    remaining_low: float
    remaining_high: float
    remaining_p_value: float
    # By feature what it explains; with `remaining` they add up to the difference.
    explained: Mapping[str, float]

    @property
    def remaining_share(self) -> float:
        """What remains over the difference; NaN where the interval of the difference holds 0."""
        return self.remaining / self.difference if self.low > 0 or self.high < 0 else math.nan


class JudgeBias(NamedTuple):
    """What a judge's scores reward."""

    # By the names of `FEATURES`, and "rating" where ratings are given.
    slopes: Mapping[str, JudgeSlope]
    # Of every two systems, the first of which is the one that occurs first.
    differences: Sequence[SystemDifference]
    # Share of the variance within rows and systems that the features explain.
    explained_variance: float
    n_texts: int
    n_rows: int
    n_clusters: int

    @property
    def named(self) -> list[str]:
        """Names of the features that the judge rewards or punishes, the steepest slope first."""
        named = [name for name, slope in self.slopes.items() if name in FEATURES and slope.is_named]
        return sorted(named, key=lambda name: -abs(self.slopes[name].standardized))


# --------------------------------------------------------------------------------------------------------------------
# Features of texts.


def text_features(texts: TokenRows, references: TokenRows, are_people: Sequence[bool] = ()) -> Floats:
    """Return the features of all texts, row by row: float64, shape (n_texts, 4), in the order of `FEATURES`.

    - length: the binary logarithm of the number of words, one at least.
    - predictability: SLOR by an n-gram model of the references of all other rows, see `human_wording`.
    - copied_bigrams: share of the text's different pairs of neighbouring words that a reference of the row has, mean
      over references; of a text of one word its word.
    - genericness: cosine with a reference of the row, mean over references, of counts of words, each weighted by
      log((1 + rows) / rows whose references have it).

    A person's text that its row has among its references is compared with the others of them. Means over references do
    not depend on how many there are, so that people's texts and systems' can be compared.

    `texts` and `references` are n_rows lists of token lists, at least one on each side, and one other reference;
    `are_people` says which texts are people's, n_texts flags, none by default.

    >>> rows = [[["a", "dog", "runs"]], [["two", "cats"]]]
    >>> text_features(rows, [[["a", "dog"]], [["two", "birds", "sing"]]]).round(3).tolist()[0]
    [1.585, -0.144, 0.5, 0.816]
    """
    lengths = np.array([max(len(text), 1) for row in texts for text in row], dtype=np.float64)
    slor = np.concatenate([np.array(row) for row in wording_rows(texts, references).candidate_slor()])
    flags = list(are_people) or [False] * len(lengths)
    others = [
        others_of(text, people, is_person=flag)
        for flag, (text, people) in zip(
            flags, ((text, people) for row, people in zip(texts, references, strict=True) for text in row), strict=True
        )
    ]
    similar = _copied(texts, references, others), _genericness(texts, references, others)
    return np.stack([np.log2(lengths), slor, *similar], axis=1)


def others_of(text: Sequence[str], references: Sequence[Sequence[str]], *, is_person: bool) -> list[int]:
    """Return the numbers of the references, for a person's text without the first one that has its tokens.

    >>> others_of(["a"], [["b"], ["a"], ["a"]], is_person=True)
    [0, 2]
    """
    own = None
    if is_person:
        own = next((i for i, reference in enumerate(references) if list(reference) == list(text)), None)
    return [i for i in range(len(references)) if i != own]


def _pairs(text: Sequence[str]) -> set[tuple[str, ...]]:
    return set(itertools.pairwise(text)) if len(text) > 1 else {tuple(text)}


def _copied(texts: TokenRows, references: TokenRows, others: Sequence[Sequence[int]]) -> Floats:
    shares, numbers = [], iter(others)
    for row, people in zip(texts, references, strict=True):
        of_people = [_pairs(reference) | ({(word,) for word in reference}) for reference in people]
        for text in row:
            pairs, compared = _pairs(text), next(numbers)
            shares.append(sum(len(pairs & of_people[i]) for i in compared) / len(pairs) / len(compared))
    return np.array(shares)


def _genericness(texts: TokenRows, references: TokenRows, others: Sequence[Sequence[int]]) -> Floats:
    vocabulary = WordNumbers()
    sides = [word_ids((text for row in side for text in row), vocabulary) for side in (references, texts)]
    n_rows, n_words = len(references), len(vocabulary)
    row_of_reference = RowTexts(np.array([len(row) for row in references])).row
    words, lengths = sides[0]
    documents = np.unique(np.repeat(row_of_reference, lengths) * n_words + words) % n_words
    frequency = np.maximum(np.bincount(documents, minlength=n_words), 1)
    weights = np.log((1 + n_rows) / frequency)
    people, mine = (_unit_rows(*side, n_words, weights) for side in sides)
    n_references = np.array([len(row) for row in references])
    of_rows = scipy.sparse.csr_array((np.ones(len(row_of_reference)), (row_of_reference, np.arange(people.shape[0]))))
    sums = of_rows @ people  # (n_rows, n_words)
    row_of_text = RowTexts(np.array([len(row) for row in texts])).row
    cosines = np.asarray(mine.multiply(sums[row_of_text]).sum(axis=1)).ravel()
    counts = np.array([len(compared) for compared in others], dtype=np.float64)
    # A person's text is not compared with itself, whose cosine is 1.
    is_left_out = counts < n_references[row_of_text]
    return (cosines - is_left_out * (np.diff(mine.indptr) > 0)) / counts


def _unit_rows(words: Ints, lengths: Ints, n_words: int, weights: Floats) -> scipy.sparse.csr_array:
    """Weighted counts of the words of each text, of length 1; a text without words is 0."""
    text = np.repeat(np.arange(len(lengths)), lengths)
    counts = scipy.sparse.csr_array((np.ones(len(words)), (text, words)), shape=(len(lengths), n_words))
    weighted = counts @ scipy.sparse.diags_array(weights)
    norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.where(norms > 0, norms, 1.0)) @ weighted)


# --------------------------------------------------------------------------------------------------------------------
# Least squares with rows and systems taken out, and the jackknife.


class Estimate(NamedTuple):
    """A number, the ends of its interval, and the two-sided p-value of "it is 0"."""

    value: float
    low: float
    high: float
    p_value: float

    def scaled(self, unit: float) -> "Estimate":
        """Return it in another unit, above 0."""
        return Estimate(float(self.value * unit), float(self.low * unit), float(self.high * unit), self.p_value)


# Of a feature that does not vary.
UNDEFINED = Estimate(math.nan, math.nan, math.nan, math.nan)


class Fit(NamedTuple):
    """Coefficients of least squares, and those without each cluster."""

    # float64, shape (n_columns, n_targets) and (n_clusters, n_columns, n_targets).
    coefficients: Floats
    without: Floats

    def interval(self, weights: Floats, target: int, level: float) -> Estimate:
        """Estimate a weighted sum of coefficients.

        With G clusters, the variance is (G - 1) / G sum over g of (sum without g - their mean)^2, of Student's
        distribution with G - 1 degrees.
        """
        value = float(weights @ self.coefficients[:, target])
        parts = self.without[:, :, target] @ weights
        n = len(parts)
        error = math.sqrt((n - 1) / n * math.fsum((parts - parts.mean()) ** 2))
        reach = -float(scipy.special.stdtrit(n - 1, (1 - level) / 2)) * error
        p_value = 2 * float(scipy.special.stdtr(n - 1, -abs(value) / error)) if error > 0 else float(value == 0)
        return Estimate(value, value - reach, value + reach, p_value)


def centred(values: Floats, rows: Ints) -> Floats:
    """Return values less the mean of their row; float64, shape (n_texts, n_columns), `rows` numbers from 0."""
    sizes = np.bincount(rows)
    sums = np.stack([np.bincount(rows, column) for column in values.T], axis=1)
    differences: Floats = values - (sums / sizes[:, None])[rows]
    return differences


def jackknife_fit(columns: Floats, targets: Floats, clusters: Ints) -> Fit:
    """Fit targets (n_texts, n_targets) by columns (n_texts, n_columns), both centred, and again without each cluster.

    Columns that others add up to share their coefficients (the least ones, Moore and Penrose).
    """
    n_columns, n_clusters = columns.shape[1], int(clusters.max()) + 1
    order = np.argsort(clusters, kind="stable")
    ends = np.cumsum(np.bincount(clusters))
    starts = np.concatenate(([0], ends[:-1]))
    whole = columns.T @ columns, columns.T @ targets
    without, step = [], max(1, MAX_NUMBERS // (n_columns**2 + 1))
    for first in range(0, n_clusters, step):
        part = range(first, min(first + step, n_clusters))
        moments, products = np.empty((len(part), n_columns, n_columns)), np.empty((len(part), *whole[1].shape))
        for i, cluster in enumerate(part):
            texts = order[starts[cluster] : ends[cluster]]
            moments[i] = whole[0] - columns[texts].T @ columns[texts]
            products[i] = whole[1] - columns[texts].T @ targets[texts]
        without.append(np.linalg.pinv(moments, rcond=SINGULAR, hermitian=True) @ products)
    coefficients = np.linalg.pinv(whole[0], rcond=SINGULAR, hermitian=True) @ whole[1]
    return Fit(coefficients, np.concatenate(without))


class JudgedTexts(NamedTuple):
    """Scores and features of texts, row by row."""

    scores: Floats  # (n_texts,)
    features: Floats  # (n_texts, n_features)
    names: Sequence[str]  # of the features
    rows: Ints  # (n_texts,): the row of each text
    systems: Ints  # (n_texts,): its system
    system_names: Sequence[str]
    clusters: Ints  # (n_texts,)


def judge_bias_of(texts: JudgedTexts, confidence_level: float = CONFIDENCE_LEVEL) -> JudgeBias:
    """Fit the scores of texts; rows with a single text say nothing, and are left out."""
    texts = _with_others(texts)
    n_features, n_systems = texts.features.shape[1], len(texts.system_names)
    dummies = np.eye(n_systems)[texts.systems][:, 1:]
    columns = centred(np.column_stack((texts.scores, texts.features, dummies)), texts.rows)
    freedom = len(texts.rows) - len(np.unique(texts.rows))
    squares = (columns[:, : n_features + 1] ** 2).sum(axis=0)
    largest = np.column_stack((texts.scores, texts.features)) ** 2
    varies = squares > ROUNDING * np.maximum(largest.sum(axis=0), 1e-300)
    units = np.where(varies, np.sqrt(squares / freedom), 1.0)
    columns[:, : n_features + 1] = np.where(varies, columns[:, : n_features + 1], 0.0) / units
    score, features, systems = columns[:, :1], columns[:, 1 : n_features + 1], columns[:, n_features + 1 :]
    fit = jackknife_fit(np.column_stack((features, systems)), score, texts.clusters)
    plain = jackknife_fit(systems, np.column_stack((score, features)), texts.clusters)
    slopes = _slopes(fit, texts.names, units, varies, confidence_level)
    rest = score[:, 0] - np.column_stack((features, systems)) @ fit.coefficients[:, 0]
    rest_of_systems = score[:, 0] - systems @ plain.coefficients[:, 0]
    of_systems = math.fsum(rest_of_systems**2)
    explained = 1 - math.fsum(rest**2) / of_systems if of_systems > 0 else math.nan
    return JudgeBias(
        slopes,
        _differences(fit, plain, texts, units[0], confidence_level),
        explained,
        len(texts.rows),
        len(np.unique(texts.rows)),
        int(texts.clusters.max()) + 1,
    )


def _with_others(texts: JudgedTexts) -> JudgedTexts:
    """The texts of rows with at least two of them, with rows and clusters numbered again."""
    chosen = np.bincount(texts.rows)[texts.rows] > 1
    clusters = cluster_numbers(texts.clusters[chosen].tolist())
    if not chosen.any() or clusters.max() < 2:
        n_clusters = int(clusters.max()) + 1 if chosen.any() else 0
        raise InputError(
            "scores", "at least 3 rows, or clusters, with two texts", n_clusters, "Give texts of several systems."
        )
    rows = cluster_numbers(texts.rows[chosen].tolist())
    return texts._replace(
        scores=texts.scores[chosen],
        features=texts.features[chosen],
        rows=rows,
        systems=texts.systems[chosen],
        clusters=clusters,
    )


def _slopes(
    fit: Fit, names: Sequence[str], units: Floats, varies: npt.NDArray[np.bool_], level: float
) -> dict[str, JudgeSlope]:
    found: list[Estimate] = []
    for i, _ in enumerate(names):
        if not varies[i + 1]:
            found.append(UNDEFINED)
            continue
        weights = np.zeros(fit.coefficients.shape[0])
        weights[i] = 1.0
        found.append(fit.interval(weights, 0, level))
    tested = [i for i, name in enumerate(names) if name in FEATURES and varies[i + 1]]
    order = sorted(tested, key=lambda i: found[i].p_value)
    adjusted, largest = dict.fromkeys(range(len(names)), math.nan), 0.0
    for rank, i in enumerate(order):  # Holm's rule, as `holm_p_values`
        largest = max(largest, min(1.0, (len(order) - rank) * found[i].p_value))
        adjusted[i] = largest
    slopes = {}
    for i, (name, estimate) in enumerate(zip(names, found, strict=True)):
        slope = estimate.scaled(units[0] / units[i + 1])
        p_adjusted = adjusted[i] if name in FEATURES else estimate.p_value
        slopes[name] = JudgeSlope(slope.value, slope.low, slope.high, estimate.value, estimate.p_value, p_adjusted)
    return slopes


def _differences(fit: Fit, plain: Fit, texts: JudgedTexts, unit: float, level: float) -> list[SystemDifference]:
    n_features, n_systems = len(texts.names), len(texts.system_names)
    differences = []
    for first in range(n_systems):
        for second in range(first + 1, n_systems):
            contrast = np.zeros(n_systems)
            contrast[first], contrast[second] = 1.0, -1.0
            raw = plain.interval(contrast[1:], 0, level).scaled(unit)
            rest = fit.interval(np.concatenate((np.zeros(n_features), contrast[1:])), 0, level).scaled(unit)
            of_features = contrast[1:] @ plain.coefficients[:, 1:]
            explained = unit * fit.coefficients[:n_features, 0] * of_features
            differences.append(
                SystemDifference(
                    texts.system_names[first],
                    texts.system_names[second],
                    difference=raw.value,
                    low=raw.low,
                    high=raw.high,
                    p_value=raw.p_value,
                    remaining=rest.value,
                    remaining_low=rest.low,
                    remaining_high=rest.high,
                    remaining_p_value=rest.p_value,
                    explained=dict(zip(texts.names, explained.tolist(), strict=True)),
                )
            )
    return differences


# --------------------------------------------------------------------------------------------------------------------
# The plain function.


@plain_arguments
def judge_bias(
    scores: Sequence[Sequence[float]],
    texts: TokenRows,
    references: TokenRows,
    systems: Sequence[Sequence[str]] | None = None,
    *,
    people: str = "people",
    ratings: Sequence[Sequence[float]] | None = None,
    clusters: Sequence[Hashable] | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> JudgeBias:
    """Say what of the wording of texts a judge's scores reward: length, predictable words, copied ones, generic texts.

    score = row + system + sum of slopes times features (see `text_features`), by least squares, with the jackknife over
    rows. A slope is named where it is significant, by Holm's rule over the four, and at least 0.05 standard deviations
    of the score for each of the feature's.

    Args:
        scores: n_rows lists of floats, finite: the judge's score of each text, larger ones better.
        texts: n_rows lists of token lists, as many as there are scores.
        references: n_rows lists of token lists, human texts: one at least, and two where one is scored.
        systems: n_rows lists of names, who wrote each text; None: the first of each row is by one system, the second
            by another, and so on.
        people: who among the systems are people: their texts are compared with the references besides themselves.
        ratings: n_rows lists of floats, how good people found each text: slopes are then what the judge rewards
            beyond them. Noise of the ratings leaves a part of what people reward in the slopes.
        clusters: n_rows labels, equal ones for rows that depend on each other; None: all rows are independent.
        confidence_level: of the intervals, between 0 and 1.

    Returns:
        A named tuple: `slopes` by feature, `named`, the features that the judge rewards or punishes, `differences` of
        every two systems, each with what remains of it where the texts are alike in all features,
        `explained_variance` within rows and systems, and counts. NaN where a feature does not vary.

    Raises:
        TypeError, ValueError: a column has another form, fewer than three rows have two texts, or a text has no
            other reference.

    >>> words = "a dog runs on the sand and a cat sleeps by the sea".split()
    >>> texts = [[words[i % 5 : i % 5 + 3 + i % 4], words[: 2 + i % 7]] for i in range(30)]
    >>> people = [[words[i % 3 : 8], words[i % 4 : 9]] for i in range(30)]
    >>> judge_bias([[len(text) for text in row] for row in texts], texts, people).named
    ['length']
    """
    texts, references = as_both_rows(texts, references)
    check_number("confidence_level", confidence_level, 0, 1)
    columns = {"scores": scores} if ratings is None else {"scores": scores, "ratings": ratings}
    values = {name: _as_values(column, name, texts) for name, column in columns.items()}
    if systems is None:
        names = [str(i) for row in texts for i in range(len(row))]
    else:
        names = [str(name) for name in _same_sizes(systems, "systems", texts)]
    if clusters is not None:
        check_clusters(clusters, len(texts))
    are_people = [name == people for name in names]
    check_other_references(texts, references, are_people)
    features, labels = text_features(texts, references, are_people), list(FEATURES)
    if ratings is not None:
        features, labels = np.column_stack((features, values["ratings"])), [*labels, "rating"]
    rows = RowTexts(np.array([len(row) for row in texts])).row
    units = np.arange(len(texts)) if clusters is None else cluster_numbers(clusters)
    system_names = list(dict.fromkeys(names))
    judged = JudgedTexts(values["scores"], features, labels, rows, cluster_numbers(names), system_names, units[rows])
    return judge_bias_of(judged, confidence_level)


def check_other_references(texts: TokenRows, references: TokenRows, are_people: Sequence[bool]) -> None:
    """Raise unless each person's text has a reference in its row that is not itself."""
    flags = iter(are_people)
    for i, (row, people) in enumerate(zip(texts, references, strict=True)):
        for j, text in enumerate(row):
            if not others_of(text, people, is_person=next(flags)):
                raise InputError(
                    f"references[{i}]", f"another text than texts[{i}][{j}]", "none", "Give more references."
                )


def _same_sizes(column: Sequence[Sequence[Any]], name: str, texts: TokenRows) -> list[Any]:
    listed = [as_list(row, f"{name}[{i}]", "a list") for i, row in enumerate(as_list(column, name, "a list of lists"))]
    check_n_rows(name, len(listed), "texts", len(texts), "list")
    for i, (row, own) in enumerate(zip(listed, texts, strict=True)):
        if len(row) != len(own):
            raise InputError(f"{name}[{i}]", f"{len(own)} values, one for each text", len(row), "Give one for each.")
    return [value for row in listed for value in row]


def is_number(value: object) -> bool:
    """Return whether a value is a number, and no bool.

    >>> is_number(np.float32(0.5)), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _as_values(column: Sequence[Sequence[float]], name: str, texts: TokenRows) -> Floats:
    flat = _same_sizes(column, name, texts)
    values = np.array([value if is_number(value) else math.nan for value in flat], dtype=np.float64)
    if not np.isfinite(values).all():
        number = int(np.argmin(np.isfinite(values)))
        row = RowTexts(np.array([len(each) for each in texts]))
        place = f"{name}[{int(row.row[number])}][{int(row.place[number])}]"
        raise InputError(place, "a finite number", flat[number], "Leave out texts that have none.")
    return values
