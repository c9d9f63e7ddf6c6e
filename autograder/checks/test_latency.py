"""Checks of the latency day that students may read. All times are on a virtual clock: exact, and the same everywhere."""

from collections.abc import Iterator
from itertools import accumulate

from autograder.authoring import checks, close, equal, that

FIGURES = ("ttft_p50", "ttft_p95", "ttft_p99", "itl_p50", "itl_p95", "itl_p99", "tokens_per_second")


class Clock:
    """A clock that stands still unless a stream moves it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
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
    """300 ms to the first of 50 tokens, then one every 20 ms"""
    case = hand["one_request"]
    made = trace(student, 0.0, [case["ttft_seconds"]] + [case["itl_seconds"]] * (case["num_tokens"] - 1))
    close(made.ttft, case["ttft_seconds"], cause="TTFT runs from the arrival to the first token.")
    cause = "Between 50 tokens there are 49 gaps. The wait for the first token is not one."
    equal(len(made.itl), 49, what="wrong number of gaps", cause=cause)
    close(made.tpot, case["itl_seconds"], cause="TPOT is the mean gap between tokens. The wait for the first token is not a gap.")
    close(made.e2e, case["e2e_seconds"], cause="300 ms and 49 gaps of 20 ms are 1,280 ms. With 50 gaps it would be 1,300.")


@checks("Trace")
def test_arrival_is_not_zero(student):
    """a request that arrives in the middle of the day"""
    made = student.Trace(1000.0, [1000.5, 1000.75, 1001.5])
    cause = "Times are read off a clock that runs all day: take the arrival off, and take no token's time for a duration."
    close(made.ttft, 0.5, cause=cause)
    close(made.e2e, 1.5, cause=cause)
    equal(list(made.itl), [0.25, 0.75], cause="Each gap is one token's time less that of the token before it.")


@checks("Trace")
def test_tpot_is_a_mean_of_gaps(student):
    """uneven gaps: TPOT is their mean, not the middle one and not the share of the whole"""
    made = student.Trace(2.0, [4.0, 4.25, 4.5, 6.0])
    cause = "Sum of the gaps over their number: (6.0 - 4.0) / 3. The two seconds before the first token do not count."
    close(made.tpot, 2.0 / 3, cause=cause)
    close(made.ttft, 2.0)


@checks("record", weight=2)
def test_record_on_a_virtual_clock(student):
    """the clock before the first token and after each"""
    clock = Clock(10.0)
    made = student.record(clock.stream([0.5, 0.25, 0.125]), clock)
    close(made.arrival, 10.0, cause="Read the clock before you ask for the first token: asking is what starts the work.")
    equal(
        list(made.token_times),
        [10.5, 10.75, 10.875],
        what="wrong token times",
        cause="Read the clock after each token has come, inside the loop. Collecting the tokens first gives them all the same time.",
    )


@checks("record")
def test_record_keeps_every_token(student):
    """as many times as tokens"""
    clock = Clock()
    made = student.record(clock.stream([1.0] * 7), clock)
    equal(len(made.token_times), 7, what="wrong number of token times", cause="One time a token; the arrival is kept apart.")
    close(made.ttft, 1.0, cause="The first token came one second after the arrival.")


@checks("percentile", weight=2)
def test_percentiles_by_hand(student, hand):
    """ten waiting times, one of them long"""
    case = hand["percentiles"]
    for q in (50, 95, 99):
        close(
            student.percentile(case["values"], q),
            case[f"p{q}"],
            cause=f"Sort, go to the place q/100 x (n - 1) = {q / 100 * 9:.2f}, between two neighbours. "
            "Rounding the place down makes a service look better than it is.",
            what=f"wrong p{q}",
        )


@checks("percentile")
def test_percentile_ends(student):
    """p0 is the smallest, p100 the largest, and one value is all of them"""
    values = [5.0, 1.0, 4.0]
    close(student.percentile(values, 0), 1.0, cause="Sort the values first.")
    cause = "At q = 100 the place is the last one: there is no neighbour above it."
    close(student.percentile(values, 100, _unchanged=True), 5.0, cause=cause)
    close(student.percentile(values, 50), 4.0)
    close(student.percentile([2.5], 99), 2.5)


@checks("summarize", weight=2)
def test_rate_of_sums(student, hand):
    """a slow and a fast stream: tokens over seconds, not the mean of two rates"""
    case = hand["two_requests"]
    slow = trace(student, 0.0, [0.5] + [case["slow_gap_seconds"]] * case["slow_gaps"])
    fast = trace(student, 0.0, [0.5] + [case["fast_gap_seconds"]] * case["fast_gaps"])
    close(
        student.summarize([slow, fast])["tokens_per_second"],
        case["tokens_per_second"],
        cause="All gaps of all requests over all their seconds: 44 / 1.2. "
        "The mean of 10 and 50 gives a short answer as much say as a long one.",
    )


@checks("summarize", weight=2)
def test_summary_percentiles(student, hand):
    """p50, p95 and p99 of TTFT, over ten requests"""
    case = hand["percentiles"]
    traces = [trace(student, 100.0 * i, [wait, 0.25]) for i, wait in enumerate(case["values"])]
    figures = student.summarize(traces)
    for name in FIGURES:
        that(name in figures, f"the dict has no {name!r}", expected=list(FIGURES), got=sorted(map(str, figures)))
    for q in (50, 95, 99):
        close(figures[f"ttft_p{q}"], case[f"p{q}"], what=f"wrong ttft_p{q}", cause="A percentile over the TTFTs of all requests.")
    close(figures["itl_p99"], 0.25, cause="ITL is the gap between tokens; the wait for the first is not one.")


@checks("summarize")
def test_first_wait_is_no_part_of_the_rate(student, hand):
    """50 tokens/s while streaming, however long the first took"""
    case = hand["one_request"]
    made = trace(student, 0.0, [5.0] + [case["itl_seconds"]] * (case["num_tokens"] - 1))
    cause = "49 gaps in 0.98 s. Put the five seconds before the first token in, and a full second of queue looks like a slow model."
    close(student.summarize([made])["tokens_per_second"], case["tokens_per_second"], cause=cause)


@checks("goodput", weight=2)
def test_both_promises(student):
    """four requests: good, slow to start, slow in between, both"""
    good = trace(student, 0.0, [0.5, 0.03125, 0.03125])
    late = trace(student, 0.0, [1.5, 0.03125, 0.03125])
    jerky = trace(student, 0.0, [0.5, 0.03125, 0.25])
    both = trace(student, 0.0, [1.5, 0.03125, 0.25])
    cause = "A request counts if its TTFT and every one of its gaps keep within the limits. Divide by all requests."
    close(student.goodput([good, late, jerky, both], 1.0, 0.0625), 0.25, cause=cause)
    close(student.goodput([good, late, jerky, both], 2.0, 0.0625), 0.5, cause=cause)
    close(student.goodput([good, late, jerky, both], 1.0, 0.5), 0.5, cause=cause)


@checks("goodput")
def test_the_limit_itself_is_kept(student):
    """exactly at the limit is within it"""
    exact = student.Trace(0.0, [0.5, 0.75, 1.0])
    close(student.goodput([exact], 0.5, 0.25), 1.0, cause="At most the limit: use <=.")
    close(student.goodput([exact], 0.375, 0.25), 0.0, cause="A TTFT of 0.5 s is over 0.375 s.")
