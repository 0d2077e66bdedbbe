"""Scores of files of any size: planned in parts, scored by processes or a cluster, put together exactly."""

from manycaps.scoring.score import ScoreResult, score
from manycaps.scoring.score_options import ScoreOptions

__all__ = ["ScoreOptions", "ScoreResult", "score"]
