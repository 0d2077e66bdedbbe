"""The triangle-rank statistic and its exact p-value as three nested loops, straight from equations 3 and 4."""

import itertools
import math

TIE = 1e-9


def tie_of(distance):
    """Distances this near are equal: 1e-9 of the power of 2 at or below an eighth of the largest."""
    largest = max(max(map(abs, line)) for line in distance)
    return TIE * 2.0 ** math.floor(math.log2(largest / 8)) if largest else TIE


def rank_counts(distance, candidates, references):
    """Counts of (shortest, middle, longest) for triangles with their pair among candidates, then among references."""
    sides, tie = [], tie_of(distance)
    for pair_side, x_side in ((candidates, references), (references, candidates)):
        counts = [0, 0, 0]
        for x in x_side:
            for y1, y2 in itertools.permutations(pair_side, 2):
                inside, first, second = distance[y1][y2], distance[x][y1], distance[x][y2]
                counts[0] += inside <= first + tie and inside <= second + tie
                counts[1] += (first <= inside + tie and inside <= second + tie) or (
                    second <= inside + tie and inside <= first + tie
                )
                counts[2] += first <= inside + tie and second <= inside + tie
        sides.append(counts)
    return sides


def deviation(counts):
    total = sum(counts)
    # A set of one text has no triangle: its side adds nothing.
    return sum(abs(count / total - 1 / 3) for count in counts) if total else 0.0


def statistic(distance, candidates, references, kind="pooled"):
    inside, outside = rank_counts(distance, candidates, references)
    if kind == "pooled":
        return deviation([a + b for a, b in zip(inside, outside, strict=True)])
    return deviation(inside) + deviation(outside)


def exact_p_value(distance, n_candidates, kind="pooled"):
    texts = range(len(distance))
    observed = statistic(distance, texts[:n_candidates], texts[n_candidates:], kind)
    reached, n_partitions = 0, 0
    for candidates in itertools.combinations(texts, n_candidates):
        references = [text for text in texts if text not in candidates]
        reached += statistic(distance, candidates, references, kind) >= observed - TIE
        n_partitions += 1
    return reached / n_partitions
