# exercise: summarize
# RIGHT: the rate from the first and last token of each request
def summarize(traces):
    gaps = []
    for t in traces:
        gaps.extend(t.itl)
    streamed = sum(t.token_times[-1] - t.token_times[0] for t in traces)
    made = sum(len(t.token_times) - 1 for t in traces)
    out = {"tokens_per_second": made / streamed}
    for q in (50, 95, 99):
        out[f"ttft_p{q}"] = percentile([t.ttft for t in traces], q)
        out[f"itl_p{q}"] = percentile(gaps, q)
    return out
