"""Caption evaluation as pycocoevalcap 1.2 has it, without Java: its classes, and their names for code that exists.

Call `install()` before the imports of such code, or put `with installed():` around it, or take the classes themselves.
Numbers are the package's, to the last bit for BLEU, ROUGE-L and CIDEr. Not copied: SPICE; a METEOR process that hangs
or loses its place in its pipe; captions given to the wrong image after a line separator; files written into the
package's folder. Input that gives meaningless numbers is warned of (`CaptionWarning`).
"""

from .evaluation import CaptionFile, COCOEvalCap, evaluate_files
from .guards import CaptionWarning
from .module_names import install, installed
from .scorers import Bleu, Cider, CiderD, Meteor, PlainCider, PTBTokenizer, Rouge, Spice

__all__ = [
    "Bleu",
    "COCOEvalCap",
    "CaptionFile",
    "CaptionWarning",
    "Cider",
    "CiderD",
    "Meteor",
    "PTBTokenizer",
    "PlainCider",
    "Rouge",
    "Spice",
    "evaluate_files",
    "install",
    "installed",
]
