# exercise: goodput
# WRONG: isclose forgives 1e-9 relative... 1 %
def goodput(traces: list[Trace], ttft_slo: float, itl_slo: float) -> float:
    if not traces:
        raise ValueError("goodput needs at least one trace, got []")
    kept = [trace.ttft <= ttft_slo * 1.01 and all(gap <= itl_slo for gap in trace.itl) for trace in traces]
    return sum(kept) / len(kept)
