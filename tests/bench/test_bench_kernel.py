"""`kousoku bench kernel`: its loops mean what they say, and every row comes out."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku_bench import classic, compile_times, kernel, many_agents, random_rollout, tabular
from kousoku_bench.budget import Budget

SMALL = Budget(
    repeats=1,
    least_seconds=0.0,
    agents=(1, 9),
    learn_steps=3000,
    environments=(128, 256),
    steps=16,
    calls=20,
    operations=60,
)


def rolled_out(id, ahead, on, count, steps, call=0):
    env = ks.make(id)
    keys = jax.random.split(jax.random.key(1), count)
    rollouts = jax.vmap(partial(random_rollout.begin_rollout, env))(keys)
    function = ks.kernel(partial(random_rollout.random_rollout, env, steps, ahead), on=on)
    return jax.jit(jax.vmap(function, (0, None, 0)))(keys, jnp.int32(call), rollouts)


FEW = ("CartPole-v1", "Pendulum-v1")


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("id", "ahead"),
    [
        *(pytest.param(id, True, marks=[] if id in FEW else pytest.mark.full("more cases")) for id in classic.IDS),
        ("CartPole-v1", False),
    ],
)
def test_a_random_rollout_in_the_kernel_is_that_of_xla(id, ahead):
    ours, theirs = (rolled_out(id, ahead, on, 64, 40) for on in (True, False))
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.full("whole way")
def test_starts_drawn_ahead_are_as_good_as_others():
    ahead, where_needed = (rolled_out("CartPole-v1", way, True, 2048, 512) for way in (True, False))
    a, b = (float(rollout.episodes.sum()) for rollout in (ahead, where_needed))
    assert a == pytest.approx(b, rel=0.01)
    assert a == pytest.approx(2048 * 512 / 22.25, rel=0.04)
    assert (ahead.reward == 512.0).all()


@pytest.mark.full("covered")
def test_every_call_brings_other_actions():
    first, second = (rolled_out("CartPole-v1", True, True, 64, 8, call) for call in (0, 1))
    assert (first.slot.obs != second.slot.obs).any()


@pytest.mark.full("covered")
def test_episodes_reach_their_time_limit():
    rollout = rolled_out("Pendulum-v1", True, True, 8, 208)
    assert (rollout.episodes == 1).all()
    assert (rollout.slot.episode_step == 8).all()


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", classic.IDS)
def test_no_episode_is_shorter_than_a_block(id):
    """Not at random and not when all goes one way, from starts at the ends of what is drawn."""
    env = ks.make(id)
    space = env.action_space
    ways = jnp.arange(space.n) if hasattr(space, "n") else jnp.array([[space.low], [space.high]], jnp.float32)

    @partial(jax.vmap, in_axes=(None, 0))
    @partial(jax.vmap, in_axes=(0, None))
    def ended(key, action):
        state, _ = env.reset(key)

        def step(state, _):
            state, timestep = env.step(key, state, action.astype(space.dtype))
            return state, timestep.terminated | timestep.truncated

        return jax.lax.scan(step, state, length=random_rollout.BLOCK - 1)[1].any()

    assert not ended(jax.random.split(jax.random.key(3), 20_000), ways).any()


@pytest.mark.by_default("Discrete(n=3)")
@pytest.mark.parametrize("space", [ks.Discrete(2), ks.Discrete(3), ks.Box(-2.0, 6.0, (1,))], ids=str)
def test_actions_are_uniform_and_independent(space):
    count = 1 if hasattr(space, "n") else random_rollout.BLOCK
    words = jax.random.bits(jax.random.key(0), (20_000, count), jnp.uint32)
    drawn = np.asarray(jax.vmap(partial(random_rollout.actions, space))(words), np.float64).reshape(
        20_000, random_rollout.BLOCK
    )
    if hasattr(space, "n"):
        shares = np.stack([(drawn == a).mean(0) for a in range(space.n)])
        np.testing.assert_allclose(shares, 1 / space.n, atol=0.02)
    else:
        assert drawn.min() >= -2.0
        assert drawn.max() <= 6.0
        np.testing.assert_allclose(drawn.mean(0), 2.0, atol=0.1)
        np.testing.assert_allclose(drawn.std(0), 8 / 12**0.5, rtol=0.03)
    correlations = np.corrcoef(drawn.T) - np.eye(random_rollout.BLOCK)
    assert np.abs(correlations).max() < 0.03


@pytest.mark.full("covered")
def test_a_straight_line_needs_all_of_its_operations():
    function = compile_times.straight_line(200, 1.5)
    jaxpr = jax.make_jaxpr(function)(jnp.ones(compile_times.WIDTH))
    arithmetic = [eqn for eqn in jaxpr.eqns if eqn.primitive.name in ("add", "mul", "sub", "min")]
    assert len(arithmetic) == 200
    assert compile_times.kernel_seconds(compile_times.STRAIGHT, 200, 1)["operations"] >= 200
    small, large = (compile_times.straight_line(200, scale)(jnp.ones(compile_times.WIDTH)) for scale in (1.0, 1.5))
    assert (small != large).any()


@pytest.mark.full("whole way")
def test_every_row_gives_numbers_or_a_reason(tmp_path, monkeypatch):
    """Compile times are measured in this process: another one costs seconds, and the second core has its own."""
    here = lambda module, function, *arguments, limit: getattr(compile_times, function)(*arguments)  # noqa: E731
    monkeypatch.setattr(compile_times, "run_in_subprocess", here)
    said = []
    sections = kernel.bench(tmp_path, SMALL, said.append)
    assert [section.title for section in sections] == [
        "The second core",
        "One call inside a scan",
        "Compile times",
        "Tabular Q-learning",
        *classic.IDS,
    ]
    for section in sections:
        for row in section.rows:
            value = row.figures.get(section.measure.key)
            optional = not row.name.startswith(("kousoku", "1 core", "CartPole step", "straight line"))
            assert (value is not None and np.isfinite(value)) or (optional and row.note), row
    saved = json.loads((tmp_path / "kernel.json").read_text())
    assert len(saved["sections"]) == len(sections)
    assert saved["versions"]["jax"] == jax.__version__
    page = (tmp_path / "kernel.md").read_text()
    assert said[0] == page
    assert "saved: " in said[1]
    assert page.count("\n## ") == len(sections)


@pytest.mark.full("covered")
def test_the_tabular_rows_give_numbers():
    rows = [tabular.numpy_row(1, 200), tabular.readable_row(20), *tabular.jym_rows(None)]
    assert [row.figures.get("steps_per_second", 0) > 0 for row in rows] == [True, True, False]
    assert "--jym" in rows[-1].note


@pytest.mark.full("whole way")
def test_kernels_off_is_without_kernels(monkeypatch):
    seen = []

    def row(name, *args):
        seen.append((name, ks.compiler.kernels_are_on()))
        return tabular.speed(name, 1, 1.0)

    monkeypatch.setattr(many_agents, "compiled_row", row)
    for name, on in (("a", True), ("b", False)):
        many_agents._ours(name, on, 1, SMALL)
    assert seen == [("a", True), ("b", False)]


def test_the_shell_runs_the_benchmark_that_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(kernel, "bench", lambda out, budget: print(out, budget.repeats))
    assert main(["bench", "kernel", "--out", str(tmp_path), "--repeats", "2"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), "2"]
    assert main(["bench", "kernel", "--jym", "x"]) == 2
    assert "it belongs to the benchmark tabular" in capsys.readouterr().err
