"""LLVM vectors with Python operators: `a * b + c` writes the instructions, one for all lanes.

numba compiles loops well, but cannot express the two instructions that a quantized product depends on. An `@intrinsic` may write LLVM's own
language; this module makes such code readable.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

I8, I16, I32, I64, F16, F32 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.HalfType(), ir.FloatType()


class Vector:
    """A value of LLVM: a vector with the lanes of its type, or a single value.

    + - * / are for integers or floats, & | ^ << >> for integers; >> fills with zeros.
    """

    def __init__(self, code: Code, value: ir.Value) -> None:
        self.code, self.value = code, value

    @property
    def type(self) -> Any:
        return self.value.type

    def _with(self, other: Vector | float, integers: str, floats: str) -> Vector:
        element = getattr(self.type, "element", self.type)
        name = integers if isinstance(element, ir.IntType) else floats
        return Vector(self.code, getattr(self.code.builder, name)(self.value, self.code.like(self, other).value))

    def __add__(self, other: Vector | float) -> Vector:
        return self._with(other, "add", "fadd")

    def __sub__(self, other: Vector | float) -> Vector:
        return self._with(other, "sub", "fsub")

    def __mul__(self, other: Vector | float) -> Vector:
        return self._with(other, "mul", "fmul")

    def __truediv__(self, other: Vector | float) -> Vector:
        return self._with(other, "sdiv", "fdiv")

    def __and__(self, other: Vector | int) -> Vector:
        return self._with(other, "and_", "")

    def __or__(self, other: Vector | int) -> Vector:
        return self._with(other, "or_", "")

    def __xor__(self, other: Vector | int) -> Vector:
        return self._with(other, "xor", "")

    def __rshift__(self, other: Vector | int) -> Vector:
        return self._with(other, "lshr", "")

    def __lshift__(self, other: Vector | int) -> Vector:
        return self._with(other, "shl", "")

    def bits_as(self, typ: ir.Type) -> Vector:
        """Return the same bits, read as another type."""
        return Vector(self.code, self.code.builder.bitcast(self.value, typ))

    def _of(self, element: ir.Type) -> ir.Type:
        """Return the type with the same lanes and another element."""
        return ir.VectorType(element, self.type.count) if isinstance(self.type, ir.VectorType) else element

    def to_float(self) -> Vector:
        """Convert int32 or float16 to float32."""
        convert = self.code.builder.fpext if self.type == self._of(F16) else self.code.builder.sitofp
        return Vector(self.code, convert(self.value, self._of(F32)))

    def to_half(self) -> Vector:
        """Convert float32 to float16."""
        return Vector(self.code, self.code.builder.fptrunc(self.value, self._of(F16)))

    def to_whole(self, element: ir.Type = I32) -> Vector:
        """Convert float32 with whole values to integers, or int32 to narrower integers."""
        convert = self.code.builder.fptosi if self.type == self._of(F32) else self.code.builder.trunc
        return Vector(self.code, convert(self.value, self._of(element)))


@dataclass
class Code:
    """The code being written: loads, stores, loops, and the calls of LLVM's own functions."""

    builder: ir.IRBuilder
    lanes: int

    def vector(self, element: ir.Type, times: int = 1) -> ir.VectorType:
        """Return the type of `lanes * times` elements.

        With times = 1, float32 and int32 fill a register; narrower numbers need a larger `times` to fill one.
        """
        return ir.VectorType(element, self.lanes * times)

    def constant(self, typ: ir.Type, value: float) -> Vector:
        return Vector(self, ir.Constant(typ, [value] * typ.count if isinstance(typ, ir.VectorType) else value))

    def like(self, first: Vector, value: Vector | float) -> Vector:
        """Return the value in the type of `first`. Numbers and single values are copied to every lane."""
        if not isinstance(value, Vector):
            return self.constant(first.type, value)
        return value if value.type == first.type else self.everywhere(value, first.type.count)

    def lane(self, value: Vector, which: int) -> Vector:
        """Return a register with one lane of `value` copied to all lanes."""
        mask = ir.Constant(ir.VectorType(I32, value.type.count), [which] * value.type.count)
        return Vector(self, self.builder.shuffle_vector(value.value, value.value, mask))

    def everywhere(self, value: Vector, lanes: int | None = None) -> Vector:
        """Return a register with one value in all lanes."""
        typ = ir.VectorType(value.type, lanes or self.lanes)
        nothing = ir.Constant(typ, ir.Undefined)
        first = self.builder.insert_element(nothing, value.value, ir.Constant(I32, 0))
        return Vector(self, self.builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(I32, typ.count), [0] * typ.count)))

    def load(self, address: Vector, typ: ir.Type, offset: Vector | int = 0) -> Vector:
        """Load the value `offset` bytes after the address, aligned or not."""
        return Vector(self, self.builder.load(self._pointer(address, typ, offset), align=1))

    def store(self, value: Vector, address: Vector, offset: Vector | int = 0) -> None:
        self.builder.store(value.value, self._pointer(address, value.type, offset), align=1)

    def _pointer(self, address: Vector, typ: ir.Type, offset: Vector | int) -> ir.Value:
        return self.builder.inttoptr((address + offset).value, typ.as_pointer())

    def call(self, name: str, result: ir.Type, *values: Vector) -> Vector:
        """Call a function of LLVM by its name."""
        signature = ir.FunctionType(result, [value.type for value in values])
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)
        return Vector(self, self.builder.call(function, [value.value for value in values]))

    def name(self, typ: ir.Type) -> str:
        """Return a type's spelling in LLVM's function names: v16f32."""
        if isinstance(typ, ir.VectorType):
            return f"v{typ.count}{self.name(typ.element)}"
        return f"i{typ.width}" if isinstance(typ, ir.IntType) else {F32: "f32", F16: "f16"}[typ]

    def fma(self, a: Vector, b: Vector, c: Vector) -> Vector:
        """Compute a * b + c, rounded once."""
        a, b = self.like(c, a), self.like(c, b)
        return self.call(f"llvm.fma.{self.name(c.type)}", c.type, a, b, c)

    def unary(self, name: str, value: Vector) -> Vector:
        return self.call(f"llvm.{name}.{self.name(value.type)}", value.type, value)

    def largest(self, a: Vector, b: Vector | float) -> Vector:
        return self.call(f"llvm.maxnum.{self.name(a.type)}", a.type, a, self.like(a, b))

    def smallest(self, a: Vector, b: Vector | float) -> Vector:
        return self.call(f"llvm.minnum.{self.name(a.type)}", a.type, a, self.like(a, b))

    def rounded(self, value: Vector) -> Vector:
        """Round to the nearest whole number, int32; ties to even."""
        return self.unary("rint", value).to_whole()

    def over_lanes(self, how: str, value: Vector) -> Vector:
        """Reduce all lanes to one value by "fmax", "add" or "fadd"."""
        element = value.type.element
        name = f"llvm.vector.reduce.{how}.{self.name(value.type)}"
        if how != "fadd":
            return self.call(name, element, value)
        signature = ir.FunctionType(F32, [F32, value.type])
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)
        return Vector(self, self.builder.call(function, [ir.Constant(F32, -0.0), value.value], fastmath=("reassoc",)))

    def loop(self, count: Vector, starts: Sequence[Vector], body: Callable[[Vector, list[Vector]], Sequence[Vector]]) -> list[Vector]:
        """Write `for i in range(count): values = body(i, values)`, starting with `starts`, and return the final values.

        count must be above 0.
        """
        builder = self.builder
        before = builder.block
        inside, behind = builder.append_basic_block("loop"), builder.append_basic_block("behind")
        builder.branch(inside)
        builder.position_at_end(inside)
        i = builder.phi(I64)
        i.add_incoming(ir.Constant(I64, 0), before)
        values = []
        for start in starts:
            value = builder.phi(start.type)
            value.add_incoming(start.value, before)
            values.append(value)
        after = body(Vector(self, i), [Vector(self, value) for value in values])
        following = builder.add(i, ir.Constant(I64, 1))
        i.add_incoming(following, builder.block)
        for value, changed in zip(values, after, strict=True):
            value.add_incoming(changed.value, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, count.value), inside, behind)
        builder.position_at_end(behind)
        return list(after)

    def exp(self, x: Vector) -> Vector:
        """Compute e^x to 2 units in the last place for x from -87.3 to 88; an x outside is clamped to this range.

        The result is 2^n for the nearest whole n, times a polynomial for the rest.
        """
        x = self.smallest(self.largest(x, -87.3), 88.0)
        n = self.unary("rint", x * 1.4426950408889634)
        rest = self.fma(n, self.constant(x.type, 2.12194440e-4), self.fma(n, self.constant(x.type, -0.693359375), x))
        y = self.constant(x.type, 1.9875691500e-4)  # Cephes' expf
        for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
            y = self.fma(y, rest, self.constant(x.type, c))
        y = self.fma(y, rest * rest, rest + 1.0)
        return y * ((n.to_whole() + 127) << 23).bits_as(x.type)


def written(body: Callable[..., None], name: str = "", kind: type[Code] = Code) -> Any:
    """Return an intrinsic of numba that body(code, ...) writes.

    The intrinsic's arguments are the instruction set and the body's addresses and counts. kind: the class of the code, for a subclass that
    replaces calls.
    """
    name, count = name or body.__name__, len(inspect.signature(body).parameters) - 1
    names = ", ".join(f"a{i}" for i in range(count))

    def typed(typingctx: Any, isa: Any, *given: Any) -> Any:
        signature = types.void(isa, *[types.intp] * count)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            code = kind(builder, isa.count)
            body(code, *(Vector(code, value) for value in args[1:]))
            return context.get_dummy_value()

        return signature, generate

    scope: dict[str, Any] = {"typed": typed}
    exec(f"def {name}(typingctx, isa, {names}): return typed(typingctx, isa, {names})", scope)
    scope[name].body = body  # for who writes it elsewhere: tests, for a processor that is not here
    return intrinsic(scope[name])
