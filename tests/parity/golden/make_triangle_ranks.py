"""Write trm.json: distances of the golden sets, triangle-rank statistics and exact p-values by loops.

Needs tests/requirements.txt and WordNet 3.0 (`manycaps install-wordnet`).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from nltk.corpus import wordnet
from nltk.translate.meteor_score import single_meteor_score

from tests.oracles import triangle_rank_loop
from tests.oracles.coco_cider import document_scorer, pair_score
from tests.parity.golden.golden_file import (
    GOLDEN,
    caption_rows,
    meta,
    ptb_tokens,
    run,
    samples,
    texts,
    token_row,
    write_json,
)

# Most texts of a set whose splits are all tried.
LARGEST_EXACT = 15


def matrix(items: list[Any], distance: Callable[[Any, Any], float]) -> list[list[float]]:
    """Return the distances of all ordered pairs, 0 for equal ones."""
    return [[0.0 if x == y else distance(x, y) for y in items] for x in items]


def ranks(distance: list[list[float]], n: int, m: int) -> dict[str, Any]:
    """Return statistics and p-values, pooled and, with two texts on either side, per side."""
    found = {"distance": distance, **rank_values(distance, n, m, "pooled")}
    return found if min(n, m) == 1 else {**found, "per_side": rank_values(distance, n, m, "per_side")}


def rank_values(distance: list[list[float]], n: int, m: int, kind: str) -> dict[str, Any]:
    """Return one statistic and its exact p-value."""
    values = {"Q_tol_1e_9": triangle_rank_loop.statistic(distance, range(n), range(n, n + m), kind)}
    if n + m <= LARGEST_EXACT:
        values["p_tol_1e_9"] = triangle_rank_loop.exact_p_value(distance, n, kind)
    return values


def cosine_distance(x: np.ndarray, y: np.ndarray) -> float:
    """1 - cosine, in exact sums."""
    return 1 - math.fsum(x * y) / math.sqrt(math.fsum(x * x) * math.fsum(y * y))


def main() -> None:
    scorer = document_scorer([token_row(row)[1] for row in caption_rows()])
    vectors = np.load(GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    embedded = dict(zip(texts(), vectors, strict=True))
    found = []
    for sample in samples():
        captions = sample["candidates"] + sample["references"]
        tokens = [ptb_tokens()[text] for text in captions]
        distances = {
            "meteor": matrix(tokens, lambda x, y: 1 - single_meteor_score(x, y)),
            "cider": matrix(tokens, lambda x, y: 10 - pair_score(scorer, x, [y])),
            "bert": matrix(captions, lambda x, y: cosine_distance(embedded[x], embedded[y])),
        }
        metrics = {name: ranks(distance, sample["n"], sample["m"]) for name, distance in distances.items()}
        found.append({**sample, "tokens_meteor": tokens, "tokens_cider": tokens, "metrics": metrics})
    about = meta(
        ("nltk", "pycocoevalcap", "numpy"),
        wordnet=wordnet.get_version(),
        distances={
            "meteor": "1 - single_meteor_score(reference=x, hypothesis=y) of NLTK",
            "cider": "10 - CIDEr-D(candidate=x, reference=y) of pycocoevalcap under captions_df.tsv.gz",
            "bert": "1 - cosine of minilm_embeddings.npz in exact sums (math.fsum)",
            "equal texts": "0; tokens of ptb_tokens.json",
        },
        statistics="tests/oracles/triangle_rank_loop.py: edges and statistics within 1e-9 are equal",
        p="share of all splits whose statistic is at least the observed one, up to 15 texts",
    )
    write_json("trm.json", {"meta": about, "samples": found})


if __name__ == "__main__":
    run(main)
