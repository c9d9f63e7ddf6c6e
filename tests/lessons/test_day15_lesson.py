"""What the lesson on speculative decoding says: its numbers, its demo cells, the bug to find and the challenge."""

import contextlib
import math
import re
import time
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import solutions.kv_cache as day10
import solutions.speculative as speculative
from autograder.lessons import find_day, lesson
from autograder.notebook.parse_input import typed
from autograder.sandbox.measure.op_counter import counting
from course.kit import WeightsOnly, load_model, paths, plots
from course.kit.models.drafts import bigram_table, first_place, passes_needed, place_with_room
from solutions.speculative import (
    acceptance_probs,
    expected_tokens,
    lookup_draft,
    residual_probs,
    speedup,
    verify_sampled,
)

from ..days.test_day15 import LOOKUP
from ..kit.test_steppers import speculated
from ..support.demo_cells import DemoCells, earlier, public
from ..support.passages import assert_said, row

DAY = find_day("speculative")
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["speculative"]
LESSON = DAY.lesson_path.read_text(encoding="utf-8")


FED: list[int] = []
"""How many tokens each call of `forward_cached` was given."""


def forward_cached(model: WeightsOnly, ids: Tensor, cache: day10.KVCache) -> Tensor:
    FED.append(ids.shape[1])
    return day10.forward_cached(model, ids, cache)


def names_of_the_notebook() -> dict[str, Any]:
    return {
        **public(speculative), "forward_cached": forward_cached, "fed": FED, "earlier": earlier, "smollm2": None,
        "counting": counting, "load_model": lambda name, **options: None if name == "smollm2" else load_model(name, **options),
        "plots": plots, "time": time, "replace": replace, "typed": typed, "day10": day10, "generate_cached": day10.generate_cached,
    }  # fmt: skip


@contextlib.contextmanager
def counted_calls(names: dict[str, Any]) -> Iterator[None]:
    FED.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speculative, "forward_cached", forward_cached)
        yield


run_cell = DemoCells(DAY, names_of_the_notebook, counted_calls)


EXACT_CELL = "five rows say"
LADDER_CELL = "def nobody"
EXIT_CELL = "def early_exit"

needs_smollm2 = pytest.mark.skipif(
    not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it"
)


def figures_of_drafts(said: str, name: str) -> list[tuple[int, int]]:
    """(passes, positions) for k = 1, 4, 8."""
    line = next(line for line in said.splitlines() if line.startswith(name))
    return [(int(passes), int(positions)) for passes, positions in re.findall(r"(\d+) passes, (\d+) positions", line)]


def residual_drawn_with_u() -> float:
    """How probable token 0 is in the colleague's law of section 9's answer: p 0.4 0.3 0.2 0.1, q turned round."""
    kept, large = 0.1, (0.3 * (0.75 - 2 / 3), 0.4 * (0.75 - 0.25))  # the u that refuse 2 and 3 and are below 0.75
    return kept + sum(large)


def test_the_lesson_quotes_them() -> None:
    lookup, overlap, chain, expected, best = (HAND[name] for name in ("lookup", "overlap", "chain", "expected", "speedup"))
    guesses = dict(zip(map(tuple, lookup["texts"]), lookup["guesses"], strict=True))
    p, q = torch.tensor([0.6, 0.4], dtype=torch.float64), torch.tensor([0.9, 0.1], dtype=torch.float64)
    passes = {(draft, k): int(re.findall(r"In all (\d+) passes", speculated(draft, k)[0])[0]) for draft in (
        "looks it up", "is always right", "is always wrong", "guesses nothing") for k in (1, 4)}  # fmt: skip
    lines = speculated("looks it up", 4)
    quoted = {
        "after it come 7 5 6, and then the text ends": guesses[5, 6, 7, 5, 6] == [7, 5, 6],
        "the latest counts: 4 1 2": guesses[1, 2, 3, 1, 2, 4, 1, 2] == [4, 1, 2],
        "After it comes 1": guesses[1, 1, 1] == [1],
        "Nothing: 3 is new": guesses[1, 2, 3] == [],
        "The longer one counts: 9 2 5 1": guesses[1, 2, 9, 2, 5, 1, 2] == [9, 2, 5, 1],
        "7 3 4: 7 and 3 stay, 9 in place of 4: **7 3 9**": HAND["greedy"]["tokens"][0] == [7, 3, 9],
        "and 2 is the extra one: **7 3 9 2**": HAND["greedy"]["tokens"][1] == [7, 3, 9, 2],
        "The cache after the pass: 9 + 5 = 14. The text: 10 + 2 + 1 = 13. So the cache is cut to 12": (
            9 + 5 == 14, 10 + 2 + 1 == 13 == 12 + 1),
        "0.4444, 0.3333, 0.2222": [round(x, 4) for x in HAND["filtered"]["top_3"][:3]] == [0.4444, 0.3333, 0.2222],
        "4/7 and 3/7, 0.5714 and 0.4286": [round(x, 4) for x in HAND["filtered"]["top_3_then_75"][:2]] == [0.5714, 0.4286],
        "1, 0.6, 0.6667. A guess is kept": overlap["acceptance"] == [1.0, 0.6, 0.666667],
        "0.2 + 0.3 + 0.2 = **0.7**": math.isclose(overlap["kept"], 0.7),
        "By hand it would be 0.30, 0.23, 0.47, so 2.17": (chain["lengths"] == [0.3, 0.23, 0.47], chain["mean"] == 2.17),
        "1 + 0.7 + 0.49 = 2.19": chain["formula"] == 2.19,
        "**3 passes**, 24 + 5 + 4 = **33 positions**": (HAND["rounds"]["passes"][0] == 3, HAND["rounds"]["positions"][0] == 33),
        "24 + 9 + 26 = **59 positions**": HAND["rounds"]["positions"][1] == 59,
        "1 + 0.8 + 0.64 + 0.512 + 0.4096 = 3.3616": expected["tokens"][0] == 3.3616,
        "3.3616 / 1.2 = 2.80": round(best["speedup"][0], 2) == 2.80,
        "**0.65 times as fast. It loses.**": round(best["speedup"][3], 2) == 0.65,
        "With k = 4: 7 passes, 4, 12 and 12. With k = 1: 9, 7, 12 and 12": list(passes.values()) == [9, 7, 7, 4, 12, 12, 12, 12],
        "57 positions in place of 23": ("57 positions" in speculated("is always wrong", 4)[0], "23" in speculated("guesses nothing", 4)[0]),
        "In the fourth pass it finds nothing": any(words.startswith("Pass 4: the newest token is fed alone") for words in lines),
        "None of `+ 1 ; y` is right": "Pass 2: 0 of 4 guesses stay" in lines[3],
        "Two of `x + 1 ;` are, and then the model says 2 instead of 1": "2 of 4 guesses stay. '2' takes the place of '1'" in lines[6],
        "at last `= y +` are, three of four": "Pass 6: 3 of 4" in " ".join(lines),
        "token 0 too rarely, 0.325 for 0.4": math.isclose(residual_drawn_with_u(), 0.325),
        "Text 50 + 1 + 1 = 52, cache 51. After the pass it held 54": (50 + 1 + 1 == 52 == 51 + 1, 49 + 5 == 54),
        "0.6667 and 1. 0.6 + 0.1 = 0.7": torch.allclose(acceptance_probs(p, q), torch.tensor([2 / 3, 1.0], dtype=torch.float64)),
        "All of it on token 1: it lacks 0.3": residual_probs(p, q).tolist() == [0, 1],
        "1.75 / 1.2 = 1.46": (expected_tokens(0.5, 2) == 1.75, round(speedup(0.5, 2, 0.1), 2) == 1.46),
        "None, 0: alpha is less": max(range(20), key=lambda k: speedup(0.6, k, 0.7)) == 0,
        "295 / 5 = 59": 295 / 5 == 59,
        "From k = 4 to k = 8 it saves 2 passes of 67, and pays 89 positions": (
            LOOKUP[1][1] - LOOKUP[2][1] == 2, LOOKUP[1][1] == 67, LOOKUP[2][2] - LOOKUP[1][2] == 89),
    }  # fmt: skip
    assert_said(LESSON, quoted)


def furthest(dtype: torch.dtype) -> tuple[float, int]:
    """How far the logits differ at most, and how often the best token does: tiny is fed six texts of 60 tokens, one by one and in fives."""
    model, logits = load_model("tiny", dtype=dtype).weights_only(), []
    texts = torch.randint(1024, (6, 60), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        for size in (1, 5):
            caches = [day10.KVCache(model.config, 1, 60, dtype) for _ in texts]
            logits.append(torch.cat([
                day10.forward_cached(model, piece[None], cache)[0]
                for text, cache in zip(texts, caches, strict=True) for piece in text.split(size)
            ]))  # fmt: skip
    one, five = logits
    return float((one - five).abs().max()), int((one.argmax(dim=-1) != five.argmax(dim=-1)).sum())


def test_five_at_once_round_otherwise_than_one_by_one() -> None:
    """The figures are those of one machine, as the lesson says. On others they are of the same order, such as 1.6e-5."""
    (single, single_places), (half, half_places) = furthest(torch.float32), furthest(torch.float16)
    assert 0.000001 < single < 0.0001
    assert single_places == 0
    assert 0.0023 < half < 0.23
    assert half_places < 20
    assert_said(LESSON, [
        "On our machine the float32 logits differ by about 0.00001 at most, and the best token never differs",
        "In float16 they differ by up to 0.023, and at two of the 360 places another token is the best",
    ])  # fmt: skip


def test_two_guesses_by_hand() -> None:
    """Section 5: the draft 1 2 at two triples of random numbers."""
    p, q = torch.tensor([HAND["overlap"]["p"]] * 3), torch.tensor([HAND["overlap"]["q"]] * 2)
    for u, want in (([0.5, 0.7, 0.9], [1, 0]), ([0.5, 0.6, 0.9], [1, 2, 2])):
        assert verify_sampled(p, q, torch.tensor([1, 2]), torch.tensor(u)) == want
        assert f"**{' '.join(map(str, want))}**" in LESSON


def test_what_is_given_is_the_references() -> None:
    source = DAY.solutions_path.read_text(encoding="utf-8")
    assert source[source.index("Draft = Callable") : source.index("\n\n\ndef filtered_probs")] in lesson(DAY).setup


RULES = (lookup_draft, first_place, place_with_room)


def table_row(label: str, text: list[int], given: int, k: int) -> str:
    """A row of section 2's table: new tokens, and the passes of the three rules."""
    return row(label, [len(text) - given, *(passes_needed(text, given, rule, k) for rule in RULES)])


def test_the_latest_place_is_not_the_best_one(capsys) -> None:
    """Section 2's cell as it is, and with the text of its answer."""
    as_it_is = "my_ids = [1, 2, 3, 1, 2, 4, 1, 2, 4, 1, 2, 4, 1, 2, 4]"
    said = run_cell("my_ids = [", capsys)
    assert said.startswith("12 tokens after the prompt: 5 passes with the latest place, 6 with the first\nnot yet")
    said = run_cell("my_ids = [", capsys, (as_it_is, "my_ids = [1] * 40"))
    assert said.startswith("37 tokens after the prompt: 19 passes with the latest place, 7 with the first\nthe sentence is refuted")
    assert "such as `[1] * 40`: the latest place needs 19 passes, the first 7" in LESSON


def test_three_rules_choose_among_places() -> None:
    ids = [5, 6, 1, 5, 6, 2, 9, 5, 6]
    assert [rule(ids, k=4) for rule in RULES] == [[2, 9, 5, 6], [1, 5, 6, 2], [2, 9, 5, 6]]
    assert [rule(ids, k=5) for rule in RULES] == [[2, 9, 5, 6], [1, 5, 6, 2, 9], [1, 5, 6, 2, 9]]
    assert [rule([1, 2, 3, 9, 1, 2, 3], k=8) for rule in RULES] == [[9, 1, 2, 3]] * 3
    assert [rule([1, 2, 3], k=8) for rule in RULES] == [[]] * 3
    assert [rule([1], k=8) for rule in RULES] == [[]] * 3


def test_passes_needed_are_those_of_the_loop() -> None:
    model, prompt = load_model("tiny", dtype=torch.float64), load_model("tiny").tokenizer.encode("HAMLET:\nTo be, or not to be")
    options = {"max_new_tokens": 96, "block_size": 256, "temperature": 0.0}
    text = day10.generate_cached(model.weights_only(), torch.tensor([prompt]), **options)[0].tolist()
    assert [(k, passes_needed(text, len(prompt), lookup_draft, k)) for k in (1, 4, 8)] == [(k, passes) for k, passes, _ in LOOKUP]
    assert passes_needed(text, len(prompt), lambda ids, k: text[len(ids) : len(ids) + k], 4) == math.ceil(95 / 5) + 1
    assert passes_needed(text, len(prompt), lambda ids, k: [], 4) == 96
    assert_said(LESSON, [table_row("`tiny`, section 6's text, with k = 4", text, len(prompt), 4)])


@pytest.mark.slow
@needs_smollm2
def test_no_rule_wins_everywhere() -> None:
    names: dict[str, Any] = {}
    source = run_cell.source("TASK = ")
    exec(source[: source.index("def coloured")], {**names_of_the_notebook(), "telling_load": None}, names)
    code, task, begun = (names[name] for name in ("CODE", "TASK", "BEGUN"))
    smollm2 = load_model("smollm2")
    stop = smollm2.tokenizer.special_tokens["<|im_end|>"]
    rows = []
    for label, question, beginning, most in (
        ("SmolLM2, section 8's code, `width` renamed to `w`", f"{task}\n\n```python\n{code}```", begun, 64),
        (
            "SmolLM2, the same code, `height` to be renamed to `h`", f"{task.replace('width to w', 'height to h')}\n\n```python\n{code}```",
            "```python\ndef area(width, h):\n    return width", 64,
        ),
        ("SmolLM2, asked to repeat the word hello, after eight times hello", "Repeat the word hello.", " ".join(["hello"] * 8), 40),
    ):  # fmt: skip
        asked = smollm2.tokenizer.encode(f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{beginning}")
        options = {"max_new_tokens": most, "block_size": 1024, "temperature": 0.0, "eos_token_id": stop}
        text = day10.generate_cached(smollm2.weights_only(), torch.tensor([asked]), **options)[0].tolist()
        rows.append(table_row(label, text, len(asked), 8))
    assert_said(LESSON, rows)
    assert "The renamed code takes 14 passes for 56 tokens" in LESSON


def test_a_row_says_what_stands_behind_its_token(capsys) -> None:
    said = run_cell(EXACT_CELL, capsys)
    right, third = (re.findall(r"fed \[(.*?)\], the five rows say \[(.*?)\]", line)[0] for line in said.splitlines())
    fed, rows = ([int(x) for x in part.split(",")] for part in right)
    assert fed[1:] == rows[:-1]
    assert third[1].split(",")[:3] == right[1].split(",")[:3]
    assert third[1].split(",")[3:] != right[1].split(",")[3:]


def test_nothing_is_approximated(capsys) -> None:
    errors = re.findall(r"replaced from (the residual|p), the largest error is (\S+)", run_cell("the largest error", capsys))
    assert [name for name, _ in errors] == ["the residual", "p"] * 2
    assert all((float(error) < 1e-15) == (name == "the residual") for name, error in errors)


def test_the_counted_lengths_and_tokens_are_near_those_by_hand(capsys) -> None:
    said = run_cell("one, two, three tokens", capsys)
    lengths, mean, firsts = re.findall(r"tokens: (\[.*?\]) mean (\S+)\nthe first token: +(\[.*?\])", said)[0]
    for said, want in ((lengths, HAND["chain"]["lengths"]), (firsts, HAND["overlap"]["p"])):
        assert [float(x) for x in said.strip("[]").split(",")] == pytest.approx(want, abs=0.035)  # over four standard deviations
    assert float(mean) == pytest.approx(2.17, abs=0.06)


@pytest.mark.slow
def test_every_draft_gives_the_same_tokens_at_another_price(capsys) -> None:
    said = run_cell(LADDER_CELL, capsys, before=(EXACT_CELL,))
    assert said.count("the same tokens") == 5
    assert figures_of_drafts(said, "lookup") == [(passes, positions) for _, passes, positions in LOOKUP]
    assert [passes for passes, _ in figures_of_drafts(said, "oracle")] == [math.ceil(95 / (k + 1)) + 1 for k in (1, 4, 8)]
    plain = figures_of_drafts(said, "plain")[0]
    for name in ("always wrong", "nobody"):
        assert {passes for passes, _ in figures_of_drafts(said, name)} == {plain[0]} == {96}
    assert figures_of_drafts(said, "always wrong")[2][1] == plain[1] + sum(min(8, left - 1) for left in range(1, 96))


@pytest.mark.slow
def test_the_bigrams_cover_some_of_p(capsys) -> None:
    said = run_cell("import bigram_table", capsys, before=(EXACT_CELL, LADDER_CELL))
    a_pass, alpha = (float(x) for x in re.findall(r"([\d.]+) a pass; alpha.* is ([\d.]+)", said)[0])
    assert 0.3 < alpha < 0.5
    assert a_pass == pytest.approx(expected_tokens(alpha, 2), abs=0.25)


def test_the_best_k_is_not_the_largest(capsys) -> None:
    said = run_cell("the best k is", capsys)
    best = [int(k) for k in re.findall(r"the best k is (\d+)", said)]
    assert best == [8, 4, 2, 0]


def test_an_early_exit_loses_as_its_two_numbers_foretell(capsys) -> None:
    said = run_cell(EXIT_CELL, capsys)
    numbers = [tuple(map(float, pair)) for pair in re.findall(r"alpha ([\d.]+), cost ([\d.]+)\n", said)]
    assert "at best" not in said
    said = run_cell("my_speedup = ", capsys, before=(EXIT_CELL,))
    gains = [float(gain) for gain in re.findall(r"at best ([\d.]+) times", said)]
    assert len(numbers) == len(gains) == 4
    assert gains[0] == 1.07
    assert all((alpha > cost) == (gain > 1) for (alpha, cost), gain in zip(numbers, gains, strict=True))
    assert max(gains[1:]) < 1
    assert said.endswith("the best of them: 1.07 (your bet: 2); 1 of 4 are faster than plain decoding\n")


TOGETHER = """    ids, num_pad = left_pad(prompts, 0)
    rows, goals = [list(prompt) for prompt in prompts], [len(prompt) + max_new_tokens for prompt in prompts]
    cache = KVCache(model.config, len(rows), ids.shape[1] + len(rows) * max_new_tokens + k + 1, model.dtype)
    while any(len(row) < goal for row, goal in zip(rows, goals)):
        guesses = [[] for _ in rows]
        if cache.length:
            guesses = [draft(row, min(k, goal - len(row) - 1))[0] if goal - len(row) > 1 else [] for row, goal in zip(rows, goals)]
            widest = max(map(len, guesses))
            ids = torch.tensor([[row[-1], *guess, *[0] * (widest - len(guess))] for row, guess in zip(rows, guesses)])
        positions, mask = positions_and_mask(num_pad, cache.length, ids.shape[1])

        def attend(layer: int, q: Tensor, k_new: Tensor, v_new: Tensor) -> Tensor:
            return attention(q, *cache.append(layer, k_new, v_new), mask)

        widest = max(map(len, guesses))
        logits = run_layers(model, ids, positions, attend)[:, -widest - 1 :] @ model.weights.lm_head.T
        valid = []
        for r, guess in enumerate(guesses):
            new = greedy_verify(logits[r, : len(guess) + 1], torch.tensor(guess, dtype=torch.int64))
            valid.append(cache.length - widest - 1 + len(new))
            if len(rows[r]) < goals[r]:
                rows[r] += new
        for r, length in enumerate(valid):
            shift = max(valid) - length
            for memory in (cache.keys, cache.values):
                memory[:, r, :, shift : max(valid)] = memory[:, r, :, :length].clone()
            num_pad[r] += shift
        truncate(cache, max(valid))
    return [row[len(prompt) :] for row, prompt in zip(rows, prompts)]
"""
ONE_BY_ONE = """    options = {"max_new_tokens": max_new_tokens, "block_size": 256, "draft": draft, "temperature": 0.0}
    return [generate_speculative(model, torch.tensor([p]), **options)[0, len(p) :].tolist() for p in prompts]
"""


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "said"), [
    ('    raise NotImplementedError("generate_speculative_batch")\n', "not written yet"), (TOGETHER, "in place of"),
    (ONE_BY_ONE, "where one row after the other reads"), (TOGETHER.replace("num_pad[r] += shift", "pass"), "other tokens in"),
], ids=["not written", "right", "one by one", "pads not counted"])  # fmt: skip
def test_the_challenge_tells_right_from_wrong(answer: str, said: str, capsys) -> None:
    stub = '    raise NotImplementedError("generate_speculative_batch")\n'
    assert said in run_cell("def try_batch", capsys, (stub, answer), before=(EXACT_CELL, LADDER_CELL))


def test_a_bigram_table_is_what_the_model_expects_behind_one_token() -> None:
    model = load_model("tiny", dtype=torch.float64)
    table = bigram_table(model, chunk=300)
    assert table.shape == (1024, 1024)
    assert table.dtype == torch.float64
    torch.testing.assert_close(table.sum(dim=-1), torch.ones(1024, dtype=torch.float64))
    with torch.no_grad():
        torch.testing.assert_close(table[[5, 1000]], model(torch.tensor([[5], [1000]]))[:, 0].softmax(dim=-1))
