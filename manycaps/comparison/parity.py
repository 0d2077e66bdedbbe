"""Systems compared with people: what is measured of each, with tests adjusted for their number, and every pair."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from manycaps.comparison.parity_pairs import ParityPair, compare_pairs
from manycaps.comparison.read import PEOPLE, NoDistances, ParityRows
from manycaps.comparison.system_parity import ROUNDING, ROWS, SystemParity
from manycaps.comparison.wrong_captions import SharedAnswers, WrongCaptions
from manycaps.kit.paired_tests import holm_p_values
from manycaps.kit.parity_corpus import MEANS, PEOPLES_COPIES, SMALLEST_P, TextValues, parity_result
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL, LEVEL, RowsToDetect, rows_to_detect_of_tails
from manycaps.kit.parity_tails import TAIL, TAILS, CorpusTails, corpus_tails
from manycaps.kit.parity_texts import corpus_faults
from manycaps.kit.sets_tests import with_interval
from manycaps.kit.words_predictability import LEAST_ROWS_OF_WORDING
from manycaps.kit.words_tests import corpus_wording


@dataclass(frozen=True, kw_only=True)
class ComparedParity:
    """All systems beside people and beside each other: plain numbers, as the JSON has them."""

    # Distance of captions; may be empty.
    distance: str
    # Largest gap that counts as none; None where no margin was given.
    margin: float | None
    # By system, as they were given and the baseline first, the numbers of human_parity with 95% intervals where there
    # are two rows; the p-value after Holm's rule over all systems; the lists of `LISTS`; the phrases that give it away;
    # whether it lies within the margin; and its shares and gaps of every row.
    systems: Mapping[str, Mapping[str, Any]]
    # Every system with every one before it.
    pairs: Sequence[ParityPair]
    # How often every two systems, and each of them and people, say the same; empty where it is not asked.
    shared_answers: Sequence[SharedAnswers] = ()


def compare_parity(
    systems: Sequence[SystemParity],
    clusters: Sequence[Hashable] | None,
    *,
    distance: str,
    margin: float | None = None,
    n_resamples: int,
    seed: int,
    wrong: WrongCaptions | None = None,
    shared: Sequence[SharedAnswers] = (),
) -> ComparedParity:
    """Compare systems that stand beside people, the baseline first, with each other.

    Without `clusters` every row is independent. `distance` is the module's name of it. Systems whose gaps differ by at
    most `margin`, in the unit of the distance, count as equivalent; None does not ask. `n_resamples` and `seed` go
    to the tests of pairs, and `wrong` is as for `compare_pairs`.
    """
    numbers = {system.name: system.numbers(clusters, margin) for system in systems}
    within = {name: result["near_duplicate_share"] for name, result in numbers.items()} | {PEOPLE: TAIL}
    options: dict[str, Any] = {"margin": margin, "wrong": wrong, "n_resamples": n_resamples, "seed": seed}
    return ComparedParity(
        distance=distance,
        margin=margin,
        systems=numbers,
        pairs=compare_pairs(systems, clusters, rounding=ROUNDING.get(distance, 1e-9), **options),
        shared_answers=[
            pair._replace(within_first=within[pair.first], within_second=within[pair.second]) for pair in shared
        ],
    )


def parity_of_systems(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int = 0
) -> list[SystemParity]:
    """Compare all systems with people by what is known of their rows: by meaning and wording, or by wording alone.

    `rows` has by system what the module says of its rows, the baseline first, all of the same rows.
    """
    has_meaning = not any(isinstance(system_rows.distances, NoDistances) for system_rows in rows.values())
    return (systems_against_people if has_meaning else wordings_against_people)(rows, clusters, seed)


def systems_against_people(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int
) -> list[SystemParity]:
    """Compare all systems with people, by the p-values after Holm's rule over all of them."""
    level = CONFIDENCE_LEVEL if next(iter(rows.values())).distances.n_rows > 1 else None
    options = {"p_value": "chi-squared", "confidence_level": level, "clusters": clusters}
    tails = {
        name: corpus_tails(system_rows.distances, level, clusters, seed=seed) for name, system_rows in rows.items()
    }
    wording = {
        name: None if rows_of.wording is None else corpus_wording(rows_of.wording, clusters, level)
        for name, rows_of in rows.items()
    }
    texts = {name: _text_values(rows_of, tails[name], level, clusters, seed) for name, rows_of in rows.items()}
    results = {
        name: parity_result(rows_of.columns, tails[name], options, wording=wording[name], texts=texts[name])
        for name, rows_of in rows.items()
    }
    p_values = np.array([result["human_parity_p_value"] for result in results.values()])
    adjusted = np.full(len(p_values), np.nan)
    adjusted[~np.isnan(p_values)] = holm_p_values(p_values[~np.isnan(p_values)])
    return [
        SystemParity(
            name=name,
            rows=system_rows,
            tails=tails[name],
            result=results[name],
            adjusted_p_value=float(p_value),
            faults=texts[name].faults,
            length=texts[name].length,
            wording=wording[name],
        )
        for (name, system_rows), p_value in zip(rows.items(), adjusted, strict=True)
    ]


def _text_values(
    rows: ParityRows, tails: CorpusTails | None, level: float | None, clusters: Sequence[Hashable] | None, seed: int
) -> TextValues:
    """Measure the faults and the lengths of a system's texts; `tails` are None where wording alone is compared."""
    options = {"confidence_level": level, "clusters": clusters, "seed": seed}
    sizes = rows.sizes()
    faults = corpus_faults(tails, rows.support, rows.words, sizes, options)
    return TextValues(faults, None if rows.words is None else rows.words.length(clusters, level, np.array(sizes)))


def wordings_against_people(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int
) -> list[SystemParity]:
    """Compare all systems with people by their wording alone, as rows with a single reference allow."""
    results, wordings, tails, texts = {}, {}, {}, {}
    keys = ["human_parity_p_value", "gaps_p_value", "tails_p_value", *PEOPLES_COPIES, *TAILS, *MEANS]
    unknown = dict.fromkeys((f"{key}{end}" for key in keys for end in ("", "_ci_low", "_ci_high")), math.nan)
    for name, system_rows in rows.items():
        assert system_rows.wording is not None
        n_rows = len(system_rows.wording.sizes)
        n_clusters = n_rows if clusters is None else len(set(clusters))
        wordings[name] = wording = corpus_wording(system_rows.wording, clusters, CONFIDENCE_LEVEL)
        z = -float(scipy.special.ndtri(max(wording.test.p_value / 2, SMALLEST_P)))
        needed = rows_to_detect_of_tails([z], n_clusters, n_rows, CONFIDENCE_LEVEL, level=LEVEL / 2)
        needed = RowsToDetect(*np.maximum(needed, float(LEAST_ROWS_OF_WORDING)).tolist())
        results[name] = {**unknown, **wording.result(CONFIDENCE_LEVEL), "n_rows": n_rows}
        results[name] |= with_interval(ROWS, needed, CONFIDENCE_LEVEL)
        texts[name] = _text_values(system_rows, None, CONFIDENCE_LEVEL, clusters, seed)
        results[name] |= texts[name].result(CONFIDENCE_LEVEL, is_tested=True)
        tails[name] = CorpusTails({}, {}, n_clusters, {}, system_rows.distances, clusters, seed)
    adjusted = holm_p_values(np.array([wording.test.p_value for wording in wordings.values()])).tolist()
    return [
        SystemParity(
            name=name,
            rows=rows[name],
            tails=tails[name],
            result=result,
            adjusted_p_value=p_value,
            faults=texts[name].faults,
            length=texts[name].length,
            wording=wordings[name],
        )
        for (name, result), p_value in zip(results.items(), adjusted, strict=True)
    ]
