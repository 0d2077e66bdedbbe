"""Wording: are captions put into words as people put them? By an n-gram model of people's captions, without weights."""

import evaluate

from .module import CollectionModule, signature
from .options import INTERVALS, About, Option, check_flag, value_table
from .rows import CAPTIONS
from .sets_tests import check_clusters
from .words_predictability import LANGUAGE_MODEL, load_language_model, number_texts, seen_references, wording_of
from .words_tests import corpus_wording, telling_phrases
from .words_tokenizers import TOKENIZER, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .ngrams import RowTexts as RowTexts
from .parity_tails import Tail as Tail
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
Wording says whether captions are put into words as people put them: broken language, such as doubled words or ends that
are missing, is less predictable to an n-gram model of people's captions, and a bland system's is more predictable. Both
are beside the 5% that people give of each, with the phrases that give a system away. No network, no weights.
"""

_CITATION = """
@inproceedings{kann2018sentence,
  title={Sentence-Level Fluency Evaluation: References Help, But Can Be Spared!},
  author={Kann, Katharina and Rothe, Sascha and Filippova, Katja},
  booktitle={Conference on Computational Natural Language Learning},
  pages={313--323}, year={2018}
}
"""

_EXAMPLES = """
>>> wording = evaluate.load("metrics/wording")  # on the Hub: "manycaps/wording"
>>> scenes = [(animal, place) for animal in ("dog", "cat", "cow") for place in ("beach", "street", "lawn", "farm")]
>>> people = [[f"a {animal} runs on the {place}", f"the {animal} is on a {place}"] for animal, place in scenes]
>>> broken = [[f"a a {animal} runs {place} on"] for animal, place in scenes]
>>> result = wording.compute(predictions=broken, references=people, details=True)
>>> round(result["wording_gap"], 2), result["wording_p_value"] < 0.0001, round(result["odd_wording_share"], 2)
(-2.79, True, 1.0)
>>> [phrase["phrase"] for phrase in result["phrases"] if phrase["ends"]]
['on']
>>> result = wording.compute(predictions=[row[:1] for row in people], references=people)
>>> result["wording_gap"], round(result["odd_wording_share"], 2)
(0.0, 0.05)
"""


class Wording(CollectionModule, evaluate.Metric):
    """Predictability of captions beside people's, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES, ["https://aclanthology.org/K18-1031"])
    COLUMNS = CAPTIONS | {"references": ("n_rows lists of human captions, or n_rows strings; one per row is enough.")}
    OPTIONS = (
        TOKENIZER
        | LANGUAGE_MODEL
        | INTERVALS
        | {
            "details": Option(
                False, check_flag, "`True` adds per-row and per-candidate lists, the phrases and the signature."
            )
        }
    )
    VALUES = value_table("""
        * wording_gap | in natural logarithms per word | 0 | mean SLOR of the candidates less the mean of people's
            captions: above 0 they are more predictable than people's, below 0 less
        * wording_p_value | 0 to 1 | | two-sided, of "people wrote the candidates", by the wording gap
        * odd_wording_share | 0 to 1; 0.05 for people | | share of the candidates that are less predictable than 19 of
            20 human captions
        * predictable_share | 0 to 1; 0.05 for people | | share of the candidates that are more predictable than 19 of
            20 human captions
        odd_wording_share_of_people | | | 0.05, by construction
        n_rows | | | number of rows. All other values but lists are NaN below ten rows, or clusters
        ..._ci_low, ..._ci_high | | | with `confidence_level`: ends of the intervals of the gap and the shares
        wording_gap_per_row, odd_wording_share_per_row, predictable_share_per_row | | | with `details`
        wording_per_candidate | | | with `details`: SLOR of every candidate
        oddest_wording | | | with `details`: [row, candidate] of the 100 candidates with the lowest SLOR: where to look
        phrases | | | with `details`: up to 20 phrases of one to three words that candidates have more often, or less
            often, than people, the largest difference first: dicts with `phrase`, `begins` and `ends` (whether captions
            begin, or end, with it), `share`, `share_of_people`, and `p_value`, adjusted for all phrases. At most 5% of
            them are false
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder

    def result(self, predictions, references, options):
        """Compare the wording of both sides, and return the result."""
        clusters, level, source = options["clusters"], options["confidence_level"], options["language_model"]
        if clusters is not None:
            check_clusters(clusters, len(predictions))
        candidates, people = (tokenize_rows(rows, options["tokenizer"]) for rows in (predictions, references))
        model = load_language_model(source, options["tokenizer"])
        texts = number_texts(candidates, people, clusters, model)
        seen_references(texts).warn()
        measured = corpus_wording(wording_of(texts, is_tested=source is None), clusters, level)
        measured.warn_of_few_rows()
        result = {**measured.result(level), "n_rows": len(predictions)}
        if not options["details"]:
            return result
        phrases = telling_phrases(texts, clusters) if measured.is_measured else []
        result |= measured.lists() | {"phrases": [phrase._asdict() for phrase in phrases]}
        return result | {"signature": self._signature(options)}

    def _signature(self, options):
        """Return what decides the numbers besides the texts."""
        model = "references" if options["language_model"] is None else "file"
        clusters = None if options["clusters"] is None else len(set(options["clusters"]))
        return signature(
            "wording",
            tokenizer=tokenizer_name(options["tokenizer"]),
            language_model=model,
            confidence_level=options["confidence_level"],
            clusters=clusters,
        )
