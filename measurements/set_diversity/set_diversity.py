"""How diverse the texts of each row are, captions or answers, alone or beside human ones of the same row."""

import math
import zlib

import evaluate
import numpy as np

from .module import CollectionModule, signature
from .ngrams import DOCUMENT_FREQUENCY, FREQUENCIES, warn_of_equal_documents
from .options import (
    DETAILS,
    INTERVALS,
    About,
    Effect,
    Option,
    by_value,
    check_beside_rows,
    dependent_options,
    one_of,
    or_none,
    value_table,
    whole_number,
)
from .rows import has_references
from .sets_distinct import (
    ANSWER_ORDERS,
    CLASSES,
    answer_values,
    as_quality,
    check_equivalent,
    check_orders,
    choose_k,
    class_labels,
    judge_texts,
    mean_class_values,
    near_texts,
    order_name,
    pairs_to_judge,
    unit_rows,
)
from .sets_diversity import (
    MOST_CAPTIONS,
    REFERENCES,
    SIZES,
    Kernels,
    Sets,
    check_kernels,
    check_set_sizes,
    kernel_names,
    linear_values,
    row_result,
    select_measured_rows,
    set_result,
    set_values,
)
from .sets_tests import check_clusters
from .vectors_sentences import ENCODER_OPTIONS, LONG_TEXT_VALUES, SENTENCES, encoder_settings
from .words_tokenizers import TOKENIZER, ngram_tokens, token_finder, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .ngrams_bleu import bleu_scores as bleu_scores
from .ngrams_cider import cider_scores as cider_scores
from .row_images import text_key as text_key
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
set_diversity measures how different the texts of one row are from each other, captions of an image or answers to a
prompt, of a system alone or beside human ones of the same row: self-CIDEr, Vendi scores, Div-1 and Div-2, mBLEU-4,
self-BLEU, the share of different texts, the mean distance of pairs, classes of texts that say the same with their
entropy, and how well the texts compress.
"""

_CITATION = """
@inproceedings{wang2019describing,
  title={Describing like Humans: on Diversity in Image Captioning},
  author={Wang, Qingzhong and Chan, Antoni B.},
  booktitle={CVPR},
  year={2019},
  eprint={1903.12020},
  archivePrefix={arXiv}
}
@article{friedman2023vendi,
  title={The {Vendi} Score: A Diversity Evaluation Metric for Machine Learning},
  author={Friedman, Dan and Dieng, Adji Bousso},
  journal={Transactions on Machine Learning Research},
  year={2023},
  eprint={2210.02410},
  archivePrefix={arXiv}
}
"""

_EXAMPLES = """
>>> set_diversity = evaluate.load("measurements/set_diversity")  # on the Hub: "manycaps/set_diversity"
>>> answers = [["a dog runs on the beach"] * 3, ["a man cooks", "a man cooks pancakes"]]
>>> alone = set_diversity.compute(predictions=answers, kernels=("ngram",))
>>> [round(alone[key], 2) for key in ("vendi_ngram_1", "self_bleu_4", "unique_share")]
[1.27, 0.7, 0.67]
>>> result = set_diversity.compute(
...     predictions=answers,
...     references=[["a dog by the sea", "a brown dog plays"], ["a father makes breakfast", "a man at the stove"]],
...     kernels=("ngram",),
... )
>>> [round(result[key], 2) for key in ("self_cider", "self_cider_references", "self_cider_difference")]
[0.26, 0.97, -0.71]
>>> [round(result[key], 2) for key in ("vendi_ngram_1", "vendi_ngram_1_references", "div_1", "unique_share")]
[1.27, 1.99, 0.54, 0.75]
"""


# When captions are embedded.
IS_EMBEDDED = Effect(
    "kernels",
    "('ngram', 'embedding')",
    lambda options: "embedding" in options["kernels"] or isinstance(options["equivalent"], (int, float)),
)

# When classes are made, and when intervals are.
HAS_CLASSES = Effect("equivalent", "0.3", lambda options: options["equivalent"] is not None)
HAS_INTERVALS = Effect("confidence_level", "0.95", lambda options: options["confidence_level"] is not None)


class SetDiversity(CollectionModule, evaluate.Measurement):
    """Diversity of sets of captions, candidates beside humans, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION, _CITATION, _EXAMPLES, ["https://arxiv.org/abs/1903.12020", "https://arxiv.org/abs/2210.02410"]
    )
    COLUMNS = {
        "predictions": ("n_rows lists of candidate captions, 1 to 2,000, or n_rows strings."),
        "references": (
            "n_rows lists of human captions of the same images or videos, or n_rows strings; may be left out."
        ),
    }
    OPTIONS = (
        TOKENIZER
        | DOCUMENT_FREQUENCY
        | {
            "kernels": Option(
                ("ngram", "embedding"),
                by_value(check_kernels),
                'Of the Vendi score. `("ngram",)` needs no model, and leaves `pairwise_distance` out. A function from '
                "captions to their kernel, shape (n, n) with ones on its diagonal, may be given beside them or alone: "
                '`("ngram", my_kernel)`.',
            ),
            "vendi_orders": Option((1, 2, math.inf), by_value(check_orders), "Numbers from 1 to 1,000, or infinity."),
            "sizes": Option(
                "equal",
                one_of(SIZES),
                '`"equal"` measures as many captions of both sides of a row as the smaller side has, the first ones, '
                'since most values depend on the number; `"all"` measures all captions.',
            ),
            "equivalent": Option(
                None,
                by_value(check_equivalent),
                "Which captions say the same, for the values of classes, which are left out by default: a cosine "
                "distance of their embeddings up to which they do, such as 0.3 (calibrated for MiniLM), or a function "
                "of two captions that returns a bool, such as a judge (`manycaps.sampling.SameMeaning`).",
            ),
        }
        | dependent_options(
            HAS_CLASSES,
            {
                "k": Option(
                    None,
                    or_none(whole_number(1, MOST_CAPTIONS)),
                    "Captions whose classes are counted; by default the smallest number of any row, on both sides.",
                ),
                **CLASSES,
                "answer_order": Option(
                    "any",
                    one_of(ANSWER_ORDERS),
                    '`"any"`: the mean over all choices and orders of k captions; `"given"`: the first k as given.',
                ),
                "quality": Option(
                    None,
                    check_beside_rows,
                    "n_rows lists of a number of at least 0 for each candidate, for `quality_utility_k`.",
                ),
            },
        )
        | dependent_options(IS_EMBEDDED, ENCODER_OPTIONS)
        | INTERVALS
        | dependent_options(HAS_INTERVALS, {"clusters": INTERVALS["clusters"]})
        | DETAILS
    )
    OPTIONAL_COLUMNS = frozenset({"references"})
    VALUES = (
        value_table("""
        * self_cider | 0 to 1 | | -log_n of the share of the largest root of the eigenvalues of the CIDEr kernel in
            all roots: 0 for one caption repeated (but for rounding), 1 for nothing in common. NaN for n = 1, and where
            no n-gram has weight, as in a corpus of one row
        vendi_ngram_1, vendi_ngram_2, vendi_ngram_inf | 1 to n | | effective number of different captions; kernel: mean
            over n-grams of 1 to 4 words of the cosines of their counts, scaled to ones on the diagonal
        vendi_embedding_1, vendi_embedding_2, vendi_embedding_inf | 1 to n | | the same with the cosines of sentence
            embeddings
        vendi_kernel_... | 1 to n | | the same with a function of your own
        div_1, div_2 | 0 to 1 | | different words, and pairs of words, as a share of the words. NaN without a word
        * mbleu_4 | 0 to 1 | | mean over captions of their BLEU-4 (COCO caption code) against the others; lower is more
            diverse. NaN for n = 1
        self_bleu_4 | 0 to 1 | | the same with NLTK's BLEU-4 and its smoothing method 1; lower is more diverse. NaN for
            n = 1
        * unique_share | 1/n to 1 | | different captions as a share of the captions; captions are equal when their
            tokens are
        * pairwise_distance | 0 to 2 | | mean over pairs of 1 - cosine of their embeddings. NaN for n = 1
        compression_ratio | 0 to 1,033 | | bytes divided by bytes after gzip, of the captions in alphabetical order,
            joined by line breaks; lower is more diverse. NaN without a byte
        distinct_k | 1 to k | | with `equivalent`: classes of equivalent captions among k (NoveltyBench, Zhang et al.
            2025)
        utility_k | above 0 to 1 | | with `equivalent`: share of k captions, read with patience 0.8, that say something
            new: NoveltyBench's utility with a quality of 1 for all
        quality_utility_k | 0 to the largest quality | higher | with `quality`: NoveltyBench's utility of the
            candidates; a caption that says something new counts with its quality, another with 0
        n_classes | 1 to n | | with `equivalent`: classes of equivalent captions among all of a row
        semantic_entropy | 0 to log n | | with `equivalent`: entropy of the classes of a row, in nats (Farquhar et al.
            2024)
        corpus_mbleu_4 | 0 to 1 | | corpus BLEU-4 of the first captions of all rows against the others, the same for the
            second ones, and so on; mean over places. What papers report; it depends on the order of the captions
        corpus_... | | | the same of all captions of a side as one set
        k | | | with `equivalent`: what `distinct_k` is of
        n_rows, n_captions, n_captions_references | | | counts
        n_rows_with_pairs, n_rows_with_pairs_references | | | rows of at least two captions
        ..._references | | | the same for the human captions, where there are any
        ..._difference | | | candidates minus humans, mean over rows, where there are human captions
        ..._ci_low, ..._ci_high | | | with `confidence_level`: ends of the interval of a mean over rows
        ..._per_row | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
        + LONG_TEXT_VALUES
    )
    token_finder = token_finder
    PARTS = SENTENCES | FREQUENCIES
    ROW_CHECKS = (check_set_sizes,)

    def result(self, predictions, references, options):
        """Measure the sets of each side, and return the result."""
        source, clusters = options["document_frequency"], options["clusters"]
        table = None if source is None else self.frequencies.load(source, options["tokenizer"])
        if clusters is not None:
            check_clusters(clusters, len(predictions))
        given = {"predictions": predictions} | ({"references": references} if has_references(references) else {})
        rows = select_measured_rows(*given.values(), sizes=options["sizes"])
        sides = [
            Sets(name, texts, ngram_tokens(texts, options["tokenizer"]))
            for name, texts in zip(given, rows, strict=True)
        ]
        if table is None:
            warn_of_equal_documents(sides[-1].tokens, sides[-1].name)
        if IS_EMBEDDED.holds(options):
            self.encoder.check_known(given, options)
        kernels = self._kernels(rows, options)
        over_rows = {name: options[name] for name in ("details", "confidence_level", "clusters")}
        result = row_result(*set_values(sides, kernels, table, self.progress), **over_rows)
        if options["equivalent"] is not None:
            result |= self._answers(given, over_rows, options)
        result |= set_result(*(linear_values(side, kernels) for side in sides)) | {"n_rows": len(predictions)}
        for side, suffix in zip(sides, ("", REFERENCES), strict=False):
            result[f"n_captions{suffix}"] = sum(map(len, side.texts))
            result[f"n_rows_with_pairs{suffix}"] = sum(len(row) > 1 for row in side.texts)
        if IS_EMBEDDED.holds(options):
            texts = [text for side in sides for row in side.texts for text in row]
            result |= self.encoder.count_unread(texts, options)
        return result | ({"signature": self._signature(sides[-1].name, options, table)} if options["details"] else {})

    def _answers(self, sides, over_rows, options):
        """Values of different answers, of all captions of each side."""
        equivalent = options["equivalent"]
        k, vectors = choose_k(options["k"], sides), {}
        if not callable(equivalent):
            vectors = self._vectors(sides.values(), options)
        elif hasattr(equivalent, "of_pairs"):  # it answers many pairs at once, and keeps the answers
            equivalent.of_pairs(pairs_to_judge(row for rows in sides.values() for row in rows))
        values, order = {}, options["answer_order"]
        labels = {
            name: [
                class_labels(
                    judge_texts(row, equivalent) if callable(equivalent) else near_texts(row, vectors, equivalent),
                    options["classes"],
                )
                for row in rows
            ]
            for name, rows in sides.items()
        }
        for name, rows in labels.items():
            row_values = [answer_values(row, k, order) for row in rows]
            values[name] = dict(zip(("distinct_k", "utility_k"), map(list, zip(*row_values, strict=True)), strict=True))
            values[name] |= mean_class_values([np.bincount(row).tolist() for row in rows])
        result = row_result(*values.values(), **over_rows) | {"k": k}
        if options["quality"] is not None:
            qualities = as_quality(options["quality"], list(map(len, sides["predictions"])))
            pairs = zip(labels["predictions"], qualities, strict=True)
            utilities = [answer_values(row, k, order, quality)[1] for row, quality in pairs]
            result |= row_result({"quality_utility_k": utilities}, **over_rows)
        return result

    def _vectors(self, sides, options):
        """Vectors of all captions, of length 1; each distinct caption is embedded once."""
        captions = sorted({caption for rows in sides for row in rows for caption in row})
        embedded = self.encoder.embed(captions, options, self.progress)
        return dict(zip(captions, unit_rows(embedded.astype("float64")), strict=True))

    def _kernels(self, sides, options):
        """Kernels of the Vendi scores."""
        chosen = options["kernels"]
        vectors = self._vectors(sides, options) if "embedding" in chosen else None
        function = next((kernel for kernel in chosen if not isinstance(kernel, str)), None)
        return Kernels("ngram" in chosen, vectors, function, options["vendi_orders"])

    def _signature(self, documents, options, table):
        equivalent = options["equivalent"]
        is_near = equivalent is not None and not callable(equivalent)
        has_embedding = is_near or "embedding" in options["kernels"]
        return signature(
            "set_diversity",
            tokenizer=tokenizer_name(options["tokenizer"]),
            document_frequency=documents if table is None else f"table of {table.n_documents}",
            kernels="+".join(kernel_names(options["kernels"])) or None,
            orders="+".join(map(order_name, options["vendi_orders"])),
            sizes=options["sizes"],
            equivalent=equivalent if is_near or equivalent is None else getattr(equivalent, "__name__", "function"),
            k=options["k"],
            answer_order=None if options["answer_order"] == "any" else options["answer_order"],
            quality=None if options["quality"] is None else "given",
            classes=None if equivalent is None or options["classes"] == "connected" else options["classes"],
            **(encoder_settings(options) if has_embedding else {}),
            zlib=zlib.ZLIB_RUNTIME_VERSION,
        )
