"""Reads cond, while and scan: operations that hold graphs. Constants that go into one are known inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir import Atom, Literal, Op, Var
from . import decompositions as decompositions

if TYPE_CHECKING:
    from .reader import JaxprReader


def _constants(atoms: Sequence[Atom]) -> list[Atom | None]:
    return [a if isinstance(a, Literal) else None for a in atoms]


def _variables(atoms: Sequence[Atom]) -> list[Atom]:
    return [a for a in atoms if isinstance(a, Var)]


def _cond(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom]:
    index, operands = inputs[0], inputs[1:]
    branches = eqn.params["branches"]
    if isinstance(index, Literal):
        chosen = branches[int(np.clip(int(index.value), 0, len(branches) - 1))]
        return reader.closed(chosen, operands)
    graphs = tuple(reader.inner(branch, _constants(operands)) for branch in branches)
    return _append_control(reader, "cond", [index, *_variables(operands)], {"branches": graphs}, eqn)


def _while(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom]:
    test, body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test_consts, body_consts, carry = inputs[:test], inputs[test : test + body], inputs[test + body :]
    p = decompositions.with_one_end(eqn.params)
    if p is not eqn.params:
        body_consts = [*test_consts, *body_consts]
    free: list[Atom | None] = [None] * len(carry)
    params = {
        "test": reader.inner(p["cond_jaxpr"], _constants(test_consts) + free),
        "body": reader.inner(p["body_jaxpr"], _constants(body_consts) + free),
        "test_consts": len(_variables(test_consts)),
        "body_consts": len(_variables(body_consts)),
    }
    return _append_control(reader, "while", [*_variables(test_consts), *_variables(body_consts), *carry], params, eqn)


def _scan(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom]:
    p = eqn.params
    count, carry = _scan_counts(p)
    consts, rest = inputs[:count], inputs[count:]
    free: list[Atom | None] = [None] * len(rest)
    params = {
        "body": reader.inner(p["jaxpr"], _constants(consts) + free),
        "consts": len(_variables(consts)),
        "carry": carry,
        "length": p["length"],
        "reverse": p["reverse"],
    }
    return _append_control(reader, "scan", [*_variables(consts), *rest], params, eqn)


def _scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """Returns how many inputs of a scan are constants, and how many the carry; newer JAX tells it by a tree."""
    if "ft_in" in params:
        consts, carry, _ = params["ft_in"].unpack()
        return len(consts), len(carry)
    return params["num_consts"], params["num_carry"]


def _append_control(reader: JaxprReader, name: str, inputs: list[Atom], params: dict[str, Any], eqn: Any) -> list[Atom]:
    outputs = [reader.new(v.aval) for v in eqn.outvars]
    reader.ops.append(Op(name, inputs, outputs, params))
    return list(outputs)


CONTROL = {"cond": _cond, "while": _while, "scan": _scan}
