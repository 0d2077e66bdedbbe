"""Rewards for training towards people: the energy score, its kernel form, and self-critical training."""

import numpy as np
import numpy.typing as npt

from .arrays import Floats, as_finite, plain_arguments
from .errors import InputError
from .options import check_is_number
from .rows import as_pairs, check_candidates, check_symmetric

# Weight of the distances from the references at which the energy score is proper.
PROPER_QUALITY = 0.5


@plain_arguments
def energy_rewards(distances: npt.ArrayLike, n_candidates: int, quality: float = PROPER_QUALITY) -> Floats:
    """Reward every candidate of a row by the energy score of the row, which only people's own distribution minimises.

    reward_i = mean over j != i of d(c_i, c_j) - mean over j of d(c_i, r_j), each less a baseline of the other
    candidates: the mean distance between these, and their mean distance from the references. The expected policy
    gradient, mean over i of reward_i times the gradient of log p(c_i), is minus half the gradient of the energy
    distance 2 E d(c, r) - E d(c, c') - E d(r, r'), without bias (the energy score: Gneiting and Raftery 2007, section
    4.3, https://doi.org/10.1198/016214506000001437; the gradient: Williams 1992, https://doi.org/10.1007/BF00992696). A
    baseline that holds candidate i itself would weigh the first term by 1 - 2 / K and the second by 1 - 1 / K for K
    candidates.

    From three candidates on the rewards of a row add up to 0: to subtract their mean changes nothing, and their mean
    says nothing of the training. With two, the first term is the same for both and has no baseline: subtract no mean.

    Args:
        distances: floating-point array, shape (n_rows, n_texts, n_texts), symmetric, 0 on the diagonal, candidates
            first; of strong negative type, such as Euclidean ones, for people's distribution to be the only optimum.
        n_candidates: number of candidates of every row, at least 2; one reference at least.
        quality: weight of the second term, 0 to 1, where the first has 1 - quality, both times two. 0.5 is the
            proper score. Above it the optimum is less varied than people, at 1 a single text, the most central one;
            below it more varied, at 0 whatever the references are.

    Returns:
        float64 array, shape (n_rows, n_candidates), in the unit of the distance.

    Raises:
        TypeError: n_candidates is not a whole number.
        ValueError: another shape or number, or distances that are not symmetric or finite.

    >>> points = np.array([[0.0, 1.0, 5.0, 0.0, 2.0]])  # the first three are candidates
    >>> energy_rewards(np.abs(points[:, :, None] - points[:, None]), 3).tolist()
    [[0.5, -1.0, 0.5]]
    """
    rows = _as_pairs(distances, "distances", n_candidates)
    check_is_number("quality", quality, "Give 0.5 for the proper score.")
    if not 0 <= quality <= 1:
        raise InputError("quality", "a number from 0 to 1", quality, "Give 0.5 for the proper score.")
    m = n_candidates
    from_references = rows[:, :m, m:].mean(axis=2)
    pull = from_references - (from_references.sum(axis=1, keepdims=True) - from_references) / (m - 1)
    to_others = (rows[:, :m, :m] * ~np.eye(m, dtype=bool)).sum(axis=2)
    apart = to_others / (m - 1)
    if m > 2:
        apart -= (to_others.sum(axis=1, keepdims=True) - 2 * to_others) / ((m - 1) * (m - 2))
    return 2 * ((1 - quality) * apart - quality * pull)


@plain_arguments
def kernel_rewards(kernels: npt.ArrayLike, n_candidates: int, quality: float = PROPER_QUALITY) -> Floats:
    """Reward every candidate of a row by the squared maximum mean discrepancy of the row.

    reward_i = mean over j of k(c_i, r_j) - mean over j != i of k(c_i, c_j), with the baselines of `energy_rewards`: the
    expected policy gradient is minus half the gradient of MMD^2 (Gretton et al. 2012, lemma 6,
    https://jmlr.org/papers/v13/gretton12a.html). With -d for k it is `energy_rewards`.

    Args:
        kernels: floating-point array, shape (n_rows, n_texts, n_texts), symmetric, candidates first; of a
            characteristic kernel for people's distribution to be the only optimum.
        n_candidates: as for `energy_rewards`.
        quality: as for `energy_rewards`.

    Returns:
        float64 array, shape (n_rows, n_candidates), in the unit of the kernel.

    Raises:
        TypeError, ValueError: as `energy_rewards`.

    >>> numbers = np.array([0.0, 1.0, 5.0, 3.0])
    >>> kernel_rewards(np.outer(numbers, numbers)[None], 3).tolist()
    [[-4.0, -7.0, 11.0]]
    """
    return energy_rewards(-_as_pairs(kernels, "kernels", n_candidates), n_candidates, quality)


@plain_arguments
def self_critical(sampled: npt.ArrayLike, greedy: npt.ArrayLike) -> Floats:
    """Subtract the score of each row's greedy caption from its sampled ones' scores: self-critical training.

    Rennie et al. (2017), equation 9, https://arxiv.org/abs/1612.00563.

    Args:
        sampled: floating-point array, shape (n_rows, n_candidates): scores of the captions that were sampled.
        greedy: floating-point array, shape (n_rows,) or (n_rows, 1): of the likeliest caption.

    Returns:
        float64 array, shape (n_rows, n_candidates).

    Raises:
        ValueError: other shapes, or numbers that are not finite.

    >>> self_critical([[1.0, 0.25]], [0.5]).tolist()
    [[0.5, -0.25]]
    """
    sampled_scores, greedy_scores = as_finite(sampled, "sampled"), as_finite(greedy, "greedy")
    if sampled_scores.ndim != 2 or greedy_scores.shape not in ((len(sampled_scores),), (len(sampled_scores), 1)):
        got = f"shapes {greedy_scores.shape} and {sampled_scores.shape}"
        raise InputError(
            "greedy",
            "one score for each row of sampled, of shape (n_rows, n_candidates)",
            got,
            "Score one greedy caption per row.",
        )
    return sampled_scores - greedy_scores.reshape(-1, 1)


def _as_pairs(values: npt.ArrayLike, name: str, n_candidates: int) -> Floats:
    """Values of all pairs of texts as float64, symmetric, for two candidates and one reference at least."""
    rows, different = as_pairs(values, name)
    check_candidates(n_candidates, rows.shape[1], 1)
    if n_candidates < 2:
        raise InputError("n_candidates", "at least 2, which are compared with each other", n_candidates, "Sample more.")
    check_symmetric(name, different)
    return rows
