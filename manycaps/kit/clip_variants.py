"""What is known of CLIP weights: a table of published ones, and how pixels and activations are treated."""

import json
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .base_files import read_json
from .base_messages import reason_of, shown_value
from .clip_model import ACTIVATIONS, OPENAI_MEAN, OPENAI_STD
from .clip_weights import LazyLibrary

if TYPE_CHECKING:
    import safetensors
else:
    safetensors = LazyLibrary("safetensors")

# Mean and standard deviation of the pixels of OpenCLIP's laion2b_s32b_b82k (open_clip, pretrained.py, _VITL14).
INCEPTION_MEAN = INCEPTION_STD = (0.5, 0.5, 0.5)

# File names of a model folder that open_clip loads with `hf-hub:` (open_clip, constants.py).
WEIGHTS_NAME = "open_clip_model.safetensors"
CONFIG_NAME = "open_clip_config.json"

# Largest size of a mean or a deviation of pixels, whose own values go from 0 to 1.
LARGEST_PIXEL = 1e6


class Treatment(NamedTuple):
    """Settings that the shapes of the weights do not determine."""

    activation: str
    # Mean and standard deviation of red, green and blue.
    mean: tuple[float, ...]
    std: tuple[float, ...]


class Variant(NamedTuple):
    """A published set of weights."""

    # Vision transformer: size / patch.
    architecture: str
    treatment: Treatment
    # Address of the file, or "hub:<repository>".
    source: str
    # Bytes and hash of the file where the source states them; None where nothing does.
    size: int | None = None
    sha256: str | None = None


def _drive(file_id: str) -> str:
    """Address of a public Google Drive file, its virus-scan page confirmed."""
    return f"https://drive.usercontent.google.com/download?id={file_id}&export=download&confirm=t"


_OPENAI = Treatment("quick_gelu", OPENAI_MEAN, OPENAI_STD)
_OPENCLIP = Treatment("gelu", INCEPTION_MEAN, INCEPTION_STD)
_PAC_PLUS = "https://ailb-web.ing.unimore.it/publicfiles/pac++/"

# PAC: https://github.com/aimagelab/pacscore (its README gives the first Drive id for both files). Plain CLIP:
# open_clip's copies on the Hub, as named in its pretrained.py. Nothing states sizes or hashes of the authors' files.
VARIANTS: Mapping[str, Variant] = {
    "pac-vit-b-32": Variant("ViT-B/32", _OPENAI, _drive("1F-0Pma-vfJPAiDzeyl-iEdSXZIO1cDae")),
    "pac-openclip-vit-l-14": Variant("ViT-L/14", _OPENCLIP, _drive("1G1DAGQf5fW2U3u7K3Dn-eCC6koMDyvsU")),
    "pac++-vit-b-32": Variant("ViT-B/32", _OPENAI, _PAC_PLUS + "PAC++_clip_ViT-B-32.pth"),
    "pac++-vit-l-14": Variant("ViT-L/14", _OPENAI, _PAC_PLUS + "PAC++_clip_ViT-L-14.pth"),
    "clip-vit-b-32": Variant("ViT-B/32", _OPENAI, "hub:timm/vit_base_patch32_clip_224.openai"),
    "clip-vit-l-14": Variant("ViT-L/14", _OPENAI, "hub:timm/vit_large_patch14_clip_224.openai"),
    "clip-vit-l-14-336": Variant("ViT-L/14", _OPENAI, "hub:timm/vit_large_patch14_clip_336.openai"),
}

DEFAULT_VARIANT = "pac-vit-b-32"


def variant_name(variant: str | None, option: str = "variant") -> str:
    """Return the full name of a variant; "pac-" may be left out, and no name means the default.

    >>> variant_name("openclip-vit-l-14")
    'pac-openclip-vit-l-14'
    """
    if variant is None:
        return DEFAULT_VARIANT
    if not isinstance(variant, str):
        raise TypeError(f"{option}: expected a name, got {type(variant).__name__}. Give for example 'clip-vit-b-32'.")
    if variant == "default":
        return DEFAULT_VARIANT
    for name in (variant, f"pac-{variant}"):
        if name in VARIANTS:
            return str(name)
    raise ValueError(
        f"{option}: expected one of {', '.join(VARIANTS)}, got {shown_value(variant)}. For weights of your own "
        "give checkpoint=."
    )


def as_treatment(facts: Mapping[str, Any], path: pathlib.Path) -> Treatment:
    """Check the settings of pixels and activations."""
    activation = facts["activation"]
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"checkpoint: expected the activation {' or '.join(ACTIVATIONS)} for {path.name}, got "
            f"{shown_value(activation)}. Convert the original file again with `manycaps convert-checkpoint`."
        )
    for name in ("mean", "std"):
        numbers = facts[name]
        if not isinstance(numbers, list | tuple) or len(numbers) != 3 or not all(map(_is_finite, numbers)):
            raise _pixels_error(path, name, "three finite numbers", numbers)
        if name == "std" and min(numbers) <= 0:
            raise _pixels_error(path, name, "numbers above 0", numbers)
    return Treatment(activation, tuple(map(float, facts["mean"])), tuple(map(float, facts["std"])))


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_PIXEL


def _pixels_error(path: pathlib.Path, name: str, expected: str, got: object) -> ValueError:
    """Build the error for an impossible mean or deviation."""
    return ValueError(
        f"checkpoint: expected {expected} as {name} for {path.name}, got {shown_value(got)}. Write those that the "
        "model was trained with, one for each colour."
    )


def config_treatment(path: pathlib.Path) -> dict[str, Any]:
    """Pixels and activations by an open_clip configuration beside the weights."""
    if not path.is_file():
        return {}
    advice = "Write the folder again with `manycaps convert-checkpoint`."
    config = read_json(path, "checkpoint", advice)
    model = config.get("model_cfg") if isinstance(config, dict) else None
    pixels = config.get("preprocess_cfg", {}) if isinstance(config, dict) else None
    if not isinstance(model, dict) or not isinstance(pixels, dict):
        raise ValueError(
            f"checkpoint: expected model_cfg and preprocess_cfg in {path.name}, got {shown_value(config)}. {advice}"
        )
    quick = model.get("quick_gelu", False)
    if not isinstance(quick, bool):
        raise ValueError(
            f"checkpoint: expected true or false as quick_gelu in {path.name}, got {shown_value(quick)}. {advice}"
        )
    treatment = {"activation": ACTIVATIONS[0 if quick else 1]}
    return treatment | {key: pixels[key] for key in ("mean", "std") if key in pixels}


def read_facts(path: pathlib.Path) -> dict[str, Any]:
    """Return the metadata that `convert_checkpoint` wrote to a safetensors file; empty for other files."""
    if path.suffix != ".safetensors":
        return {}
    safe_open = safetensors.safe_open
    try:
        with safe_open(path, "np") as file:
            facts = (file.metadata() or {}).get("manycaps")
    except Exception as error:  # safetensors raises its own kinds, and OSError
        raise ValueError(
            f"checkpoint: expected a safetensors file, got {path.name}, which is not whole ({error}). Copy it again."
        ) from error
    try:
        noted = json.loads(facts) if facts else {}
    except (ValueError, RecursionError) as error:
        raise _facts_error(path, reason_of(error)) from error
    if not isinstance(noted, dict):
        raise _facts_error(path, type(noted).__name__)
    return noted


def _facts_error(path: pathlib.Path, got: str) -> ValueError:
    """Build the error for a file whose metadata cannot be read."""
    return ValueError(
        f"checkpoint: expected an object in JSON as the note `manycaps` of {path.name}, got {got}. Convert the "
        "original file again with `manycaps convert-checkpoint`."
    )
