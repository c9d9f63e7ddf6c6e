"""Visible checks of the softmax day."""

from __future__ import annotations

import math

import torch

from autograder.authoring import checks, close, equal, that

INF = math.inf
HALF = (torch.float16, torch.bfloat16)


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


def makes_no_table_of_pairs(student, function):
    """Fail if a row of 1,000 logits makes a tensor with a number for each pair: for 49,152 logits it would have 2.4 billion numbers."""
    with student.counting() as work:
        function(torch.zeros(1_000))
    that(
        work.largest_bytes <= 500_000,
        "a row of 1,000 logits made a tensor of more than 500,000 bytes: make tensors of V numbers a row, not of V x V",
        expected="at most 500,000 bytes",
        got=f"{work.largest_bytes:,} bytes",
    )


def long_rows():
    """Return two rows of 5,000 logits: a slow rise from 0 to 4, and zeros of which only the last entry differs, by 150."""
    rows = torch.zeros(2, 5_000)
    rows[0] = torch.linspace(0.0, 4.0, 5_000)
    rows[1, -1] = 150.0
    return rows


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
    """softmax is taken over the last dimension, also of a transposed tensor; a second call does not change the first result"""
    for shape in [(2, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4)]:
        logits = 2 * torch.randn(shape, generator=rng)
        close(student.softmax(logits), softmax64(logits), atol=1e-5)
    turned = 2 * torch.randn((3, 5, 2), generator=rng).transpose(0, 2)
    close(student.softmax(turned), softmax64(turned), atol=1e-5, what="wrong values for a transposed tensor")
    one, other = 2 * torch.randn((2, 3, 4), generator=rng)
    first, _ = student.softmax.again([one], [other])
    close(first, softmax64(one), atol=1e-5, what="wrong values in one call's result after a second call, of the same shape")


@checks("softmax")
def test_softmax_of_a_thousand(student, hand):
    """logits around 1000, around -1000 or in the millions give the right probabilities, without overflow"""
    case = hand["thousands"]
    logits = torch.tensor(case["logits"])
    close(student.softmax(logits), case["probs"], atol=3e-4)
    close(student.softmax(logits - 2001), case["probs"], atol=3e-4)  # -1001, -1000, -999
    millions = torch.tensor([[7e6, 8e6, 9e6], [-9e6, -8e6, -7e6]])
    close(student.softmax(millions), [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], atol=1e-6, what="wrong values for logits of millions")


@checks("softmax")
def test_softmax_rows_far_apart(student, hand):
    """a row around 1000 beside a row around -1000: the probabilities of both rows are right"""
    case = hand["rows_far_apart"]
    lost = [case["probs"][0], [math.nan, math.nan]]
    cause = "The second row is 0 / 0: all of its exponentials are 0. Each row needs a maximum of its own."
    close(student.softmax(torch.tensor(case["logits"])), case["probs"], atol=3e-4, suspects=[(torch.tensor(lost), cause)])
    logits = torch.tensor([case["logits"], [[1.0, 0.0], [900.0, 901.0]]])
    close(student.softmax(logits), softmax64(logits), atol=3e-4, what="wrong values for two sentences of two rows")


@checks("softmax")
def test_softmax_masked(student, hand):
    """a logit of -inf gets exactly 0, also beside the lowest float32 number; a row of only -inf changes no other row"""
    case = hand["masked"]
    probs = student.softmax(torch.tensor(case["logits"]))
    close(probs, case["probs"], atol=2e-5)
    equal(float(probs[1]), 0.0)
    lowest = torch.finfo(torch.float32).min
    logits = torch.tensor([[lowest, -INF, -INF], [-INF, lowest, -INF]])
    close(student.softmax(logits), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], atol=1e-6, what="wrong values beside the smallest float32, -3.4e38")
    logits = torch.tensor([[2.0, 2.0, -INF], [-INF, -INF, -INF]])
    close(student.softmax(logits)[0], [0.5, 0.5, 0.0], atol=1e-6, what="wrong values in a row above a row of nothing but -inf")


@checks("softmax")
def test_softmax_dtype(student, hand):
    """the probabilities have the dtype of the logits, also in rows of one logit"""
    case = hand["five_logits"]
    for dtype, atol in [(torch.float32, 1e-5), (torch.float64, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 3e-2)]:
        logits = torch.tensor(case["logits"], dtype=dtype)
        close(student.softmax(logits), softmax64(logits), atol=atol, dtype=dtype)
        close(student.softmax(logits[:, None]), torch.ones(5, 1), atol=atol, dtype=dtype, what="wrong values for rows of one logit")


@checks("softmax")
def test_softmax_leaves_input(student, hand):
    """the logits are not changed"""
    case = hand["five_logits"]
    for dtype in (torch.float32, torch.float64):
        probs = student.softmax(torch.tensor([case["logits"]], dtype=dtype), _unchanged=True)
        close(probs, [case["probs"]], atol=6e-5)
        for row in ([5.0, -INF, 5.0], [0.0, -1.0, -2.0]):  # in the second, nothing is left to subtract
            logits = torch.tensor(row, dtype=dtype)
            close(student.softmax(logits, _unchanged=True), softmax64(logits), atol=1e-6)


@checks("softmax")
def test_softmax_in_float64(student):
    """float64 logits that differ by a billionth, or are as large as 1e300: the probabilities have float64 precision"""
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


@checks("softmax")
def test_softmax_of_small_probabilities(student):
    """probabilities as small as e^-84 in float32 or e^-700 in float64 are right to 0.1 % of their size"""
    for dtype, row in ((torch.float32, [0.0, -30.0, -60.0, -84.0]), (torch.float64, [0.0, -100.0, -400.0, -700.0])):
        logits = torch.tensor(row, dtype=dtype)
        close(student.softmax(logits), softmax64(logits), atol=0.0, rtol=1e-3, what=f"wrong values for the logits {row}")


@checks("softmax")
def test_softmax_in_half_precision(student):
    """float16 is not rounded to bfloat16, bfloat16 keeps probabilities too small for float16, and large logits do not overflow"""
    gaps = [0.0, -4.015625, -4.046875, -5.109375]  # in odd 64ths
    for dtype, row, atol, rtol, here in (
        (torch.float16, [14.0, 12.0, 13.0], 1e-2, 0.0, "in float16, which ends at 65,504"),
        (torch.bfloat16, [100.0, 96.0, 92.0], 5e-2, 0.0, "in bfloat16"),
        (torch.float16, gaps, 1e-6, 8e-3, "in float16: bfloat16 rounds these gaps"),
        (torch.bfloat16, [0.0, -20.0, -40.0], 0.0, 5e-2, "in bfloat16: the small ones are 0 in float16"),
    ):
        logits = torch.tensor(row, dtype=dtype)
        close(student.softmax(logits), softmax64(logits), atol=atol, rtol=rtol, dtype=dtype, what=f"wrong values {here}")


@checks("softmax")
def test_softmax_of_equal_logits(student):
    """rows of up to 49,152 logits, equal or not: every logit is in the sum, and no tensor of V x V numbers is made"""
    for dtype, v in ((torch.bfloat16, 300), (torch.float16, 2_500)):
        got = student.softmax(torch.zeros(1, v, dtype=dtype))
        close(got, torch.full((1, v), 1 / v), atol=0.0, rtol=5e-2, dtype=dtype, what=f"wrong values for {v:,} equal logits in {dtype}")
    makes_no_table_of_pairs(student, student.softmax)
    got = student.softmax(torch.zeros(49_152))
    close(got, torch.full((49_152,), 1 / 49_152), atol=0.0, rtol=1e-3, what="wrong values for 49,152 equal logits")
    rows = long_rows()
    close(student.softmax(rows), softmax64(rows), atol=1e-12, rtol=1e-3, what="wrong values for 5,000 logits, the largest one last")


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
    """every row is normalized, also a transposed or a nearly normalized row; a second call does not change the first result"""
    for shape in [(5,), (2, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4), (3, 1)]:
        logits = 2 * torch.randn(shape, generator=rng)
        close(student.log_softmax(logits), log_softmax64(logits), atol=2e-5)
    turned = 2 * torch.randn((3, 5, 2), generator=rng).transpose(0, 2)
    close(student.log_softmax(turned), log_softmax64(turned), atol=2e-5, what="wrong values for a transposed tensor")
    one, other = 2 * torch.randn((2, 3, 4), generator=rng)
    first, _ = student.log_softmax.again([one], [other])
    close(first, log_softmax64(one), atol=2e-5, what="wrong values in one call's result after a second call, of the same shape")
    nearly = torch.tensor([0.5, 0.25, 0.25]).log() + 4e-4
    close(student.log_softmax(nearly), nearly - 4e-4, atol=2e-5, what="wrong values for logits that are nearly log probabilities")


@checks("log_softmax")
def test_log_softmax_large_logits(student, hand):
    """logits around 1000, -1000 or -10 million give the right log probabilities, also in half precision or in different rows"""
    case = hand["thousands"]
    logits = torch.tensor(case["logits"])
    close(student.log_softmax(logits), case["log_probs"], atol=3e-4)
    close(student.log_softmax(logits - 2001), case["log_probs"], atol=3e-4, what="wrong values for the logits -1001, -1000 and -999")
    close(student.log_softmax(-1e4 * logits), [0.0, -1e4, -2e4], atol=1e-2, what="wrong values for logits around minus ten million")
    case = hand["rows_far_apart"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=3e-4)
    logits = torch.tensor([case["logits"], [[1.0, 0.0], [900.0, 901.0]]])
    close(student.log_softmax(logits), log_softmax64(logits), atol=3e-4, what="wrong values for two sentences of two rows")
    for dtype in HALF:  # both hold these numbers
        got = student.log_softmax(torch.tensor([1000.0, 992.0, 984.0], dtype=dtype))
        close(got, [0.0, -8.0, -16.0], atol=2e-2, rtol=1e-2, dtype=dtype, what=f"wrong values in {dtype}")


@checks("log_softmax")
def test_log_softmax_of_the_improbable(student, hand):
    """probabilities too small for a float still have a logarithm"""
    case = hand["wide_gaps"]
    close(student.log_softmax(torch.tensor(case["logits"])), case["log_probs"], atol=1e-3)
    got = student.log_softmax(torch.tensor([5.0, 5.0, 5.0, 5.0, -300.0]))
    four = -math.log(4)
    close(got, [four, four, four, four, four - 305.0], atol=1e-3, rtol=0.0, what="wrong values for four best logits and one 305 below them")


@checks("log_softmax")
def test_log_softmax_of_the_barely_representable(student):
    """log probabilities from -87 to -103, where a float32 probability has lost digits, are right to 1e-4"""
    gaps = torch.tensor([[0.0, -87.5, -93.25, -99.5, -103.0]])
    lossy = softmax64(gaps).float().log()
    cause = "These are logarithms of rounded probabilities. Subtract the logarithm of the sum from the gap: no probability is needed."
    close(student.log_softmax(gaps), gaps, atol=1e-4, rtol=0.0, suspects=[(lossy, cause)])


@checks("log_softmax")
def test_log_softmax_in_float64(student):
    """float64 logits that differ by a billionth, or by 1e300: the log probabilities have float64 precision"""
    near = torch.tensor([1000.0, 1000.0 + 1e-9], dtype=torch.float64)
    close(student.log_softmax(near), log_softmax64(near), atol=1e-11, rtol=0.0, dtype=torch.float64)
    far = torch.tensor([0.0, -1e300], dtype=torch.float64)
    close(student.log_softmax(far), far, atol=0.0, rtol=1e-12, dtype=torch.float64)


@checks("log_softmax")
def test_log_softmax_masked(student, hand):
    """a logit of -inf has log probability -inf; the other logits of the row are right, also above a row of only -inf"""
    case = hand["masked"]
    got = student.log_softmax(torch.tensor(case["logits"]))
    close(
        got,
        case["log_probs"],
        atol=2e-5,
    )
    logits = torch.tensor([[2.0, 1.0, -INF], [-INF, -INF, -INF]])
    close(student.log_softmax(logits)[0], log_softmax64(logits[0]), atol=1e-5, what="wrong values in a row above a row of nothing but -inf")


@checks("log_softmax")
def test_log_softmax_dtype_and_input(student, hand):
    """the log probabilities have the dtype of the logits, also in rows of one logit; the logits are not changed"""
    case = hand["five_logits"]
    for dtype, atol in [(torch.float32, 2e-5), (torch.float64, 2e-5), (torch.float16, 2e-2), (torch.bfloat16, 0.12)]:
        logits = torch.tensor([case["logits"]], dtype=dtype)
        close(student.log_softmax(logits, _unchanged=True), log_softmax64(logits), atol=atol, dtype=dtype)
        ones = student.log_softmax(logits.mT.squeeze(0))
        close(ones, torch.zeros(5, 1), atol=atol, dtype=dtype, what="wrong values for rows of one logit")
        for row in ([5.0, -INF, 4.0], [0.0, -1.0, -2.0]):  # in the second, nothing is left to subtract
            logits = torch.tensor(row, dtype=dtype)
            close(student.log_softmax(logits, _unchanged=True), log_softmax64(logits), atol=atol)


@checks("log_softmax")
def test_log_softmax_in_half_precision(student):
    """float16 logits are not rounded to bfloat16, and bfloat16 logits of -1e5, beyond the range of float16, stay finite"""
    gaps = torch.tensor([0.0, -4.015625, -4.046875, -5.109375]).half()  # in odd 64ths
    got = student.log_softmax(gaps)
    close(got, log_softmax64(gaps), atol=8e-3, rtol=0.0, dtype=torch.float16, what="wrong values in float16: bfloat16 rounds these gaps")
    wide = torch.tensor([0.0, -1e5, -2e5]).bfloat16()
    got = student.log_softmax(wide)
    close(got, wide, atol=1e-2, rtol=2e-2, dtype=torch.bfloat16, what="wrong values in bfloat16, beyond the range of float16")


@checks("log_softmax")
def test_log_softmax_of_equal_logits(student):
    """equal best logits, and rows of up to 49,152 logits: every logit is in the sum, and no tensor of V x V numbers is made"""
    best = -math.log(2 + math.exp(-1))
    close(student.log_softmax(torch.tensor([4.0, 3.0, 4.0])), [best, best - 1, best], atol=1e-5, what="wrong values for two best logits")
    for dtype, v in ((torch.bfloat16, 300), (torch.float16, 2_500)):
        got = student.log_softmax(torch.zeros(1, v, dtype=dtype))
        want = torch.full((1, v), -math.log(v))
        close(got, want, atol=5e-2, rtol=0.0, dtype=dtype, what=f"wrong values for {v:,} equal logits in {dtype}")
    makes_no_table_of_pairs(student, student.log_softmax)
    got = student.log_softmax(torch.zeros(49_152))
    close(got, torch.full((49_152,), -math.log(49_152)), atol=2e-3, rtol=0.0, what="wrong values for 49,152 equal logits")
    rows = long_rows()
    close(student.log_softmax(rows), log_softmax64(rows), atol=2e-3, what="wrong values for 5,000 logits, the largest one last")


# ---- entropy -------------------------------------------------------------------------------------------------------


@checks("entropy")
def test_entropy_by_hand(student, hand):
    """the entropy of five probabilities, worked out by hand"""
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
    """a probability of 0 adds nothing to the entropy, also in float16 and bfloat16"""
    case = hand["entropies"]
    for probs, want in zip(case["probs"], case["entropy"], strict=True):
        close(student.entropy(torch.tensor(probs)), want, atol=3e-5)
    close(student.entropy(torch.tensor(case["probs"])), case["entropy"], atol=3e-5)
    rows = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]
    for dtype, atol in ((torch.float16, 1e-2), (torch.bfloat16, 6e-2)):
        got = student.entropy(torch.tensor(rows, dtype=dtype))
        close(got, [0.0, math.log(2), 1.5 * math.log(2)], atol=atol, rtol=0.0, what=f"wrong values in {dtype}")


@checks("entropy")
def test_entropy_extremes(student):
    """the entropy is 0 if one token has probability 1 and ln V if V tokens are equal; a long tail of tiny probabilities is included"""
    for v in (2, 10, 2_500, 49_152):
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
            what=f"wrong value for {v:,} equal probabilities",
        )
    for dtype, v, atol in ((torch.float16, 256, 8e-3), (torch.float16, 2_048, 3e-2), (torch.bfloat16, 512, 8e-2)):
        alike = torch.full((v,), 1 / v, dtype=dtype)
        close(student.entropy(alike), math.log(v), atol=atol, rtol=0.0, what=f"wrong value for {v:,} equal probabilities in {dtype}")
    tail = torch.full((10_000,), 5e-8)
    tail[0] = 1 - 9_999 * 5e-8
    want = -torch.special.xlogy(tail.double(), tail.double()).sum()
    close(student.entropy(tail), want, atol=2e-5, rtol=0.0, what="wrong value for one token and 9,999 of 0.00000005")


@checks("entropy")
def test_entropy_shape(student, rng):
    """probabilities (..., V) give a tensor (...), one entropy for each row; a second call does not change the first result"""
    for shape in [(3, 5), (4, 4), (2, 3, 5), (3, 2, 2, 4), (1, 5), (2, 1, 4)]:
        probs = softmax64(2 * torch.randn(shape, generator=rng))
        got = student.entropy(probs.float())
        close(got, -(probs * probs.log()).sum(dim=-1), atol=1e-5)
    one, other = softmax64(2 * torch.randn((2, 3, 5), generator=rng)).float()
    first, _ = student.entropy.again([one], [other])
    close(first, -(one * one.log()).sum(dim=-1), atol=1e-5, what="wrong values in one call's result after a second call, of the same shape")
    equal(isinstance(student.entropy(one[0]), torch.Tensor), True, what="the entropy of one row is not a tensor")


@checks("entropy")
def test_entropy_leaves_input(student, hand):
    """the probabilities are not changed"""
    case = hand["entropies"]
    for dtype in (torch.float32, torch.float64):
        got = student.entropy(torch.tensor(case["probs"], dtype=dtype), _unchanged=True)
        close(got, case["entropy"], atol=3e-5)


@checks("entropy")
def test_entropy_in_float64(student):
    """float64 probabilities 1e-9 and 1 - 1e-9 give the entropy to within 1e-14"""
    p = 1e-9
    want = -p * math.log(p) - (1 - p) * math.log1p(-p)
    close(student.entropy(torch.tensor([p, 1 - p, 0.0], dtype=torch.float64)), want, atol=1e-14, rtol=0.0)
