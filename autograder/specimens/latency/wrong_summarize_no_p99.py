# exercise: summarize
# WRONG: the 99th percentile is the maximum
def summarize(traces):
    ttfts = [t.ttft for t in traces]
    gaps = [g for t in traces for g in t.itl]
    out = {f"ttft_p{q}": percentile(ttfts, q) for q in (50, 95)} | {f"itl_p{q}": percentile(gaps, q) for q in (50, 95)}
    return out | {"ttft_p99": max(ttfts), "itl_p99": max(gaps), "tokens_per_second": len(gaps) / sum(gaps)}
