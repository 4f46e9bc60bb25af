"""What the engine does and what it does not: one line for each feature. What it does not is refused at load.

References:
    MuJoCo documentation, XML reference; API reference, mjModel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..collision.ray import PLANE, SHAPES
from ..model import CHOICES as METHODS
from ..model import OPTIONS as NUMBERS
from ..sensors import DONE as SENSORS
from ..sensors.rangefinder import DONE as OF_RAYS
from ..sensors.rangefinder import FIELDS as RAY_FIELDS
from .bounds import LARGEST, LEAST_MASS, SOLREF, largest, least, mixed, weights
from .compiler import KINDS, Places, mujoco, words


class Problem(NamedTuple):
    """What is refused: where it stands, what it is, and what would do."""

    place: str
    what: str
    fix: str


class Choice(NamedTuple):
    """A field of the model that may have some of MuJoCo's words.

    Attributes:
        field: of mjModel.
        enum: MuJoCo's.
        what: how it is said, with the word in it.
        done: the words that the engine knows.
    """

    field: str
    enum: str
    what: str
    done: str


class Absent(NamedTuple):
    """Something that the model must not have.

    Attributes:
        field: of mjModel, zero where it has none.
        what: how it is said.
        tags, attribute: where it stands in a file.
    """

    field: str
    what: str
    tags: str = ""
    attribute: str | None = None


OPTIONS = (
    Choice("integrator", "mjtIntegrator", "integrator {}", "euler rk4 implicit implicitfast"),
    Choice("cone", "mjtCone", "{} friction cones", "pyramidal elliptic"),
)
CHOICES = (
    Choice("eq_type", "mjtEq", "equality constraints: {}", "connect weld joint tendon"),
    Choice("geom_type", "mjtGeom", "contacts of a {}", "plane sphere capsule ellipsoid cylinder box"),
    Choice("wrap_type", "mjtWrap", "tendon through a {}", "joint"),
    Choice("actuator_trntype", "mjtTrn", "transmission to a {}", "joint jointinparent tendon site"),
    Choice("actuator_dyntype", "mjtDyn", "actuator dynamics {}", "none integrator filter filterexact"),
    Choice("actuator_gaintype", "mjtGain", "actuator gain {}", "fixed affine"),
    Choice("actuator_biastype", "mjtBias", "actuator bias {}", "none affine"),
    Choice("sensor_type", "mjtSensor", "sensor {}", SENSORS),
    Choice("sensor_objtype", "mjtObj", "sensor of a {}", "unknown body xbody joint geom site tendon actuator"),
    Choice("sensor_reftype", "mjtObj", "sensor in the frame of a {}", "unknown body xbody geom site"),
)
COUNTS = (
    Absent("nmocap", "mocap bodies", "body", "mocap"),
    Absent("nflex", "flexible bodies", "flex flexcomp"),
    Absent("nefm0L", "elastic bodies", "flex flexcomp"),
    Absent("nplugin", "plugins", "plugin instance"),
    Absent("nhfield", "height fields", "hfield"),
)
FLAGS = (
    Absent("mjENBL_OVERRIDE", "contact override", "flag", "override"),
    Absent("mjENBL_SLEEP", "sleeping", "flag", "sleep"),
    Absent("mjENBL_DIAGEXACT", "exact inertia of constraints", "flag", "diagexact"),
    Absent("mjENBL_SPECULATIVE", "speculative contacts", "flag", "speculative"),
    Absent("mjENBL_IPC", "barriers of contacts", "flag", "ipc"),
    Absent("mjENBL_INVDISCRETE", "inverse dynamics of discrete time", "flag", "invdiscrete"),
)
ZERO_OPTIONS = (
    Absent("noslip_iterations", "noslip iterations", "option", "noslip_iterations"),
    Absent("disableactuator", "groups of actuators that are off", "option", "actuatorgroupdisable"),
)
ZERO = (
    Absent("dof_dampingpoly", "damping by a polynomial"),
    Absent("tendon_dampingpoly", "damping by a polynomial"),
    Absent("jnt_stiffnesspoly", "stiffness by a polynomial"),
    Absent("tendon_stiffnesspoly", "stiffness by a polynomial"),
    Absent("actuator_damping", "damping of an actuator"),
    Absent("actuator_dampingpoly", "damping of an actuator"),
    Absent("actuator_armature", "armature of an actuator"),
    Absent("actuator_history", "delay of an actuator"),
    Absent("sensor_history", "delay of a sensor"),
    Absent("sensor_interval", "interval of a sensor"),
    Absent("tendon_armature", "armature of a tendon"),
    Absent("tendon_actfrclimited", "limited actuator force on a tendon"),
    Absent("jnt_actgravcomp", "gravity compensation by an actuator"),
    Absent("jnt_springyield", "plastic springs"),
    Absent("tendon_springyield", "plastic springs"),
    Absent("geom_adhesion", "adhesion"),
    Absent("pair_adhesion", "adhesion"),
    Absent("geom_surfacevel", "moving surfaces"),
    Absent("geom_fluid", "fluid forces of the ellipsoid model"),
)
ONE = (
    Absent("actuator_ctrlnum", "an actuator of no command or several"),
    Absent("actuator_outnum", "an actuator of several forces"),
)
HAS = {
    "model": "rigid bodies with free, ball, slide and hinge joints; planes, spheres, capsules, boxes, cylinders and "
    "ellipsoids; actuators, fixed tendons, equalities, contacts and sensors",
    "flag": "energy and fwdinv, and all flags that switch something off",
    "option": ", ".join((*METHODS, *NUMBERS)),
    "jnt": "springs, dampers, armature, dry friction and limits of joints, and gravity compensation of bodies",
    "tendon": "springs, dampers, dry friction and limits of fixed tendons",
    "actuator": "gain, bias, dynamics, ranges and gears of actuators, each of one command and one force",
    "sensor": "what sensors tell of the present moment, and its cutoff",
    "geom": "friction, condim, margin, gap, priority, mixing, solref and solimp of contacts, and fluid forces of the "
    "inertia model",
    "pair": "friction, condim, margin, gap, solref and solimp of pairs",
}
"""What there is, where something of a kind is refused."""
SOFT = ("jnt", "dof", "geom", "tendon", "eq", "pair")
MOST = {"nbody": "bodies", "njnt": "joints", "ngeom": "geoms", "nsite": "sites", "ntendon": "tendons",
        "nu": "actuators", "neq": "equality constraints", "npair": "pairs", "nsensor": "sensors"}  # fmt: skip
MOST_OF_EACH = 1000


def problems(model: Any, places: Places) -> Iterator[Problem]:
    """All that the engine does not do, of MuJoCo's compiled model."""
    yield from _features(model, places)
    yield from _choices(model, places)
    yield from _zeros(model, places)
    yield from _in_sites(model, places)
    yield from _contact_sensors(model, places)
    yield from _rangefinders(model, places)
    yield from _enclosed(model, places)
    yield from _solref(model, places)
    yield from _masses(model, places)


def _features(model: Any, places: Places) -> Iterator[Problem]:
    for count, what in MOST.items():
        if getattr(model, count) > MOST_OF_EACH:
            yield Problem("model", f"{getattr(model, count)} {what}", f"the engine has at most {MOST_OF_EACH}")
    for row in COUNTS:
        if getattr(model, row.field, 0):
            yield _none("model", places.find(row.tags, row.attribute), row)
    for row in FLAGS:
        if model.opt.enableflags & int(getattr(mujoco().mjtEnableBit, row.field, 0)):
            yield _none("flag", places.find(row.tags, row.attribute), row)
    for row in ZERO_OPTIONS:
        if getattr(model.opt, row.field, 0):
            yield _none("option", places.find(row.tags, row.attribute), row)


def _none(kind: str, place: str, row: Absent) -> Problem:
    return Problem(place, row.what, f"the engine does not do this; it has {HAS[kind]}")


def _choices(model: Any, places: Places) -> Iterator[Problem]:
    for row in OPTIONS:
        if problem := _choice(row, int(getattr(model.opt, row.field))):
            yield Problem(places.find("option", row.field), *problem)
    for row in CHOICES:
        off = _off(model, row.field)
        for i, value in enumerate(getattr(model, row.field)):
            if i not in off and (problem := _choice(row, int(value))):
                yield Problem(places.of(*_owner(model, row.field, i)), *problem)


def _off(model: Any, field: str) -> set[int]:
    """Elements that do nothing: equality constraints that are switched off, geoms that touch nothing."""
    if field == "eq_type":
        return {int(i) for i in np.flatnonzero(model.eq_active0 == 0)}
    if field == "geom_type":
        touching = (model.geom_contype | model.geom_conaffinity) != 0
        touching[model.pair_geom1], touching[model.pair_geom2] = True, True
        return {int(i) for i in np.flatnonzero(~touching)}
    return set()


def _choice(row: Choice, value: int) -> tuple[str, str] | None:
    """What is wrong with a word, and what would do; nothing if it is right."""
    name = words(row.enum).get(value, str(value))
    if name in row.done.split():
        return None
    return row.what.format(name), f"the engine has {', '.join(row.done.split()) or 'none'}"


def _owner(model: Any, field: str, number: int) -> tuple[str, int]:
    """Whose a number of a field is: its kind of element and its own number."""
    kind = field.split("_", 1)[0]
    if kind == "dof":
        return "jnt", int(model.dof_jntid[number])
    if kind == "wrap":
        return "tendon", int(np.searchsorted(model.tendon_adr, number, side="right")) - 1
    return (kind, number) if kind in KINDS else ("body", 0)


def _zeros(model: Any, places: Places) -> Iterator[Problem]:
    for rows, wanted in ((ZERO, 0), (ONE, 1)):
        for row in rows:
            values = np.asarray(getattr(model, row.field, ()))
            wrong = values != wanted
            if row.field == "sensor_interval":
                wrong = values > 0
            for i in np.flatnonzero(wrong.reshape(len(values), -1).any(axis=1)) if values.size else ():
                kind, number = _owner(model, row.field, int(i))
                yield _none(kind, places.of(kind, number), row)


def _sensors(model: Any, *names: str) -> Iterator[tuple[int, str]]:
    """Those of some kinds: numbers and kinds."""
    for i, kind in enumerate(model.sensor_type):
        if (name := words("mjtSensor")[int(kind)]) in names:
            yield i, name


def _in_sites(model: Any, places: Places) -> Iterator[Problem]:
    """What is in a site, or seen through it, of a shape that the engine follows no ray through."""
    site = int(mujoco().mjtObj.mjOBJ_SITE)
    for i, name in _sensors(model, "touch", "contact", "insidesite"):
        kind, number = ("ref", model.sensor_refid[i]) if name == "insidesite" else ("obj", model.sensor_objid[i])
        if int(getattr(model, f"sensor_{kind}type")[i]) == site and int(model.site_type[number]) not in SHAPES:
            shape, done = words("mjtGeom")[int(model.site_type[number])], [words("mjtGeom")[s] for s in SHAPES]
            yield Problem(places.of("sensor", i), f"{name} in a {shape}", f"the engine has {', '.join(done)}")


def _contact_sensors(model: Any, places: Places) -> Iterator[Problem]:
    """MuJoCo's count contacts that are in a gap, where they do nothing; the engine looks for none there."""
    gaps = np.concatenate([model.geom_gap, model.pair_gap])
    for i, _ in _sensors(model, "contact"):
        if gaps.any():
            what = f"a contact sensor, and a gap of {gaps[gaps != 0.0][0]:g}"
            yield Problem(places.of("sensor", i), what, "use no gap, or touch sensors")


def _rangefinders(model: Any, places: Places) -> Iterator[Problem]:
    """Rays that may meet what the engine has no surface of, and fields that it does not measure."""
    done = [words("mjtGeom")[shape] for shape in (PLANE, *SHAPES)]
    for i, name in _sensors(model, "rangefinder"):
        place = places.of("sensor", i)
        for bit, field in enumerate(RAY_FIELDS):
            if int(model.sensor_intprm[i, 0]) >> bit & 1 and field not in OF_RAYS:
                yield Problem(place, f"{name} with {field}", f"the engine has {', '.join(OF_RAYS)}")
        own = model.geom_bodyid == model.site_bodyid[model.sensor_objid[i]]
        for g in np.flatnonzero(drawn(model) & ~own):
            if (shape := words("mjtGeom")[int(model.geom_type[g])]) not in done:
                yield Problem(place, f"{name} that may see a {shape}", f"the engine has {', '.join(done)}")


def _enclosed(model: Any, places: Places) -> Iterator[Problem]:
    """How much of an object is in a site, where the engine knows whether its centre is."""
    for i, name in _sensors(model, "insidesite"):
        if model.sensor_intprm[i, 0]:
            yield Problem(
                places.of("sensor", i), f"{name} with enclosed", "leave it out; the engine has points in sites"
            )


def drawn(model: Any) -> np.ndarray:
    """Which geoms rays meet [ngeom]: all whose colour, or whose material's, is not transparent."""
    materials = np.concatenate([model.mat_rgba[:, 3], [1.0]])[model.geom_matid]
    return np.where(model.geom_matid >= 0, materials, model.geom_rgba[:, 3]) != 0.0


def _solref(model: Any, places: Places) -> Iterator[Problem]:
    """Times with negative damping ratios, or stiffnesses with positive dampings."""
    for kind in SOFT:
        for field in (f"{kind}_solref", f"{kind}_solref_lim", f"{kind}_solref_fri", f"{kind}_solreffriction"):
            values = np.reshape(getattr(model, field, ()), (-1, 2))
            for i in np.flatnonzero(mixed(values)):
                told = f"{field} {values[i, 0]:g} {values[i, 1]:g}"
                yield Problem(places.of(*_owner(model, field, int(i))), told, f"give {SOLREF}")


def _masses(model: Any, places: Places) -> Iterator[Problem]:
    """What MuJoCo's compiler sees to in files, but not in a model that was changed since."""
    if not 0.0 < model.opt.timestep <= LARGEST:
        yield Problem(
            places.find("option", "timestep"), f"timestep {model.opt.timestep:g}", "give seconds, more than 0"
        )
    masses, inertias = weights(model, model.body_mass), weights(model, model.body_inertia)
    for body in range(1, model.nbody):
        moves = bool(model.body_dofnum[body])
        mass = masses[body] if moves else max(model.body_mass[body], LEAST_MASS)
        if not LEAST_MASS <= mass <= LARGEST:
            yield Problem(places.of("body", body), f"a mass of {mass:g}", f"give it one above 0 and up to {LARGEST:g}")
        if moves and inertias[body] < LEAST_MASS:
            yield Problem(places.of("body", body), f"an inertia of {inertias[body]:g}", "give it one above 0")


def wrong_numbers(model: Any, fields: list[str], places: Places) -> Iterator[Problem]:
    """Numbers that are not, or are beyond `bounds.largest` and `bounds.least`."""
    for field in (*NUMBERS, *METHODS):
        value = np.ravel(np.asarray(getattr(model.opt, field), np.float64))
        if (wrong := _wrong(field, value)).any():
            yield _number(places.find("option", field), field, value, value[wrong][0])
    for field in fields:
        values = np.asarray(getattr(model, field), np.float64)
        wrong = _wrong(field, values)
        for i in np.flatnonzero(wrong.reshape(len(values), -1).any(axis=1)) if values.size else ():
            place = places.of(*_owner(model, field, int(i)))
            yield _number(place, field, np.ravel(values[i]), np.ravel(values[i])[np.ravel(wrong[i])][0])


def _wrong(field: str, values: np.ndarray) -> np.ndarray:
    return ~((np.abs(values) <= largest(field)) & (values >= least(field)))


def _number(place: str, field: str, values: np.ndarray, wrong: float) -> Problem:
    fix = f"use numbers of at least {least(field):g}" if wrong < least(field) else f"use numbers of at most {LARGEST:g}"
    return Problem(place, f"{field} {' '.join(f'{x:g}' for x in values)}", fix)
