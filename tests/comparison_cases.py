"""Small systems for the tests of comparisons."""

import numpy as np

from manycaps.comparison.page import comparison_page
from manycaps.comparison.read import Exchange, ScoredSystem, SystemRow
from manycaps.comparison.score import SystemScores
from manycaps.comparison.significance import compare_scores
from manycaps.comparison.words import describe
from tests.tools import write_jsonl

WORDS = "a the red small dog cat child man runs sleeps plays eats on in near grass beach house".split()

NAMES = ("base", "<b> & 'q'", "third_one")


def caption(rng, words=WORDS):
    return " ".join(rng.choice(words, 6))


def caption_rows(n_rows=12, n_captions=3, seed=0):
    """References and three systems: one like the references, one that repeats itself, one of other images."""
    rng = np.random.default_rng(seed)
    topics = [rng.choice(WORDS, 7, replace=False) for _ in range(n_rows)]
    people = [[caption(rng, topic) for _ in range(3 * n_captions)] for topic in topics]
    return {
        "references": [row[:n_captions] for row in people],
        "base": [row[n_captions : 2 * n_captions] for row in people],
        "repeating": [row[-1:] * n_captions for row in people],
        "other": [people[i - 1][-n_captions:] for i in range(n_rows)],
    }


def write_captions(folder, rows, ids=None):
    """Write each list of rows as NAME.jsonl, and return the paths by name."""
    paths = {}
    for name, lists in rows.items():
        key = "references" if name == "references" else "captions"
        names = ids or [f"image {i}" for i in range(len(lists))]
        lines = [{"id": i, key: captions} for i, captions in zip(names, lists, strict=True)]
        paths[name] = str(write_jsonl(folder / f"{name}.jsonl", lines))
    return paths


def scored_systems(n_rows=40, shifts=(0.0, 0.3, 0.0), names=NAMES, seed=0):
    """Systems whose excess and METEOR are shifted by known amounts."""
    rng = np.random.default_rng(seed)
    row = rng.normal(0.5, 0.2, n_rows)
    systems = []
    for name, shift in zip(names, shifts, strict=False):
        noise = rng.normal(0, 0.05, (2, n_rows))
        values = {"trm_meteor_excess": row + shift + noise[0], "meteor": 0.5 - shift / 2 + noise[1]}
        excess = float(values["trm_meteor_excess"].mean())
        result = {
            "trm_meteor": excess + 0.4,
            "trm_meteor_excess": excess,
            "trm_meteor_excess_ci_low": excess - 0.05,
            "trm_meteor_excess_ci_high": excess + 0.05,
            "trm_meteor_z": 10 * excess,
            "trm_meteor_corpus_p_value": 0.0001,
            "trm_meteor_smallest_corpus_p": 0.0001,
            "signature": "trm_meteor|version:x",
        }
        values["trm_meteor"] = values["trm_meteor_excess"] + 0.4
        systems.append(ScoredSystem(name, values, {"trm_meteor": result}))
    return systems


def compared_systems(systems, rows, clusters=None, exchanges=(), **options):
    """The result of values of rows, without people."""
    return compare_scores(SystemScores(systems, rows, clusters, exchanges), **options)


def comparison(n_rows=40, clusters=None, **options):
    """A comparison of `scored_systems`, with captions."""
    systems = scored_systems(n_rows, **options)
    rng = np.random.default_rng(1)
    rows = [
        SystemRow(
            f"row {i}",
            {s.name: [caption(rng) for _ in range(k + 1)] for k, s in enumerate(systems)},
            [caption(rng), caption(rng)],
        )
        for i in range(n_rows)
    ]
    exchange = Exchange("trm_meteor", systems[1].name, systems[0].name, 0.9, 0.3, 3.5, 0.001)
    return compared_systems(systems, rows, clusters, [exchange], n_resamples=999)


def write_page(compared):
    """The page of a result."""
    return comparison_page(compared, describe(compared))
