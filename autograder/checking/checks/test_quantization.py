"""Visible checks of quantization."""

from __future__ import annotations

import math

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.base.wording import counted
from autograder.checking.checks.test_transformer import small_config
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.quantized import (
    affine_case,
    float32s,
    linear_case,
    matrix,
    numbers,
    parts,
    q4_1_by_hand,
    q8_0_by_hand,
    random_blocks,
    rounded,
    same,
    symmetric_case,
    was_floating,
    weights_of,
)
from course.kit import Config


def uint8(values):
    return torch.tensor(values, dtype=torch.uint8)


def moved(x):
    """The same numbers, in memory as a model has them after an exchange of two dimensions: no row comes after the one before."""
    return x.transpose(0, 1).contiguous().transpose(0, 1)


# ---- quantize_absmax -----------------------------------------------------------------------------------------------


@checks("quantize_absmax", weight=2)
def test_symmetric_by_hand(student, hand):
    """five numbers in 8 bits, worked out by hand"""
    case = hand["absmax"]
    q, scale = parts(student.quantize_absmax(torch.tensor(case["x"]), _unchanged=True), "q", "scale")
    float32s(scale, [case["scale"]], "wrong scale")
    numbers(q, case["q"], torch.int8)


@checks("quantize_absmax")
def test_symmetric_ties(student, hand):
    """ties are rounded half to even: 0.5 to 0, 1.5 and 2.5 to 2"""
    case = hand["ties"]
    q, _ = parts(student.quantize_absmax(torch.tensor(case["x"])), "q", "scale")
    numbers(q, case["q"], torch.int8)


@checks("quantize_absmax", weight=2)
def test_a_scale_for_each_row(student, rng):
    """each row of the last dimension has its own scale, in any shape and memory layout of x"""
    for shape in ((3, 6), (2, 3, 5), (2, 4, 32), (1, 40), (2, 3, 4, 6)):
        x, q, scale = symmetric_case(rng, *shape)
        got, its_scale = parts(student.quantize_absmax(x), "q", "scale")
        float32s(its_scale, scale, f"wrong scale for x of shape {shape}")
        numbers(got, q, torch.int8, f"wrong q for x of shape {shape}")
    x, q, scale = symmetric_case(rng, 4, 3, 7)
    got, its_scale = parts(student.quantize_absmax(moved(x)), "q", "scale")
    float32s(its_scale, scale, "wrong scale for an x that is not contiguous")
    numbers(got, q, torch.int8, "wrong q for an x that is not contiguous")


@checks("quantize_absmax")
def test_symmetric_in_few_bits(student, rng):
    """2, 3, 5, 6 and 7 bits: `bits` sets the number of steps"""
    for bits in (2, 3, 5, 6, 7):
        x, q, scale = symmetric_case(rng, 3, 11, bits=bits)
        got, its_scale = parts(student.quantize_absmax(x, bits), "q", "scale")
        float32s(its_scale, scale, f"wrong scale in {bits} bits")
        numbers(got, q, torch.int8, f"wrong q in {bits} bits")


@checks("quantize_absmax")
def test_symmetric_from_narrow_numbers(student):
    """x in float16, bfloat16 or float64: the scale is a float32 of full precision"""
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x = torch.tensor([[0.7, -0.05, 0.31, -0.6], [-9.0, 2.2, 5.0, 8.1]]).to(dtype)
        scale = x.double().abs().amax(dim=-1, keepdim=True) / 127
        got, its_scale = parts(student.quantize_absmax(x), "q", "scale")
        float32s(its_scale, scale, f"wrong scale for x in {dtype}", rtol=1e-6)
        numbers(got, (x.double() / scale).round(), torch.int8, f"wrong q for x in {dtype}")


@checks("quantize_absmax")
def test_an_outlier(student, hand):
    """4 bits: beside one outlier, the other 31 numbers are rounded to 0"""
    case = hand["outlier"]
    rest = torch.arange(1, 32) / 100
    q, scale = parts(student.quantize_absmax(torch.cat((rest, torch.tensor([case["outlier"]]))), bits=4), "q", "scale")
    float32s(scale, [case["scale"]], "wrong scale in 4 bits")
    numbers(q, [0] * 31 + [7], torch.int8, "wrong q in 4 bits")
    q, scale = parts(student.quantize_absmax(rest, 4), "q", "scale")
    float32s(scale, [case["scale_without"]], "wrong scale in 4 bits, without the outlier")
    numbers(q[:3], case["first_three"], torch.int8, "wrong first three of q in 4 bits, without the outlier")


@checks("quantize_absmax")
def test_an_outlier_in_a_long_row(student):
    """4,096 numbers with one outlier: the outlier sets the scale, and nothing is clipped"""
    x = 0.25 * (torch.arange(4096) % 7 - 3)
    x[1000] = -127.0
    q, scale = parts(student.quantize_absmax(x), "q", "scale")
    float32s(scale, [1.0], "wrong scale of a long row with an outlier")
    numbers(q, x.round(), torch.int8, "wrong q of a long row with an outlier")


@checks("quantize_absmax")
def test_rows_of_zeros(student):
    """a row of zeros gives q 0 and scale 0, without nan; a row of tiny numbers does not"""
    x = torch.tensor([[0.0, 0.0, 0.0], [-2.54, 1.27, 0.0], [0.0, -0.0, 0.0], [4e-10, 0.0, -1e-10]])
    q, scale = parts(student.quantize_absmax(x), "q", "scale")
    float32s(scale, [[0.0], [0.02], [0.0], [4e-10 / 127]], "wrong scale", atol=0)
    numbers(q, [[0, 0, 0], [-127, 64, 0], [0, 0, 0], [127, 0, -32]], torch.int8)


# ---- quantize_affine -----------------------------------------------------------------------------------------------


@checks("quantize_affine", weight=2)
def test_affine_by_hand(student, hand):
    """five numbers in 4 bits and in 8, worked out by hand"""
    case = hand["affine"]
    x = torch.tensor(case["x"])
    for bits, options in ((4, {"bits": 4}), (8, {})):
        q, scale, minimum = parts(student.quantize_affine(x, _unchanged=True, **options), "q", "scale", "minimum")
        float32s(scale, [case[f"scale_{bits}"]], f"wrong scale in {bits} bits")
        float32s(minimum, [case["minimum"]], f"wrong minimum in {bits} bits")
        numbers(q, case[f"q_{bits}"], torch.uint8, f"wrong q in {bits} bits")


@checks("quantize_affine")
def test_affine_ties(student, hand):
    """ties are rounded half to even, up to q 255"""
    case = hand["ties"]
    q, *_ = parts(student.quantize_affine(torch.tensor(case["x_affine"])), "q", "scale", "minimum")
    numbers(q, case["q_affine"], torch.uint8)


@checks("quantize_affine", weight=2)
def test_an_interval_for_each_row(student, rng):
    """each row of the last dimension has its own scale and minimum, in any shape and memory layout of x"""
    for shape in ((3, 6), (2, 3, 5), (2, 4, 32), (1, 40), (2, 3, 4, 6)):
        x, q, scale, minimum = affine_case(rng, *shape)
        got = parts(student.quantize_affine(x), "q", "scale", "minimum")
        float32s(got[1], scale, f"wrong scale for x of shape {shape}", rtol=1e-4)
        float32s(got[2], minimum, f"wrong minimum for x of shape {shape}", atol=1e-6)
        numbers(got[0], q, torch.uint8, f"wrong q for x of shape {shape}")
    x, q, scale, minimum = affine_case(rng, 4, 3, 7)
    got = parts(student.quantize_affine(moved(x)), "q", "scale", "minimum")
    float32s(got[1], scale, "wrong scale for an x that is not contiguous", rtol=1e-4)
    numbers(got[0], q, torch.uint8, "wrong q for an x that is not contiguous")


@checks("quantize_affine")
def test_affine_in_few_bits(student, rng):
    """1, 2, 3, 5, 6 and 7 bits: `bits` sets the number of steps"""
    for bits in (1, 2, 3, 5, 6, 7):
        x, q, scale, minimum = affine_case(rng, 3, 11, bits=bits)
        got = parts(student.quantize_affine(x, bits), "q", "scale", "minimum")
        float32s(got[1], scale, f"wrong scale in {bits} bits", rtol=1e-4)
        float32s(got[2], minimum, f"wrong minimum in {bits} bits", atol=1e-6)
        numbers(got[0], q, torch.uint8, f"wrong q in {bits} bits")


@checks("quantize_affine")
def test_affine_from_narrow_numbers(student):
    """x in float16, bfloat16 or float64: scale and minimum are float32 of full precision"""
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x = torch.tensor([[-50000.0, 60000.0, 7000.0, -900.0], [0.11, 0.9, 0.3, 0.42]]).to(dtype)
        exact = x.double()
        minimum = exact.amin(dim=-1, keepdim=True)
        scale = (exact.amax(dim=-1, keepdim=True) - minimum) / 255
        got = parts(student.quantize_affine(x, _unchanged=True), "q", "scale", "minimum")
        float32s(got[1], scale, f"wrong scale for x in {dtype}", rtol=1e-6)
        float32s(got[2], minimum, f"wrong minimum for x in {dtype}", rtol=1e-6)
        numbers(got[0], ((exact - minimum) / scale).round(), torch.uint8, f"wrong q for x in {dtype}")


@checks("quantize_affine")
def test_rows_of_equal_numbers(student):
    """a row of equal numbers gives q 0, scale 0 and the number as minimum, without nan"""
    x = torch.tensor([[2.5, 2.5, 2.5], [0.0, 0.0, 0.0], [-1.0, -1.0, -1.0], [0.0, 255.0, 3.0]])
    q, scale, minimum = parts(student.quantize_affine(x), "q", "scale", "minimum")
    float32s(scale, [[0.0], [0.0], [0.0], [1.0]], "wrong scale", atol=0)
    float32s(minimum, [[2.5], [0.0], [-1.0], [0.0]], "wrong minimum")
    numbers(q, [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 255, 3]], torch.uint8)


@checks("quantize_affine")
def test_rows_of_nearly_equal_numbers(student):
    """numbers close to each other, near 0 or far from 0, still use all 256 steps"""
    near = 2.0**-14  # the distance of two float32 numbers at 512
    x = torch.tensor([[5e-10, 0.0, 1e-10], [512.0, 512 + 80 * near, 512 + 16 * near]])
    q, scale, minimum = parts(student.quantize_affine(x), "q", "scale", "minimum")
    float32s(scale, [[5e-10 / 255], [80 * near / 255]], "wrong scale", atol=0)
    float32s(minimum, [[0.0], [512.0]], "wrong minimum", atol=0)
    numbers(q, [[255, 0, 51], [0, 255, 51]], torch.uint8)


# ---- dequantize ----------------------------------------------------------------------------------------------------


@checks("dequantize", weight=2)
def test_back_by_hand(student, hand):
    """five numbers in 8 bits without a minimum and five in 4 bits with a minimum, worked out by hand"""
    case = hand["absmax"]
    got = student.dequantize(torch.tensor(case["q"], dtype=torch.int8), torch.tensor([case["scale"]]), _unchanged=True)
    float32s(got, case["back"], "wrong numbers without a minimum", atol=1e-5)
    case = hand["affine"]
    got = student.dequantize(uint8(case["q_4"]), torch.tensor([case["scale_4"]]), torch.tensor([case["minimum"]]), _unchanged=True)
    float32s(got, case["back_4"], "wrong numbers with a minimum", atol=1e-5)


@checks("dequantize", weight=2)
def test_scales_for_groups(student):
    """each group of each row uses its own scale and minimum; a group with scale 0 gives its minimum"""
    q = uint8([[[0, 1], [2, 255]], [[3, 0], [1, 1]]])
    scale, minimum = torch.tensor([[[1.0], [0.5]], [[2.0], [4.0]]]), torch.tensor([[[0.0], [-1.0]], [[10.0], [0.25]]])
    float32s(student.dequantize(q, scale), [[[0.0, 1.0], [1.0, 127.5]], [[6.0, 0.0], [4.0, 4.0]]], "wrong numbers without a minimum")
    float32s(
        student.dequantize(q, scale, minimum), [[[0.0, 1.0], [0.0, 126.5]], [[16.0, 10.0], [4.25, 4.25]]], "wrong numbers with a minimum"
    )
    got = student.dequantize(moved(q), scale)
    float32s(got, [[[0.0, 1.0], [1.0, 127.5]], [[6.0, 0.0], [4.0, 4.0]]], "wrong numbers for a q that is not contiguous")
    got = student.dequantize(uint8([[0, 0], [6, 2]]), torch.tensor([[0.0], [0.5]]), torch.tensor([[1.25], [-2.0]]))
    float32s(got, [[1.25, 1.25], [1.0, -1.0]], "wrong numbers where equal numbers have scale 0")


@checks("dequantize")
def test_the_least_number_of_int8(student):
    """q -128, which GGUF's Q8_0 has and `quantize_absmax` does not give, is read as -128"""
    got = student.dequantize(torch.tensor([[-128, 127, -127]], dtype=torch.int8), torch.tensor([[0.5]]))
    float32s(got, [[-64.0, 63.5, -63.5]], "wrong numbers")


@checks("dequantize")
def test_float16_scales(student):
    """scale and minimum in float16: the result is float32 of full precision"""
    q = torch.tensor([[101, -127, 3]], dtype=torch.int8)
    scale, minimum = torch.tensor([[0.1]], dtype=torch.float16), torch.tensor([[7.77]], dtype=torch.float16)
    exact = q.double() * scale.double()
    float32s(student.dequantize(q, scale), exact, "wrong numbers", rtol=1e-6)
    float32s(student.dequantize(q, scale, minimum), exact + minimum.double(), "wrong numbers with a minimum", rtol=1e-6, atol=1e-6)


# ---- pack_nibbles, unpack_nibbles ----------------------------------------------------------------------------------


@checks("pack_nibbles", weight=2)
def test_packed_by_hand(student, hand):
    """a block of SmolLM2: its 32 numbers give its 16 bytes"""
    case = hand["nibbles"]
    q = uint8(case["low"] + case["high"])
    exchanged = uint8([high + 16 * low for low, high in zip(case["low"], case["high"], strict=True)])
    neighbours = q[0::2] + 16 * q[1::2]
    suspects = [
        (exchanged, "Low and high halves are exchanged."),
        (neighbours, "Neighbours share a byte here. Number i shares its byte with number i + 16."),
    ]
    numbers(student.pack_nibbles(q, _unchanged=True), case["bytes"], torch.uint8, "wrong bytes", suspects=suspects)


@checks("pack_nibbles")
def test_many_blocks_packed(student):
    """blocks of 15 only, of 0 only and of all numbers, in up to four dimensions: every block is packed"""
    rows = torch.stack((torch.full((32,), 15), torch.zeros(32), torch.arange(32) % 16)).to(torch.uint8)
    want = torch.stack((torch.full((16,), 255), torch.zeros(16), torch.arange(16) * 17))
    for shape in ((), (1,), (2, 1)):
        numbers(student.pack_nibbles(rows.expand(*shape, 3, 32)), want.expand(*shape, 3, 16), torch.uint8, "wrong bytes")


@checks("pack_nibbles")
def test_what_cannot_be_packed(student):
    """a number over 15, or a last dimension other than 32: ValueError that names the number or the length"""
    for place, value in ((0, 16), (31, 17), (15, 255)):
        q = torch.zeros(3, 32, dtype=torch.uint8)
        q[1, place] = value
        raises(ValueError, lambda q=q: student.pack_nibbles(q), naming=value)
    for length in (16, 31, 64):
        raises(ValueError, lambda length=length: student.pack_nibbles(torch.ones(2, length, dtype=torch.uint8)), naming=length)
    raises(ValueError, lambda: student.pack_nibbles(torch.ones(32, 20, dtype=torch.uint8)), naming=20)  # 32 in another dimension


@checks("unpack_nibbles", weight=2)
def test_unpacked_by_hand(student, hand):
    """a block of SmolLM2: its 16 bytes give its 32 numbers"""
    case = hand["nibbles"]
    low, high = uint8(case["low"]), uint8(case["high"])
    mixed = torch.stack((low, high), dim=-1).flatten()
    suspects = [
        (torch.cat((high, low)), "Low and high halves are exchanged."),
        (mixed, "A byte gives neighbours here. Byte i holds number i and number i + 16."),
    ]
    got = student.unpack_nibbles(uint8(case["bytes"]), _unchanged=True)
    numbers(got, torch.cat((low, high)), torch.uint8, suspects=suspects)


@checks("unpack_nibbles")
def test_every_byte(student):
    """each of the 256 bytes gives its low half and its high half, at the right places"""
    packed = torch.arange(256).to(torch.uint8).view(4, 4, 16)
    want = torch.tensor([[byte % 16 for byte in row] + [byte // 16 for byte in row] for row in packed.flatten(0, 1).tolist()])
    numbers(student.unpack_nibbles(packed), want.view(4, 4, 32), torch.uint8)


@checks("unpack_nibbles")
def test_packed_again(student, rng):
    """a single 15 in a packed block is unpacked at the right place, for each of the 32 places"""
    q = (15 * torch.eye(32)).to(torch.uint8)
    packed = (q[:, :16] + 16 * q[:, 16:].int()).to(torch.uint8)
    numbers(student.unpack_nibbles(packed), q, torch.uint8)


# ---- read_q4_1, read_q8_0 ------------------------------------------------------------------------------------------


@checks("read_q4_1", weight=2)
def test_a_real_q4_1_block(student, hand):
    """the first block of SmolLM2's v_proj in layer 0: scale, minimum and q"""
    case = hand["q4_1"]
    got = parts(student.read_q4_1(uint8(case["raw"]), _unchanged=True), "q", "scale", "minimum")
    float32s(got[1], [case["scale"]], "wrong scale", atol=1e-8)
    float32s(got[2], [case["minimum"]], "wrong minimum", atol=1e-8)
    numbers(got[0], hand["nibbles"]["low"] + hand["nibbles"]["high"], torch.uint8)


@checks("read_q4_1", weight=2)
def test_a_matrix_of_q4_1_blocks(student, rng):
    """each block gives its own scale and minimum, bit for bit, in any shape and memory layout"""
    rows = random_blocks(rng, 3, 4, halves=2, numbers=16)
    for raw in (random_blocks(rng, 5, halves=2, numbers=16), rows, moved(rows)):
        got = parts(student.read_q4_1(raw), "q", "scale", "minimum")
        q, scale, minimum = q4_1_by_hand(raw)
        float32s(got[1], scale, "wrong scale", rtol=0, atol=0)
        float32s(got[2], minimum, "wrong minimum", rtol=0, atol=0)
        numbers(got[0], q, torch.uint8)


@checks("read_q4_1")
def test_q4_1_ends(student):
    """the bytes 0, 15, 240 and 255 give the right numbers; scale and minimum may be the smallest float16 numbers"""
    raw = uint8([[0, 60, 0, 200, *[byte] * 16] for byte in (0, 15, 240, 255)])
    got = parts(student.read_q4_1(raw), "q", "scale", "minimum")
    float32s(got[1], [[1.0]] * 4, "wrong scale")
    float32s(got[2], [[-8.0]] * 4, "wrong minimum")
    numbers(got[0], [[low] * 16 + [high] * 16 for low, high in ((0, 0), (15, 0), (0, 15), (15, 15))], torch.uint8)
    for head, scale, minimum in (([3, 0, 0, 4], 3 * 2.0**-24, 2.0**-14), ([0, 0, 7, 128], 0.0, -7 * 2.0**-24)):
        got = parts(student.read_q4_1(uint8([*head, *[0] * 16])), "q", "scale", "minimum")
        float32s(got[1], [scale], f"wrong scale from the bytes {head[:2]}", rtol=0, atol=0)
        float32s(got[2], [minimum], f"wrong minimum from the bytes {head[2:]}", rtol=0, atol=0)


# One block at a time, in a loop.
BLOCK_BY_BLOCK = """
read_at_once = read_q4_1

def read_q4_1(raw):
    blocks = [read_at_once(block) for block in raw.reshape(-1, 20)]
    return tuple(torch.stack(part).view(*raw.shape[:-1], -1) for part in zip(*blocks))
"""


@checks("read_q4_1", timing=True)
def test_faster_than_block_by_block(race):
    """speed: 2,048 blocks are read faster than one block at a time"""

    def blocks(rng):
        return random_blocks(rng, 32, 64, halves=2, numbers=16)

    def call(s, inputs):
        return s.read_q4_1(inputs)

    race.against(BLOCK_BY_BLOCK, blocks, call, cause="All blocks are read by the same few operations, whatever their number.")


@checks("read_q8_0", weight=2)
def test_a_real_q8_0_block(student, hand):
    """the first block of row 10 of SmolLM2's embeddings: scale and q"""
    case = hand["q8_0"]
    q, scale = parts(student.read_q8_0(uint8(case["raw"]), _unchanged=True), "q", "scale")
    float32s(scale, [case["scale"]], "wrong scale", atol=1e-8)
    numbers(q, [byte - 256 * (byte > 127) for byte in case["raw"][2:]], torch.int8)


@checks("read_q8_0", weight=2)
def test_a_matrix_of_q8_0_blocks(student, rng):
    """each block gives its own scale, bit for bit, in any shape and memory layout"""
    rows = random_blocks(rng, 3, 4, halves=1, numbers=32)
    for raw in (random_blocks(rng, 5, halves=1, numbers=32), rows, moved(rows)):
        got = parts(student.read_q8_0(raw), "q", "scale")
        q, scale = q8_0_by_hand(raw)
        float32s(got[1], scale, "wrong scale", rtol=0, atol=0)
        numbers(got[0], q, torch.int8)


@checks("read_q8_0")
def test_q8_0_ends(student):
    """the bytes 0, 127, 128 and 255 give 0, 127, -128 and -1; the scale may be negative or among the smallest float16 numbers"""
    raw = uint8([[0, 192, *[byte] * 32] for byte in (0, 127, 128, 255)])
    q, scale = parts(student.read_q8_0(raw), "q", "scale")
    float32s(scale, [[-2.0]] * 4, "wrong scale")
    numbers(q, [[value] * 32 for value in (0, 127, -128, -1)], torch.int8)
    _, scale = parts(student.read_q8_0(uint8([5, 0, *[1] * 32])), "q", "scale")
    float32s(scale, [5 * 2.0**-24], "wrong scale from the bytes [5, 0]", rtol=0, atol=0)


# ---- write_q4_1 ----------------------------------------------------------------------------------------------------


def read_back(got, leading):
    """q, scale and minimum of written blocks, after a look at their shape and dtype."""
    numbers(got, got, torch.uint8, "wrong bytes")
    equal(list(got.shape), [*leading, 20], what="wrong shape of the blocks")
    return q4_1_by_hand(got)


@checks("write_q4_1", weight=3)
def test_written_by_hand(student, hand):
    """32 numbers from 100.05 up: scale and minimum are rounded to float16, and q is computed with the rounded values"""
    case = hand["written"]
    x = case["first"] + case["step"] * torch.arange(32)
    q, scale, minimum = read_back(student.write_q4_1(x, _unchanged=True), ())
    close(minimum, [case["minimum"]], what="wrong minimum in the block")
    close(scale, [case["scale"]], what="wrong scale in the block")
    unrounded = ((x.double() - x[0].double()) / (0.31 / 15)).round()
    cause = "These are the numbers for the minimum before float16 rounded it. A reader of the block has only the rounded minimum."
    same(q, torch.tensor(case["q"]), "wrong numbers in the block", suspects=[(unrounded, cause)])


@checks("write_q4_1", weight=2)
def test_written_on_the_grid(student, rng):
    """numbers that a block can hold exactly are written exactly, from any memory layout of x"""
    q = torch.randint(16, (3, 4, 32), generator=rng)
    q[..., 3], q[..., 30] = 15, 0
    scale = torch.randint(1, 200, (3, 4, 1), generator=rng) / 64
    minimum = torch.randint(-300, 300, (3, 4, 1), generator=rng) / 32
    for x in (q * scale + minimum, moved(q * scale + minimum)):
        got = read_back(student.write_q4_1(x), (3, 4))
        for name, mine, due in zip(("scale", "minimum", "numbers"), (got[1], got[2], got[0]), (scale, minimum, q), strict=True):
            same(mine, due, f"wrong {name} in the blocks")


@checks("write_q4_1")
def test_written_blocks_of_equal_numbers(student):
    """a block of equal or nearly equal numbers, whose scale is 0 in float16, gets q 0; other blocks do not"""
    minima = torch.tensor([[2.5], [0.0], [-100.0], [0.0], [1.0], [-3.0]])
    x = minima.repeat(1, 32)
    x[3] = 2e-7 * torch.arange(32) / 31
    x[4, 1::2] += 2.0**-23
    x[5] += 0.5 * (torch.arange(32) % 16)
    q, scale, minimum = read_back(student.write_q4_1(x), (6,))
    equal(minimum, minima, what="wrong minimum in the blocks")
    equal(scale, torch.tensor([[0.0]] * 5 + [[0.5]]), what="wrong scale in the blocks")
    same(q, torch.cat((torch.zeros(5, 32), torch.arange(32).unsqueeze(0) % 16)), "wrong numbers in the blocks")


@checks("write_q4_1")
def test_written_between_two_steps(student):
    """ties are rounded half to even, for scale 2 and minimum -3"""
    x = (torch.arange(32) - 3.0).clamp(max=27.0)
    q, scale, minimum = read_back(student.write_q4_1(x), ())
    equal([float(scale), float(minimum)], [2.0, -3.0], what="wrong scale and minimum in the block")
    same(q, ((x + 3) / 2).round(), "wrong numbers in the block")


@checks("write_q4_1")
def test_written_for_the_stored_scale(student):
    """float16 rounds a scale from 3.4 to 3 times its smallest number: q is computed with the rounded scale"""
    steps, least = torch.arange(32) % 16, 2.0**-24
    q, scale, minimum = read_back(student.write_q4_1(3.4 * least * steps), ())
    equal([float(scale), float(minimum)], [3 * least, 0.0], what="wrong scale and minimum in the block")
    same(q, (3.4 * steps / 3).round().clamp(0, 15), "wrong numbers in the block")


@checks("write_q4_1")
def test_written_from_narrow_numbers(student):
    """x in float16, bfloat16 or float64, from -48,000 to 62,000: q is computed in float32 or better"""
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x = (110000 * torch.arange(32) / 31 - 48000).to(dtype)
        q, scale, minimum = read_back(student.write_q4_1(x, _unchanged=True), ())
        close(minimum, x[:1].float(), what=f"wrong minimum in the block for x in {dtype}")
        steps = ((x.double() - minimum.double()) / scale.double()).clamp(0, 15)
        off = float((q - steps).abs().max())
        that(off <= 0.501, f"a number is not the nearest one for x in {dtype}", expected="off by half a step", got=f"{off:.4g} steps")


# ---- quantized_linear ----------------------------------------------------------------------------------------------


@checks("quantized_linear", weight=2)
def test_a_product_by_hand(student, hand):
    """x times a matrix of one group and two rows, worked out by hand"""
    case = hand["linear"]
    float32s(student.quantized_linear(*linear_case(case), _unchanged=True), case["y"], "wrong product")


def in_any_shape(product, exact, inputs, weights):
    """Compare a product of x with quantized weights with the exact one: for one x, rows, rows of rows in two layouts, and one by one.

    exact: a function of x and the weights; inputs: a function of x's leading dimensions.
    """
    for leading in ((), (4,), (2, 3)):
        x = inputs(*leading)
        want = exact(x, *weights)
        atol = 1e-5 * float(want.abs().max()) + 1e-5
        float32s(product(x, *weights), want, f"wrong product for x of shape {tuple(x.shape)}", atol=atol)
    float32s(product(moved(x), *weights), want, "wrong product for an x that is not contiguous", atol=atol)
    one = product(x[:1, :1], *(each[:1] for each in weights))
    float32s(one, want[:1, :1, :1], "wrong product of one x and a matrix of one row", atol=atol)


@checks("quantized_linear", weight=2)
def test_products_of_groups(student, rng):
    """several groups: the result is the product with the dequantized matrix, for x of one to three dimensions, in any memory layout"""
    in_any_shape(
        student.quantized_linear,
        lambda x, *weights: x.double() @ weights_of(*weights).T,
        lambda *leading: torch.randn(*leading, 96, generator=rng),
        matrix(rng, 12, 96),
    )


@checks("quantized_linear")
def test_groups_of_equal_weights(student, rng):
    """a group of equal weights has scale 0: its minimum still adds to the product"""
    q, scale, minimum = matrix(rng, 5, 128)
    q[:, 1:3], scale[:, 1:3] = 0, 0.0
    x = torch.randn(3, 128, generator=rng) + 1
    want = x.double() @ weights_of(q, scale, minimum).T
    float32s(student.quantized_linear(x, q, scale, minimum), want, "wrong product", atol=1e-5 * float(want.abs().max()))


@checks("quantized_linear")
def test_products_of_many_groups(student, rng):
    """a matrix of 20 groups, and 70 rows of x: the product is right"""
    q, scale, minimum = matrix(rng, 3, 640)
    x = torch.randn(70, 640, generator=rng)
    want = x.double() @ weights_of(q, scale, minimum).T
    float32s(student.quantized_linear(x, q, scale, minimum), want, "wrong product of 20 groups", atol=2e-5 * float(want.abs().max()))


@checks("quantized_linear")
def test_a_width_that_is_no_multiple(student, rng):
    """x whose width D is not a multiple of 32: ValueError that names D"""
    for width, whole in ((40, 32), (72, 64), (16, 32)):
        q, scale, minimum = matrix(rng, 4, whole)
        raises(ValueError, lambda w=width, m=(q, scale, minimum): student.quantized_linear(torch.ones(2, w), *m), naming=width)


def in_hand(out, x, y):
    """The most bytes at one time: four groups of all rows in float32, and a few tensors as large as x and y."""
    return 4 * out * 32 * 4 + 8 * (x.nbytes + y.nbytes)


@checks("quantized_linear", weight=2)
def test_the_matrix_is_never_whole(student, rng):
    """work: a matrix of 256 x 2,048 is never converted to floating point as a whole"""
    q, scale, minimum = matrix(rng, 256, 2048)
    x = torch.randn(1, 2048, generator=rng)
    with student.counting() as work:
        got = student.quantized_linear(x, q, scale, minimum)
    want = x.double() @ weights_of(q, scale, minimum).T
    float32s(got, want, "wrong product", atol=2e-5 * float(want.abs().max()))
    most = in_hand(256, x, got)
    that(
        work.peak_bytes <= most,
        "too much memory at one time",
        expected=f"{most:,} bytes at the most; the matrix in 16 bits has {2 * q.numel():,}",
        got=f"{work.peak_bytes:,} bytes",
    )


# ---- int8_linear ---------------------------------------------------------------------------------------------------


@checks("int8_linear", weight=2)
def test_an_integer_product_by_hand(student, hand):
    """x in 8 bits times a matrix of one group and two rows, worked out by hand"""
    case = hand["linear"]
    cause = "This is the product with x as it is: here x is quantized too."
    got = student.int8_linear(*linear_case(case), _unchanged=True)
    exact = torch.tensor(case["y"])  # an x that is quantized in another way comes close to it
    as_it_is = isinstance(got, torch.Tensor) and got.shape == exact.shape and torch.allclose(got.float(), exact, rtol=1e-6)
    close(got, torch.tensor(case["y_int8"]), dtype=torch.float32, what="wrong product", suspects=[(exact, cause)] if as_it_is else ())


def integer_product(x, q, scale, minimum):
    """Return the expected product: x rounded to 8 bits, group by group, times the matrix, in float64."""
    xq, x_scale = rounded(x)
    return (xq * x_scale).flatten(-2) @ weights_of(q, scale, minimum).T


@checks("int8_linear", weight=2)
def test_integer_products_of_groups(student, rng):
    """several groups: x is rounded to 8 bits group by group, for x of one to three dimensions, in any memory layout"""
    in_any_shape(
        student.int8_linear,
        integer_product,
        lambda *leading: symmetric_case(rng, *leading, 3, 32)[0].flatten(-2),
        matrix(rng, 12, 96),
    )


@checks("int8_linear")
def test_integer_products_of_equal_weights(student, rng):
    """a group of equal weights has scale 0: its minimum still adds to the product"""
    q, scale, minimum = matrix(rng, 5, 128)
    q[:, 1:3], scale[:, 1:3] = 0, 0.0
    x = symmetric_case(rng, 3, 4, 32)[0].flatten(-2)
    want = integer_product(x, q, scale, minimum)
    float32s(student.int8_linear(x, q, scale, minimum), want, "wrong product", atol=1e-5 * float(want.abs().max()))


@checks("int8_linear")
def test_integer_products_of_many_groups(student, rng):
    """a matrix of 20 groups, and 70 rows of x: the product is right"""
    q, scale, minimum = matrix(rng, 3, 640)
    x = symmetric_case(rng, 70, 20, 32)[0].flatten(-2)
    want = integer_product(x, q, scale, minimum)
    float32s(student.int8_linear(x, q, scale, minimum), want, "wrong product of 20 groups", atol=2e-5 * float(want.abs().max()))


@checks("int8_linear")
def test_the_largest_sums(student):
    """the sum of 32 products of 15 and 127, or of 15 and -127, does not overflow, in a matrix of 2 or 1,200 rows"""
    x = torch.cat((torch.full((32,), 127.0), torch.full((32,), -127.0), torch.zeros(32)))
    q = torch.zeros(2, 3, 32, dtype=torch.uint8)
    q[0, 0], q[1, 1], q[:, 2] = 15, 15, 7
    scale, minimum = torch.ones(2, 3, 1), torch.zeros(2, 3, 1)
    minimum[:, 2] = 5.0
    due = torch.tensor([60960.0, -60960.0])
    cause = "60,960 is more than an int16 holds: 65,536 is missing or too many."
    for times in (1, 600):
        got = student.int8_linear(x, *(each.repeat(times, 1, 1) for each in (q, scale, minimum)))
        want = due.repeat(times)
        wrapped = want - 65536 * want.sign()
        close(got, want, dtype=torch.float32, what=f"wrong sums of {2 * times} rows", suspects=[(wrapped, cause)])


@checks("int8_linear")
def test_another_width_in_8_bits(student, rng):
    """x whose width D is not a multiple of 32: ValueError that names D"""
    for width, whole in ((40, 32), (72, 64), (16, 32)):
        q, scale, minimum = matrix(rng, 4, whole)
        raises(ValueError, lambda w=width, m=(q, scale, minimum): student.int8_linear(torch.ones(2, w), *m), naming=width)


@checks("int8_linear", weight=2)
def test_integers_all_the_way(student, rng):
    """work: q is multiplied as integers; no floating tensor holds q, the weights or the products"""
    q, scale, minimum = matrix(rng, 6, 64)
    x = symmetric_case(rng, 2, 32)[0].flatten()
    with student.watching() as fingerprints:
        got = student.int8_linear(x, q, scale, minimum)
    want = integer_product(x, q, scale, minimum)
    float32s(got, want, "wrong product", atol=1e-5 * float(want.abs().max()))
    that(
        not was_floating(fingerprints, x, q, scale, minimum),
        "a floating tensor held the numbers of q, the weights, or their products with those of x",
        expected="integers, until the products are added up",
        cause="Multiply and add in torch.int32; apply the scales after the sum.",
    )


# ---- QuantizedKVCache ----------------------------------------------------------------------------------------------


def as_near(got, due, what):
    """Fails unless `got` (..., Dh) is `due` as 8 bits with a float16 scale have it, vector by vector."""
    that(isinstance(got, torch.Tensor), f"{what}: no tensor", got=type(got).__name__)
    equal(list(got.shape), list(due.shape), what=f"wrong shape of the {what}")
    step = due.double().abs().amax(dim=-1, keepdim=True) / 127
    float32s(got, got.double(), f"the {what}")
    off = (got.double() - due.double()).abs()
    worst = float((off / step).max())
    that(worst <= 0.6, f"the {what} are too far off", expected="half a step of their scale, at the most", got=f"{worst:.3g} steps")
    count = got.double() / step  # float16 rounds a scale by one part in 2,048
    stray = float((count - count.round()).abs().max())
    that(stray <= 0.1, f"the {what} are not what 8 bits and a scale stand for", expected="multiples of max |x| / 127 of each vector")


def vectors(rng, batch, config, t):
    """Keys or values (B, K, t, Dh) whose magnitudes differ from token to token and from head to head."""
    shape = (batch, config.num_key_value_heads, t, config.head_dim)
    x, _, scale = symmetric_case(rng, *shape)
    return x / scale.float() * 10.0 ** (3 * torch.rand(*shape[:-1], 1, generator=rng) - 3)


@checks("QuantizedKVCache", weight=3)
def test_all_so_far_in_8_bits(student, rng):
    """appends of 3, 1 and 2 tokens: every vector comes back within about half a step of its own scale, and never changes later"""
    config = small_config(num_hidden_layers=1)
    cache = student.QuantizedKVCache(config, 2, 8)
    keys, values, before = [], [], None
    for t in (3, 1, 2):
        keys.append(vectors(rng, 2, config, t))
        values.append(vectors(rng, 2, config, t))
        got = parts(cache.append(0, keys[-1], values[-1]), "keys", "values")
        as_near(got[0], torch.cat(keys, dim=2), "keys")
        as_near(got[1], torch.cat(values, dim=2), "values")
        for name, old, new in zip(("keys", "values"), before or (), got, strict=False):
            equal(new[:, :, : old.shape[2]], old, what=f"the {name} of earlier tokens are not the same as in the append before")
        before = got
    equal(cache.length, 6, what="wrong length after 3 + 1 + 2 tokens")


@checks("QuantizedKVCache")
def test_layers_apart_in_8_bits(student, rng):
    """two layers in turn, keys not contiguous: each layer keeps its own tokens and count; length is the last layer's count"""
    config = small_config(num_hidden_layers=2)
    cache = student.QuantizedKVCache(config, 1, 6)
    equal(cache.length, 0, what="a new cache is not empty")
    stored = [[], []]
    for layer, t, length in ((0, 2, 0), (1, 2, 2), (0, 1, 2), (0, 1, 2), (1, 3, 5)):
        stored[layer].append(vectors(rng, 1, config, t))
        k = stored[layer][-1].transpose(1, 2).contiguous().transpose(1, 2)
        got = parts(cache.append(layer, k, -k), "keys", "values")
        as_near(got[0], torch.cat(stored[layer], dim=2), f"keys of layer {layer}")
        as_near(got[1], -torch.cat(stored[layer], dim=2), f"values of layer {layer}")
        equal(cache.length, length, what=f"wrong length after an append to layer {layer}")


@checks("QuantizedKVCache", weight=2)
def test_bytes_in_8_bits(student, hand):
    """SmolLM2: 11,880 bytes for each token of max_len, all allocated when the cache is made"""
    smollm2 = Config("SmolLM2", 49152, 576, 1536, 30, 9, 3, 64, 1e5, 1e-5, 8192, True, 1, 2)
    for batch, max_len in ((1, 16), (3, 5)):
        with student.counting() as work:
            cache = student.QuantizedKVCache(smollm2, batch, max_len)
        want = batch * max_len * hand["bytes"]["cache"]
        equal(cache.nbytes, want, what=f"wrong nbytes for {counted(batch, 'row')} of {max_len} tokens")
        most = want + 10_000
        that(work.peak_bytes <= most, "a new cache takes more memory than nbytes says", expected=f"{want:,}", got=f"{work.peak_bytes:,}")
        that(work.peak_bytes >= want, "a new cache takes less memory than nbytes says", expected=f"{want:,}", got=f"{work.peak_bytes:,}")
    k = torch.ones(3, 3, 5, 64)
    with student.counting() as work:
        keys, _ = parts(cache.append(0, k, k), "keys", "values")
    equal(cache.nbytes, want, what="nbytes has changed with an append")
    most = 30 * keys.nbytes
    that(work.peak_bytes <= most, "an append takes the memory of a whole cache", expected=f"{most:,} at most", got=f"{work.peak_bytes:,}")


@checks("QuantizedKVCache", weight=2)
def test_a_full_cache_in_8_bits(student, rng):
    """more tokens than max_len: CacheFull that names max_len, and the cache is unchanged"""
    config = small_config(num_hidden_layers=2)
    cache, k = student.QuantizedKVCache(config, 1, 5), vectors(rng, 1, config, 5)
    for layer in range(2):
        cache.append(layer, k[:, :, :3], -k[:, :, :3])
    for kind in ("CacheFull", "ValueError"):
        raises(kind, lambda: cache.append(0, k[:, :, :3], k[:, :, :3]), naming=5)
    equal(cache.length, 3, what="wrong length after a refused append")
    for layer in range(2):
        keys, values = parts(cache.append(layer, k[:, :, 3:], -k[:, :, 3:]), "keys", "values")
        as_near(keys, k, "keys after a refused append")
        as_near(values, -k, "values after a refused append")
    equal(cache.length, 5, what="a cache of max_len 5 holds 5 tokens")
    ahead = student.QuantizedKVCache(config, 1, 4)
    ahead.append(0, k[:, :, :3], k[:, :, :3])
    raises("CacheFull", lambda: ahead.append(0, k[:, :, :2], k[:, :, :2]), naming=4)
    equal(ahead.length, 0, what="wrong length while the last layer is empty and the first is full")


@checks("QuantizedKVCache")
def test_reset_in_8_bits(student, rng):
    """reset empties every layer and allocates nothing; all max_len slots are free again; another cache is unchanged"""
    config = small_config(num_hidden_layers=3)
    cache, k = student.QuantizedKVCache(config, 2, 4), vectors(rng, 2, config, 4)
    before = cache.nbytes
    cache.append(0, k[:, :, :3], k[:, :, :3])
    other = student.QuantizedKVCache(config, 2, 4)
    for layer in range(3):
        other.append(layer, k[:, :, :1], k[:, :, :1])
    cache.append(0, k[:, :, :1], k[:, :, :1])
    cache.reset()
    for t in (3, 4):
        for layer in range(3):
            as_near(parts(cache.append(layer, k[:, :, :t], k[:, :, :t]), "keys", "values")[0], k[:, :, :t], f"keys of layer {layer}")
        with student.counting() as work:
            cache.reset()
        equal(cache.length, 0, what="wrong length after reset")
        most = before // 10
        that(work.largest_bytes <= most, "a reset allocates memory", expected=f"{most} bytes at most", got=f"{work.largest_bytes:,} bytes")
    equal([cache.nbytes, other.length], [before, 1], what="wrong nbytes, or length of another cache, after reset")


@checks("QuantizedKVCache")
def test_narrow_and_large_keys(student, rng):
    """keys and values in bfloat16 or float64, up to 200,000, which is too large for float16: float32 comes back"""
    config = small_config(num_hidden_layers=1)
    for dtype in (torch.bfloat16, torch.float64):
        cache, k = student.QuantizedKVCache(config, 1, 3), vectors(rng, 1, config, 2)
        k = (2e5 * k / k.abs().amax(dim=-1, keepdim=True)).to(dtype)
        for name, got, due in zip(("keys", "values"), parts(cache.append(0, k, -k), "keys", "values"), (k, -k), strict=True):
            as_near(got, due, f"{name} from {dtype}")


@checks("QuantizedKVCache")
def test_8_bits_on_their_device(student):
    """on the meta device, which has shapes and no values: the cache and the result of append are on that device"""
    config = small_config(num_hidden_layers=2)
    new = torch.ones(1, config.num_key_value_heads, 2, config.head_dim)
    for device in ("meta", torch.device("meta")):
        on_one_device(student.QuantizedKVCache(config, 1, 4, device).append.on_meta(1, new, new))


# ---- kl_divergence, perplexity -------------------------------------------------------------------------------------


def is_float(got):
    that(isinstance(got, float), "the result is not a float", got=type(got).__name__)


@checks("kl_divergence", weight=2)
def test_divergence_by_hand(student, hand):
    """one place, the same place with p and q exchanged, and the mean of two places, worked out by hand"""
    case = hand["divergence"]
    p, q = (torch.tensor(case[name]).log() for name in "pq")
    suspects = [
        (case["first_reversed"], "This is the divergence the other way round: the reference's p weighs the differences."),
        (case["first_bits"], "This is in bits: take the natural logarithm."),
    ]
    got = student.kl_divergence(p[:1], q[:1], _unchanged=True)
    close(got, case["first"], atol=2e-6, what="wrong divergence", suspects=suspects)
    is_float(got)
    close(student.kl_divergence(q[:1], p[:1]), case["first_reversed"], atol=2e-6, what="wrong divergence the other way round")
    close(student.kl_divergence(p, q), case["mean"], atol=2e-6, what="wrong mean of two places")


@checks("kl_divergence")
def test_no_divergence(student, rng):
    """equal logits, or logits that differ by a constant in each row, have divergence 0"""
    logits = 3 * torch.randn(5, 30, generator=rng)
    close(student.kl_divergence(logits, logits), 0.0, atol=1e-6, what="wrong divergence of logits from themselves")
    moved = logits + torch.tensor([[0.0], [5.0], [-8.0], [1.0], [20.0]])
    close(student.kl_divergence(logits, moved), 0.0, atol=1e-5, what="wrong divergence of logits that were moved row by row")


@checks("kl_divergence")
def test_large_logits(student):
    """logits of 1,000 and more, and rows shifted by 800, give no inf and no nan"""
    p, q = torch.tensor([[1000.0, 1000.0, 0.0]]), torch.tensor([[1000.0, 1001.0, 0.0]])
    want = 0.5 * (math.log(0.5) + math.log1p(math.e)) + 0.5 * (math.log(0.5) - math.log(math.e / (1 + math.e)))
    close(student.kl_divergence(p, q), want, atol=5e-4, what="wrong divergence")  # float32 has steps of 6e-5 there
    p = torch.tensor([[0.0, 1.5, -2.0], [3.0, 0.25, 0.0]])
    for shift in (800.0, -800.0):
        close(student.kl_divergence(p, p + shift), 0.0, atol=1e-3, what=f"wrong divergence of logits that were moved by {shift:g}")


@checks("kl_divergence")
def test_divergence_over_a_long_text(student, hand):
    """1,103 places: every place has the same weight in the mean"""
    case = hand["divergence"]
    p, q = (torch.tensor(case[name]).log() for name in "pq")
    counts = torch.tensor([300, 803])
    got = student.kl_divergence(p.repeat_interleave(counts, dim=0), q.repeat_interleave(counts, dim=0))
    close(got, 300 / 1103 * case["first"], atol=2e-6, what="wrong mean of 1,103 places")


@checks("kl_divergence")
def test_divergence_over_a_large_vocabulary(student):
    """20,000 tokens, equally likely in the reference: the sum runs over all tokens"""
    p, q = torch.zeros(2, 20_000), torch.zeros(2, 20_000)
    q[:, ::2] = 1.0
    want = math.log((1 + math.e) / 2) - 0.5  # ln 20,000 cancels
    close(student.kl_divergence(p, q), want, atol=1e-4, what="wrong divergence of 20,000 tokens")


@checks("kl_divergence")
def test_all_but_impossible_tokens(student):
    """a token to which the model gives probability e^-150 counts in full: nothing is cut off"""
    want = 75 - math.log(2)
    close(student.kl_divergence(torch.zeros(1, 2), torch.tensor([[-150.0, 0.0]])), want, rtol=1e-4, what="wrong divergence")


@checks("kl_divergence")
def test_divergence_of_narrow_logits(student, rng):
    """logits in float16, bfloat16 or float64: the divergence is computed in float32 or better"""
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        p, q = ((4 * torch.randn(8, 25, generator=rng)).to(dtype) for _ in range(2))
        logs = [x.double() - x.double().logsumexp(dim=-1, keepdim=True) for x in (p, q)]
        want = float((logs[0].exp() * (logs[0] - logs[1])).sum()) / 8
        close(student.kl_divergence(p, q), want, rtol=1e-4, what=f"wrong divergence of logits in {dtype}")


@checks("perplexity", weight=2)
def test_perplexity_by_hand(student, hand):
    """three tokens, worked out by hand"""
    case = hand["perplexity"]
    got = student.perplexity(torch.tensor(case["probs"]).log(), torch.tensor(case["ids"]), _unchanged=True)
    same_place = math.exp(-sum(math.log(row[token]) for row, token in zip(case["probs"], case["ids"], strict=True)) / 3)
    mean = -sum(math.log(row[token]) for row, token in zip(case["probs"], case["ids"][1:], strict=False)) / 2
    suspects = [
        (same_place, "Each row is compared with the token at its own position; it predicts the next one."),
        (mean, "This is the mean of -log p: its exp is still to be taken."),
    ]
    close(got, case["perplexity"], atol=1e-5, what="wrong perplexity", suspects=suspects)
    is_float(got)


@checks("perplexity")
def test_nothing_is_known(student):
    """equal logits give the size of the vocabulary, a sure and correct model gives 1; the vocabulary may have 49,152 tokens"""
    ids = torch.tensor([4, 0, 2, 6])
    close(student.perplexity(torch.full((4, 7), 3.0), ids), 7.0, atol=1e-4, what="wrong perplexity of equal logits")
    sure = 200 * torch.nn.functional.one_hot(torch.tensor([0, 2, 6, 1]), 7).float()
    close(student.perplexity(sure, ids), 1.0, atol=1e-5, what="wrong perplexity of a model that knows")
    logits = torch.zeros(3, 49152)  # as many tokens as SmolLM2 has
    logits[0, 49151] = math.log(49151.0)  # p is 1/2 there
    got = student.perplexity(logits, torch.tensor([0, 49151, 40000]))
    close(got, math.sqrt(2 * 49152), rtol=1e-3, what="wrong perplexity with a vocabulary of 49,152")


@checks("perplexity")
def test_perplexity_of_a_long_text(student):
    """1,102 tokens: every prediction has the same weight in the mean"""
    logits = torch.tensor([[0.25, 0.25, 0.5], [0.125, 0.75, 0.125]]).log().repeat_interleave(torch.tensor([400, 702]), dim=0)
    want = 2 ** ((400 * 2 + 701 * 3) / 1101)  # -log2 of 1/4 and of 1/8
    close(student.perplexity(logits, torch.zeros(1102, dtype=torch.int64)), want, rtol=1e-4, what="wrong perplexity of 1,102 tokens")


@checks("perplexity")
def test_a_surprise(student):
    """a token of probability e^-150 and logits of 2,000 give no inf and no nan, and nothing is cut off"""
    got = student.perplexity(torch.tensor([[0.0, -150.0], [0.0, -150.0], [0.0, 0.0]]), torch.tensor([0, 1, 0]))
    close(got, math.exp(75), rtol=1e-3, what="wrong perplexity of a text with a token of e^-150")
    got = student.perplexity(torch.tensor([[2000.0, 2001.0], [-2000.0, -2000.0], [0.0, 0.0]]), torch.tensor([0, 0, 1]))
    close(got, math.sqrt(2 * (1 + math.e)), rtol=1e-3, what="wrong perplexity with logits of 2,000")


@checks("perplexity")
def test_perplexity_of_narrow_logits(student, rng):
    """logits in float16, bfloat16 or float64: the perplexity is computed in float32 or better"""
    ids = torch.arange(12) % 5
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        logits = (3 * torch.randn(12, 6, generator=rng)).to(dtype)
        rows = logits.double().softmax(dim=-1).tolist()
        want = math.prod(rows[t][(t + 1) % 5] for t in range(11)) ** (-1 / 11)
        close(student.perplexity(logits, ids), want, rtol=1e-4, what=f"wrong perplexity of logits in {dtype}")


@checks("perplexity")
def test_the_last_row_is_not_asked(student):
    """the last row of logits, even with -inf, and the first token of the text have no effect"""
    logits = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [5.0, 0.0, 0.0]])
    want = math.exp(-(logits[:2].double().log_softmax(-1)[torch.arange(2), torch.tensor([2, 1])].mean()))
    for first in range(3):
        for last in (-50.0, 0.0, 50.0, -math.inf):
            logits[2, 1] = last
            close(student.perplexity(logits, torch.tensor([first, 2, 1])), want, atol=1e-5, what="wrong perplexity")
