"""Many candidate captions against many human references: evaluate modules, plain functions, and a command line.

`manycaps.load("trm_meteor")` is `evaluate.load` of a module of this package, without Hub or network.
`manycaps.load_sample()` is a table of captions to try it with, and `manycaps.functional` holds the maths as plain
functions. `manycaps --help` lists the commands.
"""

from typing import TYPE_CHECKING

from .kit.module import VERSION

if TYPE_CHECKING:
    import datasets

    from .catalog.module_types import load
else:
    from .catalog.installed_modules import load

__all__ = ["__version__", "load", "load_sample"]

__version__ = VERSION


def load_sample() -> "datasets.Dataset":
    """Load the captions that come with the package, as a table of `datasets`.

    A row is a scene: `references` has 7 human captions, and a column of each system 10 candidates, lists of str.

    >>> load_sample().column_names
    ['scene', 'references', 'diverse', 'repeating', 'off_topic']
    """
    import datasets  # a second, which no command needs to wait for

    from .comparison.quickstart.scenes import BUNDLED, read_scenes

    return datasets.Dataset.from_list(
        [
            {"scene": i, "references": scene["references"], **scene["systems"]}
            for i, scene in enumerate(read_scenes(BUNDLED))
        ]
    )
