"""Greedy evaluation: whole episodes; the devices share lanes or episodes, and nobody can tell from the result."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from still import Still

import kousoku as ks
from kousoku.collectors.host_slots import HostStep
from kousoku.training.evaluation import evaluate
from kousoku.training.evaluation.on_host import SlotResults
from kousoku.viz.headline import sentence
from kousoku.viz.lines import result_lines
from kousoku.viz.ranking import best_summary


@pytest.mark.by_default("3-4")
@pytest.mark.parametrize(("lanes", "episodes"), [(1, 5), (3, 4), *(case for case in [(1, 1), (2, 3)])])
def test_devices_change_no_episode(lanes, episodes, monkeypatch):
    """Of one lane they share the episodes, of several the lanes; what is left over is filled up and cut off again."""
    devices = jax.devices()
    assert len(devices) == 2, "one device would prove nothing"
    run = ks.train("q_learning", "FrozenLake-v1", steps=500, seeds=lanes, out="", eval_episodes=0)
    shared = run.evaluate(episodes=episodes)
    monkeypatch.setattr(jax, "devices", lambda: devices[:1])
    alone = run.evaluate(episodes=episodes)
    assert shared.returns.shape == shared.lengths.shape == (lanes, episodes)
    np.testing.assert_array_equal(shared.returns, alone.returns)
    np.testing.assert_array_equal(shared.lengths, alone.lengths)
    assert len(np.unique(shared.lengths)) > 1 or shared.lengths.size == 1, "keys of their own"


@pytest.mark.full("more cases")
def test_devices_change_no_episode_of_a_network(monkeypatch):
    """A network's batch is divided: the same up to the order of sums."""
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=2, hidden=(8,))
    run = ks.train(agent, "Pendulum-v1", steps=64, out="", eval_episodes=0)
    shared = run.evaluate(episodes=3)
    devices = jax.devices()
    monkeypatch.setattr(jax, "devices", lambda: devices[:1])
    np.testing.assert_allclose(shared.returns, run.evaluate(episodes=3).returns, rtol=1e-4)


@pytest.mark.full("covered")
@pytest.mark.parametrize(("time_limit", "length"), [(30, 30), (None, 20)])
def test_an_episode_is_cut_at_the_environments_own_limit_alone(time_limit, length):
    """`max_steps` is for environments that have none."""
    env = ks.make("Pendulum-v1", time_limit=time_limit)
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=2, hidden=(8,))
    run = ks.train(agent, env, steps=32, out="", eval_episodes=1, eval_max_steps=20)
    assert run.record.evaluation["length"].tolist() == [[length]]
    assert run.evaluate(episodes=1, max_steps=20).lengths.tolist() == [[length]]


@pytest.mark.parametrize(("time_limit", "told"), [(20, False), (None, True)])
def test_episodes_that_the_evaluation_cut_are_told(time_limit, told):
    """Else the return of a part of an episode passes for that of a whole one; a limit of the task is no cut."""
    env = ks.make("Pendulum-v1", time_limit=time_limit)
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=2, hidden=(8,))
    run = ks.train(agent, env, steps=32, out="", eval_episodes=3, eval_max_steps=20)
    said = "3 of 3 greedy episodes were cut by the evaluation at 20 steps (eval_max_steps)"
    assert (said in result_lines(run.record)) is (said in sentence(run.record)) is told


class Short(Still):
    """An environment without a time limit, which ends each episode by itself after twenty steps: cut short, or not."""

    truncates: bool = eqx.field(static=True, default=True)
    time_limit: int | None = eqx.field(static=True, default=None)

    def step(self, key, state, action):
        ends = state == 19
        flags = (jnp.array(False), ends) if self.truncates else (ends, jnp.array(False))
        return state + 1, ks.Timestep(jnp.int32(0), jnp.float32(1), *flags)


@pytest.mark.parametrize("truncates", [True, False])
@pytest.mark.parametrize("max_steps", [19, 20, 21])
def test_what_ends_by_itself_is_not_cut(truncates, max_steps):
    """Not even where it ends at the very step at which it would have been."""
    run = ks.train(
        "q_learning", Short(truncates=truncates), steps=40, seeds=2, out="", eval_episodes=2, eval_max_steps=max_steps
    )
    cut = max_steps < 20
    assert run.record.facts["cut_evaluations"] == (8 if cut else 0)
    found = run.evaluate(episodes=3, max_steps=max_steps)
    assert found.cut.tolist() == [[cut] * 3] * 2
    assert found.limited.tolist() == [[truncates and not cut] * 3] * 2
    assert ("100% cut by the evaluation" in found._repr_html_()) is cut


@pytest.mark.full("covered")
def test_of_several_agents_as_many_episodes_judge_as_choose():
    """One agent by itself is not chosen, and plays those that were asked for: the first ones of what it plays else."""
    asked = {"steps": 500, "eval_episodes": 4, "out": "", "progress": False}
    several, one = (ks.train("q_learning", "FrozenLake-v1", seeds=seeds, **asked) for seeds in (3, 1))
    lengths = several.record.evaluation["length"]
    assert (lengths.shape, one.record.evaluation["length"].shape) == ((3, 8), (1, 4))
    np.testing.assert_array_equal(lengths[0, :4], one.record.evaluation["length"][0])
    assert len(np.unique(lengths, axis=1).T) == 8, "no episode is played twice"
    found = best_summary(several.record)
    assert found is not None
    assert found.over == "4 episodes"


def test_episodes_are_the_same_side_by_side_in_turn_and_without_a_kernel(monkeypatch):
    """Few agents have a lane for each episode, many one for all of theirs; what is too large to copy is left to XLA."""
    run = ks.train("q_learning", "FrozenLake-v1", steps=300, seeds=34, out="", eval_episodes=0)

    def played(copies: int, many: int) -> ks.Evaluation:
        monkeypatch.setattr(evaluate, "COPIES", copies)
        monkeypatch.setattr(evaluate, "MANY", many)
        evaluate._episodes.clear_cache()
        return run.evaluate(episodes=5)

    side_by_side, in_turn, by_xla = played(1 << 20, 1000), played(0, 16), played(0, 1000)
    evaluate._episodes.clear_cache()
    assert len(np.unique(side_by_side.lengths)) > 5
    for other in (in_turn, by_xla):
        np.testing.assert_array_equal(side_by_side.returns, other.returns)
        np.testing.assert_array_equal(side_by_side.lengths, other.lengths)


def test_episodes_of_slots_come_in_the_order_of_their_numbers_and_no_more_than_are_wanted():
    results, steps = SlotResults(members=2, slots=2, episodes=3), iter(range(1, 4))

    def step(*ended: bool) -> None:
        numbers = np.arange(4) + 10 * next(steps)
        flags, no = np.array(ended), np.zeros(4, bool)
        results.note(HostStep([], [], numbers, no, flags, flags, numbers.astype(np.float32), numbers, no))

    step(False, True, True, False)
    step(True, True, False, True)
    np.testing.assert_array_equal(results.open, [[True, False], [True, False]])
    step(True, False, True, True)
    assert not results.open.any()
    returns, lengths, truncated, cut = results.in_order()
    np.testing.assert_array_equal(lengths, [[20, 11, 30], [12, 23, 32]])
    np.testing.assert_array_equal(returns, lengths)
    assert truncated.all()
    assert not cut.any()
