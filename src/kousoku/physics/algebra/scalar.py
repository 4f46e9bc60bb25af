"""Numbers of which some are known as a program is traced: arithmetic that leaves out what zeros and ones make needless.

A rigid body's equations are full of zeros: an axis along y, a body in its parent's plane, an offset that is not there.
Written in arrays, each is multiplied and added; written in these numbers, they are gone before JAX sees them, and a
planar robot costs a fifth of a spatial one. A known zero times anything is zero here, infinities and NaN too.

Functions have the names of NumPy's that they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Scalar: TypeAlias = "float | jax.Array"
MINVAL = 1e-15
"""MuJoCo's mjMINVAL."""
PARTIAL_SUMS = 4


class Num:
    """A number: a float that is known, or a scalar of JAX's. It takes part in arithmetic with floats and other `Num`s.

    Attributes:
        value: a Python float, or a JAX scalar.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def known(self) -> bool:
        """Whether it is a float."""
        return isinstance(self.value, float)

    def is_known(self, value: float) -> bool:
        """Returns whether it is known to be `value`."""
        return self.known and self.value == value

    def __add__(self, other: Num | float) -> Num:
        other = num(other)
        if self.known and other.known:
            return Num(self.value + other.value)
        if other.is_known(0.0):
            return self
        return other if self.is_known(0.0) else Num(_bind(lax.add_p, self, other))

    def __sub__(self, other: Num | float) -> Num:
        other = num(other)
        if self.known and other.known:
            return Num(self.value - other.value)
        if other.is_known(0.0):
            return self
        return -other if self.is_known(0.0) else Num(_bind(lax.sub_p, self, other))

    def __mul__(self, other: Num | float) -> Num:
        other = num(other)
        if self.known and other.known:
            return Num(self.value * other.value)
        for a, b in ((self, other), (other, self)):
            if a.known and a.value in (0.0, 1.0, -1.0):
                return ZERO if a.value == 0.0 else b if a.value == 1.0 else -b
        return Num(_bind(lax.mul_p, self, other, out_dtype=None))

    def __truediv__(self, other: Num | float) -> Num:
        other = num(other)
        if self.known and other.known:
            return Num(self.value / other.value)
        if other.known:
            return self * (1.0 / other.value)
        return ZERO if self.is_known(0.0) else Num(_bind(lax.div_p, self, other))

    def __neg__(self) -> Num:
        return Num(-self.value) if self.known else Num(lax.neg_p.bind(self.value))

    def __radd__(self, other: float) -> Num:
        return num(other) + self

    def __rsub__(self, other: float) -> Num:
        return num(other) - self

    def __rmul__(self, other: float) -> Num:
        return self * other

    def __rtruediv__(self, other: float) -> Num:
        return num(other) / self

    def __lt__(self, other: Num | float) -> Bool:
        return _compare(lax.lt_p, self, num(other), lambda a, b: a < b)

    def __gt__(self, other: Num | float) -> Bool:
        return _compare(lax.gt_p, self, num(other), lambda a, b: a > b)

    def __le__(self, other: Num | float) -> Bool:
        return _compare(lax.le_p, self, num(other), lambda a, b: a <= b)

    def __ge__(self, other: Num | float) -> Bool:
        return _compare(lax.ge_p, self, num(other), lambda a, b: a >= b)

    def __repr__(self) -> str:
        return f"Num({self.value})"


class Condition:
    """A truth that is not known as a program is traced, and the dtype of the numbers that it was found from.

    Known numbers between which it decides take this dtype, so that no other number need be at hand to tell it.

    Attributes:
        value: a scalar of JAX's, bool.
        dtype: the dtype of the numbers.
    """

    __slots__ = ("dtype", "value")

    def __init__(self, value: Any, dtype: Any) -> None:
        self.value, self.dtype = value, dtype

    def __bool__(self) -> bool:
        return bool(self.value)


Bool: TypeAlias = bool | Condition


def num(value: Any) -> Num:
    """Returns a float, a NumPy number, a scalar of JAX's or a `Num` as a `Num`."""
    if isinstance(value, Num):
        return value
    if isinstance(value, int | float | np.floating | np.integer):
        return Num(float(value))
    return Num(value)


ZERO, ONE = Num(0.0), Num(1.0)


def nums(array: Any) -> list[Num]:
    """Returns the elements of a vector [n]: known ones if it is NumPy's, scalars of JAX's otherwise."""
    if isinstance(array, np.ndarray):
        return [Num(float(x)) for x in array]
    return [Num(array[i]) for i in range(array.shape[0])]


def row(array: Any, i: int) -> list[Num]:
    """Returns row i of an array [n, m] of a model's numbers, known or traced."""
    return nums(array[i])


def to_array(values: Sequence[Num], dtype: Any) -> jax.Array:
    """Returns the numbers as one vector [n]; a constant if all are known."""
    if all(v.known for v in values):
        return jnp.asarray(np.array([v.value for v in values], dtype))
    return jnp.stack([jnp.asarray(v.value, dtype) for v in values])


def total(values: Iterable[Num]) -> Num:
    """Returns the sum; 0 of none."""
    result = ZERO
    for value in values:
        result = result + value
    return result


def dot(a: Sequence[Num], b: Sequence[Num]) -> Num:
    """Returns the inner product.

    Of more than eight numbers, as four sums side by side, so that an addition seldom waits for another.
    """
    products = [x * y for x, y in zip(a, b, strict=True)]
    return (
        total(total(products[i::PARTIAL_SUMS]) for i in range(PARTIAL_SUMS))
        if len(products) > 2 * PARTIAL_SUMS
        else total(products)
    )


def elementwise_add(a: Sequence[Num], b: Sequence[Num]) -> list[Num]:
    """Returns a + b [n]."""
    return [x + y for x, y in zip(a, b, strict=True)]


def elementwise_subtract(a: Sequence[Num], b: Sequence[Num]) -> list[Num]:
    """Returns a - b [n]."""
    return [x - y for x, y in zip(a, b, strict=True)]


def where(condition: Bool, if_true: Num | float, if_false: Num | float) -> Num:
    """Returns `if_true` where the condition holds, else `if_false`."""
    a, b = num(if_true), num(if_false)
    if isinstance(condition, bool):
        return a if condition else b
    if a is b or (a.known and b.known and a.value == b.value):
        return a
    cases = (np.asarray(x.value, condition.dtype)[()] if x.known else x.value for x in (b, a))
    return Num(lax.select_n_p.bind(condition.value, *cases))


def logical_and(a: Bool, b: Bool) -> Bool:
    """Returns whether both a and b hold."""
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return Condition(lax.and_p.bind(a.value, b.value), a.dtype)


def logical_not(a: Bool) -> Bool:
    """Returns whether a does not hold."""
    return (not a) if isinstance(a, bool) else Condition(lax.not_p.bind(a.value), a.dtype)


def logical_any(truths: Iterable[Bool]) -> Bool:
    """Returns whether any of the truths holds."""
    none: Bool = True
    for truth in truths:
        none = logical_and(none, logical_not(truth))
    return logical_not(none)


def maximum(a: Num | float, b: Num | float) -> Num:
    """Returns the larger number."""
    a, b = num(a), num(b)
    return Num(max(a.value, b.value)) if a.known and b.known else Num(_bind(lax.max_p, a, b))


def minimum(a: Num | float, b: Num | float) -> Num:
    """Returns the smaller number."""
    a, b = num(a), num(b)
    return Num(min(a.value, b.value)) if a.known and b.known else Num(_bind(lax.min_p, a, b))


def clip(x: Num, low: Num | float, high: Num | float) -> Num:
    """Returns x, but at least `low` and at most `high`."""
    return minimum(maximum(x, low), high)


def _function(known: Callable[[float], float], traced: Callable[[Any], Any]) -> Callable[[Num], Num]:
    def function(x: Num) -> Num:
        return Num(float(known(x.value))) if x.known else Num(traced(x.value))

    return function


sqrt = _function(math.sqrt, lax.sqrt)
sin = _function(math.sin, lax.sin)
cos = _function(math.cos, lax.cos)
exp = _function(math.exp, lax.exp)
absolute = _function(abs, lax.abs)
floor = _function(math.floor, lax.floor)


def power(x: Num, exponent: Num) -> Num:
    """Returns x ** exponent for x >= 0; whole exponents up to 8 as products, if they are known."""
    if not exponent.known:
        return Num(_bind(lax.pow_p, x, exponent))
    if x.known:
        return Num(x.value**exponent.value)
    whole = int(exponent.value)
    if exponent.value == whole and 0 <= whole <= 8:
        result = ONE
        for _ in range(whole):
            result = result * x
        return result
    return Num(lax.pow(x.value, np.asarray(exponent.value, x.value.dtype)[()]))


def atan2(y: Num, x: Num) -> Num:
    """Returns the angle of the point (x, y), radians in [-pi, pi]."""
    return Num(math.atan2(y.value, x.value)) if x.known and y.known else Num(_bind(lax.atan2_p, y, x))


def stop_gradient(x: Num) -> Num:
    """Returns x, which derivatives take for a constant."""
    return x if x.known else Num(lax.stop_gradient(x.value))


def _cast_like(x: Num, like: Num) -> Any:
    """Returns the value of x, in the dtype of `like` if x is known."""
    return np.asarray(x.value, like.value.dtype)[()] if x.known else x.value


def _bind(primitive: Any, a: Num, b: Num, **params: Any) -> Any:
    """Binds the primitive itself: JAX's functions would spend most of the tracing time on checking."""
    return primitive.bind(_cast_like(a, b), _cast_like(b, a), **params)


def _compare(primitive: Any, a: Num, b: Num, known: Callable[[float, float], bool]) -> Bool:
    if a.known and b.known:
        return known(a.value, b.value)
    return Condition(_bind(primitive, a, b), (b if a.known else a).value.dtype)
