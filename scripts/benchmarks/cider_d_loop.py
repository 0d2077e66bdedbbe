"""CIDEr-D of one candidate and one reference with dictionaries, straight from the formula."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence


def tf_idf(tokens: Sequence[str], order: int, frequencies: Mapping[str, int], n_documents: int) -> dict[str, float]:
    """Weight the n-grams of one order; `frequencies` says how many of `n_documents` documents have an n-gram."""
    counts = Counter(" ".join(tokens[i : i + order]) for i in range(len(tokens) - order + 1))
    return {w: n * (math.log(n_documents) - math.log(max(1, frequencies.get(w, 0)))) for w, n in counts.items()}


def cider_d(
    candidate: Sequence[str],
    reference: Sequence[str],
    frequencies: Mapping[str, int],
    n_documents: int,
    sigma: float = 6.0,
) -> float:
    """Score token lists by CIDEr-D, 0 to 10; frequencies as in `tf_idf`."""
    total = 0.0
    for order in (1, 2, 3, 4):
        c, r = (tf_idf(tokens, order, frequencies, n_documents) for tokens in (candidate, reference))
        norm_c, norm_r = (math.sqrt(sum(v * v for v in vector.values())) for vector in (c, r))
        if norm_c and norm_r:
            total += sum(min(c[w], r[w]) * r[w] for w in c if w in r) / (norm_c * norm_r)
    difference = max(len(candidate) - 1, 0) - max(len(reference) - 1, 0)  # in bigrams
    return 10 * total / 4 * math.exp(-(difference**2) / (2 * sigma**2))
