"""What every process of a run needs: imported once, by the server that forks them."""

from manycaps.installed_modules import import_evaluate

# First: it keeps evaluate from importing what no metric needs. Only the run has a progress bar.
import_evaluate().utils.logging.disable_progress_bar()

import manycaps.scoring.score_parts  # noqa: E402
import manycaps.scoring.survey  # noqa: E402, F401
