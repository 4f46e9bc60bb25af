"""`kousoku bench evolution`: every contender gets its row, its time and the same numbers as the others."""

import importlib.util
import json
import math
import sys
import types

import jax
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.agents.evolution.ars import ARS
from kousoku.cli import main
from kousoku.core.errors import ConfigError
from kousoku_bench import contender, evolution, evolution_ours, evolution_peers
from kousoku_bench.evolution import EvolutionBudget
from kousoku_bench.subprocess_timing import SubprocessFailed

NEEDED = ("sb3_contrib", "evosax", "gymnax", "brax")


@pytest.fixture
def installed(monkeypatch):
    """Modules that are there, but for those that a test takes out of the set."""
    there, find = set(NEEDED), importlib.util.find_spec

    def find_spec(name):
        if name in NEEDED:
            return object() if name in there else None
        return find(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    return there


@pytest.fixture
def made_up(monkeypatch):
    """Measurements: ours are fast, Brax fails; and what was asked for."""
    asked = []

    def run_in_subprocess(module, function, *arguments, limit):
        assert hasattr(evolution_ours if module.endswith("ours") else evolution_peers, function)
        asked.append((function, *json.loads(json.dumps(arguments))))
        if "brax" in arguments:
            raise SubprocessFailed("AttributeError: module 'jax' has no attribute 'device_put_replicated'")
        return evolution_peers.figures(300.0, 2_000_000 if function == "measure" else 1_000, 2.0, 3.0)

    monkeypatch.setattr(contender, "run_in_subprocess", run_in_subprocess)
    return asked


def test_every_contender_gets_its_row(made_up, installed, tmp_path):
    said = []
    sections = evolution.bench(tmp_path, EvolutionBudget(), say=said.append)
    cartpole, cheetah, hopper = sections
    assert [row.name for row in cartpole.rows] == ["kousoku ars", "kousoku evosax", "evosax on gymnax"]
    names = ["kousoku ars", "kousoku ppo", "SB3-contrib ARS"]
    assert [row.name for row in hopper.rows] == names
    assert [row.name for row in cheetah.rows] == [*names, "evosax on brax"]
    assert [cheetah.ratio(row) for row in cheetah.rows] == [1.0, 1.0, 0.0005, None]
    assert "device_put" in cheetah.rows[-1].note
    assert "Brax's robot" in cheetah.about
    assert "Brax" not in hopper.about
    saved = json.loads((tmp_path / "evolution.json").read_text())
    assert [len(section["rows"]) for section in saved["sections"]] == [3, 4, 3]
    assert saved["sections"][0]["rows"][0]["return"] == 300.0
    page = (tmp_path / "evolution.md").read_text()
    assert page in said[-1]
    assert page.count("did not run") == 1
    assert said[0] == "CartPole-v1, kousoku ars: 1,000,000 steps/s, return 300"


def test_all_get_the_same_time_and_the_same_episodes(made_up, installed, tmp_path):
    evolution.bench(tmp_path, EvolutionBudget({"Hopper-v5": 1.5}, 7), "Hopper-v5", lambda line: None)
    assert [arguments[-2:] for arguments in made_up] == [(1.5, 7)] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evolution_Hopper-v5.json", "evolution_Hopper-v5.md"]


def test_what_is_not_installed_says_how_to_get_it(made_up, installed, tmp_path):
    installed -= {"sb3_contrib", "gymnax"}
    cartpole, cheetah, _ = evolution.bench(tmp_path, EvolutionBudget(), say=lambda line: None)
    assert cartpole.rows[-1].note == "not installed: pip install gymnax six"
    assert cheetah.rows[2].note == "not installed: pip install sb3-contrib"
    assert not any(arguments[0] in ("sb3_contrib",) or "gymnax" in arguments for arguments in made_up)


def test_others_get_the_numbers_of_our_preset():
    """Those that ours begins with, where it has a schedule."""
    expected = {"n_delta": 16, "learning_rate": 0.04, "delta_std": 0.1, "alive_bonus_offset": 0.0}
    assert evolution.of_sb3("HalfCheetah-v5") == pytest.approx(expected)
    of_hopper = evolution.of_sb3("Hopper-v5")
    assert of_hopper["n_top"] == 16
    assert of_hopper["delta_std"] == ARS().noise_std == 0.03
    assert of_hopper["alive_bonus_offset"] == -1.0
    with pytest.raises(ConfigError, match=r"environment: got 'Ant-v5'; use one of CartPole-v1, "):
        evolution.contenders("Ant-v5", EvolutionBudget())


@pytest.mark.parametrize(("stall", "made"), [(0.0, [(800, 0), (1000, 5)]), (0.6, [(76, 5), (1000, 5)])])
def test_trainings_become_longer_until_one_takes_the_time(stall, made, monkeypatch):
    """1000 steps a second, and a second in which everything is compiled; a stall of the machine ends nothing early."""
    clock, asked = [0.0], []

    def trained(agent, env, steps, episodes=0):
        steps = max(steps, 50)
        clock[0] += steps / 1000 + (0.0 if asked else 1.0)
        asked.append((steps, episodes))
        return steps, steps / 1000 + (stall if len(asked) == 2 else 0.0), 9.0 if episodes else math.nan

    monkeypatch.setattr(evolution_ours, "trained", trained)
    monkeypatch.setattr(evolution_ours, "use_all_cores", lambda: None)
    monkeypatch.setattr(evolution_ours.time, "perf_counter", lambda: clock[0])
    found = evolution_ours.measure("ars", {"num_directions": 4}, "CartPole-v1", 1.0, 5)
    assert asked == [(50, 0), (50, 0), *made]
    assert found == pytest.approx(
        {"steps_per_second": 1000.0, "return": 9.0, "steps": 1000, "seconds": 1.0, "compile_seconds": 1.0}
    )


def test_the_second_training_of_a_length_counts(monkeypatch):
    """The first compiles a program: the steps that a schedule is over are part of it."""
    seconds, asked = iter([9.0, 2.0]), []

    def train(agent, env, steps, **options):
        asked.append(steps)
        facts = {"steps": steps, "seconds": next(seconds)}
        return types.SimpleNamespace(record=types.SimpleNamespace(facts=facts, evaluation={"return": jnp.ones((1, 3))}))

    monkeypatch.setattr(evolution_ours, "train", train)
    agent = ks.make_agent("ars", num_directions=2, max_episode_steps=10)
    assert evolution_ours.trained(agent, "CartPole-v1", 7, 3) == (40, 2.0, 1.0)
    assert asked == [40, 40]


@pytest.mark.full("whole way")
def test_ours_runs_at_a_small_size(monkeypatch):
    monkeypatch.setattr(evolution_ours, "use_all_cores", lambda: None)
    found = evolution_ours.measure("ars", {"num_directions": 4, "max_episode_steps": 20}, "CartPole-v1", 0.01, 3)
    assert found["steps_per_second"] == pytest.approx(found["steps"] / found["seconds"])
    assert 1 <= found["return"] <= 500


class StandIn:
    """SB3-contrib and what belongs to it: a generation takes two seconds and 500 steps."""

    def __init__(self, monkeypatch):
        self.now, self.closed, self.options, self.workers = 0.0, False, {}, []

        class Callback:
            pass

        class VecNormalize:
            def __init__(self, env, **options):
                self.env, self.options, self.training = env, options, True

        def evaluate_policy(model, env, n_eval_episodes, warn):
            assert not env.training
            return 12.5, 0.0

        parts = {
            "torch": {"set_num_threads": lambda threads: None},
            "sb3_contrib": {"ARS": self.ars},
            "sb3_contrib.common": {},
            "sb3_contrib.common.vec_env": {"AsyncEval": self.begun},
            "stable_baselines3": {},
            "stable_baselines3.common": {},
            "stable_baselines3.common.evaluation": {"evaluate_policy": evaluate_policy},
            "stable_baselines3.common.vec_env": {"VecNormalize": VecNormalize},
            "stable_baselines3.common.env_util": {"make_vec_env": lambda id, count, seed: (id, count)},
            "stable_baselines3.common.callbacks": {"BaseCallback": Callback},
        }
        for name, content in parts.items():
            module = types.ModuleType(name)
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(evolution_peers.time, "perf_counter", lambda: self.now)

    def ars(self, policy, env, **options):
        self.options.update(options)
        self.policy, self.env, self.num_timesteps = policy, env, 0
        return self

    def begun(self, made, policy):
        self.workers = [make().env for make in made]
        return self

    def learn(self, steps, callback, async_eval, log_interval):
        while True:
            callback._on_rollout_start()
            for _ in range(500):
                assert callback._on_step()
            self.now, self.num_timesteps = self.now + 2.0, self.num_timesteps + 500

    def close(self):
        self.closed = True


@pytest.mark.parametrize(("seconds", "generations"), [(0.0, 1), (2.0, 1), (3.0, 2), (5.0, 3)])
def test_sb3_contrib_ends_before_the_first_generation_after_its_time(seconds, generations, monkeypatch):
    stand_in = StandIn(monkeypatch)
    found = evolution_peers.sb3_contrib("Hopper-v5", {"n_delta": 4}, 2, seconds, 3)
    steps = 500 * generations
    assert found == {"steps_per_second": 250.0, "return": 12.5, "steps": steps, "seconds": 2.0 * generations}
    assert stand_in.closed
    assert stand_in.workers == [("Hopper-v5", 1)] * 2
    assert stand_in.options == {"n_delta": 4, "seed": 0}


def test_generations_of_evosax_are_timed_without_compiling(monkeypatch):

    clock = iter(range(100))
    monkeypatch.setattr(evolution_peers.time, "perf_counter", lambda: float(next(clock)))
    state, made, spent, compiling = evolution_peers._timed(jax.jit(lambda x, y: (x + 1, y)), (jnp.int32(0), 5), 3.5)
    assert (int(state[0]), made, compiling) == (made, 4, 1.0)
    assert spent >= 3.5


@pytest.mark.peers
def test_the_loop_of_evosax_runs():
    pytest.importorskip("evosax")
    pytest.importorskip("gymnax")
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # theirs
        found = evolution_peers.evosax("Open_ES", 4, (4,), "gymnax", "CartPole-v1", 0.0, 2)
    assert found["steps"] == 4 * 500
    assert 1 <= found["return"] <= 500


def test_the_shell_runs_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(evolution, "bench", lambda out, budget, only: print(out, budget.episodes, only))
    assert main(["bench", "evolution", "--out", str(tmp_path), "--only", "Hopper-v5"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), "64", "Hopper-v5"]
    assert main(["bench", "evolution", "--only", "Ant-v5"]) == 2
    assert main(["bench", "balls", "--only", "Hopper-v5"]) == 2
    assert "benchmarks physics, learning, defaults, ppo, evolution, off-policy, vector" in capsys.readouterr().err
