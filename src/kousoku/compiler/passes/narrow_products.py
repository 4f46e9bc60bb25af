"""Computes of products of matrices only what is used, and begins them with what is added to them.

For kernels whose vectors lie along arrays. The gradient of a critic by its action is a few columns of a product, and
each layer of a network adds its bias to one.
"""

from __future__ import annotations

from ..ir import Atom, Graph, Op, Var


def narrow_products(graph: Graph) -> Graph:
    """Returns the graph, with slices of products as products of slices, and sums of a product and a row as one."""
    uses = graph.uses()
    products: dict[int, Op] = {}
    ops: list[Op] = []
    for op in graph.ops:
        source = next((products[id(a)] for a in op.inputs if id(a) in products), None)
        if op.name == "slice" and source is not None:
            ops += _of_slices(source, op)
        elif op.name == "add" and source is not None and (row := _row_beside(op, source)) is not None:
            ops.append(Op("dot_general", [*source.inputs, row], op.outputs, source.params))
        else:
            ops.append(op.with_graphs(narrow_products))
        made = ops[-1]
        if made.name == "dot_general" and len(made.inputs) == 2 and uses.get(id(made.outputs[0])) == 1:
            products[id(made.outputs[0])] = made
    return Graph(graph.inputs, ops, graph.outputs).without_dead_code()


def _row_beside(op: Op, product: Op) -> Atom | None:
    """Returns what is added to every row of a product; None where that is something else."""
    out = product.outputs[0]
    others = [a for a in op.inputs if a is not out]
    if len(others) != 1 or len(out.shape) < 2 or out.dtype.kind != "f":
        return None
    return others[0] if others[0].shape == (*(1,) * (len(out.shape) - 1), out.shape[-1]) else None


def _of_slices(product: Op, part: Op) -> list[Op]:
    """Returns the operations that compute a part of a product."""
    (x_sum, y_sum), (x_batch, y_batch) = product.params["dimension_numbers"]
    starts, limits, steps = (part.params[name] for name in ("start_indices", "limit_indices", "strides"))
    bounds = list(zip(starts, limits, steps or (1,) * len(starts), strict=True))
    x, y = product.inputs
    x_axes = [*x_batch, *(axis for axis in range(len(x.shape)) if axis not in (*x_sum, *x_batch))]
    y_axes = [*y_batch, *(axis for axis in range(len(y.shape)) if axis not in (*y_sum, *y_batch))]
    of_y = [*bounds[: len(y_batch)], *bounds[len(x_axes) :]]
    ops: list[Op] = []
    factors = [
        _sliced(factor, dict(zip(axes, own, strict=True)), ops)
        for factor, axes, own in ((x, x_axes, bounds[: len(x_axes)]), (y, y_axes, of_y))
    ]
    return [*ops, Op("dot_general", factors, part.outputs, product.params)]


def _sliced(factor: Atom, bounds: dict[int, tuple[int, int, int]], ops: list[Op]) -> Atom:
    """Returns a factor's part between bounds of some axes; appends the operation that takes it, if there is one."""
    whole = [(0, n, 1) for n in factor.shape]
    taken = [bounds.get(axis, all_of_it) for axis, all_of_it in enumerate(whole)]
    if taken == whole:
        return factor
    begin, end, step = map(tuple, zip(*taken, strict=True))
    part = Var(tuple(-(-(e - b) // s) for b, e, s in taken), factor.dtype)
    ops.append(Op("slice", [factor], [part], {"start_indices": begin, "limit_indices": end, "strides": step}))
    return part
