"""sin, cos and tan.

x = n pi/2 + r + lo with |r| <= pi/4. Up to `BOUND` three fused steps give r and its rounding error; beyond, if any
lane is there, such lanes are done one by one with enough digits of 2/pi (`huge`). sin and cos of one argument are
written alike up to the last selects, so that LLVM keeps one copy.
"""

from __future__ import annotations

from collections.abc import Callable

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .float_format import fabs, integer, nearest, pick
from .huge import reduced
from .polynomial import polynomial

BOUND = {"float": 2.0**17, "double": 2.0**29}

Finish = Callable[[Builder, Operand, Operand, Operand], Operand]


def reduce(b: Builder, x: Operand) -> tuple[Operand, Operand, Operand]:
    """Reduces x by quarters: n's low bits, r, and what r lacks."""
    n, bits = nearest(b, x, c.TWO_OVER_PI[x.type][0])
    first, second, third = (b.f(-p, x) for p in c.HALF_PI[x.type])
    start = b.fma(n, first, x)
    step = b.fmul(n, second, exact=True)
    r = b.fadd(start, step, exact=True)
    lack = b.fadd(b.fsub(start, r, exact=True), step, exact=True)
    rounding = b.fma(n, second, b.fneg(step))
    return bits, r, b.fma(n, third, b.fadd(lack, rounding, exact=True))


def sin_near_zero(b: Builder, r: Operand, lo: Operand) -> Operand:
    """Computes sin(r + lo) = r + (lo + r^3 S(r^2))."""
    z = b.fmul(r, r, exact=True)
    return b.fadd(r, b.fma(b.fmul(r, z, exact=True), polynomial(b, z, c.SIN), lo), exact=True)


def cos_near_zero(b: Builder, r: Operand, lo: Operand) -> Operand:
    """Computes cos(r + lo) = 1 + r (r (r^2 C(r^2) - 1/2) - lo)."""
    z = b.fmul(r, r, exact=True)
    inner = b.fma(z, polynomial(b, z, c.COS), b.f(-0.5, r))
    return b.fma(r, b.fma(r, inner, b.fneg(lo)), b.f(1.0, r))


def quarter(b: Builder, quadrant: Operand, r: Operand, lo: Operand, turn: int) -> Operand:
    """Computes sin(r + lo + (quadrant + turn) pi/2)."""
    one, two = integer(r, 1), integer(r, 2)
    odd = b.icmp("ne", b.and_(quadrant, one), integer(r, 0))
    sine, cosine = sin_near_zero(b, r, lo), cos_near_zero(b, r, lo)
    value = b.select(odd, sine, cosine) if turn else b.select(odd, cosine, sine)
    turned = b.add(quadrant, one) if turn else quadrant
    shift = 30 if r.type == "float" else 62
    return b.bitcast(b.xor(b.bits_of(value), b.shl(b.and_(turned, two), integer(r, shift))), r.type)


def finish_sin(b: Builder, quadrant: Operand, r: Operand, lo: Operand) -> Operand:
    """Computes sin(r + lo + quadrant pi/2)."""
    return quarter(b, quadrant, r, lo, 0)


def finish_cos(b: Builder, quadrant: Operand, r: Operand, lo: Operand) -> Operand:
    """Computes cos(r + lo + quadrant pi/2)."""
    return quarter(b, quadrant, r, lo, 1)


def finish_tan(b: Builder, quadrant: Operand, r: Operand, lo: Operand) -> Operand:
    """Computes tan(r + lo + quadrant pi/2): t, or -1 / t for an odd quadrant."""
    z = b.fmul(r, r, exact=True)
    slope = b.fma(lo, z, lo)
    t = b.fadd(r, b.fma(b.fmul(r, z, exact=True), polynomial(b, z, c.TAN), slope), exact=True)
    even = b.icmp("eq", b.and_(quadrant, integer(r, 1)), integer(r, 0))
    return b.fdiv(b.select(even, t, b.f(-1.0, r)), b.select(even, b.f(1.0, r), t))


def sin(b: Builder, x: Operand) -> Operand:
    """Returns the sine."""
    return periodic(b, "sin", finish_sin, x)


def cos(b: Builder, x: Operand) -> Operand:
    """Returns the cosine."""
    return periodic(b, "cos", finish_cos, x)


def tan(b: Builder, x: Operand) -> Operand:
    """Returns the tangent."""
    return periodic(b, "tan", finish_tan, x)


def periodic(b: Builder, name: str, finish: Finish, x: Operand) -> Operand:
    """Applies `finish` to the reduced x.

    If any lane is beyond `BOUND`, a function that is seldom called sees to those.
    """
    fast = finish(b, *reduce(b, x))
    if name != "cos":
        fast = b.select(b.fcmp("oeq", x, b.f(0.0, x)), x, fast)
    far = b.fcmp("ogt", fabs(b, x), pick(x, BOUND["float"], BOUND["double"]))

    def exact() -> list[Operand]:
        function, vector = define_exact(b, name, finish, fast), b.type_of(fast.type, fast.varying)
        given = f"{b.typed(x, fast.varying)}, {b.typed(fast)}"
        return [b.define(fast.type, fast.varying, f"call {b.rare} {vector} @{function}({given})")]

    return b.if_(b.any(far), exact, lambda: [fast], [fast.varying])[0]


def define_exact(b: Builder, name: str, finish: Finish, like: Operand) -> str:
    """Adds to the module, once, the function (x, fast) -> exact beyond `BOUND`, else fast; returns its name.

    It goes lane by lane, in float64.
    """
    varying = b.is_vector(like)
    function = f"kousoku.{name}.huge.{b.lanes if varying else 1}.{like.type}"
    if function in b.declarations:
        return function
    inner = Builder(b.lanes, b.rare)
    vector = inner.type_of(like.type, varying)
    x, fast = Operand("%x", like.type, varying), Operand("%fast", like.type, varying)

    def one(a: Operand, otherwise: Operand) -> Operand:
        """Returns the result of one lane."""
        far = inner.fcmp("ogt", fabs(inner, a), pick(a, BOUND["float"], BOUND["double"]))
        return inner.if_(far, lambda: [exact_of_one(inner, finish, a)], lambda: [otherwise], [False])[0]

    def lane(i: Operand, results: list[Operand]) -> list[Operand]:
        given, otherwise = (
            inner.define(like.type, False, f"extractelement {vector} {v.text}, i64 {i.text}") for v in (x, results[0])
        )
        put = f"insertelement {vector} {results[0].text}, {like.type} {one(given, otherwise).text}, i64 {i.text}"
        return [inner.define(like.type, True, put)]

    result = inner.for_(Operand(str(b.lanes), "i64"), [fast], lane)[0] if varying else one(x, fast)
    b.declarations |= inner.declarations
    body = "\n".join(["entry:", *inner.lines, f"  ret {vector} {result.text}"])
    header = f"define internal {b.rare} {vector} @{function}({vector} %x, {vector} %fast) noinline cold nounwind"
    b.declarations[function] = f"{header} {{\n{body}\n}}"
    return function


def exact_of_one(b: Builder, finish: Finish, a: Operand) -> Operand:
    """Returns the result for a uniform argument beyond `BOUND`; NaN for infinite ones."""
    x = b.cast("fpext", a, "double")
    result = b.fadd(finish(b, *reduced(b, x)), b.fsub(x, x, exact=True), exact=True)
    return b.cast("fptrunc", result, a.type)
