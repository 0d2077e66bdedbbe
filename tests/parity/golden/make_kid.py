"""Write kid.json: KID of subsets of the golden embeddings by torch-fidelity, whose kernel and sums it is.

Needs tests/requirements.txt and torch-fidelity 0.4.0, which stays out of them: its package holds a folder `tests` that
hides this one. `pip install --no-deps --target FOLDER torch-fidelity==0.4.0`, delete FOLDER/tests, and run this with
PYTHONPATH=FOLDER.
"""

import numpy as np
import torch

from tests.parity.golden.golden_file import GOLDEN, meta, run, write_json

# Vectors of each set, and subsets of each size, with the seed of their draws.
N_CANDIDATES, N_REFERENCES = 60, 50
SUBSETS = {2: (3, 0), 25: (8, 1), 50: (2, 2)}


def golden_sets() -> tuple[np.ndarray, np.ndarray]:
    """Return candidates and references: the first golden embeddings, scaled so that the kernel is far from linear."""
    vectors = 10 * np.load(GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    return vectors[:N_CANDIDATES], vectors[N_CANDIDATES : N_CANDIDATES + N_REFERENCES]


def main() -> None:
    from torch_fidelity.metric_kid import kid_features_to_metric

    rows, sides = [], golden_sets()
    for size, (n_subsets, seed) in SUBSETS.items():
        rng = np.random.default_rng(seed)
        for subset in range(n_subsets):
            drawn = [torch.from_numpy(side[rng.choice(len(side), size, replace=False)]) for side in sides]
            found = kid_features_to_metric(*drawn, kid_subsets=1, kid_subset_size=size, rng_seed=0, verbose=False)
            value = float(found["kernel_inception_distance_mean"])
            rows.append({"subset_size": size, "seed": seed, "subset": subset, "kid": value})
    facts = {"kid": "(a.b / d + 1)^3, unbiased, of the subsets that numpy.random.default_rng(seed) draws"}
    write_json("kid.json", {"meta": meta(["torch-fidelity", "torch", "numpy"], **facts), "rows": rows})


if __name__ == "__main__":
    run(main)
