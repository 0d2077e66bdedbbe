"""Novelty: what of captions does not occur in the training captions, beside people's own value."""

import itertools

import evaluate
import numpy as np

from .base import About, CollectionModule, check_flag, signature
from .novel_ngrams import (
    OtherReferences,
    TrainingCaptions,
    caption_novelty,
    check_training,
    is_references,
    novelty_details,
    novelty_values,
)
from .tokenization import check_tokenizer, token_finder, tokenize_rows, tokenizer_name

_DESCRIPTION = """
Novelty says how much of what a system writes it has from its training captions: the share of captions that occur among
them, the share of n-grams that do not, and the longest run of words that one of them also has. Beside it stands what
human captions of the same images have.
"""

_CITATION = """
@inproceedings{dai2017towards,
  title={Towards Diverse and Natural Image Descriptions via a Conditional {GAN}},
  author={Dai, Bo and Fidler, Sanja and Urtasun, Raquel and Lin, Dahua},
  booktitle={Proceedings of the IEEE International Conference on Computer Vision},
  pages={2970--2979}, year={2017}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of human captions, or n_rows strings.
    training: the training captions: a list or column of captions or of lists of captions, or the path of a text file
        with one caption per line, also gzip; or "references" (default): for every row, the references of all others.
    tokenizer: "ptb" (default, the tokens of the COCO caption code), another name of a tokenizer, or a function from a
        caption to its tokens.
    details: True adds per-row lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    novel_share: share of the candidates whose tokens are those of no training caption, 0 to 1.
    novel_1gram_share, novel_2gram_share, novel_3gram_share, novel_4gram_share: share of the n-grams of all candidates
        that occur in no training caption, 0 to 1; NaN where no candidate has any.
    longest_copied_run: mean over candidates of the number of tokens of the longest run that a training caption also
        has, at most 64.
    ..._of_people: the same of the references: what novelty a human caption of these images has.
    n_training: number of training captions.
    n_rows: number of rows.
    is_novel_per_candidate, longest_run_per_candidate, signature: with details.
Examples:
    >>> novelty = evaluate.load("measurements/novelty")  # on the Hub: "manycaps/novelty"
    >>> result = novelty.compute(
    ...     predictions=["a dog runs on the beach", "a cat"],
    ...     references=["a wet dog plays", "a cat sleeps on a chair"],
    ...     training=["a dog runs", "a cat", "on the beach"],
    ... )
    >>> result["novel_share"], round(result["novel_2gram_share"], 2), result["longest_copied_run"]
    (0.5, 0.17, 2.5)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Novelty(CollectionModule, evaluate.Measurement):
    """Novelty of captions beside training captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/1703.06029"])
    OWN_COLUMNS = ("predictions", "references")
    token_finder = token_finder
    DEFAULTS = {"training": "references", "tokenizer": "ptb", "details": False}

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_training(options["training"])
        check_tokenizer(options["tokenizer"])
        check_flag("details", options["details"])

    def _compute(self, predictions, references, options):
        texts = tokenize_rows([*predictions, *references], options["tokenizer"])
        sizes = [len(row) for row in texts]
        rows = np.repeat(np.tile(np.arange(len(predictions)), 2), sizes)
        captions = [tokens for row in texts for tokens in row]
        is_candidate = np.arange(len(captions)) < sum(sizes[: len(predictions)])
        if is_references(options["training"]):
            people = itertools.compress(captions, ~is_candidate)
            training = OtherReferences(list(people), rows[~is_candidate])
        else:
            training = TrainingCaptions(options["training"], options["tokenizer"])
        found = caption_novelty(captions, rows, training)
        result = novelty_values(found, is_candidate) | novelty_values(found, ~is_candidate, "_of_people")
        result |= {"n_training": training.n_captions, "n_rows": len(predictions)}
        if options["details"]:
            source = "references" if isinstance(training, OtherReferences) else "given"
            settings = {"tokenizer": tokenizer_name(options["tokenizer"]), "training": source}
            result |= novelty_details(found, sizes[: len(predictions)]) | {
                "signature": signature("novelty", **settings)
            }
        return result
