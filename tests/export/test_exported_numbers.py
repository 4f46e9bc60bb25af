"""Numbers of every dtype in exported files: beyond a dtype's last ones, shifted, and rounded to float16, as in JAX."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest
from rollouts import tiny_ppo

from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Dict, Discrete
from kousoku.export.described import Described
from kousoku.export.numpy_file import numpy_file
from kousoku.export.onnx_file import onnx_file
from kousoku.export.program import trace
from kousoku.export.runtime import parts_of, refuse
from kousoku.training.evaluation.policy import Policy

NAN_INSIDE = 0.375
"""What is NaN to the function, though not to the file, which refuses a NaN that is observed."""
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32)]


def found(kind: str, function: Any, x: np.ndarray) -> np.ndarray:
    """What a function of one example does with a batch, in a file."""

    def of_one(x: Any) -> tuple[Any]:
        return (function(jnp.where(x == NAN_INSIDE, np.nan, x) if x.dtype.kind == "f" else x),)

    assert not (x == NAN_INSIDE).any()
    x = np.where(np.isnan(x), NAN_INSIDE, x).astype(x.dtype) if x.dtype.kind == "f" else x
    program = trace(of_one, [jax.ShapeDtypeStruct(x.shape[1:], x.dtype)])
    bounds = (None, None) if x.dtype.kind == "f" else (-(2**31), 2**32)
    described = Described("numbers", program, (((), x.shape[1:], x.dtype.name, *bounds),), ())
    if kind == "onnx":
        return onnxruntime.InferenceSession(onnx_file(described)).run(None, {"obs": x})[0]
    Path("numbers.py").write_text(numpy_file(described))
    return runpy.run_path("numbers.py")["act"](x)


def same(kind: str, function: Any, x: np.ndarray) -> None:
    wanted, made = np.asarray(jax.vmap(function)(x)), found(kind, function, x)
    assert made.dtype == wanted.dtype
    np.testing.assert_array_equal(made, wanted)


def edges() -> np.ndarray:
    """Numbers about the last ones of every dtype."""
    ends = [float(end) for name in WHOLE for end in (np.iinfo(name).min, np.iinfo(name).max)]
    near = [end + more for end in ends for more in (-300.0, -1.0, -0.9, -0.5, 0.0, 0.5, 0.9, 1.0, 300.0)]
    return np.array([*near, 6e4, 1e10, -1e10, 9.3e18, -9.3e18, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("before", ["float32", "float16"])
@pytest.mark.parametrize("kind", ["numpy", "onnx"])
def test_real_numbers_beyond_a_whole_dtype_become_its_last_ones(kind, before):
    x = edges().astype(before)
    for name in WHOLE:
        same(kind, lambda x, name=name: x.astype(name), x)
    largest = np.array([np.inf, 2**31, np.nan, -np.inf], np.float32)
    np.testing.assert_array_equal(found(kind, lambda x: x.astype(jnp.int32), largest), [2**31 - 1] * 2 + [0, -(2**31)])
    np.testing.assert_array_equal(found(kind, lambda x: x.astype(jnp.bool_), largest), [True] * 4)


@pytest.mark.parametrize("kind", ["numpy", "onnx"])
def test_whole_numbers_beyond_another_whole_dtype_wrap_around(kind):
    x = np.array([0, 127, 128, -129, 255, 256, 40_000, -(2**31), 2**31 - 2], np.int32)
    for name in WHOLE:
        same(kind, lambda x, name=name: x.astype(name), x)


SHIFTS = (jax.lax.shift_left, jax.lax.shift_right_logical, jax.lax.shift_right_arithmetic)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("kind", ["numpy", "onnx"])
def test_bits_are_shifted_by_any_number_as_in_jax(kind, name):
    """By as many as there are, by more, and by less than none; of negative numbers, too."""
    x = np.array([5, -5, 127, -128, 2**31 - 3, -(2**31), 1, -1, 0], np.int32)
    by = np.array([0, 1, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 127, -1, -32, -128], np.int32).astype(name)

    def shifted(x: jax.Array) -> jax.Array:
        numbers = jnp.broadcast_to(x.astype(name), by.shape)
        moved = [shift(numbers, by) for shift in SHIFTS] + [shift(jnp.asarray(by), numbers) for shift in SHIFTS]
        return jnp.stack([*moved, *(shift(numbers, jnp.full(by.shape, 1, name)) for shift in SHIFTS)])

    same(kind, shifted, x)


HALVES = {
    "product": lambda x: x * 2,
    "infinite": lambda x: jnp.isinf(x * 100).astype(x.dtype),
    "sums": lambda x: jnp.stack([x + x, x - 0.001, 1 / (jnp.abs(x) + 1), -x, jnp.maximum(x, 0.1)]),
    "parts": lambda x: jnp.concatenate([x.reshape(2, 3)[1] + 1, x[::2]]),
    "from whole": lambda x: x.astype(jnp.int32).astype(jnp.float16) + 0.1,
}


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("kind", ["numpy", "onnx"])
def test_numbers_of_float16_are_rounded_after_each_operation(kind, name):
    x = np.array([[0.1, -1.0984011, 2049.3, 1e-7, 700.123, -3e4], [0, 1 / 3, 1e5, -1e5, 65519, np.inf]], np.float32)
    same(kind, lambda x: HALVES[name](x.astype(jnp.float16)).astype(jnp.float32), x)
    same(kind, HALVES[name], x.astype(np.float16))


@pytest.mark.parametrize("kind", ["numpy", "onnx"])
def test_elementary_functions_of_float16_are_those_of_float32_rounded(kind):
    x = np.linspace(-2, 2, 50, dtype=np.float32).astype(np.float16)
    for function in (jnp.tanh, jnp.expm1, lambda x: jnp.log1p(jnp.abs(x)), jax.nn.sigmoid):
        made, wanted = found(kind, function, x), np.asarray(function(x))
        assert made.dtype == np.float16
        np.testing.assert_allclose(made, wanted, rtol=2e-3, atol=1e-3)


def made(space: Any) -> Policy:
    agent, spec = tiny_ppo(), EnvSpec(space, Discrete(2))
    return Policy(agent, agent.init(spec, jax.random.key(0)), spec)


TWO = Box(-1.0, 1.0, (2,))


@pytest.mark.parametrize(
    ("space", "name"),
    [(Dict({"a": Dict({"b": TWO}), "a.b": TWO}), "obs.a.b"), (Dict({"": Dict({"": TWO}), ".": TWO}), "obs..")],
)
def test_parts_that_would_have_one_name_in_an_onnx_model_are_refused(space, name):
    Path("policy.onnx").write_text("before")
    policy = made(space)
    with pytest.raises(ConfigError, match=rf"^export: got '{name}'; two parts of the observation would have this name"):
        policy.save("policy.onnx")
    assert Path("policy.onnx").read_text() == "before"
    assert policy.save("policy.py").exists()


def test_keys_with_dots_that_are_told_apart_are_exported():
    policy = made(Dict({"a": Dict({"b": TWO}), "a.c": TWO}))
    session = onnxruntime.InferenceSession(str(policy.save("policy.onnx")))
    assert [part.name for part in session.get_inputs()] == ["obs.a.b", "obs.a.c"]


@pytest.mark.parametrize("obs", [[1e300, 0.0], [[1e300, 0.0]] * 3, [np.inf, -np.inf]], ids=str)
def test_numbers_beyond_float32_are_taken_without_a_warning_in_python_and_in_the_file(obs):
    policy = made(TWO)
    act = runpy.run_path(str(policy.save("policy.py")))["act"]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        np.testing.assert_array_equal(policy(obs), act(obs))


@pytest.mark.parametrize(("given", "told"), [(96, "96"), ([96], "96"), ([96, 96], "96"), ([3, 96], "3 to 96")])
def test_whole_numbers_outside_are_named_and_one_alone_is_no_range(given, told):
    with pytest.raises(ValueError, match=rf"^observation: got {told}; use whole numbers from 0 to 95$"):
        parts_of(given, [((), (), "int32", 0, 95)], refuse)
