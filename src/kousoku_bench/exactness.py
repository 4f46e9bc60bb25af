"""Exactness: how far ours lies from C MuJoCo's, stage by stage and a step later, from the same contact-rich states."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kousoku.compiler import kernel
from kousoku.physics import Forward, forward, load, step
from kousoku.physics.algebra.scalar import ZERO, to_array
from kousoku.physics.contacts import contacts_of
from kousoku.training.devices import use_all_cores

from . import peers
from .budget import Budget
from .rigid import MODELS, c_mujoco, compiled_model, motion, ours_of, parts
from .subprocess_timing import run_in_subprocess
from .table import Section, TableColumn, TableRow, attempt

STAGES = {
    "bodies": "places of bodies", "depth": "depth of contacts, in sum", "inertia": "mass matrix", "bias": "bias force",
    "passive": "passive force", "actuation": "actuators' force", "smooth": "smooth acceleration",
    "constraint": "constraints' force", "acceleration": "acceleration",
}  # fmt: skip
ABOUT = (
    "From each of {states:,d} states of a model, {rollouts} rollouts under random commands seen every {stride} steps: "
    "one step by C MuJoCo in float64 with Newton's method, its solver and its collisions at tolerance zero, and the "
    "same step by others under the same command. The largest difference of a state's positions and of its velocities, "
    "and over the states its median, 99.9th percentile and maximum; then, at the beginning of the step, the largest "
    "difference of each stage's numbers, relative to one plus the largest of them, in the maximum over the states. "
    "`float64` and `float32` are ours. `C, rounded` is C MuJoCo, in float64, from the states rounded to float32: what "
    "rounding does before anything is computed. `C, PGS` is C MuJoCo with the solver that the humanoids' files ask "
    "for, and its tolerance. MJX takes the step only, in float32."
)
STRIDE, SHOTS = 10, 20
SHARES = {"median": 50.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
SHOWN = ("median", "p99.9", "max")
KINDS = ("float64", "float32", "C, rounded", "MJX, float32")
MJX_BATCH = 250
FAR = (0, 30, 300, 3_000)
RUNNERS = ("half_cheetah", "ant", "humanoid")
ABOUT_FAR = (
    "The same states, moved by so many metres along x, and along y where the model can go there, and rounded to "
    "float32: one step by ours in float32 beside C MuJoCo's in float64. The columns are as above."
)

Numbers = dict[str, np.ndarray]


def section(budget: Budget) -> Section:
    """Compares all models, in float64 and float32, and others beside them."""
    columns = [TableColumn(f"{what}_{share}", f"{what} {share}", ".1e") for what in ("qpos", "qvel") for share in SHOWN]
    columns += [TableColumn(f"{stage}_max", said, ".1e") for stage, said in STAGES.items()]
    columns.append(TableColumn("contacts", "rows a state", ",.1f"))
    rows = [row for name in MODELS for row in _rows(name, budget)]
    states = budget.parity_rollouts * SHOTS
    about = ABOUT.format(states=states, rollouts=budget.parity_rollouts, stride=STRIDE)
    return Section("Ours beside C MuJoCo", about, tuple(columns), rows)


def _rows(name: str, budget: Budget) -> list[TableRow]:
    kinds = [*KINDS, *(["C, PGS"] if name.startswith("humanoid") else [])]
    return [attempt(f"{name}, {kind}", 0, partial(_row, name, kind, budget)) for kind in kinds]


def far_section(budget: Budget) -> Section:
    """Compares models that run, in float32, away from the origin."""
    columns = tuple(TableColumn(f"qvel_{share}", f"qvel {share}", ".1e") for share in SHARES)
    rows = [attempt(f"{name}, {far} m", 0, partial(_far_row, name, far, budget)) for name in RUNNERS for far in FAR]
    return Section("Ours far from the origin", ABOUT_FAR, columns, rows)


def _far_row(name: str, far: int, budget: Budget) -> TableRow:
    return TableRow(
        f"{name}, {far} m", run_in_subprocess(__name__, "far_differences", name, far, asdict(budget), limit=600.0)
    )


def _row(name: str, kind: str, budget: Budget) -> TableRow:
    figures = run_in_subprocess(__name__, "differences", name, kind, asdict(budget), limit=1800.0)
    return TableRow(f"{name}, {kind}", figures)


def differences(name: str, kind: str, budget: dict[str, Any]) -> dict[str, float]:
    """Returns percentiles of the differences, measured in this process."""
    use_all_cores()
    compiled = compiled_model(name)
    states, commands = visited_states(compiled, Budget(**budget).parity_rollouts)
    wanted, rows = computed(compiled, states, commands)
    return _shares(computed_by(kind, compiled, states, commands), wanted) | {"contacts": rows}


def far_differences(name: str, far: float, budget: dict[str, Any]) -> dict[str, float]:
    """Returns percentiles of what float32 loses in a step that far from the origin, measured in this process."""
    use_all_cores()
    compiled = compiled_model(name)
    states, commands = visited_states(compiled, Budget(**budget).parity_rollouts)
    travels = 2 if compiled.jnt_type[0] == c_mujoco().mjtJoint.mjJNT_FREE else 1
    states[:, 1 : 1 + travels] += far  # behind the time
    states, commands = (np.asarray(x, np.float32).astype(np.float64) for x in (states, commands))
    wanted, _ = computed(compiled, states, commands)
    return _shares(computed_by("float32", compiled, states, commands, with_stages=False), wanted)


def _shares(found: Numbers, wanted: Numbers) -> dict[str, float]:
    """Returns percentiles of how far each state's numbers are off."""
    figures: dict[str, float] = {}
    for what, values in found.items():
        exact = wanted[what]
        away = np.abs(values - exact).max(axis=1, initial=0.0)
        if what in STAGES:
            away = away / (1.0 + np.abs(exact).max(axis=1, initial=0.0))
        figures |= {f"{what}_{share}": float(np.percentile(away, percent)) for share, percent in SHARES.items()}
    return figures


def computed_by(
    kind: str, compiled: Any, states: np.ndarray, commands: np.ndarray, with_stages: bool = True
) -> Numbers:
    """Computes the stages and the next positions and velocities, each [states, ...], by one of `KINDS` or by "C, PGS".

    Ours compile sooner without the stages.
    """
    if kind == "C, PGS":
        other = copy.copy(compiled)
        other.opt.solver = c_mujoco().mjtSolver.mjSOL_PGS
        return computed(other, states, commands, to_the_end=False)[0]
    if kind == "C, rounded":
        near, given = (np.asarray(x, np.float32).astype(np.float64) for x in (states, commands))
        return computed(compiled, near, given)[0]
    dtype = np.dtype(kind.removeprefix("MJX, "))
    take = _of_mjx if kind.startswith("MJX") else partial(_of_ours, with_stages=with_stages)
    with jax.enable_x64(dtype == np.float64):
        return {what: np.asarray(x, np.float64) for what, x in take(compiled, states, commands, dtype).items()}


def visited_states(compiled: Any, rollouts: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns states [rollouts * SHOTS, ...] that random commands lead to, as C keeps them, and a command for each."""
    mujoco, rollout = c_mujoco(), c_mujoco("mujoco.rollout")
    states, commands = motion(compiled, rollouts, STRIDE * SHOTS, cores=1)
    way, _ = rollout.rollout(compiled, [mujoco.MjData(compiled)], states, commands)
    shots = way[:, STRIDE - 1 :: STRIDE].reshape(-1, states.shape[1])
    return shots, commands[:, STRIDE - 1 :: STRIDE].reshape(len(shots), -1)


def computed(compiled: Any, states: np.ndarray, commands: np.ndarray, to_the_end: bool = True) -> tuple[Numbers, float]:
    """Computes C's stages and next positions and velocities, each [states, ...]; its iterations run to the end or as
    they are.

    And how many rows of constraints there were in the mean.
    """
    mujoco = c_mujoco()
    exact, data = copy.copy(compiled), mujoco.MjData(compiled)
    if to_the_end:
        exact.opt.tolerance, exact.opt.iterations = 0.0, max(100, compiled.opt.iterations)
        exact.opt.ccd_tolerance, exact.opt.ccd_iterations = 1e-15, 1000
        # Boxes about bodies, which C looks at before their shapes, miss contacts that are a millionth deep.
        exact.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    found: list[Numbers] = []
    rows = 0
    for state, command in zip(states, commands, strict=True):
        mujoco.mj_resetData(exact, data)
        mujoco.mj_setState(exact, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        data.ctrl[:] = command
        mujoco.mj_forward(exact, data)
        stages = _stages_of_c(exact, data)
        rows += data.nefc
        data.qacc_warmstart[:] = 0.0
        mujoco.mj_step(exact, data)
        found.append(stages | {"qpos": data.qpos.copy(), "qvel": data.qvel.copy(), "act": data.act.copy()})
    return {what: np.stack([one[what] for one in found]) for what in found[0]}, rows / len(states)


def _stages_of_c(compiled: Any, data: Any) -> Numbers:
    inertia = np.zeros((compiled.nv, compiled.nv))
    c_mujoco().mj_fullM(compiled, data, inertia)
    found = {
        "bodies": data.xpos, "inertia": inertia, "bias": data.qfrc_bias, "passive": data.qfrc_passive,
        "actuation": data.qfrc_actuator, "smooth": data.qacc_smooth, "constraint": data.qfrc_constraint,
        "acceleration": data.qacc, "depth": np.maximum(-data.contact.dist, 0.0).sum(),
    }  # fmt: skip
    return {what: np.array(values, np.float64).reshape(-1) for what, values in found.items()}


def _of_ours(
    compiled: Any, states: np.ndarray, commands: np.ndarray, dtype: np.dtype, with_stages: bool
) -> Mapping[str, Any]:
    """Computes the same by the kernel."""
    exact = copy.copy(compiled)
    if dtype == np.float64:
        exact.opt.tolerance = 0.0
    model = load(exact)

    def one(state: Any, ctrl: Any) -> dict[str, Any]:
        after = step(model, state, ctrl)
        stages = _stages(forward(model, state, ctrl)) if with_stages else {}
        return stages | {"qpos": after.qpos, "qvel": after.qvel, "act": after.act}

    many = jax.jit(jax.vmap(kernel(one)))
    return many(ours_of(model, states, dtype), jnp.asarray(commands, dtype))


def _stages(f: Forward) -> dict[str, Any]:
    s, dtype = f.smooth, f.state.qpos.dtype
    matrix = s.qM
    pairs = ((max(i, j), min(i, j)) for i in range(f.model.nv) for j in range(f.model.nv))
    numbers = {
        "bodies": [x for frame in s.kinematics.bodies for x in frame.pos],
        "inertia": [matrix.get(pair, ZERO) for pair in pairs],
        "bias": s.qfrc_bias,
        "passive": s.qfrc_passive,
        "actuation": s.actuation.qfrc_actuator,
        "smooth": s.qacc_smooth,
        "constraint": f.solution.qfrc_constraint,
        "acceleration": f.solution.qacc,
    }
    depth = jnp.maximum(-contacts_of(f).distance, 0.0).sum().reshape(1)
    return {what: to_array(values, dtype) for what, values in numbers.items()} | {"depth": depth}


def _of_mjx(compiled: Any, states: np.ndarray, commands: np.ndarray, dtype: np.dtype) -> Mapping[str, Any]:
    """Computes the step by MJX, some states at a time."""
    with peers.foreign():
        mjx = c_mujoco("mujoco.mjx")
        model, data = mjx.put_model(compiled), mjx.make_data(compiled)

        def one(given: Any) -> dict[str, Any]:
            qpos, qvel, act, ctrl = given
            after = mjx.step(model, data.replace(qpos=qpos, qvel=qvel, act=act, ctrl=ctrl))
            return {"qpos": after.qpos, "qvel": after.qvel}

        arrays = tuple(jnp.asarray(x, dtype) for x in (*parts(compiled, states), commands))
        return jax.jit(lambda given: jax.lax.map(one, given, batch_size=min(MJX_BATCH, len(states))))(arrays)
