"""Write set_diversity.json: Vendi scores of the package vendi-score, BLEU of the COCO caption code and of NLTK.

Needs tests/requirements.txt and `pip install --no-deps vendi-score==0.0.3`.
"""

import warnings
from typing import Any

import numpy as np
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from vendi_score import vendi

from tests.parity.golden.golden_file import GOLDEN, caption_rows, meta, run, token_row, write_json

# Orders of the Vendi score, by the names that the package gives them.
ORDERS = {"1": 1, "2": 2, "3": 3, "inf": "inf"}

# N-gram orders of the kernel, and of BLEU.
NGRAMS = (1, 2, 3, 4)

# Embeddings of a set.
SET_SIZE = 10


def scores(kernel: np.ndarray) -> dict[str, float]:
    """Return the package's scores of a kernel, which it scales to ones on the diagonal."""
    return {name: float(vendi.score_K(kernel, q=order, normalize=True)) for name, order in ORDERS.items()}


def _ngrams(tokens: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def ngram_kernel(captions: list[list[str]]) -> np.ndarray:
    """Return the package's kernel of n-grams, as its text_utils.ngram_vendi_score builds it: a mean of cosines."""
    kernels = []
    for n in NGRAMS:
        vectorizer = CountVectorizer(analyzer=lambda tokens, n=n: _ngrams(tokens, n))
        if not any(len(tokens) >= n for tokens in captions):
            continue  # the vectorizer takes no empty vocabulary; its cosines would be 0
        counts = normalize(vectorizer.fit_transform(captions).astype(np.float64))
        kernels.append((counts @ counts.T).toarray())
    return np.sum(kernels, axis=0) / len(NGRAMS)


def coco_bleu(candidates: list[list[str]], references: list[list[list[str]]]) -> tuple[float, list[float]]:
    """Return the BLEU-4 of the corpus and of each candidate."""
    scorer = BleuScorer(n=4)
    for candidate, others in zip(candidates, references, strict=True):
        scorer += (" ".join(candidate), [" ".join(other) for other in others])
    corpus, single = scorer.compute_score(option="closest", verbose=0)
    return float(corpus[3]), [float(value) for value in single[3]]


def others(captions: list[Any], i: int) -> list[Any]:
    return captions[:i] + captions[i + 1 :]


def set_scores(captions: list[list[str]]) -> dict[str, Any]:
    rest = [others(captions, i) for i in range(len(captions))]
    smoothing = SmoothingFunction().method1
    nltk = [
        sentence_bleu(references, caption, smoothing_function=smoothing)
        for caption, references in zip(captions, rest, strict=True)
    ]
    found: dict[str, Any] = {
        "mbleu_4": float(np.mean(coco_bleu(captions, rest)[1])),
        "self_bleu_4": float(np.mean(nltk)),
    }
    if all(captions):
        found["vendi_ngram"] = scores(ngram_kernel(captions))
    return found


def main() -> None:
    warnings.simplefilter("ignore")  # the package asks scipy for a name that is going to leave it
    rows = [token_row(row) for row in caption_rows()]
    sets = [
        {"row": row["_id"], "side": side, **set_scores(list(captions))}
        for row, sides in zip(caption_rows(), rows, strict=True)
        for side, captions in zip(("candidates", "references"), sides, strict=True)
    ]
    corpora = {}
    for side, name in enumerate(("candidates", "references")):
        chosen = [list(row[side]) for row in rows]
        n_places = max(map(len, chosen))
        corpora[name] = [
            coco_bleu([s[i] for s in chosen if len(s) > i], [others(s, i) for s in chosen if len(s) > i])[0]
            for i in range(n_places)
        ]
    vectors = np.load(GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    embedded = [
        {"first": start, **scores(vectors[start : start + SET_SIZE] @ vectors[start : start + SET_SIZE].T)}
        for start in range(0, len(vectors), SET_SIZE)
    ]
    about = meta(
        ("vendi-score", "pycocoevalcap", "nltk", "scikit-learn", "scipy", "numpy"),
        vendi="vendi.score_K of vendi-score, kernels scaled to ones on the diagonal; `first`: of minilm_embeddings.npz",
        mbleu_4="mean over captions of BleuScorer's BLEU-4 against the others; corpus_mbleu_4: by place in the set",
        self_bleu_4="mean over captions of NLTK's sentence_bleu with method 1",
        tokens="of ptb_tokens.json",
    )
    write_json(
        "set_diversity.json", {"meta": about, "sets": sets, "corpus_mbleu_4": corpora, "vendi_embedding": embedded}
    )


if __name__ == "__main__":
    run(main)
