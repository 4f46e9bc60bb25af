"""Types are checked while the tests run: shapes by jaxtyping, and what names no shape by beartype alone."""

import dataclasses
from pathlib import Path

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

from kousoku.compiler.llvm.object_cache import ObjectCache
from kousoku.ops.advantages import gae
from kousoku.ops.schedules import Linear


def test_shapes_and_dtypes():
    steps, flags = jnp.zeros(3), jnp.zeros(3, bool)
    assert gae(steps, steps, steps, flags, flags, 0.9, 0.9).shape == (3,)
    with pytest.raises(TypeCheckError):
        gae(steps, steps, steps, steps, flags, 0.9, 0.9)
    with pytest.raises(TypeCheckError):
        gae(steps, jnp.zeros(4), steps, flags, flags, 0.9, 0.9)


def test_arguments_fields_and_results_of_what_names_no_shape():
    cache = ObjectCache(Path())
    with pytest.raises(TypeCheckError):
        cache.get(1)
    with pytest.raises(TypeCheckError):
        ObjectCache("folder")
    with pytest.raises(TypeCheckError):
        dataclasses.replace(cache, limit="1")
    with pytest.raises(TypeCheckError):
        cache.get_or_make("key", lambda: "no bytes")


def test_fields_of_modules():
    with pytest.raises(TypeCheckError):
        Linear("1", 0.0, 10)


def test_an_int_may_stand_for_a_float():
    assert Linear(1, 0, 10).end == 0
