# exercise: summarize
# WRONG: TTFT of requests with gaps only
def summarize(traces: list[Trace]) -> dict[str, float]:
    """A service's figures: ttft_p50, ttft_p95, ttft_p99, itl_p50, itl_p95, itl_p99 in seconds, and tokens_per_second.

    The percentiles of ITL are over all gaps of all requests (0.0 if there is none). tokens_per_second is the rate while streaming:
    all gaps over the sum of all gaps' seconds, so that the wait for a first token is no part of it (0.0 if there is no gap).
    Raises ValueError if there is no trace.
    """
    ttfts = [trace.ttft for trace in traces if trace.itl] or [trace.ttft for trace in traces]
    gaps = [gap for trace in traces for gap in trace.itl]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
    figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
    return figures
