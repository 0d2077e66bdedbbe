"""A metric as a run uses it: the columns that it needs, the rows that it accepts, and their scores."""

import collections
import functools
import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.catalog.installed_modules import load
from manycaps.catalog.modules import BLEU_SUMS, CHAIR_SUMS, CLIP, COCO_SUMS, METEOR_SUMS, MODULES, PARITY, WORD_COUNTS
from manycaps.files.caption_tables import CaptionRow
from manycaps.kit.arrays import Floats
from manycaps.kit.errors import InputError, InputMemoryError
from manycaps.kit.sets_module import CAPTION_COLUMNS, compare_rows, text_counts
from manycaps.scoring.reductions import (
    DISTANCE_COLUMN,
    MODEL_OPTIONS,
    Reduction,
    columns_of_tests,
    gathers,
    is_pooled,
    reduction_of,
)

# Columns of modules, and what a row calls them.
ROW_FIELDS = {
    "predictions": "predictions",
    "references": "references",
    "images": "image",
    "videos": "video",
    "data": "predictions",
}

# Numbers of a result that are added over parts.
COUNTS = (
    "n_truncated",
    "n_windowed",
    "n_pieces",
    "n_unknown_pieces",
    "n_words",
    "n_unknown_words",
    "n_captions",
    "n_captions_references",
    "n_rows_with_pairs",
    "n_rows_with_pairs_references",
)

# What there is in place of options whose values cannot be computed in parts of the rows.
INSTEAD = {
    "p_value": ", for the closed form of the test",
    "preset": ", give --option pooled=true",
    **dict.fromkeys(MODEL_OPTIONS, ", run `manycaps diversity` for it"),
}


class Scores(NamedTuple):
    """Scores of rows by a metric."""

    # A value, or a list of them, for each row by the name of its column.
    columns: dict[str, Collection[Any]]
    # Numbers that are added over parts.
    counts: dict[str, int]
    # How the numbers were made.
    signature: str
    # Of a metric with p-values: sums for every draw of the corpus test, and how many rows have which smallest p-value.
    drawn: Floats | None = None
    smallest: Mapping[Any, int] | None = None
    # What the reduction of the corpus takes in, where the metric has one.
    reduced: Any = None


class Scorer:
    """A loaded metric."""

    def __init__(self, name: str, options: Mapping[str, Any], are_single: bool = False):
        """Load the module with the options that are given; `are_single`: no row has two references."""
        self.name = name
        self._is_prepared = False
        self.module = load(name, **options)
        self.record = MODULES[name]
        self.options: dict[str, Any] = self.module.call_options({})
        # Names of the columns that the module needs.
        self.columns: list[str] = list(self.module.own_columns())
        # Those that files may lack; chair's references may not, whose labels in their place no file gives.
        has_labels = "objects" in self.options
        self.optional_columns: Collection[str] = () if has_labels else self.module.OPTIONAL_COLUMNS
        # Whether the corpus is tested in closed form, by sums of what rows have; and whether the module compares two
        # sets of captions, with rows that draw from their splits for the test of the corpus.
        self.is_parity = self.record.reduction == PARITY
        # Whether human parity measures wording alone, which one reference in every row allows.
        self.is_wording_alone = self.is_parity and are_single
        self.is_distribution = self.record.is_distribution
        self.has_p_values = self.is_distribution and not self.is_parity and self.options["p_value"] != "none"
        # Whether document frequencies are to be counted in the references of all rows.
        is_cider = self.options.get("distance", "cider") == "cider"
        self.counts_documents = self.record.counts_documents and is_cider and self.options["document_frequency"] is None
        # Whether a network runs; an optional one has no part in what a run measures.
        without_model = self.is_wording_alone or (self.is_parity and self.options["distance"] != "bert")
        self.has_model = self.record.runs_network and not without_model
        # Whether a value of the corpus needs the embeddings of all rows at once.
        self.gathers = gathers(self.record.reduction, self.options)

    def reduction(self, clusters: Sequence[Hashable] | None = None) -> Reduction | None:
        """Return the reduction for values of the corpus that are not means over rows; None for most metrics.

        `clusters` are labels of the rows, where some are of one image.
        """
        options = self.options if clusters is None else {**self.options, "clusters": clusters}
        return reduction_of(self.record.reduction, self.module, options)

    def check_reducible(self) -> None:
        """Raise a ValueError if a value of the corpus cannot be computed in parts."""
        if self.record.not_scored:
            raise InputError(f"-m {self.name}", *self.record.not_scored)
        if self.options.get("quality") is not None:
            fix = "Leave it out, or give all rows to the module in Python."
            raise InputError("--option quality", "none", "numbers of rows", fix)
        given = {name: self.options.get(name) for name in ("preset", "retrieval")}
        if self.record.reduction == WORD_COUNTS:
            given |= {name: self.options[name] for name in MODEL_OPTIONS}
        if self.is_parity and self.options["p_value"] not in ("chi-squared", "none"):
            given["p_value"] = self.options["p_value"]
        for name in (name for name, value in given.items() if value):
            fix = f"Leave it out{INSTEAD.get(name, '')}, or give all rows to the module in Python."
            raise InputError(f"--option {name}", "values of rows", "one of all rows together", fix)
        if self.record.scored_with_table and self.options["document_frequency"] is None:
            name = f"--option {self.name}.document_frequency"
            fix = f"Make it with `manycaps count-document-frequency`, and give {name}=FILE."
            raise InputError(name, "a table", "none; n-grams are weighted by the references of all rows", fix)
        if self.options.get("idf") is True:
            fix = "Make it with `manycaps count-token-frequency`, and give --option idf=FILE."
            raise InputError("--option idf=true", "a table of token frequencies", "weights of all rows together", fix)
        if self.options.get("clusters") is not None:
            fix = "Leave it out: `manycaps compare --clusters` takes the clusters from the ids of the rows."
            raise InputError("--option clusters", "none", "labels", fix)

    def prepare(self) -> None:
        """Load the model, once, so that what is wrong with it is not taken for a bad row."""
        if self._is_prepared or not self.has_model:
            return
        encoder: Any = self.module.encoder
        if self.record.network == CLIP:
            _ = encoder.model
        else:
            encoder.embed(["a"], self.options, lambda steps, **_: steps)
        self._is_prepared = True

    def accept(self, rows: Sequence[CaptionRow]) -> tuple[dict[str, list[Any]], list[int], dict[int, InputError]]:
        """Check rows as the module does; a bad row costs no other.

        Returns the stored columns of the good rows, the indices of these rows, and the errors of bad rows by theirs.
        """
        columns: dict[str, list[Any]] = {name: [] for name in self.columns}
        good: list[int] = []
        bad: dict[int, InputError] = {}
        waiting = [range(len(rows))] if rows else []
        while waiting:
            places = waiting.pop()
            try:
                checked = self._prepare([rows[number] for number in places])
            except InputMemoryError:
                raise  # of all rows, not of one
            except InputError as error:
                if len(places) == 1:
                    bad[places[0]] = error.as_kind(InputError)
                    for name in self.columns:  # the module was given one row
                        bad[places[0]] = bad[places[0]].replace(f"{name}[0]", f"{name}[{rows[places[0]].row}]")
                else:
                    middle = len(places) // 2
                    waiting += [places[middle:], places[:middle]]
                continue
            good += places
            for name, values in checked.items():
                columns[name] += values
        return columns, good, bad

    def scores(
        self,
        columns: Mapping[str, list[Any]],
        n_earlier: "collections.Counter[bytes]",
        documents: "DocumentTable | None" = None,
    ) -> Scores:
        """Score accepted rows, at least one.

        `n_earlier` counts how often rows of some content came before in the corpus, and these rows are added to it;
        `documents` are the frequencies where they are counted in all references.
        """
        documents = documents if self.counts_documents else None
        options = {**self.options, **({"document_frequency": documents.table} if documents else {})}
        if self.is_wording_alone:
            settings = self.module.wording_settings(self.options)
            return Scores({}, {}, self.module._signature(self.options, settings), reduced=columns)
        if self.is_distribution:
            return self._distribution_scores(columns, options, n_earlier, documents)
        if self.record.reduction == WORD_COUNTS:
            return Scores({}, {}, self.module._signature(self.options), reduced=columns["data"])
        options["details"] = True
        if self.record.reduction in (BLEU_SUMS, COCO_SUMS, CHAIR_SUMS):
            result, reduced = self.module.score_with_sums(**columns, options=options)
        else:
            result = self.module.result(**columns, options=options)
            reduced = result["meteor15_statistics"] if self.record.reduction == METEOR_SUMS else None
        row_columns = {
            name.removesuffix("_per_row"): values for name, values in result.items() if name.endswith("_per_row")
        }
        if self.record.reduction != CHAIR_SUMS:  # whose lists of candidates are of words
            row_columns |= {name: values for name, values in result.items() if name.endswith("_per_candidate")}
        counts = {name: result[name] for name in COUNTS if name in result}
        signature = result["signature"]
        if documents:
            signature = signature.replace("document_frequency:table", "document_frequency:references")
        return Scores(row_columns, counts, signature, reduced=reduced)

    def _prepare(self, rows: Sequence[CaptionRow]) -> dict[str, Any]:
        given: dict[str, Any] = {name: [getattr(row, ROW_FIELDS[name]) for row in rows] for name in self.columns}
        if "data" in given:
            given["data"] = [row.people if row.predictions is None else row.predictions for row in rows]
        for name in self.optional_columns:
            if all(value is None for value in given[name]):
                given[name] = None
        checked: dict[str, Any] = self.module.prepare_columns(self.options, **given)
        if self.is_distribution and not self.is_wording_alone:
            # An interval needs two rows of the corpus, not of a part.
            options = {**self.options, "confidence_level": None}
            self.module.check_sizes(text_counts(**checked), CAPTION_COLUMNS, options)
        is_embedded = self.has_model and self.options.get("encoder") is not None
        if is_embedded and self.module.has_effect("encoder", self.options):
            self.module.encoder.check_known(checked, self.options)
        return checked

    def _distribution_scores(
        self,
        columns: Mapping[str, list[Any]],
        options: Mapping[str, Any],
        n_earlier: "collections.Counter[bytes]",
        documents: "DocumentTable | None",
    ) -> Scores:
        """Scores of rows by a module that compares two sets of captions."""
        reduced = None
        rows = self.module.rows_of(**columns, options=options)
        if is_pooled(options):
            reduced = (columns, rows.embedded) if self.gathers else rows.embedded
        # How many texts a network does not read as a whole.
        counts: dict[str, int] = rows.n_unread() if self.has_model else {}
        # Frequencies that were counted in all rows are no table's.
        settings = {**rows.settings, **(documents.settings if documents else {})}
        signature = self.module._signature(self.options, settings)
        if self.is_parity:
            from manycaps.kit.parity_corpus import values_of_rows

            values = values_of_rows(rows, options, lambda steps, **_: steps)
            columns_of_rows: dict[str, Collection[Any]] = {**values.columns, DISTANCE_COLUMN: values.distances.pack()}
            support = self._support(columns, options)
            return Scores(columns_of_rows, counts, signature, reduced={**columns, "support": support})
        has_excess = self.module.SETS.has_excess(rows.sizes, options)
        compared = compare_rows(rows, options, lambda steps, **_: steps, n_earlier, has_excess)
        row_columns: dict[str, Collection[Any]] = {self.name: compared.statistic}
        if compared.plain is not None:
            row_columns[self.module.SETS.plain] = compared.plain
        if compared.untested_excesses is not None:
            row_columns[f"{self.name}_excess"] = compared.untested_excesses
        if compared.splits is None:
            return Scores(row_columns, counts, signature, reduced=reduced)
        tests = compared.splits.row_tests(compared.statistic)
        row_columns |= dict(zip(columns_of_tests(self.name), tests, strict=True))
        return Scores(row_columns, counts, signature, compared.splits.drawn_sums, compared.splits.smallest, reduced)

    def _support(self, columns: Mapping[str, list[Any]], options: Mapping[str, Any]) -> "list[np.ndarray]":
        """Support of the sentences of every row, for human parity; an empty array where each text is one sentence."""
        from manycaps.kit.parity_sentences import support_of_row

        spans, distances = self.module.sentence_distances(**columns, options=options)
        nothing = np.empty(0)
        return [nothing if max(row.n_sentences) == 1 else support_of_row(row, distances).ravel() for row in spans]


class DocumentTable(NamedTuple):
    """Document frequencies of all references of a run."""

    # As the option document_frequency takes it: the path of a JSON file.
    table: str
    n_documents: int

    @property
    def settings(self) -> dict[str, Any]:
        """What trm_cider writes into its signature for frequencies of the references."""
        return {"document_frequency": "references", "n_documents": self.n_documents}


def count_documents(references: Iterable[Sequence[str]], tokenizer: str) -> dict[str, int]:
    """Count in how many rows of references each n-gram occurs, as trm_cider does."""
    from manycaps.kit.ngrams import document_frequencies
    from manycaps.kit.words_tokenizers import tokenize_rows

    return document_frequencies(tokenize_rows(list(references), tokenizer))


@functools.cache
def load_scorer(name: str, options: str, are_single: bool) -> Scorer:
    """Return a metric that stays loaded in this process; `options` is JSON, which can be a key."""
    return Scorer(name, json.loads(options), are_single)
