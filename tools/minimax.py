"""Makes the coefficient tables of the kernel's elementary functions: `python tools/minimax.py` prints the module.

Each table is the minimax polynomial of a smooth function on an interval under a weight (the factor with which its error
reaches the result), found by Lawson's reweighted least squares in 70-digit arithmetic. Coefficients are rounded to the
type one by one from the lowest power, and the rest are fitted again after each, so that they make up for the rounding.
The number of coefficients is the least that meets the target error. Needs mpmath.
"""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpmath import mp, mpf

mp.dps = 70

TARGET = {"float": mpf(2) ** -27, "double": mpf(2) ** -56}

HEADER = '''"""Constants and minimax polynomials, lowest power first. Written by tools/minimax.py: do not edit."""

from __future__ import annotations

# fmt: off
Table = dict[str, tuple[float, ...]]
'''

Function = Callable[[mpf], mpf]


class Table(NamedTuple):
    """What is fitted: `f` on [lo, hi], its error weighted by `weight`; `loose` multiplies the target error."""

    f: Function
    weight: Function
    lo: mpf
    hi: mpf
    loose: float = 1.0
    types: tuple[str, ...] = ("float", "double")


def rounded(value: mpf, type: str) -> float:
    """Returns the nearest number of the type."""
    return struct.unpack("f", struct.pack("f", float(value)))[0] if type == "float" else float(value)


def grid(lo: mpf, hi: mpf, count: int) -> list[mpf]:
    """Points that crowd towards both ends, as the extrema of a minimax error do; the ends themselves are left out."""
    return [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (i + mpf(0.5)) / count) for i in range(count)]


def least_squares(columns: Sequence[Sequence[mpf]], values: Sequence[mpf], weights: Sequence[mpf]) -> list[mpf]:
    """Returns the c that minimises sum_i weights_i (values_i - sum_k c_k columns_ki)^2."""
    scaled = [[w * c for w, c in zip(weights, column, strict=True)] for column in columns]
    normal = [[mp.fdot(a, b) for b in columns] for a in scaled]
    return list(mp.lu_solve(mp.matrix(normal), mp.matrix([mp.fdot(a, values) for a in scaled])))


def residuals(columns: Sequence[Sequence[mpf]], values: Sequence[mpf], coefficients: Sequence[mpf]) -> list[mpf]:
    """values - sum_k c_k columns_k."""
    return [v - mp.fdot(coefficients, row) for v, row in zip(values, zip(*columns, strict=True), strict=True)]


def fit(table: Table, type: str) -> tuple[list[float], mpf]:
    """Returns the shortest table within the target error, rounded to the type, and its weighted error."""
    points = grid(table.lo, table.hi, 120)
    values, weights = [table.f(x) for x in points], [abs(table.weight(x)) for x in points]
    squares = [w * w for w in weights]
    count, error = 1, mp.inf
    while error > TARGET[type] * table.loose:
        count += 1
        columns = [[x**k for x in points] for k in range(count)]
        lawson = squares
        for _ in range(8):
            left = residuals(columns, values, least_squares(columns, values, lawson))
            errors = [abs(e * w) for e, w in zip(left, weights, strict=True)]
            error = max(errors)
            if error < TARGET[type] * table.loose or error > 20 * TARGET[type] * table.loose:
                break
            lawson = [a * (e / error + mpf("0.01")) for a, e in zip(lawson, errors, strict=True)]
    done: list[float] = []
    for k in range(count):
        done.append(rounded(least_squares(columns[k:], values, lawson)[0], type))
        values = [v - done[-1] * c for v, c in zip(values, columns[k], strict=True)]
    return done, max(abs(v * w) for v, w in zip(values, weights, strict=True))


def odd(f: Function) -> Function:
    """Returns (f(x) - x) / x^3 as a function of z = x^2."""
    return lambda z: (f(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3


def erfc_scaled(t: mpf) -> mpf:
    """Returns exp(x^2) erfc(x) (x + 2) at x = 2 (1 + t) / (1 - t)."""
    x = 2 * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (x + 2)


def erf_inverse_over_x(w: mpf) -> mpf:
    """Returns erf_inv(x) / x at x = sqrt(1 - exp(-w))."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def stirling(w: mpf) -> mpf:
    """Returns z (log Gamma(z) - (z - 1/2) log z + z - log(2 pi) / 2) at z = w^(-1/2)."""
    z = 1 / mp.sqrt(w)
    return z * (mp.loggamma(z) - (z - mpf(0.5)) * mp.log(z) + z - mp.log(2 * mp.pi) / 2)


def digamma_series(w: mpf) -> mpf:
    """Returns z^2 (log z - 1 / (2 z) - digamma(z)) at z = w^(-1/2)."""
    z = 1 / mp.sqrt(w)
    return z * z * (mp.log(z) - 1 / (2 * z) - mp.digamma(z))


def inverse_of_erf(w_of: Function, lo: mpf, hi: mpf, loose: float, type: str) -> Table:
    """Returns `erf_inverse_over_x` as a function of another variable than w."""
    return Table(lambda v: erf_inverse_over_x(w_of(v)), lambda v: mpf(1), lo, hi, loose, (type,))


HALF_LN2, QUARTER_PI = mp.log(2) / 2 * mpf("1.0001"), mp.pi / 4 * mpf("1.0001")
ROOT = mp.sqrt(2)

TABLES = {
    "EXP": Table(lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2, -HALF_LN2, HALF_LN2),
    "EXPM1": Table(lambda r: (mp.expm1(r) - r) / r**2, lambda r: r, mpf(-0.5), mpf(0.5)),
    "EXP2": Table(lambda r: (mpf(2) ** r - 1) / r, lambda r: r, mpf(-0.5), mpf(0.5)),
    "LOG": Table(
        lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, lambda f: f**2, 1 / ROOT - 1, ROOT - 1, 1.0, ("float",)
    ),
    "LOG_RATIO": Table(lambda z: 2 * odd(mp.atanh)(z), lambda z: z, mpf(0), (3 - 2 * ROOT) ** 2, 1.0, ("double",)),
    "LOG2": Table(
        lambda f: mp.log1p(f) / f / mp.log(2), lambda f: mpf(1), 1 / ROOT - 1, ROOT - 1, 2.0**18, ("double",)
    ),
    "LOG_REST": Table(
        lambda z: (2 * odd(mp.atanh)(z) - mpf(2) / 3) / z,
        lambda z: z**2,
        mpf(0),
        (3 - 2 * ROOT) ** 2,
        2.0**-10,
        ("double",),
    ),
    "EXP2_SHORT": Table(lambda r: (mpf(2) ** r - 1) / r, lambda r: r, mpf(-0.5), mpf(0.5), 2.0**18, ("double",)),
    "EXP2_REST": Table(
        lambda r: (mpf(2) ** r - 1 - r * mp.log(2)) / r**2, lambda r: r**2, mpf(-0.5), mpf(0.5), 0.25, ("double",)
    ),
    "SIN": Table(odd(mp.sin), lambda z: z, mpf(0), QUARTER_PI**2),
    "COS": Table(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2, mpf(0), QUARTER_PI**2),
    "TAN": Table(odd(mp.tan), lambda z: z, mpf(0), QUARTER_PI**2),
    "ASIN": Table(odd(mp.asin), lambda z: z, mpf(0), mpf(0.25)),
    "ATAN": Table(odd(mp.atan), lambda z: z, mpf(0), mpf(1)),
    "SINH": Table(odd(mp.sinh), lambda z: z, mpf(0), HALF_LN2**2),
    "COSH": Table(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, lambda z: z, mpf(0), HALF_LN2**2),
    "TANH": Table(odd(mp.tanh), lambda z: z, mpf(0), mpf("1")),
    "CBRT": Table(lambda e: ((1 - e) ** (mpf(-1) / 3) - 1) / e, lambda e: e, mpf("-0.1025"), mpf("0.1025")),
    "ERF": Table(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, lambda z: mpf(1), mpf(0), mpf(1)),
    "ERFC": Table(erfc_scaled, lambda t: 1 / erfc_scaled(t), mpf(-1), mpf("0.9"), 2.0),
    "ERF_INV_CENTRE": inverse_of_erf(lambda w: w + mpf("2.5"), mpf("-2.5"), mpf("2.5"), 6.0, "float"),
    "ERF_INV_TAIL": inverse_of_erf(lambda s: (s + 3) ** 2, mp.sqrt(5) - 3, mpf("1.1"), 6.0, "float"),
    "ERF_INV_CENTRE_64": inverse_of_erf(lambda w: w + 3, mpf(-3), mpf(3), 4.0, "double"),
    "ERF_INV_TAIL_64": inverse_of_erf(lambda s: (s + 4) ** 2, mp.sqrt(6) - 4, mpf("2.08"), 4.0, "double"),
    "STIRLING": Table(stirling, lambda w: mpf("0.1"), mpf("1e-9"), mpf(1) / 64, 1.0, ("double",)),
    "DIGAMMA": Table(digamma_series, lambda w: mpf("0.1"), mpf("1e-9"), mpf(1) / 64, 1.0, ("double",)),
    "LGAMMA": Table(
        lambda v: mp.loggamma(v + mpf("1.75")) / ((v + mpf("0.75")) * (v - mpf("0.25"))),
        lambda v: mpf(1),
        mpf(-1),
        mpf(1),
        1.0,
        ("double",),
    ),
}

CONSTANTS = {
    "LOG2_E": (1 / mp.log(2), {"float": (24,), "double": (53, 53)}),
    "LN2": (mp.log(2), {"float": (24, 24), "double": (53, 53)}),
    "TWO_OVER_PI": (2 / mp.pi, {"float": (24,), "double": (53,)}),
    "HALF_PI": (mp.pi / 2, {"float": (24, 24, 24), "double": (53, 53, 53)}),
    "PI": (mp.pi, {"float": (24, 24), "double": (53, 53)}),
}

TWO_OVER_PI_BITS = 1168


def parts(value: mpf, digits: Sequence[int]) -> list[float]:
    """Returns numbers of so many binary digits each, greatest first, whose sum is next to the value."""
    result = []
    for count in digits:
        unit = mpf(2) ** (mp.floor(mp.log(abs(value), 2)) - count + 1)
        result.append(float(mp.nint(value / unit) * unit))
        value -= result[-1]
    return result


def spelled(value: float, type: str) -> str:
    """Returns the shortest decimal that the type reads back as the same number."""
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if rounded(mpf(text), type) == value:
            return repr(float(text))
    return repr(value)


def numbers(values: Sequence[float], type: str) -> str:
    """Writes a tuple, as many numbers on a line as fit."""
    texts = [f"{spelled(v, type)}," for v in values]
    return "(\n" + textwrap.fill(" ".join(texts), 120, initial_indent=" " * 8, subsequent_indent=" " * 8) + "\n    )"


def main() -> None:
    """Prints the module `coefficients`."""
    print(HEADER)
    for name, (value, digits) in CONSTANTS.items():
        rows = "".join(f'    "{type}": {numbers(parts(value, d), type)},\n' for type, d in digits.items())
        print(f"{name}: Table = {{\n{rows}}}\n")
    with mp.workprec(TWO_OVER_PI_BITS + 64):
        print("# The first bits of 2 / pi after the point, as an integer.")
        print(f"TWO_OVER_PI_BITS = {TWO_OVER_PI_BITS}\nTWO_OVER_PI_DIGITS = int(")
        text = f"{int(mp.floor(2 / mp.pi * mpf(2) ** TWO_OVER_PI_BITS)):x}"
        for start in range(0, len(text), 100):
            print(f'    "{text[start : start + 100]}"')
        print("    , 16)")
    for name, table in TABLES.items():
        print(f"\n{name}: Table = {{")
        for type in table.types:
            coefficients, error = fit(table, type)
            print(f"    # {len(coefficients)} coefficients, weighted error 2**{float(mp.log(error, 2)):.1f}")
            print(f'    "{type}": {numbers(coefficients, type)},')
        print("}", flush=True)


if __name__ == "__main__":
    main()
