"""How well people agree with each other: leave-one-out scores of a set of captions under the usual metrics."""

import math

import evaluate

from .drawn_hypotheses import draws
from .leave_one_out import iteration_values, summary
from .leave_one_out_options import (
    check_interval,
    check_metrics,
    check_numbers,
    check_row_sizes,
    check_together,
)
from .masked_captions import masked_captions, without_tail
from .row_vectors import as_row_vectors, check_cosines
from .scored_texts import EMBEDDING_METRICS, METRICS, Sources, scored_texts
from .shared_caption_tokens import check_tokenizer, tokenize_rows, tokenizer_name
from .shared_embedding_rows import embed_caption_rows
from .shared_mean_discrepancy import ESTIMATORS
from .shared_meteor15_data import check_data_source, load_lexicon
from .shared_module import About, CollectionModule, check_choice, check_flag, check_share, signature
from .shared_row_texts import RowTexts
from .shared_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder, check_encoder_options, encoder_settings
from .shared_spacy_pipelines import check_pos
from .shared_wordnet_lexicon import wordnet_lexicon

# isort: split
# Files that other files of this folder need: evaluate's loader copies only what is named here.
# Written by scripts/repository/sync_shared.py.
from .cider_d_table import CiderTable
from .row_pairs import ScoredTexts
from .set_scores import SetScores
from .shared_bleu import bleu_scores
from .shared_caption_rows import as_caption_rows
from .shared_cosine_distance import cosine_similarities
from .shared_distribution import Rows
from .shared_embeddings import as_embedding_arrays
from .shared_input_files import is_regular_file
from .shared_kept_rows import put_back
from .shared_kernels import check_bandwidth
from .shared_messages import shown_value
from .shared_meteor15 import pair_statistics
from .shared_meteor15_search import Matches
from .shared_meteor15_table import compile_table
from .shared_meteor15_texts import PhraseTable
from .shared_meteor15_tokens import Prefixes
from .shared_meteor_distance import Lexicon
from .shared_model_paths import is_path
from .shared_ngrams import word_ids
from .shared_ptb_tokenizer import Shape
from .shared_remembered_features import RememberedFeatures
from .shared_rouge_l import f_measure
from .shared_splits import exact_splits
from .shared_triangle_rank import check_statistic_sizes

_LOADED = (
    CiderTable,
    ScoredTexts,
    SetScores,
    bleu_scores,
    as_caption_rows,
    cosine_similarities,
    Rows,
    as_embedding_arrays,
    is_regular_file,
    put_back,
    check_bandwidth,
    shown_value,
    pair_statistics,
    Matches,
    compile_table,
    PhraseTable,
    Prefixes,
    Lexicon,
    is_path,
    word_ids,
    Shape,
    RememberedFeatures,
    f_measure,
    exact_splits,
    check_statistic_sizes,
)

_DESCRIPTION = """
vdtk_leave_one_out scores people as a captioning system is scored: one caption of each image, drawn at random, is the
hypothesis, the others are its references, and that is repeated. The mean is what a system would have to reach to be as
near to people as they are to each other. On request content words or rare words are masked, or references are limited.
"""

_CITATION = """
@inproceedings{chan2022whats,
  title={What's in a Caption? Dataset-Specific Linguistic Diversity and Its Effect on Visual Description Models and
         Metrics},
  author={Chan, David M. and Myers, Austin and Vijayanarasimhan, Sudheendra and Ross, David A. and Seybold, Bryan
          and Canny, John F.},
  booktitle={CVPR Workshops},
  year={2022},
  eprint={2205.06253},
  archivePrefix={arXiv}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    data: n_rows lists of captions; rows with a single caption are left out.
    data_embeddings: ready vectors for "trm_bert", "mmd_bert" and "fid_bert", for compute only and beside data: n_rows
        floating-point arrays of shape (n_captions, d), a vector for each caption; default: the encoder's.
    metrics: names among "bleu", "rouge_l", "cider_d", "meteor15" (needs its data), "meteor" (NLTK's; needs WordNet),
        and, of sets, "trm_meteor", "trm_cider", "trm_bert" (triangle ranks; three captions a row), "mmd_bert" and
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
    tokenizer: "ptb" (default, as in the paper) or a function from a caption to its tokens.
    meteor15_data: path of meteor-1.5.jar, or of a folder that holds it; default: that of the package pycocoevalcap.
    estimator: of "mmd_bert": "unbiased" (default), "biased" (also for one hypothesis) or "authors".
    encoder, device, dtype, batch_size: of the sentence embeddings, as in trm_bert.
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
class VdtkLeaveOneOut(CollectionModule, evaluate.Measurement):
    """Scores of captions against the others of their row, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
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

    def __init__(self, *args, **keywords):
        self.encoder = SentenceEncoder()
        super().__init__(*args, **keywords)

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

    def compute(self, *, data_embeddings=None, **given):
        """Check the options of this call, then compute; captions with ready vectors go past evaluate's table."""
        if data_embeddings is None:
            return super().compute(**given)
        if len(self):
            raise ValueError(
                "data_embeddings: expected all rows in this call, got rows added before. Give data to compute as well."
            )
        captions = given.pop("data", None)
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
        if options["details"]:
            result |= {f"{key}_per_iteration": each for key, each in values.corpus.items()}
            result |= {f"{key}_per_row": placed(each, used, len(data)) for key, each in values.rows.items()}
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
    for place, value in zip(places, values.tolist(), strict=True):
        result[place] = value
    return result
