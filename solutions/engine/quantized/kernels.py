"""The engine's kernels: products with blocks of 4 and 8 bits, attention's two products, quantizing and the smaller steps between them.

The kernels know no model, only addresses. Rows of a weight are side by side, so lane r of a register is row r: a product with a weight
never sums across lanes, and a scale applies to all lanes at once.

A tile of a weight of 4 bits is `lanes` rows of one block. Register j of 4 holds, of a block's 32 weights, numbers 4j to 4j + 3 in its low
halves and 16 + 4j to 16 + 4j + 3 in its high halves, as Q4_1 itself has them. Then come the rows' scales and minima, float16 as in the
file. A tile of 8 bits has 8 registers of numbers from 0 to 255, 128 too large, and the rows' scales. An input is a row of blocks too: 32
numbers of 8 bits, their scale s, and s times their sum (BLOCK bytes).
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir

from .instruction_sets import Weights, instructions
from .vectors import F16, F32, I8, I32, I64, Code, Vector, written

BLOCK = 40
"""Bytes of a block of an input: 32 numbers, and two float32."""


def scales_of(code: Code, block: Vector) -> list[Vector]:
    """Load the scale of an input block, and the scale times the sum of its numbers, into every lane."""
    return [code.everywhere(code.load(block, F32, at)) for at in (32, 36)]


def bytes_of(code: Code, tile: Vector) -> Weights:
    """Load the eight registers of a tile of 8 bits."""
    return [(code.load(tile, code.vector(I32), 4 * code.lanes * j), 4 * j) for j in range(8)]


def nibbles(code: Code, tile: Vector) -> Weights:
    """Load the eight registers of a tile of 4 bits."""
    size, found = 4 * code.lanes, []
    for j in range(4):
        both = code.load(tile, code.vector(I32), size * j)
        found += [(both & 0x0F0F0F0F, 4 * j), ((both >> 4) & 0x0F0F0F0F, 16 + 4 * j)]
    return found


def product(bits: int, rows: int) -> Any:
    """Return the intrinsic that multiplies a tile by `rows` rows of input.

    out[row, r] is the product of the tile's row r and the input row `row`, summed over blocks. A block adds scale * s * (numbers . inputs)
    + minimum * s * sum(inputs) in 4 bits, and scale * s * ((numbers - 128) . inputs) in 8 bits.
    """

    def body(code: Code, tiles: Vector, inputs: Vector, stride: Vector, out: Vector, out_stride: Vector, blocks: Vector) -> None:
        halves, term, size = code.vector(F16), (term4, term8)[bits == 8], (20, 34)[bits == 8] * code.lanes

        def block(b: Vector, sums: list[Vector]) -> list[Vector]:
            tile = tiles + b * size
            weights = (nibbles, bytes_of)[bits == 8](code, tile)
            behind = [code.load(tile, halves, at * code.lanes).to_float() for at in range(4 * bits, size // code.lanes, 2)]
            return [term(code, weights, behind, inputs + stride * row + b * BLOCK, total) for row, total in enumerate(sums)]

        zero = code.constant(code.vector(F32), 0.0)
        for row, total in enumerate(code.loop(blocks, [zero] * rows, block)):
            code.store(total, out + out_stride * row)

    return written(body, f"product{bits}_{rows}")


def term4(code: Code, weights: Weights, scale_and_minimum: list[Vector], one: Vector, total: Vector) -> Vector:
    """Return total plus the product of a block of 4 bits with one block of an input."""
    scale, minimum = scale_and_minimum
    s, s_sum = scales_of(code, one)
    dot = instructions(code).dot4(code, weights, one).to_float()
    return code.fma(dot * s, scale, code.fma(minimum, s_sum, total))


def term8(code: Code, weights: Weights, scale: list[Vector], one: Vector, total: Vector) -> Vector:
    """Return total plus the product of a block of 8 bits with one block of an input."""
    s, s_sum = scales_of(code, one)
    return code.fma(instructions(code).dot8(code, weights, one, s, s_sum), scale[0], total)


@written
def quantize(code: Code, x: Vector, to: Vector, blocks: Vector) -> None:
    """Quantize rows of 32 float32 to input blocks. The largest absolute value becomes 127."""
    lanes = code.lanes

    def block(b: Vector, _: list[Vector]) -> list[Vector]:
        parts = [code.load(x + b * 128, code.vector(F32), 4 * lanes * i) for i in range(32 // lanes)]
        sizes = [code.unary("fabs", part) for part in parts]
        widest = sizes[0]
        for size in sizes[1:]:
            widest = code.largest(widest, size)
        peak = code.over_lanes("fmax", widest)
        inverse = code.everywhere(code.constant(F32, 127.0) / code.largest(peak, 1e-30))
        numbers = [code.rounded(part * inverse) for part in parts]
        total = numbers[0]
        for number in numbers[1:]:
            total = total + number
        for i, number in enumerate(numbers):
            code.store(number.to_whole(I8), to + b * BLOCK, lanes * i)
        s = peak * (1 / 127)
        code.store(s, to + b * BLOCK, 32)
        code.store(s * code.over_lanes("add", total).to_float(), to + b * BLOCK, 36)
        return []

    code.loop(blocks, [], block)



@written
def swiglu(code: Code, gate: Vector, up: Vector, out: Vector, count: Vector) -> None:
    """Compute out = gate / (1 + e^-gate) * up, for `count` registers."""

    def one(i: Vector, _: list[Vector]) -> list[Vector]:
        at = i * (4 * code.lanes)
        z = code.load(gate, code.vector(F32), at)
        code.store(z / (code.exp(z * -1.0) + 1.0) * code.load(up, code.vector(F32), at), out, at)
        return []

    code.loop(count, [], one)



def scores(queries: int) -> Any:
    """Return the intrinsic that computes out[query, key] = q . k for `queries` queries and `blocks` blocks of keys.

    A block has `lanes` keys side by side: block b is (head_dim, lanes) float16. q: `queries` rows of head_dim float32, already scaled. out:
    rows of `width` bytes.
    """

    def body(code: Code, q: Vector, keys: Vector, out: Vector, width: Vector, head_dim: Vector, blocks: Vector) -> None:
        lanes, zero = code.lanes, code.constant(code.vector(F32), 0.0)

        def block(b: Vector, _: list[Vector]) -> list[Vector]:
            first = keys + b * head_dim * (2 * lanes)

            def dimension(i: Vector, sums: list[Vector]) -> list[Vector]:
                for step in range(4):
                    at = i * 4 + step
                    k = code.load(first, code.vector(F16), at * (2 * lanes)).to_float()
                    sums = [code.fma(code.everywhere(code.load(q + head_dim * (4 * n), F32, at * 4)), k, s) for n, s in enumerate(sums)]
                return sums

            quarter = head_dim >> 2
            for n, total in enumerate(code.loop(quarter, [zero] * queries, dimension)):
                code.store(total, out + width * n, b * (4 * lanes))
            return []

        code.loop(blocks, [], block)

    return written(body, f"scores_{queries}")


def mixed(queries: int) -> Any:
    """Return the intrinsic that computes out[query] = sum over keys of p[query, key] * values[key].

    The intrinsic covers 64 of the head_dim dimensions, beginning at the addresses `values` and `out`. values: rows of head_dim float16. p:
    rows of `width` bytes. out: rows of head_dim float32.
    """

    def body(code: Code, p: Vector, values: Vector, out: Vector, width: Vector, head_dim: Vector, count: Vector) -> None:
        lanes, zero = code.lanes, code.constant(code.vector(F32), 0.0)
        parts = min(64 // lanes, 4)  # registers for each query at one time

        for half in range(64 // lanes // parts):
            begin = half * parts * lanes

            def key(j: Vector, sums: list[Vector], begin: int = begin) -> list[Vector]:
                row = values + j * head_dim * 2
                v = [code.load(row, code.vector(F16), 2 * (begin + lanes * i)).to_float() for i in range(parts)]
                after = []
                for n in range(queries):
                    weight = code.everywhere(code.load(p + width * n, F32, j * 4))
                    after += [code.fma(weight, v[i], sums[n * parts + i]) for i in range(parts)]
                return after

            for k, total in enumerate(code.loop(count, [zero] * (queries * parts), key)):
                n, i = divmod(k, parts)
                code.store(total, out + head_dim * (4 * n), 4 * (begin + lanes * i))

    return written(body, f"mixed_{queries}")


@written
def softmax(code: Code, row: Vector, blocks: Vector) -> None:
    """Compute the softmax over `blocks` registers of float32, in place; -inf becomes at most 1.3e-38."""
    typ = code.vector(F32)

    def widest(b: Vector, peak: list[Vector]) -> list[Vector]:
        return [code.largest(peak[0], code.load(row, typ, b * (4 * code.lanes)))]

    (peak,) = code.loop(blocks, [code.constant(typ, -3e38)], widest)
    top = code.everywhere(code.over_lanes("fmax", peak))

    def power(b: Vector, total: list[Vector]) -> list[Vector]:
        e = code.exp(code.load(row, typ, b * (4 * code.lanes)) - top)
        code.store(e, row, b * (4 * code.lanes))
        return [total[0] + e]

    (total,) = code.loop(blocks, [code.constant(typ, 0.0)], power)
    inverse = code.everywhere(code.constant(F32, 1.0) / code.over_lanes("fadd", total))

    def share(b: Vector, _: list[Vector]) -> list[Vector]:
        code.store(code.load(row, typ, b * (4 * code.lanes)) * inverse, row, b * (4 * code.lanes))
        return []

    code.loop(blocks, [], share)



@written
def to_half(code: Code, x: Vector, to: Vector, stride: Vector, count: Vector) -> None:
    """Convert `count` float32 to float16, each written `stride` bytes after the previous one."""

    def one(i: Vector, _: list[Vector]) -> list[Vector]:
        code.store(code.load(x, F32, i * 4).to_half(), to, i * stride)
        return []

    code.loop(count, [], one)


@written
def from_half(code: Code, half: Vector, to: Vector) -> None:
    """Convert one float16 to float32."""
    code.store(code.load(half, F16).to_float(), to)



@written
def meet(code: Code, barrier: Vector, threads: Vector) -> None:
    """Wait until all threads have called this function.

    barrier: the number of waiting threads as int64, and 64 bytes later the number of the round.
    """
    builder, one = code.builder, ir.Constant(I64, 1)
    waiting = builder.inttoptr(barrier.value, I64.as_pointer())
    rounds = builder.inttoptr((barrier + 64).value, I64.as_pointer())
    before = builder.load_atomic(rounds, "acquire", 8)
    place = builder.atomic_rmw("add", waiting, one, "acq_rel")
    last, spin, again, rest, out = (builder.append_basic_block(name) for name in ("last", "spin", "again", "rest", "out"))
    entry = builder.block
    builder.cbranch(builder.icmp_signed("==", place, builder.sub(threads.value, one)), last, spin)
    builder.position_at_end(last)
    builder.store_atomic(ir.Constant(I64, 0), waiting, "release", 8)
    builder.atomic_rmw("add", rounds, one, "acq_rel")
    builder.branch(out)
    builder.position_at_end(spin)
    turns = builder.phi(I64)
    turns.add_incoming(ir.Constant(I64, 0), entry)
    now = builder.load_atomic(rounds, "acquire", 8)
    builder.cbranch(builder.icmp_signed("==", now, before), again, out)
    builder.position_at_end(again)
    instructions(code).pause(code)
    more = builder.add(turns, one)
    # A thread that the others wait for may have lost its core: let it have this one.
    builder.cbranch(builder.icmp_signed("==", builder.and_(more, ir.Constant(I64, 4095)), ir.Constant(I64, 0)), rest, spin)
    turns.add_incoming(more, again)
    builder.position_at_end(rest)
    code.call("sched_yield", I32)
    turns.add_incoming(more, rest)
    builder.branch(spin)
    builder.position_at_end(out)


product4_2, product4_4, product4_8 = (product(4, rows) for rows in (2, 4, 8))
product8_2, product8_4, product8_8 = (product(8, rows) for rows in (2, 4, 8))
scores_1, scores_2, scores_3, scores_4 = (scores(queries) for queries in (1, 2, 3, 4))
mixed_1, mixed_2, mixed_3, mixed_4 = (mixed(queries) for queries in (1, 2, 3, 4))
