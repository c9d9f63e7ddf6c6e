"""Hidden checks of quantization."""

from __future__ import annotations

import math

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.checks.test_quantization import as_near, in_hand, integer_product, read_back, vectors
from autograder.checking.checks.test_transformer import small_config
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.quantized import (
    affine_case,
    float32s,
    integer,
    matrix,
    numbers,
    parts,
    q4_1_by_hand,
    q8_0_by_hand,
    random_blocks,
    random_bytes,
    same,
    shape_of,
    symmetric_case,
    was_floating,
    weights_of,
)

NARROW = (torch.float16, torch.bfloat16, torch.float64)

# ---- quantize_absmax, quantize_affine ------------------------------------------------------------------------------


@checks("quantize_absmax", weight=2)
def test_random_symmetric_rows(student, rng):
    """random rows in 2 to 8 bits: scale and q are right"""
    for bits in range(2, 9):
        x, q, scale = symmetric_case(rng, *shape_of(rng), integer(rng, 2, 20), bits=bits)
        got = parts(student.quantize_absmax(x, bits, _unchanged=True), "q", "scale")
        float32s(got[1], scale, f"wrong scale in {bits} bits")
        numbers(got[0], q, torch.int8, f"wrong q in {bits} bits")


@checks("quantize_absmax")
def test_long_rows_with_outliers(student, rng):
    """two rows of 10,000 small numbers, with one outlier in each row: the outlier sets the scale"""
    x = 0.9 * torch.rand(2, 10_000, generator=rng) - 0.45
    x[0, integer(rng, 0, 9_999)], x[1, integer(rng, 0, 9_999)] = 127.0, -254.0
    q, scale = parts(student.quantize_absmax(x), "q", "scale")
    float32s(scale, [[1.0], [2.0]], "wrong scale of long rows with outliers")
    numbers(q, (x / torch.tensor([[1.0], [2.0]])).round(), torch.int8, "wrong q of long rows with outliers")


@checks("quantize_absmax")
def test_symmetric_from_other_dtypes(student, rng):
    """x in 16 or 64 bits: the scale is computed and returned in float32"""
    steps = torch.tensor([[127.0, -3.0, 64.0, 0.0, -126.0], [-7.0, 127.0, 1.0, 2.0, 90.0]])
    for dtype in NARROW:
        x = (steps * torch.tensor([[0.5], [3.0]])).to(dtype)
        got = parts(student.quantize_absmax(x, _unchanged=True), "q", "scale")
        scale = x.double().abs().amax(dim=-1, keepdim=True) / 127
        float32s(got[1], scale, f"wrong scale for x in {dtype}", rtol=1e-6)
        numbers(got[0], (x.double() / scale).round(), torch.int8, f"wrong q for x in {dtype}")
    x = torch.full((1, 3), 0.3, dtype=torch.float16)
    float32s(parts(student.quantize_absmax(x), "q", "scale")[1], x[:, :1].double() / 127, "wrong scale for x in float16", rtol=1e-6)


@checks("quantize_absmax")
def test_symmetric_magnitudes(student, rng):
    """rows of 1e-12 and of 1e12 in one x, rows of a single number, and a transposed x: scale and q are right"""
    x, q, scale = symmetric_case(rng, 4, 9)
    by = torch.tensor([[1e-12], [1.0], [1e12], [1e-3]])
    got = parts(student.quantize_absmax(x * by), "q", "scale")
    float32s(got[1], scale * by, "wrong scale", atol=0)
    numbers(got[0], q, torch.int8)
    got = parts(student.quantize_absmax(x.T.contiguous().T), "q", "scale")
    float32s(got[1], scale, "wrong scale for a transposed x")
    numbers(got[0], q, torch.int8, "wrong q for a transposed x")
    got = parts(student.quantize_absmax(torch.tensor([[-0.5], [254.0]])), "q", "scale")
    float32s(got[1], [[0.5 / 127], [2.0]], "wrong scale of one number")
    numbers(got[0], [[-127], [127]], torch.int8, "wrong q of one number")


@checks("quantize_absmax")
def test_symmetric_keys_of_a_model(student, rng):
    """x of four dimensions that is not contiguous, like the keys of a model: scale and q are right"""
    x, q, scale = symmetric_case(rng, 2, 3, 5, 8)
    got = parts(student.quantize_absmax(x.transpose(1, 2).contiguous().transpose(1, 2)), "q", "scale")
    float32s(got[1], scale, "wrong scale")
    numbers(got[0], q, torch.int8)


@checks("quantize_absmax")
def test_half_a_step(student, rng):
    """normally distributed numbers come back within half a step, and quantizing the result again gives the same q"""
    x = torch.randn(6, 40, generator=rng) + torch.randn(6, 1, generator=rng)
    for bits in (3, 8):
        q, scale = parts(student.quantize_absmax(x, bits), "q", "scale")
        back = q.double() * scale.double()
        worst = float(((back - x.double()).abs() / scale.double()).max())
        that(worst <= 0.5001, f"a number is too far off in {bits} bits", expected="half a step", got=f"{worst:.4g} steps")
        numbers(parts(student.quantize_absmax(back.float(), bits), "q", "scale")[0], q, torch.int8, "wrong q of numbers on the grid")


@checks("quantize_affine", weight=2)
def test_random_affine_rows(student, rng):
    """random rows in 1 to 8 bits: scale, minimum and q are right"""
    for bits in range(1, 9):
        x, q, scale, minimum = affine_case(rng, *shape_of(rng), integer(rng, 2, 20), bits=bits)
        got = parts(student.quantize_affine(x, bits, _unchanged=True), "q", "scale", "minimum")
        float32s(got[1], scale, f"wrong scale in {bits} bits", rtol=1e-4)
        float32s(got[2], minimum, f"wrong minimum in {bits} bits", atol=1e-6)
        numbers(got[0], q, torch.uint8, f"wrong q in {bits} bits")


@checks("quantize_affine")
def test_affine_from_other_dtypes(student):
    """x in 16 or 64 bits, from -40,000 to 40,000: scale, minimum and q are computed in float32"""
    for dtype in NARROW:
        x = torch.tensor([[-40000.0, 40000.0, 0.0, 1000.0], [0.3, 0.7, 0.35, 0.6]]).to(dtype)
        got = parts(student.quantize_affine(x, _unchanged=True), "q", "scale", "minimum")
        exact = x.double()
        minimum = exact.amin(dim=-1, keepdim=True)
        scale = (exact.amax(dim=-1, keepdim=True) - minimum) / 255
        float32s(got[1], scale, f"wrong scale for x in {dtype}", rtol=1e-6)
        float32s(got[2], minimum, f"wrong minimum for x in {dtype}", rtol=1e-6)
        steps = (exact - minimum) / scale
        off = (got[0].double() - steps).abs().max()
        numbers(got[0], got[0], torch.uint8, f"wrong q for x in {dtype}")
        that(float(off) <= 0.5001, f"a number is too far off for x in {dtype}", expected="half a step", got=f"{float(off):.4g} steps")


@checks("quantize_affine")
def test_affine_magnitudes(student, rng):
    """rows of 1e-12 and of 1e12, rows below 0 and far above 0, and a transposed x: scale, minimum and q are right"""
    x, q, scale, minimum = affine_case(rng, 4, 9, bits=4)
    by = torch.tensor([[1e-12], [1.0], [1e12], [1e-3]])
    got = parts(student.quantize_affine(x * by, 4), "q", "scale", "minimum")
    float32s(got[1], scale * by, "wrong scale", atol=0, rtol=1e-4)
    float32s(got[2], minimum * by, "wrong minimum", atol=0, rtol=1e-4)
    numbers(got[0], q, torch.uint8)
    got = parts(student.quantize_affine(x.T.contiguous().T, 4), "q", "scale", "minimum")
    float32s(got[2], minimum, "wrong minimum for a transposed x", atol=1e-6)
    numbers(got[0], q, torch.uint8, "wrong q for a transposed x")
    x, q, scale, minimum = affine_case(rng, 2, 3, 5, 8)
    got = parts(student.quantize_affine(x.transpose(1, 2).contiguous().transpose(1, 2)), "q", "scale", "minimum")
    float32s(got[1], scale, "wrong scale for an x whose dimensions were exchanged", rtol=1e-4)
    numbers(got[0], q, torch.uint8, "wrong q for an x whose dimensions were exchanged")
    for low, high in ((-30.0, -15.0), (1000.0, 1030.0)):
        got = parts(student.quantize_affine(torch.tensor([low, high, (low + high) / 2 + 0.18 * (high - low)]), 4), "q", "scale", "minimum")
        close(got[2], [low], what=f"wrong minimum of numbers from {low:g} to {high:g}")
        numbers(got[0], [0, 15, 10], torch.uint8, f"wrong q of numbers from {low:g} to {high:g}")


@checks("quantize_affine")
def test_affine_far_from_zero(student, rng):
    """40 numbers between -14,000 and -13,999: the minimum is subtracted before the division, or float32 loses the steps"""
    counts = torch.randint(702, (2, 40), generator=rng)  # 701 is prime: no number is between two steps
    counts[:, 5], counts[:, 30] = 0, 701
    got = parts(student.quantize_affine(counts / 1024 - 14000), "q", "scale", "minimum")
    float32s(got[1], [[701 / 1024 / 255]] * 2, "wrong scale of numbers far from 0")
    numbers(got[0], (counts.double() * 255 / 701).round(), torch.uint8, "wrong q of numbers far from 0")


# ---- dequantize ----------------------------------------------------------------------------------------------------


@checks("dequantize", weight=2)
def test_random_numbers_back(student, rng):
    """random q in int8 and uint8, in any shape, with and without a minimum: the numbers are right"""
    for dtype, low, high in ((torch.int8, -128, 127), (torch.uint8, 0, 255)):
        for _ in range(3):
            shape = [*shape_of(rng), integer(rng, 1, 40)]
            q = torch.randint(low, high + 1, shape, generator=rng).to(dtype)
            scale, minimum = (torch.randn(*shape[:-1], 1, generator=rng) for _ in range(2))
            exact = q.double() * scale.double()
            float32s(student.dequantize(q, scale, _unchanged=True), exact, f"wrong numbers from {dtype}")
            float32s(
                student.dequantize(q, scale, minimum, _unchanged=True), exact + minimum.double(), "wrong numbers with a minimum", atol=1e-4
            )


@checks("dequantize")
def test_ends_of_both_dtypes(student):
    """-128 and 127 in int8 and 128 and 255 in uint8 keep their values; one scale may serve all numbers; scale 0 gives the minimum"""
    for values, dtype in (([-128, 127, 0], torch.int8), ([128, 255, 0], torch.uint8)):
        got = student.dequantize(torch.tensor(values, dtype=dtype), torch.tensor([2.0]), torch.tensor([0.0]))
        float32s(got, [2.0 * value for value in values], f"wrong numbers from {dtype}")
    got = student.dequantize(torch.tensor([[0], [9]], dtype=torch.uint8), torch.zeros(2, 1), torch.tensor([[2.5], [-3.0]]))
    float32s(got, [[2.5], [-3.0]], "wrong numbers at scale 0")


@checks("dequantize")
def test_heads_before_tokens(student, rng):
    """q of four dimensions that is not contiguous: every row uses its own scale"""
    q = torch.randint(-127, 128, (2, 9, 3, 8), generator=rng).to(torch.int8).transpose(1, 2)
    scale = torch.rand(2, 3, 9, 1, generator=rng)
    float32s(student.dequantize(q, scale), q.double() * scale.double(), "wrong numbers")


# ---- pack_nibbles, unpack_nibbles ----------------------------------------------------------------------------------


@checks("pack_nibbles", weight=2)
def test_random_nibbles_packed(student, rng):
    """random numbers in any shape, and a transposed q: the bytes are right"""
    for _ in range(4):
        q = torch.randint(16, (*shape_of(rng), 32), generator=rng).to(torch.uint8)
        want = q[..., :16].int() + 16 * q[..., 16:].int()
        numbers(student.pack_nibbles(q, _unchanged=True), want, torch.uint8, "wrong bytes")
    q = torch.randint(16, (32, 5), generator=rng).to(torch.uint8).T
    numbers(student.pack_nibbles(q), q[:, :16].int() + 16 * q[:, 16:].int(), torch.uint8, "wrong bytes for a transposed q")


@checks("pack_nibbles")
def test_random_numbers_refused(student, rng):
    """one number above 15 anywhere in many blocks, or a last dimension other than 32: ValueError that names the number or length"""
    for _ in range(4):
        q = torch.randint(16, (2, 3, 32), generator=rng).to(torch.uint8)
        value = integer(rng, 16, 255)
        q[integer(rng, 0, 1), integer(rng, 0, 2), integer(rng, 0, 31)] = value
        raises(ValueError, lambda q=q: student.pack_nibbles(q), naming=value)
    raises(ValueError, lambda: student.pack_nibbles(torch.ones(32, 8, dtype=torch.uint8)), naming=8)
    raises(ValueError, lambda: student.pack_nibbles(torch.ones(33, dtype=torch.uint8)), naming=33)


@checks("unpack_nibbles", weight=2)
def test_random_bytes_unpacked(student, rng):
    """random bytes in any shape, and a slice of longer rows: the numbers are right"""
    for _ in range(4):
        packed = random_bytes(rng, *shape_of(rng), 16)
        want = torch.cat((packed % 16, packed // 16), dim=-1)
        numbers(student.unpack_nibbles(packed, _unchanged=True), want, torch.uint8)
    packed = random_bytes(rng, 3, 20)[:, 4:]
    numbers(student.unpack_nibbles(packed), torch.cat((packed % 16, packed // 16), dim=-1), torch.uint8, "wrong q for a part of rows")


@checks("unpack_nibbles")
def test_one_byte_at_a_time(student):
    """each byte gives two numbers that are 16 places apart, in every block"""
    packed = (0x93 * torch.eye(16)).to(torch.uint8)
    want = torch.cat((3 * torch.eye(16), 9 * torch.eye(16)), dim=1)
    numbers(student.unpack_nibbles(packed), want, torch.uint8)


# ---- read_q4_1, read_q8_0, write_q4_1 ------------------------------------------------------------------------------


@checks("read_q4_1", weight=2)
def test_random_q4_1_blocks(student, rng):
    """random blocks in any shape, and slices of a larger matrix: scale, minimum and q are right"""
    whole = random_blocks(rng, 6, 5, halves=2, numbers=16)
    for raw in (random_blocks(rng, *shape_of(rng), halves=2, numbers=16), whole[1::2, 2:], whole.transpose(0, 1)):
        got = parts(student.read_q4_1(raw, _unchanged=True), "q", "scale", "minimum")
        q, scale, minimum = q4_1_by_hand(raw)
        float32s(got[1], scale, "wrong scale", rtol=0, atol=0)
        float32s(got[2], minimum, "wrong minimum", rtol=0, atol=0)
        numbers(got[0], q, torch.uint8)


@checks("read_q4_1")
def test_q4_1_float16_ends(student):
    """scale and minimum may be the largest float16 number, the smallest or a negative zero"""
    values = torch.tensor([65504.0, 2.0**-24, -0.0, -65504.0, 6.1e-5, 0.0]).half()
    heads = torch.stack((values, values.flip(0)), dim=-1).view(torch.uint8)
    got = parts(student.read_q4_1(torch.cat((heads, torch.full((6, 16), 0x5A, dtype=torch.uint8)), dim=-1)), "q", "scale", "minimum")
    float32s(got[1], values.float().unsqueeze(1), "wrong scale", rtol=0, atol=0)
    float32s(got[2], values.flip(0).float().unsqueeze(1), "wrong minimum", rtol=0, atol=0)
    numbers(got[0], [[10] * 16 + [5] * 16] * 6, torch.uint8)


@checks("read_q8_0", weight=2)
def test_random_q8_0_blocks(student, rng):
    """random blocks in any shape, and slices of a larger matrix: scale and q are right"""
    whole = random_blocks(rng, 6, 5, halves=1, numbers=32)
    for raw in (random_blocks(rng, *shape_of(rng), halves=1, numbers=32), whole[1::2, 2:], whole.transpose(0, 1)):
        got = parts(student.read_q8_0(raw, _unchanged=True), "q", "scale")
        q, scale = q8_0_by_hand(raw)
        float32s(got[1], scale, "wrong scale", rtol=0, atol=0)
        numbers(got[0], q, torch.int8)


@checks("read_q8_0")
def test_every_signed_byte(student):
    """each of the 256 bytes gives the right signed number; the scale may be the largest or the smallest float16 number"""
    values = torch.tensor([65504.0, 2.0**-24, -1.5, -0.0, 1.0, 0.1, -65504.0, 3e-5]).half().unsqueeze(1)
    raw = torch.cat((values.view(torch.uint8), torch.arange(256).to(torch.uint8).view(8, 32)), dim=-1)
    q, scale = parts(student.read_q8_0(raw), "q", "scale")
    float32s(scale, values.float(), "wrong scale", rtol=0, atol=0)
    numbers(q, [[b - 256 * (b > 127) for b in range(i, i + 32)] for i in range(0, 256, 32)], torch.int8)


@checks("write_q4_1", weight=3)
def test_random_blocks_written(student, rng):
    """random numbers around offsets from -300 to 300: every number is written as the nearest of its block's 16 values"""
    for leading in ((6,), (2, 3)):
        x = torch.randn(*leading, 32, generator=rng) * 10.0 ** (torch.rand(*leading, 1, generator=rng) - 1)
        x = x + 600 * torch.rand(*leading, 1, generator=rng) - 300
        q, scale, minimum = read_back(student.write_q4_1(x, _unchanged=True), leading)
        low = x.amin(dim=-1, keepdim=True)
        equal(minimum, low.half().float(), what="wrong minimum in the blocks")
        close(scale, (x.amax(dim=-1, keepdim=True) - low) / 15, rtol=1e-3, what="wrong scale in the blocks")
        steps = ((x.double() - minimum.double()) / scale.double()).clamp(0, 15)
        off = float((q - steps).abs().max())
        that(off <= 0.501, "a number of a block is not the nearest one", expected="off by half a step", got=f"{off:.4g} steps")


@checks("write_q4_1")
def test_written_ties(student):
    """ties are rounded half to even, for scale 1 and minimum 0"""
    x = torch.arange(32) / 2
    x[-1] = 15.0
    q, scale, minimum = read_back(student.write_q4_1(x), ())
    equal([float(scale), float(minimum)], [1.0, 0.0], what="wrong scale and minimum in the block")
    same(q, x.round(), "wrong numbers in the block")


@checks("write_q4_1")
def test_written_from_other_dtypes(student, rng):
    """x in 16 or 64 bits: numbers that a block can hold exactly are written exactly"""
    q = torch.randint(16, (3, 32), generator=rng)
    q[:, 7], q[:, 8] = 0, 15
    for dtype in NARROW:
        got = read_back(student.write_q4_1((q * 0.25 - 1.5).to(dtype), _unchanged=True), (3,))
        same(got[0], q, f"wrong numbers in the blocks for x in {dtype}")
        equal(got[1], torch.full((3, 1), 0.25), what=f"wrong scale in the blocks for x in {dtype}")
        equal(got[2], torch.full((3, 1), -1.5), what=f"wrong minimum in the blocks for x in {dtype}")
    q = torch.stack((q, 15 - q)).transpose(0, 1)
    same(read_back(student.write_q4_1(q * 0.25 - 1.5), (3, 2))[0], q, "wrong numbers in the blocks of an x whose dimensions were exchanged")


@checks("write_q4_1")
def test_written_wider_than_float16(student):
    """x in 16 or 64 bits, from -40,000 to 40,000, a range too wide for float16: q is still right"""
    for dtype in NARROW:
        x = (80000 * torch.arange(32) / 31 - 40000).to(dtype)
        q, scale, minimum = read_back(student.write_q4_1(x), ())
        equal(minimum, x[:1].float(), what=f"wrong minimum in the block for x in {dtype}")
        steps = ((x.double() - minimum.double()) / scale.double()).clamp(0, 15)
        off = float((q - steps).abs().max())
        that(off <= 0.501, f"a number is not the nearest one for x in {dtype}", expected="off by half a step", got=f"{off:.4g} steps")


@checks("write_q4_1")
def test_written_with_a_coarse_scale(student):
    """float16 rounds a scale from 2.4 to 2 times its smallest number: q is computed with the rounded scale"""
    tiny = 2.0**-24
    steps = torch.arange(32) % 16
    q, scale, minimum = read_back(student.write_q4_1(2.4 * tiny * steps), ())
    equal([float(scale), float(minimum)], [2 * tiny, 0.0], what="wrong scale and minimum in the block")
    same(q, (1.2 * steps).round().clamp(0, 15), "wrong numbers in the block")


@checks("write_q4_1")
def test_written_beside_equal_numbers(student, rng):
    """a block whose scale is 0, exactly or after rounding to float16, gets q 0; other blocks are not affected"""
    q = torch.randint(16, (2, 3, 32), generator=rng)
    q[..., 0], q[..., 31] = 0, 15
    x = 0.75 * q - 4.5
    x[0, 1], x[1, 0] = 7.25, 3e-8 * (torch.arange(32) % 4)
    q[0, 1], q[1, 0] = 0, 0
    scale = torch.full((2, 3, 1), 0.75)
    scale[0, 1], scale[1, 0] = 0.0, 0.0
    got = read_back(student.write_q4_1(x), (2, 3))
    equal(got[1], scale, what="wrong scale in the blocks")
    same(got[0], q, "wrong numbers in the blocks")


# ---- quantized_linear, int8_linear ---------------------------------------------------------------------------------


@checks("quantized_linear", weight=2)
def test_random_products(student, rng):
    """random matrices of one or several groups, and random x: the product is right"""
    for groups in (1, 40, 2, 5):
        q, scale, minimum = matrix(rng, integer(rng, 1, 9), 32 * groups)
        if groups > 1:  # equal weights: scale 0, and the minimum counts
            scale[:, groups // 2] = 0.0
        x = torch.randn(*shape_of(rng), 32 * groups, generator=rng) + 0.5
        want = x.double() @ weights_of(q, scale, minimum).T
        got = student.quantized_linear(x, q, scale, minimum, _unchanged=True)
        float32s(got, want, f"wrong product of {groups} groups", atol=2e-5 * float(want.abs().max()) + 1e-5)
    x = torch.randn(3, 4, 32 * groups, generator=rng).transpose(0, 1)
    want = x.double() @ weights_of(q, scale, minimum).T
    got = student.quantized_linear(x, q, scale, minimum)
    float32s(got, want, "wrong product for a transposed x", atol=2e-5 * float(want.abs().max()) + 1e-5)


@checks("quantized_linear")
def test_one_number_of_x_at_a_time(student, rng):
    """x with a single 1 gives one column of the matrix, for every column"""
    q, scale, minimum = matrix(rng, 5, 96)
    got = student.quantized_linear(torch.eye(96), q, scale, minimum)
    float32s(got, weights_of(q, scale, minimum).T, "wrong columns", atol=1e-4)


@checks("quantized_linear")
def test_memory_of_several_rows(student, rng):
    """work: four rows of x: a matrix of 512 x 2,048 is never converted to floating point as a whole"""
    q, scale, minimum = matrix(rng, 512, 2048)
    x = torch.randn(4, 2048, generator=rng)
    with student.counting() as work:
        got = student.quantized_linear(x, q, scale, minimum)
    want = x.double() @ weights_of(q, scale, minimum).T
    float32s(got, want, "wrong product", atol=2e-5 * float(want.abs().max()))
    most = in_hand(512, x, got)
    that(work.peak_bytes <= most, "too much memory at one time", expected=f"{most:,} bytes at the most", got=f"{work.peak_bytes:,} bytes")


@checks("int8_linear", weight=2)
def test_groups_of_unlike_size(student, rng):
    """groups of x of very different size, a group of zeros, and a single group: the product is right"""
    for groups in (1, 33, 2, 5):
        q, scale, minimum = matrix(rng, integer(rng, 1, 9), 32 * groups)
        x = symmetric_case(rng, *shape_of(rng), groups, 32)[0]
        x = x * 10.0 ** (3 * torch.rand(groups, 1, generator=rng))
        if groups > 2:
            x[..., 1, :] = 0.0
            scale[:, 2] = 0.0
        x = x.flatten(-2)
        got = student.int8_linear(x, q, scale, minimum, _unchanged=True)
        want = integer_product(x, q, scale, minimum)
        float32s(got, want, f"wrong product of {groups} groups", atol=2e-5 * float(want.abs().max()) + 1e-5)
    zeros = torch.zeros(2, 32 * groups)
    float32s(student.int8_linear(zeros, q, scale, minimum), torch.zeros(2, len(q)), "wrong product of zeros")


@checks("int8_linear")
def test_whole_numbers_are_exact(student, rng):
    """x of whole numbers with 127 as the largest in each group: rounding x loses nothing"""
    q, _, _ = matrix(rng, 7, 96)
    scale, minimum = torch.full((7, 3, 1), 0.5), torch.full((7, 3, 1), -3.0)
    x = torch.randint(-127, 128, (4, 3, 32), generator=rng).float()
    x[..., 0], x[..., 1] = 127.0, 64.0
    x = x.flatten(1)
    moved = torch.stack((x, -x)).transpose(0, 1)
    for given, what in ((x, "wrong product"), (moved, "wrong product for a transposed x")):
        want = given.double() @ weights_of(q, scale, minimum).T
        float32s(student.int8_linear(given, q, scale, minimum), want, what, atol=1e-2)


@checks("int8_linear")
def test_sums_below_zero(student):
    """sums of 32 negative numbers do not overflow, in the minimum's part and in the products, in a matrix of 1 or 3,000 rows"""
    x = -torch.ones(3, 32) * torch.tensor([[127.0], [254.0], [1.27]])
    q, scale, minimum = torch.zeros(1, 1, 32, dtype=torch.uint8), torch.ones(1, 1, 1), torch.full((1, 1, 1), 2.0)
    want = 2 * x.double().sum(dim=-1, keepdim=True)
    float32s(student.int8_linear(x, q, scale, minimum), want, "wrong product with the minimum alone")
    float32s(student.int8_linear(x, q + 15, scale, 0 * minimum), 15 * want / 2, "wrong product without a minimum")
    tall = [each.expand(3000, 1, -1) for each in (q + 15, scale, 0 * minimum)]
    float32s(student.int8_linear(x, *tall), (15 * want / 2).expand(3, 3000), "wrong product with a matrix of 3,000 rows")


@checks("int8_linear", weight=2)
def test_integers_in_every_group(student, rng):
    """work: three groups: no floating tensor holds q, the weights or the products"""
    q, scale, minimum = matrix(rng, 5, 96)
    x = symmetric_case(rng, 3, 32)[0].flatten()
    with student.watching() as fingerprints:
        got = student.int8_linear(x, q, scale, minimum)
    want = integer_product(x, q, scale, minimum)
    float32s(got, want, "wrong product", atol=1e-5 * float(want.abs().max()))
    that(not was_floating(fingerprints, x, q, scale, minimum), "q was made floating", expected="integers, until the products are added up")


# ---- QuantizedKVCache ----------------------------------------------------------------------------------------------


@checks("QuantizedKVCache", weight=3)
def test_random_appends(student, rng):
    """random appends to random layers: append returns all tokens of the layer, in order, or raises CacheFull"""
    for _ in range(3):
        config = small_config(num_hidden_layers=integer(rng, 1, 3), num_key_value_heads=2, num_attention_heads=4, head_dim=8)
        layers, batch, room = config.num_hidden_layers, integer(rng, 1, 3), integer(rng, 4, 12)
        cache = student.QuantizedKVCache(config, batch, room)
        stored = [[[], []] for _ in range(layers)]
        counts = [0] * layers
        for _ in range(8):
            layer, t = integer(rng, 0, layers - 1), integer(rng, 1, 4)
            k, v = vectors(rng, batch, config, t), vectors(rng, batch, config, t)
            if counts[layer] + t > room:
                raises("CacheFull", lambda c=cache, a=(layer, k, v): c.append(*a), naming=room)
                continue
            counts[layer] += t
            for got, tensors, new in zip(parts(cache.append(layer, k, v), "keys", "values"), stored[layer], (k, v), strict=True):
                tensors.append(new)
                as_near(got, torch.cat(tensors, dim=2), "keys or values")
            equal(cache.length, counts[-1], what="wrong length")


@checks("QuantizedKVCache")
def test_two_quantized_caches(student, rng):
    """two caches in turn, with keys and values that are not contiguous: each cache keeps its own tokens"""
    config = small_config(num_hidden_layers=1)
    caches = [student.QuantizedKVCache(config, rows, 6) for rows in (2, 1)]
    stored = [[], []]
    for turn, t in ((0, 2), (1, 3), (0, 1), (1, 1)):
        rows = 2 - turn
        stored[turn].append(vectors(rng, rows, config, t).transpose(1, 2).contiguous().transpose(1, 2))
        got = parts(caches[turn].append(0, stored[turn][-1], -stored[turn][-1]), "keys", "values")
        as_near(got[0], torch.cat(stored[turn], dim=2), f"keys of cache {turn}")
        as_near(got[1], -torch.cat(stored[turn], dim=2), f"values of cache {turn}")
    caches[0].reset()
    equal([cache.length for cache in caches], [0, 4], what="wrong lengths after a reset of one of two caches")


@checks("QuantizedKVCache")
def test_quantized_memory_stays_at_a_reset(student, rng):
    """work: reset allocates nothing"""
    config = small_config(num_hidden_layers=2, num_key_value_heads=2, head_dim=16)
    cache, k = student.QuantizedKVCache(config, 2, 300), vectors(rng, 2, config, 3)
    for layer in (0, 1):
        cache.append(layer, k, k)
    with student.counting() as work:
        cache.reset()
    as_near(parts(cache.append(0, -k, k), "keys", "values")[0], -k, "keys after a reset")
    that(work.largest_bytes <= 600, "a reset has allocated new memory", expected="at most 600 bytes", got=f"{work.largest_bytes:,} bytes")


@checks("QuantizedKVCache")
def test_what_came_back_stays(student, rng):
    """keys and values that append has returned are the same in all later results"""
    config = small_config(num_hidden_layers=1)
    cache = student.QuantizedKVCache(config, 1, 6)
    first = parts(cache.append(0, vectors(rng, 1, config, 2), vectors(rng, 1, config, 2)), "keys", "values")
    for _ in range(4):
        later = parts(cache.append(0, vectors(rng, 1, config, 1), vectors(rng, 1, config, 1)), "keys", "values")
        for name, old, new in zip(("keys", "values"), first, later, strict=True):
            equal(new[:, :, :2], old, what=f"the {name} of old tokens have changed")


@checks("QuantizedKVCache")
def test_from_other_dtypes(student, rng):
    """keys and values in 16 or 64 bits, and vectors of zeros: float32 comes back, and zeros stay zeros"""
    config = small_config(num_hidden_layers=1)
    for dtype in NARROW:
        cache = student.QuantizedKVCache(config, 2, 5)
        k = vectors(rng, 2, config, 3).to(dtype)
        as_near(parts(cache.append(0, k, -k), "keys", "values")[1], -k, f"values from {dtype}")
    zeros = torch.zeros_like(k[:, :, :2]).float()
    for got in parts(cache.append(0, zeros, zeros), "keys", "values"):
        equal(got[:, :, 3:], zeros, what="zeros are not zeros any more")


@checks("QuantizedKVCache")
def test_large_numbers_in_8_bits(student, rng):
    """numbers up to a million, too large for float16, come back within about half a step"""
    config = small_config(num_hidden_layers=1)
    cache = student.QuantizedKVCache(config, 1, 4)
    k = vectors(rng, 1, config, 3)
    k = 1e6 * k / k.abs().amax(dim=-1, keepdim=True)
    for name, got, due in zip(("keys", "values"), parts(cache.append(0, k, -k), "keys", "values"), (k, -k), strict=True):
        as_near(got, due, name)


@checks("QuantizedKVCache")
def test_bytes_of_other_shapes(student, rng):
    """nbytes is right for random shapes, and reset does not change nbytes"""
    for _ in range(3):
        heads, width, layers = integer(rng, 1, 4), 2 * integer(rng, 1, 20), integer(rng, 1, 4)
        config = small_config(num_hidden_layers=layers, num_key_value_heads=heads, num_attention_heads=heads, head_dim=width)
        batch, room = integer(rng, 1, 4), integer(rng, 1, 9)
        with student.counting() as work:
            cache = student.QuantizedKVCache(config, batch, room)
        want = 2 * layers * batch * heads * room * (width + 2)
        equal(cache.nbytes, want, what="wrong nbytes")
        most = 2 * want + 500
        that(want <= work.peak_bytes <= most, "a new cache takes other memory than nbytes says", expected=want, got=work.peak_bytes)
        cache.reset()
        equal([cache.nbytes, cache.length], [want, 0], what="wrong nbytes and length after reset")


@checks("QuantizedKVCache")
def test_quantized_memory_on_its_device(student):
    """on the meta device: the cache and the result of append are on that device"""
    config = small_config(num_hidden_layers=1)
    cache = student.QuantizedKVCache(config, 2, 6, "meta")
    new = torch.ones(2, config.num_key_value_heads, 3, config.head_dim)
    on_one_device(cache.append.on_meta(0, new, new))


# ---- kl_divergence, perplexity -------------------------------------------------------------------------------------


@checks("kl_divergence", weight=2)
def test_random_divergences(student, rng):
    """random logits in 16, 32 or 64 bits: the divergence is right"""
    for dtype in (torch.float32, *NARROW):
        T, V = integer(rng, 1, 6), integer(rng, 2, 40)
        p, q = ((3 * torch.randn(T, V, generator=rng)).to(dtype) for _ in range(2))
        log_p, log_q = p.double().log_softmax(-1), q.double().log_softmax(-1)
        want = float((log_p.exp() * (log_p - log_q)).sum() / T)
        close(student.kl_divergence(p, q, _unchanged=True), want, rtol=1e-4, atol=1e-5, what=f"wrong divergence of logits in {dtype}")


@checks("kl_divergence")
def test_small_divergences(student, rng):
    """logits that differ a little, in rows where the model is sure and in rows where it is not: the divergence is right"""
    for sharp in (1.0, 30.0):
        p = sharp * torch.randn(40, 50, generator=rng, dtype=torch.float64)
        q = p + 0.3 * torch.randn(40, 50, generator=rng, dtype=torch.float64)
        want = float((p.softmax(-1) * (p.log_softmax(-1) - q.log_softmax(-1))).sum(-1).mean())
        close(student.kl_divergence(p, q), want, atol=2e-5, rtol=1e-3, what="wrong divergence")


@checks("kl_divergence")
def test_improbable_tokens(student):
    """tokens of probability one half in the reference, and e^-60 or e^-200 in the model, count in full"""
    p, q = torch.zeros(3, 2), torch.tensor([[0.0, -60.0], [0.0, 0.0], [-200.0, 0.0]])
    close(student.kl_divergence(p, q), (130 - 2 * math.log(2)) / 3, rtol=1e-4, what="wrong divergence")


@checks("kl_divergence")
def test_many_places_and_many_tokens(student, rng):
    """3,001 places or 60,000 tokens: the divergence is right; logits shifted by 1,500 give 0"""
    p, q = (2 * torch.randn(3001, 3, generator=rng) for _ in range(2))
    p[:700] *= 3
    want = float((p.double().softmax(-1) * (p.double().log_softmax(-1) - q.double().log_softmax(-1))).sum() / 3001)
    close(student.kl_divergence(p, q), want, rtol=1e-4, what="wrong divergence of 3,001 places")
    p, q = torch.zeros(1, 60_000), torch.zeros(1, 60_000)
    q[:, 1000:21000] = -2.0
    want = math.log((2 + math.exp(-2)) / 3) + 2 / 3
    close(student.kl_divergence(p, q), want, atol=1e-4, what="wrong divergence of 60,000 tokens")
    p = torch.tensor([[0.5, 0.0, -1.0]])
    for a, b in ((p, p - 1500), (p + 1500, p), (p, p + 1500)):
        close(student.kl_divergence(a, b), 0.0, atol=2e-3, what="wrong divergence of logits that were moved by 1,500")


@checks("perplexity")
def test_many_tokens(student, rng):
    """2,500 tokens of text, or a vocabulary of 70,000: the perplexity is right; -inf in the last row has no effect"""
    logits, ids = 2 * torch.randn(2500, 4, generator=rng), torch.randint(4, (2500,), generator=rng)
    logits[1900:] *= 3
    logits[-1] = torch.tensor([-math.inf, 0.0, -math.inf, -math.inf])
    ids[0] = 2
    rows = logits[:-1].double().log_softmax(-1)
    want = math.exp(-float(rows[torch.arange(2499), ids[1:]].mean()))
    close(student.perplexity(logits, ids), want, rtol=1e-4, what="wrong perplexity of 2,500 tokens")
    logits = torch.zeros(3, 70_000)
    logits[0, 69_000] = math.log(70_001.0)  # of 140,000 in all, so it has 1/2
    got = student.perplexity(logits, torch.tensor([0, 69_000, 35_000]))
    close(got, math.sqrt(2 * 70_000), rtol=1e-3, what="wrong perplexity of 70,000 tokens")


@checks("perplexity")
def test_an_improbable_text(student):
    """one of two predicted tokens has probability e^-120: the perplexity is e^60"""
    logits = torch.tensor([[0.0, -120.0, -500.0], [-300.0, -400.0, 0.0], [0.0, 0.0, 0.0]])
    close(student.perplexity(logits, torch.tensor([0, 1, 2])), math.exp(60), rtol=1e-3, what="wrong perplexity")


@checks("perplexity", weight=2)
def test_random_perplexities(student, rng):
    """random logits in 16, 32 or 64 bits, and texts of two or more tokens: the perplexity is right"""
    for dtype, T in ((torch.float32, 2), (torch.float32, 30), (torch.float64, 7), (torch.float16, 9), (torch.bfloat16, 5)):
        V = integer(rng, 2, 40)
        logits = (2 * torch.randn(T, V, generator=rng)).to(dtype)
        ids = torch.randint(V, (T,), generator=rng)
        rows = logits.double().log_softmax(-1).tolist()
        want = math.exp(-sum(rows[t][int(ids[t + 1])] for t in range(T - 1)) / (T - 1))
        close(student.perplexity(logits, ids, _unchanged=True), want, rtol=1e-4, what=f"wrong perplexity of {T} tokens in {dtype}")


@checks("perplexity")
def test_large_logits_of_a_text(student):
    """logits of 1,000 and more give no inf and no nan"""
    logits = torch.tensor([[1000.0, 1001.0, 0.0], [-1000.0, -1000.0, -1000.0], [7.0, 0.0, 0.0]])
    want = math.exp((math.log1p(math.exp(-1)) + math.log(3)) / 2)
    close(student.perplexity(logits, torch.tensor([2, 1, 0])), want, rtol=1e-3, what="wrong perplexity")
