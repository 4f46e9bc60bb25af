"""`kousoku bench tabular`: Q-learning on the article's grid, from a plain Python loop to thousands of agents."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import jax

from kousoku.agents.tabular.q_learning import QLearning
from kousoku.envs import make
from kousoku.training.config import TrainConfig
from kousoku.training.io import provenance
from kousoku.training.loop.program import CompiledLoop
from kousoku.training.loop.python_loop import PythonLoop
from kousoku.training.make_population import make_population
from kousoku.training.metrics.metric_sums import Recording
from kousoku.training.point_envs import point_envs

from . import jym, numpy_baseline
from .table import (
    AGENTS,
    COMPILE,
    MEMORY,
    SPEED,
    Section,
    TableRow,
    attempt,
    machine,
    markdown,
    median_seconds,
    save,
    speed,
)
from .uncached import uncached

TITLE = "Tabular Q-learning on the article's 8 x 12 grid"
LONGEST_BLOCK = 1 << 20
ENOUGH_STEPS = 8_000_000
BASE = "Python and NumPy loop"
ABOUT = (
    "epsilon-greedy (0.1) with random tie-break, threefry random bits, returns recorded; medians after a warm-up; "
    "compile time apart, without a cache."
)


def bench(out: Path, repeats: int, jym_folder: str | None, say: Callable[[str], None] = print) -> Section:
    """Measures every contender, prints the table and saves it as tabular.md and tabular.json."""
    with uncached():
        rows = [numpy_row(repeats), readable_row()]
        rows += [compiled_row('loop="compiled"', agents, repeats) for agents in (1, 30, 4096)]
        rows += jym_rows(jym_folder)
    section = Section(TITLE, ABOUT, (AGENTS, SPEED, COMPILE, MEMORY), rows, BASE)
    text = markdown(TITLE, machine(provenance.device(), provenance.versions()), [section])
    say(text)
    found = {"device": provenance.device(), "versions": provenance.versions()}
    say(f"saved: {save(out, 'tabular', text, [section], found)}")
    return section


def numpy_row(repeats: int, steps: int = 20_000) -> TableRow:
    """Measures the loop in Python and NumPy."""
    seconds = median_seconds(lambda: numpy_baseline.q_learning(8, 12, steps, 0), repeats)
    return speed(BASE, 1, steps / seconds, "by hand, no library")


def readable_row(steps: int = 300) -> TableRow:
    """Measures our own readable loop."""
    env, agent = make("GridWorld-v0"), QLearning(discount=0.9)
    config = TrainConfig(steps=steps)
    loop = PythonLoop(make_population(agent, point_envs(env, {}, config), config), Recording())
    state, at = loop.run(loop.start(), 0, 10)
    began = time.perf_counter()
    while at < steps:
        state, at = loop.run(state, at, steps)
    rate = (steps - 10) / (time.perf_counter() - began)
    return speed('loop="python"', 1, rate, "for debugging: every value checked")


def compiled_row(
    name: str, agents: int, repeats: int, enough: int = ENOUGH_STEPS, longest: int = LONGEST_BLOCK, note: str = ""
) -> TableRow:
    """Measures the compiled loop for a number of agents, spread over all devices: at least `enough` steps in a
    measurement.
    """
    env, agent = make("GridWorld-v0"), QLearning(discount=0.9)
    config = TrainConfig(seeds=agents)
    population = make_population(agent, point_envs(env, {}, config), config)
    loop = CompiledLoop(population, Recording(), None, longest)
    first = loop.start()
    began = time.perf_counter()
    compiled = loop.lower(first).compile()
    compile_seconds = time.perf_counter() - began
    blocks = max(1, enough // (agents * loop.iterations_per_call))
    state = [first, 0]

    def run() -> None:
        for _ in range(blocks):
            state[:] = loop.run(state[0], state[1] % 2**29, 2**30)
        jax.block_until_ready(state[0])

    steps = blocks * loop.iterations_per_call
    seconds = median_seconds(run, repeats)
    used = compiled.memory_analysis()
    memory = (used.argument_size_in_bytes + used.output_size_in_bytes + used.temp_size_in_bytes) / 2**20
    return speed(name, agents, steps * agents / seconds, note, compile_seconds=compile_seconds, memory_mib=memory)


def jym_rows(folder: str | None, steps: int = 100_000) -> list[TableRow]:
    """Measures jym as its notebooks call it, compiling at each call, for one agent and for thirty."""
    if folder is None:
        return [TableRow("jym", {"agents": 1}, "name a folder that holds it with --jym")]

    def measure(agents: int) -> TableRow:
        seconds = median_seconds(jym.rollout(folder, steps, agents), 3)
        return speed("jym", agents, steps * agents / seconds, "as its notebooks call it: compiles at each call")

    return [attempt("jym", agents, lambda agents=agents: measure(agents)) for agents in (1, 30)]
