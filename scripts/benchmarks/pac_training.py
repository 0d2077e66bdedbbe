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

from manycaps.kit.clip_checkpoints import VARIANTS
from manycaps.kit.clip_model import Weights
from manycaps.pac_training.data_set import TupleRows, examine_rows
from manycaps.pac_training.encoders import EncodedRows, Encoders, FeatureCache
from manycaps.pac_training.losses import positive_augmented_loss
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, CachedFeatures, ProjectedRows
from manycaps.pac_training.recipe import BATCH_SIZE, LEARNING_RATE, Recipe
from manycaps.pac_training.training_loop import Training, TrainingRows
from scripts.benchmarks.clip import captions, random_clip, write_photographs
from scripts.benchmarks.timing import Comparison, Work

N_IMAGES = 32
SMALL_BATCH = 16

# Epochs of one timed run on cached features: one alone takes milliseconds.
N_CACHED_EPOCHS = 20

# Rows and steps of the comparison with the bare arithmetic, at the paper's batch size.
N_CACHED_ROWS, N_STEPS = 2048, 20

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 4, "SMALL_BATCH": 2, "N_CACHED_EPOCHS": 1, "N_CACHED_ROWS": 512, "N_STEPS": 1}

# A progress bar that shows nothing.
SILENT = functools.partial(tqdm, disable=True)

TREATMENT = VARIANTS["clip-vit-b-32"].treatment
NEVER = 10**9


def tuple_rows(folder: pathlib.Path, n: int, n_threads: int) -> TupleRows:
    """Write photographs, and return rows of them with captions, and as many generated ones."""
    paths, texts = write_photographs(folder, 2 * n), captions(2 * n)
    columns = {"image": paths[:n], "caption": texts[:n], "generated_image": paths[n:], "generated_caption": texts[n:]}
    needs = {"needs_images": True, "needs_captions": True, "prompt": "A photo depicts", "least_images": 1}
    rows = datasets.Dataset.from_dict(columns)
    return examine_rows(rows, "training", **needs, n_threads=n_threads, progress=SILENT)


def cached_steps(cached: CachedFeatures, encoders: Encoders, batch_size: int) -> Callable[[int], None]:
    """Return a function that takes so many steps of a training on cached features."""
    return steps_of(ProjectedRows(cached, *encoders.projections.values()), encoders, batch_size)


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
    v, t, generated_v, generated_t = (torch.from_numpy(x[:BATCH_SIZE]) for x in cached[:4] if x is not None)

    def run() -> None:
        for _ in range(n):
            optimizer.zero_grad(set_to_none=True)
            features = (v @ visual, t @ text, generated_v @ visual, generated_t @ text)
            positive_augmented_loss(*features, encoders.scale)[0].backward()
            optimizer.step()

    return run


def random_cache(weights: Weights) -> CachedFeatures:
    """Make features of many rows, as long as a CLIP's with these weights."""
    rng = np.random.default_rng(0)
    sizes = [len(weights[name]) for name in (VISUAL_PROJECTION, TEXT_PROJECTION)] * 2
    return CachedFeatures(*(rng.standard_normal((N_CACHED_ROWS, d), dtype=np.float32) for d in sizes))


def comparisons() -> Iterator[Comparison]:
    """Measure a later epoch beside one without a cache, and a step beside its arithmetic."""
    weights = random_clip().state_dict()
    encoders = Encoders(weights, TREATMENT, "cpu", "float32")
    encoders.scale = 100.0  # CLIP's after its training
    with tempfile.TemporaryDirectory() as name:
        rows = tuple_rows(pathlib.Path(name), N_IMAGES, n_threads=2)
        options = {"batch_size": 64, "n_threads": 2, "progress": SILENT}
        cached = FeatureCache(pathlib.Path(name) / "features", encoders, **options).features(rows, "training")
        on_cache = cached_steps(cached, encoders, SMALL_BATCH)
        without = steps_of(EncodedRows(rows, encoders, n_threads=2), encoders, SMALL_BATCH)
        n_steps = N_IMAGES // SMALL_BATCH
        yield Work(
            "second epoch, features cached",
            "rows",
            N_CACHED_EPOCHS * N_IMAGES,
            lambda: on_cache(N_CACHED_EPOCHS * n_steps),
        ).beside("an epoch that encodes (--no-cache-features)", lambda: without(n_steps), N_IMAGES, claim=20, repeats=3)
    cached = random_cache(weights)
    steps = cached_steps(cached, encoders, BATCH_SIZE)
    work = Work(f"steps on cached features, batch {BATCH_SIZE}", "steps", N_STEPS, lambda: steps(N_STEPS))
    yield work.beside("the bare arithmetic of a step", bare_steps(cached, encoders, N_STEPS), claim=0.7)
