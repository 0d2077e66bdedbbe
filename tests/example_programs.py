"""Programs of scripts/examples, as they are and with a line changed: what the line is for shows in the numbers."""

import sys
import types

from tests.tools import ROOT

EXAMPLES = ROOT / "scripts" / "examples"


def example(name, *changes):
    """Return an example as a module; each change is (old text, new text), and the old text must be there once."""
    path = EXAMPLES / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, f"{path.name}: expected once: {old}"
        source = source.replace(old, new)
    module = types.ModuleType(f"{name}_{len(changes)}_changes")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # datasets pickles the functions that it maps
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module
