"""Sources measured row by row, and compared with each other row by row: `manycaps diversity --sets`."""

import itertools
import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog.command_options import encoder_options
from manycaps.catalog.module_options import DECIDED, assign_module_options, read_module_options
from manycaps.catalog.modules import ENCODER_OPTIONS
from manycaps.comparison.read import SystemRow, clusters_of
from manycaps.diversity.diversity_options import PAPER_ENCODER, DiversityOptions
from manycaps.diversity.encoders import load_encoder
from manycaps.files.caption_tables import CaptionColumn, CaptionRow, good_rows, open_captions
from manycaps.files.result_tables import Cell, Table, as_digits, as_interval, number_cell
from manycaps.kit.arrays import Floats
from manycaps.kit.errors import InputError
from manycaps.kit.ngrams import document_frequencies
from manycaps.kit.paired_tests import PairedTest, holm_p_values, paired_tests
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL, LEVEL
from manycaps.kit.parity_words import p_value_digits
from manycaps.kit.sets_distinct import unit_rows
from manycaps.kit.sets_homogeneity import (
    ComparedModels,
    RowDistances,
    compare_models,
    distances_of_units,
    ngram_distances,
    warn_of_few_prompts,
    warn_of_shared_answers,
)
from manycaps.kit.sets_tests import mean_interval, mean_of_rows
from manycaps.kit.words_tokenizers import ngram_tokens, tokenize_rows

# The module that measures.
SLUG = "set_diversity"


class SetValue(NamedTuple):
    """A value of every row by which sources are described and compared."""

    # Of set_diversity's result.
    key: str
    title: str
    meaning: str


# In the order of the table; those of embeddings and of classes where they are asked for.
SET_VALUES = (
    SetValue("vendi_ngram_1", "Vendi 1", "effective number of different texts, by n-grams (Vendi score of order 1)"),
    SetValue("vendi_ngram_2", "Vendi 2", "the same of order 2, which weighs frequent ones more"),
    SetValue("vendi_ngram_inf", "Vendi inf", "the same of infinite order: one over the share of the most frequent"),
    SetValue("self_bleu_4", "self-BLEU", "BLEU-4 of a text against the others of its row; lower is more diverse"),
    SetValue("self_cider", "self-CIDEr", "0 for one text repeated, 1 for nothing in common"),
    SetValue("unique_share", "unique", "different texts as a share of a row's texts"),
    SetValue(
        "compression_ratio",
        "gzip",
        "bytes over bytes after gzip, of a row's texts in alphabetical order, joined by line breaks",
    ),
    SetValue("vendi_embedding_1", "Vendi 1 (meaning)", "Vendi score of order 1, by sentence embeddings"),
    SetValue("vendi_embedding_2", "Vendi 2 (meaning)", "the same of order 2"),
    SetValue("vendi_embedding_inf", "Vendi inf (meaning)", "the same of infinite order"),
    SetValue("pairwise_distance", "distance", "mean cosine distance of two texts of a row"),
    SetValue("distinct_k", "distinct_k", "classes of equivalent texts among k of a row"),
    SetValue("utility_k", "utility_k", "share of k texts, read with patience 0.8, that say something new"),
    SetValue("n_classes", "classes", "classes of equivalent texts of a row"),
    SetValue("semantic_entropy", "entropy", "entropy of the classes of a row, in nats"),
)


class SetPair(NamedTuple):
    """Two sources compared row by row by one value, first minus second."""

    first: str
    second: str
    key: str
    test: PairedTest
    # By Holm's rule over all pairs and values.
    adjusted_p_value: float
    # Rows where both have the value.
    n_rows: int


class SetFigures(NamedTuple):
    """Values of the rows of several sources, and the sources compared row by row."""

    # By source and key: the mean over rows and the ends of its interval, NaN with a single row.
    means: Mapping[str, Mapping[str, tuple[float, float, float]]]
    pairs: Sequence[SetPair]
    n_rows: int
    # Texts of a row that were measured, the fewest and the most; and k of distinct_k, or None.
    sizes: tuple[int, int]
    k: int | None
    n_clusters: int | None
    # Whether the sources say different things; None with a single source, or where a row has one text.
    homogeneity: ComparedModels | None = None
    # What its distance is called.
    distance: str = ""

    def of_source(self, name: str) -> dict[str, Any]:
        """Return the values of a source, as `json.dumps` takes them."""
        values: dict[str, Any] = {}
        for key, ends in self.means[name].items():
            values |= dict(zip((key, f"{key}_ci_low", f"{key}_ci_high"), ends, strict=True))
        return values | ({"k": self.k} if self.k is not None else {})

    def comparisons(self) -> dict[str, Any]:
        """Return the comparisons, as `json.dumps` takes them."""
        pairs = [
            {
                "first": pair.first,
                "second": pair.second,
                "value": pair.key,
                **pair.test._asdict(),
                "adjusted_p_value": pair.adjusted_p_value,
                "n_rows": pair.n_rows,
            }
            for pair in self.pairs
        ]
        if self.homogeneity is None:
            return {"pairs": pairs}
        compared = self.homogeneity
        tests = [
            {
                "first": compared.names[i],
                "second": compared.names[j],
                **compared.tests[i, j]._asdict(),
                "adjusted_p_value": joint,
                "adjusted_diversity_p_value": diversity,
            }
            for (i, j), (joint, diversity) in compared.adjusted.items()
        ]
        matrices = {f"{name}_matrix": compared.matrix(name) for name in ("homogeneity", "distance")}
        own = {"distance": self.distance, "sources": list(compared.names), **matrices, "tests": tests}
        return {"pairs": pairs, "homogeneity": own}


class SourceRows(NamedTuple):
    """Rows of all sources, in one order."""

    ids: Sequence[str]
    # By source, n_rows lists of texts.
    texts: Mapping[str, list[list[str]]]


def read_sources(
    sources: Mapping[str, str], columns: Sequence[str | None], groups: Sequence[str | None], options: DiversityOptions
) -> SourceRows:
    """Read all rows of each source, and put them into one order by their ids, or by their places without ids.

    Raises:
        ValueError: a source cannot be read, or has other rows than the first.
    """
    rows = {
        name: _by_id(source, CaptionColumn(column, group), options)
        for (name, source), column, group in zip(sources.items(), columns, groups, strict=True)
    }
    first, *others = rows
    for name in others:
        for what, some, other in (("none", first, name), ("one more,", name, first)):
            missing = [row_id for row_id in rows[some] if row_id not in rows[other]]
            if missing:
                expected = f"the rows of {sources[first]}, since --sets compares them row by row"
                got = f"{what} with the id {missing[0]!r} ({len(missing):,} such rows)"
                fix = "Give all sources the same rows, or measure them one at a time."
                raise InputError(sources[name], expected, got, fix)
    ids = list(rows[first])
    return SourceRows(ids, {name: [of_source[row_id] for row_id in ids] for name, of_source in rows.items()})


def _by_id(source: str, column: CaptionColumn, options: DiversityOptions) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    read: Sequence[CaptionRow] = list(good_rows(open_captions([source], column, options.split, options.config).rows()))
    for row in read:
        if row.id in rows:
            raise InputError(f"{source}, id {row.id!r}", "one row per id", "a second one", "Join them: --group-by.")
        rows[row.id] = list(row.predictions or [])
    if not rows:
        raise InputError(source, "at least one row", "none", "Give a file with captions.")
    return rows


def equal_numbers(texts: Mapping[str, list[list[str]]]) -> dict[str, list[list[str]]]:
    """Return as many texts of each row as the source with the fewest has there, the first ones; warn where it cuts.

    Most values depend on the number of texts.

    >>> equal_numbers({"a": [["one", "two"]], "b": [["three", "four"]]})["a"]
    [['one', 'two']]
    """
    counts = [min(map(len, row)) for row in zip(*texts.values(), strict=True)]
    n_cut = sum(max(map(len, row)) > n for row, n in zip(zip(*texts.values(), strict=True), counts, strict=True))
    if n_cut:
        warnings.warn(
            f"--sets: the sources have different numbers of texts in {n_cut:,} of {len(counts):,} rows. Values depend "
            "on the number, so that the first texts are measured, as many as the source with the fewest has.",
            stacklevel=2,
        )
    return {name: [row[:n] for row, n in zip(rows, counts, strict=True)] for name, rows in texts.items()}


def set_options(options: DiversityOptions) -> dict[str, Any]:
    """Return the options of set_diversity that the options of the command stand for."""
    embeds = options.semantic or options.encoder or isinstance(options.equivalent, float)
    given: dict[str, Any] = {
        "tokenizer": options.tokenizer,
        "kernels": ("ngram", "embedding") if embeds else ("ngram",),
    }
    if embeds:
        given |= ({"encoder": PAPER_ENCODER} if options.semantic else {}) | encoder_options(options)
    if options.equivalent is not None:
        given |= {"equivalent": options.equivalent, "classes": options.classes}
    decided = (*DECIDED, *given, "document_frequency", "quality")
    return given | assign_module_options(read_module_options(options.options), [SLUG], decided)[SLUG]


def set_figures(rows: SourceRows, options: DiversityOptions) -> SetFigures:
    """Measure every row of each source by set_diversity, and compare every two sources row by row.

    Document frequencies of self-CIDEr are counted in the texts of all sources, each row one document, so that all
    sources have the same weights. Tests are `manycaps.functional.paired_test`, adjusted by Holm's rule.
    """
    from manycaps.catalog.installed_modules import load

    texts, clusters = (
        equal_numbers(rows.texts),
        clusters_of([SystemRow(row_id, {}) for row_id in rows.ids], options.clusters),
    )
    joined = [[text for row in together for text in row] for together in zip(*texts.values(), strict=True)]
    documents = document_frequencies(tokenize_rows(joined, options.tokenizer))
    table = {"n_documents": max(2, len(joined)), "document_frequency": documents}
    module = load(SLUG, details=True, document_frequency=table, **set_options(options))
    results: dict[str, dict[str, Any]] = {}
    for name, own in texts.items():
        results[name] = module.compute(predictions=own)
    first = next(iter(results.values()))
    keys = [value.key for value in SET_VALUES if value.key in first]
    values = {name: {key: np.array(of[f"{key}_per_row"]) for key in keys} for name, of in results.items()}
    means = {name: {key: _mean(own[key], clusters) for key in keys} for name, own in values.items()}
    sizes = [len(row) for own in texts.values() for row in own]
    compared, distance = None, ""
    if len(rows.texts) > 1 and min(len(row) for own in rows.texts.values() for row in own) > 1:
        compared, distance = compare_answers(rows.texts, clusters, options)
    return SetFigures(
        means,
        compare_sources(values, clusters),
        len(rows.ids),
        (min(sizes), max(sizes)),
        first.get("k"),
        None if clusters is None else len(set(clusters)),
        compared,
        distance,
    )


def compare_answers(
    texts: Mapping[str, list[list[str]]], clusters: Sequence[Hashable] | None, options: DiversityOptions
) -> tuple[ComparedModels, str]:
    """Test every two sources by `homogeneity`: all texts of a row, by the distance that the options ask for, named."""
    given = set_options(options)
    joined = [[text for row in together for text in row] for together in zip(*texts.values(), strict=True)]
    warn_of_few_prompts(len(joined), "chi-squared")
    if "embedding" not in given["kernels"]:
        of_rows, distance = ngram_distances(ngram_tokens(joined, options.tokenizer)), "n-grams"
    else:
        of_rows, distance = embedding_distances(joined, given), "sentence embeddings"
    compared = compare_models(texts, of_rows, clusters=clusters)
    warn_of_shared_answers(compared)
    return compared, distance


def embedding_distances(rows: Sequence[Sequence[str]], given: Mapping[str, Any]) -> RowDistances:
    """Embed the texts of all rows, each different one once; `given` has the options of the encoder among others."""
    encoder = load_encoder(**{name: value for name, value in given.items() if name in ENCODER_OPTIONS})
    distinct = sorted({text for row in rows for text in row})
    vectors = dict(zip(distinct, unit_rows(encoder.embed(distinct).astype(np.float64)), strict=True))

    def distances(row: int) -> Floats:
        return distances_of_units(np.stack([vectors[text] for text in rows[row]]))

    return distances


def _mean(values: np.ndarray, clusters: Sequence[Hashable] | None) -> tuple[float, float, float]:
    """Mean over the rows where a value is defined, and the ends of its interval."""
    defined = np.flatnonzero(~np.isnan(values))
    if not len(defined):
        return math.nan, math.nan, math.nan
    labels = None if clusters is None else [clusters[i] for i in defined.tolist()]
    mean = mean_of_rows(values[defined], labels)
    return (mean.mean, *(mean_interval(mean, CONFIDENCE_LEVEL) if mean.n_clusters > 1 else (math.nan, math.nan)))


def compare_sources(
    values: Mapping[str, Mapping[str, np.ndarray]], clusters: Sequence[Hashable] | None
) -> list[SetPair]:
    """Compare every two sources by every value, over the rows where both have it.

    `values` are by source and key float64 arrays, shape (n_rows,), NaN where a value is not defined. Rows to detect and
    the smallest detectable difference are for the level that Holm's rule gives the smallest p-value.
    """
    names, keys = list(values), list(next(iter(values.values())))
    planned = [(first, second, key) for key in keys for first, second in itertools.combinations(names, 2)]
    tests, numbers = [], []
    for first, second, key in planned:
        mine, theirs = values[first][key], values[second][key]
        both = np.flatnonzero(~np.isnan(mine) & ~np.isnan(theirs))
        numbers.append(len(both))
        if len(both):
            labels = None if clusters is None else [clusters[i] for i in both.tolist()]
            level = LEVEL / len(planned)
            tests.append(paired_tests(mine[both, None], theirs[both, None], labels, level=level)[0])
    kept = [pair for pair, n_rows in zip(planned, numbers, strict=True) if n_rows]
    adjusted = holm_p_values(np.array([test.p_value for test in tests])).tolist()
    counts = [n_rows for n_rows in numbers if n_rows]
    return [SetPair(*pair, *rest) for pair, *rest in zip(kept, tests, adjusted, counts, strict=True)]


def set_tables(figures: SetFigures) -> list[Table]:
    """Return the tables of a terminal and of the page: values of the sources, and their differences."""
    titles = {value.key: value.title for value in SET_VALUES}
    keys = list(next(iter(figures.means.values())))
    unit = "rows" if figures.n_clusters is None else f"{figures.n_clusters:,} clusters of rows"
    fewest, most = figures.sizes
    number = str(fewest) if fewest == most else f"{fewest} to {most}"
    rows = [[Cell(titles[key]), *(_mean_cell(own[key]) for own in figures.means.values())] for key in keys]
    k = "" if figures.k is None else f" k is {figures.k}."
    tables = [
        Table(
            f"Texts of one row beside each other: mean over {figures.n_rows:,} rows of {number} texts, with its 95% "
            f"interval over {unit}.{k}",
            ["value", *figures.means],
            rows,
            "sets",
        )
    ]
    if figures.pairs:
        rows = [
            [
                Cell(titles[pair.key]),
                Cell(f"{pair.first} - {pair.second}"),
                number_cell(pair.test.difference),
                Cell(as_interval(pair.test.ci_low, pair.test.ci_high)),
                number_cell(pair.adjusted_p_value, p_value_digits, is_best=pair.adjusted_p_value <= LEVEL),
                Cell(f"{pair.test.n_larger}/{pair.test.n_equal}/{pair.test.n_smaller}"),
                number_cell(pair.test.rows_to_detect, as_rows),
            ]
            for pair in figures.pairs
        ]
        tables.append(
            Table(
                "Differences of two sources, row by row: mean with its 95% interval; p by random signs of rows, after "
                "Holm's rule over this table, marked: at most 0.05; rows in which the first is larger, equal, smaller; "
                "rows that find the difference 80% of the time.",
                ["value", "difference", "mean", "interval", "p Holm", "+/=/-", "rows to detect"],
                rows,
                "set-pairs",
            )
        )
    return tables + homogeneity_tables(figures)


def homogeneity_tables(figures: SetFigures) -> list[Table]:
    """Return the tables of what the sources say: the tests of every two, and the matrix of more than two."""
    compared = figures.homogeneity
    if compared is None:
        return []
    names = compared.names
    tests = [
        [
            Cell(f"{names[i]}, {names[j]}"),
            number_cell(compared.tests[i, j].homogeneity),
            number_cell(compared.tests[i, j].energy_distance),
            number_cell(joint, p_value_digits, is_best=joint <= LEVEL),
            number_cell(compared.tests[i, j].rows_to_detect, as_rows),
            number_cell(compared.tests[i, j].diversity_difference),
            number_cell(diversity, p_value_digits, is_best=diversity <= LEVEL),
        ]
        for (i, j), (joint, diversity) in compared.adjusted.items()
    ]
    tables = [
        Table(
            f"Do two sources say different things, by distances of {figures.distance}? Homogeneity is 1 for one "
            "distribution; p by all splits of each row's texts, after Holm's rule, marked: at most 0.05; rows that "
            "find it 80% of the time. Then: does one repeat itself more? Mean distance of two texts of a row, first "
            "less second, below 0 if the first does.",
            ["sources", "homogeneity", "energy", "p Holm", "rows to detect", "diversity", "p Holm (diversity)"],
            tests,
            "homogeneity",
        )
    ]
    if len(names) > 2:
        rows = [
            [Cell(name), *(number_cell(value) for value in values)]
            for name, values in zip(names, compared.matrix("homogeneity"), strict=True)
        ]
        tables.append(Table("Homogeneity of every two sources.", ["", *names], rows, "homogeneity-matrix"))
    return tables


def _mean_cell(mean: tuple[float, float, float]) -> Cell:
    value, low, high = mean
    interval = "" if math.isnan(low) else f" {as_interval(low, high)}"
    return Cell(f"{as_digits(value)}{interval}", value=value)


def as_rows(n_rows: float) -> str:
    """Format a number of rows.

    >>> as_rows(1234.0), as_rows(math.inf), as_rows(math.nan)
    ('1,234', 'never', 'not defined')
    """
    return "never" if math.isinf(n_rows) else "not defined" if math.isnan(n_rows) else f"{n_rows:,.0f}"
