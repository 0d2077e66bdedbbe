"""What every process of a run needs: imported once, by the server that forks them."""

from manycaps.installed_modules import import_evaluate

# First: it keeps evaluate from importing what no metric needs.
import_evaluate()

import manycaps.scoring.score_parts  # noqa: E402
import manycaps.scoring.survey  # noqa: E402, F401
