"""Our environments in Gymnasium's registry, each under its id after "kousoku/"."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

from ...envs import list_envs

NAMESPACE = "kousoku"
_ROOM = "kousoku.interop.out"


def gymnasium_id(id: str) -> str:
    """Returns what an environment of ours is called there, where an id has one slash only.

    Examples:
        >>> gymnasium_id("Ant-v5"), gymnasium_id("MinAtar/Breakout-v1")
        ('kousoku/Ant-v5', 'kousoku/MinAtar-Breakout-v1')
    """
    return f"{NAMESPACE}/{id.replace('/', '-')}"


def register_all() -> None:
    """Registers every environment of ours that is not registered yet. None of them is made or imported."""
    for id in list_envs():
        if gymnasium_id(id) not in registry:
            register(
                gymnasium_id(id),
                entry_point=f"{_ROOM}.gymnasium_env:GymnasiumEnv",
                vector_entry_point=f"{_ROOM}.gymnasium_vector:GymnasiumVectorEnv",
                kwargs={"env": id},
            )
