"""Which setting is nearest to people: chosen on some rows, and tested on others.

The estimate of the energy distance is unbiased, and between vectors the distance is at least 0, so the setting with the
lowest estimate is chosen. This holds for independent samples. The captions of a beam search differ by construction,
their estimate may be far below 0, and the one nearest to 0 is chosen. The lowest of many is too low by chance: of eight
settings that are all people's, the chosen one is called different in more trials than the level allows. So the rows are
split in halves; the setting that is nearest in one half is tested in the other, which had no part in the choice.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.comparison.mean_intervals import LEVEL
from manycaps.comparison.paired_tests import CONFIDENCE_LEVEL, holm_p_values, paired_tests
from manycaps.comparison.parity import ParityRows
from manycaps.kit.base_types import Floats
from manycaps.kit.sets_parity import parity_result, parity_wording
from manycaps.kit.sets_tails import KeptDistances, corpus_tails

# Of every row, mean over rows: 0 for people, and the larger, the farther.
ENERGY = "energy_distance"

# Rows of a half from which on it is tested.
LEAST_ROWS = 10


class Half(NamedTuple):
    """A setting that was chosen on some rows, and what the others say of it."""

    setting: str
    # Rows that it was chosen on.
    n_chosen: int
    # Numbers of human_parity on the other rows.
    result: Mapping[str, Any]


class NearestSetting(NamedTuple):
    """All settings beside people, and the nearest one."""

    # By setting the numbers of human_parity on all rows that were sampled.
    results: Mapping[str, Mapping[str, Any]]
    # By setting the paired test with the nearest one, after Holm's rule over all pairs of settings; 1 of itself.
    p_values: Mapping[str, float]
    # Chosen on one part of the rows and tested on the other one; both ways round where all rows were sampled.
    halves: Sequence[Half]
    # Settings whose captions are those of a search, not independent samples.
    searches: Collection[str] = ()

    @property
    def best(self) -> str:
        """The nearest setting on all rows, among those that were not dropped; see `nearest_of`."""
        energies = {name: result[ENERGY] for name, result in self.results.items() if name in self.p_values}
        return nearest_of(energies, self.searches)

    @property
    def alike(self) -> list[str]:
        """Settings that cannot be distinguished from the nearest one."""
        return [name for name, p in self.p_values.items() if p > LEVEL and name != self.best]

    @property
    def p_value(self) -> float:
        """Of the test of people on rows that had no part in the choice; Bonferroni over both ways round."""
        p_values = [half.result["human_parity_p_value"] for half in self.halves]
        return min(1.0, len(p_values) * min(p_values))

    def to_dict(self) -> dict[str, Any]:
        """Return every number."""
        return {
            "best": self.best,
            "alike": self.alike,
            "p_value": self.p_value,
            "settings": {name: dict(result) for name, result in self.results.items()},
            "paired_p_values": dict(self.p_values),
            "halves": [{**half._asdict(), "result": dict(half.result)} for half in self.halves],
        }


def nearest_of(energies: Mapping[str, float], searches: Collection[str]) -> str:
    """Return the name of the lowest value: one below 0 estimates a distance of about 0, except that of a search.

    >>> nearest_of({"t0.5": 0.2, "t1": -0.01, "beams10": -0.3}, ["beams10"])
    't1'
    """
    return min(energies, key=lambda name: abs(energies[name]) if name in searches else energies[name])


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
            of_rows = [numbers[int(block.rows[i])] for i in inside]
            kept.add(block.distances[inside], block.n_candidates, of_rows)
    columns = {name: np.asarray(values)[list(chosen)] for name, values in rows.columns.items()}
    return ParityRows(columns, kept, None if rows.wording is None else rows.wording.part(chosen))


def numbers_of(rows: ParityRows, clusters: Sequence[Hashable] | None, level: float | None) -> dict[str, Any]:
    """Return the numbers of human_parity on rows, with intervals where there is a confidence level."""
    options = {"p_value": "chi-squared", "confidence_level": level, "clusters": clusters}
    tails = corpus_tails(rows.distances, level, clusters)
    wording = None if rows.wording is None else parity_wording(rows.wording, rows.distances, tails, options)
    return parity_result(rows.columns, tails, options, wording=wording)


def energies_of(rows: Mapping[str, ParityRows]) -> dict[str, Floats]:
    """Return the energy distance of every row, by setting."""
    energies_of_setting = {name: np.asarray(of_setting.columns[ENERGY]) for name, of_setting in rows.items()}
    for name, energies in energies_of_setting.items():
        if np.isnan(energies).any():
            raise ValueError(
                f"{name}: expected two captions or more of every row, got one in row {int(np.isnan(energies).argmax())}"
                ". Sample with -n 2 or more."
            )
    return energies_of_setting


def paired_with_best(
    energies: Mapping[str, Floats],
    clusters: Sequence[Hashable] | None,
    searches: Collection[str],
    *,
    n_resamples: int,
    seed: int,
) -> dict[str, float]:
    """Test every setting against the nearest one: p-values by setting.

    They are those after Holm's rule over all pairs of settings: whichever is the nearest, one false finding has a
    chance of 5 % at most. `energies` has, by setting, arrays of shape (n_rows,), of the same rows.
    """
    names = list(energies)
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    adjusted: dict[tuple[int, int], float] = {}
    if pairs:
        columns = np.stack([energies[name] for name in names], axis=1)
        first, second = (columns[:, [pair[side] for pair in pairs]] for side in (0, 1))
        options: dict[str, Any] = {"confidence_level": None, "n_resamples": n_resamples, "seed": seed}
        p_values = np.array([test.p_value for test in paired_tests(first, second, clusters, **options)])
        adjusted = dict(zip(pairs, holm_p_values(p_values).tolist(), strict=True))
    best = names.index(nearest_of({name: float(values.mean()) for name, values in energies.items()}, searches))
    return {name: 1.0 if i == best else adjusted[max(i, best), min(i, best)] for i, name in enumerate(names)}


def chosen_and_tested(
    rows: Mapping[str, ParityRows],
    choosing: Sequence[int],
    clusters: Sequence[Hashable] | None,
    searches: Collection[str],
    level: float | None,
) -> Half:
    """Choose the nearest setting on some rows, and test it on all others."""
    others = sorted(set(range(len(next(iter(rows.values())).columns[ENERGY]))) - set(choosing))
    means = {name: float(values[list(choosing)].mean()) for name, values in energies_of(rows).items()}
    name = nearest_of(means, searches)
    labels = None if clusters is None else [clusters[i] for i in others]
    return Half(name, len(choosing), numbers_of(part_of(rows[name], others), labels, level))


def nearest_setting(
    rows: Mapping[str, ParityRows],
    clusters: Sequence[Hashable] | None,
    searches: Collection[str] = (),
    *,
    n_resamples: int,
    seed: int,
) -> NearestSetting:
    """Compare settings on the same rows, and choose the nearest honestly."""
    energies = energies_of(rows)
    n_rows = len(next(iter(energies.values())))
    halves = halves_of(n_rows, clusters, seed)
    check_enough_rows(min(map(len, halves)), n_rows)
    return NearestSetting(
        {name: numbers_of(of_setting, clusters, CONFIDENCE_LEVEL) for name, of_setting in rows.items()},
        paired_with_best(energies, clusters, searches, n_resamples=n_resamples, seed=seed),
        [chosen_and_tested(rows, half, clusters, searches, CONFIDENCE_LEVEL) for half in halves],
        searches,
    )


def check_enough_rows(n_least: int, n_rows: int) -> None:
    """Raise unless there are enough rows to choose on some and test on others."""
    if n_least < LEAST_ROWS:
        raise ValueError(
            f"rows: expected {2 * LEAST_ROWS} or more with references, half of them to choose and half to test, got "
            f"{n_rows}. Give more."
        )
