"""The seven numbers of COCO's caption evaluation in one call, without Java."""

import evaluate

from .arrays import build_result
from .coco_scores import BEST_OF, BLEUS, METEOR, best_candidates, coco_scores, corpus_numbers, corpus_sums
from .meteor15_data import METEOR15_DATA, load_lexicon
from .meteor15_words import LANGUAGES, stemmer_version
from .module import CollectionModule, signature
from .ngrams import DOCUMENT_FREQUENCY, FREQUENCIES
from .options import COCO_CITATION, DETAILS, About, Option, check_flag, one_of, value_table
from .rows import CAPTIONS
from .words_tokenizers import TOKENIZER, ngram_tokens, token_finder, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .meteor15_scores import pair_statistics as pair_statistics
from .meteor15_search import Matches as Matches
from .ngrams_bleu import bleu_scores as bleu_scores
from .ngrams_cider import cider_scores as cider_scores
from .ngrams_rouge import f_measure as f_measure
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
The evaluation of captions as the COCO caption code (pycocoevalcap) does it: BLEU-1 to 4, METEOR 1.5, ROUGE-L and CIDEr,
which is CIDEr-D. The same tokens and the same numbers, without Java, for the corpus and for every caption.
"""

_EXAMPLES = """
>>> coco_caption = evaluate.load("metrics/coco_caption")  # on the Hub: "manycaps/coco_caption"
>>> result = coco_caption.compute(
...     predictions=["a man watches a film", "a dog runs"],
...     references=[["A man watches a movie.", "a person in a cinema"], ["A dog is running on the beach"]],
... )
>>> {key: round(result[key], 3) for key in ("Bleu_4", "METEOR", "ROUGE_L", "CIDEr")}
{'Bleu_4': 0.361, 'METEOR': 0.396, 'ROUGE_L': 0.587, 'CIDEr': 2.192}
"""


class CocoCaption(CollectionModule, evaluate.Metric):
    """BLEU, METEOR 1.5, ROUGE-L and CIDEr-D of captions against human captions, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        COCO_CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/1504.00325", "https://github.com/tylin/coco-caption"],
    )
    COLUMNS = CAPTIONS
    OPTIONS = (
        TOKENIZER
        | {
            "language": Option(
                "en",
                one_of(LANGUAGES),
                'Of METEOR 1.5: `"en"`, `"de"`, `"fr"`, `"es"`, `"cs"` or `"ru"`, as in meteor15.',
            )
        }
        | DOCUMENT_FREQUENCY
        | METEOR15_DATA
        | {
            "best_of": Option(
                False,
                check_flag,
                "`True` adds the numbers of the best candidate of every row: an oracle, which chooses separately for "
                "each number.",
            )
        }
        | DETAILS
    )
    VALUES = value_table("""
        * Bleu_4, METEOR | 0 to 1 | higher | of all candidates together: their statistics are
            summed first. Papers report this
        Bleu_1, Bleu_2, Bleu_3 | 0 to 1 | higher | the same for shorter n-grams
        * ROUGE_L | 0 to 1 | higher | mean over rows of the mean over a row's candidates. Papers report this
        * CIDEr | 0 to 10 | higher | the same. Papers report this. NaN for a single row without a table of document
            frequencies
        Bleu_4_mean, METEOR_mean | 0 to 1 | higher | mean over rows of the values of single candidates, which is not the
            corpus score
        n_rows | | | number of rows
        ..._best_of, Bleu_4_best_of_mean, METEOR_best_of_mean | | higher | with `best_of`: as those above, of the best
            candidate of every row
        ..._per_row, ..._per_candidate, ..._best_of_per_row | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder
    PARTS = FREQUENCIES

    def result(self, predictions, references, options):
        """Score the captions, and return the result."""
        return self.score_with_sums(predictions, references, options)[0]

    def score_with_sums(self, predictions, references, options):
        """Return the result, and the sums that give the numbers of a larger corpus."""
        progress, source = self.progress, options["document_frequency"]
        table = None if source is None else self.frequencies.load(source, options["tokenizer"])
        tokens = (ngram_tokens(rows, options["tokenizer"]) for rows in (predictions, references))
        lexicon = load_lexicon(options["meteor15_data"], progress, options["language"])
        scored = coco_scores(*tokens, lexicon, progress, table)
        sizes = [len(row) for row in predictions]
        best = best_candidates(scored, sizes) if options["best_of"] else {}
        sums = corpus_sums(scored, best)
        result = build_result(scored.scores, sizes, options["details"])
        chosen = {f"{name}{BEST_OF}": scored.scores[name][these] for name, these in best.items()}
        result |= build_result(chosen, [1] * len(sizes), details=False)
        for name in (BLEUS[-1], METEOR):
            result |= {f"{key}_mean": result[key] for key in (name, f"{name}{BEST_OF}") if key in result}
        result |= corpus_numbers(sums, lexicon.data.language)
        if options["details"]:
            result |= {f"{name}_per_row": values.tolist() for name, values in chosen.items()}
            settings = {"document_frequency": "table" if table else "references"}
            settings["n_documents"] = table.n_documents if table else len(sizes)
            result["signature"] = self._signature(options, settings, lexicon.data.version)
        return result, sums

    def _signature(self, options, settings, version):
        language, is_english = options["language"], options["language"] == "en"
        return signature(
            "coco_caption",
            tokenizer=tokenizer_name(options["tokenizer"]),
            **settings,
            language=None if is_english else language,
            stems=None if is_english else stemmer_version(language),
            meteor15=version or "no paraphrases",
        )
