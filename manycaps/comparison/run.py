"""From the options of a comparison to the comparison: read, score where nothing is scored yet, and compare."""

from collections.abc import Mapping
from typing import Any

import tqdm

from manycaps.caption_tables.columns import as_columns
from manycaps.catalog import COMPARED_MODULES, SET_MODULES
from manycaps.comparison import CompareOptions
from manycaps.comparison.caption_scores import CaptionScores, check_modules, default_modules
from manycaps.comparison.compared_systems import SystemComparison, compared_systems
from manycaps.comparison.systems import Exchange, are_score_folders, clusters_of, named_systems, read_systems
from manycaps.kit.base_messages import shown_value
from manycaps.kit.base_module import check_whole_number

# Options that modules are loaded with.
MODULE_OPTIONS = ("encoder", "checkpoint", "variant", "meteor15_data", "device")

# Options that say how captions are read and scored.
OF_CAPTIONS = ("references", "columns", "images", "videos", "limit", *MODULE_OPTIONS)


def check_options(options: CompareOptions) -> None:
    """Raise if an option cannot be used, whatever the files hold.

    Raises:
        TypeError, ValueError: it cannot.
    """
    for name in ("systems", "references", "metrics", "names"):
        given = getattr(options, name)
        if isinstance(given, str) or not all(isinstance(each, str) for each in given or ()):
            raise TypeError(f'{name}: expected a list of strings, got {shown_value(given)}. Give ["a", "b"].')
    check_whole_number("--n-resamples", options.n_resamples, 1)
    check_whole_number("--seed", options.seed, 0)
    if options.limit is not None:
        check_whole_number("--limit", options.limit, 1)
    named_systems(options.systems, options.names, options.baseline)


def compared(options: CompareOptions) -> SystemComparison:
    """Compare the systems that the options name; see `manycaps.comparison.compare`."""
    sources = named_systems(options.systems, options.names, options.baseline)
    return compare_folders(sources, options) if are_score_folders(sources) else compare_files(sources, options)


def compare_folders(folders: Mapping[str, str], options: CompareOptions) -> SystemComparison:
    """Compare the scores that `manycaps score` wrote."""
    # Captions need neither pyarrow's tables nor the folders of runs.
    from manycaps.comparison.score_folders import folder_options, folder_rows, read_score_folders

    for name in OF_CAPTIONS:
        if getattr(options, name):
            raise ValueError(
                f"--{name}: expected none with folders of scores, got {getattr(options, name)!r}. Leave it out: their "
                "captions are scored already."
            )
    systems, rows = read_score_folders(folders, options.metrics)
    exchanges: list[Exchange] = []
    resampling = {"n_resamples": options.n_resamples, "seed": options.seed}
    if options.with_captions:
        rows = folder_rows(folders, [row.id for row in rows])
        modules = [module for module in systems[0].results if module in SET_MODULES]
        baseline = next(iter(folders.values()))
        clusters = clusters_of(rows, options.clusters)
        scores = CaptionScores(rows, modules, folder_options(baseline, modules), clusters=clusters, **resampling)
        with tqdm.tqdm(total=len(scores.exchanged()), desc="systems x systems", unit="result") as bar:
            exchanges = list(scores.exchanges(bar.update))
    clusters = clusters_of(rows, options.clusters)
    return compared_systems(systems, rows, clusters, exchanges, **resampling)


def compare_files(files: Mapping[str, str], options: CompareOptions) -> SystemComparison:
    """Read files of captions, score them, and compare the scores."""
    if options.with_captions:
        raise ValueError("--with-captions: expected folders of scores, got captions. Leave it out: they are read.")
    columns = as_columns(options.columns)
    rows = read_systems(files, options.references, columns, options.images, options.videos, options.limit)
    modules = options.metrics or default_modules(rows)
    check_modules(modules, rows)
    clusters = clusters_of(rows, options.clusters)
    resampling = {"n_resamples": options.n_resamples, "seed": options.seed}
    scores = CaptionScores(rows, modules, module_options(options), clusters=clusters, **resampling)
    n_results = len(files) * len(modules) + len(scores.exchanged())
    with tqdm.tqdm(total=n_results, desc="systems x metrics", unit="result") as bar:
        systems = scores.systems(bar.update)
        exchanges = list(scores.exchanges(bar.update))
    return compared_systems(systems, rows, clusters, exchanges, **resampling)


def module_options(options: CompareOptions) -> dict[str, dict[str, Any]]:
    """Return what every module is loaded with."""
    given = {name: getattr(options, name) for name in MODULE_OPTIONS if getattr(options, name) is not None}
    return {
        module: {name: value for name, value in given.items() if name in record.compare_options}
        for module, record in COMPARED_MODULES.items()
    }
