"""Homogeneity in plain loops: means over pairs, and p-values by all splits of every row."""

import itertools
import math

import numpy as np


def mean_pairs(distances, first, second=None):
    """Mean distance of different texts of one set, or of texts of two."""
    pairs = itertools.combinations(first, 2) if second is None else itertools.product(first, second)
    values = [distances[i][j] for i, j in pairs]
    return math.fsum(values) / len(values)


def gaps(distances, first, second):
    """B - W2 and W1 - W2 of a split of one row."""
    within = [mean_pairs(distances, own) for own in (first, second)]
    return mean_pairs(distances, first, second) - within[1], within[0] - within[1]


def moments(distances, n_first):
    """Mean and covariance of both gaps over all splits of one row."""
    texts = range(len(distances))
    splits = [
        gaps(distances, first, [text for text in texts if text not in first])
        for first in itertools.combinations(texts, n_first)
    ]
    return np.mean(splits, axis=0), np.cov(np.transpose(splits), bias=True)


def statistic(rows, n_first):
    """T2 of both gaps over rows."""
    texts = range(len(rows[0]))
    sums = np.sum([gaps(row, list(texts)[:n_first], list(texts)[n_first:]) for row in rows], axis=0)
    covariance = np.sum([moments(row, n_first)[1] for row in rows], axis=0)
    return float(sums @ np.linalg.solve(covariance, sums))


def sampled_p_value(rows, n_first, n_draws, rng):
    """Share of random splits of all rows with a T2 of at least the observed one, the observed one among them."""
    observed = statistic(rows, n_first)
    reached = 1
    for _ in range(n_draws):
        orders = [rng.permutation(len(row)) for row in rows]
        drawn = [row[np.ix_(order, order)] for row, order in zip(rows, orders, strict=True)]
        reached += statistic(drawn, n_first) >= observed - 1e-9
    return reached / (n_draws + 1)
