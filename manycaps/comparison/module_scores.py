"""Systems scored by modules: which modules run, what each needs and takes, and the numbers of every row."""

import functools
import itertools
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from manycaps.catalog.command_options import encoder_options, option_flag
from manycaps.catalog.installed_modules import advice_for, load, module_class
from manycaps.catalog.module_options import DECIDED, assign_module_options, read_module_options
from manycaps.catalog.modules import CLIP, COMPARED_MODULES, MODULES, SET_MODULES
from manycaps.comparison.compare_options import MODEL_OPTIONS, CompareOptions
from manycaps.comparison.read import MODULE, Exchange, ScoredSystem, SystemRow
from manycaps.kit.errors import InputError
from manycaps.kit.ngrams import document_frequencies, warn_of_equal_documents
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL
from manycaps.kit.rows import words_of_unknown, words_of_unread
from manycaps.kit.sets_module import CAPTION_COLUMNS, N_RESAMPLES, text_counts
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS
from manycaps.kit.words_tokenizers import tokenize_rows

# z below which two systems are nearer to each other than random splits of both are, and the share of captions that both
# have of a row: they share captions, which random splits do not, so that p may be anything.
MOST_ALIKE, MOST_SHARED = -3.0, 0.5


# Splits of a row that are enumerated; where a row has more, as many as `N_RESAMPLES` are drawn.
MOST_SPLITS = 20_000


def default_modules(rows: Sequence[SystemRow], media: Collection[str] = ()) -> list[str]:
    """Return the modules for what the rows have: words, and the images or videos in a given folder.

    A column of images or videos alone runs no network. Metrics of sets take three captions in every row; where one has
    fewer, `coco_caption` takes their place. Rows with captions alone raise a ValueError.

    >>> rows = [SystemRow("1", {}, references=["a dog"], image="1.jpg")]
    >>> default_modules(rows), default_modules(rows, ["images"])[2:]
    (['trm_meteor', 'trm_cider'], ['pac_score', 'ref_pac_score'])
    >>> default_modules([SystemRow("1", {"a": ["a cat"]}, references=["a dog"])])
    ['coco_caption']
    """
    there = _columns_of(rows) & {"references", *media}
    modules = [
        module
        for module, record in COMPARED_MODULES.items()
        if record.runs_by_default and there.issuperset(_needed_columns(module))
    ]
    if any(len(captions) + len(row.references or ()) < 3 for row in rows for captions in row.captions.values()):
        set_modules = [module for module in modules if module in SET_MODULES]
        modules = [
            *(["coco_caption"] if set_modules else []),
            *(module for module in modules if module not in set_modules),
        ]
    if not modules:
        expected = "references, images or videos to compare captions by"
        raise InputError("systems", expected, "captions alone", "Add -r, --images or --videos.")
    return modules


def check_module_names(modules: Sequence[str]) -> None:
    """Raise a ValueError unless these are modules that systems are compared by; human_parity always is one."""
    for module in modules:
        if module not in COMPARED_MODULES and module != MODULE:
            known = ", ".join(COMPARED_MODULES)
            advice = MODULES[module].not_compared if module in MODULES else advice_for(module)
            raise InputError("--metrics", f"some of {known}", f"{module!r}", advice)


def check_modules(modules: Sequence[str], rows: Sequence[SystemRow]) -> None:
    """Raise a ValueError unless the modules are known, and the rows have the columns that they need."""
    there = _columns_of(rows)
    check_module_names(modules)
    for module in modules:
        for needed in _needed_columns(module):
            if needed not in there:
                how = "-r" if needed == "references" else f"--{needed}"
                lacking = next((row.id for row in rows if _value(row, needed) is None), "")
                fix = f"Add {how}, or leave {module} out of --metrics."
                raise InputError(module, f"{needed} of every row", f"none for the id {lacking!r}", fix)


def _needed_columns(module: str) -> list[str]:
    """Columns that a module needs beside the captions."""
    return [column for column in MODULES[module].columns if column != "predictions"]


def _columns_of(rows: Sequence[SystemRow]) -> set[str]:
    return {name for name in ("references", "images", "videos") if all(_value(row, name) is not None for row in rows)}


def _value(row: SystemRow, column: str) -> Any:
    return {"references": row.references, "images": row.image, "videos": row.video}[column]


class CaptionScores:
    """Scores captions, loading each module once."""

    def __init__(
        self,
        rows: Sequence[SystemRow],
        modules: Sequence[str],
        options: Mapping[str, Mapping[str, Any]],
        *,
        clusters: Sequence[Hashable] | None = None,
        n_resamples: int = N_RESAMPLES,
        seed: int = 0,
    ):
        """Load the modules, each with its options; `n_resamples` and `seed` go to their tests."""
        self._rows, self._clusters, self._seed, self._n_resamples = rows, clusters, seed, n_resamples
        self._modules = {module: load(module, **options.get(module, {})) for module in modules}
        self._options = options
        for system in rows[0].captions:
            self._check_limits(system)

    def _check_limits(self, system: str) -> None:
        """Raise before any work if the rows of a system are not what a module compares."""
        predictions = [row.captions[system] for row in self._rows]
        for name, module in self._modules.items():
            has_table = self._options.get(name, {}).get("document_frequency") is not None
            if MODULES[name].counts_documents and not has_table and len(self._rows) < 2:
                raise InputError(
                    name, "at least 2 rows to count document frequencies in", "1", f"Add rows, or leave {name} out: -m."
                )
            if name not in SET_MODULES:
                continue
            sizes = text_counts(predictions, [row.references or [] for row in self._rows])
            try:
                module.check_sizes(sizes, CAPTION_COLUMNS, module.call_options(self._test_options(sizes)))
            except InputError as error:
                # What is to be done with a module in Python is no option of a command.
                row = re.match(r"\w+\[(\d+)\]", error.where)
                place = "" if row is None else f", id {self._rows[int(row[1])].id!r}"
                fix = f"Change these rows, or leave {name} out: -m."
                raise InputError(f"{name}, {system}{place}", error.expected, error.got, fix) from None

    def systems(self, progress: Callable[[], object]) -> list[ScoredSystem]:
        """Score every system by every module, row by row; `progress` is called after each result."""
        scored = []
        for name in self._rows[0].captions:
            values: dict[str, np.ndarray] = {}
            results = {}
            for module in self._modules:
                columns = {column: [_value(row, column) for row in self._rows] for column in _needed_columns(module)}
                predictions = [row.captions[name] for row in self._rows]
                result = self._compute(module, {}, predictions=predictions, **columns)
                lists = {key.removesuffix("_per_row"): each for key, each in result.items() if key.endswith("_per_row")}
                # RefPAC-S gives PAC-S too.
                values |= {key: np.array(each) for key, each in lists.items() if key not in values}
                results[module] = {key: each for key, each in result.items() if not isinstance(each, list)}
                progress()
            scored.append(ScoredSystem(name, values, results, [len(row.captions[name]) for row in self._rows]))
        return scored

    def exchanges(self, progress: Callable[[], object]) -> Iterator[Exchange]:
        """Compare the captions of every two systems by every set metric; `progress` is called after each result.

        Systems with the same captions of every row, in any order, have an excess of 0 and p = 1. A system with a single
        caption of some row has no sets.
        """
        for module, earlier, later in self.list_exchanges():
            # The documents stay the human references, whichever system replaces them.
            has_table = self._options.get(module, {}).get("document_frequency") is not None
            is_counted = MODULES[module].counts_documents and not has_table
            given = {"document_frequency": self._document_frequency} if is_counted else {}
            # Intervals and lists of rows are of systems.
            result = self._compute(
                module,
                {**given, "confidence_level": None, "details": False},
                predictions=[row.captions[later] for row in self._rows],
                references=[row.captions[earlier] for row in self._rows],
            )
            statistic, *numbers = (result[f"{module}{key}"] for key in ("", "_excess", "_z", "_corpus_p_value"))
            sides = [(Counter(row.captions[later]), Counter(row.captions[earlier])) for row in self._rows]
            shared = np.mean([(one & other).total() / max(one.total(), other.total()) for one, other in sides])
            if shared == 1:
                # A copy is not an independent draw: random splits never look like it, although nothing differs.
                numbers = [0.0, 0.0, 1.0]
            elif numbers[1] < MOST_ALIKE or shared > MOST_SHARED:
                numbers[2] = math.nan
            progress()
            yield Exchange(module, later, earlier, statistic, *numbers)

    def list_exchanges(self) -> list[tuple[str, str, str]]:
        """Return module and systems of the results that `exchanges` gives."""
        sets = [name for name in self._rows[0].captions if all(len(row.captions[name]) > 1 for row in self._rows)]
        modules = [module for module in self._modules if module in SET_MODULES]
        return [(module, *pair) for module in modules for pair in itertools.combinations(sets, 2)]

    def _compute(self, module: str, given: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        options: dict[str, Any] = {"details": True}
        if module in SET_MODULES:
            options |= self._test_options(text_counts(columns["predictions"], columns["references"]))
        loaded = self._modules[module]
        called = loaded.call_options({**options, **given})
        # `compute` would warn for each module of what the comparison says once.
        result: dict[str, Any] = loaded.result(**loaded.prepare_columns(called, **columns), options=called)
        return result

    def _test_options(self, sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Options of a set module for rows of these numbers of captions."""
        most = max(math.comb(sum(size), size[0]) for size in set(sizes))
        return {
            "p_value": "exact" if most <= MOST_SPLITS else "permutation",
            "confidence_level": CONFIDENCE_LEVEL if len(self._rows) > 1 else None,
            "n_resamples": self._n_resamples,
            "seed": self._seed,
            "clusters": self._clusters,
        }

    @functools.cached_property
    def _document_frequency(self) -> dict[str, Any]:
        """Document frequencies of the references, as the modules count them."""
        counting = (options for module, options in self._options.items() if MODULES[module].counts_documents)
        tokenizer = next((options["tokenizer"] for options in counting if "tokenizer" in options), "ptb")
        tokens = tokenize_rows([row.references or [] for row in self._rows], tokenizer)
        warn_of_equal_documents(tokens)
        return {"n_documents": len(tokens), "document_frequency": dict(document_frequencies(tokens))}


def warn_of_truncated(systems: Sequence[ScoredSystem], options: CompareOptions) -> None:
    """Warn once of captions that a network did not read to their end, or whose words it does not know."""
    for system in systems:
        words = next(filter(None, map(words_of_unknown, system.results.values())), None)
        if words is not None:
            warnings.warn(f"{system.name}: {words}", stacklevel=2)
    networks = {
        MODULES[module].network
        for system in systems
        for module, result in system.results.items()
        if module in MODULES and result.get("n_truncated")
    }
    if networks - {CLIP}:
        warnings.warn(words_of_unread({**ENCODER_DEFAULTS, **encoder_options(options)}), stacklevel=2)
    if CLIP in networks:
        warnings.warn(
            "checkpoint: expected captions that the CLIP reads to their end, got longer ones; n_truncated in the JSON "
            "says how many. Read them in windows by `manycaps score --option long_captions=window`.",
            stacklevel=2,
        )


def given_options(options: CompareOptions) -> dict[str, Any]:
    """The options of modules that were given, by [MODULE.]NAME."""
    named = {name: getattr(options, name) for name in MODEL_OPTIONS if getattr(options, name) is not None}
    return named | read_module_options(options.options)


def module_options(options: CompareOptions, modules: Sequence[str], distance: str) -> dict[str, dict[str, Any]]:
    """Return what every module is loaded with: the options that have an effect there.

    Args:
        options: of the comparison.
        modules: those that run, the one that compares with people among them.
        distance: of that one; empty where it compares wording alone.

    Raises:
        ValueError: an option has no effect in any of them.
    """
    given = given_options(options)
    assigned = assign_module_options(given, modules, DECIDED, MODEL_OPTIONS)
    effective = {}
    for module, own in assigned.items():
        beside = {"distance": distance} if module == MODULE else {}
        taken = module_class(module).effective_options(own | beside)
        effective[module] = {name: value for name, value in taken.items() if name in own}
    for target in given:
        name = target.rpartition(".")[2]
        if not any(name in own for own in effective.values()):
            where = option_flag(target) if target in MODEL_OPTIONS else f"--option {target}"
            got = f"{f'--distance {distance} and ' * bool(distance)}{', '.join(_metrics(modules)) or 'no metric'}"
            fix = "Give others, or leave the option out."
            raise InputError(where, "a distance or a metric that takes it", got, fix)
    return effective


def _metrics(modules: Sequence[str]) -> list[str]:
    """The modules but those that compare with people."""
    return [module for module in modules if module in COMPARED_MODULES]
