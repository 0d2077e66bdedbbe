"""From the options of `manycaps decoding` to the answer: sample what is missing, compare, and choose."""

import contextlib
import json
import math
import pathlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog.command_options import options_of
from manycaps.catalog.module_options import DECIDED, assign_module_options, read_module_options
from manycaps.comparison.parity import systems_against_people
from manycaps.comparison.parity_pairs import DRAWS_A_PAIR, compare_pairs
from manycaps.comparison.parity_scores import choose_distance, parity_of_captions
from manycaps.comparison.read import (
    MODULE,
    PEOPLE,
    ParityRows,
    SystemRow,
    check_system_names,
    clusters_of,
    read_systems,
)
from manycaps.comparison.system_parity import ROUNDING, SystemParity
from manycaps.diversity.rows.ordered import token_metric
from manycaps.files.caption_tables import CaptionRow, good_rows, open_source
from manycaps.files.caption_tables.columns import as_columns
from manycaps.files.caption_tables.files import source_name
from manycaps.files.caption_tables.ids import check_ids_meet
from manycaps.files.sampling_settings import SETTINGS, sampling_settings
from manycaps.files.saved_files import make_folder, write_text_atomically
from manycaps.kit.errors import InputError
from manycaps.kit.parity_gaps import LEVEL
from manycaps.kit.words_tokenizers import tokenize_rows
from manycaps.sampling.captions_file import NOTHING
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.items import Item
from manycaps.sampling.run import Sampler, items_of, load_sampler, write_samples

from .decoding_options import DecodingOptions
from .nearest import (
    LEAST_ROWS,
    Half,
    NearestSetting,
    SettingsAgainstPeople,
    check_enough_rows,
    check_two_captions,
    most_like_people,
    nearest_setting,
    p_values_against_best,
)

# Plain metrics of the page.
PLAIN = {"meteor": "METEOR", "cider_d": "CIDEr-D"}

# Share of a budget that tests the setting that was chosen with the rest.
TEST_SHARE = 0.25

# Names of the files that are written.
OUTPUT_NAMES = ("index.html", "decoding.json")

# An option that this command has not, and the one that has it.
COMMON_ROWS = "--common-rows", "manycaps compare --common-rows"

# Rows by setting.
RowsOf = Mapping[str, Sequence[SystemRow]]


class ComparedSettings(SettingsAgainstPeople):
    """Settings beside people, which a notebook shows as the page does."""

    def _repr_html_(self) -> str:
        """Return the answer, as a notebook shows it."""
        from .page import decoding_sections

        return decoding_sections(self)

    def save(self, folder: str | pathlib.Path) -> None:
        """Write the page and the numbers, as `index.html` and `decoding.json`.

        Raises:
            OSError: they cannot be written.
        """
        from .page import decoding_page

        texts = decoding_page(self), json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"
        make_folder(pathlib.Path(folder))
        # The page, of a common name, is last: the numbers beside it say that it is ours.
        for name, text in reversed(list(zip(OUTPUT_NAMES, texts, strict=True))):
            write_text_atomically(pathlib.Path(folder) / name, text)


class Judge:
    """Human parity of rows, in one distance; and its tests."""

    def __init__(self, options: DecodingOptions):
        self.distance, self.note = choose_distance(options.distance, options.encoder)
        self._loaded = {"distance": self.distance, "clusters": None}
        self._loaded |= {} if options.encoder is None else {"encoder": options.encoder}
        self._loaded |= assign_module_options(read_module_options(options.options), [MODULE], DECIDED)[MODULE]
        self.signature = ""
        # Of the tests of pairs.
        self.tests: dict[str, Any] = {
            "rounding": ROUNDING[self.distance],
            "n_resamples": options.n_resamples,
            "seed": options.seed,
        }

    def parity(self, rows: RowsOf) -> dict[str, ParityRows]:
        """Compare the rows of every setting with people."""
        rows_of_setting = {}
        for name, setting_rows in rows.items():
            loaded = {**self._loaded, "clusters": clusters_of(setting_rows, None)}
            scores = parity_of_captions(setting_rows, loaded, stand_in=NOTHING)
            rows_of_setting[name], self.signature = scores.rows[name], str(scores.results[name]["signature"])
        return rows_of_setting


def decoding(options: DecodingOptions) -> ComparedSettings:
    """Find the setting of decoding with the most human-like captions.

    Args:
        options: settings of a model, or files of samples; and references.

    Returns:
        The settings, which a notebook shows as on the page. `to_dict()` has every number, and `save(folder)` writes
        the page.

    Raises:
        TypeError, ValueError, OSError: a file or an option cannot be used.
        ImportError: a package is missing.
    """
    judge = Judge(options)
    if options.sample is None:
        rows = _rows_of_files(options)
        # How each file was decoded, where that is beside it.
        beside = {name: sampling_settings(file) for name, file in zip(rows, options.files, strict=True)}
        settings = {name: None if given is None else _setting_beside(name, given) for name, given in beside.items()}
        nearest = _nearest_of_all_rows(rows, judge)
    else:
        samples, settings = Samples(options), {setting.name: setting for setting in options.settings}
        if options.budget is None:
            rows = samples.rows(settings, range(len(samples.items)), "")
            nearest = _nearest_of_all_rows(rows, judge)
        else:
            nearest, rows = within_budget(samples, options.budget, judge)
    plain = plain_means(rows)
    return ComparedSettings(
        nearest=nearest,
        settings=settings,
        plain=plain,
        distance=judge.distance,
        note=judge.note,
        signature=judge.signature,
    )


def _nearest_of_all_rows(rows: RowsOf, judge: Judge) -> NearestSetting:
    return nearest_setting(judge.parity(rows), clusters_of(next(iter(rows.values())), None), **judge.tests)


def _setting_beside(name: str, given: Mapping[str, Any]) -> Setting:
    """The setting in the file beside one of samples."""
    try:
        return options_of(given, Setting)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name}{SETTINGS}", "settings of `manycaps sample`", f"others ({error})", "Delete it, or sample again."
        ) from error


def _rows_of_files(options: DecodingOptions) -> dict[str, list[SystemRow]]:
    """Read samples and references."""
    names = [source_name(file) for file in options.files]
    if len(set(names)) < len(names):
        raise InputError("settings", "files of different names", ", ".join(names), "Rename one.")
    check_system_names(names, "settings", "Rename the file.")
    files = dict(zip(names, options.files, strict=True))
    with _reference_split():
        rows, notes = read_systems(
            files, options.references, as_columns(options.reference_columns), split=options.reference_split
        )
    for note in notes:
        warnings.warn(note.replace(*COMMON_ROWS), stacklevel=2)
    return {name: [row._replace(captions={name: row.captions[name]}) for row in rows] for name in names}


@contextlib.contextmanager
def _reference_split() -> Iterator[None]:
    """Let messages name the options that there are: --split of this command chooses the rows to sample for."""
    try:
        yield
    except InputError as error:
        named = error.replace("--split", "--reference-split")
        raise named.replace(*COMMON_ROWS) from error


class Samples:
    """Samples of a model for the rows that have references, made when they are needed."""

    def __init__(self, options: DecodingOptions):
        assert options.sample is not None  # the caller checked it
        self._options, self._sample = options, options.sample
        with _reference_split():
            columns = as_columns(options.reference_columns)
            source = open_source(options.references, (), columns, either=True, split=options.reference_split)
            self._people: dict[str, CaptionRow] = {row.id: row for row in good_rows(source.rows())}
        items = items_of(self._sample)
        ids = [item.id for item in items]
        fix = "Name the same images; --stems leaves out the endings of files."
        check_ids_meet("--references", self._people, "the source", ids, fix)
        self.items: list[Item] = [item for item in items if len(self._references(item.id)) > 1]
        if not self.items:
            raise InputError("--references", f"two captions or more with ids such as {items[0].id!r}", "none", fix)
        left_out = [item.id for item in items if len(self._references(item.id)) < 2]
        if left_out:
            first = f"id {left_out[0]!r}{', ...' * (len(left_out) > 1)}"
            warnings.warn(
                f"{len(left_out):,} of {len(items):,} rows have fewer than two references ({first}): they are left "
                "out.",
                stacklevel=2,
            )
        check_enough_rows(len(self.items) // 2, len(self.items), len(self.items))
        self.settings = {setting.name: setting for setting in options.settings}
        self._sampler: Sampler = load_sampler(self._sample, self.items, options.settings)

    def rows(self, names: Iterable[str], chosen: Sequence[int], suffix: str) -> dict[str, list[SystemRow]]:
        """Return rows of settings, without those that one of them could not sample.

        What is not in the file of a setting yet is sampled.
        """
        items, captions = [self.items[i] for i in chosen], dict[str, dict[str, list[str]]]()
        for name in names:
            path = make_folder(self._options.output / "samples") / f"{name}{suffix}.jsonl"
            write_samples(self._sampler, items, self._sample, self.settings[name], path)
            with path.open(encoding="utf-8", newline="\n") as lines:
                captions[name] = {row["id"]: row["captions"] for row in map(json.loads, lines)}
        common = [item.id for item in items if all(item.id in by_id for by_id in captions.values())]
        return {
            name: [SystemRow(row, {name: by_id[row]}, self._references(row)) for row in common]
            for name, by_id in captions.items()
        }

    def _references(self, name: str) -> list[str]:
        return self._people[name].people if name in self._people else []


class Plan(NamedTuple):
    """Rows of a run within a budget."""

    # Indices of the items that choose, and of those that test.
    choosing: Sequence[int]
    testing: Sequence[int]
    # Rows of all settings together, in a round.
    n_a_round: int
    n_rounds: int


def plan_of(n_items: int, n_settings: int, budget: int, seed: int) -> Plan:
    """Share a budget out: a quarter tests the setting that is chosen, the rest chooses it in rounds."""
    n_rounds = max(1, math.ceil(math.log2(n_settings)))
    n_a_round = int(budget * (1 - TEST_SHARE)) // n_rounds
    least = math.ceil(n_rounds * n_settings * LEAST_ROWS / (1 - TEST_SHARE)) + 1
    if n_a_round < n_settings * LEAST_ROWS or budget * TEST_SHARE < LEAST_ROWS:
        raise InputError(
            "--budget", f"at least {least} rows for {n_settings} settings", budget, "Give more, or fewer settings."
        )
    order = np.random.default_rng(seed).permutation(n_items).tolist()
    n_testing = min(int(budget * TEST_SHARE), n_items // 2)
    return Plan(order[n_testing:], order[:n_testing], n_a_round, n_rounds)


def within_budget(samples: Samples, budget: int, judge: Judge) -> tuple[NearestSetting, dict[str, list[SystemRow]]]:
    """Choose in rounds, and drop the settings that are clearly worse after each (successive halving).

    Each round gives the remaining settings equally many more rows. A setting is dropped where p of its pair with the
    best one, after Holm's rule over all pairs, and its own p beside people are both below 5% / rounds: the chance that
    a setting of people's is ever dropped is at most 5%.
    """
    seed = judge.tests["seed"]
    plan = plan_of(len(samples.items), len(samples.settings), budget, seed)
    # After Holm's rule the smallest p-value is small enough to drop a setting.
    n_draws = DRAWS_A_PAIR * math.comb(len(samples.settings), 2) * plan.n_rounds
    tests = {**judge.tests, "n_resamples": max(judge.tests["n_resamples"], n_draws)}
    rows: dict[str, list[SystemRow]] = {name: [] for name in samples.settings}
    left, systems = list(samples.settings), dict[str, SystemParity]()
    p_values = dict[str, float]()
    start = 0
    for k in range(plan.n_rounds):
        chosen = plan.choosing[start : start + plan.n_a_round // len(left)]
        start += len(chosen)
        for name, more in samples.rows(left, chosen, f".{k + 1}").items() if chosen else ():
            rows[name] += more
        parity, clusters = judge.parity({name: rows[name] for name in left}), clusters_of(rows[left[0]], None)
        check_two_captions(parity)
        round_systems = systems_against_people(parity, clusters, seed)
        systems |= {system.name: system for system in round_systems}
        p_values = p_values_against_best(round_systems, compare_pairs(round_systems, clusters, margin=None, **tests))
        own = {system.name: system.result["human_parity_p_value"] for system in round_systems}
        if k + 1 < plan.n_rounds:
            level = LEVEL / plan.n_rounds
            left = [name for name in left if p_values[name] > level or not own[name] <= level]
    best = most_like_people(systems[name] for name in p_values)
    test = samples.rows([best], plan.testing, ".test")[best]
    (tested,) = systems_against_people(judge.parity({best: test}), clusters_of(test, None), seed)
    half = Half(setting=best, n_chosen=len(rows[best]), result=tested.result)
    return NearestSetting(systems=systems, p_values=p_values, halves=[half]), rows


def plain_means(rows: RowsOf) -> dict[str, dict[str, float]]:
    """Return the mean of each plain metric, by setting and of people: every caption against the (other) human ones."""
    means: dict[str, dict[str, float]] = {}
    for name, setting_rows in rows.items():
        table = [CaptionRow("", 0, row.id, None, list(row.references or []), None, None) for row in setting_rows]
        n_people = [len(row.references or []) for row in setting_rows]
        tokens = tokenize_rows([[*(row.references or []), *row.captions[name]] for row in setting_rows], "ptb")
        means[name] = {}
        for metric in PLAIN:
            scores = token_metric(metric, table)(tokens, n_people)
            pairs = list(zip(scores, n_people, strict=True))
            means[name][metric] = float(np.mean([own[n:].mean() for own, n in pairs]))
            means.setdefault(PEOPLE, {}).setdefault(metric, float(np.mean([own[:n].mean() for own, n in pairs])))
    return means
