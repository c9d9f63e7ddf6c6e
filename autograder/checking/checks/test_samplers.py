"""Visible checks of the samplers.

Distributions are compared number by number. Draws are judged by what must hold for every right way to draw: the same
tokens from the same generator state, the global random state left alone, nothing outside the support, and frequencies.

A frequency test fails a right sampler with probability at most 1e-10: Chernoff's bound says that a token of
probability q takes a share of at least (or at most) f of n independent draws with probability at most
exp(-n KL(f, q)), where KL is the relative entropy of two coins. With 2V such bounds, the limit on n KL is
ln(2V / 1e-10).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.randomness import draws_from_the_global_state

FALSE_ALARM = 1e-10
DRAWS = 8_000
ROWS_PER_CALL = 2_000  # a version that loops over rows in Python must not run into the time limit of a call


# ---- helpers -------------------------------------------------------------------------------------------------------


def row(values: Any) -> Tensor:
    """A batch of one row."""
    return torch.tensor([values], dtype=torch.float32)


def repeat(logits: Tensor, times: int = DRAWS) -> Tensor:
    """(1, V) -> (times, V): one call draws once from each copy."""
    return logits.repeat(times, 1)


def separated(rng: torch.Generator, rows: int, width: int, gap: float = 0.1) -> Tensor:
    """Random logits (rows, width), no two of a row closer than `gap`: rounding cannot change their order."""
    steps = gap * (1 + 2 * torch.rand(rows, width, generator=rng, dtype=torch.float64))
    order = torch.rand(rows, width, generator=rng).argsort(dim=-1)
    ladder = steps.cumsum(dim=-1)
    return (ladder - ladder.mean(dim=-1, keepdim=True)).gather(-1, order).float()


def softmax64(logits: Tensor) -> Tensor:
    return torch.softmax(logits.double(), dim=-1)


def renormalised(probs: Tensor, keep: Tensor) -> Tensor:
    kept = probs * keep
    return kept / kept.sum(dim=-1, keepdim=True)


def top_k_by_hand(logits: Tensor, k: int) -> Tensor:
    """The rule, spelt out for each row: keep what is at least as large as the k-th largest."""
    keep = torch.zeros(logits.shape)
    for i, values in enumerate(logits.tolist()):
        threshold = sorted(values, reverse=True)[min(k, len(values)) - 1]
        keep[i] = torch.tensor([float(v >= threshold) for v in values])
    return renormalised(softmax64(logits), keep)


def top_p_by_hand(logits: Tensor, p: float) -> Tensor:
    """The rule, spelt out for each row: take tokens, the most probable first, until their mass reaches p."""
    probs = softmax64(logits)
    keep = torch.zeros(logits.shape)
    for i, values in enumerate(probs.tolist()):
        mass = 0.0
        for token in sorted(range(len(values)), key=lambda t: -values[t]):
            if mass >= p:
                break
            keep[i, token] = 1.0
            mass += values[token]
    return renormalised(probs, keep)


def clear_p(rng: torch.Generator, logits: Tensor) -> float:
    """A random p that no row's cumulative mass comes close to, so that rounding cannot decide who is kept."""
    sums = softmax64(logits).sort(dim=-1, descending=True).values.cumsum(dim=-1).flatten()
    while True:
        p = 0.05 + 0.9 * float(torch.rand((), generator=rng, dtype=torch.float64))
        if float((sums - p).abs().min()) > 1e-4:
            return p


def at_least(got: Any, dtype: torch.dtype) -> None:
    """Fails if the answer has fewer digits than `dtype`."""
    if isinstance(got, Tensor):
        that(
            got.is_floating_point() and torch.promote_types(got.dtype, dtype) == got.dtype,
            "wrong dtype: probabilities have float32 at least, and float64 where it came in",
            expected=str(dtype),
            got=str(got.dtype),
        )


HALF = (torch.bfloat16, torch.float16)
TEN = [8.0, 7.9375, 5.5, -3.25, 7.75, 0.0, 6.0, -12.5, 7.875, 3.0]  # exact in both half precisions


def same_support(got: Tensor, want: Tensor) -> None:
    """Fails unless exactly the tokens of `want` have a probability above 0."""
    got_ids, want_ids = [[r.nonzero().flatten().tolist() for r in t] for t in (got, want)]
    equal(got_ids, want_ids, what="wrong tokens kept")


def distribution(got: Any, want: Tensor, what: str | None = None) -> None:
    """Fails unless `got` is `want`: the same tokens kept, exactly 0 elsewhere, and the same probabilities."""
    close(got, want, atol=1e-5, rtol=1e-4, what=what)
    same_support(got, want)


def token_ids(got: Any, rows: int) -> Tensor:
    """The answer, if it is a column of int64."""
    that(isinstance(got, Tensor), "the result is not a tensor", got=type(got).__name__)
    that(
        tuple(got.shape) == (rows, 1),
        "wrong shape: one token id for each row",
        expected=str((rows, 1)),
        got=str(tuple(got.shape)),
        cause="Keep the last dimension: `keepdim=True`, or `unsqueeze(-1)` at the end." if tuple(got.shape) == (rows,) != (1,) else None,
    )
    that(got.dtype == torch.int64, "token ids are int64", got=str(got.dtype))
    return got


def drawn(sample: Callable[[Tensor], Any], logits: Tensor) -> Tensor:
    """(n, V) -> token ids (n, 1): one draw from each row, in several calls."""
    return torch.cat([token_ids(sample(part), len(part)) for part in logits.split(ROWS_PER_CALL)])


def frequencies(got: Tensor, want: Tensor, of: str = "") -> None:
    """Fails if so many independent draws from `want` (V,) would hardly ever look like `got` (n, 1). of: their setting, for the message."""
    ids = got.flatten()
    inside = bool(((ids >= 0) & (ids < len(want))).all())
    that(inside, "a token id outside the vocabulary was drawn", got=(int(ids.min()), int(ids.max())))
    shares = torch.bincount(ids, minlength=len(want)).double() / len(ids)
    for token, (f, q) in enumerate(zip(shares.tolist(), want.tolist(), strict=True)):
        that(q > 0 or f == 0, f"token {token} has probability 0 and was drawn", got=f"in {f:.2%} of draws")
        surprise = len(ids) * sum(a * math.log(a / b) for a, b in ((f, q), (1 - f, 1 - q)) if a > 0 and b > 0)
        that(
            surprise <= math.log(2 * len(want) / FALSE_ALARM) and not (q >= 1 and f < 1),
            f"token {token} is drawn too often or too rarely in {len(ids)} draws{of}",
            expected=f"about {q:.4f} of them",
            got=f"{f:.4f}",
        )


def follows_its_generator(student: Any, rng: torch.Generator, sample: Callable[..., Any]) -> None:
    """`sample(logits, generator)` draws from the generator, all of it, and from nothing else.

    200 rows over 8 equally likely tokens: two unrelated draws agree with probability at most 2 ** -200.
    """
    seed, other = torch.randint(2**31, (2,), generator=rng).tolist()
    logits = torch.zeros(200, 8)
    first, again = student.generator(seed), student.generator(seed)
    tokens = token_ids(sample(logits, first), 200)
    equal(sample(logits, again), tokens, what="two generators in the same state gave different tokens")
    more = token_ids(sample(logits, first), 200)
    that(not torch.equal(more, tokens), "a second call with the same generator gave the same tokens again")
    equal(sample(logits, again), more, what="the second draws of two generators in the same state are different tokens")
    equal(again.get_state(), first.get_state(), what="two generators that drew the same end in different states")
    that(
        not torch.equal(sample(logits, student.generator(other)), tokens),
        "a generator with another seed gave the same tokens",
    )


def leaves_global_state(student: Any, function: str, *args: Any, **options: Any) -> Tensor:
    """Calls the function twice with one generator; fails if torch's global random state moved, or the logits did."""
    call, generator = getattr(student, function), student.generator(5)
    call(*args, generator=generator, _rng_unchanged=True, _unchanged=True, **options)
    return call(*args, generator=generator, _rng_unchanged=True, _unchanged=True, **options)


def reaches_every_token(sample: Callable[[Tensor], Any]) -> None:
    """500 draws over 8,192 equally likely tokens, in float32 and bfloat16: about 485 are different ones.

    Fewer than 430 are so with probability below 1e-20 (70 coincidences, where 15 are expected). If u or the running sum has a
    thousand values or fewer, at most 410 are.
    """
    for dtype in (torch.float32, torch.bfloat16):
        logits = torch.zeros(250, 8_192, dtype=dtype)
        ids = torch.cat([token_ids(sample(logits), 250) for _ in range(2)])
        that(
            bool(((ids >= 0) & (ids < 8_192)).all()) and len(ids.unique()) >= 430,
            f"too few different tokens in 500 draws over 8,192 equally likely ones, logits in {str(dtype).removeprefix('torch.')}",
            expected="about 485",
            got=len(ids.unique()),
        )


def each_call_draws_anew(sample: Callable[[Tensor], Any]) -> None:
    """500 calls with one row, over 32,768 equally likely tokens: some 496 are different ones.

    Fewer than 482 are so with probability below 1e-7. Who seeds a source of his own from a small number for each call has
    no more different tokens than such numbers: of 4,000 numbers some 30 come twice.
    """
    logits = torch.zeros(1, 32_768)
    found = len(torch.cat([token_ids(sample(logits), 1) for _ in range(500)]).unique())
    what = "too few different tokens in 500 calls, one row each, over 32,768 equally likely ones"
    that(found >= 482, what, expected="about 496", got=found)


def each_row_has_its_own_token(sample: Callable[[Tensor], Any]) -> None:
    """Four rows, each with one token that has all of the probability but 1e-25."""
    logits = torch.tensor([[60.0, 0.0, 0.0], [0.0, 0.0, 60.0], [0.0, 60.0, 0.0], [0.0, 0.0, 60.0]])
    got = token_ids(sample(logits), 4)
    equal(got, torch.tensor([[0], [2], [1], [2]]), what="a row did not get the token that is all but certain in it")


def draws_where_one_is_all_but_sure(sample: Callable[[Tensor], Any], lead: float, times: int) -> None:
    """One of three tokens leads by so much that it has nearly all of the probability: the others come as rarely as they should."""
    logits = row([lead, 0.0, 0.0])
    best = float(softmax64(logits)[0, 0])
    others = (drawn(sample, repeat(logits, times)) != 0).long()
    frequencies(others, torch.tensor([best, 1 - best], dtype=torch.float64), f": token 0 is the best, with {best:.2%}, and 1 is any other")


def rows_and_calls_are_independent(sample: Callable[[Tensor], Any]) -> None:
    """Of 2,000 pairs of neighbouring rows about half draw the same of two equally likely tokens, and no call repeats an earlier one.

    By chance, fewer than 800 or more than 1,200 pairs agree with probability below 1e-17 (Hoeffding's bound), and one of 250 calls
    repeats another, 8 rows over 256 equally likely tokens, with probability below 1e-14. If each call seeds a source of its own with
    one of 4,000 numbers, two calls are alike, except with probability 4e-4.
    """
    pairs = drawn(sample, torch.zeros(4_000, 2)).view(-1, 2)
    agree = int((pairs[:, 0] == pairs[:, 1]).sum())
    that(
        800 <= agree <= 1_200,
        "of 2,000 pairs of neighbouring rows, with two equally likely tokens, too many or too few drew the same token",
        expected="about 1000",
        got=agree,
    )
    logits = torch.zeros(8, 256)
    different = len({tuple(token_ids(sample(logits), 8).flatten().tolist()) for _ in range(250)})
    what = "some of 250 calls repeated the tokens of an earlier one, all 8 rows of them, with 256 equally likely tokens"
    that(different == 250, what, expected="250 different results", got=different)


def varies_without_generator(sample: Callable[[Tensor], Any]) -> None:
    """Two calls without a generator differ (they agree by chance with probability at most 2 ** -200)."""
    logits = torch.zeros(200, 8)
    first = token_ids(sample(logits), 200)
    that(
        not torch.equal(first, sample(logits)),
        "two calls without a generator gave the same tokens",
    )


# ---- greedy_sample -------------------------------------------------------------------------------------------------


@checks("greedy_sample")
def test_greedy_by_hand(student, hand):
    """the token with the highest of five logits is chosen"""
    got = token_ids(student.greedy_sample(row(hand["greedy"]["logits"])), 1)
    equal(got, torch.tensor([[hand["greedy"]["token"]]]))


@checks("greedy_sample")
def test_greedy_each_row(student):
    """each row gives one token id: shape (B, 1), dtype int64"""
    logits = torch.tensor([[0.1, 5.0, 2.0], [9.0, -1.0, 3.0], [-3.0, -2.0, -1.0], [-7.0, -4.0, -5.0]])
    got = token_ids(student.greedy_sample(logits), 4)
    equal(got, torch.tensor([[1], [0], [2], [1]]))
    tall = torch.tensor([[1.0, -2.0], [0.5, 7.0], [3.0, 0.0]])
    equal(token_ids(student.greedy_sample(tall.T), 2), torch.tensor([[2], [1]]), what="wrong tokens for a transposed tensor")


@checks("greedy_sample")
def test_greedy_leaves_everything_alone(student):
    """no randomness is used, and the logits are not changed"""
    logits = torch.tensor([[0.5, 0.4, 0.6], [1.5, 1.0, 0.0]])
    got = student.greedy_sample(logits, _unchanged=True, _rng_unchanged=True)
    equal(got, torch.tensor([[2], [0]]))


@checks("greedy_sample")
def test_greedy_smallest_lead(student):
    """the highest logit wins, however small its lead, however large the logits, and in a vocabulary of 40,000"""
    just = 1 + 2**-23  # the next float32 after 1
    got = token_ids(student.greedy_sample(torch.tensor([[0.0, 1e-38, -9e4], [1e-38, 0.0, -9e4], [1.0, just, 0.5]])), 3)
    equal(got, torch.tensor([[1], [0], [1]]))
    equal(token_ids(student.greedy_sample(torch.tensor([[0.0, 1.0, 1.0 + 1e-12]], dtype=torch.float64)), 1), torch.tensor([[2]]))
    far = torch.arange(40_000.0)[None]
    equal(
        token_ids(student.greedy_sample(torch.cat((far, 40.0 * far))), 2), torch.tensor([[39_999], [39_999]]), what="wrong token of 40,000"
    )
    equal(token_ids(student.greedy_sample(torch.tensor([TEN]).bfloat16()), 1), torch.tensor([[0]]))


# ---- temperature_probs ---------------------------------------------------------------------------------------------


@checks("temperature_probs", weight=2)
def test_temperature_by_hand(student, hand):
    """tau 0.5, 0.7 and 2, worked out by hand"""
    for name in ("temperature_half", "temperature_0_7", "temperature_two"):
        case = hand[name]
        logits = row(case["logits"])
        got = student.temperature_probs(logits, case["tau"])
        suspects = [
            (softmax64(logits * case["tau"]), "This is what logits multiplied by tau give: divide them."),
            (softmax64(logits), "This is what comes without a temperature: divide the logits by tau before softmax."),
            (logits / case["tau"], "These are the logits divided by tau: softmax is still missing."),
        ]
        close(got, row(case["probs"]), atol=6e-5, suspects=suspects)


@checks("temperature_probs")
def test_temperature_as_power(student, hand):
    """probabilities 0.7, 0.2, 0.1 become sharper at tau 0.5 and flatter at tau 2, by hand"""
    case = hand["temperature_as_power"]
    logits = row(case["probs"]).log()
    close(student.temperature_probs(logits, 0.5), row(case["tau_half"]), atol=6e-5)
    close(student.temperature_probs(logits, 2.0), row(case["tau_two"]), atol=6e-5)


@checks("temperature_probs")
def test_temperature_zero_is_greedy(student):
    """at tau = 0 the best token, or the tied best tokens, have all of the probability"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [-1.0, -2.0, -3.0, -4.0, -5.0]])
    want = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    for zero in (0.0, 0):
        distribution(student.temperature_probs(logits, zero), want)
    tied = student.temperature_probs(row([2.0, 1.0, 2.0]), 0.0)
    close(tied.sum(dim=-1), [1.0], atol=1e-5, what="at tau = 0 the probabilities do not sum to 1 where two tokens are best")
    equal(float(tied[0, 1]), 0.0, what="at tau = 0 a token that is not the best has a probability")


@checks("temperature_probs")
def test_temperature_small_and_high(student):
    """the logits are divided by any tau above 0, even a tiny or a huge tau, and nothing overflows"""
    # A power of two for tau: the quotients are exact.
    for quotients, tau in (([1.0, 0.0, -1.0], 2**-20), ([480.0, 478.0, 160.0], 2**-4), ([1.0, -8.0, 0.0], 64.0)):
        logits = row(quotients) * tau
        what = f"wrong probabilities for the logits {logits[0].tolist()} at tau = {tau}"
        close(student.temperature_probs(logits, tau), softmax64(row(quotients)), atol=1e-5, what=what)


@checks("temperature_probs")
def test_temperature_each_row(student):
    """much larger logits in another row, a logit of -inf, a transposed tensor: each row is computed separately"""
    logits = torch.tensor([[1.0, 3.0, 2.0], [301.0, 300.0, 302.0], [-math.inf, 0.5, -0.5]])
    for tau in (0.5, 2.0):
        want = softmax64(logits / tau)
        distribution(student.temperature_probs(logits, tau), want)
        distribution(student.temperature_probs(logits.T.contiguous().T, tau), want, "wrong values for a transposed tensor")


@checks("temperature_probs")
def test_temperature_zero_smallest_lead(student):
    """at tau = 0 the highest logit gets probability 1, however small its lead"""
    logits = torch.tensor([[0.0, 1e-38, -1.0], [1.0, 1 + 2**-23, 0.5], [3e38, -3e38, 0.0]])
    want = torch.tensor([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    for zero in (0.0, 0):
        distribution(student.temperature_probs(logits, zero), want)


@checks("temperature_probs")
def test_temperature_half_precision(student):
    """bfloat16 and float16 logits give float32 probabilities, without rounding to half precision"""
    for dtype in HALF:
        logits = torch.tensor([TEN, [-x for x in TEN]]).to(dtype)
        for tau in (0.7, 1.0, 3.0, 0.0):
            got = student.temperature_probs(logits, tau, _unchanged=True)
            at_least(got, torch.float32)
            want = softmax64(logits.double() / tau) if tau else torch.nn.functional.one_hot(logits.float().argmax(-1), len(TEN))
            close(got, want, atol=1e-12, rtol=1e-4)


@checks("temperature_probs")
def test_temperature_digits_of_float64(student):
    """float64 logits give float64 probabilities with all digits; at tau = 0 a lead of 2**-40 decides"""
    logits = torch.tensor([TEN], dtype=torch.float64) / 3
    for tau in (0.7, 1.0, 3.0):
        got = student.temperature_probs(logits, tau)
        at_least(got, torch.float64)
        close(got, softmax64(logits / tau), atol=1e-13, rtol=1e-9)
    at_least(student.temperature_probs(logits, 0.0), torch.float64)
    close_call = torch.tensor([[1.0, 1 + 2**-40, 0.5]], dtype=torch.float64)
    what = "wrong values at tau = 0 for a lead that float32 rounds away"
    distribution(student.temperature_probs(close_call, 0.0), torch.tensor([[0.0, 1.0, 0.0]]), what)


@checks("temperature_probs")
def test_temperature_refuses_negative(student):
    """a tau below 0 raises ValueError, with the value in the message"""
    for tau in (-1.0, -0.25):
        cause = "A negative temperature would turn the order round. Raise ValueError with the value in its message."
        raises(ValueError, lambda tau=tau: student.temperature_probs(row([1.0, 2.0]), tau), naming=tau, cause=cause)


@checks("temperature_probs")
def test_temperature_input_unchanged(student):
    """the input is not changed"""
    logits = torch.tensor([[1.0, 3.0], [0.0, -2.0]])
    got = student.temperature_probs(logits, 4.0, _unchanged=True, _rng_unchanged=True)
    close(got, softmax64(logits / 4.0), atol=1e-5)
    distribution(student.temperature_probs(logits, 0.0, _unchanged=True), torch.tensor([[0.0, 1.0], [1.0, 0.0]]))


# ---- top_k_probs ---------------------------------------------------------------------------------------------------


@checks("top_k_probs", weight=2)
def test_top_k_by_hand(student, hand):
    """k = 2 keeps the two best of five tokens, worked out by hand"""
    case = hand["top_k_two"]
    got = student.top_k_probs(row(case["logits"]), case["k"])
    probs, kept = softmax64(row(case["logits"])), row(case["probs"]) > 0
    suspects = [
        (probs * kept, "The right tokens are kept, and their probabilities are those of before: divide them by their sum."),
        (probs, "Nothing was cut."),
        (softmax64(row(case["logits"]) * kept), "A token that is cut has the logit 0 here, and so a share: it needs minus infinity."),
    ]
    close(got, row(case["probs"]), atol=6e-5, suspects=suspects)
    same_support(got, row(case["probs"]))


@checks("top_k_probs")
def test_top_k_keeps_ties(student, hand):
    """tokens whose logit equals the k-th highest logit are kept"""
    case = hand["top_k_tie"]
    got = student.top_k_probs(row(case["logits"]), case["k"])
    close(got, row(case["probs"]), atol=6e-5)
    same_support(got, row(case["probs"]))
    logits = row([5.0, 3.0, 5.0, 1.0, 3.0])
    for k, kept in ((2, [1, 0, 1, 0, 0]), (3, [1, 1, 1, 0, 1])):  # two tokens have 5: the second highest logit is 5, the third 3
        want = renormalised(softmax64(logits), torch.tensor([kept]))
        distribution(student.top_k_probs(logits, k), want, f"wrong probabilities for the logits {logits[0].tolist()} and k = {k}")


@checks("top_k_probs")
def test_top_k_no_ties(student):
    """logits that differ are not ties, however close"""
    logits = torch.tensor([[1.0, 1 + 2**-23, 0.5], [-1e-38, -5.0, 0.0]])
    distribution(student.top_k_probs(logits, 1), torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    close_by = torch.tensor([[0.0, 1.0, 1.0 + 1e-12, 1.0 - 1e-12]], dtype=torch.float64)
    distribution(student.top_k_probs(close_by, 2), torch.tensor([[0.0, 0.5, 0.5, 0.0]]))


@checks("top_k_probs")
def test_top_k_half_precision(student):
    """bfloat16 and float16 logits give float32 probabilities, without rounding to half precision"""
    for dtype in HALF:
        logits = torch.tensor([TEN, [-x for x in TEN]]).to(dtype)
        for k in (1, 3, 10):
            got = student.top_k_probs(logits, k, _unchanged=True)
            at_least(got, torch.float32)
            close(got, top_k_by_hand(logits, k), atol=1e-12, rtol=1e-4)


@checks("top_k_probs")
def test_top_k_each_row(student):
    """each row has its own threshold, the k-th highest logit of that row"""
    logits = torch.tensor([[9.0, 8.0, 7.0, 6.0], [-4.0, -3.0, -2.0, -1.0], [0.0, 5.0, -5.0, 4.0], [-15000.0, -15001.0, -15003.0, -15004.0]])
    distribution(student.top_k_probs(logits, 2), top_k_by_hand(logits, 2))
    distribution(student.top_k_probs(logits.T.contiguous().T, 2), top_k_by_hand(logits, 2), "wrong values for a transposed tensor")


@checks("top_k_probs")
def test_top_k_minus_infinity(student):
    """a logit of -inf gets probability 0, also if k is larger than the number of other tokens"""
    logits = torch.tensor([[2.0, -math.inf, 1.0, -math.inf, -1.0], [-math.inf, -math.inf, -math.inf, 0.0, -math.inf]])
    for k in (1, 3, 4, 9):
        distribution(student.top_k_probs(logits, k), top_k_by_hand(logits, k))


@checks("top_k_probs")
def test_top_k_most_of_a_vocabulary(student):
    """k = 1,500 keeps exactly the 1,500 best of 2,000 tokens"""
    logits = (torch.arange(2_000) * 7 % 2_000)[None] / 500.0  # 0 to 3.998, each once
    distribution(student.top_k_probs(logits, 1_500), top_k_by_hand(logits, 1_500))


@checks("top_k_probs")
def test_top_k_large_k(student):
    """k = V and k > V keep every token"""
    logits = row([0.3, -0.2, 1.1])
    for k in (3, 4, 1000):
        distribution(student.top_k_probs(logits, k, _unchanged=True), softmax64(logits))


@checks("top_k_probs")
def test_top_k_refuses(student):
    """a k below 1 raises ValueError, with the value in the message"""
    for k in (0, -3):
        cause = "k = 0 would leave no token at all. Raise ValueError with the value in its message."
        raises(ValueError, lambda k=k: student.top_k_probs(row([1.0, 2.0]), k), naming=k, cause=cause)


@checks("top_k_probs")
def test_top_k_input_unchanged(student):
    """the input is not changed"""
    logits = torch.tensor([[1.0, 3.0, 2.0], [0.5, -2.0, 0.0]])
    got = student.top_k_probs(logits, 1, _unchanged=True, _rng_unchanged=True)
    want = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    distribution(got, want)


# ---- top_p_probs ---------------------------------------------------------------------------------------------------


@checks("top_p_probs", weight=2)
def test_top_p_by_hand(student, hand):
    """the nucleus of five logits at p 0.9, worked out by hand"""
    case = hand["top_p_0_9"]
    logits = row(case["logits"])
    got = student.top_p_probs(logits, case["p"])
    suspects = [
        (top_k_by_hand(logits, 1), "The token that crosses p was dropped: 0.8763 is below 0.9. Look at the mass before each token."),
        (top_k_by_hand(logits, 3), "One token too many: before the third, 0.9734 was gathered already."),
        (softmax64(logits) * (row(case["probs"]) > 0), "The right tokens are kept: divide their probabilities by their sum."),
    ]
    close(got, row(case["probs"]), atol=6e-5, suspects=suspects)
    same_support(got, row(case["probs"]))


@checks("top_p_probs")
def test_top_p_best_token_alone(student):
    """a best token whose probability is above p is the only token kept"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [6.0, 0.0, -1.0, 0.5, -2.0]])
    want = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    for p in (0.8, 0.3, 1e-6, 1e-12):
        distribution(student.top_p_probs(logits, p), want)


@checks("top_p_probs")
def test_top_p_exact_mass(student):
    """if the kept mass is exactly p, no further token is kept; if the mass is slightly below p, one more token is kept"""
    # Equal logits over 2, 4 or 16 tokens: the probabilities are powers of two, and every sum of them is exact.
    # The first case is one in which each of the two mistakes named below gives a number of its own.
    for width, p, kept in ((4, 0.25, 1), (4, 0.5, 2), (4, 0.75, 3), (2, 0.5, 1), (16, 0.375, 6)):
        got = student.top_p_probs(torch.zeros(1, width), p)
        close(got.sum(), 1.0, atol=1e-5)
        equal(
            int((got > 0).sum()),
            kept,
            suspects=[
                (kept + 1, "One too many: a token stays if the mass before it is below p, and there it is p."),
                (width, "All were kept: tokens that equal the last one of the nucleus are cut too, once the mass is p."),
            ]
            if p == 0.25
            else [],
            what=f"wrong number of tokens kept of {width} equally likely ones at p = {p}",
        )
    for width, p, kept in ((4, 0.25005, 2), (4, 0.74995, 3), (16, 0.37505, 7)):
        equal(
            int((student.top_p_probs(torch.zeros(1, width), p) > 0).sum()),
            kept,
            suspects=[(kept - 1, "One too few: the mass of the tokens that are kept is below p.")],
            what=f"wrong number of tokens kept of {width} equally likely ones at p = {p}",
        )


@checks("top_p_probs")
def test_top_p_one_keeps_everything(student):
    """p = 1 keeps every token, however improbable; a p just below 1 cuts the tail"""
    # The first probability is 1 - 2.2e-9, which is 1 in float32: the running sum has reached p at once.
    logits = torch.tensor([[0.0, -20.0, -22.0, -24.0], [1.0, 0.0, 2.0, -1.0]])
    for p in (1.0, 1):
        got = student.top_p_probs(logits, p, _unchanged=True)
        close(got, softmax64(logits), atol=1e-12, rtol=1e-4)
    tail = row([0.0, -8.0, -11.0, -13.0])  # running sums 0.99965, 0.99998, 0.999998, 1
    for p, kept in ((0.995, [1, 0, 0, 0]), (0.99995, [1, 1, 0, 0])):
        want = renormalised(softmax64(tail), torch.tensor([kept]))
        distribution(student.top_p_probs(tail, p), want, f"wrong probabilities for the logits {tail[0].tolist()} at p = {p}")


@checks("top_p_probs")
def test_top_p_half_precision(student):
    """bfloat16 and float16 logits: the nucleus and the probabilities are computed in float32"""
    for dtype in HALF:
        logits = torch.tensor([TEN, [-x for x in TEN]]).to(dtype)
        for p in (0.25, 0.985, 1.0):
            got = student.top_p_probs(logits, p, _unchanged=True)
            at_least(got, torch.float32)
            close(got, top_p_by_hand(logits, p), atol=1e-12, rtol=1e-4)
        alike = torch.zeros(1, 4_096, dtype=dtype)  # sums of 1/4096 are exact, but not in half precision
        kept = int((student.top_p_probs(alike, 0.7001953125) > 0).sum())
        equal(kept, 2_868, what=f"wrong number of 4,096 equally likely tokens kept at p = 0.7001953125, logits in {dtype}")


@checks("top_p_probs")
def test_top_p_digits_of_float64(student):
    """float64 logits: p one billionth above or below a running sum gives the right nucleus, and all digits are kept"""
    logits = torch.tensor([[0.25, 0.5, 0.0625, 0.1875], [0.1875, 0.0625, 0.25, 0.5]], dtype=torch.float64).log()
    for p, kept in ((0.75 + 1e-9, [[1, 1, 0, 1], [1, 0, 1, 1]]), (0.75 - 1e-9, [[1, 1, 0, 0], [0, 0, 1, 1]])):
        got, want = student.top_p_probs(logits, p), renormalised(softmax64(logits), torch.tensor(kept))
        at_least(got, torch.float64)
        close(got, want, atol=1e-13, rtol=1e-9, what=f"wrong probabilities at p = {p!r}")
        same_support(got, want)


@checks("top_p_probs")
def test_top_p_each_row(student):
    """each row has its own nucleus, and the probabilities stay in the order of the vocabulary"""
    logits = torch.tensor([[5.0, 1.0, 0.0, -1.0], [0.0, 0.2, 0.5, 0.3], [-3.0, 2.0, -2.5, 2.2]])
    distribution(student.top_p_probs(logits, 0.7), top_p_by_hand(logits, 0.7))
    distribution(student.top_p_probs(logits.T.contiguous().T, 0.7), top_p_by_hand(logits, 0.7), "wrong values for a transposed tensor")


@checks("top_p_probs")
def test_top_p_refuses(student):
    """p outside (0, 1] raises ValueError, with the value in the message"""
    for p in (0.0, -0.25, 1.5, 90):
        cause = "p is above 0 and at most 1 (0.9, not 90). Raise ValueError with the value in its message."
        raises(ValueError, lambda p=p: student.top_p_probs(row([1.0, 2.0]), p), naming=p, cause=cause)


@checks("top_p_probs")
def test_top_p_input_unchanged(student):
    """the input is not changed"""
    logits = torch.tensor([[1.0, 3.0, 2.0], [0.5, -2.0, 0.0]])
    got = student.top_p_probs(logits, 0.8, _unchanged=True, _rng_unchanged=True)
    distribution(got, top_p_by_hand(logits, 0.8))


# ---- draw ----------------------------------------------------------------------------------------------------------


@checks("draw", weight=2)
def test_draw_by_hand(student, hand):
    """four tokens and six values of u, worked out by hand"""
    case = hand["draw_four"]
    u = torch.tensor(case["u"]).unsqueeze(-1)
    got = token_ids(student.draw(row(case["probs"]).repeat(len(u), 1), u), len(u))
    equal(got, torch.tensor(case["tokens"]).unsqueeze(-1))


@checks("draw")
def test_draw_never_takes_zero(student):
    """a token of probability 0 is never drawn; a token of probability 1e-6 is drawn if u falls in its interval"""
    probs = torch.tensor([[0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.5, 0.0, 0.5, 0.0], [0.25, 0.75, 0.0, 0.0]])
    u = torch.tensor([[0.0], [0.0], [0.5], [1 - 2**-24]])
    got = token_ids(student.draw(probs, u), 4)
    equal(got, torch.tensor([[1], [2], [2], [1]]))
    edges = torch.tensor([[2**-20, 1 - 2**-20], [1 - 2**-20, 2**-20]])
    for at, want in (([0.0, 1 - 2**-22], [[0], [1]]), ([2**-19, 1 - 2**-19], [[1], [0]])):
        equal(
            token_ids(student.draw(edges, torch.tensor(at)[:, None]), 2), torch.tensor(want), what=f"wrong token of a millionth at u = {at}"
        )


@checks("draw")
def test_draw_each_row(student):
    """each row has its own probabilities and its own u"""
    probs = torch.tensor([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    u = torch.tensor([[0.97], [0.5], [0.05]])
    got = token_ids(student.draw(probs, u, _unchanged=True, _rng_unchanged=True), 3)
    equal(got, torch.tensor([[2], [1], [0]]))
    turned = token_ids(student.draw(probs.T.contiguous().T, u), 3)
    equal(turned, torch.tensor([[2], [1], [0]]), what="wrong tokens for a transposed tensor")


@checks("draw")
def test_draw_flat_u(student):
    """u may have shape (B,): row i is drawn with u[i]"""
    probs = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.1, 0.8, 0.1]])
    u = torch.tensor([0.6, 0.05, 0.95])
    equal(token_ids(student.draw(probs, u, _unchanged=True), 3), torch.tensor([[1], [0], [2]]))
    equal(token_ids(student.draw(probs[:2], u[:2]), 2), torch.tensor([[1], [0]]))
    equal(token_ids(student.draw(probs[:1], u[:1]), 1), torch.tensor([[1]]))


@checks("draw")
def test_draw_sum_below_u(student):
    """if rounding leaves the sum of all probabilities below u, the last token of probability above 0 is drawn"""
    probs = torch.tensor([[0.3, 0.6, 0.0999999, 0.0, 0.0], [0.0, 0.0999999, 0.9, 0.0, 0.0], [0.25, 0.25, 0.25, 0.0, 0.2499999]])
    got = token_ids(student.draw(probs, torch.full((3, 1), 1 - 2**-24)), 3)
    equal(got, torch.tensor([[2], [2], [4]]), what="wrong token at u = 1 - 2**-24, where the probabilities sum to 0.9999999")


@checks("draw")
def test_draw_inputs_unchanged(student):
    """probs and u are not changed, also if the probabilities sum to less than 1"""
    for dtype in (torch.float32, torch.float64):
        probs = torch.tensor([[0.375, 0.25, 0.3125], [0.125, 0.0, 0.8125]], dtype=dtype)
        u = torch.tensor([[0.5], [0.75]], dtype=dtype)
        equal(token_ids(student.draw(probs, u, _unchanged=True), 2), torch.tensor([[1], [2]]))


@checks("draw")
def test_draw_large_vocabulary(student):
    """49,152 tokens, probabilities in float32, bfloat16 or float16: each of 32 values of u draws the right token"""
    g = torch.Generator().manual_seed(5)
    exact = torch.softmax(2 * torch.randn(49_152, generator=g, dtype=torch.float64), dim=-1)
    for dtype in (torch.float32, *HALF):
        probs = exact.to(dtype)
        sums = probs.double().cumsum(dim=-1)
        sums = torch.cat([torch.zeros(1, dtype=torch.float64), sums / sums[-1]])
        wide = (sums.diff() > 5e-5).nonzero().flatten()  # u in the middle of such a stretch: rounding in float32 cannot move it
        want = wide[torch.linspace(0, len(wide) - 1, 32).long()]
        u = ((sums[want] + sums[want + 1]) / 2).float()[:, None]
        got = token_ids(student.draw(probs.repeat(32, 1), u), 32)
        equal(got, want[:, None], what=f"wrong tokens at 32 places between 0 and 1, probabilities in {dtype}")


@checks("draw")
def test_draw_float64(student):
    """float64 probabilities and u keep all digits; a float64 u just below 1 also works with float32 probabilities"""
    probs = torch.tensor([[0.5, 1e-9, 0.5 - 1e-9]], dtype=torch.float64).repeat(3, 1)
    u = torch.tensor([[0.5 - 1e-10], [0.5 + 5e-10], [0.5 + 1.5e-9]], dtype=torch.float64)
    equal(token_ids(student.draw(probs, u), 3), torch.tensor([[0], [1], [2]]))
    nearly = torch.tensor([[1 - 2**-40], [1 - 2**-53]], dtype=torch.float64)  # both would be 1 in float32
    got = token_ids(student.draw(torch.tensor([[0.25, 0.5, 0.25, 0.0], [0.5, 0.0, 0.0, 0.5]]), nearly), 2)
    equal(got, torch.tensor([[2], [3]]), what="wrong token for float32 probabilities and a u in float64 just below 1")


ROWS = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [0.5, 0.0, 1.0, -1.0, 2.0]])


@checks("temperature_probs")
def test_temperature_devices(student):
    """on the meta device: every new tensor is on the logits' device"""
    for tau in (0.7, 0.0):
        on_one_device(student.temperature_probs.on_meta(ROWS, tau))


@checks("top_k_probs")
def test_top_k_devices(student):
    """on the meta device: every new tensor is on the logits' device"""
    on_one_device(student.top_k_probs.on_meta(ROWS, 2))


@checks("top_p_probs")
def test_top_p_devices(student):
    """on the meta device: every new tensor is on the logits' device"""
    for p in (0.8, 1.0):
        on_one_device(student.top_p_probs.on_meta(ROWS, p))


@checks("draw")
def test_draw_devices(student):
    """on the meta device: every new tensor is on the device of the probabilities"""
    on_one_device(student.draw.on_meta(torch.softmax(ROWS, dim=-1), torch.tensor([[0.5], [0.9]])))


@checks("temperature_sample")
def test_temperature_sample_devices(student):
    """on the meta device: every new tensor, random numbers included, is on the logits' device"""
    on_one_device(student.temperature_sample.on_meta(ROWS, 0.8))


@checks("top_k_sample")
def test_top_k_sample_devices(student):
    """on the meta device: every new tensor, random numbers included, is on the logits' device"""
    on_one_device(student.top_k_sample.on_meta(ROWS, 3))


@checks("top_p_sample")
def test_top_p_sample_devices(student):
    """on the meta device: every new tensor, random numbers included, is on the logits' device"""
    on_one_device(student.top_p_sample.on_meta(ROWS, 0.9))


@checks("sample_next_token")
def test_next_token_devices(student):
    """on the meta device: every new tensor is on the logits' device"""
    for options in ({}, {"temperature": 0.0}, {"temperature": 0.7, "top_k": 3, "top_p": 0.9}):
        on_one_device(student.sample_next_token.on_meta(ROWS, **options))


# ---- temperature_sample, top_k_sample, top_p_sample ----------------------------------------------------------------

FOUR = [1.0, 2.0, 0.0, 0.5]


@checks("temperature_sample")
def test_temperature_sample_frequencies(student):
    """each token is drawn as often as its probability says"""
    # False alarm: at most 1e-10 for each tau, and for the tail (see the top of this file).
    for logits, tau in ((row(FOUR), 0.5), (row(FOUR), 2.0), (row(FOUR) / 32, 1 / 32)):
        g = student.generator(1)
        got = drawn(lambda x, tau=tau, g=g: student.temperature_sample(x, tau, generator=g), repeat(logits))
        frequencies(got, softmax64(logits / tau)[0], f" at tau = {tau}")
    each_row_has_its_own_token(lambda x: student.temperature_sample(x, 0.8, generator=student.generator(1)))
    tail = row([0.0] + 64 * [-5.0])  # together the 64 have 0.3013, and token 0 has the rest
    best = float(softmax64(tail)[0, 0])
    got = drawn(lambda x: student.temperature_sample(x, 1.0, generator=g), repeat(tail, 2_000))
    frequencies((got != 0).long(), torch.tensor([best, 1 - best], dtype=torch.float64), ", beside 64 improbable tokens")
    draws_where_one_is_all_but_sure(lambda x: student.temperature_sample(x, 1.0, generator=g), 6.0, DRAWS)


@checks("temperature_sample")
def test_temperature_sample_rows_and_calls(student):
    """neighbouring rows and successive calls are drawn independently"""
    g = student.generator(11)
    rows_and_calls_are_independent(lambda x: student.temperature_sample(x, 1.0, generator=g))


@checks("temperature_sample")
def test_temperature_sample_generator(student, rng):
    """draws come only from the given generator, or from torch's global state if none is given; logits are not changed"""
    follows_its_generator(student, rng, lambda x, g: student.temperature_sample(x, 0.8, generator=g))
    got = leaves_global_state(student, "temperature_sample", row(FOUR), 0.7)
    token_ids(got, 1)
    varies_without_generator(lambda x: student.temperature_sample(x, 0.8))
    draws_from_the_global_state(lambda **watched: student.temperature_sample(torch.zeros(200, 8), 0.8, **watched))


@checks("temperature_sample")
def test_temperature_sample_zero(student):
    """tau = 0 takes the best token and uses no random numbers"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [-1.0, -2.0, -3.0, -4.0, -5.0]])
    generator = student.generator(3)
    before = generator.get_state()
    got = student.temperature_sample(logits, 0.0, generator=generator, _unchanged=True, _rng_unchanged=True)
    equal(token_ids(got, 2), torch.tensor([[3], [0]]))
    equal(generator.get_state(), before, what="the generator moved although nothing had to be drawn")
    equal(student.temperature_sample(logits, 0.0, _rng_unchanged=True), torch.tensor([[3], [0]]))


@checks("temperature_sample")
def test_temperature_sample_reaches_every_token(student):
    """500 draws over 8,192 equally likely tokens: few tokens repeat, also with bfloat16 logits"""
    g = student.generator(6)
    reaches_every_token(lambda x: student.temperature_sample(x, 1.0, generator=g))


@checks("temperature_sample")
def test_temperature_sample_refuses(student):
    """a tau below 0 raises ValueError, with the value in the message"""
    cause = "temperature_probs raises it for you if you call it."
    raises(ValueError, lambda: student.temperature_sample(row(FOUR), -0.5), naming=-0.5, cause=cause)


@checks("top_k_sample")
def test_top_k_sample_frequencies(student):
    """each token is drawn as often as its probability says"""
    # False alarm: at most 1e-10 for each k (see the top of this file).
    for k in (1, 2, 3, 9):
        g = student.generator(1)
        got = drawn(lambda x, k=k, g=g: student.top_k_sample(x, k, generator=g), repeat(row(FOUR)))
        frequencies(got, top_k_by_hand(row(FOUR), k)[0])
    g = student.generator(1)
    tied = drawn(lambda x: student.top_k_sample(x, 1, generator=g), repeat(row([3.0, 3.0, 0.0]), 1_000))
    frequencies(tied, torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64))
    each_row_has_its_own_token(lambda x: student.top_k_sample(x, 2, generator=student.generator(1)))
    wide = torch.arange(120)[None] / 100
    frequencies(drawn(lambda x: student.top_k_sample(x, 110, generator=g), repeat(wide)), top_k_by_hand(wide, 110)[0])
    draws_where_one_is_all_but_sure(lambda x: student.top_k_sample(x, 3, generator=g), 6.0, DRAWS)


@checks("top_k_sample")
def test_top_k_sample_rows_and_calls(student):
    """neighbouring rows and successive calls are drawn independently"""
    g = student.generator(11)
    rows_and_calls_are_independent(lambda x: student.top_k_sample(x, 256, generator=g))


@checks("top_k_sample")
def test_top_k_sample_generator(student, rng):
    """draws come only from the given generator, or from torch's global state if none is given; logits are not changed"""
    follows_its_generator(student, rng, lambda x, g: student.top_k_sample(x, 8, generator=g))
    token_ids(leaves_global_state(student, "top_k_sample", row(FOUR), 2), 1)
    varies_without_generator(lambda x: student.top_k_sample(x, 8))
    draws_from_the_global_state(lambda **watched: student.top_k_sample(torch.zeros(200, 8), 8, **watched))


@checks("top_k_sample")
def test_top_k_sample_reaches_every_token(student):
    """500 draws over 8,192 equally likely tokens: few tokens repeat, also with bfloat16 logits"""
    g = student.generator(6)
    reaches_every_token(lambda x: student.top_k_sample(x, 8_192, generator=g))


@checks("top_k_sample")
def test_top_k_sample_refuses(student):
    """a k below 1 raises ValueError, with the value in the message"""
    cause = "top_k_probs raises it for you if you call it."
    for k in (-2, 0):
        raises(ValueError, lambda k=k: student.top_k_sample(row(FOUR), k), naming=k, cause=cause)


@checks("top_p_sample")
def test_top_p_sample_frequencies(student):
    """each token is drawn as often as its probability says"""
    # False alarm: at most 1e-10 for each p (see the top of this file). Sums of FOUR: 0.5793, 0.7924, 0.9216, 1.
    for p in (0.5, 0.7, 0.85, 1.0):
        g = student.generator(1)
        got = drawn(lambda x, p=p, g=g: student.top_p_sample(x, p, generator=g), repeat(row(FOUR)))
        frequencies(got, top_p_by_hand(row(FOUR), p)[0])
    each_row_has_its_own_token(lambda x: student.top_p_sample(x, 0.9, generator=student.generator(1)))
    draws_where_one_is_all_but_sure(lambda x: student.top_p_sample(x, 1.0, generator=g), 6.0, DRAWS)


@checks("top_p_sample")
def test_top_p_sample_rows_and_calls(student):
    """neighbouring rows and successive calls are drawn independently"""
    g = student.generator(11)
    rows_and_calls_are_independent(lambda x: student.top_p_sample(x, 1.0, generator=g))


@checks("top_p_sample")
def test_top_p_sample_generator(student, rng):
    """draws come only from the given generator, or from torch's global state if none is given; logits are not changed"""
    follows_its_generator(student, rng, lambda x, g: student.top_p_sample(x, 1.0, generator=g))
    token_ids(leaves_global_state(student, "top_p_sample", row(FOUR), 0.6), 1)
    varies_without_generator(lambda x: student.top_p_sample(x, 1.0))
    draws_from_the_global_state(lambda **watched: student.top_p_sample(torch.zeros(200, 8), 1.0, **watched))


@checks("top_p_sample")
def test_top_p_sample_reaches_every_token(student):
    """500 draws over 8,192 equally likely tokens: few tokens repeat, also with bfloat16 logits"""
    g = student.generator(6)
    reaches_every_token(lambda x: student.top_p_sample(x, 1.0, generator=g))


@checks("top_p_sample")
def test_top_p_sample_refuses(student):
    """p outside (0, 1] raises ValueError, with the value in the message"""
    cause = "top_p_probs raises it for you if you call it."
    for p in (-0.5, 1.25):
        raises(ValueError, lambda p=p: student.top_p_sample(row(FOUR), p), naming=p, cause=cause)


# ---- sample_next_token ---------------------------------------------------------------------------------------------


@checks("sample_next_token")
def test_next_token_defaults(student):
    """without settings, tokens are drawn from the model's own distribution"""
    # False alarm: at most 1e-10 (see the top of this file).
    g = student.generator(1)
    got = drawn(lambda x: student.sample_next_token(x, generator=g), repeat(row(FOUR)))
    frequencies(got, softmax64(row(FOUR))[0])
    draws_where_one_is_all_but_sure(lambda x: student.sample_next_token(x, generator=g), 6.0, DRAWS)


@checks("sample_next_token")
def test_next_token_default_settings(student):
    """the defaults are temperature 1, no top_k and no top_p"""
    # Of 4,096 tokens, no two of them equal, one holds half: a temperature of 1.01 draws another token in 1 of 50 rows, or more.
    logits = row([8.1, *(-1e-4 * i for i in range(4_095))]).repeat(1_000, 1)
    plain = token_ids(student.sample_next_token(logits, generator=student.generator(4)), 1_000)
    options = {"temperature": 1.0, "top_k": None, "top_p": None, "generator": student.generator(4)}
    got = student.sample_next_token(logits, **options)
    equal(plain, got, what="from the same generator state, not the tokens that come with temperature 1 and None")
    g = student.generator(6)
    reaches_every_token(lambda x: student.sample_next_token(x, generator=g))


@checks("sample_next_token", weight=2)
def test_next_token_temperature_before_top_p(student, hand):
    """temperature is applied before top-p"""
    # False alarm: at most 1e-10 (see the top of this file).
    case = hand["temperature_then_top_p"]
    options = {"temperature": case["tau"], "top_p": case["p"], "generator": student.generator(1)}
    got = drawn(lambda x: student.sample_next_token(x, **options), repeat(row(case["logits"])))
    frequencies(got, torch.tensor(case["probs"], dtype=torch.float64))


@checks("sample_next_token", weight=2)
def test_next_token_top_k_before_top_p(student, hand):
    """top-k is applied before top-p, and the kept probabilities are renormalised in between"""
    # False alarm: at most 1e-10 (see the top of this file).
    case = hand["top_k_then_top_p"]
    options = {"top_k": case["k"], "top_p": case["p"], "generator": student.generator(1)}
    got = drawn(lambda x: student.sample_next_token(x, **options), repeat(row(case["probs"]).log()))
    want = torch.zeros(4, dtype=torch.float64)
    want[case["kept"]] = 1.0
    frequencies(got, want)


@checks("sample_next_token")
def test_next_token_far_settings(student):
    """low temperature, top_k above V, ties, half-precision logits: right frequencies, and no cut token is drawn"""
    # False alarm: at most 1e-10 for each of the seven (see the top of this file).
    for logits, want, options in (
        (row(FOUR) / 32, softmax64(row(FOUR)), {"temperature": 1 / 32}),
        (row(FOUR), softmax64(row(FOUR)), {"top_k": 9}),
        (row(FOUR), top_k_by_hand(row(FOUR) / 0.5, 2), {"temperature": 0.5, "top_k": 2}),
        (row([3.0, 3.0, 0.0]), torch.tensor([[0.5, 0.5, 0.0]], dtype=torch.float64), {"top_k": 1}),
        (row([2.0, 1.0, 1.0, 0.0]), top_k_by_hand(row([2.0, 1.0, 1.0, 0.0]), 2), {"top_k": 2}),
        # Probabilities that are different in float32 and the same in half precision.
        (row([0.0, 1e-3, 5e-4]).bfloat16(), row([0.0, 1.0, 0.0]), {"top_k": 1}),
        (row([4e-5, 0.0, 2e-5]).half(), row([1.0, 0.0, 0.0]), {"temperature": 0.5, "top_k": 1}),
    ):
        g = student.generator(1)
        got = drawn(lambda x, o=options, g=g: student.sample_next_token(x, generator=g, **o), repeat(logits, 4_000))
        frequencies(got, want[0], f" with {options}, logits in {str(logits.dtype).removeprefix('torch.')}")
    # A cut token's probability is 0: if it is a millionth, 49,150 of them have a twentieth.
    wide = torch.zeros(64, 49_152).scatter(-1, torch.arange(64)[:, None] * 700, 3.0)
    got = token_ids(student.sample_next_token(wide, top_k=1, top_p=1.0, generator=g), 64)
    equal(got, torch.arange(64)[:, None] * 700, what="a token that top_k = 1 has cut was drawn with top_p = 1")


@checks("sample_next_token")
def test_next_token_each_row(student):
    """top_k and top_p are applied to each row separately"""
    logits = torch.tensor([[3.0, 1.0, 0.0], [0.0, 1.0, 3.0], [1.0, 3.0, 0.0]])
    for options in ({"top_k": 1}, {"top_p": 0.5}, {"top_k": 2, "top_p": 0.5}):  # each leaves the best token of a row
        got = student.sample_next_token(logits, generator=student.generator(1), **options)
        equal(token_ids(got, 3), torch.tensor([[0], [2], [1]]), what=f"a row did not get the only token that its filters leave: {options}")


@checks("sample_next_token")
def test_next_token_rows_and_calls(student):
    """neighbouring rows and successive calls are drawn independently"""
    g = student.generator(11)
    rows_and_calls_are_independent(lambda x: student.sample_next_token(x, generator=g))


@checks("sample_next_token")
def test_next_token_generator(student, rng):
    """draws come only from the given generator, or from torch's global state if none is given; logits are not changed"""
    follows_its_generator(student, rng, lambda x, g: student.sample_next_token(x, top_p=1.0, generator=g))
    options = {"temperature": 0.7, "top_k": 3, "top_p": 0.9}
    token_ids(leaves_global_state(student, "sample_next_token", row(FOUR), **options), 1)
    varies_without_generator(lambda x: student.sample_next_token(x))
    draws_from_the_global_state(lambda **watched: student.sample_next_token(torch.zeros(200, 8), **watched))


@checks("sample_next_token")
def test_next_token_zero_temperature(student):
    """temperature 0 takes the best token and uses no random numbers, with or without filters"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [-1.0, -2.0, -3.0, -4.0, -5.0]])
    generator = student.generator(3)
    before = generator.get_state()
    for filters in ({}, {"top_k": 3}, {"top_p": 0.9}, {"top_k": 3, "top_p": 0.9}):
        got = student.sample_next_token(logits, temperature=0.0, generator=generator, _unchanged=True, _rng_unchanged=True, **filters)
        equal(token_ids(got, 2), torch.tensor([[3], [0]]))
    equal(generator.get_state(), before, what="the generator moved although nothing had to be drawn")
    equal(token_ids(student.sample_next_token(logits, temperature=0, _rng_unchanged=True), 2), torch.tensor([[3], [0]]))


@checks("sample_next_token")
def test_next_token_refuses(student):
    """an invalid temperature, top_k or top_p raises ValueError, with the value in the message"""
    for options, value in (
        ({"temperature": -0.5}, -0.5),
        ({"top_k": 0}, 0),
        ({"top_k": -4}, -4),
        ({"top_p": 0.0}, 0.0),
        ({"top_p": 1.5}, 1.5),
        ({"top_p": -0.25}, -0.25),
        ({"temperature": -1.0, "top_k": 1, "top_p": 0.5}, -1.0),
        ({"top_k": 0, "top_p": 0.5}, 0),
        ({"top_k": 1, "top_p": 1.5}, 1.5),
    ):
        raises(ValueError, lambda o=options: student.sample_next_token(row(FOUR), **o), naming=value, cause=f"This came with {options}.")


@checks("sample_next_token")
def test_next_token_refuses_when_greedy(student):
    """an invalid top_k or top_p raises ValueError at temperature 0, with the value in the message"""
    for options, value in (
        ({"top_k": 0}, 0),
        ({"top_p": 1.5}, 1.5),
        ({"top_p": -0.5}, -0.5),
        ({"top_k": 2, "top_p": 0.0}, 0.0),
        ({"top_k": -1, "top_p": 0.9}, -1),
    ):
        raises(
            ValueError,
            lambda o=options: student.sample_next_token(row(FOUR), temperature=0.0, **o),
            naming=value,
            cause=f"This came with temperature=0 and {options}.",
        )
