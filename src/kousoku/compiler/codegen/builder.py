"""Writes the body of one function as LLVM IR's text.

Text, since that is several times faster to make than a tree of Python objects, and since LLVM's own parser and verifier
check it. Operands of one operation may be varying or uniform; uniform ones are spread over the lanes where needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager

from .operand import BITS, INT_OF_FLOAT, Operand, constant, float_constant, int_constant

I1, I8, I16, I32, I64, F32, F64, PTR = "i1", "i8", "i16", "i32", "i64", "float", "double", "ptr"

SHORT = {"float": "f32", "double": "f64"}


class Builder:
    """A writer of instructions, which go to the end of the current block of a function.

    Args:
        lanes: lanes in a varying operand; with 1, varying operands are plain scalars.
        rare: calling convention of functions that hardly ever run.
    """

    def __init__(self, lanes: int, rare: str = "ccc") -> None:
        self.lanes, self.rare = lanes, rare
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.declarations: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.functions: dict[str, list[str]] = {}
        self.block = "entry"
        self.counter = 0
        self.keep: list[object] = []

    @contextmanager
    def of_lanes(self, lanes: int):
        """Writes varying operands of so many lanes."""
        outer, self.lanes = self.lanes, lanes
        yield
        self.lanes = outer

    # ---- text

    def name(self) -> str:
        """Returns a fresh name."""
        self.counter += 1
        return f"%v{self.counter}"

    def type_of(self, type: str, varying: bool) -> str:
        """Returns LLVM's spelling of a scalar type, or of a vector of it."""
        return f"<{self.lanes} x {type}>" if varying and self.lanes > 1 else type

    def define(self, type: str, varying: bool, code: str) -> Operand:
        """Returns the result of the instruction `code`."""
        name = self.name()
        self.lines.append(f"  {name} = {code}")
        return Operand(name, type, varying)

    def ref(self, a: Operand, varying: bool) -> str:
        """Returns how `a` is written as an operand of a varying or uniform instruction."""
        if varying and not a.varying and self.lanes > 1:
            if a.value is not None:
                return f"splat ({a.type} {a.text})"
            return self.splat(a).text
        return a.text

    def typed(self, a: Operand, varying: bool | None = None) -> str:
        """Returns `a` with its type before it."""
        varying = a.varying if varying is None else varying
        return f"{self.type_of(a.type, varying)} {self.ref(a, varying)}"

    def splat(self, a: Operand) -> Operand:
        """Returns `a` in every lane."""
        if a.varying:
            return a
        if self.lanes == 1:
            return Operand(a.text, a.type, True, a.value)
        if a.value is not None:
            return Operand(f"splat ({a.type} {a.text})", a.type, True)
        vector = self.type_of(a.type, True)
        one = self.define(a.type, True, f"insertelement {vector} poison, {a.type} {a.text}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.define(a.type, True, f"shufflevector {vector} {one.text}, {vector} poison, {zeros}")

    # ---- constants

    def const(self, value: object, type: str) -> Operand:
        """Returns a constant of an LLVM type, the same in all lanes."""
        return constant(value, type)

    def f(self, value: float, like: Operand) -> Operand:
        """Returns a floating-point constant of the type of `like`."""
        return float_constant(value, like.type)

    def i(self, value: int, like: Operand) -> Operand:
        """Returns an integer constant of the type of `like`."""
        return int_constant(value, like.type)

    # ---- arithmetic

    def binary(self, op: str, a: Operand, b: Operand) -> Operand:
        """Returns `op a, b` for an instruction whose result has its operands' type."""
        varying = a.varying or b.varying
        return self.define(
            a.type, varying, f"{op} {self.type_of(a.type, varying)} {self.ref(a, varying)}, {self.ref(b, varying)}"
        )

    def fadd(self, a: Operand, b: Operand, *, exact: bool = False) -> Operand:
        """Returns a + b. Unless `exact`, a product that is added may be fused with the addition (one rounding)."""
        return self.binary("fadd" if exact else "fadd contract", a, b)

    def fsub(self, a: Operand, b: Operand, *, exact: bool = False) -> Operand:
        """Computes a - b."""
        return self.binary("fsub" if exact else "fsub contract", a, b)

    def fmul(self, a: Operand, b: Operand, *, exact: bool = False) -> Operand:
        """Computes a * b."""
        return self.binary("fmul" if exact else "fmul contract", a, b)

    def fdiv(self, a: Operand, b: Operand) -> Operand:
        """Computes a / b."""
        return self.binary("fdiv", a, b)

    def fneg(self, a: Operand) -> Operand:
        """Computes -a, the sign bit flipped."""
        return self.define(a.type, a.varying, f"fneg {self.typed(a)}")

    def fma(self, a: Operand, b: Operand, c: Operand) -> Operand:
        """Computes a * b + c with one rounding."""
        return self.intrinsic("llvm.fma", a, b, c)

    def add(self, a: Operand, b: Operand) -> Operand:
        """Computes a + b, wrapping around."""
        if a.value is not None and b.value is not None:
            return int_constant(int(a.value) + int(b.value), a.type)
        if b.value == 0:
            return a
        if a.value == 0:
            return b
        return self.binary("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Operand:
        """Computes a - b, wrapping around."""
        if a.value is not None and b.value is not None:
            return int_constant(int(a.value) - int(b.value), a.type)
        return a if b.value == 0 else self.binary("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Operand:
        """Computes a * b, wrapping around."""
        if a.value is not None and b.value is not None:
            return int_constant(int(a.value) * int(b.value), a.type)
        if a.value == 1:
            return b
        return a if b.value == 1 else self.binary("mul", a, b)

    def and_(self, a: Operand, b: Operand) -> Operand:
        """Returns the bitwise and."""
        return self.binary("and", a, b)

    def or_(self, a: Operand, b: Operand) -> Operand:
        """Returns the bitwise or."""
        return self.binary("or", a, b)

    def xor(self, a: Operand, b: Operand) -> Operand:
        """Returns the bitwise exclusive or."""
        return self.binary("xor", a, b)

    def not_(self, a: Operand) -> Operand:
        """Returns a with all bits flipped."""
        if a.value is not None:
            return int_constant(~int(a.value), a.type)
        return self.binary("xor", a, int_constant(-1, a.type))

    def shl(self, a: Operand, b: Operand) -> Operand:
        """Returns a << b; poison where b is not less than the bits."""
        return self.binary("shl", a, b)

    def lshr(self, a: Operand, b: Operand) -> Operand:
        """Returns a >> b, zeros coming in; poison where b is not less than the bits."""
        return self.binary("lshr", a, b)

    def ashr(self, a: Operand, b: Operand) -> Operand:
        """Returns a >> b, the sign coming in; poison where b is not less than the bits."""
        return self.binary("ashr", a, b)

    # ---- comparisons and choices

    def icmp(self, predicate: str, a: Operand, b: Operand) -> Operand:
        """Compares integers: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge."""
        return self._compare("icmp", predicate, a, b)

    def fcmp(self, predicate: str, a: Operand, b: Operand) -> Operand:
        """Compares floating-point numbers: oeq, une, olt, ole, ogt, oge, uno, ord, ..."""
        return self._compare("fcmp", predicate, a, b)

    def _compare(self, op: str, predicate: str, a: Operand, b: Operand) -> Operand:
        varying = a.varying or b.varying
        vector = self.type_of(a.type, varying)
        return self.define(I1, varying, f"{op} {predicate} {vector} {self.ref(a, varying)}, {self.ref(b, varying)}")

    def select(self, condition: Operand, if_true: Operand, if_false: Operand) -> Operand:
        """Selects `if_true` where the condition (i1) holds, else `if_false`."""
        if condition.value is not None:
            return if_true if condition.value else if_false
        if if_true == if_false:
            return if_true
        varying = condition.varying or if_true.varying or if_false.varying
        picked = f"{self.typed(if_true, varying)}, {self.typed(if_false, varying)}"
        return self.define(if_true.type, varying, f"select {self.typed(condition)}, {picked}")

    # ---- conversions

    def is_vector(self, a: Operand) -> bool:
        """Returns whether an operand is a vector of a number for each lane."""
        return a.varying and self.lanes > 1

    def opaque(self, a: Operand) -> Operand:
        """Returns a scalar integer behind an empty piece of assembly: LLVM does not see what it is computed from.

        For what a loop counts, where much is computed from it that is no address: LLVM's loop strength reduction writes
        sums of it in every way. Vectors and constants are no concern of that pass.
        """
        if a.value is not None or self.is_vector(a):
            return a
        return self.define(a.type, a.varying, f'call {a.type} asm "", "=r,0"({a.type} {a.text})')

    def cast(self, op: str, a: Operand, type: str) -> Operand:
        """Converts by trunc, zext, sext, fptrunc, fpext, fptosi, fptoui, sitofp or uitofp."""
        if a.type == type:
            return a
        if a.value is not None and op in ("trunc", "zext"):
            return int_constant(int(a.value), type)
        if a.value is not None and op == "sext":
            bits = BITS[a.type]
            return int_constant(int(a.value) - ((int(a.value) >> (bits - 1)) << bits), type)
        return self.define(type, a.varying, f"{op} {self.typed(a)} to {self.type_of(type, a.varying)}")

    def bitcast(self, a: Operand, type: str) -> Operand:
        """Returns the same bits as another type of the same size."""
        if a.type == type:
            return a
        return self.define(type, a.varying, f"bitcast {self.typed(a)} to {self.type_of(type, a.varying)}")

    def bits_of(self, a: Operand) -> Operand:
        """Returns a floating-point number's bits as an integer of its size."""
        return self.bitcast(a, INT_OF_FLOAT[a.type])

    # ---- calls

    def intrinsic(self, name: str, *args: Operand, result: str | None = None, flags: Sequence[int] = ()) -> Operand:
        """Returns an overloaded LLVM intrinsic such as "llvm.sqrt"; `flags` are its trailing i1 immediates."""
        varying = any(a.varying for a in args)
        type = result or args[0].type
        vector = self.type_of(args[0].type, varying)
        suffix = SHORT.get(args[0].type, args[0].type)
        full = f"{name}.v{self.lanes}{suffix}" if varying and self.lanes > 1 else f"{name}.{suffix}"
        types = [vector] * len(args) + ["i1"] * len(flags)
        returned = self.type_of(type, varying)
        self.declarations[full] = f"declare {returned} @{full}({', '.join(types)})"
        given = [self.typed(a, varying) for a in args] + [f"i1 {('false', 'true')[flag]}" for flag in flags]
        return self.define(type, varying, f"call {returned} @{full}({', '.join(given)})")

    def any(self, a: Operand) -> Operand:
        """Returns whether a condition holds in any lane: a uniform i1."""
        if not a.varying or self.lanes == 1:
            return Operand(a.text, I1, False, a.value)
        bits = self.define(f"i{self.lanes}", False, f"bitcast {self.typed(a)} to i{self.lanes}")
        return self.define(I1, False, f"icmp ne i{self.lanes} {bits.text}, 0")

    def function(self, name: str, parameters: Sequence[str], body: Callable[[], None]) -> None:
        """Writes a function beside this one, unless there is one of that name.

        Args:
            name: what it is called by.
            parameters: types and names.
            body: writes the instructions.
        """
        if name in self.functions:
            return
        outer = self.lines, self.block
        self.lines, self.block = [], "entry"
        body()
        given = ", ".join(parameters)
        head = f"define internal void @{name}({given}) #0 {{"
        self.functions[name] = [head, "entry:", *self.lines, "  ret void", "}"]
        self.lines, self.block = outer

    # ---- control flow

    def label(self, hint: str) -> str:
        """Returns a fresh block's name."""
        self.counter += 1
        return f"{hint}{self.counter}"

    def start(self, label: str) -> None:
        """Starts a block: instructions go there from here on."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """Branches to a block."""
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: Operand, if_true: str, if_false: str) -> None:
        """Branches to one of two blocks, for all lanes alike."""
        self.lines.append(f"  br i1 {condition.text}, label %{if_true}, label %{if_false}")

    def phi(self, type: str, varying: bool, incoming: Sequence[tuple[Operand, str]]) -> Operand:
        """Returns the operand that belongs to the block control came from."""
        pairs = ", ".join(f"[ {self.ref_constant(a, varying)}, %{block} ]" for a, block in incoming)
        return self.define(type, varying, f"phi {self.type_of(type, varying)} {pairs}")

    def ref_constant(self, a: Operand, varying: bool) -> str:
        """Returns `a` inside a phi, where no instruction can be inserted: already varying, or a constant."""
        if varying and not a.varying and self.lanes > 1 and a.value is None:
            raise AssertionError("a uniform operand must be spread before the end of its block")
        return self.ref(a, varying)

    def as_varying(self, operands: Sequence[Operand], varying: Sequence[bool]) -> list[Operand]:
        """Spreads operands over the lanes where `varying` says so."""
        return [self.splat(a) if w else a for a, w in zip(operands, varying, strict=True)]

    def if_(
        self,
        condition: Operand,
        then: Callable[[], list[Operand]],
        otherwise: Callable[[], list[Operand]],
        varying: Sequence[bool],
    ) -> list[Operand]:
        """Writes a real branch on a uniform condition; `varying` says which results are varying."""
        return self.choose([condition], [then, otherwise], varying)

    def choose(
        self, conditions: Sequence[Operand], makes: Sequence[Callable[[], list[Operand]]], varying: Sequence[bool]
    ) -> list[Operand]:
        """Writes a real branch for the first of some uniform conditions that holds.

        Args:
            conditions: one for each of `makes` but the last, which is taken where none holds.
            makes: what writes each branch and returns its results.
            varying: which results are varying.
        """
        labels = [(self.label("then"), self.label("else")) for _ in conditions]
        after = self.label("after")
        made: list[list[Operand]] = []
        blocks: list[str] = []

        def take(make: Callable[[], list[Operand]]) -> None:
            made.append(self.as_varying(make(), varying))
            blocks.append(self.block)
            self.jump(after)

        for condition, (yes, no), make in zip(conditions, labels, makes, strict=False):
            self.branch(condition, yes, no)
            self.start(yes)
            take(make)
            self.start(no)
        take(makes[-1])
        self.start(after)
        return [
            self.phi(results[0].type, w, list(zip(results, blocks, strict=True)))
            for *results, w in zip(*made, varying, strict=True)
        ]

    def while_(
        self,
        init: Sequence[Operand],
        condition: Callable[[list[Operand]], Operand],
        body: Callable[[list[Operand]], list[Operand]],
    ) -> list[Operand]:
        """Writes a loop; `init` decides whether what is carried is varying, `condition` must be uniform."""
        varying = [a.varying for a in init]
        head, inside, after = self.label("loop"), self.label("body"), self.label("done")
        before = self.block
        self.jump(head)
        self.start(head)
        carried = [Operand(self.name(), a.type, a.varying) for a in init]
        place = len(self.lines)
        self.branch(condition(carried), inside, after)
        self.start(inside)
        results = self.as_varying(body(carried), varying)
        latch = self.block
        self.jump(head)
        self.lines[place:place] = [
            f"  {c.text} = phi {self.type_of(c.type, c.varying)} [ {self.ref(a, a.varying)}, %{before} ], "
            f"[ {self.ref(r, r.varying)}, %{latch} ]"
            for c, a, r in zip(carried, init, results, strict=True)
        ]
        self.start(after)
        return carried

    def for_(
        self,
        count: Operand,
        init: Sequence[Operand],
        body: Callable[[Operand, list[Operand]], list[Operand]],
    ) -> list[Operand]:
        """Writes a loop of `count` (uniform i64) steps: the index and what is carried go in, what is carried
        comes out.
        """

        def step(carried: list[Operand]) -> list[Operand]:
            index, *rest = carried
            return [self.add(index, int_constant(1, I64)), *body(index, rest)]

        zero = Operand("0", I64)
        return self.while_([zero, *init], lambda c: self.icmp("slt", c[0], count), step)[1:]
