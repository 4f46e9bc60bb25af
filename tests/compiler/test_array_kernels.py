"""Kernels whose vectors lie along arrays: what they compute, beside XLA and beside NumPy in float64."""

import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback
from test_kernel_targets import TARGETS

import kousoku as ks
from kousoku.agents.deep.sac import SAC
from kousoku.compiler import on_arrays
from kousoku.compiler.backends.cpu.entry import emit_module
from kousoku.compiler.codegen.builder import Builder
from kousoku.compiler.codegen.index import Strip, as_lanes
from kousoku.compiler.frontend import from_jaxpr
from kousoku.compiler.llvm.compile import assembly_code
from kousoku.compiler.llvm.target import prepare
from kousoku.compiler.passes import run_passes
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import ActorQConfig

RNG = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(RNG.normal(size=shape), jnp.float32)


def arrays(function, *args):
    """What the kernel gives."""
    with no_fallback():
        return jax.jit(ks.kernel(function, arrays=True))(*args)


def assert_close(given, wanted, rtol=2e-6):
    """Equal to so much of the largest element."""
    assert jax.tree.structure(given) == jax.tree.structure(wanted)
    for g, w in zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        np.testing.assert_allclose(g, w, rtol=0, atol=rtol * float(np.abs(w).max(initial=1e-3)))


SIZES = [
    (256, 17, 64), (256, 64, 1), (256, 1, 64), (1, 64, 64), (7, 9, 11), (65, 256, 33), (40, 200, 130), (13, 5, 6),
]  # fmt: skip
"""Rows, inner elements and columns: whole tiles and remainders of each, several blocks, single rows and columns."""


@pytest.mark.by_default("(1, 64, 64)")
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products_of_matrices_whichever_axes_are_summed(sizes):
    rows, inner, columns = sizes
    x, y = normal(rows, inner), normal(inner, columns)

    def products(x, y, xt, yt):
        return x @ y, xt.T @ y, x @ yt.T, (yt @ xt).T

    exact = np.asarray(x, np.float64) @ np.asarray(y, np.float64)
    for product in arrays(products, x, y, x.T.copy(), y.T.copy()):
        np.testing.assert_allclose(product, exact, atol=3e-6 * np.abs(exact).max())


@pytest.mark.by_default("float32")
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.int32])
def test_products_with_batch_axes_and_free_axes(dtype):
    x, y = (normal(*shape).astype(dtype) for shape in ((3, 2, 9, 20), (3, 20, 5)))
    equations = ("abij,ajk->abik", "abij,ajk->kabi", "abij,ajk->abk", "abij,ajk->ik")
    product = lambda x, y: [jnp.einsum(e, x, y) for e in equations]  # noqa: E731
    assert_close(arrays(product, x, y), jax.jit(product)(x, y))


@pytest.mark.by_default("(16,)")
@pytest.mark.parametrize("shape", [(256, 64), (5, 150), (70, 6), (3, 4, 33), (1, 40, 1), (16,)], ids=str)
def test_reductions_of_every_axis(shape):
    rank = len(shape)
    axes = [None, *range(rank), *([tuple(range(rank - 1)), (0, rank - 1)] if rank > 1 else [])]
    x = normal(*shape)

    def reduced(x):
        return [(x.sum(axis), x.max(axis), (x > 0).all(axis), jnp.prod(1 + x / 99, axis)) for axis in axes]

    assert_close(arrays(reduced, x), jax.jit(reduced)(x), 2e-5)


@pytest.mark.parametrize("axes", [0, 1, 2, (0, 1), (0, 2), (1, 2), None], ids=str)
def test_large_arrays_made_of_little_are_kept_nowhere(axes):
    """They are computed again for each that reads them, and as they are summed up."""
    x, y = normal(12, 301), normal(12, 401)

    def pairs(x, y):
        error = y[:, None, :] - x[:, :, None]
        weight = jnp.where(error < 0, 0.7, 0.3)
        return (weight * error**2).sum(axes), (weight * jnp.clip(error, -1, 1)).max(axes), weight.sum(axes)

    assert_close(arrays(pairs, x, y), jax.jit(pairs)(x, y), 1e-4)  # sums of a million numbers
    assert on_arrays(pairs).explain(x, y).buffer_bytes < 4 * 12 * 301 * 401 / 2


def test_slices_of_products_and_products_and_a_row():
    """Of which only the slice is computed, and which begin with the row; others use some of them whole."""

    def layers(x, w, b, stacked):
        wide = x @ w
        batch = jnp.einsum("bij,bjk->bik", stacked, stacked.swapaxes(1, 2))
        used_twice = x @ (w + 1)
        return (
            wide[3:20:2, 30:37], batch[1:, 2:9, 4:], jnp.tanh(x @ w + b), x.T @ (x @ w + b)[:, 1:2],
            used_twice[:, :5], used_twice + b, (x[:2, :3] @ w[:3, :4]) + b[:, :4], b + w.T @ x.T[:, :70],
        )  # fmt: skip

    args = normal(70, 33), normal(33, 70), normal(1, 70), normal(3, 12, 20)
    assert_close(arrays(layers, *args), jax.jit(layers)(*args), 1e-5)


def test_neighbours_of_what_is_written_stay():
    """The last strip of a row is shorter than a vector, and so are the columns of a window."""

    def written(x, row, column):
        x = jax.lax.dynamic_update_slice(x, row[None], (1, 2))
        x = jax.lax.dynamic_update_slice(x, column[:, None], (0, 5))
        return x.at[:, 7].set(column), jnp.concatenate([x, column[:, None], x[:, :3]], axis=1)

    args = normal(9, 20), normal(17), normal(9)
    assert_close(arrays(written, *args), jax.jit(written)(*args), 0)


def test_a_part_is_computed_from_the_whole_that_it_replaces():
    """What is written is read to the end before its place is, whatever overlaps; positions may be known or not."""

    def replaced(x, y, i):
        moved = jax.lax.dynamic_update_slice(x, 2 * x[10:90] + y[:80], (11,))
        moved = jax.lax.dynamic_update_slice(moved, moved[5:70][::-1], (i,))
        joined = jax.lax.dynamic_update_slice(jnp.zeros(200), jnp.tanh(y), (0,))
        return moved, jax.lax.dynamic_update_slice(joined, x + joined[50:150], (y.size,)), x

    args = normal(100), normal(100), jnp.int32(20)
    assert_close(arrays(replaced, *args), jax.jit(replaced)(*args))


def test_what_a_loop_carries_is_not_overwritten_before_it_is_read():
    def swapped(a, b, c):
        def body(carry, _):
            a, b, c = carry
            return (b * 2, a + c, c + 1), a.sum()

        return jax.lax.scan(body, (a, b, c), None, length=5)

    def shifted(a):
        return jax.lax.fori_loop(0, 3, lambda _, a: a[::-1] + jnp.roll(a, 1), a)

    args = normal(50), normal(50), normal(50)
    assert_close(arrays(swapped, *args), jax.jit(swapped)(*args))
    assert_close(arrays(shifted, args[0]), jax.jit(shifted)(args[0]))


def test_lanes_are_taken_one_at_a_time():
    """Each has its own arrays; what they share is read where it lies."""

    def layer(x, w, b):
        return jnp.tanh(x @ w + b[None])

    args = normal(5, 30, 17), normal(17, 40), normal(5, 40)
    axes = (0, None, 0)
    with no_fallback():
        given = jax.jit(jax.vmap(ks.kernel(layer, arrays=True), axes))(*args)
    assert_close(given, jax.jit(jax.vmap(layer, axes))(*args))


@pytest.mark.full("covered")
def test_derivatives():
    loss = lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2)  # noqa: E731
    w, x = normal(17, 40), normal(30, 17)
    with no_fallback():
        given = jax.jit(jax.grad(ks.kernel(loss, arrays=True)))(w, x)
    assert_close(given, jax.jit(jax.grad(loss))(w, x))


def test_a_shorter_strip_reads_nothing_beyond_its_end():
    """Also where each lane has a position of its own: lanes that are not there read what the last one reads."""
    writer = Builder(8)
    as_lanes(writer, Strip(0, 2, 3))
    assert "<i32 0, i32 2, i32 4, i32 4, i32 4, i32 4, i32 4, i32 4>" in writer.lines[-1]

    def chosen(x, i):
        return jnp.take_along_axis(x, i, axis=1), x[jnp.arange(37), i[:, 0]]

    args = normal(37, 9), jnp.asarray(RNG.integers(0, 9, (37, 2)))
    assert_close(arrays(chosen, *args), jax.jit(chosen)(*args), 0)


@pytest.mark.full("covered")
def test_random_numbers_are_the_same():
    def drawn(key):
        return jax.random.bits(key, (33, 6)), jax.random.uniform(key, (200,)), jax.random.split(key, 20)[3:]

    key = jax.random.key(5)
    for given, wanted in zip(arrays(drawn, key), jax.jit(drawn)(key), strict=True):
        same = jnp.all(jax.random.key_data(given) == jax.random.key_data(wanted)) if given.dtype == key.dtype else None
        assert jnp.array_equal(given, wanted) if same is None else same


def test_where_there_is_no_rule_it_is_plain_jax_and_nobody_is_warned():
    matrix = jnp.eye(6) + 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error", ks.KernelWarning)
        run = jax.jit(on_arrays(jnp.linalg.eigvalsh))
        given = run(matrix)
    assert "kousoku_kernel" not in run.lower(matrix).as_text()
    assert_close(given, jnp.linalg.eigvalsh(matrix))


def test_convolutions_are_sums_of_products():
    image, kernel = normal(2, 8, 8, 3), normal(3, 3, 3, 4)

    def convolved(image, kernel):
        return jax.lax.conv_general_dilated(image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    assert_close(arrays(convolved, image, kernel), jax.jit(convolved)(image, kernel))


def test_large_products_of_one_lane_are_left_to_the_threads_of_xla():
    def product(x, y):
        return x @ y

    def calls(lanes, size):
        x = jnp.ones((*lanes, size, size))
        run = ks.kernel(product, arrays=True)
        return "kousoku_kernel" in jax.jit(jax.vmap(run) if lanes else run).lower(x, x).as_text()

    devices = jax.sharding.Mesh(jax.devices()[:2], "devices")
    spec = jax.sharding.PartitionSpec("devices")
    shared = jax.shard_map(
        lambda x: ks.kernel(product, arrays=True)(x[0], x[0])[None], mesh=devices, in_specs=spec, out_specs=spec
    )
    assert "kousoku_kernel" in jax.jit(shared).lower(jnp.ones((2, 256, 256))).as_text()
    assert [calls((), 64), calls((), 256), calls((1,), 256), calls((3,), 256)] == [True, False, False, True]
    wide = jax.ShapeDtypeStruct((256, 256), jnp.float32)
    assert "16,777,216" in ks.kernel(product, arrays=True).explain(wide, wide).decision.reason


SEVERAL = {
    "rows of two axes": ("bpk,ko->bpo", (5, 7, 9), (9, 11)),
    "sums over two axes": ("bpk,bpo->ko", (5, 7, 9), (5, 7, 11)),
    "transposed": ("bpk,bpo->ok", (5, 7, 9), (5, 7, 11)),
    "columns of two axes": ("bk,kpo->bpo", (5, 9), (9, 7, 11)),
    "both of two": ("bpk,cqk->bpcq", (5, 7, 9), (3, 4, 9)),
    "summed in the middle": ("bkp,kpo->bo", (5, 9, 7), (9, 7, 11)),
    "summed in another order": ("bkp,pko->bo", (5, 9, 7), (7, 9, 11)),
    "nothing summed": ("bp,ko->bpko", (5, 7), (9, 11)),
    "of batches": ("bpk,bko->bpo", (5, 7, 9), (5, 9, 11)),
}


@pytest.mark.by_default("nothing summed", "of batches", "summed in another order", "summed in the middle")
@pytest.mark.parametrize("name", SEVERAL)
def test_products_over_several_axes(name):
    formula, *shapes = SEVERAL[name]
    x, y = (normal(*shape) for shape in shapes)
    product = lambda x, y: jnp.einsum(formula, x, y)  # noqa: E731
    assert_close(arrays(product, x, y), jax.jit(product)(x, y))


def products_in(function, *args):
    """The shapes of the factors of each product, and how often something is transposed."""
    graph = run_passes(from_jaxpr(jax.make_jaxpr(function)(*args)), True)
    products = [tuple(a.shape for a in op.inputs) for op in graph.walk() if op.name == "dot_general"]
    return products, sum(op.name == "transpose" for op in graph.walk())


def test_sums_over_samples_and_places_are_one_product_of_matrices():
    weights = lambda x, y: jnp.einsum("bpk,bpo->ko", x, y)  # noqa: E731
    assert products_in(weights, normal(5, 7, 9), normal(5, 7, 11)) == ([((35, 9), (35, 11))], 0)


def test_a_bias_of_rows_of_two_axes_begins_their_product():
    layer = lambda x, w, b: x @ w + b[None, None, :]  # noqa: E731
    x, w, b = normal(5, 7, 9), normal(9, 11), normal(11)
    assert products_in(layer, x, w, b) == ([((35, 9), (9, 11), (1, 11))], 0)
    assert_close(arrays(layer, x, w, b), jax.jit(layer)(x, w, b))


def test_a_transposed_product_is_that_of_the_factors_in_the_other_order():
    gradient = lambda x, y: (x.T @ y).T  # noqa: E731
    assert products_in(gradient, normal(30, 9), normal(30, 11)) == ([((30, 11), (9, 30))], 1)
    used_twice = lambda x, y: ((x @ y).T, x @ y)  # noqa: E731
    x, y = normal(6, 30), normal(30, 9)
    assert products_in(used_twice, x, y) == ([((6, 30), (30, 9))], 1)
    assert_close(arrays(used_twice, x, y), jax.jit(used_twice)(x, y))


@pytest.mark.parametrize("target", ["NEON", "AVX2", "AVX-512"])
def test_every_processor_has_its_tiles_in_registers(target):
    prepare()
    processor, sign = TARGETS[target]
    graph = run_passes(from_jaxpr(jax.make_jaxpr(lambda x, w: jnp.tanh(x @ w))(normal(64, 40), normal(40, 64))))
    assembly = assembly_code(emit_module(graph, 1, (False, False), processor, True).text, processor)
    parts = re.split(r"^(\w+):", assembly, flags=re.MULTILINE)
    (product,) = [code for name, code in zip(parts[1::2], parts[2::2], strict=True) if name.startswith("multiply_wide")]
    assert sign in product
    assert not re.search(r"vmov\w+\s+%[yz]mm.* Spill", product)


def rectified(x, v, w, b, y):
    """A loss of two layers of rectified units."""
    return jnp.mean((jax.nn.relu(jax.nn.relu(x @ v) @ w + b[None, :]) - y) ** 2)


def test_activations_and_their_derivatives_are_a_part_of_products():
    args = normal(50, 20), normal(20, 30), normal(30, 40), normal(40), normal(50, 40)
    graph = run_passes(from_jaxpr(jax.make_jaxpr(jax.value_and_grad(rectified, (0, 1, 2)))(*args)), arrays=True)
    products = [op for op in graph.walk() if op.name == "dot_general"]
    ends = [[end.name for end in op.params["end"].ops] if "end" in op.params else [] for op in products]
    assert sorted(ends) == [[], [], [], ["gt", "select_n"], ["max"], ["max"]]
    left = [op.name for op in graph.ops if op.name in ("max", "gt", "select_n")]
    assert left == ["gt", "select_n"], "of the last layer, whose gradient is no product"
    assert_close(
        arrays(jax.value_and_grad(rectified, (0, 1, 2)), *args), jax.value_and_grad(rectified, (0, 1, 2))(*args)
    )


@pytest.mark.by_default("(65, 256, 33)", "(256, 64, 1)")
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_ends_of_products_of_any_size(sizes):
    """Whichever axis vectors lie along; where the inner axis is summed in parts, the end comes after the last one."""
    rows, inner, columns = sizes

    def ended(x, y, xt, yt, other, row):
        rectified = jnp.maximum(x @ y + row[None], 0.0)
        masked = jnp.where(other > 0, xt.T @ y, 0.0)
        several = other * (1.0 - (x @ yt.T) * 2.0) - jnp.minimum(other, other * other)
        return rectified, masked, several, jnp.where(rectified > 0, (yt @ xt).T, 0.0)

    x, y = normal(rows, inner), normal(inner, columns)
    args = x, y, x.T.copy(), y.T.copy(), normal(rows, columns), normal(columns)
    assert_close(arrays(ended, *args), jax.jit(ended)(*args))


PRODUCTS = [
    ("bij,bj->bi", (6, 20, 30), (6, 30)), ("k,ikj->ij", (30,), (6, 30, 20)),
    ("ijk,k->ij", (6, 20, 30), (30,)), ("bij,bjk->bik", (3, 20, 30), (3, 30, 17)),
    ("bji,bkj->bki", (3, 30, 17), (3, 20, 30)), ("i,ij->j", (30,), (30, 20)),
    ("ijk,ik->ij", (20, 21, 3), (20, 3)), ("ik,ijk->ij", (20, 3), (20, 21, 3)),
    ("bi,bi->b", (40, 20), (40, 20)),
]  # fmt: skip
"""With outer axes, and with rows or columns of one element."""


@pytest.mark.by_default("bij,bj->bi", "k,ikj->ij", "ijk,ik->ij", "bij,bjk->bik")
@pytest.mark.parametrize(("sums", "left", "right"), PRODUCTS, ids=[sums for sums, *_ in PRODUCTS])
def test_ends_of_products_with_outer_axes(sums, left, right):
    x, y = normal(*left), normal(*right)
    other = normal(*jnp.einsum(sums, x, y).shape)
    ended = lambda x, y, other: jnp.maximum(jnp.einsum(sums, x, y) + other * 2.0, 0.0) * other  # noqa: E731
    assert_close(arrays(ended, x, y, other), jax.jit(ended)(x, y, other))
    plain = lambda x, y: jnp.einsum(sums, x, y)  # noqa: E731
    assert_close(arrays(plain, x, y), jax.jit(plain)(x, y))


def test_what_two_products_go_into_ends_the_first_of_them():
    added = lambda x, y, z: ((x @ y) * 2.0 - (1.0 - x @ z), jnp.maximum(y.T @ z, y.T @ y) + jnp.minimum(z.T @ y, 0.5))  # noqa: E731
    args = normal(40, 40), normal(40, 40), normal(40, 40)
    assert_close(arrays(added, *args), jax.jit(added)(*args))
    (first, second, *_), _ = products_in(added, *args)
    assert (len(first), len(second)) == (2, 3) or (len(first), len(second)) == (3, 2), "one reads the other"


def test_signs_of_rectified_products_are_those_before():
    """Of NaN, of either zero, and of what is infinite."""

    def signs(x, y):
        z = x @ y
        return jax.nn.relu(z), z > 0, jnp.where(z > 0, 2.0 * z, -1.0)

    corners = jnp.array([[jnp.nan], [jnp.inf], [-jnp.inf], [0.0], [-0.0], [1.0], [-1.0]], jnp.float32)
    x, y = jnp.tile(corners, (3, 9)), jnp.ones((9, 20), jnp.float32) / 9
    for given, wanted in zip(arrays(signs, x, y), jax.jit(signs)(x, y), strict=True):
        np.testing.assert_array_equal(given, wanted)


def adam(parameters, first, second, target, gradient):
    """One step: scaled gradient, two moments, the parameters, and their average."""
    gradient = 0.5 * gradient
    first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient * gradient
    parameters = parameters - 0.001 * first / (jnp.sqrt(second) + 1e-8)
    return parameters, first, second, target + 0.005 * (parameters - target)


def loops_and_stores(function, *args):
    """How many loops a kernel along arrays has, and how many vectors they store."""
    graph = run_passes(from_jaxpr(jax.make_jaxpr(function)(*args)), arrays=True)
    text = emit_module(graph, 1, (False,) * len(args), TARGETS["AVX-512"][0], True).text
    body = text[text.index("define") :]
    return len(re.findall(r"^loop\d*:", body, re.MULTILINE)), len(re.findall(r"store <16 x float>", body))


def test_arrays_that_are_made_together_are_written_in_one_loop():
    """Moments, parameters and their average stand where they stood; the scaled gradient stands nowhere."""
    begin = [jnp.abs(normal(160)) for _ in range(5)]

    def learn(*begin):
        *state, gradient = begin
        step = lambda _, state: adam(*state, gradient - state[0])  # noqa: E731
        return jax.lax.fori_loop(0, 3, step, tuple(state))

    assert_close(arrays(learn, *begin), jax.jit(learn)(*begin))
    one = lambda *begin: jax.lax.fori_loop(0, 3, lambda _, x: x + begin[4], begin[0])  # noqa: E731
    (loops, stores), (of_one, stored) = loops_and_stores(learn, *begin), loops_and_stores(one, *begin)
    before = 3  # what the others begin with is copied, since nobody may write where arguments are
    assert (loops, stores) == (of_one + before, stored + before + 3)


def test_a_vector_that_is_read_in_parts_alone_stands_nowhere():
    """As an optimiser's step, which each array of a network takes its part of."""

    def step(x, y, mean):
        one, two = jnp.split(jnp.tanh(mean) / (jnp.abs(mean) + 1.0), [160])
        return x - one.reshape(16, 10), y - two

    args = normal(16, 10), normal(96), normal(256)
    assert_close(arrays(step, *args), jax.jit(step)(*args))
    of_one, stored = loops_and_stores(lambda x: x * 2.0, args[0])
    assert loops_and_stores(step, *args) == (of_one + 1, stored + 1)


def larger(x, y):
    return jnp.where(jnp.abs(x) > jnp.abs(y), x, y)


@pytest.mark.parametrize(
    "used",
    [
        lambda z: z + jax.lax.reduce(z, jnp.float32(0), larger, (0,))[None],
        lambda z: z.at[jnp.array([1, 5])].apply(lambda v: v * 0.5 + 0.1),
    ],
    ids=["reduce", "apply"],
)
def test_arrays_that_wait_are_not_written_in_a_loop_of_others(used):
    """A reduction with a function of its own, and what is applied at places, run a graph in a loop."""

    def steps(x, y, z):
        def step(_, now):
            x, y, z = now
            x = x * 0.5 + y
            y = x * x * 0.1 + y
            return x, y, used(z)

        return jax.lax.fori_loop(0, 3, step, (x, y, z))

    args = normal(7, 11), normal(7, 11), normal(9, 13)
    assert_close(arrays(steps, *args), jax.jit(steps)(*args))


def test_of_many_arrays_some_are_written_together():
    def powers(x):
        made = [x]
        for _ in range(99):
            made.append(made[-1] * 0.9 + made[-1] * made[-1] * 0.01)
        return made

    x = normal(160)
    assert_close(arrays(powers, x), jax.jit(powers)(x), 1e-5)
    one, many = (loops_and_stores(lambda x, n=n: powers(x)[1:n], x)[0] for n in (3, 100))
    assert many - one == 3, "99 arrays in four loops, 32 in each"


@pytest.mark.full("covered")
def test_a_hundred_updates_of_sac_are_those_of_xla():
    env = ks.make("Pendulum-v1")
    agent = SAC(network=ActorQConfig(hidden=(32, 32)), learning_rate=1e-3)
    state, n, count = agent.init(env.spec, jax.random.key(0)), 64, 100
    size = env.spec.observation_space.shape[0]
    made = (
        normal(count, n, size), 2 * jnp.tanh(normal(count, n, 1)), normal(count, n), normal(count, n) > 1,
        jnp.zeros((count, n), bool), normal(count, n, size),
    )  # fmt: skip
    keys = jax.random.split(jax.random.key(1), count)

    def learn(state, made, keys):
        def update(state, now):
            batch = ReplayBatch(jax.vmap(Transition)(*now[0]), jnp.int32(10_000))
            return agent.update(state, batch, now[1])

        return jax.lax.scan(update, state, (made, keys))

    given, wanted = arrays(learn, state, made, keys), jax.jit(learn)(state, made, keys)
    assert_close(given[1], wanted[1], 1e-4)
    for g, w in zip(jax.tree.leaves(given[0]), jax.tree.leaves(wanted[0]), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)
