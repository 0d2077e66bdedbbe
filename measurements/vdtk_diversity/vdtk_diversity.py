"""What a set of captions is like: vocabulary, n-grams, duplicates, parts of speech, semantic redundancy."""

import functools

import evaluate

from .base import WHATS_CITATION, About, Effect, check_flag, signature
from .diversity_measures import (
    CHUNK_CAPTIONS,
    CaptionDiversity,
    check_caption_lengths,
    check_head_shares,
    check_word_source,
    row_chunks,
)
from .embeddings import ENCODER_DEFAULTS, EncodingModule, check_encoder_options, encoder_settings
from .tokenization import as_tagger, check_pos, token_finder, tokenizer_name

# The paper's sentence encoder (supplement B.5, footnote 5); it is used where `semantic` is True and none is named.
PAPER_ENCODER = "sentence-transformers/all-mpnet-base-v2"

_DESCRIPTION = """
vdtk_diversity measures what a set of captions is like, one row of captions per image or video: how large the vocabulary
is and how much of it is used, how many decisions its n-grams leave open, how many captions are duplicates, and on
request how many nouns and verbs there are and how far apart in meaning the captions of a row are.
"""

_KWARGS_DESCRIPTION = """
Args:
    data: n_rows lists of one or more captions, or n_rows strings; row i belongs to image or video i.
    tokenizer: "ptb" (default, as in the paper), "spacy" (as in vdtk), another name of a tokenizer, or a function
        from a caption to its tokens.
    head_shares: shares of all tokens for the vocabulary head, default (0.9,).
    lengths: numbers of tokens N for ED@N, default (5, 10, 15, 20).
    pos: adds nouns and verbs: the name of an installed spaCy pipeline, a pipeline, or a function from a caption to its
        (word, tag) pairs; default: left out.
    semantic: True adds distances between the captions of a row, by the paper's sentence encoder; default False.
    encoder: another encoder for them: name or folder of a sentence-transformers model, or a function from a list of
        distinct captions to an array of shape (n, d); implies semantic.
    device, dtype, batch_size, long_texts: of the encoder's model; default "auto", "float32", 64, "truncate".
    details: True adds per-row lists, histograms and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    n_rows, n_rows_with_tokens, n_captions, n_types, n_tokens: counts.
    head_90: most frequent types that make up 90 % of the tokens; head_90_last_index: one less, as vdtk prints it.
    within_row_uniqueness_of_tokens, within_row_uniqueness_of_types: mean over rows, 0 to 1; the paper's and vdtk's.
    between_row_uniqueness_by_caption, between_row_uniqueness_by_count: mean over rows, 0 to 1; the paper's and vdtk's.
    tokens_per_caption, captions_per_row, distinct_captions_per_row: means.
    evs_2, evs_3, evs_4: share of the contexts that have more than one continuation, 0 to 1.
    ed_5, ed_10, ed_15, ed_20: expected decisions, as published; ed_..._as_printed: by the formula of the supplement.
    log_likelihood_..., perplexity_..., n_contexts_..., n_ngrams_...: of the n-gram models of the orders 2 to 4.
    distinct_within_row, novel_within_row: mean over rows, 0 to 1: different captions, and captions without an equal.
    novel_in_data, n_distinct_captions, n_duplicate_captions: of the whole data set.
    noun_n_types, ..., verb_tokens_per_caption: with pos.
    caption_distance_minimum, ..., row_distance_spread: with semantic or encoder.
    ..._median, ..._q25, ..._q75, ..._minimum, ..._maximum, ..._standard_deviation: of the numbers behind a mean.
    ..._ci_low, ..._ci_high: ends of the 95 % interval of a mean.
    ..._per_row, ..._histogram_counts, ..._histogram_edges, signature: with details.
Examples:
    >>> vdtk_diversity = evaluate.load("measurements/vdtk_diversity")  # on the Hub: "manycaps/vdtk_diversity"
    >>> data = [["a dog runs on the beach", "a dog plays in the sand"], ["two cats sleep", "two cats sleep"]]
    >>> result = vdtk_diversity.compute(data=data)
    >>> result["n_types"], round(result["evs_2"], 2), round(result["ed_10"], 2), result["distinct_within_row"]
    (12, 0.23, 2.15, 0.75)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class VdtkDiversity(EncodingModule, evaluate.Measurement):
    """Token, n-gram, caption, part-of-speech and semantic diversity, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        WHATS_CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/2205.06253", "https://github.com/CannyLab/vdtk"],
    )
    OWN_COLUMNS = ("data",)
    DEFAULTS = {
        "tokenizer": "ptb",
        "head_shares": (0.9,),
        "lengths": (5, 10, 15, 20),
        "pos": None,
        "semantic": False,
        **ENCODER_DEFAULTS,
        "encoder": None,
        "details": False,
    }
    EFFECTS = dict.fromkeys(
        set(ENCODER_DEFAULTS) - {"encoder"},
        Effect("semantic", "True", lambda options: options["semantic"] or options["encoder"] is not None),
    )
    token_finder = token_finder

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_word_source(options["tokenizer"])
        check_head_shares(options["head_shares"])
        check_caption_lengths(options["lengths"])
        check_pos(options["pos"])
        check_flag("semantic", options["semantic"])
        check_encoder_options(encoder_options(options))
        check_flag("details", options["details"])

    def _compute(self, data, options):
        diversity = self._diversity(options)
        chunks = list(row_chunks(data, CHUNK_CAPTIONS))
        for chunk in evaluate.utils.logging.tqdm(chunks, desc="diversity", unit="chunk", delay=1):
            diversity.update(chunk)
        result = diversity.figures(options["head_shares"], options["lengths"])
        if is_semantic(options):
            texts = [caption for row in data for caption in row]
            result |= self.encoder.count_long_texts(texts, encoder_options(options))
        if options["details"]:
            result |= diversity.details(data) | {"signature": self._signature(options)}
        return result

    def _diversity(self, options):
        tagger = None if options["pos"] is None else as_tagger(options["pos"])
        encoder = functools.partial(self._embed, options) if is_semantic(options) else None
        return CaptionDiversity(options["tokenizer"], encoder, tagger, keep_rows=options["details"])

    def _embed(self, options, captions):
        return self.encoder.embed(captions, encoder_options(options), evaluate.utils.logging.tqdm)

    def _signature(self, options):
        return signature(
            "vdtk_diversity",
            tokenizer=tokenizer_name(options["tokenizer"]),
            pos=None if options["pos"] is None else tokenizer_name(options["pos"]),
            **(encoder_settings(encoder_options(options)) if is_semantic(options) else {}),
        )


def is_semantic(options):
    """Whether the semantic level is asked for, by `semantic` or by an encoder."""
    return options["semantic"] or options["encoder"] is not None


def encoder_options(options):
    """Return the options with the paper's encoder where none is named."""
    return {**options, "encoder": PAPER_ENCODER if options["encoder"] is None else options["encoder"]}
