"""Scores of files of any size: planned in parts, scored by processes or a cluster, put together exactly."""

from manycaps.scoring.score import ScoreOptions, ScoreResult, score

__all__ = ["ScoreOptions", "ScoreResult", "score"]
