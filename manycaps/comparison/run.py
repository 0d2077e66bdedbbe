"""From the options of a comparison to the comparison: read, score where nothing is scored yet, and compare."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import tqdm

from manycaps.caption_tables.columns import as_columns
from manycaps.catalog import CLIP, COMPARED_MODULES, ENCODER_OPTIONS, MODULES, SET_MODULES, modules_with
from manycaps.command_options import encoder_options
from manycaps.comparison.compare_options import CompareOptions
from manycaps.comparison.read import (
    MODULE,
    Exchange,
    ParityRows,
    SystemRow,
    are_score_folders,
    clusters_of,
    named_systems,
    read_systems,
    with_drawn_people,
)
from manycaps.comparison.render import SystemComparison, render
from manycaps.comparison.score import (
    CaptionScores,
    RowDistances,
    SharedAnswers,
    SystemScores,
    can_be_compared,
    check_modules,
    chosen_distance,
    default_modules,
    needed_media,
    note_of_language,
    parity_of_captions,
    row_distances,
    shared_answers,
    wording_can_be_compared,
    wording_of_captions,
)
from manycaps.comparison.test import compare_scores
from manycaps.installed_modules import load, module_class, progress_bars
from manycaps.kit.base import InputError, signature
from manycaps.kit.embeddings import ENCODER_DEFAULTS, OF_SENTENCES, warn_of_unread, without_warning_of_unread
from manycaps.sampling.captions_file import sampling_settings

# Options that modules are loaded with.
MODULE_OPTIONS = (
    *("tokenizer", "language_model", "language", *ENCODER_OPTIONS),
    *("checkpoint", "variant", "meteor15_data", "best_of"),
)

# Those of them that the answer beside people takes, too.
OF_PARITY = ("tokenizer", "language_model", *ENCODER_OPTIONS, "meteor15_data")

# Those of its wording, where wording alone is compared.
OF_WORDING = ("tokenizer", "language_model")

# Options that say how captions are read and scored.
OF_CAPTIONS = (
    *("references", "columns", "split", "common_rows", "images", "videos", "limit", "people", "distance"),
    *MODULE_OPTIONS,
)


def compare(options: CompareOptions) -> SystemComparison:
    """Compare captioning systems: which one has fewer faults, and how does each differ from people?

    Every two systems are compared row by row, and the distribution metrics compare each system with people; see
    docs/compare.md. Progress is shown on standard error.

    Args:
        options: systems, references, metrics and the rest.

    Returns:
        The comparison, which a notebook shows as tables. `to_dict()` has every number, and `save(folder)` writes the
        page.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.

    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> def write(name, key, *rows):
    ...     _ = (folder / name).write_text(json.dumps([{"id": i, key: row} for i, row in enumerate(rows)]))
    ...     return str(folder / name)
    >>> people = write("people.json", "references", ["a dog runs", "a brown dog"], ["two cats", "cats sleep"])
    >>> first = write("first.json", "captions", ["a brown dog runs"], ["two cats sleep"])
    >>> second = write("second.json", "captions", ["a man"], ["two men sleep"])
    >>> comparison = compare(CompareOptions([first, second], references=[people], metrics=["trm_cider"]))
    >>> comparison.to_dict()["metrics"]["cider_d"]["pairs"][0]["test"]["n_smaller"]
    2
    >>> comparison.save(folder / "report")
    >>> sorted(path.name for path in (folder / "report").iterdir())
    ['comparison.json', 'index.html']
    """
    sources = named_systems(options.systems, options.names, options.baseline)
    with progress_bars(shown=False):  # of modules, beside those of the comparison
        score = read_scores if are_score_folders(sources) else score_files
        scores = score(sources, options)
        result = compare_scores(scores, margin=options.margin, n_resamples=options.n_resamples, seed=options.seed)
        return render(result)


def read_scores(folders: Mapping[str, str], options: CompareOptions) -> SystemScores:
    """Read the scores that `manycaps score` wrote."""
    # Captions need neither pyarrow's tables nor the folders of runs.
    from manycaps.comparison.score_folders import folder_options, folder_rows, read_score_folders

    for name in OF_CAPTIONS:
        if getattr(options, name):
            raise InputError(
                _flag(name),
                "none with folders of scores",
                f"{getattr(options, name)!r}",
                "Leave it out: their captions are scored already.",
            )
    systems, rows = read_score_folders(folders, options.metrics)
    if options.with_captions:
        rows = folder_rows(folders, [row.id for row in rows])
    clusters = clusters_of(rows, options.clusters)
    exchanges: list[Exchange] = []
    if options.with_captions and options.full:
        modules = [module for module in systems[0].results if module in SET_MODULES]
        given = folder_options(next(iter(folders.values())), modules)
        tests: dict[str, Any] = {"clusters": clusters, "n_resamples": options.n_resamples, "seed": options.seed}
        scores = CaptionScores(rows, modules, given, **tests)
        with tqdm.tqdm(total=len(scores.exchanged()), desc="systems x systems", unit="result") as bar:
            exchanges = list(scores.exchanges(bar.update))
    parity, distance = dict[str, ParityRows](), ""
    shared: Sequence[SharedAnswers] = ()
    if MODULE in systems[0].results:
        line = str(systems[0].results[MODULE]["signature"])
        distance = line.partition("|distance:")[2].partition("|")[0]
        parity = {
            system.name: ParityRows(system.values, system.distances, system.wording, system.phrases)
            for system in systems
            if system.distances
        }
        if options.with_captions and options.full and len(folders) > 1:
            parity_results: dict[str, Any] = folder_options(next(iter(folders.values())), [MODULE])[MODULE]
            module = load(MODULE, **parity_results)
            distances_of = row_distances(module, [row.references or [] for row in rows])
            shared = count_shared_answers(rows, distances_of, clusters)
    return SystemScores(systems, rows, clusters, exchanges, parity, distance, shared=shared)


def score_files(files: Mapping[str, str], options: CompareOptions) -> SystemScores:
    """Read files of captions, and score them."""
    if options.with_captions:
        raise InputError("--with-captions", "folders of scores", "captions", "Leave it out: they are read.")
    columns = as_columns(options.columns)
    folders = {"images": options.images, "videos": options.videos}
    media = {name for name, folder in folders.items() if folder} | set(needed_media(options.metrics or ()))
    rows, file_notes = read_systems(
        files,
        options.references,
        columns,
        **folders,
        limit=options.limit,
        needed=media,
        common_rows=options.common_rows,
        split=options.split,
        seed=options.seed,
        tokenizer=options.tokenizer or "ptb",
    )
    if options.people is not None:
        rows = with_drawn_people(rows, options.people, options.seed)
    names = list(rows[0].captions)
    modules = [module for module in options.metrics or () if module != MODULE]
    if options.metrics is None:
        modules = default_modules(rows, media)
    check_modules(modules, rows)
    distance, note = "", ""
    if can_be_compared(rows):
        distance, note = chosen_distance(options.distance, options.encoder)
    check_used(options, modules, distance)
    clusters = clusters_of(rows, options.clusters)
    # A column that nobody asked for is not read, not even for the page.
    rows = rows if "images" in media else [row._replace(image=None) for row in rows]
    rows = rows if "videos" in media else [row._replace(video=None) for row in rows]
    tests: dict[str, Any] = {"clusters": clusters, "n_resamples": options.n_resamples, "seed": options.seed}
    scores = CaptionScores(rows, modules, module_options(options, modules), **tests)
    parity: Mapping[str, ParityRows] = {}
    parity_results: dict[str, dict[str, Any]] = {}
    shared, wrong = list[SharedAnswers](), None
    if distance:
        note = note or note_of_language(rows, distance, options.encoder)
        if distance == "cider" and len(rows) < 2:
            raise InputError("--distance cider", "2 rows to count words in", "1", "Add rows, or take another.")
        with without_warning_of_unread():
            given = {"distance": distance, "clusters": clusters} | parity_options(options, distance)
            parity_scores = parity_of_captions(rows, given)
        parity, wrong = parity_scores.rows, parity_scores.wrong
        if options.full and len(names) > 1:
            shared = count_shared_answers(rows, parity_scores.distances_of, clusters)
        parity_results = {name: {MODULE: result} for name, result in parity_scores.results.items()}
    elif wording_can_be_compared(rows, clusters):
        given = {name: value for name, value in _given(options).items() if name in OF_WORDING}
        parity, made = wording_of_captions(rows, {"clusters": clusters, **given})
        parity_results = {name: {"wording": {"signature": made}} for name in parity}
    n_results = len(names) * len(modules) + (len(scores.exchanged()) if options.full else 0)
    with tqdm.tqdm(total=n_results, desc="systems x metrics", unit="result") as bar:
        systems = scores.systems(bar.update)
        exchanges = list(scores.exchanges(bar.update)) if options.full else []
    sampling = {name: _sampling(file) for name, file in files.items()}
    systems = [
        system._replace(
            results={**sampling.get(system.name, {}), **parity_results.get(system.name, {}), **system.results}
        )
        for system in systems
    ]
    networks = {
        MODULES[module].network
        for system in systems
        for module, result in system.results.items()
        if module in MODULES and result.get("n_truncated")
    }
    if networks - {CLIP}:
        warn_of_unread({**ENCODER_DEFAULTS, **encoder_options(options)}[OF_SENTENCES])
    if CLIP in networks:
        warnings.warn(
            "checkpoint: expected captions that the CLIP reads to their end, got longer ones; n_truncated in the JSON "
            "says how many. Read them in windows by `manycaps score --option long_captions=window`.",
            stacklevel=2,
        )
    return SystemScores(systems, rows, clusters, exchanges, parity, distance, note, wrong, shared, file_notes)


def count_shared_answers(
    rows: Sequence[SystemRow], distances_of: RowDistances, clusters: Sequence[str] | None
) -> list[SharedAnswers]:
    """Count how often every two systems say the same."""
    with tqdm.tqdm(total=len(rows), desc="systems that say the same", unit="row", delay=1) as bar:
        return shared_answers(rows, distances_of, clusters, bar.update)


def _sampling(file: str) -> dict[str, dict[str, Any]]:
    """How the captions of a file were sampled, where `manycaps sample` wrote that beside them."""
    settings = sampling_settings(file)
    return {} if settings is None else {"sample": {"signature": signature("sample", **settings)}}


def module_options(options: CompareOptions, modules: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what every module is loaded with: the options that have an effect there."""
    given = _given(options)
    taken_options = {module: COMPARED_MODULES[module].compare_options for module in modules}
    return {
        module: module_class(module).effective_options({name: given[name] for name in given if name in taken})
        for module, taken in taken_options.items()
    }


def parity_options(options: CompareOptions, distance: str) -> dict[str, Any]:
    """Return what human_parity is loaded with beside its distance, none where people are not compared."""
    given = {name: value for name, value in _given(options).items() if name in OF_PARITY and distance}
    effective = module_class(MODULE).effective_options({**given, "distance": distance or "bert"})
    return {name: value for name, value in effective.items() if name in given}


def check_used(options: CompareOptions, modules: Sequence[str], distance: str) -> None:
    """Raise a ValueError if an option of modules is given that has an effect in none of those that run."""
    used = {name for module_options_used in module_options(options, modules).values() for name in module_options_used}
    used |= parity_options(options, distance).keys()
    for name in _given(options).keys() - used:
        if name in OF_PARITY and distance:
            raise InputError(
                _flag(name),
                "a distance or a metric that takes it",
                f"--distance {distance} and {', '.join(modules) or 'no metric'}",
                "Give others, or leave the option out.",
            )
        raise InputError(
            _flag(name),
            f"one of {modules_with(name)} among the metrics",
            ", ".join(modules) or "none",
            "Add it to -m, or leave the option out.",
        )


def _given(options: CompareOptions) -> dict[str, Any]:
    """The options of modules that were given."""
    return {name: getattr(options, name) for name in MODULE_OPTIONS if getattr(options, name) not in (None, False)}


def _flag(name: str) -> str:
    """An option as the command line has it."""
    return f"--{name.replace('_', '-')}"
