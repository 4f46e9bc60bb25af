"""Names of what is compared, in little room: what tells them apart is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 36
"""Letters of a name in a figure: more would leave no room for what is drawn."""
BETWEEN = "-_:, "


def short_names(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Returns names of at most so many letters: without the words that all have, then without their middle.

    Where two would be alike, all have their numbers, from 1 on.

    Examples:
        >>> short_names(["ppo", "sac"])
        ['ppo', 'sac']
        >>> short_names(["a2c-CartPole-v1-20261129-101112", "ppo-CartPole-v1-20261129-111213"], 20)
        ['a2c-101112', 'ppo-111213']
        >>> short_names(["sarsa of 0.1, a very long name", "ppo of 0.2, a very long name", "dqn"], 12)
        ['sarsa…g name', 'ppo o…g name', 'dqn']
        >>> short_names(["sarsa of 0.1, a very long name", "sarsa of 0.2, a very long name", "dqn"], 12)
        ['1: sar…name', '2: sar…name', '3: dqn']
    """
    if max(map(len, names), default=0) <= longest:
        return list(names)
    told = _without_common(names)
    found = [_cut(name, longest) for name in told]
    if len(set(found)) == len(found):
        return found
    numbers = [f"{i}: " for i in range(1, len(told) + 1)]
    return [number + _cut(name, longest - len(number)) for number, name in zip(numbers, told, strict=True)]


def _without_common(names: Sequence[str]) -> list[str]:
    """Returns names without the words that all of them have; a name that consists of such stays whole."""
    words = [re.findall(rf"[{BETWEEN}]*[^{BETWEEN}]+[{BETWEEN}]*", name) for name in names]
    common = set.intersection(*({word.strip(BETWEEN) for word in each} for each in words))
    left = ["".join(word for word in each if word.strip(BETWEEN) not in common) for each in words]
    return [name.strip(BETWEEN) or whole for name, whole in zip(left, names, strict=True)]


def _cut(name: str, longest: int) -> str:
    """Returns a name without its middle, if it is too long."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"
