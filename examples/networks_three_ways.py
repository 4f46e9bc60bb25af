# %% [markdown]
# # One network, three ways
#
# The same actor and critic written as raw functions of a dict of arrays, in Equinox, and in Haiku. To an agent a
# network is a pytree of its parameters with four methods (`kousoku.nn.Network`), whoever wrote what is inside. A
# *builder* makes one from the two spaces and a key: `ks.make_agent("ppo", network=raw)` trains the first of them.

# %%
from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

import kousoku as ks
from kousoku.nn import Network, orthogonal
from kousoku.ops.distributions import Normal

try:
    import haiku as hk
except ImportError:
    hk = None  # `pip install dm-haiku` for the third way

WIDTH = 64
HIDDEN_GAIN, POLICY_GAIN, VALUE_GAIN = math.sqrt(2.0), 0.01, 1.0


# %% [markdown]
# ## What they have in common
#
# No carry (see `nn.GRU` for networks with one), and normal actions with a deviation that no observation changes.


# %%
class Plain(Network):
    """Actor and critic without a carry: a subclass gives the mean and the deviation of actions, and `value`."""

    @abstractmethod
    def mean(self, obs: Array) -> Array:
        """Returns the mean of the action, [A]."""

    @abstractmethod
    def log_std(self) -> Array:
        """Returns the logarithm of the action's standard deviation, [A]."""

    def initial_carry(self) -> tuple[()]:
        return ()

    def policy(self, obs: Array, carry: tuple[()]) -> tuple[Normal, tuple[()]]:
        return Normal(self.mean(obs), jnp.exp(self.log_std())), carry

    def __call__(self, obs: Array, carry: tuple[()]) -> tuple[Normal, Array, tuple[()]]:
        return self.policy(obs, carry)[0], self.value(obs, carry), carry


# %% [markdown]
# ## (a) Raw functions of a dict of arrays


# %%
def first_weights(observation_space: ks.Box, action_space: ks.Box, key: Array) -> dict[str, Array]:
    obs_size, action_size = observation_space.shape[0], action_space.shape[0]
    sizes = {"actor": (obs_size, WIDTH, WIDTH, action_size), "critic": (obs_size, WIDTH, WIDTH, 1)}
    last = {"actor": POLICY_GAIN, "critic": VALUE_GAIN}
    weights = {"log_std": jnp.zeros(action_size)}
    for k, (name, widths) in enumerate(sizes.items()):
        for i, layer_key in enumerate(jax.random.split(jax.random.fold_in(key, k), 3)):
            weights[f"{name}_w{i}"] = orthogonal(layer_key, widths[i : i + 2], last[name] if i == 2 else HIDDEN_GAIN)
            weights[f"{name}_b{i}"] = jnp.zeros(widths[i + 1])
    return weights


def mlp(weights: dict[str, Array], name: str, x: Array) -> Array:
    for i in range(2):
        x = jnp.tanh(x @ weights[f"{name}_w{i}"] + weights[f"{name}_b{i}"])
    return x @ weights[f"{name}_w2"] + weights[f"{name}_b2"]


class Raw(Plain):
    weights: dict[str, Array]

    def mean(self, obs: Array) -> Array:
        return mlp(self.weights, "actor", obs)

    def log_std(self) -> Array:
        return self.weights["log_std"]

    def value(self, obs: Array, carry: tuple[()]) -> Array:
        return mlp(self.weights, "critic", obs)[0]


def raw(observation_space: ks.Box, action_space: ks.Box, key: Array) -> Raw:
    """Returns the builder of the first way."""
    return Raw(first_weights(observation_space, action_space, key))


# %% [markdown]
# ## (b) Equinox
#
# A network of ours *is* an Equinox module, so its layers can be attributes as they are. They have to be arrays or
# static: `eqx.nn.MLP` keeps its activation among the leaves, where no gradient of it can be taken, so the two calls of
# tanh are written out.


# %%
class Layers(eqx.Module):
    layers: tuple[eqx.nn.Linear, ...]

    def __call__(self, x: Array) -> Array:
        for layer in self.layers[:-1]:
            x = jnp.tanh(layer(x))
        return self.layers[-1](x)


class Equinox(Plain):
    actor: Layers
    critic: Layers
    log_deviation: Array

    def mean(self, obs: Array) -> Array:
        return self.actor(obs)

    def log_std(self) -> Array:
        return self.log_deviation

    def value(self, obs: Array, carry: tuple[()]) -> Array:
        return self.critic(obs)[0]


def linear(in_size: int, out_size: int, gain: float, key: Array) -> eqx.nn.Linear:
    layer = eqx.nn.Linear(in_size, out_size, key=key)
    fresh = orthogonal(key, (in_size, out_size), gain).T, jnp.zeros(out_size)  # Equinox keeps [out, in]
    return eqx.tree_at(lambda layer: (layer.weight, layer.bias), layer, fresh)


def equinox(observation_space: ks.Box, action_space: ks.Box, key: Array) -> Equinox:
    """Returns the builder of the second way."""

    def layers(out_size: int, gain: float, key: Array) -> Layers:
        one, two, three = jax.random.split(key, 3)
        first = linear(observation_space.shape[0], WIDTH, HIDDEN_GAIN, one)
        return Layers((first, linear(WIDTH, WIDTH, HIDDEN_GAIN, two), linear(WIDTH, out_size, gain, three)))

    actor_key, critic_key = jax.random.split(key)
    size = action_space.shape[0]
    return Equinox(layers(size, POLICY_GAIN, actor_key), layers(1, VALUE_GAIN, critic_key), jnp.zeros(size))


# %% [markdown]
# ## (c) Haiku
#
# `hk.transform` splits a function with modules into `init` and `apply`. The parameters are a dict of dicts, a pytree;
# `apply` is structure. JAX compares structure to know what is compiled already, so `transformed` gives the same
# function for the same size every time.


# %%
def haiku_mlp(name: str, out_size: int, gain: float, x: Array) -> Array:
    for i, (size, layer_gain) in enumerate([(WIDTH, HIDDEN_GAIN), (WIDTH, HIDDEN_GAIN), (out_size, gain)]):
        x = jnp.tanh(x) if i else x
        x = hk.Linear(size, w_init=haiku_orthogonal(layer_gain), name=f"{name}{i}")(x)
    return x


def haiku_orthogonal(gain: float) -> Callable[..., Array]:
    """Haiku's own takes a QR decomposition; this one is made of products, which run anywhere under `vmap`."""
    return lambda shape, dtype: orthogonal(hk.next_rng_key(), tuple(shape), gain).astype(dtype)


@functools.cache
def transformed(action_size: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns (init(key, obs) -> parameters, apply(parameters, obs) -> (mean, log_std, value))"""

    def network(obs: Array) -> tuple[Array, Array, Array]:
        log_std = hk.get_parameter("log_std", (action_size,), init=jnp.zeros)
        return haiku_mlp("actor", action_size, POLICY_GAIN, obs), log_std, haiku_mlp("critic", 1, VALUE_GAIN, obs)[0]

    return hk.without_apply_rng(hk.transform(network))


class Haiku(Plain):
    params: dict[str, dict[str, Array]]
    action_size: int = eqx.field(static=True)

    def outputs(self, obs: Array) -> tuple[Array, Array, Array]:
        return transformed(self.action_size)[1](self.params, obs)

    def mean(self, obs: Array) -> Array:
        return self.outputs(obs)[0]

    def log_std(self) -> Array:
        return self.params["~"]["log_std"]

    def value(self, obs: Array, carry: tuple[()]) -> Array:
        return self.outputs(obs)[2]


def haiku(observation_space: ks.Box, action_space: ks.Box, key: Array) -> Haiku:
    """Returns the builder of the third way."""
    size = action_space.shape[0]
    return Haiku(transformed(size)[0](key, jnp.zeros(observation_space.shape)), size)


# %% [markdown]
# ## The same weights give the same numbers


# %%
def as_equinox(weights: dict[str, Array]) -> Equinox:
    def layers(name: str) -> Layers:
        shapes = [weights[f"{name}_w{i}"].shape for i in range(3)]
        empty = Layers(tuple(eqx.nn.Linear(*shape, key=jax.random.key(0)) for shape in shapes))
        arrays = [array for i in range(3) for array in (weights[f"{name}_w{i}"].T, weights[f"{name}_b{i}"])]
        return eqx.tree_at(lambda x: [y for layer in x.layers for y in (layer.weight, layer.bias)], empty, arrays)

    return Equinox(layers("actor"), layers("critic"), weights["log_std"])


def as_haiku(weights: dict[str, Array]) -> Haiku:
    names = [(name, i) for name in ("actor", "critic") for i in range(3)]
    params = {f"{name}{i}": {"w": weights[f"{name}_w{i}"], "b": weights[f"{name}_b{i}"]} for name, i in names}
    return Haiku({"~": {"log_std": weights["log_std"]}, **params}, weights["log_std"].shape[0])


def ways() -> dict[str, Callable[..., Plain]]:
    """Returns the builders, by name: Haiku's where it is installed."""
    return {"raw": raw, "equinox": equinox} | ({"haiku": haiku} if hk is not None else {})


def main(steps: int = 200_000, env_id: str = "InvertedPendulum-v5") -> dict[str, float]:
    """Shows that they agree, trains each, and returns the mean greedy returns."""
    env = ks.make(env_id)
    weights = first_weights(env.observation_space, env.action_space, jax.random.key(0))
    same = {"raw": Raw(weights), "equinox": as_equinox(weights)} | ({"haiku": as_haiku(weights)} if hk else {})
    obs = env.reset(jax.random.key(1))[1].obs
    for name, network in same.items():
        policy, value, _ = network(obs, network.initial_carry())
        print(f"{name:>8}: mean {float(policy.loc[0]):.7f}, value {float(value):.7f}")
    found = {}
    for name, builder in ways().items():
        agent = ks.make_agent("ppo", network=builder, num_envs=64, num_steps=32, learning_rate=1e-3)
        run = ks.train(agent, env, steps=steps, out="")
        found[name] = float(run.evaluate(episodes=10).population.mean)
        print(f"{name:>8}: greedy return {found[name]:.1f} after {steps:,} steps of {env_id}")
    return found


if __name__ == "__main__":
    main()
