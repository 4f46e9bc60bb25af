"""A world that changes: what is exact, and what is drawn, is of the map in which the evaluation plays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku import wrappers

SHORT = "S...G\n##.##\n....."
LONG = "S.#.G\n#.#.#\n....."


def corridor(**options) -> ks.Env:
    return ks.gridworld([SHORT, LONG], step_reward=-1.0, goal_reward=0.0, time_limit=20, **options)


def told(run: ks.Run) -> tuple[float, float, int]:
    """The optimum, the exact value of the start, and what the picture shows in a cell that becomes a wall."""
    tables = run.record.tables
    return float(tables["optimal_return"]), float(tables["exact_v"][0]), run.record.panels[0].states[0][2]


@pytest.mark.parametrize(("change_at", "best", "shown"), [(10_000, -4.0, 2), (100, -8.0, -1)])
def test_the_optimum_is_of_the_map_that_the_run_ended_in(change_at, best, shown):
    env = corridor(change_at=(change_at,))
    for wrapped in (env, wrappers.TimeLimit(env, 15), wrappers.ClipReward(env, -1.0, 0.0)):
        run = ks.train("q_learning", wrapped, steps=400, discount=1.0, eval_episodes=2, out="", progress=False)
        assert told(run) == (best, best, shown)


def test_a_wrapper_with_a_state_of_its_own_is_asked_for_the_one_inside():
    env = wrappers.FrameStackObservation(corridor(change_at=(1,), observation="one_hot"), 2)
    begun, _ = env.reset(jax.random.key(0))
    after, _ = env.step(jax.random.key(1), begun, jnp.int32(1))
    for state, wall in ((None, 2), (begun, 2), (after, -1)):
        world = env.world_at(state)
        assert isinstance(world, wrappers.FrameStackObservation)
        assert world.panels()[0].states[0][2] == wall
    plain = wrappers.TimeLimit(ks.make("GridWorld-v0"), 9)
    assert plain.world_at(plain.reset(jax.random.key(0))[0]) is plain


def test_of_several_slots_each_has_a_clock_of_its_own():
    for change_at, best in ((99, -8.0), (101, -4.0)):
        run = ks.train("pqn", corridor(change_at=(change_at,)), steps=800, num_envs=8, num_steps=10, minibatches=1,
                       epochs=1, hidden=(4,), eval_episodes=0, out="", progress=False)  # fmt: skip
        assert float(run.record.tables["optimal_return"]) == best


def test_a_run_that_goes_on_knows_the_map_of_then(tmp_path):
    env = corridor(change_at=(300,))
    run = ks.train("q_learning", env, steps=200, discount=1.0, eval_episodes=0, out=str(tmp_path / "a"), progress=False)
    assert told(run) == (-4.0, -4.0, 2)
    assert told(ks.resume(run, steps=400, env=env)) == (-8.0, -8.0, -1)


def test_members_that_share_a_world_share_what_is_exact():
    run = ks.train("q_learning", corridor(change_at=(300,)), steps=400, discount=1.0, seeds=2,
                   sweep={"learning_rate": [0.1, 0.5]}, eval_episodes=0, out="", progress=False)  # fmt: skip
    assert told(run) == (-8.0, -8.0, -1)


def test_no_plan_is_made_for_a_world_that_changes():
    env = corridor(change_at=(10_000,))
    for wrapped in (env, wrappers.TimeLimit(env, 15)):
        with pytest.raises(ks.ConfigError, match=r"^expert: got None; give one: this world changes while the agent"):
            ks.train("dagger", wrapped, steps=100, out="", progress=False)
    expert = tuple(np.zeros(15, int).tolist())
    ks.train("dagger", env, steps=64, expert=expert, hidden=(4,), eval_episodes=0, out="", progress=False)
