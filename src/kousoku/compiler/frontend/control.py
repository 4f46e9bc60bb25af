"""Reads cond, while and scan: operations that hold graphs. Constants that go into one are known inside.

What every branch returns as it came, or every step of a loop carries on as it is, comes out as what went in; and what
goes into a branch or loop that nothing there reads is left outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir import Atom, Graph, Literal, Op, Var
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
    graphs = [reader.inner(branch, _constants(operands)) for branch in branches]
    given = _variables(operands)
    results = [_common([_outside(g, given, g.outputs[k]) for g in graphs]) for k in range(len(eqn.outvars))]
    made = [k for k, result in enumerate(results) if result is None]
    graphs = [Graph(g.inputs, g.ops, [g.outputs[k] for k in made]).without_dead_code() for g in graphs]
    reads = [_read(g) for g in graphs]
    used = [i for i in range(len(given)) if any(id(g.inputs[i]) in read for g, read in zip(graphs, reads, strict=True))]
    narrowed = tuple(Graph([g.inputs[i] for i in used], g.ops, g.outputs) for g in graphs)
    return _append_control(reader, "cond", [index, *(given[i] for i in used)], {"branches": narrowed}, eqn, results)


def _outside(graph: Graph, given: Sequence[Atom], atom: Atom) -> Atom | None:
    """Returns what an atom of a graph is outside of it, where its inputs are `given`; None for what the graph makes."""
    if isinstance(atom, Literal):
        return atom
    return next((a for v, a in zip(graph.inputs, given, strict=True) if v is atom), None)


def _common(atoms: Sequence[Atom | None]) -> Atom | None:
    """Returns what all of them are; None where they differ."""
    return atoms[0] if all(a is atoms[0] for a in atoms) else None


def _read(graph: Graph) -> set[int]:
    """Returns the ids of what a graph's operations and results read."""
    return {id(a) for op in graph.ops for a in op.inputs} | {id(a) for a in graph.outputs}


Pair = tuple[Var, Atom]
"""An input of a graph, and what it is outside."""


class _Loop:
    """The inputs of a loop's graph, sorted: what never changes and is read there, what is carried, and the rest.

    Args:
        graph: the body, or the test of a `while`.
        consts: what is given to it as constants.
        carry: what is carried into the first step.
        fixed: which of these the body returns as they came.
        rest: what else its inputs are.
    """

    def __init__(
        self, graph: Graph, consts: Sequence[Atom], carry: Sequence[Atom], fixed: set[int], rest: Sequence[Atom]
    ) -> None:
        read = _read(graph)
        pairs: list[Pair] = list(zip(graph.inputs, [*consts, *carry, *rest], strict=True))
        begin, end = len(consts), len(consts) + len(carry)
        still = [*pairs[:begin], *(pairs[begin + k] for k in sorted(fixed))]
        self.consts = [pair for pair in still if id(pair[0]) in read]
        self.carry = [pair for k, pair in enumerate(pairs[begin:end]) if k not in fixed]
        self.rest = [pair for pair in pairs[end:] if id(pair[0]) in read]
        self.graph = Graph([v for v, _ in (*self.consts, *self.carry, *self.rest)], graph.ops, graph.outputs)


def _unchanged(body: Graph, consts: int, carry: int) -> set[int]:
    """Returns which of the carried values a loop's body returns as they came."""
    return {k for k in range(carry) if body.outputs[k] is body.inputs[consts + k]}


def _without(graph: Graph, fixed: set[int]) -> Graph:
    """Returns the graph without these results."""
    return Graph(graph.inputs, graph.ops, [a for k, a in enumerate(graph.outputs) if k not in fixed])


def _outer(pairs: Sequence[Pair]) -> list[Atom]:
    return [a for _, a in pairs]


def _while(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom]:
    n_test, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    test_consts, body_consts, carry = inputs[:n_test], inputs[n_test : n_test + n_body], inputs[n_test + n_body :]
    p = decompositions.with_one_end(eqn.params)
    if p is not eqn.params:
        body_consts = [*test_consts, *body_consts]
    free: list[Atom | None] = [None] * len(carry)
    whole = reader.inner(p["body_jaxpr"], _constants(body_consts) + free)
    of_body = _variables(body_consts)
    fixed = _unchanged(whole, len(of_body), len(carry))
    test_graph = reader.inner(p["cond_jaxpr"], _constants(test_consts) + free)
    test = _Loop(test_graph, _variables(test_consts), carry, fixed, ())
    body = _Loop(_without(whole, fixed), of_body, carry, fixed, ())
    params = {
        "test": test.graph,
        "body": body.graph,
        "test_consts": len(test.consts),
        "body_consts": len(body.consts),
    }
    given = [*_outer(test.consts), *_outer(body.consts), *_outer(body.carry)]
    results = [a if k in fixed else None for k, a in enumerate(carry)]
    return _append_control(reader, "while", given, params, eqn, results)


def _scan(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom]:
    p = eqn.params
    count, n_carry = _scan_counts(p)
    consts, carry, xs = inputs[:count], inputs[count : count + n_carry], inputs[count + n_carry :]
    free: list[Atom | None] = [None] * (len(carry) + len(xs))
    whole = reader.inner(p["jaxpr"], _constants(consts) + free)
    given = _variables(consts)
    fixed = _unchanged(whole, len(given), len(carry))
    loop = _Loop(_without(whole, fixed), given, carry, fixed, xs)
    params = {
        "body": loop.graph,
        "consts": len(loop.consts),
        "carry": len(loop.carry),
        "length": p["length"],
        "reverse": p["reverse"],
    }
    results = [carry[k] if k in fixed else None for k in range(len(eqn.outvars))]
    return _append_control(reader, "scan", _outer([*loop.consts, *loop.carry, *loop.rest]), params, eqn, results)


def _scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """Returns how many inputs of a scan are constants, and how many the carry; newer JAX tells it by a tree."""
    if "ft_in" in params:
        consts, carry, _ = params["ft_in"].unpack()
        return len(consts), len(carry)
    return params["num_consts"], params["num_carry"]


def _append_control(
    reader: JaxprReader,
    name: str,
    inputs: list[Atom],
    params: dict[str, Any],
    eqn: Any,
    known: Sequence[Atom | None],
) -> list[Atom]:
    """Appends an operation that makes the results that are not known; returns all of them."""
    results = [reader.new(v.aval) if a is None else a for v, a in zip(eqn.outvars, known, strict=True)]
    made = [r for r, a in zip(results, known, strict=True) if a is None]
    if made:
        reader.ops.append(Op(name, inputs, made, params))  # type: ignore[arg-type]
    return results


CONTROL = {"cond": _cond, "while": _while, "scan": _scan}
