"""Two shapes that may touch, one on joints: models of which a program knows some numbers of where the shapes are.

A body that slides keeps its orientation, and one that turns about an axis of the world keeps zeros and ones of it, so
that collision functions see known numbers beside traced ones, in every mixture.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import mujoco
import numpy as np

from kousoku.physics.collision.geom import GeomType

SIZES = {
    GeomType.PLANE: "1 1 .1",
    GeomType.SPHERE: ".08",
    GeomType.CAPSULE: ".05 .11",
    GeomType.ELLIPSOID: ".06 .09 .12",
    GeomType.CYLINDER: ".09 .07",
    GeomType.BOX: ".07 .1 .05",
}
AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1", "tilted": ".3 -.5 .8"}
JOINTS = {
    **{f"slide {name}": f'<joint type="slide" axis="{axis}"/>' for name, axis in AXES.items()},
    **{f"hinge {name}": f'<joint axis="{axis}" pos=".03 .02 .04"/>' for name, axis in AXES.items()},
    "slide and hinge": '<joint type="slide" axis="0 0 1"/><joint axis="0 0 1" pos=".05 0 0"/>',
    "two slides": '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>',
    "ball": '<joint type="ball" pos=".03 .02 .04"/>',
    "free": "<freejoint/>",
}
TILTS = {"none": "0 0 0", "quarter": "0 90 0", "tilted": "20 35 50"}
OFFSETS = {"centred": "0 0 0", "aside": ".031 -.023 .047"}


class Case(NamedTuple):
    """A model: the types of two shapes, which of them is on joints and on which, how they are turned and apart."""

    pair: tuple[GeomType, GeomType]
    mover: str
    joint: str
    tilts: tuple[str, str]
    offset: str

    def __str__(self) -> str:
        shapes = "-".join(shape.name.lower() for shape in self.pair)
        return f"{shapes}, {self.mover} on {self.joint}, {' and '.join(self.tilts)}, {self.offset}"


def cases(pair: tuple[GeomType, GeomType]) -> list[Case]:
    """Returns all models of two types of shapes; planes do not move.

    Both move on slides, and freely; the shapes' centres are apart in every other model.
    """
    joints = [(mover, joint) for mover in ("first", "second") for joint in JOINTS]
    joints += [("both", joint) for joint in JOINTS if "slide" in joint or joint == "free"]
    movers = [(mover, joint) for mover, joint in joints if mover == "second" or pair[0] != GeomType.PLANE]
    found = product(movers, TILTS, TILTS)
    return [
        Case(pair, mover, joint, (one, other), list(OFFSETS)[i % 2])
        for i, ((mover, joint), one, other) in enumerate(found)
    ]


def model_of(case: Case) -> mujoco.MjModel:
    """Compiles a case. Where both move, the first is on a slide along y."""
    bodies = []
    for i, shape in enumerate(case.pair):
        moves = case.mover in ("both", ("first", "second")[i])
        joint = "" if not moves else JOINTS["slide y"] if (case.mover, i) == ("both", 0) else JOINTS[case.joint]
        pos = OFFSETS[case.offset] if i else "0 0 0"
        geom = f'<geom type="{shape.name.lower()}" size="{SIZES[shape]}" euler="{TILTS[case.tilts[i]]}" margin=".01"/>'
        bodies.append(f'<body pos="{pos}">{joint}{geom}</body>')
    option = '<option ccd_tolerance="1e-15" ccd_iterations="1000" solver="Newton" tolerance="0" iterations="100"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{''.join(bodies)}</worldbody></mujoco>")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE
    return model


def placed(model: mujoco.MjModel, count: int, rng: np.random.Generator) -> np.ndarray:
    """Returns joint positions [count, nq]: any turn, and about 0.1 m along each axis; the first are the file's."""
    found = np.tile(model.qpos0, (count, 1))
    for i in range(1, count):
        move = rng.normal(size=model.nv)
        for kind, first in zip(model.jnt_type, model.jnt_dofadr, strict=True):
            if kind in (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_FREE):
                move[first : first + (1 if kind == mujoco.mjtJoint.mjJNT_SLIDE else 3)] *= 0.1
        mujoco.mj_integratePos(model, found[i], move, 1.0)
    return found
