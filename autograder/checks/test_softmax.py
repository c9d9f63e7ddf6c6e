"""Checks of the softmax day that students may read."""

from __future__ import annotations

import math

import torch

from autograder.authoring import CheckFailed, checks, close, equal, that

NO_MAXIMUM = "The exponential of 1000 is too large for any float. Subtract the row's largest logit first: it cancels."
ONE_MAXIMUM = "Every row needs its own maximum: with one for the whole tensor, a row far below it loses all its weight."
WRONG_DIMENSION = (
    "The vocabulary is the last dimension, dim=-1, whatever stands before it; keepdim=True keeps rows apart."
)
MASKED = "exp(-inf) is 0 by itself. -inf minus -inf is nan, so -inf must never be what you subtract."
THROUGH_PROBS = (
    "The probability has underflowed to 0 before its logarithm was taken. Work with the logarithm of the sum instead."
)
DTYPE = "Stay in the dtype that came in, or cast back at the end."
ZERO_TIMES_LOG = "0 times log 0 is 0 times -inf, which is nan. Let a probability of 0 add nothing, before you sum."


def softmax64(rows):
    return torch.softmax(torch.as_tensor(rows, dtype=torch.float64), dim=-1)


def log_softmax64(rows):
    return torch.log_softmax(torch.as_tensor(rows, dtype=torch.float64), dim=-1)


def close_or_explain(got, want, suspects, *, atol, otherwise):
    """As `close`; where the values are those of a known mistake, that mistake is named as the cause."""
    try:
        close(got, want, atol=atol)
    except CheckFailed as failure:
        cause = otherwise
        if isinstance(got, float | torch.Tensor):
            values = torch.as_tensor(got).double()
            for mistaken, explanation in suspects:
                mistaken = torch.as_tensor(mistaken, dtype=torch.float64)
                if values.shape == mistaken.shape and torch.allclose(values, mistaken, atol=1e-4):
                    cause = explanation
                    break
        raise CheckFailed(failure.what, expected=failure.expected, got=failure.got, cause=cause) from None


# ---- softmax -------------------------------------------------------------------------------------------------------


@checks("softmax")
def test_softmax_by_hand(student, hand):
    """five logits, worked out by hand"""
    case = hand["five_logits"]
    logits = torch.tensor(case["logits"])
    doubles = logits.double()
    close_or_explain(
        student.softmax(logits),
        case["probs"],
        [
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
        otherwise="Subtract the largest logit, take exponentials, divide by their sum.",
    )


@checks("softmax")
def test_softmax_last_dimension(student, rng):
    """every row by itself, whatever the shape"""
    for shape in [(2, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4)]:
        logits = 2 * torch.randn(shape, generator=rng)
        close(student.softmax(logits), softmax64(logits), atol=1e-5, cause=WRONG_DIMENSION)


@checks("softmax")
def test_softmax_of_a_thousand(student, hand):
    """logits around 1000, and around -1000"""
    case = hand["thousands"]
    logits = torch.tensor(case["logits"])
    close(student.softmax(logits), case["probs"], atol=3e-4, cause=NO_MAXIMUM)
    close(
        student.softmax(logits - 2001),  # -1001, -1000, -999
        case["probs"],
        atol=3e-4,
        cause="exp(-1000) is 0 in every float, and 0 / 0 is nan. Subtract the row's largest logit, negative or not.",
    )


@checks("softmax")
def test_softmax_rows_far_apart(student, hand):
    """a row around 1000 beside a row around -1000"""
    case = hand["rows_far_apart"]
    close(student.softmax(torch.tensor(case["logits"])), case["probs"], atol=3e-4, cause=ONE_MAXIMUM)


@checks("softmax")
def test_softmax_masked(student, hand):
    """an entry of -inf gets exactly 0, the others share the rest"""
    case = hand["masked"]
    probs = student.softmax(torch.tensor(case["logits"]))
    close(probs, case["probs"], atol=2e-5, cause=MASKED)
    equal(float(probs[1]), 0.0, cause="A masked token must never be drawn: exactly 0, not nearly 0.")


@checks("softmax")
def test_softmax_dtype(student, hand):
    """the dtype that goes in comes out"""
    case = hand["five_logits"]
    for dtype, atol in [(torch.float32, 1e-5), (torch.float64, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 3e-2)]:
        logits = torch.tensor(case["logits"], dtype=dtype)
        close(student.softmax(logits), softmax64(logits), atol=atol, dtype=dtype, cause=DTYPE)


@checks("softmax")
def test_softmax_leaves_input(student, hand):
    """the logits are not changed"""
    case = hand["five_logits"]
    for dtype in (torch.float32, torch.float64):
        probs = student.softmax(torch.tensor([case["logits"]], dtype=dtype), _unchanged=True)
        close(probs, [case["probs"]], atol=6e-5)


# ---- log_softmax ---------------------------------------------------------------------------------------------------


@checks("log_softmax")
def test_log_softmax_by_hand(student, hand):
    """five logits, worked out by hand"""
    case = hand["five_logits"]
    logits = torch.tensor(case["logits"])
    doubles = logits.double()
    log_probs = log_softmax64(doubles)
    close_or_explain(
        student.log_softmax(logits),
        case["log_probs"],
        [
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
        otherwise="The logarithm of a quotient: shifted logit minus the logarithm of the sum of exponentials.",
    )


@checks("log_softmax")
def test_log_softmax_last_dimension(student, rng):
    """every row by itself, whatever the shape"""
    for shape in [(5,), (2, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4)]:
        logits = 2 * torch.randn(shape, generator=rng)
        close(student.log_softmax(logits), log_softmax64(logits), atol=2e-5, cause=WRONG_DIMENSION)


@checks("log_softmax")
def test_log_softmax_large_logits(student, hand):
    """logits around 1000, and rows far apart"""
    case = hand["thousands"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=3e-4, cause=NO_MAXIMUM)
    case = hand["rows_far_apart"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=3e-4, cause=ONE_MAXIMUM)


@checks("log_softmax")
def test_log_softmax_of_the_improbable(student, hand):
    """probabilities too small for a float still have a logarithm"""
    case = hand["wide_gaps"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=1e-3, cause=THROUGH_PROBS)


@checks("log_softmax")
def test_log_softmax_masked(student, hand):
    """an entry of -inf stays -inf, the others are right"""
    case = hand["masked"]
    got = student.log_softmax(torch.tensor(case["logits"]))
    close(
        got,
        case["log_probs"],
        atol=2e-5,
        cause="The logarithm of exactly 0 is -inf, and the masked entry adds 0 to the sum.",
    )


@checks("log_softmax")
def test_log_softmax_dtype_and_input(student, hand):
    """the dtype that goes in comes out, and the logits are not changed"""
    case = hand["five_logits"]
    for dtype, atol in [(torch.float32, 2e-5), (torch.float64, 2e-5), (torch.float16, 2e-2), (torch.bfloat16, 0.12)]:
        logits = torch.tensor([case["logits"]], dtype=dtype)
        close(student.log_softmax(logits, _unchanged=True), log_softmax64(logits), atol=atol, dtype=dtype, cause=DTYPE)


# ---- entropy -------------------------------------------------------------------------------------------------------


@checks("entropy")
def test_entropy_by_hand(student, hand):
    """the entropy of the five probabilities, worked out by hand"""
    case = hand["five_logits"]
    probs = softmax64(case["logits"])
    want = case["entropy"]
    close_or_explain(
        student.entropy(probs.float()),
        want,
        [
            (want / math.log(2), "These are bits. Nats come from the natural logarithm, log, not log2."),
            (want / math.log(10), "Use the natural logarithm, log, not log10."),
            (-want, "The sign is turned round: log p is negative, so the sum needs a minus."),
            (want / 5, "Sum the terms, do not average them: each is weighted by its probability already."),
            (case["perplexity"], "This is the perplexity, exp of the entropy. Give the entropy itself."),
            (-math.log(probs.max()), "This is the surprisal of one token. Average it over all of them, weighted by p."),
        ],
        atol=3e-5,
        otherwise="Entropy is the sum over the row of p times its surprisal, -log p.",
    )


@checks("entropy")
def test_entropy_with_zeros(student, hand):
    """a probability of 0 adds nothing"""
    case = hand["entropies"]
    for probs, want in zip(case["probs"], case["entropy"], strict=True):
        close(student.entropy(torch.tensor(probs)), want, atol=3e-5, cause=ZERO_TIMES_LOG)
    close(student.entropy(torch.tensor(case["probs"])), case["entropy"], atol=3e-5, cause=ZERO_TIMES_LOG)


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
            cause="A small number added inside the log shifts every result. " + ZERO_TIMES_LOG,
        )
        alike = torch.full((v,), 1 / v, dtype=torch.float64)
        close(
            student.entropy(alike),
            math.log(v),
            atol=1e-5,
            cause="With V alike, every surprisal is ln V, and so is their average.",
        )


@checks("entropy")
def test_entropy_shape(student, rng):
    """one number for each row, whatever stands before the last dimension"""
    for shape in [(3, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4)]:
        probs = softmax64(2 * torch.randn(shape, generator=rng))
        got = student.entropy(probs.float())
        that(
            isinstance(got, torch.Tensor) and got.shape == probs.shape[:-1],
            "wrong shape",
            expected=str(tuple(probs.shape[:-1])),
            got=str(tuple(got.shape)) if isinstance(got, torch.Tensor) else type(got).__name__,
            cause="Sum over the last dimension only, and let it go: (..., V) becomes (...).",
        )
        close(got, -(probs * probs.log()).sum(dim=-1), atol=1e-5, cause="Sum over the last dimension, dim=-1.")


@checks("entropy")
def test_entropy_leaves_input(student, hand):
    """the probabilities are not changed"""
    case = hand["entropies"]
    for dtype in (torch.float32, torch.float64):
        got = student.entropy(torch.tensor(case["probs"], dtype=dtype), _unchanged=True)
        close(got, case["entropy"], atol=3e-5)
