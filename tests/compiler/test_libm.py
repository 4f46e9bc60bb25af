"""Elementary functions of the kernel against references with more digits, at every width and over special values."""

from __future__ import annotations

import math
import os
import re
from functools import partial

import mpmath
import numpy as np
import pytest
from libm_cases import CASES
from libm_harness import C_TYPES, compiled, source, ulps

from kousoku.compiler.codegen.operand import float_constant
from kousoku.compiler.libm.bounds import ULP_BOUNDS
from kousoku.compiler.libm.inverse_trigonometric import atan2
from kousoku.compiler.libm.power import integer_pow, pow

INF, NAN = math.inf, math.nan
INTRINSICS = {"llvm.fma", "llvm.sqrt", "llvm.fabs", "llvm.copysign", "llvm.rint", "llvm.ctlz"}
ODD = ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "erf", "erf_inv")
EVEN = ("cos", "cosh")
SHIFTED_ULP = ("lgamma", "digamma")
SLOW_REFERENCE = {"erf_inv": 101}
STRIDE = 1 if os.environ.get("KOUSOKU_EXHAUSTIVE") else 17


def float32s(first: int, stop: int, step: int) -> np.ndarray:
    return np.arange(first, stop, step, dtype=np.uint64).astype(np.uint32).view(np.float32)


def errors32(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        reference = CASES[name].reference(x.astype(np.float64))
    if name == "digamma":
        reference = np.where(x == 0, NAN, reference)
    return ulps(compiled(CASES[name].make, "float", 16)(x), reference)


def worst(name: str, x: np.ndarray, errors: np.ndarray) -> str:
    i = int(np.argmax(errors))
    return f"{name}({x[i]!r}): {errors[i]} ulp"


@pytest.mark.parametrize("name", CASES)
def test_float32_is_within_its_bound(name):
    x = float32s(0, 2**32, 4001)
    errors = errors32(name, x)
    assert errors.max() <= ULP_BOUNDS[name]["float"], worst(name, x, errors)


@pytest.mark.full("larger")
@pytest.mark.parametrize("name", CASES)
def test_float32_is_within_its_bound_nearly_everywhere(name):
    for first in range(0, 2**32, 2**24):
        x = float32s(first, first + 2**24, STRIDE * SLOW_REFERENCE.get(name, 1))
        errors = errors32(name, x)
        assert errors.max() <= ULP_BOUNDS[name]["float"], worst(name, x, errors)


def samples64(name: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    case = CASES[name]
    x = [rng.uniform(case.lo, case.hi, count), rng.normal(0, 0.3, count // 4)]
    x.append(rng.integers(0, 2**64, count // 4, dtype=np.uint64).view(np.float64))
    if name in ("asin", "acos", "atanh", "erf_inv"):
        x.append(1 - np.exp2(rng.uniform(-53, -1, count // 4)))
    x = np.concatenate(x)
    return x[(x >= case.lo) & (x <= case.hi)] if name in ("erfc", "erf_inv", *SHIFTED_ULP) else x


def exact_error(name: str, x: float, got: float) -> float:
    """The error in ulp of float64; NaN where the exact result is no real number or beyond the type."""
    value = CASES[name].exact(mpmath.mpf(x))
    if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value) or abs(value) >= mpmath.mpf(2) ** 1024:
        return NAN
    size = max(abs(value), 1) if name in SHIFTED_ULP else abs(value)
    exponent = int(mpmath.floor(mpmath.log(size, 2))) if size else -1022
    return float(abs(mpmath.mpf(got) - value) / mpmath.mpf(2) ** (max(exponent, -1022) - 52))


@pytest.mark.parametrize("name", CASES)
def test_float64_is_within_its_bound(name):
    x = samples64(name, 400)
    got = compiled(CASES[name].make, "double", 8)(x)
    with mpmath.workprec(1200 if name in ("sin", "cos", "tan") else 160):
        domain = [
            (a, g) for a, g in zip(x.tolist(), got.tolist(), strict=True) if math.isfinite(a) and not in_pole(name, a)
        ]
        errors = np.array([exact_error(name, a, g) for a, g in domain])
    assert np.nanmax(errors) <= ULP_BOUNDS[name]["double"], domain[int(np.nanargmax(errors))]
    assert np.isfinite(errors).sum() > 300


def in_pole(name: str, x: float) -> bool:
    """Where mpmath has no value, cannot represent it, or takes for ever."""
    if name in ("exp", "exp2", "expm1", "sinh", "cosh", "logistic", "tanh", "erf"):
        return abs(x) > 1100
    return name in ("log", "log1p", "sqrt", "rsqrt") and x <= (-1 if name == "log1p" else 0)


@pytest.mark.by_default("*-float")
@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize("name", CASES)
def test_all_widths_give_the_same_bits(name, type):
    rng = np.random.default_rng(1)
    dtype = C_TYPES[type]
    x = np.concatenate([rng.normal(0, 3, 500), np.exp2(rng.uniform(-126, 126, 500)), [0, -0.0, INF, -INF, NAN, 1, -1]])
    wide = compiled(CASES[name].make, type, 16)(x.astype(dtype))
    for lanes in (1, 8):
        np.testing.assert_array_equal(compiled(CASES[name].make, type, lanes)(x.astype(dtype)), wide)
    narrow = compiled(CASES[name].make, type, 8, 1, "narrow")(x.astype(dtype))
    np.testing.assert_array_equal(narrow[::8], wide[::8])


@pytest.mark.parametrize("name", CASES)
def test_a_constant_is_an_operand_too(name):
    value = 1e6 if name in ("sin", "cos", "tan") else 0.7 if name != "acosh" else 1.7
    constant = compiled(lambda b, x: CASES[name].make(b, float_constant(value, x.type)), "float", 8)
    wide = compiled(CASES[name].make, "float", 8)
    np.testing.assert_array_equal(constant(np.zeros(8, np.float32)), wide(np.full(8, value, np.float32)))


@pytest.mark.parametrize("name", [*CASES, "pow", "atan2"])
def test_nothing_is_called(name):
    make, arity = (CASES[name].make, 1) if name in CASES else ({"pow": pow, "atan2": atan2}[name], 2)
    declared = re.findall(r"declare [^@]*@(llvm\.\w+|[^.(]+)", source(make, "float", 16, arity))
    assert set(declared) <= INTRINSICS
    assembly = compiled(make, "float", 16, arity).assembly
    targets = re.findall(r"\t(?:callq?|bl|movabsq)\s+\$?([A-Za-z_][\w.]*)", assembly)
    assert all(target.startswith("kousoku.") for target in targets)
    assert bool(targets) == (name in ("sin", "cos", "tan"))


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize("name", [*ODD, *EVEN])
def test_symmetry_to_the_bit(name, type):
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [rng.normal(0, 2, 1000), rng.normal(0, 1e7, 1000), np.exp2(rng.uniform(-140, 20, 1000)), [0, INF]]
    )
    x = x.astype(C_TYPES[type])
    make = compiled(CASES[name].make, type, 16)
    right, left = make(x), make(-x)
    expected = right if name in EVEN else -right
    np.testing.assert_array_equal(left, expected)
    regular = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(left[regular]), np.signbit(expected[regular]))


SPECIAL = {
    "exp": [(0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (-1e30, 0), (1e30, INF)],
    "exp2": [(0, 1), (INF, INF), (-INF, 0), (10, 1024), (-3, 0.125), (127, 2.0**127), (-140, 2.0**-140)],
    "expm1": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (1e-40, 1e-40)],
    "logistic": [(0, 0.5), (INF, 1), (-INF, 0)],
    "log": [(1, 0), (0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN), (-INF, NAN), (2.0**-140, -140 * math.log(2))],
    "log1p": [(0, 0), (-0.0, -0.0), (-1, -INF), (INF, INF), (-2, NAN), (-INF, NAN), (1e-40, 1e-40)],
    "sin": [(0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-40, 1e-40)],
    "cos": [(0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN)],
    "tan": [(0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-40, 1e-40)],
    "asin": [(0, 0), (-0.0, -0.0), (1, math.pi / 2), (-1, -math.pi / 2), (1.5, NAN), (-INF, NAN), (1e-40, 1e-40)],
    "acos": [(1, 0), (-1, math.pi), (0, math.pi / 2), (1.5, NAN), (-1.5, NAN), (INF, NAN)],
    "atan": [(0, 0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (1e-40, 1e-40)],
    "sinh": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e30, INF), (1e-40, 1e-40)],
    "cosh": [(0, 1), (INF, INF), (-INF, INF)],
    "tanh": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (1e-40, 1e-40)],
    "asinh": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e-40, 1e-40)],
    "acosh": [(1, 0), (INF, INF), (0.5, NAN), (-1, NAN), (-5, NAN), (-INF, NAN)],
    "atanh": [(0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (-1.5, NAN), (INF, NAN), (1e-40, 1e-40)],
    "sqrt": [(0, 0), (-0.0, -0.0), (4, 2), (INF, INF), (-1, NAN)],
    "rsqrt": [(0, INF), (-0.0, -INF), (4, 0.5), (INF, 0), (-1, NAN)],
    "cbrt": [(0, 0), (-0.0, -0.0), (27, 3), (-8, -2), (INF, INF), (-INF, -INF)],
    "erf": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1)],
    "erfc": [(0, 1), (INF, 0), (-INF, 2), (40, 0)],
    "erf_inv": [(0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (INF, NAN)],
    "lgamma": [(1, 0), (2, 0), (0, INF), (-0.0, INF), (-3, INF), (INF, INF), (-INF, INF), (4, math.log(6))],
    "digamma": [(INF, INF), (0, NAN), (-2, NAN), (1, -0.5772156649015329)],
}


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize("name", CASES)
def test_special_values(name, type):
    dtype = C_TYPES[type]
    x, expected = np.array([*SPECIAL[name], (NAN, NAN)], dtype).T.copy()
    for lanes in (1, 16):
        got = compiled(CASES[name].make, type, lanes)(x)
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=0)
        zero = expected == 0
        np.testing.assert_array_equal(got[zero], expected[zero])
        regular = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[regular]), np.signbit(expected[regular]))


EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1e-40, -1e-40, 1e30, -1e30, INF, -INF, NAN]


def c_pow(x: float, y: float) -> float:
    """C's pow: Python's, with results in place of exceptions."""
    try:
        value = math.pow(x, y)
    except OverflowError:
        value = -INF if x < 0 and y % 2 == 1 else INF
    except ValueError:
        odd = y == math.floor(y) and y % 2 == 1
        value = (math.copysign(INF, x) if odd else INF) if x == 0 else NAN
    return value


@pytest.mark.parametrize("type", ["float", "double"])
@pytest.mark.parametrize(("make", "reference"), [(pow, c_pow), (atan2, math.atan2)])
def test_two_arguments_at_the_edges(make, reference, type):
    dtype = C_TYPES[type]
    x, y = (a.ravel() for a in np.meshgrid(np.array(EDGES, dtype), np.array(EDGES, dtype)))
    with np.errstate(all="ignore"):
        expected = np.array([reference(float(a), float(b)) for a, b in zip(x, y, strict=True)]).astype(dtype)
    for lanes in (1, 8, 16):
        got = compiled(make, type, lanes, 2)(x, y)
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=0)
        regular = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[regular]), np.signbit(expected[regular]))


def test_pow_of_float32_is_within_its_bound():
    rng = np.random.default_rng(4)
    x = np.concatenate([float32s(0, 2**31, 9973), np.float32(1) + rng.normal(0, 1e-3, 200000).astype(np.float32)])
    y = np.concatenate([rng.normal(0, 5, x.size - 200000), rng.normal(0, 3e4, 200000)]).astype(np.float32)
    with np.errstate(all="ignore"):
        reference = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(compiled(pow, "float", 16, 2)(x, y), reference).max() <= ULP_BOUNDS["pow"]["float"]


@pytest.mark.parametrize("type", ["float", "double"])
def test_pow_of_integers_is_exact(type):
    x, y = (a.ravel() for a in np.meshgrid(np.arange(-40, 41), np.arange(0, 24)))
    exact = [int(a) ** int(b) for a, b in zip(x, y, strict=True)]
    fits = np.array([abs(e) < (2**24 if type == "float" else 2**53) for e in exact])
    x, y = x[fits].astype(C_TYPES[type]), y[fits].astype(C_TYPES[type])
    got = compiled(pow, type, 8, 2)(x, y)
    np.testing.assert_array_equal(got, np.array([e for e, f in zip(exact, fits, strict=True) if f], C_TYPES[type]))


@pytest.mark.parametrize(("make", "exact"), [(pow, mpmath.power), (atan2, mpmath.atan2)])
def test_two_arguments_of_float64(make, exact):
    rng = np.random.default_rng(5)
    x = np.concatenate([np.exp(rng.normal(0, 20, 1000)), 1 + rng.normal(0, 1e-4, 500)])
    y = np.concatenate([rng.normal(0, 5, 1000), rng.normal(0, 1e6, 500)])
    got, bound = compiled(make, "double", 8, 2)(x, y), ULP_BOUNDS["pow" if make is pow else "atan2"]["double"]
    with mpmath.workprec(200):
        for a, b, g in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
            value = exact(mpmath.mpf(a), mpmath.mpf(b))
            exponent = int(mpmath.floor(mpmath.log(abs(value), 2)))
            if -1022 <= exponent < 1024:
                assert abs(mpmath.mpf(g) - value) <= bound * mpmath.mpf(2) ** (exponent - 52), (a, b, g)


def test_atan2_of_float32_is_within_its_bound():
    rng = np.random.default_rng(6)
    y = float32s(0, 2**32, 9973)
    with np.errstate(all="ignore"):
        x = (y * np.exp2(rng.normal(0, 4, y.size)) * rng.choice([-1, 1], y.size)).astype(np.float32)
        reference = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert ulps(compiled(atan2, "float", 16, 2)(y, x), reference).max() <= ULP_BOUNDS["atan2"]["float"]


@pytest.mark.parametrize("make", [pow, atan2])
def test_the_second_argument_may_be_shared(make):
    x, y = np.linspace(0.1, 5, 64, dtype=np.float32), np.full(64, 2.5, np.float32)
    shared = compiled(make, "float", 16, 2, "second narrow")(x, y)
    np.testing.assert_array_equal(shared, compiled(make, "float", 16, 2)(x, y))


@pytest.mark.parametrize("exponent", [-7, -2, -1, 0, 1, 2, 3, 10, 31])
def test_integer_pow(exponent):
    x = np.array([0.0, -0.0, 1.5, -2.0, 3.0, INF, -INF, NAN, 1.01], np.float32)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float64) ** exponent
    got = compiled(partial(integer_pow, exponent=exponent), "float", 8)(x)
    np.testing.assert_allclose(got, expected.astype(np.float32), rtol=3e-6)
    np.testing.assert_array_equal(np.signbit(got[:-2]), np.signbit(expected[:-2]))
