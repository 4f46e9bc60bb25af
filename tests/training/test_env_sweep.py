"""Sweeps over an environment's numbers: every member acts, is evaluated and filmed in the one that has its own."""

import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import without_types_checked
from numbered import Drift, Slide
from rollouts import leaves_equal, tiny_ppo

import kousoku as ks
from kousoku.training.config import TrainConfig
from kousoku.training.evaluation.film import member_film
from kousoku.training.point_envs import point_envs

CURRENTS, SLIPS, GRAVITIES = [0.1, 0.6], [0.3, 0.9], [5.0, 15.0]
QUICK = {"out": "", "eval_episodes": 3}
ON_POLICY = {"steps": 192, **QUICK}


def member(run, i):
    """All that is known of one member after training: what it learned, its environment, curves and episodes.

    Of the episodes those that a run of this member alone plays, too.
    """
    curves = {name: values[:, i] for name, values in run.curves.items() if values.ndim == 2}
    played = run.record.config["eval_episodes"]
    evaluation = {name: values[i][:played] for name, values in run.record.evaluation.items()}
    words = jax.tree.map(
        lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x,
        run._trained.final_state,
    )
    return jax.tree.map(lambda leaf: np.asarray(leaf)[i], words), curves, evaluation


def check_same_members(run, alone, of_each):
    """The members of a sweep, point after point, are those of runs with these numbers."""
    for p, one in enumerate(alone):
        for i in range(of_each):
            leaves_equal(member(run, p * of_each + i), member(one, i))


@pytest.mark.by_default("False")
@pytest.mark.parametrize("kernels", [True, False])
def test_a_table_is_learned_as_in_runs_with_these_numbers(kernels):
    with ks.use_kernels(kernels):
        run = ks.train("q_learning", Drift(), sweep={"env.current": CURRENTS}, seeds=2, steps=400, **QUICK)
        alone = [ks.train("q_learning", Drift(current=c), seeds=2, steps=400, **QUICK) for c in CURRENTS]
    check_same_members(run, alone, 2)
    assert not np.array_equal(run.q_values[0], run.q_values[2])


@pytest.mark.full("covered")
@pytest.mark.parametrize("kernels", [True, False])
def test_so_it_is_where_the_number_is_in_the_tables_of_an_id(kernels):
    asked = {"seeds": 2, "steps": 2000, **QUICK}
    with ks.use_kernels(kernels):
        run = ks.train("q_learning", "FrozenLake-v1", sweep={"env.success_rate": SLIPS}, **asked)
        alone = [ks.train("q_learning", "FrozenLake-v1", env_options={"success_rate": s}, **asked) for s in SLIPS]
    check_same_members(run, alone, 2)
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again.evaluate(3).returns, run.evaluate(3).returns)


@pytest.mark.full("more cases")
@pytest.mark.parametrize("agent", ["sarsa_lambda", "dyna_q", "bandit_ucb"])
def test_so_it_is_of_other_agents(agent):
    env, name = ("Bandit-v0", "reward_std") if "bandit" in agent else ("GridWorld-v0", "slip")
    asked = {"steps": 300, **QUICK}
    run = ks.train(agent, env, sweep={f"env.{name}": [0.1, 0.5]}, **asked)
    check_same_members(run, [ks.train(agent, env, env_options={name: x}, **asked) for x in (0.1, 0.5)], 1)


def _cartpole(**numbers):
    return ks.make("CartPole-v1", **numbers)


@pytest.mark.full("more cases")
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize(
    ("make", "name", "values"),
    [(Slide, "friction", [0.1, 0.5]), (_cartpole, "gravity", GRAVITIES)],
    ids=["slide", "cartpole"],
)
def test_networks_learn_as_in_runs_with_these_numbers(make, name, values, kernels):
    """As many agents in each run: sums of a batched product are in another order where there are more."""
    agent = tiny_ppo()
    with ks.use_kernels(kernels):
        run = ks.train(agent, make(), sweep={f"env.{name}": values}, seeds=[3], **ON_POLICY)
        for p, value in enumerate(values):
            alone = ks.train(agent, make(**{name: value}), seeds=[3, 4], **ON_POLICY)
            leaves_equal(member(run, p), member(alone, 0))


@pytest.mark.full("covered")
def test_agents_and_environments_may_be_swept_together():
    rates, asked = [0.1, 0.5], {"steps": 300, **QUICK}
    run = ks.train("q_learning", Drift(), sweep={"learning_rate": rates, "env.current": CURRENTS}, **asked)
    assert run.record.points == tuple({"learning_rate": r, "env.current": c} for r in rates for c in CURRENTS)
    for j, current in enumerate(CURRENTS):
        alone = ks.train("q_learning", Drift(current=current), sweep={"learning_rate": rates}, **asked)
        for i in range(2):
            leaves_equal(member(run, 2 * i + j), member(alone, i))


@pytest.mark.full("more cases")
def test_the_readable_loop_has_each_members_numbers():
    asked = {"sweep": {"env.current": CURRENTS}, "steps": 60, **QUICK}
    compiled, readable = (ks.train("q_learning", Drift(), loop=loop, **asked) for loop in ("compiled", "python"))
    np.testing.assert_allclose(readable.q_values, compiled.q_values, rtol=1e-6)
    assert not np.array_equal(readable.q_values[0], readable.q_values[1])


@pytest.mark.full("covered")
def test_devices_share_members_with_their_numbers():
    asked = {"sweep": {"env.current": [0.1, 0.3, 0.6]}, "steps": 300, **QUICK}
    one, two = (ks.train("q_learning", Drift(), devices=devices, **asked) for devices in (1, 2))
    check_same_members(two, [one], 3)


@pytest.mark.full("more cases")
def test_devices_share_members_with_networks():
    asked = {"sweep": {"env.friction": [0.1, 0.3, 0.5]}, **ON_POLICY}
    one, two = (ks.train(tiny_ppo(), Slide(), devices=devices, **asked) for devices in (1, 2))
    leaves_equal(member(two, slice(None)), member(one, slice(None)), rtol=1e-4, atol=1e-6)


@pytest.mark.full("covered")
@pytest.mark.parametrize("of", [("q_learning", "FrozenLake-v1"), ("q_learning", Drift())], ids=["id", "own"])
def test_a_stopped_run_ends_as_the_uninterrupted_one(of):
    name = "env.success_rate" if isinstance(of[1], str) else "env.current"
    asked = {"sweep": {name: [0.2, 1], "epsilon": [0.1, 0.3]}, "steps": 600, "record_every": 100, "eval_episodes": 3}
    whole = ks.train(*of, out="whole", **asked)
    ks.train(*of, out="stopped", on_report=lambda report: report.step >= 300, **asked)
    env = None if isinstance(of[1], str) else of[1]
    resumed = ks.resume("stopped", env=env)
    assert resumed.record.facts["resumed_at"] == [300]
    leaves_equal(member(resumed, slice(None))[0], member(whole, slice(None))[0])
    for name, values in whole.curves.items():
        if name != "seconds":
            np.testing.assert_array_equal(resumed.curves[name], values, err_msg=name)
    np.testing.assert_array_equal(resumed.evaluate(5).returns, whole.evaluate(5).returns)
    np.testing.assert_array_equal(ks.load("stopped", env=env).evaluate(5).returns, whole.evaluate(5).returns)
    kept = ks.load("whole", env=env, checkpoint=600)
    np.testing.assert_array_equal(kept.evaluate(5).returns, whole.evaluate(5).returns)


class Pay(Slide):
    """Every step is worth its number."""

    def step(self, key, state, action):
        state, timestep = super().step(key, state, action)
        return state, eqx.tree_at(lambda t: t.reward, timestep, jnp.asarray(self.weight, jnp.float32))


@pytest.fixture(scope="module")
def paid():
    """Three members, each paid its number in each of the 16 steps of an episode."""
    return ks.train(tiny_ppo(), Pay(), sweep={"env.weight": [0.5, 2.0, 1.0]}, **ON_POLICY)


@pytest.mark.full("covered")
def test_evaluations_and_curves_are_of_each_members_environment(paid):
    np.testing.assert_allclose(paid.evaluate(2).returns, [[8.0] * 2, [32.0] * 2, [16.0] * 2])
    np.testing.assert_allclose(paid.record.evaluation["return"][:, 0], [8.0, 32.0, 16.0])
    np.testing.assert_allclose(paid.curves["reward"], np.tile([0.5, 2.0, 1.0], (len(paid.curves["step"]), 1)))
    assert paid.record.best_member == 1


@pytest.mark.full("covered")
def test_films_are_of_each_members_environment(paid):
    films = paid.animate(agents=3).films
    assert [film.values["reward"][1] for film in films] == [2.0, 1.0, 0.5]
    assert "env.weight 2" in films[0].name
    run = ks.train(tiny_ppo(), Slide(), sweep={"env.friction": [0.25, 0.5]}, steps=32, out="", eval_episodes=0)
    for i, friction in enumerate((0.25, 0.5)):
        film = member_film(*run._restore(), i)
        assert {scene.foreground[0].radius for scene in film.scenes} == {friction}


@pytest.mark.full("covered")
def test_a_policy_and_another_run_begin_with_a_member_of_a_sweep(tmp_path):
    source = ks.train("q_learning", "FrozenLake-v1", sweep={"env.success_rate": SLIPS}, steps=2000, out="source")
    policy = ks.load_policy("source", member=1)
    assert policy(0) == int(source.q_values[1, 0].argmax())
    assert policy.save(tmp_path / "policy.py").is_file()
    asked = {"init_from": "source", "init_member": 1, "sweep": {"env.success_rate": [0.5, 0.7]}}
    tuned = ks.train("q_learning", "FrozenLake-v1", steps=1, learning_rate=1e-12, **asked, **QUICK)
    np.testing.assert_allclose(tuned.q_values, np.stack([source.q_values[1]] * 2), rtol=1e-6)


def test_names_are_in_the_files(tmp_path):
    run = ks.train("q_learning", Drift(), sweep={"env.current": [0.1, 1]}, steps=200, out="run", eval_episodes=2)
    assert run.record.config["sweep"] == {"env.current": [0.1, 1.0]}
    assert ks.load("run").record.points == ({"env.current": 0.1}, {"env.current": 1.0})
    header, first, *_ = run.to_csv(tmp_path / "curves.csv").read_text().splitlines()
    assert header == "step,seconds,seed,env.current,metric,value"
    assert first.split(",")[3] == "0.1"


@pytest.mark.full("covered")
def test_exact_values_are_left_out_where_models_differ():
    def tables(**sweep):
        return ks.train("q_learning", "FrozenLake-v1", sweep=sweep, steps=10, **QUICK).record.tables

    assert "optimal_return" in tables(epsilon=[0.1, 0.2])
    assert "optimal_return" in tables(**{"env.success_rate": [0.5]})
    assert not {"optimal_return", "exact_q"} & set(tables(**{"env.success_rate": [0.5, 0.6]}))


def test_what_is_not_swept_stays_shared():
    """So programs without a sweep are as they were, and one number of a finite task does not copy its tables."""
    env = ks.make("CartPole-v1")
    envs = point_envs(env, {}, TrainConfig(sweep={"epsilon": [0.1, 0.2]}))
    assert jax.tree.leaves(envs.numbers) == []
    assert envs.distinct == [env]
    envs = point_envs(env, {}, TrainConfig(sweep={"epsilon": [0.1, 0.2], "env.gravity": [5.0, 9.8]}))
    (gravity,) = jax.tree.leaves(envs.numbers)
    np.testing.assert_array_equal(gravity, np.float32([5.0, 9.8] * 2))
    assert gravity.weak_type == envs.arrays.tau.weak_type, "as a number that is not swept"
    assert [each.gravity for each in envs.by_point] == [5.0, 9.8] * 2
    assert len(envs.distinct) == 2


def test_kinds_of_numbers_stay_what_they_are():
    def held(name, values):
        return [
            getattr(env, name) for env in point_envs(Drift(), {}, TrainConfig(sweep={f"env.{name}": values})).by_point
        ]

    assert held("late", [3.0, 5]) == [3, 5]
    assert all(isinstance(value, int) for value in held("late", [3.0, 5]))
    assert all(isinstance(value, float) for value in held("late", [3, 5.5]))
    assert all(isinstance(value, float) for value in held("gain", [1, 2]))
    assert [(float(x), x.dtype) for x in held("toll", [1, 2.5])] == [(1.0, jnp.float32), (2.5, jnp.float32)]


class Own(Slide):
    """Its fields are not what it is made with."""

    def __init__(self, roughness):
        self.friction, self.weight, self.time_limit = 2 * roughness, 1.0, 16


REFUSED = [
    ("GridWorld-v0", {"env.slipp": [0.1]}, "sweep: got 'env.slipp'; did you mean 'env.slip'?"),
    ("GridWorld-v0", {"env.slip": [0.1, 7.0]}, "slip: got 7.0; use a number in [0, 1]"),
    ("GridWorld-v0", {"env.slip": [float("nan")]}, "sweep['env.slip']: got nan; use a number"),
    ("GridWorld-v0", {"env.slip": [True]}, "sweep['env.slip']: got True; use a number"),
    ("GridWorld-v0", {"env.slip": []}, "sweep['env.slip']: got []; give a list of numbers"),
    (
        "GridWorld-v0",
        {"env.slip": [0.1, 0.0]},
        "got 'env.slip'; 0.1 and 0 make arrays of other shapes, which one program cannot hold; ",
    ),
    ("GridWorld-v0", {"env.slip": [0.1, 0.2], "env.moves": [4, 8]}, "got 'env.moves'; 4 and 8 make arrays of other"),
    ("GridWorld-v0", {"env.time_limit": [50, 60]}, "got 'env.time_limit'; 50 and 60 change structure, for which prog"),
    ("GridWorld-v0", {"env.time_limit": [10**7, 10**7 + 1]}, "got 'env.time_limit'; 10000000 and 10000001 change"),
    (
        "GridWorld-v0",
        {"env.observation": [1.0]},
        "got 'env.observation'; it is a word, not a number; the numbers of Grid",
    ),
    ("GridWorld-v0", {"env.stay": [0, 1]}, "got 'env.stay'; it is True or False, not a number; the"),
    ("Pendulum-v1", {"env.max_torque": [1.0, 4.0]}, "got 'env.max_torque'; it is structure, for which programs are"),
    (ks.make("Balls-v0"), {"env.max_push": [1.0]}, "got 'env.max_push'; it is structure, for which programs are comp"),
    ("MountainCarContinuous-v0", {"env.max_action": [2.0]}, "got 'env.max_action'; it is structure, for which progr"),
    ("CartPole-v1", {"env.time_limit": [50]}, "got 'env.time_limit'; it is structure, for which programs are"),
    ("CartPole-v1", {"env.masscart": [1.0, -1.0]}, "masscart: got -1.0; use a number in (0, 1e+06]"),
    (
        "Hopper-v5",
        {"env.healthy_z_range": [1.0]},
        "it is several, not a number; the numbers of Hopper-v5 are env.f",
    ),
    (Drift(), {"env.places": [5, 6]}, "got 'env.places'; it is structure, for which programs are compiled; the num"),
    (Drift(), {"env.bonus": [1.0]}, "got 'env.bonus'; it is several, not a number; the numbers of Drift are env.cur"),
    (Drift(), {"env.coin": [1.0]}, "got 'env.coin'; it is of type"),
    (
        ks.wrappers.ClipReward(ks.wrappers.ClipReward(ks.make("FrozenLake-v1"), -1.0, 1.0), -1.0, 1.0),
        {"env.max_reward": [0.5]},
        "got 'env.max_reward'; several wrappers of ClipReward(ClipReward(",
    ),
    (Drift(), {"env.curent": [1.0]}, "got 'env.curent'; did you mean 'env.current'?"),
    (
        Drift(),
        {"env.speed": [1.0]},
        "got 'env.speed'; the numbers of Drift are env.current, env.gain, env.late, env.toll",
    ),
    (ks.make("FrozenLake-v1"), {"env.success_rate": [0.5]}, "FiniteEnv was made without numbers; an option"),
    (
        Own(0.1),
        {"env.friction": [0.5]},
        "got 'env.friction'; Own has an __init__ of its own; give a function that makes it an id",
    ),
]


@pytest.mark.parametrize(("env", "sweep", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_cannot_be_swept_is_refused(env, sweep, message):
    with pytest.raises(ks.ConfigError) as caught:
        ks.train("q_learning", env, sweep=sweep, steps=100, out="never")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


SCALARS = """
import json, tempfile
from fractions import Fraction
import jax.numpy as jnp
import kousoku as ks
import numpy as np
numpys = list(np.linspace(0.1, 0.3, 2, dtype=np.float32))
values = [*numpys, np.float16(0.2), jnp.float32(0.4), Fraction(1, 3), np.int64(1)]
with tempfile.TemporaryDirectory() as out:
    sweep = {"learning_rate": values}
    run = ks.train("q_learning", "FrozenLake-v1", steps=99, sweep=sweep, out=out, eval_episodes=0)
    kept = ks.load(run.path).record.config["sweep"]["learning_rate"]
points = [point["learning_rate"] for point in run.record.points]
print(json.dumps([kept, points, [float(value) for value in values]]))
"""


def test_numbers_of_numpy_and_jax_and_fractions_are_points_like_pythons():
    """They came as far as the file of metrics, which did not take them, and all that was trained was lost."""
    kept, points, given = without_types_checked(SCALARS)
    assert kept == points == given
