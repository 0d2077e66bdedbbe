"""What positives add in the lines of the study positives_study.py: seed by seed, as a table and in words."""

import pathlib
from collections.abc import Sequence

import numpy as np

from scripts.studies.study_frame import Line, matching, numbers, read_lines
from scripts.toy.tuning import Lambdas

# Name of the study's files.
NAME = "positives"

# Without positives, the paper's weights, and larger ones.
LAMBDAS = (Lambdas(0.0, 0.0), Lambdas(0.05, 0.1), Lambdas(0.2, 0.2), Lambdas(0.4, 0.4))

# A gain counts if it is larger than this many standard errors.
N_ERRORS = 2


def values(lines: Sequence[Line], setting: str, lambdas: Lambdas, column: str) -> np.ndarray:
    """Return a column of the lines of one setting and pair of lambdas, by seeds, shape (n_seeds,)."""
    where = {"setting": setting, "lambda_v": f"{lambdas.v:g}", "lambda_t": f"{lambdas.t:g}"}
    seeds = [int(line["seed"]) for line in matching(lines, **where)]
    return np.array(numbers(lines, column, **where))[np.argsort(seeds)]


def gain(lines: Sequence[Line], setting: str, lambdas: Lambdas, column: str) -> tuple[float, float]:
    """Return what positives add to the same tuning without them: the mean over seeds, and its standard error.

    >>> def line(seed, v, tau):
    ...     return {"setting": "a", "seed": seed, "lambda_v": v, "lambda_t": v, "tau_b": tau}
    >>> lines = [line("0", "0", "60"), line("1", "0", "61"), line("0", "0.2", "61"), line("1", "0.2", "64")]
    >>> gain(lines, "a", Lambdas(0.2, 0.2), "tau_b")  # 1 and 3
    (2.0, 1.0)
    """
    differences = values(lines, setting, lambdas, column) - values(lines, setting, LAMBDAS[0], column)
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))


def gain_table(lines: Sequence[Line], column: str = "tau_b") -> str:
    """Write for each setting the measurement without positives, and what each pair of lambdas adds, as Markdown.

    Args:
        lines: of the study, of two seeds or more.
        column: what was measured.

    Returns:
        A table; gains with their standard errors in brackets, bold where they are larger than two of them.
    """
    heads = ["setting", "without", *(f"lambda_v {x.v:g}, lambda_t {x.t:g}" for x in LAMBDAS[1:])]
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for setting in dict.fromkeys(line["setting"] for line in lines):
        cells = [f"{values(lines, setting, LAMBDAS[0], column).mean():.1f}"]
        for lambdas in LAMBDAS[1:]:
            mean, error = gain(lines, setting, lambdas, column)
            text = f"{mean:+.2f} ({error:.2f})"
            cells.append(f"**{text}**" if mean > N_ERRORS * error else text)
        rows.append(f"| {setting} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def gain_words(lines: Sequence[Line], column: str = "tau_b") -> str:
    """Say where positives help beyond two standard errors, where they harm, and where nothing was learnt without."""
    parts: dict[str, list[str]] = {"help": [], "harm": []}
    names = list(dict.fromkeys(line["setting"] for line in lines))
    for setting in names:
        found = [gain(lines, setting, lambdas, column) for lambdas in LAMBDAS[1:]]
        best, worst = max(found), min(found)
        if any(mean > N_ERRORS * error for mean, error in found):
            parts["help"].append(f"{setting} ({best[0]:+.2f})")
        if any(mean < -N_ERRORS * error for mean, error in found):
            parts["harm"].append(f"{setting} ({worst[0]:+.2f})")
    helped = ", ".join(parts["help"]) or "none of the settings"
    harmed = ", ".join(parts["harm"]) or "none"
    idle = [name for name in names if not values(lines, name, LAMBDAS[0], "iterations").any()]
    stopped = (
        f" Without positives, no step lowered the validation loss for any seed in: {', '.join(idle)}." if idle else ""
    )
    return (
        f"Positives help beyond two standard errors, with one of the weights at least, in {len(parts['help'])} of "
        f"{len(names)} settings: {helped}; they harm in: {harmed}.{stopped}"
    )


def study_section(folder: pathlib.Path) -> str:
    """Return what a card says of the study in a folder; a sentence where it has not run there."""
    path = folder / f"{NAME}.csv"
    if not path.is_file():
        return "Not measured for this checkpoint; `scripts/toy/positives_study.py` does it.\n"
    lines = read_lines(path)
    n_seeds = len({line["seed"] for line in lines})
    return f"{gain_words(lines)}\n\n![Gains by setting]({NAME}.png)\n\n{n_seeds} seeds.\n\n{gain_table(lines)}"
