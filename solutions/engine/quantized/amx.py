"""Products and attention of many rows by AMX, whose registers have 16 rows of 64 bytes; one instruction multiplies two registers.

The instruction multiplies bfloat16 and adds in float32. So each number is two bfloat16: the nearest one, its high part, and the nearest one
to the rest, its low part; together they have 16 bits. A product is three products of parts: high by high, low by high, high by low.

The operands of 16 rows are two registers for each 32 numbers of a row, one of high parts and one of low parts. A row of inputs has 16 pairs
in a register: pair i is numbers i and 16 + i. Row i of a register of weights has pair i of 16 rows of the weight, side by side. Weights are
unpacked from the file's blocks in each pass, so there is no second copy of them. In attention, keys and values are the weights.

A row's sums are always taken in the same order. So they do not depend on the other rows, to the last bit. They differ from exact sums by
at most 2^-14 of the sum of the products' absolute values: 3 * 2^-16 for the parts that are left out, and the rest for float32's rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numpy.typing import NDArray

from .compiled import compile_once
from .vectors import F16, F32, I8, I32, I64, Code, Vector, written

SIDE = 16
"""Rows of a register, and columns of a register of sums."""
SIZE = 1024
"""Bytes of a register."""
HIGH, LOW = 0, SIZE
"""Places of the parts in an operand."""


def configuration() -> NDArray[np.uint8]:
    """Return the 64 bytes that `configure` reads: all eight registers have 16 rows of 64 bytes."""
    made = np.zeros(64, np.uint8)
    made[0] = 1
    made[16:32:2] = 64
    made[48:56] = SIDE
    return made


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros at an address that is a multiple of 64. Loading operands from other addresses takes several times as long."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, np.uint8)
    begin = -room.ctypes.data % 64
    return room[begin : begin + size].view(dtype).reshape(shape)


# ---- the instructions ----------------------------------------------------------------------------------------------


def do(code: Code, name: str, *values: Vector) -> None:
    """Write an instruction, given by LLVM's name for it."""
    code.call(f"llvm.x86.{name}", ir.VoidType(), *values)


def number(code: Code, register: int) -> Vector:
    return code.constant(I8, register)


def at(code: Code, address: Vector) -> Vector:
    return Vector(code, code.builder.inttoptr(address.value, I8.as_pointer()))


def clear(code: Code, register: int) -> None:
    do(code, "tilezero", number(code, register))


def load(code: Code, register: int, address: Vector) -> None:
    do(code, "tileloadd64", number(code, register), at(code, address), code.constant(I64, 64))


def store(code: Code, register: int, address: Vector, stride: Vector) -> None:
    """Store 16 rows, each `stride` bytes after the previous row."""
    do(code, "tilestored64", number(code, register), at(code, address), stride)


def add_product(code: Code, sums: int, inputs: int, weights: int) -> None:
    """Add the products of 16 rows of inputs with 16 rows of weights, over 32 numbers, to 16 x 16 sums."""
    do(code, "tdpbf16ps", *(number(code, register) for register in (sums, inputs, weights)))


@written
def configure(code: Code, config: Vector) -> None:
    """Set the registers' shapes for this thread. Any other AMX instruction before this call ends the process."""
    do(code, "ldtilecfg", at(code, config))


@written
def release(code: Code) -> None:
    """Free the registers of this thread, so the system need no longer save them."""
    do(code, "tilerelease")


# ---- operands ------------------------------------------------------------------------------------------------------


def to_parts(code: Code, pair: Sequence[Vector], to: Vector, offset: int = 0) -> None:
    """Store pairs of two float32 registers as bfloat16 parts, the low parts SIZE bytes after the high parts."""
    ints, highest = code.vector(I32), -0x10000

    def nearest(values: Sequence[Vector]) -> list[Vector]:
        """Round to bfloat16 by adding half of its last bit. The lower bits are not cleared."""
        return [value.bits_as(ints) + 0x8000 for value in values]

    def pairs(a: Vector, b: Vector) -> Vector:
        return (a >> 16) | (b & highest)

    high = nearest(pair)
    rest = [value - (bits & highest).bits_as(value.type) for value, bits in zip(pair, high, strict=True)]
    code.store(pairs(*high), to, offset + HIGH)
    code.store(pairs(*nearest(rest)), to, offset + LOW)


@written
def split(code: Code, x: Vector, x_stride: Vector, rows: Vector, groups: Vector, to: Vector, stride: Vector) -> None:
    """Split rows of 32 * groups float32, x_stride bytes each, into operands.

    The operands of the next 16 rows begin `stride` bytes later.
    """

    def row(r: Vector, _: list[Vector]) -> list[Vector]:
        here, there = x + r * x_stride, to + (r >> 4) * stride + (r & 15) * 64

        def group(i: Vector, _: list[Vector]) -> list[Vector]:
            to_parts(code, [code.load(here + i * 128, code.vector(F32), 64 * half) for half in range(2)], there + i * (2 * SIZE))
            return []

        code.loop(groups, [], group)
        return []

    code.loop(rows, [], row)


@written
def unpack(code: Code, tiles: Vector, panel: Vector, blocks: Vector) -> None:
    """Unpack 16 rows of a 4-bit weight, `blocks` tiles, into one operand for each block.

    Each operand is four registers after the previous one. A byte of a tile contains a pair of numbers q of four bits. The four bits of q
    become the highest bits of a float's fraction. This float is 16 + q, and one fused multiply-add turns it into the weight.
    """
    halves, ints, floats = code.vector(F16), code.vector(I32), code.vector(F32)

    def block(b: Vector, _: list[Vector]) -> list[Vector]:
        tile, to = tiles + b * (20 * SIDE), panel + b * (4 * SIZE)
        scale = code.load(tile, halves, 16 * SIDE).to_float()
        minimum = code.fma(scale, code.constant(floats, -16.0), code.load(tile, halves, 18 * SIDE).to_float())
        for j in range(4):
            four = code.load(tile, ints, 4 * SIDE * j)
            for byte in range(4):
                pair = []
                for bit in (8 * byte, 8 * byte + 4):
                    moved = four << 19 - bit if bit <= 19 else four >> bit - 19
                    sixteen_and_q = ((moved & 0xF << 19) | 0x41800000).bits_as(floats)
                    pair.append(code.fma(sixteen_and_q, scale, minimum))
                to_parts(code, pair, to, 64 * (4 * j + byte))
        return []

    code.loop(blocks, [], block)


# ---- products ------------------------------------------------------------------------------------------------------


def products(sets: int) -> Any:
    """Return the intrinsic that multiplies `sets` sets of 16 rows of inputs by 32 rows of a weight, over `groups` groups of 32 numbers.

    inputs: the operands of the first set; the operands of the second set begin `stride` bytes later. panel: for each group, the operands of
    two sets of 16 rows of the weight. out: rows of float32, `out_stride` bytes each.
    """

    def body(code: Code, inputs: Vector, stride: Vector, panel: Vector, groups: Vector, out: Vector, out_stride: Vector) -> None:
        sums = [(2 * s + n, s, n) for s in range(sets) for n in range(2)]
        for register, _, _ in sums:
            clear(code, register)

        def group(g: Vector, _: list[Vector]) -> list[Vector]:
            x, w = inputs + g * (2 * SIZE), panel + g * (4 * SIZE)

            def load_inputs(part: int) -> None:
                for s in range(sets):
                    load(code, 4 + s, x + stride * s + part)

            def load_weights(part: int) -> None:
                for n in range(2):
                    load(code, 6 + n, w + (2 * SIZE * n + part))

            def multiply() -> None:
                for register, s, n in sums:
                    add_product(code, register, 4 + s, 6 + n)

            load_inputs(HIGH)
            load_weights(LOW)
            multiply()
            load_weights(HIGH)
            multiply()
            load_inputs(LOW)
            multiply()
            return []

        code.loop(groups, [], group)
        for register, s, n in sums:
            store(code, register, out + out_stride * (SIDE * s) + 64 * n, out_stride)

    return written(body, f"products_{sets}")


products_1, products_2 = (products(sets) for sets in (1, 2))


# ---- attention of 16 rows ------------------------------------------------------------------------------------------


@written
def unpack_keys(code: Code, keys: Vector, panel: Vector, sets: Vector) -> None:
    """Unpack sets of 16 keys, (64, 16) float16, into two operands each.

    An operand has 32 numbers of all 16 keys. No bit is lost.
    """
    halves = code.vector(F16)

    def one(s: Vector, _: list[Vector]) -> list[Vector]:
        for group in range(2):
            for i in range(16):
                row = keys + (s * 64 + 32 * group + i) * (2 * SIDE)
                pair = [code.load(row, halves, 2 * SIDE * 16 * half).to_float() for half in range(2)]
                to_parts(code, pair, panel + s * (4 * SIZE), 2 * SIZE * group + 64 * i)
        return []

    code.loop(sets, [], one)


@written
def unpack_values(code: Code, values: Vector, panel: Vector, groups: Vector) -> None:
    """Unpack groups of 32 values, (32, 64) float16, into four operands each.

    An operand has 16 numbers of all 32 values. No bit is lost.
    """
    halves = code.vector(F16)

    def group(g: Vector, _: list[Vector]) -> list[Vector]:
        for i in range(16):
            for n in range(4):
                pair = [code.load(values + (g * 32 + 16 * half + i) * 128, halves, 32 * n).to_float() for half in range(2)]
                to_parts(code, pair, panel + g * (8 * SIZE), 2 * SIZE * n + 64 * i)
        return []

    code.loop(groups, [], group)


@written
def scores_by_amx(code: Code, queries: Vector, panel: Vector, out: Vector, out_stride: Vector, groups: Vector) -> None:
    """Compute out[query, key] = q . k for 16 queries (two operands) and groups of 32 keys."""
    for i in range(4):
        load(code, 2 + i, queries + SIZE * i)

    def group(g: Vector, _: list[Vector]) -> list[Vector]:
        for n in range(2):
            clear(code, n)
        for half in range(2):
            for weights, inputs in ((LOW, [HIGH]), (HIGH, [HIGH, LOW])):
                for n in range(2):
                    load(code, 6 + n, panel + g * (8 * SIZE) + (4 * SIZE * n + 2 * SIZE * half + weights))
                for part in inputs:
                    for n in range(2):
                        add_product(code, n, 2 + 2 * half + part // SIZE, 6 + n)
        for n in range(2):
            store(code, n, out + g * 128 + 64 * n, out_stride)
        return []

    code.loop(groups, [], group)


@written
def powers(code: Code, row: Vector, groups: Vector, to: Vector, inverse: Vector) -> None:
    """Compute e^(score - largest) for a row of groups of 32 scores, as a row of operands, and the inverse of the sum."""
    floats = code.vector(F32)

    def widest(g: Vector, peaks: list[Vector]) -> list[Vector]:
        return [code.largest(peak, code.load(row + g * 128, floats, 64 * half)) for half, peak in enumerate(peaks)]

    peaks = code.loop(groups, [code.constant(floats, -3e38)] * 2, widest)
    top = code.everywhere(code.over_lanes("fmax", code.largest(*peaks)))

    def power(g: Vector, totals: list[Vector]) -> list[Vector]:
        pair = [code.exp(code.load(row + g * 128, floats, 64 * half) - top) for half in range(2)]
        to_parts(code, pair, to + g * (2 * SIZE))
        return [total + each for total, each in zip(totals, pair, strict=True)]

    first, second = code.loop(groups, [code.constant(floats, 0.0)] * 2, power)
    code.store(code.constant(F32, 1.0) / code.over_lanes("fadd", first + second), inverse)


@written
def mixed_by_amx(code: Code, shares: Vector, panel: Vector, out: Vector, groups: Vector) -> None:
    """Compute out[query] = sum over keys of shares[query, key] * values[key]: 16 queries, groups of 32 keys, 64 dimensions."""
    for n in range(4):
        clear(code, n)

    def group(g: Vector, _: list[Vector]) -> list[Vector]:
        for part in (HIGH, LOW):
            load(code, 4 + part // SIZE, shares + g * (2 * SIZE) + part)
        for pair in (0, 2):
            for weights, inputs in ((LOW, [HIGH]), (HIGH, [HIGH, LOW])):
                for n in range(2):
                    load(code, 6 + n, panel + g * (8 * SIZE) + (2 * SIZE * (pair + n) + weights))
                for part in inputs:
                    for n in range(2):
                        add_product(code, pair + n, 4 + part // SIZE, 6 + n)
        return []

    code.loop(groups, [], group)
    for n in range(4):
        store(code, n, out + 64 * n, code.constant(I64, 256))


# ---- whole steps ---------------------------------------------------------------------------------------------------


@compile_once
def multiply4_by_amx(isa, tiles, first, last, operands, rows, panel, out, blocks):
    """Multiply tiles first to last - 1 of a 4-bit weight by the first rows of operands, into out.

    The number of tiles must be even. Rows of out up to the next multiple of 16 are overwritten.
    """
    stride, weights, out_stride = operands.strides[0], panel.ctypes.data, out.strides[0]
    for tile in range(first, last, 2):
        for n in range(2):
            unpack(isa, tiles + (tile + n) * blocks * 20 * SIDE, panel[0, n].ctypes.data, blocks)
        for r in range(0, rows, 2 * SIDE):
            x, to = operands[r // SIDE].ctypes.data, out[r:].ctypes.data + (tile - first) * 4 * SIDE
            if rows - r > SIDE:
                products_2(isa, x, stride, weights, blocks, to, out_stride)
            else:
                products_1(isa, x, stride, weights, blocks, to, out_stride)


@compile_once
def attend_by_amx(isa, q, length, key_panel, value_panel, queries, shares, scores, mixed):
    """Attend with up to 16 rows q of one head to the keys and values in the panels -> mixed (16, 64).

    The first row sees `length` keys, and each following row sees one more. Keys that a row does not see have a share of exactly 0, so the
    row's result does not depend on the other rows.
    """
    rows, factors = len(q), np.empty(SIDE, np.float32)
    groups = (length + rows + 30) // 32
    split(isa, q.ctypes.data, q.strides[0], rows, 2, queries.ctypes.data, 0)
    scores_by_amx(isa, queries.ctypes.data, key_panel.ctypes.data, scores.ctypes.data, scores.strides[0], groups)
    for i in range(rows):
        end = length + i
        own = (end + 31) // 32
        for j in range(end, 32 * own):
            scores[i, j] = np.float32(-3e38)
        powers(isa, scores[i].ctypes.data, own, shares[0, 0, i].ctypes.data, factors[i:].ctypes.data)
        for j in range(end, 32 * groups):
            place = 2 * (j % 16) + j % 32 // 16
            shares[j // 32, 0, i, place] = 0
            shares[j // 32, 1, i, place] = 0
    mixed_by_amx(isa, shares.ctypes.data, value_panel.ctypes.data, mixed.ctypes.data, groups)
    for i in range(rows):
        for j in range(64):
            mixed[i, j] *= factors[i]
