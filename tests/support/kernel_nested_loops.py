"""Programs with loops in loops, for kernels against XLA, as in `kernel_loops`.

An inner loop overwrites the buffer that the outer one carries where nobody needs what is in it. Often somebody does.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from kernel_loops import loop


def steps(n, body, *init):
    """`body(j, *carry)` n times, n known beforehand."""
    return lax.scan(lambda c, j: (body(j, *c), None), init, jnp.arange(n, dtype=jnp.int32))[0]


def blocks(count, length, step, x):
    """An outer loop over blocks, each a loop of its own, the last one shorter; the table goes through both."""

    def block(i, table):
        begin = i * length
        return loop(jnp.minimum(length, count - begin), lambda j, t: (step(begin + j, t),), table)

    return loop((count + length - 1) // length, block, x)


def until_grown(n, x):
    """The inner test reads the table that the inner loop begins with."""

    def inner(i, a):
        def goes_on(carry):
            return (carry[1] < 3) & (a[i] < 9)

        return lax.while_loop(goes_on, lambda c: (c[0].at[i].add(5), c[1] + 1), (a, i % 2))[:1]

    return loop(n, inner, x)


def with_views(n, x):
    """The inner loop begins with two views of one table."""

    def inner(j, b, c):
        return b.at[j, 0].add(c[0, j]), c.at[0, j].add(1)

    def body(i, a):
        b, c = steps(3, inner, a.reshape(8, 5), a.reshape(8, 5).T)
        return (b.reshape(40) + c.reshape(40),)

    return loop(n, body, x)


def unchanged_beside(n, x):
    """The inner loop's test reads what the loop carries unchanged; what it changes begins as the same table."""

    def goes_on(carry):
        j, _, c = carry
        return (j < 3) & (c[0] < 9)

    def body(i, a):
        return lax.while_loop(goes_on, lambda c: (c[0] + 1, c[1].at[0].add(5), c[2]), (i % 2, a, a))[1:2]

    return loop(n, body, x)


def in_branches(p, n, x):
    """Loops in both branches of a loop's body, and a branch in one of them."""

    def inner(j, a):
        return (lax.cond(p, lambda t: t.at[j].add(1), lambda t: t[::-1], a),)

    def other(j, a):
        return (a.at[j + 1].set(a[j]),)

    def body(i, a):
        return lax.cond(i % 2 == 0, lambda t: steps(3, inner, t), lambda t: loop(i, other, t), a)

    return loop(n, body, x)


FAMILY = {
    "blocks": (lambda n, x: blocks(n, 4, lambda i, t: t.at[i % 40].add(i).at[0].max(t[i % 7]), x), "i i40"),
    "blocks_of_floats": (lambda n, x: blocks(n, 3, lambda i, t: t.at[i].mul(jnp.float32(0.5)), x), "i f40"),
    "blocks_of_bools": (lambda n, x: blocks(n, 3, lambda i, t: t.at[i].set(~t[i + 1]), x), "i b40"),
    "blocks_of_bytes": (lambda n, x: blocks(n, 3, lambda i, t: t.at[i].add(t[i + 1]), x), "i c40"),
    "blocks_of_shorts": (lambda n, x: blocks(n, 3, lambda i, t: t.at[i].add(t[i + 1]), x), "i H40"),
    "three_deep": (
        lambda n, x: loop(n, lambda i, a: steps(2, lambda j, b: loop(i, lambda k, c: (c.at[k + j].add(i),), b), a), x),
        "i i40",
    ),
    "none_in_some_lanes": (
        lambda n, m, x: loop(n, lambda i, a: loop(m - i, lambda j, b: (b.at[j].add(1),), a), x),
        "i i i40",
    ),
    "moved": (lambda n, x: loop(n, lambda i, a: steps(3, lambda j, b: (b[::-1] + j,), a), x), "i i40"),
    "moved_until": (
        lambda n, m, x: loop(n, lambda i, a: loop(m % 4, lambda j, b: (b[::-1] + j,), a), x),
        "i i i40",
    ),
    "made_anew": (lambda n, x: loop(n, lambda i, a: steps(2, lambda j, b: (b.at[j].add(i),), a * 2 + 1), x), "i i40"),
    "made_anew_and_kept": (
        lambda n, x: loop(
            n, lambda i, a: ((b := a * 2 + 1), (steps(2, lambda j, c: (c.at[j].add(i),), b)[0] + b,))[1], x
        ),
        "i i40",
    ),
    "needed_after": (
        lambda n, x: loop(n, lambda i, a: (steps(3, lambda j, b: (b.at[j].add(1),), a)[0].at[i].set(a[1]),), x),
        "i i40",
    ),
    "lazily_needed_after": (
        lambda n, x: loop(
            n, lambda i, a: ((old := a[::-1] * 2), (steps(3, lambda j, b: (b.at[j].add(1),), a)[0] + old,))[1], x
        ),
        "i i40",
    ),
    "read_and_written": (
        lambda n, x: loop(n, lambda i, a: steps(3, lambda j, b: (b.at[j].add(a[j + 1] + b[j + 1]),), a), x),
        "i i40",
    ),
    "rows_of_what_is_written": (
        lambda n, x: loop(n, lambda i, a: (lax.scan(lambda b, y: (b.at[y % 40].add(1), None), a, a)[0],), x),
        "i i40",
    ),
    "unchanged_beside": (unchanged_beside, "i i40"),
    "begun_twice": (
        lambda n, x: loop(
            n, lambda i, a: (sum(steps(3, lambda j, b, c: (b.at[j].add(c[0]), c.at[0].add(b[j])), a, a)),), x
        ),
        "i i40",
    ),
    "begun_with_views": (with_views, "i i40"),
    "swapped_inside": (
        lambda n, x, y: loop(n, lambda i, a, b: steps(3, lambda j, c, d: (d.at[j].add(1), c), a, b), x, y),
        "i i40 i40",
    ),
    "swapped_outside": (
        lambda n, x, y: loop(
            n, lambda i, a, b: steps(3, lambda j, c, d: (c.at[j].add(1), d.at[j].add(c[j])), b, a), x, y
        ),
        "i i40 i40",
    ),
    "swapped_both": (
        lambda n, m, x, y: loop(n, lambda i, a, b: loop(m, lambda j, c, d: (d, c.at[j].add(d[0])), b, a)[::-1], x, y),
        "i i i40 i40",
    ),
    "another_instead": (
        lambda n, x, y: loop(
            n, lambda i, a, b: ((c := steps(2, lambda j, t: (t.at[j].add(i),), a)[0]), (b, c.at[i].set(b[0])))[1], x, y
        ),
        "i i40 i40",
    ),
    "two_in_turn": (
        lambda n, x: loop(
            n,
            lambda i, a: steps(2, lambda j, b: (b.at[j].set(b[j + 2]),), *loop(i, lambda j, b: (b.at[j].add(3),), a)),
            x,
        ),
        "i i40",
    ),
    "two_of_one": (
        lambda n, x: loop(
            n,
            lambda i, a: (
                steps(2, lambda j, b: (b.at[j].add(1),), a)[0] + steps(3, lambda j, b: (b.at[j + 1].add(2),), a)[0],
            ),
            x,
        ),
        "i i40",
    ),
    "old_rows_stacked": (
        lambda n, x: loop(
            n,
            lambda i, a: (lax.scan(lambda b, j: (b.at[j].add(1), b), a, jnp.arange(3))[1].sum(0, dtype=jnp.int32),),
            x,
        ),
        "i i40",
    ),
    "test_reads_what_came": (until_grown, "i i40"),
    "in_branches": (in_branches, "b i i40"),
    "vmapped": (
        lambda n, x: jax.vmap(lambda m, row: blocks(m, 2, lambda i, t: t.at[i].add(i + 1), row))(n, x),
        "i3 i3x40",
    ),
    "beside_small": (
        lambda n, x, y: loop(n, lambda i, a, s: loop(s % 3, lambda j, b, t: (b.at[j].add(t), t + b[j]), a, s), x, y),
        "i i40 i",
    ),
}

NESTED = {f"nested.{name}": program for name, program in FAMILY.items()}
