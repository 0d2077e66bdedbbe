"""Scores that another program gave to systems, item by item: read, tested in pairs, ranked."""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

if TYPE_CHECKING:
    from .ranking import ScoreComparison, ScoreRanking, compare_scores
    from .run import compare_score_tables

__all__ = ["ScoreComparison", "ScoreRanking", "compare_score_tables", "compare_scores"]

__getattr__ = import_later(
    __name__,
    {
        "ScoreComparison": "ranking",
        "ScoreRanking": "ranking",
        "compare_score_tables": "run",
        "compare_scores": "ranking",
    },
)
