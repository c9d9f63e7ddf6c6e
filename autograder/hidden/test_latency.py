"""Hidden checks of the latency day: random traces in sixteenths of a second, so that every sum is exact."""

import torch

from autograder.authoring import checks, close, equal
from autograder.checks.test_latency import Clock, times, trace


def sixteenths(rng: torch.Generator, n: int, low: int = 1, high: int = 40) -> list[float]:
    return (torch.randint(low, high, (n,), generator=rng).double() / 16).tolist()


def whole(rng: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high, (1,), generator=rng))


def random_delays(rng: torch.Generator, count: int) -> list[list[float]]:
    """For each of `count` requests, the delays of its tokens; lengths differ widely."""
    return [sixteenths(rng, whole(rng, 2, 12)) for _ in range(count)]


def numpy_percentile(values: list[float], q: float) -> float:
    import numpy as np

    return float(np.percentile(values, q))


@checks("Trace", weight=2)
def test_random_traces(student, rng):
    """random requests at random times"""
    for delays in random_delays(rng, 6):
        arrival = float(whole(rng, 0, 5000))
        made = trace(student, arrival, delays)
        close(made.ttft, delays[0])
        equal(list(made.itl), delays[1:])
        close(made.tpot, sum(delays[1:]) / (len(delays) - 1))
        close(made.e2e, sum(delays))


@checks("Trace")
def test_keeps_what_it_was_given(student, rng):
    """the arrival and the token times stay as they were given"""
    delays = sixteenths(rng, 5)
    made = trace(student, 7.0, delays)
    close(made.arrival, 7.0)
    equal(list(made.token_times), times(7.0, delays))
    close(made.ttft, delays[0])
    close(made.ttft, delays[0], what="a second reading gives another TTFT")


@checks("Trace")
def test_one_token(student):
    """a single token has no gap"""
    made = student.Trace(3.0, [3.5])
    equal(list(made.itl), [], cause="One token, no gap.")
    close(made.ttft, 0.5)
    close(made.e2e, 0.5)
    close(made.tpot, 0.0, cause="No gap, so nothing to divide: 0.0 for a single token.")


@checks("Trace")
def test_every_gap_counts(student):
    """two tokens, tokens at one time, and a clock that began in 1970"""
    close(student.Trace(0.0, [1.0, 1.5]).tpot, 0.5, cause="Two tokens have one gap.")
    equal(list(student.Trace(0.0, [1.0, 1.0, 1.0, 2.5]).itl), [0.0, 0.0, 1.5], cause="A gap of 0 is a gap.")
    late = student.Trace(1_700_000_000.0, [1_700_000_000.5, 1_700_000_000.75])
    equal(list(late.itl), [0.25], cause="Subtract in Python's floats: float32 has no room for seconds since 1970.")


@checks("record")
def test_one_look_at_the_clock_each(student):
    """150 tokens, many alike: the clock is read once before them, and once after each"""
    clock, looks = Clock(0.0), []

    def watched() -> float:
        looks.append(clock.now)
        return clock()

    def stream():
        for i in range(150):
            clock.now += 0.5
            yield i % 3

    made = student.record(stream(), watched)
    cause = "A time for each token, also where the same token comes again; once before the first is asked for, and once after each."
    equal(list(made.token_times), [0.5 * (i + 1) for i in range(150)], cause=cause)
    equal(len(looks), 151, what="wrong number of looks at the clock", cause=cause)


@checks("record", weight=2)
def test_random_streams(student, rng):
    """random streams on a clock that starts anywhere"""
    for delays in random_delays(rng, 4):
        start = float(whole(rng, 1, 900))
        clock = Clock(start)
        made = student.record(clock.stream(delays), clock)
        close(made.arrival, start)
        equal(list(made.token_times), times(start, delays))


@checks("record")
def test_a_pause_after_the_last_token_is_not_waited_for(student):
    """the end of the stream is not a token"""
    clock = Clock(0.0)

    def stream():
        clock.now += 0.5
        yield 1
        clock.now += 0.25
        yield 2
        clock.now += 100.0  # the stream takes its time to end

    made = student.record(stream(), clock)
    equal(list(made.token_times), [0.5, 0.75])
    close(made.e2e, 0.75)


@checks("percentile", weight=2)
def test_percentile_against_numpy(student, rng):
    """random values and random q, held against numpy"""
    for count in (2, 3, 10, 101):
        values = sixteenths(rng, count, 0, 1000)
        for q in (50, 95, 99, whole(rng, 1, 99), whole(rng, 1, 999) / 10):
            close(student.percentile(values, q), numpy_percentile(values, q), what=f"wrong p{q} of {count} values")


@checks("percentile")
def test_percentile_keeps_its_input(student, rng):
    """the list is not sorted in place"""
    values = [3.0, 1.0, 2.0, *sixteenths(rng, 4)]
    close(student.percentile(values, 50, _unchanged=True), numpy_percentile(values, 50))


@checks("summarize")
def test_requests_of_one_token(student):
    """requests of one token have a TTFT and no gap"""
    figures = student.summarize([trace(student, 0.0, [3.0]), trace(student, 5.0, [1.0, 0.5, 0.5]), trace(student, 9.0, [2.0])])
    for name, value in {"ttft_p50": 2.0, "itl_p50": 0.5, "itl_p99": 0.5, "tokens_per_second": 2.0}.items():
        close(figures[name], value, what=f"wrong {name}", cause="TTFT over all requests; ITL over all gaps that there are.")


@checks("summarize", weight=3)
def test_random_summaries(student, rng):
    """random requests: every figure"""
    for _ in range(3):
        requests = random_delays(rng, 9)
        figures = student.summarize([trace(student, float(whole(rng, 0, 100)), delays) for delays in requests])
        ttfts = [delays[0] for delays in requests]
        gaps = [gap for delays in requests for gap in delays[1:]]
        for q in (50, 95, 99):
            close(figures[f"ttft_p{q}"], numpy_percentile(ttfts, q), what=f"wrong ttft_p{q}")
            close(
                figures[f"itl_p{q}"], numpy_percentile(gaps, q), what=f"wrong itl_p{q}",
                cause="Over all gaps of all requests, not over each request's mean gap.",
            )  # fmt: skip
        close(figures["tokens_per_second"], len(gaps) / sum(gaps), what="wrong tokens_per_second")


@checks("summarize")
def test_a_gap_between_requests_is_no_itl(student):
    """requests that overlap or lie far apart change no figure"""
    together = student.summarize([trace(student, 0.0, [0.5, 0.25, 0.25]), trace(student, 0.0, [1.5, 0.5])])
    apart = student.summarize([trace(student, 0.0, [0.5, 0.25, 0.25]), trace(student, 5000.0, [1.5, 0.5])])
    for name, value in {"ttft_p50": 1.0, "itl_p50": 0.25, "tokens_per_second": 3.0}.items():
        close(together[name], value, what=f"wrong {name}")
        close(apart[name], value, what=f"wrong {name}", cause="Gaps are within a request. From one request to the next there is none.")


@checks("goodput", weight=2)
def test_random_goodput(student, rng):
    """random requests and limits"""
    for _ in range(4):
        requests = random_delays(rng, 8)
        traces = [trace(student, float(whole(rng, 0, 100)), delays) for delays in requests]
        ttft_slo, itl_slo = (0.03125 + value for value in sixteenths(rng, 2, 8, 44))  # between two possible times
        kept = [delays[0] <= ttft_slo and max(delays[1:]) <= itl_slo for delays in requests]
        close(student.goodput(traces, ttft_slo, itl_slo), sum(kept) / len(kept))


@checks("goodput")
def test_one_bad_gap_breaks_the_promise(student, rng):
    """one gap over the limit among many under it"""
    smooth = [0.5] + [0.0625] * 400
    for place in (1, whole(rng, 2, 399), 400):
        broken = list(smooth)
        broken[place] = 0.25
        made = [trace(student, 0.0, smooth), trace(student, 0.0, broken)]
        close(student.goodput(made, 1.0, 0.125), 0.5, cause="A mean, a median or a last gap hides the one pause that the user feels.")


@checks("goodput")
def test_just_over_the_limit(student):
    """a hair over a limit is over it, at the limit is kept; requests of one token count by their TTFT"""
    made = [trace(student, 0.0, [1.0, 0.5]), trace(student, 3.0, [1.0])]
    cause = "At most the limit, with no tolerance; a request without gaps keeps the second promise."
    for ttft_slo, itl_slo, want in ((1.0, 0.5, 1.0), (0.9995, 0.5, 0.0), (1.0, 0.4995, 0.5), (1.0, 0.001, 0.5)):
        close(student.goodput(made, ttft_slo, itl_slo), want, what=f"wrong for limits {ttft_slo} and {itl_slo}", cause=cause)
