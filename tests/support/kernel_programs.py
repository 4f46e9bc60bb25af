"""Random programs: a seed becomes the source of a pure JAX function of one lane.

Every number is exact, so that compilers may be compared bit by bit and branches on floats cannot go different ways:
integers wrap around, floats are multiples of 1/4 in [-500, 500] and are rounded to such after every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Type = tuple[str, tuple[int, ...]]

SHAPES = ((), (3,), (6,), (40,), (5, 9))
DTYPES = {"i": "int32", "u": "uint32", "f": "float32", "b": "bool_"}
KEY: Type = ("k", ())
INT: Type = ("i", ())


def quantised(x: jax.Array) -> jax.Array:
    """The nearest multiple of 1/4 in [-500, 500]; NaN becomes 0."""
    tame = jnp.clip(jnp.where(jnp.isnan(x), jnp.float32(0), x), -500.0, 500.0)
    return jnp.round(tame * jnp.float32(4)) * jnp.float32(0.25)


def _split(values: tuple[Any, ...], at: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return values[:at], values[at:]


class Program(NamedTuple):
    """A function's source, and the types of its arguments."""

    source: str
    inputs: list[Type]

    def function(self) -> Callable[..., Any]:
        """The function itself."""
        scope: dict[str, Any] = {"jnp": jnp, "lax": lax, "jax": jax, "q": quantised, "split": _split}
        exec(self.source, scope)
        return scope["program"]

    def arguments(self, rng: np.random.Generator, lanes: int) -> list[Any]:
        """Arguments, with an axis of lanes."""
        return [_argument(rng, kind, (lanes, *shape)) for kind, shape in self.inputs]


def _argument(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Any:
    if kind == "k":
        return jax.random.split(jax.random.key(int(rng.integers(1 << 30))), shape)
    if kind == "f":
        return np.asarray(rng.integers(-80, 80, shape) / 4, np.float32)
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    wild = rng.random(shape) < 0.1
    low, high = (-(1 << 31), 1 << 31) if kind == "i" else (0, 1 << 32)
    tame = rng.integers(-9 if kind == "i" else 0, 50, shape)
    return np.asarray(np.where(wild, rng.integers(low, high, shape), tame), DTYPES[kind])


def random_program(seed: int) -> Program:
    """The program of a seed."""
    return Writer(np.random.default_rng(seed)).program()


class Writer:
    """Writes one program, operation after operation, from variables of known types."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.indent = 1
        self.names = 0
        self.env: list[tuple[str, Type]] = []

    def program(self) -> Program:
        """A whole function: all that it makes is used by its results or is dead code."""
        inputs = [INT, KEY, ("i", (40,))] + [self.type() for _ in range(self.below(5))]
        names = [self.fresh() for _ in inputs]
        self.env = list(zip(names, inputs, strict=True))
        self.block(8 + self.below(20), 0)
        results = [name for name, _ in self.env[len(inputs) :] if self.chance(0.4)] or [self.env[-1][0]]
        header = f"def program({', '.join(names)}):"
        return Program("\n".join([header, *self.lines, f"    return [{', '.join(results)}]", ""]), inputs)

    # ---- choices

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def one(self, options: Any) -> Any:
        return options[self.below(len(options))]

    def type(self, kinds: str = "iiuffb") -> Type:
        late = [t for _, t in self.env[-6:] if t[0] in kinds]
        if late and self.chance(0.6):
            return self.one(late)
        return self.one(kinds), self.one((*SHAPES, (), ()))

    # ---- variables

    def fresh(self) -> str:
        self.names += 1
        return f"x{self.names}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def define(self, type: Type, code: str) -> str:
        """A new variable."""
        name = self.fresh()
        self.line(f"{name} = {f'q({code})' if type[0] == 'f' else code}")
        self.env.append((name, type))
        return name

    def get(self, type: Type) -> str:
        """A variable of that type: one that is there, preferably a late one, or one made from another."""
        found = [name for name, t in self.env if t == type]
        if found and (self.chance(0.9) or type == KEY):
            return found[-1 - min(self.below(len(found)), self.below(len(found)))]
        kind, shape = type
        if kind == "k":
            return self.define(type, f"jax.random.key({self.below(99)})")
        alike = [name for name, t in self.env if t[1] == shape and t[0] not in "k" + kind]
        if alike and self.chance(0.7):
            return self.define(type, f"{self.one(alike)}.astype(jnp.{DTYPES[kind]})")
        if shape and self.chance(0.7):
            return self.define(type, f"jnp.full({shape}, {self.get((kind, ()))})")
        return self.constant(type)

    def constant(self, type: Type) -> str:
        """A constant."""
        kind, shape = type
        number = {"b": self.below(2), "f": self.below(41) / 4 - 5}.get(kind, self.below(60))
        dtype = f"jnp.{DTYPES[kind]}"
        if shape and kind in "iuf" and self.chance(0.5):
            size = int(np.prod(shape))
            return self.define(
                type, f"(jnp.arange({size}).reshape({shape}) * {1 + self.below(9)} % 37).astype({dtype})"
            )
        return self.define(type, f"jnp.full({shape}, {number}, {dtype})")

    def some_array(self, kinds: str = "iufb") -> Type:
        """The type of an array that is there."""
        found = [t for _, t in self.env if t[1] and t[0] in kinds]
        return self.one(found) if found else ("i", (40,))

    # ---- blocks

    def block(self, count: int, depth: int) -> None:
        """`count` operations."""
        for _ in range(count):
            control = depth < 3 and self.chance(0.16 if depth else 0.2)
            rule = self.one(CONTROL if control else PLAIN)
            rule(self, depth + 1) if control else rule(self)

    def body(
        self, header: str, params: list[tuple[str, Type]], returns: list[Type], depth: int, wrap: str, *first: str
    ) -> None:
        """An inner function, which also sees all variables from outside."""
        self.line(header)
        outer = list(self.env)
        self.env += params
        self.indent += 1
        for text in first:
            self.line(text)
        self.block(1 + self.below(5), depth)
        results = [self.get(t) for t in returns]
        self.line(f"return {wrap.format(', '.join(results))}")
        self.indent -= 1
        self.env = outer

    def unpack(self, types: list[Type], code: str) -> None:
        """New variables from a call that returns a tuple."""
        names = [self.fresh() for _ in types]
        self.line(f"({', '.join(names)},) = {code}")
        self.env += zip(names, types, strict=True)

    def carried(self) -> list[Type]:
        """Types of what a loop carries or a branch returns."""
        own = [self.some_array()] if self.chance(0.7) else []
        return own + [self.type() for _ in range(1 + self.below(2))]


# ---- plain operations


def arithmetic(w: Writer) -> None:
    kind, shape = w.type("iiuf")
    a = w.get((kind, shape))
    b = w.get((kind, shape if w.chance(0.8) else ()))
    if kind == "f":
        code = w.one(
            ["{a} + {b}", "{a} - {b}", "{a} * {b}", "jnp.minimum({a}, {b})", "jnp.maximum({a}, {b})", "{a} / {b}"]
        )
    else:
        ops = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} & {b}", "{a} | {b}", "{a} ^ {b}", "{a} // {b}", "{a} % {b}"]
        code = w.one([*ops, "jnp.minimum({a}, {b})", "jnp.maximum({a}, {b})", "{a} << {b}", "{a} >> {b}"])
    w.define((kind, shape), code.format(a=a, b=b))


def unary(w: Writer) -> None:
    kind, shape = w.type("iufb")
    x = w.get((kind, shape))
    codes = {
        "b": ["~{x}"],
        "f": [
            "-{x}",
            "abs({x})",
            "jnp.sign({x})",
            "jnp.floor({x})",
            "jnp.sqrt(abs({x}))",
            "jnp.tanh({x})",
            "jnp.exp({x})",
        ],
        "i": ["-{x}", "~{x}", "abs({x})", "jnp.sign({x})", "lax.population_count({x})", "lax.clz({x})"],
        "u": ["-{x}", "~{x}", "lax.population_count({x})", "lax.clz({x})"],
    }
    w.define((kind, shape), w.one(codes[kind]).format(x=x))


def compare(w: Writer) -> None:
    kind, shape = w.type("iuf")
    a, b = w.get((kind, shape)), w.get((kind, shape if w.chance(0.6) else ()))
    w.define(("b", shape), f"{a} {w.one(['<', '<=', '==', '!=', '>', '>='])} {b}")


def logic(w: Writer) -> None:
    shape = w.type()[1]
    w.define(("b", shape), f"{w.get(('b', shape))} {w.one('&|^')} {w.get(('b', shape))}")


def choose(w: Writer) -> None:
    kind, shape = w.type()
    p = w.get(("b", shape if w.chance(0.5) else ()))
    w.define((kind, shape), f"jnp.where({p}, {w.get((kind, shape))}, {w.get((kind, shape))})")


def choose_key(w: Writer) -> None:
    w.define(KEY, f"jnp.where({w.get(('b', ()))}, {w.get(KEY)}, {w.get(KEY)})")


def reduce(w: Writer) -> None:
    kind, shape = w.some_array()
    x = w.get((kind, shape))
    name = w.one(["any", "all"] if kind == "b" else ["sum", "max", "min"])
    w.define((kind, ()), f"{x}.{name}()" if name != "sum" else f"{x}.sum(dtype={x}.dtype)")


def reduce_rows(w: Writer) -> None:
    kind = w.one("iuf")
    name = w.one(["sum", "max", "min", "cumsum"])
    x = w.get((kind, (5, 9)))
    code = f"jnp.{name}({x}, axis=1{f', dtype={x}.dtype' if 'sum' in name else ''})"
    if name == "cumsum":
        w.define((kind, (5, 9)), code)
    else:
        w.define((kind, (6,)), f"jnp.concatenate([{code}, {w.get((kind, (3,)))}[1:2]])")


def arg(w: Writer) -> None:
    t = w.some_array("iuf")
    w.define(INT, f"jnp.{w.one(['argmax', 'argmin'])}({w.get(t)}).astype(jnp.int32)")


def order(w: Writer) -> None:
    kind, shape = w.one("iuf"), w.one([(3,), (6,), (40,)])
    x = w.get((kind, shape))
    w.define(
        (kind, shape), w.one([f"jnp.sort({x})", f"jnp.cumsum({x}, dtype={x}.dtype)", f"{x}[::-1]", f"jnp.roll({x}, 1)"])
    )


def move(w: Writer) -> None:
    kind = w.one("iufb")
    options = [
        ((kind, (40,)), "{a}.reshape(45)[2:42]", (5, 9)),
        ((kind, (5, 9)), "{a}[::-1, ::-1]", (5, 9)),
        ((kind, (5, 9)), "jnp.concatenate([{a}, {a}[:5]]).reshape(9, 5).T", (40,)),
        ((kind, (40,)), "jnp.concatenate([{a}[7:], {a}[:7]])", (40,)),
        ((kind, (6,)), "jnp.concatenate([{a}, {a}[::-1]])", (3,)),
        ((kind, (3,)), "{a}[::2]", (6,)),
    ]
    type, code, source = w.one(options)
    w.define(type, code.format(a=w.get((kind, source))))


def read(w: Writer) -> None:
    kind, shape = w.some_array()
    i = w.get(INT)
    x = w.get((kind, shape))
    mode = w.one(["clip", "fill"]) if kind != "f" else "clip"
    index = i if len(shape) == 1 else f"{i}, {w.get(INT)}"
    w.define((kind, ()), f"{x}.at[{index}].get(mode='{mode}')")


def read_many(w: Writer) -> None:
    kind = w.one("iufb")
    shape = w.one([(6,), (40,), (3,)])
    w.define((kind, shape), f"{w.get((kind, w.one([(6,), (40,)])))}.at[{w.get(('i', shape))}].get(mode='clip')")


def write(w: Writer) -> None:
    kind, shape = w.some_array()
    x, v, i = w.get((kind, shape)), w.get((kind, ())), w.get(INT)
    how = "set" if kind == "b" else w.one(["set", "set", "add", "max", "min"])
    index = i if len(shape) == 1 else f"{i}, {w.get(INT)}"
    w.define((kind, shape), f"{x}.at[{index}].{how}({v}, mode='{w.one(['drop', 'clip'])}')")


def write_many(w: Writer) -> None:
    kind = w.one("iuf")
    count = w.one([(3,), (6,), (40,)])
    type = (kind, w.one([(6,), (40,)]))
    x, v, i = w.get(type), w.get((kind, count)), w.get(("i", count))
    w.define(type, f"{x}.at[{i}].{w.one(['add', 'max', 'min'])}({v})")


def window(w: Writer) -> None:
    kind = w.one("iufb")
    x, i = w.get((kind, (40,))), w.get(INT)
    if w.chance(0.5):
        w.define((kind, (6,)), f"lax.dynamic_slice({x}, ({i},), (6,))")
    else:
        w.define((kind, (40,)), f"lax.dynamic_update_slice({x}, {w.get((kind, w.one([(3,), (6,)])))}, ({i},))")


def row(w: Writer) -> None:
    kind = w.one("iufb")
    x, i = w.get((kind, (5, 9))), w.get(INT)
    if w.chance(0.5):
        w.define((kind, (3,)), f"{x}[{i}, 1:4]")
    else:
        w.define((kind, (5, 9)), f"{x}.at[{i}].set({x}[{w.get(INT)}])")


def product(w: Writer) -> None:
    kind = w.one("iu")
    a = w.get((kind, (5, 9)))
    w.define((kind, (3,)), f"({a} @ {a}.T)[1, 1:4]")


def draw(w: Writer) -> None:
    k = w.get(KEY)
    shape = w.one(SHAPES)
    options = [
        (("u", shape), f"jax.random.bits({k}, {shape})"),
        (("i", shape), f"jax.random.randint({k}, {shape}, -3, {4 + w.below(60)})"),
        (("b", shape), f"jax.random.bernoulli({k}, 0.25, {shape})"),
        (("f", shape), f"jax.random.uniform({k}, {shape}) * 32"),
        (KEY, f"jax.random.split({k})[1]"),
        (KEY, f"jax.random.fold_in({k}, {w.get(INT)})"),
        (KEY, f"jax.random.split({k}, 5).at[{w.get(INT)}].get(mode='clip')"),
    ]
    w.define(*w.one(options[:4] + options[4:] * 2)) if w.chance(0.8) else arithmetic(w)


# ---- control flow


def cond(w: Writer, depth: int) -> None:
    types, given = w.carried(), w.carried()
    if w.chance(0.3):
        types.append(KEY)
    args, name = [w.get(t) for t in given], w.fresh()
    count = 2 if w.chance(0.6) else w.one([1, 3, 4])
    which = w.get(("b", ())) if count == 2 else f"{w.get(INT)} % 5 - 1"
    for i in range(count):
        params = [(w.fresh(), t) for t in given]
        w.body(f"def {name}_{i}({', '.join(n for n, _ in params)}):", params, types, depth, "({},)")
    branches = ", ".join(f"{name}_{i}" for i in range(count))
    call = "lax.cond({}, {}, {})" if count == 2 else "lax.switch({}, [{}], {})"
    w.unpack(types, call.format(which, branches, ", ".join(args)))


def while_(w: Writer, depth: int) -> None:
    types = w.carried()
    if w.chance(0.3):
        types.append(KEY)
    inits, name = [w.get(t) for t in types], w.fresh()
    limit = f"{w.get(INT)} % {2 + w.below(4)}" if w.chance(0.8) else str(w.below(4))
    params = [(w.fresh(), t) for t in types]
    counter = w.fresh()
    names = ", ".join([counter, *(n for n, _ in params)])
    w.body(f"def {name}(c):", [(counter, INT), *params], types, depth, f"({counter} + 1, {{}},)", f"({names},) = c")
    test = f"lambda c: c[0] < {limit}"
    first = types[0]
    if w.chance(0.3) and first[0] in "if":
        test = f"lambda c: (c[0] < {limit}) & (c[1].{'max' if first[1] else 'sum'}() < 400)"
    w.unpack([INT, *types], f"lax.while_loop({test}, {name}, (jnp.int32(0), {', '.join(inits)},))")


def scan(w: Writer, depth: int) -> None:
    types, stacked = w.carried(), [w.type() for _ in range(w.below(3))]
    xs = [(w.one("iufb"), s) for s in [(3,), (6,)][: 1 + w.below(2)]][:1]
    inits, rows, name = [w.get(t) for t in types], [w.get(t) for t in xs], w.fresh()
    params = [(w.fresh(), t) for t in types]
    elements = [(w.fresh(), (kind, ())) for kind, _ in xs]
    unpack = [f"({', '.join(n for n, _ in some)},) = {c}" for some, c in ((params, "c"), (elements, "xs"))]
    wrap = f"split(({{}},), {len(types)})"
    w.body(f"def {name}(c, xs):", [*params, *elements], types + stacked, depth, wrap, *unpack)
    out, ys = w.fresh(), w.fresh()
    reverse = f", reverse={w.chance(0.3)}"
    w.line(f"{out}, {ys} = lax.scan({name}, ({', '.join(inits)},), ({', '.join(rows)},){reverse})")
    w.unpack(types, out)
    for i, (kind, shape) in enumerate(stacked):
        if shape == ():
            w.env.append((w.fresh(), (kind, xs[0][1])))
            w.line(f"{w.env[-1][0]} = {ys}[{i}]")
        else:
            w.env.append((w.fresh(), (kind, shape)))
            w.line(f"{w.env[-1][0]} = {ys}[{i}][{w.below(3)}]")


PLAIN = (
    arithmetic, arithmetic, arithmetic, unary, compare, compare, logic, choose, choose, choose_key, reduce, reduce_rows,
    arg, order, move, read, read, read_many, write, write, write_many, window, row, product, draw,
)  # fmt: skip
CONTROL = (cond, cond, while_, scan)
