"""Operations as lines of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from .program import BATCH, Atom, ExportProgram, Operation, Tensor, refusal

Rule = Callable[..., str]
KINDS = (
    "float16",
    "float32",
    "float64",
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)


def dims(shape: Any) -> str:
    """Returns a shape as Python writes it; the size of the batch by its name."""
    sizes = [str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def kind(dtype: Any) -> str:
    """Returns a dtype as Python writes it.

    Raises:
        ConfigError: for one that NumPy does not know.
    """
    name = np.dtype(dtype).name
    if name not in KINDS:
        raise refusal(name, "NumPy", f"NumPy has no {name}")
    return f"np.{name}"


def call(function: str) -> Rule:
    """Makes the rule that calls a function of the inputs."""
    return lambda operation, *xs: f"{function}({', '.join(xs)})"


def infix(sign: str) -> Rule:
    """Makes the rule that writes an operator between two inputs."""
    return lambda operation, a, b: f"{a} {sign} {b}"


def over_axes(function: str) -> Rule:
    """Makes the rule of a reduction, in the dtype of the input."""

    def rule(operation: Operation, x: str) -> str:
        axes = tuple(int(axis) for axis in operation.params["axes"])
        same = f", dtype={kind(operation.outputs[0].dtype)}" if function in ("sum", "prod") else ""
        return f"{x}.{function}(axis={axes}{same})"

    return rule


def along(function: str) -> Rule:
    """Makes the rule of a running reduction along one axis."""

    def rule(operation: Operation, x: str) -> str:
        axis = int(operation.params["axis"])
        flip = f"np.flip({{}}, {axis})" if operation.params["reverse"] else "{}"
        done = f"{function}({flip.format(x)}, axis={axis}, dtype={kind(operation.outputs[0].dtype)})"
        return flip.format(done)

    return rule


def best(function: str) -> Rule:
    """Makes the rule of argmax or argmin."""

    def rule(operation: Operation, x: str) -> str:
        (axis,) = operation.params["axes"]
        return f"np.{function}({x}, axis={int(axis)}).astype({kind(operation.outputs[0].dtype)})"

    return rule


def division(operation: Operation, a: str, b: str) -> str:
    """Divides; whole numbers are rounded towards zero."""
    return f"{a} / {b}" if operation.outputs[0].dtype.kind == "f" else f"whole_quotient({a}, {b})"


def converted(operation: Operation, x: str) -> str:
    """Converts to another dtype; real numbers beyond those of a whole one become its last ones, as in JAX."""
    before, after = operation.inputs[0].dtype, operation.outputs[0].dtype
    to = kind(after)
    return f"whole({x}, {to})" if before.kind == "f" and after.kind in "iu" else f"{x}.astype({to})"


def reshaped(operation: Operation, x: str) -> str:
    """Reshapes."""
    return f"{x}.reshape({dims(operation.outputs[0].shape)})"


def broadcast(operation: Operation, x: str) -> str:
    """Broadcasts: new axes by reshaping, and copies along them where they are longer than 1."""
    shape, places = operation.outputs[0].shape, [int(d) for d in operation.params["broadcast_dimensions"]]
    before = operation.inputs[0].shape
    middle = [before[places.index(d)] if d in places else 1 for d in range(len(shape))]
    if list(before) != middle:
        x = f"{x}.reshape({dims(middle)})" if middle else x
    return x if middle == list(shape) else f"np.broadcast_to({x}, {dims(shape)})"


def sliced(operation: Operation, x: str) -> str:
    """Takes part of an array."""
    p, shape = operation.params, operation.inputs[0].shape
    steps = p["strides"] or [1] * len(shape)
    parts = []
    for begin, end, step, size in zip(p["start_indices"], p["limit_indices"], steps, shape, strict=True):
        first, last = "" if begin == 0 else str(begin), "" if end is size or end == size else str(end)
        parts.append(f"{first}:{last}" + (f":{step}" if step != 1 else ""))
    return f"{x}[{', '.join(parts)}]"


def split(operation: Operation, x: str) -> str:
    """Splits an array along one axis."""
    sizes = [int(size) for size in operation.params["sizes"]]
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return f"np.split({x}, {ends}, axis={operation.params['axis']})"


def product(operation: Operation, a: str, b: str) -> str:
    """Writes a matrix product where it is one, otherwise the general sum of products."""
    (over_a, over_b), (batch_a, _) = operation.params["dimension_numbers"]
    rank_a, rank_b = (len(x.shape) for x in operation.inputs)
    if rank_b == 2 and list(over_a) == [rank_a - 1] and not batch_a and len(over_b) == 1:
        return f"{a} @ {b}" if over_b[0] == 0 else f"{a} @ {b}.T"
    return f'np.einsum("{einsum(operation)}", {a}, {b}, optimize=True)'


def einsum(operation: Operation) -> str:
    """Returns a product in Einstein's notation: batch, then what is left of the first, then of the second."""
    (over_a, over_b), (batch_a, batch_b) = operation.params["dimension_numbers"]
    rank_a, rank_b = (len(x.shape) for x in operation.inputs)
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[:rank_a])
    right = list(letters[rank_a : rank_a + rank_b])
    for i, j in zip([*over_a, *batch_a], [*over_b, *batch_b], strict=True):
        right[j] = left[i]
    rest_a = [left[i] for i in range(rank_a) if i not in (*over_a, *batch_a)]
    rest_b = [right[j] for j in range(rank_b) if j not in (*over_b, *batch_b)]
    return f"{''.join(left)},{''.join(right)}->{''.join([*(left[i] for i in batch_a), *rest_a, *rest_b])}"


def convolution(operation: Operation, x: str, w: str) -> str:
    """Convolves: images to [batch, height, width, channels], kernels to [height, width, in, out]; and back."""
    p = check_convolution(operation, "NumPy")
    lhs, rhs, out = p["dimension_numbers"]
    image, filters = [lhs[0], *lhs[2:], lhs[1]], [*rhs[2:], rhs[1], rhs[0]]
    back = [0] * len(out)
    for position, axis in enumerate([out[0], *out[2:], out[1]]):
        back[axis] = position
    options = [tuple(p["window_strides"]), tuple(p["padding"]), tuple(p["rhs_dilation"]), p["feature_group_count"]]
    made = f"convolution({moved(x, image)}, {moved(w, filters)}, {', '.join(map(str, options))})"
    return moved(made, back)


def check_convolution(operation: Operation, kind: str) -> dict[str, Any]:
    """Returns the parameters of a convolution.

    Raises:
        ConfigError: for a transposed one.
    """
    p = operation.params
    if p["batch_group_count"] != 1 or any(step != 1 for step in p["lhs_dilation"]):
        raise refusal(operation.name, kind, "there is no rule for transposed convolutions")
    return p


def moved(x: str, axes: Sequence[int]) -> str:
    """Orders axes otherwise, if the order is another one."""
    order = tuple(int(axis) for axis in axes)
    return x if order == tuple(range(len(order))) else f"{x}.transpose({order})"


def padded(operation: Operation, x: str, value: str) -> str:
    """Puts a value around an array."""
    config = check_padding(operation, "NumPy")
    return f"np.pad({x}, {tuple(config)}, constant_values={value})"


def check_padding(operation: Operation, kind: str) -> list[tuple[int, int]]:
    """Returns how much is added before and after, of each axis.

    Raises:
        ConfigError: where something is taken away, or put between entries.
    """
    config = [(int(low), int(high), int(inside)) for low, high, inside in operation.params["padding_config"]]
    if any(low < 0 or high < 0 or inside != 0 for low, high, inside in config):
        raise refusal(operation.name, kind, "there is no rule for negative padding, or padding within")
    return [(low, high) for low, high, _ in config]


def joined(operation: Operation, *xs: str) -> str:
    """Joins arrays."""
    return f"np.concatenate([{', '.join(xs)}], axis={operation.params['dimension']})"


def iota(operation: Operation) -> str:
    """Counts 0, 1, 2, ... along one axis."""
    shape, d = list(operation.outputs[0].shape), int(operation.params["dimension"])
    line = [shape[d] if i == d else 1 for i in range(len(shape))]
    numbers = f"np.arange({shape[d]}, dtype={kind(operation.outputs[0].dtype)}).reshape({dims(line)})"
    return numbers if line == shape else f"np.broadcast_to({numbers}, {dims(shape)})"


def ordered(operation: Operation, x: str, *others: str) -> str:
    """Sorts along one axis."""
    if others:
        raise refusal("sort", "NumPy", "there is no rule for sorting several arrays together")
    return f"np.sort({x}, axis={operation.params['dimension']})"


INFIX = {"add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
INFIX |= {"and": "&", "or": "|", "xor": "^", "shift_left": "<<"}
CALLS = {"max": "maximum", "min": "minimum", "pow": "power", "rem": "fmod", "not": "invert", "neg": "negative"}
CALLS |= {"is_finite": "isfinite", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
CALLS |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "round": "round"}
CALLS |= {name: name for name in ("exp", "expm1", "log", "log1p", "tanh", "sinh", "cosh", "sin", "cos", "tan", "sqrt")}
CALLS |= {name: name for name in ("cbrt", "abs", "sign", "floor", "ceil")}

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: infix(sign) for name, sign in INFIX.items()},
        **{name: call(f"np.{function}") for name, function in CALLS.items()},
        **{f"reduce_{name}": over_axes(name) for name in ("sum", "prod", "max", "min")},
        "reduce_and": over_axes("all"),
        "reduce_or": over_axes("any"),
        "cumsum": along("np.cumsum"),
        "cumprod": along("np.cumprod"),
        "argmax": best("argmax"),
        "argmin": best("argmin"),
        "div": division,
        "logistic": call("logistic"),
        "erf": call("erf"),
        "select_n": lambda operation, which, no, yes: f"np.where({which}, {yes}, {no})",
        "shift_right_arithmetic": lambda operation, x, by: f'shifted_right({x}, {by}, "i")',
        "shift_right_logical": lambda operation, x, by: f'shifted_right({x}, {by}, "u")',
        "convert_element_type": converted,
        "reshape": reshaped,
        "squeeze": reshaped,
        "expand_dims": reshaped,
        "broadcast_in_dim": broadcast,
        "transpose": lambda operation, x: moved(x, operation.params["permutation"]),
        "concatenate": lambda operation, *xs: (
            f"np.concatenate([{', '.join(xs)}], axis={operation.params['dimension']})"
        ),
        "rev": lambda operation, x: f"np.flip({x}, {tuple(operation.params['dimensions'])})",
        "slice": sliced,
        "split": split,
        "take": lambda operation, x, index: f"{x}[{index}[..., 0]]",
        "dot_general": product,
        "conv_general_dilated": convolution,
        "pad": padded,
        "iota": iota,
        "sort": ordered,
    }
)


class NumpyWriter:
    """The writer of a program as NumPy code.

    Attributes:
        arrays: constants that are no single number, by name.
        lines: one for each operation.
    """

    def __init__(self, program: ExportProgram, names: list[str]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.lines: list[str] = []
        self._names = dict(zip(map(id, program.inputs), names, strict=True))
        self._constants: dict[int, str] = {}
        self._kept: list[Any] = []
        for operation in program.operations:
            self._write(operation)
        self.outputs = [self.read(atom) for atom in program.outputs]

    def read(self, atom: Atom) -> str:
        """Returns how a later line names a value."""
        if isinstance(atom, Tensor):
            return self._names[id(atom)]
        if atom.ndim == 0:
            return number(atom)
        if id(atom) not in self._constants:
            kind(atom.dtype)
            self._constants[id(atom)] = f"c{len(self.arrays)}"
            self.arrays[self._constants[id(atom)]] = atom
            self._kept.append(atom)
        return self._constants[id(atom)]

    def _write(self, operation: Operation) -> None:
        if operation.name not in RULES:
            raise refusal(operation.name, "NumPy")
        expression = RULES[operation.name](operation, *map(self.read, operation.inputs))
        names = []
        for output in operation.outputs:
            kind(output.dtype)
            names.append(f"v{len(self._names)}")
            self._names[id(output)] = names[-1]
        comment = ", ".join(f"{np.dtype(x.dtype).name} [{', '.join(map(str, x.shape))}]" for x in operation.outputs[:1])
        self.lines.append(f"{', '.join(names)} = {expression}  # {comment}")


def number(atom: np.ndarray) -> str:
    """Returns a single number as Python writes it, with its dtype."""
    value = atom.item()
    plain = f"np.{value}" if isinstance(value, float) and value in (np.inf,) else repr(value)
    plain = {"nan": "np.nan", "-inf": "-np.inf"}.get(plain, plain)
    return f"{kind(atom.dtype)}({plain})" if atom.dtype != bool else f"np.bool_({plain})"


def batch_line(name: str) -> str:
    """Returns where the size of the batch comes from."""
    return f"{BATCH} = len({name})"
