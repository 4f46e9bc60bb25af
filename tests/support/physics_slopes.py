"""Derivatives of a kernel in three ways: differences of its values, forward and reverse."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import kousoku as ks

SMALL = 1e-6


def assert_slopes_agree(function: Callable[[jax.Array], jax.Array], at: jax.Array, difference: float = 1e-10) -> None:
    """By every entry of `at` [N, n], float64; differences say nothing where a constraint begins or ends within them.

    So one of the N may differ. Forward and reverse differ by less than `difference`, relative to one plus
    the largest derivative.
    """
    kernel, (count, width) = ks.kernel(function), at.shape
    many = jax.jit(jax.vmap(kernel))

    def differences(far):
        shifts = far * jnp.eye(width)
        ahead, behind = (many((at[:, None] + s[None]).reshape(-1, width)) for s in (shifts, -shifts))
        return np.asarray((ahead - behind).reshape(count, width, -1) / (2 * far))

    # Richardson's extrapolation: third derivatives are large where a contact is about to begin.
    steep = (4 * differences(SMALL / 2) - differences(SMALL)) / 3
    outs = jnp.eye(steep.shape[2])
    forward = jax.vmap(lambda x: jax.vmap(lambda d: jax.jvp(kernel, (x,), (d,))[1])(jnp.eye(width)))
    reverse = jax.vmap(lambda x: jax.vmap(lambda d: jax.vjp(kernel, x)[1](d)[0])(outs))
    along, back = np.asarray(jax.jit(forward)(at)), np.asarray(jax.jit(reverse)(at))
    scale = 1.0 + np.abs(steep).max(axis=(1, 2), keepdims=True)
    assert np.isfinite(back).all()
    assert np.abs((along - back.transpose(0, 2, 1)) / scale).max() < difference
    assert np.sort(np.abs((along - steep) / scale).max(axis=(1, 2)))[-2] < 1e-6
