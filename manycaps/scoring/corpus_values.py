"""Values of the corpus out of the parts, equal to what the modules compute of all rows at once.

Means are exact sums of the stored columns; other values are reductions: what a part keeps of its rows, and how
all parts are put together.
"""

import collections
import dataclasses
import json
import math
import pathlib
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from manycaps.catalog import BLEU_SUMS, CHAIR_SUMS, COCO_SUMS, METEOR_SUMS, MOMENTS, PARITY, WORD_COUNTS
from manycaps.kit.base import InputError
from manycaps.kit.caption_sets import distribution_result
from manycaps.kit.diversity_sets import mean_of_defined
from manycaps.scoring.run_folder import RunFolder

if TYPE_CHECKING:
    from manycaps.kit.caption_sets import CorpusTest
    from manycaps.kit.caption_wording import Phrase, Texts, WordingRows
    from manycaps.kit.parity_tails import DistanceBlock
    from manycaps.scoring.scorer import Scorer

Arrays = Mapping[str, np.ndarray]

# Rows whose distances are read at once.
BATCH_ROWS = 1 << 14

# Column of human parity: one triangle of the distances of a row's texts, out of which the tails of all rows are made.
DISTANCE_COLUMN = "human_parity_distances"

# Rows of which wording is measured by their own references: those of 50,000 take 2 GB while it is.
MOST_ROWS_OF_WORDING = 100_000

# Options that run a model or a tagger over all captions, where words are counted.
MODEL_OPTIONS = ("pos", "semantic", "encoder")


class StoredColumn(Collection[float]):
    """A column of all parts, read one part at a time and as often as it is asked for."""

    def __init__(self, folder: RunFolder, parts: Sequence[int], name: str, n_values: int):
        """Take the parts that have the column, and how many values it has in all."""
        self._paths = [folder.rows_file(part) for part in parts]
        self._name = name
        self._n_values = n_values

    def __len__(self) -> int:
        return self._n_values

    def __iter__(self) -> Iterator[float]:
        for path in self._paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=[self._name]):
                    yield from batch.column(0).drop_null().to_numpy(zero_copy_only=False).tolist()

    def __contains__(self, value: object) -> bool:
        return any(value == one for one in self)


class StoredDistances:
    """Distances of all rows that human parity has scored, read one part at a time and as often as asked."""

    def __init__(self, folder: RunFolder, parts: Sequence[int], n_rows: int):
        """Take the parts that have such rows, and how many there are in all."""
        self._paths = [folder.rows_file(part) for part in parts]
        self.n_rows = n_rows

    def blocks(self) -> Iterator["DistanceBlock"]:
        """Yield all rows, in blocks of rows of equal sizes."""
        n_earlier = 0
        for path in self._paths:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=["n_candidates", DISTANCE_COLUMN]):
                    table = pa.table(batch).drop_null()
                    yield from stored_blocks(table, np.arange(n_earlier, n_earlier + len(table)))
                    n_earlier += len(table)
            pa.default_memory_pool().release_unused()  # 70 MB in all after a million rows


def stored_blocks(table: pa.Table, rows: np.ndarray) -> Iterator["DistanceBlock"]:
    """Yield the distances of rows in a table without missing values, in blocks of rows of equal sizes."""
    from manycaps.kit.parity_tails import unpacked_blocks

    lists = table.column(DISTANCE_COLUMN).combine_chunks()
    starts = lists.offsets.to_numpy()
    n_candidates, n_pairs = table.column("n_candidates").to_numpy(), np.diff(starts)
    values = lists.values.to_numpy()
    for m, size in sorted(set(zip(n_candidates.tolist(), n_pairs.tolist(), strict=True))):
        chosen = np.flatnonzero((n_candidates == m) & (n_pairs == size))
        packed = values[starts[chosen][:, None] + np.arange(size)]
        yield from unpacked_blocks(rows[chosen], m, packed)


def metric_corpus_result(folder: RunFolder, scorer: "Scorer", n_parts: int) -> dict[str, Any]:
    """Return what the module's `compute` returns of all accepted rows, without lists, and its signature."""
    reports = {part: (folder.report("score", part) or {})["metrics"][scorer.name] for part in range(n_parts)}
    reports = {part: report for part, report in reports.items() if report["n_rows"]}
    if not reports:
        raise InputError(f"-m {scorer.name}", "at least one row that it accepts", "none", f"See {folder.rejected}.")
    first, n_rows = next(iter(reports.values())), sum(report["n_rows"] for report in reports.values())
    columns = {
        name: StoredColumn(folder, list(reports), name, n_rows)
        for name in first["columns"]
        if not name.endswith("_per_candidate") and name != DISTANCE_COLUMN
    }
    if scorer.is_parity:
        result = _parity_result(folder, scorer, list(reports), columns)
    elif scorer.is_distribution:
        result = _distribution_result(folder, scorer, reports, columns)
    elif scorer.record.scored_with_table:
        result = {name: mean_of_defined(column) for name, column in columns.items()} | {"n_rows": n_rows}
    else:
        mean_keys = {value.key: value.mean_key for value in scorer.record.values if value.mean_key}
        result = {mean_keys.get(name, name): math.fsum(column) / n_rows for name, column in columns.items()}
        result |= {"n_rows": n_rows}
    counts: collections.Counter[str] = collections.Counter()
    for report in reports.values():
        counts.update(report["counts"])
    return result | _reduced_values(folder, scorer, reports) | counts | {"signature": first["signature"]}


def _reduced_values(folder: RunFolder, scorer: "Scorer", parts: Collection[int]) -> dict[str, Any]:
    """Values of the corpus that are not means over rows."""
    if scorer.is_parity:  # which has put all rows together
        return {}
    reduction = _merged(folder, scorer, parts)
    return {} if reduction is None else reduction.values()


def _merged(folder: RunFolder, scorer: "Scorer", parts: Collection[int]) -> Any:
    """What all parts have kept of their rows, one part after the other; None for most metrics."""
    reduction = scorer.reduction()
    if reduction is None:
        return None
    start = f"reduced:{scorer.name}:"
    for part in parts:
        with np.load(folder.part_file("score", part, "npz")) as arrays:
            reduction.merge({name[len(start) :]: arrays[name] for name in arrays.files if name.startswith(start)})
    return reduction


def _distribution_result(
    folder: RunFolder, scorer: "Scorer", reports: dict[int, dict[str, Any]], columns: dict[str, StoredColumn]
) -> dict[str, Any]:
    options = {**scorer.options, "details": False}
    check_interval_rows(options, len(columns[scorer.name]))
    tested = [columns.pop(name) for name in columns_of_tests(scorer.name) if name in columns]
    test = _corpus_test(folder, scorer, reports, columns[scorer.name], tested) if tested else None
    return distribution_result(columns, test, options, scorer.module.SETS.value_range(options))


def check_interval_rows(options: Mapping[str, Any], n_rows: int) -> None:
    """Raise if an interval is asked for of a single row."""
    if options["confidence_level"] is not None and n_rows < 2:
        raise InputError(
            "--option confidence_level", "at least 2 rows for an interval", "1", "Leave it out for one row."
        )


def _parity_result(
    folder: RunFolder, scorer: "Scorer", parts: Sequence[int], columns: dict[str, StoredColumn]
) -> dict[str, Any]:
    """Result of human parity: its tests are made of sums over rows, and of the distances of all rows."""
    from manycaps.kit.parity_tails import corpus_tails
    from manycaps.kit.parity_tests import parity_result, parity_wording, reported_result

    n_rows, level = len(columns["fidelity_gap"]), scorer.options["confidence_level"]
    check_interval_rows(scorer.options, n_rows)
    distances = StoredDistances(folder, parts, n_rows)
    tails = corpus_tails(distances, level, None, seed=scorer.options["seed"])
    wording = None
    if (rows := _gathered_wording(folder, scorer, parts, n_rows)) is not None:
        wording = parity_wording(rows, distances, tails, scorer.options)
        wording.warn_of_few_rows()
    return reported_result(parity_result(columns, tails, scorer.options, wording=wording), scorer.options)


def _gathered_wording(folder: RunFolder, scorer: "Scorer", parts: Sequence[int], n_rows: int) -> "WordingRows | None":
    """Wording of all rows, which is also written for `manycaps compare`; None where there are too many."""
    if n_rows > MOST_ROWS_OF_WORDING and scorer.options["language_model"] is None:
        warnings.warn(
            f"wording: expected at most {MOST_ROWS_OF_WORDING:,} rows for a model of their own references, got "
            f"{n_rows:,}. It is left out: give --option human_parity.language_model=FILE, made with `manycaps "
            "count-ngrams`.",
            stacklevel=2,
        )
        return None
    gathered = _merged(folder, scorer, parts)
    rows: WordingRows = gathered.wording()
    phrases = _as_bytes([phrase._asdict() for phrase in gathered.phrases()])

    def save(path: pathlib.Path) -> None:
        with path.open("wb") as file:
            np.savez(file, **dataclasses.asdict(rows), phrases=phrases)

    folder.write(folder.wording, save)
    return rows


def _corpus_test(
    folder: RunFolder,
    scorer: "Scorer",
    reports: dict[int, dict[str, Any]],
    values: StoredColumn,
    tested: Sequence[StoredColumn],
) -> "CorpusTest":
    from manycaps.kit.caption_sets import RowTests, mean_test

    drawn_sums = np.zeros(scorer.options["n_resamples"])
    smallest: collections.Counter[float] = collections.Counter()
    for part, report in reports.items():
        smallest.update(dict(report["smallest"]))
        with np.load(folder.part_file("score", part, "npz")) as arrays:
            drawn_sums += arrays[f"drawn:{scorer.name}"]
    return mean_test(values, RowTests(*tested), drawn_sums, smallest)


def columns_of_tests(name: str) -> list[str]:
    """Return the columns of a metric's tests, in the order of `RowTests`.

    >>> columns_of_tests("trm")
    ['trm_p_value', 'trm_excess', 'trm_null_variance', 'trm_null_unit']
    """
    return [f"{name}_p_value", f"{name}_excess", f"{name}_null_variance", f"{name}_null_unit"]


class Reduction(Protocol):
    """State kept of rows for a value of the corpus."""

    def add(self, part: Any) -> None:
        """Take in the scores of a chunk of rows."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that is kept, as arrays without objects."""

    def merge(self, arrays: Arrays) -> None:
        """Take in the arrays of another part, which comes after all those before."""

    def values(self) -> dict[str, Any]:
        """Return the values of the corpus."""


def reduction_of(reduction: str, module: Any, options: Mapping[str, Any]) -> Reduction | None:
    """Return what a metric needs beside the values of its rows, by its record's `reduction`; None for most."""
    if reduction in STATISTIC_SUMS:
        return STATISTIC_SUMS[reduction](options)
    if reduction == WORD_COUNTS:
        return CodedData(options)
    if reduction == PARITY:
        return GatheredWording(options)
    if is_pooled(options):
        return GatheredEmbeddings(module, options) if gathers(reduction, options) else PooledMoments()
    return None


def is_pooled(options: Mapping[str, Any]) -> bool:
    """Whether a value over all captions together is asked for."""
    return bool(options.get("pooled"))


def gathers(reduction: str, options: Mapping[str, Any]) -> bool:
    """Whether a value of the corpus needs all vectors at once.

    A distance of moments has enough with sums over the vectors; its test, and a kernel, have not.

    >>> [gathers(MOMENTS, {"pooled": True, "p_value": p_value}) for p_value in ("none", "exact")]
    [False, True]
    """
    return is_pooled(options) and (reduction != MOMENTS or options["p_value"] != "none")


class StatisticSums:
    """Sums of the statistics of candidates, by the name of what they give; and lists of those of all rows."""

    def __init__(
        self,
        sums_of: Callable[[Any], Arrays],
        values_of: Callable[[Arrays], dict[str, Any]],
        lists: Collection[str] = (),
    ) -> None:
        """Take how the statistics of some rows are added up, what their sums give, and the names of lists."""
        self._sums_of, self._values_of, self._lists = sums_of, values_of, lists
        self._sums: dict[str, np.ndarray] = {}

    def add(self, part: Any) -> None:
        """Take in the statistics of every candidate of some rows."""
        self.merge(self._sums_of(part))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums."""
        return self._sums

    def merge(self, arrays: Arrays) -> None:
        """Add the sums of another part."""
        for name, more in arrays.items():
            known = self._sums.get(name)
            both = more if known is None else np.concatenate([known, more]) if name in self._lists else known + more
            self._sums[name] = both

    def values(self) -> dict[str, Any]:
        """Return the scores of the corpus."""
        return self._values_of(self._sums)


def _bleu_sums(_: Mapping[str, Any]) -> StatisticSums:
    from manycaps.kit.ngram_scores import bleu_of_sums

    def values(sums: Arrays) -> dict[str, Any]:
        scores = bleu_of_sums(sums["statistics"][None]).tolist()
        return {f"bleu_{n}_corpus": score for n, score in enumerate(scores, start=1)}

    return StatisticSums(lambda part: {"statistics": part.sum(axis=0)}, values)


def _meteor_sums(options: Mapping[str, Any]) -> StatisticSums:
    from manycaps.kit.meteor15_scores import corpus_statistics, scores
    from manycaps.kit.meteor15_search import LANGUAGES

    def sums(part: Sequence[Sequence[Sequence[int]]]) -> Arrays:
        return {"statistics": corpus_statistics(np.array([candidate for row in part for candidate in row]))}

    def values(sums: Arrays) -> dict[str, Any]:
        return {"meteor15": float(scores(sums["statistics"][None], LANGUAGES[options["language"]])[0])}

    return StatisticSums(sums, values)


def _coco_sums(options: Mapping[str, Any]) -> StatisticSums:
    """Sums of BLEU and METEOR 1.5, which the module adds up itself."""
    from manycaps.kit.coco_scores import corpus_numbers
    from manycaps.kit.meteor15_search import LANGUAGES

    return StatisticSums(lambda part: part, lambda sums: corpus_numbers(sums, LANGUAGES[options["language"]]))


def _object_sums(options: Mapping[str, Any]) -> StatisticSums:
    """Counts of named objects, and the shares of every row, for chair."""
    from manycaps.kit.object_words import ObjectSums, object_values

    def values(sums: Arrays) -> dict[str, Any]:
        return dict(object_values(ObjectSums(**sums), options["confidence_level"]))

    return StatisticSums(lambda part: part._asdict(), values, lists=["shares"])


STATISTIC_SUMS = {CHAIR_SUMS: _object_sums, METEOR_SUMS: _meteor_sums, BLEU_SUMS: _bleu_sums, COCO_SUMS: _coco_sums}


class PooledMoments:
    """Means and covariances of embeddings, for fid_bert."""

    def __init__(self) -> None:
        from manycaps.kit import kernel_tests

        self._sides = {"candidates": kernel_tests.Moments(), "references": kernel_tests.Moments()}

    def add(self, part: Any) -> None:
        """Take in some embedded rows."""
        for side, counts in zip(self._sides.values(), part.counts(), strict=True):
            side.add(part.vectors, counts)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums of both sides."""
        return {f"{name}:{key}": array for name, side in self._sides.items() for key, array in side.arrays().items()}

    def merge(self, arrays: Arrays) -> None:
        """Add the sums of another part."""
        for name, side in self._sides.items():
            side.merge({key.partition(":")[2]: array for key, array in arrays.items() if key.startswith(f"{name}:")})

    def values(self) -> dict[str, Any]:
        """Return the distance of the corpus."""
        from manycaps.kit import kernel_tests

        return {"fid_bert_pooled": float(kernel_tests.frechet_squared_of_moments(*self._sides.values()))}


class GatheredEmbeddings:
    """All embeddings with their captions: what a module needs to pool the corpus itself."""

    def __init__(self, module: Any, options: Mapping[str, Any]) -> None:
        self._module, self._options = module, options
        self._vectors: dict[str, np.ndarray] = {}
        self._rows: dict[str, list[list[str]]] = {"predictions": [], "references": []}

    def add(self, part: tuple[Mapping[str, list[list[str]]], Any]) -> None:
        """Take in the captions of some rows, and the rows embedded."""
        columns, embedded = part
        for name, numbers in (("predictions", embedded.predictions), ("references", embedded.references)):
            for captions, places in zip(columns[name], numbers, strict=True):
                self._rows[name].append(list(captions))
                for caption, number in zip(captions, places.tolist(), strict=True):
                    self._vectors.setdefault(caption, embedded.vectors[number])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return vectors and rows."""
        if not self._vectors:
            return {}
        numbers = {caption: i for i, caption in enumerate(self._vectors)}
        rows = {name: [[numbers[caption] for caption in row] for row in side] for name, side in self._rows.items()}
        return {
            "vectors": np.stack(list(self._vectors.values())),
            "captions": _as_bytes(list(self._vectors)),
            "rows": _as_bytes(rows),
        }

    def merge(self, arrays: Arrays) -> None:
        """Take in the rows of another part."""
        if not arrays:
            return
        captions = json.loads(arrays["captions"].tobytes())
        for caption, vector in zip(captions, arrays["vectors"], strict=True):
            self._vectors.setdefault(caption, vector)
        for name, side in json.loads(arrays["rows"].tobytes()).items():
            self._rows[name] += [[captions[number] for number in row] for row in side]

    def values(self) -> dict[str, Any]:
        """Return what the module says of all rows together."""
        from manycaps.kit.vector_rows import embed_caption_rows

        embedded = embed_caption_rows(
            self._rows["predictions"],
            self._rows["references"],
            lambda captions: np.stack([self._vectors[caption] for caption in captions]),
        )
        values: dict[str, Any] = self._module.SETS.of_corpus(embedded, self._options, self._module.progress)
        return values


class CodedData:
    """Words of all captions as numbers, for vdtk_diversity, whose counts are made of them in the order of the rows."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        from manycaps.kit import diversity_measures
        from manycaps.kit.diversity_measures import CaptionDiversity

        self._options = options
        self._codes = diversity_measures
        self._words = self._codes.WordNumbers()
        self._kept: list[Any] = []
        self._diversity = CaptionDiversity()
        self._tokenizer = options["tokenizer"]
        if self._tokenizer == "spacy":
            from manycaps.kit.tokenization import load_spacy_tokenizer

            self._tokenizer = load_spacy_tokenizer()

    def add(self, part: Sequence[Sequence[str]]) -> None:
        """Take in the captions of some rows."""
        from manycaps.kit.tokenization import tokenize_rows

        rows = tokenize_rows(list(part), self._tokenizer)
        self._kept.append(self._codes.coded_captions(rows, self._words.__getitem__))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the words, and the rows as their numbers."""
        fields = ("words", "n_tokens", "n_captions")
        coded = {
            name: np.concatenate([np.empty(0, np.uint32), *(getattr(row, name) for row in self._kept)])
            for name in fields
        }
        return {
            "names": _as_bytes(list(self._words)),
            **{name: numbers.astype("<u4") for name, numbers in coded.items()},
        }

    def merge(self, arrays: Arrays) -> None:
        """Count the rows of a part."""
        known = self._diversity.word_numbers
        numbers = np.array([known[word] for word in json.loads(arrays["names"].tobytes())], dtype=np.int64)
        words, n_tokens, n_captions = (arrays[name].astype(np.int64) for name in ("words", "n_tokens", "n_captions"))
        if len(n_captions):
            self._diversity.update_coded(self._codes.CodedCaptions(numbers[words], n_tokens, n_captions))

    def values(self) -> dict[str, Any]:
        """Return the figures of all rows."""
        figures: dict[str, Any] = self._diversity.figures(self._options["head_shares"], self._options["lengths"])
        return figures


class GatheredWording:
    """Words of all captions as numbers, for human_parity, whose n-gram model needs the references of all rows.

    With a language model of another corpus the wording of every caption is known at once, and kept in their place.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        from manycaps.kit import caption_wording

        self._wording, self._tokenizer = caption_wording, options["tokenizer"]
        self._model = caption_wording.load_language_model(options["language_model"])
        self._vocabulary: dict[str, int] = {}
        self._kept: dict[str, list[np.ndarray]] = {}

    def add(self, part: Mapping[str, Sequence[Sequence[str]]]) -> None:
        """Take in the captions of some rows."""
        from manycaps.kit.tokenization import tokenize_rows, word_ids

        candidates, references = (tokenize_rows(part[name], self._tokenizer) for name in ("predictions", "references"))
        rows = list(zip(candidates, references, strict=True))
        kept: dict[str, np.ndarray] = {"sizes": np.array([(len(mine), len(people)) for mine, people in rows])}
        if self._model is None:
            texts = (text for mine, people in rows for text in (*mine, *people))
            kept["words"], kept["lengths"] = word_ids(texts, self._vocabulary)
        else:
            kept["slor"] = self._wording.wording_rows(candidates, references, model=self._model).slor
        for name, array in kept.items():
            self._kept.setdefault(name, []).append(array)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the words, and the rows as their numbers; or the wording."""
        joined = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        return joined | ({"names": _as_bytes(list(self._vocabulary))} if "words" in joined else {})

    def merge(self, arrays: Arrays) -> None:
        """Take in the rows of another part."""
        kept = dict(arrays)
        if "names" in kept:
            from manycaps.kit.tokenization import numbered

            kept["words"] = numbered(json.loads(kept.pop("names").tobytes()), self._vocabulary)[kept["words"]]
        for name, array in kept.items():
            self._kept.setdefault(name, []).append(array)

    def values(self) -> dict[str, Any]:
        """Return nothing: `wording` is put together with the distances."""
        return {}

    def wording(self) -> "WordingRows":
        """Return the wording of all rows."""
        kept = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        if "slor" in kept:
            return self._wording.WordingRows(kept["sizes"], kept["slor"], *np.zeros((2, len(kept["slor"]))))
        return self._wording.wording_of(self._texts(kept), is_tested=True)

    def phrases(self) -> "list[Phrase]":
        """Return the phrases that give the candidates away; none where a model of another corpus kept no words."""
        kept = {name: np.concatenate(arrays) for name, arrays in self._kept.items()}
        return [] if "slor" in kept else self._wording.telling_phrases(self._texts(kept))

    def _texts(self, kept: Mapping[str, np.ndarray]) -> "Texts":
        return self._wording.texts_of(kept["sizes"], kept["words"], kept["lengths"], self._vocabulary)


def _as_bytes(value: Any) -> np.ndarray:
    """JSON as an array of bytes, which NumPy stores without objects."""
    return np.frombuffer(json.dumps(value).encode("utf-8"), dtype=np.uint8)
