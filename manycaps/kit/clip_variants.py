"""What is known of CLIP weights: published ones, and configurations, also of transformers, which is not needed."""

import hashlib
import json
import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .base_files import is_regular_file, read_json
from .base_messages import reason_of, shown_value
from .clip_model import ACTIVATIONS, OPENAI_MEAN, OPENAI_STD
from .clip_weights import TRANSFORMERS_KEY, LazyLibrary, Weights, openai_names

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

    treatment: Treatment
    # Address of the file, or "hub:<repository>".
    source: str


def _drive(file_id: str) -> str:
    """Address of a public Google Drive file, its virus-scan page confirmed."""
    return f"https://drive.usercontent.google.com/download?id={file_id}&export=download&confirm=t"


_OPENAI = Treatment("quick_gelu", OPENAI_MEAN, OPENAI_STD)
_OPENCLIP = Treatment("gelu", INCEPTION_MEAN, INCEPTION_STD)
_PAC_PLUS = "https://ailb-web.ing.unimore.it/publicfiles/pac++/"

# PAC: https://github.com/aimagelab/pacscore (its README gives the first Drive id for both files). Plain CLIP:
# open_clip's copies on the Hub, as named in its pretrained.py. Nothing states sizes or hashes of the authors' files.
VARIANTS: Mapping[str, Variant] = {
    "pac-vit-b-32": Variant(_OPENAI, _drive("1F-0Pma-vfJPAiDzeyl-iEdSXZIO1cDae")),
    "pac-openclip-vit-l-14": Variant(_OPENCLIP, _drive("1G1DAGQf5fW2U3u7K3Dn-eCC6koMDyvsU")),
    "pac++-vit-b-32": Variant(_OPENAI, _PAC_PLUS + "PAC++_clip_ViT-B-32.pth"),
    "pac++-vit-l-14": Variant(_OPENAI, _PAC_PLUS + "PAC++_clip_ViT-L-14.pth"),
    "clip-vit-b-32": Variant(_OPENAI, "hub:timm/vit_base_patch32_clip_224.openai"),
    "clip-vit-l-14": Variant(_OPENAI, "hub:timm/vit_large_patch14_clip_224.openai"),
    "clip-vit-l-14-336": Variant(_OPENAI, "hub:timm/vit_large_patch14_clip_336.openai"),
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
    return ValueError(
        f"checkpoint: expected an object in JSON as the note `manycaps` of {path.name}, got {got}. Convert the "
        "original file again with `manycaps convert-checkpoint`."
    )


# File names of `CLIPModel.save_pretrained`, and of its processor, whose older form has the second name.
WEIGHTS_FILE, CONFIG_FILE = "model.safetensors", "config.json"
PIXEL_FILES = ("processor_config.json", "preprocessor_config.json")

# What transformers takes where a configuration says nothing (configuration_clip.py): heads of both encoders.
HEADS = {"vision_config": 12, "text_config": 8}

# Pillow's number of its bicubic filter, and how much of the difference of two numbers is rounding.
BICUBIC, ROUNDING = 3, 1e-9


class Settings(NamedTuple):
    """What a configuration says that the shapes of the weights do not."""

    treatment: Treatment
    # Attention heads of the image and of the text encoder; None where nothing says how many.
    heads: tuple[int, int] | None


def is_model(value: object) -> bool:
    """Return whether a value is a model in memory: it has weights and a configuration, as a `CLIPModel` does."""
    return hasattr(value, "state_dict") and hasattr(value, "config")


def check_model(options: Mapping[str, Any]) -> None:
    """Raise unless the options model and processor have legal values, and no other option names weights as well."""
    model, processor = options.get("model"), options.get("processor")
    if model is not None and not isinstance(model, str | os.PathLike) and not is_model(model):
        raise TypeError(
            f"model: expected a transformers.CLIPModel or the folder of one, got {type(model).__name__}. For weights "
            "of open_clip give checkpoint=."
        )
    named = [name for name in ("checkpoint", "variant") if options.get(name) is not None]
    if model is not None and named:
        raise ValueError(f"model: expected no {named[0]} beside it, got both. Leave one of them out.")
    if processor is not None and not hasattr(processor, "to_json_string"):
        raise TypeError(
            f"processor: expected a transformers.AutoProcessor, got {type(processor).__name__}. Leave it out for the "
            "pixels of OpenAI's models."
        )
    if processor is not None and not is_model(model):
        raise ValueError(
            "processor: expected a model in memory beside it, got none. Leave it out: a folder has its own files."
        )


def is_transformers_folder(folder: pathlib.Path) -> bool:
    """Return whether a folder has the files of `CLIPModel.save_pretrained`, its weights aside."""
    return is_regular_file(folder / CONFIG_FILE)


def is_of_transformers(path: pathlib.Path) -> bool:
    """Return whether a file is safetensors with the names of transformers' CLIPs."""
    if path.suffix != ".safetensors":
        return False
    try:
        with safetensors.safe_open(path, "np") as file:
            return TRANSFORMERS_KEY in file.keys()  # noqa: SIM118, a file and no dict
    except ImportError:  # a library of ours that is missing: says so itself
        raise
    except Exception:  # no whole file: said where it is read
        return False


def folder_weights(folder: pathlib.Path) -> pathlib.Path:
    """Return the file with the weights of a model's folder; ValueError if there are none as safetensors in one file."""
    path = folder / WEIGHTS_FILE
    if not is_regular_file(path):
        raise ValueError(
            f"checkpoint: expected {WEIGHTS_FILE} in the folder {folder}, got none; pickled weights are not read, as "
            "they can run code. Save the model again with CLIPModel.save_pretrained."
        )
    return path


def folder_settings(folder: pathlib.Path) -> Settings:
    """Return the settings of a model's folder."""
    advice = "Save model and processor again with save_pretrained."
    config = read_json(folder / CONFIG_FILE, "checkpoint", advice)
    pixel_file = next((folder / name for name in PIXEL_FILES if is_regular_file(folder / name)), None)
    pixels = {} if pixel_file is None else read_json(pixel_file, "checkpoint", advice)
    return _settings(config, pixels, folder)


def read_model(model: Any, processor: Any) -> tuple[Weights, Settings, str]:
    """Read a model in memory: what it holds now, so that training it further changes nothing here."""
    path = pathlib.Path(type(model).__name__)
    pixels = {} if processor is None else _json_of(getattr(processor, "image_processor", processor), path)
    settings = _settings(_json_of(model.config, path), pixels, path)
    weights = {name: tensor.detach().cpu().float().clone() for name, tensor in model.state_dict().items()}
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return openai_names(weights), settings, digest.hexdigest()


def _json_of(described: Any, path: pathlib.Path) -> Any:
    """Return a configuration as its file would be."""
    try:
        return json.loads(described.to_json_string())
    except Exception as error:  # whatever a stand-in for a configuration raises
        raise ValueError(
            f"model: expected a configuration of transformers for {path.name}, got {type(described).__name__} "
            f"({reason_of(error)}). Load it with transformers.CLIPModel.from_pretrained."
        ) from error


def _settings(config: Any, pixels: Any, path: pathlib.Path) -> Settings:
    kind = config.get("model_type") if isinstance(config, Mapping) else type(config).__name__
    if kind != "clip":
        raise _refusal(path, "model_type 'clip'", kind)
    heads, activations = [], set()
    for name, default in HEADS.items():
        tower = config.get(name)
        if not isinstance(tower, Mapping) or not isinstance(tower.get("hidden_size"), int):
            raise _refusal(path, f"{name} with its hidden_size", tower)
        n_heads = tower.get("num_attention_heads", default)
        if not isinstance(n_heads, int) or n_heads < 1 or tower["hidden_size"] % n_heads:
            raise _refusal(path, f"num_attention_heads that divide the width {tower['hidden_size']}", n_heads)
        if abs(tower.get("layer_norm_eps", 1e-5) - 1e-5) > ROUNDING:
            raise _refusal(path, "a layer_norm_eps of 1e-05", tower["layer_norm_eps"])
        heads.append(n_heads)
        activations.add(tower.get("hidden_act", ACTIVATIONS[0]))
    if len(activations) > 1:
        raise _refusal(path, "one hidden_act of both encoders", sorted(map(str, activations)))
    eyes = config["vision_config"]
    _check_sizes(eyes.get("image_size", 224), eyes.get("patch_size", 32), pixels, path)
    image = pixels.get("image_processor", pixels)
    facts = {"mean": image.get("image_mean", OPENAI_MEAN), "std": image.get("image_std", OPENAI_STD)}
    return Settings(as_treatment(facts | {"activation": activations.pop()}, path), (heads[0], heads[1]))


def _check_sizes(size: Any, patch: Any, pixels: Any, path: pathlib.Path) -> None:
    """Raise unless images are scaled to the model's size as all are here: bicubic, the middle cut out, then scaled."""
    if not isinstance(size, int) or not isinstance(patch, int) or patch < 1 or size % patch:
        raise _refusal(path, "an image_size of whole patches", f"{size} and {patch}")
    image = pixels.get("image_processor", pixels) if isinstance(pixels, Mapping) else pixels
    if not isinstance(image, Mapping):
        raise _refusal(path, "settings of pixels", image)
    switches = [image.get(f"do_{step}", True) for step in ("resize", "center_crop", "rescale", "normalize")]
    shortest, crop = image.get("size", size), image.get("crop_size", size)
    shortest = shortest.get("shortest_edge") if isinstance(shortest, Mapping) else shortest
    crop = (crop.get("height"), crop.get("width")) if isinstance(crop, Mapping) else (crop, crop)
    scale = image.get("rescale_factor", 1 / 255)
    as_expected = (
        all(switches)
        and (shortest, crop) == (size, (size, size))
        and image.get("resample", BICUBIC) == BICUBIC
        and abs(scale - 1 / 255) < ROUNDING
    )
    if not as_expected:
        asked = f"scaled bicubically to {size}, cropped to {size} x {size}, divided by 255 and normalised"
        raise _refusal(path, f"images {asked}", dict(image))


def _refusal(path: pathlib.Path, expected: str, got: object) -> ValueError:
    return ValueError(
        f"checkpoint: expected {expected} for {path.name}, got {shown_value(got)}. Give a CLIPModel of transformers, "
        "as those of OpenAI and LAION are, with its own processor."
    )
