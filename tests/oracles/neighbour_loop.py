"""Precision, recall, density and coverage by loops over their definitions, and people's own values of one split."""

import math


def density_coverage_loop(candidates, references, k):
    """Return the four values; distances within a billionth of each other are equal."""
    candidate_radii = [_radius(i, candidates, k) for i in range(len(candidates))]
    reference_radii = [_radius(i, references, k) for i in range(len(references))]
    held = [
        [_inside(math.dist(x, y), radius) for y, radius in zip(references, reference_radii, strict=True)]
        for x in candidates
    ]
    holding = [
        [_inside(math.dist(x, y), radius) for x, radius in zip(candidates, candidate_radii, strict=True)]
        for y in references
    ]
    return {
        "precision": sum(any(row) for row in held) / len(candidates),
        "recall": sum(any(row) for row in holding) / len(references),
        "density": sum(sum(row) for row in held) / k / len(candidates),
        "coverage": sum(any(row[j] for row in held) for j in range(len(references))) / len(references),
    }


def _radius(i, vectors, k):
    return sorted(math.dist(vectors[i], other) for j, other in enumerate(vectors) if j != i)[k - 1]


def _inside(distance, radius):
    return distance < radius * (1 - 1e-9)
