"""Advantages and returns against float64 loops that are written from the definitions, O(T^2), without recursion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.ops import advantages as ops

DISCOUNT, DECAY = 0.97, 0.9
CASES, T = 10_000, 12
ENDS = {"none": (False, False), "terminated": (True, False), "truncated": (False, True), "both": (True, True)}


def stretch_end(ended, t):
    """The last step that belongs to step t's episode, within the stretch."""
    return next((i for i in range(t, len(ended)) if ended[i]), len(ended) - 1)


def discounted_sum(ended, decays, terms, t):
    """The sum over i = t .. end of (product of decays t .. i-1) terms_i."""
    total, weight = 0.0, 1.0
    for i in range(t, stretch_end(ended, t) + 1):
        total += weight * terms[i]
        weight *= decays[i]
    return total


def by_definition(log_rhos, r, v, next_v, terminated, truncated, n, clip_rho, clip_c):
    """GAE (16), the lambda-return as a mixture of n-step returns (12.2 and 12.3), n-step (7.1), V-trace (1)."""
    steps, ended = len(r), terminated | truncated
    after = np.where(terminated, 0.0, next_v)
    delta = r + DISCOUNT * after - v
    ratio = np.exp(log_rhos)
    rho, c = np.minimum(clip_rho, ratio), DECAY * np.minimum(clip_c, ratio)

    def n_step(t, m):
        last = min(t + m - 1, stretch_end(ended, t))
        rewards = sum(DISCOUNT ** (i - t) * r[i] for i in range(t, last + 1))
        return rewards + DISCOUNT ** (last + 1 - t) * after[last]

    def lambda_return(t):
        remaining = stretch_end(ended, t) - t + 1
        mixture = sum((1 - DECAY) * DECAY ** (m - 1) * n_step(t, m) for m in range(1, remaining))
        return mixture + DECAY ** (remaining - 1) * n_step(t, remaining)

    gae = [discounted_sum(ended, np.full(steps, DISCOUNT * DECAY), delta, t) for t in range(steps)]
    corrections = [discounted_sum(ended, DISCOUNT * c, rho * delta, t) for t in range(steps)]
    next_targets = [after[t] + (0.0 if ended[t] or t == steps - 1 else corrections[t + 1]) for t in range(steps)]
    return {
        "gae": np.array(gae),
        "lambda_returns": np.array([lambda_return(t) for t in range(steps)]),
        "n_step_returns": np.array([n_step(t, n) for t in range(steps)]),
        "targets": v + np.array(corrections),
        "policy": rho * (r + DISCOUNT * np.array(next_targets) - v),
    }


def computed(log_rhos, r, v, next_v, terminated, truncated, n, clip_rho, clip_c):
    trace = ops.vtrace(log_rhos, r, v, next_v, terminated, truncated, DISCOUNT, clip_rho, clip_c, DECAY)
    return {
        "gae": ops.gae(r, v, next_v, terminated, truncated, DISCOUNT, DECAY),
        "lambda_returns": ops.lambda_returns(r, next_v, terminated, truncated, DISCOUNT, DECAY),
        "n_step_returns": ops.n_step_returns(r, next_v, terminated, truncated, DISCOUNT, n),
        "targets": trace.targets,
        "policy": trace.advantages,
    }


def random_steps(seed, shape, end_probability=0.15):
    """Rewards and values as an environment gives them: next_values[t] is values[t+1] within an episode."""
    rng = np.random.default_rng(seed)
    r, v, next_v, log_rhos = (rng.normal(size=shape).astype(np.float32) for _ in range(4))
    terminated, truncated = rng.random(shape) < end_probability, rng.random(shape) < end_probability
    inside = ~(terminated | truncated)[..., :-1]
    next_v[..., :-1] = np.where(inside, v[..., 1:], next_v[..., :-1])
    return log_rhos, r, v, next_v, terminated, truncated


def assert_close(got, expected, size=1.0):
    """1e-6 relative to the larger of the value and the rewards and values that it is a sum of."""
    for name, value in expected.items():
        error = np.abs(np.asarray(got[name], np.float64) - value) / np.maximum(np.abs(value), size)
        assert error.max() < 1e-6, name


@pytest.mark.full("covered")
@pytest.mark.parametrize(("n", "clip_rho", "clip_c"), [(3, 1.0, 1.0), (1, 2.0, 0.5), (50, 1.5, 1.0)])
def test_random_cases_against_the_definitions(n, clip_rho, clip_c):
    cases = random_steps(n, (CASES // 3 + 1, T))
    got = jax.jit(jax.vmap(lambda *x: computed(*x, n, clip_rho, clip_c)))(*cases)
    rows = [by_definition(*(x.astype(np.float64) if x.dtype == np.float32 else x for x in row), n, clip_rho, clip_c)
            for row in zip(*cases, strict=True)]  # fmt: skip
    # The values that enter a sum are up to 4 in size, and so are the roundings of its terms.
    assert_close(got, {name: np.stack([row[name] for row in rows]) for name in rows[0]}, size=4.0)


@pytest.mark.by_default("both-11", "both-2", "none-11", "terminated-11", "terminated-2", "truncated-11", "truncated-2")
@pytest.mark.parametrize("where", [2, T - 1])
@pytest.mark.parametrize("end", ENDS)
def test_every_way_to_end_at_every_place(end, where):
    log_rhos, r, v, next_v, terminated, truncated = random_steps(1, (T,), end_probability=0.0)
    terminated[where], truncated[where] = ENDS[end]
    next_v[where] = 100.0
    row = (log_rhos, r, v, next_v, terminated, truncated, 4, 1.0, 1.0)
    expected = by_definition(*(x.astype(np.float64) if getattr(x, "dtype", 0) == np.float32 else x for x in row))
    got = computed(*map(jnp.asarray, row[:6]), *row[6:])
    assert_close(got, expected, size=100.0)
    # Worth what follows exactly if the step was not a termination; a successor behind an end leaks into nothing.
    bootstrapped = abs(float(got["gae"][where])) > 50
    assert bootstrapped == (end in ("none", "truncated"))


def test_lambda_one_is_the_return_and_lambda_zero_the_td_error():
    _, r, v, next_v, terminated, truncated = map(jnp.asarray, random_steps(2, (64,)))
    returns = ops.n_step_returns(r, next_v, terminated, truncated, DISCOUNT, 64)
    one = ops.gae(r, v, next_v, terminated, truncated, DISCOUNT, 1.0)
    np.testing.assert_allclose(one, returns - v, rtol=1e-5, atol=1e-5)
    zero = ops.gae(r, v, next_v, terminated, truncated, DISCOUNT, 0.0)
    np.testing.assert_array_equal(zero, r + DISCOUNT * jnp.where(terminated, 0.0, next_v) - v)
    targets = ops.lambda_returns(r, next_v, terminated, truncated, DISCOUNT, 0.0)
    np.testing.assert_array_equal(targets, r + DISCOUNT * jnp.where(terminated, 0.0, next_v))


def test_lambda_returns_are_gae_plus_values():
    _, r, v, next_v, terminated, truncated = map(jnp.asarray, random_steps(3, (64,)))
    returns = ops.lambda_returns(r, next_v, terminated, truncated, DISCOUNT, DECAY)
    advantages = ops.gae(r, v, next_v, terminated, truncated, DISCOUNT, DECAY)
    np.testing.assert_allclose(returns, advantages + v, rtol=1e-5, atol=1e-5)


def test_vtrace_on_policy_is_the_lambda_return():
    _, r, v, next_v, terminated, truncated = map(jnp.asarray, random_steps(4, (64,)))
    trace = ops.vtrace(jnp.zeros(64), r, v, next_v, terminated, truncated, DISCOUNT, trace_decay=DECAY)
    returns = ops.lambda_returns(r, next_v, terminated, truncated, DISCOUNT, DECAY)
    np.testing.assert_allclose(trace.targets, returns, rtol=1e-5, atol=1e-5)


def test_vtrace_by_hand():
    # gamma = 1/2, V = 0, r = 1: deltas 1; pi/mu = 4 then 1/4; rho = 2, 1/4; c_0 = 1.
    # v_1 = 1/4; v_0 = 2 + 1/2 * 1/4; advantage_0 = 2 (1 + 1/2 * 1/4).
    zeros, flags = jnp.zeros(2), jnp.zeros(2, bool)
    trace = ops.vtrace(jnp.log(jnp.array([4.0, 0.25])), jnp.ones(2), zeros, zeros, flags, flags, 0.5, 2.0, 1.0)
    np.testing.assert_allclose(trace.targets, [2.125, 0.25], rtol=1e-6)
    np.testing.assert_allclose(trace.advantages, [2.25, 0.25], rtol=1e-6)


def test_vtrace_of_a_ratio_beyond_float32():
    flags = jnp.zeros(2, bool)
    trace = ops.vtrace(jnp.array([200.0, -200.0]), jnp.ones(2), jnp.zeros(2), jnp.zeros(2), flags, flags, 0.5)
    np.testing.assert_array_equal(trace.targets, [1.0, 0.0])


@pytest.mark.by_default(
    "gae-5",
    "gae-50",
    "lambda_returns-1",
    "lambda_returns-5",
    "lambda_returns-50",
    "n_step_returns-1",
    "n_step_returns-5",
    "n_step_returns-50",
    "targets-1",
    "targets-5",
    "targets-50",
)
@pytest.mark.parametrize("limit", [1, 5, 50])
@pytest.mark.parametrize("name", ["gae", "lambda_returns", "n_step_returns", "targets"])
def test_a_constant_reward_under_a_time_limit_is_worth_ten(limit, name):
    """V <- target has the fixed point r / (1 - gamma) = 10 only if a truncated step bootstraps."""
    steps = 100
    truncated = jnp.arange(1, steps + 1, dtype=jnp.int32) % limit == 0
    rest = (jnp.zeros(steps, bool), truncated)

    def sweep(_, v):
        one = jnp.full(steps, v)
        if name == "gae":
            targets = v + ops.gae(jnp.ones(steps), one, one, *rest, 0.9, 0.95)
        elif name == "lambda_returns":
            targets = ops.lambda_returns(jnp.ones(steps), one, *rest, 0.9, 0.95)
        elif name == "n_step_returns":
            targets = ops.n_step_returns(jnp.ones(steps), one, *rest, 0.9, 7)
        else:
            targets = ops.vtrace(jnp.zeros(steps), jnp.ones(steps), one, one, *rest, 0.9).targets
        return jnp.mean(targets)

    assert float(jax.lax.fori_loop(0, 300, sweep, jnp.float32(0.0))) == pytest.approx(10.0, abs=1e-4)


@pytest.mark.by_default("2", "9")
@pytest.mark.parametrize("n", [1, 2, 9])
def test_gradients_of_n_step_returns(n):
    flags = jnp.zeros(4, bool)
    slope = jax.grad(lambda v: ops.n_step_returns(jnp.ones(4), v, flags, flags, 0.5, n)[0])(jnp.zeros(4))
    expected = np.zeros(4)
    expected[min(n, 4) - 1] = 0.5 ** min(n, 4)
    np.testing.assert_array_equal(slope, expected)
