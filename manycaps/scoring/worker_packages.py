"""What every process of a run needs: imported once, by the server that forks them."""

import manycaps.scoring.score_parts
import manycaps.scoring.survey  # noqa: F401
from manycaps.catalog.installed_modules import import_evaluate

import_evaluate()
