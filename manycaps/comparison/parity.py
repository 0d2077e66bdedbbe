"""Systems beside people: the human parity of each, out of captions or out of scores of their rows."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.comparison.paired_tests import CONFIDENCE_LEVEL
from manycaps.comparison.parity_pairs import ParityPair, Side, compared_pairs
from manycaps.kit.sets_parity import COVARIANCES, MEANS, parity_result
from manycaps.kit.sets_parity_words import ParityWord, words_of

MODULE = "human_parity"

# Values of rows that the comparison needs, by the names of the module and of folders of scores.
COLUMNS = (*MEANS, "outlier_share_of_people", "copied_share_of_people", *COVARIANCES)

# Two values of a row are equal if they are this near: float32 of a network, and float64 of words.
ROUNDING = {"bert": 1e-6, "meteor": 1e-9, "meteor15": 1e-9, "cider": 1e-9}


class ParityRows(NamedTuple):
    """What the module says of the rows of a system."""

    # By the names in `COLUMNS` float64 arrays, shape (n_rows,); NaN where a row has one caption and a value needs two.
    columns: Mapping[str, np.ndarray]
    # Captions by their place among people, the most ordinary first; empty where captions are not known.
    histogram: Sequence[float] = ()
    # [row, caption] of those most unlike people's.
    most_unlike: Sequence[Sequence[int]] = ()


class SystemParity(NamedTuple):
    """A system beside people."""

    name: str
    rows: ParityRows
    # Numbers of the module, with 95 % intervals where there are two rows.
    result: Mapping[str, Any]
    # What they mean; empty for a single row.
    words: Sequence[ParityWord]

    @property
    def copies(self) -> bool:
        """Whether its captions stand among the references."""
        return any(word.name == "copies" for word in self.words)


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

    def nearest_first(self) -> list[SystemParity]:
        """Return the systems by the rows after which they are told from people, the most rows first.

        Where none are told, by the p-value, the largest first.
        """

        def key(system: SystemParity) -> tuple[float, float]:
            return -system.result["rows_needed"], -np.nan_to_num(system.result["human_parity_p_value"], nan=2.0)

        return sorted(self.systems, key=key)

    def to_dict(self) -> dict[str, Any]:
        """Return every number."""
        return {
            "distance": self.distance,
            "margin": self.margin,
            "systems": {
                system.name: {
                    **system.result,
                    "words": [word._asdict() for word in system.words],
                    "rank_histogram": list(system.rows.histogram),
                    "within_margin": self.within.get(system.name),
                    "per_row": {name: system.rows.columns[name].tolist() for name in MEANS},
                }
                for system in self.systems
            },
            "pairs": [pair.to_dict() for pair in self.pairs],
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
) -> ComparedParity:
    """Compare systems with people, and with each other.

    Args:
        rows: by system what the module says of its rows, the baseline first; all of the same rows.
        clusters: labels of the rows; None: every row is independent.
        distance: of captions, a name of the module's.
        note: what a reader should know of the distance.
        margin: a gap up to which systems count as equivalent, in the unit of the distance; None: not asked.
        n_resamples: random sign patterns of the tests of pairs.
        seed: of the same.

    Returns:
        The comparison.
    """
    systems = [_system(name, of_system, clusters) for name, of_system in rows.items()]
    pairs = compared_pairs(
        [Side(system.name, system.rows.columns, system.result, system.copies) for system in systems],
        clusters,
        rounding=ROUNDING.get(distance, 1e-9),
        margin=margin,
        n_resamples=n_resamples,
        seed=seed,
    )
    within = (
        {} if margin is None else {name: _is_within(of_system, clusters, margin) for name, of_system in rows.items()}
    )
    return ComparedParity(distance, note, systems, pairs, margin, within)


def _system(name: str, rows: ParityRows, clusters: Sequence[Hashable] | None) -> SystemParity:
    has_interval = len(rows.columns["fidelity_gap"]) > 1
    options = {
        "p_value": "chi-squared",
        "confidence_level": CONFIDENCE_LEVEL if has_interval else None,
        "clusters": clusters,
    }
    result = parity_result(rows.columns, options)
    return SystemParity(name, rows, result, words_of(result) if has_interval else [])


def _is_within(rows: ParityRows, clusters: Sequence[Hashable] | None, margin: float) -> bool:
    """Whether both gaps are shown to lie within the margin: two one-sided tests of each at 5 % (Schuirmann 1987)."""
    options = {"p_value": "none", "confidence_level": 2 * CONFIDENCE_LEVEL - 1, "clusters": clusters}
    result = parity_result(rows.columns, options)
    ends = [result[f"{gap}_ci_{end}"] for gap in ("fidelity_gap", "diversity_gap") for end in ("low", "high")]
    known = [end for end in ends if not np.isnan(end)]
    return bool(known) and all(-margin < end < margin for end in known)
