"""Files of a trained seed, and the folder that is published: weights, configuration, trials and a card."""

import json
import pathlib
import platform
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from manycaps.checkpoint_conversion import open_clip_config
from manycaps.kit.base_files import file_sha256
from manycaps.kit.clip_model import ClipModel
from manycaps.kit.clip_variants import CONFIG_NAME, WEIGHTS_NAME, Treatment
from manycaps.kit.clip_weights import Weights, read_weights, write_safetensors
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION
from manycaps.saved_files import write_atomically, write_text_atomically
from scripts.toy.small_clip import ACTIVATION, PIXEL_MEAN, PIXEL_STD, SmallClip
from scripts.toy.tables import as_markdown, foil_table, learned_kinds, study_section, verdict, write_csv
from scripts.toy.tuning import PAC, PLAIN, Projections

# Names of a seed's files: weights with the tuned projections, the projections of all variants, and what is known; and
# those of the checkpoint before tuning.
FACTS_NAME = "facts.json"
BASE_NAME, BASE_FACTS_NAME = "base.safetensors", "base.json"
PROJECTIONS_NAME = "projections.safetensors"

# Names of the published files beside the weights.
UNTUNED_NAME = "untuned_projections.safetensors"
TRIALS_NAME = "trials.csv"

CARD = (pathlib.Path(__file__).parent / "card.md").read_text(encoding="utf-8")

TREATMENT = Treatment(ACTIVATION, PIXEL_MEAN, PIXEL_STD)


def write_base(folder: pathlib.Path, clip: SmallClip, facts: Mapping[str, Any]) -> None:
    """Write a seed's checkpoint before tuning; the facts last, for they say that the rest is there."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / BASE_NAME, lambda path: save_file(clip.weights(), path))
    text = json.dumps(facts, indent=1)
    write_atomically(folder / BASE_FACTS_NAME, lambda path: path.write_text(text, encoding="utf-8"))


def read_base(folder: pathlib.Path) -> tuple[SmallClip, dict[str, Any]] | None:
    """Return what `write_base` wrote, or None if nothing is there."""
    if not (folder / BASE_FACTS_NAME).is_file():
        return None
    facts = json.loads((folder / BASE_FACTS_NAME).read_text(encoding="utf-8"))
    return SmallClip.of_weights(load_file(folder / BASE_NAME)), facts


def write_seed(
    folder: pathlib.Path, clip: SmallClip, projections: Mapping[str, Projections], facts: Mapping[str, Any]
) -> None:
    """Write what came of one seed; the facts last, for they say that the rest is there."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = clip.weights() | as_weights(projections[PAC])
    # One entry only: safetensors writes several in any order, and the file would not be the same each time.
    about = {"manycaps": json.dumps({**TREATMENT._asdict(), "source": "made world"})}
    write_atomically(folder / WEIGHTS_NAME, lambda path: write_safetensors(weights, path, about))
    named = {f"{name}/{key}": x for name, pair in projections.items() for key, x in as_weights(pair).items()}
    write_atomically(folder / PROJECTIONS_NAME, lambda path: save_file(named, path))
    write_atomically(folder / FACTS_NAME, lambda path: path.write_text(json.dumps(facts, indent=1), encoding="utf-8"))


def read_facts(folder: pathlib.Path) -> dict[str, Any]:
    """Return what `write_seed` noted."""
    return json.loads((folder / FACTS_NAME).read_text(encoding="utf-8"))


def as_weights(projections: Projections) -> Weights:
    """Projections under their names in a CLIP's state dict."""
    arrays = {VISUAL_PROJECTION: projections.visual, TEXT_PROJECTION: projections.text}
    return {name: torch.tensor(array).contiguous() for name, array in arrays.items()}


def publish(
    folder: pathlib.Path,
    seed_folder: pathlib.Path,
    measurements: Mapping[str, Sequence[Mapping[str, float]]],
    facts: Sequence[Mapping[str, Any]],
) -> None:
    """Write the published folder from a finished seed."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / WEIGHTS_NAME, lambda path: shutil.copyfile(seed_folder / WEIGHTS_NAME, path))
    model = ClipModel(read_weights(folder / WEIGHTS_NAME), **TREATMENT._asdict(), device="cpu")
    config = json.dumps(open_clip_config(model, TREATMENT), indent=2)
    write_text_atomically(folder / CONFIG_NAME, config + "\n")
    named = load_file(seed_folder / PROJECTIONS_NAME)
    untuned = {key.partition("/")[2]: x for key, x in named.items() if key.startswith(f"{PLAIN}/")}
    write_atomically(folder / UNTUNED_NAME, lambda path: save_file(untuned, path))
    seeds = [found["seed"] for found in facts]
    write_csv(folder / TRIALS_NAME, measurements, seeds)
    text = card(folder, seeds, facts, measurements)
    write_text_atomically(folder / "README.md", text)


def card(
    folder: pathlib.Path,
    seeds: Sequence[int],
    facts: Sequence[Mapping[str, Any]],
    measurements: Mapping[str, Sequence[Mapping[str, float]]],
) -> str:
    """Write the model card."""
    files = [
        f"| `{name}` | {(folder / name).stat().st_size:,} | `{file_sha256(folder / name)}` |"
        for name in (WEIGHTS_NAME, UNTUNED_NAME)
    ]
    minutes = sorted(found["processor_minutes"] for found in facts)
    return CARD.format(
        untuned=UNTUNED_NAME,
        seed=seeds[0],
        seeds=" ".join(map(str, seeds)),
        n_seeds=len(seeds),
        n_trials=f"{facts[0]['recipe']['n_trials']:,}",
        n_pairs=f"{facts[0]['recipe']['tuning']['n_scenes']:,}",
        n_positives=facts[0]["recipe"]["tuning"]["make"]["n_positives"],
        most_steps=f"{facts[0]['recipe']['tuning']['max_iterations']:,}",
        files="\n".join(files),
        minutes=f"{minutes[0]:.1f} to {minutes[-1]:.1f}",
        machine=f"{platform.machine()}, {platform.system()}, torch {torch.__version__}",
        tables=as_markdown(measurements, PLAIN),
        verdict=verdict(measurements),
        study=study_section(folder),
        foils=foil_table(measurements),
        learned=learned_kinds(measurements[PAC]),
    )
