"""Score: every system by every metric, against people, and against the other systems."""

import pathlib
import types
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from tqdm import tqdm

from manycaps.catalog.command_options import encoder_options
from manycaps.catalog.installed_modules import load
from manycaps.catalog.modules import MODULES, SENTENCE_ENCODER, SET_MODULES
from manycaps.comparison.compare_options import CompareOptions
from manycaps.comparison.module_scores import (
    CaptionScores,
    check_modules,
    default_modules,
    module_options,
    warn_of_truncated,
)
from manycaps.comparison.parity_scores import (
    DEFAULT_LANGUAGE,
    choose_distance,
    note_of_language,
    parity_of_captions,
    row_distances,
    wording_can_be_compared,
    wording_of_captions,
)
from manycaps.comparison.read import (
    MODULE,
    WORDING,
    Exchange,
    NoDistances,
    ParityRows,
    ReadCaptions,
    ReadScores,
    ScoredSystem,
    SystemRow,
    clusters_of,
)
from manycaps.comparison.wrong_captions import SharedAnswers, WrongCaptions, shared_answers
from manycaps.kit.errors import InputError
from manycaps.kit.module import signature
from manycaps.kit.parity_tails import Distances
from manycaps.kit.parity_texts import repeated_phrases
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS
from manycaps.scoring.reductions import support_of_arrays


class SystemScores(NamedTuple):
    """Values of the rows of all systems: what scoring gives to the tests."""

    systems: Sequence[ScoredSystem]
    rows: Sequence[SystemRow]
    # A label for each row; None where all are independent.
    clusters: Sequence[Hashable] | None = None
    exchanges: Sequence[Exchange] = ()
    # By system what human_parity, or wording alone, says of its rows; empty where people are not compared.
    parity: Mapping[str, ParityRows] = types.MappingProxyType({})
    # Distance of captions, empty of wording alone, and what a reader should know of it.
    distance: str = ""
    note: str = ""
    wrong: WrongCaptions | None = None
    # How often systems say the same; empty where nobody asked.
    shared: Sequence[SharedAnswers] = ()
    # What a reader should know of the files.
    file_notes: Sequence[str] = ()


def score_captions(read: ReadCaptions, options: CompareOptions, embeddings: pathlib.Path | None = None) -> SystemScores:
    """Score the captions of all systems; the folder `embeddings` keeps their vectors."""
    rows, media = read.rows, read.media
    modules = [module for module in options.metrics or () if module != MODULE]
    if options.metrics is None:
        modules = default_modules(rows, media)
    check_modules(modules, rows)
    distance, note = "", ""
    if all(len(row.references or ()) > 1 for row in rows):
        distance, note = choose_distance(options.distance, options.encoder)
    clusters = clusters_of(rows, options.clusters)
    people = [MODULE] if distance else [WORDING] * wording_can_be_compared(rows, clusters)
    given = module_options(options, [*modules, *people], distance)
    if embeddings is None:
        return _score(read, modules, options, given, clusters, distance, note)
    if distance != "bert" and all(MODULES[module].network != SENTENCE_ENCODER for module in modules):
        got = f"--distance {distance} and {', '.join(modules)}" if distance else ", ".join(modules)
        fix = "Give --distance bert, or leave --cache out."
        raise InputError("--cache", "a distance or a metric that embeds captions", got, fix)
    from manycaps.comparison.kept_embeddings import kept_embeddings

    with kept_embeddings(embeddings, {**ENCODER_DEFAULTS, **encoder_options(options)}):
        return _score(read, modules, options, given, clusters, distance, note)


def _score(
    read: ReadCaptions,
    modules: Sequence[str],
    options: CompareOptions,
    given: Mapping[str, dict[str, Any]],
    clusters: Sequence[Hashable] | None,
    distance: str,
    note: str,
) -> SystemScores:
    rows, media = read.rows, read.media
    names = list(rows[0].captions)
    # A column that nobody asked for is not read, not even for the page.
    rows = rows if "images" in media else [row._replace(image=None) for row in rows]
    rows = rows if "videos" in media else [row._replace(video=None) for row in rows]
    tests: dict[str, Any] = {"clusters": clusters, "n_resamples": options.n_resamples, "seed": options.seed}
    scores = CaptionScores(rows, modules, given, **tests)
    parity: Mapping[str, ParityRows] = {}
    parity_results: dict[str, dict[str, Any]] = {}
    shared, wrong = list[SharedAnswers](), None
    if distance:
        note = note or note_of_language(rows, distance, options.encoder)
        if distance == "cider" and len(rows) < 2:
            raise InputError("--distance cider", "2 rows to count words in", "1", "Add rows, or take another.")
        parity_scores = parity_of_captions(rows, {"distance": distance, "clusters": clusters, **given[MODULE]})
        parity, wrong = parity_scores.rows, parity_scores.wrong
        if options.full and len(names) > 1:
            shared = shared_answers(rows, parity_scores.distances_of, clusters)
        parity_results = {name: {MODULE: result} for name, result in parity_scores.results.items()}
    elif WORDING in given:
        parity, made = wording_of_captions(rows, {"clusters": clusters, **given[WORDING]})
        parity_results = {name: {WORDING: {"signature": made}} for name in parity}
    n_results = len(names) * len(modules) + (len(scores.list_exchanges()) if options.full else 0)
    with tqdm(total=n_results, desc="systems x metrics", unit="result") as bar:
        systems = scores.systems(bar.update)
        exchanges = list(scores.exchanges(bar.update)) if options.full else []
    sampling = {name: {"sample": {"signature": signature("sample", **own)}} for name, own in read.sampling.items()}
    systems = [
        system._replace(
            results={**sampling.get(system.name, {}), **parity_results.get(system.name, {}), **system.results}
        )
        for system in systems
    ]
    warn_of_truncated(systems, options)
    return SystemScores(systems, rows, clusters, exchanges, parity, distance, note, wrong, shared, read.notes)


def score_further(read: ReadScores, options: CompareOptions) -> SystemScores:
    """Take the scores out of folders, and add what takes their captions: systems as sets, and what they share."""
    systems, rows, clusters, given = read
    exchanges: list[Exchange] = []
    has_captions = bool(rows[0].captions)
    if has_captions and options.full:
        modules = [module for module in systems[0].results if module in SET_MODULES]
        tests: dict[str, Any] = {"clusters": clusters, "n_resamples": options.n_resamples, "seed": options.seed}
        scores = CaptionScores(rows, modules, given, **tests)
        with tqdm(total=len(scores.list_exchanges()), desc="systems x systems", unit="result") as bar:
            exchanges = list(scores.exchanges(bar.update))
    parity, distance = dict[str, ParityRows](), ""
    shared: Sequence[SharedAnswers] = ()
    if MODULE in systems[0].results:
        line = str(systems[0].results[MODULE]["signature"])
        distance = line.partition("|distance:")[2].partition("|")[0]
        language = given.get(MODULE, {}).get("language", DEFAULT_LANGUAGE)
        parity = {
            system.name: _stored_parity(system, system.distances, clusters, language)
            for system in systems
            if system.distances
        }
        has_meaning = not any(isinstance(parity_rows.distances, NoDistances) for parity_rows in parity.values())
        if has_captions and options.full and len(systems) > 1 and has_meaning:
            distances_of = row_distances(load(MODULE, **given[MODULE]), [row.references or [] for row in rows])
            shared = shared_answers(rows, distances_of, clusters)
    return SystemScores(systems, rows, clusters, exchanges, parity, distance, shared=shared)


def _stored_parity(
    system: ScoredSystem, distances: Distances, clusters: Sequence[Hashable] | None, language: str
) -> ParityRows:
    """What a folder of scores knows of the rows of a system."""
    words, support = None, None
    if (sentences := system.sentences) is not None:
        words = sentences.words(clusters)
        if len(sentences.arrays["support_sizes"]):
            support = support_of_arrays(sentences.sizes, sentences.arrays, distances)
    return ParityRows(
        system.values,
        distances,
        system.wording,
        system.phrases,
        words,
        support,
        repeated=[] if words is None else repeated_phrases(words.sentences),
        language=language,
    )
