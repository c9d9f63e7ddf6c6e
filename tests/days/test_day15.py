"""The numbers of the speculative-decoding day that are worked out by hand; what its reference promises; the rung of the ladder."""

import math
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import solutions.speculative as speculative
from autograder.checking.helpers.cached import PROMPTS, tiny_ids, unrolled, whole
from autograder.checking.helpers.guessed import Books, Drawn, Lookup, Oracle, has_the_law, joint_law, law_of, trials
from autograder.sandbox.measure.op_counter import counting
from autograder.sandbox.process.local import LocalStudent
from course.kit import WeightsOnly, paths
from solutions.kv_cache import KVCache, forward_cached, generate_cached
from solutions.samplers import draw, sample_next_token
from solutions.speculative import (
    acceptance_probs,
    expected_tokens,
    filtered_probs,
    generate_speculative,
    greedy_verify,
    lookup_draft,
    residual_probs,
    speedup,
    truncate,
)

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["speculative"]


def exact(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# ---- by hand -------------------------------------------------------------------------------------------------------


def test_the_filtered_laws() -> None:
    case = HAND["filtered"]
    logits = exact([case["tenths"]]).log()
    for want, options in (("half", {"temperature": 0.5}), ("top_3", {"top_k": 3}), ("top_3_then_75", {"top_k": 3, "top_p": 0.75})):
        assert filtered_probs(logits, **options)[0].tolist() == pytest.approx(case[want], abs=1e-6)
    assert filtered_probs(logits, temperature=0.0, top_k=3, top_p=0.7).tolist() == [[1.0, 0.0, 0.0, 0.0]]


def test_the_looked_up_guesses() -> None:
    case = HAND["lookup"]
    assert [lookup_draft(text) for text in case["texts"]] == case["guesses"]


def test_the_greedy_cases() -> None:
    case = HAND["greedy"]
    logits = torch.nn.functional.one_hot(torch.tensor(case["best"]), 10).float()
    assert [greedy_verify(logits, torch.tensor(draft)) for draft in case["drafts"]] == case["tokens"]
    assert greedy_verify(logits[:1], torch.tensor([], dtype=torch.int64)) == [case["best"][0]]


def test_the_overlap() -> None:
    case = HAND["overlap"]
    p, q = exact(case["p"]), exact(case["q"])
    acceptance, residual = acceptance_probs(p, q), residual_probs(p, q)
    assert acceptance.tolist() == pytest.approx(case["acceptance"], abs=1e-6)
    assert residual.tolist() == pytest.approx(case["residual"])
    kept = float((q * acceptance).sum())
    for same in (case["kept"], float(torch.minimum(p, q).sum()), 1 - float((p - q).abs().sum()) / 2):
        assert kept == pytest.approx(same)
    assert case["law"] == case["p"]
    assert (q * acceptance + (1 - kept) * residual).tolist() == pytest.approx(case["law"])
    assert (q * acceptance + (1 - kept) * p).tolist() == pytest.approx(case["law_replaced_by_p"])


@pytest.mark.parametrize("name", ["chain", "chain_of_four"])
def test_the_chains(name: str) -> None:
    case = HAND[name]
    lengths = has_the_law(LocalStudent(vars(speculative)), case["p"], case["q"], 2)
    assert lengths == pytest.approx(case["lengths"])
    assert sum(n * probability for n, probability in enumerate(lengths, 1)) == pytest.approx(case["mean"])
    alpha = float(torch.minimum(exact(case["p"][0]), exact(case["q"][0])).sum())
    assert expected_tokens(alpha, 2) == pytest.approx(case["formula"])


def test_the_chain_of_four_by_rows() -> None:
    case = HAND["chain_of_four"]
    p, q = exact(case["p"]), exact(case["q"])
    assert torch.minimum(p, q).sum(dim=-1).tolist() == pytest.approx(case["alphas"])
    assert acceptance_probs(p, q)[0].tolist() == pytest.approx(case["acceptance"], abs=1e-6)
    assert residual_probs(p, q)[0].tolist() == pytest.approx(case["residual"])


def test_the_expected_tokens_and_the_speedup() -> None:
    case = HAND["expected"]
    for alpha, k, tokens in zip(case["alpha"], case["k"], case["tokens"], strict=True):
        assert expected_tokens(alpha, k) == pytest.approx(tokens)
        if alpha < 1:
            assert expected_tokens(alpha, k) == pytest.approx((1 - alpha ** (k + 1)) / (1 - alpha))
    case = HAND["speedup"]
    for alpha, k, cost_ratio, want in zip(case["alpha"], case["k"], case["cost_ratio"], case["speedup"], strict=True):
        assert speedup(alpha, k, cost_ratio) == pytest.approx(want, abs=1e-6)
    for alpha, cost_ratio, k, want in zip(case["best_alpha"], case["best_cost_ratio"], case["best_k"], case["best_speedup"], strict=True):
        by_k = [speedup(alpha, n, cost_ratio) for n in range(40)]
        assert by_k.index(max(by_k)) == k
        assert by_k[k] == pytest.approx(want, abs=1e-6)


def test_it_pays_if_more_is_kept_than_it_costs() -> None:
    for alpha in (0.1, 0.3, 0.5, 0.9):
        for cost_ratio in (0.05, 0.25, 0.4, 0.8):
            assert (max(speedup(alpha, k, cost_ratio) for k in range(1, 30)) > 1) == (alpha > cost_ratio)


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens each pass through the model was fed."""
    sizes: list[int] = []

    def watched(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
        sizes.append(ids.shape[1])
        return forward_cached(model, ids, cache)

    monkeypatch.setattr(speculative, "forward_cached", watched)
    return sizes


def test_the_rounds(fed: list[int]) -> None:
    case = HAND["rounds"]
    model, idx = whole().weights_only(), torch.randint(3, 1000, (1, case["prompt"]), generator=torch.Generator().manual_seed(4))
    text = idx[0].tolist() + unrolled(whole(), idx, case["new"], 256)[0].tolist()
    for off, passes, positions in zip((0, 1), case["passes"], case["positions"], strict=True):
        draft = Oracle(text=text, vocab=1024, off=off)
        fed.clear()
        got = generate_speculative(model, idx, max_new_tokens=case["new"], block_size=256, draft=draft, k=case["k"], temperature=0.0)
        assert got[0].tolist() == text
        assert (len(fed), sum(fed)) == (passes, positions)
        assert positions == case["prompt"] + passes - 1 + sum(draft.given)
    left, k = case["new"] - 1, case["k"]
    assert math.ceil(left / (k + 1)) + 1 == case["passes"][0]


# ---- what is refused -----------------------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    for alpha, k, named in ((1.5, 3, "1.5"), (-0.1, 3, "-0.1"), (math.nan, 3, "nan"), (0.5, -2, "-2")):
        with pytest.raises(ValueError, match=named):
            expected_tokens(alpha, k)
        with pytest.raises(ValueError, match=named):
            speedup(alpha, k, 0.1)
    cache = KVCache(whole().config, 1, 8)
    for length in (-1, 1):
        with pytest.raises(ValueError, match=f"got {length}"):
            truncate(cache, length)
    for token in (-1, 1024):
        with pytest.raises(ValueError, match=f"guessed {token}"):
            generate_speculative(
                whole().weights_only(),
                torch.ones(1, 3, dtype=torch.int64),
                max_new_tokens=5,
                block_size=8,
                draft=lambda ids, k, t=token: ([t], None),
            )


# ---- the law -------------------------------------------------------------------------------------------------------


def random_chain(seed: int, vocab: int) -> list[list[float]]:
    weights = torch.randint(0, 5, (vocab + 1, vocab), generator=torch.Generator().manual_seed(seed)).double()
    weights[:, seed % vocab] += 1
    return (weights / weights.sum(dim=-1, keepdim=True)).tolist()


@pytest.mark.parametrize(("vocab", "k"), [(2, 0), (2, 3), (3, 1), (3, 2), (5, 1)])
def test_the_law_is_the_models_for_any_draft(vocab: int, k: int) -> None:
    for seed in range(4):
        p, q = random_chain(seed, vocab), random_chain(seed + 50, vocab)
        assert sum(trial.weight for trial in trials(p, q, k)) == pytest.approx(1)
        lengths = has_the_law(LocalStudent(vars(speculative)), p, q, k)
        assert sum(lengths) == pytest.approx(1)


@pytest.mark.slow
def test_the_law_tells_wrong_rules_apart() -> None:
    """The chain of four resolves what the obvious examples do not: its residuals hold two tokens, and all k + 1 tokens are compared."""
    case = HAND["chain_of_four"]

    def verify(
        accept: Callable[..., Tensor] = acceptance_probs,
        residual: Callable[..., Tensor] = residual_probs,
        again: bool = False,
        extra: int = 0,
    ) -> Callable[..., list[int]]:
        def verify_sampled(p: Tensor, q: Tensor, draft: Tensor, u: Tensor) -> list[int]:
            kept: list[int] = []
            for i, token in enumerate(draft.tolist()):
                if not u[i] < accept(p[i], q[i])[token]:
                    return [*kept, int(draw(residual(p[i], q[i])[None], u[i : i + 1] if again else u[-1:]))]
                kept.append(token)
            return [*kept, int(draw(p[len(draft) - extra][None], u[-1:]))]

        return verify_sampled

    def error(function: Callable[..., list[int]]) -> float:
        law, _ = law_of(LocalStudent({"verify_sampled": function}), case["p"], case["q"], 2)
        return float((law - joint_law(case["p"], 3)).abs().max())

    assert error(verify()) < 1e-15
    wrong = [
        verify(residual=lambda p, q: p),
        verify(residual=lambda p, q: (p - q).abs() + 1e-300),
        verify(accept=lambda p, q: (q / p).clamp(max=1)),
        verify(accept=lambda p, q: (p >= q).double()),
        verify(accept=lambda p, q: p),
        verify(accept=lambda p, q: torch.ones_like(p)),
        verify(again=True),
        verify(extra=1),
    ]
    assert min(error(each) for each in wrong) > 5e-3


def test_a_draw_from_the_filtered_law_is_the_samplers() -> None:
    logits = torch.randn(64, 30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for options in ({}, {"temperature": 0.0}, {"temperature": 0.6, "top_k": 5}, {"top_k": 7, "top_p": 0.8}, {"top_p": 0.3}):
        probs = filtered_probs(logits, **options)
        u = torch.rand(64, 1, generator=torch.Generator().manual_seed(2))
        want = sample_next_token(logits, generator=torch.Generator().manual_seed(2), **options)
        assert torch.equal(draw(probs, u), want)


def test_no_nan_and_nothing_where_p_is_not_more() -> None:
    p = exact([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 1.0, 0.0]])
    q = exact([[0.5, 0.0, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]])
    for dtype in (torch.float32, torch.float64):
        acceptance, residual = acceptance_probs(p.to(dtype), q.to(dtype)), residual_probs(p.to(dtype), q.to(dtype))
        assert acceptance.dtype == residual.dtype == dtype
        assert acceptance.tolist() == [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1]]
        assert residual.tolist() == [[0, 1, 0, 0], [0.25] * 4, [0, 0, 1, 0]]


# ---- the cache -----------------------------------------------------------------------------------------------------


def test_what_is_forgotten_is_written_over_and_nothing_is_copied() -> None:
    model, ids = whole().weights_only(), tiny_ids(PROMPTS[3])
    cache = KVCache(model.config, 1, 40, torch.float64)
    forward_cached(model, ids[:, :12], cache)
    memory = cache.keys.data_ptr()
    forward_cached(model, torch.full((1, 5), 7), cache)
    with counting() as work:
        truncate(cache, 9)
    assert (cache.length, cache.counts, work.written_bytes, cache.keys.data_ptr()) == (9, [9] * len(cache.counts), 0, memory)
    torch.testing.assert_close(forward_cached(model, ids[:, 9:], cache), whole()(ids)[:, 9:])


# ---- the ladder ----------------------------------------------------------------------------------------------------


def drafts_for(text: list[int]) -> dict[str, Books]:
    level = [[1 / 1024] * 1024] * 1024
    return {
        "nothing": Books(),
        "lookup": Lookup(),
        "oracle": Oracle(text=text, vocab=1024),
        "wrong": Oracle(text=text, vocab=1024, off=1),
        "half": Oracle(text=text, vocab=1024, off=1, right=2),
        "random": Drawn(chain=level, generator=torch.Generator().manual_seed(0), some=True),
    }


@pytest.mark.slow
@pytest.mark.parametrize("block_size", [256, 20])
@pytest.mark.parametrize("k", [1, 4, 8])
def test_the_rung_speculative(k: int, block_size: int) -> None:
    """Greedy tokens of the loop without a cache, in float64, whatever the draft guesses."""
    model = whole().weights_only()
    for prompt in PROMPTS:
        idx = tiny_ids(prompt)
        want = unrolled(whole(), idx, 24, block_size)[0].tolist()
        for name, draft in drafts_for(idx[0].tolist() + want).items():
            got = generate_speculative(model, idx, max_new_tokens=24, block_size=block_size, draft=draft, k=k, temperature=0.0)
            assert got[0].tolist() == idx[0].tolist() + want, (name, prompt)


# What lookup costs on tiny in passes and positions, for 96 new tokens: without guesses it is 96 passes.
LOOKUP = [(1, 78, 132), (4, 67, 202), (8, 65, 291)]


@pytest.mark.parametrize(("k", "passes", "positions"), LOOKUP)
def test_lookup_saves_a_third_of_the_passes(k: int, passes: int, positions: int, fed: list[int]) -> None:
    model, idx = whole().weights_only(), tiny_ids("HAMLET:\nTo be, or not to be")
    got = generate_speculative(model, idx, max_new_tokens=96, block_size=256, draft=Lookup(), k=k, temperature=0.0)
    assert torch.equal(got, generate_cached(model, idx, max_new_tokens=96, block_size=256, temperature=0.0))
    assert (len(fed), sum(fed)) == (passes, positions)


def test_the_eos_inside_a_guess_is_the_end() -> None:
    model, idx = whole().weights_only(), tiny_ids(PROMPTS[2])
    want = unrolled(whole(), idx, 24, 256)[0].tolist()
    text = idx[0].tolist() + want
    for place in (0, 3, 5, 23):
        eos = want[place]
        end = want.index(eos) + 1
        for draft in drafts_for(text).values():
            got = generate_speculative(model, idx, max_new_tokens=24, block_size=256, draft=draft, temperature=0.0, eos_token_id=eos)
            assert got[0].tolist() == text[: idx.shape[1] + end]
