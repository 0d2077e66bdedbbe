"""Write manycaps/catalog/module_types.pyi: what `manycaps.load` of each name returns, with its columns and options.

Editors and mypy read it; nothing imports it while a program runs. `sync_kit` writes and checks it.
"""

import math
import re
from typing import Any

from manycaps.catalog.installed_modules import module_class
from manycaps.catalog.modules import MODULES

HEADER = '''"""Types of `manycaps.load`, by name of the module. Written by `make format`."""

from collections.abc import Iterable
from typing import Any, Literal, Protocol, overload

import datasets

def load_sample() -> datasets.Dataset: ...

class Module(Protocol):
    """What all modules have."""

    name: str
    def add(self, /, **row: Any) -> None: ...
    def add_batch(self, /, **columns: Any) -> None: ...
    def __len__(self) -> int: ...
'''


def class_name(slug: str) -> str:
    """Return the name of a module's protocol.

    >>> class_name("trm_meteor")
    'TrmMeteor'
    """
    return "".join(word.capitalize() for word in slug.split("_"))


def default_text(value: Any) -> str:
    """Return a default as a stub may show it: a literal, or dots."""
    is_literal = isinstance(value, bool | int | str | type(None)) or (isinstance(value, float) and math.isfinite(value))
    return repr(value) if is_literal else "..."


def option_type(option: Any) -> str:
    """Return the type of an option: of those with a default of one kind that kind, of others any."""
    if isinstance(option.default, bool):
        return "bool | None"
    if isinstance(option.default, int):
        return "int | None"
    return "Any"


def parameters(module: Any, at_load: bool) -> list[str]:
    """Return the keyword parameters of a call: columns and options at compute time, options at load time."""
    ready = [name for names in module.READY for name in names.split(", ")]
    columns = (
        [] if at_load else [f"{name}: Iterable[Any] | None = None" for name in dict.fromkeys([*module.COLUMNS, *ready])]
    )
    options = module.OPTIONS.items()
    return columns + [
        f"{name}: {option_type(option)} = {default_text(option.default)}"
        for name, option in options
        if at_load or not option.at_load
    ]


def docstring(text: str, indent: str) -> str:
    """Return the first sentence of a description as a docstring."""
    sentence = re.split(r"(?<=[.?])\s", " ".join(text.split()), maxsplit=1)[0]
    return f'{indent}"""{sentence}"""' if len(sentence) < 100 else ""


def stub() -> str:
    """Return the text of the file."""
    classes, overloads = [], []
    of_load = "keep_in_memory cache_dir experiment_id num_process process_id".split()
    for slug in MODULES:
        module, name = module_class(slug), class_name(slug)
        about = docstring(module.ABOUT.description, "    ")
        compute = definition("    ", "compute", ["self", "*", *parameters(module, at_load=False)], "dict[str, Any]")
        classes.append(f"class {name}(Module, Protocol):\n{about}\n\n{compute}")
        load = [f'name: Literal["{slug}"]', "config_name: str | None = None", "*", *parameters(module, at_load=True)]
        load += [f"{option}: Any = ..." for option in of_load]
        overloads.append("@overload\n" + definition("", "load", load, name))
    overloads.append("@overload\ndef load(name: str, config_name: str | None = None, **options: Any) -> Any: ...\n")
    return "\n".join([HEADER, *classes, *overloads])


def definition(indent: str, name: str, arguments: list[str], returns: str) -> str:
    """Return the definition of a function, an argument a line."""
    lines = [f"def {name}(", *(f"    {argument}," for argument in arguments), f") -> {returns}: ..."]
    return "".join(f"{indent}{line}\n" for line in lines)
