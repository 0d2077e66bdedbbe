"""Where CLIP checkpoints come from: a table of published ones, local files, the Hub; downloaded once, and safely."""

import hashlib
import json
import os
import pathlib
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import filelock
import huggingface_hub
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from .shared_clip_model import ACTIVATIONS, OPENAI_MEAN, OPENAI_STD, build_network
from .shared_clip_weights import LazyLibrary, merge_lora, read_weights
from .shared_clip_weights import write_safetensors as write_weights
from .shared_input_files import file_sha256, is_folder, is_regular_file, read_json
from .shared_messages import reason_of, shown_value
from .shared_model_paths import HUB_PREFIX, is_path, local_path, no_such_path

if TYPE_CHECKING:
    import safetensors
else:
    safetensors = LazyLibrary("safetensors")

# Mean and standard deviation of the pixels of OpenCLIP's laion2b_s32b_b82k (open_clip, pretrained.py, _VITL14).
INCEPTION_MEAN = INCEPTION_STD = (0.5, 0.5, 0.5)

# File names of a model folder that open_clip loads with `hf-hub:` (open_clip, constants.py).
WEIGHTS_NAME = "open_clip_model.safetensors"
CONFIG_NAME = "open_clip_config.json"

# Bytes read at once from a network or a disk.
CHUNK_SIZE = 1 << 20

# Seconds without any byte after which a download is given up.
DOWNLOAD_TIMEOUT = 60

# Seconds to wait for the Hub's first answer.
HUB_TIMEOUT = 10

# What scripts/toy/train_tiny_pac.py notes as the source of its weights.
MADE_WORLD = "made world"

# First bytes of the files that torch writes: a zip archive, or an old bare pickle.
CHECKPOINT_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04")


# Largest size of a mean or a deviation of pixels, whose own values go from 0 to 1.
LARGEST_PIXEL = 1e6


class Treatment(NamedTuple):
    """What the shapes of the weights do not tell."""

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


class Checkpoint(NamedTuple):
    """A checkpoint that lies on this disk, and how to use it."""

    path: pathlib.Path
    # Name in `VARIANTS`, or "custom" where nothing proves that the file is one of them.
    variant: str
    # File name, Hub repository or address.
    source: str
    sha256: str
    treatment: Treatment

    @property
    def is_toy(self) -> bool:
        """Whether the weights know only the made world of coloured shapes, as those of tiny-pac do."""
        return read_facts(self.path).get("source") == MADE_WORLD


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

    Args:
        variant: what the user wrote.
        option: under which name, for the message.

    Returns:
        A key of `VARIANTS`.

    Raises:
        ValueError: there is no such variant.

    >>> variant_name("openclip-vit-l-14")
    'pac-openclip-vit-l-14'
    """
    if variant in (None, "default"):
        return DEFAULT_VARIANT
    for name in (variant, f"pac-{variant}"):
        if name in VARIANTS:
            return str(name)
    raise ValueError(
        f"{option}: expected one of {', '.join(VARIANTS)}, got {shown_value(variant)}. For weights of your own "
        "give checkpoint=."
    )


def find_checkpoint(variant: str | None, checkpoint: str | os.PathLike[str] | None, progress: Any) -> Checkpoint:
    """Find the weights that a module is to use, and download them if need be.

    Args:
        variant: name of published weights; with `checkpoint` it only says how pixels and activations are treated
            where the checkpoint itself does not.
        checkpoint: path of a .safetensors, .pth or .pt file or of a folder that `manycaps convert-checkpoint` wrote,
            or a Hub repository; None for the variant's own source.
        progress: a tqdm class for the download.

    Returns:
        The checkpoint on this disk.

    Raises:
        ValueError: nothing usable is there.
    """
    name = variant_name(variant)
    if checkpoint is None:
        return _published(name, progress)
    found = local_checkpoint(name, checkpoint)
    return found or _from_hub(os.fspath(checkpoint).removeprefix(HUB_PREFIX), "custom", VARIANTS[name])


def local_checkpoint(variant: str | None, checkpoint: str | os.PathLike[str]) -> Checkpoint | None:
    """Find weights on this disk; nothing is downloaded.

    Args:
        variant: as for `find_checkpoint`.
        checkpoint: a path or a Hub repository.

    Returns:
        The checkpoint, or None where the name is that of a Hub repository.

    Raises:
        ValueError: a path that is not there, the name of a variant, or nothing usable.
    """
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
        raise ValueError(
            f"checkpoint: expected a file, a folder or a Hub repository, got {given!r}, the name of published weights. "
            f"Give variant={given!r} and no checkpoint."
        )
    raise ValueError(f"checkpoint: expected a file, a folder or a Hub repository, got {no_such_path(given)}")


def cached_weights_path(name: str) -> pathlib.Path:
    """Where the converted weights of a downloaded variant lie, below the Hub's cache folder for other assets."""
    folder = huggingface_hub.cached_assets_path("manycaps", namespace="checkpoints", subfolder=name)
    return pathlib.Path(folder) / WEIGHTS_NAME


def convert_checkpoint(source: pathlib.Path, target: pathlib.Path, facts: Mapping[str, Any]) -> None:
    """Write a checkpoint as safetensors in float32, LoRA merged, atomically, after the check that it is a CLIP.

    Args:
        source: any file that `read_weights` reads.
        target: path of the new file.
        facts: strings, numbers and lists about the weights; kept in the file.

    Raises:
        ValueError: the source is no usable checkpoint.
    """
    weights = merge_lora(read_weights(source))
    network = build_network(weights, facts["activation"])
    temporary = target.with_suffix(f".{os.getpid()}.incomplete")
    try:
        metadata = {"format": "pt", "manycaps": json.dumps(dict(facts))}
        write_weights(network.state_dict(), temporary, metadata)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def read_facts(path: pathlib.Path) -> dict[str, Any]:
    """Return what `convert_checkpoint` noted in a safetensors file; empty for other files.

    Raises:
        ValueError: the file has that ending but is not whole.
    """
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
    """Build the error for a file whose notes about itself cannot be read."""
    return ValueError(
        f"checkpoint: expected an object in JSON as the note `manycaps` of {path.name}, got {got}. Convert the "
        "original file again with `manycaps convert-checkpoint`."
    )


def _local(path: pathlib.Path, name: str) -> Checkpoint:
    """Describe a file of the user's."""
    sha256 = file_sha256(path)
    known = [other for other, variant in VARIANTS.items() if variant.sha256 == sha256]
    variant = VARIANTS[known[0] if known else name]
    treatment = _treatment_of(path, path.with_name(CONFIG_NAME), variant)
    return Checkpoint(path, known[0] if known else "custom", path.name, sha256, treatment)


def _published(name: str, progress: Any) -> Checkpoint:
    """A variant's own weights."""
    variant = VARIANTS[name]
    if variant.source.startswith("hub:"):
        return _from_hub(variant.source.removeprefix("hub:"), name, variant)
    path = cached_weights_path(name)
    with filelock.FileLock(path.with_suffix(".lock")):  # two processes: the second finds what the first has made
        if not path.is_file():
            _download_and_convert(name, path, progress)
    return Checkpoint(path, name, variant.source, read_facts(path).get("sha256", ""), variant.treatment)


def _from_hub(repository: str, name: str, variant: Variant) -> Checkpoint:
    """Weights in a Hub repository; huggingface_hub does the caching and the locking."""
    refusal = _hub_refusal(repository)
    fetch = _hub_file if refusal is None else _cached_file
    try:
        config = fetch(repository, CONFIG_NAME)  # before the weights: where those are, it is not missing by chance
        path = fetch(repository, WEIGHTS_NAME) or fetch(repository, "model.safetensors")
    except Exception as error:  # an HTTP error, a connection that breaks off, a full disk
        raise _hub_error(repository, error) from error
    if path is None and refusal is not None:
        raise _hub_error(repository, refusal) from refusal
    if path is None:
        raise ValueError(
            f"checkpoint: expected {WEIGHTS_NAME} in the Hub repository {repository}, got none. Upload the folder "
            "that `manycaps convert-checkpoint` writes."
        )
    return Checkpoint(path, name, repository, file_sha256(path), _treatment_of(path, config, variant))


def _hub_refusal(repository: str) -> Exception | None:
    """Why the Hub does not give a repository; None if it does.

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
    found = huggingface_hub.try_to_load_from_cache(repository, name)
    return pathlib.Path(found) if isinstance(found, str) else None


def _hub_error(repository: str, cause: Exception) -> ValueError:
    """Build the error for a repository that cannot be had."""
    first_line = next(iter(str(cause).strip().splitlines()), "no reason given")
    return ValueError(
        f"checkpoint: expected the Hub repository {repository}, got no answer that helps "
        f"({type(cause).__name__}: {first_line}). Check name and network, or download its {WEIGHTS_NAME} by hand and "
        f"give checkpoint='path/to/{WEIGHTS_NAME}'; relative paths start at {pathlib.Path.cwd()}."
    )


def _download_and_convert(name: str, path: pathlib.Path, progress: Any) -> None:
    """Fetch a variant, check it and keep it as safetensors; nothing half-done stays behind."""
    variant = VARIANTS[name]
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        raise _download_error(name, "HF_HUB_OFFLINE is set, so nothing was asked for")
    download = path.with_name("download.incomplete")
    try:
        sha256 = _download(name, download, progress)
        size = download.stat().st_size
        facts = variant.treatment._asdict() | {"source": variant.source, "sha256": sha256, "size": size}
        try:
            convert_checkpoint(download, path, facts)
        except ValueError as error:
            raise _download_error(name, f"a file that cannot be used. {error}") from error
    finally:
        download.unlink(missing_ok=True)


def _download(name: str, target: pathlib.Path, progress: Any) -> str:
    """Write a variant's file to `target` and return its hash; raise if it is not what was expected."""
    variant = VARIANTS[name]
    request = urllib.request.Request(variant.source, headers={"User-Agent": "manycaps"})
    try:
        with urllib.request.urlopen(request, timeout=DOWNLOAD_TIMEOUT) as answer, target.open("wb") as file:
            stated = answer.headers.get("Content-Length")
            total = int(stated) if stated else variant.size
            _check_answer(name, answer.headers.get_content_type(), first := answer.read(CHUNK_SIZE))
            received, sha256 = _copy(first, answer, file, progress(total=total, unit="B", unit_scale=True, desc=name))
    except urllib.error.HTTPError as error:
        raise _download_error(name, f"HTTP status {error.code} ({error.reason})") from error
    except OSError as error:  # no network, a name that does not resolve, a connection that breaks off
        raise _download_error(name, f"no connection ({error})") from error
    if total is not None and received != total:
        raise _download_error(name, f"{received} of {total} bytes")
    if variant.size is not None and received != variant.size:
        raise _download_error(name, f"a file of {received} bytes instead of {variant.size}")
    if variant.sha256 is not None and sha256 != variant.sha256:
        raise _download_error(name, f"a file with sha256 {sha256} instead of {variant.sha256}")
    return sha256


def _check_answer(name: str, content_type: str, first: bytes) -> None:
    """Raise if an answer is a web page, or anything else than a file of torch."""
    if content_type == "text/html" or first.lstrip()[:1] == b"<":
        title = re.search(rb"<title>(.*?)</title>", first, re.DOTALL | re.IGNORECASE)
        words = title.group(1).decode(errors="replace").strip() if title else "without a title"
        raise _download_error(name, f"a web page ({words[:60]}), such as for too many downloads or a missing right")
    if not first.startswith(CHECKPOINT_STARTS):
        raise _download_error(name, f"{content_type} that begins with {first[:8]!r}")


def _copy(first: bytes, answer: Any, file: Any, bar: Any) -> tuple[int, str]:
    """Write an answer to a file; return its length and hash."""
    digest, received, chunk = hashlib.sha256(), 0, first
    with bar:
        while chunk:
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            bar.update(len(chunk))
            chunk = answer.read(CHUNK_SIZE)
    return received, digest.hexdigest()


def _download_error(name: str, got: str) -> ValueError:
    """Build the error for a download that did not work."""
    return ValueError(
        f"checkpoint: expected the file of {name} from {VARIANTS[name].source}, got {got}. Download it in a browser "
        "and give checkpoint='path/to/the/file.pth' beside your other options."
    )


def _treatment_of(path: pathlib.Path, config: pathlib.Path | None, variant: Variant) -> Treatment:
    """What the file, else the configuration beside it, else the variant says about pixels and activations."""
    facts = variant.treatment._asdict() | (_config_treatment(config) if config else {}) | read_facts(path)
    return as_treatment(facts, path)


def as_treatment(facts: Mapping[str, Any], path: pathlib.Path) -> Treatment:
    """Check what is said about pixels and activations.

    Args:
        facts: activation, mean and std.
        path: of the file, for messages.

    Returns:
        The treatment.

    Raises:
        ValueError: an unknown activation; a mean or a deviation that is not three finite numbers, the deviations above
            0.
    """
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
    """Build the error for a mean or a deviation that cannot be one."""
    return ValueError(
        f"checkpoint: expected {expected} as {name} for {path.name}, got {shown_value(got)}. Write those that the "
        "model was trained with, one for each colour."
    )


def _config_treatment(path: pathlib.Path) -> dict[str, Any]:
    """What an open_clip configuration beside the weights says about pixels and activations."""
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


def _weights_of(folder: pathlib.Path) -> pathlib.Path:
    """The weights in a folder that `manycaps convert-checkpoint` or open_clip wrote."""
    path = folder / WEIGHTS_NAME
    if not path.is_file():
        raise ValueError(
            f"checkpoint: expected {WEIGHTS_NAME} in the folder {folder}, got none. Give the path of a file, or a "
            "folder that `manycaps convert-checkpoint` wrote."
        )
    return path
