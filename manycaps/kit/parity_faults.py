"""Human parity by faults: unsupported, omitted, oddly worded and repeated, each beside people's own rate."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.special

from .arrays import Floats, Ints
from .parity_sentences import BothSides, SideValues, SupportBlock
from .parity_tails import (
    BLOCK_VALUES,
    DRAWN_DISTANCES,
    LEAST_DRAWS,
    LEAST_ROWS_OF_STUDENT,
    MOST_DRAWS,
    MOST_SPLIT_DISTANCES,
    N_REACHED,
    TAIL,
    TailShare,
    Threshold,
    clopper_pearson_interval,
    p_value_of_draws,
    tail_share,
)
from .sets_tests import TIE_TOLERANCE, cluster_numbers, row_scales, with_interval

# --------------------------------------------------------------------------------------------------------------------
# Faults: four kinds, each of which has people's own rate by the same rule, so that only what lies beyond it counts.
#
#     unsupported   share of the sentences that are farther from what people say than 19 of 20 of people's sentences
#     omitted       share of the texts that leave out more of what people say than 19 of 20 of people's texts
#     odd wording   share of the sentences whose words follow each other less predictably than in 19 of 20 of people's
#     repeated      share of the texts that say a word twice in a row, or three words twice, where people do not
#
# Of a text the share is its sentences'; of a row, its texts'; of a corpus, its rows'. Of the first three people have
# 5%, of the last what is counted of them. A share beyond people's is max(0, share - people's share): below people's
# rate there is nothing to gain. `faults` is the sum of the four, at most 1: an upper bound of the share of texts that
# are worse than people's.

# By the names of results, the noun that sentences use.
FAULTS: Mapping[str, str] = {
    "unsupported_share": "unsupported sentences",
    "omitted_share": "omissions",
    "odd_wording_share": "odd wording",
    "repeated_share": "repetitions",
}


class PeopleValues:
    """The distribution of people's values; every row has the same weight, and so have the values that say so."""

    def __init__(self, people: SideValues, n_rows: int, sign: int):
        """Take values whose large ones, times the sign, are faults."""
        self._sign = sign
        order = np.argsort(-sign * people.values, kind="stable")
        # Descending, times the sign, with the share of people at each or beyond.
        self._values = sign * people.values[order]
        self._beyond = np.cumsum(people.weights[order] / n_rows)
        ends = self._values[[0, -1]]
        self.tolerance = TIE_TOLERANCE * float(row_scales(ends.reshape(1, -1))[0])
        self.n_values = len(order)

    @property
    def largest(self) -> float:
        """Share of people at the farthest value alone."""
        return float(self._beyond[0])

    def _share_before(self, place: int) -> float:
        return float(self._beyond[place - 1]) if place else 0.0

    def threshold(self, share: float) -> Threshold:
        """Return the quantile beyond which a share of people's values lies; beyond that of 0 lies nothing."""
        if not share > 0:
            return Threshold(self._sign, math.inf, 0.0, self.tolerance)
        place = min(int(np.searchsorted(self._beyond, share - 1e-12)), self.n_values - 1)
        value = float(self._values[place])
        first = int(np.searchsorted(-self._values, -(value + self.tolerance)))
        last = int(np.searchsorted(-self._values, -(value - self.tolerance), "right"))
        above, at_least = self._share_before(first), self._share_before(last)
        return Threshold(self._sign, value, min(1.0, (share - above) / (at_least - above)), self.tolerance)


class Fault(NamedTuple):
    """One kind of fault."""

    # Shares of the candidates, by row, with an interval; people's are beside them, and differences from them.
    share: TailShare
    # Ends of the interval of the share less people's; NaN where there is none.
    low: float
    high: float
    # One-sided: have the candidates more than people? NaN where it is not tested.
    p_value: float

    @property
    def excess(self) -> float:
        """The share less people's."""
        return self.share.value - self.share.people.mean

    @property
    def beyond(self) -> float:
        """What lies beyond people's rate."""
        return max(0.0, self.excess)


def quantile_fault(
    sides: BothSides,
    sign: int,
    n_rows: int,
    clusters: Sequence[Hashable] | None,
    confidence_level: float | None,
    widening: Callable[[PeopleValues, Floats], float] | None = None,
) -> Fault:
    """Compute the share of candidates beyond the quantile of people's values, without its p-value.

    The interval puts together the errors of the share and of the quantile, as `corpus_tails` does. `widening` is from
    people and the rows' differences to how much larger the error is than these make it.
    """
    people = PeopleValues(sides.people, n_rows, sign)
    n_texts = _n_texts(sides.candidates)

    def candidates_beyond(share: float) -> Floats:
        shares = people.threshold(share).shares(sides.candidates.values)
        return sides.candidates.row_means(shares, n_rows)

    threshold = people.threshold(TAIL)
    people_rows = sides.people.row_means(threshold.shares(sides.people.values), n_rows)
    share = tail_share(candidates_beyond(TAIL), people_rows, clusters, n_texts)
    if widening is not None:
        share = widened(share, widening(people, share.rows - share.people_rows))
    if confidence_level is None or share.candidates.n_clusters < 2:
        return Fault(share, math.nan, math.nan, math.nan)
    error = share.people.standard_error
    if error > 0:
        number = min(TAIL * (1 - TAIL) / error**2, people.n_values)
        low, high = clopper_pearson_interval(TAIL, number, confidence_level)
        # Beyond all of people's values nothing is known.
        known = min(1.0, low / people.largest)
        far = known * float(candidates_beyond(max(low, people.largest)).mean())
        near = float(candidates_beyond(high).mean())
    else:
        far = near = share.value
    share = share.with_interval(far, near, confidence_level)
    return Fault(share, share.low - TAIL, share.high - TAIL, math.nan)


def _n_texts(side: SideValues) -> int:
    """Number of texts whose values these are."""
    return len(np.unique(side.rows * (1 + int(side.texts.max(initial=0))) + side.texts))


def widened(share: TailShare, factor: float) -> TailShare:
    """Return a share whose errors are larger by a factor, at least 1."""
    factor = max(1.0, factor)
    candidates, people, differences = (
        of._replace(standard_error=factor * of.standard_error)
        for of in (share.candidates, share.people, share.differences)
    )
    return share._replace(candidates=candidates, people=people, differences=differences)


def counted_fault(
    sides: BothSides, n_rows: int, clusters: Sequence[Hashable] | None, confidence_level: float | None
) -> Fault:
    """Compute the share of candidates that have a fault, values up to 1, beside people's."""
    rows = [side.row_means(side.values, n_rows) for side in sides]
    share = tail_share(rows[0], rows[1], clusters, _n_texts(sides.candidates))
    if confidence_level is None or share.candidates.n_clusters < 2:
        p_value = share.student_p_value if share.candidates.n_clusters > 1 else math.nan
        return Fault(share, math.nan, math.nan, p_value)
    low, high = share.own_interval(confidence_level)
    low, high = max(0.0, low), min(1.0, high)
    # As if one text more, and one less, had the fault: with few texts none has it. And no shorter than both intervals
    # together, since Student's is too short of large shares of few texts.
    error = max(share.differences.standard_error, share.floor)
    quantile = float(scipy.special.stdtrit(share.differences.n_clusters - 1, (1 + confidence_level) / 2))
    of_people = quantile * share.people.standard_error
    below, above = (max(quantile * error, math.hypot(end - share.value, of_people)) for end in (low, high))
    mean = share.differences.mean
    return Fault(share._replace(low=low, high=high), mean - below, mean + above, share.student_p_value)


@dataclass(frozen=True)
class CorpusFaults:
    """The faults of the candidates of all rows."""

    # By the names of `FAULTS`, as far as they are measured.
    kinds: Mapping[str, Fault]
    n_rows: int

    @property
    def faults(self) -> float:
        """The sum beyond people's rates: an upper bound of the share of texts that are worse than people's."""
        return min(1.0, math.fsum(kind.beyond for kind in self.kinds.values()))

    def interval(self) -> tuple[float, float]:
        """Return the interval of the sum (Zou and Donner 2008): the errors of all kinds, as if they were independent.

        All kinds count, also those at 0: what lies above 0 by chance alone is not taken for faults.
        """
        kinds = self.kinds.values()
        below = math.sqrt(math.fsum((kind.excess - kind.low) ** 2 for kind in kinds))
        above = math.sqrt(math.fsum((kind.high - kind.excess) ** 2 for kind in kinds))
        # Below its rate people's, a kind counts as 0.
        total = math.fsum(kind.beyond for kind in kinds)
        return min(1.0, max(0.0, total - below)), min(1.0, total + above)

    def result(self, confidence_level: float | None, *, is_tested: bool = True) -> dict[str, float]:
        """Return the values by the keys of a module's result, NaN of what is not measured."""
        is_whole = "unsupported_share" in self.kinds
        ends = self.interval() if confidence_level is not None and is_whole else (math.nan, math.nan)
        result = with_interval("faults", (self.faults if is_whole else math.nan, *ends), confidence_level)
        if is_tested:
            result["faults_p_value"] = self.p_value if is_whole else math.nan
        for name in FAULTS:
            kind = self.kinds.get(name)
            if kind is None:
                result |= with_interval(name, (math.nan,) * 3, confidence_level) | {f"{name}_of_people": math.nan}
            else:
                share = kind.share
                result |= with_interval(name, (share.value, share.low, share.high), confidence_level)
                result[f"{name}_of_people"] = share.people.mean
            if is_tested:
                result[name.replace("_share", "_p_value")] = math.nan if kind is None else kind.p_value
        return result

    def lists(self) -> dict[str, list[float]]:
        """Return the share of every row, by the keys of a module's result."""
        return {f"{name}_per_row": kind.share.rows.tolist() for name, kind in self.kinds.items()}

    @property
    def p_value(self) -> float:
        """Has a kind a larger share than people's? The smallest p-value times the number of kinds (Bonferroni)."""
        return smallest_of([kind.p_value for kind in self.kinds.values()])


def smallest_of(p_values: Iterable[float]) -> float:
    """Return the smallest p-value times their number, at most 1; NaN ones are not counted.

    >>> smallest_of([0.2, 0.01, math.nan]), smallest_of([])
    (0.02, nan)
    """
    known = [p_value for p_value in p_values if not math.isnan(p_value)]
    return min(1.0, len(known) * min(known)) if known else math.nan


def more_faults_than(first: CorpusFaults, second: CorpusFaults, clusters: Sequence[Hashable] | None) -> float:
    """Test whether a system has more faults than another one, of the same rows and references.

    Of one kind it must have more than people and more than the other: the larger p-value of both tests (Berger 1982,
    https://doi.org/10.1080/00401706.1982.10487790), the smallest of all kinds times their number.
    """
    p_values = []
    for name, kind in first.kinds.items():
        if name in second.kinds:
            differences = kind.share.rows - second.kinds[name].share.rows
            paired = tail_share(kind.share.rows, second.kinds[name].share.rows, clusters, len(differences))
            # Rows that all differ alike have no spread: as if one text were otherwise.
            has_spread, differs = paired.differences.standard_error > 0, paired.differences.mean > 0
            p_value = paired._replace(floor=0.0).student_p_value if has_spread else math.nan
            if differs and not has_spread:
                p_value = paired.student_p_value
            p_values.append(max(kind.p_value, 1.0 if math.isnan(p_value) else p_value))
    return smallest_of(p_values)


# --------------------------------------------------------------------------------------------------------------------
# Tests of few rows, by random splits.
#
# If people wrote the candidates, the texts of a row may as well be split otherwise into candidates and references. A
# draw splits all rows, takes people's quantile again, and counts what lies beyond it. Student's t finds too much here,
# since the error of the quantile is the same in all rows (see `SplitTails`). Of a cluster each draw takes one row, with
# the weight of all of them, so that nothing is supposed of how they depend on each other.


class SplitGroup(NamedTuple):
    """Rows of equal sizes, whose texts are split."""

    n_candidates: int
    # Numbers of the rows, shape (n_rows,).
    rows: Ints
    # Shape (n_rows, n_texts, most): weights of the sentences of a text, which add up to 1.
    weights: Floats
    # float64: support, (n_rows, n_texts, most, n_texts), or scores that no split changes, (n_rows, n_texts, most).
    support: Floats | None
    scores: Floats | None


def support_groups(blocks: Iterable[SupportBlock]) -> list[SplitGroup]:
    """Return the rows of blocks, ready to be split."""
    by_size: dict[tuple[int, ...], list[SupportBlock]] = {}
    for block in blocks:
        by_size.setdefault((block.n_candidates, *block.support.shape[1:3]), []).append(block)
    groups = []
    for (m, *_), parts in sorted(by_size.items()):
        weights = np.concatenate([part.is_sentence / part.n_sentences[..., None] for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        groups.append(SplitGroup(m, rows, weights, np.concatenate([part.support for part in parts]), None))
    return groups


def score_groups(sides: BothSides, sizes: Sequence[tuple[int, int]]) -> list[SplitGroup]:
    """Return rows of scores that no split changes, ready to be split; `sizes` are of all rows."""
    table = np.array(sizes)
    columns = [np.concatenate(column) for column in zip(*sides, strict=True)]
    values, _, rows, texts, sentences = columns
    is_people = np.arange(len(rows)) >= len(sides.candidates.rows)
    texts = texts + np.where(is_people, table[rows, 0], 0)
    groups = []
    for m, n in sorted(set(sizes)):
        own = np.flatnonzero((table == (m, n)).all(axis=1))
        place = np.full(len(table), -1)
        place[own] = np.arange(len(own))
        chosen = place[rows] >= 0
        shape = (len(own), m + n, 1 + int(sentences[chosen].max()))
        scores, is_one = np.zeros(shape), np.zeros(shape)
        at = place[rows[chosen]], texts[chosen], sentences[chosen]
        scores[at], is_one[at] = values[chosen], 1.0
        groups.append(SplitGroup(m, own, is_one / is_one.sum(axis=2, keepdims=True), None, scores))
    return groups


class SplitFaults:
    """The share of a fault under random splits of every row, for few rows.

    Rows are put in an order of their own, by their values, so that the draws depend on the seed and on the rows, not on
    their order.
    """

    def __init__(self, groups: Sequence[SplitGroup], sign: int, clusters: Sequence[Hashable] | None):
        """Take all rows, and which values are faults: large ones, 1, or small ones, -1."""
        self._sign = sign
        self._groups = [_sorted_group(group) for group in groups]
        rows = np.concatenate([group.rows for group in self._groups])
        labels = [int(row) if clusters is None else clusters[row] for row in rows]
        self._clusters = cluster_numbers(labels)
        self._sizes = np.bincount(self._clusters)
        by_cluster = np.argsort(self._clusters, kind="stable")
        self._numbers = np.empty_like(by_cluster)
        firsts = np.cumsum(self._sizes) - self._sizes
        self._numbers[by_cluster] = np.arange(len(labels)) - np.repeat(firsts, self._sizes)
        self._ends = np.cumsum([len(group.rows) for group in self._groups])[:-1]
        self._n_texts = max(group.weights.shape[1] for group in self._groups)
        self._n_numbers = sum(
            group.weights.size * (1 if group.support is None else group.weights.shape[1]) for group in self._groups
        )
        largest = max(float(np.abs(_values(group)).max()) for group in self._groups)
        self._tolerance = TIE_TOLERANCE * float(row_scales(np.array([[largest]]))[0])

    @property
    def are_few(self) -> bool:
        """Whether the rows are few enough for draws."""
        return self._n_numbers <= MOST_SPLIT_DISTANCES and len(self._sizes) < LEAST_ROWS_OF_STUDENT

    def p_value(self, seed: int) -> float:
        """Return the one-sided p-value, ties counted, as `SplitTails.p_values` does."""
        observed = self.shares(None)[0]
        n_draws = int(np.clip(DRAWN_DISTANCES // self._n_numbers, LEAST_DRAWS, MOST_DRAWS))
        rng, step = np.random.default_rng(seed), max(1, min(256, BLOCK_VALUES // self._n_numbers))
        reached = np.zeros(0, dtype=bool)
        while len(reached) < n_draws and reached.sum() < N_REACHED:
            keys = rng.random((min(step, n_draws - len(reached)), len(self._sizes), 1 + self._n_texts))
            reached = np.concatenate([reached, self.shares(keys) >= observed - TIE_TOLERANCE])
        return p_value_of_draws(reached, n_draws)

    def shares(self, keys: np.ndarray | None) -> Floats:
        """Return the share of the candidates beyond people's quantile: float64, shape (n_draws,).

        `keys` are random numbers, shape (n_draws, n_clusters, 1 + n_texts): which row of a cluster is taken, and the
        order of a row's texts. None: the split that was observed.
        """
        n_draws, weights = 1, np.ones((1, len(self._clusters)))
        if keys is not None:
            n_draws = len(keys)
            is_taken = (keys[:, :, 0] * self._sizes).astype(np.intp)[:, self._clusters] == self._numbers
            weights = np.where(is_taken, self._sizes[self._clusters], 0.0)
        weights = weights / weights.sum(axis=1, keepdims=True)
        sides = []
        starts = [0, *self._ends.tolist()]
        for group, start, row_weights in zip(self._groups, starts, np.split(weights, self._ends, axis=1), strict=True):
            n_texts = group.weights.shape[1]
            orders = np.broadcast_to(np.arange(n_texts), (n_draws, len(group.rows), n_texts))
            if keys is not None:
                numbers = self._clusters[start : start + len(group.rows)]
                orders = np.argsort(keys[:, numbers, 1 : 1 + n_texts])
            sides.append(_split_values(group, orders, row_weights))
        (people, people_weights), (candidates, candidate_weights) = (
            [np.concatenate(parts, axis=1) for parts in zip(*side, strict=True)] for side in zip(*sides, strict=True)
        )
        return self._beyond(self._sign * people, people_weights, self._sign * candidates, candidate_weights)

    def _beyond(self, people: Floats, weights: Floats, candidates: Floats, candidate_weights: Floats) -> Floats:
        """Share of candidates beyond the quantile of people of each draw."""
        order = np.argsort(-people, axis=1)
        beyond = np.take_along_axis(weights, order, axis=1).cumsum(axis=1)
        place = (beyond >= TAIL - 1e-12).argmax(axis=1)
        quantile = np.take_along_axis(people, np.take_along_axis(order, place[:, None], axis=1), axis=1)
        above, at_least = quantile + self._tolerance, quantile - self._tolerance
        n_above = np.where(people > above, weights, 0.0).sum(axis=1)
        n_at_least = np.where(people >= at_least, weights, 0.0).sum(axis=1)
        fraction = np.minimum(1.0, (TAIL - n_above) / (n_at_least - n_above))
        far = np.where(candidates > above, candidate_weights, 0.0).sum(axis=1)
        reached = np.where(candidates >= at_least, candidate_weights, 0.0).sum(axis=1)
        return np.asarray(far + fraction * (reached - far))


def _values(group: SplitGroup) -> Floats:
    return group.scores if group.support is None else group.support  # type: ignore[return-value]


def _sorted_group(group: SplitGroup) -> SplitGroup:
    """Rows in an order that their values decide."""
    flat = _values(group).reshape(len(group.rows), -1)
    order = np.lexsort((*flat.T[::-1], flat.sum(axis=1)))
    parts = [None if part is None else part[order] for part in group[1:]]
    return SplitGroup(group.n_candidates, *parts)  # type: ignore[arg-type]


def _split_values(
    group: SplitGroup, orders: Ints, row_weights: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Values and weights of people and of candidates under every draw: float64, shape (n_draws, n_values) each.

    `orders` are the texts of each row in a new order, shape (n_draws, n_rows, n_texts), candidates first.
    """
    m, n_texts = group.n_candidates, orders.shape[2]
    n = n_texts - m
    rows = np.arange(len(group.rows))[:, None]
    chosen, others = orders[..., :m], orders[..., m:]
    weights = [
        group.weights[rows, texts] * row_weights[:, :, None, None] / count
        for texts, count in ((others, n), (chosen, m))
    ]
    if group.support is None:
        scores = group.scores
        if scores is None:
            raise ValueError("a group has support or scores")
        values = [scores[rows, texts] for texts in (others, chosen)]
    else:
        among = np.take_along_axis(group.support[rows, others], others[:, :, None, None, :], axis=4)
        crossing = np.take_along_axis(group.support[rows, chosen], others[:, :, None, None, :], axis=4)
        values = [among.sum(axis=4) / (n - 1), (crossing.sum(axis=4, keepdims=True) - crossing) / (n - 1)]
        weights[1] = np.broadcast_to(weights[1][..., None] / n, values[1].shape)
    flat = [
        (value.reshape(len(orders), -1), weight.reshape(len(orders), -1))
        for value, weight in zip(values, weights, strict=True)
    ]
    return flat[0], flat[1]
