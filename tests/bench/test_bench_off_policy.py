"""`kousoku bench off-policy`: every contender gets its row and the same settings; the arithmetic is counted right."""

import importlib.util
import json
import shutil
import sys
import tempfile
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.cli import main
from kousoku.collectors import updates
from kousoku.core.errors import ConfigError
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.envs import make
from kousoku_bench import contender, off_policy, off_policy_ours, off_policy_peers, peak, ppo_peers
from kousoku_bench.off_policy_settings import SIZES, SACSettings
from kousoku_bench.subprocess_timing import SubprocessFailed


@pytest.fixture
def made_up(monkeypatch):
    """Measurements: ours are fast, sbx fails; and what was asked for. All libraries are there, without MKL."""
    asked, find = [], importlib.util.find_spec

    def run_in_subprocess(module, function, *arguments, limit):
        assert hasattr(off_policy_ours if module.endswith("ours") else off_policy_peers, function)
        asked.append(json.loads(json.dumps(arguments)))
        if "sbx" in arguments:
            raise SubprocessFailed("ImportError: broken")
        figures = {"steps_per_second": 16_000.0 if function == "measure" else 160.0, "seconds": 1.0}
        return SACSettings((64, 64)).figures(figures)

    monkeypatch.setattr(contender, "run_in_subprocess", run_in_subprocess)
    monkeypatch.setattr(off_policy, "core_gflops", lambda: 123.0)
    there = ("stable_baselines3", "sbx", "rltools")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in there else find(name))
    monkeypatch.setattr(off_policy, "installed", lambda names: {"mkl": "2026.2.0"})
    return asked


SPREAD = 2, 2, 1
"""How many ways there are, in each part, to use the cores: a single environment is on one device."""


def test_every_contender_gets_its_row_and_the_same_settings(made_up, tmp_path):
    said = []
    sections = off_policy.bench(tmp_path, off_policy.OffPolicyBudget(3.0), say=said.append)
    for section, spread in zip(sections, SPREAD, strict=True):
        ours = ["kousoku"] * spread + ["kousoku, updates by XLA"] * spread
        assert [row.name for row in section.rows] == [*ours, "SB3", "sbx", "RLtools"]
        assert [section.ratio(row) for row in section.rows] == [*[100.0] * 2 * spread, 1.0, None, 1.0]
        assert "a core's most, in chains of multiply-adds that touch no memory, are 123." in section.about
        assert section.rows[-2].note == "ImportError: broken"
        assert section.rows[-1].note == "without MKL, which x86-64 has: pip install mkl mkl-include"
    assert said[0] == "64-64, kousoku: 1,000 updates/s"
    given = [next(part for part in arguments if isinstance(part, dict)) for arguments in made_up]
    assert given == [
        json.loads(json.dumps(SIZES[part].as_dict()))
        for part, n in zip(SIZES, SPREAD, strict=True)
        for _ in range(2 * n + 3)
    ]
    assert all(3.0 in arguments for arguments in made_up)
    by_xla = [False, False, True, True] * 2 + [False, True]
    assert [arguments[-1] for arguments in made_up if len(arguments) == 4] == by_xla
    page = (tmp_path / "off_policy.md").read_text()
    assert page.count("did not run") == len(SIZES)
    assert [len(s["rows"]) for s in json.loads((tmp_path / "off_policy.json").read_text())["sections"]] == [7, 7, 5]
    with pytest.raises(ConfigError, match=r"part: got '8-8'; use one of 64-64, 256-256, one-environment"):
        off_policy.contenders("8-8", off_policy.OffPolicyBudget())


@pytest.mark.full("covered")
def test_the_operations_of_an_update_are_those_that_xla_counts():
    """Twice the batch has twice the products; what else there is grows alike and is small."""
    env = make("HalfCheetah-v5")

    def counted(hidden: tuple[int, ...]) -> float:
        agent = SACSettings(hidden).agent()
        n = agent.batch_size
        state = jax.eval_shape(lambda key: agent.init(env.spec, key), jax.random.key(0))
        flags, obs = jnp.zeros(n, bool), jnp.zeros((n, 17))
        of_zeros = lambda: jax.vmap(Transition)(obs, jnp.zeros((n, 6)), jnp.zeros(n), flags, flags, obs)  # noqa: E731
        update = jax.jit(lambda state, made, key: agent.update(state, ReplayBatch(made, jnp.int32(0)), key))
        key = jax.eval_shape(lambda: jax.random.key(0))
        return update.lower(state, jax.eval_shape(of_zeros), key).compile().cost_analysis()["flops"]

    wide, narrow = (512, 512), (256, 256)
    difference = SACSettings(wide).flops() - SACSettings(narrow).flops()
    assert counted(wide) - counted(narrow) == pytest.approx(difference, rel=0.03)


def test_the_first_gradient_steps_of_others_do_not_count(monkeypatch):
    """A stand-in that needs 9 s for each rollout before and 2 s for each after."""
    now, asked, settings = [0.0], {}, SIZES["64-64"]
    first = settings.learning_starts + off_policy_peers.WARM_UPDATES * 16

    class Callback:
        def __init__(self):
            self.num_timesteps = 0

    class SAC:
        def __init__(self, policy, env, **options):
            asked.update(options)

        def learn(self, steps, callback):
            while True:
                callback._on_rollout_start()
                if not callback._on_step():
                    return
                now[0] += 2.0 if callback.num_timesteps >= first else 9.0
                callback.num_timesteps += 16

    parts = {
        "sbx": {"SAC": SAC},
        "stable_baselines3": {},
        "stable_baselines3.common": {},
        "stable_baselines3.common.env_util": {"make_vec_env": lambda id, count, **rest: (id, count)},
        "stable_baselines3.common.callbacks": {"BaseCallback": Callback},
    }
    for name, content in parts.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(ppo_peers.time, "perf_counter", lambda: now[0])
    found = off_policy_peers.stable_baselines("sbx", settings.as_dict(), 5.0)
    assert (found["steps_per_second"], found["updates_per_second"], found["steps"]) == (8.0, 0.5, 48)
    assert (asked["train_freq"], asked["gradient_steps"], asked["policy_kwargs"]) == (16, 1, {"net_arch": [64, 64]})
    assert "device" not in asked


def test_rltools_rows_say_what_it_is_made_with(monkeypatch):
    budget, find = off_policy.OffPolicyBudget(), importlib.util.find_spec
    monkeypatch.setattr(off_policy, "installed", lambda names: dict.fromkeys(names, "2026.2.0"))
    assert off_policy.contenders("64-64", budget)[-1].note == "MKL, one thread"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "rltools" else find(name))
    row = off_policy.contenders("64-64", budget)[-1].row(1.0)
    assert (row.name, row.note) == ("RLtools", "not installed: pip install rltools")


def test_rltools_first_gradient_steps_and_its_compiling_do_not_count(monkeypatch):
    """A stand-in that is compiled in 30 s, and needs 9 s for each step before and a second for each after."""
    now, asked, taken, settings = [0.0], {}, [0], SIZES["64-64"]

    class State:
        def __init__(self, seed):
            pass

        def step(self):
            first = settings.learning_starts + off_policy_peers.WARM_UPDATES * 16
            now[0] += 1.0 if taken[0] >= first else 9.0
            taken[0] += 1

    def compiled(env_factory, **options):
        asked.update(options)
        now[0] += 30.0
        return types.SimpleNamespace(State=State)

    monkeypatch.setitem(sys.modules, "rltools", types.SimpleNamespace(SAC=compiled))
    monkeypatch.setattr(off_policy_peers.time, "perf_counter", lambda: now[0])
    found = off_policy_peers.rltools(settings.as_dict(), 40.0)
    assert (found["steps_per_second"], found["steps"], found["compile_seconds"]) == (1.0, 48, 30.0)
    assert found["updates_per_second"] == 1 / 16
    for network in ("ACTOR", "CRITIC"):
        sizes = [asked[f"{network}_{name}"] for name in ("BATCH_SIZE", "HIDDEN_DIM", "NUM_LAYERS", "TRAINING_INTERVAL")]
        assert sizes == [256, 64, 3, 16], "layers are counted with the one that puts out"
    assert (asked["CRITIC_TARGET_UPDATE_INTERVAL"], asked["REPLAY_BUFFER_CAP"]) == (16, 1_000_000)


@pytest.mark.peers
@pytest.mark.slow_because("a C++ compiler makes a program of templates")
def test_rltools_updates_its_actor_once_in_so_many_steps(monkeypatch, tmp_path):
    """And only then, from the end of the warm-up on. Without MKL, which does not bear PyTorch in its process."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rltools = pytest.importorskip("rltools")
    if not any(map(shutil.which, ("g++", "clang++"))):
        pytest.skip("no C++ compiler")
    monkeypatch.setattr(off_policy_peers, "WARM_UPDATES", 2)
    said, compiled = [], rltools.SAC

    def watched(*arguments, **options):
        training = compiled(*arguments, **options, enable_blas=False)
        obs = np.linspace(-1.0, 1.0, 17, dtype=np.float32)

        class State(training.State):
            def step(self):
                super().step()
                said.append(self.action(obs))

        return types.SimpleNamespace(State=State)

    monkeypatch.setattr(rltools, "SAC", watched)
    small = SACSettings((8, 8), batch_size=32, learning_starts=64, capacity=1_000)
    found = off_policy_peers.rltools(small.as_dict(), 0.0)
    changed = [i for i in range(1, len(said)) if (said[i] != said[i - 1]).any()]
    assert changed == [64, 80, 96], "two warm, one measured"
    assert np.isfinite(said).all()
    assert (len(said), found["steps"]) == (64 + 3 * 16, 16)


@pytest.mark.peers
def test_rltools_without_a_compiler_says_so_in_a_line(monkeypatch, tmp_path):
    pytest.importorskip("rltools")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RL_TOOLS_COMPILER", raising=False)
    budget = off_policy.OffPolicyBudget(0.0)
    assert "No C++ compiler found" in off_policy.contenders("64-64", budget)[-1].row(100.0).note


@pytest.mark.full("whole way")
def test_ours_runs_at_a_small_size(monkeypatch):
    monkeypatch.setattr(off_policy_ours, "LEAST_UPDATES", 1_024)
    small = SACSettings((8,), batch_size=8, learning_starts=64, capacity=1_000)
    found = off_policy_ours.measure(small.as_dict(), False, 0.0)
    assert found["updates_per_second"] == found["steps_per_second"] / 16 > 0
    assert found["gflops"] > 0


def test_updates_by_xla_are_no_kernel():
    """And makes the same of the same samples, but for rounding."""
    agent, spec = SACSettings((8,), batch_size=8).agent(), make("Pendulum-v1").spec
    state, flags, obs = agent.init(spec, jax.random.key(0)), jnp.zeros((2, 8), bool), jnp.ones((2, 8, 3))
    made = Transition(obs, jnp.zeros((2, 8, 1)), jnp.ones((2, 8)), flags, flags, 0.5 * obs)

    def learned() -> tuple[list[str], list]:
        def update(i, state):
            batch = ReplayBatch(jax.tree.map(lambda x: x[i], made), jnp.int32(0))
            return *agent.update(state, batch, jax.random.key(i)), None

        run = lambda state: updates.make_updates(update, state, 2, 2, None)[0]  # noqa: E731
        return [eqn.primitive.name for eqn in jax.make_jaxpr(run)(state).eqns], jax.tree.leaves(jax.jit(run)(state))

    in_kernel, ours = learned()
    with off_policy_ours._left_to_xla():
        plain, xla = learned()
    assert (in_kernel, plain) == (["kousoku_kernel"], ["scan"])
    for a, b in zip(ours, xla, strict=True):
        if jnp.issubdtype(a.dtype, jnp.floating):
            assert jnp.allclose(a, b, atol=1e-6)


def test_a_core_s_peak_is_some_operations_a_second(monkeypatch):
    monkeypatch.setattr(peak, "ROUNDS", 2_000)
    monkeypatch.setattr(peak, "REPEATS", 2)
    assert 0.01 < peak.core_gflops() < 10_000


def test_the_shell_runs_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(off_policy, "bench", lambda out, budget, only: print(out, budget.seconds, only))
    assert main(["bench", "off-policy", "--out", str(tmp_path), "--only", "64-64"]) == 0
    assert capsys.readouterr().out == f"{tmp_path} 20.0 64-64\n"
    assert main(["bench", "off-policy", "--only", "Ant-v5"]) == 2
    assert "64-64" in capsys.readouterr().err
