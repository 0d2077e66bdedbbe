"""Write density_coverage.json: precision, recall, density and coverage by the authors' package.

Needs tests/requirements.txt and prdc 0.2, which stays out of them: `pip install --no-deps --target FOLDER prdc==0.2`,
and run this with PYTHONPATH=FOLDER.
"""

import contextlib
import os

import numpy as np

from tests.parity.golden.golden_file import GOLDEN, meta, run, write_json

# Sets: seed, sizes of candidates and references, dimensions, spread and shift of the candidates, and the k.
DRAWN = (
    (0, 40, 30, 2, 1.0, 0.0, 1),
    (1, 40, 30, 2, 1.0, 0.0, 5),
    (2, 300, 500, 16, 0.5, 0.0, 3),
    (3, 500, 300, 16, 2.0, 0.0, 5),
    (4, 200, 200, 64, 1.0, 0.5, 10),
    (5, 12, 12, 3, 1.0, 0.2, 10),
)


def drawn_sets(seed: int, n: int, m: int, d: int, spread: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Return candidates and references."""
    rng = np.random.default_rng(seed)
    return shift + spread * rng.normal(size=(n, d)), rng.normal(size=(m, d))


def caption_sets() -> tuple[np.ndarray, np.ndarray]:
    """Return candidates and references: the golden embeddings of captions, every other one."""
    vectors = np.load(GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    return vectors[::2], vectors[1::2]


def main() -> None:
    from prdc import compute_prdc

    rows = []
    with contextlib.redirect_stdout(open(os.devnull, "w", encoding="utf-8")):
        for *how, k in DRAWN:
            candidates, references = drawn_sets(*how)
            rows.append({"drawn": how, "k": k, **compute_prdc(references, candidates, k)})
        for k in (1, 3, 5, 20):
            candidates, references = caption_sets()
            rows.append({"drawn": None, "k": k, **compute_prdc(references, candidates, k)})
    rows = [{name: value if name in ("drawn", "k") else float(value) for name, value in row.items()} for row in rows]
    facts = {"program": "compute_prdc(references, candidates, k) of the authors' package"}
    write_json("density_coverage.json", {"meta": meta(["prdc", "scikit-learn", "numpy"], **facts), "rows": rows})


if __name__ == "__main__":
    run(main)
