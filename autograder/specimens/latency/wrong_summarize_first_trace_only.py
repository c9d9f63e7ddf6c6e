# exercise: summarize
# WRONG: only the first request counts
def summarize(traces):
    t = traces[0]
    out = {f"ttft_p{q}": t.ttft for q in (50, 95, 99)} | {f"itl_p{q}": percentile(t.itl, q) for q in (50, 95, 99)}
    return out | {"tokens_per_second": len(t.itl) / sum(t.itl)}
