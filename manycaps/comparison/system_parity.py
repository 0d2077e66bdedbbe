"""What is measured of one system beside people: its gaps, shares and wording."""

import functools
import heapq
import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from manycaps.comparison.read import ParityRows
from manycaps.kit.parity_corpus import GAPS, MEANS, list_captions
from manycaps.kit.parity_faults import CorpusFaults
from manycaps.kit.parity_gaps import LEVEL
from manycaps.kit.parity_sentences import DistanceSupport
from manycaps.kit.parity_tails import CorpusTails, TailShare, tail_share
from manycaps.kit.parity_texts import LengthGap
from manycaps.kit.parity_words import is_above_people
from manycaps.kit.sets_tests import ClusteredMean, mean_interval, mean_of_rows
from manycaps.kit.words_predictability import N_LISTED
from manycaps.kit.words_tests import CorpusWording

# What lies beyond people's rates of the kinds of faults, and by the names of these a share each: fewer are better. Of
# all other shares people's 5% is best.
FAULTS = "faults"


# Lists of the module that are of no row: the histogram, and the places of captions, [row, candidate, ...].
LISTS = ("distance_histogram", "most_unlike_people", "most_alike")


# Of every row: how many more words candidates have than people's texts.
LENGTH_GAP = "length_gap"


# Rows that detect a difference from people.
ROWS = "rows_to_detect"


# Share of a system's captions that also occur among the references, beyond people's: with more it is not compared
# with other systems, as a copy is never unlike people's captions.
MOST_COPIES = 0.1


# Two values of a row are equal if they are this near: float32 of a network, and float64 of words.
ROUNDING = {"bert": 1e-6, "meteor": 1e-9, "meteor15": 1e-9, "cider": 1e-9}


@dataclass(frozen=True, kw_only=True)
class SystemParity:
    """A system beside people, with all that its pairs are tested by."""

    name: str
    rows: ParityRows
    tails: CorpusTails
    # Numbers of the module, with 95% intervals where there are two rows.
    result: Mapping[str, Any]
    # p-value of the result after Holm's rule over all systems.
    adjusted_p_value: float
    # Faults by kind, and lengths; None where only distances are known.
    faults: CorpusFaults
    length: LengthGap | None = None
    # Wording of its captions beside people's; None where only distances are known.
    wording: CorpusWording | None = None

    @property
    def has_meaning(self) -> bool:
        """Whether its captions are compared with people's by their meaning, and not by their wording alone."""
        return "unlike_people_share" in self.tails.shares

    @functools.cached_property
    def lists(self) -> Mapping[str, Any]:
        """Lists of the module: the histogram of distances, the captions most unlike people's, the pairs most alike.

        Where wording alone is compared, the oddest captions in place of those.
        """
        if not self.has_meaning:
            oddest = [] if self.wording is None else self.wording.lists()["oddest_wording"]
            return {**{key: [] for key in LISTS}, "oddest_wording": oddest}
        return list_captions(self.rows.distances, self.tails.people[False])

    def unsupported_places(self) -> list[tuple[int, int, int, int]]:
        """Return [row, candidate, sentence, nearest reference] of `N_LISTED` sentences, the farthest first."""
        support = self.rows.support or DistanceSupport(self.rows.distances)
        worst: list[tuple[float, int, int, int, int]] = []
        for block in support.blocks():
            m = block.n_candidates
            to_people = block.support[:, :m, :, m:]  # (n_rows, m, most, n)
            means = np.where(block.is_sentence[:, :m], to_people.mean(axis=3), -np.inf)
            chosen = np.argsort(-means, axis=None, kind="stable")[:N_LISTED]
            places = zip(*(each.tolist() for each in np.unravel_index(chosen, means.shape)), strict=True)
            of_block = [
                (-float(means[i, j, k]), int(block.rows[i]), j, k, int(to_people[i, j, k].argmin()))
                for i, j, k in places
            ]
            worst = heapq.nsmallest(N_LISTED, worst + [each for each in of_block if each[0] < math.inf])
        return [(row, candidate, sentence, nearest) for _, row, candidate, sentence, nearest in worst]

    @functools.cached_property
    def shares(self) -> Mapping[str, TailShare]:
        """All shares: of distances, of wording where it is measured, of every kind of fault, and their sum."""
        shares = dict(self.tails.shares)
        if self.wording and self.wording.is_measured:
            shares["predictable_share"] = self.wording.shares["predictable_share"]
        kinds = {name: kind.share for name, kind in self.faults.kinds.items()}
        if not kinds:
            return shares
        candidates = np.sum([kind.rows for kind in kinds.values()], axis=0)
        people = np.sum([kind.people_rows for kind in kinds.values()], axis=0)
        n_candidates = round(1 / min(kind.floor for kind in kinds.values()))
        return {FAULTS: tail_share(candidates, people, self.tails.clusters, n_candidates), **kinds, **shares}

    @property
    def gaps(self) -> dict[str, np.ndarray]:
        """The gaps of every row, shape (n_rows,)."""
        gaps = {gap: self.rows.columns[gap] for gap in GAPS if gap in self.rows.columns}
        if self.wording and self.wording.is_measured:
            gaps["wording_gap"] = self.wording.rows.gaps
        return gaps | ({} if self.length is None else {LENGTH_GAP: self.length.rows})

    @property
    def copies(self) -> bool:
        """See `copies_references`."""
        return copies_references(self.result)

    def numbers(self, clusters: Sequence[Hashable] | None, margin: float | None) -> dict[str, Any]:
        """Return every number of a system."""
        gaps = [(self.rows.columns[gap], variance) for gap, variance in self.rows.null_variances().items()]
        is_within = None if margin is None else bool(gaps) and are_within(gaps, clusters, margin)
        # Of every row: shares by meaning, then means, then the wording.
        per_row = {name: share.rows for name, share in self.tails.shares.items()}
        per_row |= {name: self.rows.columns[name] for name in MEANS if self.has_meaning}
        per_row |= {name: rows for name, rows in self.gaps.items() if name not in GAPS}
        per_row |= {name: share.rows for name, share in self.shares.items() if name != FAULTS}
        return {
            **self.result,
            "adjusted_p_value": self.adjusted_p_value,
            **{key: list(self.lists[key]) for key in LISTS},
            "phrases": [phrase._asdict() for phrase in self.rows.phrases],
            "are_too_long": self.rows.words is not None and self.rows.words.are_too_long(),
            "within_margin": is_within,
            "per_row": {name: values.tolist() for name, values in per_row.items()},
        }


def copies_references(result: Mapping[str, Any]) -> bool:
    """Say whether so many of a system's captions also occur among the references that its shares say little."""
    beyond = result["copied_share"] - result["copied_share_expected"]
    return bool(beyond > MOST_COPIES and is_above_people(result, "copied_share"))


def are_within(gaps: Sequence[tuple[np.ndarray, float]], clusters: Sequence[Hashable] | None, margin: float) -> bool:
    """Say whether all gaps are shown to lie within a margin: two one-sided tests of each at 5% (Schuirmann 1987).

    Each of `gaps` is a float64 array of shape (n_rows,), NaN where a row has none, and the variance of its sum under
    random splits; `margin` is above 0, in the unit of the distance. False with a single cluster.
    """
    means = [_gap_mean(rows, null_variance, clusters) for rows, null_variance in gaps]
    return all(mean.n_clusters > 1 and _upper(mean, -1) < margin > _upper(mean, 1) for mean in means)


def _gap_mean(rows: np.ndarray, null_variance: float, clusters: Sequence[Hashable] | None) -> ClusteredMean:
    """Mean of a gap; its standard error is at least as in random splits, as few rows may look alike by chance."""
    known = ~np.isnan(rows)
    mean = mean_of_rows(rows[known], labels_of(clusters, known))
    least = math.sqrt(null_variance) / int(np.count_nonzero(known))
    return mean._replace(standard_error=max(mean.standard_error, least))


def labels_of(clusters: Sequence[Hashable] | None, chosen: np.ndarray) -> list[Hashable] | None:
    """Return the labels of the chosen rows; None where rows have no labels."""
    return None if clusters is None else list(itertools.compress(clusters, chosen))


def _upper(mean: ClusteredMean, sign: int) -> float:
    """Upper end of a one-sided 95% interval of a mean, or of its negative.

    The farther one of Student's and of that for skewed rows: a few gross faults move both the mean and its error.
    """
    student = mean.mean + sign * float(scipy.special.stdtrit(mean.n_clusters - 1, 1 - LEVEL)) * mean.standard_error
    skewed_end = mean_interval(mean, 1 - 2 * LEVEL)[sign == 1]
    return max(sign * student, sign * skewed_end)
