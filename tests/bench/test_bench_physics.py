"""The benchmark of rigid bodies at a small size: what it measures is there, and is what it says."""

import os
from dataclasses import asdict, replace
from functools import partial

import jax
import numpy as np
import pytest

from kousoku.cli import main
from kousoku_bench import exactness, physics, rigid, robots, startup
from kousoku_bench.budget import Budget
from kousoku_bench.table import SPEED, Section, TableRow, attempt

SMALL = Budget(repeats=1, least_seconds=0.0, bodies=16, body_steps=4, parity_rollouts=2, robots=16, steps=8)


@pytest.mark.full("covered")
def test_rates_of_all_contenders():
    rates = rigid.rates("inverted_pendulum", 1, asdict(SMALL))
    assert set(rates) == {"ours", "rollout", "batch", "compile_seconds"}
    assert all(rate > 0 for rate in rates.values())


def test_states_in_motion():
    compiled = rigid.compiled_model("hopper")
    states, commands = rigid.motion(compiled, 8, 3, cores=1)
    assert states.shape == (8, 1 + compiled.nq + compiled.nv)
    assert commands.shape == (8, 3, compiled.nu)
    assert len(np.unique(states, axis=0)) == 8
    ours = rigid.ours_of(rigid.load(compiled), states)
    assert ours.qpos.shape == (8, compiled.nq)
    np.testing.assert_allclose(ours.qvel, states[:, 1 + compiled.nq :], rtol=1e-6)


@pytest.mark.full("whole way")
@pytest.mark.parametrize(("kind", "qpos", "qvel"), [("float64", 1e-12, 1e-9), ("float32", 1e-5, 1e-3)])
def test_differences_from_c(kind, qpos, qvel):
    found = exactness.differences("hopper", kind, asdict(SMALL))
    assert 0 < found["qpos_max"] < qpos
    assert found["qvel_median"] <= found["qvel_p99"] <= found["qvel_max"] < qvel
    assert found["contacts"] > 0


@pytest.mark.full("larger")
def test_differences_grow_with_the_distance_from_the_origin():
    here, far = (exactness.far_differences("half_cheetah", away, asdict(SMALL)) for away in (0, 3_000))
    assert 0 < here["qvel_median"] < 1e-4
    assert 10 * here["qvel_median"] < far["qvel_median"] < 1e-1


@pytest.mark.full("whole way")
def test_seconds_until_a_thousand_steps(tmp_path):
    assert startup.seconds("InvertedPendulum-v5", str(tmp_path)) > 0
    assert any(tmp_path.iterdir())


@pytest.mark.full("whole way")
def test_our_robots_have_a_row():
    row = robots.ours("kousoku, kernel", "InvertedPendulum-v5", 16, True, False, SMALL)
    assert row.figures["steps_per_second"] > 0


def test_other_libraries_loops_are_timed(monkeypatch):
    def doubling(factor, steps):
        def loop(keys, carry):
            return jax.vmap(jax.random.uniform)(keys) if carry is None else carry * factor**steps

        return loop

    monkeypatch.setattr(robots.peers, "brax_loop", doubling)
    figures = robots.loop_figures("brax_loop", [2.0, 3], 4, 1)
    assert figures["finite"]
    assert figures["seconds"] > 0
    assert not robots.loop_figures("brax_loop", [float("inf"), 3], 4, 1)["finite"]


@pytest.mark.parametrize(("limit", "note"), [(0.001, "stopped after 0.001 s"), (100.0, "ModuleNotFoundError: ")])
def test_a_library_that_is_absent_or_too_slow_gives_a_row_that_says_so(limit, note, monkeypatch):
    monkeypatch.setitem(os.environ, "PYTHONPATH", "")
    measure = partial(robots.loop_row, "X", "brax_loop", ["ant", "no such backend"], replace(SMALL, peer_limit=limit))
    row = attempt("X", 64, measure)
    assert note in row.note
    assert "steps_per_second" not in row.figures


def test_a_part_is_printed_and_saved(tmp_path, monkeypatch):
    table = Section("One", "About it.", (SPEED,), [TableRow("ours", {"steps_per_second": 2.0})])
    monkeypatch.setitem(physics.PARTS, "steps", ("Physics: steps", [lambda budget: table]))
    said = []
    assert physics.bench(tmp_path, SMALL, ["steps"], said.append) == [table]
    assert "| ours | 2 |" in said[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["physics_steps.json", "physics_steps.md"]


def test_a_part_cut_short_keeps_what_was_measured(tmp_path, monkeypatch):
    def cut(budget):
        raise KeyboardInterrupt

    table = Section("One", "About it.", (SPEED,), [TableRow("ours", {"steps_per_second": 2.0})])
    monkeypatch.setitem(physics.PARTS, "robots", ("Physics: robots", [lambda budget: table, cut]))
    with pytest.raises(KeyboardInterrupt):
        physics.bench(tmp_path, SMALL, ["robots"], lambda text: None)
    assert "| ours | 2 |" in (tmp_path / "physics_robots.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["physics", "--only", "x"], "--only: got 'x'; use one of"),
        (
            ["kernel", "--only", "steps"],
            "benchmarks physics, learning, defaults, ppo, evolution, off-policy, vector",
        ),
    ],
)
def test_a_part_that_is_none_is_refused(words, message, capsys):
    assert main(["bench", *words]) == 2
    assert message in capsys.readouterr().err
