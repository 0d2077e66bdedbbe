"""Rewards for training captioners: towards people, with what shows a collapse in the first steps.

`EnergyReward` compares the captions that a model samples for a row with each other and with people's, and has one
optimum: to write as people do. The others score one caption at a time. All are called by GRPOTrainer and RLOOTrainer of
TRL, which is not needed, and by a loop of one's own.
"""

from typing import TYPE_CHECKING

from manycaps.catalog.later_imports import import_later

from ..kit.energy_rewards import self_critical
from .caption_reward import CaptionReward
from .energy import EnergyReward
from .single_captions import BleuReward, ChairReward, CiderReward, MeteorReward, PacReward, RefPacReward

if TYPE_CHECKING:
    from .callback import HumanParityCallback

__all__ = [
    "BleuReward",
    "CaptionReward",
    "ChairReward",
    "CiderReward",
    "EnergyReward",
    "HumanParityCallback",
    "MeteorReward",
    "PacReward",
    "RefPacReward",
    "self_critical",
]

# It needs torch and transformers.
__getattr__ = import_later(__name__, {"HumanParityCallback": "callback"})
