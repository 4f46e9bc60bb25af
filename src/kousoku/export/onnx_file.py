"""A policy as an ONNX model, for runtimes of other languages."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..core.errors import ConfigError
from .described import Described
from .onnx_graph import OUTSIDE, OnnxGraph, library
from .onnx_rules import write

OPSET, IR_VERSION = 18, 8


def onnx_file(policy: Described) -> bytes:
    """Makes the model: a batch of any size goes in, actions come out.

    Inputs are "obs" ("obs.NAME" for each part of a Dict) and, of a recurrent policy, "carry_0" and so on; outputs are
    "action" and "next_carry_0" and so on. The carry at the start of an episode is in the metadata, as JSON.

    Raises:
        ConfigError: if onnx is not installed, for an operation that there is no rule for, or for two parts of a Dict
            that would have one name.
    """
    onnx = library()
    program = policy.program
    carry = [f"carry_{i}" for i in range(len(policy.initial_carry))]
    names = [*part_names(policy), *carry]
    graph = OnnxGraph(program, names)
    for operation in program.operations:
        write(graph, operation)
    results = ["action", *(f"next_{name}" for name in carry)]
    for atom, name in zip(program.outputs, results, strict=True):
        found = graph.name(atom)
        whole = found if not isinstance(atom, np.ndarray) else graph.expand(found, atom.shape)
        graph.nodes.append(onnx.helper.make_node("Cast", [whole], [name], to=OUTSIDE[atom.dtype.name]))

    def information(name: str, atom: Any) -> Any:
        return onnx.helper.make_tensor_value_info(name, OUTSIDE[atom.dtype.name], ["batch", *map(int, atom.shape[1:])])

    made = onnx.helper.make_graph(
        graph.nodes,
        "policy",
        list(map(information, names, program.inputs)),
        list(map(information, results, program.outputs)),
        graph.constants,
    )
    model = onnx.helper.make_model(
        made, producer_name="kousoku", opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    initial = {name: x.tolist() for name, x in zip(carry, policy.initial_carry, strict=True)}
    onnx.helper.set_model_props(model, {"title": policy.title, "initial_carry": json.dumps(initial)})
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)


def part_names(policy: Described) -> list[str]:
    """Returns the names of the inputs that are parts of an observation.

    Raises:
        ConfigError: for two that are the same.
    """
    names = [".".join(map(str, ("obs", *names))) for names, *_ in policy.parts]
    for name in names:
        if names.count(name) > 1:
            fix = "two parts of the observation would have this name, as a key has a dot; use other keys, or a .py file"
            raise ConfigError("export", name, fix)
    return names
