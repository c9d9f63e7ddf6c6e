# exercise: summarize
# RIGHT: the pace from the first and last token of each request; figures that nobody asked for besides
def summarize(traces):
    if not traces:
        raise ValueError("no trace, no figures")
    gaps = []
    for t in traces:
        gaps.extend(t.itl)
    streamed = sum(t.token_times[-1] - t.token_times[0] for t in traces)
    made = sum(len(t.token_times) - 1 for t in traces)
    out = {"tokens_per_second": made / streamed if streamed > 0 else 0.0, "requests": len(traces)}
    for q in (50, 90, 95, 99):
        out[f"ttft_p{q}"] = percentile([t.ttft for t in traces], q)
        out[f"itl_p{q}"] = percentile(gaps, q) if gaps else 0.0
    start = min(t.arrival for t in traces)
    span = max(t.arrival + t.e2e for t in traces) - start
    out["output_tokens_per_second"] = (made + len(traces)) / span if span > 0 else 0.0
    out["requests_per_second"] = len(traces) / span if span > 0 else 0.0
    return out
