"""Visible checks of the softmax day."""

from __future__ import annotations

import math

import torch

from autograder.authoring import checks, close, equal


def cause_of_exception(exercise: str, name: str, message: str) -> str | None:
    """Return the cause that an exception proves here, beyond what it proves everywhere."""
    if name == "RuntimeError" and "must match the size of tensor" in message:
        return (
            "Two shapes do not fit each other. `amax`, `sum` and `logsumexp` remove the dimension they reduce; with `keepdim=True` "
            "it stays, with size 1."
        )
    return None


def softmax64(rows):
    return torch.softmax(torch.as_tensor(rows, dtype=torch.float64), dim=-1)


def log_softmax64(rows):
    return torch.log_softmax(torch.as_tensor(rows, dtype=torch.float64), dim=-1)


# ---- softmax -------------------------------------------------------------------------------------------------------


@checks("softmax")
def test_softmax_by_hand(student, hand):
    """five logits, worked out by hand"""
    case = hand["five_logits"]
    logits = torch.tensor(case["logits"])
    doubles = logits.double()
    close(
        student.softmax(logits),
        case["probs"],
        suspects=[
            (
                (doubles - doubles.max()).exp(),
                "These are the exponentials. They still have to be divided by their sum.",
            ),
            (doubles.exp(), "These are the exponentials. They still have to be divided by their sum."),
            (log_softmax64(doubles), "These are log probabilities: softmax gives the probabilities themselves."),
            (torch.softmax(-doubles, 0), "The sign is turned round: the largest logit must get the most."),
            (torch.softmax(doubles * math.log(2), 0), "The base is e, not 2: use exp."),
        ],
        atol=6e-5,
    )


@checks("softmax")
def test_softmax_last_dimension(student, rng):
    """every row by itself, whatever the shape"""
    for shape in [(2, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4)]:
        logits = 2 * torch.randn(shape, generator=rng)
        close(student.softmax(logits), softmax64(logits), atol=1e-5)


@checks("softmax")
def test_softmax_of_a_thousand(student, hand):
    """logits around 1000, and around -1000"""
    case = hand["thousands"]
    logits = torch.tensor(case["logits"])
    close(student.softmax(logits), case["probs"], atol=3e-4)
    close(student.softmax(logits - 2001), case["probs"], atol=3e-4)  # -1001, -1000, -999


@checks("softmax")
def test_softmax_rows_far_apart(student, hand):
    """a row around 1000 beside a row around -1000"""
    case = hand["rows_far_apart"]
    lost = [case["probs"][0], [math.nan, math.nan]]
    told = "The second row is 0 / 0: all of its exponentials are 0. Each row needs a maximum of its own."
    close(student.softmax(torch.tensor(case["logits"])), case["probs"], atol=3e-4, suspects=[(torch.tensor(lost), told)])


@checks("softmax")
def test_softmax_masked(student, hand):
    """an entry of -inf gets exactly 0, the others share the rest"""
    case = hand["masked"]
    probs = student.softmax(torch.tensor(case["logits"]))
    close(probs, case["probs"], atol=2e-5)
    equal(float(probs[1]), 0.0)


@checks("softmax")
def test_softmax_dtype(student, hand):
    """the dtype that goes in comes out"""
    case = hand["five_logits"]
    for dtype, atol in [(torch.float32, 1e-5), (torch.float64, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 3e-2)]:
        logits = torch.tensor(case["logits"], dtype=dtype)
        close(student.softmax(logits), softmax64(logits), atol=atol, dtype=dtype)


@checks("softmax")
def test_softmax_leaves_input(student, hand):
    """the logits are not changed"""
    case = hand["five_logits"]
    for dtype in (torch.float32, torch.float64):
        probs = student.softmax(torch.tensor([case["logits"]], dtype=dtype), _unchanged=True)
        close(probs, [case["probs"]], atol=6e-5)


@checks("softmax")
def test_softmax_in_float64(student):
    """float64 keeps its digits: a gap of a billionth, and logits of 1e300"""
    near = torch.tensor([[1000.0, 1000.0 + 1e-9]], dtype=torch.float64)
    far = torch.tensor([[1e300, 0.0, -1e300]], dtype=torch.float64)
    for logits in (near, far):
        close(
            student.softmax(logits),
            softmax64(logits),
            atol=1e-12,
            rtol=0.0,
            dtype=torch.float64,
            suspects=[(torch.full_like(far, math.nan), "In float32 logits of 1e300 are infinite, and their gap is nan. Stay in float64.")],
        )


# ---- log_softmax ---------------------------------------------------------------------------------------------------


@checks("log_softmax")
def test_log_softmax_by_hand(student, hand):
    """five logits, worked out by hand"""
    case = hand["five_logits"]
    logits = torch.tensor(case["logits"])
    doubles = logits.double()
    log_probs = log_softmax64(doubles)
    close(
        student.log_softmax(logits),
        case["log_probs"],
        suspects=[
            (
                doubles - doubles.max(),
                "These are the gaps to the maximum. The logarithm of the sum is still to be subtracted.",
            ),
            (log_probs.exp(), "These are probabilities: give their logarithms."),
            (-log_probs, "The sign is turned round: the logarithm of a probability is never positive."),
            (log_probs / math.log(2), "These are bits: use the natural logarithm, log, not log2."),
            (log_probs / math.log(10), "Use the natural logarithm, log, not log10."),
        ],
        atol=2e-5,
    )


@checks("log_softmax")
def test_log_softmax_last_dimension(student, rng):
    """every row by itself, whatever the shape"""
    for shape in [(5,), (2, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4)]:
        logits = 2 * torch.randn(shape, generator=rng)
        close(student.log_softmax(logits), log_softmax64(logits), atol=2e-5)


@checks("log_softmax")
def test_log_softmax_large_logits(student, hand):
    """logits around 1000, and rows far apart"""
    case = hand["thousands"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=3e-4)
    case = hand["rows_far_apart"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=3e-4)


@checks("log_softmax")
def test_log_softmax_of_the_improbable(student, hand):
    """probabilities too small for a float still have a logarithm"""
    case = hand["wide_gaps"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=1e-3)


@checks("log_softmax")
def test_log_softmax_of_the_barely_representable(student):
    """gaps between 87 and 103, where a float32 probability is not 0 yet and has lost its digits"""
    gaps = torch.tensor([[0.0, -87.5, -93.25, -99.5, -103.0]])
    lossy = softmax64(gaps).float().log()
    told = "These are logarithms of rounded probabilities. Subtract the logarithm of the sum from the gap: no probability is needed."
    close(student.log_softmax(gaps), gaps, atol=1e-4, rtol=0.0, suspects=[(lossy, told)])


@checks("log_softmax")
def test_log_softmax_in_float64(student):
    """float64 keeps its digits: a gap of a billionth, and gaps of 1e300"""
    near = torch.tensor([1000.0, 1000.0 + 1e-9], dtype=torch.float64)
    close(student.log_softmax(near), log_softmax64(near), atol=1e-11, rtol=0.0, dtype=torch.float64)
    far = torch.tensor([0.0, -1e300], dtype=torch.float64)
    close(student.log_softmax(far), far, atol=0.0, rtol=1e-12, dtype=torch.float64)


@checks("log_softmax")
def test_log_softmax_masked(student, hand):
    """an entry of -inf stays -inf, the others are right"""
    case = hand["masked"]
    got = student.log_softmax(torch.tensor(case["logits"]))
    close(
        got,
        case["log_probs"],
        atol=2e-5,
    )


@checks("log_softmax")
def test_log_softmax_dtype_and_input(student, hand):
    """the dtype that goes in comes out, and the logits are not changed"""
    case = hand["five_logits"]
    for dtype, atol in [(torch.float32, 2e-5), (torch.float64, 2e-5), (torch.float16, 2e-2), (torch.bfloat16, 0.12)]:
        logits = torch.tensor([case["logits"]], dtype=dtype)
        close(student.log_softmax(logits, _unchanged=True), log_softmax64(logits), atol=atol, dtype=dtype)


# ---- entropy -------------------------------------------------------------------------------------------------------


@checks("entropy")
def test_entropy_by_hand(student, hand):
    """the entropy of the five probabilities, worked out by hand"""
    case = hand["five_logits"]
    probs = softmax64(case["logits"])
    want = case["entropy"]
    close(
        student.entropy(probs.float()),
        want,
        suspects=[
            (want / math.log(2), "These are bits. Nats come from the natural logarithm, log, not log2."),
            (want / math.log(10), "Use the natural logarithm, log, not log10."),
            (-want, "The sign is turned round: log p is negative, so the sum needs a minus."),
            (want / 5, "Sum the terms, do not average them: each is weighted by its probability already."),
            (case["perplexity"], "This is the perplexity, exp of the entropy. Give the entropy itself."),
            (-math.log(probs.max()), "This is the surprisal of one token. Average it over all of them, weighted by p."),
        ],
        atol=3e-5,
    )


@checks("entropy")
def test_entropy_with_zeros(student, hand):
    """a probability of 0 adds nothing"""
    case = hand["entropies"]
    for probs, want in zip(case["probs"], case["entropy"], strict=True):
        close(student.entropy(torch.tensor(probs)), want, atol=3e-5)
    close(student.entropy(torch.tensor(case["probs"])), case["entropy"], atol=3e-5)


@checks("entropy")
def test_entropy_extremes(student):
    """0 when one token has everything, ln V when all are alike"""
    for v in (2, 10, 1000):
        certain = torch.zeros(v, dtype=torch.float64)
        certain[v // 2] = 1.0
        close(
            student.entropy(certain),
            0.0,
            atol=1e-13,
        )
        alike = torch.full((v,), 1 / v, dtype=torch.float64)
        close(
            student.entropy(alike),
            math.log(v),
            atol=1e-5,
        )


@checks("entropy")
def test_entropy_shape(student, rng):
    """one number for each row, whatever stands before the last dimension"""
    for shape in [(3, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4)]:
        probs = softmax64(2 * torch.randn(shape, generator=rng))
        got = student.entropy(probs.float())
        close(got, -(probs * probs.log()).sum(dim=-1), atol=1e-5)


@checks("entropy")
def test_entropy_leaves_input(student, hand):
    """the probabilities are not changed"""
    case = hand["entropies"]
    for dtype in (torch.float32, torch.float64):
        got = student.entropy(torch.tensor(case["probs"], dtype=dtype), _unchanged=True)
        close(got, case["entropy"], atol=3e-5)


@checks("entropy")
def test_entropy_in_float64(student):
    """float64 keeps its digits: one token of a billionth"""
    p = 1e-9
    want = -p * math.log(p) - (1 - p) * math.log1p(-p)
    close(student.entropy(torch.tensor([p, 1 - p, 0.0], dtype=torch.float64)), want, atol=1e-14, rtol=0.0)
