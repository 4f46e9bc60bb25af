"""An ONNX graph as it is written: nodes, constants, the size of the batch.

Whole numbers of every width are int64 inside, since runtimes compute with few other ones; they are cut back to their
width where they may have left it. So is float16 float32 inside, rounded after each operation: of operations on float16
itself, runtimes leave out the rounding.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..core.errors import ConfigError
from .program import Atom, ExportProgram, Tensor, multiple, refusal

OUTSIDE = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9}
OUTSIDE |= {"float16": 10, "float64": 11, "uint32": 12}
"""The numbers of dtypes in `onnx.TensorProto`."""

HALF, UINT64 = OUTSIDE["float16"], 13


def library() -> Any:
    """Returns the onnx package, imported when it is needed.

    Raises:
        ConfigError: if it is not installed.
    """
    try:
        for part in ("helper", "numpy_helper", "checker"):
            importlib.import_module(f"onnx.{part}")
        return importlib.import_module("onnx")
    except ImportError:
        raise ConfigError("onnx", ..., "install it: pip install 'kousoku[onnx]'") from None


def inside(dtype: Any) -> str:
    """Returns the dtype that a value has in the graph.

    Raises:
        ConfigError: for one that there is no rule for.
    """
    name = np.dtype(dtype).name
    if name not in OUTSIDE:
        raise refusal(name, "ONNX", f"there is no rule for {name}")
    return "int64" if np.dtype(dtype).kind in "iu" else {"float16": "float32"}.get(name, name)


class OnnxGraph:
    """The nodes and constants of an ONNX model, as they are collected.

    Attributes:
        nodes: in order.
        constants: the initialisers.
    """

    def __init__(self, program: ExportProgram, names: list[str]) -> None:
        self._onnx = library()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._size = self.add("Shape", names[0], start=0, end=1)
        for value, name in zip(program.inputs, names, strict=True):
            self._names[id(value)] = name if inside(value.dtype) == value.dtype.name else self.cast(name, value.dtype)

    def add(self, kind: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """Adds a node; returns the name of its output, or their names where it has several."""
        made = [f"v{len(self.nodes)}" + (f"_{i}" if count > 1 else "") for i in range(count)]
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, made, **attributes))
        return made[0] if count == 1 else made

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """Adds a constant, by default of whole numbers; returns its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def name(self, atom: Atom) -> str:
        """Returns the name of a value or a constant."""
        if id(atom) not in self._names:
            self._names[id(atom)] = self.constant(np.asarray(atom), inside(atom.dtype))
            self._kept.append(atom)
        return self._names[id(atom)]

    def define(self, value: Tensor, name: str) -> None:
        """Gives a value a name."""
        self._names[id(value)] = name

    def cast(self, x: str, dtype: Any) -> str:
        """Casts to a dtype of the graph."""
        return self.add("Cast", x, to=OUTSIDE[inside(dtype)])

    def wrap(self, x: str, dtype: Any) -> str:
        """Cuts a whole number back to its width, as two's complement has it."""
        kind, bits = np.dtype(dtype).kind, 8 * np.dtype(dtype).itemsize
        if kind not in "iu" or bits == 64:
            return x
        mask = self.constant(2**bits - 1)
        if kind == "u":
            return self.add("BitwiseAnd", x, mask)
        half = self.constant(2 ** (bits - 1))
        return self.add("Sub", self.add("BitwiseAnd", self.add("Add", x, half), mask), half)

    def rounded(self, x: str, dtype: Any) -> str:
        """Rounds numbers to those of float16, where that is the dtype."""
        return self.cast(self.add("Cast", x, to=HALF), dtype) if dtype == np.float16 else x

    def size(self, size: Any) -> str:
        """Returns one size as a vector of length 1."""
        k = multiple(size)
        if k is None:
            return self.constant([int(size)])
        return self._size if k == 1 else self.add("Mul", self._size, self.constant([k]))

    def reshape(self, x: str, shape: Any) -> str:
        """Reshapes an array, of whose new sizes at most one depends on the batch."""
        sizes = [-1 if multiple(size) is not None else int(size) for size in shape]
        if sizes.count(-1) > 1:
            raise refusal("reshape", "ONNX", "two axes depend on the size of the batch")
        return self.add("Reshape", x, self.constant(np.asarray(sizes, np.int64)))

    def expand(self, x: str, shape: Any) -> str:
        """Copies along axes of length 1."""
        if all(multiple(size) is None for size in shape):
            return self.add("Expand", x, self.constant([int(size) for size in shape]))
        return self.add("Expand", x, self.add("Concat", *map(self.size, shape), axis=0))
