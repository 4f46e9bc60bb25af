"""`kousoku bench tabular`: Q-learning on the article's grid, from a plain Python loop to thousands of agents."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import jax

from ..agents.tabular.q_learning import QLearning
from ..envs import make
from ..training import facts
from ..training.config import TrainConfig
from ..training.lanes import make_lanes
from ..training.loops import CompiledLoop, PythonLoop
from ..training.tally import Record
from . import jym, plain
from .table import Row, machine, markdown, median_seconds, save

TITLE = "Tabular Q-learning on the article's 8 x 12 grid"
LONGEST_BLOCK = 1 << 20
ABOUT = (
    "epsilon-greedy (0.1) with random tie-break, threefry random bits, returns recorded; medians after a warm-up; "
    "compile time apart, without a cache."
)


def bench(out: Path, repeats: int, jym_folder: str | None, say: Callable[[str], None] = print) -> list[Row]:
    """Measure every contender, print the table and save it as tabular.md and tabular.json."""
    base = plain_row(repeats)
    rows = [base, readable_row()]
    rows += [compiled_row(agents, repeats) for agents in (1, 30, 4096)]
    rows += jym_rows(jym_folder)
    about = machine(facts.device(), facts.versions())
    text = markdown(TITLE, rows, base, f"{about}\n\n{ABOUT}")
    say(text)
    say(f"saved: {save(out, 'tabular', text, rows, {'device': facts.device(), 'versions': facts.versions()})}")
    return rows


def plain_row(repeats: int, steps: int = 20_000) -> Row:
    """The loop in Python and NumPy."""
    seconds = median_seconds(lambda: plain.q_learning(8, 12, steps, 0), repeats)
    return Row("Python and NumPy loop", 1, steps / seconds, note="by hand, no library")


def readable_row(steps: int = 300) -> Row:
    """Our own readable loop."""
    env, agent = make("GridWorld-v0"), QLearning(discount=0.9)
    loop = PythonLoop(make_lanes(agent, TrainConfig(steps=steps)), env, Record())
    learner, at = loop.run(loop.start(), 0, 10)
    began = time.perf_counter()
    while at < steps:
        learner, at = loop.run(learner, at, steps)
    return Row(
        'loop="python"', 1, (steps - 10) / (time.perf_counter() - began), note="for debugging: every value checked"
    )


def compiled_row(agents: int, repeats: int) -> Row:
    """The compiled loop for a number of agents, spread over all devices."""
    env, agent = make("GridWorld-v0"), QLearning(discount=0.9)
    lanes = make_lanes(agent, TrainConfig(seeds=agents))
    loop = CompiledLoop(lanes, env, Record(), None, LONGEST_BLOCK)
    learner = loop.start()
    began = time.perf_counter()
    compiled = loop.lower(learner).compile()
    compile_seconds = time.perf_counter() - began
    blocks = max(1, 8_000_000 // (agents * loop.program.block))
    state = [learner, 0]

    def run() -> None:
        for _ in range(blocks):
            state[:] = loop.run(state[0], state[1], 2**30)
        jax.block_until_ready(state[0])

    steps = blocks * loop.program.block
    seconds = median_seconds(run, repeats)
    used = compiled.memory_analysis()
    memory = (used.argument_size_in_bytes + used.output_size_in_bytes + used.temp_size_in_bytes) / 2**20
    return Row('loop="compiled"', agents, steps * agents / seconds, compile_seconds, memory)


def jym_rows(folder: str | None, steps: int = 100_000) -> list[Row]:
    """jym as its notebooks call it, compiling at each call, for one agent and for thirty."""
    if folder is None:
        return [Row("jym", 1, None, note="name a folder that holds it with --jym")]
    rows = []
    for agents in (1, 30):
        try:
            run = jym.rollout(folder, steps, agents)
        except jym.JymError as error:
            return [Row("jym", 1, None, note=f"does not import here: {error}")]
        seconds = median_seconds(run, 3)
        rows.append(
            Row("jym", agents, steps * agents / seconds, note="as its notebooks call it: compiles at each call")
        )
    return rows
