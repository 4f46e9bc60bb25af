"""An observation that is no number of its space ends a run, in one line: compiled code would clamp it and go on."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.core.errors import EnvError
from kousoku.training.guards.observation_check import observed_outside


class Ring(ks.Env):
    """Five states in a ring, whatever is done, observed as numbers that begin with `first`."""

    first: int = eqx.field(static=True, default=0)
    pairs: bool = eqx.field(static=True, default=False)
    time_limit: int | None = 20

    @property
    def observation_space(self) -> Any:
        return ks.MultiDiscrete((5, 9)) if self.pairs else ks.Discrete(5)

    @property
    def action_space(self) -> Any:
        return ks.Discrete(2)

    def told(self, state: Any, reward: float) -> ks.Timestep:
        obs = state + self.first
        return ks.Timestep(jnp.stack([obs, obs]) if self.pairs else obs, reward, False, False)

    def reset(self, key: Any) -> Any:
        return jnp.int32(0), self.told(jnp.int32(0), 0.0)

    def step(self, key: Any, state: Any, action: Any) -> Any:
        after = ((state + 1) % 5).astype(jnp.int32)
        return after, self.told(after, 1.0)


@pytest.mark.by_default("1-5", "-1--1")
@pytest.mark.parametrize(("first", "seen"), [(1, 5), (-1, -1), (7, 8)])
def test_a_run_ends_and_says_which_observation_was_outside(first, seen, tmp_path):
    """The ring turns once between two reports, so that its state is the same in all of them."""
    out = tmp_path / "run"
    with pytest.raises(EnvError) as caught:
        ks.train("q_learning", Ring(first), steps=1000, record_every=50, out=str(out), progress=False)
    assert str(caught.value) == (
        f"Ring: observation {seen} is outside Discrete(n=5); count from 0; kousoku.check_env tells all"
    )
    assert ks.load(out, env=Ring(first)).record.facts["steps"] < 8
    ks.train("q_learning", Ring(0), steps=100, eval_episodes=0, out="", progress=False)


def test_several_slots_and_several_numbers():
    with pytest.raises(EnvError, match=r"observation \[5, 5\] is outside MultiDiscrete\(nvec=\(5, 9\)\)"):
        ks.train("ppo", Ring(1, pairs=True), steps=400, num_envs=2, num_steps=3, minibatches=1, hidden=(4,),
                 eval_episodes=0, out="", progress=False)  # fmt: skip


def test_other_spaces_and_slots_without_observations_are_left_alone():
    class Slots:
        obs = jnp.array([[9.0]])

    for env, slots in ((ks.make("Pendulum-v1"), Slots), (Ring(), ())):
        assert observed_outside(env, env.observation_space, slots) is None


def test_a_space_is_looked_up_as_often_however_many_reports_there_are():
    looks = []

    class Looked(Ring):
        @property
        def observation_space(self):
            looks.append(1)
            return super().observation_space

    def count(steps: int) -> int:
        looks.clear()
        ks.train("q_learning", Looked(0), steps=steps, record_every=50, eval_episodes=0, out="", progress=False)
        return len(looks)

    count(100)  # traces
    assert count(2000) == count(100) > 0, "some spaces are traced for at each look"
