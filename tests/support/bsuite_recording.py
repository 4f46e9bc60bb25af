"""Episodes of bsuite's own environments, with all that they draw: `python tests/support/bsuite_recording.py` writes
`tests/envs/data/bsuite.json`, where the package bsuite is installed.
"""

import importlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "envs" / "data" / "bsuite.json"
Case = tuple[str, dict[str, Any], int]

CASES: tuple[Case, ...] = (
    ("bandit", {"mapping_seed": 3, "num_actions": 4}, 4),
    ("cartpole", {"max_time": 0.04}, 1),
    ("cartpole", {"height_threshold": 0.99999}, 1),
    ("cartpole_swingup", {"max_time": 0.03, "x_reward_threshold": 0.95, "height_threshold": -1.1}, 1),
    ("cartpole_swingup", {"max_time": 0.01, "x_reward_threshold": 0.0}, 1),
    ("catch", {"rows": 4, "columns": 3}, 3),
    ("deep_sea", {"size": 3, "mapping_seed": 1}, 3),
    ("deep_sea_stochastic", {"size": 3, "mapping_seed": 0}, 4),
    ("discounting_chain", {"mapping_seed": 7}, 1),
    ("memory_len", {"memory_length": 3}, 2),
    ("memory_size", {"num_bits": 3}, 3),
    ("mountain_car", {"max_steps": 6}, 1),
    ("umbrella_distract", {"n_distractor": 2}, 1),
    ("umbrella_length", {"chain_length": 3, "n_distractor": 2}, 3),
)
"""(experiment, options, episodes): few numbers, and both ways to end where there are two."""


class Draws:
    """A generator that writes down what it gives, by the name of the function that was asked."""

    def __init__(self, generator: np.random.RandomState) -> None:
        self.generator, self.found = generator, {}

    def __getattr__(self, name: str) -> Any:
        def draw(*args: Any, **named: Any) -> Any:
            value = getattr(self.generator, name)(*args, **named)
            self.found.setdefault(name, []).append(np.asarray(value).tolist())
            return value

        return draw


def load(experiment: str, options: dict[str, Any]) -> Any:
    """Returns bsuite's environment; the distractors of `umbrella_length` are an argument there as here."""
    module = importlib.import_module(f"bsuite.experiments.{experiment}.{experiment}")
    made = module.CartpoleSwingup if experiment == "cartpole_swingup" else module.load
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made(**options)


def begin(env: Any) -> dict[str, Any]:
    """Returns what an episode began with."""
    names = ("_ball_x", "_context", "_query", "_need_umbrella", "_has_umbrella")
    found = {name.strip("_"): np.asarray(getattr(env, name)).tolist() for name in names if hasattr(env, name)}
    return found | ({"state": state(env)} if state(env) else {})


def state(env: Any) -> list[float]:
    """Returns the numbers of a state that goes on from its own roundings: then steps are compared one by one."""
    if hasattr(env, "_position"):
        return [_short(env._position), _short(env._velocity)]
    return [_short(x) for x in env._state[:4]] if hasattr(env, "_cartpole_config") else []


def record(experiment: str, options: dict[str, Any], episodes: int, seed: int = 0) -> dict[str, Any]:
    """Returns episodes with random actions: what was drawn, done, seen and said."""
    env, rng = load(experiment, options), np.random.RandomState(seed)
    env._rng = Draws(np.random.RandomState(seed + 1))
    return {"experiment": experiment, "options": options, "episodes": [_episode(env, rng) for _ in range(episodes)]}


def regret(env: Any) -> float | None:
    """Returns what bsuite counts over all episodes; None where it counts no regret."""
    info = env.bsuite_info()
    return next((info[name] for name in ("total_regret", "total_bad_episodes") if name in info), None)


def _episode(env: Any, rng: np.random.RandomState) -> dict[str, Any]:
    """Returns an episode: what it began with, and of each step what was done, said, drawn and, at times, before it."""
    env._rng.found, lost = {}, regret(env)
    timestep = env.reset()
    found = {"begin": begin(env), "first_draws": env._rng.found, "first": _numbers(timestep.observation)}
    columns: dict[str, list[Any]] = {"actions": [], "rewards": [], "obs": [], "draws": [], "states": []}
    while not timestep.last():
        action = int(rng.randint(env.action_spec().num_values))
        env._rng.found, before = {}, state(env)
        timestep = env.step(action)
        assert timestep.discount == (0.0 if timestep.last() else 1.0)
        said = _short(timestep.reward), _numbers(timestep.observation)
        for column, value in zip(columns.values(), (action, *said, env._rng.found, before), strict=True):
            column.append(value)
    found |= {} if lost is None else {"regret": _short(regret(env) - lost)}
    return found | {name: column for name, column in columns.items() if any(x or x == 0 for x in column)}


def _numbers(obs: np.ndarray) -> list[float]:
    assert obs.dtype == np.float32
    return [_short(x) for x in obs.ravel()]


def _short(x: float) -> float:
    """Returns a number in as many digits as float32 has, a whole one without a point."""
    short = float(f"{x:.9g}")
    return int(short) if short.is_integer() else short


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(record(*case), separators=(",", ":")) for case in CASES)
    GOLDEN.write_text(f"[\n{lines}\n]\n")
