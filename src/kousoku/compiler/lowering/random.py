"""Threefry-2x32 with 20 rounds, JAX's generator, and the counters that it is fed.

References:
    Salmon et al. (2011), Parallel random numbers: as easy as 1, 2, 3, section 3.3. doi:10.1145/2063384.2063405
"""

from __future__ import annotations

import numpy as np

from ..codegen.builder import I32, I64, Builder
from ..codegen.emitter import WORK, Emitter, spread
from ..codegen.index import Index, add, as_lanes, operand, scale, strides_of
from ..codegen.operand import Operand, int_constant
from ..codegen.value import Lazy, Position, Registers, Value
from ..ir import Op

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
WRITTEN_OUT = 4


def block(b: Builder, key: tuple[Operand, Operand], counter: tuple[Operand, Operand]) -> tuple[Operand, Operand]:
    """Returns two random words."""
    schedule = [*key, b.xor(b.xor(*key), int_constant(PARITY, I32))]
    x, y = (b.add(word if b.is_vector(part) else b.opaque(word), part) for word, part in zip(counter, key, strict=True))
    for i in range(5):
        for distance in ROTATIONS[i % 2]:
            x = b.add(x, y)
            y = b.xor(b.intrinsic("llvm.fshl", y, y, int_constant(distance, I32)), x)
        x = b.add(x, schedule[(i + 1) % 3])
        y = b.add(b.add(y, schedule[(i + 2) % 3]), int_constant(i + 1, I32))
    return x, y


def threefry2x32(k: Emitter, op: Op, *words: Value) -> list[Value]:
    """Returns the two output words for key words and counter words, element by element."""
    out = op.outputs[0]
    sources = tuple(k.reusable(w) for w in words)
    if out.size <= WRITTEN_OUT:
        pairs = []
        for p in np.ndindex(*out.shape):
            k0, k1, x0, x1 = (w.at(spread(p, w.shape)) for w in sources)
            pairs.append(block(k.b, (k0, k1), (x0, x1)))
        halves = [[pair[i] for pair in pairs] for i in range(2)]
        return [Registers(out.shape, out.dtype, k.memory, half) for half in halves]
    return _in_memory(k, op, sources)


def _in_memory(k: Emitter, op: Op, words: tuple[Value, ...]) -> list[Value]:
    out = op.outputs[0]
    sources = tuple(k.addressable(w) for w in words)
    buffers = []

    def body(position: Position) -> None:
        k0, k1, x0, x1 = (w.at(spread(position, w.shape)) for w in sources)
        results = block(k.b, (k0, k1), (x0, x1))
        for i, word in enumerate(results):
            if len(buffers) < 2:
                varying = k.b.is_vector(word)
                buffers.append(k.memory.stored(k.memory.buffer(I32, out.size, varying), out.shape, out.dtype))
            k.memory.store(buffers[i].buffer, buffers[i].linear(position), word)

    k.each(out.shape, body, work=WORK["threefry2x32"])
    return list(buffers)


def iota_2x32_shape(k: Emitter, op: Op) -> list[Value]:
    """Returns the high and low words of 0, 1, 2, ... in row-major order."""
    out = op.outputs[0]
    strides = strides_of(out.shape)

    def low(position: Position) -> Operand:
        total: Index = 0
        for i, stride in zip(position, strides, strict=True):
            total = add(k.b, total, scale(k.b, i, stride))
        total = as_lanes(k.b, total)
        if isinstance(total, int):
            return int_constant(total, I32)
        return k.b.cast("trunc", operand(total), I32) if total.type == I64 else total

    zero = int_constant(0, I32)
    high = Lazy(out.shape, out.dtype, lambda p: zero, (), costly=False)
    if out.size <= k.unroll:
        positions = list(np.ndindex(*out.shape))
        return [
            Registers(out.shape, out.dtype, k.memory, [zero] * len(positions)),
            Registers(out.shape, out.dtype, k.memory, [low(p) for p in positions]),
        ]
    return [high, Lazy(out.shape, out.dtype, low, (), costly=False)]


RULES = {"threefry2x32": threefry2x32, "iota_2x32_shape": iota_2x32_shape}
