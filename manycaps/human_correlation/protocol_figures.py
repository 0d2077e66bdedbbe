"""Figures of the benchmarks of videos and of systems: judges one by one, whole paragraphs, a table of systems."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.stats

from manycaps.files.result_tables import align_columns
from manycaps.human_correlation.agreement import Agreement, kendall, mean_coefficient, spearman
from manycaps.human_correlation.benchmark_rows import row_image
from manycaps.human_correlation.published_values import PUBLISHED_SYSTEMS
from manycaps.kit.errors import InputError, quote_value

# Decimals to which the authors of VATEX-EVAL round scores before they rank them (emscore, utils.py).
SCORE_DECIMALS = 4

ProtocolRows = Sequence[Mapping[str, Any]]
ProtocolScorer = Callable[[ProtocolRows, Sequence[str]], np.ndarray]


def judge_correlations(rows: ProtocolRows, score: ProtocolScorer) -> Agreement:
    """Return Kendall's tau_b and Spearman's rho, in percent, with each judge, and their means over the judges.

    Shi et al. (2022), https://arxiv.org/abs/2111.08919; scores are rounded to `SCORE_DECIMALS` first, as in their
    program.

    Rows have `cand` and `human_score`; ValueError is raised if they differ in their number of judgements.
    """
    numbers = [row["human_score"] if isinstance(row["human_score"], list) else [row["human_score"]] for row in rows]
    for i, judgements in enumerate(numbers):
        n_judges = max(len(numbers[0]), 1)
        if len(judgements) != n_judges or any(value is None or math.isnan(value) for value in judgements):
            expected, fix = f"{n_judges} judgements as in row 0", "Each judge is compared with the scores alone."
            raise InputError(f"human_score[{i}]", expected, quote_value(judgements), fix)
    judges = np.array(numbers, dtype=np.float64).T  # (n_judges, n_rows)
    scores = np.asarray(np.round(score(rows, [row["cand"] for row in rows]), SCORE_DECIMALS), dtype=np.float64)
    coefficients = {
        "tau_b": mean_coefficient([kendall(scores, judge)["tau_b"] for judge in judges]),
        "spearman": mean_coefficient([spearman(scores, judge) for judge in judges]),
    }
    return Agreement(
        {name: 100 * coefficient.value for name, coefficient in coefficients.items()}
        | {"n_rows": len(rows), "n_judgements": judges.size},
        {name: 100 / len(rows) * coefficient.influences for name, coefficient in coefficients.items()},
        [row_image(row, i) for i, row in enumerate(rows)],
    )


def paragraph_choice(rows: ProtocolRows, score: ProtocolScorer) -> Agreement:
    """Return the percentage of videos whose right paragraph has the higher score: the mean over its sentences.

    Args:
        rows: as from `activitynet_foil_rows`.
        score: from rows of one sentence each, and sentences, to scores.

    Returns:
        `accuracy`, where a tie counts as half a success (the authors count it as none), and n_rows.
    """
    means = []
    for side in ("better", "worse"):
        sentences = [
            {"video": video, "part": part, "refs": references}
            for row in rows
            for video, part, references in zip(row["videos"], row["parts"], row["refs"], strict=True)
        ]
        scores = score(sentences, [text for row in rows for text in row[side]])
        ends = np.cumsum([len(row[side]) for row in rows])
        means.append(np.array([part.mean() for part in np.split(scores, ends[:-1])]))
    wins = 100 * np.where(means[0] == means[1], 0.5, means[0] > means[1])
    figures = {"accuracy": float(wins.mean()), "n_rows": len(rows)}
    return Agreement(figures, {"accuracy": (wins - wins.mean()) / len(rows)}, range(len(rows)), are_shares=True)


def system_scores(systems: Mapping[str, ProtocolRows], score: ProtocolScorer) -> dict[str, float]:
    """Score each system: the mean over its captions."""
    return {name: float(np.mean(score(rows, [row["cand"] for row in rows]))) for name, rows in systems.items()}


def ranking_table(
    scores: Mapping[str, float], metric: str, published: Mapping[str, Mapping[str, float]] = PUBLISHED_SYSTEMS
) -> str:
    """Write the systems from the best to the worst, beside the published scores, and how both rankings agree.

    The last line has Kendall's tau_b over the published systems, if there are two of them.

    >>> print(ranking_table({"vinvl": 0.82, "own": 0.9, "up_down": 0.8}, "pac_score"))
    system   measured  published  difference
    own        0.9000          -           -
    vinvl      0.8200      0.821     -0.0010
    up_down    0.8000      0.794     +0.0060
    tau_b with the published scores of 2 systems: 1.00
    """
    rows, pairs = [["system", "measured", "published", "difference"]], []
    for name, value in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        known = published.get(name, {}).get(metric)
        beside = ["-", "-"] if known is None else [f"{known:.3f}", f"{value - known:+.4f}"]
        rows.append([name, f"{value:.4f}", *beside])
        pairs += [] if known is None else [(value, known)]
    lines = align_columns(rows, "lrrr")
    if len(pairs) > 1:
        tau = scipy.stats.kendalltau(*np.array(pairs).T).statistic
        lines.append(f"tau_b with the published scores of {len(pairs)} systems: {tau:.2f}")
    return "\n".join(lines)
