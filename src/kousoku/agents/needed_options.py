"""Options that change nothing unless another one has a certain value: which, and what is said of one given in vain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Needed(NamedTuple):
    """An option, and those of its values with which others change something."""

    option: str
    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        """How one would write it."""
        return f"{self.option}={' or '.join(map(repr, self.values))}"


_CRITIC, _PRIORITISED, _MUNCHAUSEN = (Needed(switch, (True,)) for switch in ("critic", "prioritised", "munchausen"))
_OBSERVATIONS, _REWARDS = (Needed(switch, (True,)) for switch in ("normalise_observations", "normalise_rewards"))
_ENDS = Needed("distribution", ("categorical", "hl_gauss"))

NEEDED = {
    **dict.fromkeys(("munchausen_alpha", "munchausen_temperature", "munchausen_floor"), _MUNCHAUSEN),
    **dict.fromkeys(("priority_alpha", "priority_beta"), _PRIORITISED),
    **dict.fromkeys(("critic_learning_rate", "critic_epochs", "critic_minibatches", "td_lambda", "tau"), _CRITIC),
    **dict.fromkeys(("critic_hidden", "value_gain"), _CRITIC),
    **dict.fromkeys(("reward_limit", "return_limit"), _REWARDS),
    "observation_limit": _OBSERVATIONS,
    "target_entropy": Needed("learn_temperature", (True,)),
    "num_atoms": Needed("distribution", ("categorical", "hl_gauss", "quantile")),
    **dict.fromkeys(("v_min", "v_max"), _ENDS),
    "smoothing": Needed("distribution", ("hl_gauss",)),
    "noisy_std": Needed("noisy", (True,)),
    "dropout": Needed("critic_body", ("droq",)),
}
"""{option: what it needs}, of an agent that has both; one that has no such switch needs none."""
OF_HIDDEN_LAYERS = ("activation", "hidden_gain", "layer_norm")
"""What a policy that is linear by default needs hidden layers for."""


def lacks(name: str, value_of: Callable[[str], Any], linear: bool) -> str | None:
    """Returns what an option lacks to change something; None if it lacks nothing.

    Args:
        name: of the option.
        value_of: an option's value by its name; `...` where the agent has none of that name.
        linear: whether the agent's policy is linear by default.

    Examples:
        >>> lacks("noisy_std", {"noisy": False}.get, False), lacks("noisy_std", {"noisy": True}.get, False)
        ('noisy=True', None)
    """
    if linear and name in OF_HIDDEN_LAYERS:
        return None if value_of("hidden") or value_of("body") == "cnn" else "hidden layers, as of hidden=(64, 64)"
    if name not in NEEDED:
        return None
    held = value_of(NEEDED[name].option)
    is_switch = isinstance(held, bool | str)  # what is none is refused by the agent itself, or there is no such option
    return NEEDED[name].text if is_switch and held not in NEEDED[name].values else None
