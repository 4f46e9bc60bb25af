"""Robots of Brax and of MuJoCo Playground: the model that one is made from, and where its bodies are."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def model_of(env: Any) -> Any:
    """Returns the `mujoco.MjModel` of an environment of Brax (in its system) or of Playground; None without one."""
    model = getattr(env, "mj_model", None)
    return getattr(getattr(env, "sys", None), "mj_model", None) if model is None else model


def bodies_of(state: Any) -> tuple[Any, Any] | None:
    """Returns positions [nbody - 1, 3] and quaternions [nbody - 1, 4] of all bodies but the world; None if not told."""
    links = getattr(getattr(state, "pipeline_state", None), "x", None)
    if links is not None:
        return links.pos, links.rot
    data: Any = getattr(state, "data", None)
    return (data.xpos[1:], data.xquat[1:]) if hasattr(data, "xpos") else None


def is_robot(env: Any, state: Any) -> bool:
    """Returns whether an environment, whose state has these shapes, has a model and tells the places of its bodies."""
    model, bodies = model_of(env), jax.eval_shape(bodies_of, state)
    if model is None or bodies is None:
        return False
    return np.shape(bodies[0]) == (model.nbody - 1, 3) and np.shape(bodies[1]) == (model.nbody - 1, 4)
