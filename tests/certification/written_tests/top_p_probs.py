# Tests of top_p_probs, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_token_by_token
# RIGHT: all: the rule again in Python's numbers, row by row, and what is refused
import math
import random

import pytest


def law(row, p):
    weights = [math.exp(value - max(row)) for value in row]
    total = math.fsum(weights)
    probs = [weight / total for weight in weights]
    kept, mass = [0.0] * len(row), 0.0
    for token in sorted(range(len(row)), key=lambda token: -probs[token]):
        if mass < p or p == 1:
            kept[token] = probs[token]
        mass += probs[token]
    total = math.fsum(kept)
    return [share / total for share in kept]


def same(got, due):
    due = torch.tensor(due, dtype=torch.float64)
    assert got.shape == due.shape
    assert ((got > 0) == (due > 0)).all()
    assert torch.allclose(got.double(), due, rtol=1e-9 if got.dtype == torch.float64 else 1e-4, atol=0)


def test_top_p_probs(x):
    luck = random.Random(5)
    for p in (0.05, 0.3, 0.6, 0.9, 0.99, 1.0, 1):
        rows = [[luck.uniform(-3, 3) for _ in range(9)] for _ in range(4)] + [[12.0] + 8 * [0.0], [luck.uniform(0, 0.1) for _ in range(9)]]
        for dtype in (torch.float64, torch.float32):
            logits = torch.tensor(rows, dtype=dtype)
            before = logits.clone()
            got = x(logits, p)
            assert got.dtype == dtype and torch.equal(logits, before)
            same(got, [law(row, p) for row in logits.tolist()])
            same(x(logits.T.contiguous().T, p), [law(row, p) for row in logits.tolist()])
            assert torch.equal(logits, before)
    tied = x(torch.zeros(2, 8), 0.5)
    assert sorted(tied[0].tolist()) == sorted(tied[1].tolist()) == [0.0] * 4 + [0.25] * 4
    masses = [0.5, 0.25, 0.1, 0.09, 0.06]
    logits = torch.tensor([masses], dtype=torch.float64).log()
    for p, count in ((0.75 + 5e-5, 3), (0.75 - 5e-5, 2), (0.75 + 1e-9, 3), (0.94 + 1e-9, 5), (0.94 - 1e-9, 4)):
        assert int((x(logits, p) > 0).sum()) == count
    tail = torch.tensor([[0.0, -12.0, -13.0, -60.0]], dtype=torch.float64)
    for p in (0.99, 0.999, 0.99995):
        assert int((x(tail, p) > 0).sum()) == 1
    assert int((x(torch.tensor([[0.0] + 999 * [-20.0] + [-40.0]]), 1.0) > 0).sum()) == 1001
    many = torch.randn(2, 1500, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        for p in (0.9, 0.99):
            rounded = many.to(dtype)
            got = x(rounded, p)
            assert got.dtype == torch.promote_types(dtype, torch.float32)
            for row, values in zip(got.double(), rounded.tolist(), strict=True):
                due = torch.tensor(law(values, p), dtype=torch.float64)
                assert abs(int((row > 0).sum()) - int((due > 0).sum())) <= 1  # the rounding of long sums
                assert abs(float(row.sum()) - 1) < 1e-5 and abs(float(row.max() / due.max()) - 1) < 1e-3
    for p in (0.0, -0.5, 1.5, 90, -3):
        with pytest.raises(ValueError, match=str(p)):
            x(torch.zeros(1, 4), p)


# %% wrong_sums_to_one
# WRONG: 1 of 39: rows sum to 1
def test_top_p_probs(x):
    assert torch.allclose(x(torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8]]), 0.9).sum(dim=-1), torch.ones(1))


# %% wrong_by_hand
# WRONG: 13 of 39: one row, one p
def test_top_p_probs(x):
    due = torch.tensor([[0.0998, 0, 0, 0.9002, 0]])
    assert torch.allclose(x(torch.tensor([[2.0, -1.5, 0.3, 4.2, -0.8]]), 0.9), due, atol=1e-4)


# %% wrong_first_of_ties
# WRONG: says "does not accept a correct version": which of equal tokens stay is not said
def test_top_p_probs(x):
    for n in (4, 64, 256):
        assert (x(torch.zeros(1, n), 0.5)[0] > 0)[: n // 2].all()


# %% wrong_exactly_p_in_rounded_numbers
# WRONG: says "does not accept a correct version": a mass that is p on paper and not in float32
def test_top_p_probs(x):
    for n in range(3, 60):
        for k in range(1, n):
            assert int((x(torch.zeros(1, n), k / n) > 0).sum()) == k


# %% wrong_asserts_nothing
# WRONG: 0 of 39: it calls and looks at nothing
def test_top_p_probs(x):
    x(torch.zeros(2, 5), 0.9)
