# exercise: goodput
# WRONG: p99 of the gaps
def goodput(traces: list[Trace], ttft_slo: float, itl_slo: float) -> float:
    if not traces:
        raise ValueError("goodput needs at least one trace, got []")
    kept = [trace.ttft <= ttft_slo and (not trace.itl or percentile(trace.itl, 99) <= itl_slo) for trace in traces]
    return sum(kept) / len(kept)
