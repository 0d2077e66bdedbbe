"""Training of the projections with the shape of CLIP ViT-B/32 and random weights: what caching the features saves.

Without a cache, an epoch decodes, tokenises and encodes every image and caption, real and generated; with it, from the
second epoch on, only the two projections are computed. Both are the same training, so the peer here is the tool itself
with --no-cache-features. The other limit is the bare arithmetic: projections, loss, gradients and AdamW on tensors
that lie ready in the order in which they are needed.
"""

import functools
import pathlib
import tempfile
from collections.abc import Callable, Iterator

import datasets
import numpy as np
import torch
from tqdm import tqdm

from manycaps.kit.clip_variants import VARIANTS
from manycaps.pac_training.data_set import TupleRows, checked_rows
from manycaps.pac_training.encoders import EncodedRows, Encoders, FeatureCache
from manycaps.pac_training.losses import positive_augmented_loss
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, CachedFeatures, ProjectedRows
from manycaps.pac_training.recipe import BATCH_SIZE, LAMBDA_T, LAMBDA_V, LEARNING_RATE, Recipe
from manycaps.pac_training.training_loop import Training, TrainingRows
from scripts.benchmarks.clip import captions, random_clip, write_photographs
from scripts.benchmarks.timing import Comparison, compare

N_IMAGES = 32
SMALL_BATCH = 16

# Epochs of one timed run on cached features: one alone takes milliseconds.
N_CACHED_EPOCHS = 20

# Rows and steps of the comparison with the bare arithmetic, at the paper's batch size.
N_CACHED_ROWS, N_STEPS = 2048, 20

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 4, "SMALL_BATCH": 2, "N_CACHED_EPOCHS": 1, "N_CACHED_ROWS": 512, "N_STEPS": 1}

SILENT = functools.partial(tqdm, disable=True)
NEVER = 10**9


def small_data(folder: pathlib.Path) -> TupleRows:
    """Photographs with captions, and as many generated ones."""
    paths = write_photographs(folder, 2 * N_IMAGES)
    texts = captions(2 * N_IMAGES)
    columns = {"image": paths[:N_IMAGES], "caption": texts[:N_IMAGES]}
    columns |= {"generated_image": paths[N_IMAGES:], "generated_caption": texts[N_IMAGES:]}
    return checked_rows(
        datasets.Dataset.from_dict(columns),
        "training",
        needs_images=True,
        needs_captions=True,
        prompt="A photo depicts",
        least_images=N_IMAGES,
        n_threads=2,
        progress=SILENT,
    )


def steps_of(rows: TrainingRows, encoders: Encoders, batch_size: int) -> Callable[[int], None]:
    """Return a function that takes so many steps of a training on rows, the one validation behind it."""
    recipe = Recipe(batch_size=batch_size, validate_every=NEVER, max_iterations=NEVER)
    training = Training(rows, rows, encoders.projections, encoders.scale, recipe)
    events: Iterator[dict[str, float]] = training.run()
    next(events)  # the validation before the first step

    def take(n: int) -> None:
        for _ in range(n):
            next(events)

    return take


def bare_steps(cached: CachedFeatures, encoders: Encoders, n: int) -> Callable[[], None]:
    """Return a function that takes n steps of nothing but arithmetic."""
    visual, text = (
        torch.nn.Parameter(encoders.projections[name].detach().clone()) for name in (VISUAL_PROJECTION, TEXT_PROJECTION)
    )
    optimizer = torch.optim.AdamW([visual, text], lr=LEARNING_RATE)
    arrays = [torch.from_numpy(x[:BATCH_SIZE]) for x in cached[:4] if x is not None]
    v, t, generated_v, generated_t = arrays

    def run() -> None:
        for _ in range(n):
            optimizer.zero_grad(set_to_none=True)
            features = (v @ visual, t @ text, generated_v @ visual, generated_t @ text)
            positive_augmented_loss(*features, encoders.scale)[0].backward()
            optimizer.step()

    return run


def cross_entropy_loss(*features: torch.Tensor) -> torch.Tensor:
    """The same loss as CLIP's programs write it: two cross entropies for each term, features normalised again."""
    images, texts, generated_images, generated_texts = features
    pairs = torch.arange(len(images))

    def term(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        logits = 100 * torch.nn.functional.normalize(x) @ torch.nn.functional.normalize(y).T
        cross_entropy = torch.nn.functional.cross_entropy
        return cross_entropy(logits, pairs) + cross_entropy(logits.T, pairs)

    return term(images, texts) + LAMBDA_V * term(generated_images, texts) + LAMBDA_T * term(images, generated_texts)


def random_cache(d_visual: int, d_text: int) -> CachedFeatures:
    """Features of many rows, as large as those of ViT-B/32."""
    rng = np.random.default_rng(0)
    sizes = (d_visual, d_text, d_visual, d_text)
    return CachedFeatures(*(rng.standard_normal((N_CACHED_ROWS, d), dtype=np.float32) for d in sizes))


def comparisons() -> Iterator[Comparison]:
    """Measure a later epoch beside one without a cache, a step beside its arithmetic, the loss beside another form."""
    weights = random_clip("ViT-B-32").state_dict()
    encoders = Encoders(weights, VARIANTS["clip-vit-b-32"].treatment, "cpu", "float32")
    encoders.scale = 100.0  # CLIP's after its training
    with tempfile.TemporaryDirectory() as name:
        rows = small_data(pathlib.Path(name))
        options = {"batch_size": 64, "n_threads": 2, "progress": SILENT}
        cached = FeatureCache(pathlib.Path(name) / "features", encoders, **options).features(rows, "training")
        on_cache = steps_of(ProjectedRows(cached, *encoders.projections.values()), encoders, SMALL_BATCH)
        without = steps_of(EncodedRows(rows, encoders, n_threads=2), encoders, SMALL_BATCH)
        n_steps = N_IMAGES // SMALL_BATCH
        yield compare(
            "second epoch, features cached",
            "an epoch that encodes (--no-cache-features)",
            "rows",
            20,
            lambda: on_cache(N_CACHED_EPOCHS * n_steps),
            lambda: without(n_steps),
            n_ours=N_CACHED_EPOCHS * N_IMAGES,
            n_theirs=N_IMAGES,
            repeats=3,
        )
    cached = random_cache(*(len(weights[name]) for name in (VISUAL_PROJECTION, TEXT_PROJECTION)))
    on_cache = steps_of(ProjectedRows(cached, *encoders.projections.values()), encoders, BATCH_SIZE)
    yield compare(
        f"steps on cached features, batch {BATCH_SIZE}",
        "the bare arithmetic of a step",
        "steps",
        0.7,
        lambda: on_cache(N_STEPS),
        bare_steps(cached, encoders, N_STEPS),
        n_ours=N_STEPS,
        n_theirs=N_STEPS,
    )
    features = [torch.randn(BATCH_SIZE, 512, requires_grad=True) for _ in range(4)]
    yield compare(
        f"loss and its gradient, batch {BATCH_SIZE}",
        "two cross entropies for each term",
        "losses",
        None,
        lambda: positive_augmented_loss(*features, 100.0)[0].backward(),
        lambda: cross_entropy_loss(*features).backward(),
        n_ours=1,
        n_theirs=1,
        repeats=50,
    )
