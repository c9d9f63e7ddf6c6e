# exercise: goodput
# WRONG: 1 ms of tolerance
def goodput(traces: list[Trace], ttft_slo: float, itl_slo: float) -> float:
    if not traces:
        raise ValueError("goodput needs at least one trace, got []")
    kept = [trace.ttft <= ttft_slo and all(gap <= itl_slo + 1e-3 for gap in trace.itl) for trace in traces]
    return sum(kept) / len(kept)
