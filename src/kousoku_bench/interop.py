"""`kousoku bench interop`: other JAX libraries' environments in our kernel, beside the libraries' own programs."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from kousoku.collectors.slot import EnvSlot, advance_clipped, kernel_slots
from kousoku.compiler.fallback import KernelWarning
from kousoku.core.env import Env
from kousoku.envs import make
from kousoku.training.io import provenance

from .classic import compiled
from .interop_loops import LOOPS, Keys, Loop, opponent, own_loop, random_action, stepped
from .peers import foreign, installed
from .subprocess_timing import SubprocessFailed, run_in_subprocess
from .table import REASON_LENGTH, Section, TableColumn, TableRow, machine, markdown, median_seconds, save
from .uncached import uncached

TITLE = "Other JAX libraries' environments"
ABOUT = (
    "Random actions, of those that are allowed where a mask is observed; an episode that ends is followed by another. "
    "*Whole*: all steps of a call in one kernel, as agents that learn at each step and populations of evolution are "
    "run. *Step by step*: `advance` of Kousoku as one kernel in each step of a scan, as rollouts of agents with "
    "networks are. *Their own*: jit, vmap and scan of the library's step with its own auto-reset. {count} environments "
    "on all cores, {steps} in one call, each program in a process of its own, compiled without a cache. A step of a "
    "game for several is a move of each of them. Where the kernel has no rule for something, it is XLA that runs our "
    "step, too: the note says so."
)
COLUMNS = (
    TableColumn("times", "times their own, whole", ",.2f"),
    TableColumn("advance_times", "step by step", ",.2f"),
    TableColumn("whole", "whole, steps/s", ",.0f"),
    TableColumn("advance", "step by step, steps/s", ",.0f"),
    TableColumn("own", "their own, steps/s", ",.0f"),
    TableColumn("whole_compile", "compile, s", ",.1f"),
    TableColumn("own_compile", "compile their own, s", ",.1f"),
)
RATIOS = {"times": "whole", "advance_times": "advance"}
"""Which program each ratio is of, to their own."""
IDS: dict[str, tuple[str, ...]] = {
    "gymnax": (
        "CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "Asterix-MinAtar", "Breakout-MinAtar",
        "Freeway-MinAtar", "SpaceInvaders-MinAtar", "Catch-bsuite", "DeepSea-bsuite", "FourRooms-misc", "MetaMaze-misc",
    ),
    "pgx": (
        "2048", "animal_shogi", "backgammon", "chess", "connect_four", "go_9x9", "hex", "kuhn_poker",
        "minatar-breakout", "othello", "shogi", "tic_tac_toe",
    ),
    "jumanji": (
        "CVRP-v1", "Game2048-v1", "GraphColoring-v1", "Knapsack-v1", "Maze-v0", "Minesweeper-v0", "RubiksCube-v0",
        "Snake-v1", "Sudoku-v0", "TSP-v1",
    ),
    "navix": ("Navix-Empty-8x8-v0", "Navix-DoorKey-8x8-v0", "Navix-FourRooms-v0"),
    "xminigrid": ("MiniGrid-Empty-8x8", "MiniGrid-DoorKey-8x8", "XLand-MiniGrid-R1-9x9"),
    "craftax": ("Craftax-Classic-Symbolic-v1", "Craftax-Symbolic-v1"),
    "brax": ("ant", "halfcheetah", "hopper", "inverted_pendulum"),
    "playground": ("CartpoleBalance", "CheetahRun", "HopperHop"),
}  # fmt: skip
"""What is measured of each library."""
FEWER = {"brax": 8, "playground": 8, "craftax": 16}
"""Steps in one call of environments whose steps take long."""
NAMES = ("gymnax", "pgx", "jumanji", "Navix", "xminigrid", "craftax", "brax", "playground")
MEMORY = 0.8
"""Of the machine's, beyond which a program is refused more."""


@dataclass(frozen=True)
class InteropBudget:
    """The sizes of what is measured.

    Attributes:
        count: environments at once.
        steps: of each in one call; `FEWER` of some.
        repeats: of each measurement; the median counts.
        least_seconds: of one measurement.
        limit: seconds after which a process is stopped, compiling and all.
    """

    count: int = 1024
    steps: int = 64
    repeats: int = 3
    least_seconds: float = 0.5
    limit: float = 300.0


def bench(
    out: Path, budget: InteropBudget, only: str | None = None, say: Callable[[str], None] = print
) -> list[Section]:
    """Measures all libraries, or one, and saves interop.md and .json (or interop_LIBRARY) after each environment."""
    name = "interop" if only is None else f"interop_{only}"
    facts = {"device": provenance.device(), "versions": {**provenance.versions(), **installed(NAMES)}}
    about = ABOUT.format(count=budget.count, steps=f"{budget.steps} steps")
    head = f"{machine(facts['device'], facts['versions'])}\n\n{about}"
    sections: list[Section] = []
    text = ""
    for library in LOOPS if only is None else (only,):
        sections.append(Section(library, "", COLUMNS, []))
        for id in IDS[library]:
            row = measured(library, id, budget)
            sections[-1].rows.append(row)
            say(_line(library, row))
            text = markdown(TITLE, head, sections)
            save(out, name, text, sections, facts)
    say(f"{text}\nsaved: {out / name}.md")
    return sections


def measured(library: str, id: str, budget: InteropBudget) -> TableRow:
    """Measures one environment both ways; what fails is told in the note, and the other figure stays."""
    if importlib.util.find_spec(module_of(library)) is None:
        return TableRow(id, {}, f"not installed: pip install 'kousoku[{library}]'")
    steps = FEWER.get(library, budget.steps)
    found: dict[str, float] = {}
    notes = []
    for who in PROGRAMS:
        given = who, library, id, budget.count, steps, budget.repeats, budget.least_seconds
        try:
            with uncached():
                told = run_in_subprocess(__name__, "figures", *given, limit=budget.limit)
        except SubprocessFailed as error:
            notes.append(f"{who}: {str(error)[:REASON_LENGTH]}".replace("|", "/"))
            continue
        found |= {who: told["steps_per_second"], f"{who}_compile": told["compile_seconds"]}
        notes += [warning for warning in told["warnings"] if warning not in notes]
    if "own" in found:
        found |= {ratio: found[ours] / found["own"] for ratio, ours in RATIOS.items() if ours in found}
    return TableRow(id, dict(found), "; ".join(notes))


def module_of(library: str) -> str:
    """Returns the name that a library is imported by."""
    return {"playground": "mujoco_playground"}.get(library, library)


def figures(
    who: str, library: str, id: str, count: int, steps: int, repeats: int, least_seconds: float
) -> dict[str, Any]:
    """Returns how many steps a program makes in a second, its compile time, and where the kernel was not used, why.

    Args:
        who: one of `PROGRAMS`.
        library: of the environment.
        id: the library's.
        count: environments at once.
        steps: in one call.
        repeats: the median counts.
        least_seconds: of one measurement.
    """
    limit_memory()
    with foreign(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = {"opponent": opponent} if library == "pgx" else {}
        loop = PROGRAMS[who](library, id, make(f"{library}:{id}", **options))

        def rollout(key: PRNGKeyArray, carry: Any) -> Any:
            return loop.run(steps, jax.random.split(key, count), carry)

        carry = jax.jit(loop.start)(jax.random.split(jax.random.key(0), count))
        run, compile_seconds = compiled(rollout, jax.random.key(1), carry)
        state = [carry, 0]

        def call() -> None:
            state[:] = jax.block_until_ready(run(jax.random.key(state[1]), state[0])), state[1] + 1

        seconds = median_seconds(call, repeats, least_seconds)
    told = [str(warning.message) for warning in caught if issubclass(warning.category, KernelWarning)]
    return {"steps_per_second": count * steps / seconds, "compile_seconds": compile_seconds, "warnings": told}


def _whole(library: str, id: str, env: Env) -> Loop:
    """Returns how agents that learn at each step and generations of evolution run it: all steps in one kernel."""
    slots = kernel_slots(env)

    def run(steps: int, keys: Keys, slot: EnvSlot) -> EnvSlot:
        return jax.vmap(slots.compiled(partial(random_steps, steps=steps)))(keys, slot)

    return Loop(jax.vmap(slots.begin), run)


def random_steps(env: Env, key: PRNGKeyArray, slot: EnvSlot, steps: int) -> EnvSlot:
    """Takes so many random steps of one environment."""

    step = partial(random_step, env.action_space, partial(advance_clipped, env))
    return jax.lax.scan(lambda slot, key: (step(slot, key), None), slot, jax.random.split(key, steps))[0]


def random_step(space: Any, advance: Callable[..., Any], slot: EnvSlot, key: PRNGKeyArray) -> EnvSlot:
    """Takes a random action of those of a space, by `advance`: (slot, action, key) -> (slot, ...)."""
    action_key, step_key = jax.random.split(key)
    return advance(slot, random_action(space, slot.obs, action_key), step_key)[0]


def _advance(library: str, id: str, env: Env) -> Loop:
    """Returns how rollouts of agents with networks run it: each step a kernel, within a program of XLA's."""
    slots = kernel_slots(env)
    return stepped(jax.vmap(slots.begin), jax.vmap(partial(random_step, env.action_space, slots.advance)))


PROGRAMS: dict[str, Callable[[str, str, Env], Loop]] = {"whole": _whole, "advance": _advance, "own": own_loop}
"""What is measured of an environment."""


def limit_memory() -> None:
    """Lets this process have most of the machine's memory and no more, where the system can limit it."""
    if importlib.util.find_spec("resource") is None:
        return
    resource = importlib.import_module("resource")
    most = int(MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    _, allowed = resource.getrlimit(resource.RLIMIT_AS)
    most = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (most, allowed))


def _line(library: str, row: TableRow) -> str:
    told = f"{row.figures['times']:.2f} times their own" if "times" in row.figures else "did not run"
    return f"{library}:{row.name}: {told}{f' ({row.note})' if row.note else ''}"
