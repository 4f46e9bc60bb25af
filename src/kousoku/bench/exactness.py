"""How far one step of ours lies from one of C MuJoCo's, from the same states of contact-rich motion."""

from __future__ import annotations

import copy
from dataclasses import asdict
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..compiler.function import kernel
from ..physics import load, step
from ..training.devices import use_all_cores
from .effort import Effort
from .fresh import measured
from .rigid import MODELS, c_mujoco, compiled_model, motion, ours_of
from .table import Column, Row, Section, attempt

ABOUT = (
    "One step from each of {states:,d} states of a model, {lanes} ways under random commands seen every {stride} "
    "steps, by ours and by C MuJoCo from the same state under the same command, both with Newton's method, C's at "
    "tolerance zero. The largest difference of a state's positions and of its velocities, and over the states its "
    "median, 99th and 99.9th percentile and maximum. `C, PGS` is C MuJoCo with the solver that the humanoids' files "
    "ask for, against C with Newton's."
)
STRIDE, SHOTS = 10, 20
SHARES = {"median": 50.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}


def section(effort: Effort) -> Section:
    """All models, in float64 and float32."""
    columns = [Column(f"{what}_{name}", f"{what} {name}", ".1e") for what in ("qpos", "qvel") for name in SHARES]
    columns.append(Column("contacts", "rows a state", ",.1f"))
    rows = [row for name in MODELS for row in _rows(name, effort)]
    about = ABOUT.format(states=effort.parity_lanes * SHOTS, lanes=effort.parity_lanes, stride=STRIDE)
    return Section("One step beside C MuJoCo", about, tuple(columns), rows)


def _rows(name: str, effort: Effort) -> list[Row]:
    kinds = ["float64", "float32", *(["C, PGS"] if name.startswith("humanoid") else [])]
    return [attempt(f"{name}, {kind}", 0, partial(_row, name, kind, effort)) for kind in kinds]


def _row(name: str, kind: str, effort: Effort) -> Row:
    figures = measured(__name__, "differences", name, kind, asdict(effort), limit=900.0)
    return Row(f"{name}, {kind}", figures)


def differences(name: str, kind: str, effort: dict[str, Any]) -> dict[str, float]:
    """Percentiles of the differences, measured here."""
    use_all_cores()
    compiled = compiled_model(name)
    states, commands = seen(compiled, Effort(**effort).parity_lanes)
    wanted, rows = stepped(compiled, states, commands)
    if kind == "C, PGS":
        found = stepped(_projected(compiled), states, commands)[0][:, 1 : 1 + compiled.nq + compiled.nv]
    else:
        found = _ours(compiled, states, commands, np.dtype(kind))
    nq, nv = compiled.nq, compiled.nv
    away = np.abs(found - wanted[:, 1 : 1 + nq + nv])
    parts = {"qpos": away[:, :nq].max(1), "qvel": away[:, nq:].max(1)}
    figures = {
        f"{what}_{share}": float(np.percentile(values, percent))
        for what, values in parts.items()
        for share, percent in SHARES.items()
    }
    return figures | {"contacts": rows}


def seen(compiled: Any, lanes: int) -> tuple[np.ndarray, np.ndarray]:
    """States [lanes * SHOTS, ...] on the ways that random commands lead, as C keeps them, and a command for each."""
    mujoco, rollout = c_mujoco(), c_mujoco("mujoco.rollout")
    states, commands = motion(compiled, lanes, STRIDE * SHOTS, cores=1)
    way, _ = rollout.rollout(compiled, [mujoco.MjData(compiled)], states, commands)
    shots = way[:, STRIDE - 1 :: STRIDE].reshape(-1, states.shape[1])
    return shots, commands[:, STRIDE - 1 :: STRIDE].reshape(len(shots), -1)


def stepped(compiled: Any, states: np.ndarray, commands: np.ndarray) -> tuple[np.ndarray, float]:
    """C's states a step later, its solver run to the end; and how many rows of constraints there were in the mean."""
    mujoco = c_mujoco()
    exact, data = copy.copy(compiled), mujoco.MjData(compiled)
    exact.opt.tolerance, exact.opt.iterations = 0.0, max(100, compiled.opt.iterations)
    kind, after, rows = mujoco.mjtState.mjSTATE_FULLPHYSICS, np.empty_like(states), 0
    for i, (state, command) in enumerate(zip(states, commands, strict=True)):
        mujoco.mj_resetData(exact, data)
        mujoco.mj_setState(exact, data, state, kind)
        data.ctrl[:] = command
        mujoco.mj_step(exact, data)
        mujoco.mj_getState(exact, data, after[i], kind)
        rows += data.nefc
    return after, rows / len(states)


def _projected(compiled: Any) -> Any:
    other = copy.copy(compiled)
    other.opt.solver = c_mujoco().mjtSolver.mjSOL_PGS
    return other


def _ours(compiled: Any, states: np.ndarray, commands: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """[states, nq + nv] a step later."""
    exact = copy.copy(compiled)
    if dtype == np.float64:
        exact.opt.tolerance = 0.0
    with jax.enable_x64(dtype == np.float64):
        model = load(exact)
        begin = ours_of(model, states, dtype)
        after = jax.jit(jax.vmap(kernel(lambda s, ctrl: step(model, s, ctrl))))(begin, jnp.asarray(commands, dtype))
        return np.concatenate([np.asarray(after.qpos, np.float64), np.asarray(after.qvel, np.float64)], axis=1)
