"""What every process of a run needs: imported once, by the server that forks them."""

import evaluate  # noqa: F401

import manycaps.scoring.score_parts
import manycaps.scoring.survey  # noqa: F401
