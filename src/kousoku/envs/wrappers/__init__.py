"""Wrappers: environments around another one, under Gymnasium's names where it has the same.

Each is a value as every environment is: `FrameStackObservation(kousoku.make("CartPole-v1"), 4)`.
"""

import re

from ...core.errors import missing_attribute
from ...core.synonyms import elsewhere
from .base import ObservationWrapper as ObservationWrapper
from .by_name import WRAPPERS as WRAPPERS
from .by_name import wrapped as wrapped
from .clip import ClipAction as ClipAction
from .clip import ClipReward as ClipReward
from .flatten import FlattenObservation as FlattenObservation
from .flatten import ReshapeObservation as ReshapeObservation
from .frame_stack import FrameStackObservation as FrameStackObservation
from .images import GrayscaleObservation as GrayscaleObservation
from .images import ResizeObservation as ResizeObservation
from .repeat_action import RepeatAction as RepeatAction
from .repeat_action import StickyAction as StickyAction
from .rescale import RescaleAction as RescaleAction
from .rescale import RescaleObservation as RescaleObservation
from .standardise import StandardiseObservation as StandardiseObservation
from .time_limit import TimeLimit as TimeLimit


def __getattr__(name: str) -> object:
    told = re.sub(r"'(\w+)'", lambda found: WRAPPERS[found[1]].__name__, elsewhere("wrapper", name) or "")
    classes = [each for each in globals() if each[0].isupper()]
    raise missing_attribute("module 'kousoku.wrappers'", name, classes, told)
