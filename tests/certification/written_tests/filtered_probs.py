# Tests of filtered_probs, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_token_by_token
# RIGHT: all: the rule again in Python's numbers, row by row, and what is refused
import math
import random

import pytest


def law(row, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return [float(i == row.index(max(row))) for i in range(len(row))]
    weights = [math.exp((value - max(row)) / temperature) for value in row]
    if top_k is not None:
        least = sorted(weights)[-min(top_k, len(row))]
        weights = [weight if weight >= least else 0.0 for weight in weights]
    probs = [weight / sum(weights) for weight in weights]
    if top_p is not None and top_p < 1:
        kept, mass = set(), 0.0
        for i in sorted(range(len(row)), key=lambda i: -probs[i]):
            if mass < top_p:
                kept.add(i)
            mass += probs[i]
        probs = [prob if i in kept else 0.0 for i, prob in enumerate(probs)]
        probs = [prob / sum(probs) for prob in probs]
    return probs


def same(got, due):
    return torch.allclose(got, torch.tensor(due, dtype=got.dtype), atol=1e-9 if got.dtype == torch.float64 else 1e-6)


def test_filtered_probs(x):
    luck = random.Random(3)
    for options in (
        {}, {"temperature": 0.7}, {"temperature": 0.05}, {"top_k": 3}, {"top_p": 0.6}, {"top_k": 4, "top_p": 0.7},
        {"temperature": 2.0, "top_k": 4}, {"temperature": 1.5, "top_k": 5, "top_p": 0.8}, {"temperature": 0.0, "top_k": 2, "top_p": 0.5},
    ):  # fmt: skip
        rows = [[luck.uniform(-2, 2) for _ in range(8)] for _ in range(3)]
        given = torch.tensor(rows, dtype=torch.float64)
        got = x(given, **options)
        assert got.dtype == torch.float64 and given.tolist() == rows
        assert same(got, [law(row, **options) for row in rows]), options
    many = [[i / 100 for i in range(300)]]
    assert same(x(torch.tensor(many, dtype=torch.float64)), [law(many[0])])
    batch = [[luck.uniform(-2, 2) for _ in range(4)] for _ in range(100)]
    assert same(x(torch.tensor(batch, dtype=torch.float64), top_p=0.6), [law(row, top_p=0.6) for row in batch])
    wide = [[i / 40 for i in range(80)]]
    assert same(x(torch.tensor(wide, dtype=torch.float64), top_k=70), [law(wide[0], top_k=70)])
    near = [[1.0, 1.0003, 0.9999]]
    assert same(x(torch.tensor(near, dtype=torch.float64), temperature=3e-4), [law(near[0], temperature=3e-4)])
    steep = torch.tensor([[30000.0, 29984.0, -30000.0]], dtype=torch.float16)
    assert same(x(steep, temperature=0.4), [law(steep[0].tolist(), temperature=0.4)])
    shared = [[1.0, 2.0, 0.0, 1.0]]
    assert same(x(torch.tensor(shared, dtype=torch.float64), top_k=2), [law(shared[0], top_k=2)])
    assert sorted(x(torch.tensor([[2.0, 3.0, 3.0]]), temperature=0.0)[0].tolist()) == [0.0, 0.0, 1.0]
    assert same(x(torch.tensor([[30000.0, 29999.0, -30000.0]])), [law([1.0, 0.0, -60000.0])])
    half = torch.tensor([[2.0, 1.0, 0.5]], dtype=torch.bfloat16)
    assert x(half).dtype == torch.float32 and same(x(half), [law([2.0, 1.0, 0.5])])
    for refused in ({"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}, {"temperature": 0.0, "top_k": -2}):
        with pytest.raises(ValueError):
            x(torch.zeros(1, 4), **refused)


# %% wrong_sums_to_one
# WRONG: 1 of 22: rows sum to 1 with a filter
def test_filtered_probs(x):
    assert torch.allclose(x(torch.tensor([[1.0, 2.0, 3.0]]), top_k=2).sum(dim=-1), torch.ones(1))


# %% wrong_lucky_rounding
# WRONG: says "does not accept a correct version": demands the last bit of one way of computing
def test_filtered_probs(x):
    logits = torch.randn(50, 64, generator=torch.Generator().manual_seed(0))
    best = logits.masked_fill(logits < logits.topk(9, dim=-1).values[:, -1:], -torch.inf)
    assert torch.equal(x(logits, temperature=0.7, top_k=9), (best / 0.7).softmax(dim=-1))


# %% wrong_one_of_two_ties
# WRONG: says "does not accept a correct version": of two best tokens at temperature 0 either may take all, and it demands the last
def test_filtered_probs(x):
    assert x(torch.tensor([[2.0, 3.0, 3.0]]), temperature=0.0).tolist() == [[0.0, 0.0, 1.0]]


# %% wrong_asserts_nothing
# WRONG: 0 of 22: calls
def test_filtered_probs(x):
    x(torch.zeros(2, 3))
