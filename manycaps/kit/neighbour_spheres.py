"""Precision, recall, density and coverage: two sets of vectors by the spheres that reach to nearest neighbours."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints, as_finite, plain_arguments
from .errors import InputError
from .mmd_rows import squared_distances
from .module import signature
from .options import check_whole_number
from .sets_module import CAPTION_COLUMNS
from .sets_tests import TIE_TOLERANCE
from .vectors_rows import EmbeddingRows, as_embedding_rows, embed_caption_rows, held_out_sizes, split_people
from .vectors_sentences import ARRAY_COLUMNS, OF_CAPTIONS, check_no_captions

# --------------------------------------------------------------------------------------------------------------------
# Naeem et al. (2020, https://arxiv.org/abs/2002.09797), equations 1 to 7. The sphere of a vector reaches to the k-th
# nearest other vector of its own set, and holds what lies strictly inside. The slow version is in
# tests/oracles/neighbour_loop.py.

# The four values, in the order of the paper's program.
VALUES = ("precision", "recall", "density", "coverage")

# Distances held at once, 8 bytes each, beside three temporary arrays of this size.
DISTANCES_AT_ONCE = 4_000_000

# The k of the paper's tables.
NEAREST_K = 5

# Random splits of people's texts unless asked otherwise.
N_SPLITS = 10


class Spheres(NamedTuple):
    """How two sets lie in each other's spheres."""

    # int64, shape (n_candidates,): the references whose sphere holds the candidate.
    n_holding: Ints
    # Boolean arrays, shape (n_references,): whether a candidate's sphere holds the reference, and whether the
    # reference's sphere holds a candidate.
    is_held: np.ndarray
    holds: np.ndarray

    def per_text(self, k: int) -> dict[str, Floats]:
        """Return what the four values are means of, by name: float64, of candidates or of references."""
        return {
            "precision": (self.n_holding > 0).astype(np.float64),
            "recall": self.is_held.astype(np.float64),
            "density": self.n_holding / k,
            "coverage": self.holds.astype(np.float64),
        }


def squared_radii(vectors: np.ndarray, k: int) -> Floats:
    """Return the squared distance of every vector to its k-th nearest other one: float64, shape (n,).

    `vectors` is float64, shape (n, d), n above k. Memory: `DISTANCES_AT_ONCE` distances, one row of them at least.

    >>> squared_radii(np.array([[0.0], [1.0], [3.0]]), 1).tolist()
    [1.0, 1.0, 4.0]
    """
    radii, step = np.empty(len(vectors)), max(1, DISTANCES_AT_ONCE // len(vectors))
    for start in range(0, len(vectors), step):
        squared = squared_distances(vectors[None, start : start + step], vectors[None])[0]
        own = np.arange(len(squared))
        squared[own, start + own] = np.inf
        radii[start : start + step] = np.partition(squared, k - 1, axis=1)[:, k - 1]
    return radii


def sphere_counts(candidates: np.ndarray, references: np.ndarray, k: int, reference_radii: Floats) -> Spheres:
    """Say which vectors of each set lie in spheres of the other one.

    Both are float64, shapes (n, d) and (m, d), n and m above k; `reference_radii` is `squared_radii(references, k)`.
    Distances within a billionth of each other are equal, and what is as far as the radius lies outside.
    """
    # Squares, whose relative errors are twice the distances'.
    own = squared_radii(candidates, k) * (1 - 2 * TIE_TOLERANCE)
    others = reference_radii * (1 - 2 * TIE_TOLERANCE)
    n_holding = np.zeros(len(candidates), dtype=np.int64)
    is_held, holds = np.zeros((2, len(references)), dtype=bool)
    step = max(1, DISTANCES_AT_ONCE // len(candidates))
    for start in range(0, len(references), step):
        part = slice(start, start + step)
        squared = squared_distances(references[None, part], candidates[None])[0]
        inside = squared < others[part, None]
        n_holding += np.count_nonzero(inside, axis=0)
        holds[part] = inside.any(axis=1)
        is_held[part] = (squared < own).any(axis=1)
    return Spheres(n_holding, is_held, holds)


class DensityCoverage(NamedTuple):
    """The four values of two sets."""

    # Share of the candidates that lie in a reference's sphere, and of the references that lie in a candidate's.
    precision: float
    recall: float
    # Mean over candidates of the references' spheres that hold it, over k.
    density: float
    # Share of the references whose sphere holds a candidate.
    coverage: float


@plain_arguments
def density_coverage(candidates: npt.ArrayLike, references: npt.ArrayLike, k: int = NEAREST_K) -> DensityCoverage:
    """Compare two sets of vectors by their nearest neighbours: precision, recall, density and coverage.

    With B(y) the open sphere around a reference y that reaches to its k-th nearest other reference, and B(x) the same
    of a candidate x among candidates: precision is the share of x in any B(y), recall the share of y in any B(x)
    (Kynkäänniemi et al. 2019), density the mean over x of the number of B(y) that hold it, over k, and coverage the
    share of y whose B(y) holds any x (Naeem et al. 2020, equations 2 to 7, https://arxiv.org/abs/2002.09797). Distances
    within 1e-9 of each other are equal, so that a candidate on the edge of a sphere is never inside.

    Args:
        candidates: floating-point array, shape (n, d), finite.
        references: floating-point array, shape (m, d), finite.
        k: whole number, 1 to the size of the smaller set less 1.

    Returns:
        The four values. Precision, recall and coverage are 0 (worst) to 1, density 0 to m / k: about 1 for two samples
        of one distribution, whose coverage is about 1 - 2^-k for sets of one size.

    Raises:
        TypeError: k is not a whole number.
        ValueError: another shape or number.

    >>> density_coverage([[0.5], [9.0]], [[0.0], [1.0], [3.0]], k=1)
    DensityCoverage(precision=0.5, recall=1.0, density=1.0, coverage=0.6666666666666666)
    """
    sides = []
    for name, side in (("candidates", candidates), ("references", references)):
        vectors = as_finite(side, name)
        if vectors.ndim != 2 or len(vectors) < 2:
            raise InputError(name, "an array of shape (n, d), n at least 2", vectors.shape, "Give one vector per item.")
        sides.append(vectors)
    mine, theirs = sides
    if mine.shape[1] != theirs.shape[1]:
        raise InputError("references", f"{mine.shape[1]} dimensions, like candidates", theirs.shape[1], "Check them.")
    check_whole_number("k", k, 1, min(len(mine), len(theirs)) - 1)
    return DensityCoverage(*_means(_per_text(mine, theirs, k)).values())


def _per_text(candidates: np.ndarray, references: np.ndarray, k: int, radii: Floats | None = None) -> dict[str, Floats]:
    if radii is None:
        radii = squared_radii(references, k)
    return sphere_counts(candidates, references, k, radii).per_text(k)


def _means(per_text: Mapping[str, Floats]) -> dict[str, float]:
    return {name: float(values.mean()) for name, values in per_text.items()}


# --------------------------------------------------------------------------------------------------------------------
# People's own values: some of each row's references stand in as a system, and are compared with the rest.


class PeopleExcess(NamedTuple):
    """A value of candidates beside people's own: means over splits."""

    of_people: float
    excess: float


def people_excesses(
    rows: EmbeddingRows, k: int, n_splits: int, seed: int, progress: Callable[..., Iterable[Any]]
) -> dict[str, PeopleExcess]:
    """Compute people's own four values and the candidates' excess over them; NaN where too few are held out for k."""
    n_held_out = int(held_out_sizes(rows.sizes()).sum())
    if min(n_held_out, sum(map(len, rows.references)) - n_held_out) <= k:
        return dict.fromkeys(VALUES, PeopleExcess(math.nan, math.nan))
    vectors = rows.vectors.astype(np.float64, copy=False)
    candidates, people = (dict[str, list[float]]((name, []) for name in VALUES) for _ in range(2))
    for split in progress(range(n_splits), desc="people's splits", unit="split", delay=1):
        drawn = split_people(rows, seed, split)
        kept = vectors[drawn.kept]
        radii = squared_radii(kept, k)
        for values, side in ((candidates, drawn.candidates), (people, drawn.held_out)):
            for name, value in _means(_per_text(vectors[side], kept, k, radii)).items():
                values[name].append(value)
    means = {name: (math.fsum(candidates[name]) / n_splits, math.fsum(people[name]) / n_splits) for name in VALUES}
    return {name: PeopleExcess(theirs, mine - theirs) for name, (mine, theirs) in means.items()}


# --------------------------------------------------------------------------------------------------------------------
# The contract of the module.


def check_enough_vectors(
    sizes: Sequence[tuple[int, int]], columns: tuple[str, str], options: Mapping[str, Any]
) -> None:
    """Raise unless each side has more texts than `nearest_k`, and two at least."""
    k = options["nearest_k"] or 1
    for column, n_texts in zip(columns, map(sum, zip(*sizes, strict=True)), strict=True):
        if n_texts <= k:
            expected = f"at least {k + 1} texts in all rows for nearest_k={options['nearest_k']}"
            raise InputError(column, expected, n_texts, "Give more rows." if k == 1 else "Give a smaller nearest_k.")


def neighbours_of(sizes: Sequence[tuple[int, int]], nearest_k: int | None) -> int:
    """Return the k of rows of (n_candidates, n_references): the one asked for, or `NEAREST_K` where there are so many.

    >>> neighbours_of([(1, 5)] * 100, None), neighbours_of([(3, 5)], None)
    (5, 2)
    """
    return nearest_k or min(NEAREST_K, *(sum(side) - 1 for side in zip(*sizes, strict=True)))


def encode_caption_sets(module: Any, predictions: Any, references: Any, options: Mapping[str, Any]) -> EmbeddingRows:
    """Return the captions of all rows as vectors of the module's encoder."""
    return embed_caption_rows(
        predictions, references, lambda captions: module.encoder.embed(captions, options, module.progress)
    )


def ready_vectors_result(module: Any, arrays: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the module's result for ready vectors."""
    check_no_captions([given.pop(name, None) for name in CAPTION_COLUMNS], len(module))
    module.check_unused(given, OF_CAPTIONS, "beside ready embeddings")
    options = module.call_options(given)
    rows = as_embedding_rows(*arrays.values())
    check_enough_vectors(rows.sizes(), ARRAY_COLUMNS, options)
    return density_coverage_result(module, rows, options, {"encoder": "ready arrays"})


def density_coverage_result(
    module: Any, rows: EmbeddingRows, options: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the result for the vectors of all rows; `settings` are what they add to the signature."""
    k = neighbours_of(rows.sizes(), options["nearest_k"])
    vectors = rows.vectors.astype(np.float64, copy=False)
    mine, theirs = (vectors[np.concatenate(side)] for side in (rows.predictions, rows.references))
    result: dict[str, Any] = _means(_per_text(mine, theirs, k))
    if options["n_splits"]:
        found = people_excesses(rows, k, options["n_splits"], options["seed"], module.progress)
        for name, beside in found.items():
            result |= {f"{name}_of_people": beside.of_people, f"{name}_excess": beside.excess}
    result["n_rows"] = len(rows.references)
    if options["details"]:
        splits = {name: options[name] if options["n_splits"] else None for name in ("n_splits", "seed")}
        result["signature"] = signature(module.name, **settings, nearest_k=k, **splits)
    return result
