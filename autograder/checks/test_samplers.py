"""Checks of the samplers that students may read.

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


def same_support(got: Tensor, want: Tensor, cause: str) -> None:
    """Fails unless exactly the tokens of `want` have a probability above 0."""
    got_ids, want_ids = [[r.nonzero().flatten().tolist() for r in t] for t in (got, want)]
    equal(got_ids, want_ids, what="wrong tokens kept", cause=cause)


def distribution(got: Any, want: Tensor, *, cause: str) -> None:
    """Fails unless `got` is `want`: the same tokens kept, exactly 0 elsewhere, and the same probabilities."""
    close(got, want, atol=1e-5, rtol=1e-4, cause=cause)
    same_support(got, want, cause)


def token_ids(got: Any, rows: int) -> Tensor:
    """The answer, if it is a column of int64."""
    that(isinstance(got, Tensor), "the result is not a tensor", got=type(got).__name__)
    that(
        tuple(got.shape) == (rows, 1),
        "wrong shape: one token id for each row",
        expected=str((rows, 1)),
        got=str(tuple(got.shape)),
        cause="Keep the last dimension: `keepdim=True`, or `unsqueeze(-1)` at the end.",
    )
    that(got.dtype == torch.int64, "token ids are int64", got=str(got.dtype))
    return got


def drawn(sample: Callable[[Tensor], Any], logits: Tensor) -> Tensor:
    """(n, V) -> token ids (n, 1): one draw from each row, in several calls."""
    return torch.cat([token_ids(sample(part), len(part)) for part in logits.split(ROWS_PER_CALL)])


def frequencies(got: Tensor, want: Tensor, *, cause: str) -> None:
    """Fails if so many independent draws from `want` (V,) would hardly ever look like `got` (n, 1)."""
    ids = got.flatten()
    inside = bool(((ids >= 0) & (ids < len(want))).all())
    that(inside, "a token id outside the vocabulary was drawn", got=(int(ids.min()), int(ids.max())), cause=cause)
    shares = torch.bincount(ids, minlength=len(want)).double() / len(ids)
    for token, (f, q) in enumerate(zip(shares.tolist(), want.tolist(), strict=True)):
        that(q > 0 or f == 0, f"token {token} has probability 0 and was drawn", got=f"in {f:.2%} of draws", cause=cause)
        surprise = len(ids) * sum(a * math.log(a / b) for a, b in ((f, q), (1 - f, 1 - q)) if a > 0 and b > 0)
        that(
            surprise <= math.log(2 * len(want) / FALSE_ALARM) and not (q >= 1 and f < 1),
            f"token {token} is drawn too often or too rarely in {len(ids)} draws",
            expected=f"about {q:.4f} of them",
            got=f"{f:.4f}",
            cause=cause,
        )


def follows_its_generator(student: Any, rng: torch.Generator, sample: Callable[..., Any]) -> None:
    """`sample(logits, generator)` draws from the generator, all of it, and from nothing else.

    200 rows over 8 equally likely tokens: two unrelated draws agree with probability at most 2 ** -200.
    """
    seed, other = torch.randint(2**31, (2,), generator=rng).tolist()
    logits = torch.zeros(200, 8)
    first, again = student.generator(seed), student.generator(seed)
    tokens = token_ids(sample(logits, first), 200)
    cause = "Hand `generator` on to the function that draws (`torch.rand`, `torch.multinomial`)."
    equal(sample(logits, again), tokens, what="two generators in the same state gave different tokens", cause=cause)
    that(
        not torch.equal(sample(logits, first), tokens),
        "a second call with the same generator gave the same tokens again",
        cause="Do not seed or copy the generator: draw from it, so that it moves on.",
    )
    that(
        not torch.equal(sample(logits, student.generator(other)), tokens),
        "a generator with another seed gave the same tokens",
        cause=cause,
    )


def leaves_global_state(student: Any, function: str, *args: Any, **options: Any) -> Tensor:
    """Calls the function with a generator; fails if torch's global random state moved, or the logits did."""
    call = getattr(student, function)
    return call(*args, generator=student.generator(5), _rng_unchanged=True, _unchanged=True, **options)


def varies_without_generator(sample: Callable[[Tensor], Any]) -> None:
    """Two calls without a generator differ (they agree by chance with probability at most 2 ** -200)."""
    logits = torch.zeros(200, 8)
    first = token_ids(sample(logits), 200)
    that(
        not torch.equal(first, sample(logits)),
        "two calls without a generator gave the same tokens",
        cause="generator=None means torch's global random state, unseeded by you.",
    )


# ---- greedy_sample -------------------------------------------------------------------------------------------------


@checks("greedy_sample")
def test_greedy_by_hand(student, hand):
    """the highest of five logits"""
    got = token_ids(student.greedy_sample(row(hand["greedy"]["logits"])), 1)
    equal(got, torch.tensor([[hand["greedy"]["token"]]]), cause="argmax gives the index of the highest logit.")


@checks("greedy_sample")
def test_greedy_each_row(student):
    """one token for each row, as a column of int64"""
    logits = torch.tensor([[0.1, 5.0, 2.0], [9.0, -1.0, 3.0], [-3.0, -2.0, -1.0], [-7.0, -4.0, -5.0]])
    got = token_ids(student.greedy_sample(logits), 4)
    cause = "The maximum is taken in each row, over the last dimension (dim=-1)."
    equal(got, torch.tensor([[1], [0], [2], [1]]), cause=cause)


@checks("greedy_sample")
def test_greedy_leaves_everything_alone(student):
    """no randomness used, input unchanged"""
    logits = torch.tensor([[0.5, 0.4, 0.6], [1.5, 1.0, 0.0]])
    got = student.greedy_sample(logits, _unchanged=True, _rng_unchanged=True)
    equal(got, torch.tensor([[2], [0]]), cause="Greedy is argmax: nothing is drawn.")


# ---- temperature_probs ---------------------------------------------------------------------------------------------


@checks("temperature_probs", weight=2)
def test_temperature_by_hand(student, hand):
    """tau 0.5, 0.7 and 2, worked out by hand"""
    for name in ("temperature_half", "temperature_0_7", "temperature_two"):
        case = hand[name]
        got = student.temperature_probs(row(case["logits"]), case["tau"])
        cause = "Divide the logits by tau, then softmax. tau below 1 sharpens, above 1 flattens."
        close(got, row(case["probs"]), atol=6e-5, cause=cause)


@checks("temperature_probs")
def test_temperature_as_power(student, hand):
    """probabilities 0.7, 0.2, 0.1 sharpened and flattened"""
    case = hand["temperature_as_power"]
    logits = row(case["probs"]).log()
    cause = "Temperature divides the logits, before softmax; it does not divide probabilities."
    close(student.temperature_probs(logits, 0.5), row(case["tau_half"]), atol=6e-5, cause=cause)
    close(student.temperature_probs(logits, 2.0), row(case["tau_two"]), atol=6e-5, cause=cause)


@checks("temperature_probs")
def test_temperature_zero_is_greedy(student):
    """tau = 0 puts everything on the highest logit"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [-1.0, -2.0, -3.0, -4.0, -5.0]])
    want = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    cause = "Division by 0 gives nan: treat tau = 0 apart, with 1 at the argmax and 0 elsewhere."
    for zero in (0.0, 0):
        distribution(student.temperature_probs(logits, zero), want, cause=cause)


@checks("temperature_probs")
def test_temperature_refuses_negative(student):
    """tau below 0 raises ValueError that names it"""
    for tau in (-1.0, -0.25):
        cause = "A negative temperature would turn the order round. Raise ValueError with the value in its message."
        raises(ValueError, lambda tau=tau: student.temperature_probs(row([1.0, 2.0]), tau), naming=tau, cause=cause)


@checks("temperature_probs")
def test_temperature_input_unchanged(student):
    """the input is not changed"""
    logits = torch.tensor([[1.0, 3.0], [0.0, -2.0]])
    got = student.temperature_probs(logits, 4.0, _unchanged=True, _rng_unchanged=True)
    close(got, softmax64(logits / 4.0), atol=1e-5, cause="`logits / tau` makes a new tensor; `logits /= tau` does not.")


# ---- top_k_probs ---------------------------------------------------------------------------------------------------


@checks("top_k_probs", weight=2)
def test_top_k_by_hand(student, hand):
    """the two best of five, worked out by hand"""
    case = hand["top_k_two"]
    got = student.top_k_probs(row(case["logits"]), case["k"])
    cause = "Keep the k highest logits, and divide by the sum of what is left so that it is 1 again."
    close(got, row(case["probs"]), atol=6e-5, cause=cause)
    same_support(got, row(case["probs"]), "Tokens outside the top k get exactly 0.")


@checks("top_k_probs")
def test_top_k_keeps_ties(student, hand):
    """ties with the k-th value are kept"""
    case = hand["top_k_tie"]
    got = student.top_k_probs(row(case["logits"]), case["k"])
    cause = "Compare with the k-th value (`logits < kth` are cut) instead of taking k indices."
    close(got, row(case["probs"]), atol=6e-5, cause=cause)
    same_support(got, row(case["probs"]), cause)


@checks("top_k_probs")
def test_top_k_each_row(student):
    """each row has its own threshold"""
    logits = torch.tensor([[9.0, 8.0, 7.0, 6.0], [-4.0, -3.0, -2.0, -1.0], [0.0, 5.0, -5.0, 4.0]])
    cause = "The k-th value must be a column (B, 1), one for each row: keep the last dimension."
    distribution(student.top_k_probs(logits, 2), top_k_by_hand(logits, 2), cause=cause)


@checks("top_k_probs")
def test_top_k_large_k(student):
    """k = V and k > V keep everything"""
    logits = row([0.3, -0.2, 1.1])
    for k in (3, 4, 1000):
        cause = "`topk` refuses k > V: use the smaller of k and V."
        distribution(student.top_k_probs(logits, k), softmax64(logits), cause=cause)


@checks("top_k_probs")
def test_top_k_refuses(student):
    """k below 1 raises ValueError that names it"""
    for k in (0, -3):
        cause = "k = 0 would leave no token at all. Raise ValueError with the value in its message."
        raises(ValueError, lambda k=k: student.top_k_probs(row([1.0, 2.0]), k), naming=k, cause=cause)


@checks("top_k_probs")
def test_top_k_input_unchanged(student):
    """the input is not changed"""
    logits = torch.tensor([[1.0, 3.0, 2.0], [0.5, -2.0, 0.0]])
    got = student.top_k_probs(logits, 1, _unchanged=True, _rng_unchanged=True)
    want = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    distribution(got, want, cause="`masked_fill` makes a new tensor; `masked_fill_` and `logits[...] = ` do not.")


# ---- top_p_probs ---------------------------------------------------------------------------------------------------


@checks("top_p_probs", weight=2)
def test_top_p_by_hand(student, hand):
    """the nucleus of five logits at p 0.9, worked out by hand"""
    case = hand["top_p_0_9"]
    got = student.top_p_probs(row(case["logits"]), case["p"])
    cause = (
        "0.8763 has not reached 0.9 yet, so the next token, which crosses it, stays as well. "
        "`cumulative <= p` drops it: look at the mass before each token. Then divide by the sum of what is kept."
    )
    close(got, row(case["probs"]), atol=6e-5, cause=cause)
    same_support(got, row(case["probs"]), cause)


@checks("top_p_probs")
def test_top_p_best_token_alone(student):
    """a best token above p stays alone"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [6.0, 0.0, -1.0, 0.5, -2.0]])
    want = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    for p in (0.8, 0.3, 1e-6):
        cause = "The best token is always kept, even if its probability is above p; if it reaches p, it is enough."
        distribution(student.top_p_probs(logits, p), want, cause=cause)


@checks("top_p_probs")
def test_top_p_exact_mass(student):
    """where the mass is exactly p, nothing more is kept"""
    # Equal logits over 2, 4 or 16 tokens: the probabilities are powers of two, and every sum of them is exact.
    for width, p, kept in ((2, 0.5, 1), (4, 0.25, 1), (4, 0.5, 2), (4, 0.75, 3), (16, 0.375, 6)):
        got = student.top_p_probs(torch.zeros(1, width), p)
        close(got.sum(), 1.0, atol=1e-5, cause="Divide by the sum of what is kept.")
        equal(
            int((got > 0).sum()),
            kept,
            what=f"wrong number of tokens kept of {width} equally likely ones at p = {p}",
            cause="A token stays if the mass before it is still below p (strictly: `<`). Equal ones are cut as well.",
        )


@checks("top_p_probs")
def test_top_p_one_keeps_everything(student):
    """p = 1 keeps everything, however improbable"""
    # The first probability is 1 - 2.2e-9, which is 1 in float32: the running sum has reached p at once.
    logits = torch.tensor([[0.0, -20.0, -22.0, -24.0], [1.0, 0.0, 2.0, -1.0]])
    for p in (1.0, 1):
        got = student.top_p_probs(logits, p)
        cause = "Rounding can bring the running sum to 1 before the last token does: treat p = 1 apart."
        close(got, softmax64(logits), atol=1e-12, rtol=1e-4, cause=cause)


@checks("top_p_probs")
def test_top_p_each_row(student):
    """each row has its own nucleus, in the order of the vocabulary"""
    logits = torch.tensor([[5.0, 1.0, 0.0, -1.0], [0.0, 0.2, 0.5, 0.3], [-3.0, 2.0, -2.5, 2.2]])
    cause = "Sort, cut and scatter back row by row (dim=-1); the mask belongs to the sorted order, not to the ids."
    distribution(student.top_p_probs(logits, 0.7), top_p_by_hand(logits, 0.7), cause=cause)


@checks("top_p_probs")
def test_top_p_refuses(student):
    """p outside (0, 1] raises ValueError that names it"""
    for p in (0.0, -0.25, 1.5, 90):
        cause = "p is above 0 and at most 1 (0.9, not 90). Raise ValueError with the value in its message."
        raises(ValueError, lambda p=p: student.top_p_probs(row([1.0, 2.0]), p), naming=p, cause=cause)


@checks("top_p_probs")
def test_top_p_input_unchanged(student):
    """the input is not changed"""
    logits = torch.tensor([[1.0, 3.0, 2.0], [0.5, -2.0, 0.0]])
    got = student.top_p_probs(logits, 0.8, _unchanged=True, _rng_unchanged=True)
    distribution(got, top_p_by_hand(logits, 0.8), cause="Write into a tensor of your own.")


# ---- draw ----------------------------------------------------------------------------------------------------------


@checks("draw", weight=2)
def test_draw_by_hand(student, hand):
    """four tokens and six values of u, worked out by hand"""
    case = hand["draw_four"]
    u = torch.tensor(case["u"]).unsqueeze(-1)
    got = token_ids(student.draw(row(case["probs"]).repeat(len(u), 1), u), len(u))
    cause = "Sum up the probabilities in the order of the ids; the first sum that is larger than u names the token."
    equal(got, torch.tensor(case["tokens"]).unsqueeze(-1), cause=cause)


@checks("draw")
def test_draw_never_takes_zero(student):
    """a token of probability 0 is never drawn"""
    probs = torch.tensor([[0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.5, 0.0, 0.5, 0.0], [0.25, 0.75, 0.0, 0.0]])
    u = torch.tensor([[0.0], [0.0], [0.5], [1 - 2**-24]])
    got = token_ids(student.draw(probs, u), 4)
    cause = "The sum must exceed u (`>`); with `>=` the token at u = 0 can be one that has no probability."
    equal(got, torch.tensor([[1], [2], [2], [1]]), cause=cause)


@checks("draw")
def test_draw_each_row(student):
    """each row has its own probabilities and its own u"""
    probs = torch.tensor([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    u = torch.tensor([[0.97], [0.5], [0.05]])
    got = token_ids(student.draw(probs, u, _unchanged=True, _rng_unchanged=True), 3)
    equal(got, torch.tensor([[2], [1], [0]]), cause="Compare row i of the running sums with row i of u, shape (B, 1).")


# ---- temperature_sample, top_k_sample, top_p_sample ----------------------------------------------------------------

FOUR = [1.0, 2.0, 0.0, 0.5]


@checks("temperature_sample")
def test_temperature_sample_frequencies(student):
    """each token as often as its probability says"""
    # False alarm: at most 1e-10 for each tau (see the top of this file).
    for tau in (0.5, 2.0):
        g = student.generator(1)
        got = drawn(lambda x, tau=tau, g=g: student.temperature_sample(x, tau, generator=g), repeat(row(FOUR)))
        cause = "Draw from temperature_probs(logits, tau), with a fresh random number for each row."
        frequencies(got, softmax64(row(FOUR) / tau)[0], cause=cause)


@checks("temperature_sample")
def test_temperature_sample_generator(student, rng):
    """follows the generator, leaves the global state and the input alone"""
    follows_its_generator(student, rng, lambda x, g: student.temperature_sample(x, 0.8, generator=g))
    got = leaves_global_state(student, "temperature_sample", row(FOUR), 0.7)
    token_ids(got, 1)
    varies_without_generator(lambda x: student.temperature_sample(x, 0.8))


@checks("temperature_sample")
def test_temperature_sample_zero(student):
    """tau = 0 takes the best token and draws nothing"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [-1.0, -2.0, -3.0, -4.0, -5.0]])
    generator = student.generator(3)
    before = generator.get_state()
    got = student.temperature_sample(logits, 0.0, generator=generator, _unchanged=True, _rng_unchanged=True)
    cause = "tau = 0 is greedy_sample: return it before anything is drawn."
    equal(token_ids(got, 2), torch.tensor([[3], [0]]), cause=cause)
    equal(generator.get_state(), before, what="the generator moved although nothing had to be drawn", cause=cause)
    equal(student.temperature_sample(logits, 0.0, _rng_unchanged=True), torch.tensor([[3], [0]]), cause=cause)


@checks("temperature_sample")
def test_temperature_sample_refuses(student):
    """tau below 0 raises ValueError that names it"""
    cause = "temperature_probs raises it for you if you call it."
    raises(ValueError, lambda: student.temperature_sample(row(FOUR), -0.5), naming=-0.5, cause=cause)


@checks("top_k_sample")
def test_top_k_sample_frequencies(student):
    """each token as often as its probability says"""
    # False alarm: at most 1e-10 for each k (see the top of this file).
    for k in (1, 2, 3, 9):
        g = student.generator(1)
        got = drawn(lambda x, k=k, g=g: student.top_k_sample(x, k, generator=g), repeat(row(FOUR)))
        cause = "Draw from top_k_probs(logits, k), with a fresh random number for each row."
        frequencies(got, top_k_by_hand(row(FOUR), k)[0], cause=cause)


@checks("top_k_sample")
def test_top_k_sample_generator(student, rng):
    """follows the generator, leaves the global state and the input alone"""
    follows_its_generator(student, rng, lambda x, g: student.top_k_sample(x, 8, generator=g))
    token_ids(leaves_global_state(student, "top_k_sample", row(FOUR), 2), 1)
    varies_without_generator(lambda x: student.top_k_sample(x, 8))


@checks("top_k_sample")
def test_top_k_sample_refuses(student):
    """k below 1 raises ValueError that names it"""
    cause = "top_k_probs raises it for you if you call it."
    raises(ValueError, lambda: student.top_k_sample(row(FOUR), -2), naming=-2, cause=cause)


@checks("top_p_sample")
def test_top_p_sample_frequencies(student):
    """each token as often as its probability says"""
    # False alarm: at most 1e-10 for each p (see the top of this file). Sums of FOUR: 0.5793, 0.7924, 0.9216, 1.
    for p in (0.5, 0.7, 0.85, 1.0):
        g = student.generator(1)
        got = drawn(lambda x, p=p, g=g: student.top_p_sample(x, p, generator=g), repeat(row(FOUR)))
        cause = "Draw from top_p_probs(logits, p), with a fresh random number for each row."
        frequencies(got, top_p_by_hand(row(FOUR), p)[0], cause=cause)


@checks("top_p_sample")
def test_top_p_sample_generator(student, rng):
    """follows the generator, leaves the global state and the input alone"""
    follows_its_generator(student, rng, lambda x, g: student.top_p_sample(x, 1.0, generator=g))
    token_ids(leaves_global_state(student, "top_p_sample", row(FOUR), 0.6), 1)
    varies_without_generator(lambda x: student.top_p_sample(x, 1.0))


@checks("top_p_sample")
def test_top_p_sample_refuses(student):
    """p outside (0, 1] raises ValueError that names it"""
    cause = "top_p_probs raises it for you if you call it."
    for p in (-0.5, 1.25):
        raises(ValueError, lambda p=p: student.top_p_sample(row(FOUR), p), naming=p, cause=cause)


# ---- sample_next_token ---------------------------------------------------------------------------------------------


@checks("sample_next_token")
def test_next_token_defaults(student):
    """without settings, the model's own distribution"""
    # False alarm: at most 1e-10 (see the top of this file).
    g = student.generator(1)
    got = drawn(lambda x: student.sample_next_token(x, generator=g), repeat(row(FOUR)))
    frequencies(got, softmax64(row(FOUR))[0], cause="temperature=1, and None switches a filter off.")


@checks("sample_next_token", weight=2)
def test_next_token_temperature_before_top_p(student, hand):
    """temperature comes before top-p"""
    # False alarm: at most 1e-10 (see the top of this file).
    case = hand["temperature_then_top_p"]
    options = {"temperature": case["tau"], "top_p": case["p"], "generator": student.generator(1)}
    got = drawn(lambda x: student.sample_next_token(x, **options), repeat(row(case["logits"])))
    cause = "At tau 2 the nucleus of 0.9 holds three tokens, {3, 0, 2}; filtering before the temperature leaves two."
    frequencies(got, torch.tensor(case["probs"], dtype=torch.float64), cause=cause)


@checks("sample_next_token", weight=2)
def test_next_token_top_k_before_top_p(student, hand):
    """top-k comes before top-p, and what it keeps is renormalised"""
    # False alarm: at most 1e-10 (see the top of this file).
    case = hand["top_k_then_top_p"]
    options = {"top_k": case["k"], "top_p": case["p"], "generator": student.generator(1)}
    got = drawn(lambda x: student.sample_next_token(x, **options), repeat(row(case["probs"]).log()))
    want = torch.zeros(4, dtype=torch.float64)
    want[case["kept"]] = 1.0
    cause = "After top-k 2 the best token has 0.5714, which reaches 0.5 alone. top-p works on the renormalised result."
    frequencies(got, want, cause=cause)


@checks("sample_next_token")
def test_next_token_generator(student, rng):
    """follows the generator, leaves the global state and the input alone"""
    follows_its_generator(student, rng, lambda x, g: student.sample_next_token(x, top_p=1.0, generator=g))
    options = {"temperature": 0.7, "top_k": 3, "top_p": 0.9}
    token_ids(leaves_global_state(student, "sample_next_token", row(FOUR), **options), 1)
    varies_without_generator(lambda x: student.sample_next_token(x))


@checks("sample_next_token")
def test_next_token_zero_temperature(student):
    """temperature 0 takes the best token and draws nothing"""
    logits = torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8], [-1.0, -2.0, -3.0, -4.0, -5.0]])
    generator = student.generator(3)
    before = generator.get_state()
    cause = "Temperature 0 is greedy, with or without filters: nothing is drawn."
    for filters in ({}, {"top_k": 3}, {"top_p": 0.9}, {"top_k": 3, "top_p": 0.9}):
        got = student.sample_next_token(logits, temperature=0.0, generator=generator, _unchanged=True, _rng_unchanged=True, **filters)
        equal(token_ids(got, 2), torch.tensor([[3], [0]]), cause=cause)
    equal(generator.get_state(), before, what="the generator moved although nothing had to be drawn", cause=cause)


@checks("sample_next_token")
def test_next_token_refuses(student):
    """bad settings raise ValueError that names them"""
    cause = "0 is a bad value, not an absent one: ask `is not None`, and let the distributions raise."
    for options, value in (
        ({"temperature": -0.5}, -0.5),
        ({"top_k": 0}, 0),
        ({"top_k": -4}, -4),
        ({"top_p": 0.0}, 0.0),
        ({"top_p": 1.5}, 1.5),
    ):
        raises(ValueError, lambda o=options: student.sample_next_token(row(FOUR), **o), naming=value, cause=cause)
