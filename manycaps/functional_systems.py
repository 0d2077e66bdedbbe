"""Tests of two systems on the same rows, as plain functions; re-exported by `manycaps.functional`."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .comparison.paired_tests import CONFIDENCE_LEVEL, N_RESAMPLES, PairedTest, paired_tests
from .comparison.paired_tests import holm_p_values as _holm_p_values
from .functional_checks import as_finite, as_p_values, bleu_rows, plain_arguments
from .kit.base import Floats, TokenRows, check_confidence_level, check_whole_number
from .kit.caption_sets import TIE_TOLERANCE, check_clusters, cluster_numbers
from .kit.ngram_scores import bleu_scores

# Counts that are drawn at once, 8 bytes each.
MAX_SWAPS = 4_000_000


@plain_arguments
def paired_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Compare two systems by their values on the same rows.

    p = share of the sign patterns of the rows' differences whose mean is at least as far from 0 as the observed one:
    all patterns where no more than 20 differences are not 0, else (c + 1) / (n_resamples + 1) of random ones (Fisher
    1935, section 21; Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). Ties count, so that equal values
    have p = 1; values within 1e-9 of the larger one are equal. The interval holds the differences that the test does
    not reject (Hartigan 1969, https://doi.org/10.1080/01621459.1969.10501057): it leaves 0 out exactly where p is at
    most 1 - confidence_level.

    Args:
        first: floating-point array, shape (n_rows,), finite: the values of a system, one per row.
        second: the same of another system, on the same rows.
        clusters: n_rows labels: rows with equal labels, of one image for example, change their signs together. None:
            all rows are independent.
        confidence_level: of the interval, between 0 and 1.
        n_resamples: random sign patterns, at least 1.
        seed: of the random patterns, at least 0.

    Returns:
        A named tuple: `difference`, first minus second, mean over rows, with `ci_low` and `ci_high`; `p_value`,
        two-sided, and `is_exact`; `n_larger`, `n_equal`, `n_smaller`, rows by the sign of their difference;
        `effect_size`, the difference in standard deviations of the rows' differences; with a power of 80 % at the level
        of 5 % the `minimum_detectable_difference`, and the `rows_to_detect` the observed one. Infinite, where so few
        clusters can reject nothing (up to five, at 5 %): the ends of the interval, the detectable difference. NaN with
        one cluster: the detectable difference and the rows; where the differences do not vary: the effect size
        and the detectable difference.

    Raises:
        TypeError: a number is not a whole number, or the confidence level is no number.
        ValueError: another shape or number, or a value that is not finite.

    >>> result = paired_test([0.5, 0.75, 0.5, 0.5, 1.0, 0.75], [0.25, 0.5, 0.25, 0.25, 0.5, 0.0])
    >>> result.difference, result.ci_low, result.p_value, result.n_larger
    (0.375, 0.25, 0.03125, 6)
    """
    mine, theirs = as_finite(first, "first"), as_finite(second, "second")
    if mine.ndim != 1 or not mine.size:
        raise ValueError(f"first: expected an array of shape (n_rows,), got {mine.shape}. Give one value per row.")
    if theirs.shape != mine.shape:
        raise ValueError(
            f"second: expected shape {mine.shape}, that of first, got {theirs.shape}. Give both systems the same rows."
        )
    if clusters is not None:
        check_clusters(clusters, len(mine))
    if confidence_level is None:
        raise TypeError("confidence_level: expected a number, got None. Give a float such as 0.95.")
    check_confidence_level(confidence_level)
    check_whole_number("n_resamples", n_resamples, 1)
    check_whole_number("seed", seed, 0)
    return paired_tests(
        mine[:, None], theirs[:, None], clusters, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed
    )[0]


@plain_arguments
def holm_p_values(p_values: npt.ArrayLike) -> Floats:
    """Adjust the p-values of several tests so that one false finding among them stays as rare as the level says.

    The i-th smallest of n is multiplied by n + 1 - i; none falls below one before it or exceeds 1 (Holm 1979,
    https://www.jstor.org/stable/4615733). It holds under any dependence.

    Args:
        p_values: floating-point array, shape (n,), 0 to 1.

    Returns:
        float64 array, shape (n,), in the order given.

    Raises:
        ValueError: another shape, or a number that is no p-value.

    >>> holm_p_values([0.04, 0.01, 0.03]).tolist()
    [0.06, 0.03, 0.06]
    """
    return _holm_p_values(as_p_values(p_values))


class CorpusBleuTest(NamedTuple):
    """Test of two systems by BLEU of the corpus; arrays of shape (4,), for BLEU-1 to BLEU-4."""

    # First minus second.
    differences: Floats
    # Two-sided, before any correction.
    p_values: Floats


@plain_arguments
def paired_corpus_bleu_test(
    first: TokenRows,
    second: TokenRows,
    references: TokenRows,
    clusters: Sequence[Hashable] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> CorpusBleuTest:
    """Compare two systems by BLEU of the corpus, which is no mean over rows: paired approximate randomisation.

    p = (c + 1) / (n_resamples + 1), c the random exchanges of both systems' captions, row by row, whose difference
    of BLEU is at least as far from 0 as the observed one (Riezler and Maxwell 2005, https://aclanthology.org/W05-0908;
    sacrebleu's `paired_ar`, which counts strictly larger ones alone: equal systems get its smallest p-value).

    Args:
        first: token lists of a system's candidates, as for `corpus_bleu`.
        second: those of the other system, on the same rows.
        references: as for `corpus_bleu`.
        clusters: n_rows labels: rows with equal labels are exchanged together. None: all rows are independent.
        n_resamples: random exchanges, at least 1.
        seed: of the exchanges, at least 0.

    Returns:
        A named tuple: `differences`, first minus second, and `p_values`, above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `corpus_bleu` and `paired_test`.

    >>> rows = [[["a", "dog", "runs"]]] * 12
    >>> test = paired_corpus_bleu_test(rows, [[["a", "cat", "runs"]]] * 12, rows, n_resamples=999)
    >>> test.differences.round(4).tolist()[:2], test.p_values.tolist()[:2]
    ([0.3333, 1.0], [0.002, 0.002])
    """
    check_whole_number("n_resamples", n_resamples, 1)
    check_whole_number("seed", seed, 0)
    if clusters is not None:
        check_clusters(clusters, len(references))
    groups = cluster_numbers(range(len(references)) if clusters is None else clusters)
    mine, theirs = (_cluster_statistics(candidates, references, groups) for candidates in (first, second))
    rng, totals = np.random.default_rng(seed), np.stack((mine.sum(axis=0), theirs.sum(axis=0)))
    differences = np.subtract(*bleu_scores(totals))
    n_reached, step = np.ones(len(differences)), max(1, MAX_SWAPS // len(mine))
    for start in range(0, n_resamples, step):
        swaps = rng.integers(0, 2, size=(min(step, n_resamples - start), len(mine)))
        moved = swaps @ (theirs - mine)  # whole numbers
        drawn = bleu_scores(totals[0] + moved) - bleu_scores(totals[1] - moved)
        n_reached += np.count_nonzero(np.abs(drawn) >= np.abs(differences) - TIE_TOLERANCE, axis=0)
    return CorpusBleuTest(differences, n_reached / (n_resamples + 1))


def _cluster_statistics(candidates: TokenRows, references: TokenRows, groups: np.ndarray) -> npt.NDArray[np.int64]:
    """Statistics of BLEU of each cluster of rows, all candidates together: (n_clusters, 10)."""
    statistics, sizes = bleu_rows(candidates, references)
    sums = np.zeros((groups.max() + 1, statistics.shape[1]), dtype=np.int64)
    np.add.at(sums, np.repeat(groups, sizes), statistics)
    return sums
