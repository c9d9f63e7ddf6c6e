"""What the lesson on quantization says: its numbers, its demo cells, the bug to find and the challenge."""

import math
import re
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

import solutions.kv_cache as day10
import solutions.quantization as quantization
from autograder.lessons import find_day
from autograder.sandbox.measure.op_counter import counting
from course.kit import WeightsOnly, load_blocks, load_model, paths, plots
from solutions.quantization import dequantize, kl_divergence, perplexity, quantize_absmax, quantize_affine

from ..support.demo_cells import DemoCells, earlier, public
from ..support.passages import assert_said

DAY = find_day("quantization")
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["quantization"]
LESSON = DAY.lesson_path.read_text(encoding="utf-8")
BENCHMARK = (paths.ROOT / "benchmarks" / "results" / "quantized.md").read_text(encoding="utf-8")

TINY_CELL, LOSS_CELL, KERNEL_CELL = 'load_model("tiny")\n', "def in_bits", "beside the unpacked matrix"


def names_of_the_notebook(*, smollm2: bool) -> dict[str, Any]:
    """smollm2: whether its file is there."""

    def load(name: str, **options: Any) -> Any:
        return load_model(name, **options) if smollm2 or name != "smollm2" else None

    return {
        **public(quantization), "earlier": earlier,
        "load_model": load, "load_blocks": load_blocks, "plots": plots, "paths": paths, "time": time, "replace": replace,
        "Callable": Callable, "WeightsOnly": WeightsOnly, "KVCache": day10.KVCache, "forward_cached": day10.forward_cached,
        "generate_cached": day10.generate_cached, "counting": counting, "smollm2": None,
    }  # fmt: skip


run_cell = DemoCells(DAY, partial(names_of_the_notebook, smollm2=False))
run_cell_with_smollm2 = DemoCells(DAY, partial(names_of_the_notebook, smollm2=True))


def numbers_behind(text: str, said: str) -> list[float]:
    """All numbers of the line that begins with this text, behind it."""
    line = next(line for line in said.splitlines() if line.startswith(text))
    return [float(x) for x in re.findall(r"-?\d+\.?\d*", line.removeprefix(text))]


needs_smollm2 = pytest.mark.skipif(
    not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it"
)


def test_the_lesson_quotes_them() -> None:
    absmax, affine, outlier, nibbles, block, written, linear, widths, size, kl = (
        HAND[name] for name in ("absmax", "affine", "outlier", "nibbles", "q4_1", "written", "linear", "widths", "bytes", "divergence")
    )
    off = [abs(written["minimum"] + q * written["scale"] - 100.36) for q in (15, 14)]
    quoted = {
        "20 · 8 / 32 = **5 bits**": 20 * 8 / 32 == 5,
        "34 · 8 / 32 = **8.5 bits**": 34 * 8 / 32 == 8.5,
        "106,168,320 · 5 / 8 = 66,355,200 bytes": 106168320 * 5 / 8 == size["q4_1"],
        "134.5 million weights": round((size["float32"] / 4) / 1e6, 1) == 134.5,
        "538 MB; at 20 GB/s that takes 27 ms": (round(size["float32"] / 1e6) == 538, round(size["float32"] / 20e6) == 27),
        "could read 97 MB a token in place of 538, at 20 GB/s in 4.8 ms": (
            round(size["file"] / 1e6) == 97, round(size["file"] / 20e6, 1) == 4.8),
        "is less than a fifth of that": size["file"] < size["float32"] / 5,
        "5.57 times: the embedding has 8.5 bits": round(size["float32"] / size["file"], 2) == 5.57,
        "4.2 / 127 = 0.0330709. 2.0 is 60.48 steps: 60. -1.5 is -45.36: -45. Then 9, 127 and -24": absmax["q"] == [60, -45, 9, 127, -24],
        "60 · 0.0330709 = 1.98425, off by **0.0157**; half a step is 0.0165": (
            round(absmax["back"][0], 5) == 1.98425, round(absmax["worst"], 4) == 0.0157, round(absmax["scale"] / 2, 4) == 0.0165),
        "(4.2 + 1.5) / 15 = 0.38; minimum -1.5. 3.5 / 0.38 = 9.21: 9. Then 0, 5, 15, 2": affine["q_4"] == [9, 0, 5, 15, 2],
        "Back: 1.92, -1.5, 0.4, 4.2, -0.74. The worst is 0.3, off by **0.1**; half a step is 0.19": (
            affine["back_4"] == [1.92, -1.5, 0.4, 4.2, -0.74], affine["worst_4"] == 0.1),
        "10 / 7 = 1.4286; everything below half of it, 0.714": round(outlier["scale"], 4) == 1.4286,
        "0.31 / 7 = 0.0443: 0.01 and 0.02 become 0, 0.03 becomes 1": (outlier["first_three"] == [0, 0, 1], round(0.31 / 7, 4) == 0.0443),
        "0.3041 - 0.1733 = **0.1308**": round(kl["first"], 4) == 0.1308,
        "0.5 · ln 2 = **0.1438**": round(kl["first_reversed"], 4) == 0.1438,
        "the first would be 0.1887, in bits": round(kl["first_bits"], 4) == 0.1887,
        "2^2.5 = **5.657**": round(HAND["perplexity"]["perplexity"], 3) == 5.657,
        "175 34 are the scale as float16, 0.013054; 200 173 are the minimum, -0.090332": (
            block["raw"][:4] == [175, 34, 200, 173], round(block["scale"], 6) == 0.013054, round(block["minimum"], 6) == -0.090332),
        "its low half, 15, is number 0, and its high half, 11, is number 16": (nibbles["low"][0] == 15, nibbles["high"][0] == 11),
        "125 = 7 · 16 + 13. Number 1 is 13, number 17 is 7": (nibbles["low"][1] == 13, nibbles["high"][1] == 7, nibbles["bytes"][1] == 125),
        "= **0.079369**, and 7 · 0.0130539 - 0.0903320 = **0.001045**": (
            round(block["first_four"][1], 6) == 0.079369, round(7 * block["scale"] + block["minimum"], 6) == 0.001045),
        "1601 · 0.0625 = 100.0625": 1601 * 0.0625 == written["minimum"],
        "-0.605 steps away": round((100.05 - written["minimum"]) / written["scale"], 3) == -0.605,
        "100.36 is 14.40 steps: **14**": (round((100.36 - written["minimum"]) / written["scale"], 2) == 14.40, written["q"][-1] == 14),
        "gets 100.3724, off by 0.012 in the place of 0.008": (round(off[0], 3) == 0.012, round(off[1], 3) == 0.008),
        "The first: 0.5 · 3822 - 257 = **1654**. The second: 0 + 0.5 · 257 = **128.5**": linear["y"] == [1654, 128.5],
        "2 · (0.5 · 1913 - 129) = **1655**. The second: 2 · 0.5 · 129 = **129**": linear["y_int8"] == [1655, 129],
        "sixteen products are 30,480 and fit; 32 are 60,960 and do not": (widths["sixteen"] == 30480, widths["group"] == 60960),
        "2 · 30 · 3 · (64 + 2) = **11,880** bytes": size["cache"] == 11880,
        "2 · 30 · 3 · 64 · 4 = 46,080: 3.88 times": round(size["cache_float32"] / size["cache"], 2) == 3.88,
        "8,192 tokens: 97 MB, as much as all weights in the file, instead of 377 MB": (
            round(8192 * 11880 / 1e6) == 97 == round(size["file"] / 1e6), round(8192 * 46080 / 1e6) == 377),
        "(23,040 bytes a token against 11,880)": 2 * 30 * 3 * 64 * 2 == 23040,
        "int16 makes -4,576 of it": (60960 + 32768) % 65536 - 32768 == -4576,
        "2.54 / 127 / 2 = 0.01, and 2.54 / 7 / 2 = 0.18": (math.isclose(2.54 / 127 / 2, 0.01), round(2.54 / 14, 2) == 0.18),
        "Numbers 2 and 18: 3 in the low half, 10 in the high one": (0xA3 % 16 == 3, 0xA3 // 16 == 10),
        "One: 32,385. Two are 64,770": (255 * 127 == 32385, 2 * 32385 == 64770),
        "15 · 127 = 1,905, seventeen fit": 32767 // 1905 == 17,
        "a quarter of a bit: 4.25": 4 + 32 / 128 == 4.25,
        "2.13 to 3.88 times as many tokens a second": "Decode over llama.cpp: 2.13 to 3.88" in BENCHMARK,
        "KL to float32 of 0.0000008 nats where llama.cpp has 0.00437": "ours 0.0000008, llama.cpp 0.00437 nats" in BENCHMARK,
    }  # fmt: skip
    assert_said(LESSON, quoted)


def test_a_row_uses_more_marks_where_fewer_share_them(capsys) -> None:
    said = run_cell(TINY_CELL, capsys)
    rows = [numbers_behind(f"marks of the {name}: ", said) for name in ("matrix", "row", "first group")]
    (wide, used, _), (middle, whole, _), (narrow, *_) = rows
    assert wide > middle > narrow
    assert (used, whole) == (10, 16)
    assert load_model("tiny").weights.layers[0].down_proj.shape[1] == 352


def test_what_bits_and_sharing_lose(capsys) -> None:
    said = run_cell(LOSS_CELL, capsys, before=(TINY_CELL,))
    rows = {share: numbers_behind(f"shared by {share},", said) for share in ("a matrix", "a row", "32 numbers")}
    loss = {share: dict(zip(row[0:-1:2], row[1:-1:2], strict=True)) for share, row in rows.items()}
    quoted = (
        ("0.020 against 0.095", "32 numbers", 4, 3), ("0.020 against 0.095", "a matrix", 4, 3), ("lose 0.011", "a row", 5, 3),
        ("lost 0.00035, 0.038 and 0.095", "a matrix", 8, 5), ("lost 0.00035, 0.038 and 0.095", "a row", 4, 3),
    )  # fmt: skip
    for text, share, bits, digits in quoted:
        assert f"{loss[share][bits]:.{digits}f}" in text
        assert text in LESSON
    assert [row[-1] for row in rows.values()] == [0.0, 0.21, 1.0]  # 5 bits for a row are 5.21, and 4 bits of groups 5.00
    assert all(2.5 < loss[share][bits] / loss[share][bits + 1] < 6 for share in loss for bits in (3, 4, 5))
    assert loss["32 numbers"][4] < loss["a matrix"][4] / 4
    assert loss["a row"][5] < loss["32 numbers"][4]


def test_a_lower_perplexity_is_further_from_the_model(capsys) -> None:
    said = run_cell("the likeliest token is the same", capsys, before=(TINY_CELL, LOSS_CELL))
    exact = numbers_behind("float32:", said)[-1]
    (absmax, far, _), (affine, near, _), (six, some, _) = (
        numbers_behind(f"{name}:", said) for name in ("4 bits, absmax", "4 bits, affine", "6 bits, absmax"))  # fmt: skip
    assert absmax < affine
    assert far > near
    assert six < exact
    assert some > 0
    assert f"{far:.3f} against {near:.3f}" == "0.050 against 0.038"
    assert "*further* from the model, 0.050 against 0.038" in LESSON


def test_rounding_the_input_costs_half_a_percent(capsys) -> None:
    said = run_cell(KERNEL_CELL, capsys)
    weights, groups, integers = (float(x) for x in re.findall(r"([\d.]+)% of the result", said))
    assert (weights, integers) == pytest.approx((7.8, 0.54), abs=0.1)
    assert groups == 0
    assert round(7.80 / 0.54) == 14
    assert "8 bits for x cost half a percent, 4 bits for the weights fourteen times as much" in LESSON


def test_a_group_that_is_written_out_saves_no_bytes(capsys) -> None:
    said = run_cell("contenders = {", capsys, before=(KERNEL_CELL,))
    whole, blocks = (int(x.replace(",", "")) for x in re.findall(r"([\d,]+) bytes in float32, ([\d,]+) in blocks", said)[0])
    written = [int(x.replace(",", "")) for x in re.findall(r"writes +([\d,]+) bytes", said)]
    assert (whole, blocks) == (1536 * 576 * 4, 1536 * 576 * 20 // 32)
    assert written[0] < whole / 100
    assert min(written[1:]) > whole


def test_the_cache_in_8_bits_costs_little(capsys) -> None:
    said = run_cell("caches = KVCache", capsys, before=(TINY_CELL, LOSS_CELL))
    ratio, loss = (float(x) for x in re.findall(r"([\d.]+) times; KL ([\d.]+)", said)[0])
    assert ratio == 3.76
    assert f"{loss:.5f} nats: less than weights in 8 bits" in LESSON


def test_the_model_in_fewer_bits_is_a_good_draft(capsys) -> None:
    said = run_cell("speedup = earlier", capsys, before=(TINY_CELL, LOSS_CELL))
    rows = [tuple(map(float, row)) for row in re.findall(r"alpha ([\d.]+), cost ([\d.]+); at best ([\d.]+)", said)]
    assert [alpha for alpha, *_ in rows] == [0.61, 0.86, 0.94]
    assert [gain for *_, gain in rows] == sorted(gain for *_, gain in rows)
    assert all(gain > 1 for *_, gain in rows)


CLOSER = """    low, high = x.aminmax(dim=-1, keepdim=True)
    best = write_q4_1(x)
    for width in torch.linspace(0.8, 1.0, 6):
        middle, scale = (low + high) / 2, (high - low) * width / 15
        minimum = middle - 7.5 * scale
        for _ in range(3):
            head = torch.cat((scale, minimum), dim=-1).half()
            scale, minimum = head.float().split(1, dim=-1)
            q = torch.where(scale > 0, (x - minimum) / scale, 0.0).round().clamp(0, 15)
            raw = torch.cat((head.view(torch.uint8), pack_nibbles(q.to(torch.uint8))), dim=-1)
            errors = [(dequantize(*read_q4_1(each)) - x).square().sum(dim=-1, keepdim=True) for each in (raw, best)]
            best = torch.where(errors[0] < errors[1], raw, best)
            q_off, x_off = (t - t.mean(dim=-1, keepdim=True) for t in (q, x))
            scale = (q_off * x_off).sum(dim=-1, keepdim=True) / q_off.square().sum(dim=-1, keepdim=True)
            minimum = x.mean(dim=-1, keepdim=True) - scale * q.mean(dim=-1, keepdim=True)
    return best
"""


@pytest.mark.parametrize(("answer", "said"), [
    ('    raise NotImplementedError("write_q4_1_closer")\n', "not written yet"), (CLOSER, "done: 0.8"),
    ("    return write_q4_1(x)\n", "not yet: 1.000"), (CLOSER.replace("range(3)", "range(1)"), "not yet: 0.9"),
], ids=["not written", "right", "no closer", "narrower only"])  # fmt: skip
def test_the_challenge_tells_right_from_wrong(answer: str, said: str, capsys) -> None:
    stub = '    raise NotImplementedError("write_q4_1_closer")\n'
    assert said in run_cell("def try_closer", capsys, (stub, answer), before=(TINY_CELL, LOSS_CELL))


def largest(name: str) -> list[float]:
    """The largest weight of each matrix of the layers, in standard deviations, in order."""
    layers = load_model(name).weights.layers
    return sorted(float(w.abs().max() / w.std()) for layer in layers for name, w in vars(layer).items() if name.endswith("_proj"))


def test_tiny_has_few_outliers() -> None:
    found = largest("tiny")
    assert (round(found[len(found) // 2], 1), round(found[-1], 1)) == (4.4, 8.3)
    assert "in half of its matrices the largest weight is 4.4 standard deviations or less, in the worst 8.3" in LESSON


@pytest.mark.slow
@needs_smollm2
def test_smollm2_has_outliers_that_take_the_marks() -> None:
    found = largest("smollm2")
    assert (round(found[len(found) // 2], 1), round(found[-1], 1)) == (11.2, 51.3)
    assert "In SmolLM2's it is 11.2, and 51.3" in LESSON
    shares = []
    for layer in load_model("smollm2").weights.layers:
        for name, w in vars(layer).items():
            if name.endswith("_proj"):
                q = quantize_affine(w.reshape(1, -1), 4)[0].flatten().int()
                shares.append(float(q.bincount(minlength=16).sort(descending=True).values[:3].sum() / q.numel()))
    assert sum(shares) / len(shares) == pytest.approx(0.92, abs=0.01)
    assert "nine in ten weights of a matrix crowd on three of the sixteen" in LESSON


@pytest.mark.slow
@needs_smollm2
def test_smollm2_speaks_from_blocks_and_talks_nonsense_where_a_matrix_shares_a_scale(capsys) -> None:
    counted = run_cell_with_smollm2("stored = sum", capsys)
    assert "96,576,768 bytes with the norms, 538,060,032 in float32: 5.57 times" in counted
    before = ("stored = sum", TINY_CELL, LOSS_CELL, "every weight is the kit's")
    said = run_cell_with_smollm2("from your blocks", capsys, before=before)
    assert "The capital of France is Paris." in said
    said = run_cell_with_smollm2("as the file has it", capsys, before=(*before, "from your blocks"))
    losses = [float(x) for x in re.findall(r"KL ([\d.]+)", said)]
    assert losses == sorted(losses)
    assert losses[0] < 0.1 < 0.5 < losses[1] < 2 < 8 < losses[2]
    assert said.count("Paris") == 2
    names = run_cell_with_smollm2.defined_by((*before, "from your blocks"))
    original, read = names["smollm2"].weights_only(), names["smollm2"].tokenizer.encode(names["SAMPLES"])[:64]
    as_it_is = names["says"](original, read)

    def loss(numbers: int) -> float:
        """KL to the file of 4 bits in groups of so many numbers."""
        poorer = names["changed"](original, lambda _, w: dequantize(*quantize_affine(w.unflatten(-1, (-1, numbers)), 4)).reshape(w.shape))
        return kl_divergence(as_it_is, names["says"](poorer, read))

    assert f"groups of 64 put SmolLM2 {loss(64):.3f} nats from the file, groups of 192 {loss(192):.3f}, and rows {losses[1]:.3f}" in LESSON
    assert loss(32) < 1e-6
    assert "Groups of 32 give back the file's own numbers, with a KL of 0" in LESSON
    before_it, in_8_bits, *_ = (float(x.replace(",", "")) for x in re.findall(r"perplexity ([\d.,]*\d)", said))
    assert in_8_bits < before_it


def test_perplexity_and_divergence_are_those_of_the_text() -> None:
    """Section 4's two examples by hand, and question 1's bound."""
    case = HAND["perplexity"]
    assert perplexity(torch.tensor(case["probs"]).log(), torch.tensor(case["ids"])) == pytest.approx(5.657, abs=5e-4)
    p, q = torch.tensor([[0.75, 0.25]]).log(), torch.tensor([[0.5, 0.5]]).log()
    assert (round(kl_divergence(p, q), 4), round(kl_divergence(q, p), 4)) == (0.1308, 0.1438)
    _, scale = quantize_absmax(torch.tensor([2.54, 0.1]), bits=4)
    assert float(scale) / 2 == pytest.approx(0.18, abs=0.005)
