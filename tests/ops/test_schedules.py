"""Schedules: against optax and by hand, written as text, and refused where they make no sense."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.ops.schedules import (
    Cosine,
    Exponential,
    Harmonic,
    Linear,
    check_schedule,
    in_run,
    parse_schedule,
    value_at,
)

COUNTS = [0, 1, 7, 50, 99, 100, 101, 1000, 2**24 + 1]


def at(schedule, counts=tuple(COUNTS)):
    return np.array([float(schedule(jnp.int32(n))) for n in counts])


def test_linear_is_optax():
    np.testing.assert_allclose(at(Linear(1.0, 0.2, 100)), at(optax.linear_schedule(1.0, 0.2, 100)), rtol=1e-6)
    np.testing.assert_allclose(at(Linear(1.0, 0.2, 100), (0, 50, 100, 500)), [1.0, 0.6, 0.2, 0.2], rtol=1e-6)


@pytest.mark.parametrize("kind", [Linear, Cosine])
@pytest.mark.parametrize(
    ("start", "end", "steps"),
    [(1.0, 0.0, 1000), (0.01, 0.0, 500), (0.0, 1.0, 7), (1.0, 0.05, 20_000), (0.7, 0.7, 1000), (1e-3, 1e-5, 2**31 - 1),
     (-1.0, 2.0, 999), (3e-4, 0.0, 123_457)],
)  # fmt: skip
def test_a_compiled_way_ends_at_its_end_and_never_leaves_its_ends(kind, start, end, steps):
    counts = np.unique(np.concatenate([np.linspace(0, steps, 2000), steps + np.array([-1, 0, 1, steps])]))
    counts = np.minimum(counts, 2**31 - 1).astype(np.int32)
    numbers = np.asarray(jax.jit(jax.vmap(kind(start, end, steps)))(counts))
    low, high = sorted(np.float32([start, end]))
    np.testing.assert_allclose(numbers[0], start, rtol=2e-7)
    assert (numbers[counts >= steps] == np.float32(end)).all()
    assert (low <= numbers).all()
    assert (numbers <= high).all()


@pytest.mark.parametrize(
    ("gives", "told"),
    [(lambda count: 1j, "complex64"), (lambda count: jnp.complex64(count), "complex64"), (lambda count: True, "bool")],
)
def test_a_function_that_gives_no_real_number_is_refused(gives, told):
    with pytest.raises(ConfigError, match=rf"it gives {told}\[\]; use a function of the step count"):
        check_schedule("epsilon", gives)


@pytest.mark.parametrize(("start", "end", "steps"), [(1.0, 0.2, 100), (3e-4, 0.0, 7), (0.1, 0.5, 1)])
def test_cosine_is_optax(start, end, steps):
    ours, theirs = Cosine(start, end, steps), optax.cosine_decay_schedule(start, steps, alpha=end / start)
    with jax.numpy_dtype_promotion("standard"):  # optax's own mixes types
        np.testing.assert_allclose(at(ours), at(theirs), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(at(ours, (0, steps, steps + 1, 2**31 - 1)), np.float32([start, end, end, end]))


def test_cosine_rises_from_nothing():
    np.testing.assert_allclose(
        at(Cosine(0.0, 2.0, 4), (0, 1, 2, 3, 4)), 1 - np.cos(np.pi * np.arange(5) / 4), atol=1e-6
    )


def test_exponential_is_optax():
    ours, theirs = Exponential(0.5, 0.1, 100, end=0.01), optax.exponential_decay(0.5, 100, 0.1, end_value=0.01)
    np.testing.assert_allclose(at(ours), at(theirs), rtol=1e-5)
    np.testing.assert_allclose(at(Exponential(0.5, 0.01, 100), (0, 50, 100)), [0.5, 0.05, 0.005], rtol=1e-5)


def test_harmonic_by_hand():
    np.testing.assert_allclose(at(Harmonic(0.5, 10), (0, 10, 30)), [0.5, 0.25, 0.125], rtol=1e-6)


@pytest.mark.parametrize(
    "value", [0.5, jnp.float32(0.5), Linear(0.5, 0.1, 9), optax.constant_schedule(0.5), lambda n: 0.5]
)
def test_a_value_is_a_strong_float32(value):
    number = value_at(value, jnp.int32(0))
    assert number.shape == ()
    assert number.dtype == jnp.float32
    assert not number.weak_type
    assert float(number) == 0.5


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0.25", 0.25),
        ("1e-3", 1e-3),
        ("linear:1.0:0.05:10_000", Linear(1.0, 0.05, 10_000)),
        ("linear:1:0:1e4", Linear(1.0, 0.0, 10_000)),
        ("cosine:3e-4:1.5e-4:100", Cosine(3e-4, 1.5e-4, 100)),
        ("exponential:0.5:0.1:100", Exponential(0.5, 0.1, 100)),
        ("exponential:0.5:0.1:100:0.2", Exponential(0.5, 0.1, 100, 0.2)),
        ("exponential:0.5:0.1:5e1:1e-3", Exponential(0.5, 0.1, 50, 0.001)),
        ("harmonic:1:50", Harmonic(1.0, 50)),
    ],
)
def test_text_is_parsed(text, meant):
    parsed = parse_schedule("learning_rate", text)
    assert type(parsed) is type(meant)
    if callable(meant):
        np.testing.assert_array_equal(at(parsed), at(meant))
    else:
        assert parsed == meant


@pytest.mark.parametrize(
    "text",
    [
        "", "fast", "sine:1:0:10", "cosine:1:10", "cosine:nan:0:10",
        "linear", "linear:1:0", "linear:1:0:10:4", "linear:a:0:10", "linear:1:0:0",
        "linear:1:0:-5", "linear:1:0:1.5", "linear:1:0:inf", "linear:1:0:nan", "linear:nan:0:10", "harmonic:-1:10",
        "harmonic:1:1e400", "exponential:1:2:10", "exponential:1:0:10", "exponential:1:0.5:10:0.01:2",
        "linear:1:0:2147483648", "exponential:1:0.5:2147483648",
    ],
)  # fmt: skip
def test_bad_text_is_refused(text):
    with pytest.raises(ConfigError):
        parse_schedule("learning_rate", text)


@pytest.mark.parametrize(
    "value", [-1.0, 0.0, 1.5, math.nan, math.inf, "0.1", None, True, Linear(1.0, 0.0, 5), Linear(2.0, 0.5, 5),
              Cosine(1.0, 0.0, 5), Cosine(2.0, 0.5, 5),
              Exponential(2.0, 0.5, 5), Exponential(0.5, 0.5, 5, end=2.0), Harmonic(3.0, 5)],
)  # fmt: skip
def test_values_outside_the_interval_are_refused(value):
    with pytest.raises(ConfigError, match=r"^learning_rate"):
        check_schedule("learning_rate", value, low=0, high=1, open_low=True)


@pytest.mark.parametrize(
    "value",
    [0.1, 1, 1.0, Linear(1.0, 0.1, 5), Cosine(1.0, 0.1, 5), Exponential(0.5, 0.1, 5), Harmonic(1.0, 5)],
)
def test_good_values_pass(value):
    check_schedule("learning_rate", value, low=0, high=1, open_low=True)


def test_a_tracer_passes_since_its_value_is_unknown():
    jax.eval_shape(lambda x: [x, check_schedule("learning_rate", x, low=0, high=1)][0], 7.0)
    with pytest.raises(ConfigError, match="use a number in"):
        check_schedule("learning_rate", jnp.float32(7.0), low=0, high=1)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("linear:1:0.05:20%", Linear(1.0, 0.05, "20%")),
        ("cosine:1:0.05:20%", Cosine(1.0, 0.05, "20%")),
        ("exponential:0.5:0.1:100%", Exponential(0.5, 0.1, "100%")),
        ("harmonic:1:0.5%", Harmonic(1.0, "0.5%")),
    ],
)
def test_steps_may_be_a_share_of_the_run(text, meant):
    assert parse_schedule("epsilon", text) == meant
    share = float(meant.steps[:-1]) / 100
    for steps in (200, 5000, 10**12):
        assert meant.in_run(steps).steps == min(round(share * steps), 2**31 - 1)
    np.testing.assert_array_equal(at(meant), at(meant.in_run(100_000)))


def test_a_share_of_a_very_short_run_is_a_step():
    assert Linear(1.0, 0.0, "1%").in_run(3).steps == 1


@pytest.mark.parametrize("share", ["0%", "101%", "-5%", "%", "x%", "20", "nan%", "1e1%", ""])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ConfigError, match=r"linear.steps: got .*; use a count of steps, or a share of the run"):
        Linear(1.0, 0.0, share)
    if share.endswith("%"):
        with pytest.raises(ConfigError, match=r"epsilon"):
            parse_schedule("epsilon", f"linear:1:0:{share}")


def test_an_agent_counts_in_its_run():
    agent = ks.make_agent("q_learning", epsilon="linear:1:0:10%", learning_rate="harmonic:0.5:50")
    begun = in_run(agent, 700)
    assert begun.exploration.epsilon == Linear(1.0, 0.0, 70)
    assert begun.learning_rate == Harmonic(0.5, 50)
    plain = ks.make_agent("sarsa", learning_rate=optax.constant_schedule(0.5))
    assert in_run(plain, 700) == plain
