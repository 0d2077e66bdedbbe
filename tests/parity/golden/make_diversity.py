"""Write vdtk_stats.json: the statistics of vdtk's own functions on captions.json, with two tokenizers.

Needs tests/requirements.txt, spaCy, and `pip install --no-deps vdtk==0.3.0` (470 MB).
"""

import itertools
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import spacy

from tests.parity.golden.golden_file import caption_rows, meta, ptb_tokens, run, write_json
from tests.parity.golden.vdtk_source import functions_of

ORDERS = (2, 3, 4)

# Caption lengths of ED@N.
LENGTHS = (5, 10, 15, 20)

# Captions and rows whose own values are kept.
N_FIRST = 5


def vocabulary(rows: list[list[list[str]]]) -> dict[str, Any]:
    vdtk = functions_of("vocab_metrics.py")
    samples = [SimpleNamespace(references_tokenized_text=row) for row in rows]
    counts, row_counts = vdtk["_count_tokens"](samples, False)
    within = vdtk["_compute_ws_uniqueness"](row_counts)
    between = vdtk["_compute_bs_uniqueness"](counts, row_counts)
    return {
        "unique_tokens": len(counts),
        "total_tokens": sum(counts.values()),
        "head90": vdtk["_compute_head_tokens"](counts),
        "mean_ws_uniqueness": float(np.mean(within)),
        "mean_bs_uniqueness": float(np.mean(between)),
        "ws_first5": within[:N_FIRST],
        "bs_first5": between[:N_FIRST],
    }


def ngrams(captions: list[list[str]], order: int) -> dict[str, Any]:
    """Return likelihoods and EVS of one order; EVS comes first, because the model grows when it is asked."""
    model = functions_of("lm.py")["NGramLM"](captions, order)
    evs, contexts = effective_vocabulary(model), len(model.model)
    logs = [float(model.log_likelihood(tokens)) for tokens in captions]
    return {
        "log_likelihood": float(np.mean(logs)),
        "perplexity": float(np.exp(-np.mean(logs))),
        "evs": effective_vocabulary(model),
        "evs_before_likelihood": evs,
        "contexts": contexts,
        "count": model.count,
        "first5_ll": logs[:N_FIRST],
    }


def effective_vocabulary(model: Any) -> float:
    return functions_of("ngram_metrics.py")["_compute_evs"](model)


def figures(rows: list[list[list[str]]]) -> dict[str, Any]:
    """Return the figures of rows of token lists."""
    captions = list(itertools.chain.from_iterable(rows))
    models = {str(order): ngrams(captions, order) for order in ORDERS}
    evs = [model["evs"] for model in models.values()]
    return {
        "vocab": vocabulary(rows),
        "ngram": models,
        "ed": {str(length): functions_of("ngram_metrics.py")["_compute_ed"](length, *evs) for length in LENGTHS},
        "caption": {
            "tokens_per_description": describe([len(tokens) for tokens in captions]),
            "descriptions_per_sample": describe([len(row) for row in rows]),
            "unique_descriptions_per_sample": describe([len(set(map(tuple, row))) for row in rows]),
        },
    }


def describe(values: list[int]) -> dict[str, Any]:
    """Return vdtk's description of some numbers, as plain ones."""
    found = functions_of("stats_utils.py")["descr"](np.array(values))
    return {**found, "s95ci": [float(bound) for bound in found["s95ci"]]}


def edge_cases() -> dict[str, Any]:
    """Return what a model of three captions says of a seen and of an unseen one, and how it grows with that."""
    found: dict[str, Any] = {"head_empty": functions_of("vocab_metrics.py")["_compute_head_tokens"](Counter())}
    for order in ORDERS:
        model = functions_of("lm.py")["NGramLM"]([["a", "b"], ["a", "c"], []], order)
        contexts = [str(context) for context in model.model]
        case: dict[str, Any] = {"contexts": contexts, "evs": effective_vocabulary(model)}
        case["ll_seen"] = float(model.log_likelihood(["a", "b"]))
        with np.errstate(divide="ignore"):  # the logarithm of 0, which it then raises to -12
            case["ll_unseen"] = float(model.log_likelihood(["z", "b"]))
        found[f"lm{order}"] = {**case, "evs_after": effective_vocabulary(model), "contexts_after": len(model.model)}
    return found


def main() -> None:
    tokenizer = spacy.blank("en").tokenizer
    results = {}
    for side in ("references", "candidates"):
        rows = [row[side] for row in caption_rows()]
        by_spacy = [[[token.text.lower() for token in tokenizer(text)] for text in row] for row in rows]
        results[side] = {
            "n_samples": len(rows),
            "n_captions": sum(map(len, rows)),
            "spacy_blank": figures(by_spacy),
            "ptb": figures([[ptb_tokens()[text] for text in row] for row in rows]),
        }
    about = meta(
        ("vdtk", "spacy", "pycocoevalcap", "numpy"),
        program="vdtk: vocab_metrics, lm, ngram_metrics and stats_utils",
        spacy_blank="spacy.blank('en').tokenizer, lower case, white space that is a token kept",
        ptb="tokens of ptb_tokens.json",
        evs="before and after the likelihoods of the captions",
    )
    write_json("vdtk_stats.json", {"meta": about, "results": results, "edge": edge_cases()})


if __name__ == "__main__":
    run(main)
