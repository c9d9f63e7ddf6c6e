"""Hidden checks of speculative decoding: fresh distributions, texts, models and drafts, and rules in combination."""

from __future__ import annotations

from dataclasses import replace

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.base.wording import counted
from autograder.checking.checks.test_generation import frequencies
from autograder.checking.checks.test_speculative import in_columns
from autograder.checking.checks.test_transformer import small_config
from autograder.checking.helpers.cached import PROMPTS, ROOMY, believing, small, sure_after, tiny_ids, unrolled, whole
from autograder.checking.helpers.guessed import (
    BELIEVED,
    GUESSED,
    Books,
    Drawn,
    Lookup,
    Oracle,
    asked_as_it_should,
    believer,
    emitted,
    filtered_law,
    follows,
    has_the_law,
    looked_up,
    speculated,
)
from autograder.checking.helpers.randomness import draws_from_the_global_state
from autograder.checking.helpers.work_bounds import between
from autograder.sandbox.measure.op_counter import counting
from solutions.samplers import draw, sample_next_token


def integer(rng, low, high):
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def laws(rng, *shape, zeros=True):
    """Distributions with simple numbers, some of them 0, over the last dimension; float64."""
    weights = torch.randint(0 if zeros else 1, 6, shape, generator=rng).double()
    weights.view(-1, shape[-1])[
        range(weights.numel() // shape[-1]), torch.randint(shape[-1], (weights.numel() // shape[-1],), generator=rng)
    ] += 1
    return weights / weights.sum(dim=-1, keepdim=True)


# ---- filtered_probs ------------------------------------------------------------------------------------------------


@checks("filtered_probs", weight=3)
def test_random_filters(student, rng):
    """random logits, temperature, top_k and top_p: every token has the expected probability"""
    for _ in range(12):
        logits = torch.randn(integer(rng, 1, 4), 9, generator=rng, dtype=torch.float64) * 2
        temperature = 0.3 + 2 * float(torch.rand((), generator=rng))
        top_k = (None, 1, 3, 8, 9, 20)[integer(rng, 0, 5)]
        top_p = (None, 0.1, 0.5, 0.8, 0.95, 1.0)[integer(rng, 0, 5)]
        got = student.filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p, _unchanged=True)
        want = torch.tensor([filtered_law(row, temperature, top_k, top_p) for row in logits.tolist()], dtype=torch.float64)
        close(got, want, atol=1e-9, what=f"wrong with temperature {temperature:.2f}, top_k {top_k} and top_p {top_p}")
        equal((got > 0).long(), (want > 0).long(), what="wrong tokens are kept (1: kept)")


@checks("filtered_probs")
def test_what_is_drawn_is_the_samplers(student, rng):
    """a draw from the filtered distribution is the token that sample_next_token draws at the same random number"""
    logits = torch.randn(300, 7, generator=rng, dtype=torch.float64)
    for options in ({}, {"temperature": 0.5, "top_k": 4}, {"top_k": 5, "top_p": 0.7}, {"temperature": 0.0, "top_p": 0.5}):
        seed = integer(rng, 0, 2**31 - 1)
        probs = student.filtered_probs(logits, **options)
        u = torch.rand(300, 1, generator=torch.Generator().manual_seed(seed))
        mine = draw(probs, u)
        due = sample_next_token(logits, generator=torch.Generator().manual_seed(seed), **options)
        close(probs.sum(dim=-1), torch.ones(300), atol=1e-9, what="the rows do not sum to 1")
        that(
            int((mine != due).sum()) <= 2,
            f"draws from the distribution are not the sampler's draws, with {options}",
            got=int((mine != due).sum()),
        )


@checks("filtered_probs")
def test_filters_of_impossible_tokens(student):
    """a logit of -inf gives probability 0 under every setting; very large logits do not overflow"""
    logits = torch.tensor([[1.0, float("-inf"), 0.5, float("-inf")]])
    for options in (
        {},
        {"top_k": 3},
        {"top_p": 1.0},
        {"temperature": 2.0, "top_k": 4, "top_p": 0.99},
        {"temperature": 0.0, "top_k": 4, "top_p": 1.0},
    ):
        got = student.filtered_probs(logits, **options)
        tau = options.get("temperature", 1.0)
        want = [[1.0, 0, 0, 0]] if tau == 0 else (logits / tau).softmax(dim=-1)
        close(got, want, atol=1e-6, what=f"wrong with {options}")
        equal(got[0, [1, 3]], torch.zeros(2), what="an impossible token has more than 0")
    got = student.filtered_probs(torch.tensor([[3e4, 2.9e4, -3e4], [-2e4, -2e4, -3e4]]), temperature=0.5, top_k=2)
    close(got, [[1.0, 0, 0], [0.5, 0.5, 0]], atol=1e-6, what="wrong for very large logits")


@checks("filtered_probs")
def test_refused_with_much_set(student):
    """one invalid setting beside valid settings: ValueError that names the invalid value"""
    logits = torch.zeros(1, 4)
    for options, naming in (
        ({"temperature": -0.5, "top_k": 2, "top_p": 0.5}, -0.5),
        ({"temperature": 0.5, "top_k": -1, "top_p": 0.5}, -1),
        ({"temperature": 0.0, "top_k": 2, "top_p": -0.25}, -0.25),
        ({"top_k": 1, "top_p": 2.0}, 2.0),
    ):
        raises(ValueError, lambda options=options: student.filtered_probs(logits, **options), naming=naming)


@checks("filtered_probs")
def test_what_filters_leave(student):
    """without filters all of 300 tokens stay; tokens tied at the k-th place stay; low temperatures are not 0; float16 gives float32"""
    every = torch.arange(300, dtype=torch.float64)[None] / 100
    close(student.filtered_probs(every), every.softmax(dim=-1), atol=1e-9, what="wrong where no filter is named")
    want = every.masked_fill(every < 0.995, -torch.inf).softmax(dim=-1)
    close(student.filtered_probs(every, top_k=200), want, atol=1e-9, what="wrong probabilities of 300 tokens with top_k 200")
    level = torch.tensor([[1.0, 2.0, 0.0, 1.0]], dtype=torch.float64)
    want = level.masked_fill(level == 0, -torch.inf).softmax(dim=-1)
    close(student.filtered_probs(level, top_k=2), want, atol=1e-9, what="wrong where two tokens share the second place, with top_k 2")
    for tau in (0.05, 2e-4):
        near = torch.tensor([[0.0, tau, 2 * tau]], dtype=torch.float64)
        want = (near / tau).softmax(dim=-1)
        close(student.filtered_probs(near, temperature=tau), want, atol=1e-9, what=f"wrong with temperature {tau}")
    half = torch.tensor([[3e4, 3e4, -3e4], [0.3, 1.7, -0.9]], dtype=torch.float16)
    want = (half.float() / 0.4).softmax(dim=-1)
    close(student.filtered_probs(half, temperature=0.4), want, dtype=torch.float32, atol=1e-6, what="wrong for float16 at temperature 0.4")


# ---- lookup_draft --------------------------------------------------------------------------------------------------


@checks("lookup_draft", weight=3)
def test_random_lookups(student, rng):
    """random repetitive texts, with random k and max_ngram: the guess follows the latest match of the longest suffix"""
    for _ in range(60):
        text = torch.randint(integer(rng, 1, 4), (integer(rng, 0, 14),), generator=rng).tolist()
        max_ngram, k = integer(rng, 1, 5), integer(rng, 0, 6)
        got = student.lookup_draft(text, max_ngram=max_ngram, k=k, _unchanged=True)
        equal(got, looked_up(text, max_ngram, k), what=f"wrong guess after {text} with max_ngram {max_ngram} and k {k}")


@checks("lookup_draft")
def test_random_lookups_with_defaults(student, rng):
    """random texts, with the default k and max_ngram: the guess is right"""
    for _ in range(30):
        text = torch.randint(3, (integer(rng, 8, 40),), generator=rng).tolist()
        equal(student.lookup_draft(text), looked_up(text, 3, 4), what=f"wrong guess after {text}")


@checks("lookup_draft")
def test_a_place_far_back(student, rng):
    """a long text whose end also occurs at the very beginning: the early match is found; only equal ids match"""
    text = (torch.randperm(900, generator=rng) + 100).tolist()
    long = [1, 2, 3, *text, 1, 2, 3]
    equal(student.lookup_draft(long), text[:4], what="wrong guess for a suffix that stood at the beginning")
    equal(student.lookup_draft([*text, text[0]], k=3), text[1:4], what="wrong guess where only the first token stood earlier")
    for first in (41, 42):  # two texts of one length, alike but for the token that is guessed
        equal(student.lookup_draft([5, 6, first, 1, 2, 5, 6], k=1), [first], what="wrong guess after one of two texts with the same end")
    equal(student.lookup_draft([*text, text[-1]], k=3), [text[-1]], what="wrong guess where a text ends with the same token twice")
    text = [*range(20), *torch.randint(100, 900, (5_000,), generator=rng).tolist(), *range(20)]
    equal(student.lookup_draft(text, max_ngram=20, k=500), text[20:520], what="wrong guess of 500 tokens with max_ngram 20")
    for tokens in ([21, 3, 9, 1, 3], [2, 13, 9, 2, 1, 3], [100_000, 7, 34_464], [4_097, 7, 4_098], [513, 8, 1]):
        want = tokens[2:] if tokens[1] == 3 else []
        equal(student.lookup_draft(tokens), want, what=f"wrong guess after {tokens}: only equal numbers are the same token")


# ---- greedy_verify -------------------------------------------------------------------------------------------------


@checks("greedy_verify", weight=3)
def test_random_drafts(student, rng):
    """random logits and drafts: guesses are kept up to the first mistake, and the model's own token follows"""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for _ in range(12):
            k, V = integer(rng, 0, 6), integer(rng, 2, 9)
            logits = torch.stack([torch.randperm(V, generator=rng) for _ in range(k + 1)]).to(dtype)
            best = logits.argmax(dim=-1).tolist()
            right = [integer(rng, 0, 3) > 0 for _ in range(k)]
            draft = [t if ok else (t + integer(rng, 1, V - 1)) % V for t, ok in zip(best, right, strict=False)]
            n = right.index(False) if False in right else k
            got = emitted(student.greedy_verify(logits, torch.tensor(draft, dtype=torch.int64), _unchanged=True), k, V)
            equal(got, best[: n + 1], what=f"wrong tokens for the draft {draft}, where the model says {best}")


@checks("greedy_verify")
def test_all_of_a_long_draft(student, rng):
    """300 correct guesses are all kept; a wrong last guess is replaced"""
    logits = torch.randn(301, 100, generator=rng)
    best = logits.argmax(dim=-1)
    equal(emitted(student.greedy_verify(logits, best[:-1].clone()), 300, 100), best.tolist(), what="wrong tokens where all is right")
    draft = best[:-1].clone()
    draft[-1] = (draft[-1] + 1) % 100
    equal(emitted(student.greedy_verify(logits, draft), 300, 100), best[:-1].tolist(), what="wrong tokens where the last guess is wrong")


@checks("greedy_verify")
def test_only_the_best_counts(student):
    """a guess whose logit is second best by a tiny margin is refused; logits may be negative or -inf"""
    inf = float("inf")
    logits = torch.tensor([[-5.0, -4.001, -4.0], [-inf, -inf, -900.0], [0.0, 1e-9, -1.0]])
    for draft, tokens in (([1, 2], [2]), ([2, 2], [2, 2, 1]), ([2, 0], [2, 2])):
        equal(emitted(student.greedy_verify(logits, torch.tensor(draft)), 2, 3), tokens, what=f"wrong tokens for the draft {draft}")


@checks("greedy_verify")
def test_logits_that_lie_in_columns(student, rng):
    """logits stored column by column give the same tokens"""
    logits = torch.randn(4, 6, generator=rng)
    best = logits.argmax(dim=-1)
    got = emitted(student.greedy_verify(in_columns(logits), best[:3]), 3, 6)
    equal(got, best.tolist(), what="wrong tokens for logits that are not contiguous")


@checks("greedy_verify")
def test_tokens_and_leads_as_they_are(student):
    """float64 logits that differ by a millionth of a millionth are not equal, nor are token ids that differ by 256"""
    logits = torch.tensor([[1.0, 1 + 1e-12, 0.0], [1.0, 0.0, 1 + 1e-12]], dtype=torch.float64)
    for draft, tokens in (([1], [1, 2]), ([0], [1])):
        got = emitted(student.greedy_verify(logits, torch.tensor(draft)), 1, 3)
        equal(got, tokens, what=f"wrong tokens for the draft {draft}, where float64 has a best one and float32 has not")
    logits = torch.zeros(2, 70_000)
    logits[0, 5], logits[1, 65_541] = 1.0, 1.0
    for guess in (261, 65_541, 5):
        got = emitted(student.greedy_verify(logits, torch.tensor([guess])), 1, 70_000)
        equal(got, [5, 65_541] if guess == 5 else [5], what=f"wrong tokens where {guess} is guessed and the best is 5")


# ---- acceptance_probs and residual_probs ---------------------------------------------------------------------------


@checks("acceptance_probs", weight=3)
def test_random_acceptance(student, rng):
    """random distributions with zeros: every token's acceptance is right, and the share of kept guesses is the overlap of p and q"""
    for shape in ((6,), (4, 6), (2, 3, 5)):
        p, q = laws(rng, *shape), laws(rng, *shape)
        want = [min(1.0, a / b) if b > 0 else 1.0 for a, b in zip(p.flatten().tolist(), q.flatten().tolist(), strict=True)]
        got = student.acceptance_probs(p, q, _unchanged=True)
        close(got, torch.tensor(want, dtype=torch.float64).view(shape), atol=1e-12, dtype=torch.float64)
        close(
            (q * got).sum(dim=-1),
            1 - (p - q).abs().sum(dim=-1) / 2,
            atol=1e-9,
            what="the probability of acceptance is not 1 minus the total variation",
        )


@checks("acceptance_probs")
def test_acceptance_of_tiny_numbers(student):
    """very small probabilities give no inf and no nan, and ratios as exact as those of large probabilities"""
    p = torch.tensor([1e-30, 1e-200, 1.0, 0.0, 3e-300, 1e-9], dtype=torch.float64)
    q = torch.tensor([4e-30, 1e-100, 1e-300, 1e-300, 1e-300, 2e-9], dtype=torch.float64)
    close(student.acceptance_probs(p, q), [0.25, 1e-100, 1.0, 0.0, 1.0, 0.5], atol=1e-12)
    zeros = torch.zeros(2, 3)
    got = student.acceptance_probs(zeros, zeros)
    close(got, torch.ones(2, 3), dtype=torch.float32, atol=1e-9)


@checks("acceptance_probs")
def test_acceptance_goes_entry_by_entry(student, rng):
    """a token's acceptance depends only on that token's p and q"""
    p, q = laws(rng, 3, 8, zeros=False), laws(rng, 3, 8, zeros=False)
    whole_row = student.acceptance_probs(p, q)
    parts = [student.acceptance_probs(p[:, i : i + 2], q[:, i : i + 2]) for i in range(0, 8, 2)]
    close(whole_row, torch.cat(parts, dim=1), atol=1e-12, what="two tokens by themselves have another acceptance than among eight")
    close(whole_row, torch.minimum(p, q) / q, atol=1e-12)


@checks("acceptance_probs")
def test_laws_that_lie_in_columns(student, rng):
    """p and q stored column by column give the same acceptance"""
    p, q = laws(rng, 4, 6), laws(rng, 4, 6)
    got = student.acceptance_probs(in_columns(p), in_columns(q))
    close(got, student.acceptance_probs(p, q), atol=1e-12, what="wrong acceptance probabilities if p and q are not contiguous")


@checks("residual_probs", weight=3)
def test_random_residuals(student, rng):
    """random distributions with zeros: kept tokens and replacements together have the distribution p"""
    for shape in ((6,), (5, 6), (2, 3, 5)):
        p, q = laws(rng, *shape), laws(rng, *shape)
        got = student.residual_probs(p, q, _unchanged=True)
        kept = torch.minimum(p, q)
        close(kept + (1 - kept.sum(dim=-1, keepdim=True)) * got, p, atol=1e-9, dtype=torch.float64, what="kept and replaced are not p")
        lost = (p - q).abs().sum(dim=-1) > 0
        if lost.any():
            equal((got[lost] > 0).long(), (p[lost] > q[lost]).long(), what="wrong tokens have more than 0 (1: more than 0)")
        close(got.sum(dim=-1), torch.ones(shape[:-1]), atol=1e-9, what="the rows do not sum to 1")


@checks("residual_probs")
def test_hardly_anything_is_lacking(student):
    """p and q differ by only 2^-40: the residual is renormalised like any other"""
    e = 2.0**-40
    p, q = (
        torch.tensor([[0.25 + e, 0.25 - e, 0.5 + e, 0.0 + 0]], dtype=torch.float64),
        torch.tensor([[0.25, 0.25, 0.5, 0.0]], dtype=torch.float64),
    )
    close(student.residual_probs(p, q), [[0.5, 0.0, 0.5, 0.0]], atol=1e-6)


@checks("residual_probs")
def test_residuals_of_rows_alone(student, rng):
    """a row's residual is the same in a batch as alone, also for a row in which p is nowhere above q"""
    p, q = laws(rng, 6, 5), laws(rng, 6, 5)
    q[2], q[4] = p[2], p[4] * (1 + 2.0**-20)  # 0 stays 0, and nothing of p is above q
    for dtype in (torch.float32, torch.float64):
        got = student.residual_probs(p.to(dtype), q.to(dtype))
        alone = [student.residual_probs(a.to(dtype), b.to(dtype)) for a, b in zip(p, q, strict=True)]
        close(got, torch.stack(alone), atol=1e-6, dtype=dtype, what="the rows together are not the rows alone")
        close(got[[2, 4]], p[[2, 4]], atol=1e-6, what="a row in which nothing is lacking is not p")


# ---- verify_sampled ------------------------------------------------------------------------------------------------


@checks("verify_sampled", weight=3)
def test_the_law_of_random_chains(student, rng):
    """random p and q with zeros: over all values of u, the tokens have the model's distribution"""
    for vocab, k in ((2, 3), (3, 2), (5, 1), (4, 0)):
        p, q = laws(rng, vocab + 1, vocab).tolist(), laws(rng, vocab + 1, vocab).tolist()
        lengths = has_the_law(student, p, q, k, what=f"the next {k + 1} tokens, of {vocab} different ones,")
        close(torch.tensor(sum(lengths)), 1.0, atol=1e-6)


@checks("verify_sampled", weight=2)
def test_random_rounds(student, rng):
    """random p, q and u: the right guesses are kept, and the last token is drawn from the right row with the last u"""
    for _ in range(25):
        k, V = integer(rng, 0, 5), integer(rng, 2, 6)
        p, q = laws(rng, k + 1, V, zeros=False), laws(rng, k, V, zeros=False) if k else torch.empty(0, V, dtype=torch.float64)
        draft, u = torch.randint(V, (k,), generator=rng), torch.rand(k + 1, generator=rng, dtype=torch.float64)
        want, last = [], p[k]
        for i, token in enumerate(draft.tolist()):
            if not float(u[i]) < float(p[i, token] / q[i, token]):
                last = (p[i] - q[i]).clamp(min=0)
                break
            want.append(token)
        want.append(int((last.cumsum(dim=0) / last.sum() <= u[k]).sum()))
        got = emitted(student.verify_sampled(p, q, draft, u, _unchanged=True), k, V)
        equal(got, want, what=f"wrong tokens for a draft of {k} among {V} tokens")


@checks("verify_sampled")
def test_certain_drafts(student, rng):
    """q has all probability on the guess: the guess is kept with its probability in p, or replaced by another token"""
    p = laws(rng, 3, 5, zeros=False)
    draft = torch.randint(5, (2,), generator=rng)
    q = torch.nn.functional.one_hot(draft, 5).double()
    first, second = (float(p[i, draft[i]]) for i in range(2))
    for u, n in (((first - 0.01, second - 0.01, 0.5), 3), ((first - 0.01, second + 0.01, 0.5), 2), ((first + 0.01, 0.0, 0.5), 1)):
        got = emitted(student.verify_sampled(p, q, draft, torch.tensor(u, dtype=torch.float64)), 2, 5)
        equal(len(got), n, what="wrong number of tokens for a deterministic draft")
        equal(got[: n - 1], draft.tolist()[: n - 1], what="wrong tokens are kept of a deterministic draft")
        if n < 3:
            that(got[-1] != int(draft[n - 1]), "a token was refused, and replaced by itself", got=got)


@checks("verify_sampled")
def test_rounds_in_float32(student, rng):
    """float32, with vocabularies of 2,000 and 69,000 tokens and with a draft of 310: the right guesses are kept"""
    p, q = (torch.randn(5, 2000, generator=rng).softmax(dim=-1) for _ in range(2))
    q = q[:4]
    draft = q.argmax(dim=-1)
    accepted = [float(min(1.0, p[i, t] / q[i, t])) for i, t in enumerate(draft.tolist())]
    for n in range(5):
        u = torch.tensor([a * 0.9 for a in accepted[:n]] + [min(0.999, a * 1.1 + 1e-3) for a in accepted[n:]] + [0.5])
        if n < 4 and accepted[n] > 0.9:
            continue
        got = emitted(student.verify_sampled(p, q, draft, u), 4, 2000)
        equal(len(got), n + 1, what="wrong number of tokens")
        equal(got[:n], draft.tolist()[:n], what="wrong tokens are kept")
        if n < 4:
            that(
                float(p[n, got[-1]] - q[n, got[-1]]) > 0,
                "a token was replaced by one that is not more probable in the model than in the draft",
                got=got[-1],
            )
    p, q = torch.zeros(2, 69_000), torch.zeros(1, 69_000)
    p[0, [50_000, 66_500]], p[1, 35_000], q[0, [33_000, 50_000]] = torch.tensor([0.5, 0.5]), 1.0, torch.tensor([0.5, 0.5])
    for guess, tokens in ((50_000, [50_000, 35_000]), (33_000, [66_500])):
        got = emitted(student.verify_sampled(p, q, torch.tensor([guess]), torch.tensor([0.75, 0.5])), 1, 69_000)
        equal(got, tokens, what=f"wrong tokens of 69,000, with the draft [{guess}]")
    p = torch.eye(3)[torch.arange(311) % 3]
    got = emitted(student.verify_sampled(p, p[:310].clone(), torch.arange(310) % 3, torch.full((311,), 0.5)), 310, 3)
    equal(got, [i % 3 for i in range(311)], what="wrong tokens for a draft of 310 that is right")


@checks("verify_sampled")
def test_rounds_in_columns(student, rng):
    """p and q stored column by column give the same tokens"""
    p, q = laws(rng, 4, 6, zeros=False), laws(rng, 3, 6, zeros=False)
    draft, u = torch.randint(6, (3,), generator=rng), torch.rand(4, generator=rng, dtype=torch.float64)
    got = emitted(student.verify_sampled(in_columns(p), in_columns(q), draft, u), 3, 6)
    equal(got, emitted(student.verify_sampled(p, q, draft, u), 3, 6), what="wrong tokens if p and q are not contiguous")


@checks("verify_sampled")
def test_borders_of_a_draw(student):
    """u very near a border decides exactly in float64; u above the rounded sum of p draws the last token with probability above 0"""
    p, q = (torch.tensor(rows, dtype=torch.float64) for rows in ([[0.3, 0.7], [1.0, 0.0]], [[0.7, 0.3]]))
    edge = float(p[0, 0] / q[0, 0])
    for at, want in ((edge - 1e-12, [0, 0]), (edge + 1e-12, [1])):
        u = torch.tensor([at, 0.25], dtype=torch.float64)
        got = emitted(student.verify_sampled(p, q, torch.tensor([0]), u), 1, 2)
        equal(got, want, what=f"wrong tokens where u is {at - edge:+.0e} beside the probability to keep the guess")
    for off, want in ((-1e-12, 0), (1e-12, 1)):
        u = torch.tensor([0.3 + off], dtype=torch.float64)
        got = emitted(student.verify_sampled(p[:1], q[:0], torch.empty(0, dtype=torch.int64), u), 0, 2)
        equal(got, [want], what=f"wrong token of an empty draft where u is {off:+.0e} beside the first probability")
    u = torch.tensor([1 - 2.0**-24])
    short = torch.tensor([[0.5, 0.25, 0.25 - 2.0**-23, 0.0]])  # its sum in float32 is 1 - 2^-23
    got = emitted(student.verify_sampled(short, torch.empty(0, 4), torch.empty(0, dtype=torch.int64), u), 0, 4)
    equal(got, [2], what="wrong token where the sum of p ends below u: the last one that has more than 0 is expected")


# ---- expected_tokens and speedup -----------------------------------------------------------------------------------


@checks("expected_tokens", weight=2)
def test_random_expectations(student, rng):
    """random alpha and k: the expected number of tokens is right, as a float"""
    for _ in range(30):
        alpha, k = float(torch.rand((), generator=rng)) * 0.98, integer(rng, 0, 12)
        want, chance = 1.0, 1.0
        for _ in range(k):
            chance *= alpha
            want += chance
        got = student.expected_tokens(alpha, k)
        that(isinstance(got, float), "the result is not a float", got=type(got).__name__)
        close(got, want, atol=1e-9, what=f"wrong for alpha {alpha} and k {k}")


@checks("expected_tokens")
def test_ends_of_the_range(student):
    """alpha 0 and 1, also as integers, alpha close to 1, k 0 and a very large k: the result is right, as a float"""
    nearly = sum(0.9999**i for i in range(501))  # 487.8 where k + 1 is 501
    few = ((0.0, 0, 1.0), (0, 5, 1.0), (1, 5, 6.0), (1.0, 0, 1.0), (0.25, 0, 1.0), (0.25, 1, 1.25))
    for alpha, k, want in (*few, (0.9999, 500, nearly), (0.5, 20_000, 2.0), (1.0, 20_000, 20_001.0)):
        got = student.expected_tokens(alpha, k)
        close(float(got), want, atol=1e-12, rtol=1e-9, what=f"wrong for alpha {alpha} and k {k}")
        that(isinstance(got, float), f"the result for alpha {alpha} and k {k} is not a float", got=type(got).__name__)


@checks("expected_tokens")
def test_refused_shares(student, rng):
    """alpha just outside or far outside [0, 1], alpha nan or a negative k: ValueError"""
    for alpha, k, naming in ((1.0001, 2, 1.0001), (-1e-3, 2, -0.001), (7.5, 0, 7.5), (0.0, -1, -1), (0.75, -9, -9)):
        raises(ValueError, lambda alpha=alpha, k=k: student.expected_tokens(alpha, k), naming=naming)
    raises(ValueError, lambda: student.expected_tokens(float("nan"), 0))


@checks("speedup", weight=2)
def test_random_speedups(student, rng):
    """random settings: the speedup is the expected tokens of a pass divided by the time of the pass and its draft"""
    for _ in range(30):
        alpha, cost_ratio = (float(x) for x in torch.rand(2, generator=rng) * 0.98)
        k = integer(rng, 0, 10)
        want = sum(alpha**i for i in range(k + 1)) / (1 + k * cost_ratio)
        close(student.speedup(alpha, k, cost_ratio), want, atol=1e-9, what=f"wrong for alpha {alpha}, k {k}, cost ratio {cost_ratio}")


@checks("speedup")
def test_when_it_pays(student):
    """some k gives a speedup above 1 if, and only if, alpha exceeds the cost ratio; alpha 1 and cost ratios above 1 are valid"""
    for alpha in (0.1, 0.45, 0.8):
        for cost_ratio in (0.05, 0.3, 0.6, 0.95):
            best = max(float(student.speedup(alpha, k, cost_ratio)) for k in range(1, 9))
            equal(
                best > 1,
                alpha > cost_ratio,
                what=f"wrong speedup: whether some k pays off at alpha {alpha} and a cost ratio of {cost_ratio}",
            )
    close(student.speedup(1.0, 9, 0.5), 10 / 5.5, atol=1e-9, what="wrong at alpha 1")
    close(student.speedup(0.5, 2, 1.5), 1.75 / 4, atol=1e-9, what="wrong for a draft that is more expensive than the model")


@checks("speedup")
def test_refused_speedups(student):
    """alpha outside [0, 1], alpha nan or a negative k: ValueError, as in expected_tokens"""
    for alpha, k, naming in ((1.01, 2, 1.01), (-3.5, 2, -3.5), (0.75, -4, -4), (2.25, 0, 2.25), (-0.01, 0, -0.01)):
        raises(ValueError, lambda alpha=alpha, k=k: student.speedup(alpha, k, 0.0), naming=naming)
    for k in (1, 0):
        raises(ValueError, lambda k=k: student.speedup(float("nan"), k, 0.5))


# ---- truncate ------------------------------------------------------------------------------------------------------


@checks("truncate", weight=3)
def test_random_cuts(student, rng):
    """random appends and cuts: every layer returns the tokens that were not cut, in order"""
    for layers in (1, 2, 4, 70):
        config = small_config(num_hidden_layers=layers)
        cache = student.KVCache(config, 1, 24, torch.float64)
        held = torch.empty(1, config.num_key_value_heads, 0, config.head_dim, dtype=torch.float64)
        for _ in range(7):
            new = torch.randn(1, config.num_key_value_heads, integer(rng, 1, 4), config.head_dim, generator=rng, dtype=torch.float64)
            if held.shape[2] + new.shape[2] <= 24:
                held = torch.cat((held, new), dim=2)
                for layer in range(layers):
                    keys, values = cache.append(layer, new * (layer + 1), new - layer)
                    equal(
                        keys,
                        torch.cat((held[:, :, : -new.shape[2]] * (layer + 1), new * (layer + 1)), dim=2),
                        what=f"wrong keys of layer {layer}",
                    )
                    equal(values, held - layer, what=f"wrong values of layer {layer}")
            length = integer(rng, 0, held.shape[2])
            student.truncate(cache, length)
            held = held[:, :, :length]
            equal(cache.length, length, what="wrong length")


@checks("truncate", weight=2)
def test_logits_behind_a_cut(student, rng):
    """refused guesses that were cut leave no trace: later logits are the logits of the remaining text"""
    model, kit = small(student, rng, vocab_size=17, num_hidden_layers=3)
    text = torch.randint(17, (1, 12), generator=rng)
    cache = student.KVCache(kit.config, 1, 16, torch.float64)
    student.forward_cached(model, torch.cat((text[:, :6], torch.randint(17, (1, 5), generator=rng)), dim=1), cache)
    student.truncate(cache, 6)
    got = student.forward_cached(model, text[:, 6:], cache)
    close(got, kit(text)[:, 6:], atol=1e-6, what="wrong logits after a cut")
    student.truncate(cache, 11)
    close(student.forward_cached(model, text[:, 11:], cache), kit(text)[:, 11:], atol=1e-6, what="wrong logits after a second cut")


@checks("truncate")
def test_refused_cuts(student, rng):
    """a length below 0 or above cache.length: ValueError, also for an empty cache; a cache that was cut does not grow back"""
    config = small_config()
    cache = student.KVCache(config, 1, 8)
    for length in (-1, 1, 8):
        raises(ValueError, lambda length=length: student.truncate(cache, length), naming=length)
    new = torch.randn(1, config.num_key_value_heads, 6, config.head_dim, generator=rng)
    for layer in range(config.num_hidden_layers):
        cache.append(layer, new, new)
    student.truncate(cache, 2)
    for length in (3, 6, -2):
        raises(ValueError, lambda length=length: student.truncate(cache, length), naming=length)
    equal(cache.length, 2, what="wrong length after refused calls")
    for layer in range(config.num_hidden_layers):
        keys, _ = cache.append(layer, new, new)
        equal(keys, torch.cat((new[:, :, :2], new), dim=2), what=f"wrong keys of layer {layer} after refused calls")


@checks("truncate")
def test_layers_that_hold_unequal_numbers(student, rng):
    """the first layer holds more tokens than the last: cache.length is the limit, and all layers are cut to the same length"""
    config = small_config(num_hidden_layers=2)
    cache = student.KVCache(config, 1, 8)
    new = torch.randn(1, config.num_key_value_heads, 5, config.head_dim, generator=rng)
    cache.append(0, new, new)
    cache.append(1, new[:, :, :3], new[:, :, :3])
    for length in (4, 5):
        raises(ValueError, lambda length=length: student.truncate(cache, length), naming=length)
    student.truncate(cache, 2)
    for layer in range(2):
        keys, values = cache.append(layer, new[:, :, 4:], new[:, :, 4:])
        for got in (keys, values):
            equal(got, new[:, :, [0, 1, 4]], what=f"layer {layer} held another number than 2")


@checks("truncate")
def test_caches_apart(student, rng):
    """two of three caches are cut: every cache keeps its own length"""
    config = small_config()
    caches = [student.KVCache(config, 1, 8) for _ in range(3)]
    new = torch.randn(1, config.num_key_value_heads, 6, config.head_dim, generator=rng)
    for cache in caches:
        for layer in range(config.num_hidden_layers):
            cache.append(layer, new, new)
    for cache, length in zip(caches, (4, 1), strict=False):
        student.truncate(cache, length)
    equal([cache.length for cache in caches], [4, 1, 6], what="wrong lengths of three caches")
    for layer in range(config.num_hidden_layers):
        keys, _ = caches[1].append(layer, new[:, :, :2], new[:, :, :2])
        equal(keys, new[:, :, [0, 0, 1]], what=f"wrong keys of layer {layer}")
    equal([cache.length for cache in caches], [4, 3, 6], what="wrong lengths of three caches, of which one has grown")


# ---- generate_speculative ------------------------------------------------------------------------------------------


@checks("generate_speculative", weight=3)
def test_random_drafts_of_random_models(student, rng):
    """the ladder: greedy decoding of random models gives the tokens of the loop without a cache, for any draft and block_size"""
    for layers, block_size in ((1, ROOMY), (2, 14), (3, 7), (2, 5)):
        model, kit = small(student, rng, vocab_size=11, num_hidden_layers=layers)
        idx = torch.randint(11, (1, integer(rng, 1, 9)), generator=rng)
        limit = integer(rng, 9, 16)
        want = unrolled(kit, idx, limit, block_size)[0].tolist()
        text = idx[0].tolist() + want
        for draft in (
            Oracle(text=text, vocab=11, off=integer(rng, 1, 10), right=integer(rng, 0, 4)),
            Drawn(chain=laws(rng, 11, 11).tolist(), generator=rng, some=True),
            Drawn(chain=laws(rng, 11, 11).tolist(), generator=rng, some=True, certain=True),
            Lookup(),
        ):
            k = integer(rng, 1, 6)
            options = {"max_new_tokens": limit, "block_size": block_size, "temperature": 0.0}
            new = speculated(student, model, idx, draft=draft, k=k, **options)
            equal(new, want, what=f"other tokens with block_size {block_size} and k {k} after {idx.shape[1]} tokens")
            asked_as_it_should(draft, idx, new, k, limit, block_size)


@checks("generate_speculative", weight=2)
def test_random_drafts_of_one_choice(student, rng):
    """drawn with top_k 1: the greedy text of random models, up to the EOS, with any draft"""
    for layers, block_size in ((1, ROOMY), (3, 12)):
        model, kit = small(student, rng, vocab_size=13, num_hidden_layers=layers)
        idx = torch.randint(13, (1, integer(rng, 1, 6)), generator=rng)
        free = unrolled(kit, idx, 13, block_size)[0].tolist()
        for eos in (None, free[integer(rng, 2, 9)]):
            want = free[: free.index(eos) + 1] if eos is not None else free
            text = idx[0].tolist() + free
            for draft in (
                Oracle(text=text, vocab=13, off=integer(rng, 1, 12), right=integer(rng, 0, 5)),
                Drawn(chain=laws(rng, 13, 13, zeros=False).tolist(), generator=rng, some=True),
            ):
                k, temperature = integer(rng, 1, 6), 0.5 + float(torch.rand((), generator=rng))
                options = {"max_new_tokens": 13, "block_size": block_size, "temperature": temperature, "top_k": 1, "eos_token_id": eos}
                new = speculated(student, model, idx, draft=draft, k=k, **options)
                equal(new, want, what=f"other tokens with block_size {block_size}, k {k} and EOS {eos} after {idx.shape[1]} tokens")
                asked_as_it_should(draft, idx, new, k, 13, block_size)


@checks("generate_speculative", weight=2)
def test_random_ends(student, rng):
    """whichever token is EOS, and however many guesses are right, the text ends with the first EOS"""
    model, kit = small(student, rng, vocab_size=40)
    idx = torch.randint(40, (1, 4), generator=rng)
    free = unrolled(kit, idx, 12, ROOMY)[0].tolist()
    text = idx[0].tolist() + free
    for eos in [*dict.fromkeys(free), next(v for v in range(40) if v not in free)]:
        want = free[: free.index(eos) + 1] if eos in free else free
        draft = Oracle(text=text, vocab=40, off=1, right=integer(rng, 0, 5))
        options = {"max_new_tokens": 12, "block_size": ROOMY, "temperature": 0.0, "eos_token_id": eos}
        new = speculated(student, model, idx, draft=draft, k=integer(rng, 1, 6), **options)
        equal(new, want, what=f"wrong tokens with EOS {eos}, which is token {len(want)} of the text")


@checks("generate_speculative")
def test_the_end_of_drawn_text(student):
    """drawn, with EOS among guesses that are kept: the text ends with the EOS"""
    model, idx = sure_after(student, [1, 2, 3, 0]), torch.tensor([[1, 0, 1]])
    text = [1, 0, 1, *[2, 3, 0, 1] * 4]
    for k in (1, 2, 4):
        for eos, want in ((0, [2, 3, 0]), (3, [2, 3]), (2, [2]), (1, [2, 3, 0, 1])):
            draft = Oracle(text=text, vocab=4)
            new = speculated(student, model, idx, draft=draft, k=k, max_new_tokens=9, block_size=ROOMY, eos_token_id=eos)
            equal(new, want, what=f"wrong tokens with EOS {eos} and k {k}")


@checks("generate_speculative")
def test_a_wrong_guess_of_the_end(student):
    """the draft guesses EOS, and the model chooses another token: the text goes on"""
    model, idx = sure_after(student, [1, 2, 3, 0, 4]), torch.tensor([[0]])

    def always_the_end(ids, k):
        return [4] * k, None

    got = speculated(student, model, idx, draft=always_the_end, max_new_tokens=7, block_size=ROOMY, temperature=0.0, eos_token_id=4)
    equal(got, [1, 2, 3, 0, 1, 2, 3], what="wrong tokens where the guessed EOS is wrong")


@checks("generate_speculative", weight=2)
def test_work_of_random_drafts(student, rng):
    """work: a round takes one pass over the newest token and the guesses; nothing before them is computed again"""
    idx = torch.randint(3, 1000, (1, integer(rng, 20, 40)), generator=rng)
    limit, k, right = 20, integer(rng, 3, 7), integer(rng, 1, 3)
    text = idx[0].tolist() + unrolled(whole(), idx, limit, ROOMY)[0].tolist()
    draft = Oracle(text=text, vocab=1024, off=1, right=right)
    with student.counting(fast_bytes=100_000) as work:
        new = speculated(student, student.model("tiny"), idx, draft=draft, max_new_tokens=limit, block_size=ROOMY, k=k, temperature=0.0)
    equal(new, text[idx.shape[1] :], what="other tokens")
    rounds = -(-(limit - 1) // (right + 1))  # every round but the last makes right + 1 tokens
    positions = idx.shape[1] + rounds + sum(draft.given)
    between(work.positions, positions - 1, positions, "positions")
    weights = whole(torch.float32).weights
    large = sum(t.nbytes for t in (weights.lm_head, *(t for layer in weights.layers for t in vars(layer).values())) if t.nbytes > 100_000)
    between(work.slow_bytes, rounds * large, 1.6 * (rounds + 1) * large, "bytes that are read")


@checks("generate_speculative", weight=2)
def test_work_of_drawing(student, reference, rng):
    """work: drawing takes one pass a round, and refused guesses are forgotten without a copy of the cache"""
    T, limit, model = 60, 10, whole()
    idx = torch.randint(3, 1000, (1, T), generator=rng)
    text = idx[0].tolist() + unrolled(model, idx, limit, ROOMY)[0].tolist()
    options = {"max_new_tokens": limit, "block_size": T + limit + 8, "k": 3, "top_k": 1}
    draft, same = (Oracle(text=text, vocab=1024, off=1, right=1) for _ in range(2))
    with student.counting(fast_bytes=250_000) as work:
        new = speculated(student, student.model("tiny", dtype=torch.float64), idx, draft=draft, **options)
    equal(new, text[T:], what="other tokens")
    equal(len(draft.asked), 4, what="wrong number of rounds with guesses")
    passes = 6  # the prefill, four rounds of two tokens, and one for the last
    positions = T + passes - 1 + sum(draft.given)
    between(work.positions, positions - 1, positions, "positions")
    weights = [model.weights.lm_head, *(t for layer in model.weights.layers for t in vars(layer).values())]
    large = sum(t.nbytes for t in weights if t.nbytes > 250_000)
    between(work.slow_bytes, (passes - 1) * large, 1.6 * passes * large, "bytes that are read")
    with counting() as due:
        reference.generate_speculative(model.weights_only(), idx, draft=same, **options)
    copies = len(draft.asked) * reference.KVCache(model.config, 1, T, torch.float64).nbytes
    that(
        work.written_bytes <= due.written_bytes + copies / 2,
        "too many bytes are written",
        expected=f"{due.written_bytes + copies / 2:,.0f} at the most: what the passes write, and half a copy of the cache a round",
        got=f"{work.written_bytes:,}",
    )


@checks("generate_speculative")
def test_tokens_without_guesses_are_drawn(student, rng):
    """drawn with top_k: the first token, tokens without guesses and tokens past block_size have the filtered distribution"""
    # Three tokens are equally probable: 24 draws are all the same with a probability of 3 ** -23 < 2e-11. Then as in `frequencies`.
    model, generator = believing(student, [[1.0, 1.0, 1.0, 0.0, 0.5]] * 5), student.generator(integer(rng, 0, 2**31 - 1))
    options = {"max_new_tokens": 1, "block_size": ROOMY, "top_k": 3, "generator": generator}
    first = [speculated(student, model, torch.tensor([[4]]), draft=Books(), **options)[0] for _ in range(24)]
    that(
        set(first) <= {0, 1, 2},
        "the first token is not from the filtered distribution: one of three tokens was expected",
        got=sorted(set(first)),
    )
    that(len(set(first)) > 1, "the first token is always the same, and should be drawn", got=f"24 times {first[0]}")
    model, idx = believer(student), torch.tensor([[3]])
    law = [filtered_law(row, 1.0, 2, None) for row in torch.tensor(BELIEVED).log().tolist()]
    for draft, block_size in ((Books(), 1024), (Drawn(chain=GUESSED, generator=rng), 5)):
        options = {"max_new_tokens": 75, "block_size": block_size, "top_k": 2, "generator": generator}
        new = speculated(student, model, idx, draft=draft, **options)
        equal(len(new), 75, what="wrong number of new tokens")
        follows(new, 3, law, under=f", with block_size {block_size}")


@checks("generate_speculative")
def test_the_token_behind_all_guesses(student, rng):
    """drawn with one guess a round, from the model's own distribution: guesses and extra tokens have that distribution"""
    # False alarm: at most 1e-10 (see `frequencies`).
    model, idx, draft = believer(student), torch.tensor([[0]]), Drawn(chain=BELIEVED, generator=rng)
    generator = student.generator(integer(rng, 0, 2**31 - 1))
    new = speculated(student, model, idx, draft=draft, k=1, max_new_tokens=240, block_size=1024, generator=generator)
    equal(len(new), 240, what="wrong number of new tokens")
    follows(new, 0, BELIEVED, under=", with k 1 and a draft with the model's own distribution")


@checks("generate_speculative", weight=2)
def test_drawn_under_settings(student, rng):
    """drawn with temperature, top_k or top_p, from an unfiltered draft: the tokens have the filtered model's distribution"""
    # False alarm: at most 1e-10 for each setting (see `frequencies`).
    model, idx = believer(student), torch.tensor([[2]])
    believed = torch.tensor(BELIEVED, dtype=torch.float64).log()
    for options in ({"temperature": 0.25}, {"top_k": 2}, {"temperature": 1.5, "top_p": 0.75}):
        law = [filtered_law(row, options.get("temperature", 1.0), options.get("top_k"), options.get("top_p")) for row in believed.tolist()]
        draft = Drawn(chain=GUESSED, generator=rng, some=True)
        generator = student.generator(integer(rng, 0, 2**31 - 1))
        new = speculated(student, model, idx, draft=draft, k=2, max_new_tokens=130, block_size=1024, generator=generator, **options)
        equal(len(new), 130, what="wrong number of new tokens")
        follows(new, 2, law, under=f", with {options}")


@checks("generate_speculative")
def test_random_numbers_of_a_run(student, rng):
    """draws come from the generator, or from torch's global state if there is no generator; other seeds give other texts"""
    # Two unrelated runs of 40 tokens agree with probability 0.45 ** 40 < 1e-13 at the most.
    model, idx = believer(student), torch.tensor([[1]])
    options = {"max_new_tokens": 40, "block_size": ROOMY, "k": 3}

    def run(**more):
        draft = Drawn(chain=GUESSED, generator=torch.Generator().manual_seed(3))
        return student.generate_speculative(model, idx, draft=draft, **options, **more)

    unseeded = [run() for _ in range(2)]
    that(not torch.equal(*unseeded), "two runs without a generator gave the same tokens")
    draws_from_the_global_state(run)
    seed = integer(rng, 0, 2**31 - 2)
    first, again, other = (run(generator=student.generator(s), _rng_unchanged=True) for s in (seed, seed, seed + 1))
    equal(again, first, what="two generators in the same state gave different tokens")
    that(not torch.equal(first, other), "two generators in different states gave the same 40 tokens")


@checks("generate_speculative")
def test_defaults_of_speculation(student):
    """the defaults are k 4, temperature 1.0, no filter and no EOS"""
    model, idx = believer(student), torch.tensor([[1]])
    given = {"k": 4, "temperature": 1.0, "top_k": None, "top_p": None, "eos_token_id": None}
    texts = []
    for options in ({}, given):
        draft = Drawn(chain=BELIEVED, generator=torch.Generator().manual_seed(5))
        generator = student.generator(11)
        texts.append(speculated(student, model, idx, draft=draft, max_new_tokens=90, block_size=ROOMY, generator=generator, **options))
        equal(max(k for _, k in draft.asked), 4, what="wrong number of tokens asked of the draft")
    equal(texts[0], texts[1], what="leaving the settings out gives other tokens than passing their defaults")
    equal(len(texts[0]), 90, what="wrong number of new tokens")


@checks("generate_speculative")
def test_refused_settings_of_a_run(student):
    """an invalid temperature, top_k or top_p: ValueError that names the value, greedy or drawn"""
    idx = torch.ones(1, 2, dtype=torch.int64)
    for options, naming in (({"temperature": -2.0}, -2.0), ({"temperature": 0.0, "top_k": 0}, 0), ({"top_p": 1.5}, 1.5)):
        raises(
            ValueError,
            lambda options=options: student.generate_speculative(
                student.model("tiny"), idx, draft=lambda ids, k: ([], None), max_new_tokens=2, block_size=ROOMY, **options
            ),
            naming=naming,
        )


@checks("generate_speculative")
def test_half_precision_model(student):
    """a model in bfloat16 and q in float32: as many tokens as asked for, drawn and greedy"""
    model, idx = student.model("tiny", dtype=torch.bfloat16), tiny_ids(PROMPTS[2])
    options = {"max_new_tokens": 10, "block_size": ROOMY}

    def unsure(ids, k):
        return [5] * k, torch.full((k, 1024), 1 / 1024)

    new = speculated(student, model, idx, draft=unsure, generator=student.generator(1), **options)
    equal(len(new), 10, what="wrong number of new tokens")
    new = speculated(student, model, idx, draft=unsure, temperature=0.0, **options)
    equal(len(new), 10, what="wrong number of greedy tokens")


@checks("generate_speculative")
def test_what_replaces_has_a_number_of_its_own(student, rng):
    """drawn: a refused guess is replaced with a new random number, so that the tokens have the model's distribution"""
    # False alarm: at most 1e-10 (see `frequencies`).
    law = [[0.5, 0.25, 0.25]] * 3
    model, generator = believing(student, torch.tensor(law).log().tolist()), student.generator(integer(rng, 0, 2**31 - 1))
    for k in (1, 3):

        def first_again(ids, k):
            return [0] * k, None

        options = {"k": k, "max_new_tokens": 200, "block_size": 1024, "generator": generator}
        new = speculated(student, model, torch.tensor([[0]]), draft=first_again, **options)
        equal(len(new), 200, what="wrong number of new tokens")
        frequencies(torch.tensor(new), law[0], under=f", with a draft that is certain of token 0 and k {k}")


@checks("generate_speculative")
def test_work_with_few_guesses_and_a_full_window(student):
    """work: no extra position if the draft gives fewer guesses than asked for, or if the window is full but has not slid"""
    model, idx = student.model("tiny"), tiny_ids(PROMPTS[0])
    T, limit = idx.shape[1], 12
    text = idx[0].tolist() + unrolled(whole(), idx, limit, ROOMY)[0].tolist()
    given = []

    def one_wrong(ids, k):
        given.append(1)
        return [(text[len(ids)] + 1) % 1024], None

    with student.counting() as work:
        new = speculated(student, model, idx, draft=one_wrong, max_new_tokens=limit, block_size=ROOMY, temperature=0.0)
    equal(new, text[T:], what="other tokens")
    positions = T + limit - 1 + len(given)
    between(work.positions, positions, positions, "positions, with one guess where four were asked for")
    with student.counting() as work:
        new = speculated(student, model, idx, draft=Books(), max_new_tokens=5, block_size=T + 4, temperature=0.0)
    equal(new, text[T : T + 5], what="other tokens")
    between(work.positions, T + 4, T + 4, "positions, where the last pass reads a window that is just full")


@checks("generate_speculative")
def test_every_guess_is_looked_at(student):
    """the first, the last or the only guess is outside the vocabulary: ValueError that names the guess"""
    model, idx = sure_after(student, [1, 2, 3, 0]), torch.tensor([[3]])
    for tokens, naming in (([-1], -1), ([4, 2, 3], 4), ([-4, 2], -4), ([1, 2, 3, -3], -3), ([70_000, 2], 70_000)):
        raises(
            ValueError,
            lambda tokens=tokens: student.generate_speculative(
                model, idx, draft=lambda ids, k: (tokens[:k], None), max_new_tokens=9, block_size=ROOMY, temperature=0.0
            ),
            naming=naming,
        )


@checks("generate_speculative")
def test_a_run_of_many_rounds(student, rng):
    """a draft that seldom guesses is asked in all of 330 rounds; an always guessed token keeps probability 0.4; temperatures may be low"""
    model, text = sure_after(student, [1, 2, 0]), [0, *[1, 2, 0] * 130]
    asked = []

    def seldom(ids, k):
        asked.append(len(ids))
        return ([] if len(asked) % 50 else text[len(ids) : len(ids) + 1]), None

    new = speculated(student, model, torch.tensor([[0]]), draft=seldom, max_new_tokens=337, block_size=1024, temperature=0.0)
    equal(new, text[1:338], what="other tokens in a run of many rounds")
    that(len(asked) >= 300, "the draft is not asked in every round", expected="about 330 times", got=counted(len(asked), "time"))
    # False alarm: at most 1e-10 (see `frequencies`).
    model = believing(student, [[float(torch.tensor(599 * 0.4 / 0.6).log())] + [0.0] * 599] * 600)
    options = {"k": 2, "max_new_tokens": 120, "block_size": ROOMY, "generator": student.generator(integer(rng, 0, 2**31 - 1))}
    new = speculated(student, model, torch.tensor([[5]]), draft=lambda ids, k: ([0] * k, None), **options)
    frequencies(torch.tensor([int(token == 0) for token in new]), [0.6, 0.4], under=", where q is None (1: the guessed token)")
    # At temperature 0.08 two tokens have 0.56 and 0.44: one is missing among 80 with a probability below 1e-19.
    level = believing(student, [[0.02, 0.0]] * 2)
    options = {"temperature": 0.08, "generator": student.generator(integer(rng, 0, 2**31 - 1))}
    new = speculated(student, level, torch.tensor([[0]]), draft=lambda ids, k: ([0], None), max_new_tokens=80, block_size=ROOMY, **options)
    equal(sorted(set(new)), [0, 1], what="wrong tokens at temperature 0.08, where two logits differ by 0.02")


@checks("generate_speculative")
def test_the_end_is_what_the_caller_says(student, rng):
    """the model's config names an EOS, and the caller does not: the text goes on after that token"""
    _, kit = small(student, rng, vocab_size=40)
    idx = torch.randint(40, (1, 4), generator=rng)
    free = unrolled(kit, idx, 10, ROOMY)[0].tolist()
    model = student.WeightsOnly(replace(kit.config, eos_token_id=free[3]), kit.weights, None)
    draft = Oracle(text=idx[0].tolist() + free, vocab=40, off=1, right=2)
    got = speculated(student, model, idx, draft=draft, max_new_tokens=10, block_size=ROOMY, temperature=0.0)
    equal(got, free, what="wrong tokens if the config has an EOS")
