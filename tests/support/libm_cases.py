"""The elementary functions under test: how each is emitted, its references, and where it is sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import mpmath
import numpy as np
import scipy.special as special

from kousoku.compiler.codegen.operand import Operand
from kousoku.compiler.libm import (
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    trigonometric,
)


class Case(NamedTuple):
    """`reference` works on float64 arrays, `exact` on one mpmath number; float64 samples lie in [lo, hi]."""

    make: Callable[..., Operand]
    reference: Callable[..., np.ndarray]
    exact: Callable[..., mpmath.mpf]
    lo: float
    hi: float


mp = mpmath.mp
CASES = {
    "exp": Case(exponential.exp, np.exp, mp.exp, -746, 710),
    "exp2": Case(exponential.exp2, np.exp2, lambda x: mpmath.mpf(2) ** x, -1076, 1025),
    "expm1": Case(exponential.expm1, np.expm1, mp.expm1, -50, 710),
    "logistic": Case(exponential.logistic, lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (1 + mp.exp(-x)), -745, 40),
    "log": Case(logarithm.log, np.log, mp.log, 0, 3),
    "log1p": Case(logarithm.log1p, np.log1p, mp.log1p, -1, 3),
    "sin": Case(trigonometric.sin, np.sin, mp.sin, -1e4, 1e4),
    "cos": Case(trigonometric.cos, np.cos, mp.cos, -1e4, 1e4),
    "tan": Case(trigonometric.tan, np.tan, mp.tan, -1e4, 1e4),
    "asin": Case(inverse_trigonometric.asin, np.arcsin, mp.asin, -1, 1),
    "acos": Case(inverse_trigonometric.acos, np.arccos, mp.acos, -1, 1),
    "atan": Case(inverse_trigonometric.atan, np.arctan, mp.atan, -5, 5),
    "sinh": Case(hyperbolic.sinh, np.sinh, mp.sinh, -20, 20),
    "cosh": Case(hyperbolic.cosh, np.cosh, mp.cosh, -20, 20),
    "tanh": Case(hyperbolic.tanh, np.tanh, mp.tanh, -20, 20),
    "asinh": Case(hyperbolic.asinh, np.arcsinh, mp.asinh, -10, 10),
    "acosh": Case(hyperbolic.acosh, np.arccosh, mp.acosh, 1, 10),
    "atanh": Case(hyperbolic.atanh, np.arctanh, mp.atanh, -1, 1),
    "sqrt": Case(power.sqrt, np.sqrt, mp.sqrt, 0, 9),
    "rsqrt": Case(power.rsqrt, lambda x: 1 / np.sqrt(x), lambda x: 1 / mp.sqrt(x), 0, 9),
    "cbrt": Case(power.cbrt, np.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), -9, 9),
    "erf": Case(error.erf, special.erf, mp.erf, -6, 6),
    "erfc": Case(error.erfc, special.erfc, mp.erfc, -3, 26),
    "erf_inv": Case(error.erf_inv, special.erfinv, mp.erfinv, -1, 1),
    "lgamma": Case(gamma.lgamma, special.gammaln, lambda x: mp.re(mp.loggamma(x)), -10, 30),
    "digamma": Case(gamma.digamma, special.digamma, mp.digamma, -10, 30),
}
