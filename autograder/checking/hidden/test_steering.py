"""Hidden checks of the day on steering and stopping."""

from __future__ import annotations

import itertools
import math

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.checks.test_steering import (
    all_continuations,
    answer,
    chain_model,
    compare,
    compare_without_stops,
    history_model,
    kept_only,
    ladder_model,
    log_prob_of,
    log_rows,
)

CLEAR = 1e-3  # random cases in which a decision hangs on less than this are drawn again


def integers(rng, low, high, size=1):
    return torch.randint(low, high, (size,), generator=rng).tolist()


def normal(rng, *shape, scale=2.0):
    return scale * torch.randn(*shape, generator=rng, dtype=torch.float64)


# --- min-p -------------------------------------------------------------------------------------------------------


def brute_min_p(row, min_p):
    """(probabilities, how near to the threshold the nearest token is, as a share of it)."""
    highest = max(row)
    weights = [math.exp(x - highest) for x in row]
    kept = [w if w >= min_p else 0.0 for w in weights]
    margin = min((abs(w - min_p) / max(min_p, 1e-30) for w in weights), default=1.0)
    return [w / sum(kept) for w in kept], margin


@checks("min_p_probs")
def test_min_p_against_brute_force(student, rng):
    """random rows at many thresholds: the result equals that of a plain loop over the tokens"""
    for min_p in (0.01, 0.05, 0.1, 0.3, 0.5, 0.9):
        while True:
            logits = normal(rng, 4, 12)
            rows = [brute_min_p(row, min_p) for row in logits.tolist()]
            if min(margin for _, margin in rows) > CLEAR:
                break
        got = student.min_p_probs(logits.float(), min_p, _unchanged=True)
        close(got, [probs for probs, _ in rows], what=f"wrong values at min_p = {min_p}")


@checks("min_p_probs")
def test_min_p_follows_the_best(student):
    """the threshold is min_p times the best probability of the row"""
    flat = torch.tensor([[0.1 * math.sin(i) for i in range(80)]])
    close(student.min_p_probs(flat, 0.3), torch.softmax(flat, -1))
    case = torch.tensor([[0.0, math.log(0.11), math.log(0.09), math.log(0.3)]])
    close(student.min_p_probs(case, 0.1), [[1 / 1.41, 0.11 / 1.41, 0.0, 0.3 / 1.41]])


@checks("min_p_probs")
def test_min_p_large_and_negative_logits(student):
    """a constant added to all logits changes no probability"""
    logits = torch.tensor([[0.0, -1.0, -2.0, -5.0]])
    want = [[*torch.softmax(torch.tensor([0.0, -1.0, -2.0]), -1).tolist(), 0.0]]
    for shift in (0.0, 1000.0, -1000.0, 7.5, -20000.0):
        close(student.min_p_probs(logits + shift, 0.1), want, what=f"wrong values with {shift} added")


@checks("min_p_probs")
def test_min_p_masked_tokens_stay_out(student):
    """a token of logit -inf gets probability 0, also at min_p = 0"""
    masked = [1.0, float("-inf"), 0.0, -0.5]
    logits = torch.tensor([masked, [2.0, 1.0, 1.5, 0.5]])
    for min_p in (0.0, 0.05):
        got = student.min_p_probs(logits, min_p)
        close(got, torch.softmax(logits, -1), what=f"wrong values at min_p = {min_p}")


@checks("min_p_probs")
def test_min_p_ties_with_the_best(student, rng):
    """at min_p = 1, tokens tied for the best share the probability equally"""
    logits = normal(rng, 3, 7, scale=1.0).float()
    for row, (first, second) in enumerate(((0, 6), (2, 3), (5, 1))):
        logits[row, first] = logits[row, second] = 9.0 + row
    want = (logits == logits.amax(-1, keepdim=True)).double() / 2
    close(student.min_p_probs(logits, 1.0), want)


@checks("min_p_probs")
def test_min_p_in_half_precision(student):
    """half precision logits are computed in float32: tokens close to the threshold are decided correctly"""
    for dtype, share in ((torch.float16, 2e-4), (torch.bfloat16, 1e-3)):
        logits = (-torch.arange(3000) % 97 / 8).to(dtype).unsqueeze(0)  # eighths up to 12: exact in both
        want = torch.softmax(logits.double(), -1)
        for eighths in range(4, 40):  # thresholds close to a token, just above it and just below
            min_p = math.exp(-eighths / 8) * (1 + share * (-1) ** eighths)
            kept = want.where(want >= min_p * want.amax(), 0.0)
            got = torch.as_tensor(student.min_p_probs(logits, min_p))
            equal((got > 0).sum(), (kept > 0).sum(), what=f"wrong number of tokens kept in {dtype} at min_p = {min_p:.6f}")
            close(got, kept / kept.sum(), atol=1e-7, rtol=1e-2, what=f"wrong values in {dtype} at min_p = {min_p:.6f}")


@checks("min_p_probs")
def test_min_p_of_views(student, rng):
    """a transposed tensor, a row of a single token and a whole vocabulary: the probabilities are right"""
    logits = normal(rng, 9, 5, scale=1.0).float().t()  # (5, 9), transposed
    want = torch.softmax(logits, -1)
    close(student.min_p_probs(logits, 0.0, _unchanged=True), want)
    close(student.min_p_probs(torch.tensor([[-3.0]]), 0.5), [[1.0]])
    wide = -torch.arange(49_152.0).unsqueeze(0) / 4096
    want = torch.softmax(wide, -1)
    want = want.where(torch.arange(49_152) <= 4096 * math.log(2), 0.0)
    close(student.min_p_probs(wide, 0.5), want / want.sum(), atol=1e-9, rtol=1e-3)
    close(student.min_p_probs(wide.flip(-1), 0.5), want.flip(-1) / want.sum(), atol=1e-9, rtol=1e-3)


@checks("min_p_probs")
def test_min_p_at_its_borders(student):
    """min_p = 1 drops a token just below the best; min_p = 0 keeps every token; a tiny min_p still drops tokens"""
    close(student.min_p_probs(torch.tensor([[3.0, 2.9995, -1.0]]), 1.0), [[1.0, 0.0, 0.0]], atol=1e-9)
    falling = -torch.arange(60.0).unsqueeze(0)
    got = torch.as_tensor(student.min_p_probs(falling, 0.0))
    equal(int((got > 0).sum()), 60, what="min_p = 0: wrong number of tokens above 0")
    got = torch.as_tensor(student.min_p_probs(falling, 1e-6))
    equal(int((got > 0).sum()), 14, what="min_p = 1e-6 of logits 0, -1, -2, ...: wrong number of tokens above 0")


@checks("min_p_probs")
def test_min_p_every_dtype_at_every_setting(student):
    """half precision gives float32, also at min_p 0 and 1; float64 gives float64; the given logits are not changed"""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        logits = torch.tensor([[0.5, -1.0, 2.0, 2.0], [1.0, 3.0, -2.0, 0.0]], dtype=dtype)
        want = torch.softmax(logits.double(), -1)
        for min_p in (0.0, 0.2, 1.0):
            kept = want.where(want >= min_p * want.amax(-1, keepdim=True) * (1 - 1e-12), 0.0)
            got = student.min_p_probs(logits, min_p, _unchanged=True)
            wide = torch.promote_types(dtype, torch.float32)
            close(got, kept / kept.sum(-1, keepdim=True), atol=1e-6, dtype=wide, what=f"wrong values in {dtype} at min_p = {min_p}")


# --- locally typical ---------------------------------------------------------------------------------------------


def brute_typical(row, mass):
    """(probabilities, smallest margin of the order up to the border and of the mass)."""
    highest = max(row)
    weights = [math.exp(x - highest) for x in row]
    probs = [w / sum(weights) for w in weights]
    entropy = -sum(p * math.log(p) for p in probs if p > 0)
    distance = [abs(-math.log(p) - entropy) if p > 0 else math.inf for p in probs]
    order = sorted(range(len(row)), key=distance.__getitem__)
    kept, total, margin = [], 0.0, math.inf
    for token in order:
        margin = min(margin, abs(total - mass))
        if total >= mass:
            break
        kept.append(token)
        total += probs[token]
    steps = [distance[token] for token in order[: len(kept) + 1]]
    margin = min([margin, *(after - before for before, after in itertools.pairwise(steps))])
    return [p / total if i in kept else 0.0 for i, p in enumerate(probs)], margin


@checks("typical_probs")
def test_typical_against_brute_force(student, rng):
    """random rows at many masses: the result equals that of a plain loop over the tokens"""
    for mass in (0.05, 0.2, 0.5, 0.8, 0.95):
        while True:
            logits = normal(rng, 4, 12, scale=1.0 + 2 * mass)
            rows = [brute_typical(row, mass) for row in logits.tolist()]
            if min(margin for _, margin in rows) > CLEAR:
                break
        got = student.typical_probs(logits.float(), mass, _unchanged=True)
        close(got, [probs for probs, _ in rows], what=f"wrong values at mass {mass}")


@checks("typical_probs")
def test_typical_small_mass_keeps_one(student, rng):
    """a tiny mass keeps only the most typical token, whatever the probability of that token"""
    for _ in range(5):
        while True:
            row = normal(rng, 9, scale=1.5).tolist()
            want, margin = brute_typical(row, 1e-3)
            if margin > CLEAR / 10 and want.count(0.0) == 8:
                break
        got = student.typical_probs(torch.tensor([row]), 1e-3)
        close(got, [want])


@checks("typical_probs")
def test_typical_masked_tokens_stay_out(student):
    """a token of logit -inf gets probability 0 and does not disturb the other tokens"""
    minus_inf = float("-inf")
    probs = [0.40, 0.20, 0.16, 0.14, 0.10]
    row = [minus_inf, *(math.log(p) for p in probs), minus_inf]
    got = student.typical_probs(torch.tensor([row]), 0.45)
    close(got, [[0.0, 0.0, 0.4, 0.32, 0.28, 0.0, 0.0]])
    got = student.typical_probs(torch.tensor([row]), 1.0)
    close(got, [[0.0, *probs, 0.0]])


@checks("typical_probs")
def test_typical_only_gaps_count(student):
    """a large constant added to all logits changes no probability"""
    logits = torch.tensor([[0.40, 0.20, 0.16, 0.14, 0.10]]).log()
    for shift in (500.0, -500.0, 1.0):
        got = student.typical_probs(logits + shift, 0.45)
        close(got, [[0.0, 0.4, 0.32, 0.28, 0.0]], atol=1e-4)
    for shift in (5000.0, -5000.0):  # beyond what float64 can raise e to, either
        got = student.typical_probs(logits.double() + shift, 0.45)
        close(got, [[0.0, 0.4, 0.32, 0.28, 0.0]], atol=1e-6)
    got = student.typical_probs(torch.tensor([[-2.0, 0.0, 6.0, 1.0]]) - 30_000, 0.8)
    close(got, [[0.0, 0.0, 1.0, 0.0]], what="wrong values with -30,000 added")


@checks("typical_probs")
def test_typical_keeps_the_tail_of_a_sure_row_out(student):
    """a row in which one token has nearly all the probability: only that token is kept"""
    probs = [0.002, 0.97, 0.008, 0.01, 0.01]
    got = student.typical_probs(torch.tensor([probs]).log(), 0.9)
    close(got, [[0.0, 1.0, 0.0, 0.0, 0.0]])


@checks("typical_probs")
def test_typical_left_out_is_nothing(student):
    """tokens that are not kept get a probability of exactly 0"""
    got = student.typical_probs(torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log(), 0.2)
    equal(int((got == 0).sum()), 3, what="wrong number of tokens with probability exactly 0")


@checks("typical_probs")
def test_typical_border_of_equal_tokens(student):
    """each row keeps only as many of its equally probable tokens as the mass needs, also beside masked tokens"""
    logits = torch.zeros(2, 16)
    logits[1, 8:] = -math.inf
    for mass, first, second in ((0.5, 8, 4), (0.1, 2, 1), (0.9, 15, 8), (0.0625, 1, 1)):
        got = torch.as_tensor(student.typical_probs(logits, mass))
        counts = (got > 0).sum(-1)
        equal(counts, torch.tensor([first, second]), what=f"wrong number of tokens kept at mass {mass}")
        close(got.sum(-1), [1.0, 1.0])


@checks("typical_probs")
def test_typical_mass_one_of_a_vocabulary(student, rng):
    """mass = 1 keeps every one of tens of thousands of tokens"""
    logits = torch.stack([-torch.arange(20_000.0) / 400, normal(rng, 20_000, scale=4.0).float()])
    got = torch.as_tensor(student.typical_probs(logits, 1.0))
    close(got, torch.softmax(logits, -1), atol=1e-9, rtol=1e-3)
    equal(int((got > 0).sum()), 40_000, what="wrong number of tokens above 0")


@checks("typical_probs")
def test_typical_in_float64(student):
    """float64 logits are computed in float64: a tiny change of the mass changes which tokens are kept"""
    logits = torch.tensor([[0.40, 0.20, 0.16, 0.14, 0.10]], dtype=torch.float64).log()
    probs = [0.40, 0.20, 0.16, 0.14, 0.10]
    close(student.typical_probs(logits, 0.2 - 1e-9), [kept_only(probs, {1})], atol=1e-9, rtol=0)
    close(student.typical_probs(logits, 0.2 + 1e-9), [kept_only(probs, {1, 2})], atol=1e-9, rtol=0)
    close(student.typical_probs(logits, 1.0), [probs], atol=1e-12, rtol=0)


@checks("typical_probs")
def test_typical_of_views(student, rng):
    """a transposed tensor and a row of a single token: the probabilities are right"""
    logits = normal(rng, 9, 4, scale=1.0).float().t()
    while min(brute_typical(row, 0.6)[1] for row in logits.tolist()) < CLEAR:
        logits = normal(rng, 9, 4, scale=1.0).float().t()
    want = [brute_typical(row, 0.6)[0] for row in logits.tolist()]
    close(student.typical_probs(logits, 0.6, _unchanged=True), want)
    close(student.typical_probs(torch.tensor([[-3.0]]), 0.5), [[1.0]])


@checks("typical_probs")
def test_typical_near_and_far(student, rng):
    """nearly equal distances from the entropy, and an entropy of several nats: the right tokens are kept"""
    probs = [0.1950, 0.1960, 0.2050, 0.2035, 0.2005]
    want, margin = brute_typical([math.log(p) for p in probs], 0.3)
    that(margin > 1e-3 and want.count(0.0) == 3, "this check's own example has changed: report this")
    close(student.typical_probs(torch.tensor([probs], dtype=torch.float64).log(), 0.3), [want])
    while True:
        logits = normal(rng, 2, 400, scale=0.7)
        rows = [brute_typical(row, 0.3) for row in logits.tolist()]
        if min(margin for _, margin in rows) > 1e-7:
            break
    close(student.typical_probs(logits, 0.3), [probs for probs, _ in rows])


@checks("typical_probs")
def test_typical_every_dtype_at_every_setting(student):
    """half precision gives float32, also at mass 1; float64 gives float64; the given logits are not changed"""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        logits = torch.tensor([[0.5, -1.0, 2.0, 0.0], [1.0, 3.0, -2.0, 0.0]], dtype=dtype)
        for mass in (0.4, 1.0):
            rows = [brute_typical(row, mass)[0] if mass < 1 else torch.softmax(torch.tensor(row), -1).tolist() for row in logits.tolist()]
            got = student.typical_probs(logits, mass, _unchanged=True)
            wide = torch.promote_types(dtype, torch.float32)
            close(got, rows, atol=1e-6, dtype=wide, what=f"wrong values in {dtype} at mass {mass}")


@checks("typical_probs")
def test_typical_as_many_rows_as_tokens(student, rng):
    """each row has its own entropy, also with as many rows as tokens"""
    while True:
        logits = normal(rng, 6, 6, scale=1.5)
        rows = [brute_typical(row, 0.5) for row in logits.tolist()]
        if min(margin for _, margin in rows) > CLEAR:
            break
    close(student.typical_probs(logits, 0.5), [probs for probs, _ in rows])


@checks("typical_probs")
def test_typical_mass_one_keeps_the_improbable(student):
    """mass = 1 keeps tokens that are too improbable to change a running sum, in float32 and in float64"""
    for dtype in (torch.float32, torch.float64):
        logits = torch.tensor([[-50.0, 0.0, -60.0], [-70.0, -40.0, 0.0]], dtype=dtype)
        got = student.typical_probs(logits, 1.0)
        close(got, torch.softmax(logits.double(), -1), atol=0.0, rtol=1e-4, what=f"wrong values in {dtype} at mass 1")


@checks("typical_probs")
def test_typical_mass_just_below_one(student):
    """a mass just below 1 still drops the last token; a mass below 0, above 1 or nan raises ValueError"""
    for probs, mass, dtype in (
        ([0.9, 0.0999, 8e-5, 2e-5], 0.99995, torch.float32),
        ([0.9, 0.1 - 1.1e-6, 1e-6, 1e-7], 0.9999995, torch.float64),
    ):
        logits = torch.tensor([probs], dtype=torch.float64).log().to(dtype)
        got = student.typical_probs(logits, mass)
        close(got, [kept_only(probs, {0, 1, 2})], atol=1e-12, rtol=1e-3, what=f"wrong values at mass {mass}")
    for bad in (math.nan, 1.0001, -1e-9):
        raises(ValueError, lambda bad=bad: student.typical_probs(torch.tensor([[1.0, 0.0]]), bad))


# --- repetition penalty ------------------------------------------------------------------------------------------


@checks("apply_repetition_penalty")
def test_repetition_against_brute_force(student, rng):
    """random logits, ids and penalties: the result equals that of a plain loop over the tokens"""
    for penalty in (1.05, 1.3, 2.0, 5.0):
        logits, ids = normal(rng, 3, 11), torch.randint(0, 11, (3, 8), generator=rng)
        want = logits.clone()
        for row in range(3):
            for token in set(ids[row].tolist()):
                x = float(logits[row, token])
                want[row, token] = x / penalty if x > 0 else x * penalty
        got = student.apply_repetition_penalty(logits.float(), ids, penalty, _unchanged=True)
        close(got, want, what=f"wrong values at penalty {penalty}")


@checks("apply_repetition_penalty")
def test_repetition_looks_at_all_ids(student):
    """a token that occurred once, thousands of ids ago, is penalised"""
    ids = torch.tensor([[0] + [1] * 5000])
    got = student.apply_repetition_penalty(torch.tensor([[2.2, -2.0, 1.0]]), ids, 1.1)
    close(got, [[2.0, -2.2, 1.0]])


@checks("apply_repetition_penalty")
def test_repetition_penalty_lowers_or_raises(student, rng):
    """a penalty of 1 changes no logit; a penalty below 1 raises the logits of seen tokens and of no others"""
    logits, ids = normal(rng, 2, 9).float(), torch.arange(0, 9, 2).repeat(2, 1)
    close(student.apply_repetition_penalty(logits, ids, 1.0), logits)
    got = torch.as_tensor(student.apply_repetition_penalty(logits, ids, 0.5))
    factor = torch.where(logits > 0, 2.0, 0.5)
    factor[:, 1::2] = 1.0
    close(got, logits * factor)


@checks("apply_repetition_penalty")
def test_repetition_counts_the_ids_given_and_no_others(student):
    """ids of an earlier call are not penalised"""
    logits = torch.tensor([[4.0, -1.0, 2.0, 1.0]])
    student.apply_repetition_penalty(logits, torch.tensor([[3, 1, 0, 0]]), 2.0)
    got = student.apply_repetition_penalty(logits, torch.tensor([[2]]), 2.0)
    close(got, [[4.0, -1.0, 1.0, 1.0]])
    got = student.apply_repetition_penalty(logits, torch.tensor([[3, 1, 0]]), 2.0)
    close(got, [[2.0, -2.0, 2.0, 0.5]])


@checks("apply_repetition_penalty")
def test_repetition_special_logits(student):
    """a logit of -inf stays -inf, a logit of 0 stays 0, and the last token of the vocabulary can be penalised"""
    minus_inf = float("-inf")
    logits = torch.tensor([[minus_inf, 0.0, 3.0, minus_inf, 5.0]])
    got = student.apply_repetition_penalty(logits, torch.tensor([[0, 1, 4]]), 2.0)
    close(got, [[minus_inf, 0.0, 3.0, minus_inf, 2.5]])


@checks("apply_repetition_penalty")
def test_repetition_precision_and_views(student):
    """float64 logits keep all digits; float16 logits, an integer penalty and transposed tensors give the right logits"""
    logits = torch.tensor([[123456.789, -98765.4321, 0.5]], dtype=torch.float64)
    close(student.apply_repetition_penalty(logits, torch.tensor([[0, 1]]), 2.0), [[61728.3945, -197530.8642, 0.5]], atol=1e-6, rtol=0)
    half = torch.tensor([[4.0, -1.0, 2.0]], dtype=torch.float16)
    close(student.apply_repetition_penalty(half, torch.tensor([[0, 1]]), 2), [[2.0, -2.0, 2.0]])
    turned = torch.tensor([[4.0, -1.0], [-2.0, 8.0], [0.0, 1.0]]).t()  # (2, 3)
    for ids in (torch.tensor([[2, 1], [1, 1]]), torch.tensor([[2, 1], [2, 1], [1, 1]]).t()):
        got = student.apply_repetition_penalty(turned, ids, 4.0, _unchanged=True)
        lying = "in rows" if ids.is_contiguous() else "in columns"
        close(got, [[4.0, -8.0, 0.0], [-1.0, 2.0, 1.0]], what=f"wrong values for ids that lie {lying}")


@checks("apply_repetition_penalty")
def test_repetition_of_one_token_only(student):
    """the ids are one token repeated 1 to 256 times: that token is penalised once"""
    for times in (1, 5, 128, 256):
        got = student.apply_repetition_penalty(torch.tensor([[3.0, 2.2, -1.0]]), torch.tensor([[1] * times]), 1.1)
        close(got, [[3.0, 2.0, -1.0]], what=f"wrong values, {times} times")


@checks("apply_repetition_penalty")
def test_repetition_zero_and_penalty_below_one(student):
    """a logit of 0 stays 0 at any penalty; penalties below 1 and far above 1 follow the same rule"""
    logits, ids = torch.tensor([[0.0, -0.0, 3.0, -3.0, 0.01, -0.01]]), torch.tensor([[0, 1, 2, 3, 4, 5]])
    for penalty in (0.25, 1.0, 1.5, 100.0):
        want = [[0.0, 0.0, 3.0 / penalty, -3.0 * penalty, 0.01 / penalty, -0.01 * penalty]]
        close(student.apply_repetition_penalty(logits, ids, penalty), want)


@checks("apply_repetition_penalty")
def test_repetition_has_memory_of_its_own(student):
    """the result does not share memory with the given logits, also if no logit changes"""
    for ids, penalty in ((torch.tensor([[1]]), 1.0), (torch.empty(1, 0, dtype=torch.int64), 2.0)):
        first, second = torch.tensor([[1.0, -2.0, 3.0]]), torch.tensor([[5.0, 6.0, -7.0]])
        got = student.apply_repetition_penalty.again([first, ids, penalty], [second, ids, penalty])
        close(got[0], first, what="logits that were given out have changed with the ones that came in")
        close(got[1], second)


@checks("apply_repetition_penalty")
def test_repetition_more_ids_than_tokens(student, rng):
    """more ids than tokens in the vocabulary, in random order: each token is penalised once"""
    logits = torch.tensor([[2.0, -2.0, 4.0, -4.0]])
    for _ in range(3):
        order = torch.randperm(4, generator=rng)
        ids = torch.cat([order[:1].repeat(8), order[1:]])[None]
        close(student.apply_repetition_penalty(logits, ids, 2.0), [[1.0, -4.0, 2.0, -8.0]])


# --- frequency and presence --------------------------------------------------------------------------------------


@checks("apply_frequency_presence")
def test_frequency_presence_against_brute_force(student, rng):
    """random logits, ids and settings, also negative: the result equals that of a plain loop over the tokens"""
    for frequency, presence in ((0.3, 0.7), (2.0, 0.0), (0.0, 2.0), (-0.5, 0.2), (0.4, -1.5), (3.0, 2.5), (-4.0, -3.0)):
        logits, ids = normal(rng, 3, 6), torch.randint(0, 6, (3, 9), generator=rng)
        want = logits.clone()
        for row in range(3):
            for token in set(ids[row].tolist()):
                count = ids[row].tolist().count(token)
                want[row, token] -= count * frequency + presence
        got = student.apply_frequency_presence(logits.float(), ids, frequency, presence, _unchanged=True)
        close(got, want, what=f"wrong values at frequency {frequency}, presence {presence}", atol=1e-5)


@checks("apply_frequency_presence")
def test_frequency_presence_counts_the_ids_given_and_no_others(student):
    """ids of an earlier call are not counted"""
    logits = torch.tensor([[1.0, 2.0, 3.0]])
    student.apply_frequency_presence(logits, torch.tensor([[0, 0, 1]]), 0.5, 0.25)
    got = student.apply_frequency_presence(logits, torch.tensor([[2]]), 0.5, 0.25)
    close(got, [[1.0, 2.0, 2.25]])
    got = student.apply_frequency_presence(logits, torch.tensor([[0, 0, 2]]), 0.5, 0.25)
    close(got, [[-0.25, 2.0, 2.25]])


@checks("apply_frequency_presence")
def test_frequency_presence_special_logits(student):
    """a logit of -inf stays -inf, unseen tokens keep their logits, and hundreds of occurrences are all counted"""
    minus_inf = float("-inf")
    logits = torch.tensor([[minus_inf, 0.0, 3.0, minus_inf]])
    ids = torch.tensor([[0] * 3 + [2] * 300])
    got = student.apply_frequency_presence(logits, ids, 0.01, 0.5)
    close(got, [[minus_inf, 0.0, -0.5, minus_inf]], atol=1e-5)


@checks("apply_frequency_presence")
def test_frequency_and_presence_are_not_swapped(student):
    """frequency is the third argument, presence is the fourth"""
    logits = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    ids = torch.tensor([[1, 1, 1], [0, 0, 1]])
    got = student.apply_frequency_presence(logits, ids, 1.0, 0.125)
    close(got, [[0.0, -3.125], [-1.125, -0.125]])


@checks("apply_frequency_presence")
def test_frequency_presence_precision_and_views(student):
    """float64 logits keep all digits; integer settings and transposed tensors give the right logits"""
    logits = torch.tensor([[123456.789, -98765.4321]], dtype=torch.float64)
    close(student.apply_frequency_presence(logits, torch.tensor([[0, 0]]), 0.5, 0.25), [[123455.539, -98765.4321]], atol=1e-6, rtol=0)
    turned = torch.tensor([[4.0, -1.0], [-2.0, 8.0], [0.0, 1.0]]).t()  # (2, 3)
    got = student.apply_frequency_presence(turned, torch.tensor([[2, 2], [1, 0]]), 1, 2, _unchanged=True)
    close(got, [[4.0, -2.0, -4.0], [-4.0, 5.0, 1.0]])
    got = student.apply_frequency_presence(turned, torch.tensor([[2, 1], [2, 0], [2, 1]]).t(), 1, 2, _unchanged=True)
    close(got, [[4.0, -2.0, -5.0], [-4.0, 4.0, 1.0]], what="wrong values for ids that lie in columns")


@checks("apply_frequency_presence")
def test_frequency_presence_has_memory_of_its_own(student):
    """the result does not share memory with the given logits, also if no logit changes"""
    for ids, settings in ((torch.tensor([[1]]), (0.0, 0.0)), (torch.empty(1, 0, dtype=torch.int64), (0.5, 0.5))):
        first, second = torch.tensor([[1.0, -2.0, 3.0]]), torch.tensor([[5.0, 6.0, -7.0]])
        got = student.apply_frequency_presence.again([first, ids, *settings], [second, ids, *settings])
        close(got[0], first, what="logits that were given out have changed with the ones that came in")
        close(got[1], second)


@checks("apply_frequency_presence")
def test_frequency_presence_leaves_every_dtype(student):
    """the given logits are not changed, whatever their dtype; in half precision every occurrence is counted"""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        logits = torch.tensor([[1.0, -2.0, 3.0]], dtype=dtype)
        got = student.apply_frequency_presence(logits, torch.tensor([[0, 0, 2]]), 0.5, 0.25, _unchanged=True)
        close(got, [[-0.25, -2.0, 2.25]])
    for dtype, count in ((torch.bfloat16, 261), (torch.float16, 2049)):  # the dtype does not have this number
        got = student.apply_frequency_presence(torch.tensor([[2.0, 1.0]], dtype=dtype), torch.tensor([[1] * count]), 1 / count, 0.0)
        close(got, [[2.0, 0.0]], atol=2e-4, what=f"{count:,} occurrences at frequency 1 / {count}, logits in {dtype}: wrong values")


# --- stop strings ------------------------------------------------------------------------------------------------


def word(rng, letters, length):
    return "".join(letters[i] for i in integers(rng, 0, len(letters), length))


def cut(rng, text, longest=4):
    """The text in pieces of 0 to `longest` characters."""
    pieces = []
    while text:
        n = integers(rng, 0, longest + 1)[0]
        pieces.append(text[:n])
        text = text[n:]
    return pieces


@checks("StopStrings", weight=2)
def test_stop_random_streams(student, rng):
    """random stops and texts, cut at random: each push emits exactly the right text"""
    for tried in range(60):
        letters = "ab" if tried % 2 else "abc"
        stops = [word(rng, letters, length) for length in integers(rng, 1, 5, integers(rng, 1, 4)[0])]
        compare(student, stops, cut(rng, word(rng, letters, 14)))


@checks("StopStrings")
def test_stop_inside_another_in_every_cut(student):
    """one stop inside another, the text cut in every possible way: the right stop wins"""
    nested = [(["abcd", "bc"], "abcd"), (["abc", "b"], "abc"), (["aab", "ab"], "aaab"), (["aba", "ba"], "aba")]
    nested.append((["cd", "abcd", "bcd"], "xabcd"))
    for stops, text in nested:
        for places in itertools.product((False, True), repeat=len(text) - 1):
            cuts = [0, *(i + 1 for i, here in enumerate(places) if here), len(text)]
            compare(student, stops, [text[start:end] for start, end in itertools.pairwise(cuts)])
            compare(student, stops[::-1], [text[start:end] for start, end in itertools.pairwise(cuts)])


@checks("StopStrings")
def test_stop_stops_of_any_sequence(student):
    """a tuple of stops, no stop, a repeated stop, a very long stop, many stops: each push emits the right text"""
    compare(student, ("##", "END"), ["one #", "two E", "ND"])
    compare_without_stops(student, (), ["a#", "", "b"])
    compare(student, ["ab", "ab"], ["xa", "b"])
    long = "-" * 300 + "!"
    compare(student, [long], ["a" + "-" * 150, "-" * 149, "-", "b", "-" * 299, "-", "!", "c"])
    compare(student, [f"<{i}>" for i in range(40)], ["a <3", "9> b"])
    compare(student, ["x"], ["abc", "", "d"])
    compare(student, [2 * letter for letter in "abcdefghijklmnopqrstuvwxyz"], ["one a", "n", "d z", "- z", "z"])


@checks("StopStrings")
def test_stop_in_a_long_piece(student):
    """a piece of two thousand characters that may each begin a stop, and a stop of 1,500 characters: each push is right"""
    compare(student, ["ab"], ["a" * 2_000, "ac", "a", "b"])
    compare(student, [750 * "ab" + "!"], ["x" + 750 * "ab" + "!y"])


@checks("StopStrings")
def test_stop_cuts_do_not_matter(student):
    """the emitted text is the same however the text is cut into pieces"""
    text, stops = "She said: <end of story> and then <end> more", ["<end>", "<stop>"]
    for size in (1, 2, 3, 5, 8, 13, 100):
        compare(student, stops, [text[i : i + size] for i in range(0, len(text), size)])


@checks("StopStrings")
def test_stop_that_begins_inside_itself(student):
    """a stop whose beginning repeats is found after one or more false starts"""
    for stop, text in (("aab", "aaaab!"), ("abac", "ababacx"), ("\n\n\n#", "x\n\n\n\n#y"), ("ababc", "abababc")):
        for pieces in (list(text), [text], [text[:3], text[3:]]):
            compare(student, [stop], pieces)


@checks("StopStrings")
def test_stop_that_begins_again_and_again(student, rng):
    """a text made only of beginnings of the stop: each push emits the right text"""
    for _ in range(60):
        stop = word(rng, "ab", integers(rng, 4, 8)[0])
        text = "".join(stop[:n] for n in integers(rng, 1, len(stop), 6))
        compare(student, [stop], cut(rng, text))


@checks("StopStrings")
def test_stop_several_beginnings(student):
    """the end of the text may begin several stops: the longest possible beginning is held back"""
    compare(student, ["bcd", "abcx"], ["zab", "c", "y", "bc", "e"])
    compare(student, ["abcx", "bcd"], ["zab", "c", "d"])
    compare(student, ["</s>", "</stop>", "<|end|>"], ["a<", "/", "s", "t", "op", "<|e", "nd|", ">"])
    compare(student, ["abcd", "bc"], ["xabcy"])
    compare(student, ["\nObservation from tool:"], ["so\nObservation from", " tool", ": 3"])
    compare(student, ["cd", "abcd"], ["ab", "c", "d"])


@checks("StopStrings")
def test_stop_ordinary_characters(student):
    """stops are plain text: dots, brackets, case, accents and line ends match only themselves"""
    compare(student, ["..."], ["one.", "two", "..", ".three"])
    compare(student, ["(a|b)*"], ["a b (a", "|b)*"])
    compare(student, ["STOP"], ["stop Stop S", "TO", "P"])
    compare(student, ["\n"], ["  keep my spaces ", " \t", "\n"])
    compare(student, ["终わり", "fin é"], ["最终", "わ", "りx"])
    compare(student, ["fin é"], ["fin", " ", "e fin ", "é"])
    compare(student, ["é"], ["e", "\u0301 x ", "é"])  # an accent of its own is another text
    compare(student, ["e\u0301"], ["é", "e", "\u0301"])
    compare(student, ["END"], ["a\r\nb\r", "\nc\x00 \u2028\u00a0E", "ND"])
    compare(student, ["\r\n\r\n"], ["x\r\n", "y\n\n", "\r\n\r", "\n"])


@checks("StopStrings")
def test_stop_streams_know_nothing_of_each_other(student):
    """two streams used in turn do not share text; an empty piece changes nothing"""
    one, two = student.StopStrings(["ab"]), student.StopStrings(["xy"])
    for stream, piece, want in (
        (one, "1a", ("1", False)),
        (two, "2x", ("2", False)),
        (one, "", ("", False)),
        (one, "b", ("", True)),
        (two, "b", ("xb", False)),
    ):
        emit, stopped = stream.push(piece)
        that((emit, bool(stopped)) == want, f"push({piece!r})", expected=repr(want), got=repr((emit, stopped)))
    equal([one.flush(), two.flush()], ["", ""], what="wrong flushes")


@checks("StopStrings")
def test_stop_swallows_the_rest_of_its_piece(student):
    """text after a stop in the same piece is never emitted"""
    compare(student, ["##", "!?"], ["so #", "#more !", "?", "text", "", "##"])


@checks("StopStrings")
def test_stop_is_taken_as_it_is(student):
    """spaces, line ends and upper or lower case in a stop must match exactly"""
    for stops, pushes, want, rest in (
        ([" stop"], ["a", " st", "op"], [("a", False), ("", False), ("", True)], ""),
        ([" stop"], ["stop", " sto"], [("stop", False), ("", False)], " sto"),
        (["end "], ["end", " x"], [("", False), ("", True)], ""),
        (["end "], ["the end"], [("the ", False)], "end"),
        (["\n\n"], ["a\n", "b\n", "\n"], [("a", False), ("\nb", False), ("", True)], ""),
        (["Stop"], ["st", "STO", "S"], [("st", False), ("STO", False), ("", False)], "S"),
        (["stop"], ["S", "Stop"], [("S", False), ("Stop", False)], ""),
    ):
        stream = student.StopStrings(stops)
        got = [tuple(stream.push(text)) for text in pushes]
        equal(got, want, what=f"wrong pushes for the stops {stops} and the pieces {pushes}")
        equal(stream.flush(), rest, what=f"wrong flush for the stops {stops} and the pieces {pushes}")


# --- beam search -------------------------------------------------------------------------------------------------


def children(model, prompt, hypotheses):
    """Return every hypothesis extended by every token, as (tokens, log_prob). The hypotheses have equal length."""
    ids = torch.tensor([[*prompt, *tokens] for tokens, _ in hypotheses])
    rows = torch.log_softmax(model(ids)[:, -1], -1).tolist()
    return [
        ((*tokens, token), log_prob + step)
        for (tokens, log_prob), row in zip(hypotheses, rows, strict=True)
        for token, step in enumerate(row)
    ]


def plain_beam(model, prompt, beams, steps):
    """(tokens, log_prob, smallest margin of any decision) of beam search without EOS."""
    kept, margin = [((), 0.0)], math.inf
    for _ in range(steps):
        grown = sorted(children(model, prompt, kept), key=lambda h: -h[1])
        if len(grown) > beams:
            margin = min(margin, grown[beams - 1][1] - grown[beams][1])
        kept = grown[:beams]
    if len(kept) > 1:
        margin = min(margin, kept[0][1] - kept[1][1])
    return list(kept[0][0]), kept[0][1], margin


def beam_with_eos(model, prompt, beams, steps, eos, penalty):
    """(tokens, smallest margin of any decision) of beam search; finished hypotheses hold their place."""

    def score(hypothesis):
        tokens, log_prob = hypothesis
        return log_prob / len(tokens) ** penalty

    best, margin = [((), 0.0)], math.inf
    for _ in range(steps):
        live = [h for h in best if not (h[0] and h[0][-1] == eos)]
        if not live:
            break
        pool = sorted([*children(model, prompt, live), *(h for h in best if h not in live)], key=score, reverse=True)
        margin = min([margin, *(score(a) - score(b) for a, b in itertools.pairwise(pool[: beams + 1]))])
        best = pool[:beams]
    return list(best[0][0]), margin


@checks("beam_search")
def test_beam_as_many_as_asked_for(student, rng):
    """random models, two to four beams, no EOS: exactly that number of hypotheses is kept"""
    for beams in (2, 3, 4):
        while True:
            prompt = integers(rng, 0, 12, 2)
            model = history_model(12, 8, rng, spread=0.4)
            tokens, log_prob, margin = plain_beam(model, prompt, beams, 6)
            others = 1 if beams == 2 else 2 * beams if beams == 3 else beams - 1  # too few, too many, one too few
            if margin > CLEAR and tokens != plain_beam(model, prompt, others, 6)[0]:
                break
        idx = torch.tensor([prompt])
        got, got_log_prob = answer(student.beam_search(model, idx, beams=beams, max_new_tokens=6, _unchanged=True), idx)
        equal(got, tokens, what=f"wrong tokens with {beams} beams")
        close(got_log_prob, log_prob, atol=1e-4)


@checks("beam_search")
def test_beam_enough_beams_with_eos(student, rng):
    """with an EOS, enough beams find the best continuation, whether or not the best ends early"""
    vocab, steps, eos = 3, 4, 1
    ends = {True: 0, False: 0}
    while min(ends.values()) < 2:
        model, prompt = history_model(vocab, 1 + steps, rng, spread=1.0), [integers(rng, 0, vocab)[0]]
        (best, want), (runner_up, _) = all_continuations(model, prompt, vocab, steps, eos)[:2]
        early = eos in want
        if best - runner_up < CLEAR or ends[early] >= 2:
            continue
        ends[early] += 1
        idx = torch.tensor([prompt])
        result = student.beam_search(model, idx, beams=vocab**steps, max_new_tokens=steps, eos_token_id=eos)
        tokens, log_prob = answer(result, idx)
        equal(tokens, want)
        close(log_prob, best, atol=1e-4)


@checks("beam_search")
def test_beam_few_beams_with_eos(student, rng):
    """few beams, with and without a length penalty: the right hypothesis wins, whether it ends early, late or never"""
    eos = 0
    wanted = [(2, "at once", 0.0), (2, "later", 0.0), (3, "later", 0.0), (3, "never", 0.0)]
    wanted += [(2, "later", 0.5), (3, "never", 0.7), (2, "at once", 1.0)]
    while wanted:
        (beams, when, penalty), prompt = wanted[0], [integers(rng, 1, 6)[0]]
        model = history_model(6, 5, rng, spread=1.0)
        tokens, margin = beam_with_eos(model, prompt, beams, 4, eos, penalty)
        if when != ("never" if eos not in tokens else "at once" if tokens == [eos] else "later") or margin < CLEAR:
            continue
        wanted.pop(0)
        idx = torch.tensor([prompt])
        got = student.beam_search(model, idx, beams=beams, max_new_tokens=4, length_penalty=penalty, eos_token_id=eos)
        got_tokens, log_prob = answer(got, idx)
        equal(got_tokens, tokens, what=f"wrong tokens with {beams} beams and length penalty {penalty}")
        close(log_prob, log_prob_of(model, prompt, tokens), atol=1e-4)


@checks("beam_search")
def test_beam_does_not_stop_at_the_first_eos(student):
    """the search does not stop at the first EOS: a better hypothesis still wins, a worse one does not"""
    eos = 3
    rows = [[0.03, 0.90, 0.05, 0.02], [0.02, 0.05, 0.91, 0.02], [0.3, 0.4, 0.29, 0.01], [0.25, 0.25, 0.25, 0.25]]
    rows.append([0.60, 0.06, 0.04, 0.30])  # the prompt's row: EOS 0.30, token 0 0.60, then 0.90 and 0.91
    model, idx = chain_model(log_rows(rows)), torch.tensor([[4]])
    got = student.beam_search(model, idx, beams=2, max_new_tokens=3, eos_token_id=eos)
    tokens, log_prob = answer(got, idx)
    equal(tokens, [0, 1, 2])
    close(log_prob, math.log(0.6 * 0.9 * 0.91), atol=1e-4)
    rows[0] = [0.24, 0.25, 0.26, 0.25]
    model = chain_model(log_rows(rows))
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=3, eos_token_id=eos), idx)
    equal(tokens, [eos])
    close(log_prob, math.log(0.3), atol=1e-4)


@checks("beam_search")
def test_beam_finished_may_be_pushed_out(student):
    """a finished hypothesis that was pushed out of the beams does not come back"""
    # Two beams. EOS at once 0.30, token 0 0.68; then 0.34 and 0.32 are better than 0.30; after them nothing has more than 0.26.
    eos, vocab = 3, 8
    rows = torch.full((vocab + 1, vocab), 1e-4, dtype=torch.float64)
    rows[vocab, 0], rows[vocab, eos] = 0.68, 0.30
    rows[0, 1], rows[0, 2] = 0.51, 0.48
    rows[1], rows[2] = torch.tensor([[0.26, 0.14, 0.12, 0.10, 0.10, 0.10, 0.09, 0.09]] * 2)
    model, idx = chain_model((rows / rows.sum(-1, keepdim=True)).log()), torch.tensor([[vocab]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=3, eos_token_id=eos), idx)
    equal(tokens, [0, 1, 0])
    close(log_prob, log_prob_of(model, [vocab], [0, 1, 0]), atol=1e-4)


@checks("beam_search")
def test_beam_finished_best_may_still_be_overtaken(student):
    """with a length penalty the search goes on while a longer hypothesis may still win"""
    eos, idx = 6, torch.tensor([[7]])
    model = ladder_model(0.5, [0.45, 0.9, 0.9, 0.9])  # -0.693 at once, -1.115 in four: -0.279 a token
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=5, length_penalty=1.0, eos_token_id=eos), idx)
    equal(tokens, [0, 1, 2, eos])
    close(log_prob, math.log(0.45 * 0.9**3), atol=1e-4)


@checks("beam_search")
def test_beam_length_penalty_in_numbers(student):
    """the score is log_prob / n ** length_penalty, where n counts the new tokens with EOS, but not the prompt"""
    eos = 6
    for short, long, steps in (
        (0.50, [0.45, 0.65, 0.565], {0.0: 1, 1.0: 3}),  # -0.693 against -1.800: -0.600 a token
        (0.60, [0.39, 0.60, 0.577], {1.0: 1, 2.0: 3, 1.5: 3}),  # -0.511 against -2.002: -0.667 a token, -0.222 by the square
    ):
        model = ladder_model(short, long)
        for prompt in ([7], [0, 1, 7], [7] * 9):
            idx = torch.tensor([prompt])
            for penalty, length in steps.items():
                got = student.beam_search(model, idx, beams=3, max_new_tokens=4, length_penalty=penalty, eos_token_id=eos)
                tokens, log_prob = answer(got, idx)
                equal(tokens, [0, 1, eos] if length == 3 else [eos], what=f"wrong tokens at length penalty {penalty}")
                close(log_prob, math.log(math.prod(long)) if length == 3 else math.log(short), atol=1e-3)


@checks("beam_search")
def test_beam_by_a_hair(student):
    """of two nearly equal hypotheses the better wins, finished or not; with enough beams, equal hypotheses all stay"""
    eos, idx = 3, torch.tensor([[4]])
    for first, ended in ((0.300, False), (0.302, True)):
        rows = torch.full((5, 4), 0.25, dtype=torch.float64)
        rows[4] = torch.tensor([0.40, 0.20, 0.40 - first, first])
        rows[0] = torch.tensor([0.0, 0.7525, 0.2475, 0.0])  # 0.40 x 0.7525 = 0.301
        tokens, _ = answer(student.beam_search(chain_model(rows.log()), idx, beams=3, max_new_tokens=2, eos_token_id=eos), idx)
        equal(tokens, [eos] if ended else [0, 1], what=f"EOS at once has {first}, the other way 0.301: wrong tokens")
    for better in range(4):  # four that are equal all stay
        rows = torch.full((6, 5), 0.2, dtype=torch.float64)
        rows[5] = torch.tensor([0.23, 0.23, 0.23, 0.23, 0.08])
        rows[better] = torch.tensor([0.04, 0.84, 0.04, 0.04, 0.04])
        tokens, log_prob = answer(
            student.beam_search(chain_model(rows.log()), torch.tensor([[5]]), beams=4, max_new_tokens=2), torch.tensor([[5]])
        )
        equal(tokens, [better, 1], what="four hypotheses have 0.23 each, and there are four beams: wrong tokens")
        close(log_prob, math.log(0.23 * 0.84), atol=1e-4)


@checks("beam_search")
def test_beam_sees_the_whole_prompt(student):
    """the model gets the whole of a long prompt and all new tokens in every call"""
    lengths = []

    def model(ids):
        lengths.append(ids.shape[1])
        logits = torch.zeros(*ids.shape, 5, dtype=torch.float64)
        logits[torch.arange(len(ids)), -1, (ids[:, 0] + ids[:, -1]) % 5] = 3.0
        return logits

    idx = torch.tensor([[2, *[0] * 600, 1]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=3), idx)
    equal(tokens, [3, 0, 2])
    close(log_prob, 3 * (3.0 - math.log(4 + math.exp(3.0))), atol=1e-4)
    equal(sorted(set(lengths)), [602, 603, 604], what="wrong lengths of what the model was given")


@checks("beam_search")
def test_beam_default_settings(student):
    """by default there is no length penalty, not even a small one, and no token is EOS"""
    eos, idx = 6, torch.tensor([[7]])
    # ln 0.4 = -0.9163 against ln 0.3965 = -0.9251 in five tokens: a penalty of 0.006 would turn it round.
    model = ladder_model(0.4, [0.5, 0.9, 0.95, 0.95, 0.3965 / (0.5 * 0.9 * 0.95 * 0.95)])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=3, max_new_tokens=6, eos_token_id=eos), idx)
    equal(tokens, [eos], what="wrong tokens with no length_penalty given")
    close(log_prob, math.log(0.4), atol=1e-4)
    tokens, _ = answer(student.beam_search(model, idx, beams=3, max_new_tokens=6, eos_token_id=eos, length_penalty=0.01), idx)
    equal(tokens, [0, 1, 2, 3, eos], what="wrong tokens with a length_penalty of 0.01")
    for token in range(3):  # every id is a token like any other where no EOS is given
        rows = [[0.1] * 3 for _ in range(4)]
        rows[token] = [0.8 if i == (token + 1) % 3 else 0.1 for i in range(3)]
        rows[3] = [0.8 if i == token else 0.1 for i in range(3)]
        idx = torch.tensor([[3]])
        tokens, _ = answer(student.beam_search(chain_model(log_rows(rows)), idx, beams=2, max_new_tokens=2), idx)
        equal(tokens, [token, (token + 1) % 3], what="wrong tokens where no eos_token_id is given")


@checks("beam_search")
def test_beam_everything_finished(student):
    """all hypotheses finished: the best of them is returned, and the model is never called with 0 rows"""
    eos, sizes = 0, []
    chain = chain_model(log_rows([[0.1, 0.45, 0.45], [0.98, 0.01, 0.01], [0.97, 0.02, 0.01], [0.9, 0.06, 0.04]]))

    def model(ids):
        sizes.append(len(ids))
        return chain(ids)

    for beams, steps in ((1, 5), (2, 5), (3, 7), (1, 1)):
        for penalty in (0.0, 1.0):
            idx = torch.tensor([[3]])
            got = student.beam_search(model, idx, beams=beams, max_new_tokens=steps, length_penalty=penalty, eos_token_id=eos)
            tokens, log_prob = answer(got, idx)
            equal(tokens, [eos], what=f"wrong tokens with {beams} beams, {steps} steps, length penalty {penalty}")
            close(log_prob, math.log(0.9), atol=1e-4)
    that(min(sizes) >= 1, "the model was called with no rows at all", expected="1 or more", got=min(sizes))


@checks("beam_search")
def test_beam_after_a_conversation(student):
    """EOS tokens in the prompt, also at its end, do not finish a hypothesis; a generated EOS does"""
    chain = chain_model(log_rows([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.9, 0.05, 0.05]]))
    for prompt, want in (([1, 0, 2, 0, 1, 0], [1, 2, 0]), ([0, 0, 0, 1], [2, 0])):
        idx = torch.tensor([prompt])
        tokens, log_prob = answer(student.beam_search(chain, idx, beams=2, max_new_tokens=6, eos_token_id=0), idx)
        equal(tokens, want, what=f"wrong tokens after the prompt {prompt}, EOS 0")
        close(log_prob, math.log(0.8 ** (len(want) - 1) * 0.9), atol=1e-4)


@checks("beam_search")
def test_beam_no_new_tokens(student):
    """max_new_tokens = 0 returns the prompt and log_prob 0"""
    idx = torch.tensor([[1, 0, 2]])
    model = chain_model(log_rows([[0.2, 0.3, 0.5]] * 3))
    for settings in ({}, {"length_penalty": 1.0}, {"eos_token_id": 2}):
        tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=0, **settings), idx)
        equal(tokens, [])
        close(log_prob, 0.0)


@checks("beam_search")
def test_beam_forbidden_tokens(student):
    """tokens of logit -inf are never chosen, also with more beams than possible continuations"""
    rows = torch.tensor([[0.0, 0.32, 0.35, 0.33], [0.0, 0.0, 0.1, 0.9], [0.25] * 4, [0.6, 0.4, 0.0, 0.0]]).log()
    idx = torch.tensor([[3]])
    for beams in (2, 3, 5, 40):
        for penalty in (0.0, 1.0):
            got = student.beam_search(chain_model(rows), idx, beams=beams, max_new_tokens=2, length_penalty=penalty)
            tokens, log_prob = answer(got, idx)
            equal(tokens, [1, 3], what=f"wrong tokens with {beams} beams")
            close(log_prob, math.log(0.36), atol=1e-4)


@checks("beam_search")
def test_beam_half_precision(student):
    """a model in half precision: the sum of many log probabilities stays accurate"""
    for dtype in (torch.float16, torch.bfloat16):
        rows = torch.zeros(16, 16, dtype=dtype)
        rows[torch.arange(16), (torch.arange(16) * 5 + 3) % 16] = 1.875  # -1.19402 a token; in float16 -1.19434
        idx, steps = torch.tensor([[7]]), 60
        tokens, log_prob = answer(student.beam_search(chain_model(rows), idx, beams=2, max_new_tokens=steps), idx)
        close(log_prob, steps * (1.875 - math.log(15 + math.exp(1.875))), rtol=1e-4, what=f"wrong log_prob of a model in {dtype}")
        that(all(b == (a * 5 + 3) % 16 for a, b in itertools.pairwise([7, *tokens])), "not the best continuation")


@checks("beam_search")
def test_beam_far_behind_may_still_win(student):
    """a hypothesis a hundred times less probable than the best is kept and wins in the end"""
    vocab = 250
    rows = torch.full((vocab + 1, vocab), 1 / vocab, dtype=torch.float64)
    rows[vocab] = torch.tensor([0.985, 0.01, *[0.005 / (vocab - 2)] * (vocab - 2)])
    rows[1] = torch.tensor([0.001 / (vocab - 1)] * 7 + [0.999] + [0.001 / (vocab - 1)] * (vocab - 8))
    idx = torch.tensor([[vocab]])
    tokens, log_prob = answer(student.beam_search(chain_model(rows.log()), idx, beams=2, max_new_tokens=2), idx)
    equal(tokens, [1, 7])
    close(log_prob, math.log(0.01 * 0.999), atol=1e-4)


@checks("beam_search")
def test_beam_more_beams_than_tokens(student):
    """more beams than tokens in the vocabulary: the last of the kept hypotheses may win in the end"""
    idx = torch.tensor([[0, 1]])

    def model(ids):
        logits = torch.zeros(*ids.shape, 2, dtype=torch.float64)  # evens, but for
        for row, (_, _, *new) in enumerate(ids.tolist()):
            if not new:
                logits[row, -1] = torch.tensor([0.6, 0.4]).log()
            elif new[:2] == [1, 0]:
                logits[row, -1] = torch.tensor([0.01, 0.99]).log()
            elif new == [1]:
                logits[row, -1] = torch.tensor([0.49, 0.51]).log()
        return logits

    for beams, want in ((4, [1, 0, 1]), (8, [1, 0, 1])):
        tokens, log_prob = answer(student.beam_search(model, idx, beams=beams, max_new_tokens=3), idx)
        equal(tokens, want, what=f"wrong tokens with {beams} beams")
        close(log_prob, math.log(0.4 * 0.49 * 0.99), atol=1e-4)


@checks("beam_search")
def test_beam_same_again(student, rng):
    """the search draws no random numbers, and the same call gives the same result twice"""
    model, idx = history_model(5, 7, rng), torch.tensor([[2, 4]])
    want, log_prob, _ = plain_beam(model, [2, 4], 3, 4)
    for _ in range(2):
        got = student.beam_search(model, idx, beams=3, max_new_tokens=4, _unchanged=True, _rng_unchanged=True)
        tokens, found = answer(got, idx)
        equal(tokens, want)
        close(found, log_prob, atol=1e-4)


@checks("beam_search")
def test_beam_logits_are_not_log_probabilities(student, rng):
    """the model gives logits, not log probabilities: a constant added to a row of logits changes nothing"""
    model, prompt = history_model(4, 6, rng, spread=1.0), [1, 3, 0]

    def shifted(ids):
        return model(ids) + 10.0 * (ids.cumsum(-1) % 3).unsqueeze(-1)

    best, _ = all_continuations(model, prompt, 4, 3)[0]
    idx = torch.tensor([prompt])
    tokens, log_prob = answer(student.beam_search(shifted, idx, beams=64, max_new_tokens=3), idx)
    close(log_prob, best, atol=1e-4)
    close(log_prob_of(model, prompt, tokens), best, atol=1e-4)


@checks("beam_search")
def test_beam_children_of_one_parent_may_all_survive(student):
    """all kept hypotheses may come from the same parent hypothesis"""
    words, prompt = 8, 8  # the prompt is a token of its own; 0 leads to 3, 4, 5, and 5 to a certainty
    flat = [1 / words] * words
    rows = [flat] * (words + 1)
    rows[prompt] = [0.90, 0.05, 0.05, 0, 0, 0, 0, 0]
    rows[0] = [0, 0, 0, 0.36, 0.34, 0.30, 0, 0]
    rows[5] = [0, 0, 0, 0, 0, 0, 0.02, 0.98]
    idx = torch.tensor([[prompt]])
    got = student.beam_search(chain_model(log_rows(rows)), idx, beams=3, max_new_tokens=3)
    tokens, log_prob = answer(got, idx)
    equal(tokens, [0, 5, 7])
    close(log_prob, math.log(0.9 * 0.3 * 0.98), atol=1e-4)


@checks("beam_search")
def test_beam_twenty_beams(student):
    """the last of up to twenty kept hypotheses may win in the end"""
    rows = torch.full((22, 22), 1 / 22, dtype=torch.float64)
    first = torch.linspace(0.051, 0.046, 22, dtype=torch.float64)
    rows[21] = first / first.sum()  # the prompt's row: tokens 0, 1, 2, ... in falling order
    for last, beams in ((5, 6), (11, 12), (19, 20)):
        model_rows = rows.clone()
        model_rows[last] = torch.tensor([0.1 / 21] * 3 + [0.9] + [0.1 / 21] * 18)
        idx = torch.tensor([[21]])
        tokens, log_prob = answer(student.beam_search(chain_model(model_rows.log()), idx, beams=beams, max_new_tokens=2), idx)
        equal(tokens, [last, 3], what=f"wrong tokens with {beams} beams")
        close(log_prob, math.log(float(rows[21, last]) * 0.9), atol=1e-4)


@checks("beam_search")
def test_beam_length_penalty_below_zero(student):
    """a length penalty below 0 favours the shorter hypothesis"""
    eos, idx = 6, torch.tensor([[7]])
    model = ladder_model(0.4, [0.5, 0.95, 0.95])  # -0.916 at once, -0.796 in three: times 3 it is -2.387
    for penalty, want in ((0.0, [0, 1, eos]), (-1.0, [eos])):
        got = student.beam_search(model, idx, beams=3, max_new_tokens=4, length_penalty=penalty, eos_token_id=eos)
        tokens, log_prob = answer(got, idx)
        equal(tokens, want, what=f"wrong tokens at length penalty {penalty}")
        close(log_prob, math.log(0.4 if want == [eos] else 0.5 * 0.95**2), atol=1e-4)


@checks("beam_search")
def test_beam_leaves_the_gradient_mode(student):
    """gradient mode, on or off, is restored after the search and after an error of the model"""
    table = log_rows([[0.2, 0.3, 0.5]] * 3)
    idx = torch.tensor([[1, 0]])

    def broken(ids):
        raise RuntimeError("out of memory")

    for gradients, mode in ((True, "on"), (False, "off")):
        before = student.gradients(gradients)
        try:
            tokens, log_prob = answer(student.beam_search(chain_model(table), idx, beams=2, max_new_tokens=2), idx)
            after_answer = student.gradients(gradients)
            raises(RuntimeError, lambda: student.beam_search(broken, idx, beams=2, max_new_tokens=2))
            after_error = student.gradients(gradients)
        finally:
            student.gradients(before != "off")
        equal(tokens, [2, 2])
        close(log_prob, 2 * math.log(0.5), atol=1e-4)
        equal(after_answer, mode, what="gradient mode after the call is not what it was before")
        equal(after_error, mode, what="gradient mode after the model raised is not what it was before")
