"""Walks a jaxpr and writes a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.interpreters import partial_eval as pe

from ..ir import Atom, Devices, Graph, Literal, Op, Unsupported, Var, digest
from ..jax_config import trace_affecting_config
from . import collectives, halves, keys
from . import decompositions as decompositions
from .control import CONTROL
from .fold import fold, reciprocal
from .inline import UNCHANGED, Inliner
from .jaxprs import consts_of, opened

FORGOTTEN = {
    "sharding", "out_sharding", "weak_type", "accuracy", "precision", "preferred_element_type", "jvp_jaxpr_fun",
    "fwd_jaxpr_thunk", "bwd", "unique_indices", "indices_are_sorted", "linear", "_split_transpose", "unroll",
    "axis_name", "update_consts", "impl", "name", "computation",
}  # fmt: skip


def from_jaxpr(closed: Any, platform: str | None = None, devices: Devices | None = None) -> Graph:
    """Reads a closed jaxpr into a graph.

    Args:
        closed: the jaxpr, with its constants.
        platform: whose branches of `lax.platform_dependent` count; None for the default ones.
        devices: those that it takes sums over; None where it takes none.

    Raises:
        Unsupported: for effects and for dtypes without a rule.
    """
    effects = [effect for effect in closed.effects if not collectives.is_named_axis(effect)]
    if effects:
        raise Unsupported(f"effects ({', '.join(sorted(map(str, effects)))})")
    jaxpr, _ = pe.dce_jaxpr(opened(closed), [True] * len(closed.out_avals), instantiate=True)
    return JaxprReader(platform, devices).graph(jaxpr, closed.consts)


class JaxprReader(Inliner):
    """The reader of one jaxpr and the jaxprs within.

    Attributes:
        platform: whose branches of `lax.platform_dependent` count.
        devices: those that run it together, if there are several.
        ops: operations of the graph that is being written.
        seen: their results by what they compute, for merging equal ones.
        literals: constants by content.
    """

    unchanged = UNCHANGED | {"random_wrap", "random_unwrap", "random_clone"}

    def __init__(
        self,
        platform: str | None = None,
        devices: Devices | None = None,
        literals: dict[Any, Literal] | None = None,
    ) -> None:
        self.platform, self.devices = platform, devices
        self.ops: list[Op] = []
        self.seen: dict[Any, list[Atom]] = {}
        self.literals = {} if literals is None else literals

    # ---- graphs

    def graph(self, jaxpr: Any, consts: Sequence[Any], known: Sequence[Atom | None] | None = None) -> Graph:
        """Reads `jaxpr` into a graph; inputs for which `known` gives a constant do not become inputs."""
        given = known or [None] * len(jaxpr.invars)
        atoms = [self.new(v.aval) if k is None else k for v, k in zip(jaxpr.invars, given, strict=True)]
        outputs = self.inline(jaxpr, consts, atoms)
        inputs = [a for a, k in zip(atoms, given, strict=True) if k is None]
        return Graph(inputs, self.ops, outputs).without_dead_code()  # type: ignore[arg-type]

    def inner(self, closed: Any, known: Sequence[Atom | None] | None = None) -> Graph:
        """Reads a jaxpr within a control-flow operation into a graph."""
        return self.another().graph(opened(closed), consts_of(closed), known)

    def another(self) -> JaxprReader:
        """Returns a reader of a jaxpr within this one."""
        return JaxprReader(self.platform, self.devices, self.literals)

    # ---- atoms

    def new(self, aval: Any) -> Var:
        """Makes a new array of that shape and dtype."""
        return Var(*keys.physical(aval))

    def constant(self, value: Any, aval: Any) -> Literal:
        """Returns a constant."""
        if keys.is_key(aval):
            value = jax.random.key_data(value)
        array = np.asarray(value, keys.physical(aval)[1])
        if not array.flags.c_contiguous:
            array = array.copy()
        identity = (array.dtype, array.shape, array.tobytes())
        return self.literals.setdefault(identity, Literal(array))

    # ---- equations

    def equation(self, eqn: Any, inputs: list[Atom]) -> list[Atom]:
        """Appends what one equation does; returns its results, of which those without an element are constants."""
        results = super().equation(eqn, inputs)
        return [a if a.size else self.literals.setdefault((a.dtype, a.shape, b""), _empty(a)) for a in results]

    def operation(self, eqn: Any, inputs: list[Atom]) -> list[Atom]:
        """Appends an operation that is no call; returns its results."""
        name, params = eqn.primitive.name, eqn.params
        if name == "kousoku_kernel":
            closed = params["kernel"].batched_jaxpr(params["lanes"], params["batched"])
            return self.closed(closed, inputs)
        if name in CONTROL:
            return CONTROL[name](self, eqn, inputs)
        if name in collectives.NAMES:
            return collectives.read(self, eqn, inputs)
        if name == "platform_index":
            return [self.constant(_branch_of(self.platform, params["platforms"]), eqn.outvars[0].aval)]
        avals = [v.aval for v in eqn.invars]
        drawn = self.drawing(name, avals, params, inputs)
        if drawn is not None:
            return drawn
        if decompositions.has_decomposition(name, params):
            closed = decompositions.decompose(name, avals, params)
            made = [(aval.shape, aval.dtype) for aval in closed.out_avals]
            if made != [(v.aval.shape, v.aval.dtype) for v in eqn.outvars]:
                raise Unsupported(f"{name} with results of these types")
            return self.closed(closed, inputs)
        outs = [v.aval for v in eqn.outvars]
        half = any(map(halves.is_half, [*avals, *outs]))
        if half and (own := halves.own_reading(self, eqn, inputs)) is not None:
            return own
        if any(map(keys.is_key, avals)):
            params = keys.append_axes(name, avals, eqn.outvars[0].aval, params)
            inputs = self.with_key_axes(name, avals, inputs)
        if "update_jaxpr" in params:
            params = dict(params, update_jaxpr=self.combiner(params["update_jaxpr"], params["update_consts"]))
        elif name == "reduce":
            params = dict(params, jaxpr=self.inner(params["jaxpr"]))
        results = self.append(name, inputs, plain(params) if params else {}, list(map(keys.physical, outs)), half)
        return halves.with_rounding(self, name, outs, results) if half else results

    def append(
        self, name: str, inputs: list[Atom], params: dict[str, Any], outs: list[Any], half: bool = False
    ) -> list[Atom]:
        """Appends an operation, unless its result is known or was computed before; returns its results.

        Args:
            name, inputs, params: the operation's.
            outs: shapes and dtypes of its results.
            half: whether some of its numbers are float16.
        """
        if len(outs) == 1 and all(isinstance(a, Literal) for a in inputs):
            (shape, dtype), arrays = outs[0], [a.value for a in inputs]  # type: ignore[union-attr]
            value = fold(name, arrays, params, math.prod(shape), dtype)
            if value is not None:
                return [self.literals.setdefault((dtype, shape, value.tobytes()), Literal(value))]
        divisor = inputs[1] if name == "div" and isinstance(inputs[0], Var) else None
        if isinstance(divisor, Literal) and (factor := reciprocal(divisor.value)) is not None:
            factor = halves.rounded(factor) if half else factor
            name, inputs = "mul", [inputs[0], self.constant(factor, factor)]
        if len(outs) == 1:
            simpler = simplified(name, inputs, *outs[0])
            if simpler is not None and simpler.shape == outs[0][0]:
                return [simpler]
        kept = {key: value for key, value in params.items() if key not in FORGOTTEN}
        identity = (name, tuple(map(id, inputs)), tuple(outs), meaning(kept) if kept else "")
        if identity not in self.seen:
            outputs = [Var(shape, dtype) for shape, dtype in outs]
            self.ops.append(Op(name, inputs, outputs, kept))
            self.seen[identity] = list(outputs)
        return self.seen[identity]

    def drawing(self, name: str, avals: list[Any], params: dict[str, Any], inputs: list[Atom]) -> list[Atom] | None:
        """Appends a drawing primitive by its generator's definition; returns None if it is none."""
        if not name.startswith("random_"):
            return None
        told = tuple(sorted(params.items(), key=lambda kv: kv[0]))
        closed = _random_decomposition(name, tuple(avals), told, trace_affecting_config())
        return None if closed is None else self.closed(closed, inputs)

    def with_key_axes(self, name: str, avals: list[Any], inputs: list[Atom]) -> list[Atom]:
        """Returns inputs beside keys with the axes of words that they need as well: a condition, or start indices."""
        key = next(a for a in avals if keys.is_key(a))
        extra = keys.words(key)
        if name == "select_n" and inputs[0].shape:
            shape = (*inputs[0].shape, *extra)
            params = {"shape": shape, "broadcast_dimensions": tuple(range(len(inputs[0].shape)))}
            return self.append("broadcast_in_dim", inputs[:1], params, [(shape, inputs[0].dtype)]) + inputs[1:]
        if name in ("dynamic_slice", "dynamic_update_slice"):
            zero = self.literals.setdefault(("zero",), Literal(np.zeros((), np.int32)))
            return [*inputs, *(zero for _ in extra)]
        return inputs

    def combiner(self, jaxpr: Any, consts: Sequence[Any]) -> str | Graph:
        """Returns what a scatter does with old and new: an operation's name, "" for replacing, or a function of
        its own.
        """
        if jaxpr is None or jaxpr.outvars == jaxpr.invars[1:]:
            return ""
        half = any(halves.is_half(v.aval) for v in jaxpr.invars)
        if len(jaxpr.eqns) == 1 and jaxpr.eqns[0].invars == jaxpr.invars and not half:
            return jaxpr.eqns[0].primitive.name
        return self.another().graph(jaxpr, consts)


def meaning(params: dict[str, Any]) -> str:
    """Returns what parameters say, as text."""
    told = {key: digest(value) if isinstance(value, Graph) else value for key, value in params.items()}
    return repr(sorted(told.items()))


def plain(value: Any) -> Any:
    """Returns parameters with Python's integers in place of NumPy's."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    return int(value) if isinstance(value, np.integer) else value


def simplified(name: str, inputs: list[Atom], shape: tuple[int, ...], dtype: np.dtype) -> Atom | None:
    """Returns an input whose elements are the result's, or a constant; None where the operation has to be carried out.

    The input may be smaller than the result, beside which JAX leaves scalars as they are: then it is not the result.
    """
    first = inputs[0] if inputs else None
    if name in ("reshape", "broadcast_in_dim", "squeeze", "convert_element_type"):
        return first if first is not None and first.shape == shape and first.dtype == dtype else None
    if name == "select_n":
        which, cases = inputs[0], inputs[1:]
        if isinstance(which, Literal) and which.size == 1:
            return cases[int(np.clip(which.value.reshape(()), 0, len(cases) - 1))]
        return cases[0] if all(c is cases[0] for c in cases) else None
    if name in ("add", "or", "xor") and dtype.kind in "iub":
        for a, b in (inputs, inputs[::-1]):
            if isinstance(b, Literal) and not b.value.any():
                return a
    if name == "and" and dtype.kind == "b":
        for a, b in (inputs, inputs[::-1]):
            if isinstance(b, Literal) and not b.value.any():
                return Literal(np.zeros(shape, dtype))
            if isinstance(b, Literal) and b.value.all():
                return a
    return None


def _empty(like: Atom) -> Literal:
    return Literal(np.zeros(like.shape, like.dtype))


def _branch_of(platform: str | None, platforms: Sequence[Sequence[str] | None]) -> int:
    """Returns which of the branches of `lax.platform_dependent` is the platform's; None stands for the default."""
    found = next((i for i, names in enumerate(platforms) if names is None or platform in names), None)
    if found is None:
        raise Unsupported(f"platform_dependent without a branch for {platform}")
    return found


@lru_cache(maxsize=512)
def _random_decomposition(
    name: str, avals: tuple[Any, ...], params: tuple[tuple[str, Any], ...], settings: tuple[object, ...]
) -> Any:
    del settings  # which the definition depends on
    function = keys.decomposition(name, list(avals), dict(params))
    if function is None:
        return None
    given = [jax.ShapeDtypeStruct(*keys.physical(a)) for a in avals]
    return jax.make_jaxpr(function)(*given)
