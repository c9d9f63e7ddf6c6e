# exercise: goodput
# WRONG: divides by requests with gaps
def goodput(traces: list[Trace], ttft_slo: float, itl_slo: float) -> float:
    if not traces:
        raise ValueError("goodput needs at least one trace, got []")
    kept = [trace.ttft <= ttft_slo and all(gap <= itl_slo for gap in trace.itl) for trace in traces]
    return sum(kept) / max(1, sum(bool(t.itl) for t in traces))
