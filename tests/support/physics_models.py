"""MJCF models for the physics tests, each small and made for some features, and Gymnasium's eleven files.

C MuJoCo is the reference, so every model asks for the Newton solver, run until it has converged: what an engine is
compared with is then the solution of the problem, and not the path to it.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import mujoco
import physics_models_constrained
import physics_models_contact
import physics_models_smooth
from physics_mjcf import CONSTRAINED, CONTACT, SMOOTH, Model
from physics_states import silent

__all__ = [
    "CONSTRAINED",
    "CONTACT",
    "FEATURES",
    "MODELS",
    "REFUSED",
    "SMOOTH",
    "compiled",
    "gymnasium_models",
    "select",
]

_ALL: dict[str, Model] = {
    **physics_models_smooth.MODELS,
    **physics_models_constrained.MODELS,
    **physics_models_contact.MODELS,
}
MODELS: dict[str, str] = {name: model.xml for name, model in _ALL.items()}
REFUSED = {
    "ellipsoid_cylinder": "ellipsoid-cylinder",
    "ellipsoid_box": "ellipsoid-box",
    "cylinder_cylinder": "cylinder-cylinder",
    "cylinder_box": "cylinder-box",
}
"""Models that the engine refuses, and the pair of geoms that it has no contacts for; it takes all others."""
FEATURES: dict[str, frozenset[str]] = {name: model.features for name, model in _ALL.items()}

# The file that each of Gymnasium's v5 environments reads.
GYMNASIUM = {
    "ant": "ant.xml",
    "half_cheetah": "half_cheetah.xml",
    "hopper": "hopper.xml",
    "humanoid": "humanoid.xml",
    "humanoid_standup": "humanoidstandup.xml",
    "inverted_double_pendulum": "inverted_double_pendulum.xml",
    "inverted_pendulum": "inverted_pendulum.xml",
    "pusher": "pusher_v5.xml",
    "reacher": "reacher.xml",
    "swimmer": "swimmer.xml",
    "walker2d": "walker2d_v5.xml",
}


def select(*features: str, without: tuple[str, ...] = ()) -> list[str]:
    """Names of the models that have all of `features` and none of `without`, in order.

    >>> select("ball", "rk4")
    ['rk4']
    """
    return [name for name, has in FEATURES.items() if has.issuperset(features) and has.isdisjoint(without)]


def compiled(name: str) -> mujoco.MjModel:
    """The model `name`, from `MODELS` or from `GYMNASIUM`, compiled by MuJoCo."""
    return gymnasium_model(name) if name in GYMNASIUM else mujoco.MjModel.from_xml_string(MODELS[name])


def gymnasium_path(name: str) -> Path:
    """Where the installed gymnasium package keeps the file of an environment; gymnasium itself is not imported."""
    origin = find_spec("gymnasium").origin
    return Path(origin).parent / "envs" / "mujoco" / "assets" / GYMNASIUM[name]


def gymnasium_model(name: str) -> mujoco.MjModel:
    """One of Gymnasium's models, with Newton run to convergence whatever solver its file asks for."""
    with silent():  # one of the files still uses an attribute that MuJoCo 4 calls deprecated
        model = mujoco.MjModel.from_xml_path(str(gymnasium_path(name)))
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.tolerance = 1e-10
    model.opt.iterations = 100
    return model


def gymnasium_models() -> dict[str, mujoco.MjModel]:
    """All eleven of them by name."""
    return {name: gymnasium_model(name) for name in GYMNASIUM}
