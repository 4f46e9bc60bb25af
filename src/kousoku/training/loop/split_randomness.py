"""Moving everything random out of a loop's body.

XLA on a CPU pays for every small operation in a loop, and a threefry draw is a hundred of them. But a draw depends on
its key alone, never on what the loop carries. So the body's program is split in two: what follows from the key, done
for a whole block of steps at once (vectorised over time), and the rest, done step by step. The bits are the same; the
Q-learning loop is tens of times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

Flat = Sequence[Any]


def split_by_key(
    body: Callable[..., Any], fixed: Any, carry: Any, key: Any
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Splits `body(fixed, carry, key) -> out` into `draw(fixed, key) -> noise` and `rest(fixed, carry, noise) -> out`.

    `rest(fixed, carry, draw(fixed, key))` computes what `body(fixed, carry, key)` computes, operation by operation.
    The arguments are examples: only their shapes and dtypes count.
    """
    closed, out_shape = jax.make_jaxpr(body, return_shape=True)(fixed, carry, key)
    out_tree = jax.tree.structure(out_shape)
    jaxpr, consts = closed.jaxpr, closed.consts
    num_fixed, num_carry = len(jax.tree.leaves(fixed)), len(jax.tree.leaves(carry))
    fixed_vars = [*jaxpr.constvars, *jaxpr.invars[:num_fixed]]
    carry_vars = jaxpr.invars[num_fixed : num_fixed + num_carry]
    key_vars = jaxpr.invars[num_fixed + num_carry :]
    early, late = _partition(jaxpr.eqns, carry_vars, key_vars)
    noise_vars = _crossing(early, late, key_vars, jaxpr.outvars)

    def draw(fixed: Any, key: Any) -> list[Any]:
        env = dict(
            zip([*fixed_vars, *key_vars], [*consts, *jax.tree.leaves(fixed), *jax.tree.leaves(key)], strict=True)
        )
        return _run(early, env, noise_vars)

    def rest(fixed: Any, carry: Any, noise: list[Any]) -> Any:
        names = [*fixed_vars, *carry_vars, *noise_vars]
        values = [*consts, *jax.tree.leaves(fixed), *jax.tree.leaves(carry), *noise]
        return jax.tree.unflatten(out_tree, _run(late, dict(zip(names, values, strict=True)), jaxpr.outvars))

    return draw, rest


def _partition(eqns: Flat, carry_vars: Flat, key_vars: Flat) -> tuple[list[Any], list[Any]]:
    """Returns (operations that depend on no carried value, the rest); early ones that no key reaches are in both.

    Operations on `fixed` alone are cheap or invariant; keeping them in both spares their results a time axis.
    """
    varying, keyed = set(carry_vars), set(key_vars)
    early: list[Any] = []
    late: list[Any] = []
    for eqn in eqns:
        reads = {v for v in eqn.invars if not isinstance(v, jex_core.Literal)}
        if reads & varying or eqn.effects:
            varying.update(eqn.outvars)
            late.append(eqn)
            continue
        early.append(eqn)
        if reads & keyed:
            keyed.update(eqn.outvars)
        else:
            late.append(eqn)
    return early, late


def _crossing(early: Flat, late: Flat, key_vars: Flat, outvars: Flat) -> list[Any]:
    """Returns the values that the late operations (or the results) read and do not make themselves."""
    made_late = {v for eqn in late for v in eqn.outvars}
    available = [*key_vars, *(v for eqn in early for v in eqn.outvars)]
    read = {v for eqn in late for v in eqn.invars if not isinstance(v, jex_core.Literal)}
    read |= {v for v in outvars if not isinstance(v, jex_core.Literal)}
    return [v for v in available if v in read and v not in made_late]


def _run(eqns: Flat, env: dict[Any, Any], outvars: Flat) -> list[Any]:
    """Evaluates operations in order; `env` maps variables to values."""

    def read(v: Any) -> Any:
        return v.val if isinstance(v, jex_core.Literal) else env[v]

    for eqn in eqns:
        results = eqn.primitive.bind(*map(read, eqn.invars), **eqn.primitive.get_bind_params(eqn.params))
        env.update(zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True))
    return [read(v) for v in outvars]
