"""What a collector of one's own gives is looked at as its first iteration is traced: one line names it and the part."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from idle_agent import Idle
from pendulum_data import pendulum

import kousoku as ks
from kousoku.agents.options import make_agent
from kousoku.core.errors import ConfigError
from kousoku.training.loop.iteration import shapes_of
from kousoku.training.metrics.metric_sums import Recording

ENV = ks.make("CartPole-v1")


class Own(ks.Rollouts):
    """Rollouts that keep a clock of each slot; `part` of what they give is made something else."""

    part: str = eqx.field(static=True, default="")
    made: Any = eqx.field(static=True, default=None)

    def init(self, agent, agent_state, slots, key):
        slot, carry, _ = super().init(agent, agent_state, slots, key)
        return slot, carry, self.changed("init", jnp.zeros(self.num_envs))

    def collect(self, agent, slots, state, keys, axis):
        after, data, steps = super().collect(agent, slots, state, keys, axis)
        return self.changed("collect", after), data, self.changed("steps", steps)

    def learn(self, agent, state, data, keys, axis):
        after, metrics, updates = super().learn(agent, state, data, keys, axis)
        return self.changed("learn", after), metrics, self.changed("updates", updates)

    def changed(self, where: str, usual: Any) -> Any:
        return self.made(usual) if where == self.part else usual


class Still(Idle):
    collector: Own = eqx.field(static=True, default=Own(4, 8))

    @property
    def learns_from(self) -> Own:
        return self.collector


def looked_at(part: str = "", made: Any = None) -> None:
    shapes_of(Still(Own(4, 8, part=part, made=made)), ENV, Recording())


def with_end(**changes: Any) -> Any:
    return lambda steps: dataclasses.replace(steps, end=dataclasses.replace(steps.end, **changes))


LIKE = "return one like the one given"
ODD = {
    "text": ("init", lambda _: "x", r"init: got \"a state with \['data'\], 'x'\"; use arrays"),
    "dtype": (
        "collect",
        lambda s: dataclasses.replace(s, data=s.data.astype(jnp.float16)),
        rf"collect: got 'a state with \.data float16\[4\]'; {LIKE}, with \.data float32\[4\]",
    ),
    "structure": (
        "collect",
        lambda s: dataclasses.replace(s, data=(s.data,)),
        rf"collect: got 'a state with \.data\[0\] float32\[4\]'; {LIKE}, with \.data float32\[4\]",
    ),
    "nothing": (
        "collect",
        lambda s: dataclasses.replace(s, carry=None),
        rf"collect: got 'a state whose \.carry is None'; {LIKE}, whose \.carry is a tuple of 0",
    ),
    "agent": (
        "learn",
        lambda s: dataclasses.replace(s, agent={"w": jnp.zeros(3)}),
        rf"learn: got \"a state with \.agent\['w'\] float32\[3\]\"; {LIKE}, with \.agent\['w'\] float32\[2\]",
    ),
    "no state": ("learn", lambda s: s.agent, r"learn's state: got 'dict'; return a TrainState"),
    "fraction": ("updates", lambda _: jnp.float32(2), r"learn's updates: got float32\[\]; give their number"),
    "updates": ("updates", lambda _: jnp.ones(3, jnp.int32), r"learn's updates: got int32\[3\]; give their number"),
    "word": ("updates", lambda _: "two", r"learn's updates: got 'two'; give their number"),
    "rows": (
        "steps",
        lambda steps: jax.tree.map(lambda x: x[:4], steps),
        r"collect: got 'steps whose obs is \[4, 4, 4\]'; num_steps x num_envs is \[8, 4\]: give numbers of so many",
    ),
    "turned": (
        "steps",
        lambda steps: dataclasses.replace(steps, reward=steps.reward.T),
        r"collect: got 'steps whose reward is \[4, 8\]'; num_steps x num_envs is \[8, 4\]",
    ),
    "ends": (
        "steps",
        lambda steps: with_end(**{n: x[:4] for n, x in vars(steps.end).items() if x is not None})(steps),
        r"collect: got 'steps whose end\.ended is \[4, 4\]'; num_steps x num_envs is \[8, 4\]",
    ),
    "returns": (
        "steps",
        lambda steps: with_end(episode_return=steps.end.episode_return[..., None])(steps),
        r"collect: got 'steps whose end\.episode_return is \[8, 4, 1\]'; num_steps x num_envs is \[8, 4\]",
    ),
    "all": (
        "steps",
        lambda steps: dataclasses.replace(steps, end=jax.tree.map(lambda x: x[:4], steps.end), taken=jnp.int32(32)),
        r"collect: got 'steps whose end\.ended is \[4, 4\]'; rewards are \[8, 4\]",
    ),
    "flags": (
        "steps",
        lambda steps: eqx.tree_at(lambda steps: steps.end.ended, steps, steps.end.ended.astype(jnp.int32)),
        r"collect's end\.ended: got int32\[8, 4\]; give booleans",
    ),
    "dict": ("steps", vars, r"collect's steps: got 'dict'; give kousoku.Steps"),
    "no end": (
        "steps",
        lambda steps: eqx.tree_at(lambda steps: steps.end, steps, steps.end.ended),
        r"collect's end: got '.*Tracer'; give a kousoku.EpisodeEnd",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("part", "made", "told"), ODD.values(), ids=ODD)
def test_what_a_collector_of_ones_own_gives_is_looked_at(part, made, told):
    with pytest.raises(ConfigError, match=f"^Own.{told}"):
        looked_at(part, made)


@pytest.mark.parametrize("count", [2, jnp.int32(2), None])
def test_a_number_of_updates_is_whole_or_none_for_one(count):
    looked_at("updates", lambda _: count)


SMALL = {"hidden": (4,), "batch_size": 8}
OURS = {
    "q_learning": ("FrozenLake-v1", {}),
    "a2c": ("CartPole-v1", {"num_envs": 2, "num_steps": 4, "hidden": (4,)}),
    "dqn": ("CartPole-v1", {"num_envs": 2, "capacity": 64, **SMALL}),
    "apg": ("Pendulum-v1", {"num_envs": 2, "num_steps": 4, "critic_minibatches": 1, "hidden": (4,)}),
    "ars": ("Pendulum-v1", {"num_directions": 2, "top_directions": 2}),
    "bc": ("Pendulum-v1", {"dataset": pendulum(), **SMALL}),
}


@pytest.mark.parametrize("id", OURS)
def test_a_collector_of_ones_own_that_changes_nothing_is_taken(id):
    env, options = OURS[id]
    agent = make_agent(id, **options)
    mine = type("Mine", (type(agent.learns_from),), {})
    own = type(
        "Own", (type(agent),), {"learns_from": property(lambda self: as_kind(mine, super(own, self).learns_from))}
    )
    shapes = shapes_of(as_kind(own, agent), ks.make(env), Recording())
    assert jax.tree.structure(shapes.state) == jax.tree.structure(shapes_of(agent, ks.make(env), Recording()).state)


def as_kind(kind: type, module: eqx.Module) -> eqx.Module:
    """Returns a module as one of another class that has the same fields."""
    made = object.__new__(kind)
    for field in dataclasses.fields(module):
        object.__setattr__(made, field.name, getattr(module, field.name))
    return made
