"""CHAIR: objects in captions that are not in the image, without Java or weights, beside people's own value."""

import evaluate

from .errors import InputError
from .module import CollectionModule, signature
from .object_words import as_objects, coco_vocabulary, compare_rows, object_sums, object_values, own_vocabulary
from .options import (
    DETAILS,
    INTERVALS,
    About,
    Option,
    by_value,
    check_beside_rows,
    check_together,
    or_none,
    value_table,
)
from .rows import CAPTIONS
from .sets_tests import check_clusters
from .words_tokenizers import check_tokenizer, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
CHAIR finds objects that captions name and that are not in the image: the share of hallucinated mentions (CHAIR-i) and
of captions with one (CHAIR-s). What is in the image is said by labels, by human captions, or by both. Beside it stands
people's own value: how often a human caption names what no other one of its image names.
"""

_CITATION = """
@inproceedings{rohrbach2018object,
  title={Object Hallucination in Image Captioning},
  author={Rohrbach, Anna and Hendricks, Lisa Anne and Burns, Kaylee and Darrell, Trevor and Saenko, Kate},
  booktitle={Proceedings of the 2018 Conference on Empirical Methods in Natural Language Processing},
  pages={4035--4045}, year={2018},
  url={https://aclanthology.org/D18-1437}
}
"""

_EXAMPLES = """
>>> chair = evaluate.load("metrics/chair")  # on the Hub: "manycaps/chair"
>>> result = chair.compute(
...     predictions=["a puppy on a bed", "two men on a bench"],
...     references=[["a dog sleeps", "a dog lies on the floor"], ["men on a bench", "people sit on a bench"]],
...     details=True,
... )
>>> result["chair_i"], result["chair_s"], result["chair_s_of_people"]
(0.25, 0.5, 0.0)
>>> result["hallucinated_per_candidate"][0]
[[['bed', 'bed', 4]]]
"""


def vocabulary_of(options):
    """Return the vocabulary that the options name."""
    tokenizer = options["tokenizer"]
    words = None if tokenizer is None else lambda text: tokenize_rows([[text]], tokenizer)[0][0]
    if options["vocabulary"] is not None:
        return own_vocabulary(options["vocabulary"], words)
    return coco_vocabulary() if words is None else coco_vocabulary()._replace(words=words)


class Chair(CollectionModule, evaluate.Metric):
    """Hallucinated objects of captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES, ["https://arxiv.org/abs/1809.02156"])
    COLUMNS = CAPTIONS | {"references": ("n_rows lists of human captions; may be left out where `objects` are given.")}
    OPTIONS = (
        {
            "objects": Option(
                None,
                check_beside_rows,
                'n_rows lists of names of objects in the image, such as COCO\'s instances: `[["dog", "bed"], []]`; by '
                "default what references name. With both, an object is in the image if either says so: the published "
                "way.",
            ),
            "vocabulary": Option(
                None,
                check_together,
                'Your own objects, `{"dog": ["puppy", "hound"], "traffic light": []}`; a name is among its words. By '
                "default COCO's 80 objects, with the published synonyms.",
                fits=vocabulary_of,
            ),
            "tokenizer": Option(
                None,
                or_none(by_value(check_tokenizer)),
                "A name or a function, for other languages: words are looked up as it gives them. By default NLTK's "
                "English tokens in the singular form (TextBlob's rules, which are pattern's).",
            ),
        }
        | INTERVALS
        | DETAILS
    )
    OPTIONAL_COLUMNS = frozenset({"references"})
    VALUES = value_table("""
        * chair_i | 0 to 1 | lower | share of the mentions of objects that are hallucinated; NaN without a mention
        * chair_s | 0 to 1 | lower | share of the captions that name an object which is not in the image, mean over rows
        * recall | 0 to 1 | higher | share of the objects in the image that the captions name
        chair_i_of_people, chair_s_of_people, recall_of_people | 0 to 1 | | the same of the references, each by the
            ground truth without it; NaN where no row has two references, or one beside objects
        chair_s_compared | 0 to 1 | lower | `chair_s` by the same ground truths, so that it is comparable
        * chair_s_gap | -1 to 1 | lower | `chair_s_compared` less `chair_s_of_people`; 0 for people
        chair_p_value | 0 to 1 | | of the gap, two-sided: Student's over rows, or clusters, without skewness;
            NaN below 50, as is the interval of the gap
        n_rows | | | number of rows
        ..._ci_low, ..._ci_high | | | with `confidence_level`: ends of the intervals of `chair_s` and `chair_s_gap`
        chair_s_per_row, chair_s_compared_per_row, chair_s_of_people_per_row | | | with `details`
        objects_per_candidate, hallucinated_per_candidate | | | with `details`: `[object, word, number of its token]` of
            each mention
        signature | | | with `details`: everything that determines the numbers
    """)

    def has_token(self, options):
        """Return the function that says whether something of a caption is read with these options."""
        tokenizer = options["tokenizer"]
        return super().has_token(options) if tokenizer is None else token_finder(tokenizer)

    def result(self, predictions, references, options):
        """Find the objects that captions name, and return the result."""
        return self.score_with_sums(predictions, references, options)[0]

    def score_with_sums(self, predictions, references, options):
        """Return the result, and what the values of a larger corpus are made of."""
        n_rows = len(predictions)
        if options["objects"] is None and not all(references):
            raise InputError(
                "references", "captions in each row, or objects=", "neither", "Give one: they say what is in the image."
            )
        if options["clusters"] is not None:
            check_clusters(options["clusters"], n_rows)
        vocabulary = vocabulary_of(options)
        known = None
        if options["objects"] is not None:
            known = as_objects(options["objects"], n_rows, vocabulary)
        rows = compare_rows(predictions, references, known, vocabulary)
        if options["details"]:
            rows = list(rows)
        sums = object_sums(rows)
        result = object_values(sums, options["confidence_level"], options["clusters"]) | {"n_rows": n_rows}
        if options["details"]:
            result |= details_of(rows) | {"signature": signature("chair", **self.settings(options))}
        return result, sums

    def settings(self, options):
        """Return what decides the numbers, for the signature."""
        tokenizer = options["tokenizer"]
        return {
            "vocabulary": "own" if options["vocabulary"] is not None else "coco",
            "tokenizer": "singular" if tokenizer is None else tokenizer_name(tokenizer),
            "objects": "given" if options["objects"] is not None else None,
            "confidence_level": options["confidence_level"],
            "clusters": None if options["clusters"] is None else len(set(options["clusters"])),
        }


def details_of(rows):
    """Return the lists of rows and candidates."""
    shares = zip(*(row.shares for row in rows), strict=True)
    names = "chair_s_per_row", "chair_s_compared_per_row", "chair_s_of_people_per_row"
    return {
        **{name: list(row_shares) for name, row_shares in zip(names, shares, strict=True)},
        "objects_per_candidate": [[list(map(list, caption)) for caption in row.named] for row in rows],
        "hallucinated_per_candidate": [[list(map(list, caption)) for caption in row.hallucinated] for row in rows],
    }
