"""What a set of captions is like: vocabulary, n-grams, duplicates, parts of speech, semantic redundancy."""

import functools

import evaluate

from .diversity_captions import (
    CHUNK_CAPTIONS,
    CaptionDiversity,
    check_caption_lengths,
    check_head_shares,
    check_word_source,
)
from .diversity_counts import row_chunks
from .module import CollectionModule, signature
from .options import (
    DETAILS,
    WHATS_CITATION,
    About,
    Effect,
    Option,
    by_value,
    check_flag,
    dependent_options,
    or_none,
    value_table,
)
from .vectors_sentences import ENCODER_OPTIONS, LONG_TEXT_VALUES, SENTENCES, check_encoder, encoder_settings
from .words_tokenizers import as_tagger, check_pos, token_finder, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .ngrams import RowTexts as RowTexts
from .row_images import text_key as text_key
from .rows import as_caption_rows as as_caption_rows
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

# The paper's sentence encoder (supplement B.5, footnote 5); it is used where `semantic` is True and none is named.
PAPER_ENCODER = "sentence-transformers/all-mpnet-base-v2"

_DESCRIPTION = """
vdtk_diversity measures what a set of captions is like, one row of captions per image or video: how large the vocabulary
is and how much of it is used, how many decisions its n-grams leave open, how many captions are duplicates, and on
request how many nouns and verbs there are and how far apart in meaning the captions of a row are.
"""

_EXAMPLES = """
>>> vdtk_diversity = evaluate.load("measurements/vdtk_diversity")  # on the Hub: "manycaps/vdtk_diversity"
>>> data = [["a dog runs on the beach", "a dog plays in the sand"], ["two cats sleep", "two cats sleep"]]
>>> result = vdtk_diversity.compute(data=data)
>>> result["n_types"], round(result["evs_2"], 2), round(result["ed_10"], 2), result["distinct_within_row"]
(12, 0.23, 2.15, 0.75)
"""


class VdtkDiversity(CollectionModule, evaluate.Measurement):
    """Token, n-gram, caption, part-of-speech and semantic diversity, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        WHATS_CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/2205.06253", "https://github.com/CannyLab/vdtk"],
    )
    COLUMNS = {
        "data": (
            "n_rows lists of one or more captions, or n_rows strings; row i holds the captions of image or video "
            "i. An empty caption is legal and has no tokens."
        )
    }
    OPTIONS = (
        {
            "tokenizer": Option(
                "ptb",
                by_value(check_word_source),
                '`"ptb"` (the tokens of the COCO caption code, in pure Python, as in the paper\'s tables), `"spacy"` '
                "(spaCy's English tokenizer in lower case, as in `vdtk`; needs spaCy), another name of a tokenizer, "
                "as bleu_rouge has them, or a function from a caption to its list of tokens.",
            ),
            "head_shares": Option(
                (0.9,), by_value(check_head_shares), "Shares of all tokens for the vocabulary head; 0.5 adds `head_50`."
            ),
            "lengths": Option((5, 10, 15, 20), by_value(check_caption_lengths), "Caption lengths N for ED@N."),
            "pos": Option(
                None,
                by_value(check_pos),
                "Adds nouns and verbs, which are left out by default: the name of an installed spaCy pipeline such as "
                '`"en_core_web_sm"`, a pipeline, or a function from a caption to its `(word, tag)` pairs with tags '
                "of the Universal Dependencies. A pipeline's lemmas are counted, words in lower case where it has "
                "none.",
            ),
            "semantic": Option(
                False,
                check_flag,
                "`True` adds distances between the captions of a row, by the paper's "
                "`sentence-transformers/all-mpnet-base-v2`.",
            ),
        }
        | dependent_options(Effect("semantic", "True", lambda options: is_semantic(options)), ENCODER_OPTIONS)
        | {
            "encoder": Option(
                None,
                or_none(check_encoder),
                "Another encoder for them, which implies `semantic`: name or folder of a sentence-transformers model, "
                "or a function from a list of distinct captions to an array of shape (n, d).",
            )
        }
        | DETAILS
    )
    VALUES = (
        value_table("""
        n_rows, n_captions, n_types, n_tokens | | | counts
        * head_90 | | | most frequent types that make up at least 90% of the tokens
        head_90_last_index | | | the same as `vdtk` prints it: the last index counted from 0, one less
        within_row_uniqueness_of_tokens | 0 to 1 | | types that occur once in the row, as a share of the row's tokens;
            mean over rows. The paper's text, and its Tables 1, S4 and S5
        within_row_uniqueness_of_types | 0 to 1 | | the same as a share of the row's types. `vdtk`
        between_row_uniqueness_by_caption | 0 to 1 | | tokens of a row that occur in no other caption of the data, as a
            share of the row's tokens; mean over rows. The paper's text
        between_row_uniqueness_by_count | 0 to 1 | | types of a row that occur once in the data, as a share of the row's
            tokens. `vdtk`
        n_rows_with_tokens | | | rows behind these means
        tokens_per_caption, captions_per_row, distinct_captions_per_row | | | means
        evs_2, evs_3, evs_4 | 0 to 1 | | EVS@N: share of the distinct runs of N - 1 words after which more than one word
            follows in the data. Captions begin and end with N - 1 equal marks
        ed_..._as_printed | | | the formula printed in the paper's supplement B.4.2, which has one term less
        * ed_10 | | | ED@N, expected decisions in N tokens: 1 + EVS@2 + EVS@3 + (N - 2) EVS@4,
            as in the paper's Table 2 and in `vdtk`, for N = 10
        ed_5, ed_15, ed_20, ed_... | | | the same for other N
        log_likelihood_..., perplexity_... | | | of the data under its own N-gram model, N = 2, 3, 4: mean over captions
            of the mean log probability (nats, not below -12) of their n-grams; perplexity is exp of minus that
        n_contexts_..., n_ngrams_... | | | of these models: distinct contexts; all n-grams
        * distinct_within_row | 0 to 1 | | different captions of a row as a share of its captions; mean over rows. The
            novelty of the paper's section 5 and Figure S2
        novel_within_row | 0 to 1 | | captions of a row without an equal in the row, as a share of its captions; mean
            over rows
        * novel_in_data | 0 to 1 | | captions without an equal in the whole data set, as a share of all captions
        n_distinct_captions, n_duplicate_captions | | | different captions in the data set, and all others. Captions are
            equal when their tokens are
        ..._median, ..._q25, ..._q75, ..._standard_deviation | | | of the numbers behind a mean (divisor n)
        ..._ci_low, ..._ci_high | | | ends of the 95% interval of a mean (1.96 standard errors, as in `vdtk`)
        noun_..., verb_... | | | with `pos`: types, tokens, heads and uniqueness of nouns (with proper nouns) and verbs
            (without auxiliaries), and `noun_tokens_per_caption`, `verb_tokens_per_caption`
        caption_distance_... | | | with `semantic` or `encoder`: `minimum`, `mean`, `maximum`, `variance` and `spread`
            of a caption's cosine distances to the other different captions of its row; mean over captions (`vdtk`; the
            minimum is Figure 2's redundancy, the spread (mean - minimum) / mean is Figure S1's)
        row_distance_... | | | with `semantic` or `encoder`: the same of all pairs of a row; mean over rows (the
            variance is Figure 3's)
        n_captions_with_distances, n_rows_with_distances | | | captions and rows behind these means
        ..._minimum, ..._maximum | | | the least and the largest number behind a mean
        ..._per_row, ..._histogram, ..._histogram_counts, ..._histogram_edges | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
        + LONG_TEXT_VALUES
    )
    token_finder = token_finder
    PARTS = SENTENCES

    def result(self, data, options):
        """Count words, n-grams and captions, and return the result."""
        if is_semantic(options):
            self.encoder.check_known({"data": data}, encoder_options(options))
        diversity = self._diversity(options)
        chunks = list(row_chunks(data, CHUNK_CAPTIONS))
        for chunk in self.progress(chunks, desc="diversity", unit="chunk", delay=1):
            diversity.update(chunk)
        result = diversity.figures(options["head_shares"], options["lengths"])
        if is_semantic(options):
            texts = [caption for row in data for caption in row]
            result |= self.encoder.count_unread(texts, encoder_options(options))
        if options["details"]:
            result |= diversity.details(data) | {"signature": self._signature(options)}
        return result

    def _diversity(self, options):
        tagger = None if options["pos"] is None else as_tagger(options["pos"])
        encoder = functools.partial(self._embed, options) if is_semantic(options) else None
        return CaptionDiversity(options["tokenizer"], encoder, tagger, keep_rows=options["details"])

    def _embed(self, options, captions):
        return self.encoder.embed(captions, encoder_options(options), self.progress)

    def _signature(self, options):
        return signature(
            "vdtk_diversity",
            tokenizer=tokenizer_name(options["tokenizer"]),
            pos=None if options["pos"] is None else tokenizer_name(options["pos"]),
            **(encoder_settings(encoder_options(options)) if is_semantic(options) else {}),
        )


def is_semantic(options):
    """Return whether the semantic level is asked for, by `semantic` or by an encoder."""
    return options["semantic"] or options["encoder"] is not None


def encoder_options(options):
    """Return the options with the paper's encoder where none is named."""
    return {**options, "encoder": PAPER_ENCODER if options["encoder"] is None else options["encoder"]}
