"""How well people agree with each other: leave-one-out scores of a set of captions under the usual metrics."""

import math

import evaluate

from .errors import InputError
from .leave_one_out import (
    EMBEDDING_METRICS,
    METRICS,
    MOST_ITERATIONS,
    MOST_REFERENCES,
    Sources,
    as_row_vectors,
    check_interval,
    check_metrics,
    check_row_sizes,
    check_together,
    count_statistics,
    draws,
    iteration_values,
    mask_captions,
    summary,
    without_tail,
)
from .meteor15_data import METEOR15_DATA, load_lexicon
from .meteor_nltk import wordnet_lexicon
from .mmd_rows import ESTIMATORS
from .module import CollectionModule, signature
from .ngrams import RowTexts
from .options import (
    WHATS_CITATION,
    About,
    Effect,
    Option,
    Ready,
    by_value,
    check_flag,
    check_share,
    dependent_options,
    one_of,
    or_none,
    value_table,
    whole_number,
)
from .vectors_rows import embed_caption_rows
from .vectors_sentences import (
    ENCODER_DEFAULTS,
    ENCODER_OPTIONS,
    LONG_TEXT_VALUES,
    SENTENCES,
    encoder_settings,
    refuse_zeros,
)
from .words_tokenizers import TOKENIZER, check_pos, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .files import inline_bytes as inline_bytes
from .meteor15_scores import pair_statistics as pair_statistics
from .meteor15_search import Matches as Matches
from .meteor15_words import Prefixes as Prefixes
from .ngrams_bleu import bleu_scores as bleu_scores
from .ngrams_cider import cider_scores as cider_scores
from .ngrams_rouge import f_measure as f_measure
from .row_images import text_key as text_key
from .rows import as_caption_rows as as_caption_rows
from .sets_module import ComparableRows as ComparableRows
from .sets_tests import exact_splits as exact_splits
from .triangle_rank import statistic_range as statistic_range
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
vdtk_leave_one_out scores people as a captioning system is scored: one caption of each image, drawn at random, is the
hypothesis, the others are its references, and that is repeated. The mean is what a system would have to reach to be as
near to people as they are to each other. On request content words or rare words are masked, or references are limited.
"""

_EXAMPLES = """
>>> vdtk_leave_one_out = evaluate.load("measurements/vdtk_leave_one_out")  # on the Hub: the same below "manycaps"
>>> data = [["a dog runs on the beach", "a dog runs in the sand"], ["two cats sleep", "two cats are sleeping"]]
>>> result = vdtk_leave_one_out.compute(data=data, n_iterations=10)
>>> result["n_rows"], round(result["rouge_l"], 2), result["rouge_l_low"] <= result["rouge_l_high"]
(2, 0.62, True)
"""


def result_of_vectors(module, arrays, given):
    """Return the module's result for captions with ready vectors, which go past evaluate's table."""
    if len(module):
        raise InputError(
            "data_embeddings", "all rows in this call", "rows added before", "Give data to compute as well."
        )
    captions = given.pop("data", None)
    module.check_unused(given, ENCODER_DEFAULTS, "beside ready embeddings")
    options = module.call_options(given)
    if set(options["metrics"]).isdisjoint(EMBEDDING_METRICS):
        expected = f"one of {', '.join(EMBEDDING_METRICS)} among the metrics"
        got = ", ".join(options["metrics"])
        raise InputError("data_embeddings", expected, got, "Name one, or leave the embeddings out.")
    rows = module.prepare_columns(options, data=captions)["data"]
    return module._result(rows, as_row_vectors(arrays["data_embeddings"], rows), options)


def among_metrics(*names):
    """Return when options have an effect that belong to some metrics."""
    return Effect("metrics", f"['{names[0]}']", lambda options: not set(names).isdisjoint(options["metrics"]))


# When captions are tokenized: for some metric that compares no embeddings.
IS_TOKENIZED = Effect("metrics", "['bleu']", lambda options: not set(options["metrics"]) <= set(EMBEDDING_METRICS))


class VdtkLeaveOneOut(CollectionModule, evaluate.Measurement):
    """Scores of captions against the others of their row, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        WHATS_CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/2205.06253", "https://github.com/CannyLab/vdtk"],
    )
    COLUMNS = {
        "data": (
            "n_rows lists of captions, or n_rows strings; row i holds the captions of image or video i. Rows with "
            "a single caption are left out and counted. Repeated captions stay, as in the paper: they raise the "
            "scores."
        )
    }
    READY = {
        "data_embeddings": Ready(
            'ready vectors for `"trm_bert"`, `"mmd_bert"` and `"fid_bert"`, for compute only and beside data: '
            "n_rows floating-point arrays of shape (n_captions, d), a vector for each caption; by default the "
            "encoder's.",
            result_of_vectors,
        )
    }
    OPTIONS = (
        {
            "metrics": Option(
                ("bleu", "rouge_l", "cider_d"),
                by_value(check_metrics),
                'Names among the following. `"bleu"`, `"rouge_l"` and `"cider_d"` equal the COCO caption code\'s '
                '(pycocoevalcap 1.2), to 1e-12; `"meteor15"` is METEOR 1.5, the paper\'s, and needs its data (`pip '
                'install pycocoevalcap`, or `meteor15_data`); `"meteor"` is NLTK\'s METEOR, another metric, and needs '
                'WordNet (`manycaps install-wordnet`); `"trm_meteor"`, `"trm_cider"` and `"trm_bert"` are the '
                "triangle-rank statistics of the hypotheses and their references, as in the modules of these names, "
                "and need three captions per row; the first takes NLTK's METEOR, the second counts each row as a "
                'document. `"mmd_bert"` and `"fid_bert"` are computed as by the modules of these names, the bandwidth '
                "half the median distance; they need two captions on each side, so `n_hypotheses=2` and rows of "
                "four.",
            ),
            "n_iterations": Option(750, whole_number(1, MOST_ITERATIONS), "Number of draws; as in the paper."),
            "n_references": Option(
                None,
                or_none(whole_number(1, MOST_REFERENCES)),
                "Largest number of references of a hypothesis, drawn again in each iteration without replacement (the "
                "paper's Figure S3); by default all other captions.",
            ),
            "n_hypotheses": Option(
                1,
                whole_number(1, MOST_REFERENCES),
                "Captions of a row that are drawn together, as in the paper. The metrics of sets compare them with "
                "the references as two sets; the others score each of them against the references, as one corpus.",
                fits=check_together,
            ),
            "confidence_level": Option(
                0.95, by_value(check_interval), "Share of the iterations that the interval holds."
            ),
            "seed": Option(
                0,
                whole_number(0),
                "Whole number. What is drawn for a row depends on the seed and its captions, not on its place.",
            ),
            "pos": Option(
                None,
                by_value(check_pos),
                "Masks content words, which are left as they are by default: the name of an installed spaCy pipeline "
                'such as `"en_core_web_sm"`, a pipeline, or a function from a caption to its `(word, tag)` pairs with '
                "tags of the Universal Dependencies. NOUN, PROPN and VERB are replaced where they stand in the "
                "caption; auxiliaries stay.",
            ),
            "head_share": Option(
                1.0,
                check_share,
                "Share of all tokens that the most frequent types make up; the types behind them are replaced by "
                "unknowns that occur nowhere else. The paper's head is 0.9.",
            ),
        }
        | dependent_options(IS_TOKENIZED, TOKENIZER)
        | dependent_options(among_metrics("meteor15"), METEOR15_DATA)
        | {
            "estimator": Option(
                "unbiased",
                one_of(ESTIMATORS),
                'Of `"mmd_bert"`: `"unbiased"`, `"biased"` (also for one hypothesis) or `"authors"`.',
                needs=among_metrics("mmd_bert"),
            )
        }
        | dependent_options(among_metrics(*EMBEDDING_METRICS), ENCODER_OPTIONS)
        | {
            "details": Option(
                False, check_flag, "`True` adds the values of all iterations and rows, and the signature."
            )
        }
    )
    VALUES = (
        value_table("""
        * bleu_4 | 0 to 1 | higher | BLEU-4 of the corpus of hypotheses, mean over iterations
        bleu_1, bleu_2, bleu_3 | 0 to 1 | higher | the same for shorter n-grams
        * rouge_l | 0 to 1 | higher | mean over rows of ROUGE-L, mean over iterations
        * cider_d | 0 to 10 | higher | CIDEr-D with the document frequencies of this iteration's references, mean over
            iterations
        * meteor15 | 0 to 1 | higher | METEOR 1.5 of the corpus, mean over iterations
        meteor | 0 to 1 | higher | NLTK's METEOR, mean over rows and iterations
        trm_meteor, trm_cider, trm_bert | 0 to 4/3; to 8/3 with several hypotheses | lower | triangle-rank statistic,
            mean over rows and iterations
        mmd_bert | at most 2; `"authors"`: 4.00002 | lower | squared MMD, mean over rows and iterations; around 0 for
            the unbiased one: people are alike
        fid_bert | 0 or more | lower | squared Fréchet distance, mean over rows and iterations
        ..._low, ..._high | | | of each: interval that holds the middle 95% of the iterations: where a single draw may
            fall
        ..._standard_error | 0 or more | | of each: of the mean over iterations, standard deviation over the root of
            their number; NaN for one iteration
        n_rows, n_captions | | | rows and captions that were used
        n_single_caption_rows | | | rows that were left out
        n_iterations | | | number of draws
        ..._per_iteration | | | with `details`
        ..._per_row | | | with `details`: what a caption of the row scores by itself against all others of it, mean over
            its captions (the paper's Figure 3); over those drawn with `n_references` or `n_hypotheses`, and for
            `cider_d`; NaN for rows that were left out
        signature | | | with `details`: everything that determines the numbers
    """)
        + LONG_TEXT_VALUES
    )
    token_finder = token_finder
    PARTS = SENTENCES

    def has_token(self, options):
        """Return the function that says whether something of a caption is read with these options."""
        return super().has_token({"tokenizer": "raw"} if set(options["metrics"]) <= set(EMBEDDING_METRICS) else options)

    def result(self, data, options):
        """Score the captions, whose vectors are the encoder's, and return the result."""
        return self._result(data, None, options)

    def _result(self, data, vectors, options):
        """Score rows of captions; their vectors are the encoder's where there are none."""
        check_row_sizes(data, options)
        used = [i for i, row in enumerate(data) if len(row) > 1]
        rows = [data[i] for i in used]
        sources = Sources(
            wordnet_lexicon,
            lambda: load_lexicon(options["meteor15_data"], self.progress),
            lambda: self._vectors(rows, used, vectors, options),
            options["estimator"],
        )
        texts, n_iterations = RowTexts(map(len, rows)), options["n_iterations"]
        metrics = count_statistics(self._tokens(rows, options), options["metrics"], sources)
        drawn = draws(rows, texts, n_iterations, options["n_references"], options["seed"], options["n_hypotheses"])
        shown = self.progress(drawn, total=n_iterations, desc="leave one out", unit="draw", delay=1)
        values = iteration_values(metrics, texts, shown)
        result = {}
        for key in (key for metric in options["metrics"] for key in METRICS[metric]):
            parts = summary(values.corpus[key], options["confidence_level"])
            result |= dict(zip((key, f"{key}_low", f"{key}_high", f"{key}_standard_error"), parts, strict=True))
        result |= {"n_rows": len(rows), "n_captions": len(texts.row)}
        result |= {"n_single_caption_rows": len(data) - len(rows), "n_iterations": n_iterations}
        if vectors is None and not set(options["metrics"]).isdisjoint(EMBEDDING_METRICS):
            result |= self.encoder.count_unread([text for row in rows for text in row], options)
        if options["details"]:
            result |= {f"{key}_per_iteration": values_of_key for key, values_of_key in values.corpus.items()}
            result |= {f"{key}_per_row": place_values(column, used, len(data)) for key, column in values.rows.items()}
            result["signature"] = self._signature(options, vectors is not None)
        return result

    def _tokens(self, rows, options):
        """Tokens of all captions, with what is masked; none where only embeddings are compared."""
        if set(options["metrics"]) <= set(EMBEDDING_METRICS):
            return [[()] * len(row) for row in rows]
        if options["pos"] is not None:
            rows = mask_captions(rows, options["pos"])
        tokens = tokenize_rows(rows, options["tokenizer"])
        return tokens if math.isclose(options["head_share"], 1.0) else without_tail(tokens, options["head_share"])

    def _vectors(self, rows, used, vectors, options):
        """Vectors of the captions of every row, each distinct caption embedded once."""
        if vectors is None:
            places = dict(zip(used, rows, strict=True))
            self.encoder.check_known({"data": [places.get(i, []) for i in range(used[-1] + 1)]}, options)
            embedded = embed_caption_rows(
                rows, [], lambda captions: self.encoder.embed(captions, options, self.progress)
            )
            vectors = [embedded.vectors[numbers].astype("float64") for numbers in embedded.predictions]
        else:
            vectors = [vectors[i].astype("float64") for i in used]
        if "trm_bert" in options["metrics"]:
            are_zero = dict(zip(used, ((own == 0).all(axis=1) for own in vectors), strict=True))
            refuse_zeros({"data": [are_zero.get(i, ()) for i in range(used[-1] + 1)]})
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
            confidence_level=options["confidence_level"],
            tokenizer=tokenizer_name(options["tokenizer"]),
            pos=None if options["pos"] is None else tokenizer_name(options["pos"]),
            head_share=options["head_share"],
            estimator=options["estimator"] if "mmd_bert" in options["metrics"] else None,
            **(encoder if embeds else {}),
            seed=options["seed"],
        )


def place_values(values, places, n_rows):
    """Return the values of some rows as a list with NaN for the others."""
    result = [math.nan] * n_rows
    for number, value in zip(places, values.tolist(), strict=True):
        result[number] = value
    return result
