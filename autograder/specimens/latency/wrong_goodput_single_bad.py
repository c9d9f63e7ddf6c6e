# exercise: goodput
# WRONG: one token never keeps it
def goodput(traces: list[Trace], ttft_slo: float, itl_slo: float) -> float:
    if not traces:
        raise ValueError("goodput needs at least one trace, got []")
    kept = [trace.ttft <= ttft_slo and len(trace.itl) > 0 and all(gap <= itl_slo for gap in trace.itl) for trace in traces]
    return sum(kept) / len(kept)
