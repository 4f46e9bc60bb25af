"""Leaves in messages: arrays by dtype and shape, whatever they are; all else as it would be typed, or by its class."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.errors import ConfigError
from kousoku.core.leaves import is_array_or_number, kind_words, shapes, words

ARRAYS = {
    "float32[2, 3]": jnp.zeros((2, 3)),
    "float64[1]": np.zeros(1),
    "int64[]": np.int64(3),
    "int32[4]": jax.ShapeDtypeStruct((4,), jnp.int32),
    "key<fry>[]": jax.random.key(0),
    "bfloat16[]": jnp.bfloat16(1),
}


@pytest.mark.parametrize("told", ARRAYS)
def test_an_array_is_told_by_dtype_and_shape(told):
    assert is_array_or_number(ARRAYS[told])
    assert (words(ARRAYS[told]), kind_words(ARRAYS[told])) == (told, told)


def test_a_traced_array_is_told_like_another():
    said = []
    jax.eval_shape(lambda x: said.append(words({"x": x})), jnp.zeros(2))
    assert said == ["{'x': float32[2]}"]


@pytest.mark.parametrize(
    ("value", "told", "kind"),
    [
        (3, "3", "an int"),
        (0.5, "0.5", "a float"),
        ("a", "'a'", "a str"),
        (None, "None", "None"),
        ((), "()", "a tuple of 0"),
        ([1, jnp.zeros(2)], "[1, float32[2]]", "a list of 2"),
        ({"b": jnp.zeros(()), "a": "x"}, "{'a': 'x', 'b': float32[]}", "a dict of 'b', 'a'"),
        ({}, "{}", "a dict of nothing"),
        ({1: 2, "a": 3}, "a dict of 1, 'a'", "a dict of 1, 'a'"),
        (np.float32, "<class 'numpy.float32'>", "a type"),
    ],
)
def test_what_is_no_array_is_told_as_it_is_typed_or_by_its_class(value, told, kind):
    assert (words(value), kind_words(value)) == (told, kind)
    assert str(ConfigError("x", words(value), "y")) == f"x: got {told}; y"  # without quotes around it


def test_numbers_of_pythons_have_the_dtypes_of_programs():
    assert shapes((True, 3, 0.5)) == [("[0]", (), "bool"), ("[1]", (), "int32"), ("[2]", (), "float32")]
    assert not any(map(is_array_or_number, ("a", None, jnp.zeros)))
