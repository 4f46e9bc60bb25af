"""Writes products that sum over several axes, or have several rows' axes, as products of two matrices.

For kernels whose vectors lie along arrays: matrices have tiles that fit registers. A layer that sees each place of an
image sums its weights' gradient over samples and places. And a product that is transposed is that of its factors in the
other order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ir import Atom, Graph, Op, Var


def matrix_products(graph: Graph) -> Graph:
    """Returns the graph with such products of matrices, those within control flow included."""
    uses = graph.uses()
    products: dict[int, Op] = {}
    ops: list[Op] = []
    for op in graph.ops:
        source = products.get(id(op.inputs[0])) if op.name == "transpose" else None
        if source is not None and (swapped := _swapped(source, op)) is not None:
            op = swapped
        if op.name == "dot_general" and len(op.inputs) == 2 and uses.get(id(op.outputs[0])) == 1:
            products[id(op.outputs[0])] = op
        ops.append(op)
    made = [new for op in ops for new in _of_matrices(op.with_graphs(matrix_products))]
    return Graph(graph.inputs, made, graph.outputs).without_dead_code()


def _swapped(product: Op, transpose: Op) -> Op | None:
    """Returns a transposed product as that of the factors in the other order; None where it is no such one."""
    (x_sum, y_sum), (x_batch, _) = product.params["dimension_numbers"]
    rows = len(product.inputs[0].shape) - len(x_sum)
    axes = range(len(product.outputs[0].shape))
    if x_batch or tuple(transpose.params["permutation"]) != (*axes[rows:], *axes[:rows]):
        return None
    params = product.params | {"dimension_numbers": ((y_sum, x_sum), ((), ()))}
    return Op("dot_general", product.inputs[::-1], transpose.outputs, params)


def _of_matrices(op: Op) -> list[Op]:
    """Returns the operations that compute a product as one of two matrices; any other operation, it alone."""
    if op.name != "dot_general":
        return [op]
    (x_sum, y_sum), (x_batch, _) = op.params["dimension_numbers"]
    x, y, *row = op.inputs
    summed, out = math.prod(x.shape[axis] for axis in x_sum), op.outputs[0]
    rows, columns = x.size // max(summed, 1), y.size // max(summed, 1)
    plain = len(x.shape) == len(y.shape) == 2 or min(summed, rows, columns) == 0
    wide = row and out.shape[-1] != columns  # one row for all is what the last axis has
    if plain or x_batch or wide or not (_in_groups(x, x_sum) and _in_groups(y, y_sum)):
        return [op]
    ops: list[Op] = []
    factors, sums = [], []
    for factor, axes, free in ((x, x_sum, rows), (y, y_sum, columns)):
        last = len(axes) > 0 and axes[-1] == len(factor.shape) - 1
        factors.append(_reshaped(factor, (free, summed) if last else (summed, free), ops))
        sums.append((1,) if last else (0,))
    begin = [_reshaped(a, (1, columns), ops) for a in row]
    product = Var((rows, columns), out.dtype)
    params = op.params | {"dimension_numbers": (tuple(sums), ((), ()))}
    ops.append(Op("dot_general", [*factors, *begin], [product], params))
    ops.append(Op("reshape", [product], [out], _shape_params(out.shape)))
    return ops


def _in_groups(factor: Atom, summed: Sequence[int]) -> bool:
    """Returns whether the axes that are summed are the first ones, or the last ones, in their order."""
    count = len(summed)
    return tuple(summed) in (tuple(range(count)), tuple(range(len(factor.shape) - count, len(factor.shape))))


def _reshaped(factor: Atom, shape: tuple[int, ...], ops: list[Op]) -> Atom:
    """Returns the factor with that shape; appends the operation that gives it, if there is one."""
    if factor.shape == shape:
        return factor
    made = Var(shape, factor.dtype)
    ops.append(Op("reshape", [factor], [made], _shape_params(shape)))
    return made


def _shape_params(shape: tuple[int, ...]) -> dict[str, Any]:
    return {"new_sizes": shape, "dimensions": None}
