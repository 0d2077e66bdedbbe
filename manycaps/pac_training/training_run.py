"""Train a PAC score: positive-augmented contrastive learning on your own images and captions."""

import argparse
import dataclasses
import functools
import pathlib
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import accelerate
import torch
from tqdm import tqdm

from manycaps.pac_training.data_set import TupleRows, checked_rows, load_split
from manycaps.pac_training.encoders import EncodedRows, Encoders
from manycaps.pac_training.exported_checkpoint import export_checkpoint
from manycaps.pac_training.feature_cache import FeatureCache, cache_key
from manycaps.pac_training.low_rank import add_low_rank_updates
from manycaps.pac_training.processes import AcceleratedProcesses
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, ProjectedRows, check_cached_features
from manycaps.pac_training.recipe import Recipe
from manycaps.pac_training.training_log import TensorBoardLog, draw_history, save_history
from manycaps.pac_training.training_loop import Rows, Training
from manycaps.saved_files import made_folder, write_atomically
from manycaps.shared_clip_checkpoints import Checkpoint, find_checkpoint, variant_name
from manycaps.shared_clip_model import build_network
from manycaps.shared_clip_weights import Weights, merge_lora, read_weights
from manycaps.shared_input_files import file_sha256
from manycaps.shared_messages import reason_of, shown_path
from manycaps.shared_pac_s import PAC_PROMPT

STATE_NAME = "training_state.pt"

# Fewest validation images: one alone is always found.
LEAST_VALIDATION_IMAGES = 2


class Start(NamedTuple):
    """Where a training starts."""

    checkpoint: Checkpoint
    # float32, LoRA updates merged.
    weights: Weights
    encoders: Encoders
    # Of low-rank updates, if any.
    factors: dict[str, torch.nn.Parameter]


def run(arguments: argparse.Namespace, accelerator: accelerate.Accelerator) -> None:
    """Train, or resume a training, and export.

    Raises:
        ValueError: data, checkpoint, options or the saved state cannot be used.
    """
    bar = functools.partial(tqdm, disable=not accelerator.is_main_process)
    output: pathlib.Path = arguments.output
    start = load_start(arguments, accelerator, bar)
    rows = load_data(arguments, bar)
    facts = facts_of(arguments, accelerator, start, rows)
    made_folder(output)
    training_features, validation_features = make_features(arguments, accelerator, start, rows, facts, bar)
    training = Training(
        training_features,
        validation_features,
        {**start.encoders.projections, **start.factors},
        start.encoders.scale,
        recipe_of(arguments),
        AcceleratedProcesses(accelerator),
    )
    load_state(output / STATE_NAME, training, facts)
    accelerator.wait_for_everyone()
    for validated in logged_steps(training, output, accelerator.is_main_process, bar):
        if accelerator.is_main_process and (validated or training.iteration % arguments.save_every == 0):
            state = {"facts": facts, "training": training.state()}
            write_atomically(output / STATE_NAME, functools.partial(torch.save, state))
    if accelerator.is_main_process:
        finish(arguments, training, start, facts)
    accelerator.wait_for_everyone()


def recipe_of(arguments: argparse.Namespace) -> Recipe:
    """Take the options that decide the steps.

    Raises:
        ValueError: one is out of range.
    """
    limits = {"lambda_v": 0, "lambda_t": 0, "learning_rate": 0, "weight_decay": 0, "batch_size": 2, "patience": 1}
    limits |= {"max_iterations": 0, "validate_every": 1, "save_every": 1, "lora_rank": 0, "seed": 0}
    for name, least in (limits | {"encode_batch_size": 1, "workers": 1}).items():
        value = getattr(arguments, name)
        if not least <= value < float("inf"):
            raise ValueError(f"--{name.replace('_', '-')}: expected {least} or more, got {value}. See --help.")
    return Recipe(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Recipe)})


def load_start(arguments: argparse.Namespace, accelerator: accelerate.Accelerator, bar: Any) -> Start:
    """Load the CLIP to start from, frozen, with low-rank updates if they are asked for.

    Raises:
        ValueError: there is no such checkpoint, or it cannot be used.
    """
    found = find_checkpoint(arguments.variant, arguments.checkpoint, bar)
    weights = merge_lora(read_weights(found.path))
    network = build_network(weights, found.treatment.activation)  # checks every tensor
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    # Without gradients the encoders may have short weights; with them, accelerate shortens the products only.
    dtype = "bfloat16" if caches_features(arguments) and accelerator.mixed_precision == "bf16" else "float32"
    encoders = Encoders(weights, found.treatment, str(accelerator.device), dtype)
    rank, seed = arguments.lora_rank, arguments.seed
    factors = add_low_rank_updates(encoders.model.network, rank, seed) if rank else {}
    return Start(found, weights, encoders, factors)


def load_data(arguments: argparse.Namespace, bar: Any) -> tuple[TupleRows, TupleRows]:
    """Load and check the rows for training and for validation.

    Raises:
        ValueError: they cannot be used.
    """
    splits = {
        "training": (arguments.train_split, arguments.batch_size),
        "validation": (arguments.validation_split, LEAST_VALIDATION_IMAGES),
    }
    loaded = {name: load_split(arguments.data, arguments.configuration, split) for name, (split, _) in splits.items()}
    training, validation = (
        checked_rows(
            loaded[name],
            name,
            needs_images=arguments.lambda_v > 0,
            needs_captions=arguments.lambda_t > 0,
            prompt=arguments.prompt,
            least_images=least,
            n_threads=arguments.workers,
            progress=bar,
            decodes=not arguments.skip_image_check,
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


def caches_features(arguments: argparse.Namespace) -> bool:
    """Whether the encoders run once; by default whenever the features never change.

    Raises:
        ValueError: a cache is asked for features that change.
    """
    change = arguments.lora_rank > 0 or arguments.augment
    if arguments.cache_features and change:
        raise ValueError(
            "--cache-features: expected it without --lora-rank and --augment, which change the features at every "
            "step, got both. Leave one out."
        )
    return not change if arguments.cache_features is None else bool(arguments.cache_features)


def facts_of(
    arguments: argparse.Namespace,
    accelerator: accelerate.Accelerator,
    start: Start,
    rows: tuple[TupleRows, TupleRows],
) -> dict[str, Any]:
    """What a saved state must agree with, and what the checkpoint tells about its making."""
    return {
        "source": start.checkpoint.source,
        "sha256": start.checkpoint.sha256,
        "data": {"training_digest": rows[0].digest, "validation_digest": rows[1].digest},
        "prompt": arguments.prompt,
        "precision": accelerator.mixed_precision,
        "cached_features": caches_features(arguments),
        "augmented": arguments.augment,
        "lora_rank": arguments.lora_rank,
    }


def make_features(
    arguments: argparse.Namespace,
    accelerator: accelerate.Accelerator,
    start: Start,
    rows: tuple[TupleRows, TupleRows],
    facts: dict[str, Any],
    bar: Any,
) -> list[Rows]:
    """Rows for training and validation, as features that are cached or as images and texts that are encoded."""
    if not caches_features(arguments):
        return [
            EncodedRows(
                split,
                start.encoders,
                autocast=accelerator.autocast,
                augmentation_seed=arguments.seed if arguments.augment else None,
                n_threads=arguments.workers,
            )
            for split in rows
        ]
    key = cache_key(facts, arguments.encode_batch_size)
    cache = FeatureCache(
        arguments.output / "features" / key,
        start.encoders,
        batch_size=arguments.encode_batch_size,
        n_threads=arguments.workers,
        progress=bar,
        rank=accelerator.process_index,
        n_processes=accelerator.num_processes,
        wait=accelerator.wait_for_everyone,
    )
    made: list[Rows] = []
    for split, name in zip(rows, ("training", "validation"), strict=True):
        features, projections = cache.features(split, name), start.encoders.projections
        visual, text = projections[VISUAL_PROJECTION], projections[TEXT_PROJECTION]
        check_cached_features(features, name, recipe_of(arguments), len(visual), len(text))
        made.append(ProjectedRows(features, visual, text))
    return made


def load_state(path: pathlib.Path, training: Training, facts: dict[str, Any]) -> None:
    """Resume from a saved state, if there is one.

    Raises:
        ValueError: it is that of another training.
    """
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
    """Read a saved state without running any of its code.

    Raises:
        ValueError: it is none, whatever is in the file.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state["facts"], dict):
            raise TypeError("no facts")
        return dict(state, training=dict(state["training"]))
    except Exception as error:  # torch, pickle and zip each raise their own
        raise ValueError(
            f"{shown_path(path)}: expected the saved state of a training, got {type(error).__name__} "
            f"({reason_of(error)}). It was not run. Delete it to start from the beginning, or give another folder."
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


def finish(arguments: argparse.Namespace, training: Training, start: Start, facts: dict[str, Any]) -> None:
    """Write the checkpoint, the history and the drawing, and say what came out."""
    output: pathlib.Path = arguments.output
    best, first = training.best, training.history[0]
    told = facts | {
        "training_source": arguments.data,
        "recipe": dataclasses.asdict(training.recipe),
        "result": {"iteration": int(best["iteration"]), "validation_loss": best["validation_loss"]},
    }
    path = export_checkpoint(
        output,
        start.weights,
        training.best_weights,
        start.checkpoint.treatment,
        told,
        keeps_factors=arguments.save_lora,
    )
    save_history(output / "history.json", training.history)
    draw_history(output / "losses.png", training.history, int(best["iteration"]))
    tell = functools.partial(print, file=sys.stderr)
    tell(f"stopped: {training.stop_reason}; kept: the weights after {int(best['iteration'])} iterations")
    for name in ("validation_loss", "image_to_caption_recall@1", "caption_to_image_recall@1"):
        tell(f"{name.replace('_', ' ')}: {first[name]:.4f} before, {best[name]:.4f} now")
    tell(f"{path}: sha256 {file_sha256(path)}; give {output} as checkpoint=")


def train_pac(arguments: argparse.Namespace) -> None:
    """Train as a command line says.

    Raises:
        ValueError, OSError: data, checkpoint, options or the saved state cannot be used.
    """
    recipe_of(arguments)
    caches_features(arguments)
    arguments.variant = variant_name(arguments.variant, "--variant")
    if arguments.prompt is None:
        arguments.prompt = PAC_PROMPT
    run(arguments, make_accelerator(arguments))


def make_accelerator(arguments: argparse.Namespace) -> accelerate.Accelerator:
    """Set up device, precision and processes; on a GPU, 16 bits are the default and sums have a fixed order."""
    on_cpu = arguments.device == "cpu"
    has_short_floats = not on_cpu and torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    precision = arguments.precision
    short = precision == "bfloat16" or (precision == "auto" and has_short_floats)
    if not on_cpu and torch.cuda.is_available():
        torch.use_deterministic_algorithms(True, warn_only=True)
    return accelerate.Accelerator(cpu=on_cpu, mixed_precision="bf16" if short else "no")
