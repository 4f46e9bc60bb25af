"""A run that begins with what another run's best agent has learned, and with nothing else of it."""

import json
import shutil
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rollouts import Walk, leaves_equal, tiny_ppo

import kousoku as ks
from kousoku.agents.deep.actor_critic import ActorCriticState
from kousoku.cli import main
from kousoku.core.errors import ConfigError, RunWarning
from kousoku.core.spaces import Box, Dict, Discrete
from kousoku.nn import ActorCriticConfig, Network
from kousoku.training.fine_tuning import NOT_SAVED, _looks_alike
from kousoku.training.io import checkpoints, tree_io
from kousoku.training.loop import train as training

PPO = {"num_envs": 4, "num_steps": 8, "minibatches": 2, "epochs": 1, "hidden": (8,)}
A2C = {"num_envs": 4, "num_steps": 8, "hidden": (8,)}
DQN = {"num_envs": 2, "capacity": 64, "batch_size": 8, "learning_starts": 16, "hidden": (8,), "target_period": 7}
CONTINUOUS = {"num_envs": 2, "capacity": 64, "batch_size": 8, "learning_starts": 16, "hidden": (8,), "update_ratio": 1}
SEARCH = {"population_size": 8, "max_episode_steps": 10}
FRESH = (
    "optimiser",
    "actor_optimiser",
    "critic_optimiser",
    "actor_metrics",
    "search",
    "updates",
    "step",
    "visits",
    "memory",
    "window",
    "next_action",
    "traces",
    "last_tried",
    "priority",
)
"""Names of what no run takes over from another one."""


@pytest.fixture
def begun(monkeypatch):
    """Training ends before its first step, so that a run is what it begins with."""

    def begin(*of, **asked):
        with monkeypatch.context() as patch:
            patch.setattr(training, "learn", lambda loop, run, job, kept: None)
            return ks.train(*of, **{"out": "", "eval_episodes": 0, **asked})

    return begin


def leaves(run, member):
    """What one member has learned, by path, as plain arrays."""
    state = run.trained_member("member", member).state
    return dict(zip(tree_io.paths(state), tree_io.to_arrays(state), strict=True))


def trained(agent, env, steps, **more):
    return ks.train(agent, env, **{"steps": steps, "seeds": 2, "eval_episodes": 2, "out": "source", **more})


def check_begins_with(source, fresh, tuned):
    """All members have the source's best agent's numbers, but for what is fresh, which is as `init` makes it."""
    best = leaves(source, source.record.best_member)
    for member in range(tuned.record.num_members):
        anew = leaves(fresh, member)
        for path, array in leaves(tuned, member).items():
            is_fresh = any(name in path.replace("[", ".").split(".") for name in FRESH)
            np.testing.assert_array_equal(array, (anew if is_fresh else best)[path], err_msg=path)


ALL = [
    ("ppo", "CartPole-v1", 64, PPO),
    ("ppo", "Pendulum-v1", 64, PPO | {"recurrent": "gru"}),
    ("a2c", "Pendulum-v1", 64, A2C),
    ("dqn", "CartPole-v1", 64, DQN),
    ("apg", "Pendulum-v1", 64, A2C),
    ("pqn", "CartPole-v1", 64, A2C | {"minibatches": 2}),
    *[(id, "Pendulum-v1", 64, CONTINUOUS) for id in ("sac", "td3", "ddpg")],
    *[(id, "FrozenLake-v1", 300, {}) for id in (
        "q_learning", "double_q_learning", "sarsa", "expected_sarsa", "n_step_sarsa", "tree_backup",
        "watkins_q_lambda", "sarsa_lambda", "dyna_q", "dyna_q_plus", "prioritized_sweeping",
    )],
    ("q_learning", "FrozenLake-v1", 300, {"exploration": "ucb"}),
    ("bandit_epsilon_greedy", "Bandit-v0", 100, {}),
    ("bandit_optimistic", "Bandit-v0", 100, {}),
    ("ars", "CartPole-v1", 200, {"num_directions": 4, "max_episode_steps": 10}),
    ("dagger", "FrozenLake-v1", 64, {"num_envs": 2, "batch_size": 8, "hidden": (8,)}),
    *[(id, "CartPole-v1", 200, SEARCH) for id in ("openai_es", "pgpe", "sep_cma_es")],
]  # fmt: skip
RECORDED = ("bc", "iql", "td3_bc")
OTHERS = ("bandit_ucb", "bandit_thompson", "bandit_gradient", "monte_carlo", "evosax", *RECORDED)
"""Agents that have tests of their own; evosax is not installed here, and adopts as all strategies do."""


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("id", "env", "steps", "options"), ALL, ids=[f"{id}-{env}-{o.get('exploration', '')}" for id, env, _, o in ALL]
)
def test_networks_tables_and_statistics_are_the_sources_and_all_else_is_fresh(begun, id, env, steps, options):
    source = trained(id, env, steps, **options)
    asked = {"steps": steps, "seeds": [7, 8, 9], **options}
    check_begins_with(source, begun(id, env, **asked), begun(id, env, init_from=source, **asked))


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", ["bandit_ucb", "bandit_thompson", "bandit_gradient"])
def test_a_bandits_agent_without_schedules_goes_on_with_all_that_it_knows(begun, id):
    source = trained(id, "Bandit-v0", 50)
    tuned = begun(id, "Bandit-v0", steps=50, init_from=source)
    for path, array in leaves(source, source.record.best_member).items():
        np.testing.assert_array_equal(leaves(tuned, 0)[path], array, err_msg=path)


def test_a_trained_agent_is_taken_over_with_all_moments_but_without_its_clock_and_optimiser():
    agent, env = tiny_ppo(), Walk()
    fresh = agent.init(env.spec, jax.random.key(0))
    trained = jax.tree.map(lambda x: x + jnp.ones((), x.dtype), fresh)
    wanted = ActorCriticState(
        trained.network, fresh.optimiser, trained.observations, trained.rewards, fresh.step, trained.centre
    )
    leaves_equal(agent.adopt(fresh, trained), wanted)


def test_every_registered_agent_is_tried():
    assert {id for id, *_ in ALL} | set(OTHERS) == set(ks.list_agents())


@pytest.mark.slow_because("an evaluation of long episodes")
def test_a_mean_of_returns_goes_on_with_its_counts_and_an_unfinished_episode_is_forgotten(begun):
    source = trained("monte_carlo", "CliffWalking-v1", 250)
    before = source.trained_member("member", source.record.best_member).state
    assert not np.array_equal(before.learned, before.table.q)
    after = begun("monte_carlo", "CliffWalking-v1", steps=300, init_from=source).trained_member("member", 0).state
    for adopted in (after.table.q, after.learned):
        np.testing.assert_array_equal(adopted, before.table.q)
    visited = before.seen_in == before.episode
    assert visited.any()
    np.testing.assert_array_equal(after.returns, np.asarray(before.returns) - np.asarray(visited))
    assert not np.any(after.weight)
    assert (int(after.episode), int(after.table.step)) == (1, 0)


@pytest.mark.parametrize("visit", ["first", pytest.param("every", marks=pytest.mark.full("more cases"))])
def test_a_mean_of_returns_counts_none_of_an_episode_that_never_ended(visit):
    """Six states in a row: an episode of three steps leaves the values as they were, the next one's return is all."""
    places = np.arange(6).reshape(6, 1, 1)
    ends = places == 5
    model = ks.TabularModel(np.ones((6, 1, 1)), np.minimum(places + 1, 5), ends.astype(float), ends, start=np.eye(6)[0])
    agent, quiet = ks.make_agent("monte_carlo", discount=0.5, visit=visit), {"out": "", "eval_episodes": 0}
    first = ks.train(agent, ks.finite(model), steps=3, **quiet)
    second = ks.train(agent, ks.finite(model), steps=6, init_from=first, **quiet)
    np.testing.assert_array_equal(second.q_values[0, :, 0], 0.5 ** np.arange(5, -1, -1))


@pytest.mark.full("more cases")
def test_a_mean_of_returns_begins_anew_where_none_were_counted(begun):
    source = trained("monte_carlo", "FrozenLake-v1", 250, learning_rate=0.1)
    after = begun("monte_carlo", "FrozenLake-v1", steps=300, init_from=source).trained_member("member", 0).state
    np.testing.assert_array_equal(after.table.q, source.q_values[source.record.best_member])
    assert not np.any(after.returns)


@pytest.mark.full("covered")
def test_before_its_first_step_a_run_plays_as_the_source(begun):
    source = trained("ppo", "Pendulum-v1", 64, **PPO)
    tuned = begun("ppo", "Pendulum-v1", steps=64, seeds=2, init_from=source, eval_episodes=3, learning_rate=0.1, **PPO)
    obs = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    for member in range(2):
        np.testing.assert_array_equal(ks.load_policy(tuned, member)(obs), ks.load_policy(source)(obs))
    same = source.record.best_member
    keyed = begun("ppo", "Pendulum-v1", steps=64, seeds=[same], init_from=source, eval_episodes=2, **PPO)
    np.testing.assert_array_equal(keyed.record.evaluation["return"][0], source.record.evaluation["return"][same][:2])


@pytest.mark.full("more cases")
def test_members_of_a_sweep_begin_alike_and_each_has_its_own_randomness():
    source = trained("q_learning", "FrozenLake-v1", 3000)
    asked = {"steps": 300, "seeds": 3, "sweep": {"learning_rate": [1e-12, 0.5]}, "out": "", "eval_episodes": 0}
    tuned = ks.train("q_learning", "FrozenLake-v1", init_from="source", **asked)
    best = source.q_values[source.record.best_member]
    np.testing.assert_allclose(tuned.q_values[:3], np.broadcast_to(best, (3, *best.shape)), atol=1e-6)
    assert np.abs(tuned.q_values[3:] - best).max() > 0.01
    visits = tuned.record.tables["visits"]
    assert not np.array_equal(visits[0], visits[1])


@pytest.mark.full("more cases")
@pytest.mark.parametrize("seeds", [1, 3])
def test_devices_share_a_run_that_begins_with_another_ones_agent(begun, seeds):
    """With one member its environments are shared out, with three the population is, and one is there to fill up."""
    source = trained("ppo", "CartPole-v1", 64, **PPO)
    asked = {"steps": 64, "seeds": seeds, **PPO}
    for devices in (1, 2):
        fresh, tuned = (
            begun("ppo", "CartPole-v1", devices=devices, **asked, **of) for of in ({}, {"init_from": source})
        )
        check_begins_with(source, fresh, tuned)
    run = ks.train("ppo", "CartPole-v1", devices=2, out="", eval_episodes=0, init_from="source", **asked)
    assert run.record.facts["status"] == "finished"


@pytest.mark.full("more cases")
def test_the_readable_loop_begins_with_it_too():
    trained("q_learning", "FrozenLake-v1", 500)
    asked = {"steps": 100, "out": "", "eval_episodes": 0, "init_from": "source"}
    runs = [ks.train("q_learning", "FrozenLake-v1", loop=loop, **asked) for loop in ("compiled", "python")]
    np.testing.assert_array_equal(runs[0].q_values, runs[1].q_values)


def test_the_agent_that_is_asked_for(begun):
    source = trained("q_learning", "FrozenLake-v1", 500, seeds=3)
    for member in range(3):
        tuned = begun("q_learning", "FrozenLake-v1", init_from="source", init_member=member)
        np.testing.assert_array_equal(tuned.q_values[0], source.q_values[member])
        assert tuned.record.config["init_member"] == member


@pytest.mark.full("covered")
def test_it_may_learn_in_another_way_on_another_environment_of_these_spaces(begun):
    source = trained("q_learning", "FrozenLake-v1", 500)
    tuned = begun(
        "q_learning", "FrozenLake-v1", init_from="source", exploration="ucb", learning_rate="linear:0.5:0.1:100",
        env_options={"is_slippery": False},
    )  # fmt: skip
    np.testing.assert_array_equal(tuned.q_values[0], source.q_values[source.record.best_member])


def resumed_equals_whole(agent, env, **asked):
    ks.train(agent, env, out="whole", **asked)
    half = asked | {"steps": asked["steps"] // 2}
    ks.train(agent, env, out="half", **half)
    config = json.loads(Path("half/config.json").read_text())
    assert config["init_from"] == str(Path("source").absolute())
    shutil.rmtree("source")
    ks.resume("half", steps=asked["steps"])
    ends = [checkpoints.newest(Path(folder)) for folder in ("half", "whole")]
    assert ends[0].paths == ends[1].paths
    for path, one, two in zip(ends[0].paths, ends[0].leaves, ends[1].leaves, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=path)


@pytest.mark.full("covered")
def test_a_resumed_run_ends_as_the_uninterrupted_one_and_needs_the_source_no_more():
    trained("q_learning", "FrozenLake-v1", 500)
    resumed_equals_whole("q_learning", "FrozenLake-v1", init_from="source", steps=400, record_every=50, seeds=2)


@pytest.mark.full("more cases")
def test_a_resumed_run_of_networks_ends_as_the_uninterrupted_one():
    trained("ppo", "CartPole-v1", 64, **PPO)
    resumed_equals_whole("ppo", "CartPole-v1", init_from="source", steps=128, record_every=32, seeds=2, **PPO)


@pytest.mark.full("more cases")
def test_a_run_without_a_checkpoint_begins_again_with_the_source():
    trained("q_learning", "FrozenLake-v1", 500)
    asked = {"steps": 200, "init_from": "source", "eval_episodes": 0}
    whole = ks.train("q_learning", "FrozenLake-v1", out="run", **asked)
    for gone in ("checkpoints", "run.json"):
        path = Path("run") / gone
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.warns(RunWarning, match="begins again from step 0"):
        again = ks.resume("run")
    np.testing.assert_array_equal(again.q_values, whole.q_values)
    shutil.rmtree("run/checkpoints")
    Path("run/run.json").unlink()
    shutil.rmtree("source")
    with pytest.raises(ConfigError, match=r"^init_from: got .*; name a folder"):
        ks.resume("run")


@pytest.mark.full("covered")
def test_a_run_that_was_not_saved_is_not_found_again():
    source = ks.train("q_learning", "FrozenLake-v1", steps=300, out="", eval_episodes=0)
    ks.train("q_learning", "FrozenLake-v1", steps=100, init_from=source, out="run", eval_episodes=0, keep_checkpoints=0)
    assert json.loads(Path("run/config.json").read_text())["init_from"] == NOT_SAVED
    Path("run/run.json").unlink()
    with pytest.raises(ConfigError, match=f"init_from: got '{NOT_SAVED}'"):
        ks.resume("run")


@pytest.mark.full("covered")
def test_a_killed_run_is_taken_as_its_last_checkpoint_holds_it(begun):
    source = trained("q_learning", "FrozenLake-v1", 500, seeds=1)
    Path("source/run.json").unlink()
    with pytest.warns(RunWarning, match="has not come to its end: it is read as its checkpoint at step 500 holds it"):
        tuned = begun("q_learning", "FrozenLake-v1", init_from="source")
    np.testing.assert_array_equal(tuned.q_values[0], source.q_values[0])


@pytest.mark.full("covered")
def test_the_shell_has_it():
    source = trained("q_learning", "FrozenLake-v1", 500, seeds=3)
    words = "--steps 100 --learning-rate 1e-12 --eval-episodes 0 --no-progress --init-member 2"
    assert main(["train", "q_learning", "FrozenLake-v1", "--init-from", "source", "--out", "run", *words.split()]) == 0
    np.testing.assert_allclose(ks.load("run").q_values[0], source.q_values[2], atol=1e-6)


def test_a_mistake_in_the_shell_is_one_line(capsys):
    words = ["train", "q_learning", "FrozenLake-v1", "--init-from", "nowhere"]
    assert main(words) == 2
    assert main([*words, "--init-member", "best"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert "init_from: got 'nowhere'" in told[0]
    assert "--init-member" in told[1]


class Bias(ks.Agent):
    """An agent of one's own: a table, an array of another kind, a mask, and a key."""

    learns_from: ks.Online = ks.Online()
    size: int = eqx.field(static=True, default=4)

    def init(self, spec, key):
        table = jnp.zeros((spec.observation_space.n, self.size))
        return {"table": table, "key": key, "mask": jnp.array([-jnp.inf, 0.0])}

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(0), carry, None

    def update(self, state, data, key, *, axis=None):
        return state | {"table": state["table"] + data.reward + 1.0, "key": jax.random.split(state["key"])[0]}, {}


class TableAgent(Bias, ks.TabularAgent):
    """A tabular agent of one's own, whose state is none of the library's."""

    def q_values(self, state):
        return state["table"]


@pytest.mark.by_default("TableAgent")
@pytest.mark.parametrize("kind", [Bias, TableAgent])
def test_agents_of_ones_own_go_on_with_all_but_their_keys(begun, kind):
    source = ks.train(kind(), "FrozenLake-v1", steps=20, out="", eval_episodes=0)
    fresh = begun(kind(), "FrozenLake-v1", seeds=2)
    tuned = begun(kind(), "FrozenLake-v1", seeds=2, init_from=source)
    for member in range(2):
        found, before, anew = leaves(tuned, member), leaves(source, 0), leaves(fresh, member)
        assert before["['table']"].any()
        np.testing.assert_array_equal(found["['table']"], before["['table']"])
        np.testing.assert_array_equal(found["['mask']"], before["['mask']"])
        np.testing.assert_array_equal(found["['key']"], anew["['key']"])


def refused(match, source, agent="ppo", env="CartPole-v1", **asked):
    with pytest.raises(ConfigError, match=match) as error:
        ks.train(agent, env, init_from=source, out="tuned", **asked)
    assert "\n" not in str(error.value)
    assert not Path("tuned").exists()


@pytest.mark.slow_because("networks are made in two ways")
def test_what_does_not_fit_is_refused_by_both_names_before_anything_is_written():
    small = {**PPO, "steps": 64}
    source = ks.train("ppo", "CartPole-v1", out="", eval_episodes=0, **small)
    refused("init_from: got 'ppo'; this run trains a2c", source, "a2c", **A2C)
    refused(r"got 'observation space'; .*Box \(4,\) of float32 .* has Box \(3,\)", source, env="Pendulum-v1", **small)
    both = r"got 'hidden=\[8\]'; the network of this run has hidden=\[{}\]; give it the same options"
    refused(both.format("16"), source, **small | {"hidden": (16,)})
    refused(both.format("8, 8"), source, **small | {"hidden": (8, 8)})
    refused("activation=tanh.*activation=relu", source, **small | {"activation": "relu"})
    refused(
        "got 'normalise_observations=True'; this run has normalise_observations=False; give it the same options",
        source,
        **small,
        normalise_observations=False,
    )
    refused("init_member: got 1; use a whole number of at least 0 and at most 0", source, **small, init_member=1)


def test_other_tables_are_refused():
    source = trained("q_learning", "FrozenLake-v1", 300)
    maps = {"env_options": {"map_name": "8x8"}}
    refused(
        r"got 'observation space'; .* with Discrete\(n=16\), and this run has Discrete\(n=64\)",
        source,
        "q_learning",
        "FrozenLake-v1",
        **maps,
    )
    refused("got 'q_learning'; this run trains sarsa", "source", "sarsa", "FrozenLake-v1")
    other = ks.train(Bias(), "FrozenLake-v1", steps=20, out="", eval_episodes=0)
    refused("got 'size=4'; this run has size=5; give it the same options", other, Bias(size=5), "FrozenLake-v1")


@pytest.mark.parametrize("given", ["nowhere", "", "\0", 3, b"source", ["source"]])
def test_what_is_no_run_is_refused(given):
    refused("^init_from: got .*; (name a folder|give a run)", given, "q_learning", "FrozenLake-v1")


@pytest.mark.parametrize("member", [-1, True])
def test_what_is_no_agents_number_is_refused(member):
    refused("^init_member: got .*; use a whole number", "source", "q_learning", "FrozenLake-v1", init_member=member)


def test_an_agents_number_needs_a_run():
    refused("^init_member: got 2; .*init_from", None, "q_learning", "FrozenLake-v1", init_member=2)


def test_what_is_not_finite_is_refused_but_for_what_begins_so():
    source = ks.train(Bias(), "FrozenLake-v1", steps=20, out="", eval_episodes=0)
    chosen = source.trained_member("member", 0)
    state = chosen.state | {"table": chosen.state["table"].at[0, 0].set(jnp.nan)}
    training.check_adoptable(chosen, Bias(), ks.make("FrozenLake-v1"))
    diverged = chosen._replace(state=state)
    with pytest.raises(ConfigError, match=r"\['table'\] is not finite.; agent 0 of .* has diverged"):
        training.check_adoptable(diverged, Bias(), ks.make("FrozenLake-v1"))


def test_bounds_of_what_is_observed_may_differ():
    agent = ks.make_agent("ppo", **PPO)
    source = ks.train(agent, "CartPole-v1", steps=64, out="", eval_episodes=0)
    chosen = source.trained_member("member", 0)
    spaces = chosen.spec.observation_space, chosen.spec.action_space
    wider = chosen._replace(spec=ks.EnvSpec(ks.Box(-9.0, 9.0, spaces[0].shape), spaces[1]))
    training.check_adoptable(wider, agent, ks.make("CartPole-v1"))


@pytest.mark.full("covered")
def test_a_network_whose_functions_are_made_anew_each_time_is_taken_as_it_is():
    def build(observation_space, action_space, key):
        made = ActorCriticConfig(hidden=(8,))(observation_space, action_space, key)
        return _Wrapped(made, lambda x: x)

    options = {name: value for name, value in PPO.items() if name != "hidden"}
    agent = ks.make_agent("ppo", network=build, **options)
    source = ks.train(agent, "CartPole-v1", steps=64, out="", eval_episodes=0)
    training.check_adoptable(source.trained_member("member", 0), agent, ks.make("CartPole-v1"))


class _Wrapped(Network):
    inner: Network
    function: object = eqx.field(static=True)

    def initial_carry(self):
        return self.inner.initial_carry()

    def policy(self, obs, carry):
        return self.inner.policy(self.function(obs), carry)

    def value(self, obs, carry):
        return self.inner.value(obs, carry)

    def __call__(self, obs, carry):
        return self.inner(obs, carry)


def test_observations_look_alike_where_all_their_parts_do():
    def seen(**parts):
        return Dict({"place": Discrete(4), "speed": Box(-1.0, 1.0, (2,)), **parts})

    assert _looks_alike(seen(), seen(speed=Box(-9.0, 9.0, (2,))))
    assert not _looks_alike(seen(), seen(place=Discrete(5)))
    assert not _looks_alike(seen(), seen(speed=Box(-1.0, 1.0, (3,))))
    assert not _looks_alike(seen(), seen(more=Discrete(2)))
    assert not _looks_alike(seen(), Discrete(4))
