"""A random number generator whose programs compile fast, for samples that checks are made with.

JAX's own mixes each word in twenty rounds, and what draws one sample takes XLA a quarter of a second. This one hashes
a counter. It is good enough to choose actions that an environment is tried with, and for nothing that is learned from.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl
from jaxtyping import Array, Key, UInt32

INCREMENT = np.uint32(0x9E3779B9)


def quick_keys(words: UInt32[Array | np.ndarray, "*batch 1"]) -> Key[Array, "*batch"]:
    """Returns a key of this generator for each word."""
    return jax.random.wrap_key_data(jnp.asarray(words), impl=_generator())


@cache
def _generator() -> Any:
    """Returns the generator; JAX keeps it by name and takes a name once."""
    return define_prng_impl(
        key_shape=(1,),
        seed=lambda seed: _mixed(seed.astype(jnp.uint32))[None],
        split=lambda key, shape: _bits(key, 32, shape)[..., None],
        random_bits=_bits,
        fold_in=lambda key, data: _mixed(key ^ _mixed(jnp.asarray(data, jnp.uint32) + INCREMENT)),
        name="kousoku_quick",
        tag="kqr",
    )


def _bits(key: UInt32[Array, " 1"], width: int, shape: tuple[int, ...]) -> Array:
    """Returns random words of 8 to 64 bits, of which no two of one key come from the same counter."""
    if width == 64:
        high, low = jnp.moveaxis(_bits(key, 32, (*shape, 2)), -1, 0).astype("uint64")
        return (high << np.uint64(32)) | low
    counter = jax.lax.iota(np.uint32, math.prod(shape)) * INCREMENT
    return _mixed(key[0] + counter + INCREMENT).reshape(shape).astype(f"uint{width}")


def _mixed(word: UInt32[Array, "*n"]) -> UInt32[Array, "*n"]:
    """Returns a bijection of 32 bits in which each bit of the result depends on all of the word.

    References:
        Ellis, "Prospecting for hash functions" (2018): the function named lowbias32.
    """
    word = (word ^ (word >> np.uint32(16))) * np.uint32(0x7FEB352D)
    word = (word ^ (word >> np.uint32(15))) * np.uint32(0x846CA68B)
    return word ^ (word >> np.uint32(16))
