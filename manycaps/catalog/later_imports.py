"""Names of a package that need most of manycaps: their files are imported when they are first asked for."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def import_later(package: str, files: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, from the names that it imports later to the files that define them."""

    def import_name(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{files[name]}"), name)

    return import_name
