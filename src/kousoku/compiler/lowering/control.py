"""cond, while and scan.

A condition that all lanes share is a real branch. One that differs runs every branch that some lane takes, and picks.
A loop runs until its last lane is done; lanes that are done keep what they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from ..codegen import index as ix
from ..codegen.builder import I1, I64
from ..codegen.emitter import Emitter, is_varying
from ..codegen.operand import LLVM_TYPES, Operand, int_constant
from ..codegen.value import Registers, Stored, Value
from ..ir import Graph, Op, Var
from ..passes.uniformity import running_varying, scan_varying, varying_outputs, while_varying

CHEAP = 24


@contextmanager
def region(k: Emitter, mask: Operand | None):
    """Opens a loop body or branch: buffers from outside must not be overwritten in it.

    Only the lanes of `mask` count.
    """
    outer = k.memory.region, k.mask
    k.memory.region, k.mask = object(), mask
    yield
    k.memory.region, k.mask = outer


def masked(k: Emitter, condition: Operand) -> Operand:
    """Restricts the condition to lanes that count."""
    counting = k.mask or k.present
    return condition if counting is None else k.b.and_(condition, counting)


def small(k: Emitter, value: Value) -> bool:
    """Returns whether it lives in registers."""
    return value.size <= k.unroll


def elements(value: Value) -> list[Operand]:
    """Returns all elements of a small array."""
    return [value.at(p) for p in ix.all_indices(value.shape)]


# ---- cond


def cond(k: Emitter, op: Op, index: Value, *operands: Value) -> list[Value]:
    """Runs one of several graphs, by number; numbers outside are clamped."""
    branches: tuple[Graph, ...] = op.params["branches"]
    number = index.at(())
    args = [k.materialise(a) for a in operands]
    if number.type == I1:
        tests = [k.b.not_(number), number]
    else:
        chosen = ix.operand(ix.clamp(k.b, ix.as_index(k.b, number), 0, len(branches) - 1))
        tests = [k.b.icmp("eq", chosen, int_constant(i, chosen.type)) for i in range(len(branches))]
    if k.b.is_vector(number):
        return _blend(k, op, branches, tests, args)
    varying = [False] * len(op.outputs)
    for branch in branches:
        varying = [a or b for a, b in zip(varying, varying_outputs(branch, [is_varying(a) for a in args]), strict=True)]
    return _branch(k, op, branches, tests, args, varying)


def _branch(
    k: Emitter, op: Op, branches: Sequence[Graph], tests: list[Operand], args: list[Value], varying: list[bool]
) -> list[Value]:
    """Branches where all lanes take the same branch."""
    targets = _targets(k, op.outputs, varying)

    def run(i: int) -> list[Operand]:
        with region(k, k.mask):
            return _deliver(k, k.run(branches[i], args), targets, None)

    flat_varying = [w for v, w, t in zip(op.outputs, varying, targets, strict=True) if t is None for _ in range(v.size)]
    runs = [partial(run, i) for i in range(len(branches))]
    return _collect(k, op, k.b.choose(tests[:-1], runs, flat_varying), targets)


def _blend(k: Emitter, op: Op, branches: Sequence[Graph], tests: list[Operand], args: list[Value]) -> list[Value]:
    """Runs each branch that some lane takes, and gives its results to those lanes."""
    targets = _targets(k, op.outputs, [True] * len(op.outputs))
    small_types = [
        LLVM_TYPES[v.dtype.name] for v, t in zip(op.outputs, targets, strict=True) if t is None for _ in range(v.size)
    ]
    current = [k.b.splat(k.b.const(0, type)) for type in small_types]
    for i, branch in enumerate(branches):
        mask = masked(k, tests[i])
        run = partial(_run_branch, k, branch, args, targets, mask, None if i == 0 else current)
        if not cheap(branch) or (i > 0 and len(current) > CHEAP):
            run = partial(k.b.if_, k.b.any(mask), run, partial(list, current), [True] * len(current))
        current = run()
    return _collect(k, op, current, targets)


def _run_branch(
    k: Emitter,
    branch: Graph,
    args: list[Value],
    targets: Sequence[Stored | None],
    mask: Operand,
    others: list[Operand] | None,
) -> list[Operand]:
    """Returns the branch's results in the lanes of the mask; in the rest, what came of the branches before it."""
    with region(k, mask):
        results = _deliver(k, k.run(branch, args), targets, None if others is None else mask)
    if others is None:
        return results
    return [k.b.select(mask, new, old) for new, old in zip(results, others, strict=True)]


def cheap(graph: Graph) -> bool:
    """Returns whether running it costs less than asking whether to."""
    return (
        sum(v.size for op in graph.walk() for v in op.outputs) <= CHEAP
        and not any(op.graphs() for op in graph.ops)
        and all(op.name != "threefry2x32" for op in graph.ops)
    )


def _targets(k: Emitter, outputs: Sequence[Var], varying: Sequence[bool]) -> list[Stored | None]:
    """Makes buffers for the large results."""
    return [None if v.size <= k.unroll else _new_stored(k, v, w) for v, w in zip(outputs, varying, strict=True)]


def _new_stored(k: Emitter, v: Var, varying: bool) -> Stored:
    buffer = k.memory.buffer(LLVM_TYPES[v.dtype.name], v.size, varying and k.b.lanes > 1)
    return k.memory.stored(buffer, v.shape, v.dtype)


def _deliver(
    k: Emitter, results: Sequence[Value], targets: Sequence[Stored | None], mask: Operand | None
) -> list[Operand]:
    """Writes large results into their buffers; returns the elements of the small ones."""
    flat: list[Operand] = []
    for value, target in zip(results, targets, strict=True):
        if target is None:
            flat += elements(value)
        else:
            k.write(target, value, mask)
    return flat


def _collect(k: Emitter, op: Op, flat: Sequence[Operand], targets: Sequence[Stored | None]) -> list[Value]:
    """Returns the results as arrays."""
    values: list[Value] = []
    at = 0
    for v, target in zip(op.outputs, targets, strict=True):
        if target is not None:
            values.append(target)
        else:
            values.append(Registers(v.shape, v.dtype, k.memory, list(flat[at : at + v.size])))
            at += v.size
    return values


def any_lane(k: Emitter, op: Op, condition: Value) -> Value:
    """Makes a condition true in all lanes if it holds in one."""
    if condition.shape:
        return condition
    held = condition.at(())
    return Registers((), condition.dtype, k.memory, [k.b.any(masked(k, held)) if held.varying else held])


# ---- loops


class Init(NamedTuple):
    """An array that a loop begins with and carries on.

    Attributes:
        value: the array.
        varying: whether what the loop makes of it may differ between lanes.
    """

    value: Value
    varying: bool


class Carry:
    """The arrays that a loop carries: small ones in registers, large ones each in a buffer that nothing else reads.

    A large array keeps the buffer that it comes in, where nobody else needs what is there, so that a loop in a loop
    copies no table; else it is copied before the loop.

    Args:
        k: the emitter.
        inits: what the loop begins with.
        read: what else the loop reads while it runs.
        lanes_leave: whether lanes leave the loop one after the other, and keep what they carry.
    """

    def __init__(self, k: Emitter, inits: Sequence[Init], read: Sequence[Value], lanes_leave: bool = False) -> None:
        self.k, self.inits = k, inits
        self.targets: list[Stored | None] = []
        self.flat: list[Operand] = []
        self.masked: list[bool] = []
        for init in inits:
            target = None
            if small(k, init.value):
                self.flat += [k.b.splat(e) if init.varying and k.b.lanes > 1 else e for e in elements(init.value)]
            else:
                taken = [t for t in self.targets if t is not None]
                target = k.writable(init.value, init.varying, [*read, *taken])
            self.targets.append(target)
            self.masked.append(lanes_leave or target is init.value)

    def values(self, flat: Sequence[Operand]) -> list[Value]:
        """Returns arrays, from the registers at some point of the loop."""
        out: list[Value] = []
        at = 0
        for (init, _), target in zip(self.inits, self.targets, strict=True):
            if target is not None:
                out.append(target)
            else:
                out.append(Registers(init.shape, init.dtype, self.k.memory, list(flat[at : at + init.size])))
                at += init.size
        return out

    def adopt(self) -> None:
        """Lets the region that is being written overwrite the buffers."""
        for target in self.targets:
            if target is not None:
                target.buffer.region = self.k.memory.region

    def update(self, results: Sequence[Value]) -> list[Operand]:
        """Stores what the body made; returns the registers to go on with.

        In a buffer that holds something in lanes outside the mask, these keep it.
        """
        k = self.k
        moves: list[tuple[Stored, Value, Operand | None]] = []
        flat: list[Operand] = []
        for value, target, masked in zip(results, self.targets, self.masked, strict=True):
            if target is None:
                flat += elements(value)
            else:
                moves.append((target, value, k.mask_of(target.buffer) if masked else None))
        k.write_all(moves)
        return flat


def while_(k: Emitter, op: Op, *inputs: Value) -> list[Value]:
    """Runs the body while the test holds, until no lane goes on."""
    values = [k.materialise(v) for v in inputs]
    p = op.params
    n_test, n_body = p["test_consts"], p["body_consts"]
    consts, carried = values[: n_test + n_body], values[n_test + n_body :]
    test_consts, body_consts = consts[:n_test], consts[n_test:]
    test, body = p["test"], p["body"]
    varying, per_lane = while_varying(
        op, *([is_varying(v) for v in some] for some in (test_consts, body_consts, carried))
    )
    inits = list(map(Init, carried, varying))
    if per_lane and k.b.lanes > 1:
        return _while_some(k, op, consts, inits)
    outer_mask = k.mask
    carry = Carry(k, inits, consts)

    def go_on(flat: list[Operand]) -> Operand:
        with region(k, outer_mask):
            return k.run(test, [*test_consts, *carry.values(flat)])[0].at(())

    def step(flat: list[Operand]) -> list[Operand]:
        with region(k, outer_mask):
            carry.adopt()
            return carry.update(k.run(body, [*body_consts, *carry.values(flat)]))

    flat = k.b.while_(carry.flat, go_on, step)
    carry.adopt()
    return carry.values(flat)


def _while_some(k: Emitter, op: Op, consts: list[Value], inits: list[Init]) -> list[Value]:
    """Returns a loop that lanes leave one after the other; those that have left keep what they carry.

    What is the same in all lanes that still run, as a counter is, stays a single number, beside its last value in each
    lane.
    """
    p = op.params
    n_test = p["test_consts"]
    test_consts, body_consts = consts[:n_test], consts[n_test:]
    in_registers = [small(k, init.value) for init in inits]
    own_per_lane = [is_varying(init.value) or not small(k, init.value) for init in inits]  # memory is each lane's own
    running = running_varying(op, [is_varying(v) for v in body_consts], own_per_lane)
    alike = [not r and n for r, n in zip(running, in_registers, strict=True)]
    inits = [init._replace(varying=init.varying and not a) for init, a in zip(inits, alike, strict=True)]
    carry = Carry(k, inits, consts, lanes_leave=True)
    kept = [a for init, n, a in zip(inits, in_registers, alike, strict=True) if n for _ in range(init.value.size)]
    outer_mask, count = k.mask, len(carry.flat)

    def go_on(flat: Sequence[Operand]) -> Operand:
        with region(k, outer_mask):
            return k.run(p["test"], [*test_consts, *carry.values(flat)])[0].at(())

    def step(flat: Sequence[Operand], own: Sequence[Operand], mask: Operand) -> list[Operand]:
        with region(k, mask):
            carry.adopt()
            new = carry.update(k.run(p["body"], [*body_consts, *carry.values(flat)]))
        flat = [n if a else k.b.select(mask, n, o) for n, o, a in zip(new, flat, kept, strict=True)]
        own = [k.b.select(mask, n, o) for n, o in zip(_only(new, kept), own, strict=True)]
        return [k.b.and_(go_on(flat), mask), *flat, *own]

    first = k.b.splat(masked(k, go_on(carry.flat)))
    _, *state = k.b.while_(
        [first, *carry.flat, *map(k.b.splat, _only(carry.flat, kept))],
        lambda c: k.b.any(c[0]),
        lambda c: step(c[1 : count + 1], c[count + 1 :], c[0]),
    )
    carry.adopt()
    last = iter(state[count:])
    return carry.values([next(last) if a else f for f, a in zip(state[:count], kept, strict=True)])


def _only(operands: Sequence[Operand], chosen: Sequence[bool]) -> list[Operand]:
    return [x for x, c in zip(operands, chosen, strict=True) if c]


def scan(k: Emitter, op: Op, *inputs: Value) -> list[Value]:
    """Returns the body `length` times: carried values, slices of the inputs, stacked outputs."""
    values = [k.materialise(v) for v in inputs]
    p = op.params
    body: Graph = p["body"]
    n_consts, n_carry, length = p["consts"], p["carry"], p["length"]
    consts, carried, xs = values[:n_consts], values[n_consts : n_consts + n_carry], values[n_consts + n_carry :]
    varying = scan_varying(op, *([is_varying(v) for v in some] for some in (consts, carried, xs)))
    inits = list(map(Init, carried, varying))
    xs = [k.memory.spill(x) for x in xs]
    carry = Carry(k, inits, [*consts, *xs])
    stacks = [_new_stored(k, v, w) for v, w in zip(op.outputs[n_carry:], varying[n_carry:], strict=True)]

    def step(i: Operand, flat: list[Operand]) -> list[Operand]:
        at = k.b.sub(int_constant(length - 1, I64), i) if p["reverse"] else i
        with region(k, k.mask):
            carry.adopt()
            args = [*consts, *carry.values(flat), *(row(k, x, at) for x in xs)]
            results = k.run(body, args)
            for stack, y in zip(stacks, results[n_carry:], strict=True):
                k.write(row_view(k, stack, at), y)
            return carry.update(results[:n_carry])

    flat = k.b.for_(int_constant(length, I64), carry.flat, step)
    carry.adopt()
    return [*carry.values(flat), *stacks]


def row_view(k: Emitter, value: Stored, at: Operand) -> Stored:
    """Returns value[at], as a view."""
    offset = ix.add(k.b, value.offset, ix.scale(k.b, at, value.strides[0]))
    return Stored(value.shape[1:], value.dtype, k.memory, value.buffer, offset, value.strides[1:])


def row(k: Emitter, value: Stored, at: Operand) -> Value:
    """Returns value[at], in registers if it is small."""
    view = row_view(k, value, at)
    if not small(k, view):
        return view
    return Registers(view.shape, view.dtype, k.memory, elements(view))


RULES = {"cond": cond, "any_lane": any_lane, "while": while_, "scan": scan}
