# %% [markdown]
# # PPO by hand
#
# An ant learns to walk: environments in a kernel, a network of plain arrays, advantages, the clipped objective, Adam.
# All of it is here, and nothing is hidden; docs/ppo-by-hand.md walks through it. Every function is of *one*
# environment, one observation or one sample, and `jax.vmap` makes many.

# %%
from __future__ import annotations

import itertools
import math
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

import kousoku as ks
from kousoku.nn import clip_to, orthogonal


class Settings(NamedTuple):
    num_envs: int = 2048  # ants that walk at once
    num_steps: int = 16  # steps of each between two updates
    epochs: int = 4  # passes over what they saw
    minibatches: int = 16  # gradient steps of a pass
    learning_rate: float = 3e-4
    discount: float = 0.99  # gamma
    gae_lambda: float = 0.95
    clip: float = 0.2  # epsilon: how far the policy may profitably move in one update
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.0
    max_gradient_norm: float = 0.5
    reward_scale: float = 0.1  # so that values are of the size of 1


# %% [markdown]
# ## The environments
#
# An environment of ours never resets itself. What ends an episode, and what comes after it, is said here. The step's
# true successor goes to the agent, also where the slot has already moved on to a new episode.


# %%
class Slot(NamedTuple):
    """One ant between two steps."""

    state: Any
    obs: Array
    length: Array  # steps in this episode
    total: Array  # rewards in this episode


class Outcome(NamedTuple):
    """What came of a step."""

    reward: Array
    terminated: Array  # the ant fell: nothing follows
    ended: Array  # it fell, or its time was up: then something would have followed
    next_obs: Array
    total: Array


def begin(env: ks.Env, key: Array) -> Slot:
    state, first = env.reset(key)
    return Slot(state, first.obs, jnp.int32(0), jnp.float32(0.0))


def advance(env: ks.Env, slot: Slot, action: Array, key: Array) -> tuple[Slot, Outcome]:
    step_key, reset_key = jax.random.split(key)
    state, now = env.step(step_key, slot.state, clip_to(env.action_space, action))
    stayed = Slot(state, now.obs, slot.length + 1, slot.total + now.reward)
    ended = now.terminated | (stayed.length >= env.time_limit)
    after = jax.tree.map(lambda new, old: jnp.where(ended, new, old), begin(env, reset_key), stayed)
    return after, Outcome(now.reward, now.terminated, ended, now.obs, stayed.total)


# %% [markdown]
# ## The network
#
# Two small networks, an actor and a critic, of two hidden layers each. The actor gives the mean of a normal
# distribution; its deviation is a parameter that no observation changes.


# %%
def first_params(key: Array, obs_size: int, action_size: int) -> dict[str, Any]:
    def layers(key: Array, *sizes: int, last_gain: float) -> list[tuple[Array, Array]]:
        shapes = list(itertools.pairwise(sizes))
        gains = [math.sqrt(2.0)] * (len(shapes) - 1) + [last_gain]
        keys = jax.random.split(key, len(shapes))
        return [(orthogonal(k, s, g), jnp.zeros(s[1])) for k, s, g in zip(keys, shapes, gains, strict=True)]

    actor_key, critic_key = jax.random.split(key)
    return {
        "actor": layers(actor_key, obs_size, 64, 64, action_size, last_gain=0.01),  # the first policy does little
        "critic": layers(critic_key, obs_size, 64, 64, 1, last_gain=1.0),
        "log_std": jnp.zeros(action_size),
    }


def forward(layers: list[tuple[Array, Array]], x: Array) -> Array:
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def value(params: dict[str, Any], obs: Array) -> Array:
    return forward(params["critic"], obs)[0]


def act(params: dict[str, Any], obs: Array, key: Array) -> Array:
    noise = jax.random.normal(key, params["log_std"].shape)
    return forward(params["actor"], obs) + jnp.exp(params["log_std"]) * noise


def log_prob(params: dict[str, Any], obs: Array, action: Array) -> Array:
    z = (action - forward(params["actor"], obs)) / jnp.exp(params["log_std"])
    return -jnp.sum(0.5 * z * z + params["log_std"] + 0.5 * math.log(2.0 * math.pi))


# %% [markdown]
# ## What the network sees
#
# An angle is about 1, a speed about 10: observations are scaled by the mean and the variance of all that were seen.


# %%
class Moments(NamedTuple):
    count: Array
    mean: Array
    variance: Array


def scaled(moments: Moments, obs: Array) -> Array:
    return jnp.clip((obs - moments.mean) / jnp.sqrt(moments.variance + 1e-8), -10.0, 10.0)


def observed(moments: Moments, batch: Array) -> Moments:
    """Returns the moments after a batch [n, obs] more (Chan, Golub and LeVeque, 1983)."""
    count = moments.count + batch.shape[0]
    share = batch.shape[0] / count
    shift = batch.mean(0) - moments.mean
    spread = (1.0 - share) * moments.variance + share * batch.var(0) + share * (1.0 - share) * shift**2
    return Moments(count, moments.mean + share * shift, spread)


# %% [markdown]
# ## A rollout, and what was better than expected in it


# %%
class TrainState(NamedTuple):
    """All that is carried from update to update."""

    params: dict[str, Any]
    optimiser: Any
    moments: Moments
    slots: Slot  # [num_envs, ...]


class Samples(NamedTuple):
    """What an update learns from."""

    obs: Array
    action: Array
    log_prob: Array
    advantage: Array
    target: Array  # what the value should become


def collect(env: ks.Env, s: Settings, state: TrainState, key: Array) -> tuple[Slot, Array, Array, Outcome]:
    """Takes `num_steps` steps of all environments: slots, and [T, B, ...] observations, actions and outcomes."""
    move = jax.vmap(ks.kernel(partial(advance, env)))  # one SIMD kernel: physics, time limit and reset of many ants

    def step(slots: Slot, key: Array) -> tuple[Slot, tuple[Array, Array, Outcome]]:
        act_keys, env_keys = jax.random.split(key, (2, s.num_envs))
        seen = jax.vmap(partial(scaled, state.moments))(slots.obs)
        action = jax.vmap(partial(act, state.params))(seen, act_keys)
        after, outcome = move(slots, action, env_keys)
        return after, (slots.obs, action, outcome)

    slots, (obs, action, outcome) = jax.lax.scan(step, state.slots, jax.random.split(key, s.num_steps))
    return slots, obs, action, outcome


def advantages(s: Settings, values: Array, next_values: Array, outcome: Outcome) -> Array:
    """Returns generalised advantage estimates of one environment, [T]; arXiv:1506.02438, equation 16.

    A fall is worth nothing afterwards. Where only the time was up, the value of what would have followed counts.
    """
    bootstrap = jnp.where(outcome.terminated, 0.0, next_values)
    surprise = s.reward_scale * outcome.reward + s.discount * bootstrap - values

    def back(later: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        surprise, ended = now
        advantage = surprise + s.discount * s.gae_lambda * jnp.where(ended, 0.0, later)
        return advantage, advantage

    return jax.lax.scan(back, jnp.float32(0.0), (surprise, outcome.ended), reverse=True)[1]


def samples_of(s: Settings, state: TrainState, obs: Array, action: Array, outcome: Outcome) -> Samples:
    """Returns a rollout as samples, [T * B, ...]."""
    look = jax.vmap(jax.vmap(partial(scaled, state.moments)))
    value_of = jax.vmap(jax.vmap(partial(value, state.params)))
    seen, next_seen = look(obs), look(outcome.next_obs)
    values = value_of(seen)
    advantage = jax.vmap(partial(advantages, s), 1, 1)(values, value_of(next_seen), outcome)
    old = jax.vmap(jax.vmap(partial(log_prob, state.params)))(seen, action)
    samples = Samples(seen, action, old, advantage, advantage + values)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), samples)


# %% [markdown]
# ## The objective
#
# Actions that were better than expected become likelier, and worse ones less likely, but nothing is gained by moving
# their probability by more than a fifth; arXiv:1707.06347, equations 7 and 9.


# %%
def loss(params: dict[str, Any], batch: Samples, s: Settings) -> Array:
    standard = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)

    def one(sample: Samples, advantage: Array) -> Array:
        ratio = jnp.exp(log_prob(params, sample.obs, sample.action) - sample.log_prob)
        surrogate = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1.0 - s.clip, 1.0 + s.clip) * advantage)
        error = value(params, sample.obs) - sample.target
        return -surrogate + s.value_coefficient * 0.5 * error * error

    entropy = jnp.sum(params["log_std"] + 0.5 * math.log(2.0 * math.pi * math.e))
    return jax.vmap(one)(batch, standard).mean() - s.entropy_coefficient * entropy


def optimiser(s: Settings) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(s.max_gradient_norm), optax.adam(s.learning_rate, eps=1e-5))


def improve(s: Settings, learned: tuple[Any, Any], samples: Samples, key: Array) -> tuple[Any, Any]:
    """Learns from samples: every epoch shuffles them and takes one gradient step for each minibatch."""

    def step(learned: tuple[Any, Any], chosen: Array) -> tuple[tuple[Any, Any], None]:
        params, state = learned
        gradient = jax.grad(loss)(params, jax.tree.map(lambda x: x[chosen], samples), s)
        changes, state = optimiser(s).update(gradient, state)
        return (optax.apply_updates(params, changes), state), None

    def epoch(learned: tuple[Any, Any], key: Array) -> tuple[tuple[Any, Any], None]:
        order = jax.random.permutation(key, s.num_envs * s.num_steps)
        return jax.lax.scan(step, learned, order.reshape(s.minibatches, -1))

    return jax.lax.scan(epoch, learned, jax.random.split(key, s.epochs))[0]


# %% [markdown]
# ## The loop


# %%
@partial(jax.jit, static_argnums=1)
def start(env: ks.Env, s: Settings, key: Array) -> TrainState:
    params_key, env_key = jax.random.split(key)
    slots = jax.vmap(partial(begin, env))(jax.random.split(env_key, s.num_envs))
    size = slots.obs.shape[1]
    params = first_params(params_key, size, env.action_space.shape[0])
    nothing_seen = Moments(jnp.float32(0.0), jnp.zeros(size), jnp.ones(size))
    return TrainState(params, optimiser(s).init(params), nothing_seen, slots)


@partial(jax.jit, static_argnums=1, donate_argnums=2)
def update(env: ks.Env, s: Settings, state: TrainState, key: Array) -> tuple[TrainState, dict[str, Array]]:
    collect_key, improve_key = jax.random.split(key)
    slots, obs, action, outcome = collect(env, s, state, collect_key)
    samples = samples_of(s, state, obs, action, outcome)
    params, adam = improve(s, (state.params, state.optimiser), samples, improve_key)
    moments = observed(state.moments, obs.reshape(-1, obs.shape[2]))  # last: the epochs see what the rollout saw
    report = {
        "episodes": outcome.ended.sum(),
        "returns": jnp.where(outcome.ended, outcome.total, 0.0).sum(),
        "std": jnp.exp(params["log_std"]).mean(),
    }
    return TrainState(params, adam, moments, slots), report


def main(steps: int = 10_000_000, num_envs: int = 2048, env_id: str = "Ant-v5", **settings: Any) -> list[float]:
    """Trains, prints some twenty lines of progress, and returns the mean return of the episodes ended before each."""
    env, s, key = ks.make(env_id), Settings(num_envs=num_envs, **settings), jax.random.key(0)
    each = num_envs * s.num_steps
    updates, curve = max(1, steps // each), []
    state, reports, began = start(env, s, jax.random.fold_in(key, 0)), [], time.perf_counter()
    for i in range(1, updates + 1):
        state, report = update(env, s, state, jax.random.fold_in(key, i))
        reports.append(report)
        if i % -(-updates // 20) == 0 or i == updates:
            episodes, returns, std = (sum(float(r[name]) for r in reports) for name in ("episodes", "returns", "std"))
            curve.append(returns / episodes if episodes else math.nan)
            speed = len(reports) * each / (time.perf_counter() - began)
            print(f"{i * each:>12,} steps: return {curve[-1]:.1f}, std {std / len(reports):.2f}, {speed:,.0f} steps/s")
            reports, began = [], time.perf_counter()
    return curve


# %% [markdown]
# ## The same in one line
#
# `ks.train("ppo", "Ant-v5")` does all this, scales the rewards by what they turn out to be, trains many seeds at once,
# and writes a report. With the settings of this file:


# %%
def one_line(steps: int = 10_000_000, num_envs: int = 2048, env_id: str = "Ant-v5", **settings: Any) -> ks.Run:
    agent = ks.make_agent("ppo", num_envs=num_envs, num_steps=16, minibatches=16, gae_lambda=0.95)
    return ks.train(agent, env_id, steps=steps, **settings)


if __name__ == "__main__":
    main()
