"""`kousoku bench minatar`: MinAtar's games under random actions: the kernel, XLA, gymnax, the package itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from kousoku.compiler import kernel
from kousoku.envs import make
from kousoku.envs.minatar.game import MinAtar, MinAtarState
from kousoku.ops.trees import select
from kousoku.training.io import provenance

from . import peers
from .budget import Budget
from .classic import compiled, gymnax_row
from .random_rollout import BLOCK, actions, begin_rollout, random_rollout
from .table import (
    COMPILE,
    ENVIRONMENTS,
    SPEED,
    Section,
    TableRow,
    attempt,
    machine,
    markdown,
    median_seconds,
    save,
    speed,
)
from .uncached import uncached

GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
BASE = "gymnax"
TITLE = "MinAtar"
ABOUT = (
    "Random actions of the minimal set, sticky as by default; an episode that ends is followed by another. All draw "
    "everything from their generator within what is measured, {steps} steps in one call. gymnax makes an observation "
    "in every step; of ours there is a row that does, and one that makes none. gymnax's games are not the package's "
    "in every rule, and it has no Seaquest. The package steps one environment."
)
NAMES = ("gymnax", "minatar")


class RandomPlay(eqx.Module):
    """A game under random actions.

    Attributes:
        state: of the environment.
        reward: of all steps.
        episodes: that ended.
    """

    state: MinAtarState
    reward: Float[Array, ""]
    episodes: Int[Array, ""]


def bench(out: Path, budget: Budget, say: Callable[[str], None] = print) -> list[Section]:
    """Measures every game, prints the tables and saves them as minatar.md and minatar.json."""
    with uncached():
        sections = [section(game, budget) for game in GAMES]
    device, versions = provenance.device(), {**provenance.versions(), **peers.installed(NAMES)}
    text = markdown(TITLE, machine(device, versions), sections)
    say(text)
    say(f"saved: {save(out, 'minatar', text, sections, {'device': device, 'versions': versions})}")
    return sections


def section(game: str, budget: Budget) -> Section:
    """Measures one game."""
    count = budget.environments[0]
    rows = [
        ours("kousoku, kernel", game, count, True, random_play, begin_random_play, "states alone", budget),
        ours("kousoku, kernel, observing", game, count, True, observing, begin_rollout, "and observations", budget),
        ours("kousoku, XLA, observing", game, count, False, observing, begin_rollout, "and observations", budget),
        attempt(BASE, count, lambda: gymnax_row(f"{game}-MinAtar", count, budget)),
        attempt("minatar", 1, lambda: package_row(game, budget)),
    ]
    return Section(game, ABOUT.format(steps=budget.steps), (ENVIRONMENTS, SPEED, COMPILE), rows, BASE)


def ours(
    name: str, game: str, count: int, on: bool, rollout: Callable[..., Any], begin: Callable[..., Any], note: str,
    budget: Budget,
) -> TableRow:  # fmt: skip
    """Measures our game, in the kernel or in XLA."""
    env = make(f"MinAtar/{game}-v1")
    keys = jax.random.split(jax.random.key(0), count)
    states = jax.jit(jax.vmap(partial(begin, env)))(keys)
    function = kernel(partial(rollout, env, budget.steps), on=on)
    run, compile_seconds = compiled(jax.vmap(function, (0, None, 0)), keys, jnp.int32(0), states)
    carry: list[Any] = [states, 0]

    def call() -> None:
        carry[:] = run(keys, np.int32(carry[1]), carry[0]), carry[1] + 1
        jax.block_until_ready(carry[0])

    seconds = median_seconds(call, budget.repeats, budget.least_seconds)
    return speed(name, count, count * budget.steps / seconds, note, compile_seconds=compile_seconds)


def begin_random_play(env: MinAtar, key: PRNGKeyArray) -> RandomPlay:
    """Returns the state before the first step."""
    return RandomPlay(env.reset(key)[0], jnp.float32(0.0), jnp.int32(0))


def random_play(env: MinAtar, steps: int, key: PRNGKeyArray, call: Int[Array, ""], playing: RandomPlay) -> RandomPlay:
    """Takes random actions for a number of steps, a multiple of eight, and observes nothing.

    A block of eight steps draws its actions from one word; every other random word is one of the environment's own.
    """
    action_key, env_key = jax.random.split(jax.random.fold_in(key, call))
    words = jax.random.bits(action_key, (steps // BLOCK, 1), jnp.uint32)

    def block(playing: RandomPlay, drawn: tuple[Array, Array]) -> tuple[RandomPlay, None]:
        return jax.lax.scan(step, playing, (actions(env.action_space, drawn[0]), drawn[1]))

    def step(playing: RandomPlay, given: tuple[Array, PRNGKeyArray]) -> tuple[RandomPlay, None]:
        state, timestep = env.step(given[1], playing.state, given[0])
        again, _ = env.restart(jax.random.fold_in(given[1], 1), state)
        ended = timestep.terminated
        return RandomPlay(
            select(ended, again, state),
            playing.reward + timestep.reward,
            playing.episodes + ended.astype(jnp.int32),
        ), None

    keys = jax.random.split(env_key, (steps // BLOCK, BLOCK))
    return jax.lax.scan(block, playing, (words, keys))[0]


def observing(env: MinAtar, steps: int, key: PRNGKeyArray, call: Int[Array, ""], rollout: Any) -> Any:
    """Takes random actions for a number of steps, and makes an observation in each."""
    return random_rollout(env, steps, False, key, call, rollout)


def package_row(game: str, budget: Budget) -> TableRow:
    """Measures the package, with observations."""
    with peers.foreign():
        environment = importlib.import_module("minatar").Environment
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in game).lstrip("_")
        env = environment(name)
        few = env.minimal_action_set()
        drawn = np.random.default_rng(0).choice(few, budget.steps)

        def call() -> None:
            for action in drawn:
                _, over = env.act(action)
                env.state()
                if over:
                    env.reset()

        seconds = median_seconds(call, budget.repeats, budget.least_seconds)
    return speed("minatar", 1, budget.steps / seconds, "one environment in Python, actions drawn before")
