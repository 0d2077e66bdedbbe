"""CIDEr-D of captions against human captions, with the numbers of the COCO caption code and without Java."""

import evaluate

from .arrays import build_result
from .module import CollectionModule, signature
from .ngrams import DOCUMENT_FREQUENCY, FREQUENCIES, NgramIndex, frequency_settings, joined_frequency
from .ngrams_cider import cider_scores
from .options import DETAILS, About, value_table
from .rows import CAPTIONS
from .words_tokenizers import TOKENIZER, ngram_tokens, token_finder, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
CIDEr-D is the metric by which captioning papers rank systems: the n-grams that a caption shares with human captions of
the image, weighted by how seldom they are said of other images. The numbers equal pycocoevalcap's, for the corpus and
for every caption, without Java.
"""

_CITATION = """
@inproceedings{vedantam2015cider,
  title={{CIDEr}: Consensus-based Image Description Evaluation},
  author={Vedantam, Ramakrishna and Zitnick, C. Lawrence and Parikh, Devi},
  booktitle={Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition},
  pages={4566--4575}, year={2015}
}
"""

_EXAMPLES = """
>>> cider_d = evaluate.load("metrics/cider_d")  # on the Hub: "manycaps/cider_d"
>>> result = cider_d.compute(
...     predictions=["a man watches a film", "a dog runs"],
...     references=[["A man watches a movie.", "a person in a cinema"], ["A dog is running on the beach"]],
...     details=True,
... )
>>> round(result["cider_d"], 3), [round(value, 3) for value in result["cider_d_per_row"]]
(2.192, [3.229, 1.156])
"""


class CiderD(CollectionModule, evaluate.Metric):
    """CIDEr-D of captions against human captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES, ["https://arxiv.org/abs/1411.5726"])
    COLUMNS = CAPTIONS
    OPTIONS = TOKENIZER | DOCUMENT_FREQUENCY | DETAILS
    VALUES = value_table("""
        * cider_d | 0 to 10 | higher | mean over rows of the mean over a row's candidates of CIDEr-D against all
            references of the row. Papers report this, often times 100
        n_rows | | | number of rows
        cider_d_per_row, cider_d_per_candidate | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder
    PARTS = FREQUENCIES

    def result(self, predictions, references, options):
        """Score the captions, and return the result."""
        frequency = self.frequencies.count(references, options)
        index = NgramIndex.of_rows(*(ngram_tokens(rows, options["tokenizer"]) for rows in (predictions, references)))
        scores = cider_scores(index, frequency=joined_frequency(frequency.counts), n_documents=frequency.n_documents)
        result = build_result({"cider_d": scores}, [len(row) for row in predictions], options["details"])
        if options["details"]:
            settings = {"tokenizer": tokenizer_name(options["tokenizer"]), **frequency_settings(frequency, options)}
            result["signature"] = signature("cider_d", **settings)
        return result
