"""Films of environments on the host, which draw themselves: an episode is played step by step, a picture after each."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...collectors.host_slots import Telling
from ...collectors.streams import seed_of
from ...core.errors import ConfigError, RunWarning
from ...core.host import DrawnHostVector, HostEnv, Leaves
from ...core.scene import Scene, Trajectory2d
from ...core.spaces import element_like
from ...core.words import plural
from ..population import Population
from .on_host import evaluation_programs

Act = Callable[[Leaves, int], Leaves]
"""From observations [1, ...], leaf by leaf, and the number of the step to actions [1, ...]."""


def member_on_host(population: Population, agents: Any, i: int, key: PRNGKeyArray) -> tuple[Act, int]:
    """Returns what a member does greedily, of N that have learned, and a seed for its environment."""
    numbers, state = jax.tree.map(lambda leaf: leaf[i : i + 1], (population.numbers.agent, agents))
    begin, act = evaluation_programs(population.structure, population.envs.structure)
    streams, seeds, carry = begin(numbers, state, key[None], jnp.arange(1))
    leaves, structure = jax.tree.flatten((numbers, state))
    began = np.ones((1, 1), bool)

    def choose(obs: Leaves, t: int) -> Leaves:
        nonlocal carry
        seen = [leaf[None] for leaf in obs]
        carry, actions = act(structure, leaves, carry, seen, began if t == 0 else ~began, streams, np.uint32(t))
        return [np.asarray(leaf)[0] for leaf in actions]

    return choose, int(seeds[0, 0])


def policy_on_host(env: HostEnv, policy: Callable[[Any, Any], Any], key: PRNGKeyArray) -> tuple[Act, int]:
    """Returns what a function of an observation and a key does, and a seed for the environment."""
    tree = jax.tree.structure(element_like(env.observation_space))
    one = jax.jit(lambda obs, t: jax.tree.leaves(policy(jax.tree.unflatten(tree, obs), jax.random.fold_in(key, t))))

    def choose(obs: Leaves, t: int) -> Leaves:
        return [np.asarray(leaf)[None] for leaf in one([leaf[0] for leaf in obs], np.uint32(t))]

    return choose, int(seed_of(key))


def host_film(env: HostEnv, act: Act, seed: int, name: str, max_steps: int, seconds: float) -> Trajectory2d:
    """Plays an episode, and draws it.

    Args:
        env: one that can be drawn.
        act: chooses actions.
        seed: of the environment.
        name: of the film.
        max_steps: where it is cut.
        seconds: after which it is, too, for drawing may take long.

    Raises:
        EnvError: if the environment fails, or cannot draw itself after all.
    """
    if env.make_drawn is None:
        raise ConfigError("env", env.name, "it does not draw itself")
    with contextlib.ExitStack() as stack:
        with Telling(env.name):
            vector = env.make_drawn([seed])
            stack.callback(_close, env.name, vector)
            obs, scenes = vector.reset(), [_scene(vector)]
        rewards, actions, until = [], [], time.monotonic() + seconds
        for t in range(max_steps):
            chosen = act(obs, t)
            with Telling(env.name):
                obs, reward, terminated, truncated = vector.step(chosen)
                scenes.append(_scene(vector))
            rewards.append(float(reward[0]))
            actions.append(chosen)
            if terminated[0] or truncated[0]:
                break
            if time.monotonic() > until:
                warn_early_end(len(scenes), seconds)
                break
        return Trajectory2d(tuple(scenes), vector.dt, _values(rewards, actions), name)


def _close(name: str, vector: DrawnHostVector) -> None:
    """Closes environments; what they raise is told as theirs."""
    with Telling(name):
        vector.close()


def warn_early_end(frames: int, seconds: float) -> None:
    """Warns that a film ends where it does as drawing it took so long."""
    text = f"the film ends after {plural(frames, 'picture')}, before the episode does: drawing took {seconds:g} s"
    warnings.warn(text, RunWarning, stacklevel=3)


def _scene(vector: DrawnHostVector) -> Scene:
    return Scene.of_pixels(vector.pixels())


def _values(rewards: Sequence[float], actions: Sequence[Leaves]) -> dict[str, np.ndarray]:
    """Returns reward, return, and an action that is one number, [T + 1] each."""
    values = {"reward": np.array([np.nan, *rewards]), "return": np.cumsum([0.0, *rewards])}
    if all(len(leaves) == 1 and leaves[0].size == 1 for leaves in actions):
        values["action"] = np.array([*(float(leaves[0].item()) for leaves in actions), np.nan])
    return values
