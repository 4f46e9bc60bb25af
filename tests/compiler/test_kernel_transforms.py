"""Kernels under JAX's transformations: the result is that of plain JAX."""

from __future__ import annotations

import warnings
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from kernel_oracle import assert_same, no_fallback

import kousoku as ks
from kousoku.compiler.primitive import loops as long_loops

F = np.float32


def step(x, y):
    """Floats and integers in, floats, integers and booleans out."""
    x = x * jnp.float32(0.5) + jnp.sin(y)
    return jnp.where(x > 1.0, x - 1.0, x), (x * 8).astype(jnp.int32), x > 0.25


def table(t, i, v):
    """A large array, updated where another input says."""
    return t.at[i].add(v), t[i] * v


def smooth(x, y):
    """Something to differentiate."""
    return jnp.sum(jnp.tanh(x) * y**2) + jnp.exp(-y) * x[0]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(F)


def same(f, *args, ulp=4, absolute=1e-6, wrap=lambda f: f):
    """Kernel and function agree, the function as jit runs it and the kernel without falling back."""
    wanted = wrap(jax.jit(f))(*args)
    with no_fallback():
        given = wrap(ks.kernel(f))(*args)
    assert jax.tree.structure(given) == jax.tree.structure(wanted)
    for g, w in zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True):
        assert getattr(g, "weak_type", None) == getattr(w, "weak_type", None)
        assert_same(jnp.asarray(g), jnp.asarray(w), ulp, absolute)
    return given


# ---- vmap


@pytest.mark.by_default("axes1", "axes3", "axes4")
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (1, 0), (0, 1)])
def test_one_vmap(axes):
    args = [numbers(5, 6) if a == 0 else numbers(6, 5) if a == 1 else numbers(6) for a in axes]
    same(lambda x, y: step(x.sum(), y), *args, wrap=lambda f: jax.vmap(lambda x, y: jax.vmap(f, (None, 0))(x, y), axes))


@pytest.mark.by_default("outer2-inner2", "outer3-inner3", "outer4-inner4", "outer6-inner6")
@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ((0, 0), (0, 0)),
        ((0, None), (None, 0)),
        ((None, 0), (0, None)),
        ((0, 0), (0, None)),
        ((0, None), (0, 0)),
        ((0, 1), (1, 0)),
        ((2, None), (0, 0)),
    ],
)
def test_two_vmaps(outer, inner):
    shapes = []
    for o, i in zip(outer, inner, strict=True):
        shape = [7]
        if i is not None:
            shape.insert(i, 3)
        if o is not None:
            shape.insert(o, 4)
        shapes.append(tuple(shape))

    def f(x, y):
        return (jnp.cumsum(x) * y[0], (y > 0).sum())

    same(f, *(numbers(*s) for s in shapes), wrap=lambda g: jax.vmap(jax.vmap(g, inner), outer), absolute=1e-5)


def test_three_vmaps_of_a_large_table():
    t, i, v = numbers(40), np.arange(12, dtype=np.int32).reshape(3, 4), numbers(2)

    def wrap(f):
        return jax.vmap(jax.vmap(jax.vmap(f, (None, 0, None)), (None, 0, None)), (None, None, 0))

    same(table, t, i, v, wrap=wrap)


@pytest.mark.full("covered")
def test_out_axes_and_axis_size():
    same(step, numbers(6), F(1), wrap=lambda f: jax.vmap(f, (0, None), (0, 0, 0), axis_size=6))
    same(lambda x: (x, x * 2), numbers(6, 3), wrap=lambda f: jax.vmap(f, out_axes=(1, 0)))


# ---- inside XLA's control flow


def test_inside_scan():
    def wrap(f):
        return jax.jit(lambda x, ys: lax.scan(lambda c, y: jax.vmap(f)(c, y)[:2], x, ys))

    same(step, numbers(5), numbers(9, 5), wrap=wrap)


def test_inside_while_and_cond():
    def wrap(f):
        def body(carry):
            i, x = carry
            return i + 1, lax.cond(i % 2 == 0, lambda: jax.vmap(f)(x, x)[0], lambda: x + 1)

        return jax.jit(lambda x: lax.while_loop(lambda c: c[0] < 7, body, (jnp.int32(0), x)))

    same(step, numbers(5), wrap=wrap)


def test_a_kernel_that_is_vmapped_inside_a_vmapped_loop():
    def wrap(f):
        def one(x, n):
            return lax.fori_loop(0, n, lambda i, c: f(c, x)[0], x)

        return jax.jit(jax.vmap(one))

    same(step, numbers(5), np.array([0, 3, 1, 9, 2], np.int32), wrap=wrap)


# ---- devices


@pytest.fixture
def mesh():
    return Mesh(np.array(jax.devices()[:2]), ("d",))


def test_shard_map(mesh):
    def wrap(f):
        body = jax.shard_map(jax.vmap(f, (0, None)), mesh=mesh, in_specs=(P("d"), P()), out_specs=(P("d"),) * 3)
        return jax.jit(body)

    given = same(step, numbers(10), F(0.5), wrap=wrap)
    assert given[0].sharding.spec == P("d")


def divided(mesh, function, *results):
    """A function of what differs between devices and of what is the same on all; its results differ if not said."""
    return jax.shard_map(function, mesh=mesh, in_specs=(P("d"), P()), out_specs=results or P("d"))


@pytest.mark.by_default("jacfwd")
@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_derivatives_within_shard_map(mesh, derivative):
    """The devices' shares in what is the same on all are added."""

    def wrap(f):
        return jax.jit(derivative(divided(mesh, lambda x, y: jax.vmap(f, (0, None))(x, y)[0]), (0, 1)))

    same(step, numbers(6), F(0.5), wrap=wrap)


def test_results_within_shard_map_differ_where_what_they_depend_on_does(mesh):
    def wrap(f):
        return jax.jit(divided(mesh, lambda x, y: f(x[0], y), P("d"), P()))

    same(lambda x, y: (x[None] * y, y + jnp.sin(y)), numbers(2), F(0.5), wrap=wrap)


@pytest.mark.by_default("value")
@pytest.mark.parametrize("change", [lambda f: f, jax.grad], ids=["value", "derivative"])
def test_a_kernel_within_shard_map_that_uses_an_outer_value(mesh, change):
    def whole(kernel):
        def share(x, y):
            total = x.sum()
            return jax.vmap(change(kernel(lambda x: jnp.sin(x * total) * 0.5 + x)))(x) + y

        return jax.jit(divided(mesh, share))

    given = numbers(6), F(0.5)
    assert_same(whole(ks.kernel)(*given), whole(lambda f: f)(*given), 4, 1e-6)


@pytest.mark.by_default("value-False", "value-True")
@pytest.mark.parametrize("check_vma", [False, True])
@pytest.mark.parametrize("change", [lambda f: f, jax.jacrev], ids=["value", "derivative"])
def test_within_shard_map_what_cannot_be_compiled_is_plain_jax(mesh, check_vma, change):
    def eigenvalues(m):
        return jnp.linalg.eigvalsh(m) * 2.0

    def whole(function):
        share = jax.vmap(change(function))
        return jax.jit(jax.shard_map(share, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=check_vma))

    m = numbers(4, 3, 3)
    m = m @ m.swapaxes(1, 2) + np.eye(3, dtype=F)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ks.KernelWarning)
        found = whole(ks.kernel(eigenvalues))(m)
    assert_same(found, whole(eigenvalues)(m), 4, 1e-6)


def test_sharded_jit(mesh):
    x = jax.device_put(numbers(10), NamedSharding(mesh, P("d")))
    same(step, x, jax.device_put(F(0.5), NamedSharding(mesh, P())), wrap=lambda f: jax.jit(jax.vmap(f, (0, None))))


@pytest.mark.by_default("spec2")
@pytest.mark.parametrize("spec", [P("d"), P(None, "d"), P()])
def test_sharded_jit_divides_lanes_among_devices(mesh, spec):
    """Nothing is gathered, whichever axis of lanes is divided; keys and what all lanes share go along."""

    def function(x, table, key):
        first, second = jax.random.split(key)
        return x + table[jnp.int32(1)] + jax.random.uniform(first), second

    x = jax.device_put(numbers(4, 6), NamedSharding(mesh, spec))
    keys = jax.device_put(jax.random.split(jax.random.key(0), (4, 6)), NamedSharding(mesh, spec))
    table = numbers(3)

    def over_lanes(f):
        return jax.jit(jax.vmap(jax.vmap(f, (0, None, 0)), (0, None, 0)))

    run = over_lanes(ks.kernel(function))
    program = run.lower(x, table, keys).compile().as_text()
    assert "kousoku_kernel" in program
    if spec == P("d"):
        assert "all-gather" not in program
        assert "f32[12]" in program, "half of the lanes"
    got, wanted = run(x, table, keys), over_lanes(function)(x, table, keys)
    for g, w in zip(got, wanted, strict=True):
        assert_same(g, w)
        assert spec != P("d") or g.sharding.is_equivalent_to(w.sharding, w.ndim)


def test_another_device():
    x = jax.device_put(numbers(10), jax.devices()[1])
    given = same(step, x, x, wrap=lambda f: jax.jit(jax.vmap(f)))
    assert given[0].devices() == {jax.devices()[1]}


@pytest.mark.full("covered")
def test_donated_buffers():
    i, v = np.arange(5, dtype=np.int32), numbers(5)
    wanted = jax.vmap(table)(numbers(5, 40), i, v)
    run = jax.jit(jax.vmap(ks.kernel(table)), donate_argnums=0)
    t = jnp.array(numbers(5, 40))
    for g, w in zip(run(t, i, v), wanted, strict=True):
        assert_same(g, w)
    assert t.is_deleted()


# ---- derivatives


DERIVATIVES = {
    "grad": lambda f: jax.grad(f, (0, 1)),
    "value_and_grad": lambda f: jax.value_and_grad(f),
    "jacfwd": lambda f: jax.jacfwd(f, (0, 1)),
    "jacrev": lambda f: jax.jacrev(f),
    "hessian": lambda f: jax.hessian(f),
    "grad_of_grad": lambda f: jax.grad(lambda x, y: jax.grad(f, 1)(x, y) ** 2, (0, 1)),
    "rev_over_rev": lambda f: jax.jacrev(jax.jacrev(f, (0, 1)), 1),
    "jvp": lambda f: lambda x, y: jax.jvp(f, (x, y), (x + 1, y)),
    "vjp": lambda f: lambda x, y: jax.vjp(f, x, y)[1](jnp.float32(2)),
    "linearize": lambda f: lambda x, y: jax.linearize(f, x, y)[1](x, y),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "third": lambda f: jax.grad(lambda y, x: jax.grad(jax.grad(lambda b, a: f(a, b)))(y, x) * y),
}


@pytest.mark.by_default("jvp")
@pytest.mark.parametrize("name", [n for n in DERIVATIVES if n != "third"])
def test_derivatives(name):
    same(smooth, numbers(3), F(0.75), wrap=DERIVATIVES[name], ulp=32, absolute=1e-5)


@pytest.mark.by_default("axes0-linearize")
@pytest.mark.parametrize("name", ["grad", "jvp", "hessian", "linearize"])
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_derivatives_over_lanes(name, axes):
    args = numbers(5, 3) if axes[0] == 0 else numbers(3), numbers(5) if axes[1] == 0 else F(0.75)
    same(smooth, *args, wrap=lambda f: jax.jit(jax.vmap(DERIVATIVES[name](f), axes)), ulp=32, absolute=1e-5)


@pytest.mark.full("covered")
def test_third_derivative():
    same(smooth, F(0.5), numbers(3), wrap=DERIVATIVES["third"], ulp=64, absolute=1e-4)


@pytest.mark.by_default("axes1")
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_gradient_of_a_sum_over_lanes(axes):
    """What lanes share gets the sum of their cotangents."""
    args = numbers(5, 3) if axes[0] == 0 else numbers(3), numbers(5) if axes[1] == 0 else F(0.75)

    def wrap(f):
        return jax.jit(jax.grad(lambda x, y: jax.vmap(f, axes)(x, y).sum(), (0, 1)))

    same(smooth, *args, wrap=wrap, ulp=32, absolute=1e-5)


@pytest.mark.full("covered")
def test_gradient_over_two_axes_of_lanes():
    def wrap(f):
        both = jax.vmap(jax.vmap(f, (0, None)), (None, 0))
        return jax.grad(lambda x, y: both(x, y).sum(), (0, 1))

    same(smooth, numbers(4, 3), numbers(5), wrap=wrap, ulp=32, absolute=1e-5)


@pytest.mark.full("covered")
def test_gradient_with_integers_keys_and_booleans():
    def f(x, i, key, flag):
        noise = jax.random.uniform(key)
        y = jnp.where(flag, x[i] * noise, jnp.sum(x * x))
        return y, (i + 1, jax.random.split(key)[0], ~flag, x > 0)

    args = numbers(5), np.int32(2), jax.random.key(3), np.bool_(True)
    same(f, *args, wrap=lambda g: jax.value_and_grad(g, has_aux=True))
    batch = numbers(4, 5), np.arange(4, dtype=np.int32), jax.random.split(jax.random.key(1), 4), np.arange(4) > 1
    same(f, *batch, wrap=lambda g: jax.vmap(jax.grad(lambda *a: g(*a)[0])))


@pytest.mark.full("covered")
def test_gradient_through_a_table_and_a_loop():
    def f(t, x):
        def body(carry, i):
            t, s = carry
            return (t.at[i % 7].add(jnp.tanh(s) * t[i]), s + t[i + 1] * x), s

        (t, s), ys = lax.scan(body, (t, x), jnp.arange(5))
        return s * t.sum() + ys.sum()

    same(f, numbers(40), F(0.5), wrap=lambda g: jax.jit(jax.grad(g, (0, 1))), ulp=256, absolute=1e-4)


def test_gradient_of_a_while_loop_is_refused_in_reverse_only():
    def f(x, n):
        return lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] * jnp.float32(1.5) + 1, c[1] + 1), (x, jnp.int32(0)))[
            0
        ]

    same(f, F(0.5), np.int32(4), wrap=lambda g: lambda x, n: jax.jvp(lambda x: g(x, n), (x,), (x,)))
    with pytest.raises(ValueError, match=r"[Rr]everse-mode"):
        jax.grad(ks.kernel(f))(F(0.5), np.int32(4))


def test_gradient_in_a_training_step_inside_scan():
    def wrap(f):
        def loss(w, xs):
            return jax.vmap(f, (None, 0))(w, xs).mean()

        return jax.jit(lambda w, xs: lax.scan(lambda w, _: (w - 0.1 * jax.grad(loss)(w, xs), loss(w, xs)), w, length=5))

    same(smooth, numbers(3), numbers(6), wrap=wrap, ulp=64, absolute=1e-5)


def loops(x, n, key, xs):
    """A loop in a loop: constants, numbers and keys that are carried, values that come in and go out."""

    def inner(carry, y):
        z, i, key = carry
        key, draw = jax.random.split(key)
        z = jnp.sin(z) * z * 0.5 + x * y + 0.1 * jax.random.normal(draw) * z
        return (z, i + n, key), (z * y, i)

    def outer(carry, row):
        (z, i, key), (ys, _) = lax.scan(inner, carry, row)
        return (z + ys.sum(), i, key), jnp.where(i > 3, z, ys[0])

    (z, i, _), ys = lax.scan(outer, (x * 2.0, jnp.int32(0), key), xs)
    return z + jnp.sum(ys * ys), i


@pytest.mark.full("covered")
@pytest.mark.parametrize("long", [1, 1 << 30], ids=["as kernels", "opened"])
def test_derivatives_of_loops_whose_bodies_are_kernels(long, monkeypatch):
    """By what a body takes of outside, by what is carried, and by what comes in; once more, and over lanes."""
    monkeypatch.setattr(long_loops, "LONG", long)
    args = F(0.3), np.int32(2), jax.random.key(1), numbers(3, 4)
    both = {"has_aux": True, "argnums": (0, 3)}
    same(loops, *args, wrap=lambda g: jax.jit(jax.value_and_grad(g, **both)), ulp=64, absolute=1e-4)
    same(loops, *args, wrap=lambda g: lambda x, *rest: jax.jvp(lambda x: g(x, *rest)[0], (x,), (x,)), ulp=64)
    twice = lambda g: jax.jit(jax.hessian(lambda x, *rest: g(x, *rest)[0]))  # noqa: E731
    same(loops, *args, wrap=twice, ulp=256, absolute=1e-3)
    lanes = numbers(5), np.arange(5, dtype=np.int32), jax.random.split(jax.random.key(1), 5), numbers(5, 3, 4)
    same(loops, *lanes, wrap=lambda g: jax.jit(jax.vmap(jax.grad(g, **both))), ulp=256, absolute=1e-3)


def test_only_long_bodies_become_kernels_of_their_own(monkeypatch):
    """One that is differentiated as a kernel is traced once for each mode, however many loops it lies in."""
    args = F(0.3), np.int32(2), jax.random.key(1), numbers(3, 4)
    held = {}
    for long in (1, 1 << 30):
        monkeypatch.setattr(long_loops, "LONG", long)
        found = jax.make_jaxpr(jax.grad(lambda *a: ks.kernel(lambda *b: loops(*b))(*a)[0]))(*args)
        kernels = [eqn.params["kernel"] for eqn in found.jaxpr.eqns if "kernel" in eqn.params]
        (derivative,) = (kernel for kernel in kernels if kernel.name.startswith("vjp of"))
        held[long] = str(derivative.jaxpr).count("= kousoku_kernel[")
    assert held[1] > 0 == held[1 << 30]


def zero_tangents(f, x):
    """Which results of f(x) have tangents that JAX knows to be zero."""
    seen = []

    @jax.custom_jvp
    def watched(result, x):
        return result

    @partial(watched.defjvp, symbolic_zeros=True)
    def rule(primals, tangents):
        seen.append(isinstance(tangents[0], SymbolicZero))
        return primals[0], tangents[0]

    jax.eval_shape(lambda t: jax.jvp(lambda x: [watched(result, x) for result in f(x)], (x,), (t,)), x)
    return seen


@pytest.mark.full("covered")
@pytest.mark.parametrize("lanes", [(), (3,)])
def test_a_tangent_that_is_always_zero_is_told_as_a_zero(lanes):
    """As plain JAX does, so that what depends smoothly on nothing is known before it is computed."""

    def f(x, y):
        side = (jnp.clip(x, -1.0, 1.0) > 0.1).astype(jnp.float32)  # `clip` is a call with a tangent that moves
        return jnp.sign(x), x * y, jnp.floor(x) + y, jnp.where(x > 0, 1.0, y), jnp.float32(2.0), side

    x, y = numbers(2, *lanes)
    for kind in (f, ks.kernel(f)):
        over = jax.vmap(kind) if lanes else kind
        assert zero_tangents(partial(over, y=y), x) == [True, False, True, True, True, True]
        assert zero_tangents(partial(over, x), y) == [True, False, False, False, True, True]
    for wrap in (lambda g: lambda x, y: jax.jvp(g, (x, y), (y, x)), lambda g: jax.grad(lambda *a: sum(g(*a)), (0, 1))):
        same(f, F(0.3), F(-0.7), wrap=wrap)


# ---- functions with derivatives of their own


@jax.custom_jvp
def clipped(x):
    return jnp.clip(x, -1.0, 1.0)


clipped.defjvp(lambda primals, tangents: (clipped(*primals), 3.0 * tangents[0]))


@jax.custom_vjp
def straight(x):
    return jnp.round(x)


straight.defvjp(lambda x: (straight(x), x), lambda x, g: (g * 2.0 + 0 * x,))


@pytest.mark.full("covered")
@pytest.mark.parametrize("function", [clipped, straight, jax.nn.relu, jax.checkpoint(jnp.sin), jax.jit(jnp.cos)])
def test_inner_functions(function):
    def f(x):
        return jnp.sum(function(x) * x)

    same(f, numbers(5))
    same(f, numbers(5), wrap=lambda g: jax.grad(g))
    same(f, numbers(4, 5), wrap=lambda g: jax.jit(jax.vmap(jax.grad(g))))


@pytest.mark.full("covered")
def test_a_kernel_in_a_kernel():
    inner = ks.kernel(lambda x: jnp.sin(x) * 2)

    def f(x):
        return inner(x) + jax.vmap(inner)(jnp.stack([x, x + 1])).sum()

    same(f, F(0.5))
    same(f, numbers(5), wrap=jax.vmap)
    same(f, F(0.5), wrap=jax.grad)


def test_a_kernel_where_jit_is_off():
    with jax.disable_jit():
        assert float(ks.kernel(lambda x: x + 1.0)(F(0.5))) == 1.5


def test_a_kernel_of_a_jitted_function():
    same(jax.jit(step), numbers(5), numbers(5), wrap=jax.vmap)


# ---- what comes in and goes out


class Module(eqx.Module):
    weight: jax.Array
    name: str = eqx.field(static=True)
    count: int = eqx.field(static=True)
    extra: None = None

    def __call__(self, x):
        return self.weight * x + self.count


def test_pytrees():
    def f(state, *, scale):
        return {"a": state["m"](state["x"][0]), "none": None, "m": state["m"], "t": (scale,)}

    state = {"m": Module(jnp.float32(2), "name", 3), "x": [jnp.float32(1), None]}
    given = same(f, state, wrap=lambda g: partial(g, scale=jnp.float32(3)))
    assert isinstance(given["m"], Module)
    assert given["m"].name == "name"
    axes = ({"m": Module(None, "name", 3), "x": [0, None]},)

    def wrap(g):
        return jax.vmap(lambda s: g(s, scale=jnp.float32(1)), axes, {"a": 0, "none": None, "m": 0, "t": 0})

    same(f, state | {"x": [jnp.arange(4.0), None]}, wrap=wrap)


def test_modules_of_another_structure_are_traced_again():
    kernel = ks.kernel(lambda m, x: m(x))
    x = jnp.float32(1)
    assert kernel(Module(jnp.float32(2), "a", 3), x) == 5
    assert kernel(Module(jnp.float32(2), "a", 4), x) == 6


@pytest.mark.parametrize("x", [2, 2.5, True, np.float32(3), np.int8(4), np.arange(3, dtype=np.int16)])
def test_python_and_numpy_numbers(x):
    same(lambda x: jnp.stack([x, x]), x)


def test_weak_types_are_those_of_jit():
    same(lambda x, y: (x + 1, y * 2, x + y), 1, 2)
    same(lambda x: jnp.float32(2) * x, 3.0, wrap=jax.jit)


def test_static_leaves():
    kernel = ks.kernel(lambda x, how, f: f(x) if how == "call" else x)
    assert kernel(2.0, "call", jnp.negative) == -2
    assert kernel(2.0, "skip", jnp.negative) == 2


def test_nothing_out_and_nothing_in():
    assert ks.kernel(lambda x: None)(1.0) is None
    assert ks.kernel(lambda: jnp.arange(3))().tolist() == [0, 1, 2]
    assert jax.vmap(ks.kernel(lambda x: ()))(jnp.arange(3)) == ()
    same(lambda x: (jnp.int32(7), jnp.arange(50)), numbers(3), wrap=jax.vmap)


def test_arrays_without_elements():
    same(lambda x: (x * 2, x.sum(), jnp.zeros((0, 3))), np.zeros(0, F))
    same(lambda x, y: (x * 2, y + 1), np.zeros((4, 0), F), numbers(4), wrap=jax.vmap)
    same(lambda x: (x * 2, x > 0), np.zeros(0, F), wrap=jax.vmap)
    same(lambda x: x.sum(), np.zeros((0, 3), F), wrap=jax.vmap)


@pytest.mark.full("covered")
def test_closures():
    array = jnp.arange(40.0)
    same(lambda i: array[i] * 2, np.int32(7))

    def outer(x, i):
        return ks.kernel(lambda j: jnp.sin(x) * array[j] + x)(i)

    def plain(x, i):
        return jnp.sin(x) * array[i] + x

    args = numbers(5), np.arange(5, dtype=np.int32)
    for wrap in (jax.vmap, lambda f: jax.jit(jax.vmap(f)), lambda f: jax.vmap(jax.grad(f))):
        assert_same(wrap(outer)(*args), wrap(plain)(*args), 4, 1e-6)
    assert_same(jax.jit(outer)(F(2), np.int32(3)), plain(F(2), np.int32(3)), 4)


def test_a_closure_over_a_loops_variable():
    def f(x):
        return lax.fori_loop(0, 4, lambda i, c: ks.kernel(lambda y: y * 2 + i + x)(c), x)

    assert jax.jit(f)(np.int32(3)) == lax.fori_loop(0, 4, lambda i, c: c * 2 + i + 3, 3)


def test_methods_and_names():
    class Thing:
        def act(self, x):
            """Doubles."""
            return x * 2

    kernel = ks.kernel(Thing().act)
    assert kernel.__name__ == "act"
    assert kernel.__doc__ == "Doubles."
    assert kernel(3.0) == 6


@pytest.mark.full("covered")
def test_double_precision():
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=(5, 3))
        same(lambda x: (jnp.sin(x), x.sum(), (x * 1e6).astype(jnp.int64)), x, wrap=jax.vmap, absolute=1e-12)
        same(lambda x: jnp.sum(x**3), x[0], wrap=jax.grad, absolute=1e-12)
    kernel = ks.kernel(lambda x: x * 2)
    assert kernel(1.0).dtype == np.float32
    with jax.enable_x64(True):
        assert kernel(1.0).dtype == np.float64
    assert kernel(1.0).dtype == np.float32


def test_shapes_without_running():
    kernel = jax.vmap(ks.kernel(step))
    wanted = jax.eval_shape(jax.vmap(step), numbers(5), numbers(5))
    assert jax.eval_shape(kernel, numbers(5), numbers(5)) == wanted
    assert "kousoku_kernel" in str(jax.make_jaxpr(kernel)(numbers(5), numbers(5)))


def test_errors_of_the_function_are_the_users():
    def wrong(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(jax.errors.TracerBoolConversionError):
        ks.kernel(wrong)(1.0)
