"""Compare systems, print the tables, and write the page."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import tqdm

from manycaps.caption_tables.columns import parsed_columns
from manycaps.comparison.caption_scores import CaptionScores, check_modules, default_modules
from manycaps.comparison.caption_systems import clusters_of, read_systems
from manycaps.comparison.compared_systems import Comparison, as_json, check_several, compared_systems
from manycaps.comparison.comparison_tables import all_tables, as_written, check_letters
from manycaps.comparison.comparison_text import summaries
from manycaps.comparison.folder_captions import folder_options, folder_rows
from manycaps.comparison.metrics import SET_MODULES
from manycaps.comparison.score_folders import is_score_folder, read_score_folders
from manycaps.comparison.scored_systems import Exchange
from manycaps.report.comparison_page import comparison_page
from manycaps.report.source_names import source_name
from manycaps.saved_files import check_can_be_written, check_folder_can_be_made, made_folder, write_text_atomically
from manycaps.shared_messages import shown_value
from manycaps.shared_module import check_whole_number

# Options of the command line that modules are loaded with, and which modules.
MODULE_OPTIONS = {
    "encoder": ("trm_bert", "mmd_bert", "fid_bert"),
    "checkpoint": ("pac_score", "ref_pac_score", "emscore_pac"),
    "variant": ("pac_score", "ref_pac_score", "emscore_pac"),
    "meteor15_data": ("meteor15",),
    "device": ("trm_bert", "mmd_bert", "fid_bert", "pac_score", "ref_pac_score", "emscore_pac"),
}

# Options that say how captions are read and scored.
OF_CAPTIONS = ("references", "columns", "images", "videos", "limit", *MODULE_OPTIONS)


def write_report(options: argparse.Namespace) -> None:
    """Compare the systems of a command line.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.
    """
    check_whole_number("--n-resamples", options.n_resamples, 1)
    check_whole_number("--seed", options.seed, 0)
    if options.limit is not None:
        check_whole_number("--limit", options.limit, 1)
    sources = named_systems(options.systems, options.names, options.baseline)
    outputs = [options.output / name for name in ("index.html", "comparison.json")]
    check_folder_can_be_made(options.output)
    for path in outputs if options.output.exists() else ():
        check_can_be_written(path)
    comparison = compare_folders(sources, options) if are_score_folders(sources) else compare_files(sources, options)
    page, numbers = comparison_page(comparison), as_json(comparison)
    made_folder(options.output)
    for path, text in zip(outputs, (page, json.dumps(numbers, indent=1, allow_nan=False) + "\n"), strict=True):
        write_text_atomically(path, text)
    if options.format == "json":
        print(json.dumps(numbers, indent=1, allow_nan=False))
    else:
        print("\n\n".join(as_written(table, options.format) for table in all_tables(comparison)))
    for sentence in summaries(comparison):
        print(sentence, file=sys.stderr)
    print(f"wrote {outputs[0]} and {outputs[1]}", file=sys.stderr)


def are_score_folders(sources: Mapping[str, str]) -> bool:
    """Whether the sources are folders of scores; else they are files of captions.

    Raises:
        ValueError: they are both.
    """
    scored = [source for source in sources.values() if is_score_folder(source)]
    others = [source for source in sources.values() if source not in scored]
    if scored and others:
        raise ValueError(
            f"systems: expected captions or folders of scores, got {others[0]} and {scored[0]}. Score all of them, or "
            "none."
        )
    return bool(scored)


def compare_folders(folders: Mapping[str, str], options: argparse.Namespace) -> Comparison:
    """Compare the scores that `manycaps score` wrote."""
    for name in OF_CAPTIONS:
        if getattr(options, name):
            raise ValueError(
                f"--{name}: expected none with folders of scores, got {getattr(options, name)!r}. Leave it out: their "
                "captions are scored already."
            )
    systems, rows = read_score_folders(folders, options.metrics.split(",") if options.metrics else None)
    exchanges: list[Exchange] = []
    resampling = {"n_resamples": options.n_resamples, "seed": options.seed}
    if options.with_captions:
        rows = folder_rows(folders, [row.id for row in rows])
        modules = [module for module in systems[0].results if module in SET_MODULES]
        baseline = next(iter(folders.values()))
        scores = CaptionScores(rows, modules, folder_options(baseline, modules), **resampling)
        with tqdm.tqdm(total=len(scores.exchanged()), desc="systems x systems", unit="result") as bar:
            exchanges = list(scores.exchanges(bar.update))
    clusters = clusters_of(rows, options.clusters)
    return compared_systems(systems, rows, clusters, exchanges, **resampling)


def compare_files(files: Mapping[str, str], options: argparse.Namespace) -> Comparison:
    """Read files of captions, score them, and compare the scores."""
    if options.with_captions:
        raise ValueError("--with-captions: expected folders of scores, got captions. Leave it out: they are read.")
    columns = parsed_columns(options.columns) if options.columns else None
    rows = read_systems(files, options.references, columns, options.images, options.videos, options.limit)
    modules = options.metrics.split(",") if options.metrics else default_modules(rows)
    check_modules(modules, rows)
    clusters = clusters_of(rows, options.clusters)
    resampling = {"n_resamples": options.n_resamples, "seed": options.seed}
    scores = CaptionScores(rows, modules, module_options(options), **resampling)
    n_results = len(files) * len(modules) + len(scores.exchanged())
    with tqdm.tqdm(total=n_results, desc="systems x metrics", unit="result") as bar:
        systems = scores.systems(bar.update)
        exchanges = list(scores.exchanges(bar.update))
    return compared_systems(systems, rows, clusters, exchanges, **resampling)


def named_systems(sources: Sequence[str], names: Sequence[str] | None, baseline: str | None) -> dict[str, str]:
    """Return the sources by name, the baseline first.

    Args:
        sources: of the systems.
        names: of the systems; None: those of the files.
        baseline: name of the baseline; None: the first.

    Raises:
        ValueError: there is one system, too many, another number of names, a name twice, or no such baseline.

    >>> named_systems(["runs/a.jsonl", "b.csv.gz"], None, "b")
    {'b': 'b.csv.gz', 'a': 'runs/a.jsonl'}
    """
    check_several(len(sources), sources[0])
    check_letters(len(sources))
    chosen = list(names) if names else [source_name(source) for source in sources]
    if len(chosen) != len(sources):
        raise ValueError(f"--names: expected {len(sources)} names, got {len(chosen)}. Give one for each system.")
    for name in chosen:
        if not name.strip() or not name.isprintable():
            raise ValueError(f"--names: expected names that can be printed, got {shown_value(name)}. Write others.")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"--names: expected different names, got {chosen}. Tell the systems apart with --names.")
    systems = dict(zip(chosen, sources, strict=True))
    if baseline is not None and baseline not in systems:
        raise ValueError(f"--baseline: expected one of {', '.join(chosen)}, got {baseline!r}. Check the spelling.")
    first = baseline or chosen[0]
    return {first: systems[first], **systems}


def module_options(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what every module is loaded with."""
    given = {name: getattr(options, name) for name in MODULE_OPTIONS if getattr(options, name) is not None}
    found: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        for module in MODULE_OPTIONS[name]:
            found.setdefault(module, {})[name] = value
    return found
