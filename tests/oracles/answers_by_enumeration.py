"""distinct_k and utility_k by their definition: the mean over all choices of k texts and all orders of them."""

import itertools
import statistics

PATIENCE = 0.8


def answers(classes, k, quality=None):
    """Means over all ordered choices; `classes` and `quality` have the class and the worth, or 1, of each text."""
    worth = [1] * len(classes) if quality is None else quality
    drawn = list(itertools.permutations(zip(classes, worth, strict=True), k))
    utility = [answers_in_order(*zip(*order, strict=True))[1] for order in drawn]
    return statistics.fmean(len({c for c, _ in order}) for order in drawn), statistics.fmean(utility)


def answers_in_order(classes, worth):
    """Classes, and utility, of texts that are read as they stand."""
    weights = [PATIENCE**i for i in range(len(classes))]
    terms = zip(weights, worth, classes, strict=True)
    utility = sum(w * q for i, (w, q, c) in enumerate(terms) if c not in classes[:i]) / sum(weights)
    return len(set(classes)), utility
