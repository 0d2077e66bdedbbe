"""Which setting is the most human-like: chosen on some rows, and tested on others.

A setting is the more human-like, the more rows it takes to detect a difference from people. Wrong and generic captions,
which cancel in an energy distance, both lower that number. The best of many is too good by chance: it is seldom called
different on the rows that chose it. So the rows are split in halves; the setting that is chosen on one half is tested
on the other, which had no part in the choice.
"""

import dataclasses
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from manycaps.comparison.parity import systems_against_people
from manycaps.comparison.parity_pairs import ParityPair, compare_pairs
from manycaps.comparison.read import ParityRows
from manycaps.comparison.system_parity import ROWS, SystemParity
from manycaps.files.result_tables import finite
from manycaps.kit.errors import InputError
from manycaps.kit.parity_corpus import parity_result
from manycaps.kit.parity_gaps import LEVEL
from manycaps.kit.parity_tails import KeptDistances, corpus_tails
from manycaps.kit.words_tests import corpus_wording
from manycaps.sampling.decoding_setting import Setting

# Of every row, mean over rows: 0 for people.
ENERGY = "energy_distance"

# Rows of a half from which on it is tested.
LEAST_ROWS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Half:
    """A setting that was chosen on some rows, and what the others say of it."""

    setting: str
    # Rows that it was chosen on.
    n_chosen: int
    # Numbers of human_parity on the other rows.
    result: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NearestSetting:
    """All settings beside people, and the one that is most like them."""

    # By setting, on all rows that were sampled.
    systems: Mapping[str, SystemParity]
    # By setting the test of its pair with the best one, after Holm's rule over all pairs; 1 of itself. Without those
    # that were dropped.
    p_values: Mapping[str, float]
    # Chosen on one part of the rows and tested on the other one; both ways round where all rows were sampled.
    halves: Sequence[Half]

    @property
    def results(self) -> dict[str, Mapping[str, Any]]:
        """By setting the numbers of human_parity."""
        return {name: system.result for name, system in self.systems.items()}

    @property
    def best(self) -> str:
        """The most human-like setting on all rows, among those that were not dropped."""
        return most_like_people(self.systems[name] for name in self.p_values)

    @property
    def alike(self) -> list[str]:
        """Settings without a detected difference from the best one; none that copies references.

        Nor from people, where the best one has none: the pair test alone misses some that the other test finds.
        """
        systems = [self.systems[name] for name, p in self.p_values.items() if p > LEVEL and name != self.best]
        if not self.systems[self.best].adjusted_p_value <= LEVEL:
            systems = [system for system in systems if not system.adjusted_p_value <= LEVEL]
        return [system.name for system in systems if not system.copies]

    @property
    def p_value(self) -> float:
        """Of the setting that all halves chose, on rows that had no part in the choice; Bonferroni over both ways.

        NaN where they chose different ones: each has its own.
        """
        p_values = [half.result["human_parity_p_value"] for half in self.halves]
        if len({half.setting for half in self.halves}) > 1:
            return math.nan
        return min(1.0, len(p_values) * min(p_values))

    def to_dict(self) -> dict[str, Any]:
        """Return every number."""
        return {
            "best": self.best,
            "alike": self.alike,
            "copying": [name for name, system in self.systems.items() if system.copies],
            "p_value": self.p_value,
            "settings": {name: dict(result) for name, result in self.results.items()},
            "paired_p_values": dict(self.p_values),
            "halves": [dataclasses.asdict(half) for half in self.halves],
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class SettingsAgainstPeople:
    """Settings beside people."""

    nearest: NearestSetting
    # How each decodes; None where a file of samples does not say.
    settings: Mapping[str, Setting | None]
    # By setting, and of people: the mean of each plain metric.
    plain: Mapping[str, Mapping[str, float]]
    # Distance of captions, what a reader should know of it, and how the numbers were made.
    distance: str
    note: str
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Return every number, as `json.dumps` takes it; NaN and infinity are None."""
        result = {**self.nearest.to_dict(), "plain": {name: dict(values) for name, values in self.plain.items()}}
        result |= {"distance": self.distance, "signature": self.signature}
        result["decoding"] = {name: setting and setting.to_dict() for name, setting in self.settings.items()}
        return dict(finite(result))


def likeness(system: SystemParity) -> tuple[bool, float, float]:
    """Say how like people a setting is; the smallest is best.

    By the rows that detect a difference, ties by p; copies of references last. Where neither is defined, all
    texts of a row are equal.
    """
    rows, p_value = (system.result[key] for key in (ROWS, "human_parity_p_value"))
    return system.copies, -math.inf if math.isnan(rows) else -rows, -1.0 if math.isnan(p_value) else -p_value


def most_like_people(systems: Iterable[SystemParity]) -> str:
    """Return the name of the most human-like setting; see `likeness`."""
    return min(systems, key=likeness).name


def halves_of(n_rows: int, clusters: Sequence[Hashable] | None, seed: int) -> tuple[list[int], list[int]]:
    """Split rows at random in halves; rows of a cluster stay together.

    >>> [len(half) for half in halves_of(20, None, 0)]
    [10, 10]
    """
    labels = list(range(n_rows)) if clusters is None else list(clusters)
    distinct = list(dict.fromkeys(labels))
    order = np.random.default_rng(seed).permutation(len(distinct))
    first = {distinct[k] for k in order[: len(distinct) // 2].tolist()}
    return tuple([i for i, label in enumerate(labels) if (label in first) == side] for side in (True, False))  # type: ignore[return-value]


def part_of(rows: ParityRows, chosen: Sequence[int]) -> ParityRows:
    """Return some rows, in the order in which they are named."""
    numbers, kept = {row: k for k, row in enumerate(chosen)}, KeptDistances(len(chosen))
    for block in rows.distances.blocks():
        inside = [i for i, row in enumerate(block.rows.tolist()) if row in numbers]
        if inside:
            part_rows = [numbers[int(block.rows[i])] for i in inside]
            kept.add(block.distances[inside], block.n_candidates, part_rows)
    columns = {name: np.asarray(values)[list(chosen)] for name, values in rows.columns.items()}
    return ParityRows(
        columns,
        kept,
        None if rows.wording is None else rows.wording.part(chosen),
        support=None if rows.support is None else rows.support.part(chosen),
        language=rows.language,
    )


def check_two_captions(rows: Mapping[str, ParityRows]) -> None:
    """Raise unless every row has two captions of every setting."""
    for name, setting_rows in rows.items():
        is_single = np.isnan(setting_rows.columns[ENERGY])
        if is_single.any():
            got = f"one in row {int(is_single.argmax())}"
            raise InputError(name, "two captions or more of every row", got, "Sample with -n 2 or more.")


def p_values_against_best(systems: Sequence[SystemParity], pairs: Sequence[ParityPair]) -> dict[str, float]:
    """Return by setting the p-value of the pair with the best one, after Holm's rule over all pairs.

    Whichever is the best, one false finding has a chance of 5% at most.
    """
    best = most_like_people(systems)
    p_values = {frozenset((pair.first, pair.second)): pair.adjusted_p_value for pair in pairs}
    return {system.name: p_values.get(frozenset((system.name, best)), 1.0) for system in systems}


def choose_and_test(
    rows: Mapping[str, ParityRows], choosing: Sequence[int], clusters: Sequence[Hashable] | None, seed: int
) -> Half:
    """Choose the best setting on some rows, and test it on all others."""
    testing = sorted(set(range(next(iter(rows.values())).distances.n_rows)) - set(choosing))
    labels = [None if clusters is None else [clusters[i] for i in chosen] for chosen in (choosing, testing)]
    parts = {name: part_of(setting_rows, choosing) for name, setting_rows in rows.items()}
    # A p-value, which takes most of the time, is needed for ties alone.
    options = {"p_value": "none", "confidence_level": None, "clusters": labels[0]}
    needed = {}
    for name, part in parts.items():
        tails = corpus_tails(part.distances, None, labels[0])
        wording = None if part.wording is None else corpus_wording(part.wording, labels[0])
        n_needed = parity_result(part.columns, tails, options, wording=wording)[ROWS]
        needed[name] = np.nan_to_num(n_needed, nan=math.inf)
    most = max(needed.values())
    name, *others = (name for name, n_needed in needed.items() if n_needed == most)
    if others:
        name = most_like_people(
            systems_against_people({each: parts[each] for each in (name, *others)}, labels[0], seed)
        )
    (tested,) = systems_against_people({name: part_of(rows[name], testing)}, labels[1], seed)
    return Half(setting=name, n_chosen=len(choosing), result=tested.result)


def nearest_setting(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, *, rounding: float, n_resamples: int, seed: int
) -> NearestSetting:
    """Compare settings on the same rows, and choose the best honestly; options as for `compare_pairs`."""
    check_two_captions(rows)
    n_rows = next(iter(rows.values())).distances.n_rows
    halves = halves_of(n_rows, clusters, seed)
    check_enough_rows(min(map(len, halves)), n_rows, n_rows if clusters is None else len(set(clusters)))
    systems = systems_against_people(rows, clusters, seed)
    compared = {system.name: system.rows for system in systems if not system.copies}
    pairs = compare_pairs(systems, clusters, rounding=rounding, margin=None, n_resamples=n_resamples, seed=seed)
    return NearestSetting(
        systems={system.name: system for system in systems},
        p_values=p_values_against_best(systems, pairs),
        halves=[choose_and_test(compared or rows, half, clusters, seed) for half in halves],
    )


def check_enough_rows(n_least: int, n_rows: int, n_clusters: int) -> None:
    """Raise unless there are enough rows to choose on some and test on others."""
    if n_least < LEAST_ROWS:
        expected = f"{2 * LEAST_ROWS} or more with references, half of them to choose and half to test"
        got = n_rows if n_clusters == n_rows else f"{n_rows} in {n_clusters} clusters, which stay together"
        raise InputError("rows", expected, got, "Give more.")
