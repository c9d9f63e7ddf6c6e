"""Visible checks of speculative decoding."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.base.wording import counted
from autograder.checking.checks.test_generation import frequencies
from autograder.checking.checks.test_kv_cache import best_of_all, random_prompt
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
    replaced_by_another,
    speculated,
    without_rollback,
)
from autograder.checking.helpers.randomness import draws_from_the_global_state
from autograder.checking.helpers.work_bounds import between, gradient_mode_stays, gradients_stay_on
from autograder.sandbox.protocol.worker_errors import StudentRaised


def float64(values):
    return torch.tensor(values, dtype=torch.float64)


def int64(values):
    return torch.tensor(values, dtype=torch.int64)


def in_columns(rows):
    """The same numbers, stored column by column."""
    return rows.mT.contiguous().mT


# ---- filtered_probs ------------------------------------------------------------------------------------------------


@checks("filtered_probs", weight=2)
def test_filters_by_hand(student, hand):
    """temperature, top-k, top-p, and top-k before top-p; tied logits are all kept; top_k may exceed the vocabulary"""
    case = hand["filtered"]
    logits = float64([case["tenths"]]).log()
    close(student.filtered_probs(logits, temperature=0.5), [case["half"]], atol=1e-5, what="wrong probabilities at temperature 0.5")
    twice = "This is the softmax of a softmax: the filter was given probabilities, and it takes logits, such as their logarithms."
    probs = logits.softmax(dim=-1)
    of_probs = probs.masked_fill(probs < probs.sort(dim=-1).values[:, -3:-2], -torch.inf).softmax(dim=-1)
    suspects = [(of_probs, twice)]
    close(student.filtered_probs(logits, top_k=3), [case["top_3"]], atol=1e-5, what="wrong probabilities with top_k 3", suspects=suspects)
    close(student.filtered_probs(logits, top_k=6), probs, atol=1e-5, what="wrong probabilities of four tokens with top_k 6")
    shared = float64([[0.0, 2.0, -1.0, 2.0, 2.0]])
    third = [[0.0, 1 / 3, 0.0, 1 / 3, 1 / 3]]
    close(student.filtered_probs(shared, top_k=2), third, atol=1e-5, what="wrong where three tokens share the first place, with top_k 2")
    for tight in (1.0, 1 - 1e-9):
        got = student.filtered_probs(logits, top_k=2, top_p=tight)
        equal((got > 0).sum(dim=-1), int64([2]), what=f"wrong number of tokens with a probability, top_k 2 and top_p {tight}")
    got = student.filtered_probs(logits, top_p=0.7)
    soft = probs.softmax(dim=-1)
    mass = soft.sort(dim=-1, descending=True).values.cumsum(dim=-1)
    least = soft.sort(dim=-1, descending=True).values[:, int((mass < 0.7).sum())]
    suspects = [(soft.where(soft >= least, 0.0) / soft[soft >= least].sum(), twice)]
    want = [filtered_law(logits[0].tolist(), 1.0, None, 0.7)]
    close(got, want, atol=1e-5, what="wrong probabilities with top_p 0.7", suspects=suspects)
    got = student.filtered_probs(logits, top_k=3, top_p=0.75, _unchanged=True)
    first = "This is what top_k alone leaves, renormalised: top_p comes after it."
    close(
        got, [case["top_3_then_75"]], atol=1e-5, what="wrong probabilities with top_k 3 and top_p 0.75", suspects=[([case["top_3"]], first)]
    )


@checks("filtered_probs")
def test_each_place_for_itself(student, rng):
    """each row of logits is filtered as if it were the only row; without a filter, none of 80 tokens is removed"""
    logits = torch.randn(5, 12, generator=rng, dtype=torch.float64) * 3
    for options in ({"temperature": 0.7}, {"top_k": 4}, {"top_p": 0.6}, {"temperature": 1.5, "top_k": 6, "top_p": 0.8}):
        got = student.filtered_probs(logits, _unchanged=True, **options)
        alone = [student.filtered_probs(row[None], **options) for row in logits]
        close(got, torch.cat(alone), atol=1e-9, what=f"the rows together are not the rows alone, with {options}")
        close(got.sum(dim=-1), torch.ones(5, dtype=torch.float64), atol=1e-6, what=f"the rows do not sum to 1, with {options}")
    close(student.filtered_probs(logits), logits.softmax(dim=-1), atol=1e-6, what="wrong probabilities without settings")
    many = torch.randn(2, 80, generator=rng, dtype=torch.float64)
    close(student.filtered_probs(many), many.softmax(dim=-1), atol=1e-9, what="wrong probabilities of 80 tokens without settings")
    want = float64([filtered_law(row, 1.0, 70, None) for row in many.tolist()])
    close(student.filtered_probs(many, top_k=70), want, atol=1e-9, what="wrong probabilities of 80 tokens with top_k 70")
    logits = torch.randn(100, 6, generator=rng, dtype=torch.float64) * 3
    want = torch.tensor([filtered_law(row, 0.5, 5, 0.8) for row in logits.tolist()], dtype=torch.float64)
    close(student.filtered_probs(logits, temperature=0.5, top_k=5, top_p=0.8), want, atol=1e-6, what="wrong probabilities of 100 rows")


@checks("filtered_probs")
def test_greedy_is_a_law_too(student):
    """temperature 0: the best token of each row has probability 1, with filters or without"""
    logits = float64([[1.0, 3.0, 2.0], [5.0, -1.0, 4.999], [0.0, 0.0, 1e-6]])
    want = float64([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    for options in ({}, {"top_k": 2}, {"top_p": 0.3}, {"top_k": 3, "top_p": 0.9}):
        close(student.filtered_probs(logits, temperature=0.0, **options), want, atol=1e-9, what=f"wrong at temperature 0, with {options}")
    tied = student.filtered_probs(float64([[2.0, 3.0, 3.0]]), temperature=0.0)
    equal(sorted(tied[0].tolist()), [0.0, 0.0, 1.0], what="two tokens are best, and one of them takes all: wrong probabilities, sorted")


@checks("filtered_probs")
def test_what_the_samplers_refuse(student):
    """a negative temperature, top_k below 1 or top_p outside (0, 1]: ValueError, whatever the other settings are"""
    logits = torch.zeros(2, 4)
    for options, naming in (
        ({"temperature": -1.0}, -1.0),
        ({"top_k": 0}, 0),
        ({"top_p": 0.0}, 0.0),
        ({"top_p": 1.5}, 1.5),
        ({"temperature": 0.0, "top_k": -2}, -2),
        ({"temperature": 0.0, "top_p": 1.25}, 1.25),
    ):
        raises(ValueError, lambda options=options: student.filtered_probs(logits, **options), naming=naming)


@checks("filtered_probs")
def test_precision_of_the_law(student):
    """float16 and bfloat16 give float32, float64 gives float64; logits of 20,000 do not overflow; temperature 0.0003 is not 0"""
    for given, due in ((torch.float16, torch.float32), (torch.bfloat16, torch.float32), (torch.float32, torch.float32)):
        logits = torch.tensor([[2.0, 1.0, 0.5]], dtype=given)
        for options in ({}, {"temperature": 0.0}, {"temperature": 0.7}, {"top_k": 3, "top_p": 1.0}):
            tau = options.get("temperature", 1.0)
            want = (logits.float() / tau).softmax(dim=-1) if tau else torch.tensor([[1.0, 0, 0]])
            close(student.filtered_probs(logits, **options), want, dtype=due, atol=1e-6)
    logits = float64([[2.0, 1.0, 0.5]])
    close(student.filtered_probs(logits), logits.softmax(dim=-1), dtype=torch.float64, atol=1e-12)
    got = student.filtered_probs(torch.tensor([[2e4, -1e4, 2e4]]), temperature=0.25)
    close(got, [[0.5, 0.0, 0.5]], atol=1e-6, what="wrong for logits of 20,000")
    for tau in (0.03, 3e-4):
        got = student.filtered_probs(float64([[tau, 0.0, 2 * tau]]), temperature=tau)
        close(got, float64([[1, 0, 2]]).softmax(dim=-1), atol=1e-9, what=f"wrong at temperature {tau}")


# ---- lookup_draft --------------------------------------------------------------------------------------------------


@checks("lookup_draft", weight=2)
def test_lookup_by_hand(student, hand):
    """eight short texts: the guess is what followed the latest earlier occurrence of the longest suffix"""
    case = hand["lookup"]
    for text, guess in zip(case["texts"], case["guesses"], strict=True):
        got = student.lookup_draft(text, _unchanged=True)
        equal(got, guess, what=f"wrong guess after {text}")


@checks("lookup_draft")
def test_the_latest_of_the_longest(student):
    """a longer matching suffix wins over a later match; among equally long matches the latest wins"""
    text = [1, 2, 3, 9, 1, 2, 8, 3, 7, 1, 2, 3]
    for max_ngram, want in ((3, [9, 1, 2, 8]), (2, [9, 1, 2, 8]), (1, [7, 1, 2, 3])):
        equal(student.lookup_draft(text, max_ngram=max_ngram), want, what=f"wrong guess after {text} with max_ngram {max_ngram}")
    text = [4, 5, 1, 4, 5, 2, 4, 5, 3, 4, 5]
    equal(student.lookup_draft(text), [3, 4, 5], what=f"wrong guess after {text}")
    for before in (6, 7):  # two texts of one length with the same end
        text = [1, 2, 3, before, 9, 1, 2, 3]
        equal(student.lookup_draft(text), [before, 9, 1, 2], what=f"wrong guess after {text}")


@checks("lookup_draft")
def test_at_most_k(student):
    """at most k tokens are guessed, fewer where the text ends; the defaults are k 4 and max_ngram 3"""
    text = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2]
    for k in (0, 1, 2, 5, 8, 50):
        equal(student.lookup_draft(text, k=k), text[2 : 2 + k], what=f"wrong guess after {text} with k {k}")
    equal(student.lookup_draft(text), [3, 4, 5, 6], what=f"wrong guess after {text}")
    text = [7, 1, 2, 3, 4, 5, 6, 2, 3, 4, 9, 1, 2, 3, 4]
    equal(student.lookup_draft(text), [9, 1, 2, 3], what=f"wrong guess after {text}: max_ngram is 3 if nothing is said")
    equal(student.lookup_draft(text, max_ngram=4), [5, 6, 2, 3], what=f"wrong guess after {text} with max_ngram 4")


@checks("lookup_draft")
def test_repeated_tokens(student):
    """repeated tokens: the earlier match may overlap the suffix, but is not the suffix itself"""
    for n in range(6):
        want = [1] if n > 1 else []
        equal(student.lookup_draft([1] * n), want, what=f"wrong guess after the same token {counted(n, 'time')}")
    equal(student.lookup_draft([1, 2, 1, 2, 1, 2]), [1, 2], what="wrong guess after 1 2 1 2 1 2")
    equal(student.lookup_draft([1, 2, 1, 2, 1, 2], max_ngram=50), [1, 2], what="wrong guess after 1 2 1 2 1 2 with max_ngram 50")


@checks("lookup_draft")
def test_long_texts_and_guesses(student):
    """a match of 12 tokens at the start of 3,000 is found, and 200 tokens are guessed; only equal ids match"""
    text = [*range(100, 1_600), *range(2_000, 3_470), 7, *range(105, 117)]
    equal(student.lookup_draft(text, max_ngram=12, k=200), text[17:217], what="wrong guess of 200 tokens with max_ngram 12")
    text[-11:-11] = [8]  # now the last eleven are the longest suffix, and a shorter one stood later
    text[1_000:1_000] = [9, *range(109, 117), 5]
    equal(student.lookup_draft(text, max_ngram=12, k=3), [117, 118, 119], what="wrong guess: a longer suffix goes before a later place")
    for text, want in (
        ([5, 31, 7, 53, 1], []),
        ([41, 6, 9, 6, 8, 1, 6], [8, 1, 6]),
        ([2_049, 9, 2_048], []),
        ([70_005, 9, 4_469], []),
        ([70_005, 9, 4_469, 8, 70_005], [9, 4_469, 8, 70_005]),
    ):
        equal(student.lookup_draft(text), want, what=f"wrong guess after {text}: only equal ids are the same token")


# ---- greedy_verify -------------------------------------------------------------------------------------------------


def saying(best, vocab=10, dtype=torch.float32):
    """Logits whose best tokens are these."""
    logits = -torch.arange(float(vocab)).expand(len(best), -1).clone() / 4
    logits[range(len(best)), best] = 1.0
    return logits.to(dtype)


@checks("greedy_verify", weight=2)
def test_greedy_by_hand(student, hand):
    """guesses are kept up to the first mistake, and the model's own token follows"""
    case = hand["greedy"]
    for draft, tokens in zip(case["drafts"], case["tokens"], strict=True):
        got = emitted(student.greedy_verify(saying(case["best"]), int64(draft), _unchanged=True), 3, 10)
        equal(got, tokens, what=f"wrong tokens for the draft {draft}, where the model says {case['best']}")


@checks("greedy_verify")
def test_nothing_guessed(student):
    """an empty draft gives the one token of a decode step; token ids up to 70,000 are compared in full"""
    for best in (0, 6):
        got = emitted(student.greedy_verify(saying([best]), int64([])), 0, 10)
        equal(got, [best], what="wrong tokens for an empty draft")
    logits = torch.zeros(2, 70_000)
    logits[0, 4] = logits[1, 65_800] = 1.0
    equal(emitted(student.greedy_verify(logits[1:], int64([])), 0, 70_000), [65_800], what="wrong token of 70,000 for an empty draft")
    for guess, tokens in ((4, [4, 65_800]), (260, [4]), (65_540, [4])):
        got = emitted(student.greedy_verify(logits, int64([guess])), 1, 70_000)
        equal(got, tokens, what=f"wrong tokens for the draft [{guess}], where the model says 4 and 65800")


@checks("greedy_verify")
def test_right_again_is_too_late(student):
    """correct guesses after a mistake are not kept; a guess whose logit is second best by a tiny margin is a mistake"""
    best = [4, 4, 5, 6, 4]
    for draft, tokens in (([4, 9, 5, 6], [4, 4]), ([9, 4, 5, 6], [4]), ([4, 4, 5, 9], [4, 4, 5, 6]), ([9, 9, 9, 9], [4])):
        got = emitted(student.greedy_verify(saying(best), int64(draft)), 4, 10)
        equal(got, tokens, what=f"wrong tokens for the draft {draft}, where the model says {best}")
    for lead, dtype in ((3e-9, torch.float32), (2e-11, torch.float64)):
        logits = torch.tensor([[-1.0, 0.0, lead, -2.0], [0.0, -1.0, -2.0, lead]], dtype=dtype)
        logits += 1 if dtype == torch.float64 else 0  # the same lead, beside 1
        for draft, tokens in (([1], [2]), ([2], [2, 3])):
            got = emitted(student.greedy_verify(logits, int64(draft)), 1, 4)
            equal(got, tokens, what=f"wrong tokens for the draft {draft}, where token 2 leads by {lead} in {dtype}")


@checks("greedy_verify")
def test_a_draft_of_100(student, rng):
    """100 or 270 correct guesses are all kept; a wrong last guess is replaced; the logits may be stored by rows or by columns"""
    best = torch.randint(0, 10, (101,), generator=rng)
    for last, n in ((best[99], 101), ((best[99] + 1) % 10, 100)):
        draft = torch.cat((best[:99], last[None]))
        got = emitted(student.greedy_verify(saying(best.tolist()), draft), 100, 10)
        equal(got, best[:n].tolist(), what="wrong tokens for a draft of 100")
        got = emitted(student.greedy_verify(in_columns(saying(best.tolist())), draft), 100, 10)
        equal(got, best[:n].tolist(), what="wrong tokens for a draft of 100 and logits that are stored column by column")
    best = torch.randint(0, 10, (271,), generator=rng)
    got = emitted(student.greedy_verify(saying(best.tolist()), best[:270].clone()), 270, 10)
    equal(got, best.tolist(), what="wrong tokens for a draft of 270 that is right")


# ---- acceptance_probs and residual_probs ---------------------------------------------------------------------------


@checks("acceptance_probs", weight=2)
def test_acceptance_by_hand(student, hand):
    """acceptance of three and of four tokens, by hand; the probability that a guess is kept is the overlap of p and q"""
    case = hand["overlap"]
    p, q = float64(case["p"]), float64(case["q"])
    got = student.acceptance_probs(p, q, _unchanged=True)
    turned = "This is min(1, q / p): p is what the model holds, and the draft proposes too often what q has more of."
    close(got, case["acceptance"], atol=1e-6, suspects=[((q / p).clamp(max=1), turned)])
    close((q * got).sum(), case["kept"], atol=1e-6, what="the sum of q times acceptance is not what is kept")
    case = hand["chain_of_four"]
    close(student.acceptance_probs(float64(case["p"][0]), float64(case["q"][0])), case["acceptance"], atol=1e-6)


@checks("acceptance_probs")
def test_what_is_never_proposed(student):
    """where q is 0, acceptance is 1, whatever p is, without nan; where q is tiny, the ratio p / q is still exact"""
    p, q = float64([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]), float64([[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])
    close(student.acceptance_probs(p, q, _unchanged=True), [[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]], atol=1e-12)
    p, q = float64([3e-9, 0.0, 2e-60, 5e-8, 0.5]), float64([1.2e-8, 1e-8, 5e-60, 4e-8, 0.5])
    close(student.acceptance_probs(p, q), [0.25, 0.0, 0.4, 1.0, 1.0], atol=1e-9, what="wrong for very small p and q")


@checks("acceptance_probs")
def test_acceptance_of_any_shape(student, rng):
    """acceptance is computed entry by entry, in any number of dimensions and any memory layout, in the dtype of p and q"""
    for shape in ((7,), (3, 7), (2, 3, 7)):
        for dtype, atol in ((torch.float32, 1e-6), (torch.float64, 1e-12), (torch.bfloat16, 1e-2), (torch.float16, 2e-3)):
            p, q = ((torch.rand(shape, generator=rng, dtype=torch.float64) + 0.01).to(dtype) for _ in range(2))
            want = torch.minimum(p.double(), q.double()) / q.double()
            close(student.acceptance_probs(p, q), want, dtype=dtype, atol=atol)
            if len(shape) > 1:
                got = student.acceptance_probs(in_columns(p), in_columns(q))
                close(got, want, dtype=dtype, atol=atol, what="wrong if p and q are stored column by column")


@checks("residual_probs", weight=2)
def test_residual_by_hand(student, hand):
    """the residual is the part of p above q, renormalised"""
    case = hand["chain_of_four"]
    p, q = float64(case["p"][0]), float64(case["q"][0])
    got = student.residual_probs(p, q, _unchanged=True)
    suspects = [
        (p, "This is p: the draws from it would come on top of the tokens that were kept."),
        ((p - q).clamp(min=0), "The sum is not 1: renormalise."),
        ((p - q).abs() / (p - q).abs().sum(), "This has |p - q|: where q is larger, nothing is lacking."),
    ]
    close(got, case["residual"], atol=1e-6, suspects=suspects)
    case = hand["overlap"]
    close(student.residual_probs(float64(case["p"]), float64(case["q"])), case["residual"], atol=1e-6)


@checks("residual_probs", weight=2)
def test_kept_and_replaced_are_p(student, hand):
    """kept tokens and replacements together have the distribution p"""
    for name in ("chain", "chain_of_four"):
        p, q = float64(hand[name]["p"]), float64(hand[name]["q"])
        kept = torch.minimum(p, q)
        got = student.residual_probs(p, q)
        law = kept + (1 - kept.sum(dim=-1, keepdim=True)) * got
        close(law, p, atol=1e-9, what="kept and replaced tokens together do not have the distribution p")


@checks("residual_probs")
def test_exactly_nothing_where_q_is_more(student, rng):
    """exactly 0 wherever p is not larger than q"""
    p, q = torch.rand(2, 20, 9, generator=rng, dtype=torch.float64)
    p, q = p / p.sum(dim=-1, keepdim=True), q / q.sum(dim=-1, keepdim=True)
    got = student.residual_probs(p, q)
    equal((got != 0).long(), (p > q).long(), what="wrong tokens have more than 0 (1: more than 0)")
    close(got.sum(dim=-1), torch.ones(20), atol=1e-9, what="the rows do not sum to 1")


@checks("residual_probs")
def test_nothing_is_lacking(student):
    """a row in which p is nowhere above q gives p; a row in which p is above q by as little as 2^-42 is renormalised"""
    p = float64([[0.25, 0.25, 0.5, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    q = float64([[0.25, 0.25, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0]])
    want = [[0.25, 0.25, 0.5, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    close(student.residual_probs(p, q), want, atol=1e-9)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        close(student.residual_probs(p.to(dtype), q.to(dtype)), want, atol=1e-6, dtype=dtype)
    close(student.residual_probs(p[0], q[0]), want[0], atol=1e-9)
    for power in (-22, -30, -42):
        p, q = float64([0.125 + 3 * 2.0**power, 0.375 - 2.0**power, 0.5 + 2.0**power]), float64([0.125, 0.375, 0.5])
        close(student.residual_probs(p, q), [0.75, 0.0, 0.25], atol=1e-6, what=f"wrong where p and q differ by 2^{power}")
    p, q = float64([[0.25, 0.25, 0.5 - 2.0**-33], [0.5, 0.5, 0.0]]), float64([[0.25, 0.25, 0.5], [0.25, 0.5, 0.25]])
    close(student.residual_probs(p, q), [[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]], atol=1e-6, what="wrong where a row of p is nowhere above q's")


# ---- verify_sampled ------------------------------------------------------------------------------------------------


@checks("verify_sampled", weight=2)
def test_one_guess_by_hand(student, hand):
    """one guess, p = 0.5 0.3 0.2, q = 0.2 0.5 0.3: a kept guess is followed by a draw, a refused guess is replaced"""
    case = hand["overlap"]
    p, q = float64([case["p"], [0.1, 0.6, 0.3]]), float64([case["q"]])
    for draft, u, tokens in (
        (1, [0.59, 0.05], [1, 0]),  # 0.3 / 0.5 = 0.6 is above 0.59: kept; after it comes the second row of p, at 0.05
        (1, [0.59, 0.65], [1, 1]),
        (1, [0.61, 0.95], [0]),  # refused: all of the residual is on token 0
        (0, [0.99, 0.75], [0, 2]),
        (2, [0.66, 0.2], [2, 1]),
        (2, [0.67, 0.2], [0]),
    ):
        got = emitted(student.verify_sampled(p, q, int64([draft]), float64(u), _unchanged=True), 1, 3)
        equal(got, tokens, what=f"wrong tokens for the draft [{draft}] with u = {u}")


@checks("verify_sampled")
def test_kept_means_below(student):
    """a guess is kept if u is below the guess's acceptance, by however little, and refused if u equals the acceptance"""
    p, q = float64([[0.5, 0.5], [1.0, 0.0]]), float64([[1.0, 0.0]])
    for u, tokens in ((0.5, [1]), (0.4999, [0, 0]), (0.0, [0, 0])):
        equal(emitted(student.verify_sampled(p, q, int64([0]), float64([u, 0.0])), 1, 2), tokens, what=f"wrong tokens at u = {u}")
    p, q = float64([[0.0, 1.0], [1.0, 0.0]]), float64([[1.0, 0.0]])
    got = emitted(student.verify_sampled(p, q, int64([0]), float64([0.0, 0.5])), 1, 2)
    equal(got, [1], what="wrong tokens where p is 0 and u is 0")
    p, q = float64([[0.2, 0.8], [1.0, 0.0]]), float64([[0.9, 0.1]])
    for off, tokens in ((-3e-12, [0, 0]), (3e-12, [1])):
        got = emitted(student.verify_sampled(p, q, int64([0]), float64([0.2 / 0.9 + off, 0.5])), 1, 2)
        equal(got, tokens, what=f"wrong tokens where u is 0.2 / 0.9 {'+' if off > 0 else '-'} 3e-12, in float64")


@checks("verify_sampled", weight=3)
def test_the_law_by_hand(student, hand):
    """over all values of u, the tokens have the model's distribution, and 1, 2 or 3 tokens come with the expected probability"""
    case = hand["chain_of_four"]
    lengths = has_the_law(student, case["p"], case["q"], 2, what="the next three tokens")
    close(float64(lengths), case["lengths"], atol=1e-9, what="wrong probabilities of one, two and three tokens from a pass")


@checks("verify_sampled")
def test_no_guess_is_a_draw(student):
    """an empty draft: one draw from p at u, even if u is very near a border or above the rounded sum of p"""
    p = float64([[0.4, 0.3, 0.2, 0.1]])
    for u, token in ((0.0, 0), (0.41, 1), (0.69, 1), (0.71, 2), (0.95, 3), (0.4 - 1e-11, 0), (0.4 + 1e-11, 1)):
        got = emitted(student.verify_sampled(p, torch.empty(0, 4, dtype=torch.float64), int64([]), float64([u])), 0, 4)
        equal(got, [token], what=f"wrong token at u = {u}")
    short = torch.tensor([[0.25, 0.75 - 2.0**-21, 0.0, 0.0]])  # its sum is 1 - 2^-21, and u is above it
    got = emitted(student.verify_sampled(short, torch.empty(0, 4), int64([]), torch.tensor([1 - 2.0**-23])), 0, 4)
    equal(got, [1], what="wrong token where rounding leaves the sum of p below u: a token that has more than 0 is expected")


@checks("verify_sampled")
def test_a_draft_that_is_p(student, rng):
    """p equals q: all guesses are kept, for 1, 4 or 280 guesses, in any memory layout, with up to 70,000 tokens"""
    for k in (4, 280):
        p = torch.rand(k + 1, 6, generator=rng, dtype=torch.float64)
        p = p / p.sum(dim=-1, keepdim=True)
        draft, u = torch.randint(6, (k,), generator=rng), torch.rand(k + 1, generator=rng, dtype=torch.float64)
        for layout, q in (("rows", p[:k].clone()), ("columns", in_columns(p[:k]))):
            got = emitted(student.verify_sampled(in_columns(p) if layout == "columns" else p, q, draft, u), k, 6)
            equal(got[:k], draft.tolist(), what=f"tokens of a draft of {k} that equals p are missing, with p and q stored in {layout}")
            equal(len(got), k + 1, what=f"wrong number of tokens for a draft of {k}, with p and q stored in {layout}")
    p, draft = torch.zeros(2, 70_000), int64([40_000])
    p[0, [300, 40_000, 66_000]] = torch.tensor([0.25, 0.5, 0.25])
    p[1, 66_001] = 1.0
    got = emitted(student.verify_sampled(p, p[:1].clone(), draft, torch.tensor([0.9, 0.5])), 1, 70_000)
    equal(got, [40_000, 66_001], what="wrong tokens of 70,000, with the draft [40000]")


# ---- expected_tokens and speedup -----------------------------------------------------------------------------------


@checks("expected_tokens", weight=2)
def test_expected_by_hand(student, hand):
    """tokens per pass for seven pairs of alpha and k"""
    case = hand["expected"]
    for alpha, k, tokens in zip(case["alpha"], case["k"], case["tokens"], strict=True):
        without = (1 - alpha**k) / (1 - alpha) if alpha < 1 else math.nan
        own = "The pass's own token is missing: even if every guess is refused, a pass makes one."
        got = student.expected_tokens(alpha, k)
        close(got, tokens, what=f"wrong for alpha {alpha} and k {k}", suspects=[(alpha * without, own), (tokens - 1, own)])


@checks("expected_tokens")
def test_all_is_kept(student):
    """alpha 1 gives k + 1, as a float; alpha close to 1 and k 9,000 give precise results"""
    for alpha, k in ((1.0, 0), (1.0, 1), (1, 7), (1.0, 100)):
        got = student.expected_tokens(alpha, k)
        close(got, float(k + 1), what=f"wrong for alpha 1 and k {k}")
        that(isinstance(got, float), f"the result for alpha 1 and k {k} is not a float", got=type(got).__name__)
    nearly = (1 - 0.9995**301) / 0.0005  # 279.4 where k + 1 is 301
    for alpha, k, want in ((0.9995, 300, nearly), (0.75, 9_000, 4.0)):
        close(student.expected_tokens(alpha, k), want, rtol=1e-9, what=f"wrong for alpha {alpha} and k {k}")


@checks("expected_tokens")
def test_no_such_share(student):
    """alpha outside [0, 1], alpha nan or a negative k: ValueError"""
    for alpha, k, naming in ((1.25, 4, 1.25), (-0.5, 4, -0.5), (0.5, -3, -3), (1.0, -3, -3), (2.5, 0, 2.5)):
        raises(ValueError, lambda alpha=alpha, k=k: student.expected_tokens(alpha, k), naming=naming)
    raises(ValueError, lambda: student.expected_tokens(math.nan, 4))


@checks("speedup", weight=2)
def test_speedup_by_hand(student, hand):
    """speedup in seven settings, two of them slower than plain decoding, one with a draft slower than the model"""
    case = hand["speedup"]
    for alpha, k, cost_ratio, want in zip(case["alpha"], case["k"], case["cost_ratio"], case["speedup"], strict=True):
        close(
            student.speedup(alpha, k, cost_ratio), want, atol=1e-5, what=f"wrong for alpha {alpha}, k {k} and a cost ratio of {cost_ratio}"
        )
    close(student.speedup(0.5, 1, 3.0), 0.375, what="wrong for alpha 0.5, k 1 and a cost ratio of 3.0")


@checks("speedup")
def test_the_best_k(student, hand):
    """in three settings, the largest speedup is at k 8, at k 3 and at k 0"""
    case = hand["speedup"]
    for alpha, cost_ratio, k, want in zip(case["best_alpha"], case["best_cost_ratio"], case["best_k"], case["best_speedup"], strict=True):
        by_k = [float(student.speedup(alpha, n, cost_ratio)) for n in range(13)]
        equal(by_k.index(max(by_k)), k, what=f"wrong best k for alpha {alpha} and a cost ratio of {cost_ratio}")
        close(max(by_k), want, atol=1e-5, what=f"wrong best speedup for alpha {alpha} and a cost ratio of {cost_ratio}")


@checks("speedup")
def test_no_such_speedup(student):
    """alpha outside [0, 1], alpha nan or a negative k: ValueError; alpha is checked even if k is 0"""
    for alpha, k, naming in ((1.25, 4, 1.25), (-0.5, 4, -0.5), (0.5, -3, -3), (1.25, 0, 1.25), (-0.5, 0, -0.5)):
        raises(ValueError, lambda alpha=alpha, k=k: student.speedup(alpha, k, 0.1), naming=naming)
    for k in (4, 0):
        raises(ValueError, lambda k=k: student.speedup(math.nan, k, 0.1))


# ---- truncate ------------------------------------------------------------------------------------------------------


def filled_cache(student, rng, tokens, layers=3, room=10):
    """(a cache of two rows with so many tokens in every layer, what was appended (2, K, tokens, Dh))."""
    config = small_config(num_hidden_layers=layers)
    cache = student.KVCache(config, 2, room, torch.float64)
    k = torch.randn(2, config.num_key_value_heads, tokens, config.head_dim, generator=rng, dtype=torch.float64)
    for layer in range(layers):
        cache.append(layer, k + layer, -k - layer)
    return cache, k


@checks("truncate", weight=2)
def test_forgotten_in_every_layer(student, rng):
    """seven tokens in three layers, cut to four: new tokens follow the fourth token, in every layer"""
    cache, k = filled_cache(student, rng, 7)
    student.truncate(cache, 4)
    equal(cache.length, 4, what="wrong length")
    new = torch.ones_like(k[:, :, :2])
    for layer in range(3):
        keys, values = cache.append(layer, new, 2 * new)
        equal(keys, torch.cat((k[:, :, :4] + layer, new), dim=2), what=f"wrong keys of layer {layer} after two new tokens")
        equal(values, torch.cat((-k[:, :, :4] - layer, 2 * new), dim=2), what=f"wrong values of layer {layer} after two new tokens")
    equal(cache.length, 6, what="wrong length after two new tokens")


@checks("truncate")
def test_to_nothing_and_to_all(student, rng):
    """a cache can be cut to its current length, to 0, and twice to the same length; other caches are not cut"""
    cache, k = filled_cache(student, rng, 5)
    others = [filled_cache(student, rng, 4)[0] for _ in range(2)]
    student.truncate(others[0], 3)
    for length in (5, 3, 3, 0, 0):
        student.truncate(cache, length)
        equal(cache.length, length, what="wrong length")
    for layer in range(3):
        equal(cache.append(layer, k, k)[0], k, what=f"wrong keys of layer {layer} in a cache that was cut to nothing")
    equal([each.length for each in (*others, cache)], [3, 4, 5], what="wrong lengths of three caches, of which each was cut by itself")


@checks("truncate")
def test_no_such_length(student, rng):
    """a negative length, or a length above cache.length: ValueError, and the cache is unchanged"""
    cache, k = filled_cache(student, rng, 5)
    for length in (-1, -5, 6, 10):
        raises(ValueError, lambda length=length: student.truncate(cache, length), naming=length)
        equal(cache.length, 5, what="wrong length after a refused call")
    equal(cache.append(1, k[:, :, :1], k[:, :, :1])[0][:, :, :5], k + 1, what="wrong keys after a refused call")


@checks("truncate")
def test_many_layers(student, rng):
    """all of 40 layers are cut, even if an interrupted pass left one token more in the first two layers"""
    cache, k = filled_cache(student, rng, 6, layers=40)
    for layer in (0, 1):
        cache.append(layer, k[:, :, :1], k[:, :, :1])
    raises(ValueError, lambda: student.truncate(cache, 7), naming=7)
    student.truncate(cache, 2)
    for layer in (0, 31, 32, 39):
        keys, _ = cache.append(layer, k[:, :, :1], k[:, :, :1])
        equal(keys, torch.cat((k[:, :, :2] + layer, k[:, :, :1]), dim=2), what=f"wrong keys of layer {layer} of 40")


@checks("truncate")
def test_nothing_is_copied(student, rng):
    """work: a cut writes no bytes, and nbytes stays the same"""
    cache, _ = filled_cache(student, rng, 200, room=256)
    before = cache.nbytes
    with student.counting() as work:
        student.truncate(cache, 190)
    equal(cache.length, 190, what="wrong length")
    equal(cache.nbytes, before, what="wrong nbytes")
    that(work.written_bytes < 512, "bytes were written", expected="none: a count changes", got=f"{work.written_bytes:,} bytes")


# ---- generate_speculative ------------------------------------------------------------------------------------------


def by_hand(text, **options):
    """A draft that knows the text of `tiny`."""
    return Oracle(text=text, vocab=1024, **options)


@checks("generate_speculative", weight=3)
def test_same_tokens_with_any_draft(student):
    """the ladder: greedy decoding gives the tokens of the loop without a cache, for two prompts and five drafts"""
    model = student.model("tiny", dtype=torch.float64)
    for prompt in PROMPTS[2:]:
        idx = tiny_ids(prompt)
        want = unrolled(whole(), idx, 12, ROOMY)[0].tolist()
        text = idx[0].tolist() + want
        for name, draft in (
            ("that guesses nothing", Books()),
            ("that looks up", Lookup()),
            ("that is always right", by_hand(text)),
            ("that is always wrong", by_hand(text, off=1)),
            ("whose third guess is wrong", by_hand(text, off=1, right=2)),
        ):
            new = speculated(student, model, idx, draft=draft, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
            suspects = without_rollback(whole(), idx, draft, 12, 4) if new != want else []
            equal(new, want, what=f"other tokens after a prompt of {idx.shape[1]} with a draft {name}", suspects=suspects)
            asked_as_it_should(draft, idx, new, 4, 12)


@checks("generate_speculative", weight=2)
def test_passes_are_saved(student, hand):
    """work: 10 tokens take no extra pass or position, with a draft that is always right (greedy or drawn) or always wrong"""
    case = hand["rounds"]
    idx = torch.randint(3, 1000, (1, case["prompt"]), generator=torch.Generator().manual_seed(4))
    text = idx[0].tolist() + unrolled(whole(), idx, case["new"], ROOMY)[0].tolist()
    for off, options in ((0, {"temperature": 0.0}), (1, {"temperature": 0.0}), (0, {"top_k": 1})):
        passes, positions = case["passes"][off], case["positions"][off]
        draft = by_hand(text, off=off)
        name = f"{'wrong' if off else 'right'}, with {options}"
        with student.counting(fast_bytes=100_000) as work:
            new = speculated(
                student, student.model("tiny"), idx, draft=draft, max_new_tokens=case["new"], block_size=ROOMY, k=case["k"], **options
            )
        equal(new, text[case["prompt"] :], what=f"other tokens with a draft that is always {name}")
        equal(
            sum(draft.given),
            positions - passes + 1 - case["prompt"],
            what=f"wrong number of tokens guessed by a draft that is always {name}",
        )
        between(work.positions, positions - 1, positions, f"positions with a draft that is always {name}")
        weights = sum(
            tensor.nbytes
            for tensor in (
                whole(torch.float32).weights.lm_head,
                *(t for layer in whole(torch.float32).weights.layers for t in vars(layer).values()),
            )
            if tensor.nbytes > 100_000
        )
        most = 1.6 * passes * weights
        between(work.slow_bytes, (passes - 1) * weights, most, f"bytes that are read with a draft that is always {name}")
    full = idx.shape[1] + 2
    with student.counting() as work:
        new = speculated(student, student.model("tiny"), idx, draft=Books(), max_new_tokens=3, block_size=full, temperature=0.0)
    equal(new, text[case["prompt"] : full + 1], what="other tokens in a window that is just full")
    between(work.positions, full, full, "positions, where the last token makes the window just full")


# The same tokens; before each round PyTorch's attention reads as many tokens as the cache has, twice: to read them once by an answer's own
# attention takes longer. So the time limit lies between the reference and an answer that reads them once, and fast.
READ_ANEW = """
from course.kit import Model

_read = forward_cached

def forward_cached(model, ids, cache):
    for _ in range(2 if cache.length else 0):
        Model(model.config, model.weights, lambda: None)(torch.zeros(1, cache.length, dtype=torch.int64))
    return _read(model, ids, cache)
"""


@checks("generate_speculative", weight=2, timing=True)
def test_faster_than_reading_the_text_anew(race):
    """speed: 48 tokens after a prompt of 512, all guesses refused: faster than reading the whole text twice a round"""

    def prompt(rng):
        return random_prompt(rng, 512)

    def refused(ids, k):
        return [3 + (31 * len(ids) + i) % 1000 for i in range(k)], None

    def answer(s, inputs):
        options = {"max_new_tokens": 48, "block_size": 2048, "temperature": 0.0}
        return s.generate_speculative(s.model("tiny"), inputs, draft=refused, **options)

    cause = "A round reads the newest token and the guesses; of the text before them the cache has all that is needed."
    race.against(READ_ANEW, prompt, answer, agree=best_of_all, cause=cause)


@checks("generate_speculative", weight=2)
def test_the_window_slides_behind_guesses(student):
    """past block_size, greedy decoding still gives the tokens of the loop without a cache"""
    model, prompt = student.model("tiny", dtype=torch.float64), tiny_ids(PROMPTS[3])
    for t0, block_size in ((5, 9), (8, 8), (12, 8)):
        idx = prompt[:, :t0]
        want = unrolled(whole(), idx, 10, block_size)[0].tolist()
        text = idx[0].tolist() + want
        for draft in (by_hand(text), by_hand(text, off=1, right=1)):
            new = speculated(student, model, idx, draft=draft, max_new_tokens=10, block_size=block_size, temperature=0.0)
            equal(new, want, what=f"other tokens for a prompt of {t0} and block_size {block_size}")
            asked_as_it_should(draft, idx, new, 4, 10, block_size)


@checks("generate_speculative")
def test_the_draft_is_asked_again(student):
    """a draft that guesses only every second time is asked again in the round after an empty guess"""
    model, idx, text = sure_after(student, [1, 2, 3, 0]), int64([[2]]), [2, *[3, 0, 1, 2] * 5]
    asked = []

    def now_and_then(ids, k):
        asked.append(len(ids))
        return ([] if len(asked) % 2 else text[len(ids) : len(ids) + k]), None

    new = speculated(student, model, idx, draft=now_and_then, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
    equal(new, text[1:13], what="other tokens with a draft that guesses every second time only")
    times = counted(len(asked), "time")
    that(len(asked) >= 3, "a draft that once guessed nothing is hardly asked again", expected="in each round", got=times)


@checks("generate_speculative")
def test_settings_that_are_refused(student):
    """top_k 0 or top_p 1.5: ValueError, also at temperature 0"""
    model, idx = sure_after(student, [1, 2, 3, 0]), int64([[2]])
    for temperature in (1.0, 0.0):
        for options, naming in (({"top_k": 0}, 0), ({"top_p": 1.5}, 1.5)):
            given = {"draft": lambda ids, k: ([], None), "max_new_tokens": 2, "block_size": ROOMY, "temperature": temperature, **options}
            raises(ValueError, lambda given=given: student.generate_speculative(model, idx, **given), naming=naming)


@checks("generate_speculative", weight=2)
def test_one_token_to_draw(student, rng):
    """drawn with top_k 1: the greedy text, with any draft and a sliding window; an EOS in the config ends nothing"""
    _, kit = small(student, rng, vocab_size=11)
    idx = torch.randint(11, (1, 5), generator=rng)
    named = int(unrolled(kit, idx, 2, ROOMY)[0, 1])  # the caller names no EOS, so the config's ends nothing
    model = student.WeightsOnly(replace(kit.config, eos_token_id=named), kit.weights, None)
    for block_size in (ROOMY, 11):
        want = unrolled(kit, idx, 14, block_size)[0].tolist()
        text = idx[0].tolist() + want
        for name, draft in (
            ("whose third guess is wrong", Oracle(text=text, vocab=11, off=1, right=2)),
            ("that draws from all tokens alike", Drawn(chain=[[1 / 11] * 11] * 11, generator=rng)),
        ):
            new = speculated(student, model, idx, draft=draft, max_new_tokens=14, block_size=block_size, top_k=1)
            equal(new, want, what=f"other tokens with block_size {block_size} and a draft {name}")
            asked_as_it_should(draft, idx, new, 4, 14, block_size)


@checks("generate_speculative", weight=2)
def test_the_end_inside_a_guess(student):
    """the text ends at the first new EOS: a kept guess, a correction or the extra token; an EOS in the prompt ends nothing"""
    model, idx = sure_after(student, [1, 2, 3, 0]), int64([[1, 0, 1]])
    text = [1, 0, 1, *[2, 3, 0, 1] * 4]
    for k in (1, 2, 3, 4, 8):
        for options in ({}, {"off": 1}, {"off": 1, "right": 1}):
            draft = Oracle(text=text, vocab=4, **options)
            for eos, want in ((0, [2, 3, 0]), (3, [2, 3]), (2, [2]), (1, [2, 3, 0, 1])):
                given = {"temperature": float(k == 3), "eos_token_id": eos}  # the model leaves no choice, so drawn tokens are the same
                new = speculated(student, model, idx, draft=draft, k=k, max_new_tokens=9, block_size=ROOMY, **given)
                equal(new, want, what=f"wrong tokens with EOS {eos} and k {k}")


@checks("generate_speculative")
def test_never_more_than_asked_for(student):
    """max_new_tokens is the limit, however many tokens are guessed; max_new_tokens 0 returns the prompt"""
    model, idx = sure_after(student, [1, 2, 3, 0]), int64([[2, 3]])
    text = [2, 3, *[0, 1, 2, 3] * 5]
    for limit in (0, 1, 2, 5, 6, 7, 11):
        for k in (0, 1, 4, 16):
            draft = Oracle(text=text, vocab=4)
            new = speculated(student, model, idx, draft=draft, k=k, max_new_tokens=limit, block_size=ROOMY, temperature=0.0)
            equal(new, text[2 : 2 + limit], what=f"wrong tokens with max_new_tokens {limit} and k {k}")
            asked_as_it_should(draft, idx, new, k, limit)


@checks("generate_speculative")
def test_a_guess_that_is_no_token(student):
    """the first, the second or the last guess is outside the vocabulary: ValueError that names the guess"""
    model, idx = sure_after(student, [1, 2, 3, 0]), int64([[2, 3]])
    for guess in (4, -1, 99):
        for temperature, given in ((0.0, [0, guess]), (1.0, [0, guess]), (0.0, [guess, 0]), (0.0, [0, 1, 2, guess])):

            def draft(ids, k, given=given):
                return given[:k], None

            options = {"max_new_tokens": 8, "block_size": ROOMY, "temperature": temperature}
            raises(
                ValueError,
                lambda draft=draft, options=options: student.generate_speculative(model, idx, draft=draft, **options),
                naming=guess,
            )


def drawn_text(student, rng, model, *, length=250, **draft):
    """A text drawn with a draft, after a look at what the draft was asked."""
    k, idx = draft.pop("k"), int64([[0]])
    books = Drawn(generator=rng, **draft)
    generator = student.generator(int(torch.randint(2**31, (), generator=rng)))
    new = speculated(student, model, idx, draft=books, k=k, max_new_tokens=length, block_size=1024, generator=generator)
    equal(len(new), length, what="wrong number of new tokens")
    asked_as_it_should(books, idx, new, k, length)
    replaced_by_another(books, idx, new)
    return new


@checks("generate_speculative", weight=3)
def test_drawn_text_has_the_models_law(student, rng):
    """drawn: 250 tokens have the model's distribution, although the draft prefers other tokens"""
    # False alarm: at most 1e-10 (see `frequencies`).
    follows(drawn_text(student, rng, believer(student), chain=GUESSED, k=2), 0, BELIEVED)


@checks("generate_speculative", weight=2)
def test_drawn_behind_a_certain_draft(student, rng):
    """drawn: four equally probable tokens come equally often, although the draft always guesses the same token, without q"""
    # False alarm: at most 1e-10 (see `frequencies`).
    new = drawn_text(student, rng, believing(student, [[0.0] * 4] * 4), chain=((1.0, 0.0, 0.0, 0.0),) * 4, certain=True, k=8, length=120)
    frequencies(int64(new), [0.25] * 4, under=", where q is None")


@checks("generate_speculative")
def test_certain_among_many_tokens(student):
    """drawn: one of 256 tokens keeps its probability of 0.5, although the draft always guesses that token, without q"""
    # False alarm: at most 1e-10 (see `frequencies`).
    model = believing(student, [[0.0] * 255 + [math.log(255)]] * 256)
    options = {"k": 4, "max_new_tokens": 120, "block_size": ROOMY, "generator": student.generator(15)}
    new = speculated(student, model, int64([[3]]), draft=lambda ids, k: ([255] * k, None), **options)
    equal(len(new), 120, what="wrong number of new tokens")
    frequencies(int64([int(token == 255) for token in new]), [0.5, 0.5], under=", where q is None (1: the guessed token)")
    low = int64([int(token < 128) for token in new if token != 255])
    frequencies(low, [127 / 255, 128 / 255], under=", among the tokens that were not guessed (1: a token below 128)")


@checks("generate_speculative")
def test_every_kind_of_token_is_drawn(student):
    """drawn: the first token, the token of a round without guesses and the token after kept guesses are random"""
    # The same token seven times: with a probability of 256 ** -6 < 1e-14.
    model, generator = believing(student, [[0.0] * 256] * 256), student.generator(16)

    def run(draft, limit):
        given = {"draft": draft, "k": 1, "max_new_tokens": limit, "block_size": ROOMY, "generator": generator}
        return speculated(student, model, int64([[3]]), **given)

    def even(ids, k):
        return [len(ids)], torch.full((1, 256), 1 / 256)

    for name, tokens in (
        ("the first token", [token for _ in range(7) for token in run(Books(), 1)]),
        ("the token of a round without guesses", run(Books(), 8)[1:]),
        ("the token after guesses that were kept", run(even, 15)[2::2]),
    ):
        that(len(set(tokens)) > 1, f"{name} is always the same, and should be drawn", got=f"{len(tokens)} times {tokens[:1]}")


@checks("generate_speculative", weight=2)
def test_filters_come_before_the_ratio(student, rng):
    """drawn: p is compared with q after the filters, so a draft with the same filters is hardly refused; temperature 0.05 is not 0"""
    # p and q differ by rounding, by less than 1e-5 of either: six of 200 guesses are refused with a probability below 1e-18.
    model, idx = believer(student), int64([[0]])
    for options in ({"temperature": 0.5, "top_k": 2}, {"top_p": 0.6}):
        law = [
            filtered_law([math.log(x) for x in row], options.get("temperature", 1.0), options.get("top_k"), options.get("top_p"))
            for row in BELIEVED
        ]
        draft = Drawn(chain=law, generator=rng)
        generator = student.generator(int(torch.randint(2**31, (), generator=rng)))
        new = speculated(student, model, idx, draft=draft, k=4, max_new_tokens=201, block_size=ROOMY, generator=generator, **options)
        equal(len(new), 201, what="wrong number of new tokens")
        outside = [token for before, token in itertools.pairwise([0, *new]) if law[before][token] == 0]
        left_out = "p has to be filtered before it is compared with q, and so has what is drawn after the guesses"
        that(not outside, f"tokens that the filter rules out came, with {options}", expected=left_out, got=f"{len(outside)} of 201 tokens")
        follows(new, 0, law, under=f", with {options}")
        most = 40 + 5
        that(
            len(draft.asked) <= most,
            f"too many rounds with guesses from the model's own distribution, with {options}",
            expected=f"about 40 rounds of 5 tokens, at most {most}",
            got=f"{len(draft.asked)} rounds",
        )
    # At temperature 0.05 the three tokens have 0.27, 0.40 and 0.33: one is missing among 90 with a probability below 1e-11.
    level, options = believing(student, [[0.0, 0.02, 0.01]] * 3), {"temperature": 0.05, "generator": student.generator(8)}
    new = speculated(student, level, idx, draft=lambda ids, k: ([], None), max_new_tokens=90, block_size=ROOMY, **options)
    equal(sorted(set(new)), [0, 1, 2], what="wrong tokens at temperature 0.05, where three logits differ by 0.02")


@checks("generate_speculative")
def test_same_state_same_text(student):
    """the same generator state gives the same tokens; without a generator torch's global state is used; greedy draws nothing"""
    model, idx = believer(student), int64([[0]])
    options = {"max_new_tokens": 40, "block_size": ROOMY}

    def run(seed, **more):
        draft = Drawn(chain=GUESSED, generator=torch.Generator().manual_seed(1))
        generator = student.generator(seed)
        before = generator.get_state()
        got = student.generate_speculative(model, idx, draft=draft, generator=generator, _rng_unchanged=True, **options, **more)
        return got, torch.equal(before, generator.get_state())

    (first, _), (again, _), (other, _) = run(7), run(7), run(8)
    equal(again, first, what="two generators in the same state gave different tokens")
    that(not torch.equal(first, other), "two generators in different states gave the same 40 tokens")
    _, stood_still = run(7, temperature=0.0)
    that(stood_still, "greedy decoding drew from the generator")
    draws_from_the_global_state(lambda **more: student.generate_speculative(model, idx, draft=Books(), **options, **more))

    def run_certain(seed):
        given = {"draft": lambda ids, k: ([1] * k, None), "generator": student.generator(seed), "_rng_unchanged": True}
        return student.generate_speculative(model, idx, **given, **options)

    (first, again, other) = (run_certain(seed) for seed in (7, 7, 8))
    equal(again, first, what="two generators in the same state gave different tokens, with a draft that gives no q")
    that(not torch.equal(first, other), "two generators in different states gave the same 40 tokens, with a draft that gives no q")


@checks("generate_speculative")
def test_gradients_are_given_back(student):
    """no gradients are recorded, and the caller's gradient mode is restored, also after an error"""
    idx = torch.ones(1, 3, dtype=torch.int64)

    def run(guess, **options):
        with contextlib.suppress(StudentRaised):
            student.generate_speculative(
                student.model("tiny"), idx, draft=lambda ids, k: ([guess][:k], None), max_new_tokens=4, block_size=ROOMY, **options
            )

    with student.counting() as work:
        run(5, temperature=0.0)
    that(work.flops > 0, "no product was seen")
    equal(work.grad_flops, 0, what="products that ran with gradients on")
    cache, config = student.KVCache(whole().config, 1, 4), torch.ones(1, 1, dtype=torch.int64)
    gradient_mode_stays(student, lambda: run(5, temperature=0.0))
    for guess in (5, -1):
        gradients_stay_on(student, lambda guess=guess: run(guess), lambda: student.forward_cached(student.model("tiny"), config, cache))
