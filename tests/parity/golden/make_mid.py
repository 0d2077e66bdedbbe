"""Write mid.json: MID of drawn features by the authors' program.

Needs tests/requirements.txt, and metrics/mid.py of https://github.com/naver-ai/mid.metric (commit c1c89388) as
FOLDER/naver_mid.py: run this with PYTHONPATH=FOLDER.
"""

import numpy as np
import torch

from tests.parity.golden.golden_file import meta, run, write_json

# Sets: seed, pairs, features of captions and images, and how near captions of people and candidates are to the images.
DRAWN = (
    (0, 40, 3, 0.5, 0.5),
    (1, 60, 5, 0.3, 1.0),
    (2, 200, 16, 1.0, 0.2),
    (3, 25, 2, 0.1, 3.0),
    (4, 300, 32, 0.7, 0.7),
)


def drawn_pairs(seed: int, n: int, d: int, people: float, mine: float) -> tuple[np.ndarray, ...]:
    """Return features of candidates, images and references, of length 1."""
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n, d))
    captions = [images + scale * rng.normal(size=(n, d)) for scale in (mine, people)]
    candidates, images, references = (
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (captions[0], images, captions[1])
    )
    return candidates, images, references


def main() -> None:
    from naver_mid import _compute_pmi

    rows = []
    for how in DRAWN:
        candidates, images, references = (torch.from_numpy(side) for side in drawn_pairs(*how))
        # The program's x are what people made, x0 what a system made, and y what both are of.
        mid = float(_compute_pmi(references, images, candidates))
        pointwise = _compute_pmi(references, images, candidates, reduction=False).tolist()
        rows.append({"drawn": how, "mid": mid, "pointwise": pointwise[:5]})
    facts = {"program": "naver-ai/mid.metric, metrics/mid.py, commit c1c89388ff84c926532129d5f14631357b1fa578"}
    write_json("mid.json", {"meta": meta(["torch", "numpy"], **facts), "rows": rows})


if __name__ == "__main__":
    run(main)
