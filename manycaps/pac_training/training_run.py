"""Train a PAC score: positive-augmented contrastive learning on your own images and captions."""

import dataclasses
import functools
import hashlib
import json
import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import accelerate
import torch
from tqdm import tqdm

from manycaps.kit.base_files import file_sha256
from manycaps.kit.base_messages import reason_of, shown_path
from manycaps.kit.clip_checkpoints import Checkpoint, find_checkpoint
from manycaps.kit.clip_model import build_network
from manycaps.kit.clip_pac_scores import PAC_PROMPT
from manycaps.kit.clip_variants import variant_name
from manycaps.kit.clip_weights import Weights, merge_lora, read_weights
from manycaps.pac_training.data_set import TupleRows, checked_rows, load_split
from manycaps.pac_training.encoders import EncodedRows, Encoders, FeatureCache
from manycaps.pac_training.low_rank import add_low_rank_updates
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, ProjectedRows, check_cached_features
from manycaps.pac_training.recipe import Recipe, TrainOptions
from manycaps.pac_training.training_loop import Training, TrainingRows
from manycaps.pac_training.training_output import TensorBoardLog, draw_history, export_checkpoint
from manycaps.saved_files import made_folder, write_atomically

STATE_NAME = "training_state.pt"

# Fewest validation images: a single one is always retrieved.
LEAST_VALIDATION_IMAGES = 2


class Start(NamedTuple):
    """Where a training starts."""

    checkpoint: Checkpoint
    # float32, LoRA updates merged.
    weights: Weights
    encoders: Encoders
    # Of low-rank updates, if any.
    factors: dict[str, torch.nn.Parameter]


class TrainedCheckpoint(NamedTuple):
    """What came out of a training."""

    # Folder of the checkpoint, its weights, and their SHA-256.
    folder: pathlib.Path
    weights: pathlib.Path
    sha256: str
    stop_reason: str | None
    # Iterations after which the weights were kept.
    iteration: int
    # Figures of the validation before the training, and with the weights that were kept.
    before: Mapping[str, float]
    now: Mapping[str, float]

    def summary(self) -> str:
        """Say in some lines what came out."""
        lines = [f"stopped: {self.stop_reason}; kept: the weights after {self.iteration} iterations"]
        for name in ("validation_loss", "image_to_caption_recall@1", "caption_to_image_recall@1"):
            lines.append(f"{name.replace('_', ' ')}: {self.before[name]:.4f} before, {self.now[name]:.4f} now")
        return "\n".join([*lines, f"{self.weights}: sha256 {self.sha256}; give {self.folder} as checkpoint="])


def recipe_of(options: TrainOptions) -> Recipe:
    """Take the options that decide the steps."""
    limits = {"lambda_v": 0, "lambda_t": 0, "learning_rate": 0, "weight_decay": 0, "batch_size": 2, "patience": 1}
    limits |= {"max_iterations": 0, "validate_every": 1, "save_every": 1, "lora_rank": 0, "seed": 0}
    for name, least in (limits | {"encode_batch_size": 1, "workers": 1}).items():
        value = getattr(options, name)
        if not least <= value < float("inf"):
            raise ValueError(f"--{name.replace('_', '-')}: expected {least} or more, got {value}. See --help.")
    return Recipe(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Recipe)})


def prompt_of(options: TrainOptions) -> str:
    """Return what stands before every caption: what pac_score puts there, unless another prompt is given."""
    return PAC_PROMPT if options.prompt is None else options.prompt


def load_start(options: TrainOptions, accelerator: accelerate.Accelerator, bar: Any) -> Start:
    """Load the CLIP to start from, frozen, with low-rank updates if they are asked for."""
    checkpoint = find_checkpoint(options.variant, options.checkpoint, bar)
    weights = merge_lora(read_weights(checkpoint.path))
    network = build_network(weights, checkpoint.treatment.activation)  # checks every tensor
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    # Without gradients the encoders may have short weights; with them, accelerate shortens the products only.
    dtype = "bfloat16" if caches_features(options) and accelerator.mixed_precision == "bf16" else "float32"
    encoders = Encoders(weights, checkpoint.treatment, str(accelerator.device), dtype)
    rank, seed = options.lora_rank, options.seed
    factors = add_low_rank_updates(encoders.model.network, rank, seed) if rank else {}
    return Start(checkpoint, weights, encoders, factors)


def load_training_data(options: TrainOptions, bar: Any) -> tuple[TupleRows, TupleRows]:
    """Load and check the rows for training and for validation."""
    splits = {
        "training": (options.train_split, options.batch_size),
        "validation": (options.validation_split, LEAST_VALIDATION_IMAGES),
    }
    loaded = {name: load_split(options.data, options.configuration, split) for name, (split, _) in splits.items()}
    training, validation = (
        checked_rows(
            loaded[name],
            name,
            needs_images=options.lambda_v > 0,
            needs_captions=options.lambda_t > 0,
            prompt=prompt_of(options),
            least_images=least,
            n_threads=options.workers,
            progress=bar,
            decodes=not options.skip_image_check,
        )
        for name, (_, least) in splits.items()
    )
    n_shared = len(training.image_hashes & validation.image_hashes)
    if n_shared:
        tqdm.write(
            f"validation image: expected images that are not trained on, got {n_shared} of training. The validation "
            "loss will look better than it is; split the data by image.",
            file=sys.stderr,
        )
    return training, validation


def caches_features(options: TrainOptions) -> bool:
    """Whether the encoders run once; by default whenever the features never change."""
    change = options.lora_rank > 0 or options.augment
    if options.cache_features and change:
        raise ValueError(
            "--cache-features: expected it without --lora-rank and --augment, which change the features at every "
            "step, got both. Leave one out."
        )
    return not change if options.cache_features is None else bool(options.cache_features)


def facts_of(
    options: TrainOptions, accelerator: accelerate.Accelerator, start: Start, rows: tuple[TupleRows, TupleRows]
) -> dict[str, Any]:
    """Facts that a saved state must agree with, and that the checkpoint records."""
    return {
        "source": start.checkpoint.source,
        "sha256": start.checkpoint.sha256,
        "data": {"training_digest": rows[0].digest, "validation_digest": rows[1].digest},
        "prompt": prompt_of(options),
        "precision": accelerator.mixed_precision,
        "cached_features": caches_features(options),
        "augmented": options.augment,
        "lora_rank": options.lora_rank,
    }


def make_features(
    options: TrainOptions,
    accelerator: accelerate.Accelerator,
    start: Start,
    rows: tuple[TupleRows, TupleRows],
    facts: dict[str, Any],
    bar: Any,
) -> list[TrainingRows]:
    """Rows for training and validation, as features that are cached or as images and texts that are encoded."""
    if not caches_features(options):
        return [
            EncodedRows(
                split,
                start.encoders,
                autocast=accelerator.autocast,
                augmentation_seed=options.seed if options.augment else None,
                n_threads=options.workers,
            )
            for split in rows
        ]
    key = hashlib.sha256(repr((facts, options.encode_batch_size)).encode()).hexdigest()[:16]
    cache = FeatureCache(
        options.output / "features" / key,
        start.encoders,
        batch_size=options.encode_batch_size,
        n_threads=options.workers,
        progress=bar,
        accelerator=accelerator,
    )
    made: list[TrainingRows] = []
    for split, name in zip(rows, ("training", "validation"), strict=True):
        features, projections = cache.features(split, name), start.encoders.projections
        visual, text = projections[VISUAL_PROJECTION], projections[TEXT_PROJECTION]
        check_cached_features(features, name, recipe_of(options), len(visual), len(text))
        made.append(ProjectedRows(features, visual, text))
    return made


def load_state(path: pathlib.Path, training: Training, facts: dict[str, Any]) -> None:
    """Resume from a saved state, if there is one."""
    if not path.is_file():
        return
    state = read_state(path)
    changed = [name for name in facts if facts[name] != state["facts"].get(name)]
    if changed:
        listed = ", ".join(f"{name} {state['facts'].get(name)!r} instead of {facts[name]!r}" for name in changed)
        raise ValueError(
            f"{path}: expected the state of a training with the same data and options, got {listed}. Give the same "
            "command as before, or another OUTPUT folder."
        )
    training.load_state(state["training"])


def read_state(path: pathlib.Path) -> dict[str, Any]:
    """Read a saved state without running any of its code."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state["facts"], dict):
            raise TypeError("no facts")
        return dict(state, training=dict(state["training"]))
    except Exception as error:  # torch, pickle and zip each raise their own
        raise ValueError(
            f"{shown_path(path)}: expected the saved state of a training, got {type(error).__name__} "
            f"({reason_of(error)}). It was not run. Delete it to start from scratch, or give another folder."
        ) from error


def logged_steps(training: Training, output: pathlib.Path, is_main: bool, bar: Any) -> Iterator[bool]:
    """Take the remaining steps with a progress bar and TensorBoard; yield after each whether it was a validation."""
    log = TensorBoardLog(output / "tensorboard", training.iteration) if is_main else None
    steps = bar(total=training.recipe.max_iterations, initial=training.iteration, desc="training", unit="step")
    with steps:
        for event in training.run():
            validated = "validation_loss" in event
            if validated:
                best = training.best
                steps.set_postfix(validation=f"{event['validation_loss']:.4f}", best=f"{best['validation_loss']:.4f}")
                if log:
                    log.write(event)
            else:
                steps.update(1)
            yield validated
    if log:
        log.close()


def finish(options: TrainOptions, training: Training, start: Start, facts: dict[str, Any]) -> TrainedCheckpoint:
    """Write the checkpoint, the history and the drawing."""
    output = options.output
    best, first = training.best, training.history[0]
    told = facts | {
        "training_source": options.data,
        "recipe": dataclasses.asdict(training.recipe),
        "result": {"iteration": int(best["iteration"]), "validation_loss": best["validation_loss"]},
    }
    path = export_checkpoint(
        output, start.weights, training.best_weights, start.checkpoint.treatment, told, keeps_factors=options.save_lora
    )
    history = json.dumps(training.history, indent=1)
    write_atomically(output / "history.json", lambda target: target.write_text(history, encoding="utf-8"))
    draw_history(output / "losses.png", training.history, int(best["iteration"]))
    return TrainedCheckpoint(
        output, path, file_sha256(path), training.stop_reason, int(best["iteration"]), before=first, now=best
    )


def train_pac(options: TrainOptions) -> TrainedCheckpoint | None:
    """Train as the options say.

    Returns:
        The checkpoint; None in every process but the main one.

    Raises:
        ValueError, OSError: data, checkpoint, options or the saved state cannot be used.
    """
    recipe_of(options)
    caches_features(options)
    options = dataclasses.replace(options, variant=variant_name(options.variant, "--variant"))
    accelerator = make_accelerator(options)
    bar = functools.partial(tqdm, disable=not accelerator.is_main_process)
    output = options.output
    start = load_start(options, accelerator, bar)
    rows = load_training_data(options, bar)
    facts = facts_of(options, accelerator, start, rows)
    made_folder(output)
    training_features, validation_features = make_features(options, accelerator, start, rows, facts, bar)
    training = Training(
        training_features,
        validation_features,
        {**start.encoders.projections, **start.factors},
        start.encoders.scale,
        recipe_of(options),
        accelerator,
    )
    load_state(output / STATE_NAME, training, facts)
    accelerator.wait_for_everyone()
    for validated in logged_steps(training, output, accelerator.is_main_process, bar):
        if accelerator.is_main_process and (validated or training.iteration % options.save_every == 0):
            state = {"facts": facts, "training": training.state()}
            write_atomically(output / STATE_NAME, functools.partial(torch.save, state))
    trained = finish(options, training, start, facts) if accelerator.is_main_process else None
    accelerator.wait_for_everyone()
    return trained


def make_accelerator(options: TrainOptions) -> accelerate.Accelerator:
    """Set up device, precision and processes; on a GPU, 16 bits are the default and sums have a fixed order."""
    on_cpu = options.device == "cpu"
    has_short_floats = not on_cpu and torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    precision = options.precision
    short = precision == "bfloat16" or (precision == "auto" and has_short_floats)
    if not on_cpu and torch.cuda.is_available():
        torch.use_deterministic_algorithms(True, warn_only=True)
    return accelerate.Accelerator(cpu=on_cpu, mixed_precision="bf16" if short else "no")
