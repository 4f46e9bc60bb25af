"""A step from each of many states against C MuJoCo, as exact as its numbers.

In float32 a state may lie nearer to an edge (a contact or a limit that begins to act, with all of its damping's force)
than its rounding can tell. There ours must take the step that C itself takes from a state within the rounding.
"""

from __future__ import annotations

import mujoco
import numpy as np

from kousoku_bench.exactness import Numbers, computed, computed_by

STAGES, SMOOTH = ("bodies", "inertia", "bias", "passive", "actuation"), "smooth"
STAGE = 1e-11
"""How exact each is in float64."""
BOUNDS = {
    "float64": {"qpos": 1e-6, "qvel": 1e-4, "act": 1e-6},
    "float32": {"qpos": 1e-5, "qvel": 1e-3, "act": 1e-5},
}
ROUNDING, NEIGHBOURS = 6e-8, 200
"""Of a number in float32; how many of C's states are looked at beside one."""
OWN_NOISES = 2.0
"""How often the largest difference of C from itself, one rounding away, ours may be from C."""


class SmoothBeyondError(AssertionError):
    """Everything is as exact as it should be, but for the smooth acceleration of some state, and that as C's own is."""


def check_steps(
    kind: str, compiled: mujoco.MjModel, states: np.ndarray, commands: np.ndarray, edges: float, relative: bool = False
) -> float:
    """From states [N, ...], as C keeps them, with commands [N, nu]; how many rows of constraints there were.

    In float64 all steps are within `BOUNDS`, and so are stages within 1e-11; in float32 all but the share `edges`.
    These must be at an edge; unless differences are `relative` to one plus a state's largest number, for wild models.
    A smooth acceleration beyond 1e-11 is a `SmoothBeyondError`, and another error if it is also beyond twice what C's
    differs by from itself, from states one rounding away.
    """
    wanted, rows = computed(compiled, states, commands)
    found = computed_by(kind, compiled, states, commands, with_stages=kind == "float64")
    if kind == "float64":
        for stage in STAGES:
            assert distance(found, wanted, stage, relative=True).max() <= STAGE, stage
    beyond = np.flatnonzero(_is_beyond(found, wanted, kind, relative))
    assert len(beyond) <= (edges * len(states) if kind == "float32" else 0), _worst(found, wanted, relative)
    for state in [] if relative else beyond:
        _assert_at_an_edge(compiled, states[state], commands[state], {what: x[state] for what, x in found.items()})
    if kind == "float64":
        away = distance(found, wanted, SMOOTH, relative=True)
        for state in np.flatnonzero(away > STAGE):
            own = _own_noise(compiled, states[state], commands[state])
            assert away[state] <= OWN_NOISES * own, f"{SMOOTH}: {away[state]:.1e} from C's, C's {own:.1e} from itself"
        if away.max() > STAGE:
            raise SmoothBeyondError(f"{SMOOTH}: {away.max():.1e} where {STAGE} is asked for")
    return rows


def _own_noise(compiled: mujoco.MjModel, state: np.ndarray, command: np.ndarray) -> float:
    """How far C's smooth acceleration is from its own, relative to it, from states one rounding away."""
    away = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (NEIGHBOURS, len(state))) * np.spacing(np.abs(state))
    near, _ = computed(compiled, np.concatenate([state[None], state + away]), np.tile(command, (NEIGHBOURS + 1, 1)))
    exact = {SMOOTH: near[SMOOTH][:1]}
    return float(distance(near, exact, SMOOTH, relative=True).max())


def _assert_at_an_edge(compiled: mujoco.MjModel, state: np.ndarray, command: np.ndarray, found: Numbers) -> None:
    """C, from one of the states within float32's rounding of this one, goes where `found` says."""
    noise = np.random.default_rng(0).uniform(-ROUNDING, ROUNDING, (NEIGHBOURS, len(state)))
    near = state + noise * np.maximum(1.0, np.abs(state))
    steps, _ = computed(compiled, near, np.broadcast_to(command, (NEIGHBOURS, len(command))))
    same = {what: np.broadcast_to(found[what], steps[what].shape) for what in BOUNDS["float32"]}
    assert not _is_beyond(same, steps, "float32", relative=False).all(), _worst(same, steps, relative=False)


def _is_beyond(found: Numbers, wanted: Numbers, kind: str, relative: bool) -> np.ndarray:
    """Of each state, whether its step is further away than the bounds say."""
    return np.any([distance(found, wanted, what, relative) > bound for what, bound in BOUNDS[kind].items()], axis=0)


def _worst(found: Numbers, wanted: Numbers, relative: bool) -> dict[str, np.ndarray]:
    """The largest distances."""
    return {what: np.sort(distance(found, wanted, what, relative))[-5:] for what in BOUNDS["float32"]}


def distance(found: Numbers, wanted: Numbers, what: str, relative: bool = False) -> np.ndarray:
    """The largest difference of each state's numbers; or relative to one plus the largest of them."""
    away = np.abs(found[what] - wanted[what]).max(axis=1, initial=0.0)
    assert np.isfinite(away).all()
    return away / (1.0 + np.abs(wanted[what]).max(axis=1, initial=0.0)) if relative else away
