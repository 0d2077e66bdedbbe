"""Train a PAC score: positive-augmented contrastive learning on your own images and captions."""

import dataclasses
import functools
import hashlib
import json
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import accelerate
import matplotlib.figure
import torch
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from manycaps.catalog.command_options import check_options, options_of
from manycaps.files.result_tables import finite, markdown_table
from manycaps.files.saved_files import check_same_run, make_folder, write_atomically, write_text_atomically
from manycaps.kit.clip_checkpoints import CONFIG_NAME, WEIGHTS_NAME, Checkpoint, find_checkpoint, variant_name
from manycaps.kit.clip_model import ClipModel, Weights, build_network, merge_lora, read_weights, write_safetensors
from manycaps.kit.clip_pac import PAC_PROMPT
from manycaps.kit.errors import InputError, as_input_errors, quote_path
from manycaps.kit.files import file_sha256
from manycaps.pac_training.data_set import TupleRows, check_output, examine_rows, load_split
from manycaps.pac_training.encoders import EncodedRows, Encoders, FeatureCache
from manycaps.pac_training.low_rank import add_low_rank_updates
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, ProjectedRows, check_cached_features
from manycaps.pac_training.recipe import Recipe, TrainOptions
from manycaps.pac_training.training_loop import Training, TrainingRows

from .checkpoint_conversion import model_card, open_clip_config

STATE_NAME = "training_state.pt"

# The trained weights with the low-rank updates beside them, under the names of PAC-S++ files.
LORA_NAME = "pac_lora.safetensors"

# Fewest validation images: a single one is always retrieved.
LEAST_VALIDATION_IMAGES = 2

# Curves of the drawing: left the losses, right the recall at its first place.
CURVES = {
    "Loss": {"training_loss": "training", "validation_loss": "validation"},
    "Retrieval recall@1 on validation": {
        "image_to_caption_recall@1": "caption of an image",
        "caption_to_image_recall@1": "image of a caption",
    },
}


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


def prompt_of(options: TrainOptions) -> str:
    """Return the text before every caption: pac_score's, unless another prompt is given."""
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
        examine_rows(
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
    """Return whether the encoders run once; by default whenever the features never change."""
    change = options.lora_rank > 0 or options.augment
    if options.cache_features and change:
        expected = "it without --lora-rank and --augment, which change the features at every step"
        raise InputError("--cache-features", expected, "both", "Leave one out.")
    return not change if options.cache_features is None else bool(options.cache_features)


def facts_of(
    options: TrainOptions, accelerator: accelerate.Accelerator, start: Start, rows: tuple[TupleRows, TupleRows]
) -> dict[str, Any]:
    """Return the facts that a saved state must agree with, and that the checkpoint records."""
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
    """Return rows for training and validation, as features that are cached or as images and texts that are encoded."""
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
        check_cached_features(features, name)
        made.append(ProjectedRows(features, projections[VISUAL_PROJECTION], projections[TEXT_PROJECTION]))
    return made


def load_state(path: pathlib.Path, training: Training, facts: dict[str, Any]) -> None:
    """Resume from a saved state, if there is one, of the same facts and recipe: only its end may be another."""
    if not path.is_file():
        return
    state, recipe = read_state(path), dataclasses.asdict(training.recipe)
    given = facts | {name: value for name, value in recipe.items() if name not in ("patience", "max_iterations")}
    expected = "the state of a training with the same data and options"
    fix = "Give the same command as before, or another OUTPUT folder."
    check_same_run(path, expected, state["facts"] | state["training"]["recipe"], given, fix)
    training.load_state(state["training"])


def read_state(path: pathlib.Path) -> dict[str, Any]:
    """Read a saved state without running any of its code."""
    fix = "It was not run. Delete it to start from scratch, or give another folder."
    with as_input_errors(quote_path(path), "the saved state of a training", fix):
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not (isinstance(state["facts"], dict) and isinstance(state["training"]["recipe"], dict)):
            raise TypeError("no facts")
        return dict(state)


def log_steps(training: Training, output: pathlib.Path, is_main: bool, bar: Any) -> Iterator[bool]:
    """Take the remaining steps with a progress bar and TensorBoard; yield after each whether it was a validation."""
    # What was written beyond the saved state of an interrupted training is replaced.
    log = SummaryWriter(str(output / "tensorboard"), purge_step=training.iteration) if is_main else None
    steps = bar(total=training.recipe.max_iterations, initial=training.iteration, desc="training", unit="step")
    with steps:
        for event in training.run():
            validated = "validation_loss" in event
            if validated:
                best = training.best
                steps.set_postfix(validation=f"{event['validation_loss']:.4f}", best=f"{best['validation_loss']:.4f}")
                if log:
                    write_scalars(log, event)
            else:
                steps.update(1)
            yield validated
    if log:
        log.close()


def write_scalars(log: SummaryWriter, record: Mapping[str, float]) -> None:
    """Write the values of one validation for TensorBoard, losses and recall under a heading each."""
    for name, value in record.items():
        heading, _, rest = name.partition("_") if "loss" in name or "L(" in name else ("recall", "", name)
        if name not in ("iteration", "epoch"):
            log.add_scalar(f"{heading}/{rest}", value, int(record["iteration"]))
    log.flush()


def finish(options: TrainOptions, training: Training, start: Start, facts: dict[str, Any]) -> TrainedCheckpoint:
    """Write the checkpoint, the history and the drawing."""
    output, best, iteration = options.output, training.best, int(training.best["iteration"])
    recorded = facts | {
        "training_source": options.data,
        "recipe": dataclasses.asdict(training.recipe),
        "result": {"iteration": iteration, "validation_loss": best["validation_loss"]},
    }
    path = export_checkpoint(output, start, training.best_weights, recorded, keeps_factors=options.save_lora)
    write_text_atomically(output / "history.json", json.dumps(finite(training.history), indent=1, allow_nan=False))
    draw_history(output / "losses.png", training.history, iteration)
    sha256, first = file_sha256(path), training.history[0]
    return TrainedCheckpoint(output, path, sha256, training.stop_reason, iteration, before=first, now=best)


def export_checkpoint(
    folder: pathlib.Path,
    start: Start,
    trained: Mapping[str, torch.Tensor],
    facts: Mapping[str, Any],
    *,
    keeps_factors: bool,
) -> pathlib.Path:
    """Write the initial weights with what was trained in its place, low-rank updates merged, as the modules load them.

    `keeps_factors` also writes a file in which they are not merged.
    """
    treatment = start.checkpoint.treatment
    unmerged = start.weights | {name: tensor.cpu().float() for name, tensor in trained.items()}
    metadata = {"format": "pt", "manycaps": json.dumps(treatment._asdict() | dict(facts))}
    path = folder / WEIGHTS_NAME
    write_atomically(path, lambda target: write_safetensors(merge_lora(unmerged), target, metadata))
    if keeps_factors:
        write_atomically(folder / LORA_NAME, lambda target: write_safetensors(unmerged, target, metadata))
    model = ClipModel(read_weights(path), **treatment._asdict(), device="cpu")  # checks what was written
    write_text_atomically(folder / CONFIG_NAME, json.dumps(open_clip_config(model, treatment), indent=2))
    about = (
        "CLIP weights tuned by positive-augmented contrastive learning (Sarto et al., 2023). The licences of the "
        "weights\nit started from and of the data apply: state them here before you publish."
    )
    table = markdown_table([["", ""], *([key, str(value)] for key, value in _flat(facts).items())])
    write_text_atomically(folder / "README.md", f"{model_card(folder.resolve().name, about)}\n{table}\n")
    return path


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a dict and of its inner dicts, all at one level."""
    flat: dict[str, Any] = {}
    for key, value in facts.items():
        flat |= _flat(value) if isinstance(value, Mapping) else {key: value}
    return flat


def draw_history(path: pathlib.Path, history: Sequence[Mapping[str, float]], best_iteration: int) -> None:
    """Draw losses and recall over the iterations as a PNG, with the weights that were kept marked."""
    figure = matplotlib.figure.Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, (title, curves) in zip(axes, CURVES.items(), strict=True):
        for style, (name, label) in zip(("-", "--"), curves.items(), strict=True):
            points = [(record["iteration"], record[name]) for record in history if name in record]
            if points:
                axis.plot(*zip(*points, strict=True), style, marker="." if len(points) < 30 else "", label=label)
        axis.axvline(best_iteration, color="0.6", linestyle=":", label=f"kept: iteration {best_iteration}")
        axis.set(title=title, xlabel="iteration")
        axis.grid(alpha=0.3)
        axis.legend()
    axes[1].set_ylim(0, 1)
    write_atomically(path, lambda target: figure.savefig(target, dpi=120, format="png"))


def train_pac(options: TrainOptions) -> TrainedCheckpoint | None:
    """Train as the options say.

    Returns:
        The checkpoint; None in every process but the main one.

    Raises:
        ValueError, OSError: data, checkpoint, options or the saved state cannot be used.
    """
    check_options(options)
    caches_features(options)
    check_output(options.data, options.output)
    if options.save_lora and not options.lora_rank:
        raise InputError("--save-lora", "it beside --lora-rank", "it alone", "Leave it out, or give --lora-rank 4.")
    options = dataclasses.replace(options, variant=variant_name(options.variant, "--variant"))
    accelerator = make_accelerator(options)
    bar = functools.partial(tqdm, disable=not accelerator.is_main_process)
    output = options.output
    start = load_start(options, accelerator, bar)
    rows = load_training_data(options, bar)
    facts = facts_of(options, accelerator, start, rows)
    make_folder(output)
    training_features, validation_features = make_features(options, accelerator, start, rows, facts, bar)
    training = Training(
        training_features,
        validation_features,
        {**start.encoders.projections, **start.factors},
        start.encoders.scale,
        options_of(vars(options), Recipe),
        accelerator,
    )
    load_state(output / STATE_NAME, training, facts)
    accelerator.wait_for_everyone()
    for validated in log_steps(training, output, accelerator.is_main_process, bar):
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
