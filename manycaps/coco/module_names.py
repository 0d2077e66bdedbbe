"""The names of pycocoevalcap and pyciderevalcap, so that code that imports them runs here, unchanged."""

import contextlib
import functools
import importlib.util
import itertools
import os
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any

from manycaps.coco import evaluation, scorers

# Classes of the modules of both packages. A name that is not here is that of the installed package, if it has one.
_CLASSES: dict[str, dict[str, type]] = {
    "pycocoevalcap.eval": {
        each.__name__: each
        for each in (
            evaluation.COCOEvalCap,
            scorers.PTBTokenizer,
            scorers.Bleu,
            scorers.Meteor,
            scorers.Rouge,
            scorers.Cider,
            scorers.Spice,
        )
    },
    "pycocoevalcap.tokenizer.ptbtokenizer": {"PTBTokenizer": scorers.PTBTokenizer},
    "pycocoevalcap.bleu.bleu": {"Bleu": scorers.Bleu},
    "pycocoevalcap.cider.cider": {"Cider": scorers.Cider},
    "pycocoevalcap.meteor.meteor": {"Meteor": scorers.Meteor},
    "pycocoevalcap.rouge.rouge": {"Rouge": scorers.Rouge},
    "pycocoevalcap.spice.spice": {"Spice": scorers.Spice},
    "pyciderevalcap.cider.cider": {"Cider": scorers.PlainCider},
    "pyciderevalcap.ciderD.ciderD": {"CiderD": scorers.CiderD},
}

# The same with all packages around them, which come first.
MODULES = {
    name: _CLASSES.get(name, {})
    for module in _CLASSES
    for name in itertools.accumulate(module.split("."), "{}.{}".format)
}


def install() -> None:
    """Put the classes under the names `pycocoevalcap.*` and `pyciderevalcap.*`, for this process.

    Call it before the first import of code that uses them: what was imported `from` them before stays what it was.

    >>> with installed():
    ...     from pycocoevalcap.cider.cider import Cider
    >>> Cider.__module__
    'manycaps.coco.scorers'
    """
    for name in MODULES:
        if not isinstance(sys.modules.get(name), _StandIn):
            module = (_StandInPackage if _is_package(name) else _StandIn)(name)
            sys.modules[name] = module
            package, _, own = name.rpartition(".")
            if package:
                setattr(sys.modules[package], own, module)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Do as `install` within a block, and put back what was there."""
    before = {name: sys.modules[name] for name in list(sys.modules) if name.split(".")[0] in PACKAGES}
    install()
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
            del sys.modules[name]
        sys.modules.update(before)


PACKAGES = [name for name in MODULES if "." not in name]


class _StandIn(types.ModuleType):
    """A module that holds classes of this package, and has its other names from the installed package."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"Classes of manycaps.coco under the names of {name.split('.')[0]}.")
        self.__spec__ = (_PackageSpec if _is_package(name) else ModuleSpec)(name, None, origin="manycaps.coco")
        self.__package__ = self.__spec__.parent
        vars(self).update(MODULES[name])

    def __getattr__(self, name: str) -> Any:
        """Find a name in the installed package, whose folder may have come onto the path meanwhile."""
        file = _installed_file(self.__name__)
        if name == "__file__":
            return file or __file__
        module = _module_of_file(self.__name__, file) if file and not name.startswith("__") else None
        if not hasattr(module, name):
            raise AttributeError(
                f"{self.__name__}.{name}: expected a name of manycaps.coco or of the installed package, got none. "
                f"Install {self.__name__.split('.')[0]}, or check the spelling."
            )
        return getattr(module, name)


class _PackageSpec(ModuleSpec):
    """What Python looks up of a package: its folders are those of the installed package at that moment."""

    @property
    def submodule_search_locations(self) -> list[str]:
        """Folders of the package as it is installed now; none where it is not."""
        return _installed_folders(self.name)

    @submodule_search_locations.setter
    def submodule_search_locations(self, _folders: object) -> None: ...


class _StandInPackage(_StandIn):
    """A package of such modules, which finds the others in the installed package."""

    @property
    def __path__(self) -> list[str]:  # type: ignore[override]
        """Folders in which its other modules lie."""
        return _installed_folders(self.__name__)


def _is_package(name: str) -> bool:
    return any(other.startswith(f"{name}.") for other in MODULES)


def _installed_folders(name: str) -> list[str]:
    """Folders of a package as it is installed; none where it is not."""
    package = name.split(".")[0]
    finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
    spec = next((spec for finder in finders if (spec := finder.find_spec(package, None))), None)
    tail = name.replace(".", "/")[len(package) :]
    return [folder + tail for folder in (spec.submodule_search_locations or [])] if spec else []


def _installed_file(name: str) -> str | None:
    """The file of a module as it is installed; None where it is not, or is a folder without code of its own."""
    package, _, own = name.rpartition(".")
    folders = _installed_folders(name if _is_package(name) else package)
    paths = (os.path.join(folder, "__init__.py" if _is_package(name) else f"{own}.py") for folder in folders)
    return next((path for path in paths if os.path.isfile(path)), None)


@functools.lru_cache(maxsize=len(MODULES))
def _module_of_file(name: str, file: str) -> types.ModuleType:
    """The module of an installed file, run once; what it imports are the names of this process."""
    spec: Any = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
