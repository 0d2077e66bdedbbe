"""The seven numbers of COCO's caption evaluation in one call, without Java."""

import evaluate

from .base import COCO_CITATION, About, CollectionModule, check_choice, check_flag, scored_result, signature
from .coco_scores import BEST_OF, BLEUS, METEOR, best_candidates, coco_scores, corpus_numbers, corpus_sums
from .meteor15_scores import check_data_source, load_lexicon
from .meteor15_search import LANGUAGES, stemmer_version
from .ngram_scores import check_document_frequency, reloaded_table
from .tokenization import check_tokenizer, ngram_tokens, token_finder, tokenizer_name

_DESCRIPTION = """
The evaluation of captions as the COCO caption code (pycocoevalcap) does it: BLEU-1 to 4, METEOR 1.5, ROUGE-L and CIDEr,
which is CIDEr-D. The same tokens and the same numbers, without Java, for the corpus and for every caption.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings.
    tokenizer: "ptb" (default, the tokens of the COCO caption code), a name for other languages such as "zh-jieba" or
        "spacy:de", or a function from a caption to its tokens.
    language: of METEOR 1.5, "en" (default), "de", "fr", "es", "cs" or "ru".
    document_frequency: a table of document frequencies for CIDEr, a JSON file or a mapping; default: counted in the
        references of this call, as the COCO caption code does.
    meteor15_data: path of meteor-1.5.jar, or of a folder that holds it; default: that of the package pycocoevalcap.
    best_of: True adds the numbers of the best candidate of every row, by each number itself; default False.
    details: True adds per-row lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    Bleu_1, Bleu_2, Bleu_3, Bleu_4, METEOR: of all candidates together, from summed statistics, 0 to 1, higher is
        better.
    ROUGE_L, CIDEr: mean over rows of the mean over a row's candidates; 0 to 1, and 0 to 10. CIDEr of one row is NaN
        without a table: one document has no document frequencies.
    Bleu_4_mean, METEOR_mean: mean over rows of the values of single candidates; other numbers.
    n_rows: number of rows.
    ..._best_of, Bleu_4_best_of_mean, METEOR_best_of_mean: with best_of.
    ..._per_row, ..._per_candidate, ..._best_of_per_row, signature: with details.
Examples:
    >>> coco_caption = evaluate.load("metrics/coco_caption")  # on the Hub: "manycaps/coco_caption"
    >>> result = coco_caption.compute(
    ...     predictions=["a man watches a film", "a dog runs"],
    ...     references=[["A man watches a movie.", "a person in a cinema"], ["A dog is running on the beach"]],
    ... )
    >>> {key: round(result[key], 3) for key in ("Bleu_4", "METEOR", "ROUGE_L", "CIDEr")}
    {'Bleu_4': 0.361, 'METEOR': 0.396, 'ROUGE_L': 0.587, 'CIDEr': 2.192}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CocoCaption(CollectionModule, evaluate.Metric):
    """BLEU, METEOR 1.5, ROUGE-L and CIDEr-D of captions against human captions, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        COCO_CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/1504.00325", "https://github.com/tylin/coco-caption"],
    )
    OWN_COLUMNS = ("predictions", "references")
    DEFAULTS = {
        "tokenizer": "ptb",
        "language": "en",
        "document_frequency": None,
        "meteor15_data": None,
        "best_of": False,
        "details": False,
    }
    token_finder = token_finder
    progress = evaluate.utils.logging.tqdm
    CACHED = frozenset({"table"})
    table = None

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_tokenizer(options["tokenizer"])
        check_choice("language", options["language"], LANGUAGES)
        check_document_frequency(options["document_frequency"])
        check_data_source(options["meteor15_data"])
        check_flag("best_of", options["best_of"])
        check_flag("details", options["details"])

    def _compute(self, predictions, references, options):
        return self.scored(predictions, references, options)[0]

    def scored(self, predictions, references, options):
        """Return the result, and the sums that give the numbers of a larger corpus."""
        progress = type(self).progress
        tokens = (ngram_tokens(rows, options["tokenizer"]) for rows in (predictions, references))
        lexicon = load_lexicon(options["meteor15_data"], progress, options["language"])
        scored = coco_scores(*tokens, lexicon, progress, self._table(options["document_frequency"]))
        sizes = [len(row) for row in predictions]
        best = best_candidates(scored, sizes) if options["best_of"] else {}
        sums = corpus_sums(scored, best)
        result = scored_result(scored.scores, sizes, options["details"])
        chosen = {f"{name}{BEST_OF}": scored.scores[name][these] for name, these in best.items()}
        result |= scored_result(chosen, [1] * len(sizes), details=False)
        for name in (BLEUS[-1], METEOR):
            result |= {f"{key}_mean": result[key] for key in (name, f"{name}{BEST_OF}") if key in result}
        result |= corpus_numbers(sums, lexicon.data.language)
        if options["details"]:
            result |= {f"{name}_per_row": values.tolist() for name, values in chosen.items()}
            n_documents = len(sizes) if options["document_frequency"] is None else self.table.frequency.n_documents
            source = "references" if options["document_frequency"] is None else "table"
            settings = {"document_frequency": source, "n_documents": n_documents}
            result["signature"] = self._signature(options, settings, lexicon.data.version)
        return result, sums

    def _table(self, source):
        if source is None:
            return None
        self.table = reloaded_table(source, self.table)
        return self.table.frequency

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
