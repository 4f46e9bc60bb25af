"""Probability distributions over actions: values of one environment, without a batch axis.

`Distribution` is the interface; write your own by subclassing it.
"""

from .base import Distribution
from .beta import Beta
from .categorical import Categorical
from .multi_categorical import MultiCategorical
from .normal import Normal
from .tanh_normal import TanhNormal

__all__ = ["Beta", "Categorical", "Distribution", "MultiCategorical", "Normal", "TanhNormal"]
