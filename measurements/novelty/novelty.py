"""Novelty: what of captions does not occur in the training captions, alone or beside people's own value."""

import itertools

import evaluate
import numpy as np

from .errors import InputError
from .module import CollectionModule, signature
from .novel_ngrams import (
    TrainingCaptions,
    caption_novelty,
    check_some_training,
    check_training,
    is_references,
    novelty_details,
    novelty_values,
    rows_of_images,
)
from .options import DETAILS, About, Option, by_value, value_table
from .rows import CAPTIONS, has_references
from .words_tokenizers import TOKENIZER, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .files import inline_bytes as inline_bytes
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
Novelty says how much of what a system writes it has from its training captions: the share of captions that occur among
them, the share of n-grams that do not, and the longest run of words that one of them also has. Where there are human
captions of the same images, their values stand beside it.
"""

_CITATION = """
@inproceedings{dai2017towards,
  title={Towards Diverse and Natural Image Descriptions via a Conditional {GAN}},
  author={Dai, Bo and Fidler, Sanja and Urtasun, Raquel and Lin, Dahua},
  booktitle={Proceedings of the IEEE International Conference on Computer Vision},
  pages={2970--2979}, year={2017}
}
"""

_EXAMPLES = """
>>> novelty = evaluate.load("measurements/novelty")  # on the Hub: "manycaps/novelty"
>>> captions, training = ["a dog runs on the beach", "a cat"], ["a dog runs", "a cat", "on the beach"]
>>> result = novelty.compute(predictions=captions, training=training)
>>> result["novel_share"], round(result["novel_2gram_share"], 2), result["longest_copied_run"]
(0.5, 0.17, 2.5)
>>> people = ["a wet dog plays", "a cat sleeps on a chair"]
>>> novelty.compute(predictions=captions, references=people, training=training)["longest_copied_run_of_people"]
1.5
"""


class Novelty(CollectionModule, evaluate.Measurement):
    """Novelty of captions beside training captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES, ["https://arxiv.org/abs/1703.06029"])
    COLUMNS = CAPTIONS | {
        "references": "n_rows lists of human captions, or n_rows strings; may be left out where `training` is given."
    }
    OPTIONAL_COLUMNS = frozenset({"references"})
    OPTIONS = (
        {
            "training": Option(
                "references",
                by_value(check_training),
                "The training captions: a list or a `datasets` column of captions or of lists of captions; the path "
                'of a text file with one caption per line (also `.gz`), which is read in chunks; or `"references"`: '
                "for every row, the references of all other rows, which asks how much of a caption anybody writes of "
                "other images.",
            )
        }
        | TOKENIZER
        | DETAILS
    )
    VALUES = value_table("""
        * novel_share | 0 to 1 | | share of the candidates whose tokens equal no training caption's
        * novel_4gram_share | 0 to 1 | | share of the 4-grams of all candidates that occur in no training caption; NaN
            where no candidate has any
        novel_1gram_share, novel_2gram_share, novel_3gram_share | 0 to 1 | | the same for shorter n-grams
        * longest_copied_run | 0 to 64 | | number of tokens of the longest run that one training caption also has, mean
            over candidates
        ..._of_people | | | the same of the references, where there are any: what novelty a human caption of these
            images has
        n_training | | | number of training captions
        n_rows | | | number of rows
        is_novel_per_candidate, longest_run_per_candidate | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder

    def result(self, predictions, references, options):
        """Look captions of both sides up in the training captions, and return the result."""
        has_people = has_references(references)
        if not has_people and is_references(options["training"]):
            raise InputError(
                "training", "training captions", "none, and no references of other rows in their place", "Give a list."
            )
        texts = tokenize_rows([*predictions, *references], options["tokenizer"])
        sizes = [len(row) for row in texts]
        is_other_rows = is_references(options["training"])
        images = rows_of_images(references) if is_other_rows else np.arange(len(predictions))
        rows = np.repeat(np.tile(images, 2), sizes)
        captions = [tokens for row in texts for tokens in row]
        is_candidate = np.arange(len(captions)) < sum(sizes[: len(predictions)])
        if is_other_rows:  # people's captions of the other rows
            people, source = list(itertools.compress(captions, ~is_candidate)), "references"
            check_some_training(any(people), "none in the references")
            counts = caption_novelty(captions, rows, [(people, rows[~is_candidate])])
            n_training = len(people)
        else:
            training, source = TrainingCaptions(options["training"], options["tokenizer"]), "given"
            counts = caption_novelty(captions, rows, training)
            training.check_not_empty()
            n_training = training.n_captions
        result = novelty_values(counts, is_candidate)
        if has_people:
            result |= novelty_values(counts, ~is_candidate, "_of_people")
        result |= {"n_training": n_training, "n_rows": len(predictions)}
        if options["details"]:
            settings = {"tokenizer": tokenizer_name(options["tokenizer"]), "training": source}
            result |= novelty_details(counts, sizes[: len(predictions)])
            result["signature"] = signature("novelty", **settings)
        return result
