"""METEOR 1.5, the METEOR of captioning papers, without Java."""

import math

import evaluate

from .arrays import cut_runs, row_means
from .meteor15_data import METEOR15_DATA, check_paraphrases, load_lexicon
from .meteor15_scores import best_statistics, check_meteor15_tokenizer, corpus_score, scores
from .meteor15_words import FUNCTION_WORDS, LANGUAGES, stemmer_version
from .module import CollectionModule, signature
from .options import DETAILS, About, Option, by_value, one_of, value_table
from .rows import CAPTIONS
from .words_tokenizers import token_finder, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .meteor15_search import Matches as Matches
from .ngrams import RowTexts as RowTexts
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
METEOR 1.5 aligns the words of a caption with the words of human captions by form, stem, synonyms and paraphrases. The
score is the weighted harmonic mean of precision and recall, less a penalty for broken order. It is the METEOR column of
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

_EXAMPLES = """
>>> meteor15 = evaluate.load("metrics/meteor15")  # on the Hub: "manycaps/meteor15"
>>> result = meteor15.compute(
...     predictions=["a man watches a film", "a dog runs"],
...     references=[["a man watches a movie", "a person in a cinema"], ["a dog is running on the beach"]],
... )
>>> {key: round(result[key], 4) for key in ("meteor15", "meteor15_mean")}
{'meteor15': 0.3957, 'meteor15_mean': 0.5731}
"""


class Meteor15(CollectionModule, evaluate.Metric):
    """METEOR 1.5 of captions against human captions, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _EXAMPLES,
        ["https://aclanthology.org/W14-3348", "https://www.cs.cmu.edu/~alavie/METEOR/"],
    )
    COLUMNS = CAPTIONS
    OPTIONS = (
        {
            "tokenizer": Option(
                "ptb",
                by_value(check_meteor15_tokenizer),
                '`"ptb"` (tokens of the COCO caption code, lower-case and without punctuation, as in papers), `"raw"` '
                "(the captions as they are), another name of a tokenizer, as bleu_rouge has them, or a function. "
                "METEOR 1.5 splits the tokens into words of its own.",
            ),
            "language": Option(
                "en",
                one_of(LANGUAGES),
                '`"en"`, `"de"`, `"fr"`, `"es"`, `"cs"` or `"ru"`, each with the parameters of Denkowski and Lavie '
                "(2014).",
            ),
            "function_words": Option(
                "english",
                one_of(FUNCTION_WORDS),
                '`"english"` (the Java program, called with a language, keeps the English ones) or `"language"` (the '
                "paraphrases of the language, which its option `-s` gives).",
            ),
            "paraphrases": Option(
                None,
                by_value(check_paraphrases),
                "Path of a table such as `paraphrase-de.gz` of the METEOR 1.5 release; by default the file of that "
                "name beside the program. Without one, languages other than English match words by form and stem "
                "alone.",
            ),
        }
        | METEOR15_DATA
        | DETAILS
    )
    VALUES = value_table("""
        * meteor15 | 0 to 1 | higher | score of the corpus, from the statistics of all candidates, each against its best
            reference, added up: what papers report
        * meteor15_mean | 0 to 1 | higher | mean over rows of the mean over a row's candidates of their own scores
        n_rows | | | number of rows
        meteor15_per_row, meteor15_per_candidate | 0 to 1 | higher | with `details`
        meteor15_statistics | | | with `details`: for each candidate the 23 numbers that the Java program prints
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder

    def result(self, predictions, references, options):
        """Score the captions, and return the result."""
        progress, given = self.progress, (options[name] for name in ("language", "function_words", "paraphrases"))
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
            result["meteor15_per_candidate"] = cut_runs(per_candidate.tolist(), sizes)
            result["meteor15_statistics"] = cut_runs(statistics.tolist(), sizes)
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
