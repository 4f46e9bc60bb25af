"""The update-to-data ratio: how often is learned in proportion to acting, as one number."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ...core.errors import ConfigError, is_number

LEAST, MOST = Fraction(1, 512), Fraction(20)
USE = f"use a number of gradient steps per environment step in [{LEAST}, {MOST}], such as 0.25 or 1/16"
MOST_STEPS = 512
"""Steps of each environment between two rounds of learning, at most."""
ROUNDING = 1e-9
"""How far, relative to it, a number of Python's may be from the ratio that is meant."""


def steps_of_ratio(update_ratio: Any, num_envs: int) -> tuple[int, int]:
    """Returns (num_steps, gradient_steps) of the shortest round that has this many gradient steps per environment step.

    update_ratio = gradient_steps / (num_envs num_steps), exactly.

    Args:
        update_ratio: a number from 1/512 to 20, or text such as "1/16".
        num_envs: environments that act at once.

    Raises:
        ConfigError: for what is no such number, or needs rounds of more than `MOST_STEPS` steps of each environment;
            with the nearest that does not.

    Examples:
        >>> steps_of_ratio(1 / 16, 8), steps_of_ratio("1/16", 64), steps_of_ratio(4, 8), steps_of_ratio("1/3", 8)
        ((2, 1), (1, 4), (1, 32), (3, 8))
    """
    asked = _fraction(update_ratio)
    made = (asked * num_envs).limit_denominator(MOST_STEPS)
    nearest = made / num_envs
    if not math.isclose(asked, nearest, rel_tol=_precision(update_ratio)):
        fix = f"with {num_envs} environments the nearest is {nearest}"
        raise ConfigError("update_ratio", update_ratio, fix)
    return made.denominator, made.numerator


def _fraction(update_ratio: Any) -> Fraction:
    """Returns the ratio in whole numbers, as it was given."""
    if not isinstance(update_ratio, str) and not is_number(update_ratio):
        raise ConfigError("update_ratio", update_ratio, USE)
    of_whole = isinstance(update_ratio, Fraction) or (isinstance(update_ratio, str) and "/" in update_ratio)
    try:
        ratio = Fraction(update_ratio if of_whole else float(update_ratio))  # pyright: ignore[reportArgumentType]
    except (ValueError, OverflowError, ZeroDivisionError) as error:  # no number, infinite or NaN, 1/0
        raise ConfigError("update_ratio", update_ratio, USE) from error
    if not LEAST <= ratio <= MOST:
        raise ConfigError("update_ratio", update_ratio, USE)
    return ratio


def _precision(update_ratio: Any) -> float:
    """Returns how far, relative to it, a ratio may be from the one that is meant, as it is rounded."""
    narrow = isinstance(update_ratio, np.floating) and not isinstance(update_ratio, float)
    return float(np.finfo(update_ratio.dtype).eps) if narrow else ROUNDING
