"""Systems beside people: the human parity of each, out of captions or out of scores of their rows."""

import functools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from manycaps.comparison.detectable_differences import WrongCaptions
from manycaps.comparison.homogeneity import SharedAnswers
from manycaps.comparison.paired_tests import CONFIDENCE_LEVEL, holm_p_values
from manycaps.comparison.parity_pairs import FAULTS, ParityPair, are_within, compared_pairs, faults_of
from manycaps.kit.caption_sets import with_interval
from manycaps.kit.caption_wording import LEAST_ROWS_OF_WORDING, CorpusWording, Phrase, WordingRows, corpus_wording
from manycaps.kit.parity_tails import (
    LEVEL,
    TAIL,
    TAILS,
    CorpusTails,
    DistanceBlock,
    Distances,
    ParityWord,
    RowsNeeded,
    TailShare,
    corpus_tails,
    is_above_people,
    rows_needed_of_tails,
    words_of,
)
from manycaps.kit.parity_tests import (
    COVARIANCES,
    GAPS,
    MEANS,
    PEOPLES_COPIES,
    SMALLEST_P,
    listed_captions,
    parity_result,
    parity_wording,
)

MODULE = "human_parity"

# Values of rows that the comparison needs, by the names of the module and of folders of scores.
COLUMNS = (*MEANS, *PEOPLES_COPIES, *COVARIANCES)

# Lists of the module that are of no row: the histogram, and the places of captions, [row, candidate, ...].
LISTS = ("distance_histogram", "most_unlike_people", "most_alike")

# Rows after which a system is distinguished from people.
ROWS = "rows_needed"

# Orders in which systems are printed, beside that in which they were given.
ORDERS = ("faults", "likeness")

# Share of a system's captions that also occur among the references, beyond that of people: with more it is not compared
# with other systems, as a copy is never unlike people's captions.
MOST_COPIES = 0.1

# Two values of a row are equal if they are this near: float32 of a network, and float64 of words.
ROUNDING = {"bert": 1e-6, "meteor": 1e-9, "meteor15": 1e-9, "cider": 1e-9}


class NoDistances:
    """Stands for the distances of rows with a single reference, of which wording alone is compared."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def blocks(self) -> Iterator[DistanceBlock]:
        """Yield nothing."""
        return iter(())


class ParityRows(NamedTuple):
    """What the module says of the rows of a system."""

    # By the names in `COLUMNS` float64 arrays, shape (n_rows,); NaN where a row has one caption and a value needs two.
    columns: Mapping[str, np.ndarray]
    # Of all pairs of texts of every row.
    distances: Distances
    # Wording of the captions; None where only distances are known.
    wording: WordingRows | None = None
    # Phrases that give the system away, the largest difference from people first; none where there are no captions.
    phrases: Sequence[Phrase] = ()

    def null_variances(self) -> dict[str, float]:
        """Return by gap the variance of its sum over rows under random splits; a gap that no row has is left out."""
        variances = dict(zip(GAPS, ("fidelity_variance", "diversity_variance"), strict=True))
        return {
            gap: float(np.sum(self.columns[variance]))
            for gap, variance in variances.items()
            if gap in self.columns and not np.isnan(self.columns[gap]).all()
        }


@dataclass(frozen=True)
class SystemParity:
    """A system beside people."""

    name: str
    rows: ParityRows
    tails: CorpusTails
    # Numbers of the module, with 95 % intervals where there are two rows.
    result: Mapping[str, Any]
    # p-value of the result after Holm's rule over all systems.
    adjusted_p_value: float
    # What they mean; empty for a single row.
    words: Sequence[ParityWord]
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
        return listed_captions(self.rows.distances, self.tails.people[False])

    @functools.cached_property
    def shares(self) -> Mapping[str, TailShare]:
        """All shares: those of distances, and where it is measured those of wording, and of faults by either."""
        is_measured = self.wording is not None and self.wording.is_measured
        return {**self.tails.shares, **(self.wording.shares if self.wording and is_measured else {})}

    @property
    def gaps(self) -> dict[str, np.ndarray]:
        """The gaps of every row, shape (n_rows,)."""
        gaps = {gap: self.rows.columns[gap] for gap in GAPS if gap in self.rows.columns}
        return gaps | ({"wording_gap": self.wording.rows.gaps} if self.wording and self.wording.is_measured else {})

    def wording_per_row(self) -> dict[str, list[float]]:
        """Return the wording of every row, by the names of the result; empty where it is not measured."""
        if self.wording is None or not self.wording.is_measured:
            return {}
        shares = {name: share.rows.tolist() for name, share in self.wording.shares.items()}
        return {"wording_gap": self.wording.rows.gaps.tolist(), **shares}

    @property
    def copies(self) -> bool:
        """Whether so many of its captions also occur among the references that its shares say little."""
        beyond = self.result["copied_share"] - self.result["copied_share_expected"]
        return beyond > MOST_COPIES and is_above_people(self.result, "copied_share")

    def unlikeness(self, key: str) -> float:
        """How bad a value is: a share of faults, the distance of another share from people's, or minus the rows."""
        value = float(self.result[key])
        return value if key in FAULTS else -value if key == ROWS else abs(value - TAIL)


class ComparedParity(NamedTuple):
    """All systems beside people and beside each other."""

    # Distance of captions, and what a reader should know of it; may be empty.
    distance: str
    note: str
    # As they were given, the baseline first.
    systems: Sequence[SystemParity]
    # Every system with every one before it.
    pairs: Sequence[ParityPair]
    # Largest gap that counts as none, and whether each system lies within it; None where no margin was given.
    margin: float | None
    within: Mapping[str, bool]
    # One of `ORDERS`; empty: as they were given.
    order: str = ""
    # How often every two systems, and each of them and people, say the same; empty where it is not asked.
    shared: Sequence[SharedAnswers] = ()

    @property
    def has_meaning(self) -> bool:
        """Whether captions are compared by their meaning, and not by their wording alone."""
        return all(system.has_meaning for system in self.systems)

    @property
    def faults(self) -> str:
        """The share of faults that all systems have: by meaning or wording, or by meaning alone."""
        return faults_of([system.shares for system in self.systems])

    def in_order(self) -> list[SystemParity]:
        """Return the systems as they are printed: as they were given, or sorted by faults or by likeness alone.

        The fewest faults first, or the most rows after which they are distinguished from people; there, ties by p.
        """

        def key(system: SystemParity) -> tuple[float, float]:
            p_value = np.nan_to_num(system.result["human_parity_p_value"], nan=2.0)
            if self.order == "faults":
                return system.unlikeness(self.faults), 0.0
            return system.unlikeness(ROWS), -float(p_value)

        return sorted(self.systems, key=key) if self.order else list(self.systems)

    def best(self, key: str) -> list[str]:
        """Return the systems with the best value of several, and all that are not shown to be worse than that one.

        Of shares, a pair's test shows it; of rows, an interval that ends below that of the best. None of copies.
        """
        systems = [each for each in self.systems if not each.copies and not math.isnan(each.result[key])]
        if len(self.systems) < 2 or not systems:
            return []
        first = min(systems, key=lambda each: each.unlikeness(key))
        if key == ROWS:
            least = first.result.get(f"{key}_ci_low", math.nan)
            return [each.name for each in systems if each is first or not each.result[f"{key}_ci_high"] < least]
        worse = {
            name
            for pair in self.pairs
            for share in pair.shares
            if share.key == key and share.better == first.name
            for name in (pair.first, pair.second)
        }
        return [each.name for each in systems if each is first or each.name not in worse]

    def to_dict(self) -> dict[str, Any]:
        """Return every number."""
        return {
            "distance": self.distance,
            "margin": self.margin,
            "systems": {
                system.name: {
                    **system.result,
                    "adjusted_p_value": system.adjusted_p_value,
                    "words": [word._asdict() for word in system.words],
                    **{key: list(system.lists[key]) for key in LISTS},
                    "phrases": [phrase._asdict() for phrase in system.rows.phrases],
                    "within_margin": self.within.get(system.name),
                    "per_row": {name: share.rows.tolist() for name, share in system.tails.shares.items()}
                    | {name: system.rows.columns[name].tolist() for name in MEANS if system.has_meaning}
                    | system.wording_per_row(),
                }
                for system in self.systems
            },
            "pairs": [pair.to_dict() for pair in self.pairs],
            "shared_answers": [pair._asdict() for pair in self.shared],
        }


def compared_parity(
    rows: Mapping[str, ParityRows],
    clusters: Sequence[Hashable] | None,
    *,
    distance: str,
    note: str = "",
    margin: float | None = None,
    n_resamples: int,
    seed: int,
    wrong: WrongCaptions | None = None,
) -> ComparedParity:
    """Compare systems with people, and with each other.

    `rows` has by system what the module says of its rows, the baseline first, all of the same rows. Without `clusters`
    every row is independent. `distance` is the module's name of it, and `note` what a reader should know of it. Systems
    whose gaps differ by at most `margin`, in the unit of the distance, count as equivalent; None does not ask.
    `n_resamples` is that of the tests of pairs, and `seed` that of all tests. `wrong` is as for `compared_pairs`.
    """
    has_meaning = not any(isinstance(of_system.distances, NoDistances) for of_system in rows.values())
    beside_people = systems_beside_people if has_meaning else wordings_beside_people
    systems = beside_people(rows, clusters, seed)
    rounding = ROUNDING.get(distance, 1e-9)
    tests: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
    pairs = compared_pairs(systems, clusters, rounding=rounding, margin=margin, wrong=wrong, **tests)
    within: dict[str, bool] = {}
    if margin is not None:
        for system in systems:
            gaps = [(system.rows.columns[gap], variance) for gap, variance in system.rows.null_variances().items()]
            within[system.name] = bool(gaps) and are_within(gaps, clusters, margin)
    return ComparedParity(distance, note, systems, pairs, margin, within)


def systems_beside_people(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int
) -> list[SystemParity]:
    """Compare all systems with people; words follow the p-values after Holm's rule over all of them."""
    n_rows = next(iter(rows.values())).distances.n_rows
    has_interval = n_rows > 1
    level = CONFIDENCE_LEVEL if has_interval else None
    options = {"p_value": "chi-squared", "confidence_level": level, "clusters": clusters}
    tails = {name: corpus_tails(of_system.distances, level, clusters, seed=seed) for name, of_system in rows.items()}
    wording = {
        name: None
        if rows_of.wording is None
        else parity_wording(rows_of.wording, rows_of.distances, tails[name], options)
        for name, rows_of in rows.items()
    }
    results = {
        name: parity_result(of_system.columns, tails[name], options, wording=wording[name])
        for name, of_system in rows.items()
    }
    p_values = np.array([result["human_parity_p_value"] for result in results.values()])
    adjusted = np.full(len(p_values), np.nan)
    adjusted[~np.isnan(p_values)] = holm_p_values(p_values[~np.isnan(p_values)])
    return [
        SystemParity(
            name,
            of_system,
            tails[name],
            results[name],
            float(p_value),
            words_of(results[name], float(p_value)) if has_interval else [],
            wording[name],
        )
        for (name, of_system), p_value in zip(rows.items(), adjusted, strict=True)
    ]


def wordings_beside_people(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int
) -> list[SystemParity]:
    """Compare all systems with people by their wording alone, as rows with a single reference allow."""
    results, wordings, tails = {}, {}, {}
    keys = ["human_parity_p_value", "gaps_p_value", "tails_p_value", *PEOPLES_COPIES, *TAILS, *MEANS]
    unknown = dict.fromkeys((f"{key}{end}" for key in keys for end in ("", "_ci_low", "_ci_high")), math.nan)
    for name, of_system in rows.items():
        assert of_system.wording is not None
        n_rows = len(of_system.wording.sizes)
        n_clusters = n_rows if clusters is None else len(set(clusters))
        wordings[name] = wording = corpus_wording(of_system.wording, clusters, CONFIDENCE_LEVEL)
        z = -float(scipy.special.ndtri(max(wording.test.p_value / 2, SMALLEST_P)))
        needed = rows_needed_of_tails([z], n_clusters, n_rows, CONFIDENCE_LEVEL, level=LEVEL / 2)
        needed = RowsNeeded(*np.maximum(needed, float(LEAST_ROWS_OF_WORDING)).tolist())
        results[name] = {**unknown, **wording.result(CONFIDENCE_LEVEL), "n_rows": n_rows}
        results[name] |= with_interval(ROWS, needed, CONFIDENCE_LEVEL)
        tails[name] = CorpusTails({}, {}, n_clusters, {}, of_system.distances, clusters, seed)
    adjusted = holm_p_values(np.array([wording.test.p_value for wording in wordings.values()])).tolist()
    alike = [ParityWord("alike", "Its wording cannot be distinguished from that of human captions.")]
    return [
        SystemParity(
            name,
            rows[name],
            tails[name],
            result,
            p_value,
            words_of(result, p_value) if p_value <= LEVEL else alike,
            wordings[name],
        )
        for (name, result), p_value in zip(results.items(), adjusted, strict=True)
    ]
