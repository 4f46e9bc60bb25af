"""Models made at random from seeds: trees, joints, shapes, inertias, actuators, passive forces, limits, equalities."""

from __future__ import annotations

import mujoco
import numpy as np
from physics_mjcf import mjcf
from physics_states import blown_up, controls, silent, start

_STEPS = 200
_MAX_SPEED = 200.0
_MAX_CONDITION = 1e6
_MAX_INVERSE_WEIGHT = 1e9
# contype and conaffinity, so that cylinders and ellipsoids meet planes and spheres only, and all else meets all else.
_MASKS = {
    "plane": (5, 0),
    "sphere": (3, 1),
    "capsule": (1, 1),
    "box": (1, 1),
    "cylinder": (0, 6),
    "ellipsoid": (0, 6),
}


def random_model(seed: int, contacts: bool, *, constraints: bool = True, bodies: tuple[int, int] = (1, 8)) -> str:
    """The MJCF of a model that is the same for the same arguments.

    It compiles, stays finite and below 200 rad/s or m/s for 200 steps of random controls, has no joints that move alike
    where it begins, and its inertia matrix has a condition number of at most 1e6: what does not is thrown away and made
    anew. With `contacts` something touches something in these steps; without, nothing can. Without `constraints` there
    are no limits, friction losses and equalities either, and the motion is smooth. `bodies` is the least and the
    greatest number of bodies.
    """
    for attempt in range(1000):
        rng = np.random.default_rng([seed, contacts, constraints, attempt])
        text = _Maker(rng, contacts, constraints).text(int(rng.integers(bodies[0], bodies[1] + 1)))
        if _behaves(text, contacts, rng):
            return text
    raise AssertionError(f"no model for the seed {seed}")


def _behaves(text: str, contacts: bool, rng: np.random.Generator) -> bool:
    with silent():
        model = mujoco.MjModel.from_xml_string(text)
        if model.dof_invweight0.max(initial=0.0) > _MAX_INVERSE_WEIGHT:
            return False
        data = start(model, rng)
        touched = False
        for step in range(_STEPS):
            if step % 10 == 0:
                data.ctrl[:] = controls(model, rng)
            mujoco.mj_step(model, data)
            touched |= bool((data.contact.efc_address >= 0).any())
            if blown_up(data) or np.abs(data.qvel).max() > _MAX_SPEED:
                return False
        inertia = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, inertia)
        singular = np.linalg.cond(inertia) > _MAX_CONDITION or any(warning.number for warning in data.warning)
    return (touched or not contacts) and not singular


class _Maker:
    """One draw of a model: names what it makes as it goes, so that actuators and equalities can refer to it."""

    def __init__(self, rng: np.random.Generator, contacts: bool, constraints: bool):
        self.rng = rng
        self.contacts = contacts
        self.constraints = constraints
        self.scalar_joints: list[str] = []
        self.ball_joints: list[str] = []
        self.free_joints: list[str] = []

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, *options: str) -> str:
        return options[int(self.rng.integers(len(options)))]

    def number(self, low: float, high: float) -> str:
        return f"{self.rng.uniform(low, high):.4g}"

    def log_number(self, low: float, high: float) -> str:
        return f"{np.exp(self.rng.uniform(np.log(low), np.log(high))):.4g}"

    def vector(self, size: float, count: int = 3) -> str:
        return " ".join(f"{x:.4g}" for x in self.rng.uniform(-size, size, size=count))

    def direction(self) -> str:
        """A unit vector, on an axis half of the time."""
        if self.chance(0.5):
            return self.pick("1 0 0", "0 1 0", "0 0 1", "0 -1 0")
        vector = self.rng.normal(size=3)
        return " ".join(f"{x:.5g}" for x in vector / np.linalg.norm(vector))

    def maybe(self, probability: float, attribute: str) -> str:
        return f" {attribute}" if self.chance(probability) else ""

    def text(self, count: int) -> str:
        parents = [-1 if i == 0 or self.chance(0.15) else int(self.rng.integers(i)) for i in range(count)]
        children = [[j for j, p in enumerate(parents) if p == i] for i in range(count)]
        roots = [i for i, parent in enumerate(parents) if parent == -1]
        floor = self.floor() if self.contacts else ""
        world = floor + "".join(self.body(i, children, root=True) for i in roots)
        tendons, actuators = self.tendons()
        actuators += "".join(self.actuator() for _ in range(int(self.rng.integers(0, 5))) if self.scalar_joints)
        tail = f"<actuator>{actuators}{self.actuators_in_space(count)}</actuator>{tendons}"
        if self.constraints:
            tail += f"<equality>{self.equalities(count)}</equality>"
        return mjcf(world, tail, self.option())

    def option(self) -> str:
        gravity = 9.81 * np.array([0.0, 0.0, -1.0])
        if not self.contacts:
            direction = self.rng.normal(size=3)
            gravity = 9.81 * direction / np.linalg.norm(direction)
        option = f'gravity="{" ".join(f"{x:.6g}" for x in gravity)}" timestep="{self.pick("0.001", "0.002", "0.004")}"'
        option += f' integrator="{self.pick("Euler", "Euler", "RK4", "implicit", "implicitfast")}"'
        option += f' cone="{self.pick("pyramidal", "elliptic")}"' + self.maybe(0.2, f'impratio="{self.number(0.5, 5)}"')
        if self.chance(0.2):
            option += f' density="{self.number(0, 500)}" viscosity="{self.number(0, 0.5)}" wind="{self.vector(2)}"'
        return option

    def floor(self) -> str:
        tilt = self.vector(0.1)
        return f'<geom type="plane" size="9 9 1" euler="{tilt}" {self.surface("plane")}/>'

    def surface(self, shape: str) -> str:
        if not self.contacts:
            return 'contype="0" conaffinity="0"'
        contype, conaffinity = _MASKS[shape]
        text = f'contype="{contype}" conaffinity="{conaffinity}" condim="{self.pick("1", "3", "3", "4", "6")}"'
        text += f' friction="{self.number(0.1, 1.2)} {self.number(0.001, 0.05)} {self.number(0.0001, 0.01)}"'
        text += self.maybe(0.2, f'margin="{self.number(0, 0.03)}"') + self.maybe(0.1, f'gap="{self.number(0, 0.02)}"')
        text += self.maybe(0.1, f'priority="{self.pick("1", "2", "-1")}"')
        text += self.maybe(0.2, f'solmix="{self.number(0, 3)}"')
        return text + self.maybe(0.3, self.solver_parameters("solref", "solimp"))

    def solver_parameters(self, solref: str, solimp: str) -> str:
        """Time constant and damping ratio, or stiffness and damping; and an impedance of any shape."""
        time = f"{self.number(0.008, 0.05)} {self.number(0.5, 1.3)}"
        direct = f"-{self.number(200, 3000)} -{self.number(10, 80)}"
        reference = direct if self.chance(0.3) else time
        impedance = f"{self.number(0.3, 0.9)} {self.number(0.9, 0.99)} {self.log_number(0.0005, 0.05)}"
        impedance += f" {self.number(0.2, 0.8)} {self.pick('1', '2', '3', self.number(1, 4))}"
        return f'{solref}="{reference}" {solimp}="{impedance}"'

    def body(self, index: int, children: list[list[int]], root: bool = False) -> str:
        joints = self.joints(index, root)
        height = self.rng.uniform(0.1, 0.7) if self.contacts else 0.0
        position = f"{self.number(-1, 1)} {self.number(-1, 1)} {height:.4g}" if root else self.vector(0.3)
        inside = "".join(self.body(child, children) for child in children[index])
        frame = f'name="b{index}" pos="{position}"' + self.maybe(0.6, f'euler="{self.vector(1.5)}"')
        frame += self.maybe(0.1, f'gravcomp="{self.number(0, 1.2)}"')
        return f"<body {frame}>{joints}{self.inertia()}{self.geoms()}{inside}</body>"

    def inertia(self) -> str:
        """Given in half of the cases: principal moments that a body can have, in a frame of their own."""
        if self.chance(0.5):
            return ""
        a, b, c = self.rng.uniform(0.002, 0.02, size=3)
        frame = f'pos="{self.vector(0.1)}" quat="1 {self.vector(0.8)}"'
        return f'<inertial {frame} mass="{self.number(0.2, 3)}" diaginertia="{b + c:.4g} {a + c:.4g} {a + b:.4g}"/>'

    def geoms(self) -> str:
        return "".join(self.geom() for _ in range(int(self.rng.integers(1, 3))))

    def geom(self) -> str:
        shape = self.pick("sphere", "capsule", "capsule", "box", "cylinder", "ellipsoid")
        count = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(shape, 3)
        size = " ".join(self.number(0.04, 0.15) for _ in range(count))
        frame = f'pos="{self.vector(0.1)}"' + self.maybe(0.5, f'euler="{self.vector(1.5)}"')
        return f'<geom type="{shape}" size="{size}" {frame} density="{self.number(300, 2000)}" {self.surface(shape)}/>'

    def joints(self, index: int, root: bool) -> str:
        """Free only at a root; the first body moves; several joints on a body now and then, the ball last."""
        if root and self.chance(0.5):
            self.free_joints.append(f"j{index}")
            passive = self.passive("free") if self.chance(0.2) else ""
            return f'<joint name="j{index}" type="free" {passive}/>'
        if index and self.chance(0.1):
            return ""
        kinds = [self.pick("hinge", "slide") for _ in range(int(self.rng.choice([0, 1, 2], p=[0.7, 0.2, 0.1])))]
        kinds += [self.pick("hinge", "hinge", "slide", "ball")]
        return "".join(self.joint(f"j{index}_{i}", kind) for i, kind in enumerate(kinds))

    def joint(self, name: str, kind: str) -> str:
        (self.ball_joints if kind == "ball" else self.scalar_joints).append(name)
        text = f'name="{name}" type="{kind}" {self.passive(kind)}'
        if kind != "ball":
            text += f' axis="{self.direction()}"' + self.maybe(0.2, f'ref="{self.number(-0.3, 0.3)}"')
        if kind != "slide":
            text += self.maybe(0.4, f'pos="{self.vector(0.1)}"')
        if self.constraints and self.chance(0.4):
            low = "0" if kind == "ball" else self.number(-0.6, -0.1)
            text += f' range="{low} {self.number(0.1, 0.9)}" limited="true"'
            text += self.maybe(0.3, f'margin="{self.number(0, 0.1)}"')
            text += self.maybe(0.3, self.solver_parameters("solreflimit", "solimplimit"))
        return f"<joint {text}/>"

    def passive(self, kind: str) -> str:
        scale = 10.0 if kind == "slide" else 1.0
        text = self.maybe(0.5, f'damping="{self.log_number(0.02 * scale, 0.5 * scale)}"')
        text += self.maybe(0.3, f'armature="{self.log_number(0.005, 0.1)}"')
        text += self.maybe(0.3, f'stiffness="{self.log_number(0.5 * scale, 10 * scale)}"')
        if kind in ("hinge", "slide"):
            text += self.maybe(0.2, f'springref="{self.number(-0.3, 0.3)}"')
        if self.constraints and self.chance(0.25):
            text += f' frictionloss="{self.log_number(0.02 * scale, scale)}"'
            text += self.maybe(0.3, self.solver_parameters("solreffriction", "solimpfriction"))
        return text

    def ranges(self) -> str:
        text = self.maybe(0.5, f'ctrlrange="{self.number(-1.5, -0.2)} {self.number(0.2, 1.5)}"')
        return text + self.maybe(0.3, f'forcerange="{self.number(-5, -0.5)} {self.number(0.5, 5)}"')

    def actuator(self) -> str:
        """One on a hinge or a slide, of any sort."""
        common = f'joint="{self.pick(*self.scalar_joints)}" gear="{self.number(-2, 2)}" {self.ranges()}'
        gain, damping = self.log_number(0.5, 10), self.log_number(0.02, 0.5)
        bias = f'biastype="affine" biasprm="{self.number(-1, 1)} -{gain} -{damping}"'
        affine = f'gaintype="affine" gainprm="{gain} {self.number(-1, 1)} {self.number(-0.3, 0.3)}"'
        activation = self.maybe(0.5, f'actlimited="true" actrange="{self.number(-1, -0.1)} {self.number(0.1, 1)}"')
        activation += self.maybe(0.3, 'actearly="true"')
        dynamics = f'dyntype="{self.pick("integrator", "filter", "filterexact")}" dynprm="{self.number(0.02, 0.2)}"'
        return self.pick(
            f"<motor {common}/>",
            f'<position {common} kp="{gain}" kv="{damping}"/>',
            f'<velocity {common} kv="{damping}"/>',
            f"<general {common} {affine} {bias}/>",
            f'<general {common} gainprm="{gain}" {bias} {dynamics} {activation}/>',
        )

    def actuators_in_space(self, count: int) -> str:
        """On ball and free joints, about and along an axis of the joint's frame, or of its parent's."""
        text = "".join(
            f'<motor {self.pick("joint", "jointinparent")}="{name}" gear="{self.vector(1)} 0 0 0" {self.ranges()}/>'
            for name in self.ball_joints
            if self.chance(0.3)
        )
        return text + "".join(
            f'<motor joint="{name}" gear="{self.vector(3)} {self.vector(0.5)}" {self.ranges()}/>'
            for name in self.free_joints
            if self.chance(0.3)
        )

    def tendons(self) -> tuple[str, str]:
        """A fixed tendon over some of the hinges and slides, with an actuator on it now and then."""
        if not self.scalar_joints or self.chance(0.6):
            return "", ""
        size = int(self.rng.integers(1, len(self.scalar_joints) + 1))
        joints = self.rng.permutation(self.scalar_joints)[:size]
        path = "".join(f'<joint joint="{joint}" coef="{self.number(-1.5, 1.5)}"/>' for joint in joints)
        text = self.maybe(0.5, f'stiffness="{self.log_number(0.5, 10)}"')
        text += self.maybe(0.3, f'springlength="{self.number(-0.2, 0)} {self.number(0, 0.2)}"')
        text += self.maybe(0.5, f'damping="{self.log_number(0.02, 0.5)}"')
        if self.constraints:
            text += self.maybe(0.4, f'limited="true" range="{self.number(-0.5, -0.1)} {self.number(0.1, 0.5)}"')
            text += self.maybe(0.3, f'frictionloss="{self.log_number(0.05, 1)}"')
        actuator = self.pick("", '<motor tendon="t" gear="0.8"/>', '<position tendon="t" kp="2"/>')
        return f'<tendon><fixed name="t" {text}>{path}</fixed></tendon>', actuator

    def equalities(self, count: int) -> str:
        """At most one of each: two hinges or slides coupled, a body tied to another one or to the world."""
        text = ""
        parameters = self.maybe(0.4, self.solver_parameters("solref", "solimp"))
        if len(self.scalar_joints) > 1 and self.chance(0.25):
            first, second = self.rng.permutation(self.scalar_joints)[:2]
            coefficients = f"{self.number(-0.1, 0.1)} {self.number(-1.5, 1.5)} {self.vector(0.3)}"
            text += f'<joint joint1="{first}" joint2="{second}" polycoef="{coefficients}"{parameters}/>'
        if self.chance(0.15):
            first, second = self.rng.permutation(count + 1)[:2]
            name, other = (f'"b{first}"', f'"b{second}"') if first < count else (f'"b{second}"', '"world"')
            other = '"world"' if other == f'"b{count}"' else other
            kind = self.pick("connect", "weld")
            text += f'<{kind} body1={name} body2={other} anchor="{self.vector(0.1)}"{parameters}/>'
        return text
