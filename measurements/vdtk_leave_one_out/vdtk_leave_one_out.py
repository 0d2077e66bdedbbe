"""How well people agree with each other: leave-one-out scores of a set of captions under the usual metrics."""

import math

import evaluate

from .base import WHATS_CITATION, About, Effect, check_choice, check_flag, check_share, signature
from .embeddings import ENCODER_DEFAULTS, EncodingModule, check_encoder_options, encoder_settings
from .kernel_tests import ESTIMATORS
from .leave_one_out import (
    EMBEDDING_METRICS,
    METRICS,
    Sources,
    as_row_vectors,
    check_cosines,
    check_interval,
    check_metrics,
    check_numbers,
    check_row_sizes,
    check_together,
    draws,
    iteration_values,
    masked_captions,
    scored_texts,
    summary,
    without_tail,
)
from .meteor15_scores import check_data_source, load_lexicon
from .meteor_nltk import wordnet_lexicon
from .tokenization import RowTexts, check_pos, check_tokenizer, token_finder, tokenize_rows, tokenizer_name
from .vector_rows import embed_caption_rows

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .caption_sets import exact_splits as exact_splits
from .meteor15_search import english_stem as english_stem
from .ngram_scores import NgramOrder as NgramOrder
from .triangle_rank import statistic_range as statistic_range

_DESCRIPTION = """
vdtk_leave_one_out scores people as a captioning system is scored: one caption of each image, drawn at random, is the
hypothesis, the others are its references, and that is repeated. The mean is what a system would have to reach to be as
near to people as they are to each other. On request content words or rare words are masked, or references are limited.
"""

_KWARGS_DESCRIPTION = """
Args:
    data: n_rows lists of captions, or n_rows strings; rows with a single caption are left out.
    data_embeddings: ready vectors for "trm_bert", "mmd_bert" and "fid_bert", for compute only and beside data: n_rows
        floating-point arrays of shape (n_captions, d), a vector for each caption; default: the encoder's.
    metrics: names among "bleu", "rouge_l", "cider_d", "meteor15" (needs its data), "meteor" (NLTK's; needs WordNet),
        and, of sets, "trm_meteor", "trm_cider", "trm_bert" (triangle ranks; three captions per row), "mmd_bert" and
        "fid_bert" (n_hypotheses=2 or more, and two references); default ("bleu", "rouge_l", "cider_d").
    n_iterations: how often hypotheses are drawn, default 750, as in the paper.
    n_references: most references of a hypothesis, drawn without replacement; default: all other captions.
    n_hypotheses: captions of a row that are drawn together, default 1, as in the paper: the set that metrics of sets
        compare with the references; the other metrics score each of them against the references, as one corpus.
    confidence_level: share of the iterations that the interval holds, default 0.95.
    seed: non-negative whole number, default 0.
    pos: replaces nouns, proper nouns and verbs by unknowns that occur nowhere else: the name of an installed spaCy
        pipeline, a pipeline, or a function from a caption to its (word, tag) pairs; default: left as they are.
    head_share: replaces all tokens outside the most frequent types that make up this share of the tokens by such
        unknowns; default 1.0: none.
    tokenizer: "ptb" (default, as in the paper), another name of a tokenizer, or a function from a caption
        to its tokens.
    meteor15_data: path of meteor-1.5.jar, or of a folder that holds it; default: that of the package pycocoevalcap.
    estimator: of "mmd_bert": "unbiased" (default), "biased" (also for one hypothesis) or "authors".
    encoder, device, dtype, batch_size, long_texts: of the sentence embeddings, as in trm_bert.
    details: True adds the values of all iterations and rows, and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    bleu_1, bleu_2, bleu_3, bleu_4, rouge_l, meteor15, meteor: mean over iterations of the score of the corpus, 0 to 1.
    cider_d: the same, 0 to 10.
    trm_meteor, trm_cider, trm_bert: the same, 0 to 4/3 for one hypothesis, to 8/3 for more; lower is better.
    mmd_bert: the same, at most 2; fid_bert: 0 or more; lower is better.
    ..._low, ..._high: of each: the interval that holds the middle 95 % of the iterations.
    ..._standard_error: of each: of the mean over iterations; NaN for one iteration.
    n_rows, n_captions, n_single_caption_rows, n_iterations: numbers of rows and captions that were used, of rows that
        were left out, and of iterations.
    ..._per_iteration, signature: with details.
    ..._per_row: with details: what a caption of the row scores by itself against all others of it, mean over its
        captions; over those drawn with n_references or n_hypotheses, and for cider_d; NaN for rows that were left out.
Examples:
    >>> vdtk_leave_one_out = evaluate.load("measurements/vdtk_leave_one_out")  # on the Hub: the same below "manycaps"
    >>> data = [["a dog runs on the beach", "a dog runs in the sand"], ["two cats sleep", "two cats are sleeping"]]
    >>> result = vdtk_leave_one_out.compute(data=data, n_iterations=10)
    >>> result["n_rows"], round(result["rouge_l"], 2), result["rouge_l_low"] <= result["rouge_l_high"]
    (2, 0.62, True)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class VdtkLeaveOneOut(EncodingModule, evaluate.Measurement):
    """Scores of captions against the others of their row, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        WHATS_CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/2205.06253", "https://github.com/CannyLab/vdtk"],
    )
    OWN_COLUMNS = ("data",)
    DEFAULTS = {
        "metrics": ("bleu", "rouge_l", "cider_d"),
        "n_iterations": 750,
        "n_references": None,
        "n_hypotheses": 1,
        "confidence_level": 0.95,
        "seed": 0,
        "pos": None,
        "head_share": 1.0,
        "tokenizer": "ptb",
        "meteor15_data": None,
        "estimator": "unbiased",
        **ENCODER_DEFAULTS,
        "details": False,
    }
    EFFECTS = {
        **dict.fromkeys(
            ENCODER_DEFAULTS, Effect("metrics", "['trm_bert']", lambda options: _has(options, *EMBEDDING_METRICS))
        ),
        "estimator": Effect("metrics", "['mmd_bert']", lambda options: _has(options, "mmd_bert")),
        "meteor15_data": Effect("metrics", "['meteor15']", lambda options: _has(options, "meteor15")),
        "tokenizer": Effect(
            "metrics", "['bleu']", lambda options: not set(options["metrics"]) <= set(EMBEDDING_METRICS)
        ),
    }
    token_finder = token_finder

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_metrics(options["metrics"])
        check_numbers(*(options[name] for name in ("n_iterations", "n_references", "n_hypotheses", "seed")))
        check_interval(options["confidence_level"])
        check_pos(options["pos"])
        check_share("head_share", options["head_share"])
        check_tokenizer(options["tokenizer"])
        check_data_source(options["meteor15_data"])
        check_choice("estimator", options["estimator"], ESTIMATORS)
        check_encoder_options(options)
        check_flag("details", options["details"])
        check_together(options)

    def has_token(self, options):
        """Return the function that says whether something of a caption is read with these options."""
        return super().has_token({"tokenizer": "raw"} if set(options["metrics"]) <= set(EMBEDDING_METRICS) else options)

    def compute(self, /, *, data_embeddings=None, **given):
        """Check the options of this call, then compute; captions with ready vectors go past evaluate's table."""
        if data_embeddings is None:
            return super().compute(**given)
        with self.lock:
            return self._result_of_vectors(data_embeddings, given)

    def _result_of_vectors(self, data_embeddings, given):
        if len(self):
            raise ValueError(
                "data_embeddings: expected all rows in this call, got rows added before. Give data to compute as well."
            )
        captions = given.pop("data", None)
        self.check_unused(given, ENCODER_DEFAULTS, "beside ready embeddings")
        options = self.call_options(given)
        if set(options["metrics"]).isdisjoint(EMBEDDING_METRICS):
            raise ValueError(
                f"data_embeddings: expected one of {', '.join(EMBEDDING_METRICS)} among the metrics, got "
                f"{', '.join(options['metrics'])}. Name one, or leave the embeddings out."
            )
        rows = self.checked_columns(options, data=captions)["data"]
        return self._result(rows, as_row_vectors(data_embeddings, rows), options)

    def _compute(self, data, options):
        return self._result(data, None, options)

    def _result(self, data, vectors, options):
        """Score rows of captions; their vectors are the encoder's where there are none."""
        check_row_sizes(data, options)
        used = [i for i, row in enumerate(data) if len(row) > 1]
        rows = [data[i] for i in used]
        sources = Sources(
            wordnet_lexicon,
            lambda: load_lexicon(options["meteor15_data"], evaluate.utils.logging.tqdm),
            lambda: self._vectors(rows, used, vectors, options),
            options["estimator"],
        )
        texts, n_iterations = RowTexts(map(len, rows)), options["n_iterations"]
        metrics = scored_texts(self._tokens(rows, options), options["metrics"], sources)
        drawn = draws(rows, texts, n_iterations, options["n_references"], options["seed"], options["n_hypotheses"])
        shown = evaluate.utils.logging.tqdm(drawn, total=n_iterations, desc="leave one out", unit="draw", delay=1)
        values = iteration_values(metrics, texts, shown)
        result = {}
        for key in (key for metric in options["metrics"] for key in METRICS[metric]):
            parts = summary(values.corpus[key], options["confidence_level"])
            result |= dict(zip((key, f"{key}_low", f"{key}_high", f"{key}_standard_error"), parts, strict=True))
        result |= {"n_rows": len(rows), "n_captions": len(texts.row)}
        result |= {"n_single_caption_rows": len(data) - len(rows), "n_iterations": n_iterations}
        if vectors is None and not set(options["metrics"]).isdisjoint(EMBEDDING_METRICS):
            result |= self.encoder.count_long_texts([text for row in rows for text in row], options)
        if options["details"]:
            result |= {f"{key}_per_iteration": values_of_key for key, values_of_key in values.corpus.items()}
            result |= {
                f"{key}_per_row": placed(values_of_key, used, len(data)) for key, values_of_key in values.rows.items()
            }
            result["signature"] = self._signature(options, vectors is not None)
        return result

    def _tokens(self, rows, options):
        """Tokens of all captions, with what is masked; none where only embeddings are compared."""
        if set(options["metrics"]) <= set(EMBEDDING_METRICS):
            return [[()] * len(row) for row in rows]
        if options["pos"] is not None:
            rows = masked_captions(rows, options["pos"])
        tokens = tokenize_rows(rows, options["tokenizer"])
        return tokens if math.isclose(options["head_share"], 1.0) else without_tail(tokens, options["head_share"])

    def _vectors(self, rows, used, vectors, options):
        """Vectors of the captions of every row, each distinct caption embedded once."""
        if vectors is None:
            progress = evaluate.utils.logging.tqdm
            embedded = embed_caption_rows(rows, [], lambda captions: self.encoder.embed(captions, options, progress))
            vectors = [embedded.vectors[numbers].astype("float64") for numbers in embedded.predictions]
        else:
            vectors = [vectors[i].astype("float64") for i in used]
        if "trm_bert" in options["metrics"]:
            check_cosines(vectors, used)
        return vectors

    def _signature(self, options, has_vectors):
        embeds = not set(options["metrics"]).isdisjoint(EMBEDDING_METRICS)
        encoder = {"encoder": "ready arrays"} if has_vectors else encoder_settings(options)
        return signature(
            "vdtk_leave_one_out",
            metrics="+".join(options["metrics"]),
            n_iterations=options["n_iterations"],
            n_references="all" if options["n_references"] is None else options["n_references"],
            n_hypotheses=options["n_hypotheses"],
            tokenizer=tokenizer_name(options["tokenizer"]),
            pos=None if options["pos"] is None else tokenizer_name(options["pos"]),
            head_share=options["head_share"],
            estimator=options["estimator"] if "mmd_bert" in options["metrics"] else None,
            **(encoder if embeds else {}),
            seed=options["seed"],
        )


def placed(values, places, n_rows):
    """Return the values of some rows as a list with NaN for the others."""
    result = [math.nan] * n_rows
    for number, value in zip(places, values.tolist(), strict=True):
        result[number] = value
    return result


def _has(options, *metrics):
    return not set(metrics).isdisjoint(options["metrics"])
