"""Joins arrays to one vector once: where it is filled part by part, joined of vectors that were joined, or summed.

For kernels whose vectors lie along arrays. A gradient's arrays travel between devices as one vector, as what a network
learns by does; each device reads those of the others where they lie, and no vector of its own need be there.
"""

from __future__ import annotations

from itertools import groupby

from ..ir import Atom, Graph, Literal, Op, Var

SUMS = ("psum", "pmax", "pmin")
FEW = 64
"""Elements of an array that had better be copied beside its neighbours than be gone through by itself."""


def joined_vectors(graph: Graph) -> Graph:
    """Returns the graph with such vectors made by one operation, and with sums over devices of the parts of a vector.

    An operation on devices takes the parts as inputs of its own, as if they had been joined.
    """
    joined: dict[int, list[Atom]] = {}
    filled: dict[int, list[Atom]] = {}
    ops: list[Op] = []
    for op in graph.ops:
        op = op.with_graphs(joined_vectors)
        if op.name == "dynamic_update_slice" and (parts := _filled(op, filled)) is not None:
            if sum(part.size for part in parts) == op.outputs[0].size:
                op = Op("concatenate", parts, op.outputs, {"dimension": 0})
            filled[id(op.outputs[0])] = parts
        if op.name == "concatenate" or op.name in SUMS:
            parts = [part for a in op.inputs for part in joined.get(id(a), [a])]
            op = Op(op.name, parts if op.name == "concatenate" else _few_joined(parts, ops), op.outputs, op.params)
        if op.name == "concatenate" and len(op.outputs[0].shape) == 1:
            joined[id(op.outputs[0])] = op.inputs
        ops.append(op)
    return Graph(graph.inputs, ops, graph.outputs).without_dead_code()


def _few_joined(parts: list[Atom], ops: list[Op]) -> list[Atom]:
    """Returns parts of a vector, neighbours that are small as one; appends the operations that join them."""
    found: list[Atom] = []
    for small, group in groupby(parts, lambda part: part.size < FEW):
        run = list(group)
        if small and len(run) > 1:
            ops.append(Op("concatenate", run, [Var((sum(part.size for part in run),), run[0].dtype)], {"dimension": 0}))
            run = list[Atom](ops[-1].outputs)
        found += run
    return found


def _filled(op: Op, filled: dict[int, list[Atom]]) -> list[Atom] | None:
    """Returns the parts of a vector up to the one that an operation writes; None where that is not the next one."""
    vector, part, *indices = op.inputs
    before = filled.get(id(vector), [])
    if len(vector.shape) != 1 or not isinstance(indices[0], Literal):
        return None
    return [*before, part] if int(indices[0].value) == sum(each.size for each in before) else None
