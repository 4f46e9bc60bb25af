"""Features of MJCF that the engine supports, and those that it does not and refuses at load: a line for each.

References:
    MuJoCo documentation, XML reference; API reference, mjModel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..collision.geom import GeomType
from ..collision.ray import RAY_INTERVALS
from ..model import FLOAT_OPTIONS, INT_OPTIONS
from ..sensors import SUPPORTED as SENSORS
from ..sensors.rangefinder import FIELDS as RAY_FIELDS
from ..sensors.rangefinder import SUPPORTED as RAY_SUPPORTED
from ..stages.joints import JointType
from .bounds import (
    LARGEST,
    MIN_MASS,
    SOLREF,
    digits,
    is_mixed_solref,
    largest,
    smallest,
    welded_sums,
    what_would_do,
)
from .compiler import ELEMENT_KINDS, ElementLocator, enum_names, label, mujoco


class UnsupportedFeature(NamedTuple):
    """A feature that is refused, as the arguments of a ConfigError.

    Attributes:
        location: file, line and element.
        what: what it is.
        fix: what would do.
    """

    location: str
    what: str
    fix: str


class EnumField(NamedTuple):
    """A field of mjModel that may have some of an enumeration's values.

    Attributes:
        field: its name.
        enum: MuJoCo's enumeration.
        what: how it is said, with the value's name in it.
        supported: names of the values that the engine supports.
    """

    field: str
    enum: str
    what: str
    supported: str


class UnsupportedField(NamedTuple):
    """A field of mjModel whose feature the engine does not support.

    Attributes:
        field: its name; where the feature is not used zero, one of `ONE_FIELDS`, and -1 of `NONE_FIELDS`.
        what: how it is said.
        tags, attribute: the elements and the attribute that ask for it in a file.
    """

    field: str
    what: str
    tags: str = ""
    attribute: str | None = None


OPTION_ENUMS = (
    EnumField("integrator", "mjtIntegrator", "integrator {}", "euler rk4 implicit implicitfast"),
    EnumField("cone", "mjtCone", "{} friction cones", "pyramidal elliptic"),
)
FIELD_ENUMS = (
    EnumField("eq_type", "mjtEq", "equality constraints: {}", "connect weld joint tendon"),
    EnumField("wrap_type", "mjtWrap", "tendon through a {}", "joint pulley site sphere cylinder"),
    EnumField("actuator_trntype", "mjtTrn", "transmission to a {}", "joint jointinparent tendon site"),
    EnumField("actuator_dyntype", "mjtDyn", "actuator dynamics {}", "none integrator filter filterexact muscle"),
    EnumField("actuator_gaintype", "mjtGain", "actuator gain {}", "fixed affine muscle"),
    EnumField("actuator_biastype", "mjtBias", "actuator bias {}", "none affine muscle"),
    EnumField("sensor_type", "mjtSensor", "sensor {}", SENSORS),
    EnumField("sensor_objtype", "mjtObj", "sensor of a {}", "unknown body xbody joint geom site tendon actuator"),
    EnumField("sensor_reftype", "mjtObj", "sensor in the frame of a {}", "unknown body xbody geom site"),
)
UNSUPPORTED_COUNTS = (
    UnsupportedField("nflex", "flexible bodies", "flex flexcomp"),
    UnsupportedField("nefm0L", "elastic bodies", "flex flexcomp"),
    UnsupportedField("nplugin", "plugins", "plugin instance"),
)
UNSUPPORTED_FLAGS = (
    UnsupportedField("mjENBL_OVERRIDE", "contact override", "flag", "override"),
    UnsupportedField("mjENBL_SLEEP", "sleeping", "flag", "sleep"),
    UnsupportedField("mjENBL_DIAGEXACT", "exact inertia of constraints", "flag", "diagexact"),
    UnsupportedField("mjENBL_SPECULATIVE", "speculative contacts", "flag", "speculative"),
    UnsupportedField("mjENBL_IPC", "barriers of contacts", "flag", "ipc"),
    UnsupportedField("mjENBL_INVDISCRETE", "inverse dynamics of discrete time", "flag", "invdiscrete"),
)
ZERO_OPTIONS = (
    UnsupportedField("noslip_iterations", "noslip iterations", "option", "noslip_iterations"),
    UnsupportedField("disableactuator", "groups of actuators that are off", "option", "actuatorgroupdisable"),
)
ZERO_FIELDS = (
    UnsupportedField("dof_dampingpoly", "damping by a polynomial"),
    UnsupportedField("tendon_dampingpoly", "damping by a polynomial"),
    UnsupportedField("jnt_stiffnesspoly", "stiffness by a polynomial"),
    UnsupportedField("tendon_stiffnesspoly", "stiffness by a polynomial"),
    UnsupportedField("actuator_damping", "damping of an actuator"),
    UnsupportedField("actuator_dampingpoly", "damping of an actuator"),
    UnsupportedField("actuator_armature", "armature of an actuator"),
    UnsupportedField("actuator_history", "delay of an actuator"),
    UnsupportedField("sensor_history", "delay of a sensor"),
    UnsupportedField("sensor_interval", "interval of a sensor"),
    UnsupportedField("tendon_armature", "armature of a tendon"),
    UnsupportedField("tendon_actfrclimited", "limited actuator force on a tendon"),
    UnsupportedField("jnt_actgravcomp", "gravity compensation by an actuator"),
    UnsupportedField("jnt_springyield", "plastic springs"),
    UnsupportedField("tendon_springyield", "plastic springs"),
    UnsupportedField("geom_adhesion", "adhesion"),
    UnsupportedField("pair_adhesion", "adhesion"),
    UnsupportedField("geom_surfacevel", "moving surfaces"),
    UnsupportedField("geom_fluid", "fluid forces of the ellipsoid model"),
)
ONE_FIELDS = (
    UnsupportedField("actuator_ctrlnum", "an actuator of no command or several"),
    UnsupportedField("actuator_outnum", "an actuator of several forces"),
)
NONE_FIELDS = (UnsupportedField("body_mocapid", "mocap bodies"),)
HAS = {
    "model": "rigid bodies with free, ball, slide and hinge joints; planes, spheres, capsules, boxes, cylinders and "
    "ellipsoids; actuators, tendons through joints, sites, pulleys and round geoms, equalities, contacts and sensors",
    "flag": "energy and fwdinv, and all flags that switch something off",
    "option": ", ".join((*INT_OPTIONS, *FLOAT_OPTIONS)),
    "body": "bodies that stand or move on joints",
    "jnt": "springs, dampers, armature, dry friction and limits of joints, and gravity compensation of bodies",
    "tendon": "springs, dampers, dry friction and limits of tendons",
    "actuator": "gain, bias, dynamics, ranges and gears of actuators, each of one command and one force",
    "sensor": "what sensors tell of the present moment, and its cutoff",
    "geom": "friction, condim, margin, gap, priority, mixing, solref and solimp of contacts, and fluid forces of the "
    "inertia model",
    "pair": "friction, condim, margin, gap, solref and solimp of pairs",
}
"""What is supported, where something of a kind of element is refused."""
SOFT = ("jnt", "dof", "geom", "tendon", "eq", "pair")
MOST = {"nbody": "bodies", "njnt": "joints", "ngeom": "geoms", "nsite": "sites", "ntendon": "tendons",
        "nu": "actuators", "neq": "equality constraints", "npair": "pairs", "nsensor": "sensors"}  # fmt: skip
MOST_OF_EACH = 1000
NO_MASS = 1e6
"""Inverse inertia of a joint, whatever others do, times its own: above, others can do what it does but for rounding."""
ROUNDING = 1e-14
"""What an eigenvalue that is zero may be, for each row of a matrix with ones on its diagonal."""
SHARE = 1e-6
"""What a number of an eigenvector that is not zero has at least."""
MOST_SHOWN = 50
"""Characters of a field and its numbers, beyond which only the wrong one is shown."""


def unsupported(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields all that the engine does not support of MuJoCo's compiled model."""
    yield from _features(model, locator)
    yield from _choices(model, locator)
    yield from _zeros(model, locator)
    yield from _in_sites(model, locator)
    yield from _contact_sensors(model, locator)
    yield from _rangefinders(model, locator)
    yield from _enclosed(model, locator)
    yield from _solref(model, locator)
    yield from _masses(model, locator)
    yield from _singular(model, locator)


def _features(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    for count, what in MOST.items():
        if getattr(model, count) > MOST_OF_EACH:
            yield UnsupportedFeature(
                "model", f"{getattr(model, count)} {what}", f"the engine has at most {MOST_OF_EACH}"
            )
    for row in UNSUPPORTED_COUNTS:
        if getattr(model, row.field, 0):
            yield _none("model", locator.find(row.tags, row.attribute), row)
    for row in UNSUPPORTED_FLAGS:
        if model.opt.enableflags & int(getattr(mujoco().mjtEnableBit, row.field, 0)):
            yield _none("flag", locator.find(row.tags, row.attribute), row)
    for row in ZERO_OPTIONS:
        if getattr(model.opt, row.field, 0):
            yield _none("option", locator.find(row.tags, row.attribute), row)


def _none(kind: str, location: str, row: UnsupportedField) -> UnsupportedFeature:
    instead = f"; leave {row.attribute} out" if row.attribute else ""
    return UnsupportedFeature(location, row.what, f"the engine does not do this{instead}; it has {HAS[kind]}")


def _choices(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    for row in OPTION_ENUMS:
        if problem := _choice(row, int(getattr(model.opt, row.field))):
            yield UnsupportedFeature(locator.find("option", row.field), *problem)
    for row in FIELD_ENUMS:
        off = _off(model, row.field)
        for i, value in enumerate(getattr(model, row.field)):
            if i not in off and (problem := _choice(row, int(value))):
                yield UnsupportedFeature(locator.of(*_owner(model, row.field, i)), *problem)


def _off(model: Any, field: str) -> set[int]:
    """Returns elements that do nothing: equality constraints that are switched off."""
    return {int(i) for i in np.flatnonzero(model.eq_active0 == 0)} if field == "eq_type" else set()


def _choice(row: EnumField, value: int) -> tuple[str, str] | None:
    """Returns what is wrong with a value, and what would do; None if it is supported."""
    name = enum_names(row.enum).get(value, str(value))
    if name in row.supported.split():
        return None
    known = [word for word in row.supported.split() if word != "unknown"]
    return row.what.format(name), f"the engine has {', '.join(known)}"


def _owner(model: Any, field: str, number: int) -> tuple[str, int]:
    """Returns whose a number of a field is: its kind of element and the element's number."""
    kind = field.split("_", 1)[0]
    if kind == "dof":
        return "jnt", int(model.dof_jntid[number])
    if kind == "wrap":
        return "tendon", int(np.searchsorted(model.tendon_adr, number, side="right")) - 1
    return (kind, number) if kind in ELEMENT_KINDS else ("body", 0)


def _zeros(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    for rows, wanted in ((NONE_FIELDS, -1), (ZERO_FIELDS, 0), (ONE_FIELDS, 1)):
        for row in rows:
            values = np.asarray(getattr(model, row.field, ()))
            wrong = values != wanted
            if row.field == "sensor_interval":
                wrong = values > 0
            for i in np.flatnonzero(wrong.reshape(len(values), -1).any(axis=1)) if values.size else ():
                kind, number = _owner(model, row.field, int(i))
                yield _none(kind, locator.of(kind, number), row)


def _sensors(model: Any, *names: str) -> Iterator[tuple[int, str]]:
    """Yields number and type of the sensors of some types."""
    for i, kind in enumerate(model.sensor_type):
        if (name := enum_names("mjtSensor")[int(kind)]) in names:
            yield i, name


def _in_sites(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields sensors of what is in a site, or seen through it, of a shape that the engine follows no ray through."""
    site = int(mujoco().mjtObj.mjOBJ_SITE)
    for i, name in _sensors(model, "touch", "contact", "insidesite"):
        kind, number = ("ref", model.sensor_refid[i]) if name == "insidesite" else ("obj", model.sensor_objid[i])
        if int(getattr(model, f"sensor_{kind}type")[i]) == site and int(model.site_type[number]) not in RAY_INTERVALS:
            shape = enum_names("mjtGeom")[int(model.site_type[number])]
            supported = [enum_names("mjtGeom")[s] for s in RAY_INTERVALS]
            yield UnsupportedFeature(
                locator.of("sensor", i), f"{name} in a {shape}", f"the engine has {', '.join(supported)}"
            )


def _contact_sensors(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields contact sensors beside gaps: MuJoCo's count contacts there, which do nothing; the engine's do not."""
    gaps = [
        (kind, number, gap)
        for kind, all_of_them in (("geom", model.geom_gap), ("pair", model.pair_gap))
        for number, gap in enumerate(all_of_them)
        if gap
    ]
    for kind, number, gap in gaps[:1]:
        for i, _ in _sensors(model, "contact"):
            what = f"a contact sensor, and a gap of {digits(gap)} of {label(model, kind, number)}"
            yield UnsupportedFeature(locator.of("sensor", i), what, "use no gap, or touch sensors")


def _rangefinders(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields range finders that may meet what the engine has no surface of, and fields that it does not measure."""
    supported = [enum_names("mjtGeom")[shape] for shape in (GeomType.PLANE, *RAY_INTERVALS)]
    for i, name in _sensors(model, "rangefinder"):
        location = locator.of("sensor", i)
        for bit, field in enumerate(RAY_FIELDS):
            if int(model.sensor_intprm[i, 0]) >> bit & 1 and field not in RAY_SUPPORTED:
                yield UnsupportedFeature(location, f"{name} with {field}", f"the engine has {', '.join(RAY_SUPPORTED)}")
        own = model.geom_bodyid == model.site_bodyid[model.sensor_objid[i]]
        for g in np.flatnonzero(visible_to_rays(model) & ~own):
            if (shape := enum_names("mjtGeom")[int(model.geom_type[g])]) not in supported:
                what = f"{name} that may see a {shape}, {label(model, 'geom', int(g))}"
                fix = f"the engine has {', '.join(supported)}; give other shapes a transparent rgba"
                yield UnsupportedFeature(location, what, fix)


def _enclosed(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields sensors of how much of an object is in a site; the engine knows whether its centre is."""
    for i, name in _sensors(model, "insidesite"):
        if model.sensor_intprm[i, 0]:
            yield UnsupportedFeature(
                locator.of("sensor", i), f"{name} with enclosed", "leave it out; the engine has points in sites"
            )


def visible_to_rays(model: Any) -> np.ndarray:
    """Tells which geoms rays meet [ngeom]: all whose colour, or whose material's, is not transparent."""
    materials = np.concatenate([model.mat_rgba[:, 3], [1.0]])[model.geom_matid]
    return np.where(model.geom_matid >= 0, materials, model.geom_rgba[:, 3]) != 0.0


def _solref(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields time constants with negative damping ratios, or stiffnesses with positive dampings."""
    for kind in SOFT:
        for field in (f"{kind}_solref", f"{kind}_solref_lim", f"{kind}_solref_fri", f"{kind}_solreffriction"):
            values = np.reshape(getattr(model, field, ()), (-1, 2))
            for i in np.flatnonzero(is_mixed_solref(values)):
                given = f"{field} {' '.join(map(digits, values[i]))}"
                yield UnsupportedFeature(locator.of(*_owner(model, field, int(i))), given, f"give {SOLREF}")


def _masses(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields times, masses and inertias that MuJoCo's compiler refuses in files, but not in models changed since."""
    if not 0.0 < model.opt.timestep <= LARGEST:
        fix = f"give seconds, more than 0 and at most {LARGEST:g}"
        yield UnsupportedFeature(locator.find("option", "timestep"), f"timestep {digits(model.opt.timestep)}", fix)
    masses, inertias = welded_sums(model, model.body_mass), welded_sums(model, model.body_inertia)
    for body in range(1, model.nbody):
        moves = bool(model.body_dofnum[body])
        mass = masses[body] if moves else max(model.body_mass[body], MIN_MASS)
        if not MIN_MASS <= mass <= LARGEST:
            fix = f"give it one from {MIN_MASS if moves else 0.0:g} to {LARGEST:g}"
            yield UnsupportedFeature(locator.of("body", body), f"a mass of {digits(mass)}", fix)
        if moves and inertias[body] < MIN_MASS:
            fix = f"give it one of at least {MIN_MASS:g}"
            yield UnsupportedFeature(locator.of("body", body), f"an inertia of {digits(inertias[body])}", fix)


def _singular(model: Any, locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields the last of joints that move a body alike, so that together they may move without moving any mass.

    Where they do, MuJoCo's compiler has warned, and has made an inverse inertia of its least number, or of any as
    rounding has it.
    """
    alike = _slides_that_move_no_mass(model)
    weightless = alike | (model.dof_invweight0 >= LARGEST / 2)  # MuJoCo's largest is 1e15, as rounding has it
    for tree in np.unique(model.dof_treeid[weightless]):
        no_mass = weightless | (model.dof_invweight0 * model.dof_M0 > NO_MASS)
        *others, last = (int(j) for j in np.unique(model.dof_jntid[no_mass & (model.dof_treeid == tree)]))
        if others:
            named = [label(model, "jnt", j) for j in others]
            if len(named) > 2:
                named[1:] = [f"{len(named) - 1} others"]
            what = f"motion that {' and '.join(named)} can make already"
            yield UnsupportedFeature(locator.of("jnt", last), what, "take one of the joints out, or give them armature")


def _slides_that_move_no_mass(model: Any) -> np.ndarray:
    """Tells which degrees of freedom [nv] are slides that take part in a motion of slides alone that moves no mass.

    It is one along which the mass matrix, scaled to ones on its diagonal, is zero but for rounding. MuJoCo's own leaves
    out what lies beside the diagonal where a body only slides.
    """
    alike, slides = np.zeros(model.nv, bool), np.flatnonzero(model.jnt_type[model.dof_jntid] == JointType.SLIDE)
    c, mass, moved = mujoco(), np.diag(np.array(model.dof_armature)[slides]), np.zeros((3, model.nv))
    data = c.MjData(model)
    c.mj_kinematics(model, data)
    c.mj_comPos(model, data)
    for body in np.flatnonzero(model.body_mass):
        c.mj_jacBodyCom(model, data, moved, None, body)
        mass += model.body_mass[body] * moved[:, slides].T @ moved[:, slides]
    diagonal = np.diagonal(mass)
    if not np.isfinite(mass).all() or (diagonal <= 0.0).any():  # which `_masses` and `out_of_bounds` tell of
        return alike
    scale = np.sqrt(diagonal)
    values, motions = np.linalg.eigh(mass / np.outer(scale, scale))
    free = motions[:, values <= ROUNDING * len(slides)]
    alike[slides] = np.any(np.abs(free) > SHARE, axis=1)
    return alike


def out_of_bounds(model: Any, fields: list[str], locator: ElementLocator) -> Iterator[UnsupportedFeature]:
    """Yields NaNs and numbers beyond `bounds.largest` and `bounds.smallest`."""
    for field in (*FLOAT_OPTIONS, *INT_OPTIONS):
        value = np.ravel(np.asarray(getattr(model.opt, field), np.float64))
        if (wrong := _wrong(field, value)).any():
            yield _number(locator.find("option", field), field, value, value[wrong][0])
    for field in fields:
        values = np.asarray(getattr(model, field), np.float64)
        wrong = _wrong(field, values)
        for i in np.flatnonzero(wrong.reshape(len(values), -1).any(axis=1)) if values.size else ():
            location = locator.of(*_owner(model, field, int(i)))
            yield _number(location, field, np.ravel(values[i]), np.ravel(values[i])[np.ravel(wrong[i])][0])


def _wrong(field: str, values: np.ndarray) -> np.ndarray:
    return ~((np.abs(values) <= largest(field)) & (values >= smallest(field)))


def _number(location: str, field: str, values: np.ndarray, wrong: float) -> UnsupportedFeature:
    shown = f"{field} {' '.join(map(digits, values))}"
    if len(shown) > MOST_SHOWN:
        shown = f"{field} with {digits(wrong)}"
    return UnsupportedFeature(location, shown, f"use {what_would_do(field, wrong)}")
