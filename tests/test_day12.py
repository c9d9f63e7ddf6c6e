"""The numbers of the flash attention day that are worked out by hand, each recomputed, and held against the reference."""

import math
import tomllib

import pytest
import torch

from autograder.checks.tiles import planned
from autograder.grading.work import counting
from course.kit import paths
from solutions.attention import attention, causal_mask
from solutions.flash_attention import State, absorb, combine, finish, flash_attention, flash_bytes, standard_bytes, tile_plan

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["flash_attention"]
LN = [[math.log(n) for n in HAND["two_tiles"]["exponentials"]]]


@pytest.mark.parametrize(("name", "order"), [("two_tiles", (0, 2)), ("other_order", (2, 0))])
def test_the_state_after_each_tile(name: str, order: tuple[int, int]) -> None:
    case, both = HAND[name], HAND["two_tiles"]
    scores, values = torch.tensor(LN, dtype=torch.float64), torch.tensor(both["values"], dtype=torch.float64)[:, None]
    state, seen = State.empty((1,), 1, torch.float64), []
    for step, start in enumerate(order):
        state = absorb(state, scores[:, start : start + 2], values[start : start + 2])
        seen += range(start, start + 2)
        top = max(both["exponentials"][i] for i in seen)
        total = sum(both["exponentials"][i] / top for i in seen)
        weighted = sum(both["exponentials"][i] / top * both["values"][i] for i in seen)
        assert (case["m"][step], case["l"][step], case["acc"][step]) == pytest.approx((math.log(top), total, weighted), abs=5e-5)
        assert (state.m.item(), state.l.item(), state.acc.item()) == pytest.approx((math.log(top), total, weighted))
    assert [part.item() for part in finish(state)] == pytest.approx([both["out"], both["lse"]], abs=5e-5)


def test_the_parts_put_together() -> None:
    case = HAND["two_parts"]
    assert case["outs"] == pytest.approx([(6 + 2 * 3) / 3, 40 / 7], abs=5e-5)
    assert case["lses"] == pytest.approx([math.log(3), math.log(7)], abs=5e-5)
    assert case["shares"] == pytest.approx([3 / 10, 7 / 10])
    out, lse = combine(torch.tensor(case["outs"])[:, None, None], torch.tensor(case["lses"])[:, None])
    assert (out.item(), lse.item()) == pytest.approx((case["out"], case["lse"]), abs=1e-4)


def test_the_plans() -> None:
    case = HAND["plan"]
    sizes = case["t_q"], case["t_k"], case["q_block"], case["k_block"]
    square = HAND["square_plan"]
    for arguments, tiles in ((sizes, case["tiles"]), ((square["t"],) * 2 + (square["block"],) * 2, square["tiles"])):
        want = [[tuple(tile) for tile in row] for row in tiles]
        assert tile_plan(*arguments, True) == want == planned(*arguments, True)


@pytest.mark.parametrize("name", ["small_bytes", "large_bytes"])
def test_the_bytes(name: str) -> None:
    case = HAND[name]
    t, Dh, size, block = (case[key] for key in ("t", "head_dim", "value_bytes", "block"))
    tiles = {"q_block": block, "k_block": block}
    assert case["standard"] == (4 * t * Dh + 4 * t * t) * size == standard_bytes(t, t, Dh, size)
    whole, half = t // block * t, block * sum(range(1, t // block + 1))
    assert case["flash"] == (2 * t + 2 * whole) * Dh * size == flash_bytes(t, t, Dh, size, **tiles)
    assert case["causal"] == (2 * t + 2 * half) * Dh * size == flash_bytes(t, t, Dh, size, causal=True, **tiles)
    if "group" in case:
        group = case["group"]
        assert case["grouped"] == (2 * group * t + 2 * half) * Dh * size == flash_bytes(t, t, Dh, size, causal=True, group=group, **tiles)


def test_the_score_matrix() -> None:
    case = HAND["score_matrix"]
    assert case["score_bytes"] == 4 * case["heads"] * case["tokens"] ** 2
    assert case["tile_bytes"] == 4 * case["heads"] * case["block"] ** 2


def test_counted_bytes_are_those_of_the_formula() -> None:
    """The tiles move what `flash_bytes` says, to the byte; all scores at once move many times as much."""
    T, H, K, Dh = 768, 4, 2, 32
    q, k, v = (torch.randn(1, heads, T, Dh, generator=torch.Generator().manual_seed(heads)) for heads in (H, K, K))
    with counting(fast_bytes=128 * 1024) as tiled:
        flash_attention(q, k, v, causal=True)
    planned_bytes = K * flash_bytes(T, T, Dh, 4, q_block=64, k_block=64, group=H // K, causal=True)
    assert tiled.slow_bytes == planned_bytes
    with counting(fast_bytes=128 * 1024) as dense:
        attention(q, k, v, causal_mask(T, T))
    assert dense.slow_bytes > 20 * planned_bytes
    assert dense.peak_bytes > 20 * tiled.peak_bytes
