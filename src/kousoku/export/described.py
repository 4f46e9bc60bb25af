"""The description of a policy that a file needs: its program, and what goes in and comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .program import ExportProgram

Part = tuple[tuple[str, ...], tuple[int, ...], str, Any, Any]
"""(names that lead to it in a Dict, shape, dtype, least, most) of a part of an observation; see `runtime.parts_of`."""


@dataclass(frozen=True)
class Described:
    """A policy as it is to be written down.

    Attributes:
        title: what it is, as text; it is never more than text in a file.
        program: from the observation's parts and the carry to the action and the carry after.
        parts: of an observation.
        initial_carry: the carry of one environment at the start of an episode; () for none.
    """

    title: str
    program: ExportProgram
    parts: tuple[Part, ...]
    initial_carry: tuple[np.ndarray, ...]
