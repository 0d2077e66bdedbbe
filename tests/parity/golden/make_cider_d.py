"""Write ciderd_pairs.json and captions_df.tsv.gz: CIDEr-D of the COCO caption code, and its document frequencies.

Needs tests/requirements.txt.
"""

import gzip
from typing import Any

from pycocoevalcap.cider.cider import Cider

from tests.oracles.coco_cider import document_scorer, pair_score
from tests.parity.golden.golden_file import GOLDEN, caption_rows, compared_tokens, meta, run, token_row, write_json


def main() -> None:
    rows = {row["_id"]: token_row(row) for row in caption_rows()}
    scorer = document_scorer([references for _, references in rows.values()])
    write_frequencies(scorer.document_frequency)
    pairs, sets = [], []
    for row in caption_rows():
        for candidate, reference in compared_tokens(row):
            found = {"candidate": " ".join(candidate), "reference": " ".join(reference)}
            score = pair_score(scorer, candidate, [reference])
            pairs.append({"category": row["_id"], **found, "score": score})
        (candidate, *_), references = rows[row["_id"]]
        found = {"candidate": " ".join(candidate), "references": [" ".join(reference) for reference in references]}
        sets.append({**found, "score": pair_score(scorer, candidate, references)})
    about = meta(
        ("pycocoevalcap", "numpy"),
        program="pycocoevalcap.cider.cider_scorer.CiderScorer.compute_cider with the document frequencies of all rows",
        df="captions_df.tsv.gz: each row's references are one document",
        n_images=len(rows),
        tokens="of ptb_tokens.json, joined by one blank",
    )
    write_json("ciderd_pairs.json", {"meta": about, "pairs": pairs, "multi_reference": sets, "corpus": corpus(rows)})


def corpus(rows: dict[str, Any]) -> dict[str, Any]:
    """Return what the COCO caption code says of the first candidates of all rows."""
    mean, scores = Cider().compute_score(
        {name: [" ".join(tokens) for tokens in references] for name, (_, references) in rows.items()},
        {name: [" ".join(candidates[0])] for name, (candidates, _) in rows.items()},
    )
    return {"code": "Cider().compute_score", "mean": float(mean), "ids": list(rows), "per_sample": scores.tolist()}


def write_frequencies(frequencies: dict[tuple[str, ...], float]) -> None:
    """Write n-gram, tab, count; the same bytes every time."""
    lines = sorted(f"{' '.join(ngram)}\t{count:.0f}\n" for ngram, count in frequencies.items())
    (GOLDEN / "captions_df.tsv.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    run(main)
