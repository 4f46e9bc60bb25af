"""Episodes of bsuite's environments played by ours, with all that was drawn given."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import kousoku as ks
from kousoku.core.timestep import Timestep
from kousoku.envs.bsuite.cartpole import CartAndPole
from kousoku.envs.bsuite.catch import Catch
from kousoku.envs.bsuite.deep_sea import DeepSea
from kousoku.envs.bsuite.memory_chain import MemoryChain
from kousoku.envs.bsuite.mountain_car import BsuiteMountainCar
from kousoku.envs.bsuite.umbrella_chain import UmbrellaChain
from kousoku.envs.classic.cartpole import CartPoleState
from kousoku.envs.classic.hill import MountainCarState

KEY = jax.random.key(0)


def check(recorded: dict[str, Any], tolerance: float = 2e-6) -> None:
    """Sees that ours says what bsuite's said: observations, rewards, ends, and the regret."""
    env = ks.make(f"bsuite/{recorded['experiment']}-v0", **recorded["options"])
    play = jax.jit(lambda begun, given: played(env, begun, given))
    for episode in recorded["episodes"]:
        first, said = jax.device_get(play(begun_with(env, episode), given_to(env, episode)))
        shape, count = env.observation_space.shape, len(episode["actions"])
        np.testing.assert_allclose(first.obs, np.reshape(episode["first"], shape), rtol=tolerance, atol=tolerance)
        seen = np.reshape(episode["obs"], (count, *shape))
        np.testing.assert_allclose(said.obs, seen, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(said.reward, episode["rewards"], rtol=tolerance, atol=tolerance)
        assert said.terminated.tolist() == [False] * (count - 1) + [True]
        assert not said.truncated.any()
        if "regret" in episode:
            np.testing.assert_allclose(said.info.regret.sum(), episode["regret"], rtol=tolerance, atol=tolerance)


def begun_with(env: ks.Env, episode: dict[str, Any]) -> tuple[Any, ...]:
    """Returns what `begin` of ours takes; nothing where nothing is drawn."""
    begin, whole = episode["begin"], lambda value: np.asarray(value, np.int32)
    if isinstance(env, Catch):
        return (whole(begin["ball_x"]),)
    if isinstance(env, MemoryChain):
        return whole(begin["context"]), whole(begin["query"])
    if isinstance(env, UmbrellaChain):
        distractors = whole(episode["first_draws"]["binomial"][-1]).reshape(env.n_distractor)
        return whole(begin["need_umbrella"]), whole(begin["has_umbrella"]), distractors
    if isinstance(env, BsuiteMountainCar):
        return (np.float32(begin["state"][0]),)
    return tuple(np.asarray(begin["state"], np.float32)) if isinstance(env, CartAndPole) else ()


def given_to(env: ks.Env, episode: dict[str, Any]) -> tuple[Any, ...]:
    """Returns what each step is given, stacked: its action, and what was drawn, or the state before it."""
    actions = np.array(episode["actions"], np.int32)
    if isinstance(env, UmbrellaChain):
        draws = [draws["binomial"] for draws in episode["draws"]]
        coins = np.array([drawn[0] if len(drawn) == 2 else 0 for drawn in draws], np.int32)
        return actions, coins, np.array([drawn[-1] for drawn in draws], np.int32).reshape(len(draws), env.n_distractor)
    if isinstance(env, DeepSea) and not env.deterministic:
        draws = episode.get("draws", [{}] * len(actions))
        drawn = [[each.get(name, [0.0])[0] for each in draws] for name in ("rand", "randn")]
        return actions, *(np.array(column, np.float32) for column in drawn)
    return (actions, *np.array(episode["states"], np.float32).T) if "states" in episode else (actions,)


def played(env: Any, begun: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Timestep, Timestep]:
    """Returns the first timestep and those of the steps."""
    kind = MountainCarState if isinstance(env, BsuiteMountainCar) else CartPoleState

    def step(state: Any, now: tuple[Any, ...]) -> tuple[Any, Timestep]:
        if isinstance(env, UmbrellaChain):
            return env.walk(state, *now)
        if isinstance(env, DeepSea):
            return env.move(state, *now) if len(now) == 3 else env.step(KEY, state, *now)
        if isinstance(env, BsuiteMountainCar | CartAndPole):
            action, *body = now
            return env.step(KEY, type(state)(kind(*body), state.timestep), action)
        return env.step(KEY, state, *now)

    begun = (CartPoleState(*begun),) if isinstance(env, CartAndPole) else begun
    state, first = env.begin(*begun) if begun else env.reset(KEY)
    return first, jax.lax.scan(step, state, jax.tree.map(jnp.asarray, given))[1]
