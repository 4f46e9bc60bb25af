"""States what each elementary function promises: its greatest error in units in the last place (ulp), by LLVM type.

One-argument functions in float32 are checked over a dense part of all 2^32 numbers by `make test-full`, or over all of
them; the rest at the samples of the tests. An ulp is that of the exact result;
below the least normal number it is the least subnormal one.

Exceptions: lgamma and digamma in float64 have their ulp at max(1, |result|), since both have zeros that no reduction
here resolves. rsqrt is 1 / sqrt(x) with two roundings. sqrt is correctly rounded.
"""

from __future__ import annotations

ULP_BOUNDS: dict[str, dict[str, float]] = {
    "exp": {"float": 1.0, "double": 1.0},
    "exp2": {"float": 1.0, "double": 1.2},
    "expm1": {"float": 1.1, "double": 1.2},
    "log": {"float": 1.0, "double": 1.0},
    "log1p": {"float": 1.1, "double": 1.0},
    "sin": {"float": 1.0, "double": 1.0},
    "cos": {"float": 1.0, "double": 1.0},
    "tan": {"float": 2.1, "double": 2.1},
    "asin": {"float": 2.1, "double": 2.1},
    "acos": {"float": 1.3, "double": 1.3},
    "atan": {"float": 1.6, "double": 1.6},
    "atan2": {"float": 1.8, "double": 1.8},
    "sinh": {"float": 2.0, "double": 2.0},
    "cosh": {"float": 2.0, "double": 2.0},
    "tanh": {"float": 1.1, "double": 1.2},
    "asinh": {"float": 2.0, "double": 2.0},
    "acosh": {"float": 2.2, "double": 2.0},
    "atanh": {"float": 2.2, "double": 2.0},
    "logistic": {"float": 2.4, "double": 2.4},
    "sqrt": {"float": 0.5, "double": 0.5},
    "rsqrt": {"float": 1.5, "double": 1.5},
    "cbrt": {"float": 1.1, "double": 1.0},
    "pow": {"float": 0.51, "double": 0.7},
    "erf": {"float": 1.3, "double": 1.5},
    "erfc": {"float": 6.0, "double": 6.0},
    "erf_inv": {"float": 2.5, "double": 3.0},
    "lgamma": {"float": 0.51, "double": 40.0},
    "digamma": {"float": 0.51, "double": 12.0},
}
