"""Steps of rigid bodies: our kernel beside C MuJoCo, thread for thread."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kousoku.compiler import kernel
from kousoku.physics import Model, State, load, step
from kousoku.training.devices import use_all_cores

from .budget import Budget
from .classic import compiled as timed_compile
from .subprocess_timing import run_in_subprocess
from .table import Section, TableColumn, TableRow, attempt, median_seconds_in_turns

MODELS = (
    "half_cheetah", "hopper", "walker2d_v5", "ant", "humanoid", "humanoidstandup", "swimmer", "reacher", "pusher_v5",
    "inverted_pendulum", "inverted_double_pendulum",
)  # fmt: skip
ABOUT = (
    "Gymnasium's models: {count:,d} of each in contact-rich motion, which {warm_up} steps of random commands from "
    "random starts lead to, take {steps} more steps under the same random commands. Ours computes in float32, C MuJoCo "
    "in float64; both solve constraints by Newton's method to MuJoCo's tolerance, also where the file asks for another "
    "solver (the humanoids). `mujoco.rollout` takes all steps in one call; `mujoco.batch` one call a step. Each row is "
    "measured in turns in a process of its own that may use one core, and in one that may use two."
)
WARM_UP = 200


def section(budget: Budget) -> Section:
    """Measures all models, on one core and on two."""
    keys = ("ours", "rollout", "times_rollout", "batch", "times_batch")
    headings = ("kousoku, steps/s", "rollout, steps/s", "times", "batch, steps/s", "times")
    columns = [
        TableColumn(
            f"{key}_{cores}", f"{heading}, {cores} core{'s' * (cores > 1)}", ",.1f" if "times" in key else ",.0f"
        )
        for cores in (1, 2)
        for key, heading in zip(keys, headings, strict=True)
    ]
    rows = [attempt(name, budget.bodies, partial(_row, name, budget)) for name in MODELS]
    about = ABOUT.format(count=budget.bodies, steps=budget.body_steps, warm_up=WARM_UP)
    compile_ = TableColumn("compile_seconds", "compile, s", ",.1f")
    return Section("Steps of rigid bodies", about, (*columns, compile_), rows)


def _row(name: str, budget: Budget) -> TableRow:
    figures: dict[str, float | int | None] = {}
    for cores in (1, 2):
        rates = run_in_subprocess(__name__, "rates", name, cores, asdict(budget), cores=cores, limit=600.0)
        figures["compile_seconds"] = rates.pop("compile_seconds")
        for key, rate in rates.items():
            figures[f"{key}_{cores}"] = rate
            if key != "ours":
                figures[f"times_{key}_{cores}"] = rates["ours"] / rate
    return TableRow(name, figures)


def rates(name: str, cores: int, budget: dict[str, Any]) -> dict[str, float]:
    """Returns steps per second of all in all, measured in this process, and the seconds to compile."""
    use_all_cores()
    sizes = Budget(**budget)
    compiled = compiled_model(name)
    states, commands = motion(compiled, sizes.bodies, sizes.body_steps, cores)
    total = sizes.bodies * sizes.body_steps
    ours, compile_seconds = _ours(compiled, states, commands)
    with c_mujoco("mujoco.rollout").Rollout(nthread=cores if cores > 1 else 0) as pool:
        rollout, batch = _rollout(pool, compiled, states, commands, cores), _batch(compiled, states, commands, cores)
        seconds = median_seconds_in_turns([ours, rollout, batch], sizes.repeats, sizes.least_seconds)
    speeds = {key: total / s for key, s in zip(("ours", "rollout", "batch"), seconds, strict=True)}
    return speeds | {"compile_seconds": compile_seconds}


def c_mujoco(name: str = "mujoco") -> Any:
    """Imports a module of which type checkers know nothing."""
    return importlib.import_module(name)


def compiled_model(name: str) -> Any:
    """Compiles one of Gymnasium's models by C MuJoCo, with Newton's method for a solver."""
    gymnasium, mujoco = c_mujoco("gymnasium"), c_mujoco()
    folder = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    compiled = mujoco.MjModel.from_xml_path(str(folder / f"{name}.xml"))
    compiled.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    return compiled


def motion(compiled: Any, count: int, steps: int, cores: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns states [N, nq + nv + na + 1], time first, as C keeps them, in motion; and commands [N, steps, nu]."""
    mujoco, rollout = c_mujoco(), c_mujoco("mujoco.rollout")
    rng, data = np.random.default_rng(0), mujoco.MjData(compiled)
    size = mujoco.mj_stateSize(compiled, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    starts = np.zeros((count, size))
    for i in range(count):
        mujoco.mj_resetData(compiled, data)
        mujoco.mj_integratePos(compiled, data.qpos, 0.1 * rng.normal(size=compiled.nv), 1.0)
        data.qvel[:] = 0.1 * rng.normal(size=compiled.nv)
        mujoco.mj_getState(compiled, data, starts[i], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    low, high = compiled.actuator_ctrlrange.T
    commands = rng.uniform(low, high, size=(count, WARM_UP + steps, compiled.nu))
    data = [mujoco.MjData(compiled) for _ in range(cores)]
    states, _ = rollout.rollout(compiled, data, starts, commands[:, :WARM_UP])
    return states[:, -1], commands[:, WARM_UP:]


def _ours(compiled: Any, states: np.ndarray, commands: np.ndarray) -> tuple[Callable[[], object], float]:
    model = load(compiled)

    def run(state: State, ctrls: jax.Array) -> State:
        return jax.lax.scan(lambda s, ctrl: (step(model, s, ctrl), None), state, ctrls)[0]

    begin, given = ours_of(model, states), jnp.asarray(commands, jnp.float32)
    function, compile_seconds = timed_compile(jax.vmap(kernel(run)), begin, given)
    return lambda: jax.block_until_ready(function(begin, given)), compile_seconds


def parts(compiled: Any, states: np.ndarray) -> list[np.ndarray]:
    """Returns positions, velocities and activations of C's states."""
    return np.split(states, np.cumsum([1, compiled.nq, compiled.nv, compiled.na]), axis=1)[1:4]


def ours_of(model: Model, states: np.ndarray, dtype: Any = jnp.float32) -> State:
    """Returns C's states as ours [N, ...]."""
    qpos, qvel, act = (jnp.asarray(x, dtype) for x in parts(model, states))
    return jax.vmap(State)(qpos, qvel, act, jnp.zeros_like(qvel))


def _rollout(pool: Any, compiled: Any, states: np.ndarray, commands: np.ndarray, cores: int) -> Callable[[], object]:
    data = [c_mujoco().MjData(compiled) for _ in range(cores)]
    return lambda: pool.rollout(compiled, data, states, commands)


def _batch(compiled: Any, states: np.ndarray, commands: np.ndarray, cores: int) -> Callable[[], object]:
    many = c_mujoco("mujoco.batch").Batch(compiled, nsim=len(states), nthread=cores)
    start = dict(zip(("qpos", "qvel", "act"), parts(compiled, states), strict=True))

    def run() -> None:
        for name, value in start.items():
            if value.size:
                many.bind(name)[:] = value
        for t in range(commands.shape[1]):
            many.bind("ctrl")[:] = commands[:, t]
            many.step()

    return run
