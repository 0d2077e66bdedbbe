"""How well people agree with each other: leave-one-out scores of a set of captions under the usual metrics."""

import math

import evaluate

from .drawn_hypotheses import draws
from .leave_one_out import iteration_values, summary
from .leave_one_out_options import check_interval, check_metrics, check_numbers
from .masked_captions import masked_captions, without_tail
from .scored_texts import METRICS, scored_texts
from .shared_caption_tokens import check_tokenizer, tokenize_rows, tokenizer_name
from .shared_meteor15_data import check_data_source, load_lexicon
from .shared_module import About, CollectionModule, check_flag, check_share, signature
from .shared_row_texts import RowTexts
from .shared_spacy_pipelines import check_pos
from .shared_wordnet_lexicon import wordnet_lexicon

# isort: split
# Files that other files of this folder need: evaluate's loader copies only what is named here.
# Written by scripts/repository/sync_shared.py.
from .cider_d_table import CiderTable
from .shared_bleu import bleu_scores
from .shared_caption_rows import as_caption_rows
from .shared_kept_rows import put_back
from .shared_messages import shown_value
from .shared_meteor15 import pair_statistics
from .shared_meteor15_search import Matches
from .shared_meteor15_table import compile_table
from .shared_meteor15_texts import PhraseTable
from .shared_meteor15_tokens import Prefixes
from .shared_meteor_distance import Lexicon
from .shared_ngrams import word_ids
from .shared_ptb_tokenizer import Shape
from .shared_rouge_l import f_measure
from .shared_splits import exact_splits
from .shared_triangle_rank import check_statistic_sizes

_LOADED = (
    CiderTable,
    bleu_scores,
    as_caption_rows,
    put_back,
    shown_value,
    pair_statistics,
    Matches,
    compile_table,
    PhraseTable,
    Prefixes,
    Lexicon,
    word_ids,
    Shape,
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
    metrics: names among "bleu", "rouge_l", "cider_d", "meteor15" (needs its data), "meteor" (NLTK's; needs WordNet),
        "trm_meteor" and "trm_cider" (triangle ranks of one caption and its references, of which there must be two);
        default ("bleu", "rouge_l", "cider_d").
    n_iterations: how often hypotheses are drawn, default 750, as in the paper.
    n_references: most references of a hypothesis, drawn without replacement; default: all other captions.
    confidence_level: share of the iterations that the interval holds, default 0.95.
    seed: non-negative whole number, default 0.
    pos: replaces nouns, proper nouns and verbs by unknowns that occur nowhere else: the name of an installed spaCy
        pipeline, a pipeline, or a function from a caption to its (word, tag) pairs; default: left as they are.
    head_share: replaces all tokens outside the most frequent types that make up this share of the tokens by such
        unknowns; default 1.0: none.
    tokenizer: "ptb" (default, as in the paper) or a function from a caption to its tokens.
    meteor15_data: path of meteor-1.5.jar, or of a folder that holds it; default: that of the package pycocoevalcap.
    details: True adds the values of all iterations and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    bleu_1, bleu_2, bleu_3, bleu_4, rouge_l, meteor15, meteor: mean over iterations of the score of the corpus, 0 to 1.
    cider_d: the same, 0 to 10.
    trm_meteor, trm_cider: the same, 0 to 4/3; lower is better.
    ..._low, ..._high: of each: the interval that holds the middle 95 % of the iterations.
    ..._standard_error: of each: of the mean over iterations; NaN for one iteration.
    n_rows, n_captions, n_single_caption_rows, n_iterations: numbers of rows and captions that were used, of rows that
        were left out, and of iterations.
    ..._per_iteration, signature: with details.
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
        "confidence_level": 0.95,
        "seed": 0,
        "pos": None,
        "head_share": 1.0,
        "tokenizer": "ptb",
        "meteor15_data": None,
        "details": False,
    }

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_metrics(options["metrics"])
        check_numbers(options["n_iterations"], options["n_references"], options["seed"])
        check_interval(options["confidence_level"])
        check_pos(options["pos"])
        check_share("head_share", options["head_share"])
        check_tokenizer(options["tokenizer"])
        check_data_source(options["meteor15_data"])
        check_flag("details", options["details"])

    def _compute(self, data, options):
        rows = [row for row in data if len(row) > 1]
        check_row_sizes(rows, options)
        texts = RowTexts(map(len, rows))
        metrics = scored_texts(
            self._tokens(rows, options),
            options["metrics"],
            wordnet_lexicon,
            lambda: load_lexicon(options["meteor15_data"], evaluate.utils.logging.tqdm),
        )
        n_iterations = options["n_iterations"]
        drawn = draws(rows, texts, n_iterations, options["n_references"], options["seed"])
        shown = evaluate.utils.logging.tqdm(drawn, total=n_iterations, desc="leave one out", unit="draw", delay=1)
        values = iteration_values(metrics, texts, shown)
        result = {}
        for key in (key for metric in options["metrics"] for key in METRICS[metric]):
            parts = summary(values[key], options["confidence_level"])
            result |= dict(zip((key, f"{key}_low", f"{key}_high", f"{key}_standard_error"), parts, strict=True))
        result |= {"n_rows": len(rows), "n_captions": len(texts.row)}
        result |= {"n_single_caption_rows": len(data) - len(rows), "n_iterations": n_iterations}
        if options["details"]:
            result |= {f"{key}_per_iteration": values[key] for key in values}
            result["signature"] = self._signature(options)
        return result

    def _tokens(self, rows, options):
        """Tokens of all captions, with what is masked."""
        if options["pos"] is not None:
            rows = masked_captions(rows, options["pos"])
        tokens = tokenize_rows(rows, options["tokenizer"])
        return tokens if math.isclose(options["head_share"], 1.0) else without_tail(tokens, options["head_share"])

    def _signature(self, options):
        return signature(
            "vdtk_leave_one_out",
            metrics="+".join(options["metrics"]),
            n_iterations=options["n_iterations"],
            n_references="all" if options["n_references"] is None else options["n_references"],
            tokenizer=tokenizer_name(options["tokenizer"]),
            pos=None if options["pos"] is None else tokenizer_name(options["pos"]),
            head_share=options["head_share"],
            seed=options["seed"],
        )


def check_row_sizes(rows, options):
    """Raise unless there are rows with references, and enough of both for the metrics."""
    if not rows:
        raise ValueError("data: expected at least one row with two captions, got none. A caption needs a reference.")
    if "cider_d" in options["metrics"] and len(rows) < 2:
        raise ValueError(
            "data: expected at least 2 rows with two captions for cider_d, which weights n-grams by the number of rows "
            "that have them, got 1. Give more rows, or other metrics."
        )
    ranked = [metric for metric in options["metrics"] if metric.startswith("trm_")]
    if ranked and (min(map(len, rows)) < 3 or options["n_references"] == 1):
        raise ValueError(
            f"data: expected at least 3 captions in each row for {ranked[0]}, one and two references, got fewer. Leave "
            "these rows out, or the metric."
        )
