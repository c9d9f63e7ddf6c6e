"""The figures that one steps through: whole, worked with keys alone, and right in what they say."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

import solutions.speculative as speculative
from autograder.checking.checks.test_transformer import small_config, small_weights
from autograder.lessons import find_day, lesson
from course.kit import WeightsOnly, paths
from course.kit.hardware import HARDWARE
from course.kit.machine import Machine
from course.kit.ranks import Communicator, run_ranks
from course.kit.serving import EchoCore, RequestError, SamplingParams, TokenOutput, run_virtual
from course.kit.steppers.batch_stepper import BLOCK_SIZE, BLOCKS, BUDGETS, FREE_RIDE, REQUESTS, RUNNING, batch_by_batch
from course.kit.steppers.block_stepper import ALIKE, POOL_SLOTS, POOLS, PROMPT, ROOM, SIZES, STORY, blocks_in_use
from course.kit.steppers.cache_stepper import NUM_PROMPT, NUM_SLOTS, WORDS, cache_filling
from course.kit.steppers.draft_stepper import ANSWER, DRAFTS, MAX_NGRAM, MOST, WRONG, round_by_round
from course.kit.steppers.draft_stepper import PROMPT as ROUND_PROMPT
from course.kit.steppers.queue_stepper import LEAVES, LIMITS, NOTICED, PLACES, STEP, who_is_served
from course.kit.steppers.queue_stepper import REQUESTS as PEOPLE
from course.kit.steppers.request_timeline import GAP, LOADS, NUM_TOKENS, PROMISE, request_timeline, unit_waits
from course.kit.steppers.ring_stepper import WAYS, WORLDS, round_of_messages
from course.kit.steppers.roofline_steps import DOUBLINGS, up_the_roof
from course.kit.steppers.stepper import SHAPES, prefill_and_decode
from course.kit.steppers.tile_stepper import EXPONENTIALS, ORDERS, SEEN, TILE, VALUES, tile_by_tile
from solutions.continuous_batching import Plan, Request, Scheduler, simulate, step_seconds
from solutions.costs import roofline_seconds
from solutions.flash_attention import State, absorb, finish
from solutions.kv_cache import KVCache
from solutions.latency import Trace, goodput, summarize
from solutions.paging import PagedSequence, PrefixPool, publish_blocks, start_sequence
from solutions.parallel import ring_all_reduce, ring_reduce_scatter
from solutions.serving import AsyncEngine
from solutions.speculative import generate_speculative, lookup_draft

from ..support import lab

FIGURES = [
    prefill_and_decode, cache_filling, up_the_roof, request_timeline, tile_by_tile, blocks_in_use, batch_by_batch, round_by_round,
    round_of_messages, who_is_served,
]  # fmt: skip
MACHINES = {h.machine.name: h for h in HARDWARE}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_whole(figure):
    html = figure()
    assert not re.search(r"%[A-Z]+%", html)
    assert 'aria-live="polite"' in html
    assert html.count("<label>") == html.count("<select") + html.count('type="range"')
    assert figure() != html, "two figures in a page would share one id"


@pytest.mark.parametrize("figure", [prefill_and_decode, up_the_roof])
def test_this_machine_joins_the_list_where_it_was_measured(figure):
    assert "this machine</option>" in figure(Machine(1e11, 1e10))
    assert "this machine</option>" not in figure()


@pytest.mark.parametrize("wrong", [{"budget": 3}, {"running": 5}, {"blocks": 0}])
def test_what_is_not_on_a_slider_is_named(wrong):
    with pytest.raises(ValueError, match=f"no {next(iter(wrong.values()))} on the slider; it goes from"):
        batch_by_batch(**wrong)


@pytest.mark.parametrize("wrong", [{"places": 4}, {"limit": 0}])
def test_what_is_not_on_a_slider_of_the_queue_is_named(wrong):
    with pytest.raises(ValueError, match=f"no {next(iter(wrong.values()))} on the slider; it goes from"):
        who_is_served(**wrong)


@pytest.mark.parametrize(("figure", "wrong"), [
    (prefill_and_decode, {"machine": "Cray"}), (up_the_roof, {"bits": 3}), (request_timeline, {"servers": 3}),
    (tile_by_tile, {"order": "at random"}), (blocks_in_use, {"size": "3"}), (round_by_round, {"draft": "dice"}),
    (round_of_messages, {"way": "by post"}), (who_is_served, {"closed": "by the wind"}),
])  # fmt: skip
def test_what_is_not_in_a_list_is_named(figure, wrong):
    with pytest.raises(ValueError, match=f"no '{next(iter(wrong.values()))}' in the list"):
        figure(**wrong)


def test_the_window_slides_before_the_steps_of_the_cache_are_over():
    assert len(WORDS) - NUM_PROMPT > NUM_SLOTS - NUM_PROMPT + 1


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if lab.CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with lab.chromium() as browser:
        yield browser


@pytest.fixture
def shown(browser, tmp_path) -> Iterator[Callable[[str], Any]]:
    """Opens HTML as a page of its own. The test fails if a script on it did."""
    errors: list[str] = []
    page = browser.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))

    def show(html: str) -> Any:
        file = tmp_path / "figure.html"
        file.write_text(f"<!doctype html><meta charset='utf-8'>{html}", encoding="utf-8")
        page.goto(file.as_uri())
        page.get_by_role("button", name="Next step").focus()
        return page

    yield show
    page.close()
    assert errors == []


def words(page: Any) -> str:
    return page.locator("[data-part=words]").inner_text()


def warning(page: Any) -> str:
    return page.locator("[data-part=warning]").inner_text()


def back_to_the_first(page: Any) -> None:
    """At either end one of the two buttons is switched off and cannot be held."""
    for name in ("Previous step", "Next step"):
        page.get_by_role("button", name=name).focus()
    page.keyboard.press("Home")


def three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{float(f'{number:.3g}'):#.3g}"


@pytest.mark.browser
@pytest.mark.slow
def test_prefill_and_decode_say_what_the_roofline_says(shown):
    page = shown(prefill_and_decode())
    h100, model = MACHINES["H100"].machine, SHAPES[2]
    seconds = roofline_seconds(2 * model.num_params * 512, 2 * model.num_params, h100.peak_flops, h100.bandwidth)
    assert f"{seconds * 1e3:.3g} ms at the least, and 100 %" in words(page)
    for _ in range(3):
        page.keyboard.press("Enter")
    moved = 2 * (model.num_params + 514 * model.cache_values)
    seconds = roofline_seconds(2 * model.num_params, moved, h100.peak_flops, h100.bandwidth)
    assert words(page).startswith("Decode step 3 of Llama 3 8B on H100: 1 token in, one token out.")
    assert f"{seconds * 1e3:.3g} ms at the least" in words(page)
    page.keyboard.press("ArrowLeft")
    assert words(page).startswith("Decode step 2 ")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")  # on a list the keys choose, and do not step
    assert words(page).startswith("Decode step 2 ")
    page.get_by_label("model").select_option("Llama 3 70B")
    assert "several of them" in warning(page)


@pytest.mark.browser
@pytest.mark.slow
def test_the_cache_counts_what_the_loop_counts(shown):
    page = shown(cache_filling())
    steps = len(WORDS) - NUM_PROMPT
    naive = [min(NUM_PROMPT + i, NUM_SLOTS) for i in range(steps)]
    # The prompt, then one each; where the window has slid, all that is left of it again.
    passed = [naive[i] if i == 0 or NUM_PROMPT + i > NUM_SLOTS else 1 for i in range(steps)]
    for step in range(steps):
        assert f"So far {sum(passed[: step + 1])} positions, without a cache {sum(naive[: step + 1])}." in words(page)
        assert f"{23_040 * naive[step]:,} bytes filled of 230,400 allocated" in words(page)
        assert ("emptied and filled again" in words(page)) == (NUM_PROMPT + step > NUM_SLOTS)
        if step < steps - 1:
            page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Next step").is_disabled()
    at_the_end = words(page)
    page.keyboard.press("ArrowLeft")  # the focus has moved to a button that can still be pressed
    assert f"So far {sum(passed[:-1])} positions" in words(page)
    page.keyboard.press("Home")
    assert f"So far {passed[0]} positions" in words(page)
    page.keyboard.press("End")
    assert words(page) == at_the_end


@pytest.mark.browser
@pytest.mark.slow
def test_the_roof_is_where_the_lesson_says(shown):
    """Each step against roofline_seconds; 256 tokens for nothing on the H100, 16 on the M1 Max, and with 4 bits 64."""
    page = shown(up_the_roof())
    model = SHAPES[2]
    for name, bits, free in (("H100", 16, 256), ("Apple M1 Max", 16, 16), ("H100", 4, 64)):
        page.get_by_label("machine").select_option(name)
        page.get_by_label("bits of a weight").select_option(str(bits))
        machine = MACHINES[name].machine
        back_to_the_first(page)
        for step in range(DOUBLINGS + 1):
            tokens, moved = 2**step, model.num_params * bits / 8
            seconds = roofline_seconds(2 * model.num_params * tokens, moved, machine.peak_flops, machine.bandwidth)
            said = words(page)
            assert said.startswith(f"{tokens:,} token")
            unit = "ms" if seconds < 1 else "s"
            assert f"the pass takes {three_digits(seconds * 1000 if seconds < 1 else seconds)} {unit}, " in said
            assert f"that is {three_digits(tokens / seconds)} tokens a second" in said
            assert ("Memory decides" in said) == (tokens <= free)
            page.keyboard.press("ArrowRight")
    page.get_by_label("model").select_option("Llama 3 70B")
    page.get_by_label("bits of a weight").select_option("16")
    assert warning(page) == "The weights alone are 141 GB, one H100 has 80.0 GB."
    place = page.locator("circle").last.get_attribute("cx")
    page.get_by_label("model").select_option("SmolLM2-135M")
    assert page.locator("circle").last.get_attribute("cx") == place, "the size of the model cancels"


def queue(load: float, servers: int, prefill: float) -> list[Trace]:
    """What the figure draws, computed by the lesson's exercises."""
    free, now, traces = [0.0] * servers, 0.0, []
    for wait in unit_waits():
        now += wait / load
        free.sort()
        times = [max(now, free[0]) + prefill + GAP * i for i in range(NUM_TOKENS)]
        free[0] = times[-1]
        traces.append(Trace(now, times))
    return traces


def num_kept(traces: list[Trace]) -> int:
    """How many keep the promise: their rate is a share of the rate of all."""
    return round(len(traces) * goodput(traces, PROMISE, 0.05) / summarize(traces)["requests_per_second"])


def test_a_second_server_does_what_the_lesson_says():
    """Day 8: at 1.4 a second p99 falls to a sixth, and 387 of 400 keep the promise instead of 48; twice of all is better than once."""
    one, two = queue(1.4, 1, 0.3), queue(1.4, 2, 0.3)
    assert [round(summarize(traces)["ttft_p99"], 2) for traces in (one, two)] == [7.44, 1.24]
    assert [num_kept(traces) for traces in (one, two)] == [48, 387]
    assert 7.44 / 1.24 == pytest.approx(6)
    once, twice = queue(1.3, 1, 0.3), queue(2.6, 2, 0.3)
    assert [num_kept(traces) for traces in (once, twice)] == [110, 207]
    assert 1 / (0.9 + 19 * GAP) == pytest.approx(0.78, abs=0.002)
    text = (paths.ROOT / "course" / "day08_latency" / "lesson.md").read_text(encoding="utf-8")
    assert all(said in text for said in ("7.44 s to 1.24 s", "Of 400 requests 48 kept", "387 do", "from 110 to 207", "0.78 requests"))


def test_the_queue_of_the_timeline_is_the_lessons_own():
    """One server, 0.3 s: the same arrivals, and so the same table."""
    source = next(c.source for c in lesson(find_day("latency")).cells if c.role == "demo" and "def one_server" in c.source)
    names: dict[str, Any] = {"Trace": Trace}
    exec("import torch\n" + source.split("if if_solved")[0], names)
    for load in (0.2, 1.0, 1.4):
        ours, lessons = (summarize(traces) for traces in (queue(load, 1, 0.3), names["one_server"](load)))
        assert ours == pytest.approx(lessons, abs=1e-3)


@pytest.mark.browser
@pytest.mark.slow
def test_the_timeline_says_what_the_exercises_say(shown):
    page = shown(request_timeline())
    for servers, prefill in ((1, 0.3), (2, 0.3), (1, 0.9), (4, 0.1)):
        page.get_by_label("servers").select_option(str(servers))
        page.get_by_label("prefill").select_option(str(prefill))
        back_to_the_first(page)
        for load in LOADS:
            traces = queue(load, servers, prefill)
            figures = summarize(traces)
            said = words(page)
            assert said.startswith(f"{load:.1f} requests a second, {servers} server")
            p50, p99, count = re.findall(r"p50 ([\d.]+) s and p99 ([\d.]+) s, and (\d+) of 400 requests", said)[0]
            assert [float(p50), float(p99)] == pytest.approx([figures["ttft_p50"], figures["ttft_p99"]], abs=0.0051)
            assert int(count) == num_kept(traces)
            assert ("the queue grows" in warning(page)) == (load > servers / (prefill + GAP * (NUM_TOKENS - 1)))
            page.keyboard.press("ArrowRight")
    assert page.locator("svg rect").count() > 12


def four_digits(number: float) -> str:
    return f"{number:.4f}".replace("-", "\u2212") if number > float("-inf") else "\u2212\u221e"


@pytest.mark.browser
@pytest.mark.slow
def test_the_tiles_say_what_absorb_and_finish_say(shown):
    """Both orders, with and without a mask: m, l and acc after each tile, then out and lse."""
    page = shown(tile_by_tile())
    scores = torch.tensor([EXPONENTIALS], dtype=torch.float64).log()
    values = torch.tensor(VALUES, dtype=torch.float64)[:, None]
    for order in ORDERS:
        for sees in SEEN:
            page.get_by_label("the tiles come").select_option(order)
            page.get_by_label("the query sees").select_option(sees)
            back_to_the_first(page)
            assert words(page).startswith("Nothing is absorbed yet: m \u2212\u221e")
            visible = len(VALUES) if sees == SEEN[0] else 5
            masked = scores.masked_fill(torch.arange(len(VALUES)) >= visible, float("-inf"))
            starts = range(0, len(VALUES), TILE) if order == ORDERS[0] else range(len(VALUES) - TILE, -1, -TILE)
            state = State.empty((1,), 1, torch.float64)
            for step, start in enumerate(starts, 1):
                page.keyboard.press("ArrowRight")
                before, state = state, absorb(state, masked[:, start : start + TILE], values[start : start + TILE])
                said = words(page)
                assert said.startswith(f"Tile {step} of 4, keys {start} and {start + 1}")
                assert said.endswith(" ".join(f"{n} {four_digits(float(x))}{p}" for n, x, p in zip(
                    ("m", "l", "acc"), (state.m, state.l, state.acc), ",,.", strict=True)))  # fmt: skip
                assert ("not in the plan" in said) == (start >= visible)
                assert ("is masked" in said) == (start < visible < start + TILE)
                fades = float("-inf") < float(before.m) < float(state.m)
                assert (f"count {four_digits(float((before.m - state.m).exp()))} times" in said) == fades
            page.keyboard.press("ArrowRight")
            out, lse = finish(state)
            assert words(page).startswith(f"Finished: out {four_digits(float(out))}, lse {four_digits(float(lse))}. Three numbers")


def test_the_first_two_tiles_of_the_stepper_are_the_lessons_example():
    text = (paths.ROOT / "course" / "day12_flash_attention" / "lesson.md").read_text(encoding="utf-8")
    assert EXPONENTIALS[:4] == (1, 2, 3, 4)
    assert VALUES[:4] == (6, 3, 0, 10)
    assert "the scores ln 1, ln 2, ln 3, ln 4, values 6, 3, 0, 10" in text


def blocks_after_each_step(size: int, remembers: bool) -> Iterator[str]:
    """The steps of the figure with the lesson's own exercises: what its words say of the blocks, step by step."""
    pool, rows, reads = PrefixPool(POOL_SLOTS // size), {}, {"B": list(range(PROMPT))}
    fed = 0

    def words(copies: int, found: int) -> str:
        tables = [row.blocks for row in rows.values()]
        held = {block for table in tables for block in table}
        shared = sum(pool.holders(block) > 1 for block in held)
        filled = {slot for row in rows.values() for slot in row.slots().tolist()}
        return "".join([
            " Its last block is part full and shared: it is copied first." if copies else "",
            f" The pool finds {found} of its tokens" if found else "",
            f" Blocks: {len(held)} of {pool.num_blocks} are held, {shared} by more than one text, {size * len(held) - len(filled)}"
            f" of their places are empty; {fed} tokens fed so far.",
        ])  # fmt: skip

    yield words(0, 0)
    for what, name, more, _ in STORY:
        copies: list[tuple[int, int]] = []
        found = 0
        if what in ("read", "like"):
            label, count = (name, int(more)) if what == "read" else (str(more), PROMPT)
            tokens = reads.get(label, [1000 * ord(label) + i for i in range(count)])
            if what == "like":
                tokens = [*reads["B"][:ALIKE], *tokens[ALIKE:]]
            row = rows[label] = start_sequence(pool, tokens, size) if remembers else PagedSequence(pool, size)
            found = row.length
            copies = row.grow(count - found)
            fed += count - found
            if remembers:
                publish_blocks(row, tokens)
        elif what == "fork":
            rows[str(more)] = rows[name].fork()
        elif what == "write":
            copies = rows[name].grow(int(more))
            fed += int(more)
        else:
            rows.pop(name).free()
        assert pool.num_free == pool.num_blocks - len({block for row in rows.values() for block in row.blocks})
        yield words(len(copies), found)


@pytest.mark.browser
@pytest.mark.slow
def test_the_blocks_say_what_the_exercises_say(shown):
    """Each size, with a pool that remembers and one that forgets; and the reservations beside them, counted anew."""
    page = shown(blocks_in_use())
    for size in SIZES:
        for kind in POOLS:
            page.get_by_label("tokens in a block").select_option(size)
            page.get_by_label("a pool that").select_option(kind)
            back_to_the_first(page)
            lengths: dict[str, int] = {}
            for step, want in enumerate(blocks_after_each_step(int(size), kind == POOLS[0])):
                if step:
                    what, name, more, summary = STORY[step - 1]
                    assert words(page).startswith(summary)
                    if what == "end":
                        lengths.pop(name)
                    elif what == "write":
                        lengths[name] += int(more)
                    else:
                        lengths[name if what == "read" else str(more)] = {"read": more, "like": PROMPT, "fork": lengths.get(name)}[what]
                said = words(page).replace(", though nobody held them any more.", ".").replace("of its tokens.", "of its tokens")
                assert want in said
                inside = list(lengths)[: POOL_SLOTS // ROOM]  # who came first; a fourth one waits
                reserved = ROOM * len(inside)
                empty = reserved - sum(lengths[name] for name in inside)
                assert said.endswith(f"One piece: {reserved} of {POOL_SLOTS} slots are reserved, {empty} of them are empty.")
                waiting = list(lengths)[POOL_SLOTS // ROOM :]
                assert warning(page) == (f"In one piece {waiting[0]} must wait." if waiting else "")
                page.keyboard.press("ArrowRight")


def test_the_steps_of_the_blocks_fit_into_every_pool():
    for size in SIZES:
        for remembers in (True, False):
            assert len(list(blocks_after_each_step(int(size), remembers))) == len(STORY) + 1


def scheduled(budget: int, running: int, blocks: int) -> list[str]:
    """The figure's requests with the lesson's own exercises: what its words say of each step, and at last of all together."""
    names: dict[Request, str] = {}
    pool, plans, waits, held = PrefixPool(blocks), [], [], []

    class Watched(Scheduler):
        def schedule(self) -> Plan:
            held.append(blocks - pool.num_free)
            plans.append(super().schedule())
            waits.append([names[request] for request in self.waiting])
            return plans[-1]

    for i, (name, arrival, prompt, asked) in enumerate(REQUESTS):
        names[Request([1000 * i + j for j in range(prompt)], asked, arrival=float(arrival))] = name
    scheduler = Watched(pool, BLOCK_SIZE, token_budget=budget, max_running=running)
    seconds = partial(step_seconds, weight_seconds=FREE_RIDE, token_seconds=1, kv_seconds=0)
    traces = simulate(list(names), scheduler, seconds)
    times = {name: trace.token_times for name, trace in zip(names.values(), traces, strict=True)}
    lines, clock = [], 0
    for plan, waiting, after in zip(plans, waits, [*held[1:], 0], strict=True):
        begin, clock = clock, clock + max(FREE_RIDE, plan.num_tokens)
        came = [names[request] for request, _ in plan.chunks if clock in times[names[request]]]
        chunks = ", ".join(f"{names[request]} {n}" for request, n in plan.chunks)
        said = [f"Step {len(lines) + 1}, ticks {begin} to {clock}: {plan.num_tokens} of {budget} tokens, {chunks}."]
        said += [f"{', '.join(names[request] for request in plan.preempted)} gave way."] if plan.preempted else []
        said += [f"A token for {', '.join(came)}."] if came else []
        said += [f"{', '.join(ended)} ended."] if (ended := [name for name in came if times[name][-1] == clock]) else []
        said += [f"Waiting: {', '.join(waiting)}."] if waiting else []
        lines.append(" ".join([*said, f"Blocks held: {after} of {blocks}."]))
    fed = sum(plan.num_tokens for plan in plans)
    first, gap = max(trace.ttft for trace in traces), max(gap for trace in traces for gap in trace.itl)
    assert clock == max(trace.token_times[-1] for trace in traces)
    totals = f"In all {len(plans)} steps, {clock} ticks, {fed} tokens fed; the longest wait for a first token is {first:.0f} ticks"
    return [*lines, f"{totals}, the longest gap {gap:.0f}."]


def slide(page: Any, label: str, value: int) -> None:
    slider = page.get_by_role("slider", name=label, exact=True)
    slider.evaluate(f"e => {{ e.value = {value}; e.dispatchEvent(new Event('input', {{ bubbles: true }})); }}")


@pytest.mark.browser
@pytest.mark.slow
def test_the_schedule_says_what_the_exercises_say(shown):
    """At the ends of the sliders and between: every step, who was fed and who gave way, and the figures of all together."""
    page = shown(batch_by_batch())
    for budget in (BUDGETS[0], 7, BUDGETS[1]):
        for running in (RUNNING[0], 2, RUNNING[1]):
            for blocks in (BLOCKS[0], 9, 10, BLOCKS[1]):
                for label, value in (("token budget", budget), ("may run", running), ("blocks of 4", blocks)):
                    slide(page, label, value)
                back_to_the_first(page)
                *steps, together = scheduled(budget, running, blocks)
                assert words(page) == f"No step yet. {together}"
                for step in steps:
                    page.keyboard.press("ArrowRight")
                    assert words(page) == f"{step} {together}"
                assert page.get_by_role("button", name="Next step").is_disabled()


def test_the_sliders_reach_every_rung_of_the_day():
    """Whole prompts, chunks, and requests that give way, which costs tokens that are fed again."""
    by_setting = {setting: scheduled(*setting) for setting in ((32, 4, 20), (8, 4, 20), (32, 4, 10))}
    assert "C 22" in " ".join(by_setting[32, 4, 20])
    assert "C 22" not in " ".join(by_setting[8, 4, 20])
    assert "gave way" in " ".join(by_setting[32, 4, 10])
    fresh = int(by_setting[32, 4, 20][-1].split(" ticks, ")[1].split()[0])
    again = int(by_setting[32, 4, 10][-1].split(" ticks, ")[1].split()[0])
    assert again > fresh


def speculated(draft: str, k: int) -> list[str]:
    """What the figure's words should be, step by step: the lesson's own loop, with a model that says the figure's answer."""
    whole = [*ROUND_PROMPT, *ANSWER]
    names = sorted({*whole, WRONG})
    ids = [names.index(name) for name in whole]
    drafts: dict[str, Callable[[list[int], int], list[int]]] = {
        DRAFTS[0]: lambda text, n: lookup_draft(text, max_ngram=MAX_NGRAM, k=n),
        DRAFTS[1]: lambda text, n: ids[len(text) : len(text) + n],
        DRAFTS[2]: lambda text, n: [names.index(WRONG)] * n,
        DRAFTS[3]: lambda text, n: [],
    }
    rounds: list[tuple[int, int, int, list[int]]] = []  # (fed, cached before, cached after, guesses)
    asked: list[list[int]] = []

    def answers(model: Any, fed: torch.Tensor, cache: KVCache) -> torch.Tensor:
        before, after = cache.length, cache.length + fed.shape[1]
        cache.counts = [after] * len(cache.counts)
        rounds.append((fed.shape[1], before, after, asked.pop() if asked else []))
        said = torch.tensor([[*ids[1:], 0]])[:, before:after]
        return torch.nn.functional.one_hot(said, len(names)).double()

    def guess(text: list[int], n: int) -> tuple[list[int], None]:
        assert text == ids[: len(text)]
        asked.append(drafts[draft](text, n))
        return asked[-1], None

    config = small_config(vocab_size=len(names))
    model = WeightsOnly(config, small_weights(torch.Generator(), config), None)
    idx = torch.tensor([ids[: len(ROUND_PROMPT)]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speculative, "forward_cached", answers)
        got = generate_speculative(model, idx, max_new_tokens=len(ANSWER), block_size=99, draft=guess, k=k, temperature=0.0)
    assert got[0].tolist() == ids
    return rounds_in_words(rounds, whole, names)


def rounds_in_words(rounds: list[tuple[int, int, int, list[int]]], whole: list[str], names: list[str]) -> list[str]:
    """The steps of each round, in words: what is fed, what stays, and the cache cut back where a guess was refused."""
    sentences, read = ["Nothing has been read yet."], 0
    lengths = [before for _, before, _, _ in rounds[1:]] + [len(whole) - 1]  # of the cache, once it has been cut back
    for number, ((fed, before, after, guess), cut) in enumerate(zip(rounds, lengths, strict=True), 1):
        own, quoted, kept = f"'{whole[cut]}'", [f"'{names[token]}'" for token in guess], cut - before - 1
        guesses, read = f"{len(guess)} guess{'es' if len(guess) > 1 else ''}", read + fed
        if number == 1:
            steps = [(f", the prefill: {fed} tokens are fed, and the model says {own}.", cut)]
        elif not guess:
            steps = [(f": the newest token is fed alone, and the model says {own}.", cut)]
        else:
            last = f"The extra token is {own}." if kept == len(guess) else f"{own} takes the place of {quoted[kept]}."
            steps = [
                (f": the newest token is fed with {guesses}, {' '.join(quoted)}. The cache grows from {before} to {after}.", before),
                (f": {kept} of {guesses} stay{'s' if kept == 1 else ''}. {last}", cut),
            ]
            if kept < len(guess):
                steps.append((f": the cache is cut back from {after} to {cut}: the text without its newest token.", cut))
        passes = f"{number} pass{'es' if number > 1 else ''}"
        for said, cached in steps:
            made = cached + 1 - len(ROUND_PROMPT)
            sentences.append(f"Pass {number}{said} So far {made} of {len(ANSWER)} tokens in {passes}, {read} positions.")
    return [f"{said} In all {len(rounds)} passes, {read} positions." for said in sentences]


@pytest.mark.browser
@pytest.mark.slow
def test_the_rounds_say_what_the_exercises_say(shown):
    """Every draft with several k: each step's guesses, what stays, and the cache."""
    page = shown(round_by_round())
    for draft in DRAFTS:
        for k in (1, 2, 4, MOST):
            page.get_by_label("the draft").select_option(draft)
            slide(page, "k", k)
            back_to_the_first(page)
            for said in speculated(draft, k):
                assert words(page) == said
                page.keyboard.press("ArrowRight")
            assert page.get_by_role("button", name="Next step").is_disabled()


def test_the_rounds_show_every_case():
    """A guess kept whole, in part and not at all, and none; each of them once the draft looks it up."""
    text = " ".join(speculated(DRAFTS[0], 4))
    for said in ("2 of 4 guesses stay", "0 of 4 guesses stay", "3 of 4 guesses stay", "the newest token is fed alone", "is cut back"):
        assert said in text, said
    assert "The extra token" in " ".join(speculated(DRAFTS[1], 4))


def through_rank_0(x: torch.Tensor, comm: Communicator) -> torch.Tensor:
    """All to rank 0, which adds up and hands the sum to all."""
    if comm.rank:
        comm.send(0, x)
        return comm.recv(0)
    total = x + sum(comm.recv(other) for other in range(1, comm.world))
    for other in range(1, comm.world):
        comm.send(other, total)
    return total


def each_to_each(x: torch.Tensor, comm: Communicator) -> torch.Tensor:
    """All to all, and each adds up."""
    others = [other for other in range(comm.world) if other != comm.rank]
    for other in others:
        comm.send(other, x)
    return x + sum(comm.recv(other) for other in others)


def all_reduced(way: str, world: int) -> list[str]:
    """What the figure's words should be, round by round: the lesson's own ring, whose messages are read on the way."""
    numbers = [10 * rank + torch.arange(world, dtype=torch.float64) for rank in range(world)]
    messages: list[list[torch.Tensor]] = [[] for _ in range(world)]
    function = dict(zip(WAYS, (ring_all_reduce, through_rank_0, each_to_each), strict=True))[way]

    def watched(comm: Communicator) -> torch.Tensor:
        def send(dst: int, tensor: torch.Tensor) -> None:
            messages[comm.rank].append(tensor.clone())
            comm.send(dst, tensor)

        return function(numbers[comm.rank], replace(comm, send=send))

    results, traffic = run_ranks(world, watched)
    total = [int(number) for number in sum(numbers)]
    assert all(result.tolist() == total for result in results)
    ring, others = way == WAYS[0], f"rank{'s' if world > 2 else ''} {in_words([str(rank) for rank in range(1, world)])}"
    rounds = {
        WAYS[0]: [ring_round(messages, number, world, total) for number in range(1, 2 * world - 1) if ring],
        WAYS[1]: [
            f"{others} {'send all their' if world > 2 else 'sends all its'} numbers to rank 0, which adds them.",
            f"rank 0 sends the sum to {others}.",
        ],
        WAYS[2]: ["each rank sends all its numbers to each other, and adds what it gets."],
    }[way]
    lines = ["Nothing has been sent: each rank holds its own numbers."]
    for number, said in enumerate(rounds, 1):
        so_far = [entry for entry in traffic.log if way != WAYS[1] or number == 2 or entry[1] == 0]
        counts = [[sum(size for *ends, size in so_far if ends[end] == rank) // 8 for rank in range(world)] for end in (0, 1)]
        sent, received = [number] * 2 if ring else map(max, counts)
        amounts = [f"{count} number{'' if count == 1 else 's'}" for count in (sent, received)]
        most = f"A rank has sent at most {amounts[0]} and received at most {amounts[1]}."
        words = f"Round {number} of {len(rounds)}: {said} {most}"
        lines.append(words + (f" Every rank has the sum: {' '.join(map(str, total))}." if number == len(rounds) else ""))
    return lines


def in_words(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def ring_round(messages: list[list[torch.Tensor]], number: int, world: int, total: list[int]) -> str:
    """Who sends what in a round of the ring. Which chunk a message is, its number tells: how many ranks' numbers are in it is known."""
    clauses = []
    for rank in range(world):
        value, right = int(messages[rank][number - 1]), (rank + 1) % world
        if number < world:
            chunk, rest = divmod(value - 10 * sum((rank - back) % world for back in range(number)), number)
            assert rest == 0
            becomes = value + 10 * right + chunk
            assert number < world - 1 or (chunk, becomes) == (right, total[right])
            clauses.append(f"rank {rank} sends chunk {chunk} ({value}) to rank {right}, where it becomes {becomes}")
        else:
            clauses.append(f"rank {rank} hands chunk {total.index(value)} ({value}) to rank {right}")
    last = " Each rank has one chunk of the sum, that of its own number." if number == world - 1 else ""
    return f"{'; '.join(clauses)}.{last}"


class WatchedCore(EchoCore):
    """Keeps its steps: (when it began, whose tokens it made, who runs and who waits at its end)."""

    def __init__(self, *, places: int, aborts: bool) -> None:
        super().__init__(max_running=places, step_seconds=STEP / 1000, num_blocks=1000)
        self.steps: list[tuple[int, list[str], list[str], list[str]]] = []
        self.aborts = aborts

    def abort(self, request_id: str) -> None:
        if self.aborts:
            super().abort(request_id)

    async def step(self) -> list[TokenOutput]:
        begin = round(1000 * asyncio.get_running_loop().time())
        outputs = await super().step()
        self.steps.append((begin, [output.request_id for output in outputs], list(self._running), list(self._waiting)))
        return outputs


async def people_come(core: WatchedCore, limit: int) -> tuple[dict[str, list[int]], list[tuple[str, int, int]]]:
    """The figure's people at a server of the lesson: when each had its tokens, and who was refused, when, and how many waited."""
    engine, clock = AsyncEngine(core, limit), asyncio.get_running_loop().time
    had: dict[str, list[int]] = {}
    refused: list[tuple[str, int, int]] = []

    async def person(name: str, arrival: int, asked: int) -> None:
        await asyncio.sleep(arrival / 1000)
        answer = engine.generate(name, [1], SamplingParams(max_tokens=asked))
        try:
            async for _ in answer:
                had.setdefault(name, []).append(round(1000 * clock()))
                if (name, len(had[name])) == LEAVES:
                    break
        except RequestError:
            refused.append((name, arrival, core.num_waiting))
        finally:
            await answer.aclose()

    stepping = asyncio.create_task(engine.run())
    await asyncio.gather(*(person(*each) for each in PEOPLE))
    engine.drain()
    await stepping
    return had, refused


def served(places: int, limit: int, closed: str) -> list[str]:
    """What the words of the figure say of each step, and at last of all together: the lesson's own engine, on a core without a model."""
    core = WatchedCore(places=places, aborts=closed == NOTICED[0])
    (had, refused), _ = run_virtual(people_come(core, limit))
    asked = {name: tokens for name, _, tokens in PEOPLE}
    lines, nobody = [], 0

    def names(some: Sequence[str]) -> str:
        return ", ".join(some)

    for number, (begin, made, running, waiting) in enumerate(core.steps, start=1):
        end = begin + STEP
        read = [name for name in made if end in had[name]]
        unread = [name for name in made if name not in read]
        nobody += len(unread)
        said = [f"Step {number}, {begin} to {end} ms:" + (f" a token for {names(read)}." if read else "")]
        said += [f"A token of {names(unread)} for nobody."] if unread else []
        said += [f"{name} came at {ms} ms and was refused: {n} waited." for name, ms, n in refused if begin <= ms < end]
        ended = [name for name in read if had[name][-1] == end and len(had[name]) == asked[name]]
        said += [f"{names(ended)} ended."] if ended else []
        closes = LEAVES[0] in read and len(had[LEAVES[0]]) == LEAVES[1] and had[LEAVES[0]][-1] == end
        said += [f"{LEAVES[0]} closes the tab."] if closes else []
        lines.append(" ".join([*said, f"Running: {names(running) or 'nobody'}. Waiting: {names(waiting) or 'nobody'}."]))
    wait = max(times[0] - arrival for name, arrival, _ in PEOPLE if (times := had.get(name)))
    turned_away = names([name for name, _, _ in refused]) or "nobody"
    totals = f"In all {core.num_steps} steps, {core.num_tokens} tokens, {nobody} of them for nobody; refused: {turned_away}"
    return [*lines, f"{totals}; the longest wait for a first token is {wait} ms."]


@pytest.mark.browser
@pytest.mark.slow
def test_the_ring_says_what_the_exercises_say(shown):
    """Every way with every number of ranks: each round's messages, and the sums."""
    page = shown(round_of_messages())
    for way in WAYS:
        for world in range(WORLDS[0], WORLDS[1] + 1):
            page.get_by_label("the sum is made").select_option(way)
            slide(page, "ranks", world)
            back_to_the_first(page)
            for said in all_reduced(way, world):
                assert words(page) == said
                page.keyboard.press("ArrowRight")
            assert page.get_by_role("button", name="Next step").is_disabled()
            assert (warning(page) != "") == (way == WAYS[2] and world > 2)


def test_after_half_of_its_rounds_each_rank_has_its_chunk_whole():
    """What the figure says of it, and the exercise's own result."""
    for world in range(WORLDS[0], WORLDS[1] + 1):
        results, _ = run_ranks(world, lambda comm: ring_reduce_scatter(10.0 * comm.rank + torch.arange(comm.world), comm))
        text = all_reduced(WAYS[0], world)[world - 1]
        assert "Each rank has one chunk of the sum" in text
        for rank, result in enumerate(results):
            assert f"to rank {rank}, where it becomes {int(result)}" in text


@pytest.mark.browser
@pytest.mark.slow
def test_the_queue_says_what_the_engine_of_the_lesson_does(shown):
    """At every setting: each step, who was refused, and the figures of all together."""
    page = shown(who_is_served())
    for closed in NOTICED:
        page.get_by_label("a closed tab").select_option(closed)
        for places in range(PLACES[0], PLACES[1] + 1):
            for limit in range(LIMITS[0], LIMITS[1] + 1):
                for label, value in (("places", places), ("may wait", limit)):
                    slide(page, label, value)
                back_to_the_first(page)
                *steps, together = served(places, limit, closed)
                assert words(page) == f"No step yet. {together}"
                for step in steps:
                    page.keyboard.press("ArrowRight")
                    assert words(page) == f"{step} {together}"
                assert page.get_by_role("button", name="Next step").is_disabled()


def test_a_tab_that_nobody_notices_costs_others_their_place():
    noticed, unnoticed = (served(2, 2, closed)[-1] for closed in NOTICED)
    assert "refused: E;" in noticed
    assert "refused: E, G;" in unnoticed
