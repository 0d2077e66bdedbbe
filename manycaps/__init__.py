"""Many candidate captions against many human references: evaluate modules, plain functions, and a command line.

`manycaps.load("trm_meteor")` is `evaluate.load` of the module folder that travels with this package, without Hub or
network. `manycaps.functional` holds the maths as plain functions. `manycaps --help` lists the commands.
"""

from .installed_modules import load, module_folders
from .shared_module import VERSION

__all__ = ["__version__", "load"]

__version__ = VERSION

# The maths of a module lives in its folder. As part of this package, `manycaps.cider_distance` for example, it works
# with the originals of its `shared_` files, which are found first, and without evaluate.
__path__ += map(str, module_folders().values())
