"""Five problems so small that their values are known, and the exact values of any finite problem.

Every probe has two states that an episode may begin in (0 and 1), a terminal one (2) and two actions, so that all five
fit into one program. Which failure each of them shows:

- one step: values are not learned at all, or something is added after the end;
- delayed reward: nothing is carried back in time, or not discounted;
- two observations: states are confused;
- two actions: actions are confused;
- time limit: a truncated episode is taken for a terminated one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from kousoku.core.env import Env
from kousoku.core.model import TabularModel
from kousoku.core.spaces import Box
from kousoku.core.timestep import Timestep
from kousoku.envs.finite import FiniteEnv, finite

END = 2


@dataclass(frozen=True)
class Probe:
    """A problem and its action values, [2, 2] for states 0 and 1."""

    name: str
    env: FiniteEnv
    q: np.ndarray


def probes(discount: float, time_limit: int) -> list[Probe]:
    """The five probes, all with this time limit."""
    one, endless = np.ones((2, 2)), 1.0 / (1.0 - discount)
    gain = {
        "one step": one,
        "delayed reward": np.array([[0.0, 0.0], [1.0, 1.0]]),
        "two observations": np.array([[1.0, 1.0], [-1.0, -1.0]]),
        "two actions": np.array([[-1.0, 1.0], [-1.0, 1.0]]),
        "time limit": one,
    }
    target = {name: np.full((2, 2), END) for name in gain}
    target["delayed reward"] = np.array([[1, 1], [END, END]])
    target["time limit"] = np.array([[1, 1], [0, 0]])
    values = gain | {
        "delayed reward": np.array([[discount, discount], [1.0, 1.0]]),
        "time limit": np.full((2, 2), endless),
    }
    return [Probe(name, chain(target[name], gain[name], time_limit), values[name]) for name in gain]


def chain(target: np.ndarray, reward: np.ndarray, time_limit: int | None = None, ends: int | None = None) -> FiniteEnv:
    """A deterministic problem: (s, a) leads to target[s, a] with reward[s, a]; entering state `ends` terminates.

    One more state is added, the terminal one, unless `ends` names another (-1: none). Episodes begin in the others.
    """
    states, actions = target.shape
    ends = states if ends is None else ends
    to = np.concatenate([target, np.full((1, actions), states)])
    gain = np.concatenate([reward, np.zeros((1, actions))])
    start = np.append(np.full(states, 1.0 / states), 0.0)
    model = TabularModel(
        probability=np.ones((states + 1, actions, 1)),
        next_state=to[..., None].astype(np.int32),
        reward=gain[..., None].astype(np.float64),
        terminated=(to == ends)[..., None],
        start=start,
    )
    return finite(model, time_limit=time_limit)


def exact_q(model: TabularModel, discount: float, epsilon: float = 0.0) -> np.ndarray:
    """Q of the best policy that explores with probability epsilon, in float64, by iterating to a standstill.

    q(s, a) = sum_k p_k [r_k + gamma (1 - terminated_k) v(s_k)],
    v(s) = (1 - epsilon) max_a q(s, a) + epsilon mean_a q(s, a)
    """
    p, r = np.asarray(model.probability, np.float64), np.asarray(model.reward, np.float64)
    goes_on = discount * (1.0 - np.asarray(model.terminated, np.float64))
    q = np.zeros(p.shape[:2])
    for _ in range(100_000):
        v = (1.0 - epsilon) * q.max(axis=1) + epsilon * q.mean(axis=1)
        new = (p * (r + goes_on * v[model.next_state])).sum(axis=-1)
        if np.abs(new - q).max() < 1e-12:
            return new
        q = new
    raise AssertionError("the values do not settle: is the discount below 1?")


def visited_states(model: TabularModel) -> np.ndarray:
    """Which states an episode passes through and acts in, under a policy that takes every action now and then."""
    seen = np.asarray(model.start) > 0
    probability = np.asarray(model.probability) * ~np.asarray(model.terminated)
    while True:
        reached = np.zeros_like(seen)
        reached[np.asarray(model.next_state)[seen][probability[seen] > 0]] = True
        if not (reached & ~seen).any():
            return seen
        seen = seen | reached


class Real(Env):
    """A finite problem of two actions, shown in real numbers: states one-hot, action 1 where a[0] > 0, else action 0.

    Its values are those of the finite problem.
    """

    env: FiniteEnv

    @property
    def time_limit(self) -> int | None:
        return self.env.time_limit

    @property
    def observation_space(self) -> Box:
        return Box(0.0, 1.0, (self.env.observation_space.n,))

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (1,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        return self._shown(*self.env.reset(key))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        return self._shown(*self.env.step(key, state, (action[0] > 0).astype(jnp.int32)))

    def _shown(self, state: Any, timestep: Timestep) -> tuple[Any, Timestep]:
        obs = jax.nn.one_hot(timestep.obs, self.env.observation_space.n, dtype=jnp.float32)
        return state, eqx.tree_at(lambda t: t.obs, timestep, obs)


class Aim(Env):
    """One step: x is -1 or 1, and the reward is -(a - x / 2)^2.

    For a policy of mean m and deviation s in x, far from the bounds, the value is -(s^2 + (m - x / 2)^2).
    """

    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Box:
        return Box(-1.0, 1.0, (1,))

    @property
    def action_space(self) -> Box:
        return Box(-5.0, 5.0, (1,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        x = jnp.where(jax.random.bernoulli(key), 1.0, -1.0)
        return x, Timestep(x[None], jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        return state, Timestep(state[None], -((action[0] - 0.5 * state) ** 2), jnp.array(True), jnp.array(False))
