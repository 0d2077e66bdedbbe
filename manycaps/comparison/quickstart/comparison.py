"""Compare three captioning systems on the bundled sample: beside people, by plain metrics and by set metrics."""

import csv
import functools
import importlib.util
import io
import json
import math
import pathlib
import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np

from manycaps.catalog.installed_modules import load
from manycaps.catalog.modules import MODULES
from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.render import SystemComparison
from manycaps.comparison.significance import AgainstPeople, Comparison
from manycaps.files.result_tables import align_columns, write_table
from manycaps.files.saved_files import check_can_be_written, make_folder, write_atomically, write_text_atomically
from manycaps.kit.errors import InputOSError, quote_path
from manycaps.kit.parity_words import rounded_p_value
from manycaps.report.result_sentence import verdict

from .scenes import read_scenes

# Metrics of the papers, and the result key of each that is the mean of a plain metric.
PLAIN = {
    name: next(value.key for value in MODULES[name].values if value.is_per_candidate)
    for name in ("trm_meteor", "trm_cider")
}

# Files that are written at once, and in the second part.
OUTPUT_NAMES = ("table.csv", "null_distributions.png", "made_world.csv", "made_world.png")

# What stands for the answer where a scene has a single reference.
NO_PEOPLE = "Not compared with people: expected two references or more for every scene."

# Draws of the mean over scenes in the picture.
N_DRAWN_MEANS = 20_000

# How a cell begins that spreadsheet programs take for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

# What the image and video metrics need beside the rest.
IMAGE_PACKAGES = ("torch", "open_clip", "av")


def sample_files(scenes: list[dict[str, Any]]) -> dict[str, str]:
    """Return systems and people as files of their names."""
    return caption_files(scenes, [*scenes[0]["systems"], "references"], [scene["scene"] for scene in scenes])


def caption_files(scenes: list[dict[str, Any]], names: Iterable[object], ids: Sequence[str]) -> dict[str, str]:
    """Return systems and people, in this order, as files that `manycaps compare` reads: names and texts."""
    columns = [[scene["systems"][system] for scene in scenes] for system in scenes[0]["systems"]]
    columns.append([scene["references"] for scene in scenes])
    lines = [
        [json.dumps({"id": i, "captions": row}) + "\n" for i, row in zip(ids, rows, strict=True)] for rows in columns
    ]
    return {f"{name}.jsonl": "".join(own) for name, own in zip(names, lines, strict=True)}


def check_none_is_replaced(files: Mapping[str, str], folder: pathlib.Path) -> None:
    """Raise if a file of the sample would replace one of another content."""
    for name, text in files.items():
        path = folder / name
        if path.is_file() and path.read_bytes() != text.encode():
            raise InputOSError(
                "--output", "a folder without files of your own", quote_path(path), "Choose another folder."
            )


def compare_files(files: Mapping[str, str], names: list[str], folder: pathlib.Path) -> SystemComparison:
    """Write files of systems and people into a folder that exists, and compare the systems."""
    for name, text in files.items():
        write_text_atomically(folder / name, text)
    *systems, references = (str(folder / name) for name in files)
    return compare(CompareOptions(systems, references=[references], names=names))


def sample_command(files: Mapping[str, str], folder: pathlib.Path) -> str:
    """Return the command that the README shows, which compares the files of the sample."""
    *systems, references = files
    return f"cd {shlex.quote(str(folder))}\nmanycaps compare {' '.join(systems)} -r {references} --overwrite"


def write_csv(path: pathlib.Path, result: Comparison) -> None:
    """Write the values of the papers' metrics, unrounded: a column for each, and each system a row."""
    rows: dict[str, dict[str, float]] = {name: {} for name in result.systems}
    for beside in result.against_people:
        plain = PLAIN[beside.module]
        rows[beside.system] |= {
            plain: result.metrics[plain].systems[beside.system]["mean"],
            beside.module: beside.statistic,
            f"{beside.module}_excess": beside.excess,
            f"{beside.module}_corpus_p_value": beside.p_value,
        }
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["system", *rows[result.systems[0]]])
    for system, values in rows.items():
        # A spreadsheet program would run a name that begins like a formula.
        writer.writerow([f"'{system}" if system.startswith(FORMULA_STARTS) else system, *values.values()])
    write_text_atomically(path, file.getvalue(), newline="")


def null_means(scenes: list[dict[str, Any]], system: str) -> np.ndarray:
    """Return TRM-METEOR's mean over scenes with the captions of every scene split at random: `N_DRAWN_MEANS` draws."""
    rows = {
        "predictions": [scene["systems"][system] for scene in scenes],
        "references": [scene["references"] for scene in scenes],
    }
    module, rng = load("trm_meteor", p_value="permutation"), np.random.default_rng(0)
    nulls = (module.examine(**rows, row=i).null_statistics for i in range(len(scenes)))
    return np.mean([rng.choice(values, N_DRAWN_MEANS) for values in nulls], axis=0)


def draw_null_distributions(path: pathlib.Path, scenes: list[dict[str, Any]], systems: Sequence[AgainstPeople]) -> None:
    """Draw, for every system, the mean over scenes under random splits of their captions, and the observed mean."""
    figure = matplotlib.figure.Figure(figsize=(8, 2.3 * len(systems)), layout="constrained")
    axes = figure.subplots(len(systems), 1, sharex=True, squeeze=False)[:, 0]
    for axis, beside in zip(axes, systems, strict=True):
        means = null_means(scenes, beside.system)
        axis.hist(means, 60, density=True, color="#b8c4d6", label="captions split at random")
        axis.axvline(beside.statistic, color="#c2410c", lw=2, label="candidates and references")
        axis.set_title(
            f"{beside.system}: TRM-METEOR {beside.statistic:.3f}, excess {beside.excess:.3f}, "
            f"p = {rounded_p_value(beside.p_value)}",
            loc="left",
            fontsize=11,
        )
        axis.set_yticks([])
        axis.spines[["top", "left", "right"]].set_visible(False)
    axes[0].legend(frameon=False, loc="upper right")
    axes[-1].set_xlabel("triangle-rank statistic, mean over scenes (lower: more alike)")
    write_atomically(path, functools.partial(figure.savefig, dpi=150))


def explain(result: Comparison) -> str:
    """Explain the metrics: a sentence for each and each system, since each is a separate test."""
    lines = []
    for beside in result.against_people:
        numbers = {
            "corpus_p_value": beside.p_value,
            "smallest_corpus_p": beside.smallest_p_value,
            "excess": beside.excess,
            "excess_ci_low": beside.ci_low,
            "excess_ci_high": beside.ci_high,
        }
        by_key = {f"{beside.module}_{key}": number for key, number in numbers.items()}
        lines.append(verdict(by_key, beside.module, beside.title, f"the captions of '{beside.system}'"))
    means = {system: result.metrics["meteor"].systems[system]["mean"] for system in result.systems}
    names = "' and '".join(system for system, mean in means.items() if math.isclose(mean, max(means.values())))
    return "\n".join([*lines, f"Plain METEOR puts '{names}' first."])


class SystemsReport(NamedTuple):
    """What systems' results say, and the files that have them."""

    # Tables and sentences.
    text: str
    files: list[pathlib.Path]


def compare_systems(captions: pathlib.Path, output: pathlib.Path, *, is_sample: bool = False) -> SystemsReport:
    """Compare the systems of a file of captions, and write table, picture and page; of the sample, its files, too."""
    scenes = read_scenes(captions)
    systems = list(scenes[0]["systems"])
    files = sample_files(scenes) if is_sample else {}
    check_none_is_replaced(files, output)
    make_folder(output)
    for name in (*OUTPUT_NAMES, *files):
        check_can_be_written(output / name)
    if is_sample:
        comparison = compare_files(files, systems, output)
    else:
        # A name of a system may be no name of a file, and names of scenes may repeat.
        own = caption_files(scenes, range(len(systems) + 1), list(map(str, range(len(scenes)))))
        with tempfile.TemporaryDirectory() as folder:
            comparison = compare_files(own, systems, pathlib.Path(folder))
    result = comparison.result
    has_people = all(len(scene["references"]) > 1 for scene in scenes)
    n_candidates = len(next(iter(scenes[0]["systems"].values())))
    text = "\n\n".join(
        [
            f"\n{len(scenes)} scenes, {n_candidates} candidates per scene and system, compared with people's",
            *([sample_command(files, output)] if is_sample else []),
            comparison.write() if has_people else NO_PEOPLE,
            write_table(comparison.words.tables["systems"], "text"),
            f"{explain(result)}\n",
        ]
    )
    written = [output / "table.csv", output / "null_distributions.png"]
    write_csv(written[0], result)
    draw_null_distributions(
        written[1], scenes, [beside for beside in result.against_people if beside.module == "trm_meteor"]
    )
    if has_people:
        comparison.save(output / "report")
        written.append(output / "report" / "index.html")
    return SystemsReport(text, written)


def missing_image_packages() -> list[str]:
    """Return the packages of the image and video metrics that are not installed."""
    return [name for name in IMAGE_PACKAGES if importlib.util.find_spec(name) is None]


def compare_image_metrics(output: pathlib.Path) -> SystemsReport:
    """Score scenes of the made world by the image and video metrics, and write table and picture."""
    # torch is loaded only where these are asked for.
    from .image_metrics import draw_toy_scenes, read_toy_scenes, score_toy_scenes, toy_table, write_toy_csv

    scenes = read_toy_scenes()
    scores = score_toy_scenes(scenes)
    lines = align_columns(toy_table(scores), "lrrr")
    text = "\n".join(
        ["", f"{len(scenes)} scenes of a made world with tiny-pac, a toy that knows only this world", "", *lines]
    )
    files = [output / "made_world.csv", output / "made_world.png"]
    write_toy_csv(files[0], scenes, scores)
    draw_toy_scenes(files[1], scenes, scores)
    return SystemsReport(text, files)
