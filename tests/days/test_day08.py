"""The numbers of the latency day: those worked out by hand, and those its text states."""

import ast
import math
from collections.abc import Callable, Iterable
from itertools import accumulate

import pytest
import torch

from autograder.base.datafiles import hand_computed
from autograder.lessons import find_day, lesson
from course.kit import paths
from solutions.latency import Trace, goodput, percentile, summarize

HAND = hand_computed("latency")
LESSON = (paths.ROOT / "course" / "day08_latency" / "lesson.md").read_text(encoding="utf-8")


def test_one_request():
    case = HAND["one_request"]
    times = [case["ttft_seconds"] + case["itl_seconds"] * i for i in range(case["num_tokens"])]
    trace = Trace(0.0, times)
    assert trace.e2e == pytest.approx(case["e2e_seconds"])
    assert case["ttft_seconds"] + case["num_tokens"] * case["itl_seconds"] == pytest.approx(case["approximate_e2e_seconds"])
    assert trace.e2e / case["num_tokens"] == pytest.approx(case["mean_seconds_per_token"])
    assert summarize([trace])["tokens_per_second"] == pytest.approx(case["tokens_per_second"])


def test_long_prompt():
    case = HAND["long_prompt"]
    assert case["prompt_tokens"] / case["prefill_seconds"] == pytest.approx(case["prefill_tokens_per_second"])
    assert case["prefill_tokens_per_second"] / case["decode_tokens_per_second"] == pytest.approx(case["speed_ratio"], abs=1e-4)


def test_percentiles():
    case = HAND["percentiles"]
    for q in (50, 95, 99):
        assert percentile(case["values"], q) == pytest.approx(case[f"p{q}"])
    assert sum(case["values"]) / 10 == pytest.approx(case["mean"])
    assert sorted(case["values"])[int(0.99 * 9)] == 0.9, "rounding the place down loses the long wait, as the text says"


def test_two_requests():
    case = HAND["two_requests"]
    gaps = case["slow_gaps"] + case["fast_gaps"]
    seconds = case["slow_gaps"] * case["slow_gap_seconds"] + case["fast_gaps"] * case["fast_gap_seconds"]
    assert gaps / seconds == pytest.approx(case["tokens_per_second"], abs=1e-4)
    assert (1 / case["slow_gap_seconds"] + 1 / case["fast_gap_seconds"]) / 2 == pytest.approx(case["mean_of_rates"])


def test_one_stop():
    case = HAND["one_stop"]
    gaps = [case["gap_seconds"]] * case["num_gaps"] + [case["stop_seconds"]]
    assert percentile(gaps, 50) == pytest.approx(case["p50"])
    assert percentile(gaps, 99) == pytest.approx(case["p99"])
    assert sum(gaps) / len(gaps) == pytest.approx(case["mean"], abs=1e-6)


def test_three_streams():
    case = HAND["three_streams"]
    traces = [stream_of(arrival, case["ttft_seconds"], [case["gap_seconds"]] * case["num_gaps"]) for arrival in case["arrivals"]]
    figures = summarize(traces)
    for name in ("tokens_per_second", "output_tokens_per_second", "requests_per_second"):
        assert figures[name] == pytest.approx(case[name])
    assert "The machine made 123 tokens in 2 s: 61.5 tokens a second, and 1.5 requests a second." in LESSON


def test_the_two_services_of_the_first_paragraph():
    """The same pace, and all that differs is what the text says differs."""
    case = HAND["two_services"]
    quick, hangs = (
        summarize([stream_of(0.0, ttft, gaps)])
        for ttft, gaps in (
            (case["steady_ttft"], [case["steady_gap"]] * 40),
            (case["stops_ttft"], [case["short_gap"]] * 20 + [case["long_gap"]] + [case["short_gap"]] * 19),
        )
    )
    assert quick["tokens_per_second"] == pytest.approx(hangs["tokens_per_second"]) == pytest.approx(case["tokens_per_second"])
    assert hangs["itl_p99"] == pytest.approx(case["stops_itl_p99"])
    assert hangs["itl_p99"] > 10 * quick["itl_p99"]
    assert hangs["itl_p50"] < quick["itl_p50"]
    assert "gaps_after(0.2, [0.025] * 40)" in LESSON
    assert "gaps_after(3.0, [0.0125] * 20 + [0.5125] + [0.0125] * 19)" in LESSON


def stream_of(arrival: float, ttft: float, gaps: list[float]) -> Trace:
    return Trace(arrival, list(accumulate(gaps, initial=arrival + ttft)))


def test_numbers_of_the_questions():
    assert 1 - 0.95**20 == pytest.approx(0.64, abs=0.005)
    assert 300 + 49 * 10 == 790
    assert 1 - 790 / 1280 == pytest.approx(0.38, abs=0.005)
    assert 50 / 1.28 == pytest.approx(39, abs=0.1)
    waits = [0.5] * 9 + [20.0]
    assert sum(waits) / 10 == pytest.approx(2.45)
    assert (percentile(waits, 50), percentile(waits, 99)) == (0.5, pytest.approx(18.245))


def test_the_promises_by_hand():
    """One good request of four in 2.5 s: 0.4 a second; with the longer limit two."""
    gap = 0.03125
    traces = [
        stream_of(3.0, 0.4375, [gap, gap]), stream_of(1.0, 1.5, [gap, gap]),
        stream_of(1.25, 0.5, [gap, 0.25]), stream_of(1.125, 1.5, [gap, 0.25]),
    ]  # fmt: skip
    assert [goodput(traces, ttft, 0.0625) for ttft in (1.0, 2.0)] == pytest.approx([0.4, 0.8])
    assert summarize(traces)["requests_per_second"] == pytest.approx(1.6)


def test_the_one_server_queue_does_what_the_text_says():
    """Pace and gaps stand still while waits grow; throughput rises all the way, goodput rises and falls; the limit is 1.47 a second."""
    source = next(c.source for c in lesson(find_day("latency")).cells if c.role == "demo" and "def one_server" in c.source)
    names: dict = {"Trace": Trace}
    exec("import torch\n" + source.split("if if_solved")[0], names)
    quiet, busy = (names["one_server"](load) for load in (0.2, 1.4))
    assert 1 / 0.68 == pytest.approx(1.47, abs=0.005)
    assert summarize(quiet)["tokens_per_second"] == pytest.approx(summarize(busy)["tokens_per_second"])
    assert summarize(busy)["ttft_p99"] > 5 * summarize(quiet)["ttft_p99"]
    loads = [0.2, 0.4, 0.6, 0.8, 1.0, 1.1, 1.2, 1.3, 1.4]
    assert f"loads = {loads}" in LESSON
    service = {load: names["one_server"](load) for load in loads}
    throughput = {load: summarize(traces)["output_tokens_per_second"] for load, traces in service.items()}
    good = {load: goodput(traces, 1.0, 0.05) for load, traces in service.items()}
    assert list(throughput.values()) == sorted(throughput.values()), "it looks better from row to row"
    assert [round(throughput[load], 1) for load in (0.2, 1.0, 1.2, 1.4)] == [4.0, 19.8, 23.7, 27.6]
    assert [round(good[load], 3) for load in (1.0, 1.2, 1.4)] == [0.637, 0.491, 0.166]
    assert max(good, key=good.get) == 1.0
    assert good[1.4] < good[0.2], "fewer are served well than when it was quiet"
    assert "4.0, 19.8, 23.7, 27.6 tokens a second" in LESSON
    assert all(said in LESSON for said in ("0.637 requests", "0.491 at 1.2", "0.166 at 1.4"))


def functions(*names: str) -> dict:
    """What the lesson's cells define under these names."""
    found: dict = {"Trace": Trace, "torch": torch, "math": math, "Iterable": Iterable, "Callable": Callable}
    for cell in lesson(find_day("latency")).cells:
        if cell.role == "demo":
            body: list[ast.stmt] = [node for node in ast.parse(cell.source).body if getattr(node, "name", None) in names]
            exec(compile(ast.Module(body, []), "<cells>", "exec"), found)
    return found


def test_three_metrics_of_one_service():
    queue = functions("one_server")["one_server"]
    quiet, busy = (summarize(queue(load)) for load in (0.2, 1.4))
    times = [f"{busy[key] / quiet[key]:.2f} times" for key in ("output_tokens_per_second", "ttft_p99", "itl_p99")]
    assert times[2] == "1.00 times"
    assert f"{times[0]} as high, the slowest waits are {times[1]} as long" in LESSON


def test_what_can_be_sold():
    queue = functions("one_server")["one_server"]
    for ttft, load, share in ((2.0, 0.99, 0.67), (0.9, 0.5, 0.34), (4.0, 1.25, 0.85)):
        kept, more = (sum(trace.ttft <= ttft for trace in queue(each)) for each in (load, load + 0.01))
        assert kept >= 360 > more
        assert load * 0.68 == pytest.approx(share, abs=0.005)
    assert max(trace.ttft for trace in queue(1.6)) < 99
    assert "0.99 requests a second, 67 % of what" in LESSON
    assert all(said in LESSON for said in ("no more than 0.50, which is 34 %", "it is 1.25 or 85 %"))


def test_the_delay_of_a_batch_that_forms():
    forming = functions("forming")["forming"]
    waits, size = forming(2.0, 8, math.inf)
    assert sum(waits) / len(waits) == pytest.approx(7 / (2 * 2.0), rel=0.05)
    assert (round(sum(waits) / len(waits), 3), round(percentile(waits, 99), 3), size) == (1.792, 6.137, 8.0)
    assert [round(forming(load, 8, 0.1)[1], 2) for load in (2.0, 20.0)] == [1.2, 3.03]
    assert "1.792 s on average" in LESSON
    assert "6.137 s at p99" in LESSON
    assert "1.20 requests in each.\nAt 20 requests a second the same limit leaves 3.03" in LESSON


def test_what_hedging_brings():
    first, second = (functions("unlucky")["unlucky"](2000, seed) for seed in (0, 1))

    def hedged(copies: int) -> list[float]:
        patience = [*sorted(first, reverse=True), 0.0][copies]
        return [min(one, patience + other) for one, other in zip(first, second, strict=True)]

    assert [round(percentile(hedged(copies), 99), 3) for copies in (0, 20, 100, 2000)] == [1.095, 1.095, 0.372, 0.178]
    assert [round(percentile(hedged(copies), 50), 3) for copies in (0, 100)] == [0.086, 0.086]
    assert all(said in LESSON for said in ("p99 is 1.095 s", "it is 0.372 s, a third", "at 0.086 s", "(0.178 s)"))


def test_two_servers_and_a_stop():
    assert (percentile([0.1] * 100, 99) + percentile([1.8] * 100, 99)) / 2 == pytest.approx(0.95)
    assert percentile([0.1] * 100 + [1.8] * 100, 99) == 1.8
    assert (0.0125 * 39 + 0.5125) / 40 == pytest.approx(0.025)
