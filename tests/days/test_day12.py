"""The numbers of the flash attention day that are worked out by hand, each recomputed, and held against the reference."""

import math
import tomllib
from typing import Any

import pytest
import torch

from autograder.base.course_table import solution_source
from autograder.checking.checks.test_flash_attention import ONE_KEY_AT_A_TIME
from autograder.checking.helpers.tiles import planned
from autograder.checking.runner import run_checks, select
from autograder.lessons import find_day, lesson
from autograder.sandbox.measure.op_counter import counting
from autograder.sandbox.process.local import LocalStudent
from course.kit import paths
from course.kit.hardware import HARDWARE
from course.kit.steppers.tile_map import draw_tiles
from solutions.attention import attention, causal_mask
from solutions.flash_attention import State, absorb, combine, finish, flash_attention, flash_bytes, standard_bytes, tile_plan

from ..support.passages import assert_said

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["flash_attention"]
LESSON = (paths.ROOT / "course" / "day12_flash_attention" / "lesson.md").read_text(encoding="utf-8")
A100 = next(h.machine for h in HARDWARE if h.machine.name == "A100")
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
    assert set(HAND) == {
        "two_tiles", "other_order", "two_parts", "plan", "square_plan", "small_bytes", "large_bytes", "score_matrix",
    }, "every entry is recomputed"  # fmt: skip


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


def test_the_lesson_quotes_them() -> None:
    large, small, tiles = HAND["large_bytes"], HAND["small_bytes"], HAND["two_tiles"]
    t, Dh, size = large["t"], large["head_dim"], large["value_bytes"]
    square, flops = 4 * t * t * size, 4 * t * t * Dh
    plan = [tile for row in tile_plan(t, t, 128, 128, True) for tile in row]
    quoted = {
        "9 heads · 4,096² numbers, 604 MB": round(HAND["score_matrix"]["score_bytes"] / 1e6) == 604,
        "4.2 MB together": round((large["standard"] - square) / 1e6, 1) == 4.2,
        "4 · 4,096² numbers: 134.2 MB. Together 138.4 MB, of which 97 %": (
            round(square / 1e6, 1) == 134.2, round(large["standard"] / 1e6, 1) == 138.4, round(square / large["standard"], 2) == 0.97,
        ),
        "together 8.6 GFLOP": round(flops / 1e9, 1) == 8.6,
        "27.5 µs, and the bytes take 69.2 µs": (
            round(flops / A100.peak_flops * 1e6, 1) == 27.5, round(large["standard"] / A100.bandwidth * 1e6, 1) == 69.2,
        ),
        "312 TFLOP/s, 2 TB/s": (A100.peak_flops, A100.bandwidth) == (312e12, 2e12),
        "l = 1.5 · 2/4 + 3/4 + 4/4 = 2.5, and acc = 6 · 2/4 + 0 · 3/4 + 10 · 4/4 = 13. Out 13 / 2.5 = 5.2": (
            tiles["l"] == [1.5, 2.5], tiles["acc"] == [6, 13], tiles["out"] == 5.2,
        ),
        "6 tiles of 9 are read, and 2 of these are masked": (
            sum(map(len, HAND["square_plan"]["tiles"])) == 6,
            sum(masked for row in HAND["square_plan"]["tiles"] for *_, masked in row) == 2,
        ),
        "32 · 32 = 1,024 tiles. 528 of them are read, and 32 need a mask": (len(plan) == 528, sum(tile[2] for tile in plan) == 32),
        "(1, 2, 128, 64), 16,384 numbers, 64 KiB": (2 * 128 * 64 == 16_384, 4 * 16_384 == 64 * 1024),
        "320 numbers, 1,280 bytes": (small["standard"] == 1280 == 4 * 320),
        "160 numbers, 640 bytes": (small["flash"] == 640 == 4 * 160),
        "138.4 MB, nearly all of it scores and weights, written and read. Tiles of 128: 69.2 MB": round(large["flash"] / 1e6, 1) == 69.2,
        "Causal: 36.7 MB": round(large["causal"] / 1e6, 1) == 36.7,
        "can do 156 FLOPs": A100.balance == 156,
        "Tiles of 128 queries have 124": round(flops / large["flash"]) == 124,
        "The plain mean would be 4.857": round((4 + 40 / 7) / 2, 3) == 4.857,
        "About 64, and about 3 · 64 = 192": (
            flops / flash_bytes(t, t, Dh, 2, q_block=64, k_block=64) == pytest.approx(64, rel=0.03),
            3 * flops / flash_bytes(t, t, Dh, 2, q_block=64, k_block=64, group=3) == pytest.approx(192, rel=0.06),
        ),
        "(63 and 183 at 4,096 tokens)": [
            round(group * flops / flash_bytes(t, t, Dh, 2, q_block=64, k_block=64, group=group)) for group in (1, 3)
        ] == [63, 183],
        "From 164 on (for this text)": (
            flops / flash_bytes(t, t, Dh, 2, q_block=163, k_block=64) < 156 < flops / flash_bytes(t, t, Dh, 2, q_block=164, k_block=64)
        ),
        "at the end 805 MB of logits": round(4 * t * 49_152 / 1e6) == 805,
        "not scores, 37.7 MB, but the logits of 256 positions, 50.3 MB": (
            round(4 * 9 * 256 * t / 1e6, 1) == 37.7, round(4 * 256 * 49_152 / 1e6, 1) == 50.3,
        ),
        "25.2 MB, is 4,096 · 1,536 numbers of the feed-forward; a tile has 4.7 MB": (
            round(4 * t * 1536 / 1e6, 1) == 25.2, round(4 * 9 * 256 * 512 / 1e6, 1) == 4.7,
        ),
        "528 tiles of 64, or 36 tiles of 256 with 9 % more pairs": (
            [sum(map(len, tile_plan(2048, 2048, block, block, True))) for block in (64, 256)] == [528, 36],
            round(36 * 256**2 / (528 * 64**2), 2) == 1.09,
        ),
        "l = 1.75 + 1/4 + 2/4 = 2.5 and acc = 10 + 6/4 + 3 · 2/4 = 13": (
            HAND["other_order"]["l"] == [1.75, 2.5], HAND["other_order"]["acc"] == [10, 13],
        ),
    }  # fmt: skip
    assert_said(LESSON, quoted)


def test_the_table_that_closes_the_circle() -> None:
    """Section 5: bytes and arithmetic of one head, each by the A100's rate, and the longer of the two as the time."""
    large = HAND["large_bytes"]
    t, Dh, size = large["t"], large["head_dim"], large["value_bytes"]
    arithmetic = 4 * t * t * Dh / A100.peak_flops
    moved = {f"tiles of {rows} queries": flash_bytes(t, t, Dh, size, q_block=rows, k_block=64) for rows in (128, 164)}
    passages = []
    for name, num_bytes in {"all scores at once": large["standard"], **moved}.items():
        seconds = num_bytes / A100.bandwidth
        gain = large["standard"] / A100.bandwidth / max(seconds, arithmetic)
        passages.append(f"| {name} | {num_bytes / 1e6:.1f} MB | {1e6 * seconds:.1f} µs | {1e6 * arithmetic:.1f} µs | {gain:.1f} times |")
    assert_said(LESSON, [*passages, f"the {4 * t * Dh / 1e6:.1f} MB of this head's keys and values"])


def test_the_given_state_is_the_references() -> None:
    source = (paths.ROOT / "solutions" / "flash_attention.py").read_text(encoding="utf-8")
    given = "@dataclass\nclass State:" + source.partition("class State:")[2].partition("\n\n\ndef absorb")[0]
    assert given in lesson(find_day("flash_attention")).setup


def cell_with(words: str) -> str:
    """The demo cell of the lesson in which these words stand."""
    return next(cell.source for cell in lesson(find_day("flash_attention")).cells if cell.role == "demo" and words in cell.source)


def run_cell(source: str, capsys: pytest.CaptureFixture[str]) -> str:
    names: dict[str, Any] = {"torch": torch, "Tensor": torch.Tensor, "State": State}
    exec(source, names)
    return capsys.readouterr().out


def test_the_bug_passes_the_worked_example_in_either_order() -> None:
    names: dict[str, Any] = {"torch": torch, "Tensor": torch.Tensor, "State": State}
    exec(cell_with("def colleagues_absorb"), names)
    scores, values = torch.tensor(LN, dtype=torch.float64), torch.tensor(HAND["two_tiles"]["values"], dtype=torch.float64)[:, None]
    for order in ((0, 2), (2, 0)):
        state = State.empty((1,), 1, torch.float64)
        for start in order:
            state = names["colleagues_absorb"](state, scores[:, start : start + 2], values[start : start + 2])
        assert [part.item() for part in finish(state)] == pytest.approx([HAND["two_tiles"]["out"], HAND["two_tiles"]["lse"]], abs=5e-5)


WINDOW = """
    plan = []
    for top in range(0, t_q, q_block):
        first, last = t_k - t_q + top, t_k - t_q + min(top + q_block, t_q) - 1
        row = []
        for begin in range(0, t_k, k_block):
            end = min(begin + k_block, t_k)
            if begin <= last and end - 1 > first - window:
                row.append((begin, end, end - 1 > first or begin <= last - window))
        plan.append(row)
    return plan
"""


@pytest.mark.parametrize(("answer", "said"), [
    ("    raise NotImplementedError", "not written yet"),
    (WINDOW, "all plans are right"),
    (WINDOW.replace("first - window", "last - window"), "plans are wrong"),
    (WINDOW.replace(" or begin <= last - window", ""), "plans are wrong"),
    (WINDOW.replace("begin <= last and ", ""), "plans are wrong"),
])  # fmt: skip
def test_the_challenge_tells_right_from_wrong(answer: str, said: str, capsys) -> None:
    source = cell_with("def window_plan")
    assert said in run_cell(source.replace('    raise NotImplementedError("window_plan")', answer), capsys)


def test_the_map_of_tiles_shows_each_tile_once() -> None:
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_hex

    from course.kit.steppers.tile_map import MASKED, READ, SKIPPED

    case = HAND["square_plan"]
    draw_tiles([[tuple(tile) for tile in row] for row in case["tiles"]], case["t"], case["t"], case["block"])
    ax = plt.gcf().axes[0]
    colours = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert [colours.count(colour) for colour in (SKIPPED, READ, MASKED)] == [1, 4, 2]
    assert sum(patch.get_width() * patch.get_height() for patch in ax.patches[1:]) == 17, "of 25 pairs"
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "4", "5", "6"]
    plt.close("all")


@pytest.mark.parametrize(("more", "outcome"), [("", "pass"), (ONE_KEY_AT_A_TIME, "fail")], ids=["reference", "key by key"])
def test_the_race_is_won_by_tiles_and_lost_key_by_key(more: str, outcome: str) -> None:
    """In this process, as in a notebook: there the rivals' source must be able to define a dataclass."""
    namespace: dict[str, Any] = {"__name__": __name__}
    for source in (solution_source("flash_attention"), more):
        exec(source, namespace)
    verdicts = run_checks("flash_attention", select("flash_attention", hidden=False, timing=True), LocalStudent(namespace))
    assert [(v.outcome, v.message in ("", "too slow")) for v in verdicts] == [(outcome, True)]
