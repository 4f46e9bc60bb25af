"""MJCF to `Model`, by MuJoCo's own compiler; what the engine does not do is refused by name."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ConfigError
from .collision.candidates import missing
from .model import CHOICES, OPTIONS, Constants, Model

COUNTS = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "ntendon", "neq", "npair", "nexclude", "nsensor")
INTEGERS = {
    "body": ("parentid", "rootid", "jntnum", "jntadr", "dofnum", "dofadr", "weldid", "geomnum", "geomadr"),
    "jnt": ("type", "qposadr", "dofadr", "bodyid", "limited", "actfrclimited"),
    "dof": ("bodyid", "jntid", "parentid"),
    "geom": ("type", "bodyid", "contype", "conaffinity", "condim", "priority"),
    "site": ("bodyid", "type"),
    "actuator": (
        "trntype", "dyntype", "gaintype", "biastype", "trnid", "ctrllimited", "forcelimited", "actlimited", "actadr",
        "actnum", "actearly",
    ),
    "tendon": ("adr", "num", "limited"),
    "wrap": ("type", "objid"),
    "eq": ("type", "obj1id", "obj2id", "objtype", "active0"),
    "pair": ("dim", "geom1", "geom2", "signature"),
    "sensor": ("type", "objtype", "objid", "reftype", "refid", "adr", "dim"),
}  # fmt: skip
FLOATS = {
    "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia", "gravcomp", "invweight0", "subtreemass"),
    "jnt": ("pos", "axis", "range", "stiffness", "margin", "solref", "solimp", "actfrcrange"),
    "dof": ("armature", "damping", "frictionloss", "solref", "solimp", "invweight0"),
    "geom": ("pos", "quat", "size", "friction", "margin", "gap", "solmix", "solref", "solimp", "rbound"),
    "site": ("pos", "quat", "size"),
    "actuator": ("gainprm", "biasprm", "dynprm", "gear", "ctrlrange", "forcerange", "actrange", "length0"),
    "tendon": (
        "stiffness", "damping", "frictionloss", "lengthspring", "range", "margin", "solref_lim", "solimp_lim",
        "solref_fri", "solimp_fri", "invweight0", "length0",
    ),
    "wrap": ("prm",),
    "eq": ("data", "solref", "solimp"),
    "pair": ("margin", "gap", "solref", "solreffriction", "solimp", "friction"),
}  # fmt: skip
SWITCHES = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
    "warmstart", "filterparent", "actuation", "refsafe", "eulerdamp",
)  # fmt: skip
REFUSAL = "the engine does not do this; docs/physics.md says what it does"
NAMED = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "actuator": "nu", "tendon": "ntendon",
         "sensor": "nsensor"}  # fmt: skip


def load(source: str | os.PathLike[str] | Any) -> Model:
    """The mechanism of an MJCF file.

    Args:
        source: a path, MJCF text, or MuJoCo's own compiled model.

    Raises:
        ConfigError: if there is no such file, MuJoCo cannot compile it, or the engine lacks what it uses.
    """
    return from_mujoco(_compiled(source))


def _mujoco() -> Any:
    """MuJoCo, of whose names type checkers know nothing; it is imported when a model is loaded."""
    return importlib.import_module("mujoco")


def _compiled(source: Any) -> Any:
    mujoco = _mujoco()
    if isinstance(source, mujoco.MjModel):
        return source
    text = os.fspath(source)
    try:
        if text.lstrip().startswith("<"):
            return mujoco.MjModel.from_xml_string(text)
        if not Path(text).is_file():
            raise ConfigError("model", text, "give the path of an MJCF file, or its text")
        return mujoco.MjModel.from_xml_path(text)
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError("model", text, " ".join(str(error).split())) from None


def from_mujoco(compiled: Any) -> Model:
    """MuJoCo's compiled model as ours."""
    for problem in unsupported(compiled):
        raise ConfigError("model", problem, REFUSAL)
    structure = {name: np.asarray(getattr(compiled, name)) for name in COUNTS}
    structure |= {name: np.asarray(getattr(compiled.opt, name), np.int32) for name in CHOICES}
    structure |= {f"{kind}_{name}": getattr(compiled, f"{kind}_{name}") for kind in INTEGERS for name in INTEGERS[kind]}
    structure["exclude_signature"] = compiled.exclude_signature
    structure |= _switches(compiled)
    numbers = {name: np.asarray(getattr(compiled.opt, name), np.float64) for name in OPTIONS}
    numbers |= {f"{kind}_{name}": getattr(compiled, f"{kind}_{name}") for kind in FLOATS for name in FLOATS[kind]}
    numbers |= {"qpos0": compiled.qpos0, "qpos_spring": compiled.qpos_spring}
    numbers["meaninertia"] = np.asarray(compiled.stat.meaninertia, np.float64)
    model = Model(Constants(structure), Constants(numbers), _names(compiled))
    for first, second in missing(model):
        what = f"contacts between a {first.name.lower()} and a {second.name.lower()}"
        raise ConfigError("model", what, REFUSAL)
    return model


def _switches(compiled: Any) -> dict[str, np.ndarray]:
    """What the file switches off, each as `no_...`; the bits are not the same in every version of MuJoCo."""
    mujoco = _mujoco()
    bits = {name.removeprefix("mjDSBL_").lower(): int(bit) for name, bit in mujoco.mjtDisableBit.__members__.items()}
    passive = bits.get("passive", 0)
    off = int(compiled.opt.disableflags)
    return {f"no_{name}": np.asarray(bool(off & bits.get(name, passive))) for name in SWITCHES}


def _names(compiled: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        (kind, tuple(getattr(compiled, kind)(i).name for i in range(getattr(compiled, count))))
        for kind, count in NAMED.items()
    )


def unsupported(compiled: Any) -> Iterator[str]:
    """What of the model the engine does not do, by name."""
    mujoco = _mujoco()
    absent = {
        "nmocap": "mocap bodies",
        "nflex": "flexible bodies",
        "nefm0L": "elastic bodies",
        "nplugin": "plugins",
        "nhfield": "height fields",
    }
    for count, what in absent.items():
        if getattr(compiled, count, 0):
            yield what
    if compiled.opt.cone:
        yield "elliptic friction cones"
    if int(compiled.opt.integrator) not in (0, 1):
        yield f"integrator {mujoco.mjtIntegrator(int(compiled.opt.integrator)).name.removeprefix('mjINT_').lower()}"
    if compiled.opt.noslip_iterations:
        yield "noslip iterations"
    if np.any(compiled.eq_active0):
        yield "equality constraints"
    allowed = {
        "actuator_trntype": (mujoco.mjtTrn, {"JOINT", "JOINTINPARENT", "TENDON", "SITE"}),
        "actuator_dyntype": (mujoco.mjtDyn, {"NONE", "INTEGRATOR", "FILTER", "FILTEREXACT"}),
        "actuator_gaintype": (mujoco.mjtGain, {"FIXED", "AFFINE"}),
        "actuator_biastype": (mujoco.mjtBias, {"NONE", "AFFINE"}),
        "wrap_type": (mujoco.mjtWrap, {"JOINT"}),
    }
    for field, (kinds, names) in allowed.items():
        known = {int(kind) for name, kind in kinds.__members__.items() if name.rsplit("_", 1)[1] in names}
        for i, kind in enumerate(getattr(compiled, field)):
            if int(kind) not in known:
                yield f"{kinds(int(kind)).name} ({field} {i})"
    ball = int(mujoco.mjtJoint.mjJNT_BALL)
    for i, (joint, _) in enumerate(compiled.actuator_trnid):
        on_joint = int(compiled.actuator_trntype[i]) in (0, 1)
        if on_joint and int(compiled.jnt_type[joint]) == ball and compiled.actuator_biasprm[i][1]:
            yield f"position feedback on a ball joint (actuator {i})"
    zero = (
        "dof_dampingpoly", "tendon_dampingpoly", "jnt_stiffnesspoly", "tendon_stiffnesspoly", "actuator_damping",
        "actuator_armature", "tendon_armature", "tendon_actfrclimited", "jnt_actgravcomp", "jnt_springyield",
        "tendon_springyield", "actuator_delay", "geom_adhesion", "geom_surfacevel", "geom_fluid",
    )  # fmt: skip
    for field in zero:
        values = getattr(compiled, field, None)
        if values is not None and np.size(values) and np.any(values):
            yield field
