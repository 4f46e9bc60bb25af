"""Reads what devices do together: sums, largest and smallest elements over them, everyone's arrays, and their numbers.

An operation says how many devices there are; that they are those of one named axis, all of them, is checked here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir import Atom, Unsupported
from . import halves, keys

if TYPE_CHECKING:
    from .reader import JaxprReader

REDUCTIONS = {"psum": "psum", "psum_invariant": "psum", "pmax": "pmax", "pmin": "pmin"}
ALONG = {"psum": "reduce_sum", "pmax": "reduce_max", "pmin": "reduce_min"}
"""The same along axes of the arrays themselves, which a `vmap` within has named."""
GATHERS = ("all_gather", "all_gather_invariant")
NAMES = frozenset({*REDUCTIONS, *GATHERS, "axis_index"})


def is_named_axis(effect: Any) -> bool:
    """Returns whether an effect only says that an axis of devices is named within; JAX has no public name for it."""
    return type(effect).__name__ == "NamedAxisEffect"


def read(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom]:
    """Appends an operation of several devices; returns its results.

    Raises:
        Unsupported: for groups of devices, other axes, and arrays that are not joined along their first axis.
    """
    name, params = eqn.primitive.name, eqn.params
    if any(halves.is_half(v.aval) for v in eqn.invars):
        raise Unsupported(f"{name} of float16")
    outs = [keys.physical(v.aval) for v in eqn.outvars]
    given = zip(inputs, outs, strict=True)
    if name in REDUCTIONS and all(isinstance(axis, int) for axis in _axes(name, params)):
        axes = {"axes": tuple(axis % len(eqn.invars[0].aval.shape) for axis in _axes(name, params))}
        return [reader.append(ALONG[REDUCTIONS[name]], [a], axes, [out])[0] for a, out in given]
    devices = _devices(reader, name, params)
    if name in REDUCTIONS:
        return [reader.append(REDUCTIONS[name], [a], {"devices": devices}, [out])[0] for a, out in given]
    if name in GATHERS and params["all_gather_dimension"] != 0:
        raise Unsupported(f"{name} along axis {params['all_gather_dimension']}")
    return reader.append("all_gather" if name in GATHERS else name, inputs, {"devices": devices}, outs)


def _devices(reader: JaxprReader, name: str, params: dict[str, Any]) -> int:
    """Returns how many devices an operation is of."""
    axes = _axes(name, params)
    if reader.devices is None or axes != (reader.devices.axis,) or params.get("axis_index_groups") is not None:
        raise Unsupported(f"{name} over {', '.join(map(str, axes))}")
    return reader.devices.size


def _axes(name: str, params: dict[str, Any]) -> tuple[Any, ...]:
    axes = params["axes"] if name in REDUCTIONS else params["axis_name"]
    return tuple(axes) if isinstance(axes, tuple | list) else (axes,)
