"""What the lesson on continuous batching says: its numbers, its demo cells, the bug to find and the challenge."""

import random
import re
import time
import tomllib
from functools import partial
from typing import Any

import pytest
import torch

import solutions.continuous_batching as engine
from autograder.lessons import find_day, lesson
from autograder.sandbox.measure.op_counter import counting
from course.kit import load_model, paths, plots
from solutions.continuous_batching import Request, Scheduler, admit, feed_running, simulate, step_seconds
from solutions.latency import summarize
from solutions.paging import PagedSequence, PrefixPool, paged_attention

from ..days.test_day14 import LOADED, POLICIES, Static, a_second, draw, scheduler, workload
from ..kit.test_steppers import scheduled
from ..support.demo_cells import DemoCells, public
from ..support.passages import assert_said

DAY = find_day("continuous_batching")
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["continuous_batching"]
LESSON = DAY.lesson_path.read_text(encoding="utf-8")
LENGTHS = (8, 2, 3, 6, 4, 1)


def answers_of(policy: type[Scheduler]) -> tuple[list[float], list[float]]:
    """When section 1's six requests get their first and their last tokens, a second a step."""
    s = policy(PrefixPool(100), 4, token_budget=100, max_running=3)
    traces = simulate([Request([i], n) for i, n in enumerate(LENGTHS)], s, a_second)
    return [trace.token_times[0] for trace in traces], [trace.token_times[-1] for trace in traces]


def two_steps() -> list[list[int]]:
    """Section 2 by hand: what A, B and C are fed in two steps."""
    s = scheduler(100, 4, 8, 3)
    for stored, prompt in ((5, 4), (6, 5), (3, 12)):
        request = Request([len(s.running) + 7] * prompt, 9, sequence=PagedSequence(s.pool, 4))
        request.output = [1] * (stored + 1 - prompt)
        request.sequence.grow(stored)
        s.running.append(request)
    fed = []
    for _ in range(2):
        plan = feed_running(s)
        admit(s, plan)
        fed.append([n for _, n in plan.chunks])
        engine.update(s, plan, [1] * len(plan.chunks))
    assert [len(request.output) for request in s.running] == [4, 4, 1]
    return fed


def steps_to_first(prompt: int, answering: int, budget: int) -> int:
    """Steps until the first token of a prompt beside others that answer."""
    return -(-prompt // (budget - answering))


def test_the_lesson_quotes_them() -> None:
    schedule, gone, flat, seconds, llama = (HAND[name] for name in ("schedule", "preempted", "flat", "seconds", "llama3_8b"))
    (firsts, lasts), (first, last) = answers_of(Static), answers_of(Scheduler)
    drawn = {setting: scheduled(*setting) for setting in ((32, 4, 20), (8, 4, 20), (4, 4, 20), (32, 4, 12), (32, 1, 20))}
    last_lines = {setting: words[-1] for setting, words in drawn.items()}
    giving = [re.findall(r"Step (\d+),.*: \d.*\. (\w+) gave way", words)[0] for words in drawn[32, 4, 12] if "gave way" in words]
    quoted = {
        "Their answers will have {}, {}, {}, {}, {} and {} tokens".format(*LENGTHS): sum(LENGTHS) == 24,
        "six answers of {}, {}, {}, {}, {} and {} tokens".format(*LENGTHS): len(LENGTHS) == 6,
        "14 steps, 42 places, of which 24 hold a token. 18 are empty, 43 %": (max(lasts) == 14, 3 * 14 == 42, round(100 * 18 / 42) == 43),
        "the same 24 tokens take 8 steps": max(last) == 8,
        "The fourth gets its first token with step 3, and not with step 9": (first[3] == 3, firsts[3] == 9),
        "A 1, B 1, C 6. Then A 1, B 1, C 3": two_steps() == [[1, 1, 6], [1, 1, 3]],
        "its tokens come at 1, 2, 3": schedule["token_times"][0] == [1, 2, 3],
        "Its tokens come at 4 and 5. Nothing is to be done until 50; C's token comes at 51": schedule["token_times"][1:] == [[4, 5], [51]],
        "falls from 24 ticks to 8": tuple(words.endswith(f"gap {n}.") for words, n in zip(last_lines.values(), (24, 8, 8), strict=False)),
        "grows from 30 ticks to 36, and then to 76": tuple(f"is {n} ticks" in last_lines[setting] for setting, n in (
            ((32, 4, 20), 30), ((8, 4, 20), 36), ((4, 4, 20), 76))),
        "D in step 6 and C in step 7. 69 tokens are fed in place of 66": (
            giving == [("6", "D"), ("7", "C")], "69 tokens fed" in last_lines[32, 4, 12], "66 tokens fed" in last_lines[32, 4, 20],
        ),
        "so only the newest one is fed": ("C 1, D 4" in drawn[32, 4, 12][7], "D 3" in drawn[32, 4, 12][4]),
        "31 steps in place of 12, and 262 ticks in place of 114": (
            "In all 31 steps, 262 ticks" in last_lines[32, 1, 20], "In all 12 steps, 114 ticks" in last_lines[32, 4, 20],
        ),
        "ids 5 6 7 10 11, positions 0 1 2 2 3, bounds 0 3 5": (
            flat["ids"] == [5, 6, 7, 10, 11], flat["positions"] == [0, 1, 2, 2, 3], flat["bounds"] == [0, 3, 5],
        ),
        "It is a fifth of SmolLM2's arithmetic": 0.2 < 28_311_552 / 134_479_872 < 0.22,
        "5 + 0.1 = 5.1 ms. The prompt: 10 ms": seconds["seconds"][:2] == [0.0051, 0.01],
        "5 + 0.04 = 5.04 ms": seconds["seconds"][2] == 0.00504,
        "5 + 0.04 + 0.06 = 5.1 ms, products 602 · 0.01 = 6.02 ms": seconds["seconds"][3] == 0.00602,
        "4.776 ms for the weights, 16.18 µs a token, 39 ns for a cached token": (
            round(1e3 * llama["weight_seconds"], 3) == 4.776, round(1e6 * llama["token_seconds"], 2) == 16.18,
            round(1e9 * llama["kv_seconds"]) == 39,
        ),
        "4.776 / 0.01618 = 295 tokens": int(4.776 / 0.01618) == llama["ride"] == 295,
        "989 / 3.35": int(989 / 3.35) == 295,
        "a step of 64.7 ms": round(1e3 * llama["prompt_seconds"], 1) == 64.7,
        "A's tokens come at 4 and 5": gone["token_times"][0][3:] == [4, 5],
        "Its last tokens come at 6 and 7": gone["token_times"][1][3:] == [6, 7],
        "6 + 1 + 1 + 1 + 1 = 10 tokens, B 6 + 1 + 1 + 5 + 1 = 14": gone["fed"] == [10, 14],
        "500 / 54, rounded up, are 10 steps": steps_to_first(500, 10, 64) == 10,
        "231 tokens, 32 rows": 31 + 200 == 231,
        "32 times 200 = 6,400": 32 * 200 == 6400,
    }  # fmt: skip
    assert_said(LESSON, quoted)


def test_the_lesson_reads_the_table_as_it_is() -> None:
    """The figures are those that test_day14 holds; the lesson quotes these of them."""
    by = {(policy is Static, budget, running): figures for policy, budget, running, figures in POLICIES}
    static8, whole = by[True, 10**6, 8], by[False, 10**6, 32]
    assert {by[False, budget, 32][0] for budget in (10**6, 2048, 1024, 512, 256)} == {1094}
    assert "1,094 with budgets from 256 to none" in LESSON
    assert {figures[4] for figures in by.values()} == {5.0}
    assert "The *median gap* is 5.0 ms in every row" in LESSON
    assert min(by.values(), key=lambda figures: figures[6])[6] == static8[6] == by[False, 64, 32][6]
    assert (static8[1], static8[2]) == (6.5, 4491)
    assert "keeps 6.5 % of its promises: its users wait for their first token, p50 4.5 s" in LESSON
    assert (whole[2], whole[1], whole[6]) == (8, 50.5, 91.3)
    assert "p50 of 8 ms, and break half of the promises by single gaps of up to 91.3 ms" in LESSON
    assert {by[False, budget, 32][1] for budget in (1024, 512, 256, 128)} == {100.0}
    assert by[False, 64, 32][3] == 1016
    assert "between 2,048 (50.0 %) and 1,024 (100 %)" in LESSON


def test_what_is_given_is_the_references() -> None:
    source = DAY.solutions_path.read_text(encoding="utf-8")
    for first, behind in (("@dataclass(eq=False)\nclass Request", "\n\n\ndef preempt"), ("def abort", "\n\n\ndef flatten_chunks")):
        given = source[source.index(first) : source.index(behind)]
        assert given in lesson(DAY).setup


def names_of_the_notebook() -> dict[str, Any]:
    return {
        **public(engine), "counting": counting, "load_model": load_model, "partial": partial, "plots": plots, "summarize": summarize,
        "paged_attention": paged_attention, "random": random, "time": time,
    }  # fmt: skip


run_cell = DemoCells(DAY, names_of_the_notebook)


H100_CELL = "H100 = {"
TABLE_CELL = "class Static(Scheduler)"
SATURATED_CELL, LOAD_CELL = "all 200 at 0 ", "RATES = ("


def loaded(row: str) -> dict[tuple[str, float | None], float]:
    """{(schedule, requests a second): tokens/s or attainment} of the rows that test_day14 holds."""
    names = {(True, 10**6): "static, 32", (False, 10**6): "whole prompts", (False, 256): "budget 256", (False, 64): "budget 64"}
    return {(names[policy is Static, budget], rate): {"tokens/s": speed, "kept": kept}[row] for policy, budget, rate, speed, kept in LOADED}


def test_the_lesson_reads_the_load_as_it_is() -> None:
    speed, kept = loaded("tokens/s"), loaded("kept")
    static, whole, best, small = (speed[name, None] for name in ("static, 32", "whole prompts", "budget 256", "budget 64"))
    eight = {(policy is Static, budget): figures for policy, budget, running, figures in POLICIES if running == 32}
    halves = [eight[is_static, 10**6][1] for is_static in (True, False)]
    speeds_at_8 = [eight[key][0] for key in ((True, 10**6), (False, 10**6), (False, 256))]
    quoted = {
        "1.6 times the tokens of static batches of 32 (3,753 against 2,364)": (
            (whole, static) == (3753, 2364), round(whole / static, 1) == 1.6),
        "a budget of 256 adds another 19 % (4,469)": (best == 4469, round(100 * (best / whole - 1)) == 19),
        "gets less than half of the best, 1,917": small == 1917 < best / 2,
        "keeps all promises up to 32 requests a second, and 78.5 % at 48": (
            kept["budget 256", 32] == 100.0, kept["budget 256", 48] == 78.5),
        "static batches keep 90.5 %": kept["static, 32", 1] == 90.5,
        "whole prompts 91.5 %": kept["whole prompts", 1] == 91.5,
        "At 8 a second each of them breaks about half": all(45 < half < 55 for half in halves),
        "the three curves differ by 5 % at most": max(speeds_at_8) < 1.05 * min(speeds_at_8),
        "2,143 tokens/s at 32 a second and the same at 48": speed["static, 32", 32] == 2143 == speed["static, 32", 48],
        "whole prompts 3,600 and the budget 4,212 at 48": (speed["whole prompts", 48] == 3600, speed["budget 256", 48] == 4212),
        "all 200 requests are there after 4.6 s": round(workload(48)[-1].arrival, 1) == 4.6,
        "the last request comes at 27.57 s, so about 1,129 tokens": (
            round(workload()[-1].arrival, 2) == 27.57, round(31_126 / workload()[-1].arrival) == 1129),
        "The 200 answers have 31,126 tokens": sum(request.max_new_tokens for request in workload()) == 31_126,
    }  # fmt: skip
    assert_said(LESSON, quoted)


@pytest.mark.slow
def test_the_table_is_that_of_the_tests(capsys) -> None:
    said = run_cell(TABLE_CELL, capsys, before=(H100_CELL,))
    rows = [[float(x.replace(",", "")) for x in re.split(r"\s+", line[18:].strip())] for line in said.splitlines()[1:]]
    means = [row.pop(4) for row in rows]
    assert rows == [[float(x) for x in figures] for *_, figures in POLICIES]
    assert min(means) == means[0] == 4.97
    assert "the smallest one, 4.97 ms" in LESSON
    assert round(means[3] - means[4], 2) == 0.06
    assert "it differs by 0.06 ms" in LESSON


def test_so_much_is_asked_of_the_machine() -> None:
    asked, last = sum(request.max_new_tokens for request in workload()), workload()[-1].arrival
    assert_said(LESSON, [
        f"The 200 answers have {asked:,} tokens, and the last request comes at {last:.2f} s", f"about {asked / last:,.0f} tokens a second",
    ])  # fmt: skip


@pytest.mark.slow
def test_the_load_is_that_of_the_tests(capsys) -> None:
    speed, kept = loaded("tokens/s"), loaded("kept")
    said = run_cell(SATURATED_CELL, capsys, before=(H100_CELL, TABLE_CELL))
    rows = {line[:18].strip(): float(line[18:28].replace(",", "")) for line in said.splitlines()[1:]}
    assert len(rows) == len(POLICIES)
    assert {name: rows[name] for name, rate in speed if rate is None} == {name: n for (name, rate), n in speed.items() if rate is None}
    said = run_cell(LOAD_CELL, capsys, before=(H100_CELL, TABLE_CELL))
    rates, *rows = ([float(n.strip("%").replace(",", "")) for n in line[19:].split()] for line in said.splitlines())
    names = [line[:14].strip() for line in said.splitlines()[1::2]]
    for name, shares, speeds in zip(names, rows[::2], rows[1::2], strict=True):
        for rate, share, per_second in zip(rates, shares, speeds, strict=True):
            assert kept.get((name, rate), share) == share
            assert speed.get((name, rate), per_second) == per_second


@pytest.mark.slow
def test_the_long_prompts_and_their_steps(capsys) -> None:
    assert sum(len(request.prompt) >= 3000 for request in workload()) == 28
    assert "28 long prompts are enough" in LESSON
    said = run_cell("the longest step has", capsys, before=(H100_CELL, TABLE_CELL))
    assert len(re.findall(r"the longest step has", said)) == 2
    assert re.search(r"budget +512: the longest step has +5\d\d tokens", said)


@pytest.mark.slow
def test_nobody_starves(capsys) -> None:
    said = run_cell("gave way, in the order", capsys, before=(H100_CELL, TABLE_CELL))
    times = [int(n) for n in re.search(r"queue: \[(.*)\]", said)[1].split(",")]
    ends = [int(n) for n in re.search(r"steps: +\[(.*)\]", said)[1].split(",")]
    assert len(times) == len(ends) == 20
    assert times[0] == 0 < max(times)
    assert int(re.search(r"(\d+) % more", said)[1]) > 0


def test_a_step_is_of_both_kinds_at_once(capsys) -> None:
    kinds = dict(re.findall(r"'([a-z ]+)': (\d+)", run_cell("kinds = {", capsys)))
    assert int(kinds["both"]) > int(kinds["prompts only"]) > 0


def test_one_at_most_is_in_the_middle_of_its_prompt() -> None:
    """As the lesson says of section 3, also where some give way."""
    gave_way = 0
    for seed in range(60):
        case = draw(random.Random(seed))
        s = scheduler(case.num_blocks, case.block_size, case.token_budget, case.max_running)
        for prompt, new, _ in case.requests:
            s.add(Request(prompt, new))
        while s.waiting or s.running:
            plan = s.schedule()
            gave_way += len(plan.preempted)
            assert all(request.remaining == 0 for request in s.running[:-1])
            engine.update(s, plan, [7] * len(plan.chunks))
    assert gave_way > 10


def test_the_first_who_gives_way(capsys) -> None:
    said = run_cell("plan = feed_running(s)\n    print", capsys)
    assert "fed: [('A', 1)] gave way: ['B']" in said
    assert "1 block is free now; B waits with 8 tokens to be fed" in said


@pytest.mark.slow
def test_twenty_people_get_what_each_gets_alone(capsys) -> None:
    said = run_cell("alone.append", capsys)
    assert said.count("20 of 20 as alone") == 3
    first, second, third = (int(n) for n in re.findall(r"(\d+) times somebody", said))
    assert first == second == 0 < third


TOGETHER = """    device = model.device
    spans = list(pairwise(flat.bounds))
    new = torch.cat([s.slots(s.length - (end - start)) for s, (start, end) in zip(sequences, spans, strict=True)])
    singles = [i for i, (start, end) in enumerate(spans) if end - start == 1]
    at = torch.tensor([spans[i][0] for i in singles])
    lengths = torch.tensor([sequences[i].length for i in singles])
    widest = max(len(sequences[i].blocks) for i in singles)
    tables = torch.tensor([sequences[i].blocks + [0] * (widest - len(sequences[i].blocks)) for i in singles])
    longer = [(sequences[i].slots(), *spans[i]) for i in range(len(spans)) if i not in singles]

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
        out = torch.empty_like(q)
        rows = q[0, :, at].transpose(0, 1).unsqueeze(2)
        out[0, :, at] = paged_attention(rows, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)[:, :, 0].transpose(0, 1)
        for slots, start, end in longer:
            k_all, v_all = (memory.transpose(0, 1).unsqueeze(0) for memory in kv.read(layer, slots))
            out[:, :, start:end] = flash_attention(q[:, :, start:end], k_all, v_all, causal=True)[0]
        return out

    hidden = run_layers(model, flat.ids, flat.positions, attend)[0]
    return hidden[torch.tensor(flat.bounds[1:]) - 1] @ model.weights.lm_head.T
"""


@pytest.mark.parametrize(("answer", "said"), [
    ('    raise NotImplementedError("forward_together")\n', "not written yet"),
    (TOGETHER, "operations in place of"),
    ("    return forward_ragged(model, flat, sequences, kv)\n", "operations where forward_ragged needs"),
    (TOGETHER.replace("lengths, kv.block_size", "lengths - 1, kv.block_size"), "the logits are others"),
    (TOGETHER.replace("flat.positions, attend", "torch.arange(flat.ids.shape[1]), attend"), "the logits are others"),
], ids=["not written", "right", "row by row", "one key too few", "positions of one text"])  # fmt: skip
def test_the_challenge_tells_right_from_wrong(answer: str, said: str, capsys) -> None:
    assert said in run_cell("def forward_together", capsys, ('    raise NotImplementedError("forward_together")\n', answer))


def test_weights_are_read_once_and_the_head_is_asked_for_one_row(capsys) -> None:
    said = run_cell("once = sum(", capsys)
    times = [float(x) for x in re.findall(r"([\d.]+) times the weights", said)]
    assert times[0] < 1.1 < 10 < times[1]
    found = re.search(r"36: ([\d.]+) MFLOP; with a head for all 36 rows ([\d.]+)", said)
    assert found is not None
    assert float(found[2]) - float(found[1]) == pytest.approx(35 * 2 * 1024 * 128 / 1e6, abs=0.11)


def test_up_to_295_tokens_a_step_takes_no_longer() -> None:
    rates = {name: HAND["llama3_8b"][name] for name in ("weight_seconds", "token_seconds", "kv_seconds")}
    whole = step_seconds([(4000, 4000)], **rates)
    assert whole == pytest.approx(HAND["llama3_8b"]["prompt_seconds"], rel=1e-3)
    assert torch.isclose(torch.tensor(4096 / step_seconds([(4096, 0)], **rates)), torch.tensor(512 / step_seconds([(512, 0)], **rates)))
