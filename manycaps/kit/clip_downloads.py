"""Published CLIP weights from the servers of their authors: downloaded once, checked, and kept as safetensors."""

import hashlib
import json
import os
import pathlib
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import filelock
import huggingface_hub

from .clip_model import build_network
from .clip_variants import VARIANTS, WEIGHTS_NAME
from .clip_weights import merge_lora, read_weights
from .clip_weights import write_safetensors as write_weights

# Bytes read at once from a network.
CHUNK_SIZE = 1 << 20

# Seconds without data after which a download is aborted.
DOWNLOAD_TIMEOUT = 60

# Seconds for which an address that is only tried may keep silent.
TRIAL_TIMEOUT = 20

# What to do after a failed download, and where a server refuses: a browser is refused as well.
IN_A_BROWSER = "Download it in a browser and give checkpoint='path/to/the/file.pth' beside your other options."
REFUSED = (
    "The server refuses it, to browsers, too: give a copy that you have as checkpoint='path/to/the/file.pth' beside "
    "your other options, ask its authors for one, or choose another variant."
)

# First bytes of the files that torch writes: a zip archive, or an old bare pickle.
CHECKPOINT_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04")


def downloaded_weights(name: str, progress: Any) -> pathlib.Path:
    """Return the converted weights of a variant, downloaded if need be."""
    path = cached_weights_path(name)
    with filelock.FileLock(path.with_suffix(".lock")):  # two processes: the second finds what the first has made
        if not path.is_file():
            _download_and_convert(name, path, progress)
    return path


def cached_weights_path(name: str) -> pathlib.Path:
    """Path of the converted weights of a downloaded variant, in the Hub's cache folder for other assets."""
    folder = huggingface_hub.cached_assets_path("manycaps", namespace="checkpoints", subfolder=name)
    return pathlib.Path(folder) / WEIGHTS_NAME


def convert_checkpoint(source: pathlib.Path, target: pathlib.Path, facts: Mapping[str, Any]) -> None:
    """Write a checkpoint as safetensors in float32, LoRA merged, atomically, after the check that it is a CLIP."""
    weights = merge_lora(read_weights(source))
    network = build_network(weights, facts["activation"])
    temporary = target.with_suffix(f".{os.getpid()}.incomplete")
    try:
        metadata = {"format": "pt", "manycaps": json.dumps(dict(facts))}
        write_weights(network.state_dict(), temporary, metadata)
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
    try:
        with _answer(name, DOWNLOAD_TIMEOUT) as answer, target.open("wb") as file:
            stated = answer.headers.get("Content-Length")
            total = int(stated) if stated else variant.size
            _check_answer(name, answer.headers.get_content_type(), first := answer.read(CHUNK_SIZE))
            received, sha256 = _copy(first, answer, file, progress(total=total, unit="B", unit_scale=True, desc=name))
    except OSError as error:
        raise _connection_error(name, error) from error
    if total is not None and received != total:
        raise _download_error(name, f"{received} of {total} bytes")
    if variant.size is not None and received != variant.size:
        raise _download_error(name, f"a file of {received} bytes instead of {variant.size}")
    if variant.sha256 is not None and sha256 != variant.sha256:
        raise _download_error(name, f"a file with sha256 {sha256} instead of {variant.sha256}")
    return sha256


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


def _copy(first: bytes, answer: Any, file: Any, bar: Any) -> tuple[int, str]:
    """Write a response to a file; return its length and hash."""
    digest, received, chunk = hashlib.sha256(), 0, first
    with bar:
        while chunk:
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            bar.update(len(chunk))
            chunk = answer.read(CHUNK_SIZE)
    return received, digest.hexdigest()


def _download_error(name: str, got: str, advice: str = IN_A_BROWSER) -> ValueError:
    """Build the error for a failed download."""
    return ValueError(f"checkpoint: expected the file of {name} from {VARIANTS[name].source}, got {got}. {advice}")
