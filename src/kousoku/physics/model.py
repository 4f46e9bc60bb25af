"""A mechanism and its state: its structure, which never changes in a program, and its numbers, of which any may.

Names are those of MuJoCo's `mjModel` (https://mujoco.readthedocs.io/en/stable/APIreference/APItypes.html#mjmodel).
Numbers are constants, which a program is simplified by; `with_numbers` makes some of them leaves, which may differ from
lane to lane without compiling anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..core.errors import ConfigError, check_keys
from ..core.leaves import words
from .mjcf.bounds import MIN_MASS, SOLREF, is_mixed_solref, largest, smallest, welded_sums, what_would_do

FLOAT_OPTIONS = (
    "timestep",
    "gravity",
    "wind",
    "magnetic",
    "density",
    "viscosity",
    "impratio",
    "tolerance",
    "ls_tolerance",
)
BY_ROWS = ("body_pos", "body_quat")
"""What `Model.with_numbers` takes single rows of."""

INT_OPTIONS = ("integrator", "cone", "iterations", "ls_iterations")


class Constants(Mapping[str, np.ndarray]):
    """Arrays by name that can be compared and hashed: equal ones share their compiled programs."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = {name: np.array(array) for name, array in sorted(arrays.items())}
        for array in self._arrays.values():
            array.setflags(write=False)

    @cached_property
    def _digest(self) -> bytes:
        sha = hashlib.sha256()
        for name, array in self._arrays.items():
            sha.update(f"{name} {array.dtype} {array.shape};".encode() + array.tobytes())
        return sha.digest()

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Any:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constants) and self._digest == other._digest


class PartlyVaried:
    """Rows of numbers of a model, a few of which are leaves.

    Attributes:
        constants: all of them as they are in the file [n, m].
        rows: those that are leaves, by their numbers [m].
    """

    def __init__(self, constants: np.ndarray, rows: Mapping[int, Array]) -> None:
        self.constants, self.rows = constants, rows

    @property
    def shape(self) -> tuple[int, ...]:
        return self.constants.shape

    def __getitem__(self, i: int) -> np.ndarray | Array:
        return self.rows[i] if i in self.rows else self.constants[i]

    def __jax_array__(self) -> Array:
        """Returns all rows as one array [n, m]."""
        array = jnp.asarray(self.constants, jnp.result_type(*self.rows.values()))
        for number, values in self.rows.items():
            array = array.at[number].set(values)
        return array


class Model(eqx.Module):
    """A mechanism as MuJoCo's compiler makes it of an MJCF file.

    Every field of `mjModel` that the engine reads is an attribute: `model.body_mass` [nbody], `model.jnt_type` [njnt].

    Attributes:
        structure: counts, types and indices; options that choose a method.
        constants: numbers that are known when a program is compiled.
        varied: numbers that are not; see `with_numbers`.
        names: the names of bodies, joints, geoms, sites, actuators, tendons and sensors.
    """

    structure: Constants = eqx.field(static=True)
    constants: Constants = eqx.field(static=True)
    names: tuple[tuple[str, tuple[str, ...]], ...] = eqx.field(static=True)
    varied: dict[str, Array | dict[int, Array]] = eqx.field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("structure", "constants", "varied", "names"):
            raise AttributeError(name)
        for where in (self.varied, self.constants, self.structure):
            if name in where:
                found = where[name]
                if isinstance(found, dict):
                    return PartlyVaried(self.constants[name], found)
                return found.item() if isinstance(found, np.ndarray) and found.ndim == 0 else found
        raise AttributeError(f"a model has no {name}")

    def with_numbers(self, **numbers: Any) -> Model:
        """Returns the model with other numbers, each an array of the shape that it has now, as leaves.

        What MuJoCo's compiler derives from them, as `dof_invweight0` from masses, stays that of the file; `geom_rbound`
        is asked no more where sizes of geoms are leaves. Of `body_pos` and `body_quat` a dict may be given instead, of
        rows by the numbers of bodies: all others stay constants.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> from kousoku.physics import load
            >>> model = load("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
            >>> masses = jnp.array([[0.0, 1.0], [0.0, 2.0]])
            >>> jax.vmap(lambda mass: model.with_numbers(body_mass=mass).body_mass[1])(masses)
            Array([1., 2.], dtype=float32)

        Raises:
            ConfigError: for an unknown name, another shape, integers, and numbers that no mechanism has.
        """
        check_keys("number of the model", numbers, self.constants)
        new = {name: self._all_or_rows(name, value) for name, value in numbers.items()}
        for name, found in new.items():
            if name in ("body_mass", "body_inertia") and not isinstance(found, dict):
                self._check_weights(name, found)
        return Model(self.structure, self.constants, self.names, self.varied | {n: self._over(n, new[n]) for n in new})

    def of_file(self) -> Model:
        """Returns the model with all numbers as they are in the file."""
        return Model(self.structure, self.constants, self.names)

    def without_actuation(self) -> Model:
        """Returns the model with actuators that do nothing, as by MuJoCo's flag of this name."""
        structure = Constants({**self.structure, "no_actuation": np.asarray(True)})
        return Model(structure, self.constants, self.names, self.varied)

    def _over(self, name: str, new: Array | dict[int, Array]) -> Array | dict[int, Array]:
        """Returns what takes the place of numbers that vary already: rows go over them."""
        before = self.varied.get(name)
        if before is None or not isinstance(new, dict):
            return new
        if isinstance(before, dict):
            return before | new
        for number, values in new.items():
            before = before.at[number].set(values)
        return before

    def _all_or_rows(self, name: str, value: Any) -> Array | dict[int, Array]:
        """Returns numbers, or some rows of them, that can stand for the model's.

        Raises:
            ConfigError: for a row of no body, rows of what may not be given so; see `_checked`.
        """
        shape = self.constants[name].shape
        if not isinstance(value, dict):
            return _checked(name, value, shape)
        if name not in BY_ROWS:
            raise ConfigError(
                name, value, f"give an array of shape {shape}; rows may be given of {' and '.join(BY_ROWS)}"
            )
        for number in value:
            if not isinstance(number, (int, np.integer)) or not 0 < number < shape[0]:
                raise ConfigError(f"row of {name}", number, f"give the number of a body, 1 to {shape[0] - 1}")
        return {int(number): _checked(f"{name}[{number}]", given, shape[1:]) for number, given in value.items()}

    def _check_weights(self, name: str, numbers: Array) -> None:
        """Refuses a body that moves without mass or inertia, its own or of what is fixed to it; as MuJoCo's compiler.

        Raises:
            ConfigError: naming the body.
        """
        if isinstance(numbers, Tracer):
            return
        found = welded_sums(self, numbers)
        for body in np.flatnonzero((found < MIN_MASS) & (np.asarray(self.body_dofnum) > 0)):
            which = dict(self.names)["body"][body] or f"number {body}"
            raise ConfigError(name, float(found[body]), f"body {which} moves: give it at least {MIN_MASS:g}")

    def id(self, kind: str, name: str) -> int:
        """Returns the number of a body, joint, geom, site, actuator, tendon or sensor.

        Raises:
            ConfigError: if there is none of that name.
        """
        kinds = dict(self.names)
        check_keys("kind", [kind], kinds)
        check_keys(kind, [name], kinds[kind])
        return kinds[kind].index(name)


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Returns an array that can stand for numbers of a model; values that are traced pass.

    Raises:
        ConfigError: for another shape, integers, and numbers that no mechanism has.
    """
    try:
        array = jnp.asarray(value, None if hasattr(value, "dtype") else jax.dtypes.canonicalize_dtype(np.float64))
    except (TypeError, ValueError):
        raise ConfigError(name, value, f"give an array of shape {shape}") from None
    if array.shape != shape:
        raise ConfigError(name, array.shape, f"give an array of shape {shape}")
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise ConfigError(name, array.dtype, "give an array of floats")
    if not isinstance(array, Tracer):
        for number in np.ravel(np.asarray(array)).tolist():
            _check_number(name, number)
        if "solref" in name and (wrong := is_mixed_solref(array)).any():
            raise ConfigError(name, np.asarray(array)[wrong][0].tolist(), f"give {SOLREF}")
    return array


def _check_number(name: str, number: float) -> None:
    if number <= 0 and name == "timestep":
        raise ConfigError(name, number, "give seconds, more than 0")
    if not smallest(name) <= number or not abs(number) <= largest(name):
        raise ConfigError(name, number, f"give {what_would_do(name, number)}")


class State(eqx.Module):
    """A mechanism between two steps.

    Attributes:
        qpos: positions: of a free joint a translation and a quaternion (w, x, y, z), of a ball joint a quaternion, of a
            slide metres, of a hinge radians.
        qvel: velocities.
        act: activations of actuators.
        warmstart: accelerations of the last step, where the solver begins: mjData's qacc_warmstart.
        time: seconds, if anybody asks: a model with a clock among its sensors does. None where nobody does.
    """

    qpos: Float[Array, " nq"]
    qvel: Float[Array, " nv"]
    act: Float[Array, " na"]
    warmstart: Float[Array, " nv"]
    time: Float[Array, ""] | None = None


def initial_state(model: Model, dtype: Any = None) -> State:
    """Returns the model's own reference position qpos0, at rest.

    Args:
        model: the mechanism.
        dtype: the dtype of all arrays; JAX's default float if None.
    """
    dtype = dtype or jax.dtypes.canonicalize_dtype(np.float64)
    at_rest = jnp.zeros((model.nv,), dtype)
    time = jnp.zeros((), dtype) if "clock" in model.sensor_kind else None
    return State(jnp.asarray(model.qpos0, dtype), at_rest, jnp.zeros((model.na,), dtype), at_rest, time)


def check_state(model: Model, state: State) -> None:
    """Refuses a state of another model, whose numbers would go unseen or end somewhere within.

    Raises:
        ConfigError: naming the part, its shape and the right one.
    """
    for name, size in (("qpos", model.nq), ("qvel", model.nv), ("act", model.na), ("warmstart", model.nv)):
        check_vector(f"state.{name}", getattr(state, name), size)


def check_vector(name: str, value: Any, size: int) -> None:
    """Refuses what is no vector of so many floating point numbers.

    Raises:
        ConfigError: naming it, its shape and the right one.
    """
    if jnp.shape(value) != (size,):
        raise ConfigError(name, words(value), f"this model takes {size} numbers, an array of shape [{size}]")
    if not jnp.issubdtype(jnp.result_type(value), jnp.floating):
        raise ConfigError(name, words(value), "give floating point numbers")
