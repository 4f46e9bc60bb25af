"""Operations as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .numpy_code import check_convolution, check_padding, einsum
from .onnx_graph import UINT64, OnnxGraph, inside
from .program import Operation, multiple, refusal

Rule = Callable[..., Any]
END = 2**62


def node(kind: str, **attributes: Any) -> Rule:
    """Makes the rule that writes one node; whole numbers are cut back to their width after it."""

    def rule(graph: OnnxGraph, operation: Operation, *xs: str) -> str:
        return graph.wrap(graph.add(kind, *xs, **attributes), operation.outputs[0].dtype)

    return rule


def logical(kind: str) -> Rule:
    """Makes the rule that writes a node for truth values, or its namesake for the bits of whole numbers."""

    def rule(graph: OnnxGraph, operation: Operation, *xs: str) -> str:
        dtype = operation.outputs[0].dtype
        return graph.add(kind, *xs) if dtype.kind == "b" else graph.wrap(graph.add(f"Bitwise{kind}", *xs), dtype)

    return rule


def shift(direction: str) -> Rule:
    """Makes the rule of a shift of bits, with zeros from the other side."""

    def rule(graph: OnnxGraph, operation: Operation, x: str, by: str) -> str:
        dtype = operation.outputs[0].dtype
        return graph.wrap(shifted(graph, operation, graph.wrap(x, f"uint{8 * dtype.itemsize}"), by, direction), dtype)

    return rule


def shift_right_arithmetic(graph: OnnxGraph, operation: Operation, x: str, by: str) -> str:
    """Shifts bits to the right, with copies of the first one: those of a negative number are turned over meanwhile."""
    dtype = operation.outputs[0].dtype
    bits, zero = graph.wrap(x, f"int{8 * dtype.itemsize}"), graph.constant(0)
    first = graph.add("Where", graph.add("Less", bits, zero), graph.constant(-1), zero)
    moved = shifted(graph, operation, graph.add("BitwiseXor", bits, first), by, "RIGHT")
    return graph.wrap(graph.add("BitwiseXor", moved, first), dtype)


def shifted(graph: OnnxGraph, operation: Operation, bits: str, by: str, direction: str) -> str:
    """Shifts bits; none is left if they are shifted by their number, by more, or by less than none."""
    zero = graph.constant(0)
    fewer = graph.add("Less", by, graph.constant(8 * operation.outputs[0].dtype.itemsize))
    some = graph.add("And", fewer, graph.add("GreaterOrEqual", by, zero))
    given = (graph.add("Cast", y, to=UINT64) for y in (bits, graph.add("Where", some, by, zero)))
    moved = graph.cast(graph.add("BitShift", *given, direction=direction), np.int64)
    return graph.add("Where", some, moved, zero)


def reduction(kind: str) -> Rule:
    """Makes the rule of a sum, product or extremum over axes."""

    def rule(graph: OnnxGraph, operation: Operation, x: str) -> str:
        axes = graph.constant([int(axis) for axis in operation.params["axes"]])
        return graph.wrap(graph.add(kind, x, axes, keepdims=0), operation.outputs[0].dtype)

    return rule


def truth(kind: str) -> Rule:
    """Makes the rule that reduces truth values as whole numbers."""

    def rule(graph: OnnxGraph, operation: Operation, x: str) -> str:
        axes = graph.constant([int(axis) for axis in operation.params["axes"]])
        return graph.cast(graph.add(kind, graph.cast(x, np.int64), axes, keepdims=0), bool)

    return rule


def best(kind: str) -> Rule:
    """Makes the rule that finds where the extremum along one axis is."""

    def rule(graph: OnnxGraph, operation: Operation, x: str) -> str:
        (axis,) = operation.params["axes"]
        return graph.add(kind, x, axis=int(axis), keepdims=0)

    return rule


def running_sum(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Adds up along one axis."""
    p = operation.params
    total = graph.add("CumSum", x, graph.constant(int(p["axis"])), reverse=int(p["reverse"]))
    return graph.wrap(total, operation.outputs[0].dtype)


def convert(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Converts to another dtype."""
    before, after = operation.inputs[0].dtype, operation.outputs[0].dtype
    if before.kind == "f" and after.kind in "iu":
        return whole(graph, x, after)
    if after == np.float16:
        return x  # of whatever dtype: it is rounded as every result is
    return graph.wrap(x if inside(before) == inside(after) else graph.cast(x, after), after)


def whole(graph: OnnxGraph, x: str, dtype: np.dtype) -> str:
    """Converts real numbers to whole ones: NaN to 0, and what is beyond the dtype to the last number that it has."""
    info, x = np.iinfo(dtype), graph.cast(x, np.float64)
    least, beyond, zero = (graph.constant(float(bound), np.float64) for bound in (info.min, info.max + 1, 0))
    some = graph.add("And", graph.add("Greater", x, least), graph.add("Less", x, beyond))
    made = graph.cast(graph.add("Where", some, x, zero), dtype)
    made = graph.add("Where", graph.add("GreaterOrEqual", x, beyond), graph.constant(info.max), made)
    return graph.add("Where", graph.add("LessOrEqual", x, least), graph.constant(info.min), made)


def finite(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Returns whether a number is neither infinite nor NaN."""
    return graph.add("Not", graph.add("Or", graph.add("IsNaN", x), graph.add("IsInf", x)))


def log1p(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Computes log(u) x / (u - 1) with u = 1 + x as rounded, and x where that is 1: exact for small x too."""
    one = graph.constant(1, inside(operation.outputs[0].dtype))
    u = graph.add("Add", x, one)
    ratio = graph.add("Div", graph.add("Mul", graph.add("Log", u), x), graph.add("Sub", u, one))
    return graph.add("Where", graph.add("Equal", u, one), x, ratio)


def expm1(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Computes (u - 1) x / log(u) with u = exp(x) as rounded, x where that is 1, and u - 1 away from 0."""
    one = graph.constant(1, inside(operation.outputs[0].dtype))
    u = graph.add("Exp", x)
    less = graph.add("Sub", u, one)
    ratio = graph.add("Div", graph.add("Mul", less, x), graph.add("Log", u))
    near = graph.add("Less", graph.add("Abs", x), one)
    return graph.add("Where", graph.add("Equal", u, one), x, graph.add("Where", near, ratio, less))


def reshape(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Reshapes."""
    return graph.reshape(x, operation.outputs[0].shape)


def broadcast(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Broadcasts: new axes by reshaping, and copies along them where they are longer than 1."""
    shape, places = operation.outputs[0].shape, [int(d) for d in operation.params["broadcast_dimensions"]]
    before = operation.inputs[0].shape
    middle = [before[places.index(d)] if d in places else 1 for d in range(len(shape))]
    x = x if list(before) == middle else graph.reshape(x, middle)
    return x if middle == list(shape) else graph.expand(x, shape)


def transpose(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Orders axes otherwise."""
    return graph.add("Transpose", x, perm=[int(axis) for axis in operation.params["permutation"]])


def concatenate(graph: OnnxGraph, operation: Operation, *xs: str) -> str:
    """Joins arrays."""
    return graph.add("Concat", *xs, axis=int(operation.params["dimension"]))


def reverse(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Reverses axes."""
    axes = [int(axis) for axis in operation.params["dimensions"]]
    bounds = ([-1] * len(axes), [-END] * len(axes), axes, [-1] * len(axes))
    return graph.add("Slice", x, *map(graph.constant, bounds))


def sliced(graph: OnnxGraph, operation: Operation, x: str) -> str:
    """Takes part of an array."""
    p, shape = operation.params, operation.inputs[0].shape
    steps = p["strides"] or [1] * len(shape)
    whole = [(0, size, 1) for size in shape]
    cuts = list(zip(p["start_indices"], p["limit_indices"], steps, strict=True))
    kept = [(i, *cut) for i, cut in enumerate(cuts) if cut != whole[i]]
    if not kept:
        return x
    if any(multiple(size) is not None for _, begin, end, _ in kept for size in (begin, end)):
        raise refusal("slice", "ONNX", "it cuts the axis of the batch")
    axes, begins, ends, strides = (list(map(int, column)) for column in zip(*kept, strict=True))
    return graph.add("Slice", x, *map(graph.constant, (begins, ends, axes, strides)))


def split(graph: OnnxGraph, operation: Operation, x: str) -> list[str]:
    """Splits an array along one axis."""
    sizes = graph.constant([int(size) for size in operation.params["sizes"]])
    made = graph.add("Split", x, sizes, count=len(operation.outputs), axis=int(operation.params["axis"]))
    return [made] if isinstance(made, str) else made


def take(graph: OnnxGraph, operation: Operation, x: str, index: str) -> str:
    """Takes rows."""
    return graph.add("Gather", x, graph.add("Squeeze", index, graph.constant([-1])), axis=0)


def product(graph: OnnxGraph, operation: Operation, a: str, b: str) -> str:
    """Writes a matrix product where it is one, otherwise the general sum of products."""
    (over_a, over_b), (batch_a, _) = operation.params["dimension_numbers"]
    rank_a, rank_b = (len(x.shape) for x in operation.inputs)
    if rank_b == 2 and list(over_a) == [rank_a - 1] and not batch_a and list(over_b) == [0]:
        return graph.wrap(graph.add("MatMul", a, b), operation.outputs[0].dtype)
    return graph.wrap(graph.add("Einsum", a, b, equation=einsum(operation)), operation.outputs[0].dtype)


def convolution(graph: OnnxGraph, operation: Operation, x: str, w: str) -> str:
    """Convolves, in ONNX's order of axes."""
    p = check_convolution(operation, "ONNX")
    lhs, rhs, out = p["dimension_numbers"]
    made = graph.add(
        "Conv",
        graph.add("Transpose", x, perm=[int(axis) for axis in lhs]),
        graph.add("Transpose", w, perm=[int(axis) for axis in rhs]),
        strides=list(map(int, p["window_strides"])),
        pads=[int(pads[side]) for side in (0, 1) for pads in p["padding"]],
        dilations=list(map(int, p["rhs_dilation"])),
        group=int(p["feature_group_count"]),
    )
    return graph.add("Transpose", made, perm=[int(axis) for axis in np.argsort(out)])


def pad(graph: OnnxGraph, operation: Operation, x: str, value: str) -> str:
    """Puts a value around an array."""
    config = check_padding(operation, "ONNX")
    return graph.add("Pad", x, graph.constant([pads[side] for side in (0, 1) for pads in config]), value)


def iota(graph: OnnxGraph, operation: Operation) -> str:
    """Counts 0, 1, 2, ... along one axis."""
    shape, d = operation.outputs[0].shape, int(operation.params["dimension"])
    end = graph.add("Squeeze", graph.size(shape[d]), graph.constant([0]))
    line = graph.add("Range", graph.constant(0), end, graph.constant(1))
    line = graph.reshape(line, [shape[d] if i == d else 1 for i in range(len(shape))])
    dtype = operation.outputs[0].dtype
    return graph.expand(line if dtype.kind in "iu" else graph.cast(line, dtype), shape)


NODES = {name: name.capitalize() for name in ("add", "sub", "mul", "div", "pow", "max", "min", "neg", "erf")}
NODES |= {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
NODES |= {name: name.capitalize() for name in ("exp", "log", "tanh", "sinh", "cosh", "sin", "cos", "tan", "sqrt")}
NODES |= {name: name.capitalize() for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "abs", "sign")}
NODES |= {name: name.capitalize() for name in ("floor", "ceil", "round")}

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: node(kind) for name, kind in NODES.items()},
        **{f"reduce_{name}": reduction(f"Reduce{name.capitalize()}") for name in ("sum", "prod", "max", "min")},
        "rem": node("Mod", fmod=1),
        "logistic": node("Sigmoid"),
        "ne": lambda graph, operation, a, b: graph.add("Not", graph.add("Equal", a, b)),
        "and": logical("And"),
        "or": logical("Or"),
        "xor": logical("Xor"),
        "not": logical("Not"),
        "shift_left": shift("LEFT"),
        "shift_right_logical": shift("RIGHT"),
        "shift_right_arithmetic": shift_right_arithmetic,
        "reduce_and": truth("ReduceMin"),
        "reduce_or": truth("ReduceMax"),
        "argmax": best("ArgMax"),
        "argmin": best("ArgMin"),
        "cumsum": running_sum,
        "select_n": lambda graph, operation, which, no, yes: graph.add("Where", which, yes, no),
        "convert_element_type": convert,
        "is_finite": finite,
        "log1p": log1p,
        "expm1": expm1,
        "reshape": reshape,
        "squeeze": reshape,
        "expand_dims": reshape,
        "broadcast_in_dim": broadcast,
        "transpose": transpose,
        "concatenate": concatenate,
        "rev": reverse,
        "slice": sliced,
        "split": split,
        "take": take,
        "dot_general": product,
        "conv_general_dilated": convolution,
        "pad": pad,
        "iota": iota,
    }
)


def write(graph: OnnxGraph, operation: Operation) -> None:
    """Adds an operation to a graph.

    Raises:
        ConfigError: if there is no rule for it.
    """
    if operation.name not in RULES:
        raise refusal(operation.name, "ONNX")
    made = RULES[operation.name](graph, operation, *map(graph.name, operation.inputs))
    for output, name in zip(operation.outputs, [made] if isinstance(made, str) else made, strict=True):
        inside(output.dtype)
        graph.define(output, graph.rounded(name, output.dtype))
