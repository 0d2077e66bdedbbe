"""Where CLIP checkpoints come from: local files, the Hub, and published weights, downloaded once and checked."""

import json
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

from .base_files import HUB_PREFIX, file_sha256, is_folder, is_path, is_regular_file, local_path, no_such_path
from .clip_model import build_network
from .clip_variants import (
    CONFIG_FILE,
    CONFIG_NAME,
    PIXEL_FILES,
    VARIANTS,
    WEIGHTS_FILE,
    WEIGHTS_NAME,
    Settings,
    Treatment,
    Variant,
    as_treatment,
    config_treatment,
    folder_settings,
    folder_weights,
    is_of_transformers,
    is_transformers_folder,
    read_facts,
    variant_name,
)
from .clip_weights import merge_lora, read_weights, write_safetensors

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
        """Whether the weights know only the made world of coloured shapes, as those of tiny-pac do."""
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
        return _published(name, progress)
    on_disk = local_checkpoint(name, checkpoint, option)
    return on_disk or _from_hub(os.fspath(checkpoint).removeprefix(HUB_PREFIX), "custom", VARIANTS[name], option)


def local_checkpoint(
    variant: str | None, checkpoint: str | os.PathLike[str], option: str = "checkpoint"
) -> Checkpoint | None:
    """Find weights on this disk, without a download; None where the name is that of a Hub repository."""
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
            f"{option}: expected a file, a folder or a Hub repository, got {given!r}, the name of published weights. "
            f"Give variant={given!r} and no {option}."
        )
    raise ValueError(f"{option}: expected a file, a folder or a Hub repository, got {no_such_path(given)}")


def _local(path: pathlib.Path, name: str) -> Checkpoint:
    treatment, heads = _settings_of(path, path.with_name(CONFIG_NAME), VARIANTS[name])
    source = path.parent.resolve().name if heads else path.name  # transformers calls all files the same
    return Checkpoint(path, "custom", source, file_sha256(path), treatment, heads)


def _published(name: str, progress: Any) -> Checkpoint:
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
        raise _hub_error(repository, error, option) from error
    if path is None and refusal is not None:
        raise _hub_error(repository, refusal, option) from refusal
    if path is None:
        raise ValueError(
            f"checkpoint: expected {WEIGHTS_NAME} in the Hub repository {repository}, got none. Upload the folder "
            "that `manycaps convert-checkpoint` writes."
        )
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
    first_line = next(iter(str(cause).strip().splitlines()), "no reason given")
    by_hand = f"its {WEIGHTS_NAME} by hand and give checkpoint='path/to/{WEIGHTS_NAME}'"
    if option == "model":
        by_hand = f"its {CONFIG_FILE} and {WEIGHTS_FILE} by hand and give model='path/to/their/folder'"
    return ValueError(
        f"{option}: expected the Hub repository {repository}, got none, the Hub did not return it "
        f"({type(cause).__name__}: {first_line}). Check name and network, or download {by_hand}; "
        f"relative paths start at {pathlib.Path.cwd()}."
    )


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
        raise ValueError(
            f"checkpoint: expected {WEIGHTS_NAME} in the folder {folder}, got none. Give the path of a file, or a "
            "folder that `manycaps convert-checkpoint` wrote."
        )
    return path


def cached_weights_path(name: str) -> pathlib.Path:
    """Path of the converted weights of a downloaded variant, in the Hub's cache folder for other assets."""
    folder = huggingface_hub.cached_assets_path("manycaps", namespace="checkpoints", subfolder=name)
    return pathlib.Path(folder) / WEIGHTS_NAME


def convert_checkpoint(source: pathlib.Path, target: pathlib.Path, facts: Mapping[str, Any]) -> None:
    """Check that a checkpoint is a CLIP, then write it atomically as safetensors in float32, with LoRA merged."""
    weights = merge_lora(read_weights(source))
    network = build_network(weights, facts["activation"])
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
        raise _connection_error(name, error) from error
    received = target.stat().st_size
    if total is not None and received != total:
        raise _download_error(name, f"{received} of {total} bytes")


def try_download(name: str) -> None:
    """Raise unless the address of a variant answers with a file of weights, of which the beginning alone is read."""
    try:
        with _answer(name, TRIAL_TIMEOUT) as answer:
            _check_answer(name, answer.headers.get_content_type(), answer.read(len(CHECKPOINT_STARTS[0])))
    except OSError as error:
        raise _connection_error(name, error) from error


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
    return ValueError(f"checkpoint: expected the file of {name} from {VARIANTS[name].source}, got {got}. {advice}")
