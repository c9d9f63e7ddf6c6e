"""Visible checks of the day on steering and stopping."""

from __future__ import annotations

import itertools
import math

import torch

from autograder.authoring import because, checks, close, equal, exception_names, raises, show, that
from autograder.checking.helpers.work_bounds import gradient_mode_stays

FIVE = [2.0, -1.5, 0.3, 4.2, -0.8]


# --- what the checks share ---------------------------------------------------------------------------------------


def chain_model(rows):
    """A model that looks at the last token only: rows (V, V) of logits -> ids (B, T) to logits (B, T, V)."""
    table = torch.as_tensor(rows)

    def model(ids):
        if ids.dim() != 2:
            raise ValueError(f"the model takes ids of shape (B, T), got {tuple(ids.shape)}")
        return table[ids]

    return model


def log_rows(rows):
    """Rows of probabilities as logits; a probability of 0 becomes one that nobody will choose."""
    return torch.tensor(rows, dtype=torch.float64).clamp_min(1e-12).log()


def history_model(vocab, longest, rng, spread=1.5):
    """A model whose logits depend on every token so far: ids (B, T) -> logits (B, T, V), float64."""
    weights = spread * torch.randn(longest, vocab, vocab, generator=rng, dtype=torch.float64)

    def model(ids):
        batch, length = ids.shape
        logits = torch.zeros(batch, length, vocab, dtype=torch.float64)
        for back in range(length):  # the token `back` places ago adds its row
            logits[:, back:] += weights[back][ids[:, : length - back]]
        return logits

    return model


def answer(result, idx):
    """(new tokens as a list, log_prob as a float) of what beam_search gave back."""
    that(len(result) == 2, "two values are expected: ids and log_prob", expected=2, got=len(result))
    ids, log_prob = torch.as_tensor(result[0]), result[1]
    prompt = idx.reshape(-1).tolist()
    that(ids.dtype == torch.int64, "wrong dtype of the ids", expected="torch.int64", got=str(ids.dtype))
    that(
        ids.dim() == 2 and len(ids) == 1,
        "wrong shape of the ids",
        expected=f"(1, {len(prompt)} + n)",
        got=str(tuple(ids.shape)),
        cause="Prompt and new tokens belong in one tensor of shape (1, T + n).",
    )
    ids = [int(i) for i in ids[0]]
    that(
        ids[: len(prompt)] == prompt,
        "the ids do not begin with the prompt",
        expected=prompt,
        got=ids,
        cause="Prompt and new tokens belong in one tensor of shape (1, T + n).",
    )
    return ids[len(prompt) :], float(log_prob)


def log_prob_of(model, prompt, tokens):
    """The sum of the log probabilities of `tokens` after `prompt`, in float64."""
    ids = torch.tensor([[*prompt, *tokens]])
    log_probs = torch.log_softmax(model(ids).to(torch.float64), dim=-1)[0]
    return sum(float(log_probs[len(prompt) - 1 + i, token]) for i, token in enumerate(tokens))


def all_continuations(model, prompt, vocab, steps, eos=None):
    """(log_prob, tokens) of every continuation of `steps` tokens, best first; with EOS a continuation ends there."""
    every = torch.tensor(list(itertools.product(range(vocab), repeat=steps)))  # (V**steps, steps)
    ids = torch.cat([torch.tensor([prompt] * len(every)), every], dim=1)
    log_probs = torch.log_softmax(model(ids).to(torch.float64), dim=-1)[:, len(prompt) - 1 : -1]
    log_probs = log_probs.gather(-1, every.unsqueeze(-1)).squeeze(-1)
    if eos is not None:
        ended_before = ((every == eos).cumsum(-1) - (every == eos).long()) > 0
        log_probs = log_probs.masked_fill(ended_before, 0.0)
    scored = {}
    for tokens, log_prob in zip(every.tolist(), log_probs.sum(-1).tolist(), strict=True):
        end = tokens.index(eos) + 1 if eos in tokens else steps
        scored[tuple(tokens[:end])] = log_prob
    return sorted(((log_prob, list(tokens)) for tokens, log_prob in scored.items()), reverse=True)


def kept_only(probs, kept):
    """A row of probabilities with 0 for all tokens but those kept, renormalised."""
    total = sum(probs[i] for i in kept)
    return [p / total if i in kept else 0.0 for i, p in enumerate(probs)]


def refused(call, bad, good):
    """Fails unless call(value) raises ValueError for all of `bad`, and for none of `good`."""
    for value in bad:
        raises(ValueError, lambda value=value: call(value))
    for value in good:
        call(value)


# --- min-p -------------------------------------------------------------------------------------------------------


def min_p_slips(logits, min_p):
    """Return the results of known mistakes for one row of logits."""
    probs = torch.softmax(torch.tensor(logits, dtype=torch.float64), -1).tolist()
    best = max(probs)
    kept = [p if p >= min_p * best else 0.0 for p in probs]
    absolute = {i for i, p in enumerate(probs) if p >= min_p}
    slips = [
        ([kept], "The right tokens are kept, not divided by their sum."),
        ([probs], "These are all probabilities: nothing was cut."),
    ]
    if absolute:
        cause = "These are the tokens of at least min_p itself; the threshold is min_p times the row's highest."
        slips.append(([kept_only(probs, absolute)], cause))
    return slips


@checks("min_p_probs")
def test_min_p_by_hand(student, hand):
    """min_p = 0.1 keeps the tokens of at least a tenth of the best probability, by hand"""
    case = hand["min_p"]
    got = student.min_p_probs(torch.tensor([case["logits"]]), 0.1)
    close(got, [case["probs_01"]], atol=5.1e-5, suspects=min_p_slips(case["logits"], 0.1))


@checks("min_p_probs")
def test_min_p_lower_threshold_by_hand(student, hand):
    """min_p = 0.02 lets a third token in, by hand"""
    case = hand["min_p"]
    got = student.min_p_probs(torch.tensor([case["logits"]]), 0.02)
    close(got, [case["probs_002"]], atol=5.1e-5, suspects=min_p_slips(case["logits"], 0.02))


@checks("min_p_probs")
def test_min_p_zero_keeps_everything(student):
    """min_p = 0 keeps every token except those of logit -inf"""
    logits = torch.tensor([FIVE, [0.0, 3.0, -2.0, 1.0, 1.5], [0.0, -8.0, 1.0, -16.0, -math.inf]])
    close(student.min_p_probs(logits, 0.0), torch.softmax(logits, -1), atol=1e-9)


@checks("min_p_probs")
def test_min_p_one_keeps_the_best(student):
    """min_p = 1 keeps the best token and exact ties with it, but no token that is nearly as good"""
    logits = torch.tensor([FIVE, [1.0, 3.0, 3.0, 0.0, 2.9995]])
    got = student.min_p_probs(logits, 1.0)
    want = [[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.5, 0.5, 0.0, 0.0]]
    nothing = "Nothing is left of a row: a token exactly at the threshold stays (>=, not >)."
    suspects = [([[math.nan] * 5] * 2, nothing), ([[0.0] * 5] * 2, nothing)]
    close(got, want, suspects=suspects)


@checks("min_p_probs")
def test_min_p_rows_have_their_own_threshold(student):
    """every row has its own threshold"""
    unsure, sure = [0.37, 0.26, 0.15, 0.095, 0.065, 0.04, 0.02], [0.91, 0.05, 0.01, 0.01, 0.01, 0.005, 0.005]
    rows = torch.tensor([unsure, sure])
    want = torch.tensor([kept_only(unsure, range(6)), kept_only(sure, {0})])
    shared = torch.tensor([kept_only(unsure, range(4)), kept_only(sure, {0})])  # all rows against 0.1 x 0.91
    cause = "The threshold of the whole batch's best token cuts every row: each row has its own (dim=-1, keepdim=True)."
    close(student.min_p_probs(rows.log(), 0.1, _unchanged=True), want, suspects=[(shared, cause)])
    close(student.min_p_probs(rows.flip(0).log(), 0.1), want.flip(0))


@checks("min_p_probs")
def test_min_p_of_large_logits_and_vocabularies(student):
    """logits near 1,000, -1,000 and -15,000, and a vocabulary of 49,152 tokens: the probabilities are right"""
    logits = torch.tensor([[0.0, -1.0, -2.0, -5.0]])
    want = kept_only([1.0, math.exp(-1), math.exp(-2), math.exp(-5)], {0, 1, 2})
    for shift in (1000.0, -1000.0, -15_000.0):
        close(student.min_p_probs(logits + shift, 0.1), [want], what=f"wrong values with {shift:,.0f} added to all logits")
    rising = torch.arange(49_152) / 49_152  # the last token is the best; above half of its probability are those within ln 2
    want = torch.softmax(rising, -1).where(rising > rising[-1] - math.log(2), 0.0)
    got = student.min_p_probs(rising[None], 0.5)
    close(got, (want / want.sum())[None], atol=1e-9, rtol=1e-3, what="wrong values for 49,152 tokens")


@checks("min_p_probs")
def test_min_p_in_float64(student):
    """float64 logits are compared in float64; float16 and bfloat16 logits give float32 probabilities, also at min_p = 0"""
    at = math.log(0.1)
    logits = torch.tensor([[0.0, at + 1e-9, at - 1e-9, -3.0]], dtype=torch.float64)
    probs = torch.softmax(logits, -1)[0].tolist()
    close(student.min_p_probs(logits, 0.1), [kept_only(probs, {0, 1})], atol=1e-9, rtol=0)
    logits = torch.tensor([[2.0, 1.0, -1.0]])
    probs = torch.softmax(logits, -1)[0].tolist()
    for dtype in (torch.float16, torch.bfloat16):
        for min_p, kept in ((0.0, {0, 1, 2}), (0.2, {0, 1}), (1.0, {0})):
            got = student.min_p_probs(logits.to(dtype), min_p)
            close(got, [kept_only(probs, kept)], dtype=torch.float32, what=f"wrong values for {dtype} at min_p = {min_p}")


@checks("min_p_probs")
def test_min_p_refuses_what_means_nothing(student):
    """a min_p that is below 0, above 1 or nan raises ValueError; 0 and 1 are allowed"""
    refused(lambda min_p: student.min_p_probs(torch.tensor([FIVE]), min_p), (-0.01, -1.0, 1.01, 10.0, math.nan), (0.0, 1.0, 0, 1, 1e-6))


# --- locally typical ---------------------------------------------------------------------------------------------


def typical_slips(probs, mass):
    """Return the results of known mistakes for one row of probabilities; wrong choices that keep the right tokens or all are left out."""
    surprisal = [-math.log(p) for p in probs]
    entropy = sum(p * s for p, s in zip(probs, surprisal, strict=True))

    def kept(key, reaches=True):
        chosen, total = [], 0.0
        for i in sorted(range(len(probs)), key=key):
            total += probs[i]
            if reaches or total <= mass:
                chosen.append(i)
            if total >= mass:
                break
        return chosen

    def distance(i):
        return abs(surprisal[i] - entropy)

    right, short = kept(distance), kept(distance, reaches=False)
    slips = [
        ([probs], "These are all probabilities: nothing was cut."),
        ([[p * (i in right) for i, p in enumerate(probs)]], "The right tokens are kept, not divided by their sum."),
    ]
    unlike = [
        (kept(lambda i: -probs[i]), "This is what top-p keeps: the order here is by |surprisal - entropy|, the absolute value."),
        (kept(lambda i: -distance(i)), "This is what the order from the largest distance down keeps."),
        (short, "The token with which the mass is reached is missing: it is kept too."),
    ]
    for tokens, cause in unlike:
        if tokens and set(tokens) != set(right) and len(tokens) < len(probs):
            slips.append(([kept_only(probs, tokens)], cause))
    return slips


@checks("typical_probs")
def test_typical_by_hand(student, hand):
    """tokens are kept in the order 3, 0, 2, 4, 1 until the mass is reached, by hand"""
    case = hand["typical"]
    logits = torch.tensor([case["logits"]])
    only_the_first = [0.0, 0.0, 0.0, 1.0, 0.0]
    wants = {0.5: only_the_first, 0.95: case["probs_095"], 0.98: case["probs_098"], 0.995: case["probs_0995"]}
    for mass, want in wants.items():
        suspects = typical_slips(torch.softmax(logits.double(), -1)[0].tolist(), mass)
        close(student.typical_probs(logits, mass), [want], atol=5.1e-5, what=f"wrong values at mass {mass}", suspects=suspects)


@checks("typical_probs")
def test_typical_may_leave_the_best_out(student, hand):
    """the most probable token may be left out"""
    case = hand["typical_without_the_best"]
    got = student.typical_probs(torch.tensor([case["probs"]]).log(), 0.45)
    close(got, [case["probs_045"]], atol=5.1e-5, suspects=typical_slips(case["probs"], 0.45))


@checks("typical_probs")
def test_typical_token_that_reaches_the_mass_is_kept(student, hand):
    """the token that reaches the mass is kept, and no token after it is kept"""
    case = hand["typical_without_the_best"]
    logits = torch.tensor([case["probs"]]).log()
    for mass, kept in ((0.1, {1}), (0.3, {1, 2}), (0.4, {1, 2, 3}), (0.6, {0, 1, 2, 3}), (0.95, {0, 1, 2, 3, 4})):
        got = student.typical_probs(logits, mass)
        suspects = typical_slips(case["probs"], mass)
        close(got, [kept_only(case["probs"], kept)], what=f"wrong values at mass {mass}", suspects=suspects)


@checks("typical_probs")
def test_typical_mass_reached_exactly(student):
    """of eight equally probable tokens only as many are kept as the mass needs, also if they reach the mass exactly"""
    for mass, count in ((0.25, 2), (0.5, 4), (0.3, 3), (0.75, 6), (0.125, 1)):
        got = torch.as_tensor(student.typical_probs(torch.zeros(1, 8), mass))
        want = [0.0] * (8 - count) + [1 / count] * count  # which of the eight is free
        close(got.sort(dim=-1).values, [want], what=f"eight equal tokens, mass {mass}: wrong values, sorted")


@checks("typical_probs")
def test_typical_mass_one_keeps_everything(student):
    """mass = 1 keeps everything, however improbable"""
    logits = torch.tensor([FIVE, [0.0, 1.0, -1.0, 0.5, 1.5]])
    close(student.typical_probs(logits, 1.0), torch.softmax(logits, -1))
    falling = -torch.arange(60.0).unsqueeze(0)  # the running sum is 1, rounded, long before the last token
    got = student.typical_probs(falling, 1.0)
    close(got, torch.softmax(falling, -1))
    that(
        bool((torch.as_tensor(got) > 0).all()),
        "tokens are missing",
        expected="60 of 60 above 0",
        got=f"{int((torch.as_tensor(got) > 0).sum())} of 60",
    )


@checks("typical_probs")
def test_typical_rows_are_independent(student, hand):
    """each row has its own entropy, order and number of kept tokens, also with as many rows as tokens"""
    case = hand["typical_without_the_best"]
    logits = torch.stack([torch.tensor(FIVE), torch.tensor(case["probs"]).log()])
    want = [[0.0, 0.0, 0.0, 1.0, 0.0], case["probs_045"]]
    close(student.typical_probs(logits, 0.45, _unchanged=True), want, atol=5.1e-5)
    close(student.typical_probs(logits.flip(0), 0.45), want[::-1], atol=5.1e-5)
    square, want = logits[[0, 1, 0, 1, 1]], [want[i] for i in (0, 1, 0, 1, 1)]
    close(student.typical_probs(square, 0.45), want, atol=5.1e-5, what="wrong values for 5 rows of 5 tokens")


@checks("typical_probs")
def test_typical_in_half_precision(student):
    """float16 and bfloat16 logits give float32 probabilities, and the running sum over 32,768 tokens is accurate"""
    for dtype in (torch.float16, torch.bfloat16):
        # Of 32,768 equal tokens each has a power of two, which float32 adds without rounding in any order; and the border lies between two.
        got = torch.as_tensor(student.typical_probs(torch.zeros(1, 32_768, dtype=dtype), 24_575.5 / 32_768))
        equal(int((got > 0).sum()), 24_576, what=f"32,768 equal tokens in {dtype}, mass 0.75: wrong number kept")
        close(got.max(), 1 / 24_576, atol=0, rtol=1e-2, what=f"wrong probability of each in {dtype}")
        logits = torch.tensor([[0.5, -1.0, 2.0, 0.0]], dtype=dtype)
        for mass, want in ((0.5, [[0.0, 0.0, 1.0, 0.0]]), (1.0, torch.softmax(logits.float(), -1))):
            got = student.typical_probs(logits, mass)
            close(got, want, dtype=torch.float32, what=f"wrong values for {dtype} at mass {mass}")


@checks("typical_probs")
def test_typical_small_differences_decide(student, hand):
    """distances from the entropy that differ by a thousandth count as different; in float64, masses that differ by a billionth do"""
    probs = [0.252, 0.251, 0.250, 0.247]  # entropy 1.38627: distances 0.0079, 0.0040, 0.00003, 0.0121
    for mass, kept in ((0.2, {2}), (0.4, {1, 2}), (0.7, {0, 1, 2})):
        for order in (range(4), range(3, -1, -1)):
            got = torch.as_tensor(student.typical_probs(torch.tensor([[probs[i] for i in order]]).log(), mass))
            want = kept_only(probs, kept)
            close(got, [[want[i] for i in order]], what=f"probabilities {[probs[i] for i in order]}, mass {mass}: wrong values")
    probs = hand["typical_without_the_best"]["probs"]  # in order the running mass is 0.20, 0.36, 0.50, 0.90, 1
    logits = torch.tensor([probs], dtype=torch.float64).log()
    for mass, kept in ((0.36 - 1e-9, {1, 2}), (0.36 + 1e-9, {1, 2, 3})):
        got = student.typical_probs(logits, mass)
        close(got, [kept_only(probs, kept)], atol=1e-9, rtol=0, dtype=torch.float64, what=f"wrong values in float64 at mass {mass:.9f}")


@checks("typical_probs")
def test_typical_large_logits_and_masked_tokens(student, hand):
    """logits near 500, -500 and -15,000 give the right probabilities; a token of logit -inf gets probability 0"""
    case = hand["typical_without_the_best"]
    logits = torch.tensor([case["probs"]]).log()
    for shift in (500.0, -500.0):
        got = student.typical_probs(logits + shift, 0.45)
        close(got, [case["probs_045"]], atol=1e-4, what=f"wrong values with {shift:.0f} added to all logits")
    got = student.typical_probs(torch.tensor([[0.0, 5.0, -1.0, 1.0]]) - 15_000, 0.9)
    close(got, [[0.0, 1.0, 0.0, 0.0]], what="wrong values with -15,000 added to all logits")
    masked = torch.nn.functional.pad(logits, (1, 1), value=-math.inf)
    for mass, want in ((0.45, case["probs_045"]), (1.0, case["probs"])):
        got = student.typical_probs(masked, mass)
        close(got, [[0.0, *want, 0.0]], atol=5.1e-5, what=f"two tokens of logit -inf, mass {mass}: wrong values")


@checks("typical_probs")
def test_typical_refuses_what_means_nothing(student):
    """a mass that is 0, below 0, above 1 or nan raises ValueError; a mass of 1 is allowed"""
    refused(lambda mass: student.typical_probs(torch.tensor([FIVE]), mass), (0.0, 0, -0.1, 1.01, 2.0, math.nan), (1.0, 1, 1e-6))


# --- repetition penalty ------------------------------------------------------------------------------------------


def penalty_slips(logits, ids, penalty):
    """Return the results of known mistakes for one row."""

    def changed(one):
        return [[one(x, ids.count(i)) if i in ids else x for i, x in enumerate(logits)]]

    return [
        ([logits], "No logit has changed."),
        (changed(lambda x, _: x / penalty), "A negative logit was divided, which makes it higher: multiply it by the penalty."),
        (changed(lambda x, _: x * penalty), "A positive logit was multiplied: divide it by the penalty."),
        (changed(lambda x, _: x * penalty if x > 0 else x / penalty), "The cases are exchanged: divide where positive."),
        (changed(lambda x, _: x - penalty), "This is the logit minus the penalty: the penalty is a factor."),
        (changed(lambda x, c: x / penalty**c if x > 0 else x * penalty**c), "A token was penalised at each occurrence: penalise it once."),
    ]


@checks("apply_repetition_penalty")
def test_repetition_by_hand(student, hand):
    """penalty 1.1: a logit of 2.2 becomes 2.0, and a logit of -2.0 becomes -2.2"""
    case = hand["repetition_penalty"]
    got = student.apply_repetition_penalty(torch.tensor([case["logits"]]), torch.tensor([[0, 1]]), case["penalty"])
    close(got, [case["want"]], suspects=penalty_slips(case["logits"], [0, 1], case["penalty"]))


@checks("apply_repetition_penalty")
def test_repetition_once_for_each_token(student, hand):
    """a token that occurs three times is penalised once"""
    case = hand["repetition_penalty"]
    logits, ids = torch.tensor([case["logits"]]), torch.tensor([case["generated_ids"]])
    got = student.apply_repetition_penalty(logits, ids, case["penalty"])
    close(got, [case["want"]], suspects=penalty_slips(case["logits"], case["generated_ids"], case["penalty"]))
    got = student.apply_repetition_penalty(torch.tensor([[6.0, 1.0]]), torch.tensor([[0, 0, 0]]), 2.0)
    close(got, [[3.0, 1.0]], suspects=penalty_slips([6.0, 1.0], [0, 0, 0], 2.0))


@checks("apply_repetition_penalty")
def test_repetition_rows_look_at_their_own_ids(student):
    """a row is penalised for its own ids only"""
    logits = torch.tensor([[4.0, -1.0, 2.0, 6.0], [4.0, -1.0, 2.0, 6.0]])
    got = student.apply_repetition_penalty(logits, torch.tensor([[0, 0], [1, 2]]), 2.0)
    both = [[2.0, -2.0, 1.0, 6.0], [2.0, -2.0, 1.0, 6.0]]
    suspects = [(both, "The ids of all rows count in each row: every row has its own.")]
    close(got, [[2.0, -1.0, 2.0, 6.0], [4.0, -2.0, 1.0, 6.0]], suspects=suspects)


@checks("apply_repetition_penalty")
def test_repetition_of_nothing(student):
    """no ids generated yet: no logit changes"""
    logits = torch.tensor([[4.0, -1.0, 2.0]])
    none_yet = torch.zeros(1, 0, dtype=torch.int64)
    close(student.apply_repetition_penalty(logits, none_yet, 2.0), logits)
    # with one id something must happen, or a function that does nothing would pass
    close(student.apply_repetition_penalty(logits, torch.tensor([[2]]), 2.0), [[4.0, -1.0, 1.0]])


@checks("apply_repetition_penalty")
def test_repetition_gives_new_logits(student):
    """the result is a new tensor, also if no logit changes; the given logits stay the same; a logit of 0 stays 0"""
    logits = torch.tensor([[4.0, -1.0, 2.0, 0.0]])
    got = student.apply_repetition_penalty(logits, torch.tensor([[1, 0, 3]]), 4.0, _unchanged=True)
    close(got, [[1.0, -4.0, 2.0, 0.0]])
    for ids, penalty in ((torch.tensor([[1]]), 1.0), (torch.zeros(1, 0, dtype=torch.int64), 4.0)):
        first, second = torch.tensor([[4.0, -1.0, 2.0, 0.0]]), torch.tensor([[-3.0, 5.0, 1.0, 7.0]])
        got = student.apply_repetition_penalty.again([first, ids, penalty], [second, ids, penalty])
        close(got[0], first, what="the result changed when other logits were written into the tensor that was given: return a new tensor")
        close(got[1], second)


@checks("apply_repetition_penalty")
def test_repetition_in_a_long_text(student):
    """in a text of over 1,000 ids, a token that occurs once, at the start or at the end, is penalised"""
    ids = torch.tensor([[0] + [1] * 1024 + [2]])
    got = student.apply_repetition_penalty(torch.tensor([[2.2, -2.0, 1.1, 3.0]]), ids, 1.1)
    close(got, [[2.0, -2.2, 1.0, 3.0]], what="the ids are 0, 1,024 times 1, and 2: wrong values")


@checks("apply_repetition_penalty")
def test_repetition_any_penalty_any_logit(student):
    """a penalty below 1 rewards repetition; a logit of -inf stays -inf; float64 logits keep all digits"""
    logits, ids = torch.tensor([[4.0, -1.0, -math.inf, 3.0, -math.inf]]), torch.tensor([[0, 1, 2]])
    for penalty, want in ((0.5, [[8.0, -0.5, -math.inf, 3.0, -math.inf]]), (2.0, [[2.0, -2.0, -math.inf, 3.0, -math.inf]])):
        close(student.apply_repetition_penalty(logits, ids, penalty), want, what=f"wrong values at penalty {penalty}")
    digits = torch.tensor([[246_913.578, -0.1, 54_321.123]], dtype=torch.float64)
    got = student.apply_repetition_penalty(digits, torch.tensor([[0, 1]]), 2.0)
    close(got, [[123_456.789, -0.2, 54_321.123]], atol=1e-9, rtol=0, what="wrong values for float64 logits")


@checks("apply_repetition_penalty")
def test_repetition_refuses_what_means_nothing(student):
    """a penalty of 0 or below raises ValueError; any penalty above 0 is allowed"""
    ids = torch.tensor([[1, 0]])
    refused(lambda penalty: student.apply_repetition_penalty(torch.tensor([FIVE]), ids, penalty), (0.0, 0, -1.1), (1e-3, 1.0, 1, 50.0))


# --- frequency and presence --------------------------------------------------------------------------------------


def loss_slips(logits, ids, frequency, presence):
    """Return the results of known mistakes for one row."""

    def changed(loss):
        return [[x - loss(ids.count(i)) for i, x in enumerate(logits)]]

    slips = [
        ([logits], "No logit has changed."),
        (changed(lambda c: -c * frequency - (c > 0) * presence), "The two were added: they are subtracted."),
    ]
    if frequency and presence:  # where one is 0, several mistakes give the same
        slips += [
            (changed(lambda c: c * frequency + c * presence), "Presence was taken off at each occurrence: it is taken off once."),
            (changed(lambda c: (c > 0) * (frequency + presence)), "Frequency was taken off once: it is taken off at each occurrence."),
            (changed(lambda c: c * presence + (c > 0) * frequency), "Frequency and presence are exchanged."),
            (changed(lambda c: c * frequency + presence), "Presence was taken off tokens that do not occur."),
            (changed(lambda c: c * frequency), "Presence is missing."),
            (changed(lambda c: (c > 0) * presence), "Frequency is missing."),
        ]
    return slips


@checks("apply_frequency_presence")
def test_frequency_presence_by_hand(student, hand):
    """a token that occurred four times: its logit 3.0 becomes 2.4"""
    case = hand["frequency_presence"]
    settings = case["frequency"], case["presence"]
    got = student.apply_frequency_presence(torch.tensor([case["logits"]]), torch.tensor([case["generated_ids"]]), *settings)
    close(got, [case["want"]], suspects=loss_slips(case["logits"], case["generated_ids"], *settings))


@checks("apply_frequency_presence")
def test_presence_asks_whether(student):
    """presence is subtracted once, whether a token occurred once or four times"""
    logits, ids = [3.0, 3.0, 3.0], [0, 0, 0, 0, 1]
    got = student.apply_frequency_presence(torch.tensor([logits]), torch.tensor([ids]), 0.0, 0.5)
    close(got, [[2.5, 2.5, 3.0]], suspects=loss_slips(logits, ids, 0.0, 0.5))


@checks("apply_frequency_presence")
def test_frequency_asks_how_often(student):
    """frequency is subtracted once per occurrence: four occurrences cost four times as much"""
    logits, ids = [3.0, 3.0, 3.0], [0, 1, 0, 0, 0]
    got = student.apply_frequency_presence(torch.tensor([logits]), torch.tensor([ids]), 0.5, 0.0)
    close(got, [[1.0, 2.5, 3.0]], suspects=loss_slips(logits, ids, 0.5, 0.0))


@checks("apply_frequency_presence")
def test_frequency_presence_lowers_negative_logits(student):
    """a negative logit and a logit of 0 are lowered by the same rule as a positive logit"""
    logits, ids = [-2.0, 0.0, 1.0], [0, 1, 1]
    got = student.apply_frequency_presence(torch.tensor([logits]), torch.tensor([ids]), 0.25, 0.5)
    close(got, [[-2.75, -1.0, 1.0]], suspects=loss_slips(logits, ids, 0.25, 0.5))


@checks("apply_frequency_presence")
def test_frequency_presence_rows_and_nothing(student):
    """each row counts only its own ids; without ids the result is a new tensor of the same logits"""
    logits = torch.tensor([[1.0, 2.0, 3.0, 6.0], [1.0, 2.0, 3.0, 6.0]])
    got = student.apply_frequency_presence(logits, torch.tensor([[0, 0], [2, 1]]), 0.5, 0.25, _unchanged=True)
    together = [[-0.25, 1.25, 2.25, 6.0]] * 2
    suspects = [(together, "The ids of all rows count in each row: every row has its own.")]
    close(got, [[-0.25, 2.0, 3.0, 6.0], [1.0, 1.25, 2.25, 6.0]], suspects=suspects)
    got = student.apply_frequency_presence(logits, torch.zeros(2, 0, dtype=torch.int64), 0.5, 0.25)
    close(got, logits, suspects=[(logits - 0.25, "Presence was taken off tokens that do not occur.")])
    for ids, settings in ((torch.tensor([[1]]), (0.0, 0.0)), (torch.zeros(1, 0, dtype=torch.int64), (0.5, 0.25))):
        first, second = torch.tensor([[4.0, -1.0, 2.0]]), torch.tensor([[-3.0, 5.0, 1.0]])
        got = student.apply_frequency_presence.again([first, ids, *settings], [second, ids, *settings])
        close(got[0], first, what="the result changed when other logits were written into the tensor that was given: return a new tensor")
        close(got[1], second)


@checks("apply_frequency_presence")
def test_frequency_presence_any_setting_any_logit(student):
    """negative and large settings follow the same rule; a logit of -inf stays -inf; float64 logits keep all digits"""
    logits, ids = torch.tensor([[1.0, -math.inf, 2.0, -math.inf]]), torch.tensor([[0, 1, 0]])
    for frequency, presence, want in ((-0.5, -0.25, 2.25), (-3.0, -4.0, 11.0), (3.0, 4.0, -9.0)):
        got = student.apply_frequency_presence(logits, ids, frequency, presence)
        close(got, [[want, -math.inf, 2.0, -math.inf]], what=f"wrong values at frequency {frequency}, presence {presence}")
    digits = torch.tensor([[123_456.789, -0.1]], dtype=torch.float64)
    got = student.apply_frequency_presence(digits, torch.tensor([[0, 0]]), 0.5, 0.25)
    close(got, [[123_455.539, -0.1]], atol=1e-9, rtol=0, what="wrong values for float64 logits")


@checks("apply_frequency_presence")
def test_frequency_counts_in_half_precision(student):
    """every occurrence is counted: 3,001 with float16 logits, and 257 with bfloat16 logits"""
    logits = torch.tensor([[1.0, 2.0]], dtype=torch.float16)
    got = student.apply_frequency_presence(logits, torch.tensor([[1] * 3001]), 0.001, 0.0)
    still = torch.tensor([[1.0, 2.0 - 2.048]], dtype=torch.float16)
    cause = "The count stood still at 2,048, for float16 has no 2,049: count in float32 or in whole numbers."
    close(got, [[1.0, 2.0 - 3.001]], atol=2e-3, suspects=[(still, cause)])
    # 257 times 1/257 is 1, which bfloat16 holds exactly; 256 times it is 0.996, which it can tell from 1.
    got = student.apply_frequency_presence(torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16), torch.tensor([[0] * 257]), 1 / 257, 0.0)
    cause = "The count became 256, for bfloat16 has no 257: count in float32 or in whole numbers."
    what = "257 occurrences at frequency 1 / 257, logits in bfloat16: wrong values"
    close(got, [[0.0, 2.0]], atol=1e-3, what=what, suspects=[([[1 / 256, 2.0]], cause)])


# --- stop strings ------------------------------------------------------------------------------------------------


def expected_stream(stops, pieces):
    """[(emit, stopped) of each push], and what flush gives, by the rule: one character after the other."""
    text, emitted, answers, end = "", 0, [], None  # end: where the stop that was found begins
    for piece in pieces:
        for character in piece:
            text += character
            complete = [len(text) - len(stop) for stop in stops if text.endswith(stop)]
            if end is None and complete:
                end = min(complete)
        held = (i for i in range(len(text)) if any(stop.startswith(text[i:]) for stop in stops))
        safe = next(held, len(text)) if end is None else end
        answers.append((text[emitted:safe], end is not None))
        emitted = safe
    return answers, "" if end is not None else text[emitted:]


def compare(student, stops, pieces):
    """Pushes the pieces, and flushes; every answer must be the expected one."""
    wants, rest = expected_stream(stops, pieces)
    stream = student.StopStrings(stops)
    for i, (piece, want) in enumerate(zip(pieces, wants, strict=True)):
        got = stream.push(piece)
        what = f"push({show(repr(piece), 80)}), piece {i + 1} of {show(pieces)}, stops {show(stops)}"
        that(len(got) == 2, f"{what}: two values are expected, emit and stopped", expected=repr(want), got=repr(got))
        got = (got[0], bool(got[1]))
        that(got == want, what, expected=repr(want), got=repr(got), cause=stop_cause(got, want, stops))
    got = stream.flush()
    that(got == rest, f"flush() after {show(pieces)}, stops {show(stops)}", expected=repr(rest), got=repr(got))


def stop_cause(got, want, stops):
    """Return the mistake that an answer of push shows by itself, or None."""
    emit, stopped = got
    if not isinstance(emit, str):
        return "Emitted text is a str: the empty one if nothing may be shown yet."
    if stopped != want[1]:
        return "A stop is complete with this piece: stopped is True." if want[1] else "No stop is complete yet: stopped is False."
    if stopped:
        if any(emit.startswith(want[0] + stop) for stop in stops):
            return "The stop itself came out: emit only the text before it."
        return None
    if emit != want[0] and emit.startswith(want[0]):
        return "More came out than may be shown now."
    if emit != want[0] and want[0].startswith(emit):
        return "Less came out than may be shown now."
    return None


WITHOUT_STOPS = (
    "Only an empty list of stops goes wrong here: with a stop that is not in them, the same pieces are right. "
    "Without stops, each piece is emitted whole."
)


def compare_without_stops(student, stops, pieces):
    """Compare as above, with stops that are empty. If only this call is wrong, the empty list is the cause."""
    try:
        compare(student, stops, pieces)
    except NotImplementedError:
        raise
    except Exception as error:
        if "WorkerDied" in exception_names(error):
            raise
        try:
            compare(student, type(stops)(["~~~"]), pieces)
        except Exception:
            raise error from None
        raise because(error, WITHOUT_STOPS) from None


@checks("StopStrings")
def test_stop_inside_one_piece(student):
    """a stop inside one piece: the text before the stop is emitted, and stopped is True"""
    compare(student, ["###"], ["Hello###World"])
    compare(student, ["###"], ["a###b###c"])
    compare(student, ["###"], ["###"])
    compare_without_stops(student, [], ["no stop", " at all"])


@checks("StopStrings")
def test_stop_cut_in_two(student):
    """a stop cut into several pieces is found, also with empty pieces between its parts"""
    compare(student, ["\nUser:"], ["Hi.", "\nUs", "er:"])
    compare(student, ["STOP"], ["aS", "T", "O", "P"])
    compare(student, ["STOP"], ["", "aST", "", "OP", ""])


@checks("StopStrings")
def test_stop_whose_beginning_repeats(student):
    """a stop is found after a false start: 'aab' in 'xaaab!'"""
    for stop, text in (("aab", "xaaab!"), ("\n\n#", "x\n\n\n#y"), ("ababc", "abababc")):
        for pieces in ([text], list(text), [text[:3], text[3:]]):
            compare(student, [stop], pieces)


@checks("StopStrings")
def test_stop_is_plain_text(student):
    """stops are plain text: a dot matches only a dot, and a capital letter only that capital letter"""
    compare(student, ["..."], ["one.", "two", "..", ".three"])
    compare(student, ["(a|b)*"], ["a or b: (a", "|b)*"])
    compare(student, ["STOP"], ["stop, Stop, S", "TOP"])


@checks("StopStrings")
def test_stop_long_stops_and_long_pieces(student):
    """a stop of 41 characters, a list of twelve stops, a piece of 1,200 characters: each push emits the right text"""
    compare(student, [40 * "-" + "!"], ["a" + 25 * "-", 15 * "-", "b" + 39 * "-", "-", "!c"])
    compare(student, [2 * letter for letter in "abcdefghijkl"], ["1 l", "2 l", "l 3"])
    for before in (998, 1_000, 1_100):
        compare(student, ["STOP"], [before * "x" + "STOP" + (1_196 - before) * "y"])


@checks("StopStrings")
def test_stop_by_hand(student, hand):
    """text is held back only as long as it may begin a stop, by hand"""
    case = hand["stop_strings"]
    emits = [emit for emit, _ in expected_stream(case["stops"], case["pieces"])[0]]
    that(emits == case["emits"], "the rule of this check and the figures worked out by hand differ: report this")
    compare(student, case["stops"], case["pieces"])


@checks("StopStrings")
def test_stop_flush(student):
    """flush gives the text that its own stream held back, and a second flush gives an empty text"""
    compare(student, ["###"], ["a#", "b", "##"])
    stream = student.StopStrings(["###"])
    got = [stream.push("a##")[0], stream.flush(), stream.flush()]
    equal(got, ["a", "##", ""], what="wrong text of push, flush and a second flush")
    one, two = student.StopStrings(["###"]), student.StopStrings(["##!"])
    got = [one.push("a##")[0], two.push("b")[0], two.flush(), one.flush()]
    equal(got, ["a", "b", "", "##"], what="two streams: wrong text of push on the first, push and flush on the second, flush on the first")


@checks("StopStrings")
def test_stop_nothing_after_the_stop(student):
    """after a stop nothing more is emitted, and stopped stays True"""
    compare(student, ["END"], ["one E", "ND two", " three", "", "END"])
    stream = student.StopStrings(["END"])
    got = [stream.push("oEND"), stream.flush(), stream.push("n"), stream.flush()]
    got = [got[0][0], bool(got[0][1]), got[1], got[2][0], bool(got[2][1]), got[3]]
    equal(got, ["o", True, "", "", True, ""], what="wrong push, flush, push, flush around a stop")


@checks("StopStrings")
def test_stop_earliest_wins(student):
    """the stop that comes first in the text wins, whatever the order of the stops in the list or tuple"""
    for stops in (["DONE", "\n\n"], ["\n\n", "DONE"], ("\n\n", "DONE")):
        compare(student, stops, ["yes\n\nno DONE"])
        compare(student, stops, ["yes DONE no\n\n"])


@checks("StopStrings")
def test_stop_complete_first(student):
    """one stop inside another: the stop that ends first wins; of two stops that end together, the longer wins"""
    for stops in (["abcd", "bc"], ["bc", "abcd"]):
        for pieces in (["abcd"], ["abc", "d"], ["ab", "cd"], ["a", "b", "c", "d"], ["xabcy"]):
            compare(student, stops, pieces)
    for stops in (["cd", "abcd"], ["abcd", "cd"]):  # complete at the same character: the one that begins first
        for pieces in (["abcd"], ["ab", "cd"], ["abc", "d"]):
            compare(student, stops, pieces)


@checks("StopStrings")
def test_stop_must_not_be_empty(student):
    """an empty stop raises ValueError, at any place in the list of stops"""
    refused(student.StopStrings, ([""], ["a", ""], ["", "a", "b"]), (["a"], [" "], ["\n"]))


# --- beam search -------------------------------------------------------------------------------------------------


@checks("beam_search")
def test_beam_tree_by_hand(student, hand):
    """three beams by hand: the best text ends in ' the mat', with probability 0.82 x 0.60 = 0.492"""
    case = hand["beam_tree"]
    words = len(case["words"])
    even = [1 / words] * words
    rows = [case["after_mat"], case["after_floor"], case["after_table"], *[even] * (words - 3), case["first"]]
    model = chain_model(log_rows(rows))
    idx = torch.tensor([[words]])  # the prompt: a token of its own, with a row but not in the vocabulary
    tokens, log_prob = answer(student.beam_search(model, idx, beams=3, max_new_tokens=2, _rng_unchanged=True), idx)
    equal(tokens, [0, 3])
    close(log_prob, case["log_prob"], atol=1e-4, what="wrong log_prob", suspects=log_prob_slips(case["log_prob"]))


def log_prob_slips(log_prob):
    """Return numbers that are often given in place of a log probability."""
    return [
        (math.exp(log_prob), "This is the probability: log_prob is its logarithm."),
        (-log_prob, "This is the surprisal: log_prob has the other sign."),
    ]


@checks("beam_search")
def test_beam_escapes_the_greedy_trap(student, hand):
    """two beams find a text of probability 0.36, where greedy decoding finds a text of 0.21"""
    case = hand["greedy_trap"]
    model = chain_model(log_rows([case["after_0"], case["after_1"], [0.25] * 4, case["first"]]))
    idx = torch.tensor([[3]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=2, _unchanged=True), idx)
    equal(tokens, case["best_ids"], suspects=[([0, 2], "This is what one beam finds: greedy decoding.")])
    close(log_prob, case["best_log_prob"], atol=1e-4, what="wrong log_prob", suspects=log_prob_slips(case["best_log_prob"]))
    tokens, log_prob = answer(student.beam_search(model, idx, beams=1, max_new_tokens=2), idx)
    equal(tokens, [0, 2], what="wrong tokens with one beam, which is greedy decoding")
    close(log_prob, case["greedy_log_prob"], atol=1e-4, what="wrong log_prob")


@checks("beam_search")
def test_beam_enough_beams_find_the_best(student, rng):
    """enough beams find the best continuation; the last of twelve hypotheses, or either of two equal ones, may win"""
    vocab, steps, idx = 3, 3, torch.tensor([[2, 0]])
    model = history_model(vocab, 2 + steps, rng)
    prompt = idx[0].tolist()
    best, _ = all_continuations(model, prompt, vocab, steps)[0]
    tokens, log_prob = answer(student.beam_search(model, idx, beams=vocab**steps, max_new_tokens=steps), idx)
    close(log_prob, best, atol=1e-4, what="wrong log_prob", suspects=log_prob_slips(best))
    close(log_prob_of(model, prompt, tokens), best, atol=1e-4, what="the ids are not those that log_prob belongs to")
    # The prompt is token 16. Token 11 is only the twelfth best after it, but token 3 follows it with probability 0.85.
    rows = [[1 / 16] * 16 for _ in range(17)]
    rows[16] = [0.07 - 0.001 * i for i in range(16)]
    rows[11] = [0.01] * 3 + [0.85] + [0.01] * 12
    idx = torch.tensor([[16]])
    tokens, log_prob = answer(student.beam_search(chain_model(log_rows(rows)), idx, beams=12, max_new_tokens=2), idx)
    equal(tokens, [11, 3], what="wrong tokens with 12 beams")
    close(log_prob, math.log(rows[16][11] * 0.85), atol=1e-4, what="wrong log_prob")
    for better in (0, 1):  # tokens 0 and 1 are equally probable: both stay, and the better one goes on
        rows = [[1 / 3] * 3] * 3 + [[0.4, 0.4, 0.2]]
        rows[better] = [0.1, 0.0, 0.9]
        tokens, log_prob = answer(
            student.beam_search(chain_model(log_rows(rows)), torch.tensor([[3]]), beams=2, max_new_tokens=2), torch.tensor([[3]])
        )
        equal(tokens, [better, 2], what="two hypotheses have 0.4 each, and there are two beams: wrong tokens")
        close(log_prob, math.log(0.4 * 0.9), atol=1e-4, what="wrong log_prob")


@checks("beam_search")
def test_beam_finished_is_not_expanded(student):
    """a finished hypothesis gets no token after its EOS and keeps its log_prob"""
    eos = 2
    rows = log_rows([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])  # after EOS the model would go on with token 0
    rows[1] = torch.tensor([0.3, 0.1, 0.6]).log()
    model, idx = chain_model(rows), torch.tensor([[1]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=4, eos_token_id=eos), idx)
    close(log_prob, math.log(0.6), atol=1e-4, what="wrong log_prob of a hypothesis that is EOS alone")
    padded = "EOS follows EOS: nothing is appended to a finished hypothesis, the ids end with its first EOS."
    expanded = "Tokens follow EOS: nothing is appended to a finished hypothesis."
    equal(tokens, [eos], suspects=[([eos] * 4, padded), ([eos, 0, 0, 0], expanded), ([eos, 0, 1, 2], expanded)])


@checks("beam_search")
def test_beam_best_wins_finished_or_not(student):
    """the most probable hypothesis wins, finished or not; token 0 may be EOS"""
    eos, idx = 0, torch.tensor([[3]])
    for at_once, first, want in ((0.3, 0.6, [1, 2]), (0.6, 0.3, [eos])):  # EOS, or token 1 and then token 2
        rows = [[0.0, 0.5, 0.5], [0.05, 0.05, 0.9], [1 / 3] * 3, [at_once, first, 0.1]]
        tokens, log_prob = answer(student.beam_search(chain_model(log_rows(rows)), idx, beams=3, max_new_tokens=2, eos_token_id=eos), idx)
        equal(tokens, want, what=f"EOS at once has {at_once}, tokens 1 and 2 have {first} x 0.9: wrong tokens")
        close(log_prob, math.log(0.6 if want == [eos] else 0.6 * 0.9), atol=1e-4, what="wrong log_prob")


@checks("beam_search")
def test_beam_eos_in_the_prompt(student):
    """an EOS in the prompt does not finish a hypothesis"""
    eos = 2
    after_0, after_1 = [0.10, 0.80, 0.01, 0.09], [0.85, 0.05, 0.01, 0.09]
    model = chain_model(log_rows([after_0, after_1, [0.90, 0.04, 0.03, 0.03], [0.25] * 4]))
    for prompt in ([1, 2], [2, 0, 2], [2]):
        idx = torch.tensor([prompt])
        tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=3, eos_token_id=eos), idx)
        equal(tokens, [0, 1, 0], what=f"wrong new tokens after the prompt {prompt}, EOS is {eos}")
        close(log_prob, math.log(0.90 * 0.80 * 0.85), atol=1e-4, what="wrong log_prob")


def ladder_model(short, long, eos=6):
    """After the prompt, token 7: EOS with probability `short`, or tokens 0, 1, 2, ... and EOS with the probabilities `long`."""
    rows = torch.full((8, 7), 1e-6, dtype=torch.float64)
    rows[7, eos], rows[7, 0] = short, long[0]
    rows[7, 5] = 1 - rows[7].sum()
    for i, p in enumerate(long[1:]):
        rows[i, eos if i == len(long) - 2 else i + 1] = p
        rows[i, 5] = 1 - rows[i].sum()
    rows[5, :eos] = 1 / eos
    return chain_model(rows.log())


@checks("beam_search")
def test_beam_length_penalty(student, hand):
    """by hand: EOS as the first token wins at length_penalty 0, the default; a longer hypothesis wins at 1"""
    case, eos = hand["length_penalty"], 6
    model, idx = ladder_model(case["short_probs"][0], case["long_probs"]), torch.tensor([[7] * 20])
    short, long = ([eos], case["short_log_prob"]), ([0, 1, 2, 3, eos], case["long_log_prob"])
    for settings, (want, log_prob) in (({}, short), ({"length_penalty": 0.0}, short), ({"length_penalty": 1.0}, long)):
        got = student.beam_search(model, idx, beams=3, max_new_tokens=6, eos_token_id=eos, **settings)
        tokens, got_log_prob = answer(got, idx)
        equal(tokens, want, what=f"wrong tokens with {settings or 'no length_penalty given'}")
        suspects = [(log_prob / len(want), "This is the score of the ranking: log_prob is the sum of the logarithms itself.")]
        close(got_log_prob, log_prob, atol=1e-3, what=f"wrong log_prob with {settings or 'no length_penalty given'}", suspects=suspects)


@checks("beam_search")
def test_beam_any_length_penalty(student):
    """a length penalty above 0 favours longer hypotheses, a length penalty below 0 favours shorter ones"""
    eos, idx = 6, torch.tensor([[7]])
    for short, long, lengths in (
        (0.55, [0.40, 0.90, 0.90], {0.0: 1, 1.0: 3}),  # ln 0.55 = -0.598 is the best at once; ln 0.324 = -1.127, by three -0.376
        (0.60, [0.39, 0.60, 0.58], {1.0: 1, 2.0: 3}),  # -0.511; -1.997, by three -0.666, by nine -0.222
        (0.40, [0.50, 0.95, 0.95], {0.0: 3, -1.0: 1}),  # -0.916; -0.796, times three -2.387
    ):
        for penalty, length in lengths.items():
            got = student.beam_search(ladder_model(short, long), idx, beams=3, max_new_tokens=3, length_penalty=penalty, eos_token_id=eos)
            tokens, log_prob = answer(got, idx)
            what = f"EOS at once has {short}, tokens 0, 1 and EOS {long}, length penalty {penalty}: wrong"
            equal(tokens, [eos] if length == 1 else [0, 1, eos], what=f"{what} tokens")
            close(log_prob, math.log(short if length == 1 else math.prod(long)), atol=1e-3, what=f"{what} log_prob")


@checks("beam_search")
def test_beam_finished_keeps_its_place(student):
    """a finished hypothesis takes up one of the beams, so a less probable unfinished hypothesis is dropped"""
    eos, idx = 3, torch.tensor([[4]])
    # Two beams, length penalty 1. EOS at once (0.5) and token 0 (0.3) fill both; token 1 (0.2) is out, though 0.99 follows it for ever.
    rows = [[0.5, 0.5, 0.0, 0.0], [0.0, 0.99, 0.01, 0.0], [0.25] * 4, [0.25] * 4, [0.3, 0.2, 0.0, 0.5]]
    rows[0] = [0.34, 0.0, 0.33, 0.33]
    got = student.beam_search(chain_model(log_rows(rows)), idx, beams=2, max_new_tokens=4, length_penalty=1.0, eos_token_id=eos)
    tokens, log_prob = answer(got, idx)
    freed = "Token 1 ranks third, after the finished hypothesis, which keeps its place. With two beams it is dropped."
    equal(tokens, [eos], suspects=[([1, 1, 1, 1], freed)])
    close(log_prob, math.log(0.5), atol=1e-4, what="wrong log_prob")


@checks("beam_search")
def test_beam_ranks_by_length_at_every_step(student):
    """the length penalty ranks at every step: with two beams, a finished hypothesis in third place is dropped"""
    # Two beams, penalty 1. EOS at once: -1.05. Token 0 has two children at -0.52 and -0.60 a token, which then fall below -1.1.
    eos, vocab = 3, 12
    rows = [[1 / vocab] * vocab for _ in range(vocab + 1)]
    rows[vocab] = [0.65, 0, 0, 0.35, *[0] * 8]
    rows[0] = [0, 0.54, 0.46, *[0] * 9]
    rows[1] = rows[2] = [0.08] * 4 + [0.10] + [0.58 / 7] * 7
    model, idx = chain_model(log_rows(rows)), torch.tensor([[vocab]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=3, length_penalty=1.0, eos_token_id=eos), idx)
    equal(tokens, [0, 1, 4])
    close(log_prob, math.log(0.65 * 0.54 * 0.10), atol=1e-4, what="wrong log_prob")


@checks("beam_search")
def test_beam_refuses_what_means_nothing(student):
    """fewer than 1 beam raises ValueError, 1 beam is allowed; max_new_tokens = 0 gives log_prob 0"""
    model, idx = chain_model(log_rows([[0.5, 0.5], [0.5, 0.5]])), torch.tensor([[1]])
    refused(lambda beams: student.beam_search(model, idx, beams=beams, max_new_tokens=1), (0, -1), (1, 2, 3))
    for penalty in (0.0, 1.5):
        tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=0, length_penalty=penalty), idx)
        equal(tokens, [], what="wrong new tokens with max_new_tokens = 0")
        close(log_prob, 0.0, what="wrong log_prob with max_new_tokens = 0")


@checks("beam_search")
def test_beam_leaves_the_gradients_as_they_were(student):
    """gradient mode is the same after the call as before, also if the model raises"""
    model, idx = chain_model(log_rows([[0.2, 0.8], [0.7, 0.3]])), torch.tensor([[1]])

    def broken(ids):
        raise RuntimeError("out of memory")

    def search():
        tokens, _ = answer(student.beam_search(model, idx, beams=2, max_new_tokens=2), idx)
        equal(tokens, [0, 1])

    gradient_mode_stays(student, search)
    gradient_mode_stays(student, lambda: raises(RuntimeError, lambda: student.beam_search(broken, idx, beams=2, max_new_tokens=2)))


@checks("beam_search")
def test_beam_long_sequences_do_not_underflow(student):
    """195 improbable tokens: log probabilities are summed without underflow, and in float32 for bfloat16 logits"""
    vocab, steps = 64, 195
    rows = torch.zeros(vocab, vocab)
    rows[torch.arange(vocab), (torch.arange(vocab) * 5 + 3) % vocab] = 0.25
    model, idx = chain_model(rows), torch.tensor([[7]])
    tokens, log_prob = answer(student.beam_search(model, idx, beams=2, max_new_tokens=steps), idx)
    step = 0.25 - math.log(vocab - 1 + math.exp(0.25))
    vanished = "This is the logarithm of 0: a product of 195 probabilities of 0.02 is below the smallest number."
    close(log_prob, steps * step, rtol=1e-4, what="wrong log_prob", suspects=[(-math.inf, vanished)])
    want = [7]
    for _ in range(steps):
        want.append((want[-1] * 5 + 3) % vocab)
    equal(tokens, want[1:], what="not the best continuation, which takes the raised token at every step")
    _, log_prob = answer(student.beam_search(chain_model(rows.bfloat16()), idx, beams=2, max_new_tokens=9), idx)
    close(log_prob, 9 * step, rtol=1e-4, what="wrong log_prob of nine tokens, logits in bfloat16")
