# exercise: summarize
# WRONG: a request of one token adds a gap of 0
def summarize(traces: list[Trace]) -> dict[str, float]:
    ttfts = [trace.ttft for trace in traces]
    gaps = [gap for trace in traces for gap in (trace.itl or [0.0])]
    figures = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95, 99)}
    figures |= {f"itl_p{q}": percentile(gaps, q) if gaps else 0.0 for q in (50, 95, 99)}
    figures["tokens_per_second"] = len(gaps) / sum(gaps) if sum(gaps) > 0 else 0.0
    return figures
