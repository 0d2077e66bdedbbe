"""How far captions name the classes of other data sets, and what captions that share a class are worth."""

import math

import evaluate

from .base import WHATS_CITATION, About, CollectionModule, Effect, as_caption_rows, check_flag, signature
from .concept_overlap import WAYS, best_transfer, check_labels, concept_matches, digest, load_labels, row_matches
from .tokenization import check_tokenizer, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .ngram_scores import NgramOrder as NgramOrder

_DESCRIPTION = """
vdtk_concept_overlap says how many images have a caption that names a class of another data set, such as one on which a
feature extractor was trained; and on request what the best caption of another image scores that shares such a class.
"""

_KWARGS_DESCRIPTION = """
Args:
    data: n_rows lists of captions, or n_rows strings.
    labels: mapping from names, with which keys of the result begin, to lists of labels or to text files with one label
        per line; must be given.
    transfer: True scores, for each row, the captions of others that share a label; default False.
    training: rows of captions from which these are taken; default: those of data.
    tokenizer: "ptb" (default), another name of a tokenizer, or a function from a caption to its tokens.
    details: True adds per-row lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    <name>_exact, <name>_words, <name>_fuzzy: share of the rows with a caption that names a label of the list, 0 to 1:
        as a part of its text (the paper's), as whole words, or by the stems of its words in any order.
    <name>_labels_exact, <name>_labels_words, <name>_labels_fuzzy: share of the labels that some caption names.
    <name>_n_labels: number of labels.
    <name>_transfer_bleu_4: with transfer; BLEU-4 of the best caption of another row that shares a label, mean over the
        rows that have one; <name>_transfer_mean_bleu_4: of all such captions; <name>_transfer_n_rows: rows behind both.
    n_rows: number of rows.
    ..._per_row, signature: with details.
Examples:
    >>> vdtk_concept_overlap = evaluate.load("measurements/vdtk_concept_overlap")
    >>> result = vdtk_concept_overlap.compute(data=[["two dogs run"], ["a man cooks"]], labels={"pets": ["dog", "cat"]})
    >>> result["pets_exact"], result["pets_words"], result["pets_fuzzy"], result["pets_labels_exact"]
    (0.5, 0.0, 0.5, 0.5)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class VdtkConceptOverlap(CollectionModule, evaluate.Measurement):
    """Overlap of captions with lists of labels, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        WHATS_CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/2205.06253", "https://github.com/CannyLab/vdtk"],
    )
    OWN_COLUMNS = ("data",)
    DEFAULTS = {"labels": None, "transfer": False, "training": None, "tokenizer": "ptb", "details": False}
    EFFECTS = {"training": Effect("transfer", "True", lambda options: options["transfer"])}
    token_finder = token_finder

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        if options["labels"] is not None:
            check_labels(options["labels"])
        check_flag("transfer", options["transfer"])
        if options["training"] is not None:
            as_caption_rows(options["training"], "training")
        check_tokenizer(options["tokenizer"])
        check_flag("details", options["details"])

    def _compute(self, data, options):
        if options["labels"] is None:
            check_labels(options["labels"])
        lists = {name: load_labels(name, source) for name, source in options["labels"].items()}
        result, per_row = {}, {}
        for name, labels in lists.items():
            for way in WAYS:
                matches = row_matches(data, labels, way, options["tokenizer"])
                has_one = matches.sum(axis=1) > 0
                result[f"{name}_{way}"] = float(has_one.mean())
                result[f"{name}_labels_{way}"] = float((matches.sum(axis=0) > 0).mean())
                per_row[f"{name}_{way}_per_row"] = has_one.tolist()
            result[f"{name}_n_labels"] = len(labels)
            if options["transfer"]:
                best, mean, n_candidates = self._transfer(data, labels, options)
                result[f"{name}_transfer_bleu_4"] = mean_of_numbers(best)
                result[f"{name}_transfer_mean_bleu_4"] = mean_of_numbers(mean)
                result[f"{name}_transfer_n_rows"] = int((n_candidates > 0).sum())
                per_row[f"{name}_transfer_bleu_4_per_row"] = best.tolist()
        result["n_rows"] = len(data)
        if options["details"]:
            digests = "+".join(f"{name}:{len(labels)}:{digest(labels)}" for name, labels in lists.items())
            tokenizer = None if options["tokenizer"] == "ptb" else tokenizer_name(options["tokenizer"])
            made_by = signature("vdtk_concept_overlap", labels=digests, tokenizer=tokenizer)
            result |= per_row | {"signature": made_by}
        return result

    def _transfer(self, data, labels, options):
        """Scores of captions that share a label with a row."""
        training, tokenizer = options["training"], options["tokenizer"]
        rows = data if training is None else as_caption_rows(training, "training")
        captions = [caption for row in rows for caption in row]
        # Captions of equal tokens are one: the first stands for all, with the labels of its own text.
        tokens = {tuple(t): i for i, t in reversed(list(enumerate(tokenize_rows([captions], tokenizer)[0])))}
        chosen = sorted(tokens.values())
        texts = [captions[i] for i in chosen]
        tokens = {i: list(t) for t, i in tokens.items()}
        return best_transfer(
            [tokens[i] for i in chosen],
            tokenize_rows(data, tokenizer),
            concept_matches(texts, labels, "exact"),
            row_matches(data, labels, "exact"),
        )


def mean_of_numbers(values):
    """Mean of the values that are not NaN; NaN if there are none. fsum is exact, whatever the order of the rows."""
    numbers = [value for value in values.tolist() if not math.isnan(value)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
