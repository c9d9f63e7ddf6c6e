"""The engine's way from a row of logits to its token, held to the days' functions, which are the definition."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course.kit import load_model
from course.kit.errors import ModelError
from solutions import serving
from solutions.engine.sampling import BLOCK, CUTOFFS, above, as_row, drawn, token_logprobs
from solutions.engine.sequence import Request, most_probable, next_tokens
from solutions.engine.serving import ServingEngine
from solutions.paging import BlockPool, PagedSequence
from solutions.samplers import sample_next_token, temperature_probs, top_k_probs, top_p_probs
from solutions.steering import apply_frequency_presence, apply_repetition_penalty, min_p_probs, typical_probs

SMOLLM2S = 49_152


def by_the_days(
    row: Tensor, *, temperature: float, min_p: float | None, top_k: int | None, top_p: float | None, typical_p: float | None = None
) -> Tensor:
    """The distribution that the days' functions give, in float64: (V,)."""
    probs = temperature_probs(row[None].double(), temperature)
    for setting, cut in ((min_p, min_p_probs), (top_k, top_k_probs), (typical_p, typical_probs), (top_p, top_p_probs)):
        if setting is not None:
            probs = cut(probs.log(), setting)  # type: ignore[operator]
    return probs[0]


def rows(v: int, seed: int) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    normal = torch.randn(v, generator=rng)
    return {
        "a model's": 3 * normal,
        "sure": torch.cat([torch.tensor([40.0]), normal[1:]]),
        "flat": 1e-3 * normal,
        "ties": (2 * normal).round(),
        "most are forbidden": torch.where(torch.rand(v, generator=rng) < 0.9, -torch.inf, normal).index_fill(
            0, torch.tensor([v // 2]), 1.0
        ),
        "far below zero": normal - 500,
        "wide": 60 * normal,
    }


VALUES = {
    "temperature": (0.3, 1.0, 1.7),
    "min_p": (None, 0.0, 0.05, 1.0),
    "top_k": (None, 1, 7, 40, 10**6),
    "top_p": (None, 0.2, 0.95, 1.0),
}
SETTINGS = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
FILTERS = [{}, {"top_k": 20}, {"top_p": 0.8}, {"top_k": 50, "top_p": 0.9}, {"min_p": 0.1}, {"min_p": 0.02, "top_k": 9, "top_p": 0.7}]
FILTERS += [{"typical_p": 0.3}, {"top_k": 50, "typical_p": 0.6, "top_p": 0.9}]
PENALTIES = [{}, {"repetition_penalty": 1.3}, {"presence_penalty": 0.7, "frequency_penalty": 0.2}]


LOOKED_AT = 20
"""The tokens of a row that are drawn, about evenly chosen, and the last one."""


@pytest.mark.parametrize("v", [2, 41, BLOCK, BLOCK + 1, 3 * BLOCK - 1])
def test_each_token_has_its_place_on_the_scale(v):
    """In the middle of each token's share lies this token, and no other: so the two have one distribution, and one order."""
    for kind, row in rows(v, seed=v).items():
        for settings in SETTINGS:
            probs = by_the_days(row, **settings)
            if kind == "ties" and settings["top_p"] not in (None, 1.0):
                continue  # which of two equal ones is the last inside is not said: see below
            ends = probs.cumsum(0)
            wide = (probs > 1e-5).nonzero().flatten().tolist()
            wide = [*wide[:: len(wide) // LOOKED_AT + 1], wide[-1]]
            got = [drawn(row.numpy(), float(ends[i] - probs[i] / 2), **settings) for i in wide]
            assert got == wide, (kind, settings)


@pytest.mark.parametrize("v", [2, 41, 3 * BLOCK - 1, SMOLLM2S])
def test_typical_tokens_are_those_of_day_6(v):
    """Alone and among the other filters, at its place between top_k and top_p, whichever token is the most typical one."""
    others = [dict(zip(VALUES, values, strict=True)) for values in product((0.7, 1.3), (None, 0.05), (None, 7), (None, 0.8))]
    seen = []
    for kind, row in rows(v, seed=v + 1).items():
        if kind == "ties":
            continue
        for mass, settings in product((1e-3, 0.2, 0.5, 0.9, 1.0), others if v < SMOLLM2S else others[:3]):
            probs = by_the_days(row.double(), **settings, typical_p=mass)
            ends = probs.cumsum(0)
            wide = (probs > 1e-5).nonzero().flatten().tolist()
            wide = [*wide[:: len(wide) // LOOKED_AT + 1], wide[-1]]
            got = [drawn(row.double().numpy(), float(ends[i] - probs[i] / 2), **settings, typical_p=mass) for i in wide]
            assert got == wide, (kind, mass, settings)
            seen.append(probs[int(row.argmax())] == 0)
    assert any(seen) or v == 2  # the most probable token is often not typical


def test_where_the_mass_is_exactly_p_nothing_more_is_kept():
    row = np.zeros(4, np.float32)
    assert [len({drawn(row, u, temperature=1.0, top_p=p) for u in (0.1, 0.3, 0.6, 0.9)}) for p in (0.25, 0.5, 0.75)] == [1, 2, 3]


def test_of_equal_tokens_at_the_border_as_many_are_kept_as_reach_top_p():
    row = torch.tensor([0.0, 2.0, 1.0, 1.0, 1.0, -3.0])
    probs = torch.softmax(row, 0)
    p = float(probs[1] + 1.5 * probs[2])
    seen = {drawn(row.numpy(), u, temperature=1.0, top_p=p) for u in np.linspace(0, 1, 1000, endpoint=False)}
    assert 1 in seen
    assert len(seen & {2, 3, 4}) == 2
    assert len(seen) == 3


@pytest.mark.parametrize("kind", list(rows(8, 0)))
def test_a_vocabulary_as_large_as_smollm2s(kind):
    """At any u the token is the days', as far as their float32 can tell on which side of a border u lies."""
    row = rows(SMOLLM2S, seed=3)[kind]
    us = torch.rand(60, generator=torch.Generator().manual_seed(1), dtype=torch.float64).tolist()
    for settings in SETTINGS[::7]:
        if kind == "ties" and settings["top_p"] not in (None, 1.0):
            continue
        probs = by_the_days(row, **settings)
        ends = probs.cumsum(0)
        near = 1e-6 + float(probs[probs > 0].min())  # where a nucleus ends, the least of its tokens may be in or out
        for u in [0.0, *us, 1 - 2**-24]:
            token = drawn(row.numpy(), u, **settings)
            assert probs[token] > 0, (settings, u)
            assert ends[token] - probs[token] - near <= u <= ends[token] + near, (settings, u)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_request_draws_what_the_days_draw(dtype):
    """With a generator of the same state, whatever is set; and it leaves that generator where the days' sampler does."""
    tied = {"top_p", "typical_p"} if dtype == torch.bfloat16 else set()  # 8 bits make many ties
    filters_here = [each for each in FILTERS if not tied & each.keys()]
    for seed, filters, penalties in product(range(40), filters_here, PENALTIES):
        rng = torch.Generator().manual_seed(seed)
        logits = (4 * torch.randn(1, 1000, generator=rng)).to(dtype)
        said = torch.randint(0, 1000, (30,), generator=rng).tolist()
        settings = {"temperature": 0.8, **filters}
        ours, theirs = (torch.Generator().manual_seed(seed) for _ in range(2))
        request = Request(said[:20], 100, generator=ours, **settings, **penalties)
        request.output = said[20:]
        wide = logits.float() if dtype.itemsize < 4 else logits
        assert request.next_token(logits) == by_hand(wide, said, theirs, settings, penalties), (seed, settings, penalties)
        assert torch.equal(ours.get_state(), theirs.get_state())


def by_hand(logits: Tensor, said: list[int], generator: torch.Generator, settings: dict[str, Any], penalties: dict[str, float]) -> int:
    if "repetition_penalty" in penalties:
        logits = apply_repetition_penalty(logits, torch.tensor([said]), penalties["repetition_penalty"])
    if "presence_penalty" in penalties:
        answer = torch.tensor([said[20:]])
        logits = apply_frequency_presence(logits, answer, penalties["frequency_penalty"], penalties["presence_penalty"])
    others = {name: value for name, value in settings.items() if name != "min_p"}
    if "min_p" in settings:
        logits = min_p_probs(temperature_probs(logits, others.pop("temperature")).log(), settings["min_p"]).log()
    if "typical_p" in settings:
        probs = temperature_probs(logits, others.pop("temperature"))
        probs = top_k_probs(probs.log(), others.pop("top_k")) if "top_k" in others else probs
        logits = typical_probs(probs.log(), others.pop("typical_p")).log()
    return int(sample_next_token(logits, **others, generator=generator))


def test_penalties_without_a_temperature_are_the_best_of_what_is_left():
    logits = torch.tensor([[3.0, 2.9, -1.0, 0.5]])
    request = Request([0], 5, repetition_penalty=1.5)
    assert request.next_token(logits) == 1
    request = Request([3], 5, presence_penalty=0.2)
    assert request.next_token(logits) == 0, "the prompt does not count"
    request.output = [0]
    assert request.next_token(logits) == 1
    assert torch.equal(logits, torch.tensor([[3.0, 2.9, -1.0, 0.5]])), "the logits are the caller's"


NO_DISTRIBUTION = ([1.0, math.nan, 2.0], [1.0, math.inf, 2.0], [-math.inf] * 3)


@pytest.mark.parametrize("row", NO_DISTRIBUTION, ids=str)
def test_a_row_that_is_no_distribution_gives_no_token(row):
    """Greedy or drawn, alone or beside a row that is one: a damaged model would say the token of its NaN for ever."""
    for settings in ({}, {"top_k": 2}, {"top_p": 0.5}, {"min_p": 0.1}, {"typical_p": 0.5}):
        with pytest.raises(ModelError, match=r"the model's best logit is (nan|inf|-inf): its weights are damaged"):
            drawn(np.array(row, np.float32), 0.4, temperature=1.0, **settings)
    for request in (Request([0], 5, repetition_penalty=1.5), Request([0], 5, temperature=1.0, generator=torch.Generator())):
        with pytest.raises(ModelError, match="best logit"):
            request.next_token(torch.tensor([row]))
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        with pytest.raises(ModelError, match="best logit"):
            most_probable(torch.tensor([[1.0, 2.0, 3.0], row], dtype=dtype))
        assert most_probable(torch.tensor([[1.0, 2.0, 3.0], [-math.inf, 0.0, -1.0]], dtype=dtype)) == [2, 1]


@pytest.mark.parametrize("temperature", [1e-6, 1e-20, 1e-45, 1e-60])
def test_next_to_no_temperature_is_greedy(temperature):
    row = rows(1000, seed=1)["a model's"].numpy()
    for settings in ({}, {"top_k": 5}, {"top_p": 0.5}, {"min_p": 0.5}):
        assert drawn(row, 0.999, temperature=temperature, **settings) == int(row.argmax())


def test_what_lies_above_a_cutoff_is_taken_until_there_is_enough():
    weights = np.array([1e-3, 1.0, 0.0, 1e-5, 0.5, 1e-30], np.float32)
    assert list(CUTOFFS) == [1e-2, 1e-4, 1e-8, 1e-16]
    for due, wanted in (([1, 4], 2), ([0, 1, 4], 3), ([0, 1, 3, 4], 4), ([0, 1, 2, 3, 4, 5], 5)):
        assert above(weights, lambda found, wanted=wanted: len(found) >= wanted).tolist() == due


@pytest.mark.parametrize("kind", list(rows(8, 0)))
def test_what_the_model_thought_is_what_day_18_says(kind):
    for v in (5, 1000, SMOLLM2S):
        row = rows(v, seed=v)[kind]
        for token in (0, v // 2, v - 1):
            for k in (0, 1, 5):
                want, want_best = serving.token_logprobs(row.double(), token, k)
                got, got_best = token_logprobs(row.numpy(), token, k)
                assert got == pytest.approx(want, abs=2e-5 if kind != "wide" else 1e-4)
                assert [value for _, value in got_best] == pytest.approx([value for _, value in want_best], abs=1e-4)
                assert all(row[i] == row[j] for (i, _), (j, _) in zip(got_best, want_best, strict=True))
                assert len({i for i, _ in got_best}) == k


def test_rows_are_the_memory_that_was_given_and_halves_are_widened():
    row = torch.tensor([[1.0, 2.0]])
    as_row(row)[1] = 5.0
    assert row[0, 1] == 5.0
    assert as_row(torch.tensor([1.0, 2.0], dtype=torch.bfloat16)).dtype == np.float32
    assert as_row(torch.tensor([1.0, 2.0], dtype=torch.float64)).dtype == np.float64


class Large(TorchDispatchMode):
    """The operations that torch would share out to its threads."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        made = [leaf for leaf in tree_leaves((args, out)) if isinstance(leaf, Tensor) and leaf.numel() >= SMOLLM2S]
        if made and not function.is_view and function is not torch.ops.aten.detach.default:
            self.seen.append(str(function))
        return out


@pytest.mark.parametrize("settings", [*FILTERS, *PENALTIES[1:]], ids=str)
def test_drawing_takes_no_pass_of_torchs_over_the_vocabulary(settings):
    """After one, torch's threads wait in a loop on the cores of the next step's kernels: three quarters of the speed were lost to that."""
    logits = torch.randn(1, SMOLLM2S)
    request = Request([1, 2], 9, temperature=0.8, generator=torch.Generator().manual_seed(1), **settings)
    request.output = [5, 7]
    request.sequence = PagedSequence(BlockPool(1), 16)
    request.sequence.length = len(request.tokens)
    with Large() as large:
        (token,) = next_tokens([(request, 1)], logits)
        token_logprobs(as_row(logits[0]), token, 5)
    assert large.seen == []
    with large:
        sample_next_token(logits, top_p=0.9)
    assert large.seen, "the days' sampler takes some"


def test_a_sampled_answer_is_what_the_days_draw_token_by_token():
    model = load_model("tiny", dtype=torch.float64)
    prompt, settings = [10, 20, 30], {"temperature": 1.0, "top_k": 30, "top_p": 0.9}
    engine = ServingEngine(model, num_blocks=16)
    (got,) = engine.generate([Request(prompt, 24, **settings, generator=torch.Generator().manual_seed(5))])
    generator, tokens = torch.Generator().manual_seed(5), list(prompt)
    for _ in range(24):
        logits = model(torch.tensor([tokens]))[:, -1]
        tokens.append(int(sample_next_token(logits, **settings, generator=generator)))
    assert got == tokens[3:]
