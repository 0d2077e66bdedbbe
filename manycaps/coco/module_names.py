"""The names of pycocoevalcap and pyciderevalcap, so that code that imports them runs here, unchanged."""

import contextlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec

from manycaps.coco import evaluation, scorers

# What each module of both packages holds. A name that is not here is that of the installed package, where it is there.
MODULES: dict[str, dict[str, type]] = {
    "pycocoevalcap": {},
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
    "pycocoevalcap.tokenizer": {},
    "pycocoevalcap.tokenizer.ptbtokenizer": {"PTBTokenizer": scorers.PTBTokenizer},
    "pycocoevalcap.bleu": {},
    "pycocoevalcap.bleu.bleu": {"Bleu": scorers.Bleu},
    "pycocoevalcap.cider": {},
    "pycocoevalcap.cider.cider": {"Cider": scorers.Cider},
    "pycocoevalcap.meteor": {},
    "pycocoevalcap.meteor.meteor": {"Meteor": scorers.Meteor},
    "pycocoevalcap.rouge": {},
    "pycocoevalcap.rouge.rouge": {"Rouge": scorers.Rouge},
    "pycocoevalcap.spice": {},
    "pycocoevalcap.spice.spice": {"Spice": scorers.Spice},
    "pyciderevalcap": {},
    "pyciderevalcap.cider": {},
    "pyciderevalcap.cider.cider": {"Cider": scorers.PlainCider},
    "pyciderevalcap.ciderD": {},
    "pyciderevalcap.ciderD.ciderD": {"CiderD": scorers.CiderD},
}


def install() -> None:
    """Put the classes under the names `pycocoevalcap.*` and `pyciderevalcap.*`, for this process.

    Call it before the first import of code that uses them: what was imported `from` them before stays what it was.

    >>> with installed():
    ...     from pycocoevalcap.cider.cider import Cider
    >>> Cider.__module__
    'manycaps.coco.scorers'
    """
    for name, classes in MODULES.items():
        if not isinstance(sys.modules.get(name), _StandIn):
            module = _StandIn(name, classes)
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
    """A module that holds classes of this package, and finds its other modules in the installed package."""

    def __init__(self, name: str, classes: dict[str, type]) -> None:
        super().__init__(name, f"Classes of manycaps.coco under the names of {name.split('.')[0]}.")
        vars(self).update(classes)
        is_package = any(other.startswith(f"{name}.") for other in MODULES)
        found = _installed_folders(name) if is_package else []
        self.__spec__ = ModuleSpec(name, None, origin="manycaps.coco", is_package=is_package)
        if is_package:
            self.__path__ = found
            self.__spec__.submodule_search_locations = found


def _installed_folders(name: str) -> list[str]:
    """Folders of a package as it is installed; none where it is not."""
    package = name.split(".")[0]
    hidden = {key: sys.modules.pop(key) for key in list(sys.modules) if key.split(".")[0] == package}
    try:
        spec = importlib.util.find_spec(package)
    finally:
        sys.modules.update(hidden)
    tail = name.replace(".", "/")[len(package) :]
    return [folder + tail for folder in (spec.submodule_search_locations or [])] if spec else []
