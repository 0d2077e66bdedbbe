"""Caption evaluation as pycocoevalcap 1.2 has it, without Java: its classes, and their names for code that exists.

`manycaps.coco.install()` before the imports of such code, or `with manycaps.coco.installed():` around it; or the
classes themselves. Numbers are the package's, to the last bit for BLEU, ROUGE-L and CIDEr. Not copied: SPICE; a
METEOR process that hangs or loses its place in its pipe; captions given to the wrong image after a line separator;
files written into the package's folder. Input that gives meaningless numbers is warned of (`CaptionWarning`).
"""

from manycaps.coco.evaluation import CaptionFile, COCOEvalCap, evaluate_files
from manycaps.coco.guards import CaptionWarning
from manycaps.coco.module_names import install, installed
from manycaps.coco.scorers import Bleu, Cider, CiderD, Meteor, PlainCider, PTBTokenizer, Rouge, Spice

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
