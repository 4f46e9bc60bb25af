"""Results of a kernel along arrays that lie where donated arguments did: nothing is copied, and nothing is lost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback
from test_array_random_programs import CARRIED, SHAPE, program
from test_device_kernels import AXIS, over
from test_kernel_donation import overwritten

import kousoku as ks
from kousoku.compiler.host_kernel import HostFunction

SIZE = 300


def numbers(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def learn(weights, moment, batch):
    """Ten steps of something like an optimiser's."""

    def step(_, now):
        weights, moment = now
        moment = 0.9 * moment + 0.1 * (weights - batch)
        return weights - 0.1 * moment / (jnp.sqrt(jnp.abs(moment)) + 1.0), moment

    weights, moment = jax.lax.fori_loop(0, 10, step, (weights, moment))
    return weights, moment, jnp.sum(weights)


def made(function, *args, donate=(), lanes=None):
    """What the kernel makes, of whose call `lanes` are the axes of lanes; its arguments are as they were."""
    before = jax.tree.map(np.array, args)
    with no_fallback():
        run = ks.kernel(function, arrays=True, donate_argnums=donate)
        found = jax.jit(run if lanes is None else jax.vmap(run, lanes))(*args)
    for now, then in zip(args, before, strict=True):
        np.testing.assert_array_equal(now, then)
    return found


@pytest.mark.parametrize("donate", [0, 1, (0, 1), (0, 1, 2)])
def test_results_are_the_same_and_arguments_live_on(donate):
    args = [numbers(SIZE, seed=seed) for seed in range(3)]
    for found, expected in zip(made(learn, *args, donate=donate), made(learn, *args), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_what_is_donated_is_overwritten_and_nothing_else():
    args = [numbers(SIZE, seed=seed) for seed in range(3)]
    assert overwritten(ks.kernel(learn, arrays=True, donate_argnums=(0, 1)), *args) == ["0<-0", "1<-1"]
    assert overwritten(ks.kernel(learn, arrays=True), *args) == []
    rows = [numbers(2, SIZE), numbers(SIZE), numbers(2, SIZE)]  # all lanes read the second one
    several = jax.vmap(ks.kernel(learn, arrays=True, donate_argnums=(0, 1)), (0, None, 0))
    assert overwritten(several, *rows) == ["0<-0"]


@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, 0), (None, 0, None)], ids=str)
def test_lanes_overwrite_what_is_their_own(axes):
    args = [numbers(*(SIZE,) if axis is None else (5, SIZE), seed=i) for i, axis in enumerate(axes)]
    found = made(learn, *args, donate=(0, 1, 2), lanes=axes)
    for one, expected in zip(found, made(learn, *args, lanes=axes), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_a_loop_goes_on_in_place():
    """No copy of what it carries is left in its body."""
    step = ks.kernel(lambda *args: learn(*args)[:2], arrays=True, donate_argnums=(0, 1))

    def run(weights, moment, batch):
        return jax.lax.fori_loop(0, 10, lambda _, now: step(*now, batch), (weights, moment))

    args = [numbers(SIZE, seed=seed) for seed in range(3)]
    program = jax.jit(run, donate_argnums=(0, 1)).lower(*args).compile().as_text()
    assert "custom-call(" in program
    assert f"f32[{SIZE}]{{0}} copy(" not in program


MOVED = {
    "turned": lambda a, b: (a[::-1], b),
    "exchanged": lambda a, b: (b * 1.0, a * 1.0),
    "exchanged and changed": lambda a, b: (b + 1.0, a * 2.0),
    "each of both": lambda a, b: (a + b[::-1], b - a[::-1]),
    "one of what another becomes": lambda a, b: (a * 2.0, b + a),
    "twice the same": lambda a, b: (a + b, a + b),
    "a part is set": lambda a, b: (a.at[3:9].set(b[:6]), b.at[jnp.array([2, 200])].add(a[0])),
    "read after it is set": lambda a, b: (a.at[0].set(9.0), b + a[0]),
    "more than is donated": lambda a, b: (a + 1.0, b + 1.0, a - 1.0, b - a),
    "one as it came": lambda a, b: (b, a + b),
    "a branch": lambda a, b: jax.lax.cond(a[0] > b[0], lambda: (a + b, a), lambda: (b, b - a)),
    "of few numbers": lambda a, b: (jnp.sum(a) + b[:4][::-1], a.at[:4].set(b[4:8])),
    "rows": lambda a, b: (a.reshape(20, 15).T.reshape(-1) + b, jnp.roll(b, 1)),
}


@pytest.mark.parametrize("donate", [0, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("name", MOVED)
def test_old_elements_are_read_before_they_are_overwritten(name, donate):
    args = numbers(SIZE), numbers(SIZE, seed=1)
    for found, expected in zip(made(MOVED[name], *args, donate=donate), MOVED[name](*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_arrays_of_every_type_and_shape():
    args = (
        jnp.arange(12, dtype=jnp.int32),
        jnp.arange(100) % 3 == 0,
        jnp.float32(2.5),
        jax.random.key(3),
        numbers(0),
        jnp.arange(77, dtype=jnp.uint8).reshape(7, 11),
    )

    def turned(counts, flags, number, key, none, bytes):
        key, used = jax.random.split(key)
        return counts + 1, ~flags, number * jax.random.uniform(used), key, none, bytes[::-1] + jnp.uint8(flags[0])

    found = ks.kernel(turned, arrays=True, donate_argnums=range(6))(*args)
    for one, expected in zip(found, turned(*args), strict=True):
        same = jax.random.key_data if one.dtype == args[3].dtype else jnp.asarray
        np.testing.assert_array_equal(same(one), same(expected))


def test_what_is_given_twice_is_copied_first():
    function = ks.kernel(lambda a, b: (a + 1.0, jnp.cumsum(b + a[::-1])), arrays=True, donate_argnums=0)
    x = numbers(SIZE)
    more, total = jax.jit(lambda x: function(x * 2.0, x * 2.0))(x)
    np.testing.assert_array_equal(more, x * 2.0 + 1.0)
    np.testing.assert_allclose(total, np.cumsum(2.0 * (x + x[::-1])), rtol=1e-4, atol=1e-4)


def test_what_is_needed_afterwards_is_copied_first():
    function = ks.kernel(learn, arrays=True, donate_argnums=(0, 1))
    args = [numbers(SIZE, seed=seed) for seed in range(3)]

    def run(now, _):
        weights, moment, total = function(*now, args[2])
        return (weights, moment), (now[0], total)

    (last, _), (before, totals) = jax.jit(lambda now: jax.lax.scan(run, now, None, 4))((args[0], args[1]))
    np.testing.assert_array_equal(before[0], args[0])
    for i in range(1, 4):
        np.testing.assert_allclose(jnp.sum(before[i]), totals[i - 1], rtol=1e-4)
    np.testing.assert_allclose(jnp.sum(last), totals[3], rtol=1e-4)


def test_devices_read_what_others_then_overwrite():
    x, y = numbers(2, SIZE), numbers(2, SIZE, seed=1)

    def met(x, y):
        total = jax.lax.psum(x, AXIS)
        joined = jax.lax.all_gather(y, AXIS)
        return total + x, y - joined[1] * joined[0], jax.lax.pmax(x, AXIS)

    with no_fallback():
        found = over(2, ks.kernel(met, arrays=True, axis_name=AXIS, donate_argnums=(0, 1)))(x, y)
    for one, expected in zip(found, over(2, met)(x, y), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-6)


def test_the_host_has_arrays_of_its_own():
    """What it gives stays as it is, and its results lie elsewhere."""
    args = [np.array(numbers(1, SIZE, seed=seed)) for seed in range(3)]
    run = ks.kernel(learn, arrays=True, donate_argnums=(0, 1))
    kernel = run.for_host(1, (0, 0, 0), *(jnp.asarray(x[0]) for x in args))
    assert kernel is not None
    found = HostFunction(kernel, ())(args)
    for one, expected in zip(found, made(learn, *(jnp.asarray(x[0]) for x in args)), strict=True):
        np.testing.assert_array_equal(one[0], expected)
    np.testing.assert_array_equal(args[0][0], numbers(SIZE))


@pytest.mark.by_default("1", "9")
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed < 12 else pytest.mark.full("more cases")) for seed in range(120)]
)
def test_random_programs_are_the_same(seed):
    function, rng = program(seed), np.random.default_rng(seed)
    begin = [numbers(*SHAPE, seed=seed + i) for i in range(CARRIED)]
    donate = tuple(int(i) for i in range(CARRIED) if rng.random() < 0.7)

    def results(*begin):
        looped, once = function(*begin)
        return (*once, *looped) if seed % 2 else (*looped, *once)

    found = made(results, *begin, donate=donate)
    for one, expected in zip(found, made(results, *begin), strict=True):
        np.testing.assert_allclose(one, expected, rtol=0, atol=2e-5)
