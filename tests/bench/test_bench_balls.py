"""`kousoku bench balls`: all contenders simulate the same, and every row comes out."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.envs.balls.env import Balls, BallsState
from kousoku_bench import balls
from kousoku_bench.budget import Budget

SMALL = Budget(repeats=1, least_seconds=0.0, balls=(16, 32), fall_steps=20, film_balls=9, film_frames=3)
STEPS = 400


def simulated():
    """Heights and speeds after some steps, by contender."""
    start = balls.start(64)
    one = ks.kernel(lambda height, speed: balls.fall_compiled(STEPS, height, speed))
    grouped = [array.reshape(-1, balls.TOGETHER) for array in start]
    return {
        "NumPy": balls.fall_in_turn(np, STEPS, *start),
        "JAX without jit": balls.fall_in_turn(jnp, STEPS, *map(jnp.asarray, start)),
        "JAX, jit": jax.jit(lambda *at: balls.fall_compiled(STEPS, *at))(*start),
        "kernel": jax.vmap(one)(*start),
        "kernel, in groups": [array.reshape(-1) for array in jax.vmap(one)(*grouped)],
    }


@pytest.mark.full("covered")
def test_all_contenders_simulate_the_same():
    found = simulated()
    height, speed = found.pop("NumPy")
    assert (speed > 0).any()  # some have bounced
    for name, (heights, speeds) in found.items():
        assert heights.dtype == np.float32
        differs = np.abs(np.asarray(heights) - height) > 1e-3
        assert differs.sum() <= 1, name  # a last bit may decide in which step a ball bounces
        np.testing.assert_allclose(speeds[~differs], speed[~differs], atol=1e-3)


@pytest.mark.full("covered")
def test_they_fall_and_bounce_as_the_environment():
    """To within what the simpler bounce makes of a step."""
    env = Balls(n=64, dt=balls.DT, walls=False, restitution=balls.RESTITUTION, gravity=balls.GRAVITY)
    height, speed = map(jnp.asarray, balls.start(64))
    state = BallsState(jnp.zeros(64), height, jnp.zeros(64), speed)
    push = jnp.zeros((1,), jnp.float32)
    for steps, close in ((200, 1e-4), (STEPS, 0.02)):
        end = jax.lax.fori_loop(0, steps, lambda _, at: env.step(jax.random.key(0), at, push)[0], state)
        heights, _ = balls.fall_compiled(steps, height, speed)
        assert bool((heights >= 0).all())
        np.testing.assert_allclose(heights, end.z, atol=close)


@pytest.mark.full("whole way")
def test_every_row_gives_numbers_or_a_reason(tmp_path):
    said = []
    section = balls.bench(tmp_path, SMALL, said.append)
    assert len(section.rows) == 12
    for row in section.rows:
        rate = row.figures.get("steps_per_second")
        assert (rate is not None and np.isfinite(rate)) or (row.name == "JAX, jit on a GPU" and row.note), row
    assert [row.figures["agents"] for row in section.rows] == [16] * 6 + [32] * 6
    saved = json.loads((tmp_path / "balls.json").read_text())
    assert saved["sections"][0]["base"] == "NumPy"
    assert saved["sections"][0]["rows"][0]["ratio"] == 1.0
    assert said[0] == (tmp_path / "balls.md").read_text()
    assert all(name in said[1] for name in ("balls.md", "balls.png", "balls.gif"))
    from PIL import Image

    with Image.open(tmp_path / "balls.gif") as film, Image.open(tmp_path / "balls.png") as plot:
        assert film.n_frames == 3
        assert min(plot.size) > 500


def test_a_machine_without_a_gpu_says_so(monkeypatch):
    def none(platform):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(jax, "devices", none)
    row = balls.gpu_row(16, SMALL)
    assert "milliseconds" not in row.figures
    assert row.note == "JAX sees no GPU here"


def test_the_shell_runs_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(balls, "bench", lambda out, budget: print(out, budget.repeats))
    assert main(["bench", "balls", "--out", str(tmp_path), "--repeats", "2"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), "2"]
    assert main(["bench", "balls", "--jym", "x"]) == 2
    assert "it belongs to the benchmark tabular" in capsys.readouterr().err


@pytest.mark.parametrize("count", [8, 24])
def test_balls_begin_between_one_and_three_metres(count):
    height, speed = balls.start(count)
    assert height.dtype == speed.dtype == np.float32
    assert (height[0], height[-1]) == (1.0, 3.0)
    assert not speed.any()
