"""CLIPs of the library transformers, as a folder or as a model in memory; the library itself is not needed."""

import hashlib
import json
import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .base_files import is_regular_file, read_json
from .base_messages import reason_of, shown_value
from .clip_model import ACTIVATIONS, OPENAI_MEAN, OPENAI_STD
from .clip_variants import Treatment, as_treatment
from .clip_weights import TRANSFORMERS_KEY, LazyLibrary, Weights, openai_names

if TYPE_CHECKING:
    import safetensors
else:
    safetensors = LazyLibrary("safetensors")

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
    """Return the file with the weights of a model's folder."""
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
    """Build the error for a model that is no CLIP as this collection runs them."""
    return ValueError(
        f"checkpoint: expected {expected} for {path.name}, got {shown_value(got)}. Give a CLIPModel of transformers, "
        "as those of OpenAI and LAION are, with its own processor."
    )
