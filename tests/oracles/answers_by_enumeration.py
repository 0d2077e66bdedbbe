"""distinct_k and utility_k by their definition: the mean over all choices of k texts and all orders of them."""

import itertools
import statistics

PATIENCE = 0.8


def answers(classes, k):
    """Means over all ordered choices; `classes` has the class of each text."""
    drawn = list(itertools.permutations(classes, k))
    weights = [PATIENCE**i for i in range(k)]
    utility = [
        sum(w * (c not in order[:i]) for i, (w, c) in enumerate(zip(weights, order, strict=True))) for order in drawn
    ]
    return statistics.fmean(len(set(order)) for order in drawn), statistics.fmean(utility) / sum(weights)
