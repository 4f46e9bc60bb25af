"""MJCF to `Model`, by MuJoCo's own compiler; what the engine does not do is refused by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ..collision.candidates import first_unsupported, type_pairs
from ..collision.narrow_phase import COLLISION_FUNCTIONS, GeomType
from ..model import FLOAT_OPTIONS, INT_OPTIONS, Constants, Model
from .compiler import ElementLocator, compile_document, element_name, enum_names, mujoco
from .document import Document, read_document
from .supported import out_of_bounds, unsupported, visible_to_rays

SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "ntendon", "neq", "npair", "nexclude", "nsensor",
          "nsensordata")  # fmt: skip
INTEGERS = {
    "body": ("parentid", "rootid", "jntnum", "jntadr", "dofnum", "dofadr", "weldid", "geomnum", "geomadr"),
    "jnt": ("type", "qposadr", "dofadr", "bodyid", "limited", "actfrclimited"),
    "dof": ("bodyid", "jntid", "parentid"),
    "geom": ("type", "bodyid", "contype", "conaffinity", "condim", "priority", "group"),
    "site": ("bodyid", "type"),
    "actuator": (
        "trntype", "dyntype", "gaintype", "biastype", "trnid", "ctrllimited", "forcelimited", "actlimited", "actadr",
        "actnum", "actearly",
    ),
    "tendon": ("adr", "num", "limited", "group"),
    "wrap": ("type", "objid"),
    "eq": ("type", "obj1id", "obj2id", "objtype", "active0"),
    "pair": ("dim", "geom1", "geom2"),
    "sensor": ("datatype", "objtype", "objid", "reftype", "refid", "adr", "dim", "intprm"),
}  # fmt: skip
FLOATS = {
    "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia", "gravcomp", "invweight0", "subtreemass"),
    "jnt": ("pos", "axis", "range", "stiffness", "margin", "solref", "solimp", "actfrcrange"),
    "dof": ("armature", "damping", "frictionloss", "solref", "solimp", "invweight0"),
    "geom": ("pos", "quat", "size", "friction", "margin", "gap", "solmix", "solref", "solimp", "rbound"),
    "site": ("pos", "quat", "size"),
    "actuator": (
        "gainprm", "biasprm", "dynprm", "gear", "ctrlrange", "forcerange", "actrange", "length0",
        "lengthrange", "acc0",
    ),
    "tendon": (
        "stiffness", "damping", "frictionloss", "lengthspring", "range", "margin", "solref_lim", "solimp_lim",
        "solref_fri", "solimp_fri", "invweight0", "length0", "width",
    ),
    "wrap": ("prm",),
    "eq": ("data", "solref", "solimp"),
    "pair": ("margin", "gap", "solref", "solreffriction", "solimp", "friction"),
    "sensor": ("cutoff",),
}  # fmt: skip
DISABLE_FLAGS = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
    "warmstart", "filterparent", "actuation", "refsafe", "eulerdamp", "sensor", "midphase",
)  # fmt: skip
NAME_COUNTS = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "actuator": "nu",
               "tendon": "ntendon", "sensor": "nsensor"}  # fmt: skip
PREFIXES = {"joint": "jnt"}
"""Prefixes of mjModel's fields that are no kind's name."""


def load(source: str | os.PathLike[str] | Any) -> Model:
    """Returns the mechanism of an MJCF file.

    Args:
        source: a path, MJCF text, or MuJoCo's own compiled model. What a file includes has to be in its folder.

    Raises:
        ConfigError: if there is no such file, MuJoCo cannot compile it, or the engine lacks what it uses, and where.
    """
    if isinstance(source, mujoco().MjModel):
        return from_mujoco(source)
    document = read_document(source)
    return from_mujoco(compile_document(document), document)


def from_mujoco(compiled: Any, document: Document | None = None) -> Model:
    """Returns MuJoCo's compiled model as ours; locations of what is refused are looked for in the document.

    Raises:
        ConfigError: if the engine lacks what it uses.
    """
    locator = ElementLocator(compiled, document)
    for problem in unsupported(compiled, locator):
        raise ConfigError(*problem)
    for problem in out_of_bounds(compiled, [f"{kind}_{name}" for kind in FLOATS for name in FLOATS[kind]], locator):
        raise ConfigError(*problem)
    structure = {name: np.asarray(getattr(compiled, name)) for name in SIZES}
    structure |= {name: np.asarray(getattr(compiled.opt, name), np.int32) for name in INT_OPTIONS}
    structure |= {f"{kind}_{name}": getattr(compiled, f"{kind}_{name}") for kind in INTEGERS for name in INTEGERS[kind]}
    structure["exclude_signature"] = compiled.exclude_signature
    structure["geom_drawn"] = visible_to_rays(compiled)
    structure["sensor_kind"] = np.array([enum_names("mjtSensor")[int(kind)] for kind in compiled.sensor_type], str)
    structure |= _switches(compiled)
    numbers = {name: np.asarray(getattr(compiled.opt, name), np.float64) for name in FLOAT_OPTIONS}
    numbers |= {f"{kind}_{name}": getattr(compiled, f"{kind}_{name}") for kind in FLOATS for name in FLOATS[kind]}
    numbers |= {"qpos0": compiled.qpos0, "qpos_spring": compiled.qpos_spring}
    numbers |= {f"{kind}_rgba": colors(compiled, kind) for kind in ("geom", "tendon")}
    numbers["meaninertia"] = np.asarray(compiled.stat.meaninertia, np.float64)
    model = Model(Constants(structure), Constants(numbers), _names(compiled))
    _check_pairs(model, locator)
    _check_points(compiled, model, locator)
    return model


def _check_pairs(model: Model, locator: ElementLocator) -> None:
    """Refuses geoms that may touch where no collision function says at which points.

    Raises:
        ConfigError: naming both geoms, or the pair of the file that names them.
    """
    found = first_unsupported(model)
    if found is None:
        return
    one, other, pair = found
    location = f"{locator.of('geom', one)} and {locator.of('geom', other)}"
    instead = "let these not touch, by contype and conaffinity or by exclude"
    if pair is not None:
        location, instead = locator.of("pair", pair), "leave the pair out"
    what = _joined([GeomType(int(model.geom_type[g])) for g in (one, other)])
    done = ", ".join(sorted(map(_joined, COLLISION_FUNCTIONS)))
    raise ConfigError(location, f"{what} contacts", f"the engine has {done}; {instead}")


def _joined(types: Sequence[GeomType]) -> str:
    return "-".join(shape.name.lower() for shape in types)


def _check_points(compiled: Any, model: Model, locator: ElementLocator) -> None:
    """Refuses flags without which MuJoCo finds other points, where it finds them by iteration.

    Where a capsule lies on a cylinder it has one point or five then, and ours are always two. What is in an ellipsoid
    has another depth and normal.

    Raises:
        ConfigError: naming the flag.
    """
    lying = (GeomType.CAPSULE, GeomType.CYLINDER), "a capsule that may lie on a cylinder", "two points there"
    deep = [
        ((shape, GeomType.ELLIPSOID), what, "the nearest points there")
        for shape, what in (
            (GeomType.SPHERE, "a sphere that may touch an ellipsoid"),
            (GeomType.CAPSULE, "a capsule that may touch an ellipsoid"),
            (GeomType.ELLIPSOID, "ellipsoids that may touch"),
        )
    ]
    for flag, cases in {"multiccd": [lying], "nativeccd": [lying, *deep]}.items():
        bit = int(getattr(mujoco().mjtDisableBit, f"mjDSBL_{flag.upper()}", 0))
        for pair, what, ours in cases:
            if compiled.opt.disableflags & bit and pair in type_pairs(model):
                fix = f"leave the flag out; the engine has {ours}"
                raise ConfigError(locator.find("flag", flag), f"{flag} off, and {what}", fix)


def colors(compiled: Any, kind: str) -> np.ndarray:
    """Returns each geom's, or tendon's, colour as MuJoCo draws it [n, 4]: its material's if it has one but no own."""
    rgba, materials = getattr(compiled, f"{kind}_rgba"), getattr(compiled, f"{kind}_matid")
    plain = np.array([0.5, 0.5, 0.5, 1.0], np.float32)
    own = np.all(rgba == plain, axis=1) & (materials >= 0)
    material = compiled.mat_rgba[np.maximum(materials, 0)] if compiled.nmat else rgba
    return np.where(own[:, None], material, rgba).astype(np.float64)


def _switches(compiled: Any) -> dict[str, np.ndarray]:
    """Returns what the file switches off, each as `no_...`; the bits are not the same in every version of MuJoCo."""
    bits = mujoco().mjtDisableBit.__members__.items()
    bits = {name.removeprefix("mjDSBL_").lower(): int(bit) for name, bit in bits}
    passive = bits.get("passive", 0)
    off = int(compiled.opt.disableflags)
    return {f"no_{name}": np.asarray(bool(off & bits.get(name, passive))) for name in DISABLE_FLAGS}


def _names(compiled: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        (kind, tuple(element_name(compiled, PREFIXES.get(kind, kind), i) for i in range(getattr(compiled, count))))
        for kind, count in NAME_COUNTS.items()
    )
