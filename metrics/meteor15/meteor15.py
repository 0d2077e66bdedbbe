"""METEOR 1.5, the METEOR of captioning papers, without Java."""

import math

import evaluate

from .base import About, CollectionModule, check_flag, row_means, signature, split_rows
from .meteor15_scores import (
    best_statistics,
    check_data_source,
    check_language,
    check_meteor15_tokenizer,
    corpus_score,
    load_lexicon,
    scores,
)
from .meteor15_search import stemmer_version
from .tokenization import token_finder, tokenizer_name

_DESCRIPTION = """
METEOR 1.5 aligns the words of a caption with those of human captions by form, stem, synonyms and paraphrases. The score
is the weighted harmonic mean of precision and recall, less a penalty for broken order. It is the METEOR column of
captioning papers, computed here without Java: the same alignments and the same scores. Higher is better.
"""

_CITATION = """
@inproceedings{denkowski2014meteor,
  title={Meteor Universal: Language Specific Translation Evaluation for Any Target Language},
  author={Denkowski, Michael and Lavie, Alon},
  booktitle={Proceedings of the Ninth Workshop on Statistical Machine Translation},
  year={2014}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings.
    tokenizer: "ptb" (default, the tokens of the COCO caption code, without punctuation), "raw" (the captions as they
        are), another name of a tokenizer, or a function. METEOR 1.5 splits the tokens into words of its own.
    language: "en" (default), "de", "fr", "es", "cs" or "ru", each with the parameters of Denkowski and Lavie (2014).
    function_words: "english" (default, as the Java program has it for every language) or "language".
    paraphrases: path of a table such as paraphrase-de.gz; default: the one beside the program. Without one, languages
        other than English match words by form and stem alone.
    meteor15_data: path of meteor-1.5.jar, or of a folder that holds it; default: that of the package pycocoevalcap.
    details: True adds per-row lists, the statistics and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    meteor15: score of the corpus, from the summed statistics of all candidates, each against its best reference: 0 to
        1; higher is better. It is what the COCO caption code and papers report.
    meteor15_mean: mean over rows of the mean over a row's candidates of their own scores, 0 to 1.
    n_rows: number of rows.
    meteor15_per_row, meteor15_per_candidate, meteor15_statistics, signature: with details; the statistics are the 23
        numbers that the Java program prints for each candidate.
Examples:
    >>> meteor15 = evaluate.load("metrics/meteor15")  # on the Hub: "manycaps/meteor15"
    >>> result = meteor15.compute(
    ...     predictions=["a man watches a film", "a dog runs"],
    ...     references=[["a man watches a movie", "a person in a cinema"], ["a dog is running on the beach"]],
    ... )
    >>> {key: round(result[key], 4) for key in ("meteor15", "meteor15_mean")}
    {'meteor15': 0.3957, 'meteor15_mean': 0.5731}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Meteor15(CollectionModule, evaluate.Metric):
    """METEOR 1.5 of captions against human captions, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _KWARGS_DESCRIPTION,
        ["https://aclanthology.org/W14-3348", "https://www.cs.cmu.edu/~alavie/METEOR/"],
    )
    OWN_COLUMNS = ("predictions", "references")
    DEFAULTS = {
        "tokenizer": "ptb",
        "language": "en",
        "function_words": "english",
        "paraphrases": None,
        "meteor15_data": None,
        "details": False,
    }
    token_finder = token_finder
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_meteor15_tokenizer(options["tokenizer"])
        check_language(options["language"], options["function_words"], options["paraphrases"])
        check_data_source(options["meteor15_data"])
        check_flag("details", options["details"])

    def _compute(self, predictions, references, options):
        progress, given = type(self).progress, (options[name] for name in ("language", "function_words", "paraphrases"))
        lexicon = load_lexicon(options["meteor15_data"], progress, *given)
        sizes = [len(row) for row in predictions]
        statistics = best_statistics(predictions, references, lexicon, progress, options["tokenizer"])
        per_candidate = scores(statistics, lexicon.data.language)
        per_row = row_means(per_candidate, sizes)
        result = {
            "meteor15": corpus_score(statistics, lexicon.data.language),
            # fsum is exact, so the order of the rows cannot change the last digit.
            "meteor15_mean": math.fsum(per_row) / len(per_row),
            "n_rows": len(sizes),
        }
        if options["details"]:
            result["meteor15_per_row"] = per_row
            result["meteor15_per_candidate"] = split_rows(per_candidate.tolist(), sizes)
            result["meteor15_statistics"] = split_rows(statistics.tolist(), sizes)
            result["signature"] = self._signature(options, lexicon.data.version)
        return result

    def _signature(self, options, version):
        language, is_english = options["language"], options["language"] == "en"
        return signature(
            "meteor15",
            tokenizer=tokenizer_name(options["tokenizer"]),
            language=None if is_english else language,
            function_words=None if is_english else options["function_words"],
            stems=None if is_english else stemmer_version(language),
            data=version or "no paraphrases",
        )
