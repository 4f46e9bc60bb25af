"""Does with each element of a product of matrices what comes next, while it is in a register.

For kernels whose vectors lie along arrays. A layer's product ends in its activation, and the gradient of what goes into
a layer in the activation's derivative: neither then goes through all elements once more.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir import Atom, Graph, Literal, Op, Var

SMALL = 128
"""Multiply-adds up to which a product is computed element by element."""
ENDS = frozenset({
    "add", "add_any", "sub", "mul", "neg", "max", "min", "square", "select_n", "gt", "ge", "lt", "le", "and", "or",
    "not",
})  # fmt: skip
"""Operations on one element that are a few instructions."""
MOST = 8
"""Operations of an end, at most."""


def is_in_tiles(op: Op) -> bool:
    """Returns whether an operation is a product of matrices of some size, which is written as tiles of its result."""
    if op.name != "dot_general":
        return False
    (x_sum, _), _ = op.params["dimension_numbers"]
    x, y, out = *op.inputs[:2], op.outputs[0]
    inner = math.prod(x.shape[axis] for axis in x_sum)
    alike = x.dtype == y.dtype == out.dtype and out.dtype.kind == "f"
    return alike and len(x_sum) == 1 and out.size * inner > SMALL


def product_ends(graph: Graph) -> Graph:
    """Returns the graph, with what is done to the elements of products and to nothing else as a part of these.

    Such a product has the parameter "end": a graph of numbers, from the product's element, and further inputs' elements
    at its place, to the one that is stored.
    """
    graph = _signs_of_rectified(graph)
    finder = _Finder(graph)
    ends: dict[int, _End] = {}
    for op in graph.ops:
        if is_in_tiles(op) and (end := finder.end(op)) is not None:
            ends[id(end.ops[-1])] = end
    ops: list[Op] = []
    for op in graph.ops:
        if id(op) in ends:
            ops.append(ends[id(op)].product())
        elif id(op) not in finder.taken:
            ops.append(op.with_graphs(product_ends))
    return Graph(graph.inputs, ops, graph.outputs).without_dead_code()


def _signs_of_rectified(graph: Graph) -> Graph:
    """Returns the graph with x > 0 read off max(x, 0) where that is there: then nobody else may need x."""
    rectified: dict[int, Var] = {}
    ops: list[Op] = []
    for op in graph.ops:
        if op.name in ("max", "gt") and _is_zero(op.inputs[1]) and op.inputs[0].dtype.kind == "f":
            if op.name == "max":
                rectified[id(op.inputs[0])] = op.outputs[0]
            elif (known := rectified.get(id(op.inputs[0]))) is not None:
                op = Op("gt", [known, op.inputs[1]], op.outputs, op.params)
        ops.append(op)
    return Graph(graph.inputs, ops, graph.outputs)


def _is_zero(atom: Atom) -> bool:
    return isinstance(atom, Literal) and atom.size == 1 and not np.any(atom.value)


class _End:
    """The operations that a product's elements go through before anything else.

    Attributes:
        op: the product.
        ops: operations on its elements, in their order.
        others: arrays of the same shape that they read.
        known: numbers that they read, by the ids of what has these for its elements.
    """

    def __init__(self, op: Op, ops: list[Op], others: list[Atom], known: dict[int, Literal]) -> None:
        self.op, self.ops, self.others, self.known = op, ops, others, known

    def product(self) -> Op:
        """Returns the operation that computes all."""
        read: list[Atom] = [self.op.outputs[0], *self.others]
        inputs = [Var((), a.dtype) for a in read]
        numbers: dict[int, Atom] = {**self.known, **{id(a): v for a, v in zip(read, inputs, strict=True)}}
        ops = []
        for op in self.ops:
            made = Var((), op.outputs[0].dtype)
            ops.append(Op(op.name, [numbers[id(a)] for a in op.inputs], [made], op.params))
            numbers[id(op.outputs[0])] = made
        params = self.op.params | {"end": Graph(inputs, ops, list(ops[-1].outputs))}
        return Op("dot_general", [*self.op.inputs, *self.others], self.ops[-1].outputs, params)


class _Finder:
    """The makers and readers of a graph's arrays.

    Attributes:
        taken: the operations that are a part of a product, and that product: what two products go into ends the first.
    """

    def __init__(self, graph: Graph) -> None:
        self.taken: set[int] = set()
        self.uses = graph.uses()
        self.readers = {id(a): op for op in graph.ops for a in op.inputs}
        self.makers = {id(v): op for op in graph.ops for v in op.outputs}
        self.places = {id(op): place for place, op in enumerate(graph.ops)}
        self.known = {id(a): number for op in graph.ops for a in op.inputs if (number := self._number(a)) is not None}

    def end(self, product: Op) -> _End | None:
        """Returns what is done with a product's elements; None where that is nothing, or more than a few operations."""
        now, shape = product.outputs[0], product.outputs[0].shape
        found: _End | None = None
        ops: list[Op] = []
        while self.uses.get(id(now)) == 1 and (user := self.readers.get(id(now))) is not None:
            added = self._with_what_it_reads(user, shape, {id(now)}, MOST - len(ops))
            if added is None:
                break
            ops += added
            now = user.outputs[0]
            if now.dtype == product.outputs[0].dtype:
                in_order = sorted(ops, key=lambda op: self.places[id(op)])
                found = _End(product, in_order, self._others(ops, product), self.known)
        if found is not None:
            self.taken |= {id(product), *map(id, found.ops)}
        return found

    def _with_what_it_reads(self, op: Op, shape: tuple[int, ...], known: set[int], most: int) -> list[Op] | None:
        """Returns an operation on elements, and as many as there may be of those whose results it alone reads; None if
        it is no such operation, or one too many.
        """
        if op.name not in ENDS or op.outputs[0].shape != shape or id(op) in self.taken or most < 1:
            return None
        ops: list[Op] = []
        for a in op.inputs:
            if id(a) in known or id(a) in self.known:
                continue
            if a.shape != shape:
                return None
            maker = self.makers.get(id(a))
            if maker is not None and self.uses[id(a)] == 1:
                ops += self._with_what_it_reads(maker, shape, known, most - 1 - len(ops)) or []
        return [*ops, op]

    def _others(self, ops: list[Op], product: Op) -> list[Atom]:
        """Returns the arrays that operations read which they do not make."""
        made = {id(product.outputs[0]), *(id(op.outputs[0]) for op in ops)}
        return list(
            {id(a): a for op in ops for a in op.inputs if id(a) not in made and id(a) not in self.known}.values()
        )

    def _number(self, atom: Atom) -> Literal | None:
        """Returns the number that all elements of an array are known to be."""
        maker = self.makers.get(id(atom))
        if maker is not None and maker.name == "broadcast_in_dim":
            atom = maker.inputs[0]
        return Literal(atom.value.reshape(())) if isinstance(atom, Literal) and atom.size == 1 else None
