"""Visible checks of the latency day. All times are on a virtual clock: exact, and the same everywhere."""

from collections.abc import Iterator
from itertools import accumulate

from autograder.authoring import checks, close, equal, raises, that

FIGURES = (
    *("ttft_p50", "ttft_p95", "ttft_p99", "itl_p50", "itl_p95", "itl_p99"),
    *("tokens_per_second", "output_tokens_per_second", "requests_per_second"),
)


class Clock:
    """A clock that stands still unless a stream moves it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now

    def stream(self, delays: list[float]) -> Iterator[int]:
        """A token after each delay, made only when it is asked for."""
        for token, delay in enumerate(delays):
            self.now += delay
            yield token


def times(arrival: float, delays: list[float]) -> list[float]:
    return list(accumulate(delays, initial=arrival))[1:]


def trace(student, arrival: float, delays: list[float]):
    return student.Trace(arrival, times(arrival, delays))


@checks("Trace", weight=2)
def test_one_request_by_hand(student, hand):
    """50 tokens, the first after 300 ms, then one every 20 ms: TTFT, TPOT and end-to-end latency are right, by hand"""
    case = hand["one_request"]
    made = trace(student, 0.0, [case["ttft_seconds"]] + [case["itl_seconds"]] * (case["num_tokens"] - 1))
    plain = "a Trace is a tuple here, which is taken for a plain pair"
    that(not isinstance(made, tuple), plain, expected="an object of a class of its own")
    close(made.ttft, case["ttft_seconds"], what="wrong ttft")
    equal(len(made.itl), 49, what="wrong number of gaps")
    close(
        made.tpot,
        case["itl_seconds"],
        what="wrong tpot",
        suspects=[
            (case["itl_seconds"] * 49 / 50, "This is the sum of the gaps over 50 tokens. Between 50 tokens there are 49 gaps."),
            (case["mean_seconds_per_token"], "This is the end-to-end latency over 50 tokens: the wait for the first token is not a gap."),
        ],
    )
    over = "This counts 50 gaps. Between 50 tokens there are 49."
    close(made.e2e, case["e2e_seconds"], what="wrong e2e", suspects=[(case["approximate_e2e_seconds"], over)])


@checks("Trace")
def test_arrival_is_not_zero(student):
    """a request that does not arrive at time 0: TTFT and end-to-end latency are measured from the arrival"""
    made = student.Trace(1000.0, [1000.5, 1000.75, 1001.5])
    absolute = "This is a time on the clock. A latency runs from the arrival."
    close(made.ttft, 0.5, what="wrong ttft", suspects=[(1000.5, absolute)])
    close(made.e2e, 1.5, what="wrong e2e", suspects=[(1001.5, absolute), (1.0, "This runs from the first token, not from the arrival.")])
    equal(list(made.itl), [0.25, 0.75], what="wrong itl")


@checks("Trace")
def test_tpot_is_a_mean_of_gaps(student):
    """uneven gaps: TPOT is the mean gap, not the median gap, and leaves out the wait for the first token"""
    made = student.Trace(2.0, [4.0, 4.25, 4.5, 6.0])
    close(made.ttft, 2.0, what="wrong ttft")
    close(
        made.tpot,
        2.0 / 3,
        what="wrong tpot",
        suspects=[(0.25, "This is the gap in the middle, not the mean."), (4.0 / 4, "This has the wait for the first token in it.")],
    )


@checks("Trace")
def test_the_clock_may_start_anywhere(student):
    """a clock that counts from 1970, or a clock that passes 0: every latency is right"""
    for arrival in (1_600_000_000.0, -1.25, -0.25):
        made, clock = trace(student, arrival, [0.75, 0.5, 0.125]), f"on a clock that shows {arrival:,} at the arrival"
        close(made.ttft, 0.75, what=f"wrong ttft {clock}")
        equal(list(made.itl), [0.5, 0.125], what=f"wrong itl {clock}")
        close(made.tpot, 0.3125, what=f"wrong tpot {clock}")
        close(made.e2e, 1.375, what=f"wrong e2e {clock}")


@checks("Trace")
def test_gaps_of_no_time(student):
    """two tokens have one gap, tokens at the same time have a gap of 0, and microseconds are not rounded"""
    for request in ([0.5, 0.75], [1.0, 2.5]):  # one arrival, as many tokens, other times
        made = trace(student, 3.0, request)
        close(made.tpot, request[1], what=f"wrong tpot of two tokens, the gap between which is {request[1]} s")
        equal(list(made.itl), request[1:], what=f"wrong itl of two tokens, the gap between which is {request[1]} s")
        close(made.e2e, sum(request), what="wrong e2e of two tokens")
    short = [5 * 2.0**-17, 3 * 2.0**-17, 2.0**-17]
    made = trace(student, 3.0, short)
    equal(list(made.itl), short[1:], what="wrong itl of tokens a few microseconds apart")
    for name, value in {"ttft": 5 * 2.0**-17, "tpot": 2.0**-16, "e2e": 9 * 2.0**-17}.items():
        close(getattr(made, name), value, atol=0.0, rtol=1e-9, what=f"wrong {name} of tokens a few microseconds apart")
    made = student.Trace(3.0, [4.0, 5.5, 5.5, 6.25])
    equal(list(made.itl), [1.5, 0.0, 0.75], what="wrong itl where two tokens come at one time")
    close(made.tpot, 0.75, what="wrong tpot where two tokens come at one time")


@checks("Trace")
def test_a_long_answer_asked_twice(student):
    """1,300 tokens: every gap is in itl, and reading the figures twice changes neither figures nor token times"""
    delays = [0.5] * 1200 + [0.25] * 100
    made = trace(student, 3.0, delays)
    for again in ("", " when it is asked again"):
        equal(list(made.itl), delays[1:], what=f"wrong itl{again}")
        close(made.tpot, 624.5 / 1299, what=f"wrong tpot{again}")
    equal(list(made.token_times), times(3.0, delays), what="wrong token times afterwards")


@checks("Trace")
def test_one_token_has_no_gap(student):
    """a single token: itl is empty, TPOT is 0, and TTFT equals end-to-end latency"""
    made = student.Trace(3.0, [3.5])
    equal(list(made.itl), [], what="wrong itl")
    close(made.tpot, 0.0, what="wrong tpot")
    close(made.ttft, 0.5, what="wrong ttft")
    close(made.e2e, 0.5, what="wrong e2e")


@checks("record", weight=2)
def test_record_on_a_virtual_clock(student):
    """the arrival is read from the clock before the first token is made, each token time when that token comes"""
    clock = Clock(10.0)
    made = student.record(clock.stream([0.5, 0.25, 0.125]), clock)
    that(clock.looks > 0, "the clock that was given was never read", cause="Call `clock()`; time.perf_counter is only one such clock.")
    late = "This is the time of the first token: the clock was read after the work had begun."
    close(made.arrival, 10.0, what="wrong arrival", suspects=[(10.5, late)])
    at_once = "All tokens have the time of the last: the clock was read when the stream had ended."
    equal(list(made.token_times), [10.5, 10.75, 10.875], what="wrong token times", suspects=[([10.875] * 3, at_once)])


@checks("record")
def test_record_keeps_every_token(student):
    """the given clock is read once for the arrival and once per token, and no other clock is read"""
    for count in (7, 1_200):
        clock = Clock()
        made = student.record(clock.stream([1.0] * count), clock)
        equal(len(made.token_times), count, what="wrong number of token times")
        close(made.ttft, 1.0, what="wrong ttft")
        equal(clock.looks, count + 1, what="wrong number of looks at the clock")
    no_other_clock(student, [0.5, 0.25])


def no_other_clock(student, delays: list[float]) -> None:
    """Fail if a clock of Python's is read beside the one that is given."""
    clock = Clock(2.0)
    with student.simulated_machine(peak_flops=1e9, bandwidth=1e9) as work:
        made = student.record(clock.stream(delays), clock)
    equal(list(made.token_times), times(2.0, delays), what="wrong token times")
    that(
        work.clock_reads == 0, "a clock of Python's was read, too", expected="looks at the clock that was given, and at no other",
        got=f"{work.clock_reads} looks at another", cause="Read no other clock, not even to end a slow stream: the stream is used up.",
    )  # fmt: skip


@checks("record")
def test_a_list_of_equal_tokens(student):
    """the stream may be a list, and equal tokens each get a time of their own"""
    clock = Clock(2.0)

    def ticking() -> float:
        clock.now += 0.5
        return clock.now

    made = student.record([4, 4, 0, 4], ticking)
    close(made.arrival, 2.5, what="wrong arrival")
    equal(list(made.token_times), [3.0, 3.5, 4.0, 4.5], what="wrong token times")


@checks("record")
def test_times_as_the_clock_shows_them(student):
    """tokens at the same time, on a clock that passes 0 or counts from 1970: the times in the trace are exactly the clock's"""
    delays = [0.25, 0.0, 2.0**-21, 0.5]
    for start in (-0.5, 1_600_000_000.0):
        clock = Clock(start)
        made = student.record(clock.stream(delays), clock)
        close(made.arrival, start, atol=0.0, rtol=0.0, what=f"wrong arrival on a clock that starts at {start:,}")
        equal(list(made.token_times), times(start, delays), what=f"wrong token times on a clock that starts at {start:,}")


@checks("percentile", weight=2)
def test_percentiles_by_hand(student, hand):
    """p50, p95 and p99 of ten waiting times, one of which is long, by hand"""
    case = hand["percentiles"]
    ordered = sorted(case["values"])
    for q in (50, 95, 99):
        place = q / 100 * 9
        close(
            student.percentile(case["values"], q),
            case[f"p{q}"],
            what=f"wrong p{q}",
            suspects=[
                (ordered[int(place)], f"This is the value at place {int(place)}. The place {place:.2f} is between two values."),
                (ordered[int(place) + 1], f"This is the value above the place {place:.2f}, which is between two values."),
            ],
        )


@checks("percentile")
def test_percentile_ends(student):
    """p0 is the smallest value, p100 the largest, and any percentile of a single value is that value"""
    values = [4.0, 1.0, 5.0, 2.0]  # the first one is neither an end nor the median
    unsorted = "This is the first of the values as they were given: they are not in order."
    close(student.percentile(values, 0), 1.0, what="wrong p0", suspects=[(4.0, unsorted)])
    close(student.percentile(values, 100, _unchanged=True), 5.0, what="wrong p100")
    close(student.percentile(values, 50), 3.0, what="wrong p50")
    close(student.percentile([2.5], 99), 2.5, what="wrong p99 of one value")


@checks("percentile")
def test_percentile_of_nothing(student):
    """no values, or a q that is nan or outside 0 to 100: ValueError"""
    raises(ValueError, lambda: student.percentile([], 50))
    for q in (-1, 101, 100.5, float("nan")):
        raises(ValueError, lambda q=q: student.percentile([1.0, 2.0], q))
    raises(ValueError, lambda: student.percentile([3.0], 105))  # one value has no such percentile either
    close(student.percentile([1.0, 2.0], 100), 2.0)


@checks("percentile")
def test_every_value_and_any_q(student):
    """q may be a fraction, repeated values are all counted, no value of a long list is lost, no result is rounded"""
    for q, want in ((12.5, 1.5), (99.75, 4.99), (0.75, 1.03), (1, 1.04)):
        close(student.percentile([5.0, 1.0], q), want, what=f"wrong p{q}")
    close(student.percentile([2.0, 6.0, 2.0, 2.0, 4.0], 50), 2.0, what="wrong p50 of values that repeat")
    close(student.percentile([0.0, 3.0, 0.0, 1.0], 50), 0.5, what="wrong p50 of values with zeros")
    close(student.percentile([1.0] * 1301 + [9.0], 100), 9.0, what="wrong p100 of 1,302 values, the last of them large")
    close(student.percentile([-1.0, -6.0, 3.0], 50), -1.0, what="wrong p50 of values below 0 and above")
    close(student.percentile([2e-6, 6e-6], 50), 4e-6, atol=0.0, rtol=1e-6, what="wrong p50 of millionths")
    many = [float(i) for i in range(21_000)]
    close(student.percentile(many, 99), 20_789.01, atol=0.001, rtol=0.0, what="wrong p99 of the 21,000 numbers from 0 to 20,999")
    middle = student.percentile([1_600_000_000.75, 1_600_000_000.25], 50)
    close(middle, 1_600_000_000.5, atol=0.001, rtol=0.0, what="wrong p50 of times since 1970")


@checks("percentile")
def test_percentile_of_a_changed_list(student):
    """after the values in a list change, the percentile is that of the new values"""
    first, second = student.percentile.again([[3.0, 1.0, 2.5], 50], [[8.0, 9.0, 7.0], 50])
    close(first, 2.5, what="wrong p50")
    close(second, 8.0, what="wrong p50 after the list has changed")


@checks("summarize", weight=2)
def test_rate_of_sums(student, hand):
    """tokens_per_second is gaps over their total seconds, not the mean of two rates; ITL percentiles use all gaps"""
    case = hand["two_requests"]
    slow = trace(student, 0.0, [0.5] + [case["slow_gap_seconds"]] * case["slow_gaps"])
    fast = trace(student, 0.0, [0.5] + [case["fast_gap_seconds"]] * case["fast_gaps"])
    figures = student.summarize([slow, fast])
    got = figures["tokens_per_second"]
    mean = "This is the mean of 10 and 50, in which a short answer has as much say as a long one. Add first, divide once."
    close(got, case["tokens_per_second"], what="wrong tokens_per_second", suspects=[(case["mean_of_rates"], mean)])
    gaps = case["slow_gap_seconds"], case["fast_gap_seconds"]
    vote = "Each stream has one vote here, however many gaps it has. Take the percentile over all gaps of all requests."
    close(figures["itl_p50"], gaps[1], what="wrong itl_p50", suspects=[(sum(gaps) / 2, vote)])


@checks("summarize", weight=2)
def test_summary_percentiles(student, hand):
    """p50, p95 and p99 of TTFT over ten requests are right, and no figure is missing"""
    case = hand["percentiles"]
    traces = [trace(student, 100.0 * i, [wait, 0.25]) for i, wait in enumerate(case["values"])]
    figures = student.summarize(traces)
    for name in FIGURES:
        that(name in figures, f"the dict has no {name!r}", expected=list(FIGURES), got=sorted(map(str, figures)))
    for q in (50, 95, 99):
        close(figures[f"ttft_p{q}"], case[f"p{q}"], what=f"wrong ttft_p{q}")
    close(figures["itl_p99"], 0.25, what="wrong itl_p99")


@checks("summarize", weight=2)
def test_a_stop_in_an_answer_is_seen(student, hand):
    """a stream that stops for a second after 20 gaps of 10 ms: p99 of ITL is 802 ms"""
    case = hand["one_stop"]
    stops = trace(student, 0.0, [0.5, *[case["gap_seconds"]] * case["num_gaps"], case["stop_seconds"]])
    figures = student.summarize([stops])
    mean = "This is the mean gap of the request, in which the stop is lost. Take the percentile over all gaps."
    close(figures["itl_p50"], case["p50"], what="wrong itl_p50", suspects=[(case["mean"], mean)])
    close(figures["itl_p99"], case["p99"], what="wrong itl_p99", suspects=[(case["mean"], mean)])


@checks("summarize")
def test_first_wait_is_no_part_of_the_pace(student, hand):
    """tokens_per_second is 50 while streaming, however long the first token took"""
    case = hand["one_request"]
    made = trace(student, 0.0, [5.0] + [case["itl_seconds"]] * (case["num_tokens"] - 1))
    close(
        student.summarize([made])["tokens_per_second"],
        case["tokens_per_second"],
        what="wrong tokens_per_second",
        suspects=[
            (50 / 5.98, "This has the five seconds before the first token in it: a queue would look like a slow model."),
            (50 / 0.98, "This counts 50 tokens over 49 gaps."),
        ],
    )


@checks("summarize", weight=2)
def test_throughput_of_the_service(student, hand):
    """three streams at the same time: the service's tokens and requests are divided by the whole span"""
    case = hand["three_streams"]
    made = [trace(student, start, [0.5, *[case["gap_seconds"]] * case["num_gaps"]]) for start in case["arrivals"]]
    figures = student.summarize(made)
    close(figures["tokens_per_second"], case["tokens_per_second"], what="wrong tokens_per_second")
    close(
        figures["output_tokens_per_second"],
        case["output_tokens_per_second"],
        what="wrong output_tokens_per_second",
        suspects=[(case["tokens_per_second"], "This is the pace of one stream. The service makes the tokens of all of them in its span.")],
    )
    close(figures["requests_per_second"], case["requests_per_second"], what="wrong requests_per_second")


@checks("summarize")
def test_nothing_to_divide_by(student):
    """one-token answers have a TTFT but no gap; without gaps, ITL and tokens_per_second are 0; no traces: ValueError"""
    figures = student.summarize([trace(student, 0.0, [3.0]), trace(student, 6.0, [2.0])])
    for name, value in {"ttft_p50": 2.5, "itl_p50": 0.0, "itl_p95": 0.0, "itl_p99": 0.0, "tokens_per_second": 0.0}.items():
        close(figures[name], value, atol=0.0, rtol=1e-9, what=f"wrong {name}")
    for name in ("output_tokens_per_second", "requests_per_second"):
        close(figures[name], 0.25, what=f"wrong {name}")
    figures = student.summarize([trace(student, 0.0, [4.0]), trace(student, 2.0, [1.0, 0.25, 0.75])])
    for name, value in {"ttft_p50": 2.5, "itl_p50": 0.5, "tokens_per_second": 2.0}.items():
        close(figures[name], value, what=f"wrong {name} of answers of one token and of three")
    raises(ValueError, lambda: student.summarize([]))


@checks("summarize")
def test_gaps_and_spans_of_no_time(student):
    """gaps of 0 s are counted; a rate over 0 s is 0; equal requests are all counted; a second call gives its own figures"""
    figures = student.summarize([student.Trace(1.0, [1.5, 1.5])])
    for name, value in {"itl_p50": 0.0, "tokens_per_second": 0.0, "output_tokens_per_second": 4.0, "requests_per_second": 2.0}.items():
        close(figures[name], value, atol=0.0, rtol=1e-9, what=f"wrong {name} of two tokens at one time")
    figures = student.summarize([student.Trace(1.0, [1.5, 1.5, 1.75, 1.75])])
    close(figures["tokens_per_second"], 12.0, what="wrong tokens_per_second where one gap of three takes time")
    figures = student.summarize([student.Trace(5.0, [5.0])])
    for name in ("output_tokens_per_second", "requests_per_second"):
        close(figures[name], 0.0, atol=0.0, what=f"wrong {name} over a span of no time")
    figures = student.summarize([student.Trace(1.0, [1.5, 3.0])] * 1_200)
    for name, value in {"output_tokens_per_second": 1_200.0, "requests_per_second": 600.0}.items():
        close(figures[name], value, what=f"wrong {name} of 1,200 equal requests in two seconds")
    first, second = student.summarize.again([[student.Trace(1.0, [1.5, 2.0])]], [[student.Trace(1.0, [2.0, 5.0])]])
    for figures, value, what in ((first, 0.5, "of the first call, after a second call"), (second, 3.0, "of a second call")):
        close(figures["itl_p50"], value, what=f"wrong itl_p50 {what}")


@checks("summarize")
def test_the_span_on_any_clock(student):
    """requests in any order, on a clock that counts from 1970 or ends below 0: rates are right, the list is unchanged"""
    requests = ((3.0, [1.0, 0.5]), (0.0, [0.5, *[0.0625] * 136, *[0.25] * 12]), (5.0, [2.0, 1.0]))
    for start in (1_600_000_000.0, -60.0, -12.0):
        given, clock = [trace(student, start + at, delays) for at, delays in requests], f"on a clock near {start:,}"
        figures, (after,) = student.summarize(given, _arguments=True)
        close(figures["tokens_per_second"], 150 / 13, what=f"wrong tokens_per_second {clock}")
        close(figures["output_tokens_per_second"], 153 / 12, what=f"wrong output_tokens_per_second {clock}")
        close(figures["requests_per_second"], 3 / 12, what=f"wrong requests_per_second {clock}")
        equal([one.arrival - start for one in after], [3.0, 0.0, 5.0], what="wrong order of the traces afterwards, by their arrivals")
        want = [times(start + at, delays) for at, delays in requests]
        equal([len(one.token_times) for one in after], [2, 149, 2], what="wrong numbers of token times in the traces afterwards")
        that([list(one.token_times) for one in after] == want, "a trace has other token times afterwards")


@checks("goodput", weight=2)
def test_both_promises(student):
    """goodput is the number of requests that keep the TTFT limit and the ITL limit, divided by the span of 2.5 s"""
    made = four_requests(student)
    share = "This is the share of requests that kept both promises. Goodput is a rate: those requests over the seconds of the span."
    for ttft_slo, itl_slo, kept in ((1.0, 0.0625, 1), (2.0, 0.0625, 2), (1.0, 0.5, 2)):
        close(
            student.goodput(made, ttft_slo, itl_slo),
            kept / 2.5,
            what=f"wrong for limits of {ttft_slo} s and {itl_slo} s",
            suspects=[(kept / 4, share), (kept, "This is the number of requests that kept both promises. Divide by the span.")],
        )


def four_requests(student) -> list:
    """Good, late, jerky and both, in a span of 2.5 s: from 1.0, where the second arrives, to 3.5, the last token of the first."""
    good = trace(student, 3.0, [0.4375, 0.03125, 0.03125])
    late = trace(student, 1.0, [1.5, 0.03125, 0.03125])
    jerky = trace(student, 1.25, [0.5, 0.03125, 0.25])
    both = trace(student, 1.125, [1.5, 0.03125, 0.25])
    return [good, late, jerky, both]


@checks("goodput", weight=2)
def test_one_stop_breaks_the_promise(student):
    """one long gap among 150 short gaps: the request breaks the ITL limit although its mean gap does not"""
    smooth = [0.5] + [0.015625] * 150
    every = "This counts the stream that stopped too: one of its gaps is over the limit."
    for place in (25, 141):
        stops = [*smooth[:place], 0.25, *smooth[place:]]
        made = [trace(student, 0.0, smooth), trace(student, 0.0, stops)]
        span = times(0.0, stops)[-1]
        close(student.goodput(made, 1.0, 0.0625), 1 / span, suspects=[(2 / span, every)])


@checks("goodput")
def test_the_limit_itself_is_kept(student):
    """a TTFT or gap exactly at the limit is within the limit, slightly more is not"""
    exact = student.Trace(0.0, [0.5, 0.75, 1.0])
    close(student.goodput([exact], 0.5, 0.25), 1.0)
    close(student.goodput([exact], 0.375, 0.25), 0.0)
    close(student.goodput([exact], 0.5, 0.0), 0.0, what="wrong for gaps over a limit of 0")
    hair = 2.0**-34
    close(student.goodput([student.Trace(0.0, [0.5 + hair, 0.75])], 0.5, 0.25), 0.0, what="wrong for a TTFT a hair over its limit")
    close(student.goodput([student.Trace(0.0, [0.5, 0.75 + hair])], 0.5, 0.25), 0.0, what="wrong for a gap a hair over its limit")


@checks("goodput")
def test_answers_of_one_token_count(student):
    """one-token answers are judged by TTFT only, also if they arrive together; the list of traces is unchanged"""
    given = [trace(student, at, [wait]) for at, wait in ((6.0, 2.0), (2.0, 0.5), (2.0, 0.25), (3.0, 4.0))]  # ends: 8.0, 2.5, 2.25, 7.0
    rate, (after, *_) = student.goodput(given, 1.0, 0.125, _arguments=True)
    close(rate, 2 / 6)
    equal([one.arrival for one in after], [6.0, 2.0, 2.0, 3.0], what="wrong list of traces afterwards, by their arrivals")
    equal([list(one.token_times) for one in after], [[8.0], [2.5], [2.25], [7.0]], what="wrong token times in the traces afterwards")
    close(student.goodput(given, float("inf"), float("inf")), 4 / 6, what="wrong for limits that no request breaks")


@checks("goodput")
def test_goodput_on_any_clock(student):
    """goodput is right for requests in any order, equal requests, any clock and a short span, and 0 if the span is 0 s"""
    for start in (1_600_000_000.0, -50.0, -9.25):
        requests = ((4.0, [0.5, 0.25]), (0.0, [0.5, 0.125]), (1.0, [0.25, 8.0]))
        made = [trace(student, start + at, delays) for at, delays in requests]
        close(student.goodput(made, 0.5, 0.25), 2 / 9.25, what=f"wrong on a clock near {start:,}")
    close(student.goodput([student.Trace(7.0, [7.25])], 1.0, 1.0), 4.0, what="wrong over a quarter of a second")
    close(student.goodput([student.Trace(7.0, [7.25])] * 3, 1.0, 1.0), 12.0, what="wrong for three equal requests")
    close(student.goodput([student.Trace(7.0, [7.0])], 1.0, 1.0), 0.0, atol=0.0, what="wrong over a span of no time")


@checks("goodput")
def test_goodput_of_nothing(student):
    """no traces raise ValueError; goodput is 0 if no request keeps the limits"""
    raises(ValueError, lambda: student.goodput([], 1.0, 0.1))
    close(student.goodput([student.Trace(0.0, [5.0, 9.0])], 1.0, 0.1), 0.0)
