"""Hidden checks of the samplers: fresh random inputs, edges and combinations.

False alarms of the frequency tests: at most 1e-10 each, as derived in `autograder/checking/checks/test_samplers.py`.
"""

from typing import Any

import torch
from torch import Tensor

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.checks.test_samplers import (
    DRAWS,
    at_least,
    clear_p,
    distribution,
    drawn,
    draws_where_one_is_all_but_sure,
    each_call_draws_anew,
    frequencies,
    repeat,
    row,
    separated,
    softmax64,
    token_ids,
    top_k_by_hand,
    top_p_by_hand,
)

INF = float("inf")


def between(rng: torch.Generator, low: float, high: float) -> float:
    return low + (high - low) * float(torch.rand((), generator=rng, dtype=torch.float64))


def integer(rng: torch.Generator, low: int, high: int) -> int:
    """low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def fresh(student: Any, rng: torch.Generator) -> Any:
    """A generator on the student's side with a random seed."""
    return student.generator(integer(rng, 0, 10**6))


def blocks(logits: Tensor) -> Tensor:
    """(R, V) -> (R * n, V): n copies of each row, one block after another, about DRAWS rows in all."""
    return logits.repeat_interleave(DRAWS // len(logits), dim=0)


def block_frequencies(got: Tensor, want: Tensor) -> None:
    """Each block of draws against its own distribution; want (R, V)."""
    for block, probs in zip(got.chunk(len(want)), want, strict=True):
        frequencies(block, probs)


def neighbours(got: Tensor, want: Tensor) -> None:
    """Rows beside each other are drawn independently: pairs are as frequent as the products say; want (V,)."""
    two = got.view(-1, 2)
    pairs = two[:, :1] * len(want) + two[:, 1:]
    frequencies(pairs, torch.outer(want, want).flatten())


# ---- greedy_sample -------------------------------------------------------------------------------------------------


@checks("greedy_sample")
def test_greedy_random_rows(student, rng):
    """random logits: the best token of every row is chosen"""
    for rows, width in ((1, 1), (1, 40), (33, 7), (4, 3000)):
        logits = separated(rng, rows, width, gap=0.01)
        want = [[max(range(width), key=values.__getitem__)] for values in logits.tolist()]
        got = token_ids(student.greedy_sample(logits), rows)
        equal(got, torch.tensor(want))


@checks("greedy_sample")
def test_greedy_extremes(student):
    """logits of -inf, huge logits and negative logits: the best token is chosen"""
    logits = torch.tensor([[-INF, -900.0, -901.0], [-INF, -INF, -2.0], [1e30, -1e30, 0.0], [-1e30, -3e30, -2e30]])
    logits = torch.cat([logits, torch.tensor([[7e4, 8e4, 0.0], [1000.0, 1000.1, 999.0]])])
    got = token_ids(student.greedy_sample(logits), 6)
    equal(got, torch.tensor([[1], [2], [0], [0], [1], [1]]))


@checks("greedy_sample")
def test_greedy_shapes_and_dtypes(student, rng):
    """transposed logits, a vocabulary of one token, every dtype: the best token is chosen"""
    tall = torch.randn(7, 4, generator=rng)
    equal(token_ids(student.greedy_sample(tall.T), 4), tall.argmax(dim=0)[:, None])
    equal(token_ids(student.greedy_sample(torch.randn(3, 1, generator=rng)), 3), torch.zeros(3, 1, dtype=torch.int64))
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, -2.0, 1.0]], dtype=dtype)
        equal(token_ids(student.greedy_sample(logits, _unchanged=True), 2), torch.tensor([[1], [0]]))


@checks("greedy_sample")
def test_greedy_small_lead_in_a_vocabulary(student, rng):
    """the highest of 49,152 logits wins, even by a small lead"""
    logits = torch.rand(3, 49_152, generator=rng)
    best = torch.randint(0, 49_152, (3, 1), generator=rng)
    logits = logits.scatter(-1, best, 1.0002).scatter(-1, (best + 1) % 49_152, 1.0001)
    equal(token_ids(student.greedy_sample(logits, _unchanged=True), 3), best)


# ---- temperature_probs ---------------------------------------------------------------------------------------------


@checks("temperature_probs")
def test_temperature_random(student, rng):
    """random logits and random temperatures: the probabilities are right"""
    for rows, width in ((1, 3), (5, 17), (16, 200)):
        logits = 3 * torch.randn(rows, width, generator=rng)
        for tau in (between(rng, 0.1, 0.9), between(rng, 1.1, 5.0), 1.0):
            want = softmax64(logits.double() / tau)
            close(student.temperature_probs(logits, tau), want, atol=1e-5, rtol=1e-3)


@checks("temperature_probs")
def test_temperature_no_overflow(student):
    """dividing by a small tau makes the logits large: nothing overflows"""
    # tau is a power of two: the division is exact, however it is done.
    logits = torch.tensor([[30.0, 29.875, 10.0], [-500.0, -499.75, -600.0]])
    want = softmax64(logits * 16)
    close(student.temperature_probs(logits, 0.0625), want, atol=3e-4, rtol=3e-4)  # log-sum-exp of -8,000 in float32 rounds at 2e-4


@checks("temperature_probs")
def test_temperature_any(student):
    """a tau near 0 is not treated as 0, and a high tau is not limited"""
    near, far = torch.tensor([[0.0078125, 0.00390625, 0.0]]), torch.tensor([[30.0, -200.0, 0.0]])
    close(student.temperature_probs(near, 0.0078125), softmax64(near * 128), atol=1e-5)
    for tau in (10.0, 40.0, 400.0):
        close(student.temperature_probs(far, tau), softmax64(far.double() / tau), atol=1e-5)


@checks("temperature_probs")
def test_temperature_rows_alone(student, rng):
    """a row's probabilities do not depend on the other rows"""
    logits = separated(rng, 6, 9)
    logits[2] += 200.0
    for tau in (0.7, 0.0):
        alone = torch.cat([softmax64(r[None] / tau) if tau else (r == r.max()).double()[None] for r in logits])
        close(student.temperature_probs(logits, tau), alone, atol=1e-4)


@checks("temperature_probs")
def test_temperature_banned(student):
    """a logit of -inf gets probability 0 at every tau"""
    logits = torch.tensor([[1.0, -INF, 2.0, -INF], [-INF, -INF, -INF, 0.5]])
    for tau in (0.5, 1.0, 3.0):
        distribution(student.temperature_probs(logits, tau), softmax64(logits / tau))
    want = torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    distribution(student.temperature_probs(logits, 0.0, _unchanged=True), want)
    tied = student.temperature_probs(row([2.0, 1.0, 2.0]), 0.0)
    close(tied.sum(dim=-1), [1.0], atol=1e-5, what="the probabilities do not sum to 1")
    equal(tied[0, 1].item(), 0.0, what="a worse token has probability at tau = 0")


@checks("temperature_probs")
def test_temperature_shapes(student, rng):
    """transposed logits, and a vocabulary of one token: the probabilities are right"""
    tall = separated(rng, 4, 7).T.contiguous()
    got = student.temperature_probs(tall.T, 0.7, _unchanged=True)
    close(got, softmax64(tall.T.contiguous() / 0.7), atol=1e-5, rtol=1e-4)
    close(student.temperature_probs(torch.randn(3, 1, generator=rng), 0.7), torch.ones(3, 1), atol=1e-6)


@checks("temperature_probs")
def test_temperature_float64(student, rng):
    """float64 logits give float64 probabilities with all digits, and in the greedy case a tiny lead decides"""
    logits = 3 * torch.randn(4, 12, generator=rng, dtype=torch.float64)
    got = student.temperature_probs(logits, 0.7, _unchanged=True)
    at_least(student.temperature_probs(logits, 0.0), torch.float64)
    at_least(got, torch.float64)
    close(got, softmax64(logits / 0.7), atol=1e-13, rtol=1e-9)
    close_call = torch.tensor([[-3.0, -2.0, -2.0 + 2**-45], [7.0 + 2**-40, 7.0, 7.0]], dtype=torch.float64)
    distribution(student.temperature_probs(close_call, 0.0), torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))


@checks("temperature_probs")
def test_temperature_large_vocabulary_in_half(student, rng):
    """49,152 logits in bfloat16: even the smallest probability is right"""
    logits = (3 * torch.randn(1, 49_152, generator=rng)).bfloat16()
    for tau in (0.7, 1.3):
        got = student.temperature_probs(logits, tau)
        at_least(got, torch.float32)
        close(got, softmax64(logits.double() / tau), atol=1e-30, rtol=1e-4)


@checks("temperature_probs")
def test_temperature_nearly_zero(student):
    """tau is a millionth and the logits differ by millionths: the result is not greedy"""
    logits = torch.tensor([[0.0, 1e-6, -1e-6, -1.0], [2e-6, 0.0, 1e-6, -3.0]], dtype=torch.float64)
    want = softmax64(torch.tensor([[0.0, 1.0, -1.0, -1e6], [2.0, 0.0, 1.0, -3e6]]))
    close(student.temperature_probs(logits, 1e-6, _unchanged=True), want, atol=1e-6)


@checks("temperature_probs")
def test_temperature_leaves_every_dtype(student):
    """the logits are not changed, whatever their dtype"""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        logits = torch.tensor([[0.5, -1.0, 2.0], [1.0, 3.0, -2.0]], dtype=dtype)
        for tau in (2.0, 1.0):
            close(student.temperature_probs(logits, tau, _unchanged=True), softmax64(logits.double() / tau), atol=1e-5)
        close(student.temperature_probs(logits, 0.0, _unchanged=True), [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], atol=0.0)


# ---- top_k_probs ---------------------------------------------------------------------------------------------------


@checks("top_k_probs")
def test_top_k_random(student, rng):
    """random logits and random k: the probabilities are right"""
    for rows, width in ((1, 5), (7, 12), (9, 64)):
        logits = separated(rng, rows, width)
        for k in (1, integer(rng, 2, width - 1), width):
            distribution(student.top_k_probs(logits, k), top_k_by_hand(logits, k))


@checks("top_k_probs")
def test_top_k_random_ties(student, rng):
    """many equal logits: every token that ties with the k-th is kept"""
    for width in (4, 10):
        logits = torch.randint(-3, 4, (12, width), generator=rng).float()
        for k in range(1, width + 1):
            distribution(student.top_k_probs(logits, k), top_k_by_hand(logits, k))


@checks("top_k_probs")
def test_top_k_banned(student):
    """tokens of logit -inf get probability 0, also if k is larger than the number of other tokens"""
    logits = torch.tensor([[1.0, -INF, 2.0, -INF, 0.0], [-INF, -INF, 3.0, -INF, -INF], [0.0, 1.0, 2.0, 3.0, 4.0]])
    for k in (2, 4, 5, 8):
        want = softmax64(logits) * top_k_by_hand(logits.clamp(min=-1e3), k).gt(0)
        want = want / want.sum(dim=-1, keepdim=True)
        distribution(student.top_k_probs(logits, k), want)


@checks("top_k_probs")
def test_top_k_far_from_zero(student):
    """large negative logits, and rows of very different magnitude: the probabilities are right"""
    logits = torch.tensor([[-800.0, -801.0, -802.0, -803.0], [300.0, 302.0, 301.0, 299.0], [2.0, 1.99999, -1.0, -2.0]])
    logits = torch.cat([logits, torch.tensor([[-20000.0, -20001.0, -20002.0, -20003.0]])])
    for k in (1, 3):
        distribution(student.top_k_probs(logits, k), top_k_by_hand(logits, k))


@checks("top_k_probs")
def test_top_k_shapes(student, rng):
    """transposed logits, and a vocabulary of one token: the probabilities are right"""
    tall = separated(rng, 4, 7).T.contiguous()
    got = student.top_k_probs(tall.T, 3, _unchanged=True)
    close(got, top_k_by_hand(tall.T.contiguous(), 3), atol=1e-5, rtol=1e-4)
    close(student.top_k_probs(torch.randn(3, 1, generator=rng), 3), torch.ones(3, 1), atol=1e-6)


@checks("top_k_probs")
def test_top_k_float64(student, rng):
    """float64 logits give float64 probabilities with all digits"""
    logits = 3 * torch.randn(4, 12, generator=rng, dtype=torch.float64)
    got = student.top_k_probs(logits, 3, _unchanged=True)
    at_least(student.top_k_probs(logits, 99), torch.float64)
    at_least(got, torch.float64)
    close(got, top_k_by_hand(logits, 3), atol=1e-13, rtol=1e-9)


@checks("top_k_probs")
def test_top_k_thousands(student, rng):
    """k = two thousand of five thousand tokens: exactly the two thousand best are kept"""
    logits = torch.randperm(5_000, generator=rng)[None] / 1_000.0
    distribution(student.top_k_probs(logits, 2_000), top_k_by_hand(logits, 2_000))


@checks("top_k_probs")
def test_top_k_minus_one_is_no_setting(student):
    """k = -1 raises ValueError instead of switching the filter off"""
    raises(ValueError, lambda: student.top_k_probs(row([1.0, 2.0]), -1), naming=-1)


@checks("top_k_probs")
def test_top_k_leaves_every_dtype(student):
    """the logits are not changed, whatever their dtype"""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        logits = torch.tensor([[0.5, -1.0, 2.0, 1.0], [1.0, 3.0, -2.0, 0.0]], dtype=dtype)
        close(student.top_k_probs(logits, 2, _unchanged=True), top_k_by_hand(logits, 2), atol=1e-5)


# ---- top_p_probs ---------------------------------------------------------------------------------------------------


@checks("top_p_probs")
def test_top_p_random(student, rng):
    """random logits and random p: the probabilities are right"""
    for rows, width in ((1, 4), (6, 10), (12, 40)):
        logits = separated(rng, rows, width)
        for _ in range(3):
            p = clear_p(rng, logits)
            distribution(student.top_p_probs(logits, p), top_p_by_hand(logits, p))


@checks("top_p_probs")
def test_top_p_large_vocabulary(student, rng):
    """thousands of tokens: the nucleus is right"""
    logits = 4 * torch.randn(2, 4000, generator=rng)
    p = clear_p_wide(logits)
    got = student.top_p_probs(logits, p)
    close(got, top_p_by_hand(logits, p), atol=1e-5, rtol=1e-3)
    alike = student.top_p_probs(torch.zeros(1, 4096), 0.75)  # sums of 1/4096 are exact
    equal(int((alike > 0).sum()), 3072, what="wrong number of 4,096 equal tokens kept for p = 0.75")


def clear_p_wide(logits: Tensor) -> float:
    """A p far from every running sum, for two rows with many tokens: in the middle of the widest gap below 0.6."""
    sums = softmax64(logits).sort(dim=-1, descending=True).values.cumsum(dim=-1).flatten().sort().values
    sums = torch.cat([torch.zeros(1), sums[sums < 0.6]])
    widest = int(sums.diff().argmax())
    return float(sums[widest : widest + 2].mean())


@checks("top_p_probs")
def test_top_p_exact_mass_random(student, rng):
    """equally likely tokens with a mass of exactly p: no further token is kept"""
    # Probabilities of 1/16: every sum is exact in any precision. Which of the equal tokens stay is free.
    for _ in range(4):
        count = integer(rng, 1, 15)
        got = student.top_p_probs(torch.zeros(3, 16), count / 16)
        equal((got > 0).sum(dim=-1), torch.full((3,), count), what="wrong number of tokens kept")
        close(got.sort(dim=-1).values[:, 16 - count :], torch.full((3, count), 1 / count), atol=1e-5)


@checks("top_p_probs")
def test_top_p_nearly_one(student):
    """p just below 1 cuts the tail, also with logits far below 0"""
    logits = torch.tensor([[0.9, 0.08, 0.012, 0.006, 0.002]]).log()
    for at in (0.0, -20000.0):
        exact = (logits * 64).round() / 64 + at  # still exact that far from 0
        distribution(student.top_p_probs(exact, 0.995), top_p_by_hand(exact, 0.995))


@checks("top_p_probs")
def test_top_p_one_random(student, rng):
    """p = 1 keeps every token of long-tailed rows"""
    logits = 6 * torch.randn(8, 300, generator=rng)
    got = student.top_p_probs(logits, 1.0)
    close(got, softmax64(logits), atol=1e-30, rtol=1e-3)


@checks("top_p_probs")
def test_top_p_one_survivor(student, rng):
    """a tiny p keeps only the best token"""
    logits = separated(rng, 5, 11)
    want = (logits == logits.max(dim=-1, keepdim=True).values).double()
    for p in (1e-9, 1e-3):
        distribution(student.top_p_probs(logits, p), want)


@checks("top_p_probs")
def test_top_p_banned(student):
    """a logit of -inf gets probability 0, whatever p is"""
    logits = torch.tensor([[1.0, -INF, 2.0, -INF], [-INF, -INF, -INF, 0.5]])
    for p in (0.5, 0.9, 1.0):
        want = top_p_by_hand(logits, p) * softmax64(logits).gt(0)
        distribution(student.top_p_probs(logits, p), want)


@checks("top_p_probs")
def test_top_p_shapes(student, rng):
    """transposed logits, and a vocabulary of one token: the probabilities are right"""
    tall = separated(rng, 4, 7).T.contiguous()
    got = student.top_p_probs(tall.T, 0.6180339887, _unchanged=True)
    close(got, top_p_by_hand(tall.T.contiguous(), 0.6180339887), atol=1e-5, rtol=1e-4)
    close(student.top_p_probs(torch.randn(3, 1, generator=rng), 0.6180339887), torch.ones(3, 1), atol=1e-6)


@checks("top_p_probs")
def test_top_p_float64(student, rng):
    """float64 logits give float64 probabilities with all digits"""
    logits = 3 * torch.randn(4, 12, generator=rng, dtype=torch.float64)
    got = student.top_p_probs(logits, 0.6180339887, _unchanged=True)
    at_least(student.top_p_probs(logits, 1.0), torch.float64)
    at_least(got, torch.float64)
    close(got, top_p_by_hand(logits, 0.6180339887), atol=1e-13, rtol=1e-9)


@checks("top_p_probs")
def test_top_p_large_vocabulary_in_half(student, rng):
    """49,152 logits in bfloat16: the nucleus is the same as with exact sums"""
    logits = (3 * torch.randn(1, 49_152, generator=rng)).bfloat16()
    p = clear_p_wide(logits)
    got = student.top_p_probs(logits, p)
    at_least(got, torch.float32)
    want = top_p_by_hand(logits, p)  # of equals any may be kept, and there are many in bfloat16: values in falling order are compared
    close(got.sort(descending=True).values, want.sort(descending=True).values, atol=1e-9, rtol=1e-3)
    equal(bool(((got > 0) & (logits.double() < logits.double()[want > 0].min())).any()), False, what="a token below the nucleus is kept")


@checks("top_p_probs")
def test_top_p_a_little_more_or_less(student):
    """p slightly above a running sum keeps one more token, p slightly below does not; 0.99995 is not treated as 1"""
    logits = torch.tensor([[0.5, 0.3, 0.2]]).log()
    for p in (0.8 - 5e-5, 0.8 + 5e-5, 0.5 - 5e-5, 0.5 + 5e-5):
        distribution(student.top_p_probs(logits, p), top_p_by_hand(logits, p))
    tail = torch.tensor([[0.9, 0.09997, 0.00002, 0.00001]]).log()
    distribution(student.top_p_probs(tail, 0.99995), top_p_by_hand(tail, 0.99995))


@checks("top_p_probs")
def test_top_p_sums_in_float64(student):
    """float64 logits: p one billionth above a running sum keeps one more token, p just below does not"""
    logits = torch.tensor([[0.5, 0.25, 0.125, 0.125], [0.125, 0.25, 0.125, 0.5]], dtype=torch.float64).log()
    for p, kept in ((0.75 + 1e-9, 3), (0.75 - 1e-9, 2), (0.5 + 1e-9, 2), (0.5 - 1e-9, 1)):
        got = student.top_p_probs(logits, p, _unchanged=True)
        equal((got > 0).sum(dim=-1), torch.tensor([kept, kept]), what=f"wrong number of tokens kept at p = {p!r}")


# ---- draw ----------------------------------------------------------------------------------------------------------


@checks("draw", weight=2)
def test_draw_random(student, rng):
    """random probabilities and random u: the right tokens are drawn"""
    for rows, width in ((1, 2), (40, 6), (64, 50), (8, 2000)):
        probs = torch.softmax(2 * torch.randn(rows, width, generator=rng), dim=-1)
        sums = torch.cat([torch.zeros(rows, 1, dtype=torch.float64), probs.double().cumsum(dim=-1)], dim=-1)
        # u in the middle of a token's stretch, so that rounding cannot move it; only tokens that have a stretch.
        want = torch.multinomial((probs > 1e-4).double(), 1, generator=rng)
        u = ((sums.gather(-1, want) + sums.gather(-1, want + 1)) / 2).float()
        got = token_ids(student.draw(probs, u, _unchanged=True), rows)
        equal(got, want)


@checks("draw")
def test_draw_on_the_edge(student):
    """a u equal to a running sum draws the next token of probability above 0"""
    # Multiples of 1/16: the sums are exact.
    probs = torch.tensor([[1, 0, 3, 4, 0, 0, 8, 0]]) / 16
    u = torch.tensor([[0], [1], [4], [8], [15]]) / 16
    got = token_ids(student.draw(probs.repeat(5, 1), u), 5)
    equal(got, torch.tensor([[0], [2], [3], [6], [6]]))


@checks("draw")
def test_draw_largest_u(student, rng):
    """the largest u below 1 draws a token of the vocabulary"""
    probs = torch.softmax(2 * torch.randn(256, 100, generator=rng), dim=-1)
    u = torch.full((256, 1), 1 - 2**-24)  # the largest float32 that torch.rand can give
    got = token_ids(student.draw(probs, u), 256)
    that(
        bool(((got >= 0) & (got < 100)).all()),
        "a token id outside the vocabulary",
        got=int(got.max()),
    )
    got = token_ids(student.draw(probs[:9], torch.full((9, 1), 1 - 2**-45, dtype=torch.float64)), 9)
    equal(got, torch.full((9, 1), 99), what="wrong token at u = 1 - 2**-45 in float64")


@checks("draw")
def test_draw_shapes(student, rng):
    """transposed probabilities, a vocabulary of one token, or u of shape (B,) with B = V: the right tokens are drawn"""
    probs = torch.tensor([[0.125, 0.5, 0.375], [0.75, 0.0, 0.25], [0.25, 0.25, 0.5]])
    u = torch.tensor([0.7, 0.2, 0.1])
    want = torch.tensor([[2], [0], [0]])
    equal(token_ids(student.draw(probs.T.contiguous().T, u[:, None], _unchanged=True), 3), want)
    equal(token_ids(student.draw(probs, u, _unchanged=True), 3), want)
    equal(token_ids(student.draw(torch.ones(4, 1), torch.rand(4, 1, generator=rng)), 4), torch.zeros(4, 1, dtype=torch.int64))


@checks("draw")
def test_draw_cut_tail(student, rng):
    """if the last tokens have probability 0, the largest u below 1 draws the last token before them"""
    probs = torch.softmax(2 * torch.randn(256, 100, generator=rng), dim=-1)
    probs[:, 60:] = 0
    probs = probs / probs.sum(dim=-1, keepdim=True) * (1 - 2e-7)
    got = token_ids(student.draw(probs, torch.full((256, 1), 1 - 2**-24)), 256)
    equal(got, torch.full((256, 1), 59), what="wrong token at u = 1 - 2**-24: tokens 60 to 99 have probability 0")


@checks("draw")
def test_draw_leaves_every_dtype(student):
    """probs and u are not changed, whatever their dtype, also if the probabilities sum to less than 1"""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        probs = torch.tensor([[0.25, 0.5, 0.125], [0.0, 0.625, 0.25]], dtype=dtype)
        u = torch.tensor([[0.5], [0.25]], dtype=torch.promote_types(dtype, torch.float32))
        equal(token_ids(student.draw(probs, u, _unchanged=True), 2), torch.tensor([[1], [1]]))


# ---- the samplers --------------------------------------------------------------------------------------------------


@checks("temperature_sample")
def test_temperature_sample_rows(student, rng):
    """each row is drawn from its own distribution"""
    for tau in (between(rng, 0.4, 2.0), 0.05):
        logits = separated(rng, 3, 6) * min(tau, 1.0)
        g = fresh(student, rng)
        got = drawn(lambda x, tau=tau, g=g: student.temperature_sample(x, tau, generator=g), blocks(logits))
        block_frequencies(got, softmax64(logits / tau))


@checks("temperature_sample")
def test_temperature_sample_long_tail(student, rng):
    """a hundred improbable tokens together are drawn as often as the sum of their probabilities says"""
    # 0.92 of the mass on one token. Noise that is not Gumbel's has another tail: that token would come nearly always, or hardly.
    logits = torch.full((1, 101), -7.0)
    logits[0, 0] = 0.0
    g = fresh(student, rng)
    first = drawn(lambda x: student.temperature_sample(x, 1.0, generator=g), repeat(logits, 1_000)) == 0
    mass = float(softmax64(logits)[0, 0])
    frequencies((~first).long(), torch.tensor([mass, 1 - mass], dtype=torch.float64))
    draws_where_one_is_all_but_sure(lambda x: student.temperature_sample(x, 1.0, generator=g), 5.5, 4_000)


@checks("temperature_sample")
def test_temperature_sample_independent(student, rng):
    """neighbouring rows are drawn independently"""
    logits = separated(rng, 1, 4, gap=0.3)
    g = fresh(student, rng)
    got = drawn(lambda x: student.temperature_sample(x, 1.0, generator=g), repeat(logits))
    neighbours(got, softmax64(logits)[0])


@checks("top_k_sample")
def test_top_k_sample_rows(student, rng):
    """each row is drawn from its own distribution"""
    logits = separated(rng, 3, 6)
    k = integer(rng, 2, 4)
    g = fresh(student, rng)
    got = drawn(lambda x: student.top_k_sample(x, k, generator=g), blocks(logits))
    block_frequencies(got, top_k_by_hand(logits, k))
    many = token_ids(student.top_k_sample(repeat(torch.arange(200)[None] * 1e-3, 1_000), 150, generator=g), 1_000)
    that(len(many.unique()) >= 100, "only few of 150 nearly equal tokens were drawn", got=len(many.unique()))
    draws_where_one_is_all_but_sure(lambda x: student.top_k_sample(x, 50, generator=g), 5.5, 4_000)


@checks("top_k_sample")
def test_top_k_sample_independent(student, rng):
    """neighbouring rows are drawn independently, also with tied logits"""
    logits = row([1.0, 2.0, 1.0, -1.0])
    g = fresh(student, rng)
    got = drawn(lambda x: student.top_k_sample(x, 2, generator=g), repeat(logits))
    neighbours(got, top_k_by_hand(logits, 2)[0])


@checks("top_p_sample")
def test_top_p_sample_rows(student, rng):
    """each row is drawn from its own distribution"""
    logits = separated(rng, 3, 6)
    p = clear_p(rng, logits)
    g = fresh(student, rng)
    got = drawn(lambda x: student.top_p_sample(x, p, generator=g), blocks(logits))
    block_frequencies(got, top_p_by_hand(logits, p))
    draws_where_one_is_all_but_sure(lambda x: student.top_p_sample(x, 0.99999, generator=g), 5.5, 4_000)


@checks("top_p_sample")
def test_top_p_sample_independent(student, rng):
    """neighbouring rows are drawn independently"""
    logits = row([1.0, 2.0, 0.5, -1.0])
    g = fresh(student, rng)
    got = drawn(lambda x: student.top_p_sample(x, 0.9, generator=g), repeat(logits))
    neighbours(got, top_p_by_hand(logits, 0.9)[0])


@checks("temperature_sample")
def test_temperature_sample_each_call_draws_anew(student):
    """many calls with one row each, over many equally likely tokens: few tokens repeat"""
    g = student.generator(11)
    each_call_draws_anew(lambda x: student.temperature_sample(x, 1.0, generator=g))


@checks("top_k_sample")
def test_top_k_sample_each_call_draws_anew(student):
    """many calls with one row each, over many equally likely tokens: few tokens repeat"""
    g = student.generator(11)
    each_call_draws_anew(lambda x: student.top_k_sample(x, 32_768, generator=g))


@checks("top_k_sample")
def test_top_k_sample_minus_one_is_no_setting(student):
    """k = -1 and k = 0 raise ValueError instead of switching the filter off"""
    for k in (-1, 0):
        raises(ValueError, lambda k=k: student.top_k_sample(row([1.0, 2.0]), k), naming=k)


@checks("top_p_sample")
def test_top_p_sample_each_call_draws_anew(student):
    """many calls with one row each, over many equally likely tokens: few tokens repeat"""
    g = student.generator(11)
    each_call_draws_anew(lambda x: student.top_p_sample(x, 1.0, generator=g))


# ---- sample_next_token ---------------------------------------------------------------------------------------------


def combined(logits: Tensor, tau: float, k: int | None, p: float | None) -> Tensor:
    """The rule, spelt out: the distribution after temperature, top-k and top-p, in this order."""
    probs = softmax64(logits / tau)
    if k is not None:
        probs = top_k_by_hand(probs.log(), k)
    if p is not None:
        probs = top_p_by_hand(probs.log(), p)
    return probs


@checks("sample_next_token")
def test_next_token_each_call_draws_anew(student):
    """many calls with one row each, over many equally likely tokens: few tokens repeat"""
    g = student.generator(11)
    each_call_draws_anew(lambda x: student.sample_next_token(x, generator=g))


@checks("sample_next_token", weight=2)
def test_next_token_combinations(student, rng):
    """temperature, top-k and top-p in every combination: the frequencies are right"""
    for use_k in (False, True):
        for use_p in (False, True):
            logits = separated(rng, 2, 7, gap=0.25)
            tau = between(rng, 0.5, 2.5)
            k = integer(rng, 2, 5) if use_k else None
            p = clear_p(rng, combined(logits, tau, k, None).log()) if use_p else None
            options = {"temperature": tau, "top_k": k, "top_p": p, "generator": fresh(student, rng)}
            got = drawn(lambda x, o=options: student.sample_next_token(x, **o), blocks(logits))
            block_frequencies(got, combined(logits, tau, k, p))


@checks("sample_next_token")
def test_next_token_order_sharp(student, rng):
    """a low temperature makes the nucleus smaller, a high temperature makes the nucleus larger"""
    logits = row([3.0, 2.0, 1.0, 0.0])
    for tau, p in ((0.5, 0.8), (3.0, 0.8), (3.0, 0.5)):
        options = {"temperature": tau, "top_p": p, "generator": fresh(student, rng)}
        got = drawn(lambda x, o=options: student.sample_next_token(x, **o), repeat(logits))
        frequencies(got, combined(logits, tau, None, p)[0])


@checks("sample_next_token")
def test_next_token_one_always_survives(student, rng):
    """settings that leave only the best token: that token is drawn"""
    logits = separated(rng, 6, 12)
    want = logits.double().argmax(dim=-1, keepdim=True)
    settings = ((1.0, 1, None), (2.0, None, 1e-9), (0.7, 1, 1e-9), (1e-3, 12, 1.0), (1e-3, 3, 0.01), (5.0, 1, 1.0))
    for tau, k, p in settings:
        got = student.sample_next_token(logits, temperature=tau, top_k=k, top_p=p, generator=student.generator(2))
        equal(token_ids(got, 6), want)


@checks("sample_next_token")
def test_next_token_filters_that_keep_all(student, rng):
    """k >= V and p = 1 do not change the distribution"""
    for tau in (1.5, 0.05):
        logits = separated(rng, 1, 5) * min(tau, 1.0)
        options = {"temperature": tau, "top_k": 50, "top_p": 1.0, "generator": fresh(student, rng)}
        got = drawn(lambda x, o=options: student.sample_next_token(x, **o), repeat(logits))
        frequencies(got, softmax64(logits / tau)[0])


@checks("sample_next_token")
def test_next_token_without_filters(student, rng):
    """no filter, one filter, ties at top_k = 1: right frequencies; the same seed gives the same tokens"""
    alike = repeat(torch.arange(200)[None] * 1e-3, 1_000)  # fewer than 100 differ with probability below 1e-30
    got = token_ids(student.sample_next_token(alike, generator=fresh(student, rng)), 1_000)
    that(len(got.unique()) >= 100, "only few of 200 nearly equal tokens were drawn", got=len(got.unique()))
    seed = integer(rng, 0, 10**6)
    again = [student.sample_next_token(alike, generator=student.generator(seed)) for _ in range(2)]
    equal(again[1], again[0], what="two generators in the same state gave different tokens")
    logits = row([2.0, -1.5, 0.3, 4.2, -0.8])
    g = fresh(student, rng)
    got = drawn(lambda x: student.sample_next_token(x, top_p=0.96, generator=g), repeat(logits, 2_000))
    frequencies(got, combined(logits, 1.0, None, 0.96)[0])
    draws_where_one_is_all_but_sure(lambda x: student.sample_next_token(x, generator=g), 5.5, 4_000)
    tied = repeat(row([3.0, 3.0, 0.0]), 1_000)
    got = drawn(lambda x: student.sample_next_token(x, top_k=1, generator=g), tied)
    frequencies(got, torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64))


@checks("sample_next_token")
def test_next_token_banned(student, rng):
    """a token of logit -inf, or cut by top_k, is never drawn"""
    logits = repeat(row([1.0, -INF, 0.5, -INF, 0.0]), 2000)
    for options in ({}, {"top_k": 4}, {"top_p": 0.999}, {"temperature": 5.0, "top_k": 5, "top_p": 1.0}):
        got = token_ids(student.sample_next_token(logits, generator=fresh(student, rng), **options), 2000)
        banned = bool(((got == 1) | (got == 3)).any())
        that(not banned, "a token with logit -inf was drawn")
    wide = torch.zeros(80, 44_000).scatter(-1, torch.randint(0, 44_000, (80, 2), generator=rng), 4.0)
    got = token_ids(student.sample_next_token(wide, top_k=1, top_p=1.0, generator=fresh(student, rng)), 80)
    that(bool((wide.gather(-1, got.clamp(0, 43_999)) == 4.0).all()), "a token that top_k has cut was drawn")
    for dtype, gap in ((torch.bfloat16, 2e-3), (torch.float16, 1e-4)):  # probabilities too close together for half precision
        close_by = (gap * torch.tensor([[0.0, 0.25, 1.0, 0.5]])).to(dtype)
        got = token_ids(student.sample_next_token(repeat(close_by, 500), top_k=1, generator=fresh(student, rng)), 500)
        equal(got, torch.full((500, 1), 2), what=f"not the only token that top_k = 1 leaves, logits in {dtype}")


@checks("sample_next_token")
def test_next_token_independent(student, rng):
    """neighbouring rows are drawn independently"""
    logits = separated(rng, 1, 4, gap=0.3)
    g = fresh(student, rng)
    got = drawn(lambda x: student.sample_next_token(x, top_k=3, generator=g), repeat(logits))
    neighbours(got, top_k_by_hand(logits, 3)[0])


@checks("sample_next_token")
def test_next_token_negative_top_k(student):
    """top_k = -1 raises ValueError, also at temperature 0"""
    for tau in (1.0, 0.0):
        raises(ValueError, lambda t=tau: student.sample_next_token(row([1.0, 2.0]), temperature=t, top_k=-1), naming=-1)
