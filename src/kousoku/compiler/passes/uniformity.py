"""Which values differ between lanes, before they are written: loops must know what they carry."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Literal, Op, Program


def widths(program: Program, inputs: Sequence[bool]) -> list[bool]:
    """For each output, whether it may differ between lanes, given which inputs do; the program is finished."""
    given = tuple(inputs)
    if given not in program.widths:
        program.widths[given] = _widths(program, given)
    return program.widths[given]


def _widths(program: Program, inputs: tuple[bool, ...]) -> list[bool]:
    wide = {id(v): w for v, w in zip(program.inputs, inputs, strict=True)}

    def of(atom: object) -> bool:
        return not isinstance(atom, Literal) and wide[id(atom)]

    for op in program.ops:
        wide.update(zip(map(id, op.outputs), _op_widths(op, [of(a) for a in op.inputs]), strict=True))
    return [of(a) for a in program.outputs]


def _op_widths(op: Op, inputs: list[bool]) -> list[bool]:
    if op.name == "cond":
        if inputs[0]:
            return [True] * len(op.outputs)
        branches = [widths(branch, inputs[1:]) for branch in op.params["branches"]]
        return [any(column) for column in zip(*branches, strict=True)]
    if op.name == "while":
        test, body = op.params["test_consts"], op.params["body_consts"]
        return while_widths(op, inputs[:test], inputs[test : test + body], inputs[test + body :])[0]
    if op.name == "scan":
        consts, carry = op.params["consts"], op.params["carry"]
        return scan_widths(op, inputs[:consts], inputs[consts : consts + carry], inputs[consts + carry :])
    if op.name == "any_lane" and not op.outputs[0].shape:
        return [False]
    return [any(inputs)] * len(op.outputs)


def while_widths(op: Op, test: list[bool], body: list[bool], carry: list[bool]) -> tuple[list[bool], bool]:
    """Widths of what a while loop carries, and of its condition."""
    while True:
        condition = widths(op.params["test"], test + carry)[0]
        after = widths(op.params["body"], body + carry)
        grown = [a or b or condition for a, b in zip(carry, after, strict=True)]
        if grown == carry:
            return carry, condition
        carry = grown


def running_widths(op: Op, body: list[bool], carry: list[bool]) -> list[bool]:
    """Widths of what a while loop carries, in the lanes that still run: a counter is the same in all of them."""
    while True:
        after = widths(op.params["body"], body + carry)
        grown = [a or b for a, b in zip(carry, after, strict=True)]
        if grown == carry:
            return carry
        carry = grown


def scan_widths(op: Op, consts: list[bool], carry: list[bool], xs: list[bool]) -> list[bool]:
    """Widths of a scan's outputs: what it carries, then what it stacks."""
    while True:
        after = widths(op.params["body"], consts + carry + xs)
        grown = [a or b for a, b in zip(carry, after, strict=False)]
        if grown == carry:
            return [*carry, *after[len(carry) :]]
        carry = grown
