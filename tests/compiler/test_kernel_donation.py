"""Results of a kernel that lie where donated arguments did."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks

LANES = 1003
"""More than one piece of work for a thread, the last gang incomplete."""


def moved(table, other, place):
    """Reads all over the table before it writes, and from another argument; both come back changed."""
    total = table.sum() + other[::-1] * table[place]
    return table.at[place].add(total[0]) * 0.5, other + table[:40], total


def given(lanes: int = LANES):
    rng = np.random.default_rng(3)
    table, other = (jnp.asarray(rng.normal(size=(lanes, n)).astype(np.float32)) for n in (50, 40))
    return table, other, jnp.asarray(rng.integers(0, 50, lanes).astype(np.int32))


def expect_alike(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b), found, expected)


def overwritten(function, *args) -> list[str]:
    """Which operand each result of the kernel's call overwrites, as pairs (result, operand) of the program's text."""
    text = jax.jit(function).lower(*args).as_text()
    aliases = r"output_tuple_indices = \[(\d*)\], *operand_index = (\d+)"
    return [result + "<-" + operand for result, operand in re.findall(aliases, text)]


@pytest.mark.parametrize("donate", [0, 1, (0, 1), [0, 1, 2]])
@pytest.mark.parametrize("lanes", [3, 8, LANES])
def test_results_are_the_same_and_arguments_live_on(donate, lanes):
    args = given(lanes)
    before = jax.tree.map(np.array, args)
    plain, donating = jax.vmap(ks.kernel(moved)), jax.vmap(ks.kernel(moved, donate_argnums=donate))
    expect_alike(donating(*args), plain(*args))
    expect_alike(jax.jit(donating)(*args), plain(*args))
    expect_alike(args, before)


def test_what_is_donated_is_overwritten_and_nothing_else():
    args = given()
    assert overwritten(jax.vmap(ks.kernel(moved, donate_argnums=(0, 1, 2))), *args) == ["0<-0", "1<-1"]
    assert overwritten(jax.vmap(ks.kernel(moved, donate_argnums=1)), *args) == ["1<-1"]
    assert overwritten(jax.vmap(ks.kernel(moved)), *args) == []


@pytest.mark.parametrize("lanes", [3, 8, LANES])
def test_numbers_and_short_arrays_are_overwritten_too(lanes):
    """Each result is made of arguments in whose places others come to lie."""

    def turned(a, b, row, count):
        return b + row[2], a * 2.0, row[::-1] + a, count + jnp.int32(b > 0)

    rng = np.random.default_rng(4)
    a, b = (jnp.asarray(rng.normal(size=lanes).astype(np.float32)) for _ in range(2))
    args = a, b, jnp.asarray(rng.normal(size=(lanes, 3)).astype(np.float32)), jnp.arange(lanes, dtype=np.int32)
    step = jax.vmap(ks.kernel(turned, donate_argnums=(0, 1, 2, 3)))
    assert overwritten(step, *args) == ["0<-0", "1<-1", "2<-2", "3<-3"]
    expected = jax.vmap(turned)(*args)
    expect_alike(jax.jit(step)(*args), expected)
    expect_alike(jax.jit(step, donate_argnums=(0, 1, 2, 3))(*args), expected)


def test_a_program_of_one_kernel_copies_nothing():
    """Else XLA shares its many copies out among threads, and waking these takes longer than all of a small step."""
    state = {f"part {i}": jnp.full((64, i), i, jnp.float32) for i in range(1, 13)}

    def turn(key, state, gain):
        noise = jax.random.normal(key)
        return jax.tree.map(lambda x: x * gain + noise, state), noise

    step = jax.vmap(ks.kernel(turn, donate_argnums=1))
    keys = jax.random.split(jax.random.key(0), 64)
    program = jax.jit(step, donate_argnums=1).lower(keys, state, jnp.ones(64)).compile().as_text()
    assert "custom-call(" in program
    assert " copy(" not in program


def test_a_loop_goes_on_in_place():
    """No copy of the table is left in the body of the loop."""
    table, _, place = given()
    step = jax.vmap(ks.kernel(lambda table, place: table.at[place].add(1.0), donate_argnums=0))

    def run(table, place):
        return jax.lax.fori_loop(0, 10, lambda i, table: step(table, (place + i) % 50), table)

    program = jax.jit(run, donate_argnums=0).lower(table, place).compile().as_text()
    assert not [line for line in program.splitlines() if " copy(" in line and f"f32[{LANES},50]" in line.split("=")[1]]
    expected = np.array(table)
    for i in range(10):
        expected[np.arange(LANES), (np.array(place) + i) % 50] += 1.0
    np.testing.assert_array_equal(run(table, place), expected)


def test_what_is_read_in_another_way_too_is_copied_first():
    """The same array as lanes and as a whole: a gang would read what another has written."""
    table = given()[0]
    function = jax.vmap(ks.kernel(lambda row, whole, i: row + whole[LANES - 1 - i], donate_argnums=0), (0, None, 0))
    numbers = jnp.arange(LANES)

    def twice(table):
        once = table * 2
        return function(once, once, numbers), once

    result, once = jax.jit(twice)(table)
    np.testing.assert_array_equal(once, table * 2)
    np.testing.assert_array_equal(result, once + once[::-1])
    np.testing.assert_array_equal(jax.jit(lambda table: function(table, table, numbers))(table), table + table[::-1])


def test_what_is_needed_afterwards_is_copied_first():
    table, other, place = given()
    step = jax.vmap(ks.kernel(moved, donate_argnums=(0, 1)))

    def run(carried, place):
        table, other, total = step(*carried, place)
        return (table, other), (carried, total)

    places = jnp.stack([place, place + 1, place + 2]) % 50
    last, (before, totals) = jax.jit(lambda: jax.lax.scan(run, (table, other), places))()
    with ks.use_kernels(False):
        plain_last, (plain_before, plain_totals) = jax.lax.scan(
            lambda carried, place: (lambda r: (r[:2], (carried, r[2])))(jax.vmap(moved)(*carried, place)),
            (table, other),
            places,
        )
    np.testing.assert_allclose(totals, plain_totals, rtol=1e-4, atol=1e-4)
    for found, expected in zip([*last, *before], [*plain_last, *plain_before], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_arguments_by_name_and_pytrees():
    table, other, place = given()
    plain = jax.vmap(moved)(table, other, place)
    step = ks.kernel(lambda tables, place: moved(tables["a"], tables["b"], place), donate_argnums=0)
    for found in (
        jax.vmap(step)({"a": table, "b": other}, place),
        jax.vmap(lambda t, o, p: step(tables={"a": t, "b": o}, place=p))(table, other, place),
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), found, plain)


def test_derivatives_of_a_kernel_that_overwrites():
    table, other, place = given(16)

    def loss(function):
        return lambda table, other: sum(jnp.sin(r).sum() for r in jax.vmap(function)(table, other, place))

    found = jax.jit(jax.grad(loss(ks.kernel(moved, donate_argnums=(0, 1))), (0, 1)))(table, other)
    expected = jax.jit(jax.grad(loss(ks.kernel(moved)), (0, 1)))(table, other)
    expect_alike(found, expected)


@pytest.mark.parametrize("wrong", [-1, True, (0, -2)])
def test_what_is_no_number_of_an_argument(wrong):
    with pytest.raises(ks.ConfigError, match="donate_argnums"):
        ks.kernel(moved, donate_argnums=wrong)


def test_a_number_that_no_argument_has():
    with pytest.raises(ks.ConfigError, match=r"donate_argnums: got 3; .* given 3 arguments"):
        ks.kernel(moved, donate_argnums=3)(*jax.tree.map(lambda x: x[0], given(1)))
