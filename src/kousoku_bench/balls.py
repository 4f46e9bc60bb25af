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
from kousoku.training.io import provenance

from .balls_pictures import draw_times, film
from .budget import Budget
from .table import COMPILE, SPEED, Section, TableColumn, TableRow, machine, markdown, median_seconds, save
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
BALLS = TableColumn("agents", "balls", ",d")
TIME = TableColumn("milliseconds", "ms a call")
GRAVITY, DT, RESTITUTION = 9.81, 0.002, 0.8
TOGETHER = 8


def bench(out: Path, budget: Budget, say: Callable[[str], None] = print) -> Section:
    """Measures every contender, prints the table, and saves balls.md, balls.json, balls.png and balls.gif."""
    with uncached():
        rows = [row for count in budget.balls for row in _rows(count, budget)]
    about = ABOUT.format(steps=budget.fall_steps)
    section = Section(TITLE, about, (BALLS, SPEED, TIME, COMPILE), rows, BASE)
    text = markdown(TITLE, machine(provenance.device(), provenance.versions()), [section])
    say(text)
    found = {"device": provenance.device(), "versions": provenance.versions()}
    paths = [save(out, "balls", text, [section], found)]
    paths.append(draw_times(out / "balls.png", section, budget.fall_steps))
    paths.append(film(out / "balls.gif", budget.film_balls, budget.film_frames))
    say(f"saved: {', '.join(map(str, paths))}")
    return section


def fall(xp: Any, height: Any, speed: Any) -> tuple[Any, Any]:
    """Takes one step of one ball or of an array of them, in NumPy or `jax.numpy`, whichever `xp` is."""
    speed = speed - GRAVITY * DT
    height = height + speed * DT
    hit = height < 0.0
    return xp.where(hit, -RESTITUTION * height, height), xp.where(hit, -RESTITUTION * speed, speed)


def fall_in_turn(xp: Any, steps: int, height: Any, speed: Any) -> tuple[Any, Any]:
    """Takes steps in a Python loop."""
    for _ in range(steps):
        height, speed = fall(xp, height, speed)
    return height, speed


def fall_compiled(steps: int, height: Any, speed: Any) -> tuple[Any, Any]:
    """Takes steps in a loop that JAX compiles."""
    return jax.lax.fori_loop(0, steps, lambda _, at: fall(jnp, *at), (height, speed))


def start(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the heights and speeds [count] that balls begin with."""
    return np.linspace(1.0, 3.0, count, dtype=np.float32), np.zeros(count, np.float32)


def _rows(count: int, budget: Budget) -> list[TableRow]:
    steps, cpu = budget.fall_steps, jax.devices("cpu")[0]
    arrays = jax.device_put(start(count), cpu)
    grouped = [array.reshape(-1, TOGETHER) for array in arrays]
    one = kernel(lambda height, speed: fall_compiled(steps, height, speed))
    return [
        _row(BASE, count, lambda: fall_in_turn(np, steps, *start(count)), budget),
        _row("JAX without jit", count, lambda: fall_in_turn(jnp, steps, *arrays), budget),
        _compiled_row("JAX, jit", count, lambda *at: fall_compiled(steps, *at), arrays, budget),
        gpu_row(count, budget),
        _compiled_row("kousoku, kernel", count, jax.vmap(one), arrays, budget),
        _compiled_row(f"kousoku, kernel, {TOGETHER} in a lane", count, jax.vmap(one), grouped, budget),
    ]


def gpu_row(count: int, budget: Budget) -> TableRow:
    """Measures JAX with jit on a GPU, if there is one."""
    name = "JAX, jit on a GPU"
    try:
        gpu = jax.devices("gpu")[0]
    except RuntimeError:
        return TableRow(name, {"agents": count}, "JAX sees no GPU here")
    arrays = jax.device_put(start(count), gpu)
    steps = budget.fall_steps
    return _compiled_row(name, count, lambda *at: fall_compiled(steps, *at), arrays, budget, note=gpu.device_kind)


def _compiled_row(
    name: str, count: int, function: Callable[..., Any], arrays: Any, budget: Budget, note: str = ""
) -> TableRow:
    began = time.perf_counter()
    compiled = jax.jit(function).lower(*arrays).compile()
    compile_seconds = time.perf_counter() - began
    return _row(name, count, lambda: compiled(*arrays), budget, note, compile_seconds=compile_seconds)


def _row(
    name: str, count: int, call: Callable[[], Any], budget: Budget, note: str = "", **figures: float | None
) -> TableRow:
    seconds = median_seconds(lambda: jax.block_until_ready(call()), budget.repeats, budget.least_seconds)
    rate = count * budget.fall_steps / seconds
    return TableRow(name, {"agents": count, SPEED.key: rate, TIME.key: 1e3 * seconds, **figures}, note)
