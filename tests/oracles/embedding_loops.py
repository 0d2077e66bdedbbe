"""Maximum mean discrepancy and Fréchet distance the slow and obvious way: loops over pairs, roots of covariances."""

import itertools
import math

import numpy as np


def bandwidth(points, rule):
    distances = sorted(math.dist(a, b) for a, b in itertools.combinations(points, 2))
    return (distances[(len(distances) - 1) // 2] if rule == "median" else sum(distances) / len(distances)) / 2


def mmd_squared(candidates, references, sigma, estimator):
    """`sigma` is "median", "mean" or a number; 0 stands for the kernel that is 1 for equal points and 0 for others."""
    if isinstance(sigma, str):
        sigma = bandwidth([*candidates, *references], sigma)

    def kernel(a, b):
        squared = math.dist(a, b) ** 2
        return math.exp(-squared / (2 * sigma**2)) if sigma > 0 else float(squared == 0)

    return mmd_squared_of(kernel, candidates, references, estimator)


def mmd_squared_of(kernel, candidates, references, estimator):
    """The same for any kernel, a function of two points."""

    def inside(points):
        n = len(points)
        total = sum(kernel(points[i], points[j]) for i in range(n) for j in range(n) if i != j)
        own = sum(kernel(point, point) for point in points)
        return {
            "unbiased": lambda: total / (n * (n - 1)),
            "biased": lambda: (total + own) / n**2,
            "authors": lambda: (total + own * 1.00001) / (n * (n - 1)),
        }[estimator]()

    across = sum(kernel(a, b) for a in candidates for b in references) / (len(candidates) * len(references))
    return inside(candidates) + inside(references) - 2 * across


def root(matrix):
    """Root of a symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T


def frechet_distance(candidates, references):
    """With roots of d x d covariances: accurate to about 1e-7 times the covariances where they are singular."""
    first, second = (np.atleast_2d(np.cov(np.asarray(points).T)) for points in (candidates, references))
    middle = root(root(first) @ second @ root(first))
    difference = np.mean(candidates, axis=0) - np.mean(references, axis=0)
    return difference @ difference + np.trace(first) + np.trace(second) - 2 * np.trace(middle)


def exact_p_value(points, n_candidates, statistic, tolerance=1e-9):
    """Share of all splits with a statistic at least the observed one."""
    texts = range(len(points))
    observed = statistic(points[:n_candidates], points[n_candidates:])
    values = [
        statistic(points[list(chosen)], points[[i for i in texts if i not in chosen]])
        for chosen in itertools.combinations(texts, n_candidates)
    ]
    return sum(value >= observed - tolerance for value in values) / len(values)
