"""Installed packages of each module, by its requirements, without importing them."""

import importlib.metadata
import re
from typing import NamedTuple

from .catalog import MODULES
from .installed_modules import PACKAGE, module_folders

# Extras with Pillow; the other modules require it for their demo pages only.
PICTURE_EXTRAS = ("clip", "video")


class InstalledModule(NamedTuple):
    """A module, and its missing packages."""

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
        about = (PACKAGE / "kit" / f"{name}.py").read_text(encoding="utf-8").split('"""')[1].splitlines()[0]
        record = MODULES[name]
        needed = requirement_names((folder / "requirements.txt").read_text(encoding="utf-8"))
        has_pictures = not set(PICTURE_EXTRAS).isdisjoint(record.extras)
        missing = tuple(each for each in needed if not is_installed(each) and (each != "pillow" or has_pictures))
        package = f"'manycaps[{','.join(record.extras)}]'" if record.extras else "manycaps"
        advice = f"pip install {package}" if missing else ""
        modules.append(InstalledModule(name, record.kind, about, record.variants, record.config_names, missing, advice))
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
