"""How diverse the candidate captions of each image are, beside the human captions of the same image."""

import math
import zlib

import evaluate

from .base import About, Effect, check_choice, check_flag, check_whole_number, signature
from .diversity_sets import (
    MOST_CAPTIONS,
    REFERENCES,
    SIZES,
    Kernels,
    Sets,
    answer_values,
    check_equivalent,
    check_kernels,
    check_orders,
    check_set_sizes,
    chosen_k,
    class_sizes,
    judged_texts,
    kernel_names,
    linear_values,
    measured_rows,
    near_texts,
    order_name,
    pairs_to_judge,
    row_result,
    set_result,
    set_values,
    unit_rows,
)
from .embeddings import ENCODER_DEFAULTS, EncodingModule, check_encoder_options, encoder_settings
from .ngram_scores import check_document_frequency, reloaded_table, warn_of_equal_documents
from .tokenization import check_tokenizer, ngram_tokens, token_finder, tokenizer_name

_DESCRIPTION = """
set_diversity measures how different the captions of one image or video are from each other, for the candidates of a
system and for the human captions of the same row: self-CIDEr, Vendi scores, Div-1 and Div-2, mBLEU-4, self-BLEU, the
share of different captions, the mean distance of pairs, and how well the captions compress.
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

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of one or more candidate captions, or n_rows strings.
    references: n_rows lists of human captions of the same images or videos, or n_rows strings.
    tokenizer: "ptb" (default), another name of a tokenizer, or a function from a caption to its list of tokens.
    document_frequency: None (default: counted in the references, one document per row), or a table of the layout
        {"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}, or the path of a JSON file; for self-CIDEr.
    kernels: of the Vendi score, default ("ngram", "embedding"); a function from the captions of a set to their kernel
        may stand beside or in place of them.
    vendi_orders: default (1, 2, math.inf).
    sizes: "equal" (default) measures as many captions of one side of a row as of the other, the first ones; or "all".
    equivalent: which texts say the same, for distinct_k and utility_k: a cosine distance of their embeddings, such as
        0.2, or a function of two texts that returns a bool (asked for all pairs at once if it has a method of_pairs,
        as manycaps.sampling.SameMeaning has); default: these values are left out.
    k: texts of which distinct_k counts the classes; default: the smallest number of captions of any row, on both sides.
    encoder, device, dtype, batch_size, long_texts: of the sentence embeddings, as in trm_bert.
    details: True adds per-row lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    Each of these is the mean over rows for the candidates. NaN where no row has a value; rows without one are left out.
    self_cider: 0 (one caption repeated) to 1 (nothing in common). Undefined for one caption.
    vendi_ngram_1, vendi_ngram_2, vendi_ngram_inf, vendi_embedding_1, vendi_embedding_2, vendi_embedding_inf: effective
        number of different captions, 1 to the number of captions.
    vendi_kernel_...: that of a function.
    div_1, div_2: different words, and pairs of words, as a share of the words, 0 to 1.
    mbleu_4, self_bleu_4: BLEU-4 of a caption against the others, 0 to 1; lower is more diverse. Undefined for one.
    unique_share: different captions as a share of the captions, above 0 to 1.
    pairwise_distance: mean cosine distance of the embeddings of two captions, 0 to 2. Undefined for one caption.
    compression_ratio: bytes divided by bytes after gzip, above 0; lower is more diverse.
    distinct_k: with equivalent, classes of equivalent texts among k of the captions, 1 to k; the mean over all choices.
    utility_k: with equivalent, share of k texts, asked for one after the other with patience 0.8, that say something
        new, above 0 to 1.
    k: with equivalent.
    n_rows, n_captions, n_captions_references, n_rows_with_pairs, n_rows_with_pairs_references: counts.
    n_truncated: texts that the encoder did not read in full; n_windowed: with long_texts="window".
    ..._references: the same for the human captions.
    ..._difference: candidates minus humans, mean over rows.
    corpus_...: the same of all captions of a side as one set.
    ..._per_row, signature: with details.
Examples:
    >>> set_diversity = evaluate.load("measurements/set_diversity")  # on the Hub: "manycaps/set_diversity"
    >>> result = set_diversity.compute(
    ...     predictions=[["a dog runs on the beach"] * 3, ["a man cooks", "a man cooks pancakes"]],
    ...     references=[["a dog by the sea", "a brown dog plays"], ["a father makes breakfast", "a man at the stove"]],
    ...     kernels=("ngram",),
    ... )
    >>> [round(result[key], 2) for key in ("self_cider", "self_cider_references", "self_cider_difference")]
    [0.26, 0.97, -0.71]
    >>> [round(result[key], 2) for key in ("vendi_ngram_1", "vendi_ngram_1_references", "div_1", "unique_share")]
    [1.27, 1.99, 0.54, 0.75]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SetDiversity(EncodingModule, evaluate.Measurement):
    """Diversity of sets of captions, candidates beside humans, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/1903.12020", "https://arxiv.org/abs/2210.02410"],
    )
    OWN_COLUMNS = ("predictions", "references")
    DEFAULTS = {
        "tokenizer": "ptb",
        "document_frequency": None,
        "kernels": ("ngram", "embedding"),
        "vendi_orders": (1, 2, math.inf),
        "sizes": "equal",
        "equivalent": None,
        "k": None,
        **ENCODER_DEFAULTS,
        "details": False,
    }
    EFFECTS = dict.fromkeys(
        ENCODER_DEFAULTS,
        Effect(
            "kernels",
            "('ngram', 'embedding')",
            lambda options: "embedding" in options["kernels"] or isinstance(options["equivalent"], (int, float)),
        ),
    )
    token_finder = token_finder
    progress = evaluate.utils.logging.tqdm
    CACHED = frozenset({"table"})
    table = None

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_tokenizer(options["tokenizer"])
        check_document_frequency(options["document_frequency"])
        check_kernels(options["kernels"])
        check_orders(options["vendi_orders"])
        check_choice("sizes", options["sizes"], SIZES)
        check_equivalent(options["equivalent"])
        if options["k"] is not None:
            check_whole_number("k", options["k"], 1, MOST_CAPTIONS)
            if options["equivalent"] is None:
                raise ValueError(
                    "k: expected equivalent beside it, got none. Say which texts say the same, or leave k out."
                )
        check_encoder_options(options)
        check_flag("details", options["details"])

    def checked_columns(self, options, **columns):
        """Return both columns as lists of lists of captions, or raise for the first bad row."""
        checked = super().checked_columns(options, **columns)
        for name, rows in checked.items():
            check_set_sizes(rows, name)
        return checked

    def _compute(self, predictions, references, options):
        table = self._table(options["document_frequency"])
        rows = measured_rows(predictions, references, options["sizes"])
        sides = [
            Sets(name, texts, ngram_tokens(texts, options["tokenizer"]))
            for name, texts in zip(("predictions", "references"), rows, strict=True)
        ]
        if table is None:
            warn_of_equal_documents(sides[1].tokens)
        kernels = self._kernels(rows, options)
        result = row_result(*set_values(sides, kernels, table, type(self).progress), options["details"])
        if options["equivalent"] is not None:
            result |= self._answers(predictions, references, options)
        result |= set_result(*(linear_values(side, kernels) for side in sides)) | {"n_rows": len(predictions)}
        for side, suffix in zip(sides, ("", REFERENCES), strict=True):
            result[f"n_captions{suffix}"] = sum(map(len, side.texts))
            result[f"n_rows_with_pairs{suffix}"] = sum(len(row) > 1 for row in side.texts)
        if "embedding" in options["kernels"] or isinstance(options["equivalent"], int | float):
            texts = [text for side in sides for row in side.texts for text in row]
            result |= self.encoder.count_long_texts(texts, options)
        return result | ({"signature": self._signature(options, table)} if options["details"] else {})

    def _answers(self, predictions, references, options):
        """Values of different answers, of all captions of both sides."""
        sides, equivalent = {"predictions": predictions, "references": references}, options["equivalent"]
        k, vectors = chosen_k(options["k"], sides), {}
        if not callable(equivalent):
            vectors = self._vectors(sides.values(), options)
        elif hasattr(equivalent, "of_pairs"):  # it answers many pairs at once, and keeps the answers
            equivalent.of_pairs(pairs_to_judge(row for rows in sides.values() for row in rows))
        values = []
        for rows in sides.values():
            judged = (
                judged_texts(row, equivalent) if callable(equivalent) else near_texts(row, vectors, equivalent)
                for row in rows
            )
            of_rows = [answer_values(class_sizes(are_equivalent), k) for are_equivalent in judged]
            values.append(dict(zip(("distinct_k", "utility_k"), map(list, zip(*of_rows, strict=True)), strict=True)))
        return row_result(*values, options["details"]) | {"k": k}

    def _vectors(self, sides, options):
        """Vectors of all captions, of length 1; each distinct caption is embedded once."""
        captions = sorted({caption for rows in sides for row in rows for caption in row})
        embedded = self.encoder.embed(captions, options, type(self).progress)
        return dict(zip(captions, unit_rows(embedded.astype("float64")), strict=True))

    def _table(self, source):
        if source is None:
            return None
        self.table = reloaded_table(source, self.table)
        return self.table.frequency

    def _kernels(self, sides, options):
        """Kernels of the Vendi scores."""
        chosen = options["kernels"]
        vectors = self._vectors(sides, options) if "embedding" in chosen else None
        function = next((kernel for kernel in chosen if not isinstance(kernel, str)), None)
        return Kernels("ngram" in chosen, vectors, function, options["vendi_orders"])

    def _signature(self, options, table):
        equivalent = options["equivalent"]
        is_near = equivalent is not None and not callable(equivalent)
        has_embedding = is_near or "embedding" in options["kernels"]
        return signature(
            "set_diversity",
            tokenizer=tokenizer_name(options["tokenizer"]),
            document_frequency="references" if table is None else f"table of {table.n_documents}",
            kernels="+".join(kernel_names(options["kernels"])) or None,
            orders="+".join(map(order_name, options["vendi_orders"])),
            sizes=options["sizes"],
            equivalent=equivalent if is_near or equivalent is None else getattr(equivalent, "__name__", "function"),
            **(encoder_settings(options) if has_embedding else {}),
            zlib=zlib.ZLIB_RUNTIME_VERSION,
        )
