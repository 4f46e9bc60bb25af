"""A policy as one Python file that needs nothing but NumPy."""

from __future__ import annotations

import base64
import inspect
import textwrap
from collections.abc import Iterable

import numpy as np

from . import runtime
from .described import Described
from .numpy_code import NumpyWriter, batch_line, dims

ALWAYS = ("array", "refuse", "parts_of", "part_of")
RARELY = ("logistic", "erf", "whole_quotient", "convolution")

HEAD = '''"""A greedy policy as NumPy code, written by Kousoku: see TITLE. It needs no other file.

    {usage}

An observation is one, or a batch of them with the batch first. Arrays that were learned are at the end of the file.
"""
'''

ACT = '''
def act(obs):
    """The action for an observation, or the actions for a batch of them."""
    with np.errstate(all="ignore"):
        xs, single = parts_of(obs, PARTS, refuse)
        (action,) = program(*xs)
    return action[0] if single else action
'''

STEP = '''
def start(count=None):
    """The memory at the start of an episode; with a count, of so many environments."""
    return tuple(x.copy() if count is None else np.repeat(x[None], count, axis=0) for x in START)


def step(obs, memory):
    """(action, memory for the next step) for an observation, or for a batch of them and of memories."""
    with np.errstate(all="ignore"):
        xs, single = parts_of(obs, PARTS, refuse)
        memory = tuple(np.asarray(x)[None] for x in memory) if single else memory
        action, *memory = program(*xs, *memory_of(memory, START, len(xs[0]), refuse))
    return (action[0], tuple(x[0] for x in memory)) if single else (action, tuple(memory))
'''


def numpy_file(policy: Described) -> str:
    """Returns the text of the file.

    Raises:
        ConfigError: for an operation that there is no rule for.
    """
    program = policy.program
    names = [f"x{i}" for i in range(len(program.inputs))]
    writer = NumpyWriter(program, names)
    body = [batch_line(names[0]), *writer.lines, f"return {outputs(writer, policy)}"]
    code = "\n".join(body)
    helpers = [*ALWAYS, *(["memory_of"] if policy.start else []), *(name for name in RARELY if f"{name}(" in code)]
    usage = "memory = policy.start(); action, memory = policy.step(obs, memory)" if policy.start else "policy.act(obs)"
    blocks = [
        HEAD.format(usage=usage),
        "import base64\n" + ("import math\n" if "erf" in helpers else "") + "\nimport numpy as np\n",
        f"TITLE = {policy.title!a}\nPARTS = {written(policy.parts)}\n",
        STEP if policy.start else ACT,
        f"\ndef program({', '.join(names)}):\n" + textwrap.indent(code, "    ") + "\n",
        *("\n" + inspect.getsource(getattr(runtime, name)) for name in helpers),
        "\n" + "\n".join(constants(writer.arrays, policy.start)),
    ]
    return "\n".join(blocks)


def outputs(writer: NumpyWriter, policy: Described) -> str:
    """Returns what the program returns; a result that does not depend on the batch is repeated along it."""
    made = []
    for name, atom in zip(writer.outputs, policy.program.outputs, strict=True):
        made.append(f"np.broadcast_to({name}, {dims(atom.shape)})" if isinstance(atom, np.ndarray) else name)
    return f"{', '.join(made)}" + ("," if len(made) == 1 else "")


def written(parts: Iterable[tuple[object, ...]]) -> str:
    """Returns parts as a literal: names in ASCII with everything else escaped, and plain numbers."""
    return "(" + " ".join(f"{part!a}," for part in parts) + ")"


def constants(arrays: dict[str, np.ndarray], start: tuple[np.ndarray, ...]) -> list[str]:
    """Returns lines that make the arrays."""
    lines = [f"{name} = {literal(array)}" for name, array in arrays.items()]
    return [*lines, *([f"START = ({' '.join(f'{literal(x)},' for x in start)})"] if start else []), ""]


def literal(array: np.ndarray) -> str:
    """Returns an array as a call of `runtime.array`."""
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(data).decode("ascii")
    lines = textwrap.wrap(text, 110) or [""]
    joined = f'"{lines[0]}"' if len(lines) == 1 else "\n" + "\n".join(f'    "{line}"' for line in lines) + "\n"
    return f'array("{array.dtype.name}", {dims(array.shape)}, {joined})'
