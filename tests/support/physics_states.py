"""C MuJoCo as the reference: states from motion, and what it computes from a state, in float64.

A state is put into C, and C computes one forward pass or one step from it; nothing is carried over from the state
before, so that errors do not add up and chaos plays no part.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import mujoco
import numpy as np

_BAD = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
_MAX_SPEED = 200.0
# What C computes in mj_forward and keeps under one name, of the kind that an engine can be compared by.
# fmt: off
FIELDS = [
    "xpos", "xquat", "xmat", "xipos", "xiquat", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos",
    "site_xmat", "subtree_com", "cinert", "cdof", "cvel", "cdof_dot", "qfrc_bias", "qfrc_spring", "qfrc_damper",
    "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive", "qfrc_actuator", "qfrc_smooth", "actuator_length",
    "actuator_velocity", "actuator_force", "act_dot", "ten_length", "ten_velocity", "qacc_smooth",
    "qfrc_constraint", "qacc", "energy", "sensordata", "efc_type", "efc_id", "efc_pos", "efc_margin",
    "efc_frictionloss", "efc_diagA", "efc_KBIP", "efc_D", "efc_R", "efc_vel", "efc_aref", "efc_force", "efc_state",
]
CONTACT_FIELDS = [
    "pos", "dist", "geom", "dim", "friction", "mu", "includemargin", "solref", "solreffriction", "solimp",
    "efc_address", "exclude",
]
# fmt: on


class State(NamedTuple):
    """What a step starts from: one state, or several stacked on a leading axis."""

    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    ctrl: np.ndarray
    qacc_warmstart: np.ndarray
    time: np.ndarray


def stack(states: Sequence[State]) -> State:
    """Several states as one, each field with the states on its leading axis."""
    return State(*(np.stack(field) for field in zip(*states, strict=True)))


def get_state(data: mujoco.MjData) -> State:
    fields = (data.qpos, data.qvel, data.act, data.ctrl, data.qacc_warmstart)
    return State(*(field.copy() for field in fields), np.float64(data.time))


def set_state(data: mujoco.MjData, state: State) -> None:
    for name, value in state._asdict().items():
        if name != "time":
            getattr(data, name)[:] = value
    data.time = float(state.time)


def states(mj_model: mujoco.MjModel, count: int, seed: int) -> list[State]:
    """`count` states from motion under random controls, in the order of time within rollouts from random starts.

    There are at least 8 rollouts, each of at least 200 steps and of at most 100 samples, so that a model is seen
    falling, colliding and moving, and not at rest. A rollout that blows up, or goes beyond 200 rad/s or m/s, is given
    up with its last 20 samples.

    Raises:
        RuntimeError: too many rollouts blow up.
    """
    model = copy.copy(mj_model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    rng = np.random.default_rng(seed)
    starts = max(8, count // 100)
    length = -(-count // starts)
    stride = max(5, -(-200 // length))
    found: list[State] = []
    for _ in range(4 * starts):
        found += _rollout(model, rng, length, stride)
        if len(found) >= count:
            return found[:count]
    raise RuntimeError(f"the model blows up: {len(found)} states of {count}")


def _rollout(model: mujoco.MjModel, rng: np.random.Generator, length: int, stride: int) -> list[State]:
    data = start(model, rng)
    seen: list[State] = []
    with silent():
        for step in range(length * stride):
            if step % 10 == 0:
                data.ctrl[:] = controls(model, rng)
            if step % stride == stride - 1:
                seen.append(get_state(data))
            mujoco.mj_step(model, data)
            if blown_up(data) or np.abs(data.qvel).max(initial=0.0) > _MAX_SPEED:
                return seen[:-20]
    return seen


def pushing(model: mujoco.MjModel, count: int, seed: int = 0) -> list[State]:
    """`count` states of Gymnasium's Pusher in which a capsule of its hand is on the cylinder, from random motion."""
    rng, found = np.random.default_rng(seed), []
    tips, cylinder = model.body("tips_arm").id, model.body("object").id
    kinds = {int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_CYLINDER)}
    while len(found) < count:
        data = mujoco.MjData(model)
        data.qpos[:7] = rng.uniform(*model.jnt_range[:7].T)
        mujoco.mj_kinematics(model, data)
        away = data.xpos[tips] - data.xpos[cylinder]
        if abs(away[2]) > 0.15:
            continue
        data.qpos[[8, 7]] = away[:2] + 0.12 * rng.normal(size=2)
        data.qvel[:7] = rng.normal(size=7)
        for step in range(60):
            if step % 10 == 0:
                data.ctrl[:] = controls(model, rng)
            state = get_state(data)
            mujoco.mj_step(model, data)
            if step % 5 == 0 and any(set(model.geom_type[pair]) == kinds for pair in data.contact.geom):
                found.append(state)
    return found[:count]


def start(model: mujoco.MjModel, rng: np.random.Generator) -> mujoco.MjData:
    """A random start about the default configuration; limited joints start inside their limits, or a little outside."""
    data = mujoco.MjData(model)
    size = rng.choice([0.02, 0.1, 0.4])
    mujoco.mj_integratePos(model, data.qpos, size * rng.normal(size=model.nv), 1.0)
    scalar = np.isin(model.jnt_type, (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE))
    for joint in np.flatnonzero(scalar & (model.jnt_limited != 0)):
        low, high = model.jnt_range[joint]
        slack = 0.02 * (high - low)
        address = model.jnt_qposadr[joint]
        data.qpos[address] = np.clip(data.qpos[address], low - slack, high + slack)
    data.qvel[:] = rng.choice([0.1, 0.5, 2.0]) * rng.normal(size=model.nv)
    data.act[:] = 0.1 * rng.normal(size=model.na)
    return data


def controls(model: mujoco.MjModel, rng: np.random.Generator) -> np.ndarray:
    """Random controls: from 1.2 times their range, so that some are clipped, or else normal."""
    low, high = model.actuator_ctrlrange.T
    middle, half = (low + high) / 2, 1.2 * (high - low) / 2
    uniform = middle + half * rng.uniform(-1.0, 1.0, size=model.nu)
    return np.where(model.actuator_ctrllimited != 0, uniform, 1.5 * rng.normal(size=model.nu))


def blown_up(data: mujoco.MjData) -> bool:
    """Whether C has seen a number that is not finite or beyond 1e10; auto-reset may be on or off."""
    return any(data.warning[kind].number for kind in _BAD) or not (
        np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all() and np.isfinite(data.qacc).all()
    )


@contextmanager
def silent() -> Iterator[None]:
    """Keeps C's warnings off the screen and out of MUJOCO_LOG.TXT, which it otherwise writes in the current folder."""
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)


class Oracle:
    """C MuJoCo on one model: a forward pass or a step from any state, each independent of the last.

    If `converged`, its solver runs at tolerance zero, on until a step no longer gains anything: where cones are
    elliptic, stopping at 1e-10 leaves errors of 1e-8 in qpos and 1e-5 in qvel; at zero they are those of rounding.
    And it looks at all shapes: boxes about bodies, which it looks at first else, miss contacts a millionth deep.

    >>> oracle = Oracle(mujoco.MjModel.from_xml_string("<mujoco/>"))
    >>> oracle.forward(get_state(oracle.data))["qM"].shape
    (0, 0)
    """

    def __init__(self, mj_model: mujoco.MjModel, converged: bool = True):
        self.model = copy.copy(mj_model)
        if converged:
            self.model.opt.tolerance = 0.0
            self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        self.data = mujoco.MjData(self.model)

    def _put(self, state: State) -> None:
        mujoco.mj_resetData(self.model, self.data)
        set_state(self.data, state)

    def forward(self, state: State) -> dict[str, np.ndarray]:
        """What mj_forward computes, by C's own names, with matrices dense.

        Added to them: `qM` [nv, nv], `efc_J` [nefc, nv], `ten_J` [ntendon, nv], `actuator_moment` [nout, nv], and
        `contact_*` with one row a contact, in C's order, in the gap or not; `contact_frame` is [ncon, 3, 3], its
        rows the normal and the two tangents. Rotation matrices are [n, 3, 3].
        """
        self._put(state)
        mujoco.mj_forward(self.model, self.data)
        model, data = self.model, self.data
        out = {name: np.array(getattr(data, name)) for name in FIELDS}
        for name in ("xmat", "ximat", "geom_xmat", "site_xmat"):
            out[name] = out[name].reshape(-1, 3, 3)
        out["qM"] = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, out["qM"])
        out["efc_J"] = _jacobian(model, data)
        out["ten_J"] = _dense(model.nv, data.ten_J, model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind)
        moment = (data.moment_rownnz, data.moment_rowadr, data.moment_colind)
        out["actuator_moment"] = _dense(model.nv, data.actuator_moment, *moment)
        for name in CONTACT_FIELDS:
            out[f"contact_{name}"] = np.array(getattr(data.contact, name))
        out["contact_frame"] = np.array(data.contact.frame).reshape(-1, 3, 3)
        return out

    def step(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """qpos, qvel and act after mj_step."""
        self._put(state)
        mujoco.mj_step(self.model, self.data)
        return self.data.qpos.copy(), self.data.qvel.copy(), self.data.act.copy()

    def inverse(self, state: State, qacc: np.ndarray) -> np.ndarray:
        """qfrc_inverse: the force that would give `qacc` at this state."""
        self._put(state)
        self.data.qacc[:] = qacc
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.copy()

    def residual(self, state: State) -> float:
        """How far C is from the equation of motion, M qacc = qfrc_smooth + J' efc_force, relative to its terms.

        No engine can agree with C beyond what this says.
        """
        found = self.forward(state)
        smooth, constraint = found["qfrc_smooth"], found["efc_J"].T @ found["efc_force"]
        scale = np.abs(smooth).max(initial=1.0) + np.abs(constraint).max(initial=0.0)
        return float(np.abs(found["qM"] @ found["qacc"] - smooth - constraint).max(initial=0.0) / scale)


def reference(mj_model: mujoco.MjModel, state: State) -> dict[str, np.ndarray]:
    """`Oracle.forward` for one state; hold on to an `Oracle` for many."""
    return Oracle(mj_model).forward(state)


def stepped(mj_model: mujoco.MjModel, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`Oracle.step` for one state, or for several stacked, which come back stacked."""
    oracle = Oracle(mj_model)
    if np.ndim(state.time) == 0:
        return oracle.step(state)
    steps = [oracle.step(State(*fields)) for fields in zip(*state, strict=True)]
    qpos, qvel, act = (np.stack(field) for field in zip(*steps, strict=True))
    return qpos, qvel, act


def _jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    if mujoco.mj_isSparse(model):
        return _dense(model.nv, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    return np.array(data.efc_J).reshape(-1, model.nv) if data.nefc else np.zeros((0, model.nv))


def _dense(columns: int, values: np.ndarray, rownnz: np.ndarray, rowadr: np.ndarray, colind: np.ndarray) -> np.ndarray:
    """A matrix in compressed rows, made dense; columns beyond the last are zero."""
    dense = np.zeros((len(rownnz), columns))
    values, colind = np.ravel(values), np.ravel(colind)
    for row, (size, first) in enumerate(zip(rownnz, rowadr, strict=True)):
        dense[row, colind[first : first + size]] = values[first : first + size]
    return dense
