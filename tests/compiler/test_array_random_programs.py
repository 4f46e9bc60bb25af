"""Random programs over arrays in kernels along arrays: nothing is overwritten that somebody still reads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback

import kousoku as ks
from kousoku.ops.trees import as_vector

SHAPE = (5, 21)
CARRIED = 3


def nearer_to_zero(x, y):
    return jnp.where(jnp.abs(x) < jnp.abs(y), x, y)


def in_parts(x):
    """What is computed along a vector, read in parts of other shapes."""
    one, two, three = jnp.split((jnp.sqrt(jnp.abs(x)) * 0.7).reshape(-1), [20, 62])
    return jnp.concatenate([three * 0.5, (one.reshape(4, 5) - x[:4, :5]).reshape(-1), jnp.tanh(two)]).reshape(SHAPE)


def filled(x):
    return as_vector([x[2:] * 0.5, x[0], x[:1] - 0.1]).reshape(SHAPE)


def moved(x, y):
    """A step along a vector, of moments that both go on and are read in parts."""
    mean = 0.9 * x.reshape(-1) + 0.1 * y.reshape(-1)
    step, rest = jnp.split(mean / (jnp.abs(mean) + 1.0), [84])
    far = jnp.concatenate([y[:4] - 0.1 * step.reshape(4, 21), rest[None]])
    return far + 0.1 * mean.reshape(SHAPE)


def unary(rng):
    return [
        in_parts,
        filled,
        lambda x: x * 0.5 + 0.25,
        lambda x: -x,
        lambda x: jnp.sqrt(jnp.abs(x)),
        lambda x: x[::-1],
        lambda x: jnp.roll(x, 1, axis=1),
        lambda x: x.T.reshape(SHAPE),
        lambda x: jnp.broadcast_to(jnp.mean(x, axis=0, keepdims=True), SHAPE) - x,
        lambda x: x - x[2, 3],
        lambda x: x.at[1].set(0.5),
        lambda x: jnp.concatenate([x[:2], x[2:] * 0.5]),
        lambda x: jnp.tanh(x),
        lambda x: x * x * 0.1 + x / (1.0 + x * x),
        lambda x: x / 2.0 - jax.lax.dynamic_slice(x, (jnp.int32(x[0, 0] > 0), 2), (1, 1)) * x,
    ][rng.integers(15)]


def binary(rng):
    return [
        moved,
        lambda x, y: x * 0.5 + y * 0.5,
        lambda x, y: x - y * 0.25,
        lambda x, y: jnp.maximum(x, y),
        lambda x, y: jnp.where(x > y, x, y * 0.5),
        lambda x, y: x * y * 0.1,
        lambda x, y: x / (1.0 + y * y),
        lambda x, y: x + y[3:4],
        lambda x, y: (x @ y.T) @ y * 0.01,
        lambda x, y: jnp.maximum((x @ y.T) @ y * 0.01, 0.0),
        lambda x, y: jnp.where(x > 0, (y @ x.T) @ x * 0.01, y * 0.5),
        lambda x, y: (x @ y.T) @ y * 0.01 - y * ((y @ x.T) @ x) * 0.01,
        lambda x, y: jnp.maximum(jnp.einsum("bij,bj->bi", x[:, :, None] + y[:, None, :], y) * 0.1 - x, 0.0) * y,
        lambda x, y: x.at[jnp.array([3, 1])].apply(lambda v: v * 0.5 + 0.1) + y,
        lambda x, y: x - jax.lax.reduce(y, jnp.float32(9), nearer_to_zero, (0,))[None],
    ][rng.integers(15)]


def program(seed):
    """A loop over a few arrays, each step a random row of operations on what is there."""
    rng = np.random.default_rng(seed)
    steps = []
    for _ in range(rng.integers(6, 16)):
        makes = unary(rng) if rng.random() < 0.5 else binary(rng)
        steps.append((makes, rng.random(2)))
    outputs = rng.random((CARRIED, 2))

    def step(_, carried):
        known = list(carried)
        for makes, places in steps:
            count = makes.__code__.co_argcount
            known.append(makes(*(known[int(p * len(known))] for p in places[:count])))
        return tuple(jnp.clip(known[int(max(p) * len(known))], -3.0, 3.0) for p in outputs)

    return lambda *begin: (jax.lax.fori_loop(0, 3, step, begin), step(0, begin))


SEEDS = [pytest.param(seed, marks=() if seed < 12 else pytest.mark.full("more cases")) for seed in range(120)]


@pytest.mark.by_default("9")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_are_those_of_xla(seed):
    function = program(seed)
    begin = [jnp.asarray(x, jnp.float32) for x in np.random.default_rng(seed).normal(size=(CARRIED, *SHAPE))]
    with no_fallback():
        given = jax.jit(ks.kernel(function, arrays=True))(*begin)
    for g, w in zip(jax.tree.leaves(given), jax.tree.leaves(jax.jit(function)(*begin)), strict=True):
        np.testing.assert_allclose(g, w, rtol=0, atol=2e-5)
