"""CLIP checkpoints: which variants there are, and how they are found, downloaded and read."""

import contextlib
import hashlib
import json
import math
import os
import pathlib
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple

import filelock
import huggingface_hub
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from .clip_model import (
    ACTIVATIONS,
    OPENAI_MEAN,
    OPENAI_STD,
    TRANSFORMERS_KEY,
    Weights,
    build_network,
    merge_lora,
    openai_names,
    read_weights,
    write_safetensors,
)
from .errors import InputError, InputTypeError, as_input_errors, check_exclusive, quote_value, reason_of
from .files import HUB_PREFIX, file_sha256, is_folder, is_path, is_regular_file, local_path, no_such_path, read_json

# --------------------------------------------------------------------------------------------------------------------
# What is known of CLIP weights: published ones, and configurations, also of transformers, which is not needed.

# Mean and standard deviation of the pixels of OpenCLIP's laion2b_s32b_b82k (open_clip, pretrained.py, _VITL14).
INCEPTION_MEAN = INCEPTION_STD = (0.5, 0.5, 0.5)

# File names of a model folder that open_clip loads with `hf-hub:` (open_clip, constants.py).
WEIGHTS_NAME = "open_clip_model.safetensors"
CONFIG_NAME = "open_clip_config.json"

# What to do with files that do not say what a CLIP needs.
USE_PUBLISHED = (
    "Use the files as published, convert the original again with `manycaps convert-checkpoint`, or save a CLIPModel of "
    "transformers, such as OpenAI's or LAION's, and its processor again with save_pretrained."
)


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
        raise InputTypeError(option, "a name", type(variant).__name__, "Give for example 'clip-vit-b-32'.")
    if variant == "default":
        return DEFAULT_VARIANT
    for name in (variant, f"pac-{variant}"):
        if name in VARIANTS:
            return str(name)
    expected = f"one of {', '.join(VARIANTS)}"
    raise InputError(option, expected, quote_value(variant), "For weights of your own give checkpoint=.")


def file_error(path: pathlib.Path, expected: str, got: object) -> InputError:
    """Return the error about a checkpoint, or a file beside it, that says what no CLIP here has."""
    return InputError("checkpoint", f"{expected} for {path.name}", quote_value(got), USE_PUBLISHED)


def refused_file(path: pathlib.Path) -> contextlib.AbstractContextManager[None]:
    """Name a file where safetensors, or what reads its settings in a `with` statement, refuses it."""
    return as_input_errors("checkpoint", "a checkpoint with its settings", USE_PUBLISHED, got=path.name)


def as_treatment(facts: Mapping[str, Any], path: pathlib.Path) -> Treatment:
    """Check the settings of pixels and activations."""
    if facts["activation"] not in ACTIVATIONS:
        raise file_error(path, f"the activation {' or '.join(ACTIVATIONS)}", facts["activation"])
    with refused_file(path):
        mean, std = (tuple(map(float, facts[name])) for name in ("mean", "std"))
        if len(mean) != 3 or len(std) != 3 or not min(std) > 0 or not math.isfinite(sum(mean + std)):
            raise file_error(path, "three finite numbers as mean and as std, std above 0,", (mean, std))
    return Treatment(facts["activation"], mean, std)


def config_treatment(path: pathlib.Path) -> dict[str, Any]:
    """Return the pixels and activations by an open_clip configuration beside the weights."""
    if not path.is_file():
        return {}
    config = read_json(path, "checkpoint", USE_PUBLISHED)
    with refused_file(path):
        activation = {True: ACTIVATIONS[0], False: ACTIVATIONS[1]}[config["model_cfg"].get("quick_gelu", False)]
        pixels = config.get("preprocess_cfg", {}).items()
        return {"activation": activation} | {key: value for key, value in pixels if key in ("mean", "std")}


def read_facts(path: pathlib.Path) -> dict[str, Any]:
    """Return the metadata that `convert_checkpoint` wrote to a safetensors file; empty for other files."""
    import safetensors

    if path.suffix != ".safetensors":
        return {}
    with refused_file(path), safetensors.safe_open(path, "np") as file:
        return {**json.loads((file.metadata() or {}).get("manycaps", "{}"))}


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
        expected, fix = "a transformers.CLIPModel or the folder of one", "For weights of open_clip give checkpoint=."
        raise InputTypeError("model", expected, type(model).__name__, fix)
    for name in ("checkpoint", "variant"):
        check_exclusive({"model": model, name: options.get(name)})
    if processor is not None and not hasattr(processor, "to_json_string"):
        fix = "Leave it out for the pixels of OpenAI's models."
        raise InputTypeError("processor", "a transformers.AutoProcessor", type(processor).__name__, fix)
    if processor is not None and not is_model(model):
        raise InputError("processor", "a model in memory", "none", "Leave processor out: a folder has its own files.")


def is_transformers_folder(folder: pathlib.Path) -> bool:
    """Return whether a folder has the files of `CLIPModel.save_pretrained`, its weights aside."""
    return is_regular_file(folder / CONFIG_FILE)


def is_of_transformers(path: pathlib.Path) -> bool:
    """Return whether a file is safetensors with the names of transformers' CLIPs."""
    import safetensors

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
        got = "none; pickled weights are not read, as they can run code, and neither are weights in several files"
        fix = "Save the model again with CLIPModel.save_pretrained(FOLDER, max_shard_size='50GB')."
        raise InputError("checkpoint", f"{WEIGHTS_FILE} in the folder {folder}", got, fix)
    return path


def folder_settings(folder: pathlib.Path) -> Settings:
    """Return the settings of a model's folder."""
    config = read_json(folder / CONFIG_FILE, "checkpoint", USE_PUBLISHED)
    pixel_file = next((folder / name for name in PIXEL_FILES if is_regular_file(folder / name)), None)
    pixels = {} if pixel_file is None else read_json(pixel_file, "checkpoint", USE_PUBLISHED)
    return _settings(config, pixels, folder)


def read_model(model: Any, processor: Any) -> tuple[Weights, Settings, str]:
    """Read a model in memory: what it holds now, so that training it further changes nothing here."""
    path = pathlib.Path(type(model).__name__)
    with refused_file(path):
        config = json.loads(model.config.to_json_string())
        eyes = getattr(processor, "image_processor", processor)
        pixels = {} if eyes is None else json.loads(eyes.to_json_string())
    settings = _settings(config, pixels, path)
    weights = {name: tensor.detach().cpu().float().clone() for name, tensor in model.state_dict().items()}
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return openai_names(weights), settings, digest.hexdigest()


def _settings(config: Any, pixels: Any, path: pathlib.Path) -> Settings:
    """Return what a configuration says; raise where it says what would give other numbers here."""
    with refused_file(path):
        if config.get("model_type") != "clip":
            raise file_error(path, "model_type 'clip'", config.get("model_type"))
        towers = [config[name] for name in HEADS]
        if any(abs(tower.get("layer_norm_eps", 1e-5) - 1e-5) > ROUNDING for tower in towers):
            raise file_error(path, "a layer_norm_eps of 1e-05", [tower.get("layer_norm_eps") for tower in towers])
        activations = {tower.get("hidden_act", ACTIVATIONS[0]) for tower in towers}
        if len(activations) > 1:
            raise file_error(path, "one hidden_act of both encoders", sorted(activations))
        image = pixels.get("image_processor", pixels)
        _check_sizes(towers[0].get("image_size", 224), image, path)
        facts = {"mean": image.get("image_mean", OPENAI_MEAN), "std": image.get("image_std", OPENAI_STD)}
        heads = [int(config[name].get("num_attention_heads", default)) for name, default in HEADS.items()]
        return Settings(as_treatment(facts | {"activation": activations.pop()}, path), (heads[0], heads[1]))


def _check_sizes(size: int, image: Mapping[str, Any], path: pathlib.Path) -> None:
    """Raise unless images are scaled to the model's size as all are here: bicubic, the middle cut out, then scaled."""
    switches = [image.get(f"do_{step}", True) for step in ("resize", "center_crop", "rescale", "normalize")]
    shortest, crop = image.get("size", size), image.get("crop_size", size)
    shortest = shortest.get("shortest_edge") if isinstance(shortest, Mapping) else shortest
    crop = (crop.get("height"), crop.get("width")) if isinstance(crop, Mapping) else (crop, crop)
    as_expected = (
        all(switches)
        and (shortest, crop) == (size, (size, size))
        and image.get("resample", BICUBIC) == BICUBIC
        and abs(image.get("rescale_factor", 1 / 255) - 1 / 255) < ROUNDING
    )
    if not as_expected:
        asked = f"scaled bicubically to {size}, cropped to {size} x {size}, divided by 255 and normalised"
        raise file_error(path, f"images {asked}", dict(image))


# --------------------------------------------------------------------------------------------------------------------
# Where CLIP checkpoints come from: local files, the Hub, and published weights, downloaded once and checked.

# Seconds to wait for the Hub's first answer, for data in a download, and for an address that is only tried.
HUB_TIMEOUT, DOWNLOAD_TIMEOUT, TRIAL_TIMEOUT = 10, 60, 20

# What scripts/toy/train_tiny_pac.py notes as the source of its weights.
MADE_WORLD = "made world"

# Bytes read at once from a network.
CHUNK_SIZE = 1 << 20

# What to do after a failed download, and where a server refuses: a browser is refused as well.
IN_A_BROWSER = "Download it in a browser and give checkpoint='path/to/the/file.pth' beside your other options."
REFUSED = (
    "The server refuses it, to browsers, too: give a copy that you have as checkpoint='path/to/the/file.pth' beside "
    "your other options, ask its authors for one, or choose another variant."
)

# First bytes of the files that torch writes: a zip archive, or an old bare pickle.
CHECKPOINT_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04")


class Checkpoint(NamedTuple):
    """A checkpoint on this disk, and how to use it."""

    path: pathlib.Path
    # Name in `VARIANTS`, or "custom" for the user's own weights.
    variant: str
    # File name, Hub repository or address.
    source: str
    sha256: str
    treatment: Treatment
    # Attention heads of the image and the text encoder, where a configuration says how many; None for one of 64 numbers
    # each.
    heads: tuple[int, int] | None = None

    @property
    def is_toy(self) -> bool:
        """Whether the weights know only the made world of coloured shapes, as tiny-pac's do."""
        return read_facts(self.path).get("source") == MADE_WORLD


def find_checkpoint(
    variant: str | None, checkpoint: str | os.PathLike[str] | None, progress: Any, option: str = "checkpoint"
) -> Checkpoint:
    """Find the weights of a module on this disk, and download them if needed.

    `variant` names published weights; with `checkpoint` it only says how pixels and activations are treated where the
    checkpoint itself does not. `checkpoint` is the path of a .safetensors, .pth or .pt file or of a folder that
    `manycaps convert-checkpoint` wrote, or a Hub repository; None for the variant's own source; messages name the
    `option` that it was given as. Raises ValueError for an unusable one.
    """
    name = variant_name(variant)
    if checkpoint is None:
        return _load_published(name, progress)
    on_disk = local_checkpoint(name, checkpoint, option)
    return on_disk or _from_hub(os.fspath(checkpoint).removeprefix(HUB_PREFIX), "custom", VARIANTS[name], option)


def local_checkpoint(
    variant: str | None, checkpoint: str | os.PathLike[str], option: str = "checkpoint"
) -> Checkpoint | None:
    """Find weights on this disk, without a download; None where the name is a Hub repository's."""
    name, given = variant_name(variant), os.fspath(checkpoint)
    path = local_path(checkpoint)
    if is_folder(path):
        return _local(_weights_of(path), name)
    if is_regular_file(path):
        return _local(path, name)
    if isinstance(checkpoint, str) and re.fullmatch(r"[\w.-]+/[\w.-]+", given.removeprefix(HUB_PREFIX)):
        if not is_path(given):
            return None
    elif {given, f"pac-{given}"} & VARIANTS.keys():
        advice = f"{given!r}, the name of published weights", f"Give variant={given!r} and no {option}."
        raise InputError(option, "a file, a folder or a Hub repository", *advice)
    raise InputError(option, "a file, a folder or a Hub repository", *no_such_path(given))


def _local(path: pathlib.Path, name: str) -> Checkpoint:
    treatment, heads = _settings_of(path, path.with_name(CONFIG_NAME), VARIANTS[name])
    source = path.parent.resolve().name if heads else path.name  # transformers calls all files the same
    return Checkpoint(path, "custom", source, file_sha256(path), treatment, heads)


def _load_published(name: str, progress: Any) -> Checkpoint:
    variant = VARIANTS[name]
    if variant.source.startswith("hub:"):
        return _from_hub(variant.source.removeprefix("hub:"), name, variant)
    path = cached_weights_path(name)
    with filelock.FileLock(path.with_suffix(".lock")):  # two processes: the second finds what the first has made
        if not path.is_file():
            _download_and_convert(name, path, progress)
    return Checkpoint(path, name, variant.source, read_facts(path).get("sha256", ""), variant.treatment)


def _from_hub(repository: str, name: str, variant: Variant, option: str = "checkpoint") -> Checkpoint:
    """Weights in a Hub repository; huggingface_hub does the caching and the locking."""
    refusal = _hub_refusal(repository)
    fetch = _hub_file if refusal is None else _cached_file
    try:
        config = fetch(repository, CONFIG_NAME)  # before the weights: where those are, it is not missing by chance
        path = fetch(repository, WEIGHTS_NAME) or fetch(repository, WEIGHTS_FILE)
        if path is not None and is_of_transformers(path):
            for file in (CONFIG_FILE, *PIXEL_FILES):  # into the folder of the weights
                fetch(repository, file)
    except Exception as error:  # an HTTP error, a connection that breaks off, a full disk
        raise _hub_error(repository, error, option) from None
    if path is None and refusal is not None:
        raise _hub_error(repository, refusal, option) from None
    if path is None:
        raise InputError("checkpoint", f"{WEIGHTS_NAME} in the Hub repository {repository}", "none", USE_PUBLISHED)
    treatment, heads = _settings_of(path, config, variant)
    return Checkpoint(path, name, repository, file_sha256(path), treatment, heads)


def _hub_refusal(repository: str) -> Exception | None:
    """Return why the Hub refuses a repository; None if it does not.

    Asked once, without the retries of a download, which take 20 seconds a file on a machine without internet.
    """
    try:
        url = huggingface_hub.hf_hub_url(repository, WEIGHTS_NAME)
        huggingface_hub.get_hf_file_metadata(url, timeout=HUB_TIMEOUT)
    except EntryNotFoundError:
        return None  # the repository is there
    except Exception as error:  # offline, no such repository, no access, an HTTP error: huggingface_hub has many kinds
        return error
    return None


def _hub_file(repository: str, name: str) -> pathlib.Path | None:
    """Download one file, or return None if the repository has no such file."""
    try:
        return pathlib.Path(huggingface_hub.hf_hub_download(repository, name))
    except LocalEntryNotFoundError:  # of the same family, but it says that the Hub has not answered
        raise
    except EntryNotFoundError:
        return None


def _cached_file(repository: str, name: str) -> pathlib.Path | None:
    """A file that was downloaded before, or None."""
    cached = huggingface_hub.try_to_load_from_cache(repository, name)
    return pathlib.Path(cached) if isinstance(cached, str) else None


def _hub_error(repository: str, cause: Exception, option: str) -> ValueError:
    reason = reason_of(OSError(str(cause).strip().partition("\n")[0] or "no reason given"))
    by_hand = f"its {WEIGHTS_NAME} by hand and give checkpoint='path/to/{WEIGHTS_NAME}'"
    if option == "model":
        by_hand = f"its {CONFIG_FILE} and {WEIGHTS_FILE} by hand and give model='path/to/their/folder'"
    got = f"none, the Hub did not return it ({type(cause).__name__}: {reason})"
    fix = f"Check name and network, or download {by_hand}; relative paths start at {pathlib.Path.cwd()}."
    return InputError(option, f"the Hub repository {repository}", got, fix)


def _settings_of(path: pathlib.Path, config: pathlib.Path | None, variant: Variant) -> Settings:
    """Pixels and activations by the file, else by the configuration beside it, else by the variant; heads if known."""
    if is_of_transformers(path) and is_transformers_folder(path.parent):
        return folder_settings(path.parent)
    facts = variant.treatment._asdict() | (config_treatment(config) if config else {}) | read_facts(path)
    return Settings(as_treatment(facts, path), None)


def _weights_of(folder: pathlib.Path) -> pathlib.Path:
    """The weights in a folder that `manycaps convert-checkpoint`, open_clip or transformers wrote."""
    path = folder / WEIGHTS_NAME
    if not path.is_file() and is_transformers_folder(folder):
        return folder_weights(folder)
    if not path.is_file():
        raise InputError("checkpoint", f"{WEIGHTS_NAME} in the folder {folder}", "none", USE_PUBLISHED)
    return path


def cached_weights_path(name: str) -> pathlib.Path:
    """Return the path of the converted weights of a downloaded variant, in the Hub's cache folder for other assets."""
    folder = huggingface_hub.cached_assets_path("manycaps", namespace="checkpoints", subfolder=name)
    return pathlib.Path(folder) / WEIGHTS_NAME


def convert_checkpoint(source: pathlib.Path, target: pathlib.Path, facts: Mapping[str, Any]) -> None:
    """Check that a checkpoint is a CLIP, then write it atomically as safetensors in float32, with LoRA merged."""
    weights = merge_lora(read_weights(source), source.name)
    network = build_network(weights, facts["activation"], file=source.name)
    temporary = target.with_suffix(f".{os.getpid()}.incomplete")
    try:
        metadata = {"format": "pt", "manycaps": json.dumps(dict(facts))}
        write_safetensors(network.state_dict(), temporary, metadata)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _download_and_convert(name: str, path: pathlib.Path, progress: Any) -> None:
    """Download a variant, check it and store it as safetensors; no partial file stays behind."""
    variant = VARIANTS[name]
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        raise _download_error(name, "HF_HUB_OFFLINE is set, so nothing was downloaded")
    download = path.with_name("download.incomplete")
    try:
        _download(name, download, progress)
        facts = variant.treatment._asdict() | {"source": variant.source, "sha256": file_sha256(download)}
        facts["size"] = download.stat().st_size
        try:
            convert_checkpoint(download, path, facts)
        except ValueError as error:
            raise _download_error(name, f"a file that cannot be used. {error}") from error
    finally:
        download.unlink(missing_ok=True)


def _download(name: str, target: pathlib.Path, progress: Any) -> None:
    """Write a variant's file to `target`; raise if it is not what was expected."""
    try:
        with _answer(name, DOWNLOAD_TIMEOUT) as answer, target.open("wb") as file:
            stated = answer.headers.get("Content-Length")
            total = int(stated) if stated else None
            _check_answer(name, answer.headers.get_content_type(), chunk := answer.read(CHUNK_SIZE))
            with progress(total=total, unit="B", unit_scale=True, desc=name) as bar:
                while chunk:
                    file.write(chunk)
                    bar.update(len(chunk))
                    chunk = answer.read(CHUNK_SIZE)
    except OSError as error:
        raise _connection_error(name, error) from None
    received = target.stat().st_size
    if total is not None and received != total:
        raise _download_error(name, f"{received} of {total} bytes")


def try_download(name: str) -> None:
    """Raise unless the address of a variant answers with a file of weights; only its beginning is read."""
    try:
        with _answer(name, TRIAL_TIMEOUT) as answer:
            _check_answer(name, answer.headers.get_content_type(), answer.read(len(CHECKPOINT_STARTS[0])))
    except OSError as error:
        raise _connection_error(name, error) from None


def _answer(name: str, timeout: float) -> Any:
    request = urllib.request.Request(VARIANTS[name].source, headers={"User-Agent": "manycaps"})
    return urllib.request.urlopen(request, timeout=timeout)


def _connection_error(name: str, error: OSError) -> ValueError:
    """Build the error for a server that refuses, for no network, and for a connection that breaks off."""
    if not isinstance(error, urllib.error.HTTPError):
        return _download_error(name, f"no connection ({error})")
    advice = REFUSED if error.code in (401, 403, 451) else IN_A_BROWSER
    return _download_error(name, f"HTTP status {error.code} ({error.reason})", advice)


def _check_answer(name: str, content_type: str, first: bytes) -> None:
    """Raise if a response is a web page, or anything else but a torch file."""
    if content_type == "text/html" or first.lstrip()[:1] == b"<":
        title = re.search(rb"<title>(.*?)</title>", first, re.DOTALL | re.IGNORECASE)
        words = title.group(1).decode(errors="replace").strip() if title else "without a title"
        raise _download_error(name, f"a web page ({words[:60]}), as for too many downloads or missing permission")
    if not first.startswith(CHECKPOINT_STARTS):
        raise _download_error(name, f"{content_type} that begins with {first[:8]!r}")


def _download_error(name: str, got: str, advice: str = IN_A_BROWSER) -> ValueError:
    return InputError("checkpoint", f"the file of {name} from {VARIANTS[name].source}", got, advice)
