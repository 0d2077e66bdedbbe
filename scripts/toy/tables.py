"""Tables of the trials over seeds, after Tables 1, 4 and 6 of Sarto et al. (2023)."""

import csv
import io
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np

from manycaps.files.saved_files import write_text_atomically
from scripts.repository.sync_kit import document_table
from scripts.studies.best_temperatures import interval

# Measurements of one variant by seed, and of all variants by name.
Measurements = Mapping[str, Sequence[Mapping[str, float]]]

# Kinds of wrong words, and their measurements.
FOIL_KINDS = tuple((kind, f"foil {kind}") for kind in ("background", "colour", "count", "relation", "shape", "size"))

# Percentage of found foils from which a kind counts as learned.
LEARNED = 85.0

# Kinds of pairs of captions, as `trials.PAIRS` explains them, and their mean.
PAIR_KINDS = (*((kind, kind) for kind in ("HC", "HI", "HM", "MM")), ("mean", "pairs mean"))

# Title of each table, and its columns: heading and key of the measurement.
TABLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "Correlation with the number of right attributes (after Table 1)": (
        ("PAC-S tau_b", "tau_b"),
        ("PAC-S tau_c", "tau_c"),
        ("RefPAC-S tau_b", "tau_b ref"),
        ("RefPAC-S tau_c", "tau_c ref"),
    ),
    "Choice between two captions with PAC-S (after Table 4)": PAIR_KINDS,
    "Choice between two captions with RefPAC-S, 4 references (after Table 4)": tuple(
        (heading, f"{key} ref") for heading, key in PAIR_KINDS
    ),
    "Right caption above its foil (after Table 6)": (
        ("PAC-S", "foil accuracy"),
        ("RefPAC-S, 1 reference", "foil accuracy ref1"),
        ("RefPAC-S, 4 references", "foil accuracy ref"),
    ),
    "Retrieval recall": (
        ("image to caption @1", "image_to_caption_recall@1"),
        ("@5", "image_to_caption_recall@5"),
        ("caption to image @1", "caption_to_image_recall@1"),
        ("@5", "caption_to_image_recall@5"),
    ),
}

# What the verdict is about.
VERDICT_COLUMNS = (
    ("PAC-S tau_b", "tau_b"),
    ("RefPAC-S tau_b", "tau_b ref"),
    ("mean of pairs", "pairs mean"),
    ("foils with PAC-S", "foil accuracy"),
    ("foils with RefPAC-S", "foil accuracy ref"),
)


def as_markdown(measurements: Measurements, plain: str) -> str:
    """Write all tables, each variant with its difference to the plain checkpoint under it."""
    parts = []
    for title, columns in TABLES.items():
        rows = [["", *(heading for heading, _ in columns)]]
        for name, by_seed in measurements.items():
            rows.append([name, *(_cell([_value(measures, key) for measures in by_seed]) for _, key in columns)])
            if name != plain:
                cells = (_cell(_differences(measurements, name, plain, key), "+") for _, key in columns)
                rows.append([f"{name} minus {plain}", *cells])
        parts.append(f"### {title}\n\n{document_table(rows[0], rows[1:])}\n")
    return "\n".join(parts)


def foil_table(measurements: Measurements) -> str:
    """Write how many foils of each kind are found, by PAC-S and by RefPAC-S: means and their standard errors."""
    rows = [["", *(kind for kind, _ in FOIL_KINDS)]]
    for name, by_seed in measurements.items():
        for metric, suffix in (("PAC-S", ""), ("RefPAC-S", " ref")):
            rows.append([f"{name}, {metric}"])
            for _, key in FOIL_KINDS:
                shares = [_value(measures, key + suffix) for measures in by_seed]
                error = f" ({np.std(shares, ddof=1) / np.sqrt(len(shares)):.1f})" if len(shares) > 1 else ""
                rows[-1].append(f"{np.mean(shares):.1f}{error}")
    return document_table(rows[0], rows[1:]) + "\n"


def verdict(measurements: Measurements) -> str:
    """Say in words what the tables show of tuning, and of each kind of positives.

    A difference counts if its interval over the seeds does not hold 0.
    """
    plain, recipe, *ablations = measurements
    lines = [f"- Tuning as a whole ({recipe} minus {plain}): {_compare(measurements, recipe, plain)}."]
    lines += [f"- {recipe} minus {name}: {_compare(measurements, recipe, name)}." for name in ablations]
    return "\n".join(lines)


def kinds_learned(variant: Sequence[Mapping[str, float]]) -> str:
    """Say which kinds of wrong words one variant finds with PAC-S, and which it does not."""
    learned, weak = [], []
    for kind, key in FOIL_KINDS:
        mean = float(np.mean([_value(measures, key) for measures in variant]))
        (learned if mean >= LEARNED else weak).append(f"{kind} {mean:.2f}%")
    text = f"Learned (the share of the foils found; chance is 50%): {', '.join(learned) or 'nothing'}."
    return text + (f" Found less often than {LEARNED:.0f}%: {', '.join(weak)}." if weak else "")


def write_csv(path: pathlib.Path, measurements: Measurements, seeds: Sequence[int]) -> None:
    """Write every measurement of every variant and seed, unrounded, one per line."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["variant", "seed", "measurement", "percent"])
    for name, by_seed in measurements.items():
        for seed, measures in zip(seeds, by_seed, strict=True):
            writer.writerows([name, seed, key, repr(float(value))] for key, value in measures.items())
    write_text_atomically(path, file.getvalue(), newline="")


def read_csv(path: pathlib.Path) -> dict[str, list[dict[str, float]]]:
    """Read what `write_csv` wrote."""
    variants: dict[str, dict[str, dict[str, float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            by_seed = variants.setdefault(row["variant"], {})
            by_seed.setdefault(row["seed"], {})[row["measurement"]] = float(row["percent"])
    return {name: list(by_seed.values()) for name, by_seed in variants.items()}


def _compare(measurements: Measurements, name: str, other: str) -> str:
    """Differences of two variants in the columns of `VERDICT_COLUMNS`, and what they say."""
    parts = []
    for heading, key in VERDICT_COLUMNS:
        mean, low, high = interval(_differences(measurements, name, other, key))
        width = (high - low) / 2
        answer = "better" if low > 0 else "worse" if high < 0 else "not distinguishable from chance"
        parts.append(f"{heading} {mean:+.2f}" + ("" if np.isnan(width) else f" ± {width:.2f}") + f" ({answer})")
    return ", ".join(parts)


def _differences(measurements: Measurements, name: str, other: str, key: str) -> list[float]:
    """One measurement of a variant minus another's, seed by seed."""
    pairs = zip(measurements[name], measurements[other], strict=True)
    return [_value(measures, key) - _value(before, key) for measures, before in pairs]


def _value(measures: Mapping[str, float], key: str) -> float:
    """One measurement; NaN for a kind of foil that a few scenes may not have."""
    return measures.get(key, float("nan"))


def _cell(values: Sequence[float], sign: str = "") -> str:
    mean, low, high = interval(values)
    if np.isnan(mean):
        return "-"
    return f"{mean:{sign}.1f}" + ("" if np.isnan(low) else f" ± {(high - low) / 2:.1f}")
