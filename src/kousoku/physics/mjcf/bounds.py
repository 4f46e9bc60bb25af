"""Bounds of documents, beyond which MuJoCo takes all memory or does not come to an end, and of a model's numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 1e15
MIN_MASS = 1e-15
SOLREF = "a time and a damping ratio, both positive, or minus a stiffness and a damping"
NON_NEGATIVE = (
    "body_mass", "body_inertia", "dof_damping", "tendon_damping", "dof_frictionloss", "tendon_frictionloss", "geom_gap",
    "pair_gap", "density", "viscosity", "iterations", "ls_iterations",
)  # fmt: skip
UNBOUNDED = ("range", "cutoff", "lengthspring", "acc0")
MAX_FILE_BYTES = 32 * 2**20
MAX_DEPTH = 100
MAX_FILES = 20
MAX_ELEMENTS = 20_000
# Attributes of which MuJoCo makes something as large as the product of their numbers, and the most that is let through.
MAX_COUNTS = {
    "count": MAX_ELEMENTS, "cellcount": MAX_ELEMENTS, "actdim": 1000, "nsample": 10_000, "dim": 10_000,
    "num": 10_000, "params": 10_000, "resolution": 2**26, "width height": 2**26, "nrow ncol": 2**24,
    "nkey": 10_000, "nuserdata": 2**20, "nuser_body": 1000, "nuser_jnt": 1000, "nuser_geom": 1000, "nuser_site": 1000,
    "nuser_cam": 1000, "nuser_tendon": 1000, "nuser_actuator": 1000, "nuser_sensor": 1000,
}  # fmt: skip


def largest(field: str) -> float:
    """Returns the largest that a number of a field may be.

    It is what any arithmetic stands; ranges, cutoffs and what an actuator accelerates may be infinite.

    >>> largest("body_mass"), largest("jnt_range")
    (1000000000000000.0, inf)
    """
    return math.inf if field.endswith(UNBOUNDED) else LARGEST


def smallest(field: str) -> float:
    """Returns the smallest that a number of a field may be.

    Below zero MuJoCo does otherwise, or its compiler does not let it pass.

    >>> smallest("dof_damping"), smallest("gravity")
    (0.0, -inf)
    """
    return 0.0 if field in NON_NEGATIVE else -math.inf


def digits(number: float) -> str:
    """Returns a number in six digits, and in all it has if these are another number.

    >>> digits(0.5), digits(1e15 + 2.0)
    ('0.5', '1000000000000002.0')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def what_would_do(field: str, wrong: float) -> str:
    """Returns what would do in place of a number that is none, or out of a field's bounds.

    >>> what_would_do("dof_damping", -1.0), what_would_do("gravity", -math.inf)
    ('numbers of at least 0', 'numbers of at least -1e+15')
    """
    if math.isnan(wrong):
        return "numbers, not NaN"
    least = max(smallest(field), -largest(field))
    return f"numbers of at least {least:g}" if wrong < least else f"numbers of at most {largest(field):g}"


def welded_sums(model: Any, numbers: Any) -> np.ndarray:
    """Returns sums over bodies that are welded together [nbody], at their root, of masses [nbody] or least inertias.

    Args:
        model: ours, or MuJoCo's.
        numbers: masses [nbody], or inertias [nbody, 3], of each of which the least axis counts.
    """
    own = np.asarray(numbers, np.float64).reshape(model.nbody, -1).min(axis=1)
    return np.bincount(model.body_weldid, own, minlength=model.nbody)


def is_mixed_solref(solref: Any) -> np.ndarray:
    """Tells which of the pairs [..., 2] have one positive number and another: MuJoCo warns and takes its own.

    >>> is_mixed_solref([[0.02, 1.0], [-100.0, -1.0], [0.02, -1.0]])
    array([False, False,  True])
    """
    positive = np.asarray(solref, np.float64) > 0.0
    return positive[..., 0] != positive[..., 1]


def attribute_product(attributes: Mapping[str, str], *names: str) -> float:
    """Returns the product of the numbers in some attributes; 1 of none, or if a word is no number.

    >>> attribute_product({"count": "2 3 4", "size": "5"}, "count", "nothing")
    24.0
    """
    words = " ".join(attributes.get(name, "") for name in names).split()
    try:
        return float(math.prod(abs(float(word)) for word in words))
    except ValueError:
        return 1.0


def too_large(tag: str, attributes: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns what an element asks too much of, and what it may; None if it does not."""
    for names, most in MAX_COUNTS.items():
        if not attribute_product(attributes, *names.split()) <= most:
            given = " ".join(f"{name}={attributes.get(name, '')}" for name in names.split())
            return given, f"at most {most} can be made"
    if tag == "lengthrange":
        times = {"inttotal": "10", "timestep": "0.01", **attributes}
        steps = attribute_product(times, "inttotal") / max(attribute_product(times, "timestep"), 1e-9)
        if not steps <= 1e6:
            return f"{steps:g} steps", "at most 1000000 can be made"
    return None
