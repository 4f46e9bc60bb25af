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

ALWAYS = ("array", "refuse", "parts_of", "are_whole", "within_32_bits", "part_of", "is_dict", "dict_words", "is_like")
RARELY = ("logistic", "erf", "whole_quotient", "whole", "shifted_right", "convolution")

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
def initial_carry(count=None):
    """The carry at the start of an episode; with a count, of so many environments."""
    count = count_of(count, refuse)
    return tuple(x.copy() if count is None else np.repeat(x[None], count, axis=0) for x in INITIAL_CARRY)


def step(obs, carry):
    """(action, carry for the next step) for an observation, or for a batch of them and of carries."""
    with np.errstate(all="ignore"):
        xs, single = parts_of(obs, PARTS, refuse)
        before = carry_of(carry, INITIAL_CARRY, None if single else len(xs[0]), refuse)
        action, *carry = program(*xs, *before)
    return (action[0], tuple(x[0] for x in carry)) if single else (action, tuple(carry))
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
    recurrent = bool(policy.initial_carry)
    helpers = [
        *ALWAYS,
        *(["carry_of", "count_of"] if recurrent else []),
        *(name for name in RARELY if f"{name}(" in code),
    ]
    step = "carry = policy.initial_carry(); action, carry = policy.step(obs, carry)"
    usage = step if recurrent else "policy.act(obs)"
    blocks = [
        HEAD.format(usage=usage),
        "import base64\n" + ("import math\n" if "erf" in helpers else "") + "\nimport numpy as np\n",
        f"TITLE = {policy.title!a}\nPARTS = {written(policy.parts)}\n",
        STEP if recurrent else ACT,
        f"\ndef program({', '.join(names)}):\n" + textwrap.indent(code, "    ") + "\n",
        *("\n" + inspect.getsource(getattr(runtime, name)) for name in helpers),
        "\n" + "\n".join(constants(writer.arrays, policy.initial_carry)),
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


def constants(arrays: dict[str, np.ndarray], initial_carry: tuple[np.ndarray, ...]) -> list[str]:
    """Returns lines that make the arrays."""
    lines = [f"{name} = {literal(array)}" for name, array in arrays.items()]
    if initial_carry:
        lines.append(f"INITIAL_CARRY = ({' '.join(f'{literal(x)},' for x in initial_carry)})")
    return [*lines, ""]


def literal(array: np.ndarray) -> str:
    """Returns an array as a call of `runtime.array`."""
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(data).decode("ascii")
    lines = textwrap.wrap(text, 110) or [""]
    joined = f'"{lines[0]}"' if len(lines) == 1 else "\n" + "\n".join(f'    "{line}"' for line in lines) + "\n"
    return f'array("{array.dtype.name}", {dims(array.shape)}, {joined})'
