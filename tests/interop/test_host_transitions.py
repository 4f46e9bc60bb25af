"""What agents are given of environments on the host: every transition, as it was."""

import jax.numpy as jnp
import numpy as np
import pytest
from host_diary import ACTIONS, Diary
from host_worlds import Counter

import kousoku as ks
from kousoku.collectors.replay import Replay
from kousoku.core.timestep import ReplayBatch

KINDS = {
    "rollouts": ks.Rollouts(num_envs=3, num_steps=5, return_discount=0.5),
    "one slot": ks.Rollouts(num_envs=1, num_steps=15),
    "online": ks.Online(),
}


def diary(kind, seeds=2, workers=0, updates=4, **counter):
    """What each member was given, [N, T, B, ...], T over all updates."""
    agent = Diary(KINDS[kind], updates)
    env = ks.from_gymnasium(lambda: Counter(**counter), workers=workers)
    steps = updates * agent.learns_from.iteration_steps
    run = ks.train(agent, env, steps=steps, seeds=seeds, out="", eval_episodes=0, record=["returns"])
    count, kept = run._trained.final_state.agent_state
    assert count.tolist() == [updates] * seeds
    batched = agent.learns_from.batched
    shape = (seeds, -1, agent.learns_from.num_envs)
    return run, [np.asarray(x).reshape(*shape, *x.shape[4 if batched else 2 :]) for x in kept]


@pytest.mark.by_default("online-0-counter5")
@pytest.mark.parametrize(
    ("kind", "workers", "counter"),
    [
        ("rollouts", 0, {"ends": 4}),
        ("rollouts", 2, {"ends": 6, "cut": 3}),
        ("rollouts", 0, {"ends": 3, "cut": 4}),
        ("one slot", 0, {"ends": 2}),
        ("online", 0, {"ends": 2, "cut": 3}),
        ("online", 0, {"ends": 1}),
    ],
)
def test_every_transition_is_what_the_environment_did(kind, workers, counter):
    updates = 12 if kind == "online" else 4
    run, (obs, action, reward, terminated, truncated, next_obs, extras) = diary(
        kind, workers=workers, updates=updates, **counter
    )
    who = obs[:, 0, :, 0]
    assert len(np.unique(who)) == who.size, "every slot of every member has a seed of its own"
    cut = counter.get("cut") or np.inf
    for n, b in np.ndindex(who.shape):
        episode, step = 0, 0
        for t in range(obs.shape[1]):
            at = n, t, b
            assert obs[at].tolist() == [who[n, b], episode, step]
            assert action[at] == step % ACTIONS
            assert extras[at] == step, "what an agent carries begins anew with each episode"
            step += 1
            assert reward[at] == np.float32(action[at] + step / 10)
            assert next_obs[at].tolist() == [who[n, b], episode, step], "never what follows a reset"
            ends = step >= counter["ends"] + episode % 2
            assert (terminated[at], truncated[at]) == (ends, step >= cut)
            if ends or step >= cut:
                episode, step = episode + 1, 0
    assert run.record.facts["episodes"] == (terminated | truncated).sum()


@pytest.mark.full("covered")
def test_the_same_seed_is_the_same_run_and_members_are_not_alike():
    (_, first), (_, again) = (diary("rollouts", ends=4) for _ in range(2))
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
    _, (alone, *_) = diary("rollouts", seeds=1, ends=4)
    assert np.array_equal(alone[0], first[0][0]), "a member's environments do not depend on how many members there are"


@pytest.mark.full("covered")
def test_a_worker_steps_its_share_as_this_process_would():
    (_, here), (_, there) = (diary("rollouts", ends=4, workers=workers) for workers in (0, 2))
    assert all(np.array_equal(x, y) for x, y in zip(here, there, strict=True))


@pytest.mark.full("covered")
def test_curves_are_those_of_whole_episodes():
    run, (_, _, reward, *_) = diary("rollouts", seeds=1, ends=5, cut=5)
    total = sum(step % ACTIONS + (step + 1) / 10 for step in range(5))
    assert run.curves["return"][-1] == pytest.approx(total)
    assert run.curves["length"][-1] == 5
    assert run.curves["reward"].mean() == pytest.approx(reward.mean())


class Drawn(Diary):
    """Keeps the minibatches that it is given of a buffer."""

    def _entry(self, spec):
        n = (self.collector.batch_size,)
        obs, number, flags = jnp.zeros((*n, 3)), jnp.zeros(n, jnp.int32), jnp.zeros(n, bool)
        return obs, number, jnp.zeros(n), flags, flags, obs, number

    def update(self, state, data: ReplayBatch, key, *, axis=None):
        return Diary.update(self, state, data.transitions, key, axis=axis)


def test_a_buffer_holds_the_transitions_that_were_made():
    agent = Drawn(Replay(num_envs=2, num_steps=2, capacity=16, batch_size=32, learning_starts=8))
    env = ks.from_gymnasium(lambda: Counter(ends=3))
    run = ks.train(agent, env, steps=24, seeds=2, out="", eval_episodes=0)
    _, kept = run._trained.final_state.agent_state
    obs, action, _, terminated, truncated, next_obs, _ = (np.asarray(x).reshape(-1, *x.shape[3:]) for x in kept)
    drawn = obs[:, 0] > 0
    assert drawn.sum() > 100
    assert np.array_equal(next_obs[drawn], obs[drawn] + [0, 0, 1])
    assert np.array_equal(action[drawn], obs[drawn][:, 2].astype(int) % ACTIONS)
    assert np.array_equal(terminated[drawn], next_obs[drawn][:, 2] >= 3 + obs[drawn][:, 1] % 2)
    assert not truncated.any()
