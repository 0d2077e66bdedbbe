"""Judges on trial: where a judge ranks people, what of wording it rewards, and what of a difference remains."""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

from .judge_options import JudgeOptions

if TYPE_CHECKING:
    from .run import JudgeTrials, judge
    from .trial import JudgeTrial

__all__ = ["JudgeOptions", "JudgeTrial", "JudgeTrials", "judge"]

__getattr__ = import_later(__name__, {"JudgeTrial": "trial", "JudgeTrials": "run", "judge": "run"})
