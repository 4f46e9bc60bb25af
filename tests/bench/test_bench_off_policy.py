"""`kousoku bench off-policy`: every contender gets its row and the same settings; the arithmetic is counted right."""

import importlib.util
import json
import sys
import types

import jax
import jax.numpy as jnp
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
    """Measurements: ours are fast, sbx fails; and what was asked for. Both libraries are there."""
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
    there = ("stable_baselines3", "sbx")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in there else find(name))
    return asked


def test_every_contender_gets_its_row_and_the_same_settings(made_up, tmp_path):
    said = []
    sections = off_policy.bench(tmp_path, off_policy.OffPolicyBudget(3.0), say=said.append)
    for section in sections:
        ours = ["kousoku", "kousoku", "kousoku, updates by XLA", "kousoku, updates by XLA"]
        assert [row.name for row in section.rows] == [*ours, "SB3", "sbx"]
        assert [section.ratio(row) for row in section.rows] == [100.0, 100.0, 100.0, 100.0, 1.0, None]
        assert "a core's most, in chains of multiply-adds that touch no memory, are 123." in section.about
        assert section.rows[-1].note == "ImportError: broken"
    assert said[0] == "64-64, kousoku: 1,000 updates/s"
    given = [next(part for part in arguments if isinstance(part, dict)) for arguments in made_up]
    assert given == [json.loads(json.dumps(SIZES[part].as_dict())) for part in SIZES for _ in range(6)]
    assert all(3.0 in arguments for arguments in made_up)
    assert [arguments[-1] for arguments in made_up if len(arguments) == 4] == [False, False, True, True] * len(SIZES)
    page = (tmp_path / "off_policy.md").read_text()
    assert page.count("did not run") == 2
    assert [len(s["rows"]) for s in json.loads((tmp_path / "off_policy.json").read_text())["sections"]] == [6, 6]
    with pytest.raises(ConfigError, match=r"part: got '8-8'; use one of 64-64, 256-256"):
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
