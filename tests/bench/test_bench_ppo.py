"""`kousoku bench ppo`: what it measures is what it says, and every contender gets its row."""

import json
import sys
import types

import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.agents.options import describe
from kousoku.cli import main
from kousoku.core.cache_folder import SWITCH
from kousoku.core.errors import ConfigError
from kousoku.ops.schedules import in_run
from kousoku_bench import contender, ppo, ppo_ours, ppo_peers, ppo_start
from kousoku_bench.ppo_settings import PUREJAXRL, PPOSettings, of_preset
from kousoku_bench.subprocess_timing import SubprocessFailed

TINY = PPOSettings(2, 8, 2, 1, 1e-3, 256)
RATES = {"measure": 200_000.0, "purejaxrl": 100_000.0, "stable_baselines": 2_000.0}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "source" / "purejaxrl").mkdir(parents=True)
    (tmp_path / "source" / "purejaxrl" / "ppo.py").touch()
    return str(tmp_path / "source")


@pytest.fixture
def made_up(monkeypatch):
    """Measurements: rejax is not there, Brax fails, the others have speeds."""

    def run_in_subprocess(module, function, *arguments, limit):
        assert hasattr(ppo_ours if module.endswith("ours") else ppo_peers, function)
        json.dumps(arguments)
        if function not in RATES:
            raise SubprocessFailed(f"ModuleNotFoundError: No module named '{function}'")
        return ppo_peers.figures(int(RATES[function]), 1.0, 3.0)

    monkeypatch.setattr(contender, "run_in_subprocess", run_in_subprocess)
    memory = {"state_mib": 2.5, "process_peak_mib": 400.0}
    monkeypatch.setattr(ppo_start, "run_in_subprocess", lambda *arguments, limit: memory)


@pytest.mark.parametrize("id", ppo.ENVS)
def test_what_is_measured_is_the_preset(id):
    chosen = ks.preset("ppo", id)
    tuned = in_run(ks.make_agent("ppo", **chosen.options), chosen.steps)
    assert describe(of_preset(id).agent()) == describe(tuned)


def test_others_make_the_same_rollout_and_minibatches_from_fewer_environments():
    few = of_preset("Ant-v5").with_envs(8)
    assert (few.num_envs, few.rollout, few.minibatch) == (8, 2048 * 16, 2048)
    with pytest.raises(ConfigError, match="divisor"):
        few.with_envs(7)


def test_the_rate_counts_what_a_longer_training_takes_longer(monkeypatch):
    """10 s to compile; 2 s of every training pass before its first step; then 1000 steps a second."""
    calls = []

    def trained(agent, id, steps, seeds, spread):
        calls.append(steps)
        return (10.0 if len(calls) == 1 else 2.0) + steps / 1000, steps, steps / 1000

    monkeypatch.setattr(ppo_ours, "trained", trained)
    given = PPOSettings(4, 128, 4, 4, 1e-3, 500_000)
    found = ppo_ours.measure("CartPole-v1", given.as_dict(), 3, False, 100.0)
    assert calls == [8 * 512, 8 * 512, 100_000, 100_000]
    assert found["compile_seconds"] == pytest.approx(8.0)
    assert found["steps"] == 3 * 2 * (100_000 - 8 * 512)
    assert found["steps_per_second"] == pytest.approx(3000.0)


@pytest.mark.full("whole way")
def test_ours_runs_at_a_small_size():
    found = ppo_ours.measure("CartPole-v1", TINY.as_dict(), 1, False, 0.0)
    assert found["steps"] == 128
    assert found["steps_per_second"] > 0
    assert found["compile_seconds"] > 0


@pytest.mark.full("whole way")
def test_memory_is_that_of_a_training_with_one_update(monkeypatch, tmp_path):
    monkeypatch.setenv(SWITCH, "off")  # which it sets to the folder
    monkeypatch.setattr(ppo_start, "tuned", lambda id: TINY.agent())
    found = ppo_start.first_update("CartPole-v1", str(tmp_path))
    assert 0 < found["state_mib"] < 1 < found["process_peak_mib"]


def test_a_program_is_repeated_as_a_whole(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(ppo_peers.time, "perf_counter", lambda: float(next(clock)))
    found = ppo_peers.compiled(jnp.sin, jnp.float32(0.0), 500, 2.5)
    assert found == {"steps_per_second": 500.0, "steps": 1500, "seconds": 3.0, "compile_seconds": 1.0}


@pytest.fixture
def stand_in(monkeypatch):
    """A stand-in for SB3 whose first rollout takes 9 s, every other one 2 s, on two cores: returns what it is given."""
    now, asked = [0.0], {}

    class Callback:
        def __init__(self):
            self.num_timesteps = 0

    class PPO:
        def __init__(self, policy, env, **options):
            asked.update(options, env=env)

        def learn(self, steps, callback):
            while True:
                callback._on_rollout_start()
                if not callback._on_step():
                    return
                now[0] += 2.0 if callback.num_timesteps else 9.0
                callback.num_timesteps += 512

    parts = {
        "torch": {"set_num_threads": lambda threads: None},
        "sbx": {"PPO": PPO},
        "stable_baselines3": {},
        "stable_baselines3.common": {},
        "stable_baselines3.common.vec_env": {
            "DummyVecEnv": None,
            "VecMonitor": lambda env: ("watched", env),
            "VecNormalize": lambda env: ("scaled", env),
        },
        "stable_baselines3.common.env_util": {"make_vec_env": lambda id, count, **rest: (id, count)},
        "stable_baselines3.common.callbacks": {"BaseCallback": Callback},
    }
    for name, content in parts.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(ppo_peers.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(ppo_peers.time, "process_time", lambda: 2 * now[0])
    return asked


def test_the_first_rollout_of_stable_baselines_does_not_count(stand_in):
    found = ppo_peers.stable_baselines("sbx", "CartPole-v1", PUREJAXRL.as_dict(), 1, 5.0)
    assert found.pop("cpu_microseconds") == pytest.approx(12e6 / (3 * 512))
    assert found == {"steps_per_second": 256.0, "steps": 3 * 512, "seconds": 6.0, "compile_seconds": 7.0}
    assert (stand_in["n_steps"], stand_in["batch_size"], stand_in["n_epochs"]) == (128, 128, 4)
    assert stand_in["env"] == ("CartPole-v1", 4)


def test_stable_baselines_trains_on_ours_too(stand_in, monkeypatch):
    monkeypatch.setattr(ppo_peers, "to_sb3_vec", lambda id, count: (id, count))
    ppo_peers.stable_baselines("sbx", "kousoku/CartPole-v1", PUREJAXRL.as_dict(), 1, 5.0)
    assert stand_in["env"] == ("watched", ("CartPole-v1", 4))


def test_every_contender_gets_its_row(made_up, folder, tmp_path):
    said = []
    sections = ppo.bench(tmp_path, ppo.PPOBudget(purejaxrl=folder), say=said.append)
    alone, shared, *robots, start = sections
    assert [row.figures["agents"] for row in alone.rows] == [1, 1, 30, 30]
    assert [row.note for row in alone.rows] == ["every core a device", "one device"] * 2
    names = ["kousoku", "PureJaxRL", "rejax", "SB3", "sbx", "kousoku", "kousoku", "PureJaxRL"]
    assert [row.name for row in shared.rows] == names
    assert shared.ratio(shared.rows[0]) == 2.0
    assert shared.rows[2].note == "ModuleNotFoundError: No module named 'rejax'"
    for section in robots:
        assert section.ratio(section.rows[0]) == 100.0
        assert [row.figures.get("environments") for row in section.rows] == [2048, 2048, 8, 8, None, None]
        assert [row.figures["minibatch"] for row in section.rows[:4]] == [2048] * 4
        assert "brax" in section.rows[-1].note
    saved = json.loads((tmp_path / "ppo.json").read_text())
    assert [len(section["rows"]) for section in saved["sections"]] == [4, 8, 6, 6, 4]
    assert [row.name for row in start.rows] == list(ppo_start.IDS)
    assert all(row.figures["process_mib"] == 400.0 for row in start.rows)
    page = (tmp_path / "ppo.md").read_text()
    assert page in said[-1]
    assert page.count("did not run") == 5


def test_without_its_source_purejaxrl_does_not_run(made_up, tmp_path):
    (_, shared) = ppo.bench(tmp_path, ppo.PPOBudget(), "CartPole-v1", lambda line: None)
    assert [row.note for row in shared.rows if row.name == "PureJaxRL"] == [ppo.NO_FOLDER] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ppo_CartPole-v1.json", "ppo_CartPole-v1.md"]


def test_a_library_that_is_missing_gives_its_row(monkeypatch):
    """In this process: another one would take seconds to start."""
    here = lambda module, function, *arguments, limit: getattr(ppo_peers, function)(*arguments)  # noqa: E731
    monkeypatch.setattr(contender, "run_in_subprocess", here)
    monkeypatch.setitem(sys.modules, "rejax", None)
    rejax = next(one for one in ppo._shared("CartPole-v1", ppo.PPOBudget()) if one.name == "rejax")
    row = rejax.row(1.0)
    assert row.figures == {"agents": 1}
    assert "rejax" in row.note


def test_the_shell_runs_it(monkeypatch, folder, tmp_path, capsys):
    monkeypatch.setattr(ppo, "bench", lambda out, budget, only: print(out, budget.purejaxrl, only))
    assert main(["bench", "ppo", "--out", str(tmp_path), "--only", "Ant-v5", "--purejaxrl", folder]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), folder, "Ant-v5"]
    assert main(["bench", "ppo", "--only", "Hopper-v5"]) == 2
    assert main(["bench", "kernel", "--purejaxrl", folder]) == 2
    assert "it belongs to the benchmark ppo" in capsys.readouterr().err


def test_a_folder_without_purejaxrl_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"purejaxrl/ppo\.py"):
        ppo.bench(tmp_path, ppo.PPOBudget(purejaxrl=str(tmp_path)))
