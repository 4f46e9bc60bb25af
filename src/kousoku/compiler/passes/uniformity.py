"""Finds which values differ between lanes, before they are written: loops must know what they carry."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Graph, Literal, Op


def varying_outputs(graph: Graph, inputs: Sequence[bool]) -> list[bool]:
    """Returns for each output whether it may differ between lanes, given which inputs do; the graph is finished."""
    given = tuple(inputs)
    if given not in graph.uniformity:
        graph.uniformity[given] = _varying_outputs(graph, given)
    return graph.uniformity[given]


def _varying_outputs(graph: Graph, inputs: tuple[bool, ...]) -> list[bool]:
    varying = {id(v): w for v, w in zip(graph.inputs, inputs, strict=True)}

    def of(atom: object) -> bool:
        return not isinstance(atom, Literal) and varying[id(atom)]

    for op in graph.ops:
        varying.update(zip(map(id, op.outputs), _op_varying(op, [of(a) for a in op.inputs]), strict=True))
    return [of(a) for a in graph.outputs]


def _op_varying(op: Op, inputs: list[bool]) -> list[bool]:
    if op.name == "cond":
        if inputs[0]:
            return [True] * len(op.outputs)
        branches = [varying_outputs(branch, inputs[1:]) for branch in op.params["branches"]]
        return [any(column) for column in zip(*branches, strict=True)]
    if op.name == "while":
        test, body = op.params["test_consts"], op.params["body_consts"]
        return while_varying(op, inputs[:test], inputs[test : test + body], inputs[test + body :])[0]
    if op.name == "scan":
        consts, carry = op.params["consts"], op.params["carry"]
        return scan_varying(op, inputs[:consts], inputs[consts : consts + carry], inputs[consts + carry :])
    if op.name == "any_lane" and not op.outputs[0].shape:
        return [False]
    return [any(inputs)] * len(op.outputs)


def while_varying(op: Op, test: list[bool], body: list[bool], carry: list[bool]) -> tuple[list[bool], bool]:
    """Returns what a while loop carries that is varying, and whether its condition is."""
    while True:
        condition = varying_outputs(op.params["test"], test + carry)[0]
        after = varying_outputs(op.params["body"], body + carry)
        grown = [a or b or condition for a, b in zip(carry, after, strict=True)]
        if grown == carry:
            return carry, condition
        carry = grown


def running_varying(op: Op, body: list[bool], carry: list[bool]) -> list[bool]:
    """Returns what a while loop carries that is varying in the lanes that still run: a counter is the same in
    all of them.
    """
    while True:
        after = varying_outputs(op.params["body"], body + carry)
        grown = [a or b for a, b in zip(carry, after, strict=True)]
        if grown == carry:
            return carry
        carry = grown


def scan_varying(op: Op, consts: list[bool], carry: list[bool], xs: list[bool]) -> list[bool]:
    """Returns which of a scan's outputs are varying: what it carries, then what it stacks."""
    while True:
        after = varying_outputs(op.params["body"], consts + carry + xs)
        grown = [a or b for a, b in zip(carry, after, strict=False)]
        if grown == carry:
            return [*carry, *after[len(carry) :]]
        carry = grown
