"""Where CLIP checkpoints come from: published weights, local files, the Hub."""

import os
import pathlib
import re
from typing import Any, NamedTuple

import huggingface_hub
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from .base_files import HUB_PREFIX, file_sha256, is_folder, is_path, is_regular_file, local_path, no_such_path
from .clip_downloads import downloaded_weights
from .clip_transformers import (
    CONFIG_FILE,
    PIXEL_FILES,
    WEIGHTS_FILE,
    Settings,
    folder_settings,
    folder_weights,
    is_of_transformers,
    is_transformers_folder,
)
from .clip_variants import (
    CONFIG_NAME,
    VARIANTS,
    WEIGHTS_NAME,
    Treatment,
    Variant,
    as_treatment,
    config_treatment,
    read_facts,
    variant_name,
)

# Seconds to wait for the Hub's first answer.
HUB_TIMEOUT = 10

# What scripts/toy/train_tiny_pac.py notes as the source of its weights.
MADE_WORLD = "made world"


class Checkpoint(NamedTuple):
    """A checkpoint on this disk, and how to use it."""

    path: pathlib.Path
    # Name in `VARIANTS`, or "custom" if the file is not known to be one of them.
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


def find_checkpoint(variant: str | None, checkpoint: str | os.PathLike[str] | None, progress: Any) -> Checkpoint:
    """Find the weights of a module, and download them if needed.

    A checkpoint is the path of a .safetensors, .pth or .pt file or of a folder that `manycaps convert-checkpoint`
    wrote, or a Hub repository; None means the variant's own source. Beside a checkpoint, a variant only says how
    pixels and activations are treated where the checkpoint itself does not.
    """
    name = variant_name(variant)
    if checkpoint is None:
        return _published(name, progress)
    on_disk = local_checkpoint(name, checkpoint)
    return on_disk or _from_hub(os.fspath(checkpoint).removeprefix(HUB_PREFIX), "custom", VARIANTS[name])


def local_checkpoint(variant: str | None, checkpoint: str | os.PathLike[str]) -> Checkpoint | None:
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
            f"checkpoint: expected a file, a folder or a Hub repository, got {given!r}, the name of published weights. "
            f"Give variant={given!r} and no checkpoint."
        )
    raise ValueError(f"checkpoint: expected a file, a folder or a Hub repository, got {no_such_path(given)}")


def _local(path: pathlib.Path, name: str) -> Checkpoint:
    """Describe a user's file."""
    sha256 = file_sha256(path)
    known = [other for other, variant in VARIANTS.items() if variant.sha256 == sha256]
    variant = VARIANTS[known[0] if known else name]
    treatment, heads = _settings_of(path, path.with_name(CONFIG_NAME), variant)
    source = path.parent.resolve().name if heads else path.name  # transformers calls all files the same
    return Checkpoint(path, known[0] if known else "custom", source, sha256, treatment, heads)


def _published(name: str, progress: Any) -> Checkpoint:
    """A variant's own weights."""
    variant = VARIANTS[name]
    if variant.source.startswith("hub:"):
        return _from_hub(variant.source.removeprefix("hub:"), name, variant)
    path = downloaded_weights(name, progress)
    return Checkpoint(path, name, variant.source, read_facts(path).get("sha256", ""), variant.treatment)


def _from_hub(repository: str, name: str, variant: Variant) -> Checkpoint:
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
        raise _hub_error(repository, error) from error
    if path is None and refusal is not None:
        raise _hub_error(repository, refusal) from refusal
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


def _hub_error(repository: str, cause: Exception) -> ValueError:
    """Build the error for a repository that cannot be downloaded."""
    first_line = next(iter(str(cause).strip().splitlines()), "no reason given")
    return ValueError(
        f"checkpoint: expected the Hub repository {repository}, got none, the Hub did not return it "
        f"({type(cause).__name__}: {first_line}). Check name and network, or download its {WEIGHTS_NAME} by hand and "
        f"give checkpoint='path/to/{WEIGHTS_NAME}'; relative paths start at {pathlib.Path.cwd()}."
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
