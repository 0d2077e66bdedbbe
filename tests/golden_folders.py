"""Where golden values lie: this project's, and values on real captions where their folder is there."""

import os
import pathlib

from tests.tools import ROOT

# Golden values on captions and pictures of this project.
OWN_GOLDEN = ROOT / "tests" / "parity" / "golden"

# The folder of real captions, and golden values on them.
DATA = pathlib.Path(os.environ.get("MANYCAPS_DATA", ROOT.parent / "shared" / "data"))
REAL_GOLDEN = DATA / "golden"
