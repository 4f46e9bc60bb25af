"""Arrays on their way into a kernel and out of it: every element of every lane arrives where it belongs."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.compiler.codegen.builder import Builder
from kousoku.compiler.codegen.operand import Operand
from kousoku.compiler.codegen.vectors import transposed

MORE = pytest.mark.full("more cases")
DTYPES = ("bool", "int8", "uint16", "int32", "float32")


def arrays(dtype, lanes, *shape):
    """Numbers [lanes, ...] of which neighbours differ."""
    drawn = np.random.default_rng(lanes).integers(0, 2 if dtype == "bool" else 120, (lanes, *shape))
    return jnp.asarray(drawn, dtype)


@pytest.mark.full("covered")
@pytest.mark.parametrize("lanes", [5, 37])
@pytest.mark.parametrize(
    "sizes",
    [
        (33, 34, 48, 90, 40),
        (9, 15, 10, 17, 31),
        pytest.param((64, 47, 35, 36, 100), marks=MORE),
        pytest.param((8, 9, 16, 12, 15), marks=MORE),
        pytest.param((32, 24, 13, 7, 9), marks=MORE),
    ],
)
def test_elements_arrive_where_they_belong(lanes, sizes):
    """Of gangs that are complete and not, and of sizes that whole blocks fill, that they overlap in, and less."""

    def through(*given):
        return [jnp.flip(x) for x in given], given

    given = [arrays(dtype, lanes, n) for dtype, n in zip(DTYPES, sizes, strict=True)]
    ours, theirs = jax.vmap(ks.kernel(through))(*given), jax.vmap(through)(*given)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.full("covered")
def test_results_that_lie_in_memory_in_another_way_are_put_in_order():
    """Views of a part, computed ones, constants, what all lanes share, and one array that is two results."""
    table, x = jnp.arange(50.0), arrays("float32", 20, 8, 9)

    def results(x, shared):
        grown = jnp.cumsum(x, axis=1)
        return x.T, grown, grown[2:], grown * 2.0, jnp.ones(40), table, shared, shared + x[0, 0], x, x

    given = (x, jnp.arange(60.0))
    ours = jax.vmap(ks.kernel(results), (0, None))(*given)
    for a, b in zip(ours, jax.vmap(results, (0, None))(*given), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.full("covered")
def test_lanes_beside_those_that_exist_are_not_written():
    """The results of 17 lanes lie in one piece: what a second gang wrote too much would be another array's."""
    x = arrays("int32", 17, 33)
    for lanes in (1, 15, 16, 17):
        np.testing.assert_array_equal(jax.vmap(ks.kernel(lambda x: x + 1))(x[:lanes]), x[:lanes] + 1)


@pytest.mark.parametrize("size", [9, 15, 16, 21, 32])
def test_no_element_of_a_complete_gang_is_gathered(size):
    """Elements are read and written one by one in one loop each, that of an incomplete gang."""
    written = ks.kernel(lambda x: x * 2.0).explain(np.zeros(size, np.float32), lanes=64).llvm_ir
    assert len(re.findall(r"call .*@llvm\.masked\.gather", written)) == 1
    assert len(re.findall(r"call .*@llvm\.masked\.scatter", written)) == 1


@pytest.mark.parametrize("side", [2, 4, 8, 16])
def test_a_square_is_transposed_in_the_fewest_rounds(side):
    """The shuffles that are written, run by hand."""
    b = Builder(side)
    rows = transposed(b, [Operand(f"%r{i}", "float", True) for i in range(side)])
    held = {f"%r{i}": [side * i + j for j in range(side)] for i in range(side)}
    for line in b.lines:
        name, code = line.strip().split(" = ")
        x, y = re.findall(r"%\w+", code)
        order = map(int, re.findall(r"i32 (\d+)", code))
        held[name] = [(held[x] + held[y])[j] for j in order]
    assert [held[row.text] for row in rows] == [[side * i + j for i in range(side)] for j in range(side)]
    assert len(b.lines) == side * (side.bit_length() - 1)
