"""Latency: what a user feels while an answer streams, measured from the times at which its tokens came."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    """One request: when it arrived, and when each of its tokens was there.

    arrival: seconds on some clock, which may start anywhere, also below 0. token_times: seconds on the same clock, one for each
    token, at least one.
    Frozen, so that a record is not changed by mistake; any class with these attributes would do as well, but no NamedTuple, which is
    taken for a plain pair.
    """

    arrival: float
    token_times: list[float]

    @property
    def ttft(self) -> float:
        """Time to first token, in seconds: from the arrival to the first token."""
        ### BEGIN SOLUTION
        return self.token_times[0] - self.arrival
        ### END SOLUTION

    @property
    def itl(self) -> list[float]:
        """Inter-token latencies, in seconds: the gaps between tokens, one fewer than there are tokens."""
        ### BEGIN SOLUTION
        return [after - before for before, after in zip(self.token_times, self.token_times[1:], strict=False)]
        ### END SOLUTION

    @property
    def tpot(self) -> float:
        """Time per output token, in seconds: the mean gap; 0.0 for a single token. The wait for the first is no gap."""
        ### BEGIN SOLUTION
        return sum(self.itl) / len(self.itl) if self.itl else 0.0
        ### END SOLUTION

    @property
    def e2e(self) -> float:
        """End-to-end latency, in seconds: from the arrival to the last token."""
        ### BEGIN SOLUTION
        return self.token_times[-1] - self.arrival
        ### END SOLUTION


def record(stream: Iterable[int], clock: Callable[[], float]) -> Trace:
    """Return the trace of a stream of tokens: the clock is read once before the first token is asked for, and once after each.

    clock() -> seconds; no other clock is read. stream: an iterator or a list of at least one token; it is used up.
    """
    ### BEGIN SOLUTION
    arrival = clock()
    return Trace(arrival, [clock() for _ in stream])
    ### END SOLUTION


def percentile(values: list[float], q: float) -> float:
    """Return the q-th percentile, 0 <= q <= 100, linear between the two nearest ranks: numpy's default.

    The values may be in any order and are not changed. Raises ValueError if there are none, or if q is nan or outside this range.
    """
    ### BEGIN SOLUTION
    if not values:
        raise ValueError("a percentile needs at least one value, got []")
    if not 0 <= q <= 100:
        raise ValueError(f"q must be in [0, 100], got {q}")
    ordered = sorted(values)
    rank = q / 100 * (len(ordered) - 1)  # a place between the ranks 0 and n-1, seldom a whole number
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])
    ### END SOLUTION


def summarize(traces: list[Trace]) -> dict[str, float]:
    """Return a service's figures: ttft_p50, ttft_p95, ttft_p99, itl_p50, itl_p95, itl_p99 in seconds, and three rates.

    The percentiles of ITL are over all gaps of all requests (0.0 if there is none).
    tokens_per_second is the pace of a stream: the number of all gaps over the sum of their seconds (0.0 if no gap takes time).
    output_tokens_per_second and requests_per_second are the throughput of the whole service: all tokens, and all requests, over its
    span, from the first arrival to the last token of all (0.0 if the span is 0).
    The list and its traces are not changed. Raises ValueError if there is no trace.
    """
    ### BEGIN SOLUTION
    ttfts = [trace.ttft for trace in traces]
    gaps = [gap for trace in traces for gap in trace.itl]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
    figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
    span = max(trace.token_times[-1] for trace in traces) - min(trace.arrival for trace in traces)
    num_tokens = sum(len(trace.token_times) for trace in traces)
    figures["output_tokens_per_second"] = num_tokens / span if span > 0 else 0.0
    figures["requests_per_second"] = len(traces) / span if span > 0 else 0.0
    return figures
    ### END SOLUTION


def goodput(traces: list[Trace], ttft_slo: float, itl_slo: float) -> float:
    """Return the requests a second that kept both promises: TTFT at most ttft_slo and every gap at most itl_slo, in seconds.

    They are counted over the span of all traces, whether those kept the promises or not: from the first arrival to the last token
    of all (0.0 if the span is 0).
    The list and its traces are not changed. Raises ValueError if there is no trace. Zhong et al. 2024 (DistServe).
    """
    ### BEGIN SOLUTION
    if not traces:
        raise ValueError("goodput needs at least one trace, got []")
    kept = [trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl) for trace in traces]
    span = max(trace.token_times[-1] for trace in traces) - min(trace.arrival for trace in traces)
    return sum(kept) / span if span > 0 else 0.0
    ### END SOLUTION
