"""MID: how much more likely captions and images are together than apart, under a Gaussian of people's pairs."""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Floats, as_finite, build_result, plain_arguments
from .clip_encoder import long_captions_name
from .errors import InputError
from .module import signature
from .options import check_is_number
from .sets_tests import row_keys
from .vectors_rows import EmbeddingRows, held_out_sizes, split_people
from .vectors_sentences import unit_vectors

# --------------------------------------------------------------------------------------------------------------------
# Kim et al. (2022, https://arxiv.org/abs/2205.13445), equations 5 to 9. With x the features of a caption, y its
# image's, and z both, one Gaussian is fitted to x, y and z of people's captions, and
#
#     PMI(x, y) = I + (D_x^2(x) + D_y^2(y) - D_z^2(z)) / 2,   I = log(det S_x det S_y / det S_z) / 2,
#
# D^2 being the squared Mahalanobis distance. MID is its expectation over the candidates' pairs. The slow version is in
# tests/oracles/mid_loop.py.

# What the authors' program suggests to add to the diagonals of covariances of fewer than 30,000 pairs.
EPSILON = 5e-4

# Eigenvalues below this share of the largest one are 0: the covariance has no inverse.
SINGULAR = 1e-12

# Random splits of the references for people's own value unless asked otherwise.
N_SPLITS = 10


class _Axes(NamedTuple):
    """A Gaussian by the axes of its covariance."""

    mean: Floats  # (d,)
    directions: Floats  # (d, d), in columns
    variances: Floats  # (d,), above 0

    def squared_distances(self, vectors: Floats) -> Floats:
        """Return squared Mahalanobis distances of vectors (n, d), shape (n,)."""
        along = (vectors - self.mean) @ self.directions
        distances: Floats = (along**2 / self.variances).sum(axis=1)
        return distances


class PairGaussian(NamedTuple):
    """Gaussians of captions, of images and of both together."""

    captions: _Axes
    images: _Axes
    pairs: _Axes

    @property
    def information(self) -> float:
        """Mutual information of captions and images, in nats."""
        logarithms = [math.fsum(np.log(axes.variances)) for axes in self]
        return (logarithms[0] + logarithms[1] - logarithms[2]) / 2

    def pointwise(self, captions: Floats, images: Floats) -> Floats:
        """Return PMI of pairs: float64, shape (n,)."""
        both = np.concatenate((captions, images), axis=1)
        parts = (self.captions, captions), (self.images, images), (self.pairs, both)
        of_caption, of_image, of_pair = (axes.squared_distances(vectors) for axes, vectors in parts)
        information: Floats = self.information + (of_caption + of_image - of_pair) / 2
        return information


def fit_pairs(captions: Floats, images: Floats, epsilon: float = 0.0) -> PairGaussian:
    """Fit Gaussians to pairs, float64, shape (n, d) each; covariances with n - 1, `epsilon` on their diagonals.

    Raises ValueError where a covariance has no inverse.
    """
    return PairGaussian(
        _axes(captions, epsilon), _axes(images, epsilon), _axes(np.concatenate((captions, images), axis=1), epsilon)
    )


def _axes(vectors: Floats, epsilon: float) -> _Axes:
    mean = vectors.mean(axis=0)
    centred = vectors - mean
    variances, directions = np.linalg.eigh(centred.T @ centred / max(1, len(vectors) - 1))
    # Rounding of a singular covariance may lie below 0.
    variances = np.maximum(variances, 0.0) + epsilon
    if variances[0] <= SINGULAR * variances[-1]:
        expected = (
            f"a number above 0 for {len(vectors):,} pairs of {vectors.shape[1]} features, whose covariance is singular"
        )
        raise InputError("epsilon", expected, epsilon, f"Give more rows than features, or epsilon={EPSILON}.")
    return _Axes(mean, directions, variances)


def mean_information(pointwise: Floats, information: float) -> float:
    """Return MID of pairs: I + the sum of (D_x^2 + D_y^2 - D_z^2) / 2 over n - 1, as the authors' program; NaN of one.

    >>> mean_information(np.array([1.0, 2.0, 3.0]), 1.0)
    2.5
    """
    n = len(pointwise)
    return information + math.fsum(pointwise - information) / (n - 1) if n > 1 else math.nan


class MutualDivergence(NamedTuple):
    """MID of candidates."""

    # Of all pairs, and of each, float64 of shape (n_pairs,).
    mid: float
    pointwise: Floats
    # Mutual information of the reference pairs.
    information: float


@plain_arguments
def mutual_divergence(
    candidates: npt.ArrayLike,
    images: npt.ArrayLike,
    references: npt.ArrayLike,
    reference_images: npt.ArrayLike | None = None,
    *,
    epsilon: float = 0.0,
) -> MutualDivergence:
    """Score captions and their images by MID, the pointwise mutual information under a Gaussian of reference pairs.

    PMI = I + (D_x^2 + D_y^2 - D_z^2) / 2 with the squared Mahalanobis distances of caption, image and both, and I =
    log(det S_x det S_y / det S_z) / 2 (Kim et al. 2022, equations 6 to 8, https://arxiv.org/abs/2205.13445). MID is the
    mean, with n - 1 in place of n as the authors' program has it; without `epsilon` both are that program's numbers.
    Its comment suggests 5e-4 for fewer than 30,000 pairs and adds it where covariances are inverted; here it is on the
    diagonals wherever they occur, so that the Gaussian is one.

    Args:
        candidates: floating-point array, shape (n, d), finite: features of captions, of length 1 by custom.
        images: floating-point array, shape (n, e): features of their images.
        references: floating-point array, shape (m, d): features of people's captions.
        reference_images: floating-point array, shape (m, e): features of their images; None for `images`.
        epsilon: number of at least 0, added to the diagonals of the three covariances.

    Returns:
        A named tuple: `mid`, higher is better, about `information` for people's captions, NaN for a single pair;
        `pointwise`, the value of each pair; and `information`, the mutual information of the reference pairs, in nats.

    Raises:
        TypeError: `epsilon` is not a number.
        ValueError: another shape or number, or a covariance without an inverse.

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([[0.5], [0.5], [2.5], [2.0]])
    >>> found = mutual_divergence(x[::-1], y, x)
    >>> round(found.information, 4), round(found.mid, 4), round(mutual_divergence(x, y, x).mid, 4)
    (0.5435, -3.3868, 0.5435)
    """
    given = {"candidates": candidates, "images": images, "references": references}
    sides = {name: as_finite(side, name) for name, side in given.items()}
    sides["reference_images"] = (
        sides["images"] if reference_images is None else as_finite(reference_images, "reference_images")
    )
    for name, side in sides.items():
        if side.ndim != 2 or not len(side):
            raise InputError(name, "an array of shape (n, d)", side.shape, "Give one vector per pair.")
    partners = {"images": ("candidates", 0), "reference_images": ("references", 0), "references": ("candidates", 1)}
    for name, (other, axis) in (*partners.items(), ("reference_images", ("images", 1))):
        if sides[name].shape[axis] != sides[other].shape[axis]:
            what = ("pairs", "features")[axis]
            got = sides[name].shape[axis]
            raise InputError(name, f"{sides[other].shape[axis]} {what}, like {other}", got, "Give them in one order.")
    check_epsilon("epsilon", epsilon)
    gaussian = fit_pairs(sides["references"], sides["reference_images"], epsilon)
    pointwise = gaussian.pointwise(sides["candidates"], sides["images"])
    return MutualDivergence(mean_information(pointwise, gaussian.information), pointwise, gaussian.information)


def check_epsilon(name: str, value: Any) -> None:
    """Raise unless `value` is a number of at least 0."""
    check_is_number(name, value, f"Give a float such as {EPSILON}.")
    if not 0 <= value <= sys.float_info.max:
        raise InputError(name, "a finite number of at least 0", value, f"The authors suggest {EPSILON}.")


# --------------------------------------------------------------------------------------------------------------------
# The contract of the module, and people's own value.


def divergence_result(
    module: Any, encoded: Any, options: Mapping[str, Any], progress: Callable[..., Iterable[Any]]
) -> dict[str, Any]:
    """Return the result for encoded captions and images, `CaptionsAndImages`, candidates before references.

    People's own value is of references held out, as many of each row as it has candidates, half of them at most, by the
    Gaussian of the others; the excess is the value of as many candidates by the same Gaussian, less people's.
    """
    texts, pictures, sizes, settings = encoded
    features, images = (unit_vectors(np.asarray(side, dtype=np.float64)) for side in (texts.distinct, pictures))
    n_candidates = sum(sizes[0])
    numbers = texts.rows[:n_candidates], texts.rows[n_candidates:]
    rows = [np.repeat(np.arange(len(images)), side) for side in sizes]
    gaussian = fit_pairs(features[numbers[1]], images[rows[1]], options["epsilon"])
    pointwise = gaussian.pointwise(features[numbers[0]], images[rows[0]])
    built = build_result({"mid": pointwise}, sizes[0], options["details"])
    result = built | {"mid": mean_information(pointwise, gaussian.information), "information": gaussian.information}
    if options["n_splits"]:
        cut = [np.split(side, np.cumsum(size)[:-1]) for side, size in zip(numbers, sizes, strict=True)]
        keys = row_keys(*([features[part] for part in side] for side in cut))
        split_rows = EmbeddingRows(features, cut[0], cut[1], keys)
        result |= _against_people(split_rows, images, options, progress)
    result |= texts.counts(options["long_captions"])
    if options["details"]:
        splits = {name: options[name] if options["n_splits"] else None for name in ("n_splits", "seed")}
        windows = long_captions_name(options) if "prompt" in settings else None
        parts = {**settings, "epsilon": options["epsilon"], **splits, "long_captions": windows}
        result["signature"] = signature(module.name, **parts)
    return result


def _against_people(
    rows: EmbeddingRows, images: Floats, options: Mapping[str, Any], progress: Callable[..., Iterable[Any]]
) -> dict[str, float]:
    """People's own value and the candidates' excess, means over splits; NaN where fewer than two are held out."""
    sizes = held_out_sizes(rows.sizes())
    if sizes.sum() < 2:
        return {"mid_of_people": math.nan, "mid_excess": math.nan}
    row = np.arange(len(images))
    kept_rows = np.repeat(row, np.array([len(side) for side in rows.references]) - sizes)
    held_out_rows = np.repeat(row, sizes)
    sums = np.zeros(2)
    for split in progress(range(options["n_splits"]), desc="people's splits", unit="split", delay=1):
        drawn = split_people(rows, options["seed"], split)
        gaussian = fit_pairs(rows.vectors[drawn.kept], images[kept_rows], options["epsilon"])
        for side, numbers in enumerate((drawn.candidates, drawn.held_out)):
            pointwise = gaussian.pointwise(rows.vectors[numbers], images[held_out_rows])
            sums[side] += mean_information(pointwise, gaussian.information)
    mine, people = (float(value) for value in sums / options["n_splits"])
    return {"mid_of_people": people, "mid_excess": mine - people}
