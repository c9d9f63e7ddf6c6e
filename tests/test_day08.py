"""The numbers of the latency day: those worked out by hand, and those its text states."""

import pytest

from autograder.datafiles import hand_computed
from autograder.lessons import find_day, lesson
from solutions.latency import Trace, goodput, percentile, summarize

HAND = hand_computed("latency")


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


def test_numbers_of_the_questions():
    assert 1 - 0.95**20 == pytest.approx(0.64, abs=0.005)
    assert 300 + 49 * 10 == 790
    assert 1 - 790 / 1280 == pytest.approx(0.38, abs=0.005)
    assert 50 / 1.28 == pytest.approx(39, abs=0.1)
    waits = [0.5] * 9 + [20.0]
    assert sum(waits) / 10 == pytest.approx(2.45)
    assert (percentile(waits, 50), percentile(waits, 99)) == (0.5, pytest.approx(18.245))


def test_the_one_server_queue_does_what_the_text_says():
    """Rate and gaps stand still while waits grow; goodput falls; the limit is 1.47 requests a second."""
    source = next(c.source for c in lesson(find_day("latency")).cells if c.role == "demo" and "def one_server" in c.source)
    names: dict = {"Trace": Trace}
    exec("import torch\n" + source.split("if if_solved")[0], names)
    quiet, busy = (names["one_server"](load) for load in (0.2, 1.4))
    assert 1 / 0.68 == pytest.approx(1.47, abs=0.005)
    assert summarize(quiet)["tokens_per_second"] == pytest.approx(summarize(busy)["tokens_per_second"])
    assert summarize(busy)["ttft_p99"] > 5 * summarize(quiet)["ttft_p99"]
    assert goodput(quiet, 1.0, 0.05) > 0.95 > 0.2 > goodput(busy, 1.0, 0.05)
