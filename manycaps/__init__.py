"""Many candidate captions against many human references: evaluate modules, plain functions, and a command line.

`manycaps.load("trm_meteor")` is `evaluate.load` of a module of this package, without Hub or network.
`manycaps.functional` holds the maths as plain functions. `manycaps --help` lists the commands.
"""

from .installed_modules import load
from .kit.base import VERSION

__all__ = ["__version__", "load"]

__version__ = VERSION
