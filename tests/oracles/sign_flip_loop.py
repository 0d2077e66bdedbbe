"""The paired test as a loop over every sign pattern, and Holm's rule as it is printed."""

import itertools


def cluster_sums(differences, clusters):
    """Sum of each cluster's differences, as a list."""
    sums = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + difference
    return list(sums.values())


def sign_flip_p_value(differences, clusters):
    """Share of all sign patterns, also of clusters without a difference, that reach the observed sum."""
    sums = cluster_sums(differences, clusters)
    tolerance = 1e-9 * sum(map(abs, sums))
    n_reached = 0
    for signs in itertools.product((1, -1), repeat=len(sums)):
        flipped = sum(sign * value for sign, value in zip(signs, sums, strict=True))
        n_reached += abs(flipped) >= abs(sum(sums)) - tolerance
    return n_reached / 2 ** len(sums)


def holm_p_values(p_values):
    """Holm's rule, word by word: the largest level at which each hypothesis is still kept."""
    n = len(p_values)
    order = sorted(range(n), key=lambda i: p_values[i])
    adjusted = [0.0] * n
    for rank, i in enumerate(order):
        adjusted[i] = min(1.0, max((n - k) * p_values[order[k]] for k in range(rank + 1)))
    return adjusted
