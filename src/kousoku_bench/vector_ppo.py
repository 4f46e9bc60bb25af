"""Part `sb3` of `kousoku bench vector`: Stable-Baselines3's PPO on our environments and on Gymnasium's."""

from __future__ import annotations

from .contender import Contender, not_installed
from .ppo_settings import PPOSettings
from .table import ENVIRONMENTS, SPEED, Section, TableColumn

PART = "sb3"
ID = "HalfCheetah-v5"
BASE = "Gymnasium"
ENVS, STEPS, EPOCHS = 64, 128, 10
MINIBATCHES = (64, 512, 4096)
SECONDS = 10.0
CPU = TableColumn("cpu_microseconds", "CPU of a step, µs", ",.0f")
ABOUT = (
    "Stable-Baselines3's PPO from end to end, with PyTorch on one thread: rollouts of {steps} steps of {envs} "
    "environments, {epochs} epochs over them in minibatches of {minibatch}. What differs is the environment alone: "
    '`ks.to_sb3_vec("{id}", {envs})`, or a `DummyVecEnv` of Gymnasium\'s; what a gradient step takes is the same for '
    "both. The CPU's time of a step is that of all threads."
)


def parts() -> list[tuple[Section, list[Contender]]]:
    """Returns tables without rows, one for each size of minibatches, and who trains."""
    return [_part(minibatch) for minibatch in MINIBATCHES]


def _part(minibatch: int) -> tuple[Section, list[Contender]]:
    about = ABOUT.format(steps=STEPS, envs=ENVS, epochs=EPOCHS, minibatch=minibatch, id=ID)
    title = f"Stable-Baselines3's PPO on {ID}, minibatches of {minibatch}"
    section = Section(title, about, (ENVIRONMENTS, SPEED, CPU), [], BASE)
    settings = PPOSettings(ENVS, STEPS, ENVS * STEPS // minibatch, EPOCHS, 3e-4, 10**9, normalise=False)
    return section, [_contender("kousoku", f"kousoku/{ID}", settings), _contender(BASE, ID, settings)]


def _contender(name: str, id: str, settings: PPOSettings) -> Contender:
    arguments = "stable_baselines3", id, settings.as_dict(), 1, SECONDS
    missing = not_installed(["stable_baselines3"])
    return Contender(name, "ppo_peers", "stable_baselines", arguments, {"agents": ENVS}, "", missing)
