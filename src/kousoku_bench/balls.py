"""`kousoku bench balls`: falling balls in NumPy, in JAX without and with jit, and in the kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kousoku.compiler import kernel
from kousoku.training import facts

from .balls_pictures import draw_times, film
from .effort import Effort
from .table import COMPILE, SPEED, Column, Row, Section, machine, markdown, median_seconds, save
from .uncached import uncached

TITLE = "Falling balls"
ABOUT = (
    "Balls fall from 1 to 3 m and bounce, in float32: semi-implicit Euler, and bounces that mirror height and speed. "
    "{steps:,} steps in one call. NumPy and JAX run the same lines over arrays of all balls, the kernel for one ball, "
    "under `vmap`: the loop is inside, and a ball's numbers stay in registers. A ball is a chain of operations, which "
    "wait for one another; with 8 balls in a lane, as an array [8], the processor does others meanwhile. Medians after "
    "a warm-up, every result waited for, compile time apart and without a cache; all in one run."
)
BASE = "NumPy"
BALLS = Column("agents", "balls", ",d")
TIME = Column("milliseconds", "ms a call")
GRAVITY, DT, RESTITUTION = 9.81, 0.002, 0.8
TOGETHER = 8


def bench(out: Path, effort: Effort, say: Callable[[str], None] = print) -> Section:
    """Measure every contender, print the table, and save balls.md, balls.json, balls.png and balls.gif."""
    with uncached():
        rows = [row for count in effort.balls for row in _rows(count, effort)]
    about = ABOUT.format(steps=effort.fall_steps)
    section = Section(TITLE, about, (BALLS, SPEED, TIME, COMPILE), rows, BASE)
    text = markdown(TITLE, machine(facts.device(), facts.versions()), [section])
    say(text)
    found = {"device": facts.device(), "versions": facts.versions()}
    paths = [save(out, "balls", text, [section], found)]
    paths.append(draw_times(out / "balls.png", section, effort.fall_steps))
    paths.append(film(out / "balls.gif", effort.film_balls, effort.film_frames))
    say(f"saved: {', '.join(map(str, paths))}")
    return section


def fall(xp: Any, height: Any, speed: Any) -> tuple[Any, Any]:
    """One step of one ball or of an array of them, in NumPy or `jax.numpy`, whichever `xp` is."""
    speed = speed - GRAVITY * DT
    height = height + speed * DT
    hit = height < 0.0
    return xp.where(hit, -RESTITUTION * height, height), xp.where(hit, -RESTITUTION * speed, speed)


def fall_in_turn(xp: Any, steps: int, height: Any, speed: Any) -> tuple[Any, Any]:
    """Steps in a Python loop."""
    for _ in range(steps):
        height, speed = fall(xp, height, speed)
    return height, speed


def fall_compiled(steps: int, height: Any, speed: Any) -> tuple[Any, Any]:
    """Steps in a loop that JAX compiles."""
    return jax.lax.fori_loop(0, steps, lambda _, at: fall(jnp, *at), (height, speed))


def start(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Heights and speeds at first."""
    return np.linspace(1.0, 3.0, count, dtype=np.float32), np.zeros(count, np.float32)


def _rows(count: int, effort: Effort) -> list[Row]:
    steps, cpu = effort.fall_steps, jax.devices("cpu")[0]
    arrays = jax.device_put(start(count), cpu)
    grouped = [array.reshape(-1, TOGETHER) for array in arrays]
    one = kernel(lambda height, speed: fall_compiled(steps, height, speed))
    return [
        _row(BASE, count, lambda: fall_in_turn(np, steps, *start(count)), effort),
        _row("JAX without jit", count, lambda: fall_in_turn(jnp, steps, *arrays), effort),
        _compiled_row("JAX, jit", count, lambda *at: fall_compiled(steps, *at), arrays, effort),
        gpu_row(count, effort),
        _compiled_row("kousoku, kernel", count, jax.vmap(one), arrays, effort),
        _compiled_row(f"kousoku, kernel, {TOGETHER} in a lane", count, jax.vmap(one), grouped, effort),
    ]


def gpu_row(count: int, effort: Effort) -> Row:
    """JAX with jit on a GPU, if there is one."""
    name = "JAX, jit on a GPU"
    try:
        gpu = jax.devices("gpu")[0]
    except RuntimeError:
        return Row(name, {"agents": count}, "JAX sees no GPU here")
    arrays = jax.device_put(start(count), gpu)
    steps = effort.fall_steps
    return _compiled_row(name, count, lambda *at: fall_compiled(steps, *at), arrays, effort, note=gpu.device_kind)


def _compiled_row(
    name: str, count: int, function: Callable[..., Any], arrays: Any, effort: Effort, note: str = ""
) -> Row:
    began = time.perf_counter()
    compiled = jax.jit(function).lower(*arrays).compile()
    compile_seconds = time.perf_counter() - began
    return _row(name, count, lambda: compiled(*arrays), effort, note, compile_seconds=compile_seconds)


def _row(
    name: str, count: int, call: Callable[[], Any], effort: Effort, note: str = "", **figures: float | None
) -> Row:
    seconds = median_seconds(lambda: jax.block_until_ready(call()), effort.repeats, effort.least_seconds)
    rate = count * effort.fall_steps / seconds
    return Row(name, {"agents": count, SPEED.key: rate, TIME.key: 1e3 * seconds, **figures}, note)
