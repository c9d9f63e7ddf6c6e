"""Hidden checks of the latency day: random traces in sixteenths of a second, so that every sum is exact."""

import math

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.checks.test_latency import Clock, four_requests, no_other_clock, times, trace


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
    """random requests at random times: TTFT, ITL, TPOT and end-to-end latency are right"""
    for delays in random_delays(rng, 6):
        arrival = float(whole(rng, 0, 5000))
        made = trace(student, arrival, delays)
        close(made.ttft, delays[0], what="wrong ttft")
        equal(list(made.itl), delays[1:], what="wrong itl")
        close(made.tpot, sum(delays[1:]) / (len(delays) - 1), what="wrong tpot")
        close(made.e2e, sum(delays), what="wrong e2e")


@checks("Trace")
def test_keeps_what_it_was_given(student, rng):
    """reading the figures, even twice, changes neither the arrival nor the token times"""
    delays = sixteenths(rng, 5)
    made = trace(student, 7.0, delays)
    for _ in range(2):
        close(made.ttft, delays[0], what="wrong ttft")
        equal(list(made.itl), delays[1:], what="wrong itl")
        close(made.tpot, sum(delays[1:]) / 4, what="wrong tpot")
        close(made.e2e, sum(delays), what="wrong e2e")
    close(made.arrival, 7.0, what="wrong arrival")
    equal(list(made.token_times), times(7.0, delays), what="wrong token times")


@checks("Trace")
def test_every_gap_counts(student):
    """very short and very long answers, tokens or requests at the same time, any clock: every latency is right"""
    close(student.Trace(4.0, [4.75]).tpot, 0.0, what="wrong tpot of one token")
    for delays in ([1.0, 0.5, 0.25], [0.75, 2.0, 1.0]):
        made = trace(student, 8.0, delays)
        equal(list(made.itl), delays[1:], what="wrong itl of a request that arrives at the same time as another")
        for name, value in {"ttft": delays[0], "tpot": sum(delays[1:]) / 2, "e2e": sum(delays)}.items():
            close(getattr(made, name), value, what=f"wrong {name} of one of two requests that arrive at one time")
    close(student.Trace(0.0, [1.0, 1.5]).tpot, 0.5, what="wrong tpot of two tokens")
    at_once = student.Trace(0.0, [1.0, 1.0, 1.0, 2.5])
    equal(list(at_once.itl), [0.0, 0.0, 1.5], what="wrong itl where tokens come at one time")
    close(at_once.tpot, 0.5, what="wrong tpot where tokens come at one time")
    late = student.Trace(1_700_000_000.0, [1_700_000_000.5, 1_700_000_000.75])
    equal(list(late.itl), [0.25], what="wrong itl on a clock that began in 1970")
    close(late.ttft, 0.5, what="wrong ttft on a clock that began in 1970")
    close(late.e2e, 0.75, what="wrong e2e on a clock that began in 1970")
    close(student.Trace(2.0, [2.0, 2.0]).ttft, 0.0, atol=0.0, what="wrong ttft of no wait")
    before_zero = student.Trace(-2.0, [-1.5, -1.0, 0.5])
    for name, value in {"ttft": 0.5, "tpot": 1.0, "e2e": 2.5}.items():
        close(getattr(before_zero, name), value, what=f"wrong {name} on a clock that passes 0")
    for name, value in {"ttft": 1.5, "e2e": 2.0}.items():
        close(getattr(student.Trace(-1.0, [0.5, 1.0]), name), value, what=f"wrong {name} on a clock that passes 0 before the first token")
    slows = [0.75] + [0.25] * 2_000 + [0.5] * 600
    equal(list(trace(student, 9.0, slows).itl), slows[1:], what="wrong itl of 2,601 tokens")


@checks("Trace")
def test_short_times_keep_their_digits(student):
    """gaps of a microsecond and less are exact"""
    short = 2.0**-22
    made = student.Trace(1.0, [1.0 + 3 * short, 1.0 + 4 * short, 1.0 + 9 * short, 1.0 + 9.5 * short])
    equal(list(made.itl), [short, 5 * short, short / 2], what="wrong itl")
    for name, value in {"ttft": 3 * short, "tpot": 6.5 * short / 3, "e2e": 9.5 * short}.items():
        close(getattr(made, name), value, atol=0.0, rtol=1e-9, what=f"wrong {name}")


@checks("record")
def test_one_look_at_the_clock_each(student):
    """150 tokens, many of them equal: the clock is read once before the first token and once after each token"""
    clock = Clock(0.0)

    def stream():
        for i in range(150):
            clock.now += 0.5
            yield i % 3

    made = student.record(stream(), clock)
    equal(list(made.token_times), [0.5 * (i + 1) for i in range(150)], what="wrong token times")
    equal(clock.looks, 151, what="wrong number of looks at the clock")


@checks("record")
def test_a_list_is_a_stream_too(student):
    """the stream may be a list: the arrival and each token get their own reading of the clock"""
    clock = Clock(5.0)

    def ticking() -> float:
        clock.now += 1.0
        return clock.now

    made = student.record([0, 7, 0], ticking)
    close(made.arrival, 6.0, what="wrong arrival")
    equal(list(made.token_times), [7.0, 8.0, 9.0], what="wrong token times")


@checks("record")
def test_a_long_stream_on_a_fine_clock(student):
    """1,100 tokens, a fraction of a microsecond apart: every token time is exact, and no other clock is read"""
    clock, step = Clock(1.0 - 2.0**-22), 2.0**-22

    def ticking() -> float:
        clock.now += step
        return clock.now

    made = student.record([5] * 1100, ticking)
    close(made.arrival, 1.0, atol=0.0, rtol=0.0, what="wrong arrival")
    equal(list(made.token_times), [1.0 + step * (i + 1) for i in range(1100)], what="wrong token times")
    no_other_clock(student, [0.25, 1.0, 0.5])


@checks("record")
def test_what_the_clock_shows(student):
    """tokens at the same time, the first at the arrival, on any clock: token times are exactly the clock's"""
    delays = [0.0, 0.5, 0.0, 0.0, 2.0**-20, 3.0, 0.0]
    for start in (1_700_000_000.0, -2.0):
        clock = Clock(start)
        made = student.record(clock.stream(delays), clock)
        close(made.arrival, start, atol=0.0, rtol=0.0, what="wrong arrival")
        equal(list(made.token_times), times(start, delays), what="wrong token times")


@checks("record", weight=2)
def test_random_streams(student, rng):
    """random streams on a clock that starts anywhere: the arrival and the token times are right"""
    for delays in random_delays(rng, 4):
        start = float(whole(rng, 1, 900))
        clock = Clock(start)
        made = student.record(clock.stream(delays), clock)
        close(made.arrival, start, what="wrong arrival")
        equal(list(made.token_times), times(start, delays), what="wrong token times")


@checks("record")
def test_a_pause_after_the_last_token_is_not_waited_for(student):
    """the stream pauses after its last token before it ends: the pause adds no token time"""
    clock = Clock(0.0)

    def stream():
        clock.now += 0.5
        yield 1
        clock.now += 0.25
        yield 2
        clock.now += 100.0  # the stream takes its time to end

    made = student.record(stream(), clock)
    equal(list(made.token_times), [0.5, 0.75], what="wrong token times")
    close(made.e2e, 0.75, what="wrong e2e")


@checks("percentile", weight=2)
def test_percentile_against_numpy(student, rng):
    """random values and random q: the percentile equals numpy's"""
    for count in (2, 3, 10, 101):
        values = sixteenths(rng, count, 0, 1000)
        for q in (0, 50, 95, 99, 100, 0.5, 99.9, whole(rng, 1, 99), whole(rng, 1, 999) / 10):
            close(student.percentile(values, q), numpy_percentile(values, q), what=f"wrong p{q} of {count} values")
    many = sixteenths(rng, 24_001, 0, 100_000)
    close(student.percentile(many, 99, _unchanged=True), numpy_percentile(many, 99), atol=0.0, rtol=1e-9, what="wrong p99 of 24,001 values")
    for values in ([3.0, 3.0, 3.0], [-2.0, -8.0, 4.0], [1e-6, 3e-6, 2e-6], [7, 2, 5], [5.0, 0.0, 0.0, 2.0], [0.0, 0.0]):
        close(student.percentile(values, 30), numpy_percentile(values, 30), atol=0.0, rtol=1e-9, what=f"wrong p30 of {values}")


@checks("percentile")
def test_percentile_keeps_its_input(student, rng):
    """the list is not sorted in place"""
    values = [3.0, 1.0, 2.0, *sixteenths(rng, 4)]
    close(student.percentile(values, 50, _unchanged=True), numpy_percentile(values, 50))
    for q in (30, 95):
        others = sixteenths(rng, 7, 50, 90)
        first, second = student.percentile.again([list(values), q], [others, q])
        close(first, numpy_percentile(values, q), what=f"wrong p{q}")
        close(second, numpy_percentile(others, q), what=f"wrong p{q} after the list has changed")


@checks("percentile")
def test_a_q_just_outside(student):
    """a q slightly outside 0 to 100, or nan, raises ValueError; 0 and 100 are allowed"""
    values = [4.0, 6.0]
    for q in (-1e-9, 100.0001, -50, 1000, float("nan")):
        raises(ValueError, lambda q=q: student.percentile(values, q))
    for q in (-0.5, 101):
        raises(ValueError, lambda q=q: student.percentile([4.0], q))  # one value is its own percentile, but not the 101st
    raises(ValueError, lambda: student.percentile([], 0))
    close(student.percentile(values, 0.0), 4.0)
    close(student.percentile(values, 100.0), 6.0)


@checks("summarize")
def test_requests_of_one_token(student):
    """requests of one token have a TTFT but no gap; no requests raise ValueError"""
    figures = student.summarize([trace(student, 0.0, [3.0]), trace(student, 5.0, [1.0, 0.5, 0.5]), trace(student, 9.0, [2.0])])
    wanted = {"ttft_p50": 2.0, "itl_p50": 0.5, "itl_p99": 0.5, "tokens_per_second": 2.0, "output_tokens_per_second": 5 / 11}
    for name, value in {**wanted, "requests_per_second": 3 / 11}.items():
        close(figures[name], value, what=f"wrong {name}")
    figures = student.summarize([trace(student, 4.0, [1.5])])
    for name in ("itl_p50", "itl_p95", "itl_p99"):
        close(figures[name], 0.0, atol=0.0, what=f"wrong {name} where there is no gap")
    raises(ValueError, lambda: student.summarize([]))


@checks("summarize", weight=3)
def test_random_summaries(student, rng):
    """random requests in any order: every figure is right"""
    for _ in range(3):
        requests = [(float(whole(rng, 0, 100)), delays) for delays in random_delays(rng, 9)]
        figures = student.summarize([trace(student, arrival, delays) for arrival, delays in requests])
        ttfts = [delays[0] for _, delays in requests]
        gaps = [gap for _, delays in requests for gap in delays[1:]]
        for q in (50, 95, 99):
            close(figures[f"ttft_p{q}"], numpy_percentile(ttfts, q), what=f"wrong ttft_p{q}")
            close(figures[f"itl_p{q}"], numpy_percentile(gaps, q), what=f"wrong itl_p{q}")
        close(figures["tokens_per_second"], len(gaps) / sum(gaps), what="wrong tokens_per_second")
        tokens, seconds = sum(len(delays) for _, delays in requests), span(requests)
        close(figures["output_tokens_per_second"], tokens / seconds, what="wrong output_tokens_per_second")
        close(figures["requests_per_second"], 9 / seconds, what="wrong requests_per_second")


def span(requests: list[tuple[float, list[float]]]) -> float:
    """From the first arrival to the last token of all, whichever requests these belong to."""
    return max(arrival + sum(delays) for arrival, delays in requests) - min(arrival for arrival, _ in requests)


@checks("summarize")
def test_a_gap_between_requests_is_no_itl(student):
    """the time between two requests is no gap: it changes the throughput and no other figure"""
    together = student.summarize([trace(student, 0.0, [0.5, 0.25, 0.25]), trace(student, 0.0, [1.5, 0.5])])
    apart = student.summarize([trace(student, 0.0, [0.5, 0.25, 0.25]), trace(student, 4998.0, [1.5, 0.5])])
    for figures, seconds in ((together, 2.0), (apart, 5000.0)):
        wanted = {"ttft_p50": 1.0, "itl_p50": 0.25, "tokens_per_second": 3.0, "output_tokens_per_second": 5 / seconds}
        for name, value in {**wanted, "requests_per_second": 2 / seconds}.items():
            close(figures[name], value, what=f"wrong {name}, over {seconds:g} s")


@checks("summarize")
def test_whose_span_it_is(student):
    """the span runs from the first arrival to the last token of any request, on any clock; equal requests are all counted"""
    requests = ((8.0, [1.0, 1.0]), (2.0, [0.5]), (4.0, [1.0, 7.0]), (9.0, [0.5]))
    for start in (0.0, 1_700_000_000.0, -40.0, -12.0):
        figures = student.summarize([trace(student, start + at, delays) for at, delays in requests])
        close(figures["output_tokens_per_second"], 6 / 10, what=f"wrong output_tokens_per_second on a clock near {start:,}")
        close(figures["requests_per_second"], 4 / 10, what=f"wrong requests_per_second on a clock near {start:,}")
    figures = student.summarize([trace(student, float(at), [0.5]) for at in range(1100)])
    close(figures["requests_per_second"], 1100 / 1099.5, atol=0.0, rtol=1e-9, what="wrong requests_per_second of 1,100 requests")
    alike = student.summarize([student.Trace(4.0, [5.0, 6.0, 8.0])] * 5)
    close(alike["output_tokens_per_second"], 15 / 4, what="wrong output_tokens_per_second of five equal requests")
    one, other = student.summarize.again([[trace(student, 2.0, [1.0, 4.0])]], [[trace(student, 2.0, [3.0, 0.5])]])
    for figures, want in ((one, 1.0), (other, 3.0)):
        close(figures["ttft_p50"], want, what="wrong ttft_p50 of one of two calls, both read after the second")


@checks("summarize")
def test_no_time_at_all(student):
    """tokens all at the same time: tokens_per_second is 0; a span of 0 s: all rates are 0"""
    figures = student.summarize([student.Trace(0.0, [1.0, 1.0, 1.0])])
    for name, value in {"itl_p50": 0.0, "itl_p99": 0.0, "tokens_per_second": 0.0, "output_tokens_per_second": 3.0}.items():
        close(figures[name], value, atol=0.0, rtol=1e-9, what=f"wrong {name}")
    figures = student.summarize([student.Trace(0.0, [1.0, 1.0, 1.0, 2.5])])
    for name, value in {"itl_p50": 0.0, "itl_p95": 1.35, "tokens_per_second": 2.0}.items():
        close(figures[name], value, atol=1e-12, rtol=1e-9, what=f"wrong {name} where two gaps of three take no time")
    figures = student.summarize([student.Trace(2.0, [2.125, 2.25]), student.Trace(2.0, [2.125])])
    for name, value in {"tokens_per_second": 8.0, "output_tokens_per_second": 12.0, "requests_per_second": 8.0}.items():
        close(figures[name], value, atol=0.0, rtol=1e-9, what=f"wrong {name} where all is over in a quarter of a second")
    figures = student.summarize([student.Trace(2.0, [2.0])])
    for name in ("ttft_p50", "tokens_per_second", "output_tokens_per_second", "requests_per_second"):
        close(figures[name], 0.0, atol=0.0, what=f"wrong {name}")


@checks("summarize")
def test_no_digit_of_a_figure_is_lost(student):
    """figures in microseconds are not rounded; the long last gaps of an answer of 300 gaps are counted"""
    tick = 2.0**-20
    made = [trace(student, 4.0, [3 * tick, tick, 2 * tick]), trace(student, 4.0 + tick, [2 * tick, 4 * tick])]
    wanted = {"ttft_p50": 2.5 * tick, "itl_p50": 2 * tick, "itl_p95": 3.8 * tick, "tokens_per_second": 3 / 7 / tick}
    wanted |= {"output_tokens_per_second": 5 / 7 / tick, "requests_per_second": 2 / 7 / tick}
    figures = student.summarize(made)
    for name, value in wanted.items():
        close(figures[name], value, atol=0.0, rtol=1e-9, what=f"wrong {name}")
    long = student.summarize([trace(student, 0.0, [0.5, *[0.125] * 200, *[2.0] * 100])])
    close(long["itl_p95"], 2.0, what="wrong itl_p95 of an answer that slows down")
    close(long["tokens_per_second"], 300 / 225, what="wrong tokens_per_second of an answer that slows down")


@checks("summarize")
def test_the_list_of_traces_stays(student):
    """the list of traces is neither sorted nor emptied"""
    given = [trace(student, at, [0.5, 0.25]) for at in (3.0, 1.0, 2.0)]
    figures, (after,) = student.summarize(given, _arguments=True)
    close(figures["requests_per_second"], 3 / 2.75, what="wrong requests_per_second")
    that(len(after) == 3, "the list of traces has another length afterwards", expected=3, got=len(after))
    equal([one.arrival for one in after], [3.0, 1.0, 2.0], what="the call changed the order of the traces")
    equal([list(one.token_times) for one in after], [[at + 0.5, at + 0.75] for at in (3.0, 1.0, 2.0)], what="wrong token times afterwards")


@checks("goodput", weight=2)
def test_random_goodput(student, rng):
    """random requests and limits: goodput is right"""
    for _ in range(4):
        requests = [(float(whole(rng, 0, 100)), delays) for delays in random_delays(rng, 8)]
        traces = [trace(student, arrival, delays) for arrival, delays in requests]
        ttft_slo, itl_slo = (0.03125 + value for value in sixteenths(rng, 2, 8, 44))  # between two possible times
        kept = [delays[0] <= ttft_slo and max(delays[1:]) <= itl_slo for _, delays in requests]
        close(student.goodput(traces, ttft_slo, itl_slo), sum(kept) / span(requests))


@checks("goodput", weight=2)
def test_what_the_seconds_are(student):
    """the span is that of all requests, within the limits or not; requests are counted in any order, also if given twice"""
    made = four_requests(student)
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
        close(student.goodput([made[i] for i in order], 1.0, 0.0625), 0.4)
    kept = [trace(student, float(at), [0.5, 0.25]) for at in (40, 41, 42)]
    never = trace(student, 7.0, [0.5, 70.0])
    for start in (1_700_000_000.0, -90.0, -5.75):
        late = [trace(student, start + at, [0.5, 0.25]) for at in (2.0, 0.0, 5.0)]
        close(student.goodput(late, 1.0, 1.0), 3 / 5.75, what=f"wrong number on a clock near {start:,}")
    close(student.goodput([*kept, never], 1.0, 1.0), 3 / 70.5, atol=0.0, rtol=1e-9)
    close(student.goodput([never, *kept], 1.0, 1.0), 3 / 70.5, atol=0.0, rtol=1e-9)
    close(student.goodput([*kept, never, *kept], 1.0, 1.0), 6 / 70.5, atol=0.0, rtol=1e-9, what="wrong for requests that are given twice")
    many = [trace(student, 1000.0 + at, [0.5]) for at in range(1100)]
    close(student.goodput(many, 1.0, 1.0), 1100 / 1099.5, atol=0.0, rtol=1e-9)


@checks("goodput")
def test_one_bad_gap_breaks_the_promise(student, rng):
    """one gap over the limit among many under the limit: the request does not count"""
    smooth = [0.5] + [0.0625] * 400
    for place in (1, whole(rng, 2, 399), 400):
        broken = list(smooth)
        broken[place] = 0.25
        made = [trace(student, 0.0, smooth), trace(student, 0.0, broken)]
        close(student.goodput(made, 1.0, 0.125), 1 / sum(broken))


@checks("goodput")
def test_just_over_the_limit(student):
    """slightly over a limit is too much, exactly at the limit is not; requests of one token are judged by TTFT only"""
    made = [trace(student, 0.0, [1.0, 0.5]), trace(student, 3.0, [1.0])]
    for ttft_slo, itl_slo, want in ((1.0, 0.5, 2), (0.9995, 0.5, 0), (1.0, 0.4995, 1), (1.0, 0.001, 1), (1.0, 0.0, 1)):
        close(student.goodput(made, ttft_slo, itl_slo), want / 4, what=f"wrong for limits {ttft_slo} and {itl_slo}")
    for delays in ([1.0002, 0.5], [1.0, 0.5002]):
        close(student.goodput([trace(student, 0.0, delays)], 1.0, 0.5), 0.0, what=f"wrong for a TTFT and a gap of {delays} s")
    for ttft_slo, itl_slo, want in ((math.nextafter(1.0, 0.0), 0.5, 0), (1.0, math.nextafter(0.5, 0.0), 1)):
        close(student.goodput(made, ttft_slo, itl_slo), want / 4, what=f"wrong for limits {ttft_slo!r} and {itl_slo!r}")


@checks("goodput")
def test_short_spans_and_no_limits(student):
    """a span of an eighth of a second, and infinite limits: goodput is right"""
    made = [trace(student, 5.0, [0.0625, 0.0625]), trace(student, 5.0, [0.0625]), trace(student, 5.0, [0.125])]
    close(student.goodput(made, 0.0625, 0.0625), 2 / 0.125)
    for ttft_slo, itl_slo in ((float("inf"), float("inf")), (1.0, float("inf")), (float("inf"), 1.0)):
        close(student.goodput(made, ttft_slo, itl_slo), 3 / 0.125, what=f"wrong for limits {ttft_slo} and {itl_slo}")


@checks("goodput")
def test_goodput_in_no_time(student):
    """goodput is 0 if the span is 0 s, no traces raise ValueError, and the list of traces is not changed"""
    raises(ValueError, lambda: student.goodput([], 0.5, 0.5))
    close(student.goodput([student.Trace(2.0, [2.0])], 1.0, 1.0), 0.0, atol=0.0)
    given = [trace(student, at, [0.5, 0.25]) for at in (3.0, 1.0, 2.0)]
    for ttft_slo, want in ((0.5, 3), (0.25, 0)):
        rate, (after, *_) = student.goodput(given, ttft_slo, 0.25, _arguments=True)
        close(rate, want / 2.75)
        equal([one.arrival for one in after], [3.0, 1.0, 2.0], what=f"the traces afterwards, where {want} of 3 kept their promise")
    kept_and_not = [trace(student, at, [wait]) for at, wait in ((4.0, 2.0), (1.0, 0.5), (2.0, 2.0), (3.0, 0.5))]
    rate, (after, *_) = student.goodput(kept_and_not, 1.0, 1.0, _arguments=True)
    close(rate, 2 / 5)
    equal([one.arrival for one in after], [4.0, 1.0, 2.0, 3.0], what="the traces afterwards, where 2 of 4 kept their promise")
    equal([list(one.token_times) for one in after], [[6.0], [1.5], [4.0], [3.5]], what="wrong token times afterwards")
