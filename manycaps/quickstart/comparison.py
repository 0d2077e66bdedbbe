"""Compare three captioning systems on the bundled sample: beside people, by plain metrics and by set metrics."""

import csv
import functools
import importlib.util
import io
import itertools
import json
import pathlib
import shlex
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np
from tqdm import tqdm

from manycaps.catalog import MODULES
from manycaps.comparison import CompareOptions, compare
from manycaps.installed_modules import load
from manycaps.kit.base import InputOSError, quote_path
from manycaps.quickstart.scenes import read_scenes
from manycaps.saved_files import check_can_be_written, make_folder, write_atomically, write_text_atomically
from manycaps.tables import Cell, Table, align_columns, write_table
from manycaps.verdict import verdict

# Result of every module for every system: results[system][module].
SystemResults = dict[str, dict[str, dict[str, Any]]]

# Which excess is best: human captions have none.
nearest_to_zero = functools.partial(min, key=abs)

# Modules that are shown, and the result key of each that is the mean of a plain metric, with its title.
TITLES = {name: MODULES[name].title for name in ("trm_meteor", "trm_cider")}
PLAIN = {name: next(value for value in MODULES[name].values if value.is_per_candidate) for name in TITLES}

# Columns of the table: title, module, result key, and which value is best (None: no mark).
COLUMNS: list[tuple[str, str, str, Callable[..., Any] | None]] = [
    column
    for name, title in TITLES.items()
    for column in (
        (PLAIN[name].title, name, PLAIN[name].key, max),
        (title, name, name, min),
        ("excess", name, f"{name}_excess", nearest_to_zero),
        ("p", name, f"{name}_corpus_p_value", None),
    )
]

# Files that are written at once, and in the second part.
OUTPUT_NAMES = ("table.csv", "null_distributions.png", "made_world.csv", "made_world.png")

# Options of the modules for tests and the interval of an excess.
TEST: dict[str, Any] = {"p_value": "exact", "confidence_level": 0.95, "details": True}

# Draws of the mean over scenes in the picture.
N_DRAWN_MEANS = 20_000

# How a cell begins that spreadsheet programs take for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

# What the image and video metrics need beside the rest.
IMAGE_PACKAGES = ("torch", "open_clip", "av")


def score_systems(scenes: list[dict[str, Any]]) -> SystemResults:
    """Return the result of every module for every system: results[system][module]."""
    references = [scene["references"] for scene in scenes]
    results: SystemResults = {system: {} for system in scenes[0]["systems"]}
    modules = {name: load(name, **TEST) for name in TITLES}
    pairs = list(itertools.product(modules.items(), results))
    for (name, module), system in tqdm(pairs, desc="systems x metrics", unit="result"):
        predictions = [scene["systems"][system] for scene in scenes]
        results[system][name] = module.compute(predictions=predictions, references=references)
    return results


def compare_own(scenes: list[dict[str, Any]]) -> str:
    """Return the answer of `manycaps compare` on captions of the user's own."""
    if any(len(scene["references"]) < 2 for scene in scenes):
        return "Not compared with people: expected two references or more for every scene."
    names, ids = list(scenes[0]["systems"]), list(map(str, range(len(scenes))))
    columns = [[scene["systems"][name] for scene in scenes] for name in names]
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, f"{i}.jsonl") for i in range(len(names) + 1)]
        for file, rows in zip(files, [*columns, [scene["references"] for scene in scenes]], strict=True):
            file.write_text(caption_lines(ids, rows), encoding="utf-8")
        *systems, references = map(str, files)
        return compare(CompareOptions(systems, references=[references], names=names, metrics=[])).write()


def caption_lines(ids: Iterable[str], rows: Iterable[list[str]]) -> str:
    """Write captions as JSON lines."""
    return "".join(json.dumps({"id": i, "captions": row}) + "\n" for i, row in zip(ids, rows, strict=True))


def sample_files(scenes: list[dict[str, Any]]) -> dict[str, str]:
    """Return systems and people, in this order, as files that `manycaps compare` reads: names and texts."""
    columns = {name: [scene["systems"][name] for scene in scenes] for name in scenes[0]["systems"]}
    columns["references"] = [scene["references"] for scene in scenes]
    ids = [scene["scene"] for scene in scenes]
    return {f"{name}.jsonl": caption_lines(ids, rows) for name, rows in columns.items()}


def check_none_is_replaced(files: Mapping[str, str], folder: pathlib.Path) -> None:
    """Raise if a file of the sample would replace one of another content."""
    for name, text in files.items():
        path = folder / name
        if path.is_file() and path.read_bytes() != text.encode():
            raise InputOSError(
                "--output", "a folder without files of your own", quote_path(path), "Choose another folder."
            )


def compare_sample(files: Mapping[str, str], folder: pathlib.Path) -> str:
    """Write the files of the sample, run the command that the README shows on them, and return what it prints."""
    for name, text in files.items():
        write_text_atomically(folder / name, text)
    *systems, references = (str(folder / name) for name in files)
    comparison = compare(CompareOptions(systems, references=[references]))
    comparison.save(folder / "report")
    names, references = " ".join([*files][:-1]), [*files][-1]
    command = f"cd {shlex.quote(str(folder))}\nmanycaps compare {names} -r {references} --overwrite"
    return f"{command}\n\n{comparison.write()}"


def metrics_table(results: SystemResults) -> Table:
    """Return the table of the metrics of the papers."""
    columns = [("system", [Cell(system) for system in results])]
    for title, module, key, choose in COLUMNS:
        values = [by_module[module][key] for by_module in results.values()]
        best = choose(values) if choose else None
        columns.append((title, [Cell(f"{value:{'.3f' if choose else '.2g'}}", best == value) for value in values]))
    titles, cells = zip(*columns, strict=True)
    return Table("", titles, list(zip(*cells, strict=True)), align="l" + "r" * len(COLUMNS))


def write_csv(path: pathlib.Path, results: SystemResults) -> None:
    """Write the table's values, unrounded, under their result keys."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["system", *(key for _, _, key, _ in COLUMNS)])
    for system, by_module in results.items():
        # A spreadsheet program would run a name that begins like a formula.
        name = f"'{system}" if system.startswith(FORMULA_STARTS) else system
        writer.writerow([name, *(by_module[module][key] for _, module, key, _ in COLUMNS)])
    write_text_atomically(path, file.getvalue(), newline="")


def null_means(scenes: list[dict[str, Any]], system: str) -> np.ndarray:
    """Return TRM-METEOR's mean over scenes with the captions of every scene split at random: `N_DRAWN_MEANS` draws."""
    rows = {
        "predictions": [scene["systems"][system] for scene in scenes],
        "references": [s["references"] for s in scenes],
    }
    module, rng = load("trm_meteor", **TEST), np.random.default_rng(0)
    nulls = (module.examine(**rows, row=i).null_statistics for i in range(len(scenes)))
    return np.mean([rng.choice(values, N_DRAWN_MEANS) for values in nulls], axis=0)


def draw_null_distributions(path: pathlib.Path, scenes: list[dict[str, Any]], results: SystemResults) -> None:
    """Draw, for every system, the mean over scenes under random splits of their captions, and the observed mean."""
    figure = matplotlib.figure.Figure(figsize=(8, 2.3 * len(results)), layout="constrained")
    axes = figure.subplots(len(results), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (system, by_module) in zip(axes, results.items(), strict=True):
        result = by_module["trm_meteor"]
        axis.hist(null_means(scenes, system), 60, density=True, color="#b8c4d6", label="captions split at random")
        axis.axvline(result["trm_meteor"], color="#c2410c", lw=2, label="candidates and references")
        axis.set_title(
            f"{system}: TRM-METEOR {result['trm_meteor']:.3f}, excess {result['trm_meteor_excess']:.3f}, "
            f"p = {result['trm_meteor_corpus_p_value']:.2g}",
            loc="left",
            fontsize=11,
        )
        axis.set_yticks([])
        axis.spines[["top", "left", "right"]].set_visible(False)
    axes[0].legend(frameon=False, loc="upper right")
    axes[-1].set_xlabel("triangle-rank statistic, mean over scenes (lower: more alike)")
    write_atomically(path, functools.partial(figure.savefig, dpi=150))


def explain_results(results: SystemResults) -> str:
    """Explain the table: a sentence for each metric and system, since each is a separate test."""
    lines = [
        verdict(by_module[name], name, title, f"the captions of '{system}'")
        for name, title in TITLES.items()
        for system, by_module in results.items()
    ]
    highest = max(results, key=lambda system: results[system]["trm_meteor"]["meteor"])
    return "\n".join([*lines, f"Plain METEOR puts '{highest}' first."])


class SystemsReport(NamedTuple):
    """Results by system, and what they say."""

    results: Mapping[str, Any]
    # Table and sentences.
    text: str
    files: list[pathlib.Path]


def compare_systems(captions: pathlib.Path, output: pathlib.Path, *, as_files: bool = False) -> SystemsReport:
    """Score the systems of a file of captions, and write table and picture."""
    scenes = read_scenes(captions)
    files = sample_files(scenes) if as_files else {}
    check_none_is_replaced(files, output)
    make_folder(output)
    for name in (*OUTPUT_NAMES, *files):
        check_can_be_written(output / name)
    answer = compare_sample(files, output) if as_files else compare_own(scenes)
    results = score_systems(scenes)
    n_candidates = len(next(iter(scenes[0]["systems"].values())))
    text = (
        f"\n{len(scenes)} scenes, {n_candidates} candidates per scene and system, compared with people's\n\n{answer}\n"
        "\nMetrics of the papers; *: the best\n"
        "excess: value minus its mean over splits, about 0 for human captions; p: test over all scenes\n"
        f"\n{write_table(metrics_table(results), 'text')}\n\n{explain_results(results)}\n"
    )
    written = [output / "table.csv", output / "null_distributions.png"]
    write_csv(written[0], results)
    draw_null_distributions(written[1], scenes, results)
    return SystemsReport(results, text, written)


def missing_image_packages() -> list[str]:
    """Return the packages of the image and video metrics that are not installed."""
    return [name for name in IMAGE_PACKAGES if importlib.util.find_spec(name) is None]


def compare_image_metrics(output: pathlib.Path) -> SystemsReport:
    """Score scenes of the made world by the image and video metrics, and write table and picture."""
    # torch is loaded only where these are asked for.
    from manycaps.quickstart.image_metrics import (
        draw_toy_scenes,
        read_toy_scenes,
        score_toy_scenes,
        toy_table,
        write_toy_csv,
    )

    scenes = read_toy_scenes()
    scores = score_toy_scenes(scenes)
    lines = align_columns(toy_table(scores), "lrrr")
    text = "\n".join(
        ["", f"{len(scenes)} scenes of a made world with tiny-pac, a toy that knows only this world", "", *lines]
    )
    files = [output / "made_world.csv", output / "made_world.png"]
    write_toy_csv(files[0], scenes, scores)
    draw_toy_scenes(files[1], scenes, scores)
    return SystemsReport(scores, text, files)
