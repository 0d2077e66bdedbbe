"""CHAIR: objects in captions that are not in the image, without Java or weights, beside people's own value."""

import evaluate

from .base import About, CollectionModule, check_confidence_level, check_flag, signature
from .caption_sets import check_clusters
from .object_words import checked_objects, coco_vocabulary, compared_rows, object_sums, object_values, own_vocabulary
from .tokenization import check_tokenizer, token_finder, tokenize_rows, tokenizer_name

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

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of human captions; may be left out where objects are given.
    objects: n_rows lists of names of objects in the image, such as COCO's instances; default: what references name.
        With both, an object is in the image if either says so.
    vocabulary: mapping from names of objects to lists of words; default: COCO's 80 objects, with the published
        synonyms.
    tokenizer: name of a tokenizer, or a function from a caption to its words; default: English words in the singular
        form, as the published program reads them.
    confidence_level: for example 0.95 adds intervals; default: none.
    clusters: one label per row, equal ones for rows that depend on each other; default: none do.
    details: True adds per-row and per-candidate lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    chair_i: share of the mentions of objects that are hallucinated, 0 to 1, lower is better; NaN without a mention.
    chair_s: share of the captions that name an object which is not in the image, 0 to 1, lower is better; mean over
        rows.
    recall: share of the objects in the image that the captions name, 0 to 1, higher is better.
    chair_i_of_people, chair_s_of_people, recall_of_people: the same of the references, each by the ground truth without
        it; NaN where no row has two references, or one beside objects.
    chair_s_beside_people: chair_s by the same ground truths: share of the captions that name an object which none of
        the other people names.
    chair_s_gap: chair_s_beside_people less chair_s_of_people, -1 to 1; 0 for people.
    chair_p_value: of this gap, two-sided; NaN below 50 rows, as is the interval of the gap.
    n_rows: number of rows.
    ..._ci_low, ..._ci_high: with confidence_level, ends of the intervals of chair_s and chair_s_gap.
    chair_s_per_row: with details.
    chair_s_beside_people_per_row, chair_s_of_people_per_row: with details.
    objects_per_candidate, hallucinated_per_candidate: with details, [object, word, number of its token] of each
        mention.
    signature: with details.
Examples:
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


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Chair(CollectionModule, evaluate.Metric):
    """Hallucinated objects of captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/1809.02156"])
    OWN_COLUMNS = ("predictions", "references")
    DEFAULTS = {
        "objects": None,
        "vocabulary": None,
        "tokenizer": None,
        "confidence_level": None,
        "clusters": None,
        "details": False,
    }

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        if options["tokenizer"] is not None:
            check_tokenizer(options["tokenizer"])
        vocabulary_of(options)
        check_confidence_level(options["confidence_level"])
        check_flag("details", options["details"])

    def has_token(self, options):
        """Return the function that says whether something of a caption is read with these options."""
        tokenizer = options["tokenizer"]
        return super().has_token(options) if tokenizer is None else token_finder(tokenizer)

    def checked_columns(self, options, predictions, references):
        """Return both columns as lists of lists; without references, the lists of theirs are empty."""
        if references is not None:
            return super().checked_columns(options, predictions=predictions, references=references)
        checked = super().checked_columns(options, predictions=predictions)
        return checked | {"references": [[] for _ in checked["predictions"]]}

    def _compute(self, predictions, references, options):
        return self.scored(predictions, references, options)[0]

    def scored(self, predictions, references, options):
        """Return the result, and what the values of a larger corpus are made of."""
        n_rows = len(predictions)
        if options["objects"] is None and not all(references):
            raise ValueError(
                "references: expected human captions in each row, or objects=, got neither. Give one of them: they say "
                "what is in the image."
            )
        if options["clusters"] is not None:
            check_clusters(options["clusters"], n_rows)
        vocabulary = vocabulary_of(options)
        known = None
        if options["objects"] is not None:
            known = checked_objects(options["objects"], n_rows, vocabulary)
        rows = compared_rows(predictions, references, known, vocabulary)
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
        }


def vocabulary_of(options):
    """Return the vocabulary that the options name."""
    tokenizer = options["tokenizer"]
    words = None if tokenizer is None else lambda text: tokenize_rows([[text]], tokenizer)[0][0]
    if options["vocabulary"] is not None:
        return own_vocabulary(options["vocabulary"], words)
    return coco_vocabulary() if words is None else coco_vocabulary()._replace(words=words)


def details_of(rows):
    """Return the lists of rows and candidates."""
    shares = zip(*(row.shares for row in rows), strict=True)
    names = "chair_s_per_row", "chair_s_beside_people_per_row", "chair_s_of_people_per_row"
    return {
        **{name: list(of_rows) for name, of_rows in zip(names, shares, strict=True)},
        "objects_per_candidate": [[list(map(list, caption)) for caption in row.named] for row in rows],
        "hallucinated_per_candidate": [[list(map(list, caption)) for caption in row.hallucinated] for row in rows],
    }
