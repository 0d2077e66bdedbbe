"""What is installed for each module: read from its requirements, without importing a package."""

import importlib.metadata
import re
from typing import NamedTuple

from .installed_modules import module_folders

# Extra of this package that brings what a module needs beside `pip install manycaps`.
MODULE_EXTRAS = {
    "emscore_pac": "video",
    "fid_bert": "embeddings",
    "meteor15": "meteor",
    "mmd": "embeddings,clip",
    "mmd_bert": "embeddings",
    "pac_score": "clip",
    "ref_pac_score": "clip",
    "set_diversity": "embeddings",
    "trm": "embeddings,clip",
    "trm_bert": "embeddings",
    "vdtk_diversity": "embeddings,report",
    "vdtk_leave_one_out": "embeddings,meteor,report",
}

# Published weights, the option `variant` of these modules.
CLIP_VARIANTS = (
    "pac-vit-b-32",
    "pac-openclip-vit-l-14",
    "pac++-vit-b-32",
    "pac++-vit-l-14",
    "clip-vit-b-32",
    "clip-vit-l-14",
    "clip-vit-l-14-336",
)
CLIP_MODULES = ("emscore_pac", "mmd", "pac_score", "ref_pac_score", "trm")

# What `config_name`, evaluate's second argument, chooses.
CONFIG_NAMES = {"emscore_pac": ("default", "references")}

# Extras with Pillow; in the requirements of the other modules it is there for their demo pages.
PICTURE_EXTRAS = ("clip", "video")


class InstalledModule(NamedTuple):
    """A module, and what it lacks."""

    name: str
    # Folder of folders: "metrics" or "measurements".
    kind: str
    # First sentence of its main script.
    about: str
    variants: tuple[str, ...]
    config_names: tuple[str, ...]
    # Names of distributions that are not installed.
    missing: tuple[str, ...]
    # `pip install` line that brings them; empty if nothing is missing.
    advice: str


def installed_modules() -> list[InstalledModule]:
    """Return every module of the collection, in alphabetical order.

    >>> [module.config_names for module in installed_modules() if module.name == "emscore_pac"]
    [('default', 'references')]
    """
    modules = []
    for name, folder in module_folders().items():
        about = (folder / f"{name}.py").read_text(encoding="utf-8").split('"""')[1].splitlines()[0]
        extra = MODULE_EXTRAS.get(name)
        needed = requirement_names((folder / "requirements.txt").read_text(encoding="utf-8"))
        has_pictures = not set(PICTURE_EXTRAS).isdisjoint((extra or "").split(","))
        missing = tuple(each for each in needed if not is_installed(each) and (each != "pillow" or has_pictures))
        package = f"'manycaps[{extra}]'" if extra else "manycaps"
        advice = f"pip install {package}" if missing else ""
        variants = CLIP_VARIANTS if name in CLIP_MODULES else ()
        config_names = CONFIG_NAMES.get(name, ())
        modules.append(InstalledModule(name, folder.parent.name, about, variants, config_names, missing, advice))
    return modules


def requirement_names(requirements: str) -> list[str]:
    r"""Return the distributions that a requirements file names.

    >>> requirement_names("# Reads text.\nnltk>=3.9\nopen_clip_torch\n")
    ['nltk', 'open_clip_torch']
    """
    return re.findall(r"^[\w.-]+", requirements, flags=re.MULTILINE)


def is_installed(distribution: str) -> bool:
    """Return whether a distribution is installed, of whatever version.

    >>> is_installed("no-such-distribution")
    False
    """
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
