"""Programs with control flow, for kernels against XLA: name, function, arguments as in `kernel_oracle.inputs`.

Large arrays have more than 32 elements: they live in memory, where an update overwrites them if nobody needs the old
elements. Many programs here do need them.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from kousoku.compiler import any_lane

COSTLY = 12


def costly(x):
    """Work that a branch is worth for."""
    return lax.fori_loop(0, COSTLY, lambda i, y: (y * jnp.float32(0.5)) + jnp.float32(i), x)


def costly_int(x):
    for i in range(1, 40):
        x = (x * (2 * i + 1)) ^ (x >> 3)
    return x


def slope(function, x):
    """Reverse mode: what the derivative keeps of one branch is blank in the other."""
    return jax.grad(lambda y: function(y).sum())(x)


# ---- cond

COND = {
    "cheap": (lambda p, x: lax.cond(p, lambda y: y + 1, lambda y: y * 2, x), "b i"),
    "costly": (lambda p, x: lax.cond(p, costly, lambda y: -y, x), "b f"),
    "costly_both": (lambda p, x: lax.cond(p, costly_int, lambda y: costly_int(y + 3), x), "b i5"),
    "unchanged": (lambda p, x, y: lax.cond(p, lambda a, b: (a, b), lambda a, b: (a, b), x, y), "b f40 f"),
    "swapped": (lambda p, x, y: lax.cond(p, lambda a, b: (a, b), lambda a, b: (b, a), x, y), "b i i"),
    "swapped_large": (lambda p, x, y: lax.cond(p, lambda a, b: (a, b), lambda a, b: (b, a), x, y), "b i40 i40"),
    "twice": (lambda p, x, y: lax.cond(p, lambda a, b: (a, a, b), lambda a, b: (b, a, a), x, y), "b f40 f40"),
    "large": (lambda p, x: lax.cond(p, lambda y: y * 2, lambda y: y[::-1], x), "b i5x9"),
    "update": (lambda p, x, i: (lax.cond(p, lambda y: y.at[i].add(5), lambda y: y, x), x), "b i40 i"),
    "update_and_read": (
        lambda p, x, i: lax.cond(p, lambda y: (y.at[i].set(9), y[i]), lambda y: (y, y.at[0].set(7)[0]), x),
        "b i40 i",
    ),
    "update_twice": (
        lambda p, x, i: lax.cond(p, lambda y: y.at[i].set(1).at[i + 1].add(2), lambda y: y.at[3].set(-y[i]), x),
        "b i50 i",
    ),
    "update_slice": (
        lambda p, x, y, i: lax.cond(p, lambda t: lax.dynamic_update_slice(t, y, (i, 0)), lambda t: t + 1, x),
        "b i6x7 i2x3 i",
    ),
    "constants": (lambda p: lax.cond(p, lambda: jnp.arange(40), lambda: jnp.arange(40)[::-1]), "b"),
    "constant_side": (lambda p, x: lax.cond(p, lambda y: y, lambda y: jnp.zeros_like(y), x), "b f40"),
    "mixed": (
        lambda p, x, y, z: lax.cond(
            p, lambda a, b, c: (a > 0, b + 1, c), lambda a, b, c: (c, b * b, a < b[0]), x, y, z
        ),
        "b f f9 b",
    ),
    "nested": (
        lambda p, q, x: lax.cond(
            p,
            lambda y: lax.cond(q, costly_int, lambda z: z + 1, y),
            lambda y: lax.cond(q, jnp.negative, costly_int, y),
            x,
        ),
        "b b i4",
    ),
    "nested_large": (
        lambda p, q, x, i: lax.cond(
            p,
            lambda y: lax.cond(q, lambda z: z.at[i].set(1), lambda z: z, y.at[2].add(3)),
            lambda y: lax.cond(q, lambda z: z * 2, lambda z: z.at[i].add(y[0]), y),
            x,
        ),
        "b b i40 i",
    ),
    "switch": (lambda i, x: lax.switch(i, [lambda y: y, jnp.negative, costly_int, lambda y: y * 3], x), "i i5"),
    "switch_one": (lambda i, x: lax.switch(i, [lambda y: y + 1], x), "i i5"),
    "switch_two": (lambda i, x: lax.switch(i, [lambda y: y + 1, costly_int], x), "i i"),
    "switch_large": (
        lambda i, x: lax.switch(i, [lambda y: y, lambda y: y.at[i].set(4), lambda y: y[::-1], lambda y: y + y[i]], x),
        "i i40",
    ),
    "key": (
        lambda p, k: lax.cond(
            p, lambda a: jax.random.bits(a, (40,)), lambda a: jax.random.bits(a, (8, 5)).reshape(40), k
        ),
        "b k",
    ),
    "keys_out": (lambda p, k: lax.cond(p, lambda a: jax.random.split(a)[1], lambda a: a, k), "b k"),
    "index_in_branch": (lambda p, x, i: lax.cond(p, lambda: x[i], lambda: x[jnp.clip(-i, 0, 39)]), "b f40 i"),
    "divide_in_branch": (lambda i, j: lax.cond(j != 0, lambda: costly_int(i // j), lambda: i), "i i"),
    "same_branches": (lambda p, x: lax.cond(p, costly_int, costly_int, x), "b i"),
    "slopes": (lambda p, x: slope(lambda y: lax.cond(p, lambda z: z * z * z, lambda z: z * 2, y), x), "b f40"),
    "slopes_of_one_side": (
        lambda p, x: slope(lambda y: lax.cond(p, lambda z: costly(z) * z, lambda z: z, y), x),
        "b f",
    ),
    "predicate_inside": (lambda x: lax.cond(x.sum() > 10, lambda y: y.at[0].set(0), lambda y: y, x), "i40"),
}

# ---- while


def collatz(n):
    def step(carry):
        m, count = carry
        return jnp.where(m % 2 == 0, m // 2, 3 * m + 1), count + 1

    return lax.while_loop(lambda c: (c[0] > 1) & (c[1] < 50), step, (n, jnp.int32(0)))


def nested_bounds(n, m, x):
    def outer(carry):
        i, y = carry
        y = lax.while_loop(lambda c: c[0] < m - i, lambda c: (c[0] + 1, c[1] * 3 + i), (jnp.int32(0), y))[1]
        return i + 1, y

    return lax.while_loop(lambda c: c[0] < n, outer, (jnp.int32(0), x))


def bubble(x):
    """Sorts by swapping neighbours: two scatters into the same table, reads between them."""

    def step(carry):
        t, i = carry
        a, b = t[i], t[i + 1]
        return t.at[i].set(jnp.minimum(a, b)).at[i + 1].set(jnp.maximum(a, b)), jnp.where(
            a > b, jnp.maximum(i - 1, 0), i + 1
        )

    return lax.while_loop(lambda c: c[1] < 39, step, (x, jnp.int32(0)))[0]


def loop(n, body, *init):
    """`body(i, *carry)` n times, n known only when it runs."""
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, *body(c[0], *c[1:])), (jnp.int32(0), *init))[1:]


WHILE = {
    "collatz": (collatz, "i"),
    "zero": (lambda x: lax.while_loop(lambda c: c > 100, lambda c: c + 1, x), "i"),
    "zero_large": (lambda x: lax.while_loop(lambda c: c[0] > 100, lambda c: c.at[0].set(200), x), "i40"),
    "nested_bounds": (nested_bounds, "i i i"),
    "bubble": (bubble, "i40"),
    "swap": (lambda n, x, y: loop(n, lambda i, a, b: (b, a + i), x, y), "i i i"),
    "swap_large": (lambda n, x, y: loop(n, lambda i, a, b: (b, a), x, y), "i i40 i40"),
    "rotate_large": (lambda n, x, y, z: loop(n, lambda i, a, b, c: (b, c, a), x, y, z), "i i40 i40 i40"),
    "swap_and_write": (lambda n, x, y: loop(n, lambda i, a, b: (b.at[i].add(1), a), x, y), "i i40 i40"),
    "swap_reversed": (lambda n, x, y: loop(n, lambda i, a, b: (b[::-1], a[::-1]), x, y), "i i40 i40"),
    "reverse_self": (lambda n, x: loop(n, lambda i, a: (a[::-1],), x), "i i41"),
    "transpose_self": (lambda n, x: loop(n, lambda i, a: (a.T,), x), "i i6x6"),
    "roll_self": (lambda n, x: loop(n, lambda i, a: (jnp.roll(a, 1) + a,), x), "i i40"),
    "passed_through": (lambda n, x, y: loop(n, lambda i, a, b: (a, b.at[i].set(a[i])), x, y), "i i40 i40"),
    "same_twice": (lambda n, x: loop(n, lambda i, a, b: (a.at[i].add(1), a), x, x), "i i40"),
    "carried_twice": (lambda n, x: loop(n, lambda i, a, b: (a.at[i].add(b[0]), b.at[0].add(a[i])), x, x), "i i40"),
    "both_from_one": (lambda n, x, y: loop(n, lambda i, a, b: (a.at[i].set(1), a.at[i + 1].set(2)), x, y), "i i40 i40"),
    "one_in_two": (lambda n, x, y: loop(n, lambda i, a, b: ((t := a.at[i].add(3)), t), x, y), "i i40 i40"),
    "old_and_new": (lambda n, x, y: loop(n, lambda i, a, o: (a.at[i].add(3), a), x, y), "i i40 i40"),
    "old_sum": (lambda n, x, s: loop(n, lambda i, a, t: (a.at[i].add(t), t + a.sum()), x, s), "i i40 i"),
    "sum_after": (
        lambda n, x, s: loop(n, lambda i, a, t: ((u := a.at[i].add(t)), t + u.sum() - a[i]), x, s),
        "i i40 i",
    ),
    "lazy_old": (lambda n, x: loop(n, lambda i, a: ((a * 2 + 1).at[i].set(a[i]),), x), "i i40"),
    "lazy_mix": (lambda n, x: loop(n, lambda i, a: (a.at[i].set(5) + a,), x), "i i40"),
    "update_from_self": (lambda n, x, j: loop(n, lambda i, a: (a.at[j].set(a[i] + 1),), x), "i i40 i"),
    "window_from_self": (
        lambda n, x: loop(n, lambda i, a: (lax.dynamic_update_slice(a, a[5:15] + 1, (i,)),), x),
        "i i40",
    ),
    "gathered_update": (lambda n, x, j: loop(n, lambda i, a: (a.at[j].add(a[j[::-1]] + i),), x), "i i40 i6"),
    "lane_indices": (lambda n, x, j: loop(n, lambda i, a: (a.at[(j * i) % 40].set(i),), x), "i i40 i"),
    "row_update": (lambda n, x, y: loop(n, lambda i, a: (a.at[i % 6].set(y * i),), x), "i i6x7 i7"),
    "init_needed_later": (lambda n, x: (loop(n, lambda i, a: (a.at[i].set(-1),), x)[0], x, x[3]), "i i40"),
    "reshaped_view": (lambda n, x: loop(n, lambda i, a: (a.reshape(8, 5).at[i, 0].add(1).reshape(40),), x), "i i40"),
    "two_views": (lambda n, x: loop(n, lambda i, a: (a.at[i].set(7).reshape(8, 5).T.reshape(40) + a,), x), "i i40"),
    "slice_of_old": (lambda n, x, y: loop(n, lambda i, a, s: (a.at[i].add(s[0]), a[2:22]), x, y), "i i40 i20"),
    "large_slice_of_old": (lambda n, x, y: loop(n, lambda i, a, s: (a.at[i].add(1), a[2:37]), x, y), "i i40 i35"),
    "bools": (lambda n, x: loop(n, lambda i, a: (a.at[i].set(~a[i + 1]),), x), "i b40"),
    "keys": (
        lambda n, k, s: loop(n, lambda i, key, t: (jax.random.split(key)[0], t ^ jax.random.bits(key)), k, s),
        "i k u",
    ),
    "mixed": (
        lambda n, x, y, b: loop(n, lambda i, a, t, p: (a * jnp.float32(0.5), t.at[i].add(2), p ^ (a > 1)), x, y, b),
        "i f i40 b",
    ),
    "test_reads_table": (
        lambda x: lax.while_loop(lambda t: t.sum() < 500, lambda t: t.at[t[0] % 40].add(37), x),
        "i40",
    ),
    "static_inside": (
        lambda n, x: loop(n, lambda i, a: (lax.fori_loop(0, 3, lambda j, y: y.at[j + i].add(1), a),), x),
        "i i40",
    ),
    "in_branch": (
        lambda p, n, x: lax.cond(p, lambda y: loop(n, lambda i, a: (a * 3 + i,), y)[0], lambda y: y, x),
        "b i i",
    ),
    "large_in_branch": (
        lambda p, n, x: lax.cond(p, lambda y: loop(n, lambda i, a: (a.at[i].set(i),), y)[0], lambda y: y, x),
        "b i i40",
    ),
    "ends_only_where_taken": (
        lambda x: lax.cond(x > 0, lambda y: lax.while_loop(lambda c: c % 7 != 0, lambda c: c - 1, y), lambda y: y, x),
        "i",
    ),
    "ends_only_where_taken_in_loop": (
        lambda n, x: loop(
            n,
            lambda i, a: (
                lax.cond(a > i, lambda y: lax.while_loop(lambda c: c % 5 != 0, lambda c: c - 1, y), lambda y: y + i, a),
            ),
            x,
        ),
        "i i",
    ),
    "branch_in_loop": (
        lambda n, x, p: loop(n, lambda i, a: (lax.cond(p, lambda t: t.at[i].set(1), lambda t: t.at[0].add(i), a),), x),
        "i i40 b",
    ),
    "switch_in_loop": (
        lambda n, x: loop(
            n, lambda i, a: (lax.switch(a[i] % 3, [lambda t: t, lambda t: t[::-1], lambda t: t.at[i].add(9)], a),), x
        ),
        "i i40",
    ),
}

# ---- fori and scan


def q_learning(key, table):
    """Two reads, one write of a table in a scan, with random numbers."""

    def step(carry, k):
        t, s = carry
        a = jax.random.randint(k, (), 0, 4)
        s2 = (s * 5 + a) % 10
        t = t.at[s, a].add(jnp.float32(0.25) * (jnp.float32(1.0) + t[s2].max() - t[s, a]))
        return (t, s2), t[s2].argmax()

    return lax.scan(step, (table, jnp.int32(3)), jax.random.split(key, 9))


def scan(body, init, xs=None, length=None, **options):
    return lax.scan(body, init, xs, length, **options)


SCAN = {
    "fori_static": (lambda x: lax.fori_loop(2, 9, lambda i, y: y * 3 + i, x), "i"),
    "fori_traced": (lambda a, b, x: lax.fori_loop(a, b, lambda i, y: y.at[i].add(i), x), "i i i40"),
    "fori_negative": (lambda x: lax.fori_loop(5, 2, lambda i, y: y + i, x), "i"),
    "sum": (lambda x, xs: scan(lambda c, y: (c + y, c * y), x, xs), "i i9"),
    "reverse": (lambda x, xs: scan(lambda c, y: (c + y, c * y), x, xs, reverse=True), "i i9"),
    "reverse_large": (lambda x, xs: scan(lambda c, y: (c * 3 + y, c), x, xs, reverse=True), "i i45"),
    "length_0": (lambda x, xs: scan(lambda c, y: (c + 1, c * 2), x, xs), "i i0"),
    "length_0_large": (lambda x: scan(lambda c, _: (c.at[0].add(1), c), x, length=0), "i40"),
    "length_1": (lambda x, xs: scan(lambda c, y: (c + y, c), x, xs), "f f1"),
    "no_carry": (lambda xs: scan(lambda c, y: ((), y * y), (), xs), "i9"),
    "no_xs": (lambda x: scan(lambda c, _: (c * 3 + 1, c), x, length=7), "i"),
    "no_ys": (lambda x, xs: scan(lambda c, y: (c ^ y, None), x, xs), "i i40"),
    "consts": (lambda t, x, xs: scan(lambda c, y: (c + t[y % 40], c + t[0]), x, xs), "i40 i i9"),
    "unroll": (lambda x, xs: scan(lambda c, y: (c + y, c), x, xs, unroll=4), "i i9"),
    "mixed": (
        lambda x, y, b, xs, ps: scan(
            lambda c, z: ((c[0] + z[0], c[1] ^ z[1][0], ~c[2]), (c[0] > 0, z[1])), (x, y, b), (xs, ps)
        ),
        "f u b f6 u6x2",
    ),
    "large_ys": (lambda x: scan(lambda c, _: (c + 1, c), x, length=5), "i40"),
    "large_ys_after": (lambda x: scan(lambda c, _: ((d := c.at[0].add(1)), d), x, length=5), "i40"),
    "old_as_output": (lambda x, xs: scan(lambda c, i: (c.at[i].add(1), c), x, xs), "i40 i9"),
    "old_and_new_as_output": (lambda x, xs: scan(lambda c, i: ((d := c.at[i].add(1)), (c, d)), x, xs), "i40 i9"),
    "old_read_later": (lambda x, xs: scan(lambda c, i: ((d := c.at[i].add(1)), c[i] + d[0]), x, xs), "i40 i9"),
    "old_sum_later": (lambda x, xs: scan(lambda c, i: (c.at[i].set(7), c.sum()), x, xs), "i40 i9"),
    "two_updates": (lambda x, xs: scan(lambda c, i: (c.at[i].add(1), c.at[i].set(0)), x, xs), "i40 i9"),
    "two_tables": (
        lambda x, y, xs: scan(lambda c, i: ((c[1].at[i].add(c[0][i]), c[0].at[i].set(1)), c[1][i]), (x, y), xs),
        "i40 i40 i9",
    ),
    "one_table_twice": (
        lambda x, xs: scan(lambda c, i: ((c[0].at[i].add(1), c[1].at[i].add(c[0][i])), ()), (x, x), xs),
        "i40 i9",
    ),
    "return_one_twice": (
        lambda x, xs: scan(lambda c, i: ((d := c[0].at[i].add(1), d)[0:1] * 2, ()), (x, x), xs),
        "i40 i9",
    ),
    "swap_large": (lambda x, y: scan(lambda c, _: ((c[1], c[0]), c[0][3]), (x, y), length=5), "i40 i40"),
    "rotate_large": (
        lambda x, y, z: scan(lambda c, i: ((c[1], c[2].at[i].add(1), c[0]), ()), (x, y, z), jnp.arange(7)),
        "i40 i40 i40",
    ),
    "ring_buffer": (
        lambda x, xs: scan(lambda c, y: ((c[0].at[c[1] % 5].set(y), c[1] + 1), c[0].sum(0)), (x, jnp.int32(0)), xs),
        "i5x9 i7x9",
    ),
    "xs_rows": (lambda x, xs: scan(lambda c, y: (c + y, c * y), x, xs), "i9 i6x9"),
    "xs_large_rows": (lambda x, xs: scan(lambda c, y: (c + y, c[::-1] * y), x, xs), "i40 i6x40"),
    "xs_updated": (lambda xs: scan(lambda c, y: (c + y.sum(), y.at[c % 40].set(-1)), jnp.int32(0), xs), "i4x40"),
    "xs_is_carry_too": (lambda x: scan(lambda c, y: (c.at[y % 40].add(1), c[y % 40]), x, x), "i40"),
    "xs_keys": (lambda k: scan(lambda c, y: (c + 1, jax.random.bits(y)), jnp.int32(0), k), "k9"),
    "keys_out": (lambda k: scan(lambda c, _: tuple(jax.random.split(c)), k, length=5), "k"),
    "bool_ys": (lambda x, xs: scan(lambda c, y: (c ^ y, c), x, xs), "b b50"),
    "nested": (lambda x, xs: scan(lambda c, y: scan(lambda d, z: (d * 3 + z, d), c, y), x, xs), "i i4x5"),
    "nested_table": (
        lambda x, xs: scan(lambda c, y: scan(lambda d, i: (d.at[i].add(d[i + 1]), d[i]), c.at[0].add(1), y), x, xs),
        "i40 i4x5",
    ),
    "nested_old": (
        lambda x, xs: scan(lambda c, y: (scan(lambda d, i: (d.at[i].add(1), ()), c, y)[0] + c, c[0]), x, xs),
        "i40 i4x5",
    ),
    "while_inside": (
        lambda x, xs: scan(lambda c, n: (loop(n, lambda i, a: (a.at[i].add(n),), c)[0], c[1]), x, xs),
        "i40 i5",
    ),
    "cond_inside": (
        lambda x, xs: scan(lambda c, n: (lax.cond(n > 2, lambda t: t.at[n].set(0), lambda t: t, c), c[0]), x, xs),
        "i40 i9",
    ),
    "q_learning": (q_learning, "k f10x4"),
    "in_cond": (
        lambda p, x, xs: lax.cond(
            p, lambda t: scan(lambda c, i: (c.at[i].add(1), c[i]), t, xs), lambda t: (t, xs * 2), x
        ),
        "b i40 i9",
    ),
    "in_while": (
        lambda n, x, xs: loop(n, lambda i, t: (scan(lambda c, j: (c.at[j].add(i), ()), t, xs)[0],), x),
        "i i40 i3",
    ),
    "associative": (lambda x: lax.associative_scan(jnp.add, x), "i40"),
    "map_large": (lambda x: lax.map(lambda y: y.at[0].set(y.sum()), x), "i4x40"),
}

# ---- updates one after the other, without loops

ALIASES = {
    "old_and_new": (lambda x, i: (x.at[i].set(1), x), "i40 i"),
    "old_later": (lambda x, i: (x.at[i].set(1), x.sum()), "i40 i"),
    "two_from_one": (lambda x, i: (x.at[i].set(1), x.at[i].add(2)), "i40 i"),
    "chain": (lambda x, i: x.at[i].set(1).at[i + 1].add(2).at[i].mul(3), "i40 i"),
    "chain_read_between": (lambda x, i: ((y := x.at[i].set(1)), (z := y.at[i].add(x[i] + y[0])), z[i]), "i40 i"),
    "lazy_user_later": (lambda x, i: ((y := x * 2), y.at[i].set(1), y + 1), "i40 i"),
    "lazy_old": (lambda x, i: ((y := x + 1), x.at[i].set(0), y * 2), "i40 i"),
    "lazy_old_of_made": (lambda x, i: ((t := jnp.cumsum(x)), (y := t + 1), t.at[i].set(0), y * 2), "i40 i"),
    "lazy_chain": (lambda x, i: ((t := jnp.cumsum(x)), (y := t[::-1] + 1), t.at[i].set(0) + y), "i40 i"),
    "view_of_old": (lambda x, i: ((t := jnp.cumsum(x)), (v := t.reshape(8, 5).T), t.at[i].set(0), v), "i40 i"),
    "update_of_view": (lambda x, i: ((t := jnp.cumsum(x)), t.reshape(8, 5).at[i, 1].set(0), t[3]), "i40 i"),
    "row_into_other_row": (lambda x, i, j: x.at[i].set(x[j]), "i9x5 i i"),
    "big_row_into_other_row": (lambda x, i, j: x.at[i].set(x[j]), "i3x40 i i"),
    "rows_swapped": (lambda x, i, j: x.at[jnp.stack([i, j])].set(x[jnp.stack([j, i])]), "i3x40 i i"),
    "shift": (lambda x: x.at[1:].set(x[:-1]), "i45"),
    "shift_made": (lambda x: ((t := jnp.cumsum(x)), t.at[1:].set(t[:-1]))[1], "i45"),
    "shift_back": (lambda x: ((t := jnp.cumsum(x)), t.at[:-1].set(t[1:] + 1))[1], "i45"),
    "self_indices": (lambda x: ((t := jnp.cumsum(x) % 40), t.at[t].add(t))[1], "i40"),
    "masked_update": (lambda p, x, i: jnp.where(p, x.at[i].add(1), x), "b i40 i"),
    "update_in_branch_of_update": (
        lambda p, x, i: lax.cond(p, lambda t: t.at[i].add(1), lambda t: t, x.at[i].set(9)),
        "b i40 i",
    ),
    "returned_three_times": (lambda x, i: ((y := x.at[i].add(1)), y, y), "i40 i"),
    "input_returned": (lambda x: (x, x), "i40"),
}

# ---- any_lane


def added(p, x, y):
    """A sum that changes nothing where it is not needed."""
    return lax.cond(any_lane(p), lambda: x + jnp.where(p, costly(y), 0.0), lambda: x)


def added_until(n, x):
    """Some of the lanes that still run need it."""

    def body(carry):
        i, y = carry
        return i + 1, added(i % 3 == 1, y, y + 1.0)

    return lax.while_loop(lambda carry: carry[0] < n % 7, body, (jnp.int32(0), x))[1]


ANY_LANE = {
    "itself": (lambda p, q: (p, jnp.where(any_lane(p), q, q)), "b b"),
    "added": (added, "b f f"),
    "added_large": (lambda p, x, y: added(p, x, y), "b f40 f40"),
    "both": (lambda p, q, x, y: added(q, added(p, x, y), y), "b b f5 f5"),
    "within": (lambda p, q, x: lax.cond(p, lambda y: added(q, y, y), lambda y: -y, x), "b b f"),
    "until": (added_until, "i f"),
    "each": (lambda p, x: jax.vmap(added)(p, x, x), "b6 f6"),
}

FAMILIES = {"cond": COND, "while": WHILE, "scan": SCAN, "alias": ALIASES, "any_lane": ANY_LANE}
PROGRAMS = {f"{family}.{name}": program for family, programs in FAMILIES.items() for name, program in programs.items()}
