"""Hidden checks of the softmax day: fresh numbers every run, and the edges of every rule.

Expected values are PyTorch's own in float64. Tolerances leave room for every sound
way of working: at logits around a thousand, log-sum-exp in float32 rounds at 1e-4.
"""

from __future__ import annotations

import math

import torch

from autograder.authoring import checks, close, equal

INF = float("inf")
# dtype, atol of probabilities, atol of their logarithms: log-sum-exp in bfloat16 rounds at 0.03 from 8 on
HALF = [(torch.float16, 1e-2, 2e-2), (torch.bfloat16, 5e-2, 0.15)]


def shapes(rng, largest=5):
    """Shapes of 1 to 6 dimensions, the rows always longer than 2; and such in which other dimensions are 1."""
    for dims in range(5):
        leading = torch.randint(2, 4, (dims,), generator=rng).tolist()
        yield (*leading, int(torch.randint(3, largest + 3, (), generator=rng)))
    yield from ((1, 4), (1, 1, 3), (3, 1, 5), (2, 1, 2, 1, 2, 3))


def transposed(tensors):
    """Each as it is and, where it has more than one dimension, with its first and last dimension exchanged: what `.T` gives."""
    for tensor in tensors:
        yield tensor
        if tensor.dim() > 1:
            yield tensor.transpose(0, -1)


def masked_logits(rng, shape, dtype=torch.float32):
    """Random logits of which every row has -inf entries, but at least one number."""
    logits = 2 * torch.randn(shape, generator=rng)
    order = torch.rand(shape, generator=rng).argsort(dim=-1)
    masked = order < torch.randint(1, shape[-1], (*shape[:-1], 1), generator=rng)
    return logits.masked_fill(masked, -INF).to(dtype)


def row_offsets(rng, shape, size):
    """One offset of about +size or -size for each row, both signs present where there are two rows."""
    rows = math.prod(shape[:-1])
    signs = torch.where(torch.randperm(rows, generator=rng) % 2 == 0, 1.0, -1.0)
    return (signs * size * (1 + torch.rand(rows, generator=rng))).reshape(*shape[:-1], 1)


def far_logits(rng):
    """Return logits whose rows are each at another height, far from 0: in float32, and the same in float64."""
    for size in (90, 1000):
        for shape in [(6,), (2, 5), (3, 3), (2, 3, 4)]:
            logits = torch.randn(shape, generator=rng) + row_offsets(rng, shape, size)
            yield from (logits, logits.double())


def plain_and_masked(rng):
    """Logits of every dtype: as they are, with 0 as each row's largest, and masked."""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for shape in [(5,), (3, 4), (2, 2, 3)]:
            logits = torch.randn(shape, generator=rng).to(dtype)
            yield from (logits, logits - logits.amax(dim=-1, keepdim=True))
            yield masked_logits(rng, shape, dtype)


def fine_in_half(rng, dtype):
    """Rows of a 0 and of gaps between 4 and 8 in odd sixty-fourths: float16 holds each exactly, bfloat16 none."""
    for shape in [(5,), (3, 4)]:
        gaps = (257 + 2 * torch.randint(0, 100, shape, generator=rng)) / 64
        yield torch.cat([-gaps, torch.zeros(*shape[:-1], 1)], dim=-1).to(dtype)


def all_alike():
    """Long rows of equal logits in half precision: a sum that grows by 1 stands still at 256 in bfloat16, at 2,048 in float16."""
    return torch.zeros((2, 300), dtype=torch.bfloat16), torch.zeros((1, 2_500), dtype=torch.float16)


def one_far_above(rng, logits):
    """Return a copy of a long row in which one entry, neither among the first nor the last 2,000, is 200 above the largest."""
    place = int(torch.randint(2_000, logits.shape[-1] - 2_000, (), generator=rng))
    return logits.index_fill(-1, torch.tensor([place]), float(logits.max()) + 200)


def softmax64(logits):
    return torch.softmax(logits.double(), dim=-1)


def log_softmax64(logits):
    return torch.log_softmax(logits.double(), dim=-1)


def entropy64(probs):
    return torch.special.entr(probs.double()).sum(dim=-1)


def random_probs(rng, shape, zeros=False):
    """Random distributions in float64; with `zeros`, entries of exactly 0, in other places for every row."""
    return softmax64(masked_logits(rng, shape) if zeros else 2 * torch.randn(shape, generator=rng))


def in_both_precisions(doubles):
    return doubles + [probs.float() for probs in doubles]


# ---- softmax -------------------------------------------------------------------------------------------------------


@checks("softmax")
def test_softmax_random_ranks(student, rng):
    """random logits in any number of dimensions, also transposed: every row is right, also after a second call"""
    for logits, got in student.softmax.each(transposed(3 * torch.randn(shape, generator=rng) for shape in shapes(rng))):
        close(got, softmax64(logits), atol=1e-5)
    both = 3 * torch.randn((2, 2, 5), generator=rng)
    for logits, got in zip(both, student.softmax.again(*([logits] for logits in both)), strict=True):
        close(got, softmax64(logits), atol=1e-5)


@checks("softmax")
def test_softmax_random_offsets(student, rng):
    """a large constant added to a row of logits, different in every row, does not change the probabilities"""
    for logits, got in student.softmax.each(far_logits(rng)):
        close(got, softmax64(logits), atol=1e-3)


@checks("softmax")
def test_softmax_random_masks(student, rng):
    """masked logits (-inf) get exactly 0 in every row, also among very large or very negative logits"""
    for shape in [(6,), (3, 5), (2, 3, 4)]:
        logits = masked_logits(rng, shape) + row_offsets(rng, shape, 1000)
        probs = student.softmax(logits)
        close(
            probs,
            softmax64(logits),
            atol=1e-3,
        )
        equal(probs[logits == -INF].abs().sum().item(), 0.0)
    for low in (-1e5, -1e6):
        logits = torch.tensor([low, -INF, low])
        close(
            student.softmax(logits),
            [0.5, 0.0, 0.5],
            atol=2e-2,
        )
    close(
        student.softmax(torch.tensor([[-INF, 3.0, -INF], [-INF, -INF, -800.0]])),
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        atol=1e-6,
    )


@checks("softmax")
def test_softmax_half_precision(student, rng):
    """float16 and bfloat16 logits, masked or not, give the right probabilities in the same dtype"""
    for dtype, atol, _ in HALF:
        inputs = [2 * torch.randn((3, 6), generator=rng), masked_logits(rng, (2, 2, 5)), torch.tensor([14.0, 12.0, -30000.0])]
        inputs.append(torch.tensor([[14.0, 12.0, 13.0], [30.0, 28.0, -3.0]]))
        for logits, got in student.softmax.each(x.to(dtype) for x in inputs):
            close(
                got,
                softmax64(logits),
                atol=atol,
                dtype=dtype,
            )


@checks("softmax")
def test_softmax_masked_in_half_precision(student, rng):
    """in float16 and bfloat16, a masked logit gets exactly 0, and every row sums to 1"""
    for dtype in (torch.float16, torch.bfloat16):
        logits = masked_logits(rng, (3, 6), dtype)
        probs = student.softmax(logits)
        equal(probs[logits == -INF].abs().sum().item(), 0.0)
        close(probs.float().sum(dim=-1), [1.0, 1.0, 1.0], atol=3e-2)


@checks("softmax")
def test_softmax_float64(student, rng):
    """float64 logits give float64 probabilities, and float32 logits give float32 probabilities"""
    for dtype in (torch.float64, torch.float32):
        for shape in [(4,), (3, 5), (2, 2, 3)]:
            logits = (2 * torch.randn(shape, generator=rng)).to(dtype)
            close(student.softmax(logits), softmax64(logits), atol=1e-5, dtype=dtype)


@checks("softmax")
def test_softmax_input_random(student, rng):
    """the logits are not changed, in any dtype, masked or not"""
    for logits, got in student.softmax.each(plain_and_masked(rng), _unchanged=True):
        close(got, softmax64(logits), atol=5e-2)


@checks("softmax")
def test_softmax_small_probabilities(student, rng):
    """small probabilities have a small relative error, and a logit far above all others gets probability 1"""
    gaps = torch.tensor([0.0, -10.0, -25.0, -40.0, -60.0]) - torch.rand(5, generator=rng)
    for logits in (gaps, gaps + 20, gaps[torch.randperm(5, generator=rng)].repeat(2, 1)):
        close(student.softmax(logits), softmax64(logits), atol=0.0, rtol=1e-3)
    sure = torch.tensor([[0.0, 1000.0, 3.0], [-1000.0, -3000.0, -2000.0]], dtype=torch.float64)
    close(student.softmax(sure), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], atol=1e-11, rtol=0.0)


@checks("softmax")
def test_softmax_wide_float64(student, rng):
    """float64 logits with huge or tiny gaps, or beyond the range of float32: every probability has a small relative error"""
    gaps = torch.tensor([0.0, -100.0, -300.0, -600.0, -700.0], dtype=torch.float64) - torch.rand(5, generator=rng, dtype=torch.float64)
    tiny = 1e-9 * torch.rand((3, 6), generator=rng, dtype=torch.float64)
    for logits, got in student.softmax.each([gaps, gaps + 1024, tiny, tiny + 64, torch.tensor([[4e38, 0.0, -4e38]], dtype=torch.float64)]):
        close(got, softmax64(logits), atol=1e-300, rtol=1e-11, dtype=torch.float64)


@checks("softmax")
def test_softmax_down_to_the_smallest(student, rng):
    """float32 probabilities down to 1e-37 have a small relative error, also if all logits of the row are far from 0"""
    gaps = torch.tensor([0.0, -70.0, -80.0, -85.0])
    for logits, got in student.softmax.each([gaps, gaps + 512, torch.stack([gaps - 1024, gaps.flip(0)])]):
        close(got, softmax64(logits), atol=0.0, rtol=1e-3)


@checks("softmax")
def test_softmax_vocabulary(student, rng):
    """rows of one token, of two thousand tokens and of SmolLM2's whole vocabulary: the probabilities are right"""
    logits = 4 * torch.randn((2, 2_000), generator=rng)
    probs = student.softmax(logits)
    close(probs, softmax64(logits), atol=1e-8, rtol=2e-3)
    close(probs.sum(dim=-1), [1.0, 1.0], atol=2e-3)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        close(student.softmax(torch.randn((3, 1), generator=rng).to(dtype)), [[1.0], [1.0], [1.0]], atol=1e-6, dtype=dtype)
    whole = 4 * torch.randn(49_152, generator=rng).sort().values  # what is most probable stands at the end
    rows = torch.stack([whole, 8 * whole, one_far_above(rng, whole)])
    close(student.softmax(rows), softmax64(rows), atol=1e-8, rtol=2e-3)


@checks("softmax")
def test_softmax_no_coarser_inside(student, rng):
    """float16, bfloat16 and long float64 rows are computed without loss of digits or range, also if all logits are equal"""
    for logits, got in student.softmax.each(fine_in_half(rng, torch.float16)):
        close(got, softmax64(logits), atol=1e-6, rtol=8e-3, dtype=torch.float16)
    wide = torch.tensor([[1e5, 9e4, -1e5], [-2e5, -3e38, -9e4]]).bfloat16()  # float16 ends at 65,504
    close(student.softmax(wide), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], atol=1e-2, dtype=torch.bfloat16)
    long = 4 * torch.randn((2, 2_000), generator=rng, dtype=torch.float64)
    close(student.softmax(long), softmax64(long), atol=1e-300, rtol=1e-11, dtype=torch.float64)
    for alike in all_alike():
        close(student.softmax(alike), softmax64(alike), atol=0.0, rtol=2e-2, dtype=alike.dtype)
    falling = torch.tensor([[0.0, -20.0, -40.0, -60.0]]).bfloat16()  # float16 has nothing below 6e-8
    close(student.softmax(falling), softmax64(falling), atol=0.0, rtol=5e-2, dtype=torch.bfloat16)


@checks("softmax")
def test_softmax_minus_infinity_is_no_number(student):
    """-inf gets probability 0, also beside the lowest number of the dtype; a row of only -inf changes no other row"""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        lowest = torch.finfo(dtype).min
        logits = torch.tensor([[lowest, -INF, -INF], [-INF, lowest, -INF]], dtype=dtype)
        close(student.softmax(logits), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], atol=1e-6, dtype=dtype)
    logits = torch.tensor([[1.0, 1.0, -INF], [-INF, -INF, -INF], [-INF, 0.0, -INF]])
    close(student.softmax(logits)[::2], [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]], atol=1e-6)


# ---- log_softmax ---------------------------------------------------------------------------------------------------


@checks("log_softmax")
def test_log_softmax_random_ranks(student, rng):
    """random logits of any number of dimensions, transposed or nearly normalized: every row is right, also after a second call"""
    for logits, got in student.log_softmax.each(transposed(3 * torch.randn(shape, generator=rng) for shape in shapes(rng))):
        close(got, log_softmax64(logits), atol=2e-5)
    both = 3 * torch.randn((2, 2, 5), generator=rng)
    for logits, got in zip(both, student.log_softmax.again(*([logits] for logits in both)), strict=True):
        close(got, log_softmax64(logits), atol=2e-5)
    nearly = log_softmax64(torch.randn((3, 4), generator=rng)) + 5e-4
    close(student.log_softmax(nearly), log_softmax64(nearly), atol=1e-9)


@checks("log_softmax")
def test_log_softmax_random_offsets(student, rng):
    """a large constant added to a row of logits, different in every row, does not change the log probabilities"""
    for logits, got in student.log_softmax.each(far_logits(rng)):
        close(got, log_softmax64(logits), atol=2e-3)


@checks("log_softmax")
def test_log_softmax_random_gaps(student, rng):
    """finite logits have finite log probabilities, however wide the gaps"""
    for spread in (30, 100, 1000, 20_000):
        logits = spread * (2 * torch.rand((4, 6), generator=rng) - 1)
        for x, got in student.log_softmax.each((logits, logits[0], logits.double())):
            close(
                got,
                log_softmax64(x),
                atol=5e-3,
                rtol=1e-5,
            )


@checks("log_softmax")
def test_log_softmax_lost_digits(student, rng):
    """log probabilities keep all digits where the probability is barely above 0 in float16, float32 or float64"""
    for dtype, low, high, atol in ((torch.float16, 13, 17, 5e-3), (torch.float32, 88, 103, 1e-4), (torch.float64, 710, 744, 1e-9)):
        gaps = -torch.arange(low, high, dtype=dtype) - 0.5
        logits = torch.cat([torch.zeros(1, dtype=dtype), gaps])
        for x, got in student.log_softmax.each([logits, torch.stack([logits, logits.flip(0)])]):
            close(got, x, atol=atol, rtol=0.0, dtype=dtype)


@checks("log_softmax")
def test_log_softmax_wide_float64(student, rng):
    """float64 logits with gaps too small for float32, or beyond the range of float32: log probabilities have float64 precision"""
    tiny = 1e-9 * torch.rand((3, 6), generator=rng, dtype=torch.float64)
    for x, got in student.log_softmax.each([tiny, tiny + 64, torch.tensor([[4e38, 4e38 + 1e30, -4e38]], dtype=torch.float64)]):
        close(got, log_softmax64(x), atol=1e-12, rtol=1e-12, dtype=torch.float64)


@checks("log_softmax")
def test_log_softmax_random_masks(student, rng):
    """masked logits stay -inf in every row, also among very large or very negative logits; the other entries are right"""
    for shape in [(6,), (3, 5), (2, 3, 4)]:
        logits = masked_logits(rng, shape) + row_offsets(rng, shape, 1000)
        close(
            student.log_softmax(logits),
            log_softmax64(logits),
            atol=2e-3,
        )
    close(student.log_softmax(torch.tensor([[-INF, 3.0], [-800.0, -INF]])), [[-INF, 0.0], [0.0, -INF]], atol=1e-3)


@checks("log_softmax")
def test_log_softmax_dtypes(student, rng):
    """the log probabilities are right and have the dtype of the logits, masked or not"""
    for dtype, atol in [(torch.float32, 2e-5), (torch.float64, 2e-5), *((d, a) for d, _, a in HALF)]:
        inputs = [torch.randn(4, generator=rng), 2 * torch.randn((3, 6), generator=rng), masked_logits(rng, (2, 2, 5))]
        inputs.append(torch.tensor([[20.0, 19.0, 18.0], [0.0, -20.0, -1.0]]))
        for logits, got in student.log_softmax.each(x.to(dtype) for x in inputs):
            close(got, log_softmax64(logits), atol=atol, rtol=1e-2, dtype=dtype)


@checks("log_softmax")
def test_log_softmax_input_random(student, rng):
    """the logits are not changed, in any dtype, masked or not"""
    for logits, got in student.log_softmax.each(plain_and_masked(rng), _unchanged=True):
        close(got, log_softmax64(logits), atol=0.15)


@checks("log_softmax")
def test_log_softmax_vocabulary(student, rng):
    """rows of one token, of two thousand tokens and of SmolLM2's whole vocabulary: the log probabilities are right"""
    logits = 4 * torch.randn((2, 2_000), generator=rng)
    close(student.log_softmax(logits), log_softmax64(logits), atol=2e-3)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        close(student.log_softmax(torch.randn((3, 1), generator=rng).to(dtype)), [[0.0], [0.0], [0.0]], atol=1e-6, dtype=dtype)
    whole = 4 * torch.randn(49_152, generator=rng).sort().values
    rows = torch.stack([whole, 8 * whole, one_far_above(rng, whole)])
    close(student.log_softmax(rows), log_softmax64(rows), atol=2e-3)


@checks("log_softmax")
def test_log_softmax_no_coarser_inside(student, rng):
    """float16, bfloat16 and long float64 rows are computed without loss of digits or range, also if all logits are equal"""
    for logits, got in student.log_softmax.each(fine_in_half(rng, torch.float16)):
        close(got, log_softmax64(logits), atol=8e-3, rtol=0.0, dtype=torch.float16)
    wide = torch.tensor([[1e5, 1e5, -1e5], [-2e5, -3e5, -2e5]]).bfloat16()  # float16 ends at 65,504
    close(student.log_softmax(wide.float()), log_softmax64(wide), atol=0.02, rtol=1e-5)
    got = student.log_softmax(wide)  # which way a logarithm of bfloat16 rounds near 1e5 is free: only that it is finite, and the gaps
    equal(bool(torch.isfinite(got).all()), True, what="a log probability of finite bfloat16 logits is not finite")
    close(got[:, [2, 1]].diagonal(), [-2e5, -1e5], rtol=2e-2, atol=0.0, dtype=torch.bfloat16)
    long = 4 * torch.randn((2, 2_000), generator=rng, dtype=torch.float64)
    close(student.log_softmax(long), log_softmax64(long), atol=1e-12, rtol=1e-12, dtype=torch.float64)
    for alike in all_alike():
        close(student.log_softmax(alike), log_softmax64(alike), atol=5e-2, rtol=0.0, dtype=alike.dtype)


@checks("log_softmax")
def test_log_softmax_of_equals(student, rng):
    """two or more equal best logits share the probability, and a row of only -inf changes no other row"""
    two = torch.tensor([[2.0, 2.0, 1.0], [-3.0, 5.0, 5.0]])
    for logits, got in student.log_softmax.each([two, two.double(), torch.full((2, 7), 3.0), torch.zeros(1, 300)]):
        close(got, log_softmax64(logits), atol=1e-5)
    logits = torch.tensor([[1.0, 1.0, -INF], [-INF, -INF, -INF], [-INF, 0.0, -INF]])
    close(student.log_softmax(logits)[::2], [[-math.log(2), -math.log(2), -INF], [-INF, 0.0, -INF]], atol=1e-5)


# ---- entropy -------------------------------------------------------------------------------------------------------


@checks("entropy")
def test_entropy_random_ranks(student, rng):
    """random distributions in any number of dimensions, also transposed: every entropy is right, also after a second call"""
    doubles = [random_probs(rng, shape) for shape in shapes(rng)]
    doubles += [torch.softmax(torch.randn(4, 3, 2, generator=rng, dtype=torch.float64), dim=0).transpose(0, -1)]
    for probs, got in student.entropy.each(in_both_precisions(doubles)):
        close(got, entropy64(probs), atol=1e-5)
    both = torch.stack([random_probs(rng, (2, 4)), random_probs(rng, (2, 4))])
    for probs, got in zip(both, student.entropy.again(*([probs] for probs in both)), strict=True):
        close(got, entropy64(probs), atol=1e-9)
    equal(isinstance(student.entropy(both[0, 0]), torch.Tensor), True, what="the entropy of one row is not a tensor")


@checks("entropy")
def test_entropy_random_zeros(student, rng):
    """probabilities of 0, at different places in each row, add nothing to the entropy"""
    doubles = [random_probs(rng, shape, zeros=True) for shape in [(6,), (4, 5), (2, 3, 4)]]
    for probs, got in student.entropy.each(in_both_precisions(doubles)):
        close(
            got,
            entropy64(probs),
            atol=1e-5,
        )


@checks("entropy")
def test_entropy_certain_rows(student, rng):
    """a row with all probability on one token has entropy 0, also beside a row that is uncertain"""
    v = 7
    places = torch.randint(0, v, (2, 3), generator=rng)
    probs = torch.nn.functional.one_hot(places, v).double()
    close(student.entropy(probs), torch.zeros(2, 3), atol=1e-13, rtol=0.0)
    probs[0, 1] = random_probs(rng, (v,))
    close(
        student.entropy(probs.float()),
        entropy64(probs.float()),
        atol=1e-5,
    )
    close(student.entropy(torch.ones((2, 1), dtype=torch.float64)), [0.0, 0.0], atol=1e-13)


@checks("entropy")
def test_entropy_long_tail(student, rng):
    """a long tail of tiny probabilities is fully included in the entropy"""
    v = 50_000
    single = torch.full((v,), 4e-8)
    single[int(torch.randint(0, v, (), generator=rng))] = 1 - (v - 1) * 4e-8
    close(student.entropy(single), entropy64(single), atol=1e-4, rtol=0.0)
    for mass in (0.3, 1e-1, 1e-3, 1e-5):
        probs = torch.full((v,), mass / (v - 1), dtype=torch.float64)
        probs[int(torch.randint(0, v, (), generator=rng))] = 1 - mass
        want = -(1 - mass) * math.log1p(-mass) - mass * math.log(mass / (v - 1))
        close(student.entropy(probs), want, atol=1e-6, rtol=2e-5)


@checks("entropy")
def test_entropy_vocabulary(student, rng):
    """the entropy over a whole vocabulary is right, for equal and for random probabilities"""
    v = 49_152
    probs = torch.stack([torch.full((v,), 1 / v, dtype=torch.float64), random_probs(rng, (v,))])
    close(student.entropy(probs), entropy64(probs), atol=2e-4, rtol=0.0)


@checks("entropy")
def test_entropy_input_random(student, rng):
    """the probabilities are not changed, with or without zeros"""
    doubles = [random_probs(rng, shape, zeros=zeros) for shape in [(5,), (3, 4), (2, 2, 3)] for zeros in (False, True)]
    for probs, got in student.entropy.each(in_both_precisions(doubles), _unchanged=True):
        close(got, entropy64(probs), atol=1e-5)


@checks("entropy")
def test_entropy_precision(student, rng):
    """float64 probabilities give the entropy in float64 precision, also if one token is nearly certain"""
    near_certain = softmax64(torch.tensor([[0.0, -20.0, -25.0], [-30.0, 0.0, -21.0]], dtype=torch.float64))
    for probs, got in student.entropy.each([random_probs(rng, (3, 7)), random_probs(rng, (2, 2, 5), zeros=True), near_certain]):
        close(got, entropy64(probs), atol=1e-13, rtol=1e-11)


@checks("entropy")
def test_entropy_half_precision(student, rng):
    """float16 and bfloat16 probabilities give the right entropy, also if some probabilities are 0"""
    for dtype, atol in ((torch.float16, 1e-2), (torch.bfloat16, 6e-2)):
        rows = [random_probs(rng, (3, 6)), random_probs(rng, (2, 2, 5), zeros=True), torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])]
        for probs, got in student.entropy.each(row.to(dtype) for row in rows):
            close(got, entropy64(probs), atol=atol, rtol=1e-2)


@checks("entropy")
def test_entropy_no_coarser_inside(student):
    """float16 is not rounded to bfloat16, long rows in half precision are right, and a row of one probability has entropy 0"""
    # 958 times the same probability and the rest on one token: bfloat16 is off by 0.05 of its 6.8 nats, float16 hardly.
    probs = torch.full((2, 959), 0.98 / 958 * (1 + 1 / 512)).half()
    probs[:, -1] = 1 - probs[:, :-1].double().sum(dim=-1)
    close(student.entropy(probs), entropy64(probs), atol=2e-2, rtol=0.0)
    for dtype, v, atol in ((torch.float16, 4_096, 4e-2), (torch.bfloat16, 1_024, 0.1)):
        close(student.entropy(torch.full((2, v), 1 / v, dtype=dtype)), [math.log(v), math.log(v)], atol=atol, rtol=0.0)
    for alone in (torch.ones(1), torch.ones(1, dtype=torch.float64), torch.ones(1, 1, 1)):
        close(student.entropy(alone), torch.zeros(alone.shape[:-1]), atol=1e-6)
