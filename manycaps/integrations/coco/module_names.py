"""The names of pycocoevalcap and pyciderevalcap, so that code that imports them runs here, unchanged."""

import contextlib
import importlib.abc
import itertools
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any

from . import evaluation, scorers

# Classes of the modules of both packages. A name that is not here comes from the installed package, if it has one.
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


PACKAGES = [name for name in MODULES if "." not in name]


def install() -> None:
    """Put the classes under the names `pycocoevalcap.*` and `pyciderevalcap.*`, for this process.

    Call it before the first import of code that uses them: what was imported `from` them before stays what it was. All
    other names come from the installed packages, where there are any when they are imported.

    >>> with installed():
    ...     from pycocoevalcap.cider.cider import Cider
    >>> Cider.__module__
    'manycaps.integrations.coco.scorers'
    """
    if FINDER not in sys.meta_path:
        _take_modules()
        sys.meta_path.insert(0, FINDER)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Do as `install` within a block, and put back what was there."""
    was_installed, before = FINDER in sys.meta_path, _take_modules()
    install()
    try:
        yield
    finally:
        if not was_installed:
            sys.meta_path.remove(FINDER)
        _take_modules()
        sys.modules.update(before)


def _take_modules() -> dict[str, types.ModuleType]:
    """Take the modules of both packages out of those that are imported."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in PACKAGES}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules as installed, or empty ones, and has the classes put into them."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Describe a module of both packages."""
        if name not in MODULES:
            return None
        finders: Any = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        installed_specs = (finder.find_spec(name, path, target) for finder in finders)
        is_package = any(other.startswith(f"{name}.") for other in MODULES)
        spec = next(filter(None, installed_specs), None) or ModuleSpec(name, None, is_package=is_package)
        spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Runs a module as its own loader does, then puts the classes into it."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        """Make the module."""
        return self._own.create_module(spec) if self._own else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Fill it."""
        if self._own:
            self._own.exec_module(module)
        vars(module).update(MODULES[module.__name__])


FINDER = _Finder()
